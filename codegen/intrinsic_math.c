/* Floating-point functions that take more than one instruction: ldexp, frexp, modf, powi, and those
 * that PTX only approximates (sin, cos, ex2, lg2, tanh and what is made of them).
 *
 * An approximation is taken where the call allows it (`afn`), as LLVM's NVPTX back end does; ex2
 * and lg2, good to two units in the last place, always. For the rest PTX has nothing: where libdevice
 * is linked, its functions are called (frontend/link_math.c), else the error names them. */
#include "codegen/intrinsic.h"

static bool is_small(const struct part *p) {
  return p->kind == PART_HALF || p->kind == PART_BFLOAT;
}

/* What this file needs to know of f32 or f64. */
struct format {
  struct lower *l;
  struct part part;
  uint16_t type;
  bool is_double, ftz;
};

static struct format format_for(struct lower *l, const struct part *p) {
  struct format f = {.l = l, .part = is_small(p) ? intrinsic_f32 : *p};
  f.is_double = f.part.kind == PART_DOUBLE;
  f.type = part_float_mod(&f.part);
  f.ftz = l->ftz && p->kind == PART_FLOAT;
  return f;
}

static struct ptx_operand imm(const struct format *f, uint32_t f32, uint64_t f64) {
  return f->is_double ? ptx_f64(f64) : ptx_f32(f32);
}

static struct ptx_operand power(const struct format *f, int exponent) {
  return imm(f, (uint32_t)(127 + exponent) << 23, (uint64_t)(1023 + exponent) << 52);
}

static struct ptx_operand one(const struct format *f) { return power(f, 0); }

static struct ptx_reg multiply(const struct format *f, struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg r = lower_new_reg(f->l, &f->part);
  const uint16_t *mods =
      f->ftz ? PTX_MODS(PTX_MOD_RN, PTX_MOD_FTZ, f->type) : PTX_MODS(PTX_MOD_RN, f->type);
  emit3(f->l, PTX_MUL, mods, ptx_r(r), intrinsic_in_reg(f->l, a, &f->part), b);
  return r;
}

static struct ptx_reg compare_s32(struct lower *l, uint16_t how, struct ptx_reg a, int64_t b) {
  struct ptx_reg p = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SETP, PTX_MODS(how, PTX_MOD_S32), ptx_r(p), ptx_r(a), ptx_i(b));
  return p;
}

static struct ptx_reg select_s32(struct lower *l, struct ptx_operand a, struct ptx_operand b,
                                 struct ptx_reg condition) {
  struct ptx_reg r = lower_temp(l, PTX_B32);
  intrinsic_select(l, &intrinsic_i32, r, a, b, condition);
  return r;
}

static struct ptx_reg s32(struct lower *l, enum ptx_op op, struct ptx_operand a,
                          struct ptx_operand b) {
  struct ptx_reg r = lower_temp(l, PTX_B32);
  emit3(l, op, PTX_MODS(op == PTX_AND || op == PTX_OR || op == PTX_SHL ? PTX_MOD_B32 : PTX_MOD_S32),
        ptx_r(r), a, b);
  return r;
}

static bool exponent_fits(struct lower *l, const struct nvm_inst *i, const struct lanes *exponents) {
  if (exponents->parts_each == 1) return true;
  lower_refuse(l, intrinsic_call_name(l, i), "the exponent has more than 64 bits");
  return false;
}

static struct ptx_operand extended_s64(struct lower *l, struct ptx_operand v, const struct part *p) {
  return intrinsic_in_reg(l, lower_sext_part(l, v, p, 64), &intrinsic_i64);
}

