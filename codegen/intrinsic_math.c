/* Floating-point functions of more than one instruction: ldexp, frexp, modf, powi, and functions
 * that PTX only approximates: sin, cos, ex2, lg2, tanh and functions computed with them.
 *
 * An approximation is used if the call allows it (`afn`), as in LLVM's NVPTX back end; ex2 and lg2,
 * whose error is at most two units in the last place, always. Other calls become calls of libdevice
 * if it is linked (frontend/link_math.c); else they are refused, and the error names its function.
 */
#include "codegen/intrinsic.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/report.h"

static struct ptx_operand multiply(struct lower *l, const struct working *w, struct ptx_operand a,
                                   struct ptx_operand b) {
  a = emit_in_reg(l, a, &w->part);
  return emit_value(l, w->type, PTX_MUL, EMIT_MODS(PTX_MOD_RN, w->ftz, w->type), PTX_OPS(a, b));
}

static struct ptx_operand compare_s32(struct lower *l, uint16_t how, struct ptx_operand a,
                                      int64_t b) {
  return emit_compare(l, how, PTX_MOD_S32, a, ptx_i(b));
}

static struct ptx_operand select_s32(struct lower *l, struct ptx_operand a, struct ptx_operand b,
                                     struct ptx_operand condition) {
  return emit_select(l, PTX_MOD_B32, a, b, condition);
}

static struct ptx_operand s32(struct lower *l, enum ptx_op op, struct ptx_operand a, int64_t b) {
  bool bitwise = op == PTX_AND || op == PTX_OR || op == PTX_SHL;
  return emit_binary(l, op, bitwise ? PTX_MOD_B32 : PTX_MOD_S32, a, ptx_i(b));
}

static struct ptx_operand minus(struct lower *l, struct ptx_operand a, struct ptx_operand b) {
  return emit_binary(l, PTX_SUB, PTX_MOD_S32, a, b);
}

/* Lowers a call with an exponent as its argument 1. */
static void lanes_with_exponent(struct lower *l, const struct nvm_inst *i, lane_lowering *lane) {
  if (intrinsic_int_bits(l, value_type(l->f, intrinsic_arg(l, i, 1))) <= 64)
    intrinsic_lanes(l, i, 0, 2, lane);
  else report_refuse(l, intrinsic_call_name(l, i), "the exponent has more than 64 bits");
}

/* The type of that exponent, or of a lane of it. */
static struct part exponent_part(const struct lane *x) {
  struct nvm_type type = value_type(x->l->f, intrinsic_arg(x->l, x->inst, 1));
  return intrinsic_part(x->l, type_scalar(&x->l->module->types, type), 0);
}

/* An integer of up to 64 bits as an s32; 64 bits are clamped to +-0x7fff. */
static struct ptx_operand clamped_s32(struct lower *l, struct ptx_operand v, const struct part *p) {
  if (p->container < 64) return emit_in_reg(l, emit_sext(l, v, p, 32), &part_i32);
  v = emit_in_reg(l, emit_sext(l, v, p, 64), &part_i64);
  v = emit_binary(l, PTX_MIN, PTX_MOD_S64, v, ptx_i(0x7fff));
  v = emit_binary(l, PTX_MAX, PTX_MOD_S64, v, ptx_i(-0x7fff));
  return emit_narrow(l, v, 64, 32);
}

/* --- ldexp --- */

/* x * 2^n in three factors. For a negative n the first two are greater than the least normal number
 * by the width of the fraction, so that only the last product rounds. */
static struct ptx_operand emit_ldexp(struct lower *l, const struct working *w,
                                     struct ptx_operand n) {
  bool is_double = w->type == PTX_MOD_F64;
  int top = is_double ? 1023 : 127, bottom = is_double ? -1022 : -126;
  int step = bottom + (is_double ? 53 : 24);
  struct ptx_operand y = w->v;
  for (int round = 0; round < 2; round++) {
    struct ptx_operand large = compare_s32(l, PTX_MOD_GT, n, top);
    struct ptx_operand small = compare_s32(l, PTX_MOD_LT, n, bottom);
    struct ptx_operand factor = emit_select(l, w->type, float_power_of_two(w->type, step),
                                            float_power_of_two(w->type, 0), small);
    factor = emit_select(l, w->type, float_power_of_two(w->type, top), factor, large);
    y = multiply(l, w, y, factor);
    struct ptx_operand taken = select_s32(l, ptx_i(step), ptx_i(0), small);
    n = minus(l, n, select_s32(l, ptx_i(top), taken, large));
  }
  n = s32(l, PTX_MAX, s32(l, PTX_MIN, n, top), bottom);
  n = s32(l, PTX_SHL, s32(l, PTX_ADD, n, is_double ? 1023 : 127), is_double ? 20 : 23);
  return multiply(l, w, y, float_of_word(l, w->type, n));
}

