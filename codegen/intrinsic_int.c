/* Integer intrinsics of any width up to 128 bits, lane by lane: minimum, maximum, absolute value,
 * three-way comparison, counting, reversing and swapping bits, funnel shifts.
 *
 * PTX counts and reverses in 32 or 64 bits. A narrower integer is extended, and the result is
 * corrected by the difference of the widths; a wider one is two halves of 64 bits. */
#include "codegen/intrinsic.h"
#include "codegen/number.h"
#include "codegen/value.h"
#include "ir/evalint.h"

/* --- Minimum, maximum, absolute value --- */

/* In i1, true is the greatest unsigned and the least signed number. */
void intrinsic_int_minmax(struct lower *l, enum icmp_predicate keep, uint32_t bits,
                          const struct part *p, const struct ptx_operand *a,
                          const struct ptx_operand *b, const struct ptx_operand *to) {
  if (p->kind == PART_I1) {
    bool both = keep == ICMP_ULT || keep == ICMP_SGT;
    emit3(l, both ? PTX_AND : PTX_OR, PTX_MODS(PTX_MOD_PRED), to[0], a[0], b[0]);
  } else if (bits > 64) {
    struct ptx_operand first = int_compare(l, keep, bits, p, a, b);
    for (int k = 0; k < 2; k++) emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), to[k], a[k], b[k], first);
  } else {
    bool is_signed = keep >= ICMP_SGT;
    struct ptx_operand x = emit_extend(l, a[0], p, p->container, is_signed);
    struct ptx_operand y = emit_extend(l, b[0], p, p->container, is_signed);
    enum ptx_op op = keep == ICMP_ULT || keep == ICMP_SLT ? PTX_MIN : PTX_MAX;
    emit3(l, op, PTX_MODS(is_signed ? part_signed_mod(p) : part_unsigned_mod(p)), to[0],
          emit_in_reg(l, x, p), y);
  }
}

void intrinsic_lane_int_minmax(const struct lane *x) {
  intrinsic_int_minmax(x->l, (enum icmp_predicate)x->argument, x->bits, &x->part, x->a, x->b,
                       x->to);
}

void intrinsic_lane_int_abs(const struct lane *x) {
  struct lower *l = x->l;
  struct part high = x->bits > 64 ? part_high(x->bits) : x->part;
  if (x->part.kind == PART_I1) {
    emit_copy(l, x->to[0].reg, x->a[0]); /* |-1| is 1, the same bit */
    return;
  }
  struct ptx_operand top = emit_sext(l, x->a[x->bits > 64], &high, high.container);
  top = emit_in_reg(l, top, &high);
  if (x->bits <= 64) {
    emit2(l, PTX_ABS, PTX_MODS(part_signed_mod(&high)), x->to[0], top);
    return;
  }
  struct integer v = {{emit_in_reg(l, x->a[0], &part_i64), top}};
  struct integer minus = intrinsic_compute(x, OP_SUB, intrinsic_number(x, 0), v);
  struct ptx_operand negative = emit_compare(l, PTX_MOD_LT, PTX_MOD_S64, top, ptx_i(0));
  for (int k = 0; k < 2; k++)
    emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), x->to[k], minus.at[k], v.at[k], negative);
}

/* scmp, ucmp: -1, 0 or 1. */
void intrinsic_lane_compare_three_way(const struct lane *x) {
  struct lower *l = x->l;
  bool is_signed = x->argument != 0;
  uint16_t type = part_bits_mod(&x->part);
  struct ptx_operand below =
      int_compare(l, is_signed ? ICMP_SLT : ICMP_ULT, x->source_bits, &x->source, x->a, x->b);
  struct ptx_operand above =
      int_compare(l, is_signed ? ICMP_SGT : ICMP_UGT, x->source_bits, &x->source, x->a, x->b);
  struct ptx_operand one = emit_select(l, type, ptx_i(1), ptx_i(0), above);
  emit4(l, PTX_SELP, PTX_MODS(type), x->to[0], ptx_i(-1), one, below);
  if (x->bits > 64) emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), x->to[1], x->to[0], ptx_i(63));
}

/* --- Bits --- */

