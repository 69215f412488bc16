/* Values: 4-byte handles, a kind and an index. */
#ifndef NVM_IR_VALUE_H
#define NVM_IR_VALUE_H

#include <stdbool.h>
#include <stdint.h>

enum value_kind {
  VALUE_NONE,   /* no value; index 0 */
  VALUE_INST,   /* index into the function's instructions */
  VALUE_ARG,    /* number of the parameter of the function */
  VALUE_BLOCK,  /* index into the function's blocks */
  VALUE_CONST,  /* index into the module's constants: numbers, undef, aggregates, expressions … */
  VALUE_GLOBAL, /* index into the module's globals: variables and aliases */
  VALUE_FUNCTION, /* index into the module's functions */
  VALUE_FORWARD,  /* during parsing only: a name used before its definition */
};

enum { VALUE_INDEX_BITS = 29 };

struct nvm_value {
  uint32_t bits;
};

/* Distinct handle types. Index 0 of each table is an unused dummy. */
struct nvm_block {
  uint32_t index;
};
struct nvm_inst_id {
  uint32_t index;
};
struct nvm_func_id {
  uint32_t index;
};
struct nvm_global_id {
  uint32_t index;
};
struct nvm_const_id {
  uint32_t index;
};

static inline struct nvm_value value_make(enum value_kind kind, uint32_t index) {
  return (struct nvm_value){(uint32_t)kind << VALUE_INDEX_BITS | index};
}
static inline enum value_kind value_kind(struct nvm_value v) {
  return (enum value_kind)(v.bits >> VALUE_INDEX_BITS);
}
static inline uint32_t value_index(struct nvm_value v) {
  return v.bits & ((UINT32_C(1) << VALUE_INDEX_BITS) - 1);
}
static inline bool value_is_none(struct nvm_value v) { return v.bits == 0; }
static inline bool value_equal(struct nvm_value a, struct nvm_value b) { return a.bits == b.bits; }

#define VALUE_NULL ((struct nvm_value){0})

static inline struct nvm_value value_of_inst(struct nvm_inst_id i) {
  return value_make(VALUE_INST, i.index);
}
static inline struct nvm_value value_of_block(struct nvm_block b) {
  return value_make(VALUE_BLOCK, b.index);
}
static inline struct nvm_value value_of_arg(uint32_t i) { return value_make(VALUE_ARG, i); }

#endif
