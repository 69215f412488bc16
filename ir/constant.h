/* Constants: interned per module; equal constants have equal handles. */
#ifndef NVM_IR_CONSTANT_H
#define NVM_IR_CONSTANT_H

#include "ir/ops.h"
#include "ir/value.h"

/* Two's complement, zero-extended from the width of the type. */
__extension__ typedef unsigned __int128 nvm_u128;
__extension__ typedef __int128 nvm_i128;

enum constant_kind {
  CONST_NONE,
  CONST_INT,     /* bits: value up to 64 bits; wide: from 65 to 128 bits, in `pool` */
  CONST_BIG_INT, /* over 128 bits: str, its bytes, low first, zero above the width */
  CONST_FLOAT,   /* bits: the IEEE bits of the type's own format */
  CONST_NULL,    /* null pointer */
  CONST_ZERO, /* zeroinitializer of a vector, array or struct (scalars become INT, FLOAT, NULL) */
  CONST_UNDEF,
  CONST_POISON,
  CONST_AGGREGATE, /* operands: one value per element */
  CONST_BYTES,     /* array of i8 as a string: str */
  CONST_EXPR,      /* op, flags, aux and operands as in an instruction */
  CONST_ASM, /* inline asm, a callee: str is the text, str2 the constraints; flags CONST_ASM_ */
  CONST_METADATA, /* metadata as an operand: meta */
  CONST_NONE_TOKEN,
};

enum {
  CONST_ASM_SIDEEFFECT = 1,
  CONST_ASM_ALIGNSTACK = 2,
  CONST_ASM_INTEL = 4,
  CONST_ASM_UNWIND = 8
};

struct constant_info {
  uint8_t kind;   /* enum constant_kind */
  uint8_t op;     /* CONST_EXPR: enum op */
  uint16_t flags; /* CONST_EXPR: inst_flag; CONST_ASM: CONST_ASM_; CONST_INT: internal */
  struct nvm_type type;
  union {
    uint64_t bits;    /* CONST_INT up to 64 bits, CONST_FLOAT */
    struct {          /* CONST_INT over 64 bits: `first` indexes the wide pool */
      uint32_t first; /* CONST_AGGREGATE, CONST_EXPR: first operand in the operand pool */
      uint32_t count;
    };
    struct {
      struct nvm_str str, str2; /* CONST_BIG_INT, CONST_BYTES, CONST_ASM */
    };
    uint32_t meta; /* CONST_METADATA: struct nvm_meta.index */
  };
  uint32_t aux; /* CONST_EXPR of OP_GEP: element type; of OP_ICMP, OP_FCMP: predicate */
};

struct constant_table {
  struct arena *arena;
  VEC(struct constant_info) infos;
  VEC(struct nvm_value) operands;
  VEC(uint64_t) wide; /* pairs: low, high */
  uint32_t *slots;
  uint32_t slot_count;
};

struct nvm_module;

/* An empty table in `arena`; false when out of memory. */
bool constant_table_init(struct constant_table *t, struct arena *arena);

static inline const struct constant_info *constant_info(const struct constant_table *t,
                                                        struct nvm_value v) {
  return &t->infos.data[value_index(v)];
}

/* Interning constructors. All return VALUE_NULL when out of memory. */
struct nvm_value const_int(struct nvm_module *m, struct nvm_type type, nvm_u128 value);
/* The same for widths over 128 bits, from TYPE_MAX_INT_WORDS words of 64 bits, low first. */
struct nvm_value const_big_int(struct nvm_module *m, struct nvm_type type, const uint64_t *words);
struct nvm_value const_float(struct nvm_module *m, struct nvm_type type, uint64_t bits);
struct nvm_value const_null(struct nvm_module *m, struct nvm_type pointer);
struct nvm_value const_undef(struct nvm_module *m, struct nvm_type type);
struct nvm_value const_poison(struct nvm_module *m, struct nvm_type type);
/* The zero of any type: an integer, a float, null, or zeroinitializer. */
struct nvm_value const_zero(struct nvm_module *m, struct nvm_type type);
/* Vector, array or struct; the elements are copied. All elements zero give CONST_ZERO, all undef
 * (poison) CONST_UNDEF (CONST_POISON), as in LLVM. */
struct nvm_value const_aggregate(struct nvm_module *m, struct nvm_type type,
                                 const struct nvm_value *elements, uint32_t count);
struct nvm_value const_bytes(struct nvm_module *m, struct nvm_type array, const char *bytes,
                             size_t length);
struct nvm_value const_expr(struct nvm_module *m, enum op op, uint16_t flags, struct nvm_type type,
                            const struct nvm_value *operands, uint32_t count, uint32_t aux);
struct nvm_value const_asm(struct nvm_module *m, struct nvm_str text, struct nvm_str constraints,
                           uint16_t flags);
struct nvm_value const_metadata(struct nvm_module *m, uint32_t meta);
struct nvm_value const_token_none(struct nvm_module *m);

/* Fills TYPE_MAX_INT_WORDS words, low first, with an integer constant of any width; false: v is not
 * an integer constant. */
bool const_words(const struct nvm_module *m, struct nvm_value v, uint64_t *words);
/* Whether v is an integer constant of at most 128 bits; *value its bits, zero-extended. */
bool const_is_int(const struct nvm_module *m, struct nvm_value v, nvm_u128 *value);
/* The same constant's value sign-extended from its type's width. */
nvm_i128 const_int_signed(const struct nvm_module *m, struct nvm_value v);
bool const_is_undef_or_poison(const struct nvm_module *m, struct nvm_value v);
/* Zero of its type: INT 0, FLOAT +0, NULL, ZERO. */
bool const_is_zero(const struct nvm_module *m, struct nvm_value v);
/* Operand i of an AGGREGATE or EXPR. */
struct nvm_value const_operand(const struct nvm_module *m, struct nvm_value v, uint32_t i);
/* Element i of any constant of vector, array or struct type: handles AGGREGATE, BYTES, ZERO, UNDEF,
 * POISON; VALUE_NULL for an expression. May add a constant. */
struct nvm_value const_element(struct nvm_module *m, struct nvm_value v, uint64_t i);

#endif
