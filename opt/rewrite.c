/* Replacing values; see rewrite.h. Linear in the function's operands. */
#include "opt/rewrite.h"

bool rewrite_init(struct rewrite *r, struct nvm_function *f, struct arena *arena) {
  *r = (struct rewrite){.f = f, .size = f->insts.count};
  r->to = arena_alloc(arena, f->insts.count * sizeof *r->to);
  return r->to != NULL;
}

void rewrite_set(struct rewrite *r, struct nvm_inst_id i, struct nvm_value to) {
  r->to[i.index] = to;
  r->count++;
}

struct nvm_value rewrite_get(struct rewrite *r, struct nvm_value v) {
  struct nvm_value root = v;
  while (value_kind(root) == VALUE_INST && value_index(root) < r->size &&
         !value_is_none(r->to[value_index(root)]))
    root = r->to[value_index(root)];
  while (!value_equal(v, root)) { /* later look-ups find the root at once */
    struct nvm_value next = r->to[value_index(v)];
    r->to[value_index(v)] = root;
    v = next;
  }
  return root;
}

/* The metadata operand for a replaced local value: debug records follow the value. */
static struct nvm_value rewrite_metadata(struct rewrite *r, struct nvm_value v) {
  struct nvm_module *m = r->f->module;
  if (value_kind(v) != VALUE_CONST || constant_info(&m->constants, v)->kind != CONST_METADATA)
    return v;
  const struct meta_item *item =
      meta_item(&m->metadata, (struct nvm_meta){constant_info(&m->constants, v)->meta});
  if (item->kind != META_VALUE || value_kind(item->value) != VALUE_INST) return v;
  struct nvm_value now = rewrite_get(r, item->value);
  if (value_equal(now, item->value)) return v;
  return const_metadata(m, meta_value(&m->metadata, now, item->type).index);
}

void rewrite_apply(struct rewrite *r) {
  if (r->count == 0) return;
  struct nvm_function *f = r->f;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      uint32_t n = function_inst(f, i)->operand_count;
      for (uint32_t k = 0; k < n; k++) {
        struct nvm_value v = inst_operand(f, function_inst(f, i), k);
        struct nvm_value now = rewrite_metadata(r, rewrite_get(r, v));
        if (!value_equal(v, now)) inst_set_operand(f, i, k, now);
      }
    }
  FOR_EACH_BLOCK(f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (rewrite_is_set(r, i)) inst_remove(f, i);
    }
}
