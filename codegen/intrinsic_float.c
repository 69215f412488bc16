/* Floating-point intrinsics that PTX can do exactly: absolute value, square root, fused
 * multiplication, rounding, sign, minimum and maximum, classification, saturating conversion.
 *
 * 16-bit formats go through f32 where PTX lacks them on the CPU. Every such step is exact or, as
 * for one square root, rounds as if done once, because f32 has more than twice their precision plus
 * two bits. fma has no such luck: it is done in doubles rounded to odd (Boldo, Melquiond: "Emulation of
 * FMA and Correctly Rounded Sums", 2008), which LLVM's is not. */
#include "codegen/intrinsic.h"

static const struct part lane_half = {.kind = PART_HALF, .bits = 16, .container = 16};
static const struct part lane_bfloat = {.kind = PART_BFLOAT, .bits = 16, .container = 16};

static bool is_small(const struct part *p) {
  return p->kind == PART_HALF || p->kind == PART_BFLOAT;
}
static bool is_pair(const struct part *p) {
  return p->kind == PART_PAIR_HALF || p->kind == PART_PAIR_BFLOAT;
}
static bool is_bfloat(const struct part *p) {
  return p->kind == PART_BFLOAT || p->kind == PART_PAIR_BFLOAT;
}

/* A lane in f32 or f64, and which: 16-bit formats are widened. */
static struct ptx_operand widened(struct lower *l, struct ptx_operand v, struct part *p) {
  if (!is_small(p)) return intrinsic_in_reg(l, v, p);
  struct ptx_reg r = lower_to_f32(l, p, v);
  *p = intrinsic_f32;
  return ptx_r(r);
}

/* Calls `lane` for every lane of a function of one operand, in f32 or f64. */
typedef void unary_lane(struct lower *l, const struct nvm_inst *i, const struct part *p, bool ftz,
                        struct ptx_reg to, struct ptx_operand v);

static void for_each_lane(struct lower *l, const struct nvm_inst *i, unary_lane *lane) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  const struct part own = intrinsic_part(l, to.scalar, 0);
  for (uint32_t k = 0; k < to.count; k++) {
    struct part p = own;
    struct ptx_operand x = widened(l, v.at[k], &p);
    if (!is_small(&own)) {
      lane(l, i, &p, intrinsic_ftz(l, &p), to.at[k].reg, x);
      continue;
    }
    struct ptx_reg r = lower_temp(l, PTX_F32);
    lane(l, i, &p, false, r, x);
    lower_from_f32(l, &own, to.at[k].reg, ptx_r(r));
  }
  lower_join(l, i->type, result, to);
}

static struct ptx_operand float_imm(const struct part *p, uint32_t f32, uint64_t f64) {
  return p->kind == PART_DOUBLE ? ptx_f64(f64) : ptx_f32(f32);
}

/* ---- Part by part ---- */

/* Clears the sign, of NaNs too. */
void lower_i_fabs(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  uint32_t count = lower_type(l, i->type).count;
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    struct ptx_operand v = ptx_r(lower_reg(l, intrinsic_arg(l, i, 0), k));
    if (is_small(&p)) emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B16), ptx_r(to[k]), v, ptx_i(0x7fff));
    else if (is_pair(&p))
      emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(to[k]), v, ptx_i(0x7fff7fff));
    else if (intrinsic_ftz(l, &p))
      emit2(l, PTX_ABS, PTX_MODS(PTX_MOD_FTZ, PTX_MOD_F32), ptx_r(to[k]), v);
    else emit2(l, PTX_ABS, PTX_MODS(part_float_mod(&p)), ptx_r(to[k]), v);
  }
}

/* (a & ~sign) | (b & sign) for the 16-bit formats, which have no copysign. */
static void copysign_bits(struct lower *l, const struct part *p, struct ptx_reg to,
                          struct ptx_operand a, struct ptx_operand b) {
  const uint16_t *bits = PTX_MODS(part_bits_mod(p));
  struct ptx_reg magnitude = lower_new_reg(l, p), sign = lower_new_reg(l, p);
  emit3(l, PTX_AND, bits, ptx_r(magnitude), a, ptx_i(is_pair(p) ? 0x7fff7fff : 0x7fff));
  emit3(l, PTX_AND, bits, ptx_r(sign), b, ptx_i(is_pair(p) ? (int32_t)0x80008000u : -0x8000));
  emit3(l, PTX_OR, bits, ptx_r(to), ptx_r(magnitude), ptx_r(sign));
}

