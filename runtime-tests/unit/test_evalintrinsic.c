/* ir/evalintrinsic.h: integers of 1 to 8 bits exhaustively against plain arithmetic, floats and the
 * forms of PTX against the host's, vectors, poison; and that what is not exact is left alone. */
#include <fenv.h>
#include <math.h>

#include "ir_fixture.h"

#include "ir/evalfloat.h"
#include "ir/evalintrinsic.h"

static enum intrinsic_id id_of(const char *name) {
  enum intrinsic_id id = intrinsic_find(name, strlen(name));
  if (id == INTRINSIC_NONE) fail_msg("no intrinsic %s", name);
  return id;
}

/* --- integers -----------------------------------------------------------------------------------
 */

/* The result for width w, -1: poison. Operands are unsigned; sa and sb the same as signed numbers.
 */
typedef int reference(int w, int a, int b, int sa, int sb);

static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
static int r_smin(int w, int a, int b, int sa, int sb) {
  (void)w;
  return sa < sb ? a : b;
}
static int r_smax(int w, int a, int b, int sa, int sb) {
  (void)w;
  return sa > sb ? a : b;
}
static int r_umin(int w, int a, int b, int sa, int sb) {
  (void)w, (void)sa, (void)sb;
  return a < b ? a : b;
}
static int r_umax(int w, int a, int b, int sa, int sb) {
  (void)w, (void)sa, (void)sb;
  return a > b ? a : b;
}
static int r_sadd(int w, int a, int b, int sa, int sb) {
  (void)a, (void)b;
  return clamp(sa + sb, -(1 << w) / 2, (1 << w) / 2 - 1);
}
static int r_ssub(int w, int a, int b, int sa, int sb) {
  (void)a, (void)b;
  return clamp(sa - sb, -(1 << w) / 2, (1 << w) / 2 - 1);
}
static int r_uadd(int w, int a, int b, int sa, int sb) {
  (void)sa, (void)sb;
  return clamp(a + b, 0, (1 << w) - 1);
}
static int r_usub(int w, int a, int b, int sa, int sb) {
  (void)w, (void)sa, (void)sb;
  return clamp(a - b, 0, a);
}
static int r_ushl(int w, int a, int b, int sa, int sb) {
  (void)sa, (void)sb;
  return clamp(a << b, 0, (1 << w) - 1);
}
static int r_sshl(int w, int a, int b, int sa, int sb) {
  (void)a;
  return clamp(sa * (1 << b), -(1 << w) / 2, (1 << w) / 2 - 1) + 0 * sb;
}

static const struct {
  const char *name;
  reference *is;
  bool shifts;
} int_cases[] = {
    {"llvm.smin", r_smin, false},     {"llvm.smax", r_smax, false},
    {"llvm.umin", r_umin, false},     {"llvm.umax", r_umax, false},
    {"llvm.sadd.sat", r_sadd, false}, {"llvm.ssub.sat", r_ssub, false},
    {"llvm.uadd.sat", r_uadd, false}, {"llvm.usub.sat", r_usub, false},
    {"llvm.ushl.sat", r_ushl, true},  {"llvm.sshl.sat", r_sshl, true},
};

static const struct {
  const char *name;
  int what; /* 0: a + b, 1: a - b, 2: a * b */
  bool is_signed;
} overflow_cases[] = {
    {"llvm.sadd.with.overflow", 0, true}, {"llvm.uadd.with.overflow", 0, false},
    {"llvm.ssub.with.overflow", 1, true}, {"llvm.usub.with.overflow", 1, false},
    {"llvm.smul.with.overflow", 2, true}, {"llvm.umul.with.overflow", 2, false},
};

static bool lane(const struct nvm_module *m, enum intrinsic_id id, struct nvm_type to,
                 struct nvm_type from, nvm_u128 a, nvm_u128 b, nvm_u128 c, uint32_t count,
                 struct eval_lane out[2]) {
  struct eval_lane in[3] = {{a, false}, {b, false}, {c, false}};
  return eval_intrinsic_lane(m, id, 0, to, from, in, count, out);
}

