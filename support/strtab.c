/* Interning by open addressing with linear probing at a load of at most one half. */
#include "support/strtab.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

bool strtab_init(struct strtab *t, struct arena *arena) {
  *t = (struct strtab){.arena = arena};
  t->slots = arena_alloc(arena, FIRST_SLOTS * sizeof *t->slots);
  t->slot_count = t->slots ? FIRST_SLOTS : 0;
  return t->slots && VEC_PUSH(arena, &t->entries, (struct strtab_entry){"", 0, 0});
}

uint32_t strtab_hash(const char *bytes, size_t length) {
  uint64_t h = length * UINT64_C(0x9E3779B97F4A7C15), word;
  for (size_t i = 0; i + 8 < length; i += 8) {
    memcpy(&word, bytes + i, 8);
    h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
    h ^= h >> 32;
  }
  if (length >= 8) memcpy(&word, bytes + length - 8, 8); /* may overlap the bytes before */
  else word = strtab_short_key(bytes, length);
  h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
  h ^= h >> 32;
  return (uint32_t)(h ^ (h >> 29));
}

/* The slot of the string, or the empty slot where it belongs. */
static uint32_t strtab_slot(const struct strtab *t, const char *bytes, size_t length,
                            uint32_t hash) {
  uint32_t mask = t->slot_count - 1;
  for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
    if (t->slots[i] == 0) return i;
    const struct strtab_entry *e = &t->entries.data[t->slots[i]];
    if (e->hash == hash && e->length == length && memcmp(e->bytes, bytes, length) == 0) return i;
  }
}

static bool strtab_rehash(struct strtab *t) {
  uint32_t count = t->slot_count * 2;
  uint32_t *slots = arena_grow_raw(t->arena, t->slots, t->slot_count * sizeof *slots,
                                   (size_t)count * sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, (size_t)count * sizeof *slots);
  for (uint32_t k = 1; k < t->entries.count; k++) {
    uint32_t i = t->entries.data[k].hash & (count - 1);
    while (slots[i]) i = (i + 1) & (count - 1);
    slots[i] = k;
  }
  t->slots = slots;
  t->slot_count = count;
  return true;
}

struct nvm_str strtab_intern(struct strtab *t, const char *bytes, size_t length) {
  const struct nvm_str none = {0};
  if (length == 0) return none;
  if (length > UINT32_MAX) {
    t->arena->failed = true;
    return none;
  }
  uint32_t hash = strtab_hash(bytes, length);
  uint32_t slot = strtab_slot(t, bytes, length, hash);
  if (t->slots[slot]) return (struct nvm_str){t->slots[slot]};
  if (t->entries.count >= t->slot_count / 2) {
    if (!strtab_rehash(t)) return none;
    slot = strtab_slot(t, bytes, length, hash);
  }
  char *copy = arena_copy(t->arena, bytes, length);
  struct strtab_entry e = {copy, (uint32_t)length, hash};
  if (!copy || !VEC_PUSH(t->arena, &t->entries, e)) return none;
  t->slots[slot] = t->entries.count - 1;
  return (struct nvm_str){t->slots[slot]};
}

struct nvm_str strtab_find(const struct strtab *t, const char *bytes, size_t length) {
  if (length == 0) return (struct nvm_str){0};
  return (struct nvm_str){t->slots[strtab_slot(t, bytes, length, strtab_hash(bytes, length))]};
}

/* strcmp() with a second string of t.length bytes. */
static int compare(const char *name, struct nvm_text t) {
  size_t length = strlen(name);
  int order = memcmp(name, t.bytes, length < t.length ? length : t.length);
  return order != 0 ? order : (length > t.length) - (length < t.length);
}

size_t text_search(const void *rows, size_t count, size_t row_bytes, struct nvm_text text) {
  for (size_t low = 0, high = count; low < high;) {
    size_t middle = low + (high - low) / 2;
    int order = compare(*(const char *const *)((const char *)rows + middle * row_bytes), text);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return count;
}
