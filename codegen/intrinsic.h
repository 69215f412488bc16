/* What the files codegen/intrinsic*.c share.
 *
 * Most intrinsics are lowered by interpreting the PTX form of their row (intrinsic.c), see ptx/form.h;
 * the odd ones name a function `@name(argument)` in it, which is lower_i_name here. */
#ifndef NVM_CODEGEN_INTRINSIC_H
#define NVM_CODEGEN_INTRINSIC_H

#include "codegen/lower.h"
#include "ptx/form.h"

typedef void intrinsic_function(struct lower *l, const struct nvm_inst *i, int argument);

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

/* lower_i_float_pair */
enum float_pair { PAIR_NONE, PAIR_FREXP, PAIR_MODF, PAIR_SINCOS };

/* intrinsic_misc.c */
intrinsic_function lower_i_nothing, lower_i_undefined, lower_i_forward, lower_i_number,
    lower_i_objectsize, lower_i_is_constant, lower_i_reflect, lower_i_stack_save,
    lower_i_stack_restore, lower_i_prefetch, lower_i_va_start, lower_i_va_copy, lower_i_memcpy,
    lower_i_memset, lower_i_ptrmask, lower_i_address_cast, lower_i_load_read_only,
    lower_i_texture_handle;
/* intrinsic_int.c */
intrinsic_function lower_i_int_minmax, lower_i_int_abs, lower_i_compare_three_way, lower_i_bits,
    lower_i_funnel_shift, lower_i_rotate64;
/* intrinsic_overflow.c */
intrinsic_function lower_i_overflow, lower_i_saturating, lower_i_saturating_shift;
/* intrinsic_float.c */
intrinsic_function lower_i_fabs, lower_i_sqrt, lower_i_fma, lower_i_round_to_integral,
    lower_i_round_away, lower_i_float_to_integer, lower_i_copysign, lower_i_float_minmax,
    lower_i_float_minmax_nan, lower_i_canonicalize, lower_i_is_fpclass, lower_i_convert_fp16,
    lower_i_float_to_int_saturated;
/* intrinsic_math.c */
intrinsic_function lower_i_ldexp, lower_i_float_pair, lower_i_powi, lower_i_approximate,
    lower_i_tanh_approx;
/* intrinsic_reduce.c */
intrinsic_function lower_i_reduce, lower_i_reduce_float, lower_i_reduce_minmax,
    lower_i_reduce_float_minmax;

/* ---- Helpers (intrinsic.c) ---- */

/* Argument k of the call. */
static inline struct nvm_value intrinsic_arg(const struct lower *l, const struct nvm_inst *i,
                                             uint32_t k) {
  return inst_operand(l->f, i, k);
}
/* The call's own name, for messages. */
const char *intrinsic_call_name(const struct lower *l, const struct nvm_inst *i);
/* The value of a constant integer argument; refuses the call otherwise and returns false. */
bool intrinsic_constant(struct lower *l, const struct nvm_inst *i, uint32_t k, uint64_t *value);
/* Part p of a value in a new register of its class, unless it is one already. */
struct ptx_operand intrinsic_in_reg(struct lower *l, struct ptx_operand v, const struct part *p);
/* The part of a scalar type, by value: tables may move while an instruction is lowered. */
struct part intrinsic_part(struct lower *l, struct nvm_type scalar, uint32_t k);
/* The register of a pointer as instructions want it: addresses in tensor memory (space 6) have 32
 * bits, whatever the layout says of their pointers. */
struct ptx_reg intrinsic_pointer(struct lower *l, struct nvm_value pointer);
/* The width in bits of an integer type or of its lanes. */
uint32_t intrinsic_int_bits(const struct lower *l, struct nvm_type type);
/* Parts of integers with all bits of their register, and of f32. */
extern const struct part intrinsic_i16, intrinsic_i32, intrinsic_i64, intrinsic_f32;
/* Whether the call, for f32 under ftz, flushes: l->ftz && p is float. */
static inline bool intrinsic_ftz(const struct lower *l, const struct part *p) {
  return l->ftz && p->kind == PART_FLOAT;
}
/* selp of the part's type: to = condition ? a : b. */
void intrinsic_select(struct lower *l, const struct part *p, struct ptx_reg to,
                      struct ptx_operand a, struct ptx_operand b, struct ptx_reg condition);

/* One lane of min or max of integers: `keep` is the predicate for which a is the result. */
void intrinsic_int_minmax_lane(struct lower *l, enum icmp_predicate keep, uint32_t bits,
                               const struct part *p, const struct ptx_operand *a,
                               const struct ptx_operand *b, const struct ptx_operand *to);
/* a <pred> b for integers of `bits` 1..128 given as parts. */
struct ptx_reg intrinsic_compare(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                                 const struct ptx_operand *a, const struct ptx_operand *b);
/* One lane of min/max of floats (PTX_MIN, PTX_MAX); nan: NaN if either is NaN. */
void intrinsic_float_minmax_lane(struct lower *l, enum ptx_op op, bool nan, const struct part *p,
                                 struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);

#endif
