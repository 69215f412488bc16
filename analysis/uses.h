/* Use lists, built on demand: the instructions that have an instruction's result or an argument as
 * an operand. */
#ifndef NVM_ANALYSIS_USES_H
#define NVM_ANALYSIS_USES_H

#include "ir/function.h"

struct uses {
  uint32_t insts;            /* f->insts.count when the lists were built */
  uint32_t *first;           /* by slot: users[first[s] .. first[s + 1] - 1] */
  struct nvm_inst_id *users; /* once per operand */
  uint32_t *operands;        /* parallel to users: the operand's number */
};

/* In `arena`; false when out of memory. Valid until operands change. */
bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena);
/* With the uses of arguments. */
bool uses_build_with_arguments(struct uses *u, const struct nvm_function *f, struct arena *arena);
/* The slot of an instruction (its id) or argument. */
static inline uint32_t uses_slot(const struct uses *u, struct nvm_value v) {
  return value_index(v) + (value_kind(v) == VALUE_ARG ? u->insts : 0);
}

#endif
