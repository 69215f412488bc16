/* Sizes and alignments, by the rules of LLVM's data layout.
 *
 *   iN       the alignment of the next power of two of bits from 8 up; size N bits
 *   float    its own alignment
 *   ptr      the layout's width, naturally aligned
 *   <n x T>  packed bits (no padding between lanes); naturally aligned unless the layout says
 *            otherwise: to the next power of two of its bytes
 *   [n x T]  n allocations of T, aligned as T
 *   struct   members at their alignments in order, the end padded to the largest; packed: neither
 *
 * A composite's size is computed once and kept in the type table's memos, so a type built of n
 * records costs O(n) time in total. */
#include "ir/layout.h"

const struct nvm_layout nvm_layout_default = {
    .pointer_bits = {64, 64, 64, 64, 64, 64, 64, 64, 64},
    .int_align_log2 = {0, 0, 0, 0, 1, 2, 3, 4},
    .float_align_log2 = {0, 0, 0, 0, 1, 2, 3},
    .vector_align_log2 = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
};

/* Sizes saturate here: they can still be added and multiplied by small numbers. */
#define LAYOUT_MAX (UINT64_MAX / 16)
enum { NATURAL = 0xff };

_Static_assert(sizeof(struct nvm_layout) <= sizeof(((struct type_layout_key *)0)->bytes),
               "the memo's key holds a layout");

struct extent {
  uint64_t bytes; /* from one array element to the next */
  uint8_t align_log2;
};

static uint64_t saturate(uint64_t n) { return n < LAYOUT_MAX ? n : LAYOUT_MAX; }
static uint64_t product(uint64_t a, uint64_t b) {
  return b != 0 && a > LAYOUT_MAX / b ? LAYOUT_MAX : a * b;
}
static uint64_t align_up(uint64_t n, uint32_t log2) {
  uint64_t mask = (UINT64_C(1) << log2) - 1;
  return (n + mask) & ~mask;
}

static uint32_t min32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The least k with n <= 2^k, at most 63. */
static uint32_t ceil_log2(uint64_t n) {
  return n < 2 ? 0 : min32(64 - (uint32_t)__builtin_clzll(n - 1), 63);
}

static struct extent composite_extent(const struct nvm_layout *l, const struct type_table *t,
                                      struct nvm_type ty);

