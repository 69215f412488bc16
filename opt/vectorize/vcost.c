/* What a vectorization factor and an interleave count cost, and which to take.
 *
 * The price of a plan is counted in issue slots: every recipe asks target/cost.h, accesses are
 * priced as the pieces that they really become, the loop's own instructions and the run-time checks
 * are added. On a GPU time is also waiting for memory, which other warps hide as far as registers
 * leave room for them:
 *
 *   slots of an iteration = max(issue slots, latency of a load / resident warps per scheduler) /
 * iterations at a time
 *
 * so that registers count by the warps that they cost (the occupancy cliff), and wide or
 * interleaved loads by the waiting they save. Sums saturate. The interleave count is seed 3's
 * formula. */
#include "ir/evalint.h"
#include "opt/remark.h"
#include "opt/vectorize/vectorize.h"

enum {
  ASSUMED_TRIPS = 256,   /* of loops whose trip count is not known */
  BASE_REGISTERS = 12,   /* of a thread for what is no part of the loop */
  ASSUMED_THREADS = 256, /* of a block without launch bounds */
  SCHEDULERS = 4,
  MOST_CHUNK =
      32, /* lanes at a time: more hide nothing that these do not, and leave longer remainders */
  BYTES_PARTED = 2, /* moves for each two bytes: out of or into a word, and into or out of a pair */
  MOST_REMAINDER = 64, /* instructions of a loop that is copied once more for its last iterations */
};

/* --- recipes ------------------------------------------------------------------------------------
 */

struct cost_type price_type(const struct nvm_module *m, struct nvm_type type, uint32_t lanes) {
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
  return price_type(v->f->module, type, lanes);
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

enum tgt_operation_index price_operation(enum op op) {
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
  if (i->op == OP_CALL && r->kind == VP_REPLICATE) /* not known better */
    return cost_call(v->env->target, i->operand_count, COST_THROUGHPUT);
  bool compare = i->op == OP_ICMP || i->op == OP_FCMP;
  struct nvm_type type = compare ? value_type(v->f, inst_operand(v->f, i, 0)) : r->type;
  return cost_arithmetic(v->env->target, price_operation((enum op)i->op),
                         cost_type_of(v, type, lanes), COST_THROUGHPUT);
}

static cost access_cost(const struct vector_loop *v, const struct vector_access *a,
                        uint32_t elements) {
  return cost_memory(v->env->target, cost_type_of(v, a->type, elements), a->space,
                     elements * a->bytes, COST_THROUGHPUT);
}

/* All lanes of a group, priced with its first recipe. */
static cost group_cost(const struct vector_loop *v, const struct vplan *p, uint32_t n,
                       uint32_t lanes, struct vector_price *price) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  for (uint32_t k = 1; k < n; k++) {
    const struct vp_recipe *other = vplan_recipe(p, k);
    if ((other->kind == VP_LOAD || other->kind == VP_STORE) && other->group == r->group) return 0;
  }
  struct access_piece pieces[MOST_PIECES];
  uint32_t width = accesses_width(v, &v->groups.data[r->group], lanes);
  uint32_t count = accesses_pieces(v, r->group, lanes, width, pieces);
  if (count == 0) return COST_MAX; /* too far apart */
  /* Bytes are parted and joined, two a register. */
  struct cost_type halves = {TGT_INTEGER, 16,
                             v->groups.data[r->group].bytes == 1 && lanes > 1 ? lanes : 1};
  cost sum = cost_times(cost_shuffle(v->env->target, halves, COST_THROUGHPUT), BYTES_PARTED);
  price->computing = cost_add(price->computing, sum);
  for (uint32_t k = 0; k < count; k++)
    sum = cost_add(sum, access_cost(v, &v->accesses.data[r->access], pieces[k].elements));
  price->accesses += count;
  return sum;
}

