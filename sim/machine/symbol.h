/* Names of the module: variables with their memory, functions with their code. */
#ifndef NVM_SIM_MACHINE_SYMBOL_H
#define NVM_SIM_MACHINE_SYMBOL_H

#include "sim/machine/machine.h"

static inline struct nvm_text symbol_text(const struct sim *s, struct nvm_str name) {
  return strtab_text(s->module->strings, name);
}
/* Bytes of shared memory that a GPU does not need. */
static inline uint64_t symbol_gaps(const struct sim *s) {
  return (uint64_t)s->shared_variables.count * SHARED_GAP;
}
/* NULL: no such name. */
const struct sim_symbol *symbol_find(const struct sim *s, struct nvm_text name);
/* Adds a function: its code address and name. False when out of memory. */
bool symbol_add_function(struct sim *s, struct func *f);
/* Gives a function a second name, which replaces a declaration's. False when out of memory. */
bool symbol_add_alias(struct sim *s, struct nvm_str name, struct nvm_str aliasee);
/* Gives a variable its place, in *symbol, and adds it. Variables of `dynamic` shared memory all
 * begin after the others, at an address that suits all: they are placed twice. False when out of
 * memory. */
bool symbol_add_variable(struct sim *s, struct nvm_str name, enum window window, uint64_t bytes,
                         uint64_t align, bool dynamic, struct sim_symbol *symbol);

#endif
