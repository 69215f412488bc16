/* LLVM bitcode in, module out: the binary form of what parse_module() reads as text. */
#ifndef NVM_FRONTEND_BITCODE_BCMODULE_H
#define NVM_FRONTEND_BITCODE_BCMODULE_H

#include "frontend/state.h"

/* Whether the bytes begin like bitcode: `BC` 0xC0DE, or the wrapper around it. */
bool bcmodule_is_bitcode(const char *bytes, size_t length);
/* Reads the bitcode [p->text, p->limit) into p->m. p->refused after an error; the caller finds out
 * about memory. */
void bcmodule_read(struct parser *p);

#endif
