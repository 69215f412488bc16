/* Integer arithmetic and comparison on parts; wider than 64 bits: wide.c. */
#include "codegen/lower.h"

/* How an op is spelled and what it demands of its operands' upper bits. */
struct int_form {
  uint16_t op;       /* enum ptx_op */
  uint8_t type;      /* which type modifier */
  uint8_t extension; /* what operands need */
};
enum { TYPE_SIGNED, TYPE_UNSIGNED, TYPE_BITS };
enum { EXTEND_NONE, EXTEND_ZERO, EXTEND_SIGN };

static struct int_form form_of(enum op op) {
  switch (op) {
  case OP_ADD: return (struct int_form){PTX_ADD, TYPE_SIGNED, EXTEND_NONE};
  case OP_SUB: return (struct int_form){PTX_SUB, TYPE_SIGNED, EXTEND_NONE};
  case OP_MUL: return (struct int_form){PTX_MUL, TYPE_SIGNED, EXTEND_NONE};
  case OP_UDIV: return (struct int_form){PTX_DIV, TYPE_UNSIGNED, EXTEND_ZERO};
  case OP_SDIV: return (struct int_form){PTX_DIV, TYPE_SIGNED, EXTEND_SIGN};
  case OP_UREM: return (struct int_form){PTX_REM, TYPE_UNSIGNED, EXTEND_ZERO};
  case OP_SREM: return (struct int_form){PTX_REM, TYPE_SIGNED, EXTEND_SIGN};
  case OP_SHL: return (struct int_form){PTX_SHL, TYPE_BITS, EXTEND_NONE};
  case OP_LSHR: return (struct int_form){PTX_SHR, TYPE_UNSIGNED, EXTEND_ZERO};
  case OP_ASHR: return (struct int_form){PTX_SHR, TYPE_SIGNED, EXTEND_SIGN};
  case OP_AND: return (struct int_form){PTX_AND, TYPE_BITS, EXTEND_NONE};
  case OP_OR: return (struct int_form){PTX_OR, TYPE_BITS, EXTEND_NONE};
  default: return (struct int_form){PTX_XOR, TYPE_BITS, EXTEND_NONE};
  }
}

static uint16_t type_mod(const struct int_form *form, const struct part *p) {
  return form->type == TYPE_SIGNED     ? part_signed_mod(p)
         : form->type == TYPE_UNSIGNED ? part_unsigned_mod(p)
                                       : part_bits_mod(p);
}

static struct ptx_operand extend(struct lower *l, const struct int_form *form,
                                 struct ptx_operand v, const struct part *p) {
  if (form->extension == EXTEND_ZERO) return lower_zext_part(l, v, p, p->container);
  if (form->extension == EXTEND_SIGN) return lower_sext_part(l, v, p, p->container);
  return v;
}

static bool is_shift(enum op op) { return op == OP_SHL || op == OP_LSHR || op == OP_ASHR; }

/* PTX shifts by a 32-bit amount whatever they shift. Amounts of the width or more are poison. */
static struct ptx_operand shift_amount(struct lower *l, struct ptx_operand v,
                                       const struct part *p) {
  v = lower_zext_part(l, v, p, 32);
  if (v.kind != PTX_OPERAND_REG || ptx_reg_class(v.reg) == PTX_B32) return v;
  struct ptx_reg narrow = lower_temp(l, PTX_B32);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(narrow), v);
  return ptx_r(narrow);
}

/* Arithmetic modulo 2. Division by 0, overflow and shifts by 1 are undefined or poison, which
 * leaves only the harmless operand values. */
static void lower_i1(struct lower *l, enum op op, struct ptx_reg to, struct ptx_operand a,
                     struct ptx_operand b) {
  switch (op) {
  case OP_ADD: case OP_SUB: case OP_XOR:
    emit3(l, PTX_XOR, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, b);
    break;
  case OP_MUL: case OP_AND:
    emit3(l, PTX_AND, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, b);
    break;
  case OP_OR: emit3(l, PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, b); break;
  case OP_UREM: case OP_SREM:
    emit3(l, PTX_XOR, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, a);
    break;
  default: lower_copy(l, to, a); break;
  }
}

/* The first source must be a register: PTX has no form with two immediates for some ops, and
 * ptxas folds nothing. */
static struct ptx_operand in_register(struct lower *l, struct ptx_operand v, const struct part *p) {
  if (v.kind == PTX_OPERAND_REG) return v;
  struct ptx_reg r = lower_new_reg(l, p);
  lower_copy(l, r, v);
  return ptx_r(r);
}

