/* See evalintrinsic.h.
 *
 * LLVM's intrinsics are a switch for floats and one for integers. NVVM's are evaluated by the PTX
 * column of their row ("fma.rz.ftz.f32"), read word by word. A call with an unknown word ("approx")
 * is not evaluated, so a new row is either right or left alone. Results are those of the PTX
 * manual, chapter "Floating Point Instructions". */
#include "ir/evalintrinsic.h"

#include "ir/evalfloat.h"

struct call {
  enum intrinsic_id id;
  const struct type_info *to, *from; /* of the result, of the first argument */
  const struct eval_lane *in;
  uint32_t count;
};

static uint64_t argument(const struct call *c, uint32_t k) { return (uint64_t)c->in[k].bits; }

/* --- llvm.*: floats --------------------------------------------------------------------------- */

/* Bits of llvm.is.fpclass, from the lowest: signaling NaN, quiet NaN, negative infinity, normal,
 * subnormal, zero, positive zero, subnormal, normal, infinity. */
static unsigned class_of(enum float_format f, uint64_t a) {
  unsigned kind = evalfloat_is_infinite(f, a)    ? 0
                  : evalfloat_is_zero(f, a)      ? 3
                  : evalfloat_is_subnormal(f, a) ? 2
                                                 : 1;
  if (evalfloat_is_nan(f, a)) return a >> (float_shapes[f].fraction_bits - 1) & 1 ? 2 : 1;
  return a & evalfloat_sign(f) ? 4u << kind : 0x200u >> kind;
}

static bool to_integer(const struct call *c, enum float_format f, enum evalfloat_rounding r,
                       struct eval_lane *out) {
  bool out_of_range; /* the result is arbitrary then */
  out->bits = evalfloat_to_wide_int(f, r, c->to->width, true, argument(c, 0), &out_of_range);
  return !out_of_range;
}

static bool saturated(const struct call *c, enum float_format f, bool is_signed,
                      struct eval_lane *out) {
  bool ignored;
  out->bits =
      evalfloat_to_wide_int(f, EVALFLOAT_ZERO, c->to->width, is_signed, argument(c, 0), &ignored);
  return true;
}

static uint64_t scaled(const struct call *c, enum float_format f) {
  int64_t n = evalint_sext(32, argument(c, 1));
  return evalfloat_scale(f, EVALFLOAT_NEAREST, argument(c, 0), n);
}

/* By squaring, in the order of codegen/intrinsic_math.c. */
static uint64_t power(enum float_format f, uint64_t a, int64_t n) {
  uint64_t one = evalfloat_one(f), r = one;
  for (uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n; rest; rest >>= 1) {
    if (rest & 1) r = evalfloat_mul(f, EVALFLOAT_NEAREST, r, a);
    a = evalfloat_mul(f, EVALFLOAT_NEAREST, a, a);
  }
  return n < 0 ? evalfloat_div(f, EVALFLOAT_NEAREST, one, r) : r;
}

/* frexp and modf: two results. The exponent is 0 where there is none. */
static uint64_t split(const struct call *c, enum float_format f, uint64_t a,
                      struct eval_lane *second) {
  bool ordinary =
      !evalfloat_is_nan(f, a) && !evalfloat_is_infinite(f, a) && !evalfloat_is_zero(f, a);
  if (c->id == INTRINSIC_frexp) {
    uint64_t half = evalfloat_scale(f, EVALFLOAT_NEAREST, evalfloat_one(f), -1);
    int n = 0;
    for (uint64_t top = float_shapes[f].fraction_bits; ordinary && evalfloat_is_subnormal(f, a);
         n -= (int)top)
      a = evalfloat_scale(f, EVALFLOAT_NEAREST, a, (int64_t)top);
    uint64_t exponents = evalfloat_infinity(f);
    if (ordinary)
      n += (int)((a & exponents) >> float_shapes[f].fraction_bits) -
           (int)(half >> float_shapes[f].fraction_bits);
    second->bits = (nvm_u128)n;
    return ordinary ? (a & ~exponents) | half : a;
  }
  uint64_t whole = evalfloat_round(f, EVALFLOAT_ZERO, a);
  second->bits = whole;
  uint64_t rest = evalfloat_is_infinite(f, a) ? 0 : evalfloat_sub(f, EVALFLOAT_NEAREST, a, whole);
  return (rest & ~evalfloat_sign(f)) | (a & evalfloat_sign(f));
}

