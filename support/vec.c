/* Growing arrays: the one place where a capacity is computed. */
#include "support/vec.h"

#include <string.h>

#ifdef NVM_HOSTILE
enum { FIRST_CAPACITY = 1 };
#else
enum { FIRST_CAPACITY = 8 };
#endif

void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes, bool zero) {
  const uint64_t most = UINT32_C(1) << 31;
  if (wanted > most) {
    a->failed = true;
    return data;
  }
  /* Who reserves before the first element knows how many there will be. */
  uint64_t doubled = *capacity ? (uint64_t)*capacity * 2 : wanted > 1 ? wanted : FIRST_CAPACITY;
  if (doubled * element_bytes > 256 * 1024) doubled -= *capacity / 2;
  if (doubled < wanted) doubled = wanted;
  if (doubled > most) doubled = most;
  size_t old_bytes = *capacity * element_bytes, bytes = (size_t)doubled * element_bytes;
  void *grown =
      zero ? arena_grow(a, data, old_bytes, bytes) : arena_grow_raw(a, data, old_bytes, bytes);
  if (!grown) return data;
  if (*capacity == 0) memset(grown, 0, element_bytes); /* the dummy of tables that have one */
  *capacity = (uint32_t)doubled;
  return grown;
}

void *vec_shrink(struct arena *a, void *data, uint32_t *capacity, uint32_t count,
                 size_t element_bytes) {
  size_t least = a->large_bytes / element_bytes + 1;
  uint32_t fewer = count > least ? count : (uint32_t)least;
  if (fewer >= *capacity) return data;
  void *moved = arena_shrink(a, data, *capacity * element_bytes, fewer * element_bytes);
  *capacity = fewer;
  return moved;
}
