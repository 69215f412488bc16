/* What the ops compute; see eval.h. Integers of all widths share one path of 128-bit arithmetic:
 * operands are zero-extended, signed ops extend them by sign first, results are cut to the width. */
#include "ir/eval.h"

#include "ir/evalfloat.h"

/* --- integers --------------------------------------------------------------------------------- */

static nvm_u128 mask_of(uint32_t bits) {
  return bits >= 128 ? ~(nvm_u128)0 : ((nvm_u128)1 << bits) - 1;
}

static nvm_i128 signed_of(nvm_u128 v, uint32_t bits) {
  nvm_u128 sign = (nvm_u128)1 << (bits - 1);
  v &= mask_of(bits);
  return (nvm_i128)((v ^ sign) - sign);
}

static bool add_overflows(nvm_u128 a, nvm_u128 b, nvm_u128 r, uint32_t bits, uint16_t flags) {
  bool carried = (r & mask_of(bits)) < a || (bits == 128 && r < a);
  bool sa = signed_of(a, bits) < 0, sb = signed_of(b, bits) < 0, sr = signed_of(r, bits) < 0;
  return ((flags & INST_NUW) && carried) || ((flags & INST_NSW) && sa == sb && sr != sa);
}

static bool sub_overflows(nvm_u128 a, nvm_u128 b, nvm_u128 r, uint32_t bits, uint16_t flags) {
  bool sa = signed_of(a, bits) < 0, sb = signed_of(b, bits) < 0, sr = signed_of(r, bits) < 0;
  return ((flags & INST_NUW) && a < b) || ((flags & INST_NSW) && sa != sb && sr != sa);
}

static bool mul_overflows(nvm_u128 a, nvm_u128 b, uint32_t bits, uint16_t flags) {
  if ((flags & INST_NUW) && a != 0 && b > mask_of(bits) / a) return true;
  if (!(flags & INST_NSW)) return false;
  nvm_i128 x = signed_of(a, bits), y = signed_of(b, bits);
  if (x == 0 || y == 0) return false;
  nvm_u128 ux = x < 0 ? 0 - (nvm_u128)x : (nvm_u128)x, uy = y < 0 ? 0 - (nvm_u128)y : (nvm_u128)y;
  nvm_u128 most = ((nvm_u128)1 << (bits - 1)) - ((x < 0) == (y < 0) ? 1 : 0);
  return ux > most / uy;
}

/* Division: false for what is undefined. */
static bool divide(enum op op, uint16_t flags, uint32_t bits, nvm_u128 a, nvm_u128 b,
                   struct eval_lane *out) {
  if (b == 0) return false;
  if (op == OP_UDIV || op == OP_UREM) {
    out->bits = op == OP_UDIV ? a / b : a % b;
    out->poison = op == OP_UDIV && (flags & INST_EXACT) && a % b != 0;
    return true;
  }
  nvm_i128 x = signed_of(a, bits), y = signed_of(b, bits);
  if (y == -1 && a == (nvm_u128)1 << (bits - 1)) return false; /* the quotient has no number */
  out->bits = (nvm_u128)(op == OP_SDIV ? x / y : x % y);
  out->poison = op == OP_SDIV && (flags & INST_EXACT) && x % y != 0;
  return true;
}

static void shift(enum op op, uint16_t flags, uint32_t bits, nvm_u128 a, nvm_u128 b,
                  struct eval_lane *out) {
  if (b >= bits) {
    out->poison = true;
    return;
  }
  unsigned n = (unsigned)b;
  nvm_u128 lost = a & mask_of(n);
  if (op == OP_SHL) {
    out->bits = (a << n) & mask_of(bits);
    bool unsigned_lost = out->bits >> n != a;
    bool signed_lost = (signed_of(out->bits, bits) >> n) != signed_of(a, bits);
    out->poison = ((flags & INST_NUW) && unsigned_lost) || ((flags & INST_NSW) && signed_lost);
    return;
  }
  out->bits = op == OP_LSHR ? a >> n : (nvm_u128)(signed_of(a, bits) >> n);
  out->poison = (flags & INST_EXACT) && n != 0 && lost != 0;
}

static bool int_binary(enum op op, uint16_t flags, uint32_t bits, nvm_u128 a, nvm_u128 b,
                       struct eval_lane *out) {
  switch (op) {
  case OP_ADD:
    out->bits = a + b;
    out->poison = add_overflows(a, b, out->bits, bits, flags);
    break;
  case OP_SUB:
    out->bits = a - b;
    out->poison = sub_overflows(a, b, out->bits, bits, flags);
    break;
  case OP_MUL:
    out->bits = a * b;
    out->poison = mul_overflows(a, b, bits, flags);
    break;
  case OP_UDIV: case OP_SDIV: case OP_UREM: case OP_SREM:
    if (!divide(op, flags, bits, a, b, out)) return false;
    break;
  case OP_SHL: case OP_LSHR: case OP_ASHR: shift(op, flags, bits, a, b, out); break;
  case OP_AND: out->bits = a & b; break;
  case OP_OR:
    out->bits = a | b;
    out->poison = (flags & INST_DISJOINT) && (a & b) != 0;
    break;
  case OP_XOR: out->bits = a ^ b; break;
  default: return false;
  }
  out->bits &= mask_of(bits);
  return true;
}

