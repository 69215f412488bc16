/* Barriers of a block; see block.h. */
#include "ir/evalint.h"
#include "sim/machine/finding.h"
#include "sim/machine/race.h"

static uint64_t reduction(const struct block *b, uint32_t id, uint8_t kind) {
  uint64_t yes = 0, all = 0;
  for (uint32_t k = 0; k < b->warp_count; k++)
    for (uint32_t i = 0; i < b->warps[k].split_count; i++) {
      const struct split *s = &b->warps[k].splits[i];
      if (s->state != SPLIT_BARRIER || s->barrier != id) continue;
      yes += evalint_popcount(32, s->vote);
      all += evalint_popcount(32, s->mask);
    }
  return kind == BARRIER_POPC ? yes : kind == BARRIER_AND ? yes == all : yes != 0;
}

static void give_result(struct split *s, const struct inst *in, uint64_t result) {
  if (in->compare == BARRIER_SYNC || in->d == NO_ROW) return;
  if (in->compare == BARRIER_POPC) {
    uint64_t *d = s->frame->rows + (size_t)in->d * LANES;
    FOR_LANES(l, s->mask) d[l] = result;
  } else {
    uint32_t *p = &s->frame->preds[in->d];
    *p = (*p & ~s->mask) | (result ? s->mask : 0);
  }
}

/* Whether lanes of one warp wait at different aligned barriers: a finding. */
static bool is_divergent(struct warp *w, uint32_t id) {
  const struct split *first = NULL;
  for (uint32_t i = 0; i < w->split_count; i++) {
    const struct split *s = &w->splits[i];
    if (s->state != SPLIT_BARRIER || s->barrier != id) continue;
    if (first && (first->pc != s->pc || first->frame != s->frame) &&
        s->frame->func->code[s->pc].is_signed) {
      w->frame = s->frame;
      w->pc = s->pc;
      finding_report(
          w, lane_first(s->mask), SIM_DIVERGENT_BARRIER,
          "waits at a barrier while other threads of its warp wait at a different one (line %u)",
          first->frame->func->code[first->pc].line);
      return true;
    }
    first = s;
  }
  return false;
}

/* Whether other lanes of the warp bypassed the aligned barrier, wrote memory and ended, or wait
 * elsewhere: a finding. Lanes that only return are allowed, as CUDA allows threads to exit early
 * from sm_70 on. */
static bool is_passed(struct warp *w, uint32_t id) {
  struct split *waits = NULL;
  for (uint32_t i = 0; i < w->split_count && !waits; i++)
    if (w->splits[i].state == SPLIT_BARRIER && w->splits[i].barrier == id) waits = &w->splits[i];
  if (!waits) return false;
  uint32_t passed = w->passed;
  w->passing = w->passed = 0;
  if (!passed || !waits->frame->func->code[waits->pc].is_signed) return false;
  const uint64_t *tid = w->special + SPECIAL_TID * LANES + lane_first(passed);
  w->frame = waits->frame;
  w->pc = waits->pc;
  finding_report(w, lane_first(waits->mask), SIM_DIVERGENT_BARRIER,
                 "waits at a barrier that thread (%U,%U,%U) of its warp bypassed", tid[0],
                 tid[LANES], tid[2 * LANES]);
  return true;
}

static void release(struct block *b, uint32_t id) {
  uint64_t results[5] = {0};
  for (uint8_t kind = BARRIER_POPC; kind <= BARRIER_OR; kind++)
    results[kind] = reduction(b, id, kind);
  uint32_t waiting = 0;
  for (uint32_t k = 0; k < b->warp_count; k++) {
    struct warp *w = &b->warps[k];
    if (is_divergent(w, id) || is_passed(w, id)) return;
    for (uint32_t i = 0; i < w->split_count; i++) {
      struct split *s = &w->splits[i];
      if (s->state != SPLIT_BARRIER || s->barrier != id) continue;
      const struct inst *in = &s->frame->func->code[s->pc];
      give_result(s, in, results[in->compare]);
      s->state = SPLIT_READY;
      s->vote = 0;
      s->pc++;
      waiting |= UINT32_C(1) << k;
    }
  }
  if (b->warps[0].sim->races) race_sync_warps(b, id, waiting);
  b->barriers[id] = (struct barrier){0};
}

void barrier_check(struct block *b) {
  for (uint32_t id = 0; id < BARRIER_COUNT; id++) {
    struct barrier *r = &b->barriers[id];
    uint32_t expected = r->expected ? r->expected : b->live_threads;
    if (r->arrived && r->arrived >= expected) release(b, id);
  }
}

void barrier_arrive(struct block *b, uint32_t id, uint32_t threads, uint32_t expected) {
  struct barrier *r = &b->barriers[id];
  r->arrived += threads;
  if (expected) r->expected = expected;
}
