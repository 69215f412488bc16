/* Measures the error of mathematical functions in units in the last place (ulp).
 *
 *     measure LIBRARY NAME SIGNATURE POINTS SEED WHERE LOW HIGH FIRST LAST
 *
 * loads NAME from LIBRARY, calls it and compares with references.h. SIGNATURE is the type of the
 * result, then those of the arguments in brackets: f float, d double, i int, v none; capitals are
 * pointers to results (F, D, I), P is a pointer to as many numbers as the integer argument says.
 * POINTS is a count, or 'all' for every float (functions of one argument). Numbers are drawn evenly
 * over all bit patterns, and in a logarithmic and a linear scale between LOW and HIGH; integers
 * between FIRST and LAST. Special values come first, in all combinations. WHERE: 'all', 'below B'
 * or 'outside A B', written with colons (below:8): elsewhere the absolute error counts.
 *
 * Prints a line for each real result, fields separated by tabs: its index, points, the worst error
 * in ulp, the arguments that gave it, result, exact value, the worst absolute error elsewhere, its
 * arguments, number of wrong results (NaN, sign of zero, integers), the first wrong arguments.
 *
 * One ulp is the distance of neighbors in the binade of the exact value, of subnormals at least. An
 * infinity counts as the power of two that would follow the largest number. */
#define _GNU_SOURCE
#include "references.h"

#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = 8, MAX_RESULTS = 2 };

struct point {
  double x[MAX_ARGUMENTS];
  long n;
};

struct values {
  double y[MAX_RESULTS];
  long n;
};

struct worst {
  double ulp, absolute;
  struct point at, at_absolute;
  double got, exact;
  long wrong;
  struct point at_wrong;
};

/* Signatures with r for float or double. */
#define SHAPES(S)      \
  S(R_R, "r(r)")       \
  S(R_RR, "r(rr)")     \
  S(R_RRR, "r(rrr)")   \
  S(R_RRRR, "r(rrrr)") \
  S(R_RI, "r(ri)")     \
  S(R_IR, "r(ir)")     \
  S(I_R, "i(r)")       \
  S(R_R_OUT, "r(rR)")  \
  S(R_INT_OUT, "r(rI)") S(R_RR_INT_OUT, "r(rrI)") S(V_TWO_OUT, "v(rRR)") S(R_ARRAY, "r(iP)")
#define ROW(name, text) name,
enum shape { SHAPES(ROW) SHAPE_COUNT };
#undef ROW
#define ROW(name, text) text,
static const char *const shape_texts[] = {SHAPES(ROW)};
#undef ROW

struct job {
  const char *name, *signature;
  void *function;
  const struct reference *reference;
  enum shape shape;
  bool is_float, has_integer_result, is_power;
  int arguments, results; /* real ones */
  bool has_integer, reads_array;
  uint64_t points, seed;
  char where; /* 'a'll, 'b'elow, 'o'utside */
  double bounds[2], low, high;
  long first, last;
  mpfr_t in[MAX_ARGUMENTS], out[MAX_RESULTS];
  struct worst worst[MAX_RESULTS];
};

/* --- calls ----------------------------------------------------------------------------- */