/* An integer lane of any width as an s32, clamped to it. */
static struct ptx_reg clamped_s32(struct lower *l, struct ptx_operand v, const struct part *p) {
  struct ptx_reg r = lower_temp(l, PTX_B32);
  if (p->container < 64) {
    lower_copy(l, r, lower_sext_part(l, v, p, 32));
    return r;
  }
  struct ptx_operand x = extended_s64(l, v, p);
  struct ptx_reg low = lower_temp(l, PTX_B64), both = lower_temp(l, PTX_B64);
  emit3(l, PTX_MIN, PTX_MODS(PTX_MOD_S64), ptx_r(low), x, ptx_i(0x7fff));
  emit3(l, PTX_MAX, PTX_MODS(PTX_MOD_S64), ptx_r(both), ptx_r(low), ptx_i(-0x7fff));
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(r), ptx_r(both));
  return r;
}

static struct ptx_operand widened(struct lower *l, const struct part *own, struct ptx_operand v) {
  return is_small(own) ? ptx_r(lower_to_f32(l, own, v)) : intrinsic_in_reg(l, v, own);
}

/* Puts an f32 or f64 result into a lane of the own format. */
static void set_lane(struct lower *l, const struct part *own, struct ptx_reg to, struct ptx_reg v) {
  if (is_small(own)) lower_from_f32(l, own, to, ptx_r(v));
  else lower_copy(l, to, ptx_r(v));
}

/* ---- ldexp ---- */

/* 2^n for n within the normal exponents. */
static struct ptx_reg power_register(const struct format *f, struct ptx_reg n) {
  struct lower *l = f->l;
  struct ptx_reg r = lower_new_reg(l, &f->part);
  struct ptx_reg biased = s32(l, PTX_ADD, ptx_r(n), ptx_i(f->is_double ? 1023 : 127));
  struct ptx_reg bits = s32(l, PTX_SHL, ptx_r(biased), ptx_i(f->is_double ? 20 : 23));
  if (!f->is_double) {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(r), ptx_r(bits));
    return r;
  }
  struct ptx_reg zero = lower_temp(l, PTX_B32);
  lower_copy(l, zero, ptx_i(0));
  struct ptx_operand words[2] = {ptx_r(zero), ptx_r(bits)};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(r),
        ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2));
  return r;
}

/* x * 2^n in three factors. Downwards the first two stop short of the subnormals by the width of
 * the fraction, so that only the last product rounds. */
static struct ptx_reg emit_ldexp(const struct format *f, struct ptx_operand x, struct ptx_reg n) {
  struct lower *l = f->l;
  int top = f->is_double ? 1023 : 127, bottom = f->is_double ? -1022 : -126;
  int step = bottom + (f->is_double ? 53 : 24);
  struct ptx_reg y = lower_new_reg(l, &f->part);
  lower_copy(l, y, x);
  for (int round = 0; round < 2; round++) {
    struct ptx_reg large = compare_s32(l, PTX_MOD_GT, n, top),
                   small = compare_s32(l, PTX_MOD_LT, n, bottom);
    struct ptx_reg down = lower_new_reg(l, &f->part), factor = lower_new_reg(l, &f->part);
    intrinsic_select(l, &f->part, down, power(f, step), one(f), small);
    intrinsic_select(l, &f->part, factor, power(f, top), ptx_r(down), large);
    y = multiply(f, ptx_r(y), ptx_r(factor));
    struct ptx_reg taken = select_s32(l, ptx_i(step), ptx_i(0), small);
    taken = select_s32(l, ptx_i(top), ptx_r(taken), large);
    n = s32(l, PTX_SUB, ptx_r(n), ptx_r(taken));
  }
  n = s32(l, PTX_MIN, ptx_r(n), ptx_i(top));
  n = s32(l, PTX_MAX, ptx_r(n), ptx_i(bottom));
  return multiply(f, ptx_r(y), ptx_r(power_register(f, n)));
}

void lower_i_ldexp(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0)),
               n = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  const struct part own = intrinsic_part(l, v.scalar, 0), exponent = intrinsic_part(l, n.scalar, 0);
  struct format f = format_for(l, &own);
  if (!exponent_fits(l, i, &n)) return;
  for (uint32_t k = 0; k < to.count; k++) {
    uint32_t lane = n.count == 1 ? 0 : k; /* the exponent may be one for all */
    struct ptx_reg e = clamped_s32(l, n.at[lane * n.parts_each], &exponent);
    set_lane(l, &own, to.at[k].reg, emit_ldexp(&f, widened(l, &own, v.at[k]), e));
  }
  lower_join(l, i->type, result, to);
}