static cost recipe_cost(const struct vector_loop *v, const struct vplan *p, uint32_t n,
                        uint32_t factor, uint32_t count, struct vector_price *price) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  uint32_t lanes = factor * count;
  uint32_t times = r->uniform ? 1 : lanes;
  switch ((enum vp_kind)r->kind) {
    case VP_POINTER: price->pointers += r->step != 0; return r->step ? 2 : 0;
    case VP_INDUCTION: return cost_add(1, cost_times(1, lanes > 1 ? lanes : 0));
    case VP_WIDEN:
      if (r->uniform || r->in_chain) return cost_times(plain_cost(v, r, 1), times);
      return cost_times(plain_cost(v, r, factor), count);
    case VP_REPLICATE: return cost_times(plain_cost(v, r, 1), times);
    case VP_LOAD:
    case VP_STORE:
      if (r->group != VP_NO_GROUP && !r->mask) return group_cost(v, p, n, lanes, price);
      price->accesses += times;
      return cost_times(cost_add(access_cost(v, &v->accesses.data[r->access], 1),
                                 r->mask ? cost_branch(v->env->target, true, COST_THROUGHPUT) : 0),
                        times);
    case VP_BLEND: return cost_times(r->operand_count / 2, lanes);
    case VP_AND:
    case VP_OR:
    case VP_NOT: return lanes;
    case VP_NONE:
    case VP_LIVE_IN:
    case VP_REDUCTION:
    case VP_RECURRENCE:
    case VP_SERIAL:
    case VP_KIND_COUNT: break;
  }
  return 0;
}

/* --- registers ----------------------------------------------------------------------------------
 */

static uint32_t recipe_registers(const struct vector_loop *v, const struct vp_recipe *r,
                                 uint32_t lanes) {
  if (type_equal(r->type, TYPE_VOID) || type_equal(r->type, TYPE_I1)) return 0;
  uint64_t bits = layout_bits(&v->f->module->layout, vl_types(v), r->type);
  bool one = r->uniform || r->kind == VP_LIVE_IN || r->kind == VP_POINTER ||
             r->kind == VP_INDUCTION || r->kind == VP_RECURRENCE || r->kind == VP_SERIAL;
  if (r->kind == VP_LIVE_IN && value_kind(r->value) == VALUE_CONST) return 0;
  return (uint32_t)((bits * (one ? 1 : lanes) + 31) / 32);
}

/* The most registers alive between two recipes. */
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
      last[o] = 0; /* once */
    }
  }
  return most;
}

/* --- launch bounds ------------------------------------------------------------------------------
 */

/* Threads of a block: the product of .maxntid where the kernel says it, else 0. */
static uint32_t block_threads(const struct vector_loop *v) {
  const struct nvm_module *m = v->f->module;
  struct nvm_str key = strtab_find(&m->strings, "nvvm.maxntid", 12);
  const struct attr_table_data *a = &m->attributes;
  const struct nvm_attr *bounds =
      key.index ? attrset_find_string(a, attrlist_info(a, v->f->attributes)->function, key) : NULL;
  if (!bounds) return 0;
  struct nvm_text t = module_text(m, bounds->str2);
  uint64_t product = 1, number = 0;
  for (size_t k = 0; k <= t.length; k++) {
    bool digit = k < t.length && t.bytes[k] >= '0' && t.bytes[k] <= '9';
    if (digit && number < 100000) number = number * 10 + (uint64_t)(t.bytes[k] - '0');
    if (!digit && number && product < 100000) product *= number;
    if (!digit) number = 0;
  }
  uint32_t most = 1024;
  return product < most ? (uint32_t)product : most;
}

/* Without launch bounds, something else is taken to leave room for half of the warps: what memory a
 * kernel shares, the size of its grid, its other code. */
