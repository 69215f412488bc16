/* Operands and results as registers and immediates. */
#ifndef NVM_CODEGEN_VALUE_H
#define NVM_CODEGEN_VALUE_H

#include "codegen/lower.h"

/* The registers of an instruction's result, made on first use, in the order of its parts. */
const struct ptx_reg *value_result(struct lower *l, struct nvm_inst_id i);
/* Makes the registers of an instruction or argument if it has none yet. */
void value_touch(struct lower *l, struct nvm_value v);
/* Part k of an operand: a register or, for constants, an immediate where PTX takes one (integers,
 * f32, f64; never for predicates, half, addresses). Valid in instructions that allow immediates. */
struct ptx_operand value_operand(struct lower *l, struct nvm_value v, uint32_t k);
/* The same for emit_copy(), which takes every constant as an immediate. */
struct ptx_operand value_source(struct lower *l, struct nvm_value v, uint32_t k);
/* The same, always in a register: constants are moved into a new one. */
struct ptx_reg value_reg(struct lower *l, struct nvm_value v, uint32_t k);
/* All parts of an operand, in the function arena; NULL when out of memory. */
struct ptx_reg *value_regs(struct lower *l, struct nvm_value v);
const struct ptx_operand *value_operands(struct lower *l, struct nvm_value v);
/* Whether v is undef or poison. */
static inline bool value_is_undefined(const struct lower *l, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST && const_is_undef_or_poison(l->module, v);
}

#endif