void lower_i_copysign(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  uint32_t count = lower_type(l, i->type).count;
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    struct ptx_operand a = ptx_r(lower_reg(l, intrinsic_arg(l, i, 0), k));
    struct ptx_operand b = ptx_r(lower_reg(l, intrinsic_arg(l, i, 1), k));
    if (is_small(&p) || is_pair(&p)) copysign_bits(l, &p, to[k], a, b);
    else emit3(l, PTX_COPYSIGN, PTX_MODS(part_float_mod(&p)), ptx_r(to[k]), b, a);
  }
}

/* ---- Multiplication and addition ---- */

static bool has_fma(const struct lower *l, const struct part *p) {
  return lower_has(l, PTX_FMA, PTX_MODS(PTX_MOD_RN, part_float_mod(p)));
}

static void emit_fma(struct lower *l, const struct part *p, bool ftz, struct ptx_reg to,
                     const struct ptx_operand v[3]) {
  const uint16_t *mods = ftz ? PTX_MODS(PTX_MOD_RN, PTX_MOD_FTZ, part_float_mod(p))
                             : PTX_MODS(PTX_MOD_RN, part_float_mod(p));
  emit4(l, PTX_FMA, mods, ptx_r(to), intrinsic_in_reg(l, v[0], p), v[1], v[2]);
}

/* The sum as a double: of the numbers below and above it, which are the same or neighbours, the one
 * whose last bit is set. */
static struct ptx_reg fma_to_odd(struct lower *l, const struct part *p, const struct ptx_operand v[3]) {
  struct ptx_reg x[3], r[2], bits = lower_temp(l, PTX_B64), last = lower_temp(l, PTX_B64);
  struct ptx_reg is_odd = lower_temp(l, PTX_PRED), odd = lower_temp(l, PTX_F64);
  for (int k = 0; k < 3; k++) {
    x[k] = lower_temp(l, PTX_F64);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_F64, PTX_MOD_F32), ptx_r(x[k]), ptx_r(lower_to_f32(l, p, v[k])));
  }
  for (int k = 0; k < 2; k++) {
    r[k] = lower_temp(l, PTX_F64);
    emit4(l, PTX_FMA, PTX_MODS(k ? PTX_MOD_RP : PTX_MOD_RM, PTX_MOD_F64), ptx_r(r[k]), ptx_r(x[0]), ptx_r(x[1]),
          ptx_r(x[2]));
  }
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(bits), ptx_r(r[0]));
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B64), ptx_r(last), ptx_r(bits), ptx_i(1));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B64), ptx_r(is_odd), ptx_r(last), ptx_i(0));
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_F64), ptx_r(odd), ptx_r(r[0]), ptx_r(r[1]), ptx_r(is_odd));
  return odd;
}

/* One scalar lane, fused. */
static void fma_lane(struct lower *l, const struct part *p, struct ptx_reg to,
                     const struct ptx_operand v[3]) {
  if (has_fma(l, p)) {
    emit_fma(l, p, intrinsic_ftz(l, p), to, v);
    return;
  }
  lower_from_f32(l, p, to, ptx_r(lower_round_to_odd(l, ptx_r(fma_to_odd(l, p, v)))));
}

static void fma_pair(struct lower *l, const struct part *p, struct ptx_reg to,
                     const struct ptx_operand v[3]) {
  const struct part *lane = is_bfloat(p) ? &lane_bfloat : &lane_half;
  struct ptx_reg x[3][2], r[2];
  for (int k = 0; k < 3; k++) lower_unpack_pair(l, v[k], &x[k][0], &x[k][1]);
  for (int k = 0; k < 2; k++) {
    r[k] = lower_temp(l, PTX_B16);
    fma_lane(l, lane, r[k], (struct ptx_operand[]){ptx_r(x[0][k]), ptx_r(x[1][k]), ptx_r(x[2][k])});
  }
  lower_copy(l, to, ptx_r(lower_pack_pair(l, ptx_r(r[0]), ptx_r(r[1]))));
}

