/* Interning of records: the hash tables behind types, constants, metadata, attributes, symbols and
 * call sites.
 *
 * A table is an array of slots, a power of two long and at most half full, probed linearly. A slot
 * holds a record's number, or 0. Hashes depend on contents and handles, never on addresses, so
 * every run is the same. The owner stores the records and can rehash record k when the table grows;
 * lookups compare in the owner's code:
 *
 *   for (uint32_t i = hash & mask; slots[i]; i = (i + 1) & mask) if (same(slots[i])) return …; */
#ifndef NVM_IR_INTERN_H
#define NVM_IR_INTERN_H

#include "support/vec.h"

/* Records are often copied within their own pool (an instruction cloned, a node edited), which may
 * move when it grows. Before that, pool_offset() returns the offset of p in the pool in bytes
 * (POOL_OUTSIDE: not in it); afterwards pool_rebase() returns the new address. */
#define POOL_OUTSIDE SIZE_MAX

static inline size_t pool_offset(const void *p, const void *pool, size_t pool_bytes) {
  uintptr_t offset = (uintptr_t)p - (uintptr_t)pool;
  return pool && offset < pool_bytes ? (size_t)offset : POOL_OUTSIDE;
}
static inline const void *pool_rebase(const void *p, size_t offset, const void *pool) {
  return offset == POOL_OUTSIDE ? p : (const char *)pool + offset;
}

/* The hash of record k of `table`; false if lookups must not find the record. */
typedef bool intern_hash(const void *table, uint32_t k, uint32_t *hash);

/* Ensures room for one more record after first..end-1, doubling and refilling the slots if needed.
 * False when out of memory, with the slots unchanged. */
bool intern_room(struct arena *a, uint32_t **slots, uint32_t *slot_count, uint32_t first,
                 uint32_t end, intern_hash *hash, const void *table);

/* Enters record k, which must not be in the slots and for which there is room. */
static inline void intern_enter(uint32_t *slots, uint32_t slot_count, uint32_t hash, uint32_t k) {
  uint32_t i = hash & (slot_count - 1);
  while (slots[i]) i = (i + 1) & (slot_count - 1);
  slots[i] = k;
}

#endif
