/* mbarriers, bulk copies, clusters; see async.h.
 *
 * Copies are done as late as possible, so that a program that does not wait for them reads old
 * data: copies in groups when their thread waits for the group, copies that an mbarrier counts when
 * a thread tests its phase, the others when the block ends. An mbarrier is 64 bits whose layout PTX
 * leaves open:
 *
 *   bits 0..19 arrivals pending | 20..39 arrivals expected | 40..61 bytes pending + 2^21 | 62 phase
 * | 63 set
 *
 * A phase ends when no arrivals and no bytes are pending. Waiting is polling; a warp whose test
 * fails yields to others. Bits 24 and up of a shared address are the rank + 1 of another block of
 * the cluster. */
#include "sim/machine/async.h"

#include "ir/evalint.h"
#include "sim/machine/finding.h"
#include "sim/machine/race.h"

#include <string.h>

enum { TX_ZERO = 1 << 21, COUNT_MASK = 0xfffff };

struct mbarrier {
  uint32_t pending, expected;
  int32_t bytes;
  bool phase, set;
};

static uint64_t pack(const struct mbarrier *m) {
  return m->pending | (uint64_t)m->expected << 20 | (uint64_t)(uint32_t)(m->bytes + TX_ZERO) << 40 |
         (uint64_t)m->phase << 62 | (uint64_t)m->set << 63;
}

static struct mbarrier get_mbarrier(const uint8_t *at) {
  uint64_t v = memory_number(at, 8);
  return (struct mbarrier){v & COUNT_MASK, v >> 20 & COUNT_MASK,
                           (int32_t)(v >> 40 & (2 * TX_ZERO - 1)) - TX_ZERO, v >> 62 & 1, v >> 63};
}

/* The mbarrier at the address; NULL: a finding was made. */
static uint8_t *find_mbarrier(struct warp *w, unsigned l, uint64_t address, unsigned window,
                              bool is_init, struct mbarrier *m) {
  struct access at;
  if (!memory_find(w, l, address, window, 8, 8, true, &at)) return NULL;
  *m = get_mbarrier(at.at);
  if (is_init && at.written) memset(at.written, SHADOW_WRITTEN, 8);
  if (m->set || is_init) return at.at;
  finding_report(w, l, SIM_UNINITIALIZED, "uses an uninitialized mbarrier");
  return NULL;
}

static void put_mbarrier(uint8_t *at, struct mbarrier *m) {
  if (m->set && m->pending == 0 && m->bytes == 0) {
    m->phase = !m->phase;
    m->pending = m->expected;
  }
  memory_put_number(at, pack(m), 8);
}

/* Publishes earlier accesses to the threads that wait. */
static void publish(struct warp *w) {
  if (!w->sim->races) return;
  race_fence(w, RACE_DEVICE);
  race_publish(w, RACE_DEVICE);
}

/* --- pending copies ------------------------------------------------------------------- */

struct copy {
  struct warp *w;
  const struct inst *in;
  unsigned lane;
  bool bulk;
  uint32_t group;
  struct access source, target;
  uint64_t read, bytes; /* bytes from the source; the rest of the target's is zero */
  uint8_t *barrier;     /* of 64 bits; NULL: it is in a group */
};

/* For race.c, the thread that waits for a group performs its copies. */
static bool is_race_free(const struct copy *c) {
  uint8_t value[16] = {0};
  if (!c->w->sim->races || c->barrier || !c->w->live) return true;
  if (c->read < c->bytes && c->read) memcpy(value, c->source.at, c->read);
  return (!c->source.shadow ||
          race_access(c->w, c->lane, c->in, &c->source, c->read, RACE_WEAK, NULL)) &&
         race_access(c->w, c->lane, c->in, &c->target, c->bytes, RACE_WEAK,
                     c->read < c->bytes ? value : c->source.at);
}

static bool finish_copy(const struct copy *c) {
  if (!is_race_free(c)) return false;
  bool defined = memory_is_defined(c->w, &c->source, c->read);
  if (c->read) memmove(c->target.at, c->source.at, c->read);
  memset(c->target.at + c->read, 0, c->bytes - c->read);
  if (c->target.written) memset(c->target.written, defined ? SHADOW_WRITTEN : 0, c->bytes);
  if (!c->barrier) return true;
  struct mbarrier m = get_mbarrier(c->barrier);
  m.bytes -= (int32_t)c->bytes;
  put_mbarrier(c->barrier, &m);
  return true;
}

/* Does the copies that touch shared memory [first, end): an mbarrier, or all of a block. */
static void finish_copies_at(struct sim *s, const uint8_t *first, const uint8_t *end) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->copies.count; i++) {
    const struct copy *c = &s->copies.data[i];
    const uint8_t *const places[3] = {c->barrier, c->target.at, c->source.at};
    bool touches = false;
    for (int k = 0; k < 3; k++) touches |= places[k] >= first && places[k] < end;
    if (touches) finish_copy(c);
    else s->copies.data[kept++] = *c;
  }
  s->copies.count = kept;
}

