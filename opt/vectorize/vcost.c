/* The cost of vectorization factors and interleave counts, and the choice.
 *
 * A plan is priced in issue slots: target/cost.h prices every recipe; accesses are priced as the
 * pieces that they become; loop control and run-time checks are added. On a GPU, time is also
 * waiting for memory, which other warps hide as far as registers allow them to be resident:
 *
 *   slots per iteration = max(issue slots, latency of a load / resident warps per scheduler)
 *                         / iterations at a time
 *
 * so that registers cost by the warps that they displace (the occupancy cliff), and wide or
 * interleaved loads gain by the waiting they save. Sums saturate. The interleave count follows
 * cicc's formula. */
#include "analysis/launch_bounds.h"
#include "ir/evalint.h"
#include "opt/vectorize/vectorize.h"

enum {
  ASSUMED_TRIPS = 256,   /* of loops with an unknown trip count */
  BASE_REGISTERS = 12,   /* of a thread outside of the loop */
  ASSUMED_THREADS = 256, /* of a block without launch bounds */
  SCHEDULERS = 4,
  MAX_CHUNK = 32,     /* lanes at a time: more hide no more latency, and leave longer remainders */
  BYTES_PARTED = 2,   /* moves per two bytes: between a word and a pair */
  SMALL_BODY = 14,    /* instructions whose copies hardly count */
  MAX_REMAINDER = 64, /* instructions of a loop that gets a remainder stage */
  MAX_INTERLEAVED = 50, /* instructions interleaved without vectors: as many as loop-unroll makes */
};

struct cost_type vcost_type(const struct nvm_module *m, struct nvm_type type, uint32_t lanes) {
  static const uint8_t scalars[TY_KIND_COUNT] = {[TY_HALF] = TGT_HALF,
                                                 [TY_BFLOAT] = TGT_BFLOAT,
                                                 [TY_FLOAT] = TGT_FLOAT,
                                                 [TY_DOUBLE] = TGT_DOUBLE};
  const struct type_info *t = type_info(&m->types, type);
  uint32_t bits = (uint32_t)layout_bits(&m->layout, &m->types, type);
  return (struct cost_type){(enum tgt_scalar)scalars[t->kind], (uint16_t)(bits ? bits : 1), lanes};
}

static struct cost_type cost_type_of(const struct vector_loop *v, struct nvm_type type,
                                     uint32_t lanes) {
  return vcost_type(v->f->module, type, lanes);
}

static cost cast_cost(const struct vector_loop *v, const struct nvm_inst *i, uint32_t lanes) {
  struct cost_type from = cost_type_of(v, value_type(v->f, inst_operand(v->f, i, 0)), lanes);
  struct cost_type to = cost_type_of(v, i->type, lanes);
  enum cost_cast cast = i->op == OP_TRUNC  ? COST_TRUNCATE
                        : i->op == OP_ZEXT ? COST_ZERO_EXTEND
                        : i->op == OP_SEXT ? COST_SIGN_EXTEND
                        : i->op == OP_BITCAST || i->op == OP_PTRTOINT || i->op == OP_INTTOPTR
                            ? COST_BITCAST
                            : COST_CONVERT;
  return cost_of_cast(v->env->target, cast, from, to, COST_THROUGHPUT);
}

enum tgt_operation_index vcost_operation(enum op op) {
  switch (op) {
    case OP_MUL:
    case OP_FMUL: return TGT_OPERATION_MULTIPLY;
    case OP_UDIV:
    case OP_FDIV: return TGT_OPERATION_DIVIDE;
    case OP_SDIV: return TGT_OPERATION_DIVIDE_SIGNED;
    case OP_UREM:
    case OP_FREM: return TGT_OPERATION_REMAINDER;
    case OP_SREM: return TGT_OPERATION_REMAINDER_SIGNED;
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR: return TGT_OPERATION_SHIFT;
    case OP_AND:
    case OP_OR:
    case OP_XOR: return TGT_OPERATION_LOGIC;
    case OP_ICMP:
    case OP_FCMP: return TGT_OPERATION_COMPARE;
    case OP_SELECT: return TGT_OPERATION_SELECT;
    case OP_FNEG: return TGT_OPERATION_NEGATE;
    case OP_CALL: return TGT_OPERATION_FMA;
    default: return TGT_OPERATION_ADD;
  }
}

static const uint8_t reduced_by[REDUCE_COUNT] = {
    [REDUCE_ADD] = TGT_OPERATION_ADD,      [REDUCE_FADD] = TGT_OPERATION_ADD,
    [REDUCE_MUL] = TGT_OPERATION_MULTIPLY, [REDUCE_FMUL] = TGT_OPERATION_MULTIPLY,
    [REDUCE_AND] = TGT_OPERATION_LOGIC,    [REDUCE_OR] = TGT_OPERATION_LOGIC,
    [REDUCE_XOR] = TGT_OPERATION_LOGIC,    [REDUCE_SMIN] = TGT_OPERATION_MINIMUM,
    [REDUCE_SMAX] = TGT_OPERATION_MINIMUM, [REDUCE_UMIN] = TGT_OPERATION_MINIMUM,
    [REDUCE_UMAX] = TGT_OPERATION_MINIMUM, [REDUCE_FMIN] = TGT_OPERATION_MINIMUM,
    [REDUCE_FMAX] = TGT_OPERATION_MINIMUM};

