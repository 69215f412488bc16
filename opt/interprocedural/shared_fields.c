/* Fields of shared variables.
 *
 * A variable is tracked if only the module can name it, its initial value is undef, as that of all
 * shared memory, and each use of its address, through getelementptr, casts, phis and selects,
 * accesses memory or compares. So an address that is loaded, passed or returned is in no tracked
 * variable. A field is what a store of a constant accesses: variable, offset and size. Another
 * store that overlaps it in another way, to an offset that is not constant, or atomic, stores
 * anything.
 *
 * Limits: MAX_SHARED_FIELDS fields; phis of addresses in two variables; chains of addresses or
 * calls that take more than MAX_ROUNDS visits of a function. */
#include "opt/interprocedural/shared_fields.h"

#include <string.h>

#include "ir/intrinsic.h"

enum { MAX_ROUNDS = 16, MAX_CHAIN = 64 /* constant expressions of an address */ };

/* --- addresses -------------------------------------------------------------------------------- */

static bool is_candidate(const struct nvm_module *m, const struct nvm_global *g) {
  bool undefined = !value_is_none(g->initializer) && const_is_undef_or_poison(m, g->initializer);
  return g->address_space == 3 && undefined && symbol_is_local(&g->symbol) && !g->is_alias &&
         !g->is_ifunc && !g->symbol.declared_only && !g->is_constant;
}

static bool follows(enum op op) {
  return op == OP_GEP || op == OP_ADDRSPACECAST || op == OP_BITCAST;
}

/* The tracked variable that a constant points to. */
static struct nvm_value root_of_constant(struct shared_fields *s, struct nvm_value v) {
  for (int n = 0; value_kind(v) == VALUE_CONST; n++) {
    const struct constant_info *c = constant_info(&s->m->constants, v);
    if (c->kind != CONST_EXPR || !follows((enum op)c->op)) return VALUE_NULL;
    s->failed |= n == MAX_CHAIN;
    if (n == MAX_CHAIN) return VALUE_NULL;
    v = const_operand(s->m, v, 0);
  }
  return value_kind(v) == VALUE_GLOBAL && s->tracked[value_index(v)] ? v : VALUE_NULL;
}

static struct nvm_value root_of(struct shared_fields *s, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? s->root[value_index(v)] : root_of_constant(s, v);
}

static void drop(struct shared_fields *s, struct nvm_value root) {
  if (value_kind(root) == VALUE_GLOBAL) s->tracked[value_index(root)] = false;
}

/* Joins the root of i with that of one of its operands. Whether it changed. */
static bool join_root(struct shared_fields *s, struct nvm_inst_id i, struct nvm_value operand) {
  struct nvm_value *root = &s->root[i.index], from = root_of(s, operand);
  if (value_is_none(from) || value_equal(from, *root)) return false;
  if (value_is_none(*root)) {
    *root = from;
    return true;
  }
  drop(s, from);
  drop(s, *root);
  return false;
}

static bool visit_address(struct shared_fields *s, const struct nvm_function *f,
                          struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  bool changed = false;
  if (follows((enum op)i->op)) return join_root(s, id, inst_operand(f, i, 0));
  if (i->op == OP_SELECT) {
    changed = join_root(s, id, inst_operand(f, i, 1));
    changed |= join_root(s, id, inst_operand(f, i, 2));
  }
  for (uint32_t k = 0; i->op == OP_PHI && k < i->operand_count; k += 2)
    changed |= join_root(s, id, inst_operand(f, i, k));
  return changed;
}

/* Finds the variables that f's instructions point to. */
static void find_roots(struct shared_fields *s, const struct nvm_function *f) {
  memset(s->root, 0, f->insts.count * sizeof *s->root);
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    changed = false;
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i)
        if (type_is_ptr_or_vector(&s->m->types, function_inst(f, i)->type))
          changed |= visit_address(s, f, i);
  }
  s->failed |= changed;
}

/* --- places ----------------------------------------------------------------------------------- */

struct place {
  uint32_t variable; /* 0: in no tracked one */
  int64_t offset;
  bool exact;   /* the offset is known */
  bool certain; /* it is in the variable in any case */
};

/* The offset that all operands of a phi or select in variable `root` have there; false if they
 * differ. */