static struct occupancy_use use_of(const struct vector_loop *v, uint32_t registers) {
  struct occupancy_use use = {.threads_per_block = block_threads(v),
                              .registers_per_thread = registers};
  const struct tgt_cpu *cpu = v->env->target->cpu;
  if (use.threads_per_block) return use;
  uint32_t blocks = tgt_limit(cpu, TGT_LIMIT_WARPS_PER_SM) * 32 / ASSUMED_THREADS / 2;
  use.threads_per_block = ASSUMED_THREADS;
  use.shared_bytes = blocks ? tgt_limit(cpu, TGT_LIMIT_SHARED_PER_SM) / (blocks + 1) + 1 : 0;
  return use;
}

/* --- prices -------------------------------------------------------------------------------------
 */

static cost checks_cost(const struct vector_loop *v) {
  return (cost)(12 + 6 * v->checks.count + 4 * v->groups.count + (v->peel ? 6 : 0));
}

/* Slots that pass while `body` slots are issued and the loads' latency is hidden by the other
 * warps. */
static cost elapsed(const struct vector_loop *v, cost body, uint32_t warps, bool loads) {
  uint32_t space = v->accesses.count ? v->accesses.data[0].space : 1;
  cost wait = loads ? cost_load_latency(v->env->target, space) /
                          (warps > SCHEDULERS ? warps / SCHEDULERS : 1)
                    : 0;
  return body > wait ? body : wait;
}

struct vector_price price_plan(const struct vector_loop *v, const struct vplan *p, uint32_t factor,
                               uint32_t count) {
  struct vector_price price = {.body = 3}; /* count, compare, branch */
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    enum vp_kind kind = (enum vp_kind)vplan_recipe(p, n)->kind;
    cost each = recipe_cost(v, p, n, factor, count, &price);
    price.body = cost_add(price.body, each);
    if (kind != VP_LOAD && kind != VP_STORE) price.computing = cost_add(price.computing, each);
  }
  if (p->early)
    price.body = cost_add(price.body, factor * count),
    price.computing = cost_add(price.computing, factor * count);
  price.registers = BASE_REGISTERS + live_registers(v, p, factor * count);
  struct occupancy o;
  struct occupancy_use use = use_of(v, price.registers);
  occupancy_compute(v->env->target->cpu, &use, &o);
  price.warps = o.warps;
  cost all = elapsed(v, price.body, o.warps, price.accesses != 0);
  if (o.warps == 0) all = COST_MAX;
  price.per_iteration = all > COST_MAX / 1000 ? COST_MAX : cost_times(all, 1000) / (factor * count);
  return price;
}

/* 1000 × slots of an iteration, with checks and what remains for the old loop. */
static cost overall(const struct vector_loop *v, const struct vector_price *vector,
                    const struct vector_price *scalar, uint32_t chunk) {
  uint64_t trips =
      v->exact_trips && v->exact_trips < ASSUMED_TRIPS ? v->exact_trips : ASSUMED_TRIPS;
  uint64_t full = trips / chunk * chunk;
  cost sum = cost_add(cost_times(vector->per_iteration, full),
                      cost_times(scalar->per_iteration, trips - full));
  return cost_add(sum, cost_times(checks_cost(v), 1000)) / (cost)trips;
}

/* --- the choice ---------------------------------------------------------------------------------
 */

static uint64_t bit_floor(uint64_t x) {
  while (x & (x - 1)) x &= x - 1;
  return x;
}

static bool has_reductions(const struct vector_loop *v) {
  for (uint32_t k = 0; k < v->phis.count; k++)
    if (v->phis.data[k].kind == PHI_REDUCTION) return true;
  return false;
}

/* No more than the counter has numbers. */
static uint64_t most_iterations(const struct vector_loop *v) {
  uint64_t most = v->trips.most;
  if (v->trips.taken.width < 32 && most > evalint_mask(v->trips.taken.width))
    most = evalint_mask(v->trips.taken.width);
  return v->exact_trips ? v->exact_trips : most < UINT32_MAX ? most + 1 : UINT32_MAX;
}

/* Seed 3's formula. `latency`: cycles of an addition that the other warps do not hide. Partial sums
 * of a reduction are chains of their own, which is what hides it. */
