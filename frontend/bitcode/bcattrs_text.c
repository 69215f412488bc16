/* Attributes with a payload in parentheses, written as LLVM's assembly writer does: nvmini keeps
 * them as text. The encodings are those of LLVM's Attributes.cpp and ModRef.h. */
#include "frontend/bitcode/bcattrs_text.h"

#include "ir/print.h"

struct bit_name {
  uint32_t bits;
  const char *name;
};

/* The names of the bits set, separated by `separator`; a name of several bits needs all of them.
 * False if a bit has no name. */
static bool put_bits(struct textbuf *b, const struct bit_name *names, size_t count, uint64_t bits,
                     const char *separator) {
  const char *lead = "";
  for (size_t i = 0; i < count; i++) {
    if ((bits & names[i].bits) != names[i].bits) continue;
    textbuf_format(b, "%s%s", lead, names[i].name);
    bits &= ~(uint64_t)names[i].bits;
    lead = separator;
  }
  return bits == 0;
}

/* Two bits a location: 1 read, 2 write. The version is in the highest byte: 0 has no place for
 * errno and target memory, which are as other memory; 1 has them, but LLVM 21 and older do not set
 * those of target memory. */
static bool put_memory(struct textbuf *b, uint64_t number, uint32_t producer) {
  static const char *const access[] = {"none", "read", "write", "readwrite"};
  static const char *const names[] = {"argmem", "inaccessiblemem", "errnomem",
                                      "other",  "target_mem0",     "target_mem1"};
  enum { VERSION_SHIFT = 56, OLD_OTHER = 2, OTHER = 3, ALL = 6, FIRST_WITH_TARGETS = 22 };
  uint64_t version = number >> VERSION_SHIFT, bits = number ^ version << VERSION_SHIFT;
  uint32_t other_at = version ? OTHER : OLD_OTHER, mixed = 0;
  uint32_t count = version == 0                                    ? OLD_OTHER
                   : producer < FIRST_WITH_TARGETS && !(bits >> 8) ? OTHER
                                                                   : ALL;
  uint32_t other = bits >> 2 * other_at & 3;
  for (uint32_t i = 0; i < count; i++) mixed |= (bits >> 2 * i & 3) != other;
  if (other || !mixed) textbuf_puts(b, access[other]);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t own = bits >> 2 * i & 3;
    if (own != other) textbuf_format(b, b->length ? ", %s: %s" : "%s: %s", names[i], access[own]);
  }
  return version <= 1 && bits >> 2 * (version ? ALL : OLD_OTHER + 1) == 0;
}

/* Two bits each for the results and the operands of operations, of all types and of float. */
static bool put_denormals(struct textbuf *b, uint64_t number) {
  static const char *const modes[] = {"ieee", "preservesign", "positivezero", "dynamic"};
  uint32_t all = number & 15, floats = number >> 4 & 15;
  for (int i = 0; i < 2; i++) {
    uint32_t mode = i ? floats : all;
    if (i ? floats == all : all == 0 && floats) continue;
    textbuf_format(b, "%s%s%s", b->length ? ", " : "", i ? "float: " : "", modes[mode & 3]);
    if (mode >> 2 != (mode & 3)) textbuf_format(b, "|%s", modes[mode >> 2]);
  }
  return number >> 8 == 0;
}

static bool put_fp_classes(struct textbuf *b, uint64_t number) {
  static const struct bit_name names[] = {
      {0x3ff, "all"},  {0x3, "nan"},    {0x1, "snan"},   {0x2, "qnan"},
      {0x204, "inf"},  {0x4, "ninf"},   {0x200, "pinf"}, {0x60, "zero"},
      {0x20, "nzero"}, {0x40, "pzero"}, {0x90, "sub"},   {0x10, "nsub"},
      {0x80, "psub"},  {0x108, "norm"}, {0x8, "nnorm"},  {0x100, "pnorm"}};
  return put_bits(b, names, sizeof names / sizeof *names, number, " ");
}

static bool put_alloc_kind(struct textbuf *b, uint64_t number) {
  static const struct bit_name names[] = {{1, "alloc"},         {2, "realloc"}, {4, "free"},
                                          {8, "uninitialized"}, {16, "zeroed"}, {32, "aligned"}};
  textbuf_char(b, '"');
  bool known = put_bits(b, names, sizeof names / sizeof *names, number, ",");
  textbuf_char(b, '"');
  return known;
}

static void put_captured(struct textbuf *b, uint32_t components) {
  static const struct bit_name names[] = {
      {3, "address"}, {1, "address_is_null"}, {12, "provenance"}, {4, "read_provenance"}};
  if (components == 0) textbuf_puts(b, "none");
  put_bits(b, names, sizeof names / sizeof *names, components, ", ");
}

