/* Growing arrays in an arena. A vector is a plain struct { data, count, capacity }; the macros only
 * supply the element size, all work is in vec_grow(). After a failed push the vector is unchanged
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

/* Grows `data` to hold at least `wanted` elements of `element_bytes` each (doubling, then by half)
 * and updates *capacity; new elements are zero, or anything. Returns the data, moved or not;
 * unchanged when out of memory or when 2^31 elements would be exceeded. */
void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes, bool zero);

#define VEC_GROW_(arena, v, n, zero)                                                          \
  ((n) <= (v)->capacity ||                                                                    \
   ((v)->data = vec_grow((arena), (v)->data, &(v)->capacity, (n), sizeof *(v)->data, (zero)), \
    (n) <= (v)->capacity))

/* Ensures room for `n` elements in all, the new ones zero; false when out of memory. */
#define VEC_RESERVE(arena, v, n) VEC_GROW_(arena, v, n, true)
/* The same where elements are written before they are read. */
#define VEC_ROOM(arena, v, n) VEC_GROW_(arena, v, n, false)

/* Gives back room behind the last element of a large vector. */
#define VEC_SHRINK(arena, v) \
  ((v)->data = vec_shrink((arena), (v)->data, &(v)->capacity, (v)->count, sizeof *(v)->data))
void *vec_shrink(struct arena *a, void *data, uint32_t *capacity, uint32_t count,
                 size_t element_bytes);

/* Gives back all room, if it is large; the vector is empty then. */
#define VEC_RELEASE(arena, v)                                                                      \
  (arena_release((arena), (v)->data, (size_t)(v)->capacity * sizeof *(v)->data), (v)->data = NULL, \
   (v)->count = (v)->capacity = 0)

/* Appends one element; false when out of memory. */
#define VEC_PUSH(arena, v, ...)                          \
  (VEC_ROOM((arena), (v), (uint64_t)(v)->count + 1)      \
       ? ((v)->data[(v)->count++] = (__VA_ARGS__), true) \
       : false)

#endif
