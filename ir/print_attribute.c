/* Attributes: in place on parameters and results, in groups on functions, calls and globals. */
#include "ir/print_internal.h"

/* `align 16` in place, `align=16` in a group; the others always `dereferenceable(16)`. */
static void print_int_attribute(struct printer *p, const struct nvm_attr *a, bool group) {
  bool bare = a->id == ATTR_ALIGN || (group && a->id == ATTR_ALIGNSTACK);
  print_format(p, !bare ? "(%U)" : group ? "=%U" : " %U", a->number);
}

static void print_attribute(struct printer *p, const struct nvm_attr *a, bool group) {
  if (a->payload == ATTR_STRING) {
    print_format(p, a->has_value ? "%Q=%Q" : "%Q", a->str, a->str2);
    return;
  }
  if (a->id == ATTR_UNKNOWN) textbuf_text(p->out, module_text(p->m, a->str));
  else print_word(p, attr_table[a->id].keyword);
  switch ((enum attr_payload)a->payload) {
    case ATTR_FLAG:
    case ATTR_STRING: break;
    case ATTR_INT: print_int_attribute(p, a, group); break;
    case ATTR_TYPE: /* the older spelling has no type */
      if (!type_equal(a->type, TYPE_NONE)) print_format(p, "(%T)", a->type);
      break;
    case ATTR_TEXT: /* uwtable and dead_on_return may have no argument */
      if (a->str2.index) print_format(p, "(%t)", module_text(p->m, a->str2));
      break;
  }
}

static void print_set(struct printer *p, struct nvm_attrset set, bool group) {
  const struct attrset_info *info = &p->m->attributes.sets.data[set.index];
  for (uint32_t i = 0; i < info->count; i++) {
    if (i) print_char(p, ' ');
    print_attribute(p, &p->m->attributes.attrs.data[info->first + i], group);
  }
}

void print_attributes(struct printer *p, const char *before, struct nvm_attrset set,
                      const char *after) {
  if (set.index == 0) return;
  print_word(p, before);
  print_set(p, set, false);
  print_word(p, after);
}

/* The set's index in group_numbers: its first attribute, since parsing references to groups creates
 * several sets with one list of attributes. UINT32_MAX for the empty set. */
static uint32_t group_key(const struct printer *p, struct nvm_attrset set) {
  const struct attrset_info *info = &p->m->attributes.sets.data[set.index];
  return info->count ? info->first : UINT32_MAX;
}

void print_number_group(struct printer *p, struct nvm_attrset set) {
  uint32_t key = group_key(p, set);
  if (!p->numbered_groups || key == UINT32_MAX || p->group_numbers[key]) return;
  if (VEC_PUSH(&p->scratch, &p->groups, set.index)) p->group_numbers[key] = p->groups.count;
}

void print_group_reference(struct printer *p, struct nvm_attrset set) {
  uint32_t key = group_key(p, set);
  if (key == UINT32_MAX) return;
  print_number_group(p, set);
  print_format(p, " #%u", p->numbered_groups ? p->group_numbers[key] - 1 : set.index);
}

void print_groups(struct printer *p) {
  for (uint32_t i = 0; i < p->groups.count; i++) {
    if (i == 0) print_gap(p);
    print_format(p, "attributes #%u = { ", i);
    print_set(p, (struct nvm_attrset){p->groups.data[i]}, true);
    print_word(p, " }\n");
  }
}
