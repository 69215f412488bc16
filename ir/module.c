/* Modules: symbols by name, call sites, attachments; keywords of symbols. */
#include "ir/function.h"

#include "ir/intern.h"

const char *const linkage_names[LINK_COUNT] = {
    [LINK_EXTERNAL] = "",
    [LINK_PRIVATE] = "private",
    [LINK_INTERNAL] = "internal",
    [LINK_AVAILABLE_EXTERNALLY] = "available_externally",
    [LINK_LINKONCE] = "linkonce",
    [LINK_LINKONCE_ODR] = "linkonce_odr",
    [LINK_WEAK] = "weak",
    [LINK_WEAK_ODR] = "weak_odr",
    [LINK_COMMON] = "common",
    [LINK_APPENDING] = "appending",
    [LINK_EXTERN_WEAK] = "extern_weak",
};
const char *const visibility_names[VIS_COUNT] = {
    [VIS_DEFAULT] = "", [VIS_HIDDEN] = "hidden", [VIS_PROTECTED] = "protected"};
const char *const preemption_names[PREEMPT_COUNT] = {
    [PREEMPT_NONE] = "", [PREEMPT_LOCAL] = "dso_local", [PREEMPT_PREEMPTABLE] = "dso_preemptable"};
const char *const dll_storage_names[DLL_COUNT] = {
    [DLL_NONE] = "", [DLL_IMPORT] = "dllimport", [DLL_EXPORT] = "dllexport"};
const char *const unnamed_addr_names[UNNAMED_COUNT] = {
    [UNNAMED_NONE] = "", [UNNAMED_LOCAL] = "local_unnamed_addr", [UNNAMED_GLOBAL] = "unnamed_addr"};
const char *const thread_local_names[TLS_COUNT] = {
    [TLS_NONE] = "",
    [TLS_GENERAL] = "thread_local",
    [TLS_LOCALDYNAMIC] = "thread_local(localdynamic)",
    [TLS_INITIALEXEC] = "thread_local(initialexec)",
    [TLS_LOCALEXEC] = "thread_local(localexec)",
};

const char *calling_convention_name(uint32_t cc) {
  switch (cc) {
    case CC_C: return "ccc";
    case CC_FAST: return "fastcc";
    case CC_COLD: return "coldcc";
    case CC_PTX_KERNEL: return "ptx_kernel";
    case CC_PTX_DEVICE: return "ptx_device";
    case CC_SPIR_FUNC: return "spir_func";
    case CC_SPIR_KERNEL: return "spir_kernel";
    default: return NULL;
  }
}

/* Symbols are found through symbol_order: slot → place + 1 → value → record → name. Places of
 * removed symbols are empty and match no name. */
static bool symbol_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct nvm_module *m = table;
  struct nvm_value v = m->symbol_order.data[k - 1];
  if (value_is_none(v)) return false;
  uint32_t name = module_symbol(m, v)->name.index;
  *hash = hash_mix(0, name);
  return name != 0;
}

/* The position of a name in symbol_order, from 1; 0: unknown. */
static uint32_t symbol_place(const struct nvm_module *m, struct nvm_str name) {
  uint32_t mask = m->symbol_slot_count - 1;
  if (name.index == 0) return 0;
  for (uint32_t i = hash_mix(0, name.index) & mask; m->symbol_slots[i]; i = (i + 1) & mask) {
    struct nvm_value v = m->symbol_order.data[m->symbol_slots[i] - 1];
    if (!value_is_none(v) && module_symbol(m, v)->name.index == name.index)
      return m->symbol_slots[i];
  }
  return 0;
}

/* Hashes tags, counts and fields by content: equal bundles are one record. */
static uint32_t call_site_hash(const struct nvm_module *m, const struct call_site *s) {
  uint64_t type_and_attributes = (uint64_t)s->function_type.index << 32 | s->attributes.index;
  uint32_t h = hash_mix(s->convention, type_and_attributes);
  for (uint32_t i = 0; i < s->bundle_count; i++) {
    const struct operand_bundle *b = &m->bundles.data[s->first_bundle + i];
    h = hash_mix(h, (uint64_t)b->tag.index << 32 | b->count);
  }
  return hash_mix(h, s->bundle_count);
}

