/* Outer loops: `factor` iterations of a nest of two at a time, on request.
 *
 *   for i: A; for j: B; C    becomes    for i by 4: A A A A; for j: B B B B; C C C C
 *                                       and the original nest
 *
 * Like unroll-and-jam, but each instruction is executed for all lanes before the next. The plan has
 * a recipe for each, by lane, or uniform if equal in all lanes: the inner loop's control, loads
 * from invariant addresses. The load-store vectorizer merges accesses of adjacent lanes; their
 * alignment is known, or checked at run time. The original nest is executed if a check fails, and
 * for the remainder.
 *
 * Order: with d the distance of two lanes, U in iterations (i, j) must not access the same bytes
 * as W in (i + d, j + k) if W now executes first: if k < 0, or k = 0 and U comes after W. Accesses
 * with equal steps are distinguished by their distance, others by their ranges in the whole nest.
 */
#include "opt/vectorize/execute.h"

#include "ir/build.h"
#include "ir/intrinsic.h"
#include "analysis/effects.h"
#include "opt/loop/loop_tools.h"

enum {
  OUTER = 0,
  INNER = 1,
  USUAL_FACTOR = 4,
  MAX_NEST = 1024 /* instructions, all lanes */,
  MAX_OPERANDS = 64
};
static const int64_t max_step = INT64_C(1) << 40; /* bytes; more than any memory */

/* An access in the nest, besides its struct vector_access. */
struct nest_access {
  struct scev start, steps[2]; /* the address in the first iterations, and its steps in bytes */
  bool affine, in_inner, needed_at_run_time; /* affine: start and steps are known before the nest;
                                                needed: also at run time */
  uint32_t width;                            /* alignment of lane 0 in bytes; 0: unchanged */
  struct nvm_value first, by[2];             /* start and steps at run time */
};

struct outer_nest {
  struct executor x;
  uint32_t inner, factor;
  struct nvm_block inner_block;
  struct trip_count trips;       /* of the inner loop */
  struct nest_access *accesses;  /* as v->accesses */
  bool *uniform;                 /* by instruction: equal in all lanes */
  VEC(struct nvm_inst_id) skips; /* branches around the inner loop */
  uint32_t *recipe_of;           /* by instruction */
  struct nvm_value conflict;     /* a check failed; VALUE_NULL: no check yet */
};

/* The predecessor, on the path that is executed, of a block after the outer header. */
static struct nvm_block chain_predecessor(const struct vector_loop *v, struct nvm_block b) {
  const struct nvm_block *blocks = v->loops->blocks + v->loop->first_block;
  for (uint32_t k = 1; k < v->loop->block_count; k++)
    if (blocks[k].index == b.index) return blocks[k - 1];
  return (struct nvm_block){0};
}

/* Whether the blocks form a chain with an inner loop of one block; branches may skip it on a
 * condition that is invariant in the nest. */
static bool find_chain(struct outer_nest *n) {
  const struct vector_loop *v = n->x.v;
  const struct loop *inner = &v->loops->data[n->inner];
  if (v->loop->end != v->index + 2 || inner->block_count != 1 ||
      inner->exiting.index != inner->header.index)
    return false;
  n->inner_block = inner->header;
  for (uint32_t k = 0; k + 1 < v->loop->block_count; k++) {
    struct nvm_block b = v->loops->blocks[v->loop->first_block + k];
    struct nvm_inst_id end = block_terminator(v->f, b);
    bool leads = false;
    for (uint32_t s = 0; s < block_successor_count(v->f, b); s++)
      leads |= chain_predecessor(v, block_successor(v->f, b, s)).index == b.index;
    if (!leads) return false;
    if (vl_inst(v, end)->op == OP_BR || b.index == n->inner_block.index) continue;
    if (!loops_is_invariant(v->loops, v->f, v->index, inst_operand(v->f, vl_inst(v, end), 0)))
      return false;
    if (!VEC_PUSH(v->env->arena, &n->skips, end)) n->x.failed = true;
  }
  return true;
}