static bool put_captures(struct textbuf *b, uint64_t number) {
  uint32_t other = number >> 4 & 15, result = number & 15;
  if (other || other == result) put_captured(b, other);
  if (other != result) {
    textbuf_puts(b, b->length ? ", ret: " : "ret: ");
    put_captured(b, result);
  }
  return number >> 8 == 0;
}

/* The number of the argument that is the size, and of the one that is the count, if any. */
static void put_alloc_size(struct textbuf *b, uint64_t number) {
  textbuf_unsigned(b, number >> 32);
  if ((uint32_t)number != UINT32_MAX) textbuf_format(b, ",%u", (uint32_t)number);
}

static void put_vscale(struct textbuf *b, uint64_t number) {
  textbuf_format(b, "%U,%u", number >> 32, (uint32_t)number);
}

static void set_text(struct reader *r, struct nvm_attr *a, const struct textbuf *b) {
  a->str2 = strtab_intern(&r->p.m->strings, b->bytes ? b->bytes : "", b->length);
}

static bool put_number(struct reader *r, struct textbuf *b, uint32_t id, uint64_t number) {
  switch (id) {
    case ATTR_MEMORY: return put_memory(b, number, r->producer);
    case ATTR_NOFPCLASS: return put_fp_classes(b, number);
    case ATTR_ALLOCKIND: return put_alloc_kind(b, number);
    case ATTR_ALLOCSIZE: put_alloc_size(b, number); return true;
    case ATTR_CAPTURES: return put_captures(b, number);
    case ATTR_VSCALE_RANGE: put_vscale(b, number); return true;
    case ATTR_DENORMAL_FPENV: return put_denormals(b, number);
    case ATTR_UWTABLE:
      if (number == 1) textbuf_puts(b, "sync");
      return number <= 2;
    case ATTR_DEAD_ON_RETURN:
      if (number && number != UINT64_MAX) textbuf_unsigned(b, number);
      return true;
    default: return false;
  }
}

bool bcattrs_text_number(struct reader *r, struct nvm_attr *a, uint64_t number) {
  struct textbuf b;
  textbuf_init(&b, &r->p.scratch);
  bool may_be_empty = a->id == ATTR_UWTABLE || a->id == ATTR_DEAD_ON_RETURN;
  if (!put_number(r, &b, a->id, number) || (b.length == 0 && !may_be_empty))
    return reader_unsupported(r, attr_table[a->id].keyword);
  set_text(r, a, &b);
  return true;
}

/* ---- Ranges ---- */

static bool take(const struct bits_record *s, uint32_t *k, uint64_t *number) {
  if (*k >= s->count) return false;
  *number = s->numbers[(*k)++];
  return true;
}

/* A bound of `count` words; those that the record has not are 0. */
static bool put_bound(struct textbuf *b, const struct bits_record *s, uint32_t *k, uint32_t count,
                      uint32_t width) {
  uint64_t words[TYPE_MAX_INT_WORDS] = {0};
  if (count == 0 || count > (width + 63) / 64) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!take(s, k, &words[i])) return false;
    words[i] = bits_signed(words[i]);
  }
  print_words(b, words, width);
  return true;
}

/* The bounds of one range: before those of several words are their numbers of words. */
static bool put_range(struct textbuf *b, const struct bits_record *s, uint32_t *k, uint64_t width) {
  uint64_t counts = 1 | UINT64_C(1) << 32;
  if (width == 0 || width > TYPE_MAX_INT_BITS || (width > 64 && !take(s, k, &counts)) ||
      !put_bound(b, s, k, (uint32_t)counts, (uint32_t)width))
    return false;
  textbuf_puts(b, ", ");
  return put_bound(b, s, k, (uint32_t)(counts >> 32), (uint32_t)width);
}

bool bcattrs_text_ranges(struct reader *r, struct nvm_attr *a, const struct bits_record *s,
                         uint32_t *k, bool several) {
  uint64_t count = 1, width;
  struct textbuf b;
  textbuf_init(&b, &r->p.scratch);
  if ((several && !take(s, k, &count)) || !take(s, k, &width) || count == 0) return false;
  if (!several) textbuf_format(&b, "i%U ", width);
  for (uint64_t i = 0; i < count; i++) {
    if (several) textbuf_puts(&b, i ? ", (" : "(");
    if (!put_range(&b, s, k, width)) return false;
    if (several) textbuf_char(&b, ')');
  }
  set_text(r, a, &b);
  return true;
}
