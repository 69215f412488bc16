/* The machine: the state that a struct sim holds. The contracts of its parts are in the headers of
 * this folder, one per file or topic; a front end (sim/ptx, sim/ir) makes the code that it
 * executes.
 *
 *   space.h, memory.h   address spaces, accesses        code.h       decoded instructions
 *   warp.h              warps, splits, frames           exec.h       what instructions do
 *   block.h             blocks, barriers, the grid      async.h      mbarriers, copies, clusters
 *   undefined.h         undefined values                matrix.h     matrix instructions
 *   race.h              data races                      number.h     formats of numbers
 *   finding.h           findings                        native.h     vprintf, malloc, …
 *   symbol.h            names of the module             watch.h      counters and traces */
#ifndef NVM_SIM_MACHINE_MACHINE_H
#define NVM_SIM_MACHINE_MACHINE_H

#include "sim/machine/block.h"

/* A variable of shared memory, after which there is a gap. */
struct shared_variable {
  struct nvm_str name;
  uint64_t address, size;
};

struct sim_symbol {
  enum window window;
  uint64_t address; /* in its space: object base, shared offset, … */
  uint64_t size;
  const struct func *func; /* WINDOW_CODE */
};

struct sim {
  struct arena arena;
  const struct ptx_module *module;
  struct ir_program *ir; /* NULL: the module is PTX */
  VEC(struct object) objects;
  VEC(struct sim_symbol) symbols; /* by index in symbol_names */
  struct strtab symbol_names;
  VEC(struct func *) funcs; /* [0]: none; a code address is index * 16 in WINDOW_CODE */
  uint64_t shared_static;   /* bytes of .shared variables and their gaps */
  VEC(struct shared_variable) shared_variables;
  VEC(uint32_t) constants; /* objects with addresses of 32 bits, by address */
  struct sim_finding finding;
  struct sim_counts counts;
  struct textbuf output;
  /* the launch */
  const struct sim_launch *launch;
  const struct func *kernel;
  uint8_t *kernel_params;
  uint64_t shared_bytes; /* static and dynamic */
  uint64_t stack_bytes;
  uint64_t step_limit;
  struct block *free_blocks; /* of so many warps and bytes of shared memory: */
  uint32_t free_warps;
  uint64_t free_shared_bytes;
  struct cluster *cluster, *free_clusters; /* that is being started */
  uint32_t cluster_dim[3];
  bool clusters_given;
  uint64_t blocks_ended; /* of the launch */
  uint64_t clock;
  bool host_is_ieee; /* host arithmetic rounds to nearest */
  bool watched;      /* counts, traces or a random schedule */
  bool lanes_part;   /* lanes may diverge anywhere, not only at branches: from sm_70 on */
  uint64_t random;   /* state of the random schedule */
  struct textbuf trace;
  const struct frame *traced_frame; /* whose results are not written yet */
  const struct inst *traced;
  VEC(struct copy) copies; /* async.c: those that end with an mbarrier's phase */
  VEC(uint8_t) scratch;    /* what a store is about to write */
  /* race.c */
  bool races;    /* they are looked for */
  uint32_t time; /* counts events that order accesses */
  uint32_t launch_time;
  struct race_published **published; /* by block number / RACE_PAGE */
};

#endif
