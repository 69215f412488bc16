/* The blocks around a vectorized loop, and its run-time checks.
 *
 *   preheader ── too few iterations? ──────────────────────────────┐
 *       │                                                          │
 *   vector.memcheck ── buffers overlap, or aligned differently? ───┤
 *       │                                                          │
 *   peel.* : the first iterations, until accesses are aligned      │
 *       │                                                          │
 *   vector.* : the plan, factor × interleave count at a time       │
 *       │                                                          │
 *   vec.epilog.* : the plan with a smaller factor                  │
 *       │    (both in two versions if alignment is checked: the    │
 *       │     second accesses other groups by element)             │
 *       │                                                          │
 *   remainder.* or vec.epilog.predicated* : the last iterations,   │
 *       │    in a loop or as straight-line code under conditions   │
 *       │                              scalar.ph ◄─────────────────┘
 *     exit ◄──────────────────────── the scalar loop
 *
 * Peeling, the main loop, the epilogue and the remainder are stages of one plan: a stage begins
 * with the state (iterations done, values of header phis) that the previous one ends with. The
 * scalar loop is unchanged, and is unrolled as usual. If its last iteration computes values that
 * are used after the loop, or it is long, there is no remainder stage: the scalar loop continues
 * where the stages end. */
#include "opt/vectorize/execute.h"

#include "opt/loop/loop_tools.h"

enum { MAX_EDGES = VECTORIZE_MAX_LANES + 1 };

/* The state on an edge. */
struct edge_state {
  struct nvm_block from;
  struct nvm_value begin;
  struct nvm_value *values; /* by header phi */
};

struct skeleton {
  struct executor x;
  struct nvm_value taken, total; /* back edges taken; iterations for the stages */
  struct nvm_value conflict;     /* a check failed; VALUE_NULL: no check yet */
  struct nvm_value peeled;       /* iterations to peel; VALUE_NULL: no peeling */
  struct nvm_value alike; /* all groups are aligned if peel_group is; VALUE_NULL: no second version
                           */
  struct nvm_block scalar_ph, memcheck;
  struct edge_state to_scalar[MAX_EDGES];
  uint32_t to_scalar_count;
};

static struct edge_state edge_here(struct skeleton *s, const struct nvm_value *values,
                                   struct nvm_value begin) {
  uint32_t count = s->x.v->phis.count;
  struct edge_state w = {.from = s->x.block, .begin = begin};
  w.values = arena_alloc(s->x.v->env->arena, (count + 1) * sizeof *w.values);
  s->x.failed |= !w.values;
  if (w.values && count) memcpy(w.values, values, count * sizeof *w.values);
  return w;
}

static struct nvm_value merge_value(struct executor *x, const struct edge_state *edges,
                                    uint32_t count, uint32_t phi) {
  struct nvm_value operands[2 * MAX_EDGES];
  bool same = true;
  for (uint32_t k = 0; k < count; k++) {
    operands[2 * k] = phi == UINT32_MAX ? edges[k].begin : edges[k].values[phi];
    operands[2 * k + 1] = value_of_block(edges[k].from);
    same &= value_equal(operands[2 * k], operands[0]);
  }
  if (same || value_is_none(operands[0])) return operands[0];
  return x_emit(x, OP_PHI, 0, value_type(x->v->f, operands[0]), operands, 2 * count, 0);
}

/* Continues in `block` with the merged state of these edges. */
static void enter(struct skeleton *s, struct nvm_block block, const struct edge_state *edges,
                  uint32_t count) {
  struct executor *x = &s->x;
  x->block = block;
  x->origin = (struct nvm_inst_id){0};
  if (x->failed) return;
  x->begin = merge_value(x, edges, count, UINT32_MAX);
  for (uint32_t k = 0; k < x->v->phis.count; k++) {
    x->origin = x->v->phis.data[k].inst;
    if (x->v->phis.data[k].kind != PHI_INDUCTION) x->entry[k] = merge_value(x, edges, count, k);
  }
}

