/* nvmini run --on gpu: the same launch through the CUDA driver library, loaded at run time. */
#ifndef NVM_DRIVER_RUN_GPU_H
#define NVM_DRIVER_RUN_GPU_H

#include "driver/run_buffer.h"
#include "sim/sim.h"

/* Loads the driver library and takes the first GPU. False after an error message. */
bool gpu_open(void);

/* Runs the launch's kernel from `ptx` (NUL-terminated) on copies of the buffers and compares them
 * afterwards with `results`, one for each argument (NULL: not a buffer). False after reporting
 * differences. */
bool gpu_compare(const char *ptx, const struct sim_launch *launch,
                 const struct run_argument *arguments, const uint8_t *const *results,
                 double tolerance, struct arena *arena);

#endif
