/* Growing arrays: the only place that computes capacities. */
#include "support/vec.h"

#include <string.h>

#ifdef NVM_HOSTILE /* checking build: a pointer into a table is soon dangling */
enum { FIRST_CAPACITY = 1, ALWAYS_FULL = 128 /* elements */ };
#else
enum { FIRST_CAPACITY = 8, ALWAYS_FULL = 0 };
#endif

void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes, bool zero) {
  const uint64_t max = UINT32_C(1) << 31;
  if (wanted > max) {
    a->failed = true;
    return data;
  }
  /* A reservation before the first push is for the final count: no extra room. */
  uint64_t doubled = *capacity ? (uint64_t)*capacity * 2 : wanted > 1 ? wanted : FIRST_CAPACITY;
  if (wanted <= ALWAYS_FULL) doubled = wanted;
  if (doubled * element_bytes > 256 * 1024) doubled -= *capacity / 4 * 3;
  if (doubled < wanted) doubled = wanted;
  if (doubled > max) doubled = max;
  size_t old_bytes = *capacity * element_bytes, bytes = (size_t)doubled * element_bytes;
  void *grown =
      zero ? arena_grow(a, data, old_bytes, bytes) : arena_grow_raw(a, data, old_bytes, bytes);
  if (!grown) return data;
  if (*capacity == 0) memset(grown, 0, element_bytes); /* the dummy record of tables */
  *capacity = (uint32_t)doubled;
  return grown;
}

void *vec_shrink(struct arena *a, void *data, uint32_t *capacity, uint32_t count,
                 size_t element_bytes) {
  size_t min = a->large_bytes / element_bytes + 1;
  uint32_t fewer = count > min ? count : (uint32_t)min;
  if (fewer >= *capacity) return data;
  void *moved = arena_shrink(a, data, *capacity * element_bytes, fewer * element_bytes);
  *capacity = fewer;
  return moved;
}
