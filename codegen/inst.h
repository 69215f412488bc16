/* One lowering function for each kind of instruction. */
#ifndef NVM_CODEGEN_INST_H
#define NVM_CODEGEN_INST_H

#include "codegen/lower.h"
#include "ir/intrinsic.h"

typedef void inst_function(struct lower *l, const struct nvm_inst *i);

inst_function address_lower_gep, atomic_lower_cmpxchg, atomic_lower_fence, atomic_lower_load,
    atomic_lower_rmw, atomic_lower_store, branch_lower, branch_lower_conditional, call_lower,
    call_lower_va_arg, convert_lower, float_lower_binary, float_lower_compare, float_lower_neg,
    frame_lower_alloca, int_lower_binary, int_lower_compare, memory_lower_load, memory_lower_store,
    params_lower_ret, switch_lower, vector_lower_extract, vector_lower_extract_value,
    vector_lower_freeze, vector_lower_insert, vector_lower_insert_value, vector_lower_select,
    vector_lower_shuffle;

/* A call of an intrinsic, or of inline assembly. */
void intrinsic_lower(struct lower *l, const struct nvm_inst *i, enum intrinsic_id id);
inst_function asm_lower;
bool asm_is_callee(const struct lower *l, struct nvm_value callee);
/* For each result of a call of inline assembly the argument that is tied to it, or UINT32_MAX; in
 * the function arena. NULL: the constraints are wrong, or there is no memory. */
uint32_t *asm_ties(struct lower *l, const struct nvm_inst *i);
/* Whether a call of inline assembly is one instruction that writes only its result, without tied
 * operands: it reads before it writes. */
bool asm_is_single(struct lower *l, const struct nvm_inst *i);

#endif
