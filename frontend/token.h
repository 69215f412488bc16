/* Tokens, and the semantic values of the grammar (parser.y): what the scanner and the actions pass
 * to each other. Places in the text are byte offsets of 32 bits; parse_module() refuses longer
 * texts. */
#ifndef NVM_FRONTEND_TOKEN_H
#define NVM_FRONTEND_TOKEN_H

#include "ir/metadata.h"
#include "ir/value.h"

/* A token. `begin` and `length` are of its payload: names without sigil and quotes, strings
 * without quotes. */
struct token {
  uint32_t begin, length;
  uint64_t number; /* names: NAME_ or the number; integers: magnitude; words: their value */
};
#define NAME_PLAIN UINT64_C(0xffffffff)   /* the payload is the name */
#define NAME_ESCAPED UINT64_C(0xfffffffe) /* it was quoted and holds \xx */

/* The token of an op includes the flag words after it: enum op | (INST_ or ACCESS_) << 16. */
enum { ACCESS_VOLATILE = 1, ACCESS_ATOMIC = 2, ACCESS_WEAK = 4 };
static inline enum op token_op(const struct token *t) { return (enum op)(t->number & 0xffff); }
static inline uint16_t token_flags(const struct token *t) { return (uint16_t)(t->number >> 16); }

/* A type as written. `pointee`: of a typed pointer, whose type is plain ptr. */
struct written_type {
  struct nvm_type type;
  struct nvm_type pointee;
  uint32_t begin, end;
};

/* The notation of a floating-point number. */
enum float_spelling {
  SPELLED_DECIMAL, /* 1.5e3 */
  SPELLED_BITS,    /* f0x, 0x, 0xH, 0xR */
  SPELLED_SPECIAL, /* 0x1.8p3, +inf, -qnan, +nan(0x1), +snan(0x1) */
};

/* A value before its type is known. */
enum literal_kind {
  LIT_LOCAL,  /* length, id */
  LIT_GLOBAL, /* length, id */
  LIT_INT,    /* number: magnitude, saturated; the text has sign and digits */
  LIT_FLOAT,  /* length, id: enum float_spelling */
  LIT_TRUE,
  LIT_FALSE,
  LIT_NULL,
  LIT_UNDEF,
  LIT_POISON,
  LIT_ZERO,
  LIT_NONE,
  LIT_CSTRING, /* length */
  LIT_ARRAY,
  LIT_VECTOR,
  LIT_STRUCT,
  LIT_PACKED, /* first, count: on the operand stack */
  LIT_CONST,  /* value, type */
  LIT_ASM,    /* value */
  LIT_SPLAT,  /* value, type: of one lane */
};
struct literal {
  uint32_t begin;
  uint32_t kind; /* enum literal_kind */
  union {
    uint64_t number;
    struct {
      uint32_t length;
      uint32_t id; /* NAME_PLAIN, NAME_ESCAPED or the number; enum float_spelling */
    };
    struct {
      uint32_t first, count;
    };
    struct {
      struct nvm_value value;
      struct nvm_type type;
    };
  };
};

static inline struct literal state_name(enum literal_kind kind, const struct token *t) {
  return (struct literal){
      .begin = t->begin, .kind = kind, .length = t->length, .id = (uint32_t)t->number};
}

static inline struct literal state_int(const struct token *t) {
  return (struct literal){.begin = t->begin, .kind = LIT_INT, .number = t->number};
}

/* A value with its type. */
struct operand {
  struct nvm_value value;
  struct nvm_type type;
  struct nvm_type pointee; /* TYPE_LABEL marks a bare number of extractvalue or insertvalue */
  uint32_t begin;
};
static inline bool state_is_index(const struct operand *o) {
  return o->pointee.index == TYPE_LABEL.index;
}

struct list {
  uint32_t first, count; /* on the operand stack */
};

union nvir_value {
  struct token token;
  struct written_type type;
  struct literal literal;
  struct operand operand;
  struct list list;
  struct nvm_meta meta;
  uint32_t number;
};

#endif
