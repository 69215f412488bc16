/* Arenas, after the usual bump-pointer scheme. Small objects share chunks that double up to
 * LARGEST_CHUNK; an object of `large_bytes` or more gets its own chunk, which arena_grow() resizes
 * through the allocator: a vector that grows to gigabytes leaves no copies. */
#include "support/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, LARGEST_CHUNK = 1024 * 1024, LARGE_OBJECT = 512, LARGE_REUSED = 16 * 1024 };
#ifdef NVM_HOSTILE
/* Checking build: minimal chunks, to test every boundary; an object of up to ALWAYS_MOVES bytes
 * moves when it grows, and its old bytes become STALE, so that a pointer kept too long is seen. */
enum { FIRST_CHUNK = 64, ALWAYS_MOVES = 64 * 1024 };
#else
enum { FIRST_CHUNK = 8 * 1024, ALWAYS_MOVES = 0 };
#endif
enum { STALE = 0xDB };

struct arena_chunk {
  struct arena_chunk *previous; /* doubly linked: a dedicated chunk can move when it grows */
  struct arena_chunk *next;
  size_t bytes; /* header included */
  bool dedicated;
};

enum { HEADER = (sizeof(struct arena_chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

static void *default_resize(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  (void)state;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(memory);
    return NULL;
  }
  return realloc(memory, new_bytes);
}

const struct nvm_allocator nvm_default_allocator = {default_resize, NULL};

void arena_init(struct arena *a, struct nvm_allocator allocator) {
  *a = (struct arena){
      .allocator = allocator, .chunk_bytes = FIRST_CHUNK, .large_bytes = LARGE_OBJECT};
}

void arena_init_reused(struct arena *a, struct nvm_allocator allocator) {
  arena_init(a, allocator);
  a->large_bytes = LARGE_REUSED;
}

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* Counts `more` bytes as requested; false if that exceeds the limit. */
static bool arena_charge(struct arena *a, size_t more) {
  if (a->limit_bytes != 0 && (more > a->limit_bytes || a->total_bytes > a->limit_bytes - more))
    return false;
  a->total_bytes += more;
  return true;
}

/* After a failure all requests fail, however small. */
static void fail(struct arena *a) {
  a->failed = true;
  a->free = a->limit = NULL;
}

static struct arena_chunk *chunk_add(struct arena *a, size_t payload, bool dedicated) {
  size_t bytes = HEADER + payload;
  struct arena_chunk *c = NULL;
  if (!a->failed && bytes >= payload && arena_charge(a, bytes)) {
    c = a->allocator.resize(a->allocator.state, NULL, 0, bytes);
    if (!c) a->total_bytes -= bytes;
  }
  if (!c) {
    fail(a);
    return NULL;
  }
  *c = (struct arena_chunk){.next = a->chunks, .bytes = bytes, .dedicated = dedicated};
  if (a->chunks) a->chunks->previous = c;
  a->chunks = c;
  return c;
}

static void chunk_free(struct arena *a, struct arena_chunk *c) {
  a->allocator.resize(a->allocator.state, c, c->bytes, 0);
}

static unsigned char *chunk_payload(struct arena_chunk *c) { return (unsigned char *)c + HEADER; }

static void *alloc_raw(struct arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) {
    fail(a);
    return NULL;
  }
  bytes = bytes ? round_up(bytes) : ALIGNMENT;
  if (bytes >= a->large_bytes) {
    struct arena_chunk *c = chunk_add(a, bytes, true);
    return c ? chunk_payload(c) : NULL;
  }
  if (bytes <= (size_t)(a->limit - a->free)) {
    void *result = a->free;
    a->free += bytes;
    return result;
  }
  size_t payload = a->chunk_bytes > bytes ? a->chunk_bytes : bytes;
  struct arena_chunk *c = chunk_add(a, payload, false);
  if (!c) return NULL;
  if (a->chunk_bytes < LARGEST_CHUNK) a->chunk_bytes *= 2;
  a->free = chunk_payload(c) + bytes;
  a->limit = chunk_payload(c) + payload;
  return chunk_payload(c);
}

void *arena_alloc(struct arena *a, size_t bytes) {
  void *memory = alloc_raw(a, bytes);
  return memory ? memset(memory, 0, bytes) : NULL;
}

static struct arena_chunk *chunk_of(void *memory) {
  return (struct arena_chunk *)((unsigned char *)memory - HEADER);
}

/* Puts a dedicated chunk that has moved in the place of the old one. */
static void *chunk_relink(struct arena *a, struct arena_chunk *moved, size_t size) {
  moved->bytes = size;
  if (moved->previous) moved->previous->next = moved;
  else a->chunks = moved;
  if (moved->next) moved->next->previous = moved;
  return chunk_payload(moved);
}

/* Resizes a dedicated chunk; NULL: it is unchanged. */
static void *chunk_resize(struct arena *a, struct arena_chunk *c, size_t size) {
  struct arena_chunk *moved = a->allocator.resize(a->allocator.state, c, c->bytes, size);
  return moved ? chunk_relink(a, moved, size) : NULL;
}

/* The same for a smaller size. What is much smaller moves: shrunk in its place, it would leave a
 * gap that is too small for what was there, while the next object that grows to that size and is
 * shrunk can use a whole one. */
static void *chunk_shrink(struct arena *a, struct arena_chunk *c, size_t size) {
  size_t old_size = c->bytes;
  struct arena_chunk *moved = NULL;
  if (old_size - size > old_size / 8)
    moved = a->allocator.resize(a->allocator.state, NULL, 0, size);
  if (!moved) return chunk_resize(a, c, size);
  memcpy(moved, c, size);
  void *payload = chunk_relink(a, moved, size);
  chunk_free(a, c);
  return payload;
}

/* Grows the dedicated chunk that holds `memory`. */
static void *chunk_grow(struct arena *a, void *memory, size_t new_bytes) {
  size_t old_size = chunk_of(memory)->bytes, new_size = HEADER + round_up(new_bytes);
  if (new_size <= old_size) return memory;
  void *moved = NULL;
  if (!a->failed && arena_charge(a, new_size - old_size)) {
    moved = chunk_resize(a, chunk_of(memory), new_size);
    if (!moved) a->total_bytes -= new_size - old_size;
  }
  if (!moved) fail(a);
  return moved;
}

void *arena_shrink(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes) {
  if (round_up(old_bytes) < a->large_bytes || new_bytes < a->large_bytes) return memory;
  size_t old_size = chunk_of(memory)->bytes, new_size = HEADER + round_up(new_bytes);
  void *moved = new_size < old_size ? chunk_shrink(a, chunk_of(memory), new_size) : NULL;
  if (moved) a->total_bytes -= old_size - new_size;
  return moved ? moved : memory;
}

void arena_release(struct arena *a, void *memory, size_t bytes) {
  if (round_up(bytes) < a->large_bytes) return;
  struct arena_chunk *c = chunk_of(memory);
  if (c->previous) c->previous->next = c->next;
  else a->chunks = c->next;
  if (c->next) c->next->previous = c->previous;
  a->total_bytes -= c->bytes;
  chunk_free(a, c);
}

void *arena_grow(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes) {
  void *grown = arena_grow_raw(a, memory, old_bytes, new_bytes);
  if (grown && new_bytes > old_bytes)
    memset((unsigned char *)grown + old_bytes, 0, new_bytes - old_bytes);
  return grown;
}

void *arena_grow_raw(struct arena *a, void *memory, size_t old_bytes, size_t new_bytes) {
  if (!memory || old_bytes == 0) return alloc_raw(a, new_bytes);
  if (new_bytes <= old_bytes) return memory;
  if (new_bytes > SIZE_MAX / 2) {
    fail(a);
    return NULL;
  }
  /* An object has a dedicated chunk if and only if its rounded size is at least large_bytes. */
  size_t old_rounded = round_up(old_bytes), new_rounded = round_up(new_bytes);
  bool moves = ALWAYS_MOVES != 0 && old_rounded <= ALWAYS_MOVES;
  if (!moves && old_rounded >= a->large_bytes) return chunk_grow(a, memory, new_bytes);
  if (new_rounded <= old_rounded) return memory;
  unsigned char *end = (unsigned char *)memory + old_rounded;
  if (!moves && end == a->free && new_rounded < a->large_bytes &&
      new_rounded - old_rounded <= (size_t)(a->limit - a->free)) {
    a->free += new_rounded - old_rounded;
    return memory;
  }
  void *result = alloc_raw(a, new_bytes);
  if (!result) return NULL;
  memcpy(result, memory, old_bytes);
  if (moves) {
    memset(memory, STALE, old_bytes);
    arena_release(a, memory, old_bytes);
  }
  return result;
}

char *arena_copy(struct arena *a, const void *data, size_t bytes) {
  char *result = alloc_raw(a, bytes + 1);
  if (result && bytes) memcpy(result, data, bytes);
  if (result) result[bytes] = '\0';
  return result;
}

void arena_reset(struct arena *a) {
  struct arena_chunk *keep = NULL, *next;
  for (struct arena_chunk *c = a->chunks; c; c = next) {
    next = c->next;
    if (!keep && !c->dedicated) {
      keep = c;
    } else {
      a->total_bytes -= c->bytes;
      chunk_free(a, c);
    }
  }
  a->chunks = keep;
  a->free = a->limit = NULL;
  if (!keep) return;
  keep->previous = keep->next = NULL;
  if (a->failed) return;
  a->free = chunk_payload(keep);
  a->limit = (unsigned char *)keep + keep->bytes;
}

void arena_free(struct arena *a) {
  struct arena_chunk *next;
  for (struct arena_chunk *c = a->chunks; c; c = next) {
    next = c->next;
    chunk_free(a, c);
  }
  *a = (struct arena){.allocator = a->allocator,
                      .chunk_bytes = FIRST_CHUNK,
                      .large_bytes = a->large_bytes,
                      .limit_bytes = a->limit_bytes};
}
