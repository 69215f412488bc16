/* Linking; see link.h.
 *
 * First everything that can be refused is looked at, so that a refused link changes nothing. Then
 * the symbols to begin with are asked for (link_symbol): that makes a record for each in `into`, or
 * takes the one that is there, and notes the definition. Definitions are copied from that list
 * until it is empty; what they refer to is asked for in turn. So a library of which little is
 * needed costs little.
 *
 * Which of two definitions of a name counts (LLVM's rules, strongest first): an external one;
 * weak; linkonce; common (the larger of two); available_externally; a declaration. Two external
 * ones are an error. Of two equally strong ones the first, that of `into`, stays. Lists of
 * appending linkage (@llvm.used) are joined.
 *
 * Omits: comdats other than by the linkage of their members; merging of equal metadata nodes but
 * in !llvm.ident and !nvvmir.version; a function that the other module has as a variable or
 * alias, which is refused. */
#include "frontend/link.h"

#include "frontend/link_map.h"
#include "ir/intrinsic.h"
#include "ir/module_flags.h"
#include "target/datalayout.h"

/* --- names ------------------------------------------------------------------------------------ */

static bool is_local(const struct symbol *s) {
  return s->linkage == LINK_PRIVATE || s->linkage == LINK_INTERNAL || s->name.index == 0;
}

static bool is_intrinsic_name(struct nvm_text name) { return text_begins(name, "llvm."); }

/* The symbol of `m` with this name, or none. */
static struct nvm_value find_by_text(const struct nvm_module *m, struct nvm_text name) {
  struct nvm_str s = strtab_find(&m->strings, name.bytes, name.length);
  return s.index ? module_find_symbol(m, s) : VALUE_NULL;
}

/* The non-local symbol of `into` with the name of a non-local symbol of `from`. */
static struct nvm_value met_symbol(const struct linker *l, const struct symbol *s) {
  if (is_local(s)) return VALUE_NULL;
  struct nvm_value v = find_by_text(l->into, module_text(l->from, s->name));
  return !value_is_none(v) && is_local(module_symbol(l->into, v)) ? VALUE_NULL : v;
}

static bool type_name_known(const struct nvm_module *m, struct nvm_text name) {
  struct nvm_str s = strtab_find(&m->strings, name.bytes, name.length);
  for (uint32_t i = 0; s.index && i < m->types.named.count; i++)
    if (type_info(&m->types, m->types.named.data[i])->name.index == s.index) return true;
  return false;
}

struct nvm_str link_free_name(struct linker *l, struct nvm_str name, bool type) {
  struct nvm_text base = module_text(l->from, name);
  for (;;) {
    struct textbuf b;
    textbuf_init(&b, &l->scratch);
    textbuf_format(&b, "%t.%u", base, ++l->renamed);
    if (l->scratch.failed) return (struct nvm_str){0};
    struct nvm_text text = {b.bytes, b.length};
    bool taken = type ? type_name_known(l->into, text) || type_name_known(l->from, text)
                      : !value_is_none(find_by_text(l->into, text)) ||
                            !value_is_none(find_by_text(l->from, text));
    if (!taken) return strtab_intern(&l->into->strings, b.bytes, b.length);
  }
}

/* --- which definition counts ------------------------------------------------------------------ */

/* The strength of a symbol's definition. */
static int strength(const struct symbol *s) {
  if (s->declared_only) return 0;
  switch ((enum linkage)s->linkage) {
    case LINK_EXTERN_WEAK: return 0;
    case LINK_AVAILABLE_EXTERNALLY: return 1;
    case LINK_COMMON: return 2;
    case LINK_LINKONCE:
    case LINK_LINKONCE_ODR: return 3;
    case LINK_WEAK:
    case LINK_WEAK_ODR: return 4;
    case LINK_EXTERNAL:
    case LINK_PRIVATE:
    case LINK_INTERNAL:
    case LINK_APPENDING: return 5;
    case LINK_COUNT: break;
  }
  return 0;
}

