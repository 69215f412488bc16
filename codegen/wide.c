/* Integers of 65 to 128 bits: two 64-bit registers, low and high. Carries go through add.cc/addc,
 * shifts through the funnel identities, division through a shift-and-subtract loop.
 * Bits of the high register above the width are undefined, as everywhere in codegen. */
#include "codegen/lower.h"

static struct ptx_reg temp64(struct lower *l) { return lower_temp(l, PTX_B64); }

static struct ptx_operand reg64(struct lower *l, struct ptx_operand v) {
  if (v.kind == PTX_OPERAND_REG) return v;
  struct ptx_reg r = temp64(l);
  lower_copy(l, r, v);
  return ptx_r(r);
}

static struct part high_part(uint32_t bits) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bits - 64), .container = 64};
}

static void emit_add(struct lower *l, const struct ptx_reg to[2], const struct ptx_operand a[2],
                     const struct ptx_operand b[2], bool subtract) {
  emit3(l, subtract ? PTX_SUB : PTX_ADD, PTX_MODS(PTX_MOD_CC, PTX_MOD_S64), ptx_r(to[0]),
        reg64(l, a[0]), b[0]);
  emit3(l, subtract ? PTX_SUBC : PTX_ADDC, PTX_MODS(PTX_MOD_S64), ptx_r(to[1]), a[1], b[1]);
}

static void emit_mul(struct lower *l, const struct ptx_reg to[2], const struct ptx_operand a[2],
                     const struct ptx_operand b[2]) {
  struct ptx_operand x = reg64(l, a[0]);
  struct ptx_reg high = temp64(l), sum = temp64(l);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_HI, PTX_MOD_U64), ptx_r(high), x, b[0]);
  emit4(l, PTX_MAD, PTX_MODS(PTX_MOD_LO, PTX_MOD_S64), ptx_r(sum), x, b[1], ptx_r(high));
  emit4(l, PTX_MAD, PTX_MODS(PTX_MOD_LO, PTX_MOD_S64), ptx_r(to[1]), reg64(l, a[1]), b[0],
        ptx_r(sum));
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_LO, PTX_MOD_S64), ptx_r(to[0]), x, b[0]);
}

static void emit_bitwise(struct lower *l, enum ptx_op op, const struct ptx_reg to[2],
                         const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  for (int k = 0; k < 2; k++)
    emit3(l, op, PTX_MODS(PTX_MOD_B64), ptx_r(to[k]), reg64(l, a[k]), b[k]);
}

/* The 32-bit amount; amounts of the width or more are poison, so that the low 32 bits do. */
static struct ptx_operand narrow_amount(struct lower *l, struct ptx_operand amount) {
  if (amount.kind != PTX_OPERAND_REG) return ptx_i(amount.imm & 127);
  struct ptx_reg r = lower_temp(l, PTX_B32);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(r), amount);
  return ptx_r(r);
}

/* near: the half the bits leave towards `far`; the far half collects them. For shl near is low and
 * far is high; for shr the other way round. PTX shifts clamp at the register's width, so that no
 * shift here needs a mask. */
static void emit_shift(struct lower *l, enum op op, const struct ptx_reg to[2],
                       const struct ptx_operand a[2], struct ptx_operand amount_wide) {
  bool left = op == OP_SHL;
  struct ptx_operand near = reg64(l, a[left ? 0 : 1]), far = reg64(l, a[left ? 1 : 0]);
  struct ptx_operand n = narrow_amount(l, amount_wide);
  if (n.kind != PTX_OPERAND_REG) {
    struct ptx_reg r = lower_temp(l, PTX_B32);
    lower_copy(l, r, n);
    n = ptx_r(r);
  }
  uint16_t near_type = op == OP_ASHR ? PTX_MOD_S64 : op == OP_LSHR ? PTX_MOD_U64 : PTX_MOD_B64;
  enum ptx_op with = left ? PTX_SHL : PTX_SHR, against = left ? PTX_SHR : PTX_SHL;
  const uint16_t *far_type = PTX_MODS(left ? PTX_MOD_B64 : PTX_MOD_U64);
  struct ptx_reg rest = lower_temp(l, PTX_B32), beyond = lower_temp(l, PTX_B32);
  struct ptx_reg moved = temp64(l), entering = temp64(l), joined = temp64(l), jumped = temp64(l);
  struct ptx_reg is_far = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S32), ptx_r(rest), ptx_i(64), n);
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S32), ptx_r(beyond), n, ptx_i(64));
  emit3(l, with, far_type, ptx_r(moved), far, n);
  emit3(l, against, PTX_MODS(left ? PTX_MOD_U64 : PTX_MOD_B64), ptx_r(entering), near, ptx_r(rest));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(joined), ptx_r(moved), ptx_r(entering));
  emit3(l, with, PTX_MODS(near_type), ptx_r(jumped), near, ptx_r(beyond));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_GT, PTX_MOD_U32), ptx_r(is_far), n, ptx_i(63));
  struct ptx_reg near_result = temp64(l);
  emit3(l, with, PTX_MODS(near_type), ptx_r(near_result), near, n);
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(to[left ? 1 : 0]), ptx_r(jumped), ptx_r(joined),
        ptx_r(is_far));
  lower_copy(l, to[left ? 0 : 1], ptx_r(near_result));
}