/* The lane zero-extended in a register of 32 or 64 bits. */
static struct ptx_operand in_word(struct lower *l, struct ptx_operand v, const struct part *p) {
  bool small = p->container <= 32;
  return emit_in_reg(l, emit_zext(l, v, p, small ? 32 : 64), small ? &part_i32 : &part_i64);
}

static uint32_t word_bits(struct ptx_operand v) {
  return ptx_reg_class(v.reg) == PTX_B64 ? 64 : 32;
}

/* Puts a 32-bit number into a register of the part's container. */
static void set_from_u32(struct lower *l, const struct part *p, struct ptx_operand to,
                         struct ptx_operand v) {
  if (p->container == 32) emit_copy(l, to.reg, v);
  else emit2(l, PTX_CVT, PTX_MODS(part_unsigned_mod(p), PTX_MOD_U32), to, v);
}

/* popc, clz of a 32- or 64-bit register. */
static struct ptx_operand count_in(struct lower *l, enum ptx_op op, struct ptx_operand v) {
  return emit_value(l, PTX_MOD_B32, op, PTX_MODS(mod_bits(word_bits(v))), &v, 1);
}

static struct ptx_operand reversed(struct lower *l, struct ptx_operand v) {
  return emit_unary(l, PTX_BREV, mod_bits(word_bits(v)), v);
}

static struct ptx_operand plus(struct lower *l, struct ptx_operand a, struct ptx_operand b) {
  return emit_binary(l, PTX_ADD, PTX_MOD_S32, a, b);
}

static struct ptx_operand leading_zeros(struct lower *l, struct ptx_operand v,
                                        const struct part *p) {
  struct ptx_operand n = count_in(l, PTX_CLZ, in_word(l, v, p));
  int64_t extra = (p->container <= 32 ? 32 : 64) - p->bits;
  return extra ? plus(l, n, ptx_i(-extra)) : n;
}

/* A bit set just above the lane limits the count of zero. */
static struct ptx_operand trailing_zeros(struct lower *l, struct ptx_operand v,
                                         const struct part *p) {
  struct ptx_operand x = in_word(l, v, p);
  uint32_t word = word_bits(x);
  if (p->bits < word)
    x = emit_binary(l, PTX_OR, mod_bits(word), x,
                    ptx_i(evalint_sext(word, UINT64_C(1) << p->bits)));
  return count_in(l, PTX_CLZ, reversed(l, x));
}

/* Zeros are counted in the half where they start, and, if that is zero, in the other half too. */
static struct ptx_operand count_wide(const struct lane *x) {
  struct lower *l = x->l;
  struct part high = part_high(x->bits);
  if (x->argument == BITS_POPCOUNT) {
    struct ptx_operand low = count_in(l, PTX_POPC, in_word(l, x->a[0], &part_i64));
    return plus(l, low, count_in(l, PTX_POPC, in_word(l, x->a[1], &high)));
  }
  bool leading = x->argument == BITS_LEADING;
  struct ptx_operand near = leading ? in_word(l, x->a[1], &high) : in_word(l, x->a[0], &part_i64);
  struct ptx_operand first =
      leading ? leading_zeros(l, x->a[1], &high) : trailing_zeros(l, x->a[0], &part_i64);
  struct ptx_operand second =
      leading ? leading_zeros(l, x->a[0], &part_i64) : trailing_zeros(l, x->a[1], &high);
  struct ptx_operand beyond = plus(l, second, ptx_i(leading ? x->bits - 64 : 64));
  struct ptx_operand empty = emit_compare(l, PTX_MOD_EQ, PTX_MOD_B64, near, ptx_i(0));
  return emit_select(l, PTX_MOD_B32, beyond, first, empty);
}

