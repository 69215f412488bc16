/* Integer intrinsics of any width up to 128 bits, lane by lane: minimum, maximum, absolute value,
 * three-way comparison, counting, reversing and swapping bits, funnel shifts.
 *
 * PTX counts and reverses in 32 or 64 bits. Narrower integers are extended first and what the wider
 * register adds is taken off again; wider ones are two halves of 64 bits. */
#include "codegen/intrinsic.h"

static bool is_signed_predicate(enum icmp_predicate pred) { return pred >= ICMP_SGT; }

static struct ptx_operand extend(struct lower *l, struct ptx_operand v, const struct part *p,
                                 uint32_t bits, bool is_signed) {
  return is_signed ? lower_sext_part(l, v, p, bits) : lower_zext_part(l, v, p, bits);
}

static struct part high_part(uint32_t bits) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bits - 64), .container = 64};
}

/* ---- Comparison ---- */

static uint16_t compare_word(enum icmp_predicate pred, bool strict) {
  switch (pred) {
    case ICMP_EQ: return PTX_MOD_EQ;
    case ICMP_NE: return PTX_MOD_NE;
    case ICMP_UGT:
    case ICMP_SGT: return PTX_MOD_GT;
    case ICMP_UGE:
    case ICMP_SGE: return strict ? PTX_MOD_GT : PTX_MOD_GE;
    case ICMP_ULT:
    case ICMP_SLT: return PTX_MOD_LT;
    case ICMP_ULE:
    case ICMP_SLE: return strict ? PTX_MOD_LT : PTX_MOD_LE;
    case ICMP_COUNT: break;
  }
  return PTX_MOD_NE;
}

/* The high halves decide unless they are equal. */
static struct ptx_reg compare_wide(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                                   const struct ptx_operand *a, const struct ptx_operand *b) {
  struct part high = high_part(bits);
  bool is_signed = is_signed_predicate(pred);
  struct ptx_operand x = intrinsic_in_reg(l, extend(l, a[1], &high, 64, is_signed), &intrinsic_i64);
  struct ptx_operand y = extend(l, b[1], &high, 64, is_signed);
  struct ptx_operand low = intrinsic_in_reg(l, a[0], &intrinsic_i64);
  struct ptx_reg p = lower_temp(l, PTX_PRED), q = lower_temp(l, PTX_PRED);
  struct ptx_reg result = lower_temp(l, PTX_PRED);
  uint16_t low_type = pred <= ICMP_NE ? PTX_MOD_B64 : PTX_MOD_U64;
  uint16_t high_type = pred <= ICMP_NE ? PTX_MOD_B64 : is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
  emit3(l, PTX_SETP, PTX_MODS(compare_word(pred, false), low_type), ptx_r(p), low, b[0]);
  if (pred <= ICMP_NE) {
    uint16_t join = pred == ICMP_EQ ? PTX_MOD_AND : PTX_MOD_OR;
    emit4(l, PTX_SETP, PTX_MODS(compare_word(pred, false), join, high_type), ptx_r(result), x, y,
          ptx_r(p));
    return result;
  }
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_B64), ptx_r(q), x, y, ptx_r(p));
  emit4(l, PTX_SETP, PTX_MODS(compare_word(pred, true), PTX_MOD_OR, high_type), ptx_r(result), x, y,
        ptx_r(q));
  return result;
}

struct ptx_reg intrinsic_compare(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                                 const struct ptx_operand *a, const struct ptx_operand *b) {
  if (bits > 64) return compare_wide(l, pred, bits, a, b);
  struct part p = intrinsic_part(l, type_int(&l->module->types, bits), 0);
  struct ptx_reg result = lower_temp(l, PTX_PRED);
  lower_icmp_part(l, pred, &p, result, a[0], b[0]);
  return result;
}

/* ---- Minimum, maximum, absolute value ---- */

/* Of i1: true is the greatest unsigned and the least signed number. */
static void minmax_i1(struct lower *l, enum icmp_predicate keep, struct ptx_reg to,
                      struct ptx_operand a, struct ptx_operand b) {
  bool both = keep == ICMP_ULT || keep == ICMP_SGT;
  emit3(l, both ? PTX_AND : PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(to), a, b);
}