static cost plain_cost(const struct vector_loop *v, const struct vp_recipe *r, uint32_t lanes) {
  const struct nvm_inst *i = vl_inst(v, r->inst);
  if (op_is_cast((enum op)i->op)) return cast_cost(v, i, lanes);
  if (i->op == OP_FREEZE) return 0;
  if (i->op == OP_CALL && !plan_widens_call(v, i)) /* an estimate */
    return cost_call(v->env->target, i->operand_count, COST_THROUGHPUT);
  bool compare = i->op == OP_ICMP || i->op == OP_FCMP;
  struct nvm_type type = compare ? value_type(v->f, inst_operand(v->f, i, 0)) : r->type;
  return cost_arithmetic(v->env->target, vcost_operation((enum op)i->op),
                         cost_type_of(v, type, lanes), COST_THROUGHPUT);
}

static cost access_cost(const struct vector_loop *v, const struct vector_access *a,
                        uint32_t elements) {
  return cost_memory(v->env->target, cost_type_of(v, a->type, elements), a->space,
                     elements * a->bytes, COST_THROUGHPUT);
}

/* The cost of a group, at its first recipe. */
static struct vp_cost group_cost(const struct vector_loop *v, const struct vplan *p, uint32_t n,
                                 uint32_t lanes) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  for (uint32_t k = 1; k < n; k++) {
    const struct vp_recipe *other = vplan_recipe(p, k);
    if (vplan_is_access(other) && other->group == r->group) return (struct vp_cost){0};
  }
  struct access_piece pieces[MAX_PIECES];
  uint32_t width = accesses_width(v, &v->groups.data[r->group], lanes);
  uint32_t count = accesses_pieces(v, r->group, lanes, width, pieces);
  if (count == 0) return (struct vp_cost){.slots = COST_MAX}; /* too many elements */
  /* Bytes are unpacked and packed, two per register. */
  struct cost_type halves = {TGT_INTEGER, 16,
                             v->groups.data[r->group].bytes == 1 && lanes > 1 ? lanes : 1};
  cost parted = cost_times(cost_shuffle(v->env->target, halves, COST_THROUGHPUT), BYTES_PARTED);
  struct vp_cost c = {.slots = parted, .computing = parted, .accesses = count};
  for (uint32_t k = 0; k < count; k++)
    c.slots = cost_add(c.slots, access_cost(v, &v->accesses.data[r->access], pieces[k].elements));
  return c;
}

/* Issue slots of a recipe that accesses no memory. */
static cost computing_cost(const struct vector_loop *v, const struct vp_recipe *r, uint32_t factor,
                           uint32_t count) {
  uint32_t lanes = factor * count;
  uint32_t times = r->uniform ? 1 : lanes;
  switch ((enum vp_kind)r->kind) {
    case VP_POINTER: return r->step ? 2 : 0;
    case VP_INDUCTION: return cost_add(1, cost_times(1, lanes > 1 ? lanes : 0));
    case VP_WIDEN:
      if (r->uniform || r->in_chain) return cost_times(plain_cost(v, r, 1), times);
      return cost_times(plain_cost(v, r, factor), count);
    case VP_REPLICATE: return cost_times(plain_cost(v, r, 1), times);
    case VP_BLEND: return cost_times(r->operand_count / 2, lanes);
    case VP_AND:
    case VP_OR:
    case VP_NOT: return lanes;
    case VP_NONE:
    case VP_LIVE_IN:
    case VP_LOAD:
    case VP_STORE:
    case VP_PHI:
    case VP_REDUCTION:
    case VP_RECURRENCE:
    case VP_SERIAL:
    case VP_KIND_COUNT: break;
  }
  return 0;
}

/* The price of recipe n, for n = 0 of loop control and the early exit: one slot per iteration. */
static struct vp_cost price_of(const struct vector_loop *v, const struct vplan *p, uint32_t n,
                               uint32_t factor, uint32_t count) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  cost slots = n ? 0 : VP_ADVANCE_SLOTS + VP_LATCH_SLOTS, early = p->early ? factor * count : 0;
  if (n == 0) return (struct vp_cost){.slots = slots + early, .computing = early};
  if (!vplan_is_access(r)) {
    slots = computing_cost(v, r, factor, count);
    return (struct vp_cost){slots, slots, 0, r->kind == VP_POINTER && r->step != 0};
  }
  uint32_t times = r->uniform ? 1 : factor * count;
  if (r->group != VP_NO_GROUP && !r->mask) return group_cost(v, p, n, factor * count);
  uint32_t wide = 1; /* elements; the load-store vectorizer merges adjacent lanes of a nest */
  if (r->align && !r->uniform) wide = r->align / v->accesses.data[r->access].bytes, times /= wide;
  cost each = cost_add(access_cost(v, &v->accesses.data[r->access], wide),
                       r->mask ? cost_branch(v->env->target, true, COST_THROUGHPUT) : 0);
  return (struct vp_cost){.slots = cost_times(each, times), .accesses = times};
}