static bool is_within(struct scev s, int64_t most) {
  return scev_is_constant(s) && s.constant <= most && s.constant >= -most;
}

/* Whether the trip count of the inner loop is invariant in the outer one. */
static bool has_invariant_trip_count(const struct outer_nest *n) {
  const struct vector_loop *v = n->x.v;
  const struct trip_count *t = &n->trips;
  return scev_is_invariant(v->scev, t->taken, v->index) &&
         (t->guarded || (scev_is_invariant(v->scev, t->first, v->index) &&
                         scev_is_invariant(v->scev, t->bound, v->index)));
}

/* The value of a phi after the headers. */
static struct nvm_value chained_value(const struct vector_loop *v, struct nvm_inst_id phi) {
  return phi_incoming(v->f, phi, chain_predecessor(v, vl_inst(v, phi)->block));
}

/* Marks values that are equal in all lanes: inductions of the inner loop, loads from invariant
 * addresses, and what depends only on these. */
static void find_uniform(struct outer_nest *n) {
  const struct vector_loop *v = n->x.v;
  for (uint32_t k = 0; k < v->body_count; k++) {
    struct nvm_inst_id id = v->body[k];
    const struct nvm_inst *i = vl_inst(v, id);
    const struct nest_access *a =
        v->access_of[id.index] ? &n->accesses[v->access_of[id.index] - 1] : NULL;
    bool same = i->op != OP_STORE,
         header = i->op == OP_PHI && i->block.index == v->loop->header.index;
    for (uint32_t o = 0; o < i->operand_count && same; o++) {
      struct nvm_value x = inst_operand(v->f, i, o);
      same = !vl_inside(v, x) || n->uniform[value_index(x)];
    }
    if (i->op == OP_LOAD && a->affine) same |= is_within(a->steps[OUTER], 0);
    if (i->op == OP_PHI && i->block.index == n->inner_block.index) {
      struct scev s = scev_of(v->scev, value_of_inst(id));
      int64_t step;
      same = s.width && scev_step(v->scev, s, n->inner, &step) &&
             scev_is_invariant(v->scev, scev_at_start(v->scev, s, n->inner), v->index);
    }
    n->uniform[id.index] = same && !header;
  }
}

/* The step of the address in the loop. */
static struct scev step_of(struct outer_nest *n, struct scev a, uint32_t loop) {
  struct scev step = {.width = a.width};
  struct scev_term *terms = arena_alloc(n->x.v->env->arena, (a.count + 1) * sizeof *terms);
  n->x.failed |= !terms;
  for (uint32_t k = 0; k < a.count && terms; k++) {
    if (a.terms[k].loop != loop) continue;
    terms[step.count] = a.terms[k];
    terms[step.count].loop = 0;
    if (value_is_none(a.terms[k].symbol)) step.constant = a.terms[k].coefficient;
    else step.count++;
  }
  step.terms = terms;
  return step;
}

static void describe(struct outer_nest *n, uint32_t at) {
  struct vector_loop *v = n->x.v;
  struct nest_access *a = &n->accesses[at];
  struct scev address = v->accesses.data[at].address;
  a->in_inner = vl_inst(v, v->accesses.data[at].inst)->block.index == n->inner_block.index;
  a->start = scev_at_start(v->scev, scev_at_start(v->scev, address, n->inner), v->index);
  a->steps[OUTER] = step_of(n, address, v->index);
  a->steps[INNER] = step_of(n, address, n->inner);
  a->affine = address.width == 64 && accesses_is_bounded(&address) &&
              scev_is_invariant(v->scev, a->start, v->index) &&
              scev_is_invariant(v->scev, a->steps[OUTER], v->index) &&
              scev_is_invariant(v->scev, a->steps[INNER], v->index) &&
              (a->in_inner || is_within(a->steps[INNER], 0));
}

