/* Alias analysis; see alias.h.
 *
 * Four tests, cheap ones first. Each may answer NO:
 *
 * - spaces: the sets of address spaces that the objects may be in do not meet. The sets come from
 * the pointers' types, through casts; generic pointer parameters of CUDA kernels are in global
 * memory
 * - objects: two different identified objects, or one that is not captured and one from elsewhere
 * - bytes, for equal bases: the difference of the offsets as a range and modulo a power of two
 * - metadata, only if the others answer MAY: scoped noalias lists and struct-path TBAA
 *
 * Differs from LLVM's BasicAA: shared arrays declared without size all start at the same byte, so
 * they may alias each other; the objects of a phi are collected first, so that no answer depends on
 * the iteration. */
#include "analysis/alias_internal.h"
#include "analysis/known_bits.h"
#include "target/triple.h"

enum { MAX_CAPTURE = 512 /* uses visited for one object */ };

/* --- objects ---------------------------------------------------------------------------------- */

static bool is_byval(const struct alias_env *e, struct nvm_value v) {
  return value_kind(v) == VALUE_ARG &&
         function_parameter_attribute(e->f, value_index(v), ATTR_BYVAL);
}

/* A variable with memory of its own: no alias, no shared array sized by the launch. */
static bool is_own_variable(const struct alias_env *e, struct nvm_value v) {
  if (value_kind(v) != VALUE_GLOBAL) return false;
  const struct nvm_global *g = module_global(e->f->module, v);
  bool dynamic_shared = g->address_space == 3 && value_is_none(g->initializer);
  return !g->is_alias && !dynamic_shared;
}

/* Disjoint from every other identified object. */
static bool is_identified(const struct alias_env *e, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(e->f, v);
  if (i) return i->op == OP_ALLOCA;
  if (value_kind(v) == VALUE_ARG)
    return is_byval(e, v) || function_parameter_attribute(e->f, value_index(v), ATTR_NOALIAS);
  return is_own_variable(e, v) || value_kind(v) == VALUE_FUNCTION;
}

enum { SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONST = 4, SPACE_LOCAL = 5, SPACE_CLUSTER = 7 };
enum { OTHER_SPACES = 31 };

static uint32_t space_bit(uint32_t space) {
  if (space == 0) return UINT32_MAX;
  if (space == SPACE_SHARED || space == SPACE_CLUSTER)
    return 1u << SPACE_SHARED | 1u << SPACE_CLUSTER;
  return 1u << (space < LAYOUT_ADDRESS_SPACES ? space : OTHER_SPACES);
}

static uint32_t spaces_of_object(const struct alias_env *e, struct nvm_value v) {
  uint32_t space = space_of_type(e->f, v);
  const struct nvm_inst *i = inst_of(e->f, v);
  if (space != 0) return space_bit(space);
  if (i && i->op == OP_ALLOCA) return space_bit(SPACE_LOCAL);
  if (is_byval(e, v)) return space_bit(SPACE_LOCAL) | 1u << OTHER_SPACES;
  if (value_kind(v) == VALUE_ARG && e->cuda_kernel) return space_bit(SPACE_GLOBAL);
  if (is_own_variable(e, v)) return space_bit(SPACE_GLOBAL);
  return UINT32_MAX;
}

static bool note_object(struct alias_objects *o, struct nvm_value v) {
  for (uint32_t k = 0; k < o->count; k++)
    if (value_equal(o->at[k], v)) return true;
  if (o->count == ALIAS_MAX_OBJECTS) return false;
  o->at[o->count++] = v;
  return true;
}

