/* Integer arithmetic and comparison on parts; wider than 64 bits: wide.c. */
#include "codegen/inst.h"
#include "codegen/joined.h"
#include "codegen/logic.h"
#include "codegen/number.h"
#include "codegen/select.h"
#include "codegen/value.h"

/* The PTX op, and whether it depends on the upper bits of its operands. */
static const struct int_form {
  uint16_t op;  /* enum ptx_op */
  char type;    /* 's', 'u', or 'b' for bits */
  bool extends; /* operands must be extended, as the type says */
} forms[OP_LAST_INT - OP_FIRST_INT + 1] = {
    [OP_ADD - OP_FIRST_INT] = {PTX_ADD, 's', false},
    [OP_SUB - OP_FIRST_INT] = {PTX_SUB, 's', false},
    [OP_MUL - OP_FIRST_INT] = {PTX_MUL, 's', false},
    [OP_UDIV - OP_FIRST_INT] = {PTX_DIV, 'u', true},
    [OP_SDIV - OP_FIRST_INT] = {PTX_DIV, 's', true},
    [OP_UREM - OP_FIRST_INT] = {PTX_REM, 'u', true},
    [OP_SREM - OP_FIRST_INT] = {PTX_REM, 's', true},
    [OP_SHL - OP_FIRST_INT] = {PTX_SHL, 'b', false},
    [OP_LSHR - OP_FIRST_INT] = {PTX_SHR, 'u', true},
    [OP_ASHR - OP_FIRST_INT] = {PTX_SHR, 's', true},
    [OP_AND - OP_FIRST_INT] = {PTX_AND, 'b', false},
    [OP_OR - OP_FIRST_INT] = {PTX_OR, 'b', false},
    [OP_XOR - OP_FIRST_INT] = {PTX_XOR, 'b', false},
};

static bool is_shift(enum op op) { return op == OP_SHL || op == OP_LSHR || op == OP_ASHR; }

/* PTX shifts by a 32-bit amount whatever they shift. Amounts of the width or more are poison. */
static struct ptx_operand shift_amount(struct lower *l, struct ptx_operand v,
                                       const struct part *p) {
  bool is_short = v.kind != PTX_OPERAND_REG || ptx_reg_class(v.reg) == PTX_B32;
  if (p->container == 64 && is_short) return v; /* a constant, or not extended (select.h) */
  v = emit_zext(l, v, p, 32);
  return v.kind == PTX_OPERAND_REG ? emit_narrow(l, v, p->container, 32) : v;
}

/* Arithmetic modulo 2. Division by 0, overflow and shifts by 1 are undefined or poison, so b is 1
 * in divisions and 0 in shifts. */
static void lower_i1(struct lower *l, enum op op, struct ptx_reg to, struct ptx_operand a,
                     struct ptx_operand b) {
  enum ptx_op bitwise = PTX_XOR;
  switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_XOR: break;
    case OP_MUL:
    case OP_AND: bitwise = PTX_AND; break;
    case OP_OR: bitwise = PTX_OR; break;
    case OP_UREM:
    case OP_SREM: b = a; break;
    default: emit_copy(l, to, a); return;
  }
  emit3(l, bitwise, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, b);
}

/* Whether the operation on bytes leaves zeros above its result. */
static bool is_zero_above(const struct lower *l, enum op op, struct ptx_operand a,
                          struct ptx_operand b) {
  bool zero_a = emit_has_above(l, a, ABOVE_ZERO), zero_b = emit_has_above(l, b, ABOVE_ZERO);
  if (op == OP_AND) return zero_a || zero_b;
  if (op == OP_OR || op == OP_XOR) return zero_a && zero_b;
  return op == OP_LSHR || op == OP_UDIV || op == OP_UREM; /* of extended operands */
}

