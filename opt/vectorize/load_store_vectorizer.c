/* load-store-vectorizer: adjacent loads or stores of a block become one wide access.
 *
 * Purpose:   an access of 16 bytes costs the memory pipeline little more than one of 4.
 * Algorithm: the plain accesses of a block are grouped by the shape of their address (base +
 *            terms), sorted by offset, and cut greedily into runs without gaps of 2, 4 … bytes, up
 *            to the widest that the target has and the proven alignment allows. A run of loads is
 *            placed at its first, a run of stores at its last; an access that may alias one that
 *            moves past it prevents the run. Sizes count, not types: other types are cast. Stores
 *            of all parts of an integer become one store of it.
 *            Variables that are local to the function or module get the alignment needed.
 *            Addresses are decomposed only for objects with several accesses and sufficient
 *            alignment.
 * Requires:  nothing; infer-alignment before it finds more.
 * Preserves: the control flow.
 * Cost:      n log n in the accesses of a block; each compares with MAX_PILES objects, each run
 *            with MAX_BETWEEN accesses.
 * Omits:     gaps; overlapping accesses; more than MAX_GROUPS shapes at a time.
 * Tests:     check/opt/load-store-vectorizer-*. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "opt/vectorize/vectorize.h"
#include "target/cost.h"

enum { MAX_GROUPS = 64, MAX_PILES = 32, MAX_BETWEEN = 96, MAX_RUN = 32, MAX_BYTES = 32 };

struct member {
  struct nvm_inst_id inst;
  int64_t offset;
  uint32_t bytes;
  uint32_t order; /* in the block */
};

struct group {
  struct alias_address shape;
  bool store;
  uint32_t space;
  struct member best; /* with the highest alignment */
  VEC(struct member) members;
};

/* The accesses of a block to one object; the last pile is for objects beyond MAX_PILES. */
struct pile {
  struct nvm_value object;
  bool store;
  uint32_t count;
  uint32_t least_bytes; /* of the narrowest access */
  uint32_t best_log2;   /* the highest alignment */
};

struct vectorizer {
  struct nvm_function *f;
  struct pass_env *env;
  struct alias_env *alias; /* created for the first block with two candidates, with `rewrite` */
  struct rewrite rewrite;
  struct group groups[MAX_GROUPS];
  uint32_t group_count;
  struct pile piles[MAX_PILES];
  uint32_t pile_count;
  VEC(struct nvm_inst_id) accesses; /* of the block, in order: all memory accesses and calls */
  VEC(struct nvm_inst_id) dead;     /* merged stores */
  struct builder at;                /* of the wide access, and what it is made of */
  uint64_t changes;
};

static struct nvm_value pointer_of(const struct vectorizer *g, const struct nvm_inst *i) {
  return inst_operand(g->f, i, i->op == OP_STORE);
}

/* The size of a plain access of whole elements; 0: not a candidate. */
static uint32_t candidate_bytes(const struct vectorizer *g, const struct nvm_inst *i) {
  const struct nvm_module *m = g->f->module;
  if ((i->op != OP_LOAD && i->op != OP_STORE) || !effects_is_plain_access(i)) return 0;
  struct nvm_type type = effects_accessed_type(g->f, i);
  if (type_is_aggregate(&m->types, type)) return 0;
  uint64_t bytes = layout_store_size(&m->layout, &m->types, type);
  uint64_t each = layout_bits(&m->layout, &m->types, type_scalar(&m->types, type));
  if (layout_bits(&m->layout, &m->types, type) != 8 * bytes || bytes > MAX_BYTES / 2) return 0;
  return (bytes & (bytes - 1)) == 0 && each >= 8 && each <= 64 && (each & (each - 1)) == 0
             ? (uint32_t)bytes
             : 0;
}

static uint32_t written_log2(const struct vectorizer *g, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(g->f, id);
  uint32_t written = memory_access_unpack(i->aux).align_log2;
  if (written) return written - 1;
  return evalint_log2(
      layout_align(&g->f->module->layout, &g->f->module->types, effects_accessed_type(g->f, i)));
}

