/* Alias analysis; see alias.h.
 *
 * Four questions, the cheap ones first, any of which may answer NO:
 *   metadata   scoped noalias lists; struct-path TBAA (the access tags of LLVM's LangRef: one access
 *              must be to a member on the path into the other's type)
 *   space      the sets of state spaces the objects may lie in: from the pointer's type, through casts,
 *              and of a CUDA kernel's generic pointer parameters, which the driver fills: global
 *   object     two different identified objects; one that has not been captured and one from elsewhere
 *   bytes      the same base: the difference of the offsets as a range and modulo a power of two
 *
 * Differs from LLVM's BasicAA: shared arrays declared without size all start at the same byte, so they
 * may alias each other; the objects behind a phi are collected first, so that no answer depends on
 * the iteration. */
#include "opt/analysis/alias.h"

#include "ir/intrinsic.h"
#include "opt/analysis/known_bits.h"
#include "opt/uses.h"
#include "target/triple.h"

enum {
  MAX_STEPS = 32,   /* getelementptrs and casts walked for one address */
  MAX_DEPTH = 6,    /* of the expression of an index */
  MAX_OBJECTS = 8,  /* behind phis and selects */
  MAX_CAPTURE = 512,/* uses looked at for one object */
  MAX_SCOPES = 64,  /* of one list */
  MAX_TBAA = 64,    /* steps into a type */
};

struct objects {
  uint32_t count;  /* 0: not known */
  uint32_t spaces; /* one bit a space, the highest for those from 8 on */
  struct nvm_value at[MAX_OBJECTS];
};

enum { CAPTURE_UNKNOWN, CAPTURE_NO, CAPTURE_YES };

struct alias_env {
  const struct nvm_function *f;
  struct arena *arena;
  struct nvm_str tbaa, scope, noalias, invariant;
  bool cuda_kernel;
  uint32_t size;                   /* of the tables by instruction */
  struct alias_address **addresses;
  struct objects **objects;
  uint8_t *captured;               /* by instruction; then by argument */
  struct uses uses;
  uint32_t *arg_first;             /* users of arguments, as in struct uses */
  struct nvm_inst_id *arg_users;
  uint32_t *seen;                  /* by instruction: stamp of the capture walk */
  uint32_t stamp;
};

static const struct nvm_inst *inst_of(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &f->insts.data[value_index(v)] : NULL;
}

static uint32_t space_of_type(const struct nvm_function *f, struct nvm_value v) {
  const struct type_table *t = &f->module->types;
  return type_info(t, type_scalar(t, value_type(f, v)))->width;
}

static uint32_t called_intrinsic(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value v = call_callee(f, i);
  return value_kind(v) == VALUE_FUNCTION ? module_function(f->module, v)->intrinsic : 0;
}

/* --- attributes --------------------------------------------------------------------------------- */

static const struct nvm_attr *parameter_attr(const struct nvm_function *f, uint32_t arg,
                                             enum attr_id id) {
  const struct attr_table_data *t = &f->module->attributes;
  return attrset_find(t, attrlist_parameter(t, f->attributes, arg), id);
}

static bool call_attr(const struct nvm_function *f, const struct nvm_inst *i, uint32_t arg,
                      enum attr_id id, const struct nvm_attr **found) {
  enum { FUNCTION = UINT32_MAX };
  const struct attr_table_data *t = &f->module->attributes;
  struct nvm_value callee = call_callee(f, i);
  struct nvm_attrlist lists[2] = {call_site_of(f, i)->attributes, {0}};
  if (value_kind(callee) == VALUE_FUNCTION) lists[1] = module_function(f->module, callee)->attributes;
  for (int k = 0; k < 2; k++) {
    struct nvm_attrset s = arg == FUNCTION ? attrlist_info(t, lists[k])->function
                                           : attrlist_parameter(t, lists[k], arg);
    *found = attrset_find(t, s, id);
    if (*found) return true;
  }
  return false;
}

static bool call_arg_has(const struct nvm_function *f, const struct nvm_inst *i, uint32_t arg,
                         enum attr_id id) {
  const struct nvm_attr *a;
  return call_attr(f, i, arg, id, &a);
}

/* --- the walk to the base ------------------------------------------------------------------------- */

/* The pointer that an instruction or constant expression passes on, moved by a getelementptr (*gep). */
static struct nvm_value step_to_base(const struct nvm_function *f, struct nvm_value v, bool *gep) {
  const struct nvm_module *m = f->module;
  uint32_t op;
  struct nvm_value from;
  const struct nvm_inst *i = inst_of(f, v);
  *gep = false;
  if (i && i->op == OP_CALL) {
    switch (called_intrinsic(f, i)) {
    case INTRINSIC_ssa_copy: case INTRINSIC_launder_invariant_group:
    case INTRINSIC_strip_invariant_group: case INTRINSIC_preserve_static_offset:
    case INTRINSIC_threadlocal_address: case INTRINSIC_ptr_annotation: return inst_operand(f, i, 0);
    default: return VALUE_NULL;
    }
  }
  if (i) {
    if (type_is_vector(&m->types, i->type) || i->operand_count == 0) return VALUE_NULL;
    op = i->op;
    from = inst_operand(f, i, 0);
  } else {
    if (value_kind(v) != VALUE_CONST) return VALUE_NULL;
    const struct constant_info *c = constant_info(&m->constants, v);
    if (c->kind != CONST_EXPR) return VALUE_NULL;
    op = c->op;
    from = const_operand(m, v, 0);
  }
  *gep = op == OP_GEP;
  bool cast = op == OP_ADDRSPACECAST || op == OP_BITCAST;
  return (*gep || cast) && type_is_ptr(&m->types, value_type(f, from)) ? from : VALUE_NULL;
}

struct nvm_value alias_underlying_object(const struct nvm_function *f, struct nvm_value pointer) {
  bool gep;
  for (int n = 0; n < MAX_STEPS; n++) {
    struct nvm_value from = step_to_base(f, pointer, &gep);
    if (value_is_none(from)) break;
    pointer = from;
  }
  return pointer;
}

