/* Formats of numbers in registers: the floats of PTX's types as bits, host floats, and doubles. */
#ifndef NVM_SIM_MACHINE_NUMBER_H
#define NVM_SIM_MACHINE_NUMBER_H

#include "ir/evalfloat.h"
#include "ptx/ops.h"
#include "sim/machine/special.h"

static inline float number_float(uint64_t bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}
/* NaNs become canonical. */
static inline uint64_t number_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}
static inline uint64_t number_of_double(double f) {
  return f != f ? UINT64_C(0x7ff8000000000000) : special_bits(f);
}
static inline double number_to_double(enum float_format f, uint64_t bits) {
  return special_double(evalfloat_convert(f, FLOAT_DOUBLE, EVALFLOAT_NEAREST, bits));
}
/* Rounded to nearest. */
static inline uint64_t number_from_double(enum float_format f, double x) {
  return evalfloat_convert(FLOAT_DOUBLE, f, EVALFLOAT_NEAREST, number_of_double(x));
}

/* Of a floating-point type (enum ptx_mod) or a pair; others: single. */
enum float_format number_format(uint16_t type);

/* Floats of 8, 6 and 4 bits (PTX_MOD_E4M3 …, or a type of a pair): the row of their table, or
 * NUMBER_NOT_SMALL. */
enum { NUMBER_NOT_SMALL = -1, NUMBER_UE8M0 = 5 };
int number_small(uint16_t type);
/* Bits of each of a pair. */
unsigned number_small_width(int small);
double number_from_small(int small, uint64_t v);
/* The nearest, ties to even, saturated. ue8m0: of the magnitude, up or down; satfinite: 254 where
 * it is too large. */
uint64_t number_to_small(int small, double x, enum evalfloat_rounding r, bool satfinite);

#endif
