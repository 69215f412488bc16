/* Elementary functions of doubles that come from single-precision (or shorter) arguments, for the
 * model of PTX's approximate instructions: relative error below 2^-45, the same on every machine,
 * without libm. Requires the default rounding mode. */
#ifndef NVM_SIM_MACHINE_SPECIAL_H
#define NVM_SIM_MACHINE_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline double special_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint64_t special_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The argument must be exact in a float. */
double special_sin(double x);
double special_cos(double x);
double special_log2(double x);
double special_exp2(double x);
double special_tanh(double x);
/* a * b + c of floats, rounded once to a float. */
float special_fmaf(float a, float b, float c);
/* Whether host arithmetic rounds to nearest and keeps subnormals. */
bool special_host_is_ieee(void);

#endif
