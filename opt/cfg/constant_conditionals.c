/* nvvm-reflect-pp: branches on constants become jumps; unreachable blocks are removed.
 *
 * Purpose:   removes code for other targets right after nvvm-reflect, before other passes spend
 *            time on it (NVIDIA's SimplifyConstantConditionals).
 *            At -O3 later passes find nearly all of it (docs/passes.md); it stays for -Ofc=max and
 *            for compile time.
 * Algorithm: folds comparisons of constants that feed a branch, then the branches.
 * Requires:  nothing.
 * Preserves: SSA form.
 * Cost:      linear.
 * Omits:     conditions that are constant for other reasons: sccp.
 * Tests:     check/opt/reflect-*. */
#include "ir/evalintrinsic.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"

/* Folds a condition whose operands are constants. */
static bool fold_condition(struct nvm_function *f, struct nvm_inst_id t) {
  struct nvm_value v = inst_operand(f, function_inst(f, t), 0);
  if (value_kind(v) != VALUE_INST) return false;
  const struct nvm_inst *c = function_inst(f, (struct nvm_inst_id){value_index(v)});
  if (c->op == OP_PHI || !effects_is_pure(f, c)) return false;
  struct nvm_value folded = eval_inst(f, c, &f->operands.data[c->first_operand]);
  if (!value_is_none(folded)) inst_set_operand(f, t, 0, folded);
  return !value_is_none(folded);
}

enum nvm_status constant_conditionals_run(struct nvm_function *f, struct pass_env *env,
                                          bool *changed) {
  FOR_EACH_BLOCK (f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    uint16_t op = function_inst(f, t)->op;
    if (op != OP_CONDBR && op != OP_SWITCH) continue;
    *changed |= fold_condition(f, t);
    nvm_u128 value;
    if (!const_is_int(f->module, inst_operand(f, function_inst(f, t), 0), &value)) continue;
    cfg_make_jump(f, b, cfg_known_successor(f, b));
    ++*env->statistic;
    *changed = true;
  }
  if (*changed && cfg_remove_unreachable(f, env->arena) < 0) return NVM_OUT_OF_MEMORY;
  return NVM_OK;
}
