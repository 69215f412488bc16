/* nvmini reduce: shrinks modules while a test command succeeds on them. */
#ifndef NVM_DRIVER_REDUCE_REDUCE_H
#define NVM_DRIVER_REDUCE_REDUCE_H

#include "driver/options.h"
#include "driver/reduce/search.h"
#include "ir/module.h"

/* The command. Returns the exit status; the command line is already checked. */
int reduce_command(const struct options *o);

/* reduce_ir.c, reduce_ptx.c: try all reductions of the current file once; whether one was kept. */
bool reduce_ir(struct reduction_state *r);
bool reduce_ptx(struct reduction_state *r);

/* Parses and verifies IR, text or bitcode; NULL if it is invalid. The caller destroys it. */
struct nvm_module *reduce_parse(const char *text, size_t length);
/* The text of a valid module, which the caller frees; false if it is invalid or memory lacks. */
bool reduce_print(struct nvm_module *m, char **text, size_t *length);

#endif
