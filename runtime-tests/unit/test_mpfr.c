/* ir/evalfloat.h and the model of the approximate instructions (sim/machine/special.h) against
 * MPFR, which computes with any number of bits and rounds once: every operation in the four
 * directions that it knows, in all formats, on edge values with each other and on random ones.
 * Skipped where MPFR is not installed (the Makefile looks for it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef HAVE_MPFR
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "ir/evalfloat.h"
#include "sim/machine/special.h"

enum { MODES = 4, RANDOM = 20000, MAX_EDGES = 64 };
static const mpfr_rnd_t directions[MODES] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};

static uint64_t seed = 7;
static uint64_t next_random(void) {
  uint64_t x = seed += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

/* --- bits and numbers: sign, exponent, fraction as IEEE 754 lays them out
 * ------------------------------------ */

static int bias_of(int f) { return (1 << (float_shapes[f].exponent_bits - 1)) - 1; }

static void decode(int f, uint64_t bits, mpfr_t out) {
  int fraction_bits = float_shapes[f].fraction_bits;
  uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits & ((1u << float_shapes[f].exponent_bits) - 1));
  mpfr_set_prec(out, 64);
  if (exponent == 2 * bias_of(f) + 1 && fraction) mpfr_set_nan(out);
  else if (exponent == 2 * bias_of(f) + 1) mpfr_set_inf(out, 1);
  else
    mpfr_set_ui_2exp(out, exponent ? fraction | UINT64_C(1) << fraction_bits : fraction,
                     (exponent ? exponent : 1) - bias_of(f) - fraction_bits, MPFR_RNDN);
  if (bits >> (float_shapes[f].bits - 1) & 1) mpfr_neg(out, out, MPFR_RNDN);
}

/* Of a number that the format has. */
static uint64_t encode(int f, const mpfr_t x) {
  int fraction_bits = float_shapes[f].fraction_bits, exponent;
  uint64_t sign = (uint64_t)(mpfr_signbit(x) != 0) << (float_shapes[f].bits - 1);
  if (mpfr_nan_p(x)) return evalfloat_nan((enum float_format)f);
  if (mpfr_inf_p(x)) return sign | (uint64_t)(2 * bias_of(f) + 1) << fraction_bits;
  if (mpfr_zero_p(x)) return sign;
  double m = fabs(mpfr_get_d_2exp(&(long){0}, x, MPFR_RNDN));
  exponent = (int)mpfr_get_exp(x) - 1;
  int least = 1 - bias_of(f), low = exponent < least ? least : exponent;
  uint64_t significand = (uint64_t)ldexp(m, exponent + 1 - low + fraction_bits);
  return sign | (significand + ((uint64_t)(low - least) << fraction_bits));
}

/* Formats round when the result is made: its precision and its exponents are those of the format.
 */
static void begin(int f, mpfr_t out) {
  mpfr_set_prec(out, float_shapes[f].fraction_bits + 1);
  mpfr_set_emax(bias_of(f) + 1);
  mpfr_set_emin(2 - bias_of(f) - float_shapes[f].fraction_bits);
}
static uint64_t end(int f, mpfr_t out, int inexact, int mode) {
  inexact = mpfr_check_range(out, inexact, directions[mode]);
  mpfr_subnormalize(out, inexact, directions[mode]);
  mpfr_set_emax(mpfr_get_emax_max());
  mpfr_set_emin(mpfr_get_emin_min());
  return encode(f, out);
}

static mpfr_t x, y, z, r;

static void same(const char *what, int f, int mode, uint64_t a, uint64_t b, uint64_t mine,
                 uint64_t reference) {
  if (mine == reference) return;
  print_error("%s, format %d, mode %d: %#llx, %#llx gives %#llx, not %#llx\n", what, f, mode,
              (unsigned long long)a, (unsigned long long)b, (unsigned long long)mine,
              (unsigned long long)reference);
  fail();
}

/* --- operations
 * -----------------------------------------------------------------------------------------
 */

