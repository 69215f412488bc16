/* References for every function of mathlib/: MPFR's where it has one, else a few of its operations
 * at a precision that covers the cancellation. The C library serves as fast estimate. */
#define _GNU_SOURCE
#include "references.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LIBM_FUNCTIONS_OF_ONE(F) \
  F(sin)                         \
  F(cos)                         \
  F(tan)                         \
  F(asin)                        \
  F(acos)                        \
  F(atan)                        \
  F(sinh)                        \
  F(cosh)                        \
  F(tanh)                        \
  F(asinh)                       \
  F(acosh)                       \
  F(atanh)                       \
  F(exp)                         \
  F(exp2)                        \
  F(exp10)                       \
  F(expm1)                       \
  F(log)                         \
  F(log2)                        \
  F(log10) F(log1p) F(cbrt) F(erf) F(erfc) F(lgamma) F(tgamma) F(j0) F(j1) F(y0) F(y1) F(sqrt)
#define LIBM_FUNCTIONS_OF_TWO(F) F(atan2) F(pow) F(fdim) F(hypot)

#define NUMBER double
#define M(f) f
#define SMALLEST_OF_ERFCX_SERIES 5
#include "fast_references.h"
#undef NUMBER
#undef M
#undef SMALLEST_OF_ERFCX_SERIES
#define NUMBER long double
#define M(f) f##l
#define SMALLEST_OF_ERFCX_SERIES 100
#include "fast_references.h"
#undef NUMBER
#undef M

/* --- exact values by one function of MPFR ---------------------------------------------- */

#define EXACT_ONE(name, mpfr_name)                               \
  static long exact_##name(mpfr_t *r, const mpfr_t *x, long n) { \
    (void)n;                                                     \
    mpfr_name(r[0], x[0], MPFR_RNDN);                            \
    return 0;                                                    \
  }
#define EXACT_TWO(name, mpfr_name)                               \
  static long exact_##name(mpfr_t *r, const mpfr_t *x, long n) { \
    (void)n;                                                     \
    mpfr_name(r[0], x[0], x[1], MPFR_RNDN);                      \
    return 0;                                                    \
  }
EXACT_ONE(sin, mpfr_sin)
EXACT_ONE(cos, mpfr_cos)
EXACT_ONE(tan, mpfr_tan)
EXACT_ONE(asin, mpfr_asin)
EXACT_ONE(acos, mpfr_acos)
EXACT_ONE(atan, mpfr_atan)
EXACT_ONE(sinh, mpfr_sinh)
EXACT_ONE(cosh, mpfr_cosh)
EXACT_ONE(tanh, mpfr_tanh)
EXACT_ONE(asinh, mpfr_asinh)
EXACT_ONE(acosh, mpfr_acosh)
EXACT_ONE(atanh, mpfr_atanh)
EXACT_ONE(exp, mpfr_exp)
EXACT_ONE(exp2, mpfr_exp2)
EXACT_ONE(exp10, mpfr_exp10)
EXACT_ONE(expm1, mpfr_expm1)
EXACT_ONE(log, mpfr_log)
EXACT_ONE(log2, mpfr_log2)
EXACT_ONE(log10, mpfr_log10)
EXACT_ONE(log1p, mpfr_log1p)
EXACT_ONE(cbrt, mpfr_cbrt)
EXACT_ONE(erf, mpfr_erf)
EXACT_ONE(erfc, mpfr_erfc)
EXACT_ONE(tgamma, mpfr_gamma)
EXACT_ONE(j0, mpfr_j0)
EXACT_ONE(y0, mpfr_y0)
EXACT_ONE(y1, mpfr_y1)
EXACT_ONE(sqrt, mpfr_sqrt)
EXACT_ONE(sinpi, mpfr_sinpi)
EXACT_ONE(cospi, mpfr_cospi)
EXACT_TWO(atan2, mpfr_atan2)
EXACT_TWO(pow, mpfr_pow)
EXACT_TWO(fmod, mpfr_fmod)
EXACT_TWO(remainder, mpfr_remainder)
EXACT_TWO(fdim, mpfr_dim)

