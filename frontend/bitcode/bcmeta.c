/* Metadata records: strings, values, tuples, named nodes, attachments; locations are interned,
 * since instructions of a function state theirs in place. An operand may be defined later in its
 * block: such places are noted, and filled at the end of the block. */
#include "frontend/bitcode/bcmeta.h"

#include "frontend/bitcode/bcconstants.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/bitcode/bcvalues.h"
#include "ir/function.h"
#include "ir/intern.h"

/* METADATA_ of LLVM's LLVMBitCodes.h; codes of specialized nodes are in bcnodes.def. */
enum {
  CODE_STRING_OLD = 1,
  CODE_VALUE = 2,
  CODE_NODE = 3,
  CODE_NAME = 4,
  CODE_DISTINCT_NODE = 5,
  CODE_KIND = 6,
  CODE_LOCATION = 7,
  CODE_NAMED_NODE = 10,
  CODE_STRINGS = 35,
  CODE_DECLARATION_ATTACHMENT = 36,
  CODE_INDEX_OFFSET = 38,
  CODE_INDEX = 39,
  CODE_ARGUMENTS = 46,
};

/* ---- Ids ---- */

static bool define(struct reader *r, struct nvm_meta meta) {
  struct bcmeta *t = r->meta;
  return meta.index && VEC_PUSH(&r->p.scratch, &t->items, meta);
}

struct nvm_meta bcmeta_get(struct reader *r, uint64_t id) {
  if (id < r->meta->items.count) return r->meta->items.data[id];
  reader_fail(r, "use of undefined metadata");
  return (struct nvm_meta){0};
}

struct nvm_meta bcmeta_node(struct reader *r, uint64_t id) {
  struct nvm_meta meta = bcmeta_get(r, id);
  if (meta.index == 0 || meta_as_node(&r->p.m->metadata, meta)) return meta;
  reader_fail(r, "expected a metadata node");
  return (struct nvm_meta){0};
}

/* ---- Nodes ---- */

static bool is_forward(const struct meta_item *item) {
  return item->kind == META_VALUE && value_kind(item->value) == VALUE_FORWARD;
}

bool bcmeta_use(struct reader *r, struct nvm_meta meta) {
  const struct meta_table *t = &r->p.m->metadata;
  const struct meta_item *item = meta_item(t, meta);
  if (item->kind == META_INLINE) return reader_spend(r, t->nodes.data[item->node].count);
  return item->kind != META_VALUE || bcconstants_use(r, item->value);
}

/* Whether metadata can be an operand of a node other than an argument list. */
static bool check_operand(struct reader *r, struct nvm_meta meta) {
  return is_forward(meta_item(&r->p.m->metadata, meta))
             ? reader_fail(r, "a value as operand of a node is not defined yet")
             : bcmeta_use(r, meta);
}

bool bcmeta_field(struct reader *r, const char *key, struct nvm_meta meta) {
  struct bcmeta *t = r->meta;
  struct nvm_str name = key ? module_str(r->p.m, key) : (struct nvm_str){0};
  return VEC_PUSH(&r->p.scratch, &t->keys, name) && VEC_PUSH(&r->p.scratch, &t->metas, meta);
}

bool bcmeta_operand(struct reader *r, const char *key, uint64_t id_plus_1) {
  struct bcmeta *t = r->meta;
  struct nvm_meta meta = {0};
  if (id_plus_1 && id_plus_1 <= t->items.count) {
    meta = t->items.data[id_plus_1 - 1];
  } else if (id_plus_1) {
    if (id_plus_1 > UINT32_MAX) return reader_fail(r, "use of undefined metadata");
    uint64_t place = (uint64_t)r->p.m->metadata.operands.count + t->metas.count;
    if (!VEC_ROOM(&r->p.scratch, &t->later, (uint64_t)t->later.count + 1)) return false;
    t->later.data[t->later.count].operand = (uint32_t)place;
    t->later.data[t->later.count++].id = (uint32_t)(id_plus_1 - 1);
  }
  return bcmeta_field(r, key, meta);
}

