/* Floating-point arithmetic and comparison on parts.
 *
 * Rounding is explicit (`add.rn.f32`): otherwise ptxas may fuse a multiplication with an addition.
 * 16-bit formats are computed natively where the CPU can, else in float and rounded back; for one
 * +, -, *, / the bits are the same, because float has more than twice their precision plus two
 * bits.
 */
#include "codegen/inst.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/select.h"
#include "codegen/value.h"

static bool is_bfloat(const struct part *p) {
  return p->kind == PART_BFLOAT || p->kind == PART_PAIR_BFLOAT;
}

enum native { NATIVE_NONE, NATIVE_FMA_ONLY, NATIVE_ALL };

/* Which 16-bit arithmetic the CPU has; sm_80 has fma.bf16 and no other. */
static enum native native_level(const struct lower *l, const struct part *p) {
  if (part_is_legal(l, p)) return NATIVE_ALL;
  bool has_fma = emit_has(l, PTX_FMA, PTX_MODS(PTX_MOD_RN, part_float_mod(p)));
  return is_bfloat(p) && has_fma ? NATIVE_FMA_ONLY : NATIVE_NONE;
}

static enum ptx_op arithmetic_op(enum op op) {
  return op == OP_FADD ? PTX_ADD : op == OP_FSUB ? PTX_SUB : PTX_MUL;
}

static void emit_rn(struct lower *l, enum ptx_op op, const struct part *p, struct ptx_reg to,
                    struct ptx_operand a, struct ptx_operand b) {
  uint16_t type = part_float_mod(p);
  if (b.kind != PTX_OPERAND_REG) a = emit_in_reg(l, a, p);
  emit3(l, op, EMIT_MODS(PTX_MOD_RN, float_ftz(l, type), type), ptx_r(to), a, b);
}

struct ptx_operand float_immediate(uint16_t type, uint32_t f32, uint64_t f64) {
  return type == PTX_MOD_F64 ? ptx_f64(f64) : ptx_f32(f32);
}

struct ptx_operand float_power_of_two(uint16_t type, int exponent) {
  return float_immediate(type, (uint32_t)(127 + exponent) << 23, (uint64_t)(1023 + exponent) << 52);
}

struct ptx_operand float_of_word(struct lower *l, uint16_t type, struct ptx_operand high) {
  if (type != PTX_MOD_F64) return emit_value(l, type, PTX_MOV, PTX_MODS(PTX_MOD_B32), &high, 1);
  struct ptx_operand words[2] = {emit_in_reg(l, ptx_i(0), &part_i32), high};
  struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2);
  return emit_value(l, type, PTX_MOV, PTX_MODS(PTX_MOD_B64), &vector, 1);
}

/* --- division --------------------------------------------------------------------------------- */

static bool is_one(struct ptx_operand o) {
  return (o.kind == PTX_OPERAND_F32 && o.imm == 0x3f800000) ||
         (o.kind == PTX_OPERAND_F64 && o.imm == 0x3ff0000000000000);
}

/* 1 / b is b's reciprocal, which is rounded alike and takes less machine code. */
static void emit_quotient(struct lower *l, const uint16_t *mods, struct ptx_reg to,
                          struct ptx_operand a, struct ptx_operand b) {
  if (is_one(a)) emit2(l, PTX_RCP, mods, ptx_r(to), b);
  else emit3(l, PTX_DIV, mods, ptx_r(to), a, b);
}

static void emit_div_f32(struct lower *l, uint16_t flags, struct ptx_reg to, struct ptx_operand a,
                         struct ptx_operand b) {
  unsigned level = flags & INST_AFN ? 0 : l->target->prec_div;
  uint16_t fast = level == 0 || is_one(a) ? PTX_MOD_APPROX : PTX_MOD_FULL;
  uint16_t mode = level <= 1 ? fast : PTX_MOD_RN;
  uint16_t ftz = level != 3 ? float_ftz(l, PTX_MOD_F32) : PTX_MOD_NONE;
  emit_quotient(l, EMIT_MODS(mode, ftz, PTX_MOD_F32), to, a, b);
}

