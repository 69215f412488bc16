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

static uint16_t type_of(const struct part *p, bool is_signed) {
  return is_signed ? part_signed_mod(p) : part_unsigned_mod(p);
}

static struct ptx_operand extend(struct lower *l, struct ptx_operand v, const struct part *p,
                                 bool is_signed) {
  return lower_in_reg(l, lower_extend(l, v, p, p->container, is_signed), p);
}

static struct ptx_operand either(struct lower *l, struct ptx_operand a, struct ptx_operand b) {
  return emit_binary(l, PTX_OR, PTX_MOD_PRED, a, b);
}

/* Whether extending the low p->bits of v changes it. */
static struct ptx_operand leaves_width(struct lower *l, struct ptx_operand v, const struct part *p,
                                       bool is_signed) {
  return emit_compare(l, PTX_MOD_NE, part_bits_mod(p), extend(l, v, p, is_signed), v);
}

/* ---- One register ---- */

/* The signs of a and b (sum), or of a and the negated b (difference), are equal and the result's is
 * not. */
static struct ptx_operand sign_overflow(struct lower *l, bool subtract, const struct part *p,
                                        struct ptx_operand a, struct ptx_operand b,
                                        struct ptx_operand r) {
  uint16_t bits = part_bits_mod(p);
  struct ptx_operand x = emit_binary(l, PTX_XOR, bits, a, r);
  struct ptx_operand y = emit_binary(l, PTX_XOR, bits, b, subtract ? a : r);
  return emit_compare(l, PTX_MOD_LT, part_signed_mod(p), emit_binary(l, PTX_AND, bits, x, y),
                      ptx_i(0));
}

static struct ptx_operand add_sub(struct lower *l, int what, const struct part *p,
                                  struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  bool is_signed = is_signed_kind(what), subtract = op_of(what) == OP_SUB;
  a = extend(l, a, p, is_signed);
  b = extend(l, b, p, is_signed);
  struct ptx_operand r = emit_binary(l, subtract ? PTX_SUB : PTX_ADD, part_signed_mod(p), a, b);
  lower_copy(l, to, r);
  if (p->bits < p->container) return leaves_width(l, r, p, is_signed);
  if (is_signed) return sign_overflow(l, subtract, p, a, b, r);
  return emit_compare(l, PTX_MOD_LT, part_unsigned_mod(p), subtract ? a : r, subtract ? b : a);
}

/* Up to 32 bits: the product fits a register of twice the width. */
static struct ptx_operand multiply_narrow(struct lower *l, bool is_signed, const struct part *p,
                                          struct ptx_reg to, struct ptx_operand a,
                                          struct ptx_operand b) {
  struct part twice = {.kind = PART_INT, .bits = p->bits, .container = (uint8_t)(p->container * 2)};
  uint16_t type = type_of(p, is_signed);
  a = extend(l, a, p, is_signed);
  b = extend(l, b, p, is_signed);
  struct ptx_operand product = emit_value(l, part_bits_mod(&twice), PTX_MUL,
                                          PTX_MODS(PTX_MOD_WIDE, type), PTX_OPS(a, b));
  emit2(l, PTX_CVT, PTX_MODS(part_unsigned_mod(p), part_unsigned_mod(&twice)), ptx_r(to), product);
  return leaves_width(l, product, &twice, is_signed);
}

/* 33 to 64 bits: the high half must be the extension of the low one. */
static struct ptx_operand multiply_64(struct lower *l, bool is_signed, const struct part *p,
                                      struct ptx_reg to, struct ptx_operand a,
                                      struct ptx_operand b) {
  uint16_t type = is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  a = extend(l, a, p, is_signed);
  b = extend(l, b, p, is_signed);
  struct ptx_operand low = emit_value(l, type, PTX_MUL, PTX_MODS(PTX_MOD_LO, type), PTX_OPS(a, b));
  struct ptx_operand high = emit_value(l, type, PTX_MUL, PTX_MODS(PTX_MOD_HI, type), PTX_OPS(a, b));
  struct ptx_operand expected =
      is_signed ? emit_binary(l, PTX_SHR, PTX_MOD_S64, low, ptx_i(63)) : ptx_i(0);
  lower_copy(l, to, low);
  struct ptx_operand over = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, high, expected);
  return p->bits < 64 ? either(l, over, leaves_width(l, low, p, is_signed)) : over;
}

