/* Parts of types (part.c), and modifiers of PTX instructions (mod.c). */
#ifndef NVM_CODEGEN_PART_H
#define NVM_CODEGEN_PART_H

#include "codegen/lower.h"

extern const struct part part_i16, part_i32, part_i64,
    part_f32; /* with all bits of their register */

/* Modifiers by width: `.b32` (.pred for 1, .b128), `.u32`, `.s32`; odd widths are rounded up. */
uint16_t mod_bits(uint32_t bits);
uint16_t mod_unsigned(uint32_t bits);
uint16_t mod_signed(uint32_t bits);
/* The class of registers that hold a type. */
enum ptx_class mod_class(uint16_t type);
uint16_t mod_space(uint32_t address_space); /* 1 → PTX_MOD_GLOBAL …, 0 for generic */
uint16_t mod_vector(uint32_t count);        /* 2 → PTX_MOD_V2 …, 0 for 1 */

enum { PART_MAX = 1 << 16 }; /* parts of a first-class value; more are refused */

/* The parts of a first-class type; reports an error and returns no parts beyond PART_MAX. */
struct part_list part_measure(struct lower *l, struct nvm_type type);
static inline struct part_list part_list(struct lower *l, struct nvm_type type) {
  if (type.index < l->type_parts.count && l->type_parts.data[type.index].at)
    return l->type_parts.data[type.index];
  return part_measure(l, type);
}
/* Without parts (an error or an empty type), eight dummy parts may be read. */
static inline const struct part *part_at(struct part_list t, uint32_t i) { return &t.at[i]; }
/* The parts of element `index` among those of an aggregate or vector without packed pairs. */
struct part_range part_of_member(struct lower *l, struct nvm_type type, uint64_t index);
/* Whether the type is a vector whose parts are packed pairs. */
bool part_is_packed_type(struct lower *l, struct nvm_type type);

/* Modifiers of a part's register; `move`: as mov and selp have it, .f32 and .f64 for floats. */
enum ptx_class part_class(const struct part *p);
uint16_t part_move_mod(const struct part *p);
uint16_t part_float_mod(const struct part *p); /* .f16 .bf16 .f32 .f64 .f16x2 .bf16x2 */
static inline uint16_t part_bits_mod(const struct part *p) { return mod_bits(p->container); }
static inline uint16_t part_unsigned_mod(const struct part *p) {
  return mod_unsigned(p->container);
}
static inline uint16_t part_signed_mod(const struct part *p) { return mod_signed(p->container); }

static inline bool part_is_small(const struct part *p) { /* a 16-bit float */
  return p->kind == PART_HALF || p->kind == PART_BFLOAT;
}
static inline bool part_is_full(const struct part *p) { /* a float or double */
  return p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
}
static inline bool part_is_pair(const struct part *p) { return p->kind >= PART_PAIR_I16; }
/* Whether the target computes in this type, by the types of target/nvptx.def. */
bool part_is_legal(const struct lower *l, const struct part *p);
/* Bytes of a part in memory: 1, 2, 4, 8 (3 for i24). */
uint32_t part_store_bytes(const struct part *p);
/* The second part of an integer of 65 to 128 bits. */
static inline struct part part_high(uint32_t bits) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bits - 64), .container = 64};
}

#endif
