/* The remarks of the loop vectorizer: prices of all factors, the choice, and what was done or why
 * not. */
#include "opt/vectorize/vectorize.h"

static struct nvm_inst_id loop_place(const struct vector_loop *v) {
  return remark_at_block(v->f, v->loop->header);
}

void vreport_text(const struct vector_loop *v, enum remark_kind kind, const char *name,
                  const char *message) {
  remark(v->env, kind, v->f, loop_place(v), name, "%s", message);
}

/* The place of a refusal: the culprit, unless only the loop has a debug location. */
static struct nvm_inst_id refusal_place(const struct vector_loop *v) {
  struct nvm_inst_id loop = loop_place(v), at = v->culprit;
  bool located = v->f->locations.data[at.index].index || !v->f->locations.data[loop.index].index;
  return at.index && located ? at : loop;
}

/* The message without its beginning that says what happened. */
static const char *reason_of(enum vector_refusal r) {
  static const char what[] = "loop not vectorized: ";
  const char *message = vector_refusal_messages[r];
  return strncmp(message, what, sizeof what - 1) == 0 ? message + sizeof what - 1 : message;
}

void vreport_refusal(const struct vector_loop *v, enum vector_refusal r) {
  show_refusal(v, r);
  if (v->histogram)
    vreport_text(v, REMARK_ANALYSIS, vector_refusal_tags[VECTOR_HISTOGRAM],
                 vector_refusal_messages[VECTOR_HISTOGRAM]);
  remark(v->env, REMARK_ANALYSIS, v->f, refusal_place(v), vector_refusal_tags[r], "%s",
         vector_refusal_messages[r]);
  if (v->hints.force == FORCE_ENABLED)
    remark_warn(v->env, v->f, refusal_place(v), DIAG_LOOP_NOT_VECTORIZED, reason_of(r));
  if (v->hints.force == FORCE_ENABLED || r == VECTOR_NOT_BENEFICIAL || r == VECTOR_DISABLED)
    vreport_text(v, REMARK_MISSED,
                 r == VECTOR_DISABLED ? "MissedExplicitlyDisabled" : "MissedDetails",
                 "loop not vectorized");
}

void vreport_too_few(const struct vector_loop *v) {
  show_refusal(v, VECTOR_LOW_TRIP_COUNT);
  vreport_text(v, REMARK_MISSED, "MissedDetails",
               "loop not interleaved: too few iterations for its checks");
}

void vreport_candidate(const struct vector_loop *v, const struct vector_candidate *c) {
  const struct vector_cost *p = &c->price;
  remark(v->env, REMARK_ANALYSIS, v->f, loop_place(v), "VectorizationCost",
         "width %(VectorizationFactor)u, interleave count %(InterleaveCount)u: %(Cost)M issue "
         "slots per iteration (%(Lanes)u at a time: %(Body)D slots issued, %(Wait)D slots of "
         "latency; memory instructions %(Accesses)u, registers %(Registers)u, resident warps "
         "%(Warps)u)",
         (unsigned)c->factor, (unsigned)c->count, (int64_t)c->all, (unsigned)(c->factor * c->count),
         (int64_t)p->body, (int64_t)p->wait, (unsigned)p->accesses, (unsigned)p->registers,
         (unsigned)p->warps);
}

static bool is_choice(const struct vector_loop *v, const struct vector_candidate *c) {
  return c->factor == v->factor && c->count == v->interleave;
}

/* What a candidate is called in a sentence. */
static struct nvm_text candidate_name(const struct vector_loop *v, const struct vector_candidate *c,
                                      struct textbuf *b) {
  textbuf_init(b, v->env->arena);
  if (c->factor * c->count == 1) textbuf_puts(b, "the scalar loop");
  else
    textbuf_format(b, "width %u with interleave count %u", (unsigned)c->factor, (unsigned)c->count);
  return (struct nvm_text){b->bytes, b->length};
}

/* The cheapest candidate but the chosen one; of those that save too little, only if there is no
 * other. */
