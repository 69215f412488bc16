/* loop-unroll, loop-unroll-full: executes several iterations without a test between them.
 *
 * Purpose:   counter, test and branch cost a short loop as much as its work; a loop of a few
 *            iterations becomes straight-line code, in which constants fold and arrays of the
 *            frame become registers.
 * Algorithm: the blocks are copied in sequence; a header's phi is, in each copy, its latch value
 *            of the copy before. Three kinds:
 *              full     the trip count is a small constant: as many copies, no loop
 *              exact    the count is a known multiple of the factor: only the last copy tests
 *              runtime  the original loop executes the remaining iterations:
 *                         pre:  if (iterations < factor) goto rest
 *                               `factor` copies, for iterations - iterations % factor
 *                               if (iterations % factor == 0) goto exit
 *                         rest: the original loop
 *                       If the loop stays while t < B, for a t with step s, the copies stay while
 *                       t < B - (factor - 1) s, and the rest is needed if t < B: no division and
 *                       no count. The limit does not wrap if B is at least (factor - 1) s above
 *                       the smallest number, for which a max is computed unless it is known.
 *            Inner loops first; a loop around an unrolled one is visited in the next of MAX_ROUNDS
 *            rounds. Hints (llvm.loop.unroll.full, .count, .enable, .disable) override costs.
 *            Unrolled loops get .disable, which code generation prints as .pragma "nounroll"; so
 *            do innermost loops whose body is too large for two copies, that have at most
 *            FEW_ITERATIONS iterations, or with fewer than FEW_REGISTERS free registers, since
 *            ptxas would unroll them; the knob reg-target-adjust moves this limit. With -Os and
 *            -Oz (optsize, minsize) all do; loops that -Oz meets are not unrolled for their hints.
 * Requires:  loop-simplify, lcssa; loop-rotate for exact and runtime.
 * Preserves: convergent operations: threads that are converged in an iteration remain so, also
 *            where each copy tests, since all exits lead where that of the loop did; a loop with
 *            such operations gets no remainder loop.
 * Cost:      linear in the resulting code, which the limits bound.
 * Omits:     peeling; loops with several exits, except for full unrolling; with a remainder loop,
 *            those whose loads are conditional.
 * Tests:     check/opt/unroll*. */
#include "analysis/effects.h"
#include "analysis/loop_execution.h"
#include "analysis/pressure.h"
#include "analysis/ranges.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "analysis/scev.h"
#include "opt/cfg/cfg.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/remark.h"

/* In instructions: LLVM's limits for this target, but for MAX_PARTIAL: its 75 makes 0.9 % more code
 * of public kernels, which execute 0.1 % fewer instructions. */
enum {
  MAX_FULL = 300,
  MAX_FULL_FRAME = 1200,
  MAX_FULL_SMALL = 40, /* with -Os: less leaves arrays in local memory, whose code is larger */
  MAX_PARTIAL = 50,
  MAX_BY_PRAGMA = 16384,
  MAX_GAIN = 2,    /* times MAX_FULL if so many instructions become constants */
  MANY_LEFT = 250, /* instructions: fewer are unrolled fully even if a factor saves as much */
  EXACT_FACTOR = 8,
  RUNTIME_FACTOR = 4, /* of loops that load: each copy's load takes a register */
  FEW_ITERATIONS = 8, /* do not pay for a remainder */
  MAX_ROUNDS = 4,
  MAX_BLOCKS = 1024,
  FEW_REGISTERS = 24
};

struct unroller {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct scev_env *scev;
  struct executor *executor; /* NULL: not needed yet */
  struct loop_copy copy;
  bool *inner_changed; /* by loop: an inner loop was copied, so that analyses of it are invalid */
  const struct loop *loop;
  const struct nvm_block *blocks; /* of the loop */
  struct nvm_block last_latch;    /* of the last copy, and `tested` in it */
  struct nvm_value tested, last_tested;
  bool changed, only_full;
  bool hinted; /* a hint was set, which invalidates no analysis */
};

enum unroll_kind { UNROLL_NOT, UNROLL_FULL, UNROLL_EXACT, UNROLL_RUNTIME };

struct plan {
  enum unroll_kind kind;
  uint32_t factor; /* number of copies, original included */
  bool exact;      /* the copy that exits is known */
  const char *why; /* UNROLL_NOT: the reason, where hints asked for more; NULL: as they ask */
  bool kept;       /* UNROLL_NOT: ptxas is not to unroll it either */
};

/* Whether the loop indexes a variable of the frame by a variant value: unrolling may promote it to
 * registers. */