/* (to) = a >= b, unsigned. */
static void emit_not_below(struct lower *l, struct ptx_reg to, const struct ptx_reg a[2],
                           const struct ptx_reg b[2]) {
  struct ptx_reg p = lower_temp(l, PTX_PRED), q = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_GE, PTX_MOD_U64), ptx_r(p), ptx_r(a[0]), ptx_r(b[0]));
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_B64), ptx_r(q), ptx_r(a[1]),
        ptx_r(b[1]), ptx_r(p));
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_GT, PTX_MOD_OR, PTX_MOD_U64), ptx_r(to), ptx_r(a[1]),
        ptx_r(b[1]), ptx_r(q));
}

/* One step of the division: remainder:quotient shifted left by one bit, the divisor subtracted
 * where it fits. All registers are updated in place. */
static void emit_division_step(struct lower *l, const struct ptx_reg q[2],
                               const struct ptx_reg r[2], const struct ptx_reg d[2]) {
  const struct ptx_reg *row[4] = {&r[1], &r[0], &q[1], &q[0]};
  for (int k = 0; k < 3; k++) {
    struct ptx_reg up = temp64(l), in = temp64(l);
    emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B64), ptx_r(up), ptx_r(*row[k]), ptx_i(1));
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U64), ptx_r(in), ptx_r(*row[k + 1]), ptx_i(63));
    emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(*row[k]), ptx_r(up), ptx_r(in));
  }
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B64), ptx_r(q[0]), ptx_r(q[0]), ptx_i(1));
  struct ptx_reg fits = lower_temp(l, PTX_PRED);
  emit_not_below(l, fits, r, d);
  struct ptx_reg less[2] = {temp64(l), temp64(l)}, bit = temp64(l);
  emit_add(l, less, (struct ptx_operand[]){ptx_r(r[0]), ptx_r(r[1])},
           (struct ptx_operand[]){ptx_r(d[0]), ptx_r(d[1])}, true);
  for (int k = 0; k < 2; k++)
    emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(r[k]), ptx_r(less[k]), ptx_r(r[k]), ptx_r(fits));
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(bit), ptx_i(1), ptx_i(0), ptx_r(fits));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(q[0]), ptx_r(q[0]), ptx_r(bit));
}

/* q, r = n / d, n % d, unsigned, 128 steps in a loop. q holds n on entry. */
static void emit_division(struct lower *l, const struct ptx_reg q[2], const struct ptx_reg r[2],
                          const struct ptx_reg d[2]) {
  struct ptx_reg steps = lower_temp(l, PTX_B32), more = lower_temp(l, PTX_PRED);
  lower_copy(l, r[0], ptx_i(0));
  lower_copy(l, r[1], ptx_i(0));
  lower_copy(l, steps, ptx_i(128));
  uint32_t loop = ptx_new_label(l->pf, (struct nvm_str){0});
  ptx_add_label(l->pf, loop);
  emit_division_step(l, q, r, d);
  emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_S32), ptx_r(steps), ptx_r(steps), ptx_i(-1));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_S32), ptx_r(more), ptx_r(steps), ptx_i(0));
  struct ptx_operand target = ptx_label(loop);
  ptx_add_guarded(l->pf, more, false, PTX_BRA, NULL, &target, 1);
}

/* v = sign ? -v : v, with sign all ones or all zeros: (v ^ sign) - sign. */
static void emit_negate_if(struct lower *l, const struct ptx_reg v[2], struct ptx_reg sign) {
  struct ptx_reg flipped[2] = {temp64(l), temp64(l)};
  struct ptx_operand signs[2] = {ptx_r(sign), ptx_r(sign)};
  emit_bitwise(l, PTX_XOR, flipped, (struct ptx_operand[]){ptx_r(v[0]), ptx_r(v[1])}, signs);
  emit_add(l, v, (struct ptx_operand[]){ptx_r(flipped[0]), ptx_r(flipped[1])}, signs, true);
}

