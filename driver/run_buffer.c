/* Arguments as text and files. A .npy file is a header with type and shape, followed by the
 * elements; only plain arrays in C order are supported. */
#include "driver/run_buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver/files.h"
#include "driver/options.h"
#include "support/float.h"
#include "support/float_print.h"
#include "support/number.h"

static bool refuse(const char *text, const char *what) {
  fprintf(stderr, "nvmini: error: argument '%s': %s\n", text, what);
  return false;
}

/* ---- values ---- */

static bool parse_type(const char *text, size_t length, struct run_type *t) {
  static const struct {
    const char *name;
    struct run_type type;
  } names[] = {{"i8", {'i', 1}},  {"i16", {'i', 2}},  {"i32", {'i', 4}}, {"i64", {'i', 8}},
               {"u8", {'u', 1}},  {"u16", {'u', 2}},  {"u32", {'u', 4}}, {"u64", {'u', 8}},
               {"f16", {'f', 2}}, {"bf16", {'b', 2}}, {"f32", {'f', 4}}, {"f64", {'f', 8}}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0) {
      *t = names[i].type;
      return true;
    }
  return false;
}

static enum float_format format_of(struct run_type t) {
  if (t.kind == 'b') return FLOAT_BFLOAT;
  return t.bytes == 2 ? FLOAT_HALF : t.bytes == 4 ? FLOAT_SINGLE : FLOAT_DOUBLE;
}
static bool is_float(struct run_type t) { return t.kind == 'f' || t.kind == 'b'; }

static bool parse_value(const char *text, size_t length, struct run_type t, uint64_t *bits) {
  char *end;
  char copy[64];
  if (length == 0 || length >= sizeof copy) return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  bool hex = strstr(copy, "0x") == copy;
  if (is_float(t) && !hex) {
    if (strcmp(copy, "nan") == 0 || strcmp(copy, "inf") == 0 || strcmp(copy, "-inf") == 0) {
      uint64_t wide = copy[0] == 'n'   ? UINT64_C(0x7ff8000000000000)
                      : copy[0] == '-' ? UINT64_C(0xfff0000000000000)
                                       : UINT64_C(0x7ff0000000000000);
      *bits = float_convert_bits(wide, FLOAT_DOUBLE, format_of(t), NULL);
      return true;
    }
    return float_from_decimal(copy, length, format_of(t), bits);
  }
  errno = 0;
  if (copy[0] == '-') *bits = (uint64_t)strtoll(copy, &end, 0);
  else *bits = strtoull(copy, &end, hex ? 16 : 10);
  if (*end != 0 || errno != 0) return false;
  uint64_t top = t.bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * t.bytes)) - 1;
  if (copy[0] != '-' && *bits > top) return false;
  if (copy[0] == '-' && t.bytes < 8 && (int64_t)*bits < -(int64_t)(top / 2 + 1)) return false;
  return true;
}

static inline void put(uint8_t *at, uint64_t bits, uint32_t bytes) {
  for (uint32_t k = 0; k < bytes; k++) at[k] = (uint8_t)(bits >> (8 * k));
}
static uint64_t get(const uint8_t *at, uint32_t bytes) {
  uint64_t v = 0;
  for (uint32_t k = 0; k < bytes; k++) v |= (uint64_t)at[k] << (8 * k);
  return v;
}

/* A number as a value of the type. The host converts floats, since buffers can have millions of
 * elements. */
static uint64_t float_bits(double d, struct run_type t) {
  float f = (float)d;
  uint32_t single;
  uint64_t bits;
  memcpy(&single, &f, sizeof single);
  memcpy(&bits, &d, sizeof bits);
  return format_of(t) == FLOAT_SINGLE ? single
                                      : float_convert_bits(bits, FLOAT_DOUBLE, format_of(t), NULL);
}

/* Number i as a value of the type. */
static uint64_t from_number(uint64_t i, struct run_type t) {
  return is_float(t) ? float_bits((double)i, t) : i;
}

/* Floats in [0, 1), integers over their whole range. */
static uint64_t random_value(uint64_t *state, struct run_type t) {
  uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  x ^= x >> 31;
  if (!is_float(t)) return x;
  return float_bits((double)(x >> 40) * 0x1p-24, t);
}

static bool fill(const char *text, const char *how, struct run_argument *a) {
  uint64_t value = 0, state = 0;
  bool iota = strcmp(how, "iota") == 0, random = strncmp(how, "random:", 7) == 0;
  if (strcmp(how, "zero") == 0) return true;
  const char *seed = how + 7;
  if (random ? !number_read(&seed, UINT64_MAX, &state) || *seed
             : !iota && (strncmp(how, "fill:", 5) != 0 ||
                         !parse_value(how + 5, strlen(how + 5), a->type, &value)))
    return refuse(text, "the contents must be zero, iota, random:SEED or fill:VALUE");
  for (uint64_t i = 0; i < a->count; i++)
    put(a->bytes + i * a->type.bytes,
        iota     ? from_number(i, a->type)
        : random ? random_value(&state, a->type)
                 : value,
        a->type.bytes);
  return true;
}