static void lower_int_part(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                           struct ptx_operand a, struct ptx_operand b) {
  struct int_form form = form_of(op);
  a = extend(l, &form, a, p);
  b = is_shift(op) ? shift_amount(l, b, p) : extend(l, &form, b, p);
  if (b.kind != PTX_OPERAND_REG) a = in_register(l, a, p);
  bool division = op == OP_UDIV || op == OP_SDIV || op == OP_UREM || op == OP_SREM;
  if (division && b.kind != PTX_OPERAND_REG && lower_divide_by_constant(l, op, p, to, a, b.imm)) return;
  uint16_t type = type_mod(&form, p);
  const uint16_t *mods = op == OP_MUL ? PTX_MODS(PTX_MOD_LO, type) : PTX_MODS(type);
  emit3(l, (enum ptx_op)form.op, mods, ptx_r(to), a, b);
}

static const struct part lane16 = {.kind = PART_INT, .bits = 16, .container = 16};
static const struct part pair_i16 = {.kind = PART_PAIR_I16, .bits = 32, .container = 32};

/* Two i16 lanes in a 32-bit register: bitwise at once, the rest lane by lane; where the pair is
 * legal there is add.s16x2. */
static void lower_i16_pair(struct lower *l, enum op op, struct ptx_reg to, struct ptx_operand a,
                           struct ptx_operand b) {
  if (op == OP_AND || op == OP_OR || op == OP_XOR) {
    emit3(l, (enum ptx_op)form_of(op).op, PTX_MODS(PTX_MOD_B32), ptx_r(to), a, b);
    return;
  }
  if (op == OP_ADD && lower_is_legal(l, &pair_i16)) {
    emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_S16X2), ptx_r(to), a, b);
    return;
  }
  bool constant = b.kind == PTX_OPERAND_INT;
  uint32_t low = (uint32_t)b.imm & 0xffff, high = (uint32_t)((uint64_t)b.imm >> 16) & 0xffff;
  if (constant && low == high && low < 16 && (op == OP_SHL || op == OP_LSHR)) { /* both at once, what strays cut off */
    struct ptx_reg both = lower_temp(l, PTX_B32);
    uint32_t kept = op == OP_SHL ? 0xffffu << low & 0xffff : 0xffffu >> low;
    emit3(l, op == OP_SHL ? PTX_SHL : PTX_SHR, PTX_MODS(op == OP_SHL ? PTX_MOD_B32 : PTX_MOD_U32), ptx_r(both),
          in_register(l, a, &pair_i16), ptx_i(low));
    emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(to), ptx_r(both), ptx_i((int32_t)(kept << 16 | kept)));
    return;
  }
  struct ptx_reg x[2], y[2], z[2];
  lower_unpack_pair(l, a, &x[0], &x[1]);
  if (!constant) lower_unpack_pair(l, b, &y[0], &y[1]);
  for (int k = 0; k < 2; k++) {
    z[k] = lower_temp(l, PTX_B16);
    struct ptx_operand right = constant ? ptx_i((int16_t)(k ? high : low)) : ptx_r(y[k]);
    lower_int_part(l, op, &lane16, z[k], ptx_r(x[k]), right);
  }
  lower_copy(l, to, ptx_r(lower_pack_pair(l, ptx_r(z[0]), ptx_r(z[1]))));
}

void lower_binary_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                       struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  switch ((enum part_kind)p->kind) {
  case PART_I1: lower_i1(l, op, to, a, b); break;
  case PART_INT: lower_int_part(l, op, p, to, a, b); break;
  case PART_PAIR_I16: lower_i16_pair(l, op, to, a, b); break;
  case PART_HALF: case PART_BFLOAT: case PART_FLOAT: case PART_DOUBLE: case PART_PAIR_HALF:
  case PART_PAIR_BFLOAT:
    lower_float_part(l, op, flags, p, to, a, b);
    break;
  }
}

/* The sum of a product and something: mad.lo. */
static void lower_int_fused(struct lower *l, const struct nvm_inst *i, int product_operand) {
  struct nvm_value product = inst_operand(l->f, i, (uint32_t)product_operand);
  const struct nvm_inst *multiply = &l->f->insts.data[value_index(product)];
  struct type_parts parts = lower_type(l, i->type);
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < parts.count; k++) {
    const struct part *p = lower_part(l, parts, k);
    struct ptx_operand a = in_register(l, lower_operand(l, inst_operand(l->f, multiply, 0), k), p);
    struct ptx_operand b = lower_operand(l, inst_operand(l->f, multiply, 1), k);
    struct ptx_operand c = lower_operand(l, inst_operand(l->f, i, product_operand == 0), k);
    emit4(l, PTX_MAD, PTX_MODS(PTX_MOD_LO, part_signed_mod(p)), ptx_r(to[k]), a, b, c);
  }
}