static void check_two(const struct nvm_module *m, const enum intrinsic_id *ids,
                      const enum intrinsic_id *overflow_ids, struct nvm_type type, int w, int a,
                      int b) {
  int mask = (1 << w) - 1, sa = a << 1 & ~mask ? a - (1 << w) : a,
      sb = b << 1 & ~mask ? b - (1 << w) : b;
  struct eval_lane out[2];
  for (size_t i = 0; i < sizeof int_cases / sizeof int_cases[0]; i++) {
    if (!lane(m, ids[i], type, type, (unsigned)a, (unsigned)b, 0, 2, out))
      fail_msg("%s", int_cases[i].name);
    bool poison = int_cases[i].shifts && b >= w;
    int want = poison ? 0 : int_cases[i].is(w, a, b, sa, sb) & mask;
    if (out[0].poison != poison || (!poison && out[0].bits != (unsigned)want))
      fail_msg("%s i%d %d, %d: %d", int_cases[i].name, w, a, b, (int)out[0].bits);
  }
  for (size_t i = 0; i < sizeof overflow_cases / sizeof overflow_cases[0]; i++) {
    bool s = overflow_cases[i].is_signed;
    int x = s ? sa : a, y = s ? sb : b, what = overflow_cases[i].what;
    int exact = what == 0 ? x + y : what == 1 ? x - y : x * y;
    bool over = s ? exact < -(1 << w) / 2 || exact >= (1 << w) / 2 : exact < 0 || exact > mask;
    assert_true(lane(m, overflow_ids[i], type, type, (unsigned)a, (unsigned)b, 0, 2, out));
    if (out[0].poison || out[0].bits != (unsigned)(exact & mask) || out[1].bits != over)
      fail_msg("%s i%d %d, %d", overflow_cases[i].name, w, a, b);
  }
  assert_true(lane(m, INTRINSIC_scmp, TYPE_I8, type, (unsigned)a, (unsigned)b, 0, 2, out));
  assert_int_equal(out[0].bits, (sa < sb ? -1 : sa > sb) & 0xff);
  assert_true(lane(m, INTRINSIC_ucmp, TYPE_I8, type, (unsigned)a, (unsigned)b, 0, 2, out));
  assert_int_equal(out[0].bits, (a < b ? -1 : a > b) & 0xff);
  for (int c = 0; c <= mask && c < 2 * w;
       c++) { /* a pair of words turned left, one bit at a time */
    unsigned pair = (unsigned)a << w | (unsigned)b, n = (unsigned)c % (unsigned)w;
    assert_true(lane(m, INTRINSIC_fshl, type, type, (unsigned)a, (unsigned)b, (unsigned)c, 3, out));
    assert_int_equal(out[0].bits, (pair << n) >> w & (unsigned)mask);
    assert_true(lane(m, INTRINSIC_fshr, type, type, (unsigned)a, (unsigned)b, (unsigned)c, 3, out));
    assert_int_equal(out[0].bits, pair >> n & (unsigned)mask);
  }
}

static void check_one(const struct nvm_module *m, struct nvm_type type, int w, unsigned a) {
  unsigned ones = 0, leading = 0, trailing = 0, reversed = 0, mask = (1u << w) - 1;
  for (int i = 0; i < w; i++) {
    bool bit = a >> i & 1;
    ones += bit;
    leading = bit ? 0 : leading + 1;
    if (!bit && trailing == (unsigned)i) trailing++;
    reversed = reversed << 1 | bit;
  }
  struct eval_lane out[2];
  for (unsigned flag = 0; flag < 2; flag++) {
    assert_true(lane(m, INTRINSIC_ctlz, type, type, a, flag, 0, 2, out));
    assert_true(out[0].poison == (flag && a == 0) && out[0].bits == (leading & mask));
    assert_true(lane(m, INTRINSIC_cttz, type, type, a, flag, 0, 2, out));
    assert_true(out[0].poison == (flag && a == 0) && out[0].bits == (trailing & mask));
    bool lowest = a == 1u << (w - 1);
    assert_true(lane(m, INTRINSIC_abs, type, type, a, flag, 0, 2, out));
    assert_true(out[0].poison == (flag && lowest) &&
                out[0].bits == (a >> (w - 1) ? (0 - a) & mask : a));
  }
  assert_true(lane(m, INTRINSIC_ctpop, type, type, a, 0, 0, 1, out) &&
              out[0].bits == (ones & mask));
  assert_true(lane(m, INTRINSIC_bitreverse, type, type, a, 0, 0, 1, out) &&
              out[0].bits == reversed);
}

static void small_integers_exhaustively(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  enum intrinsic_id ids[16], overflow_ids[8];
  for (size_t i = 0; i < sizeof int_cases / sizeof int_cases[0]; i++)
    ids[i] = id_of(int_cases[i].name);
  for (size_t i = 0; i < sizeof overflow_cases / sizeof overflow_cases[0]; i++)
    overflow_ids[i] = id_of(overflow_cases[i].name);
  for (int w = 1; w <= 8; w++) {
    struct nvm_type type = type_int(&m->types, (uint32_t)w);
    for (int a = 0; a < 1 << w; a++) {
      check_one(m, type, w, (unsigned)a);
      for (int b = 0; b < 1 << w; b++) check_two(m, ids, overflow_ids, type, w, a, b);
    }
  }
  for (unsigned a = 0; a < 0x10000; a++) { /* of 16 bits: what has one operand */
    struct eval_lane out[2];
    check_one(m, TYPE_I16, 16, a);
    assert_true(lane(m, INTRINSIC_bswap, TYPE_I16, TYPE_I16, a, 0, 0, 1, out) &&
                out[0].bits == (a >> 8 | (a << 8 & 0xff00)));
  }
  module_destroy(m);
}