static bool float_call(const struct call *c, enum float_format f, struct eval_lane *out) {
  uint64_t a = argument(c, 0), b = c->count > 1 ? argument(c, 1) : 0, r;
  switch (c->id) {
    case INTRINSIC_fabs:
    case INTRINSIC_nvvm_fabs: r = a & ~evalfloat_sign(f); break;
    case INTRINSIC_copysign: r = (a & ~evalfloat_sign(f)) | (b & evalfloat_sign(f)); break;
    case INTRINSIC_sqrt: r = evalfloat_sqrt(f, EVALFLOAT_NEAREST, a); break;
    case INTRINSIC_fma:
    case INTRINSIC_fmuladd: r = evalfloat_fma(f, EVALFLOAT_NEAREST, a, b, argument(c, 2)); break;
    case INTRINSIC_floor: r = evalfloat_round(f, EVALFLOAT_DOWN, a); break;
    case INTRINSIC_ceil: r = evalfloat_round(f, EVALFLOAT_UP, a); break;
    case INTRINSIC_trunc: r = evalfloat_round(f, EVALFLOAT_ZERO, a); break;
    case INTRINSIC_rint:
    case INTRINSIC_nearbyint:
    case INTRINSIC_roundeven: r = evalfloat_round(f, EVALFLOAT_NEAREST, a); break;
    case INTRINSIC_round: r = evalfloat_round(f, EVALFLOAT_AWAY, a); break;
    case INTRINSIC_minnum:
    case INTRINSIC_minimumnum: r = evalfloat_min(f, false, a, b); break;
    case INTRINSIC_maxnum:
    case INTRINSIC_maximumnum: r = evalfloat_max(f, false, a, b); break;
    case INTRINSIC_minimum: r = evalfloat_min(f, true, a, b); break;
    case INTRINSIC_maximum: r = evalfloat_max(f, true, a, b); break;
    case INTRINSIC_canonicalize: r = evalfloat_convert(f, f, EVALFLOAT_NEAREST, a); break;
    case INTRINSIC_ldexp: r = scaled(c, f); break;
    case INTRINSIC_powi: {
      enum float_format in = f < FLOAT_SINGLE ? FLOAT_SINGLE : f;
      r = power(in, evalfloat_convert(f, in, EVALFLOAT_NEAREST, a), evalint_sext(32, b));
      r = evalfloat_convert(in, f, EVALFLOAT_NEAREST, r);
      break;
    }
    case INTRINSIC_frexp:
    case INTRINSIC_modf: r = split(c, f, a, &out[1]); break;
    case INTRINSIC_is_fpclass: r = (class_of(f, a) & b) != 0; break;
    case INTRINSIC_convert_to_fp16:
      r = evalfloat_convert(f, FLOAT_HALF, EVALFLOAT_NEAREST, a);
      break;
    case INTRINSIC_lrint:
    case INTRINSIC_llrint: return to_integer(c, f, EVALFLOAT_NEAREST, out);
    case INTRINSIC_lround:
    case INTRINSIC_llround: return to_integer(c, f, EVALFLOAT_AWAY, out);
    case INTRINSIC_fptosi_sat: return saturated(c, f, true, out);
    case INTRINSIC_fptoui_sat: return saturated(c, f, false, out);
    default: return false;
  }
  out->bits = r;
  return true;
}

/* --- llvm.*: integers ------------------------------------------------------------------------- */

/* fshl, or fshr; the amount counts modulo the width. */
static nvm_u128 funnel(bool left, nvm_u128 high, nvm_u128 low, nvm_u128 amount, uint32_t bits) {
  uint32_t n = (uint32_t)(amount % bits);
  return evalint_funnel(bits, high, low, left ? n : bits - n);
}

struct overflow_form {
  enum op op;
  uint16_t flag;
  bool saturates;
};