static bool call_site_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct nvm_module *m = table;
  *hash = call_site_hash(m, &m->call_sites.data[k]);
  return true;
}

static bool call_site_equal(const struct nvm_module *m, const struct call_site *a,
                            const struct call_site *b) {
  if (!type_equal(a->function_type, b->function_type) ||
      a->attributes.index != b->attributes.index || a->convention != b->convention ||
      a->bundle_count != b->bundle_count)
    return false;
  for (uint32_t i = 0; i < a->bundle_count; i++) {
    const struct operand_bundle *p = &m->bundles.data[a->first_bundle + i];
    const struct operand_bundle *q = &m->bundles.data[b->first_bundle + i];
    if (p->tag.index != q->tag.index || p->count != q->count) return false;
  }
  return true;
}

static bool module_init_symbols(struct nvm_module *m) {
  struct nvm_global global = {.is_alias = false};
  struct attachment attachment = {.next = 0};
  struct call_site site = {.convention = 0};
  struct nvm_str system = {0};
  return VEC_PUSH(&m->arena, &m->globals, global) && VEC_PUSH(&m->arena, &m->functions, NULL) &&
         VEC_PUSH(&m->arena, &m->attachments, attachment) &&
         VEC_PUSH(&m->arena, &m->call_sites, site) &&
         VEC_PUSH(&m->arena, &m->sync_scopes, system) &&
         intern_room(&m->arena, &m->symbol_slots, &m->symbol_slot_count, 1, 1, symbol_hash_record,
                     m) &&
         intern_room(&m->arena, &m->call_site_slots, &m->call_site_slot_count, 1, 1,
                     call_site_hash_record, m);
}

/* A function record. Index 0 of all its tables is one zeroed piece of memory, so the null handle is
 * valid in an empty function (see function.c). */
static struct nvm_function *function_new(struct nvm_module *m) {
  enum { DUMMY_BYTES = 64 };
  _Static_assert(sizeof(struct nvm_block_info) <= DUMMY_BYTES, "a dummy holds any record");
  struct nvm_function *f = arena_alloc(&m->arena, sizeof *f);
  if (!f) return NULL;
  if (!m->functions.data[0]) {
    m->functions.data[0] = f;
    f->insts.data = arena_alloc(&m->arena, DUMMY_BYTES);
    if (!f->insts.data) return NULL;
  }
  f->module = m;
  function_clear(f);
  return f;
}

static bool module_init(struct nvm_module *m) {
  m->layout = nvm_layout_default;
  if (!strtab_init(&m->strings, &m->arena) || !type_table_init(&m->types, &m->arena, &m->strings) ||
      !constant_table_init(&m->constants, &m->arena) || !meta_table_init(&m->metadata, &m->arena) ||
      !attr_table_init(&m->attributes, &m->arena) || !module_init_symbols(m))
    return false;
  m->functions.data[0] = function_new(m);
  return m->functions.data[0] != NULL;
}

struct nvm_module *module_create(struct nvm_allocator allocator, size_t limit_bytes) {
  struct arena arena;
  arena_init(&arena, allocator);
  arena.limit_bytes = limit_bytes;
  struct nvm_module *m = arena_alloc(&arena, sizeof *m);
  if (!m) {
    arena_free(&arena);
    return NULL;
  }
  m->arena = arena;
  if (module_init(m)) return m;
  module_destroy(m);
  return NULL;
}

void module_destroy(struct nvm_module *m) {
  if (!m) return;
  struct arena arena = m->arena; /* a copy: the module itself is in the arena */
  arena_free(&arena);
}

