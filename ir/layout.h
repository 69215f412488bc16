/* Sizes, alignments and offsets of types in memory. target/ derives this summary from the module's
 * data layout string. All results are in bytes unless a name says bits. */
#ifndef NVM_IR_LAYOUT_H
#define NVM_IR_LAYOUT_H

#include "ir/type.h"

/* Spaces 0 to 7, and 101 (parameters), have their own entries; others use that of space 0. */
enum {
  LAYOUT_ADDRESS_SPACES = 8,
  LAYOUT_PARAM_SPACE = 101,
  LAYOUT_POINTERS = LAYOUT_ADDRESS_SPACES + 1
};

struct nvm_layout {
  uint8_t pointer_bits[LAYOUT_POINTERS]; /* by layout_pointer_entry */
  uint8_t int_align_log2[8];             /* [k]: ABI alignment of iN with N <= 2^k, k = 0..7 */
  uint8_t float_align_log2[7];           /* [k]: of a float of 2^k bits, k = 4..6 used */
  uint8_t vector_align_log2[12];         /* [k]: of a vector of 2^k bits; 0xff: natural */
};

/* NVPTX's 64-bit layout: everything naturally aligned, i128 16 bytes. */
extern const struct nvm_layout nvm_layout_default;

static inline uint32_t layout_pointer_entry(uint32_t address_space) {
  if (address_space == LAYOUT_PARAM_SPACE) return LAYOUT_ADDRESS_SPACES;
  return address_space < LAYOUT_ADDRESS_SPACES ? address_space : 0;
}
static inline uint32_t layout_pointer_bits(const struct nvm_layout *l, uint32_t address_space) {
  return l->pointer_bits[layout_pointer_entry(address_space)];
}

/* Bits of an integer, float or pointer; 0 for others. */
static inline uint32_t layout_scalar_bits(const struct nvm_layout *l, const struct type_table *t,
                                          struct nvm_type ty) {
  const struct type_info *info = type_info(t, ty);
  return info->kind == TY_PTR ? layout_pointer_bits(l, info->width) : type_scalar_bits(t, ty);
}
/* The same for a vector, array or struct; a struct has the bits of its bytes. */
uint64_t layout_composite_bits(const struct nvm_layout *l, const struct type_table *t,
                               struct nvm_type ty);
/* Bits of a value: i1 has 1. */
static inline uint64_t layout_bits(const struct nvm_layout *l, const struct type_table *t,
                                   struct nvm_type ty) {
  enum type_kind kind = type_kind(t, ty);
  bool composite = kind >= TY_VECTOR && kind <= TY_STRUCT;
  return composite ? layout_composite_bits(l, t, ty) : layout_scalar_bits(l, t, ty);
}
/* Bytes from one array element to the next: i24 has 4. Saturates at UINT64_MAX / 16. */
uint64_t layout_alloc_size(const struct nvm_layout *l, const struct type_table *t,
                           struct nvm_type ty);
/* Bytes that a store writes: i1 has 1, i24 has 3. */
static inline uint64_t layout_store_size(const struct nvm_layout *l, const struct type_table *t,
                                         struct nvm_type ty) {
  if (type_is_aggregate(t, ty)) return layout_alloc_size(l, t, ty);
  uint64_t bits = layout_bits(l, t, ty);
  return bits / 8 + (bits % 8 != 0);
}
/* ABI alignment, a power of two. */
uint32_t layout_align(const struct nvm_layout *l, const struct type_table *t, struct nvm_type ty);
/* Bytes of an alignment stored as log2 + 1 (`written`; 0: none, which gives 0). The largest, 2^32,
 * counts as 2^31, so 32 bits suffice. */
static inline uint32_t layout_align_bytes(unsigned written) {
  return written == 0 ? 0 : UINT32_C(1) << (written > 32 ? 31 : written - 1);
}
/* The same, with the type's ABI alignment if none was written. */
static inline uint32_t layout_written_align(const struct nvm_layout *l, const struct type_table *t,
                                            struct nvm_type ty, unsigned written) {
  return written ? layout_align_bytes(written) : layout_align(l, t, ty);
}
/* Byte offset of member i of a struct. */
uint64_t layout_member_offset(const struct nvm_layout *l, const struct type_table *t,
                              struct nvm_type ty, uint32_t i);
/* Byte offset of element i of an aggregate or vector; of vectors of whole bytes only. */
uint64_t layout_element_offset(const struct nvm_layout *l, const struct type_table *t,
                               struct nvm_type ty, uint64_t i);
/* The last member of a struct (with members) that starts at byte *offset or before; *offset becomes
 * the offset in the member. */
uint32_t layout_member_at(const struct nvm_layout *l, const struct type_table *t,
                          struct nvm_type ty, uint64_t *offset);

#endif
