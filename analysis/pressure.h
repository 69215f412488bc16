/* Register pressure: how many 32-bit registers hold values that are read later.
 *
 * Counted as if nothing were moved: ptxas schedules anew, so this says what must be alive, not what
 * will be. Left out is what costs no register of its own: constants, predicates, a kernel's
 * arguments, fixed variables of the frame, and addresses that are a constant away from another,
 * which lives for as long as they are used. */
#ifndef NVM_OPT_ANALYSIS_PRESSURE_H
#define NVM_OPT_ANALYSIS_PRESSURE_H

#include "ir/dominance.h"

struct pressure {
  uint32_t *in,
      *out; /* by block: registers alive where it begins, its phis' included, and where it ends */
  uint32_t *most;   /* by block: the most alive between two of its instructions */
  uint32_t highest; /* of all blocks */
};

/* Registers that a value takes: i64 and pointers 2, predicates none, two 16-bit lanes of a
 * vector 1. */
uint32_t pressure_registers(const struct nvm_function *f, struct nvm_type type);
/* Whether i is an address that is a constant away from its operand: accesses add that themselves.
 */
bool pressure_is_other_name(const struct nvm_function *f, const struct nvm_inst *i);
/* In `arena`; false when out of memory. Cost: linear in uses and in the blocks that values live
 * through; from a number of these on, linear in instructions, values count only where they are made
 * and read. */
bool pressure_compute(struct pressure *p, const struct nvm_function *f, const struct dominance *d,
                      struct arena *arena);

#endif