/* The pile of i, which may be new. */
static struct pile *pile_of(struct vectorizer *g, const struct nvm_inst *i) {
  struct nvm_value object = alias_underlying_object(g->f, pointer_of(g, i));
  bool store = i->op == OP_STORE;
  uint32_t n = 0;
  while (n < g->pile_count &&
         !(value_equal(g->piles[n].object, object) && g->piles[n].store == store))
    n++;
  if (n == MAX_PILES) return &g->piles[n - 1];
  if (n == g->pile_count)
    g->piles[g->pile_count++] =
        (struct pile){.object = object, .store = store, .least_bytes = MAX_BYTES};
  return &g->piles[n];
}

/* Whether two accesses of the pile may be merged, given their alignment. */
static bool is_promising(const struct vectorizer *g, const struct pile *p) {
  bool aligned = UINT64_C(1) << p->best_log2 > p->least_bytes;
  return p->count > 1 &&
         (aligned || p == &g->piles[MAX_PILES - 1] || accesses_can_align(g->f, p->object));
}

/* Collects the plain accesses of the block into piles; true if one is promising. */
static bool make_piles(struct vectorizer *g, struct nvm_block b) {
  bool promising = false;
  g->pile_count = 0;
  FOR_EACH_INST (g->f, b, i) {
    const struct nvm_inst *inst = function_inst(g->f, i);
    uint32_t bytes = inst->op == OP_LOAD || inst->op == OP_STORE ? candidate_bytes(g, inst) : 0;
    if (bytes == 0) continue;
    struct pile *p = pile_of(g, inst);
    uint32_t log2 = written_log2(g, i);
    p->count++;
    p->least_bytes = bytes < p->least_bytes ? bytes : p->least_bytes;
    p->best_log2 = log2 > p->best_log2 ? log2 : p->best_log2;
  }
  for (uint32_t n = 0; n < g->pile_count; n++)
    promising = promising || is_promising(g, &g->piles[n]);
  return promising;
}

static void add_member(struct vectorizer *g, uint32_t order) {
  struct nvm_inst_id id = g->accesses.data[order];
  const struct nvm_inst *i = function_inst(g->f, id);
  uint32_t bytes = candidate_bytes(g, i);
  if (bytes == 0 || !is_promising(g, pile_of(g, i))) return;
  struct alias_address a = alias_decompose(g->f, pointer_of(g, i));
  uint32_t space = type_info(&g->f->module->types, value_type(g->f, pointer_of(g, i)))->width;
  struct member m = {id, a.offset, bytes, order};
  uint32_t n = 0;
  while (n < g->group_count &&
         !(alias_same_shape(&g->groups[n].shape, &a) && g->groups[n].space == space &&
           g->groups[n].store == (i->op == OP_STORE)))
    n++;
  if (n == MAX_GROUPS) return;
  if (n == g->group_count) {
    g->groups[n] =
        (struct group){.shape = a, .store = i->op == OP_STORE, .space = space, .best = m};
    g->group_count++;
  }
  if (written_log2(g, id) > written_log2(g, g->groups[n].best.inst)) g->groups[n].best = m;
  VEC_PUSH(g->env->arena, &g->groups[n].members, m);
}

/* By offset, then by order; merge sort, for n log n in all cases. */
static void sort_members(struct member *a, struct member *room, uint32_t count) {
  if (count < 2) return;
  uint32_t half = count / 2, i = 0, j = half;
  sort_members(a, room, half);
  sort_members(a + half, room, count - half);
  for (uint32_t k = 0; k < count; k++) {
    bool left = j == count || (i < half && a[i].offset <= a[j].offset);
    room[k] = left ? a[i++] : a[j++];
  }
  memcpy(a, room, count * sizeof *a);
}

/* The alignment (log2) of the lowest member that any member proves, or the best aligned access of
 * the group before them. */
