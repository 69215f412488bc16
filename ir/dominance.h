/* Predecessors and the dominator tree, for the verifier and for analysis/.
 *
 * All arrays are indexed by block handle and lie in the caller's arena. Each block must end in a
 * terminator whose successors are blocks of the function. */
#ifndef NVM_IR_DOMINANCE_H
#define NVM_IR_DOMINANCE_H

#include "ir/function.h"

struct dominance {
  uint32_t *first_predecessor;    /* block b: predecessors[first[b] .. first[b + 1] - 1] */
  struct nvm_block *predecessors; /* one per edge, of unreachable blocks too */
  struct nvm_block *immediate; /* immediate dominator; none for the entry and unreachable blocks */
  uint32_t *enter;             /* the dominator tree in preorder, from 1; 0: unreachable */
  uint32_t *size;              /* blocks of the subtree */
  struct nvm_block *postorder; /* the reachable blocks; their number is size[entry] */
};

/* False when out of memory. Cost: close to linear in blocks and edges. */
bool dominance_compute(struct dominance *d, const struct nvm_function *f, struct arena *a);

/* The reachable blocks in preorder of the dominator tree, order[1] .. order[size[entry]]. NULL when
 * out of memory. */
struct nvm_block *dominance_preorder(const struct dominance *d, const struct nvm_function *f,
                                     struct arena *a);

/* The number of edges into b; the source of the first one. */
static inline uint32_t dominance_predecessor_count(const struct dominance *d, struct nvm_block b) {
  return d->first_predecessor[b.index + 1] - d->first_predecessor[b.index];
}
static inline struct nvm_block dominance_first_predecessor(const struct dominance *d,
                                                           struct nvm_block b) {
  return d->predecessors[d->first_predecessor[b.index]];
}
/* Iteration over the sources of the edges into b: d->predecessors[e]. */
#define FOR_EACH_PREDECESSOR(d, b, e)                                                             \
  for (uint32_t e = (d)->first_predecessor[(b).index]; e < (d)->first_predecessor[(b).index + 1]; \
       e++)
static inline bool dominance_reachable(const struct dominance *d, struct nvm_block b) {
  return d->enter[b.index] != 0;
}
/* Whether every path from the entry to b contains a. A block dominates itself; every block
 * dominates an unreachable b; an unreachable a dominates no reachable block. */
static inline bool dominance_dominates(const struct dominance *d, struct nvm_block a,
                                       struct nvm_block b) {
  if (!dominance_reachable(d, b)) return true;
  if (!dominance_reachable(d, a)) return false;
  return d->enter[b.index] - d->enter[a.index] < d->size[a.index];
}

#endif