static uint32_t recipe_registers(const struct vector_loop *v, const struct vp_recipe *r,
                                 uint32_t lanes) {
  if (type_equal(r->type, TYPE_VOID) || type_equal(r->type, TYPE_I1)) return 0;
  uint64_t bits = layout_bits(&v->f->module->layout, vl_types(v), r->type);
  bool one = r->uniform || r->kind == VP_LIVE_IN || r->kind == VP_POINTER ||
             r->kind == VP_INDUCTION || r->kind == VP_RECURRENCE || r->kind == VP_SERIAL;
  if (r->kind == VP_LIVE_IN && value_kind(r->value) == VALUE_CONST) return 0;
  return (uint32_t)((bits * (one ? 1 : lanes) + 31) / 32);
}

/* The maximum number of registers live between two recipes. */
static uint32_t live_registers(const struct vector_loop *v, const struct vplan *p, uint32_t lanes) {
  uint32_t count = p->recipes.count, live = 0, most = 0;
  uint32_t *last = arena_alloc(v->env->arena, count * sizeof *last);
  if (!last) return 0;
  for (uint32_t n = 1; n < count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    for (uint32_t k = 0; k < r->operand_count; k++) {
      uint32_t o = vplan_operand(p, r, k);
      bool stays = vplan_recipe(p, o)->kind <= VP_SERIAL || o >= n;
      if (stays) last[o] = count;
      else if (last[o] < n) last[o] = n;
    }
  }
  for (uint32_t n = 1; n < count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    live += recipe_registers(v, r, lanes);
    most = live > most ? live : most;
    for (uint32_t k = 0; k < r->operand_count; k++) {
      uint32_t o = vplan_operand(p, r, k);
      if (last[o] != n) continue;
      live -= recipe_registers(v, vplan_recipe(p, o), lanes);
      last[o] = 0;
    }
  }
  return most;
}

/* Without launch bounds, other resources (shared memory, the size of the grid, other code of the
 * kernel) are assumed to limit occupancy to half. */
static struct occupancy_use use_of(const struct vector_loop *v, uint32_t registers) {
  struct occupancy_use use = {.threads_per_block = v->block_threads,
                              .registers_per_thread = registers};
  const struct tgt_cpu *cpu = v->env->target->cpu;
  if (use.threads_per_block) return use;
  uint32_t blocks = tgt_limit(cpu, TGT_LIMIT_WARPS_PER_SM) * 32 / ASSUMED_THREADS / 2;
  use.threads_per_block = ASSUMED_THREADS;
  use.shared_bytes = blocks ? tgt_limit(cpu, TGT_LIMIT_SHARED_PER_SM) / (blocks + 1) + 1 : 0;
  return use;
}

static cost checks_cost(const struct vector_loop *v) {
  return (cost)(12 + 6 * v->checks.count + 4 * v->groups.count + (v->peel ? 6 : 0));
}

/* The warps of a scheduler, which fill the slots in which one of them waits. */
static cost hiding_warps(uint32_t warps) { return warps > SCHEDULERS ? warps / SCHEDULERS : 1; }

/* The slots until a load's result that other warps do not fill. */
static cost load_wait(const struct vector_loop *v, uint32_t warps) {
  uint32_t space = v->accesses.count ? v->accesses.data[0].space : 1;
  return cost_load_latency(v->env->target, space) / hiding_warps(warps);
}

static void add_price(struct vp_cost *sum, struct vp_cost c) {
  sum->slots = cost_add(sum->slots, c.slots);
  sum->computing = cost_add(sum->computing, c.computing);
  sum->accesses += c.accesses;
  sum->pointers += c.pointers;
}

bool vcost_annotate(const struct vector_loop *v, const struct vplan *p, uint32_t factor,
                    uint32_t count, struct vplan *final) {
  *final = *p;
  final->factor = factor, final->count = count;
  final->costs = arena_alloc(v->env->arena, p->recipes.count * sizeof *final->costs);
  if (p->inner_last) final->inner.slots = VP_BRANCH_SLOTS;
  for (uint32_t n = 0; final->costs && n < p->recipes.count; n++)
    add_price(vplan_in_inner_loop(p, n) ? &final->inner : &final->total,
              final->costs[n] = price_of(v, p, n, factor, count));
  return final->costs != NULL;
}

