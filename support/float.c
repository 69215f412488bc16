/* Conversions between floating-point formats.
 *
 * Decimal to binary: numbers of up to 19 digits whose value is an exact double times or divided by
 * an exact power of ten take two machine operations (Clinger's fast path, 1990), if the result fits
 * the format exactly. All others go through a decimal big number that is shifted by powers of two
 * until its integer part has more bits than any format; digits beyond MAX_DIGITS only matter if
 * they are not zero (for ties), which one flag records. No double has more than 767 significant
 * digits, so the result is correctly rounded. */
#include "support/float.h"

#include <string.h>

const struct float_shape float_shapes[FLOAT_FORMAT_COUNT] = {
    [FLOAT_HALF] = {16, 5, 10},
    [FLOAT_BFLOAT] = {16, 8, 7},
    [FLOAT_SINGLE] = {32, 8, 23},
    [FLOAT_DOUBLE] = {64, 11, 52},
};

/* A finite value as sign, significand * 2^exponent; or special. */
struct unpacked {
  bool negative, special; /* special: infinity (significand 0) or NaN (its fraction) */
  int exponent;
  uint64_t significand;
};

static int shape_bias(const struct float_shape *s) { return (1 << (s->exponent_bits - 1)) - 1; }

static struct unpacked unpack(uint64_t bits, const struct float_shape *s) {
  uint64_t fraction = bits & ((UINT64_C(1) << s->fraction_bits) - 1);
  int exponent = (int)(bits >> s->fraction_bits) & ((1 << s->exponent_bits) - 1);
  struct unpacked u = {.negative = bits >> (s->bits - 1) & 1, .significand = fraction};
  if (exponent == (1 << s->exponent_bits) - 1) {
    u.special = true;
  } else {
    if (exponent != 0) u.significand |= UINT64_C(1) << s->fraction_bits;
    u.exponent = (exponent ? exponent : 1) - shape_bias(s) - s->fraction_bits;
  }
  return u;
}

static uint64_t infinity_bits(const struct float_shape *s) {
  return ((UINT64_C(1) << s->exponent_bits) - 1) << s->fraction_bits;
}

static int bit_length(uint64_t x) {
  int n = 0;
  while (x) x >>= 1, n++;
  return n;
}

/* Rounds significand * 2^exponent to the shape, without sign; `sticky`: the magnitude is slightly
 * larger. The significand must be below 2^63. */
static uint64_t round_into(uint64_t significand, int exponent, bool sticky,
                           const struct float_shape *s, bool *exact) {
  *exact = !sticky;
  if (significand == 0) return 0;
  int lowest = 1 - shape_bias(s) - s->fraction_bits; /* exponent of the last subnormal bit */
  int drop = bit_length(significand) - (s->fraction_bits + 1);
  if (exponent + drop < lowest) drop = lowest - exponent;
  if (drop > 0) {
    uint64_t rest, half;
    if (drop > 63) {
      rest = 1, half = 2, significand = 0;
    } else {
      rest = significand & ((UINT64_C(1) << drop) - 1);
      half = UINT64_C(1) << (drop - 1);
      significand >>= drop;
    }
    if (rest) *exact = false;
    if (rest > half || (rest == half && (sticky || (significand & 1)))) significand++;
  } else {
    significand <<= -drop;
  }
  exponent += drop;
  if (significand >> (s->fraction_bits + 1)) significand >>= 1, exponent++;
  if (!(significand >> s->fraction_bits)) return significand; /* subnormal or zero */
  int biased = exponent + s->fraction_bits + shape_bias(s);
  if (biased >= (1 << s->exponent_bits) - 1) {
    *exact = false;
    return infinity_bits(s);
  }
  return (uint64_t)biased << s->fraction_bits |
         (significand & ((UINT64_C(1) << s->fraction_bits) - 1));
}

static uint64_t convert_special(uint64_t fraction, enum float_format from, enum float_format to,
                                bool *exact) {
  const struct float_shape *a = &float_shapes[from], *b = &float_shapes[to];
  uint64_t result = infinity_bits(b);
  *exact = true;
  if (fraction == 0) return result;
  int shift = b->fraction_bits - a->fraction_bits;
  uint64_t moved = shift >= 0 ? fraction << shift : fraction >> -shift;
  *exact = shift >= 0 || moved << -shift == fraction;
  return result | moved | UINT64_C(1) << (b->fraction_bits - 1);
}

