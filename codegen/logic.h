/* Trees of bitwise operations that one lop3 computes (logic.c). */
#ifndef NVM_CODEGEN_LOGIC_H
#define NVM_CODEGEN_LOGIC_H

#include "codegen/lower.h"

enum { LOGIC_LEAVES = 3, LOGIC_CANDIDATES = 5 };

struct logic {
  struct nvm_value leaves[LOGIC_CANDIDATES];
  uint32_t count, operations; /* of leaves; of the operations that are replaced, root included */
  unsigned table;             /* the last operand of lop3 */
};

/* The tree that ends with `root`; false if it is only `root`. Depends on the IR alone. */
bool logic_find(const struct lower *l, const struct nvm_inst *root, struct logic *t);
/* Lowers i if selection has decided so (select_is_logic). */
bool logic_lower(struct lower *l, const struct nvm_inst *i);

#endif