static void ldexp_lane(const struct lane *x) {
  struct part exponent = exponent_part(x);
  struct ptx_operand n = clamped_s32(x->l, x->b[0], &exponent);
  struct working w = intrinsic_working(x, x->a);
  intrinsic_finish(x, emit_ldexp(x->l, &w, n));
}

void intrinsic_lower_ldexp(struct lower *l, const struct nvm_inst *i) {
  lanes_with_exponent(l, i, ldexp_lane);
}

/* --- frexp --- */

/* x = fraction * 2^exponent with 0.5 <= |fraction| < 1; returns the exponent. Subnormals are scaled
 * by 2^64 first. The fraction of a zero, infinity or NaN is x, with exponent 0. */
static struct ptx_operand emit_frexp(struct lower *l, const struct working *w,
                                     struct ptx_operand *fraction) {
  uint16_t type = w->type;
  bool is_double = type == PTX_MOD_F64;
  int bias = is_double ? 1022 : 126;
  struct ptx_operand magnitude = emit_unary(l, PTX_ABS, type, w->v), low = {0}, high;
  struct ptx_operand small =
      emit_compare(l, PTX_MOD_LT, type, magnitude, float_power_of_two(type, -bias));
  struct ptx_operand ordinary =
      emit_compare(l, PTX_MOD_GT, type, magnitude, float_immediate(w->type, 0, 0));
  ordinary = emit_value(
      l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(PTX_MOD_LT, PTX_MOD_AND, type),
      PTX_OPS(magnitude, float_immediate(w->type, 0x7f800000, UINT64_C(0x7ff0000000000000)),
              ordinary));
  struct ptx_operand scaled = emit_value(l, type, PTX_MUL, PTX_MODS(PTX_MOD_RN, type),
                                         PTX_OPS(w->v, float_power_of_two(type, 64)));
  struct ptx_operand chosen = emit_select(l, type, scaled, w->v, small);
  if (is_double) { /* `high` holds sign and exponent */
    low = ptx_r(emit_temp(l, PTX_B32));
    high = ptx_r(emit_temp(l, PTX_B32));
    emit_ungroup(l, PTX_MOD_B64, chosen, low, high);
  } else {
    high = emit_unary(l, PTX_MOV, PTX_MOD_B32, chosen);
  }
  struct ptx_operand biased =
      emit_value(l, PTX_MOD_U32, PTX_BFE, PTX_MODS(PTX_MOD_U32),
                 PTX_OPS(high, ptx_i(is_double ? 20 : 23), ptx_i(is_double ? 11 : 8)));
  struct ptx_operand exponent =
      minus(l, biased, select_s32(l, ptx_i(bias + 64), ptx_i(bias), small));
  high = s32(l, PTX_AND, high, (int32_t)(is_double ? 0x800fffffu : 0x807fffffu));
  high = s32(l, PTX_OR, high, is_double ? 0x3fe00000 : 0x3f000000);
  struct ptx_operand words[2] = {low, high};
  struct ptx_operand vector = is_double ? ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2) : high;
  struct ptx_operand made =
      emit_value(l, type, PTX_MOV, PTX_MODS(is_double ? PTX_MOD_B64 : PTX_MOD_B32), &vector, 1);
  *fraction = emit_select(l, type, made, w->v, ordinary);
  return select_s32(l, exponent, ptx_i(0), ordinary);
}

/* x = fraction + whole, both with the sign of x; returns the whole part. The fraction of an
 * infinity is 0. */
static struct ptx_operand emit_modf(struct lower *l, const struct working *w,
                                    struct ptx_operand *fraction) {
  uint16_t type = w->type;
  struct ptx_operand whole =
      emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, type), &w->v, 1);
  struct ptx_operand rest =
      emit_value(l, type, PTX_SUB, PTX_MODS(PTX_MOD_RN, type), PTX_OPS(w->v, whole));
  struct ptx_operand infinite =
      emit_value(l, PTX_MOD_PRED, PTX_TESTP, PTX_MODS(PTX_MOD_INFINITE, type), &w->v, 1);
  struct ptx_operand chosen = emit_select(l, type, float_immediate(w->type, 0, 0), rest, infinite);
  *fraction = emit_binary(l, PTX_COPYSIGN, type, w->v, chosen);
  return whole;
}