/* --- remainder -------------------------------------------------------------------------------- */

struct remainder {
  struct lower *l;
  uint16_t type;
  bool is_double;
};

static struct ptx_operand remainder_imm(const struct remainder *r, uint64_t f64, uint32_t f32) {
  return r->is_double ? ptx_f64(f64) : ptx_f32(f32);
}

static void remainder_branch(struct remainder *r, uint16_t compare, struct ptx_operand a,
                             struct ptx_operand b, bool if_not, uint32_t label) {
  emit_branch_if(r->l, emit_compare(r->l, compare, r->type, a, b), if_not, label);
}

/* a = |x| mod |y|, exactly: y is doubled until it exceeds a, then halved again and subtracted
 * wherever it fits. Every step is exact. Both loops are bounded by the exponent range. */
static void emit_remainder_loops(struct remainder *r, struct ptx_operand a, struct ptx_operand b) {
  struct lower *l = r->l;
  const uint16_t *rn = PTX_MODS(PTX_MOD_RN, r->type);
  uint32_t up = emit_new_label(l), down = emit_new_label(l);
  uint32_t skip = emit_new_label(l), done = emit_new_label(l);
  struct ptx_operand t = emit_unary(l, PTX_MOV, r->type, b);
  ptx_add_label(l->pf, up);
  struct ptx_operand rest = emit_value(l, r->type, PTX_SUB, rn, PTX_OPS(a, t));
  remainder_branch(r, PTX_MOD_GT, t, rest, false, down);
  emit3(l, PTX_ADD, rn, t, t, t);
  emit1(l, PTX_BRA, NULL, ptx_label(up));
  ptx_add_label(l->pf, down);
  remainder_branch(r, PTX_MOD_LT, a, t, false, skip);
  emit3(l, PTX_SUB, rn, a, a, t);
  ptx_add_label(l->pf, skip);
  remainder_branch(r, PTX_MOD_EQ, t, b, false, done);
  emit3(l, PTX_MUL, rn, t, t, float_power_of_two(r->type, -1));
  emit1(l, PTX_BRA, NULL, ptx_label(down));
  ptx_add_label(l->pf, done);
}

static void emit_remainder(struct lower *l, bool is_double, struct ptx_reg to, struct ptx_operand x,
                           struct ptx_operand y) {
  struct remainder r = {l, is_double ? PTX_MOD_F64 : PTX_MOD_F32, is_double};
  uint32_t end = emit_new_label(l);
  struct ptx_operand dividend = emit_unary(l, PTX_MOV, r.type, x);
  struct ptx_operand a = emit_unary(l, PTX_ABS, r.type, dividend);
  struct ptx_operand b = emit_unary(l, PTX_ABS, r.type, emit_unary(l, PTX_MOV, r.type, y));
  emit_copy(l, to, remainder_imm(&r, UINT64_C(0x7FF8000000000000), 0x7FFFFFFF));
  /* NaN unless |x| is finite and |y| above zero; NaN operands branch too. */
  remainder_branch(&r, PTX_MOD_LT, a, remainder_imm(&r, UINT64_C(0x7FF0000000000000), 0x7F800000),
                   true, end);
  remainder_branch(&r, PTX_MOD_GT, b, remainder_imm(&r, 0, 0), true, end);
  emit_remainder_loops(&r, a, b);
  emit3(l, PTX_COPYSIGN, PTX_MODS(r.type), ptx_r(to), dividend, a);
  ptx_add_label(l->pf, end);
}

/* --- 16-bit formats --------------------------------------------------------------------------- */

/* A bfloat is the upper half of a float. */
struct ptx_operand float_to_f32(struct lower *l, const struct part *p, struct ptx_operand v) {
  const uint16_t *to_float = PTX_MODS(PTX_MOD_F32, PTX_MOD_BF16);
  if (p->kind == PART_HALF) return emit_convert(l, PTX_MOD_F32, PTX_MOD_F16, v);
  if (emit_has(l, PTX_CVT, to_float)) return emit_value(l, PTX_MOD_F32, PTX_CVT, to_float, &v, 1);
  struct ptx_operand halves[2] = {emit_in_reg(l, ptx_i(0), &part_i16), v};
  struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, halves, 2);
  return emit_value(l, PTX_MOD_F32, PTX_MOV, PTX_MODS(PTX_MOD_B32), &vector, 1);
}

