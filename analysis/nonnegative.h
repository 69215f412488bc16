/* Loop variables that are never negative, by induction over all of a loop. */
#ifndef NVM_ANALYSIS_NONNEGATIVE_H
#define NVM_ANALYSIS_NONNEGATIVE_H

#include "analysis/ranges.h"
#include "ir/dominance.h"

struct nonnegative {
  const struct nvm_function *f;
  const struct dominance *dominance;
  struct range (*range_of)(void *state, struct nvm_value v); /* what is known of v so far */
  void *state;
  bool *marked;    /* by instruction: a phi that is never negative (or is poison) */
  uint32_t visits; /* of values, for the phi that is asked about */
};

/* Marks the phis of the loop whose header is b, if it is one: those that start at no negative
 * number, if none of them becomes negative as long as none of them is. */
void nonnegative_mark(struct nonnegative *n, struct nvm_block b);

#endif