static void fail_if(struct skeleton *s, struct nvm_value condition) {
  s->conflict = x_or(&s->x, s->conflict, condition);
}

static struct nvm_value as_number(struct executor *x, struct nvm_value pointer) {
  return x_emit(x, OP_PTRTOINT, 0, TYPE_I64, &pointer, 1, 0);
}

/* The address of an access in iteration 0, as an integer, from any member of its group that has a
 * recipe; VALUE_NULL: none has. */
static struct nvm_value access_start(struct skeleton *s, uint32_t access) {
  const struct vector_access *a = &s->x.v->accesses.data[access];
  for (uint32_t n = 1; n < s->x.p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(s->x.p, n);
    if (!vplan_is_access(r) ||
        (r->access != access && (a->group == VP_NO_GROUP || r->group != a->group)))
      continue;
    struct nvm_value start = s->x.starts[vplan_operand(s->x.p, r, r->operand_count - 1)];
    return x_add_number(&s->x, as_number(&s->x, start),
                        r->offset + a->offset - s->x.v->accesses.data[r->access].offset);
  }
  return VALUE_NULL;
}

void overlap_bounds(const struct vector_loop *v, const struct overlap_check *c, int64_t *low,
                    int64_t *high) {
  int64_t step = v->accesses.data[c->earlier].step;
  int64_t last = step * (int64_t)(v->factor * v->interleave - 1);
  int64_t first = c->same_iteration ? 0 : step;
  *low = (step < 0 ? last : first) + c->earlier_low - c->later_high;
  *high = (step < 0 ? first : last) + c->earlier_high - c->later_low;
}

/* Same step: the later access must not overlap the earlier one in the next iterations of a vector.
 */
static void check_distance(struct skeleton *s, const struct overlap_check *c, struct nvm_value a,
                           struct nvm_value b) {
  struct executor *x = &s->x;
  int64_t low, high;
  overlap_bounds(x->v, c, &low, &high);
  struct nvm_value distance = x_binary(x, OP_SUB, b, a);
  fail_if(s, x_compare(x, ICMP_ULT, x_add_number(x, distance, -(low + 1)),
                       x_number(x, TYPE_I64, high - low - 1)));
}

static void range_of(struct skeleton *s, uint32_t access, struct nvm_value start, int64_t low,
                     int64_t high, struct nvm_value *first, struct nvm_value *end) {
  struct executor *x = &s->x;
  int64_t step = x->v->accesses.data[access].step;
  struct nvm_value distance_moved =
      x_binary(x, OP_MUL, x_resize(x, s->taken, TYPE_I64), x_number(x, TYPE_I64, step));
  *first = x_add_number(x, step < 0 ? x_binary(x, OP_ADD, start, distance_moved) : start, low);
  *end = x_add_number(x, step > 0 ? x_binary(x, OP_ADD, start, distance_moved) : start, high);
}

static void check_ranges(struct skeleton *s, const struct overlap_check *c, struct nvm_value a,
                         struct nvm_value b) {
  struct executor *x = &s->x;
  struct nvm_value a_first, a_end, b_first, b_end;
  range_of(s, c->earlier, a, c->earlier_low, c->earlier_high, &a_first, &a_end);
  range_of(s, c->later, b, c->later_low, c->later_high, &b_first, &b_end);
  struct nvm_value above = x_compare(x, ICMP_ULT, b_first, a_end);
  fail_if(s, x_binary(x, OP_AND, x_compare(x, ICMP_ULT, a_first, b_end), above));
}

static void check_overlaps(struct skeleton *s) {
  for (uint32_t k = 0; k < s->x.v->checks.count && !s->x.failed; k++) {
    const struct overlap_check *c = &s->x.v->checks.data[k];
    struct nvm_value a = access_start(s, c->earlier), b = access_start(s, c->later);
    if (value_is_none(a) || value_is_none(b)) continue;
    if (c->same_step) check_distance(s, c, a, b);
    else check_ranges(s, c, a, b);
  }
}

static uint32_t width_of(const struct skeleton *s, uint32_t group) {
  const struct vector_loop *v = s->x.v;
  return accesses_width(v, &v->groups.data[group], v->factor * v->interleave);
}

