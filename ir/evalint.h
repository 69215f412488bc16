/* What integer operations compute, on bits: constant folding, the optimizer and the simulator call
 * the same functions.
 *
 * A value of width `bits` (1..64) is the low bits of a uint64_t; bits above are zero in results and
 * ignored in operands unless stated otherwise. Every operation is total: division by zero and
 * shifts by the width or more have the result that PTX gives them. Callers that need poison or a
 * fault check for it first (ir/eval.c). */
#ifndef NVM_IR_EVALINT_H
#define NVM_IR_EVALINT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 evalint_u128;
__extension__ typedef __int128 evalint_s128;

static inline uint64_t evalint_mask(unsigned bits) {
  return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}
/* The same for 0..128 bits. */
static inline evalint_u128 evalint_wide_mask(unsigned bits) {
  return bits >= 128 ? ~(evalint_u128)0 : ((evalint_u128)1 << bits) - 1;
}
static inline uint64_t evalint_zext(unsigned bits, uint64_t a) { return a & evalint_mask(bits); }
/* Sign-extended to 64 bits. */
static inline int64_t evalint_sext(unsigned bits, uint64_t a) {
  uint64_t sign = UINT64_C(1) << (bits - 1);
  return (int64_t)((evalint_zext(bits, a) ^ sign) - sign);
}

/* a + b modulo 2^64: the source may state any offset in bytes, and sums of them wrap as addresses
 * do. */
static inline int64_t evalint_wrapping_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* --- binary operations --------------------------------------------------------------------------
 * One row per operation: its name and its result, computed from a and b, which are zero above
 * `bits`, in the unsigned type U and the signed type S. The rows are expanded for two widths:
 *
 *   evalint_narrow_NAME   1..64 bits, operands zero above `bits`, the result not cut off
 *   evalint_wide_NAME     1..128 bits, likewise
 *   evalint_NAME          1..64 bits, bits above in the operands are ignored
 *
 * Division by zero gives all ones, and the dividend as remainder, which is what GPUs give. */
#define EVALINT_BINARY(ROW, P, U, S)                                                           \
  ROW(P, U, add, a + b)                                                                        \
  ROW(P, U, sub, a - b)                                                                        \
  ROW(P, U, mul, (a * b))                                                                      \
  ROW(P, U, and, (a & b))                                                                      \
  ROW(P, U, or, a | b)                                                                         \
  ROW(P, U, xor, a ^ b)                                                                        \
  ROW(P, U, div_u, b ? a / b : mask)                                                           \
  ROW(P, U, rem_u, b ? a % b : a)                                                              \
  ROW(P, U, div_s, b == 0 ? mask : b == mask ? 0 - a : (U)(EVALINT_S(S, a) / EVALINT_S(S, b))) \
  ROW(P, U, rem_s, b == 0 ? a : b == mask ? 0 : (U)(EVALINT_S(S, a) % EVALINT_S(S, b)))        \
  ROW(P, U, shl, b < bits ? a << b : 0)                                                        \
  ROW(P, U, shr_u, b < bits ? a >> b : 0)                                                      \
  ROW(P, U, shr_s, (U)(EVALINT_S(S, a) >> (b < bits ? b : bits - 1)))                          \
  ROW(P, U, min_u, a < b ? a : b)                                                              \
  ROW(P, U, max_u, a > b ? a : b)                                                              \
  ROW(P, U, min_s, EVALINT_S(S, a) < EVALINT_S(S, b) ? a : b)                                  \
  ROW(P, U, max_s, EVALINT_S(S, a) > EVALINT_S(S, b) ? a : b)
#define EVALINT_COMPARISONS(ROW, P, U, S)             \
  ROW(P, U, eq, a == b)                               \
  ROW(P, U, ne, a != b)                               \
  ROW(P, U, lt_u, a < b)                              \
  ROW(P, U, le_u, a <= b)                             \
  ROW(P, U, gt_u, a > b)                              \
  ROW(P, U, ge_u, a >= b)                             \
  ROW(P, U, lt_s, EVALINT_S(S, a) < EVALINT_S(S, b))  \
  ROW(P, U, le_s, EVALINT_S(S, a) <= EVALINT_S(S, b)) \
  ROW(P, U, gt_s, EVALINT_S(S, a) > EVALINT_S(S, b))  \
  ROW(P, U, ge_s, EVALINT_S(S, a) >= EVALINT_S(S, b))