/* --- powi --- */

/* A loop of squarings over the bits of |n|, n having 32 or 64 bits; then the reciprocal if n is
 * negative. */
static void powi_lane(const struct lane *x) {
  struct lower *l = x->l;
  struct part exponent = exponent_part(x);
  uint32_t bits = exponent.container == 64 ? 64 : 32;
  uint16_t s = mod_signed(bits);
  struct ptx_operand n =
      emit_in_reg(l, emit_sext(l, x->b[0], &exponent, bits), bits == 64 ? &part_i64 : &part_i32);
  struct working w = intrinsic_working(x, x->a);
  uint32_t loop = emit_new_label(l);
  struct ptx_operand result = emit_in_reg(l, float_power_of_two(w.type, 0), &w.part);
  struct ptx_operand square = emit_unary(l, PTX_MOV, w.type, w.v);
  struct ptx_operand rest = emit_unary(l, PTX_ABS, s, n);
  ptx_add_label(l->pf, loop);
  struct ptx_operand bit = emit_binary(l, PTX_AND, mod_bits(bits), rest, ptx_i(1));
  struct ptx_operand odd = emit_compare(l, PTX_MOD_NE, s, bit, ptx_i(0));
  struct ptx_operand product = multiply(l, &w, result, square);
  emit4(l, PTX_SELP, PTX_MODS(w.type), result, product, result, odd);
  emit_copy(l, square.reg, multiply(l, &w, square, square));
  emit3(l, PTX_SHR, PTX_MODS(mod_unsigned(bits)), rest, rest, ptx_i(1));
  emit_branch_if(l, emit_compare(l, PTX_MOD_NE, s, rest, ptx_i(0)), false, loop);
  struct ptx_operand inverse =
      emit_value(l, w.type, PTX_RCP, PTX_MODS(PTX_MOD_RN, w.type), &result, 1);
  struct ptx_operand negative = emit_compare(l, PTX_MOD_LT, s, n, ptx_i(0));
  intrinsic_finish(x, emit_select(l, w.type, inverse, result, negative));
}

void intrinsic_lower_powi(struct lower *l, const struct nvm_inst *i) {
  lanes_with_exponent(l, i, powi_lane);
}

/* --- Approximations --- */

static struct ptx_operand approx(struct lower *l, const struct working *w, enum ptx_op op,
                                 struct ptx_operand v) {
  uint16_t ftz = op == PTX_TANH ? PTX_MOD_NONE : w->ftz;
  return emit_value(l, PTX_MOD_F32, op, EMIT_MODS(PTX_MOD_APPROX, ftz, PTX_MOD_F32), &v, 1);
}

/* op(argument * before) * after. */
static const struct approximation {
  enum ptx_op op;
  uint32_t before, after; /* bits of f32; 0: one */
} approximations[] = {
    [APPROX_SIN] = {PTX_SIN, 0, 0},
    [APPROX_COS] = {PTX_COS, 0, 0},
    [APPROX_TANH] = {PTX_TANH, 0, 0},
    [APPROX_EXP] = {PTX_EX2, 0x3fb8aa3b, 0}, /* log2(e) */
    [APPROX_EXP2] = {PTX_EX2, 0, 0},
    [APPROX_EXP10] = {PTX_EX2, 0x40549a78, 0}, /* log2(10) */
    [APPROX_LOG] = {PTX_LG2, 0, 0x3f317218},   /* ln(2) */
    [APPROX_LOG2] = {PTX_LG2, 0, 0},
    [APPROX_LOG10] = {PTX_LG2, 0, 0x3e9a209b}, /* log10(2) */
    [APPROX_POW] = {PTX_EX2, 0, 0},
};

/* By that table, but x^y = 2^(y log2 x) and tan x = sin x / cos x. */
static void approximate_lane(const struct lane *x) {
  struct lower *l = x->l;
  const struct approximation *a = &approximations[x->argument];
  struct working w = intrinsic_working(x, x->a);
  struct ptx_operand v = w.v;
  if (x->argument == APPROX_TAN) {
    struct ptx_operand sine = approx(l, &w, PTX_SIN, v), cosine = approx(l, &w, PTX_COS, v);
    intrinsic_finish(
        x, emit_value(l, PTX_MOD_F32, PTX_DIV, EMIT_MODS(PTX_MOD_APPROX, w.ftz, PTX_MOD_F32),
                      PTX_OPS(sine, cosine)));
    return;
  }
  if (x->argument == APPROX_POW) {
    struct ptx_operand y = intrinsic_working(x, x->b).v;
    v = multiply(l, &w, y, approx(l, &w, PTX_LG2, v));
  }
  if (a->before) v = multiply(l, &w, v, ptx_f32(a->before));
  v = approx(l, &w, a->op, v);
  if (a->after) v = multiply(l, &w, v, ptx_f32(a->after));
  intrinsic_finish(x, v);
}

