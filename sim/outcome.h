/* The results of a kernel of IR, compared before and after a pass: the kernel runs on fresh copies
 * of its arguments, and the contents of its buffers and its output are kept. */
#ifndef NVM_SIM_OUTCOME_H
#define NVM_SIM_OUTCOME_H

#include "sim/sim.h"

struct sim_argument {
  const uint8_t *bytes; /* a value, or the contents of the buffer */
  uint64_t size;        /* bytes */
  bool is_buffer;
};

/* The second group begins as zero; `arena` owns what is kept. */
struct sim_outcome {
  struct arena *arena;
  struct sim_launch launch; /* kernel, grid, block, limits */
  const struct sim_argument *arguments;
  uint32_t count;

  struct nvm_text *left;   /* of the first run: the contents of each buffer, then the output */
  struct nvm_text message; /* of a later one: how it differs */
};

/* Executes the kernel of the module. NVM_REFUSED: the results differ from those of the first run,
 * or there was a finding; `message` is a sentence without full stop. */
enum nvm_status outcome_check(struct sim_outcome *o, struct nvm_module *m);

#endif
