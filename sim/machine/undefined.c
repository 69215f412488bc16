/* See undefined.h. Each row of a frame has a mask of lanes; the masks are allocated at the first
 * undefined value, so that programs without any pay nothing. Predicates and parameters of calls
 * count as defined. */
#include "sim/machine/undefined.h"

#include "sim/machine/finding.h"

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
  if (f->undefined)
    undefined_put_mask(f->undefined, row, UINT32_C(1) << lane, undefined ? ALL_LANES : 0);
}

void undefined_set_unwritten(struct warp *w, uint32_t row, unsigned lane) {
  undefined_set(w, row, lane, true);
  if (w->frame->unwritten) w->frame->unwritten[row] |= UINT32_C(1) << lane;
}

void undefined_copy(struct warp *w, struct frame *to, uint32_t d, const struct frame *from,
                    uint32_t s, unsigned lane) {
  bool undefined =
      from->undefined && s >> BANK_SHIFT == BANK_FRAME && from->undefined[s] >> lane & 1;
  struct frame *running = w->frame;
  w->frame = to;
  undefined_set(w, d, lane, undefined);
  if (undefined && from->unwritten && from->unwritten[s] >> lane & 1)
    undefined_set_unwritten(w, d, lane);
  else if (to->unwritten) to->unwritten[d] &= ~(UINT32_C(1) << lane);
  w->frame = running;
}

/* `format` has one %s, for the value. */
static bool report(struct warp *w, unsigned lane, bool unwritten, const char *format) {
  if (unwritten) finding_report(w, lane, SIM_UNINITIALIZED, format, "an uninitialized value");
  else finding_report(w, lane, SIM_POISON, format, "a poison value");
  return false;
}

bool undefined_check(struct warp *w, uint32_t row, unsigned lane, const char *format) {
  return !undefined_is(w, row, lane) ||
         report(w, lane, undefined_is_unwritten(w, row, lane), format);
}

/* What an instruction of PTX does to the masks; returns the lanes in which it reads undefined
 * values. */
static uint32_t flow(struct warp *w, uint32_t *masks, const struct inst *in, uint32_t mask) {
  uint32_t a = in->flow & FLOW_A ? undefined_mask(masks, in->a) : 0,
           b = in->flow & FLOW_B ? undefined_mask(masks, in->b) : 0;
  uint32_t any = a | b;
  if (in->flow & FLOW_CHOOSES && masks != w->frame->pending)
    any = (a & w->preds[in->c]) | (b & ~w->preds[in->c]);
  if (in->flow & FLOW_C) any |= undefined_mask(masks, in->c);
  for (unsigned i = 0; in->flow & FLOW_ROWS && i < in->count; i++)
    any |= undefined_mask(masks, in->rows[i]);
  if (in->flow & FLOW_D) undefined_put_mask(masks, in->d, mask, any);
  for (unsigned i = 0; in->flow & FLOW_TO_ROWS && i < in->count; i++)
    undefined_put_mask(masks, in->rows[i], mask, any);
  return any & mask;
}

/* --- results of wgmma that are not waited for
 * ----------------------------------------------------------- */

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

/* Moves, and stores to local memory: spills of registers are no uses. */
static bool only_moves(const struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->flow & FLOW_MOVES || in->window == WINDOW_LOCAL) return true;
  return in->flow & FLOW_STORES && window_of(row_of(w, in->a)[lane_first(mask)]) == WINDOW_LOCAL;
}

static void pending_flow(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t any = in->ir ? w->frame->func->front->flow(w->frame->pending, in, ALL_LANES)
                        : flow(w, w->frame->pending, in, ALL_LANES);
  if (any && !only_moves(w, in, mask))
    finding_report(w, lane_first(mask), SIM_UNINITIALIZED,
                   "uses a result of wgmma.mma_async before waiting for it");
}

void undefined_flow(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct frame *f = w->frame;
  if (f->pending) pending_flow(w, in, mask);
  if (in->ir) {
    f->func->front->flow(f->unwritten, in, mask);
    return;
  }
  uint32_t unwritten = f->unwritten ? flow(w, f->unwritten, in, mask) : ALL_LANES,
           any = flow(w, f->undefined, in, mask);
  if (in->flow & FLOW_DECIDES && any)
    report(w, lane_first(any), unwritten >> lane_first(any) & 1, "compares %s");
}