static bool indexes_frame(const struct unroller *u, uint32_t n) {
  for (uint32_t k = 0; k < u->loop->block_count; k++)
    FOR_EACH_INST (u->f, u->blocks[k], i) {
      const struct nvm_inst *inst = function_inst(u->f, i);
      if (inst->op != OP_GEP || value_kind(inst_operand(u->f, inst, 0)) != VALUE_INST) continue;
      if (function_inst(u->f, (struct nvm_inst_id){value_index(inst_operand(u->f, inst, 0))})->op !=
          OP_ALLOCA)
        continue;
      for (uint32_t o = 1; o < inst->operand_count; o++)
        if (!loops_is_invariant(&u->nest.loops, u->f, n, inst_operand(u->f, inst, o))) return true;
    }
  return false;
}

/* Instructions of a fully unrolled loop of `size`, at most. */
static uint32_t full_limit(const struct unroller *u, uint32_t n, bool hinted, uint32_t size) {
  unsigned effort = pass_size_effort(u->env, u->f);
  if (hinted) return MAX_BY_PRAGMA;
  if (effort < 2 && indexes_frame(u, n)) return MAX_FULL_FRAME;
  if (effort == 1 && size < MAX_FULL_SMALL) return MAX_FULL_SMALL;
  return effort > 0 ? size : MAX_FULL;
}

/* Executes the loop as far as constants decide it. False when out of memory, which the arena
 * remembers. */
static bool execute_loop(struct unroller *u, uint32_t n, uint64_t limit, struct loop_execution *e) {
  if (!u->executor)
    u->executor = loop_execution_init(u->f, &u->nest.loops, &u->nest.d, u->env->arena);
  return u->executor && loop_execution_run(u->executor, n, limit, MAX_GAIN * limit, e);
}

/* The number of copies after which the loop has surely ended, if constants decide it and what they
 * leave of the copies is worth its size; else 0. The limit grows with the share that goes. */
static uint64_t iterations_executed(struct unroller *u, uint32_t n, uint64_t work, uint64_t limit) {
  struct loop_execution e;
  if (!execute_loop(u, n, limit, &e) || !e.ends || e.iterations * work > MAX_BY_PRAGMA) return 0;
  return e.left <= MAX_GAIN * limit && e.left * e.left <= limit * e.iterations * (work + 2)
             ? e.iterations
             : 0;
}

/* Instructions of an iteration that remain if a factor unrolls the loop: counters and addresses
 * with a constant step become offsets, and the test is that of the last copy. */
static uint64_t left_by_factor(const struct unroller *u, uint32_t n) {
  const struct type_table *t = &u->f->module->types;
  uint64_t left = 0, test = 2;
  for (uint32_t k = 0; k < u->loop->block_count; k++)
    FOR_EACH_INST (u->f, u->blocks[k], i) {
      const struct nvm_inst *inst = function_inst(u->f, i);
      int64_t step;
      bool counts = type_is_int(t, inst->type) || type_is_ptr(t, inst->type);
      if (!(counts && scev_step(u->scev, scev_of(u->scev, value_of_inst(i)), n, &step) && step))
        left += loops_work(u->f, inst);
    }
  return left > test ? left - test : 0;
}

/* Machine instructions of an iteration's divisions beyond the one each that `work` counts. */
static uint64_t division_work(const struct unroller *u) {
  uint64_t work = 0;
  for (uint32_t k = 0; k < u->loop->block_count; k++)
    FOR_EACH_INST (u->f, u->blocks[k], i) {
      cost c = loop_division_cost(u->f, u->env->target, function_inst(u->f, i));
      if (c > 1) work += (uint64_t)(c < MAX_PARTIAL ? c : MAX_PARTIAL) - 1;
    }
  return work;
}

/* The first of these factors whose copies have at most `most` instructions: a divisor of the count
 * if that is a constant, else a power of two. Four adjacent loads merge into one. */
static uint32_t choose_factor(uint64_t work, uint64_t most, bool number, uint64_t iterations) {
  static const uint8_t factors[] = {EXACT_FACTOR, 4, 7, 6, 5, 3, 2};
  number &= iterations != UINT64_MAX;
  for (size_t k = 0; k < sizeof factors; k++) {
    uint32_t factor = factors[k];
    bool fits = number ? iterations % factor == 0 : (factor & (factor - 1)) == 0;
    if (fits && factor * work <= most) return factor;
  }
  return 1;
}

/* Whether full unrolling, which leaves many instructions, saves less than an eighth of those that a
 * factor leaves. */
static bool factor_suffices(struct unroller *u, uint32_t n, uint64_t work, uint64_t iterations,
                            uint64_t limit) {
  struct loop_execution e;
  uint64_t by_factor = iterations * left_by_factor(u, n);
  if (by_factor <= MANY_LEFT || u->loop->exiting.index != u->loop->latch.index ||
      u->loop->end != n + 1 || choose_factor(work, MAX_PARTIAL, true, iterations) == 1)
    return false;
  return execute_loop(u, n, limit, &e) && (!e.ends || 8 * e.left >= 7 * by_factor);
}

