/* What the operations compute: integers of any width in 128 bits, floats in doubles that are
   rounded by hand. See ../Inputs/reference.h. */
#include "../Inputs/reference.h"

static int width; /* of the integers, which the kernel's name ends with */

/* The low n bits of x as a signed number. */
static i128 as_signed(int n, u128 x) { return (i128)(x << (128 - n)) >> (128 - n); }

static u128 low_bits(int n) { return ~(u128)0 >> (128 - n); }

static int is_set(u128 x, int k) { return (int)(x >> k & 1); }

static u128 signed_min(int n) { return (u128)1 << (n - 1); }

static u128 saturated_add(int n, i128 s, i128 t) {
  u128 sum =
      (u128)s + (u128)t; /* beyond 128 bits too when the signs are the same and the sum's is not */
  int over = as_signed(n, sum) != (i128)sum ||
             (n == 128 && (s < 0) == (t < 0) && ((i128)sum < 0) != (s < 0));
  return !over ? sum : s < 0 ? signed_min(n) : signed_min(n) - 1;
}

static u128 saturated_subtract(int n, i128 s, i128 t) {
  u128 difference = (u128)s - (u128)t;
  int over = as_signed(n, difference) != (i128)difference ||
             (n == 128 && (s < 0) != (t < 0) && ((i128)difference < 0) != (s < 0));
  return !over ? difference : s < 0 ? signed_min(n) : signed_min(n) - 1;
}

static void put_result(int n, u128 r) {
  r &= low_bits(n);
  put((int64_t)(n <= 64 ? as_signed(n, r) : as_signed(64, r ^ r >> (n - 64))));
}

static void put_bits(const int *bits, int count) {
  int64_t x = 0;
  for (int k = 0; k < count; k++) x = x << 1 | bits[k];
  put(x);
}

static void counts(int n, u128 a) {
  int ones = 0, leading = 0, trailing = 0;
  u128 reversed = 0;
  for (int k = 0; k < n; k++) {
    ones += is_set(a, k);
    reversed |= (u128)is_set(a, k) << (n - 1 - k);
  }
  while (leading < n && !is_set(a, n - 1 - leading)) leading++;
  while (trailing < n && !is_set(a, trailing)) trailing++;
  put_result(n, (u128)ones);
  put_result(n, reversed);
  put_result(n, (u128)leading);
  put_result(n, (u128)trailing);
}

static void comparisons(int n, u128 a, u128 b) {
  i128 s = as_signed(n, a), t = as_signed(n, b);
  int bits[16] = {a == b, a != b, a > b, a >= b, a<b, a <= b, s> t, s >= t, s < t, s <= t};
  if (n > 64) {
    put_bits(bits, 10);
    return;
  }
  bits[10] = as_signed(n, (u128)(s + t)) != s + t;
  bits[11] = a + b > low_bits(n);
  bits[12] = as_signed(n, (u128)(s - t)) != s - t;
  bits[13] = a < b;
  bits[14] = as_signed(n, (u128)(s * t)) != s * t;
  bits[15] = a * b > low_bits(n);
  put_bits(bits, 16);
}

static u128 operand(int n, int64_t v) {
  u128 x = (uint64_t)v;
  return (n > 64 ? x ^ x << (n - 64) : x) & low_bits(n);
}