void intrinsic_int_minmax_lane(struct lower *l, enum icmp_predicate keep, uint32_t bits,
                               const struct part *p, const struct ptx_operand *a,
                               const struct ptx_operand *b, const struct ptx_operand *to) {
  if (p->kind == PART_I1) {
    minmax_i1(l, keep, to[0].reg, a[0], b[0]);
  } else if (bits > 64) {
    struct ptx_reg first = intrinsic_compare(l, keep, bits, a, b);
    for (int k = 0; k < 2; k++) intrinsic_select(l, &intrinsic_i64, to[k].reg, a[k], b[k], first);
  } else {
    bool is_signed = is_signed_predicate(keep);
    struct ptx_operand x = extend(l, a[0], p, p->container, is_signed);
    struct ptx_operand y = extend(l, b[0], p, p->container, is_signed);
    enum ptx_op op = keep == ICMP_ULT || keep == ICMP_SLT ? PTX_MIN : PTX_MAX;
    emit3(l, op, PTX_MODS(is_signed ? part_signed_mod(p) : part_unsigned_mod(p)), to[0],
          intrinsic_in_reg(l, x, p), y);
  }
}

void lower_i_int_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  for (uint32_t k = 0; k < to.count * n; k += n)
    intrinsic_int_minmax_lane(l, (enum icmp_predicate)argument, bits, &p, &a.at[k], &b.at[k],
                              &to.at[k]);
  lower_join(l, i->type, result, to);
}

static void abs_wide(struct lower *l, uint32_t bits, const struct ptx_operand *v,
                     const struct ptx_operand *to) {
  const struct ptx_operand zero[2] = {ptx_i(0), ptx_i(0)};
  struct part high = high_part(bits);
  struct ptx_operand top = intrinsic_in_reg(l, lower_sext_part(l, v[1], &high, 64), &intrinsic_i64);
  struct ptx_reg minus[2] = {lower_temp(l, PTX_B64), lower_temp(l, PTX_B64)};
  struct ptx_reg negative = lower_temp(l, PTX_PRED);
  const struct ptx_operand x[2] = {intrinsic_in_reg(l, v[0], &intrinsic_i64), top};
  lower_wide_binary(l, OP_SUB, 128, minus, zero, x);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_LT, PTX_MOD_S64), ptx_r(negative), top, ptx_i(0));
  for (int k = 0; k < 2; k++)
    intrinsic_select(l, &intrinsic_i64, to[k].reg, ptx_r(minus[k]), x[k], negative);
}

void lower_i_int_abs(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  for (uint32_t k = 0; k < to.count * to.parts_each; k += to.parts_each) {
    if (p.kind == PART_I1) {
      lower_copy(l, to.at[k].reg, v.at[k]); /* |-1| is 1, the same bit */
    } else if (to.parts_each == 2) {
      abs_wide(l, intrinsic_int_bits(l, i->type), &v.at[k], &to.at[k]);
    } else {
      struct ptx_operand x = lower_sext_part(l, v.at[k], &p, p.container);
      emit2(l, PTX_ABS, PTX_MODS(part_signed_mod(&p)), to.at[k], intrinsic_in_reg(l, x, &p));
    }
  }
  lower_join(l, i->type, result, to);
}

/* scmp, ucmp: -1, 0 or 1. */
void lower_i_compare_three_way(struct lower *l, const struct nvm_inst *i, int argument) {
  bool is_signed = argument != 0;
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, value_type(l->f, intrinsic_arg(l, i, 0)));
  for (uint32_t k = 0; k < to.count; k++) {
    const struct ptx_operand *x = &a.at[k * a.parts_each], *y = &b.at[k * b.parts_each];
    struct ptx_reg below = intrinsic_compare(l, is_signed ? ICMP_SLT : ICMP_ULT, bits, x, y);
    struct ptx_reg above = intrinsic_compare(l, is_signed ? ICMP_SGT : ICMP_UGT, bits, x, y);
    struct ptx_reg one = lower_new_reg(l, &p), low = to.at[k * to.parts_each].reg;
    intrinsic_select(l, &p, one, ptx_i(1), ptx_i(0), above);
    intrinsic_select(l, &p, low, ptx_i(-1), ptx_r(one), below);
    if (to.parts_each == 2)
      emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), to.at[k * 2 + 1], ptx_r(low), ptx_i(63));
  }
  lower_join(l, i->type, result, to);
}

