/* The reductions of `nvmini reduce`: transformations that shrink a module, at chosen places. */
#ifndef NVM_DRIVER_REDUCE_REDUCTIONS_H
#define NVM_DRIVER_REDUCE_REDUCTIONS_H

#include "ir/module.h"
#include "support/diag.h"

/* Applies to `count` places from `first` on; returns the number of places. */
typedef uint32_t reduction(struct nvm_module *m, uint32_t first, uint32_t count);

/* All of them, ended by NULL, the most effective first. */
extern reduction *const reductions_all[];

/* Runs the first `limit` passes of the list (-1: all) for sm_90a. */
enum nvm_status reductions_run_passes(struct nvm_module *m, const char *list, int64_t limit,
                                      struct diag_sink *sink);

#endif