static void integers(const struct list *in) {
  int n = width, log2_width = 0;
  while (2 << log2_width <= n) log2_width++;
  for (int k = 0; k < in[0].count; k++) {
    u128 a = operand(n, in[0].i[k]), b = operand(n, in[1].i[k]), mask = low_bits(n);
    i128 s = as_signed(n, a), t = as_signed(n, b);
    int by = (int)(b & (((u128)1 << log2_width) - 1)), f = (int)(b % (u128)n);
    u128 d = (b & (signed_min(n) - 1)) | 1;
    u128 results[] = {a + b,
                      a - b,
                      a * b,
                      a & b,
                      a | b,
                      a ^ b,
                      a << by,
                      a >> by,
                      (u128)(s >> by),
                      a / d,
                      (u128)(s / (i128)d),
                      a % d,
                      (u128)(s % (i128)d),
                      (u128)(s < t ? s : t),
                      (u128)(s > t ? s : t),
                      a < b ? a : b,
                      a > b ? a : b,
                      saturated_add(n, s, t),
                      b > mask - a ? mask : a + b,
                      saturated_subtract(n, s, t),
                      a < b ? 0 : a - b};
    for (size_t j = 0; j < sizeof results / sizeof *results; j++) put_result(n, results[j]);
    counts(n, a);
    put_result(n, s < 0 ? -a : a);
    put_result(n, f ? a << f | b >> (n - f) : a);
    put_result(n, f ? a << (n - f) | b >> f : b);
    comparisons(n, a, b);
  }
}

struct format {
  int precision, lowest, highest;
};

static double to(struct format f, double x) { return rounded(f.precision, f.lowest, f.highest, x); }

/* x * y + z, rounded once. The product is exact in a double but for the format double; the sum is
   rounded to odd, which a second rounding to fewer bits doesn't see (Boldo and Melquiond). */
static double multiply_add(struct format f, double x, double y, double z) {
  if (f.precision == 53) return fma(x, y, z);
  double product = x * y, sum = product + z, part = sum - product;
  double rest = (product - (sum - part)) + (z - part);
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (rest != 0 && !(bits & 1)) sum = nextafter(sum, copysign(INFINITY, rest));
  return to(f, sum);
}

static double clamped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

static void put_floats(struct format f, double a, double b, double c) {
  const double row[] = {
      a + b,         a - b,          a * b,    a / b,   -a,       multiply_add(f, a, b, c),
      fabs(a),       copysign(a, b), floor(a), ceil(a), trunc(a), nearbyint(a),
      a < b ? a : b, a > b ? a : b};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) put_float(to(f, row[k]));
  if (f.precision >= 24) put_float(to(f, sqrt(fabs(a))));
  put_float(to(f, clamped(trunc(a), INT32_MIN, INT32_MAX)));
  put_float(to(f, clamped(trunc(a), 0, UINT16_MAX)));
  put_float(to(f, clamped(trunc(a), -0x1p63, 0x1p63)));
}

static void floats(struct format f, const struct list *in) {
  for (int k = 0; k < in[0].count; k++)
    put_floats(f, to(f, in[0].f[k]), to(f, in[1].f[k]), to(f, in[2].f[k]));
  next_list();
  for (int k = 0; k < in[0].count; k++) {
    double a = to(f, in[0].f[k]), b = to(f, in[1].f[k]);
    put((int64_t)clamped(a, INT32_MIN, INT32_MAX));
    put((int64_t)clamped(a, 0, UINT16_MAX));
    put(a >= 0x1p63 ? INT64_MAX : (int64_t)clamped(a, -0x1p63, 0x1p63));
    const int ordered[] = {a == b, a > b,  a >= b, a < b,
                           a <= b, a != b, 1}; /* then the unordered ones */
    const int unordered[] = {0, a == b, a > b, a >= b, a < b, a <= b, a != b};
    int bits[14];
    memcpy(bits, ordered, sizeof ordered);
    memcpy(bits + 7, unordered, sizeof unordered);
    put_bits(bits, 14);
  }
}

static void float_half(const struct list *in) { floats((struct format){11, -14, 15}, in); }
static void float_bfloat(const struct list *in) { floats((struct format){8, -126, 127}, in); }
static void float_float(const struct list *in) { floats((struct format){24, -126, 127}, in); }
static void float_double(const struct list *in) { floats((struct format){53, -1022, 1023}, in); }

