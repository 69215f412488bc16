/* mbarriers, bulk copies, clusters: how blocks and the copy engine wait for each other. Decoding and
 * execution.
 *
 * Copies are done at once, which is one of the times at which a GPU may do them; what follows them
 * (the mbarrier's transactions) is done with them. An mbarrier is 64 bits whose layout PTX leaves open:
 *
 *   bits 0..19 arrivals pending | 20..39 arrivals expected | 40..61 bytes pending + 2^21 | 62 phase | 63 set
 *
 * A phase ends when no arrivals and no bytes are pending. Waiting is asking again and again; a warp
 * that asked in vain lets others run. Shared memory of another block of the cluster is named by its
 * rank + 1 in bits 24 and up of the address. */
#include "sim/machine.h"

#include <string.h>

enum mbarrier_op { MB_INIT, MB_INVALIDATE, MB_EXPECT, MB_COMPLETE, MB_ARRIVE, MB_ARRIVE_EXPECT, MB_TEST, MB_TRY };
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

static struct mbarrier unpack(uint64_t v) {
  return (struct mbarrier){v & COUNT_MASK, v >> 20 & COUNT_MASK, (int32_t)(v >> 40 & (2 * TX_ZERO - 1)) - TX_ZERO,
                           v >> 62 & 1, v >> 63};
}

/* The mbarrier at the address; NULL: a finding was made. */
static uint8_t *find_mbarrier(struct warp *w, unsigned l, uint64_t address, unsigned window, bool is_init,
                              struct mbarrier *m) {
  struct access at;
  if (!memory_find(w, l, address, window, 8, 8, true, &at)) return NULL;
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= (uint64_t)at.at[i] << (8 * i);
  *m = unpack(v);
  if (is_init && at.written) memset(at.written, 1, 8);
  if (m->set || is_init) return at.at;
  sim_report(w, l, SIM_UNINITIALIZED, "uses an mbarrier that was not initialized");
  return NULL;
}

static void put_mbarrier(uint8_t *at, struct mbarrier *m) {
  if (m->set && m->pending == 0 && m->bytes == 0) {
    m->phase = !m->phase;
    m->pending = m->expected;
  }
  uint64_t v = pack(m);
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(v >> (8 * i));
}

/* What came before is published to whoever waits. */
static void publish(struct warp *w) {
  if (!w->sim->races) return;
  race_fence(w, RACE_DEVICE);
  race_publish(w, RACE_DEVICE);
}

static bool update(struct warp *w, const struct inst *in, unsigned l, uint64_t b, uint64_t c) {
  struct mbarrier m;
  uint8_t *at = find_mbarrier(w, l, row_of(w, in->a)[l] + (uint64_t)in->imm, in->window, in->compare == MB_INIT, &m);
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
      sim_report(w, l, SIM_BAD_CALL, "arrives %U times at an mbarrier that expects %u more arrivals", c, m.pending);
      return false;
    }
    m.pending -= (uint32_t)c;
    if (in->is_signed) m.expected -= (uint32_t)c; /* arrive_drop */
    break;
  }
  put_mbarrier(at, &m);
  return true;
}

static void run_mbarrier(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *b = row_of(w, in->b), *c = row_of(w, in->c);
  publish(w);
  FOR_LANES(l, mask) if (!update(w, in, l, b[l], c[l])) return;
}

/* Waits for the end of the phase of a state (its bit 62), or of the phase of a parity. */
static void run_mbarrier_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *b = row_of(w, in->b);
  uint32_t done = 0;
  FOR_LANES(l, mask) {
    struct mbarrier m;
    if (!find_mbarrier(w, l, row_of(w, in->a)[l] + (uint64_t)in->imm, in->window, false, &m)) return;
    bool phase = in->is_signed ? b[l] & 1 : b[l] >> 62 & 1;
    done |= (uint32_t)(m.phase != phase) << l;
  }
  if (in->d != NO_ROW) w->preds[in->d] = (w->preds[in->d] & ~mask) | done;
  if (w->sim->races && done) race_acquire(w);
  if (done != mask) w->yields = YIELD_WAITS;
}

static void run_pending_count(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) row_of(w, in->d)[l] = a[l] & COUNT_MASK;
}

