/* Knobs of the compiler's parts: the rows of support/knobs.def and their values in one compilation.
 * A reader gets a `struct knobs` and reads knobs->value[KNOB_X]. */
#ifndef NVM_SUPPORT_KNOBS_H
#define NVM_SUPPORT_KNOBS_H

#include "support/status.h"
#include "support/textbuf.h"

enum knob {
#define KNOB(id, name, min, max, initial, reader, meaning) KNOB_##id,
#include "support/knobs.def"
#undef KNOB
  KNOB_COUNT,
};

struct knob_row {
  const char *name;
  int32_t min, max, initial;
  const char *reader; /* "codegen", or the name of a pass */
  const char *meaning;
};

struct knobs {
  int32_t value[KNOB_COUNT];
};

/* The row of a knob. */
const struct knob_row *knobs_row(enum knob knob);
/* Every knob at its initial value. */
struct knobs knobs_initial(void);

/* Parses "NAME=VALUE" and stores it in *knobs, the knob in *knob. NVM_REFUSED: no effect, and the
 * error is in `message`: "unknown knob 'x'; did you mean 'y'?", "knob 'y': '7' is not a number from
 * 0 to 2". */
enum nvm_status knobs_set(struct knobs *knobs, const char *text, enum knob *knob,
                          struct textbuf *message);

#endif
