/* The pure intrinsics on constants: llvm.* of arithmetic, and llvm.nvvm.* whose row of
 * intrinsics.def is one PTX instruction that ir/evalfloat.h or ir/evalint.h compute exactly.
 * Approximate instructions are not folded. */
#ifndef NVM_IR_EVALINTRINSIC_H
#define NVM_IR_EVALINTRINSIC_H

#include "ir/eval.h"
#include "ir/function.h"
#include "ir/intrinsic.h"

/* One lane. `result` and `operand` are the scalar types of the result and of the first argument;
 * (the exponents of llvm.ldexp and powi are taken to be i32); `flags` the call's fast-math flags;
 * `in` the `count` arguments. out[0] is the result; the second result, if there is one (`result` is
 * the type of the first), is out[1]: the overflow bit, frexp's exponent, sign-extended, or modf's
 * integral part. False if the intrinsic is not evaluated. */
bool eval_intrinsic_lane(const struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                         struct nvm_type result, struct nvm_type operand,
                         const struct eval_lane *in, uint32_t count, struct eval_lane out[2]);

/* The operation of llvm.vector.reduce.*: an op, or (OP_COUNT) an intrinsic of two arguments. False
 * for other intrinsics, and for fadd and fmul, which have a start value. */
bool eval_reduction(enum intrinsic_id id, enum op *op, enum intrinsic_id *lane);

/* Folds a call with constant arguments, of type `type`: lane by lane for vectors, and reductions of
 * vectors. VALUE_NULL if it does not fold. May add constants. */
struct nvm_value eval_intrinsic(struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                                struct nvm_type type, const struct nvm_value *args, uint32_t count);

/* Folds a pure instruction of f with these operands: eval_fold, or eval_intrinsic for a call.
 * VALUE_NULL if it does not fold. */
struct nvm_value eval_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           const struct nvm_value *operands);

#endif