static void wide_integers(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_type i128 = TYPE_I128, i100 = type_int(&m->types, 100);
  nvm_u128 top = (nvm_u128)1 << 127, all = ~(nvm_u128)0;
  struct eval_lane out[2];
  assert_true(lane(m, INTRINSIC_smul_with_overflow, i128, i128, top, all, 0, 2, out) &&
              out[1].bits == 1 && out[0].bits == top);
  assert_true(lane(m, INTRINSIC_umul_with_overflow, i128, i128, top, 2, 0, 2, out) &&
              out[1].bits == 1 && out[0].bits == 0);
  assert_true(lane(m, INTRINSIC_umul_with_overflow, i128, i128, top, 1, 0, 2, out) &&
              out[1].bits == 0);
  assert_true(lane(m, INTRINSIC_sadd_sat, i128, i128, top, all, 0, 2, out) && out[0].bits == top);
  assert_true(lane(m, INTRINSIC_uadd_sat, i128, i128, top, top, 0, 2, out) && out[0].bits == all);
  assert_true(lane(m, INTRINSIC_ctlz, i128, i128, 1, 0, 0, 2, out) && out[0].bits == 127);
  assert_true(lane(m, INTRINSIC_ctpop, i100, i100, eval_mask(100), 0, 0, 1, out) &&
              out[0].bits == 100);
  assert_true(lane(m, INTRINSIC_fshl, i128, i128, 1, top, 129, 3, out) && out[0].bits == 3);
  assert_true(lane(m, INTRINSIC_bswap, TYPE_I32, TYPE_I32, 0x01020304, 0, 0, 1, out) &&
              out[0].bits == 0x04030201);
  assert_true(lane(m, INTRINSIC_bswap, i128, i128, 0xff, 0, 0, 1, out) &&
              out[0].bits == (nvm_u128)0xff << 120);
  assert_true(lane(m, INTRINSIC_bswap, TYPE_I16, TYPE_I16, 0x1234, 0, 0, 1, out) &&
              out[0].bits == 0x3412);
  module_destroy(m);
}

/* --- floats -------------------------------------------------------------------------------------
 */

static uint64_t bits_of(double f) {
  uint64_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? UINT64_C(0x7ff8000000000000) : b;
}
static uint64_t bits_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}

static const double numbers[] = {
    0.0,  -0.0, 0.25,   0.5,    -0.5,     1,         -1,        1.5,      2.5,       -2.5,
    3.75, 1e10, -1e300, 0x1p52, 0x1.8p51, 0x1p-1074, 0x1p-1022, INFINITY, -INFINITY, NAN};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static double away(double x) { return round(x); }
static double (*volatile host_sqrt)(double) = sqrt;

