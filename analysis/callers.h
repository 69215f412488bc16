/* Functions all of whose uses are known: internal, defined here, address not taken, called as the
 * type that they have. A pass may change what passes into and out of them. */
#ifndef NVM_OPT_CALLERS_H
#define NVM_OPT_CALLERS_H

#include "ir/function.h"

struct caller {
  uint32_t function; /* that calls */
  struct nvm_inst_id call;
  uint32_t next; /* index into calls, 0: end */
};

struct callers {
  bool *open; /* by function: not all of its uses are known, or it is a kernel, variadic or naked */
  bool *taken;              /* by function: used otherwise than by being called */
  uint32_t *first;          /* by function that is not open: index of its first call, 0: none */
  VEC(struct caller) calls; /* [0]: dummy */
};

/* In `arena`; false when out of memory. Cost: linear in the module's operands. */
bool callers_find(struct callers *c, const struct nvm_module *m, struct arena *arena);
/* The function called directly by i, of which all uses are known; 0 if it is none. */
uint32_t callers_closed_callee(const struct callers *c, const struct nvm_function *f,
                               const struct nvm_inst *i);
/* Whether argument k passes through memory that the call makes (byval, sret, inalloca), not as a
 * value. */
bool callers_in_memory(const struct nvm_function *f, uint32_t k);

#endif
