/* A warp: its lanes run together while they are at the same instruction of the same call.
 *
 * Diverged lanes form *splits*, each with a mask, a frame and a program counter. The split in the
 * deepest call, there at the lowest program counter, runs; at a label where another one waits it
 * stops and joins it. With blocks in source order that is where paths reconverge, without any
 * analysis (the min-PC scheme of Collange: "Stack-less SIMT Reconvergence at Low Cost", 2011).
 * Lanes make progress independently of each other: after QUANTUM instructions a split yields to the
 * others, so that a lane may wait for another lane of its warp in a loop.
 *
 * An instruction with a member mask waits until all its live members are there.
 *
 * With a random schedule any split that can run may be next, for some instructions, and splits
 * diverge anywhere if the target allows it. */
#include "sim/machine/warp.h"

#include "ir/evalint.h"
#include "sim/machine/async.h"
#include "sim/machine/finding.h"
#include "sim/machine/native.h"
#include "sim/machine/race.h"
#include "sim/machine/symbol.h"
#include "sim/machine/undefined.h"
#include "sim/machine/watch.h"

#include <string.h>

enum {
  QUANTUM = 20000,    /* instructions of a split before another one runs */
  WAITING_TURN = 256, /* a turn of fewer instructions that ends with polling a barrier only waits */
  RANDOM_TURN = 48    /* at most, with a random schedule */
};

/* The frame of other lanes that made the same call and have not returned; NULL: none. Lanes that
 * make the call one after the other share it, so that they can reconverge in the function. */
static struct frame *frame_of_call(const struct warp *w, const struct frame *caller,
                                   const struct func *f, uint32_t return_to) {
  for (uint32_t i = 0; i < w->split_count; i++) {
    if (w->splits[i].mask == 0) continue;
    for (struct frame *frame = w->splits[i].frame; frame && frame->depth > caller->depth;
         frame = frame->parent)
      if (frame->parent == caller && frame->func == f && frame->return_to == return_to)
        return frame;
  }
  return NULL;
}

/* --- splits ----------------------------------------------------------------------------------- */

static struct split *add_split(struct warp *w, uint32_t mask, struct frame *frame, uint32_t pc) {
  struct split *s = &w->splits[w->split_count++];
  *s = (struct split){.mask = mask, .frame = frame, .pc = pc, .state = SPLIT_READY};
  return s;
}

static bool joins(const struct split *a, const struct split *b) {
  if (a->frame != b->frame || a->pc != b->pc) return false;
  return (a->state == SPLIT_BARRIER) == (b->state == SPLIT_BARRIER);
}

/* Joins splits at the same place; removes empty ones. */
static void join_splits(struct warp *w) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < w->split_count; i++) {
    struct split s = w->splits[i];
    uint32_t k = 0;
    if (s.mask == 0) continue;
    while (k < kept && !joins(&w->splits[k], &s)) k++;
    if (k == kept) {
      w->splits[kept++] = s;
      continue;
    }
    struct split *into = &w->splits[k];
    into->mask |= s.mask;
    into->vote |= s.vote;
    if (into->state != SPLIT_BARRIER) into->state = SPLIT_READY;
  }
  w->split_count = kept;
}

/* Whether a is to run before b. */
static bool precedes(const struct split *a, const struct split *b) {
  if (a->frame->depth != b->frame->depth) return a->frame->depth > b->frame->depth;
  return a->pc < b->pc;
}

static struct split *choose_of(struct warp *w, enum split_state state) {
  struct split *best = NULL;
  for (uint32_t i = 0; i < w->split_count; i++) {
    struct split *s = &w->splits[i];
    if (s->state == state && (!best || precedes(s, best))) best = s;
  }
  return best;
}

/* Lanes may execute bar.warp.sync at different places: releases those whose members all wait.
 */
static bool release_meeting(struct warp *w) {
  uint32_t here = 0, released = 0;
  for (uint32_t i = 0; i < w->split_count; i++) {
    const struct split *s = &w->splits[i];
    if (s->state == SPLIT_WARP && s->frame->func->code[s->pc].flags & 1) here |= s->mask;
  }
  for (uint32_t i = 0; i < w->split_count; i++) {
    struct split *s = &w->splits[i];
    if (s->state != SPLIT_WARP || !(s->frame->func->code[s->pc].flags & 1)) continue;
    if (s->wanted & w->live & ~here) continue;
    s->state = SPLIT_READY;
    s->pc++;
    released |= s->mask;
  }
  if (released && w->sim->races) race_sync_lanes(w, released);
  return released != 0;
}