/* --- addresses ------------------------------------------------------------------------------------ */

struct decomposer {
  const struct nvm_function *f;
  struct alias_address *a;
  uint32_t width; /* bits of the pointer */
};

static bool add_term(struct alias_address *a, struct nvm_value v, int64_t scale, bool is_signed) {
  for (uint32_t k = 0; k < a->term_count; k++) {
    struct alias_term *t = &a->terms[k];
    if (!value_equal(t->variable, v) || t->sign_extended != is_signed) continue;
    t->scale = (int64_t)((uint64_t)t->scale + (uint64_t)scale);
    if (t->scale == 0) *t = a->terms[--a->term_count];
    return true;
  }
  if (scale == 0) return true;
  if (a->term_count == ALIAS_MAX_TERMS) return false;
  a->terms[a->term_count++] = (struct alias_term){v, scale, is_signed};
  return true;
}

/* Whether x + y, y a constant, keeps within the type by what is known of x. */
static bool sum_fits(const struct nvm_function *f, struct nvm_value x, struct nvm_value y,
                     bool is_signed) {
  nvm_u128 c;
  if (!const_is_int(f->module, y, &c)) return false;
  struct known_bits k = known_bits_of(f, x);
  if (k.width == 0 || k.width > 63) return false;
  uint64_t most = known_bits_mask(k.width) >> is_signed;
  return c <= most && known_bits_most(k) <= most - (uint64_t)c;
}

/* Adds scale × v, where a v narrower than the pointer is extended by its sign or by zeros. Sums and
 * products in a narrower type come apart only where they do not wrap. */
static bool add_scaled(struct decomposer *d, struct nvm_value v, int64_t scale, bool is_signed,
                       int depth) {
  const struct nvm_function *f = d->f;
  const struct type_table *t = &f->module->types;
  uint32_t bits = type_scalar_bits(t, value_type(f, v));
  nvm_u128 c;
  if (const_is_int(f->module, v, &c)) {
    nvm_i128 number = is_signed || bits >= d->width ? const_int_signed(f->module, v) : (nvm_i128)c;
    d->a->offset = (int64_t)((uint64_t)d->a->offset + (uint64_t)scale * (uint64_t)number);
    return true;
  }
  const struct nvm_inst *i = inst_of(f, v);
  bool full = bits >= d->width;
  if (full) is_signed = true; /* makes no difference: one form for equal terms */
  bool unwrapped = i && (full || (i->flags & (is_signed ? INST_NSW : INST_NUW)));
  if (!i || depth == MAX_DEPTH) return add_term(d->a, v, scale, is_signed);
  struct nvm_value x = i->operand_count ? inst_operand(f, i, 0) : VALUE_NULL;
  struct nvm_value y = i->operand_count > 1 ? inst_operand(f, i, 1) : VALUE_NULL;
  switch ((enum op)i->op) {
  case OP_SEXT:
    if (is_signed) return add_scaled(d, x, scale, true, depth + 1);
    break;
  case OP_ZEXT: return add_scaled(d, x, scale, false, depth + 1);
  case OP_OR: case OP_ADD:
    if (i->op == OP_OR ? !(i->flags & INST_DISJOINT) : !unwrapped && !sum_fits(f, x, y, is_signed)) break;
    return add_scaled(d, x, scale, is_signed, depth + 1) &&
           add_scaled(d, y, scale, is_signed, depth + 1);
  case OP_SUB:
    if (!unwrapped) break;
    return add_scaled(d, x, scale, is_signed, depth + 1) &&
           add_scaled(d, y, (int64_t)(0 - (uint64_t)scale), is_signed, depth + 1);
  case OP_MUL: case OP_SHL: {
    if (!unwrapped || !const_is_int(f->module, y, &c) || bits > 64) break;
    uint64_t factor = (uint64_t)const_int_signed(f->module, y);
    if (i->op == OP_MUL && !is_signed) factor = (uint64_t)c;
    if (i->op == OP_SHL) {
      if (c + 1 >= bits) break;
      factor = UINT64_C(1) << (uint64_t)c;
    }
    return add_scaled(d, x, (int64_t)((uint64_t)scale * factor), is_signed, depth + 1);
  }
  default: break;
  }
  return add_term(d->a, v, scale, is_signed);
}

/* The bytes that index k of a getelementptr steps over in *type, which it steps into; a member's
 * offset goes to *offset, and the step is 0. */
static uint64_t gep_step(const struct nvm_module *m, struct nvm_type *type, uint32_t k,
                         struct nvm_value index, int64_t *offset) {
  const struct type_table *t = &m->types;
  if (k == 1) return layout_alloc_size(&m->layout, t, *type);
  if (type_kind(t, *type) == TY_STRUCT) {
    nvm_u128 n = 0;
    const_is_int(m, index, &n);
    *offset += (int64_t)layout_member_offset(&m->layout, t, *type, (uint32_t)n);
    *type = type_member(t, *type, (uint32_t)n);
    return 0;
  }
  bool vector = type_is_vector(t, *type);
  *type = type_info(t, *type)->element;
  return vector ? (layout_bits(&m->layout, t, *type) + 7) / 8 : layout_alloc_size(&m->layout, t, *type);
}

static bool add_gep(struct decomposer *d, struct nvm_value v) {
  const struct nvm_module *m = d->f->module;
  const struct nvm_inst *i = inst_of(d->f, v);
  const struct constant_info *c = i ? NULL : constant_info(&m->constants, v);
  struct nvm_type type = {i ? i->aux : c->aux};
  uint32_t count = i ? i->operand_count : c->count;
  for (uint32_t k = 1; k < count; k++) {
    struct nvm_value index = i ? inst_operand(d->f, i, k) : const_operand(m, v, k);
    uint64_t step = gep_step(m, &type, k, index, &d->a->offset);
    if (step != 0 && !add_scaled(d, index, (int64_t)step, true, 0)) return false;
  }
  return true;
}

