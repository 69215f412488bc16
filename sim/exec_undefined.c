/* Undefined values: what was loaded from memory that nobody wrote. Loading and moving them is fine
 * (compilers copy padding, and load before they choose); deciding by them, using them as an address
 * and storing them to global memory are findings.
 *
 * Each row of a frame has a mask of lanes. There is none until the first such load, so that programs
 * without any pay nothing. Predicates and parameters of calls count as defined. */
#include "sim/machine.h"

static void set_compute_flow(struct inst *in) {
  if (in->run == run_compare) in->flow = FLOW_A | FLOW_B | FLOW_DECIDES;
  else if (in->run == run_select) in->flow = FLOW_A | FLOW_B | FLOW_D | FLOW_CHOOSES;
  else if (in->run == run_mov || in->run == run_cvta || in->run == run_cvta_to) in->flow = FLOW_A | FLOW_D;
  else if (in->run == run_pack) in->flow = FLOW_ROWS | FLOW_D;
  else if (in->run == run_unpack) in->flow = FLOW_A | FLOW_TO_ROWS;
  else if (in->fn || in->run == run_lanes_carry) in->flow = FLOW_A | FLOW_B | FLOW_C | FLOW_D;
  else if (in->run == run_load_param || in->run == run_load_kernel_param) in->flow = FLOW_TO_ROWS;
}

void undefined_set_flow(struct inst *in) {
  if (in->run == run_shfl) in->flow = FLOW_A | FLOW_D;
  else if (in->run == run_redux || in->run == run_match || in->run == run_activemask ||
           in->run == run_alloca || in->run == run_stack_save)
    in->flow = FLOW_D;
  else if (in->kind == INST_PLAIN || in->kind == INST_HELPER || in->run == run_divide) set_compute_flow(in);
}

static uint32_t mask_of(const struct warp *w, uint32_t row) {
  return row >> BANK_SHIFT == BANK_FRAME ? w->frame->undefined[row] : 0;
}

static void write_mask(struct warp *w, uint32_t row, uint32_t lanes, uint32_t value) {
  if (row == NO_ROW) return;
  uint32_t *m = &w->frame->undefined[row];
  *m = (*m & ~lanes) | (value & lanes);
}

void undefined_set(struct warp *w, uint32_t row, unsigned lane, bool undefined) {
  struct frame *f = w->frame;
  if (row == NO_ROW || (!undefined && !f->undefined)) return;
  if (!f->undefined) f->undefined = arena_alloc(&w->sim->arena, (f->func->rows + 1) * sizeof *f->undefined);
  if (f->undefined) write_mask(w, row, UINT32_C(1) << lane, undefined ? ALL_LANES : 0);
}

static bool report(struct warp *w, unsigned lane, const char *what) {
  sim_report(w, lane, SIM_UNINITIALIZED, "%s a value that comes from memory that was never written", what);
  return false;
}

bool undefined_check(struct warp *w, uint32_t row, unsigned lane, const char *what) {
  return !undefined_is(w, row, lane) || report(w, lane, what);
}

void undefined_flow(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t a = in->flow & FLOW_A ? mask_of(w, in->a) : 0, b = in->flow & FLOW_B ? mask_of(w, in->b) : 0;
  uint32_t any = a | b;
  if (in->flow & FLOW_CHOOSES) any = (a & w->preds[in->c]) | (b & ~w->preds[in->c]);
  if (in->flow & FLOW_C) any |= mask_of(w, in->c);
  for (unsigned i = 0; in->flow & FLOW_ROWS && i < in->count; i++) any |= mask_of(w, in->rows[i]);
  if (in->flow & FLOW_DECIDES && any & mask) report(w, lane_first(any & mask), "compares");
  if (in->flow & FLOW_D) write_mask(w, in->d, mask, any);
  for (unsigned i = 0; in->flow & FLOW_TO_ROWS && i < in->count; i++) write_mask(w, in->rows[i], mask, any);
}
