/* The library's text output: a byte buffer and the few number formats that it needs. */
#include "support/textbuf.h"

#include <assert.h>
#include <stdarg.h>

#ifdef NVM_HOSTILE /* checking build: hardly more room than requested */
enum { FIRST_BYTES = 1, LARGE = 1 };
#else
enum { FIRST_BYTES = 256, LARGE = 1 << 20 };
#endif
#ifdef NVM_CHECKING
enum { GUARD_BYTES = 16 };
#else
enum { GUARD_BYTES = 0 };
#endif
enum { GUARD = 0xA5 };

void textbuf_init(struct textbuf *b, struct arena *arena) { *b = (struct textbuf){.arena = arena}; }

void textbuf_init_fixed(struct textbuf *b, char *bytes, size_t size) {
  memset(bytes, 0, size);
  *b = (struct textbuf){.bytes = bytes, .capacity = size - 1};
}

#ifndef NDEBUG
/* Whether the guard bytes after the capacity are intact; true if there are none. */
static bool is_guarded(const struct textbuf *b) {
  uint64_t guards[2],
      intact = UINT64_MAX / 255 * GUARD; /* as words: fuzz builds trace each comparison */
  if (GUARD_BYTES > 0 && b->arena && b->bytes) {
    memcpy(guards, b->bytes + b->capacity, GUARD_BYTES);
    if (guards[0] != intact || guards[1] != intact) return false;
  }
  return b->length <= b->capacity;
}
#endif

/* Ensures room for `more` bytes; false when out of memory. */
static bool reserve(struct textbuf *b, size_t more) {
  assert(is_guarded(b));
  if (more <= b->capacity - b->length) return true;
  if (!b->arena) return false;
  if (more > SIZE_MAX / 2 - b->length) {
    b->arena->failed = true;
    return false;
  }
  size_t wanted = b->length + more;
  size_t capacity = b->capacity ? b->capacity * 2 : FIRST_BYTES;
  if (capacity > LARGE) capacity -= b->capacity / 4 * 3;
  if (capacity < wanted) capacity = wanted;
  size_t old = b->bytes ? b->capacity + GUARD_BYTES : 0;
  char *bytes = arena_grow_raw(b->arena, b->bytes, old, capacity + GUARD_BYTES);
  if (!bytes) return false;
  memset(bytes + capacity, GUARD, GUARD_BYTES);
  b->bytes = bytes;
  b->capacity = capacity;
  return true;
}

void textbuf_write(struct textbuf *b, const char *bytes, size_t length) {
  if (!b->arena && length > b->capacity - b->length) length = b->capacity - b->length;
  if (length == 0 || !reserve(b, length)) return;
  memcpy(b->bytes + b->length, bytes, length);
  b->length += length;
}

void textbuf_zeros(struct textbuf *b, size_t count) {
  if (count == 0 || !reserve(b, count)) return;
  memset(b->bytes + b->length, 0, count);
  b->length += count;
}

bool textbuf_replace(struct textbuf *b, size_t begin, size_t end, struct nvm_text text) {
  assert(begin <= end && end <= b->length);
  size_t old = end - begin;
  if (text.length > old && !reserve(b, text.length - old)) return false;
  if (text.length != old) memmove(b->bytes + begin + text.length, b->bytes + end, b->length - end);
  if (text.length) memcpy(b->bytes + begin, text.bytes, text.length);
  b->length = b->length - old + text.length;
  return true;
}

/* ---- The room -------------------------------------------------------------------------------- */

void textbuf_close(struct textbuf *b, struct text_room r) {
  b->length = (size_t)(r.at - b->bytes);
  assert(r.at <= r.end && is_guarded(b));
}

struct text_room room_write(struct textbuf *b, struct text_room r, const char *bytes,
                            size_t length) {
  textbuf_close(b, r);
  textbuf_write(b, bytes, length);
  return textbuf_open(b);
}

static inline size_t count_digits(uint64_t value) {
  for (size_t n = 1;; n += 4, value /= 10000) {
    if (value < 10) return n;
    if (value < 100) return n + 1;
    if (value < 1000) return n + 2;
    if (value < 10000) return n + 3;
  }
}

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

/* Two digits at a time, from the last one. */
static inline void put_digits(char *end, uint64_t value) {
  for (; value >= 100; value /= 100) memcpy(end -= 2, digit_pairs + value % 100 * 2, 2);
  if (value >= 10) memcpy(end - 2, digit_pairs + value * 2, 2);
  else end[-1] = (char)('0' + value);
}

__attribute__((noinline)) static struct text_room put_beyond(struct textbuf *b, struct text_room r,
                                                             uint64_t value, size_t count) {
  char digits[20]; /* of the largest uint64_t */
  put_digits(digits + count, value);
  return room_write(b, r, digits, count);
}

struct text_room room_unsigned(struct textbuf *b, struct text_room r, uint64_t value) {
  size_t count = count_digits(value);
  if ((size_t)(r.end - r.at) < count) return put_beyond(b, r, value, count);
  put_digits(r.at += count, value);
  return r;
}

struct text_room room_signed(struct textbuf *b, struct text_room r, int64_t value) {
  if (value >= 0) return room_unsigned(b, r, (uint64_t)value);
  return room_unsigned(b, room_char(b, r, '-'), -(uint64_t)value);
}

struct text_room room_hex(struct textbuf *b, struct text_room r, uint64_t value, int digits,
                          bool upper) {
  const char *alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  char text[16];
  for (int k = 16; k > 0; value >>= 4) text[--k] = alphabet[value & 15];
  return room_word(b, r, text + 16 - digits, (size_t)digits);
}

/* ---- Numbers and formats -----------------------------------------------------------------------
 */

void textbuf_unsigned(struct textbuf *b, uint64_t value) {
  textbuf_close(b, room_unsigned(b, textbuf_open(b), value));
}

void textbuf_signed(struct textbuf *b, int64_t value) {
  textbuf_close(b, room_signed(b, textbuf_open(b), value));
}

void textbuf_hex(struct textbuf *b, uint64_t value, int digits, bool upper) {
  textbuf_close(b, room_hex(b, textbuf_open(b), value, digits, upper));
}

static int hex_digits(uint64_t value) {
  int n = 1;
  while (value >>= 4) n++;
  return n;
}

/* Thousandths, without zeros after the first decimal. */
static void put_thousandths(struct textbuf *b, int64_t value) {
  int64_t rest = value % 1000 < 0 ? -(value % 1000) : value % 1000;
  if (value < 0 && value > -1000) textbuf_char(b, '-');
  textbuf_signed(b, value / 1000);
  textbuf_char(b, '.');
  for (int64_t unit = 100; unit == 100 || (unit && rest); unit /= 10) {
    textbuf_char(b, (char)('0' + rest / unit));
    rest %= unit;
  }
}

void textbuf_directive(struct textbuf *b, char letter, va_list *args) {
  switch (letter) {
    case 's': textbuf_puts(b, va_arg(*args, const char *)); break;
    case 't': textbuf_text(b, va_arg(*args, struct nvm_text)); break;
    case 'u': textbuf_unsigned(b, va_arg(*args, unsigned)); break;
    case 'd': textbuf_signed(b, va_arg(*args, int)); break;
    case 'U': textbuf_unsigned(b, va_arg(*args, uint64_t)); break;
    case 'D': textbuf_signed(b, va_arg(*args, int64_t)); break;
    case 'M': put_thousandths(b, va_arg(*args, int64_t)); break;
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
