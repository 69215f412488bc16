/* Arithmetic that notices overflow, for integers of any width up to 128 bits: the with.overflow
 * intrinsics, and those that saturate.
 *
 * Where the width leaves room in the register, the operation is done exactly there and has
 * overflowed if extending the low bits again changes it. Where it fills the register, the signs or
 * a comparison tell (Hacker's Delight, 2-13); multiplications are done twice as wide. */
#include "codegen/intrinsic.h"

static bool is_signed_kind(int what) {
  return what == OVERFLOW_SADD || what == OVERFLOW_SSUB || what == OVERFLOW_SMUL;
}

static enum op op_of(int what) {
  return what == OVERFLOW_SADD || what == OVERFLOW_UADD   ? OP_ADD
         : what == OVERFLOW_SSUB || what == OVERFLOW_USUB ? OP_SUB
                                                          : OP_MUL;
}

static struct ptx_operand extend(struct lower *l, struct ptx_operand v, const struct part *p,
                                 bool is_signed) {
  struct ptx_operand x =
      is_signed ? lower_sext_part(l, v, p, p->container) : lower_zext_part(l, v, p, p->container);
  return intrinsic_in_reg(l, x, p);
}

static struct ptx_reg pred_or(struct lower *l, struct ptx_reg a, struct ptx_reg b) {
  struct ptx_reg r = lower_temp(l, PTX_PRED);
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(r), ptx_r(a), ptx_r(b));
  return r;
}

static struct ptx_reg compare(struct lower *l, uint16_t how, uint16_t type, struct ptx_operand a,
                              struct ptx_operand b) {
  struct ptx_reg p = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SETP, PTX_MODS(how, type), ptx_r(p), a, b);
  return p;
}

static struct ptx_reg binary(struct lower *l, enum ptx_op op, const struct part *p, uint16_t mod,
                             struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg r = lower_new_reg(l, p);
  emit3(l, op, PTX_MODS(mod), ptx_r(r), a, b);
  return r;
}

/* Whether extending the low p->bits of v changes it. */
static struct ptx_reg leaves_width(struct lower *l, struct ptx_reg v, const struct part *p,
                                   bool is_signed) {
  struct ptx_operand again = extend(l, ptx_r(v), p, is_signed);
  return compare(l, PTX_MOD_NE, part_bits_mod(p), again, ptx_r(v));
}

/* ---- One register ---- */

/* The signs of a and b (sum), or of a and the negated b (difference), are equal and the result's is
 * not. */
static struct ptx_reg sign_overflow(struct lower *l, bool subtract, const struct part *p,
                                    struct ptx_operand a, struct ptx_operand b, struct ptx_reg r) {
  uint16_t bits = part_bits_mod(p);
  struct ptx_reg x = binary(l, PTX_XOR, p, bits, a, ptx_r(r));
  struct ptx_reg y = binary(l, PTX_XOR, p, bits, b, subtract ? a : ptx_r(r));
  struct ptx_reg both = binary(l, PTX_AND, p, bits, ptx_r(x), ptx_r(y));
  return compare(l, PTX_MOD_LT, part_signed_mod(p), ptx_r(both), ptx_i(0));
}

static struct ptx_reg add_sub(struct lower *l, int what, const struct part *p, struct ptx_reg to,
                              struct ptx_operand a, struct ptx_operand b) {
  bool is_signed = is_signed_kind(what), subtract = op_of(what) == OP_SUB;
  a = extend(l, a, p, is_signed);
  b = extend(l, b, p, is_signed);
  struct ptx_reg r = binary(l, subtract ? PTX_SUB : PTX_ADD, p, part_signed_mod(p), a, b);
  lower_copy(l, to, ptx_r(r));
  if (p->bits < p->container) return leaves_width(l, r, p, is_signed);
  if (is_signed) return sign_overflow(l, subtract, p, a, b, r);
  return subtract ? compare(l, PTX_MOD_LT, part_unsigned_mod(p), a, b)
                  : compare(l, PTX_MOD_LT, part_unsigned_mod(p), ptx_r(r), a);
}

