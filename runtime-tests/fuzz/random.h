/* Random numbers that depend on a seed only: Knuth's linear congruential generator (MMIX), of which
 * the high bits are used. */
#ifndef NVM_FUZZ_RANDOM_H
#define NVM_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
  uint64_t state;
};

/* A number below n, which is at most 2^31; 0 if n is 0. */
static inline uint64_t random_below(struct random *r, uint64_t n) {
  r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return n == 0 ? 0 : (r->state >> 33) % n;
}
/* True once in n times. */
static inline bool random_once_in(struct random *r, uint64_t n) { return random_below(r, n) == 0; }
static inline uint64_t random_bits(struct random *r) {
  uint64_t high = random_below(r, UINT64_C(1) << 22), middle = random_below(r, UINT64_C(1) << 21);
  return high << 42 | middle << 21 | random_below(r, UINT64_C(1) << 21);
}

#endif