/* Modulo 2: true is 1 unsigned and -1 signed. */
static struct ptx_operand overflow_i1(struct lower *l, int what, struct ptx_operand to,
                                      struct ptx_operand a, struct ptx_operand b) {
  enum op op = op_of(what);
  emit3(l, op == OP_MUL ? PTX_AND : PTX_XOR, PTX_MODS(PTX_MOD_PRED), to, a, b);
  if (op == OP_SUB) /* 0 - 1 */
    return emit_binary(l, PTX_AND, PTX_MOD_PRED, b, emit_unary(l, PTX_NOT, PTX_MOD_PRED, a));
  return what == OVERFLOW_UMUL ? emit_binary(l, PTX_XOR, PTX_MOD_PRED, a, a)
                               : emit_binary(l, PTX_AND, PTX_MOD_PRED, a, b);
}

/* ---- Two registers ---- */

struct pair {
  struct ptx_operand at[2];
};

static struct pair extend_wide(struct lower *l, const struct ptx_operand *v, uint32_t bits,
                               bool is_signed) {
  struct part high = high_part(bits);
  struct pair r;
  r.at[0] = lower_in_reg(l, v[0], &part_i64);
  r.at[1] = extend(l, v[1], &high, is_signed);
  return r;
}

static struct pair wide(struct lower *l, enum op op, struct pair a, struct pair b) {
  struct pair r = {{ptx_r(lower_temp(l, PTX_B64)), ptx_r(lower_temp(l, PTX_B64))}};
  lower_wide_binary(l, op, 128, r.at, a.at, b.at);
  return r;
}

static struct ptx_operand is_nonzero(struct lower *l, struct ptx_operand v) {
  return emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, v, ptx_i(0));
}

static struct ptx_operand add_sub_wide(struct lower *l, int what, uint32_t bits, struct pair a,
                                       struct pair b, struct pair *r) {
  bool is_signed = is_signed_kind(what), subtract = op_of(what) == OP_SUB;
  struct part high = high_part(bits);
  *r = wide(l, op_of(what), a, b);
  if (bits < 128) return leaves_width(l, r->at[1], &high, is_signed);
  if (is_signed) return sign_overflow(l, subtract, &part_i64, a.at[1], b.at[1], r->at[1]);
  return lower_compare(l, ICMP_ULT, 128, NULL, subtract ? a.at : r->at, subtract ? b.at : a.at);
}

static struct ptx_operand mul64(struct lower *l, uint16_t half, struct ptx_operand a,
                                struct ptx_operand b) {
  return emit_value(l, PTX_MOD_U64, PTX_MUL, PTX_MODS(half, PTX_MOD_U64), PTX_OPS(a, b));
}

/* Unsigned 128 × 128: of the four products, those that reach beyond 128 bits must vanish.
 *
 *            a1b0.hi a1b0.lo
 *            a0b1.hi a0b1.lo
 *    a1b1    a0b0.hi         a0b0.lo */
static struct ptx_operand multiply_unsigned_wide(struct lower *l, struct pair a, struct pair b,
                                                 struct pair *r) {
  r->at[0] = mul64(l, PTX_MOD_LO, a.at[0], b.at[0]);
  struct ptx_operand middle = mul64(l, PTX_MOD_HI, a.at[0], b.at[0]);
  struct ptx_operand over = is_nonzero(l, a.at[1]), other = is_nonzero(l, b.at[1]);
  over = emit_binary(l, PTX_AND, PTX_MOD_PRED, over, other);
  for (int k = 0; k < 2; k++) {
    struct ptx_operand x = k ? a.at[0] : a.at[1], y = k ? b.at[1] : b.at[0];
    struct ptx_operand cross = mul64(l, PTX_MOD_LO, x, y), beyond = mul64(l, PTX_MOD_HI, x, y);
    over = either(l, over, is_nonzero(l, beyond));
    middle = emit_binary(l, PTX_ADD, PTX_MOD_S64, middle, cross);
    over = either(l, over, emit_compare(l, PTX_MOD_LT, PTX_MOD_U64, middle, cross));
  }
  r->at[1] = middle;
  return over;
}