/* Whether `theirs` of `from` replaces `ours` of `into`. */
static bool takes_place(const struct linker *l, struct nvm_value ours, struct nvm_value theirs) {
  const struct symbol *a = module_symbol(l->into, ours), *b = module_symbol(l->from, theirs);
  if (l->only_needed && !a->declared_only) return false;
  if (a->linkage == LINK_COMMON && b->linkage == LINK_COMMON && !b->declared_only) {
    uint64_t size_a = layout_alloc_size(&l->into->layout, &l->into->types,
                                        module_global(l->into, ours)->value_type);
    uint64_t size_b = layout_alloc_size(&l->from->layout, &l->from->types,
                                        module_global(l->from, theirs)->value_type);
    return size_b > size_a;
  }
  return strength(b) > strength(a);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refuse(struct linker *l, enum diag_id id, struct diag_range where, struct nvm_text a,
                   struct nvm_text b) {
  struct nvm_text arguments[2] = {a, b};
  where.source = LINK_SOURCE_FROM;
  diag_report(l->sink, id, where, arguments, 2);
}

static void refuse_redefined(struct linker *l, const struct symbol *ours,
                             const struct symbol *theirs) {
  struct nvm_text name = module_text(l->from, theirs->name);
  refuse(l, DIAG_LINK_REDEFINED, theirs->where, name, (struct nvm_text){0});
  struct diag_range first = ours->where;
  first.source = 0;
  if (first.end) diag_report(l->sink, DIAG_FIRST_HERE, first, &name, 1);
}

static struct nvm_type appended_element(const struct nvm_module *m, struct nvm_value v) {
  return type_info(&m->types, module_global(m, v)->value_type)->element;
}

static void check_symbol(struct linker *l, struct nvm_value theirs) {
  const struct symbol *s = module_symbol(l->from, theirs);
  struct nvm_value ours = met_symbol(l, s);
  if (value_is_none(ours)) return;
  const struct symbol *o = module_symbol(l->into, ours);
  struct nvm_text name = module_text(l->from, s->name);
  if (l->only_needed && (!o->declared_only || strength(s) == 0)) return;
  if (value_kind(ours) != value_kind(theirs)) {
    refuse(l, DIAG_LINK_KIND, s->where, name, (struct nvm_text){0});
    return;
  }
  bool appended = s->linkage == LINK_APPENDING && !s->declared_only && !o->declared_only;
  if (appended && o->linkage == LINK_APPENDING) {
    struct textbuf a, b;
    textbuf_init(&a, &l->scratch);
    textbuf_init(&b, &l->scratch);
    type_print(&l->into->types, appended_element(l->into, ours), &a);
    type_print(&l->from->types, appended_element(l->from, theirs), &b);
    if (a.length != b.length || (a.length && memcmp(a.bytes, b.bytes, a.length) != 0))
      refuse(l, DIAG_LINK_APPENDING, s->where, name, (struct nvm_text){0});
  } else if (strength(s) == 5 && strength(o) == 5) {
    refuse_redefined(l, o, s);
  }
}

static void check_layout(struct linker *l) {
  if (!l->into->has_layout || !l->from->has_layout) return;
  struct nvm_text a = module_text(l->into, l->into->layout_text);
  struct nvm_text b = module_text(l->from, l->from->layout_text);
  char why[256];
  if (datalayout_compatible(a.bytes, a.length, b.bytes, b.length, why, sizeof why)) return;
  refuse(l, DIAG_LINK_LAYOUT, (struct diag_range){LINK_SOURCE_FROM, 0, 0}, text_of(why),
         (struct nvm_text){0});
}

/* --- module flags: !llvm.module.flags = !{!{i32 behaviour, !"key", value}, …} ----------------- */

static void check_flags(struct linker *l) {
  const struct named_metadata *flags = module_named_metadata(l->from, "llvm.module.flags");
  for (uint32_t i = 0; !l->only_needed && flags && i < flags->count; i++) {
    struct module_flag a, b;
    uint32_t at;
    if (!module_flag_read(l->from, l->from->metadata.operands.data[flags->first + i], &b) ||
        !module_flag_find(l->into, b.key, &a, &at))
      continue;
    bool both_numbers = a.is_number && b.is_number;
    bool differ = both_numbers && a.value != b.value;
    bool error = a.behaviour == FLAG_ERROR || b.behaviour == FLAG_ERROR;
    bool override = a.behaviour == FLAG_OVERRIDE || b.behaviour == FLAG_OVERRIDE;
    bool both_override = a.behaviour == FLAG_OVERRIDE && b.behaviour == FLAG_OVERRIDE;
    if (differ && ((error && !override) || both_override))
      refuse(l, DIAG_LINK_FLAG, (struct diag_range){LINK_SOURCE_FROM, 0, 0}, b.key,
             (struct nvm_text){0});
  }
}

/* Whether the flag of `from` (b) replaces that of `into` (a). */
static bool flag_wins(const struct module_flag *a, const struct module_flag *b) {
  if (b->behaviour == FLAG_OVERRIDE) return a->behaviour != FLAG_OVERRIDE;
  if (!a->is_number || !b->is_number || a->behaviour == FLAG_OVERRIDE) return false;
  if (b->behaviour == FLAG_MAX) return b->value > a->value;
  if (b->behaviour == FLAG_MIN) return b->value < a->value;
  return false;
}

/* --- named metadata --------------------------------------------------------------------------- */

/* Whether two nodes of `into` are tuples of the same strings and numbers. */
static bool same_tuple(const struct meta_table *t, struct nvm_meta a, struct nvm_meta b) {
  const struct meta_node *n = meta_as_node(t, a), *k = meta_as_node(t, b);
  if (!n || !k || n->name.index || k->name.index || n->count != k->count) return false;
  for (uint32_t i = 0; i < n->count; i++) {
    const struct meta_item *item = meta_item(t, meta_operand(t, n, i));
    if (item->kind == META_NODE || item->kind == META_INLINE) return false;
    if (meta_operand(t, n, i).index != meta_operand(t, k, i).index) return false;
  }
  return true;
}

/* Whether an operand of named metadata of `from` is dropped: an annotation of a symbol that was not
 * copied or, of a library, not referenced. */
static bool is_left_out(struct linker *l, struct nvm_text name, struct nvm_meta operand) {
  const struct meta_table *t = &l->from->metadata;
  const struct meta_node *n = meta_as_node(t, operand);
  if (text_is(name, "nvvm.annotations") && n && n->count) {
    const struct meta_item *symbol = meta_item(t, meta_operand(t, n, 0));
    enum value_kind kind = value_kind(symbol->value);
    bool named = symbol->kind == META_VALUE && (kind == VALUE_FUNCTION || kind == VALUE_GLOBAL);
    return named && value_is_none(link_known_symbol(l, symbol->value));
  }
  const struct meta_item *item = meta_item(t, operand);
  return l->only_needed && (item->kind != META_NODE || l->nodes[item->node] == 0);
}

typedef VEC(struct nvm_meta) meta_list;

static bool list_add(struct linker *l, meta_list *list, struct nvm_meta m, bool once) {
  for (uint32_t k = 0; once && k < list->count; k++)
    if (same_tuple(&l->into->metadata, list->data[k], m)) return true;
  return VEC_PUSH(&l->scratch, list, m);
}

/* Replaces the list by the joined one. */
static void put_named(struct linker *l, struct nvm_text name, const meta_list *list) {
  struct meta_table *t = &l->into->metadata;
  struct nvm_str s = strtab_intern(&l->into->strings, name.bytes, name.length);
  const struct named_metadata *old = meta_find_named(t, s);
  uint32_t place = old ? (uint32_t)(old - t->named.data) : t->named.count;
  if (list->count == 0 && !old) return;
  if (!meta_add_named(t, s, list->data, list->count)) {
    l->failed = true;
    return;
  }
  if (place + 1 == t->named.count) return;
  t->named.data[place] = t->named.data[t->named.count - 1];
  t->named.count--;
}

static bool join_flag(struct linker *l, meta_list *list, struct nvm_meta operand) {
  struct module_flag a, b;
  uint32_t at;
  bool met = module_flag_read(l->from, operand, &b) && module_flag_find(l->into, b.key, &a, &at);
  if (!met) return list_add(l, list, link_meta(l, operand), true);
  if (flag_wins(&a, &b)) list->data[at] = link_meta(l, operand);
  return true;
}

static void link_named(struct linker *l, const struct named_metadata *named) {
  struct nvm_text name = module_text(l->from, named->name);
  bool flags = text_is(name, "llvm.module.flags");
  bool once = text_is(name, "llvm.ident") || text_is(name, "nvvmir.version");
  const struct named_metadata *ours = module_named_metadata(l->into, name.bytes);
  if (l->only_needed && flags) return;
  meta_list list = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && ours && i < ours->count; i++)
    ok = VEC_PUSH(&l->scratch, &list, l->into->metadata.operands.data[ours->first + i]);
  for (uint32_t i = 0; ok && i < named->count; i++) {
    struct nvm_meta operand = l->from->metadata.operands.data[named->first + i];
    if (is_left_out(l, name, operand)) continue;
    struct nvm_meta made = link_meta(l, operand);
    link_open_nodes(l); /* same_tuple() looks into it */
    ok = flags ? join_flag(l, &list, operand) : list_add(l, &list, made, once);
  }
  if (ok) put_named(l, name, &list);
}

