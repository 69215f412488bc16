/* An allocator that refuses its `left`-th request and all after it, and counts what is held. */
#ifndef NVM_TEST_FAILING_ALLOCATOR_H
#define NVM_TEST_FAILING_ALLOCATOR_H

#include <stdlib.h>

struct failing {
  long left;
  size_t held; /* bytes */
};

static inline void *failing_resize(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  struct failing *f = state;
  if (new_bytes == 0) {
    free(memory);
    f->held -= old_bytes;
    return NULL;
  }
  if (new_bytes > old_bytes && f->left-- <= 0) return NULL;
  void *result = realloc(memory, new_bytes);
  if (result != NULL) f->held += new_bytes - old_bytes;
  return result;
}

#endif
