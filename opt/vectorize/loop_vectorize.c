/* loop-vectorize: executes several iterations of a loop at a time.
 *
 * Purpose:   a thread's serial loop over memory gets wide accesses (ld.v2, v4, v8), fewer
 *            instructions around them, packed arithmetic on narrow types, and independent partial
 *            sums.
 * Algorithm: eight phases as in cicc, a function each below: legality (shape, then in full), outer
 *            or inner, trip count and safety, plan and factor, cost model, profit and
 *            interleaving, execution with epilogue, metadata, remarks. Plans are built and priced
 *            before anything is changed. Properties known only at run time (overlap, alignment,
 *            trip count) are checked then; the scalar loop is kept for failed checks and the
 *            remainder.
 * Requires:  loops in simplified, rotated, loop-closed form; others are skipped.
 * Preserves: SSA form, not the control flow.
 * Cost:      analyses once per vectorized loop and function (at most MAX_LOOPS per function),
 *            otherwise about quadratic in the accesses of a body (pairs that may overlap).
 * Omits:     outer loops, except nests of two on request (outer.c); early exits, except searches
 *            (with a knob); conditional scatters; scalable vectors.
 * Tests:     check/vectorize/, exec/vectorize-*, unit/test_vplan.c, bench/vectorize.py. */
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/vectorize/vectorize.h"

#include "target/cost.h"

enum { MAX_LOOPS = 64, MAX_BODY = 1024 };

struct vectorizer {
  struct nvm_function *f;
  struct pass_env *env;
  struct loops loops;
  struct dominance dominance;
  struct scev_env *scev;
  struct alias_env *alias;
  struct uses uses;
  struct vector_tables tables;
  bool *visited; /* by block: its loop has been visited */
  uint32_t visited_count;
};

static bool analyze(struct vectorizer *z) {
  struct arena *a = z->env->arena;
  return flow_loops(z->env->flow, z->f, &z->dominance, &z->loops) &&
         (z->scev = scev_init(z->f, &z->loops, &z->dominance, a)) != NULL &&
         (z->alias = alias_init(z->f, a)) != NULL && uses_build(&z->uses, z->f, a);
}

static struct loop_hint hint(const struct vector_loop *v, const char *name) {
  return loops_hint(v->f, v->loop->hints, name);
}

static bool has_parameter(const struct vector_loop *v, enum pass_parameter p) {
  return v->env->parameters >> p & 1;
}

static void read_hints(struct vector_loop *v) {
  struct vector_hints *h = &v->hints;
  struct loop_hint enable = hint(v, "llvm.loop.vectorize.enable"),
                   width = hint(v, "llvm.loop.vectorize.width");
  struct loop_hint interleave = hint(v, "llvm.loop.interleave.count");
  struct loop_hint scalable = hint(v, "llvm.loop.vectorize.scalable.enable");
  struct loop_hint predicate = hint(v, "llvm.loop.vectorize.predicate.enable");
  bool innermost = v->loop->end == v->index + 1;
  if (enable.given) h->force = enable.value & 1 ? FORCE_ENABLED : FORCE_DISABLED;
  else if (innermost && function_attribute(v->f, ATTR_ALWAYSVECTORIZE)) h->force = FORCE_ENABLED;
  else if (has_parameter(v, PARAMETER_VECTORIZE_FORCED_ONLY)) h->force = FORCE_DISABLED;
  if (width.given) h->width = width.value;
  if (interleave.given) h->interleave = interleave.value;
  else if (has_parameter(v, PARAMETER_INTERLEAVE_FORCED_ONLY)) h->interleave = 1;
  if (h->width == 1 && h->interleave == 1) h->force = FORCE_DISABLED;
  h->scalable = scalable.given && (scalable.value & 1);
  if (predicate.given) h->predicate = predicate.value & 1 ? FORCE_ENABLED : FORCE_DISABLED;
  h->is_vectorized = hint(v, "llvm.loop.isvectorized").given;
}

/* 1: whether the loop can be changed. */
static enum vector_refusal phase_legality(struct vector_loop *v, bool outer,
                                          struct outer_nest **nest, enum nvm_status *status) {
  enum vector_refusal r = legality_check_shape(v);
  if (r != VECTOR_OK) return r;
  return outer ? outer_check(v, nest, status) : legality_check(v, status);
}

/* 2: outer loops only on request. */
static bool phase_dispatch(const struct vector_loop *v, bool *outer) {
  *outer = v->loop->end != v->index + 1;
  return !*outer || vl_knob(v, KNOB_FORCE_VECTOR_WIDTH_OUTER) || v->hints.force == FORCE_ENABLED;
}