/* --- symbols ---------------------------------------------------------------------------------- */

struct nvm_value link_known_symbol(const struct linker *l, struct nvm_value v) {
  return (value_kind(v) == VALUE_FUNCTION ? l->functions : l->globals)[value_index(v)];
}

/* Merges the properties of two symbols of one entity: the stricter one wins. */
static void reconcile(struct symbol *ours, const struct symbol *theirs) {
  if (theirs->visibility == VIS_HIDDEN || ours->visibility == VIS_HIDDEN)
    ours->visibility = VIS_HIDDEN;
  else if (theirs->visibility > ours->visibility) ours->visibility = theirs->visibility;
  if (theirs->unnamed_addr < ours->unnamed_addr) ours->unnamed_addr = theirs->unnamed_addr;
  bool referred = theirs->declared_only && theirs->linkage == LINK_EXTERNAL;
  if (referred && ours->declared_only && ours->linkage == LINK_EXTERN_WEAK)
    ours->linkage = LINK_EXTERNAL;
}

/* Whether two declarations of one intrinsic have one name but different types: a producer wrote an
 * overload suffix that does not fit the type. LLVM gives such a declaration the fitting name. */
static bool is_other_overload(struct linker *l, struct nvm_value ours, struct nvm_value theirs) {
  if (value_kind(ours) != VALUE_FUNCTION || value_kind(theirs) != VALUE_FUNCTION) return false;
  const struct nvm_function *f = module_function(l->into, ours);
  const struct nvm_function *g = module_function(l->from, theirs);
  return f->intrinsic && f->intrinsic == g->intrinsic &&
         !type_equal(f->type, link_type(l, g->type));
}

