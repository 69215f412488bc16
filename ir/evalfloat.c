/* Floating-point arithmetic in integers: a finite operand becomes sign, significand * 2^exponent,
 * the operation is done exactly in 128 bits (a sticky bit represents what does not fit), and one
 * function rounds the result into its format in any direction. */
#include "ir/evalfloat.h"

#include "ir/evalint.h"

typedef evalint_u128 u128;

enum number_class { NUMBER_FINITE, NUMBER_INFINITE, NUMBER_NAN };

struct number {
  enum number_class class;
  bool negative;
  int exponent;
  u128 significand; /* of NUMBER_FINITE; 0: zero */
  bool sticky;      /* the value's magnitude is larger, by less than one unit of significand */
};

static uint64_t fraction_mask(enum float_format f) {
  return evalint_mask(float_shapes[f].fraction_bits);
}
static uint64_t exponent_mask(enum float_format f) {
  return evalint_mask(float_shapes[f].exponent_bits);
}
static int bias(enum float_format f) { return (1 << (float_shapes[f].exponent_bits - 1)) - 1; }

uint64_t evalfloat_infinity(enum float_format f) {
  return exponent_mask(f) << float_shapes[f].fraction_bits;
}
uint64_t evalfloat_largest(enum float_format f) { return evalfloat_infinity(f) - 1; }
uint64_t evalfloat_nan(enum float_format f) {
  if (f == FLOAT_DOUBLE) return UINT64_C(0x7ff8000000000000);
  return evalfloat_infinity(f) | fraction_mask(f);
}
static uint64_t magnitude(enum float_format f, uint64_t a) { return a & (evalfloat_sign(f) - 1); }
bool evalfloat_is_nan(enum float_format f, uint64_t a) {
  return magnitude(f, a) > evalfloat_infinity(f);
}
bool evalfloat_is_infinite(enum float_format f, uint64_t a) {
  return magnitude(f, a) == evalfloat_infinity(f);
}
bool evalfloat_is_zero(enum float_format f, uint64_t a) { return magnitude(f, a) == 0; }
bool evalfloat_is_subnormal(enum float_format f, uint64_t a) {
  uint64_t m = magnitude(f, a);
  return m != 0 && m <= fraction_mask(f);
}
uint64_t evalfloat_flush(enum float_format f, uint64_t a) {
  return evalfloat_is_subnormal(f, a) ? a & evalfloat_sign(f) : a;
}

static u128 wide_mask(unsigned bits) { return ~(u128)0 >> (128 - bits); }

static int length_of(u128 x) {
  uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
  if (high) return 128 - __builtin_clzll(high);
  return low ? 64 - __builtin_clzll(low) : 0;
}

static struct number unpack(enum float_format f, uint64_t a) {
  struct number n = {.negative = (a & evalfloat_sign(f)) != 0};
  uint64_t m = magnitude(f, a), fraction = m & fraction_mask(f);
  int exponent = (int)(m >> float_shapes[f].fraction_bits);
  if ((uint64_t)exponent == exponent_mask(f)) {
    n.class = fraction ? NUMBER_NAN : NUMBER_INFINITE;
    return n;
  }
  n.significand = exponent ? fraction | (fraction_mask(f) + 1) : fraction;
  n.exponent = (exponent ? exponent : 1) - bias(f) - float_shapes[f].fraction_bits;
  return n;
}

/* Shifts left until the significand has `length` bits; zero stays. */
static void normalize(struct number *n, int length) {
  int shift = length - length_of(n->significand);
  if (n->significand == 0 || shift <= 0) return;
  n->significand <<= shift;
  n->exponent -= shift;
}

static void shift_right(struct number *n, int count) {
  if (count <= 0) return;
  if (count > 127) {
    if (n->significand) n->sticky = true;
    n->significand = 0;
  } else {
    if (n->significand & (((u128)1 << count) - 1)) n->sticky = true;
    n->significand >>= count;
  }
  n->exponent += count;
}

/* Whether a magnitude is rounded up; `rest`: the dropped part (0: none, 1: below half, 2: half, 3:
 * above). */
static bool rounds_up(enum evalfloat_rounding r, bool negative, int rest, bool odd) {
  switch (r) {
    case EVALFLOAT_NEAREST: return rest == 3 || (rest == 2 && odd);
    case EVALFLOAT_AWAY: return rest >= 2;
    case EVALFLOAT_ZERO: return false;
    case EVALFLOAT_DOWN: return rest != 0 && negative;
    case EVALFLOAT_UP: return rest != 0 && !negative;
  }
  return false;
}

