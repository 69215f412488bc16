/* Copies of objects passed by value, which the callee may write to. */
#ifndef NVM_OPT_BYVAL_H
#define NVM_OPT_BYVAL_H

#include "ir/function.h"

/* Adds an alloca of the type, and a copy of what `from` points to, before `before`, with that
 * location. Returns the alloca, VALUE_NULL when out of memory. `align`: bytes; the alignment is at
 * least the type's. */
struct nvm_value byval_copy(struct nvm_function *f, struct nvm_inst_id before,
                            struct nvm_value from, struct nvm_type type, uint32_t align,
                            struct nvm_meta location);

#endif
