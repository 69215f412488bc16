/* Translates handles of one module into another's, and copies bodies of functions.
 *
 * Every kind of handle has a table from old to new, filled when a handle is first met; so the cost
 * is that of what is copied. Constants and types are met recursively (the parser bounds how deep
 * they nest); nodes of metadata, which may be chained without bound, get a number at once and
 * their content when link_open_nodes() visits them.
 *
 * Bodies keep the numbers of their instructions, blocks and arguments: a body is copied table by
 * table, and only what is the module's own is translated. */
#include "frontend/link_map.h"

static void *table(struct linker *l, uint32_t count, size_t bytes) {
  return arena_alloc(&l->scratch, (size_t)count * bytes);
}

bool link_map_init(struct linker *l) {
  const struct nvm_module *m = l->from;
  l->strings = table(l, m->strings.entries.count, sizeof *l->strings);
  l->types = table(l, m->types.infos.count, sizeof *l->types);
  l->constants = table(l, m->constants.infos.count, sizeof *l->constants);
  l->globals = table(l, m->globals.count, sizeof *l->globals);
  l->functions = table(l, m->functions.count, sizeof *l->functions);
  l->items = table(l, m->metadata.items.count, sizeof *l->items);
  l->nodes = table(l, m->metadata.nodes.count, sizeof *l->nodes);
  l->sets = table(l, m->attributes.sets.count, sizeof *l->sets);
  l->lists = table(l, m->attributes.lists.count, sizeof *l->lists);
  l->call_sites = table(l, m->call_sites.count, sizeof *l->call_sites);
  l->scopes = table(l, m->sync_scopes.count, sizeof *l->scopes);
  l->comdats = table(l, m->comdats.count + 1, sizeof *l->comdats);
  return !l->scratch.failed;
}

struct nvm_str link_string(struct linker *l, struct nvm_str s) {
  if (s.index == 0 || l->strings[s.index].index) return l->strings[s.index];
  struct nvm_text text = module_text(l->from, s);
  return l->strings[s.index] = strtab_intern(&l->into->strings, text.bytes, text.length);
}

/* --- types ------------------------------------------------------------------------------------ */

static bool same_body(const struct type_table *t, struct nvm_type ty,
                      const struct nvm_type *members, uint64_t count, bool packed) {
  const struct type_info *info = type_info(t, ty);
  if (info->count != count || ((info->flags & TYPE_PACKED) != 0) != packed) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!type_equal(type_member(t, ty, i), members[i])) return false;
  return true;
}

/* A named struct maps to the one of that name in `into` if both are equal or one is opaque. */
static struct nvm_type named_type(struct linker *l, const struct type_info *info,
                                  const struct nvm_type *members) {
  struct type_table *t = &l->into->types;
  struct nvm_str name = link_string(l, info->name);
  struct nvm_type ty = type_named(t, name);
  bool packed = (info->flags & TYPE_PACKED) != 0;
  if (info->flags & TYPE_OPAQUE) return ty;
  if (!(type_info(t, ty)->flags & TYPE_OPAQUE)) {
    if (same_body(t, ty, members, info->count, packed)) return ty;
    ty = type_named(t, link_free_name(l, info->name, true));
  }
  if (!type_set_body(t, ty, members, (uint32_t)info->count, packed)) l->failed = true;
  return ty;
}

static struct nvm_type make_type(struct linker *l, struct nvm_type ty) {
  struct type_table *t = &l->into->types;
  struct type_info info = *type_info(&l->from->types, ty);
  struct nvm_type *members = NULL;
  bool listed = info.kind == TY_STRUCT || info.kind == TY_FUNCTION;
  uint32_t count = listed ? (uint32_t)info.count : 0;
  if (count) members = table(l, count, sizeof *members);
  if (count && !members) return TYPE_NONE;
  for (uint32_t i = 0; i < count; i++)
    members[i] = link_type(l, type_member(&l->from->types, ty, i));
  switch ((enum type_kind)info.kind) {
    case TY_INT: return type_int(t, info.width);
    case TY_PTR: return type_ptr(t, info.width);
    case TY_VECTOR: return type_vector(t, link_type(l, info.element), info.count);
    case TY_ARRAY: return type_array(t, link_type(l, info.element), info.count);
    case TY_FUNCTION:
      return type_function(t, link_type(l, info.element), members, count,
                           info.flags & TYPE_VARIADIC);
    case TY_STRUCT:
      if (info.name.index) return named_type(l, &info, members);
      return type_struct(t, members, count, info.flags & TYPE_PACKED);
    case TY_NONE:
    case TY_VOID:
    case TY_LABEL:
    case TY_METADATA:
    case TY_TOKEN:
    case TY_HALF:
    case TY_BFLOAT:
    case TY_FLOAT:
    case TY_DOUBLE:
    case TY_KIND_COUNT: break;
  }
  return ty; /* has the same handle in every module */
}