/* --- sines, exponentials, scaling ------------------------------------------------------ */

static long exact_sincos(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_sin_cos(r[0], r[1], x[0], MPFR_RNDN);
  return 0;
}

static long exact_sincospi(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_sinpi(r[0], x[0], MPFR_RNDN);
  mpfr_cospi(r[1], x[0], MPFR_RNDN);
  return 0;
}

static long exact_powi(mpfr_t *r, const mpfr_t *x, long n) {
  mpfr_pow_si(r[0], x[0], n, MPFR_RNDN);
  return 0;
}

static long exact_ldexp(mpfr_t *r, const mpfr_t *x, long n) {
  mpfr_mul_2si(r[0], x[0], n, MPFR_RNDN);
  return 0;
}

/* --- parts of a number ----------------------------------------------------------------- */

static long exact_frexp(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_exp_t exponent = 0;
  mpfr_frexp(&exponent, r[0], x[0], MPFR_RNDN);
  return mpfr_regular_p(x[0]) ? exponent : 0;
}

static long exact_ilogb(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_set_zero(r[0], 1);
  if (mpfr_inf_p(x[0])) return INT_MAX;
  return mpfr_regular_p(x[0]) ? mpfr_get_exp(x[0]) - 1 : INT_MIN;
}

static long exact_logb(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  if (mpfr_regular_p(x[0])) mpfr_set_si(r[0], mpfr_get_exp(x[0]) - 1, MPFR_RNDN);
  else if (mpfr_zero_p(x[0])) mpfr_set_inf(r[0], -1);
  else mpfr_abs(r[0], x[0], MPFR_RNDN);
  return 0;
}

static long exact_modf(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_modf(r[1], r[0], x[0], MPFR_RNDN);
  return 0;
}

/* The neighbor of x[0] towards x[1] in a format of precision n: 24 or 53 bits. */
static long exact_nextafter(mpfr_t *r, const mpfr_t *x, long n) {
  double from = mpfr_get_d(x[0], MPFR_RNDN), to = mpfr_get_d(x[1], MPFR_RNDN);
  double next = n == 24 ? nextafterf((float)from, (float)to) : nextafter(from, to);
  mpfr_set_d(r[0], next, MPFR_RNDN);
  return 0;
}

static long exact_remquo(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  long quotient = 0;
  mpfr_remquo(r[0], &quotient, x[0], x[1], MPFR_RNDN);
  return mpfr_number_p(r[0]) ? quotient : 0;
}

/* --- roots and norms ------------------------------------------------------------------- */

/* Infinite with the sign of a zero, as CUDA defines; MPFR gives +inf. */
static long exact_rsqrt(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_rec_sqrt(r[0], x[0], MPFR_RNDN);
  if (mpfr_zero_p(x[0])) mpfr_copysign(r[0], r[0], x[0], MPFR_RNDN);
  return 0;
}

static long exact_rcbrt(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_cbrt(r[0], x[0], MPFR_RNDN);
  mpfr_si_div(r[0], 1, r[0], MPFR_RNDN);
  return 0;
}

/* Infinite if a component is, even beside NaN. */
static void norm_of(mpfr_t r, const mpfr_t *x, long count) {
  mpfr_t square;
  mpfr_init2(square, mpfr_get_prec(r));
  mpfr_set_zero(r, 1);
  bool infinite = false;
  for (long k = 0; k < count; k++) {
    infinite |= mpfr_inf_p(x[k]) != 0;
    mpfr_sqr(square, x[k], MPFR_RNDN);
    mpfr_add(r, r, square, MPFR_RNDN);
  }
  mpfr_sqrt(r, r, MPFR_RNDN);
  if (infinite) mpfr_set_inf(r, 1);
  mpfr_clear(square);
}