/* The declaration of `into` for `v`, whose name another overload has; if none, its free name. */
static struct nvm_value find_overload(struct linker *l, struct nvm_value v, struct nvm_str *name) {
  const struct nvm_function *g = module_function(l->from, v);
  struct nvm_value found =
      intrinsic_find_name(l->into, (enum intrinsic_id)g->intrinsic,
                          module_text(l->from, g->symbol.name), link_type(l, g->type), name);
  if (value_is_none(found) && name->index == 0) l->failed = true;
  return found;
}

/* A new symbol of `into` for `v`, with its name if `name` is none; a local symbol of that name is
 * renamed. */
static struct nvm_value add_symbol(struct linker *l, struct nvm_value v, struct nvm_str name) {
  struct nvm_module *m = l->into;
  const struct symbol *s = module_symbol(l->from, v);
  if (name.index == 0) name = link_string(l, s->name);
  struct nvm_value holder = name.index ? module_find_symbol(m, name) : VALUE_NULL;
  if (!value_is_none(holder)) { /* one of them is local and is renamed */
    struct nvm_str other = link_free_name(l, s->name, false);
    if (is_local(s)) name = other;
    else if (!module_rename_symbol(m, holder, other)) l->failed = true;
  }
  struct nvm_value made =
      value_kind(v) == VALUE_FUNCTION ? module_add_function(m, name) : module_add_global(m, name);
  if (value_is_none(made)) l->failed = true;
  return made;
}

