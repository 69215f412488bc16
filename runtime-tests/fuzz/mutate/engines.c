/* The mutator's interface to fuzzing engines: libFuzzer (linked into targets that read text) and
 * AFL++ (build/…/nvir_mutator.so, AFL_CUSTOM_MUTATOR_LIBRARY). libFuzzer makes one mutation in four
 * itself, all mutations of inputs that are not valid modules, and all with NVMINI_FUZZ_BYTES set,
 * so that both can be measured with one program. AFL++ makes mutations of its own besides these. */
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

static bool is_for_engine(struct random *r) {
  return random_once_in(r, 4) || getenv("NVMINI_FUZZ_BYTES") != NULL;
}

/* ---- libFuzzer ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  struct random r = {seed};
  char *out = is_for_engine(&r) ? NULL : malloc(max_size);
  size_t made = 0;
  if (out) made = mutate_text((const char *)data, size, out, max_size, r.state, MUTATE_ANY);
  if (made) memcpy(data, out, made);
  free(out);
  if (made) return made;
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
}

/* After 0, libFuzzer makes another mutation. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed) {
  struct random r = {seed};
  if (is_for_engine(&r)) return 0;
  return mutate_cross((const char *)data1, size1, (const char *)data2, size2, (char *)out, max_size,
                      r.state);
}

/* ---- AFL++ ---- */

struct afl_mutator {
  struct random random;
  char *out;
  size_t room;
};

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *afl_custom_init(void *afl, unsigned seed);
EXPORTED size_t afl_custom_fuzz(void *state, uint8_t *data, size_t size, uint8_t **out,
                                uint8_t *other, size_t other_size, size_t max_size);
EXPORTED void afl_custom_deinit(void *state);

void *afl_custom_init(void *afl, unsigned seed) {
  (void)afl;
  struct afl_mutator *a = calloc(1, sizeof *a);
  if (a) a->random.state = seed;
  return a;
}

/* `out` is valid until the next call. 0: AFL++ skips this mutation. */
size_t afl_custom_fuzz(void *state, uint8_t *data, size_t size, uint8_t **out, uint8_t *other,
                       size_t other_size, size_t max_size) {
  struct afl_mutator *a = state;
  if (a->room < max_size) {
    free(a->out);
    a->out = malloc(max_size);
    a->room = a->out ? max_size : 0;
  }
  *out = (uint8_t *)a->out;
  uint64_t seed = random_below(&a->random, UINT32_MAX);
  if (!a->out) return 0;
  if (other && other_size && random_once_in(&a->random, 6))
    return mutate_cross((const char *)data, size, (const char *)other, other_size, a->out, max_size,
                        seed);
  return mutate_text((const char *)data, size, a->out, max_size, seed, MUTATE_ANY);
}

void afl_custom_deinit(void *state) {
  struct afl_mutator *a = state;
  free(a->out);
  free(a);
}