/* Drops `count` low bits of the significand and rounds. */
static u128 round_off(const struct number *n, enum evalfloat_rounding r, int count) {
  u128 kept = n->significand;
  int rest = n->sticky ? 1 : 0;
  if (count > 0) {
    u128 dropped, half;
    if (count > 127) {
      dropped = kept ? 1 : 0, half = 2, kept = 0;
    } else {
      dropped = kept & (((u128)1 << count) - 1), half = (u128)1 << (count - 1), kept >>= count;
    }
    if (dropped > half || (dropped == half && n->sticky)) rest = 3;
    else if (dropped == half) rest = 2;
    else if (dropped) rest = 1;
  }
  return kept + (rounds_up(r, n->negative, rest, kept & 1) ? 1 : 0);
}

static uint64_t overflow(enum float_format f, enum evalfloat_rounding r, bool negative) {
  bool away = r == EVALFLOAT_NEAREST || r == EVALFLOAT_AWAY || (r == EVALFLOAT_DOWN && negative) ||
              (r == EVALFLOAT_UP && !negative);
  return away ? evalfloat_infinity(f) : evalfloat_largest(f);
}

static uint64_t pack(enum float_format f, enum evalfloat_rounding r, struct number n) {
  uint64_t sign = n.negative ? evalfloat_sign(f) : 0;
  if (n.class == NUMBER_NAN) return evalfloat_nan(f);
  if (n.class == NUMBER_INFINITE) return sign | evalfloat_infinity(f);
  if (n.significand == 0 && !n.sticky) return sign;
  int fraction_bits = float_shapes[f].fraction_bits;
  int lowest = 1 - bias(f) - fraction_bits;
  if (n.sticky) normalize(&n, 100); /* the sticky bit is then below the kept bits */
  int drop = length_of(n.significand) - (fraction_bits + 1);
  if (n.exponent + drop < lowest) drop = lowest - n.exponent;
  u128 kept = drop >= 0 ? round_off(&n, r, drop) : n.significand << -drop;
  int exponent = n.exponent + drop;
  if (kept >> (fraction_bits + 1)) kept >>= 1, exponent++;
  if (!(kept >> fraction_bits)) return sign | (uint64_t)kept;
  int biased = exponent + fraction_bits + bias(f);
  if (biased >= (int)exponent_mask(f)) return sign | overflow(f, r, n.negative);
  return sign | (uint64_t)biased << fraction_bits | ((uint64_t)kept & fraction_mask(f));
}

static const struct number not_a_number = {.class = NUMBER_NAN};

/* --- sums ------------------------------------------------------------------------------------- */

/* The sum of finite numbers. */
static struct number sum_finite(struct number a, struct number b, enum evalfloat_rounding r) {
  if (a.significand == 0 && b.significand == 0) {
    if (a.negative != b.negative) a.negative = r == EVALFLOAT_DOWN;
    return a;
  }
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  normalize(&a, 126);
  normalize(&b, 126);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) {
    struct number swap = a;
    a = b;
    b = swap;
  }
  shift_right(&b, a.exponent - b.exponent);
  if (a.negative == b.negative) {
    a.significand += b.significand;
    a.sticky = b.sticky;
    return a;
  }
  a.significand -= b.significand;
  if (b.sticky) {
    a.significand--;
    a.sticky = true;
  }
  if (a.significand == 0 && !a.sticky) a.negative = r == EVALFLOAT_DOWN;
  return a;
}

static struct number sum(struct number a, struct number b, enum evalfloat_rounding r) {
  if (a.class == NUMBER_NAN || b.class == NUMBER_NAN) return not_a_number;
  if (a.class == NUMBER_INFINITE && b.class == NUMBER_INFINITE && a.negative != b.negative)
    return not_a_number;
  if (a.class == NUMBER_INFINITE) return a;
  if (b.class == NUMBER_INFINITE) return b;
  return sum_finite(a, b, r);
}

static struct number product(struct number a, struct number b) {
  if (a.class == NUMBER_NAN || b.class == NUMBER_NAN) return not_a_number;
  struct number p = {.negative = a.negative != b.negative};
  bool infinite = a.class == NUMBER_INFINITE || b.class == NUMBER_INFINITE;
  bool zero = (a.class == NUMBER_FINITE && a.significand == 0) ||
              (b.class == NUMBER_FINITE && b.significand == 0);
  if (infinite && zero) return not_a_number;
  if (infinite) {
    p.class = NUMBER_INFINITE;
    return p;
  }
  p.significand = a.significand * b.significand;
  p.exponent = a.exponent + b.exponent;
  return p;
}

uint64_t evalfloat_add(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b) {
  return pack(f, r, sum(unpack(f, a), unpack(f, b), r));
}
uint64_t evalfloat_sub(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b) {
  return evalfloat_add(f, r, a, b ^ evalfloat_sign(f));
}
uint64_t evalfloat_mul(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b) {
  return pack(f, r, product(unpack(f, a), unpack(f, b)));
}
uint64_t evalfloat_fma(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b,
                       uint64_t c) {
  return pack(f, r, sum(product(unpack(f, a), unpack(f, b)), unpack(f, c), r));
}