static void two_operands(int f, uint64_t a, uint64_t b) {
  static const struct {
    const char *name;
    uint64_t (*mine)(enum float_format, enum evalfloat_rounding, uint64_t, uint64_t);
    int (*reference)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
  } operations[] = {{"add", evalfloat_add, mpfr_add},
                    {"sub", evalfloat_sub, mpfr_sub},
                    {"mul", evalfloat_mul, mpfr_mul},
                    {"div", evalfloat_div, mpfr_div}};
  enum float_format format = (enum float_format)f;
  decode(f, a, x);
  decode(f, b, y);
  for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
    for (int mode = 0; mode < MODES; mode++) {
      begin(f, r);
      uint64_t reference = end(f, r, operations[k].reference(r, x, y, directions[mode]), mode);
      same(operations[k].name, f, mode, a, b,
           operations[k].mine(format, (enum evalfloat_rounding)mode, a, b), reference);
    }
  begin(f, r);
  same("rem", f, 0, a, b, evalfloat_rem(format, a, b), end(f, r, mpfr_fmod(r, x, y, MPFR_RNDN), 0));
}

static void three_operands(int f, uint64_t a, uint64_t b, uint64_t c) {
  decode(f, a, x);
  decode(f, b, y);
  decode(f, c, z);
  for (int mode = 0; mode < MODES; mode++) {
    begin(f, r);
    uint64_t reference = end(f, r, mpfr_fma(r, x, y, z, directions[mode]), mode);
    same("fma", f, mode, a, b,
         evalfloat_fma((enum float_format)f, (enum evalfloat_rounding)mode, a, b, c), reference);
  }
}

static void one_operand(int f, uint64_t a) {
  enum float_format format = (enum float_format)f;
  decode(f, a, x);
  for (int mode = 0; mode < MODES; mode++) {
    enum evalfloat_rounding rounding = (enum evalfloat_rounding)mode;
    begin(f, r);
    same("sqrt", f, mode, a, 0, evalfloat_sqrt(format, rounding, a),
         end(f, r, mpfr_sqrt(r, x, directions[mode]), mode));
    begin(f, r);
    same("round", f, mode, a, 0, evalfloat_round(format, rounding, a),
         end(f, r, mpfr_rint(r, x, directions[mode]), mode));
    for (int to = 0; to < FLOAT_FORMAT_COUNT; to++) {
      begin(to, r);
      uint64_t reference = end(to, r, mpfr_set(r, x, directions[mode]), mode);
      same("convert", f << 4 | to, mode, a, 0,
           evalfloat_convert(format, (enum float_format)to, rounding, a), reference);
    }
    if (mpfr_nan_p(x) || !mpfr_fits_slong_p(x, directions[mode])) continue;
    same("to i64", f, mode, a, 0, evalfloat_to_int(format, rounding, 64, true, a, NULL),
         (uint64_t)mpfr_get_si(x, directions[mode]));
  }
}

static void from_integer(int f, uint64_t a) {
  mpfr_set_prec(x, 64);
  for (int mode = 0; mode < MODES; mode++)
    for (int is_signed = 0; is_signed < 2; is_signed++) {
      if (is_signed) mpfr_set_si(x, (long)a, MPFR_RNDN);
      else mpfr_set_ui(x, a, MPFR_RNDN);
      begin(f, r);
      uint64_t reference = end(f, r, mpfr_set(r, x, directions[mode]), mode);
      same(
          "from integer", f, mode, a, 0,
          evalfloat_from_int((enum float_format)f, (enum evalfloat_rounding)mode, 64, is_signed, a),
          reference);
    }
}

