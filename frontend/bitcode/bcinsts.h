/* Instruction records of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCINSTS_H
#define NVM_FRONTEND_BITCODE_BCINSTS_H

#include "frontend/bitcode/reader.h"

/* Adds the instruction of a record to the block p.block. False after an error. */
bool bcinsts_read(struct reader *r, const struct bits_record *s);

#endif
