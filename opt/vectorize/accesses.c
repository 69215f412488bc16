/* Memory: the accesses of the loop, their groups, and the conditions under which several
 * iterations can be executed at a time.
 *
 * An access whose address advances by a constant belongs to a group: accesses of its kind whose
 * addresses differ by constants (neighbours of a stencil, members of a struct). The bytes of a
 * group, over all lanes, are accessed by as few and as wide instructions as alignment allows, each
 * byte once (accesses_pieces). Elements in gaps may be loaded, never stored.
 *
 * Order: with n iterations at a time, a later access of the body executes after the earlier ones
 * of the next n - 1 iterations. That is wrong only if Y, the later, accesses in iteration i what
 * X, the earlier, accesses in iteration i + d, 0 < d < n:
 *
 *   both have step s:  Y - X in (s·d - bytes of Y, s·d + bytes of X)      a distance: known, or
 *                                                                         checked at run time
 *   otherwise:         the ranges of the whole loop overlap               checked at run time
 *
 * so that a buffer may be updated in place, or shifted down. Members of a group that move past
 * other accesses must not overlap them in the same iteration either (d = 0). Stores to computed
 * addresses (a histogram) and accesses that may overlap them are executed in order, lane by lane,
 * with the computations between them. */
#include "opt/vectorize/vectorize.h"

#include "analysis/effects.h"
#include "target/cost.h"

enum { OWN_ALIGN_LOG2 = 4 }; /* 16 bytes: the widest access to shared memory */

static uint32_t low_bit(uint64_t x, uint32_t most) {
  uint64_t low = x & (0 - x);
  return x == 0 || low > most ? most : (uint32_t)low;
}

bool accesses_can_align(const struct nvm_function *f, struct nvm_value object) {
  if (value_kind(object) == VALUE_INST) return f->insts.data[value_index(object)].op == OP_ALLOCA;
  if (value_kind(object) != VALUE_GLOBAL) return false;
  const struct nvm_global *v = module_global(f->module, object);
  return symbol_is_local(&v->symbol) && !v->is_alias && !value_is_none(v->initializer) &&
         !v->symbol.section.index;
}

void accesses_align(struct nvm_function *f, struct nvm_value object, uint32_t log2) {
  if (value_kind(object) == VALUE_INST) {
    struct nvm_inst *i = &f->insts.data[value_index(object)];
    if ((i->flags & ALLOCA_ALIGN_MASK) < log2 + 1)
      i->flags = (uint16_t)((i->flags & ~ALLOCA_ALIGN_MASK) | (log2 + 1));
    return;
  }
  struct nvm_global *v = module_global(f->module, object);
  if (v->align_log2 < log2 + 1) v->align_log2 = (uint8_t)(log2 + 1);
}

/* Whether all variables in shared memory fit a block if each is aligned. */
static bool has_shared_room(const struct vector_loop *v) {
  enum { MAX_VARIABLES = 256, ALIGN = 1 << OWN_ALIGN_LOG2 };
  const struct nvm_module *m = v->f->module;
  uint64_t sum = 0, room = tgt_limit(v->env->target->cpu, TGT_LIMIT_SHARED_STATIC_BLOCK);
  if (m->globals.count > MAX_VARIABLES) return false;
  for (uint32_t n = 1; n < m->globals.count; n++) {
    const struct nvm_global *g = &m->globals.data[n];
    if (g->address_space != 3 || g->is_alias || !type_is_sized(&m->types, g->value_type)) continue;
    uint64_t bytes = layout_alloc_size(&m->layout, &m->types, g->value_type);
    if (bytes > room) return false;
    sum += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  }
  return sum <= room;
}

static bool loop_can_align(const struct vector_loop *v, struct nvm_value base) {
  return accesses_can_align(v->f, base) &&
         (value_kind(base) != VALUE_GLOBAL ||
          module_global(v->f->module, base)->address_space != 3 || has_shared_room(v));
}

