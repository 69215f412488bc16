/* Floating-point numbers as decimal text, from their bits: exact, the same on every machine, no
 * printf (which depends on the locale) and no floating-point arithmetic of the host. */
#ifndef NVM_SUPPORT_FLOAT_PRINT_H
#define NVM_SUPPORT_FLOAT_PRINT_H

#include "support/textbuf.h"

/* The formats of the IR. Bits are right-aligned in a uint64_t, the rest zero. */
enum float_print_format {
  FLOAT_PRINT_HALF,   /* IEEE binary16 */
  FLOAT_PRINT_BFLOAT, /* the upper 16 bits of a binary32 */
  FLOAT_PRINT_SINGLE, /* IEEE binary32 */
  FLOAT_PRINT_DOUBLE, /* IEEE binary64 */
};

enum { FLOAT_PRINT_MAX_DIGITS = 40 };

/* As a constant in the IR's text. Single and double: `1.000000e+00` where six significant digits
 * read back exactly as a double, else the bits of the double as `0x3FB99999A0000000`. Half and
 * bfloat: `0xH3C00`, `0xR3F80`. */
void float_print_constant(struct textbuf *out, enum float_print_format format, uint64_t bits);

/* The shortest decimal that reads back as the same number of this format, the nearest of them:
 * `0.1`, `-0.0`, `1e+23`, `inf`, `-inf`, `nan`. Always has a point, an exponent or a word, so that
 * it can't be taken for an integer. */
void float_print_shortest(struct textbuf *out, enum float_print_format format, uint64_t bits);

/* As printf's %.Ne, rounded to nearest even: `1.234568e+06` for N = 6. `decimals` from 0 to
 * FLOAT_PRINT_MAX_DIGITS - 1. */
void float_print_scientific(struct textbuf *out, enum float_print_format format, uint64_t bits,
                            int decimals);

/* The bits of the double of the same value; NaNs keep sign, payload and quietness. */
uint64_t float_print_widen(enum float_print_format format, uint64_t bits);

#endif
