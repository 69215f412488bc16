/* Bounds of a kernel's launch: numbers of threads, blocks and registers. They come from string
 * attributes ("nvvm.maxntid" with up to three numbers), which are newer and take precedence, or
 * from !nvvm.annotations ("maxntidx", one number for each key). */
#ifndef NVM_ANALYSIS_LAUNCH_BOUNDS_H
#define NVM_ANALYSIS_LAUNCH_BOUNDS_H

#include "ir/annotation.h"

/* The annotations of the exact and of the greatest size of a block. */
extern const char *const launch_bounds_required[3], *const launch_bounds_most[3];

/* Both read numbers of a kernel from `attribute`, else from annotations, and leave `out` as it is
 * without any. False if the attribute is not numbers separated by commas: then `out` holds none of
 * its numbers. */
bool launch_bounds_number(const struct annotations *all, struct nvm_value kernel,
                          const char *attribute, const char *annotation, uint32_t *out);
/* If one of the three is given, missing ones are 1. */
bool launch_bounds_triple(const struct annotations *all, struct nvm_value kernel,
                          const char *attribute, const char *const annotation[3], uint32_t out[3]);

/* The maximum number of threads of a block: required, else at most; 0: no bound. */
uint32_t launch_bounds_threads(const struct annotations *all, struct nvm_value kernel);

#endif
