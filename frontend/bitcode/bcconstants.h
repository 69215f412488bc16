/* Constants of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCCONSTANTS_H
#define NVM_FRONTEND_BITCODE_BCCONSTANTS_H

#include "frontend/bitcode/reader.h"

/* Makes the tables; false when out of memory. */
bool bcconstants_init(struct reader *r);
/* Reads the CONSTANTS block, which the cursor is in front of, and gives ids to its constants. */
bool bcconstants_read(struct reader *r);
/* Whether v is inline assembly. LLVM numbers it among the constants, but it can only be called: it
 * is no operand of a constant or metadata, no initializer and no target of an alias. */
bool bcconstants_is_asm(const struct reader *r, struct nvm_value v);
/* Counts the text of a value's use; false if the module's text is too long. */
bool bcconstants_use(struct reader *r, struct nvm_value v);

#endif
