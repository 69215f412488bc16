/* ir/evalfloat.h, all formats and directions. half and bfloat against a table of all their values:
 * a result computed in double, with its error kept in the last bit, must be rounded to the
 * neighbour that the direction asks for. float and double: the host's arithmetic on edge values
 * with each other (random ones: test_sim_float). */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/evalfloat.h"

enum { MODES = 5, HOST_MODES = 4 };
static const int host_modes[HOST_MODES] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* The library's, not what compilers put in their place, which only rounds to nearest. */
static double (*volatile host_rint)(double) = rint;
static double (*volatile host_fma)(double, double, double) = fma;
static float (*volatile host_fmaf)(float, float, float) = fmaf;

static uint64_t seed = 1;
static uint64_t next_random(void) {
  uint64_t x = seed += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static double double_of(uint64_t b) {
  double f;
  memcpy(&f, &b, sizeof f);
  return f;
}
static uint64_t bits_of_double(double f) {
  uint64_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? UINT64_C(0x7ff8000000000000) : b;
}
static float float_of(uint64_t bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}
static uint64_t bits_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}

/* A format and a mode in one word: gcc 12 at -O1 leaks the stack of a seventh argument in a loop.
 */
static int at(int f, int mode) { return f << 4 | mode; }

static void same(const char *what, int where, uint64_t a, uint64_t b, uint64_t mine,
                 uint64_t reference) {
  if (mine == reference) return;
  fail_msg("%s, format %d, mode %d: %llx, %llx: %llx instead of %llx", what, where >> 4, where & 15,
           (unsigned long long)a, (unsigned long long)b, (unsigned long long)mine,
           (unsigned long long)reference);
}

/* --- all values of the short formats
 * -------------------------------------------------------------- */

/* The finite magnitudes by their bits; beyond the last, what infinity would be as a number. */
static double half_values[0x7c01], bfloat_values[0x7f81];
static const struct short_format {
  enum float_format format;
  int fraction_bits, lowest; /* the least number is 2^lowest */
  uint64_t infinity;
  double *values;
} shorts[] = {
    {FLOAT_HALF, 10, -24, 0x7c00, half_values},
    {FLOAT_BFLOAT, 7, -133, 0x7f80, bfloat_values},
};

static int make_tables(void **unused) {
  (void)unused;
  for (int k = 0; k < 2; k++)
    for (uint64_t i = 0; i <= shorts[k].infinity; i++) {
      int e = (int)(i >> shorts[k].fraction_bits), hidden = 1 << shorts[k].fraction_bits;
      double fraction = (double)(i & (uint64_t)(hidden - 1));
      shorts[k].values[i] = e == 0 ? ldexp(fraction, shorts[k].lowest)
                                   : ldexp(fraction + hidden, shorts[k].lowest + e - 1);
    }
  return 0;
}

static double value_of(const struct short_format *s, uint64_t a) {
  uint64_t m = a & 0x7fff;
  double v = m > s->infinity ? NAN : m == s->infinity ? INFINITY : s->values[m];
  return a & 0x8000 ? -v : v;
}

static uint64_t round_short(const struct short_format *s, int mode, double x) {
  uint64_t sign = signbit(x) ? 0x8000 : 0, low = 0, high = s->infinity;
  double m = fabs(x);
  if (x != x) return 0x7fff;
  if (isinf(x)) return sign | s->infinity;
  if (m >= s->values[high]) low = high - 1;
  else
    while (high - low > 1) {
      uint64_t middle = (low + high) / 2;
      if (s->values[middle] <= m) low = middle;
      else high = middle;
    }
  if (s->values[low] == m) return sign | low;
  double below = m - s->values[low], above = s->values[low + 1] - m; /* exact enough to compare */
  bool up = mode == EVALFLOAT_NEAREST ? above < below || (above == below && low & 1)
            : mode == EVALFLOAT_AWAY  ? above <= below
            : mode == EVALFLOAT_ZERO  ? false
            : mode == EVALFLOAT_DOWN  ? sign != 0
                                      : sign == 0;
  return sign | (low + up);
}