/* v, or -v where `sign` is all ones. */
static struct pair negated_if(struct lower *l, struct pair v, struct ptx_operand sign) {
  struct pair signs = {{sign, sign}};
  return wide(l, OP_SUB, wide(l, OP_XOR, v, signs), signs);
}

static struct ptx_operand sign_of(struct lower *l, struct pair v) {
  return emit_binary(l, PTX_SHR, PTX_MOD_S64, v.at[1], ptx_i(63));
}

/* Magnitudes multiplied; the signed result is wrong if its sign is, unless it is zero. */
static struct ptx_operand multiply_signed_wide(struct lower *l, struct pair a, struct pair b,
                                               struct pair *r) {
  struct ptx_operand sign_a = sign_of(l, a), sign_b = sign_of(l, b);
  struct ptx_operand sign = emit_binary(l, PTX_XOR, PTX_MOD_B64, sign_a, sign_b);
  struct pair magnitude;
  a = negated_if(l, a, sign_a);
  b = negated_if(l, b, sign_b);
  struct ptx_operand over = multiply_unsigned_wide(l, a, b, &magnitude);
  *r = negated_if(l, magnitude, sign);
  struct ptx_operand wrong = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, sign_of(l, *r), sign);
  struct ptx_operand any = emit_binary(l, PTX_OR, PTX_MOD_B64, magnitude.at[0], magnitude.at[1]);
  struct ptx_operand turned = emit_binary(l, PTX_AND, PTX_MOD_PRED, wrong, is_nonzero(l, any));
  return either(l, over, turned);
}

static struct ptx_operand overflow_wide(const struct lane *x, const struct ptx_operand *to) {
  struct lower *l = x->l;
  bool is_signed = is_signed_kind(x->argument);
  struct pair a = extend_wide(l, x->a, x->bits, is_signed), b = extend_wide(l, x->b, x->bits, is_signed);
  struct pair r;
  struct ptx_operand over;
  if (op_of(x->argument) != OP_MUL) {
    over = add_sub_wide(l, x->argument, x->bits, a, b, &r);
  } else {
    over = is_signed ? multiply_signed_wide(l, a, b, &r) : multiply_unsigned_wide(l, a, b, &r);
    struct part high = high_part(x->bits);
    if (x->bits < 128) over = either(l, over, leaves_width(l, r.at[1], &high, is_signed));
  }
  for (int k = 0; k < 2; k++) lower_copy(l, to[k].reg, r.at[k]);
  return over;
}

/* The result modulo 2^bits into `to`; returns whether it overflowed. */
static struct ptx_operand overflow(const struct lane *x, const struct ptx_operand *to) {
  const struct part *p = &x->part;
  bool is_signed = is_signed_kind(x->argument);
  if (p->kind == PART_I1) return overflow_i1(x->l, x->argument, to[0], x->a[0], x->b[0]);
  if (x->bits > 64) return overflow_wide(x, to);
  if (op_of(x->argument) != OP_MUL) return add_sub(x->l, x->argument, p, to[0].reg, x->a[0], x->b[0]);
  return p->container <= 32 ? multiply_narrow(x->l, is_signed, p, to[0].reg, x->a[0], x->b[0])
                            : multiply_64(x->l, is_signed, p, to[0].reg, x->a[0], x->b[0]);
}

static void overflow_lane(const struct lane *x) {
  lower_copy(x->l, x->second[0].reg, overflow(x, x->to));
}

void lower_i_overflow(struct lower *l, const struct nvm_inst *i, int argument) {
  intrinsic_lanes(l, i, argument, 2, overflow_lane);
}

/* ---- Saturation ---- */

/* The largest signed number of the width where a is not negative, else the smallest: a's sign,
 * spread, xor the largest. */
