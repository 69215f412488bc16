/* Accesses to the memory of all state spaces. */
#ifndef NVM_SIM_MACHINE_MEMORY_H
#define NVM_SIM_MACHINE_MEMORY_H

#include "sim/machine/machine.h"

struct access {
  uint8_t *at;
  uint8_t *written;      /* NULL: not tracked */
  struct shadow *shadow; /* NULL: no memory that threads share */
  uint64_t offset, size; /* in the object, or in shared memory; its bytes */
};

/* A new object's number; 0 when out of memory. */
uint32_t memory_new_object(struct sim *s, uint64_t bytes, bool initialized, struct nvm_str name);
static inline uint64_t memory_object_address(uint32_t object) {
  return (uint64_t)object << OBJECT_SHIFT;
}
/* Checks an access of `bytes` bytes, aligned to `align`, and finds its memory; `window`
 * WINDOW_COUNT: the address is generic. False: a finding was made. */
bool memory_find(struct warp *w, unsigned lane, uint64_t address, unsigned window, uint64_t bytes,
                 uint64_t align, bool is_write, struct access *at);
/* Whether some of the bytes were written; true where this is not checked. */
bool memory_is_defined(const struct warp *w, const struct access *at, uint64_t bytes);
/* A NUL-terminated text; false: a finding was made. */
bool memory_text(struct warp *w, unsigned lane, uint64_t address, struct nvm_text *text);
/* Moves the top of the lane's stack; false: a finding was made. */
bool memory_set_stack(struct warp *w, unsigned lane, uint64_t top);
/* `bytes` more of the lane's stack, after a gap: the offset, 0 after a finding. */
uint64_t memory_push_stack(struct warp *w, unsigned lane, uint64_t bytes, uint64_t align);

/* A number of 1 to 8 bytes, little-endian on every host. The sizes are spelled out so that the
 * compiler emits one access. */
static inline uint32_t memory_word(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static inline void memory_put_word(uint8_t *at, uint32_t v) {
  at[0] = (uint8_t)v;
  at[1] = (uint8_t)(v >> 8);
  at[2] = (uint8_t)(v >> 16);
  at[3] = (uint8_t)(v >> 24);
}
static inline uint64_t memory_number(const uint8_t *at, unsigned bytes) {
  uint64_t v = 0;
  if (bytes == 4) return memory_word(at);
  if (bytes == 8) return memory_word(at) | (uint64_t)memory_word(at + 4) << 32;
  for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}
static inline void memory_put_number(uint8_t *at, uint64_t v, unsigned bytes) {
  if (bytes == 4 || bytes == 8) memory_put_word(at, (uint32_t)v);
  if (bytes == 8) memory_put_word(at + 4, (uint32_t)(v >> 32));
  if (bytes == 4 || bytes == 8) return;
  for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}
/* The common cases of memory_find(): an aligned access to the lane's stack, or within a global
 * object that is no constant. False: use memory_find(). */
static inline bool memory_find_local(const struct warp *w, unsigned lane, uint64_t offset,
                                     uint64_t bytes, uint64_t align, struct access *at) {
  uint64_t top = w->stack_top[lane];
  if (offset < LOCAL_FIRST || offset >= top || bytes == 0 || bytes > top - offset ||
      (offset & (align - 1)) != 0)
    return false;
  *at = (struct access){.at = w->local[lane].bytes + offset,
                        .written = w->local[lane].written + offset};
  return bytes <= LOCAL_GAP && at->written[0] != SHADOW_GAP && at->written[bytes - 1] != SHADOW_GAP;
}
static inline bool memory_find_common(const struct warp *w, unsigned lane, uint64_t address,
                                      unsigned window, uint64_t bytes, uint64_t align,
                                      struct access *at) {
  const struct sim *s = w->sim;
  bool is_local =
      window == WINDOW_LOCAL || (window == WINDOW_COUNT && window_of(address) == WINDOW_LOCAL);
  if (is_local)
    return memory_find_local(w, lane, window == WINDOW_LOCAL ? address : in_window(address), bytes,
                             align, at);
  uint64_t number = object_number(address), offset = in_object(address);
  if (number - 1 >= s->objects.count - 1 || (window != WINDOW_GLOBAL && window != WINDOW_COUNT))
    return false;
  struct object *o = &s->objects.data[number];
  if (offset + bytes > o->size || (offset & (align - 1)) != 0 || o->freed || o->read_only)
    return false;
  *at = (struct access){o->bytes + offset, o->written ? o->written + offset : NULL, &o->shadow,
                        offset, o->size};
  return true;
}

#endif
