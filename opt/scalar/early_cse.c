/* early-cse: the same computation on the way to a place is done once.
 *
 * Purpose:   front ends compute addresses and conversions again and again; folding them early makes
 *            everything after it cheaper. Folds operations on constants on the way.
 * Algorithm: a walk over the dominator tree with a hash table of the pure expressions seen on
 *            the path from the entry; an expression found there is replaced.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands (hashing).
 * Omits:     loads; expressions that do not dominate but are available (gvn).
 * Tests:     check/opt/early-cse-*. */
#include "opt/scalar/numbering.h"
#include "opt/passes.h"

enum nvm_status early_cse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct numbering n;
  struct dominance d;
  if (!numbering_init(&n, f, env->arena) || !flow_dominance(env->flow, f, &d) ||
      !numbering_walk(&n, &d, NULL, NULL))
    return NVM_OUT_OF_MEMORY;
  *env->statistic += n.rewrite.count;
  *changed = n.rewrite.count != 0;
  rewrite_apply(&n.rewrite);
  return NVM_OK;
}
