/* What one lane computes: floating point and conversions. Everything goes through ir/evalfloat.h
 * but the commonest f32 and f64 operations, which the host's arithmetic does (the launch sets its
 * default environment): the results are the same, as the unit test checks.
 *
 * Model of the approximate instructions: the correctly rounded result; sin, cos, lg2, ex2, tanh and
 * rsqrt in double (special.c), then rounded. */
#include "sim/machine.h"

#include "sim/special.h"

static float as_float(uint64_t bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}
static uint64_t float_bits(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}
static uint64_t double_bits(double f) {
  return f != f ? UINT64_C(0x7ff8000000000000) : special_bits(f);
}

/* --- round to nearest, on the host ---------------------------------------------------------------
 */

LANE(add_f32) {
  UNUSED_OPERANDS;
  return float_bits(as_float(a) + as_float(b));
}
LANE(sub_f32) {
  UNUSED_OPERANDS;
  return float_bits(as_float(a) - as_float(b));
}
LANE(mul_f32) {
  UNUSED_OPERANDS;
  return float_bits(as_float(a) * as_float(b));
}
LANE(div_f32) {
  UNUSED_OPERANDS;
  return float_bits(as_float(a) / as_float(b));
}
LANE(fma_f32) {
  UNUSED_OPERANDS;
  return float_bits(special_fmaf(as_float(a), as_float(b), as_float(c)));
}
LANE(add_f64) {
  UNUSED_OPERANDS;
  return double_bits(special_double(a) + special_double(b));
}
LANE(sub_f64) {
  UNUSED_OPERANDS;
  return double_bits(special_double(a) - special_double(b));
}
LANE(mul_f64) {
  UNUSED_OPERANDS;
  return double_bits(special_double(a) * special_double(b));
}
LANE(div_f64) {
  UNUSED_OPERANDS;
  return double_bits(special_double(a) / special_double(b));
}

/* --- any format, rounding and modifier
 * ------------------------------------------------------------ */

static enum float_format format_of(const struct inst *in) { return (enum float_format)in->format; }
static enum evalfloat_rounding rounding_of(const struct inst *in) {
  return (enum evalfloat_rounding)in->rounding;
}
static uint64_t one_of(enum float_format f) {
  return evalfloat_from_int(f, EVALFLOAT_NEAREST, 32, false, 1);
}
static uint64_t sign_of(enum float_format f) { return UINT64_C(1) << (float_shapes[f].bits - 1); }

static uint64_t input(const struct inst *in, uint64_t a) {
  return in->flags & FLAG_FTZ ? evalfloat_flush(format_of(in), a) : a;
}

static uint64_t saturate(enum float_format f, uint64_t r) {
  if (evalfloat_is_nan(f, r) || r & sign_of(f)) return 0;
  return r > one_of(f) ? one_of(f) : r;
}

static uint64_t output(const struct inst *in, uint64_t r) {
  enum float_format f = format_of(in);
  if (in->flags & FLAG_FTZ) r = evalfloat_flush(f, r);
  if (in->flags & FLAG_SAT) r = saturate(f, r);
  if (in->flags & FLAG_RELU && r & sign_of(f) && !evalfloat_is_nan(f, r)) r = 0;
  return r;
}

