/* LLVM prints named types in the order in which it finds them: in variables with their
 * initializers, aliases, then function after function in types, attributes and instructions.
 * Comdats come in the order of the functions, then of the variables that use them. The text of a
 * module has these orders, a stream has others. */
#include "frontend/bitcode/bcorder.h"

#include "ir/function.h"

/* Something to search: a type, or a constant. */
struct search_item {
  struct nvm_type type; /* TYPE_NONE: a constant */
  struct nvm_value value;
};

struct search {
  struct reader *r;
  struct nvm_module *m;
  bool *seen_types, *visited_types; /* by index: pushed, in most cases; popped */
  bool *seen_constants, *seen_lists;
  uint32_t *place; /* of named types, by type: from 1 */
  uint32_t found;
  VEC(struct search_item) stack; /* the next one last */
};

static void push(struct search *y, struct nvm_type type, struct nvm_value value) {
  struct search_item item = {type, value};
  VEC_PUSH(&y->r->p.scratch, &y->stack, item);
}

static void push_type(struct search *y, struct nvm_type type) {
  if (type.index == 0 || y->seen_types[type.index]) return;
  y->seen_types[type.index] = true;
  push(y, type, VALUE_NULL);
}

/* Notes the type and pushes those that it contains, the first one last. */
static void visit_type(struct search *y, struct nvm_type type) {
  const struct type_table *t = &y->m->types;
  const struct type_info *info = type_info(t, type);
  bool function = info->kind == TY_FUNCTION;
  if (info->kind == TY_STRUCT && info->name.index) y->place[type.index] = ++y->found;
  if (function || (info->kind == TY_STRUCT && !(info->flags & TYPE_OPAQUE)))
    for (uint32_t i = (uint32_t)info->count; i-- > 0;) push_type(y, type_member(t, type, i));
  if (function || info->kind == TY_ARRAY || info->kind == TY_VECTOR) push_type(y, info->element);
}

/* Pushes the operands of a constant, the first one last. */
static void visit_constant(struct search *y, struct nvm_value v) {
  const struct constant_info *c = constant_info(&y->m->constants, v);
  if (y->seen_constants[value_index(v)]) return;
  y->seen_constants[value_index(v)] = true;
  bool has_operands = c->kind == CONST_AGGREGATE || c->kind == CONST_EXPR;
  if (c->kind == CONST_ASM || c->kind == CONST_METADATA) return;
  /* Pushed even if seen: the operands, which come first, may contain it. */
  if (c->kind == CONST_EXPR && c->op == OP_GEP) push(y, (struct nvm_type){c->aux}, VALUE_NULL);
  for (uint32_t i = has_operands ? c->count : 0; i-- > 0;)
    push(y, TYPE_NONE, const_operand(y->m, v, i));
  push_type(y, c->type);
}

static void search(struct search *y) {
  while (y->stack.count > 0) {
    struct search_item item = y->stack.data[--y->stack.count];
    if (item.type.index == 0) {
      if (value_kind(item.value) == VALUE_CONST) visit_constant(y, item.value);
    } else if (!y->visited_types[item.type.index]) {
      y->seen_types[item.type.index] = y->visited_types[item.type.index] = true;
      visit_type(y, item.type);
    }
  }
}

static void search_type(struct search *y, struct nvm_type type) {
  push_type(y, type);
  search(y);
}

static void search_value(struct search *y, struct nvm_value v) {
  if (value_kind(v) != VALUE_CONST || y->seen_constants[value_index(v)]) return;
  push(y, TYPE_NONE, v);
  search(y);
}

static void search_set(struct search *y, struct nvm_attrset set) {
  const struct attr_table_data *t = &y->m->attributes;
  struct attrset_info info = t->sets.data[set.index];
  for (uint32_t i = 0; i < info.count; i++) search_type(y, t->attrs.data[info.first + i].type);
}

static void search_list(struct search *y, struct nvm_attrlist list) {
  if (y->seen_lists[list.index]) return;
  y->seen_lists[list.index] = true;
  const struct attrlist_info *info = attrlist_info(&y->m->attributes, list);
  for (uint32_t i = 0; i < info->count; i++)
    search_set(y, y->m->attributes.parameter_sets.data[info->first + i]);
}