/* Exchanges the lanes' registers in two frames of a function. */
static void swap_lanes(struct frame *a, struct frame *b, uint32_t mask) {
  for (uint32_t i = 0; i < a->func->rows; i++) FOR_LANES(l, mask) {
      uint64_t *x = &a->rows[(size_t)i * LANES + l], *y = &b->rows[(size_t)i * LANES + l],
               kept = *x;
      *x = *y;
      *y = kept;
    }
  for (uint32_t i = 0; i < a->func->preds; i++) {
    uint32_t differ = (a->preds[i] ^ b->preds[i]) & mask;
    a->preds[i] ^= differ;
    b->preds[i] ^= differ;
  }
}

static bool waits_at(const struct split *t, const struct split *s) {
  return t->state == SPLIT_WARP && t->frame->func == s->frame->func && t->pc == s->pc;
}

/* Lanes that reached the same instruction through different calls execute it in the frame of the
 * first ones. */
static bool meet_across_calls(struct warp *w) {
  for (uint32_t i = 0; i < w->split_count; i++) {
    struct split *s = &w->splits[i], *t;
    uint32_t here = 0, pc = s->pc;
    for (t = w->splits; t < w->splits + w->split_count; t++) here |= waits_at(t, s) ? t->mask : 0;
    if (s->state != SPLIT_WARP || here == s->mask || (s->wanted & w->live & ~here)) continue;
    const struct inst *in = &s->frame->func->code[pc];
    for (t = w->splits; t < w->splits + w->split_count; t++)
      if (t != s && waits_at(t, s)) swap_lanes(s->frame, t->frame, t->mask);
    frame_enter(w, s->frame);
    w->pc = pc;
    in->run(w, in, here);
    for (t = w->splits; t < w->splits + w->split_count; t++) {
      if (t == s || !waits_at(t, s)) continue;
      swap_lanes(s->frame, t->frame, t->mask);
      t->state = SPLIT_READY;
      t->pc++;
    }
    s->state = SPLIT_READY;
    s->pc++;
    if (w->sim->races) race_sync_lanes(w, here);
    return true;
  }
  return false;
}

static struct split *choose(struct warp *w) {
  join_splits(w);
  struct split *s = choose_of(w, SPLIT_READY);
  if (s) return s;
  for (uint32_t i = 0; i < w->split_count; i++)
    if (w->splits[i].state == SPLIT_YIELDED) w->splits[i].state = SPLIT_READY;
  s = choose_of(w, SPLIT_READY);
  if (!s && (release_meeting(w) || meet_across_calls(w))) s = choose_of(w, SPLIT_READY);
  return s;
}

/* SplitMix64, by Steele, Lea and Flood (2014). */
uint32_t warp_random(struct sim *s, uint32_t n) {
  uint64_t x = s->random += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return (uint32_t)((x ^ x >> 31) >> 32) % n;
}

/* Any split that can run, or some of its lanes. */
static struct split *choose_randomly(struct warp *w) {
  struct sim *sim = w->sim;
  if (!choose(w)) return NULL;
  uint32_t ready = 0;
  for (uint32_t i = 0; i < w->split_count; i++) {
    if (w->splits[i].state == SPLIT_YIELDED) w->splits[i].state = SPLIT_READY;
    ready += w->splits[i].state == SPLIT_READY;
  }
  uint32_t wanted = warp_random(sim, ready), i = 0;
  while (w->splits[i].state != SPLIT_READY || wanted-- > 0) i++;
  struct split *s = &w->splits[i];
  uint32_t some = warp_random(sim, 8) == 0 && sim->lanes_part
                      ? s->mask & (warp_random(sim, UINT32_MAX) | 1)
                      : 0;
  if (some != 0 && some != s->mask) {
    add_split(w, s->mask & ~some, s->frame, s->pc);
    s->mask = some;
  }
  w->turn = 1 + warp_random(sim, RANDOM_TURN);
  return s;
}

bool warp_is_ready(const struct warp *w) {
  for (uint32_t i = 0; i < w->split_count; i++) {
    const struct split *s = &w->splits[i];
    if (s->state == SPLIT_READY || s->state == SPLIT_YIELDED) return true;
  }
  return false;
}