void accesses_align_variables(const struct vector_loop *v) {
  for (uint32_t k = 0; k < v->accesses.count; k++)
    if (loop_can_align(v, v->accesses.data[k].address.base))
      accesses_align(v->f, v->accesses.data[k].address.base, OWN_ALIGN_LOG2);
}

/* Alignment of the base in bytes. A variable that can be aligned counts as aligned: executing the
 * plan aligns it. */
static uint32_t base_align(const struct vector_loop *v, struct nvm_value base) {
  struct nvm_function *f = v->f;
  if (value_kind(base) == VALUE_ARG) {
    const struct attr_table_data *a = &f->module->attributes;
    uint32_t align = attrset_align(a, attrlist_parameter(a, f->attributes, value_index(base)));
    return align ? align : 1;
  }
  uint32_t log2 = 0;
  if (value_kind(base) == VALUE_GLOBAL) log2 = module_global(f->module, base)->align_log2;
  if (value_kind(base) == VALUE_INST && f->insts.data[value_index(base)].op == OP_ALLOCA)
    log2 = f->insts.data[value_index(base)].flags & ALLOCA_ALIGN_MASK;
  if (log2 < OWN_ALIGN_LOG2 + 1 && loop_can_align(v, base)) log2 = OWN_ALIGN_LOG2 + 1;
  return log2 ? layout_align_bytes(log2) : 1;
}

uint32_t accesses_known_align(const struct vector_loop *v, struct scev address, int64_t offset) {
  uint32_t align = value_is_none(address.base) ? 32 : base_align(v, address.base);
  align = low_bit((uint64_t)(address.constant + offset), align < 32 ? align : 32);
  for (uint32_t k = 0; k < address.count; k++)
    if (address.terms[k].loop != v->index)
      align = low_bit((uint64_t)address.terms[k].coefficient, align);
  return align;
}

bool accesses_in_parameter(const struct vector_loop *v, struct nvm_value base) {
  return function_is_kernel(v->f) && value_kind(base) == VALUE_ARG &&
         function_parameter_attribute(v->f, value_index(base), ATTR_BYVAL) != NULL;
}

/* The number of bytes known to be dereferenceable from the base. */
static uint64_t known_bytes(const struct vector_loop *v, struct nvm_value base) {
  const struct nvm_module *m = v->f->module;
  const struct nvm_global *g =
      value_kind(base) == VALUE_GLOBAL ? module_global(v->f->module, base) : NULL;
  if (g && (g->is_alias || g->is_ifunc || g->symbol.linkage == LINK_EXTERN_WEAK)) return 0;
  if (g) return layout_alloc_size(&m->layout, &m->types, g->value_type);
  if (value_kind(base) != VALUE_ARG) return 0;
  const struct nvm_attr *bytes =
      function_parameter_attribute(v->f, value_index(base), ATTR_DEREFERENCEABLE);
  return bytes ? bytes->number : 0;
}

bool accesses_can_speculate(struct vector_loop *v) {
  for (uint32_t k = 0; k < v->accesses.count; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    uint64_t bytes = a->affine ? known_bytes(v, a->address.base) : 0,
             last = bytes ? v->trips.most : 0;
    bool alone =
        a->address.count == 0 || (a->address.count == 1 && a->address.terms[0].loop == v->index);
    if (a->is_store || a->conditional || !alone || a->step < 0 || a->address.constant < 0 ||
        bytes >= 1u << 31 || last > bytes ||
        last * (uint64_t)a->step + (uint64_t)a->address.constant + a->bytes > bytes) {
      v->culprit = a->inst;
      return false;
    }
  }
  return true;
}

/* The largest offset and step, in bytes, of an access that counts as affine: 1 TiB. Products with
 * numbers of lanes and sums of a few then stay far from the limits of 64 bits. */
static const int64_t max_distance = INT64_C(1) << 40;

static bool is_within_distance(int64_t bytes) {
  return bytes >= -max_distance && bytes <= max_distance;
}

bool accesses_is_bounded(const struct scev *address) {
  if (address->width == 0 || !is_within_distance(address->constant)) return false;
  for (uint32_t k = 0; k < address->count; k++)
    if (!is_within_distance(address->terms[k].coefficient)) return false;
  return true;
}