uint64_t float_convert_bits(uint64_t bits, enum float_format from, enum float_format to,
                            bool *exact) {
  bool ignored;
  if (!exact) exact = &ignored;
  *exact = true;
  if (from == to) return bits;
  const struct float_shape *s = &float_shapes[to];
  struct unpacked u = unpack(bits, &float_shapes[from]);
  uint64_t result = u.special ? convert_special(u.significand, from, to, exact)
                              : round_into(u.significand, u.exponent, false, s, exact);
  return result | (uint64_t)u.negative << (s->bits - 1);
}

/* 0.d0 d1 d2 … * 10^point, no leading zero digit; `more`: the digits cut off are not all zero. */
enum { MAX_DIGITS = 800, MAX_SHIFT = 58 };
struct decimal {
  uint8_t digits[MAX_DIGITS + 20];
  int count;
  int point;
  bool more;
};

static void decimal_trim(struct decimal *d) {
  while (d->count > 0 && d->digits[d->count - 1] == 0) d->count--;
  if (d->count == 0 && !d->more) d->point = 0;
}

/* d *= 2^shift, shift up to MAX_SHIFT. */
static void decimal_shift_left(struct decimal *d, int shift) {
  uint8_t result[MAX_DIGITS + 40];
  int write = (int)sizeof result;
  uint64_t carry = 0;
  for (int i = d->count - 1; i >= 0; i--) {
    carry += (uint64_t)d->digits[i] << shift;
    result[--write] = carry % 10;
    carry /= 10;
  }
  int grown = 0;
  for (; carry; carry /= 10, grown++) result[--write] = carry % 10;
  d->count += grown;
  d->point += grown;
  int kept = d->count > MAX_DIGITS ? MAX_DIGITS : d->count;
  for (int i = kept; i < d->count; i++) d->more |= result[write + i] != 0;
  memcpy(d->digits, result + write, (size_t)kept);
  d->count = kept;
  decimal_trim(d);
}

/* d /= 2^shift, shift up to MAX_SHIFT. */
static void decimal_shift_right(struct decimal *d, int shift) {
  uint64_t rest = 0, mask = (UINT64_C(1) << shift) - 1;
  int read = 0, write = 0;
  uint8_t result[MAX_DIGITS];
  for (; rest >> shift == 0; read++) {
    if (read >= d->count && rest == 0) return; /* the number is zero */
    rest = rest * 10 + (read < d->count ? d->digits[read] : 0);
  }
  d->point -= read - 1;
  while (read < d->count || rest) {
    uint8_t digit = (uint8_t)(rest >> shift);
    if (write < MAX_DIGITS) result[write++] = digit;
    else d->more |= digit != 0;
    rest = (rest & mask) * 10 + (read < d->count ? d->digits[read] : 0);
    read++;
  }
  memcpy(d->digits, result, (size_t)write);
  d->count = write;
  decimal_trim(d);
}

/* The nearest value of a decimal that is not zero, without sign. */
static uint64_t decimal_to_nearest(struct decimal *d, const struct float_shape *s) {
  if (d->point > 310) return infinity_bits(s);
  if (d->point < -330) return 0;
  int exponent = 0; /* of two */
  while (d->point > 19) decimal_shift_right(d, MAX_SHIFT), exponent += MAX_SHIFT;
  while (d->point < 18) { /* until the integer part has at least 58 bits, more than 53 + 1 */
    int shift = d->point < 0 ? MAX_SHIFT : (18 - d->point) * 3;
    if (shift < 1) shift = 1;
    decimal_shift_left(d, shift), exponent -= shift;
  }
  while (d->point > 18) decimal_shift_right(d, 1), exponent++;
  uint64_t integer = 0;
  for (int i = 0; i < d->point; i++) integer = integer * 10 + (i < d->count ? d->digits[i] : 0);
  bool exact;
  return round_into(integer, exponent, d->count > d->point || d->more, s, &exact);
}

