/* nvmini reduce: shrinks a module while a test command succeeds on it. */
#ifndef NVM_DRIVER_REDUCE_REDUCE_H
#define NVM_DRIVER_REDUCE_REDUCE_H

#include "driver/options.h"

/* The command. Returns the exit status; the command line is already checked. */
int reduce_command(const struct options *o);

#endif
