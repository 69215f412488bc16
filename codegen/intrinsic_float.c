/* Floating-point intrinsics that PTX computes exactly: absolute value, square root, fused
 * multiplication, rounding, sign, minimum and maximum, classification, saturating conversion.
 *
 * 16-bit formats are computed in f32 where the CPU lacks them. Such a step is exact or, as a square
 * root, rounds as if rounded once, because f32 has more than twice their precision plus two bits.
 * This does not hold for fma, which is computed in doubles rounded to odd (Boldo, Melquiond:
 * "Emulation of FMA and Correctly Rounded Sums", 2008); LLVM's rounds twice. */
#include "codegen/intrinsic.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/value.h"
#include "ir/evalint.h"

/* --- Part by part --- */

/* All bits but the signs. */
static struct ptx_operand magnitude_bits(const struct part *p) {
  return ptx_i(~float_sign_bits(p).imm);
}

/* Clears the sign, of NaNs too. */
static void fabs_part(struct lower *l, const struct part *p, struct ptx_reg to,
                      const struct ptx_operand v[3], const void *how) {
  (void)how;
  struct ptx_operand x = emit_in_reg(l, v[0], p);
  uint16_t type = part_float_mod(p);
  if (part_is_full(p)) emit2(l, PTX_ABS, EMIT_MODS(float_ftz(l, type), type), ptx_r(to), x);
  else emit3(l, PTX_AND, PTX_MODS(part_bits_mod(p)), ptx_r(to), x, magnitude_bits(p));
}

void intrinsic_lower_fabs(struct lower *l, const struct nvm_inst *i) {
  lane_by_parts(l, i, 1, fabs_part, NULL);
}

/* (a & ~sign) | (b & sign) for the 16-bit formats, which have no copysign. */
static void copysign_part(struct lower *l, const struct part *p, struct ptx_reg to,
                          const struct ptx_operand v[3], const void *how) {
  (void)how;
  uint16_t bits = part_bits_mod(p);
  struct ptx_operand a = emit_in_reg(l, v[0], p), b = emit_in_reg(l, v[1], p);
  if (part_is_full(p)) {
    emit3(l, PTX_COPYSIGN, PTX_MODS(part_float_mod(p)), ptx_r(to), b, a);
    return;
  }
  a = emit_binary(l, PTX_AND, bits, a, magnitude_bits(p));
  b = emit_binary(l, PTX_AND, bits, b, float_sign_bits(p));
  emit3(l, PTX_OR, PTX_MODS(bits), ptx_r(to), a, b);
}

void intrinsic_lower_copysign(struct lower *l, const struct nvm_inst *i) {
  lane_by_parts(l, i, 2, copysign_part, NULL);
}

/* --- Multiplication and addition --- */

/* The sum rounded to odd: if the doubles below and above it differ, the one whose lowest bit is
 * set. */
static struct ptx_operand fma_to_odd(struct lower *l, const struct part *p,
                                     const struct ptx_operand v[3]) {
  struct ptx_operand x[3], r[2];
  for (int k = 0; k < 3; k++)
    x[k] = emit_convert(l, PTX_MOD_F64, PTX_MOD_F32, float_to_f32(l, p, v[k]));
  for (int k = 0; k < 2; k++)
    r[k] = emit_value(l, PTX_MOD_F64, PTX_FMA, PTX_MODS(k ? PTX_MOD_RP : PTX_MOD_RM, PTX_MOD_F64),
                      x, 3);
  struct ptx_operand bits = emit_unary(l, PTX_MOV, PTX_MOD_B64, r[0]);
  struct ptx_operand last = emit_binary(l, PTX_AND, PTX_MOD_B64, bits, ptx_i(1));
  struct ptx_operand is_odd = emit_compare(l, PTX_MOD_NE, PTX_MOD_B64, last, ptx_i(0));
  return emit_select(l, PTX_MOD_F64, r[0], r[1], is_odd);
}

