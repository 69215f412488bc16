/* Variables, functions, aliases and comdats of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCSYMBOLS_H
#define NVM_FRONTEND_BITCODE_BCSYMBOLS_H

#include "frontend/bitcode/reader.h"

/* Reads the module's VALUE_SYMTAB block, which the cursor is in front of: names by value id. */
bool bcsymbols_read_names(struct reader *r);
/* A record of the module block; others than those of symbols are ignored. */
bool bcsymbols_read(struct reader *r, const struct bits_record *s);
/* After the module block: initializers and the like, which are constants. */
bool bcsymbols_finish(struct reader *r);

#endif
