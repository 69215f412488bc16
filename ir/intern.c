/* The growth of interning tables; the rest is in the header and in the owners. */
#include "ir/intern.h"

#include <string.h>

#ifdef NVM_HOSTILE /* checking build: collisions and growth from the start */
enum { FIRST_SLOTS = 2 };
#else
enum { FIRST_SLOTS = 64 };
#endif

bool intern_room(struct arena *a, uint32_t **slots, uint32_t *slot_count, uint32_t first,
                 uint32_t end, intern_hash *hash, const void *table) {
  uint64_t wanted = *slot_count ? *slot_count : FIRST_SLOTS;
  while ((uint64_t)(end - first + 1) * 2 > wanted) wanted *= 2;
  if (wanted == *slot_count) return true;
  if (wanted > UINT32_C(1) << 31) {
    a->failed = true;
    return false;
  }
  uint32_t *grown =
      arena_grow_raw(a, *slots, *slot_count * sizeof *grown, (size_t)wanted * sizeof *grown);
  if (!grown) return false;
  memset(grown, 0, (size_t)wanted * sizeof *grown);
  for (uint32_t k = first; k < end; k++) {
    uint32_t h;
    if (hash(table, k, &h)) intern_enter(grown, (uint32_t)wanted, h, k);
  }
  *slots = grown;
  *slot_count = (uint32_t)wanted;
  return true;
}