struct alias_address alias_decompose(const struct nvm_function *f, struct nvm_value pointer) {
  struct alias_address a = {.base = pointer};
  uint32_t width = layout_pointer_bits(&f->module->layout, space_of_type(f, pointer));
  bool gep;
  for (int n = 0; n < MAX_STEPS; n++) {
    struct nvm_value from = step_to_base(f, a.base, &gep);
    if (value_is_none(from)) break;
    struct alias_address next = a;
    struct decomposer d = {f, &next, width};
    if (gep && !add_gep(&d, a.base)) break;
    a = next;
    a.base = from;
  }
  if (width < 64) a.offset = (int64_t)((uint64_t)a.offset << (64 - width)) >> (64 - width);
  return a;
}

/* What v, at the start of `to`, is at the end of `from`; none if that is not known. */
static struct nvm_value translate_value(const struct nvm_function *f, struct nvm_value v,
                                        struct nvm_block to, struct nvm_block from) {
  const struct nvm_inst *i = inst_of(f, v);
  if (!i || i->block.index != to.index) return v;
  for (uint32_t k = 0; k < i->operand_count && i->op == OP_PHI; k += 2)
    if (value_index(inst_operand(f, i, k + 1)) == from.index) return inst_operand(f, i, k);
  return VALUE_NULL;
}

bool alias_translate(const struct nvm_function *f, struct alias_address *a, struct nvm_block to,
                     struct nvm_block from) {
  struct alias_address old = *a;
  struct decomposer d = {f, a, layout_pointer_bits(&f->module->layout, space_of_type(f, a->base))};
  struct nvm_value base = translate_value(f, a->base, to, from);
  if (value_is_none(base)) return false;
  if (value_equal(base, a->base)) {
    a->term_count = 0;
  } else {
    *a = alias_decompose(f, base);
    a->offset = (int64_t)((uint64_t)a->offset + (uint64_t)old.offset);
  }
  for (uint32_t k = 0; k < old.term_count; k++) {
    struct nvm_value v = translate_value(f, old.terms[k].variable, to, from);
    if (value_is_none(v) || !add_scaled(&d, v, old.terms[k].scale, old.terms[k].sign_extended, 0))
      return false;
  }
  return true;
}

bool alias_same_shape(const struct alias_address *a, const struct alias_address *b) {
  if (!value_equal(a->base, b->base) || a->term_count != b->term_count) return false;
  for (uint32_t k = 0; k < a->term_count; k++)
    if (!value_equal(a->terms[k].variable, b->terms[k].variable) ||
        a->terms[k].scale != b->terms[k].scale ||
        a->terms[k].sign_extended != b->terms[k].sign_extended)
      return false;
  return true;
}

static const struct alias_address *address_of(struct alias_env *e, struct nvm_value pointer,
                                              struct alias_address *room) {
  uint32_t n = value_index(pointer);
  if (value_kind(pointer) != VALUE_INST || n >= e->size) {
    *room = alias_decompose(e->f, pointer);
    return room;
  }
  if (!e->addresses[n]) {
    *room = alias_decompose(e->f, pointer);
    e->addresses[n] = arena_alloc(e->arena, sizeof *room);
    if (!e->addresses[n]) return room;
    *e->addresses[n] = *room;
  }
  return e->addresses[n];
}

/* --- objects -------------------------------------------------------------------------------------- */

static bool is_byval(const struct alias_env *e, struct nvm_value v) {
  return value_kind(v) == VALUE_ARG && parameter_attr(e->f, value_index(v), ATTR_BYVAL);
}

/* A variable of its own: no alias, and no array whose size only the launch knows. */
static bool is_own_variable(const struct alias_env *e, struct nvm_value v) {
  if (value_kind(v) != VALUE_GLOBAL) return false;
  const struct nvm_global *g = module_global(e->f->module, v);
  bool dynamic_shared = g->address_space == 3 && value_is_none(g->initializer);
  return !g->is_alias && !dynamic_shared;
}

/* Other memory than any other such object has. */
static bool is_identified(const struct alias_env *e, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(e->f, v);
  if (i) return i->op == OP_ALLOCA;
  if (value_kind(v) == VALUE_ARG)
    return is_byval(e, v) || parameter_attr(e->f, value_index(v), ATTR_NOALIAS);
  return is_own_variable(e, v) || value_kind(v) == VALUE_FUNCTION;
}

enum { SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONST = 4, SPACE_LOCAL = 5, SPACE_CLUSTER = 7 };
enum { OTHER_SPACES = 31 };

