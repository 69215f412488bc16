/* Attributes. Those of one set are collected in p->attributes until attrs_close(). A reference to a
 * group (`#5`) may precede the group: it is kept as a pseudo attribute in the set until
 * attrs_finish() replaces it. */
#include "frontend/attrs.h"

#include "frontend/names.h"
#include "frontend/report.h"
#include "frontend/values.h"
#include "ir/function.h"

#include <stdlib.h>

struct attribute_group {
  uint32_t number;
  uint32_t order; /* of definition */
  struct nvm_attrset set;
};

/* A payload besides enum attr_payload: `#5`, number 5; resolved when parsing ends. */
enum { ATTR_GROUP_REFERENCE = 0xff };

struct attrs {
  VEC(struct attribute_group) groups;
  VEC(uint32_t) attribute_places; /* by key: an index into p->attributes */
};

bool attrs_init(struct parser *p) {
  return (p->attrs = arena_alloc(&p->scratch, sizeof *p->attrs)) != NULL;
}

static void push(struct parser *p, struct nvm_attr a) { VEC_PUSH(&p->scratch, &p->attributes, a); }

void attrs_flag(struct parser *p, const struct token *t) {
  push(p, (struct nvm_attr){.id = (uint16_t)t->number, .payload = ATTR_FLAG});
}

/* log2 + 1 of a power of two, 0 of 0. */
static uint8_t log2_of(uint64_t bytes) {
  uint8_t log2 = 0;
  while (log2 < 63 && bytes >> log2 > 1) log2++;
  return bytes ? log2 + 1 : 0;
}

bool attrs_alignment(struct parser *p, const struct token *t, uint32_t *log2_plus_1) {
  uint64_t n = t->number;
  if (n == 0 || (n & (n - 1)) != 0 || n > UINT64_C(1) << 32) {
    report(p, DIAG_ALIGNMENT, t->begin, t->begin + t->length,
           report_copy(p, p->text + t->begin, t->length), NULL, NULL);
    return false;
  }
  *log2_plus_1 = log2_of(n);
  return true;
}

uint8_t attrs_take_alignment(struct parser *p) {
  uint32_t kept = 0;
  uint8_t log2 = 0;
  for (uint32_t i = 0; i < p->attributes.count; i++) {
    struct nvm_attr a = p->attributes.data[i];
    if (a.id == ATTR_ALIGN && a.payload == ATTR_INT) log2 = log2_of(a.number);
    else p->attributes.data[kept++] = a;
  }
  p->attributes.count = kept;
  return log2;
}

void attrs_int(struct parser *p, const struct token *t, const struct token *number) {
  uint64_t n;
  uint32_t ignored;
  if (!values_number(p, number, UINT64_MAX - 1, &n)) return;
  if (t->number == ATTR_ALIGN && n != 0 && !attrs_alignment(p, number, &ignored)) return;
  push(p, (struct nvm_attr){.id = (uint16_t)t->number, .payload = ATTR_INT, .number = n});
}

void attrs_type(struct parser *p, const struct token *t, const struct written_type *type) {
  push(p,
       (struct nvm_attr){
           .id = (uint16_t)t->number, .payload = ATTR_TYPE, .type = type ? type->type : TYPE_NONE});
}

void attrs_text(struct parser *p, const struct token *t) {
  if (t->length == 0 && t->number != ATTR_UWTABLE && t->number != ATTR_DEAD_ON_RETURN) {
    report(p, DIAG_STRING_ATTRIBUTE_PAYLOAD, p->token_begin, p->token_end,
           attr_table[t->number].keyword, NULL, NULL);
    return;
  }
  struct nvm_str text = strtab_intern(&p->m->strings, p->text + t->begin, t->length);
  push(p, (struct nvm_attr){.id = (uint16_t)t->number, .payload = ATTR_TEXT, .str2 = text});
}

void attrs_string(struct parser *p, const struct token *key, const struct token *value) {
  push(p, (struct nvm_attr){.id = ATTR_UNKNOWN,
                            .payload = ATTR_STRING,
                            .has_value = value != NULL,
                            .str = names_string(p, key),
                            .str2 = value ? names_string(p, value) : (struct nvm_str){0}});
}

void attrs_group(struct parser *p, const struct token *t) {
  push(p,
       (struct nvm_attr){.id = ATTR_UNKNOWN, .payload = ATTR_GROUP_REFERENCE, .number = t->number});
}

static bool same_key(const struct nvm_attr *a, const struct nvm_attr *b) {
  return a->id == b->id && a->str.index == b->str.index &&
         (a->id != ATTR_UNKNOWN || a->payload == b->payload);
}

/* Adds to p->attributes, or replaces the attribute with the same key. The index of each key is
 * cached; a stale one from an earlier set is detected by comparing keys. */
