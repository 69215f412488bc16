/* See options.h. */
#include "support/options.h"

static const struct option_row rows[OPT_COUNT] = {
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help) \
  {name, value, initial, nvvm, llvm, help},
#include "support/options.def"
#undef OPTION
};

const struct option_row *option_row(enum option id) { return &rows[id]; }

bool option_matches(const struct option_row *row, const char *word, const char **value) {
  size_t length = strlen(row->name);
  if (strncmp(word, row->name, length) != 0) return false;
  const char *rest = word + length;
  bool is_letter = length == 2 && row->value[0] != '\0';
  *value = *rest == '=' ? rest + 1 : is_letter && *rest != '\0' ? rest : NULL;
  return *rest == '\0' || *value != NULL;
}

/* Whether `value` is one of the words in "a|b|c"; true if `list` is not such a list. */
static bool is_listed(const char *list, const char *value) {
  if (strchr(list, '|') == NULL) return true;
  size_t length = strlen(value);
  for (const char *word = list; length > 0; word++) {
    size_t n = strcspn(word, "|");
    if (n == length && strncmp(word, value, n) == 0) return true;
    word += n;
    if (*word == '\0') break;
  }
  return false;
}

bool option_check_value(const struct option_row *row, const char *value, struct textbuf *message) {
  if (value == NULL && option_needs_value(row))
    textbuf_format(message, "option '%s' needs a value: %s", row->name, row->value);
  else if (value != NULL && row->value[0] == '\0')
    textbuf_format(message, "option '%s' takes no value", row->name);
  else if (value != NULL && !is_listed(row->value, value))
    textbuf_format(message, "option '%s': '%s' is not one of %s", row->name, value, row->value);
  else return true;
  return false;
}
