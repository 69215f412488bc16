/* The words of the command line, with those of response files. */
#ifndef NVM_DRIVER_ARGUMENTS_H
#define NVM_DRIVER_ARGUMENTS_H

#include <stdbool.h>

#include "support/arena.h"
#include "support/vec.h"

struct arguments {
  struct arena arena;
  VEC(char *) words; /* of main(), each @FILE replaced by the words in FILE */
};

/* False after an error message. The caller frees in either case. */
bool arguments_expand(struct arguments *a, int argc, char **argv);
void arguments_free(struct arguments *a);

#endif