static bool offset_of_join(struct shared_fields *s, const struct nvm_function *f,
                           const struct nvm_inst *i, struct nvm_value root, int64_t *offset) {
  bool found = false;
  for (uint32_t k = i->op == OP_SELECT; k < i->operand_count; k += i->op == OP_PHI ? 2 : 1) {
    struct nvm_value v = inst_operand(f, i, k);
    if (value_is_none(root_of(s, v))) continue;
    struct alias_address a = alias_decompose(f, v);
    if (!value_equal(a.base, root) || a.term_count || (found && a.offset != *offset)) return false;
    *offset = a.offset;
    found = true;
  }
  return found;
}

static struct place place_of(struct shared_fields *s, const struct nvm_function *f,
                             struct nvm_value pointer) {
  struct nvm_value root = root_of(s, pointer);
  if (value_is_none(root)) return (struct place){0};
  struct alias_address a = alias_decompose(f, pointer);
  struct place p = {value_index(root), a.offset, a.term_count == 0, true};
  if (value_equal(a.base, root)) return p;
  const struct nvm_inst *i = value_inst(f, a.base);
  int64_t offset = 0;
  p.certain = false;
  p.exact = p.exact && i && (i->op == OP_PHI || i->op == OP_SELECT) &&
            offset_of_join(s, f, i, root, &offset);
  p.offset += offset;
  return p;
}

/* The fields that an access of `bytes` bytes at p may touch. */
static uint64_t touched(const struct shared_fields *s, struct place p, uint64_t bytes) {
  uint64_t set = 0;
  for (uint32_t k = 0; k < s->count; k++) {
    const struct shared_field *d = &s->fields[k];
    bool apart =
        p.exact && bytes != ALIAS_ANY_BYTES &&
        (p.offset >= d->offset + (int64_t)d->bytes || d->offset >= p.offset + (int64_t)bytes);
    if (d->variable == p.variable && !apart) set |= UINT64_C(1) << k;
  }
  return p.variable ? set : 0;
}

/* The field at p; s->count: none. */
static uint32_t field_at(const struct shared_fields *s, struct place p, uint64_t bytes) {
  uint32_t k = 0;
  while (k < s->count && !(p.exact && s->fields[k].variable == p.variable &&
                           s->fields[k].offset == p.offset && s->fields[k].bytes == bytes))
    k++;
  return k;
}

uint32_t shared_fields_at(const struct shared_fields *s, const struct alias_address *a,
                          uint64_t bytes) {
  if (value_kind(a->base) != VALUE_GLOBAL) return s->count;
  struct place p = {value_index(a->base), a->offset, a->term_count == 0, true};
  return field_at(s, p, bytes);
}

static uint64_t accessed_bytes(const struct nvm_function *f, const struct nvm_inst *i) {
  return layout_store_size(&f->module->layout, &f->module->types, effects_accessed_type(f, i));
}

/* --- effects ---------------------------------------------------------------------------------- */

static bool says_aligned(const struct nvm_module *m, const struct nvm_attr *a) {
  static const char word[] = "ompx_aligned_barrier";
  struct nvm_text t = a ? module_text(m, a->str2) : (struct nvm_text){0};
  for (size_t k = 0; k + sizeof word - 1 <= t.length; k++)
    if (memcmp(t.bytes + k, word, sizeof word - 1) == 0) return true;
  return false;
}

/* The key of the attribute for assumptions about calls; {0}: the module has none. */
static struct nvm_str assumption_key(const struct nvm_module *m) {
  return strtab_find(&m->strings, "llvm.assume", 11);
}

bool shared_fields_wanted(const struct nvm_module *m) {
  struct nvm_str key = assumption_key(m);
  const struct attr_table_data *t = &m->attributes;
  for (uint32_t k = 0; key.index && k < t->attrs.count; k++)
    if (t->attrs.data[k].payload == ATTR_STRING && t->attrs.data[k].str.index == key.index &&
        says_aligned(m, &t->attrs.data[k]))
      return true;
  return false;
}

/* Whether the call is marked as a barrier that all threads of the block execute together. A barrier
 * without the mark may be one of several that the warps of a block execute. */
static bool is_barrier(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_module *m = f->module;
  const struct nvm_function *g = call_function(f, i);
  struct nvm_attrset set = attrlist_info(&m->attributes, call_site_of(f, i)->attributes)->function;
  return says_aligned(m, attrset_find_string(&m->attributes, set, assumption_key(m))) ||
         (g && says_aligned(m, function_string_attribute(g, "llvm.assume")));
}

