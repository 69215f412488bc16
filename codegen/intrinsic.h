/* What the files codegen/intrinsic*.c share.
 *
 * Most intrinsics are lowered by interpreting the PTX form of their row (intrinsic.c), see
 * ptx/form.h; the odd ones name a function `@name(argument)` in it, which is intrinsic_lower_name
 * here, or
 * `@*name(argument)`: intrinsic_lane_name, for each lane. */
#ifndef NVM_CODEGEN_INTRINSIC_H
#define NVM_CODEGEN_INTRINSIC_H

#include "codegen/lower.h"
#include "ptx/form.h"

typedef void intrinsic_function(struct lower *l, const struct nvm_inst *i, int argument);

/* One lane of an intrinsic that treats them alike. */
struct lane {
  struct lower *l;
  const struct nvm_inst *inst;
  int argument;             /* of the table's row */
  struct part part, source; /* the first part of a lane of the result, of argument 0 of the call */
  uint32_t bits, source_bits;            /* their widths, if they are integers */
  const struct ptx_operand *a, *b, *c;   /* the lane's parts of the call's arguments */
  const struct ptx_operand *to, *second; /* where its result goes; of a struct, both members */
};
typedef void lane_lowering(const struct lane *x);

/* Arguments of handlers. */
enum {
  BITS_POPCOUNT,
  BITS_LEADING,
  BITS_TRAILING,
  BITS_REVERSE,
  BITS_SWAP,
};
enum {
  OVERFLOW_SADD,
  OVERFLOW_UADD,
  OVERFLOW_SSUB,
  OVERFLOW_USUB,
  OVERFLOW_SMUL,
  OVERFLOW_UMUL,
};
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

/* intrinsic_lower_float_pair */
enum float_pair { PAIR_NONE, PAIR_FREXP, PAIR_MODF, PAIR_SINCOS };

/* intrinsic_misc.c */
intrinsic_function intrinsic_lower_nothing, intrinsic_lower_undefined, intrinsic_lower_forward,
    intrinsic_lower_number, intrinsic_lower_objectsize, intrinsic_lower_is_constant,
    intrinsic_lower_reflect, intrinsic_lower_stack_save, intrinsic_lower_stack_restore,
    intrinsic_lower_prefetch, intrinsic_lower_va_start, intrinsic_lower_va_copy,
    intrinsic_lower_memcpy, intrinsic_lower_memset, intrinsic_lower_ptrmask,
    intrinsic_lower_address_cast, intrinsic_lower_load_read_only, intrinsic_lower_texture_handle;
/* intrinsic_int.c */
lane_lowering intrinsic_lane_int_minmax, intrinsic_lane_int_abs, intrinsic_lane_compare_three_way,
    intrinsic_lane_turn, intrinsic_lane_count, intrinsic_lane_funnel_shift;
intrinsic_function intrinsic_lower_rotate64;
/* intrinsic_overflow.c */
lane_lowering intrinsic_lane_overflow, intrinsic_lane_saturating, intrinsic_lane_saturating_shift;
/* intrinsic_float.c */
lane_lowering intrinsic_lane_sqrt, intrinsic_lane_round_to_integral, intrinsic_lane_round_away,
    intrinsic_lane_canonicalize;
intrinsic_function intrinsic_lower_fabs, intrinsic_lower_fma, intrinsic_lower_float_to_integer,
    intrinsic_lower_copysign, intrinsic_lower_float_minmax, intrinsic_lower_float_minmax_nan,
    intrinsic_lower_is_fpclass, intrinsic_lower_convert_fp16,
    intrinsic_lower_float_to_int_saturated;
/* intrinsic_math.c */
intrinsic_function intrinsic_lower_ldexp, intrinsic_lower_float_pair, intrinsic_lower_powi,
    intrinsic_lower_approximate, intrinsic_lower_tanh_approx;
/* intrinsic_reduce.c */
intrinsic_function intrinsic_lower_reduce, intrinsic_lower_reduce_float,
    intrinsic_lower_reduce_minmax, intrinsic_lower_reduce_float_minmax;

/* --- Helpers (intrinsic.c) --- */

/* Argument k of the call. */
static inline struct nvm_value intrinsic_arg(const struct lower *l, const struct nvm_inst *i,
                                             uint32_t k) {
  return inst_operand(l->f, i, k);
}
/* The call's own name, for messages. */
const char *intrinsic_call_name(const struct lower *l, const struct nvm_inst *i);
/* The value of a constant integer argument; refuses the call otherwise and returns false. */
bool intrinsic_constant(struct lower *l, const struct nvm_inst *i, uint32_t k, uint64_t *value);
/* The part of a scalar type, by value: tables may move while an instruction is lowered. */
struct part intrinsic_part(struct lower *l, struct nvm_type scalar, uint32_t k);
/* The width in bits of an integer type or of its lanes. */
uint32_t intrinsic_int_bits(const struct lower *l, struct nvm_type type);
/* Sets an integer or pointer result to that value. */
void intrinsic_set_number(struct lower *l, const struct nvm_inst *i, int64_t value);

/* Calls `lane` for all lanes. The call has `arguments` that are looked at; scalars among them stand
 * for all lanes. */
void intrinsic_lanes(struct lower *l, const struct nvm_inst *i, int argument, uint32_t arguments,
                     lane_lowering *lane);

/* A floating-point lane's argument where PTX computes: in f32 for the 16-bit formats. */
struct working {
  struct part part;
  uint16_t type, ftz; /* modifiers: of the part; PTX_MOD_FTZ or none */
  struct ptx_operand v;
};
struct working intrinsic_working(const struct lane *x, const struct ptx_operand *argument);
/* Rounds the result to the lane's own format. */
void intrinsic_finish(const struct lane *x, struct ptx_operand result);

/* One lane of min or max of integers: `keep` is the predicate for which a is the result. */
void intrinsic_int_minmax(struct lower *l, enum icmp_predicate keep, uint32_t bits,
                          const struct part *p, const struct ptx_operand *a,
                          const struct ptx_operand *b, const struct ptx_operand *to);
/* One part of min/max of floats; pairs too. */
struct float_minmax {
  enum ptx_op op; /* PTX_MIN, PTX_MAX */
  bool nan;       /* NaN if either is NaN */
};
lane_function intrinsic_minmax_part;

#endif
