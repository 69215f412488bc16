/* Metadata: a graph of nodes that is kept and printed.
 *
 * Nodes are tuples `!{ … }` or specialized nodes `!DILocation(line: 3, …)`, the latter as name and
 * (field, value) pairs in the order written, so unknown kinds survive. */
#ifndef NVM_IR_METADATA_H
#define NVM_IR_METADATA_H

#include "ir/type.h"
#include "ir/value.h"

/* A metadata operand: a string, a node, a value. {0} is `null` (or "none"). */
struct nvm_meta {
  uint32_t index; /* into the table's items */
};

enum meta_kind {
  META_NULL,
  META_STRING,   /* str: !"text" */
  META_NODE,     /* node: index into nodes; printed as !N */
  META_VALUE,    /* value: a typed constant or global, or a function-local value */
  META_INT,      /* number: field `line: 3` (two's complement in bits) */
  META_UNSIGNED, /* number above INT64_MAX */
  META_WORD, /* str: field `tag: DW_TAG_member`, `flags: DIFlagA | DIFlagB`, `true`, `FullDebug` */
  META_INLINE, /* node: an unnumbered node printed in place: !DIExpression(…), !DIArgList(…), !{…}
                  inside an operand */
};

struct meta_item {
  uint8_t kind; /* enum meta_kind */
  union {
    struct nvm_str str;
    uint32_t node;
    struct nvm_value value;
  };
  struct nvm_type type; /* META_VALUE: the type of a local value */
  uint64_t number;
};

/* A node. `name` is 0 for a tuple. Fields of a specialized node: keys[i] (0: positional) and
 * operands[i]. */
struct meta_node {
  struct nvm_str name; /* "DILocation", or 0: a tuple */
  uint32_t first;      /* into `operands` and, for specialized nodes, `keys` at the same index */
  uint32_t count;
  bool distinct;
  bool defined;        /* false: only referenced so far (an error at the end of the file) */
  bool uniqued_number; /* scratch of the printer */
};

struct named_metadata {
  struct nvm_str name; /* without ! */
  uint32_t first;      /* into `operands` */
  uint32_t count;
};

struct meta_table {
  struct arena *arena;
  VEC(struct meta_item) items; /* [0]: null */
  VEC(struct meta_node) nodes; /* [0]: dummy; in order of number in the source */
  VEC(struct nvm_meta) operands;
  VEC(struct nvm_str) keys; /* parallel to operands */
  VEC(struct named_metadata) named;
  uint32_t *slots; /* interning of items */
  uint32_t slot_count;
  bool has_locals; /* some item may refer to an instruction */
};

/* An empty graph in `arena`; false when out of memory. */
bool meta_table_init(struct meta_table *t, struct arena *arena);

/* Interned items; {0} when out of memory. */
struct nvm_meta meta_string(struct meta_table *t, struct nvm_str s);
struct nvm_meta meta_word(struct meta_table *t, struct nvm_str s);
struct nvm_meta meta_int(struct meta_table *t, uint64_t bits, bool is_unsigned);
struct nvm_meta meta_value(struct meta_table *t, struct nvm_value v, struct nvm_type type);
struct nvm_meta meta_node(struct meta_table *t, uint32_t node, bool is_inline);

/* A new, undefined node. 0 when out of memory. */
uint32_t meta_node_new(struct meta_table *t);
/* Defines a node; keys may be NULL for a tuple. False when out of memory. */
bool meta_node_define(struct meta_table *t, uint32_t node, struct nvm_str name, bool distinct,
                      const struct nvm_str *keys, const struct nvm_meta *operands, uint32_t count);
bool meta_add_named(struct meta_table *t, struct nvm_str name, const struct nvm_meta *operands,
                    uint32_t count);

static inline const struct meta_item *meta_item(const struct meta_table *t, struct nvm_meta m) {
  return &t->items.data[m.index];
}
/* The node of m, or NULL. */
const struct meta_node *meta_as_node(const struct meta_table *t, struct nvm_meta m);
static inline struct nvm_meta meta_operand(const struct meta_table *t, const struct meta_node *n,
                                           uint32_t i) {
  return t->operands.data[n->first + i];
}
/* The field of a specialized node, or {0}. */
struct nvm_meta meta_field(const struct meta_table *t, const struct meta_node *n,
                           struct nvm_str key);
const struct named_metadata *meta_find_named(const struct meta_table *t, struct nvm_str name);

#endif
