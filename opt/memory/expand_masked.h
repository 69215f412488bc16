/* Intrinsics of vectors become operations on lanes; see expand_masked.c. */
#ifndef NVM_OPT_EXPAND_MASKED_H
#define NVM_OPT_EXPAND_MASKED_H

#include "ir/module.h"

/* Of the vectors that are expanded: a vector of constants is made anew for each lane. */
enum { EXPAND_MAX_LANES = 256 };
/* Whether expand_vector() knows the intrinsic. */
bool expand_vector_is_known(uint32_t intrinsic);
/* The value of a call that moves lanes, computed before it; VALUE_NULL: it cannot be expanded, or
 * memory is out. */
struct nvm_value expand_vector(struct nvm_function *f, struct nvm_inst_id call, uint32_t intrinsic);

/* Expands all functions of m. False when out of memory. */
bool expand_masked(struct nvm_module *m);

#endif