/* Copies the properties of a symbol of `from`, except the name, to its record in `into`. */
static void copy_symbol(struct linker *l, struct symbol *to, const struct symbol *from) {
  struct nvm_str name = to->name;
  *to = *from;
  to->name = name;
  to->section = link_string(l, from->section);
  to->partition = link_string(l, from->partition);
  to->where = (struct diag_range){0, 0, 0}; /* not a location in the first source */
  to->comdat = link_comdat(l, from->comdat);
  to->attachments = 0;
  if (!l->only_needed || from->declared_only || is_local(from)) return;
  to->linkage = LINK_INTERNAL;
  to->visibility = VIS_DEFAULT;
  to->preemption = PREEMPT_NONE;
  to->dll_storage = DLL_NONE;
  to->comdat = 0;
}

/* Fills the record of `into`; content, if any, is scheduled on the list of open symbols. */
static void begin_symbol(struct linker *l, struct nvm_value made, struct nvm_value v) {
  copy_symbol(l, module_symbol(l->into, made), module_symbol(l->from, v));
  if (value_kind(v) == VALUE_FUNCTION) {
    struct nvm_function *f = module_function(l->into, made);
    const struct nvm_function *g = module_function(l->from, v);
    f->type = link_type(l, g->type);
    f->convention = g->convention;
    f->address_space = g->address_space;
    f->align_log2 = g->align_log2;
    f->intrinsic = g->intrinsic;
    f->gc = link_string(l, g->gc);
    f->attributes = link_attribute_list(l, g->attributes);
  } else {
    struct nvm_global *to = module_global(l->into, made);
    const struct nvm_global *g = module_global(l->from, v);
    *to = (struct nvm_global){.symbol = to->symbol,
                              .value_type = link_type(l, g->value_type),
                              .address_space = g->address_space,
                              .is_alias = g->is_alias,
                              .is_ifunc = g->is_ifunc,
                              .is_constant = g->is_constant,
                              .externally_initialized = g->externally_initialized,
                              .align_log2 = g->align_log2,
                              .attributes = link_attributes(l, g->attributes)};
  }
  if (!VEC_PUSH(&l->scratch, &l->open_symbols, v)) l->failed = true;
}

static bool is_joined(const struct linker *l, struct nvm_value ours, const struct symbol *s) {
  return s->linkage == LINK_APPENDING && !s->declared_only &&
         module_symbol(l->into, ours)->linkage == LINK_APPENDING;
}

struct nvm_value link_symbol(struct linker *l, struct nvm_value v) {
  struct nvm_value *known =
      &(value_kind(v) == VALUE_FUNCTION ? l->functions : l->globals)[value_index(v)];
  if (!value_is_none(*known) || value_index(v) == 0) return *known;
  const struct symbol *s = module_symbol(l->from, v);
  struct nvm_value ours = met_symbol(l, s);
  struct nvm_str name = {0};
  if (is_other_overload(l, ours, v)) ours = find_overload(l, v, &name);
  bool is_new = value_is_none(ours);
  *known = is_new ? add_symbol(l, v, name) : ours;
  if (value_is_none(*known)) return VALUE_NULL;
  if (is_new) {
    begin_symbol(l, *known, v);
  } else if (is_joined(l, ours, s)) {
    if (!VEC_PUSH(&l->scratch, &l->open_symbols, v)) l->failed = true;
  } else if (value_kind(ours) == value_kind(v) && takes_place(l, ours, v)) {
    struct symbol before = *module_symbol(l->into, ours);
    begin_symbol(l, ours, v);
    if (!l->only_needed) reconcile(module_symbol(l->into, ours), &before);
  } else {
    reconcile(module_symbol(l->into, ours), s);
  }
  return *known;
}

/* --- content ---------------------------------------------------------------------------------- */

/* The attributes common to all definitions of a list, for functions copied from a library. */
static const char *const agreed_keys[] = {
    "denormal-fp-math",        "denormal-fp-math-f32", "nvptx-f32ftz",
    "unsafe-fp-math",          "no-infs-fp-math",      "no-nans-fp-math",
    "no-signed-zeros-fp-math", "approx-func-fp-math",  "target-cpu",
    "target-features",
};

