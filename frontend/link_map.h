/* Shared by link.c and link_map.c: translation of handles of one module into another's. */
#ifndef NVM_FRONTEND_LINK_MAP_H
#define NVM_FRONTEND_LINK_MAP_H

#include "ir/function.h"

struct linker {
  struct nvm_module *into;
  const struct nvm_module *from;
  bool only_needed;
  struct diag_sink *sink;
  struct arena scratch;
  bool failed; /* out of memory outside scratch */

  /* By handle of `from`: the handle in `into`; 0: not translated yet. */
  struct nvm_str *strings;
  struct nvm_type *types;
  struct nvm_value *constants, *globals, *functions;
  struct nvm_meta *items;
  uint32_t *nodes; /* + 1: number in `into` */
  uint32_t *sets;  /* + 1: attribute sets, lists */
  uint32_t *lists;
  uint32_t *call_sites, *scopes, *comdats; /* + 1 */

  VEC(uint32_t) open_nodes;           /* nodes with a number in `into`, but no content yet */
  VEC(struct nvm_value) open_symbols; /* definitions of `from` with a record, but no content yet */
  VEC(struct nvm_attr) agreed;        /* only_needed: string attributes of `into`'s definitions */
  uint32_t renamed;                   /* last number given to a renamed symbol or type */
};

/* Makes the tables; false when out of memory. */
bool link_map_init(struct linker *l);

/* Translate a string, a type, a value of `from`; local values stay as they are. */
struct nvm_str link_string(struct linker *l, struct nvm_str s);
struct nvm_type link_type(struct linker *l, struct nvm_type t);
struct nvm_value link_value(struct linker *l, struct nvm_value v);
/* Metadata. A node gets only a number until link_open_nodes(); a symbol that was not copied is
 * null. */
struct nvm_meta link_meta(struct linker *l, struct nvm_meta m);
/* A set and a list of attributes, a chain of attachments, a comdat (+ 1). */
struct nvm_attrset link_attributes(struct linker *l, struct nvm_attrset s);
struct nvm_attrlist link_attribute_list(struct linker *l, struct nvm_attrlist list);
uint32_t link_attachments(struct linker *l, uint32_t chain);
uint32_t link_comdat(struct linker *l, uint32_t comdat);
/* Copies the content of nodes that have only a number so far. */
void link_open_nodes(struct linker *l);
/* Copies the body of `g` of `from` into the empty function `f`. */
void link_body(struct linker *l, struct nvm_function *f, const struct nvm_function *g);

/* link.c: the symbol of `into` for one of `from`. The first call makes it and schedules its
 * definition to be copied. */
struct nvm_value link_symbol(struct linker *l, struct nvm_value v);
/* The same for metadata, which keeps nothing alive: VALUE_NULL if the symbol was not copied (yet).
 * */
struct nvm_value link_known_symbol(const struct linker *l, struct nvm_value v);
/* `name.N`, free in both modules; `type`: among names of types. */
struct nvm_str link_free_name(struct linker *l, struct nvm_str name, bool type);

#endif
