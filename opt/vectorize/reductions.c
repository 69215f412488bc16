/* Reductions and serial chains: header phis that carry a result.
 *
 * A reduction is a set of values from the phi to its back-edge value, linked by one operation
 * whose order does not matter; a condition may skip a link (select, or a phi of the body). The set
 * has no other users. The vector loop keeps a partial result in every lane. Floats require
 * `reassoc` or the knob; min and max of floats do not if the operation is an intrinsic, which PTX
 * orders fully.
 *
 * A serial chain is the set of values that depend on the phi and that the back-edge value depends
 * on: arithmetic that is executed in order, lane by lane, while the rest is widened. */
#include "opt/vectorize/vectorize.h"

#include "ir/intrinsic.h"
#include "analysis/effects.h"

enum { MAX_LINKS = 48 };

struct links {
  struct vector_loop *v;
  struct header_phi *phi;
  struct nvm_inst_id members[MAX_LINKS];
  uint32_t count, steps;
  bool wrong;
};

/* Limits the walks, which do not remember visited values. */
enum { MAX_STEPS = 2000 };

static bool is_member(const struct links *s, struct nvm_value x) {
  if (value_equal(x, value_of_inst(s->phi->inst))) return true;
  for (uint32_t k = 0; k < s->count; k++)
    if (value_equal(x, value_of_inst(s->members[k]))) return true;
  return false;
}

static void add_member(struct links *s, struct nvm_inst_id i) {
  if (is_member(s, value_of_inst(i))) return;
  if (s->count == MAX_LINKS) s->wrong = true;
  else s->members[s->count++] = i;
}

static const struct {
  uint16_t op;
  uint8_t kind;
} op_kinds[] = {{OP_ADD, REDUCE_ADD},   {OP_SUB, REDUCE_ADD},   {OP_MUL, REDUCE_MUL},
                {OP_AND, REDUCE_AND},   {OP_OR, REDUCE_OR},     {OP_XOR, REDUCE_XOR},
                {OP_FADD, REDUCE_FADD}, {OP_FSUB, REDUCE_FADD}, {OP_FMUL, REDUCE_FMUL}};

static const struct {
  uint16_t intrinsic;
  uint8_t kind;
} intrinsic_kinds[] = {{INTRINSIC_smin, REDUCE_SMIN},    {INTRINSIC_smax, REDUCE_SMAX},
                       {INTRINSIC_umin, REDUCE_UMIN},    {INTRINSIC_umax, REDUCE_UMAX},
                       {INTRINSIC_minnum, REDUCE_FMIN},  {INTRINSIC_maxnum, REDUCE_FMAX},
                       {INTRINSIC_minimum, REDUCE_FMIN}, {INTRINSIC_maximum, REDUCE_FMAX},
                       {INTRINSIC_fma, REDUCE_FADD},     {INTRINSIC_fmuladd, REDUCE_FADD}};

static uint32_t intrinsic_of(const struct vector_loop *v, const struct nvm_inst *i) {
  if (i->op != OP_CALL || value_kind(call_callee(v->f, i)) != VALUE_FUNCTION) return 0;
  return module_function(v->f->module, call_callee(v->f, i))->intrinsic;
}

static enum reduction_kind kind_of(const struct vector_loop *v, const struct nvm_inst *i) {
  for (uint32_t k = 0; k < sizeof op_kinds / sizeof *op_kinds; k++)
    if (op_kinds[k].op == i->op) return (enum reduction_kind)op_kinds[k].kind;
  uint32_t intrinsic = intrinsic_of(v, i);
  for (uint32_t k = 0; intrinsic && k < sizeof intrinsic_kinds / sizeof *intrinsic_kinds; k++)
    if (intrinsic_kinds[k].intrinsic == intrinsic)
      return (enum reduction_kind)intrinsic_kinds[k].kind;
  return REDUCE_NONE;
}

/* The condition under which a phi of the body, at the join of two empty arms, has its first value.
 */
static struct nvm_value phi_condition(const struct vector_loop *v, const struct nvm_inst *phi,
                                      bool *negated) {
  struct nvm_block top = v->dominance->immediate[phi->block.index];
  if (phi->operand_count != 4 || block_is_none(top)) return VALUE_NULL;
  const struct nvm_inst *branch = vl_inst(v, block_terminator(v->f, top));
  if (branch->op != OP_CONDBR) return VALUE_NULL;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_block from = {value_index(inst_operand(v->f, phi, 2 * k + 1))};
    struct nvm_inst_id first = function_block(v->f, from)->first;
    bool arm = from.index == top.index || (v->dominance->immediate[from.index].index == top.index &&
                                           vl_inst(v, first)->op == OP_BR);
    if (!arm) return VALUE_NULL;
    uint32_t taken = value_index(inst_operand(v->f, branch, 1));
    if (k == 0) *negated = taken != (from.index == top.index ? phi->block.index : from.index);
  }
  return inst_operand(v->f, branch, 0);
}