/* Whether i calls malloc, free or the like. A block that another thread has freed may be allocated
 * again, but a program that relies on the order of these two calls would have to compare addresses
 * of different objects. */
static bool only_allocates(const struct nvm_function *f, const struct nvm_inst *i,
                           struct call_effect e) {
  const struct nvm_function *g = call_function(f, i);
  bool allocates =
      (g && function_attribute(g, ATTR_ALLOCKIND)) || call_attribute(f, i, ATTR_ALLOCKIND);
  return allocates && !(e.others & EFFECT_WRITES) && g && function_is_declaration(g);
}

/* The number of the definition that i calls, of which the linker keeps the body; 0: unknown. */
static uint32_t known_callee(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  return g && !function_is_declaration(g) && symbol_is_local(&g->symbol)
             ? value_index(call_callee(f, i))
             : 0;
}

static struct shared_effect effect_of_intrinsic(struct shared_fields *s,
                                                const struct nvm_function *f,
                                                const struct nvm_inst *i) {
  switch (call_intrinsic(f, i)) {
    case INTRINSIC_assume: return (struct shared_effect){.action = SHARED_ASSUMES};
    case INTRINSIC_memset:
    case INTRINSIC_memset_inline:
    case INTRINSIC_memcpy:
    case INTRINSIC_memcpy_inline:
    case INTRINSIC_memmove:
      return (struct shared_effect){
          .action = call_copy_is_volatile(f, i) ? SHARED_SYNCS : SHARED_CLOBBERS,
          .fields = touched(s, place_of(s, f, inst_operand(f, i, 0)), ALIAS_ANY_BYTES)};
    default: return (struct shared_effect){.action = SHARED_SYNCS};
  }
}

static struct shared_effect effect_of_call(struct shared_fields *s, const struct nvm_function *f,
                                           const struct nvm_inst *i) {
  struct shared_effect none = {0};
  struct call_effect e = effects_of_call(f, i);
  if (effects_call_is_debug(f, i) || effects_is_lifetime_marker(f, i) || only_allocates(f, i, e))
    return none;
  uint32_t n = known_callee(f, i);
  bool only_waits = n ? s->may_store[n] == 0 : call_intrinsic(f, i) != 0;
  if (only_waits && is_barrier(f, i)) return (struct shared_effect){.action = SHARED_BARRIER};
  bool writes = (e.arguments | e.others | e.inaccessible) & EFFECT_WRITES;
  bool assumes = call_intrinsic(f, i) == INTRINSIC_assume;
  if (!assumes && !writes && !effects_call_is_convergent(f, i)) return none;
  if (call_intrinsic(f, i)) return effect_of_intrinsic(s, f, i);
  if (n)
    return (struct shared_effect){
        .action = SHARED_CALLS, .syncs = s->syncs[n], .fields = s->may_store[n]};
  return (struct shared_effect){
      .action = SHARED_CALLS, .syncs = true, .fields = e.others & EFFECT_WRITES ? UINT64_MAX : 0};
}

static struct shared_effect effect_of_store(struct shared_fields *s, const struct nvm_function *f,
                                            const struct nvm_inst *i) {
  struct place p = place_of(s, f, inst_operand(f, i, 1));
  uint64_t bytes = accessed_bytes(f, i);
  struct shared_effect e = {.action = SHARED_NONE, .fields = touched(s, p, bytes)};
  if (!effects_is_plain_access(i)) {
    e.action = SHARED_SYNCS;
  } else if (e.fields && !effects_stores_nothing(f, i)) {
    e.field = (uint8_t)field_at(s, p, bytes);
    bool only = e.field < s->count && e.fields == UINT64_C(1) << e.field;
    e.action = !only ? SHARED_CLOBBERS : p.certain ? SHARED_STORES : SHARED_MAY_STORE;
  }
  return e;
}

