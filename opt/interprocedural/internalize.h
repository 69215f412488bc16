/* Functions and variables that only this module refers to; see internalize.c. */
#ifndef NVM_OPT_INTERNALIZE_H
#define NVM_OPT_INTERNALIZE_H

#include "ir/function.h"

/* Whether the module appears to be a whole program: it has kernels and refers to nothing that
 * another module would define. */
bool internalize_is_program(const struct nvm_module *m);
/* Makes functions and variables in shared memory internal, except kernels and symbols that
 * llvm.used, an alias or assembly names. False when out of memory. */
bool internalize(struct nvm_module *m);

#endif