/* argument 1: fmuladd, which fuses only where the target's fma-level says so. */
void lower_i_fma(struct lower *l, const struct nvm_inst *i, int argument) {
  uint32_t count = lower_type(l, i->type).count;
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    struct ptx_operand v[3];
    for (uint32_t j = 0; j < 3; j++) v[j] = lower_operand(l, intrinsic_arg(l, i, j), k);
    bool fused = argument == 0 || l->target->fma_level >= (p.kind == PART_DOUBLE ? 2 : 1);
    if (!fused) {
      struct ptx_reg product = lower_new_reg(l, &p);
      lower_binary_part(l, OP_FMUL, 0, &p, product, v[0], v[1]);
      lower_binary_part(l, OP_FADD, 0, &p, to[k], ptx_r(product), v[2]);
    } else if (is_pair(&p) && !has_fma(l, &p)) {
      fma_pair(l, &p, to[k], v);
    } else {
      fma_lane(l, &p, to[k], v);
    }
  }
}

/* ---- Functions of one operand ---- */

static void sqrt_lane(struct lower *l, const struct nvm_inst *i, const struct part *p, bool ftz,
                      struct ptx_reg to, struct ptx_operand v) {
  bool exact = p->kind == PART_DOUBLE || (l->target->prec_sqrt && !(i->flags & INST_AFN));
  uint16_t mode = exact ? PTX_MOD_RN : PTX_MOD_APPROX;
  emit2(l, PTX_SQRT,
        ftz ? PTX_MODS(mode, PTX_MOD_FTZ, PTX_MOD_F32) : PTX_MODS(mode, part_float_mod(p)),
        ptx_r(to), v);
}

void lower_i_sqrt(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  for_each_lane(l, i, sqrt_lane);
}

/* Multiplying by one quiets NaNs and, under ftz, flushes. */
static void canonicalize_lane(struct lower *l, const struct nvm_inst *i, const struct part *p,
                              bool ftz, struct ptx_reg to, struct ptx_operand v) {
  (void)i;
  struct ptx_operand one = float_imm(p, 0x3f800000, UINT64_C(0x3ff0000000000000));
  emit3(l, PTX_MUL,
        ftz ? PTX_MODS(PTX_MOD_RN, PTX_MOD_FTZ, PTX_MOD_F32)
            : PTX_MODS(PTX_MOD_RN, part_float_mod(p)),
        ptx_r(to), v, one);
}

void lower_i_canonicalize(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  for_each_lane(l, i, canonicalize_lane);
}

static void emit_round(struct lower *l, uint16_t mode, const struct part *p, bool ftz,
                       struct ptx_reg to, struct ptx_operand v) {
  uint16_t type = part_float_mod(p);
  emit2(l, PTX_CVT, ftz ? PTX_MODS(mode, PTX_MOD_FTZ, type, type) : PTX_MODS(mode, type, type),
        ptx_r(to), v);
}

/* floor, ceil, trunc, rint: `argument` is the rounding modifier. */
void lower_i_round_to_integral(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  const struct part own = intrinsic_part(l, to.scalar, 0);
  for (uint32_t k = 0; k < to.count; k++) {
    struct part p = own;
    if (p.kind != PART_BFLOAT) {
      emit_round(l, (uint16_t)argument, &p, intrinsic_ftz(l, &p), to.at[k].reg,
                 intrinsic_in_reg(l, v.at[k], &p));
      continue;
    }
    struct ptx_operand x = widened(l, v.at[k], &p);
    struct ptx_reg r = lower_temp(l, PTX_F32);
    emit_round(l, (uint16_t)argument, &p, false, r, x);
    lower_from_f32(l, &own, to.at[k].reg, ptx_r(r));
  }
  lower_join(l, i->type, result, to);
}

/* Half away from zero: trunc(|x| + 0.5), but 0 below 0.5 (the sum may round up to 1) and |x| itself
 * where every float is whole; with x's sign. */
