/* Elementary functions by argument reduction and Taylor series. Sine and cosine multiply the
 * argument's significand by 320 bits of 2/pi and keep the product modulo 4 (Payne and Hanek, 1983),
 * so that huge arguments are as exact as small ones. */
#include "sim/machine/special.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

static const double ln2 = 0x1.62e42fefa39efp-1, log2_e = 0x1.71547652b82fep+0,
                    half_pi = 0x1.921fb54442d18p+0;

static double infinity(void) { return special_double(UINT64_C(0x7ff0000000000000)); }
static double not_a_number(void) { return special_double(UINT64_C(0x7ff8000000000000)); }
static bool is_finite(double x) { return x - x == 0; }

/* 2^n for -1022 <= n <= 1023. */
static double power_of_2(int n) { return special_double((uint64_t)(n + 1023) << 52); }

/* y + y^2/2! + y^3/3! … */
static double exponential_less_1(double y) {
  double sum = 0;
  for (int k = 16; k >= 1; k--) sum = (sum + 1) * y / k;
  return sum;
}

double special_exp2(double x) {
  if (x != x) return x;
  if (x > 1000) return infinity();
  if (x < -1000) return 0;
  int n = (int)(x < 0 ? x - 0.5 : x + 0.5);
  return (exponential_less_1((x - n) * ln2) + 1) * power_of_2(n);
}

double special_log2(double x) {
  if (x != x || x < 0) return not_a_number();
  if (x == 0) return -infinity();
  if (!is_finite(x)) return x;
  uint64_t bits = special_bits(x);
  int exponent = (int)(bits >> 52) - 1023;
  double m = special_double((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
  if (m > 1.4142135623730951) m /= 2, exponent++;
  double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return exponent + 2 * t * sum * log2_e;
}

double special_tanh(double x) {
  if (x != x) return x;
  if (x > 30) return 1;
  if (x < -30) return -1;
  double e = x < 0.35 && x > -0.35 ? exponential_less_1(2 * x) : special_exp2(2 * x * log2_e) - 1;
  return x == 0 ? x : e / (e + 2);
}

/* --- sine and cosine -------------------------------------------------------------------------- */

/* x modulo pi/2, nearest to zero; *quadrant: the multiple of pi/2 subtracted, modulo 4. */
static double reduce(double x, unsigned *quadrant) {
  static const uint64_t two_over_pi[5] = {
      /* times 2^320, lowest word first */
      UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0xfe5163abdebbc561), UINT64_C(0xdb6295993c439041),
      UINT64_C(0xfc2757d1f534ddc0), UINT64_C(0xa2f9836e4e441529)};
  *quadrant = 0;
  if (x < 0.78 && x > -0.78) return x;
  uint64_t bits = special_bits(x);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023 - 23; /* of the 24-bit significand */
  uint64_t significand = (bits >> 29 & 0x7fffff) | 0x800000;
  uint64_t product[7] = {0};
  uint64_t carry = 0;
  for (int i = 0; i < 5; i++) {
    u128 p = (u128)two_over_pi[i] * significand + carry;
    product[i] = (uint64_t)p;
    carry = (uint64_t)(p >> 64);
  }
  product[5] = carry;
  int shift = 320 - exponent - 126; /* leaves 126 bits below the point */
  int word = shift / 64, rest = shift % 64;
  u128 low = (u128)product[word + 1] << 64 | product[word];
  u128 window = rest ? low >> rest | (u128)product[word + 2] << (128 - rest) : low;
  u128 rounded = window + ((u128)1 << 125);
  *quadrant = (unsigned)(rounded >> 126);
  s128 fraction = (s128)(window - ((u128)*quadrant << 126)); /* modulo 4, nearest to zero */
  double r = (double)fraction * 0x1p-126 * half_pi;
  if (x > 0) return r;
  *quadrant = (4 - *quadrant) & 3;
  return -r;
}

static double sine_series(double x) {
  double x2 = x * x, sum = 0;
  for (int k = 19; k >= 3; k -= 2) sum = -(sum + 1) * x2 / (k * (k - 1));
  return x + x * sum;
}
static double cosine_series(double x) {
  double x2 = x * x, sum = 0;
  for (int k = 20; k >= 2; k -= 2) sum = -(sum + 1) * x2 / (k * (k - 1));
  return 1 + sum;
}

static double by_quadrant(double r, unsigned quadrant) {
  switch (quadrant & 3) {
    case 0: return sine_series(r);
    case 1: return cosine_series(r);
    case 2: return -sine_series(r);
    default: return -cosine_series(r);
  }
}

double special_sin(double x) {
  unsigned quadrant;
  if (!is_finite(x)) return not_a_number();
  double r = reduce(x, &quadrant);
  return by_quadrant(r, quadrant);
}

double special_cos(double x) {
  unsigned quadrant;
  if (!is_finite(x)) return not_a_number();
  double r = reduce(x, &quadrant);
  return by_quadrant(r, quadrant + 1);
}

/* --- fused multiply-add ----------------------------------------------------------------------- */

/* The product is exact in a double; the sum is rounded to odd, so that rounding it again to a float
 * gives the same as rounding once (Boldo and Melquiond, 2008). */
float special_fmaf(float a, float b, float c) {
  double p = (double)a * b, s = p + c;
  if (!is_finite(s)) return (float)s;
  double back = s - p, error = (p - (s - back)) + (c - back);
  if (error != 0 && (special_bits(s) & 1) == 0) {
    uint64_t bits = special_bits(s);
    s = special_double((error > 0) == (s > 0) ? bits + 1 : bits - 1);
  }
  return (float)s;
}

bool special_host_is_ieee(void) {
  volatile double one = 1, tiny = 0x1p-80, least = 0x1p-1022;
  volatile float ten = 10, three = 3;
  return one + tiny == one && -one - tiny == -one && one - tiny == one && least / 2 != 0 &&
         sizeof(ten / three) == sizeof(float);
}
