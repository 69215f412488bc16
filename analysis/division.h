/* Divisions and remainders of the same operands, which share most of the work. */
#ifndef NVM_ANALYSIS_DIVISION_H
#define NVM_ANALYSIS_DIVISION_H

#include "ir/function.h"

static inline bool division_is(const struct nvm_inst *i) {
  return i->op >= OP_UDIV && i->op <= OP_SREM;
}
static inline bool division_is_quotient(const struct nvm_inst *i) {
  return i->op == OP_UDIV || i->op == OP_SDIV;
}
static inline bool division_is_signed(const struct nvm_inst *i) {
  return i->op == OP_SDIV || i->op == OP_SREM;
}
/* The operation of the same sign that computes the quotient; the remainder. */
static inline enum op division_quotient(const struct nvm_inst *i) {
  return division_is_signed(i) ? OP_SDIV : OP_UDIV;
}
static inline enum op division_remainder(const struct nvm_inst *i) {
  return division_is_signed(i) ? OP_SREM : OP_UREM;
}

/* The next instruction of the block, not far behind i, that divides the same operands for the other
 * result; {0} if there is none. */
struct nvm_inst_id division_find_other(const struct nvm_function *f, const struct nvm_inst *i);

#endif