/* float → bfloat below sm_80: adds the bias of rounding to nearest even and takes the upper half;
 * NaNs become the quiet NaN. */
static void emit_bfloat_rounding(struct lower *l, struct ptx_reg to, struct ptx_operand v) {
  struct ptx_operand bits = emit_unary(l, PTX_MOV, PTX_MOD_B32, v);
  struct ptx_operand odd = emit_value(l, PTX_MOD_U32, PTX_BFE, PTX_MODS(PTX_MOD_U32),
                                      PTX_OPS(bits, ptx_i(16), ptx_i(1)));
  struct ptx_operand bias = emit_binary(l, PTX_ADD, PTX_MOD_S32, odd, ptx_i(0x7fff));
  struct ptx_operand sum = emit_binary(l, PTX_ADD, PTX_MOD_S32, bits, bias);
  struct ptx_operand nan = emit_compare(l, PTX_MOD_NAN, PTX_MOD_F32, v, v);
  struct ptx_operand chosen = emit_select(l, PTX_MOD_B32, ptx_i(0x7fff0000), sum, nan);
  emit_ungroup(l, PTX_MOD_B32, chosen, ptx_r(emit_temp(l, PTX_B16)), ptx_r(to));
}

void float_from_f32(struct lower *l, const struct part *p, struct ptx_reg to,
                    struct ptx_operand v) {
  const uint16_t *mods = PTX_MODS(PTX_MOD_RN, part_float_mod(p), PTX_MOD_F32);
  if (p->kind == PART_HALF || emit_has(l, PTX_CVT, mods)) emit2(l, PTX_CVT, mods, ptx_r(to), v);
  else emit_bfloat_rounding(l, to, v);
}

/* A float with the lowest bit set if inexact. */
static struct ptx_operand round_to_odd(struct lower *l, struct ptx_operand cut,
                                       struct ptx_operand inexact) {
  struct ptx_operand bit = emit_select(l, PTX_MOD_B32, ptx_i(1), ptx_i(0), inexact);
  struct ptx_operand bits = emit_unary(l, PTX_MOV, PTX_MOD_B32, cut);
  return float_of_word(l, PTX_MOD_F32, emit_binary(l, PTX_OR, PTX_MOD_B32, bits, bit));
}

struct ptx_operand float_round_to_odd(struct lower *l, struct ptx_operand v) {
  const uint16_t *mods = PTX_MODS(PTX_MOD_RZ, PTX_MOD_F32, PTX_MOD_F64);
  struct ptx_operand cut = emit_value(l, PTX_MOD_F32, PTX_CVT, mods, &v, 1);
  struct ptx_operand back = emit_convert(l, PTX_MOD_F64, PTX_MOD_F32, cut);
  return round_to_odd(l, cut, emit_compare(l, PTX_MOD_NE, PTX_MOD_F64, back, v));
}

/* 64-bit integer → float. */
struct ptx_operand float_from_int64_to_odd(struct lower *l, struct ptx_operand v, bool is_signed) {
  uint16_t type = is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  struct ptx_operand cut =
      emit_value(l, PTX_MOD_F32, PTX_CVT, PTX_MODS(PTX_MOD_RZ, PTX_MOD_F32, type), &v, 1);
  struct ptx_operand back =
      emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, PTX_MOD_F32), &cut, 1);
  return round_to_odd(l, cut, emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, back, v));
}

static void lower_promoted(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                           struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  struct ptx_operand x = float_to_f32(l, p, a);
  struct ptx_operand y = float_to_f32(l, p, b), wide = ptx_r(emit_temp(l, PTX_F32));
  /* Subnormal halves are normal floats, which must not be flushed. */
  bool ftz = l->ftz;
  l->ftz = false;
  float_part(l, op, flags & ~INST_AFN, &part_f32, wide.reg, x, y);
  l->ftz = ftz;
  float_from_f32(l, p, to, wide);
}