bool accesses_add(struct vector_loop *v, uint32_t at) {
  const struct nvm_inst *i = vl_inst(v, v->body[at]);
  bool store = i->op == OP_STORE;
  struct nvm_value pointer = inst_operand(v->f, i, store ? 1 : 0);
  struct nvm_type type = store ? value_type(v->f, inst_operand(v->f, i, 0)) : i->type;
  const struct nvm_layout *layout = &v->f->module->layout;
  struct vector_access a = {
      .inst = v->body[at], .is_store = store, .type = type, .order = at, .group = VP_NO_GROUP};
  a.bytes = (uint32_t)layout_store_size(layout, vl_types(v), type);
  a.align =
      layout_written_align(layout, vl_types(v), type, memory_access_unpack(i->aux).align_log2);
  a.space = type_info(vl_types(v), value_type(v->f, pointer))->width;
  a.address = scev_of(v->scev, pointer);
  a.affine = accesses_is_bounded(&a.address) && scev_step(v->scev, a.address, v->index, &a.step);
  a.conditional = !dominance_dominates(v->dominance, i->block, v->loop->latch);
  if (!VEC_PUSH(v->env->arena, &v->accesses, a)) return false;
  v->access_of[a.inst.index] = v->accesses.count;
  return true;
}

enum { MAX_GROUP_BYTES = 128 };

bool accesses_is_element(const struct vector_loop *v, const struct vector_access *a) {
  const struct type_info *t = type_info(vl_types(v), a->type);
  bool kind = t->kind == TY_INT || (t->kind >= TY_HALF && t->kind <= TY_PTR);
  bool whole = t->kind != TY_INT || t->width == a->bytes * 8;
  return kind && whole && a->bytes <= 8 && (a->bytes & (a->bytes - 1)) == 0;
}

static struct memory_location location(const struct vector_loop *v, const struct vector_access *a,
                                       uint64_t bytes) {
  const struct nvm_inst *i = vl_inst(v, a->inst);
  return (struct memory_location){
      .pointer = inst_operand(v->f, i, a->is_store ? 1 : 0), .bytes = bytes, .access = a->inst};
}

/* Whether the addresses alone determine the iterations in which two accesses overlap, or that they
 * overlap in one iteration. Then metadata, which describes one pair of addresses, is not used. */
static bool distance_is_known(const struct vector_loop *v, const struct vector_access *a,
                              const struct vector_access *b) {
  if (a->affine && b->affine && a->step == b->step &&
      scev_is_constant(scev_subtract(v->scev, b->address, a->address)))
    return true;
  enum alias now = alias_query(v->alias, location(v, a, a->bytes), location(v, b, b->bytes));
  return now == ALIAS_MUST || now == ALIAS_PARTIAL;
}

bool accesses_are_disjoint(const struct vector_loop *v, const struct vector_access *a,
                           const struct vector_access *b) {
  struct memory_location x = location(v, a, ALIAS_ANY_BYTES), y = location(v, b, ALIAS_ANY_BYTES);
  if (v->declares_scopes || distance_is_known(v, a, b))
    x.access = y.access = (struct nvm_inst_id){0};
  return alias_query(v->alias, x, y) == ALIAS_NO;
}

/* The minimum distance d > 0 at which `later` overlaps `earlier` of d iterations on; UINT64_MAX:
 * none. Both have step s; `distance` = later - earlier. */
static uint64_t min_conflict_distance(int64_t distance, int64_t s, uint32_t earlier,
                                      uint32_t later) {
  for (uint64_t d = 1; d <= VECTORIZE_MAX_LANES; d++) {
    int64_t x = distance - s * (int64_t)d;
    if (x > -(int64_t)later && x < (int64_t)earlier) return d;
  }
  return UINT64_MAX;
}

/* Whether the range of addresses can be computed before the loop. */
static bool is_boundable(const struct vector_loop *v, const struct vector_access *a) {
  if (!a->affine) return false;
  for (uint32_t k = 0; k < a->address.count; k++)
    if (a->address.terms[k].loop > v->index && a->address.terms[k].loop < v->loop->end)
      return false;
  return true;
}