/* The address of the group's wide accesses in iteration 0; VALUE_NULL: not needed. */
static struct nvm_value anchor_of(struct skeleton *s, uint32_t group) {
  const struct access_group *g = &s->x.v->groups.data[group];
  struct nvm_value start = access_start(s, g->first);
  return value_is_none(start)
             ? start
             : x_add_number(&s->x, start, g->anchor - s->x.v->accesses.data[g->first].offset);
}

/* Computes the number of iterations until the group, whose elements are adjacent, is aligned. */
static void count_peeled(struct skeleton *s, uint32_t group) {
  struct executor *x = &s->x;
  const struct access_group *g = &x->v->groups.data[group];
  struct nvm_value at = anchor_of(s, group), zero = x_number(x, TYPE_I64, 0);
  if (g->step > 0) at = x_emit(x, OP_SUB, 0, TYPE_I64, (struct nvm_value[]){zero, at}, 2, 0);
  at = x_binary(x, OP_AND, at, x_number(x, TYPE_I64, width_of(s, group) - 1));
  uint32_t shift = 0;
  while (UINT32_C(1) << shift < g->bytes) shift++;
  s->peeled = shift ? x_binary(x, OP_LSHR, at, x_number(x, TYPE_I64, shift)) : at;
}

static void check_alignment(struct skeleton *s) {
  struct executor *x = &s->x;
  const struct vector_loop *v = x->v;
  struct nvm_value sums[2] = {VALUE_NULL, VALUE_NULL}, zero = x_number(x, TYPE_I64, 0);
  if (v->peel) count_peeled(s, v->peel_group);
  for (uint32_t n = 0; n < v->groups.count && !x->failed; n++) {
    const struct access_group *g = &v->groups.data[n];
    uint32_t width = width_of(s, n);
    struct nvm_value at = g->align_checked ? anchor_of(s, n) : VALUE_NULL;
    if (value_is_none(at)) continue;
    if (v->peel && v->groups.data[v->peel_group].step == g->step &&
        width <= width_of(s, v->peel_group)) {
      at = x_binary(x, OP_SUB, at, anchor_of(s, v->peel_group));
    } else if (v->peel) {
      at = x_binary(x, OP_ADD, at, x_binary(x, OP_MUL, s->peeled, x_number(x, TYPE_I64, g->step)));
    }
    at = x_binary(x, OP_AND, at, x_number(x, TYPE_I64, width - 1));
    struct nvm_value *sum = &sums[v->two_versions && g->align_checked];
    *sum = x_or(x, *sum, at);
  }
  if (!value_is_none(sums[false])) fail_if(s, x_compare(x, ICMP_NE, sums[false], zero));
  if (!value_is_none(sums[true])) s->alike = x_compare(x, ICMP_EQ, sums[true], zero);
}

/* Appends the attributes listed by hint `followup` to operands. */
static bool take_followup(struct nvm_module *m, const struct meta_node *old, const char *followup,
                          struct nvm_meta *operands, uint32_t *count, uint32_t most) {
  bool found = false;
  for (uint32_t k = 1; old && k < old->count; k++) {
    struct nvm_meta o = meta_operand(&m->metadata, old, k);
    if (!text_begins(module_text(m, loops_hint_name(m, o)), followup)) continue;
    const struct meta_node *hint = meta_as_node(&m->metadata, o);
    found = true;
    for (uint32_t n = 1; n < hint->count && *count < most; n++)
      operands[(*count)++] = meta_operand(&m->metadata, hint, n);
  }
  return found;
}

/* A hint without an operand or, with `value`, with 1. */
static struct nvm_meta new_hint(struct executor *x, const char *name, bool value) {
  struct nvm_module *m = x->v->f->module;
  struct nvm_meta operands[2] = {meta_string(&m->metadata, module_str(m, name)),
                                 meta_value(&m->metadata, const_int(m, TYPE_I32, 1), TYPE_I32)};
  uint32_t node = meta_node_new(&m->metadata);
  x->failed |=
      !meta_node_define(&m->metadata, node, (struct nvm_str){0}, false, NULL, operands, 1 + value);
  return meta_node(&m->metadata, node, false);
}

