/* IR in the machine: what its code works on.
 *
 * An IR function becomes code of the same kind as PTX: the warps, splits, calls, barriers and
 * findings are the machine's. A value is a run of *scalars* (lanes of a vector, members of an
 * aggregate), each in one row of the frame, or in two if it is wider than 64 bits. Poison is the
 * frame's mask of undefined lanes of the (low) row, so that it costs nothing while there is none;
 * in memory it is a byte of the shadow with the value SHADOW_POISON. undef is zero. */
#ifndef NVM_SIM_IR_IR_H
#define NVM_SIM_IR_IR_H

#include "ir/evalintrinsic.h"
#include "sim/machine/machine.h"
#include "support/lines.h"

enum { IR_MAX_SCALARS = 1 << 16 }; /* of one value */

/* A scalar of a type: where it is in memory. Pointers are integers of their width. */
struct ir_piece {
  struct nvm_type type;
  uint64_t bit; /* offset from the value's beginning */
  uint32_t bits;
};
struct ir_shape {
  const struct ir_piece *pieces;
  uint32_t count;
  bool known;
};

/* A scalar of a value in registers. */
struct ir_scalar {
  uint32_t low, high; /* rows; high: NO_ROW up to 64 bits */
  struct nvm_type type;
};
struct ir_value {
  const struct ir_scalar *scalars;
  uint32_t count;
};

/* The fields of an instruction of IR that struct inst does not have. Operands of ops that work lane
 * by lane: operand k of lane i is in[k].scalars[i], or [0] if it has only one scalar. */
struct ir_op {
  enum op op;
  uint16_t flags;
  uint32_t aux;
  enum intrinsic_id intrinsic; /* of calls */
  struct ir_value d;
  const struct ir_value *in;
  uint32_t count;                /* of in */
  const struct ir_piece *pieces; /* memory: of the value */
  uint64_t bytes, align;
  const int64_t *scales; /* GEP: bytes that index k counts; negative: -1 - an offset */
  nvm_i128 *terms;       /* GEP: room for the summands */
  bool flushes;          /* denormals of f32 count as zero */
  const nvm_u128 *cases; /* SWITCH: values, of the i-th entry of the table; LOAD: the bounds of
                            !range, in pairs */
  uint32_t bounds;       /* LOAD: how many */
};

/* A module in execution. */
struct ir_program {
  struct nvm_module *module;
  struct strtab strings;
  struct ptx_module names;     /* the machine's record of the module */
  uint64_t *addresses;         /* of globals, as their pointers have them */
  uint32_t *code;              /* functions: index into sim->funcs */
  VEC(struct ir_shape) shapes; /* by type */
  struct line_list lines;      /* of the source; empty: not known */
};

/* Gives the module's functions and variables their places. */
enum nvm_status ir_load(struct sim *s, struct nvm_module *m, struct nvm_text source);

/* The scalars of a type; NULL if it has too many or when out of memory. */
const struct ir_shape *ir_shape_of(struct sim *s, struct nvm_type type);
/* Pointers as integers of their width; other types as they are. */
struct nvm_type ir_shape_number_type(const struct nvm_module *m, struct nvm_type type);

/* The scalars of a constant, in order; false where a value is not known here. */
bool ir_constant(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count);

/* WINDOW_COUNT: generic. */
enum window ir_address_window(uint32_t address_space);
/* The base that makes a pointer of the type generic. */
uint64_t ir_address_base(const struct nvm_module *m, struct nvm_type pointer);
/* The address p plus the terms, in bytes, by the rules of getelementptr; *poison is set where its
 * flags are violated. `bits`: of the pointer. */
uint64_t ir_address_offset(uint16_t flags, uint32_t bits, uint64_t p, const nvm_i128 *terms,
                           uint32_t count, bool *poison);

#endif
