/* What one lane computes: integers and bits. Frequent instructions have a function for each width;
 * the others read the width from the instruction. */
#include "ir/evalint.h"
#include "sim/ptx/scalar.h"

/* For 16, 32 and 64 bits, with `bits` a constant. */
#define LANE_WIDTHS(name, result) \
  LANE(name##_16) {               \
    enum { bits = 16 };           \
    UNUSED_OPERANDS;              \
    return (uint16_t)(result);    \
  }                               \
  LANE(name##_32) {               \
    enum { bits = 32 };           \
    UNUSED_OPERANDS;              \
    return (uint32_t)(result);    \
  }                               \
  LANE(name##_64) {               \
    enum { bits = 64 };           \
    UNUSED_OPERANDS;              \
    return (uint64_t)(result);    \
  }                               \
  static lane_fn *const name[3] = {name##_16, name##_32, name##_64};

#define LANE_ROW(P, U, name, result) LANE_WIDTHS(name, evalint_narrow_##name(bits, a, b))
EVALINT_BINARY(LANE_ROW, , , )
LANE_WIDTHS(mad, a *b + c)
LANE_WIDTHS(mul_high_u, evalint_mul_high_u(bits, a, b))
LANE_WIDTHS(mul_high_s, evalint_mul_high_s(bits, a, b))
LANE_WIDTHS(mad_high_u, evalint_mul_high_u(bits, a, b) + c)
LANE_WIDTHS(mad_high_s, evalint_mul_high_s(bits, a, b) + c)
LANE_WIDTHS(abs, evalint_abs(bits, a))
LANE_WIDTHS(negate, 0 - a)
LANE_WIDTHS(not, ~a)
LANE_WIDTHS(cnot, evalint_zext(bits, a) == 0)
LANE_WIDTHS(popcount, evalint_popcount(bits, a))
LANE_WIDTHS(leading_zeros, evalint_leading_zeros(bits, a))
LANE_WIDTHS(reverse, evalint_reverse(bits, a))

LANE(mul_wide) {
  (void)c;
  if (in->is_signed)
    return evalint_zext(2 * in->bits,
                        (uint64_t)evalint_sext(in->bits, a) * (uint64_t)evalint_sext(in->bits, b));
  return evalint_zext(in->bits, a) * evalint_zext(in->bits, b);
}
LANE(mad_wide) { return evalint_zext(2 * in->bits, mul_wide(in, a, b, 0) + c); }

LANE(saturated_sum) {
  (void)c;
  evalint_s128 x = evalint_sext(in->bits, a), y = evalint_sext(in->bits, b);
  return evalint_clamp_s(in->bits, in->flags & FLAG_HIGH ? x - y : x + y);
}
LANE(mad_high_saturated) {
  evalint_s128 high = evalint_sext(32, evalint_mul_high_s(32, a, b));
  (void)in;
  return evalint_clamp_s(32, high + evalint_sext(32, c));
}
LANE(mul24) {
  (void)c;
  uint64_t p = in->is_signed ? (uint64_t)(evalint_sext(24, a) * evalint_sext(24, b))
                             : evalint_zext(24, a) * evalint_zext(24, b);
  return evalint_zext(32, in->flags & FLAG_HIGH ? p >> 16 : p);
}
LANE(mad24) {
  uint64_t p = mul24(in, a, b, 0);
  if (in->flags & FLAG_SAT)
    return evalint_clamp_s(32, (evalint_s128)evalint_sext(32, p) + evalint_sext(32, c));
  return evalint_zext(32, p + c);
}
LANE(sum_of_difference) {
  bool less = in->is_signed ? evalint_sext(in->bits, a) < evalint_sext(in->bits, b) : a < b;
  return evalint_zext(in->bits, c + (less ? b - a : a - b));
}
LANE(find_bit) {
  (void)b, (void)c;
  uint64_t at = evalint_find_bit(in->bits, in->is_signed, a);
  return at != 0xffffffff && in->flags & FLAG_HIGH ? in->bits - 1 - at : at;
}
LANE(extract) { return evalint_extract(in->bits, in->is_signed, a, b, c); }
LANE(table3) { return evalint_lop3(a, b, c, (unsigned)in->imm); }
/* shf.wrap, .clamp: b:a by c bits. */
static unsigned funnel_amount(const struct inst *in, uint64_t c) {
  return in->flags & FLAG_SAT && c > 32 ? 32 : (unsigned)(in->flags & FLAG_SAT ? c : c & 31);
}
LANE(funnel_left) { return (uint64_t)evalint_funnel(32, b, a, funnel_amount(in, c)); }
LANE(funnel_right) { return (uint64_t)evalint_funnel(32, b, a, 32 - funnel_amount(in, c)); }
LANE(permute) {
  (void)in;
  return evalint_permute(a, b, c);
}

/* Selectors of prmt's modes, by the low two bits of c. */
LANE(permute_mode) {
  static const uint16_t selectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
      {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
      {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
      {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
      {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
      {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
  };
  return evalint_permute(a, b, selectors[in->compare][c & 3]);
}
LANE(extend_field) { /* szext */
  (void)c;
  uint64_t n = b & 0xffffffff;
  if (n >= 32) {
    if (in->flags & FLAG_SAT) return evalint_zext(32, a);
    n &= 31;
  }
  if (n == 0) return 0;
  return evalint_zext(
      32, in->is_signed ? (uint64_t)evalint_sext((unsigned)n, a) : evalint_zext((unsigned)n, a));
}
LANE(bit_mask) { /* bmsk */
  (void)c;
  bool clamp = in->flags & FLAG_SAT;
  uint64_t at = clamp ? (a > 32 ? 32 : a) : a & 31, n = clamp ? (b > 32 ? 32 : b) : b & 31;
  return evalint_zext(32, evalint_mask((unsigned)n) << at) * (n != 0);
}
/* fns: the c-th set bit of a from bit b on, up or down; all ones: there is none. */
LANE(find_nth_set) {
  (void)in;
  int64_t n = evalint_sext(32, c), step = n < 0 ? -1 : 1, left = n < 0 ? -n : n;
  if (n == 0) return b < 32 && a >> b & 1 ? b : UINT32_MAX;
  for (int64_t at = evalint_sext(32, b); at >= 0 && at < 32; at += step)
    if (a >> at & 1 && --left == 0) return (uint64_t)at;
  return UINT32_MAX;
}
/* dp4a, dp2a: products of bytes (or half-words of a with bytes of b) added to c. */
LANE(dot_bytes) {
  uint64_t sum = c;
  for (unsigned i = 0; i < 4; i++) {
    uint64_t x = a >> (8 * i) & 0xff, y = b >> (8 * i) & 0xff;
    sum += (uint64_t)((in->is_signed ? evalint_sext(8, x) : (int64_t)x) *
                      (in->is_signed2 ? evalint_sext(8, y) : (int64_t)y));
  }
  return evalint_zext(32, sum);
}
LANE(dot_halves) {
  uint64_t sum = c;
  for (unsigned i = 0; i < 2; i++) {
    uint64_t x = a >> (16 * i) & 0xffff,
             y = b >> (8 * (i + (in->flags & FLAG_HIGH ? 2 : 0))) & 0xff;
    sum += (uint64_t)((in->is_signed ? evalint_sext(16, x) : (int64_t)x) *
                      (in->is_signed2 ? evalint_sext(8, y) : (int64_t)y));
  }
  return evalint_zext(32, sum);
}
static lane_fn *by_width(lane_fn *const f[3], unsigned bits) {
  return f[bits == 16 ? 0 : bits == 32 ? 1 : 2];
}

static lane_fn *multiplication(const struct decoder *d, bool add) {
  struct inst *in = d->in;
  const struct words *w = &d->words;
  if (w->wide) return add ? mad_wide : mul_wide;
  if (add && w->hi && w->sat) return mad_high_saturated;
  if (!w->hi) return by_width(add ? mad : mul, in->bits);
  if (add) return by_width(in->is_signed ? mad_high_s : mad_high_u, in->bits);
  return by_width(in->is_signed ? mul_high_s : mul_high_u, in->bits);
}

lane_fn *scalar_int(const struct decoder *d, enum ptx_op op) {
  struct inst *in = d->in;
  const struct words *w = &d->words;
  bool s = in->is_signed;
  unsigned bits = in->bits;
  switch ((int)op) {
    case PTX_ADD: return w->sat ? saturated_sum : by_width(add, bits);
    case PTX_SUB: return w->sat ? saturated_sum : by_width(sub, bits);
    case PTX_MUL: return multiplication(d, false);
    case PTX_MAD: return multiplication(d, true);
    case PTX_MUL24: return mul24;
    case PTX_MAD24: return mad24;
    case PTX_SAD: return sum_of_difference;
    case PTX_DIV: return by_width(s ? div_s : div_u, bits);
    case PTX_REM: return by_width(s ? rem_s : rem_u, bits);
    case PTX_ABS: return by_width(abs, bits);
    case PTX_NEG: return by_width(negate, bits);
    case PTX_MIN: return by_width(s ? min_s : min_u, bits);
    case PTX_MAX: return by_width(s ? max_s : max_u, bits);
    case PTX_POPC: return by_width(popcount, bits);
    case PTX_CLZ: return by_width(leading_zeros, bits);
    case PTX_BFIND: return find_bit;
    case PTX_BREV: return by_width(reverse, bits);
    case PTX_BFE: return extract;
    case PTX_SZEXT: return extend_field;
    case PTX_BMSK: return bit_mask;
    case PTX_FNS: return find_nth_set;
    case PTX_DP4A: return dot_bytes;
    case PTX_DP2A: return dot_halves;
    case PTX_AND: return by_width(and, bits);
    case PTX_OR: return by_width(or, bits);
    case PTX_XOR: return by_width(xor, bits);
    case PTX_NOT: return by_width(not, bits);
    case PTX_CNOT: return by_width(cnot, bits);
    case PTX_LOP3: return table3;
    case PTX_SHF: return w->left ? funnel_left : funnel_right;
    case PTX_SHL: return by_width(shl, bits);
    case PTX_SHR: return by_width(s ? shr_s : shr_u, bits);
    case PTX_PRMT: return in->compare == 0xff ? permute : permute_mode;
    default: return NULL;
  }
}

/* --- loops ------------------------------------------------------------------------------------ */

#define COMMON(F)                                                                             \
  F(add_32)                                                                                   \
  F(add_64)                                                                                   \
  F(sub_32)                                                                                   \
  F(sub_64)                                                                                   \
  F(mul_32)                                                                                   \
  F(mul_64)                                                                                   \
  F(mad_32)                                                                                   \
  F(and_32)                                                                                   \
  F(and_64) F(or_32) F(or_64) F(xor_32) F(xor_64) F(shl_32) F(shl_64) F(shr_u_32) F(shr_u_64) \
      F(shr_s_32) F(mul_wide)
COMMON(SCALAR_LOOP)

inst_run *scalar_int_loop(lane_fn *fn) {
  COMMON(SCALAR_LOOP_CASE)
  return NULL;
}