struct nvm_type link_type(struct linker *l, struct nvm_type t) {
  if (t.index < TYPE_FIRST_DERIVED) return t;
  if (l->types[t.index].index == 0) l->types[t.index] = make_type(l, t);
  return l->types[t.index];
}

/* --- constants -------------------------------------------------------------------------------- */

/* Operands of an aggregate or expression, translated; NULL when out of memory. */
static struct nvm_value *link_operands(struct linker *l, struct nvm_value v, uint32_t count) {
  struct nvm_value *operands = table(l, count, sizeof *operands);
  for (uint32_t i = 0; operands && i < count; i++)
    operands[i] = link_value(l, const_operand(l->from, v, i));
  return operands;
}

static struct nvm_value make_constant(struct linker *l, struct nvm_value v) {
  struct nvm_module *m = l->into;
  struct constant_info c = *constant_info(&l->from->constants, v);
  struct nvm_type type = link_type(l, c.type);
  struct nvm_value *operands = NULL;
  nvm_u128 number = 0;
  bool listed = c.kind == CONST_AGGREGATE || c.kind == CONST_EXPR;
  if (listed && !(operands = link_operands(l, v, c.count))) return VALUE_NULL;
  switch ((enum constant_kind)c.kind) {
    case CONST_INT: const_is_int(l->from, v, &number); return const_int(m, type, number);
    case CONST_BIG_INT: {
      uint64_t words[TYPE_MAX_INT_WORDS];
      const_words(l->from, v, words);
      return const_big_int(m, type, words);
    }
    case CONST_FLOAT: return const_float(m, type, c.bits);
    case CONST_NULL: return const_null(m, type);
    case CONST_ZERO: return const_zero(m, type);
    case CONST_UNDEF: return const_undef(m, type);
    case CONST_POISON: return const_poison(m, type);
    case CONST_AGGREGATE: return const_aggregate(m, type, operands, c.count);
    case CONST_BYTES: {
      struct nvm_text text = module_text(l->from, c.str);
      return const_bytes(m, type, text.bytes, text.length);
    }
    case CONST_EXPR: {
      uint32_t aux = c.op == OP_GEP ? link_type(l, (struct nvm_type){c.aux}).index : c.aux;
      return const_expr(m, (enum op)c.op, c.flags, type, operands, c.count, aux);
    }
    case CONST_ASM: return const_asm(m, link_string(l, c.str), link_string(l, c.str2), c.flags);
    case CONST_METADATA: return const_metadata(m, link_meta(l, (struct nvm_meta){c.meta}).index);
    case CONST_NONE_TOKEN: return const_token_none(m);
    case CONST_NONE: break;
  }
  return VALUE_NULL;
}

struct nvm_value link_value(struct linker *l, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_CONST: break;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: return link_symbol(l, v);
    case VALUE_NONE:
    case VALUE_INST:
    case VALUE_ARG:
    case VALUE_BLOCK:
    case VALUE_FORWARD: return v;
  }
  struct nvm_value *known = &l->constants[value_index(v)];
  if (value_is_none(*known)) *known = make_constant(l, v);
  return *known;
}

/* --- metadata --------------------------------------------------------------------------------- */

static struct nvm_meta link_node(struct linker *l, const struct meta_item *item) {
  struct meta_table *t = &l->into->metadata;
  uint32_t *node = &l->nodes[item->node];
  if (*node == 0) {
    *node = meta_node_new(t) + 1;
    if (!VEC_PUSH(&l->scratch, &l->open_nodes, item->node)) l->failed = true;
  }
  return meta_node(t, *node - 1, item->kind == META_INLINE);
}

static struct nvm_meta link_meta_value(struct linker *l, const struct meta_item *item) {
  enum value_kind kind = value_kind(item->value);
  bool symbol = kind == VALUE_GLOBAL || kind == VALUE_FUNCTION;
  struct nvm_value v = symbol ? link_known_symbol(l, item->value) : link_value(l, item->value);
  if (value_is_none(v)) return (struct nvm_meta){0};
  return meta_value(&l->into->metadata, v, link_type(l, item->type));
}