bool bcmeta_finish(struct reader *r, const char *name, bool distinct, bool is_inline) {
  struct bcmeta *t = r->meta;
  struct meta_table *m = &r->p.m->metadata;
  uint32_t node = meta_node_new(m);
  struct nvm_str s = name ? module_str(r->p.m, name) : (struct nvm_str){0};
  for (uint32_t i = 0; i < t->metas.count && !is_inline; i++)
    if (!check_operand(r, t->metas.data[i])) return false;
  bool made = meta_node_define(m, node, s, distinct, name ? t->keys.data : NULL, t->metas.data,
                               t->metas.count);
  t->keys.count = t->metas.count = 0;
  return made && define(r, meta_node(m, node, is_inline));
}

/* At the end of a block: the operands that were used before their definition. */
static bool finish_later(struct reader *r) {
  struct bcmeta *t = r->meta;
  for (uint32_t i = 0; i < t->later.count; i++) {
    struct nvm_meta meta = bcmeta_get(r, t->later.data[i].id);
    if (meta.index == 0 || !check_operand(r, meta)) return false;
    r->p.m->metadata.operands.data[t->later.data[i].operand] = meta;
  }
  t->later.count = 0;
  return true;
}

static bool read_tuple(struct reader *r, const struct bits_record *s) {
  for (uint32_t i = 0; i < s->count; i++)
    if (!bcmeta_operand(r, NULL, s->numbers[i])) return false;
  return bcmeta_finish(r, NULL, s->code == CODE_DISTINCT_NODE, false);
}

/* The values that an expression's arguments are; they may be instructions that follow. */
static bool read_arguments(struct reader *r, const struct bits_record *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    struct nvm_meta meta = bcmeta_get(r, s->numbers[i]);
    if (meta.index == 0 || !bcmeta_field(r, NULL, meta) || !bcmeta_use(r, meta)) return false;
    const struct meta_item *item = meta_item(&r->p.m->metadata, meta);
    struct fixup fix = {{0}, r->p.m->metadata.operands.count + i};
    if (item->kind != META_VALUE) return reader_fail(r, "an argument of an expression is no value");
    if (is_forward(item) && !VEC_PUSH(&r->p.scratch, &r->p.fixups, fix)) return false;
  }
  return bcmeta_finish(r, "DIArgList", false, true);
}

static bool read_value(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 2)) return false;
  struct nvm_type type = bctypes_value(r, s->numbers[0]);
  if (type.index == 0) return false;
  if (type_equal(type, TYPE_METADATA)) return reader_fail(r, "metadata as a value of metadata");
  struct nvm_value v = bcvalues_get(r, s->numbers[1], type);
  if (bcconstants_is_asm(r, v)) return reader_fail(r, "inline assembly as a value of metadata");
  return !value_is_none(v) && define(r, meta_value(&r->p.m->metadata, v, type));
}

/* ---- Strings ---- */

/* Their number, and the offset of their characters in the blob, which begins with their lengths in
 * groups of six bits. */
static bool read_strings(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 2)) return false;
  uint64_t at = s->numbers[1];
  if (!s->blob || at > s->blob_size) return reader_fail(r, "the strings of metadata are cut off");
  struct bits lengths;
  bits_init(&lengths, &r->p.scratch, s->blob, at);
  for (uint64_t i = 0; i < s->numbers[0]; i++) {
    uint64_t length = bits_vbr(&lengths, 6);
    if (lengths.problem || length > s->blob_size - at)
      return reader_fail(r, "the strings of metadata are cut off");
    struct nvm_str str = strtab_intern(&r->p.m->strings, s->blob + at, (size_t)length);
    at += length;
    if (!define(r, meta_string(&r->p.m->metadata, str))) return false;
  }
  return true;
}

/* ---- Locations ---- */

static uint32_t location_hash(const struct meta_location *l) {
  uint32_t h = hash_mix(l->function, (uint64_t)l->line << 32 | l->column);
  h = hash_mix(h, (uint64_t)l->scope << 32 | l->inlined_at);
  return hash_mix(h, l->group << 1 | l->implicit);
}

static bool location_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  *hash = location_hash(&((const struct bcmeta *)table)->locations.data[k]);
  return true;
}

