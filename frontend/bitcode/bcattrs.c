/* Attributes: a group holds those of one function, result or parameter; a list refers to groups.
 * What LLVM packs into numbers is kept as the text that LLVM prints for it (bcattrs_text.c). */
#include "frontend/bitcode/bcattrs.h"

#include "frontend/attrs.h"
#include "frontend/bitcode/bcattrs_text.h"
#include "frontend/bitcode/bctypes.h"

enum { CODE_LIST = 2, CODE_GROUP = 3, MAX_GROUP = 1 << 20, MAX_PARAMETER = 1 << 20 };

/* How an attribute is stored in a group. */
enum stored {
  STORED_FLAG = 0,
  STORED_INT = 1,
  STORED_KEY = 3,
  STORED_KEY_AND_VALUE = 4,
  STORED_NO_TYPE = 5,
  STORED_TYPE = 6,
  STORED_RANGE = 7,
  STORED_RANGES = 8,
};

/* ---- Groups ---- */

/* The string from *k on, up to a zero; *k is then after it. */
static bool read_text(struct reader *r, const struct bits_record *s, uint32_t *k,
                      struct nvm_str *str) {
  r->p.bytes.count = 0;
  for (; *k < s->count && s->numbers[*k]; ++*k)
    if (!VEC_PUSH(&r->p.scratch, &r->p.bytes, (char)s->numbers[*k])) return false;
  if (*k == s->count) return reader_fail(r, "an attribute's text is cut off");
  ++*k;
  *str = strtab_intern(&r->p.m->strings, r->p.bytes.data ? r->p.bytes.data : "", r->p.bytes.count);
  return true;
}

static bool read_string_attribute(struct reader *r, const struct bits_record *s, uint32_t *k,
                                  bool has_value) {
  struct nvm_attr a = {.id = ATTR_UNKNOWN, .payload = ATTR_STRING, .has_value = has_value};
  if (!read_text(r, s, k, &a.str) || (has_value && !read_text(r, s, k, &a.str2))) return false;
  return VEC_PUSH(&r->p.scratch, &r->p.attributes, a);
}

/* A kind without text or type, with a number or (flags: 0) without. */
static bool read_plain(struct reader *r, struct nvm_attr *a, uint64_t number) {
  switch ((enum attr_payload)a->payload) {
    case ATTR_FLAG:
    case ATTR_TYPE: return true;
    case ATTR_TEXT: return bcattrs_text_number(r, a, number);
    case ATTR_INT: a->number = number; break;
    case ATTR_STRING: return false;
  }
  /* Text cannot express it. */
  if (number == UINT64_MAX) return reader_fail(r, "an attribute's number is too large");
  bool power = number && !(number & (number - 1)) && number <= UINT64_C(1) << 32;
  return a->id != ATTR_ALIGN || power || reader_fail(r, "an alignment is not a power of two");
}

/* An attribute with a keyword: *k is at its kind, and then after its payload. */
static bool read_kind(struct reader *r, const struct bits_record *s, uint32_t *k,
                      enum stored stored) {
  if (!reader_needs(r, s, *k + 1)) return false;
  uint64_t kind = s->numbers[(*k)++];
  uint32_t id = kind < sizeof r->attribute_ids ? r->attribute_ids[kind] : 0;
  if (id == 0) return reader_unsupported(r, "an attribute that nvmini does not know");
  struct nvm_attr a = {.id = (uint16_t)id, .payload = (uint8_t)attr_table[id].payload};
  bool has_number = stored == STORED_INT || stored == STORED_TYPE, ok = true;
  if (has_number && !reader_needs(r, s, *k + 1)) return false;
  uint64_t number = has_number ? s->numbers[(*k)++] : 0;
  if (stored == STORED_TYPE && a.payload == ATTR_TYPE) {
    a.type = bctypes_get(r, number);
    enum type_kind of = type_kind(&r->p.m->types, a.type);
    if (of == TY_LABEL || of == TY_METADATA)
      return reader_fail(r, "the type of an attribute is label or metadata");
    ok = a.type.index != 0;
  } else if (stored == STORED_RANGE || stored == STORED_RANGES) {
    bool several = stored == STORED_RANGES;
    ok = id == (several ? ATTR_INITIALIZES : ATTR_RANGE) &&
         bcattrs_text_ranges(r, &a, s, k, several);
    if (!ok) return reader_fail(r, "a range of an attribute is malformed");
  } else {
    ok = read_plain(r, &a, number);
  }
  return ok && VEC_PUSH(&r->p.scratch, &r->p.attributes, a);
}