static bool same_value(const struct nvm_attr *a, const struct nvm_attr *b) {
  return a && b && a->has_value == b->has_value && a->str2.index == b->str2.index;
}

static void find_common_attributes(struct linker *l) {
  struct nvm_module *m = l->into;
  for (size_t k = 0; l->only_needed && k < sizeof agreed_keys / sizeof *agreed_keys; k++) {
    const struct nvm_attr *first = NULL;
    bool agree = true, any = false;
    for (uint32_t n = 1; agree && n < m->functions.count; n++) {
      const struct nvm_function *f = m->functions.data[n];
      if (function_is_declaration(f)) continue;
      const struct nvm_attr *a = function_string_attribute(f, agreed_keys[k]);
      agree = any ? same_value(first, a) : a != NULL;
      first = a;
      any = true;
    }
    if (agree && first && !VEC_PUSH(&l->scratch, &l->agreed, *first)) l->failed = true;
  }
}

/* The function's set with its own attributes replaced by the common ones. */
static struct nvm_attrlist with_agreed(struct linker *l, struct nvm_attrlist list) {
  struct attr_table_data *t = &l->into->attributes;
  struct attrlist_info info = *attrlist_info(t, list);
  struct attrset_info set = t->sets.data[info.function.index];
  VEC(struct nvm_attr) attrs = {0};
  bool ok = true;
  for (uint32_t i = 0; i < set.count; i++) {
    struct nvm_attr a = t->attrs.data[set.first + i];
    bool replaced = false;
    for (uint32_t k = 0; k < l->agreed.count; k++)
      replaced |= a.payload == ATTR_STRING && a.str.index == l->agreed.data[k].str.index;
    if (!replaced) ok &= VEC_PUSH(&l->scratch, &attrs, a);
  }
  for (uint32_t k = 0; k < l->agreed.count; k++)
    ok &= VEC_PUSH(&l->scratch, &attrs, l->agreed.data[k]);
  if (!ok) return list;
  info.function = attrset_make(t, attrs.data, attrs.count);
  const struct nvm_attrset *parameters = t->parameter_sets.data + info.first;
  return attrlist_make(t, info.function, info.result, parameters, info.count);
}

static void link_function(struct linker *l, struct nvm_function *f, const struct nvm_function *g) {
  f->symbol.attachments = link_attachments(l, g->symbol.attachments);
  f->prefix = link_value(l, g->prefix);
  f->prologue = link_value(l, g->prologue);
  f->personality = link_value(l, g->personality);
  f->arg_names = NULL;
  uint32_t count = function_arg_count(g);
  if (g->arg_names && count) {
    f->arg_names = arena_alloc(&l->into->arena, count * sizeof *f->arg_names);
    for (uint32_t i = 0; f->arg_names && i < count; i++)
      f->arg_names[i] = link_string(l, g->arg_names[i]);
  }
  if (function_is_declaration(g)) return;
  if (l->agreed.count) f->attributes = with_agreed(l, f->attributes);
  link_body(l, f, g);
}

/* Appends the elements of `from`'s list to that of `into`. */
static void join_lists(struct linker *l, struct nvm_global *to, const struct nvm_global *g) {
  struct nvm_module *m = l->into;
  struct nvm_type element = type_info(&m->types, to->value_type)->element;
  uint64_t ours = type_info(&m->types, to->value_type)->count;
  uint64_t theirs = type_info(&l->from->types, g->value_type)->count;
  struct nvm_value *all = arena_alloc(&l->scratch, (size_t)(ours + theirs) * sizeof *all);
  if (!all) return;
  for (uint64_t i = 0; i < ours; i++) all[i] = const_element(m, to->initializer, i);
  for (uint64_t i = 0; i < theirs; i++) {
    const struct constant_info *c = constant_info(&l->from->constants, g->initializer);
    all[ours + i] = c->kind == CONST_AGGREGATE
                        ? link_value(l, const_operand(l->from, g->initializer, (uint32_t)i))
                        : const_element(m, link_value(l, g->initializer), i);
  }
  to->value_type = type_array(&m->types, element, ours + theirs);
  to->initializer = const_aggregate(m, to->value_type, all, (uint32_t)(ours + theirs));
}