static void doubles_as_the_host(void **unused) {
  (void)unused;
  static const struct {
    enum intrinsic_id id;
    double (*host)(double);
  } one[] = {
      {INTRINSIC_fabs, fabs},          {INTRINSIC_floor, floor},
      {INTRINSIC_ceil, ceil},          {INTRINSIC_trunc, trunc},
      {INTRINSIC_rint, nearbyint},     {INTRINSIC_nearbyint, nearbyint},
      {INTRINSIC_round, away},         {INTRINSIC_roundeven, nearbyint},
      {INTRINSIC_nvvm_floor_d, floor}, {INTRINSIC_nvvm_ceil_d, ceil},
      {INTRINSIC_nvvm_trunc_d, trunc}, {INTRINSIC_nvvm_round_d, nearbyint},
      {INTRINSIC_nvvm_fabs_d, fabs},
  };
  static const struct {
    enum intrinsic_id id;
    double (*host)(double, double);
  } two[] = {
      {INTRINSIC_copysign, copysign}, {INTRINSIC_minnum, fmin},      {INTRINSIC_maxnum, fmax},
      {INTRINSIC_nvvm_fmin_d, fmin},  {INTRINSIC_nvvm_fmax_d, fmax},
  };
  struct nvm_module *m = new_module();
  struct eval_lane out[2];
  for (int i = 0; i < NUMBERS; i++) {
    double x = numbers[i];
    for (size_t k = 0; k < sizeof one / sizeof one[0]; k++) {
      assert_true(lane(m, one[k].id, TYPE_DOUBLE, TYPE_DOUBLE, bits_of(x), 0, 0, 1, out));
      assert_int_equal(out[0].bits, bits_of(one[k].host(x)));
    }
    assert_true(lane(m, INTRINSIC_sqrt, TYPE_DOUBLE, TYPE_DOUBLE, bits_of(x), 0, 0, 1, out));
    assert_int_equal(out[0].bits, bits_of(host_sqrt(x)));
    for (int k = -3; k < 3; k++) {
      assert_true(lane(m, INTRINSIC_ldexp, TYPE_DOUBLE, TYPE_DOUBLE, bits_of(x),
                       (uint32_t)(k * 700), 0, 2, out));
      assert_int_equal(out[0].bits, bits_of(ldexp(x, k * 700)));
    }
    for (int j = 0; j < NUMBERS; j++) {
      double y = numbers[j];
      for (size_t k = 0; k < sizeof two / sizeof two[0]; k++) {
        /* Zeros: the host takes any; the sign of a NaN: bits_of drops it. */
        if (k > 0 ? x == y : x != x) continue;
        assert_true(
            lane(m, two[k].id, TYPE_DOUBLE, TYPE_DOUBLE, bits_of(x), bits_of(y), 0, 2, out));
        assert_int_equal(out[0].bits, bits_of(two[k].host(x, y)));
      }
      for (int k = 0; k < NUMBERS; k++) {
        assert_true(lane(m, k & 1 ? INTRINSIC_fma : INTRINSIC_fmuladd, TYPE_DOUBLE, TYPE_DOUBLE,
                         bits_of(x), bits_of(y), bits_of(numbers[k]), 3, out));
        assert_int_equal(out[0].bits, bits_of(fma(x, y, numbers[k])));
      }
    }
  }
  assert_true(lane(m, INTRINSIC_minnum, TYPE_FLOAT, TYPE_FLOAT, 0, 0x80000000, 0, 2, out) &&
              out[0].bits == 0x80000000);
  assert_true(lane(m, INTRINSIC_minimum, TYPE_FLOAT, TYPE_FLOAT, 0x7fc00000, 0, 0, 2, out) &&
              out[0].bits == 0x7fffffff);
  assert_true(lane(m, INTRINSIC_maximum, TYPE_FLOAT, TYPE_FLOAT, 0, 0x80000000, 0, 2, out) &&
              out[0].bits == 0);
  assert_true(lane(m, INTRINSIC_fabs, TYPE_HALF, TYPE_HALF, 0xfe01, 0, 0, 1, out) &&
              out[0].bits == 0x7e01);
  module_destroy(m);
}

static void classes(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  static const uint32_t of_half[] = {0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001,
                                     0x8000, 0,      1,      0x3c00, 0x7c00};
  struct eval_lane out[2];
  for (int i = 0; i < 10; i++)
    for (int k = 0; k < 10; k++) {
      assert_true(
          lane(m, INTRINSIC_is_fpclass, TYPE_I1, TYPE_HALF, of_half[i], 1u << k, 0, 2, out));
      assert_int_equal(out[0].bits, i == k);
    }
  module_destroy(m);
}

static void to_integers(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct eval_lane out[2];
  assert_true(lane(m, INTRINSIC_lrint, TYPE_I32, TYPE_DOUBLE, bits_of(-2.5), 0, 0, 1, out) &&
              out[0].bits == 0xfffffffe);
  assert_true(lane(m, INTRINSIC_lround, TYPE_I32, TYPE_DOUBLE, bits_of(-2.5), 0, 0, 1, out) &&
              out[0].bits == 0xfffffffd);
  assert_false(lane(m, INTRINSIC_lrint, TYPE_I32, TYPE_DOUBLE, bits_of(1e10), 0, 0, 1, out));
  assert_true(lane(m, INTRINSIC_fptosi_sat, TYPE_I8, TYPE_DOUBLE, bits_of(-1e10), 0, 0, 1, out) &&
              out[0].bits == 0x80);
  assert_true(lane(m, INTRINSIC_fptoui_sat, TYPE_I8, TYPE_DOUBLE, bits_of(1e10), 0, 0, 1, out) &&
              out[0].bits == 0xff);
  assert_true(
      lane(m, INTRINSIC_fptoui_sat, TYPE_I128, TYPE_DOUBLE, bits_of(0x1p127), 0, 0, 1, out) &&
      out[0].bits == (nvm_u128)1 << 127);
  assert_true(lane(m, INTRINSIC_fptosi_sat, TYPE_I8, TYPE_DOUBLE, bits_of(NAN), 0, 0, 1, out) &&
              out[0].bits == 0);
  assert_true(lane(m, INTRINSIC_convert_from_fp16, TYPE_FLOAT, TYPE_I16, 0x3c00, 0, 0, 1, out) &&
              out[0].bits == 0x3f800000);
  assert_true(lane(m, INTRINSIC_convert_to_fp16, TYPE_I16, TYPE_FLOAT, 0x3f800000, 0, 0, 1, out) &&
              out[0].bits == 0x3c00);
  module_destroy(m);
}

/* --- forms of PTX -------------------------------------------------------------------------------
 */

