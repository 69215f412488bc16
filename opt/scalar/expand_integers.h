/* Integers of more than 128 bits become words of 64 bits; see expand_integers.c. */
#ifndef NVM_OPT_EXPAND_INTEGERS_H
#define NVM_OPT_EXPAND_INTEGERS_H

#include "ir/module.h"
#include "support/diag.h"

/* Expands all functions of m. NVM_REFUSED: an operation that has no expansion was reported to
 * `sink`. */
enum nvm_status expand_integers(struct nvm_module *m, struct diag_sink *sink);

#endif
