/* Reading debug metadata; see debug.h. Fields are looked up by name, since nodes are kept as
 * written. */
#include "ir/debug.h"

static struct nvm_meta field(const struct nvm_module *m, const struct meta_node *n,
                             const char *key) {
  struct nvm_str s = strtab_find(&m->strings, key, strlen(key));
  return s.index ? meta_field(&m->metadata, n, s) : (struct nvm_meta){0};
}

uint32_t debug_number(const struct nvm_module *m, const struct meta_node *n, const char *key) {
  const struct meta_item *item = meta_item(&m->metadata, field(m, n, key));
  return item->kind == META_INT && item->number <= INT32_MAX ? (uint32_t)item->number : 0;
}

struct nvm_text debug_text(const struct nvm_module *m, const struct meta_node *n, const char *key) {
  const struct meta_item *item = meta_item(&m->metadata, field(m, n, key));
  return item->kind == META_STRING ? module_text(m, item->str) : (struct nvm_text){"", 0};
}

struct nvm_text debug_word(const struct nvm_module *m, const struct meta_node *n, const char *key) {
  const struct meta_item *item = meta_item(&m->metadata, field(m, n, key));
  return item->kind == META_WORD ? module_text(m, item->str) : (struct nvm_text){"", 0};
}

const struct meta_node *debug_node(const struct nvm_module *m, const struct meta_node *n,
                                   const char *key) {
  return meta_as_node(&m->metadata, field(m, n, key));
}

const struct meta_node *debug_file(const struct nvm_module *m, const struct meta_node *place) {
  enum { MAX_SCOPES = 1000 }; /* the graph may have cycles */
  for (int i = 0; place && i < MAX_SCOPES; i++) {
    const struct meta_node *file = debug_node(m, place, "file");
    if (file) return file;
    place = debug_node(m, place, "scope");
  }
  return NULL;
}