void intrinsic_lane_count(const struct lane *x) {
  struct lower *l = x->l;
  const struct part *p = &x->part;
  if (p->kind == PART_I1 && x->argument == BITS_POPCOUNT) {
    emit_copy(l, x->to[0].reg, x->a[0]);
  } else if (p->kind == PART_I1) {
    emit2(l, PTX_NOT, PTX_MODS(PTX_MOD_PRED), x->to[0], x->a[0]);
  } else {
    struct ptx_operand n = x->bits > 64 ? count_wide(x)
                           : x->argument == BITS_POPCOUNT
                               ? count_in(l, PTX_POPC, in_word(l, x->a[0], p))
                           : x->argument == BITS_LEADING ? leading_zeros(l, x->a[0], p)
                                                         : trailing_zeros(l, x->a[0], p);
    set_from_u32(l, p, x->to[0], n);
    if (x->bits > 64) emit_copy(l, x->to[1].reg, ptx_i(0));
  }
}

/* A 32- or 64-bit register with its bytes reversed. */
static struct ptx_operand swapped(struct lower *l, struct ptx_operand v) {
  if (word_bits(v) == 32)
    return emit_value(l, PTX_MOD_B32, PTX_PRMT, PTX_MODS(PTX_MOD_B32),
                      PTX_OPS(v, ptx_i(0), ptx_i(0x0123)));
  struct ptx_operand low = ptx_r(emit_temp(l, PTX_B32)), high = ptx_r(emit_temp(l, PTX_B32));
  emit_ungroup(l, PTX_MOD_B64, v, low, high);
  high = swapped(l, high);
  low = swapped(l, low);
  return emit_group(l, PTX_MOD_B64, high, low);
}

static struct ptx_operand reversed_or_swapped(struct lower *l, int what, struct ptx_operand v) {
  return what == BITS_REVERSE ? reversed(l, v) : swapped(l, v);
}

/* bitreverse, bswap: of the whole register, then shifted right by its unused bits. */
void intrinsic_lane_reverse(const struct lane *x) {
  struct lower *l = x->l;
  if (x->part.kind == PART_I1) {
    emit_copy(l, x->to[0].reg, x->a[0]);
  } else if (x->bits > 64) {
    struct ptx_operand low = emit_in_reg(l, x->a[0], &part_i64);
    struct ptx_operand high = emit_in_reg(l, x->a[1], &part_i64);
    const struct ptx_operand distance[2] = {ptx_i(128 - x->bits), ptx_i(0)};
    high = reversed_or_swapped(l, x->argument, high);
    low = reversed_or_swapped(l, x->argument, low);
    wide_binary(l, OP_LSHR, 128, x->to, (struct ptx_operand[]){high, low}, distance);
  } else {
    struct ptx_operand v = reversed_or_swapped(l, x->argument, in_word(l, x->a[0], &x->part));
    uint32_t word = word_bits(v), distance = word - x->bits;
    if (distance) v = emit_binary(l, PTX_SHR, mod_unsigned(word), v, ptx_i(distance));
    if (word == 64) emit_copy(l, x->to[0].reg, v);
    else set_from_u32(l, &x->part, x->to[0], v);
  }
}

/* --- Funnel shifts --- */

/* The amount modulo the width, as a 32-bit register or immediate. */
static struct ptx_operand amount_modulo(struct lower *l, struct ptx_operand v,
                                        const struct part *p) {
  bool power = (p->bits & (p->bits - 1)) == 0;
  if (v.kind == PTX_OPERAND_INT)
    return ptx_i((int64_t)((uint64_t)emit_zext(l, v, p, p->container).imm % p->bits));
  struct ptx_operand x = in_word(l, v, p);
  if (!power) x = emit_binary(l, PTX_REM, mod_unsigned(word_bits(x)), x, ptx_i(p->bits));
  x = emit_narrow(l, x, word_bits(x), 32);
  return power ? emit_binary(l, PTX_AND, PTX_MOD_B32, x, ptx_i(p->bits - 1)) : x;
}

/* Shifts the high word left and the low word right. The one that moves by width - amount does it in
 * two steps, by 1 and by width - 1 - amount, so that no distance reaches the width. */
