/* Instructions that compute: a lane function for each lane of the mask, and operations on
 * predicates, which are masks. */
#include "ir/evalint.h"
#include "sim/machine/exec.h"
#include "sim/machine/finding.h"

uint64_t exec_combine(uint16_t op, unsigned bits, bool is_signed, uint64_t x, uint64_t y) {
  switch (op) {
    case PTX_MOD_ADD: return evalint_add(bits, x, y);
    case PTX_MOD_AND: return x & y;
    case PTX_MOD_OR: return x | y;
    case PTX_MOD_XOR: return x ^ y;
    case PTX_MOD_MIN: return is_signed ? evalint_min_s(bits, x, y) : evalint_min_u(bits, x, y);
    default: return is_signed ? evalint_max_s(bits, x, y) : evalint_max_u(bits, x, y);
  }
}

void exec_nothing(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)w, (void)in, (void)mask;
}

void exec_lanes(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c);
  lane_fn *fn = in->fn;
  FOR_LANES(l, mask) d[l] = fn(in, a[l], b[l], c[l]);
}

/* Integer division; PTX leaves the result of a division by zero open. */
void exec_divide(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *b = row_of(w, in->b);
  if (w->sim->launch->check_division) FOR_LANES(l, mask)
  if (evalint_zext(in->bits, b[l]) == 0) {
    finding_report(w, l, SIM_DIVISION, "divides by zero");
    return;
  }
  exec_lanes(w, in, mask);
}

/* Sum or difference with the carry flag of the lane, after a product for mad. */
void exec_carry(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t *d = in->d == NO_ROW ? NULL : row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c);
  bool subtract = in->imm == PTX_SUB || in->imm == PTX_SUBC;
  bool product = in->imm == PTX_MAD || in->imm == PTX_MADC;
  unsigned bits = in->bits;
  FOR_LANES(l, mask) {
    uint64_t x = a[l], y = b[l];
    unsigned carry = in->flags & FLAG_CARRY_IN ? w->carry >> l & 1 : 0;
    if (product) {
      bool high = in->flags & FLAG_HIGH;
      x = !high           ? evalint_zext(bits, x * y)
          : in->is_signed ? evalint_mul_high_s(bits, x, y)
                          : evalint_mul_high_u(bits, x, y);
      y = c[l];
    }
    evalint_u128 r = subtract ? (evalint_u128)x - y - carry : (evalint_u128)x + y + carry;
    if (in->flags & FLAG_CARRY_OUT)
      w->carry = (w->carry & ~(UINT32_C(1) << l)) | (uint32_t)(r >> bits & 1) << l;
    if (d) d[l] = evalint_zext(bits, (uint64_t)r);
  }
}

static uint32_t combined(const struct warp *w, const struct inst *in, uint32_t value,
                         uint32_t pred) {
  uint32_t q = w->preds[pred] ^ (in->count & FLAG_NEGATE_PRED ? ALL_LANES : 0);
  if (in->count & FLAG_AND) return value & q;
  if (in->count & FLAG_OR) return value | q;
  return in->count & FLAG_XOR ? value ^ q : value;
}

/* The lanes where the comparison of the operands' bits from `shift` on holds. */
static uint32_t compare_lanes(struct warp *w, const struct inst *in, uint32_t mask, unsigned shift,
                              uint64_t keep) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b);
  uint32_t value = 0;
  FOR_LANES(l, mask)
  value |= (uint32_t)in->fn(in, a[l] >> shift & keep, b[l] >> shift & keep, 0) << l;
  return value;
}

/* setp, set, testp; packed halves are compared separately. */
void exec_compare(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t keep = in->bits2 ? 0xffff : ~UINT64_C(0);
  uint32_t first = compare_lanes(w, in, mask, 0, keep), second = ~first;
  if (in->bits2) second = compare_lanes(w, in, mask, 16, keep);
  first = combined(w, in, first, in->c);
  second = combined(w, in, second, in->c);
  if (!in->is_signed2) {
    write_pred(w, in->d, mask, first);
    write_pred(w, in->d2, mask, second);
    return;
  }
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d), yes = (uint64_t)in->imm;
  FOR_LANES(l, mask) {
    d[l] = first >> l & 1 ? yes : 0;
    if (in->bits2) d[l] |= (second >> l & 1 ? yes : 0) << 16;
  }
}

void exec_lop3_pred(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c);
  uint32_t value = 0;
  FOR_LANES(l, mask) {
    uint64_t r = evalint_lop3(a[l], b[l], c[l], (unsigned)in->imm);
    value |= (uint32_t)(r != 0) << l;
    if (in->d != NO_ROW) row_of(w, in->d)[l] = r;
  }
  write_pred(w, in->d2, mask, combined(w, in, value, in->rows[0]));
}

void exec_select(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b);
  uint32_t p = w->preds[in->c];
  FOR_LANES(l, mask) d[l] = p >> l & 1 ? a[l] : b[l];
}

void exec_pred_logic(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t a = w->preds[in->a] ^ (in->bits ? ALL_LANES : 0);
  uint32_t b = w->preds[in->b] ^ (in->bits2 ? ALL_LANES : 0);
  switch (in->imm) {
    case PTX_AND: a &= b; break;
    case PTX_OR: a |= b; break;
    case PTX_XOR: a ^= b; break;
    default: a = ~a; break;
  }
  write_pred(w, in->d, mask, a);
}

void exec_mov(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a);
  if (mask == ALL_LANES) {
    for (unsigned l = 0; l < LANES; l++) d[l] = a[l];
    return;
  }
  FOR_LANES(l, mask) d[l] = a[l];
}

void exec_mov_wide(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) {
    uint64_t high = a[LANES + l];
    d[l] = a[l];
    d[LANES + l] = high;
  }
}

/* {a, b, …} into one register, the first lowest. */
void exec_pack(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->d == NO_ROW) return;
  uint64_t *d = row_of(w, in->d);
  unsigned per_row = in->bits == 128 ? 64 : in->bits;
  FOR_LANES(l, mask) {
    uint64_t r[2] = {0, 0};
    for (unsigned i = 0; i < in->count; i++) {
      unsigned at = i * in->bits2;
      r[at / per_row] |= evalint_zext(in->bits2, row_of(w, in->rows[i])[l]) << at % per_row;
    }
    d[l] = r[0];
    if (in->bits == 128) d[LANES + l] = r[1];
  }
}

void exec_unpack(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  unsigned per_row = in->bits == 128 ? 64 : in->bits;
  FOR_LANES(l, mask) {
    uint64_t r[2] = {a[l], in->bits == 128 ? a[LANES + l] : 0};
    for (unsigned i = 0; i < in->count; i++) {
      unsigned at = i * in->bits2;
      if (in->rows[i] != NO_ROW)
        row_of(w, in->rows[i])[l] = evalint_zext(in->bits2, r[at / per_row] >> at % per_row);
    }
  }
}
