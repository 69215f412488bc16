/* Arenas: all memory of the library is allocated here.
 *
 * Everything the compiler makes lives in one of three arenas (module, function, pass) and is
 * released as a whole; only large objects can be released earlier. Nothing can leak. Chunks come
 * from the caller's allocator, so an embedder can bound memory and a test can make the n-th request
 * fail.
 *
 * Running out of memory is a status, not a crash: arena_alloc() returns NULL and sets `failed`,
 * which stays set: every later request fails too, however small, so if the second of two arrays was
 * allocated, the first one was. Code that appends to tables returns the null handle (index 0, a
 * valid dummy record), so a phase can run to its end and report NVM_OUT_OF_MEMORY there. */
#ifndef NVM_SUPPORT_ARENA_H
#define NVM_SUPPORT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's allocator, realloc-like. `resize(state, NULL, 0, n)` allocates, `resize(state, p,
 * old, 0)` frees and returns NULL, anything else grows or shrinks. NULL for n > 0 means out of
 * memory; the old memory then stays valid. Sizes in bytes; results aligned for any object. */
struct nvm_allocator {
  void *(*resize)(void *state, void *memory, size_t old_bytes, size_t new_bytes);
  void *state;
};

/* realloc() and free() of the C library. */
extern const struct nvm_allocator nvm_default_allocator;

struct arena_chunk;

struct arena {
  struct nvm_allocator allocator;
  struct arena_chunk *chunks; /* newest first; dedicated chunks of large objects among them */
  unsigned char *free;        /* next free byte of the current small-object chunk */
  unsigned char *limit;       /* end of that chunk */
  size_t chunk_bytes;         /* size of the next small-object chunk */
  size_t large_bytes;         /* objects of at least this size have their own chunk */
  size_t total_bytes;         /* requested from the allocator so far */
  size_t limit_bytes;         /* 0: no limit */
  bool failed;                /* a request failed; cleared by arena_free only */
};

/* An empty arena; allocates nothing yet. */
void arena_init(struct arena *a, struct nvm_allocator allocator);

/* The same for an arena that is reset often: nearly all objects share chunks, so a reset releases
 * little and the next round allocates little. */
void arena_init_reused(struct arena *a, struct nvm_allocator allocator);

/* Zeroed memory of `bytes` bytes aligned to 16, owned by the arena; NULL when out of memory.
 * A request of 0 bytes returns a valid pointer. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Grows memory got from this arena; the new part is zeroed. In place if possible. Returns the
 * memory, which may have moved, or NULL when out of memory (the old memory stays valid). */
void *arena_grow(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* The same with an uninitialized new part. */
void *arena_grow_raw(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* Releases all but the first new_bytes of a large object, if it remains one; it may move.
 */
void *arena_shrink(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* Releases a large object; a small one lives as long as the arena. */
void arena_release(struct arena *a, void *memory, size_t bytes);

/* A copy of `bytes` bytes, followed by a NUL; NULL when out of memory. */
char *arena_copy(struct arena *a, const void *data, size_t bytes);

/* Releases all objects but keeps one chunk for reuse. */
void arena_reset(struct arena *a);

/* Returns everything to the allocator; the arena is as after arena_init. */
void arena_free(struct arena *a);

#endif
