/* The interval that a module states for an integer: !range of a load or call, range(...) of a
 * result or parameter. */
#ifndef NVM_ANALYSIS_STATED_RANGE_H
#define NVM_ANALYSIS_STATED_RANGE_H

#include "ir/function.h"

/* Sets *low and *high, both in the interval, as unsigned numbers. False if nothing is stated, or
 * only that the value is in several intervals or in one that wraps. Where the value is outside of
 * the interval, it is poison. */
bool stated_range(const struct nvm_function *f, struct nvm_value v, uint64_t *low, uint64_t *high);
/* Whether a range of any form may make the result of the call poison. With noundef, a value outside
 * of it is undefined behaviour. */
bool stated_range_poisons(const struct nvm_function *f, const struct nvm_inst *call);

#endif
