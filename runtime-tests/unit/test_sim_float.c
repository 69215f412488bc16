/* ir/evalfloat and sim/machine/special against the host's own arithmetic, in all rounding modes:
 * edge values with each other, and random ones. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/evalfloat.h"
#include "ir/evalint.h"
#include "sim/machine/special.h"

static const int host_modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
enum { RANDOM_CASES = 200000 };

/* The library's, not what compilers put in their place, which only rounds to nearest. */
static double (*volatile host_rint)(double) = rint;
static long long (*volatile host_llrint)(double) = llrint;

static uint64_t state = 1;
static uint64_t next_random(void) {
  uint64_t x = state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static uint64_t bits_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}
static float float_of(uint64_t bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}
static uint64_t bits_of_double(double f) {
  uint64_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? UINT64_C(0x7ff8000000000000) : b;
}
static double double_of(uint64_t b) {
  double f;
  memcpy(&f, &b, sizeof f);
  return f;
}

/* A number of the format: an edge, or random, often near another one's exponent. */
static uint64_t pick(enum float_format f) {
  const struct float_shape *s = &float_shapes[f];
  uint64_t one = evalfloat_from_int(f, EVALFLOAT_NEAREST, 8, false, 1);
  uint64_t edges[] = {0,
                      1,
                      2,
                      evalint_mask(s->fraction_bits),
                      evalint_mask(s->fraction_bits) + 1,
                      one,
                      one + 1,
                      one - 1,
                      evalfloat_largest(f),
                      evalfloat_infinity(f),
                      evalfloat_nan(f),
                      evalfloat_from_int(f, EVALFLOAT_NEAREST, 8, false, 3)};
  uint64_t r = next_random(), bits;
  if (r % 4 == 0) bits = edges[r / 4 % (sizeof edges / sizeof edges[0])];
  else if (r % 4 == 1)
    bits = one + (next_random() % (UINT64_C(1) << (s->fraction_bits + 4))) -
           (UINT64_C(1) << (s->fraction_bits + 3));
  else bits = next_random();
  if (r >> 40 & 1) bits ^= UINT64_C(1) << (s->bits - 1);
  return evalint_zext(s->bits, bits);
}

static void check_f32(int mode, uint64_t a, uint64_t b, uint64_t c) {
  enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
  volatile float x = float_of(a), y = float_of(b), z = float_of(c), sum, difference, product,
                 quotient, fused, root;
  fesetround(host_modes[mode]);
  sum = x + y, difference = x - y, product = x * y, quotient = x / y, fused = fmaf(x, y, z),
  root = sqrtf(x);
  fesetround(FE_TONEAREST);
  assert_int_equal(evalfloat_add(FLOAT_SINGLE, r, a, b), bits_of_float(sum));
  assert_int_equal(evalfloat_sub(FLOAT_SINGLE, r, a, b), bits_of_float(difference));
  assert_int_equal(evalfloat_mul(FLOAT_SINGLE, r, a, b), bits_of_float(product));
  assert_int_equal(evalfloat_div(FLOAT_SINGLE, r, a, b), bits_of_float(quotient));
  assert_int_equal(evalfloat_fma(FLOAT_SINGLE, r, a, b, c), bits_of_float(fused));
  assert_int_equal(evalfloat_sqrt(FLOAT_SINGLE, r, a), bits_of_float(root));
}

static void check_f64(int mode, uint64_t a, uint64_t b, uint64_t c) {
  enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
  volatile double x = double_of(a), y = double_of(b), z = double_of(c), sum, difference, product,
                  quotient, fused, root;
  volatile float narrow;
  fesetround(host_modes[mode]);
  sum = x + y, difference = x - y, product = x * y, quotient = x / y, fused = fma(x, y, z),
  root = sqrt(x);
  narrow = (float)x;
  fesetround(FE_TONEAREST);
  assert_int_equal(evalfloat_add(FLOAT_DOUBLE, r, a, b), bits_of_double(sum));
  assert_int_equal(evalfloat_sub(FLOAT_DOUBLE, r, a, b), bits_of_double(difference));
  assert_int_equal(evalfloat_mul(FLOAT_DOUBLE, r, a, b), bits_of_double(product));
  assert_int_equal(evalfloat_div(FLOAT_DOUBLE, r, a, b), bits_of_double(quotient));
  assert_int_equal(evalfloat_fma(FLOAT_DOUBLE, r, a, b, c), bits_of_double(fused));
  assert_int_equal(evalfloat_sqrt(FLOAT_DOUBLE, r, a), bits_of_double(root));
  assert_int_equal(evalfloat_convert(FLOAT_DOUBLE, FLOAT_SINGLE, r, a), bits_of_float(narrow));
}