static void fused_part(struct lower *l, const struct part *p, struct ptx_reg to,
                       const struct ptx_operand v[3], const void *how) {
  uint16_t type = part_float_mod(p);
  if (emit_has(l, PTX_FMA, PTX_MODS(PTX_MOD_RN, type)))
    emit4(l, PTX_FMA, EMIT_MODS(PTX_MOD_RN, float_ftz(l, type), type), ptx_r(to),
          emit_in_reg(l, v[0], p), v[1], v[2]);
  else if (part_is_pair(p)) emit_pair_by_lanes(l, p, to, v, 3, fused_part, how);
  else float_from_f32(l, p, to, float_round_to_odd(l, fma_to_odd(l, p, v)));
}

/* `how` is not NULL for fmuladd, which is fused only if the target's fma-level says so. */
static void fma_part(struct lower *l, const struct part *p, struct ptx_reg to,
                     const struct ptx_operand v[3], const void *how) {
  if (!how || l->target->fma_level >= (p->kind == PART_DOUBLE ? 2 : 1)) {
    fused_part(l, p, to, v, NULL);
    return;
  }
  struct ptx_reg product = emit_new_reg(l, p);
  int_binary_part(l, OP_FMUL, 0, p, product, v[0], v[1]);
  int_binary_part(l, OP_FADD, 0, p, to, ptx_r(product), v[2]);
}

void intrinsic_lower_fma(struct lower *l, const struct nvm_inst *i, int argument) {
  const struct nvm_value v[3] = {intrinsic_arg(l, i, 0), intrinsic_arg(l, i, 1),
                                 intrinsic_arg(l, i, 2)};
  bool fused = !argument || l->target->fma_level > 0, even = part_list(l, i->type).count % 2 == 0;
  if (fused && even && float_pairs(l, PTX_FMA, i->type, v, 3, -1) > 0) return;
  lane_by_parts(l, i, 3, fma_part, argument ? &argument : NULL);
}

/* --- Functions of one operand --- */

void intrinsic_lane_sqrt(const struct lane *x) {
  struct working w = intrinsic_working(x, x->a);
  bool exact =
      w.part.kind == PART_DOUBLE || (x->l->target->prec_sqrt && !(x->inst->flags & INST_AFN));
  intrinsic_finish(
      x, emit_value(x->l, w.type, PTX_SQRT,
                    EMIT_MODS(exact ? PTX_MOD_RN : PTX_MOD_APPROX, w.ftz, w.type), &w.v, 1));
}

/* A multiplication by one quiets NaNs and, with .ftz, flushes denormals. */
void intrinsic_lane_canonicalize(const struct lane *x) {
  struct working w = intrinsic_working(x, x->a);
  intrinsic_finish(x, emit_value(x->l, w.type, PTX_MUL, EMIT_MODS(PTX_MOD_RN, w.ftz, w.type),
                                 PTX_OPS(w.v, float_power_of_two(w.type, 0))));
}

/* floor, ceil, trunc, rint: `argument` is the rounding modifier. cvt supports half, but not bfloat.
 */
void intrinsic_lane_round_to_integral(const struct lane *x) {
  bool small = x->part.kind == PART_BFLOAT;
  uint16_t type = small ? PTX_MOD_F32 : part_float_mod(&x->part);
  uint16_t ftz = small ? PTX_MOD_NONE : float_ftz(x->l, type);
  struct ptx_operand v =
      small ? float_to_f32(x->l, &x->part, x->a[0]) : emit_in_reg(x->l, x->a[0], &x->part);
  v = emit_value(x->l, type, PTX_CVT, EMIT_MODS((uint16_t)x->argument, ftz, type, type), &v, 1);
  if (small) float_from_f32(x->l, &x->part, x->to[0].reg, v);
  else emit_copy(x->l, x->to[0].reg, v);
}

/* Half away from zero: trunc(|x| + 0.5) with x's sign; but 0 below 0.5, where the sum may round up
 * to 1, and |x| where every float is an integer. */
