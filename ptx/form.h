/* The PTX forms of intrinsics: rows of 16-bit words, made by gen_intrinsics from the PTX column of
 * ir/intrinsics.def, which codegen/ and the simulator of IR interpret.
 *
 *   op, number of modifiers, modifiers..., number of operands [| FORM_GUARDED, guard], operands...
 *
 * and PTX_NONE after the last instruction. An operand is one word, its kind in the upper four bits,
 * followed by the words of what it holds. */
#ifndef NVM_PTX_FORM_H
#define NVM_PTX_FORM_H

#include "ptx/ptx.h"

enum {
  FORM_RESULT = 0x1000,  /* | part, or FORM_ALL */
  FORM_ARG = 0x2000,     /* | argument << 6 | part, or FORM_ALL */
  FORM_INT = 0x3000,     /* the number follows, signed */
  FORM_SPECIAL = 0x4000, /* the special register follows */
  FORM_TEMP = 0x5000,    /* | class << 4 | number: a temporary of this form */
  FORM_VECTOR = 0x6000,  /* | number of elements, which follow */
  FORM_PAIR = 0x7000,    /* | 2 */
  FORM_TENSOR = 0x8000,  /* | number of elements */
  FORM_ADDRESS = 0x9000, /* | argument: [register] */
  FORM_SINK = 0xa000,
  FORM_NOT = 0xb000,  /* the operand that follows, negated */
  FORM_IF = 0xc000,   /* | words << 6 | argument: they are used if this constant is not 0 */
  FORM_REG = 0xd000,  /* the operand that follows, in a register */
  FORM_KIND = 0xf000, /* mask of the above */
  FORM_ALL = 63,      /* every part: in a vector all of them, elsewhere the only one */

  FORM_GUARDED = 0x100, /* in the number of operands */

  /* Modifiers that depend on the call. PTX's own are below 0x1000. */
  FORM_MOD_NEVER = 0xb000,  /* in a choice: the call is refused */
  FORM_MOD_SPACE = 0xc000,  /* | argument: the state space it points to; none if generic */
  FORM_MOD_FTZ = 0xd000,    /* .ftz where the function flushes denormals */
  FORM_MOD_TYPE = 0xe000,   /* | kind << 8 | argument, or FORM_TYPE_RESULT; kinds b u s f */
  FORM_TYPE_RESULT = 0xff,  /* as the number of an argument everywhere: the result */
  FORM_MOD_CHOICE = 0xf000, /* | number << 6 | argument; another argument or FORM_ALL; the words */
};

/* A call of an intrinsic; the user supplies the functions. */
struct form_reader {
  struct ptx_function *f; /* gets the instructions */
  void *call;             /* the caller's own */
  bool ftz;
  /* The number of parts of an argument, or of the result. */
  uint32_t (*parts)(struct form_reader *r, uint32_t k);
  /* A part of it; with `in_register` no immediate. */
  struct ptx_operand (*value)(struct form_reader *r, uint32_t k, uint32_t part, bool in_register);
  /* A constant argument; 0, and a report by the caller, if not constant. */
  uint64_t (*constant)(struct form_reader *r, uint32_t k);
  /* The modifiers (enum ptx_mod) of the space of a pointer; of the type of a value's first part,
   * kind 0..3: b u s f. */
  uint16_t (*space)(struct form_reader *r, uint32_t k);
  uint16_t (*type)(struct form_reader *r, uint32_t k, unsigned kind);
  /* Constant argument k is `found`; those that select something are the bits of `allowed`. */
  void (*refuse)(struct form_reader *r, uint32_t k, uint64_t allowed, uint64_t found);
  /* internal */
  const uint16_t *at;
  bool registers_only; /* in vectors, and as the first source */
  struct ptx_reg temps[8][16];
};

/* The form of an intrinsic (its enum intrinsic_id); NULL: it has none. */
const uint16_t *form_of(uint32_t intrinsic);
/* Appends the instructions of a form. */
void form_emit(struct form_reader *r, const uint16_t *form);

#endif
