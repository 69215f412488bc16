/* See eval.h. The meaning of each op on integers is one row of the table below, over the operations
 * of ir/evalint.h. */
#include "ir/eval.h"

#include "ir/evalfloat.h"

/* --- integers --------------------------------------------------------------------------------- */

/* Every op on integers of `bits` bits: its value, when it is undefined, and when the flags (or the
 * amount of a shift) make it poison. a and b are the operands, zero above `bits`; r is the value,
 * cut off to `to_bits` bits. The rows are expanded for one value of up to 128 bits (P:
 * evalint_wide) and for many of up to 64 (P: evalint_narrow). nuw and exact are 0 or 1, nsw is the
 * sign bit or 0. Products overflow if twice their bits fit into the type; the others are
 * wide_mul_overflows(). */
#define INT_OPS(ROW, P)                                                                      \
  ROW(OP_ADD, P##_add(bits, a, b), 0, (nuw & (r < a)) | (nsw & (a ^ r) & (b ^ r)))           \
  ROW(OP_SUB, P##_sub(bits, a, b), 0, (nuw & (a < b)) | (nsw & (a ^ b) & (a ^ r)))           \
  ROW(OP_MUL, P##_mul(bits, a, b), 0,                                                        \
      (nuw & (a * b > mask)) |                                                               \
          (nsw && P##_sext(bits, a) * P##_sext(bits, b) != P##_sext(bits, r)))               \
  ROW(OP_UDIV, P##_div_u(bits, a, b), b == 0, exact && P##_rem_u(bits, a, b) != 0)           \
  ROW(OP_SDIV, P##_div_s(bits, a, b), b == 0 || (a == sign && b == mask),                    \
      exact && P##_rem_s(bits, a, b) != 0)                                                   \
  ROW(OP_UREM, P##_rem_u(bits, a, b), b == 0, 0)                                             \
  ROW(OP_SREM, P##_rem_s(bits, a, b), b == 0 || (a == sign && b == mask), 0)                 \
  ROW(OP_SHL, P##_shl(bits, a, b), 0,                                                        \
      b >= bits || (nuw && P##_shr_u(bits, r, b) != a) ||                                    \
          (nsw && (P##_shr_s(bits, r, b) & mask) != a))                                      \
  ROW(OP_LSHR, P##_shr_u(bits, a, b), 0,                                                     \
      b >= bits || (exact && (P##_shl(bits, r, b) & mask) != a))                             \
  ROW(OP_ASHR, P##_shr_s(bits, a, b), 0,                                                     \
      b >= bits || (exact && (P##_shl(bits, r, b) & mask) != a))                             \
  ROW(OP_AND, P##_and(bits, a, b), 0, 0)                                                     \
  ROW(OP_OR, P##_or(bits, a, b), 0, (flags & INST_DISJOINT) != 0 ? (a & b) : 0)              \
  ROW(OP_XOR, P##_xor(bits, a, b), 0, 0)                                                     \
  ROW(OP_TRUNC, a, 0, (nuw && r != a) || (nsw && P##_sext(to_bits, r) != P##_sext(bits, a))) \
  ROW(OP_ZEXT, a, 0, (flags & INST_NNEG) != 0 ? (a & sign) : 0)                              \
  ROW(OP_SEXT, P##_sext(bits, a), 0, 0)

#define INT_COMPARISONS(ROW, P)       \
  ROW(ICMP_EQ, P##_eq(bits, a, b))    \
  ROW(ICMP_NE, P##_ne(bits, a, b))    \
  ROW(ICMP_UGT, P##_gt_u(bits, a, b)) \
  ROW(ICMP_UGE, P##_ge_u(bits, a, b)) \
  ROW(ICMP_ULT, P##_lt_u(bits, a, b)) \
  ROW(ICMP_ULE, P##_le_u(bits, a, b)) \
  ROW(ICMP_SGT, P##_gt_s(bits, a, b)) \
  ROW(ICMP_SGE, P##_ge_s(bits, a, b)) \
  ROW(ICMP_SLT, P##_lt_s(bits, a, b)) \
  ROW(ICMP_SLE, P##_le_s(bits, a, b))

/* Of more than 64 bits: the overflow cannot be read off the 128-bit product. */
static bool wide_mul_overflows(nvm_u128 a, nvm_u128 b, uint32_t bits, uint16_t flags) {
  if ((flags & INST_NUW) && a != 0 && b > eval_mask(bits) / a) return true;
  if (!(flags & INST_NSW)) return false;
  nvm_i128 x = eval_signed(a, bits), y = eval_signed(b, bits);
  if (x == 0 || y == 0) return false;
  nvm_u128 ux = x < 0 ? 0 - (nvm_u128)x : (nvm_u128)x, uy = y < 0 ? 0 - (nvm_u128)y : (nvm_u128)y;
  nvm_u128 most = ((nvm_u128)1 << (bits - 1)) - ((x < 0) == (y < 0) ? 1 : 0);
  return ux > most / uy;
}

/* False where there is no result: undefined behaviour, or no op of the table. */
static bool int_op(enum op op, uint16_t flags, uint32_t bits, uint32_t to_bits, nvm_u128 a,
                   nvm_u128 b, struct eval_lane *out) {
  const nvm_u128 sign = (nvm_u128)1 << (bits - 1), mask = eval_mask(bits);
  const nvm_u128 nuw = flags & INST_NUW ? 1 : 0, nsw = flags & INST_NSW ? sign : 0;
  const bool exact = flags & INST_EXACT;
  nvm_u128 r;
#define CASE(op, value, undefined, poisoned) \
  case op:                                   \
    if (undefined) return false;             \
    r = eval_mask(to_bits) & (value);        \
    out->poison = (poisoned) != 0;           \
    break;
  switch (op) {
    INT_OPS(CASE, evalint_wide)
    default: return false;
  }
#undef CASE
  if (op == OP_MUL && bits > 64) out->poison = wide_mul_overflows(a, b, bits, flags);
  out->bits = r;
  return true;
}

static bool int_compare(enum icmp_predicate pred, uint32_t bits, nvm_u128 a, nvm_u128 b) {
#define CASE(pred, value) \
  case pred: return value;
  switch (pred) {
    INT_COMPARISONS(CASE, evalint_wide)
    case ICMP_COUNT: break;
  }
#undef CASE
  return false;
}

/* --- integers of many lanes ------------------------------------------------------------------- */

/* Whether a lane is undefined or poison, so that the lanes must be evaluated one by one. */
static bool row_has_poison(enum op op, uint16_t flags, uint32_t bits, uint32_t to_bits,
                           const uint64_t *x, const uint64_t *y, uint32_t count) {
  const uint64_t sign = UINT64_C(1) << (bits - 1), mask = evalint_mask(bits);
  const uint64_t nuw = flags & INST_NUW ? 1 : 0, nsw = flags & INST_NSW ? sign : 0;
  const bool exact = flags & INST_EXACT;
  uint64_t bad = 0, to_mask = evalint_mask(to_bits);
#define CASE(op, value, undefined, poisoned)                    \
  case op:                                                      \
    for (uint32_t i = 0; i < count; i++) {                      \
      const uint64_t a = x[i], b = y[i], r = to_mask & (value); \
      (void)b, (void)r;                                         \
      bad |= (undefined) ? 1 : (uint64_t)(poisoned);            \
    }                                                           \
    break;
  switch (op) {
    INT_OPS(CASE, evalint_narrow)
    default: return true;
  }
#undef CASE
  return bad != 0;
}

static bool compare_row(uint16_t flags, enum icmp_predicate pred, uint32_t bits, const uint64_t *x,
                        const uint64_t *y, uint64_t *d, uint32_t count) {
  if (flags & INST_SAMESIGN)
    for (uint32_t i = 0; i < count; i++)
      if ((x[i] ^ y[i]) >> (bits - 1)) return false;
#define CASE(pred, value)                  \
  case pred:                               \
    for (uint32_t i = 0; i < count; i++) { \
      const uint64_t a = x[i], b = y[i];   \
      d[i] = value;                        \
    }                                      \
    return true;
  switch (pred) {
    INT_COMPARISONS(CASE, evalint_narrow)
    case ICMP_COUNT: break;
  }
#undef CASE
  return false;
}

bool eval_row(enum op op, uint16_t flags, uint32_t aux, uint32_t bits, uint32_t to_bits,
              const uint64_t *x, const uint64_t *y, uint64_t *d, uint32_t count) {
  const uint64_t mask = evalint_mask(to_bits);
  if (op == OP_ICMP) return compare_row(flags, (enum icmp_predicate)aux, bits, x, y, d, count);
  bool may_fail = flags || (op >= OP_UDIV && op <= OP_ASHR);
  if (op == OP_MUL && flags && bits > 32) return false;
  if (may_fail && row_has_poison(op, flags, bits, to_bits, x, y, count)) return false;
#define CASE(op, value, undefined, poisoned) \
  case op:                                   \
    for (uint32_t i = 0; i < count; i++) {   \
      const uint64_t a = x[i], b = y[i];     \
      (void)b;                               \
      d[i] = mask & (value);                 \
    }                                        \
    return true;
  switch (op) {
    INT_OPS(CASE, evalint_narrow)
    default: return false;
  }
#undef CASE
}

/* --- floats ----------------------------------------------------------------------------------- */

enum float_format eval_format(enum type_kind k) {
  return k == TY_HALF     ? FLOAT_HALF
         : k == TY_BFLOAT ? FLOAT_BFLOAT
         : k == TY_FLOAT  ? FLOAT_SINGLE
                          : FLOAT_DOUBLE;
}

bool eval_violates_flags(enum float_format f, uint16_t flags, uint64_t v) {
  return ((flags & INST_NNAN) && evalfloat_is_nan(f, v)) ||
         ((flags & INST_NINF) && evalfloat_is_infinite(f, v));
}

static bool float_binary(enum op op, uint16_t flags, enum float_format f, uint64_t a, uint64_t b,
                         struct eval_lane *out) {
  uint64_t r;
  switch (op) {
    case OP_FADD: r = evalfloat_add(f, EVALFLOAT_NEAREST, a, b); break;
    case OP_FSUB: r = evalfloat_sub(f, EVALFLOAT_NEAREST, a, b); break;
    case OP_FMUL: r = evalfloat_mul(f, EVALFLOAT_NEAREST, a, b); break;
    case OP_FDIV: r = evalfloat_div(f, EVALFLOAT_NEAREST, a, b); break;
    case OP_FREM: r = evalfloat_rem(f, a, b); break;
    default: return false;
  }
  out->bits = r;
  out->poison = eval_violates_flags(f, flags, a) || eval_violates_flags(f, flags, b) ||
                eval_violates_flags(f, flags, r);
  return true;
}

static bool float_compare(enum fcmp_predicate pred, enum float_format f, uint64_t a, uint64_t b) {
  int order = evalfloat_compare(f, a, b);
  unsigned bit = order == 0 ? 1 : order == 1 ? 2 : order == -1 ? 4 : 8;
  return ((unsigned)pred & bit) != 0;
}

/* --- casts ------------------------------------------------------------------------------------ */

static bool cast_from_float(enum op op, uint16_t flags, enum float_format f,
                            const struct type_info *to, uint64_t a, struct eval_lane *out) {
  enum float_format other = eval_format((enum type_kind)to->kind);
  switch (op) {
    case OP_FPTRUNC:
    case OP_FPEXT:
      out->bits = evalfloat_convert(f, other, EVALFLOAT_NEAREST, a);
      out->poison = eval_violates_flags(f, flags, a) ||
                    eval_violates_flags(other, flags, (uint64_t)out->bits);
      return true;
    case OP_FPTOUI:
    case OP_FPTOSI:
      out->bits =
          evalfloat_to_wide_int(f, EVALFLOAT_ZERO, to->width, op == OP_FPTOSI, a, &out->poison);
      return true;
    default: return false;
  }
}

static bool int_to_float(enum op op, uint16_t flags, uint32_t bits, const struct type_info *to,
                         nvm_u128 a, struct eval_lane *out) {
  if (op != OP_UITOFP && op != OP_SITOFP) return false;
  out->bits = evalfloat_from_wide_int(eval_format((enum type_kind)to->kind), EVALFLOAT_NEAREST,
                                      bits, op == OP_SITOFP, a);
  out->poison = op == OP_UITOFP && (flags & INST_NNEG) && eval_signed(a, bits) < 0;
  return true;
}

/* --- one lane --------------------------------------------------------------------------------- */

/* The first operand is the condition; the arms have the result's type. */
static void select_lane(uint16_t flags, enum type_kind kind, const struct eval_lane *in,
                        struct eval_lane *out) {
  *out = in[in[0].bits ? 1 : 2];
  if (in[0].poison || (eval_is_float_kind(kind) &&
                       eval_violates_flags(eval_format(kind), flags, (uint64_t)out->bits)))
    out->poison = true;
}

static bool float_lane(enum op op, uint16_t flags, uint32_t aux, enum float_format f,
                       const struct type_info *to, const struct eval_lane *in,
                       struct eval_lane *out) {
  uint64_t a = (uint64_t)in[0].bits;
  if (op_is_cast(op)) return cast_from_float(op, flags, f, to, a, out);
  if (op == OP_FNEG) {
    out->bits = a ^ evalfloat_sign(f);
    out->poison = eval_violates_flags(f, flags, a);
    return true;
  }
  uint64_t b = (uint64_t)in[1].bits;
  if (op != OP_FCMP) return float_binary(op, flags, f, a, b, out);
  out->bits = float_compare((enum fcmp_predicate)aux, f, a, b);
  out->poison = eval_violates_flags(f, flags, a) || eval_violates_flags(f, flags, b);
  return true;
}

static bool int_lane(enum op op, uint16_t flags, uint32_t aux, uint32_t bits,
                     const struct type_info *to, const struct eval_lane *in,
                     struct eval_lane *out) {
  nvm_u128 a = in[0].bits, b = op_is_cast(op) ? 0 : in[1].bits;
  if (op == OP_ICMP) {
    out->bits = int_compare((enum icmp_predicate)aux, bits, a, b);
    out->poison = (flags & INST_SAMESIGN) && (a ^ b) >> (bits - 1) != 0;
    return true;
  }
  return to->kind == TY_INT ? int_op(op, flags, bits, to->width, a, b, out)
                            : int_to_float(op, flags, bits, to, a, out);
}

static bool is_foldable(enum op op) {
  return op_is_binary(op) || op == OP_FNEG || op == OP_FREEZE || op == OP_ICMP || op == OP_FCMP ||
         (op_is_cast(op) && op < OP_PTRTOINT) || op == OP_BITCAST;
}

bool eval_lane(const struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
               struct nvm_type result, struct nvm_type operand, const struct eval_lane *in,
               struct eval_lane *out) {
  const struct type_info *from = type_info(&m->types, operand), *to = type_info(&m->types, result);
  enum type_kind kind = (enum type_kind)from->kind;
  *out = (struct eval_lane){0, false};
  if ((kind != TY_INT && !eval_is_float_kind(kind)) || (!is_foldable(op) && op != OP_SELECT))
    return false;
  if (op == OP_FREEZE) { /* an arbitrary value: zero */
    if (!in[0].poison) *out = in[0];
    return true;
  }
  if (op == OP_SELECT) {
    select_lane(flags, (enum type_kind)to->kind, in, out);
    return true;
  }
  bool binary = op_is_binary(op) || op == OP_ICMP || op == OP_FCMP;
  bool division = op == OP_UDIV || op == OP_SDIV || op == OP_UREM || op == OP_SREM;
  if (division && (in[1].poison || in[1].bits == 0)) return false;
  if (in[0].poison || (binary && in[1].poison)) {
    out->poison = true;
    return true;
  }
  if (op == OP_BITCAST) {
    out->bits = in[0].bits;
    return type_scalar_bits(&m->types, operand) == type_scalar_bits(&m->types, result);
  }
  if (eval_is_float_kind(kind)) return float_lane(op, flags, aux, eval_format(kind), to, in, out);
  return int_lane(op, flags, aux, from->width, to, in, out);
}

/* --- constants -------------------------------------------------------------------------------- */

bool eval_lane_of(const struct nvm_module *m, struct nvm_value v, struct eval_lane *lane) {
  *lane = (struct eval_lane){0, false};
  if (value_kind(v) != VALUE_CONST) return false;
  const struct constant_info *c = constant_info(&m->constants, v);
  switch ((enum constant_kind)c->kind) {
    case CONST_INT: return const_is_int(m, v, &lane->bits);
    case CONST_FLOAT: lane->bits = c->bits; return true;
    case CONST_POISON: lane->poison = true; return true;
    default: return false;
  }
}

struct nvm_value eval_constant_of(struct nvm_module *m, struct nvm_type type,
                                  struct eval_lane lane) {
  if (lane.poison) return const_poison(m, type);
  if (type_is_int(&m->types, type)) return const_int(m, type, lane.bits);
  return const_float(m, type, (uint64_t)lane.bits);
}

static struct nvm_value fold_scalar(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                                    struct nvm_type type, const struct nvm_value *operands,
                                    uint32_t count) {
  struct eval_lane in[2], out;
  for (uint32_t k = 0; k < count; k++)
    if (!eval_lane_of(m, operands[k], &in[k])) return VALUE_NULL;
  struct nvm_type from = constant_info(&m->constants, operands[0])->type;
  if (!eval_lane(m, op, flags, aux, type, from, in, &out)) return VALUE_NULL;
  return eval_constant_of(m, type, out);
}

static struct nvm_value fold_vector(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                                    struct nvm_type type, const struct nvm_value *operands,
                                    uint32_t count) {
  uint64_t lanes = type_info(&m->types, type)->count;
  struct nvm_type from = constant_info(&m->constants, operands[0])->type;
  struct nvm_value result[EVAL_MOST_LANES];
  if (lanes > EVAL_MOST_LANES || !type_is_vector(&m->types, from) ||
      type_info(&m->types, from)->count != lanes)
    return VALUE_NULL;
  struct nvm_type scalar = type_scalar(&m->types, type);
  for (uint64_t i = 0; i < lanes; i++) {
    struct nvm_value element[2];
    for (uint32_t k = 0; k < count; k++) {
      element[k] = const_element(m, operands[k], i);
      if (value_is_none(element[k])) return VALUE_NULL;
    }
    result[i] = fold_scalar(m, op, flags, aux, scalar, element, count);
    if (value_is_none(result[i])) return VALUE_NULL;
  }
  return const_aggregate(m, type, result, (uint32_t)lanes);
}

static uint64_t element_count(const struct nvm_module *m, struct nvm_type type) {
  return type_is_vector(&m->types, type) ? type_info(&m->types, type)->count : 1;
}

/* Vector element or the scalar itself. */
static struct nvm_value element_or_self(struct nvm_module *m, struct nvm_value v, uint64_t i) {
  return type_is_vector(&m->types, constant_info(&m->constants, v)->type) ? const_element(m, v, i)
                                                                          : v;
}

/* Bits [at, at + count) of lanes of `bits` bits each, lane 0 lowest. */
static nvm_u128 lane_bits(const struct eval_lane *lanes, uint32_t bits, uint64_t at,
                          uint32_t count) {
  nvm_u128 all = 0;
  for (uint32_t done = 0; done < count;) {
    uint32_t skip = (uint32_t)((at + done) % bits),
             take = bits - skip < count - done ? bits - skip : count - done;
    all |= (lanes[(at + done) / bits].bits >> skip & eval_mask(take)) << done;
    done += take;
  }
  return all;
}

/* Between vectors of different lengths, or a vector and a scalar: lane 0 is lowest. */
static struct nvm_value fold_bitcast(struct nvm_module *m, struct nvm_type type,
                                     struct nvm_value v) {
  struct nvm_type from = constant_info(&m->constants, v)->type, to = type_scalar(&m->types, type);
  uint32_t bits = type_scalar_bits(&m->types, type_scalar(&m->types, from));
  uint32_t to_bits = type_scalar_bits(&m->types, to);
  uint64_t count = element_count(m, from), to_count = element_count(m, type);
  struct nvm_value result[128];
  struct eval_lane lanes[128];
  if (bits == 0 || to_bits == 0 || bits > 128 || to_bits > 128 || count > 128 || to_count > 128 ||
      bits * count != to_bits * to_count)
    return VALUE_NULL;
  for (uint64_t i = 0; i < count; i++)
    if (!eval_lane_of(m, element_or_self(m, v, i), &lanes[i]) || lanes[i].poison) return VALUE_NULL;
  for (uint64_t i = 0; i < to_count; i++) {
    struct eval_lane lane = {lane_bits(lanes, bits, i * to_bits, to_bits), false};
    result[i] = eval_constant_of(m, to, lane);
    if (value_is_none(result[i])) return VALUE_NULL;
  }
  return type_equal(to, type) ? result[0] : const_aggregate(m, type, result, (uint32_t)to_count);
}

static struct nvm_value fold_select(struct nvm_module *m, struct nvm_type type,
                                    const struct nvm_value *operands) {
  nvm_u128 condition;
  struct nvm_value c = operands[0], result[EVAL_MOST_LANES];
  if (const_is_int(m, c, &condition)) return operands[condition ? 1 : 2];
  if (value_kind(c) != VALUE_CONST) return VALUE_NULL;
  if (constant_info(&m->constants, c)->kind == CONST_POISON) return const_poison(m, type);
  uint64_t lanes = element_count(m, constant_info(&m->constants, c)->type);
  if (lanes > EVAL_MOST_LANES || !type_is_vector(&m->types, type)) return VALUE_NULL;
  for (uint64_t i = 0; i < lanes; i++) {
    struct nvm_value choice = const_element(m, c, i);
    if (!const_is_int(m, choice, &condition)) return VALUE_NULL;
    result[i] = const_element(m, operands[condition ? 1 : 2], i);
    if (value_is_none(result[i])) return VALUE_NULL;
  }
  return const_aggregate(m, type, result, (uint32_t)lanes);
}

/* An index beyond a vector's end makes poison; members are checked by the verifier. */
static struct nvm_value fold_extract(struct nvm_module *m, struct nvm_type type,
                                     const struct nvm_value *operands, uint32_t count) {
  struct nvm_value v = operands[0];
  for (uint32_t k = 1; k < count && !value_is_none(v); k++) {
    nvm_u128 index;
    if (value_kind(v) != VALUE_CONST || !const_is_int(m, operands[k], &index)) return VALUE_NULL;
    struct nvm_type of = constant_info(&m->constants, v)->type;
    if (index >= type_info(&m->types, of)->count)
      return type_is_vector(&m->types, of) ? const_poison(m, type) : VALUE_NULL;
    v = const_element(m, v, (uint64_t)index);
  }
  return v;
}

/* `into` with the element at `count` indices replaced; aggregates of few elements only. */
static struct nvm_value insert_at(struct nvm_module *m, struct nvm_value into,
                                  struct nvm_value element, const struct nvm_value *indices,
                                  uint32_t count) {
  nvm_u128 index;
  struct nvm_value result[EVAL_MOST_LANES];
  if (count == 0) return element;
  if (value_kind(into) != VALUE_CONST || !const_is_int(m, indices[0], &index)) return VALUE_NULL;
  struct nvm_type type = constant_info(&m->constants, into)->type;
  uint64_t elements = type_info(&m->types, type)->count;
  if (index >= elements)
    return type_is_vector(&m->types, type) ? const_poison(m, type) : VALUE_NULL;
  if (elements > EVAL_MOST_LANES) return VALUE_NULL;
  for (uint64_t i = 0; i < elements; i++) {
    result[i] = const_element(m, into, i);
    if (i == index && !value_is_none(result[i]))
      result[i] = insert_at(m, result[i], element, indices + 1, count - 1);
    if (value_is_none(result[i])) return VALUE_NULL;
  }
  return const_aggregate(m, type, result, (uint32_t)elements);
}

static struct nvm_value fold_shuffle(struct nvm_module *m, struct nvm_type type,
                                     const struct nvm_value *operands) {
  struct nvm_value result[EVAL_MOST_LANES];
  uint64_t lanes = type_info(&m->types, type)->count;
  uint64_t each = element_count(m, constant_info(&m->constants, operands[0])->type);
  if (lanes > EVAL_MOST_LANES) return VALUE_NULL;
  for (uint64_t i = 0; i < lanes; i++) {
    nvm_u128 from;
    struct nvm_value choice = const_element(m, operands[2], i);
    if (const_is_int(m, choice, &from))
      result[i] =
          const_element(m, operands[from >= each], (uint64_t)(from >= each ? from - each : from));
    else if (const_is_undef_or_poison(m, choice))
      result[i] = const_poison(m, type_scalar(&m->types, type));
    else return VALUE_NULL;
    if (value_is_none(result[i])) return VALUE_NULL;
  }
  return const_aggregate(m, type, result, (uint32_t)lanes);
}

struct nvm_value eval_fold(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                           struct nvm_type type, const struct nvm_value *operands, uint32_t count) {
  if (op == OP_SELECT) return fold_select(m, type, operands);
  for (uint32_t k = 0; k < count; k++)
    if (value_kind(operands[k]) != VALUE_CONST) return VALUE_NULL;
  if (op == OP_EXTRACTVALUE || op == OP_EXTRACTELEMENT)
    return fold_extract(m, type, operands, count);
  if (op == OP_INSERTELEMENT) return insert_at(m, operands[0], operands[1], operands + 2, 1);
  if (op == OP_INSERTVALUE) return insert_at(m, operands[0], operands[1], operands + 2, count - 2);
  if (op == OP_SHUFFLEVECTOR) return fold_shuffle(m, type, operands);
  if (!is_foldable(op) || count == 0 || count > 2) return VALUE_NULL;
  struct nvm_type from = constant_info(&m->constants, operands[0])->type;
  if (op == OP_BITCAST && element_count(m, type) != element_count(m, from))
    return fold_bitcast(m, type, operands[0]);
  if (type_is_vector(&m->types, type)) return fold_vector(m, op, flags, aux, type, operands, count);
  return fold_scalar(m, op, flags, aux, type, operands, count);
}
