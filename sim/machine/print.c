/* vprintf: a format and its arguments, which are consecutive in memory, each aligned to its size:
 * integers of 4 or 8 bytes, doubles, pointers. Numbers are formatted here, not by the host.
 */
#include "ir/evalfloat.h"
#include "sim/machine/memory.h"
#include "sim/machine/native.h"

#include "support/float_print.h"

#include <string.h>

/* Wider fields and more digits count as this: what C promises of one conversion (C11, 7.21.6.1). */
enum { MAX_WIDTH = 4095 };

struct directive {
  bool left, plus, space, alternate, zero;
  int width, precision; /* -1: none */
  bool is_long;
  char conversion;
};

struct printer {
  struct warp *w;
  unsigned lane;
  uint64_t at; /* of the next argument */
  struct textbuf *out;
};

static bool next_argument(struct printer *p, unsigned bytes, uint64_t *value) {
  struct access at;
  p->at = (p->at + bytes - 1) / bytes * bytes;
  if (!memory_find(p->w, p->lane, p->at, WINDOW_COUNT, bytes, bytes, false, &at)) return false;
  *value = memory_number(at.at, bytes);
  p->at += bytes;
  return true;
}

static bool read_number(struct printer *p, const char **text, const char *end, int *number) {
  if (*text < end && **text == '*') {
    uint64_t v;
    if (!next_argument(p, 4, &v)) return false;
    int64_t wanted = evalint_sext(32, v);
    *number = (int)(wanted > MAX_WIDTH ? MAX_WIDTH : wanted < -MAX_WIDTH ? -MAX_WIDTH : wanted);
    ++*text;
    return true;
  }
  if (*text < end && **text >= '0' && **text <= '9') *number = 0;
  while (*text < end && **text >= '0' && **text <= '9') {
    *number = *number * 10 + (**text - '0');
    if (*number > MAX_WIDTH) *number = MAX_WIDTH;
    ++*text;
  }
  return true;
}

static bool read_directive(struct printer *p, const char **text, const char *end,
                           struct directive *d) {
  *d = (struct directive){.width = 0, .precision = -1};
  for (; *text < end; ++*text) {
    if (**text == '-') d->left = true;
    else if (**text == '+') d->plus = true;
    else if (**text == ' ') d->space = true;
    else if (**text == '#') d->alternate = true;
    else if (**text == '0') d->zero = true;
    else break;
  }
  if (!read_number(p, text, end, &d->width)) return false;
  if (d->width < 0) d->left = true, d->width = -d->width;
  if (*text < end && **text == '.') {
    ++*text;
    d->precision = 0;
    if (!read_number(p, text, end, &d->precision)) return false;
  }
  while (*text < end && strchr("hlLjzt", **text)) {
    if (**text != 'h') d->is_long = true;
    ++*text;
  }
  d->conversion = *text < end ? *(*text)++ : 0;
  return true;
}

/* `body` after its sign or 0x, padded. */
static void pad(struct printer *p, const struct directive *d, const char *prefix,
                struct nvm_text body, bool zeros) {
  size_t length = strlen(prefix) + body.length;
  size_t fill = (size_t)d->width > length ? (size_t)d->width - length : 0;
  if (!d->left && !zeros)
    for (; fill; fill--) textbuf_char(p->out, ' ');
  textbuf_puts(p->out, prefix);
  if (!d->left && zeros)
    for (; fill; fill--) textbuf_char(p->out, '0');
  textbuf_text(p->out, body);
  for (; fill; fill--) textbuf_char(p->out, ' ');
}

static const char *sign_prefix(const struct directive *d, bool negative) {
  return negative ? "-" : d->plus ? "+" : d->space ? " " : "";
}

static bool print_integer(struct printer *p, const struct directive *d) {
  uint64_t v;
  if (!next_argument(p, d->is_long || d->conversion == 'p' ? 8 : 4, &v)) return false;
  bool is_signed = d->conversion == 'd' || d->conversion == 'i', negative = false;
  if (is_signed) {
    int64_t x = d->is_long ? (int64_t)v : evalint_sext(32, v);
    negative = x < 0;
    v = negative ? 0 - (uint64_t)x : (uint64_t)x;
  }
  unsigned base = d->conversion == 'o' ? 8 : strchr("xXp", d->conversion) ? 16 : 10;
  const char *digits = d->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  char text[128];
  size_t at = sizeof text;
  bool zero = v == 0;
  for (; v; v /= base) text[--at] = digits[v % base];
  size_t wanted = d->precision < 0 ? 1 : d->precision > 100 ? 100 : (size_t)d->precision;
  while (sizeof text - at < wanted) text[--at] = '0';
  const char *prefix = is_signed ? sign_prefix(d, negative) : "";
  if (d->conversion == 'p') prefix = "0x";
  else if (d->alternate && base == 16 && !zero) prefix = d->conversion == 'X' ? "0X" : "0x";
  else if (d->alternate && base == 8) prefix = "0";
  pad(p, d, prefix, (struct nvm_text){text + at, sizeof text - at}, d->zero && d->precision < 0);
  return true;
}

