/* Branches: which target is jumped to, and where the copies of the edges are made.
 *
 *       @%p1 bra $L_exit;              mov.b32 %r1, %r2;
 *       mov.b32 %r1, %r2;       →      @!%p1 bra $L_loop;
 *       bra.uni $L_loop;             $L_exit:
 *     $L_exit:
 *
 * The copies of one edge are made before the branch if that saves its jump and they are few: at
 * most MAX_ADDED, which the other path makes in vain, or MAX_IN_LOOP if the edge goes back to a
 * loop. If the other path needs what a register held they have the guard of the branch. */
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/stage.h"
#include "codegen/value.h"

enum { MAX_ADDED = 1, MAX_IN_LOOP = 8 };

struct edge {
  struct nvm_block to;
  uint32_t copies; /* not made yet */
  bool goes_back;
};

static struct edge edge_to(struct lower *l, struct nvm_block from, struct nvm_value target) {
  struct nvm_block to = {value_index(target)};
  bool goes_back = l->block_rank[to.index] <= l->block_rank[from.index];
  return (struct edge){to, phi_edge_copies(l, from, to), goes_back};
}

static uint32_t label_of(const struct lower *l, const struct edge *e) {
  return l->block_labels[e->to.index];
}

/* The copies of an edge and a jump, which placement_end_block() removes if the target is next. */
static void emit_jump(struct lower *l, struct nvm_block from, struct nvm_block to) {
  phi_copy_edge(l, from, to);
  emit_branch(l, l->block_labels[to.index]);
}

/* Makes the copies of e before the branch to e and `other` if that pays. */
static bool copy_early(struct lower *l, struct nvm_block from, struct edge *e,
                       const struct edge *other, struct ptx_reg condition, bool negated) {
  if (e->copies == 0 || e->copies > (e->goes_back ? MAX_IN_LOOP : MAX_ADDED)) return false;
  if (label_of(l, e) == l->next_label && !other->copies) return false;
  enum phi_early early = phi_early(l, from, e->to, other->to, condition);
  if (early == PHI_NOT_EARLY) return false;
  uint32_t begin = l->pf->entries.count;
  phi_copy_edge(l, from, e->to);
  e->copies = 0;
  for (uint32_t k = begin; early == PHI_EARLY_GUARDED && k < l->pf->entries.count; k++) {
    l->pf->entries.data[k].guard = condition;
    l->pf->entries.data[k].guard_negated = negated;
  }
  return true;
}

/* Whether to branch to the second target where the condition is false: to the one whose edge needs
 * no copies; if both need some, to the one that leaves the loop, else to the one that stays. */
static bool is_negated(const struct edge *yes, const struct edge *no) {
  if ((yes->copies != 0) != (no->copies != 0)) return yes->copies != 0;
  return yes->copies ? yes->goes_back : no->goes_back && !yes->goes_back;
}

void branch_lower_conditional(struct lower *l, const struct nvm_inst *i) {
  struct nvm_block from = i->block;
  struct edge yes = edge_to(l, from, inst_operand(l->f, i, 1)),
              no = edge_to(l, from, inst_operand(l->f, i, 2));
  if (yes.to.index == no.to.index) {
    emit_jump(l, from, yes.to);
    return;
  }
  struct ptx_operand condition = ptx_r(value_reg(l, inst_operand(l->f, i, 0), 0));
  bool no_first = no.goes_back && !yes.goes_back;
  if (no_first || !copy_early(l, from, &yes, &no, condition.reg, false))
    if (!copy_early(l, from, &no, &yes, condition.reg, true) && no_first)
      copy_early(l, from, &yes, &no, condition.reg, false);
  bool negated = is_negated(&yes, &no);
  const struct edge *jump = negated ? &no : &yes, *fall = negated ? &yes : &no;
  uint32_t label = jump->copies ? emit_new_label(l) : label_of(l, jump);
  if (fall->copies || label != label_of(l, fall)) emit_branch_if(l, condition, negated, label);
  if (fall->copies) phi_copy_edge(l, from, fall->to);
  emit_branch(l, label_of(l, fall));
  if (!jump->copies) return;
  ptx_add_label(l->pf, label);
  emit_jump(l, from, jump->to);
}

void branch_lower(struct lower *l, const struct nvm_inst *i) {
  emit_jump(l, i->block, (struct nvm_block){value_index(inst_operand(l->f, i, 0))});
}
