/* Writes JSON (RFC 8259) into a text buffer: remarks, statistics, diagnostics, counts.
 *
 *   struct json_writer w;
 *   json_begin(&w, out, true);
 *   json_object(&w);
 *   json_key(&w, "function"); json_string(&w, name);
 *   json_key(&w, "counts");   json_array(&w); json_unsigned(&w, 3); json_array_end(&w);
 *   json_object_end(&w);
 *
 * The writer adds commas, indentation and escapes; the caller matches begins and ends. Keys appear
 * in the order written, so equal input gives equal bytes. */
#ifndef NVM_SUPPORT_JSON_H
#define NVM_SUPPORT_JSON_H

#include "support/textbuf.h"

struct json_writer {
  struct textbuf *out; /* borrowed */
  bool pretty;         /* one member a line, indented by two spaces a level; otherwise no spaces */
  bool comma;          /* a comma precedes the next member */
  bool after_key;      /* the next value belongs to the key just written */
  uint32_t depth;      /* open objects and arrays */
};

/* A writer that appends to `out`, outside any object. */
void json_begin(struct json_writer *w, struct textbuf *out, bool pretty);

/* Begin and end of an object { } or array [ ] inside the open one. */
void json_object(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array(struct json_writer *w);
void json_array_end(struct json_writer *w);

/* The key of the next value, inside an object. */
void json_key(struct json_writer *w, const char *key);

/* Each byte that is not valid UTF-8 is written as U+FFFD. */
void json_string(struct json_writer *w, struct nvm_text text);
void json_puts(struct json_writer *w, const char *text);
void json_unsigned(struct json_writer *w, uint64_t value);
void json_signed(struct json_writer *w, int64_t value);
void json_bool(struct json_writer *w, bool value);

/* A key and its value. */
void json_member(struct json_writer *w, const char *key, struct nvm_text value);
void json_number(struct json_writer *w, const char *key, uint64_t value);

#endif
