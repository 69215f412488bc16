/* Selects that choose the larger or smaller one of a float and a constant, and comparisons of such
 * an integer with the constant: `min(x, 512) == 512` is `x >= 512`.
 *
 *     %c = fcmp ogt float %x, 0.0          call float @llvm.maximumnum.f32(float %x, float 0.0)
 *     select i1 %c, float %x, float 0.0
 *
 * maximumnum gives the constant for NaN, and is one instruction, max.f32, which orders -0 before 0.
 * A select that gives the other zero stays, and one where denormals are flushed before they are
 * compared. So do those of doubles, of which ptxas makes fewer instructions than of max.f64.
 *
 * A select on x == C whose other arm has the same value where x is C is that arm:
 * `x == 0 ? 0 : x & 255`. */
#include "analysis/effects.h"
#include "ir/eval.h"
#include "ir/evalfloat.h"
#include "ir/intrinsic.h"
#include "opt/scalar/combine.h"

/* Whether `x p c ? x : c` is the extremum: the zero that it gives for x = -0 and x = 0 is that one;
 * a predicate with `or equal` gives x, one without gives c. */
static bool gives_right_zero(enum fcmp_predicate p, uint64_t c) {
  bool larger = p == FCMP_OGT || p == FCMP_OGE, or_equal = p == FCMP_OGE || p == FCMP_OLE;
  uint64_t sign = evalfloat_sign(FLOAT_SINGLE);
  if ((c & ~sign) != 0) return true;
  return or_equal == (larger == (c == sign));
}

/* Whether v is no NaN, unless it is poison. */
static bool is_never_nan(const struct combiner *k, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(k->f, v);
  struct eval_lane lane;
  if (!i) return false;
  if (i->op == OP_SITOFP || i->op == OP_UITOFP) return true;
  uint32_t id = i->op == OP_CALL ? call_intrinsic(k->f, i) : INTRINSIC_NONE;
  if (id != INTRINSIC_maximumnum && id != INTRINSIC_minimumnum) return false;
  return eval_lane_of(k->m, inst_operand(k->f, i, 1), &lane) && !lane.poison &&
         !evalfloat_is_nan(FLOAT_SINGLE, (uint64_t)lane.bits);
}

/* The same comparison of two numbers, of which none is NaN. */
static enum fcmp_predicate ordered(enum fcmp_predicate p) {
  switch (p) {
    case FCMP_UGT: return FCMP_OGT;
    case FCMP_UGE: return FCMP_OGE;
    case FCMP_ULT: return FCMP_OLT;
    case FCMP_ULE: return FCMP_OLE;
    default: return p;
  }
}

/* `x predicate limit ? x : limit`, with a constant. */
struct choice {
  enum fcmp_predicate predicate;
  struct nvm_value x, limit;
};

static void swap(struct nvm_value *a, struct nvm_value *b) {
  struct nvm_value was = *a;
  *a = *b;
  *b = was;
}

static bool find_choice(const struct combiner *k, const struct nvm_inst *select,
                        struct choice *found) {
  struct nvm_value v = inst_operand(k->f, select, 0);
  const struct nvm_inst *c = value_inst_of(k->f, v, OP_FCMP);
  if (!c) return false;
  struct nvm_value a = inst_operand(k->f, c, 0), b = inst_operand(k->f, c, 1);
  struct nvm_value yes = inst_operand(k->f, select, 1), no = inst_operand(k->f, select, 2);
  uint32_t p = c->aux;
  if (value_kind(a) == VALUE_CONST) {
    swap(&a, &b);
    p = predicate_swapped(OP_FCMP, p);
  }
  if (value_kind(yes) == VALUE_CONST) {
    swap(&yes, &no);
    p = predicate_inverse(OP_FCMP, p);
  }
  *found = (struct choice){(enum fcmp_predicate)p, a, b};
  return value_kind(b) == VALUE_CONST && value_equal(yes, a) && value_equal(no, b);
}