/* --- quotients and roots ---------------------------------------------------------------------- */

uint64_t evalfloat_div(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b) {
  struct number x = unpack(f, a), y = unpack(f, b);
  struct number q = {.negative = x.negative != y.negative};
  if (x.class == NUMBER_NAN || y.class == NUMBER_NAN) return evalfloat_nan(f);
  if (x.class == NUMBER_INFINITE) {
    q.class = y.class == NUMBER_INFINITE ? NUMBER_NAN : NUMBER_INFINITE;
  } else if (y.class == NUMBER_FINITE && y.significand == 0) {
    q.class = x.significand == 0 ? NUMBER_NAN : NUMBER_INFINITE;
  } else if (y.class == NUMBER_FINITE && x.significand != 0) {
    normalize(&x, 126);
    normalize(&y, 53);
    q.significand = x.significand / y.significand;
    q.sticky = x.significand % y.significand != 0;
    q.exponent = x.exponent - y.exponent;
  }
  return pack(f, r, q);
}

/* The integer square root, bit by bit from the top. */
static u128 root_of(u128 x) {
  u128 root = 0;
  for (int i = 62; i >= 0; i--) {
    u128 next = root | (u128)1 << i;
    if (next * next <= x) root = next;
  }
  return root;
}

uint64_t evalfloat_sqrt(enum float_format f, enum evalfloat_rounding r, uint64_t a) {
  struct number x = unpack(f, a);
  if (x.class == NUMBER_NAN) return evalfloat_nan(f);
  if (x.class == NUMBER_FINITE && x.significand == 0) return a;
  if (x.negative) return evalfloat_nan(f);
  if (x.class == NUMBER_INFINITE) return a;
  normalize(&x, 126);
  if (x.exponent & 1) shift_right(&x, 1); /* the lowest bit is zero */
  struct number root = {.significand = root_of(x.significand), .exponent = x.exponent / 2};
  root.sticky = root.significand * root.significand != x.significand;
  return pack(f, r, root);
}

uint64_t evalfloat_rem(enum float_format f, uint64_t a, uint64_t b) {
  struct number x = unpack(f, a), y = unpack(f, b);
  if (x.class != NUMBER_FINITE || y.class == NUMBER_NAN) return evalfloat_nan(f);
  if (y.class == NUMBER_INFINITE) return a;
  if (y.significand == 0) return evalfloat_nan(f);
  if (x.exponent < y.exponent) { /* y in units of x's last place, as far as it matters */
    int shift = y.exponent - x.exponent;
    if (shift > 70) return a;
    y.significand <<= shift;
    y.exponent = x.exponent;
  }
  x.significand %= y.significand;
  for (; x.exponent > y.exponent; x.exponent--)
    x.significand = (x.significand << 1) % y.significand;
  return pack(f, EVALFLOAT_NEAREST, x);
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* Orders numbers by value, -0 just below +0. */
static int64_t order_key(enum float_format f, uint64_t a) {
  int64_t m = (int64_t)magnitude(f, a);
  return a & evalfloat_sign(f) ? -m - 1 : m;
}

int evalfloat_compare(enum float_format f, uint64_t a, uint64_t b) {
  if (evalfloat_is_nan(f, a) || evalfloat_is_nan(f, b)) return 2;
  if (evalfloat_is_zero(f, a) && evalfloat_is_zero(f, b)) return 0;
  int64_t x = order_key(f, a), y = order_key(f, b);
  return x < y ? -1 : x > y;
}

static bool nan_decides(enum float_format f, bool nan_wins, uint64_t a, uint64_t b,
                        uint64_t *result) {
  bool nan_a = evalfloat_is_nan(f, a), nan_b = evalfloat_is_nan(f, b);
  if (!nan_a && !nan_b) return false;
  *result = nan_wins || (nan_a && nan_b) ? evalfloat_nan(f) : nan_a ? b : a;
  return true;
}

uint64_t evalfloat_min(enum float_format f, bool nan_wins, uint64_t a, uint64_t b) {
  uint64_t result;
  if (nan_decides(f, nan_wins, a, b, &result)) return result;
  return order_key(f, a) < order_key(f, b) ? a : b;
}
uint64_t evalfloat_max(enum float_format f, bool nan_wins, uint64_t a, uint64_t b) {
  uint64_t result;
  if (nan_decides(f, nan_wins, a, b, &result)) return result;
  return order_key(f, a) > order_key(f, b) ? a : b;
}

/* --- conversions ------------------------------------------------------------------------------ */

uint64_t evalfloat_round(enum float_format f, enum evalfloat_rounding r, uint64_t a) {
  struct number n = unpack(f, a);
  if (n.class == NUMBER_NAN) return evalfloat_nan(f);
  if (n.class == NUMBER_INFINITE || n.exponent >= 0) return a;
  n.significand = round_off(&n, r, -n.exponent);
  n.exponent = 0;
  return pack(f, r, n);
}

uint64_t evalfloat_convert(enum float_format from, enum float_format to, enum evalfloat_rounding r,
                           uint64_t a) {
  return pack(to, r, unpack(from, a));
}

uint64_t evalfloat_scale(enum float_format f, enum evalfloat_rounding r, uint64_t a, int64_t n) {
  enum { ENOUGH = 1 << 14 }; /* takes the smallest number above the largest */
  struct number x = unpack(f, a);
  x.exponent += n > ENOUGH ? ENOUGH : n < -ENOUGH ? -ENOUGH : (int)n;
  return pack(f, r, x);
}

uint64_t evalfloat_from_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                            bool is_signed, uint64_t a) {
  struct number n = {.significand = evalint_zext(bits, a)};
  if (is_signed && evalint_sext(bits, a) < 0) {
    n.negative = true;
    n.significand = 0 - (uint64_t)evalint_sext(bits, a);
  }
  return pack(f, r, n);
}