/* ---- Bits ---- */

/* The lane in a register of 32 or 64 bits, zeros above. */
static struct ptx_operand in_word(struct lower *l, struct ptx_operand v, const struct part *p) {
  bool small = p->container <= 32;
  return intrinsic_in_reg(l, lower_zext_part(l, v, p, small ? 32 : 64),
                          small ? &intrinsic_i32 : &intrinsic_i64);
}

/* Puts a 32-bit number into a register of the part's container. */
static void set_from_u32(struct lower *l, const struct part *p, struct ptx_operand to,
                         struct ptx_reg v) {
  if (p->container == 32) lower_copy(l, to.reg, ptx_r(v));
  else emit2(l, PTX_CVT, PTX_MODS(part_unsigned_mod(p), PTX_MOD_U32), to, ptx_r(v));
}

/* popc, clz of a 32- or 64-bit register. */
static struct ptx_reg count_in(struct lower *l, enum ptx_op op, struct ptx_operand v) {
  struct ptx_reg r = lower_temp(l, PTX_B32);
  bool wide = ptx_reg_class(v.reg) == PTX_B64;
  emit2(l, op, PTX_MODS(wide ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(r), v);
  return r;
}

static struct ptx_reg reversed(struct lower *l, struct ptx_operand v) {
  bool wide = ptx_reg_class(v.reg) == PTX_B64;
  struct ptx_reg r = lower_temp(l, wide ? PTX_B64 : PTX_B32);
  emit2(l, PTX_BREV, PTX_MODS(wide ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(r), v);
  return r;
}

static struct ptx_reg plus(struct lower *l, struct ptx_reg a, struct ptx_operand b) {
  struct ptx_reg r = lower_temp(l, PTX_B32);
  emit3(l, PTX_ADD, PTX_MODS(PTX_MOD_S32), ptx_r(r), ptx_r(a), b);
  return r;
}

static struct ptx_reg leading_zeros(struct lower *l, struct ptx_operand v, const struct part *p) {
  struct ptx_reg n = count_in(l, PTX_CLZ, in_word(l, v, p));
  int64_t extra = (p->container <= 32 ? 32 : 64) - p->bits;
  return extra ? plus(l, n, ptx_i(-extra)) : n;
}

/* The lowest bit above the lane stops the count where the lane is zero. */
static struct ptx_reg trailing_zeros(struct lower *l, struct ptx_operand v, const struct part *p) {
  struct ptx_operand x = in_word(l, v, p);
  bool wide = ptx_reg_class(x.reg) == PTX_B64;
  if (p->bits < (wide ? 64 : 32)) {
    struct ptx_reg stopped = lower_temp(l, wide ? PTX_B64 : PTX_B32);
    uint64_t stop = UINT64_C(1) << p->bits;
    emit3(l, PTX_OR, PTX_MODS(wide ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(stopped), x,
          ptx_i(wide ? (int64_t)stop : (int32_t)(uint32_t)stop));
    x = ptx_r(stopped);
  }
  return count_in(l, PTX_CLZ, ptx_r(reversed(l, x)));
}

/* Counts over two halves: the near half's count unless it is all zeros, then 64 (or the width of
 * the high half) more than the far half's. */
static struct ptx_reg count_wide(struct lower *l, int what, uint32_t bits,
                                 const struct ptx_operand *v) {
  struct part high = high_part(bits);
  if (what == BITS_POPCOUNT) {
    struct ptx_reg low = count_in(l, PTX_POPC, in_word(l, v[0], &intrinsic_i64));
    return plus(l, low, ptx_r(count_in(l, PTX_POPC, in_word(l, v[1], &high))));
  }
  bool leading = what == BITS_LEADING;
  struct ptx_operand near = leading ? in_word(l, v[1], &high) : in_word(l, v[0], &intrinsic_i64);
  struct ptx_reg first =
      leading ? leading_zeros(l, v[1], &high) : trailing_zeros(l, v[0], &intrinsic_i64);
  struct ptx_reg second =
      leading ? leading_zeros(l, v[0], &intrinsic_i64) : trailing_zeros(l, v[1], &high);
  struct ptx_reg beyond = plus(l, second, ptx_i(leading ? bits - 64 : 64));
  struct ptx_reg empty = lower_temp(l, PTX_PRED), r = lower_temp(l, PTX_B32);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_B64), ptx_r(empty), near, ptx_i(0));
  intrinsic_select(l, &intrinsic_i32, r, ptx_r(beyond), ptx_r(first), empty);
  return r;
}

static void count_lane(struct lower *l, int what, uint32_t bits, const struct part *p,
                       const struct ptx_operand *v, const struct ptx_operand *to) {
  if (p->kind == PART_I1) {
    if (what == BITS_POPCOUNT) lower_copy(l, to[0].reg, v[0]);
    else emit2(l, PTX_NOT, PTX_MODS(PTX_MOD_PRED), to[0], v[0]);
    return;
  }
  struct ptx_reg n = bits > 64               ? count_wide(l, what, bits, v)
                     : what == BITS_POPCOUNT ? count_in(l, PTX_POPC, in_word(l, v[0], p))
                     : what == BITS_LEADING  ? leading_zeros(l, v[0], p)
                                             : trailing_zeros(l, v[0], p);
  set_from_u32(l, p, to[0], n);
  if (bits > 64) lower_copy(l, to[1].reg, ptx_i(0));
}

/* The bytes of a 32- or 64-bit register in the other order. */
static struct ptx_reg swapped(struct lower *l, struct ptx_operand v) {
  if (ptx_reg_class(v.reg) == PTX_B32) {
    struct ptx_reg r = lower_temp(l, PTX_B32);
    emit4(l, PTX_PRMT, PTX_MODS(PTX_MOD_B32), ptx_r(r), v, ptx_i(0), ptx_i(0x0123));
    return r;
  }
  struct ptx_reg low = lower_temp(l, PTX_B32), high = lower_temp(l, PTX_B32);
  struct ptx_reg r = lower_temp(l, PTX_B64);
  struct ptx_operand halves[2] = {ptx_r(low), ptx_r(high)};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_group(l->pf, PTX_OPERAND_VECTOR, halves, 2), v);
  struct ptx_operand back[2] = {ptx_r(swapped(l, halves[1])), ptx_r(swapped(l, halves[0]))};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(r), ptx_group(l->pf, PTX_OPERAND_VECTOR, back, 2));
  return r;
}

