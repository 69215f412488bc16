/* The address spaces: how an address names its space and object, and what is kept of each byte.
 *
 * A generic address has its window in the top byte. Global and constant objects are 2^36 bytes
 * apart, so that bits 36..55 of an address name its object and no small offset leads into another
 * one. Addresses of the shared, local and param spaces themselves have no window byte. The offsets
 * of each constant begin elsewhere, so that the low 32 bits of its address name it too. */
#ifndef NVM_SIM_MACHINE_SPACE_H
#define NVM_SIM_MACHINE_SPACE_H

#include "support/strtab.h"

enum window {
  WINDOW_GLOBAL,
  WINDOW_SHARED,
  WINDOW_LOCAL,
  WINDOW_CONST,
  WINDOW_PARAM,
  WINDOW_CODE,
  WINDOW_COUNT, /* as the window of an access: generic */
};
enum { WINDOW_SHIFT = 56, OBJECT_SHIFT = 36, OBJECT_LIMIT = 1 << 20 };
enum { LOCAL_FIRST = 16 }; /* the first local offset: 0 stays null */

/* The shadow of a tracked byte; 0: never written. GAP: between two variables. A gap of shared
 * memory has SHARED_GAP bytes, which keeps the variables in the same banks and lines. */
enum { SHADOW_WRITTEN = 1, SHADOW_POISON, SHADOW_GAP };
enum { SHARED_GAP = 128, LOCAL_GAP = 16 };
/* The first offset of a constant, the distance of two, and their alignment, in bytes. */
enum { CONSTANT_FIRST = 4096, CONSTANT_GAP = 256 };

static inline enum window window_of(uint64_t address) {
  return (enum window)(address >> WINDOW_SHIFT);
}
static inline uint64_t in_window(uint64_t address) {
  return address & ((UINT64_C(1) << WINDOW_SHIFT) - 1);
}
static inline uint64_t window_base(enum window w) { return (uint64_t)w << WINDOW_SHIFT; }
static inline uint64_t object_number(uint64_t address) { return address >> OBJECT_SHIFT; }
static inline uint64_t in_object(uint64_t address) {
  return address & ((UINT64_C(1) << OBJECT_SHIFT) - 1);
}
static inline uint64_t align_up(uint64_t at, uint64_t align) {
  return align ? (at + align - 1) / align * align : at;
}

/* Which threads accessed the bytes, and when (race.c): pages of cells, allocated on first use. */
struct shadow {
  struct race_cell **pages;
  uint32_t since; /* marks before that time are of former users */
};

/* A global or constant object; index 0 is none. */
struct object {
  uint8_t *bytes;
  uint8_t *written; /* shadow byte per byte; NULL: all of it is written */
  uint64_t size;
  uint64_t first;      /* the offset of its first byte in addresses; 0 except for constants */
  struct nvm_str name; /* {0}: a buffer */
  bool freed, heap, read_only;
  struct shadow shadow;
};

/* Local memory of a lane: a stack that grows upwards. */
struct local_stack {
  uint8_t *bytes, *written;
  uint64_t capacity;
};

#endif
