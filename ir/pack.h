/* Packed bodies of functions: what a kernel is between its last pass and code generation, in less
 * than a fifth of the memory. */
#ifndef NVM_IR_PACK_H
#define NVM_IR_PACK_H

#include "ir/function.h"

/* Packs the body of f, a definition, and releases its tables. Until pack_restore(), instructions,
 * operands and blocks must not be touched; f remains a definition. False when out of memory. */
bool pack_function(struct nvm_function *f, struct arena *scratch);

/* Makes the tables of a packed body again, with all numbers as they were, and releases the packed
 * bytes. Does nothing if f is not packed. False when out of memory. */
bool pack_restore(struct nvm_function *f);

/* The operands of f, packed or not: borrowed from it, or made in `arena`. NULL if out of memory. */
const struct nvm_value *pack_operands(const struct nvm_function *f, struct arena *arena,
                                      uint32_t *count);

#endif
