/* References in a floating-point type wider than that of the functions under test: NUMBER is double
 * for float (M(f) is f) and long double for double (M(f) is fl). Their errors, 2^-29 and 2^-11 of
 * the last place under test, are small enough to find the candidates for the worst case; MPFR
 * decides between those. Included twice, without an include guard. */

#define ONE(name)                                         \
  static NUMBER M(fast_##name)(const NUMBER *x, long n) { \
    (void)n;                                              \
    return M(name)(x[0]);                                 \
  }
#define TWO(name)                                         \
  static NUMBER M(fast_##name)(const NUMBER *x, long n) { \
    (void)n;                                              \
    return M(name)(x[0], x[1]);                           \
  }
LIBM_FUNCTIONS_OF_ONE(ONE)
LIBM_FUNCTIONS_OF_TWO(TWO)
#undef ONE
#undef TWO

/* sin(pi x) for any x: the reduction to [-1/2, 1/2] is exact. */
static NUMBER M(sine_of_half_turns)(NUMBER x) {
  NUMBER r = x - 2 * M(rint)(x / 2);
  if (M(fabs)(r) > (NUMBER)0.5) r = M(copysign)(1, r) - r;
  return M(sin)((NUMBER)3.14159265358979323846264338327950288L * r);
}

static NUMBER M(fast_sinpi)(const NUMBER *x, long n) {
  (void)n;
  return M(sine_of_half_turns)(x[0]);
}

static NUMBER M(fast_cospi)(const NUMBER *x, long n) {
  (void)n;
  return M(sine_of_half_turns)((NUMBER)0.5 - M(fabs)(x[0] - 2 * M(rint)(x[0] / 2)));
}

static NUMBER M(fast_rsqrt)(const NUMBER *x, long n) {
  (void)n;
  return 1 / M(sqrt)(x[0]);
}

static NUMBER M(fast_rcbrt)(const NUMBER *x, long n) {
  (void)n;
  return 1 / M(cbrt)(x[0]);
}

/* Functions of a number and an integer. */
static NUMBER M(fast_powi)(const NUMBER *x, long n) { return M(pow)(x[0], (NUMBER)n); }
static NUMBER M(fast_ldexp)(const NUMBER *x, long n) { return M(ldexp)(x[0], (int)n); }
static NUMBER M(fast_jn)(const NUMBER *x, long n) {
  return n < 0 ? (NUMBER)NAN : M(jn)((int)n, x[0]);
}
static NUMBER M(fast_yn)(const NUMBER *x, long n) {
  return n < 0 ? (NUMBER)NAN : M(yn)((int)n, x[0]);
}

static NUMBER M(fast_logb)(const NUMBER *x, long n) {
  (void)n;
  return M(logb)(x[0]);
}

static NUMBER M(fast_ilogb)(const NUMBER *x, long n) {
  (void)n;
  return M(ilogb)(x[0]);
}

/* The squares neither overflow nor underflow: NUMBER has a wider range. An infinite number decides,
 * even next to a NaN. */
static NUMBER M(root_of_squares)(const NUMBER *x, long count) {
  NUMBER sum = 0;
  for (long k = 0; k < count; k++)
    if (isinf(x[k])) return INFINITY;
  for (long k = 0; k < count; k++) sum += x[k] * x[k];
  return M(sqrt)(sum);
}

#define NORM(name, count)                                  \
  static NUMBER M(fast_##name)(const NUMBER *x, long n) {  \
    (void)n;                                               \
    return M(root_of_squares)(x, count);                   \
  }                                                        \
  static NUMBER M(fast_r##name)(const NUMBER *x, long n) { \
    (void)n;                                               \
    return 1 / M(root_of_squares)(x, count);               \
  }
NORM(norm3d, 3)
NORM(norm4d, 4)
NORM(norm, n)
#undef NORM

static NUMBER M(fast_rhypot)(const NUMBER *x, long n) {
  (void)n;
  return 1 / M(root_of_squares)(x, 2);
}