static uint32_t space_bit(uint32_t space) {
  if (space == 0) return UINT32_MAX;
  if (space == SPACE_SHARED || space == SPACE_CLUSTER) return 1u << SPACE_SHARED | 1u << SPACE_CLUSTER;
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

static bool note_object(struct objects *o, struct nvm_value v) {
  for (uint32_t k = 0; k < o->count; k++)
    if (value_equal(o->at[k], v)) return true;
  if (o->count == MAX_OBJECTS) return false;
  o->at[o->count++] = v;
  return true;
}

/* Phis and selects are replaced by what they choose from: `o` is the work list too. */
static struct objects collect_objects(const struct alias_env *e, struct nvm_value pointer) {
  const struct nvm_function *f = e->f;
  struct objects o = {0}, leaves = {0};
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
  bool gep;
  for (int n = 0; n < MAX_STEPS && !value_is_none(pointer); n++) {
    leaves.spaces &= space_bit(space_of_type(f, pointer));
    pointer = step_to_base(f, pointer, &gep);
  }
  return leaves;
}

static const struct objects *objects_of(struct alias_env *e, struct nvm_value pointer,
                                        struct objects *room) {
  uint32_t n = value_index(pointer);
  bool kept = value_kind(pointer) == VALUE_INST && n < e->size;
  if (kept && e->objects[n]) return e->objects[n];
  *room = collect_objects(e, pointer);
  if (kept && (e->objects[n] = arena_alloc(e->arena, sizeof *room)) != NULL) *e->objects[n] = *room;
  return room;
}

static const struct objects *location_objects(struct alias_env *e, struct memory_location l,
                                              struct objects *room) {
  return objects_of(e, l.address ? l.address->base : l.pointer, room);
}

/* --- capture -------------------------------------------------------------------------------------- */

/* Use lists of the arguments, by counting and filling. */
static bool argument_uses(struct alias_env *e) {
  const struct nvm_function *f = e->f;
  uint32_t count = function_arg_count(f);
  e->arg_first = arena_alloc(e->arena, (count + 2) * sizeof *e->arg_first);
  if (!e->arg_first) return false;
  for (int pass = 0; pass < 2; pass++) {
    FOR_EACH_BLOCK(f, b)
      FOR_EACH_INST(f, b, i)
        for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++) {
          struct nvm_value v = inst_operand(f, function_inst(f, i), k);
          if (value_kind(v) != VALUE_ARG) continue;
          if (pass == 0) e->arg_first[value_index(v) + 1]++;
          else e->arg_users[e->arg_first[value_index(v)]++] = i;
        }
    for (uint32_t n = 0; n <= count && pass == 0; n++) e->arg_first[n + 1] += e->arg_first[n];
    if (pass == 0 && !(e->arg_users = arena_alloc(e->arena, (e->arg_first[count] + 1) *
                                                                sizeof *e->arg_users)))
      return false;
  }
  memmove(e->arg_first + 1, e->arg_first, count * sizeof *e->arg_first);
  e->arg_first[0] = 0;
  return true;
}

enum use { USE_HARMLESS, USE_DERIVES, USE_CAPTURES };

static enum use judge_call_use(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  uint32_t id = called_intrinsic(f, i);
  const struct nvm_attr *a;
  if (k >= call_arg_count(f, i)) return USE_CAPTURES;
  if (id == INTRINSIC_assume) return USE_HARMLESS;
  if (id && (intrinsic_table[id].flags & INTRIN_ARGMEM) && type_equal(i->type, TYPE_VOID))
    return USE_HARMLESS;
  if (call_arg_has(f, i, k, ATTR_NOCAPTURE)) return USE_HARMLESS;
  if (call_attr(f, i, k, ATTR_CAPTURES, &a) &&
      strcmp(module_text(f->module, a->str2).bytes, "none") == 0)
    return USE_HARMLESS;
  return USE_CAPTURES;
}

static enum use judge_use(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  switch ((enum op)i->op) {
  case OP_LOAD: return USE_HARMLESS;
  case OP_STORE: return k == 1 ? USE_HARMLESS : USE_CAPTURES;
  case OP_ATOMICRMW: case OP_CMPXCHG: return k == 0 ? USE_HARMLESS : USE_CAPTURES;
  case OP_GEP: case OP_ADDRSPACECAST: case OP_BITCAST: case OP_PHI: case OP_SELECT:
    return USE_DERIVES;
  case OP_ICMP: return const_is_zero(f->module, inst_operand(f, i, 1 - k)) ? USE_HARMLESS : USE_CAPTURES;
  case OP_CALL: return judge_call_use(f, i, k);
  default: return USE_CAPTURES;
  }
}

/* Looks at one user of v: false if it captures. */
static bool check_user(struct alias_env *e, struct nvm_value v, struct nvm_inst_id user,
                       struct nvm_inst_id *stack, uint32_t *depth) {
  const struct nvm_inst *i = function_inst(e->f, user);
  for (uint32_t k = 0; k < i->operand_count; k++) {
    if (!value_equal(inst_operand(e->f, i, k), v)) continue;
    enum use use = judge_use(e->f, i, k);
    if (use == USE_CAPTURES) return false;
    if (use == USE_HARMLESS || e->seen[user.index] == e->stamp) continue;
    if (*depth == MAX_CAPTURE) return false;
    e->seen[user.index] = e->stamp;
    stack[(*depth)++] = user;
  }
  return true;
}

static bool is_captured(struct alias_env *e, struct nvm_value object) {
  struct nvm_inst_id stack[MAX_CAPTURE];
  uint32_t depth = 0, budget = MAX_CAPTURE;
  if (!e->seen) {
    e->seen = arena_alloc(e->arena, e->f->insts.count * sizeof *e->seen);
    if (!e->seen || !uses_build(&e->uses, e->f, e->arena) || !argument_uses(e)) {
      e->seen = NULL;
      return true;
    }
  }
  e->stamp++;
  for (struct nvm_value v = object;; v = value_of_inst(stack[--depth])) {
    bool arg = value_kind(v) == VALUE_ARG;
    const uint32_t *first = arg ? e->arg_first : e->uses.first;
    const struct nvm_inst_id *users = arg ? e->arg_users : e->uses.users;
    for (uint32_t n = first[value_index(v)]; n < first[value_index(v) + 1]; n++)
      if (budget-- == 0 || !check_user(e, v, users[n], stack, &depth)) return true;
    if (depth == 0) return false;
  }
}

/* Whether nobody but the function itself can reach the object through other pointers than those
 * derived from it here. Only asked of allocas and of noalias and byval arguments. */
static bool is_uncaptured(struct alias_env *e, struct nvm_value object) {
  uint32_t at = value_index(object);
  if (value_kind(object) == VALUE_ARG) at += e->size;
  else if (value_kind(object) != VALUE_INST || at >= e->size) return false;
  if (e->captured[at] == CAPTURE_UNKNOWN)
    e->captured[at] = is_captured(e, object) ? CAPTURE_YES : CAPTURE_NO;
  return e->captured[at] == CAPTURE_NO;
}

bool alias_is_private(struct alias_env *e, struct nvm_value object) {
  const struct nvm_inst *i = inst_of(e->f, object);
  return ((i && i->op == OP_ALLOCA) || is_byval(e, object)) && is_uncaptured(e, object);
}