static void round_away_lane(struct lower *l, const struct nvm_inst *i, const struct part *p,
                            bool ftz, struct ptx_reg to, struct ptx_operand v) {
  (void)i;
  (void)ftz;
  uint16_t type = part_float_mod(p);
  struct ptx_operand half = float_imm(p, 0x3f000000, UINT64_C(0x3fe0000000000000));
  struct ptx_operand whole = float_imm(p, 0x4b000000, UINT64_C(0x4330000000000000));
  struct ptx_reg magnitude = lower_new_reg(l, p), sum = lower_new_reg(l, p),
                 r = lower_new_reg(l, p);
  struct ptx_reg small = lower_temp(l, PTX_PRED), large = lower_temp(l, PTX_PRED);
  struct ptx_reg not_small = lower_new_reg(l, p), chosen = lower_new_reg(l, p);
  emit2(l, PTX_ABS, PTX_MODS(type), ptx_r(magnitude), v);
  emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_RN, type), ptx_r(sum), ptx_r(magnitude), half);
  emit_round(l, PTX_MOD_RZI, p, false, r, ptx_r(sum));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, type), ptx_r(small), ptx_r(magnitude), half);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_GT, type), ptx_r(large), ptx_r(magnitude), whole);
  intrinsic_select(l, p, not_small, float_imm(p, 0, 0), ptx_r(r), small);
  intrinsic_select(l, p, chosen, ptx_r(magnitude), ptx_r(not_small), large);
  emit3(l, PTX_COPYSIGN, PTX_MODS(type), ptx_r(to), v, ptx_r(chosen));
}

void lower_i_round_away(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  for_each_lane(l, i, round_away_lane);
}

/* lrint, llrint (to nearest even), lround, llround (argument 1: half away from zero). */
void lower_i_float_to_integer(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part own = intrinsic_part(l, v.scalar, 0), target = intrinsic_part(l, to.scalar, 0);
  if (target.kind != PART_INT || to.parts_each != 1) {
    lower_refuse(l, intrinsic_call_name(l, i), "the result has more than 64 bits");
    return;
  }
  for (uint32_t k = 0; k < to.count; k++) {
    struct part p = own;
    struct ptx_operand x = widened(l, v.at[k], &p);
    uint16_t mode = argument ? PTX_MOD_RZI : PTX_MOD_RNI;
    if (argument) {
      struct ptx_reg rounded = lower_new_reg(l, &p);
      round_away_lane(l, i, &p, false, rounded, x);
      x = ptx_r(rounded);
    }
    emit2(l, PTX_CVT, PTX_MODS(mode, part_signed_mod(&target), part_float_mod(&p)), to.at[k], x);
  }
  lower_join(l, i->type, result, to);
}

/* ---- Minimum and maximum ---- */

static void emit_minmax(struct lower *l, enum ptx_op op, bool nan, const struct part *p, bool ftz,
                        struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  uint16_t mods[4] = {PTX_MOD_NONE}, type = part_float_mod(p);
  int n = 0;
  if (ftz) mods[n++] = PTX_MOD_FTZ;
  if (nan) mods[n++] = PTX_MOD_NAN_RESULT;
  mods[n++] = type;
  mods[n] = PTX_MOD_NONE;
  emit3(l, op, mods, ptx_r(to), intrinsic_in_reg(l, a, p), b);
}

static bool has_minmax(const struct lower *l, enum ptx_op op, bool nan, const struct part *p) {
  uint16_t type = part_float_mod(p);
  return lower_has(l, op, nan ? PTX_MODS(PTX_MOD_NAN_RESULT, type) : PTX_MODS(type));
}

/* f32 and f64; where PTX has no .NaN form, a comparison replaces it. */
static void full_minmax(struct lower *l, enum ptx_op op, bool nan, const struct part *p, bool ftz,
                        struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  if (has_minmax(l, op, nan, p)) {
    emit_minmax(l, op, nan, p, ftz, to, a, b);
    return;
  }
  struct ptx_operand x = intrinsic_in_reg(l, a, p);
  struct ptx_reg number = lower_new_reg(l, p), unordered = lower_temp(l, PTX_PRED);
  emit_minmax(l, op, false, p, ftz, number, x, b);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NAN, part_float_mod(p)), ptx_r(unordered), x, b);
  intrinsic_select(l, p, to, float_imm(p, 0x7fffffff, UINT64_C(0x7ff8000000000000)), ptx_r(number),
                   unordered);
}