#define ANY(name)                                                                                \
  LANE(any_##name) {                                                                             \
    (void)c;                                                                                     \
    return output(in,                                                                            \
                  evalfloat_##name(format_of(in), rounding_of(in), input(in, a), input(in, b))); \
  }
ANY(add) ANY(sub) ANY(mul) ANY(div) LANE(any_fma) {
  return output(
      in, evalfloat_fma(format_of(in), rounding_of(in), input(in, a), input(in, b), input(in, c)));
}
LANE(any_rcp) {
  (void)b, (void)c;
  enum float_format f = format_of(in);
  return output(in, evalfloat_div(f, rounding_of(in), one_of(f), input(in, a)));
}
LANE(any_sqrt) {
  (void)b, (void)c;
  return output(in, evalfloat_sqrt(format_of(in), rounding_of(in), input(in, a)));
}
LANE(any_neg) {
  (void)b, (void)c;
  return input(in, a) ^ sign_of(format_of(in));
}
LANE(any_abs) {
  (void)b, (void)c;
  return input(in, a) & ~sign_of(format_of(in));
}
LANE(any_copysign) { /* the sign of a, the rest of b */
  (void)c;
  uint64_t sign = sign_of(format_of(in));
  return (a & sign) | (b & ~sign);
}

static uint64_t extreme(const struct inst *in, bool is_max, uint64_t a, uint64_t b) {
  enum float_format f = format_of(in);
  uint64_t sign = (a ^ b) & sign_of(f);
  if (in->flags & FLAG_XORSIGN) a &= ~sign_of(f), b &= ~sign_of(f);
  bool nan_wins = in->flags & FLAG_NAN;
  uint64_t r = is_max ? evalfloat_max(f, nan_wins, a, b) : evalfloat_min(f, nan_wins, a, b);
  return in->flags & FLAG_XORSIGN && !evalfloat_is_nan(f, r) ? r | sign : r;
}
LANE(any_min) {
  (void)c;
  return extreme(in, false, input(in, a), input(in, b));
}
LANE(any_max) {
  (void)c;
  return extreme(in, true, input(in, a), input(in, b));
}
LANE(any_min3) { return extreme(in, false, any_min(in, a, b, 0), input(in, c)); }
LANE(any_max3) { return extreme(in, true, any_max(in, a, b, 0), input(in, c)); }

/* --- special functions
 * ------------------------------------------------------------------------------ */

static double to_double(const struct inst *in, uint64_t a) {
  return special_double(
      evalfloat_convert(format_of(in), FLOAT_DOUBLE, EVALFLOAT_NEAREST, input(in, a)));
}
static uint64_t from_double(const struct inst *in, double r) {
  return output(in,
                evalfloat_convert(FLOAT_DOUBLE, format_of(in), EVALFLOAT_NEAREST, double_bits(r)));
}
static double reciprocal_root(double x) {
  return special_double(double_bits(
      1 / special_double(evalfloat_sqrt(FLOAT_DOUBLE, EVALFLOAT_NEAREST, double_bits(x)))));
}
#define APPROXIMATE(name, function)                     \
  LANE(approximate_##name) {                            \
    (void)b, (void)c;                                   \
    return from_double(in, function(to_double(in, a))); \
  }
APPROXIMATE(sin, special_sin)
APPROXIMATE(cos, special_cos) APPROXIMATE(lg2, special_log2) APPROXIMATE(ex2, special_exp2)
    APPROXIMATE(tanh, special_tanh) APPROXIMATE(rsqrt, reciprocal_root)

    /* --- choice
       -------------------------------------------------------------------------------------------
     */

    lane_fn *scalar_host(const struct sim *s, enum ptx_op op, enum float_format format) {
  bool single = format == FLOAT_SINGLE;
  if (!s->host_is_ieee || format < FLOAT_SINGLE) return NULL;
  switch ((int)op) {
    case PTX_ADD: return single ? add_f32 : add_f64;
    case PTX_SUB: return single ? sub_f32 : sub_f64;
    case PTX_MUL: return single ? mul_f32 : mul_f64;
    case PTX_DIV: return single ? div_f32 : div_f64;
    case PTX_FMA:
    case PTX_MAD: return single ? fma_f32 : NULL;
    default: return NULL;
  }
}

lane_fn *scalar_float(const struct decoder *d, enum ptx_op op) {
  const struct inst *in = d->in;
  bool three = decode_has(d, 3), is_plain = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST;
  lane_fn *host = is_plain ? scalar_host(d->sim, op, format_of(in)) : NULL;
  if (host) return host;
  switch ((int)op) {
    case PTX_ADD: return any_add;
    case PTX_SUB: return any_sub;
    case PTX_MUL: return any_mul;
    case PTX_DIV: return any_div;
    case PTX_FMA:
    case PTX_MAD: return any_fma;
    case PTX_RCP: return any_rcp;
    case PTX_SQRT: return any_sqrt;
    case PTX_RSQRT: return approximate_rsqrt;
    case PTX_SIN: return approximate_sin;
    case PTX_COS: return approximate_cos;
    case PTX_LG2: return approximate_lg2;
    case PTX_EX2: return approximate_ex2;
    case PTX_TANH: return approximate_tanh;
    case PTX_NEG: return any_neg;
    case PTX_ABS: return any_abs;
    case PTX_MIN: return three ? any_min3 : any_min;
    case PTX_MAX: return three ? any_max3 : any_max;
    case PTX_COPYSIGN: return any_copysign;
    default: return NULL;
  }
}

/* --- conversions
 * ---------------------------------------------------------------------------------------- */

/* An integer of in->bits, as the destination register holds it. */
static uint64_t widen(const struct inst *in, uint64_t v) {
  if (in->is_signed) v = (uint64_t)evalint_sext(in->bits, v);
  else v = evalint_zext(in->bits, v);
  return evalint_zext(in->dest_bits, v);
}

LANE(int_to_int) {
  (void)b, (void)c;
  evalint_s128 v = in->is_signed2 ? (evalint_s128)evalint_sext(in->bits2, a)
                                  : (evalint_s128)evalint_zext(in->bits2, a);
  if (in->flags & FLAG_SAT)
    return widen(in, in->is_signed ? evalint_clamp_s(in->bits, v) : evalint_clamp_u(in->bits, v));
  return widen(in, (uint64_t)(evalint_u128)v);
}
LANE(int_to_float) {
  (void)b, (void)c;
  return output(in,
                evalfloat_from_int(format_of(in), rounding_of(in), in->bits2, in->is_signed2, a));
}
LANE(float_to_int) {
  (void)b, (void)c;
  return widen(in, evalfloat_to_int_ptx(format_of(in), rounding_of(in), in->bits, in->is_signed,
                                        input(in, a)));
}
/* The same, rounded to nearest, on the host; from floats that are no number of the integer's it is
 * not. */
LANE(host_int_to_f32) {
  (void)b, (void)c;
  return float_bits(in->is_signed2 ? (float)evalint_sext(in->bits2, a)
                                   : (float)evalint_zext(in->bits2, a));
}
LANE(host_int_to_f64) {
  (void)b, (void)c;
  return double_bits(in->is_signed2 ? (double)evalint_sext(in->bits2, a)
                                    : (double)evalint_zext(in->bits2, a));
}
LANE(host_f32_to_s32) {
  float x = as_float(a);
  return x > -0x1p31f && x < 0x1p31f ? (uint32_t)(int32_t)x : float_to_int(in, a, b, c);
}
LANE(host_f32_to_f64) {
  UNUSED_OPERANDS;
  return double_bits(as_float(a));
}
LANE(host_f64_to_f32) {
  UNUSED_OPERANDS;
  return float_bits((float)special_double(a));
}

/* The source's format is in `compare`. */
LANE(float_to_float) {
  (void)b, (void)c;
  enum float_format from = (enum float_format)in->compare, to = format_of(in);
  if (in->flags & FLAG_FTZ && from == FLOAT_SINGLE) a = evalfloat_flush(from, a);
  uint64_t r = evalfloat_convert(from, to, rounding_of(in), a);
  if (in->flags & FLAG_FTZ && to == FLOAT_SINGLE) r = evalfloat_flush(to, r);
  if (in->flags & FLAG_HIGH && evalfloat_is_infinite(to, r))
    r = (r & sign_of(to)) | evalfloat_largest(to);
  if (in->flags & FLAG_SAT) r = saturate(to, r);
  if (in->flags & FLAG_RELU && r & sign_of(to) && !evalfloat_is_nan(to, r)) r = 0;
  return r;
}
LANE(float_same) {
  (void)b, (void)c;
  return output(in, input(in, a));
}
LANE(float_integral) {
  (void)b, (void)c;
  return output(in, evalfloat_round(format_of(in), rounding_of(in), input(in, a)));
}
LANE(two_floats) { return float_to_float(in, a, 0, c) << 16 | float_to_float(in, b, 0, c); }
/* 8 exponent and 10 fraction bits, in the upper bits of 32. */
LANE(float_to_tf32) {
  (void)b, (void)c;
  if (evalfloat_is_nan(FLOAT_SINGLE, a)) return 0x7fffffff;
  if (evalfloat_is_infinite(FLOAT_SINGLE, a)) return a;
  uint64_t rest = a & 0x1fff, kept = a & ~UINT64_C(0x1fff);
  bool up = in->rounding == EVALFLOAT_AWAY      ? rest >= 0x1000
            : in->rounding == EVALFLOAT_NEAREST ? rest > 0x1000 || (rest == 0x1000 && kept & 0x2000)
                                                : false;
  return kept + (up ? 0x2000 : 0);
}

/* Floats of 8, 6 and 4 bits. The exponent of the smallest normal number; the largest code, which
 * what is beyond becomes; what NaNs become (without a NaN: the largest). e5m2 is the upper half of
 * an f16. */
static const struct small {
  uint16_t type, pair;
  uint8_t bits, fraction;
  int8_t least;
  uint8_t most, nan;
} smalls[] = {{PTX_MOD_E4M3, PTX_MOD_E4M3X2, 8, 3, -6, 0x7e, 0x7f},
              {PTX_MOD_E5M2, PTX_MOD_E5M2X2, 8, 2, -14, 0x7b, 0x7f},
              {PTX_MOD_E2M3, PTX_MOD_E2M3X2, 6, 3, 0, 0x1f, 0x1f},
              {PTX_MOD_E3M2, PTX_MOD_E3M2X2, 6, 2, -2, 0x1f, 0x1f},
              {PTX_MOD_E2M1, PTX_MOD_E2M1X2, 4, 1, 0, 0x07, 0x07}};

static const struct small *small_named(uint16_t type) {
  for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++)
    if (smalls[i].type == type || smalls[i].pair == type) return &smalls[i];
  return NULL;
}

