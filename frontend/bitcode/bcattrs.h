/* Attribute groups and lists of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCATTRS_H
#define NVM_FRONTEND_BITCODE_BCATTRS_H

#include "frontend/bitcode/reader.h"

/* Reads the PARAMATTR_GROUP and the PARAMATTR block, which the cursor is in front of. */
bool bcattrs_read_groups(struct reader *r);
bool bcattrs_read_lists(struct reader *r);
/* The list with number `list` (from 1; 0: no attributes) for a function of that type id with that
 * many arguments. False after an error. */
bool bcattrs_list(struct reader *r, uint64_t list, uint32_t function_type, uint32_t arguments,
                  struct nvm_attrlist *made);
/* The attributes of a variable: those of the function in the list. */
bool bcattrs_of_variable(struct reader *r, uint64_t list, struct nvm_attrset *set);

#endif
