/* The ops on constants, one scalar at a time: the only definition of their meaning, used by
 * constant folding, SCCP and the simulator of IR. Floats are computed by evalfloat.h.
 *
 * Poison is part of the value: a poison operand, a violated flag or a shift amount that is too
 * large makes the result poison. Undefined behaviour (division by zero) has no result. */
#ifndef NVM_IR_EVAL_H
#define NVM_IR_EVAL_H

#include "ir/module.h"
#include "support/float.h"

/* A scalar of up to 128 bits, zero above its width. */
struct eval_lane {
  nvm_u128 bits;
  bool poison;
};

/* The low `bits` set; all of 128 or more. */
static inline nvm_u128 eval_mask(uint32_t bits) {
  return bits >= 128 ? ~(nvm_u128)0 : ((nvm_u128)1 << bits) - 1;
}
/* The low `bits` (1 or more) of v as a signed number; v itself if they are more than 128, which 0,
 * undef and poison can have. */
static inline nvm_i128 eval_signed(nvm_u128 v, uint32_t bits) {
  if (bits > 128) return (nvm_i128)v;
  nvm_u128 sign = (nvm_u128)1 << (bits - 1);
  v &= eval_mask(bits);
  return (nvm_i128)((v ^ sign) - sign);
}
/* The float format of a type of TY_HALF..TY_DOUBLE. */
enum float_format eval_format(enum type_kind k);
static inline bool eval_is_float_kind(enum type_kind k) { return k >= TY_HALF && k <= TY_DOUBLE; }
/* Whether a number violates the fast-math flags nnan and ninf. */
bool eval_violates_flags(enum float_format f, uint16_t flags, uint64_t v);

/* The result of a binary, unary, cast, comparison, select or freeze op on scalars. `result` and
 * `operand` are the scalar types of the result and of the first operand (pointers are refused).
 * False if there is no result: undefined behaviour, or an op that is not a pure function of
 * numbers. If a flag makes the result poison, out->bits is the value without the flag. */
bool eval_lane(const struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
               struct nvm_type result, struct nvm_type operand, const struct eval_lane *in,
               struct eval_lane *out);

/* The same for `count` lanes, of ops on integers of up to 64 bits, without poison operands: d[i] =
 * op(a[i], b[i]). `bits`: of the operands; `to_bits`: of the result. False for other ops, and where
 * a lane may be poison or undefined. */
bool eval_row(enum op op, uint16_t flags, uint32_t aux, uint32_t bits, uint32_t to_bits,
              const uint64_t *a, const uint64_t *b, uint64_t *d, uint32_t count);

enum { EVAL_MOST_LANES = 64 }; /* of vectors that are folded */

/* A scalar constant as a lane and back; false for undef, pointers, expressions. */
bool eval_lane_of(const struct nvm_module *m, struct nvm_value v, struct eval_lane *lane);
struct nvm_value eval_constant_of(struct nvm_module *m, struct nvm_type type,
                                  struct eval_lane lane);

/* Folds an op on constants: numbers and vectors of numbers, selects, extracts and inserts of
 * aggregates. VALUE_NULL if it does not fold. May add constants. */
struct nvm_value eval_fold(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                           struct nvm_type type, const struct nvm_value *operands, uint32_t count);

#endif
