/* Remarks on their way out: as text on standard error, into a file, or as the command's output. */
#ifndef NVM_DRIVER_REMARKS_H
#define NVM_DRIVER_REMARKS_H

#include <regex.h>

#include "driver/options.h"
#include "support/textbuf.h"

#include "nvmini.h"

enum remarks_form { REMARKS_TEXT, REMARKS_YAML, REMARKS_JSON };

struct remarks {
  bool shown, kept, filtered;
  regex_t filter; /* of passes' names */
  enum remarks_form form;
  struct arena arena;
  struct textbuf text; /* what is kept, in the form wanted */
  struct textbuf line;
};

/* Takes what the options want, and has the context tell of its remarks if that is anything.
 * EXIT_USAGE, after saying so, for a wrong regular expression. */
int remarks_start(struct remarks *r, const struct options *o, struct nvmini_context *context);
void remarks_end(struct remarks *r);

#endif
