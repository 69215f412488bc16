/* Attribute sets and lists as interned records.
 *
 * A set keeps the order written (two orders are two sets, to print what was read). A list has sets
 * for the function, its result and its parameters. Trailing parameters without attributes are
 * dropped, so equal lists have equal handles. */
#include "ir/attribute.h"

#include "ir/intern.h"

const struct attr_info attr_table[ATTR_ID_COUNT] = {
    [ATTR_UNKNOWN] = {"", ATTR_STRING, ON_FUNCTION | ON_VALUE, 0},
#define ATTRIBUTE(ENUM, keyword, payload, places, number) \
  [ATTR_##ENUM] = {keyword, payload, places, number},
#include "ir/attributes.def"
#undef ATTRIBUTE
};

static uint32_t attrs_hash(const struct nvm_attr *attrs, uint32_t count) {
  uint32_t h = count;
  for (uint32_t i = 0; i < count; i++) {
    const struct nvm_attr *a = &attrs[i];
    h = hash_mix(h, a->id | (uint64_t)a->payload << 16 | (uint64_t)a->has_value << 24 |
                        (uint64_t)a->type.index << 32);
    h = hash_mix(h, (uint64_t)a->str.index << 32 | a->str2.index);
    h = hash_mix(h, a->number);
  }
  return h;
}

static bool set_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct attr_table_data *t = table;
  const struct attrset_info *s = &t->sets.data[k];
  *hash = attrs_hash(t->attrs.data + s->first, s->count);
  return true;
}

static bool attr_equal(const struct nvm_attr *a, const struct nvm_attr *b) {
  return a->id == b->id && a->payload == b->payload && a->has_value == b->has_value &&
         type_equal(a->type, b->type) && a->str.index == b->str.index &&
         a->str2.index == b->str2.index && a->number == b->number;
}

static bool set_matches(const struct attr_table_data *t, uint32_t k, const struct nvm_attr *attrs,
                        uint32_t count) {
  const struct attrset_info *s = &t->sets.data[k];
  if (s->count != count) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!attr_equal(&t->attrs.data[s->first + i], &attrs[i])) return false;
  return true;
}

static uint32_t list_hash(struct nvm_attrset function, struct nvm_attrset result,
                          const struct nvm_attrset *parameters, uint32_t count) {
  uint32_t h = hash_mix(count, (uint64_t)function.index << 32 | result.index);
  for (uint32_t i = 0; i < count; i++) h = hash_mix(h, parameters[i].index);
  return h;
}

static bool list_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct attr_table_data *t = table;
  const struct attrlist_info *l = &t->lists.data[k];
  *hash = list_hash(l->function, l->result, t->parameter_sets.data + l->first, l->count);
  return true;
}

static bool list_matches(const struct attr_table_data *t, uint32_t k,
                         const struct attrlist_info *wanted, const struct nvm_attrset *parameters) {
  const struct attrlist_info *l = &t->lists.data[k];
  if (l->function.index != wanted->function.index || l->result.index != wanted->result.index ||
      l->count != wanted->count)
    return false;
  for (uint32_t i = 0; i < l->count; i++)
    if (t->parameter_sets.data[l->first + i].index != parameters[i].index) return false;
  return true;
}

bool attr_table_init(struct attr_table_data *t, struct arena *arena) {
  *t = (struct attr_table_data){.arena = arena};
  struct attrset_info set = {0};
  struct attrlist_info list = {.count = 0};
  return VEC_PUSH(arena, &t->sets, set) && VEC_PUSH(arena, &t->lists, list) &&
         intern_room(arena, &t->slots, &t->slot_count, 1, 1, set_hash_record, t) &&
         intern_room(arena, &t->list_slots, &t->list_slot_count, 1, 1, list_hash_record, t);
}

struct nvm_attrset attrset_make(struct attr_table_data *t, const struct nvm_attr *attrs,
                                uint32_t count) {
  const struct nvm_attrset none = {0};
  if (count == 0) return none;
  uint32_t hash = attrs_hash(attrs, count), mask = t->slot_count - 1;
  for (uint32_t i = hash & mask; t->slots[i]; i = (i + 1) & mask)
    if (set_matches(t, t->slots[i], attrs, count)) return (struct nvm_attrset){t->slots[i]};
  uint32_t k = t->sets.count;
  struct attrset_info set = {.first = t->attrs.count, .count = count};
  size_t offset = pool_offset(attrs, t->attrs.data, t->attrs.count * sizeof *attrs);
  if (!intern_room(t->arena, &t->slots, &t->slot_count, 1, k, set_hash_record, t) ||
      !VEC_RESERVE(t->arena, &t->attrs, (uint64_t)t->attrs.count + count) ||
      !VEC_PUSH(t->arena, &t->sets, set))
    return none;
  attrs = pool_rebase(attrs, offset, t->attrs.data);
  for (uint32_t i = 0; i < count; i++)
    t->sets.data[k].has[attrs[i].id / 64] |= UINT64_C(1) << attrs[i].id % 64;
  for (uint32_t i = 0; i < count; i++) t->attrs.data[t->attrs.count++] = attrs[i];
  intern_enter(t->slots, t->slot_count, hash, k);
  return (struct nvm_attrset){k};
}

