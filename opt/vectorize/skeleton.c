/* The blocks around a vectorized loop, and its run-time checks.
 *
 *   preheader ── too few iterations? ──────────────────────────────┐
 *       │                                                          │
 *   vector.memcheck ── buffers overlap, or not aligned alike? ─────┤
 *       │                                                          │
 *   peel.* : the first iterations one by one, until accesses are   │
 *       │    aligned                                               │
 *   vector.* : the plan, factor × interleave count at a time       │
 *       │                                                          │
 *   vec.epilog.* : the plan with a smaller factor                  │
 *       │    (both twice: where other accesses are not aligned like│
 *       │     those, these go element by element)                  │
 *       │                                                          │
 *   remainder.* or vec.epilog.predicated* : the last iterations    │
 *       │    one by one, in a loop or in a row under conditions     │
 *       │                              scalar.ph ◄─────────────────┘
 *     exit ◄──────────────────────── the old loop
 *
 * Peeling, the main loop, the epilogue and the remainder are stages of one plan: what a stage
 * leaves (iterations done, the values of the header's phis) is what the next begins with. The old
 * loop is left as it was, and unrolled as if nobody had vectorized it. Where its last iteration
 * computes what is used after the loop, or it is long, there is no stage for the remainder: the old
 * loop goes on where the stages stopped. */
#include "opt/vectorize/execute.h"

#include "opt/loop/loop_tools.h"

enum { MOST_WAYS = VECTORIZE_MOST_LANES + 1 };

/* The state on one way into a block. */
struct way {
  struct nvm_block from;
  struct nvm_value begin;
  struct nvm_value *values; /* by header phi */
};

struct skeleton {
  struct executor x;
  struct nvm_value taken, total; /* back edges taken; iterations that stages may do */
  struct nvm_value conflict;     /* some check failed; VALUE_NULL: none yet */
  struct nvm_value peeled;       /* iterations to peel; VALUE_NULL: none */
  struct nvm_value alike; /* all groups are aligned when the ruling one is; VALUE_NULL: they are, or
                             it is a conflict */
  struct nvm_block scalar_ph, memcheck;
  struct way to_scalar[MOST_WAYS];
  uint32_t to_scalar_count;
};

static struct way way_here(struct skeleton *s, const struct nvm_value *values,
                           struct nvm_value begin) {
  uint32_t count = s->x.v->phis.count;
  struct way w = {.from = s->x.block, .begin = begin};
  w.values = arena_alloc(s->x.v->env->arena, (count + 1) * sizeof *w.values);
  s->x.failed |= !w.values;
  if (w.values && count) memcpy(w.values, values, count * sizeof *w.values);
  return w;
}

static struct nvm_value merge_value(struct executor *x, const struct way *ways, uint32_t count,
                                    uint32_t phi) {
  struct nvm_value operands[2 * MOST_WAYS];
  bool same = true;
  for (uint32_t k = 0; k < count; k++) {
    operands[2 * k] = phi == UINT32_MAX ? ways[k].begin : ways[k].values[phi];
    operands[2 * k + 1] = value_of_block(ways[k].from);
    same &= value_equal(operands[2 * k], operands[0]);
  }
  if (same || value_is_none(operands[0])) return operands[0];
  return x_emit(x, OP_PHI, 0, value_type(x->v->f, operands[0]), operands, 2 * count, 0);
}

/* Goes on in `block`, where these ways meet. */
static void enter(struct skeleton *s, struct nvm_block block, const struct way *ways,
                  uint32_t count) {
  struct executor *x = &s->x;
  x->block = block;
  x->origin = (struct nvm_inst_id){0};
  if (x->failed) return;
  x->begin = merge_value(x, ways, count, UINT32_MAX);
  for (uint32_t k = 0; k < x->v->phis.count; k++) {
    x->origin = x->v->phis.data[k].inst;
    if (x->v->phis.data[k].kind != PHI_INDUCTION) x->entry[k] = merge_value(x, ways, count, k);
  }
}

/* --- checks -------------------------------------------------------------------------------------
 */

static void fail_if(struct skeleton *s, struct nvm_value condition) {
  s->conflict =
      value_is_none(s->conflict) ? condition : x_binary(&s->x, OP_OR, s->conflict, condition);
}

static struct nvm_value as_number(struct executor *x, struct nvm_value pointer) {
  return x_emit(x, OP_PTRTOINT, 0, TYPE_I64, &pointer, 1, 0);
}