static struct shared_effect effect_of(struct shared_fields *s, const struct nvm_function *f,
                                      const struct nvm_inst *i) {
  struct shared_effect e = {.action = SHARED_SYNCS};
  struct place p;
  switch (i->op) {
    case OP_LOAD:
      if (!effects_is_plain_access(i)) return e;
      p = place_of(s, f, inst_operand(f, i, 0));
      e.field = (uint8_t)field_at(s, p, accessed_bytes(f, i));
      e.action = p.variable && p.certain && e.field < s->count ? SHARED_READS : SHARED_NONE;
      return e;
    case OP_STORE: return effect_of_store(s, f, i);
    case OP_ATOMICRMW: /* monotonic ones order nothing, unless a fence follows */
      if (!effects_is_fence(i) && !memory_access_unpack(i->aux).is_volatile)
        e.action = SHARED_CLOBBERS;
      e.fields = touched(s, place_of(s, f, inst_operand(f, i, 0)), ALIAS_ANY_BYTES);
      return e;
    case OP_CMPXCHG:
      e.fields = touched(s, place_of(s, f, inst_operand(f, i, 0)), ALIAS_ANY_BYTES);
      return e;
    case OP_CALL: return effect_of_call(s, f, i);
    default:
      if (!(op_table[i->op].flags & (OPF_READS | OPF_WRITES))) e.action = SHARED_NONE;
      return e;
  }
}

struct shared_effect *shared_fields_effects(struct shared_fields *s, const struct nvm_function *f) {
  struct shared_effect *e = arena_alloc(s->arena, f->insts.count * sizeof *e);
  if (!e) return NULL;
  find_roots(s, f);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) e[i.index] = effect_of(s, f, function_inst(f, i));
  return e;
}

/* --- the module ------------------------------------------------------------------------------- */

/* Operands of constants, initializers and metadata: their addresses may be used anywhere. */
static void visit_constants(struct shared_fields *s) {
  const struct nvm_module *m = s->m;
  for (uint32_t n = 1; n < m->constants.infos.count; n++) {
    struct nvm_value v = value_make(VALUE_CONST, n);
    const struct constant_info *c = constant_info(&m->constants, v);
    if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) continue;
    for (uint32_t k = c->kind == CONST_EXPR && follows((enum op)c->op); k < c->count; k++)
      drop(s, root_of_constant(s, const_operand(m, v, k)));
  }
  for (uint32_t n = 1; n < m->globals.count; n++) {
    drop(s, root_of_constant(s, m->globals.data[n].initializer));
    drop(s, root_of_constant(s, m->globals.data[n].aliasee));
  }
}

/* Whether i uses its operand k, an address, only to access memory, to compare or to point. */
static bool is_followed(const struct shared_fields *s, const struct nvm_function *f,
                        const struct nvm_inst *i, uint32_t k) {
  switch (i->op) {
    case OP_LOAD:
    case OP_ICMP:
    case OP_PHI:
    case OP_DBG_RECORD: return true;
    case OP_ATOMICRMW:
    case OP_CMPXCHG: return k == 0;
    case OP_STORE: return k == 1;
    case OP_SELECT: return k > 0 && !type_is_vector(&s->m->types, i->type);
    case OP_CALL:
      switch (call_intrinsic(f, i)) {
        case INTRINSIC_memcpy:
        case INTRINSIC_memcpy_inline:
        case INTRINSIC_memmove: return k < 2;
        case INTRINSIC_memset:
        case INTRINSIC_memset_inline: return k == 0;
        default: return effects_call_is_debug(f, i);
      }
    default: return k == 0 && follows((enum op)i->op) && type_is_ptr(&s->m->types, i->type);
  }
}

/* Adds the field of a store of a constant. */
static void add_field(struct shared_fields *s, const struct nvm_function *f,
                      const struct nvm_inst *i) {
  enum value_kind kind = value_kind(inst_operand(f, i, 0));
  if (kind != VALUE_CONST && kind != VALUE_GLOBAL && kind != VALUE_FUNCTION) return;
  struct place p = place_of(s, f, inst_operand(f, i, 1));
  uint64_t bytes = accessed_bytes(f, i);
  if (!p.variable || !p.exact || s->count == MAX_SHARED_FIELDS ||
      field_at(s, p, bytes) < s->count || effects_stores_nothing(f, i))
    return;
  s->fields[s->count++] = (struct shared_field){p.variable, p.offset, bytes, VALUE_NULL};
}