static struct plan not_unrolled(const char *why) { return (struct plan){.why = why}; }

static struct plan kept_rolled(const char *why, bool kept) {
  return (struct plan){.why = why, .kept = kept};
}

static struct plan plan_loop(struct unroller *u, uint32_t n) {
  struct loop_hint count = loops_hint(u->f, u->loop->hints, "llvm.loop.unroll.count");
  bool full = loops_hint(u->f, u->loop->hints, "llvm.loop.unroll.full").given;
  unsigned effort = pass_size_effort(u->env, u->f);
  bool hinted = effort < 2 && (full || count.given ||
                               loops_hint(u->f, u->loop->hints, "llvm.loop.unroll.enable").given);
  bool convergent;
  uint32_t size;
  if (loops_forbid_unrolling(u->f, u->loop->hints)) return not_unrolled(NULL);
  uint32_t largest = hinted ? MAX_BY_PRAGMA : MAX_FULL_FRAME;
  if (!loop_is_copyable(u->f, &u->nest.loops, n, largest + 2, &convergent, &size))
    return not_unrolled("its body is too large or cannot be copied");
  struct trip_count c = scev_trip_count(u->scev, n);
  uint64_t taken, work = size > 2 ? size - 2 : 1,
                  iterations = c.most == UINT64_MAX ? UINT64_MAX : c.most + 1;
  bool number = c.known && trip_count_is_number(&c, &taken);
  uint64_t limit = full_limit(u, n, hinted, size);
  bool free = hinted || effort > 0 || indexes_frame(u, n);
  /* Without a known count each copy tests: only a small loop gains by it. */
  uint64_t most_full = number || free ? limit : MAX_PARTIAL;
  bool fits = iterations <= limit && iterations * work <= most_full && (number || iterations <= 8);
  if (!fits || !number) {
    uint64_t executed = iterations_executed(u, n, work, limit);
    if (executed) iterations = executed, fits = true;
  }
  if (fits && number && !free) fits = !factor_suffices(u, n, work, iterations, limit);
  if (fits && (!count.given || (uint64_t)count.value >= iterations))
    return (struct plan){UNROLL_FULL, (uint32_t)iterations, number, NULL, false};
  /* The vectorizer sets this hint on its loops, whose width it has chosen; not on the original
   * loop, which runs few iterations or after a failed check. */
  if (u->only_full || loops_hint(u->f, u->loop->hints, "llvm.loop.unroll.runtime.disable").given)
    return not_unrolled(NULL);
  bool bottom = u->loop->exiting.index == u->loop->latch.index;
  bool innermost = u->loop->end == n + 1;
  if (full) return not_unrolled("its trip count is not a constant, or too large");
  if ((effort > 0 && !hinted) || iterations == 1) return not_unrolled(NULL);
  if (!innermost) return not_unrolled("a loop in it remains");
  if (!c.known) return not_unrolled("its trip count is not known before it");
  if (!bottom) return not_unrolled("the test that ends it is not at its end");
  uint32_t factor, most = hinted ? MAX_BY_PRAGMA / 32 : MAX_PARTIAL;
  if (count.given) factor = count.value > 128 ? 128 : (uint32_t)count.value;
  else factor = choose_factor(work + division_work(u), most, number, iterations);
  if (factor <= 1)
    return kept_rolled("two copies of its body are too large", !hinted && 2 * work > most);
  if (c.guarded && c.multiple % factor == 0)
    return (struct plan){UNROLL_EXACT, factor, true, NULL, false};
  bool cheap = hinted || !(c.divisor & (c.divisor - 1));
  if (convergent)
    return kept_rolled("operations on several threads permit no loop for remaining iterations",
                       !hinted);
  if (!hinted && loop_loads_conditionally(u->f, &u->nest, n))
    return kept_rolled("its loads are conditional", true);
  if (!cheap || iterations <= (hinted ? factor : FEW_ITERATIONS))
    return kept_rolled("it has few iterations", !hinted);
  if (!hinted && factor > RUNTIME_FACTOR && loop_loads(u->f, &u->nest, n)) factor = RUNTIME_FACTOR;
  return (struct plan){UNROLL_RUNTIME, factor, true, NULL, false};
}

/* Folds the branch at the end of a copy's exiting block. */
static void fold_exit(struct nvm_function *f, struct nvm_block exiting, bool leaves,
                      struct nvm_block inside) {
  uint32_t away = block_successor(f, exiting, 0).index == inside.index;
  cfg_make_jump(f, exiting, leaves ? block_successor(f, exiting, away) : inside);
}