void intrinsic_float_minmax_lane(struct lower *l, enum ptx_op op, bool nan, const struct part *p,
                                 struct ptx_reg to, struct ptx_operand a, struct ptx_operand b) {
  if (!is_small(p)) {
    full_minmax(l, op, nan, p, intrinsic_ftz(l, p), to, a, b);
  } else if (has_minmax(l, op, nan, p)) {
    emit_minmax(l, op, nan, p, false, to, a, b);
  } else {
    struct ptx_reg r = lower_temp(l, PTX_F32);
    full_minmax(l, op, nan, &intrinsic_f32, false, r, ptx_r(lower_to_f32(l, p, a)),
                ptx_r(lower_to_f32(l, p, b)));
    lower_from_f32(l, p, to, ptx_r(r));
  }
}

static void float_minmax(struct lower *l, const struct nvm_inst *i, enum ptx_op op, bool nan) {
  uint32_t count = lower_type(l, i->type).count;
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    struct ptx_operand a = lower_operand(l, intrinsic_arg(l, i, 0), k);
    struct ptx_operand b = lower_operand(l, intrinsic_arg(l, i, 1), k);
    if (!is_pair(&p) || has_minmax(l, op, nan, &p)) {
      if (is_pair(&p)) emit_minmax(l, op, nan, &p, false, to[k], a, b);
      else intrinsic_float_minmax_lane(l, op, nan, &p, to[k], a, b);
      continue;
    }
    const struct part *lane = is_bfloat(&p) ? &lane_bfloat : &lane_half;
    struct ptx_reg x[2], y[2], r[2];
    lower_unpack_pair(l, a, &x[0], &x[1]);
    lower_unpack_pair(l, b, &y[0], &y[1]);
    for (int j = 0; j < 2; j++) {
      r[j] = lower_temp(l, PTX_B16);
      intrinsic_float_minmax_lane(l, op, nan, lane, r[j], ptx_r(x[j]), ptx_r(y[j]));
    }
    lower_copy(l, to[k], ptx_r(lower_pack_pair(l, ptx_r(r[0]), ptx_r(r[1]))));
  }
}

void lower_i_float_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  float_minmax(l, i, (enum ptx_op)argument, false);
}
void lower_i_float_minmax_nan(struct lower *l, const struct nvm_inst *i, int argument) {
  float_minmax(l, i, (enum ptx_op)argument, true);
}

/* ---- Classification ---- */

/* A format as an unsigned integer, by magnitude:
 *
 *   0       1 .. least-1   least .. infinity-1   infinity   infinity+1 .. quiet-1   quiet .. sign-1
 *   zero    subnormal      normal                infinity   signalling NaN          quiet NaN
 *
 * and the same once more with the sign bit. Every class of the mask is a range or two of it. */
struct float_format {
  uint64_t least, infinity, quiet, sign;
};

static struct float_format format_of(const struct part *p) {
  uint32_t fraction = p->kind == PART_HALF     ? 10
                      : p->kind == PART_BFLOAT ? 7
                      : p->kind == PART_FLOAT  ? 23
                                               : 52;
  uint64_t sign = UINT64_C(1) << (p->bits - 1), least = UINT64_C(1) << fraction;
  return (struct float_format){least, sign - least, sign - least / 2, sign};
}

enum { FPCLASS_ALL = 0x3ff, SEGMENTS = 12 };

/* The bit of llvm.is.fpclass's mask for each segment, positive then negative. */
static const uint16_t segment_class[SEGMENTS] = {0x40, 0x80, 0x100, 0x200, 0x1, 0x2,
                                                 0x20, 0x10, 0x8,   0x4,   0x1, 0x2};

static uint64_t segment_start(const struct float_format *f, int k) {
  const uint64_t starts[6] = {0, 1, f->least, f->infinity, f->infinity + 1, f->quiet};
  return (k < 6 ? 0 : f->sign) + starts[k % 6];
}

/* The bits of a lane in an integer register of its size. */
static struct ptx_reg float_bits(struct lower *l, const struct part *p, struct ptx_operand v) {
  struct part as_int = {.kind = PART_INT, .bits = p->bits, .container = p->container};
  struct ptx_reg r = lower_new_reg(l, &as_int);
  emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), ptx_r(r), v);
  return r;
}