/* Products of 8 by 32 numbers of 4 bits, and the differing bits of 8 by 128. */
static void wmma_bits(const struct list *in) {
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int sum = 1;
      for (int k = 0; k < 32; k++) {
        int x = (int)(in[0].i[4 * i + k / 8] >> 4 * (k % 8)) & 15;
        int y = (int)(in[1].i[4 * j + k / 8] >> 4 * (k % 8)) & 15;
        sum += (x < 8 ? x : x - 16) * (y < 8 ? y : y - 16);
      }
      put(sum);
    }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int differ = 2;
      for (int k = 0; k < 128; k++)
        differ += (in[0].i[4 * i + k / 32] ^ in[1].i[4 * j + k / 32]) >> k % 32 & 1;
      put(differ);
    }
}

/* Twice the product of i + k and k - j, as the accumulators of wgmma lie in the threads. */
static void wgmma(const struct list *in) {
  (void)in;
  for (int t = 0; t < 128; t++)
    for (int r = 0; r < 4; r++) {
      int sum = 0, i = t / 32 * 16 + t % 32 / 4 + r / 2 * 8, j = t % 4 * 2 + r % 2;
      for (int k = 0; k < 16; k++) sum += 2 * (i + k) * (k - j);
      put_float(sum);
    }
}

/* What the functions of conventions.nvir return. */
static void conventions(const struct list *in) {
  for (int k = 0; k < in[0].count; k++) {
    uint64_t x = (uint64_t)in[0].i[k], word = x & 0xffffffff;
    const uint64_t row[] = {1 - (x & 1),
                            (uint64_t)(int8_t)(x + 1),
                            (x + 1) & 0xffff,
                            x * 3 & 0x1fff,
                            x * 3 & 0x1ffffffff,
                            (uint64_t)(((u128)x * 3 & low_bits(65)) >> 1),
                            (uint64_t)((u128)x * x >> 64),
                            (x & 1023) + 1,
                            (x & 127) + 1,
                            (x & 65535) + 1,
                            word + 1,
                            x,
                            word ^ 4,
                            (x & 1023) + 3,
                            (x & 127) + 2,
                            (x + 2) & 0x1fff,
                            (word + 1) & 0xffffffff,
                            x & 0xffff,
                            (word + 7) & 0xffffffff,
                            2 * word,
                            x ^ 12345,
                            35,
                            77};
    for (size_t j = 0; j < sizeof row / sizeof *row; j++) put((int64_t)row[j]);
  }
}

static void types(const struct list *in) {
  static const int factors[] = {3, -5, 7, -9};
  for (int k = 0; k < in[0].count; k++) {
    uint64_t x = (uint64_t)in[0].i[k], chosen = 0;
    int16_t lanes[4];
    for (int j = 0; j < 4; j++) {
      lanes[j] = (int16_t)(x >> 16 * j);
      int16_t product = (int16_t)(lanes[j] * factors[j]);
      chosen |= (uint64_t)((uint16_t)(lanes[j] > product ? lanes[j] : product) >> (j + 1))
                << 16 * j;
    }
    put((int64_t)chosen);
    put((int64_t)((x + 1) * (x + 1) ^ (x - 1) * (x - 1)));
    put((lanes[2] & 15) * 4 + (lanes[3] & 15) * 5);
    put((int64_t)as_signed(33, x + 0x100000000));
    put((int64_t)(x & ~(uint64_t)3));
    put((int64_t)(((uint16_t)lanes[1] + (x & 0xffffff)) ^ x));
    put(3);
    put(-1);
  }
}

int main(int count, char **words) {
  static const struct reference table[] = {{"int_i", integers, 2},
                                           {"float_half", float_half, 3},
                                           {"float_bfloat", float_bfloat, 3},
                                           {"float_float", float_float, 3},
                                           {"float_double", float_double, 3},
                                           {"wmma_bits", wmma_bits, 2},
                                           {"wgmma", wgmma, 0},
                                           {"conventions", conventions, 1},
                                           {"types", types, 1}};
  if (count == 2 && sscanf(words[1], "int_i%d", &width) == 1 && width >= 2 && width <= 128)
    words[1][strlen("int_i")] = 0;
  return reference_main(count, words, table, sizeof table / sizeof *table);
}