#define F(...) ((T(*)(__VA_ARGS__))f)
#define DEFINE_CALL(name)                                                                       \
  static struct values name(void *f, enum shape shape, const struct point *p) {                 \
    T a = (T)p->x[0], b = (T)p->x[1], c = (T)p->x[2], d = (T)p->x[3], u = 0, v = 0;             \
    int n = (int)p->n, m = 0;                                                                   \
    T array[MAX_ARGUMENTS];                                                                     \
    switch (shape) {                                                                            \
      case R_R: return (struct values){{F(T)(a)}, 0};                                           \
      case R_RR: return (struct values){{F(T, T)(a, b)}, 0};                                    \
      case R_RRR: return (struct values){{F(T, T, T)(a, b, c)}, 0};                             \
      case R_RRRR: return (struct values){{F(T, T, T, T)(a, b, c, d)}, 0};                      \
      case R_RI: return (struct values){{F(T, int)(a, n)}, 0};                                  \
      case R_IR: return (struct values){{F(int, T)(n, a)}, 0};                                  \
      case I_R: return (struct values){{0}, ((int (*)(T))f)(a)};                                \
      case R_R_OUT: return u = F(T, T *)(a, &v), (struct values){{u, v}, 0};                    \
      case R_INT_OUT: return u = F(T, int *)(a, &m), (struct values){{u}, m};                   \
      case R_RR_INT_OUT: return u = F(T, T, int *)(a, b, &m), (struct values){{u}, m};          \
      case V_TWO_OUT: return ((void (*)(T, T *, T *))f)(a, &u, &v), (struct values){{u, v}, 0}; \
      case R_ARRAY:                                                                             \
        for (int k = 0; k < MAX_ARGUMENTS; k++) array[k] = (T)p->x[k];                          \
        return (struct values){{F(int, T *)(n, array)}, 0};                                     \
      case SHAPE_COUNT: break;                                                                  \
    }                                                                                           \
    return (struct values){{0}, 0};                                                             \
  }
#define T float
DEFINE_CALL(call_float)
#undef T
#define T double
DEFINE_CALL(call_double)
#undef T

/* --- errors ---------------------------------------------------------------------------- */

static double power_of_two(long exponent) {
  if (exponent < DBL_MIN_EXP - 1) return ldexp(1, (int)exponent);
  union {
    uint64_t bits;
    double number;
  } u = {(uint64_t)(exponent - (DBL_MIN_EXP - 2)) << (DBL_MANT_DIG - 1)};
  return u.number;
}

static long digits_of(const struct job *job) { return job->is_float ? FLT_MANT_DIG : DBL_MANT_DIG; }

/* One ulp of a number of this magnitude. */
static double ulp_of(const struct job *job, long exponent) {
  long digits = digits_of(job);
  long least = job->is_float ? FLT_MIN_EXP : DBL_MIN_EXP;
  long most = job->is_float ? FLT_MAX_EXP : DBL_MAX_EXP;
  if (exponent < least) exponent = least;
  return power_of_two((exponent > most ? most : exponent) - digits);
}

/* The error of a result against the exact value; NaN where the result is of another kind. */
static double error_of(const struct job *job, double got, mpfr_t exact, bool in_ulp) {
  if (mpfr_nan_p(exact)) return isnan(got) ? 0 : NAN;
  if (mpfr_inf_p(exact)) return isinf(got) && (got > 0) == (mpfr_sgn(exact) > 0) ? 0 : NAN;
  if (isnan(got)) return NAN;
  if (mpfr_zero_p(exact) && got == 0)
    return (mpfr_signbit(exact) != 0) == (signbit(got) != 0) ? 0 : NAN;
  int most = job->is_float ? FLT_MAX_EXP : DBL_MAX_EXP;
  double unit = ulp_of(job, mpfr_zero_p(exact) ? LONG_MIN : mpfr_get_exp(exact));
  mpfr_t difference, limit;
  mpfr_inits2(mpfr_get_prec(exact) + 64, difference, limit, (mpfr_ptr)0);
  mpfr_set_ui_2exp(limit, 1, most, MPFR_RNDN);
  if (isinf(got)) { /* any exact value beyond the limit is infinite too */
    mpfr_abs(difference, exact, MPFR_RNDN);
    mpfr_sub(difference, limit, difference, MPFR_RNDN);
    if (mpfr_sgn(difference) < 0) mpfr_set_zero(difference, 1);
    if ((got > 0) != (mpfr_sgn(exact) > 0)) mpfr_set_nan(difference);
  } else {
    mpfr_sub_d(difference, exact, got, MPFR_RNDN);
    mpfr_abs(difference, difference, MPFR_RNDN);
  }
  if (in_ulp) mpfr_div_d(difference, difference, unit, MPFR_RNDN);
  double error = mpfr_get_d(difference, MPFR_RNDU);
  mpfr_clears(difference, limit, (mpfr_ptr)0);
  return error;
}

/* Whether the error at this argument is counted in ulp. */
static bool counts_in_ulp(const struct job *job, double x) {
  if (job->where == 'b') return fabs(x) < job->bounds[0];
  return job->where == 'a' || !(x > job->bounds[0] && x < job->bounds[1]);
}

