/* Undefined values: what was loaded from memory that nobody wrote. Loading and moving them is fine
 * (compilers copy padding, and load before they choose); deciding by them, using them as an address
 * and storing them to global memory are findings.
 *
 * Each row of a frame has a mask of lanes. There is none until the first such load, so that
 * programs without any pay nothing. Predicates and parameters of calls count as defined. */
#include "sim/ir.h"

static void set_compute_flow(struct inst *in) {
  if (in->run == run_compare) in->flow = FLOW_A | FLOW_B | FLOW_DECIDES;
  else if (in->run == run_select) in->flow = FLOW_A | FLOW_B | FLOW_D | FLOW_CHOOSES;
  else if (in->run == run_mov || in->run == run_cvta) in->flow = FLOW_A | FLOW_D;
  else if (in->run == run_pack) in->flow = FLOW_ROWS | FLOW_D;
  else if (in->run == run_unpack) in->flow = FLOW_A | FLOW_TO_ROWS;
  else if (in->fn || in->run == run_lanes_carry) in->flow = FLOW_A | FLOW_B | FLOW_C | FLOW_D;
  else if (in->run == run_load_param || in->run == run_load_kernel_param) in->flow = FLOW_TO_ROWS;
}

void undefined_set_flow(struct inst *in) {
  if (in->run == run_store) in->flow = FLOW_ROWS;
  else if (in->run == run_redux || in->run == run_match || in->run == run_activemask ||
           in->run == run_alloca || in->run == run_stack_save)
    in->flow = FLOW_D;
  else if (in->kind == INST_PLAIN || in->kind == INST_HELPER || in->run == run_divide)
    set_compute_flow(in);
}

static uint32_t mask_of(const uint32_t *masks, uint32_t row) {
  return row >> BANK_SHIFT == BANK_FRAME ? masks[row] : 0;
}

static void write_mask(uint32_t *masks, uint32_t row, uint32_t lanes, uint32_t value) {
  if (row != NO_ROW) masks[row] = (masks[row] & ~lanes) | (value & lanes);
}

static void add_tables(struct warp *w, struct frame *f) {
  size_t rows = f->func->rows + 1u, tables = f->func->ir ? 2 : 1;
  if (f->undefined) return;
  f->undefined = arena_alloc(&w->sim->arena, tables * rows * sizeof *f->undefined);
  f->unwritten = f->undefined && tables == 2 ? f->undefined + rows : NULL;
}

void undefined_set(struct warp *w, uint32_t row, unsigned lane, bool undefined) {
  struct frame *f = w->frame;
  if (row == NO_ROW || (!undefined && !f->undefined)) return;
  add_tables(w, f);
  if (f->undefined) write_mask(f->undefined, row, UINT32_C(1) << lane, undefined ? ALL_LANES : 0);
}

void undefined_set_unwritten(struct warp *w, uint32_t row, unsigned lane) {
  undefined_set(w, row, lane, true);
  if (w->frame->unwritten) w->frame->unwritten[row] |= UINT32_C(1) << lane;
}

static bool report(struct warp *w, unsigned lane, bool unwritten, const char *what) {
  if (unwritten)
    sim_report(w, lane, SIM_UNINITIALIZED,
               "%s a value that comes from memory that was never written, or from a lane that "
               "takes no part in a shuffle",
               what);
  else sim_report(w, lane, SIM_POISON, "%s a value that is poison", what);
  return false;
}

bool undefined_check(struct warp *w, uint32_t row, unsigned lane, const char *what) {
  return !undefined_is(w, row, lane) || report(w, lane, undefined_is_unwritten(w, row, lane), what);
}