static int64_t as_immediate(const struct part *p, uint64_t bits) {
  return p->bits == 16 ? (int16_t)bits : p->bits == 32 ? (int32_t)bits : (int64_t)bits;
}

/* first <= v <= last, as v - first <= last - first. */
static struct ptx_reg in_range(struct lower *l, const struct part *p, struct ptx_reg v,
                               uint64_t first, uint64_t last) {
  struct part as_int = {.kind = PART_INT, .bits = p->bits, .container = p->container};
  struct ptx_reg hit = lower_temp(l, PTX_PRED), moved = lower_new_reg(l, &as_int);
  emit3(l, PTX_ADD, PTX_MODS(part_signed_mod(&as_int)), ptx_r(moved), ptx_r(v),
        ptx_i(as_immediate(p, 0 - first)));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LE, part_unsigned_mod(&as_int)), ptx_r(hit), ptx_r(moved),
        ptx_i(as_immediate(p, last - first)));
  return hit;
}

static void is_fpclass_lane(struct lower *l, const struct part *p, uint64_t mask, struct ptx_reg to,
                            struct ptx_operand v) {
  struct float_format f = format_of(p);
  struct ptx_reg bits = float_bits(l, p, v), any = {0};
  for (int k = 0; k < SEGMENTS; k++) {
    if (!(mask & segment_class[k])) continue;
    int end = k;
    while (end < SEGMENTS && (mask & segment_class[end])) end++;
    uint64_t last = end == SEGMENTS ? f.sign * 2 - 1 : segment_start(&f, end) - 1;
    struct ptx_reg hit = in_range(l, p, bits, segment_start(&f, k), last), joined;
    if (ptx_reg_is_none(any)) {
      any = hit;
    } else {
      joined = lower_temp(l, PTX_PRED);
      emit3(l, PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(joined), ptx_r(any), ptx_r(hit));
      any = joined;
    }
    k = end;
  }
  if (ptx_reg_is_none(any)) any = lower_int_to_pred(l, ptx_i(0), 32);
  lower_copy(l, to, ptx_r(any));
}

void lower_i_is_fpclass(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  uint64_t mask;
  if (!intrinsic_constant(l, i, 1, &mask)) return;
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct part p = intrinsic_part(l, v.scalar, 0);
  for (uint32_t k = 0; k < v.count; k++)
    is_fpclass_lane(l, &p, mask & FPCLASS_ALL, result[k], intrinsic_in_reg(l, v.at[k], &p));
}

/* ---- Conversions ---- */

/* Half as an i16. argument 1: to it. */
void lower_i_convert_fp16(struct lower *l, const struct nvm_inst *i, int argument) {
  struct ptx_operand v = ptx_r(lower_reg(l, intrinsic_arg(l, i, 0), 0));
  struct ptx_operand to = ptx_r(lower_result(l, l->inst)[0]);
  struct nvm_type wide = argument ? value_type(l->f, intrinsic_arg(l, i, 0)) : i->type;
  struct part p = intrinsic_part(l, wide, 0);
  if (p.kind != PART_FLOAT && p.kind != PART_DOUBLE)
    lower_refuse(l, intrinsic_call_name(l, i), "only float and double are converted");
  else if (argument)
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F16, part_float_mod(&p)), to, v);
  else emit2(l, PTX_CVT, PTX_MODS(part_float_mod(&p), PTX_MOD_F16), to, v);
}

/* Integers the conversion saturates to, of `bits` 1..64. */
static int64_t least_of(bool is_signed, uint32_t bits) {
  return is_signed ? (int64_t)(~UINT64_C(0) << (bits - 1)) : 0;
}
static int64_t greatest_of(bool is_signed, uint32_t bits) {
  uint32_t value_bits = is_signed ? bits - 1 : bits;
  return value_bits == 64 ? -1 : (int64_t)((UINT64_C(1) << value_bits) - 1);
}