/* 3: trip count and attributes. If there are few iterations, only interleaving remains. */
static enum vector_refusal phase_safety(struct vector_loop *v) {
  int64_t width = vl_requested_width(v);
  bool forced = v->hints.force == FORCE_ENABLED || (width > 1 && v->exact_trips >= (uint64_t)width);
  uint64_t most = v->exact_trips               ? v->exact_trips
                  : v->trips.most < UINT64_MAX ? v->trips.most + 1
                                               : UINT64_MAX;
  if (most < (uint64_t)vl_knob(v, KNOB_VECTORIZER_MIN_TRIP_COUNT) && !forced)
    v->interleave_only = true;
  if (function_attribute(v->f, ATTR_NOIMPLICITFLOAT)) return VECTOR_NO_IMPLICIT_FLOAT;
  if (function_attribute(v->f, ATTR_STRICTFP)) return VECTOR_UNSAFE_FP;
  return VECTOR_OK;
}

static enum nvm_status verify(const struct vector_loop *v, const struct vplan *p) {
  uint32_t at;
  v->env->fault = vplan_verify(p, v->f, &at);
  return v->env->fault ? NVM_BUG : NVM_OK;
}

/* In a checking build, a function of this name gets an invalid plan, which the verifier must find.
 */
static void break_plan(const struct vector_loop *v, const struct vplan *p) {
#ifdef NVM_CHECKING
  if (!text_is(module_text(v->f->module, v->f->symbol.name), "test_broken_plan")) return;
  p->operands.data[0] = p->recipes.count - 1;
#else
  (void)v, (void)p;
#endif
}

/* 4 and 5: the plan of all factors; the cost model is vcost.c. */
static enum vector_refusal phase_plan(struct vector_loop *v, struct outer_nest *nest,
                                      struct vplan *p, enum nvm_status *status) {
  if (!(nest ? outer_plan(nest, p) : plan_build(v, 1, MAX_FACTOR, p))) {
    *status = NVM_OUT_OF_MEMORY;
    return VECTOR_OK;
  }
  break_plan(v, p);
  *status = verify(v, p);
  return VECTOR_OK;
}

/* Verifies the final plans of the main loop and the epilogue. */
static enum nvm_status verify_final(const struct vector_loop *v, const struct vplan *p) {
  const uint32_t stages[2][2] = {{v->factor, v->interleave}, {v->epilogue_factor, 1}};
  enum nvm_status status = NVM_OK;
  for (uint32_t k = 0; k < 2 && v->env->verify && status == NVM_OK; k++) {
    struct vplan final;
    if (stages[k][0] == 0) continue;
    if (!vcost_annotate(v, p, stages[k][0], stages[k][1], &final)) return NVM_OUT_OF_MEMORY;
    status = verify(v, &final);
  }
  return status;
}

/* 6: the choice, which knobs and hints override. */
static enum vector_refusal phase_profit(struct vector_loop *v, const struct vplan *p) {
  if (v->hints.scalable && !cost_supports_scalable_vectors())
    vreport_text(v, REMARK_ANALYSIS, "ScalableVFUnfeasible",
                 "Scalable vectorization requested but not supported by the target");
  enum vector_refusal r = vcost_choose(v, p);
  if (r == VECTOR_OK && v->histogram && v->factor == 1)
    r = VECTOR_NOT_BENEFICIAL; /* vreport_refusal() emits the remark */
  if (v->interleave == 1 && vl_requested_count(v) > 1)
    vreport_text(v, REMARK_ANALYSIS, "InterleavingAvoided",
                 "Ignoring UserIC, because interleaving was avoided up front");
  else if (v->interleave == 1 && v->interleave_disabled)
    vreport_text(
        v, REMARK_ANALYSIS, "InterleavingBeneficialButDisabled",
        "the cost-model indicates that interleaving is beneficial but is explicitly disabled or "
        "interleave count is "
        "set to 1");
  else if (v->interleave == 1 && v->hints.interleave == 1)
    vreport_text(
        v, REMARK_ANALYSIS, "InterleavingNotBeneficialAndDisabled",
        "the cost-model indicates that interleaving is not beneficial and is explicitly disabled "
        "or interleave "
        "count is set to 1");
  else if (v->interleave == 1)
    vreport_text(v, REMARK_ANALYSIS, "InterleavingNotBeneficial",
                 "the cost-model indicates that interleaving is not beneficial");
  return r;
}

/* 7: execution, and 8: metadata, loop by loop. *changed is set too if only dead code was added. */
static enum nvm_status phase_execute(struct vector_loop *v, struct vplan *p,
                                     struct outer_nest *nest, bool *changed) {
  enum plan_result done = nest ? outer_execute(nest, p) : plan_execute(v, p);
  if (done == PLAN_OUT_OF_MEMORY) return NVM_OUT_OF_MEMORY;
  *changed = true;
  if (done == PLAN_DONE) show_final(v, p);
  if (done == PLAN_DONE) vreport_success(v), ++*v->env->statistic;
  else vreport_refusal(v, VECTOR_SHAPE);
  return NVM_OK;
}