static bool same_location(const struct meta_location *a, const struct meta_location *b) {
  return a->function == b->function && a->line == b->line && a->column == b->column &&
         a->scope == b->scope && a->inlined_at == b->inlined_at && a->implicit == b->implicit &&
         a->group == b->group;
}

static bool number_field(struct reader *r, const char *key, uint64_t number) {
  return bcmeta_field(r, key, meta_int(&r->p.m->metadata, number, true));
}

/* A new node, with the next id. */
static bool make_location(struct reader *r, const struct meta_location *l, bool distinct) {
  struct nvm_meta yes = meta_word(&r->p.m->metadata, module_str(r->p.m, "true"));
  return number_field(r, "line", l->line) && (!l->column || number_field(r, "column", l->column)) &&
         bcmeta_operand(r, "scope", (uint64_t)l->scope + 1) &&
         (!l->inlined_at || bcmeta_operand(r, "inlinedAt", l->inlined_at)) &&
         (!l->implicit || bcmeta_field(r, "isImplicitCode", yes)) &&
         (l->group << 8 == 0 || number_field(r, "atomGroup", l->group << 8 >> 8)) &&
         (l->group >> 56 == 0 || number_field(r, "atomRank", l->group >> 56)) &&
         bcmeta_finish(r, "DILocation", distinct, false);
}

/* The key of a location: with the number of the function if it uses ids of the function. */
static struct meta_location location_key(const struct reader *r, const struct meta_location *l) {
  struct meta_location key = *l;
  bool local = l->scope >= r->meta->module_count || l->inlined_at > r->meta->module_count;
  key.function = r->p.f && local ? r->next_body : 0;
  return key;
}

static struct meta_location *find_location(struct reader *r, const struct meta_location *key) {
  struct bcmeta *t = r->meta;
  uint32_t mask = t->slot_count - 1;
  for (uint32_t i = location_hash(key) & mask; t->slots[i]; i = (i + 1) & mask)
    if (same_location(&t->locations.data[t->slots[i]], key)) return &t->locations.data[t->slots[i]];
  return NULL;
}

static bool enter_location(struct reader *r, const struct meta_location *key) {
  struct bcmeta *t = r->meta;
  uint32_t k = t->locations.count;
  if (!intern_room(&r->p.scratch, &t->slots, &t->slot_count, 1, k, location_hash_record, t) ||
      !VEC_PUSH(&r->p.scratch, &t->locations, *key))
    return false;
  intern_enter(t->slots, t->slot_count, location_hash(key), k);
  return true;
}

struct nvm_meta bcmeta_location(struct reader *r, const struct meta_location *l) {
  struct meta_location key = location_key(r, l), *known = find_location(r, &key);
  struct bcmeta *t = r->meta;
  if (known) return known->node;
  if (l->scope >= t->items.count || l->inlined_at > t->items.count) {
    reader_fail(r, "use of undefined metadata");
    return (struct nvm_meta){0};
  }
  if (!make_location(r, l, false)) return (struct nvm_meta){0};
  key.node = t->items.data[--t->items.count]; /* it has no id */
  return enter_location(r, &key) ? key.node : (struct nvm_meta){0};
}

static bool read_location(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 5)) return false;
  if (s->numbers[3] >= UINT32_MAX || s->numbers[4] > UINT32_MAX)
    return reader_fail(r, "use of undefined metadata");
  struct meta_location l = {.line = (uint32_t)s->numbers[1],
                            .column = (uint32_t)s->numbers[2],
                            .scope = (uint32_t)s->numbers[3],
                            .inlined_at = (uint32_t)s->numbers[4],
                            .implicit = s->count > 5 && s->numbers[5]};
  if (s->count > 7) l.group = (s->numbers[6] & (UINT64_MAX >> 8)) | s->numbers[7] << 56;
  if (s->numbers[0] & 1) return make_location(r, &l, true);
  struct meta_location key = location_key(r, &l), *known = find_location(r, &key);
  if (known) return define(r, known->node);
  if (!make_location(r, &l, false)) return false;
  key.node = r->meta->items.data[r->meta->items.count - 1];
  return enter_location(r, &key);
}