/* The op and flag that are poison where the intrinsic overflows. */
static bool overflow_form(enum intrinsic_id id, struct overflow_form *f) {
  switch (id) {
    case INTRINSIC_sadd_with_overflow: *f = (struct overflow_form){OP_ADD, INST_NSW, false}; break;
    case INTRINSIC_uadd_with_overflow: *f = (struct overflow_form){OP_ADD, INST_NUW, false}; break;
    case INTRINSIC_ssub_with_overflow: *f = (struct overflow_form){OP_SUB, INST_NSW, false}; break;
    case INTRINSIC_usub_with_overflow: *f = (struct overflow_form){OP_SUB, INST_NUW, false}; break;
    case INTRINSIC_smul_with_overflow: *f = (struct overflow_form){OP_MUL, INST_NSW, false}; break;
    case INTRINSIC_umul_with_overflow: *f = (struct overflow_form){OP_MUL, INST_NUW, false}; break;
    case INTRINSIC_sadd_sat: *f = (struct overflow_form){OP_ADD, INST_NSW, true}; break;
    case INTRINSIC_uadd_sat: *f = (struct overflow_form){OP_ADD, INST_NUW, true}; break;
    case INTRINSIC_ssub_sat: *f = (struct overflow_form){OP_SUB, INST_NSW, true}; break;
    case INTRINSIC_usub_sat: *f = (struct overflow_form){OP_SUB, INST_NUW, true}; break;
    case INTRINSIC_sshl_sat: *f = (struct overflow_form){OP_SHL, INST_NSW, true}; break;
    case INTRINSIC_ushl_sat: *f = (struct overflow_form){OP_SHL, INST_NUW, true}; break;
    default: return false;
  }
  return true;
}

/* The saturated value of a result that does not fit. */
static nvm_u128 limit_of(const struct overflow_form *form, nvm_u128 a, uint32_t bits) {
  if (form->flag == INST_NUW) return form->op == OP_SUB ? 0 : eval_mask(bits);
  nvm_u128 top = eval_mask(bits) >> 1;
  return eval_signed(a, bits) < 0 ? top + 1 : top;
}

static bool overflow_call(const struct nvm_module *m, const struct call *c, struct nvm_type type,
                          const struct overflow_form *form, struct eval_lane *out) {
  struct eval_lane r;
  uint32_t bits = c->from->width;
  if (!eval_lane(m, form->op, form->flag, 0, type, type, c->in, &r)) return false;
  bool overflows = r.poison;
  if (form->op == OP_SHL && c->in[1].bits >= bits) {
    out[0].poison = true;
    return true;
  }
  out[0].bits = form->saturates && overflows ? limit_of(form, c->in[0].bits, bits) : r.bits;
  out[1].bits = overflows;
  return true;
}

static bool int_call(const struct call *c, struct eval_lane *out) {
  uint32_t bits = c->from->width;
  nvm_u128 a = c->in[0].bits, b = c->count > 1 ? c->in[1].bits : 0, r;
  nvm_i128 x = eval_signed(a, bits), y = eval_signed(b, bits);
  switch (c->id) {
    case INTRINSIC_smin: r = evalint_wide_min_s(bits, a, b); break;
    case INTRINSIC_smax: r = evalint_wide_max_s(bits, a, b); break;
    case INTRINSIC_umin: r = evalint_wide_min_u(bits, a, b); break;
    case INTRINSIC_umax: r = evalint_wide_max_u(bits, a, b); break;
    case INTRINSIC_scmp: r = x < y ? ~(nvm_u128)0 : x > y; break;
    case INTRINSIC_ucmp: r = a < b ? ~(nvm_u128)0 : a > b; break;
    case INTRINSIC_abs:
      r = evalint_abs(bits, a);
      out->poison = b && a == (nvm_u128)1 << (bits - 1);
      break;
    case INTRINSIC_ctpop: r = evalint_popcount(bits, a); break;
    case INTRINSIC_ctlz:
    case INTRINSIC_cttz:
      r = c->id == INTRINSIC_ctlz ? evalint_leading_zeros(bits, a)
                                  : evalint_trailing_zeros(bits, a);
      out->poison = b && a == 0;
      break;
    case INTRINSIC_bitreverse: r = evalint_reverse(bits, a); break;
    case INTRINSIC_bswap:
      if (bits % 8 != 0) return false;
      r = evalint_byte_swap(bits, a);
      break;
    case INTRINSIC_fshl: r = funnel(true, a, b, c->in[2].bits, bits); break;
    case INTRINSIC_fshr: r = funnel(false, a, b, c->in[2].bits, bits); break;
    default: return false;
  }
  out->bits = r & eval_mask(c->to->width);
  return true;
}

/* --- llvm.nvvm.* by their PTX ----------------------------------------------------------------- */