static struct nvm_value extremum(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct choice c;
  struct eval_lane lane;
  if (!type_equal(i->type, TYPE_FLOAT) || k->flushes || !find_choice(k, i, &c) ||
      !eval_lane_of(k->m, c.limit, &lane) || lane.poison)
    return VALUE_NULL;
  if (is_never_nan(k, c.x)) c.predicate = ordered(c.predicate);
  bool larger = c.predicate == FCMP_OGT || c.predicate == FCMP_OGE;
  if ((!larger && c.predicate != FCMP_OLT && c.predicate != FCMP_OLE) ||
      evalfloat_is_nan(FLOAT_SINGLE, (uint64_t)lane.bits) ||
      !gives_right_zero(c.predicate, (uint64_t)lane.bits))
    return VALUE_NULL;
  struct nvm_value pair[] = {c.x, c.limit};
  return build_call(k, root, larger ? INTRINSIC_maximumnum : INTRINSIC_minimumnum, 0, i->type, 2,
                    pair);
}

/* A value of x, and how many operations may still be computed with it. */
struct substitution {
  struct nvm_value x, number;
  uint32_t left;
};

/* v where x is the number, if that is a constant; VALUE_NULL: not known, or too long to compute. */
static struct nvm_value substituted(const struct combiner *k, struct nvm_value v,
                                    struct substitution *s, int depth) {
  enum { MAX_DEPTH = 4, MAX_OPERANDS = 4 };
  struct nvm_value operands[MAX_OPERANDS];
  if (value_equal(v, s->x)) return s->number;
  if (value_kind(v) == VALUE_CONST) return v;
  const struct nvm_inst *i = value_kind(v) == VALUE_INST ? &k->f->insts.data[value_index(v)] : NULL;
  if (!i || depth == MAX_DEPTH || s->left == 0 || i->operand_count > MAX_OPERANDS ||
      i->operand_count == 0 || i->op == OP_PHI || i->op == OP_FREEZE || i->op == OP_CALL ||
      !effects_is_pure(k->f, i))
    return VALUE_NULL; /* a call may be poison by a range that is stated of it */
  s->left--;
  for (uint32_t n = 0; n < i->operand_count; n++) {
    operands[n] = substituted(k, inst_operand(k->f, i, n), s, depth + 1);
    if (value_is_none(operands[n])) return VALUE_NULL;
  }
  return eval_fold(k->m, (enum op)i->op, i->flags, i->aux, i->type, operands, i->operand_count);
}

static struct nvm_value other_arm(const struct combiner *k, struct nvm_inst_id root) {
  enum { MAX_OPERATIONS = 8 };
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *c = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_ICMP);
  if (!c || (c->aux != ICMP_EQ && c->aux != ICMP_NE)) return VALUE_NULL;
  struct substitution s = {inst_operand(k->f, c, 0), inst_operand(k->f, c, 1), MAX_OPERATIONS};
  uint32_t equal = c->aux == ICMP_EQ ? 1 : 2;
  struct nvm_value same = inst_operand(k->f, i, equal), other = inst_operand(k->f, i, 3 - equal);
  nvm_u128 number;
  if (!const_is_int(k->m, s.number, &number) || !const_is_int(k->m, same, &number) ||
      value_kind(other) == VALUE_CONST || !value_equal(substituted(k, other, &s, 0), same))
    return VALUE_NULL;
  return other;
}

struct nvm_value combine_select(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value v = extremum(k, root);
  return value_is_none(v) ? other_arm(k, root) : v;
}

/* Whether the extremum of x and a constant is the constant. No rule: the extremum may have other
 * uses, so that nothing but the length of dependences falls. */
struct nvm_value combine_is_limit(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value v = inst_operand(k->f, i, 0), limit = inst_operand(k->f, i, 1);
  const struct nvm_inst *extremum = value_inst_of(k->f, v, OP_CALL);
  if ((i->aux != ICMP_EQ && i->aux != ICMP_NE) || !extremum || value_kind(limit) != VALUE_CONST)
    return VALUE_NULL;
  enum icmp_predicate p;
  switch (call_intrinsic(k->f, extremum)) {
    case INTRINSIC_umin: p = ICMP_UGE; break;
    case INTRINSIC_umax: p = ICMP_ULE; break;
    case INTRINSIC_smin: p = ICMP_SGE; break;
    case INTRINSIC_smax: p = ICMP_SLE; break;
    default: return VALUE_NULL;
  }
  if (!value_equal(inst_operand(k->f, extremum, 1), limit)) return VALUE_NULL;
  struct nvm_value pair[] = {inst_operand(k->f, extremum, 0), limit};
  uint32_t aux = i->aux == ICMP_EQ ? p : predicate_inverse(OP_ICMP, p);
  return build_op(k, root, OP_ICMP, 0, i->type, aux, 2, pair);
}
