/* nvmini run --on gpu: the same launch by the vendor's driver library, which is looked for at run
 * time. */
#ifndef NVM_DRIVER_RUN_GPU_H
#define NVM_DRIVER_RUN_GPU_H

#include "driver/run_buffer.h"
#include "sim/sim.h"

/* Loads the driver library and takes the first GPU. False after saying why there is none. */
bool gpu_open(void);

/* Runs the launch's kernel from `ptx` (NUL-terminated) on copies of the buffers and compares what
 * it leaves in them with `results`, one for each argument (NULL: no buffer). False after saying
 * what differs. */
bool gpu_compare(const char *ptx, const struct sim_launch *launch,
                 const struct run_argument *arguments, const uint8_t *const *results,
                 double tolerance, struct arena *arena);

#endif