static bool digit_at(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

/* Reads an optional exponent part up to `end`; false if malformed. Saturates far out of range. */
static bool read_exponent(const char *p, const char *end, char letter, int *exponent) {
  *exponent = 0;
  if (p == end) return true;
  if ((*p | 32) != letter) return false;
  bool negative = ++p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (!digit_at(p, end)) return false;
  for (; digit_at(p, end); p++)
    if (*exponent < 100000) *exponent = *exponent * 10 + (*p - '0');
  if (negative) *exponent = -*exponent;
  return p == end;
}

static const double exact_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Two machine operations on exact operands, and an exact conversion. */
static bool fast_nearest(uint64_t digits, int exponent, enum float_format format, uint64_t *bits) {
  if (digits >> 53 || exponent < -22 || exponent > 22) return false;
  volatile double value =
      (double)digits; /* volatile: rounded to double at each step on all hosts */
  if (exponent < 0) value = value / exact_powers[-exponent];
  else value = value * exact_powers[exponent];
  double result = value;
  bool exact;
  memcpy(bits, &result, sizeof *bits);
  *bits = float_convert_bits(*bits, FLOAT_DOUBLE, format, &exact);
  return exact;
}

/* The digits of [p, end) up to the exponent, without leading zeros. */
static const char *read_digits(const char *p, const char *end, struct decimal *d, bool *any) {
  bool point = false;
  *any = false;
  for (; p < end && (digit_at(p, end) || (*p == '.' && !point)); p++) {
    if (*p == '.') {
      point = true;
      continue;
    }
    *any = true;
    if (d->count == 0 && *p == '0') {
      if (point && d->point > -100000) d->point--;
      continue;
    }
    if (!point && d->point < 100000) d->point++;
    if (d->count < MAX_DIGITS) d->digits[d->count++] = (uint8_t)(*p - '0');
    else d->more |= *p != '0';
  }
  return p;
}

bool float_from_decimal(const char *text, size_t length, enum float_format format, uint64_t *bits) {
  const struct float_shape *s = &float_shapes[format];
  const char *p = text, *end = text + length;
  struct decimal d;
  d.count = d.point = 0, d.more = false;
  bool any, negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  p = read_digits(p, end, &d, &any);
  int exponent;
  if (!any || !read_exponent(p, end, 'e', &exponent)) return false;
  decimal_trim(&d);
  uint64_t small = 0;
  for (int i = 0; i < d.count && i < 19; i++) small = small * 10 + d.digits[i];
  d.point += exponent;
  if (d.count == 0) *bits = 0;
  else if (d.count > 19 || d.more || !fast_nearest(small, d.point - d.count, format, bits))
    *bits = decimal_to_nearest(&d, s);
  if (*bits == infinity_bits(s)) return false;
  *bits |= (uint64_t)negative << (s->bits - 1);
  return true;
}

static uint32_t hex_value(char c) { return (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10); }

/* Digits beyond 62 bits only matter if they are not zero. */
static bool from_hexadecimal(const char *p, const char *end, const struct float_shape *s,
                             uint64_t *bits) {
  uint64_t significand = 0;
  int64_t exponent = 0;
  int written;
  bool point = false, sticky = false, exact;
  for (; p < end && (*p | 32) != 'p'; p++) {
    bool room = significand >> 58 == 0;
    if (*p == '.') {
      point = true;
      continue;
    }
    if (room) significand = significand * 16 + hex_value(*p);
    else sticky |= *p != '0';
    exponent += 4 * (!room - point);
  }
  if (!read_exponent(p, end, 'p', &written)) return false;
  exponent += written;
  exponent = exponent < -100000 ? -100000 : exponent > 100000 ? 100000 : exponent;
  *bits = round_into(significand, (int)exponent, sticky, s, &exact);
  return *bits != infinity_bits(s);
}

/* inf, qnan, nan(0x1), snan(0x1): the payload in parentheses is below the quiet bit. */
static bool from_word(const char *p, const char *end, const struct float_shape *s, uint64_t *bits) {
  uint64_t payload = 0, quiet = UINT64_C(1) << (s->fraction_bits - 1);
  const char *open = memchr(p, '(', (size_t)(end - p));
  for (const char *c = open ? open + 3 : end; c < end && *c != ')'; c++) {
    payload = payload * 16 + hex_value(*c);
    if (payload >= quiet) return false;
  }
  *bits = infinity_bits(s) | payload | (*p == 'q' || *p == 'n' ? quiet : 0);
  return payload != 0 || *p != 's';
}

bool float_from_special(const char *text, size_t length, enum float_format format, uint64_t *bits) {
  const struct float_shape *s = &float_shapes[format];
  const char *p = text, *end = text + length;
  bool negative = *p == '-', ok;
  p += *p == '-' || *p == '+';
  *bits = 0;
  if (*p == '0') ok = from_hexadecimal(p + 2, end, s, bits);
  else ok = from_word(p, end, s, bits);
  *bits |= (uint64_t)negative << (s->bits - 1);
  return ok;
}