/* Name and number of operands. */
#define OPERATIONS(ROW)  \
  ROW(ADD, "add", 2)     \
  ROW(SUB, "sub", 2)     \
  ROW(MUL, "mul", 2)     \
  ROW(FMA, "fma", 3)     \
  ROW(DIV, "div", 2)     \
  ROW(RCP, "rcp", 1)     \
  ROW(SQRT, "sqrt", 1)   \
  ROW(MIN, "min", 2)     \
  ROW(MAX, "max", 2)     \
  ROW(ABS, "abs", 1)     \
  ROW(NEG, "neg", 1)     \
  ROW(CVT, "cvt", 1)     \
  ROW(MOV, "mov", 1)     \
  ROW(SAD, "sad", 3)     \
  ROW(MUL24, "mul24", 2) \
  ROW(CLZ, "clz", 1)     \
  ROW(POPC, "popc", 1)   \
  ROW(BREV, "brev", 1)   \
  ROW(PRMT, "prmt", 3)

#define ENUMERATOR(id, name, operands) DO_##id,
enum ptx_operation { OPERATIONS(ENUMERATOR) DO_COUNT };
#define OPERATION(id, name, operands) {name, operands},
static const struct {
  char name[8];
  uint8_t operands;
} operations[DO_COUNT] = {OPERATIONS(OPERATION)};

/* In addition to enum evalfloat_modifier. */
enum {
  WORD_ABS = 1 << 8,
  WORD_HI = 1 << 9,
  WORD_LO = 1 << 10,
  WORD_ROUNDED = 1 << 11,  /* rn rz rm rp rna */
  WORD_INTEGRAL = 1 << 12, /* rni rzi rmi rpi */
};

static const struct {
  char name[12];
  uint16_t word;
  uint8_t rounding; /* of WORD_ROUNDED, WORD_INTEGRAL */
} modifiers[] = {{"rn", WORD_ROUNDED, EVALFLOAT_NEAREST},
                 {"rz", WORD_ROUNDED, EVALFLOAT_ZERO},
                 {"rm", WORD_ROUNDED, EVALFLOAT_DOWN},
                 {"rp", WORD_ROUNDED, EVALFLOAT_UP},
                 {"rna", WORD_ROUNDED, EVALFLOAT_AWAY},
                 {"rni", WORD_INTEGRAL, EVALFLOAT_NEAREST},
                 {"rzi", WORD_INTEGRAL, EVALFLOAT_ZERO},
                 {"rmi", WORD_INTEGRAL, EVALFLOAT_DOWN},
                 {"rpi", WORD_INTEGRAL, EVALFLOAT_UP},
                 {"ftz", EVALFLOAT_FTZ, 0},
                 {"sat", EVALFLOAT_SAT, 0},
                 {"relu", EVALFLOAT_RELU, 0},
                 {"NaN", EVALFLOAT_NAN, 0},
                 {"xorsign", EVALFLOAT_XORSIGN, 0},
                 {"abs", WORD_ABS, 0},
                 {"hi", WORD_HI, 0},
                 {"lo", WORD_LO, 0},
                 {"satfinite", EVALFLOAT_SATFINITE, 0}};

struct ptx_type {
  char kind; /* f s u b */
  uint8_t bits;
  enum float_format format; /* of kind f */
};

static const struct {
  char name[8];
  struct ptx_type type; /* of one lane */
} ptx_types[] = {{"f16", {'f', 16, FLOAT_HALF}},
                 {"f16x2", {'f', 16, FLOAT_HALF}},
                 {"bf16", {'f', 16, FLOAT_BFLOAT}},
                 {"bf16x2", {'f', 16, FLOAT_BFLOAT}},
                 {"f32", {'f', 32, FLOAT_SINGLE}},
                 {"f64", {'f', 64, FLOAT_DOUBLE}},
                 {"s16", {'s', 16, 0}},
                 {"s32", {'s', 32, 0}},
                 {"s64", {'s', 64, 0}},
                 {"u16", {'u', 16, 0}},
                 {"u32", {'u', 32, 0}},
                 {"u64", {'u', 64, 0}},
                 {"b16", {'b', 16, 0}},
                 {"b32", {'b', 32, 0}},
                 {"b64", {'b', 64, 0}}};

struct ptx_form {
  enum ptx_operation operation;
  uint16_t words; /* WORD_, EVALFLOAT_ */
  enum evalfloat_rounding rounding;
  struct ptx_type to, from; /* the same unless it names two */
};

static bool word_is(const char *word, size_t length, const char *name) {
  return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool add_modifier(struct ptx_form *form, const char *word, size_t length) {
  for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; i++) {
    if (!word_is(word, length, modifiers[i].name)) continue;
    form->words |= modifiers[i].word;
    if (modifiers[i].word & (WORD_ROUNDED | WORD_INTEGRAL))
      form->rounding = (enum evalfloat_rounding)modifiers[i].rounding;
    return true;
  }
  return false;
}