/* The minimum or maximum that select(a < b, a, b), or the equivalent phi, computes; the comparison
 * becomes a member. */
static enum reduction_kind kind_of_select(struct links *s, const struct nvm_inst *i) {
  const struct vector_loop *v = s->v;
  bool phi = i->op == OP_PHI, negated = false;
  struct nvm_value c = phi ? phi_condition(v, i, &negated) : inst_operand(v->f, i, 0);
  struct nvm_value a = inst_operand(v->f, i, phi ? 0 : 1), b = inst_operand(v->f, i, 2);
  if (!vl_inside(v, c)) return REDUCE_NONE;
  if (negated) {
    struct nvm_value t = a;
    a = b, b = t;
  }
  const struct nvm_inst *cmp = &v->f->insts.data[value_index(c)];
  if (cmp->op != OP_ICMP && cmp->op != OP_FCMP) return REDUCE_NONE;
  struct nvm_value x = inst_operand(v->f, cmp, 0), y = inst_operand(v->f, cmp, 1);
  bool straight = value_equal(x, a) && value_equal(y, b),
       crossed = value_equal(x, b) && value_equal(y, a);
  if (!straight && !crossed) return REDUCE_NONE;
  bool less;
  enum reduction_kind low, high;
  if (cmp->op == OP_FCMP) {
    bool finite = (i->flags | cmp->flags) & INST_NNAN && (i->flags | cmp->flags) & INST_NSZ;
    uint32_t order = cmp->aux & 6;
    if (!finite || (order != 2 && order != 4)) return REDUCE_NONE;
    less = order == 4, low = REDUCE_FMIN, high = REDUCE_FMAX;
  } else {
    if (cmp->aux == ICMP_EQ || cmp->aux == ICMP_NE) return REDUCE_NONE;
    bool is_signed = cmp->aux >= ICMP_SGT;
    less = cmp->aux == ICMP_ULT || cmp->aux == ICMP_ULE || cmp->aux == ICMP_SLT ||
           cmp->aux == ICMP_SLE;
    low = is_signed ? REDUCE_SMIN : REDUCE_UMIN, high = is_signed ? REDUCE_SMAX : REDUCE_UMAX;
  }
  add_member(s, (struct nvm_inst_id){value_index(c)});
  return less == straight ? low : high;
}

static bool walk(struct links *s, struct nvm_value x, uint32_t depth);

/* All links must be the same operation: minnum drops the NaN that minimum returns; a select does
 * neither. */
static bool take_kind(struct links *s, enum reduction_kind kind, struct nvm_inst_id i) {
  struct header_phi *p = s->phi;
  if (p->reduction == REDUCE_NONE) p->combine = i, p->reduction = kind;
  bool alike =
      (kind != REDUCE_FMIN && kind != REDUCE_FMAX) ||
      intrinsic_of(s->v, vl_inst(s->v, i)) == intrinsic_of(s->v, vl_inst(s->v, p->combine));
  return p->reduction == kind && alike;
}

/* A link of the operation: one operand is a member, the others do not depend on members. */
static bool walk_operation(struct links *s, struct nvm_inst_id id, enum reduction_kind kind,
                           uint32_t depth) {
  const struct nvm_inst *i = vl_inst(s->v, id);
  uint32_t operands = i->op == OP_CALL ? i->operand_count - 1 : i->operand_count;
  uint32_t intrinsic = intrinsic_of(s->v, i);
  uint32_t first = intrinsic == INTRINSIC_fma || intrinsic == INTRINSIC_fmuladd ? 2 : 0;
  uint32_t last = i->op == OP_SUB || i->op == OP_FSUB ? 1 : operands;
  if (!take_kind(s, kind, id)) return false;
  for (uint32_t k = first; k < last; k++) {
    uint32_t before = s->count;
    if (walk(s, inst_operand(s->v->f, i, k), depth + 1)) {
      add_member(s, id);
      return true;
    }
    s->count = before;
  }
  return false;
}

static bool walk_choice(struct links *s, struct nvm_inst_id id, uint32_t depth) {
  const struct nvm_inst *i = vl_inst(s->v, id);
  uint32_t members = s->count;
  enum reduction_kind kind = kind_of_select(s, i);
  if (kind != REDUCE_NONE) {
    if (!take_kind(s, kind, id)) return false;
    struct nvm_value a = inst_operand(s->v->f, i, i->op == OP_SELECT ? 1 : 0),
                     b = inst_operand(s->v->f, i, 2);
    if (!walk(s, a, depth + 1) && !walk(s, b, depth + 1)) return false;
  } else {
    s->count = members;
    for (uint32_t k = i->op == OP_SELECT ? 1 : 0; k < i->operand_count;
         k += i->op == OP_SELECT ? 1 : 2)
      if (!walk(s, inst_operand(s->v->f, i, k), depth + 1)) return false;
  }
  add_member(s, id);
  return true;
}