void x_mark_loop(struct executor *x, struct nvm_inst_id latch, const char *followup,
                 bool is_stage) {
  enum { MAX_COUNT = 32 };
  struct nvm_function *f = x->v->f;
  struct nvm_module *m = f->module;
  struct nvm_meta operands[MAX_COUNT + 2], old_hints = x->v->loop->hints;
  uint32_t node = meta_node_new(&m->metadata), count = 1;
  const struct meta_node *old = meta_as_node(&m->metadata, old_hints);
  operands[0] = meta_node(&m->metadata, node, false);
  bool followed = take_followup(m, old, followup, operands, &count, MAX_COUNT);
  followed |=
      take_followup(m, old, "llvm.loop.vectorize.followup_all", operands, &count, MAX_COUNT);
  for (uint32_t k = 1; old && !followed && k < old->count && count < MAX_COUNT; k++) {
    struct nvm_meta h = meta_operand(&m->metadata, old, k);
    struct nvm_text name = module_text(m, loops_hint_name(m, h));
    if (!text_begins(name, "llvm.loop.vectorize.") && !text_begins(name, "llvm.loop.interleave."))
      operands[count++] = h;
  }
  operands[count++] = new_hint(x, "llvm.loop.isvectorized", true);
  if (is_stage) operands[count++] = new_hint(x, "llvm.loop.unroll.runtime.disable", false);
  x->failed |=
      !meta_node_define(&m->metadata, node, (struct nvm_str){0}, true, NULL, operands, count);
  x->failed |= !loop_attach(f, latch, operands[0]);
}

struct stage_names {
  const char *enough, *ph, *body, *middle, *followup;
};
static const struct stage_names peel_names = {"peel.check", "peel.ph", "peel.body", "peel.middle",
                                              "llvm.loop.vectorize.followup_epilogue"};
static const struct stage_names main_names = {"vector.enough", "vector.ph", "vector.body",
                                              "middle.block",
                                              "llvm.loop.vectorize.followup_vectorized"};
static const struct stage_names remainder_names = {"remainder.some", "remainder.ph",
                                                   "remainder.body", "remainder.middle",
                                                   "llvm.loop.vectorize.followup_epilogue"};
static const struct stage_names epilogue_names = {
    "vector.enough", "vec.epilog.ph", "vec.epilog.vector.body", "vec.epilog.middle.block",
    "llvm.loop.vectorize.followup_epilogue"};

/* Emits a stage up to iteration `end`; returns the state after it. */
static struct edge_state emit_loop_stage(struct skeleton *s, uint32_t factor, uint32_t count,
                                         struct nvm_value end, const struct stage_names *names) {
  struct executor *x = &s->x;
  x->factor = factor, x->count = count;
  x->width = factor * count == 1 ? 1 : 32;
  x->origin = (struct nvm_inst_id){0};
  execute_stage(x, end, names->ph, names->body, names->middle);
  if (!x->failed) x_mark_loop(x, block_terminator(x->v->f, x->latch), names->followup, true);
  for (uint32_t k = 0; k < x->v->phis.count; k++)
    if (value_is_none(x->leave[k])) x->leave[k] = x->entry[k];
  return edge_here(s, x->leave, end);
}

/* Emits the next iterations, up to `end` and at most `most`, as straight-line code, each under a
 * condition; continues in `next`. */