/* bitreverse, bswap: of the whole register, then shifted down by what the lane does not fill. */
static void turn_lane(struct lower *l, int what, uint32_t bits, const struct part *p,
                      const struct ptx_operand *v, const struct ptx_operand *to) {
  if (p->kind == PART_I1) {
    lower_copy(l, to[0].reg, v[0]);
    return;
  }
  if (bits > 64) {
    struct ptx_operand low = intrinsic_in_reg(l, v[0], &intrinsic_i64);
    struct ptx_operand high = intrinsic_in_reg(l, v[1], &intrinsic_i64);
    const struct ptx_operand turned[2] = {
        ptx_r(what == BITS_REVERSE ? reversed(l, high) : swapped(l, high)),
        ptx_r(what == BITS_REVERSE ? reversed(l, low) : swapped(l, low))};
    const struct ptx_operand distance[2] = {ptx_i(128 - bits), ptx_i(0)};
    const struct ptx_reg target[2] = {to[0].reg, to[1].reg};
    lower_wide_binary(l, OP_LSHR, 128, target, turned, distance);
    return;
  }
  struct ptx_operand x = in_word(l, v[0], p);
  struct ptx_reg turned = what == BITS_REVERSE ? reversed(l, x) : swapped(l, x);
  bool wide = ptx_reg_class(turned) == PTX_B64;
  uint32_t distance = (wide ? 64 : 32) - bits;
  if (distance) {
    struct ptx_reg down = lower_temp(l, wide ? PTX_B64 : PTX_B32);
    emit3(l, PTX_SHR, PTX_MODS(wide ? PTX_MOD_U64 : PTX_MOD_U32), ptx_r(down), ptx_r(turned),
          ptx_i(distance));
    turned = down;
  }
  if (wide) lower_copy(l, to[0].reg, ptx_r(turned));
  else set_from_u32(l, p, to[0], turned);
}

void lower_i_bits(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  for (uint32_t k = 0; k < to.count * n; k += n) {
    if (argument == BITS_REVERSE || argument == BITS_SWAP)
      turn_lane(l, argument, bits, &p, &v.at[k], &to.at[k]);
    else count_lane(l, argument, bits, &p, &v.at[k], &to.at[k]);
  }
  lower_join(l, i->type, result, to);
}