/* ---- Named nodes, kinds, attachments of symbols ---- */

static bool read_named(struct reader *r, const struct bits_record *s) {
  struct bcmeta *t = r->meta;
  if (t->name.index == 0) return reader_fail(r, "named metadata without a name");
  for (uint32_t i = 0; i < s->count; i++) {
    struct nvm_meta meta = bcmeta_node(r, s->numbers[i]);
    if (meta.index == 0 || !bcmeta_field(r, NULL, meta)) return false;
  }
  bool added = meta_add_named(&r->p.m->metadata, t->name, t->metas.data, t->metas.count);
  t->keys.count = t->metas.count = 0;
  return added;
}

static bool read_kind(struct reader *r, const struct bits_record *s) {
  if (s->code != CODE_KIND) return true;
  if (!reader_needs(r, s, 2)) return false;
  uint64_t number = s->numbers[0];
  if (number > UINT16_MAX) return reader_fail(r, "the number of a metadata kind is too large");
  if (!VEC_RESERVE(&r->p.scratch, &r->meta_kinds, number + 1)) return false;
  if (r->meta_kinds.count <= number) r->meta_kinds.count = (uint32_t)number + 1;
  r->meta_kinds.data[number] = reader_string(r, s, 1);
  return true;
}

bool bcmeta_read_kinds(struct reader *r) { return reader_block(r, read_kind); }

struct nvm_str bcmeta_kind(struct reader *r, uint64_t number) {
  if (number < r->meta_kinds.count && r->meta_kinds.data[number].index)
    return r->meta_kinds.data[number];
  reader_fail(r, "use of an undefined metadata kind");
  return (struct nvm_str){0};
}

static bool read_declaration_attachment(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return false;
  struct nvm_value v =
      s->numbers[0] < r->symbols.count ? r->symbols.data[s->numbers[0]].value : VALUE_NULL;
  if (value_is_none(v)) return reader_fail(r, "an attachment to an undefined symbol");
  for (uint32_t i = 1; i + 1 < s->count; i += 2) {
    struct nvm_str kind = bcmeta_kind(r, s->numbers[i]);
    struct nvm_meta node = bcmeta_node(r, s->numbers[i + 1]);
    if (kind.index == 0 || node.index == 0 ||
        !module_attach(r->p.m, &module_symbol(r->p.m, v)->attachments, kind, node))
      return false;
  }
  return true;
}

/* ---- Blocks ---- */

static bool read_record(struct reader *r, const struct bits_record *s) {
  switch (s->code) {
    case CODE_STRING_OLD: return define(r, meta_string(&r->p.m->metadata, reader_string(r, s, 0)));
    case CODE_STRINGS: return read_strings(r, s);
    case CODE_VALUE: return read_value(r, s);
    case CODE_NODE:
    case CODE_DISTINCT_NODE: return read_tuple(r, s);
    case CODE_NAME: r->meta->name = reader_string(r, s, 0); return true;
    case CODE_KIND: return read_kind(r, s);
    case CODE_LOCATION: return read_location(r, s);
    case CODE_NAMED_NODE: return read_named(r, s);
    case CODE_DECLARATION_ATTACHMENT: return read_declaration_attachment(r, s);
    case CODE_INDEX_OFFSET:
    case CODE_INDEX: return true;
    case CODE_ARGUMENTS: return read_arguments(r, s);
    default: return bcnodes_read(r, s);
  }
}

bool bcmeta_init(struct reader *r) {
  struct bcmeta *t = r->meta = arena_alloc(&r->p.scratch, sizeof *r->meta);
  return t && VEC_PUSH(&r->p.scratch, &t->locations, (struct meta_location){0}) &&
         intern_room(&r->p.scratch, &t->slots, &t->slot_count, 1, 1, location_hash_record, t);
}

bool bcmeta_read(struct reader *r) {
  if (!r->p.f) r->meta->module_count = UINT32_MAX;
  if (!reader_block(r, read_record) || !finish_later(r)) return false;
  if (!r->p.f) r->meta->module_count = r->meta->items.count;
  return true;
}

void bcmeta_end_function(struct reader *r) { r->meta->items.count = r->meta->module_count; }
