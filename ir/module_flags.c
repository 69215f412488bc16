/* Reading module flags; see module_flags.h. */
#include "ir/module_flags.h"

#include <string.h>

bool module_flag_read(const struct nvm_module *m, struct nvm_meta operand,
                      struct module_flag *flag) {
  const struct meta_table *t = &m->metadata;
  const struct meta_node *n = meta_as_node(t, operand);
  nvm_u128 behaviour;
  if (!n || n->count != 3 || !meta_is_int(m, meta_operand(t, n, 0), &behaviour)) return false;
  const struct meta_item *key = meta_item(t, meta_operand(t, n, 1));
  if (key->kind != META_STRING) return false;
  *flag = (struct module_flag){.behaviour = (uint64_t)behaviour, .key = module_text(m, key->str)};
  flag->is_number = meta_is_int(m, meta_operand(t, n, 2), &flag->value);
  return true;
}

const struct named_metadata *module_named_metadata(const struct nvm_module *m, const char *name) {
  struct nvm_str s = strtab_find(&m->strings, name, strlen(name));
  return s.index ? meta_find_named(&m->metadata, s) : NULL;
}

bool module_flag_find(const struct nvm_module *m, struct nvm_text key, struct module_flag *flag,
                      uint32_t *at) {
  const struct named_metadata *flags = module_named_metadata(m, "llvm.module.flags");
  for (*at = 0; flags && *at < flags->count; ++*at)
    if (module_flag_read(m, m->metadata.operands.data[flags->first + *at], flag) &&
        flag->key.length == key.length && memcmp(flag->key.bytes, key.bytes, key.length) == 0)
      return true;
  return false;
}
