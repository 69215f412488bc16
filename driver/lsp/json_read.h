/* Reads JSON (RFC 8259) into a tree: the messages of a client of the language server.
 *
 * The reader is strict, except that bytes which are not UTF-8 are kept as they are. Nesting is
 * bounded, so that the recursion is. Of equal keys of an object the first one is found. */
#ifndef NVM_DRIVER_LSP_JSON_READ_H
#define NVM_DRIVER_LSP_JSON_READ_H

#include "support/textbuf.h"

enum { JSON_MAX_DEPTH = 64 };

enum json_kind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT,
};

struct json_value {
  enum json_kind kind;
  struct nvm_text source;   /* as written */
  struct nvm_text key;      /* of a member of an object */
  struct nvm_text text;     /* JSON_STRING: decoded, UTF-8; may contain NULs */
  int64_t integer;          /* JSON_NUMBER */
  bool is_integer;          /* JSON_NUMBER: `integer` is its value */
  struct json_value *first; /* JSON_ARRAY, JSON_OBJECT: the members */
  struct json_value *next;  /* the next member of the same value */
};

/* The value that `text` holds, in `arena`; it borrows the text. NULL if the text is not JSON, is
 * nested deeper than JSON_MAX_DEPTH, or does not fit in memory (arena->failed). */
const struct json_value *json_read(struct arena *arena, struct nvm_text text);

/* A member of an object by its key. NULL: there is none, or `object` is NULL or not an object. */
const struct json_value *json_find(const struct json_value *object, const char *key);
/* The member that a path of keys, separated by dots, leads to: "textDocument.uri". */
const struct json_value *json_at(const struct json_value *object, const char *path);

/* Whether v is a string; if so, *text is set. */
bool json_get_string(const struct json_value *v, struct nvm_text *text);
/* Whether v is an integer from `least` to `most`; if so, *number is set. */
bool json_get_integer(const struct json_value *v, int64_t least, int64_t most, int64_t *number);
/* Whether v is true. */
bool json_is_true(const struct json_value *v);

#endif