static uint64_t bytes_of(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

static struct extent extent_of_bits(uint64_t bits, uint32_t align_log2) {
  return (struct extent){saturate(align_up(saturate(bytes_of(bits)), align_log2)),
                         (uint8_t)align_log2};
}

static struct extent type_extent(const struct nvm_layout *l, const struct type_table *t,
                                 struct nvm_type ty) {
  enum type_kind kind = type_kind(t, ty);
  if (kind >= TY_VECTOR && kind <= TY_STRUCT) return composite_extent(l, t, ty);
  uint64_t bits = layout_scalar_bits(l, t, ty);
  if (kind == TY_INT) return extent_of_bits(bits, l->int_align_log2[min32(ceil_log2(bits), 7)]);
  if (kind == TY_PTR) return extent_of_bits(bits, ceil_log2(bits / 8));
  return kind >= TY_HALF && kind <= TY_DOUBLE
             ? extent_of_bits(bits, l->float_align_log2[ceil_log2(bits)])
             : (struct extent){0, 0};
}

static uint64_t vector_bits(const struct nvm_layout *l, const struct type_table *t,
                            struct nvm_type ty) {
  const struct type_info *info = type_info(t, ty);
  return product(layout_scalar_bits(l, t, info->element), info->count);
}

static struct extent vector_extent(const struct nvm_layout *l, const struct type_table *t,
                                   struct nvm_type ty) {
  uint64_t bits = vector_bits(l, t, ty);
  uint32_t k = ceil_log2(bits), align_log2 = NATURAL;
  if (k < sizeof l->vector_align_log2 && bits == UINT64_C(1) << k)
    align_log2 = l->vector_align_log2[k];
  if (align_log2 == NATURAL) align_log2 = min32(ceil_log2(bytes_of(bits)), 31);
  return extent_of_bits(bits, align_log2);
}

/* Places member i after *end; returns its offset, and *end becomes its end. */
static uint64_t place_member(const struct nvm_layout *l, const struct type_table *t,
                             struct nvm_type ty, uint32_t i, uint64_t *end, uint8_t *align_log2) {
  struct extent e = type_extent(l, t, type_member(t, ty, i));
  bool packed = type_info(t, ty)->flags & TYPE_PACKED;
  uint64_t offset = packed ? *end : align_up(*end, e.align_log2);
  *end = saturate(offset + e.bytes);
  if (!packed && e.align_log2 > *align_log2) *align_log2 = e.align_log2;
  return offset;
}

static struct extent struct_extent(const struct nvm_layout *l, const struct type_table *t,
                                   struct nvm_type ty) {
  uint64_t end = 0;
  uint8_t align_log2 = 0;
  for (uint32_t i = 0; i < type_info(t, ty)->count; i++)
    place_member(l, t, ty, i, &end, &align_log2);
  return (struct extent){saturate(align_up(end, align_log2)), align_log2};
}

static struct extent array_extent(const struct nvm_layout *l, const struct type_table *t,
                                  struct nvm_type ty) {
  const struct type_info *info = type_info(t, ty);
  struct extent e = type_extent(l, t, info->element);
  return (struct extent){product(e.bytes, info->count), e.align_log2};
}

/* The epoch of this layout; another layout invalidates all memos. */
static uint32_t layout_epoch(const struct nvm_layout *l, const struct type_table *t) {
  struct type_layout_key *key = t->layout_key;
  if (key->epoch == 0 || memcmp(key->bytes, l, sizeof *l) != 0) {
    memcpy(key->bytes, l, sizeof *l);
    key->epoch++;
  }
  return key->epoch;
}

static struct extent composite_extent(const struct nvm_layout *l, const struct type_table *t,
                                      struct nvm_type ty) {
  struct type_memo *memo = &t->memos.data[ty.index];
  uint32_t epoch = layout_epoch(l, t);
  if (memo->layout_epoch == epoch) return (struct extent){memo->alloc_size, memo->align_log2};
  if (!type_is_sized(t, ty)) return (struct extent){0, 0};
  enum type_kind kind = type_kind(t, ty);
  struct extent e = kind == TY_VECTOR  ? vector_extent(l, t, ty)
                    : kind == TY_ARRAY ? array_extent(l, t, ty)
                                       : struct_extent(l, t, ty);
  memo->alloc_size = e.bytes;
  memo->align_log2 = e.align_log2;
  memo->layout_epoch = epoch;
  return e;
}

uint64_t layout_composite_bits(const struct nvm_layout *l, const struct type_table *t,
                               struct nvm_type ty) {
  return type_kind(t, ty) == TY_VECTOR ? vector_bits(l, t, ty)
                                       : product(composite_extent(l, t, ty).bytes, 8);
}

uint64_t layout_alloc_size(const struct nvm_layout *l, const struct type_table *t,
                           struct nvm_type ty) {
  return type_extent(l, t, ty).bytes;
}

uint32_t layout_align(const struct nvm_layout *l, const struct type_table *t, struct nvm_type ty) {
  return UINT32_C(1) << type_extent(l, t, ty).align_log2;
}

uint64_t layout_member_offset(const struct nvm_layout *l, const struct type_table *t,
                              struct nvm_type ty, uint32_t i) {
  uint32_t epoch = layout_epoch(l, t);
  struct member_cursor *c = &t->layout_key->cursor;
  if (c->epoch != epoch || c->type.index != ty.index || c->next > i + 1)
    *c = (struct member_cursor){.type = ty, .epoch = epoch};
  for (; c->next <= i && c->next < type_info(t, ty)->count; c->next++)
    c->offset = place_member(l, t, ty, c->next, &c->end, &c->align_log2);
  return c->offset;
}

uint64_t layout_element_offset(const struct nvm_layout *l, const struct type_table *t,
                               struct nvm_type ty, uint64_t i) {
  struct nvm_type element = type_info(t, ty)->element;
  if (type_kind(t, ty) == TY_STRUCT) return layout_member_offset(l, t, ty, (uint32_t)i);
  return i * (type_is_vector(t, ty) ? layout_bits(l, t, element) / 8
                                    : layout_alloc_size(l, t, element));
}

uint32_t layout_member_at(const struct nvm_layout *l, const struct type_table *t,
                          struct nvm_type ty, uint64_t *offset) {
  uint32_t k = 0;
  uint64_t begin = 0;
  /* upwards, for the cached offset */
  for (uint32_t next = 1; next < type_info(t, ty)->count; next++) {
    uint64_t at = layout_member_offset(l, t, ty, next);
    if (at > *offset) break;
    begin = at;
    k = next;
  }
  *offset -= begin;
  return k;
}
