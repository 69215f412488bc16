/* Masked vector accesses become accesses under conditions; see expand_masked.c. */
#ifndef NVM_OPT_EXPAND_MASKED_H
#define NVM_OPT_EXPAND_MASKED_H

#include "ir/module.h"

/* Expands all functions of m. False when out of memory. */
bool expand_masked(struct nvm_module *m);

#endif