/* Whether a loop with few iterations is considered for interleaving. */
static bool may_interleave(const struct vector_loop *v) {
  return vl_requested_count(v) > 1 ||
         (vl_requested_count(v) == 0 && accesses_ordered_latency(v) > 0);
}

static enum nvm_status run_phases(struct vector_loop *v, bool outer, bool *changed) {
  enum nvm_status status = NVM_OK;
  struct vplan p;
  struct outer_nest *nest = NULL;
  enum vector_refusal r = phase_legality(v, outer, &nest, &status);
  if (status == NVM_OK && r == VECTOR_OK && v->body_count > MAX_BODY) r = VECTOR_NOT_BENEFICIAL;
  if (status == NVM_OK && r == VECTOR_OK) r = phase_safety(v);
  if (v->interleave_only) vreport_refusal(v, VECTOR_LOW_TRIP_COUNT);
  if (v->interleave_only && (outer || !may_interleave(v))) return status;
  if (status == NVM_OK && r == VECTOR_OK) r = phase_plan(v, nest, &p, &status);
  if (status == NVM_OK && r == VECTOR_OK) show_initial(v, &p);
  if (status == NVM_OK && r == VECTOR_OK && !outer) {
    r = phase_profit(v, &p);
    show_costs(v);
  }
  if (status == NVM_OK && r == VECTOR_OK) status = verify_final(v, &p);
  if (status == NVM_OK && r == VECTOR_OK) status = phase_execute(v, &p, nest, changed);
  else if (status == NVM_OK && !v->interleave_only) vreport_refusal(v, r);
  else if (status == NVM_OK && r == VECTOR_LOW_TRIP_COUNT) vreport_too_few(v);
  return status;
}

static enum nvm_status visit(struct vectorizer *z, uint32_t index, bool *changed) {
  struct vector_loop v = {.f = z->f,
                          .tables = &z->tables,
                          .env = z->env,
                          .loops = &z->loops,
                          .dominance = &z->dominance,
                          .scev = z->scev,
                          .alias = z->alias,
                          .uses = z->uses,
                          .index = index,
                          .loop = &z->loops.data[index]};
  bool outer;
  read_hints(&v);
  if (v.hints.is_vectorized) return NVM_OK;
  if (v.hints.force == FORCE_DISABLED) {
    vreport_refusal(&v, VECTOR_DISABLED);
    return NVM_OK;
  }
  if (v.hints.force != FORCE_ENABLED && pass_size_effort(z->env, z->f) > 0) {
    vreport_refusal(&v, VECTOR_NOT_BENEFICIAL); /* copies of the body, remainder, checks */
    return NVM_OK;
  }
  if (!phase_dispatch(&v, &outer)) return NVM_OK;
  enum nvm_status status = run_phases(&v, outer, changed);
  legality_clear_tables(&v);
  return status;
}

/* The next loop that was not visited, outer loops first; 0: none. */
static uint32_t next_loop(struct vectorizer *z) {
  for (uint32_t n = 1; n <= z->loops.count; n++) {
    uint32_t header = z->loops.data[n].header.index;
    if (header < z->visited_count && !z->visited[header]) return n;
  }
  return 0;
}

static enum nvm_status visit_loops(struct vectorizer *z, bool *changed) {
  if (!analyze(z)) return NVM_OUT_OF_MEMORY;
  for (uint32_t n, done = 0; done < MAX_LOOPS && (n = next_loop(z)) != 0;) {
    bool changes = false;
    z->visited[z->loops.data[n].header.index] = true;
    enum nvm_status status = visit(z, n, &changes);
    if (status != NVM_OK) return status;
    if (!changes) continue;
    *changed = true;
    done++;
    flow_invalidate(z->env->flow);
    arena_reset(z->env->arena);
    if (!analyze(z)) return NVM_OUT_OF_MEMORY;
  }
  return NVM_OK;
}

enum nvm_status loop_vectorize_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct pass_env own = *env; /* with an arena for the analyses and plans until the next change */
  struct arena until_change;
  struct vectorizer z = {
      .f = f, .env = &own, .tables = {.arena = env->arena}, .visited_count = f->blocks.count};
  if (!env->knobs->value[KNOB_VECTORIZE_LOOPS] || function_attribute(f, ATTR_OPTNONE))
    return NVM_OK;
  z.visited = arena_alloc(env->arena, z.visited_count * sizeof *z.visited);
  if (!z.visited) return NVM_OUT_OF_MEMORY;
  arena_init_reused(&until_change, env->arena->allocator);
  own.arena = &until_change;
  enum nvm_status status = visit_loops(&z, changed);
  env->fault = own.fault;
  arena_free(&until_change);
  return status;
}
