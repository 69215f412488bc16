/* Division and remainder by constants: the high half of a multiplication by the reciprocal.
 *
 * After Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994. With
 * width w, divisor d and a shift s, m = floor(2^(w+s) / d) + 1 exceeds 2^(w+s) / d by e / d, e = d
 * - 2^(w+s) mod d; floor(m n / 2^(w+s)) is the quotient of every n below 2^w if e <= 2^s. With the
 * smallest such s, m is usually below 2^w. If it is not, the trailing zeros of an even divisor are
 * shifted out first, or 2^w is subtracted from m and n is added to the product without losing the
 * carry. For signed numbers e <= 2^(s+1) suffices, m is taken as signed, and the quotient, which
 * the high half rounds down, is rounded towards zero by adding the sign.
 *
 * ptxas does the same for 32 bits, in more instructions; for 64 bits it calls a subroutine. */
#include "codegen/number.h"

struct division {
  struct lower *l;
  const struct part *p; /* of all 32 or 64 bits of the register */
  struct ptx_operand n;
};

static struct ptx_operand emit_op(struct division *v, enum ptx_op op, uint16_t type,
                                  struct ptx_operand a, struct ptx_operand b) {
  struct ptx_reg r = emit_new_reg(v->l, v->p);
  if (op == PTX_MUL) emit3(v->l, op, PTX_MODS(PTX_MOD_HI, type), ptx_r(r), a, b);
  else emit3(v->l, op, PTX_MODS(type), ptx_r(r), a, b);
  return ptx_r(r);
}

static struct ptx_operand shift_right(struct division *v, bool is_signed, struct ptx_operand a,
                                      uint32_t by) {
  if (by == 0) return a;
  return emit_op(v, PTX_SHR, is_signed ? part_signed_mod(v->p) : part_unsigned_mod(v->p), a,
                 ptx_i(by));
}

/* An immediate of the register's width. */
static struct ptx_operand number(const struct division *v, uint64_t x) {
  return ptx_i(v->p->container == 32 ? (int64_t)(int32_t)x : (int64_t)x);
}

/* m, and whether e <= 2^(s + slack). */
static bool reciprocal(uint32_t w, uint32_t s, uint32_t slack, uint64_t d, nvm_u128 *m) {
  nvm_u128 power = (nvm_u128)1 << (w + s);
  *m = power / d + 1;
  return d - (uint64_t)(power % d) <= (nvm_u128)1 << (s + slack);
}

static uint32_t log2_ceiling(uint64_t d) {
  uint32_t n = 0;
  while (n < 64 && (UINT64_C(1) << n) < d) n++;
  return n;
}

static struct ptx_operand divide_unsigned(struct division *v, uint64_t d) {
  uint32_t w = v->p->container, l = log2_ceiling(d), zeros = 0, s = 0;
  uint16_t type = part_unsigned_mod(v->p);
  nvm_u128 m, limit = (nvm_u128)1 << w;
  while (!(d >> zeros & 1)) zeros++;
  if (d == UINT64_C(1) << zeros) return shift_right(v, false, v->n, zeros);
  while (s + 1 < l && !reciprocal(w, s, 0, d, &m)) s++;
  if (reciprocal(w, s, 0, d, &m) && m < limit)
    return shift_right(v, false, emit_op(v, PTX_MUL, type, v->n, number(v, (uint64_t)m)), s);
  if (zeros) { /* the numbers shifted are below 2^(w - zeros), and the divisor is smaller */
    for (s = 0; !reciprocal(w, s, zeros, d >> zeros, &m);) s++;
    struct ptx_operand n = shift_right(v, false, v->n, zeros);
    return shift_right(v, false, emit_op(v, PTX_MUL, type, n, number(v, (uint64_t)m)), s);
  }
  /* ((n - high) / 2 + high) >> (l - 1), high = (m - 2^w) n >> w with s = l */
  m = ((((nvm_u128)1 << l) - d) << w) / d + 1;
  struct ptx_operand high = emit_op(v, PTX_MUL, type, v->n, number(v, (uint64_t)m));
  struct ptx_operand half =
      shift_right(v, false, emit_op(v, PTX_SUB, part_signed_mod(v->p), v->n, high), 1);
  return shift_right(v, false, emit_op(v, PTX_ADD, part_signed_mod(v->p), half, high), l - 1);
}

static struct ptx_operand divide_signed(struct division *v, int64_t divisor) {
  uint32_t w = v->p->container, s = 0;
  uint16_t type = part_signed_mod(v->p);
  uint64_t d = divisor < 0 ? 0 - (uint64_t)divisor : (uint64_t)divisor;
  uint32_t l = log2_ceiling(d);
  struct ptx_operand q;
  if ((d & (d - 1)) == 0) { /* (n + (n < 0 ? d - 1 : 0)) >> l */
    struct ptx_operand sign = shift_right(v, true, v->n, w - 1);
    q = emit_op(v, PTX_ADD, type, v->n, shift_right(v, false, sign, w - l));
    q = shift_right(v, true, q, l);
  } else {
    nvm_u128 m;
    while (!reciprocal(w, s, 1, d, &m)) s++;
    q = emit_op(v, PTX_MUL, type, v->n, number(v, (uint64_t)m));
    if (m >> (w - 1)) q = emit_op(v, PTX_ADD, type, q, v->n);
    struct ptx_operand sign = shift_right(v, false, v->n, w - 1);
    q = emit_op(v, PTX_ADD, type, shift_right(v, true, q, s), sign);
  }
  return divisor < 0 ? emit_op(v, PTX_SUB, type, ptx_i(0), q) : q;
}

bool divide_by_constant(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                        struct ptx_operand a, int64_t divisor) {
  bool is_signed = op == OP_SDIV || op == OP_SREM, remainder = op == OP_UREM || op == OP_SREM;
  uint64_t mask = p->container == 64 ? UINT64_MAX : UINT32_MAX;
  bool trivial = divisor == 0 || divisor == 1 || (is_signed && divisor == -1);
  bool least = is_signed && ((uint64_t)divisor & mask) == mask / 2 + 1;
  if (p->container < 32 || trivial || least) return false;
  struct part whole = *p;
  whole.bits = whole.container;
  struct division v = {l, &whole, a};
  struct ptx_operand q =
      is_signed ? divide_signed(&v, divisor) : divide_unsigned(&v, (uint64_t)divisor & mask);
  if (remainder)
    emit4(l, PTX_MAD, PTX_MODS(PTX_MOD_LO, part_signed_mod(&whole)), ptx_r(to), q,
          number(&v, 0 - (uint64_t)divisor), a);
  else emit_copy(l, to, q);
  return true;
}