static double power_of_2(int n) { return special_double((uint64_t)(1023 + n) << 52); }

static uint64_t from_small(const struct small *s, uint64_t v) {
  if (s->type == PTX_MOD_E5M2)
    return evalfloat_convert(FLOAT_HALF, FLOAT_DOUBLE, EVALFLOAT_NEAREST, v << 8);
  uint64_t sign = v >> (s->bits - 1) & 1, rest = v & evalint_mask(s->bits - 1u),
           exponent = rest >> s->fraction;
  if (rest > s->most) return UINT64_C(0x7ff8000000000000);
  uint64_t fraction = rest & evalint_mask(s->fraction);
  double x = (double)(exponent ? fraction | UINT64_C(1) << s->fraction : fraction);
  x *= power_of_2(s->least - s->fraction + (exponent ? (int)exponent - 1 : 0));
  return double_bits(sign ? -x : x);
}

uint64_t scalar_small_to_double(uint16_t type, uint64_t v) {
  return from_small(small_named(type), v);
}

/* The nearest, to even. The value in quanta of its binade is an integer after rounding, to which
 * the binade's number is added: what carries goes to the next binade. */
static uint64_t to_small(const struct small *s, double x) {
  uint64_t bits = double_bits(x), sign = bits >> 63 << (s->bits - 1);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  if (x != x) return s->nan;
  if (exponent > 15) return sign | s->most;
  if (exponent < s->least) exponent = s->least;
  double quanta = (x < 0 ? -x : x) * power_of_2(s->fraction - exponent);
  uint64_t code =
      (uint64_t)((quanta + 0x1p52) - 0x1p52) + ((uint64_t)(exponent - s->least) << s->fraction);
  return sign | (code > s->most ? s->most : code);
}

