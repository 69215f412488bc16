/* Post-dominators: b post-dominates a if every path from a to an exit contains b. */
#ifndef NVM_ANALYSIS_POSTDOMINATORS_H
#define NVM_ANALYSIS_POSTDOMINATORS_H

#include "ir/dominance.h"

/* By block, its immediate post-dominator; {0} if it has none: only the exits meet, or the block
 * reaches no exit. In `arena`; NULL when out of memory. Cost: close to linear in blocks and edges.
 */
struct nvm_block *postdominators_compute(const struct nvm_function *f, const struct dominance *d,
                                         struct arena *arena);

#endif