/* Appends a new symbol to the order and enters its name. */
static bool symbol_enter(struct nvm_module *m, struct nvm_value v, struct nvm_str name) {
  uint32_t place = m->symbol_order.count + 1;
  if (!intern_room(&m->arena, &m->symbol_slots, &m->symbol_slot_count, 1, place, symbol_hash_record,
                   m) ||
      !VEC_PUSH(&m->arena, &m->symbol_order, v))
    return false;
  module_symbol(m, v)->name = name;
  if (name.index)
    intern_enter(m->symbol_slots, m->symbol_slot_count, hash_mix(0, name.index), place);
  return true;
}

struct nvm_value module_add_global(struct nvm_module *m, struct nvm_str name) {
  struct nvm_global g = {.is_alias = false};
  struct nvm_value v = value_make(VALUE_GLOBAL, m->globals.count);
  if (!VEC_PUSH(&m->arena, &m->globals, g)) return VALUE_NULL;
  return symbol_enter(m, v, name) ? v : VALUE_NULL;
}

struct nvm_value module_add_function(struct nvm_module *m, struct nvm_str name) {
  struct nvm_value v = value_make(VALUE_FUNCTION, m->functions.count);
  struct nvm_function *f = function_new(m);
  if (!f || !VEC_PUSH(&m->arena, &m->functions, f)) return VALUE_NULL;
  return symbol_enter(m, v, name) ? v : VALUE_NULL;
}

struct nvm_value module_find_symbol(const struct nvm_module *m, struct nvm_str name) {
  uint32_t place = symbol_place(m, name);
  return place ? m->symbol_order.data[place - 1] : VALUE_NULL;
}

void module_remove_symbol(struct nvm_module *m, struct nvm_value symbol) {
  uint32_t place = symbol_place(m, module_symbol(m, symbol)->name);
  if (place == 0) { /* numbered */
    place = m->symbol_order.count;
    while (place > 0 && !value_equal(m->symbol_order.data[place - 1], symbol)) place--;
  }
  if (place && value_equal(m->symbol_order.data[place - 1], symbol))
    m->symbol_order.data[place - 1] = VALUE_NULL;
}

bool module_rename_symbol(struct nvm_module *m, struct nvm_value symbol, struct nvm_str name) {
  module_remove_symbol(m, symbol);
  return symbol_enter(m, symbol, name);
}

struct symbol *module_symbol(const struct nvm_module *m, struct nvm_value v) {
  return value_kind(v) == VALUE_FUNCTION ? &module_function(m, v)->symbol
                                         : &module_global(m, v)->symbol;
}

bool module_must_keep(const struct nvm_module *m, struct nvm_value v) {
  const struct symbol *y = module_symbol(m, v);
  if (y->declared_only) return false;
  if (value_kind(v) == VALUE_FUNCTION && function_is_kernel(module_function(m, v))) return true;
  switch ((enum linkage)y->linkage) {
    case LINK_PRIVATE:
    case LINK_INTERNAL:
    case LINK_LINKONCE:
    case LINK_LINKONCE_ODR:
    case LINK_AVAILABLE_EXTERNALLY: return false;
    case LINK_EXTERNAL:
    case LINK_WEAK:
    case LINK_WEAK_ODR:
    case LINK_COMMON:
    case LINK_APPENDING:
    case LINK_EXTERN_WEAK:
    case LINK_COUNT: break;
  }
  return true;
}

uint32_t module_call_site(struct nvm_module *m, struct call_site s) {
  uint32_t hash = call_site_hash(m, &s), mask = m->call_site_slot_count - 1;
  for (uint32_t i = hash & mask; m->call_site_slots[i]; i = (i + 1) & mask)
    if (call_site_equal(m, &m->call_sites.data[m->call_site_slots[i]], &s))
      return m->call_site_slots[i];
  uint32_t k = m->call_sites.count;
  if (!intern_room(&m->arena, &m->call_site_slots, &m->call_site_slot_count, 1, k,
                   call_site_hash_record, m) ||
      !VEC_PUSH(&m->arena, &m->call_sites, s))
    return 0;
  intern_enter(m->call_site_slots, m->call_site_slot_count, hash, k);
  return k;
}