static bool add_type(struct ptx_form *form, const char *word, size_t length, int *types) {
  for (size_t i = 0; i < sizeof ptx_types / sizeof ptx_types[0]; i++) {
    if (!word_is(word, length, ptx_types[i].name)) continue;
    if (*types == 0) form->to = ptx_types[i].type;
    form->from = ptx_types[i].type;
    return ++*types <= 2;
  }
  return false;
}

/* False for an unknown word: operands, a second instruction, "@handler", "!refused". */
static bool read_form(const char *ptx, struct ptx_form *form) {
  int types = 0;
  size_t length = strcspn(ptx, ".");
  *form = (struct ptx_form){.operation = DO_COUNT};
  for (int i = 0; i < DO_COUNT; i++)
    if (word_is(ptx, length, operations[i].name)) form->operation = (enum ptx_operation)i;
  if (form->operation == DO_COUNT) return false;
  for (const char *word = ptx + length; *word == '.'; word += length) {
    length = strcspn(++word, ".");
    if (!add_modifier(form, word, length) && !add_type(form, word, length, &types)) return false;
  }
  return types != 0 && (types == 2) == (form->operation == DO_CVT);
}

/* .ftz of a conversion concerns single precision. */
static unsigned modifiers_of(const struct ptx_form *form, const struct ptx_type *t) {
  bool flushes = form->operation != DO_CVT || t->format == FLOAT_SINGLE;
  return t->kind != 'f' ? 0 : form->words & (flushes ? 0xffu : 0xffu & ~(unsigned)EVALFLOAT_FTZ);
}

static uint64_t ptx_operand(const struct ptx_form *form, const struct ptx_type *t, uint64_t a) {
  return evalfloat_input(t->format, modifiers_of(form, t), a);
}

static uint64_t ptx_result(const struct ptx_form *form, uint64_t r) {
  return evalfloat_output(form->to.format, modifiers_of(form, &form->to), r);
}

static bool ptx_float(const struct ptx_form *form, const uint64_t *x, uint64_t *r) {
  enum float_format f = form->to.format;
  enum evalfloat_rounding mode = form->rounding;
  switch (form->operation) {
    case DO_ADD: *r = evalfloat_add(f, mode, x[0], x[1]); break;
    case DO_SUB: *r = evalfloat_sub(f, mode, x[0], x[1]); break;
    case DO_MUL: *r = evalfloat_mul(f, mode, x[0], x[1]); break;
    case DO_FMA: *r = evalfloat_fma(f, mode, x[0], x[1], x[2]); break;
    case DO_DIV: *r = evalfloat_div(f, mode, x[0], x[1]); break;
    case DO_RCP: *r = evalfloat_div(f, mode, evalfloat_one(f), x[0]); break;
    case DO_SQRT: *r = evalfloat_sqrt(f, mode, x[0]); break;
    case DO_MIN:
    case DO_MAX:
      *r = evalfloat_extreme(f, form->words, form->operation == DO_MAX, x[0], x[1]);
      return true;
    case DO_ABS: *r = x[0] & ~evalfloat_sign(f); return true;
    case DO_NEG: *r = x[0] ^ evalfloat_sign(f); return true;
    case DO_MOV: *r = x[0]; return true;
    default: return false;
  }
  *r = ptx_result(form, *r);
  return (form->words & WORD_ROUNDED) != 0;
}

static bool ptx_convert(const struct ptx_form *form, uint64_t a, uint64_t *r) {
  bool to_float = form->to.kind == 'f', from_float = form->from.kind == 'f';
  if (!to_float && !from_float) return false;
  a = ptx_operand(form, &form->from, a);
  if (!to_float)
    *r = evalfloat_to_int_ptx(form->from.format, form->rounding, form->to.bits,
                              form->to.kind == 's', a);
  else if (!from_float)
    *r = ptx_result(form, evalfloat_from_int(form->to.format, form->rounding, form->from.bits,
                                             form->from.kind == 's', a));
  else if (form->to.format != form->from.format)
    *r = ptx_result(form, evalfloat_convert(form->from.format, form->to.format, form->rounding, a));
  else if (form->words & WORD_INTEGRAL)
    *r = ptx_result(form, evalfloat_round(form->to.format, form->rounding, a));
  else *r = ptx_result(form, a);
  return true;
}

/* The number that a represents in the type. */
static evalint_s128 number_of(const struct ptx_type *t, unsigned bits, uint64_t a) {
  return t->kind == 's' ? (evalint_s128)evalint_sext(bits, a) : (evalint_s128)evalint_zext(bits, a);
}