/* Whether the start addresses differ by a constant. */
static bool has_constant_distance(const struct vector_loop *v, const struct vector_access *a,
                                  const struct vector_access *b) {
  uint32_t i = 0, k = 0;
  if (!value_equal(a->address.base, b->address.base)) return false;
  for (;; i++, k++) {
    while (i < a->address.count && a->address.terms[i].loop == v->index) i++;
    while (k < b->address.count && b->address.terms[k].loop == v->index) k++;
    if (i == a->address.count || k == b->address.count)
      return i == a->address.count && k == b->address.count;
    const struct scev_term *x = &a->address.terms[i], *y = &b->address.terms[k];
    if (x->loop != y->loop || !value_equal(x->symbol, y->symbol) ||
        x->coefficient != y->coefficient)
      return false;
  }
}

/* Whether two accesses can be reordered: they are disjoint, or run-time checks can decide
 * (order_pair adds them; *same_iteration: including one iteration). */
static bool can_reorder(const struct vector_loop *v, const struct vector_access *earlier,
                        const struct vector_access *later, bool *same_iteration) {
  if (accesses_are_disjoint(v, earlier, later)) return true;
  if (!is_boundable(v, earlier) || !is_boundable(v, later) || earlier->space != later->space)
    return false;
  if (earlier->step != later->step) return !has_constant_distance(v, earlier, later);
  struct scev d = scev_subtract(v->scev, later->address, earlier->address);
  if (earlier->step == 0) return false;
  if (!scev_is_constant(d)) return *same_iteration = true;
  bool meets = d.constant > -(int64_t)later->bytes && d.constant < (int64_t)earlier->bytes;
  return !meets && min_conflict_distance(d.constant, -earlier->step, earlier->bytes,
                                         later->bytes) == UINT64_MAX;
}

static bool joins(const struct vector_loop *v, struct access_group *g,
                  const struct vector_access *a, int64_t *offset) {
  if (g->is_store != a->is_store || g->step != a->step || g->bytes != a->bytes ||
      g->space != a->space)
    return false;
  if (!type_equal(g->type, a->type)) return false;
  struct scev d = scev_subtract(v->scev, a->address, g->address);
  if (!scev_is_constant(d)) return false;
  int64_t low = d.constant < g->low ? d.constant : g->low;
  int64_t high = d.constant + a->bytes > g->high ? d.constant + a->bytes : g->high;
  int64_t reach = access_group_reach(g);
  /* Only members within a few iterations: others share no access. */
  if (high - low > MAX_GROUP_BYTES || high - low > 8 * reach || d.constant % a->bytes) return false;
  *offset = d.constant;
  return true;
}

static bool new_group(struct vector_loop *v, uint32_t at) {
  struct vector_access *a = &v->accesses.data[at];
  struct access_group g = {.address = a->address,
                           .first = at,
                           .last = at,
                           .count = 1,
                           .step = a->step,
                           .high = a->bytes,
                           .bytes = a->bytes,
                           .space = a->space,
                           .type = a->type,
                           .is_store = a->is_store,
                           .aligned_elements = a->align >= a->bytes};
  a->group = v->groups.count;
  return VEC_PUSH(v->env->arena, &v->groups, g);
}

/* Adds access `at` to a group that it can join without passing an access that may overlap: loads
 * move up to the group's first, the group's stores down to its last. */
static bool place_access(struct vector_loop *v, uint32_t at) {
  struct vector_access *a = &v->accesses.data[at];
  for (uint32_t n = v->groups.count; n-- > 0;) {
    struct access_group *g = &v->groups.data[n];
    int64_t offset;
    if (!joins(v, g, a, &offset)) continue;
    bool blocked = false, crosses = false;
    for (uint32_t k = g->first + 1; k < at && !blocked; k++) {
      const struct vector_access *between = &v->accesses.data[k];
      if (between->group == n || (!a->is_store && !between->is_store)) continue;
      blocked = !a->is_store && !can_reorder(v, between, a, &crosses);
      for (uint32_t m = g->first; m < k && a->is_store && !blocked; m++)
        blocked = v->accesses.data[m].group == n &&
                  !can_reorder(v, &v->accesses.data[m], between, &crosses);
    }
    if (blocked) continue;
    a->group = n, a->offset = offset;
    g->last = at, g->count++;
    g->low = offset < g->low ? offset : g->low;
    g->high = offset + a->bytes > g->high ? offset + a->bytes : g->high;
    g->aligned_elements &= a->align >= a->bytes;
    g->crosses |= crosses;
    return true;
  }
  return new_group(v, at);
}