/* ---- frexp ---- */

/* The word that holds sign and exponent; for f64 *low is the other one. */
static struct ptx_reg high_word(const struct format *f, struct ptx_operand v, struct ptx_reg *low) {
  struct lower *l = f->l;
  struct ptx_reg high = lower_temp(l, PTX_B32);
  if (!f->is_double) {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(high), v);
    return high;
  }
  *low = lower_temp(l, PTX_B32);
  struct ptx_operand words[2] = {ptx_r(*low), ptx_r(high)};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2), v);
  return high;
}

static struct ptx_reg from_words(const struct format *f, struct ptx_reg low, struct ptx_reg high) {
  struct lower *l = f->l;
  struct ptx_reg r = lower_new_reg(l, &f->part);
  struct ptx_operand words[2] = {ptx_r(low), ptx_r(high)};
  if (f->is_double)
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(r),
          ptx_group(l->pf, PTX_OPERAND_VECTOR, words, 2));
  else emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(r), ptx_r(high));
  return r;
}

/* x = fraction * 2^exponent with 0.5 <= |fraction| < 1. Subnormals are scaled up by 2^64 first;
 * zeros, infinities and NaNs are themselves, with exponent 0. */
static struct ptx_reg emit_frexp(const struct format *f, struct ptx_operand x,
                                 struct ptx_reg *fraction) {
  struct lower *l = f->l;
  uint16_t type = f->type;
  struct ptx_reg magnitude = lower_new_reg(l, &f->part), low = {0};
  struct ptx_reg small = lower_temp(l, PTX_PRED), positive = lower_temp(l, PTX_PRED);
  struct ptx_reg ordinary = lower_temp(l, PTX_PRED), chosen = lower_new_reg(l, &f->part);
  emit2(l, PTX_ABS, PTX_MODS(type), ptx_r(magnitude), x);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, type), ptx_r(small), ptx_r(magnitude),
        power(f, f->is_double ? -1022 : -126));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_GT, type), ptx_r(positive), ptx_r(magnitude), imm(f, 0, 0));
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, PTX_MOD_AND, type), ptx_r(ordinary), ptx_r(magnitude),
        imm(f, 0x7f800000, UINT64_C(0x7ff0000000000000)), ptx_r(positive));
  struct ptx_reg scaled = lower_new_reg(l, &f->part);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_RN, type), ptx_r(scaled), x, power(f, 64));
  intrinsic_select(l, &f->part, chosen, ptx_r(scaled), x, small);
  struct ptx_reg high = high_word(f, ptx_r(chosen), &low), biased = lower_temp(l, PTX_B32);
  emit4(l, PTX_BFE, PTX_MODS(PTX_MOD_U32), ptx_r(biased), ptx_r(high),
        ptx_i(f->is_double ? 20 : 23), ptx_i(f->is_double ? 11 : 8));
  int bias = f->is_double ? 1022 : 126;
  struct ptx_reg minus = select_s32(l, ptx_i(bias + 64), ptx_i(bias), small);
  struct ptx_reg exponent = s32(l, PTX_SUB, ptx_r(biased), ptx_r(minus));
  struct ptx_reg rest =
      s32(l, PTX_AND, ptx_r(high), ptx_i((int32_t)(f->is_double ? 0x800fffffu : 0x807fffffu)));
  struct ptx_reg whole = s32(l, PTX_OR, ptx_r(rest), ptx_i(f->is_double ? 0x3fe00000 : 0x3f000000));
  *fraction = lower_new_reg(l, &f->part);
  intrinsic_select(l, &f->part, *fraction, ptx_r(from_words(f, low, whole)), x, ordinary);
  return select_s32(l, ptx_r(exponent), ptx_i(0), ordinary);
}