/* x, zero above `bits`, as a number with a sign. */
#define EVALINT_S(S, x) ((S)(((x) ^ sign) - sign))

#define EVALINT_FUNCTION(P, U, name, result)                      \
  static inline U evalint_##P##_##name(unsigned bits, U a, U b) { \
    const U sign = (U)1 << (bits - 1), mask = sign | (sign - 1);  \
    (void)mask;                                                   \
    return (U)(result);                                           \
  }
EVALINT_BINARY(EVALINT_FUNCTION, narrow, uint64_t, int64_t)
EVALINT_BINARY(EVALINT_FUNCTION, wide, evalint_u128, evalint_s128)
EVALINT_COMPARISONS(EVALINT_FUNCTION, narrow, uint64_t, int64_t)
EVALINT_COMPARISONS(EVALINT_FUNCTION, wide, evalint_u128, evalint_s128)

#define EVALINT_WRAPPER(P, U, name, result)                                      \
  static inline uint64_t evalint_##name(unsigned bits, uint64_t a, uint64_t b) { \
    a = evalint_zext(bits, a), b = evalint_zext(bits, b);                        \
    return evalint_zext(bits, evalint_narrow_##name(bits, a, b));                \
  }
EVALINT_BINARY(EVALINT_WRAPPER, narrow, uint64_t, int64_t)
EVALINT_COMPARISONS(EVALINT_WRAPPER, narrow, uint64_t, int64_t)

/* Sign-extended to the whole type; operand zero above `bits`. */
static inline uint64_t evalint_narrow_sext(unsigned bits, uint64_t a) {
  uint64_t sign = UINT64_C(1) << (bits - 1);
  return (a ^ sign) - sign;
}
static inline evalint_u128 evalint_wide_sext(unsigned bits, evalint_u128 a) {
  evalint_u128 sign = (evalint_u128)1 << (bits - 1);
  return (a ^ sign) - sign;
}

/* The upper half of the product. */
static inline uint64_t evalint_mul_high_u(unsigned bits, uint64_t a, uint64_t b) {
  evalint_u128 p = (evalint_u128)evalint_zext(bits, a) * evalint_zext(bits, b);
  return evalint_zext(bits, (uint64_t)(p >> bits));
}
static inline uint64_t evalint_mul_high_s(unsigned bits, uint64_t a, uint64_t b) {
  evalint_s128 p = (evalint_s128)evalint_sext(bits, a) * evalint_sext(bits, b);
  return evalint_zext(bits, (uint64_t)((evalint_u128)p >> bits));
}
/* The nearest value in range to an exact result. */
static inline uint64_t evalint_clamp_s(unsigned bits, evalint_s128 v) {
  evalint_s128 top = (evalint_s128)1 << (bits - 1);
  if (v >= top) v = top - 1;
  if (v < -top) v = -top;
  return evalint_zext(bits, (uint64_t)(evalint_u128)v);
}
static inline uint64_t evalint_clamp_u(unsigned bits, evalint_s128 v) {
  if (v < 0) return 0;
  return v > (evalint_s128)evalint_mask(bits) ? evalint_mask(bits) : (uint64_t)v;
}
/* The upper part of high:low shifted left by n (0..bits), all of `bits` bits; a shift right by n is
 * one left by bits - n. */
static inline evalint_u128 evalint_funnel(unsigned bits, evalint_u128 high, evalint_u128 low,
                                          unsigned n) {
  if (n == 0 || n == bits) return n ? low : high;
  return (high << n | low >> (bits - n)) & evalint_wide_mask(bits);
}

/* --- bits: up to 128 where the type is wide --------------------------------------------------- */

