/* barriers: removes barriers and fences that order nothing.
 *
 * Purpose:   inlined helpers end with a barrier and begin with one; kernels begin with one.
 * Algorithm: a forward walk over each block that tracks what has been ordered since the last
 *            memory access:
 *              a barrier of all threads of the block  → the fences of its scope, and itself
 *              a fence                                → fences of its scope and narrower
 *            An operation that orders nothing new is removed. At the start of a kernel nothing has
 *            been accessed. Only llvm.nvvm.barrier0 (__syncthreads) counts as a barrier, since all
 *            threads of the block execute it or none: at a numbered one, another path might wait
 *            for the second arrival.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear.
 * Omits:     facts across blocks; barriers of warps and clusters; accesses to private memory.
 * Tests:     check/opt/barriers.nvir. */
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/passes.h"

/* What has been executed since the last access; each includes those before it. */
enum { NOTHING, CTA_FENCE, DEVICE_FENCE, SYSTEM_FENCE };

struct ordered {
  int fence;
  bool barrier;
};

/* Whether i orders nothing that `*o` has not ordered; if not, updates *o. */
static bool is_redundant(const struct nvm_function *f, struct nvm_inst_id id, struct ordered *o) {
  const struct nvm_inst *i = function_inst(f, id);
  if (i->op != OP_CALL) {
    if (o->fence != NOTHING && effects_on_memory(f, id))
      *o = (struct ordered){NOTHING, false}; /* a barrier is a fence, too */
    return false;
  }
  uint32_t intrinsic = call_intrinsic(f, i);
  int fence = intrinsic == INTRINSIC_nvvm_membar_cta   ? CTA_FENCE
              : intrinsic == INTRINSIC_nvvm_membar_gl  ? DEVICE_FENCE
              : intrinsic == INTRINSIC_nvvm_membar_sys ? SYSTEM_FENCE
                                                       : NOTHING;
  if (fence) {
    if (fence <= o->fence) return true;
    o->fence = fence;
    return false;
  }
  if (intrinsic == INTRINSIC_nvvm_barrier0) {
    if (o->barrier) return true;
    o->barrier = true;
    o->fence = CTA_FENCE; /* a wider one before it did not order what others did until here */
    return false;
  }
  if (o->fence == NOTHING || effects_is_debug(f, i)) return false;
  if (effects_is_convergent(f, i) || effects_on_memory(f, id))
    *o = (struct ordered){NOTHING, false};
  return false;
}

enum nvm_status barriers_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  FOR_EACH_BLOCK (f, b) {
    bool start = b.index == f->entry.index && function_is_kernel(f);
    struct ordered o = {start ? CTA_FENCE : NOTHING, start};
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (!is_redundant(f, i, &o)) continue;
      inst_remove(f, i);
      ++*env->statistic;
      *changed = true;
    }
  }
  return NVM_OK;
}
