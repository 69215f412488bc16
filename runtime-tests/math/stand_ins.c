/* The PTX instructions that libdevice and mathlib/ call, for this machine: measure.py renames the
 * intrinsic llvm.nvvm.NAME to ptx_NAME with '_' for '.', and gives inline assembly the names at the
 * end. Clang links this file into the module, where its functions become inline and the answers of
 * __nvvm_reflect constants.
 *
 * Exact operations have the results that the PTX ISA defines. Approximations (rcp, rsqrt, sqrt,
 * div, ex2, lg2, sin and cos) are correctly rounded here, after the flushing of subnormals that the
 * ISA states: an ideal that no GPU exceeds, so that an error measured with them is a lower bound of
 * the error on a GPU. What is not here is called by no function of functions.tsv. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static float flushed(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }
static double flushed_double(double x) {
  return fpclassify(x) == FP_SUBNORMAL ? copysign(0, x) : x;
}

/* --- exact operations ------------------------------------------------------------------- */

#define ONE(type, name, value) \
  type ptx_##name(type x);     \
  type ptx_##name(type x) { return value; }
#define TWO(type, name, value)     \
  type ptx_##name(type x, type y); \
  type ptx_##name(type x, type y) { return value; }
#define THREE(type, name, value)           \
  type ptx_##name(type x, type y, type z); \
  type ptx_##name(type x, type y, type z) { return value; }
ONE(float, fabs_f, fabsf(x))
ONE(double, fabs_d, fabs(x))
ONE(float, floor_f, floorf(x))
ONE(double, floor_d, floor(x))
ONE(float, trunc_f, truncf(x))
ONE(double, trunc_d, trunc(x))
ONE(float, round_f, rintf(x))
ONE(double, round_d, rint(x))
ONE(float, sqrt_rn_f, sqrtf(x))
ONE(double, sqrt_rn_d, sqrt(x))
ONE(float, saturate_f, x > 0 ? fminf(x, 1) : 0)
TWO(float, fmin_f, fminf(x, y))
TWO(double, fmin_d, fmin(x, y))
TWO(float, fmax_f, fmaxf(x, y))
TWO(double, fmax_d, fmax(x, y))
TWO(float, add_rn_f, x + y)
TWO(double, add_rn_d, x + y)
TWO(float, sub_rn_f, x - y)
TWO(double, sub_rn_d, x - y)
TWO(float, mul_rn_f, x *y)
TWO(double, mul_rn_d, x *y)
TWO(float, div_rn_f, x / y)
TWO(double, div_rn_d, x / y)
THREE(float, fma_rn_f, fmaf(x, y, z))
THREE(double, fma_rn_d, fma(x, y, z))

/* x y + z in another rounding mode of the processor; volatile keeps the compiler from moving it. */
static float fma_in_mode(float x, float y, float z, int mode) {
  volatile float a = x, b = y, c = z;
  int usual = fegetround();
  fesetround(mode);
  volatile float result = fmaf(a, b, c);
  fesetround(usual);
  return result;
}

/* The same without changing the mode: the product is exact in double, the sum is so in two doubles
 * (Knuth's TwoSum), and their difference from the nearest float decides. Zeros are left to the
 * processor. */
static inline float fma_rounded(float x, float y, float z, int mode) {
  double product = (double)x * y, sum = product + z, part = sum - product;
  double low = (product - (sum - part)) + (z - part), above;
  float nearest = (float)sum;
  if (nearest == 0) return fma_in_mode(x, y, z, mode);
  if (!isfinite(sum)) return nearest;
  above = (nearest - sum) - low;
  if (mode == FE_TOWARDZERO && nearest < 0) above = -above;
  if (above > 0) {
    int32_t bits;
    memcpy(&bits, &nearest, 4);
    bits += nearest < 0 && mode == FE_DOWNWARD ? 1 : -1;
    memcpy(&nearest, &bits, 4);
  }
  return nearest;
}
THREE(float, fma_rz_f, fma_rounded(x, y, z, FE_TOWARDZERO))
THREE(float, fma_rm_f, fma_rounded(x, y, z, FE_DOWNWARD))
TWO(float, add_rz_f, fma_rounded(x, 1, y, FE_TOWARDZERO))
TWO(float, mul_rz_f, fma_rounded(x, y, copysignf(0, x) * copysignf(1, y), FE_TOWARDZERO))

/* --- conversions: limited to the range of the integers, 0 for NaN ------------------------ */

static int limited(double x) {
  if (isnan(x)) return 0;
  return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (int)x;
}
#define TO_INT(type, name, value) \
  int ptx_##name(type x);         \
  int ptx_##name(type x) { return limited(value); }
TO_INT(float, f2i_rn, rintf(x))
TO_INT(float, f2i_rz, x)
TO_INT(double, d2i_rn, rint(x))
TO_INT(double, d2i_rz, x)

int ptx_d2i_hi(double x);
int ptx_d2i_hi(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return (int)(bits >> 32);
}