static void directed_arithmetic(void **unused) {
  (void)unused;
  static const struct {
    const char *suffix;
    int mode;
  } direction[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  static const char *const op[] = {"add", "sub", "mul", "div", "rcp", "sqrt"};
  struct nvm_module *m = new_module();
  for (int d = 0; d < 4; d++)
    for (int o = 0; o < 6; o++)
      for (int i = 0; i < NUMBERS * NUMBERS; i++) {
        char name[64];
        volatile double x = numbers[i / NUMBERS], y = numbers[i % NUMBERS], r;
        volatile float u = (float)x, v = (float)y, s;
        fesetround(direction[d].mode);
        r = o == 0   ? x + y
            : o == 1 ? x - y
            : o == 2 ? x * y
            : o == 3 ? x / y
            : o == 4 ? 1 / x
                     : host_sqrt(x);
        s = o == 0   ? u + v
            : o == 1 ? u - v
            : o == 2 ? u * v
            : o == 3 ? u / v
            : o == 4 ? 1 / u
                     : sqrtf(u);
        fesetround(FE_TONEAREST);
        struct eval_lane out[2];
        snprintf(name, sizeof name, "llvm.nvvm.%s.%s.d", op[o], direction[d].suffix);
        assert_true(lane(m, id_of(name), TYPE_DOUBLE, TYPE_DOUBLE, bits_of(x), bits_of(y), 0,
                         o < 4 ? 2 : 1, out));
        assert_int_equal(out[0].bits, bits_of(r));
        snprintf(name, sizeof name, "llvm.nvvm.%s.%s.f", op[o], direction[d].suffix);
        assert_true(lane(m, id_of(name), TYPE_FLOAT, TYPE_FLOAT, bits_of_float(u), bits_of_float(v),
                         0, o < 4 ? 2 : 1, out));
        assert_int_equal(out[0].bits, bits_of_float(s));
      }
  module_destroy(m);
}

static const struct form_case {
  const char *name;
  char to, from; /* h b f d: formats; s i l: 16, 32, 64 bits */
  uint64_t want;
  int count;
  uint64_t in[3];
} forms[] = {
    /* Subnormals go in and out as zeros of their sign. */
    {"llvm.nvvm.add.rn.ftz.f", 'f', 'f', 0x00800000, 2, {0x00800000, 0x007fffff}},
    {"llvm.nvvm.mul.rn.ftz.f", 'f', 'f', 0x80000000, 2, {0x80800000, 0x3f000000}},
    {"llvm.nvvm.mul.rn.f", 'f', 'f', 0x80400000, 2, {0x80800000, 0x3f000000}},
    {"llvm.nvvm.div.rn.ftz.f", 'f', 'f', 0x7f800000, 2, {0x3f800000, 0x00000001}},
    {"llvm.nvvm.sqrt.rn.ftz.f", 'f', 'f', 0, 1, {1}},
    {"llvm.nvvm.fabs.ftz.f", 'f', 'f', 0, 1, {0x80000001}},
    {"llvm.nvvm.fma.rn.ftz.f16", 'h', 'h', 0, 3, {1, 0x3c00, 0}},
    /* To the interval from 0 to 1; NaN is 0. */
    {"llvm.nvvm.add.rn.sat.f", 'f', 'f', 0x3f800000, 2, {0x40000000, 0x40000000}},
    {"llvm.nvvm.fma.rn.sat.f", 'f', 'f', 0, 3, {0x7fc00000, 0x3f800000, 0x3f800000}},
    {"llvm.nvvm.saturate.f", 'f', 'f', 0, 1, {0x80000001}},
    {"llvm.nvvm.saturate.d", 'd', 'd', 0x3fe0000000000000, 1, {0x3fe0000000000000}},
    {"llvm.nvvm.fma.rn.relu.bf16", 's', 's', 0, 3, {0x3f80, 0xbf80, 0}},
    {"llvm.nvvm.fma.rn.relu.bf16", 's', 's', 0x3f80, 3, {0x3f80, 0x3f80, 0}},
    {"llvm.nvvm.fma.rn.relu.f16", 'h', 'h', 0x7fff, 3, {0xfe00, 0x3c00, 0}},
    /* Minimum and maximum. */
    {"llvm.nvvm.fmin.f", 'f', 'f', 0x3f800000, 2, {0x7fc00000, 0x3f800000}},
    {"llvm.nvvm.fmin.nan.f", 'f', 'f', 0x7fffffff, 2, {0x7fc00000, 0x3f800000}},
    {"llvm.nvvm.fmax.ftz.f", 'f', 'f', 0, 2, {1, 0x80000000}},
    {"llvm.nvvm.fmax.xorsign.abs.f", 'f', 'f', 0xc0000000, 2, {0xc0000000, 0x3f800000}},
    {"llvm.nvvm.fmin.bf16", 'b', 'b', 0x3f80, 2, {0x3f80, 0x4000}},
    {"llvm.nvvm.neg.bf16", 's', 's', 0xbf80, 1, {0x3f80}},
    {"llvm.nvvm.min.i", 'i', 'i', 0xffffffff, 2, {1, 0xffffffff}},
    {"llvm.nvvm.min.ui", 'i', 'i', 1, 2, {1, 0xffffffff}},
    {"llvm.nvvm.max.ll", 'l', 'l', 1, 2, {1, UINT64_MAX}},
    {"llvm.nvvm.max.us", 's', 's', 0xffff, 2, {1, 0xffff}},
    /* Integers. */
    {"llvm.nvvm.mulhi.i", 'i', 'i', 0xffffffff, 2, {0xffffffff, 5}},
    {"llvm.nvvm.mulhi.ui", 'i', 'i', 4, 2, {0xffffffff, 5}},
    {"llvm.nvvm.mulhi.ull", 'l', 'l', UINT64_MAX - 1, 2, {UINT64_MAX, UINT64_MAX}},
    {"llvm.nvvm.mulhi.ll", 'l', 'l', 0, 2, {UINT64_MAX, UINT64_MAX}},
    {"llvm.nvvm.mul24.i", 'i', 'i', 0xfffffffe, 2, {0xabffffff, 2}},
    {"llvm.nvvm.mul24.ui", 'i', 'i', 0x01fffffe, 2, {0xabffffff, 2}},
    {"llvm.nvvm.sad.i", 'i', 'i', 13, 3, {0xffffffff, 2, 10}},
    {"llvm.nvvm.sad.ui", 'i', 'i', 7, 3, {0xffffffff, 2, 10}},
    {"llvm.nvvm.abs.i", 'i', 'i', 5, 1, {0xfffffffb}},
    {"llvm.nvvm.clz.ll", 'i', 'l', 63, 1, {1}},
    {"llvm.nvvm.popc.ll", 'i', 'l', 64, 1, {UINT64_MAX}},
    {"llvm.nvvm.brev32", 'i', 'i', 0x80000000, 1, {1}},
    {"llvm.nvvm.prmt", 'i', 'i', 0x44332211, 3, {0x11223344, 0, 0x0123}},
    {"llvm.nvvm.rotate.b32", 'i', 'i', 3, 2, {0x80000001, 33}},
    {"llvm.nvvm.rotate.b64", 'l', 'l', 3, 2, {UINT64_C(0x8000000000000001), 1}},
    {"llvm.nvvm.rotate.right.b64", 'l', 'l', UINT64_C(0x8000000000000000), 2, {1, 1}},
    {"llvm.nvvm.swap.lo.hi.b64",
     'l',
     'l',
     UINT64_C(0x0000000200000001),
     1,
     {UINT64_C(0x0000000100000002)}},
    /* Conversions: out of range to the nearest, NaN to 0, or the highest bit beside 64 bits. */
    {"llvm.nvvm.f2i.rn", 'i', 'f', 2, 1, {0x40200000}},
    {"llvm.nvvm.f2i.rp", 'i', 'f', 3, 1, {0x40200000}},
    {"llvm.nvvm.f2i.rz", 'i', 'f', 0x7fffffff, 1, {0x7f800000}},
    {"llvm.nvvm.f2ui.rz", 'i', 'f', 0, 1, {0xc0a00000}},
    {"llvm.nvvm.f2i.rp.ftz", 'i', 'f', 0, 1, {1}},
    {"llvm.nvvm.f2i.rp", 'i', 'f', 1, 1, {1}},
    {"llvm.nvvm.f2i.rz", 'i', 'f', 0, 1, {0x7fc00000}},
    {"llvm.nvvm.f2ll.rz", 'l', 'f', UINT64_C(0x8000000000000000), 1, {0x7fc00000}},
    {"llvm.nvvm.d2i.rz", 'i', 'd', 0x80000000, 1, {UINT64_C(0x7ff8000000000000)}},
    {"llvm.nvvm.d2ui.rm", 'i', 'd', 2, 1, {UINT64_C(0x4004000000000000)}},
    {"llvm.nvvm.i2f.rz", 'f', 'i', 0x4effffff, 1, {0x7fffffff}},
    {"llvm.nvvm.ui2f.rn", 'f', 'i', 0x4f800000, 1, {0xffffffff}},
    {"llvm.nvvm.ull2d.rm", 'd', 'l', UINT64_C(0x43efffffffffffff), 1, {UINT64_MAX}},
    {"llvm.nvvm.d2f.rz", 'f', 'd', 0x7f7fffff, 1, {UINT64_C(0x7e37e43c8800759c)}},
    {"llvm.nvvm.d2f.rn.ftz",
     'f',
     'd',
     0x80000000,
     1,
     {UINT64_C(0xb800000000000000) - (UINT64_C(1) << 52)}},
    {"llvm.nvvm.f2h.rn", 's', 'f', 0x3c00, 1, {0x3f800000}},
    {"llvm.nvvm.h2f", 'f', 's', 0x3f800000, 1, {0x3c00}},
    {"llvm.nvvm.f2bf16.rz.relu", 'b', 'f', 0, 1, {0xbf800000}},
    {"llvm.nvvm.f2bf16.rn.satfinite", 'b', 'f', 0x7f7f, 1, {0x7f7fffff}},
    {"llvm.nvvm.d2i.lo", 'i', 'd', 0x33334444, 1, {UINT64_C(0x1111222233334444)}},
    {"llvm.nvvm.d2i.hi", 'i', 'd', 0x11112222, 1, {UINT64_C(0x1111222233334444)}},
    {"llvm.nvvm.lohi.i2d", 'd', 'i', UINT64_C(0x1111222233334444), 2, {0x33334444, 0x11112222}},
    {"llvm.nvvm.bitcast.f2i", 'i', 'f', 0x12345678, 1, {0x12345678}},
    {"llvm.nvvm.bitcast.ll2d", 'd', 'l', 0x12345678, 1, {0x12345678}},
};

static struct nvm_type type_of(char c) {
  switch (c) {
    case 'h': return TYPE_HALF;
    case 'b': return TYPE_BFLOAT;
    case 'f': return TYPE_FLOAT;
    case 'd': return TYPE_DOUBLE;
    case 's': return TYPE_I16;
    case 'i': return TYPE_I32;
    default: return TYPE_I64;
  }
}

static void forms_of_ptx(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const struct form_case *c = &forms[i];
    struct eval_lane out[2];
    if (!lane(m, id_of(c->name), type_of(c->to), type_of(c->from), c->in[0], c->in[1], c->in[2],
              (uint32_t)c->count, out))
      fail_msg("%s is not evaluated", c->name);
    if (out[0].poison || out[0].bits != c->want)
      fail_msg("%s: %llx instead of %llx", c->name, (unsigned long long)out[0].bits,
               (unsigned long long)c->want);
  }
  module_destroy(m);
}