static void funnel_lane(const struct lane *x) {
  struct lower *l = x->l;
  const struct part *p = &x->part;
  uint16_t bits = part_bits_mod(p), type = part_unsigned_mod(p);
  struct ptx_operand n = amount_modulo(l, x->c[0], p);
  struct ptx_operand rest = n.kind == PTX_OPERAND_INT
                                ? ptx_i((int64_t)p->bits - 1 - n.imm)
                                : emit_binary(l, PTX_SUB, PTX_MOD_S32, ptx_i(p->bits - 1), n);
  struct ptx_operand high = emit_in_reg(l, x->a[0], p);
  struct ptx_operand low = emit_in_reg(l, emit_zext(l, x->b[0], p, p->container), p);
  if (x->argument) {
    high = emit_binary(l, PTX_SHL, bits, emit_binary(l, PTX_SHL, bits, high, ptx_i(1)), rest);
    low = emit_binary(l, PTX_SHR, type, low, n);
  } else {
    high = emit_binary(l, PTX_SHL, bits, high, n);
    low = emit_binary(l, PTX_SHR, type, emit_binary(l, PTX_SHR, type, low, ptx_i(1)), rest);
  }
  emit3(l, PTX_OR, PTX_MODS(bits), x->to[0], high, low);
}

static void funnel_wide(const struct lane *x) {
  struct lower *l = x->l;
  struct integer a = intrinsic_integer(x, x->a), b = intrinsic_integer(x, x->b);
  struct integer n = intrinsic_integer(x, x->c), one = intrinsic_number(x, 1), rest = {{{0}}};
  if (x->bits < 128) n = intrinsic_compute(x, OP_UREM, n, intrinsic_number(x, x->bits));
  else
    n.at[0] = emit_binary(l, PTX_AND, PTX_MOD_B64, emit_in_reg(l, n.at[0], &part_i64), ptx_i(127));
  rest.at[0] = emit_binary(l, PTX_SUB, PTX_MOD_S64, ptx_i((int64_t)x->bits - 1), n.at[0]);
  if (x->argument) {
    a = intrinsic_compute(x, OP_SHL, intrinsic_compute(x, OP_SHL, a, one), rest);
    b = intrinsic_compute(x, OP_LSHR, b, n);
  } else {
    a = intrinsic_compute(x, OP_SHL, a, n);
    b = intrinsic_compute(x, OP_LSHR, intrinsic_compute(x, OP_LSHR, b, one), rest);
  }
  wide_binary(l, OP_OR, x->bits, x->to, a.at, b.at);
}

void intrinsic_lane_funnel_shift(const struct lane *x) {
  struct lower *l = x->l;
  const uint16_t *mods = PTX_MODS(x->argument ? PTX_MOD_R : PTX_MOD_L, PTX_MOD_WRAP, PTX_MOD_B32);
  if (x->part.kind == PART_I1) { /* the amount is 0 modulo 1 */
    emit_copy(l, x->to[0].reg, x->argument ? x->b[0] : x->a[0]);
  } else if (x->bits > 64) {
    funnel_wide(x);
  } else if (x->bits == 32 && emit_has(l, PTX_SHF, mods)) {
    struct ptx_operand low = emit_in_reg(l, x->b[0], &x->part);
    emit4(l, PTX_SHF, mods, x->to[0], low, emit_in_reg(l, x->a[0], &x->part), x->c[0]);
  } else {
    funnel_lane(x);
  }
}

/* llvm.nvvm.rotate.b64, .right.b64; the amount is an i32. */
void intrinsic_lower_rotate64(struct lower *l, const struct nvm_inst *i, int argument) {
  struct ptx_operand v = ptx_r(value_reg(l, intrinsic_arg(l, i, 0), 0));
  struct ptx_operand n = ptx_r(value_reg(l, intrinsic_arg(l, i, 1), 0));
  struct ptx_operand near = emit_binary(l, PTX_AND, PTX_MOD_B32, n, ptx_i(63));
  struct ptx_operand far = emit_binary(l, PTX_SUB, PTX_MOD_S32, ptx_i(64), near);
  far = emit_binary(l, PTX_AND, PTX_MOD_B32, far, ptx_i(63));
  struct ptx_operand up = emit_binary(l, PTX_SHL, PTX_MOD_B64, v, argument ? far : near);
  struct ptx_operand down = emit_binary(l, PTX_SHR, PTX_MOD_U64, v, argument ? near : far);
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(value_result(l, l->inst)[0]), up, down);
}
