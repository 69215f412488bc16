/* What the ops compute, one scalar at a time: the single place that knows it. Constant folding and
 * SCCP ask here, the simulator of IR too. Integer arithmetic is done here, floats by evalfloat.
 *
 * Poison is part of the value: an operand that is poison, a flag that is violated or an amount that
 * is too large makes the result poison. What is undefined (division by zero) has no result. */
#ifndef NVM_IR_EVAL_H
#define NVM_IR_EVAL_H

#include "ir/function.h"

/* A scalar of up to 128 bits, zero above its width. */
struct eval_lane {
  nvm_u128 bits;
  bool poison;
};

/* The result of a binary, unary, cast, comparison, select or freeze op on scalars. `result` and
 * `operand` are the scalar types of the result and of the first operand (pointers are refused).
 * False if there is no result: undefined behaviour, or an op that is no pure function of numbers. */
bool eval_lane(const struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
               struct nvm_type result, struct nvm_type operand, const struct eval_lane *in,
               struct eval_lane *out);

/* The constant that an op on constants is: numbers and vectors of numbers, selects, extracts and
 * inserts of aggregates. VALUE_NULL if it is not known to be one. May add constants. */
struct nvm_value eval_fold(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                           struct nvm_type type, const struct nvm_value *operands, uint32_t count);

#endif