/* Does the lanes' copies up to that group, of cp.async or of bulk copies. */
static bool finish_groups(struct warp *w, uint32_t mask, bool bulk, uint32_t still_going,
                          bool all) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < w->copies.count && !w->stopped; i++) {
    const struct copy *c = &w->copies.data[i];
    bool is_done = all || c->group + still_going < w->groups[bulk][c->lane];
    if (c->bulk == bulk && mask >> c->lane & 1 && is_done) finish_copy(c);
    else w->copies.data[kept++] = *c;
  }
  w->copies.count = kept;
  return !w->stopped;
}

void async_end_block(struct block *b) {
  struct sim *s = b->warps[0].sim;
  for (uint32_t k = 0; k < b->warp_count; k++) {
    struct warp *w = &b->warps[k];
    for (uint32_t i = 0; i < w->copies.count; i++) finish_copy(&w->copies.data[i]);
    w->copies.count = w->products.count = 0;
    memset(w->groups, 0, sizeof w->groups);
  }
  finish_copies_at(s, b->shared, b->shared + s->shared_bytes);
}

static bool begin_copy(struct copy c) {
  struct arena *a = &c.w->sim->arena;
  c.group = c.w->groups[c.bulk][c.lane];
  if (c.barrier ? VEC_PUSH(a, &c.w->sim->copies, c) : VEC_PUSH(a, &c.w->copies, c)) return true;
  finding_report(c.w, c.lane, SIM_MEMORY, "exceeds the memory limit of the simulator");
  return false;
}

/* .commit_group, .wait_group, .wait_all. */
void async_commit(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) w->groups[in->is_signed][l]++;
}
void async_wait_group(struct warp *w, const struct inst *in, uint32_t mask) {
  finish_groups(w, mask, in->is_signed, (uint32_t)in->imm, in->flags);
}

/* cp.async: `count` bytes from global to shared memory, of which the first c are read. */
void async_copy(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *to = row_of(w, in->a), *from = row_of(w, in->b), *read = row_of(w, in->c);
  FOR_LANES(l, mask) {
    struct copy c = {.w = w,
                     .in = in,
                     .lane = l,
                     .bytes = in->count,
                     .read = read[l] < in->count ? read[l] : in->count};
    uint64_t address = from[l] + (uint64_t)(int64_t)(int32_t)in->rows[0];
    if ((c.read &&
         !memory_find(w, l, address, WINDOW_GLOBAL, c.read, in->count, false, &c.source)) ||
        !memory_find(w, l, to[l] + (uint64_t)in->imm, WINDOW_SHARED, in->count, in->count, true,
                     &c.target) ||
        !begin_copy(c))
      return;
  }
}

/* --- mbarriers -------------------------------------------------------------------------------- */

static bool update(struct warp *w, const struct inst *in, unsigned l, uint64_t b, uint64_t c) {
  struct mbarrier m;
  uint8_t *at = find_mbarrier(w, l, row_of(w, in->a)[l] + (uint64_t)in->imm, in->window,
                              in->compare == MB_INIT, &m);
  if (!at) return false;
  if (in->d != NO_ROW) row_of(w, in->d)[l] = pack(&m);
  switch (in->compare) {
    case MB_INIT: m = (struct mbarrier){b & COUNT_MASK, b & COUNT_MASK, 0, false, true}; break;
    case MB_INVALIDATE: m.set = false; break;
    case MB_EXPECT: m.bytes += (int32_t)b; break;
    case MB_COMPLETE: m.bytes -= (int32_t)b; break;
    default: /* c arrivals, after b more bytes are expected */
      m.bytes += (int32_t)b;
      if (c > m.pending) {
        finding_report(w, l, SIM_BAD_CALL,
                       "arrives %U times at an mbarrier that expects %u more arrivals", c,
                       m.pending);
        return false;
      }
      m.pending -= (uint32_t)c;
      if (in->is_signed) m.expected -= (uint32_t)c; /* arrive_drop */
      break;
  }
  put_mbarrier(at, &m);
  return true;
}

/* flags: cp.async.mbarrier.arrive, which comes after the lanes' copies. */
void async_mbarrier(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *b = row_of(w, in->b), *c = row_of(w, in->c);
  if (in->flags && !finish_groups(w, mask, false, 0, true)) return;
  publish(w);
  FOR_LANES(l, mask) if (!update(w, in, l, b[l], c[l])) return;
}