/* Integer results: quotients of remquo agree in the sign and the last three bits. */
static bool is_integer_wrong(const struct job *job, long got, long exact) {
  if (strcmp(job->signature + 1, "(ffI)") != 0 && strcmp(job->signature + 1, "(ddI)") != 0)
    return got != exact;
  return ((got ^ exact) & 7) != 0 && ((-got ^ exact) & 7) != 0
             ? true
             : got != 0 && exact != 0 && (got < 0) != (exact < 0);
}

static void note_wrong(struct worst *w, const struct point *p) {
  if (w->wrong++ == 0) w->at_wrong = *p;
}

/* What references take as n: nextafter has the digits of the type instead. */
static long integer_argument(const struct job *job, const struct point *p) {
  return strcmp(job->reference->name, "nextafter") == 0 ? digits_of(job) : p->n;
}

/* Compares with MPFR. */
static void compare_exactly(struct job *job, const struct point *p, const struct values *got) {
  for (int k = 0; k < MAX_ARGUMENTS; k++) mpfr_set_d(job->in[k], p->x[k], MPFR_RNDN);
  long integer = job->reference->exact(job->out, (const mpfr_t *)job->in, integer_argument(job, p));
  if (job->has_integer_result && is_integer_wrong(job, got->n, integer))
    note_wrong(&job->worst[0], p);
  for (int k = 0; k < job->results; k++) {
    struct worst *w = &job->worst[k];
    bool in_ulp = counts_in_ulp(job, p->x[0]);
    double error = error_of(job, got->y[k], job->out[k], in_ulp);
    if (isnan(error)) note_wrong(w, p);
    if (!in_ulp && error > w->absolute) {
      w->absolute = error;
      w->at_absolute = *p;
    }
    if (!in_ulp || !(error > w->ulp)) continue;
    w->ulp = error;
    w->at = *p;
    w->got = got->y[k];
    w->exact = mpfr_get_d(job->out[k], MPFR_RNDN);
  }
}

/* Estimates beyond this are infinite in the type under test, estimates below are zero in it. */
static long double largest(const struct job *job) {
  return job->is_float ? 0x1.000001p128L : 0x1.0000000000001p1024L;
}
static long double least(const struct job *job) { return job->is_float ? 0x1p-155L : 0x1p-1080L; }

/* Whether a fast reference shows that a result's error is no new worst. */
static bool is_harmless(const struct job *job, const struct worst *worst, double x, double got,
                        long double near) {
  bool same_sign = (signbit(got) != 0) == (signbit(near) != 0);
  if (isnan(near)) return isnan(got);
  if (job->reference->is_fast_exact) return got == near && same_sign;
  if (fabsl(near) > largest(job)) return isinf(got) && same_sign;
  if (fabsl(near) < least(job)) return got == 0 && same_sign;
  if (got == 0 && !same_sign) return false;
  double miss = (double)fabsl(got - near), slack = job->is_float ? 0x1p-18 : 0x1p-7;
  if (!counts_in_ulp(job, x)) return miss <= worst->absolute;
  int exponent;
  frexp((double)near, &exponent);
  return miss <= ulp_of(job, exponent) * (worst->ulp - slack);
}

/* Fast references for the results of a point; returns the integer one. */
static long estimate(const struct job *job, const struct point *p, long double *near) {
  long n = integer_argument(job, p);
  double narrow[MAX_RESULTS];
  long double wide[MAX_ARGUMENTS];
  if (!job->is_float) {
    for (int k = 0; k < job->arguments; k++) wide[k] = p->x[k];
    return job->reference->fast_wide(near, wide, n);
  }
  long integer = job->reference->fast(narrow, p->x, n);
  for (int k = 0; k < job->results; k++) near[k] = narrow[k];
  return integer;
}

static struct values call(const struct job *job, const struct point *p) {
  return (job->is_float ? call_float : call_double)(job->function, job->shape, p);
}