uint64_t evalfloat_from_wide_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                                 bool is_signed, u128 a) {
  if (bits <= 64) return evalfloat_from_int(f, r, bits, is_signed, (uint64_t)a);
  struct number n = {.significand = a & wide_mask(bits)};
  if (is_signed && a >> (bits - 1) & 1) {
    n.negative = true;
    n.significand = (0 - a) & wide_mask(bits);
  }
  return pack(f, r, n);
}

u128 evalfloat_to_wide_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                           bool is_signed, uint64_t a, bool *out_of_range) {
  struct number n = unpack(f, a);
  *out_of_range = n.class != NUMBER_FINITE;
  if (n.class == NUMBER_NAN) return 0;
  u128 top = is_signed ? wide_mask(bits) >> 1 : wide_mask(bits);
  u128 bottom = is_signed ? top + 1 : 0; /* magnitude of the lowest */
  u128 limit = n.negative ? bottom : top, m = limit;
  /* A significand has at most 53 bits, so 75 more fit; a zero has the least exponent. */
  if (n.class == NUMBER_INFINITE || n.exponent >= 128 ||
      (n.exponent > 75 && n.significand >> (128 - n.exponent))) {
    *out_of_range = true;
  } else {
    m = n.exponent >= 0 ? n.significand << n.exponent : round_off(&n, r, -n.exponent);
    if (m > limit) {
      *out_of_range = true;
      m = limit;
    }
  }
  return (n.negative ? 0 - m : m) & wide_mask(bits);
}

uint64_t evalfloat_to_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                          bool is_signed, uint64_t a, bool *out_of_range) {
  bool ignored;
  return (uint64_t)evalfloat_to_wide_int(f, r, bits, is_signed, a,
                                         out_of_range ? out_of_range : &ignored);
}

uint64_t evalfloat_to_int_ptx(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                              bool is_signed, uint64_t a) {
  if (evalfloat_is_nan(f, a))
    return f == FLOAT_DOUBLE || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
  return evalfloat_to_int(f, r, bits, is_signed, a, NULL);
}

/* --- modifiers of PTX ------------------------------------------------------------------------- */

uint64_t evalfloat_one(enum float_format f) {
  return (uint64_t)bias(f) << float_shapes[f].fraction_bits;
}

uint64_t evalfloat_output(enum float_format f, unsigned modifiers, uint64_t r) {
  uint64_t sign = r & evalfloat_sign(f), one = evalfloat_one(f);
  bool nan = evalfloat_is_nan(f, r);
  r = evalfloat_input(f, modifiers, r);
  if (modifiers & EVALFLOAT_SATFINITE && evalfloat_is_infinite(f, r))
    r = sign | evalfloat_largest(f);
  if (modifiers & EVALFLOAT_SAT) return nan || sign ? 0 : r > one ? one : r;
  return modifiers & EVALFLOAT_RELU && sign && !nan ? 0 : r;
}

uint64_t evalfloat_extreme(enum float_format f, unsigned modifiers, bool is_max, uint64_t a,
                           uint64_t b) {
  bool nan_wins = modifiers & EVALFLOAT_NAN, xorsign = modifiers & EVALFLOAT_XORSIGN;
  uint64_t sign = (a ^ b) & evalfloat_sign(f);
  if (xorsign) a &= ~evalfloat_sign(f), b &= ~evalfloat_sign(f);
  uint64_t r = is_max ? evalfloat_max(f, nan_wins, a, b) : evalfloat_min(f, nan_wins, a, b);
  return xorsign && !evalfloat_is_nan(f, r) ? r | sign : r;
}
