/* Documents as arrays of bytes. An edit moves the bytes after it, which takes well under a
 * millisecond per megabyte. The starts of lines are listed as far as a position needs them and kept
 * up to the next edit, so that many edits in one direction read the text once. Columns are counted
 * from the last position that was written, if it is in the same line and not after the new one. */
#include "driver/lsp/text.h"

#include <stdlib.h>

void text_free(struct text *t) {
  free(t->bytes);
  free(t->lines);
  *t = (struct text){0};
}

size_t text_memory(const struct text *t) {
  return t->capacity + (size_t)t->line_capacity * sizeof *t->lines;
}

/* Forgets what an edit at the offset changes: the lines that begin there or later, because the end
 * of a line before may become CR LF. */
static void forget_lines(struct text *t, uint32_t offset) {
  uint32_t low = 0, high = t->line_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (t->lines[middle] < offset) low = middle + 1;
    else high = middle;
  }
  t->line_count = low;
  t->has_all_lines = false;
  t->offset = t->column = 0;
}

bool text_replace(struct text *t, struct text_range range, struct nvm_text by) {
  size_t length = t->length - (range.end - range.begin) + by.length;
  if (length > TEXT_MAX_BYTES) return false;
  if (length + 1 > t->capacity) {
    size_t capacity = length + length / 4 + 64;
    char *bytes = realloc(t->bytes, capacity);
    if (!bytes) return false;
    t->bytes = bytes;
    t->capacity = capacity;
  }
  memmove(t->bytes + range.begin + by.length, t->bytes + range.end, t->length - range.end);
  memcpy(t->bytes + range.begin, by.bytes, by.length);
  t->length = length;
  t->bytes[length] = '\0';
  forget_lines(t, range.begin);
  return true;
}

/* ---- Lines ---- */

static bool add_line(struct text *t, size_t start) {
  if (t->line_count == t->line_capacity) {
    uint32_t capacity = t->line_capacity ? t->line_capacity * 2 : 256;
    uint32_t *lines = realloc(t->lines, capacity * sizeof *lines);
    if (!lines) return false;
    t->lines = lines;
    t->line_capacity = capacity;
  }
  t->lines[t->line_count++] = (uint32_t)start;
  return true;
}

/* Adds the line after the last one listed; lines end in LF, CR LF or CR. False: out of memory. */
static bool list_next(struct text *t) {
  if (t->line_count == 0) return add_line(t, 0);
  size_t at = t->lines[t->line_count - 1];
  while (at < t->length && t->bytes[at] != '\n' && t->bytes[at] != '\r') at++;
  if (at == t->length) {
    t->has_all_lines = true;
    return true;
  }
  if (t->bytes[at] == '\r' && t->bytes[at + 1] == '\n') at++;
  return add_line(t, at + 1);
}

/* Lists lines up to the one after `line` and up to one that begins after `offset`, as far as they
 * exist. False when out of memory. */
static bool list_lines(struct text *t, int64_t line, uint32_t offset) {
  while (!t->has_all_lines &&
         (t->line_count <= line + 1 || t->lines[t->line_count - 1] <= offset))
    if (!list_next(t)) return false;
  return true;
}

uint32_t text_line_number(struct text *t, uint32_t offset) {
  if (!list_lines(t, 0, offset)) return 0;
  uint32_t low = 0, high = t->line_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (t->lines[middle] <= offset) low = middle;
    else high = middle;
  }
  return low;
}

/* Line k < line_count without its line end. */
static struct text_range line_range(const struct text *t, uint32_t k) {
  uint32_t begin = t->lines[k],
           end = k + 1 < t->line_count ? t->lines[k + 1] : (uint32_t)t->length;
  if (k + 1 < t->line_count && end > begin && t->bytes[end - 1] == '\n') end--;
  if (k + 1 < t->line_count && end > begin && t->bytes[end - 1] == '\r') end--;
  return (struct text_range){begin, end};
}

struct text_range text_line(struct text *t, uint32_t offset) {
  if (!list_lines(t, 0, offset)) return (struct text_range){offset, offset};
  return line_range(t, text_line_number(t, offset));
}

struct text_range text_line_range(struct text *t, uint32_t k) {
  if (!list_lines(t, k, 0)) return (struct text_range){0, 0};
  return line_range(t, k < t->line_count ? k : t->line_count - 1);
}

/* ---- Positions ---- */

/* The bytes of the character at `at`, and its length in UTF-16 code units. */
static uint32_t character_bytes(const char *at, const char *end, uint32_t *units) {
  unsigned char c = (unsigned char)*at;
  uint32_t length = c < 0xC2 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 1;
  *units = 1;
  if ((size_t)(end - at) < length) return 1;
  for (uint32_t k = 1; k < length; k++)
    if (((unsigned char)at[k] & 0xC0) != 0x80) return 1;
  if (length == 4) *units = 2;
  return length;
}

bool text_offset(struct text *t, const struct json_value *v, uint32_t *offset) {
  int64_t line, character;
  if (!json_get_integer(json_find(v, "line"), 0, INT32_MAX, &line) ||
      !json_get_integer(json_find(v, "character"), 0, UINT32_MAX, &character) ||
      !list_lines(t, line, 0))
    return false;
  if (line >= t->line_count) {
    *offset = (uint32_t)t->length;
    return true;
  }
  struct text_range r = line_range(t, (uint32_t)line);
  const char *at = t->bytes + r.begin, *end = t->bytes + r.end;
  uint32_t units = 0;
  while (at < end && character > 0) {
    uint32_t bytes = character_bytes(at, end, &units);
    if (units > character) break; /* in the middle of a pair of surrogates */
    character -= units;
    at += bytes;
  }
  *offset = (uint32_t)(at - t->bytes);
  return true;
}

bool text_get_range(struct text *t, const struct json_value *v, struct text_range *range) {
  return text_offset(t, json_find(v, "start"), &range->begin) &&
         text_offset(t, json_find(v, "end"), &range->end) && range->begin <= range->end;
}

static void put_position(struct text *t, struct json_writer *w, uint32_t offset) {
  uint32_t line = 0, column = 0, units;
  if (offset > t->length) offset = (uint32_t)t->length;
  if (list_lines(t, 0, offset)) {
    line = text_line_number(t, offset);
    const char *at = t->bytes + t->lines[line], *end = t->bytes + offset;
    if (t->offset > t->lines[line] && t->offset <= offset)
      at = t->bytes + t->offset, column = t->column;
    while (at < end) {
      at += character_bytes(at, end, &units);
      column += units;
    }
    bool is_inside = ((unsigned char)t->bytes[offset] & 0xC0) == 0x80; /* of a character */
    if (!is_inside) t->offset = offset, t->column = column;
  }
  json_object(w);
  json_number(w, "line", line);
  json_number(w, "character", column);
  json_object_end(w);
}

void text_put_range(struct text *t, struct json_writer *w, struct text_range range) {
  json_object(w);
  json_key(w, "start"), put_position(t, w, range.begin);
  json_key(w, "end"), put_position(t, w, range.end);
  json_object_end(w);
}
