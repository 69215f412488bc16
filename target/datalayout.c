/* Parsing and comparing data layout strings; see datalayout.h.
 *
 * The string is a list of items between hyphens. Each is parsed into a `struct draft`, in which
 * absent entries are 0; finish() then fills these by LangRef's rules:
 *   iN  the next larger width that is given, or the largest one (so i128 is as i64 where not given)
 *   fN  its own width;  vN  its own width ("natural");  pN  as p0
 * Alignments are kept as log2 of bytes plus 1 in the draft. */
#include "target/datalayout.h"

#include "support/textbuf.h"

enum {
  INT_CLASSES = 8,     /* widths 2^0 .. 2^7 */
  FLOAT_CLASSES = 7,   /* 2^4 .. 2^6 used */
  VECTOR_CLASSES = 12, /* 2^0 .. 2^11 */
  NATURAL = 0xff,
};

static const char *const variant_text[] = {
    [DATALAYOUT_64_SHORT_SHARED] =
        "e-p:64:64:64-p3:32:32:32-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
        "f16:16:16-f32:32:32-f64:64:64-v16:16:16-v32:32:32-n16:32:64",
    [DATALAYOUT_64] =
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
        "f16:16:16-f32:32:32-f64:64:64-v16:16:16-v32:32:32-n16:32:64",
    [DATALAYOUT_32] =
        "e-p:32:32:32-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
        "f16:16:16-f32:32:32-f64:64:64-v16:16:16-v32:32:32-n16:32:64",
};

/* libdevice's layout, for seed 1's link check. */
static const char link_form[] = "e-i64:64-v16:16-v32:32-n16:32:64";

const char *datalayout_link_form(void) { return link_form; }

const char *datalayout_text(enum datalayout_variant variant) { return variant_text[variant]; }

/* ---- reading ---- */

struct draft {
  uint8_t pointer_bits[LAYOUT_POINTERS];
  uint8_t ints[INT_CLASSES];
  uint8_t floats[FLOAT_CLASSES];
  uint8_t vectors[VECTOR_CLASSES];
};

enum { MAX_FIELDS = 8, FIELD_LIMIT = 1 << 24 };

/* An item: letters, then up to MAX_FIELDS numbers, the first directly after the letters (number[0],
 * `has_width`), the others after colons. */
struct item {
  char letters[4];
  bool has_width;
  uint32_t number[MAX_FIELDS];
  int count; /* of numbers, number[0] included */
};

/* Parses digits at *at; false if there are none or too many. */
static bool read_number(const char **at, const char *end, uint32_t *value) {
  const char *start = *at;
  for (*value = 0; *at < end && **at >= '0' && **at <= '9' && *value < FIELD_LIMIT; (*at)++)
    *value = *value * 10 + (uint32_t)(**at - '0');
  return *at > start && *value < FIELD_LIMIT;
}

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool read_item(struct item *item, const char *at, const char *end) {
  size_t letters = 0;
  *item = (struct item){.count = 1};
  while (at < end && letter(*at) && letters + 1 < sizeof item->letters)
    item->letters[letters++] = *at++;
  if (letters == 0) return false;
  if (strcmp(item->letters, "m") == 0) return at + 2 == end && *at == ':' && letter(at[1]);
  if (at < end && *at != ':') {
    item->has_width = true;
    if (!read_number(&at, end, &item->number[0])) return false;
  }
  while (at < end) {
    if (*at++ != ':' || item->count == MAX_FIELDS) return false;
    if (!read_number(&at, end, &item->number[item->count++])) return false;
  }
  return true;
}

/* log2 of a power of two, or -1. */
static int exact_log2(uint32_t value) {
  int log2 = 0;
  if (value == 0 || (value & (value - 1)) != 0) return -1;
  while (value >>= 1) log2++;
  return log2;
}

/* Stores iN:abi, fN:abi, vN:abi in the table of widths. Widths that GPUs have no types for (i256,
 * f128, v4096) are ignored. */
static enum datalayout_status set_alignment(uint8_t *table, int classes, const struct item *item) {
  int width = exact_log2(item->number[0]), align = exact_log2(item->number[1]);
  if (!item->has_width || item->count < 2 || item->count > 3) return DATALAYOUT_SYNTAX;
  if (align < 3 || align > 20) return DATALAYOUT_UNSUPPORTED;
  if (width >= classes) return DATALAYOUT_OK;
  if (width < 0) return DATALAYOUT_UNSUPPORTED;
  table[width] = (uint8_t)(align - 3 + 1);
  return DATALAYOUT_OK;
}

