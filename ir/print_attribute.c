/* Attributes: in place on parameters and results, in groups on functions, calls and globals. */
#include "ir/print_internal.h"

static void print_string_attribute(struct printer *p, const struct nvm_attr *a) {
  print_quoted(p, "", a->str);
  if (a->has_value) print_quoted(p, "=", a->str2);
}

/* `align 16` in place, `align=16` in a group; the others always `dereferenceable(16)`. */
static void print_int_attribute(struct printer *p, const struct nvm_attr *a, bool group) {
  bool is_align = a->id == ATTR_ALIGN;
  bool bare = is_align || (group && a->id == ATTR_ALIGNSTACK);
  if (bare) print_char(p, group ? '=' : ' ');
  else print_char(p, '(');
  print_number(p, a->number);
  if (!bare) print_char(p, ')');
}

static void print_attribute(struct printer *p, const struct nvm_attr *a, bool group) {
  if (a->payload == ATTR_STRING) {
    print_string_attribute(p, a);
    return;
  }
  if (a->id == ATTR_UNKNOWN) textbuf_text(p->out, module_text(p->m, a->str));
  else print_word(p, attr_table[a->id].keyword);
  switch ((enum attr_payload)a->payload) {
  case ATTR_FLAG:
  case ATTR_STRING: break;
  case ATTR_INT: print_int_attribute(p, a, group); break;
  case ATTR_TYPE:
    if (type_equal(a->type, TYPE_NONE)) break; /* the older spelling, without a type */
    print_char(p, '(');
    print_type(p, a->type);
    print_char(p, ')');
    break;
  case ATTR_TEXT:
    if (a->str2.index == 0) break; /* uwtable alone */
    print_char(p, '(');
    textbuf_text(p->out, module_text(p->m, a->str2));
    print_char(p, ')');
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

void print_attributes(struct printer *p, struct nvm_attrset set) { print_set(p, set, false); }

/* The set's place in group_numbers: its first attribute, since parsing leaves several sets with one
 * list of attributes where groups are referred to. UINT32_MAX for an empty one. */
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
  print_word(p, " #");
  print_number(p, p->numbered_groups ? p->group_numbers[key] - 1 : set.index);
}

void print_groups(struct printer *p) {
  for (uint32_t i = 0; i < p->groups.count; i++) {
    if (i == 0) print_gap(p);
    print_word(p, "attributes #");
    print_number(p, i);
    print_word(p, " = { ");
    print_set(p, (struct nvm_attrset){p->groups.data[i]}, true);
    print_word(p, " }\n");
  }
}