static const struct vector_candidate *runner_up(const struct vector_loop *v) {
  const struct vector_candidate *best = NULL;
  for (uint32_t k = 0; k < v->candidates.count; k++) {
    const struct vector_candidate *c = &v->candidates.data[k];
    if (is_choice(v, c)) continue;
    if (!best || (best->steps && !c->steps) || (best->steps == c->steps && c->all < best->all))
      best = c;
  }
  return best;
}

void vreport_choice(const struct vector_loop *v) {
  const struct vector_candidate *chosen = NULL, *next = runner_up(v);
  struct textbuf name;
  for (uint32_t k = 0; k < v->candidates.count; k++)
    if (is_choice(v, &v->candidates.data[k])) chosen = &v->candidates.data[k];
  if (!remark_enabled(v->env) || !chosen) return;
  const char *why = !next || next->steps || chosen->all <= next->all ? "cheapest"
                    : next->factor * next->count == 1
                        ? "requested"
                        : "chosen for less code, at most an eighth slower";
  remark(v->env, REMARK_ANALYSIS, v->f, loop_place(v), "VectorizationChoice",
         "%(Choice)t is %s: %(Cost)M issue slots per iteration", candidate_name(v, chosen, &name),
         why, (int64_t)chosen->all);
  if (next)
    remark(v->env, REMARK_ANALYSIS, v->f, loop_place(v), "VectorizationRunnerUp",
           "%(Choice)t is next: %(Cost)M issue slots per iteration%s",
           candidate_name(v, next, &name), (int64_t)next->all,
           !next->steps        ? ""
           : next->factor == 1 ? ", not enough below the unrolled loop"
                               : ", saves too little");
}

void vreport_occupancy(const struct vector_loop *v, uint32_t warps, uint32_t scalar_warps) {
  remark(v->env, REMARK_ANALYSIS, v->f, loop_place(v), "OccupancyStep",
         "registers limit occupancy to %(Warps)u resident warps instead of %(ScalarWarps)u",
         (unsigned)warps, (unsigned)scalar_warps);
}

void vreport_success(const struct vector_loop *v) {
  struct nvm_inst_id at = loop_place(v);
  if (v->factor == 1)
    remark(v->env, REMARK_PASSED, v->f, at, "Interleaved",
           "interleaved loop (interleaved count: %(InterleaveCount)u)", (unsigned)v->interleave);
  else
    remark(v->env, REMARK_PASSED, v->f, at, "Vectorized",
           v->loop->end == v->index + 1
               ? "vectorized loop (vectorization width: %(VectorizationFactor)u, interleaved "
                 "count: %(InterleaveCount)u)"
               : "vectorized outer loop (vectorization width: %(VectorizationFactor)u, interleaved "
                 "count: %(InterleaveCount)u)",
           (unsigned)v->factor, (unsigned)v->interleave);
  if (v->histogram)
    vreport_text(v, REMARK_ANALYSIS, "Histogram",
                 "stores to computed addresses are executed in order");
  if (v->two_versions)
    vreport_text(v, REMARK_ANALYSIS, "AlignedUnlike",
                 "two versions: narrow accesses if the alignments of buffers differ");
  if (v->epilogue_factor)
    remark(v->env, REMARK_ANALYSIS, v->f, at, "EpilogueVectorized",
           "epilogue of width %(EpilogueFactor)u", (unsigned)v->epilogue_factor);
  if (v->predicated)
    remark(v->env, REMARK_ANALYSIS, v->f, at, "PredicatedEpilogue",
           "remainder predicated: up to %(Predicated)u iterations", (unsigned)v->predicated);
  else if ((v->remaining || v->scalar_epilogue) &&
           (v->hints.predicate == FORCE_ENABLED ||
            vl_knob(v, KNOB_PREFER_PREDICATE_OVER_EPILOGUE) == 1))
    vreport_text(v, REMARK_ANALYSIS, "PredicationAvoided",
                 "remainder not predicated: the scalar loop executes it");
}