/* p[space]:size:abi[:preferred[:index]]. */
static enum datalayout_status set_pointer(struct draft *d, const struct item *item) {
  uint32_t space = item->has_width ? item->number[0] : 0, bits = item->number[1];
  if (item->count < 2 || item->count > 5) return DATALAYOUT_SYNTAX;
  if (bits != 32 && bits != 64) return DATALAYOUT_UNSUPPORTED;
  if (item->count > 2 && item->number[2] != bits) return DATALAYOUT_UNSUPPORTED;
  if (space > 0 && layout_pointer_entry(space) == 0) return DATALAYOUT_UNSUPPORTED;
  d->pointer_bits[layout_pointer_entry(space)] = (uint8_t)bits;
  return DATALAYOUT_OK;
}

static enum datalayout_status set_item(struct draft *d, const struct item *item) {
  const char *letters = item->letters;
  bool bare = !item->has_width && item->count == 1;
  if (strcmp(letters, "e") == 0) return bare ? DATALAYOUT_OK : DATALAYOUT_SYNTAX;
  if (strcmp(letters, "E") == 0) return bare ? DATALAYOUT_UNSUPPORTED : DATALAYOUT_SYNTAX;
  if (strcmp(letters, "p") == 0) return set_pointer(d, item);
  if (strcmp(letters, "i") == 0) return set_alignment(d->ints, INT_CLASSES, item);
  if (strcmp(letters, "f") == 0) return set_alignment(d->floats, FLOAT_CLASSES, item);
  if (strcmp(letters, "v") == 0) return set_alignment(d->vectors, VECTOR_CLASSES, item);
  if (strcmp(letters, "a") == 0) return DATALAYOUT_OK; /* only affects preferred alignment */
  if (strcmp(letters, "m") == 0 || strcmp(letters, "ni") == 0) return DATALAYOUT_OK;
  if (strcmp(letters, "n") == 0 || strcmp(letters, "S") == 0)
    return item->has_width ? DATALAYOUT_OK : DATALAYOUT_SYNTAX;
  if (strcmp(letters, "A") == 0 || strcmp(letters, "G") == 0 || strcmp(letters, "P") == 0)
    return !item->has_width       ? DATALAYOUT_SYNTAX
           : item->number[0] != 0 ? DATALAYOUT_UNSUPPORTED
                                  : DATALAYOUT_OK;
  return DATALAYOUT_SYNTAX;
}

/* LangRef's defaults for absent items. */
static void finish(const struct draft *d, struct nvm_layout *layout) {
  static const uint8_t default_ints[INT_CLASSES] = {[0] = 1, [3] = 1, [4] = 2, [5] = 3, [6] = 3};
  uint8_t ints[INT_CLASSES], larger = 0;
  for (int k = 0; k < INT_CLASSES; k++) {
    ints[k] = d->ints[k] ? d->ints[k] : default_ints[k];
    if (ints[k]) larger = ints[k]; /* finally that of the largest width */
  }
  for (int k = INT_CLASSES - 1; k >= 0; k--) {
    if (ints[k]) larger = ints[k];
    layout->int_align_log2[k] = (uint8_t)(larger - 1);
  }
  for (int k = 0; k < FLOAT_CLASSES; k++)
    layout->float_align_log2[k] = (uint8_t)(d->floats[k] ? d->floats[k] - 1 : k > 3 ? k - 3 : 0);
  for (int k = 0; k < VECTOR_CLASSES; k++)
    layout->vector_align_log2[k] = (uint8_t)(d->vectors[k] ? d->vectors[k] - 1 : NATURAL);
  for (int s = 0; s < LAYOUT_POINTERS; s++) {
    uint8_t generic = d->pointer_bits[0] ? d->pointer_bits[0] : 64;
    layout->pointer_bits[s] = d->pointer_bits[s] ? d->pointer_bits[s] : generic;
  }
}

static enum datalayout_status fail(struct datalayout_error *error, enum datalayout_status status,
                                   size_t begin, size_t length) {
  if (error) *error = (struct datalayout_error){status, begin, length};
  return status;
}

enum datalayout_status datalayout_parse(struct nvm_layout *layout, const char *text, size_t length,
                                        struct datalayout_error *error) {
  struct draft draft = {0};
  if (length == 0) return fail(error, DATALAYOUT_EMPTY, 0, 0);
  for (size_t begin = 0; begin <= length;) {
    const char *hyphen = memchr(text + begin, '-', length - begin);
    size_t end = hyphen ? (size_t)(hyphen - text) : length;
    struct item item;
    enum datalayout_status status =
        read_item(&item, text + begin, text + end) ? set_item(&draft, &item) : DATALAYOUT_SYNTAX;
    if (status != DATALAYOUT_OK) return fail(error, status, begin, end - begin);
    begin = end + 1;
  }
  finish(&draft, layout);
  return DATALAYOUT_OK;
}

