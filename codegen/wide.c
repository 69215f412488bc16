/* Integers of 65 to 128 bits: two 64-bit registers, low and high. Sums carry through add.cc and
 * addc, a shift joins the bits of both registers, division is a shift-and-subtract loop. Bits of
 * the high register above the width are undefined, as everywhere in codegen. */
#include "codegen/number.h"

struct pair {
  struct ptx_operand at[2]; /* low, high */
};

static struct pair new_pair(struct lower *l) {
  return (struct pair){{ptx_r(emit_temp(l, PTX_B64)), ptx_r(emit_temp(l, PTX_B64))}};
}

static struct ptx_operand reg64(struct lower *l, struct ptx_operand v) {
  return emit_in_reg(l, v, &part_i64);
}

/* A copy in new registers, extended to 128 bits. */
static struct pair own_pair(struct lower *l, const struct ptx_operand v[2], uint32_t bits,
                            bool is_signed) {
  struct part high = part_high(bits);
  struct pair r = new_pair(l);
  emit_copy(l, r.at[0].reg, v[0]);
  emit_copy(l, r.at[1].reg, emit_extend(l, v[1], &high, 64, is_signed));
  return r;
}

static struct ptx_operand sign_of(struct lower *l, struct ptx_operand high) {
  return emit_binary(l, PTX_SHR, PTX_MOD_S64, high, ptx_i(63));
}

static void emit_add(struct lower *l, const struct ptx_operand to[2], const struct ptx_operand a[2],
                     const struct ptx_operand b[2], bool subtract) {
  emit3(l, subtract ? PTX_SUB : PTX_ADD, PTX_MODS(PTX_MOD_CC, PTX_MOD_S64), to[0], reg64(l, a[0]),
        b[0]);
  emit3(l, subtract ? PTX_SUBC : PTX_ADDC, PTX_MODS(PTX_MOD_S64), to[1], a[1], b[1]);
}

static void emit_mul(struct lower *l, const struct ptx_operand to[2], const struct ptx_operand a[2],
                     const struct ptx_operand b[2]) {
  const uint16_t *lo = PTX_MODS(PTX_MOD_LO, PTX_MOD_S64);
  struct ptx_operand x = reg64(l, a[0]);
  struct ptx_operand high =
      emit_value(l, PTX_MOD_U64, PTX_MUL, PTX_MODS(PTX_MOD_HI, PTX_MOD_U64), PTX_OPS(x, b[0]));
  struct ptx_operand sum = emit_value(l, PTX_MOD_S64, PTX_MAD, lo, PTX_OPS(x, b[1], high));
  emit4(l, PTX_MAD, lo, to[1], reg64(l, a[1]), b[0], sum);
  emit3(l, PTX_MUL, lo, to[0], x, b[0]);
}

static void emit_bitwise(struct lower *l, enum ptx_op op, const struct ptx_operand to[2],
                         const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  for (int k = 0; k < 2; k++) emit3(l, op, PTX_MODS(PTX_MOD_B64), to[k], reg64(l, a[k]), b[k]);
}

/* Bits move from the `near` half into the `far` one: for shl from low to high, for shr from high to
 * low. PTX shifts clamp at the register's width, so no shift needs a mask. Amounts of the width or
 * more are poison, so the low 32 bits of the amount suffice. */
static void emit_shift(struct lower *l, enum op op, const struct ptx_operand to[2],
                       const struct ptx_operand a[2], struct ptx_operand amount) {
  bool left = op == OP_SHL;
  struct ptx_operand near = reg64(l, a[!left]), far = reg64(l, a[left]);
  struct ptx_operand n = amount.kind == PTX_OPERAND_REG
                             ? emit_narrow(l, amount, 64, 32)
                             : emit_in_reg(l, ptx_i(amount.imm & 127), &part_i32);
  uint16_t near_type = op == OP_ASHR ? PTX_MOD_S64 : left ? PTX_MOD_B64 : PTX_MOD_U64;
  uint16_t far_type = left ? PTX_MOD_B64 : PTX_MOD_U64, against = left ? PTX_MOD_U64 : PTX_MOD_B64;
  enum ptx_op with = left ? PTX_SHL : PTX_SHR;
  struct ptx_operand rest = emit_binary(l, PTX_SUB, PTX_MOD_S32, ptx_i(64), n);
  struct ptx_operand beyond = emit_binary(l, PTX_SUB, PTX_MOD_S32, n, ptx_i(64));
  struct ptx_operand moved = emit_binary(l, with, far_type, far, n);
  struct ptx_operand entering = emit_binary(l, left ? PTX_SHR : PTX_SHL, against, near, rest);
  struct ptx_operand joined = emit_binary(l, PTX_OR, PTX_MOD_B64, moved, entering);
  struct ptx_operand jumped = emit_binary(l, with, near_type, near, beyond);
  struct ptx_operand is_far = emit_compare(l, PTX_MOD_GT, PTX_MOD_U32, n, ptx_i(63));
  struct ptx_operand near_result = emit_binary(l, with, near_type, near, n);
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), to[left], jumped, joined, is_far);
  emit_copy(l, to[!left].reg, near_result);
}