/* Decimal digits of a non-negative finite double: exactly `decimals` after the point. */
static void fixed_digits(struct textbuf *out, uint64_t bits, int decimals) {
  enum { MAX_DIGITS = 1200 };
  uint8_t digits[MAX_DIGITS] = {0}; /* of the value times 10^decimals, least significant first */
  int count = 0;
  uint64_t fraction = bits & evalint_mask(52);
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t significand = exponent ? fraction | UINT64_C(1) << 52 : fraction;
  int power = (exponent ? exponent : 1) - 1075;
  for (uint64_t v = significand; v; v /= 10) digits[count++] = v % 10;
  for (int i = 0; i < decimals; i++) { /* times ten */
    if (count == 0) break;
    memmove(digits + 1, digits, (size_t)count);
    digits[0] = 0;
    count++;
  }
  for (; power > 0; power--) {
    unsigned carry = 0;
    for (int i = 0; i < count; i++) carry += 2u * digits[i], digits[i] = carry % 10, carry /= 10;
    if (carry) digits[count++] = (uint8_t)carry;
  }
  bool half = false, more = false; /* what halving has shifted out */
  for (; power < 0; power++) {
    unsigned rest = 0;
    for (int i = count; i-- > 0;)
      rest = rest * 10 + digits[i], digits[i] = (uint8_t)(rest / 2), rest %= 2;
    while (count && digits[count - 1] == 0) count--;
    more = more || half;
    half = rest != 0;
  }
  bool odd = count && digits[0] & 1;
  if (half && (more || odd)) {
    int i = 0;
    while (i < count && digits[i] == 9) digits[i++] = 0;
    if (i == count) digits[count++] = 0;
    digits[i]++;
  }
  for (int i = count > decimals ? count - 1 : decimals; i >= 0; i--) {
    textbuf_char(out, (char)('0' + (i < count ? digits[i] : 0)));
    if (i == decimals && decimals) textbuf_char(out, '.');
  }
}

/* %g: scientific with `precision` significant digits, or fixed where the exponent is small. */
static void general(struct textbuf *out, uint64_t bits, int precision, bool keep_zeros) {
  struct textbuf t;
  textbuf_init(&t, out->arena);
  if (precision == 0) precision = 1;
  float_print_scientific(&t, FLOAT_DOUBLE, bits, precision - 1);
  size_t e = 0;
  while (e < t.length && t.bytes[e] != 'e') e++;
  int exponent = 0;
  for (size_t i = e + 2; i < t.length; i++) exponent = exponent * 10 + (t.bytes[i] - '0');
  if (e + 1 < t.length && t.bytes[e + 1] == '-') exponent = -exponent;
  bool fixed = exponent >= -4 && exponent < precision;
  size_t begin = 0, end = e, tail = t.length;
  if (fixed) {
    begin = t.length;
    fixed_digits(&t, bits, precision - 1 - exponent);
    end = tail = t.length;
  }
  struct nvm_text body = {t.bytes + begin, end - begin};
  if (!keep_zeros && memchr(body.bytes, '.', body.length)) {
    while (body.bytes[body.length - 1] == '0') body.length--;
    if (body.bytes[body.length - 1] == '.') body.length--;
  }
  textbuf_text(out, body);
  if (!fixed) textbuf_write(out, t.bytes + e, tail - e);
}

static bool print_float(struct printer *p, const struct directive *d) {
  uint64_t bits;
  if (!next_argument(p, 8, &bits)) return false;
  bool negative = bits >> 63;
  char kind = d->conversion | 0x20;
  bits &= ~(UINT64_C(1) << 63);
  int precision = d->precision < 0 ? 6 : d->precision > 60 ? 60 : d->precision;
  struct textbuf body;
  textbuf_init(&body, p->out->arena);
  bool special = evalfloat_is_nan(FLOAT_DOUBLE, bits) || evalfloat_is_infinite(FLOAT_DOUBLE, bits);
  if (special) textbuf_puts(&body, evalfloat_is_nan(FLOAT_DOUBLE, bits) ? "nan" : "inf");
  else if (kind == 'f') fixed_digits(&body, bits, precision);
  else if (kind == 'e')
    float_print_scientific(&body, FLOAT_DOUBLE, bits, precision > 39 ? 39 : precision);
  else general(&body, bits, precision > 40 ? 40 : precision, d->alternate);
  if (d->conversion != (d->conversion | 0x20))
    for (size_t i = 0; i < body.length; i++)
      if (body.bytes[i] >= 'a' && body.bytes[i] <= 'z') body.bytes[i] -= 32;
  pad(p, d, sign_prefix(d, negative), (struct nvm_text){body.bytes, body.length},
      d->zero && !special);
  return true;
}

static bool print_text(struct printer *p, const struct directive *d) {
  uint64_t address;
  struct nvm_text text;
  if (!next_argument(p, 8, &address) || !memory_text(p->w, p->lane, address, &text)) return false;
  if (d->precision >= 0 && (size_t)d->precision < text.length) text.length = (size_t)d->precision;
  pad(p, d, "", text, false);
  return true;
}

static bool print_directive(struct printer *p, const struct directive *d) {
  uint64_t v;
  switch (d->conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'p': return print_integer(p, d);
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G': return print_float(p, d);
    case 's': return print_text(p, d);
    case 'c': {
      if (!next_argument(p, 4, &v)) return false;
      char c = (char)v;
      pad(p, d, "", (struct nvm_text){&c, 1}, false);
      return true;
    }
    case '%': textbuf_char(p->out, '%'); return true;
    default: return true;
  }
}

bool print_formatted(struct warp *w, unsigned lane, uint64_t format, uint64_t arguments,
                     uint64_t *written) {
  struct printer p = {w, lane, arguments, &w->sim->output};
  struct nvm_text text;
  *written = 0;
  if (!memory_text(w, lane, format, &text)) return false;
  const char *at = text.bytes, *end = at + text.length;
  while (at < end) {
    const char *percent = memchr(at, '%', (size_t)(end - at));
    if (!percent) percent = end;
    textbuf_write(p.out, at, (size_t)(percent - at));
    if (percent == end) break;
    at = percent + 1;
    struct directive d;
    if (!read_directive(&p, &at, end, &d) || !print_directive(&p, &d)) return false;
    ++*written;
  }
  return true;
}