void datalayout_describe(const struct datalayout_error *error, const char *text, char *buffer,
                         size_t size) {
  struct textbuf b;
  textbuf_init_fixed(&b, buffer, size);
  if (error->status == DATALAYOUT_EMPTY) textbuf_puts(&b, "Empty target data layout, must exist");
  if (error->status != DATALAYOUT_SYNTAX && error->status != DATALAYOUT_UNSUPPORTED) return;
  textbuf_format(&b,
                 "Invalid target data layout: %s '%t'\nExample valid data layout:\n"
                 "32-bit: %s\n64-bit: %s",
                 error->status == DATALAYOUT_SYNTAX ? "cannot parse" : "unsupported",
                 (struct nvm_text){text + error->begin, error->length}, variant_text[DATALAYOUT_32],
                 variant_text[DATALAYOUT_64]);
}

/* ---- comparing ---- */

static void write_difference(struct textbuf *b, const char *what, unsigned which, const char *has,
                             unsigned first, unsigned second) {
  textbuf_format(b, "%s%u%s%u bits in one and %u in the other", what, which, has, first, second);
}

/* Compares alignments of widths 2^0, 2^1, ...; writes the first difference. */
static bool same_alignments(struct textbuf *out, const char *what, const uint8_t *a,
                            const uint8_t *b, int classes) {
  for (int k = 0; k < classes; k++) {
    if (a[k] == b[k]) continue;
    unsigned natural = k > 3 ? (unsigned)k - 3 : 0;
    unsigned bits_a = 8u << (a[k] == NATURAL ? natural : a[k]);
    unsigned bits_b = 8u << (b[k] == NATURAL ? natural : b[k]);
    if (bits_a == bits_b) continue;
    write_difference(out, what, 1u << k, " are aligned to ", bits_a, bits_b);
    return false;
  }
  return true;
}

static bool same_layout(struct textbuf *out, const struct nvm_layout *a,
                        const struct nvm_layout *b) {
  for (unsigned s = 0; s < LAYOUT_POINTERS; s++) {
    if (a->pointer_bits[s] == b->pointer_bits[s]) continue;
    write_difference(out, "pointers of address space ",
                     s < LAYOUT_ADDRESS_SPACES ? s : LAYOUT_PARAM_SPACE, " have ",
                     a->pointer_bits[s], b->pointer_bits[s]);
    return false;
  }
  return same_alignments(out, "integers of bits ", a->int_align_log2, b->int_align_log2,
                         INT_CLASSES) &&
         same_alignments(out, "floats of bits ", a->float_align_log2, b->float_align_log2,
                         FLOAT_CLASSES) &&
         same_alignments(out, "vectors of bits ", a->vector_align_log2, b->vector_align_log2,
                         VECTOR_CLASSES);
}

static bool is_link_form(const char *text, size_t length) {
  return length == sizeof link_form - 1 && memcmp(text, link_form, length) == 0;
}

bool datalayout_compatible(const char *a, size_t a_length, const char *b, size_t b_length,
                           char *why, size_t size) {
  struct nvm_layout first, second;
  struct textbuf out;
  textbuf_init_fixed(&out, why, size);
  if (datalayout_parse(&first, a, a_length, NULL) != DATALAYOUT_OK ||
      datalayout_parse(&second, b, b_length, NULL) != DATALAYOUT_OK) {
    textbuf_puts(&out, "invalid data layout");
    return false;
  }
  bool wide = first.pointer_bits[0] == 64 && second.pointer_bits[0] == 64;
  if (wide && (is_link_form(a, a_length) || is_link_form(b, b_length))) return true;
  return same_layout(&out, &first, &second);
}

static void shorten_pointers(struct nvm_layout *layout, const struct nvm_target *target) {
  if (target->short_shared_pointers) layout->pointer_bits[3] = 32;
  if (target->short_pointers) layout->pointer_bits[4] = layout->pointer_bits[5] = 32;
}

void datalayout_adopt(struct nvm_layout *layout, unsigned pointer_bits,
                      const struct nvm_target *target) {
  for (int i = 0; i < LAYOUT_POINTERS; i++) layout->pointer_bits[i] = pointer_bits == 32 ? 32 : 64;
  shorten_pointers(layout, target);
}

struct nvm_target datalayout_target(const struct nvm_layout *layout,
                                    const struct nvm_target *target) {
  struct nvm_target t = *target;
  t.pointer_bits = layout->pointer_bits[0];
  if (layout->pointer_bits[3] == 32 && t.pointer_bits == 64 && !t.long_shared_pointers) {
    t.short_shared_pointers = true;
    t.bits[TGT_FEATURE_SHAREDMEM32BITPTR >> 6] |= UINT64_C(1)
                                                  << (TGT_FEATURE_SHAREDMEM32BITPTR & 63);
  }
  return t;
}

bool datalayout_agrees(const struct nvm_layout *layout, const struct nvm_target *target, char *why,
                       size_t size) {
  struct nvm_layout wanted = *layout;
  struct textbuf out;
  textbuf_init_fixed(&out, why, size);
  wanted.pointer_bits[0] = target->pointer_bits;
  shorten_pointers(&wanted, target);
  if (!target->short_shared_pointers && target->pointer_bits == 64) wanted.pointer_bits[3] = 64;
  return same_layout(&out, layout, &wanted);
}
