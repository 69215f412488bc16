/* Blocks, their barriers, clusters, and the grid. */
#ifndef NVM_SIM_MACHINE_BLOCK_H
#define NVM_SIM_MACHINE_BLOCK_H

#include "sim/machine/warp.h"

enum { BARRIER_COUNT = 16 };
struct barrier {
  uint32_t arrived;  /* threads */
  uint32_t expected; /* 0: all live ones */
};

/* Blocks that can reach each other's shared memory; without clusters each block is one. */
enum { CLUSTER_LIMIT = 16, CLUSTER_SHIFT = 24 };
struct cluster {
  struct block *blocks[CLUSTER_LIMIT]; /* by rank; NULL: has ended */
  uint32_t count, live, arrived;       /* blocks; threads */
  uint32_t ended;                      /* blocks */
  struct cluster *next_free;
  bool phase;
};

struct block {
  struct cluster *cluster;
  uint32_t rank;
  uint32_t index[3];
  uint64_t number;
  uint32_t warp_count, live_threads;
  struct warp *warps;
  uint8_t *shared, *shared_written;
  struct barrier barriers[BARRIER_COUNT];
  struct shadow shadow;  /* of shared memory */
  uint32_t first_thread; /* race.c: number of its first thread in the launch, from 1 */
  struct race_block *race;
  bool waits; /* its last turn ended with all warps waiting */
  struct block *next_free;
};

/* Lanes of a warp arrive at barrier `id`; barrier_check() releases the warps that wait. */
void barrier_arrive(struct block *b, uint32_t id, uint32_t threads, uint32_t expected);
/* Releases all barriers that are complete. */
void barrier_check(struct block *b);

/* Begins a launch: blocks of the last one are used again if they have the right size. */
void block_begin(struct sim *s);
/* Executes the launch. */
enum nvm_status block_run_grid(struct sim *s);

#endif
