/* Functions that a GPU's run-time system provides: vprintf, malloc, free, __assertfail. */
#ifndef NVM_SIM_MACHINE_NATIVE_H
#define NVM_SIM_MACHINE_NATIVE_H

#include "sim/machine/machine.h"

/* NULL: no such function. */
const struct native *native_find(struct nvm_text name);
/* Executes the call for the lanes. */
void native_call(struct warp *w, const struct native *n, const struct call_info *c, uint32_t mask);
/* Prints as vprintf does; *written: the number of directives. False: a finding was made. */
bool print_formatted(struct warp *w, unsigned lane, uint64_t format, uint64_t arguments,
                     uint64_t *written);

#endif