/* Up to 32 bits: the product fits a register of twice the width. */
static struct ptx_reg multiply_narrow(struct lower *l, bool is_signed, const struct part *p,
                                      struct ptx_reg to, struct ptx_operand a,
                                      struct ptx_operand b) {
  struct part twice = {.kind = PART_INT, .bits = p->bits, .container = (uint8_t)(p->container * 2)};
  struct ptx_reg product = lower_new_reg(l, &twice);
  uint16_t type = is_signed ? part_signed_mod(p) : part_unsigned_mod(p);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_WIDE, type), ptx_r(product), extend(l, a, p, is_signed),
        extend(l, b, p, is_signed));
  emit2(l, PTX_CVT, PTX_MODS(part_unsigned_mod(p), part_unsigned_mod(&twice)), ptx_r(to),
        ptx_r(product));
  return leaves_width(l, product, &twice, is_signed);
}

/* 33 to 64 bits: the high half must be the extension of the low one. */
static struct ptx_reg multiply_64(struct lower *l, bool is_signed, const struct part *p,
                                  struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg low = lower_temp(l, PTX_B64), high = lower_temp(l, PTX_B64);
  uint16_t type = is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  a = extend(l, a, p, is_signed);
  b = extend(l, b, p, is_signed);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_LO, type), ptx_r(low), a, b);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_HI, type), ptx_r(high), a, b);
  struct ptx_operand expected = ptx_i(0);
  if (is_signed)
    expected = ptx_r(binary(l, PTX_SHR, &intrinsic_i64, PTX_MOD_S64, ptx_r(low), ptx_i(63)));
  lower_copy(l, to, ptx_r(low));
  struct ptx_reg over = compare(l, PTX_MOD_NE, PTX_MOD_B64, ptx_r(high), expected);
  return p->bits < 64 ? pred_or(l, over, leaves_width(l, low, p, is_signed)) : over;
}

/* Modulo 2: true is 1 unsigned and -1 signed. */
static struct ptx_reg overflow_i1(struct lower *l, int what, struct ptx_reg to,
                                  struct ptx_operand a, struct ptx_operand b) {
  const uint16_t *pred = PTX_MODS(PTX_MOD_PRED);
  struct ptx_reg over = lower_temp(l, PTX_PRED), other = lower_temp(l, PTX_PRED);
  enum op op = op_of(what);
  emit3(l, op == OP_MUL ? PTX_AND : PTX_XOR, pred, ptx_r(to), a, b);
  if (op == OP_SUB) { /* 0 - 1 */
    emit2(l, PTX_NOT, pred, ptx_r(other), a);
    emit3(l, PTX_AND, pred, ptx_r(over), b, ptx_r(other));
  } else if (what == OVERFLOW_UMUL) {
    emit3(l, PTX_XOR, pred, ptx_r(over), a, a);
  } else {
    emit3(l, PTX_AND, pred, ptx_r(over), a, b);
  }
  return over;
}

/* ---- Two registers ---- */

struct pair {
  struct ptx_operand at[2];
};

static struct part high_part(uint32_t bits) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bits - 64), .container = 64};
}

static struct pair extend_wide(struct lower *l, const struct ptx_operand *v, uint32_t bits,
                               bool is_signed) {
  struct part high = high_part(bits);
  return (struct pair){
      {intrinsic_in_reg(l, v[0], &intrinsic_i64), extend(l, v[1], &high, is_signed)}};
}

static struct pair wide(struct lower *l, enum op op, struct pair a, struct pair b) {
  struct ptx_reg r[2] = {lower_temp(l, PTX_B64), lower_temp(l, PTX_B64)};
  lower_wide_binary(l, op, 128, r, a.at, b.at);
  return (struct pair){{ptx_r(r[0]), ptx_r(r[1])}};
}

static struct ptx_reg is_nonzero(struct lower *l, struct ptx_operand v) {
  return compare(l, PTX_MOD_NE, PTX_MOD_B64, v, ptx_i(0));
}

