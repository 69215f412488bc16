/* Instructions that lanes of a warp execute together: those in `mask`. A .sync form is executed
 * only when all its members are among them (warp.c). */
#include "ir/evalfloat.h"
#include "sim/machine/exec.h"
#include "sim/machine/race.h"
#include "sim/machine/undefined.h"

/* The participating lanes for lane l: its members, or all lanes that are here. */
static uint32_t members(const struct warp *w, const struct inst *in, unsigned l, uint32_t mask) {
  return in->kind == INST_WARP_SYNC ? (uint32_t)row_of(w, in->rows[0])[l] & mask : mask;
}

/* Which lane lane l reads from; *in_range: it is in its segment. */
static unsigned shuffle_source(const struct inst *in, unsigned l, uint64_t b, uint64_t c,
                               bool *in_range) {
  unsigned by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned top = (l & segment) | (clamp & ~segment), bottom = l & segment;
  unsigned from;
  switch (in->imm) {
    case PTX_MOD_UP:
      from = l - by;
      *in_range = (int)from >= (int)top;
      break;
    case PTX_MOD_DOWN:
      from = l + by;
      *in_range = from <= top;
      break;
    case PTX_MOD_BFLY:
      from = l ^ by;
      *in_range = from <= top;
      break;
    default:
      from = bottom | (by & ~segment);
      *in_range = from <= top;
      break;
  }
  return *in_range ? from : l;
}

/* The value of a lane that does not participate is undefined, as of memory that was never written.
 */
void exec_warp_shfl(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c);
  uint64_t result[LANES];
  uint32_t ranges = 0, undefined = 0, unwritten = 0;
  FOR_LANES(l, mask) {
    bool in_range;
    unsigned from = shuffle_source(in, l, b[l], c[l], &in_range) & 31;
    bool absent = !(members(w, in, l, mask) >> from & 1);
    ranges |= (uint32_t)in_range << l;
    result[l] = a[from];
    undefined |= (uint32_t)(absent || undefined_is(w, in->a, from)) << l;
    unwritten |= (uint32_t)(absent || undefined_is_unwritten(w, in->a, from)) << l;
  }
  if (in->d != NO_ROW) {
    uint64_t *d = row_of(w, in->d);
    FOR_LANES(l, mask) {
      d[l] = result[l];
      if (undefined || w->frame->undefined) undefined_set(w, in->d, l, undefined >> l & 1);
      if (unwritten >> l & 1) undefined_set_unwritten(w, in->d, l);
    }
  }
  write_pred(w, in->d2, mask, ranges);
}

void exec_warp_vote(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t p = w->preds[in->a] ^ (in->flags & FLAG_NEGATE_PRED ? ALL_LANES : 0), value = 0;
  if (in->d == NO_ROW) return;
  FOR_LANES(l, mask) {
    uint32_t m = members(w, in, l, mask);
    bool all = (p & m) == m, none = (p & m) == 0;
    if (in->imm == PTX_MOD_BALLOT) row_of(w, in->d)[l] = p & m;
    else if (in->imm == PTX_MOD_ALL ? all : in->imm == PTX_MOD_ANY ? !none : all || none)
      value |= UINT32_C(1) << l;
  }
  if (in->imm != PTX_MOD_BALLOT) write_pred(w, in->d, mask, value);
}

void exec_warp_match(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t a[LANES];
  uint32_t value = 0;
  FOR_LANES(l, mask) a[l] = row_of(w, in->a)[l];
  FOR_LANES(l, mask) {
    uint32_t m = members(w, in, l, mask), same = 0;
    for (uint32_t r = m; r; r &= r - 1)
      if (a[lane_first(r)] == a[l]) same |= r & (0 - r);
    if (in->imm == PTX_MOD_ALL && same != m) same = 0;
    if (same) value |= UINT32_C(1) << l;
    if (in->d != NO_ROW) row_of(w, in->d)[l] = same;
  }
  write_pred(w, in->d2, mask, value);
}

void exec_warp_activemask(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  FOR_LANES(l, mask) row_of(w, in->d)[l] = mask;
}

static uint64_t reduce(const struct inst *in, uint64_t x, uint64_t y) {
  bool nan = in->flags & FLAG_NAN;
  if (!in->is_signed2) return exec_combine((uint16_t)in->imm, 32, in->is_signed, x, y);
  return in->imm == PTX_MOD_MIN ? evalfloat_min(FLOAT_SINGLE, nan, x, y)
                                : evalfloat_max(FLOAT_SINGLE, nan, x, y);
}

void exec_warp_redux(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t result[LANES];
  uint64_t a[LANES];
  FOR_LANES(l, mask) a[l] = row_of(w, in->a)[l] & (in->count ? 0x7fffffff : UINT64_MAX); /* .abs */
  FOR_LANES(l, mask) {
    uint32_t m = members(w, in, l, mask);
    result[l] = a[lane_first(m)];
    for (uint32_t r = m & (m - 1); r; r &= r - 1)
      result[l] = reduce(in, result[l], a[lane_first(r)]);
  }
  if (in->d == NO_ROW) return;
  FOR_LANES(l, mask) row_of(w, in->d)[l] = result[l];
}

void exec_warp_elect(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t value = 0;
  FOR_LANES(l, mask) {
    unsigned leader = lane_first(members(w, in, l, mask));
    if (leader == l) value |= UINT32_C(1) << l;
    if (in->d != NO_ROW) row_of(w, in->d)[l] = leader;
  }
  write_pred(w, in->d2, mask, value);
}

/* Yields to other warps. */
void exec_warp_sleep(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)in, (void)mask;
  w->yields = YIELD_ON;
}

void exec_warp_fence(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)mask;
  if (w->sim->races) race_fence(w, (enum race_strength)in->strength);
}

void exec_warp_is_clustered(struct warp *w, const struct inst *in, uint32_t mask) {
  write_pred(w, in->d, mask, w->sim->clusters_given ? ALL_LANES : 0);
}

/* Time is the number of instructions executed. */
void exec_warp_clock(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t now = w->sim->clock + w->steps;
  FOR_LANES(l, mask) row_of(w, in->d)[l] = evalint_zext(in->bits, now >> in->count);
}