/* Phis and selects are replaced by their operands; `o` is the worklist too. */
static struct alias_objects collect_objects(const struct alias_env *e, struct nvm_value pointer) {
  const struct nvm_function *f = e->f;
  struct alias_objects o = {0}, leaves = {0};
  bool all = note_object(&o, alias_underlying_object(f, pointer));
  for (uint32_t k = 0; k < o.count && all; k++) {
    const struct nvm_inst *i = inst_of(f, o.at[k]);
    bool phi = i && i->op == OP_PHI, select = i && i->op == OP_SELECT;
    if (!phi && !select) {
      leaves.spaces |= spaces_of_object(e, o.at[k]);
      all = note_object(&leaves, o.at[k]);
      continue;
    }
    for (uint32_t n = select; n < i->operand_count && all; n += phi ? 2 : 1)
      all = note_object(&o, alias_underlying_object(f, inst_operand(f, i, n)));
  }
  if (!all) leaves.count = 0, leaves.spaces = UINT32_MAX;
  for (uint32_t k = 0; k < leaves.count; k++)
    leaves.identified |= (uint8_t)(is_identified(e, leaves.at[k]) << k);
  bool gep;
  for (int n = 0; n < ALIAS_MAX_STEPS && !value_is_none(pointer); n++) {
    leaves.spaces &= space_bit(space_of_type(f, pointer));
    pointer = alias_step_to_base(f, pointer, &gep);
  }
  return leaves;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Memory for places that are not cached: of globals and constants. */
struct room {
  struct alias_place place;
  struct alias_objects objects;
};

/* Where the place of a pointer is cached; NULL: it is not. */
static struct alias_place **cached_place(struct alias_env *e, struct nvm_value pointer) {
  if (value_kind(pointer) == VALUE_ARG) return &e->places[e->size + value_index(pointer)];
  return value_kind(pointer) == VALUE_INST && value_index(pointer) < e->size
             ? &e->places[value_index(pointer)]
             : NULL;
}

static struct alias_place *place_of_pointer(struct alias_env *e, struct nvm_value pointer,
                                            struct room *room) {
  struct alias_place **known = cached_place(e, pointer), *p = &room->place;
  if (known && *known) return *known;
  if (known && (*known = arena_alloc(e->arena, sizeof *p)) != NULL) p = *known;
  p->address = alias_decompose(e->f, pointer);
  p->pointer = pointer;
  p->class = 0;
  p->objects = NULL;
  return p;
}

struct alias_place *alias_place_of(struct alias_env *e, struct nvm_value pointer) {
  struct room room;
  struct alias_place **known = cached_place(e, pointer), *copy;
  const struct alias_place *p = place_of_pointer(e, pointer, &room);
  if (known && *known) return *known;
  if ((copy = arena_alloc(e->arena, sizeof *copy)) != NULL) *copy = *p;
  return copy;
}

static struct alias_place *place_of(struct alias_env *e, struct memory_location l,
                                    struct room *room) {
  return l.place ? l.place : place_of_pointer(e, l.pointer, room);
}

/* The objects of p's pointer. */
static struct alias_objects *objects_of(struct alias_env *e, struct alias_place *p,
                                        struct room *room) {
  if (p->objects) return p->objects;
  struct alias_place **known = cached_place(e, p->pointer);
  struct alias_place *keeper = known ? place_of_pointer(e, p->pointer, room) : NULL;
  bool kept = keeper && *known;
  if (kept && !keeper->objects &&
      (keeper->objects = arena_alloc(e->arena, sizeof *keeper->objects)) != NULL)
    *keeper->objects = collect_objects(e, p->pointer);
  if (kept && keeper->objects) return p->objects = keeper->objects;
  room->objects = collect_objects(e, p->pointer);
  return &room->objects;
}

static struct alias_objects *location_objects(struct alias_env *e, struct memory_location l,
                                              struct room *room) {
  return objects_of(e, place_of(e, l, room), room);
}

/* --- capture ---------------------------------------------------------------------------------- */

static enum alias_use call_use_of(const struct nvm_function *f, const struct nvm_inst *i,
                                  uint32_t k) {
  uint32_t id = call_intrinsic(f, i);
  if (k >= call_arg_count(f, i))
    return id == INTRINSIC_assume ? ALIAS_USE_READS : ALIAS_USE_CAPTURES;
  bool source =
      (id == INTRINSIC_memcpy || id == INTRINSIC_memcpy_inline || id == INTRINSIC_memmove) &&
      k == 1;
  bool reads =
      source || alias_call_attr(f, i, k, ATTR_READONLY) || alias_call_attr(f, i, k, ATTR_READNONE);
  if (id == INTRINSIC_assume || id == INTRINSIC_prefetch) return ALIAS_USE_READS;
  if (id && (intrinsic_table[id].flags & INTRIN_ARGMEM) && type_equal(i->type, TYPE_VOID))
    return reads ? ALIAS_USE_READS : ALIAS_USE_WRITES;
  const struct nvm_attr *a = alias_call_attr(f, i, k, ATTR_CAPTURES);
  bool none = a && strcmp(module_text(f->module, a->str2).bytes, "none") == 0;
  if (!none && !alias_call_attr(f, i, k, ATTR_NOCAPTURE)) return ALIAS_USE_CAPTURES;
  return reads ? ALIAS_USE_READS : ALIAS_USE_WRITES;
}

enum alias_use alias_use_of(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  switch ((enum op)i->op) {
    case OP_LOAD:
      return memory_access_unpack(i->aux).is_volatile ? ALIAS_USE_WRITES : ALIAS_USE_READS;
    case OP_STORE: return k == 1 ? ALIAS_USE_WRITES : ALIAS_USE_CAPTURES;
    case OP_ATOMICRMW:
    case OP_CMPXCHG: return k == 0 ? ALIAS_USE_WRITES : ALIAS_USE_CAPTURES;
    case OP_GEP:
    case OP_ADDRSPACECAST:
    case OP_BITCAST:
    case OP_PHI:
    case OP_SELECT: return ALIAS_USE_DERIVES;
    case OP_ICMP:
      return const_is_zero(f->module, inst_operand(f, i, 1 - k)) ? ALIAS_USE_READS
                                                                 : ALIAS_USE_CAPTURES;
    case OP_CALL: return call_use_of(f, i, k);
    default: return ALIAS_USE_CAPTURES;
  }
}

/* Visits one user of v: false if it captures; sets *written if it may write. If a pass has replaced
 * the operand by an equal pointer, this user is missing in that pointer's list: it captures. */
static bool check_user(struct alias_env *e, struct nvm_value v, struct nvm_inst_id user,
                       struct nvm_inst_id *stack, uint32_t *depth, bool *written) {
  const struct nvm_inst *i = function_inst(e->f, user);
  bool still_uses = false;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    if (!value_equal(inst_operand(e->f, i, k), v)) continue;
    still_uses = true;
    enum alias_use use = alias_use_of(e->f, i, k);
    if (use == ALIAS_USE_CAPTURES) return false;
    *written |= use == ALIAS_USE_WRITES;
    if (use != ALIAS_USE_DERIVES || e->seen[user.index] == e->stamp) continue;
    if (*depth == MAX_CAPTURE) return false;
    e->seen[user.index] = e->stamp;
    stack[(*depth)++] = user;
  }
  return still_uses;
}

