/* Divergence: which values may differ among the threads of a warp that execute an instruction
 * together, and which branches may therefore part them. What is not said to differ is uniform. */
#ifndef NVM_OPT_ANALYSIS_DIVERGENCE_H
#define NVM_OPT_ANALYSIS_DIVERGENCE_H

#include "analysis/loops.h"

struct divergence {
  const struct nvm_function *f;
  bool *values;   /* by instruction */
  bool *branches; /* by block: its branch or switch may part threads */
  uint32_t size;  /* instructions made later count as divergent */
};

/* In `arena`; false when out of memory. Cost: linear in uses; each divergent branch looks at the
 * blocks up to where its ways meet again. */
bool divergence_compute(struct divergence *d, const struct nvm_function *f,
                        const struct dominance *dominance, const struct loops *loops,
                        struct arena *arena);
/* Whether v may differ. Constants and a kernel's arguments do not; a device function's do. */
bool divergence_of(const struct divergence *d, struct nvm_value v);
/* Whether it is no doubt what divergence_of() would say, for v is computed from what differs in so
 * many steps. */
bool divergence_is_evident(const struct nvm_function *f, struct nvm_value v, uint32_t steps);
/* Whether it is no doubt that divergence_of() would deny it, as block b reads v: nothing that
 * differs, no phi, and nothing that may come out of a loop is met on so many steps. */
bool divergence_is_absent(const struct nvm_function *f, struct nvm_block b, struct nvm_value v,
                          uint32_t steps);

#endif