bool module_attach(struct nvm_module *m, uint32_t *chain, struct nvm_str kind,
                   struct nvm_meta node) {
  struct attachment a = {.kind = kind, .node = node};
  uint32_t shared = m->attachments.data[*chain].last ? 0 : *chain;
  if (shared) *chain = 0;
  for (; shared; shared = m->attachments.data[shared].next) {
    struct attachment old = m->attachments.data[shared];
    if (!module_attach(m, chain, old.kind, old.node)) return false;
  }
  uint32_t k = m->attachments.count;
  if (!VEC_PUSH(&m->arena, &m->attachments, a)) return false;
  if (*chain == 0) *chain = k;
  else m->attachments.data[m->attachments.data[*chain].last].next = k;
  m->attachments.data[*chain].last = k;
  return true;
}

uint32_t module_share_attachments(struct nvm_module *m, uint32_t chain) {
  m->attachments.data[chain].last = 0;
  return chain;
}

struct nvm_meta module_attachment(const struct nvm_module *m, uint32_t chain, struct nvm_str kind) {
  for (uint32_t k = chain; k; k = m->attachments.data[k].next)
    if (m->attachments.data[k].kind.index == kind.index) return m->attachments.data[k].node;
  return (struct nvm_meta){0};
}

uint32_t module_sync_scope(struct nvm_module *m, struct nvm_str name) {
  for (uint32_t i = 0; i < m->sync_scopes.count; i++)
    if (m->sync_scopes.data[i].index == name.index) return i;
  if (m->sync_scopes.count > MODULE_MAX_SYNC_SCOPE) return UINT32_MAX;
  return VEC_PUSH(&m->arena, &m->sync_scopes, name) ? m->sync_scopes.count - 1 : 0;
}

/* Pointer types of high address spaces are interned on demand, which modifies the const module. */
static struct nvm_type pointer_to(const struct nvm_module *m, uint32_t address_space) {
  return type_ptr((struct type_table *)&m->types, address_space);
}

struct nvm_type module_value_type(const struct nvm_module *m, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_CONST: return constant_info(&m->constants, v)->type;
    case VALUE_GLOBAL: return pointer_to(m, module_global(m, v)->address_space);
    case VALUE_FUNCTION: return pointer_to(m, module_function(m, v)->address_space);
    case VALUE_BLOCK: return TYPE_LABEL;
    case VALUE_NONE:
    case VALUE_INST:
    case VALUE_ARG:
    case VALUE_FORWARD: break;
  }
  return TYPE_NONE;
}

void module_make_address_types(struct nvm_module *m) {
  for (uint32_t i = 1; i < m->globals.count; i++)
    (void)pointer_to(m, m->globals.data[i].address_space);
  for (uint32_t i = 1; i < m->functions.count; i++)
    (void)pointer_to(m, m->functions.data[i]->address_space);
}

bool function_flushes_f32(const struct nvm_function *f) {
  const struct nvm_module *m = f->module;
  const struct nvm_attr *all = function_attribute(f, ATTR_DENORMAL_FPENV);
  if (all) { /* (ieee, float: preservesign): the part for all formats, and for this one */
    const char *text = module_text(m, all->str2).bytes, *own = strstr(text, "float:");
    if (own) text = own + 6 + strspn(own + 6, " ");
    return strncmp(text, "preservesign", 12) == 0;
  }
  const struct nvm_attr *mode = function_string_attribute(f, "denormal-fp-math-f32");
  if (mode) return strncmp(module_text(m, mode->str2).bytes, "preserve-sign", 13) == 0;
  const struct nvm_attr *old = function_string_attribute(f, "nvptx-f32ftz");
  return old && strcmp(module_text(m, old->str2).bytes, "true") == 0;
}

bool meta_is_int(const struct nvm_module *m, struct nvm_meta meta, nvm_u128 *value) {
  const struct meta_item *item = meta_item(&m->metadata, meta);
  return item->kind == META_VALUE && value_kind(item->value) == VALUE_CONST &&
         const_is_int(m, item->value, value);
}