static uint32_t proven_log2(const struct vectorizer *g, const struct group *group,
                            const struct member *run, uint32_t count) {
  uint32_t most = 0;
  for (uint32_t k = 0; k <= count; k++) {
    const struct member *m = k < count ? &run[k] : &group->best;
    if (k == count && m->order > run[0].order) continue;
    uint32_t n = written_log2(g, m->inst);
    uint64_t distance = (uint64_t)m->offset - (uint64_t)run[0].offset;
    while (distance & ((UINT64_C(1) << n) - 1)) n--;
    most = n > most ? n : most;
  }
  return most;
}

/* Whether the base variable can be aligned accordingly; `commit`: aligns it. */
static bool align_base(struct vectorizer *g, const struct group *group, int64_t offset,
                       uint32_t log2, bool commit) {
  struct nvm_function *f = g->f;
  struct alias_address a = group->shape;
  a.offset = offset;
  if (log2 > 4 || !accesses_can_align(f, a.base) || alias_offset_zeros(f, &a) < log2) return false;
  if (commit) accesses_align(f, a.base, log2);
  return true;
}

/* Whether all members can be moved to the first (loads) or the last (stores). */
static bool can_merge(struct vectorizer *g, const struct member *run, uint32_t count,
                      uint32_t first, uint32_t last, bool store) {
  if (last - first > MAX_BETWEEN) return false;
  for (uint32_t k = 0; k < count; k++) {
    struct memory_location l;
    alias_location_of(g->f, run[k].inst, &l);
    uint32_t from = store ? run[k].order + 1 : first, to = store ? last : run[k].order;
    for (uint32_t n = from; n < to; n++) {
      struct nvm_inst_id other = g->accesses.data[n];
      if (inst_is_none(other)) continue;
      bool member = false;
      for (uint32_t j = 0; j < count && !member; j++) member = run[j].inst.index == other.index;
      if (member) continue;
      const struct nvm_inst *i = function_inst(g->f, other);
      bool unknown = i->op == OP_CALL && value_kind(call_callee(g->f, i)) != VALUE_FUNCTION;
      bool foreign = i->op == OP_CALL && !unknown &&
                     module_function(g->f->module, call_callee(g->f, i))->intrinsic == 0;
      if (unknown || foreign || effects_is_convergent(g->f, i)) return false;
      uint32_t effects = alias_mod_ref(g->alias, other, l);
      if (effects & (store ? EFFECT_READS | EFFECT_WRITES : EFFECT_WRITES)) return false;
    }
  }
  return true;
}

/* The integer (vector) type for a pointer (vector) type; other types as they are. */
static struct nvm_type without_pointers(struct vectorizer *g, struct nvm_type type) {
  struct nvm_module *m = g->f->module;
  struct nvm_type scalar = type_scalar(&m->types, type);
  if (!type_is_ptr(&m->types, scalar)) return type;
  uint32_t bits = layout_pointer_bits(&m->layout, type_info(&m->types, scalar)->width);
  return type_with_lanes_of(&m->types, type_int(&m->types, bits),
                            type_is_vector(&m->types, type) ? type : TYPE_NONE);
}

/* A bit cast; pointers by way of integers. */
static struct nvm_value make_cast(struct vectorizer *g, struct nvm_value v, struct nvm_type to) {
  struct nvm_type from = value_type(g->f, v), from_integer = without_pointers(g, from),
                  to_integer = without_pointers(g, to);
  if (type_equal(from, to)) return v;
  if (!type_equal(from, from_integer)) v = builder_unary(&g->at, OP_PTRTOINT, from_integer, v);
  if (!type_equal(from_integer, to_integer)) v = builder_unary(&g->at, OP_BITCAST, to_integer, v);
  return type_equal(to, to_integer) ? v : builder_unary(&g->at, OP_INTTOPTR, to, v);
}