/* Sets the header's phis to their values in the next copy. */
static void advance_phis(struct unroller *u, struct nvm_value *next) {
  struct nvm_function *f = u->f;
  uint32_t k = 0;
  FOR_EACH_PHI (f, u->loop->header, i)
    next[k++] = loop_copy_of(&u->copy, phi_incoming(f, i, u->loop->latch));
  loop_copy_forget(&u->copy, f, u->blocks, u->loop->block_count);
  k = 0;
  FOR_EACH_PHI (f, u->loop->header, i) u->copy.values[i.index] = next[k++];
}

static uint32_t count_phis(const struct nvm_function *f, struct nvm_block b) {
  uint32_t count = 0;
  FOR_EACH_PHI (f, b, i) count++;
  return count;
}

struct copy_place {
  struct nvm_block header, latch, exiting, inside; /* inside: the successor of `exiting` in the
                                                    * loop */
};

/* Makes the copies and connects each to the next. `places` has room for all, the original first. */
static bool make_copies(struct unroller *u, uint32_t n, uint32_t factor,
                        struct copy_place *places) {
  struct nvm_function *f = u->f;
  const struct loop *l = u->loop;
  struct nvm_value *next =
      arena_alloc(u->env->arena, (count_phis(f, l->header) + 1) * sizeof *next);
  struct nvm_block next_block = function_block(f, u->blocks[l->block_count - 1])->next,
                   inside = {0};
  if (!next || !loop_copy_grow(&u->copy, f, u->env->arena)) return false;
  for (uint32_t s = 0; l->exiting.index && s < block_successor_count(f, l->exiting); s++)
    if (loops_contains(&u->nest.loops, n, block_successor(f, l->exiting, s)))
      inside = block_successor(f, l->exiting, s);
  places[0] = (struct copy_place){l->header, l->latch, l->exiting, inside};
  u->copy.header = l->header;
  for (uint32_t k = 1; k < factor; k++) {
    advance_phis(u, next);
    if (!loop_copy_blocks(&u->copy, f, u->blocks, l->block_count, next_block) ||
        !loop_copy_exits(&u->copy, f, u->blocks, l->block_count))
      return false;
    const struct nvm_block *now = u->copy.blocks;
    places[k] = (struct copy_place){now[l->header.index], now[l->latch.index],
                                    now[l->exiting.index], now[inside.index]};
  }
  for (uint32_t k = 0; k < factor; k++) { /* redirect latches to the next copy */
    struct copy_place *p = &places[k];
    struct nvm_block to = places[(k + 1) % factor].header;
    cfg_redirect(f, p->latch, p->header, to);
    if (p->exiting.index == p->latch.index && p->inside.index == p->header.index) p->inside = to;
  }
  return true;
}

/* Sets the latch entries of the original header's phis to values of the last copy. */
static void close_header(struct unroller *u, struct nvm_block last) {
  struct nvm_block latch = u->loop->latch;
  FOR_EACH_PHI (u->f, u->loop->header, i) {
    struct nvm_value v = loop_copy_of(&u->copy, phi_incoming(u->f, i, latch));
    loop_replace_incoming(u->f, i, latch, v, last);
  }
}

/* Removes the back edge of the last latch. */
static bool remove_back_edge(struct unroller *u, struct nvm_block latch) {
  struct nvm_function *f = u->f;
  struct nvm_inst_id t = block_terminator(f, latch);
  struct nvm_block header = u->loop->header;
  for (uint32_t s = 0; s < block_successor_count(f, latch); s++)
    if (block_successor(f, latch, s).index != header.index) {
      cfg_make_jump(f, latch, block_successor(f, latch, s));
      return true;
    }
  cfg_remove_phi_edges(f, header, latch, 0);
  return cfg_replace_terminator(f, t, OP_UNREACHABLE, NULL, 0);
}

/* Lets code generation print .pragma "nounroll". */
static bool keep_rolled(struct unroller *u, const struct loop *l) {
  u->hinted = true;
  return loop_set_hint(u->f, l->latch, l->hints, "llvm.loop.unroll.", "llvm.loop.unroll.disable");
}

/* Copies the loop for `factor` iterations; only the last copy tests or ends the loop. */
static bool unroll(struct unroller *u, uint32_t n, struct plan p) {
  struct copy_place *places = arena_alloc(u->env->arena, p.factor * sizeof *places);
  if (!places || !make_copies(u, n, p.factor, places)) return false;
  struct nvm_block last = places[p.factor - 1].latch;
  close_header(u, last);
  u->last_tested = loop_copy_of(&u->copy, u->tested);
  loop_copy_forget(&u->copy, u->f, u->blocks, u->loop->block_count);
  for (uint32_t k = 0; p.exact && k < p.factor; k++) {
    bool leaves = k + 1 == p.factor;
    if (leaves && p.kind != UNROLL_FULL) break;
    fold_exit(u->f, places[k].exiting, leaves, places[k].inside);
  }
  if (p.kind == UNROLL_FULL) {
    bool cut = block_successor_count(u->f, last) == 0;
    for (uint32_t s = 0; s < block_successor_count(u->f, last); s++)
      if (block_successor(u->f, last, s).index == u->loop->header.index) cut = true;
    if (cut && !remove_back_edge(u, last)) return false;
  } else if (!loop_set_hint(u->f, last, u->loop->hints, "llvm.loop.unroll.",
                            "llvm.loop.unroll.disable")) {
    return false;
  }
  u->last_latch = last;
  ++*u->env->statistic;
  u->changed = true;
  return true;
}

