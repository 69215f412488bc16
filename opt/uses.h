/* Use lists, built when a pass asks: who names an instruction's result as an operand. */
#ifndef NVM_OPT_USES_H
#define NVM_OPT_USES_H

#include "ir/function.h"

struct uses {
  uint32_t *first;            /* by instruction: users[first[i] .. first[i + 1] - 1] */
  struct nvm_inst_id *users;  /* once per operand */
};

/* In `arena`; false when out of memory. Valid until operands change. */
bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena);

#endif
