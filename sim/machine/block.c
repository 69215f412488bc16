/* Blocks and the grid: warps of a block take turns, blocks run in order. When a block does not end
 * within its turn, the next one becomes resident too, so that blocks may wait for each other. With
 * a random schedule any warp of any resident block may be next. */
#include "sim/machine/async.h"
#include "sim/machine/finding.h"
#include "sim/machine/race.h"
#include "sim/machine/symbol.h"

#include <string.h>

enum {
  WARP_TURN = 200000, /* warp instructions */
  BLOCK_TURN = 4000000,
  RESIDENT_LIMIT = 256, /* blocks at a time */
  RANDOM_RESIDENT = 8,  /* with a random schedule, at first */
  MAX_IDLE = 20000,
};

/* --- a block ---------------------------------------------------------------------------------- */

static bool allocate_warp(struct sim *s, struct block *b, uint32_t k) {
  struct warp *w = &b->warps[k];
  w->sim = s;
  w->block = b;
  w->index = k;
  w->special = arena_alloc(&s->arena, (size_t)SPECIAL_COUNT * LANES * sizeof *w->special);
  return w->special != NULL;
}

static uint32_t warps_of_block(const struct sim *s) {
  const uint32_t *size = s->launch->block;
  return (size[0] * size[1] * size[2] + LANES - 1) / LANES;
}

void block_begin(struct sim *s) {
  uint32_t warps = warps_of_block(s);
  if (s->free_warps != warps || s->free_shared_bytes != s->shared_bytes) s->free_blocks = NULL;
  s->free_warps = warps;
  s->free_shared_bytes = s->shared_bytes;
}

static struct block *allocate_block(struct sim *s) {
  struct block *b = s->free_blocks;
  if (b) {
    s->free_blocks = b->next_free;
    return b;
  }
  b = arena_alloc(&s->arena, sizeof *b);
  if (!b) return NULL;
  b->warp_count = warps_of_block(s);
  b->warps = arena_alloc(&s->arena, b->warp_count * sizeof *b->warps);
  b->shared = arena_alloc(&s->arena, s->shared_bytes);
  b->shared_written = arena_alloc(&s->arena, s->shared_bytes);
  if (!b->warps || !b->shared || !b->shared_written) return NULL;
  for (uint32_t k = 0; k < b->warp_count; k++)
    if (!allocate_warp(s, b, k)) return NULL;
  return b;
}

static void set_specials(struct warp *w) {
  const struct sim_launch *launch = w->sim->launch;
  for (uint32_t l = 0; l < LANES; l++) {
    uint64_t *s = w->special + l;
    uint32_t thread = w->index * LANES + l;
    uint64_t xyz[3] = {thread % launch->block[0], thread / launch->block[0] % launch->block[1],
                       thread / launch->block[0] / launch->block[1]};
    for (int k = 0; k < 3; k++) {
      s[(SPECIAL_TID + k) * LANES] = xyz[k];
      s[(SPECIAL_NTID + k) * LANES] = launch->block[k];
      s[(SPECIAL_CTAID + k) * LANES] = w->block->index[k];
      s[(SPECIAL_NCTAID + k) * LANES] = launch->grid[k];
    }
    for (int k = 0; k < 3; k++) {
      uint32_t dim = w->sim->cluster_dim[k];
      s[(SPECIAL_CLUSTERID + k) * LANES] = w->block->index[k] / dim;
      s[(SPECIAL_NCLUSTERID + k) * LANES] = launch->grid[k] / dim;
      s[(SPECIAL_CLUSTER_CTAID + k) * LANES] = w->block->index[k] % dim;
      s[(SPECIAL_CLUSTER_NCTAID + k) * LANES] = dim;
    }
    s[SPECIAL_CLUSTER_RANK * LANES] = w->block->rank;
    s[SPECIAL_CLUSTER_SIZE * LANES] = w->block->cluster->count;
    uint32_t bit = UINT32_C(1) << l;
    s[SPECIAL_LANEID * LANES] = l;
    s[SPECIAL_WARPID * LANES] = w->index;
    s[SPECIAL_NWARPID * LANES] = w->block->warp_count;
    s[SPECIAL_MASK_EQ * LANES] = bit;
    s[SPECIAL_MASK_LT * LANES] = bit - 1;
    s[SPECIAL_MASK_LE * LANES] = bit | (bit - 1);
    s[SPECIAL_MASK_GE * LANES] = ~(bit - 1);
    s[SPECIAL_MASK_GT * LANES] = ~(bit | (bit - 1));
    s[SPECIAL_DYNAMIC_SMEM * LANES] = launch->shared_bytes;
    s[SPECIAL_TOTAL_SMEM * LANES] = w->sim->shared_bytes - symbol_gaps(w->sim);
    s[SPECIAL_ONE * LANES] = 1;
  }
}

static uint32_t cluster_size(const struct sim *s) {
  return s->cluster_dim[0] * s->cluster_dim[1] * s->cluster_dim[2];
}

