/* Divisions of the same operands; see division.h. */
#include "analysis/division.h"

struct nvm_inst_id division_find_other(const struct nvm_function *f, const struct nvm_inst *i) {
  enum { MAX_STEPS = 64 };
  enum op op = division_is_quotient(i) ? division_remainder(i) : division_quotient(i);
  struct nvm_inst_id at = i->next;
  for (int step = 0; step < MAX_STEPS && !inst_is_none(at); step++) {
    const struct nvm_inst *other = function_inst(f, at);
    if (other->op == op && value_equal(inst_operand(f, i, 0), inst_operand(f, other, 0)) &&
        value_equal(inst_operand(f, i, 1), inst_operand(f, other, 1)))
      return at;
    at = other->next;
  }
  return (struct nvm_inst_id){0};
}