static bool distinct_objects(struct alias_env *e, struct nvm_value x, struct nvm_value y) {
  if (value_equal(x, y)) return false;
  bool ix = is_identified(e, x), iy = is_identified(e, y);
  if (ix && iy) return true;
  if (!ix && !iy) return false;
  struct nvm_value known = ix ? x : y, other = ix ? y : x;
  if (value_kind(known) == VALUE_GLOBAL || value_kind(known) == VALUE_FUNCTION) return false;
  if (value_kind(other) == VALUE_ARG) return true; /* made before the alloca; not based on noalias */
  bool variable = value_kind(other) == VALUE_GLOBAL || value_kind(other) == VALUE_CONST;
  return variable ? value_kind(known) == VALUE_INST && value_kind(other) == VALUE_GLOBAL
                  : is_uncaptured(e, known);
}

static bool all_distinct(struct alias_env *e, const struct objects *a, const struct objects *b) {
  for (uint32_t k = 0; k < a->count; k++)
    for (uint32_t n = 0; n < b->count; n++)
      if (!distinct_objects(e, a->at[k], b->at[n])) return false;
  return a->count && b->count;
}

/* --- bytes ---------------------------------------------------------------------------------------- */

static bool term_range(const struct alias_env *e, const struct alias_term *t, nvm_i128 *least,
                       nvm_i128 *most) {
  struct known_bits k = known_bits_of(e->f, t->variable);
  if (k.width == 0 || t->scale > INT32_MAX || t->scale < INT32_MIN) return false;
  nvm_i128 low = known_bits_least(k), high = known_bits_most(k);
  if (t->sign_extended && !known_bits_nonnegative(k)) {
    high = ((nvm_i128)1 << (k.width - 1)) - 1;
    low = -high - 1;
  }
  nvm_i128 a = low * t->scale, b = high * t->scale;
  *least += a < b ? a : b;
  *most += a < b ? b : a;
  return true;
}

static uint32_t offset_zeros(int64_t offset) {
  uint32_t n = 0;
  while (n < 63 && !((uint64_t)offset >> n & 1)) n++;
  return n;
}

static uint32_t term_zeros(const struct nvm_function *f, const struct alias_term *t) {
  struct known_bits k = known_bits_of(f, t->variable);
  uint32_t n = offset_zeros(t->scale);
  for (uint32_t z = 0; z < k.width && k.zero >> z & 1 && n < 63; z++) n++;
  return n;
}

uint32_t alias_offset_zeros(const struct nvm_function *f, const struct alias_address *a) {
  uint32_t least = offset_zeros(a->offset);
  for (uint32_t k = 0; k < a->term_count; k++) {
    uint32_t n = term_zeros(f, &a->terms[k]);
    least = n < least ? n : least;
  }
  return least;
}

/* b begins at a + d.offset + its terms; do they overlap? Sizes are known. */
static enum alias compare_bytes(const struct alias_env *e, const struct alias_address *d,
                                uint64_t bytes_a, uint64_t bytes_b) {
  if (d->term_count == 0) {
    if (d->offset == 0) return ALIAS_MUST;
    uint64_t gap = d->offset > 0 ? (uint64_t)d->offset : 0 - (uint64_t)d->offset;
    return gap >= (d->offset > 0 ? bytes_a : bytes_b) ? ALIAS_NO : ALIAS_PARTIAL;
  }
  nvm_i128 least = d->offset, most = d->offset;
  uint32_t zeros = 63;
  bool ranged = true;
  for (uint32_t k = 0; k < d->term_count; k++) {
    uint32_t z = term_zeros(e->f, &d->terms[k]);
    zeros = z < zeros ? z : zeros;
    ranged = ranged && term_range(e, &d->terms[k], &least, &most);
  }
  uint64_t period = UINT64_C(1) << zeros, at = (uint64_t)d->offset & (period - 1);
  if (at >= bytes_a && bytes_b <= period && at <= period - bytes_b) return ALIAS_NO;
  if (!ranged || least < INT64_MIN / 2 || most > INT64_MAX / 2) return ALIAS_MAY;
  if (bytes_a > INT64_MAX / 2 || bytes_b > INT64_MAX / 2) return ALIAS_MAY;
  return least >= (nvm_i128)bytes_a || most + (nvm_i128)bytes_b <= 0 ? ALIAS_NO : ALIAS_MAY;
}

static enum alias compare_addresses(const struct alias_env *e, const struct alias_address *a,
                                    const struct alias_address *b, uint64_t bytes_a,
                                    uint64_t bytes_b) {
  if (bytes_a == ALIAS_ANY_BYTES || bytes_b == ALIAS_ANY_BYTES) return ALIAS_MAY;
  struct alias_address d = *b;
  d.offset = (int64_t)((uint64_t)b->offset - (uint64_t)a->offset);
  for (uint32_t k = 0; k < a->term_count; k++)
    if (!add_term(&d, a->terms[k].variable, (int64_t)(0 - (uint64_t)a->terms[k].scale),
                  a->terms[k].sign_extended))
      return ALIAS_MAY;
  return compare_bytes(e, &d, bytes_a, bytes_b);
}

/* --- metadata ------------------------------------------------------------------------------------- */

static const struct meta_node *attached(const struct alias_env *e, struct nvm_inst_id i,
                                        struct nvm_str kind) {
  if (i.index == 0 || i.index >= e->f->attachments.count) return NULL;
  const struct nvm_module *m = e->f->module;
  return meta_as_node(&m->metadata, module_attachment(m, e->f->attachments.data[i.index], kind));
}

static bool list_has(const struct meta_table *t, const struct meta_node *list, struct nvm_meta m) {
  for (uint32_t k = 0; k < list->count; k++)
    if (meta_operand(t, list, k).index == m.index) return true;
  return false;
}

