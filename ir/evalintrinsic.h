/* What the pure intrinsics compute on constants: llvm.* of arithmetic, and those llvm.nvvm.* whose
 * row of intrinsics.def is one PTX instruction that ir/evalfloat.h or plain integers can do
 * exactly. Approximate instructions are left to the machine. */
#ifndef NVM_IR_EVALINTRINSIC_H
#define NVM_IR_EVALINTRINSIC_H

#include "ir/eval.h"
#include "ir/intrinsic.h"

/* One lane. `result` and `operand` are the scalar types of the result and of the first argument;
 * (the exponents of llvm.ldexp and powi are taken to be i32); `flags` the call's fast-math flags;
 * `in` the `count` arguments. out[0] is the result; what has two (whose `result` is the first one's
 * type) puts the other into out[1]: the overflow, or of frexp and modf the exponent, sign-extended,
 * and the whole part. False if nothing is known. */
bool eval_intrinsic_lane(const struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                         struct nvm_type result, struct nvm_type operand,
                         const struct eval_lane *in, uint32_t count, struct eval_lane out[2]);

/* What joins the lanes of llvm.vector.reduce.*: an op, or (OP_COUNT) an intrinsic of two arguments.
 * False if it is another one, fadd and fmul among them, which have a first value. */
bool eval_reduction(enum intrinsic_id id, enum op *op, enum intrinsic_id *lane);

/* The constant that a call with constant arguments gives, of type `type`: lane by lane for vectors,
 * and reductions of vectors. VALUE_NULL if it is not known to be one. May add constants. */
struct nvm_value eval_intrinsic(struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                                struct nvm_type type, const struct nvm_value *args, uint32_t count);

/* The constant that a pure instruction of f gives where its operands are these: eval_fold, or
 * eval_intrinsic for a call. VALUE_NULL if it is not known to be one. */
struct nvm_value eval_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           const struct nvm_value *operands);

#endif