static void search_inst(struct search *y, const struct nvm_function *f, const struct nvm_inst *i) {
  search_type(y, i->type);
  for (uint32_t k = 0; k < i->operand_count; k++) search_value(y, inst_operand(f, i, k));
  if (i->op == OP_GEP || i->op == OP_ALLOCA) search_type(y, (struct nvm_type){i->aux});
  if (i->op == OP_CALL) search_list(y, call_site_of(f, i)->attributes);
}

static void search_function(struct search *y, const struct nvm_function *f) {
  search_type(y, f->type);
  search_list(y, f->attributes);
  search_value(y, f->prefix);
  search_value(y, f->prologue);
  search_value(y, f->personality);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) search_inst(y, f, function_inst(f, i));
}

static void search_module(struct search *y, uint32_t wanted) {
  for (int aliases = 0; aliases < 2; aliases++) {
    for (uint32_t i = 1; i < y->m->globals.count; i++) {
      const struct nvm_global *g = &y->m->globals.data[i];
      if ((g->is_alias || g->is_ifunc) != aliases) continue;
      search_type(y, g->value_type);
      search_value(y, aliases ? g->aliasee : g->initializer);
    }
  }
  for (uint32_t i = 1; i < y->m->functions.count && y->found < wanted; i++)
    search_function(y, y->m->functions.data[i]);
}

/* ---- Sorting ---- */

/* Gives the named types their places; those that were not found come last, in the old order. */
static bool sort_types(struct search *y) {
  struct type_table *t = &y->m->types;
  uint32_t count = t->named.count;
  struct nvm_type *sorted = arena_alloc(&y->r->p.scratch, (count + 1) * sizeof *sorted);
  if (!sorted) return false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t *place = &y->place[t->named.data[i].index];
    if (*place == 0) *place = ++y->found;
    sorted[*place - 1] = t->named.data[i];
  }
  for (uint32_t i = 0; i < t->named_slot_count; i++)
    if (t->named_slots[i]) t->named_slots[i] = y->place[t->named.data[t->named_slots[i] - 1].index];
  for (uint32_t i = 0; i < count; i++) t->named.data[i] = sorted[i];
  return true;
}

static bool order_types(struct reader *r) {
  struct nvm_module *m = r->p.m;
  struct search y = {.r = r, .m = m};
  struct arena *a = &r->p.scratch;
  if (m->types.named.count < 2) return true;
  y.seen_types = arena_alloc(a, m->types.infos.count);
  y.visited_types = arena_alloc(a, m->types.infos.count);
  y.seen_constants = arena_alloc(a, m->constants.infos.count);
  y.seen_lists = arena_alloc(a, m->attributes.lists.count);
  y.place = arena_alloc(a, m->types.infos.count * sizeof *y.place);
  if (a->failed) return false;
  search_module(&y, m->types.named.count);
  return !a->failed && sort_types(&y);
}

static void place_comdat(uint32_t *place, uint32_t *found, uint32_t comdat) {
  if (comdat && place[comdat] == 0) place[comdat] = ++*found;
}

/* Comdats without a use are not printed by LLVM; here they come last. */
static bool order_comdats(struct reader *r) {
  struct nvm_module *m = r->p.m;
  uint32_t count = m->comdats.count, found = 0;
  uint32_t *place = arena_alloc(&r->p.scratch, (count + 1) * sizeof *place);
  struct comdat *old = arena_alloc(&r->p.scratch, (count + 1) * sizeof *old);
  if (!place || !old) return false;
  for (uint32_t i = 1; i < m->functions.count; i++)
    place_comdat(place, &found, m->functions.data[i]->symbol.comdat);
  for (uint32_t i = 1; i < m->globals.count; i++)
    place_comdat(place, &found, m->globals.data[i].symbol.comdat);
  for (uint32_t i = 0; i < count; i++) {
    place_comdat(place, &found, i + 1);
    old[i] = m->comdats.data[i];
  }
  for (uint32_t i = 0; i < count; i++) m->comdats.data[place[i + 1] - 1] = old[i];
  for (uint32_t i = 1; i < m->functions.count; i++)
    m->functions.data[i]->symbol.comdat = place[m->functions.data[i]->symbol.comdat];
  for (uint32_t i = 1; i < m->globals.count; i++)
    m->globals.data[i].symbol.comdat = place[m->globals.data[i].symbol.comdat];
  return true;
}

bool bcorder_finish(struct reader *r) { return order_types(r) && order_comdats(r); }
