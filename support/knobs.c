/* The table of knobs, and reading NAME=VALUE; see knobs.h. */
#include "support/knobs.h"

#include "support/nearest.h"

#include <stdbool.h>
#include <string.h>

static const struct knob_row rows[KNOB_COUNT] = {
#define KNOB(id, name, min, max, initial, reader, meaning) \
  {name, min, max, initial, reader, meaning},
#include "support/knobs.def"
#undef KNOB
};

const struct knob_row *knobs_row(enum knob knob) { return &rows[knob]; }

struct knobs knobs_initial(void) {
  struct knobs k;
  for (int i = 0; i < KNOB_COUNT; i++) k.value[i] = rows[i].initial;
  return k;
}

static enum nvm_status unknown(const char *name, size_t length, struct textbuf *message) {
  struct nearest near = nearest_start((struct nvm_text){name, length});
  for (int i = 0; i < KNOB_COUNT; i++) nearest_offer(&near, text_of(rows[i].name));
  textbuf_format(message, "unknown knob '%t'", near.word);
  if (near.best.bytes) textbuf_puts(message, "; ");
  nearest_write(&near, message);
  return NVM_REFUSED;
}

/* A decimal number with an optional minus, within the row's range. */
static bool read_value(const char *text, const struct knob_row *row, int32_t *value) {
  bool negative = *text == '-';
  const char *digits = text + negative;
  int64_t n = 0;
  for (const char *p = digits; *p; p++) {
    if (*p < '0' || *p > '9' || n > INT32_MAX) return false;
    n = n * 10 + (*p - '0');
  }
  if (negative) n = -n;
  if (!*digits || n < row->min || n > row->max) return false;
  *value = (int32_t)n;
  return true;
}

enum nvm_status knobs_set(struct knobs *knobs, const char *text, enum knob *knob,
                          struct textbuf *message) {
  size_t length = strcspn(text, "=");
  for (int i = 0; i < KNOB_COUNT; i++) {
    if (strlen(rows[i].name) != length || memcmp(rows[i].name, text, length) != 0) continue;
    const char *value = text[length] ? text + length + 1 : "";
    if (read_value(value, &rows[i], &knobs->value[i])) {
      *knob = (enum knob)i;
      return NVM_OK;
    }
    textbuf_format(message, "knob '%s': '%s' is not a number from %d to %d", rows[i].name, value,
                   (int)rows[i].min, (int)rows[i].max);
    return NVM_REFUSED;
  }
  return unknown(text, length, message);
}
