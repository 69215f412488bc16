/* Register pressure: how many 32-bit registers hold values that are read later.
 *
 * Counted in the order of the IR. ptxas reschedules, so this estimates what must be live, not what
 * will be. Values without a register of their own are not counted: constants, predicates, arguments
 * of kernels, fixed stack variables, and addresses at a constant distance from another one, whose
 * live range then covers their uses. */
#ifndef NVM_ANALYSIS_PRESSURE_H
#define NVM_ANALYSIS_PRESSURE_H

#include "ir/dominance.h"

struct pressure {
  uint32_t *in;     /* by block: registers live at its start, its phis included */
  uint32_t *out;    /* by block: registers live at its end */
  uint32_t *most;   /* by block: the maximum between two of its instructions */
  uint32_t highest; /* the maximum of all blocks */
  uint32_t *after;  /* by instruction, if the caller passes an array of zeros: registers live after
                       it; 0 for phis. NULL: not wanted */
};

/* Registers that a value takes: i64 and pointers 2, predicates none, two 16-bit lanes of a
 * vector 1. */
uint32_t pressure_registers(const struct nvm_function *f, struct nvm_type type);
/* Whether i is an address at a constant distance from its operand, which accesses add themselves.
 */
bool pressure_is_offset(const struct nvm_function *f, const struct nvm_inst *i);
/* In `arena`; false when out of memory. Cost: linear in uses and in the blocks that values are
 * live through. If these are too many, further values count only where they are defined and read.
 */
bool pressure_compute(struct pressure *p, const struct nvm_function *f, const struct dominance *d,
                      struct arena *arena);

#endif
