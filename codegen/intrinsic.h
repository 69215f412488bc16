/* Lowering of intrinsics: what the files codegen/intrinsic*.c share.
 *
 * Most intrinsics are lowered by interpreting the PTX form of their row of ir/intrinsics.def
 * (intrinsic.c, ptx/form.h). A row with `@name` or `@name(argument)` is lowered by the function
 * intrinsic_lower_name() of codegen/, one with `@*name(argument)` by intrinsic_lane_name() for each
 * lane. */
#ifndef NVM_CODEGEN_INTRINSIC_H
#define NVM_CODEGEN_INTRINSIC_H

#include "codegen/emit.h"
#include "ptx/form.h"

typedef void intrinsic_plain_function(struct lower *l, const struct nvm_inst *i);
typedef void intrinsic_function(struct lower *l, const struct nvm_inst *i, int argument);

/* One lane of an intrinsic that treats all lanes alike. */
struct lane {
  struct lower *l;
  const struct nvm_inst *inst;
  int argument;             /* of the table's row */
  struct part part, source; /* the first part of a lane of the result, of argument 0 of the call */
  uint32_t bits, source_bits;          /* their widths, if they are integers */
  const struct ptx_operand *a, *b, *c; /* the lane's parts of the call's arguments */
  const struct ptx_operand *to,
      *second; /* the result's registers; of a struct, those of both members */
};
typedef void lane_lowering(const struct lane *x);

/* The handlers that ir/intrinsics.def names, and what they do with the row's argument. */
#define INTRINSIC_HANDLERS
#include "intrinsics.inc"
#undef INTRINSIC_HANDLERS

enum { BITS_POPCOUNT, BITS_LEADING, BITS_TRAILING, BITS_REVERSE, BITS_SWAP };
enum { OVERFLOW_UADD, OVERFLOW_SADD, OVERFLOW_USUB, OVERFLOW_SSUB, OVERFLOW_UMUL, OVERFLOW_SMUL };
enum {
  APPROX_NONE,
  APPROX_SIN,
  APPROX_COS,
  APPROX_TAN,
  APPROX_TANH,
  APPROX_EXP,
  APPROX_EXP2,
  APPROX_EXP10,
  APPROX_LOG,
  APPROX_LOG2,
  APPROX_LOG10,
  APPROX_POW,
};
enum { PAIR_NONE, PAIR_FREXP, PAIR_MODF, PAIR_SINCOS };

/* --- Helpers (intrinsic.c) --- */

/* Argument k of the call. */
static inline struct nvm_value intrinsic_arg(const struct lower *l, const struct nvm_inst *i,
                                             uint32_t k) {
  return inst_operand(l->f, i, k);
}
/* The callee's name, for messages. */
const char *intrinsic_call_name(const struct lower *l, const struct nvm_inst *i);
/* The value of a constant integer argument; refuses the call and returns false if it is none. */
bool intrinsic_constant(struct lower *l, const struct nvm_inst *i, uint32_t k, uint64_t *value);
/* Part k of a scalar type, by value: the table of parts may move while an instruction is lowered.
 */
struct part intrinsic_part(struct lower *l, struct nvm_type scalar, uint32_t k);
/* The width in bits of an integer type or of its lanes. */
uint32_t intrinsic_int_bits(const struct lower *l, struct nvm_type type);
/* Sets an integer or pointer result to that value. */
void intrinsic_set_number(struct lower *l, const struct nvm_inst *i, int64_t value);

/* Calls `lane` for all lanes of the first `arguments` arguments of the call; a scalar among them is
 * the same for all lanes. */
void intrinsic_lanes(struct lower *l, const struct nvm_inst *i, int argument, uint32_t arguments,
                     lane_lowering *lane);

/* An integer of the lane's width, in one register or two: an argument, a number, the result of an
 * operation in new registers. */
struct integer {
  struct ptx_operand at[2];
};
struct integer intrinsic_integer(const struct lane *x, const struct ptx_operand *argument);
struct integer intrinsic_number(const struct lane *x, nvm_i128 n);
struct integer intrinsic_compute(const struct lane *x, enum op op, struct integer a,
                                 struct integer b);

/* A floating-point lane's argument in the format that PTX computes in: f32 for 16-bit formats. */
struct working {
  struct part part;
  uint16_t type, ftz; /* modifiers: of the part; PTX_MOD_FTZ or none */
  struct ptx_operand v;
};
struct working intrinsic_working(const struct lane *x, const struct ptx_operand *argument);
/* The lane's result from one in that format, rounded if need be. */
void intrinsic_finish(const struct lane *x, struct ptx_operand result);

/* One lane of min or max of integers; a is the result if `keep` holds for a and b. */
void intrinsic_int_minmax(struct lower *l, enum icmp_predicate keep, uint32_t bits,
                          const struct part *p, const struct ptx_operand *a,
                          const struct ptx_operand *b, const struct ptx_operand *to);
/* One part of min or max of floats, packed pairs too; `how` is a struct float_minmax. */
struct float_minmax {
  enum ptx_op op; /* PTX_MIN, PTX_MAX */
  bool nan;       /* NaN if either is NaN */
};
lane_function intrinsic_minmax_part;
/* By number as rows and reductions have them: fmin, fmax, fminimum, fmaximum. */
extern const struct float_minmax intrinsic_minmax_kinds[4];

#endif
