/* Floating-point operations on bits, for constant folding and the simulator. They compute in
 * integers, so that the result depends neither on the host's rounding mode nor on its instructions.
 * Every result is the exact one, rounded once. A NaN result is the format's canonical NaN,
 * evalfloat_nan(). */
#ifndef NVM_IR_EVALFLOAT_H
#define NVM_IR_EVALFLOAT_H

#include "ir/evalint.h"
#include "support/float.h"

enum evalfloat_rounding {
  EVALFLOAT_NEAREST, /* ties to even */
  EVALFLOAT_ZERO,
  EVALFLOAT_DOWN,
  EVALFLOAT_UP,
  EVALFLOAT_AWAY, /* nearest, ties away from zero */
};

/* The canonical NaN: 0x7fff, 0x7fff, 0x7fffffff, 0x7ff8000000000000. */
uint64_t evalfloat_nan(enum float_format f);
uint64_t evalfloat_infinity(enum float_format f);
/* The largest finite number. */
uint64_t evalfloat_largest(enum float_format f);
bool evalfloat_is_nan(enum float_format f, uint64_t a);
bool evalfloat_is_infinite(enum float_format f, uint64_t a);
bool evalfloat_is_subnormal(enum float_format f, uint64_t a);
bool evalfloat_is_zero(enum float_format f, uint64_t a);
/* Subnormals become zero of their sign. */
uint64_t evalfloat_flush(enum float_format f, uint64_t a);

/* The number 1; the mask of the sign bit. */
uint64_t evalfloat_one(enum float_format f);
static inline uint64_t evalfloat_sign(enum float_format f) {
  return UINT64_C(1) << (float_shapes[f].bits - 1);
}

/* Modifiers of PTX's instructions. */
enum evalfloat_modifier {
  EVALFLOAT_FTZ = 1,       /* operands and results: subnormals are zero */
  EVALFLOAT_SAT = 2,       /* results: to [0, 1], NaN to 0 */
  EVALFLOAT_SATFINITE = 4, /* results: infinities to the largest number */
  EVALFLOAT_NAN = 32,      /* min, max: a NaN operand makes the result NaN */
  EVALFLOAT_RELU = 64,     /* results: negative ones to 0 */
  EVALFLOAT_XORSIGN = 128, /* min, max of magnitudes, with the signs' product as sign */
};
/* An operand, a result, by the modifiers. */
static inline uint64_t evalfloat_input(enum float_format f, unsigned modifiers, uint64_t a) {
  return modifiers & EVALFLOAT_FTZ ? evalfloat_flush(f, a) : a;
}
uint64_t evalfloat_output(enum float_format f, unsigned modifiers, uint64_t r);
/* PTX's min or max. */
uint64_t evalfloat_extreme(enum float_format f, unsigned modifiers, bool is_max, uint64_t a,
                           uint64_t b);

/* a + b, rounded as r says. */
uint64_t evalfloat_add(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b);
/* a - b, likewise. */
uint64_t evalfloat_sub(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b);
/* a * b, likewise. */
uint64_t evalfloat_mul(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b);
/* a / b, likewise; by zero: infinity, or NaN for 0 / 0. */
uint64_t evalfloat_div(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b);
/* The square root, likewise; NaN below zero. */
uint64_t evalfloat_sqrt(enum float_format f, enum evalfloat_rounding r, uint64_t a);
/* a * b + c, rounded once. */
uint64_t evalfloat_fma(enum float_format f, enum evalfloat_rounding r, uint64_t a, uint64_t b,
                       uint64_t c);
/* a - truncate(a / b) * b, exact: fmod and frem. */
uint64_t evalfloat_rem(enum float_format f, uint64_t a, uint64_t b);

/* The operand that is not NaN; -0 < +0. `nan_wins`: a NaN operand makes the result NaN. */
uint64_t evalfloat_min(enum float_format f, bool nan_wins, uint64_t a, uint64_t b);
uint64_t evalfloat_max(enum float_format f, bool nan_wins, uint64_t a, uint64_t b);

/* -1, 0, 1; 2: one of them is NaN. */
int evalfloat_compare(enum float_format f, uint64_t a, uint64_t b);

/* To an integral value of the same format. */
uint64_t evalfloat_round(enum float_format f, enum evalfloat_rounding r, uint64_t a);
/* To another format (or the same: NaNs become canonical). */
uint64_t evalfloat_convert(enum float_format from, enum float_format to, enum evalfloat_rounding r,
                           uint64_t a);
/* a * 2^n, rounded once. */
uint64_t evalfloat_scale(enum float_format f, enum evalfloat_rounding r, uint64_t a, int64_t n);
/* From the low `bits` (1..64) of a. */
uint64_t evalfloat_from_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                            bool is_signed, uint64_t a);
/* To an integer of `bits` (1..64), the nearest in range; NaN gives 0. *out_of_range (may be NULL):
 * it was NaN or out of range. */
uint64_t evalfloat_to_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                          bool is_signed, uint64_t a, bool *out_of_range);
/* As PTX's cvt: a NaN gives 0, but the lowest signed number's bits where the source is a double or
 * the integer has 64 bits (PTX ISA 9.0, cvt). */
uint64_t evalfloat_to_int_ptx(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                              bool is_signed, uint64_t a);
/* evalfloat_from_int and evalfloat_to_int for integers of up to 128 bits; out_of_range is required.
 */
uint64_t evalfloat_from_wide_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                                 bool is_signed, evalint_u128 a);
evalint_u128 evalfloat_to_wide_int(enum float_format f, enum evalfloat_rounding r, unsigned bits,
                                   bool is_signed, uint64_t a, bool *out_of_range);

#endif
