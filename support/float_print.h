/* Floating-point numbers as decimal text, from their bits: exact, the same on every machine, no
 * printf (which depends on the locale) and no floating-point arithmetic of the host. Bits are
 * right-aligned in a uint64_t, the rest zero. float.h has the inverse conversion. */
#ifndef NVM_SUPPORT_FLOAT_PRINT_H
#define NVM_SUPPORT_FLOAT_PRINT_H

#include "support/float.h"
#include "support/textbuf.h"

enum { FLOAT_PRINT_MAX_DIGITS = 40 };

/* A constant in IR text, byte for byte as LLVM 19 prints it. Single and double: `1.000000e+00` if
 * LLVM's six significant digits parse to the same double, otherwise the bits of the double as
 * `0x3FB99999A0000000`. Half and bfloat: `0xH3C00`, `0xR3F80`. */
void float_print_constant(struct textbuf *out, enum float_format format, uint64_t bits);

/* The shortest decimal that parses to the same number of this format, the nearest of several:
 * `0.1`, `-0.0`, `1e+23`, `inf`, `-inf`, `nan`. It always has a point, an exponent or a word, to
 * distinguish it from an integer. */
void float_print_shortest(struct textbuf *out, enum float_format format, uint64_t bits);

/* As printf's %.Ne, rounded to nearest even: `1.234568e+06` for N = 6. `decimals` from 0 to
 * FLOAT_PRINT_MAX_DIGITS - 1. */
void float_print_scientific(struct textbuf *out, enum float_format format, uint64_t bits,
                            int decimals);

/* The bits of the double of the same value; NaNs keep sign, payload and, unlike
 * float_convert_bits(), the quiet bit, as in the text of constants. */
uint64_t float_print_widen(enum float_format format, uint64_t bits);

#endif