static void extent(const struct vector_loop *v, const struct vector_access *a, int64_t *low,
                   int64_t *high) {
  if (a->group != VP_NO_GROUP) {
    *low = v->groups.data[a->group].low - a->offset;
    *high = v->groups.data[a->group].high - a->offset;
  } else {
    *low = 0, *high = a->bytes;
  }
}

static bool same_check(const struct vector_loop *v, const struct overlap_check *c,
                       const struct vector_access *a, const struct vector_access *b) {
  const struct vector_access *x = &v->accesses.data[c->earlier], *y = &v->accesses.data[c->later];
  return x->group != VP_NO_GROUP && y->group != VP_NO_GROUP && x->group == a->group &&
         y->group == b->group;
}

/* Two accesses, one a store, `a` the earlier: they are in order, or limit the lanes, or get a
 * check. */
static enum vector_refusal order_pair(struct vector_loop *v, uint32_t at, uint32_t bt, bool *ok) {
  const struct vector_access *a = &v->accesses.data[at], *b = &v->accesses.data[bt];
  if (accesses_are_disjoint(v, a, b)) return VECTOR_OK;
  if (!is_boundable(v, a) || !is_boundable(v, b) || a->space != b->space)
    return vl_refuse(v, b->inst, VECTOR_REORDER_MEMORY);
  struct scev d = scev_subtract(v->scev, b->address, a->address);
  if (a->step == b->step && a->step != 0) {
    if (scev_is_constant(d)) {
      uint64_t least = min_conflict_distance(d.constant, a->step, a->bytes, b->bytes);
      if (least < v->max_lanes) v->max_lanes = least;
      return v->max_lanes > 1 ? VECTOR_OK : vl_refuse(v, b->inst, VECTOR_REORDER_MEMORY);
    }
  }
  bool near = a->step == b->step && a->step != 0;
  if (!near && has_constant_distance(v, a, b))
    return vl_refuse(v, b->inst, VECTOR_REORDER_MEMORY); /* the check would always fail */
  for (uint32_t k = 0; k < v->checks.count; k++)
    if (same_check(v, &v->checks.data[k], a, b)) return VECTOR_OK;
  bool crosses = (a->group != VP_NO_GROUP && v->groups.data[a->group].crosses) ||
                 (b->group != VP_NO_GROUP && v->groups.data[b->group].crosses);
  struct overlap_check c = {
      .earlier = at, .later = bt, .same_step = near, .same_iteration = crosses};
  extent(v, a, &c.earlier_low, &c.earlier_high);
  extent(v, b, &c.later_low, &c.later_high);
  *ok &= VEC_PUSH(v->env->arena, &v->checks, c);
  if ((int32_t)v->checks.count > vl_knob(v, KNOB_VECTORIZER_CHECK_THRESHOLD))
    return vl_refuse(v, b->inst, VECTOR_REORDER_MEMORY);
  return VECTOR_OK;
}

/* Whether the store may overlap itself in other iterations: its address is computed, invariant, or
 * advances by less than its size. */
static bool overlaps_itself(const struct vector_access *a) {
  return a->is_store && (!a->affine || (a->step < 0 ? -a->step : a->step) < (int64_t)a->bytes);
}

static bool can_be_chained(const struct vector_access *a) {
  return !a->conditional && a->group == VP_NO_GROUP;
}

/* Adds the computations between chained loads and stores to the chain. `reaches` and `depends` are
 * by position in the body. */