/* ---- Funnel shifts ---- */

/* The amount modulo the width, as a 32-bit register or immediate. */
static struct ptx_operand amount_modulo(struct lower *l, struct ptx_operand v,
                                        const struct part *p) {
  bool power = (p->bits & (p->bits - 1)) == 0;
  if (v.kind == PTX_OPERAND_INT) {
    uint64_t mask = p->bits == 64 ? UINT64_MAX : (UINT64_C(1) << p->bits) - 1;
    return ptx_i((int64_t)(((uint64_t)v.imm & mask) % p->bits));
  }
  struct ptx_operand x = in_word(l, v, p);
  struct ptx_reg narrow;
  if (!power) {
    bool wide = ptx_reg_class(x.reg) == PTX_B64;
    struct ptx_reg rest = lower_temp(l, wide ? PTX_B64 : PTX_B32);
    emit3(l, PTX_REM, PTX_MODS(wide ? PTX_MOD_U64 : PTX_MOD_U32), ptx_r(rest), x, ptx_i(p->bits));
    x = ptx_r(rest);
  }
  if (ptx_reg_class(x.reg) == PTX_B64) {
    narrow = lower_temp(l, PTX_B32);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(narrow), x);
    x = ptx_r(narrow);
  }
  if (!power) return x;
  narrow = lower_temp(l, PTX_B32);
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(narrow), x, ptx_i(p->bits - 1));
  return ptx_r(narrow);
}

/* width - 1 - amount: what the other half is shifted by, after one bit. */
static struct ptx_operand complement(struct lower *l, struct ptx_operand amount, uint32_t bits) {
  if (amount.kind == PTX_OPERAND_INT) return ptx_i((int64_t)bits - 1 - amount.imm);
  struct ptx_reg r = lower_temp(l, PTX_B32);
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S32), ptx_r(r), ptx_i((int64_t)bits - 1), amount);
  return ptx_r(r);
}

/* Shifts the high word left and the low word right, one of them in two steps so that no distance
 * reaches the width. */
static void funnel_lane(struct lower *l, bool right, const struct part *p, struct ptx_reg to,
                        struct ptx_operand a, struct ptx_operand b, struct ptx_operand c) {
  struct ptx_operand n = amount_modulo(l, c, p), rest = complement(l, n, p->bits);
  struct ptx_operand high = intrinsic_in_reg(l, a, p);
  struct ptx_operand low = intrinsic_in_reg(l, lower_zext_part(l, b, p, p->container), p);
  struct ptx_reg step = lower_new_reg(l, p), left = lower_new_reg(l, p), down = lower_new_reg(l, p);
  const uint16_t *bits = PTX_MODS(part_bits_mod(p)),
                 *unsigned_type = PTX_MODS(part_unsigned_mod(p));
  if (right) {
    emit3(l, PTX_SHL, bits, ptx_r(step), high, ptx_i(1));
    emit3(l, PTX_SHL, bits, ptx_r(left), ptx_r(step), rest);
    emit3(l, PTX_SHR, unsigned_type, ptx_r(down), low, n);
  } else {
    emit3(l, PTX_SHL, bits, ptx_r(left), high, n);
    emit3(l, PTX_SHR, unsigned_type, ptx_r(step), low, ptx_i(1));
    emit3(l, PTX_SHR, unsigned_type, ptx_r(down), ptx_r(step), rest);
  }
  emit3(l, PTX_OR, bits, ptx_r(to), ptx_r(left), ptx_r(down));
}

static void funnel_i1(struct lower *l, bool right, struct ptx_reg to, struct ptx_operand a,
                      struct ptx_operand b) {
  lower_copy(l, to, right ? b : a); /* the amount is 0 modulo 1 */
}