static void find_fields(struct shared_fields *s, const struct nvm_function *f) {
  find_roots(s, f);
  drop(s, root_of_constant(s, f->prefix));
  drop(s, root_of_constant(s, f->prologue));
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        struct nvm_value root = root_of(s, inst_operand(f, i, k));
        if (!value_is_none(root) && !is_followed(s, f, i, k)) drop(s, root);
      }
      if (i->op == OP_STORE) add_field(s, f, i);
    }
}

/* Meets what f stores, and notes the fields that it may store to, without its callees. */
static void note_effects(struct shared_fields *s, uint32_t n) {
  const struct nvm_function *f = s->m->functions.data[n];
  find_roots(s, f);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      struct shared_effect e = effect_of(s, f, i);
      bool stores = e.action == SHARED_STORES || e.action == SHARED_MAY_STORE;
      bool clobbers = e.action == SHARED_CLOBBERS || e.action == SHARED_SYNCS;
      s->syncs[n] |= e.action == SHARED_SYNCS || e.action == SHARED_BARRIER || e.syncs;
      if (e.action != SHARED_NONE && e.action != SHARED_READS) s->may_store[n] |= e.fields;
      for (uint32_t k = 0; k < s->count && (stores || clobbers); k++) {
        struct nvm_value v = stores ? inst_operand(f, i, 0) : FIELD_VARIES;
        enum value_kind kind = value_kind(v);
        if (kind != VALUE_CONST && kind != VALUE_GLOBAL && kind != VALUE_FUNCTION) v = FIELD_VARIES;
        if (e.fields >> k & 1) s->fields[k].stored = field_meet(s->fields[k].stored, v);
      }
    }
}

struct call_edge {
  uint32_t caller, callee;
};

/* Adds the effects of callees. */
static bool close_effects(struct shared_fields *s) {
  const struct nvm_module *m = s->m;
  VEC(struct call_edge) edges = {0};
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    if (function_is_declaration(f)) continue;
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, id) {
        const struct nvm_inst *i = function_inst(f, id);
        uint32_t callee = i->op == OP_CALL ? known_callee(f, i) : 0;
        if (callee && !VEC_PUSH(s->arena, &edges, ((struct call_edge){n, callee}))) return false;
      }
  }
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    changed = false;
    for (uint32_t k = 0; k < edges.count; k++) {
      uint32_t n = edges.data[k].caller, callee = edges.data[k].callee;
      uint64_t fields = s->may_store[n] | s->may_store[callee];
      bool syncs = s->syncs[n] || s->syncs[callee];
      changed |= fields != s->may_store[n] || syncs != s->syncs[n];
      s->may_store[n] = fields;
      s->syncs[n] = syncs;
    }
  }
  s->failed |= changed;
  return true;
}

static bool allocate(struct shared_fields *s) {
  const struct nvm_module *m = s->m;
  uint32_t most = 1;
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (m->functions.data[n]->insts.count > most) most = m->functions.data[n]->insts.count;
  s->tracked = arena_alloc(s->arena, m->globals.count * sizeof *s->tracked);
  s->root = arena_alloc(s->arena, most * sizeof *s->root);
  s->may_store = arena_alloc(s->arena, m->functions.count * sizeof *s->may_store);
  s->syncs = arena_alloc(s->arena, m->functions.count * sizeof *s->syncs);
  return s->tracked && s->root && s->may_store && s->syncs;
}

/* Removes the fields of variables whose address escaped after they were found. */
static void keep_tracked_fields(struct shared_fields *s) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < s->count; k++)
    if (s->tracked[s->fields[k].variable]) s->fields[kept++] = s->fields[k];
  s->count = kept;
}

bool shared_fields_find(struct shared_fields *s, struct nvm_module *m, struct arena *arena) {
  *s = (struct shared_fields){.m = m, .arena = arena};
  bool any = false;
  if (!allocate(s)) return false;
  for (uint32_t n = 1; n < m->globals.count; n++)
    any |= s->tracked[n] = is_candidate(m, &m->globals.data[n]);
  if (!any) return true;
  visit_constants(s);
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!function_is_declaration(m->functions.data[n])) find_fields(s, m->functions.data[n]);
  keep_tracked_fields(s);
  for (uint32_t n = 1; n < m->functions.count && s->count; n++)
    if (!function_is_declaration(m->functions.data[n])) note_effects(s, n);
  if (s->count && !close_effects(s)) return false;
  if (s->failed) s->count = 0;
  return true;
}
