/* The library's text output: a byte buffer and the few number formats that are needed. */
#include "support/textbuf.h"

#include <stdarg.h>

enum { FIRST_BYTES = 256, LARGE = 1 << 20 };

void textbuf_init(struct textbuf *b, struct arena *arena) {
  *b = (struct textbuf){.arena = arena};
}

char *textbuf_room(struct textbuf *b, size_t more) {
  if (more <= b->capacity - b->length) return b->bytes + b->length;
  size_t wanted = b->length + more;
  size_t capacity = b->capacity ? b->capacity * 2 : FIRST_BYTES;
  if (capacity > LARGE) capacity -= b->capacity / 2;
  if (capacity < wanted) capacity = wanted;
  char *bytes = arena_grow_raw(b->arena, b->bytes, b->capacity, capacity);
  if (!bytes) return NULL;
  b->bytes = bytes;
  b->capacity = capacity;
  return b->bytes + b->length;
}

void textbuf_write(struct textbuf *b, const char *bytes, size_t length) {
  char *room = length ? textbuf_room(b, length) : NULL;
  if (!room) return;
  memcpy(room, bytes, length);
  b->length += length;
}

char *textbuf_digits(char *p, uint64_t value) {
  uint32_t low = (uint32_t)value;
  if (value >= 1000) {
    p = textbuf_digits(p, value / 1000);
    low = (uint32_t)(value % 1000);
  }
  if (value >= 100) *p++ = (char)('0' + low / 100), low %= 100;
  if (value >= 10) *p++ = (char)('0' + low / 10), low %= 10;
  *p++ = (char)('0' + low);
  return p;
}

void textbuf_unsigned(struct textbuf *b, uint64_t value) {
  char *room = textbuf_room(b, 20);
  if (room) b->length = (size_t)(textbuf_digits(room, value) - b->bytes);
}

void textbuf_signed(struct textbuf *b, int64_t value) {
  if (value < 0) textbuf_char(b, '-');
  textbuf_unsigned(b, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void textbuf_hex(struct textbuf *b, uint64_t value, int digits, bool upper) {
  const char *alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    textbuf_char(b, alphabet[(value >> shift) & 15]);
}

static int hex_digits(uint64_t value) {
  int n = 1;
  while (value >>= 4) n++;
  return n;
}

void textbuf_directive(struct textbuf *b, char letter, va_list *args) {
  switch (letter) {
  case 's': textbuf_puts(b, va_arg(*args, const char *)); break;
  case 't': textbuf_text(b, va_arg(*args, struct nvm_text)); break;
  case 'u': textbuf_unsigned(b, va_arg(*args, unsigned)); break;
  case 'd': textbuf_signed(b, va_arg(*args, int)); break;
  case 'U': textbuf_unsigned(b, va_arg(*args, uint64_t)); break;
  case 'D': textbuf_signed(b, va_arg(*args, int64_t)); break;
  case 'x': {
    unsigned x = va_arg(*args, unsigned);
    textbuf_hex(b, x, hex_digits(x), false);
    break;
  }
  case 'c': textbuf_char(b, (char)va_arg(*args, int)); break;
  default: textbuf_char(b, '%'); break;
  }
}

void textbuf_format(struct textbuf *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  for (const char *f = format; *f; f++) {
    if (*f == '%') textbuf_directive(b, *++f, &args);
    else textbuf_char(b, *f);
  }
  va_end(args);
}
