/* What a module says about the target it is for. */
#ifndef NVM_DRIVER_DEMANDS_H
#define NVM_DRIVER_DEMANDS_H

#include <stdbool.h>

#include "nvmini.h"

/* The value of the attribute "target-cpu" in the definitions of a module, and another value if they
 * disagree; empty: none. */
struct demands_cpu {
  struct nvmini_text cpu, other;
};
struct demands_cpu demands_cpu(const struct nvmini_module *module);

/* Checks a triple (--triple). False after an error message. */
bool demands_check_triple(const char *triple);

/* Whether the module is for this valid triple: the same pointer size, and runtime if both have one.
 * A module without a triple gets it. Otherwise *found is the module's triple, or its data layout.
 */
bool demands_triple(struct nvmini_module *module, const char *triple, struct nvmini_text *found);

#endif
