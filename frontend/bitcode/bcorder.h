/* The order of types and comdats, which a stream does not have. */
#ifndef NVM_FRONTEND_BITCODE_BCORDER_H
#define NVM_FRONTEND_BITCODE_BCORDER_H

#include "frontend/bitcode/reader.h"

/* Puts named types and comdats into the order in which LLVM prints them: that of their first use.
 */
bool bcorder_finish(struct reader *r);

#endif