/* Whether 0 < c <= most with low < step × c < high. */
static bool overlaps_later(int64_t step, int64_t low, int64_t high, uint64_t most) {
  if (step == 0) return low < 0 && high > 0 && most > 0;
  if (step < 0) return overlaps_later(-step, -high, -low, most);
  if (high - 1 < step) return false;
  uint64_t c = (uint64_t)((high - 1) / step);
  return step * (int64_t)(c < most ? c : most) > low && most > 0;
}

/* Whether `w` accesses the bytes of `u` in a later iteration of the outer loop, but would now come
 * first. They have equal steps and differ by `distance` bytes. */
static bool is_reversed(const struct outer_nest *n, uint32_t u, uint32_t w, int64_t distance) {
  const struct vector_access *first = &n->x.v->accesses.data[u], *later = &n->x.v->accesses.data[w];
  const struct nest_access *a = &n->accesses[u];
  bool both = a->in_inner && n->accesses[w].in_inner && scev_is_constant(a->steps[INNER]);
  for (uint32_t d = 1; d < n->factor; d++) {
    int64_t at = distance + a->steps[OUTER].constant * (int64_t)d, low = at - (int64_t)first->bytes,
            high = at + (int64_t)later->bytes;
    if (low < 0 && high > 0 && first->order > later->order) return true;
    if (both && overlaps_later(a->steps[INNER].constant, low, high, n->trips.most)) return true;
  }
  return false;
}

static bool add_check(struct outer_nest *n, uint32_t a, uint32_t b, int64_t min_step) {
  struct overlap_check c = {.earlier = a, .later = b, .min_step = min_step};
  n->accesses[a].needed_at_run_time = n->accesses[b].needed_at_run_time = true;
  if (!VEC_PUSH(n->x.v->env->arena, &n->x.v->checks, c)) n->x.failed = true;
  return (int32_t)n->x.v->checks.count <= vl_knob(n->x.v, KNOB_VECTORIZER_CHECK_THRESHOLD);
}

/* Whether two accesses, one a store, remain in order or can be checked. */
static bool preserves_order(struct outer_nest *n, uint32_t u, uint32_t w) {
  struct vector_loop *v = n->x.v;
  const struct vector_access *a = &v->accesses.data[u], *b = &v->accesses.data[w];
  const struct nest_access *na = &n->accesses[u], *nb = &n->accesses[w];
  if (u != w && accesses_are_disjoint(v, a, b)) return true;
  if (!na->affine || !nb->affine || a->space != b->space) return false;
  if (!scev_is_constant(scev_subtract(v->scev, nb->start, na->start))) return add_check(n, u, w, 0);
  struct scev d = scev_subtract(v->scev, b->address, a->address);
  bool constant = scev_is_constant(na->steps[INNER]);
  if (!is_within(d, max_step) || !is_within(na->steps[OUTER], max_step) ||
      (constant && !is_within(na->steps[INNER], max_step)))
    return false;
  if (is_reversed(n, u, w, d.constant) || (u != w && is_reversed(n, w, u, -d.constant)))
    return false;
  if (constant) return true;
  int64_t step = na->steps[OUTER].constant, most = a->bytes > b->bytes ? a->bytes : b->bytes;
  return add_check(n, u, w,
                   (d.constant < 0 ? -d.constant : d.constant) +
                       (step < 0 ? -step : step) * (n->factor - 1) + most);
}

/* Sets the alignment of accesses by adjacent lanes. Of several whose addresses differ by
 * constants, the first is checked. */
