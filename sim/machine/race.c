/* Races: two accesses of different threads to the same byte, one of them a write, that nothing
 * orders. They are found by the order that synchronization defines ("happens before"), not by the
 * order of this run, as in FastTrack (Flanagan and Freund, 2009) and, for the hierarchy of lanes,
 * warps and blocks, iGUARD (Kamath and Basu, 2021).
 *
 * `sim.time` counts events that order accesses. Each word of memory has a cell with marks of the
 * last write and of the last reads of two threads: thread, time, which of the four bytes. An access
 * conflicts with a mark unless the mark is of the same thread or older than the time up to which
 *
 *   - lanes of a warp have met (all .sync instructions synchronize their members; before sm_70
 * every instruction does),
 * - warps of a block have met at barriers: known[reader's warp][other warp], transitively,
 * - anything else was published: by a fence of the marked thread's block, then a strong write or
 *   atomic operation of it, then a strong read or atomic operation of the accessing block.
 *
 * Two strong accesses (volatile, relaxed …, atomics) never conflict if their scopes include each
 * other; nor do two writes of the same value, which many programs do on purpose.
 *
 * Deviations from the memory model lose findings, never add false ones: publishing is by block, not
 * by thread and location; the marks of two threads' reads represent all reads. */
#include "sim/machine/race.h"

#include "sim/machine/finding.h"

#include <string.h>

enum {
  CELL_SHIFT = 2,
  PAGE_SHIFT = 10,
  PAGE_CELLS = 1 << PAGE_SHIFT,
  MAX_WARPS = 32,
  PUBLICATIONS = 4,
  NUMBER_PAGE = 1024
};

struct mark {
  uint32_t thread; /* of the launch, from 1; 0: none */
  uint32_t time;
  uint32_t line;
  uint8_t bytes; /* of the word, one bit each */
  uint8_t strength;
};

struct race_cell {
  struct mark write, reads[2];
};

/* What a block published, by scope: its accesses before `before`, visible from `at` on. */
struct race_published {
  uint32_t before[2][PUBLICATIONS], at[2][PUBLICATIONS];
};

struct race_block {
  uint32_t known[MAX_WARPS]
                [MAX_WARPS]; /* of a warp: the time up to which others are ordered before it */
  uint32_t arrived[BARRIER_COUNT][MAX_WARPS]; /* bar.arrive: when; 0: not */
  uint32_t fence[2];                          /* time of the last fence, by scope */
  uint32_t acquired;
};

/* --- time ------------------------------------------------------------------------------------- */

static uint32_t tick(struct sim *s) {
  if (s->time == UINT32_MAX) s->races = false; /* out of times: no more findings */
  else s->time++;
  return s->time;
}

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t threads_of_block(const struct sim *s) {
  const uint32_t *b = s->launch->block;
  return b[0] * b[1] * b[2];
}

bool race_begin(struct sim *s) {
  const uint32_t *g = s->launch->grid;
  uint64_t blocks = (uint64_t)g[0] * g[1] * g[2];
  s->races = s->launch->check_races && blocks * threads_of_block(s) < UINT32_MAX;
  s->launch_time = s->races ? tick(s) : 0;
  s->published = NULL;
  if (s->races)
    s->published = arena_alloc(&s->arena, (blocks / NUMBER_PAGE + 1) * sizeof *s->published);
  return !s->races || s->published;
}

bool race_begin_block(struct block *b) {
  struct sim *s = b->warps[0].sim;
  if (!s->races) return true;
  if (!b->race) b->race = arena_alloc(&s->arena, sizeof *b->race);
  if (!b->race) return false;
  memset(b->race, 0, sizeof *b->race);
  b->shadow.since = tick(s);
  b->first_thread = (uint32_t)b->number * threads_of_block(s) + 1;
  for (uint32_t k = 0; k < b->warp_count; k++) {
    b->warps[k].synced = b->shadow.since;
    if (b->warps[k].lanes_synced)
      memset(b->warps[k].lanes_synced, 0, LANES * LANES * sizeof(uint32_t));
  }
  return true;
}

static struct race_published *published_of(struct sim *s, uint64_t block, bool make) {
  struct race_published **page = &s->published[block / NUMBER_PAGE];
  if (!*page && make) *page = arena_alloc(&s->arena, NUMBER_PAGE * sizeof **page);
  return *page ? *page + block % NUMBER_PAGE : NULL;
}

/* --- what orders accesses
 * ------------------------------------------------------------------------------ */

void race_sync_lanes(struct warp *w, uint32_t mask) {
  struct sim *s = w->sim;
  if (mask == w->live) {
    w->synced = tick(s);
    return;
  }
  if (!w->lanes_synced) w->lanes_synced = arena_alloc(&s->arena, LANES * LANES * sizeof(uint32_t));
  if (!w->lanes_synced) return;
  uint32_t joined[LANES] = {0}, now = tick(s);
  FOR_LANES(l, mask)
  for (unsigned k = 0; k < LANES; k++) joined[k] = later(joined[k], w->lanes_synced[l * LANES + k]);
  FOR_LANES(l, mask) joined[l] = now;
  FOR_LANES(l, mask) memcpy(w->lanes_synced + (size_t)l * LANES, joined, sizeof joined);
}

