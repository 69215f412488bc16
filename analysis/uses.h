/* Use lists, built when a pass asks: who names an instruction's result or an argument as an
 * operand. */
#ifndef NVM_OPT_USES_H
#define NVM_OPT_USES_H

#include "ir/function.h"

struct uses {
  uint32_t insts;  /* of the function when the lists were built */
  uint32_t *first; /* by slot, of instructions their id: users[first[s] .. first[s + 1] - 1] */
  struct nvm_inst_id *users; /* once per operand */
  uint32_t *operands;        /* parallel: which of the user's it is */
};

/* In `arena`; false when out of memory. Valid until operands change. */
bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena);
/* The same, and those of arguments. */
bool uses_build_with_arguments(struct uses *u, const struct nvm_function *f, struct arena *arena);
/* The slot of an instruction or argument. */
static inline uint32_t uses_slot(const struct uses *u, struct nvm_value v) {
  return value_index(v) + (value_kind(v) == VALUE_ARG ? u->insts : 0);
}

#endif
