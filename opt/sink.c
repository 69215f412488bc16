/* sink: what only some paths need is computed there.
 *
 * Purpose:   most threads of a kernel's last block leave at once, and what stands before the test (pointers
 *            made generic or global, addresses, loop bounds) is computed for nothing.
 * Algorithm: from the last block of the dominator tree to the first, from the last instruction to the
 *            first: to the nearest block that dominates all uses (of a phi: the end of the edge), or, if
 *            that is in a loop that the instruction is not in, the nearest above it that isn't.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in uses times MOST_STEPS up the dominator tree.
 * Omits:     loads, which are better begun early; all that has an effect or is convergent.
 * Tests:     check/opt/sink.nvir. */
#include "opt/analysis/loops.h"
#include "opt/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "opt/uses.h"

enum { MOST_STEPS = 64 };

struct sinker {
  struct nvm_function *f;
  struct dominance dominance;
  struct loops loops;
  struct uses uses;
};

/* The nearest block that dominates both; {0} if it is far away. */
static struct nvm_block common(const struct sinker *s, struct nvm_block a, struct nvm_block b) {
  if (block_is_none(a)) return b;
  for (uint32_t steps = 0; !dominance_dominates(&s->dominance, a, b); steps++) {
    if (steps == MOST_STEPS) return (struct nvm_block){0};
    a = s->dominance.immediate[a.index];
  }
  return a;
}

/* Where i could stand; its own block if nowhere else. */
static struct nvm_block find_place(const struct sinker *s, struct nvm_inst_id i) {
  const struct nvm_function *f = s->f;
  struct nvm_block from = function_inst(f, i)->block, to = {0};
  for (uint32_t u = s->uses.first[i.index]; u < s->uses.first[i.index + 1]; u++) {
    const struct nvm_inst *user = function_inst(f, s->uses.users[u]);
    bool phi = user->op == OP_PHI;
    for (uint32_t k = 0; k < (phi ? user->operand_count : 1); k += 2) {
      struct nvm_block at = user->block;
      if (phi && !value_equal(inst_operand(f, user, k), value_of_inst(i))) continue;
      if (phi) at.index = value_index(inst_operand(f, user, k + 1));
      if (!dominance_reachable(&s->dominance, at)) continue;
      to = common(s, to, at);
      if (block_is_none(to) || to.index == from.index) return from;
    }
  }
  uint32_t home = s->loops.innermost[from.index];
  while (to.index != from.index && !block_is_none(to)) {
    uint32_t loop = s->loops.innermost[to.index];
    if (loop == home || loops_contains(&s->loops, loop, from)) return to;
    to = s->dominance.immediate[to.index];
  }
  return from;
}

static bool sink(struct sinker *s, struct nvm_inst_id i) {
  struct nvm_function *f = s->f;
  if (!effects_is_pure(f, function_inst(f, i))) return false;
  struct nvm_block to = find_place(s, i);
  if (to.index == function_inst(f, i)->block.index) return false;
  inst_unlink(f, i);
  inst_insert_before(f, i, block_first_behind_phis(f, to));
  return true;
}

enum nvm_status sink_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct sinker s = {.f = f};
  struct nvm_block *order = arena_alloc(env->arena, (f->blocks.count + 1) * sizeof *order);
  bool *stays = arena_alloc(env->arena, f->insts.count * sizeof *stays);
  if (f->entry.index == f->last_block.index) return NVM_OK;
  if (!order || !stays || !dominance_compute(&s.dominance, f, env->arena) ||
      !loops_compute(&s.loops, f, &s.dominance, env->arena) || !uses_build(&s.uses, f, env->arena))
    return NVM_OUT_OF_MEMORY;
  memset(stays, true, f->insts.count * sizeof *stays);
  FOR_EACH_BLOCK(f, b) order[s.dominance.enter[b.index]] = b; /* [0]: those not reached */
  for (uint32_t k = s.dominance.size[f->entry.index]; k > 0; k--)
    for (struct nvm_inst_id i = function_block(f, order[k])->last, above; !inst_is_none(i); i = above) {
      above = function_inst(f, i)->previous;
      if (!sink(&s, i)) continue;
      stays[i.index] = false; /* debug records may stand before it now */
      *changed = true;
      ++*env->statistic;
    }
  if (*changed) rewrite_drop_dead_metadata(f, stays);
  return NVM_OK;
}