/* One step of the division, in place: remainder:quotient moves left by one bit; the divisor is
 * subtracted from the remainder if it is not greater. */
static void emit_division_step(struct lower *l, const struct pair *q, const struct pair *r,
                               const struct pair *d) {
  const uint16_t *b64 = PTX_MODS(PTX_MOD_B64);
  const struct ptx_operand row[4] = {r->at[1], r->at[0], q->at[1], q->at[0]};
  for (int k = 0; k < 3; k++) {
    struct ptx_operand up = emit_binary(l, PTX_SHL, PTX_MOD_B64, row[k], ptx_i(1));
    struct ptx_operand in = emit_binary(l, PTX_SHR, PTX_MOD_U64, row[k + 1], ptx_i(63));
    emit3(l, PTX_OR, b64, row[k], up, in);
  }
  emit3(l, PTX_SHL, b64, q->at[0], q->at[0], ptx_i(1));
  struct ptx_operand fits = int_compare(l, ICMP_UGE, 128, NULL, r->at, d->at);
  struct pair less = new_pair(l);
  emit_add(l, less.at, r->at, d->at, true);
  for (int k = 0; k < 2; k++) emit4(l, PTX_SELP, b64, r->at[k], less.at[k], r->at[k], fits);
  struct ptx_operand bit = emit_select(l, PTX_MOD_B64, ptx_i(1), ptx_i(0), fits);
  emit3(l, PTX_OR, b64, q->at[0], q->at[0], bit);
}

/* Unsigned division in 128 steps: q, which holds the dividend, becomes the quotient; returns the
 * remainder. */
static struct pair emit_division(struct lower *l, const struct pair *q, const struct pair *d) {
  struct pair r = new_pair(l);
  struct ptx_operand steps = ptx_r(emit_temp(l, PTX_B32));
  for (int k = 0; k < 2; k++) emit_copy(l, r.at[k].reg, ptx_i(0));
  emit_copy(l, steps.reg, ptx_i(128));
  uint32_t loop = emit_new_label(l);
  ptx_add_label(l->pf, loop);
  emit_division_step(l, q, &r, d);
  emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_S32), steps, steps, ptx_i(-1));
  emit_branch_if(l, emit_compare(l, PTX_MOD_NE, PTX_MOD_S32, steps, ptx_i(0)), false, loop);
  return r;
}

/* v = sign ? -v : v, with sign all ones or all zeros: (v ^ sign) - sign. */
static void emit_negate_if(struct lower *l, const struct pair *v, struct ptx_operand sign) {
  struct pair flipped = new_pair(l), signs = {{sign, sign}};
  emit_bitwise(l, PTX_XOR, flipped.at, v->at, signs.at);
  emit_add(l, v->at, flipped.at, signs.at, true);
}

static void emit_divrem(struct lower *l, enum op op, uint32_t bits, const struct ptx_operand to[2],
                        const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  bool is_signed = op == OP_SDIV || op == OP_SREM, remainder = op == OP_UREM || op == OP_SREM;
  struct pair q = own_pair(l, a, bits, is_signed), d = own_pair(l, b, bits, is_signed);
  struct ptx_operand sign_a = {0}, sign_b = {0};
  if (is_signed) {
    sign_a = sign_of(l, q.at[1]);
    sign_b = sign_of(l, d.at[1]);
    emit_negate_if(l, &q, sign_a);
    emit_negate_if(l, &d, sign_b);
  }
  struct pair r = emit_division(l, &q, &d);
  if (is_signed && remainder) emit_negate_if(l, &r, sign_a);
  else if (is_signed) emit_negate_if(l, &q, emit_binary(l, PTX_XOR, PTX_MOD_B64, sign_a, sign_b));
  for (int k = 0; k < 2; k++) emit_copy(l, to[k].reg, remainder ? r.at[k] : q.at[k]);
}

void wide_binary(struct lower *l, enum op op, uint32_t bits, const struct ptx_operand to[2],
                 const struct ptx_operand a[2], const struct ptx_operand b[2]) {
  struct part high = part_high(bits);
  struct ptx_operand extended[2] = {a[0], a[1]};
  switch (op) {
    case OP_ADD:
    case OP_SUB: emit_add(l, to, a, b, op == OP_SUB); break;
    case OP_MUL: emit_mul(l, to, a, b); break;
    case OP_AND: emit_bitwise(l, PTX_AND, to, a, b); break;
    case OP_OR: emit_bitwise(l, PTX_OR, to, a, b); break;
    case OP_XOR: emit_bitwise(l, PTX_XOR, to, a, b); break;
    case OP_LSHR:
    case OP_ASHR:
      extended[1] = emit_extend(l, a[1], &high, 64, op == OP_ASHR);
      emit_shift(l, op, to, extended, b[0]);
      break;
    case OP_SHL: emit_shift(l, op, to, a, b[0]); break;
    default: emit_divrem(l, op, bits, to, a, b); break;
  }
}