static void emit_divrem(struct lower *l, enum op op, uint32_t bits, const struct ptx_reg to[2],
                        const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  bool is_signed = op == OP_SDIV || op == OP_SREM, remainder = op == OP_UREM || op == OP_SREM;
  struct part high = high_part(bits);
  struct ptx_reg q[2] = {temp64(l), temp64(l)}, d[2] = {temp64(l), temp64(l)};
  struct ptx_reg r[2] = {temp64(l), temp64(l)}, sign_a = temp64(l), sign_b = temp64(l);
  lower_copy(l, q[0], a[0]);
  lower_copy(l, d[0], b[0]);
  lower_copy(l, q[1], is_signed ? lower_sext_part(l, a[1], &high, 64)
                                : lower_zext_part(l, a[1], &high, 64));
  lower_copy(l, d[1], is_signed ? lower_sext_part(l, b[1], &high, 64)
                                : lower_zext_part(l, b[1], &high, 64));
  if (is_signed) {
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), ptx_r(sign_a), ptx_r(q[1]), ptx_i(63));
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), ptx_r(sign_b), ptx_r(d[1]), ptx_i(63));
    emit_negate_if(l, q, sign_a);
    emit_negate_if(l, d, sign_b);
  }
  emit_division(l, q, r, d);
  if (is_signed && remainder) emit_negate_if(l, r, sign_a);
  if (is_signed && !remainder) {
    struct ptx_reg sign = temp64(l);
    emit3(l, PTX_XOR, PTX_MODS(PTX_MOD_B64), ptx_r(sign), ptx_r(sign_a), ptx_r(sign_b));
    emit_negate_if(l, q, sign);
  }
  for (int k = 0; k < 2; k++) lower_copy(l, to[k], ptx_r(remainder ? r[k] : q[k]));
}

void lower_wide_binary(struct lower *l, enum op op, uint32_t bits, const struct ptx_reg to[2],
                       const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  struct part high = high_part(bits);
  switch (op) {
  case OP_ADD: emit_add(l, to, a, b, false); break;
  case OP_SUB: emit_add(l, to, a, b, true); break;
  case OP_MUL: emit_mul(l, to, a, b); break;
  case OP_AND: emit_bitwise(l, PTX_AND, to, a, b); break;
  case OP_OR: emit_bitwise(l, PTX_OR, to, a, b); break;
  case OP_XOR: emit_bitwise(l, PTX_XOR, to, a, b); break;
  case OP_SHL: emit_shift(l, op, to, a, b[0]); break;
  case OP_LSHR: {
    const struct ptx_operand extended[2] = {a[0], lower_zext_part(l, a[1], &high, 64)};
    emit_shift(l, op, to, extended, b[0]);
    break;
  }
  case OP_ASHR: {
    const struct ptx_operand extended[2] = {a[0], lower_sext_part(l, a[1], &high, 64)};
    emit_shift(l, op, to, extended, b[0]);
    break;
  }
  default: emit_divrem(l, op, bits, to, a, b); break;
  }
}

/* --- conversions ------------------------------------------------------------------------------ */

static uint64_t power_of_two(bool is_double, int exponent) {
  return is_double ? (uint64_t)(1023 + exponent) << 52 : (uint64_t)(127 + exponent) << 23;
}

static struct ptx_operand float_imm(bool is_double, uint64_t bits) {
  return is_double ? ptx_f64(bits) : ptx_f32((uint32_t)bits);
}

/* Unsigned 128 → float: the value is normalized so that its top 64 bits, with the rest or-ed into
 * the lowest bit, round as the whole would; the power of two is multiplied back exactly. */
static void emit_unsigned_to_float(struct lower *l, bool is_double, bool to_odd, struct ptx_reg to,
                                   const struct ptx_reg v[2]) {
  uint16_t type = is_double ? PTX_MOD_F64 : PTX_MOD_F32;
  enum ptx_class class = is_double ? PTX_F64 : PTX_F32;
  struct ptx_reg zeros_high = lower_temp(l, PTX_B32), count = lower_temp(l, PTX_B64);
  emit2(l, PTX_CLZ, PTX_MODS(PTX_MOD_B64), ptx_r(zeros_high), ptx_r(v[1]));
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U64, PTX_MOD_U32), ptx_r(count), ptx_r(zeros_high));
  struct ptx_reg shifted[2] = {temp64(l), temp64(l)};
  emit_shift(l, OP_SHL, shifted, (struct ptx_operand[]){ptx_r(v[0]), ptx_r(v[1])}, ptx_r(count));
  struct ptx_reg inexact = lower_temp(l, PTX_PRED), sticky = temp64(l), top = temp64(l);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B64), ptx_r(inexact), ptx_r(shifted[0]), ptx_i(0));
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(sticky), ptx_i(1), ptx_i(0), ptx_r(inexact));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(top), ptx_r(shifted[1]), ptx_r(sticky));
  /* The scale 2^(64 - zeros): with 64 leading zeros the low half was moved up whole. */
  struct ptx_reg scaled = lower_temp(l, class), unit = lower_temp(l, class);
  if (to_odd) scaled = lower_int64_to_odd_f32(l, ptx_r(top), false);
  else emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, type, PTX_MOD_U64), ptx_r(scaled), ptx_r(top));
  struct ptx_reg exponent = lower_temp(l, PTX_B32), bits = lower_temp(l, PTX_B32);
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S32), ptx_r(exponent), ptx_i(is_double ? 1023 + 64 : 127 + 64),
        ptx_r(zeros_high));
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B32), ptx_r(bits), ptx_r(exponent), ptx_i(is_double ? 20 : 23));
  if (is_double) {
    struct ptx_reg zero = lower_temp(l, PTX_B32);
    lower_copy(l, zero, ptx_i(0));
    struct ptx_operand words[2] = {ptx_r(zero), ptx_r(bits)};
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(unit),
          ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2));
  } else {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(unit), ptx_r(bits));
  }
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_RN, type), ptx_r(to), ptx_r(scaled), ptx_r(unit));
}

