/* Loads from constant initializers, which early-cse and gvn fold. */
#ifndef NVM_OPT_CONSTANT_LOAD_H
#define NVM_OPT_CONSTANT_LOAD_H

#include "analysis/alias.h"

/* The value of `type` at an address in a variable that nothing changes; VALUE_NULL: not known, or
 * not of this type. Cost: the depth of the initializer. */
struct nvm_value constant_load(const struct nvm_function *f, const struct alias_address *a,
                               struct nvm_type type);

#endif