static void align_lanes(struct outer_nest *n, uint32_t at) {
  struct vector_loop *v = n->x.v;
  struct vector_access *a = &v->accesses.data[at];
  struct nest_access *na = &n->accesses[at];
  uint32_t width = cost_widest_access_bits(v->env->target, a->space) / 8;
  bool neighbours =
      na->affine && scev_is_constant(na->steps[OUTER]) && na->steps[OUTER].constant == a->bytes;
  if (!neighbours || !accesses_is_element(v, a) || a->align < a->bytes) return;
  if (width > n->factor * a->bytes) width = n->factor * a->bytes;
  while (width > a->bytes && scev_is_constant(na->steps[INNER]) &&
         na->steps[INNER].constant % width)
    width /= 2;
  bool unproven = accesses_known_align(v, a->address, 0) < width;
  bool never = (unproven && accesses_in_parameter(v, a->address.base)) ||
               (a->address.constant % width &&
                accesses_known_align(v, a->address, -a->address.constant) >= width);
  for (uint32_t k = 0; k < at && unproven; k++) {
    struct scev d = scev_subtract(v->scev, a->address, v->accesses.data[k].address);
    if (!n->accesses[k].width || !scev_is_constant(d)) continue;
    unproven = false;
    never |= d.constant % width || n->accesses[k].width < width;
  }
  if (never || width <= a->bytes) return;
  na->width = width;
  a->checked_align = unproven ? width : 0;
  na->needed_at_run_time |= unproven;
}

/* The requested number of lanes, else as many as fit a register, but not 1. */
static uint32_t choose_factor(const struct vector_loop *v) {
  int64_t requested = vl_requested_width(v);
  uint32_t bytes = 1, factor = MAX_FACTOR;
  for (uint32_t k = 0; k < v->accesses.count; k++)
    if (v->accesses.data[k].bytes > bytes) bytes = v->accesses.data[k].bytes;
  if (requested <= 0)
    requested = cost_register_bit_width(true) / (8 * bytes) > 1
                    ? cost_register_bit_width(true) / (8 * bytes)
                    : USUAL_FACTOR;
  while (factor > requested) factor /= 2;
  return factor;
}

static enum vector_refusal check_phis(struct vector_loop *v) {
  FOR_EACH_PHI (v->f, v->loop->header, i) {
    int64_t step;
    struct scev s = scev_of(v->scev, value_of_inst(i));
    if (s.width == 0 || !scev_step(v->scev, s, v->index, &step) ||
        vl_inst(v, i)->operand_count != 4)
      return vl_refuse(v, i, VECTOR_CARRIED);
  }
  return VECTOR_OK;
}

/* Whether each instruction can be copied for each lane, and the copies are few enough. */
static enum vector_refusal check_body(struct vector_loop *v) {
  bool convergent;
  uint32_t size;
  for (uint32_t k = 0; k < v->body_count; k++) {
    const struct nvm_inst *i = vl_inst(v, v->body[k]);
    if (i->operand_count > MAX_OPERANDS && i->op != OP_PHI)
      return vl_refuse(v, v->body[k], VECTOR_INSTRUCTION);
    /* Of calls without a result only assumptions may be dropped. */
    if (i->op == OP_CALL && type_equal(i->type, TYPE_VOID) && !effects_is_debug(v->f, i) &&
        call_intrinsic(v->f, i) != INTRINSIC_assume)
      return vl_refuse(v, v->body[k], VECTOR_CALL);
  }
  if (loop_is_copyable(v->f, v->loops, v->index, MAX_NEST, &convergent, &size)) return VECTOR_OK;
  return size > MAX_NEST ? VECTOR_NOT_BENEFICIAL : VECTOR_INSTRUCTION;
}

static enum vector_refusal check_accesses(struct outer_nest *n) {
  struct vector_loop *v = n->x.v;
  for (uint32_t k = 0; k < v->body_count && !n->x.failed; k++) {
    const struct nvm_inst *i = vl_inst(v, v->body[k]);
    if (i->op == OP_LOAD || i->op == OP_STORE) n->x.failed |= !accesses_add(v, k);
  }
  n->accesses = arena_alloc(v->env->arena, (v->accesses.count + 1) * sizeof *n->accesses);
  n->x.failed |= !n->accesses;
  v->factor = n->factor = choose_factor(v), v->interleave = 1;
  if (n->factor == 1 || n->factor * v->body_count > MAX_NEST) return VECTOR_NOT_BENEFICIAL;
  if (v->exact_trips && v->exact_trips < n->factor) return VECTOR_LOW_TRIP_COUNT;
  for (uint32_t k = 0; k < v->accesses.count && !n->x.failed; k++) describe(n, k);
  for (uint32_t w = 0; w < v->accesses.count && !n->x.failed; w++) {
    for (uint32_t u = 0; u <= w; u++)
      if ((v->accesses.data[u].is_store || v->accesses.data[w].is_store) &&
          !preserves_order(n, u, w))
        return vl_refuse(v, v->accesses.data[w].inst, VECTOR_REORDER_MEMORY);
    align_lanes(n, w);
  }
  return VECTOR_OK;
}