static void what_is_not_exact_is_left(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  static const char *const names[] = {
      "llvm.nvvm.div.approx.f",
      "llvm.nvvm.div.full",
      "llvm.nvvm.rcp.approx.ftz.f",
      "llvm.nvvm.sqrt.approx.f",
      "llvm.nvvm.sin.approx.f",
      "llvm.nvvm.ex2.approx.ftz.f",
      "llvm.sin",
      "llvm.exp2",
      "llvm.nvvm.tanh.approx",
      "llvm.nvvm.sqrt.f",
      "llvm.nvvm.rsqrt.approx.f",
      "llvm.nvvm.f2tf32.rna",
      "llvm.pow",
      "llvm.is.constant",
      "llvm.nvvm.shfl.idx.f32",
  };
  struct eval_lane out[2];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (uint32_t count = 1; count <= 2; count++)
      if (lane(m, id_of(names[i]), TYPE_FLOAT, TYPE_FLOAT, 0x3f800000, 0x3f800000, 0, count, out))
        fail_msg("%s", names[i]);
  module_destroy(m);
}

/* --- constants ----------------------------------------------------------------------------------
 */

static struct nvm_value call(struct nvm_module *m, enum intrinsic_id id, struct nvm_type type,
                             struct nvm_value a, struct nvm_value b) {
  return eval_intrinsic(m, id, 0, type, (struct nvm_value[]){a, b}, value_is_none(b) ? 1 : 2);
}

