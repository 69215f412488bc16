/* What a launch may watch: counters and a trace of one thread. */
#ifndef NVM_SIM_MACHINE_WATCH_H
#define NVM_SIM_MACHINE_WATCH_H

#include "sim/machine/machine.h"

/* Before an instruction of the lanes `all`, of which those in `mask` execute it. */
void count_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all);
void trace_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all);
/* Passes on the last line. */
void trace_end(struct sim *s);

/* For front ends: a value of `bits` bits as a number of the type (enum ptx_mod), in hexadecimal if
 * it is bits or looks like an address. */
void trace_value(struct textbuf *out, uint64_t v, unsigned bits, uint16_t type);
void trace_hex(struct textbuf *out, uint64_t v);

#endif
