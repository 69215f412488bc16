/* loop-unswitch: hoists a loop-invariant branch out of a loop, which is copied.
 *
 * Purpose:   invariant flags and bounds are tested in each iteration, and the control flow keeps
 *            other passes from recognizing a simple loop.
 * Algorithm: the preheader branches on a frozen copy of the condition (the loop may never execute
 *            the branch, so that poison is possible) to the loop or its copy, in which the branch
 *            is a jump.
 * Requires:  loop-simplify, lcssa; licm before it, so that the condition is outside of the loop.
 * Preserves: convergent operations: loops with them are not copied, since the copies would
 *            diverge.
 * Cost:      linear; one branch per run, in innermost loops of at most MAX_SIZE instructions.
 * Omits:     switches; outer loops.
 * Tests:     check/opt/loop-unswitch. */
#include "opt/cfg/cfg.h"
#include "ir/build.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"

enum { MAX_SIZE = 60 };

struct unswitcher {
  struct nvm_function *f;
  struct loop_nest nest;
  struct loop_copy copy;
  const struct loop *loop;
  const struct nvm_block *blocks; /* of the loop */
};

/* A block of the loop with a branch on an invariant condition; {0}: none. */
static struct nvm_block find_branch(const struct unswitcher *u, uint32_t n) {
  for (uint32_t k = 0; k < u->loop->block_count; k++) {
    const struct nvm_inst *t = function_inst(u->f, block_terminator(u->f, u->blocks[k]));
    if (t->op != OP_CONDBR || value_kind(inst_operand(u->f, t, 0)) == VALUE_CONST) continue;
    bool two_targets = !value_equal(inst_operand(u->f, t, 1), inst_operand(u->f, t, 2));
    if (two_targets && loops_is_invariant(&u->nest.loops, u->f, n, inst_operand(u->f, t, 0)))
      return u->blocks[k];
  }
  return (struct nvm_block){0};
}

/* Copies the loop for a false condition, and branches before both. */
static bool unswitch(struct unswitcher *u, struct nvm_block b, struct arena *arena) {
  struct nvm_function *f = u->f;
  const struct loop *l = u->loop;
  struct nvm_block next = function_block(f, u->blocks[l->block_count - 1])->next;
  if (!loop_copy_grow(&u->copy, f, arena) ||
      !loop_copy_blocks(&u->copy, f, u->blocks, l->block_count, next) ||
      !loop_copy_exits(&u->copy, f, u->blocks, l->block_count))
    return false;
  struct nvm_block other = u->copy.blocks[b.index], latch = u->copy.blocks[l->latch.index];
  struct nvm_inst_id jump = block_terminator(f, l->preheader);
  struct builder at = builder_before(f, jump);
  struct nvm_value condition = inst_operand_at(f, block_terminator(f, b), 0),
                   frozen = builder_unary(&at, OP_FREEZE, TYPE_I1, condition),
                   test =
                       builder_condbranch(&at, frozen, l->header, u->copy.blocks[l->header.index]);
  if (value_is_none(test)) return false;
  inst_remove(f, jump);
  loop_copy_forget(&u->copy, f, u->blocks, l->block_count);
  cfg_make_jump(f, b, block_successor(f, b, 0));
  cfg_make_jump(f, other, block_successor(f, other, 1));
  return !l->hints.index || loop_set_hint(f, latch, l->hints, "llvm.loop.unswitched.", NULL);
}

enum nvm_status unswitch_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct unswitcher u = {.f = f};
  if (!loop_nest_of(&u.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (u.nest.loops.count == 0) return NVM_OK;
  if (!loop_copy_init(&u.copy, f, env->arena)) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n <= u.nest.loops.count; n++) {
    bool convergent;
    uint32_t size;
    u.loop = &u.nest.loops.data[n];
    u.blocks = u.nest.loops.blocks + u.loop->first_block;
    struct nvm_block b = u.loop->end == n + 1 ? find_branch(&u, n) : (struct nvm_block){0};
    if (block_is_none(b) || !loop_is_copyable(f, &u.nest.loops, n, MAX_SIZE, &convergent, &size))
      continue;
    if (convergent || !loop_is_closed(&u.nest, f, n)) continue;
    if (!unswitch(&u, b, env->arena)) return NVM_OUT_OF_MEMORY;
    ++*env->statistic;
    *changed = true;
  }
  if (*changed && cfg_remove_unreachable(f, env->arena) < 0) return NVM_OUT_OF_MEMORY;
  return NVM_OK;
}