/* A nearest result and the sign of what it lacks, as a double that lies strictly on the right side
 * of everything of half its precision. */
static double to_odd(double r, double rest) {
  if (rest == 0 || rest != rest || isinf(r) || bits_of_double(r) & 1) return r;
  return nextafter(r, rest > 0 ? INFINITY : -INFINITY);
}
static double odd_sum(double x, double y) {
  double s = x + y, part = s - x;
  return to_odd(s, isfinite(s) ? (x - (s - part)) + (y - part) : 0);
}
static double odd_quotient(double x, double y) {
  double q = x / y;
  double rest = isfinite(q) && isfinite(y) ? fma(-q, y, x) : 0;
  return to_odd(q, y < 0 ? -rest : rest);
}
static double odd_root(double x) {
  double r = sqrt(x);
  return to_odd(r, isfinite(r) ? fma(-r, r, x) : 0);
}

/* Exact zeros of sums take their sign from the direction. */
static uint64_t round_sum(const struct short_format *s, int mode, double x, double y) {
  double sum = odd_sum(x, y);
  if (sum == 0 && signbit(x) != signbit(y)) return mode == EVALFLOAT_DOWN ? 0x8000 : 0;
  return round_short(s, mode, sum);
}

static void check_short_unary(const struct short_format *s, uint64_t a) {
  enum float_format f = s->format;
  double x = value_of(s, a);
  for (int mode = 0; mode < MODES; mode++) {
    enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
    double whole = mode == EVALFLOAT_NEAREST ? nearbyint(x)
                   : mode == EVALFLOAT_ZERO  ? trunc(x)
                   : mode == EVALFLOAT_DOWN  ? floor(x)
                   : mode == EVALFLOAT_UP    ? ceil(x)
                                             : round(x);
    same("round", at(f, mode), a, 0, evalfloat_round(f, r, a),
         round_short(s, EVALFLOAT_NEAREST, whole));
    same("sqrt", at(f, mode), a, 0, evalfloat_sqrt(f, r, a), round_short(s, mode, odd_root(x)));
    same("widen", at(f, mode), a, 0, evalfloat_convert(f, FLOAT_SINGLE, r, a),
         bits_of_float((float)x));
    same("widen", at(f, mode), a, 0, evalfloat_convert(f, FLOAT_DOUBLE, r, a), bits_of_double(x));
    for (int k = 0; k < 2; k++)
      same("convert", at(f, mode), a, 0, evalfloat_convert(f, shorts[k].format, r, a),
           round_short(&shorts[k], mode, x));
    int by = (int)(a % 61) - 30;
    same("scale", at(f, mode), a, (uint64_t)by, evalfloat_scale(f, r, a, by),
         round_short(s, mode, ldexp(x, by)));
    static const unsigned widths[] = {1, 8, 16, 32, 64};
    for (int k = 0; k < 10; k++) {
      unsigned w = widths[k / 2];
      bool is_signed = k & 1, out, nan = x != x;
      double top = ldexp(1, (int)w - is_signed), bottom = is_signed ? -top : 0;
      bool over = whole >= top, under = whole < bottom;
      uint64_t mask = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
      uint64_t most = is_signed ? mask >> 1 : mask, least = is_signed ? mask & ~most : 0;
      uint64_t exact = over || under || nan ? 0
                       : whole < 0          ? 0 - (uint64_t)-whole
                                            : (uint64_t)whole;
      uint64_t want = nan ? 0 : over ? most : under ? least : exact & mask;
      same("to_int", at(f, mode), a, w, evalfloat_to_int(f, r, w, is_signed, a, &out), want);
      same("to_int range", at(f, mode), a, w, out, over || under || nan);
    }
  }
  bool subnormal = x != 0 && fabs(x) < ldexp(1, s->lowest + s->fraction_bits);
  assert_int_equal(evalfloat_is_nan(f, a), x != x);
  assert_int_equal(evalfloat_is_infinite(f, a), isinf(x) != 0);
  assert_int_equal(evalfloat_is_zero(f, a), x == 0);
  assert_int_equal(evalfloat_is_subnormal(f, a), subnormal);
  assert_int_equal(evalfloat_flush(f, a), subnormal ? a & 0x8000 : a);
}

