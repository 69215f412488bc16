/* What integer operations compute, on bits: constant folding and the simulator call the same
 * functions.
 *
 * A value of width `bits` (1..64) is the low bits of a uint64_t; bits above are zero in results and
 * ignored in operands unless said otherwise. Total: every input has a result, division by zero and
 * too large shifts too (as PTX has them); whoever needs poison or a fault asks before. */
#ifndef NVM_IR_EVALINT_H
#define NVM_IR_EVALINT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 evalint_u128;
__extension__ typedef __int128 evalint_s128;

static inline uint64_t evalint_mask(unsigned bits) {
  return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}
static inline uint64_t evalint_zext(unsigned bits, uint64_t a) { return a & evalint_mask(bits); }
/* Sign-extended to 64 bits. */
static inline int64_t evalint_sext(unsigned bits, uint64_t a) {
  uint64_t sign = UINT64_C(1) << (bits - 1);
  return (int64_t)((evalint_zext(bits, a) ^ sign) - sign);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static inline uint64_t evalint_mul_high_u(unsigned bits, uint64_t a, uint64_t b) {
  evalint_u128 p = (evalint_u128)evalint_zext(bits, a) * evalint_zext(bits, b);
  return evalint_zext(bits, (uint64_t)(p >> bits));
}
static inline uint64_t evalint_mul_high_s(unsigned bits, uint64_t a, uint64_t b) {
  evalint_s128 p = (evalint_s128)evalint_sext(bits, a) * evalint_sext(bits, b);
  return evalint_zext(bits, (uint64_t)((evalint_u128)p >> bits));
}
/* By zero: all ones, and the dividend as remainder, which is what GPUs give. */
static inline uint64_t evalint_div_u(unsigned bits, uint64_t a, uint64_t b) {
  a = evalint_zext(bits, a);
  b = evalint_zext(bits, b);
  return b ? a / b : evalint_mask(bits);
}
static inline uint64_t evalint_rem_u(unsigned bits, uint64_t a, uint64_t b) {
  a = evalint_zext(bits, a);
  b = evalint_zext(bits, b);
  return b ? a % b : a;
}
static inline uint64_t evalint_div_s(unsigned bits, uint64_t a, uint64_t b) {
  int64_t x = evalint_sext(bits, a), y = evalint_sext(bits, b);
  if (y == 0) return evalint_mask(bits);
  if (y == -1) return evalint_zext(bits, 0 - (uint64_t)x);
  return evalint_zext(bits, (uint64_t)(x / y));
}
static inline uint64_t evalint_rem_s(unsigned bits, uint64_t a, uint64_t b) {
  int64_t x = evalint_sext(bits, a), y = evalint_sext(bits, b);
  if (y == 0) return evalint_zext(bits, a);
  if (y == -1) return 0;
  return evalint_zext(bits, (uint64_t)(x % y));
}
static inline uint64_t evalint_abs(unsigned bits, uint64_t a) {
  int64_t x = evalint_sext(bits, a);
  return evalint_zext(bits, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}
static inline uint64_t evalint_min_s(unsigned bits, uint64_t a, uint64_t b) {
  return evalint_zext(bits, evalint_sext(bits, a) < evalint_sext(bits, b) ? a : b);
}
static inline uint64_t evalint_max_s(unsigned bits, uint64_t a, uint64_t b) {
  return evalint_zext(bits, evalint_sext(bits, a) > evalint_sext(bits, b) ? a : b);
}
static inline uint64_t evalint_min_u(unsigned bits, uint64_t a, uint64_t b) {
  a = evalint_zext(bits, a);
  b = evalint_zext(bits, b);
  return a < b ? a : b;
}
static inline uint64_t evalint_max_u(unsigned bits, uint64_t a, uint64_t b) {
  a = evalint_zext(bits, a);
  b = evalint_zext(bits, b);
  return a > b ? a : b;
}
/* The nearest value in range of a signed, exact result. */
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

/* --- shifts: counts of the width or more shift everything out -----------------------------------
 */

static inline uint64_t evalint_shl(unsigned bits, uint64_t a, uint64_t count) {
  return count >= bits ? 0 : evalint_zext(bits, a << count);
}
static inline uint64_t evalint_shr_u(unsigned bits, uint64_t a, uint64_t count) {
  return count >= bits ? 0 : evalint_zext(bits, a) >> count;
}
static inline uint64_t evalint_shr_s(unsigned bits, uint64_t a, uint64_t count) {
  int64_t x = evalint_sext(bits, a);
  if (count >= bits) count = bits - 1;
  uint64_t r = x < 0 ? ~(~(uint64_t)x >> count) : (uint64_t)x >> count;
  return evalint_zext(bits, r);
}
/* The upper word of (high:low) << count, of 32 bits; count at most 32. */
static inline uint64_t evalint_funnel_l(uint64_t low, uint64_t high, unsigned count) {
  uint64_t pair = (high << 32) | (low & 0xffffffff);
  return count >= 32 ? low & 0xffffffff : (pair << count) >> 32;
}
/* The lower word of (high:low) >> count. */
static inline uint64_t evalint_funnel_r(uint64_t low, uint64_t high, unsigned count) {
  uint64_t pair = (high << 32) | (low & 0xffffffff);
  return (pair >> count) & 0xffffffff;
}

/* --- bits --------------------------------------------------------------------------------------
 */

static inline uint64_t evalint_popcount(unsigned bits, uint64_t a) {
  a = evalint_zext(bits, a);
  a -= a >> 1 & UINT64_C(0x5555555555555555);
  a = (a & UINT64_C(0x3333333333333333)) + (a >> 2 & UINT64_C(0x3333333333333333));
  a = (a + (a >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return a * UINT64_C(0x0101010101010101) >> 56;
}
static inline uint64_t evalint_leading_zeros(unsigned bits, uint64_t a) {
  a = evalint_zext(bits, a);
  unsigned n = 0;
  while (n < bits && !(a >> (bits - 1 - n) & 1)) n++;
  return n;
}
static inline uint64_t evalint_trailing_zeros(unsigned bits, uint64_t a) {
  unsigned n = 0;
  while (n < bits && !(a >> n & 1)) n++;
  return n;
}
static inline uint64_t evalint_reverse(unsigned bits, uint64_t a) {
  uint64_t r = 0;
  for (unsigned i = 0; i < bits; i++) r |= (a >> i & 1) << (bits - 1 - i);
  return r;
}
static inline uint64_t evalint_byte_swap(unsigned bits, uint64_t a) {
  uint64_t r = 0;
  for (unsigned i = 0; i < bits / 8; i++) r |= (a >> (8 * i) & 0xff) << (bits - 8 - 8 * i);
  return r;
}
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