void race_arrive(struct warp *w, uint32_t barrier) {
  w->block->race->arrived[barrier][w->index] = tick(w->sim);
}

void race_sync_warps(struct block *b, uint32_t barrier, uint32_t waiting) {
  struct race_block *r = b->race;
  uint32_t now = tick(b->warps[0].sim), count = b->warp_count, joined[MAX_WARPS] = {0};
  for (uint32_t k = 0; k < count; k++) {
    if (!(waiting >> k & 1) && !r->arrived[barrier][k]) continue;
    for (uint32_t o = 0; o < count; o++) joined[o] = later(joined[o], r->known[k][o]);
  }
  for (uint32_t k = 0; k < count; k++) {
    if (waiting >> k & 1) joined[k] = b->warps[k].synced = now;
    else joined[k] = later(joined[k], r->arrived[barrier][k]);
    r->arrived[barrier][k] = 0;
  }
  for (uint32_t k = 0; k < count; k++)
    if (waiting >> k & 1) memcpy(r->known[k], joined, sizeof joined);
}

void race_fence(struct warp *w, enum race_strength scope) {
  uint32_t now = tick(w->sim);
  w->block->race->fence[0] = now;
  if (scope == RACE_DEVICE) w->block->race->fence[1] = now;
}

void race_publish(struct warp *w, enum race_strength scope) {
  const struct race_block *r = w->block->race;
  if (r->fence[0] == 0) return;
  struct race_published *p = published_of(w->sim, w->block->number, true);
  for (unsigned k = 0; p && k < (scope == RACE_DEVICE ? 2u : 1u); k++) {
    if (r->fence[k] == 0 || p->before[k][0] == r->fence[k]) continue; /* was published before */
    memmove(&p->before[k][1], &p->before[k][0], (PUBLICATIONS - 1) * sizeof(uint32_t));
    memmove(&p->at[k][1], &p->at[k][0], (PUBLICATIONS - 1) * sizeof(uint32_t));
    p->before[k][0] = r->fence[k];
    p->at[k][0] = tick(w->sim);
  }
}

void race_release(struct warp *w, const struct inst *in) {
  if (in->releases) race_fence(w, (enum race_strength)in->strength);
  race_publish(w, (enum race_strength)in->strength);
}

void race_acquire(struct warp *w) { w->block->race->acquired = w->sim->time; }

static bool is_published(struct sim *s, const struct mark *m, uint64_t block,
                         const struct block *reader) {
  const struct race_published *p = published_of(s, block, false);
  unsigned scope = block == reader->number ? 0 : 1, k = 0;
  uint32_t acquired = reader->race->acquired;
  if (!p || m->time >= acquired) return false;
  while (k < PUBLICATIONS && p->at[scope][k] > acquired) k++;
  if (k == PUBLICATIONS) return true; /* older ones were discarded */
  return m->time < p->before[scope][k];
}

static bool is_ordered(const struct warp *w, unsigned lane, const struct mark *m, uint32_t since) {
  struct sim *s = w->sim;
  uint32_t size = threads_of_block(s), in_block = (m->thread - 1) % size, other = in_block / LANES;
  uint64_t block = (m->thread - 1) / size;
  if (m->time < since) return true;
  if (block == w->block->number) {
    uint32_t time = other == w->index ? w->synced : w->block->race->known[w->index][other];
    if (other == w->index && !s->lanes_part) return true; /* one program counter for all */
    if (other == w->index && w->lanes_synced)
      time = later(time, w->lanes_synced[lane * LANES + in_block % LANES]);
    if (m->time < time) return true;
  }
  return is_published(s, m, block, w->block);
}

/* --- accesses --------------------------------------------------------------------------------- */

static inline struct race_cell *cell_of(struct sim *s, struct shadow *shadow, uint64_t offset,
                                        uint64_t size) {
  uint64_t cell = offset >> CELL_SHIFT, pages = (size >> CELL_SHIFT) / PAGE_CELLS + 1;
  if (!shadow->pages) shadow->pages = arena_alloc(&s->arena, pages * sizeof *shadow->pages);
  if (!shadow->pages) return NULL;
  struct race_cell **page = &shadow->pages[cell / PAGE_CELLS];
  if (!*page) *page = arena_alloc(&s->arena, PAGE_CELLS * sizeof **page);
  return *page ? *page + cell % PAGE_CELLS : NULL;
}

static bool conflicts(const struct warp *w, unsigned lane, const struct mark *m,
                      const struct mark *now, uint32_t since) {
  if (m->thread == 0 || m->thread == now->thread || !(m->bytes & now->bytes)) return false;
  if (m->strength && now->strength) {
    uint32_t size = threads_of_block(w->sim);
    if ((m->thread - 1) / size == (now->thread - 1) / size) return false;
    if (m->strength == RACE_DEVICE && now->strength == RACE_DEVICE) return false;
  }
  return !is_ordered(w, lane, m, since);
}