static struct ptx_reg add_sub_wide(struct lower *l, int what, uint32_t bits, struct pair a,
                                   struct pair b, struct pair *r) {
  bool is_signed = is_signed_kind(what), subtract = op_of(what) == OP_SUB;
  struct part high = high_part(bits);
  *r = wide(l, op_of(what), a, b);
  if (bits < 128) return leaves_width(l, r->at[1].reg, &high, is_signed);
  if (is_signed) return sign_overflow(l, subtract, &intrinsic_i64, a.at[1], b.at[1], r->at[1].reg);
  return subtract ? intrinsic_compare(l, ICMP_ULT, 128, a.at, b.at)
                  : intrinsic_compare(l, ICMP_ULT, 128, r->at, a.at);
}

static struct ptx_reg mul64(struct lower *l, uint16_t half, struct ptx_operand a,
                            struct ptx_operand b) {
  struct ptx_reg r = lower_temp(l, PTX_B64);
  emit3(l, PTX_MUL, PTX_MODS(half, PTX_MOD_U64), ptx_r(r), a, b);
  return r;
}

/* Unsigned 128 × 128: of the four products, those that reach beyond 128 bits must vanish.
 *
 *            a1b0.hi a1b0.lo
 *            a0b1.hi a0b1.lo
 *    a1b1    a0b0.hi         a0b0.lo */
static struct ptx_reg multiply_unsigned_wide(struct lower *l, struct pair a, struct pair b,
                                             struct pair *r) {
  struct ptx_reg low = mul64(l, PTX_MOD_LO, a.at[0], b.at[0]);
  struct ptx_reg middle = mul64(l, PTX_MOD_HI, a.at[0], b.at[0]), sums[2];
  struct ptx_reg both = lower_temp(l, PTX_PRED);
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_PRED), ptx_r(both), ptx_r(is_nonzero(l, a.at[1])),
        ptx_r(is_nonzero(l, b.at[1])));
  for (int k = 0; k < 2; k++) {
    struct ptx_operand x = k ? a.at[0] : a.at[1], y = k ? b.at[1] : b.at[0];
    struct ptx_reg cross = mul64(l, PTX_MOD_LO, x, y), beyond = mul64(l, PTX_MOD_HI, x, y);
    both = pred_or(l, both, is_nonzero(l, ptx_r(beyond)));
    sums[k] = binary(l, PTX_ADD, &intrinsic_i64, PTX_MOD_S64, ptx_r(middle), ptx_r(cross));
    both = pred_or(l, both, compare(l, PTX_MOD_LT, PTX_MOD_U64, ptx_r(sums[k]), ptx_r(cross)));
    middle = sums[k];
  }
  *r = (struct pair){{ptx_r(low), ptx_r(middle)}};
  return both;
}

/* v, or -v where `sign` is all ones. */
static struct pair negated_if(struct lower *l, struct pair v, struct ptx_reg sign) {
  struct pair signs = {{ptx_r(sign), ptx_r(sign)}};
  return wide(l, OP_SUB, wide(l, OP_XOR, v, signs), signs);
}

static struct ptx_reg sign_of(struct lower *l, struct pair v) {
  return binary(l, PTX_SHR, &intrinsic_i64, PTX_MOD_S64, v.at[1], ptx_i(63));
}

/* Magnitudes multiplied; the signed result is wrong if its sign is, unless it is zero. */
static struct ptx_reg multiply_signed_wide(struct lower *l, struct pair a, struct pair b,
                                           struct pair *r) {
  struct ptx_reg sign_a = sign_of(l, a), sign_b = sign_of(l, b);
  struct ptx_reg sign =
      binary(l, PTX_XOR, &intrinsic_i64, PTX_MOD_B64, ptx_r(sign_a), ptx_r(sign_b));
  struct pair magnitude;
  struct ptx_reg over =
      multiply_unsigned_wide(l, negated_if(l, a, sign_a), negated_if(l, b, sign_b), &magnitude);
  *r = negated_if(l, magnitude, sign);
  struct ptx_reg wrong = compare(l, PTX_MOD_NE, PTX_MOD_B64, ptx_r(sign_of(l, *r)), ptx_r(sign));
  struct ptx_reg any =
      binary(l, PTX_OR, &intrinsic_i64, PTX_MOD_B64, magnitude.at[0], magnitude.at[1]);
  struct ptx_reg turned = lower_temp(l, PTX_PRED);
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_PRED), ptx_r(turned), ptx_r(wrong),
        ptx_r(is_nonzero(l, ptx_r(any))));
  return pred_or(l, over, turned);
}