/* ue8m0: 2^(code - 127), of the magnitude, up or down; 255: NaN and, but with .satfinite, what is
 * too large. */
static uint64_t to_exponent(const struct inst *in, double x) {
  uint64_t bits = double_bits(x) & INT64_MAX, most = in->flags & FLAG_HIGH ? 254 : 255;
  if (x != x) return 255;
  bool up = in->rounding == EVALFLOAT_UP && bits << 12;
  int64_t code = (int64_t)(bits >> 52) - 1023 + 127 + up;
  return code < 0 ? 0 : code > 254 ? most : (uint64_t)code;
}

/* Pairs; in->imm: the row of smalls, or beyond them ue8m0. The other format is in `compare`. */
enum { EXPONENT_ONLY = sizeof smalls / sizeof *smalls };
static uint64_t small_of(const struct inst *in, uint64_t v) {
  double x = special_double(
      evalfloat_convert((enum float_format)in->compare, FLOAT_DOUBLE, EVALFLOAT_NEAREST, v));
  if (in->imm == EXPONENT_ONLY) return to_exponent(in, x);
  return to_small(&smalls[in->imm], in->flags & FLAG_RELU && x < 0 ? 0 : x);
}
static unsigned small_width(const struct inst *in) {
  return in->imm != EXPONENT_ONLY && smalls[in->imm].bits == 4 ? 4 : 8;
}
LANE(two_floats_to_small) {
  (void)c;
  return small_of(in, a) << small_width(in) | small_of(in, b);
}
LANE(halves_to_small) { return two_floats_to_small(in, a >> 16 & 0xffff, a & 0xffff, b + c); }
static uint64_t half_of(const struct inst *in, uint64_t v) {
  enum float_format f = format_of(in);
  uint64_t x = in->imm != EXPONENT_ONLY ? from_small(&smalls[in->imm], v)
               : v == 255               ? UINT64_C(0x7ff8000000000000)
                                        : (uint64_t)(1023 - 127 + v) << 52;
  uint64_t r = evalfloat_convert(FLOAT_DOUBLE, f, EVALFLOAT_NEAREST, x);
  return in->flags & FLAG_RELU && r & sign_of(f) && !evalfloat_is_nan(f, r) ? 0 : r;
}
LANE(small_to_halves) {
  (void)b, (void)c;
  uint64_t mask = evalint_mask(small_width(in));
  return half_of(in, a >> small_width(in) & mask) << 16 | half_of(in, a & mask);
}