static struct nvm_value plus(struct executor *x, struct nvm_value a, int64_t b) {
  return x_binary(x, OP_ADD, a, x_number(x, TYPE_I64, b));
}

/* The address of an access in iteration 0, as a number, from whichever member of its group has a
 * recipe; VALUE_NULL: nobody needs the access, nor its group. */
static struct nvm_value access_start(struct skeleton *s, uint32_t access) {
  const struct vector_access *a = &s->x.v->accesses.data[access];
  for (uint32_t n = 1; n < s->x.p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(s->x.p, n);
    if ((r->kind != VP_LOAD && r->kind != VP_STORE) ||
        (r->access != access && (a->group == VP_NO_GROUP || r->group != a->group)))
      continue;
    struct nvm_value start = s->x.starts[vplan_operand(s->x.p, r, r->operand_count - 1)];
    return plus(&s->x, as_number(&s->x, start),
                r->offset + a->offset - s->x.v->accesses.data[r->access].offset);
  }
  return VALUE_NULL;
}

/* Both move by s: the later must not be where the earlier gets within the next iterations of a
 * vector. */
static void check_near(struct skeleton *s, const struct overlap_check *c, struct nvm_value a,
                       struct nvm_value b) {
  struct executor *x = &s->x;
  int64_t step = x->v->accesses.data[c->earlier].step;
  int64_t last = step * (int64_t)(x->v->factor * x->v->interleave - 1);
  int64_t first = c->same_iteration ? 0 : step;
  int64_t low = (step < 0 ? last : first) + c->earlier_low - c->later_high;
  int64_t high = (step < 0 ? first : last) + c->earlier_high - c->later_low;
  struct nvm_value distance = x_binary(x, OP_SUB, b, a);
  fail_if(s, x_compare(x, ICMP_ULT, plus(x, distance, -(low + 1)),
                       x_number(x, TYPE_I64, high - low - 1)));
}

static void range_of(struct skeleton *s, uint32_t access, struct nvm_value start, int64_t low,
                     int64_t high, struct nvm_value *first, struct nvm_value *end) {
  struct executor *x = &s->x;
  int64_t step = x->v->accesses.data[access].step;
  struct nvm_value way =
      x_binary(x, OP_MUL, x_resize(x, s->taken, TYPE_I64), x_number(x, TYPE_I64, step));
  *first = plus(x, step < 0 ? x_binary(x, OP_ADD, start, way) : start, low);
  *end = plus(x, step > 0 ? x_binary(x, OP_ADD, start, way) : start, high);
}

static void check_far(struct skeleton *s, const struct overlap_check *c, struct nvm_value a,
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
    if (c->near) check_near(s, c, a, b);
    else check_far(s, c, a, b);
  }
}

/* --- alignment ----------------------------------------------------------------------------------
 */

static uint32_t width_of(const struct skeleton *s, uint32_t group) {
  const struct vector_loop *v = s->x.v;
  return accesses_width(v, &v->groups.data[group], v->factor * v->interleave);
}

/* Where the group's wide accesses begin, in iteration 0; VALUE_NULL: nobody needs it. */
static struct nvm_value anchor_of(struct skeleton *s, uint32_t group) {
  const struct access_group *g = &s->x.v->groups.data[group];
  struct nvm_value start = access_start(s, g->first);
  return value_is_none(start)
             ? start
             : plus(&s->x, start, g->anchor - s->x.v->accesses.data[g->first].offset);
}

/* Iterations until the group is aligned: its elements are next to each other. */
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
    struct nvm_value at = g->asked ? anchor_of(s, n) : VALUE_NULL;
    if (value_is_none(at)) continue;
    if (v->peel && v->groups.data[v->peel_group].step == g->step &&
        width <= width_of(s, v->peel_group)) {
      at = x_binary(x, OP_SUB, at, anchor_of(s, v->peel_group));
    } else if (v->peel) {
      at = x_binary(x, OP_ADD, at, x_binary(x, OP_MUL, s->peeled, x_number(x, TYPE_I64, g->step)));
    }
    at = x_binary(x, OP_AND, at, x_number(x, TYPE_I64, width - 1));
    struct nvm_value *sum = &sums[v->twofold && g->asked];
    *sum = value_is_none(*sum) ? at : x_binary(x, OP_OR, *sum, at);
  }
  if (!value_is_none(sums[false])) fail_if(s, x_compare(x, ICMP_NE, sums[false], zero));
  if (!value_is_none(sums[true])) s->alike = x_compare(x, ICMP_EQ, sums[true], zero);
}