static struct ptx_reg overflow_wide(struct lower *l, int what, uint32_t bits,
                                    const struct ptx_operand *to, const struct ptx_operand *a,
                                    const struct ptx_operand *b) {
  bool is_signed = is_signed_kind(what);
  struct pair x = extend_wide(l, a, bits, is_signed), y = extend_wide(l, b, bits, is_signed), r;
  struct ptx_reg over;
  if (op_of(what) != OP_MUL) {
    over = add_sub_wide(l, what, bits, x, y, &r);
  } else {
    over = is_signed ? multiply_signed_wide(l, x, y, &r) : multiply_unsigned_wide(l, x, y, &r);
    struct part high = high_part(bits);
    if (bits < 128) over = pred_or(l, over, leaves_width(l, r.at[1].reg, &high, is_signed));
  }
  for (int k = 0; k < 2; k++) lower_copy(l, to[k].reg, r.at[k]);
  return over;
}

/* The result modulo 2^bits into `to`; returns whether it overflowed. */
static struct ptx_reg overflow_lane(struct lower *l, int what, uint32_t bits, const struct part *p,
                                    const struct ptx_operand *to, const struct ptx_operand *a,
                                    const struct ptx_operand *b) {
  if (p->kind == PART_I1) return overflow_i1(l, what, to[0].reg, a[0], b[0]);
  if (bits > 64) return overflow_wide(l, what, bits, to, a, b);
  if (op_of(what) != OP_MUL) return add_sub(l, what, p, to[0].reg, a[0], b[0]);
  bool is_signed = is_signed_kind(what);
  return p->container <= 32 ? multiply_narrow(l, is_signed, p, to[0].reg, a[0], b[0])
                            : multiply_64(l, is_signed, p, to[0].reg, a[0], b[0]);
}

void lower_i_overflow(struct lower *l, const struct nvm_inst *i, int argument) {
  struct nvm_type value = type_element(&l->module->types, i->type, 0);
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  const struct ptx_reg *flags = result + lower_type(l, value).count;
  struct lanes to = lower_lane_targets(l, value, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, value), n = to.parts_each;
  for (uint32_t k = 0; k < to.count; k++) {
    struct ptx_reg over =
        overflow_lane(l, argument, bits, &p, &to.at[k * n], &a.at[k * n], &b.at[k * n]);
    lower_copy(l, flags[k], ptx_r(over));
  }
  lower_join(l, value, result, to);
}

/* ---- Saturation ---- */

/* The largest signed number of the width where a is not negative, else the smallest: a's sign,
 * spread, xor the largest. */
static struct ptx_reg signed_limit(struct lower *l, const struct part *p, struct ptx_operand a) {
  struct ptx_operand x = extend(l, a, p, true);
  struct ptx_reg sign = binary(l, PTX_SHR, p, part_signed_mod(p), x, ptx_i(p->container - 1));
  int64_t largest = (int64_t)((UINT64_C(1) << (p->bits - 1)) - 1);
  return binary(l, PTX_XOR, p, part_bits_mod(p), ptx_r(sign), ptx_i(largest));
}

/* What a part saturates to: that of a's sign; or all ones (sum), zero (difference). */
static void limits(struct lower *l, bool is_signed, bool to_zero, uint32_t bits,
                   const struct part *p, const struct ptx_operand *a, struct ptx_operand limit[2]) {
  if (!is_signed) {
    limit[0] = limit[1] = ptx_i(to_zero ? 0 : -1);
  } else if (bits <= 64) {
    limit[0] = ptx_r(signed_limit(l, p, a[0]));
  } else {
    struct part high = high_part(bits);
    struct ptx_operand top = extend(l, a[1], &high, true);
    struct ptx_reg sign = binary(l, PTX_SHR, &high, PTX_MOD_S64, top, ptx_i(63));
    limit[0] = ptx_r(binary(l, PTX_XOR, &high, PTX_MOD_B64, ptx_r(sign), ptx_i(-1)));
    limit[1] = ptx_r(signed_limit(l, &high, a[1]));
  }
}