static struct nvm_value vector(struct nvm_module *m, struct nvm_type type, uint64_t a, uint64_t b) {
  struct nvm_value e[2];
  uint64_t in[] = {a, b};
  for (int i = 0; i < 2; i++)
    e[i] = type_is_int(&m->types, type) ? const_int(m, type, in[i]) : const_float(m, type, in[i]);
  return const_aggregate(m, type_vector(&m->types, type, 2), e, 2);
}

static void constants_and_vectors(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_type v2 = type_vector(&m->types, TYPE_I32, 2), b2 = type_vector(&m->types, TYPE_I1, 2);
  struct nvm_value none = VALUE_NULL, one = const_int(m, TYPE_I32, 1),
                   all = const_int(m, TYPE_I32, UINT32_MAX);
  struct nvm_value v = vector(m, TYPE_I32, 1, UINT32_MAX), w = vector(m, TYPE_I32, 5, 5);
  struct nvm_value no = const_int(m, TYPE_I1, 0), yes = const_int(m, TYPE_I1, 1);
  assert_true(value_equal(call(m, INTRINSIC_smax, v2, v, w), w));
  assert_true(value_equal(call(m, INTRINSIC_abs, v2, v, no), vector(m, TYPE_I32, 1, 1)));
  assert_true(value_equal(call(m, INTRINSIC_ctpop, v2, v, none), vector(m, TYPE_I32, 1, 32)));
  struct nvm_type pair = type_struct(&m->types, (struct nvm_type[]){TYPE_I32, TYPE_I1}, 2, false);
  struct nvm_value over = call(m, INTRINSIC_uadd_with_overflow, pair, one, all);
  assert_true(value_equal(const_element(m, over, 0), const_int(m, TYPE_I32, 0)));
  assert_true(value_equal(const_element(m, over, 1), yes));
  struct nvm_type pairs = type_struct(&m->types, (struct nvm_type[]){v2, b2}, 2, false);
  struct nvm_value overs = call(m, INTRINSIC_uadd_with_overflow, pairs, v, v);
  assert_true(value_equal(const_element(m, overs, 0), vector(m, TYPE_I32, 2, UINT32_MAX - 1)));
  assert_true(value_equal(const_element(m, overs, 1), vector(m, TYPE_I1, 0, 1)));
  struct nvm_type h2 = type_vector(&m->types, TYPE_HALF, 2);
  assert_true(
      value_equal(call(m, INTRINSIC_nvvm_fmin_f16x2, h2, vector(m, TYPE_HALF, 0x3c00, 0x4000),
                       vector(m, TYPE_HALF, 0x4000, 0x3c00)),
                  vector(m, TYPE_HALF, 0x3c00, 0x3c00)));
  /* bf16 pairs in a word are not taken apart. */
  assert_true(value_is_none(call(m, INTRINSIC_nvvm_fmin_bf16x2, TYPE_I32, one, one)));
  assert_true(value_equal(call(m, INTRINSIC_vector_reduce_add, TYPE_I32, w, none),
                          const_int(m, TYPE_I32, 10)));
  assert_true(value_equal(call(m, INTRINSIC_vector_reduce_umax, TYPE_I32, v, none), all));
  assert_true(value_equal(call(m, INTRINSIC_vector_reduce_smax, TYPE_I32, v, none), one));
  assert_true(value_equal(call(m, INTRINSIC_vector_reduce_fmin, TYPE_FLOAT,
                               vector(m, TYPE_FLOAT, 0x7fc00000, 0x3f800000), none),
                          const_float(m, TYPE_FLOAT, 0x3f800000)));
  struct nvm_value g = module_add_global(m, module_str(m, "g"));
  assert_true(value_equal(call(m, INTRINSIC_expect, TYPE_I32, one, all), one));
  assert_true(value_equal(call(m, INTRINSIC_ssa_copy, TYPE_PTR, g, none), g));
  assert_true(value_is_none(call(m, INTRINSIC_abs, TYPE_I32, g, no)));
  struct nvm_value two = const_float(m, TYPE_FLOAT, 0x40000000);
  assert_true(value_equal(call(m, INTRINSIC_ldexp, TYPE_FLOAT, two, one),
                          const_float(m, TYPE_FLOAT, 0x40800000)));
  assert_true(value_is_none(call(m, INTRINSIC_ldexp, TYPE_FLOAT, two, const_int(m, TYPE_I16, 1))));
  module_destroy(m);
}

