/* Launch bounds, as codegen/directive.c emits them. They come from string attributes
 * ("nvvm.maxntid" with up to three numbers), which are newer and take precedence, or from
 * !nvvm.annotations, one number for each key. A bound that is required is the one that holds. */
#include "analysis/launch_bounds.h"

#include "ir/attribute.h"
#include "ir/constant.h"
#include "ir/metadata.h"
#include "ir/module.h"
#include "ir/module_flags.h"

enum { MAX_THREADS = 1024 }; /* of a block */

static uint32_t times(uint32_t product, uint64_t number) {
  return number < MAX_THREADS && product * number < MAX_THREADS ? product * (uint32_t)number
                                                                : MAX_THREADS;
}

/* The product of the numbers of "128,2,1"; 0 without the attribute. */
static uint32_t of_attribute(const struct nvm_function *f, const char *name) {
  const struct nvm_module *m = f->module;
  struct nvm_str key = strtab_find(&m->strings, name, strlen(name));
  const struct attr_table_data *a = &m->attributes;
  const struct nvm_attr *bounds =
      key.index ? attrset_find_string(a, attrlist_info(a, f->attributes)->function, key) : NULL;
  if (!bounds) return 0;
  struct nvm_text t = module_text(m, bounds->str2);
  uint32_t product = 1;
  uint64_t number = 0;
  for (size_t k = 0; k <= t.length; k++) {
    bool digit = k < t.length && t.bytes[k] >= '0' && t.bytes[k] <= '9';
    if (digit && number < MAX_THREADS) number = number * 10 + (uint64_t)(t.bytes[k] - '0');
    if (!digit && number) product = times(product, number), number = 0;
  }
  return product;
}

static bool is_of_function(const struct nvm_function *f, const struct meta_node *n) {
  if (!n || n->count < 3) return false;
  const struct meta_table *t = &f->module->metadata;
  const struct meta_item *symbol = meta_item(t, meta_operand(t, n, 0));
  return symbol->kind == META_VALUE && value_kind(symbol->value) == VALUE_FUNCTION &&
         module_function(f->module, symbol->value) == f;
}

/* Multiplies in the numbers of a node's pairs whose key begins with `name`. */
static void multiply_pairs(const struct nvm_function *f, const struct meta_node *n,
                           const char *name, uint32_t *product) {
  const struct nvm_module *m = f->module;
  const struct meta_table *t = &m->metadata;
  for (uint32_t k = 1; k + 1 < n->count; k += 2) {
    const struct meta_item *key = meta_item(t, meta_operand(t, n, k)),
                           *value = meta_item(t, meta_operand(t, n, k + 1));
    struct nvm_text text =
        key->kind == META_STRING ? module_text(m, key->str) : (struct nvm_text){0};
    nvm_u128 number;
    if (text.length != strlen(name) + 1 || memcmp(text.bytes, name, strlen(name)) != 0) continue;
    if (value->kind == META_VALUE && value_kind(value->value) == VALUE_CONST &&
        const_is_int(m, value->value, &number) && number)
      *product = times(*product ? *product : 1, (uint64_t)number);
  }
}

/* The product of the annotations whose key begins with `name`; 0 without any. */
static uint32_t of_annotations(const struct nvm_function *f, const char *name) {
  const struct meta_table *t = &f->module->metadata;
  const struct named_metadata *all = module_named_metadata(f->module, "nvvm.annotations");
  uint32_t product = 0;
  for (uint32_t k = 0; all && k < all->count; k++) {
    const struct meta_node *n = meta_as_node(t, t->operands.data[all->first + k]);
    if (is_of_function(f, n)) multiply_pairs(f, n, name, &product);
  }
  return product;
}

uint32_t launch_bounds_threads(const struct nvm_function *f) {
  uint32_t required = of_attribute(f, "nvvm.reqntid"), most = of_attribute(f, "nvvm.maxntid");
  if (!required) required = of_annotations(f, "reqntid");
  if (!most) most = of_annotations(f, "maxntid");
  return required ? required : most;
}