static bool ptx_int(const struct ptx_form *form, const uint64_t *x, uint64_t *r) {
  unsigned bits = form->to.bits;
  bool is_signed = form->to.kind == 's';
  switch (form->operation) {
    case DO_MUL:
      if (!(form->words & WORD_HI)) return false;
      *r = is_signed ? evalint_mul_high_s(bits, x[0], x[1]) : evalint_mul_high_u(bits, x[0], x[1]);
      break;
    case DO_MUL24:
      if (!(form->words & WORD_LO)) return false;
      *r = (uint64_t)(number_of(&form->to, 24, x[0]) * number_of(&form->to, 24, x[1]));
      break;
    case DO_SAD: {
      evalint_s128 d = number_of(&form->to, bits, x[0]) - number_of(&form->to, bits, x[1]);
      *r = x[2] + (uint64_t)(d < 0 ? -d : d);
      break;
    }
    case DO_MIN:
      *r = is_signed ? evalint_min_s(bits, x[0], x[1]) : evalint_min_u(bits, x[0], x[1]);
      break;
    case DO_MAX:
      *r = is_signed ? evalint_max_s(bits, x[0], x[1]) : evalint_max_u(bits, x[0], x[1]);
      break;
    case DO_ABS: *r = (uint64_t)evalint_abs(bits, x[0]); break;
    case DO_CLZ: *r = evalint_leading_zeros(bits, x[0]); break;
    case DO_POPC: *r = evalint_popcount(bits, x[0]); break;
    case DO_BREV: *r = (uint64_t)evalint_reverse(bits, x[0]); break;
    case DO_PRMT: *r = evalint_permute(x[0], x[1], x[2]); break;
    case DO_MOV: *r = x[0]; break;
    default: return false;
  }
  return true;
}

static uint32_t bits_of(const struct type_info *t) {
  return t->kind == TY_INT ? t->width : float_shapes[eval_format((enum type_kind)t->kind)].bits;
}

static bool ptx_call(const struct call *c, struct eval_lane *out) {
  struct ptx_form form;
  uint64_t x[3] = {0}, r = 0;
  if (!read_form(intrinsic_table[c->id].ptx, &form)) return false;
  bool counts = form.operation == DO_CLZ || form.operation == DO_POPC; /* of b64 too into i32 */
  if (c->count != operations[form.operation].operands || bits_of(c->from) != form.from.bits ||
      bits_of(c->to) != (counts ? 32 : form.to.bits))
    return false;
  for (uint32_t k = 0; k < c->count; k++) x[k] = argument(c, k);
  bool known;
  if (form.operation == DO_CVT) {
    known = ptx_convert(&form, x[0], &r);
  } else if (form.to.kind == 'f') {
    for (uint32_t k = 0; k < c->count; k++) x[k] = ptx_operand(&form, &form.from, x[k]);
    known = ptx_float(&form, x, &r);
  } else {
    known = ptx_int(&form, x, &r);
  }
  if (known) out->bits = r & eval_mask(bits_of(c->to));
  return known;
}

/* --- one lane --------------------------------------------------------------------------------- */

/* Intrinsics of NVVM that are more than one instruction. */
static bool other_call(const struct call *c, struct eval_lane *out) {
  uint64_t a = argument(c, 0);
  switch (c->id) {
    case INTRINSIC_convert_from_fp16:
      out->bits = evalfloat_convert(FLOAT_HALF, eval_format((enum type_kind)c->to->kind),
                                    EVALFLOAT_NEAREST, a);
      return true;
    case INTRINSIC_nvvm_d2i_lo: out->bits = a & 0xffffffff; return true;
    case INTRINSIC_nvvm_d2i_hi: out->bits = a >> 32; return true;
    case INTRINSIC_nvvm_lohi_i2d: out->bits = argument(c, 1) << 32 | a; return true;
    case INTRINSIC_nvvm_swap_lo_hi_b64:
      out->bits = (a << 32 | a >> 32) & eval_mask(64);
      return true;
    case INTRINSIC_nvvm_rotate_b32: out->bits = funnel(true, a, a, argument(c, 1), 32); return true;
    case INTRINSIC_nvvm_rotate_b64: out->bits = funnel(true, a, a, argument(c, 1), 64); return true;
    case INTRINSIC_nvvm_rotate_right_b64:
      out->bits = funnel(false, a, a, argument(c, 1), 64);
      return true;
    default: return ptx_call(c, out);
  }
}

