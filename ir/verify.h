/* The IR verifier. Rules are rows of verify_rules.def; every violation is reported (up to the
 * sink's limit), with the function, the place, what was expected and what was found. */
#ifndef NVM_IR_VERIFY_H
#define NVM_IR_VERIFY_H

#include "ir/function.h"

/* NVM_OK, NVM_REFUSED if a rule is broken, NVM_OUT_OF_MEMORY. `source` goes into the ranges. */
enum nvm_status verify_module(const struct nvm_module *m, struct diag_sink *sink, uint32_t source);
enum nvm_status verify_function(const struct nvm_function *f, struct diag_sink *sink,
                                uint32_t source);

#endif