/* The scalar type of all members, TYPE_NONE if they differ; *bits: of the narrowest. */
static struct nvm_type common_scalar(struct vectorizer *g, const struct member *run, uint32_t count,
                                     uint64_t *bits) {
  struct nvm_module *m = g->f->module;
  struct nvm_type common = TYPE_NONE;
  *bits = 64;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_type type = effects_accessed_type(g->f, function_inst(g->f, run[k].inst));
    struct nvm_type scalar = type_scalar(&m->types, type);
    uint64_t each = layout_bits(&m->layout, &m->types, scalar);
    common = k == 0 || type_equal(common, scalar) ? scalar : TYPE_NONE;
    *bits = each < *bits ? each : *bits;
  }
  return common;
}

/* The element of the wide access: the common type, else integers of the narrowest width; words
 * instead of more than four elements below 32 bits, which one access cannot have. */
static struct nvm_type element_of(struct vectorizer *g, const struct member *run, uint32_t count,
                                  uint32_t bytes) {
  struct type_table *t = &g->f->module->types;
  uint64_t bits;
  struct nvm_type common = common_scalar(g, run, count, &bits);
  bool too_many = bytes * 8 / bits > 4 && bits < 32;
  if (too_many) return bytes >= 8 ? TYPE_I32 : type_int(t, (uint32_t)bits);
  return common.index ? common : type_int(t, (uint32_t)bits);
}

static struct nvm_type lanes(struct vectorizer *g, struct nvm_type element, uint32_t bits) {
  struct type_table *t = &g->f->module->types;
  uint32_t each = (uint32_t)layout_bits(&g->f->module->layout, t, element);
  return bits == each ? element : type_vector(t, element, bits / each);
}

/* Extracts `bits` bits at bit `at` of a wide value with these elements. */
static struct nvm_value extract_bits(struct vectorizer *g, struct nvm_value wide,
                                     struct nvm_type element, uint32_t at, uint32_t bits) {
  struct nvm_module *m = g->f->module;
  uint32_t each = (uint32_t)layout_bits(&m->layout, &m->types, element), count = bits / each;
  struct nvm_value result = const_poison(m, lanes(g, element, bits));
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value lane = builder_extract_lane(&g->at, wide, at / each + k);
    result = count == 1 ? lane : builder_insert_lane(&g->at, result, lane, k);
  }
  return result;
}

static void split_load(struct vectorizer *g, struct nvm_value wide, struct nvm_type element,
                       const struct member *run, uint32_t count, uint32_t bytes) {
  struct nvm_module *m = g->f->module;
  struct nvm_type piece = element;
  uint64_t bits;
  if (type_equal(element, TYPE_I32)) { /* perhaps words that contain narrower elements */
    piece = common_scalar(g, run, count, &bits);
    if (!piece.index) piece = type_int(&m->types, (uint32_t)bits);
    wide = make_cast(g, wide, lanes(g, piece, bytes * 8));
  }
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_type type = function_inst(g->f, run[k].inst)->type;
    uint32_t at = (uint32_t)(run[k].offset - run[0].offset) * 8;
    struct nvm_value v = extract_bits(g, wide, piece, at, run[k].bytes * 8);
    rewrite_set(&g->rewrite, run[k].inst, make_cast(g, v, type));
  }
}

/* Not folded: passes after this one expect the scalars of a vector that is put together. */
static struct nvm_value make(struct vectorizer *g, enum op op, struct nvm_type type, uint32_t count,
                             const struct nvm_value *operands) {
  struct nvm_inst_id i = builder_insert(&g->at, op, 0, type, operands, count, 0);
  return inst_is_none(i) ? VALUE_NULL : value_of_inst(i);
}

