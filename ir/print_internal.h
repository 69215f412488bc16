/* Shared by the printer's files. A `struct printer` lives for one call of print.h; its tables are
 * arrays indexed by handle, in its own arena.
 *
 *   print_module.c     the module, its symbols and functions, numbering; the interface
 *   print_inst.c       instructions
 *   print_constant.c   operands: names, constants
 *   print_metadata.c   reachable nodes, their numbers and text; attachments
 *   print_attribute.c  attributes in place and in groups */
#ifndef NVM_IR_PRINT_INTERNAL_H
#define NVM_IR_PRINT_INTERNAL_H

#include "ir/print.h"

struct printer {
  const struct nvm_module *m;
  const struct nvm_function *f; /* the current function, or NULL */
  struct textbuf *out;
  size_t begin; /* of the text in `out` */
  struct arena scratch;
  struct nvm_text *types;     /* by type: its text; bytes is NULL until needed */
  uint32_t type_count; /* of `types`; the type of a symbol's address may be made while printing */
  uint32_t *global_numbers;   /* by global; only read for those without a name */
  uint32_t *function_numbers; /* by function */
  uint32_t *group_numbers;    /* by a set's first attribute: number + 1, 0: none yet */
  VEC(uint32_t) groups;       /* sets in order of their number */
  bool numbered_groups;       /* false: a dump of one function, where a set's index is its number */
  uint32_t *node_numbers; /* by metadata node: number + 1, 0: not reached; NULL: in a dump of one
                             function, where a node's index - 1 is its number */
  VEC(uint32_t) nodes;    /* nodes in order of their number */
  /* Numbers of the unnamed values of f, by handle: number + 1, 0: it has a name. */
  VEC(uint32_t) arg_numbers, block_numbers, inst_numbers;
  uint32_t *name_owner; /* by string: stamp of the last function that used it as a value's name */
  uint32_t stamp;
};

/* ---- print_constant.c ---- */

/* textbuf_format() with more letters: %T a type, %O an operand, %V one with its type, %N a name as
 * printed after @, % or $ (struct nvm_str), %Q a string with its quotes (struct nvm_str), %M
 * metadata. */
void print_format(struct printer *p, const char *format, ...);

/* Bytes between quotes, without the quotes: `\\` and \XX for special ones. */
void print_escaped(struct printer *p, struct nvm_text text);
void print_type(struct printer *p, struct nvm_type ty);
/* The type of any operand, including values of f. */
struct nvm_type print_type_of(const struct printer *p, struct nvm_value v);
/* An operand without and with its type. */
void print_operand(struct printer *p, struct nvm_value v);
void print_typed(struct printer *p, struct nvm_value v);
/* ` ult` of an icmp or fcmp; nothing for other ops. */
void print_predicate(struct printer *p, enum op op, uint32_t predicate);

/* ---- print_inst.c ---- */

/* A whole line with its indentation and newline. */
void print_inst_line(struct printer *p, struct nvm_inst_id id);
void print_inst_text(struct printer *p, struct nvm_inst_id id);
/* `ptx_kernel `, `cc42 `; nothing for the C convention. */
void print_convention(struct printer *p, uint32_t convention);

/* ---- print_metadata.c ---- */

/* Finds the nodes that the module reaches and numbers them. */
void print_number_nodes(struct printer *p);
/* A metadata operand: `!3`, `!"s"`, `i32 7`, `null`. */
void print_meta(struct printer *p, struct nvm_meta m);
/* ` !kind !3`, each after `separator`; first `location` as !dbg unless it is {0}. */
void print_attachments(struct printer *p, const char *separator, struct nvm_meta location,
                       uint32_t chain);
void print_named_metadata(struct printer *p);
void print_numbered_metadata(struct printer *p);

/* ---- print_attribute.c ---- */

/* The attributes of a set in place, separated by spaces, between `before` and `after`; nothing for
 * the empty set. */
void print_attributes(struct printer *p, const char *before, struct nvm_attrset set,
                      const char *after);
/* ` #N`, or nothing for the empty set. */
void print_group_reference(struct printer *p, struct nvm_attrset set);
/* Numbers a set in order of first use; the empty one has no number. */
void print_number_group(struct printer *p, struct nvm_attrset set);
void print_groups(struct printer *p);

static inline void print_char(struct printer *p, char c) { textbuf_char(p->out, c); }
static inline void print_word(struct printer *p, const char *word) { textbuf_puts(p->out, word); }
static inline void print_number(struct printer *p, uint64_t n) { textbuf_unsigned(p->out, n); }
/* The empty line between parts of the text. */
static inline void print_gap(struct printer *p) {
  if (p->out->length > p->begin) print_char(p, '\n');
}

#endif
