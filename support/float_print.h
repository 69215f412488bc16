/* Floating-point numbers as decimal text, from their bits: exact, the same on every machine, no
 * printf (which depends on the locale) and no floating-point arithmetic of the host. Bits are
 * right-aligned in a uint64_t, the rest zero. The way back is in float.h. */
#ifndef NVM_SUPPORT_FLOAT_PRINT_H
#define NVM_SUPPORT_FLOAT_PRINT_H

#include "support/float.h"
#include "support/textbuf.h"

enum { FLOAT_PRINT_MAX_DIGITS = 40 };

/* As a constant in the IR's text, to the byte as LLVM 19 does it. Single and double:
 * `1.000000e+00` where LLVM's six significant digits read back exactly as a double, else the bits
 * of the double as `0x3FB99999A0000000`. Half and bfloat: `0xH3C00`, `0xR3F80`. */
void float_print_constant(struct textbuf *out, enum float_format format, uint64_t bits);

/* The shortest decimal that reads back as the same number of this format, the nearest of them:
 * `0.1`, `-0.0`, `1e+23`, `inf`, `-inf`, `nan`. Always has a point, an exponent or a word, so that
 * it can't be taken for an integer. */
void float_print_shortest(struct textbuf *out, enum float_format format, uint64_t bits);

/* As printf's %.Ne, rounded to nearest even: `1.234568e+06` for N = 6. `decimals` from 0 to
 * FLOAT_PRINT_MAX_DIGITS - 1. */
void float_print_scientific(struct textbuf *out, enum float_format format, uint64_t bits,
                            int decimals);

/* The bits of the double of the same value; NaNs keep sign, payload and (unlike a conversion at run
 * time, see float_convert_bits) quietness: so the text of constants has it. */
uint64_t float_print_widen(enum float_format format, uint64_t bits);

#endif