/* Factor 1 and count 1: the scalar loop. */
static struct vector_cost cost_of_plan(const struct vector_loop *v, const struct vplan *p,
                                       uint32_t factor, uint32_t count) {
  struct vp_cost sum = {0};
  for (uint32_t n = 0; n < p->recipes.count; n++) add_price(&sum, price_of(v, p, n, factor, count));
  struct vector_cost price = {sum.slots, sum.computing, .accesses = sum.accesses,
                              .pointers = sum.pointers};
  price.registers = BASE_REGISTERS + live_registers(v, p, factor * count);
  struct occupancy o;
  struct occupancy_use use = use_of(v, price.registers);
  occupancy_compute(v->env->target->cpu, &use, &o);
  price.warps = o.warps;
  price.wait = price.accesses ? load_wait(v, o.warps) : 0;
  cost all = price.body > price.wait ? price.body : price.wait;
  if (o.warps == 0) all = COST_MAX;
  price.per_iteration = all > COST_MAX / 1000 ? COST_MAX : cost_times(all, 1000) / (factor * count);
  return price;
}

/* 1000 × slots per iteration, with checks and remainder. */
static cost overall(const struct vector_loop *v, const struct vector_cost *vector,
                    const struct vector_cost *scalar, uint32_t chunk) {
  uint64_t trips = v->assumed_trips, full = trips / chunk * chunk;
  cost sum = cost_add(cost_times(vector->per_iteration, full),
                      cost_times(scalar->per_iteration, trips - full));
  return cost_add(sum, cost_times(checks_cost(v), 1000)) / (cost)trips;
}

static uint64_t bit_floor(uint64_t x) {
  while (x & (x - 1)) x &= x - 1;
  return x;
}

static bool has_reductions(const struct vector_loop *v) {
  for (uint32_t k = 0; k < v->phis.count; k++)
    if (v->phis.data[k].kind == PHI_REDUCTION) return true;
  return false;
}

/* The maximum trip count, which the counter's type limits too. */
static uint64_t max_iterations(const struct vector_loop *v) {
  uint64_t most = v->trips.most;
  if (v->trips.taken.width < 32 && most > evalint_mask(v->trips.taken.width))
    most = evalint_mask(v->trips.taken.width);
  return v->exact_trips ? v->exact_trips : most < UINT32_MAX ? most + 1 : UINT32_MAX;
}

/* `latency`: cycles of an addition that other warps do not hide. Partial sums of a reduction are
 * independent chains, which hide it. */
static uint32_t interleave_count(const struct vector_loop *v, const struct vplan *p,
                                 uint32_t factor) {
  struct vector_cost one = cost_of_plan(v, p, factor, 1);
  struct occupancy_use use = use_of(v, one.registers);
  bool vector = factor > 1;
  uint64_t most =
      cost_max_interleave_factor(v->env->target, &use, one.registers - BASE_REGISTERS, vector);
  int32_t forced = vl_knob(v, vector ? KNOB_FORCE_TARGET_MAX_VECTOR_INTERLEAVE
                                     : KNOB_FORCE_TARGET_MAX_SCALAR_INTERLEAVE);
  if (forced) most = bit_floor((uint64_t)forced);
  while (most > 1 && (most * factor > v->max_lanes || most * factor > MAX_CHUNK ||
                      (!vector && most * v->body_count > MAX_INTERLEAVED)))
    most /= 2;
  uint64_t count = bit_floor(max_iterations(v) / (factor * 2));
  count = count < most ? count : most;
  if (one.body < vl_knob(v, KNOB_SMALL_LOOP_COST)) {
    uint64_t small =
        bit_floor((uint64_t)(vl_knob(v, KNOB_SMALL_LOOP_COST) / (one.body ? one.body : 1)));
    small = small < most ? small : most;
    count = small > count ? small : count;
  }
  struct cost_type word = {TGT_INTEGER, 32, 1};
  uint64_t hidden = one.warps / SCHEDULERS ? one.warps / SCHEDULERS : 1;
  uint64_t latency =
      (uint64_t)cost_arithmetic(v->env->target, TGT_OPERATION_ADD, word, COST_LATENCY) / hidden;
  uint64_t issue = cost_issue_width(v->env->target) / SCHEDULERS;
  uint64_t cap = latency > issue ? latency : issue;
  if (!has_reductions(v) && cap > 1) count /= cap;
  if (vl_knob(v, KNOB_AGGRESSIVE_INTERLEAVE)) count = most;
  count = count > most ? most : count;
  return count ? (uint32_t)bit_floor(count) : 1;
}