void lower_int_binary(struct lower *l, const struct nvm_inst *i) {
  int fused = lower_fused_multiply(l, i);
  if (fused >= 0) {
    lower_int_fused(l, i, fused);
    return;
  }
  struct type_parts parts = lower_type(l, i->type);
  const struct ptx_reg *to = lower_result(l, l->inst);
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1);
  struct nvm_type scalar = type_scalar(&l->module->types, i->type);
  uint32_t bits = type_info(&l->module->types, scalar)->width;
  uint32_t step = bits > 64 ? 2 : 1;
  for (uint32_t k = 0; k < parts.count; k += step) {
    if (step == 2) {
      const struct ptx_operand x[2] = {lower_operand(l, a, k), lower_operand(l, a, k + 1)};
      const struct ptx_operand y[2] = {lower_operand(l, b, k), lower_operand(l, b, k + 1)};
      lower_wide_binary(l, (enum op)i->op, bits, to + k, x, y);
    } else {
      nvm_u128 low, high;
      bool shift = is_shift((enum op)i->op) && lower_part(l, parts, k)->kind == PART_PAIR_I16 &&
                   value_kind(b) == VALUE_CONST &&
                   const_is_int(l->module, const_element(l->module, b, 2 * (uint64_t)k), &low) &&
                   const_is_int(l->module, const_element(l->module, b, 2 * (uint64_t)k + 1), &high);
      struct ptx_operand x = lower_operand(l, a, k);
      struct ptx_operand y = shift ? ptx_i((int64_t)(high << 16 | low)) : lower_operand(l, b, k);
      lower_binary_part(l, (enum op)i->op, i->flags, lower_part(l, parts, k), to[k], x, y);
    }
  }
}

/* --- comparison ------------------------------------------------------------------------------- */

static uint16_t compare_mod(enum icmp_predicate pred) {
  switch (pred) {
  case ICMP_EQ: return PTX_MOD_EQ;
  case ICMP_NE: return PTX_MOD_NE;
  case ICMP_UGT: case ICMP_SGT: return PTX_MOD_GT;
  case ICMP_UGE: case ICMP_SGE: return PTX_MOD_GE;
  case ICMP_ULT: case ICMP_SLT: return PTX_MOD_LT;
  case ICMP_ULE: case ICMP_SLE: return PTX_MOD_LE;
  case ICMP_COUNT: break;
  }
  return PTX_MOD_NE;
}

static bool is_signed_predicate(enum icmp_predicate pred) { return pred >= ICMP_SGT; }

/* Predicates as numbers: unsigned true is 1, signed true is -1. a > b unsigned is a & !b. */
static void lower_icmp_i1(struct lower *l, enum icmp_predicate pred, struct ptx_reg to,
                          struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg t = lower_temp(l, PTX_PRED);
  const uint16_t *m = PTX_MODS(PTX_MOD_PRED);
  switch (pred) {
  case ICMP_NE: emit3(l, PTX_XOR, m, ptx_r(to), a, b); return;
  case ICMP_EQ:
    emit3(l, PTX_XOR, m, ptx_r(t), a, b);
    emit2(l, PTX_NOT, m, ptx_r(to), ptx_r(t));
    return;
  case ICMP_UGT: case ICMP_SLT:
    emit2(l, PTX_NOT, m, ptx_r(t), b);
    emit3(l, PTX_AND, m, ptx_r(to), a, ptx_r(t));
    return;
  case ICMP_ULT: case ICMP_SGT:
    emit2(l, PTX_NOT, m, ptx_r(t), a);
    emit3(l, PTX_AND, m, ptx_r(to), b, ptx_r(t));
    return;
  case ICMP_UGE: case ICMP_SLE:
    emit2(l, PTX_NOT, m, ptx_r(t), b);
    emit3(l, PTX_OR, m, ptx_r(to), a, ptx_r(t));
    return;
  case ICMP_ULE: case ICMP_SGE: case ICMP_COUNT:
    emit2(l, PTX_NOT, m, ptx_r(t), a);
    emit3(l, PTX_OR, m, ptx_r(to), b, ptx_r(t));
    return;
  }
}