/* Whether captures of arguments will be computed. */
static bool has_own_arguments(const struct nvm_function *f) {
  for (uint32_t k = 0; k < function_arg_count(f); k++)
    if (function_parameter_attribute(f, k, ATTR_NOALIAS) ||
        function_parameter_attribute(f, k, ATTR_BYVAL))
      return true;
  return false;
}

static uint8_t find_capture(struct alias_env *e, struct nvm_value object) {
  struct nvm_inst_id stack[MAX_CAPTURE];
  uint32_t depth = 0, budget = MAX_CAPTURE;
  bool written = false;
  if (!e->seen) {
    e->seen = arena_alloc(e->arena, e->f->insts.count * sizeof *e->seen);
    bool built = has_own_arguments(e->f) ? uses_build_with_arguments(&e->uses, e->f, e->arena)
                                         : uses_build(&e->uses, e->f, e->arena);
    if (!e->seen || !built) {
      e->seen = NULL;
      return CAPTURE_YES;
    }
  }
  e->stamp++;
  for (struct nvm_value v = object;; v = value_of_inst(stack[--depth])) {
    uint32_t slot = uses_slot(&e->uses, v);
    for (uint32_t n = e->uses.first[slot]; n < e->uses.first[slot + 1]; n++)
      if (budget-- == 0 || !check_user(e, v, e->uses.users[n], stack, &depth, &written))
        return CAPTURE_YES;
    if (depth == 0) return written ? CAPTURE_NO : CAPTURE_NO_ONLY_READ;
  }
}

/* Whether the object can be accessed through pointers not derived from it in this function. Only
 * for allocas and for noalias and byval arguments. */
