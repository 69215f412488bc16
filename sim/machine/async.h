/* mbarriers, asynchronous copies, clusters: how blocks and the copy engine wait for each other. */
#ifndef NVM_SIM_MACHINE_ASYNC_H
#define NVM_SIM_MACHINE_ASYNC_H

#include "sim/machine/machine.h"

/* `compare` of an instruction on an mbarrier. */
enum mbarrier_op { MB_INIT, MB_INVALIDATE, MB_EXPECT, MB_COMPLETE, MB_ARRIVE, MB_TEST, MB_TRY };
/* `rows` of a bulk copy: rows, each address followed by its offset. */
enum { BULK_TO, BULK_FROM = 2, BULK_BYTES = 4, BULK_BARRIER, BULK_MASK = 7, BULK_WORDS };

/* commit_group, wait_group (imm: groups that may still be going; flags: none); is_signed: of bulk
 * copies. */
inst_run async_commit, async_wait_group;
/* cp.async: `count` bytes from global (b + rows[0]) to shared memory (a + imm), of which the first
 * c are read and the others are zero. */
inst_run async_copy;
/* is_signed: the copy ends with a phase of an mbarrier; window, dest_bits: of source and target. */
inst_run async_bulk;
/* MB_ARRIVE: c arrivals, after b more bytes are expected; flags: after the lanes' copies;
 * is_signed: arrive_drop. A wait is for the phase of a state (its bit 62), or is_signed: of a
 * parity. */
inst_run async_mbarrier, async_mbarrier_wait, async_pending_count;
inst_run async_cluster_arrive, async_cluster_wait, async_map, async_rank_of;

/* Does the remaining copies of a block that ends. */
void async_end_block(struct block *b);
/* Ends the phase of the cluster's barrier if all live threads have arrived. */
void async_cluster_check(struct cluster *c);

#endif