void lower_icmp_part(struct lower *l, enum icmp_predicate pred, const struct part *p,
                     struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  if (p->kind == PART_I1) {
    lower_icmp_i1(l, pred, to, a, b);
    return;
  }
  bool is_signed = is_signed_predicate(pred);
  a = is_signed ? lower_sext_part(l, a, p, p->container) : lower_zext_part(l, a, p, p->container);
  b = is_signed ? lower_sext_part(l, b, p, p->container) : lower_zext_part(l, b, p, p->container);
  a = in_register(l, a, p);
  uint16_t type = is_signed            ? part_signed_mod(p)
                  : pred <= ICMP_NE    ? part_bits_mod(p)
                                       : part_unsigned_mod(p);
  emit3(l, PTX_SETP, PTX_MODS(compare_mod(pred), type), ptx_r(to), a, b);
}

/* Two parts: the high parts decide unless they are equal. */
static void lower_icmp_wide(struct lower *l, enum icmp_predicate pred, const struct part *high,
                            struct ptx_reg to, const struct ptx_operand a[2],
                            const struct ptx_operand b[2]) {
  bool is_signed = is_signed_predicate(pred);
  struct ptx_operand x = is_signed ? lower_sext_part(l, a[1], high, 64)
                                   : lower_zext_part(l, a[1], high, 64);
  struct ptx_operand y = is_signed ? lower_sext_part(l, b[1], high, 64)
                                   : lower_zext_part(l, b[1], high, 64);
  x = in_register(l, x, high);
  struct ptx_operand low = in_register(l, a[0], high);
  struct ptx_reg p = lower_temp(l, PTX_PRED), q = lower_temp(l, PTX_PRED);
  if (pred == ICMP_EQ || pred == ICMP_NE) {
    emit3(l, PTX_SETP, PTX_MODS(compare_mod(pred), PTX_MOD_B64), ptx_r(p), low, b[0]);
    uint16_t join = pred == ICMP_EQ ? PTX_MOD_AND : PTX_MOD_OR;
    emit4(l, PTX_SETP, PTX_MODS(compare_mod(pred), join, PTX_MOD_B64), ptx_r(to), x, y, ptx_r(p));
    return;
  }
  bool greater = compare_mod(pred) == PTX_MOD_GT || compare_mod(pred) == PTX_MOD_GE;
  uint16_t strict = greater ? PTX_MOD_GT : PTX_MOD_LT;
  uint16_t type = is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  emit3(l, PTX_SETP, PTX_MODS(compare_mod(pred), PTX_MOD_U64), ptx_r(p), low, b[0]);
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_B64), ptx_r(q), x, y, ptx_r(p));
  emit4(l, PTX_SETP, PTX_MODS(strict, PTX_MOD_OR, type), ptx_r(to), x, y, ptx_r(q));
}

static void lower_icmp_pair(struct lower *l, enum icmp_predicate pred, const struct ptx_reg *to,
                            struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg x[2], y[2];
  lower_unpack_pair(l, a, &x[0], &x[1]);
  lower_unpack_pair(l, b, &y[0], &y[1]);
  for (int k = 0; k < 2; k++) lower_icmp_part(l, pred, &lane16, to[k], ptx_r(x[k]), ptx_r(y[k]));
}

void lower_icmp(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, a);
  struct type_parts parts = lower_type(l, type);
  const struct ptx_reg *to = lower_result(l, l->inst);
  enum icmp_predicate pred = (enum icmp_predicate)i->aux;
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  bool wide = lower_type(l, scalar).count == 2;
  for (uint32_t k = 0, lane = 0; k < parts.count; k++) {
    const struct part *p = lower_part(l, parts, k);
    if (wide) {
      const struct ptx_operand x[2] = {lower_operand(l, a, k), lower_operand(l, a, k + 1)};
      const struct ptx_operand y[2] = {lower_operand(l, b, k), lower_operand(l, b, k + 1)};
      lower_icmp_wide(l, pred, lower_part(l, parts, ++k), to[lane++], x, y);
    } else if (p->kind == PART_PAIR_I16) {
      lower_icmp_pair(l, pred, to + lane, lower_operand(l, a, k), lower_operand(l, b, k));
      lane += 2;
    } else {
      struct ptx_operand x = lower_operand(l, a, k), y = lower_operand(l, b, k);
      lower_icmp_part(l, pred, p, to[lane++], x, y);
    }
  }
}