static void short_formats_one_operand(void **unused) {
  (void)unused;
  for (int k = 0; k < 2; k++)
    for (uint64_t a = 0; a < 0x10000; a++) check_short_unary(&shorts[k], a);
}

static uint64_t min_of(bool is_min, bool nan_wins, double x, double y, uint64_t a, uint64_t b,
                       uint64_t nan) {
  if (x != x || y != y) return nan_wins || (x != x && y != y) ? nan : x != x ? b : a;
  if (x == y) return (signbit(x) != 0) == is_min ? a : b;
  return (x < y) == is_min ? a : b;
}

static void check_order(enum float_format f, double x, double y, uint64_t a, uint64_t b) {
  int order = x != x || y != y ? 2 : x < y ? -1 : x > y;
  same("compare", at(f, 0), a, b, (uint64_t)evalfloat_compare(f, a, b), (uint64_t)order);
  for (int wins = 0; wins < 2; wins++) {
    same("min", at(f, wins), a, b, evalfloat_min(f, wins, a, b),
         min_of(true, wins, x, y, a, b, evalfloat_nan(f)));
    same("max", at(f, wins), a, b, evalfloat_max(f, wins, a, b),
         min_of(false, wins, x, y, a, b, evalfloat_nan(f)));
  }
}

static void check_short_binary(const struct short_format *s, uint64_t a, uint64_t b, uint64_t c) {
  enum float_format f = s->format;
  double x = value_of(s, a), y = value_of(s, b), z = value_of(s, c);
  for (int mode = 0; mode < MODES; mode++) {
    enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
    same("add", at(f, mode), a, b, evalfloat_add(f, r, a, b), round_sum(s, mode, x, y));
    same("sub", at(f, mode), a, b, evalfloat_sub(f, r, a, b), round_sum(s, mode, x, -y));
    same("mul", at(f, mode), a, b, evalfloat_mul(f, r, a, b), round_short(s, mode, x * y));
    same("div", at(f, mode), a, b, evalfloat_div(f, r, a, b),
         round_short(s, mode, odd_quotient(x, y)));
    same("fma", at(f, mode), a, b, evalfloat_fma(f, r, a, b, c), round_sum(s, mode, x * y, z));
  }
  same("rem", at(f, 0), a, b, evalfloat_rem(f, a, b), round_short(s, 0, fmod(x, y)));
  check_order(f, x, y, a, b);
}

static uint32_t short_edges(const struct short_format *s, uint64_t *edge) {
  uint64_t hidden = UINT64_C(1) << s->fraction_bits, one = (s->infinity / 2) & ~(hidden - 1);
  uint64_t some[] = {0,
                     1,
                     2,
                     3,
                     hidden - 1,
                     hidden,
                     hidden + 1,
                     one - 1,
                     one,
                     one + 1,
                     one + hidden / 2,
                     one + hidden,
                     one + hidden + hidden / 2,
                     one - hidden,
                     one + hidden * (unsigned)s->fraction_bits,
                     s->infinity - 1,
                     s->infinity - 2,
                     s->infinity - hidden,
                     s->infinity,
                     s->infinity + 1,
                     0x7fff,
                     hidden * 3 - 1};
  uint32_t n = 0;
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
    edge[n++] = some[i];
    edge[n++] = some[i] | 0x8000;
  }
  return n;
}