/* bfloat on sm_80 has fma only: a + b = a * 1 + b, a - b = b * -1 + a, a * b = a * b + -0. */
static void lower_by_fma(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                         struct ptx_operand a, struct ptx_operand b) {
  uint32_t constant = op == OP_FADD ? 0x3f80 : op == OP_FSUB ? 0xbf80 : 0x8000;
  bool pair = p->kind == PART_PAIR_BFLOAT;
  struct ptx_operand k =
      emit_in_reg(l, ptx_i(pair ? (int64_t)(int32_t)(constant << 16 | constant) : constant), p);
  struct ptx_operand x = op == OP_FSUB ? b : a, z = op == OP_FADD ? b : op == OP_FSUB ? a : k;
  emit4(l, PTX_FMA, PTX_MODS(PTX_MOD_RN, part_float_mod(p)), ptx_r(to), x, op == OP_FMUL ? b : k,
        z);
}

struct float_op {
  enum op op;
  uint16_t flags;
};

static void float_lane(struct lower *l, const struct part *p, struct ptx_reg to,
                       const struct ptx_operand v[3], const void *how) {
  const struct float_op *o = how;
  float_part(l, o->op, o->flags, p, to, v[0], v[1]);
}

static void lower_small_float(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                              struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  bool pair = part_is_pair(p);
  enum native native = op == OP_FDIV || op == OP_FREM ? NATIVE_NONE : native_level(l, p);
  const struct float_op how = {op, flags};
  if (native == NATIVE_ALL) emit_rn(l, arithmetic_op(op), p, to, a, b);
  else if (native == NATIVE_FMA_ONLY) lower_by_fma(l, op, p, to, a, b);
  else if (pair) emit_pair_by_lanes(l, p, to, (struct ptx_operand[]){a, b}, 2, float_lane, &how);
  else lower_promoted(l, op, flags, p, to, a, b);
}

void float_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  bool is_double = p->kind == PART_DOUBLE;
  if (!is_double && p->kind != PART_FLOAT) lower_small_float(l, op, flags, p, to, a, b);
  else if (op == OP_FREM) emit_remainder(l, is_double, to, a, b);
  else if (op != OP_FDIV) emit_rn(l, arithmetic_op(op), p, to, a, b);
  else if (is_double) emit_quotient(l, PTX_MODS(PTX_MOD_RN, PTX_MOD_F64), to, a, b);
  else emit_div_f32(l, flags, to, a, b);
}

/* --- pairs of float --------------------------------------------------------------------------- */

static struct ptx_operand pack_floats(struct lower *l, struct nvm_value v, uint32_t k,
                                      bool negate) {
  struct ptx_operand lanes[2] = {value_operand(l, v, k), value_operand(l, v, k + 1)};
  struct ptx_operand both = ptx_r(emit_temp(l, PTX_B64));
  if (lanes[0].kind == PTX_OPERAND_F32 && lanes[1].kind == PTX_OPERAND_F32) {
    uint64_t bits = (uint64_t)lanes[1].imm << 32 | (uint32_t)lanes[0].imm;
    emit_copy(l, both.reg, ptx_i((int64_t)(negate ? bits ^ UINT64_C(0x8000000080000000) : bits)));
    return both;
  }
  for (uint32_t lane = 0; lane < 2; lane++) {
    if (negate) lanes[lane] = emit_unary(l, PTX_NEG, PTX_MOD_F32, lanes[lane]);
    else if (lanes[lane].kind != PTX_OPERAND_REG)
      lanes[lane] = emit_unary(l, PTX_MOV, PTX_MOD_F32, lanes[lane]);
  }
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), both, ptx_group(l->pf, PTX_OPERAND_VECTOR, lanes, 2));
  return both;
}