static enum vector_refusal chain_between(struct vector_loop *v, bool *ok) {
  bool *reaches = arena_alloc(v->env->arena, v->body_count * sizeof *reaches);
  bool *depends = arena_alloc(v->env->arena, v->body_count * sizeof *depends);
  if (!reaches || !depends) return *ok = false, VECTOR_OK;
  for (uint32_t n = v->body_count; n-- > 0;) {
    const struct nvm_inst *i = vl_inst(v, v->body[n]);
    uint32_t access = v->access_of[v->body[n].index];
    bool store = access && v->accesses.data[access - 1].is_store && v->chained[v->body[n].index];
    for (uint32_t k = 0; k < i->operand_count && (store || reaches[n]); k++)
      if (vl_inside(v, inst_operand(v->f, i, k)))
        reaches[v->position[value_index(inst_operand(v->f, i, k))] - 1] = true;
  }
  for (uint32_t n = 0; n < v->body_count; n++) {
    struct nvm_inst_id id = v->body[n];
    const struct nvm_inst *i = vl_inst(v, id);
    uint32_t access = v->access_of[id.index];
    depends[n] = access && v->chained[id.index];
    for (uint32_t k = 0; k < i->operand_count; k++)
      depends[n] |= vl_inside(v, inst_operand(v->f, i, k)) &&
                    depends[v->position[value_index(inst_operand(v->f, i, k))] - 1];
    if (!depends[n] || !reaches[n] || v->chained[id.index]) continue;
    bool plain =
        access ? can_be_chained(&v->accesses.data[access - 1]) : effects_is_speculatable(v->f, i);
    if (i->op == OP_PHI || !plain || !dominance_dominates(v->dominance, i->block, v->loop->latch))
      return vl_refuse(v, id, VECTOR_REORDER_MEMORY);
    v->chained[id.index] = true;
  }
  return VECTOR_OK;
}

/* Whether a run-time check can decide that the store to an invariant address y overlaps no x. */
static bool ranges_can_be_checked(const struct vector_loop *v, const struct vector_access *x,
                                  const struct vector_access *y) {
  return y->affine && y->step == 0 && is_boundable(v, x) && is_boundable(v, y) &&
         x->space == y->space && !has_constant_distance(v, x, y);
}

/* Chains stores that may overlap themselves (a histogram), and the accesses that may overlap
 * those. */
static enum vector_refusal chain_stores(struct vector_loop *v, bool *ok) {
  bool some = false;
  for (uint32_t b = 0; b < v->accesses.count; b++) {
    const struct vector_access *y = &v->accesses.data[b];
    if (!overlaps_itself(y)) continue;
    v->histogram |= !y->affine;
    v->chained[y->inst.index] = some = true;
    if (!can_be_chained(y)) return vl_refuse(v, y->inst, VECTOR_REORDER_MEMORY);
    for (uint32_t a = 0; a < v->accesses.count; a++) {
      const struct vector_access *x = &v->accesses.data[a];
      if (a == b || accesses_are_disjoint(v, x, y) || ranges_can_be_checked(v, x, y)) continue;
      if (!can_be_chained(x)) return vl_refuse(v, x->inst, VECTOR_REORDER_MEMORY);
      v->chained[x->inst.index] = true;
    }
  }
  return some ? chain_between(v, ok) : VECTOR_OK;
}

static enum vector_refusal order_all(struct vector_loop *v, bool *ok) {
  for (uint32_t b = 0; b < v->accesses.count; b++) {
    const struct vector_access *y = &v->accesses.data[b];
    for (uint32_t a = 0; a < b; a++) {
      const struct vector_access *x = &v->accesses.data[a];
      if ((!x->is_store && !y->is_store) ||
          (v->chained[x->inst.index] && v->chained[y->inst.index]))
        continue;
      enum vector_refusal r = order_pair(v, a, b, ok);
      if (r != VECTOR_OK) return r;
    }
  }
  return VECTOR_OK;
}

