/* Frames of calls: registers, parameters, local memory; see warp.h. A function keeps the frames
 * that are not in use. */
#include "sim/machine/finding.h"
#include "sim/machine/memory.h"
#include "sim/machine/undefined.h"

#include "ir/evalint.h"

#include <string.h>

static struct frame *allocate_frame(struct warp *w, const struct func *f) {
  struct func *pool = (struct func *)(uintptr_t)f;
  struct frame *frame = pool->free_frames;
  if (frame) {
    pool->free_frames = frame->parent;
    return frame;
  }
  struct arena *a = &w->sim->arena;
  frame = arena_alloc(a, sizeof *frame);
  if (!frame) return NULL;
  frame->rows = arena_alloc(a, ((size_t)f->rows + 1) * LANES * sizeof *frame->rows);
  frame->preds = arena_alloc(a, f->preds * sizeof *frame->preds);
  frame->params = arena_alloc(a, (size_t)f->param_bytes * LANES);
  if (!frame->rows || !frame->preds || !frame->params) return NULL;
  frame->preds[1] = ALL_LANES;
  return frame;
}

void frame_free(struct frame *frame) {
  struct func *pool = (struct func *)(uintptr_t)frame->func;
  frame->parent = pool->free_frames;
  pool->free_frames = frame;
}

bool frame_add_lanes(struct warp *w, struct frame *frame, uint32_t mask) {
  const struct func *f = frame->func;
  uint64_t align = f->local_align > 16 ? f->local_align : 16;
  frame->live |= mask;
  FOR_LANES(l, mask) {
    uint64_t base = (w->stack_top[l] + align - 1) / align * align;
    frame->local_before[l] = w->stack_top[l];
    frame->local_base[l] = base;
    if (!memory_set_stack(w, l, base + f->local_bytes)) return false;
  }
  return true;
}

struct frame *frame_new(struct warp *w, const struct func *f, struct frame *parent, uint32_t mask) {
  struct frame *frame = allocate_frame(w, f);
  if (!frame) {
    finding_report(w, lane_first(mask), SIM_MEMORY, "exceeds the memory limit of the simulator");
    return NULL;
  }
  if (frame->undefined) memset(frame->undefined, 0, f->rows * sizeof *frame->undefined);
  if (frame->pending) memset(frame->pending, 0, f->rows * sizeof *frame->pending);
  frame->func = f;
  frame->parent = parent;
  frame->live = 0;
  frame->depth = parent ? parent->depth + 1 : 0;
  return frame_add_lanes(w, frame, mask) ? frame : NULL;
}

void frame_enter(struct warp *w, struct frame *frame) {
  w->frame = frame;
  w->bank[BANK_FRAME] = frame->rows;
  w->bank[BANK_CONST] = frame->func->constants;
  w->bank[BANK_SPECIAL] = w->special;
  w->preds = frame->preds;
}

static uint64_t *slot_row(const struct frame *f, const struct warp *w, uint32_t row) {
  uint64_t *banks[3] = {f->rows, f->func->constants, w->special};
  return banks[row >> BANK_SHIFT] + (size_t)(row & ((1u << BANK_SHIFT) - 1)) * LANES;
}

static uint8_t *slot_bytes(const struct frame *f, const struct slot *s, unsigned lane) {
  return f->params + (size_t)lane * f->func->param_bytes + s->offset;
}

uint64_t frame_get(const struct warp *w, const struct frame *f, const struct slot *s,
                   unsigned lane) {
  if (!s->is_reg) return memory_number(slot_bytes(f, s, lane), s->bytes < 8 ? s->bytes : 8);
  return s->bits == 1 ? f->preds[s->row] >> lane & 1 : slot_row(f, w, s->row)[lane];
}

void frame_put(const struct warp *w, struct frame *f, const struct slot *s, unsigned lane,
               uint64_t value) {
  if (!s->is_reg) memory_put_number(slot_bytes(f, s, lane), value, s->bytes < 8 ? s->bytes : 8);
  else if (s->bits == 1)
    mask_put(&f->preds[s->row], UINT32_C(1) << lane, value & 1 ? ALL_LANES : 0);
  else slot_row(f, w, s->row)[lane] = evalint_zext(s->bits > 64 ? 64 : s->bits, value);
}

static void copy_slot(struct warp *w, struct frame *to, const struct slot *d,
                      const struct frame *from, const struct slot *s, unsigned l) {
  if (!s->is_reg && !d->is_reg) {
    memcpy(slot_bytes(to, d, l), slot_bytes(from, s, l), d->bytes < s->bytes ? d->bytes : s->bytes);
    return;
  }
  frame_put(w, to, d, l, frame_get(w, from, s, l));
  if (!d->is_reg || d->bits == 1) return;
  if (s->is_reg && s->bits > 1) undefined_copy(w, to, d->row, from, s->row, l);
  else if (to->undefined) undefined_put_mask(to->undefined, d->row, UINT32_C(1) << l, 0);
}

/* Parameters whose address is taken get their copy in local memory. */
static void copy_params_to_stack(struct warp *w, struct frame *frame, uint32_t mask) {
  const struct func *f = frame->func;
  for (uint32_t i = 0; i < f->formal_count; i++) {
    if (f->param_copies[i] == 0) continue;
    FOR_LANES(l, mask) {
      uint64_t at = frame->local_base[l] + f->param_copies[i] - 1;
      memcpy(w->local[l].bytes + at, slot_bytes(frame, &f->formals[i], l), f->formals[i].bytes);
      memset(w->local[l].written + at, SHADOW_WRITTEN, f->formals[i].bytes);
    }
  }
}

void frame_pass_arguments(struct warp *w, struct frame *callee, const struct frame *caller,
                          const struct call_info *c, uint32_t mask) {
  const struct func *f = callee->func;
  FOR_LANES(l, mask)
  for (uint32_t i = 0; i < c->argument_count; i++)
    copy_slot(w, callee, &f->formals[f->result_count + i], caller, &c->arguments[i], l);
  copy_params_to_stack(w, callee, mask);
}

void frame_return_results(struct warp *w, struct frame *caller, const struct frame *callee,
                          uint32_t mask) {
  FOR_LANES(l, mask)
  for (uint32_t i = 0; i < callee->call->result_count; i++)
    copy_slot(w, caller, &callee->call->results[i], callee, &callee->func->formals[i], l);
}
