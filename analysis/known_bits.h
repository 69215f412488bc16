/* Known bits: which bits of an integer are the same in every execution. Computed on demand, from
 * the operands down to a small depth; nothing is stored. */
#ifndef NVM_OPT_ANALYSIS_KNOWN_BITS_H
#define NVM_OPT_ANALYSIS_KNOWN_BITS_H

#include "ir/function.h"

/* Both masks are zero above `width`; of a vector, what is known of every lane. If both claim the
 * same bit the value is poison. */
struct known_bits {
  uint64_t zero, one;
  uint32_t width; /* 1..64; 0: not an integer of at most 64 bits, nothing is known */
};

/* What is known of v in f: an instruction, argument or constant. Costs a walk of bounded depth. */
struct known_bits known_bits_of(const struct nvm_function *f, struct nvm_value v);

/* The largest value (unsigned) that the known bits allow, and the smallest. */
static inline uint64_t known_bits_mask(uint32_t width) {
  return width >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
}
static inline uint64_t known_bits_most(struct known_bits b) {
  return ~b.zero & known_bits_mask(b.width);
}
static inline uint64_t known_bits_least(struct known_bits b) { return b.one; }
static inline bool known_bits_nonnegative(struct known_bits b) {
  return b.width && b.zero >> (b.width - 1) & 1;
}
static inline bool known_bits_negative(struct known_bits b) {
  return b.width && b.one >> (b.width - 1) & 1;
}

/* The largest value a special register can have, as known bits: tid, ntid, ctaid, laneid … */
struct known_bits known_bits_of_register(uint32_t intrinsic);

#endif