static void short_formats_two_operands(void **unused) {
  (void)unused;
  for (int k = 0; k < 2; k++) {
    const struct short_format *s = &shorts[k];
    uint64_t edge[64];
    uint32_t n = short_edges(s, edge);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < n; j++)
        for (uint32_t l = 0; l < n; l += 3)
          check_short_binary(s, edge[i], edge[j], edge[(l + i) % n]);
    for (int i = 0; i < 60000; i++) {
      uint64_t r = next_random();
      uint64_t a = r & 0xffff, b = r >> 16 & 0xffff, c = r >> 32 & 0xffff;
      if (r >> 63) { /* of near exponents, where sums and quotients are hard */
        b = (a & 0xfc00) ^ (b & 0x83ff);
        c = (a & 0xfc00) ^ (c & 0x83ff);
      }
      check_short_binary(s, a, b, c);
    }
  }
}

static void narrowing(void **unused) {
  (void)unused;
  for (int i = 0; i < 150000; i++) {
    uint64_t r = next_random();
    const struct short_format *s = &shorts[i & 1];
    /* At, just below and just above a value, or halfway to the next one. */
    uint64_t m = r % s->infinity;
    double x = s->values[m];
    if (r >> 32 & 1) x = (x + s->values[m + 1]) / 2;
    if (r >> 33 & 1) x = nextafter(x, r >> 34 & 1 ? INFINITY : 0);
    if (r >> 35 & 1) x = -x;
    float y = (float)x;
    for (int mode = 0; mode < MODES; mode++) {
      same("from double", at(s->format, mode), bits_of_double(x), 0,
           evalfloat_convert(FLOAT_DOUBLE, s->format, (enum evalfloat_rounding)mode,
                             bits_of_double(x)),
           round_short(s, mode, x));
      same("from float", at(s->format, mode), bits_of_float(y), 0,
           evalfloat_convert(FLOAT_SINGLE, s->format, (enum evalfloat_rounding)mode,
                             bits_of_float(y)),
           round_short(s, mode, y));
    }
  }
}

/* 64 bits as a double with what is lost in its last bit. */
static double odd_integer(int64_t v) {
  double d = (double)v;
  __extension__ __int128 rest = (__int128)v - (__int128)d;
  return to_odd(d, (double)rest);
}

static void integers_to_short_formats(void **unused) {
  (void)unused;
  for (int i = 0; i < 200000; i++) {
    int64_t v = (int64_t)(next_random() >> next_random() % 64);
    const struct short_format *s = &shorts[i & 1];
    int mode = i % MODES;
    enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
    same("from_int", at(s->format, mode), (uint64_t)v, 0,
         evalfloat_from_int(s->format, r, 64, true, (uint64_t)v),
         round_short(s, mode, odd_integer(v)));
    uint64_t u = (uint64_t)v & 0xffffff;
    same("from_int", at(s->format, mode), u, 0,
         evalfloat_from_int(s->format, r, 24, false, (uint64_t)v), round_short(s, mode, (double)u));
    double x = u & 0x800000 ? (double)u - 0x1000000 : (double)u;
    same("from_int", at(s->format, mode), u, 0,
         evalfloat_from_int(s->format, r, 24, true, (uint64_t)v), round_short(s, mode, x));
    same("wide", at(s->format, mode), u, 0,
         evalfloat_from_wide_int(s->format, r, 100, true, (evalint_u128)(evalint_s128)v),
         round_short(s, mode, odd_integer(v)));
  }
  for (uint32_t u = 0; u < 0x10000; u++) /* all of 16 bits; those of 8 are among them */
    for (int k = 0; k < 2 * MODES; k++) {
      const struct short_format *s = &shorts[k & 1];
      enum evalfloat_rounding r = (enum evalfloat_rounding)(k / 2);
      same("from_int", at(s->format, k / 2), u, 16, evalfloat_from_int(s->format, r, 16, false, u),
           round_short(s, k / 2, u));
      double x = u & 0x8000 ? (double)u - 0x10000 : (double)u;
      same("from_int", at(s->format, k / 2), u, 16, evalfloat_from_int(s->format, r, 16, true, u),
           round_short(s, k / 2, x));
    }
}

/* --- float and double on the host
 * ------------------------------------------------------------------ */