static struct ptx_operand rounded_away(struct lower *l, const struct working *w) {
  uint16_t type = w->type;
  struct ptx_operand half = float_power_of_two(type, -1);
  struct ptx_operand whole = float_power_of_two(type, type == PTX_MOD_F64 ? 52 : 23);
  struct ptx_operand magnitude = emit_unary(l, PTX_ABS, type, w->v);
  struct ptx_operand sum =
      emit_value(l, type, PTX_ADD, PTX_MODS(PTX_MOD_RN, type), PTX_OPS(magnitude, half));
  struct ptx_operand r = emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, type), &sum, 1);
  struct ptx_operand small = emit_compare(l, PTX_MOD_LT, type, magnitude, half);
  struct ptx_operand large = emit_compare(l, PTX_MOD_GT, type, magnitude, whole);
  r = emit_select(l, type, float_immediate(w->type, 0, 0), r, small);
  r = emit_select(l, type, magnitude, r, large);
  return emit_binary(l, PTX_COPYSIGN, type, w->v, r);
}

void intrinsic_lane_round_away(const struct lane *x) {
  struct working w = intrinsic_working(x, x->a);
  intrinsic_finish(x, rounded_away(x->l, &w));
}

/* lrint, llrint (to nearest even), lround, llround (argument 1: half away from zero). */
static void to_integer_lane(const struct lane *x) {
  struct working w = intrinsic_working(x, x->a);
  if (x->argument) w.v = rounded_away(x->l, &w);
  emit2(x->l, PTX_CVT,
        PTX_MODS(x->argument ? PTX_MOD_RZI : PTX_MOD_RNI, part_signed_mod(&x->part), w.type),
        x->to[0], w.v);
}

void intrinsic_lower_float_to_integer(struct lower *l, const struct nvm_inst *i, int argument) {
  struct part target = intrinsic_part(l, type_scalar(&l->module->types, i->type), 0);
  if (target.kind != PART_INT || intrinsic_int_bits(l, i->type) > 64)
    report_refuse(l, intrinsic_call_name(l, i), "the result has more than 64 bits");
  else intrinsic_lanes(l, i, argument, 1, to_integer_lane);
}

/* --- Minimum and maximum --- */

static bool has_minmax(const struct lower *l, const struct float_minmax *m, const struct part *p) {
  return emit_has(l, m->op,
                  EMIT_MODS(m->nan ? PTX_MOD_NAN_RESULT : PTX_MOD_NONE, part_float_mod(p)));
}

/* In a type that PTX has; if it has no .NaN, a comparison selects the NaN. */
static void native_minmax(struct lower *l, const struct float_minmax *m, const struct part *p,
                          uint16_t ftz, struct ptx_reg to, struct ptx_operand a,
                          struct ptx_operand b) {
  bool has = has_minmax(l, m, p);
  uint16_t type = part_float_mod(p), nan = m->nan && has ? PTX_MOD_NAN_RESULT : PTX_MOD_NONE;
  struct ptx_operand x = emit_in_reg(l, a, p), number = has ? ptx_r(to) : ptx_r(emit_new_reg(l, p));
  emit3(l, m->op, EMIT_MODS(ftz, nan, type), number, x, b);
  if (has) return;
  struct ptx_operand unordered = emit_compare(l, PTX_MOD_NAN, type, x, b);
  struct ptx_operand quiet = float_immediate(type, 0x7fffffff, UINT64_C(0x7ff8000000000000));
  emit4(l, PTX_SELP, PTX_MODS(type), ptx_r(to), quiet, number, unordered);
}

void intrinsic_minmax_part(struct lower *l, const struct part *p, struct ptx_reg to,
                           const struct ptx_operand v[3], const void *how) {
  const struct float_minmax *m = how;
  if (part_is_full(p) || has_minmax(l, m, p)) {
    native_minmax(l, m, p, float_ftz(l, part_float_mod(p)), to, v[0], v[1]);
  } else if (part_is_pair(p)) {
    emit_pair_by_lanes(l, p, to, v, 2, intrinsic_minmax_part, how);
  } else {
    struct ptx_operand a = float_to_f32(l, p, v[0]), b = float_to_f32(l, p, v[1]);
    struct ptx_reg r = emit_temp(l, PTX_F32);
    native_minmax(l, m, &part_f32, PTX_MOD_NONE, r, a, b);
    float_from_f32(l, p, to, ptx_r(r));
  }
}

