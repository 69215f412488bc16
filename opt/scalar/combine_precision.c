/* Computations in a wider float format than their operands and result need: `x - 0.5` of a float x
 * is a subtraction of doubles in C, and a comparison with 0.1 one of doubles.
 *
 *     %d = fpext float %x to double            %r = fsub float %x, 5.000000e-01
 *     %e = fsub double %d, 5.000000e-01   →
 *     %r = fptrunc double %e to float
 *
 *   fptrunc   of a sum, product or quotient: the wide format has at least 2 p + 2 digits for the p
 *             of the narrow one, so that the second rounding never differs (S. Figueroa, "When is
 *             double rounding innocuous?", 1995; it covers subnormal results, which have fewer
 *             digits). Sums and products only if they may be contracted, since code generation may
 *             fuse narrow ones. Of an integer that the wide format holds exactly; of a sign, a
 *             choice, an extremum or an integral value
 *   fcmp      of extended values; with a constant between two narrow numbers: with one of these
 *   fptosi, fptoui   of an extended value
 *
 * The operands are extended from the narrow format, or constants that it holds. Where subnormal
 * floats are flushed, a sign or choice of one may keep it, as in LLVM. */
#include "ir/eval.h"
#include "ir/evalfloat.h"
#include "ir/intrinsic.h"
#include "opt/scalar/combine.h"

/* The scalar float type's format; false for vectors and other types. */
static bool format_of(const struct combiner *k, struct nvm_type type, enum float_format *format) {
  enum type_kind kind = type_kind(&k->m->types, type);
  if (!eval_is_float_kind(kind)) return false;
  *format = eval_format(kind);
  return true;
}

/* The constant's bits; false if it is no number. */
static bool number_of(const struct combiner *k, struct nvm_value v, uint64_t *bits) {
  struct eval_lane lane;
  enum float_format format;
  if (value_kind(v) != VALUE_CONST || !format_of(k, value_type(k->f, v), &format) ||
      !eval_lane_of(k->m, v, &lane) || lane.poison)
    return false;
  *bits = (uint64_t)lane.bits;
  return !evalfloat_is_nan(format, *bits);
}

/* Whether the narrow format holds the number of the wide one. */
static bool is_held(enum float_format from, enum float_format to, uint64_t bits) {
  uint64_t narrow = evalfloat_convert(from, to, EVALFLOAT_ZERO, bits);
  return evalfloat_convert(to, from, EVALFLOAT_NEAREST, narrow) == bits;
}

/* v in the narrower type, if that is the same number; else VALUE_NULL. A subnormal one may be
 * flushed where the wider number is not. */
static struct nvm_value narrowed(const struct combiner *k, struct nvm_value v,
                                 struct nvm_type type) {
  const struct nvm_inst *i = value_inst_of(k->f, v, OP_FPEXT);
  enum float_format from, to;
  uint64_t bits;
  if (i) {
    struct nvm_value x = inst_operand(k->f, i, 0);
    return type_equal(value_type(k->f, x), type) ? x : VALUE_NULL;
  }
  if (!number_of(k, v, &bits) || !format_of(k, value_type(k->f, v), &from) ||
      !format_of(k, type, &to))
    return VALUE_NULL;
  uint64_t narrow = evalfloat_convert(from, to, EVALFLOAT_ZERO, bits);
  if (evalfloat_is_subnormal(to, narrow) || !is_held(from, to, bits)) return VALUE_NULL;
  return const_float(k->m, type, narrow);
}

/* Significant bits. */
static uint32_t precision(enum float_format f) {
  static const uint8_t bits[] = {
      [FLOAT_HALF] = 11, [FLOAT_BFLOAT] = 8, [FLOAT_SINGLE] = 24, [FLOAT_DOUBLE] = 53};
  return bits[f];
}

/* Whether an operation rounded to `from` and then to `to` is rounded to `to` once. Quotients of
 * bfloats may be subnormal floats: both formats have the same range of exponents. */
static bool rounds_once(const struct combiner *k, const struct nvm_inst *wide,
                        enum float_format from, enum float_format to) {
  if (wide->op == OP_FDIV) {
    if (to != FLOAT_SINGLE || !k->divides_exactly) return false;
  } else if (!(wide->flags & INST_CONTRACT)) {
    return false;
  }
  return precision(from) >= 2 * precision(to) + 2;
}

/* Whether the intrinsic gives one of its operands, its sign or magnitude, or an integral value. */
static bool keeps_format(uint32_t intrinsic) {
  switch (intrinsic) {
    case INTRINSIC_fabs:
    case INTRINSIC_copysign:
    case INTRINSIC_floor:
    case INTRINSIC_ceil:
    case INTRINSIC_trunc:
    case INTRINSIC_rint:
    case INTRINSIC_nearbyint:
    case INTRINSIC_round:
    case INTRINSIC_roundeven:
    case INTRINSIC_minnum:
    case INTRINSIC_maxnum:
    case INTRINSIC_minimum:
    case INTRINSIC_maximum:
    case INTRINSIC_minimumnum:
    case INTRINSIC_maximumnum: return true;
    default: return false;
  }
}

/* The integer as a float, if the wide format holds it. */
static struct nvm_value float_of_exact(struct combiner *k, struct nvm_inst_id root,
                                       const struct nvm_inst *wide, enum float_format from) {
  struct nvm_value x = inst_operand(k->f, wide, 0);
  struct nvm_type type = function_inst(k->f, root)->type;
  uint32_t bits = type_scalar_bits(&k->m->types, value_type(k->f, x));
  if (bits > precision(from) || !type_equal(type, TYPE_FLOAT)) return VALUE_NULL;
  return build_op(k, root, (enum op)wide->op, wide->flags, type, 0, 1, &x);
}