static int edges_of(int f, uint64_t *out) {
  int fraction = float_shapes[f].fraction_bits, count = 0;
  uint64_t one = (uint64_t)bias_of(f) << fraction, top = (uint64_t)(2 * bias_of(f) + 1) << fraction,
           unit = UINT64_C(1) << fraction;
  const uint64_t values[] = {0,
                             1,
                             2,
                             unit - 1,
                             unit,
                             unit + 1,
                             one - 1,
                             one,
                             one + 1,
                             one + unit,
                             one + unit / 2,
                             one - unit,
                             one + (uint64_t)fraction * unit,
                             one + (uint64_t)(fraction + 1) * unit + 1,
                             top - unit,
                             top - 1,
                             top,
                             top + 1,
                             top + unit / 2,
                             one / 2};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++)
    for (uint64_t sign = 0; sign < 2; sign++)
      out[count++] = values[k] | sign << (float_shapes[f].bits - 1);
  return count;
}

static void edges(void **state) {
  (void)state;
  for (int f = 0; f < FLOAT_FORMAT_COUNT; f++) {
    uint64_t e[MAX_EDGES];
    int count = edges_of(f, e);
    for (int i = 0; i < count; i++) {
      one_operand(f, e[i]);
      from_integer(f, e[i]);
      for (int j = 0; j < count; j++) {
        two_operands(f, e[i], e[j]);
        for (int k = 0; k < count; k += 3) three_operands(f, e[i], e[j], e[k]);
      }
    }
  }
}

/* Exponents near each other every other time, where sums cancel. */
static void random_values(void **state) {
  (void)state;
  for (int i = 0; i < RANDOM; i++) {
    int f = i % FLOAT_FORMAT_COUNT;
    uint64_t mask = UINT64_MAX >> (64 - float_shapes[f].bits),
             near = i & 4 ? (UINT64_C(7) << float_shapes[f].fraction_bits) - 1 : mask;
    uint64_t a = next_random() & mask, b = ((a & ~near) | (next_random() & near)) & mask,
             c = ((a & ~near) | (next_random() & near)) & mask;
    one_operand(f, a);
    two_operands(f, a, b);
    three_operands(f, a, b, c);
    from_integer(f, next_random() >> next_random() % 64);
  }
}

/* Of float arguments the rounded results are the correctly rounded ones; the double is within
 * 2^-45. */
static void approximations(void **state) {
  static const struct {
    const char *name;
    double (*mine)(double);
    int (*reference)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  } functions[] = {{"sin", special_sin, mpfr_sin},
                   {"cos", special_cos, mpfr_cos},
                   {"log2", special_log2, mpfr_log2},
                   {"exp2", special_exp2, mpfr_exp2},
                   {"tanh", special_tanh, mpfr_tanh}};
  (void)state;
  for (int i = 0; i < RANDOM; i++)
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
      uint32_t bits = (uint32_t)next_random();
      if (i & 1) bits = (bits & 0x87ffffff) | 0x38000000; /* 2^-15 .. 2 */
      float a;
      memcpy(&a, &bits, sizeof a);
      double got = functions[k].mine(a);
      mpfr_set_prec(x, 24);
      mpfr_set_flt(x, a, MPFR_RNDN);
      mpfr_set_prec(r, 53);
      functions[k].reference(r, x, MPFR_RNDN);
      double wanted = mpfr_get_d(r, MPFR_RNDN), distance = fabs(got - wanted);
      bool both_nan = got != got && wanted != wanted, tiny = fabs(wanted) < 0x1p-200;
      if (both_nan || got == wanted || distance <= fabs(wanted) * 0x1p-45 ||
          (tiny && fabs(got) < 0x1p-199) || (fabs(wanted) > 0x1p200 && fabs(got) > 0x1p199))
        continue;
      print_error("%s(%a) is %a, not %a\n", functions[k].name, (double)a, got, wanted);
      fail();
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges), cmocka_unit_test(random_values),
                                     cmocka_unit_test(approximations)};
  mpfr_inits(x, y, z, r, (mpfr_ptr)0);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  mpfr_clears(x, y, z, r, (mpfr_ptr)0);
  mpfr_free_cache();
  return failed;
}

#else

static void is_not_installed(void **state) {
  (void)state;
  print_message("MPFR is not installed: nothing is compared with it\n");
  skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_not_installed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