static bool read_attributes(struct reader *r, const struct bits_record *s) {
  for (uint32_t k = 2; k < s->count;) {
    uint64_t stored = s->numbers[k++];
    bool is_text = stored == STORED_KEY || stored == STORED_KEY_AND_VALUE;
    if (stored > STORED_RANGES || stored == 2)
      return reader_fail(r, "an attribute is stored in an unknown way");
    if (is_text ? !read_string_attribute(r, s, &k, stored == STORED_KEY_AND_VALUE)
                : !read_kind(r, s, &k, (enum stored)stored))
      return false;
  }
  return true;
}

static bool is_typeless(const struct parser *p) {
  for (uint32_t i = 0; i < p->attributes.count; i++) {
    const struct nvm_attr *a = &p->attributes.data[i];
    if (a->payload == ATTR_TYPE && a->type.index == 0) return true;
  }
  return false;
}

static bool read_group(struct reader *r, const struct bits_record *s) {
  if (s->code != CODE_GROUP) return true;
  if (!reader_needs(r, s, 2)) return false;
  if (s->numbers[0] > MAX_GROUP) return reader_fail(r, "an attribute group's number is too large");
  if (s->numbers[1] > MAX_PARAMETER && s->numbers[1] != UINT32_MAX)
    return reader_fail(r, "an attribute group of a parameter that is out of range");
  r->p.attributes.count = 0;
  if (!read_attributes(r, s)) return false;
  /* Records of functions and variables have their alignment themselves. */
  if (s->numbers[1] == UINT32_MAX) (void)attrs_take_alignment(&r->p);
  struct stream_group g = {.index = (uint32_t)s->numbers[1], .typeless = is_typeless(&r->p)};
  g.set = attrs_close(&r->p, TYPE_NONE);
  uint32_t number = (uint32_t)s->numbers[0];
  if (!VEC_PUSH(&r->p.scratch, &r->groups, g) ||
      !VEC_RESERVE(&r->p.scratch, &r->group_of, (uint64_t)number + 1))
    return false;
  if (r->group_of.count <= number) r->group_of.count = number + 1;
  r->group_of.data[number] = r->groups.count;
  return true;
}

bool bcattrs_read_groups(struct reader *r) {
  for (uint32_t id = 1; id < ATTR_ID_COUNT; id++)
    if (attr_table[id].number) r->attribute_ids[attr_table[id].number] = (uint8_t)id;
  return reader_block(r, read_group);
}

/* ---- Lists ---- */

/* Adds a group, or puts it in place of another one of the same index. */
static bool add_group(struct reader *r, struct attribute_list *l, uint32_t group) {
  const struct stream_group *g = &r->groups.data[group - 1];
  uint32_t slot = g->index + 1;
  bool of_parameter = g->index != 0 && g->index != UINT32_MAX;
  if (of_parameter && g->index > l->parameters) l->parameters = g->index;
  l->typeless |= of_parameter && g->typeless;
  if (!VEC_RESERVE(&r->p.scratch, &r->ref_of, (uint64_t)slot + 1)) return false;
  uint32_t *place = &r->ref_of.data[slot];
  if (*place > l->first) {
    r->attribute_refs.data[*place - 1] = group;
    return true;
  }
  *place = r->attribute_refs.count + 1;
  return VEC_PUSH(&r->p.scratch, &r->attribute_refs, group);
}