void lower_wide_to_float(struct lower *l, uint32_t bits, bool is_signed, bool is_double,
                         bool to_odd, struct ptx_reg to, const struct ptx_operand v[2]) {
  struct part high = high_part(bits);
  struct ptx_reg x[2] = {temp64(l), temp64(l)};
  lower_copy(l, x[0], v[0]);
  lower_copy(l, x[1], is_signed ? lower_sext_part(l, v[1], &high, 64)
                                : lower_zext_part(l, v[1], &high, 64));
  if (!is_signed) {
    emit_unsigned_to_float(l, is_double, to_odd, to, x);
    return;
  }
  struct ptx_reg sign = temp64(l), negative = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), ptx_r(sign), ptx_r(x[1]), ptx_i(63));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B64), ptx_r(negative), ptx_r(sign), ptx_i(0));
  emit_negate_if(l, x, sign);
  uint16_t type = is_double ? PTX_MOD_F64 : PTX_MOD_F32;
  enum ptx_class class = is_double ? PTX_F64 : PTX_F32;
  struct ptx_reg magnitude = lower_temp(l, class), minus = lower_temp(l, class);
  emit_unsigned_to_float(l, is_double, to_odd, magnitude, x);
  emit2(l, PTX_NEG, PTX_MODS(type), ptx_r(minus), ptx_r(magnitude));
  emit4(l, PTX_SELP, PTX_MODS(type), ptx_r(to), ptx_r(minus), ptx_r(magnitude), ptx_r(negative));
}

/* Float → 128 bits: the high half is the value divided by 2^64, the low half what that leaves;
 * both steps are exact. Signed values go through their magnitude. */
void lower_float_to_wide(struct lower *l, bool is_signed, bool is_double, const struct ptx_reg to[2],
                         struct ptx_operand v) {
  uint16_t type = is_double ? PTX_MOD_F64 : PTX_MOD_F32;
  enum ptx_class class = is_double ? PTX_F64 : PTX_F32;
  struct ptx_reg x = lower_temp(l, class), scaled = lower_temp(l, class);
  struct ptx_reg whole = lower_temp(l, class), rest = lower_temp(l, class);
  if (is_signed) emit2(l, PTX_ABS, PTX_MODS(type), ptx_r(x), v);
  else lower_copy(l, x, v);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_RN, type), ptx_r(scaled), ptx_r(x),
        float_imm(is_double, power_of_two(is_double, -64)));
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, type), ptx_r(whole), ptx_r(scaled));
  uint64_t minus = power_of_two(is_double, 64) | (is_double ? UINT64_C(1) << 63 : UINT64_C(1) << 31);
  emit4(l, PTX_FMA, PTX_MODS(PTX_MOD_RN, type), ptx_r(rest), ptx_r(whole),
        float_imm(is_double, minus), ptx_r(x));
  struct ptx_reg result[2] = {temp64(l), temp64(l)};
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, PTX_MOD_U64, type), ptx_r(result[1]), ptx_r(whole));
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, PTX_MOD_U64, type), ptx_r(result[0]), ptx_r(rest));
  if (is_signed) {
    struct ptx_reg negative = lower_temp(l, PTX_PRED), sign = temp64(l);
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, type), ptx_r(negative), v, float_imm(is_double, 0));
    emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(sign), ptx_i(-1), ptx_i(0), ptx_r(negative));
    emit_negate_if(l, result, sign);
  }
  for (int k = 0; k < 2; k++) lower_copy(l, to[k], ptx_r(result[k]));
}