/* The largest factor with accesses wider than an element that dependences allow. */
static uint32_t max_factor(const struct vector_loop *v) {
  uint32_t most = 1;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    const struct access_group *g = &v->groups.data[n];
    uint32_t fits = cost_widest_access_bits(v->env->target, g->space) / 8 / g->bytes;
    if (g->wide && fits > most) most = fits;
  }
  if (most > MAX_FACTOR) most = MAX_FACTOR;
  while (most > v->max_lanes || (v->exact_trips && most > v->exact_trips)) most /= 2;
  return most ? most : 1;
}

/* Records and reports a price. */
static void add_candidate(struct vector_loop *v, struct vector_candidate c) {
  c.checks = c.factor * c.count > 1 ? checks_cost(v) : 0;
  if (c.price.body == COST_MAX) return;
  vreport_candidate(v, &c);
  (void)VEC_PUSH(v->env->arena, &v->candidates, c); /* otherwise the plan shows fewer */
}

/* Instructions around the vector stages: checks, and initialization and final combination of
 * reductions. */
static cost entry_cost(const struct vector_loop *v) {
  cost sum = checks_cost(v);
  for (uint32_t k = 0; k < v->phis.count; k++) {
    const struct header_phi *h = &v->phis.data[k];
    if (h->kind != PHI_REDUCTION) continue;
    for (uint32_t n = 0, lanes = v->factor * v->interleave; n < 2;
         n++, lanes = v->epilogue_factor) {
      struct cost_type all = cost_type_of(v, vl_inst(v, h->inst)->type, lanes);
      cost tree =
          cost_reduction(v->env->target, reduced_by[h->reduction], all, false, COST_THROUGHPUT);
      sum = cost_add(sum, cost_add(2 * (cost)lanes, tree)); /* set, and moved where stages meet */
    }
  }
  return sum;
}

/* The form of a stage: a loop, or straight-line code, each iteration under a condition and at
 * addresses relative to the first. */
enum stage_form { STAGE_LOOP, STAGE_STRAIGHT };
enum { LOOP = 3, CONDITION = 2, STAGE_ENTRY = 6, UNROLLED = 4, MAX_STRAIGHT = 8 };

/* Instructions per vector iteration; an access counts twice. */
static cost stage_cost(const struct vector_cost *p, enum stage_form form) {
  cost around = form == STAGE_STRAIGHT ? CONDITION - 2 * (cost)p->pointers : LOOP;
  return cost_add(p->computing, around + 2 * (cost)p->accesses);
}

/* The cost of `count` iterations in the main loop, the epilogue and the remainder. */
static cost stages_cost(const struct vector_loop *v, const struct vector_cost *vector,
                        const struct vector_cost *epilogue, const struct vector_cost *scalar,
                        uint64_t count) {
  uint32_t chunk = v->factor * v->interleave, peeled = v->max_peeled / 2;
  cost rest = stage_cost(scalar, v->predicated ? STAGE_STRAIGHT : STAGE_LOOP);
  cost sum = cost_times(stage_cost(scalar, v->peel_straight ? STAGE_STRAIGHT : STAGE_LOOP), peeled);
  count -= count < peeled ? count : peeled;
  sum = cost_add(sum, cost_times(stage_cost(vector, STAGE_LOOP), count / chunk));
  count %= chunk;
  if (v->epilogue_factor && count >= v->epilogue_factor) {
    sum = cost_add(sum, STAGE_ENTRY + cost_times(stage_cost(epilogue, STAGE_LOOP),
                                                 count / v->epilogue_factor));
    count %= v->epilogue_factor;
  }
  return cost_add(sum, (count && !v->predicated ? STAGE_ENTRY : 0) + cost_times(rest, count));
}

/* Instructions of the unrolled scalar loop for `count` iterations; an access counts twice. */
static cost scalar_loop_cost(const struct vector_cost *scalar, uint64_t count) {
  cost around = LOOP + scalar->pointers;
  return cost_add(cost_times(stage_cost(scalar, STAGE_LOOP) - around, count),
                  cost_times(around, count / UNROLLED + count % UNROLLED));
}

/* The minimum number of iterations for which the vector stages are cheaper than the unrolled
 * scalar loop, but not below the knob for known trip counts. If the user chose the width, as many
 * as fill a vector. */
static uint64_t min_iterations(const struct vector_loop *v, const struct vector_cost *vector,
                               const struct vector_cost *epilogue,
                               const struct vector_cost *scalar) {
  enum { MAX_MIN_ITERATIONS = 256 };
  uint64_t least = (uint64_t)vl_knob(v, KNOB_VECTORIZER_MIN_TRIP_COUNT), most = max_iterations(v),
           n = MAX_MIN_ITERATIONS;
  uint64_t chunk = (v->epilogue_factor && !v->opposite_direction ? v->epilogue_factor
                                                                 : v->factor * v->interleave) +
                   v->max_peeled;
  if (least > most) least = most;
  if (vl_requested_width(v) > 1 || (v->factor == 1 && vl_requested_count(v) > 1)) return chunk;
  if (least < chunk) least = chunk;
  if (v->factor == 1) { /* saves time, not instructions: at most about 5 % more of them */
    bool unchecked = v->exact_trips && v->checks.count == 0;
    cost entry = entry_cost(v) - (unchecked ? checks_cost(v) : 0);
    uint64_t many = (uint64_t)(40 * entry / stage_cost(scalar, STAGE_LOOP));
    return many < least ? least : many;
  }
  for (; n > least; n--) {
    if (cost_add(entry_cost(v), stages_cost(v, vector, epilogue, scalar, n - 1)) >
        scalar_loop_cost(scalar, n - 1))
      break;
  }
  return n < least ? least : n;
}

