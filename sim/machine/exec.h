/* What a warp does with an instruction, for the lanes of a mask. exec.c: computing; exec_memory.c:
 * accesses; exec_warp.c: lanes together. */
#ifndef NVM_SIM_MACHINE_EXEC_H
#define NVM_SIM_MACHINE_EXEC_H

#include "sim/machine/machine.h"

/* x op y, of integers: `op` (enum ptx_mod) as redux and atom name it. */
uint64_t exec_combine(uint16_t op, unsigned bits, bool is_signed, uint64_t x, uint64_t y);

inst_run exec_nothing, exec_lanes, exec_divide, exec_carry, exec_compare, exec_select,
    exec_pred_logic, exec_mov, exec_mov_wide, exec_pack, exec_unpack, exec_lop3_pred;
inst_run exec_memory_load, exec_memory_store, exec_memory_store_bulk, exec_memory_load_param,
    exec_memory_store_param, exec_memory_load_kernel_param, exec_memory_atom, exec_memory_cvta,
    exec_memory_isspacep, exec_memory_local_address, exec_memory_alloca, exec_memory_stack_save,
    exec_memory_stack_restore;
inst_run exec_warp_sleep, exec_warp_fence, exec_warp_shfl, exec_warp_vote, exec_warp_match,
    exec_warp_activemask, exec_warp_redux, exec_warp_elect, exec_warp_clock, exec_warp_is_clustered;

#endif
