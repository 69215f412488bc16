/* See number.h. */
#include "support/number.h"

bool number_read(const char **text, uint64_t max, uint64_t *number) {
  const char *digits = *text;
  *number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) {
    uint64_t digit = (uint64_t)(**text - '0');
    if (digit > max || *number > (max - digit) / 10) return false;
    *number = *number * 10 + digit;
  }
  return *text != digits;
}

bool number_read_all(const char *text, uint64_t max, uint64_t *number) {
  return number_read(&text, max, number) && *text == '\0';
}