uint32_t float_pairs(struct lower *l, enum ptx_op op, struct nvm_type type,
                     const struct nvm_value *v, int count, int negated) {
  const struct type_table *t = &l->module->types;
  const struct ptx_reg *to = value_result(l, l->inst);
  uint32_t k = 0, lanes = part_list(l, type).count;
  if (!type_is_vector(t, type) || !type_equal(type_scalar(t, type), TYPE_FLOAT) ||
      tgt_type_action(l->target, TGT_FLOAT, 32, 2) != TGT_LEGAL)
    return 0;
  for (; k + 1 < lanes; k += 2) {
    struct ptx_operand o[4] = {ptx_r(emit_temp(l, PTX_B64))};
    struct ptx_operand result[2] = {ptx_r(to[k]), ptx_r(to[k + 1])};
    for (int n = 0; n < count; n++) o[1 + n] = pack_floats(l, v[n], k, n == negated);
    ptx_add(l->pf, op, EMIT_MODS(PTX_MOD_RN, float_ftz(l, PTX_MOD_F32), PTX_MOD_F32X2), o,
            1 + (uint32_t)count);
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_group(l->pf, PTX_OPERAND_VECTOR, result, 2), o[0]);
  }
  return k;
}

/* --- contraction ------------------------------------------------------------------------------ */

static struct ptx_operand negated(struct lower *l, uint16_t type, struct ptx_operand o) {
  uint64_t minus = 0 - (uint64_t)o.imm;
  if (o.kind == PTX_OPERAND_REG) return emit_unary(l, PTX_NEG, type, o);
  if (o.kind == PTX_OPERAND_INT) o.imm = type == PTX_MOD_S32 ? (int32_t)minus : (int64_t)minus;
  else o.imm ^= o.kind == PTX_OPERAND_F32 ? INT64_C(1) << 31 : INT64_MIN;
  return o;
}

/* a * b + c, a * b - c or c - a * b. The sign of a constant factor changes here; in machine code
 * neg is a modifier of the operand. */
bool float_lower_fused(struct lower *l, const struct nvm_inst *i) {
  int product_operand = select_product(l, i);
  if (product_operand < 0) return false;
  struct nvm_value product = inst_operand(l->f, i, (uint32_t)product_operand);
  struct nvm_value addend = inst_operand(l->f, i, product_operand == 0 ? 1 : 0);
  const struct nvm_inst *multiply = value_inst(l->f, product);
  struct part_list parts = part_list(l, i->type);
  const struct ptx_reg *to = value_result(l, l->inst);
  const struct nvm_value v[3] = {inst_operand(l->f, multiply, 0), inst_operand(l->f, multiply, 1),
                                 addend};
  int negates = i->op != OP_FSUB && i->op != OP_SUB ? -1 : product_operand == 0 ? 2 : 0;
  for (uint32_t k = float_pairs(l, PTX_FMA, i->type, v, 3, negates); k < parts.count; k++) {
    const struct part *p = part_at(parts, k);
    bool integer = i->op == OP_ADD || i->op == OP_SUB;
    uint16_t type = integer ? part_signed_mod(p) : part_float_mod(p);
    struct ptx_operand o[3] = {ptx_r(value_reg(l, v[0], k)), value_operand(l, v[1], k),
                               value_operand(l, v[2], k)};
    for (int n = 1; n < 3 && (part_is_small(p) || part_is_pair(p)); n++)
      o[n] = emit_in_reg(l, o[n], p);
    if (multiply->op == OP_SHL) o[1] = ptx_i(INT64_C(1) << o[1].imm);
    int n = negates == 0 && o[1].kind != PTX_OPERAND_REG ? 1 : negates;
    if (n >= 0) o[n] = negated(l, type, o[n]);
    emit4(l, integer ? PTX_MAD : PTX_FMA,
          EMIT_MODS(integer ? PTX_MOD_LO : PTX_MOD_RN, float_ftz(l, type), type), ptx_r(to[k]),
          o[0], o[1], o[2]);
  }
  return true;
}