static void lower_int_part(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                           struct ptx_operand a, struct ptx_operand b) {
  struct int_form form = forms[op - OP_FIRST_INT];
  bool is_signed = form.type == 's';
  if (p->bits == 8 && is_zero_above(l, op, a, b)) emit_note_above(l, to, ABOVE_ZERO);
  if (form.extends) a = emit_extend(l, a, p, p->container, is_signed);
  if (is_shift(op)) b = shift_amount(l, b, p);
  else if (form.extends) b = emit_extend(l, b, p, p->container, is_signed);
  if (b.kind != PTX_OPERAND_REG) a = emit_in_reg(l, a, p);
  bool division = form.op == PTX_DIV || form.op == PTX_REM;
  if (division && b.kind != PTX_OPERAND_REG && divide_by_constant(l, op, p, to, a, b.imm)) return;
  uint16_t type = is_signed          ? part_signed_mod(p)
                  : form.type == 'u' ? part_unsigned_mod(p)
                                     : part_bits_mod(p);
  emit3(l, (enum ptx_op)form.op, EMIT_MODS(op == OP_MUL ? PTX_MOD_LO : PTX_MOD_NONE, type),
        ptx_r(to), a, b);
}

static const struct part pair_i16 = {.kind = PART_PAIR_I16, .bits = 32, .container = 32};

static void int_lane(struct lower *l, const struct part *p, struct ptx_reg to,
                     const struct ptx_operand v[3], const void *how) {
  lower_int_part(l, *(const enum op *)how, p, to, v[0], v[1]);
}

/* Shifts both lanes by a constant and clears the bits that cross between them. */
static void shift_pair(struct lower *l, bool left, struct ptx_reg to, struct ptx_operand a,
                       uint32_t by) {
  uint32_t kept = left ? 0xffffu << by & 0xffff : 0xffffu >> by;
  a = emit_in_reg(l, a, &pair_i16);
  struct ptx_operand both =
      emit_binary(l, left ? PTX_SHL : PTX_SHR, left ? PTX_MOD_B32 : PTX_MOD_U32, a, ptx_i(by));
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(to), both, ptx_i((int32_t)(kept << 16 | kept)));
}

/* Two i16 lanes in a 32-bit register: bitwise ops together, add.s16x2 where the target has it, the
 * rest lane by lane. */
static void lower_i16_pair(struct lower *l, enum op op, struct ptx_reg to, struct ptx_operand a,
                           struct ptx_operand b) {
  uint32_t low = (uint32_t)b.imm & 0xffff, high = (uint32_t)((uint64_t)b.imm >> 16) & 0xffff;
  bool constant = b.kind == PTX_OPERAND_INT;
  if (forms[op - OP_FIRST_INT].type == 'b' && op != OP_SHL) {
    emit3(l, (enum ptx_op)forms[op - OP_FIRST_INT].op, PTX_MODS(PTX_MOD_B32), ptx_r(to), a, b);
  } else if (op == OP_ADD && part_is_legal(l, &pair_i16)) {
    emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_S16X2), ptx_r(to), a, b);
  } else if (constant && low == high && low < 16 && (op == OP_SHL || op == OP_LSHR)) {
    shift_pair(l, op == OP_SHL, to, a, low);
  } else {
    emit_pair_by_lanes(l, &pair_i16, to, (struct ptx_operand[]){a, b}, 2, int_lane, &op);
  }
}

void int_binary_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                     struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  switch ((enum part_kind)p->kind) {
    case PART_I1: lower_i1(l, op, to, a, b); break;
    case PART_INT: lower_int_part(l, op, p, to, a, b); break;
    case PART_PAIR_I16: lower_i16_pair(l, op, to, a, b); break;
    case PART_HALF:
    case PART_BFLOAT:
    case PART_FLOAT:
    case PART_DOUBLE:
    case PART_PAIR_HALF:
    case PART_PAIR_BFLOAT: float_part(l, op, flags, p, to, a, b); break;
  }
}

void int_binary_bits(struct lower *l, enum op op, uint32_t bits, const struct part *p,
                     const struct ptx_operand *to, const struct ptx_operand *a,
                     const struct ptx_operand *b) {
  if (bits > 64) wide_binary(l, op, bits, to, a, b);
  else int_binary_part(l, op, 0, p, to[0].reg, a[0], b[0]);
}

/* Part k of a constant vector of shift amounts; false if v is none. */
static bool constant_amounts(struct lower *l, struct nvm_value v, uint64_t k,
                             struct ptx_operand *amounts) {
  nvm_u128 low, high;
  if (value_kind(v) != VALUE_CONST ||
      !const_is_int(l->module, const_element(l->module, v, 2 * k), &low) ||
      !const_is_int(l->module, const_element(l->module, v, 2 * k + 1), &high))
    return false;
  *amounts = ptx_i((int64_t)(high << 16 | low));
  return true;
}

