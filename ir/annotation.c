/* Annotations of functions and variables in !nvvm.annotations: !{ptr @f, !"maxntidx", i32 128, …},
 * a symbol and pairs of a key and a value. They are chained by symbol once for the module, so a
 * lookup costs the length of one symbol's list. */
#include "ir/annotation.h"

#include "ir/constant.h"
#include "ir/metadata.h"
#include "ir/module_flags.h"

struct annotations {
  const struct nvm_module *module;
  VEC(struct annotation) all; /* [0]: dummy */
  uint32_t function_count, global_count;
  uint32_t *of_function; /* by function: its first; 0: none */
  uint32_t *of_global;
};

/* The first annotation of a symbol; NULL if the index does not know the symbol. */
static uint32_t *head_of(const struct annotations *a, struct nvm_value symbol) {
  uint32_t n = value_index(symbol);
  if (value_kind(symbol) == VALUE_FUNCTION)
    return n < a->function_count ? &a->of_function[n] : NULL;
  if (value_kind(symbol) == VALUE_GLOBAL) return n < a->global_count ? &a->of_global[n] : NULL;
  return NULL;
}

/* The symbol that a node begins with, without casts (of typed pointers) and aliases. */
static struct nvm_value annotated(const struct nvm_module *m, const struct meta_node *node) {
  if (!node || node->count == 0) return VALUE_NULL;
  const struct meta_item *item = meta_item(&m->metadata, meta_operand(&m->metadata, node, 0));
  if (item->kind != META_VALUE) return VALUE_NULL;
  struct nvm_value v = item->value;
  while (value_kind(v) == VALUE_CONST && constant_info(&m->constants, v)->kind == CONST_EXPR &&
         op_is_cast((enum op)constant_info(&m->constants, v)->op))
    v = const_operand(m, v, 0);
  return module_resolve_alias(m, v);
}

/* Chains the pairs of one node, the last one first: the list is in source order. */
static bool chain_node(struct annotations *a, struct arena *arena, const struct meta_node *node) {
  const struct meta_table *t = &a->module->metadata;
  struct nvm_value symbol = annotated(a->module, node);
  uint32_t *head = value_is_none(symbol) ? NULL : head_of(a, symbol);
  if (!head) return true;
  for (uint32_t pair = (node->count - 1) / 2; pair-- > 0;) {
    const struct meta_item *key = meta_item(t, meta_operand(t, node, 1 + pair * 2));
    if (key->kind != META_STRING) continue;
    struct annotation one = {key->str, meta_operand(t, node, 2 + pair * 2), *head};
    if (!VEC_PUSH(arena, &a->all, one)) return false;
    *head = a->all.count - 1;
  }
  return true;
}

/* Chains each node once, the last one first. */
static bool chain_all(struct annotations *a, struct arena *arena) {
  const struct meta_table *t = &a->module->metadata;
  const struct named_metadata *named = module_named_metadata(a->module, "nvvm.annotations");
  if (!named) return true;
  bool *done = arena_alloc(arena, t->nodes.count * sizeof *done);
  for (uint32_t i = named->count; done && i-- > 0;) {
    const struct meta_node *n = meta_as_node(t, t->operands.data[named->first + i]);
    bool *seen = n ? &done[n - t->nodes.data] : NULL;
    if (!seen || *seen) continue;
    *seen = true;
    if (!chain_node(a, arena, n)) return false;
  }
  return done != NULL;
}

const struct annotations *annotations_read(const struct nvm_module *m, struct arena *arena) {
  struct annotations *a = arena_alloc(arena, sizeof *a);
  if (!a) return NULL;
  *a = (struct annotations){
      .module = m, .function_count = m->functions.count, .global_count = m->globals.count};
  a->of_function = arena_alloc(arena, m->functions.count * sizeof *a->of_function);
  a->of_global = arena_alloc(arena, m->globals.count * sizeof *a->of_global);
  bool done = a->of_function && a->of_global &&
              VEC_PUSH(arena, &a->all, (struct annotation){.next = 0}) && chain_all(a, arena);
  return done ? a : NULL;
}

const struct nvm_module *annotations_module(const struct annotations *all) { return all->module; }

const struct annotation *annotation_first(const struct annotations *all, struct nvm_value symbol) {
  const uint32_t *head = head_of(all, symbol);
  return head && *head ? &all->all.data[*head] : NULL;
}

const struct annotation *annotation_next(const struct annotations *all,
                                         const struct annotation *a) {
  return a->next ? &all->all.data[a->next] : NULL;
}

bool annotation_is(const struct annotations *all, const struct annotation *a, const char *key) {
  return text_is(module_text(all->module, a->key), key);
}

bool annotation_number(const struct annotations *all, struct nvm_value symbol, const char *key,
                       uint64_t *value) {
  nvm_u128 wide = 0;
  for (const struct annotation *a = annotation_first(all, symbol); a; a = annotation_next(all, a))
    if (annotation_is(all, a, key) && meta_is_int(all->module, a->value, &wide)) {
      *value = (uint64_t)wide;
      return true;
    }
  return false;
}