static void measure_point(struct job *job, const struct point *p) {
  struct values got = call(job, p);
  long double near[MAX_RESULTS];
  long integer = estimate(job, p, near);
  bool harmless = !job->has_integer_result || !is_integer_wrong(job, got.n, integer);
  for (int k = 0; k < job->results && harmless; k++)
    harmless = is_harmless(job, &job->worst[k], p->x[0], got.y[k], near[k]);
  if (!harmless) compare_exactly(job, p, &got);
}

/* --- points ---------------------------------------------------------------------------- */

static uint64_t random_bits(struct job *job) { /* splitmix64 */
  uint64_t z = job->seed += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static double random_unit(struct job *job) { return (double)(random_bits(job) >> 11) * 0x1p-53; }

static double as_number(const struct job *job, uint64_t bits) {
  union {
    uint32_t bits;
    float number;
  } narrow = {(uint32_t)bits};
  union {
    uint64_t bits;
    double number;
  } wide = {bits};
  return job->is_float ? narrow.number : wide.number;
}

static double rounded(const struct job *job, double x) { return job->is_float ? (float)x : x; }

/* A number between low and high in a logarithmic scale; where the range contains zero, of either
 * sign and down to 2^-30. */
static double random_scaled(struct job *job) {
  double low = job->low > 0 ? job->low : 0x1p-30 * fmin(1, job->high), high = job->high;
  if (job->high <= 0) low = -job->high + 0x1p-30, high = -job->low;
  if (job->low < 0 && job->high > 0 && -job->low > high) high = -job->low;
  double x = exp2(log2(low) + random_unit(job) * (log2(high) - log2(low)));
  if (job->high <= 0) return rounded(job, -x);
  return rounded(job, job->low < 0 && random_bits(job) & 1 ? -x : x);
}

static struct point random_point(struct job *job, uint64_t index) {
  struct point p = {{0}, 0};
  uint64_t step = job->points ? (job->is_float ? UINT64_C(1) << 32 : UINT64_MAX) / job->points : 0;
  for (int k = 0; k < job->arguments; k++) {
    uint64_t kind = index & 3;
    if (kind < 2 && k == 0) p.x[k] = as_number(job, index * step + random_bits(job) % (step + 1));
    else if (kind < 2 - (index >> 2 & 1)) p.x[k] = as_number(job, random_bits(job));
    else if (kind == 2) p.x[k] = random_scaled(job);
    else p.x[k] = rounded(job, job->low + random_unit(job) * (job->high - job->low));
  }
  bool is_near = job->arguments > 1 && (index & 31) == 31;
  if (is_near)
    p.x[1] = rounded(job, p.x[0] * (1 + ldexp(random_unit(job) - 0.5, -(int)(index >> 5 & 31))));
  if (job->is_power && index & 4)
    p.x[1] = rounded(
        job, (random_unit(job) * 2.1 - 1.1) * (job->is_float ? 140 : 1050) / log2(fabs(p.x[0])));
  if (job->has_integer)
    p.n = job->first + (long)(random_bits(job) % (uint64_t)(job->last - job->first + 1));
  return p;
}

static const double SPECIALS[] = {
    0,
    0.25,
    0.5,
    0.75,
    1,
    1.5,
    2,
    2.5,
    3,
    4,
    5,
    7,
    8,
    10,
    17,
    33,
    34,
    35,
    36,
    40,
    100,
    126,
    127,
    128,
    149,
    150,
    170,
    171,
    172,
    1023,
    1024,
    1e5,
    0x1p22,
    0x1p23,
    0x1p24,
    0x1p31,
    0x1p32,
    0x1p52,
    0x1p53,
    0x1p63,
    0x1p64,
    0x1.921fb6p0,
    0x1.921fb54442d18p0,
    0x1.921fb6p1,
    0x1.62e42ep6,
    0x1.62e43p6,
    0x1.921fb6p2,
    0x1.45f306p-1,
    1e30,
    0x1p127,
    0x1.fffffep127,
    0x1p-126,
    0x1.fffffcp-127,
    0x1p-149,
    0x1p-64,
    0x1p-32,
    0x1p-24,
    0x1p-12,
    0x1.fffffep-1,
    0x1.000002p0,
    0x1.fffffffffffffp-1,
    0x1.0000000000001p0,
    6381956970095103.0 * 0x1p797,
    0x1.75p1014, /* lgamma is just finite */
    0x1p1023,
    0x1.fffffffffffffp1023,
    0x1p-1022,
    0x0.fffffffffffffp-1022,
    0x1p-1074,
    INFINITY,
    NAN,
};
enum { SPECIAL_COUNT = sizeof SPECIALS / sizeof *SPECIALS };

/* All combinations of special values, of both signs; of more than two arguments only some. */
static void measure_specials(struct job *job) {
  static const long INTEGERS[] = {
      0,    1,    -1,   2,    -2,  3,   5,    10,   24,   100,   -100,   126,     127,     128,
      -126, -149, -150, -151, 254, 300, -300, 1074, 2098, -2098, 100000, -100000, INT_MAX, INT_MIN};
  int count = 2 * SPECIAL_COUNT, step = job->arguments > 2 ? 11 : 1, total = 1;
  int integers = job->has_integer ? (int)(sizeof INTEGERS / sizeof *INTEGERS) : 1;
  for (int k = 0; k < job->arguments && k < 3; k++) total *= count;
  for (int i = 0; i < total * integers; i += step) {
    struct point p = {{0}, 0};
    int rest = i / integers;
    for (int k = 0; k < job->arguments; k++, rest /= count) {
      if (k >= 3) rest = i * 7 % count;
      double x = SPECIALS[rest % count / 2];
      p.x[k] = rounded(job, rest & 1 ? -x : x);
    }
    if (job->has_integer) p.n = INTEGERS[i % integers];
    if (job->has_integer && job->first >= -1 && p.n > job->last) continue; /* an order or a count */
    if (job->reads_array && (p.n < job->first || p.n > MAX_ARGUMENTS)) continue;
    struct values got = call(job, &p);
    compare_exactly(job, &p, &got);
  }
}

/* --- every float ------------------------------------------------------------------------- */

/* A block is of consecutive floats of one exponent. Where the fast reference is smooth over them,
 * its polynomial through NODES replaces it, if that is as good at PROBES. */
enum { BLOCK = 4096, NODES = 7, PROBES = 8 };
static const int NODE[NODES] = {51, 445, 1159, 2048, 2937, 3651, 4044};
static const int PROBE[PROBES] = {0, 222, 777, 1601, 2493, 3310, 3870, 4095};

/* Newton's form: c[0] + (t - NODE[0]) (c[1] + (t - NODE[1]) (...)) with t in steps of 1/BLOCK. */
struct polynomial {
  double c[NODES];
};

static double node(int k) { return NODE[k] * (1.0 / BLOCK); }

static struct polynomial interpolate(const double y[NODES]) {
  struct polynomial p;
  memcpy(p.c, y, sizeof p.c);
  for (int order = 1; order < NODES; order++)
    for (int k = NODES - 1; k >= order; k--)
      p.c[k] = (p.c[k] - p.c[k - 1]) / (node(k) - node(k - order));
  return p;
}

static inline double evaluate(const struct polynomial *p, int index) {
  double t = index * (1.0 / BLOCK), y = p->c[NODES - 1];
  for (int k = NODES - 2; k >= 0; k--) y = y * (t - node(k)) + p->c[k];
  return y;
}

/* One ulp of a float near y: 2^-23 of its power of two, of subnormals 2^-149. */
static inline double ulp_near(double y) {
  union {
    double number;
    uint64_t bits;
  } u = {y};
  u.bits &= UINT64_C(0x7ff) << 52;
  return fmax(u.number, 0x1p-126) * 0x1p-23;
}

/* Whether estimates show the same infinity, zero or NaN. */
static bool is_same_extreme(const struct job *job, double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if ((signbit(a) != 0) != (signbit(b) != 0)) return false;
  return (fabs(a) > largest(job) && fabs(b) > largest(job)) ||
         (fabs(a) < least(job) && fabs(b) < least(job));
}

enum fit {
  FITS_NOT,
  FITS_POLYNOMIAL,
  IS_EXTREME, /* all estimates are as infinite, zero or NaN as c[0] */
};

/* What replaces the fast reference for a result r over the block that starts at these bits. */
static enum fit fit(const struct job *job, uint64_t bits, int r, struct polynomial *p) {
  double y[NODES], near[MAX_RESULTS];
  bool extreme = true, smooth = true;
  for (int k = 0; k < NODES; k++) {
    double x = as_number(job, bits + (uint64_t)NODE[k]);
    job->reference->fast(near, &x, 0);
    y[k] = near[r];
    extreme = extreme && is_same_extreme(job, y[0], y[k]);
  }
  *p = interpolate(y);
  for (int k = 0; k < PROBES; k++) {
    double x = as_number(job, bits + (uint64_t)PROBE[k]);
    job->reference->fast(near, &x, 0);
    double size = fabs(near[r]), miss = fabs(evaluate(p, PROBE[k]) - near[r]);
    extreme = extreme && is_same_extreme(job, y[0], near[r]);
    smooth = smooth && miss <= 0x1p-20 * ulp_near(size) && size < 0x1p127 && size > 0x1p-148;
  }
  if (extreme) return IS_EXTREME;
  double first = as_number(job, bits), last = as_number(job, bits + BLOCK - 1);
  return smooth && counts_in_ulp(job, first) == counts_in_ulp(job, last) ? FITS_POLYNOMIAL
                                                                         : FITS_NOT;
}

static void call_block(const struct job *job, uint64_t bits, float got[MAX_RESULTS][BLOCK]) {
  for (unsigned k = 0; k < BLOCK; k++) {
    float x = (float)as_number(job, bits + k);
    if (job->shape == R_R) got[0][k] = ((float (*)(float))job->function)(x);
    else ((void (*)(float, float *, float *))job->function)(x, &got[0][k], &got[1][k]);
  }
}

/* Whether no result r of the block has an error that may be a new worst. */
static bool is_block_harmless(const struct job *job, uint64_t bits, int r, enum fit fits,
                              const struct polynomial *p, const float *got) {
  const struct worst *worst = &job->worst[r];
  bool harmless = true, in_ulp = counts_in_ulp(job, as_number(job, bits));
  double ulps = in_ulp ? worst->ulp - 0x1p-18 : 0, absolute = in_ulp ? 0 : worst->absolute;
  if (fits == IS_EXTREME) {
    for (int k = 0; k < BLOCK; k++) harmless &= is_harmless(job, worst, 0, got[k], p->c[0]);
    return harmless;
  }
  for (int k = 0; k < BLOCK; k++) {
    double near = evaluate(p, k);
    harmless &= fabs(got[k] - near) <= absolute + ulps * ulp_near(near);
  }
  return harmless;
}

static void measure_block(struct job *job, uint64_t bits) {
  static float got[MAX_RESULTS][BLOCK];
  bool may_fit = !job->reference->is_fast_exact && (job->shape == R_R || job->shape == V_TWO_OUT);
  struct polynomial p[MAX_RESULTS];
  enum fit fits[MAX_RESULTS];
  for (int r = 0; r < job->results && may_fit; r++)
    may_fit = (fits[r] = fit(job, bits, r, &p[r])) != FITS_NOT;
  if (may_fit) call_block(job, bits, got);
  for (int r = 0; r < job->results && may_fit; r++)
    may_fit = is_block_harmless(job, bits, r, fits[r], &p[r], got[r]);
  if (may_fit) return;
  for (unsigned k = 0; k < BLOCK; k++) {
    struct point point = {{as_number(job, bits + k)}, 0};
    measure_point(job, &point);
  }
}

static uint64_t measure_all(struct job *job) {
  measure_specials(job);
  if (job->points == 0 && job->is_float && job->arguments == 1 && !job->has_integer) {
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += BLOCK) measure_block(job, bits);
    return UINT64_C(1) << 32;
  }
  for (uint64_t i = 0; i < job->points; i++) {
    struct point p = random_point(job, i);
    measure_point(job, &p);
  }
  return job->points;
}