static void emit_straight(struct skeleton *s, struct nvm_value end, uint32_t most, const char *name,
                          struct nvm_block next) {
  struct executor *x = &s->x;
  struct arena *arena = x->v->env->arena;
  struct nvm_value *heads = arena_alloc(arena, x->p->recipes.count * sizeof *heads);
  struct edge_state *edges = arena_alloc(arena, (most + 1) * sizeof *edges);
  struct nvm_value left = x_binary(x, OP_SUB, end, x->begin);
  x->failed |= !heads || !edges;
  for (uint32_t k = 0; k < most && !x->failed; k++) {
    struct nvm_block body = x_block(x, name);
    x->origin = (struct nvm_inst_id){0};
    edges[k] = edge_here(s, x->entry, end);
    x_branch(x, x_compare(x, ICMP_EQ, left, x_iterations(x, k)), next, body);
    x->block = body;
    execute_straight(x, k, heads);
    for (uint32_t p = 0; p < x->v->phis.count; p++)
      if (!value_is_none(x->leave[p])) x->entry[p] = x->leave[p];
  }
  if (x->failed) return;
  edges[most] = edge_here(s, x->entry, end);
  x_jump(x, next);
  function_move_block(x->v->f, next, x->before);
  enter(s, next, edges, most + 1);
}

/* The end of the full chunks from x->begin. */
static struct nvm_value full_end(struct skeleton *s, uint32_t chunk) {
  struct executor *x = &s->x;
  struct nvm_value left = x_binary(x, OP_SUB, s->total, x->begin);
  return x_binary(x, OP_ADD, x->begin,
                  x_binary(x, OP_AND, left, x_number(x, x->counter, -(int64_t)chunk)));
}

static void exit_to_scalar(struct skeleton *s, struct nvm_value condition, struct nvm_block next) {
  s->to_scalar[s->to_scalar_count++] = edge_here(s, s->x.entry, s->x.begin);
  x_branch(&s->x, condition, s->scalar_ph, next);
}

/* Emits the checks in a block of their own, followed by vector code. */
static void emit_checks(struct skeleton *s) {
  struct executor *x = &s->x;
  struct nvm_block checks = x_block(x, "vector.memcheck");
  if (x->failed) return;
  struct nvm_value few = x_compare(x, ICMP_ULT, s->total, x_iterations(x, x->v->min_iterations));
  exit_to_scalar(s, few, checks);
  x->block = checks;
  check_overlaps(s);
  check_alignment(s);
  if (!value_is_none(s->peeled)) s->peeled = x_resize(x, s->peeled, x->counter);
  if (value_is_none(s->conflict) || x->failed) return;
  struct nvm_block next =
      x_block(x, value_is_none(s->peeled) ? "vector.main.loop.iter.check" : "peel.iter.check");
  exit_to_scalar(s, s->conflict, next);
  x->block = next;
}

/* Emits a stage, skipped if `few` (VALUE_NULL: never), up to iteration `end` (VALUE_NULL: while
 * there are full chunks; if skipped, `end` has been reached). Continues in x->block, where the
 * edges merge. */
static void emit_stage(struct skeleton *s, uint32_t factor, uint32_t count, struct nvm_value few,
                       struct nvm_value end, const struct stage_names *names,
                       const char *next_name) {
  struct executor *x = &s->x;
  struct edge_state edges[2];
  uint32_t n = 0;
  struct nvm_block next = {0};
  if (!value_is_none(few)) {
    struct nvm_block enough = x_block(x, names->enough);
    edges[n++] = edge_here(s, x->entry, value_is_none(end) ? x->begin : end);
    next = x_block(x, next_name);
    x_branch(x, few, next, enough);
    x->block = enough;
  }
  edges[n++] = emit_loop_stage(s, factor, count,
                               value_is_none(end) ? full_end(s, factor * count) : end, names);
  if (n == 2) x_jump(x, next);
  if (n == 2 && !x->failed) function_move_block(x->v->f, next, x->before);
  enter(s, n == 2 ? next : x->block, edges, n);
}

static void emit_vector(struct skeleton *s, uint32_t factor, uint32_t count,
                        const struct stage_names *names, const char *next_name, bool sure) {
  struct executor *x = &s->x;
  struct nvm_value few = VALUE_NULL, chunk = x_iterations(x, factor * count);
  if (!sure) few = x_compare(x, ICMP_ULT, x_binary(x, OP_SUB, s->total, x->begin), chunk);
  emit_stage(s, factor, count, few, VALUE_NULL, names, next_name);
}

