/* Interned byte strings: names, metadata strings, attribute texts. Equal strings have equal
 * handles, so names are compared as integers. Handle 0 is the empty string. */
#ifndef NVM_SUPPORT_STRTAB_H
#define NVM_SUPPORT_STRTAB_H

#include <string.h>

#include "support/vec.h"

struct nvm_str {
  uint32_t index;
};

/* Bytes that may contain NULs, followed by a NUL. */
struct nvm_text {
  const char *bytes;
  size_t length;
};

struct strtab_entry {
  const char *bytes;
  uint32_t length;
  uint32_t hash;
};

struct strtab {
  struct arena *arena; /* borrowed; owns the bytes too */
  VEC(struct strtab_entry) entries;
  uint32_t *slots; /* open addressing, power of two; 0: empty (the empty string is not in it) */
  uint32_t slot_count;
};

/* False when out of memory. */
bool strtab_init(struct strtab *t, struct arena *arena);

/* The handle of these bytes, added if new. {0} when out of memory (arena->failed is set). */
struct nvm_str strtab_intern(struct strtab *t, const char *bytes, size_t length);

/* The handle if the string is in the table, otherwise {0}. */
struct nvm_str strtab_find(const struct strtab *t, const char *bytes, size_t length);

static inline struct nvm_text strtab_text(const struct strtab *t, struct nvm_str s) {
  const struct strtab_entry *e = &t->entries.data[s.index];
  return (struct nvm_text){e->bytes, e->length};
}

static inline bool text_equal(struct nvm_text a, struct nvm_text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}
/* Whether the text is `s`; whether it begins with it. */
static inline bool text_is(struct nvm_text t, const char *s) {
  return t.length == strlen(s) && memcmp(t.bytes, s, t.length) == 0;
}
static inline bool text_begins(struct nvm_text t, const char *s) {
  return t.length >= strlen(s) && memcmp(t.bytes, s, strlen(s)) == 0;
}

/* The index of the row whose first member, a `const char *`, equals the text, or `count`. Rows are
 * `row_bytes` long and sorted as strcmp() does; O(log count). */
size_t text_search(const void *rows, size_t count, size_t row_bytes, struct nvm_text text);

/* The project's one hash function for bytes: the same in every run. */
uint32_t strtab_hash(const char *bytes, size_t length);

/* The first and last four bytes: with the length, the whole of a string of at most eight. */
static inline uint64_t strtab_short_key(const char *bytes, size_t length) {
  uint32_t a = 0, b = 0;
  if (length >= 4) {
    memcpy(&a, bytes, 4);
    memcpy(&b, bytes + length - 4, 4);
  } else if (length) {
    a = (unsigned char)bytes[0] | (uint32_t)(unsigned char)bytes[length / 2] << 8 |
        (uint32_t)(unsigned char)bytes[length - 1] << 16;
  }
  return a | (uint64_t)b << 32;
}

/* Mixes integers into a running hash; for interning of records. */
static inline uint32_t hash_mix(uint32_t hash, uint64_t value) {
  uint64_t x = (value ^ hash) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

#endif
