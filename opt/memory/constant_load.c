/* Loads from constant initializers. */
#include "opt/memory/constant_load.h"

/* The element of type `want` at a byte offset in a constant. */
static struct nvm_value constant_at(struct nvm_module *m, struct nvm_value v, uint64_t offset,
                                    struct nvm_type want) {
  const struct type_table *t = &m->types;
  for (;;) {
    struct nvm_type type = module_value_type(m, v);
    if (offset == 0 && type_equal(type, want)) return v;
    const struct type_info *info = type_info(t, type);
    if (info->kind != TY_STRUCT && info->kind != TY_ARRAY && info->kind != TY_VECTOR)
      return VALUE_NULL;
    uint64_t k = 0;
    if (info->kind == TY_STRUCT) {
      if (info->count == 0) return VALUE_NULL;
      k = layout_member_at(&m->layout, t, type, &offset);
    } else {
      uint64_t each = layout_alloc_size(&m->layout, t, info->element);
      if (each == 0 || offset / each >= info->count) return VALUE_NULL;
      if (info->kind == TY_VECTOR && layout_bits(&m->layout, t, info->element) != 8 * each)
        return VALUE_NULL;
      k = offset / each;
      offset %= each;
    }
    v = const_element(m, v, k);
    if (value_kind(v) != VALUE_CONST && !(offset == 0 && !value_is_none(v))) return VALUE_NULL;
    if (value_kind(v) != VALUE_CONST)
      return type_equal(module_value_type(m, v), want) ? v : VALUE_NULL;
  }
}

struct nvm_value constant_load(const struct nvm_function *f, const struct alias_address *a,
                               struct nvm_type type) {
  struct nvm_module *m = f->module;
  if (value_kind(a->base) != VALUE_GLOBAL || a->term_count || a->offset < 0) return VALUE_NULL;
  const struct nvm_global *v = module_global(m, a->base);
  bool replaced = !symbol_is_local(&v->symbol) && v->symbol.linkage != LINK_EXTERNAL &&
                  v->symbol.linkage != LINK_LINKONCE_ODR && v->symbol.linkage != LINK_WEAK_ODR;
  if (!v->is_constant || v->is_alias || v->externally_initialized || replaced ||
      value_is_none(v->initializer))
    return VALUE_NULL;
  return constant_at(m, v->initializer, (uint64_t)a->offset, type);
}
