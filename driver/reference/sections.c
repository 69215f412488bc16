/* Finds sections in the files of driver/reference/, which are part of the command. */
#include "driver/reference/reference.h"

#include <string.h>

#include "reference.inc"

/* The first line after `at` that begins with `mark`, or the end of the texts. */
static const char *next_line(const char *at, const char *mark) {
  size_t length = strlen(mark);
  while (*at != '\0' && strncmp(at, mark, length) != 0) {
    at += strcspn(at, "\n");
    at += *at == '\n';
  }
  return at;
}

/* Whether the line at `at` is `mark` and `name`. */
static bool names(const char *at, const char *mark, const char *name) {
  size_t length = strlen(name);
  at += strlen(mark);
  return strncmp(at, name, length) == 0 && at[length] == '\n';
}

static const char *after_line(const char *at) { return at + strcspn(at, "\n") + 1; }

struct nvm_text reference_section(const char *kind, const char *name) {
  const char *at = next_line((const char *)reference_texts, "=== ");
  while (*at != '\0' && !names(at, "=== ", kind)) at = next_line(after_line(at), "=== ");
  const char *end = *at == '\0' ? at : next_line(after_line(at), "=== ");
  if (at != end) at = next_line(after_line(at), "== ");
  while (at < end && !names(at, "== ", name)) at = next_line(after_line(at), "== ");
  if (at >= end) return (struct nvm_text){"", 0};
  const char *first = after_line(at), *next = next_line(first, "==");
  while (next > first && next[-1] == '\n' && next - first > 1 && next[-2] == '\n') next--;
  return (struct nvm_text){first, (size_t)(next - first)};
}