static struct nvm_meta make_meta(struct linker *l, const struct meta_item *item) {
  struct meta_table *t = &l->into->metadata;
  switch ((enum meta_kind)item->kind) {
    case META_STRING: return meta_string(t, link_string(l, item->str));
    case META_WORD: return meta_word(t, link_string(l, item->str));
    case META_INT: return meta_int(t, item->number, false);
    case META_UNSIGNED: return meta_int(t, item->number, true);
    case META_VALUE: return link_meta_value(l, item);
    case META_NODE:
    case META_INLINE: return link_node(l, item);
    case META_NULL: break;
  }
  return (struct nvm_meta){0};
}

struct nvm_meta link_meta(struct linker *l, struct nvm_meta m) {
  if (m.index && l->items[m.index].index == 0)
    l->items[m.index] = make_meta(l, meta_item(&l->from->metadata, m));
  return l->items[m.index];
}

static void copy_node(struct linker *l, uint32_t number) {
  const struct meta_table *from = &l->from->metadata;
  const struct meta_node *n = &from->nodes.data[number];
  struct nvm_meta *operands = table(l, n->count, sizeof *operands);
  struct nvm_str *keys = table(l, n->count, sizeof *keys);
  if (!operands || !keys) return;
  for (uint32_t i = 0; i < n->count; i++) {
    operands[i] = link_meta(l, meta_operand(from, n, i));
    keys[i] = link_string(l, from->keys.data[n->first + i]);
  }
  if (!meta_node_define(&l->into->metadata, l->nodes[number] - 1, link_string(l, n->name),
                        n->distinct, keys, operands, n->count))
    l->failed = true;
}

void link_open_nodes(struct linker *l) {
  while (l->open_nodes.count && !l->scratch.failed)
    copy_node(l, l->open_nodes.data[--l->open_nodes.count]);
}

uint32_t link_attachments(struct linker *l, uint32_t chain) {
  uint32_t made = 0;
  for (; chain; chain = l->from->attachments.data[chain].next) {
    struct attachment a = l->from->attachments.data[chain];
    if (!module_attach(l->into, &made, link_string(l, a.kind), link_meta(l, a.node)))
      l->failed = true;
  }
  return made;
}

/* --- attributes ------------------------------------------------------------------------------- */

struct nvm_attrset link_attributes(struct linker *l, struct nvm_attrset s) {
  if (s.index == 0 || l->sets[s.index])
    return (struct nvm_attrset){l->sets[s.index] - (s.index != 0)};
  struct attrset_info info = l->from->attributes.sets.data[s.index];
  struct nvm_attr *attrs = table(l, info.count, sizeof *attrs);
  if (!attrs) return (struct nvm_attrset){0};
  for (uint32_t i = 0; i < info.count; i++) {
    attrs[i] = l->from->attributes.attrs.data[info.first + i];
    attrs[i].str = link_string(l, attrs[i].str);
    attrs[i].str2 = link_string(l, attrs[i].str2);
    attrs[i].type = link_type(l, attrs[i].type);
  }
  struct nvm_attrset made = attrset_make(&l->into->attributes, attrs, info.count);
  l->sets[s.index] = made.index + 1;
  return made;
}

struct nvm_attrlist link_attribute_list(struct linker *l, struct nvm_attrlist list) {
  if (list.index == 0) return list;
  if (l->lists[list.index]) return (struct nvm_attrlist){l->lists[list.index] - 1};
  struct attrlist_info info = l->from->attributes.lists.data[list.index];
  struct nvm_attrset *sets = table(l, info.count, sizeof *sets);
  if (!sets) return (struct nvm_attrlist){0};
  for (uint32_t i = 0; i < info.count; i++)
    sets[i] = link_attributes(l, l->from->attributes.parameter_sets.data[info.first + i]);
  struct nvm_attrset result = link_attributes(l, info.result),
                     function = link_attributes(l, info.function);
  struct nvm_attrlist made =
      attrlist_make(&l->into->attributes, function, result, sets, info.count);
  l->lists[list.index] = made.index + 1;
  return made;
}

