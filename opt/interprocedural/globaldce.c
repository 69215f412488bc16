/* globaldce: removes functions and variables that nothing refers to.
 *
 * Purpose:   after inlining, most functions of a library have no caller left; without this they
 *            would be compiled and printed.
 * Algorithm: mark from externally visible symbols (external, weak etc., kernels, operands of
 *            @llvm.used and of annotations, except functions) through bodies and initializers;
 *            remove the rest. Unmarked declarations are removed too.
 * Requires:  nothing.
 * Preserves: all functions that remain.
 * Cost:      linear in operands and constants.
 * Omits:     comdats as units.
 * Tests:     check/opt/globaldce-*. */
#include "opt/passes.h"

struct sweeper {
  struct nvm_module *m;
  struct arena *arena;
  bool *functions, *globals, *constants; /* marked, by number */
  VEC(struct nvm_value) open;            /* marked, with unmarked operands */
};

static bool mark(struct sweeper *s, struct nvm_value v) {
  bool *at = NULL;
  switch (value_kind(v)) {
    case VALUE_CONST: at = &s->constants[value_index(v)]; break;
    case VALUE_GLOBAL: at = &s->globals[value_index(v)]; break;
    case VALUE_FUNCTION: at = &s->functions[value_index(v)]; break;
    case VALUE_NONE:
    case VALUE_INST:
    case VALUE_ARG:
    case VALUE_BLOCK:
    case VALUE_FORWARD: return true;
  }
  if (*at) return true;
  *at = true;
  return VEC_PUSH(s->arena, &s->open, v);
}

static bool mark_body(struct sweeper *s, const struct nvm_function *f) {
  bool ok = mark(s, f->prefix) && mark(s, f->prologue) && mark(s, f->personality);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      for (uint32_t k = 0; ok && k < inst->operand_count; k++)
        ok = mark(s, inst_operand(f, inst, k));
    }
  return ok;
}

static bool mark_operands(struct sweeper *s, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return mark_body(s, module_function(s->m, v));
  if (value_kind(v) == VALUE_GLOBAL) {
    struct nvm_global g = *module_global(s->m, v);
    return mark(s, g.initializer) && mark(s, g.aliasee);
  }
  const struct constant_info *c = constant_info(&s->m->constants, v);
  bool listed = c->kind == CONST_AGGREGATE || c->kind == CONST_EXPR, ok = true;
  for (uint32_t i = 0; ok && listed && i < c->count; i++) ok = mark(s, const_operand(s->m, v, i));
  if (c->kind != CONST_METADATA) return ok;
  const struct meta_item *item = meta_item(&s->m->metadata, (struct nvm_meta){c->meta});
  return item->kind != META_VALUE || mark(s, item->value);
}

/* Variables in metadata (textures, surfaces, managed variables) are roots; functions are not. */
static bool mark_metadata(struct sweeper *s) {
  const struct meta_table *t = &s->m->metadata;
  for (uint32_t i = 0; i < t->items.count; i++) {
    const struct meta_item *item = &t->items.data[i];
    if (item->kind == META_VALUE && value_kind(item->value) != VALUE_FUNCTION &&
        !mark(s, item->value))
      return false;
  }
  return true;
}

static bool mark_all(struct sweeper *s) {
  const struct nvm_module *m = s->m;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (!value_is_none(v) && module_must_keep(s->m, v) && !mark(s, v)) return false;
  }
  if (!mark_metadata(s)) return false;
  while (s->open.count)
    if (!mark_operands(s, s->open.data[--s->open.count])) return false;
  return true;
}

/* Removes annotations of removed functions from named lists. */
static void drop_annotations(struct sweeper *s) {
  struct meta_table *t = &s->m->metadata;
  for (uint32_t i = 0; i < t->named.count; i++) {
    struct named_metadata *n = &t->named.data[i];
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n->count; k++) {
      struct nvm_meta operand = t->operands.data[n->first + k];
      const struct meta_node *node = meta_as_node(t, operand);
      const struct meta_item *first = node && node->count ? meta_item(t, meta_operand(t, node, 0))
                                                          : meta_item(t, (struct nvm_meta){0});
      bool gone = first->kind == META_VALUE && value_kind(first->value) == VALUE_FUNCTION &&
                  !s->functions[value_index(first->value)];
      if (!gone) t->operands.data[n->first + kept++] = operand;
    }
    n->count = kept;
  }
}

static bool is_removed(const struct sweeper *s, const struct meta_item *item) {
  return item->kind == META_VALUE && value_kind(item->value) == VALUE_FUNCTION &&
         !s->functions[value_index(item->value)];
}

/* A DIArgList has values only: removed functions become poison there. */
static void poison_in_lists(struct sweeper *s) {
  struct meta_table *t = &s->m->metadata;
  struct nvm_str list = strtab_find(&s->m->strings, "DIArgList", 9);
  for (uint32_t i = 1; list.index && i < t->nodes.count; i++) {
    struct meta_node n = t->nodes.data[i];
    for (uint32_t k = 0; n.name.index == list.index && k < n.count; k++) {
      struct meta_item item = *meta_item(t, meta_operand(t, &n, k));
      if (!is_removed(s, &item)) continue;
      struct nvm_type type = module_value_type(s->m, item.value);
      t->operands.data[n.first + k] = meta_value(t, const_poison(s->m, type), type);
    }
  }
}

/* Replaces removed functions by null in other metadata, as LLVM does. */
static void nullify_in_metadata(struct sweeper *s) {
  struct meta_table *t = &s->m->metadata;
  poison_in_lists(s);
  for (uint32_t i = 0; i < t->items.count; i++) {
    struct meta_item *item = &t->items.data[i];
    if (is_removed(s, item)) *item = (struct meta_item){.kind = META_NULL};
  }
}

static void remove_symbol(struct sweeper *s, struct nvm_value v) {
  struct nvm_module *m = s->m;
  if (value_kind(v) == VALUE_FUNCTION) function_drop_body(module_function(m, v));
  else module_global(m, v)->initializer = module_global(m, v)->aliasee = VALUE_NULL;
  module_symbol(m, v)->declared_only = true;
}

enum nvm_status globaldce_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct sweeper s = {.m = m, .arena = env->arena};
  s.functions = arena_alloc(env->arena, m->functions.count * sizeof(bool));
  s.globals = arena_alloc(env->arena, m->globals.count * sizeof(bool));
  s.constants = arena_alloc(env->arena, m->constants.infos.count * sizeof(bool));
  if (!s.functions || !s.globals || !s.constants || !mark_all(&s)) return NVM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    bool *marked = value_kind(v) == VALUE_FUNCTION ? s.functions : s.globals;
    if (value_is_none(v) || marked[value_index(v)]) continue;
    remove_symbol(&s, v);
    m->symbol_order.data[i] = VALUE_NULL;
    *env->statistic += 1;
    *changed = true;
  }
  if (*changed) {
    drop_annotations(&s);
    nullify_in_metadata(&s);
  }
  return NVM_OK;
}
