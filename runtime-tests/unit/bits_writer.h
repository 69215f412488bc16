/* Writes LLVM bitstreams for the tests of the reader: numbers, blocks, records without
 * abbreviations. The buffer must be zero at first. */
#ifndef NVM_TESTS_BITS_WRITER_H
#define NVM_TESTS_BITS_WRITER_H

#include <stdint.h>

struct writer {
  unsigned char bytes[1 << 16];
  uint64_t at; /* bits */
};

static inline void put(struct writer *w, uint64_t value, uint32_t width) {
  for (uint32_t i = 0; i < width; i++, w->at++)
    if (value >> i & 1) w->bytes[w->at / 8] |= (unsigned char)(1 << w->at % 8);
}

static inline void put_vbr(struct writer *w, uint64_t value, uint32_t width) {
  uint64_t more = UINT64_C(1) << (width - 1);
  for (; value >= more; value >>= width - 1) put(w, (value & (more - 1)) | more, width);
  put(w, value, width);
}

static inline void align(struct writer *w) { w->at = (w->at + 31) / 32 * 32; }

/* Opens a block; close_block() writes its length to the place that is returned. */
static inline uint64_t open_block(struct writer *w, uint32_t outer_width, uint32_t id,
                                  uint32_t width) {
  put(w, 1, outer_width);
  put_vbr(w, id, 8);
  put_vbr(w, width, 4);
  align(w);
  w->at += 32;
  return w->at;
}

static inline void close_block(struct writer *w, uint64_t begin, uint32_t width) {
  put(w, 0, width);
  align(w);
  uint64_t words = (w->at - begin) / 32, end = w->at;
  w->at = begin - 32;
  put(w, words, 32);
  w->at = end;
}

static inline void put_record(struct writer *w, uint32_t width, uint32_t code,
                              const uint64_t *numbers, uint32_t count) {
  put(w, 3, width);
  put_vbr(w, code, 6);
  put_vbr(w, count, 6);
  for (uint32_t i = 0; i < count; i++) put_vbr(w, numbers[i], 6);
}

/* Defines an abbreviation: the code as a literal, then an array. The coding of its elements, one
 * bit or a literal, follows. */
static inline void put_array_abbreviation(struct writer *w, uint32_t width, uint32_t code) {
  put(w, 2, width), put_vbr(w, 3, 5);
  put(w, 1, 1), put_vbr(w, code, 8);
  put(w, 0, 1), put(w, 3, 3);
}

#endif