/* x = fraction + whole, both with the sign of x; the fraction of an infinity is 0. */
static struct ptx_reg emit_modf(const struct format *f, struct ptx_operand x,
                                struct ptx_reg *fraction) {
  struct lower *l = f->l;
  struct ptx_reg whole = lower_new_reg(l, &f->part), rest = lower_new_reg(l, &f->part);
  struct ptx_reg infinite = lower_temp(l, PTX_PRED), chosen = lower_new_reg(l, &f->part);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, f->type, f->type), ptx_r(whole), x);
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_RN, f->type), ptx_r(rest), x, ptx_r(whole));
  emit2(l, PTX_TESTP, PTX_MODS(PTX_MOD_INFINITE, f->type), ptx_r(infinite), x);
  intrinsic_select(l, &f->part, chosen, imm(f, 0, 0), ptx_r(rest), infinite);
  *fraction = lower_new_reg(l, &f->part);
  emit3(l, PTX_COPYSIGN, PTX_MODS(f->type), ptx_r(*fraction), x, ptx_r(chosen));
  return whole;
}

/* ---- powi ---- */

/* Repeated squaring over the bits of |n|, in a loop; the reciprocal where n, of 32 or 64 bits, is
 * negative. */
static struct ptx_reg emit_powi(const struct format *f, struct ptx_operand x, struct ptx_reg n) {
  struct lower *l = f->l;
  enum ptx_class c = ptx_reg_class(n);
  uint16_t bits = c == PTX_B64 ? PTX_MOD_B64 : PTX_MOD_B32;
  uint16_t s = c == PTX_B64 ? PTX_MOD_S64 : PTX_MOD_S32, u = c == PTX_B64 ? PTX_MOD_U64 : PTX_MOD_U32;
  struct ptx_reg result = lower_new_reg(l, &f->part), square = lower_new_reg(l, &f->part);
  struct ptx_reg rest = lower_temp(l, c), bit = lower_temp(l, c), odd = lower_temp(l, PTX_PRED),
                 more = lower_temp(l, PTX_PRED), negative = lower_temp(l, PTX_PRED);
  uint32_t loop = ptx_new_label(l->pf, (struct nvm_str){0});
  lower_copy(l, result, one(f));
  lower_copy(l, square, x);
  emit2(l, PTX_ABS, PTX_MODS(s), ptx_r(rest), ptx_r(n));
  ptx_add_label(l->pf, loop);
  emit3(l, PTX_AND, PTX_MODS(bits), ptx_r(bit), ptx_r(rest), ptx_i(1));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, s), ptx_r(odd), ptx_r(bit), ptx_i(0));
  struct ptx_reg product = multiply(f, ptx_r(result), ptx_r(square));
  intrinsic_select(l, &f->part, result, ptx_r(product), ptx_r(result), odd);
  lower_copy(l, square, ptx_r(multiply(f, ptx_r(square), ptx_r(square))));
  emit3(l, PTX_SHR, PTX_MODS(u), ptx_r(rest), ptx_r(rest), ptx_i(1));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, s), ptx_r(more), ptx_r(rest), ptx_i(0));
  struct ptx_operand target = ptx_label(loop);
  ptx_add_guarded(l->pf, more, false, PTX_BRA, NULL, &target, 1);
  struct ptx_reg inverse = lower_new_reg(l, &f->part), final = lower_new_reg(l, &f->part);
  emit2(l, PTX_RCP, PTX_MODS(PTX_MOD_RN, f->type), ptx_r(inverse), ptx_r(result));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, s), ptx_r(negative), ptx_r(n), ptx_i(0));
  intrinsic_select(l, &f->part, final, ptx_r(inverse), ptx_r(result), negative);
  return final;
}