static bool int_compare(enum icmp_predicate pred, uint32_t bits, nvm_u128 a, nvm_u128 b) {
  nvm_i128 x = signed_of(a, bits), y = signed_of(b, bits);
  switch (pred) {
  case ICMP_EQ: return a == b;
  case ICMP_NE: return a != b;
  case ICMP_UGT: return a > b;
  case ICMP_UGE: return a >= b;
  case ICMP_ULT: return a < b;
  case ICMP_ULE: return a <= b;
  case ICMP_SGT: return x > y;
  case ICMP_SGE: return x >= y;
  case ICMP_SLT: return x < y;
  case ICMP_SLE: return x <= y;
  case ICMP_COUNT: break;
  }
  return false;
}

/* --- floats ----------------------------------------------------------------------------------- */

static enum float_format format_of(enum type_kind k) {
  return k == TY_HALF     ? FLOAT_HALF
         : k == TY_BFLOAT ? FLOAT_BFLOAT
         : k == TY_FLOAT  ? FLOAT_SINGLE
                          : FLOAT_DOUBLE;
}

/* What nnan and ninf promise of a value. */
static bool breaks_promise(enum float_format f, uint16_t flags, uint64_t v) {
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
  out->poison =
      breaks_promise(f, flags, a) || breaks_promise(f, flags, b) || breaks_promise(f, flags, r);
  return true;
}

static bool float_compare(enum fcmp_predicate pred, enum float_format f, uint64_t a, uint64_t b) {
  int order = evalfloat_compare(f, a, b);
  unsigned bit = order == 0 ? 1 : order == 1 ? 2 : order == -1 ? 4 : 8;
  return ((unsigned)pred & bit) != 0;
}

/* --- casts ------------------------------------------------------------------------------------ */

static bool cast_from_float(enum op op, enum float_format f,
                            const struct type_info *to, uint64_t a, struct eval_lane *out) {
  bool out_of_range = false;
  switch (op) {
  case OP_FPTRUNC: case OP_FPEXT:
    out->bits = evalfloat_convert(f, format_of((enum type_kind)to->kind), EVALFLOAT_NEAREST, a);
    return true;
  case OP_FPTOUI: case OP_FPTOSI:
    if (to->width > 64) return false;
    out->bits = evalfloat_to_int(f, EVALFLOAT_ZERO, to->width, op == OP_FPTOSI, a, &out_of_range);
    out->poison = out_of_range;
    return true;
  default: return false;
  }
}

static bool cast_from_int(enum op op, uint16_t flags, uint32_t bits, const struct type_info *to,
                          nvm_u128 a, struct eval_lane *out) {
  bool negative = signed_of(a, bits) < 0;
  switch (op) {
  case OP_TRUNC:
    out->bits = a & mask_of(to->width);
    out->poison =
        ((flags & INST_NUW) && out->bits != a) ||
        ((flags & INST_NSW) && signed_of(out->bits, to->width) != signed_of(a, bits));
    return true;
  case OP_ZEXT:
    out->bits = a;
    out->poison = (flags & INST_NNEG) && negative;
    return true;
  case OP_SEXT: out->bits = (nvm_u128)signed_of(a, bits) & mask_of(to->width); return true;
  case OP_UITOFP: case OP_SITOFP:
    if (bits > 64) return false;
    out->bits = evalfloat_from_int(format_of((enum type_kind)to->kind), EVALFLOAT_NEAREST, bits,
                                   op == OP_SITOFP, (uint64_t)a);
    out->poison = op == OP_UITOFP && (flags & INST_NNEG) && negative;
    return true;
  default: return false;
  }
}

/* --- one lane --------------------------------------------------------------------------------- */

static bool is_float_kind(enum type_kind k) { return k >= TY_HALF && k <= TY_DOUBLE; }

