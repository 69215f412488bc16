/* Interning of records: the hash tables behind types, constants, metadata, attributes, symbols and
 * call sites.
 *
 * A table is an array of slots, a power of two long and at most half full, probed linearly. A slot
 * holds a record's number, 0 where it is empty. Hashes are made of contents and handles, never of
 * addresses, so that every run probes alike. The owner keeps the records and knows how to hash
 * record k again (when the slots are doubled); lookups compare in the owner's code:
 *
 *   for (uint32_t i = hash & mask; slots[i]; i = (i + 1) & mask) if (same(slots[i])) return …; */
#ifndef NVM_IR_INTERN_H
#define NVM_IR_INTERN_H

#include "support/vec.h"

/* Records are often copied within their own pool (an instruction cloned, a node edited), which may
 * move while room is made. pool_offset() says before that where in the pool p points to, in bytes
 * (POOL_OUTSIDE: nowhere), and pool_rebase() where that is afterwards. */
#define POOL_OUTSIDE SIZE_MAX

static inline size_t pool_offset(const void *p, const void *pool, size_t pool_bytes) {
  uintptr_t offset = (uintptr_t)p - (uintptr_t)pool;
  return pool && offset < pool_bytes ? (size_t)offset : POOL_OUTSIDE;
}
static inline const void *pool_rebase(const void *p, size_t offset, const void *pool) {
  return offset == POOL_OUTSIDE ? p : (const char *)pool + offset;
}

/* The hash of record k of `table`; false if the record is not to be found by lookup. */
typedef bool intern_hash(const void *table, uint32_t k, uint32_t *hash);

/* Ensures that one more record fits beside records first..end-1, doubling and refilling the slots
 * where needed. False when out of memory; the old slots then stay as they are. */
bool intern_room(struct arena *a, uint32_t **slots, uint32_t *slot_count, uint32_t first,
                 uint32_t end, intern_hash *hash, const void *table);

/* Enters record k, which must not be in the slots and for which there is room. */
static inline void intern_enter(uint32_t *slots, uint32_t slot_count, uint32_t hash, uint32_t k) {
  uint32_t i = hash & (slot_count - 1);
  while (slots[i]) i = (i + 1) & (slot_count - 1);
  slots[i] = k;
}

#endif
