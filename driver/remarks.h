/* Output of remarks: as text to standard error, into a file, or as the command's output. */
#ifndef NVM_DRIVER_REMARKS_H
#define NVM_DRIVER_REMARKS_H

#include <regex.h>

#include "driver/options.h"
#include "support/textbuf.h"

#include "nvmini.h"

enum remarks_form { REMARKS_TEXT, REMARKS_YAML, REMARKS_JSON };

struct remarks {
  bool shown, kept, filtered;
  regex_t filter; /* of pass names */
  enum remarks_form form;
  struct arena arena;
  struct textbuf text; /* the collected remarks */
  struct textbuf line;
};

/* Reads the options. EXIT_USAGE, after an error message, for an invalid regular expression. */
int remarks_start(struct remarks *r, const struct options *o);
/* Subscribes to the remarks of a context if they are wanted. */
void remarks_of(struct remarks *r, struct nvmini_context *context);
void remarks_end(struct remarks *r);

#endif