static struct nvm_value join_stores(struct vectorizer *g, struct nvm_type element,
                                    const struct member *run, uint32_t count, uint32_t bytes) {
  struct nvm_module *m = g->f->module;
  uint64_t bits;
  common_scalar(g, run, count, &bits);
  struct nvm_type piece =
      type_equal(element, TYPE_I32) ? type_int(&m->types, (uint32_t)bits) : element;
  uint32_t each = (uint32_t)layout_bits(&m->layout, &m->types, piece);
  struct nvm_type type = lanes(g, piece, bytes * 8);
  struct nvm_value wide = const_poison(m, type);
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = inst_operand(g->f, function_inst(g->f, run[k].inst), 0);
    v = make_cast(g, v, lanes(g, piece, run[k].bytes * 8));
    uint32_t at = (uint32_t)(run[k].offset - run[0].offset) * 8 / each,
             own = run[k].bytes * 8 / each;
    for (uint32_t n = 0; n < own; n++) {
      struct nvm_value take[2] = {v, const_int(m, TYPE_I32, n)};
      struct nvm_value lane = own == 1 ? v : make(g, OP_EXTRACTELEMENT, piece, 2, take);
      struct nvm_value put[3] = {wide, lane, const_int(m, TYPE_I32, at + n)};
      wide = make(g, OP_INSERTELEMENT, type, 3, put);
    }
  }
  return make_cast(g, wide, lanes(g, element, bytes * 8));
}

/* A part of an integer: its bits from `shift` on. */
struct part {
  struct nvm_value of;
  uint64_t shift;
};

/* v, or what it is shifted right from. */
static struct part part_of(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(f, v);
  nvm_u128 shift;
  bool shifts = i && (i->op == OP_LSHR || i->op == OP_ASHR) &&
                const_is_int(f->module, inst_operand(f, i, 1), &shift) && shift < 128;
  return shifts ? (struct part){inst_operand(f, i, 0), (uint64_t)shift} : (struct part){v, 0};
}

/* The integer whose parts the members store in order, `bytes` in all; VALUE_NULL: none. */
static struct nvm_value stored_word(struct vectorizer *g, const struct member *run, uint32_t count,
                                    uint32_t bytes) {
  const struct nvm_function *f = g->f;
  const struct type_table *t = &f->module->types;
  struct nvm_value word = VALUE_NULL;
  struct part first = {VALUE_NULL, 0};
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = inst_operand(f, function_inst(f, run[k].inst), 0);
    const struct nvm_inst *trunc = value_inst_of(f, v, OP_TRUNC);
    if (!trunc || !type_is_int(t, trunc->type) ||
        type_info(t, trunc->type)->width != run[k].bytes * 8)
      return VALUE_NULL;
    struct part part = part_of(f, inst_operand(f, trunc, 0));
    if (k == 0) word = inst_operand(f, trunc, 0), first = part;
    uint64_t shift = first.shift + (uint64_t)(run[k].offset - run[0].offset) * 8;
    if (!value_equal(part.of, first.of) || part.shift != shift) return VALUE_NULL;
  }
  struct nvm_type type = type_int(&g->f->module->types, bytes * 8);
  uint32_t width = type_info(t, value_type(f, word))->width;
  if (bytes > 8 || first.shift + bytes * 8 > width) return VALUE_NULL;
  return width == bytes * 8 ? word : builder_unary(&g->at, OP_TRUNC, type, word);
}

static void merge(struct vectorizer *g, const struct member *run, uint32_t count, uint32_t bytes,
                  uint32_t align_log2, const struct member *place, bool store) {
  struct nvm_function *f = g->f;
  g->at = builder_replacing(f, place->inst);
  struct nvm_value pointer = builder_offset(&g->at, pointer_of(g, function_inst(f, place->inst)),
                                            run[0].offset - place->offset);
  struct nvm_type element = element_of(g, run, count, bytes), type = lanes(g, element, bytes * 8);
  uint32_t aux = memory_access_pack((struct memory_access){.align_log2 = (align_log2 + 1) & 63});
  struct nvm_value word = store ? stored_word(g, run, count, bytes) : VALUE_NULL;
  if (store && value_is_none(word)) word = join_stores(g, element, run, count, bytes);
  struct nvm_value wide =
      store ? builder_store(&g->at, word, pointer, aux) : builder_load(&g->at, type, pointer, aux);
  if (value_kind(wide) != VALUE_INST) return; /* out of memory */
  struct nvm_inst_id made = {value_index(wide)};
  effects_copy_access_metadata(f, made, run[0].inst, true);
  for (uint32_t k = 1; k < count; k++) effects_join_access_metadata(f, made, run[k].inst, true);
  for (uint32_t k = 0; k < count; k++) {
    g->accesses.data[run[k].order] = (struct nvm_inst_id){0};
    if (store) VEC_PUSH(g->env->arena, &g->dead, run[k].inst);
  }
  g->accesses.data[place->order] = made; /* the merged accesses are here now */
  if (!store) split_load(g, wide, element, run, count, bytes);
  g->changes += count;
}