#ifdef ESTIMATES_FOR_FLOAT /* their products are too inexact for double */
static NUMBER M(fast_normcdf)(const NUMBER *x, long n) {
  (void)n;
  return M(erfc)(x[0] * (NUMBER)-0.707106781186547524400844362104849039L) / 2;
}

/* The sum of (x/2)^(2k+order) / (k! (k+order)!). */
static NUMBER M(bessel_series)(NUMBER x, int order) {
  NUMBER quarter = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term;
  if (!(M(fabs)(x) < 2000)) return order == 0 ? x * x : x;
  for (int k = 1; M(fabs)(term) > (NUMBER)1e-17 * M(fabs)(sum); k++)
    sum += term *= quarter / (k * (NUMBER)(k + order));
  return sum;
}

static NUMBER M(fast_cyl_bessel_i0)(const NUMBER *x, long n) {
  (void)n;
  return M(bessel_series)(x[0], 0);
}

static NUMBER M(fast_cyl_bessel_i1)(const NUMBER *x, long n) {
  (void)n;
  return M(bessel_series)(x[0], 1);
}

/* exp(x^2) erfc(x); for large x the asymptotic series up to its smallest term. */
static NUMBER M(fast_erfcx)(const NUMBER *x, long n) {
  (void)n;
  NUMBER v = x[0], square = v * v;
  if (v < 5) return M(exp)(square) * (1 + M(fma)(v, v, -square)) * M(erfc)(v);
  NUMBER sum = 1, term = 1;
  for (int k = 1; k < 25 && M(fabs)(term) > (NUMBER)1e-21; k++) {
    term *= -(2 * k - 1) / (2 * square);
    sum += term;
  }
  return sum / v * (NUMBER)0.564189583547756286948079451560772586L;
}
#endif

/* y > 0 with erf(y) = x for x in [0, 1/2], or erfc(y) = x for x in (0, 1/2]: an estimate
 * (Abramowitz and Stegun 26.2.23), then Halley's iteration. */
static NUMBER M(inverse_error)(NUMBER x, bool complement) {
  NUMBER p = complement ? x / 2 : (1 - x) / 2, t = M(sqrt)(-2 * M(log)(p));
  NUMBER y = t - ((NUMBER)2.515517 + t * ((NUMBER)0.802853 + t * (NUMBER)0.010328)) /
                     (1 + t * ((NUMBER)1.432788 + t * ((NUMBER)0.189269 + t * (NUMBER)0.001308)));
  y *= (NUMBER)0.70710678;
  if (!complement && x < (NUMBER)0.125) y = x * (NUMBER)0.886226925;
  for (int k = 0; k < 4; k++) {
    NUMBER miss = complement ? x - M(erfc)(y) : M(erf)(y) - x;
    NUMBER step = miss * M(exp)(y * y) * (NUMBER)0.886226925452758013649083741670572591L;
    y -= step / (1 + y * step);
  }
  return y;
}

static NUMBER M(fast_erfinv)(const NUMBER *x, long n) {
  (void)n;
  NUMBER a = M(fabs)(x[0]);
  if (!(a < 1)) return x[0] / (1 - a);
  return M(copysign)(M(inverse_error)(a <= (NUMBER)0.5 ? a : 1 - a, a > (NUMBER)0.5), x[0]);
}

static NUMBER M(fast_erfcinv)(const NUMBER *x, long n) {
  NUMBER v = x[0], rest = 1 - v;
  if (v >= (NUMBER)0.5 && v <= (NUMBER)1.5) return M(fast_erfinv)(&rest, n);
  if (!(v > 0 && v < 2)) return v == 0 || v == 2 ? rest / (NUMBER)0. : M(sqrt)(-1);
  return v < 1 ? M(inverse_error)(v, true) : -M(inverse_error)(2 - v, true);
}

static NUMBER M(fast_normcdfinv)(const NUMBER *x, long n) {
  NUMBER twice = 2 * x[0];
  return (NUMBER)-1.41421356237309504880168872420969808L * M(fast_erfcinv)(&twice, n);
}
