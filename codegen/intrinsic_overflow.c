/* Arithmetic with overflow detection, for integers of any width up to 128 bits: the with.overflow
 * and the saturating intrinsics.
 *
 * An unsigned sum has overflowed if it is less than a summand; a signed sum if it is less than one
 * summand although the other is not negative, or the reverse. Differences likewise. If the register
 * is wider than the type, a signed sum is computed exactly there, and has overflowed if extending
 * its low bits changes it. Products are computed in twice the width. */
#include "codegen/intrinsic.h"
#include "codegen/number.h"

static bool is_signed_kind(int what) { return what & 1; }

static enum op op_of(int what) {
  static const enum op ops[] = {OP_ADD, OP_SUB, OP_MUL};
  return ops[what / 2];
}

static struct ptx_operand compare(const struct lane *x, enum icmp_predicate how, struct integer a,
                                  struct integer b) {
  return int_compare(x->l, how, x->bits, &x->part, a.at, b.at);
}

static struct ptx_operand join(struct lower *l, enum ptx_op op, struct ptx_operand a,
                               struct ptx_operand b) {
  return emit_binary(l, op, PTX_MOD_PRED, a, b);
}

static struct ptx_operand extend(struct lower *l, struct ptx_operand v, const struct part *p,
                                 bool is_signed) {
  return emit_in_reg(l, emit_extend(l, v, p, p->container, is_signed), p);
}

/* Whether extending the low p->bits of v changes it. */
static struct ptx_operand leaves_width(struct lower *l, struct ptx_operand v, const struct part *p,
                                       bool is_signed) {
  return emit_compare(l, PTX_MOD_NE, part_bits_mod(p), extend(l, v, p, is_signed), v);
}

/* --- Sums and differences --- */

static struct ptx_operand add_sub(const struct lane *x, bool is_signed, enum op op,
                                  struct integer a, struct integer b, struct integer *r) {
  struct part high = x->bits > 64 ? part_high(x->bits) : x->part;
  int top = x->bits > 64;
  bool has_room = is_signed && high.bits < high.container;
  if (has_room) a.at[top] = extend(x->l, a.at[top], &high, true);
  if (has_room) b.at[top] = extend(x->l, b.at[top], &high, true);
  *r = intrinsic_compute(x, op, a, b);
  if (has_room) return leaves_width(x->l, r->at[top], &high, true);
  if (!is_signed) return compare(x, ICMP_ULT, op == OP_SUB ? a : *r, op == OP_SUB ? b : a);
  struct ptx_operand less = compare(x, ICMP_SLT, *r, a);
  return join(x->l, PTX_XOR, less,
              compare(x, op == OP_SUB ? ICMP_SGT : ICMP_SLT, b, intrinsic_number(x, 0)));
}

/* --- Products --- */

/* Up to 32 bits: the product fits in a register of twice the width. */
static struct ptx_operand multiply_narrow(struct lower *l, bool is_signed, const struct part *p,
                                          struct integer a, struct integer b, struct integer *r) {
  struct part twice = {.kind = PART_INT, .bits = p->bits, .container = (uint8_t)(p->container * 2)};
  struct ptx_operand x = extend(l, a.at[0], p, is_signed), y = extend(l, b.at[0], p, is_signed);
  struct ptx_operand product = emit_value(
      l, part_bits_mod(&twice), PTX_MUL,
      PTX_MODS(PTX_MOD_WIDE, is_signed ? part_signed_mod(p) : part_unsigned_mod(p)), PTX_OPS(x, y));
  r->at[0] = emit_narrow(l, product, twice.container, p->container);
  return leaves_width(l, product, &twice, is_signed);
}

static struct ptx_operand mul64(struct lower *l, uint16_t half, uint16_t type, struct ptx_operand a,
                                struct ptx_operand b) {
  return emit_value(l, type, PTX_MUL, PTX_MODS(half, type), PTX_OPS(a, b));
}

static struct ptx_operand is_nonzero(struct lower *l, struct ptx_operand v) {
  return emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, v, ptx_i(0));
}