static void arithmetic_in_all_modes(void **unused) {
  (void)unused;
  for (int i = 0; i < RANDOM_CASES; i++)
    for (int mode = 0; mode < 4; mode++) {
      check_f32(mode, pick(FLOAT_SINGLE), pick(FLOAT_SINGLE), pick(FLOAT_SINGLE));
      check_f64(mode, pick(FLOAT_DOUBLE), pick(FLOAT_DOUBLE), pick(FLOAT_DOUBLE));
    }
}

/* A sum or product of two halves or bfloats is exact, or nearly so, in a double. */
static void short_formats(void **unused) {
  (void)unused;
  for (int k = 0; k < 2; k++) {
    enum float_format f = k ? FLOAT_BFLOAT : FLOAT_HALF;
    for (int i = 0; i < RANDOM_CASES; i++) {
      uint64_t a = pick(f), b = pick(f);
      double x = double_of(float_convert_bits(a, f, FLOAT_DOUBLE, NULL)),
             y = double_of(float_convert_bits(b, f, FLOAT_DOUBLE, NULL));
      uint64_t product =
          evalfloat_convert(FLOAT_DOUBLE, f, EVALFLOAT_NEAREST, bits_of_double(x * y));
      assert_int_equal(evalfloat_mul(f, EVALFLOAT_NEAREST, a, b), product);
      if (f == FLOAT_BFLOAT) continue; /* sums of these may take more bits than a double has */
      uint64_t sum = evalfloat_convert(FLOAT_DOUBLE, f, EVALFLOAT_NEAREST, bits_of_double(x + y));
      assert_int_equal(evalfloat_add(f, EVALFLOAT_NEAREST, a, b), sum);
    }
    for (uint64_t a = 0; a < 0x10000; a++) {
      if (evalfloat_is_nan(f, a)) continue;
      assert_int_equal(evalfloat_convert(f, FLOAT_DOUBLE, EVALFLOAT_NEAREST, a),
                       float_convert_bits(a, f, FLOAT_DOUBLE, NULL));
      uint64_t wide = evalfloat_convert(f, FLOAT_SINGLE, EVALFLOAT_NEAREST, a);
      assert_int_equal(evalfloat_convert(FLOAT_SINGLE, f, EVALFLOAT_ZERO, wide), a);
    }
  }
}