static uint32_t interleave_count(const struct vector_loop *v, const struct vplan *p,
                                 uint32_t factor) {
  struct vector_price one = price_plan(v, p, factor, 1);
  struct occupancy_use use = use_of(v, one.registers);
  bool vector = factor > 1;
  uint64_t most =
      cost_max_interleave_factor(v->env->target, &use, one.registers - BASE_REGISTERS, vector);
  int32_t forced = vl_knob(v, vector ? KNOB_FORCE_TARGET_MAX_VECTOR_INTERLEAVE
                                     : KNOB_FORCE_TARGET_MAX_SCALAR_INTERLEAVE);
  if (forced) most = bit_floor((uint64_t)forced);
  while (most > 1 && (most * factor > v->most_lanes || most * factor > MOST_CHUNK)) most /= 2;
  uint64_t count = bit_floor(most_iterations(v) / (factor * 2));
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

/* The widest factor that makes an element an access, or less where dependences say so. */
static uint32_t most_factor(const struct vector_loop *v) {
  uint32_t most = 1;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    const struct access_group *g = &v->groups.data[n];
    uint32_t fits = cost_widest_access_bits(v->env->target, g->space) / 8 / g->bytes;
    if (g->wide && fits > most) most = fits;
  }
  if (most > MOST_FACTOR) most = MOST_FACTOR;
  while (most > v->most_lanes || (v->exact_trips && most > v->exact_trips)) most /= 2;
  return most ? most : 1;
}

static void tell_price(const struct vector_loop *v, const struct vector_price *p, uint32_t factor,
                       uint32_t count, cost all) {
  remark(
      v->env, REMARK_ANALYSIS, v->f, remark_at_block(v->f, v->loop->header), "VectorizationCost",
      "width %(VectorizationFactor)u, interleave %(InterleaveCount)u: %(Body)D issue slots, "
      "%(Accesses)u memory "
      "instructions, %(Registers)u registers, %(Warps)u warps; %(Cost)D/1000 slots per iteration",
      (unsigned)factor, (unsigned)count, (int64_t)p->body, (unsigned)p->accesses,
      (unsigned)p->registers, (unsigned)p->warps, (int64_t)all);
}

/* Instructions in front of and behind the stages of vectors: checks, and what reductions begin and
 * end with. */
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

/* How a stage's iterations stand: in a loop, or in a row, each under a condition and at addresses
 * known from the first. */
enum stage_form { STAGE_LOOP, STAGE_ROW };
enum { LOOP = 3, CONDITION = 2, STAGE_ENTRY = 6, UNROLLED = 4, MOST_ROW = 8 };

/* Instructions of one vector iteration, an access counted twice. */
static cost stage_cost(const struct vector_price *p, enum stage_form form) {
  cost around = form == STAGE_ROW ? CONDITION - 2 * (cost)p->pointers : LOOP;
  return cost_add(p->computing, around + 2 * (cost)p->accesses);
}

/* What `count` iterations cost in the main loop, the epilogue and what follows, all prices given.
 */