static bool read_list(struct reader *r, const struct bits_record *s) {
  if (s->code != CODE_LIST) return reader_unsupported(r, "attributes of LLVM before 3.3");
  struct attribute_list l = {.first = r->attribute_refs.count};
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t group = s->numbers[i] < r->group_of.count ? r->group_of.data[s->numbers[i]] : 0;
    if (group == 0) return reader_fail(r, "use of an undefined attribute group");
    if (!add_group(r, &l, group)) return false;
  }
  l.count = r->attribute_refs.count - l.first;
  return VEC_PUSH(&r->p.scratch, &r->lists, l);
}

bool bcattrs_read_lists(struct reader *r) { return reader_block(r, read_list); }

/* The group's set; attributes without their type get that of the parameter's pointee. */
static struct nvm_attrset set_of(struct reader *r, const struct stream_group *g, uint32_t type) {
  struct attr_table_data *t = &r->p.m->attributes;
  if (!g->typeless || g->index == 0 || g->index == UINT32_MAX) return g->set;
  struct attrset_info info = t->sets.data[g->set.index];
  if (!reader_spend(r, info.count)) return g->set;
  r->p.attributes.count = 0;
  for (uint32_t i = 0; i < info.count; i++)
    VEC_PUSH(&r->p.scratch, &r->p.attributes, t->attrs.data[info.first + i]);
  return attrs_close(&r->p, bctypes_parameter_pointee(r, type, g->index - 1));
}

static struct nvm_attrlist make_list(struct reader *r, const struct attribute_list *l,
                                     uint32_t type) {
  struct nvm_attrset function = {0}, result = {0};
  if (!VEC_ROOM(&r->p.scratch, &r->sets, (uint64_t)l->parameters + 1))
    return (struct nvm_attrlist){0};
  struct nvm_attrset *sets = r->sets.data;
  memset(sets, 0, l->parameters * sizeof *sets);
  for (uint32_t i = 0; i < l->count; i++) {
    const struct stream_group *g = &r->groups.data[r->attribute_refs.data[l->first + i] - 1];
    struct nvm_attrset set = set_of(r, g, type);
    if (g->index == UINT32_MAX) function = set;
    else if (g->index == 0) result = set;
    else sets[g->index - 1] = set;
  }
  return attrlist_make(&r->p.m->attributes, function, result, sets, l->parameters);
}

bool bcattrs_list(struct reader *r, uint64_t list, uint32_t function_type, uint32_t arguments,
                  struct nvm_attrlist *made) {
  *made = (struct nvm_attrlist){0};
  if (list == 0) return true;
  if (list > r->lists.count) return reader_fail(r, "use of an undefined attribute list");
  struct attribute_list *l = &r->lists.data[list - 1];
  uint32_t type = l->typeless ? function_type + 1 : 1;
  if (l->parameters > arguments) return reader_fail(r, "an attribute after the last parameter");
  if (l->type != type) {
    if (!reader_spend(r, (uint64_t)l->count + l->parameters)) return false;
    l->made = make_list(r, l, function_type);
    l->type = type;
  }
  *made = l->made;
  return !r->p.refused;
}

bool bcattrs_of_variable(struct reader *r, uint64_t list, struct nvm_attrset *set) {
  *set = (struct nvm_attrset){0};
  if (list == 0) return true;
  if (list > r->lists.count) return reader_fail(r, "use of an undefined attribute list");
  const struct attribute_list *l = &r->lists.data[list - 1];
  for (uint32_t i = 0; i < l->count; i++) {
    const struct stream_group *g = &r->groups.data[r->attribute_refs.data[l->first + i] - 1];
    if (g->index == UINT32_MAX) *set = g->set;
  }
  return true;
}
