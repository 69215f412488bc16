/* nvvm-reflect: replaces __nvvm_reflect("...") by properties of the target.
 *
 * Purpose:   libdevice asks the compiler about the target (1,940 of its 2,015 calls query
 *            "__CUDA_FTZ"); the answer selects code.
 * Algorithm: a call of __nvvm_reflect, __nvvm_reflect_ocl or llvm.nvvm.reflect with a constant
 *            string becomes a constant (target/reflect.c). The pass runs at every level, and again
 *            after each round of inlining and after unrolling, which bring new constant strings.
 *            The knob nvvm-reflect-enable=0 leaves the calls to codegen, which writes 0;
 *            disable-nvvm-reflect removes the pass, and codegen answers as this pass would.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear.
 * Omits:     computed strings: such calls are kept, with a remark.
 * Tests:     check/opt/reflect-*. */
#include "opt/passes.h"
#include "opt/remark.h"
#include "opt/rewrite.h"
#include "target/reflect.h"

enum nvm_status reflect_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct rewrite r = {.f = f};
  if (!env->knobs->value[KNOB_REFLECT_ENABLE]) return NVM_OK;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      struct nvm_text query;
      if (!reflect_is_call(f, inst)) continue;
      if (!r.to && !rewrite_init(&r, f, env->arena)) return NVM_OUT_OF_MEMORY;
      if (reflect_string(f, inst_operand(f, inst, 0), &query))
        rewrite_set(&r, i, const_int(f->module, inst->type, reflect_answer(env->target, f, query)));
      else
        remark(env, REMARK_MISSED, f, i, "NotConstant",
               "call of __nvvm_reflect is left alone: its argument is not a constant string");
    }
  *env->statistic += r.count;
  *changed |= r.count != 0;
  rewrite_apply(&r);
  return NVM_OK;
}