static uint8_t capture_of(struct alias_env *e, struct nvm_value object) {
  uint32_t at = value_index(object);
  if (value_kind(object) == VALUE_ARG) at += e->size;
  else if (value_kind(object) != VALUE_INST || at >= e->size) return CAPTURE_YES;
  if (e->captured[at] == CAPTURE_UNKNOWN) e->captured[at] = find_capture(e, object);
  return e->captured[at];
}

static bool is_uncaptured(struct alias_env *e, struct nvm_value object) {
  return capture_of(e, object) != CAPTURE_YES;
}

bool alias_is_private(struct alias_env *e, struct nvm_value object) {
  const struct nvm_inst *i = inst_of(e->f, object);
  return ((i && i->op == OP_ALLOCA) || is_byval(e, object)) && is_uncaptured(e, object);
}

/* Two objects, of which ix and iy say whether they are identified. */
static bool distinct_objects(struct alias_env *e, struct nvm_value x, bool ix, struct nvm_value y,
                             bool iy) {
  if (value_equal(x, y)) return false;
  if (ix == iy) return ix;
  struct nvm_value known = ix ? x : y, other = ix ? y : x;
  if (value_kind(known) == VALUE_GLOBAL || value_kind(known) == VALUE_FUNCTION) return false;
  if (value_kind(other) == VALUE_ARG)
    return true; /* older than the alloca, or not based on the noalias argument */
  bool variable = value_kind(other) == VALUE_GLOBAL || value_kind(other) == VALUE_CONST;
  return variable ? value_kind(known) == VALUE_INST && value_kind(other) == VALUE_GLOBAL
                  : is_uncaptured(e, known);
}