uint32_t link_comdat(struct linker *l, uint32_t comdat) {
  struct nvm_module *m = l->into;
  if (comdat == 0 || l->comdats[comdat]) return l->comdats[comdat];
  struct comdat made = l->from->comdats.data[comdat - 1];
  made.name = link_string(l, made.name);
  made.kind = link_string(l, made.kind);
  uint32_t k = 0;
  while (k < m->comdats.count && m->comdats.data[k].name.index != made.name.index) k++;
  if (k == m->comdats.count && !VEC_PUSH(&m->arena, &m->comdats, made)) l->failed = true;
  return l->comdats[comdat] = k + 1;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static uint32_t link_call_site(struct linker *l, uint32_t k) {
  if (k == 0 || l->call_sites[k]) return l->call_sites[k] - (k != 0);
  struct nvm_module *m = l->into;
  struct call_site s = l->from->call_sites.data[k];
  uint32_t first = s.first_bundle;
  s.function_type = link_type(l, s.function_type);
  s.attributes = link_attribute_list(l, s.attributes);
  s.first_bundle = m->bundles.count;
  for (uint32_t i = 0; i < s.bundle_count; i++) {
    struct operand_bundle b = l->from->bundles.data[first + i];
    b.tag = link_string(l, b.tag);
    if (!VEC_PUSH(&m->arena, &m->bundles, b)) l->failed = true;
  }
  if (l->failed) return 0;
  l->call_sites[k] = module_call_site(m, s) + 1;
  return l->call_sites[k] - 1;
}

static uint32_t link_access(struct linker *l, uint32_t aux) {
  struct memory_access how = memory_access_unpack(aux);
  if (how.scope == 0) return aux;
  if (l->scopes[how.scope] == 0) {
    struct nvm_str name = link_string(l, l->from->sync_scopes.data[how.scope]);
    uint32_t scope = module_sync_scope(l->into, name);
    if (scope == UINT32_MAX) { /* no room for another scope: the widest one includes all */
      scope = 0;
    }
    l->scopes[how.scope] = scope + 1;
  }
  how.scope = (l->scopes[how.scope] - 1) & 255;
  return memory_access_pack(how);
}

static uint32_t link_aux(struct linker *l, const struct nvm_inst *i) {
  switch (op_table[i->op].form) {
    case FORM_ALLOCA:
    case FORM_GEP: return link_type(l, (struct nvm_type){i->aux}).index;
    case FORM_LOAD:
    case FORM_STORE:
    case FORM_FENCE:
    case FORM_CMPXCHG:
    case FORM_ATOMICRMW: return link_access(l, i->aux);
    case FORM_CALL: return link_call_site(l, i->aux);
    case FORM_NONE:
    case FORM_RET:
    case FORM_BR:
    case FORM_CONDBR:
    case FORM_SWITCH:
    case FORM_UNARY:
    case FORM_BINARY:
    case FORM_CAST:
    case FORM_CMP:
    case FORM_PHI:
    case FORM_SELECT:
    case FORM_EXTRACTELEMENT:
    case FORM_INSERTELEMENT:
    case FORM_SHUFFLEVECTOR:
    case FORM_EXTRACTVALUE:
    case FORM_INSERTVALUE:
    case FORM_VA_ARG:
    case FORM_DBG_RECORD: break;
  }
  return i->aux;
}

/* Tables of f as large as g's. */
static bool make_room(struct nvm_function *f, const struct nvm_function *g) {
  function_clear(f);
  if (!function_reserve(f, g->insts.count, g->operands.count) ||
      !VEC_ROOM(&f->module->arena, &f->blocks, g->blocks.count))
    return false;
  f->operands.count = g->operands.count;
  f->blocks.count = g->blocks.count;
  return true;
}

static void copy_inst(struct linker *l, struct nvm_function *f, const struct nvm_function *g,
                      uint32_t k) {
  struct nvm_inst i = g->insts.data[k];
  i.type = link_type(l, i.type);
  i.aux = link_aux(l, &i);
  f->insts.data[k] = i;
  f->uses.data[k] = g->uses.data[k];
  f->names.data[k] = link_string(l, g->names.data[k]);
  f->locations.data[k] = link_meta(l, g->locations.data[k]);
  f->attachments.data[k] = link_attachments(l, g->attachments.data[k]);
  for (uint32_t n = i.first_operand; n < i.first_operand + i.operand_count; n++)
    f->operands.data[n] = link_value(l, g->operands.data[n]);
}

void link_body(struct linker *l, struct nvm_function *f, const struct nvm_function *g) {
  if (!make_room(f, g)) {
    l->failed = true;
    return;
  }
  f->entry = g->entry;
  f->last_block = g->last_block;
  for (uint32_t b = 0; b < g->blocks.count; b++) {
    f->blocks.data[b] = g->blocks.data[b];
    f->blocks.data[b].name = link_string(l, g->blocks.data[b].name);
  }
  /* Places that no instruction owns hold no handles (ir/function.c). */
  memcpy(f->operands.data, g->operands.data, g->operands.count * sizeof *g->operands.data);
  for (uint32_t k = 1; k < g->insts.count; k++) {
    function_add_inst(f, (enum op)g->insts.data[k].op, 0, TYPE_VOID, NULL, 0, 0);
    if (g->insts.data[k].block.index) copy_inst(l, f, g, k);
  }
}
