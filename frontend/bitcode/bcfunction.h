/* Bodies of functions of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCFUNCTION_H
#define NVM_FRONTEND_BITCODE_BCFUNCTION_H

#include "frontend/bitcode/reader.h"

struct bcfunction {
  uint64_t end;                       /* bit offset: of the body */
  uint32_t block_count, block;        /* declared; number of the next one */
  VEC(struct nvm_block) blocks;       /* by number; {0}: not mentioned yet */
  VEC(struct nvm_inst_id) insts;      /* by number in the stream */
  struct nvm_meta location;           /* the last one */
  VEC(struct operand_bundle) bundles; /* for the next call */
  VEC(struct nvm_value) bundle_values;
};

/* Makes the tables; false when out of memory. */
bool bcfunction_init(struct reader *r);
/* Reads the FUNCTION block, which the cursor is in front of: the body of the next definition. */
bool bcfunction_read(struct reader *r);
/* Adds an instruction to the open block, or a debug record before the last one. An operand that is
 * VALUE_NULL had an error. */
bool bcfunction_add(struct reader *r, enum op op, uint32_t flags, struct nvm_type type,
                    const struct nvm_value *operands, uint32_t count, uint32_t aux);
/* The block with that number; VALUE_NULL after an error. */
struct nvm_value bcfunction_block(struct reader *r, uint64_t number);

#endif
