/* What --stats counts: instructions by class, and the memory traffic of a GPU. The lines (128
 * bytes) and sectors (32 bytes) that the lanes of one access touch are counted once each. Local
 * memory is interleaved as on a GPU: words at the same offset of all lanes of a warp are adjacent.
 * Shared memory has 32 banks of 4 bytes: an access is replayed for each different word of the same
 * bank; lanes that access 8 (16) bytes each are served in groups of 16 (8). */
#include "ir/evalint.h"
#include "sim/machine/async.h"
#include "sim/machine/exec.h"
#include "sim/machine/watch.h"

#include <string.h>

enum { LINE_SHIFT = 7, SECTOR_SHIFT = 5, BANKS = 32 };

static unsigned space_of(unsigned window) {
  switch (window) {
    case WINDOW_SHARED: return SIM_SHARED;
    case WINDOW_LOCAL: return SIM_LOCAL;
    case WINDOW_CONST: return SIM_CONST;
    case WINDOW_PARAM: return SIM_PARAM;
    default: return SIM_GLOBAL;
  }
}

/* The number of aligned blocks of 2^shift bytes that accesses of `bytes` bytes touch. */
static unsigned blocks_touched(const uint64_t *address, unsigned count, unsigned bytes,
                               unsigned shift) {
  uint64_t seen[LANES * 2];
  unsigned n = 0;
  for (unsigned i = 0; i < count; i++)
    for (uint64_t b = address[i] >> shift; b <= (address[i] + bytes - 1) >> shift; b++) {
      unsigned k = n;
      while (k > 0 && seen[k - 1] != b) k--;
      if (k == 0 && n < LANES * 2) seen[n++] = b;
    }
  return n;
}

/* Replays of one group of lanes. */
static unsigned conflicts_of(const uint64_t *address, unsigned count, unsigned bytes) {
  uint64_t words[LANES * 4];
  unsigned n = 0, most = 1;
  uint8_t load[BANKS] = {0};
  for (unsigned i = 0; i < count; i++)
    for (uint64_t word = address[i] / 4; word <= (address[i] + bytes - 1) / 4; word++) {
      unsigned k = 0;
      while (k < n && words[k] != word) k++;
      if (k < n || n == LANES * 4) continue;
      words[n++] = word;
      if (++load[word % BANKS] > most) most = load[word % BANKS];
    }
  return most - 1;
}

static unsigned bank_conflicts(const uint64_t *address, unsigned count, unsigned bytes) {
  unsigned group = bytes <= 4 ? LANES : bytes == 8 ? LANES / 2 : LANES / 4, conflicts = 0;
  for (unsigned i = 0; i < count; i += group)
    conflicts += conflicts_of(address + i, count - i < group ? count - i : group, bytes);
  return conflicts;
}

struct traffic {
  bool reads, writes, atomic;
  unsigned bytes; /* of a lane */
};

static void count_access(struct warp *w, const uint64_t *a, int64_t offset, unsigned window,
                         uint32_t mask, struct traffic t) {
  uint64_t address[LANES];
  unsigned count = 0;
  FOR_LANES(l, mask) {
    uint64_t at = a[l] + (uint64_t)offset;
    if (window == WINDOW_COUNT)
      window = window_of(at) < WINDOW_COUNT ? window_of(at) : WINDOW_GLOBAL;
    at = in_window(at);
    if (window == WINDOW_LOCAL) at = at / 4 * 4 * LANES + l * 4 + at % 4;
    address[count++] = at;
  }
  struct sim_counts *c = &w->sim->counts;
  struct sim_space_counts *s = &c->space[space_of(window)];
  if (t.atomic) s->atomics++;
  else if (t.writes) s->stores++;
  else s->loads++;
  if (t.reads) s->load_bytes += (uint64_t)count * t.bytes;
  if (t.writes) s->store_bytes += (uint64_t)count * t.bytes;
  if (window == WINDOW_PARAM) return;
  if (window == WINDOW_SHARED) c->bank_conflicts += bank_conflicts(address, count, t.bytes);
  unsigned step =
      window == WINDOW_LOCAL && t.bytes > 4 ? 4 : t.bytes; /* words of a lane are apart */
  for (unsigned k = 0; k < t.bytes; k += step) {
    s->lines += blocks_touched(address, count, step, LINE_SHIFT);
    s->sectors += blocks_touched(address, count, step, SECTOR_SHIFT);
  }
}