enum vector_refusal outer_check(struct vector_loop *v, struct outer_nest **made,
                                enum nvm_status *status) {
  struct outer_nest *n = *made = arena_alloc(v->env->arena, sizeof *n);
  bool ok = n != NULL;
  enum vector_refusal r = ok ? legality_collect_body(v, &ok) : VECTOR_OK;
  if (ok && r == VECTOR_OK) {
    *n = (struct outer_nest){.x = {.v = v, .before = v->loop->header},
                             .inner = v->index + 1,
                             .trips = scev_trip_count(v->scev, v->index + 1)};
    n->uniform = arena_alloc(v->env->arena, v->f->insts.count * sizeof *n->uniform);
    n->x.failed |= !n->uniform;
    if (v->early.index || !find_chain(n)) r = VECTOR_SHAPE;
    else if (!n->trips.known) r = VECTOR_TRIP_COUNT;
    else if (!has_invariant_trip_count(n)) r = VECTOR_INNER_TRIP_COUNT;
    else if ((r = check_body(v)) == VECTOR_OK && (r = check_phis(v)) == VECTOR_OK)
      r = check_accesses(n);
    if (r == VECTOR_OK && !n->x.failed) find_uniform(n);
    ok = !n->x.failed;
  }
  if (!ok) *status = NVM_OUT_OF_MEMORY;
  return r;
}

/* Whether an instruction of the body is more than the control of the outer loop. */
static bool is_needed(const struct outer_nest *n, struct nvm_inst_id id) {
  const struct vector_loop *v = n->x.v;
  bool needed = vl_inst(v, id)->op == OP_STORE;
  for (uint32_t u = v->uses.first[id.index]; u < v->uses.first[id.index + 1] && !needed; u++) {
    struct nvm_inst_id user = v->uses.users[u];
    needed = !v->position[user.index] || v->needed[user.index] || vl_inst(v, user)->op == OP_PHI ||
             user.index == block_terminator(v->f, n->inner_block).index;
  }
  return needed;
}

static uint32_t recipe_for(struct outer_nest *n, struct vplan *p, struct nvm_value x) {
  uint32_t r = vl_inside(n->x.v, x) ? n->recipe_of[value_index(x)] : vplan_live_in(p, n->x.v->f, x);
  n->x.failed |= r == 0;
  return r;
}

/* Adds the recipe of an instruction with these operands, except a phi's back-edge value. */
static void add_recipe(struct outer_nest *n, struct vplan *p, struct nvm_inst_id id) {
  struct vector_loop *v = n->x.v;
  const struct nvm_inst *i = vl_inst(v, id);
  uint32_t operands[MAX_OPERANDS] = {0}, count = i->operand_count - (i->op == OP_CALL);
  struct vp_recipe r = {.kind = VP_REPLICATE, .inst = id, .type = i->type, .group = VP_NO_GROUP};
  r.uniform = n->uniform[id.index];
  if (i->op == OP_PHI) {
    bool header = i->block.index == v->loop->header.index;
    struct nvm_block from = header ? v->loop->preheader : v->loops->data[n->inner].preheader;
    r.kind = header ? VP_INDUCTION : VP_PHI;
    r.reduction = v->phis.count;
    operands[0] = recipe_for(n, p, phi_incoming(v->f, id, from)), count = 2;
    if (header) {
      struct header_phi h = {.inst = id, .kind = PHI_INDUCTION};
      h.start = phi_incoming(v->f, id, from);
      scev_step(v->scev, scev_of(v->scev, value_of_inst(id)), v->index, &h.step);
      r.step = h.step;
      n->x.failed |= !VEC_PUSH(v->env->arena, &v->phis, h);
    }
  } else {
    for (uint32_t k = 0; k < count; k++) operands[k] = recipe_for(n, p, inst_operand(v->f, i, k));
  }
  if (v->access_of[id.index]) {
    const struct nest_access *a = &n->accesses[v->access_of[id.index] - 1];
    r.kind = i->op == OP_STORE ? VP_STORE : VP_LOAD;
    r.access = v->access_of[id.index] - 1;
    r.step = a->affine && scev_is_constant(a->steps[OUTER]) ? a->steps[OUTER].constant : 0;
    r.align = a->width;
  }
  n->recipe_of[id.index] = vplan_add(p, r, operands, count);
  n->x.failed |= n->recipe_of[id.index] == 0;
  if (i->block.index != n->inner_block.index) return;
  p->inner_last = n->recipe_of[id.index];
  if (!p->inner_first) p->inner_first = p->inner_last;
}

