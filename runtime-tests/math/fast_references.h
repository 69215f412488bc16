/* References in a floating-point type wider than that of the functions under test: NUMBER is double
 * for float (M(f) is f) and long double for double (M(f) is fl). Their errors, 2^-29 and 2^-11 of
 * the last place under test, are small enough to find the candidates for the worst case; MPFR
 * decides between those. Included twice, without an include guard. */

#define FAST(name, value)                                           \
  static long M(fast_##name)(NUMBER * r, const NUMBER *x, long n) { \
    (void)n;                                                        \
    r[0] = value;                                                   \
    return 0;                                                       \
  }
#define ONE(name) FAST(name, M(name)(x[0]))
#define TWO(name) FAST(name, M(name)(x[0], x[1]))
LIBM_FUNCTIONS_OF_ONE(ONE)
LIBM_FUNCTIONS_OF_TWO(TWO)
#undef ONE
#undef TWO

FAST(rsqrt, 1 / M(sqrt)(x[0]))
FAST(rcbrt, 1 / M(cbrt)(x[0]))
FAST(powi, M(pow)(x[0], (NUMBER)n))
FAST(ldexp, M(ldexp)(x[0], (int)n))
FAST(jn, n < 0 ? (NUMBER)NAN : M(jn)((int)n, x[0]))
FAST(yn, n < 0 ? (NUMBER)NAN : M(yn)((int)n, x[0]))

/* sin(pi x) for any x: the reduction to [-1/2, 1/2] is exact. */
static NUMBER M(sine_of_half_turns)(NUMBER x) {
  NUMBER r = x - 2 * M(rint)(x / 2);
  if (M(fabs)(r) > (NUMBER)0.5) r = M(copysign)(1, r) - r;
  return M(sin)((NUMBER)3.14159265358979323846264338327950288L * r);
}

static NUMBER M(cosine_of_half_turns)(NUMBER x) {
  return M(sine_of_half_turns)((NUMBER)0.5 - M(fabs)(x - 2 * M(rint)(x / 2)));
}

/* Of an integer the sine has the sign of the argument. */
static NUMBER M(sine_of_half_turns_signed)(NUMBER x) {
  NUMBER sine = M(sine_of_half_turns)(x);
  return sine == 0 ? M(copysign)(0, x) : sine;
}

FAST(sinpi, M(sine_of_half_turns_signed)(x[0]))
FAST(cospi, M(cosine_of_half_turns)(x[0]))
FAST(sincospi, (r[1] = M(cosine_of_half_turns)(x[0]), M(sine_of_half_turns_signed)(x[0])))
FAST(sincos, (r[1] = M(cos)(x[0]), M(sin)(x[0])))

/* The squares neither overflow nor underflow: NUMBER has a wider range. An infinite number decides,
 * even next to a NaN. */
static NUMBER M(root_of_squares)(const NUMBER *x, long count) {
  NUMBER sum = 0;
  for (long k = 0; k < count; k++)
    if (isinf(x[k])) return INFINITY;
  for (long k = 0; k < count; k++) sum += x[k] * x[k];
  return M(sqrt)(sum);
}

FAST(norm3d, M(root_of_squares)(x, 3))
FAST(norm4d, M(root_of_squares)(x, 4))
FAST(norm, M(root_of_squares)(x, n))
FAST(rhypot, 1 / M(root_of_squares)(x, 2))
FAST(rnorm3d, 1 / M(root_of_squares)(x, 3))
FAST(rnorm4d, 1 / M(root_of_squares)(x, 4))
FAST(rnorm, 1 / M(root_of_squares)(x, n))

/* erfc(-x / sqrt(2)) / 2. The argument y is rounded; the slope corrects what that changes. */
static NUMBER M(normal_distribution)(NUMBER x) {
  NUMBER y = x * (NUMBER)-0.707106781186547524400844362104849039L, half = x * x / 2;
  if (!(M(fabs)(x) < 1000) || x == 0) return M(erfc)(y) / 2;
  NUMBER rest = (M(fma)(-y, y, half) + M(fma)(x, x / 2, -half)) / (2 * y);
  NUMBER slope = (NUMBER)-1.12837916709551257389615890312154517L * M(exp)(-half);
  return (M(erfc)(y) + slope * rest) / 2;
}
FAST(normcdf, M(normal_distribution)(x[0]))

