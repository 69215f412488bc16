/* Floating-point formats as bits: exact conversions between decimal text, half, bfloat, float and
 * double, independent of the machine's rounding mode and locale. */
#ifndef NVM_SUPPORT_FLOAT_H
#define NVM_SUPPORT_FLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum float_format {
  FLOAT_HALF,   /* IEEE binary16: 5 exponent bits, 10 fraction bits */
  FLOAT_BFLOAT, /* the upper half of binary32: 8, 7 */
  FLOAT_SINGLE, /* IEEE binary32: 8, 23 */
  FLOAT_DOUBLE, /* IEEE binary64: 11, 52 */
  FLOAT_FORMAT_COUNT,
};

struct float_shape {
  uint8_t bits;
  uint8_t exponent_bits;
  uint8_t fraction_bits; /* without the hidden one */
};
extern const struct float_shape float_shapes[FLOAT_FORMAT_COUNT];

/* The value of `bits` in another format, rounded to nearest, ties to even; overflow gives infinity,
 * underflow subnormals and zero. NaNs stay NaNs: the fraction's upper bits are kept and, if that
 * leaves none or the format changes, the quiet bit is set. *exact (may be NULL): nothing was lost
 * (for a NaN: no fraction bit was lost). */
uint64_t float_convert_bits(uint64_t bits, enum float_format from, enum float_format to,
                            bool *exact);

/* Parses [+-]digits[.digits][(e|E)[+-]digits] (at least one digit, all `length` bytes) as the
 * nearest value of the format. False if the text is malformed, or the number too large. */
bool float_from_decimal(const char *text, size_t length, enum float_format format, uint64_t *bits);

/* Parses the other forms of later LLVM versions, with an optional sign: 0x1.8p3 (to the nearest
 * value), inf, qnan, nan(0x1) and snan(0x1) with the payload below the quiet bit. False if the
 * number is too large or the payload too wide. */
bool float_from_special(const char *text, size_t length, enum float_format format, uint64_t *bits);

#endif