/* --- the program ----------------------------------------------------------------------- */

/* Splits the signature. */
static void read_signature(struct job *job) {
  char shape[16];
  snprintf(shape, sizeof shape, "%s", job->signature);
  job->is_float = strpbrk(shape, "fF") != NULL;
  job->results = shape[0] != 'i';
  job->has_integer_result = shape[0] == 'i';
  for (char *c = shape; *c; c++) {
    bool is_real = *c == 'f' || *c == 'd', is_pointer = *c == 'F' || *c == 'D';
    if (c > shape) job->arguments += is_real;
    if (c > shape) job->has_integer |= *c == 'i';
    job->results += is_pointer;
    job->has_integer_result |= *c == 'I';
    job->reads_array |= *c == 'P';
    if (is_real) *c = 'r';
    if (is_pointer) *c = 'R';
  }
  if (shape[0] == 'v') job->results--;
  if (job->reads_array) job->arguments = MAX_ARGUMENTS;
  while (job->shape < SHAPE_COUNT && strcmp(shape, shape_texts[job->shape]) != 0) job->shape++;
}

/* NAME without __nv_, and for float without its f. */
static const struct reference *find_reference(const struct job *job) {
  char stem[64];
  snprintf(stem, sizeof stem, "%s", job->name + (strncmp(job->name, "__nv_", 5) == 0 ? 5 : 0));
  size_t length = strlen(stem);
  if (job->is_float && length > 0 && stem[length - 1] == 'f') stem[length - 1] = 0;
  return reference_find(stem);
}

