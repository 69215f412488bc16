/* dce: removes instructions without effect whose result nobody uses.
 *
 * Purpose:   other passes leave dead computations behind; this one sweeps them.
 * Algorithm: mark from the instructions with effects through their operands, remove the rest: cycles
 *            of dead phis go too (Cytron et al., 1991, section 7.1, without control dependence).
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands.
 * Omits:     dead branches and stores.
 * Tests:     check/opt/dce-*. */
#include "opt/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

struct marker {
  struct nvm_function *f;
  bool *live;
  uint32_t *stack;
  uint32_t depth;
};

static void mark(struct marker *k, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST || k->live[value_index(v)]) return;
  k->live[value_index(v)] = true;
  k->stack[k->depth++] = value_index(v);
}

static void mark_operands(struct marker *k, const struct nvm_inst *i) {
  for (uint32_t n = 0; n < i->operand_count; n++) mark(k, inst_operand(k->f, i, n));
}

static void mark_all(struct marker *k) {
  FOR_EACH_BLOCK(k->f, b)
    FOR_EACH_INST(k->f, b, i) {
      const struct nvm_inst *inst = function_inst(k->f, i);
      if (k->live[i.index] || !effects_must_stay(k->f, inst)) continue;
      k->live[i.index] = true;
      mark_operands(k, inst);
      while (k->depth) mark_operands(k, &k->f->insts.data[k->stack[--k->depth]]);
    }
}

enum nvm_status dce_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct marker k = {.f = f,
                     .live = arena_alloc(env->arena, f->insts.count * sizeof(bool)),
                     .stack = arena_alloc(env->arena, f->insts.count * sizeof(uint32_t))};
  if (!k.live || !k.stack) return NVM_OUT_OF_MEMORY;
  mark_all(&k);
  FOR_EACH_BLOCK(f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (k.live[i.index]) continue;
      inst_remove(f, i);
      ++*env->statistic;
      *changed = true;
    }
  if (*changed) rewrite_drop_dead_metadata(f, k.live);
  return NVM_OK;
}
