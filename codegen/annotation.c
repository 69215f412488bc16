/* Annotations of functions and variables in !nvvm.annotations: !{ptr @f, !"maxntidx", i32 128, …},
 * a symbol and pairs of a key and a value. They are chained by symbol once for the module, so a
 * lookup costs the length of one symbol's list. */
#include "codegen/symbol.h"

struct annotations {
  VEC(struct annotation) all; /* [0]: dummy */
  uint32_t *of_function;      /* by function: its first; 0: none */
  uint32_t *of_global;
};

static uint32_t *head_of(struct lower *l, struct nvm_value symbol) {
  if (value_kind(symbol) == VALUE_FUNCTION)
    return &l->annotations->of_function[value_index(symbol)];
  return value_kind(symbol) == VALUE_GLOBAL ? &l->annotations->of_global[value_index(symbol)]
                                            : NULL;
}

/* The symbol that a node begins with, without casts (of typed pointers). */
static struct nvm_value annotated(const struct lower *l, const struct meta_node *node) {
  if (!node || node->count == 0) return VALUE_NULL;
  const struct meta_item *item =
      meta_item(&l->module->metadata, meta_operand(&l->module->metadata, node, 0));
  if (item->kind != META_VALUE) return VALUE_NULL;
  struct nvm_value v = item->value;
  while (value_kind(v) == VALUE_CONST &&
         constant_info(&l->module->constants, v)->kind == CONST_EXPR &&
         op_is_cast((enum op)constant_info(&l->module->constants, v)->op))
    v = const_operand(l->module, v, 0);
  return names_resolve_alias(l, v);
}

/* Chains the pairs of one node, the last one first: the list is in source order. */
static bool chain_node(struct lower *l, const struct meta_node *node) {
  const struct meta_table *t = &l->module->metadata;
  struct nvm_value symbol = annotated(l, node);
  uint32_t *head = value_is_none(symbol) ? NULL : head_of(l, symbol);
  if (!head) return true;
  for (uint32_t pair = (node->count - 1) / 2; pair-- > 0;) {
    const struct meta_item *key = meta_item(t, meta_operand(t, node, 1 + pair * 2));
    if (key->kind != META_STRING) continue;
    struct annotation a = {key->str, meta_operand(t, node, 2 + pair * 2), *head};
    if (!VEC_PUSH(&l->arena, &l->annotations->all, a)) return false;
    *head = l->annotations->all.count - 1;
  }
  return true;
}

bool annotation_read_all(struct lower *l) {
  struct nvm_module *m = l->module;
  struct annotations *a = l->annotations = arena_alloc(&l->arena, sizeof *a);
  if (!a) return false;
  a->of_function = arena_alloc(&l->arena, m->functions.count * sizeof *a->of_function);
  a->of_global = arena_alloc(&l->arena, m->globals.count * sizeof *a->of_global);
  if (!a->of_function || !a->of_global) return false;
  if (!VEC_PUSH(&l->arena, &a->all, (struct annotation){.next = 0})) return false;
  const struct named_metadata *named =
      meta_find_named(&m->metadata, module_str(m, "nvvm.annotations"));
  if (!named) return true;
  bool *done = arena_alloc(&l->arena, m->metadata.nodes.count * sizeof *done);
  for (uint32_t i = named->count; done && i-- > 0;) {
    const struct meta_node *n =
        meta_as_node(&m->metadata, m->metadata.operands.data[named->first + i]);
    bool *seen = n ? &done[n - m->metadata.nodes.data] : NULL;
    if (!seen || *seen) continue;
    *seen = true;
    if (!chain_node(l, n)) return false;
  }
  return done != NULL;
}

const struct annotation *annotation_first(const struct lower *l, struct nvm_value symbol) {
  const struct annotations *a = l->annotations;
  uint32_t head = value_kind(symbol) == VALUE_FUNCTION ? a->of_function[value_index(symbol)]
                  : value_kind(symbol) == VALUE_GLOBAL ? a->of_global[value_index(symbol)]
                                                       : 0;
  return head ? &a->all.data[head] : NULL;
}

const struct annotation *annotation_next(const struct lower *l, const struct annotation *a) {
  return a->next ? &l->annotations->all.data[a->next] : NULL;
}

bool annotation_is(const struct lower *l, const struct annotation *a, const char *key) {
  return text_is(module_text(l->module, a->key), key);
}

bool annotation_metadata_number(const struct lower *l, struct nvm_meta meta, uint64_t *value) {
  const struct meta_item *item = meta_item(&l->module->metadata, meta);
  nvm_u128 wide = 0;
  bool found = item->kind == META_VALUE && value_kind(item->value) == VALUE_CONST &&
               const_is_int(l->module, item->value, &wide);
  *value = (uint64_t)wide;
  return found;
}

bool annotation_number(const struct lower *l, struct nvm_value symbol, const char *key,
                       uint64_t *value) {
  for (const struct annotation *a = annotation_first(l, symbol); a; a = annotation_next(l, a))
    if (annotation_is(l, a, key) && annotation_metadata_number(l, a->value, value)) return true;
  return false;
}
