/* The options of the library as rows of support/options.def, and how an option is spelled. */
#ifndef NVM_SUPPORT_OPTIONS_H
#define NVM_SUPPORT_OPTIONS_H

#include "support/textbuf.h"

enum option {
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help) OPT_##id,
#include "support/options.def"
#undef OPTION
  OPT_COUNT,
};

struct option_row {
  const char *name, *value, *initial, *nvvm, *llvm, *help;
};

/* The row of an option. */
const struct option_row *option_row(enum option id);

/* Whether `word` is this option. *value: what follows `=`, or directly follows the name if that is
 * one letter with a value (-Wname); otherwise NULL. */
bool option_matches(const struct option_row *row, const char *word, const char **value);

/* True if the option must have a value. */
static inline bool option_needs_value(const struct option_row *row) {
  return row->value[0] != '\0' && row->value[0] != '[';
}

/* Checks that a value (NULL: none) is present, absent or one of the listed words, as the row says.
 * False after writing the complete message. */
bool option_check_value(const struct option_row *row, const char *value, struct textbuf *message);

#endif
