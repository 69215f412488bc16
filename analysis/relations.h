/* Comparisons of the same two values, of which one may decide another: after `if (i >= n) return`,
 * i < n, i <= n and n != i hold. */
#ifndef NVM_ANALYSIS_RELATIONS_H
#define NVM_ANALYSIS_RELATIONS_H

#include "analysis/ranges.h"
#include "ir/dominance.h"

/* The comparisons seen so far. */
struct relations {
  const struct nvm_function *f;
  const struct dominance *dominance;
  uint32_t *first; /* by hash of the operands: an instruction; 0: none */
  uint32_t *next;  /* by instruction: the one seen before it with that hash */
};

/* In `arena`, for the instructions that f has now; false when out of memory. */
bool relations_init(struct relations *r, const struct nvm_function *f, const struct dominance *d,
                    struct arena *arena);

/* The result of the comparison, 1 or 0, by the ranges of earlier ones that dominate it; -1: not
 * decided. Remembers the comparison. */
int relations_decide(struct relations *r, struct nvm_inst_id icmp, range_of_operand *range_of,
                     void *state);

#endif
