/* The dominator tree and the loops of the function in hand, remembered from pass to pass. */
#ifndef NVM_OPT_ANALYSIS_FLOW_H
#define NVM_OPT_ANALYSIS_FLOW_H

#include "analysis/loops.h"

struct flow {
  struct arena arena; /* of what is remembered */
  struct dominance dominance;
  struct loops loops;
  bool has_dominance, has_loops;
};

/* Nothing remembered. */
void flow_init(struct flow *w, struct nvm_allocator allocator);
/* Gives back all memory. */
void flow_free(struct flow *w);
/* To be called when the control flow of the function has changed, or another function is next. */
void flow_forget(struct flow *w);
/* Those of f, whose control flow is as it was when they were asked first; what they hold is
 * borrowed until flow_forget. False when out of memory. */
bool flow_dominance(struct flow *w, const struct nvm_function *f, struct dominance *d);
bool flow_loops(struct flow *w, const struct nvm_function *f, struct dominance *d, struct loops *l);

#endif
