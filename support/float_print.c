/* Decimal text of floating-point numbers.
 *
 * A finite number is m * 2^e. Its digits are generated after Steele and White ("How to print
 * floating-point numbers accurately", 1990) in whole numbers of up to 2560 bits:
 *
 *     r / s          what is still to be printed, 0 <= r / s < 10
 *     below / s      half the gap to the next number below, in the same scale
 *     above / s      half the gap to the next number above
 *
 * All four are multiplied by ten after each digit, so that "does the text so far parse to the
 * number?" is one exact comparison. Numbers that are short dyadic fractions (1.0, 0.5, 40.0),
 * nearly all constants of real programs, take a path without big numbers. */
#include "support/float_print.h"

#include <assert.h>

/* Whole numbers of up to LIMBS * 32 bits: 2^53 * 5^1074 fits. */
enum { LIMBS = 80 };

struct big {
  uint32_t limb[LIMBS]; /* lowest first */
  int count;            /* limbs in use; the highest is not zero */
};

static void big_set(struct big *b, uint64_t value) {
  b->limb[0] = (uint32_t)value;
  b->limb[1] = (uint32_t)(value >> 32);
  b->count = b->limb[1] ? 2 : b->limb[0] ? 1 : 0;
}

static void big_multiply(struct big *b, uint32_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < b->count; i++) {
    carry += (uint64_t)b->limb[i] * factor;
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry == 0) return;
  assert(b->count < LIMBS);
  b->limb[b->count++] = (uint32_t)carry;
}

static void big_multiply_power_of_ten(struct big *b, int exponent) {
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (; exponent >= 9; exponent -= 9) big_multiply(b, 1000000000);
  if (exponent > 0) big_multiply(b, powers[exponent]);
}

static void big_shift_left(struct big *b, int bits) {
  if (b->count == 0) return;
  int words = bits / 32;
  assert(b->count + words <= LIMBS);
  memmove(b->limb + words, b->limb, (size_t)b->count * sizeof b->limb[0]);
  memset(b->limb, 0, (size_t)words * sizeof b->limb[0]);
  b->count += words;
  big_multiply(b, UINT32_C(1) << (bits % 32));
}

