/* Arenas: the only way the library allocates.
 *
 * Everything the compiler makes lives in one of three arenas (module, function, pass) and is
 * released as a whole; only large objects can be given back before, so nothing can leak. Chunks
 * come from the caller's allocator, so that an embedder can bound memory and tests can make the
 * n-th request fail.
 *
 * Running out of memory is a status, not a crash: arena_alloc() returns NULL and sets `failed`,
 * which stays set: from then on every request is refused, however small, so that of two arrays the
 * later is there only if the earlier is. Code that appends to tables returns the null handle (index
 * 0, always a valid dummy record), so that a phase may run on to its end and report
 * NVM_OUT_OF_MEMORY there. */
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
  size_t large_bytes;         /* objects from here on have chunks of their own */
  size_t total_bytes;         /* requested from the allocator so far */
  size_t limit_bytes;         /* refuse beyond this; 0: no limit */
  bool failed;                /* some request was refused; never cleared but by arena_free */
};

/* An empty arena; allocates nothing yet. */
void arena_init(struct arena *a, struct nvm_allocator allocator);

/* The same for an arena that is reset again and again: nearly all objects share chunks, so that a
 * reset has little to give back and the next round little to ask for. */
void arena_init_reused(struct arena *a, struct nvm_allocator allocator);

/* Zeroed memory of `bytes` bytes aligned to 16, owned by the arena; NULL when out of memory.
 * A request of 0 bytes returns a valid pointer. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Grows memory got from this arena; the new part is zeroed. In place where it can. Returns the
 * (perhaps moved) memory, or NULL when out of memory (the old memory stays valid). */
void *arena_grow(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* The same, the new part holding anything. */
void *arena_grow_raw(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* Gives back what lies behind the first new_bytes of a large object, if it stays one; it may move.
 */
void *arena_shrink(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes);

/* Gives an object back if it is large; a small one stays until all go. */
void arena_release(struct arena *a, void *memory, size_t bytes);

/* A copy of `bytes` bytes, followed by a NUL; NULL when out of memory. */
char *arena_copy(struct arena *a, const void *data, size_t bytes);

/* Forgets all objects, keeps one chunk for reuse. */
void arena_reset(struct arena *a);

/* Returns everything to the allocator; the arena is as after arena_init. */
void arena_free(struct arena *a);

#endif
