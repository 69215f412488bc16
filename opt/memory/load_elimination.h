/* Redundant loads: a load whose value is available on all paths, or on all but one, is replaced.
 * Used by gvn, whose walk over the dominator tree visits the accesses.
 *
 * Cost: each load looks at MAX_STEPS accesses in MAX_NODES blocks. Omits: values of another size
 * than the stored one; block copies as sources. */
#ifndef NVM_OPT_LOAD_ELIMINATION_H
#define NVM_OPT_LOAD_ELIMINATION_H

#include "ir/dominance.h"
#include "opt/rewrite.h"

struct load_eliminator;

/* Collects the accesses of f. The state is in `arena`; NULL when out of memory. */
struct load_eliminator *load_elimination_begin(struct nvm_function *f, const struct dominance *d,
                                               struct rewrite *r, struct arena *arena);
/* Visits an instruction (state: the load_eliminator), in preorder of the dominator tree, its
 * operands replaced. Records the value of a redundant load in the rewrite. False when out of
 * memory. */
bool load_elimination_visit(void *state, struct nvm_inst_id i);
/* Removes redundant stores, after rewrite_apply(). Returns their number. */
uint32_t load_elimination_end(struct load_eliminator *g);

#endif