static struct ptx_operand signed_limit(struct lower *l, const struct part *p,
                                       struct ptx_operand a) {
  struct ptx_operand sign = emit_binary(l, PTX_SHR, part_signed_mod(p), extend(l, a, p, true),
                                        ptx_i(p->container - 1));
  int64_t largest = (int64_t)((UINT64_C(1) << (p->bits - 1)) - 1);
  return emit_binary(l, PTX_XOR, part_bits_mod(p), sign, ptx_i(largest));
}

/* to = over ? limit : value; the limit is that of a's sign, or all ones (sum), zero (difference). */
static void saturate(const struct lane *x, bool is_signed, bool to_zero,
                     const struct ptx_operand *value, struct ptx_operand over) {
  struct lower *l = x->l;
  struct ptx_operand limit[2] = {ptx_i(to_zero ? 0 : -1), ptx_i(to_zero ? 0 : -1)};
  if (is_signed && x->bits <= 64) {
    limit[0] = signed_limit(l, &x->part, x->a[0]);
  } else if (is_signed) {
    struct part high = high_part(x->bits);
    struct ptx_operand top = extend(l, x->a[1], &high, true);
    struct ptx_operand sign = emit_binary(l, PTX_SHR, PTX_MOD_S64, top, ptx_i(63));
    limit[0] = emit_binary(l, PTX_XOR, PTX_MOD_B64, sign, ptx_i(-1));
    limit[1] = signed_limit(l, &high, x->a[1]);
  }
  for (int k = 0; k < (x->bits > 64 ? 2 : 1); k++)
    emit4(l, PTX_SELP, PTX_MODS(part_bits_mod(&x->part)), x->to[k], limit[k], value[k], over);
}

static void saturating_lane(const struct lane *x) {
  struct lower *l = x->l;
  bool is_signed = is_signed_kind(x->argument), subtract = op_of(x->argument) == OP_SUB;
  if (x->part.kind == PART_I1) {
    struct ptx_operand b = subtract ? emit_unary(l, PTX_NOT, PTX_MOD_PRED, x->b[0]) : x->b[0];
    emit3(l, subtract ? PTX_AND : PTX_OR, PTX_MODS(PTX_MOD_PRED), x->to[0], x->a[0], b);
  } else if (is_signed && x->bits == 32) {
    emit3(l, subtract ? PTX_SUB : PTX_ADD, PTX_MODS(PTX_MOD_SAT, PTX_MOD_S32), x->to[0],
          lower_in_reg(l, x->a[0], &x->part), x->b[0]);
  } else {
    struct ptx_operand value[2];
    for (int k = 0; k < 2; k++) value[k] = ptx_r(lower_new_reg(l, &x->part));
    saturate(x, is_signed, subtract, value, overflow(x, value));
  }
}

void lower_i_saturating(struct lower *l, const struct nvm_inst *i, int argument) {
  intrinsic_lanes(l, i, argument, 2, saturating_lane);
}

/* A shift has overflowed if shifting back does not give the operand. Of i1, shifts by 1 are poison. */
static void saturating_shift_lane(const struct lane *x) {
  struct lower *l = x->l;
  struct ptx_operand value[2], back[2];
  if (x->part.kind == PART_I1) {
    lower_copy(l, x->to[0].reg, x->a[0]);
    return;
  }
  for (int k = 0; k < 2; k++) value[k] = ptx_r(lower_new_reg(l, &x->part));
  for (int k = 0; k < 2; k++) back[k] = ptx_r(lower_new_reg(l, &x->part));
  lower_binary_bits(l, OP_SHL, x->bits, &x->part, value, x->a, x->b);
  lower_binary_bits(l, x->argument ? OP_ASHR : OP_LSHR, x->bits, &x->part, back, value, x->b);
  saturate(x, x->argument != 0, false, value,
           lower_compare(l, ICMP_NE, x->bits, &x->part, back, x->a));
}

void lower_i_saturating_shift(struct lower *l, const struct nvm_inst *i, int argument) {
  intrinsic_lanes(l, i, argument, 2, saturating_shift_lane);
}