/* Merges the longest prefix of these adjacent members that can be one access; returns its length,
 * or 0. */
static uint32_t try_run(struct vectorizer *g, const struct group *group, const struct member *run,
                        uint32_t limit) {
  uint32_t widest = cost_widest_access_bits(g->env->target, group->space) / 8;
  for (uint32_t bytes = widest; bytes >= 2; bytes /= 2) {
    uint32_t count = 0, sum = 0;
    while (count < limit && sum < bytes) sum += run[count++].bytes;
    if (sum != bytes || count < 2) continue;
    uint32_t log2 = evalint_log2(bytes), proven = proven_log2(g, group, run, count);
    const struct member *first = run, *last = run;
    for (uint32_t k = 1; k < count; k++) {
      if (run[k].order < first->order) first = &run[k];
      if (run[k].order > last->order) last = &run[k];
    }
    bool aligned = proven >= log2 || align_base(g, group, run[0].offset, log2, false);
    if (!aligned || !can_merge(g, run, count, first->order, last->order, group->store)) continue;
    if (proven < log2) align_base(g, group, run[0].offset, log2, true);
    proven = proven < log2 ? log2 : proven;
    merge(g, run, count, bytes, proven, group->store ? last : first, group->store);
    return count;
  }
  return 0;
}

static void vectorize_group(struct vectorizer *g, struct group *group, struct member *room) {
  struct member *a = group->members.data;
  uint32_t count = group->members.count;
  sort_members(a, room, count);
  for (uint32_t k = 0; k < count;) {
    uint32_t n = 1;
    while (k + n < count && n < MAX_RUN &&
           a[k + n].offset == evalint_wrapping_add(a[k + n - 1].offset, a[k + n - 1].bytes))
      n++;
    uint32_t done = n > 1 ? try_run(g, group, a + k, n) : 0;
    k += done ? done : 1;
  }
}

static bool vectorize_block(struct vectorizer *g, struct nvm_block b) {
  struct nvm_function *f = g->f;
  uint32_t most = 0;
  if (!make_piles(g, b)) return true;
  g->accesses.count = g->group_count = 0;
  FOR_EACH_INST (f, b, i)
    if ((effects_on_memory(f, i) || function_inst(f, i)->op == OP_CALL) &&
        !VEC_PUSH(g->env->arena, &g->accesses, i))
      return false;
  for (uint32_t order = 0; order < g->accesses.count; order++) add_member(g, order);
  for (uint32_t n = 0; n < g->group_count; n++)
    most = g->groups[n].members.count > most ? g->groups[n].members.count : most;
  if (most < 2) return true;
  if (!g->alias &&
      (!rewrite_init(&g->rewrite, f, g->env->arena) || !(g->alias = alias_init(f, g->env->arena))))
    return false;
  struct member *room = arena_alloc(g->env->arena, most * sizeof *room);
  for (uint32_t n = 0; room && n < g->group_count; n++)
    if (g->groups[n].members.count > 1) vectorize_group(g, &g->groups[n], room);
  return room != NULL;
}

enum nvm_status load_store_vectorizer_run(struct nvm_function *f, struct pass_env *env,
                                          bool *changed) {
  struct vectorizer *g = arena_alloc(env->arena, sizeof *g);
  if (!g) return NVM_OUT_OF_MEMORY;
  g->f = f;
  g->env = env;
  FOR_EACH_BLOCK (f, b)
    if (!vectorize_block(g, b)) return NVM_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < g->dead.count; k++) inst_remove(f, g->dead.data[k]);
  rewrite_apply(&g->rewrite);
  *env->statistic += g->changes;
  *changed = g->changes != 0;
  return NVM_OK;
}
