/* A growing byte buffer for what the library writes: IR text, PTX text, messages, JSON.
 * The library formats numbers itself: printf depends on the locale and is slow. */
#ifndef NVM_SUPPORT_TEXTBUF_H
#define NVM_SUPPORT_TEXTBUF_H

#include "support/strtab.h"

#include <stdarg.h>
#include <string.h>

struct textbuf {
  struct arena *arena; /* borrowed */
  char *bytes;
  size_t length;
  size_t capacity;
};

static inline struct nvm_text text_of(const char *s) {
  return (struct nvm_text){s, strlen(s)};
}

/* An empty buffer; after a failed request (arena->failed) writes are dropped. */
void textbuf_init(struct textbuf *b, struct arena *arena);

/* Room for `more` bytes at b->bytes + b->length, or NULL. The caller adds to b->length. */
char *textbuf_room(struct textbuf *b, size_t more);

/* Appends bytes, a text, a C string, a character. */
void textbuf_write(struct textbuf *b, const char *bytes, size_t length);

static inline void textbuf_text(struct textbuf *b, struct nvm_text t) {
  textbuf_write(b, t.bytes, t.length);
}
static inline void textbuf_puts(struct textbuf *b, const char *s) { textbuf_write(b, s, strlen(s)); }
static inline void textbuf_char(struct textbuf *b, char c) {
  if (b->length < b->capacity) b->bytes[b->length++] = c;
  else textbuf_write(b, &c, 1);
}

/* Writes decimal digits at `p`, 20 at most; returns what follows them. */
char *textbuf_digits(char *p, uint64_t value);
/* Appends decimal digits, with `-` before them where needed. */
void textbuf_unsigned(struct textbuf *b, uint64_t value);
void textbuf_signed(struct textbuf *b, int64_t value);
/* Exactly `digits` hexadecimal digits (1..16), upper or lower case. */
void textbuf_hex(struct textbuf *b, uint64_t value, int digits, bool upper);

/* printf-like for messages: %s (NUL-terminated), %t (struct nvm_text), %u (unsigned), %d (int),
 * %U (uint64_t), %D (int64_t), %x (unsigned, hexadecimal), %c, %%. Nothing else. */
void textbuf_format(struct textbuf *b, const char *format, ...);
/* What one of these letters writes, its argument being the next of `args`. */
void textbuf_directive(struct textbuf *b, char letter, va_list *args);

#endif
