/* Growing arrays in an arena. A vector is a plain struct { data, count, capacity }; the macros only
 * supply the element size, all work is in vec_grow(). After a failed push the vector is unchanged
 * and the arena's `failed` flag is set. */
#ifndef NVM_SUPPORT_VEC_H
#define NVM_SUPPORT_VEC_H

#include "support/arena.h"

#define VEC(T)               \
  struct {                   \
    T *data;                 \
    uint32_t count;          \
    uint32_t capacity;       \
  }

/* Grows `data` to hold at least `wanted` elements of `element_bytes` each (doubling) and updates
 * *capacity; new elements are zero. Returns the data, moved or not; unchanged when out of memory
 * or when 2^31 elements would be exceeded. */
void *vec_grow(struct arena *a, void *data, uint32_t *capacity, uint64_t wanted,
               size_t element_bytes);

/* Ensures room for `n` elements in all; false when out of memory. */
#define VEC_RESERVE(arena, v, n)                                                              \
  ((n) <= (v)->capacity ||                                                                    \
   ((v)->data = vec_grow((arena), (v)->data, &(v)->capacity, (n), sizeof *(v)->data),         \
    (n) <= (v)->capacity))

/* Appends one element; false when out of memory. */
#define VEC_PUSH(arena, v, ...)                                        \
  (VEC_RESERVE((arena), (v), (uint64_t)(v)->count + 1)                 \
       ? ((v)->data[(v)->count++] = (__VA_ARGS__), true)               \
       : false)

#endif