/* 33 to 64 bits: an overflow if the high half is not the extension of the low one. */
static struct ptx_operand multiply_64(struct lower *l, bool is_signed, const struct part *p,
                                      struct integer a, struct integer b, struct integer *r) {
  uint16_t type = is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  struct ptx_operand x = extend(l, a.at[0], p, is_signed), y = extend(l, b.at[0], p, is_signed);
  struct ptx_operand low = mul64(l, PTX_MOD_LO, type, x, y),
                     high = mul64(l, PTX_MOD_HI, type, x, y);
  struct ptx_operand expected =
      is_signed ? emit_binary(l, PTX_SHR, PTX_MOD_S64, low, ptx_i(63)) : ptx_i(0);
  struct ptx_operand over = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, high, expected);
  r->at[0] = low;
  return p->bits < 64 ? join(l, PTX_OR, over, leaves_width(l, low, p, is_signed)) : over;
}

/* Unsigned 128 × 128: an overflow if a product that reaches beyond 128 bits is not zero, or a sum
 * of the middle column carries.
 *
 *            a1b0.hi a1b0.lo
 *            a0b1.hi a0b1.lo
 *    a1b1    a0b0.hi         a0b0.lo */
static struct ptx_operand multiply_unsigned(struct lower *l, struct integer a, struct integer b,
                                            struct integer *r) {
  struct ptx_operand low = mul64(l, PTX_MOD_LO, PTX_MOD_U64, a.at[0], b.at[0]);
  struct ptx_operand middle = mul64(l, PTX_MOD_HI, PTX_MOD_U64, a.at[0], b.at[0]);
  struct ptx_operand over = is_nonzero(l, a.at[1]), other = is_nonzero(l, b.at[1]);
  over = join(l, PTX_AND, over, other);
  for (int k = 0; k < 2; k++) {
    struct ptx_operand x = k ? a.at[0] : a.at[1], y = k ? b.at[1] : b.at[0];
    struct ptx_operand cross = mul64(l, PTX_MOD_LO, PTX_MOD_U64, x, y);
    over = join(l, PTX_OR, over, is_nonzero(l, mul64(l, PTX_MOD_HI, PTX_MOD_U64, x, y)));
    middle = emit_binary(l, PTX_ADD, PTX_MOD_S64, middle, cross);
    over = join(l, PTX_OR, over, emit_compare(l, PTX_MOD_LT, PTX_MOD_U64, middle, cross));
  }
  *r = (struct integer){{low, middle}};
  return over;
}

/* v, or -v where `sign` is all ones. */
static struct integer negated_if(const struct lane *x, struct integer v, struct integer sign) {
  return intrinsic_compute(x, OP_SUB, intrinsic_compute(x, OP_XOR, v, sign), sign);
}

/* 65 to 128 bits, in 128. Signed: the magnitudes are multiplied; the product may be at most 2^127 -
 * 1, or 2^127 if the result is negative. */
static struct ptx_operand multiply_wide(const struct lane *narrow, bool is_signed, struct integer a,
                                        struct integer b, struct integer *r) {
  struct lower *l = narrow->l;
  struct part high = part_high(narrow->bits);
  struct lane whole = *narrow, *x = &whole;
  struct ptx_operand over;
  x->bits = 128;
  struct integer *both[2] = {&a, &b}, sign[2], magnitude;
  for (int k = 0; k < 2; k++) {
    both[k]->at[0] = emit_in_reg(l, both[k]->at[0], &part_i64);
    both[k]->at[1] = extend(l, both[k]->at[1], &high, is_signed);
    if (is_signed) sign[k] = intrinsic_compute(x, OP_ASHR, *both[k], intrinsic_number(x, 127));
    if (is_signed) *both[k] = negated_if(x, *both[k], sign[k]);
  }
  over = multiply_unsigned(l, a, b, is_signed ? &magnitude : r);
  if (is_signed) {
    struct integer negative = intrinsic_compute(x, OP_XOR, sign[0], sign[1]);
    struct integer greatest =
        intrinsic_compute(x, OP_SUB, intrinsic_number(x, (nvm_i128)((nvm_u128)-1 >> 1)), negative);
    *r = negated_if(x, magnitude, negative);
    over = join(l, PTX_OR, over, compare(x, ICMP_UGT, magnitude, greatest));
  }
  return narrow->bits == 128 ? over
                             : join(l, PTX_OR, over, leaves_width(l, r->at[1], &high, is_signed));
}