/* --- products of factors that fit 32 bits: mul.wide ------------------------------------------- */

/* The low 32 bits of factor k. */
static struct ptx_operand lower_factor(struct lower *l, const struct nvm_inst *i, uint32_t k) {
  struct nvm_value v = inst_operand(l->f, i, k), read = select_operand(l, i, k);
  struct ptx_operand x = value_operand(l, read, 0);
  if (x.kind != PTX_OPERAND_REG) return x;
  if (value_equal(v, read)) return emit_narrow(l, x, 64, 32);
  bool is_signed = value_inst(l->f, v)->op == OP_SEXT;
  return emit_extend(l, x, part_at(part_list(l, value_type(l->f, read)), 0), 32, is_signed);
}

static bool lower_wide_product(struct lower *l, const struct nvm_inst *i) {
  enum select_wide as = select_wide_product(l, i);
  if (as == SELECT_NOT_WIDE) return false;
  struct ptx_operand a = lower_factor(l, i, 0), b = lower_factor(l, i, 1);
  if (i->op == OP_SHL) b = ptx_i(INT64_C(1) << b.imm);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_WIDE, as == SELECT_WIDE_SIGNED ? PTX_MOD_S32 : PTX_MOD_U32),
        ptx_r(value_result(l, l->inst)[0]), emit_in_reg(l, a, &part_i32), b);
  return true;
}

/* An or of two halves: one mov joins them. */
static bool lower_joined_halves(struct lower *l, const struct nvm_inst *i) {
  int low = select_low_half(l, i);
  if (low < 0) return false;
  bool is_64 = type_equal(i->type, TYPE_I64);
  const struct part *half = is_64 ? &part_i32 : &part_i16;
  struct ptx_operand halves[2];
  for (int k = 0; k < 2; k++) {
    struct nvm_value v = select_operand(l, i, (uint32_t)(k == 0 ? low : 1 - low));
    struct ptx_operand x = value_operand(l, v, 0);
    if (type_equal(value_type(l->f, v), i->type))
      x = emit_narrow(l, x, 2u * half->container, half->container);
    halves[k] = emit_in_reg(l, x, half);
  }
  struct ptx_operand joined = ptx_group(l->pf, PTX_OPERAND_VECTOR, halves, 2);
  emit2(l, PTX_MOV, PTX_MODS(is_64 ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(value_result(l, l->inst)[0]),
        joined);
  return true;
}

/* An xor of a predicate with true. */
static bool lower_inversion(struct lower *l, const struct nvm_inst *i) {
  nvm_u128 flipped;
  if (i->op != OP_XOR || !type_equal(i->type, TYPE_I1) ||
      !const_is_int(l->module, inst_operand(l->f, i, 1), &flipped) || flipped == 0)
    return false;
  emit2(l, PTX_NOT, PTX_MODS(PTX_MOD_PRED), ptx_r(value_result(l, l->inst)[0]),
        value_operand(l, inst_operand(l->f, i, 0), 0));
  return true;
}

bool int_lower_field(struct lower *l, const struct nvm_inst *i) {
  struct select_field field;
  if (!select_is_field(l, i, &field)) return false;
  struct ptx_operand to = ptx_r(value_result(l, l->inst)[0]), word = value_operand(l, field.of, 0);
  if (field.is_signed)
    emit_signed_field(l, to, word, field.first, field.bits, selection_of(l, i)->makes_floats);
  else emit4(l, PTX_BFE, PTX_MODS(PTX_MOD_U32), to, word, ptx_i(field.first), ptx_i(field.bits));
  return true;
}

void int_lower_binary(struct lower *l, const struct nvm_inst *i) {
  if (int_lower_joined(l, i) || logic_lower(l, i) || float_lower_fused(l, i) ||
      lower_wide_product(l, i) || lower_joined_halves(l, i) || lower_inversion(l, i) ||
      int_lower_field(l, i))
    return;
  struct part_list parts = part_list(l, i->type);
  const struct ptx_reg *to = value_result(l, l->inst);
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1);
  if (is_shift((enum op)i->op)) b = select_operand(l, i, 1);
  uint32_t bits = type_scalar_bits(&l->module->types, type_scalar(&l->module->types, i->type));
  for (uint32_t k = 0; k < parts.count; k++) {
    struct ptx_operand x[2] = {value_operand(l, a, k)}, y[2];
    if (bits > 64) {
      struct ptx_operand result[2] = {ptx_r(to[k]), ptx_r(to[k + 1])};
      x[1] = value_operand(l, a, k + 1);
      for (uint32_t j = 0; j < 2; j++) y[j] = value_operand(l, b, k + j);
      wide_binary(l, (enum op)i->op, bits, result, x, y);
      k++;
      continue;
    }
    const struct part *p = part_at(parts, k);
    bool shifted_pair = p->kind == PART_PAIR_I16 && is_shift((enum op)i->op);
    if (!shifted_pair || !constant_amounts(l, b, k, y)) y[0] = value_operand(l, b, k);
    int_binary_part(l, (enum op)i->op, i->flags, p, to[k], x[0], y[0]);
  }
}

