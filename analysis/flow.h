/* The dominator tree and the loops of one function, cached from pass to pass. */
#ifndef NVM_ANALYSIS_FLOW_H
#define NVM_ANALYSIS_FLOW_H

#include "analysis/loops.h"

struct flow {
  struct arena arena; /* of the cached analyses */
  struct dominance dominance;
  struct loops loops;
  bool has_dominance, has_loops;
};

/* An empty cache. */
void flow_init(struct flow *w, struct nvm_allocator allocator);
/* Releases all memory. */
void flow_free(struct flow *w);
/* Empties the cache: required when the control flow changed or another function is next. */
void flow_invalidate(struct flow *w);
/* The analyses of f, whose control flow must be as at the first call since flow_invalidate. The
 * arrays are borrowed until then. False when out of memory. */
bool flow_dominance(struct flow *w, const struct nvm_function *f, struct dominance *d);
bool flow_loops(struct flow *w, const struct nvm_function *f, struct dominance *d, struct loops *l);

#endif
