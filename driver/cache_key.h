/* `compile --print-cache-key`: a name for the output, without compiling. */
#ifndef NVM_DRIVER_CACHE_KEY_H
#define NVM_DRIVER_CACHE_KEY_H

#include "driver/options.h"

/* Prints one key a line, for each input in order. The options are checked as `compile` checks
 * them; inputs are read but not parsed. Returns the exit status. */
int cache_key_print(const struct options *o);

#endif