static void select_limit(struct lower *l, uint32_t parts, const struct part *p,
                         const struct ptx_operand *to, const struct ptx_operand *limit,
                         const struct ptx_operand *value, struct ptx_reg over) {
  for (uint32_t k = 0; k < parts; k++)
    intrinsic_select(l, parts == 2 ? &intrinsic_i64 : p, to[k].reg, limit[k], value[k], over);
}

static void saturate_i1(struct lower *l, int what, struct ptx_reg to, struct ptx_operand a,
                        struct ptx_operand b) {
  const uint16_t *pred = PTX_MODS(PTX_MOD_PRED);
  struct ptx_reg other = lower_temp(l, PTX_PRED);
  if (op_of(what) == OP_ADD) {
    emit3(l, PTX_OR, pred, ptx_r(to), a, b);
    return;
  }
  emit2(l, PTX_NOT, pred, ptx_r(other), b);
  emit3(l, PTX_AND, pred, ptx_r(to), a, ptx_r(other));
}

void lower_i_saturating(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  bool is_signed = is_signed_kind(argument), subtract = op_of(argument) == OP_SUB;
  for (uint32_t k = 0; k < to.count * n; k += n) {
    if (p.kind == PART_I1) {
      saturate_i1(l, argument, to.at[k].reg, a.at[k], b.at[k]);
    } else if (is_signed && bits == 32) {
      emit3(l, subtract ? PTX_SUB : PTX_ADD, PTX_MODS(PTX_MOD_SAT, PTX_MOD_S32), to.at[k],
            intrinsic_in_reg(l, a.at[k], &p), b.at[k]);
    } else {
      struct ptx_operand value[2], limit[2];
      for (uint32_t j = 0; j < n; j++)
        value[j] = ptx_r(lower_new_reg(l, n == 2 ? &intrinsic_i64 : &p));
      struct ptx_reg over = overflow_lane(l, argument, bits, &p, value, &a.at[k], &b.at[k]);
      limits(l, is_signed, subtract, bits, &p, &a.at[k], limit);
      select_limit(l, n, &p, &to.at[k], limit, value, over);
    }
  }
  lower_join(l, i->type, result, to);
}

/* A shift has overflowed if shifting back does not give the operand. */
void lower_i_saturating_shift(struct lower *l, const struct nvm_inst *i, int argument) {
  bool is_signed = argument != 0;
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  enum op back_op = is_signed ? OP_ASHR : OP_LSHR;
  for (uint32_t k = 0; k < to.count * n; k += n) {
    struct ptx_operand value[2], back[2], limit[2];
    const struct part *each = n == 2 ? &intrinsic_i64 : &p;
    if (p.kind == PART_I1) { /* shifts by 1 are poison */
      lower_copy(l, to.at[k].reg, a.at[k]);
      continue;
    }
    for (uint32_t j = 0; j < n; j++) {
      value[j] = ptx_r(lower_new_reg(l, each));
      back[j] = ptx_r(lower_new_reg(l, each));
    }
    if (n == 2) {
      lower_wide_binary(l, OP_SHL, bits, (struct ptx_reg[]){value[0].reg, value[1].reg}, &a.at[k],
                        &b.at[k]);
      lower_wide_binary(l, back_op, bits, (struct ptx_reg[]){back[0].reg, back[1].reg}, value,
                        &b.at[k]);
    } else {
      lower_binary_part(l, OP_SHL, 0, &p, value[0].reg, a.at[k], b.at[k]);
      lower_binary_part(l, back_op, 0, &p, back[0].reg, value[0], b.at[k]);
    }
    struct ptx_reg over = intrinsic_compare(l, ICMP_NE, bits, back, &a.at[k]);
    limits(l, is_signed, false, bits, &p, &a.at[k], limit);
    select_limit(l, n, &p, &to.at[k], limit, value, over);
  }
  lower_join(l, i->type, result, to);
}
