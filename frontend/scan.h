/* Makes symbols and metadata nodes known before they are parsed. */
#ifndef NVM_FRONTEND_SCAN_H
#define NVM_FRONTEND_SCAN_H

#include "frontend/state.h"

/* Scans the lines that begin definitions. False when out of memory. */
bool scan_lines(struct parser *p);
/* Scans every token that is still there for symbols that scan_lines() missed; once. */
void scan_tokens(struct parser *p);

#endif
