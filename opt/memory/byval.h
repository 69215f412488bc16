/* Objects passed by value: the copy that the callee may write to. */
#ifndef NVM_OPT_BYVAL_H
#define NVM_OPT_BYVAL_H

#include "ir/function.h"

/* A variable of f's frame, of the type, that holds what `from` points to from `before` on; the copy
 * is located at `location`. VALUE_NULL when out of memory. `align`: bytes, that of the type at
 * least; 0: of the type. */
struct nvm_value byval_copy(struct nvm_function *f, struct nvm_inst_id before,
                            struct nvm_value from, struct nvm_type type, uint32_t align,
                            struct nvm_meta location);

#endif
