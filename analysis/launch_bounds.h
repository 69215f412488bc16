/* Launch bounds: how many threads the blocks of a kernel can have. */
#ifndef NVM_ANALYSIS_LAUNCH_BOUNDS_H
#define NVM_ANALYSIS_LAUNCH_BOUNDS_H

#include "ir/function.h"

/* The maximum number of threads of a block: the attributes "nvvm.reqntid" and "nvvm.maxntid", else
 * the keys reqntidx … maxntidz of !nvvm.annotations; 0: no bound. Linear in the annotations of the
 * module. */
uint32_t launch_bounds_threads(const struct nvm_function *f);

#endif