bool eval_lane(const struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
               struct nvm_type result, struct nvm_type operand, const struct eval_lane *in,
               struct eval_lane *out) {
  const struct type_info *from = type_info(&m->types, operand), *to = type_info(&m->types, result);
  enum type_kind kind = (enum type_kind)from->kind;
  *out = (struct eval_lane){0, false};
  if (kind != TY_INT && !is_float_kind(kind)) return false;
  bool is_float = is_float_kind(kind), binary = op_is_binary(op) || op == OP_ICMP || op == OP_FCMP;
  if (op == OP_FREEZE) { /* any value would do: zero */
    if (!in[0].poison) *out = in[0];
    return true;
  }
  if (binary && (op == OP_UDIV || op == OP_SDIV || op == OP_UREM || op == OP_SREM) && in[1].poison)
    return false;
  if (in[0].poison || (binary && in[1].poison)) {
    out->poison = true;
    return true;
  }
  uint64_t a = (uint64_t)in[0].bits;
  if (op == OP_BITCAST) {
    out->bits = in[0].bits;
    return type_scalar_bits(&m->types, operand) == type_scalar_bits(&m->types, result);
  }
  if (is_float) {
    enum float_format f = format_of(kind);
    if (op == OP_FNEG) out->bits = a ^ UINT64_C(1) << (type_scalar_bits(&m->types, operand) - 1);
    else if (op == OP_FCMP)
      out->bits = float_compare((enum fcmp_predicate)aux, f, a, (uint64_t)in[1].bits);
    else if (op_is_cast(op)) return cast_from_float(op, f, to, a, out);
    else return float_binary(op, flags, f, a, (uint64_t)in[1].bits, out);
    return true;
  }
  if (op == OP_ICMP) {
    bool same_sign = (signed_of(in[0].bits, from->width) < 0) ==
                     (signed_of(in[1].bits, from->width) < 0);
    out->bits = int_compare((enum icmp_predicate)aux, from->width, in[0].bits, in[1].bits);
    out->poison = (flags & INST_SAMESIGN) && !same_sign;
    return true;
  }
  if (op_is_cast(op)) return cast_from_int(op, flags, from->width, to, in[0].bits, out);
  return int_binary(op, flags, from->width, in[0].bits, in[1].bits, out);
}

/* --- constants -------------------------------------------------------------------------------- */

/* A scalar constant as a lane; false for undef, pointers, expressions. */
static bool lane_of(const struct nvm_module *m, struct nvm_value v, struct eval_lane *lane) {
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

static struct nvm_value constant_of(struct nvm_module *m, struct nvm_type type,
                                    struct eval_lane lane) {
  if (lane.poison) return const_poison(m, type);
  if (type_is_int(&m->types, type)) return const_int(m, type, lane.bits);
  return const_float(m, type, (uint64_t)lane.bits);
}

static bool is_foldable(enum op op) {
  return op_is_binary(op) || op == OP_FNEG || op == OP_FREEZE || op == OP_ICMP || op == OP_FCMP ||
         (op_is_cast(op) && op < OP_PTRTOINT) || op == OP_BITCAST;
}

static struct nvm_value fold_scalar(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                                    struct nvm_type type, const struct nvm_value *operands,
                                    uint32_t count) {
  struct eval_lane in[2], out;
  for (uint32_t k = 0; k < count; k++)
    if (!lane_of(m, operands[k], &in[k])) return VALUE_NULL;
  struct nvm_type from = constant_info(&m->constants, operands[0])->type;
  if (!eval_lane(m, op, flags, aux, type, from, in, &out)) return VALUE_NULL;
  return constant_of(m, type, out);
}

enum { MOST_LANES = 64 };

static struct nvm_value fold_vector(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                                    struct nvm_type type, const struct nvm_value *operands,
                                    uint32_t count) {
  uint64_t lanes = type_info(&m->types, type)->count;
  struct nvm_type from = constant_info(&m->constants, operands[0])->type;
  struct nvm_value result[MOST_LANES];
  if (lanes > MOST_LANES || !type_is_vector(&m->types, from) ||
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

static struct nvm_value fold_extract(struct nvm_module *m, const struct nvm_value *operands,
                                     uint32_t count) {
  struct nvm_value v = operands[0];
  for (uint32_t k = 1; k < count && !value_is_none(v); k++) {
    nvm_u128 index;
    if (!const_is_int(m, operands[k], &index)) return VALUE_NULL;
    struct nvm_type type = constant_info(&m->constants, v)->type;
    if (index >= type_info(&m->types, type)->count) return VALUE_NULL;
    v = const_element(m, v, (uint64_t)index);
    if (!value_is_none(v) && value_kind(v) != VALUE_CONST && k + 1 < count) return VALUE_NULL;
  }
  return v;
}

struct nvm_value eval_fold(struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                           struct nvm_type type, const struct nvm_value *operands, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (value_kind(operands[k]) != VALUE_CONST && op != OP_SELECT) return VALUE_NULL;
  if (op == OP_SELECT) {
    nvm_u128 condition;
    if (!const_is_int(m, operands[0], &condition)) return VALUE_NULL;
    return operands[condition ? 1 : 2];
  }
  if (op == OP_EXTRACTVALUE || op == OP_EXTRACTELEMENT) return fold_extract(m, operands, count);
  if (!is_foldable(op) || count == 0 || count > 2) return VALUE_NULL;
  if (type_is_vector(&m->types, type)) return fold_vector(m, op, flags, aux, type, operands, count);
  return fold_scalar(m, op, flags, aux, type, operands, count);
}
