/* Documents as arrays of bytes. An edit moves the bytes after it; the starts of the lines are
 * listed again when a position is asked for. Both take well under a millisecond per megabyte. */
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
  t->has_lines = false;
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

/* Lists the lines, which end in LF, CR LF or CR. False when out of memory. */
static bool list_lines(struct text *t) {
  if (t->has_lines) return true;
  t->line_count = 0;
  if (!add_line(t, 0)) return false;
  for (size_t i = 0; i < t->length; i++) {
    if (t->bytes[i] != '\n' && t->bytes[i] != '\r') continue;
    if (t->bytes[i] == '\r' && t->bytes[i + 1] == '\n') i++;
    if (!add_line(t, i + 1)) return false;
  }
  t->has_lines = true;
  return true;
}

uint32_t text_line_number(struct text *t, uint32_t offset) {
  if (!list_lines(t)) return 0;
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
  if (!list_lines(t)) return (struct text_range){offset, offset};
  return line_range(t, text_line_number(t, offset));
}

struct text_range text_line_range(struct text *t, uint32_t k) {
  if (!list_lines(t)) return (struct text_range){0, 0};
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
      !json_get_integer(json_find(v, "character"), 0, UINT32_MAX, &character) || !list_lines(t))
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
  if (list_lines(t)) {
    line = text_line_number(t, offset);
    const char *at = t->bytes + t->lines[line], *end = t->bytes + offset;
    while (at < end) {
      at += character_bytes(at, end, &units);
      column += units;
    }
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