/* --- Conversions --- */

/* Unsigned 128 bits to float: after normalization the high 64 bits, with a lowest bit that is set
 * if any other bit is, round as the whole value would; the scaling by a power of two is exact. */
static void emit_unsigned_to_float(struct lower *l, uint16_t type, bool to_odd, struct ptx_reg to,
                                   const struct pair *v) {
  bool is_double = type == PTX_MOD_F64;
  struct pair shifted = new_pair(l);
  struct ptx_operand zeros =
      emit_value(l, PTX_MOD_B32, PTX_CLZ, PTX_MODS(PTX_MOD_B64), &v->at[1], 1);
  emit_shift(l, OP_SHL, shifted.at, v->at, emit_convert(l, PTX_MOD_U64, PTX_MOD_U32, zeros));
  struct ptx_operand inexact = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, shifted.at[0], ptx_i(0));
  struct ptx_operand sticky = emit_select(l, PTX_MOD_B64, ptx_i(1), ptx_i(0), inexact);
  struct ptx_operand top = emit_binary(l, PTX_OR, PTX_MOD_B64, shifted.at[1], sticky);

  struct ptx_operand scaled =
      to_odd ? float_from_int64_to_odd(l, top, false)
             : emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RN, type, PTX_MOD_U64), &top, 1);
  struct ptx_operand exponent =
      emit_binary(l, PTX_SUB, PTX_MOD_S32, ptx_i(is_double ? 1023 + 64 : 127 + 64), zeros);
  exponent = emit_binary(l, PTX_SHL, PTX_MOD_B32, exponent, ptx_i(is_double ? 20 : 23));
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_RN, type), ptx_r(to), scaled,
        float_of_word(l, type, exponent));
}

void wide_to_float(struct lower *l, uint32_t bits, bool is_signed, bool is_double, bool to_odd,
                   struct ptx_reg to, const struct ptx_operand v[2]) {
  uint16_t type = is_double ? PTX_MOD_F64 : PTX_MOD_F32;
  struct pair x = own_pair(l, v, bits, is_signed);
  if (!is_signed) {
    emit_unsigned_to_float(l, type, to_odd, to, &x);
    return;
  }
  struct ptx_operand sign = sign_of(l, x.at[1]);
  struct ptx_operand negative = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, sign, ptx_i(0));
  emit_negate_if(l, &x, sign);
  struct ptx_reg magnitude = emit_temp(l, mod_class(type));
  emit_unsigned_to_float(l, type, to_odd, magnitude, &x);
  struct ptx_operand minus = emit_unary(l, PTX_NEG, type, ptx_r(magnitude));
  emit4(l, PTX_SELP, PTX_MODS(type), ptx_r(to), minus, ptx_r(magnitude), negative);
}

/* Float to 128 bits: the high half is the quotient by 2^64, the low half the remainder; both are
 * exact. Signed values are converted by magnitude. */
void wide_from_float(struct lower *l, bool is_signed, bool is_double,
                     const struct ptx_operand to[2], struct ptx_operand v) {
  uint16_t type = is_double ? PTX_MOD_F64 : PTX_MOD_F32;
  const uint16_t *to_u64 = PTX_MODS(PTX_MOD_RZI, PTX_MOD_U64, type);
  struct ptx_operand x =
      is_signed ? emit_unary(l, PTX_ABS, type, v) : emit_unary(l, PTX_MOV, type, v);
  struct ptx_operand scaled = emit_value(l, type, PTX_MUL, PTX_MODS(PTX_MOD_RN, type),
                                         PTX_OPS(x, float_power_of_two(type, -64)));
  struct ptx_operand whole =
      emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, type), &scaled, 1);
  struct ptx_operand minus = float_power_of_two(type, 64);
  minus.imm = (int64_t)((uint64_t)minus.imm | (is_double ? UINT64_C(1) << 63 : UINT64_C(1) << 31));
  struct ptx_operand rest =
      emit_value(l, type, PTX_FMA, PTX_MODS(PTX_MOD_RN, type), PTX_OPS(whole, minus, x));
  struct pair result;
  result.at[1] = emit_value(l, PTX_MOD_U64, PTX_CVT, to_u64, &whole, 1);
  result.at[0] = emit_value(l, PTX_MOD_U64, PTX_CVT, to_u64, &rest, 1);
  if (is_signed) {
    struct ptx_operand negative = emit_compare(l, PTX_MOD_LT, type, v, float_immediate(type, 0, 0));
    emit_negate_if(l, &result, emit_select(l, PTX_MOD_B64, ptx_i(-1), ptx_i(0), negative));
  }
  for (int k = 0; k < 2; k++) emit_copy(l, to[k].reg, result.at[k]);
}
