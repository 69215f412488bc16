/* A growing byte buffer for what the library writes: IR text, PTX text, messages, JSON.
 * The library formats numbers itself: printf depends on the locale and is slow. */
#ifndef NVM_SUPPORT_TEXTBUF_H
#define NVM_SUPPORT_TEXTBUF_H

#include "support/strtab.h"

#include <stdarg.h>
#include <string.h>

struct textbuf {
  struct arena *arena; /* borrowed; NULL: of fixed size */
  char *bytes;
  size_t length;
  size_t capacity;
};

/* The end of a buffer to which many short pieces are appended; passed and returned by value, so
 * both pointers stay in registers. Only the room_ functions write to it. Each checks the remaining
 * room and grows the buffer if needed, so no caller computes a size. After a failed request they
 * append nothing. */
struct text_room {
  char *at, *end;
};

static inline struct nvm_text text_of(const char *s) { return (struct nvm_text){s, strlen(s)}; }

/* A NUL-terminated text in `size` > 0 bytes of the caller's; what does not fit is dropped. */
void textbuf_init_fixed(struct textbuf *b, char *bytes, size_t size);

/* An empty buffer; after a failed request (arena->failed) writes are dropped. */
void textbuf_init(struct textbuf *b, struct arena *arena);

/* Opens the room after the last byte. Until textbuf_close(), write to it only.
 */
static inline struct text_room textbuf_open(const struct textbuf *b) {
  return (struct text_room){b->bytes + b->length, b->bytes + b->capacity};
}
void textbuf_close(struct textbuf *b, struct text_room r);

/* Appends any number of bytes. */
struct text_room room_write(struct textbuf *b, struct text_room r, const char *bytes,
                            size_t length);

/* The same, optimized for 2 to 16 bytes: two copies of constant size that may overlap. */
static inline struct text_room room_word(struct textbuf *b, struct text_room r, const char *text,
                                         size_t length) {
  if ((size_t)(r.end - r.at) < length || length > 16 || length < 2)
    return room_write(b, r, text, length);
  if (length >= 8) {
    memcpy(r.at, text, 8);
    memcpy(r.at + length - 8, text + length - 8, 8);
  } else if (length >= 4) {
    memcpy(r.at, text, 4);
    memcpy(r.at + length - 4, text + length - 4, 4);
  } else {
    memcpy(r.at, text, 2);
    r.at[length - 1] = text[length - 1];
  }
  r.at += length;
  return r;
}

static inline struct text_room room_char(struct textbuf *b, struct text_room r, char c) {
  if (r.at == r.end) return room_write(b, r, &c, 1);
  *r.at++ = c;
  return r;
}

/* Appends a decimal number. */
struct text_room room_unsigned(struct textbuf *b, struct text_room r, uint64_t value);
struct text_room room_signed(struct textbuf *b, struct text_room r, int64_t value);
/* Exactly `digits` hexadecimal digits (1..16), upper or lower case. */
struct text_room room_hex(struct textbuf *b, struct text_room r, uint64_t value, int digits,
                          bool upper);

/* Appends bytes, a text, a C string, a character. */
void textbuf_write(struct textbuf *b, const char *bytes, size_t length);

static inline void textbuf_text(struct textbuf *b, struct nvm_text t) {
  textbuf_write(b, t.bytes, t.length);
}
static inline void textbuf_puts(struct textbuf *b, const char *s) {
  textbuf_write(b, s, strlen(s));
}
static inline void textbuf_char(struct textbuf *b, char c) {
  if (b->length < b->capacity) b->bytes[b->length++] = c;
  else textbuf_write(b, &c, 1);
}

/* Appends zero bytes. */
void textbuf_zeros(struct textbuf *b, size_t count);

/* Replaces the bytes from `begin` to `end` by a text; false, without effect, when out of memory. */
bool textbuf_replace(struct textbuf *b, size_t begin, size_t end, struct nvm_text text);

/* Appends a decimal number. */
void textbuf_unsigned(struct textbuf *b, uint64_t value);
void textbuf_signed(struct textbuf *b, int64_t value);
/* Exactly `digits` hexadecimal digits (1..16), upper or lower case. */
void textbuf_hex(struct textbuf *b, uint64_t value, int digits, bool upper);

/* printf-like for messages: %s (NUL-terminated), %t (struct nvm_text), %u (unsigned), %d (int),
 * %U (uint64_t), %D (int64_t), %M (int64_t, in thousandths: 6500 is "6.5"), %x (unsigned,
 * hexadecimal), %c, %%. Nothing else. */
void textbuf_format(struct textbuf *b, const char *format, ...);
/* Formats the next of `args` by one of these letters. */
void textbuf_directive(struct textbuf *b, char letter, va_list *args);

#endif