/* The back-edge values of phis, which come after them. */
static void finish_phis(struct outer_nest *n, struct vplan *p) {
  const struct vector_loop *v = n->x.v;
  for (uint32_t k = 1; k < p->recipes.count && !n->x.failed; k++) {
    const struct vp_recipe *r = vplan_recipe(p, k);
    if (r->kind != VP_INDUCTION && r->kind != VP_PHI) continue;
    struct nvm_value back =
        phi_incoming(v->f, r->inst, r->kind == VP_PHI ? n->inner_block : v->loop->latch);
    uint32_t from = recipe_for(n, p, back);
    p->operands.data[vplan_recipe(p, k)->first_operand + 1] = from;
  }
}

bool outer_plan(struct outer_nest *n, struct vplan *p) {
  struct vector_loop *v = n->x.v;
  n->recipe_of = arena_alloc(v->env->arena, v->f->insts.count * sizeof *n->recipe_of);
  if (!n->recipe_of || !vplan_init(p, n->factor, n->factor, v->env->arena)) return false;
  p->nested = true;
  for (uint32_t k = v->body_count; k-- > 0;) v->needed[v->body[k].index] = is_needed(n, v->body[k]);
  for (uint32_t k = 0; k < v->body_count && !n->x.failed; k++) {
    struct nvm_inst_id id = v->body[k];
    const struct nvm_inst *i = vl_inst(v, id);
    bool in_inner = i->block.index == n->inner_block.index;
    bool phi = i->op == OP_PHI && !in_inner && i->block.index != v->loop->header.index;
    if (!v->needed[id.index] || op_is_terminator((enum op)i->op)) continue;
    if (phi) n->recipe_of[id.index] = recipe_for(n, p, chained_value(v, id));
    else add_recipe(n, p, id);
  }
  finish_phis(n, p);
  if (p->inner_last)
    p->inner_condition =
        recipe_for(n, p, inst_operand(v->f, vl_inst(v, block_terminator(v->f, n->inner_block)), 0));
  return !n->x.failed;
}

static void fail_if(struct outer_nest *n, struct nvm_value condition) {
  n->conflict = x_or(&n->x, n->conflict, condition);
}

/* [*low, *high): the range of the access in the nest. Steps known only at run time must not be
 * negative. */
static void range_of(struct outer_nest *n, uint32_t at, const struct nvm_value taken[2],
                     struct nvm_value *low, struct nvm_value *high) {
  struct executor *x = &n->x;
  const struct nest_access *a = &n->accesses[at];
  *low = a->first;
  *high = x_add_number(x, a->first, n->x.v->accesses.data[at].bytes);
  for (int k = OUTER; k <= INNER; k++) {
    if (is_within(a->steps[k], 0)) continue;
    struct nvm_value way = x_binary(x, OP_MUL, taken[k], a->by[k]);
    bool down = scev_is_constant(a->steps[k]) && a->steps[k].constant < 0;
    if (!scev_is_constant(a->steps[k]))
      fail_if(n, x_compare(x, ICMP_SLT, a->by[k], x_number(x, TYPE_I64, 0)));
    *(down ? low : high) = x_binary(x, OP_ADD, *(down ? low : high), way);
  }
}

