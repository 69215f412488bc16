/* What link.c and link_map.c share: the translation of one module's handles into another's. */
#ifndef NVM_FRONTEND_LINK_MAP_H
#define NVM_FRONTEND_LINK_MAP_H

#include "ir/function.h"

struct linker {
  struct nvm_module *into;
  const struct nvm_module *from;
  bool only_needed;
  struct diag_sink *sink;
  struct arena scratch;
  bool failed; /* out of memory, where scratch does not show it */

  /* By handle of `from`: the handle in `into`; 0: not asked for yet. */
  struct nvm_str *strings;
  struct nvm_type *types;
  struct nvm_value *constants, *globals, *functions;
  struct nvm_meta *items;
  uint32_t *nodes; /* + 1: number in `into` */
  uint32_t *sets;  /* + 1: attribute sets, lists */
  uint32_t *lists;
  uint32_t *call_sites, *scopes, *comdats; /* + 1 */

  VEC(uint32_t) open_nodes;           /* have a number in `into`, but no content yet */
  VEC(struct nvm_value) open_symbols; /* definitions of `from` that have a record, but no content */
  VEC(struct nvm_attr) agreed;        /* only_needed: string attributes of `into`'s definitions */
  uint32_t renamed;                   /* last number given to a renamed symbol or type */
};

/* Makes the tables; false when out of memory. */
bool link_map_init(struct linker *l);

/* The string, the type, the value (locals stay what they are) of `into` that is one of `from`. */
struct nvm_str link_string(struct linker *l, struct nvm_str s);
struct nvm_type link_type(struct linker *l, struct nvm_type t);
struct nvm_value link_value(struct linker *l, struct nvm_value v);
/* Likewise metadata; a node is only given a number (link_open_nodes), a symbol that was not copied
 * is null. */
struct nvm_meta link_meta(struct linker *l, struct nvm_meta m);
/* Likewise a set and a list of attributes, a chain of attachments, a comdat (+ 1). */
struct nvm_attrset link_attributes(struct linker *l, struct nvm_attrset s);
struct nvm_attrlist link_attribute_list(struct linker *l, struct nvm_attrlist list);
uint32_t link_attachments(struct linker *l, uint32_t chain);
uint32_t link_comdat(struct linker *l, uint32_t comdat);
/* Copies the content of nodes that were only referred to so far. */
void link_open_nodes(struct linker *l);
/* Copies the body of `g` of `from` into the empty function `f`. */
void link_body(struct linker *l, struct nvm_function *f, const struct nvm_function *g);

/* link.c: the symbol of `into` that stands for one of `from`; made, and what it defines noted to be
 * copied, when it is first asked for. */
struct nvm_value link_symbol(struct linker *l, struct nvm_value v);
/* The same for metadata, which keeps nothing alive: VALUE_NULL if the symbol is not there (yet). */
struct nvm_value link_known_symbol(const struct linker *l, struct nvm_value v);
/* `name.N`, with N so that it is free in both modules; `type`: among names of types. */
struct nvm_str link_free_name(struct linker *l, struct nvm_str name, bool type);

#endif