/* --- comparison ------------------------------------------------------------------------------- */

static const uint16_t compare_mods[ICMP_COUNT] = {
    [ICMP_EQ] = PTX_MOD_EQ,  [ICMP_NE] = PTX_MOD_NE,  [ICMP_UGT] = PTX_MOD_GT,
    [ICMP_UGE] = PTX_MOD_GE, [ICMP_ULT] = PTX_MOD_LT, [ICMP_ULE] = PTX_MOD_LE,
    [ICMP_SGT] = PTX_MOD_GT, [ICMP_SGE] = PTX_MOD_GE, [ICMP_SLT] = PTX_MOD_LT,
    [ICMP_SLE] = PTX_MOD_LE};

static bool is_signed_predicate(enum icmp_predicate pred) { return pred >= ICMP_SGT; }
static bool is_greater(enum icmp_predicate pred) {
  return compare_mods[pred] == PTX_MOD_GT || compare_mods[pred] == PTX_MOD_GE;
}
static bool or_equal(enum icmp_predicate pred) {
  return compare_mods[pred] == PTX_MOD_GE || compare_mods[pred] == PTX_MOD_LE;
}

static uint16_t compare_type(enum icmp_predicate pred, const struct part *p) {
  return is_signed_predicate(pred) ? part_signed_mod(p)
         : pred <= ICMP_NE         ? part_bits_mod(p)
                                   : part_unsigned_mod(p);
}

/* Predicates as numbers: unsigned true is 1, signed true is -1. a > b unsigned is a & !b. */
static void lower_icmp_i1(struct lower *l, enum icmp_predicate pred, struct ptx_reg to,
                          struct ptx_operand a, struct ptx_operand b) {
  const uint16_t *m = PTX_MODS(PTX_MOD_PRED);
  bool greater = is_greater(pred) != is_signed_predicate(pred);
  if (pred == ICMP_NE) {
    emit3(l, PTX_XOR, m, ptx_r(to), a, b);
  } else if (pred == ICMP_EQ) {
    emit2(l, PTX_NOT, m, ptx_r(to), emit_binary(l, PTX_XOR, PTX_MOD_PRED, a, b));
  } else {
    struct ptx_operand other = emit_unary(l, PTX_NOT, PTX_MOD_PRED, greater ? b : a);
    emit3(l, or_equal(pred) ? PTX_OR : PTX_AND, m, ptx_r(to), greater ? a : b, other);
  }
}

static void compare_part(struct lower *l, enum icmp_predicate pred, const struct part *p,
                         struct ptx_reg to, struct ptx_operand a, struct ptx_operand b,
                         const struct compare_join *join) {
  bool is_signed = is_signed_predicate(pred);
  a = emit_extend(l, a, p, p->container, is_signed);
  b = emit_extend(l, b, p, p->container, is_signed);
  a = emit_in_reg(l, a, p);
  emit_setp(l, EMIT_MODS(compare_mods[pred], join->how, compare_type(pred, p)), to, a, b, join);
}

void int_compare_part(struct lower *l, enum icmp_predicate pred, const struct part *p,
                      struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  if (p->kind == PART_I1) lower_icmp_i1(l, pred, to, a, b);
  else compare_part(l, pred, p, to, a, b, &(struct compare_join){0});
}