static bool decode_mbarrier(struct decoder *d) {
  struct inst *in = d->in;
  static const struct {
    uint16_t mod;
    uint8_t op;
  } ops[] = {{PTX_MOD_INIT, MB_INIT}, {PTX_MOD_INVAL, MB_INVALIDATE}, {PTX_MOD_ARRIVE, MB_ARRIVE},
             {PTX_MOD_ARRIVE_DROP, MB_ARRIVE}, {PTX_MOD_EXPECT_TX, MB_EXPECT}, {PTX_MOD_COMPLETE_TX, MB_COMPLETE},
             {PTX_MOD_TEST_WAIT, MB_TEST}, {PTX_MOD_TRY_WAIT, MB_TRY}};
  if (decode_has_mod(d, PTX_MOD_PENDING_COUNT)) {
    in->d = decode_dest(d, decode_operand(d, 0));
    in->a = decode_source(d, decode_operand(d, 1), PTX_MOD_B64);
    in->run = run_pending_count;
    return true;
  }
  in->compare = UINT8_MAX;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0] && in->compare == UINT8_MAX; i++)
    if (decode_has_mod(d, ops[i].mod)) in->compare = ops[i].op;
  bool wait = in->compare >= MB_TEST, has_result = wait || in->compare == MB_ARRIVE;
  bool expects = in->compare == MB_ARRIVE && decode_has_mod(d, PTX_MOD_EXPECT_TX);
  in->window = decode_window(d->words.space);
  if (has_result) in->d = decode_dest(d, decode_operand(d, 0));
  decode_address(d, decode_operand(d, has_result));
  uint32_t value = has_result + 1u;
  bool has_value = decode_has(d, value);
  uint32_t row = has_value ? decode_source(d, decode_operand(d, value), wait ? PTX_MOD_B64 : PTX_MOD_B32) : in->b;
  if (in->compare == MB_ARRIVE && !expects) in->c = has_value ? row : decode_constant(d, 1);
  else in->b = row;
  if (expects) in->c = decode_constant(d, 1);
  in->is_signed = decode_has_mod(d, wait ? PTX_MOD_PARITY : PTX_MOD_ARRIVE_DROP);
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = wait ? run_mbarrier_wait : run_mbarrier;
  return true;
}

/* --- bulk copies -------------------------------------------------------------------------------------- */

/* Rows and offsets of the operands, in in->rows. */
enum { BULK_TO, BULK_FROM = 2, BULK_BYTES = 4, BULK_BARRIER, BULK_MASK = 7, BULK_WORDS };

static uint64_t bulk_address(const struct warp *w, const struct inst *in, unsigned at, unsigned l) {
  return row_of(w, in->rows[at])[l] + (uint64_t)(int64_t)(int32_t)in->rows[at + 1];
}

static bool copy_bulk(struct warp *w, const struct inst *in, unsigned l, uint64_t to, uint64_t barrier) {
  struct access source, target;
  uint64_t bytes = row_of(w, in->rows[BULK_BYTES])[l] & UINT32_MAX;
  if (bytes % 16 != 0) {
    sim_report(w, l, SIM_MISALIGNED, "copies %U bytes in bulk, which is no multiple of 16", bytes);
    return false;
  }
  if (bytes == 0) return true;
  if (!memory_find(w, l, bulk_address(w, in, BULK_FROM, l), in->window, bytes, 16, false, &source) ||
      !memory_find(w, l, to, in->dest_bits, bytes, 16, true, &target))
    return false;
  if (w->sim->races && (!race_access(w, l, in, &source, bytes, RACE_WEAK, NULL) ||
                        !race_access(w, l, in, &target, bytes, RACE_WEAK, source.at)))
    return false;
  memmove(target.at, source.at, bytes);
  if (target.written) memset(target.written, 1, bytes);
  if (!in->is_signed) return true;
  struct mbarrier m;
  uint8_t *at = find_mbarrier(w, l, barrier, WINDOW_SHARED, false, &m);
  if (!at) return false;
  publish(w);
  m.bytes -= (int32_t)bytes;
  put_mbarrier(at, &m);
  return true;
}

static void run_bulk(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    uint64_t to = bulk_address(w, in, BULK_TO, l), barrier = in->is_signed ? bulk_address(w, in, BULK_BARRIER, l) : 0;
    if (in->rows[BULK_MASK] == NO_ROW) {
      if (!copy_bulk(w, in, l, to, barrier)) return;
      continue;
    }
    FOR_LANES(rank, (uint32_t)row_of(w, in->rows[BULK_MASK])[l] & 0xffff) {
      uint64_t other = (uint64_t)(rank + 1) << CLUSTER_SHIFT, offset = (UINT64_C(1) << CLUSTER_SHIFT) - 1;
      if (!copy_bulk(w, in, l, (to & offset) | other, (barrier & offset) | other)) return;
    }
  }
}

static void bulk_operand(struct decoder *d, uint32_t *rows, unsigned at, uint32_t operand) {
  d->in->window = WINDOW_SHARED;
  decode_address(d, decode_operand(d, operand));
  rows[at] = d->in->a;
  rows[at + 1] = (uint32_t)d->in->imm;
}

