/* Lines of a text; see lines.h. */
#include "support/lines.h"

#include <string.h>

bool lines_list(struct line_list *l, struct nvm_text text, struct arena *arena) {
  const char *at = text.bytes, *end = text.bytes + text.length;
  while (at) {
    if (!VEC_PUSH(arena, &l->starts, (uint32_t)(at - text.bytes))) return false;
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  return true;
}

uint32_t lines_find(const struct line_list *l, uint32_t offset, uint32_t *column) {
  uint32_t first = 0, last = l->starts.count;
  while (last - first > 1) {
    uint32_t middle = first + (last - first) / 2;
    if (l->starts.data[middle] <= offset) first = middle;
    else last = middle;
  }
  if (column) *column = offset - l->starts.data[first] + 1;
  return first + 1;
}