/* cvt clamps to its own 32 or 64 bits; min and max to the rest; NaN becomes zero. */
static void saturate_narrow(struct lower *l, bool is_signed, uint32_t bits, const struct part *from,
                            const struct part *to_part, struct ptx_reg to, struct ptx_operand v) {
  const struct part *p = bits <= 32 ? &intrinsic_i32 : &intrinsic_i64;
  uint16_t type = is_signed ? part_signed_mod(p) : part_unsigned_mod(p);
  struct ptx_reg r = lower_new_reg(l, p), nan = lower_temp(l, PTX_PRED),
                 number = lower_new_reg(l, p);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, part_float_mod(from)), ptx_r(r), v);
  if (bits < p->bits) {
    struct ptx_reg low = lower_new_reg(l, p), both = lower_new_reg(l, p);
    emit3(l, PTX_MIN, PTX_MODS(type), ptx_r(low), ptx_r(r), ptx_i(greatest_of(is_signed, bits)));
    emit3(l, PTX_MAX, PTX_MODS(type), ptx_r(both), ptx_r(low), ptx_i(least_of(is_signed, bits)));
    r = both;
  }
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NAN, part_float_mod(from)), ptx_r(nan), v, v);
  intrinsic_select(l, p, number, ptx_i(0), ptx_r(r), nan);
  if (to_part->kind == PART_I1)
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B32), ptx_r(to), ptx_r(number), ptx_i(0));
  else if (to_part->container == p->container) lower_copy(l, to, ptx_r(number));
  else
    emit2(l, PTX_CVT, PTX_MODS(part_unsigned_mod(to_part), part_unsigned_mod(p)), ptx_r(to),
          ptx_r(number));
}

/* 2^exponent of the format; infinity where it has none so large. */
static struct ptx_operand power_of_two(const struct part *p, uint32_t exponent, bool negative) {
  uint64_t f64 = (uint64_t)(1023 + exponent) << 52 | (uint64_t)negative << 63;
  uint32_t f32 = (exponent > 127 ? 255u : 127 + exponent) << 23 | (uint32_t)negative << 31;
  return float_imm(p, f32, f64);
}

static void saturate_wide(struct lower *l, bool is_signed, uint32_t bits, const struct part *from,
                          const struct ptx_operand *to, struct ptx_operand v) {
  struct ptx_reg r[2] = {lower_temp(l, PTX_B64), lower_temp(l, PTX_B64)};
  struct ptx_reg over = lower_temp(l, PTX_PRED), under = lower_temp(l, PTX_PRED);
  uint16_t type = part_float_mod(from);
  lower_float_to_wide(l, is_signed, from->kind == PART_DOUBLE, r, v);
  uint32_t value_bits = is_signed ? bits - 1 : bits;
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_GE, type), ptx_r(over), v,
        power_of_two(from, value_bits, false));
  /* Below the least number, or NaN, which gives zero: the unsigned least is zero too. */
  emit3(l, PTX_SETP, PTX_MODS(is_signed ? PTX_MOD_LT : PTX_MOD_LTU, type), ptx_r(under), v,
        is_signed ? power_of_two(from, value_bits, true) : float_imm(from, 0, 0));
  int64_t greatest[2] = {-1, greatest_of(is_signed, bits - 64)};
  int64_t least[2] = {0, least_of(is_signed, bits - 64)};
  struct ptx_reg nan = lower_temp(l, PTX_PRED);
  if (is_signed) emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NAN, type), ptx_r(nan), v, v);
  for (int k = 0; k < 2; k++) {
    struct ptx_reg low = lower_temp(l, PTX_B64), high = lower_temp(l, PTX_B64);
    intrinsic_select(l, &intrinsic_i64, low, ptx_i(least[k]), ptx_r(r[k]), under);
    intrinsic_select(l, &intrinsic_i64, is_signed ? high : to[k].reg, ptx_i(greatest[k]),
                     ptx_r(low), over);
    if (is_signed) intrinsic_select(l, &intrinsic_i64, to[k].reg, ptx_i(0), ptx_r(high), nan);
  }
}

/* fptosi.sat, fptoui.sat: towards zero, clamped, NaN to zero. */
void lower_i_float_to_int_saturated(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part own = intrinsic_part(l, v.scalar, 0), target = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  for (uint32_t k = 0; k < to.count; k++) {
    struct part p = own;
    struct ptx_operand x = widened(l, v.at[k], &p);
    if (n == 2) saturate_wide(l, argument != 0, bits, &p, &to.at[k * 2], x);
    else saturate_narrow(l, argument != 0, bits, &p, &target, to.at[k].reg, x);
  }
  lower_join(l, i->type, result, to);
}