static bool decode_bulk(struct decoder *d) {
  struct inst *in = d->in;
  if (decode_has_mod(d, PTX_MOD_COMMIT_GROUP) || decode_has_mod(d, PTX_MOD_WAIT_GROUP) || decode_has_mod(d, PTX_MOD_PREFETCH)) {
    in->run = run_nothing;
    return true;
  }
  if (decode_has_mod(d, PTX_MOD_TENSOR) || decode_has_mod(d, PTX_MOD_CP_MASK)) return false;
  uint32_t *rows = decode_alloc(d, BULK_WORDS * sizeof *rows);
  if (!rows) return true;
  bulk_operand(d, rows, BULK_TO, 0);
  bulk_operand(d, rows, BULK_FROM, 1);
  rows[BULK_BYTES] = decode_source(d, decode_operand(d, 2), PTX_MOD_B32);
  in->is_signed = decode_has_mod(d, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
  if (in->is_signed) bulk_operand(d, rows, BULK_BARRIER, 3);
  rows[BULK_MASK] = decode_has_mod(d, PTX_MOD_MULTICAST_CLUSTER) ? decode_source(d, decode_operand(d, 4), PTX_MOD_B16) : NO_ROW;
  /* the first space is the target's, the last the source's */
  bool from_shared = d->words.space != PTX_MOD_GLOBAL, to_global = decode_has_mod(d, PTX_MOD_BULK_GROUP);
  in->window = from_shared ? WINDOW_SHARED : WINDOW_GLOBAL;
  in->dest_bits = to_global ? WINDOW_GLOBAL : WINDOW_SHARED;
  in->rows = rows;
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = run_bulk;
  return true;
}

/* cp.async.mbarrier.arrive: the copies are done, so that it arrives at once; without .noinc it counts
 * itself before, which makes no difference then. */
static bool decode_copy_arrive(struct decoder *d) {
  struct inst *in = d->in;
  in->window = decode_window(d->words.space);
  decode_address(d, decode_operand(d, 0));
  in->compare = MB_ARRIVE;
  in->c = decode_constant(d, decode_has_mod(d, PTX_MOD_NOINC));
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = run_mbarrier;
  return true;
}

/* --- clusters ------------------------------------------------------------------------------------------ */

void async_cluster_check(struct cluster *c) {
  if (c->arrived < c->live || c->arrived == 0) return;
  c->arrived = 0;
  c->phase = !c->phase;
}

static void run_cluster_arrive(struct warp *w, const struct inst *in, uint32_t mask) {
  struct cluster *c = w->block->cluster;
  (void)in;
  publish(w);
  w->cluster_phase = (w->cluster_phase & ~mask) | (c->phase ? mask : 0);
  c->arrived += (uint32_t)evalint_popcount(32, mask);
  async_cluster_check(c);
}

/* Lanes whose phase has not ended wait, all lanes with them. */
static void run_cluster_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t phase = w->block->cluster->phase ? ALL_LANES : 0;
  (void)in;
  if (~(w->cluster_phase ^ phase) & mask) w->yields = YIELD_AGAIN;
  else if (w->sim->races) race_acquire(w);
}

bool decode_cluster_barrier(struct decoder *d) {
  d->in->kind = INST_MEMORY;
  d->in->run = decode_has_mod(d, PTX_MOD_WAIT) ? run_cluster_wait : run_cluster_arrive;
  return true;
}

static void run_map(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b);
  uint64_t place = (UINT64_C(0xffffffff) >> CLUSTER_SHIFT) << CLUSTER_SHIFT;
  FOR_LANES(l, mask) {
    if ((uint32_t)b[l] >= w->block->cluster->count) {
      sim_report(w, l, SIM_OUT_OF_BOUNDS, "maps an address to block %U of a cluster of %u", b[l], w->block->cluster->count);
      return;
    }
    row_of(w, in->d)[l] = (a[l] & ~place) | (b[l] + 1) << CLUSTER_SHIFT;
  }
}

static void run_rank_of(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) {
    uint32_t place = (uint32_t)a[l] >> CLUSTER_SHIFT;
    row_of(w, in->d)[l] = place ? place - 1 : w->block->rank;
  }
}

bool decode_async(struct decoder *d) {
  struct inst *in = d->in;
  switch (d->e->op) {
  case PTX_MBARRIER: return decode_mbarrier(d);
  case PTX_CP:
    if (decode_has_mod(d, PTX_MOD_REDUCE)) return false;
    if (decode_has_mod(d, PTX_MOD_BULK)) return decode_bulk(d);
    return decode_has_mod(d, PTX_MOD_MBARRIER) && decode_copy_arrive(d);
  case PTX_MAPA: case PTX_GETCTARANK:
    in->d = decode_dest(d, decode_operand(d, 0));
    in->a = decode_source(d, decode_operand(d, 1), d->words.type[0]);
    if (d->e->op == PTX_MAPA) in->b = decode_source(d, decode_operand(d, 2), PTX_MOD_B32);
    in->run = d->e->op == PTX_MAPA ? run_map : run_rank_of;
    in->kind = INST_MEMORY;
    return true;
  default: return false;
  }
}