static void emit_check(struct outer_nest *n, const struct overlap_check *c,
                       const struct nvm_value taken[2]) {
  struct executor *x = &n->x;
  if (c->min_step) {
    struct nvm_value step = x_add_number(x, n->accesses[c->earlier].by[INNER], c->min_step - 1);
    fail_if(n, x_compare(x, ICMP_ULT, step, x_number(x, TYPE_I64, 2 * c->min_step - 1)));
    return;
  }
  struct nvm_value low[2], high[2];
  range_of(n, c->earlier, taken, &low[0], &high[0]);
  range_of(n, c->later, taken, &low[1], &high[1]);
  struct nvm_value above = x_compare(x, ICMP_ULT, low[1], high[0]);
  fail_if(n, x_binary(x, OP_AND, x_compare(x, ICMP_ULT, low[0], high[1]), above));
}

static void emit_checks(struct outer_nest *n, const struct nvm_value taken[2]) {
  struct executor *x = &n->x;
  for (uint32_t k = 0; k < x->v->checks.count && !x->failed; k++)
    emit_check(n, &x->v->checks.data[k], taken);
  for (uint32_t k = 0; k < x->v->accesses.count && !x->failed; k++) {
    const struct nest_access *a = &n->accesses[k];
    if (!x->v->accesses.data[k].checked_align) continue;
    struct nvm_value bits = x_binary(x, OP_OR, a->first, a->by[INNER]);
    bits = x_binary(x, OP_AND, bits, x_number(x, TYPE_I64, a->width - 1));
    fail_if(n, x_compare(x, ICMP_NE, bits, x_number(x, TYPE_I64, 0)));
  }
  /* If the inner loop does not execute, the operands of the checks may be poison. */
  if (!value_is_none(n->conflict) && !x->failed)
    n->conflict = x_emit(x, OP_FREEZE, 0, TYPE_I1, &n->conflict, 1, 0);
  for (uint32_t k = 0; k < n->skips.count && !x->failed; k++) {
    const struct nvm_inst *skip = vl_inst(x->v, n->skips.data[k]);
    struct nvm_value c = inst_operand(x->v->f, skip, 0);
    bool stays = chain_predecessor(x->v, block_successor(x->v->f, skip->block, 0)).index ==
                 skip->block.index;
    if (k)
      c = x_emit(x, OP_FREEZE, 0, TYPE_I1, &c, 1, 0); /* likewise if the branch before is taken */
    fail_if(n, stays ? x_binary(x, OP_XOR, c, x_number(x, TYPE_I1, -1)) : c);
  }
}

/* Computes the operands of the checks before the nest. */
static bool expand_operands(struct outer_nest *n, struct nvm_value taken[2],
                            struct nvm_inst_id before) {
  const struct vector_loop *v = n->x.v;
  struct builder at = builder_before(v->f, before);
  taken[OUTER] = scev_expand_trip_count(v->scev, v->f, v->index, before);
  taken[INNER] = scev_expand_trip_count(v->scev, v->f, n->inner, before);
  if (value_is_none(taken[OUTER]) || value_is_none(taken[INNER])) return false;
  for (uint32_t k = 0; k < v->accesses.count; k++) {
    struct nest_access *a = &n->accesses[k];
    if (!a->needed_at_run_time) continue;
    struct nvm_value start = scev_expand(v->scev, v->f, a->start, before);
    if (value_is_none(start)) return false;
    a->first = builder_unary(&at, OP_PTRTOINT, TYPE_I64, start);
    for (int s = OUTER; s <= INNER; s++) {
      a->by[s] = scev_expand(v->scev, v->f, a->steps[s], before);
      if (value_is_none(a->by[s])) return false;
    }
  }
  return true;
}