static bool is_number(const struct type_info *t) {
  return t->kind == TY_INT || eval_is_float_kind((enum type_kind)t->kind);
}

/* Whether an argument or the result violates nnan or ninf. */
static bool breaks_promise(const struct call *c, uint16_t flags, uint64_t result) {
  enum type_kind from = (enum type_kind)c->from->kind, to = (enum type_kind)c->to->kind;
  if (eval_is_float_kind(to) && eval_violates_flags(eval_format(to), flags, result)) return true;
  if (from != to || !eval_is_float_kind(from) || c->id == INTRINSIC_ldexp ||
      c->id == INTRINSIC_powi)
    return false;
  for (uint32_t k = 0; k < c->count; k++)
    if (eval_violates_flags(eval_format(from), flags, argument(c, k))) return true;
  return false;
}

bool eval_intrinsic_lane(const struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                         struct nvm_type result, struct nvm_type operand,
                         const struct eval_lane *in, uint32_t count, struct eval_lane out[2]) {
  const struct type_info *from = type_info(&m->types, operand), *to = type_info(&m->types, result);
  struct call c = {id, to, from, in, count};
  struct overflow_form form;
  out[0] = out[1] = (struct eval_lane){0, false};
  if (count == 0 || !is_number(from) || !is_number(to)) return false;
  bool known = overflow_form(id, &form)
                   ? overflow_call(m, &c, operand, &form, out)
                   : (from->kind == TY_INT && int_call(&c, out)) ||
                         (from->kind != TY_INT &&
                          float_call(&c, eval_format((enum type_kind)from->kind), out)) ||
                         other_call(&c, out);
  if (!known) return false;
  if (breaks_promise(&c, flags, (uint64_t)out->bits)) out->poison = true;
  for (uint32_t k = 0; k < count; k++)
    if (in[k].poison) out[0].poison = out[1].poison = true;
  return true;
}

/* --- constants -------------------------------------------------------------------------------- */

enum { MAX_ARGUMENTS = 4 };

static bool is_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

bool eval_reduction(enum intrinsic_id id, enum op *op, enum intrinsic_id *lane) {
  static const struct {
    enum intrinsic_id id, lane;
    enum op op;
  } rows[] = {{INTRINSIC_vector_reduce_add, INTRINSIC_NONE, OP_ADD},
              {INTRINSIC_vector_reduce_mul, INTRINSIC_NONE, OP_MUL},
              {INTRINSIC_vector_reduce_and, INTRINSIC_NONE, OP_AND},
              {INTRINSIC_vector_reduce_or, INTRINSIC_NONE, OP_OR},
              {INTRINSIC_vector_reduce_xor, INTRINSIC_NONE, OP_XOR},
              {INTRINSIC_vector_reduce_smin, INTRINSIC_smin, OP_COUNT},
              {INTRINSIC_vector_reduce_smax, INTRINSIC_smax, OP_COUNT},
              {INTRINSIC_vector_reduce_umin, INTRINSIC_umin, OP_COUNT},
              {INTRINSIC_vector_reduce_umax, INTRINSIC_umax, OP_COUNT},
              {INTRINSIC_vector_reduce_fmin, INTRINSIC_minnum, OP_COUNT},
              {INTRINSIC_vector_reduce_fmax, INTRINSIC_maxnum, OP_COUNT},
              {INTRINSIC_vector_reduce_fminimum, INTRINSIC_minimum, OP_COUNT},
              {INTRINSIC_vector_reduce_fmaximum, INTRINSIC_maximum, OP_COUNT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].id != id) continue;
    *op = rows[i].op;
    *lane = rows[i].lane;
    return true;
  }
  return false;
}

static struct nvm_value reduce(struct nvm_module *m, enum op op, enum intrinsic_id lane,
                               uint16_t flags, struct nvm_type type, struct nvm_value vector) {
  uint64_t lanes = type_info(&m->types, constant_info(&m->constants, vector)->type)->count;
  struct eval_lane pair[2] = {{0, false}, {0, false}}, out[2];
  for (uint64_t i = 0; i < lanes; i++) {
    if (!eval_lane_of(m, const_element(m, vector, i), &pair[i != 0])) return VALUE_NULL;
    if (i == 0) continue;
    bool known = op != OP_COUNT ? eval_lane(m, op, 0, 0, type, type, pair, out)
                                : eval_intrinsic_lane(m, lane, flags, type, type, pair, 2, out);
    if (!known) return VALUE_NULL;
    pair[0] = out[0];
  }
  return eval_constant_of(m, type, pair[0]);
}