/* Whether an access of the group is needed: dead loads are not. */
static bool group_is_needed(const struct vector_loop *v, uint32_t group) {
  for (uint32_t k = v->groups.data[group].first; k <= v->groups.data[group].last; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    if (a->group == group && (a->is_store || v->needed[a->inst.index])) return true;
  }
  return false;
}

/* Whether the group's wide accesses are known to be aligned after peeling. */
static bool is_aligned(const struct vector_loop *v, uint32_t group, uint32_t lanes) {
  const struct access_group *g = &v->groups.data[group], *r = &v->groups.data[v->peel_group];
  uint32_t width = accesses_width(v, g, lanes);
  if (width <= g->bytes || (v->peel && group == v->peel_group)) return true;
  if (!v->peel) return g->known_align >= width;
  if (r->step != g->step || width > accesses_width(v, r, lanes)) return false;
  struct scev d = scev_subtract(v->scev, g->address, r->address);
  return scev_is_constant(d) && (d.constant + g->anchor - r->anchor) % width == 0;
}

/* Peeling aligns the first group of stores, else the first group, if its elements are adjacent. */
static void choose_peeling(struct vector_loop *v) {
  uint32_t lanes = v->factor * v->interleave;
  bool rules = false;
  v->max_peeled = 0;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    const struct access_group *g = &v->groups.data[n];
    uint32_t width = accesses_width(v, g, lanes);
    if (width <= g->bytes || access_group_reach(g) != g->bytes || !group_is_needed(v, n)) continue;
    if (rules && (v->groups.data[v->peel_group].is_store || !g->is_store)) continue;
    rules = true, v->peel_group = n;
  }
  v->peel = rules;
  if (rules) {
    const struct access_group *g = &v->groups.data[v->peel_group];
    v->peel = g->known_align < accesses_width(v, g, lanes);
    v->max_peeled = v->peel ? accesses_width(v, g, lanes) / g->bytes - 1 : 0;
  }
  v->two_versions = v->opposite_direction = false;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    struct access_group *g = &v->groups.data[n];
    g->align_checked = !is_aligned(v, n, lanes) && group_is_needed(v, n);
    v->two_versions |= rules && g->align_checked;
    v->opposite_direction |=
        rules && g->align_checked && (g->step < 0) != (v->groups.data[v->peel_group].step < 0);
  }
}

/* `iterations` if they become straight-line code, else 0; knob and hint override the cost. */
static uint32_t straight_iterations(const struct vector_loop *v, uint32_t iterations) {
  int64_t preference = vl_knob(v, KNOB_PREFER_PREDICATE_OVER_EPILOGUE);
  if (preference < 0 && v->hints.predicate != FORCE_UNDEFINED)
    preference = v->hints.predicate == FORCE_ENABLED;
  bool fits = iterations < MAX_STRAIGHT && iterations * v->body_count <= MAX_REMAINDER;
  return v->own_remainder && (preference > 0 || (preference < 0 && fits)) ? iterations : 0;
}

/* Chooses the stages after the main loop: the epilogue factor whose plan costs least on average
 * over all remainders, and the form of the rest. *best: the cost of the epilogue. */
static void choose_epilogue(struct vector_loop *v, const struct vplan *p,
                            const struct vector_cost *scalar, struct vector_cost *best) {
  uint32_t chunk = v->factor * v->interleave, first = 0, last = chunk - 1;
  int32_t forced = vl_knob(v, KNOB_EPILOGUE_VECTORIZATION_FORCE_VF),
          old = vl_knob(v, KNOB_FORCE_SCALAR_EPILOGUE);
  v->own_remainder =
      !v->scalar_epilogue && old != 1 && (old == 0 || v->body_count <= MAX_REMAINDER);
  bool none = !vl_knob(v, KNOB_ENABLE_EPILOGUE_VECTORIZATION) || old == 1 || v->factor == 1 ||
              straight_iterations(v, MAX_STRAIGHT);
  if (v->exact_trips && !v->peel) first = last = (uint32_t)(v->exact_trips % chunk);
  cost least = COST_MAX;
  for (uint32_t factor = 1; factor == 1 || (factor < chunk && factor <= MAX_FACTOR && !none);
       factor *= 2) {
    struct vector_loop with = *v;
    with.max_peeled = 0;
    with.epilogue_factor = factor > 1 ? factor : 0;
    uint32_t step = factor > 1 ? factor : chunk;
    with.remaining = first == last ? last % step : step - 1;
    with.predicated = straight_iterations(v, step - 1);
    struct vector_cost price = cost_of_plan(v, p, factor, 1);
    bool requested = forced && factor == bit_floor((uint64_t)forced);
    cost sum = 0;
    for (uint32_t k = first; k <= last; k++)
      sum = cost_add(sum, stages_cost(&with, &price, &price, scalar, k));
    if (!requested && (sum >= least || (forced && factor > 1))) continue;
    least = sum, *best = price;
    v->epilogue_factor = with.epilogue_factor, v->predicated = with.predicated;
    v->remaining = with.remaining;
  }
  v->peel_straight = v->peel && straight_iterations(v, v->max_peeled);
}