int ptx_d2i_lo(double x);
int ptx_d2i_lo(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return (int)bits;
}

double ptx_lohi_i2d(int low, int high);
double ptx_lohi_i2d(int low, int high) {
  uint64_t bits = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
  double x;
  memcpy(&x, &bits, 8);
  return x;
}

/* --- integers: shifts by the width and more are defined, unlike LLVM's ------------------- */

#define INTEGER(type, name, value) \
  type ptx_##name(type x, type y); \
  type ptx_##name(type x, type y) { return value; }
INTEGER(int32_t, min_i, x < y ? x : y)
INTEGER(int32_t, max_i, x > y ? x : y)
INTEGER(uint32_t, min_ui, x < y ? x : y)
INTEGER(uint64_t, min_ull, x < y ? x : y)
INTEGER(uint64_t, max_ull, x > y ? x : y)
INTEGER(uint32_t, shl_i32, y < 32 ? x << y : 0)
INTEGER(uint64_t, shl_i64, y < 64 ? x << y : 0)
INTEGER(uint32_t, lshr_i32, y < 32 ? x >> y : 0)
INTEGER(uint64_t, lshr_i64, y < 64 ? x >> y : 0)
INTEGER(int32_t, ashr_i32, x >> ((uint32_t)y < 32 ? y : 31))
INTEGER(int64_t, ashr_i64, x >> ((uint64_t)y < 64 ? y : 63))

int ptx_abs_i(int x);
int ptx_abs_i(int x) { return x < 0 ? (int)-(unsigned)x : x; }

int ptx_clz_i(uint32_t x);
int ptx_clz_i(uint32_t x) { return x ? __builtin_clz(x) : 32; }

int ptx_clz_ll(uint64_t x);
int ptx_clz_ll(uint64_t x) { return x ? __builtin_clzll(x) : 64; }

/* --- approximations ---------------------------------------------------------------------- */

#define APPROXIMATION(name, value)            \
  ONE(float, name##_approx_f, (float)(value)) \
  float ptx_##name##_approx_ftz_f(float x);   \
  float ptx_##name##_approx_ftz_f(float x) { return flushed(ptx_##name##_approx_f(flushed(x))); }
APPROXIMATION(rcp, 1 / (double)x)
APPROXIMATION(rsqrt, 1 / sqrt(x))
APPROXIMATION(sqrt, sqrt(x))
APPROXIMATION(ex2, exp2(x))
APPROXIMATION(lg2, log2(x))
APPROXIMATION(sin, sin(x))
APPROXIMATION(cos, cos(x))

/* Zero for divisors above 2^126, NaN if the dividend is infinite too. */
TWO(float, div_approx_f, fabsf(y) > 0x1p126f && isfinite(y) ? x * copysignf(0, y) : x / y)
TWO(float, div_approx_ftz_f, flushed(ptx_div_approx_f(flushed(x), flushed(y))))

/* The upper 32 bits of the operand give the upper 32 bits of the result: 21 significant ones. */
static double upper_half(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  bits &= UINT64_C(0xffffffff) << 32;
  memcpy(&x, &bits, 8);
  return x;
}
static double rounded_upper_half(double x) {
  return isfinite(x) ? upper_half(x + ldexp(copysign(1, x), ilogb(x) - 21)) : x;
}
ONE(double, rcp_approx_ftz_d, flushed_double(rounded_upper_half(1 / upper_half(flushed_double(x)))))
ONE(double, rsqrt_approx_ftz_d, rounded_upper_half(1 / sqrt(upper_half(flushed_double(x)))))
ONE(double, rsqrt_approx_d, (double)(1 / sqrtl(x)))

/* --- inline assembly of libdevice: integers of 128 bits in parts -------------------------- */

typedef unsigned __int128 wide;
static wide joined(uint64_t low, uint64_t high) { return (wide)high << 64 | low; }

wide asm_add(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
wide asm_add(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return joined(a, b) + joined(c, d); }

wide asm_subtract(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
wide asm_subtract(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return joined(a, b) - joined(c, d);
}

wide asm_multiply(uint64_t a, uint64_t b);
wide asm_multiply(uint64_t a, uint64_t b) { return (wide)a * b; }

wide asm_multiply_add(uint64_t a, uint64_t b, uint64_t c);
wide asm_multiply_add(uint64_t a, uint64_t b, uint64_t c) { return (wide)a * b + c; }

/* setp.equ and selp */
double asm_select(double x, double y, double a, double b);
double asm_select(double x, double y, double a, double b) {
  return isunordered(x, y) || x == y ? a : b;
}

/* The queries have the answers of nvmini's defaults. */
__attribute__((always_inline)) int __nvvm_reflect(const char *name);
int __nvvm_reflect(const char *name) {
  if (strcmp(name, "__CUDA_ARCH") == 0) return 900;
  return strcmp(name, "__CUDA_PREC_SQRT") == 0 || strcmp(name, "__CUDA_PREC_DIV") == 0;
}