enum { EDGES = 44 };
static uint32_t edges_of(enum float_format f, uint64_t *edge) {
  int bits = float_shapes[f].fraction_bits;
  uint64_t hidden = UINT64_C(1) << bits,
           infinity = ((UINT64_C(1) << float_shapes[f].exponent_bits) - 1) << bits;
  uint64_t one = (infinity / 2) & ~(hidden - 1);
  uint64_t some[] = {0,
                     1,
                     2,
                     hidden - 1,
                     hidden,
                     hidden + 1,
                     one - 1,
                     one,
                     one + 1,
                     one + hidden / 2,
                     one + hidden,
                     one + hidden / 3,
                     one + hidden * (unsigned)bits,
                     one - hidden * (unsigned)bits,
                     one + hidden * (unsigned)(bits + 1),
                     one - hidden * (unsigned)(bits + 1) + 1,
                     one / 2,
                     one + one / 2,
                     infinity - 1,
                     infinity - hidden,
                     infinity,
                     infinity + 1};
  uint32_t n = 0;
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
    edge[n++] = some[i];
    edge[n++] = some[i] | UINT64_C(1) << (float_shapes[f].bits - 1);
  }
  return n;
}

static void check_single(int mode, uint64_t a, uint64_t b) {
  enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
  volatile float x = float_of(a), y = float_of(b), sum, difference, product, quotient, root;
  fesetround(host_modes[mode]);
  sum = x + y, difference = x - y, product = x * y, quotient = x / y, root = sqrtf(x);
  fesetround(FE_TONEAREST);
  enum float_format f = FLOAT_SINGLE;
  same("add", at(f, mode), a, b, evalfloat_add(f, r, a, b), bits_of_float(sum));
  same("sub", at(f, mode), a, b, evalfloat_sub(f, r, a, b), bits_of_float(difference));
  same("mul", at(f, mode), a, b, evalfloat_mul(f, r, a, b), bits_of_float(product));
  same("div", at(f, mode), a, b, evalfloat_div(f, r, a, b), bits_of_float(quotient));
  same("sqrt", at(f, mode), a, b, evalfloat_sqrt(f, r, a), bits_of_float(root));
}

static void check_double(int mode, uint64_t a, uint64_t b) {
  enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
  volatile double x = double_of(a), y = double_of(b), sum, difference, product, quotient, root,
                  whole;
  volatile float narrow;
  fesetround(host_modes[mode]);
  sum = x + y, difference = x - y, product = x * y, quotient = x / y, root = sqrt(x);
  whole = host_rint(x), narrow = (float)x;
  fesetround(FE_TONEAREST);
  enum float_format f = FLOAT_DOUBLE;
  same("add", at(f, mode), a, b, evalfloat_add(f, r, a, b), bits_of_double(sum));
  same("sub", at(f, mode), a, b, evalfloat_sub(f, r, a, b), bits_of_double(difference));
  same("mul", at(f, mode), a, b, evalfloat_mul(f, r, a, b), bits_of_double(product));
  same("div", at(f, mode), a, b, evalfloat_div(f, r, a, b), bits_of_double(quotient));
  same("sqrt", at(f, mode), a, b, evalfloat_sqrt(f, r, a), bits_of_double(root));
  same("round", at(f, mode), a, b, evalfloat_round(f, r, a), bits_of_double(whole));
  same("narrow", at(f, mode), a, b, evalfloat_convert(f, FLOAT_SINGLE, r, a),
       bits_of_float(narrow));
}

static void edges_with_each_other(void **unused) {
  (void)unused;
  uint64_t single[EDGES], dbl[EDGES];
  uint32_t n = edges_of(FLOAT_SINGLE, single);
  edges_of(FLOAT_DOUBLE, dbl);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < n; k++) {
      for (int mode = 0; mode < HOST_MODES; mode++) {
        check_single(mode, single[i], single[k]);
        check_double(mode, dbl[i], dbl[k]);
      }
      float x = float_of(single[i]), y = float_of(single[k]);
      double u = double_of(dbl[i]), v = double_of(dbl[k]);
      check_order(FLOAT_SINGLE, x, y, single[i], single[k]);
      check_order(FLOAT_DOUBLE, u, v, dbl[i], dbl[k]);
      same("rem", at(FLOAT_SINGLE, 0), single[i], single[k],
           evalfloat_rem(FLOAT_SINGLE, single[i], single[k]), bits_of_float(fmodf(x, y)));
      same("rem", at(FLOAT_DOUBLE, 0), dbl[i], dbl[k], evalfloat_rem(FLOAT_DOUBLE, dbl[i], dbl[k]),
           bits_of_double(fmod(u, v)));
    }
}