static void poison_and_undef(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_value poison = const_poison(m, TYPE_I32), undef = const_undef(m, TYPE_I32),
                   one = const_int(m, TYPE_I32, 1);
  struct nvm_type v2 = type_vector(&m->types, TYPE_I32, 2);
  assert_true(value_equal(call(m, INTRINSIC_smin, TYPE_I32, poison, one), poison));
  assert_true(value_equal(call(m, INTRINSIC_smin, TYPE_I32, one, poison), poison));
  assert_true(value_is_none(call(m, INTRINSIC_smin, TYPE_I32, one, undef)));
  struct nvm_value half = const_aggregate(m, v2, (struct nvm_value[]){one, poison}, 2);
  assert_true(value_equal(call(m, INTRINSIC_umax, v2, half, half), half));
  assert_true(
      value_equal(call(m, INTRINSIC_vector_reduce_add, TYPE_I32, half, VALUE_NULL), poison));
  struct nvm_type pair = type_struct(&m->types, (struct nvm_type[]){TYPE_I32, TYPE_I1}, 2, false);
  assert_true(
      value_equal(call(m, INTRINSIC_sadd_with_overflow, pair, one, poison), const_poison(m, pair)));
  struct nvm_value nan = const_float(m, TYPE_FLOAT, 0x7fc00000);
  assert_true(value_equal(eval_intrinsic(m, INTRINSIC_fabs, INST_NNAN, TYPE_FLOAT, &nan, 1),
                          const_poison(m, TYPE_FLOAT)));
  module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_integers_exhaustively),
      cmocka_unit_test(wide_integers),
      cmocka_unit_test(doubles_as_the_host),
      cmocka_unit_test(classes),
      cmocka_unit_test(to_integers),
      cmocka_unit_test(directed_arithmetic),
      cmocka_unit_test(forms_of_ptx),
      cmocka_unit_test(what_is_not_exact_is_left),
      cmocka_unit_test(constants_and_vectors),
      cmocka_unit_test(poison_and_undef),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