#define EXACT_NORM(name, count, reciprocal)                      \
  static long exact_##name(mpfr_t *r, const mpfr_t *x, long n) { \
    (void)n;                                                     \
    norm_of(r[0], x, count);                                     \
    if (reciprocal) mpfr_si_div(r[0], 1, r[0], MPFR_RNDN);       \
    return 0;                                                    \
  }
EXACT_NORM(hypot, 2, false)
EXACT_NORM(norm3d, 3, false)
EXACT_NORM(norm4d, 4, false)
EXACT_NORM(norm, n, false)
EXACT_NORM(rhypot, 2, true)
EXACT_NORM(rnorm3d, 3, true)
EXACT_NORM(rnorm4d, 4, true)
EXACT_NORM(rnorm, n, true)

/* --- error functions ------------------------------------------------------------------- */

static long exact_normcdf(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_t root, half;
  mpfr_inits2(mpfr_get_prec(r[0]) + 32, root, half, (mpfr_ptr)0);
  mpfr_set_ui(half, 1, MPFR_RNDN);
  mpfr_div_2ui(half, half, 1, MPFR_RNDN);
  mpfr_sqrt(root, half, MPFR_RNDN);
  mpfr_mul(root, root, x[0], MPFR_RNDN);
  mpfr_neg(root, root, MPFR_RNDN);
  mpfr_erfc(r[0], root, MPFR_RNDN);
  mpfr_mul(r[0], r[0], half, MPFR_RNDN);
  mpfr_clears(root, half, (mpfr_ptr)0);
  return 0;
}

/* exp(x^2) erfc(x); above 1000 the asymptotic series, which 12 terms give to 2^-230. */
static long exact_erfcx(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_t square, term;
  mpfr_inits2(mpfr_get_prec(r[0]) + 64, square, term, (mpfr_ptr)0);
  mpfr_sqr(square, x[0], MPFR_RNDN);
  if (mpfr_cmp_ui(x[0], 1000) <= 0) {
    mpfr_exp(term, square, MPFR_RNDN);
    mpfr_erfc(r[0], x[0], MPFR_RNDN);
    mpfr_mul(r[0], r[0], term, MPFR_RNDN);
  } else {
    mpfr_const_pi(term, MPFR_RNDN);
    mpfr_rec_sqrt(term, term, MPFR_RNDN);
    mpfr_div(term, term, x[0], MPFR_RNDN);
    mpfr_set(r[0], term, MPFR_RNDN);
    for (long k = 1; k <= 12 && mpfr_regular_p(term); k++) {
      mpfr_mul_si(term, term, 1 - 2 * k, MPFR_RNDN);
      mpfr_div(term, term, square, MPFR_RNDN);
      mpfr_div_2ui(term, term, 1, MPFR_RNDN);
      mpfr_add(r[0], r[0], term, MPFR_RNDN);
    }
  }
  mpfr_clears(square, term, (mpfr_ptr)0);
  return 0;
}

/* y with erf(y) = x, where |x| <= 1/2, or erfc(y) = x, where 0 < x <= 1/2: Newton's iteration, it
 * doubles the digits of the fast estimate. */