bool int_lower_joined(struct lower *l, const struct nvm_inst *i) {
  int k = joined_comparison(l, i);
  struct joined j;
  if (k < 0 || !joined_find(l, i, &j)) return false;
  bool is_first = j.of[0] == (uint32_t)k;
  const struct nvm_inst *c = value_inst(l->f, inst_operand(l->f, i, (uint32_t)k));
  uint32_t predicate = is_first && j.negates ? predicate_inverse((enum op)c->op, c->aux) : c->aux;
  struct nvm_value a = inst_operand(l->f, c, 0);
  struct ptx_operand x = value_operand(l, a, 0), y = value_operand(l, inst_operand(l->f, c, 1), 0);
  const struct part *p = part_at(part_list(l, value_type(l->f, a)), 0);
  struct ptx_reg to = value_result(l, l->inst)[0];
  struct compare_join join = {.how = j.is_or ? PTX_MOD_OR : PTX_MOD_AND};
  join.with = ptx_r(value_reg(l, inst_operand(l->f, i, j.of[is_first]), 0));
  join.with.negated = !is_first && j.negates;
  if (c->op == OP_ICMP) compare_part(l, (enum icmp_predicate)predicate, p, to, x, y, &join);
  else float_compare_part(l, (enum fcmp_predicate)predicate, p, to, x, y, &join);
  return true;
}

/* Two parts: the high parts decide unless they are equal. */
static void lower_icmp_wide(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                            struct ptx_reg to, const struct ptx_operand a[2],
                            const struct ptx_operand b[2]) {
  bool is_signed = is_signed_predicate(pred);
  uint16_t how = compare_mods[pred], low_type = pred <= ICMP_NE ? PTX_MOD_B64 : PTX_MOD_U64;
  struct part high = part_high(bits);
  struct ptx_operand x = emit_extend(l, a[1], &high, 64, is_signed);
  struct ptx_operand y = emit_extend(l, b[1], &high, 64, is_signed);
  x = emit_in_reg(l, x, &part_i64);
  struct ptx_operand p = emit_compare(l, how, low_type, emit_in_reg(l, a[0], &part_i64), b[0]);
  if (pred <= ICMP_NE) {
    uint16_t join = pred == ICMP_EQ ? PTX_MOD_AND : PTX_MOD_OR;
    emit4(l, PTX_SETP, PTX_MODS(how, join, PTX_MOD_B64), ptx_r(to), x, y, p);
    return;
  }
  p = emit_value(l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_B64),
                 PTX_OPS(x, y, p));
  emit4(l, PTX_SETP,
        PTX_MODS(is_greater(pred) ? PTX_MOD_GT : PTX_MOD_LT, PTX_MOD_OR,
                 compare_type(pred, &part_i64)),
        ptx_r(to), x, y, p);
}

struct ptx_operand int_compare(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                               const struct part *p, const struct ptx_operand *a,
                               const struct ptx_operand *b) {
  struct ptx_reg result = emit_temp(l, PTX_PRED);
  if (bits > 64) lower_icmp_wide(l, pred, bits, result, a, b);
  else int_compare_part(l, pred, p, result, a[0], b[0]);
  return ptx_r(result);
}

static void lower_icmp_pair(struct lower *l, enum icmp_predicate pred, const struct ptx_reg *to,
                            struct ptx_operand a, struct ptx_operand b) {
  struct ptx_operand x[2], y[2];
  emit_unpack_pair(l, a, x);
  emit_unpack_pair(l, b, y);
  for (int k = 0; k < 2; k++) int_compare_part(l, pred, &part_i16, to[k], x[k], y[k]);
}

void int_lower_compare(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, a);
  struct part_list parts = part_list(l, type);
  const struct ptx_reg *to = value_result(l, l->inst);
  enum icmp_predicate pred = (enum icmp_predicate)i->aux;
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  bool wide = part_list(l, scalar).count == 2;
  for (uint32_t k = 0, lane = 0; k < parts.count; k++) {
    const struct part *p = part_at(parts, k);
    struct ptx_operand x[2] = {value_operand(l, a, k)}, y[2];
    if (wide) x[1] = value_operand(l, a, k + 1);
    y[0] = value_operand(l, b, k);
    if (wide) {
      y[1] = value_operand(l, b, ++k);
      lower_icmp_wide(l, pred, type_scalar_bits(&l->module->types, scalar), to[lane++], x, y);
    } else if (p->kind == PART_PAIR_I16) {
      lower_icmp_pair(l, pred, to + lane, x[0], y[0]);
      lane += 2;
    } else {
      int_compare_part(l, pred, p, to[lane++], x[0], y[0]);
    }
  }
}
