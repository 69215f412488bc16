/* Divergence: which values may differ between the threads of a warp that execute an instruction
 * together, and which branches may therefore diverge. All other values and branches are uniform. */
#ifndef NVM_ANALYSIS_DIVERGENCE_H
#define NVM_ANALYSIS_DIVERGENCE_H

#include "analysis/loops.h"

struct divergence {
  const struct nvm_function *f;
  bool *values;   /* by instruction */
  bool *branches; /* by block: its branch or switch may diverge */
  uint32_t size;  /* instructions added later count as divergent */
};

/* In `arena`; false when out of memory. Cost: linear in uses, plus for each divergent branch the
 * size of its influence region. */
bool divergence_compute(struct divergence *d, const struct nvm_function *f,
                        const struct dominance *dominance, const struct loops *loops,
                        struct arena *arena);
/* Whether v may differ. Constants and arguments of kernels are uniform, arguments of device
 * functions are not. */
bool divergence_of(const struct divergence *d, struct nvm_value v);
/* Cheap pre-check without the analysis: true only if v is computed from a divergent source in at
 * most `steps` steps, so that divergence_of() is true. */
bool divergence_is_evident(const struct nvm_function *f, struct nvm_value v, uint32_t steps);
/* The opposite check: true only if v, read in block b, is computed from uniform values in at most
 * `steps` steps, none of them a phi or a value used outside its loop, so that divergence_of() is
 * false. Without loops (NULL), every block but the entry is taken for a loop of its own. */
bool divergence_is_absent(const struct nvm_function *f, const struct loops *l, struct nvm_block b,
                          struct nvm_value v, uint32_t steps);

#endif
