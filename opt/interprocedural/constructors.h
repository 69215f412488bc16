/* Constructors and destructors of global objects as variables; see constructors.c. */
#ifndef NVM_OPT_CONSTRUCTORS_H
#define NVM_OPT_CONSTRUCTORS_H

#include "ir/module.h"

/* Replaces llvm.global_ctors and llvm.global_dtors; an entry that is not the address of a function
 * stays in its list. False when out of memory. */
bool constructors_lower(struct nvm_module *m);

#endif