struct glue {
  struct nvm_value rest;  /* the number of remaining iterations; VALUE_NULL: has_limit */
  struct nvm_value few;   /* fewer iterations than the factor */
  struct nvm_value bound; /* of the copies */
  struct nvm_value end;   /* if has_limit: the bound of the loop */
  bool has_limit;
  struct nvm_block exit, middle, before_rest, rest_header, rest_latch;
};

/* Whether the bound is no less than `extreme` (up), or no more, by its range, or by that of the
 * value before the first one that is tested, which the bound is beyond. */
static bool is_beyond(struct unroller *u, const struct trip_count *c, uint64_t extreme,
                      struct nvm_value before, struct nvm_value end) {
  uint32_t width = c->bound.width;
  bool is_signed = c->predicate == ICMP_SLT || c->predicate == ICMP_SGT, up = c->step > 0;
  enum icmp_predicate p = is_signed ? up ? ICMP_SGE : ICMP_SLE : up ? ICMP_UGE : ICMP_ULE;
  struct range all = range_all(width), limit = range_unsigned(width, extreme, extreme);
  struct range is = range_of(u->f, end), was = range_of(u->f, before);
  if (is_signed)
    limit = range_signed(width, evalint_sext(width, extreme), evalint_sext(width, extreme));
  if (!range_equal(is, all) && range_compare(p, is, limit) == 1) return true;
  return !range_equal(was, all) && range_compare(p, was, limit) == 1 &&
         scev_holds(u->scev, u->loop->header, c->predicate, scev_plus(c->first, -c->step),
                    c->bound);
}

/* Computes, in the preheader, the bound of the copies from that of the loop; false if it is not
 * the limit of a counter that moves towards it. */
static bool find_limit(struct unroller *u, uint32_t n, uint32_t factor, struct glue *g) {
  struct nvm_function *f = u->f;
  struct trip_count c = scev_trip_count(u->scev, n);
  uint32_t width = c.bound.width;
  bool is_signed = c.predicate == ICMP_SLT || c.predicate == ICMP_SGT, up = c.step > 0;
  uint64_t step = up ? (uint64_t)c.step : 0 - (uint64_t)c.step, all = ~UINT64_C(0) >> (64 - width);
  if (c.predicate != (is_signed ? up ? ICMP_SLT : ICMP_SGT
                      : up      ? ICMP_ULT
                                : ICMP_UGT) ||
      !value_is_none(c.bound.base) || !value_is_none(c.first.base) || step > (all >> 1) / factor)
    return false;
  uint64_t distance = (factor - 1) * step, least = is_signed ? (all >> 1) + 1 : 0;
  uint64_t extreme = (up ? least + distance : least - 1 - distance) & all;
  struct nvm_inst_id at = block_terminator(f, u->loop->preheader);
  struct nvm_value before = scev_expand(u->scev, f, scev_plus(c.first, -c.step), at);
  g->end = value_is_none(before) ? before : scev_expand(u->scev, f, c.bound, at);
  if (value_is_none(g->end)) return false;
  struct builder x = builder_before(f, at);
  struct nvm_type t = value_type(f, before);
  struct nvm_value near[2] = {g->end, const_int(f->module, t, extreme)};
  if (!is_beyond(u, &c, extreme, before, g->end))
    near[0] = builder_intrinsic(&x,
                                is_signed ? up ? INTRINSIC_smax : INTRINSIC_smin
                                : up      ? INTRINSIC_umax
                                          : INTRINSIC_umin,
                                0, t, near, 2);
  distance = (up ? 0 - distance : distance) & all;
  g->bound = builder_binary(&x, OP_ADD, near[0], const_int(f->module, t, distance));
  g->few = builder_icmp(&x, icmp_inverse(c.predicate), before, g->bound);
  g->has_limit = true;
  return !value_is_none(g->few);
}

/* Computes, in the preheader, the number of remaining iterations, and the tested value in the last
 * iteration before them. */