static cost vector_cost(const struct vector_loop *v, const struct vector_price *vector,
                        const struct vector_price *epilogue, const struct vector_price *scalar,
                        uint64_t count) {
  uint32_t chunk = v->factor * v->interleave, peeled = v->peel_most / 2;
  cost rest = stage_cost(scalar, v->predicated ? STAGE_ROW : STAGE_LOOP);
  cost sum = cost_times(stage_cost(scalar, v->peel_in_row ? STAGE_ROW : STAGE_LOOP), peeled);
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

/* The old loop's instructions for so many iterations, unrolled; an access counted twice. */
static cost old_loop_cost(const struct vector_price *scalar, uint64_t count) {
  cost around = LOOP + scalar->pointers;
  return cost_add(cost_times(stage_cost(scalar, STAGE_LOOP) - around, count),
                  cost_times(around, count / UNROLLED + count % UNROLLED));
}

/* The width that the user asks for; 0: none. */
static int64_t wanted_width(const struct vector_loop *v) {
  int32_t knob = vl_knob(v, KNOB_FORCE_VECTOR_WIDTH);
  return knob ? knob : v->hints.width;
}

/* The least number of iterations from which on the whole is worth what stands around the vectors,
 * beside the old loop unrolled. At run time no fewer are demanded than the knob demands of what is
 * known while compiling. Where the user chose the width, as many as fill a vector. */
static uint64_t least_iterations(const struct vector_loop *v, const struct vector_price *vector,
                                 const struct vector_price *epilogue,
                                 const struct vector_price *scalar) {
  enum { MOST_LEAST = 256 };
  uint64_t least = (uint64_t)vl_knob(v, KNOB_VECTORIZER_MIN_TRIP_COUNT), most = most_iterations(v),
           n = MOST_LEAST;
  uint64_t chunk =
      (v->epilogue_factor && !v->against ? v->epilogue_factor : v->factor * v->interleave) +
      v->peel_most;
  if (least > most) least = most;
  if (wanted_width(v) > 1) return chunk;
  if (least < chunk) least = chunk;
  for (; n > least; n--) {
    if (cost_add(entry_cost(v), vector_cost(v, vector, epilogue, scalar, n - 1)) >
        old_loop_cost(scalar, n - 1))
      break;
  }
  return n < least ? least : n;
}

/* Whether anything of the group is accessed: dead loads are not. */
static bool group_is_needed(const struct vector_loop *v, uint32_t group) {
  for (uint32_t k = v->groups.data[group].first; k <= v->groups.data[group].last; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    if (a->group == group && (a->is_store || v->needed[a->inst.index])) return true;
  }
  return false;
}

/* Whether the group's wide accesses are known to be aligned, once the iterations that peeling takes
 * are done. */
static bool is_aligned(const struct vector_loop *v, uint32_t group, uint32_t lanes) {
  const struct access_group *g = &v->groups.data[group], *r = &v->groups.data[v->peel_group];
  uint32_t width = accesses_width(v, g, lanes);
  if (width <= g->bytes || (v->peel && group == v->peel_group)) return true;
  if (!v->peel) return g->known_align >= width;
  if (r->step != g->step || width > accesses_width(v, r, lanes)) return false;
  struct scev d = scev_subtract(v->scev, g->address, r->address);
  return scev_is_constant(d) && (d.constant + g->anchor - r->anchor) % width == 0;
}

/* Peeling aligns the group that stores, or the first, if its elements are neighbours. */
static void choose_peeling(struct vector_loop *v) {
  uint32_t lanes = v->factor * v->interleave;
  bool rules = false;
  v->peel_most = 0;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    const struct access_group *g = &v->groups.data[n];
    uint32_t width = accesses_width(v, g, lanes);
    int64_t reach = g->step < 0 ? -g->step : g->step;
    if (width <= g->bytes || reach != g->bytes || !group_is_needed(v, n)) continue;
    if (rules && (v->groups.data[v->peel_group].is_store || !g->is_store)) continue;
    rules = true, v->peel_group = n;
  }
  v->peel = rules;
  if (rules) {
    const struct access_group *g = &v->groups.data[v->peel_group];
    v->peel = g->known_align < accesses_width(v, g, lanes);
    v->peel_most = v->peel ? accesses_width(v, g, lanes) / g->bytes - 1 : 0;
  }
  v->twofold = v->against = false;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    struct access_group *g = &v->groups.data[n];
    g->asked = !is_aligned(v, n, lanes) && group_is_needed(v, n);
    v->twofold |= rules && g->asked;
    v->against |= rules && g->asked && (g->step < 0) != (v->groups.data[v->peel_group].step < 0);
  }
}

