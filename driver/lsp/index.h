/* The names of a document and where they are used, from the tokens of the compiler's lexer alone:
 * it exists for a text with errors too.
 *
 * A function begins at its `define` or `declare` and ends with its `}`, or where the next one
 * begins. Arguments, results of instructions and blocks share the names of one function. */
#ifndef NVM_DRIVER_LSP_INDEX_H
#define NVM_DRIVER_LSP_INDEX_H

#include "driver/lsp/text.h"
#include "support/vec.h"

struct index_token {
  uint32_t begin, end;
  uint16_t kind;  /* T_… of the grammar */
  uint16_t depth; /* open brackets before it, saturated; 0 at the level of a statement */
};

enum index_kind {
  INDEX_LOCAL, /* an argument, a result or a block */
  INDEX_GLOBAL,
  INDEX_TYPE,
  INDEX_METADATA, /* !5, !name */
  INDEX_GROUP,    /* #0 */
  INDEX_COMDAT,
};

/* Where a name is written. */
struct index_name {
  struct text_range range;  /* with its sigil and quotes, without `=` and `:` */
  struct text_range inside; /* without its sigil */
  uint32_t token;           /* index */
  uint32_t function;        /* index + 1; 0: outside functions. Of INDEX_LOCAL */
  struct nvm_str name;      /* without escapes */
  enum index_kind kind;
  bool is_number;     /* %5: `name` has its digits */
  bool is_definition; /* or the declaration of a function */
  bool is_block;      /* a label */
};

struct index_function {
  uint32_t name;        /* index; UINT32_MAX: it has none */
  uint32_t begin, end;  /* bytes */
  uint32_t first_token; /* `define` */
  uint32_t body;        /* index of its `{`; 0: none */
  uint32_t last_token;  /* its `}`, or the last one before the end */
  bool is_declaration, is_kernel;
};

struct index {
  struct arena arena;
  struct strtab strings;
  VEC(struct index_token) tokens;
  VEC(struct index_name) names; /* in the order of the text */
  VEC(struct index_function) functions;
};

/* Reads a text, which must be followed by a NUL. False when out of memory; index_free() follows in
 * any case. */
bool index_make(struct index *x, const char *text, size_t length);
void index_free(struct index *x); /* frees its memory */

/* The name written at an offset or ending there; NULL: none. */
const struct index_name *index_name_at(const struct index *x, uint32_t offset);
/* The token at an offset; NULL: none. */
const struct index_token *index_token_at(const struct index *x, uint32_t offset);
/* Whether both are occurrences of one name. */
bool index_same(const struct index_name *a, const struct index_name *b);
/* The definition of a name; NULL if the text has none. */
const struct index_name *index_definition(const struct index *x, const struct index_name *n);
/* The function of a local name; NULL: none. */
const struct index_function *index_function_of(const struct index *x, const struct index_name *n);
/* The text of a name, without sigil and escapes. */
struct nvm_text index_text(const struct index *x, const struct index_name *n);
/* Whether the word of the token, which begins an instruction, is an op of the IR; its keyword. */
const char *index_op(const struct index_token *t, const char *text);

#endif
