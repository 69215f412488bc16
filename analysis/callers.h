/* Closed functions, all of whose uses are known calls: local, defined, address not taken, called
 * with their own type. A pass may change their parameters and results. */
#ifndef NVM_ANALYSIS_CALLERS_H
#define NVM_ANALYSIS_CALLERS_H

#include "ir/function.h"

struct caller {
  uint32_t function; /* the calling one */
  struct nvm_inst_id call;
  uint32_t next; /* index into calls, 0: end */
};

struct callers {
  bool *open;               /* by function: has unknown uses, or is a kernel, variadic or naked */
  bool *taken;              /* by function: has uses other than direct calls */
  uint32_t *first;          /* by closed function: index of its first call, 0: none */
  VEC(struct caller) calls; /* [0]: dummy */
};

/* In `arena`; false when out of memory. Cost: linear in the module's operands. */
bool callers_find(struct callers *c, const struct nvm_module *m, struct arena *arena);
/* The closed function that i calls; 0: i calls none. */
uint32_t callers_closed_callee(const struct callers *c, const struct nvm_function *f,
                               const struct nvm_inst *i);
/* Whether argument k of f is passed in memory (byval, sret, inalloca), not as a value. */
bool callers_in_memory(const struct nvm_function *f, uint32_t k);

#endif