/* Whether the type is such a pair; then in->imm is set. */
static bool is_small(struct inst *in, uint16_t type) {
  const struct small *s = small_named(type);
  if (!s && type != PTX_MOD_UE8M0X2) return false;
  in->imm = s ? s - smalls : EXPONENT_ONLY;
  return true;
}

lane_fn *scalar_host_convert(const struct sim *s, enum float_format to, enum float_format from) {
  if (!s->host_is_ieee || to == from || to < FLOAT_SINGLE || from < FLOAT_SINGLE) return NULL;
  return to == FLOAT_SINGLE ? host_f64_to_f32 : host_f32_to_f64;
}

lane_fn *scalar_host_from_int(const struct sim *s, enum float_format to) {
  if (!s->host_is_ieee || to < FLOAT_SINGLE) return NULL;
  return to == FLOAT_SINGLE ? host_int_to_f32 : host_int_to_f64;
}

static lane_fn *between_floats(struct decoder *d, uint16_t to, uint16_t from) {
  struct inst *in = d->in;
  in->format = (uint8_t)decode_format(to);
  in->compare = (uint8_t)decode_format(from);
  if (d->words.satfinite) in->flags |= FLAG_HIGH;
  if (to == PTX_MOD_TF32) return float_to_tf32;
  if (is_small(in, to)) return from == PTX_MOD_F32 ? two_floats_to_small : halves_to_small;
  if (is_small(in, from)) return small_to_halves;
  if (ptx_mod_row(to)->kind == 'x')
    return (to == PTX_MOD_F16X2 || to == PTX_MOD_BF16X2) && from == PTX_MOD_F32 ? two_floats : NULL;
  if (ptx_mod_row(from)->kind == 'x') return NULL;
  lane_fn *host = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST
                      ? scalar_host_convert(d->sim, decode_format(to), decode_format(from))
                      : NULL;
  if (to != from) return host ? host : float_to_float;
  return d->words.integral ? float_integral : float_same;
}

lane_fn *scalar_convert(struct decoder *d) {
  struct inst *in = d->in;
  uint16_t to = d->words.type[0], from = d->words.type[1];
  if (d->words.type_count != 2 || d->words.mode == PTX_MOD_PACK || d->words.mode == PTX_MOD_RS)
    return NULL;
  const struct ptx_mod_row *t = ptx_mod_row(to), *f = ptx_mod_row(from);
  bool to_float = t->kind == 'f' || t->kind == 'x', from_float = f->kind == 'f' || f->kind == 'x';
  in->bits = (uint8_t)t->bits;
  in->bits2 = (uint8_t)f->bits;
  in->is_signed = t->kind == 's';
  in->is_signed2 = f->kind == 's';
  if (to_float && from_float) return between_floats(d, to, from);
  in->format = (uint8_t)decode_format(to_float ? to : from);
  bool nearest = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST;
  lane_fn *host = to_float && nearest ? scalar_host_from_int(d->sim, decode_format(to)) : NULL;
  if (to_float) return host ? host : int_to_float;
  if (from == PTX_MOD_F32 && to == PTX_MOD_S32 && in->dest_bits == 32 && in->flags == 0 &&
      in->rounding == EVALFLOAT_ZERO)
    return host_f32_to_s32;
  return from_float ? float_to_int : int_to_int;
}

/* --- loops
 * ------------------------------------------------------------------------------------------- */

#define COMMON(F) \
  F(add_f32) F(sub_f32) F(mul_f32) F(fma_f32) F(add_f64) F(sub_f64) F(mul_f64) F(int_to_int)
COMMON(SCALAR_LOOP)

inst_run *scalar_float_loop(lane_fn *fn) {
  static const struct {
    lane_fn *fn;
    inst_run *loop;
  } loops[] = {COMMON(SCALAR_LOOP_ROW)};
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
    if (loops[i].fn == fn) return loops[i].loop;
  return NULL;
}