static void funnel_wide(struct lower *l, bool right, uint32_t bits, const struct ptx_reg to[2],
                        const struct ptx_operand *a, const struct ptx_operand *b,
                        const struct ptx_operand *c) {
  const struct ptx_operand width[2] = {ptx_i(bits), ptx_i(0)}, one[2] = {ptx_i(1), ptx_i(0)};
  struct ptx_reg n[2], rest[2], step[2], left[2], down[2];
  struct ptx_reg *temps[] = {n, rest, step, left, down};
  for (int t = 0; t < 5; t++)
    for (int k = 0; k < 2; k++) temps[t][k] = lower_temp(l, PTX_B64);
  if (bits == 128) {
    emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B64), ptx_r(n[0]), intrinsic_in_reg(l, c[0], &intrinsic_i64),
          ptx_i(127));
    lower_copy(l, n[1], ptx_i(0));
  } else {
    lower_wide_binary(l, OP_UREM, bits, n, c, width);
  }
  const struct ptx_operand amount[2] = {ptx_r(n[0]), ptx_r(n[1])};
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S64), ptx_r(rest[0]), ptx_i((int64_t)bits - 1), amount[0]);
  const struct ptx_operand other[2] = {ptx_r(rest[0]), ptx_i(0)};
  const struct ptx_operand moved[2] = {ptx_r(step[0]), ptx_r(step[1])};
  if (right) {
    lower_wide_binary(l, OP_SHL, bits, step, a, one);
    lower_wide_binary(l, OP_SHL, bits, left, moved, other);
    lower_wide_binary(l, OP_LSHR, bits, down, b, amount);
  } else {
    lower_wide_binary(l, OP_SHL, bits, left, a, amount);
    lower_wide_binary(l, OP_LSHR, bits, step, b, one);
    lower_wide_binary(l, OP_LSHR, bits, down, moved, other);
  }
  lower_wide_binary(l, OP_OR, bits, to, (struct ptx_operand[]){ptx_r(left[0]), ptx_r(left[1])},
                    (struct ptx_operand[]){ptx_r(down[0]), ptx_r(down[1])});
}

void lower_i_funnel_shift(struct lower *l, const struct nvm_inst *i, int argument) {
  bool right = argument != 0;
  struct lanes a = lower_split(l, intrinsic_arg(l, i, 0)),
               b = lower_split(l, intrinsic_arg(l, i, 1));
  struct lanes c = lower_split(l, intrinsic_arg(l, i, 2));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct part p = intrinsic_part(l, to.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, i->type), n = to.parts_each;
  const uint16_t *mods = PTX_MODS(right ? PTX_MOD_R : PTX_MOD_L, PTX_MOD_WRAP, PTX_MOD_B32);
  for (uint32_t k = 0; k < to.count * n; k += n) {
    if (p.kind == PART_I1) {
      funnel_i1(l, right, to.at[k].reg, a.at[k], b.at[k]);
    } else if (n == 2) {
      const struct ptx_reg target[2] = {to.at[k].reg, to.at[k + 1].reg};
      funnel_wide(l, right, bits, target, &a.at[k], &b.at[k], &c.at[k]);
    } else if (bits == 32 && lower_has(l, PTX_SHF, mods)) {
      emit4(l, PTX_SHF, mods, to.at[k], intrinsic_in_reg(l, b.at[k], &p),
            intrinsic_in_reg(l, a.at[k], &p), c.at[k]);
    } else {
      funnel_lane(l, right, &p, to.at[k].reg, a.at[k], b.at[k], c.at[k]);
    }
  }
  lower_join(l, i->type, result, to);
}

/* llvm.nvvm.rotate.b64, .right.b64: the amount is an i32. */
void lower_i_rotate64(struct lower *l, const struct nvm_inst *i, int argument) {
  struct ptx_operand v = ptx_r(lower_reg(l, intrinsic_arg(l, i, 0), 0));
  struct ptx_operand n = ptx_r(lower_reg(l, intrinsic_arg(l, i, 1), 0));
  struct ptx_reg near = lower_temp(l, PTX_B32), minus = lower_temp(l, PTX_B32);
  struct ptx_reg far = lower_temp(l, PTX_B32), up = lower_temp(l, PTX_B64);
  struct ptx_reg down = lower_temp(l, PTX_B64);
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(near), n, ptx_i(63));
  emit3(l, PTX_SUB, PTX_MODS(PTX_MOD_S32), ptx_r(minus), ptx_i(64), ptx_r(near));
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(far), ptx_r(minus), ptx_i(63));
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B64), ptx_r(up), v, ptx_r(argument ? far : near));
  emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U64), ptx_r(down), v, ptx_r(argument ? near : far));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(lower_result(l, l->inst)[0]), ptx_r(up),
        ptx_r(down));
}