const struct float_minmax intrinsic_minmax_kinds[4] = {
    {PTX_MIN, false}, {PTX_MAX, false}, {PTX_MIN, true}, {PTX_MAX, true}};

void intrinsic_lower_float_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  lane_by_parts(l, i, 2, intrinsic_minmax_part, &intrinsic_minmax_kinds[argument]);
}

/* --- Classification --- */

/* The bits of a float as an unsigned integer are in these ranges:
 *
 *   0       1 .. least-1   least .. infinity-1   infinity   infinity+1 .. quiet-1   quiet .. sign-1
 *   zero    subnormal      normal                infinity   signalling NaN          quiet NaN
 *
 * and in the same ones with the sign bit. Each class of the mask is one or two of them. */
enum { FPCLASS_ALL = 0x3ff, SEGMENTS = 12 };

/* The bit of llvm.is.fpclass's mask for each segment, positive then negative. */
static const uint16_t segment_class[SEGMENTS] = {0x40, 0x80, 0x100, 0x200, 0x1, 0x2,
                                                 0x20, 0x10, 0x8,   0x4,   0x1, 0x2};

static uint64_t segment_start(const struct part *p, int k) {
  uint32_t fraction = p->kind == PART_HALF     ? 10
                      : p->kind == PART_BFLOAT ? 7
                      : p->kind == PART_FLOAT  ? 23
                                               : 52;
  uint64_t sign = UINT64_C(1) << (p->bits - 1), least = UINT64_C(1) << fraction;
  const uint64_t starts[6] = {0, 1, least, sign - least, sign - least + 1, sign - least / 2};
  return (k < 6 ? 0 : sign) + (k < SEGMENTS ? starts[k % 6] : sign);
}

/* first <= v <= last, computed as v - first <= last - first. */
static struct ptx_operand in_range(struct lower *l, const struct part *p, struct ptx_operand v,
                                   uint64_t first, uint64_t last) {
  v = emit_binary(l, PTX_ADD, part_signed_mod(p), v, ptx_i(evalint_sext(p->bits, 0 - first)));
  return emit_compare(l, PTX_MOD_LE, part_unsigned_mod(p), v,
                      ptx_i(evalint_sext(p->bits, last - first)));
}

void intrinsic_lane_is_fpclass(const struct lane *x) {
  struct lower *l = x->l;
  const struct part *p = &x->source;
  uint64_t mask;
  if (!intrinsic_constant(l, x->inst, 1, &mask)) return;
  struct ptx_operand v = emit_in_reg(l, x->a[0], p), any = {0};
  v = emit_unary(l, PTX_MOV, part_bits_mod(p), v);
  for (int k = 0, end; k < SEGMENTS; k = end + 1) {
    for (end = k; end < SEGMENTS && (mask & FPCLASS_ALL & segment_class[end]);) end++;
    if (end == k) continue;
    struct ptx_operand hit = in_range(l, p, v, segment_start(p, k), segment_start(p, end) - 1);
    any = any.kind == PTX_OPERAND_NONE ? hit : emit_binary(l, PTX_OR, PTX_MOD_PRED, any, hit);
  }
  if (any.kind == PTX_OPERAND_NONE) any = emit_int_to_pred(l, ptx_i(0), 32);
  emit_copy(l, x->to[0].reg, any);
}

/* --- Conversions --- */

/* From half as an i16; with argument 1, to it. */
void intrinsic_lower_convert_fp16(struct lower *l, const struct nvm_inst *i, int argument) {
  struct ptx_operand v = ptx_r(value_reg(l, intrinsic_arg(l, i, 0), 0));
  struct ptx_operand to = ptx_r(value_result(l, l->inst)[0]);
  struct nvm_type wide = argument ? value_type(l->f, intrinsic_arg(l, i, 0)) : i->type;
  struct part p = intrinsic_part(l, wide, 0);
  if (!part_is_full(&p))
    report_refuse(l, intrinsic_call_name(l, i), "it converts float and double only");
  else if (argument)
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F16, part_float_mod(&p)), to, v);
  else emit2(l, PTX_CVT, PTX_MODS(part_float_mod(&p), PTX_MOD_F16), to, v);
}