static struct nvm_meta domain_of(const struct meta_table *t, struct nvm_meta scope) {
  const struct meta_node *n = meta_as_node(t, scope);
  return n && n->count >= 2 ? meta_operand(t, n, 1) : (struct nvm_meta){0};
}

/* Whether, in some domain, all scopes of the one access are in the other's noalias list. */
static bool scopes_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b) {
  const struct meta_table *t = &e->f->module->metadata;
  const struct meta_node *scopes = attached(e, a, e->scope), *noalias = attached(e, b, e->noalias);
  if (!scopes || !noalias || scopes->count > MAX_SCOPES || noalias->count > MAX_SCOPES) return false;
  for (uint32_t k = 0; k < scopes->count; k++) {
    struct nvm_meta domain = domain_of(t, meta_operand(t, scopes, k));
    bool all = domain.index != 0;
    for (uint32_t n = 0; n < scopes->count && all; n++) {
      struct nvm_meta scope = meta_operand(t, scopes, n);
      if (domain_of(t, scope).index == domain.index) all = list_has(t, noalias, scope);
    }
    if (all) return true;
  }
  return false;
}

struct tbaa_place {
  struct nvm_meta type;
  uint64_t offset;
};

static bool meta_number(const struct nvm_module *m, struct nvm_meta operand, uint64_t *n) {
  const struct meta_item *item = meta_item(&m->metadata, operand);
  nvm_u128 value;
  if (item->kind != META_VALUE || !const_is_int(m, item->value, &value)) return false;
  *n = (uint64_t)value;
  return true;
}

/* !{base, access, offset}; false: none, or of another form. */
static bool read_tag(const struct alias_env *e, struct nvm_inst_id i, struct tbaa_place *base,
                     bool *constant) {
  const struct nvm_module *m = e->f->module;
  const struct meta_node *n = attached(e, i, e->tbaa);
  uint64_t flag = 0;
  if (!n || n->name.index || n->count < 3 || n->count > 4) return false;
  base->type = meta_operand(&m->metadata, n, 0);
  if (n->count == 4) meta_number(m, meta_operand(&m->metadata, n, 3), &flag);
  *constant = flag & 1;
  return meta_as_node(&m->metadata, base->type) &&
         meta_number(m, meta_operand(&m->metadata, n, 2), &base->offset);
}

/* The member at the place's offset: of a scalar, its parent type. False at the root. */
static bool tbaa_enter(const struct nvm_module *m, struct tbaa_place *p) {
  const struct meta_node *n = meta_as_node(&m->metadata, p->type);
  if (!n || n->name.index || n->count < 2) return false;
  if (meta_item(&m->metadata, meta_operand(&m->metadata, n, 0))->kind != META_STRING) return false;
  struct tbaa_place inner = {meta_operand(&m->metadata, n, 1), p->offset};
  for (uint32_t k = 1; k + 1 < n->count; k += 2) {
    uint64_t at;
    if (!meta_number(m, meta_operand(&m->metadata, n, k + 1), &at) || at > p->offset) break;
    inner = (struct tbaa_place){meta_operand(&m->metadata, n, k), p->offset - at};
  }
  *p = inner;
  return true;
}

/* Whether `to` lies on the way into `from`, and the two roots. */
static bool tbaa_reaches(const struct nvm_module *m, struct tbaa_place from, struct tbaa_place to,
                         struct nvm_meta *root, bool *odd) {
  bool met = false;
  for (int n = 0; n < MAX_TBAA; n++) {
    met = met || (from.type.index == to.type.index && from.offset == to.offset);
    *root = from.type;
    if (!tbaa_enter(m, &from)) {
      const struct meta_node *r = meta_as_node(&m->metadata, *root);
      *odd = !r || r->count != 1; /* a root has a name and nothing else */
      return met;
    }
  }
  *odd = true;
  return met;
}

static bool tbaa_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b) {
  const struct nvm_module *m = e->f->module;
  struct tbaa_place x, y;
  bool constant, odd_x, odd_y;
  struct nvm_meta root_x, root_y;
  if (!read_tag(e, a, &x, &constant) || !read_tag(e, b, &y, &constant)) return false;
  bool met = tbaa_reaches(m, x, y, &root_x, &odd_x) | tbaa_reaches(m, y, x, &root_y, &odd_y);
  return !met && !odd_x && !odd_y && root_x.index == root_y.index;
}

bool alias_parameters_are_global(const struct nvm_function *f) {
  struct triple t;
  if (!function_is_kernel(f) || !f->module->has_triple) return false;
  struct nvm_text text = module_text(f->module, f->module->triple);
  return triple_parse(&t, TRIPLE_ANY, text.bytes, text.length) == TRIPLE_OK &&
         t.runtime == TRIPLE_CUDA;
}

/* --- questions ------------------------------------------------------------------------------------ */

struct alias_env *alias_init(const struct nvm_function *f, struct arena *arena) {
  struct alias_env *e = arena_alloc(arena, sizeof *e);
  if (!e) return NULL;
  struct nvm_module *m = f->module;
  *e = (struct alias_env){.f = f, .arena = arena, .size = f->insts.count,
                          .tbaa = module_str(m, "tbaa"), .scope = module_str(m, "alias.scope"),
                          .noalias = module_str(m, "noalias"),
                          .invariant = module_str(m, "invariant.load"),
                          .cuda_kernel = alias_parameters_are_global(f)};
  e->addresses = arena_alloc(arena, e->size * sizeof *e->addresses);
  e->objects = arena_alloc(arena, e->size * sizeof *e->objects);
  e->captured = arena_alloc(arena, e->size + function_arg_count(f));
  return e->addresses && e->objects && e->captured ? e : NULL;
}