void lower_i_powi(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0)),
               n = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  const struct part own = intrinsic_part(l, v.scalar, 0), exponent = intrinsic_part(l, n.scalar, 0);
  struct format f = format_for(l, &own);
  if (!exponent_fits(l, i, &n)) return;
  struct ptx_reg e = exponent.container == 64 ? extended_s64(l, n.at[0], &exponent).reg
                                              : clamped_s32(l, n.at[0], &exponent);
  for (uint32_t k = 0; k < to.count; k++)
    set_lane(l, &own, to.at[k].reg, emit_powi(&f, widened(l, &own, v.at[k]), e));
  lower_join(l, i->type, result, to);
}

/* ---- Approximations ---- */

static struct ptx_reg approx(const struct format *f, enum ptx_op op, struct ptx_operand v) {
  struct ptx_reg r = lower_temp(f->l, PTX_F32);
  const uint16_t *mods = f->ftz ? PTX_MODS(PTX_MOD_APPROX, PTX_MOD_FTZ, PTX_MOD_F32)
                                : PTX_MODS(PTX_MOD_APPROX, PTX_MOD_F32);
  emit2(f->l, op, op == PTX_TANH ? PTX_MODS(PTX_MOD_APPROX, PTX_MOD_F32) : mods, ptx_r(r), v);
  return r;
}

enum {
  F32_LOG2_E = 0x3fb8aa3b,  /* log2(e) */
  F32_LOG2_10 = 0x40549a78, /* log2(10) */
  F32_LN_2 = 0x3f317218,    /* ln(2) */
  F32_LG_2 = 0x3e9a209b,    /* log10(2) */
};

static struct ptx_reg exp2_of(const struct format *f, struct ptx_operand v, uint32_t scale) {
  return approx(f, PTX_EX2, ptx_r(multiply(f, v, ptx_f32(scale))));
}

static struct ptx_reg log2_times(const struct format *f, struct ptx_operand v, uint32_t scale) {
  return multiply(f, ptx_r(approx(f, PTX_LG2, v)), ptx_f32(scale));
}

static struct ptx_reg tangent(const struct format *f, struct ptx_operand v) {
  struct ptx_reg r = lower_temp(f->l, PTX_F32), sine = approx(f, PTX_SIN, v),
                 cosine = approx(f, PTX_COS, v);
  const uint16_t *mods = f->ftz ? PTX_MODS(PTX_MOD_APPROX, PTX_MOD_FTZ, PTX_MOD_F32)
                                : PTX_MODS(PTX_MOD_APPROX, PTX_MOD_F32);
  emit3(f->l, PTX_DIV, mods, ptx_r(r), ptx_r(sine), ptx_r(cosine));
  return r;
}

static struct ptx_reg approximate(const struct format *f, int what, struct ptx_operand x,
                                  struct ptx_operand y) {
  switch (what) {
    case APPROX_SIN: return approx(f, PTX_SIN, x);
    case APPROX_COS: return approx(f, PTX_COS, x);
    case APPROX_TAN: return tangent(f, x);
    case APPROX_TANH: return approx(f, PTX_TANH, x);
    case APPROX_EXP: return exp2_of(f, x, F32_LOG2_E);
    case APPROX_EXP2: return approx(f, PTX_EX2, x);
    case APPROX_EXP10: return exp2_of(f, x, F32_LOG2_10);
    case APPROX_LOG: return log2_times(f, x, F32_LN_2);
    case APPROX_LOG2: return approx(f, PTX_LG2, x);
    case APPROX_LOG10: return log2_times(f, x, F32_LG_2);
    default: { /* x^y = 2^(y log2 x) */
      struct ptx_reg log = approx(f, PTX_LG2, x);
      return approx(f, PTX_EX2, ptx_r(multiply(f, y, ptx_r(log))));
    }
  }
}

/* Refuses, naming libdevice's function: llvm.sin.f32 → __nv_sinf, llvm.pow.f64 → __nv_pow. It was not
 * there, or link_math() would have called it. */