struct choice {
  struct vector_cost price, scalar;
  cost best;
};

/* Warps, as limited by registers alone. */
static uint32_t register_warps(const struct vector_loop *v, uint32_t registers) {
  struct occupancy_use use = use_of(v, registers);
  struct occupancy o;
  use.shared_bytes = 0;
  occupancy_compute(v->env->target->cpu, &use, &o);
  return o.warps;
}

/* The interleave count to try first. */
static uint32_t first_count(struct vector_loop *v, const struct vplan *p, uint32_t factor) {
  uint32_t count = interleave_count(v, p, factor);
  int64_t user = vl_requested_count(v), most = vl_knob(v, KNOB_FORCE_TARGET_MAX_SCALAR_INTERLEAVE);
  if (user == 1 && factor > 1) v->interleave_disabled = count > 1;
  if (user > 16) user = 16;
  if (factor == 1 && most && user > most) user = most;
  if (user > 0) count = (uint32_t)bit_floor((uint64_t)user);
  while (count > 1 && (uint64_t)count * factor > v->max_lanes) count /= 2;
  return count;
}

/* Whether the threads of a block take turns: the counter moves by a warp at least, so that each
 * thread has few iterations. */
static bool is_shared_by_threads(const struct vector_loop *v) {
  enum { WARP = 32 };
  return v->trips.step >= WARP || v->trips.step <= -WARP;
}

/* Whether a candidate saves enough. With vectors a large body must halve the time by default: the
 * loops around the main one, for the first and last iterations and for buffers of other alignments,
 * are about twice its code. A small body must save an eighth; if it lowers occupancy, a quarter, as
 * costs assume half of the warps, which is not true of every launch. If the user asks for vectors,
 * only occupancy counts. Interleaving alone gains only what unrolling and an assembler cannot:
 * loads move before stores of earlier iterations; after its checks it takes many iterations to gain
 * it. */
static bool saves_enough(const struct vector_loop *v, const struct vector_cost *price,
                         uint32_t factor, cost all, const struct vector_cost *scalar) {
  bool lowers_occupancy =
      register_warps(v, price->registers) < register_warps(v, scalar->registers);
  if (factor > 1) {
    cost percent = vl_knob(v, KNOB_VECTORIZER_MIN_SAVING);
    bool wanted = v->hints.force == FORCE_ENABLED || vl_requested_width(v) > 1;
    if (wanted) return !lowers_occupancy || all < scalar->per_iteration / 4 * 3;
    if (v->body_count <= SMALL_BODY) percent /= lowers_occupancy ? 2 : 4;
    return all <= scalar->per_iteration / 100 * (100 - percent);
  }
  cost wait = accesses_ordered_latency(v) / hiding_warps(scalar->warps);
  cost issue = price->body / v->interleave; /* as many as the unrolled loop */
  bool unrolls_more = !vl_knob(v, KNOB_FORCE_TARGET_MAX_SCALAR_INTERLEAVE) && v->interleave < 4 &&
                      2 * v->interleave * v->body_count <= MAX_INTERLEAVED;
  return !lowers_occupancy && !unrolls_more && !is_shared_by_threads(v) &&
         all < 900 * (issue > wait ? issue : wait);
}

/* Prices one factor and interleave count, and records it. */
static struct vector_candidate try_count(struct vector_loop *v, const struct vplan *p,
                                         uint32_t factor, uint32_t count, const struct choice *c) {
  v->factor = factor, v->interleave = count;
  choose_peeling(v);
  struct vector_candidate tried = {factor, count, cost_of_plan(v, p, factor, count), 0, 0, true};
  tried.all = overall(v, &tried.price, &c->scalar, factor * count);
  if (tried.price.body < COST_MAX)
    tried.steps = !saves_enough(v, &tried.price, factor, tried.all, &c->scalar);
  add_candidate(v, tried);
  return tried;
}

/* Tries one factor; keeps it if it is the best so far and saves enough. If it does not, tries lower
 * interleave counts. */
