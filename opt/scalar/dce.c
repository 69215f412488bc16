/* dce: removes instructions without effects whose results are not used.
 *
 * Purpose:   other passes leave dead computations. dce<assumptions> also removes what llvm.assume
 *            states, once no later pass asks for it: its operands are computed otherwise.
 * Algorithm: marks from instructions with effects through their operands, in one backward walk, and
 *            removes the rest, cycles of dead phis included (Cytron et al., 1991, section 7.1,
 *            without control dependence).
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands.
 * Omits:     dead branches; stores, except those of undef and poison.
 * Tests:     check/opt/dce-*. */
#include "analysis/effects.h"
#include "ir/intrinsic.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

struct marker {
  struct nvm_function *f;
  bool drops_assumptions;
  bool *live, *passed; /* by instruction: needed; visited before any user that needs it */
  uint32_t *stack;     /* needed instructions that the walk has passed */
  uint32_t depth;
  uint32_t dead; /* number of passed instructions that are not live */
};

static void mark_operands(struct marker *k, const struct nvm_inst *i) {
  const struct nvm_value *operands = k->f->operands.data + i->first_operand;
  for (uint32_t n = 0; n < i->operand_count; n++) {
    uint32_t id = value_index(operands[n]);
    if (value_kind(operands[n]) != VALUE_INST || k->live[id]) continue;
    k->live[id] = true;
    if (k->passed[id]) k->stack[k->depth++] = id;
  }
}

static bool is_needed(const struct marker *k, const struct nvm_inst *i) {
  bool dropped = k->drops_assumptions && call_intrinsic(k->f, i) == INTRINSIC_assume;
  return effects_must_stay(k->f, i) && !effects_stores_nothing(k->f, i) && !dropped;
}

/* Backwards, because most operands come before their users: then one visit of each is enough. */
static void mark_all(struct marker *k) {
  struct nvm_function *f = k->f;
  for (struct nvm_block b = f->last_block; !block_is_none(b); b = function_block(f, b)->previous)
    for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i);
         i = function_inst(f, i)->previous) {
      const struct nvm_inst *inst = function_inst(f, i);
      k->passed[i.index] = !k->live[i.index] && !is_needed(k, inst);
      k->dead += k->passed[i.index];
      if (k->passed[i.index]) continue;
      k->live[i.index] = true;
      mark_operands(k, inst);
      for (; k->depth; k->dead--) mark_operands(k, &f->insts.data[k->stack[--k->depth]]);
    }
}

enum nvm_status dce_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct marker k = {.f = f,
                     .drops_assumptions = env->parameters & 1 << PARAMETER_ASSUMPTIONS,
                     .live = arena_alloc(env->arena, f->insts.count * sizeof(bool)),
                     .passed = arena_alloc(env->arena, f->insts.count * sizeof(bool)),
                     .stack = arena_alloc(env->arena, f->insts.count * sizeof(uint32_t))};
  if (!k.live || !k.passed || !k.stack) return NVM_OUT_OF_MEMORY;
  mark_all(&k);
  if (k.dead == 0) return NVM_OK;
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (!k.live[i.index]) inst_remove(f, i);
    }
  *env->statistic += k.dead;
  *changed = true;
  rewrite_drop_dead_metadata(f, k.live);
  return NVM_OK;
}