/* ---- files ---- */

static bool read_file(const char *path, struct arena *arena, const uint8_t **bytes,
                      uint64_t *length) {
  struct file_bytes file;
  struct file_error error;
  if (!files_read(path, &file, &error)) {
    fprintf(stderr, "nvmini: error: %s: %s\n", path,
            error.number ? strerror(error.number) : diag_message(error.id));
    return false;
  }
  *bytes = (const uint8_t *)arena_copy(arena, file.bytes, file.length);
  *length = file.length;
  files_free(&file);
  return *bytes != NULL;
}

static bool npy_type(const char *header, struct run_type *t) {
  const char *at = strstr(header, "'descr':");
  at = at ? strchr(at + 8, '\'') : NULL;
  if (!at || (at[1] != '<' && at[1] != '|')) return false;
  char name[8];
  int bits = atoi(at + 3) * 8;
  if (!strchr("iuf", at[2]) || bits < 8 || bits > 64) return false;
  snprintf(name, sizeof name, "%c%d", at[2], bits);
  return parse_type(name, strlen(name), t) && strstr(header, "'fortran_order': False");
}

/* Loads a file's elements; `a->type` is required for raw files, and set from .npy files. */
static bool load(const char *path, struct arena *arena, struct run_argument *a, bool typed) {
  const uint8_t *bytes;
  uint64_t length, header = 0;
  if (!read_file(path, arena, &bytes, &length)) return false;
  if (length > 10 && memcmp(bytes, "\x93NUMPY", 6) == 0) {
    header = bytes[6] == 1 ? 10 + get(bytes + 8, 2) : length > 12 ? 12 + get(bytes + 8, 4) : length;
    char text[512] = {0};
    memcpy(text, bytes + 10, length - 10 < sizeof text - 1 ? length - 10 : sizeof text - 1);
    if (header > length || !npy_type(text, &a->type))
      return refuse(path, "unsupported element type or order in a .npy file");
  } else if (!typed) {
    return refuse(path, "not a .npy file; state the element type, e.g. buf:f32:@FILE");
  }
  if ((length - header) % a->type.bytes)
    return refuse(path, "the size of the file is not a multiple of the element size");
  a->count = (length - header) / a->type.bytes;
  a->bytes = (uint8_t *)arena_copy(arena, bytes + header, a->count * a->type.bytes);
  return a->bytes != NULL;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

bool run_save(const char *path, const struct run_argument *a, const uint8_t *bytes) {
  struct arena arena;
  struct textbuf b;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&b, &arena);
  if (ends_with(path, ".npy")) {
    char header[128];
    int n = snprintf(header, sizeof header,
                     "{'descr': '%s%c%u', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                     a->type.bytes == 1 ? "|" : "<", a->type.kind == 'b' ? 'u' : a->type.kind,
                     (unsigned)a->type.bytes, a->count);
    textbuf_write(&b, "\x93NUMPY\x01\x00", 8);
    textbuf_write(&b, "\x76\x00", 2); /* to 128 bytes */
    textbuf_write(&b, header, (size_t)n);
    while (b.length < 127) textbuf_char(&b, ' ');
    textbuf_char(&b, '\n');
  }
  textbuf_write(&b, (const char *)bytes, a->count * a->type.bytes);
  struct file_error error;
  bool ok = !arena.failed && files_write(path, b.bytes, b.length, &error);
  if (!ok) fprintf(stderr, "nvmini: error: %s: cannot write\n", path);
  arena_free(&arena);
  return ok;
}

/* ---- arguments ---- */

static bool parse_buffer(const char *text, struct arena *arena, struct run_argument *a) {
  const char *rest = text + 4;
  a->is_buffer = true;
  if (*rest == '@') return load(rest + 1, arena, a, false);
  size_t length = strcspn(rest, ":");
  if (!parse_type(rest, length, &a->type) || rest[length] != ':')
    return refuse(
        text,
        "expected buf:TYPE:COUNT:CONTENTS or buf:TYPE:@FILE, where TYPE is i8 … i64, u8 … u64, "
        "f16, bf16, f32, f64");
  rest += length + 1;
  if (*rest == '@') return load(rest + 1, arena, a, true);
  if (!number_read(&rest, UINT64_C(1) << 32, &a->count) || (*rest != ':' && *rest != 0))
    return refuse(text, "invalid or too large number of elements");
  a->bytes = arena_alloc(arena, a->count * a->type.bytes);
  if (!a->bytes) return refuse(text, "out of memory");
  return *rest == 0 || fill(text, rest + 1, a);
}