/* exp(x^2) erfc(x); for large x the asymptotic series up to its smallest term. */
static NUMBER M(scaled_erfc)(NUMBER x) {
  NUMBER square = x * x, sum = 1, term = 1;
  if (x < SMALLEST_OF_ERFCX_SERIES)
    return M(exp)(square) * (1 + M(fma)(x, x, -square)) * M(erfc)(x);
  for (int k = 1; k < 25 && M(fabs)(term) > (NUMBER)1e-21; k++) {
    term *= -(2 * k - 1) / (2 * square);
    sum += term;
  }
  return sum / x * (NUMBER)0.564189583547756286948079451560772586L;
}
FAST(erfcx, M(scaled_erfc)(x[0]))

/* The modified Bessel function of the first kind: the sum of (x/2)^(2k+order) / (k! (k+order)!);
 * for large x Hankel's asymptotic series up to its smallest term. */
static NUMBER M(bessel_estimate)(NUMBER x, int order) {
  NUMBER quarter = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term, size = M(fabs)(x);
  if (!(size < 2000)) return order == 0 ? x * x : x;
  if (size < 30) {
    for (int k = 1; M(fabs)(term) > (NUMBER)1e-22 * M(fabs)(sum); k++)
      sum += term *= quarter / (k * (NUMBER)(k + order));
    return sum;
  }
  sum = term = 1;
  for (int k = 1; k < 55 && M(fabs)(term) > (NUMBER)1e-22; k++)
    sum += term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * size);
  NUMBER value =
      M(exp)(size) / M(sqrt)((NUMBER)6.28318530717958647692528676655900577L * size) * sum;
  return order == 0 ? value : M(copysign)(value, x);
}
FAST(cyl_bessel_i0, M(bessel_estimate)(x[0], 0))
FAST(cyl_bessel_i1, M(bessel_estimate)(x[0], 1))

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

static NUMBER M(erfinv)(NUMBER x) {
  NUMBER a = M(fabs)(x);
  if (!(a < 1)) return a == 1 ? x / (1 - a) : (NUMBER)NAN;
  return M(copysign)(M(inverse_error)(a <= (NUMBER)0.5 ? a : 1 - a, a > (NUMBER)0.5), x);
}

static NUMBER M(erfcinv)(NUMBER x) {
  if (x >= (NUMBER)0.5 && x <= (NUMBER)1.5) return M(erfinv)(1 - x);
  if (!(x > 0 && x < 2)) return x == 0 || x == 2 ? (1 - x) / (NUMBER)0. : (NUMBER)NAN;
  return x < 1 ? M(inverse_error)(x, true) : -M(inverse_error)(2 - x, true);
}

FAST(erfinv, M(erfinv)(x[0]))
FAST(erfcinv, M(erfcinv)(x[0]))
FAST(normcdfinv, (NUMBER)-1.41421356237309504880168872420969808L * M(erfcinv)(2 * x[0]))
#undef FAST

/* These are exact. nextafter has the digits of the type under test as n. */
#define EXACT(name, value, integer)                                 \
  static long M(fast_##name)(NUMBER * r, const NUMBER *x, long n) { \
    int i = (int)n;                                                 \
    r[0] = value;                                                   \
    return integer;                                                 \
  }
EXACT(fmod, M(fmod)(x[0], x[1]), i)
EXACT(remainder, M(remainder)(x[0], x[1]), i)
EXACT(remquo, M(remquo)(x[0], x[1], &i), i)
EXACT(frexp, M(frexp)(x[0], &i), i)
EXACT(modf, M(modf)(x[0], &r[1]), i)
EXACT(logb, M(logb)(x[0]), i)
EXACT(ilogb, 0, i = M(ilogb)(x[0]))
EXACT(nextafter,
      i == 24 ? nextafterf((float)x[0], (float)x[1]) : nextafter((double)x[0], (double)x[1]), i)
#undef EXACT