/* `iterations` if they shall stand in a row, else 0; the user may want more than pays. */
static uint32_t row_of(const struct vector_loop *v, uint32_t iterations) {
  int64_t wish = vl_knob(v, KNOB_PREFER_PREDICATE_OVER_EPILOGUE);
  if (wish < 0 && v->hints.predicate != FORCE_UNDEFINED) wish = v->hints.predicate == FORCE_ENABLED;
  bool fits = iterations < MOST_ROW && iterations * v->body_count <= MOST_REMAINDER;
  return v->own_remainder && (wish > 0 || (wish < 0 && fits)) ? iterations : 0;
}

/* The stages behind the main loop: an epilogue of the factor whose plan leaves the least to do, on
 * the average of all remainders, and what is left by then in a row or in a loop. *best: the
 * epilogue's price. */
static void choose_epilogue(struct vector_loop *v, const struct vplan *p,
                            const struct vector_price *scalar, struct vector_price *best) {
  uint32_t chunk = v->factor * v->interleave, first = 0, last = chunk - 1;
  int32_t forced = vl_knob(v, KNOB_EPILOGUE_VECTORIZATION_FORCE_VF),
          old = vl_knob(v, KNOB_FORCE_SCALAR_EPILOGUE);
  v->own_remainder = !v->scalar_epilogue && v->body_count <= MOST_REMAINDER && old != 1;
  bool none = !vl_knob(v, KNOB_ENABLE_EPILOGUE_VECTORIZATION) || old == 1 || row_of(v, MOST_ROW);
  if (v->exact_trips && !v->peel) first = last = (uint32_t)(v->exact_trips % chunk);
  cost least = COST_MAX;
  for (uint32_t factor = 1; factor == 1 || (factor < chunk && factor <= MOST_FACTOR && !none);
       factor *= 2) {
    struct vector_loop with = *v;
    with.peel_most = 0;
    with.epilogue_factor = factor > 1 ? factor : 0;
    with.predicated = row_of(v, (factor > 1 ? factor : chunk) - 1);
    struct vector_price price = price_plan(v, p, factor, 1);
    bool wanted = forced && factor == bit_floor((uint64_t)forced);
    cost sum = 0;
    for (uint32_t k = first; k <= last; k++)
      sum = cost_add(sum, vector_cost(&with, &price, &price, scalar, k));
    if (!wanted && (sum >= least || (forced && factor > 1))) continue;
    least = sum, *best = price;
    v->epilogue_factor = with.epilogue_factor, v->predicated = with.predicated;
  }
  v->peel_in_row = v->peel && row_of(v, v->peel_most);
}

struct choice {
  struct vector_price price, scalar;
  cost best;
};

/* Warps that registers alone leave room for. */
static uint32_t register_warps(const struct vector_loop *v, uint32_t registers) {
  struct occupancy_use use = use_of(v, registers);
  struct occupancy o;
  use.shared_bytes = 0;
  occupancy_compute(v->env->target->cpu, &use, &o);
  return o.warps;
}

/* Tries one factor; keeps it if it is the best so far, and saves a quarter where it costs a step of
 * occupancy: half of the warps is what prices assume, but not what every launch has. If it saves
 * less: with a lower count. */