/* Lane i of the arguments; scalars apply to every lane. */
static bool lanes_of(struct nvm_module *m, const struct nvm_value *args, uint32_t count, uint64_t i,
                     struct eval_lane *in) {
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = args[k];
    if (type_is_vector(&m->types, constant_info(&m->constants, v)->type))
      v = const_element(m, v, i);
    if (!eval_lane_of(m, v, &in[k])) return false;
  }
  return true;
}

/* `parts` results of types part[], lane by lane. */
static bool by_lanes(struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                     const struct nvm_type *part, uint32_t parts, const struct nvm_value *args,
                     uint32_t count, struct nvm_value *result) {
  struct nvm_value lanes[2][EVAL_MOST_LANES];
  bool vector = type_is_vector(&m->types, part[0]);
  uint64_t n = vector ? type_info(&m->types, part[0])->count : 1;
  struct nvm_type first = constant_info(&m->constants, args[0])->type;
  if (n > EVAL_MOST_LANES || type_is_vector(&m->types, first) != vector ||
      (vector && type_info(&m->types, first)->count != n))
    return false;
  for (uint64_t i = 0; i < n; i++) {
    struct eval_lane in[MAX_ARGUMENTS] = {{0, false}}, out[2];
    if (!lanes_of(m, args, count, i, in) ||
        !eval_intrinsic_lane(m, id, flags, type_scalar(&m->types, part[0]),
                             type_scalar(&m->types, first), in, count, out))
      return false;
    for (uint32_t p = 0; p < parts; p++) {
      lanes[p][i] = eval_constant_of(m, type_scalar(&m->types, part[p]), out[p]);
      if (value_is_none(lanes[p][i])) return false;
    }
  }
  for (uint32_t p = 0; p < parts; p++)
    result[p] = vector ? const_aggregate(m, part[p], lanes[p], (uint32_t)n) : lanes[p][0];
  return true;
}

static bool is_i32(const struct nvm_module *m, struct nvm_value v) {
  struct nvm_type type = constant_info(&m->constants, v)->type;
  return type_equal(type_scalar(&m->types, type), TYPE_I32);
}

struct nvm_value eval_intrinsic(struct nvm_module *m, enum intrinsic_id id, uint16_t flags,
                                struct nvm_type type, const struct nvm_value *args,
                                uint32_t count) {
  enum op op;
  enum intrinsic_id lane;
  if (id == INTRINSIC_NONE || count == 0 || count > MAX_ARGUMENTS) return VALUE_NULL;
  if (is_text(intrinsic_table[id].ptx, "@forward")) return args[0];
  for (uint32_t k = 0; k < count; k++)
    if (value_kind(args[k]) != VALUE_CONST) return VALUE_NULL;
  if ((id == INTRINSIC_ldexp || id == INTRINSIC_powi) && !is_i32(m, args[count - 1]))
    return VALUE_NULL;
  if (eval_reduction(id, &op, &lane)) return reduce(m, op, lane, flags, type, args[0]);
  struct nvm_type part[2] = {type, type};
  struct nvm_value result[2];
  struct overflow_form form;
  uint32_t parts = overflow_form(id, &form) && !form.saturates ? 2 : 1;
  if (parts == 2) {
    if (type_kind(&m->types, type) != TY_STRUCT || type_info(&m->types, type)->count != 2)
      return VALUE_NULL;
    part[0] = type_member(&m->types, type, 0), part[1] = type_member(&m->types, type, 1);
  }
  if (!by_lanes(m, id, flags, part, parts, args, count, result)) return VALUE_NULL;
  if (parts == 1) return result[0];
  if (value_is_none(result[0]) || value_is_none(result[1])) return VALUE_NULL;
  return const_aggregate(m, type, result, 2);
}

struct nvm_value eval_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           const struct nvm_value *operands) {
  struct nvm_module *m = f->module;
  if (i->op != OP_CALL)
    return eval_fold(m, (enum op)i->op, i->flags, i->aux, i->type, operands, i->operand_count);
  struct nvm_value callee = call_callee(f, i);
  uint32_t count = call_arg_count(f, i);
  if (value_kind(callee) != VALUE_FUNCTION || count + 1 != i->operand_count) return VALUE_NULL;
  enum intrinsic_id id = (enum intrinsic_id)module_function(m, callee)->intrinsic;
  return eval_intrinsic(m, id, i->flags & INST_FAST, i->type, operands, count);
}