static void print_point(const struct job *job, const struct point *p) {
  const char *between = "\t";
  if (job->has_integer) printf("%sn=%ld", between, p->n), between = " ";
  for (int k = 0; k < (job->reads_array ? (int)p->n : job->arguments); k++)
    printf("%s%a", between, p->x[k]), between = " ";
}

static void print_results(const struct job *job, uint64_t points) {
  for (int k = 0; k < (job->results ? job->results : 1); k++) {
    const struct worst *w = &job->worst[k];
    printf("%d\t%llu\t%.4f", k, (unsigned long long)points, w->ulp);
    print_point(job, &w->at);
    printf("\t%a\t%a\t%.3g", w->got, w->exact, w->absolute);
    print_point(job, &w->at_absolute);
    printf("\t%ld", w->wrong);
    print_point(job, &w->at_wrong);
    printf("\n");
  }
}

int main(int count, char **words) {
  if (count != 11)
    return fprintf(stderr,
                   "usage: measure LIBRARY NAME SIGNATURE POINTS SEED WHERE LOW HIGH FIRST LAST\n"),
           2;
  struct job job = {.name = words[2], .signature = words[3]};
  read_signature(&job);
  if (job.shape == SHAPE_COUNT)
    return fprintf(stderr, "measure: signature %s is not supported\n", job.signature), 2;
  job.reference = find_reference(&job);
  void *library = dlopen(words[1], RTLD_LAZY);
  if (!library) return fprintf(stderr, "measure: %s\n", dlerror()), 2;
  job.function = dlsym(library, job.name);
  if (!job.function || !job.reference)
    return fprintf(stderr, "measure: no %s of '%s'\n", job.function ? "reference" : "definition",
                   job.name),
           3;
  job.is_power = strcmp(job.reference->name, "pow") == 0;
  job.points = strcmp(words[4], "all") == 0 ? 0 : strtoull(words[4], NULL, 10);
  job.seed = strtoull(words[5], NULL, 10);
  job.where = words[6][0];
  sscanf(words[6], "%*[a-z]:%lf:%lf", &job.bounds[0], &job.bounds[1]);
  job.low = strtod(words[7], NULL), job.high = strtod(words[8], NULL);
  job.first = strtol(words[9], NULL, 10), job.last = strtol(words[10], NULL, 10);
  for (int k = 0; k < MAX_ARGUMENTS; k++) mpfr_init2(job.in[k], DBL_MANT_DIG);
  for (int k = 0; k < MAX_RESULTS; k++) mpfr_init2(job.out[k], job.is_float ? 128 : 256);
  print_results(&job, measure_all(&job));
  return 0;
}