static void try_factor(struct vector_loop *v, const struct vplan *p, uint32_t factor, bool forced,
                       struct choice *c) {
  uint32_t old_factor = v->factor, old_count = v->interleave;
  uint32_t count = interleave_count(v, p, factor);
  int64_t user = vl_knob(v, KNOB_FORCE_VECTOR_INTERLEAVE) ? vl_knob(v, KNOB_FORCE_VECTOR_INTERLEAVE)
                                                          : v->hints.interleave;
  if (user == 1) v->interleave_refused = count > 1;
  if (user > 0) count = (uint32_t)bit_floor((uint64_t)(user > 16 ? 16 : user));
  while (count > 1 && (uint64_t)count * factor > v->most_lanes) count /= 2;
  int32_t scalar_most = vl_knob(v, KNOB_FORCE_TARGET_MAX_SCALAR_INTERLEAVE);
  if (factor == 1 && (user <= 1 || (scalar_most && scalar_most < (int32_t)count)))
    count = user <= 1 ? 1 : (uint32_t)bit_floor((uint64_t)scalar_most);
  struct vector_price price;
  cost all = 0;
  bool pays = false;
  for (bool again = true; again; count /= again ? 2 : 1) {
    v->factor = factor, v->interleave = count;
    choose_peeling(v);
    price = price_plan(v, p, factor, count);
    all =
        factor * count == 1 ? price.per_iteration : overall(v, &price, &c->scalar, factor * count);
    tell_price(v, &price, factor, count, all);
    bool steps_down = register_warps(v, price.registers) < register_warps(v, c->scalar.registers);
    pays = price.body < COST_MAX && (!steps_down || all < c->scalar.per_iteration / 4 * 3);
    again = !pays && count > 1 && user <= 0;
  }
  if ((pays && (all < c->best || (all == c->best && factor > old_factor))) ||
      (forced && price.body < COST_MAX)) {
    c->best = all, c->price = price;
  } else {
    v->factor = old_factor, v->interleave = old_count;
  }
}

static void tell_occupancy(const struct vector_loop *v, const struct choice *c) {
  uint32_t counter =
      2 * ((v->trips.taken.width + 31) / 32); /* and its bound, of which the plan knows nothing */
  uint32_t before = register_warps(v, c->scalar.registers),
           after = register_warps(v, c->price.registers + counter);
  if (after >= before || v->factor * v->interleave == 1) return;
  remark(v->env, REMARK_ANALYSIS, v->f, remark_at_block(v->f, v->loop->header), "OccupancyStep",
         "registers leave room for %(Warps)u warps instead of %(ScalarWarps)u: paid by %(Cost)D "
         "instead of "
         "%(ScalarCost)D/1000 slots per iteration",
         (unsigned)after, (unsigned)before, (int64_t)c->best, (int64_t)c->scalar.per_iteration);
}

enum vector_refusal price_choose(struct vector_loop *v, const struct vplan *p) {
  struct choice c = {.scalar = price_plan(v, p, 1, 1)};
  uint32_t most = most_factor(v);
  int64_t wanted = wanted_width(v);
  v->factor = v->interleave = 1;
  c.best = c.scalar.per_iteration, c.price = c.scalar;
  tell_price(v, &c.scalar, 1, 1, c.best);
  if (wanted > 0) {
    uint64_t factor = bit_floor((uint64_t)(wanted > MOST_FACTOR ? MOST_FACTOR : wanted));
    while (factor > v->most_lanes) factor /= 2;
    try_factor(v, p, (uint32_t)factor, true, &c);
  } else {
    bool forced = v->hints.force == FORCE_ENABLED;
    for (uint32_t factor = 2; factor <= most; factor *= 2) {
      try_factor(v, p, factor, forced, &c);
      forced = false;
    }
  }
  tell_occupancy(v, &c);
  struct vector_price epilogue = c.scalar;
  choose_peeling(v);
  choose_epilogue(v, p, &c.scalar, &epilogue);
  v->least_iterations = least_iterations(v, &c.price, &epilogue, &c.scalar);
  v->unlike = true;
  struct vector_price unlike = price_plan(v, p, v->factor, v->interleave);
  v->unlike = false;
  uint32_t chunk = v->factor * v->interleave;
  v->twofold = v->twofold && unlike.body < COST_MAX &&
               stage_cost(&unlike, STAGE_LOOP) < old_loop_cost(&c.scalar, chunk);
  if (v->factor * v->interleave == 1) return VECTOR_NOT_BENEFICIAL;
  return v->least_iterations > most_iterations(v) - v->scalar_epilogue ? VECTOR_LOW_TRIP_COUNT
                                                                       : VECTOR_OK;
}
