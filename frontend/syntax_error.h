/* The message of a syntax error: what the grammar accepts, what was found, and a spelling
 * suggestion. */
#ifndef NVM_FRONTEND_SYNTAX_ERROR_H
#define NVM_FRONTEND_SYNTAX_ERROR_H

#include "frontend/state.h"

struct syntax_error {
  int token; /* found */
  int token_count;
  const bool *accepted; /* by token */
  int accepted_count;
  const char *(*name)(int token);
};

/* Reports it at the last token; the scanner then skips to the next statement. */
void syntax_error_report(struct parser *p, const struct syntax_error *e);

#endif