static void integers(void **unused) {
  (void)unused;
  for (int i = 0; i < RANDOM_CASES; i++) {
    uint64_t v = next_random() >> next_random() % 64;
    int mode = i & 3;
    fesetround(host_modes[mode]);
    volatile float s = (float)(int64_t)v, u = (float)v;
    volatile double ds = (double)(int64_t)v, du = (double)v;
    fesetround(FE_TONEAREST);
    enum evalfloat_rounding r = (enum evalfloat_rounding)mode;
    if (mode == 0) { /* compilers convert unsigned numbers in steps that only nearest survives */
      assert_int_equal(evalfloat_from_int(FLOAT_SINGLE, r, 64, false, v), bits_of_float(u));
      assert_int_equal(evalfloat_from_int(FLOAT_DOUBLE, r, 64, false, v), bits_of_double(du));
    }
    assert_int_equal(evalfloat_from_int(FLOAT_SINGLE, r, 64, true, v), bits_of_float(s));
    assert_int_equal(evalfloat_from_int(FLOAT_DOUBLE, r, 64, true, v), bits_of_double(ds));
    volatile double x = double_of(pick(FLOAT_DOUBLE));
    if (x > -9e18 && x < 9e18) {
      fesetround(host_modes[mode]);
      volatile int64_t whole = host_llrint(x);
      volatile double integral = host_rint(x);
      fesetround(FE_TONEAREST);
      assert_int_equal(evalfloat_to_int(FLOAT_DOUBLE, r, 64, true, bits_of_double(x), NULL),
                       (uint64_t)whole);
      assert_int_equal(evalfloat_round(FLOAT_DOUBLE, r, bits_of_double(x)),
                       bits_of_double(integral));
    }
  }
  bool out;
  assert_int_equal(
      evalfloat_to_int(FLOAT_SINGLE, EVALFLOAT_ZERO, 32, true, bits_of_float(3e9f), &out),
      0x7fffffff);
  assert_true(out);
  assert_int_equal(
      evalfloat_to_int(FLOAT_SINGLE, EVALFLOAT_ZERO, 32, true, bits_of_float(-3e9f), &out),
      0x80000000);
  assert_int_equal(
      evalfloat_to_int(FLOAT_SINGLE, EVALFLOAT_ZERO, 8, false, bits_of_float(-1), &out), 0);
  assert_int_equal(evalfloat_to_int(FLOAT_SINGLE, EVALFLOAT_ZERO, 32, true, 0x7fc00000, &out), 0);
}

static void remainders_and_order(void **unused) {
  (void)unused;
  for (int i = 0; i < RANDOM_CASES / 4; i++) {
    uint64_t a = pick(FLOAT_DOUBLE), b = pick(FLOAT_DOUBLE);
    double x = double_of(a), y = double_of(b);
    assert_int_equal(evalfloat_rem(FLOAT_DOUBLE, a, b), bits_of_double(fmod(x, y)));
    int order = x != x || y != y ? 2 : x < y ? -1 : x > y;
    assert_int_equal(evalfloat_compare(FLOAT_DOUBLE, a, b), order);
    if (order == 2 || (x == 0 && y == 0)) continue;
    assert_int_equal(evalfloat_min(FLOAT_DOUBLE, false, a, b), bits_of_double(fmin(x, y)));
    assert_int_equal(evalfloat_max(FLOAT_DOUBLE, true, a, b), bits_of_double(fmax(x, y)));
  }
  assert_int_equal(evalfloat_min(FLOAT_SINGLE, false, 0x80000000, 0), 0x80000000);
  assert_int_equal(evalfloat_max(FLOAT_SINGLE, false, 0x80000000, 0), 0);
  assert_int_equal(evalfloat_min(FLOAT_SINGLE, false, 0x7fc00001, 0x3f800000), 0x3f800000);
  assert_int_equal(evalfloat_min(FLOAT_SINGLE, true, 0x7fc00001, 0x3f800000), 0x7fffffff);
}

static void near(double mine, double reference) {
  if (mine == reference || (mine != mine && reference != reference)) return;
  assert_true(fabs(mine - reference) <= 0x1p-45 * fabs(reference));
}

static void elementary_functions(void **unused) {
  (void)unused;
  assert_true(special_host_is_ieee());
  for (int i = 0; i < RANDOM_CASES; i++) {
    float x = float_of(pick(FLOAT_SINGLE)), y = float_of(pick(FLOAT_SINGLE)),
          z = float_of(pick(FLOAT_SINGLE));
    near(special_sin(x), sin(x));
    near(special_cos(x), cos(x));
    near(special_log2(x), log2(x));
    near(special_tanh(x), tanh(x));
    if (fabsf(x) < 900) near(special_exp2(x), exp2(x));
    assert_int_equal(bits_of_float(special_fmaf(x, y, z)), bits_of_float(fmaf(x, y, z)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic_in_all_modes),
      cmocka_unit_test(short_formats),
      cmocka_unit_test(integers),
      cmocka_unit_test(remainders_and_order),
      cmocka_unit_test(elementary_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