/* The smallest signed value has no absolute value: it stays. */
static inline evalint_u128 evalint_abs(unsigned bits, evalint_u128 a) {
  a &= evalint_wide_mask(bits);
  return evalint_wide_max_s(bits, a, (0 - a) & evalint_wide_mask(bits));
}
static inline unsigned evalint_popcount(unsigned bits, evalint_u128 a) {
  unsigned n = 0;
  a &= evalint_wide_mask(bits);
  for (unsigned half = 0; half < 2; half++, a >>= 64) {
    uint64_t x = (uint64_t)a;
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    n += (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
  }
  return n;
}
static inline unsigned evalint_leading_zeros(unsigned bits, evalint_u128 a) {
  unsigned n = 0;
  while (n < bits && !(a >> (bits - 1 - n) & 1)) n++;
  return n;
}
static inline unsigned evalint_trailing_zeros(unsigned bits, evalint_u128 a) {
  unsigned n = 0;
  while (n < bits && !(a >> n & 1)) n++;
  return n;
}
/* Groups of `group` bits in reverse order. */
static inline evalint_u128 evalint_reverse_groups(unsigned bits, unsigned group, evalint_u128 a) {
  evalint_u128 r = 0, mask = evalint_wide_mask(group);
  for (unsigned i = 0; i < bits; i += group) r |= (a >> i & mask) << (bits - group - i);
  return r;
}
static inline evalint_u128 evalint_reverse(unsigned bits, evalint_u128 a) {
  return evalint_reverse_groups(bits, 1, a);
}
static inline evalint_u128 evalint_byte_swap(unsigned bits, evalint_u128 a) {
  return evalint_reverse_groups(bits, 8, a);
}
static inline bool evalint_is_power_of_two(uint64_t a) { return a && !(a & (a - 1)); }
/* The number of the highest bit that is set; 0 for 0. */
static inline uint32_t evalint_log2(uint64_t a) {
  uint32_t n = 0;
  while (a >>= 1) n++;
  return n;
}
/* The highest bit that differs from the sign, as bfind finds it; 0xffffffff: none. */
static inline uint64_t evalint_find_bit(unsigned bits, bool is_signed, uint64_t a) {
  a = evalint_zext(bits, a);
  if (is_signed && a >> (bits - 1)) a = evalint_zext(bits, ~a);
  uint64_t zeros = evalint_leading_zeros(bits, a);
  return zeros == bits ? 0xffffffff : bits - 1 - zeros;
}
/* PTX bfe: `length` bits from `position` (both taken modulo 256), sign-extended if signed; beyond
 * the top the sign or zero. */
static inline uint64_t evalint_extract(unsigned bits, bool is_signed, uint64_t a, uint64_t position,
                                       uint64_t length) {
  unsigned pos = position & 0xff, len = length & 0xff;
  a = evalint_zext(bits, a);
  unsigned last = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
  uint64_t sign = !is_signed || len == 0 ? 0 : a >> last & 1;
  uint64_t r = 0;
  for (unsigned i = 0; i < bits; i++) {
    uint64_t bit = i < len && pos + i < bits ? a >> (pos + i) & 1 : sign;
    r |= bit << i;
  }
  return r;
}
/* PTX bfi: `length` bits of a put into b at `position`. */
static inline uint64_t evalint_insert(unsigned bits, uint64_t a, uint64_t b, uint64_t position,
                                      uint64_t length) {
  unsigned pos = position & 0xff, len = length & 0xff;
  uint64_t r = evalint_zext(bits, b);
  for (unsigned i = 0; i < len && pos + i < bits; i++)
    r = (r & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
  return r;
}
/* One bit of the result is bit (a, b, c) of the table. */
static inline uint64_t evalint_lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table) {
  uint64_t r = 0;
  for (unsigned i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r & 0xffffffff;
}
/* PTX prmt without a mode: four selectors of four bits choose bytes of (b:a). */
static inline uint64_t evalint_permute(uint64_t a, uint64_t b, uint64_t selectors) {
  uint64_t pair = (b << 32) | (a & 0xffffffff), r = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned s = selectors >> (4 * i) & 0xf;
    uint64_t byte = pair >> (8 * (s & 7)) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}

#endif