static void fused_edges(void **unused) {
  (void)unused;
  uint64_t single[EDGES], dbl[EDGES];
  uint32_t n = edges_of(FLOAT_SINGLE, single);
  edges_of(FLOAT_DOUBLE, dbl);
  for (int mode = 0; mode < HOST_MODES; mode++)
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t k = 0; k < n; k++)
        for (uint32_t l = 0; l < n; l++) {
          fesetround(host_modes[mode]);
          volatile float s =
              host_fmaf(float_of(single[i]), float_of(single[k]), float_of(single[l]));
          volatile double d = host_fma(double_of(dbl[i]), double_of(dbl[k]), double_of(dbl[l]));
          fesetround(FE_TONEAREST);
          enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
          same("fma", at(FLOAT_SINGLE, mode), single[i], single[k],
               evalfloat_fma(FLOAT_SINGLE, r, single[i], single[k], single[l]), bits_of_float(s));
          same("fma", at(FLOAT_DOUBLE, mode), dbl[i], dbl[k],
               evalfloat_fma(FLOAT_DOUBLE, r, dbl[i], dbl[k], dbl[l]), bits_of_double(d));
        }
}

/* a * b - round(a * b) is exact: what a multiplication lost, fused arithmetic finds. */
static void fused_is_exact(void **unused) {
  (void)unused;
  enum float_format f = FLOAT_DOUBLE;
  for (int i = 0; i < 50000; i++) {
    uint64_t a = (next_random() >> 12) | UINT64_C(0x3ff) << 52,
             b = (next_random() >> 12) | UINT64_C(0x3ff) << 52;
    evalint_u128 product = (evalint_u128)((a & 0xfffffffffffff) | UINT64_C(1) << 52) *
                           ((b & 0xfffffffffffff) | UINT64_C(1) << 52); /* units of 2^-104 */
    uint64_t rounded = evalfloat_mul(f, EVALFLOAT_NEAREST, a, b);
    uint64_t rest = evalfloat_fma(f, EVALFLOAT_NEAREST, a, b, rounded ^ UINT64_C(1) << 63);
    int shift = (int)(rounded >> 52) - 1023 + 52; /* of the rounded significand, in those units */
    evalint_u128 significand = (rounded & 0xfffffffffffff) | UINT64_C(1) << 52;
    evalint_s128 lost = (evalint_s128)(product - (significand << shift));
    same("fma rest", at(f, 0), a, b, rest, bits_of_double(ldexp((double)lost, -104)));
  }
}

static void random_remainders_and_scales(void **unused) {
  (void)unused;
  for (int i = 0; i < 20000; i++) {
    uint64_t r = next_random(), a = next_random() >> 32, b = next_random() >> 32;
    same("rem", at(FLOAT_SINGLE, 0), a, b, evalfloat_rem(FLOAT_SINGLE, a, b),
         bits_of_float(fmodf(float_of(a), float_of(b))));
    uint64_t u = next_random(),
             v = (u & UINT64_C(0x7ff) << 52) ^ (r & UINT64_C(0x801fffffffffffff));
    same("rem", at(FLOAT_DOUBLE, 0), u, v, evalfloat_rem(FLOAT_DOUBLE, u, v),
         bits_of_double(fmod(double_of(u), double_of(v))));
    int by = (int)(r % 5000) - 2500;
    same("scale", at(FLOAT_DOUBLE, 0), u, r,
         evalfloat_scale(FLOAT_DOUBLE, EVALFLOAT_NEAREST, u, by),
         bits_of_double(ldexp(double_of(u), by)));
  }
  same("scale", at(FLOAT_DOUBLE, 0), 1, 0,
       evalfloat_scale(FLOAT_DOUBLE, EVALFLOAT_NEAREST, 1, INT64_MAX),
       evalfloat_infinity(FLOAT_DOUBLE));
  same("scale", at(FLOAT_DOUBLE, 0), 1, 0,
       evalfloat_scale(FLOAT_DOUBLE, EVALFLOAT_UP, 1, INT64_MIN), 1);
}