enum alias alias_query(struct alias_env *e, struct memory_location a, struct memory_location b) {
  struct alias_address room_a, room_b;
  struct objects objects_a, objects_b;
  if (scopes_apart(e, a.access, b.access) || scopes_apart(e, b.access, a.access)) return ALIAS_NO;
  if (tbaa_apart(e, a.access, b.access)) return ALIAS_NO;
  const struct alias_address *x = a.address ? a.address : address_of(e, a.pointer, &room_a);
  const struct alias_address *y = b.address ? b.address : address_of(e, b.pointer, &room_b);
  if (value_equal(x->base, y->base)) return compare_addresses(e, x, y, a.bytes, b.bytes);
  const struct objects *oa = location_objects(e, a, &objects_a);
  const struct objects *ob = location_objects(e, b, &objects_b);
  if (!(oa->spaces & ob->spaces)) return ALIAS_NO;
  return all_distinct(e, oa, ob) ? ALIAS_NO : ALIAS_MAY;
}

static bool is_constant_object(const struct alias_env *e, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return true;
  if (value_kind(v) == VALUE_GLOBAL) return module_global(e->f->module, v)->is_constant;
  /* What a kernel gets as noalias and only reads, nobody writes while it runs. */
  return value_kind(v) == VALUE_ARG && function_is_kernel(e->f) &&
         parameter_attr(e->f, value_index(v), ATTR_NOALIAS) &&
         parameter_attr(e->f, value_index(v), ATTR_READONLY);
}

bool alias_is_constant(struct alias_env *e, struct memory_location l) {
  struct tbaa_place place;
  struct objects room;
  bool constant;
  if (attached(e, l.access, e->invariant)) return true;
  if (read_tag(e, l.access, &place, &constant) && constant) return true;
  const struct objects *o = location_objects(e, l, &room);
  if (o->spaces == space_bit(SPACE_CONST)) return true;
  for (uint32_t k = 0; k < o->count; k++)
    if (!is_constant_object(e, o->at[k])) return false;
  return o->count != 0;
}

static uint64_t type_bytes(const struct nvm_function *f, struct nvm_type type) {
  return layout_store_size(&f->module->layout, &f->module->types, type);
}

/* The length of a memcpy or memset, if constant. */
static uint64_t length_of(const struct nvm_function *f, const struct nvm_inst *i) {
  nvm_u128 n;
  if (call_arg_count(f, i) < 3) return ALIAS_ANY_BYTES;
  return const_is_int(f->module, inst_operand(f, i, 2), &n) ? (uint64_t)n : ALIAS_ANY_BYTES;
}

static bool is_block_operation(uint32_t id) {
  return id == INTRINSIC_memcpy || id == INTRINSIC_memcpy_inline || id == INTRINSIC_memmove ||
         id == INTRINSIC_memset || id == INTRINSIC_memset_inline;
}

bool alias_location_of(const struct nvm_function *f, struct nvm_inst_id id,
                       struct memory_location *out) {
  const struct nvm_inst *i = function_inst(f, id);
  *out = (struct memory_location){.access = id};
  switch ((enum op)i->op) {
  case OP_LOAD: out->bytes = type_bytes(f, i->type); break;
  case OP_STORE:
    out->pointer = inst_operand(f, i, 1);
    out->bytes = type_bytes(f, value_type(f, inst_operand(f, i, 0)));
    return true;
  case OP_ATOMICRMW: case OP_CMPXCHG:
    out->bytes = type_bytes(f, value_type(f, inst_operand(f, i, 1)));
    break;
  case OP_CALL:
    if (!is_block_operation(called_intrinsic(f, i))) return false;
    out->bytes = length_of(f, i);
    break;
  default: return false;
  }
  out->pointer = inst_operand(f, i, 0);
  return true;
}

/* --- what instructions do ------------------------------------------------------------------------- */

enum { BOTH = ALIAS_READS | ALIAS_WRITES };

struct effect {
  uint32_t arguments; /* what is done through pointer arguments */
  uint32_t others;    /* to all other memory that others can see */
};

static uint32_t effect_word(const char *s) {
  if (strncmp(s, "none", 4) == 0) return 0;
  if (strncmp(s, "readwrite", 9) == 0) return BOTH;
  return strncmp(s, "read", 4) == 0 ? ALIAS_READS : ALIAS_WRITES;
}

/* memory(read, argmem: write, …): the word without a place is for all places not named. */
static struct effect effect_of_text(const char *s) {
  struct effect e = {0, 0};
  bool is_first = true, arguments_named = false;
  while (*s) {
    const char *colon = strchr(s, ':'), *comma = strchr(s, ',');
    bool placed = colon && (!comma || colon < comma);
    if (placed && strncmp(s, "argmem", 6) == 0) {
      e.arguments = effect_word(colon + 1 + strspn(colon + 1, " "));
      arguments_named = true;
    } else if (!placed && is_first) {
      e.others = effect_word(s);
    } else if (placed && strncmp(s, "inaccessiblemem", 15) != 0) {
      e.others |= effect_word(colon + 1 + strspn(colon + 1, " "));
    }
    is_first = false;
    if (!comma) break;
    s = comma + 1 + strspn(comma + 1, " ");
  }
  if (!arguments_named) e.arguments = e.others;
  return e;
}

static struct effect attribute_effect(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct attr_table_data *t = &f->module->attributes;
  struct nvm_value callee = call_callee(f, i);
  struct nvm_attrlist lists[2] = {call_site_of(f, i)->attributes, {0}};
  struct effect e = {BOTH, BOTH};
  if (value_kind(callee) == VALUE_FUNCTION) lists[1] = module_function(f->module, callee)->attributes;
  for (int k = 0; k < 2; k++) {
    struct nvm_attrset s = attrlist_info(t, lists[k])->function;
    const struct nvm_attr *memory = attrset_find(t, s, ATTR_MEMORY);
    struct effect said = {BOTH, BOTH};
    if (memory) said = effect_of_text(module_text(f->module, memory->str2).bytes);
    if (attrset_find(t, s, ATTR_READNONE)) said = (struct effect){0, 0};
    if (attrset_find(t, s, ATTR_READONLY)) said = (struct effect){ALIAS_READS, ALIAS_READS};
    if (attrset_find(t, s, ATTR_WRITEONLY)) said = (struct effect){ALIAS_WRITES, ALIAS_WRITES};
    if (attrset_find(t, s, ATTR_ARGMEMONLY) ||
        attrset_find(t, s, ATTR_INACCESSIBLEMEM_OR_ARGMEMONLY)) said.others = 0;
    if (attrset_find(t, s, ATTR_INACCESSIBLEMEMONLY)) said = (struct effect){0, 0};
    e.arguments &= said.arguments;
    e.others &= said.others;
  }
  return e;
}