/* Refuses a call; the hint names the function that link_math() would have called:
 * __nv_sinf for llvm.sin.f32, __nv_pow for llvm.pow.f64. */
static void refuse_math(struct lower *l, const struct nvm_inst *i, bool is_double) {
  const char *name = intrinsic_call_name(l, i), *base = name + strlen("llvm.");
  struct diag *d = report_refuse(
      l, name,
      is_double ? "PTX has no such function for double"
                : "PTX has no such function, or only an approximation (for calls marked afn)");
  struct textbuf hint;
  textbuf_init(&hint, l->sink->arena);
  textbuf_puts(&hint, "the mathematics library (--mathlib=on) and libdevice (--link FILE) ");
  textbuf_puts(&hint, "have it as @__nv_");
  textbuf_write(&hint, base, strcspn(base, "."));
  if (!is_double) textbuf_char(&hint, 'f');
  if (d) d->hint = (struct nvm_text){hint.bytes, hint.length};
}

void intrinsic_lower_approximate(struct lower *l, const struct nvm_inst *i, int argument) {
  bool is_double = type_equal(type_scalar(&l->module->types, i->type), TYPE_DOUBLE);
  bool allowed = i->flags & INST_AFN || argument == APPROX_EXP2 ||
                 (argument == APPROX_LOG2 && lower_knob(l, KNOB_APPROX_LOG2F32));
  bool has_tanh = emit_has(l, PTX_TANH, PTX_MODS(PTX_MOD_APPROX, PTX_MOD_F32));
  bool has = argument != APPROX_NONE && (argument != APPROX_TANH || has_tanh);
  if (is_double || !allowed || !has) refuse_math(l, i, is_double);
  else intrinsic_lanes(l, i, argument, argument == APPROX_POW ? 2 : 1, approximate_lane);
}

/* frexp, modf, and sincos, which PTX only approximates. */
static void pair_lane(const struct lane *x) {
  struct lower *l = x->l;
  struct ptx_operand first, second;
  struct working w = intrinsic_working(x, x->a);
  struct lane other = *x;
  other.to = x->second;
  if (x->argument == PAIR_FREXP) {
    enum ptx_class class = ptx_reg_class(x->second[0].reg);
    second = emit_frexp(l, &w, &first);
    if (class == PTX_B32) emit_copy(l, x->second[0].reg, second);
    else
      emit2(l, PTX_CVT, PTX_MODS(class == PTX_B64 ? PTX_MOD_S64 : PTX_MOD_S16, PTX_MOD_S32),
            x->second[0], second);
  } else if (x->argument == PAIR_MODF) {
    second = emit_modf(l, &w, &first);
    intrinsic_finish(&other, second);
  } else {
    first = approx(l, &w, PTX_SIN, w.v);
    second = approx(l, &w, PTX_COS, w.v);
    intrinsic_finish(&other, second);
  }
  intrinsic_finish(x, first);
}

void intrinsic_lower_float_pair(struct lower *l, const struct nvm_inst *i, int argument) {
  struct nvm_type first = type_element(&l->module->types, i->type, 0);
  bool is_double = type_equal(type_scalar(&l->module->types, first), TYPE_DOUBLE);
  if (argument == PAIR_NONE || (argument == PAIR_SINCOS && (is_double || !(i->flags & INST_AFN))))
    refuse_math(l, i, is_double);
  else intrinsic_lanes(l, i, argument, 1, pair_lane);
}

/* llvm.nvvm.tanh.approx of f32, half or bfloat, and of packed pairs. */
static void tanh_part(struct lower *l, const struct part *p, struct ptx_reg to,
                      const struct ptx_operand v[3], const void *how) {
  (void)how;
  emit2(l, PTX_TANH, PTX_MODS(PTX_MOD_APPROX, part_float_mod(p)), ptx_r(to),
        emit_in_reg(l, v[0], p));
}

void intrinsic_lower_tanh_approx(struct lower *l, const struct nvm_inst *i) {
  lane_by_parts(l, i, 1, tanh_part, NULL);
}