/* bytes:00ff…: a structure passed by value. */
static bool parse_bytes(const char *text, struct arena *arena, struct run_argument *a) {
  const char *digits = text + 6;
  size_t length = strspn(digits, "0123456789abcdefABCDEF");
  if (digits[length] || length % 2) return refuse(text, "expected pairs of hexadecimal digits");
  a->type = (struct run_type){'u', 1};
  a->count = length / 2;
  a->bytes = arena_alloc(arena, a->count + 1);
  for (uint64_t i = 0; a->bytes && i < a->count; i++) {
    char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
    a->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return a->bytes != NULL;
}

bool run_parse_argument(const char *text, struct arena *arena, struct run_argument *a) {
  *a = (struct run_argument){.count = 1};
  if (strncmp(text, "buf:", 4) == 0) return parse_buffer(text, arena, a);
  if (strncmp(text, "bytes:", 6) == 0) return parse_bytes(text, arena, a);
  size_t length = strcspn(text, ":");
  uint64_t bits;
  if (text[length] != ':' || !parse_type(text, length, &a->type))
    return refuse(text,
                  "expected TYPE:VALUE, buf:TYPE:COUNT:CONTENTS or bytes:HEX, e.g. i32:5, "
                  "buf:f32:1024:iota");
  if (!parse_value(text + length + 1, strlen(text + length + 1), a->type, &bits))
    return refuse(text, "invalid value for the type");
  a->bytes = arena_alloc(arena, 8);
  if (!a->bytes) return false;
  put(a->bytes, bits, a->type.bytes);
  return true;
}

static void print_element(struct textbuf *out, struct run_type t, uint64_t bits) {
  if (is_float(t)) float_print_shortest(out, format_of(t), bits);
  else if (t.kind == 'u') textbuf_unsigned(out, bits);
  else textbuf_signed(out, (int64_t)(bits << (64 - 8 * t.bytes)) >> (64 - 8 * t.bytes));
}

void run_print_elements(struct textbuf *out, const struct run_argument *a, const uint8_t *bytes,
                        uint64_t first, uint64_t last) {
  for (uint64_t i = first; i < last && i < a->count; i++) {
    if (i > first) textbuf_char(out, ' ');
    print_element(out, a->type, get(bytes + i * a->type.bytes, a->type.bytes));
  }
  textbuf_char(out, '\n');
}

/* ---- comparison ---- */

static double as_double(struct run_type t, uint64_t bits) {
  double d;
  bits = float_convert_bits(bits, format_of(t), FLOAT_DOUBLE, NULL);
  memcpy(&d, &bits, sizeof d);
  return d;
}

static bool same(struct run_type t, uint64_t x, uint64_t y, double tolerance) {
  if (x == y) return true;
  if (!is_float(t)) return false;
  double a = as_double(t, x), b = as_double(t, y);
  if (a != a || b != b) return a != a && b != b;
  if (tolerance == 0) return false;
  double difference = a > b ? a - b : b - a, larger = a < 0 ? -a : a, other = b < 0 ? -b : b;
  if (other > larger) larger = other;
  return difference <= tolerance * (larger > 1 ? larger : 1);
}

bool run_compare_elements(const char *what, const struct run_argument *a, const uint8_t *bytes,
                          const uint8_t *wanted, double tolerance, struct arena *arena) {
  uint64_t differences = 0, first = 0;
  uint32_t size = a->type.bytes;
  for (uint64_t i = 0; i < a->count; i++)
    if (!same(a->type, get(bytes + i * size, size), get(wanted + i * size, size), tolerance) &&
        differences++ == 0)
      first = i;
  if (differences == 0) return true;
  struct textbuf b;
  textbuf_init(&b, arena);
  textbuf_format(&b, "nvmini: error: %U of %U elements differ from %s; the first is %U: expected ",
                 differences, a->count, what, first);
  print_element(&b, a->type, get(wanted + first * size, size));
  textbuf_puts(&b, ", got ");
  print_element(&b, a->type, get(bytes + first * size, size));
  fprintf(stderr, "%.*s\n", (int)b.length, b.bytes);
  return false;
}

bool run_compare_file(const char *path, const struct run_argument *a, const uint8_t *bytes,
                      double tolerance, struct arena *arena) {
  struct run_argument wanted = {.is_buffer = true, .type = a->type};
  if (!load(path, arena, &wanted, true)) return false;
  if (wanted.count == a->count && wanted.type.bytes == a->type.bytes)
    return run_compare_elements(path, a, bytes, wanted.bytes, tolerance, arena);
  fprintf(stderr,
          "nvmini: error: %s has %" PRIu64 " elements of %u bytes, expected %" PRIu64 " of %u\n",
          path, wanted.count, (unsigned)wanted.type.bytes, a->count, (unsigned)a->type.bytes);
  return false;
}
