/* The metadata graph: interned items (strings, numbers, values, references to nodes) and nodes.
 *
 * Nodes are not interned: their numbers are the source's, and a node may be referenced before its
 * definition. Items are interned, so `!"float"` and `i32 1` cost one record each. */
#include "ir/metadata.h"

#include "ir/intern.h"

static uint32_t item_payload(const struct meta_item *item) {
  switch ((enum meta_kind)item->kind) {
    case META_NULL:
    case META_INT:
    case META_UNSIGNED: return 0;
    case META_STRING:
    case META_WORD: return item->str.index;
    case META_NODE:
    case META_INLINE: return item->node;
    case META_VALUE: return item->value.bits;
  }
  return 0;
}

static uint32_t item_hash(const struct meta_item *item) {
  uint32_t h = hash_mix(item->kind, (uint64_t)item->type.index << 32 | item_payload(item));
  return hash_mix(h, item->number);
}

static bool item_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  *hash = item_hash(&((const struct meta_table *)table)->items.data[k]);
  return true;
}

static bool item_equal(const struct meta_item *a, const struct meta_item *b) {
  return a->kind == b->kind && item_payload(a) == item_payload(b) && type_equal(a->type, b->type) &&
         a->number == b->number;
}

static struct nvm_meta item_intern(struct meta_table *t, struct meta_item item) {
  const struct nvm_meta none = {0};
  uint32_t hash = item_hash(&item), mask = t->slot_count - 1;
  for (uint32_t i = hash & mask; t->slots[i]; i = (i + 1) & mask)
    if (item_equal(&t->items.data[t->slots[i]], &item)) return (struct nvm_meta){t->slots[i]};
  uint32_t k = t->items.count;
  if (!intern_room(t->arena, &t->slots, &t->slot_count, 1, k, item_hash_record, t) ||
      !VEC_PUSH(t->arena, &t->items, item))
    return none;
  intern_enter(t->slots, t->slot_count, hash, k);
  return (struct nvm_meta){k};
}

bool meta_table_init(struct meta_table *t, struct arena *arena) {
  *t = (struct meta_table){.arena = arena};
  struct meta_item null = {.kind = META_NULL};
  struct meta_node dummy = {.defined = true};
  return VEC_PUSH(arena, &t->items, null) && VEC_PUSH(arena, &t->nodes, dummy) &&
         intern_room(arena, &t->slots, &t->slot_count, 1, 1, item_hash_record, t);
}

struct nvm_meta meta_string(struct meta_table *t, struct nvm_str s) {
  return item_intern(t, (struct meta_item){.kind = META_STRING, .str = s});
}

struct nvm_meta meta_word(struct meta_table *t, struct nvm_str s) {
  return item_intern(t, (struct meta_item){.kind = META_WORD, .str = s});
}

struct nvm_meta meta_int(struct meta_table *t, uint64_t bits, bool is_unsigned) {
  enum meta_kind kind = is_unsigned && bits > INT64_MAX ? META_UNSIGNED : META_INT;
  return item_intern(t, (struct meta_item){.kind = (uint8_t)kind, .number = bits});
}

struct nvm_meta meta_value(struct meta_table *t, struct nvm_value v, struct nvm_type type) {
  t->has_locals |= value_kind(v) == VALUE_INST;
  return item_intern(t, (struct meta_item){.kind = META_VALUE, .value = v, .type = type});
}

struct nvm_meta meta_node(struct meta_table *t, uint32_t node, bool is_inline) {
  enum meta_kind kind = is_inline ? META_INLINE : META_NODE;
  return item_intern(t, (struct meta_item){.kind = (uint8_t)kind, .node = node});
}

uint32_t meta_node_new(struct meta_table *t) {
  uint32_t k = t->nodes.count;
  struct meta_node n = {0};
  return VEC_PUSH(t->arena, &t->nodes, n) ? k : 0;
}

/* Copies operands to the pool, and keys (unless NULL) to the parallel one. */
static bool operands_add(struct meta_table *t, const struct nvm_str *keys,
                         const struct nvm_meta *operands, uint32_t count, uint32_t *first) {
  uint64_t end = (uint64_t)t->operands.count + count;
  size_t offset = pool_offset(operands, t->operands.data, t->operands.count * sizeof *operands);
  size_t key_offset = pool_offset(keys, t->keys.data, t->keys.count * sizeof *keys);
  if (!VEC_RESERVE(t->arena, &t->operands, end) || !VEC_RESERVE(t->arena, &t->keys, end))
    return false;
  operands = pool_rebase(operands, offset, t->operands.data);
  keys = pool_rebase(keys, key_offset, t->keys.data);
  *first = t->operands.count;
  for (uint32_t i = 0; i < count; i++) {
    t->operands.data[*first + i] = operands[i];
    t->keys.data[*first + i] = keys ? keys[i] : (struct nvm_str){0};
  }
  t->operands.count = t->keys.count = (uint32_t)end;
  return true;
}

bool meta_node_define(struct meta_table *t, uint32_t node, struct nvm_str name, bool distinct,
                      const struct nvm_str *keys, const struct nvm_meta *operands, uint32_t count) {
  uint32_t first;
  if (node == 0 || !operands_add(t, keys, operands, count, &first)) return false;
  t->nodes.data[node] = (struct meta_node){
      .name = name, .first = first, .count = count, .distinct = distinct, .defined = true};
  return true;
}

bool meta_add_named(struct meta_table *t, struct nvm_str name, const struct nvm_meta *operands,
                    uint32_t count) {
  struct named_metadata named = {.name = name, .count = count};
  if (!VEC_RESERVE(t->arena, &t->named, (uint64_t)t->named.count + 1) ||
      !operands_add(t, NULL, operands, count, &named.first))
    return false;
  t->named.data[t->named.count++] = named;
  return true;
}

const struct meta_node *meta_as_node(const struct meta_table *t, struct nvm_meta m) {
  const struct meta_item *item = meta_item(t, m);
  if (item->kind != META_NODE && item->kind != META_INLINE) return NULL;
  return &t->nodes.data[item->node];
}

struct nvm_meta meta_field(const struct meta_table *t, const struct meta_node *n,
                           struct nvm_str key) {
  if (n->name.index == 0) return (struct nvm_meta){0};
  for (uint32_t i = 0; i < n->count; i++)
    if (t->keys.data[n->first + i].index == key.index) return t->operands.data[n->first + i];
  return (struct nvm_meta){0};
}

const struct named_metadata *meta_find_named(const struct meta_table *t, struct nvm_str name) {
  for (uint32_t i = 0; i < t->named.count; i++)
    if (t->named.data[i].name.index == name.index) return &t->named.data[i];
  return NULL;
}