static bool report(struct warp *w, unsigned lane, const struct access *at, const struct mark *m,
                   uint64_t bytes, bool writes, bool wrote) {
  struct sim *s = w->sim;
  const uint32_t *d = s->launch->block, *g = s->launch->grid;
  uint32_t size = threads_of_block(s), t = (m->thread - 1) % size, b = (m->thread - 1) / size;
  bool shared = at->shadow == &w->block->shadow;
  finding_report(
      w, lane, SIM_RACE,
      "%s %U bytes at %s + %U that thread (%u,%u,%u) of block (%u,%u,%u) %s at line %u without "
      "synchronization",
      writes ? "writes" : "reads", bytes, shared ? "shared" : "global", at->offset, t % d[0],
      t / d[0] % d[1], t / d[0] / d[1], b % g[0], b / g[0] % g[1], b / g[0] / g[1],
      wrote ? "wrote" : "read", m->line);
  return false;
}

static void note_read(struct race_cell *cell, const struct mark *now) {
  unsigned k = cell->reads[0].thread == now->thread   ? 0
               : cell->reads[1].thread == now->thread ? 1
                                                      : cell->reads[1].time < cell->reads[0].time;
  uint8_t before = cell->reads[k].thread == now->thread && cell->reads[k].time == now->time
                       ? cell->reads[k].bytes
                       : 0;
  cell->reads[k] = *now;
  cell->reads[k].bytes |= before;
}

static void note_write(struct race_cell *cell, const struct mark *now) {
  uint8_t before =
      cell->write.thread == now->thread && cell->write.time == now->time ? cell->write.bytes : 0;
  cell->write = *now;
  cell->write.bytes |= before;
  if (cell->write.bytes == 15) cell->reads[0].thread = cell->reads[1].thread = 0;
}

/* Fast path for most accesses: a word that no other thread has accessed so far. */
static inline bool is_own(struct race_cell *cell, const struct mark *now, bool writes) {
  uint32_t me = now->thread;
  if (cell->write.thread != me && cell->write.thread != 0) return false;
  if (!writes && cell->reads[0].thread != me) return false;
  if (writes &&
      ((cell->reads[0].thread != me && cell->reads[0].thread != 0) || cell->reads[1].thread != 0))
    return false;
  struct mark *m = writes ? &cell->write : &cell->reads[0];
  if (m->time != now->time || m->thread != me || m->strength != now->strength || m->bytes != 15)
    *m = *now;
  return true;
}

/* The cell of an aligned word, if it has one. */
static inline struct race_cell *known_cell(const struct access *at, uint64_t bytes) {
  uint64_t cell = at->offset >> CELL_SHIFT;
  if (bytes != 4 || at->offset % 4 != 0 || !at->shadow->pages ||
      !at->shadow->pages[cell >> PAGE_SHIFT])
    return NULL;
  return &at->shadow->pages[cell >> PAGE_SHIFT][cell % PAGE_CELLS];
}

bool race_access(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes, enum race_strength strength, const uint8_t *value) {
  struct sim *s = w->sim;
  if (value) w->passed |= w->passing & UINT32_C(1) << lane;
  uint64_t first = at->offset, end = first + bytes;
  struct mark now = {.thread = w->block->first_thread + w->index * LANES + lane,
                     .time = s->time,
                     .line = in->line,
                     .strength = (uint8_t)strength,
                     .bytes = 15};
  struct race_cell *known = known_cell(at, bytes);
  if (known && is_own(known, &now, value != NULL)) return true;
  uint32_t since = later(s->launch_time, at->shadow->since);
  for (uint64_t word = first & ~UINT64_C(3); word < end; word += 4) {
    struct race_cell *cell = cell_of(s, at->shadow, word, at->size);
    if (!cell) return true;
    unsigned low = word < first ? (unsigned)(first - word) : 0,
             high = end - word < 4 ? (unsigned)(end - word) : 4;
    now.bytes = (uint8_t)((1u << high) - (1u << low));
    if (conflicts(w, lane, &cell->write, &now, since) &&
        !(value && memcmp(value, at->at, bytes) == 0))
      return report(w, lane, at, &cell->write, bytes, value != NULL, true);
    for (unsigned k = 0; value && k < 2; k++)
      if (conflicts(w, lane, &cell->reads[k], &now, since))
        return report(w, lane, at, &cell->reads[k], bytes, true, false);
    if (value) note_write(cell, &now);
    else note_read(cell, &now);
  }
  return true;
}

/* The written value counts as different from the old one. */
bool race_atomic(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes) {
  uint8_t other[16];
  for (uint64_t k = 0; k < bytes && k < sizeof other; k++) other[k] = (uint8_t)~at->at[k];
  return !at->shadow ||
         race_access(w, lane, in, at, bytes, (enum race_strength)in->strength, other);
}