static void exact_inverse_error(mpfr_t y, const mpfr_t x, bool complement) {
  mpfr_t miss, slope;
  mpfr_inits2(mpfr_get_prec(y) + 64, miss, slope, (mpfr_ptr)0);
  double estimate = mpfr_get_d(x, MPFR_RNDN);
  if (complement && estimate < 1e-300) {
    mpfr_log(y, x, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_sqrt(y, y, MPFR_RNDN);
  } else if (!complement && fabs(estimate) < 1e-5) {
    mpfr_mul_d(y, x, 0.886226925452758, MPFR_RNDN);
  } else {
    mpfr_set_d(y, copysign(inverse_errorl(fabs(estimate), complement), estimate), MPFR_RNDN);
  }
  for (int k = 0; k < (estimate < 1e-300 ? 100 : 5); k++) {
    (complement ? mpfr_erfc : mpfr_erf)(miss, y, MPFR_RNDN);
    mpfr_sub(miss, miss, x, MPFR_RNDN);
    if (complement) mpfr_neg(miss, miss, MPFR_RNDN);
    mpfr_sqr(slope, y, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_mul(miss, miss, slope, MPFR_RNDN);
    mpfr_const_pi(slope, MPFR_RNDN);
    mpfr_sqrt(slope, slope, MPFR_RNDN);
    mpfr_div_2ui(slope, slope, 1, MPFR_RNDN);
    mpfr_mul(miss, miss, slope, MPFR_RNDN);
    mpfr_sub(y, y, miss, MPFR_RNDN);
  }
  mpfr_clears(miss, slope, (mpfr_ptr)0);
}

static long exact_erfinv(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  if (mpfr_zero_p(x[0])) return mpfr_set(r[0], x[0], MPFR_RNDN), 0;
  if (mpfr_nan_p(x[0]) || mpfr_cmpabs_ui(x[0], 1) > 0) return mpfr_set_nan(r[0]), 0;
  if (mpfr_cmpabs_ui(x[0], 1) == 0) return mpfr_set_inf(r[0], mpfr_sgn(x[0])), 0;
  if (fabs(mpfr_get_d(x[0], MPFR_RNDN)) <= 0.5) return exact_inverse_error(r[0], x[0], false), 0;
  mpfr_t rest;
  mpfr_init2(rest, mpfr_get_prec(r[0]));
  mpfr_abs(rest, x[0], MPFR_RNDN);
  mpfr_ui_sub(rest, 1, rest, MPFR_RNDN);
  exact_inverse_error(r[0], rest, true);
  mpfr_copysign(r[0], r[0], x[0], MPFR_RNDN);
  mpfr_clear(rest);
  return 0;
}

static long exact_erfcinv(mpfr_t *r, const mpfr_t *x, long n) {
  double v = mpfr_get_d(x[0], MPFR_RNDN);
  if (v > 0 && v < 0.5) return exact_inverse_error(r[0], x[0], true), 0;
  if (v == 0) return mpfr_set_inf(r[0], 1), 0;
  if (!(v > 0 && v <= 2)) return mpfr_set_nan(r[0]), 0;
  mpfr_t rest;
  mpfr_init2(rest, mpfr_get_prec(r[0]));
  mpfr_ui_sub(rest, 1, x[0], MPFR_RNDN);
  exact_erfinv(r, (const mpfr_t *)&rest, n);
  mpfr_clear(rest);
  return 0;
}

static long exact_normcdfinv(mpfr_t *r, const mpfr_t *x, long n) {
  mpfr_t twice;
  mpfr_init2(twice, mpfr_get_prec(r[0]));
  mpfr_mul_2ui(twice, x[0], 1, MPFR_RNDN);
  exact_erfcinv(r, (const mpfr_t *)&twice, n);
  mpfr_sqrt_ui(twice, 2, MPFR_RNDN);
  mpfr_mul(r[0], r[0], twice, MPFR_RNDN);
  if (!mpfr_zero_p(r[0])) mpfr_neg(r[0], r[0], MPFR_RNDN);
  mpfr_clear(twice);
  return 0;
}

/* --- gamma and Bessel functions -------------------------------------------------------- */

static long exact_lgamma(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  int sign;
  mpfr_lgamma(r[0], &sign, x[0], MPFR_RNDN);
  return 0;
}

/* -0 at -inf, as CUDA defines; MPFR gives +0. */
static long exact_j1(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  mpfr_j1(r[0], x[0], MPFR_RNDN);
  if (mpfr_inf_p(x[0])) mpfr_set_zero(r[0], mpfr_sgn(x[0]));
  return 0;
}

static long exact_jn(mpfr_t *r, const mpfr_t *x, long n) {
  if (n < 0) mpfr_set_nan(r[0]); /* CUDA's definition */
  else mpfr_jn(r[0], n, x[0], MPFR_RNDN);
  return 0;
}

static long exact_yn(mpfr_t *r, const mpfr_t *x, long n) {
  if (n < 0) mpfr_set_nan(r[0]);
  else mpfr_yn(r[0], n, x[0], MPFR_RNDN);
  return 0;
}

/* The modified Bessel function of the first kind: sum of (x/2)^(2k+order) / (k! (k+order)!). */
static void modified_bessel(mpfr_t r, const mpfr_t x, unsigned order) {
  if (!mpfr_number_p(x) || mpfr_cmpabs_ui(x, 2000) > 0) {
    if (mpfr_nan_p(x)) mpfr_set_nan(r);
    else mpfr_set_inf(r, order == 0 ? 1 : mpfr_sgn(x));
    return;
  }
  mpfr_t quarter, term;
  mpfr_inits2(mpfr_get_prec(r) + 32, quarter, term, (mpfr_ptr)0);
  mpfr_sqr(quarter, x, MPFR_RNDN);
  mpfr_div_2ui(quarter, quarter, 2, MPFR_RNDN);
  if (order == 0) mpfr_set_ui(term, 1, MPFR_RNDN);
  else mpfr_div_2ui(term, x, 1, MPFR_RNDN);
  mpfr_set(r, term, MPFR_RNDN);
  for (unsigned k = 1; mpfr_regular_p(term); k++) {
    mpfr_mul(term, term, quarter, MPFR_RNDN);
    mpfr_div_ui(term, term, k * (k + order), MPFR_RNDN);
    if (mpfr_get_exp(term) < mpfr_get_exp(r) - mpfr_get_prec(r) - 8 && k > 2) break;
    mpfr_add(r, r, term, MPFR_RNDN);
  }
  mpfr_clears(quarter, term, (mpfr_ptr)0);
}

static long exact_cyl_bessel_i0(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  modified_bessel(r[0], x[0], 0);
  return 0;
}

static long exact_cyl_bessel_i1(mpfr_t *r, const mpfr_t *x, long n) {
  (void)n;
  modified_bessel(r[0], x[0], 1);
  return 0;
}

/* --- the table ------------------------------------------------------------------------- */

#define FAST(name) {#name, exact_##name, fast_##name, fast_##name##l, false},
#define EXACT(name) {#name, exact_##name, fast_##name, fast_##name##l, true},
static const struct reference REFERENCES[] = {
    LIBM_FUNCTIONS_OF_ONE(FAST) LIBM_FUNCTIONS_OF_TWO(FAST) FAST(sincos) FAST(sinpi) FAST(cospi)
        FAST(sincospi) FAST(rsqrt) FAST(rcbrt) FAST(normcdf) FAST(erfcx) FAST(erfinv) FAST(erfcinv)
            FAST(normcdfinv) FAST(powi)
                FAST(ldexp){"scalbn", exact_ldexp, fast_ldexp, fast_ldexpl, false},
    FAST(norm3d) FAST(norm4d) FAST(norm) FAST(rhypot) FAST(rnorm3d) FAST(rnorm4d) FAST(rnorm)
        FAST(jn) FAST(yn) FAST(cyl_bessel_i0) FAST(cyl_bessel_i1) EXACT(fmod) EXACT(remainder)
            EXACT(remquo) EXACT(frexp) EXACT(modf) EXACT(logb) EXACT(ilogb) EXACT(nextafter)};

const struct reference *reference_find(const char *name) {
  for (size_t k = 0; k < sizeof REFERENCES / sizeof *REFERENCES; k++)
    if (strcmp(REFERENCES[k].name, name) == 0) return &REFERENCES[k];
  return NULL;
}