static bool count_remainder(struct unroller *u, uint32_t n, uint32_t factor, struct glue *g) {
  struct nvm_function *f = u->f;
  struct nvm_module *m = f->module;
  struct trip_count c = scev_trip_count(u->scev, n);
  struct nvm_inst_id at = block_terminator(f, u->loop->preheader);
  struct nvm_value taken = scev_expand_trip_count(u->scev, f, n, at);
  struct nvm_value first = value_is_none(taken) ? taken : scev_expand(u->scev, f, c.first, at);
  if (value_is_none(first)) return false;
  struct nvm_type t = value_type(f, taken);
  struct nvm_value one = const_int(m, t, 1), by = const_int(m, t, factor);
  bool power = (factor & (factor - 1)) == 0;
  struct builder x = builder_before(f, at);
  if (power) {
    g->rest = builder_binary(&x, OP_ADD, taken, one);
    g->rest = builder_binary(&x, OP_AND, g->rest, const_int(m, t, factor - 1));
  } else { /* the count may be 2^width */
    g->rest = builder_binary(&x, OP_ADD, builder_binary(&x, OP_UREM, taken, by), one);
    g->rest = builder_binary(&x, OP_UREM, g->rest, by);
  }
  g->few = builder_icmp(&x, ICMP_ULT, taken, const_int(m, t, factor - 1));
  struct nvm_value steps = builder_binary(&x, OP_SUB, taken, g->rest);
  uint64_t step =
      (uint64_t)c.step & (c.taken.width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << c.taken.width) - 1);
  steps = builder_binary(&x, OP_MUL, steps, const_int(m, t, step));
  bool pointer = type_is_ptr(&m->types, value_type(f, first));
  g->bound = pointer ? builder_gep(&x, first, steps) : builder_binary(&x, OP_ADD, first, steps);
  return !module_out_of_memory(m);
}

static struct nvm_value single_phi(struct unroller *u, struct nvm_block b, struct nvm_value v,
                                   struct nvm_block from) {
  struct nvm_value operands[2] = {v, value_of_block(from)};
  struct builder at = builder_at_start(u->f, b);
  return builder_phi(&at, value_type(u->f, v), operands, 2);
}

/* Adds phis for the values that leave the loop to the exit and to the remainder loop. */
static bool connect_values(struct unroller *u, const struct glue *g) {
  struct nvm_function *f = u->f;
  struct nvm_block latch = u->loop->latch, pre = u->loop->preheader;
  FOR_EACH_PHI (f, g->exit, i) {
    struct nvm_value v = phi_incoming(f, i, latch), copied = loop_copy_of(&u->copy, v);
    loop_replace_incoming(f, i, latch, single_phi(u, g->middle, v, latch), g->middle);
    if (!phi_add(f, i, copied, g->rest_latch)) return false;
  }
  FOR_EACH_PHI (f, u->loop->header, i) {
    struct nvm_value latch_value = single_phi(u, g->middle, phi_incoming(f, i, latch), latch);
    struct nvm_value start = single_phi(u, g->before_rest, phi_incoming(f, i, pre), pre);
    struct nvm_inst_id phi = {value_index(start)},
                       copied = {value_index(loop_copy_of(&u->copy, value_of_inst(i)))};
    if (!phi_add(f, phi, latch_value, g->middle)) return false;
    loop_replace_incoming(f, copied, pre, start, g->before_rest);
  }
  return true;
}

/* Whether no iteration remains after the copies. */
static struct nvm_value is_done(struct unroller *u, uint32_t n, const struct glue *g) {
  struct nvm_function *f = u->f;
  struct builder middle = builder_at_end(f, g->middle);
  if (!g->has_limit)
    return builder_icmp(&middle, ICMP_EQ, g->rest, const_int(f->module, value_type(f, g->rest), 0));
  struct trip_count c = scev_trip_count(u->scev, n);
  struct nvm_value t = single_phi(u, g->middle, c.tested, u->loop->latch);
  return builder_icmp(&middle, icmp_inverse(c.predicate), t, g->end);
}

/* Whether an iteration may end before its test, which a poison bound makes undefined behaviour. */
static bool may_miss_test(const struct unroller *u) {
  for (uint32_t k = 0; k < u->loop->block_count; k++)
    FOR_EACH_INST (u->f, u->blocks[k], i)
      if (effects_may_not_return(u->f, function_inst(u->f, i))) return true;
  return false;
}