void float_lower_binary(struct lower *l, const struct nvm_inst *i) {
  if (float_lower_fused(l, i)) return;
  struct part_list parts = part_list(l, i->type);
  const struct ptx_reg *to = value_result(l, l->inst);
  const struct nvm_value v[2] = {inst_operand(l->f, i, 0), inst_operand(l->f, i, 1)};
  uint32_t k = i->op == OP_FDIV || i->op == OP_FREM
                   ? 0
                   : float_pairs(l, arithmetic_op((enum op)i->op), i->type, v, 2, -1);
  for (; k < parts.count; k++) {
    struct ptx_operand a = value_operand(l, v[0], k), b = value_operand(l, v[1], k);
    float_part(l, (enum op)i->op, i->flags, part_at(parts, k), to[k], a, b);
  }
}

static void fneg_part(struct lower *l, const struct part *p, struct ptx_reg to,
                      const struct ptx_operand v[3], const void *how) {
  (void)how;
  if (part_is_full(p)) emit2(l, PTX_NEG, PTX_MODS(part_float_mod(p)), ptx_r(to), v[0]);
  else emit3(l, PTX_XOR, PTX_MODS(part_bits_mod(p)), ptx_r(to), v[0], float_sign_bits(p));
}

/* fneg changes the sign of NaNs too; the 16-bit formats flip the bit. */
void float_lower_neg(struct lower *l, const struct nvm_inst *i) {
  lane_by_parts(l, i, 1, fneg_part, NULL);
}

/* --- comparison ------------------------------------------------------------------------------- */

static const uint16_t fcmp_mods[FCMP_COUNT] = {
    [FCMP_OEQ] = PTX_MOD_EQ,  [FCMP_OGT] = PTX_MOD_GT,  [FCMP_OGE] = PTX_MOD_GE,
    [FCMP_OLT] = PTX_MOD_LT,  [FCMP_OLE] = PTX_MOD_LE,  [FCMP_ONE] = PTX_MOD_NE,
    [FCMP_ORD] = PTX_MOD_NUM, [FCMP_UNO] = PTX_MOD_NAN, [FCMP_UEQ] = PTX_MOD_EQU,
    [FCMP_UGT] = PTX_MOD_GTU, [FCMP_UGE] = PTX_MOD_GEU, [FCMP_ULT] = PTX_MOD_LTU,
    [FCMP_ULE] = PTX_MOD_LEU, [FCMP_UNE] = PTX_MOD_NEU,
};

void float_compare_part(struct lower *l, enum fcmp_predicate pred, const struct part *p,
                        struct ptx_reg to, struct ptx_operand a, struct ptx_operand b,
                        const struct compare_join *join) {
  if (pred == FCMP_FALSE || pred == FCMP_TRUE) {
    uint16_t mod = pred == FCMP_TRUE ? PTX_MOD_EQ : PTX_MOD_NE;
    struct ptx_operand zero = emit_in_reg(l, ptx_i(0), &part_i32);
    emit3(l, PTX_SETP, PTX_MODS(mod, PTX_MOD_B32), ptx_r(to), zero, ptx_i(0));
    return;
  }
  bool promote = part_is_small(p) && !part_is_legal(l, p);
  uint16_t type = promote ? PTX_MOD_F32 : part_float_mod(p);
  if (promote) {
    a = float_to_f32(l, p, a);
    b = float_to_f32(l, p, b);
  }
  uint16_t ftz = promote ? PTX_MOD_NONE : float_ftz(l, type);
  emit_setp(l, EMIT_MODS(fcmp_mods[pred], join->how, ftz, type), to, a, b, join);
}

void float_lower_compare(struct lower *l, const struct nvm_inst *i) {
  struct nvm_type type = value_type(l->f, inst_operand(l->f, i, 0));
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  struct part p = *part_at(part_list(l, scalar), 0);
  struct lanes a = lane_split(l, inst_operand(l->f, i, 0));
  struct lanes b = lane_split(l, inst_operand(l->f, i, 1));
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < a.count && k < b.count; k++)
    float_compare_part(l, (enum fcmp_predicate)i->aux, &p, to[k], a.at[k], b.at[k],
                       &(struct compare_join){0});
}