struct nvm_value combine_fptrunc(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value v = inst_operand(k->f, i, 0), operands[3];
  struct nvm_type type = i->type;
  enum float_format from, to;
  if (value_kind(v) != VALUE_INST || k->f->uses.data[value_index(v)] != 1 ||
      !format_of(k, value_type(k->f, v), &from) || !format_of(k, type, &to))
    return VALUE_NULL;
  struct nvm_inst wide = *value_inst(k->f, v);
  enum op op = (enum op)wide.op;
  uint32_t count = wide.operand_count, first = op == OP_SELECT,
           intrinsic = op == OP_CALL ? call_intrinsic(k->f, &wide) : INTRINSIC_NONE;
  switch (op) {
    case OP_SITOFP:
    case OP_UITOFP: return float_of_exact(k, root, &wide, from);
    case OP_FADD:
    case OP_FSUB:
    case OP_FMUL:
    case OP_FDIV:
      if (!rounds_once(k, &wide, from, to)) return VALUE_NULL;
      if (!(i->flags & INST_NINF)) wide.flags &= (uint16_t)~INST_NINF; /* the narrow one may be */
      break;
    case OP_FNEG:
    case OP_SELECT: break;
    case OP_CALL:
      if (!keeps_format(intrinsic)) return VALUE_NULL;
      count--; /* the callee */
      break;
    default: return VALUE_NULL;
  }
  bool any = false; /* constants alone are folded */
  if (count > 3) return VALUE_NULL;
  for (uint32_t n = 0; n < count; n++) {
    operands[n] = inst_operand(k->f, &wide, n);
    if (n < first) continue;
    operands[n] = narrowed(k, operands[n], type);
    if (value_is_none(operands[n])) return VALUE_NULL;
    any |= value_kind(operands[n]) != VALUE_CONST;
  }
  if (!any && op != OP_SELECT) return VALUE_NULL;
  if (op == OP_CALL) return build_call(k, root, intrinsic, wide.flags, type, count, operands);
  return build_op(k, root, op, wide.flags, type, 0, count, operands);
}

/* The narrow number with which `x p c` is the same for every narrow x: c itself, or a neighbour.
 * False if there is none, or it may be flushed, or is infinite, which ninf makes poison. */
static bool narrow_limit(enum float_format from, enum float_format to, enum fcmp_predicate p,
                         uint64_t c, uint64_t *limit) {
  enum evalfloat_rounding r;
  switch (p) {
    case FCMP_OLT:
    case FCMP_ULT:
    case FCMP_OGE:
    case FCMP_UGE: r = EVALFLOAT_UP; break;
    case FCMP_OGT:
    case FCMP_UGT:
    case FCMP_OLE:
    case FCMP_ULE: r = EVALFLOAT_DOWN; break;
    case FCMP_ORD:
    case FCMP_UNO: *limit = 0; return true;
    default: r = EVALFLOAT_ZERO; break;
  }
  *limit = evalfloat_convert(from, to, r, c);
  bool exact = evalfloat_convert(to, from, EVALFLOAT_NEAREST, *limit) == c;
  if (exact) return !evalfloat_is_subnormal(to, *limit);
  return r != EVALFLOAT_ZERO && !evalfloat_is_subnormal(to, *limit) &&
         !evalfloat_is_zero(to, *limit) && !evalfloat_is_infinite(to, *limit);
}

struct nvm_value combine_fcmp(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value pair[] = {inst_operand(k->f, i, 0), inst_operand(k->f, i, 1)};
  uint32_t flags = i->flags, p = i->aux, wide = value_inst_of(k->f, pair[0], OP_FPEXT) ? 0 : 1;
  const struct nvm_inst *extended = value_inst_of(k->f, pair[wide], OP_FPEXT);
  enum float_format from, to;
  uint64_t c, limit;
  if (!extended || !type_equal(i->type, TYPE_I1)) return VALUE_NULL;
  struct nvm_value x = inst_operand(k->f, extended, 0);
  struct nvm_type type = value_type(k->f, x);
  const struct nvm_inst *other = value_inst_of(k->f, pair[1 - wide], OP_FPEXT);
  if (!format_of(k, value_type(k->f, pair[wide]), &from) || !format_of(k, type, &to))
    return VALUE_NULL;
  if (other) {
    pair[1 - wide] = inst_operand(k->f, other, 0);
    if (!type_equal(value_type(k->f, pair[1 - wide]), type)) return VALUE_NULL;
  } else {
    enum fcmp_predicate q = (enum fcmp_predicate)(wide ? predicate_swapped(OP_FCMP, p) : p);
    if (!number_of(k, pair[1 - wide], &c)) return VALUE_NULL;
    if ((p == FCMP_OEQ || p == FCMP_UNE) && !is_held(from, to, c))
      return make_int(k, TYPE_I1, p == FCMP_UNE);
    if (!narrow_limit(from, to, q, c, &limit)) return VALUE_NULL;
    pair[1 - wide] = const_float(k->m, type, limit);
  }
  pair[wide] = x;
  return build_op(k, root, OP_FCMP, flags, TYPE_I1, p, 2, pair);
}

struct nvm_value combine_float_to_int(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *extended = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_FPEXT);
  if (!extended) return VALUE_NULL;
  struct nvm_value x = inst_operand(k->f, extended, 0);
  return build_op(k, root, (enum op)i->op, i->flags, i->type, 0, 1, &x);
}