static struct ptx_operand multiply(const struct lane *x, bool is_signed, struct integer a,
                                   struct integer b, struct integer *r) {
  if (x->bits > 64) return multiply_wide(x, is_signed, a, b, r);
  if (x->part.kind != PART_I1)
    return (x->part.container <= 32 ? multiply_narrow : multiply_64)(x->l, is_signed, &x->part, a,
                                                                     b, r);
  *r = intrinsic_compute(x, OP_MUL, a, b); /* -1 * -1 */
  return is_signed ? r->at[0] : intrinsic_number(x, 0).at[0];
}

/* The result modulo 2^bits into `r`; returns whether it overflowed. */
static struct ptx_operand overflow(const struct lane *x, struct integer *r) {
  struct integer a = intrinsic_integer(x, x->a), b = intrinsic_integer(x, x->b);
  bool is_signed = is_signed_kind(x->argument);
  enum op op = op_of(x->argument);
  return op == OP_MUL ? multiply(x, is_signed, a, b, r) : add_sub(x, is_signed, op, a, b, r);
}

void intrinsic_lane_overflow(const struct lane *x) {
  struct integer r;
  struct ptx_operand over = overflow(x, &r);
  for (int k = 0; k < (x->bits > 64 ? 2 : 1); k++) emit_copy(x->l, x->to[k].reg, r.at[k]);
  emit_copy(x->l, x->second[0].reg, over);
}

/* --- Saturation --- */

/* to = over ? limit : v. The limit of unsigned differences is zero, of unsigned sums all ones; of
 * signed ones the last number with a's sign: (a >> (width - 1)) ^ the greatest. */
static void saturate(const struct lane *x, bool is_signed, bool to_zero, struct integer v,
                     struct ptx_operand over) {
  struct integer limit = intrinsic_number(x, to_zero ? 0 : -1);
  if (is_signed) {
    limit =
        intrinsic_compute(x, OP_ASHR, intrinsic_integer(x, x->a), intrinsic_number(x, x->bits - 1));
    limit = intrinsic_compute(x, OP_XOR, limit,
                              intrinsic_number(x, (nvm_i128)(((nvm_u128)1 << (x->bits - 1)) - 1)));
  }
  for (int k = 0; k < (x->bits > 64 ? 2 : 1); k++)
    emit4(x->l, PTX_SELP, PTX_MODS(part_bits_mod(&x->part)), x->to[k], limit.at[k], v.at[k], over);
}

void intrinsic_lane_saturating(const struct lane *x) {
  struct lower *l = x->l;
  bool is_signed = is_signed_kind(x->argument), subtract = op_of(x->argument) == OP_SUB;
  if (x->part.kind == PART_I1) {
    struct ptx_operand b = subtract ? emit_unary(l, PTX_NOT, PTX_MOD_PRED, x->b[0]) : x->b[0];
    emit3(l, subtract ? PTX_AND : PTX_OR, PTX_MODS(PTX_MOD_PRED), x->to[0], x->a[0], b);
  } else if (is_signed && x->bits == 32) {
    emit3(l, subtract ? PTX_SUB : PTX_ADD, PTX_MODS(PTX_MOD_SAT, PTX_MOD_S32), x->to[0],
          emit_in_reg(l, x->a[0], &x->part), x->b[0]);
  } else {
    struct integer r;
    struct ptx_operand over = overflow(x, &r);
    saturate(x, is_signed, subtract, r, over);
  }
}

/* A shift has overflowed if shifting back does not give the operand. i1 can only be shifted by 0.
 */
void intrinsic_lane_saturating_shift(const struct lane *x) {
  struct integer a = intrinsic_integer(x, x->a), b = intrinsic_integer(x, x->b);
  if (x->part.kind == PART_I1) {
    emit_copy(x->l, x->to[0].reg, x->a[0]);
    return;
  }
  struct integer r = intrinsic_compute(x, OP_SHL, a, b);
  struct integer back = intrinsic_compute(x, x->argument ? OP_ASHR : OP_LSHR, r, b);
  saturate(x, x->argument != 0, false, r, compare(x, ICMP_NE, back, a));
}
