/* Expressions seen on the way from the entry: a hash table that a walk over the dominator tree
 * fills, with the replacements found. early-cse and gvn are such walks. */
#ifndef NVM_OPT_NUMBERING_H
#define NVM_OPT_NUMBERING_H

#include "ir/dominance.h"
#include "opt/rewrite.h"

struct numbering {
  struct nvm_function *f;
  struct arena *arena;
  struct rewrite rewrite;
  uint32_t *slots; /* by hash, probed linearly: the instruction that computes an expression, where
                      it was seen last; 0: none */
  uint32_t slot_count; /* a power of two, twice the instructions */
};

/* Looks at what is no pure expression; false when out of memory. */
typedef bool numbering_visit(void *state, struct nvm_inst_id i);

/* An empty table in `arena`; false when out of memory. */
bool numbering_init(struct numbering *n, struct nvm_function *f, struct arena *arena);
/* Visits the blocks in preorder of the dominator tree: pure instructions that are constants or were
 * computed above are noted in n->rewrite; `others` (may be NULL) sees the rest. Operands of what is
 * visited are replaced at once. False when out of memory. */
bool numbering_walk(struct numbering *n, const struct dominance *d, numbering_visit *others,
                    void *state);

#endif
