/* Growing arrays: the one place where a capacity is computed. */
#include "support/vec.h"

#ifdef NVM_HOSTILE
enum { FIRST_CAPACITY = 1 };
#else
enum { FIRST_CAPACITY = 8 };
#endif

void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes) {
  const uint64_t most = UINT32_C(1) << 31;
  if (wanted > most) {
    a->failed = true;
    return data;
  }
  /* Who reserves before the first element knows how many there will be. */
  uint64_t doubled = *capacity ? (uint64_t)*capacity * 2 : wanted > 1 ? wanted : FIRST_CAPACITY;
  if (doubled < wanted) doubled = wanted;
  if (doubled > most) doubled = most;
  void *grown = arena_grow(a, data, *capacity * element_bytes, (size_t)doubled * element_bytes);
  if (!grown) return data;
  *capacity = (uint32_t)doubled;
  return grown;
}