static int big_compare(const struct big *a, const struct big *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (int i = a->count; i-- > 0;)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

/* a -= b, which must not be greater. */
static void big_subtract(struct big *a, const struct big *b) {
  uint64_t borrow = 0;
  for (int i = 0; i < a->count; i++) {
    uint64_t d = (uint64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0) - borrow;
    a->limb[i] = (uint32_t)d;
    borrow = d >> 63;
  }
  assert(borrow == 0);
  while (a->count > 0 && a->limb[a->count - 1] == 0) a->count--;
}

/* Compares a + b with c. */
static int big_compare_sum(const struct big *a, const struct big *b, const struct big *c) {
  struct big rest = *c;
  if (big_compare(a, c) > 0) return 1;
  big_subtract(&rest, a);
  return big_compare(b, &rest);
}

/* A decoded number; a finite value is mantissa * 2^exponent. */
struct float_parts {
  uint64_t mantissa;
  int exponent;
  bool negative, special; /* special: infinity if mantissa is 0, else NaN */
  bool uneven_gap;        /* the gap below is half of the gap above */
};

static struct float_parts float_split(enum float_format format, uint64_t bits) {
  struct float_shape s = float_shapes[format];
  int top = (1 << s.exponent_bits) - 1;
  int biased = (int)(bits >> s.fraction_bits) & top;
  struct float_parts p = {.mantissa = bits & ((UINT64_C(1) << s.fraction_bits) - 1),
                          .negative = bits >> (s.fraction_bits + s.exponent_bits) & 1,
                          .special = biased == top};
  if (p.special) return p;
  p.uneven_gap = p.mantissa == 0 && biased > 1;
  if (biased > 0) p.mantissa |= UINT64_C(1) << s.fraction_bits;
  p.exponent = (biased > 0 ? biased : 1) - top / 2 - s.fraction_bits;
  return p;
}

/* Digits of a positive number: d[0].d[1]d[2]… * 10^exponent. */
struct decimal {
  char digits[FLOAT_PRINT_MAX_DIGITS]; /* '0'..'9' */
  int count;
  int exponent;
};

struct digit_state {
  struct big r, s, below, above;
  bool even; /* ties parse to this number */
};

static int bit_length(uint64_t x) {
  int n = 0;
  for (; x != 0; x >>= 1) n++;
  return n;
}

/* floor(n * log10(2)) for |n| < 1100. */
static int floor_log10_of_power_of_two(int n) {
  int scaled = n * 78913; /* 2^18 * log10(2) */
  return scaled >= 0 ? scaled / (1 << 18) : -((-scaled + (1 << 18) - 1) / (1 << 18));
}

/* Sets r / s to the number divided by 10^k with 1 <= r / s < 10; returns k. */
static int digits_begin(struct digit_state *g, struct float_parts p) {
  g->even = (p.mantissa & 1) == 0;
  big_set(&g->r, p.mantissa);
  big_set(&g->s, 1);
  big_set(&g->below, 1);
  int more = p.uneven_gap ? 2 : 1; /* halves, or quarters, of the gap are whole */
  big_shift_left(&g->r, (p.exponent > 0 ? p.exponent : 0) + more);
  big_shift_left(&g->s, (p.exponent < 0 ? -p.exponent : 0) + more);
  big_shift_left(&g->below, p.exponent > 0 ? p.exponent : 0);
  g->above = g->below;
  if (p.uneven_gap) big_multiply(&g->above, 2);
  int k = floor_log10_of_power_of_two(p.exponent + bit_length(p.mantissa) - 1);
  if (k > 0) big_multiply_power_of_ten(&g->s, k);
  if (k < 0) {
    big_multiply_power_of_ten(&g->r, -k);
    big_multiply_power_of_ten(&g->below, -k);
    big_multiply_power_of_ten(&g->above, -k);
  }
  struct big ten_s = g->s;
  big_multiply(&ten_s, 10);
  if (big_compare(&g->r, &ten_s) < 0) return k;
  g->s = ten_s;
  return k + 1;
}

static int digits_next(struct digit_state *g) {
  int digit = 0;
  for (; big_compare(&g->r, &g->s) >= 0; digit++) big_subtract(&g->r, &g->s);
  assert(digit < 10);
  return digit;
}

static void digits_scale(struct digit_state *g) {
  big_multiply(&g->r, 10);
  big_multiply(&g->below, 10);
  big_multiply(&g->above, 10);
}

/* Whether the digits so far, or these plus one in the last place, parse to the number. */
static bool digits_low_reads_back(const struct digit_state *g) {
  int c = big_compare(&g->r, &g->below);
  return c < 0 || (c == 0 && g->even);
}
static bool digits_high_reads_back(const struct digit_state *g) {
  int c = big_compare_sum(&g->r, &g->above, &g->s);
  return c > 0 || (c == 0 && g->even);
}

/* Adds one in the last place. */
static void decimal_increment(struct decimal *d) {
  int i = d->count - 1;
  while (i >= 0 && d->digits[i] == '9') d->digits[i--] = '0';
  if (i >= 0) {
    d->digits[i]++;
    return;
  }
  d->digits[0] = '1'; /* 99…9 became 100…0 */
  d->exponent++;
}

/* Whether the remainder after the last digit rounds up; ties to an even digit. */
static bool digits_round_up(const struct digit_state *g, char last) {
  int c = big_compare_sum(&g->r, &g->r, &g->s);
  return c > 0 || (c == 0 && (last & 1) != 0);
}

static struct decimal decimal_fixed(struct float_parts p, int count) {
  struct digit_state g;
  struct decimal d = {.count = count};
  d.exponent = digits_begin(&g, p);
  for (int i = 0; i < count; i++) {
    if (i > 0) digits_scale(&g);
    d.digits[i] = (char)('0' + digits_next(&g));
  }
  if (digits_round_up(&g, d.digits[count - 1])) decimal_increment(&d);
  return d;
}

static struct decimal decimal_shortest(struct float_parts p) {
  struct digit_state g;
  struct decimal d = {0};
  d.exponent = digits_begin(&g, p);
  for (;;) {
    d.digits[d.count++] = (char)('0' + digits_next(&g));
    bool low = digits_low_reads_back(&g), high = digits_high_reads_back(&g);
    if (low || high) {
      if (high && (!low || digits_round_up(&g, d.digits[d.count - 1]))) decimal_increment(&d);
      break;
    }
    digits_scale(&g);
  }
  while (d.count > 1 && d.digits[d.count - 1] == '0') d.count--;
  return d;
}

static void write_exponent(struct textbuf *out, int exponent) {
  textbuf_char(out, 'e');
  textbuf_char(out, exponent < 0 ? '-' : '+');
  unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
  if (magnitude < 10) textbuf_char(out, '0');
  textbuf_unsigned(out, magnitude);
}

/* d.ddde+XX, filled with zeros up to `decimals` digits after the point. */
static void write_scientific(struct textbuf *out, const struct decimal *d, int decimals) {
  textbuf_char(out, d->digits[0]);
  if (decimals > 0) textbuf_char(out, '.');
  for (int i = 1; i <= decimals; i++) textbuf_char(out, i < d->count ? d->digits[i] : '0');
  write_exponent(out, d->exponent);
}

/* Digits with the point in its place; the exponent is small. */
static void write_plain(struct textbuf *out, const struct decimal *d) {
  if (d->exponent < 0) textbuf_write(out, "0.0000000", (size_t)(1 - d->exponent));
  for (int i = 0; i < d->count || i <= d->exponent; i++) {
    if (i > 0 && i == d->exponent + 1) textbuf_char(out, '.');
    textbuf_char(out, i < d->count ? d->digits[i] : '0');
  }
  if (d->count <= d->exponent + 1) textbuf_puts(out, ".0");
}

/* inf and nan; false for finite numbers. Writes the sign of all but NaNs. */
static bool write_sign_and_special(struct textbuf *out, struct float_parts p) {
  bool nan = p.special && p.mantissa != 0;
  if (p.negative && !nan) textbuf_char(out, '-');
  if (p.special) textbuf_puts(out, nan ? "nan" : "inf");
  return p.special;
}

enum { PLAIN_MIN_EXPONENT = -5, PLAIN_MAX_EXPONENT = 15 };

void float_print_shortest(struct textbuf *out, enum float_format format, uint64_t bits) {
  struct float_parts p = float_split(format, bits);
  if (write_sign_and_special(out, p)) return;
  if (p.mantissa == 0) {
    textbuf_puts(out, "0.0");
    return;
  }
  struct decimal d = decimal_shortest(p);
  if (d.exponent >= PLAIN_MIN_EXPONENT && d.exponent <= PLAIN_MAX_EXPONENT) write_plain(out, &d);
  else write_scientific(out, &d, d.count - 1);
}

void float_print_scientific(struct textbuf *out, enum float_format format, uint64_t bits,
                            int decimals) {
  assert(decimals >= 0 && decimals < FLOAT_PRINT_MAX_DIGITS);
  struct float_parts p = float_split(format, bits);
  if (write_sign_and_special(out, p)) return;
  struct decimal d = {.digits = "0", .count = 1};
  if (p.mantissa != 0) d = decimal_fixed(p, decimals + 1);
  write_scientific(out, &d, decimals);
}

uint64_t float_print_widen(enum float_format format, uint64_t bits) {
  if (format == FLOAT_DOUBLE) return bits;
  struct float_parts p = float_split(format, bits);
  uint64_t sign = (uint64_t)p.negative << 63;
  if (p.special)
    return sign | UINT64_C(0x7FF) << 52 | p.mantissa << (52 - float_shapes[format].fraction_bits);
  if (p.mantissa == 0) return sign;
  int length = bit_length(p.mantissa);
  uint64_t fraction = p.mantissa << (53 - length) & ((UINT64_C(1) << 52) - 1);
  return sign | (uint64_t)(p.exponent + length - 1 + 1023) << 52 | fraction;
}

/* ---- Constants of the IR ---- */

/* LLVM prints six digits, rounded half up from seven or eight that are truncated, not rounded; if
 * only six remain, it does not round (0.7 is 6.99999e-01, which does not parse back, so it is
 * printed as bits). This reproduces the same digits: the number is whole / 10^scale, of which all
 * but some 20 bits are dropped. */
enum { CONSTANT_DIGITS = 6, CONSTANT_LIMIT = 1000000, CONSTANT_BITS = 20 };

static int big_bit_length(const struct big *b) {
  return b->count == 0 ? 0 : (b->count - 1) * 32 + bit_length(b->limb[b->count - 1]);
}

static void big_divide(struct big *b, uint32_t divisor) {
  uint64_t rest = 0;
  for (int i = b->count; i-- > 0;) {
    rest = rest << 32 | b->limb[i];
    b->limb[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  while (b->count > 0 && b->limb[b->count - 1] == 0) b->count--;
}

static void big_divide_power_of_ten(struct big *b, int exponent) {
  for (; exponent >= 9; exponent -= 9) big_divide(b, 1000000000);
  for (; exponent > 0; exponent--) big_divide(b, 10);
}

static void big_multiply_power_of_five(struct big *b, int exponent) {
  for (; exponent >= 13; exponent -= 13) big_multiply(b, 1220703125);
  for (; exponent > 0; exponent--) big_multiply(b, 5);
}

/* The digits of `value` / 10^scale. */
static struct decimal decimal_of_integer(uint64_t value, int scale) {
  struct decimal d = {0};
  char reversed[20];
  do reversed[d.count++] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  for (int i = 0; i < d.count; i++) d.digits[i] = reversed[d.count - 1 - i];
  d.exponent = d.count - 1 - scale;
  return d;
}

static struct decimal decimal_of_constant(struct float_parts p) {
  struct big whole;
  while ((p.mantissa & 1) == 0) p.mantissa >>= 1, p.exponent++;
  int scale = p.exponent < 0 ? -p.exponent : 0;
  big_set(&whole, p.mantissa);
  if (p.exponent > 0) big_shift_left(&whole, p.exponent);
  big_multiply_power_of_five(&whole, scale);
  int excess = big_bit_length(&whole) - CONSTANT_BITS;
  int dropped = excess > 0 ? excess * 59 / 196 : 0; /* digits */
  big_divide_power_of_ten(&whole, dropped);
  assert(whole.count <= 1);
  uint64_t value = whole.count ? whole.limb[0] : 0;
  uint64_t unit = 1; /* of the sixth digit */
  while (value / unit >= CONSTANT_LIMIT) unit *= 10, dropped++;
  return decimal_of_integer((value + unit / 2) / unit, scale - dropped);
}

/* The digits of a number that needs at most six, with small integers; false if that is not
 * evident. */
static bool decimal_easy(struct float_parts p, struct decimal *d) {
  while ((p.mantissa & 1) == 0) p.mantissa >>= 1, p.exponent++;
  if (p.mantissa >= CONSTANT_LIMIT || p.exponent >= 20 || p.exponent < -8) return false;
  uint64_t value = p.mantissa; /* below 2^20 */
  for (int i = p.exponent; i < 0; i++) value *= 5;
  if (p.exponent > 0) value <<= p.exponent;
  if (value >= CONSTANT_LIMIT) return false;
  *d = decimal_of_integer(value, p.exponent < 0 ? -p.exponent : 0);
  return true;
}

/* Writes the number in decimal if that parses back to it; otherwise writes nothing and returns
 * false. */
static bool write_decimal_constant(struct textbuf *out, uint64_t bits) {
  struct float_parts p = float_split(FLOAT_DOUBLE, bits);
  struct decimal d = {.digits = "0", .count = 1};
  size_t begin = out->length;
  if (p.special) return false;
  if (p.negative) textbuf_char(out, '-');
  bool exact = p.mantissa == 0 || decimal_easy(p, &d);
  if (!exact) d = decimal_of_constant(p);
  write_scientific(out, &d, CONSTANT_DIGITS);
  uint64_t back = 0;
  if (exact || out->arena->failed) return true;
  if (float_from_decimal(out->bytes + begin, out->length - begin, FLOAT_DOUBLE, &back) &&
      back == bits)
    return true;
  out->length = begin;
  return false;
}

void float_print_constant(struct textbuf *out, enum float_format format, uint64_t bits) {
  if (format == FLOAT_HALF || format == FLOAT_BFLOAT) {
    textbuf_puts(out, format == FLOAT_HALF ? "0xH" : "0xR");
    textbuf_hex(out, bits, 4, true);
    return;
  }
  uint64_t wide = float_print_widen(format, bits);
  if (write_decimal_constant(out, wide)) return;
  textbuf_puts(out, "0x");
  textbuf_hex(out, wide, (bit_length(wide) + 3) / 4, true);
}
