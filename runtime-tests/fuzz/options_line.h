/* The first line of an input, `; fuzz: WORDS`: words that are levels, passes and knobs become
 * options, so that the mutator chooses them; other words are left out. */
#ifndef NVM_FUZZ_OPTIONS_LINE_H
#define NVM_FUZZ_OPTIONS_LINE_H

#include "nvmini.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX_WORD = 300 };

/* Options that only decide how to compile. Passes `test-...` break the compiler on purpose. */
static inline bool options_are_allowed(const char *word) {
  static const char *const prefixes[] = {"-O", "--passes=", "--knob=", "--verify-each"};
  if (strstr(word, "test-")) return false;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

/* Sets the options of the first line; refused ones change nothing. True: there is such a line. */
static inline bool options_take_line(struct nvmini_context *c, const char *text) {
  static const char begin[] = "; fuzz:";
  char word[OPTIONS_MAX_WORD + 1];
  if (strncmp(text, begin, strlen(begin)) != 0) return false;
  for (text += strlen(begin); *text != '\0' && *text != '\n'; text += strcspn(text, " \n")) {
    text += strspn(text, " ");
    size_t length = strcspn(text, " \n");
    if (length == 0 || length > OPTIONS_MAX_WORD) continue;
    memcpy(word, text, length);
    word[length] = '\0';
    if (options_are_allowed(word) && nvmini_set_option(c, word) == NVMINI_BUG) abort();
  }
  return true;
}

#endif