static void try_factor(struct vector_loop *v, const struct vplan *p, uint32_t factor, bool forced,
                       struct choice *c) {
  uint32_t old_factor = v->factor, old_count = v->interleave, count = first_count(v, p, factor);
  if (factor * count == 1) return;
  bool fixed = vl_requested_count(v) > 0 || (forced && factor == 1);
  struct vector_candidate tried = try_count(v, p, factor, count, c);
  while (tried.steps && !fixed && tried.count > 1 && factor * tried.count > 2)
    tried = try_count(v, p, factor, tried.count / 2, c);
  bool best = tried.all < c->best || (tried.all == c->best && factor > old_factor);
  if ((best && !tried.steps) || (forced && tried.price.body < COST_MAX))
    c->best = tried.all, c->price = tried.price;
  else v->factor = old_factor, v->interleave = old_count;
}

/* Halves the interleave count of the best vectorized loop as long as it takes at most an eighth
 * more time than with the first count, and still saves enough. Interleaving takes code and
 * registers; other warps hide most of the latency that it hides. Counts and maximum counts of the
 * user are kept. */
static void lower_count(struct vector_loop *v, const struct vplan *p, struct choice *c) {
  enum { MAX_SLOWDOWN = 8 /* one part in */ };
  if (v->factor == 1 || vl_requested_count(v) > 0 || vl_knob(v, KNOB_AGGRESSIVE_INTERLEAVE) ||
      vl_knob(v, KNOB_FORCE_TARGET_MAX_VECTOR_INTERLEAVE))
    return;
  uint32_t count = v->interleave;
  while (count > 1) {
    struct vector_candidate lower = try_count(v, p, v->factor, count / 2, c);
    if (lower.steps || lower.all > cost_add(c->best, c->best / MAX_SLOWDOWN)) break;
    count /= 2, c->price = lower.price;
  }
  v->interleave = count;
}

static void report_occupancy(const struct vector_loop *v, const struct choice *c) {
  uint32_t counter =
      2 * ((v->trips.taken.width + 31) / 32); /* and its bound, which are not in the plan */
  uint32_t before = register_warps(v, c->scalar.registers),
           after = register_warps(v, c->price.registers + counter);
  if (after < before && v->factor * v->interleave > 1) vreport_occupancy(v, after, before);
}

enum vector_refusal vcost_choose(struct vector_loop *v, const struct vplan *p) {
  v->assumed_trips =
      v->exact_trips && v->exact_trips < ASSUMED_TRIPS ? v->exact_trips : ASSUMED_TRIPS;
  v->block_threads =
      launch_bounds_threads(v->env->annotations, value_make(VALUE_FUNCTION, v->env->number));
  struct choice c = {.scalar = cost_of_plan(v, p, 1, 1)};
  uint32_t most = max_factor(v);
  int64_t requested = vl_requested_width(v);
  v->factor = v->interleave = 1;
  c.best = c.scalar.per_iteration, c.price = c.scalar;
  add_candidate(v, (struct vector_candidate){1, 1, c.scalar, 0, c.best, false});
  if (requested > 1) {
    uint64_t factor = bit_floor((uint64_t)(requested > MAX_FACTOR ? MAX_FACTOR : requested));
    while (factor > v->max_lanes) factor /= 2;
    if (factor > 1) try_factor(v, p, (uint32_t)factor, true, &c);
  } else if (requested <= 0 && !v->interleave_only) {
    bool forced = v->hints.force == FORCE_ENABLED;
    for (uint32_t factor = 2; factor <= most; factor *= 2) {
      try_factor(v, p, factor, forced, &c);
      forced = false;
    }
  }
  lower_count(v, p, &c);
  if (v->factor == 1)
    try_factor(v, p, 1, vl_requested_count(v) > 1 || vl_knob(v, KNOB_AGGRESSIVE_INTERLEAVE), &c);
  vreport_choice(v);
  report_occupancy(v, &c);
  struct vector_cost epilogue = c.scalar;
  choose_peeling(v);
  choose_epilogue(v, p, &c.scalar, &epilogue);
  v->min_iterations = min_iterations(v, &c.price, &epilogue, &c.scalar);
  v->unaligned_version = true;
  struct vector_cost unlike = cost_of_plan(v, p, v->factor, v->interleave);
  v->unaligned_version = false;
  uint32_t chunk = v->factor * v->interleave;
  v->two_versions = v->two_versions && unlike.body < COST_MAX &&
                    stage_cost(&unlike, STAGE_LOOP) < scalar_loop_cost(&c.scalar, chunk);
  v->own_remainder &= v->remaining != 0;
  if (v->predicated > v->remaining) v->predicated = v->remaining;
  if (v->factor * v->interleave == 1) return VECTOR_NOT_BENEFICIAL;
  return v->min_iterations > max_iterations(v) - v->scalar_epilogue ? VECTOR_LOW_TRIP_COUNT
                                                                    : VECTOR_OK;
}