/* Copies the loop for the remaining iterations. */
static bool add_remainder(struct unroller *u, uint32_t n, struct glue *g) {
  struct nvm_function *f = u->f;
  const struct loop *l = u->loop;
  struct nvm_block next_block = function_block(f, u->blocks[l->block_count - 1])->next;
  bool first = loops_contains(&u->nest.loops, n, block_successor(f, l->latch, 0));
  g->exit = block_successor(f, l->latch, first);
  u->copy.header.index = 0;
  if (!loop_copy_grow(&u->copy, f, u->env->arena)) return false;
  g->middle = function_add_block(f, (struct nvm_str){0});
  g->before_rest = function_add_block(f, (struct nvm_str){0});
  function_move_block(f, g->middle, next_block);
  function_move_block(f, g->before_rest, next_block);
  if (!g->before_rest.index ||
      !loop_copy_blocks(&u->copy, f, u->blocks, l->block_count, next_block))
    return false;
  g->rest_header = u->copy.blocks[l->header.index];
  g->rest_latch = u->copy.blocks[l->latch.index];
  if (!connect_values(u, g)) return false;
  cfg_redirect(f, l->latch, g->exit, g->middle);
  inst_remove(f, block_terminator(f, l->preheader));
  struct builder preheader = builder_at_end(f, l->preheader),
                 before_rest = builder_at_end(f, g->before_rest),
                 middle = builder_at_end(f, g->middle);
  if (may_miss_test(u)) g->few = builder_unary(&preheader, OP_FREEZE, TYPE_I1, g->few);
  builder_condbranch(&preheader, g->few, g->before_rest, l->header);
  builder_branch(&before_rest, g->rest_header);
  builder_condbranch(&middle, is_done(u, n, g), g->exit, g->before_rest);
  loop_copy_forget(&u->copy, f, u->blocks, l->block_count);
  return loop_set_hint(f, g->rest_latch, l->hints, "llvm.loop.unroll.", "llvm.loop.unroll.disable");
}

static bool unroll_with_remainder(struct unroller *u, uint32_t n, struct plan p) {
  struct glue g = {.has_limit = false};
  struct nvm_function *f = u->f;
  struct trip_count c = scev_trip_count(u->scev, n);
  u->changed = true;
  if (!find_limit(u, n, p.factor, &g) && !count_remainder(u, n, p.factor, &g))
    return !module_out_of_memory(f->module);
  p.kind = UNROLL_EXACT;
  u->tested = c.tested;
  if (!add_remainder(u, n, &g) || !unroll(u, n, p)) return false;
  struct nvm_inst_id t = block_terminator(f, u->last_latch);
  bool back = block_successor(f, u->last_latch, 0).index == u->loop->header.index;
  struct builder at = builder_before(f, t);
  enum icmp_predicate stays = g.has_limit ? c.predicate : ICMP_NE;
  inst_set_operand(f, t, 0,
                   builder_icmp(&at, back ? stays : icmp_inverse(stays), u->last_tested, g.bound));
  return !module_out_of_memory(f->module);
}

/* Whether ptxas would choose how to unroll loop n: it is innermost, and has no hint. */
static bool is_left_to_ptxas(const struct unroller *u, uint32_t n) {
  const struct loop *l = &u->nest.loops.data[n];
  return l->end == n + 1 && !block_is_none(l->latch) && !loop_unrolling_is_hinted(u->f, l);
}

/* Marks loops in which nearly all registers are used: ptxas would unroll them and spill. Pressure
 * is computed only in functions with many more values. Where size matters, marks all loops. */
static bool keep_full_loops_rolled(struct unroller *u) {
  bool small = pass_size_effort(u->env, u->f) > 0;
  const struct nvm_function *f = u->f;
  uint32_t most = tgt_limit(u->env->target->cpu, TGT_LIMIT_REGISTERS_PER_THREAD) - FEW_REGISTERS +
                  (uint32_t)u->env->knobs->value[KNOB_REG_TARGET_ADJUST],
           all = 0, enough = 8 * most;
  struct pressure p = {0};
  const struct loops *l = &u->nest.loops;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (l->count && all <= enough) all += pressure_registers(f, function_inst(f, i)->type);
  if (all <= enough && !small) return true;
  if (u->changed && !loop_nest_compute(&u->nest, u->f, u->env->arena)) return false;
  bool any = false;
  for (uint32_t n = 1; n <= l->count; n++) any |= is_left_to_ptxas(u, n);
  if (!any) return true;
  if (!pressure_compute(&p, f, &u->nest.d, u->env->arena)) return false;
  for (uint32_t n = 1; n <= l->count; n++) {
    const struct loop *loop = &l->data[n];
    uint32_t highest = 0;
    if (!is_left_to_ptxas(u, n)) continue;
    for (uint32_t k = 0; k < loop->block_count; k++) {
      uint32_t here = p.most[l->blocks[loop->first_block + k].index];
      if (here > highest) highest = here;
    }
    if (highest <= most && !small) continue;
    if (!keep_rolled(u, loop)) return false;
  }
  return true;
}

/* --- reports --------------------------------------------------------------------------------- */

static void report_plan(const struct unroller *u, struct plan p) {
  struct nvm_inst_id at = remark_at_block(u->f, u->loop->header);
  if (p.kind == UNROLL_FULL)
    remark(u->env, REMARK_PASSED, u->f, at, "FullyUnrolled",
           "completely unrolled loop with %(UnrollCount)u iterations", (unsigned)p.factor);
  else
    remark(u->env, REMARK_PASSED, u->f, at, "PartialUnrolled",
           "unrolled loop by a factor of %(UnrollCount)u%s", (unsigned)p.factor,
           p.kind == UNROLL_RUNTIME ? " with a loop for remaining iterations" : "");
}