static void merge(struct parser *p, const struct nvm_attr *a) {
  uint64_t key = a->id != ATTR_UNKNOWN ? a->id : (uint64_t)ATTR_ID_COUNT + a->str.index;
  if (!VEC_RESERVE(&p->scratch, &p->attrs->attribute_places, key + 1)) return;
  uint32_t *place = &p->attrs->attribute_places.data[key];
  if (*place < p->attributes.count && same_key(&p->attributes.data[*place], a)) {
    p->attributes.data[*place] = *a;
    return;
  }
  *place = p->attributes.count;
  push(p, *a);
}

/* Of attributes with one key the last one counts, as in LLVM. */
struct nvm_attrset attrs_close(struct parser *p, struct nvm_type pointee) {
  const struct nvm_attrset none = {0};
  uint32_t written = p->attributes.count;
  if (written == 0) return none;
  p->attributes.count = 0;
  for (uint32_t i = 0; i < written; i++) {
    struct nvm_attr a = p->attributes.data[i];
    if (a.payload == ATTR_TYPE && a.type.index == 0) a.type = pointee;
    if (a.payload == ATTR_GROUP_REFERENCE) push(p, a);
    else merge(p, &a);
  }
  uint32_t count = p->attributes.count;
  p->attributes.count = 0;
  return attrset_make(&p->m->attributes, p->attributes.data, count);
}

void attrs_define_group(struct parser *p, const struct token *t) {
  struct attribute_group g = {(uint32_t)t->number, p->attrs->groups.count,
                              attrs_close(p, TYPE_NONE)};
  VEC_PUSH(&p->scratch, &p->attrs->groups, g);
}

/* ---- The end of the module ---- */

static int compare_groups(const void *a, const void *b) {
  const struct attribute_group *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* The group of that number, or NULL; several definitions of a group add up. */
static const struct attribute_group *find_group(const struct parser *p, uint32_t number) {
  uint32_t low = 0, high = p->attrs->groups.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->attrs->groups.data[middle].number < number) low = middle + 1;
    else high = middle;
  }
  return low < p->attrs->groups.count && p->attrs->groups.data[low].number == number
             ? &p->attrs->groups.data[low]
             : NULL;
}

/* An undefined group is empty, as in LLVM. */
static void merge_group(struct parser *p, uint32_t number) {
  const struct attribute_group *g = find_group(p, number);
  for (; g && g < p->attrs->groups.data + p->attrs->groups.count && g->number == number; g++) {
    struct attrset_info info = p->m->attributes.sets.data[g->set.index];
    for (uint32_t i = 0; i < info.count; i++) {
      struct nvm_attr a = p->m->attributes.attrs.data[info.first + i];
      if (a.id != ATTR_ALIGN) merge(p, &a);
    }
  }
}

static bool has_reference(const struct parser *p, struct attrset_info info) {
  for (uint32_t i = 0; i < info.count; i++)
    if (p->m->attributes.attrs.data[info.first + i].payload == ATTR_GROUP_REFERENCE) return true;
  return false;
}

/* `align=16` in a group is the alignment of the functions that refer to it. */
static void align_function(struct parser *p, struct nvm_function *f) {
  const struct attr_table_data *t = &p->m->attributes;
  struct attrset_info own = t->sets.data[attrlist_info(t, f->attributes)->function.index];
  for (uint32_t i = 0; i < own.count; i++) {
    const struct nvm_attr *a = &t->attrs.data[own.first + i];
    if (a->payload != ATTR_GROUP_REFERENCE) continue;
    const struct attribute_group *g = find_group(p, (uint32_t)a->number);
    const struct nvm_attr *align = g ? attrset_find(t, g->set, ATTR_ALIGN) : NULL;
    if (align) f->align_log2 = log2_of(align->number);
  }
}

void attrs_finish(struct parser *p) {
  struct attr_table_data *t = &p->m->attributes;
  if (p->attrs->groups.count)
    qsort(p->attrs->groups.data, p->attrs->groups.count, sizeof *p->attrs->groups.data,
          compare_groups);
  for (uint32_t i = 1; i < p->m->functions.count; i++) align_function(p, p->m->functions.data[i]);
  uint32_t count = t->sets.count;
  uint64_t expanded = 0; /* attributes that replaced references */
  for (uint32_t s = 1; s < count; s++) {
    struct attrset_info info = t->sets.data[s];
    if (!has_reference(p, info)) continue;
    p->attributes.count = 0;
    for (uint32_t i = 0; i < info.count; i++) {
      struct nvm_attr a = t->attrs.data[info.first + i];
      if (a.payload == ATTR_GROUP_REFERENCE) merge_group(p, (uint32_t)a.number);
      else merge(p, &a);
    }
    expanded += p->attributes.count;
    if (expanded > PARSE_MAX_EXPANDED) {
      report(p, DIAG_ATTRIBUTES_TOO_MANY, 0, 0, report_number(p, PARSE_MAX_EXPANDED), NULL, NULL);
      break;
    }
    struct nvm_attrset made = attrset_make(t, p->attributes.data, p->attributes.count);
    t->sets.data[s] = t->sets.data[made.index];
  }
  p->attributes.count = 0;
}