/* Waits for the end of the phase of a state (its bit 62), or of the phase of a parity. */
void async_mbarrier_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *b = row_of(w, in->b);
  uint32_t done = 0;
  FOR_LANES(l, mask) {
    struct mbarrier m;
    uint8_t *at =
        find_mbarrier(w, l, row_of(w, in->a)[l] + (uint64_t)in->imm, in->window, false, &m);
    if (!at) return;
    if (w->sim->copies.count) finish_copies_at(w->sim, at, at + 8);
    m = get_mbarrier(at);
    bool phase = in->is_signed ? b[l] & 1 : b[l] >> 62 & 1;
    done |= (uint32_t)(m.phase != phase) << l;
  }
  write_pred(w, in->d, mask, done);
  if (w->sim->races && done) race_acquire(w);
  if (done != mask) w->yields = YIELD_WAITS;
}

void async_pending_count(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) row_of(w, in->d)[l] = a[l] & COUNT_MASK;
}

/* --- bulk copies ------------------------------------------------------------------------------ */

static uint64_t bulk_address(const struct warp *w, const struct inst *in, unsigned at, unsigned l) {
  return row_of(w, in->rows[at])[l] + (uint64_t)(int64_t)(int32_t)in->rows[at + 1];
}

static bool copy_bulk(struct warp *w, const struct inst *in, unsigned l, uint64_t to,
                      uint64_t barrier) {
  struct copy c = {.w = w, .in = in, .lane = l, .bulk = true};
  struct mbarrier m;
  c.read = c.bytes = row_of(w, in->rows[BULK_BYTES])[l] & UINT32_MAX;
  if (c.bytes % 16 != 0) {
    finding_report(w, l, SIM_MISALIGNED, "copies %U bytes in bulk, which is not a multiple of 16",
                   c.bytes);
    return false;
  }
  if (c.bytes == 0) return true;
  if (!memory_find(w, l, bulk_address(w, in, BULK_FROM, l), in->window, c.bytes, 16, false,
                   &c.source) ||
      !memory_find(w, l, to, in->dest_bits, c.bytes, 16, true, &c.target))
    return false;
  if (in->is_signed && !is_race_free(&c)) return false; /* as if done now */
  if (in->is_signed && !(c.barrier = find_mbarrier(w, l, barrier, WINDOW_SHARED, false, &m)))
    return false;
  if (in->is_signed) publish(w);
  return begin_copy(c);
}

void async_bulk(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    uint64_t to = bulk_address(w, in, BULK_TO, l),
             barrier = in->is_signed ? bulk_address(w, in, BULK_BARRIER, l) : 0;
    if (in->rows[BULK_MASK] == NO_ROW) {
      if (!copy_bulk(w, in, l, to, barrier)) return;
      continue;
    }
    FOR_LANES(rank, (uint32_t)row_of(w, in->rows[BULK_MASK])[l] & 0xffff) {
      uint64_t other = (uint64_t)(rank + 1) << CLUSTER_SHIFT,
               offset = (UINT64_C(1) << CLUSTER_SHIFT) - 1;
      if (!copy_bulk(w, in, l, (to & offset) | other, (barrier & offset) | other)) return;
    }
  }
}

/* --- clusters --------------------------------------------------------------------------------- */

void async_cluster_check(struct cluster *c) {
  if (c->arrived < c->live || c->arrived == 0) return;
  c->arrived = 0;
  c->phase = !c->phase;
}

void async_cluster_arrive(struct warp *w, const struct inst *in, uint32_t mask) {
  struct cluster *c = w->block->cluster;
  (void)in;
  publish(w);
  w->cluster_phase = (w->cluster_phase & ~mask) | (c->phase ? mask : 0);
  c->arrived += (uint32_t)evalint_popcount(32, mask);
  async_cluster_check(c);
}

/* All lanes wait while the phase of one has not ended. */
void async_cluster_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t phase = w->block->cluster->phase ? ALL_LANES : 0;
  (void)in;
  if (~(w->cluster_phase ^ phase) & mask) w->yields = YIELD_AGAIN;
  else if (w->sim->races) race_acquire(w);
}

void async_map(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b);
  uint64_t place = (UINT64_C(0xffffffff) >> CLUSTER_SHIFT) << CLUSTER_SHIFT;
  FOR_LANES(l, mask) {
    if ((uint32_t)b[l] >= w->block->cluster->count) {
      finding_report(w, l, SIM_OUT_OF_BOUNDS,
                     "maps an address to block %U of a cluster of %u blocks", b[l],
                     w->block->cluster->count);
      return;
    }
    row_of(w, in->d)[l] = (a[l] & ~place) | (b[l] + 1) << CLUSTER_SHIFT;
  }
}

void async_rank_of(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) {
    uint32_t place = (uint32_t)a[l] >> CLUSTER_SHIFT;
    row_of(w, in->d)[l] = place ? place - 1 : w->block->rank;
  }
}