/* Emits the main loop and the epilogue. */
static void emit_vector_stages(struct skeleton *s) {
  const struct vector_loop *v = s->x.v;
  bool sure = v->min_iterations >= v->factor * v->interleave + v->max_peeled;
  emit_vector(s, v->factor, v->interleave, &main_names,
              v->epilogue_factor ? "vec.epilog.iter.check" : "vector.done", sure);
  if (v->epilogue_factor)
    emit_vector(s, v->epilogue_factor, 1, &epilogue_names, "vec.epilog.done", false);
}

/* Emits both for groups that are aligned like peel_group and, out of line, for others. */
static void emit_two_versions(struct skeleton *s) {
  struct executor *x = &s->x;
  struct edge_state before = edge_here(s, x->entry, x->begin), after[2];
  struct nvm_block alike = x_block(x, "vector.alike"), unlike = x_block(x, "vector.unlike"),
                   next = x_block(x, "vectors.done");
  if (x->failed) return;
  x_branch(x, s->alike, alike, unlike);
  for (uint32_t k = 0; k < 2 && !x->failed; k++) {
    x->v->unaligned_version = k == 1;
    x->before = k == 1 ? x->v->loop->header : unlike;
    enter(s, k == 1 ? unlike : alike, &before, 1);
    emit_vector_stages(s);
    after[k] = edge_here(s, x->entry, x->begin);
    x_jump(x, next);
  }
  if (x->failed) return;
  x->before = unlike;
  function_move_block(x->v->f, next, x->before);
  enter(s, next, after, 2);
}

/* The value of a header phi at the end of x->block. */
static struct nvm_value phi_here(struct skeleton *s, uint32_t k) {
  const struct header_phi *p = &s->x.v->phis.data[k];
  s->x.origin = p->inst;
  return p->kind == PHI_INDUCTION ? x_induction_at(&s->x, p, s->x.begin) : s->x.entry[k];
}

/* Adds the final values of header phis to the phis of the exit. */
static void extend_exit_phis(struct skeleton *s, struct nvm_block from) {
  struct vector_loop *v = s->x.v;
  FOR_EACH_PHI (v->f, v->loop->exit, i) {
    struct nvm_value value = phi_incoming(v->f, i, v->loop->latch);
    uint32_t k = 0;
    while (k < v->phis.count && !value_equal(v->phis.data[k].back, value)) k++;
    if (k < v->phis.count && vl_inside(v, value)) value = phi_here(s, k);
    s->x.failed |= value_is_none(value) || !phi_add(v->f, i, value, from);
  }
}

static void enter_old_loop(struct skeleton *s) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  enter(s, s->scalar_ph, s->to_scalar, s->to_scalar_count);
  for (uint32_t p = 0; p < v->phis.count && !x->failed; p++) {
    struct nvm_inst_id i = v->phis.data[p].inst;
    struct nvm_value first = phi_here(s, p);
    if (!x->failed) loop_replace_incoming(v->f, i, v->loop->preheader, first, s->scalar_ph);
  }
  x_jump(x, v->loop->header);
}

/* Computes the values from outside that the loop needs, before it. */
static bool expand_operands(struct skeleton *s, struct nvm_inst_id before) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  s->taken = scev_expand_trip_count(v->scev, v->f, v->index, before);
  if (value_is_none(s->taken)) return false;
  for (uint32_t n = 1; n < x->p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (r->kind != VP_POINTER) continue;
    /* A pointer that iterations may not use can be poison by its flags; its expansion has none. */
    if (r->uniform && !vl_inside(v, r->value) && !v->accesses.data[r->access].conditional) {
      x->starts[n] = r->value;
      continue;
    }
    struct scev a = v->accesses.data[r->access].address;
    struct scev_term *terms = arena_alloc(v->env->arena, (a.count + 1) * sizeof *terms);
    uint32_t count = 0;
    if (!terms) return false;
    for (uint32_t k = 0; k < a.count; k++)
      if (a.terms[k].loop != v->index) terms[count++] = a.terms[k];
    a.terms = terms, a.count = count;
    x->starts[n] = scev_expand(v->scev, v->f, a, before);
    if (value_is_none(x->starts[n])) return false;
  }
  return true;
}

