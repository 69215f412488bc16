/* Growing arrays in an arena. A vector is a plain struct { data, count, capacity }; the macros only
 * supply the element size; vec_grow() does the work. After a failed push the vector is unchanged
 * and the arena's `failed` flag is set. */
#ifndef NVM_SUPPORT_VEC_H
#define NVM_SUPPORT_VEC_H

#include "support/arena.h"

#define VEC(T)         \
  struct {             \
    T *data;           \
    uint32_t count;    \
    uint32_t capacity; \
  }

/* Grows `data` to hold at least `wanted` elements of `element_bytes` each (doubling, then by a
 * quarter, which leaves little unused) and updates *capacity; new elements are zero, or
 * uninitialized. Returns the data, which may have moved; unchanged when out of memory or beyond
 * 2^31 elements. */
void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes, bool zero);

#define VEC_GROW_(arena, v, n, zero)                                                          \
  ((n) <= (v)->capacity ||                                                                    \
   ((v)->data = vec_grow((arena), (v)->data, &(v)->capacity, (n), sizeof *(v)->data, (zero)), \
    (n) <= (v)->capacity))

/* Ensures room for `n` elements in total, zero-initialized; false when out of memory. */
#define VEC_RESERVE(arena, v, n) VEC_GROW_(arena, v, n, true)
/* The same, uninitialized. */
#define VEC_ROOM(arena, v, n) VEC_GROW_(arena, v, n, false)

/* Releases the room after the last element of a large vector. */
#define VEC_SHRINK(arena, v) \
  ((v)->data = vec_shrink((arena), (v)->data, &(v)->capacity, (v)->count, sizeof *(v)->data))
void *vec_shrink(struct arena *a, void *data, uint32_t *capacity, uint32_t count,
                 size_t element_bytes);

/* Empties the vector, and releases its memory if it is large. */
#define VEC_RELEASE(arena, v)                                                                      \
  (arena_release((arena), (v)->data, (size_t)(v)->capacity * sizeof *(v)->data), (v)->data = NULL, \
   (v)->count = (v)->capacity = 0)

/* Appends one element; false when out of memory. */
#define VEC_PUSH(arena, v, ...)                          \
  (VEC_ROOM((arena), (v), (uint64_t)(v)->count + 1)      \
       ? ((v)->data[(v)->count++] = (__VA_ARGS__), true) \
       : false)

#endif
