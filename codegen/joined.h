/* Comparisons that setp joins with another predicate. */
#ifndef NVM_CODEGEN_JOINED_H
#define NVM_CODEGEN_JOINED_H

#include "codegen/lower.h"

/* What an `and` or `or` of i1 joins, or a select that is equivalent to one. */
struct joined {
  uint32_t of[2]; /* operand numbers */
  bool is_or;
  bool negates; /* of[0] is negated */
};
/* False: i is none. */
bool joined_find(const struct lower *l, const struct nvm_inst *i, struct joined *j);
/* Decides whether i makes one of its comparisons itself; uses are counted by then. */
void joined_select(struct lower *l, const struct nvm_inst *i);
/* The number of the operand that is this comparison; -1: none. */
int joined_comparison(const struct lower *l, const struct nvm_inst *i);

#endif