/* Convergent operations that exchange registers, not memory: their row says "writes" so that they
 * stay where they are. */
static bool is_register_exchange(const char *name) {
  static const char *const prefixes[] = {"llvm.nvvm.shfl.", "llvm.nvvm.vote.", "llvm.nvvm.match.",
                                         "llvm.nvvm.redux.", "llvm.nvvm.activemask",
                                         "llvm.nvvm.elect.sync"};
  for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
    if (strncmp(name, prefixes[k], strlen(prefixes[k])) == 0) return true;
  return false;
}

static struct effect intrinsic_effect(uint32_t id) {
  const struct intrinsic_info *in = &intrinsic_table[id];
  switch (id) {
  case INTRINSIC_assume: case INTRINSIC_sideeffect: case INTRINSIC_prefetch:
  case INTRINSIC_experimental_noalias_scope_decl: case INTRINSIC_pseudoprobe:
  case INTRINSIC_var_annotation: case INTRINSIC_ptr_annotation: case INTRINSIC_annotation:
    return (struct effect){0, 0};
  default: break;
  }
  if (is_register_exchange(in->name)) return (struct effect){0, 0};
  uint32_t does = (in->flags & INTRIN_READS ? ALIAS_READS : 0) | (in->flags & INTRIN_WRITES ? ALIAS_WRITES : 0);
  if (in->flags & INTRIN_ARGMEM) return (struct effect){does, 0};
  if (does & ALIAS_WRITES) does = BOTH;
  return (struct effect){does, does};
}

static struct effect call_effect(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  uint32_t id = called_intrinsic(f, i);
  if (id) return intrinsic_effect(id);
  struct effect e = attribute_effect(f, i);
  if (value_kind(callee) == VALUE_CONST) {
    const struct constant_info *c = constant_info(&f->module->constants, callee);
    bool memory = c->kind != CONST_ASM || (c->flags & CONST_ASM_SIDEEFFECT) ||
                  strstr(module_text(f->module, c->str2).bytes, "memory");
    if (!memory) return (struct effect){0, 0};
  }
  return e;
}

/* What a call does through its argument k. */
static uint32_t argument_effect(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k,
                                uint32_t does) {
  uint32_t id = called_intrinsic(f, i);
  if (is_block_operation(id)) return k == 0 ? ALIAS_WRITES : ALIAS_READS;
  if (call_arg_has(f, i, k, ATTR_READNONE)) return 0;
  if (call_arg_has(f, i, k, ATTR_READONLY)) does &= ALIAS_READS;
  if (call_arg_has(f, i, k, ATTR_WRITEONLY)) does &= ALIAS_WRITES;
  return does;
}

static uint32_t call_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l,
                             bool is_private) {
  const struct nvm_function *f = e->f;
  const struct nvm_inst *i = function_inst(f, id);
  struct effect does = call_effect(f, i);
  uint32_t result = is_private ? 0 : does.others, count = call_arg_count(f, i);
  if (is_block_operation(called_intrinsic(f, i))) count = 2;
  for (uint32_t k = 0; k < count && (does.arguments & ~result); k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (!type_is_ptr_or_vector(&f->module->types, value_type(f, v))) continue;
    bool block = is_block_operation(called_intrinsic(f, i));
    struct memory_location theirs = {v, block ? length_of(f, i) : ALIAS_ANY_BYTES, id, NULL};
    uint32_t done = argument_effect(f, i, k, does.arguments);
    if ((done & ~result) && alias_query(e, theirs, l) != ALIAS_NO) result |= done;
  }
  return result;
}

/* What an access does to the bytes it touches; *fence: and to all that others can see. */
static uint32_t access_effect(const struct nvm_inst *i, bool *fence) {
  struct memory_access how = memory_access_unpack(i->aux);
  *fence = how.ordering > ORDER_MONOTONIC;
  if (*fence || how.is_volatile || how.ordering > ORDER_UNORDERED) return BOTH;
  return i->op == OP_LOAD ? ALIAS_READS : i->op == OP_STORE ? ALIAS_WRITES : BOTH;
}

uint32_t alias_effects(const struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  bool fence;
  switch ((enum op)i->op) {
  case OP_LOAD: case OP_STORE: case OP_ATOMICRMW: case OP_CMPXCHG: return access_effect(i, &fence);
  case OP_FENCE: case OP_VA_ARG: return BOTH;
  case OP_CALL: {
    struct effect e = call_effect(f, i);
    return e.arguments | e.others;
  }
  default: return 0;
  }
}

uint32_t alias_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  uint32_t does = alias_effects(e->f, id);
  if (does == 0) return 0;
  const struct nvm_inst *i = function_inst(e->f, id);
  struct objects room;
  struct memory_location theirs;
  bool fence = i->op == OP_FENCE || i->op == OP_VA_ARG;
  if (alias_is_constant(e, l)) does &= ALIAS_READS;
  if (does == 0) return 0;
  const struct objects *o = location_objects(e, l, &room);
  bool is_private = o->count != 0;
  for (uint32_t k = 0; k < o->count && is_private; k++) is_private = alias_is_private(e, o->at[k]);
  if (i->op == OP_CALL) return call_mod_ref(e, id, l, is_private) & does;
  if (fence) return is_private ? 0 : does;
  access_effect(i, &fence);
  if (fence && !is_private) return does;
  if (!alias_location_of(e->f, id, &theirs)) return does;
  return alias_query(e, theirs, l) == ALIAS_NO ? 0 : does;
}