/* The value of the last lane. */
static struct nvm_value last_lane(struct outer_nest *n, struct nvm_value v) {
  if (!vl_inside(n->x.v, v)) return v;
  return x_lane(&n->x, n->recipe_of[value_index(v)], 0, n->factor - 1);
}

/* Sets the values of phis after the vector nest: those of the last lane. The original nest
 * continues from there. */
static void connect_values(struct outer_nest *n, struct nvm_block middle, struct nvm_block scalar) {
  struct executor *x = &n->x;
  struct vector_loop *v = x->v;
  struct nvm_function *f = v->f;
  FOR_EACH_PHI (f, v->loop->exit, i)
    x->failed |= !phi_add(f, i, last_lane(n, phi_incoming(f, i, v->loop->latch)), middle);
  x->block = scalar;
  FOR_EACH_PHI (f, v->loop->header, i) {
    struct nvm_value back = last_lane(n, phi_incoming(f, i, v->loop->latch));
    struct nvm_value operands[4] = {phi_incoming(f, i, v->loop->preheader),
                                    value_of_block(v->loop->preheader), back,
                                    value_of_block(middle)};
    x->origin = i;
    struct nvm_value merged = x_emit(x, OP_PHI, 0, vl_inst(v, i)->type, operands, 4, 0);
    if (!x->failed) loop_replace_incoming(f, i, v->loop->preheader, merged, scalar);
  }
  x_jump(x, v->loop->header);
}

/* Emits checks, vector nest and the blocks after it. */
static void emit_nest(struct outer_nest *n, const struct nvm_value taken[2]) {
  struct executor *x = &n->x;
  struct nvm_block ph = x_block(x, "vector.ph"), scalar = x_block(x, "scalar.ph");
  struct nvm_value wide[2] = {x_resize(x, taken[OUTER], TYPE_I64),
                              x_resize(x, taken[INNER], TYPE_I64)};
  struct nvm_value count = x_count_in(x, taken[OUTER]),
                   total = x_binary(x, OP_ADD, count, x_iterations(x, 1));
  struct nvm_value end = x_binary(x, OP_AND, total, x_number(x, x->counter, -(int64_t)n->factor));
  emit_checks(n, wide);
  fail_if(n, x_compare(x, ICMP_ULT, total, x_iterations(x, n->factor)));
  x_branch(x, n->conflict, scalar, ph);
  x->block = ph;
  x->begin = x_iterations(x, 0);
  x->factor = n->factor, x->count = 1;
  execute_stage(x, end, NULL, "vector.body", "middle.block");
  struct nvm_block middle = x->block;
  if (x->failed) return;
  x->origin = (struct nvm_inst_id){0};
  x_branch(x, x_compare(x, ICMP_EQ, total, end), x->v->loop->exit, scalar);
  function_move_block(x->v->f, scalar, x->v->loop->header);
  if (!x->failed) connect_values(n, middle, scalar);
}

enum plan_result outer_execute(struct outer_nest *n, const struct vplan *p) {
  struct executor *x = &n->x;
  struct vector_loop *v = x->v;
  struct nvm_inst_id jump = block_terminator(v->f, v->loop->preheader),
                     latch = block_terminator(v->f, v->loop->latch);
  struct nvm_value taken[2];
  if (!expand_operands(n, taken, jump))
    return module_out_of_memory(v->f->module) ? PLAN_OUT_OF_MEMORY : PLAN_NOT_EXPRESSIBLE;
  accesses_align_variables(v);
  inst_remove(v->f, jump);
  v->first_new_block = v->f->blocks.count;
  x->p = p;
  x->block = v->loop->preheader;
  emit_nest(n, taken);
  if (!x->failed)
    x_mark_loop(x, block_terminator(v->f, x->latch), "llvm.loop.vectorize.followup_vectorized",
                true);
  if (!x->failed) x_mark_loop(x, latch, "llvm.loop.vectorize.followup_epilogue", false);
  return x->failed ? PLAN_OUT_OF_MEMORY : PLAN_DONE;
}