/* What an instruction of PTX does to the masks; the lanes in which it reads some. */
static uint32_t flow(struct warp *w, uint32_t *masks, const struct inst *in, uint32_t mask) {
  uint32_t a = in->flow & FLOW_A ? mask_of(masks, in->a) : 0,
           b = in->flow & FLOW_B ? mask_of(masks, in->b) : 0;
  uint32_t any = a | b;
  if (in->flow & FLOW_CHOOSES && masks != w->frame->pending)
    any = (a & w->preds[in->c]) | (b & ~w->preds[in->c]);
  if (in->flow & FLOW_C) any |= mask_of(masks, in->c);
  for (unsigned i = 0; in->flow & FLOW_ROWS && i < in->count; i++)
    any |= mask_of(masks, in->rows[i]);
  if (in->flow & FLOW_D) write_mask(masks, in->d, mask, any);
  for (unsigned i = 0; in->flow & FLOW_TO_ROWS && i < in->count; i++)
    write_mask(masks, in->rows[i], mask, any);
  return any & mask;
}

/* The same of one of IR. Its own poison is what eval.c says; here only where it comes from is
 * noted. */
static uint32_t flow_ir(uint32_t *masks, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  uint32_t any = mask_of(masks, in->a);
  for (uint32_t k = 0; k < o->count; k++)
    for (uint32_t i = 0; i < o->in[k].count; i++) any |= mask_of(masks, o->in[k].scalars[i].low);
  for (uint32_t i = 0; i < o->d.count; i++)
    write_mask(masks, o->d.scalars[i].low, mask,
               in->run == ir_run_moves ? mask_of(masks, o->in[0].scalars[i].low) : any);
  if (in->run == ir_run_to_reg && in->bits > 1) write_mask(masks, in->d, mask, any);
  return any;
}

/* --- what wgmma has not brought yet
 * ------------------------------------------------------------------- */

void undefined_set_pending(struct warp *w, uint32_t row, uint32_t group_bit) {
  struct frame *f = w->frame;
  add_tables(w, f);
  if (!f->pending)
    f->pending = arena_alloc(&w->sim->arena, (f->func->rows + 1u) * sizeof *f->pending);
  if (f->pending) f->pending[row] = group_bit;
}

void undefined_keep_pending(struct warp *w, uint32_t still) {
  for (struct frame *f = w->frame; f; f = f->parent)
    for (uint32_t i = 0; f->pending && i < f->func->rows; i++) f->pending[i] &= still;
}

/* Registers that a compiler spills are no use of theirs. */
static bool only_moves(const struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->run == ir_run_eval) return in->ir->op == OP_SELECT || in->ir->op == OP_FREEZE;
  uint64_t to = in->run == run_store ? row_of(w, in->a)[lane_first(mask)] : 0;
  if (in->run == ir_run_store) to = row_of(w, in->ir->in[1].scalars[0].low)[lane_first(mask)];
  return in->run == run_mov || in->run == run_select || in->run == run_pack ||
         in->run == run_unpack || in->run == ir_run_moves || in->run == ir_run_to_reg ||
         in->run == ir_run_from_reg || in->run == ir_run_bitcast || in->run == ir_run_extract ||
         in->run == ir_run_insert || in->window == WINDOW_LOCAL || window_of(to) == WINDOW_LOCAL;
}

static void pending_flow(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t any = in->ir ? flow_ir(w->frame->pending, in, ALL_LANES)
                        : flow(w, w->frame->pending, in, ALL_LANES);
  if (any && !only_moves(w, in, mask))
    sim_report(w, lane_first(mask), SIM_UNINITIALIZED,
               "uses a result of wgmma.mma_async that nobody has waited for");
}

void undefined_flow(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct frame *f = w->frame;
  if (f->pending) pending_flow(w, in, mask);
  if (in->ir) {
    flow_ir(f->unwritten, in, mask);
    return;
  }
  uint32_t unwritten = f->unwritten ? flow(w, f->unwritten, in, mask) : ALL_LANES,
           any = flow(w, f->undefined, in, mask);
  if (in->flow & FLOW_DECIDES && any)
    report(w, lane_first(any), unwritten >> lane_first(any) & 1, "compares");
}
