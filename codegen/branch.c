/* Branches: which target is jumped to, and where the copies of the edges are made.
 *
 *       @%p1 bra $L_exit;              mov.b32 %r1, %r2;
 *       mov.b32 %r1, %r2;       →      @!%p1 bra $L_loop;
 *       bra.uni $L_loop;             $L_exit:
 *     $L_exit:
 *
 * The copies of one edge are made before the branch if that saves its jump and they are few: at
 * most MAX_ADDED, which the other path makes for nothing, or MAX_IN_LOOP if the edge goes back to a
 * loop. If the other path needs what a register held they have the guard of the branch. Copies that
 * both edges make are made once, before it. */
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/stage.h"
#include "codegen/value.h"

enum { MAX_ADDED = 2, MAX_IN_LOOP = 8 };

struct edge {
  struct phi_edge at;
  uint32_t copies; /* not made yet */
  bool goes_back;
};

static struct edge edge_to(struct lower *l, struct nvm_block from, struct nvm_value target) {
  struct nvm_block first = {value_index(target)};
  struct phi_edge e = {first, from, first};
  if (l->merged[first.index]) e = (struct phi_edge){first, first, block_successor(l->f, first, 0)};
  bool goes_back = l->block_rank[e.to.index] <= l->block_rank[from.index];
  return (struct edge){e, phi_edge_copies(l, e.from, e.to), goes_back};
}

static uint32_t label_of(const struct lower *l, const struct edge *e) {
  return l->block_labels[e->at.to.index];
}

/* The copies of an edge and a jump, which placement_end_block() removes if the target is next. */
static void emit_jump(struct lower *l, const struct edge *e) {
  if (e->copies) phi_copy_edge(l, e->at.from, e->at.to);
  emit_branch(l, label_of(l, e));
}

bool branch_copies_early(uint32_t copies, bool goes_back) {
  return copies != 0 && copies <= (goes_back ? MAX_IN_LOOP : MAX_ADDED);
}

/* Makes the copies of e before the branch to e and `other` if that pays. */
static bool copy_early(struct lower *l, struct edge *e, const struct edge *other,
                       struct ptx_reg condition, bool negated) {
  if (!branch_copies_early(e->copies, e->goes_back)) return false;
  if (label_of(l, e) == l->next_label && !other->copies) return false;
  enum phi_early early = phi_early(l, &e->at, &other->at, condition);
  if (early == PHI_NOT_EARLY) return false;
  uint32_t begin = l->pf->entries.count;
  phi_copy_edge(l, e->at.from, e->at.to);
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
  struct edge yes = edge_to(l, i->block, inst_operand(l->f, i, 1)),
              no = edge_to(l, i->block, inst_operand(l->f, i, 2));
  if (yes.at.first.index == no.at.first.index) {
    emit_jump(l, &yes);
    return;
  }
  struct ptx_operand condition = ptx_r(value_reg(l, inst_operand(l->f, i, 0), 0));
  if (yes.copies && yes.copies == no.copies &&
      phi_copies_agree(l, &yes.at, &no.at, condition.reg)) {
    phi_copy_edge(l, yes.at.from, yes.at.to);
    yes.copies = no.copies = 0;
  }
  bool no_first = no.goes_back && !yes.goes_back;
  if (no_first || !copy_early(l, &yes, &no, condition.reg, false))
    if (!copy_early(l, &no, &yes, condition.reg, true) && no_first)
      copy_early(l, &yes, &no, condition.reg, false);
  bool negated = is_negated(&yes, &no);
  const struct edge *jump = negated ? &no : &yes, *fall = negated ? &yes : &no;
  uint32_t label = jump->copies ? emit_new_label(l) : label_of(l, jump);
  if (fall->copies || label != label_of(l, fall)) emit_branch_if(l, condition, negated, label);
  emit_jump(l, fall);
  if (!jump->copies) return;
  ptx_add_label(l->pf, label);
  emit_jump(l, jump);
}

void branch_lower(struct lower *l, const struct nvm_inst *i) {
  struct edge e = edge_to(l, i->block, inst_operand(l->f, i, 0));
  emit_jump(l, &e);
}
