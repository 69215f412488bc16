/* A warp: its lanes, the calls in progress, the splits that run apart. */
#ifndef NVM_SIM_MACHINE_WARP_H
#define NVM_SIM_MACHINE_WARP_H

#include "sim/machine/code.h"
#include "sim/machine/space.h"
#include "support/vec.h"

/* A call in progress of the lanes `live`. */
struct frame {
  struct frame *parent; /* or next in the free list */
  const struct func *func;
  uint32_t return_to; /* index in the parent's code */
  uint32_t live;      /* lanes that are in it or in a callee */
  uint32_t depth;
  const struct call_info *call;
  uint64_t *rows; /* func->rows rows */
  uint32_t *preds;
  uint8_t *params; /* LANES times func->param_bytes */
  /* By row, a mask of lanes; NULL: none so far. The value comes from memory that was never written,
   * or is poison; of IR: which of them are not poison; groups of wgmma that the value comes from, a
   * bit each. */
  uint32_t *undefined, *unwritten, *pending;
  uint64_t local_base[LANES], local_before[LANES];
};

enum split_state { SPLIT_READY, SPLIT_WARP, SPLIT_BARRIER, SPLIT_YIELDED };

/* Lanes of a warp that run together. */
struct split {
  uint32_t mask;
  uint32_t pc;
  struct frame *frame;
  uint8_t state;
  uint8_t barrier; /* SPLIT_BARRIER: its number */
  uint32_t wanted; /* SPLIT_WARP: lanes that must meet */
  uint32_t vote;   /* SPLIT_BARRIER: lanes whose predicate holds (bar.red) */
};

enum yield {
  YIELD_NOT,
  YIELD_ON,    /* others first */
  YIELD_WAITS, /* for others */
  YIELD_AGAIN, /* at the same place */
};

struct warp {
  struct sim *sim;
  struct block *block;
  uint32_t index; /* in its block */
  uint32_t live;  /* lanes that have not exited */
  uint32_t split_count;
  struct split splits[LANES + 1];
  /* the split that runs */
  struct frame *frame;
  uint64_t *bank[3];
  uint32_t *preds;
  uint32_t mask; /* its lanes, guard or not */
  uint32_t pc;
  bool stopped;           /* a finding was made */
  uint32_t passing;       /* lanes that run while others of the warp wait at an aligned barrier */
  uint32_t passed;        /* of these, lanes that have written memory that others see */
  uint32_t carry;         /* CC.CF by lane */
  uint64_t *special;      /* rows by enum special_row */
  uint32_t synced;        /* race.c: everything of this warp before that time is ordered */
  uint32_t *lanes_synced; /* [lane][other]: the same for two lanes; NULL: `synced` for all */
  uint64_t stack_top[LANES]; /* local memory in use */
  struct local_stack local[LANES];
  uint64_t steps;               /* warp instructions executed this turn */
  uint8_t yields;               /* enum yield, after an instruction */
  bool waited;                  /* the last turn ended with waiting, and did little before */
  uint32_t cluster_phase;       /* lanes whose last arrival was in phase 1 */
  uint64_t turn;                /* instructions that a watched split may run */
  VEC(struct copy) copies;      /* async.c: requested, not done */
  uint32_t groups[2][LANES];    /* committed so far: of cp.async, of bulk copies */
  VEC(struct product) products; /* matrix.c: of wgmma, not waited for */
  uint32_t product_group;       /* of wgmma: committed so far */
};

enum special_row {
  SPECIAL_ZERO,
  SPECIAL_TID,
  SPECIAL_NTID = SPECIAL_TID + 3,
  SPECIAL_CTAID = SPECIAL_NTID + 3,
  SPECIAL_NCTAID = SPECIAL_CTAID + 3,
  SPECIAL_LANEID = SPECIAL_NCTAID + 3,
  SPECIAL_WARPID,
  SPECIAL_NWARPID,
  SPECIAL_MASK_EQ,
  SPECIAL_MASK_LE,
  SPECIAL_MASK_LT,
  SPECIAL_MASK_GE,
  SPECIAL_MASK_GT,
  SPECIAL_DYNAMIC_SMEM,
  SPECIAL_TOTAL_SMEM,
  SPECIAL_ONE,
  SPECIAL_CLUSTERID,
  SPECIAL_NCLUSTERID = SPECIAL_CLUSTERID + 3,
  SPECIAL_CLUSTER_CTAID = SPECIAL_NCLUSTERID + 3,
  SPECIAL_CLUSTER_NCTAID = SPECIAL_CLUSTER_CTAID + 3,
  SPECIAL_CLUSTER_RANK = SPECIAL_CLUSTER_NCTAID + 3,
  SPECIAL_CLUSTER_SIZE,
  SPECIAL_COUNT
};

static inline uint64_t *row_of(const struct warp *w, uint32_t row) {
  return w->bank[row >> BANK_SHIFT] + (size_t)(row & ((1u << BANK_SHIFT) - 1)) * LANES;
}
static inline unsigned lane_first(uint32_t mask) { return (unsigned)__builtin_ctz(mask); }
#define FOR_LANES(l, mask) \
  for (uint32_t rest_ = (mask), l; rest_ && (l = lane_first(rest_), true); rest_ &= rest_ - 1)
/* *masks with the lanes of `mask` as in `value`. */
static inline void mask_put(uint32_t *masks, uint32_t mask, uint32_t value) {
  *masks = (*masks & ~mask) | (value & mask);
}
static inline void write_pred(struct warp *w, uint32_t pred, uint32_t mask, uint32_t value) {
  if (pred != NO_ROW) mask_put(&w->preds[pred], mask, value);
}

/* Starts the lanes `mask` at the kernel's first instruction; false: a finding was made. */
bool warp_start(struct warp *w, const struct func *kernel, uint32_t mask);
/* Runs the warp until all of its lanes wait or have exited, or `budget` instructions are done.
 * True if it did something. */
bool warp_run(struct warp *w, uint64_t budget);
bool warp_is_ready(const struct warp *w);
/* A number below n of the random schedule. */
uint32_t warp_random(struct sim *s, uint32_t n);

/* A frame with local memory for the lanes; NULL: a finding was made. */
struct frame *frame_new(struct warp *w, const struct func *f, struct frame *parent, uint32_t mask);
void frame_free(struct frame *frame);
/* Gives the lanes local memory in the frame; false: a finding was made. */
bool frame_add_lanes(struct warp *w, struct frame *frame, uint32_t mask);
/* Makes the frame the one whose rows the warp's instructions address. */
void frame_enter(struct warp *w, struct frame *frame);
/* The number in a parameter or result of a call, of at most 8 bytes. */
uint64_t frame_get(const struct warp *w, const struct frame *f, const struct slot *s,
                   unsigned lane);
void frame_put(const struct warp *w, struct frame *f, const struct slot *s, unsigned lane,
               uint64_t value);
/* Copies the call's arguments into the callee's frame, the results back into the caller's. */
void frame_pass_arguments(struct warp *w, struct frame *callee, const struct frame *caller,
                          const struct call_info *c, uint32_t mask);
void frame_return_results(struct warp *w, struct frame *caller, const struct frame *callee,
                          uint32_t mask);

#endif