/* Whether x is the phi or linked to it; the links become members. */
static bool walk(struct links *s, struct nvm_value x, uint32_t depth) {
  if (is_member(s, x)) return true;
  if (depth > MAX_LINKS || ++s->steps > MAX_STEPS || !vl_inside(s->v, x)) return false;
  struct nvm_inst_id id = {value_index(x)};
  const struct nvm_inst *i = vl_inst(s->v, id);
  bool header = i->block.index == s->v->loop->header.index;
  if (i->op == OP_SELECT || (i->op == OP_PHI && !header)) return walk_choice(s, id, depth);
  enum reduction_kind kind = kind_of(s->v, i);
  return kind != REDUCE_NONE && walk_operation(s, id, kind, depth);
}

/* Whether all users of i in the loop are members. */
static bool is_closed(const struct links *s, struct nvm_inst_id i) {
  const struct uses *u = &s->v->uses;
  for (uint32_t k = u->first[i.index]; k < u->first[i.index + 1]; k++) {
    struct nvm_inst_id user = u->users[k];
    /* A branch on the comparison of a minimum may select the phi that is a member, if it is the
     * only one. */
    struct nvm_inst_id combine = s->phi->combine, next = combine;
    if (combine.index) next = vl_inst(s->v, combine)->next;
    bool chooses = vl_inst(s->v, user)->op == OP_CONDBR && combine.index &&
                   vl_inst(s->v, combine)->op == OP_PHI &&
                   inst_is_none(vl_inst(s->v, combine)->previous) &&
                   vl_inst(s->v, next)->op != OP_PHI &&
                   s->v->dominance->immediate[vl_inst(s->v, combine)->block.index].index ==
                       vl_inst(s->v, user)->block.index;
    if (s->v->position[user.index] && !chooses && !is_member(s, value_of_inst(user))) return false;
  }
  return true;
}

/* Whether the link uses the result once: s + s, or a product whose factor depends on s, is not a
 * link. */
static bool uses_result_once(const struct links *s, const struct nvm_inst *i) {
  if (i->op == OP_SELECT || i->op == OP_PHI || i->op == OP_ICMP || i->op == OP_FCMP) return true;
  uint32_t members = 0;
  for (uint32_t k = 0; k < i->operand_count; k++)
    members += is_member(s, inst_operand(s->v->f, i, k));
  return members == 1;
}

bool reduction_recognize(struct vector_loop *v, struct header_phi *p) {
  struct links s = {.v = v, .phi = p};
  p->reduction = REDUCE_NONE;
  if (!vl_inside(v, p->back) || value_equal(p->back, value_of_inst(p->inst))) return false;
  if (!walk(&s, p->back, 0) || s.wrong || p->reduction == REDUCE_NONE || !is_closed(&s, p->inst))
    return false;
  p->flags = INST_FAST;
  for (uint32_t k = 0; k < s.count; k++) {
    const struct nvm_inst *i = vl_inst(v, s.members[k]);
    if (!is_closed(&s, s.members[k]) || !uses_result_once(&s, i)) return false;
    if (i->op != OP_SELECT && i->op != OP_PHI && i->op != OP_ICMP && i->op != OP_FCMP)
      p->flags &= i->flags;
  }
  int32_t override = vl_knob(v, KNOB_FORCE_CAN_REORDER_FP);
  bool reorder = override >= 0 ? override != 0 : (p->flags & INST_REASSOC) != 0;
  if ((p->reduction == REDUCE_FADD || p->reduction == REDUCE_FMUL) && !reorder) return false;
  for (uint32_t k = 0; k < s.count; k++) v->reduced[s.members[k].index] = true;
  return true;
}

/* Adds the values between the phi and x to the members; whether x depends on the phi. */
static bool walk_chain(struct links *s, struct nvm_value x, uint32_t depth) {
  if (is_member(s, x)) return true;
  if (!vl_inside(s->v, x) || s->wrong) return false;
  struct nvm_inst_id id = {value_index(x)};
  const struct nvm_inst *i = vl_inst(s->v, id);
  if (i->op == OP_PHI && i->block.index == s->v->loop->header.index) return false;
  if (depth > MAX_LINKS || ++s->steps > MAX_STEPS) s->wrong = true;
  bool depends = false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    depends |= walk_chain(s, inst_operand(s->v->f, i, k), depth + 1);
  if (!depends) return false;
  bool arithmetic = i->op != OP_PHI && effects_is_pure(s->v->f, i);
  if (!arithmetic ||
      !(effects_is_speculatable(s->v->f, i) || i->block.index == s->v->loop->latch.index))
    s->wrong = true;
  add_member(s, id);
  return true;
}

bool serial_recognize(struct vector_loop *v, struct header_phi *p) {
  struct links s = {.v = v, .phi = p};
  if (value_equal(p->back, value_of_inst(p->inst)) || !walk_chain(&s, p->back, 0) || s.wrong)
    return false;
  for (uint32_t k = 0; k < s.count; k++) v->chained[s.members[k].index] = true;
  return true;
}
