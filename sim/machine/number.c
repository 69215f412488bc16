/* See number.h. The small floats have no infinities here (e5m2 and ue8m0 aside), so that what is
 * too large becomes the largest number. */
#include "sim/machine/number.h"

enum float_format number_format(uint16_t type) {
  switch (type) {
    case PTX_MOD_F16:
    case PTX_MOD_F16X2: return FLOAT_HALF;
    case PTX_MOD_BF16:
    case PTX_MOD_BF16X2: return FLOAT_BFLOAT;
    case PTX_MOD_F64: return FLOAT_DOUBLE;
    default: return FLOAT_SINGLE;
  }
}

/* The exponent of the smallest normal number, the largest code, and the code of NaN (without a NaN:
 * the largest). e5m2 is the upper half of an f16; ue8m0 is an exponent alone. */
static const struct small {
  uint16_t type, pair;
  uint8_t bits, fraction;
  int8_t least;
  uint8_t most, nan;
} smalls[] = {{PTX_MOD_E4M3, PTX_MOD_E4M3X2, 8, 3, -6, 0x7e, 0x7f},
              {PTX_MOD_E5M2, PTX_MOD_E5M2X2, 8, 2, -14, 0x7b, 0x7f},
              {PTX_MOD_E2M3, PTX_MOD_E2M3X2, 6, 3, 0, 0x1f, 0x1f},
              {PTX_MOD_E3M2, PTX_MOD_E3M2X2, 6, 2, -2, 0x1f, 0x1f},
              {PTX_MOD_E2M1, PTX_MOD_E2M1X2, 4, 1, 0, 0x07, 0x07},
              [NUMBER_UE8M0] = {0, PTX_MOD_UE8M0X2, 8, 0, -127, 254, 255}};

int number_small(uint16_t type) {
  for (int i = 0; i <= NUMBER_UE8M0; i++)
    if (type && (smalls[i].type == type || smalls[i].pair == type)) return i;
  return NUMBER_NOT_SMALL;
}

unsigned number_small_width(int small) { return smalls[small].bits == 4 ? 4 : 8; }

/* 2^n, of a normal number. */
static double power_of_2(int n) { return special_double((uint64_t)(1023 + n) << 52); }

double number_from_small(int small, uint64_t v) {
  const struct small *s = &smalls[small];
  double nan = special_double(UINT64_C(0x7ff8000000000000));
  if (small == NUMBER_UE8M0) return v == s->nan ? nan : power_of_2((int)v - 127);
  if (s->type == PTX_MOD_E5M2) return number_to_double(FLOAT_HALF, v << 8);
  uint64_t sign = v >> (s->bits - 1) & 1, rest = v & evalint_mask(s->bits - 1u),
           exponent = rest >> s->fraction;
  if (rest > s->most) return nan;
  uint64_t fraction = rest & evalint_mask(s->fraction);
  double x = (double)(exponent ? fraction | UINT64_C(1) << s->fraction : fraction);
  x *= power_of_2(s->least - s->fraction + (exponent ? (int)exponent - 1 : 0));
  return sign ? -x : x;
}

/* 2^(code - 127), of the magnitude, up or down; NaN also for what is too large, unless satfinite.
 */
static uint64_t to_exponent(double x, bool rounds_up, bool satfinite) {
  uint64_t bits = number_of_double(x) & INT64_MAX;
  if (x != x) return 255;
  int64_t code = (int64_t)(bits >> 52) - 1023 + 127 + (rounds_up && bits << 12);
  return code < 0 ? 0 : code > 254 ? satfinite ? 254 : 255 : (uint64_t)code;
}

/* The value in quanta of its binade is an integer after rounding, to which the binade's number is
 * added: a carry goes to the next binade. */
uint64_t number_to_small(int small, double x, enum evalfloat_rounding r, bool satfinite) {
  const struct small *s = &smalls[small];
  if (small == NUMBER_UE8M0) return to_exponent(x, r == EVALFLOAT_UP, satfinite);
  uint64_t bits = number_of_double(x), sign = bits >> 63 << (s->bits - 1);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  if (x != x) return s->nan;
  if (exponent > 15) return sign | s->most;
  if (exponent < s->least) exponent = s->least;
  double quanta = (x < 0 ? -x : x) * power_of_2(s->fraction - exponent);
  uint64_t code =
      (uint64_t)((quanta + 0x1p52) - 0x1p52) + ((uint64_t)(exponent - s->least) << s->fraction);
  return sign | (code > s->most ? s->most : code);
}
