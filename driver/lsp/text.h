/* The text of an open document: edits, and the protocol's positions, which count lines from 0 and,
 * in a line, UTF-16 code units. Bytes that are not UTF-8 count as one unit each. */
#ifndef NVM_DRIVER_LSP_TEXT_H
#define NVM_DRIVER_LSP_TEXT_H

#include "driver/lsp/json_read.h"
#include "support/json.h"

struct text {
  char *bytes; /* malloc'ed, followed by a NUL */
  size_t length, capacity;
  uint32_t *lines; /* malloc'ed: the starts of the first lines, of all if has_all_lines */
  uint32_t line_count, line_capacity;
  bool has_all_lines;
  uint32_t offset, column; /* of the last position written: the UTF-16 column of a byte */
};

struct text_range {
  uint32_t begin, end; /* bytes */
};

void text_free(struct text *t); /* frees its memory */

/* Replaces a range of bytes. False, without effect, when out of memory or if the text would be
 * longer than TEXT_MAX_BYTES. */
enum { TEXT_MAX_BYTES = 64 << 20 };
bool text_replace(struct text *t, struct text_range range, struct nvm_text by);

/* Bytes of memory that the text uses. */
size_t text_memory(const struct text *t);

/* The offset of a JSON position { line, character }; beyond the end of a line or of the text, that
 * end. False if v is no position, or when out of memory. */
bool text_offset(struct text *t, const struct json_value *v, uint32_t *offset);
/* The same for a range { start, end }; false also if the end precedes the start. */
bool text_get_range(struct text *t, const struct json_value *v, struct text_range *range);

/* Writes a range as JSON. */
void text_put_range(struct text *t, struct json_writer *w, struct text_range range);

/* The line that holds an offset, without its line end. */
struct text_range text_line(struct text *t, uint32_t offset);
/* Line k from 0, without its line end; of a k that is too large, the last one. */
struct text_range text_line_range(struct text *t, uint32_t k);
/* The number of a line from 0. */
uint32_t text_line_number(struct text *t, uint32_t offset);

#endif