/* Halfway cases away from zero, which no host mode has: as nearest, but for ties. */
static void ties_away(void **unused) {
  (void)unused;
  for (int i = 0; i < 50000; i++) {
    uint64_t fraction = next_random() >> 41, exponent = 900 + next_random() % 240;
    uint64_t tie = exponent << 52 | fraction << 29 | UINT64_C(1) << 28;
    double x = double_of(tie);
    uint64_t up = evalfloat_convert(FLOAT_DOUBLE, FLOAT_SINGLE, EVALFLOAT_UP, tie);
    if (fabs(x) < 0x1p-126) continue; /* not a tie there */
    same("away", at(FLOAT_SINGLE, EVALFLOAT_AWAY), tie, 0,
         evalfloat_convert(FLOAT_DOUBLE, FLOAT_SINGLE, EVALFLOAT_AWAY, tie), up);
    same("away", at(FLOAT_SINGLE, EVALFLOAT_AWAY), tie, 0,
         evalfloat_convert(FLOAT_DOUBLE, FLOAT_SINGLE, EVALFLOAT_AWAY, tie - 1),
         evalfloat_convert(FLOAT_DOUBLE, FLOAT_SINGLE, EVALFLOAT_ZERO, tie));
    double y = floor(ldexp(x, (int)(next_random() % 60) - 30)) + 0.5;
    same("round", at(FLOAT_DOUBLE, EVALFLOAT_AWAY), bits_of_double(y), 0,
         evalfloat_round(FLOAT_DOUBLE, EVALFLOAT_AWAY, bits_of_double(-y)),
         bits_of_double(round(-y)));
  }
}

static void what_ptx_makes_of_nan(void **unused) {
  (void)unused;
  uint64_t f = evalfloat_nan(FLOAT_SINGLE), d = evalfloat_nan(FLOAT_DOUBLE),
           h = evalfloat_nan(FLOAT_HALF);
  assert_int_equal(evalfloat_to_int_ptx(FLOAT_SINGLE, EVALFLOAT_ZERO, 32, true, f), 0);
  assert_int_equal(evalfloat_to_int_ptx(FLOAT_HALF, EVALFLOAT_ZERO, 16, false, h), 0);
  assert_int_equal(evalfloat_to_int_ptx(FLOAT_SINGLE, EVALFLOAT_ZERO, 64, false, f), UINT64_C(1)
                                                                                         << 63);
  assert_int_equal(evalfloat_to_int_ptx(FLOAT_DOUBLE, EVALFLOAT_ZERO, 32, true, d), 0x80000000);
  assert_int_equal(
      evalfloat_to_int_ptx(FLOAT_DOUBLE, EVALFLOAT_ZERO, 32, true, bits_of_double(-1e300)),
      0x80000000);
  assert_int_equal(evalfloat_to_int_ptx(FLOAT_SINGLE, EVALFLOAT_UP, 32, true, bits_of_float(2.5f)),
                   3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_formats_one_operand),
      cmocka_unit_test(short_formats_two_operands),
      cmocka_unit_test(narrowing),
      cmocka_unit_test(integers_to_short_formats),
      cmocka_unit_test(edges_with_each_other),
      cmocka_unit_test(fused_edges),
      cmocka_unit_test(fused_is_exact),
      cmocka_unit_test(random_remainders_and_scales),
      cmocka_unit_test(ties_away),
      cmocka_unit_test(what_ptx_makes_of_nan),
  };
  return cmocka_run_group_tests(tests, make_tables, NULL);
}
