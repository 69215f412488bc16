/* Attributes with a payload in parentheses, written as LLVM's assembly writer does: nvmini keeps
 * them as text. The encodings are those of LLVM's Attributes.cpp and ModRef.h. */
#include "frontend/bitcode/bcattrs_text.h"

struct bit_name {
  uint32_t bits;
  const char *name;
};

/* The names of the bits set, separated by `separator`; a name of several bits needs all of them. */
static void put_bits(struct textbuf *b, const struct bit_name *names, size_t count, uint64_t bits,
                     const char *separator) {
  const char *lead = "";
  for (size_t i = 0; i < count; i++) {
    if ((bits & names[i].bits) != names[i].bits) continue;
    textbuf_format(b, "%s%s", lead, names[i].name);
    bits &= ~(uint64_t)names[i].bits;
    lead = separator;
  }
}

/* Two bits a location: 1 read, 2 write. Version 1 has its own place for errno. */
static void put_memory(struct textbuf *b, uint64_t number) {
  static const char *const access[] = {"none", "read", "write", "readwrite"};
  static const char *const places[] = {"argmem", "inaccessiblemem", "errnomem"};
  bool has_errno = number >> 56;
  uint32_t count = has_errno ? 3 : 2, other = number >> 2 * count & 3, mixed = 0;
  for (uint32_t i = 0; i < count; i++) mixed |= (number >> 2 * i & 3) != other;
  if (other || !mixed) textbuf_puts(b, access[other]);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t own = number >> 2 * i & 3;
    if (own != other) textbuf_format(b, b->length ? ", %s: %s" : "%s: %s", places[i], access[own]);
  }
}

static void put_fp_classes(struct textbuf *b, uint64_t number) {
  static const struct bit_name names[] = {
      {0x3ff, "all"},  {0x3, "nan"},    {0x1, "snan"},   {0x2, "qnan"},
      {0x204, "inf"},  {0x4, "ninf"},   {0x200, "pinf"}, {0x60, "zero"},
      {0x20, "nzero"}, {0x40, "pzero"}, {0x90, "sub"},   {0x10, "nsub"},
      {0x80, "psub"},  {0x108, "norm"}, {0x8, "nnorm"},  {0x100, "pnorm"}};
  put_bits(b, names, sizeof names / sizeof *names, number, " ");
}

static void put_alloc_kind(struct textbuf *b, uint64_t number) {
  static const struct bit_name names[] = {{1, "alloc"},         {2, "realloc"}, {4, "free"},
                                          {8, "uninitialized"}, {16, "zeroed"}, {32, "aligned"}};
  textbuf_char(b, '"');
  put_bits(b, names, sizeof names / sizeof *names, number, ",");
  textbuf_char(b, '"');
}

static void put_captured(struct textbuf *b, uint32_t components) {
  static const struct bit_name names[] = {
      {3, "address"}, {1, "address_is_null"}, {12, "provenance"}, {4, "read_provenance"}};
  if (components == 0) textbuf_puts(b, "none");
  put_bits(b, names, sizeof names / sizeof *names, components, ", ");
}

static void put_captures(struct textbuf *b, uint64_t number) {
  uint32_t other = number >> 4 & 15, result = number & 15;
  if (other || other == result) put_captured(b, other);
  if (other == result) return;
  textbuf_puts(b, b->length ? ", ret: " : "ret: ");
  put_captured(b, result);
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

bool bcattrs_text_number(struct reader *r, struct nvm_attr *a, uint64_t number) {
  struct textbuf b;
  textbuf_init(&b, &r->p.scratch);
  switch (a->id) {
    case ATTR_MEMORY: put_memory(&b, number); break;
    case ATTR_NOFPCLASS: put_fp_classes(&b, number); break;
    case ATTR_ALLOCKIND: put_alloc_kind(&b, number); break;
    case ATTR_ALLOCSIZE: put_alloc_size(&b, number); break;
    case ATTR_CAPTURES: put_captures(&b, number); break;
    case ATTR_VSCALE_RANGE: put_vscale(&b, number); break;
    case ATTR_UWTABLE:
      if (number == 1) textbuf_puts(&b, "sync");
      break;
    case ATTR_DEAD_ON_RETURN:
      if (number && number != UINT64_MAX) textbuf_unsigned(&b, number);
      break;
    default: return reader_unsupported(r, attr_table[a->id].keyword);
  }
  set_text(r, a, &b);
  return true;
}

/* ---- Ranges ---- */

static bool take(const struct bits_record *s, uint32_t *k, uint64_t *number) {
  if (*k >= s->count) return false;
  *number = s->numbers[(*k)++];
  return true;
}

/* The bounds of one range; wider ones than 64 bits do not occur in practice. */
static bool put_range(struct textbuf *b, const struct bits_record *s, uint32_t *k, uint64_t width) {
  uint64_t low, high;
  if (width == 0 || width > 64 || !take(s, k, &low) || !take(s, k, &high)) return false;
  textbuf_signed(b, (int64_t)bits_signed(low));
  textbuf_puts(b, ", ");
  textbuf_signed(b, (int64_t)bits_signed(high));
  return true;
}

bool bcattrs_text_ranges(struct reader *r, struct nvm_attr *a, const struct bits_record *s,
                         uint32_t *k, bool several) {
  uint64_t count = 1, width;
  struct textbuf b;
  textbuf_init(&b, &r->p.scratch);
  if ((several && !take(s, k, &count)) || !take(s, k, &width)) return false;
  if (!several) textbuf_format(&b, "i%U ", width);
  for (uint64_t i = 0; i < count; i++) {
    if (several) textbuf_puts(&b, i ? ", (" : "(");
    if (!put_range(&b, s, k, width)) return false;
    if (several) textbuf_char(&b, ')');
  }
  set_text(r, a, &b);
  return true;
}