/* --- metadata -----------------------------------------------------------------------------------
 */

/* The attributes that hint `followup` of the old loop lists, appended to operands. */
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

/* A hint without operands or, with `value`, with 1. */
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
  enum { MOST = 32 };
  struct nvm_function *f = x->v->f;
  struct nvm_module *m = f->module;
  struct nvm_meta operands[MOST + 2], old_hints = x->v->loop->hints;
  uint32_t node = meta_node_new(&m->metadata), count = 1;
  const struct meta_node *old = meta_as_node(&m->metadata, old_hints);
  operands[0] = meta_node(&m->metadata, node, false);
  bool followed = take_followup(m, old, followup, operands, &count, MOST);
  followed |= take_followup(m, old, "llvm.loop.vectorize.followup_all", operands, &count, MOST);
  for (uint32_t k = 1; old && !followed && k < old->count && count < MOST; k++) {
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

/* --- stages -------------------------------------------------------------------------------------
 */

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

/* Emits a stage up to iteration `end` and returns the way that leaves it. */
static struct way run_stage(struct skeleton *s, uint32_t factor, uint32_t count,
                            struct nvm_value end, const struct stage_names *names) {
  struct executor *x = &s->x;
  x->factor = factor, x->count = count;
  x->width = factor * count == 1 ? 1 : 32;
  x->origin = (struct nvm_inst_id){0};
  stage_emit(x, end, names->ph, names->body, names->middle);
  if (!x->failed) x_mark_loop(x, block_terminator(x->v->f, x->latch), names->followup, true);
  for (uint32_t k = 0; k < x->v->phis.count; k++)
    if (value_is_none(x->leave[k])) x->leave[k] = x->entry[k];
  return way_here(s, x->leave, end);
}

/* The next iterations, at most `most` and until `end`, in a row, each only if there is one more;
 * behind them x->block, which is `next`. */
static void emit_row(struct skeleton *s, struct nvm_value end, uint32_t most, const char *name,
                     struct nvm_block next) {
  struct executor *x = &s->x;
  struct arena *arena = x->v->env->arena;
  struct nvm_value *heads = arena_alloc(arena, x->p->recipes.count * sizeof *heads);
  struct way *ways = arena_alloc(arena, (most + 1) * sizeof *ways);
  struct nvm_value left = x_binary(x, OP_SUB, end, x->begin);
  x->failed |= !heads || !ways;
  for (uint32_t k = 0; k < most && !x->failed; k++) {
    struct nvm_block body = x_block(x, name);
    x->origin = (struct nvm_inst_id){0};
    ways[k] = way_here(s, x->entry, end);
    x_branch(x, x_compare(x, ICMP_EQ, left, x_iterations(x, k)), next, body);
    x->block = body;
    straight_emit(x, k, heads);
    for (uint32_t p = 0; p < x->v->phis.count; p++)
      if (!value_is_none(x->leave[p])) x->entry[p] = x->leave[p];
  }
  if (x->failed) return;
  ways[most] = way_here(s, x->entry, end);
  x_jump(x, next);
  function_move_block(x->v->f, next, x->before);
  enter(s, next, ways, most + 1);
}

/* The iteration up to which full chunks go, from x->begin on. */
static struct nvm_value full_end(struct skeleton *s, uint32_t chunk) {
  struct executor *x = &s->x;
  struct nvm_value left = x_binary(x, OP_SUB, s->total, x->begin);
  return x_binary(x, OP_ADD, x->begin,
                  x_binary(x, OP_AND, left, x_number(x, x->counter, -(int64_t)chunk)));
}

static void leave_to_scalar(struct skeleton *s, struct nvm_value condition, struct nvm_block next) {
  s->to_scalar[s->to_scalar_count++] = way_here(s, s->x.entry, s->x.begin);
  x_branch(&s->x, condition, s->scalar_ph, next);
}

/* Checks, in a block of their own; behind it the loop may be vectorized. */
static void emit_checks(struct skeleton *s) {
  struct executor *x = &s->x;
  struct nvm_block checks = x_block(x, "vector.memcheck");
  if (x->failed) return;
  struct nvm_value few = x_compare(x, ICMP_ULT, s->total, x_iterations(x, x->v->least_iterations));
  leave_to_scalar(s, few, checks);
  x->block = checks;
  check_overlaps(s);
  check_alignment(s);
  if (!value_is_none(s->peeled)) s->peeled = x_resize(x, s->peeled, x->counter);
  if (value_is_none(s->conflict) || x->failed) return;
  struct nvm_block next =
      x_block(x, value_is_none(s->peeled) ? "vector.main.loop.iter.check" : "peel.iter.check");
  leave_to_scalar(s, s->conflict, next);
  x->block = next;
}

/* A stage, unless there are too `few` iterations for it (VALUE_NULL: there are not), up to
 * iteration `end`, where it already is if there are too few (VALUE_NULL: while there are full
 * chunks); behind it x->block, where the ways meet. */
static void emit_stage(struct skeleton *s, uint32_t factor, uint32_t count, struct nvm_value few,
                       struct nvm_value end, const struct stage_names *names,
                       const char *next_name) {
  struct executor *x = &s->x;
  struct way ways[2];
  uint32_t n = 0;
  struct nvm_block next = {0};
  if (!value_is_none(few)) {
    struct nvm_block enough = x_block(x, names->enough);
    ways[n++] = way_here(s, x->entry, value_is_none(end) ? x->begin : end);
    next = x_block(x, next_name);
    x_branch(x, few, next, enough);
    x->block = enough;
  }
  ways[n++] =
      run_stage(s, factor, count, value_is_none(end) ? full_end(s, factor * count) : end, names);
  if (n == 2) x_jump(x, next);
  if (n == 2 && !x->failed) function_move_block(x->v->f, next, x->before);
  enter(s, n == 2 ? next : x->block, ways, n);
}

static void emit_vector(struct skeleton *s, uint32_t factor, uint32_t count,
                        const struct stage_names *names, const char *next_name, bool sure) {
  struct executor *x = &s->x;
  struct nvm_value few = VALUE_NULL, chunk = x_iterations(x, factor * count);
  if (!sure) few = x_compare(x, ICMP_ULT, x_binary(x, OP_SUB, s->total, x->begin), chunk);
  emit_stage(s, factor, count, few, VALUE_NULL, names, next_name);
}

/* The main loop and the epilogue. */
static void emit_vectors(struct skeleton *s) {
  const struct vector_loop *v = s->x.v;
  bool sure = v->least_iterations >= v->factor * v->interleave + v->peel_most;
  emit_vector(s, v->factor, v->interleave, &main_names,
              v->epilogue_factor ? "vec.epilog.iter.check" : "vector.done", sure);
  if (v->epilogue_factor)
    emit_vector(s, v->epilogue_factor, 1, &epilogue_names, "vec.epilog.done", false);
}

/* Both for groups that are aligned alike and, out of the way, for others. */
static void emit_twice(struct skeleton *s) {
  struct executor *x = &s->x;
  struct way before = way_here(s, x->entry, x->begin), after[2];
  struct nvm_block alike = x_block(x, "vector.alike"), unlike = x_block(x, "vector.unlike"),
                   next = x_block(x, "vectors.done");
  if (x->failed) return;
  x_branch(x, s->alike, alike, unlike);
  for (uint32_t k = 0; k < 2 && !x->failed; k++) {
    x->v->unlike = k == 1;
    x->before = k == 1 ? x->v->loop->header : unlike;
    enter(s, k == 1 ? unlike : alike, &before, 1);
    emit_vectors(s);
    after[k] = way_here(s, x->entry, x->begin);
    x_jump(x, next);
  }
  if (x->failed) return;
  x->before = unlike;
  function_move_block(x->v->f, next, x->before);
  enter(s, next, after, 2);
}

/* --- the ends -----------------------------------------------------------------------------------
 */

/* What a phi of the header is in front of x->block's end. */
static struct nvm_value phi_here(struct skeleton *s, uint32_t k) {
  const struct header_phi *p = &s->x.v->phis.data[k];
  s->x.origin = p->inst;
  return p->kind == PHI_INDUCTION ? induction_at(&s->x, p, s->x.begin) : s->x.entry[k];
}

/* Values used after the loop: what phis have at last. */
static void extend_exit_phis(struct skeleton *s, struct nvm_block from) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  FOR_EACH_INST(v->f, v->loop->exit, i) {
    const struct nvm_inst *phi = vl_inst(v, i);
    if (phi->op != OP_PHI) break;
    struct nvm_value value = VALUE_NULL;
    for (uint32_t k = 0; k < phi->operand_count; k += 2)
      if (value_index(inst_operand(v->f, phi, k + 1)) == v->loop->latch.index)
        value = inst_operand(v->f, phi, k);
    for (uint32_t k = 0; k < v->phis.count; k++)
      if (vl_inside(v, value) && value_equal(v->phis.data[k].back, value)) {
        value = phi_here(s, k);
        break;
      }
    x->failed |= value_is_none(value) || !inst_add_operand(v->f, i, value) ||
                 !inst_add_operand(v->f, i, value_of_block(from));
    if (x->failed) return;
  }
}

