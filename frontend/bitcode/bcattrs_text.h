/* Texts of attributes that LLVM stores as numbers. */
#ifndef NVM_FRONTEND_BITCODE_BCATTRS_TEXT_H
#define NVM_FRONTEND_BITCODE_BCATTRS_TEXT_H

#include "frontend/bitcode/reader.h"

/* Sets the text of an attribute that is stored as one number: memory(…), nofpclass(…) and so on. */
bool bcattrs_text_number(struct reader *r, struct nvm_attr *a, uint64_t number);
/* The same for one range (range) or a list of them (initializes), read from number *k on. */
bool bcattrs_text_ranges(struct reader *r, struct nvm_attr *a, const struct bits_record *s,
                         uint32_t *k, bool several);

#endif