/* The group that wide accesses are aligned for: the first with stores, else the first. */
static uint32_t reference_group(const struct vector_loop *v) {
  uint32_t best = VP_NO_GROUP;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    const struct access_group *g = &v->groups.data[n];
    if (!g->wide) continue;
    if (best == VP_NO_GROUP || (g->is_store && !v->groups.data[best].is_store)) best = n;
  }
  return best;
}

/* Sets the offsets at which wide accesses begin. Buffers are assumed to have equal alignment:
 * groups are aligned in the same iteration if their anchors differ as their addresses do (checked
 * if it matters). */
static void set_anchors(struct vector_loop *v) {
  uint32_t reference = reference_group(v);
  if (reference == VP_NO_GROUP) return;
  const struct access_group *r = &v->groups.data[reference];
  int64_t from = r->step < 0 ? r->high : r->low;
  if (r->step > 0 && !r->is_store && (r->high - r->low) / r->bytes % 2) /* the middle of a stencil
                                                                         */
    from = r->low + (r->high - r->low) / r->bytes / 2 * r->bytes;
  if (r->high - r->low == access_group_reach(r)) from = r->step < 0 ? r->high : r->low;
  for (uint32_t n = 0; n < v->groups.count; n++) {
    struct access_group *g = &v->groups.data[n];
    enum { WIDEST = 32 };
    int64_t distance = g->address.constant - r->address.constant;
    int64_t anchor = from - distance, floor = g->step < 0 ? g->high : g->low;
    /* Congruent, not below the group's first element. */
    anchor = floor + (((anchor - floor) % WIDEST) + WIDEST) % WIDEST;
    g->anchor = (g->step < 0) == (r->step < 0) && g->step == r->step ? anchor : floor;
    if ((g->anchor - g->low) % g->bytes) g->anchor = floor;
    g->known_align = accesses_known_align(v, g->address, g->anchor);
    /* A run-time check takes the address, which copies the whole parameter. */
    if (accesses_in_parameter(v, g->address.base))
      g->wide &= g->known_align >= cost_widest_access_bits(v->env->target, g->space) / 8;
  }
}

enum vector_refusal accesses_analyze(struct vector_loop *v, enum nvm_status *status) {
  bool ok = true;
  for (uint32_t k = 0; k < v->body_count && ok; k++) {
    uint16_t op = vl_inst(v, v->body[k])->op;
    if (op == OP_LOAD || op == OP_STORE) ok = accesses_add(v, k);
  }
  for (uint32_t k = 0; k < v->accesses.count && ok; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    bool strides =
        a->affine && a->step != 0 && a->step % (int64_t)a->bytes == 0; /* by whole elements */
    if (strides && !a->conditional && accesses_is_element(v, a)) ok = place_access(v, k);
  }
  for (uint32_t n = 0; n < v->groups.count; n++) {
    struct access_group *g = &v->groups.data[n];
    int64_t reach = access_group_reach(g);
    g->wide = g->aligned_elements && (g->count > 1 || reach <= 2 * (int64_t)g->bytes) &&
              (!g->is_store || g->high - g->low >= reach);
  }
  set_anchors(v);
  enum vector_refusal r = ok ? chain_stores(v, &ok) : VECTOR_OK;
  if (ok && r == VECTOR_OK) r = order_all(v, &ok);
  if (!ok) *status = NVM_OUT_OF_MEMORY;
  return r;
}

/* Whether the assembler must keep a load after a store of an earlier iteration. */
static bool keeps_order(const struct vector_loop *v, const struct vector_access *store,
                        const struct vector_access *load) {
  bool generic = store->space == 0 || load->space == 0;
  if (!generic && store->space != load->space) return false;
  bool distance = store->affine && load->affine && store->step == load->step &&
                  scev_is_constant(scev_subtract(v->scev, load->address, store->address));
  return !distance;
}

