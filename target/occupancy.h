/* Occupancy: the number of blocks of a kernel that are resident on an SM, and the limiting
 * resource.
 *
 * The published formula (cuda_occupancy.h of toolkit 13.0; users.md 4.2), with the limits of
 * target/nvptx.def: registers are allocated to warps in units and per sub-partition, shared memory
 * in units per block including the system's share, and the smallest of five limits applies. Shared
 * memory is at its largest carveout. */
#ifndef NVM_TARGET_OCCUPANCY_H
#define NVM_TARGET_OCCUPANCY_H

#include "target/target.h"

/* The resources that limit the number of blocks. Several may do so equally. */
enum occupancy_limit {
  OCCUPANCY_WARPS,
  OCCUPANCY_REGISTERS,
  OCCUPANCY_SHARED,
  OCCUPANCY_BLOCKS,
  OCCUPANCY_BARRIERS,
  OCCUPANCY_LIMIT_COUNT
};

/* Resource use of one block. */
struct occupancy_use {
  uint32_t threads_per_block;    /* 1 .. threads_per_block of the CPU */
  uint32_t registers_per_thread; /* 32-bit registers */
  uint32_t shared_bytes;         /* per block, static and dynamic together */
  uint32_t barriers;             /* named barriers of the block */
};

struct occupancy {
  uint32_t blocks;      /* resident blocks per SM; 0: a block cannot run */
  uint32_t warps;       /* resident warps per SM */
  uint32_t warps_limit; /* maximum per SM; occupancy is warps / warps_limit */
  uint32_t
      blocks_by[OCCUPANCY_LIMIT_COUNT]; /* blocks that each limit allows; UINT32_MAX: unlimited */
};

/* Computes all fields of *occupancy. A block of 0 threads gives 0 blocks. */
void occupancy_compute(const struct tgt_cpu *cpu, const struct occupancy_use *use,
                       struct occupancy *occupancy);

/* Whether this limit determines the number of blocks. */
bool occupancy_bounded_by(const struct occupancy *occupancy, enum occupancy_limit limit);

/* The first limit that does, in the order of the enum. */
enum occupancy_limit occupancy_limiting_factor(const struct occupancy *occupancy);

/* "warps", "registers", "shared memory", "blocks", "barriers". */
const char *occupancy_limit_name(enum occupancy_limit limit);

/* The maximum number of registers per thread with which `blocks` blocks of `threads_per_block`
 * threads are resident (other limits ignored); 0 if none. Answers launch bounds (.maxntid,
 * .minnctapersm). */
uint32_t occupancy_registers_for(const struct tgt_cpu *cpu, uint32_t threads_per_block,
                                 uint32_t blocks);

#endif