/* The bounds of an integer of 1 to 64 bits. */
static int64_t least_of(bool is_signed, uint32_t bits) {
  return is_signed ? (int64_t)(~UINT64_C(0) << (bits - 1)) : 0;
}
static int64_t greatest_of(bool is_signed, uint32_t bits) {
  uint32_t value_bits = is_signed ? bits - 1 : bits;
  return value_bits == 64 ? -1 : (int64_t)((UINT64_C(1) << value_bits) - 1);
}

/* cvt clamps to 32 or 64 bits, min and max to the width; NaN becomes zero. */
static void saturate_narrow(const struct lane *x, const struct working *w) {
  struct lower *l = x->l;
  bool is_signed = x->argument != 0;
  uint32_t word = x->bits <= 32 ? 32 : 64;
  uint16_t type = is_signed ? mod_signed(word) : mod_unsigned(word);
  struct ptx_operand r =
      emit_value(l, type, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, w->type), &w->v, 1);
  if (x->bits < word) {
    r = emit_binary(l, PTX_MIN, type, r, ptx_i(greatest_of(is_signed, x->bits)));
    r = emit_binary(l, PTX_MAX, type, r, ptx_i(least_of(is_signed, x->bits)));
  }
  struct ptx_operand nan = emit_compare(l, PTX_MOD_NAN, w->type, w->v, w->v);
  r = emit_select(l, mod_bits(word), ptx_i(0), r, nan);
  if (x->part.kind == PART_I1)
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B32), x->to[0], r, ptx_i(0));
  else emit_copy(l, x->to[0].reg, emit_narrow(l, r, word, x->part.container));
}

/* 2^exponent in that format, or infinity if it is too large. */
static struct ptx_operand power_of_two(const struct working *w, uint32_t exponent, bool negative) {
  uint64_t f64 = (uint64_t)(1023 + exponent) << 52 | (uint64_t)negative << 63;
  uint32_t f32 = (exponent > 127 ? 255u : 127 + exponent) << 23 | (uint32_t)negative << 31;
  return float_immediate(w->type, f32, f64);
}

static void saturate_wide(const struct lane *x, const struct working *w) {
  struct lower *l = x->l;
  bool is_signed = x->argument != 0;
  uint32_t value_bits = is_signed ? x->bits - 1 : x->bits;
  struct ptx_operand r[2] = {ptx_r(emit_temp(l, PTX_B64)), ptx_r(emit_temp(l, PTX_B64))}, nan = {0};
  wide_from_float(l, is_signed, w->type == PTX_MOD_F64, r, w->v);
  struct ptx_operand over =
      emit_compare(l, PTX_MOD_GE, w->type, w->v, power_of_two(w, value_bits, false));
  /* Below the least number; NaN too if unsigned, where both give zero. */
  struct ptx_operand under =
      emit_compare(l, is_signed ? PTX_MOD_LT : PTX_MOD_LTU, w->type, w->v,
                   is_signed ? power_of_two(w, value_bits, true) : float_immediate(w->type, 0, 0));
  const int64_t greatest[2] = {-1, greatest_of(is_signed, x->bits - 64)};
  const int64_t least[2] = {0, least_of(is_signed, x->bits - 64)};
  if (is_signed) nan = emit_compare(l, PTX_MOD_NAN, w->type, w->v, w->v);
  for (int k = 0; k < 2; k++) {
    struct ptx_operand v = emit_select(l, PTX_MOD_B64, ptx_i(least[k]), r[k], under);
    if (is_signed) v = emit_select(l, PTX_MOD_B64, ptx_i(greatest[k]), v, over);
    emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), x->to[k], ptx_i(is_signed ? 0 : greatest[k]), v,
          is_signed ? nan : over);
  }
}

/* fptosi.sat, fptoui.sat: towards zero, clamped, NaN to zero. */
void intrinsic_lane_float_to_int_saturated(const struct lane *x) {
  struct working w = intrinsic_working(x, x->a);
  if (x->bits > 64) saturate_wide(x, &w);
  else saturate_narrow(x, &w);
}