int64_t accesses_ordered_latency(const struct vector_loop *v) {
  const struct nvm_module *m = v->f->module;
  struct nvm_str invariant = strtab_find(&m->strings, "invariant.load", 14);
  cost most = 0;
  for (uint32_t n = 0; n < v->accesses.count; n++) {
    const struct vector_access *a = &v->accesses.data[n];
    cost latency = cost_load_latency(v->env->target, a->space);
    uint32_t chain = v->f->attachments.data[a->inst.index];
    if (a->is_store || latency <= most || v->chained[a->inst.index] || !v->needed[a->inst.index])
      continue;
    if (chain && invariant.index && module_attachment(m, chain, invariant).index) continue;
    for (uint32_t k = 0; k < v->accesses.count; k++)
      if (v->accesses.data[k].is_store && keeps_order(v, &v->accesses.data[k], a)) most = latency;
  }
  return most;
}

uint32_t accesses_width(const struct vector_loop *v, const struct access_group *g, uint32_t lanes) {
  uint32_t widest = cost_widest_access_bits(v->env->target, g->space) / 8;
  uint64_t reach = (uint64_t)access_group_reach(g);
  if (!g->wide || lanes == 1 || (v->unaligned_version && g->align_checked)) return g->bytes;
  if (v->widest && widest > v->widest) widest = v->widest;
  while (widest > g->bytes && lanes * reach % widest) widest /= 2;
  return widest;
}

/* Marks the elements, relative to `low`, that members access in `lanes` iterations. */
static void mark_elements(const struct vector_loop *v, uint32_t group, uint32_t lanes, int64_t low,
                          bool *used) {
  const struct access_group *g = &v->groups.data[group];
  for (uint32_t k = g->first; k <= g->last; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    if (a->group != group || (!a->is_store && !v->needed[a->inst.index])) continue;
    for (uint32_t l = 0; l < lanes; l++)
      used[(a->offset + (int64_t)l * g->step - low) / g->bytes] = true;
  }
}

/* The elements that are far apart, one by one. */
static uint32_t single_pieces(const struct vector_loop *v, uint32_t group, uint32_t lanes,
                              struct access_piece pieces[MAX_PIECES]) {
  const struct access_group *g = &v->groups.data[group];
  uint32_t count = 0;
  for (uint32_t k = g->first; k <= g->last; k++) {
    const struct vector_access *a = &v->accesses.data[k];
    if (a->group != group || (!a->is_store && !v->needed[a->inst.index])) continue;
    for (uint32_t l = 0; l < lanes; l++) {
      int64_t offset = a->offset + (int64_t)l * g->step;
      uint32_t n = 0;
      while (n < count && pieces[n].offset != offset) n++;
      if (n < count) continue;
      if (count == MAX_PIECES) return 0;
      pieces[count++] = (struct access_piece){offset, 1};
    }
  }
  return count;
}

uint32_t accesses_pieces(const struct vector_loop *v, uint32_t group, uint32_t lanes,
                         uint32_t width, struct access_piece pieces[MAX_PIECES]) {
  const struct access_group *g = &v->groups.data[group];
  enum { MAX_ELEMENTS = MAX_PIECES + MAX_GROUP_BYTES };
  bool used[MAX_ELEMENTS] = {false};
  int64_t low = g->low + (g->step < 0 ? (int64_t)(lanes - 1) * g->step : 0);
  int64_t span = (g->high - g->low + (int64_t)(lanes - 1) * access_group_reach(g)) / g->bytes;
  uint32_t count = 0;
  if (span > MAX_ELEMENTS) return width <= g->bytes ? single_pieces(v, group, lanes, pieces) : 0;
  mark_elements(v, group, lanes, low, used);
  for (int64_t e = 0; e < span;) {
    if (!used[e] && (g->is_store || width <= g->bytes)) {
      e++;
      continue;
    }
    int64_t n = width / g->bytes;
    for (; n > 1; n /= 2) {
      int64_t at = low + e * g->bytes - g->anchor, hits = 0;
      if (at % (n * g->bytes) || e + n > span) continue;
      for (int64_t k = 0; k < n; k++) hits += used[e + k];
      if (hits == n || (!g->is_store && hits > 1)) break;
    }
    if (n <= 1) n = 1;
    if (n > 1 || used[e]) {
      if (count == MAX_PIECES) return 0;
      pieces[count++] = (struct access_piece){low + e * g->bytes, (uint32_t)n};
    }
    e += n;
  }
  return count;
}