static bool prepare(struct skeleton *s) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  struct arena *arena = v->env->arena;
  x->starts = arena_alloc(arena, x->p->recipes.count * sizeof *x->starts);
  x->entry = arena_alloc(arena, (v->phis.count + 1) * sizeof *x->entry);
  x->leave = arena_alloc(arena, (v->phis.count + 1) * sizeof *x->leave);
  return x->starts && x->entry && x->leave;
}

enum plan_result plan_execute(struct vector_loop *v, const struct vplan *p) {
  struct skeleton s = {.x = {.v = v, .p = p, .before = v->loop->header}};
  struct executor *x = &s.x;
  struct nvm_inst_id jump = block_terminator(v->f, v->loop->preheader);
  if (!prepare(&s)) return PLAN_OUT_OF_MEMORY;
  if (!expand_operands(&s, jump))
    return module_out_of_memory(v->f->module) ? PLAN_OUT_OF_MEMORY : PLAN_NOT_EXPRESSIBLE;
  accesses_align_variables(v);
  inst_remove(v->f, jump);
  v->first_new_block = v->f->blocks.count;
  x->block = v->loop->preheader;
  s.taken = x_count_in(x, s.taken);
  s.total = v->scalar_epilogue ? s.taken : x_binary(x, OP_ADD, s.taken, x_iterations(x, 1));
  x->begin = x_iterations(x, 0);
  for (uint32_t k = 0; k < v->phis.count; k++) x->entry[k] = v->phis.data[k].start;
  s.scalar_ph = x_block(x, v->epilogue_factor ? "vec.epilog.scalar.ph" : "scalar.ph");
  x->scalar_loop = s.scalar_ph;
  emit_checks(&s);
  struct nvm_value zero = x_iterations(x, 0);
  if (!value_is_none(s.peeled) && v->peel_straight)
    emit_straight(&s, s.peeled, v->max_peeled, "peel.row",
                  x_block(x, "vector.main.loop.iter.check"));
  else if (!value_is_none(s.peeled))
    emit_stage(&s, 1, 1, x_compare(x, ICMP_EQ, s.peeled, zero), s.peeled, &peel_names,
               "vector.main.loop.iter.check");
  if (value_is_none(s.alike)) emit_vector_stages(&s);
  else emit_two_versions(&s);
  if (v->own_remainder) {
    if (v->predicated)
      emit_straight(&s, s.total, v->predicated, "vec.epilog.predicated",
                    x_block(x, "vector.all.done"));
    else
      emit_stage(&s, 1, 1, x_compare(x, ICMP_EQ, x->begin, s.total), s.total, &remainder_names,
                 "vector.all.done");
    extend_exit_phis(&s, x->block);
    x_jump(x, v->loop->exit);
  } else if (!v->scalar_epilogue) {
    extend_exit_phis(&s, x->block);
    struct nvm_value all = x_compare(x, ICMP_EQ, x->begin, s.total);
    s.to_scalar[s.to_scalar_count++] = edge_here(&s, x->entry, x->begin);
    x_branch(x, all, v->loop->exit, s.scalar_ph);
  } else {
    s.to_scalar[s.to_scalar_count++] = edge_here(&s, x->entry, x->begin);
    x_jump(x, s.scalar_ph);
  }
  for (uint32_t k = 0; k < x->early_count; k++)
    s.to_scalar[s.to_scalar_count++] =
        (struct edge_state){x->early[k].from, x->early[k].begin, x->entry};
  if (!x->failed) function_move_block(v->f, s.scalar_ph, v->loop->header);
  enter_old_loop(&s);
  if (!x->failed)
    x_mark_loop(x, block_terminator(v->f, v->loop->latch), "llvm.loop.vectorize.followup_epilogue",
                false);
  return x->failed ? PLAN_OUT_OF_MEMORY : PLAN_DONE;
}