static void link_content(struct linker *l, struct nvm_value v) {
  struct nvm_value made = link_known_symbol(l, v);
  if (value_kind(v) == VALUE_FUNCTION) {
    link_function(l, module_function(l->into, made), module_function(l->from, v));
    return;
  }
  const struct nvm_global *g = module_global(l->from, v);
  struct nvm_global *to = module_global(l->into, made);
  if (g->symbol.linkage == LINK_APPENDING && !value_is_none(to->initializer)) {
    join_lists(l, to, g);
    return;
  }
  to->symbol.attachments = link_attachments(l, g->symbol.attachments);
  /* The table may move when symbols are added. */
  struct nvm_value initializer = link_value(l, g->initializer);
  struct nvm_value aliasee = link_value(l, g->aliasee);
  module_global(l->into, made)->initializer = initializer;
  module_global(l->into, made)->aliasee = aliasee;
}

/* Whether this symbol of `from` is a root of the link; others are copied when referenced. */
static bool is_root(const struct linker *l, struct nvm_value v) {
  const struct symbol *s = module_symbol(l->from, v);
  struct nvm_value ours = met_symbol(l, s);
  bool met = !value_is_none(ours);
  if (l->only_needed)
    return met && strength(s) > 0 && module_symbol(l->into, ours)->declared_only &&
           !is_intrinsic_name(module_text(l->from, s->name));
  if (is_local(s) || s->declared_only) return false;
  bool waits = s->linkage == LINK_LINKONCE || s->linkage == LINK_LINKONCE_ODR ||
               s->linkage == LINK_AVAILABLE_EXTERNALLY;
  return met || !waits;
}

/* Roots in source order; what a definition references is copied before the next root. */
static void link_symbols(struct linker *l) {
  for (uint32_t i = 0; i < l->from->symbol_order.count; i++) {
    struct nvm_value v = l->from->symbol_order.data[i];
    if (!value_is_none(v) && is_root(l, v)) link_symbol(l, v);
    while (l->open_symbols.count && !l->failed && !l->scratch.failed)
      link_content(l, l->open_symbols.data[--l->open_symbols.count]);
  }
}

static void link_header(struct linker *l) {
  struct nvm_module *m = l->into;
  if (!m->has_layout && l->from->has_layout) {
    m->layout = l->from->layout;
    m->layout_text = link_string(l, l->from->layout_text);
    m->has_layout = true;
  }
  if (!m->has_triple && l->from->has_triple) {
    m->triple = link_string(l, l->from->triple);
    m->has_triple = true;
  }
  for (uint32_t i = 0; i < l->from->module_asm.count; i++)
    if (!VEC_PUSH(&m->arena, &m->module_asm, link_string(l, l->from->module_asm.data[i])))
      l->failed = true;
}

static void check_all(struct linker *l) {
  check_layout(l);
  check_flags(l);
  for (uint32_t i = 0; i < l->from->symbol_order.count && !diag_full(l->sink); i++)
    if (!value_is_none(l->from->symbol_order.data[i]))
      check_symbol(l, l->from->symbol_order.data[i]);
}

enum nvm_status link_modules(struct nvm_module *into, const struct nvm_module *from,
                             bool only_needed, struct diag_sink *sink) {
  struct linker l = {.into = into, .from = from, .only_needed = only_needed, .sink = sink};
  uint32_t errors = sink->error_count;
  arena_init(&l.scratch, into->arena.allocator);
  check_all(&l);
  bool refused = sink->error_count > errors;
  if (!refused && only_needed && !link_math(into, link_module_has_math, from)) l.failed = true;
  if (!refused && link_map_init(&l)) {
    link_header(&l);
    find_common_attributes(&l);
    link_symbols(&l);
    link_open_nodes(&l);
    for (uint32_t i = 0; i < from->metadata.named.count; i++)
      link_named(&l, &from->metadata.named.data[i]);
    link_open_nodes(&l);
  }
  bool failed = l.failed || l.scratch.failed || module_out_of_memory(into) || sink->arena->failed;
  arena_free(&l.scratch);
  return failed ? NVM_OUT_OF_MEMORY : refused ? NVM_REFUSED : NVM_OK;
}
