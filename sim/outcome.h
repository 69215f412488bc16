/* What a kernel of IR computes, to compare it before and after a pass: the kernel runs on fresh
 * copies of its arguments, and everything that it leaves is kept. */
#ifndef NVM_SIM_OUTCOME_H
#define NVM_SIM_OUTCOME_H

#include "sim/sim.h"

struct sim_argument {
  const uint8_t *bytes; /* a value, or what is in the buffer */
  uint64_t size;        /* bytes */
  bool is_buffer;
};

/* Zero but for the first group; `arena` owns what is kept. */
struct sim_outcome {
  struct arena *arena;
  struct sim_launch launch; /* kernel, grid, block, limits */
  const struct sim_argument *arguments;
  uint32_t count;

  struct nvm_text *left;   /* of the first run: what was in each buffer, then what was printed */
  struct nvm_text message; /* of a later one: how it differs */
};

/* Executes the kernel of the module. NVM_REFUSED: a later run leaves something else than the first,
 * or there was a finding; `message` says so, one sentence without a full stop. */
enum nvm_status outcome_check(struct sim_outcome *o, struct nvm_module *m);

#endif
