/* Known bits: the bits of an integer that are the same in every execution. Computed on demand from
 * operands to a small depth; nothing is stored. */
#ifndef NVM_ANALYSIS_KNOWN_BITS_H
#define NVM_ANALYSIS_KNOWN_BITS_H

#include "ir/function.h"

/* Both masks are zero above `width`. For vectors, bits known in every lane. If a bit is in both,
 * the value is poison. */
struct known_bits {
  uint64_t zero, one;
  uint32_t width; /* 1..64; 0: not an integer of at most 64 bits, nothing is known */
};

/* The known bits of an instruction, argument or constant. Cost: a walk of bounded depth. */
struct known_bits known_bits_of(const struct nvm_function *f, struct nvm_value v);

/* Whether at most one bit of v is set, in each lane if it is a vector: 0 or a power of two, as a
 * stride that a loop doubles. False if that is not known. Cost: a walk of bounded depth. */
bool known_bits_at_most_one(const struct nvm_function *f, struct nvm_value v);

/* Whether v is neither undef nor poison, and so are the lanes of a vector: false if that is not
 * known. Cost: a walk of bounded depth. */
bool known_bits_are_defined(const struct nvm_function *f, struct nvm_value v);

static inline uint64_t known_bits_mask(uint32_t width) {
  return width >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
}
/* The largest unsigned value that the known bits allow, and the smallest. */
static inline uint64_t known_bits_most(struct known_bits b) {
  return ~b.zero & known_bits_mask(b.width);
}
static inline uint64_t known_bits_least(struct known_bits b) { return b.one; }
/* Known trailing zeros; `width` if all bits are. */
static inline uint32_t known_bits_trailing_zeros(struct known_bits b) {
  uint64_t most = known_bits_most(b);
  return most ? (uint32_t)__builtin_ctzll(most) : b.width;
}
static inline bool known_bits_nonnegative(struct known_bits b) {
  return b.width && b.zero >> (b.width - 1) & 1;
}
static inline bool known_bits_negative(struct known_bits b) {
  return b.width && b.one >> (b.width - 1) & 1;
}

/* The smallest and largest number that a special register (tid, ntid, ctaid, laneid …) can hold, by
 * the limits of the CUDA programming guide, "Compute Capabilities"; all numbers if it has none. */
struct register_limits {
  uint32_t least, most;
};
struct register_limits known_bits_register_limits(uint32_t intrinsic);

/* The known bits of a special register by its limits. */
struct known_bits known_bits_of_register(uint32_t intrinsic);

#endif