/* The nearest place ahead at which another split of this frame waits. */
static uint32_t meeting_place(const struct warp *w, const struct split *s) {
  uint32_t place = UINT32_MAX;
  for (uint32_t i = 0; i < w->split_count; i++) {
    const struct split *o = &w->splits[i];
    if (o != s && o->frame == s->frame && o->state != SPLIT_BARRIER && o->pc > s->pc &&
        o->pc < place)
      place = o->pc;
  }
  return place;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void lanes_exit(struct warp *w, struct frame *frame, uint32_t mask) {
  while (frame) {
    struct frame *parent = frame->parent;
    frame->live &= ~mask;
    if (frame->live == 0) frame_free(frame);
    frame = parent;
  }
  w->live &= ~mask;
  w->block->cluster->live -= (uint32_t)evalint_popcount(32, mask);
  async_cluster_check(w->block->cluster);
  w->block->live_threads -= (uint32_t)evalint_popcount(32, mask);
}

static bool check_callee(struct warp *w, const struct func *f, const struct call_info *c,
                         unsigned lane) {
  if (!f) {
    finding_report(w, lane, SIM_BAD_CALL, "calls through a pointer that is not a function");
  } else if (f->ptx->is_declaration && !f->native) {
    finding_report(w, lane, SIM_BAD_CALL, "calls %t, which has no body",
                   symbol_text(w->sim, f->name));
  } else if (!f->native && code_prepare(w->sim, (struct func *)(uintptr_t)f) != NVM_OK) {
    finding_report(w, lane, SIM_MEMORY, "calls %t, which exceeds the memory limit of the simulator",
                   symbol_text(w->sim, f->name));
  } else if (!f->native && (c->argument_count + f->result_count != f->formal_count ||
                            c->result_count > f->result_count)) {
    finding_report(w, lane, SIM_BAD_CALL, "calls %t with the wrong number of parameters",
                   symbol_text(w->sim, f->name));
  } else {
    return true;
  }
  return false;
}

/* Lanes `mask` of the current frame, whose split is *s, enter f. */
static void enter_function(struct warp *w, struct split *s, const struct func *f,
                           const struct call_info *c, uint32_t mask) {
  if (!check_callee(w, f, c, lane_first(mask))) return;
  if (f->native) {
    native_call(w, f->native, c, mask);
    s->pc++;
    return;
  }
  struct frame *caller = s->frame, *frame = frame_of_call(w, caller, f, s->pc + 1);
  if (frame) {
    for (uint32_t i = 0; frame->undefined && i < f->rows; i++) frame->undefined[i] &= ~mask;
    if (!frame_add_lanes(w, frame, mask)) return;
  } else if ((frame = frame_new(w, f, caller, mask)) == NULL) {
    return;
  }
  frame->call = c;
  frame->return_to = s->pc + 1;
  frame_pass_arguments(w, frame, caller, c, mask);
  s->frame = frame;
  s->pc = 0;
}

/* s: the lanes that call; the other lanes have a split of their own already. */
static void call_function(struct warp *w, struct split *s, const struct inst *in) {
  const struct call_info *c = in->call;
  if (c->callee) {
    enter_function(w, s, c->callee, c, s->mask);
    return;
  }
  struct frame *caller = s->frame;
  uint32_t pc = s->pc;
  const uint64_t *pointers = row_of(w, c->pointer);
  uint32_t rest = s->mask;
  while (rest && !w->stopped) {
    uint64_t target = pointers[lane_first(rest)];
    uint32_t same = 0;
    FOR_LANES(l, rest) if (pointers[l] == target) same |= UINT32_C(1) << l;
    rest &= ~same;
    struct split *t = s;
    if (s->mask != same) {
      s->mask &= ~same;
      t = add_split(w, same, caller, pc);
    }
    enter_function(w, t, code_at(w->sim, target), c, same);
  }
}

static void return_from_function(struct warp *w, struct split *s) {
  struct frame *frame = s->frame, *caller = frame->parent;
  uint32_t mask = s->mask;
  if (!caller) {
    lanes_exit(w, frame, mask);
    s->mask = 0;
    return;
  }
  frame_return_results(w, caller, frame, mask);
  FOR_LANES(l, mask) w->stack_top[l] = frame->local_before[l];
  s->frame = caller;
  s->pc = frame->return_to;
  frame->live &= ~mask;
  if (frame->live == 0) frame_free(frame);
}

/* --- instructions that change the split
 * -------------------------------------------------------------------- */

static void meet_at_barrier(struct warp *w, struct split *s, const struct inst *in) {
  unsigned lane = lane_first(s->mask);
  uint64_t id = row_of(w, in->a)[lane], count = row_of(w, in->b)[lane];
  if (id >= BARRIER_COUNT) {
    finding_report(w, lane, SIM_DEADLOCK, "waits at barrier %U, but a block has %u barriers", id,
                   (unsigned)BARRIER_COUNT);
    return;
  }
  uint32_t threads = (uint32_t)evalint_popcount(32, s->mask);
  if (count && s->mask == w->live) threads = LANES; /* threads count in whole warps */
  if (in->compare == BARRIER_ARRIVE) {
    s->pc++;
    if (w->sim->races) race_arrive(w, (uint32_t)id);
  } else {
    s->state = SPLIT_BARRIER;
    s->barrier = (uint8_t)id;
    s->vote = 0;
    if (in->is_signed) w->passing |= w->live;
    w->passing &= ~s->mask;
    w->passed &= ~s->mask;
    if (in->compare != BARRIER_SYNC)
      s->vote = (w->preds[in->c] ^ (in->flags & FLAG_NEGATE_PRED ? ALL_LANES : 0)) & s->mask;
  }
  barrier_arrive(w->block, (uint32_t)id, threads, (uint32_t)count);
}

static bool members_are_here(struct warp *w, struct split *s, const struct inst *in,
                             uint32_t mask) {
  const uint64_t *members = row_of(w, in->rows[0]);
  uint32_t wanted = 0;
  FOR_LANES(l, mask) {
    wanted |= (uint32_t)members[l];
    if (!((uint32_t)members[l] >> l & 1)) {
      finding_report(
          w, l, SIM_MISSING_LANES,
          "executes a warp-level operation whose member mask does not contain its own lane");
      return false;
    }
  }
  wanted &= w->live;
  if ((wanted & ~mask) == 0) return true;
  s->wanted = wanted;
  s->state = SPLIT_WARP;
  return false;
}

static void branch_by_table(struct warp *w, struct split *s, const struct inst *in) {
  const uint64_t *index = row_of(w, in->a);
  uint32_t rest = s->mask;
  struct frame *frame = s->frame;
  while (rest) {
    uint64_t at = index[lane_first(rest)];
    uint32_t same = 0;
    FOR_LANES(l, rest) if (index[l] == at) same |= UINT32_C(1) << l;
    if (at >= (uint64_t)in->imm) {
      finding_report(w, lane_first(same), SIM_OUT_OF_BOUNDS,
                     "branches to entry %U of a table with %U entries", at, (uint64_t)in->imm);
      return;
    }
    rest &= ~same;
    if (rest) {
      s->mask &= ~same;
      add_split(w, same, frame, in->rows[at]);
    } else {
      s->pc = in->rows[at];
    }
  }
}

/* Executes an instruction that changes the split; `mask`: the lanes whose guard holds. */
static void do_event(struct warp *w, struct split *s, const struct inst *in, uint32_t mask) {
  if (mask != s->mask) { /* the others continue */
    add_split(w, s->mask & ~mask, s->frame, s->pc + 1);
    s->mask = mask;
  }
  switch ((enum inst_kind)in->kind) {
    case INST_BRANCH: s->pc = (uint32_t)in->imm; break;
    case INST_BRANCH_TABLE: branch_by_table(w, s, in); break;
    case INST_CALL: call_function(w, s, in); break;
    case INST_RETURN: return_from_function(w, s); break;
    case INST_EXIT:
      lanes_exit(w, s->frame, s->mask);
      s->mask = 0;
      break;
    case INST_BARRIER: meet_at_barrier(w, s, in); break;
    case INST_TRAP: finding_report(w, lane_first(mask), SIM_TRAP, "executes trap"); break;
    case INST_BAD:
      finding_report(w, lane_first(mask), SIM_UNSUPPORTED, "executes an instruction that %s",
                     in->unsupported);
      break;
    case INST_PLAIN:
    case INST_MEMORY:
    case INST_HELPER:
    case INST_LABEL:
    case INST_WARP_SYNC: break;
  }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void watch(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all) {
  if (w->sim->launch->count && in->kind != INST_HELPER) count_instruction(w, in, mask, all);
  if (w->sim->launch->trace) trace_instruction(w, in, mask, all);
}

/* Runs the split until an event that concerns others. `watched` is constant at the call sites, so
 * that it costs nothing where it is false. */
static inline void run_loop(struct warp *w, struct split *s, bool watched) {
  const struct inst *code = s->frame->func->code;
  uint32_t pc = s->pc, all = s->mask, stop = meeting_place(w, s);
  uint64_t steps = 0;
  w->mask = all;
  for (;; pc++) {
    const struct inst *in = &code[pc];
    uint32_t mask = in->guard ? all & (w->preds[in->guard - 1] ^ in->flip) : all;
    if (watched && in->kind != INST_LABEL) {
      if (steps >= w->turn) break;
      w->pc = pc;
      watch(w, in, mask, all);
    }
    steps++;
    if (mask == 0) {
      if (in->kind >= INST_LABEL && pc + 1 >= stop) {
        pc++;
        break;
      }
      continue;
    }
    if (in->kind == INST_PLAIN && !s->frame->undefined) {
      in->run(w, in, mask);
      continue;
    }
    w->pc = pc;
    if ((in->flow || in->ir) && s->frame->undefined) undefined_flow(w, in, mask);
    if (w->stopped) break;
    if (in->kind == INST_PLAIN || in->kind == INST_HELPER) {
      in->run(w, in, mask);
      steps -= in->kind == INST_HELPER;
      continue;
    }
    if (in->kind == INST_MEMORY) {
      in->run(w, in, mask);
      if (!w->stopped && !w->yields) continue;
      if (w->stopped) break;
      s->state = SPLIT_YIELDED;
      pc += w->yields != YIELD_AGAIN;
      break;
    }
    if (in->kind == INST_LABEL) {
      steps--;
      if (pc < stop && steps < QUANTUM) continue;
      if (steps >= QUANTUM) s->state = SPLIT_YIELDED;
      break;
    }
    if (in->kind == INST_BRANCH && mask == all) {
      pc = (uint32_t)in->imm - 1;
      continue;
    }
    s->pc = pc;
    if (in->kind == INST_WARP_SYNC) {
      if (members_are_here(w, s, in, mask)) {
        in->run(w, in, mask);
        if (w->stopped) break;
        if (w->sim->races) race_sync_lanes(w, mask);
        continue;
      }
    } else {
      do_event(w, s, in, mask);
    }
    w->steps += steps;
    w->sim->counts.instructions += steps * evalint_popcount(32, all);
    return;
  }
  s->pc = pc;
  w->steps += steps;
  w->sim->counts.instructions += steps * evalint_popcount(32, all);
}

static void run_split(struct warp *w, struct split *s) {
  frame_enter(w, s->frame);
  if (w->sim->watched) run_loop(w, s, true);
  else run_loop(w, s, false);
}

bool warp_run(struct warp *w, uint64_t budget) {
  bool ran = false, random = w->sim->launch->random_schedule;
  w->steps = 0;
  while (!w->stopped && w->steps < budget) {
    struct split *s = random ? choose_randomly(w) : choose(w);
    if (!s) break;
    ran = true;
    run_split(w, s);
    if (w->sim->counts.instructions > w->sim->step_limit && !w->stopped && w->frame)
      finding_report(
          w, s->mask ? lane_first(s->mask) : 0, SIM_STEP_LIMIT,
          "exceeds the step limit: all threads together executed more than %U instructions",
          w->sim->step_limit);
    if (w->yields) break;
  }
  w->waited = w->yields > YIELD_ON && w->steps < WAITING_TURN;
  w->yields = YIELD_NOT;
  w->sim->counts.warp_instructions += w->steps;
  w->sim->clock += w->steps;
  return ran;
}

bool warp_start(struct warp *w, const struct func *kernel, uint32_t mask) {
  w->live = mask;
  w->split_count = 0;
  w->stopped = false;
  w->passing = w->passed = 0;
  w->carry = 0;
  w->pc = 0;
  w->frame = NULL;
  w->turn = UINT64_MAX;
  for (unsigned l = 0; l < LANES; l++) w->stack_top[l] = LOCAL_FIRST;
  struct frame *frame = frame_new(w, kernel, NULL, mask);
  if (!frame) return false;
  frame->call = NULL;
  add_split(w, mask, frame, 0);
  return true;
}
