/* The hash of PTX words (op names, modifiers, special registers) in generated tables, shared by the
 * generator and ptx/ops.c. */
#ifndef NVM_PTX_WORD_HASH_H
#define NVM_PTX_WORD_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t ptx_word_hash(const char *bytes, size_t length) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)bytes[i]) * 16777619u;
  return h ^ h >> 15;
}

#endif