static void count_memory(struct warp *w, const struct inst *in, uint32_t mask) {
  unsigned bytes = in->bits / 8u * in->count;
  const uint64_t *a = row_of(w, in->a);
  if (in->run == exec_memory_load) {
    count_access(w, a, in->imm, in->window, mask, (struct traffic){.reads = true, .bytes = bytes});
  } else if (in->run == exec_memory_store) {
    count_access(w, a, in->imm, in->window, mask, (struct traffic){.writes = true, .bytes = bytes});
  } else if (in->run == exec_memory_atom) {
    count_access(w, a, in->imm, in->window, mask,
                 (struct traffic){true, true, true, in->bits / 8u});
  } else if (in->run == async_copy) {
    struct traffic from = {.reads = true, .bytes = in->count},
                   to = {.writes = true, .bytes = in->count};
    count_access(w, row_of(w, in->b), (int32_t)in->rows[0], WINDOW_GLOBAL, mask, from);
    count_access(w, a, in->imm, WINDOW_SHARED, mask, to);
  } else if (in->run == exec_memory_load_kernel_param) {
    count_access(w, a, 0, WINDOW_PARAM, mask, (struct traffic){.reads = true, .bytes = bytes});
  }
}

static bool branch_diverges(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all) {
  if (mask != 0 && mask != all) return true;
  if (in->kind != INST_BRANCH_TABLE || mask == 0) return false;
  const uint64_t *index = row_of(w, in->a);
  FOR_LANES(l, mask) if (index[l] != index[lane_first(mask)]) return true;
  return false;
}

static uint64_t all_bytes(const struct sim_counts *c) {
  uint64_t sum = 0;
  for (int k = 0; k < SIM_SPACE_COUNT; k++) sum += c->space[k].load_bytes + c->space[k].store_bytes;
  return sum;
}

static uint64_t all_sectors(const struct sim_counts *c) {
  uint64_t sum = 0;
  for (int k = 0; k < SIM_SPACE_COUNT; k++)
    if (k != SIM_SHARED) sum += c->space[k].sectors;
  return sum;
}

static void count_execution(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all) {
  struct sim_counts *c = &w->sim->counts;
  c->by_class[in->issue] += evalint_popcount(32, all);
  if (in->kind == INST_BRANCH || in->kind == INST_BRANCH_TABLE) {
    c->branches++;
    c->diverged += branch_diverges(w, in, mask, all);
  }
  if (mask == 0) return;
  if (in->kind == INST_BARRIER) c->barriers++;
  if (in->kind == INST_MEMORY || in->run == exec_memory_load_kernel_param)
    count_memory(w, in, mask);
}

void count_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all) {
  const struct sim_launch *l = w->sim->launch;
  if (!l->lines || in->line >= l->line_count) {
    count_execution(w, in, mask, all);
    return;
  }
  const struct sim_counts before = w->sim->counts, *after = &w->sim->counts;
  count_execution(w, in, mask, all);
  struct sim_line_counts *line = &l->lines[in->line];
  line->warps++;
  line->threads += evalint_popcount(32, mask);
  line->diverged += after->diverged - before.diverged;
  line->bytes += all_bytes(after) - all_bytes(&before);
  line->sectors += all_sectors(after) - all_sectors(&before);
  line->conflicts += after->bank_conflicts - before.bank_conflicts;
}