static void enter_old_loop(struct skeleton *s) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  enter(s, s->scalar_ph, s->to_scalar, s->to_scalar_count);
  for (uint32_t p = 0; p < v->phis.count && !x->failed; p++) {
    struct nvm_inst_id i = v->phis.data[p].inst;
    struct nvm_value first = phi_here(s, p);
    for (uint32_t k = 0; k < 4 && !x->failed; k += 2) {
      if (value_index(inst_operand(v->f, vl_inst(v, i), k + 1)) != v->loop->preheader.index)
        continue;
      inst_set_operand(v->f, i, k, first);
      inst_set_operand(v->f, i, k + 1, value_of_block(s->scalar_ph));
    }
  }
  x_jump(x, v->loop->header);
}

/* What the loop needs from outside, computed in front of it. */
static bool expand_all(struct skeleton *s, struct nvm_inst_id before) {
  struct executor *x = &s->x;
  struct vector_loop *v = x->v;
  s->taken = scev_expand_trip_count(v->scev, v->f, v->index, before);
  if (value_is_none(s->taken)) return false;
  for (uint32_t n = 1; n < x->p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (r->kind != VP_POINTER) continue;
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
  if (!expand_all(&s, jump))
    return module_out_of_memory(v->f->module) ? PLAN_OUT_OF_MEMORY : PLAN_NOT_EXPRESSIBLE;
  inst_remove(v->f, jump);
  x->block = v->loop->preheader;
  s.taken = x_count_in(x, s.taken);
  s.total = v->scalar_epilogue ? s.taken : x_binary(x, OP_ADD, s.taken, x_iterations(x, 1));
  x->begin = x_iterations(x, 0);
  for (uint32_t k = 0; k < v->phis.count; k++) x->entry[k] = v->phis.data[k].start;
  s.scalar_ph = x_block(x, v->epilogue_factor ? "vec.epilog.scalar.ph" : "scalar.ph");
  x->old_loop = s.scalar_ph;
  emit_checks(&s);
  struct nvm_value zero = x_iterations(x, 0);
  if (!value_is_none(s.peeled) && v->peel_in_row)
    emit_row(&s, s.peeled, v->peel_most, "peel.row", x_block(x, "vector.main.loop.iter.check"));
  else if (!value_is_none(s.peeled))
    emit_stage(&s, 1, 1, x_compare(x, ICMP_EQ, s.peeled, zero), s.peeled, &peel_names,
               "vector.main.loop.iter.check");
  if (value_is_none(s.alike)) emit_vectors(&s);
  else emit_twice(&s);
  if (v->own_remainder) {
    if (v->predicated)
      emit_row(&s, s.total, v->predicated, "vec.epilog.predicated", x_block(x, "vector.all.done"));
    else
      emit_stage(&s, 1, 1, x_compare(x, ICMP_EQ, x->begin, s.total), s.total, &remainder_names,
                 "vector.all.done");
    extend_exit_phis(&s, x->block);
    x_jump(x, v->loop->exit);
  } else if (!v->scalar_epilogue) {
    extend_exit_phis(&s, x->block);
    struct nvm_value all = x_compare(x, ICMP_EQ, x->begin, s.total);
    s.to_scalar[s.to_scalar_count++] = way_here(&s, x->entry, x->begin);
    x_branch(x, all, v->loop->exit, s.scalar_ph);
  } else {
    s.to_scalar[s.to_scalar_count++] = way_here(&s, x->entry, x->begin);
    x_jump(x, s.scalar_ph);
  }
  for (uint32_t k = 0; k < x->early_count; k++)
    s.to_scalar[s.to_scalar_count++] = (struct way){x->early[k].from, x->early[k].begin, x->entry};
  if (!x->failed) function_move_block(v->f, s.scalar_ph, v->loop->header);
  enter_old_loop(&s);
  if (!x->failed)
    x_mark_loop(x, block_terminator(v->f, v->loop->latch), "llvm.loop.vectorize.followup_epilogue",
                false);
  return x->failed ? PLAN_OUT_OF_MEMORY : PLAN_DONE;
}