static struct nvm_attrlist list_add(struct attr_table_data *t, struct attrlist_info list,
                                    const struct nvm_attrset *parameters, uint32_t hash) {
  const struct nvm_attrlist none = {0};
  uint32_t k = t->lists.count;
  list.first = t->parameter_sets.count;
  size_t offset = pool_offset(parameters, t->parameter_sets.data, list.first * sizeof *parameters);
  if (!intern_room(t->arena, &t->list_slots, &t->list_slot_count, 1, k, list_hash_record, t) ||
      !VEC_RESERVE(t->arena, &t->parameter_sets, (uint64_t)list.first + list.count) ||
      !VEC_PUSH(t->arena, &t->lists, list))
    return none;
  parameters = pool_rebase(parameters, offset, t->parameter_sets.data);
  for (uint32_t i = 0; i < list.count; i++)
    t->parameter_sets.data[t->parameter_sets.count++] = parameters[i];
  intern_enter(t->list_slots, t->list_slot_count, hash, k);
  return (struct nvm_attrlist){k};
}

struct nvm_attrset attrset_without(struct attr_table_data *t, struct nvm_attrset s, enum attr_id id,
                                   struct arena *scratch) {
  struct attrset_info info = t->sets.data[s.index];
  struct nvm_attr *left = arena_alloc(scratch, (info.count + 1) * sizeof *left);
  uint32_t count = 0;
  for (uint32_t k = 0; left && k < info.count; k++)
    if (t->attrs.data[info.first + k].id != id) left[count++] = t->attrs.data[info.first + k];
  return left ? attrset_make(t, left, count) : (struct nvm_attrset){0};
}

struct nvm_attrlist attrlist_make(struct attr_table_data *t, struct nvm_attrset function,
                                  struct nvm_attrset result, const struct nvm_attrset *parameters,
                                  uint32_t count) {
  while (count > 0 && parameters[count - 1].index == 0) count--;
  if (count == 0 && function.index == 0 && result.index == 0) return (struct nvm_attrlist){0};
  struct attrlist_info list = {.function = function, .result = result, .count = count};
  uint32_t hash = list_hash(function, result, parameters, count), mask = t->list_slot_count - 1;
  for (uint32_t i = hash & mask; t->list_slots[i]; i = (i + 1) & mask)
    if (list_matches(t, t->list_slots[i], &list, parameters))
      return (struct nvm_attrlist){t->list_slots[i]};
  return list_add(t, list, parameters, hash);
}

const struct nvm_attr *attrset_get(const struct attr_table_data *t, struct nvm_attrset s,
                                   enum attr_id id) {
  const struct attrset_info *set = &t->sets.data[s.index];
  for (uint32_t i = 0; i < set->count; i++)
    if (t->attrs.data[set->first + i].id == id) return &t->attrs.data[set->first + i];
  return NULL;
}

uint32_t attr_align_bytes(const struct nvm_attr *align) {
  return align == NULL               ? 0
         : align->number > INT32_MAX ? UINT32_C(1) << 31
                                     : (uint32_t)align->number;
}

uint32_t attrset_align(const struct attr_table_data *t, struct nvm_attrset s) {
  return attr_align_bytes(attrset_find(t, s, ATTR_ALIGN));
}

const struct nvm_attr *attrset_find_string(const struct attr_table_data *t, struct nvm_attrset s,
                                           struct nvm_str key) {
  const struct attrset_info *set = &t->sets.data[s.index];
  for (uint32_t i = 0; i < set->count; i++) {
    const struct nvm_attr *a = &t->attrs.data[set->first + i];
    if (a->payload == ATTR_STRING && a->str.index == key.index) return a;
  }
  return NULL;
}

struct nvm_attrset attrlist_parameter(const struct attr_table_data *t, struct nvm_attrlist l,
                                      uint32_t i) {
  const struct attrlist_info *list = attrlist_info(t, l);
  return i < list->count ? t->parameter_sets.data[list->first + i] : (struct nvm_attrset){0};
}