/* Whether hints ask for an unrolling that no pass has done; those that do it set .disable. */
static bool is_asked(const struct nvm_function *f, struct nvm_meta hints) {
  struct loop_hint count = loops_hint(f, hints, "llvm.loop.unroll.count");
  return !loops_hint(f, hints, "llvm.loop.unroll.disable").given &&
         !loops_hint(f, hints, "llvm.loop.isvectorized").given &&
         (count.value > 1 || loops_hint(f, hints, "llvm.loop.unroll.enable").given ||
          loops_hint(f, hints, "llvm.loop.unroll.full").given);
}

static const char *why_not(struct unroller *u, uint32_t n) {
  if (block_is_none(u->loop->preheader)) return "it is entered in several ways";
  if (block_is_none(u->loop->latch)) return "it goes back in several places";
  if (u->loop->block_count > MAX_BLOCKS) return "its body is too large";
  struct plan p = plan_loop(u, n);
  return p.kind == UNROLL_NOT ? p.why : "a loop in it was unrolled too late";
}

/* Warns of loops that remain although hints ask for their unrolling. */
static bool warn_of_loops(struct unroller *u) {
  bool any = false;
  struct loops *l = &u->nest.loops;
  for (uint32_t n = 1; n <= l->count; n++) any |= is_asked(u->f, l->data[n].hints);
  if (!any || pass_size_effort(u->env, u->f) == 2) return true;
  if (u->changed && !loop_nest_compute(&u->nest, u->f, u->env->arena)) return false;
  u->executor = NULL;
  u->scev = scev_init(u->f, l, &u->nest.d, u->env->arena);
  for (uint32_t n = 1; u->scev && n <= l->count; n++) {
    u->loop = &l->data[n];
    u->blocks = l->blocks + u->loop->first_block;
    const char *why = is_asked(u->f, u->loop->hints) ? why_not(u, n) : NULL;
    if (why)
      remark_warn(u->env, u->f, remark_at_block(u->f, u->loop->header), DIAG_LOOP_NOT_UNROLLED,
                  why);
  }
  return u->scev && !u->env->arena->failed;
}

/* Visits the nest once, inner loops first; *again: a loop has to be visited again. */
static bool one_round(struct unroller *u, bool *again) {
  struct nvm_function *f = u->f;
  if (!(u->changed ? loop_nest_compute(&u->nest, f, u->env->arena)
                   : loop_nest_of(&u->nest, f, u->env)))
    return false;
  const struct loops *l = &u->nest.loops;
  u->inner_changed = arena_alloc(u->env->arena, (l->count + 1) * sizeof *u->inner_changed);
  u->executor = NULL;
  u->scev = l->count ? scev_init(f, l, &u->nest.d, u->env->arena) : NULL;
  if (!u->inner_changed || (l->count && !u->scev)) return false;
  for (uint32_t n = l->count; n >= 1; n--) {
    u->loop = &l->data[n];
    u->blocks = l->blocks + u->loop->first_block;
    u->inner_changed[u->loop->parent] |= u->inner_changed[n];
    if (u->inner_changed[n]) {
      *again = true;
      continue;
    }
    if (u->loop->block_count > MAX_BLOCKS || block_is_none(u->loop->preheader) ||
        block_is_none(u->loop->latch))
      continue;
    struct plan p = plan_loop(u, n);
    if (u->env->arena->failed || (p.kept && !keep_rolled(u, u->loop))) return false;
    if (p.kind == UNROLL_NOT || !loop_is_closed(&u->nest, f, n)) continue;
    u->inner_changed[u->loop->parent] = true;
    report_plan(u, p);
    if (!(p.kind == UNROLL_RUNTIME ? unroll_with_remainder(u, n, p) : unroll(u, n, p)))
      return false;
  }
  return true;
}

static enum nvm_status run(struct nvm_function *f, struct pass_env *env, bool only_full,
                           bool *changed) {
  struct unroller u = {.f = f, .env = env, .only_full = only_full};
  if (!loop_copy_init(&u.copy, f, env->arena)) return NVM_OUT_OF_MEMORY;
  bool again = true;
  for (uint32_t latch_value = 0; again && latch_value < MAX_ROUNDS; latch_value++) {
    again = false;
    if (!one_round(&u, &again)) return NVM_OUT_OF_MEMORY;
  }
  if (!only_full && (!keep_full_loops_rolled(&u) || !warn_of_loops(&u))) return NVM_OUT_OF_MEMORY;
  *changed = u.changed || u.hinted;
  return NVM_OK;
}

enum nvm_status unroll_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return run(f, env, false, changed);
}

enum nvm_status unroll_full_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return run(f, env, true, changed);
}