/* The n-th block to start: clusters in order, blocks in order within each. */
static bool place_block(struct sim *s, struct block *b, uint64_t n) {
  const uint32_t *grid = s->launch->grid, size = cluster_size(s);
  uint64_t cluster = n / size, rank = n % size;
  if (rank == 0) {
    s->cluster = s->free_clusters ? s->free_clusters : arena_alloc(&s->arena, sizeof *s->cluster);
    if (!s->cluster) return false;
    s->free_clusters = s->cluster->next_free;
    *s->cluster = (struct cluster){.count = size, .live = size * b->live_threads};
  }
  b->cluster = s->cluster;
  b->rank = (uint32_t)rank;
  b->cluster->blocks[rank] = b;
  for (int k = 0; k < 3; k++) {
    uint32_t across = grid[k] / s->cluster_dim[k];
    b->index[k] = (uint32_t)(cluster % across * s->cluster_dim[k] + rank % s->cluster_dim[k]);
    cluster /= across;
    rank /= s->cluster_dim[k];
  }
  b->number = b->index[0] + grid[0] * (b->index[1] + (uint64_t)grid[1] * b->index[2]);
  return true;
}

static bool start_block(struct sim *s, struct block *b, uint64_t number) {
  const uint32_t *size = s->launch->block;
  b->live_threads = size[0] * size[1] * size[2];
  if (!place_block(s, b, number)) return false;
  memset(b->barriers, 0, sizeof b->barriers);
  memset(b->shared, 0, s->shared_bytes);
  memset(b->shared_written, 0, s->shared_bytes);
  for (uint32_t i = 0; i < s->shared_variables.count; i++) {
    const struct shared_variable *v = &s->shared_variables.data[i];
    memset(b->shared_written + v->address + v->size, SHADOW_GAP, SHARED_GAP);
  }
  uint32_t left = b->live_threads;
  for (uint32_t k = 0; k < b->warp_count; k++, left -= LANES) {
    set_specials(&b->warps[k]);
    if (!warp_start(&b->warps[k], s->kernel, left >= LANES ? ALL_LANES : (UINT32_C(1) << left) - 1))
      return false;
  }
  return race_begin_block(b);
}

/* The first split in that state, which becomes the place of a finding; NULL: none. */
static struct split *first_waiting(struct block *b, enum split_state state, struct warp **warp) {
  for (uint32_t k = 0; k < b->warp_count; k++)
    for (uint32_t i = 0; i < b->warps[k].split_count; i++) {
      struct split *s = &b->warps[k].splits[i];
      if (s->state != state) continue;
      *warp = &b->warps[k];
      (*warp)->frame = s->frame;
      (*warp)->pc = s->pc;
      return s;
    }
  return NULL;
}

/* No warp can run: reports one that waits. */
static void report_deadlock(struct block *b) {
  struct warp *w = NULL;
  struct split *s = first_waiting(b, SPLIT_WARP, &w);
  if (s) {
    finding_report(w, lane_first(s->mask), SIM_MISSING_LANES,
                   "waits forever in a warp-level operation for lane %u",
                   lane_first(s->wanted & ~s->mask));
  } else if ((s = first_waiting(b, SPLIT_BARRIER, &w)) != NULL) {
    const struct barrier *r = &b->barriers[s->barrier];
    finding_report(w, lane_first(s->mask), SIM_DEADLOCK,
                   "waits forever at barrier %u: %u of %u threads have arrived",
                   (unsigned)s->barrier, r->arrived, r->expected ? r->expected : b->live_threads);
  }
}

/* Uninitialized memory may be what another warp has yet to write: then the finding is a race, which
 * names both places. So the other warps run on until they wait for the one that stopped. */
static void look_for_writer(struct block *b) {
  struct sim *s = b->warps[0].sim;
  struct sim_finding first = s->finding;
  if (!s->races || first.kind != SIM_UNINITIALIZED) return;
  for (uint32_t k = 0; k < b->warp_count && s->finding.kind != SIM_RACE; k++) {
    s->finding.kind = SIM_NOTHING;
    if (!b->warps[k].stopped) warp_run(&b->warps[k], WARP_TURN);
  }
  if (s->finding.kind != SIM_RACE) s->finding = first;
}

/* A turn of the block; false: a finding was made. */
static bool run_block(struct sim *s, struct block *b) {
  uint64_t begin = s->clock;
  b->waits = false;
  while (b->live_threads && !b->waits && s->clock - begin < BLOCK_TURN) {
    bool ran = false, progress = false;
    for (uint32_t k = 0; k < b->warp_count; k++) {
      bool this = warp_run(&b->warps[k], WARP_TURN);
      ran |= this;
      progress |= this && !b->warps[k].waited;
      if (!s->finding.kind) continue;
      look_for_writer(b);
      return false;
    }
    b->waits = ran && !progress;
    barrier_check(b);
    if (s->finding.kind) return false;
    if (ran) continue;
    bool ready = false;
    for (uint32_t k = 0; k < b->warp_count; k++) ready |= warp_is_ready(&b->warps[k]);
    if (ready) continue;
    if (b->live_threads) report_deadlock(b);
    return b->live_threads == 0;
  }
  return true;
}

