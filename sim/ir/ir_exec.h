/* What a warp does with instructions of IR. ir_exec.c: computing and moving; ir_memory.c:
 * accesses. */
#ifndef NVM_SIM_IR_IR_EXEC_H
#define NVM_SIM_IR_IR_EXEC_H

#include "sim/ir/ir.h"
#include "sim/machine/undefined.h"

inst_run ir_exec_eval, ir_exec_eval_intrinsic, ir_exec_moves, ir_exec_bitcast, ir_exec_test,
    ir_exec_switch, ir_exec_gep, ir_exec_cast_space, ir_exec_extract, ir_exec_insert,
    ir_exec_reduce, ir_exec_approximate, ir_exec_unreachable, ir_exec_poison, ir_exec_to_reg,
    ir_exec_from_reg;
inst_run ir_memory_load, ir_memory_store, ir_memory_alloca, ir_memory_atomicrmw, ir_memory_cmpxchg,
    ir_memory_copy, ir_memory_set, ir_memory_kernel_argument, ir_memory_byval, ir_memory_variadic,
    ir_memory_va_arg;
func_trace ir_trace;

/* Writes a value at the beginning of `to`; sets its shadow, if there is one. */
void ir_memory_write_piece(uint8_t *to, uint8_t *shadow, const struct ir_piece *p,
                           struct eval_lane v);
/* struct front_end's flow(). */
uint32_t ir_exec_flow(uint32_t *masks, const struct inst *in, uint32_t mask);

static inline uint32_t ir_poisoned(const struct warp *w, uint32_t row) {
  return w->frame->undefined ? undefined_mask(w->frame->undefined, row) : 0;
}
static inline void ir_set_poisoned(struct warp *w, uint32_t row, unsigned lane, bool poison) {
  if (poison || w->frame->undefined) undefined_set(w, row, lane, poison);
}
static inline struct eval_lane ir_get(const struct warp *w, const struct ir_scalar *s,
                                      unsigned lane) {
  struct eval_lane v = {row_of(w, s->low)[lane], ir_poisoned(w, s->low) >> lane & 1};
  if (s->high != NO_ROW) v.bits |= (nvm_u128)row_of(w, s->high)[lane] << 64;
  return v;
}
static inline void ir_put(struct warp *w, const struct ir_scalar *s, unsigned lane,
                          struct eval_lane v) {
  row_of(w, s->low)[lane] = (uint64_t)v.bits;
  if (s->high != NO_ROW) row_of(w, s->high)[lane] = (uint64_t)(v.bits >> 64);
  ir_set_poisoned(w, s->low, lane, v.poison);
}
static inline const struct ir_scalar *ir_lane(const struct ir_value *v, uint32_t i) {
  return &v->scalars[v->count == 1 ? 0 : i];
}

#endif
