/* Writes JSON (RFC 8259) into a text buffer: remarks, statistics, diagnostics, counts.
 *
 *   struct json_writer w;
 *   json_begin(&w, out, true);
 *   json_object(&w);
 *   json_key(&w, "function"); json_string(&w, name);
 *   json_key(&w, "counts");   json_array(&w); json_unsigned(&w, 3); json_array_end(&w);
 *   json_object_end(&w);
 *
 * Commas, indentation and escapes are the writer's; that begins and ends match is the caller's.
 * Keys come out in the order written, so that the same input gives the same bytes. */
#ifndef NVM_SUPPORT_JSON_H
#define NVM_SUPPORT_JSON_H

#include "support/textbuf.h"

struct json_writer {
  struct textbuf *out; /* borrowed */
  bool pretty;    /* a line for each member, two spaces for each level; else no spaces at all */
  bool comma;     /* the next member follows another one */
  bool after_key; /* the next value belongs to the key just written */
  uint32_t depth; /* open objects and arrays */
};

/* A writer that appends to `out`, outside of any object. */
void json_begin(struct json_writer *w, struct textbuf *out, bool pretty);

/* Begin and end of an object { } or array [ ], as a member of what is open. */
void json_object(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array(struct json_writer *w);
void json_array_end(struct json_writer *w);

/* The key of the next value, inside of an object. */
void json_key(struct json_writer *w, const char *key);

/* Bytes that are no UTF-8 come out as U+FFFD, one for each. */
void json_string(struct json_writer *w, struct nvm_text text);
void json_puts(struct json_writer *w, const char *text);
void json_unsigned(struct json_writer *w, uint64_t value);
void json_bool(struct json_writer *w, bool value);

/* A key and its value. */
void json_member(struct json_writer *w, const char *key, struct nvm_text value);
void json_number(struct json_writer *w, const char *key, uint64_t value);

#endif