/* --- the grid --------------------------------------------------------------------------------- */

struct grid {
  struct block *resident[RESIDENT_LIMIT + CLUSTER_LIMIT];
  uint32_t count, limit; /* blocks that may be resident */
  uint64_t next, total;
  uint32_t idle; /* rounds in which all warps only waited */
};

static bool fill_grid(struct sim *s, struct grid *g) {
  while ((g->count < g->limit || g->next % cluster_size(s) != 0) && g->next < g->total) {
    struct block *b = allocate_block(s);
    if (!b) {
      finding_refuse(s, SIM_MEMORY, s->kernel->name, 0,
                     "a block exceeds the memory limit of the simulator");
      return false;
    }
    if (!start_block(s, b, g->next++)) return false;
    g->resident[g->count++] = b;
  }
  return true;
}

static void retire(struct sim *s, struct grid *g, uint32_t i) {
  struct block *b = g->resident[i];
  struct cluster *c = b->cluster;
  async_end_block(b);
  c->blocks[b->rank] = NULL;
  if (++c->ended == c->count) {
    c->next_free = s->free_clusters;
    s->free_clusters = c;
  }
  b->next_free = s->free_blocks;
  s->free_blocks = b;
  s->blocks_ended++;
  g->resident[i] = g->resident[--g->count];
}

/* Whether all runnable warps have only polled a barrier for many rounds. */
static bool is_stuck(const struct sim *s, struct grid *g) {
  bool waits = g->next == g->total || g->limit == RESIDENT_LIMIT;
  (void)s;
  for (uint32_t i = 0; i < g->count && waits; i++) waits = g->resident[i]->waits;
  g->idle = waits && g->count ? g->idle + 1 : 0;
  return g->idle > MAX_IDLE;
}

static void report_stuck(struct grid *g) {
  struct warp *w = NULL;
  struct split *s = NULL;
  for (uint32_t i = 0; i < g->count && !s; i++)
    s = first_waiting(g->resident[i], SPLIT_YIELDED, &w);
  if (s)
    finding_report(w, lane_first(s->mask), SIM_DEADLOCK,
                   "waits forever for an mbarrier or its cluster: no other thread can arrive");
}

static bool run_blocks(struct sim *s) {
  const uint32_t *size = s->launch->grid;
  struct grid g = {.limit = 1, .total = (uint64_t)size[0] * size[1] * size[2]};
  while (fill_grid(s, &g) && g.count) {
    for (uint32_t i = 0; i < g.count;) {
      struct block *b = g.resident[i];
      if (!run_block(s, b)) return false;
      if (b->live_threads) {
        i++;
        if (g.limit < RESIDENT_LIMIT) g.limit++;
        continue;
      }
      retire(s, &g, i);
    }
    if (!is_stuck(s, &g)) continue;
    report_stuck(&g);
    return false;
  }
  return s->finding.kind == SIM_NOTHING;
}

/* --- a random schedule ------------------------------------------------------------------------ */

/* One turn of a warp of the block; false: none of them can run. */
static bool run_some_warp(struct sim *s, struct block *b) {
  uint32_t first = warp_random(s, b->warp_count);
  for (uint32_t k = 0; k < b->warp_count; k++)
    if (warp_run(&b->warps[(first + k) % b->warp_count], 1)) return true;
  return false;
}

static bool run_randomly(struct sim *s) {
  const uint32_t *size = s->launch->grid;
  struct grid g = {.limit = RANDOM_RESIDENT, .total = (uint64_t)size[0] * size[1] * size[2]};
  uint64_t begin = s->clock;
  while (fill_grid(s, &g) && g.count) {
    uint32_t first = warp_random(s, g.count), k = 0;
    while (k < g.count && !run_some_warp(s, g.resident[(first + k) % g.count])) k++;
    uint32_t i = (first + k) % g.count;
    struct block *b = g.resident[i];
    if (s->finding.kind) look_for_writer(b);
    else barrier_check(b);
    if (!s->finding.kind && k == g.count) report_deadlock(b);
    if (s->finding.kind) return false;
    if (b->live_threads == 0) {
      retire(s, &g, i);
      begin = s->clock;
    } else if (s->clock - begin > BLOCK_TURN &&
               g.limit < RESIDENT_LIMIT) { /* they may wait for others */
      g.limit++;
      begin = s->clock;
    }
  }
  return s->finding.kind == SIM_NOTHING;
}

enum nvm_status block_run_grid(struct sim *s) {
  s->blocks_ended = 0;
  return (s->launch->random_schedule ? run_randomly(s) : run_blocks(s)) ? NVM_OK : NVM_REFUSED;
}
