/* Text in a caller's buffer, like snprintf but independent of the locale: text that does not fit is
 * counted but not written, and the buffer always ends in NUL. */
#ifndef NVM_TARGET_WRITER_H
#define NVM_TARGET_WRITER_H

#include <stddef.h>
#include <string.h>

struct writer {
  char *buffer;
  size_t size;   /* bytes of the buffer, NUL included; 0: only count */
  size_t length; /* of the whole text so far */
};

static inline struct writer writer_start(char *buffer, size_t size) {
  if (size > 0) buffer[0] = '\0';
  return (struct writer){buffer, size, 0};
}

static inline void writer_bytes(struct writer *w, const char *text, size_t length) {
  size_t room = w->length + 1 < w->size ? w->size - 1 - w->length : 0;
  size_t fits = length < room ? length : room;
  if (fits > 0) {
    memcpy(w->buffer + w->length, text, fits);
    w->buffer[w->length + fits] = '\0';
  }
  w->length += length;
}

static inline void writer_text(struct writer *w, const char *text) {
  writer_bytes(w, text, strlen(text));
}

static inline void writer_unsigned(struct writer *w, unsigned long value) {
  char digits[24];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  writer_bytes(w, digits + at, sizeof digits - at);
}

/* 78 as 7.8. */
static inline void writer_ptx(struct writer *w, unsigned version) {
  writer_unsigned(w, version / 10);
  writer_text(w, ".");
  writer_unsigned(w, version % 10);
}

#endif