static void refuse_math(struct lower *l, const struct nvm_inst *i, bool is_double) {
  const char *name = intrinsic_call_name(l, i), *base = name + strlen("llvm.");
  struct diag *d = lower_refuse(
      l, name, is_double ? "PTX has no such function for double"
                         : "PTX has no such function, or only an approximation (for calls marked afn)");
  struct textbuf hint;
  textbuf_init(&hint, l->sink->arena);
  textbuf_puts(&hint, "--link libdevice.ll (llvm-dis of CUDA's libdevice.10.bc) has it as @__nv_");
  textbuf_write(&hint, base, strcspn(base, "."));
  if (!is_double) textbuf_char(&hint, 'f');
  if (d) d->hint = (struct nvm_text){hint.bytes, hint.length};
}

void lower_i_approximate(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes x = lower_split(l, intrinsic_arg(l, i, 0)), y = x;
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  const struct part own = intrinsic_part(l, to.scalar, 0);
  struct format f = format_for(l, &own);
  bool allowed = i->flags & INST_AFN || argument == APPROX_EXP2 || argument == APPROX_LOG2;
  bool has_tanh = lower_has(l, PTX_TANH, PTX_MODS(PTX_MOD_APPROX, PTX_MOD_F32));
  bool has = argument != APPROX_NONE && (argument != APPROX_TANH || has_tanh);
  if (f.is_double || !allowed || !has) {
    refuse_math(l, i, f.is_double);
    return;
  }
  if (argument == APPROX_POW) y = lower_split(l, intrinsic_arg(l, i, 1));
  for (uint32_t k = 0; k < to.count; k++) {
    struct ptx_operand v = widened(l, &own, x.at[k]), w = v;
    if (argument == APPROX_POW) w = widened(l, &own, y.at[k]);
    set_lane(l, &own, to.at[k].reg, approximate(&f, argument, v, w));
  }
  lower_join(l, i->type, result, to);
}

/* What gives two results: frexp, modf, and sine and cosine, which PTX can only approximate. */
void lower_i_float_pair(struct lower *l, const struct nvm_inst *i, int argument) {
  struct nvm_type first = type_element(&l->module->types, i->type, 0);
  struct nvm_type second = type_element(&l->module->types, i->type, 1);
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst),
                       *rest = result + lower_type(l, first).count;
  struct lanes firsts = lower_lane_targets(l, first, result);
  struct lanes seconds = lower_lane_targets(l, second, rest);
  const struct part own = intrinsic_part(l, v.scalar, 0),
                    e = intrinsic_part(l, seconds.scalar, 0);
  struct format f = format_for(l, &own);
  if (argument == PAIR_NONE ||
      (argument == PAIR_SINCOS && (f.is_double || !(i->flags & INST_AFN)))) {
    refuse_math(l, i, f.is_double);
    return;
  }
  for (uint32_t k = 0; k < v.count; k++) {
    struct ptx_operand x = widened(l, &own, v.at[k]), to = seconds.at[k * seconds.parts_each];
    struct ptx_reg one;
    if (argument == PAIR_FREXP) {
      struct ptx_reg exponent = emit_frexp(&f, x, &one);
      if (e.container == 32) lower_copy(l, to.reg, ptx_r(exponent));
      else emit2(l, PTX_CVT, PTX_MODS(part_signed_mod(&e), PTX_MOD_S32), to, ptx_r(exponent));
    } else if (argument == PAIR_MODF) {
      set_lane(l, &own, to.reg, emit_modf(&f, x, &one));
    } else {
      one = approx(&f, PTX_SIN, x);
      set_lane(l, &own, to.reg, approx(&f, PTX_COS, x));
    }
    set_lane(l, &own, firsts.at[k].reg, one);
  }
  lower_join(l, first, result, firsts);
  lower_join(l, second, rest, seconds);
}

/* llvm.nvvm.tanh.approx of f32, half or bfloat, packed ones too. */
void lower_i_tanh_approx(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  uint32_t count = lower_type(l, i->type).count;
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    emit2(l, PTX_TANH, PTX_MODS(PTX_MOD_APPROX, part_float_mod(&p)), ptx_r(to[k]),
          ptx_r(lower_reg(l, intrinsic_arg(l, i, 0), k)));
  }
}