static bool all_distinct(struct alias_env *e, const struct alias_objects *a,
                         const struct alias_objects *b) {
  for (uint32_t k = 0; k < a->count; k++)
    for (uint32_t n = 0; n < b->count; n++)
      if (!distinct_objects(e, a->at[k], a->identified >> k & 1, b->at[n], b->identified >> n & 1))
        return false;
  return a->count && b->count;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Equal for addresses of the same shape and offset. */
static uint32_t address_hash(const struct alias_address *a) {
  uint32_t hash = hash_mix(a->base.bits, (uint64_t)a->offset);
  for (uint32_t k = 0; k < a->term_count; k++) /* in any order */
    hash += hash_mix(a->terms[k].variable.bits, (uint64_t)a->terms[k].scale);
  return hash;
}

static bool class_hash(const void *table, uint32_t k, uint32_t *hash) {
  const struct alias_env *e = table;
  *hash = address_hash(e->class_addresses.data[k]);
  return true;
}

uint32_t alias_known_class(const struct alias_env *e, const struct alias_address *a) {
  uint32_t mask = e->class_slot_count - 1;
  if (e->class_slot_count == 0) return 0;
  for (uint32_t n = address_hash(a) & mask; e->class_slots[n]; n = (n + 1) & mask) {
    const struct alias_address *other = e->class_addresses.data[e->class_slots[n]];
    if (a->offset == other->offset && alias_same_shape(a, other)) return e->class_slots[n];
  }
  return 0;
}

uint32_t alias_class_of_place(struct alias_env *e, struct alias_place *p) {
  if (p->class || (p->class = alias_known_class(e, &p->address)) != 0) return p->class;
  if (e->class_addresses.count == 0 && !VEC_PUSH(e->arena, &e->class_addresses, NULL)) return 0;
  uint32_t count = e->class_addresses.count;
  if (!intern_room(e->arena, &e->class_slots, &e->class_slot_count, 1, count, class_hash, e) ||
      !VEC_PUSH(e->arena, &e->class_addresses, &p->address))
    return 0;
  intern_enter(e->class_slots, e->class_slot_count, address_hash(&p->address), count);
  return p->class = count;
}

/* Known bits of v, cached for recent values. */
static struct known_bits known_of(struct alias_env *e, struct nvm_value v) {
  if (!e->known && !(e->known = arena_alloc(e->arena, ALIAS_KNOWN * sizeof *e->known)))
    return known_bits_of(e->f, v);
  struct alias_known *place = &e->known[value_index(v) % ALIAS_KNOWN];
  if (!value_equal(place->value, v)) *place = (struct alias_known){v, known_bits_of(e->f, v)};
  return place->bits;
}

static bool term_range(const struct alias_term *t, struct range r, nvm_i128 *least,
                       nvm_i128 *most) {
  if (r.width == 0 || t->scale > INT32_MAX || t->scale < INT32_MIN) return false;
  nvm_i128 a = (t->sign_extended ? (nvm_i128)r.least : (nvm_i128)r.low) * t->scale;
  nvm_i128 b = (t->sign_extended ? (nvm_i128)r.most : (nvm_i128)r.high) * t->scale;
  *least += a < b ? a : b;
  *most += a < b ? b : a;
  return true;
}

/* b begins at a + offset; do they overlap? */
static enum alias compare_distance(int64_t offset, uint64_t bytes_a, uint64_t bytes_b) {
  if (offset == 0) return ALIAS_MUST;
  if (bytes_a == ALIAS_ANY_BYTES || bytes_b == ALIAS_ANY_BYTES) return ALIAS_MAY;
  uint64_t gap = offset > 0 ? (uint64_t)offset : 0 - (uint64_t)offset;
  return gap >= (offset > 0 ? bytes_a : bytes_b) ? ALIAS_NO : ALIAS_PARTIAL;
}

/* The same for a + d.offset + its terms. */
static enum alias compare_bytes(struct alias_env *e, const struct alias_address *d,
                                uint64_t bytes_a, uint64_t bytes_b) {
  if (d->term_count == 0) return compare_distance(d->offset, bytes_a, bytes_b);
  if (bytes_a == ALIAS_ANY_BYTES || bytes_b == ALIAS_ANY_BYTES) return ALIAS_MAY;
  nvm_i128 least = d->offset, most = d->offset;
  uint32_t zeros = 63;
  bool ranged = true;
  for (uint32_t k = 0; k < d->term_count; k++) {
    struct known_bits known = known_of(e, d->terms[k].variable);
    uint32_t z = alias_term_zeros(&d->terms[k], known);
    zeros = z < zeros ? z : zeros;
    ranged = ranged && term_range(&d->terms[k], range_of_bits(known), &least, &most);
  }
  uint64_t period = UINT64_C(1) << zeros, at = (uint64_t)d->offset & (period - 1);
  if (at >= bytes_a && bytes_b <= period && at <= period - bytes_b) return ALIAS_NO;
  if (!ranged || least < INT64_MIN / 2 || most > INT64_MAX / 2) return ALIAS_MAY;
  if (bytes_a > INT64_MAX / 2 || bytes_b > INT64_MAX / 2) return ALIAS_MAY;
  if (least >= (nvm_i128)bytes_a || most + (nvm_i128)bytes_b <= 0) return ALIAS_NO;
  return most < (nvm_i128)bytes_a && least + (nvm_i128)bytes_b > 0 ? ALIAS_PARTIAL : ALIAS_MAY;
}

/* Addresses with the same base. If a size is unknown, equal addresses are MUST, all others MAY. */
static enum alias compare_addresses(struct alias_env *e, const struct alias_address *a,
                                    const struct alias_address *b, uint64_t bytes_a,
                                    uint64_t bytes_b) {
  int64_t offset = (int64_t)((uint64_t)b->offset - (uint64_t)a->offset);
  if (a->term_count + b->term_count == 0) return compare_distance(offset, bytes_a, bytes_b);
  struct alias_address d = *b;
  d.offset = offset;
  for (uint32_t k = 0; k < a->term_count; k++)
    if (!alias_add_term(&d, a->terms[k].variable, (int64_t)(0 - (uint64_t)a->terms[k].scale),
                        a->terms[k].sign_extended))
      return ALIAS_MAY;
  return compare_bytes(e, &d, bytes_a, bytes_b);
}

bool alias_parameters_are_global(const struct nvm_function *f) {
  struct triple t;
  if (!function_is_kernel(f) || !f->module->has_triple) return false;
  struct nvm_text text = module_text(f->module, f->module->triple);
  return triple_parse(&t, TRIPLE_ANY, text.bytes, text.length) == TRIPLE_OK &&
         t.runtime == TRIPLE_CUDA;
}

/* --- questions -------------------------------------------------------------------------------- */

struct alias_env *alias_init(const struct nvm_function *f, struct arena *arena) {
  struct alias_env *e = arena_alloc(arena, sizeof *e);
  if (!e) return NULL;
  struct nvm_module *m = f->module;
  *e = (struct alias_env){.f = f,
                          .arena = arena,
                          .size = f->insts.count,
                          .tbaa = module_str(m, "tbaa"),
                          .scope = module_str(m, "alias.scope"),
                          .noalias = module_str(m, "noalias"),
                          .invariant = module_str(m, "invariant.load"),
                          .cuda_kernel = alias_parameters_are_global(f)};
  e->places = arena_alloc(arena, (e->size + function_arg_count(f)) * sizeof *e->places);
  e->captured = arena_alloc(arena, e->size + function_arg_count(f));
  e->effects = arena_alloc(arena, e->size);
  return e->places && e->captured && e->effects ? e : NULL;
}

static enum alias compare_places(struct alias_env *e, struct memory_location a,
                                 struct memory_location b) {
  struct room room_a, room_b;
  struct alias_place *x = place_of(e, a, &room_a), *y = place_of(e, b, &room_b);
  if (value_equal(x->address.base, y->address.base))
    return compare_addresses(e, &x->address, &y->address, a.bytes, b.bytes);
  const struct alias_objects *oa = objects_of(e, x, &room_a), *ob = objects_of(e, y, &room_b);
  if (!(oa->spaces & ob->spaces)) return ALIAS_NO;
  return all_distinct(e, oa, ob) ? ALIAS_NO : ALIAS_MAY;
}

/* Whether both addresses are in one variable of the frame. */
static bool are_in_one_variable(struct alias_env *e, struct memory_location a,
                                struct memory_location b) {
  struct room room_a, room_b;
  struct nvm_value base = place_of(e, a, &room_a)->address.base;
  return value_inst_of(e->f, base, OP_ALLOCA) &&
         value_equal(base, place_of(e, b, &room_b)->address.base);
}

/* Metadata decides only if the addresses do not: a float read as an integer through the same
 * pointer is one object, whatever the tags. Nor does it decide about one variable of the frame,
 * which programs fill by words and read by elements (float buffer[2], written as uint64_t). */
enum alias alias_query(struct alias_env *e, struct memory_location a, struct memory_location b) {
  enum alias answer = compare_places(e, a, b);
  return answer == ALIAS_MAY && alias_metadata_apart(e, a.access, b.access) &&
                 !are_in_one_variable(e, a, b)
             ? ALIAS_NO
             : answer;
}

/* A noalias argument that a kernel only reads is not written while it runs. Neither is a byval one:
 * it is the kernel's own copy. */
static bool is_constant_object(struct alias_env *e, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return true;
  if (value_kind(v) == VALUE_GLOBAL) return module_global(e->f->module, v)->is_constant;
  if (value_kind(v) != VALUE_ARG || !function_is_kernel(e->f)) return false;
  if (!function_parameter_attribute(e->f, value_index(v), ATTR_NOALIAS) &&
      !function_parameter_attribute(e->f, value_index(v), ATTR_BYVAL))
    return false;
  return function_parameter_attribute(e->f, value_index(v), ATTR_READONLY) ||
         capture_of(e, v) == CAPTURE_NO_ONLY_READ;
}

bool alias_is_constant(struct alias_env *e, struct memory_location l) {
  struct room room;
  if (alias_metadata_constant(e, l.access)) return true;
  const struct alias_objects *o = location_objects(e, l, &room);
  if (o->spaces == space_bit(SPACE_CONST)) return true;
  for (uint32_t k = 0; k < o->count; k++)
    if (!is_constant_object(e, o->at[k])) return false;
  return o->count != 0;
}

bool alias_location_is_private(struct alias_env *e, struct memory_location l) {
  struct room room;
  struct alias_objects *o = location_objects(e, l, &room);
  if (o->is_private == NOT_ASKED) {
    bool all = o->count != 0;
    for (uint32_t k = 0; k < o->count && all; k++) all = alias_is_private(e, o->at[k]);
    o->is_private = all ? ANSWER_YES : ANSWER_NO;
  }
  return o->is_private == ANSWER_YES;
}
