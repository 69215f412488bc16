/* Transformations of combine that find what integers are computed bit by bit: byte swaps, counts of
 * bits, and low bits that a counter's steps do not change.
 *
 *   or         of the bytes of a value in reverse order: llvm.bswap
 *   lshr       that ends the population count in fields of 2, 4 and 8 bits: llvm.ctpop
 *   and        of a sum of a counter, with a mask below its step: computed before the loop
 *   or         of a left shift and a bool, in combine<loads>: a sum
 *   xor        with a constant that only sets bits: a sum */
#include "analysis/known_bits.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"
#include "opt/scalar/combine.h"

/* --- Byte swaps --- */

/* Whether v is one byte of *x where a byte swap has it, of `width` bits; adds its number to *bytes.
 * Any value can be *x if it is none. */
static bool is_swapped_byte(const struct combiner *k, struct nvm_value v, uint32_t width,
                            struct nvm_value *x, uint32_t *bytes) {
  enum { MAX_STEPS = 3 };
  uint64_t ones = known_bits_mask(width), mask = ones;
  uint32_t left = 0; /* rotated by, modulo the width */
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    const struct nvm_inst *i = value_inst(k->f, v);
    nvm_u128 bits;
    if (!i || (i->op != OP_AND && i->op != OP_SHL && i->op != OP_LSHR) ||
        !const_is_int(k->m, inst_operand(k->f, i, 1), &bits) || (i->op != OP_AND && bits >= width))
      return false;
    if (i->op == OP_AND) mask &= (uint64_t)bits;
    else mask = i->op == OP_SHL ? mask >> bits : mask << bits & ones;
    if (i->op != OP_AND) left += i->op == OP_SHL ? (uint32_t)bits : width - (uint32_t)bits;
    v = inst_operand(k->f, i, 0);
    uint32_t byte = mask ? (uint32_t)__builtin_ctzll(mask) / 8 : 0;
    if (mask != UINT64_C(255) << 8 * byte || left % width != (2 * width - 8 - 16 * byte) % width ||
        (!value_is_none(*x) && !value_equal(*x, v)))
      continue;
    *x = v;
    *bytes |= UINT32_C(1) << byte;
    return true;
  }
  return false;
}

static bool are_swapped_bytes(const struct combiner *k, struct nvm_value v, uint32_t width,
                              uint32_t depth, struct nvm_value *x, uint32_t *bytes) {
  const struct nvm_inst *i = value_inst_of(k->f, v, OP_OR);
  if (!i) return is_swapped_byte(k, v, width, x, bytes);
  return depth && are_swapped_bytes(k, inst_operand(k->f, i, 1), width, depth - 1, x, bytes) &&
         are_swapped_bytes(k, inst_operand(k->f, i, 0), width, depth - 1, x, bytes);
}

/* x << 24 | (x << 8 & 0xff0000) | (x >> 8 & 0xff00) | x >> 24 */
struct nvm_value combine_byte_swap(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_type type = function_inst(k->f, root)->type;
  const struct type_info *t = type_info(&k->m->types, type);
  struct nvm_value x = VALUE_NULL;
  uint32_t bytes = 0;
  if (t->kind != TY_INT || (t->width != 32 && t->width != 64) ||
      !are_swapped_bytes(k, value_of_inst(root), t->width, t->width / 8 - 1, &x, &bytes) ||
      bytes != known_bits_mask(t->width / 8))
    return VALUE_NULL;
  return build_call(k, root, INTRINSIC_bswap, 0, type, 1, &x);
}

/* --- Counts of bits --- */

/* Whether v is `*x op c`. */
static bool is_by(const struct combiner *k, struct nvm_value v, enum op op, uint64_t c,
                  struct nvm_value *x) {
  const struct nvm_inst *i = value_inst_of(k->f, v, op);
  nvm_u128 bits;
  if (!i || !const_is_int(k->m, inst_operand(k->f, i, 1), &bits) || bits != c) return false;
  *x = inst_operand(k->f, i, 0);
  return true;
}

/* Whether sum is (*x & mask) + (*x >> by & mask). */
static bool adds_neighbours(const struct combiner *k, struct nvm_value sum, uint32_t by,
                            uint64_t mask, struct nvm_value *x) {
  const struct nvm_inst *i = value_inst_of(k->f, sum, OP_ADD);
  struct nvm_value high, low;
  for (uint32_t n = 0; i && n < 2; n++)
    if (is_by(k, inst_operand(k->f, i, n), OP_AND, mask, &high) && is_by(k, high, OP_LSHR, by, x) &&
        is_by(k, inst_operand(k->f, i, 1 - n), OP_AND, mask, &low) && value_equal(low, *x))
      return true;
  return false;
}

/* H. Warren, "Hacker's Delight", figure 5-2: sums of neighbouring fields, and of all bytes by a
 * product. The largest number of a field of 8 bits is 64. */
struct nvm_value combine_count_of_bits(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_type type = function_inst(k->f, root)->type;
  const struct type_info *t = type_info(&k->m->types, type);
  struct nvm_value v = value_of_inst(root), x = v, y = v;
  if (t->kind != TY_INT || (t->width != 32 && t->width != 64)) return VALUE_NULL;
  uint64_t ones = known_bits_mask(t->width);
  if (!is_by(k, v, OP_LSHR, t->width - 8, &v) || !is_by(k, v, OP_MUL, ones / 255, &v) ||
      !is_by(k, v, OP_AND, ones / 17, &v))
    return VALUE_NULL;
  const struct nvm_inst *sum = value_inst_of(k->f, v, OP_ADD);
  bool found = false;
  for (uint32_t n = 0; sum && !found && n < 2; n++)
    found = is_by(k, inst_operand(k->f, sum, n), OP_LSHR, 4, &v) &&
            value_equal(v, inst_operand(k->f, sum, 1 - n));
  if (!found || !adds_neighbours(k, v, 2, ones / 5, &v)) return VALUE_NULL;
  const struct nvm_inst *pairs = value_inst_of(k->f, v, OP_SUB);
  if (!pairs || !is_by(k, inst_operand(k->f, pairs, 1), OP_AND, ones / 3, &y) ||
      !is_by(k, y, OP_LSHR, 1, &x) || !value_equal(x, inst_operand(k->f, pairs, 0)))
    return VALUE_NULL;
  return build_call(k, root, INTRINSIC_ctpop, 0, type, 1, &x);
}

/* --- Counters --- */

enum { MAX_CHAIN = 4 }; /* operations between the counter and the mask */

/* Whether the low bits of the result depend on the low bits of the operands only. */
static bool is_of_low_bits(const struct nvm_inst *i) {
  return i->op == OP_ADD || i->op == OP_XOR || i->op == OP_SHL;
}

/* Whether v is made of a counter by sums, xors and left shifts, and the counter's step changes none
 * of the low bits in `mask`: its phi, and the operand of the phi at the start. */
static bool keeps_low_bits(const struct combiner *k, struct nvm_value v, uint64_t mask,
                           struct nvm_value *phi, uint32_t *start) {
  const struct nvm_inst *i = NULL, *step;
  nvm_u128 by;
  for (uint32_t n = 0; value_kind(v) == VALUE_INST && n < MAX_CHAIN; n++) {
    i = &k->f->insts.data[value_index(v)];
    if (!is_of_low_bits(i)) break;
    if (!const_is_int(k->m, inst_operand(k->f, i, 1), &by)) return false;
    v = inst_operand(k->f, i, 0);
  }
  if (!i || i->op != OP_PHI || i->operand_count != 4) return false;
  *phi = v;
  for (*start = 0; *start < 4; *start += 2)
    if ((step = value_inst_of(k->f, inst_operand(k->f, i, 2 - *start), OP_ADD)) != NULL &&
        value_equal(inst_operand(k->f, step, 0), v) &&
        const_is_int(k->m, inst_operand(k->f, step, 1), &by))
      return ((uint64_t)by & mask) == 0;
  return false;
}

/* Whether the chain of v leads back to the phi, as a start does in unreachable cycles only. */
static bool comes_from(const struct combiner *k, struct nvm_value v, struct nvm_value phi) {
  for (uint32_t n = 0; n < MAX_CHAIN && value_kind(v) == VALUE_INST; n++) {
    const struct nvm_inst *i = &k->f->insts.data[value_index(v)];
    if (value_equal(v, phi)) return true;
    if (!is_of_low_bits(i)) return false;
    v = inst_operand(k->f, i, 0);
  }
  return value_kind(v) == VALUE_INST;
}

/* v with `start` in place of the phi, before `at`. */
static struct nvm_value at_start(struct combiner *k, struct nvm_inst_id at, struct nvm_value v,
                                 struct nvm_value phi, struct nvm_value start) {
  if (value_equal(v, phi)) return start;
  struct nvm_inst i = k->f->insts.data[value_index(v)];
  struct nvm_value operands[2] = {inst_operand(k->f, &i, 0), inst_operand(k->f, &i, 1)};
  operands[0] = at_start(k, at, operands[0], phi, start);
  return build_op(k, at, (enum op)i.op, 0, i.type, 0, 2, operands);
}

/* (i + 3) & 1 in a loop with i += 4 is the same in all iterations: computed before it. */
struct nvm_value combine_mask_of_counter(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value operands[2] = {inst_operand(k->f, i, 0), inst_operand(k->f, i, 1)}, phi;
  struct nvm_type type = i->type;
  nvm_u128 mask;
  uint32_t start;
  if (!type_is_int(&k->m->types, type) || type_scalar_bits(&k->m->types, type) > 64 ||
      !const_is_int(k->m, operands[1], &mask) || mask == 0)
    return VALUE_NULL;
  uint64_t low = known_bits_mask(evalint_log2((uint64_t)mask) + 1);
  if (!keeps_low_bits(k, operands[0], low, &phi, &start)) return VALUE_NULL;
  i = function_inst(k->f, (struct nvm_inst_id){value_index(phi)});
  if (comes_from(k, inst_operand(k->f, i, start), phi)) return VALUE_NULL;
  struct nvm_block before = {value_index(inst_operand(k->f, i, start + 1))};
  struct nvm_inst_id at = block_terminator(k->f, before);
  operands[0] = at_start(k, at, operands[0], phi, inst_operand(k->f, i, start));
  return build_op(k, at, OP_AND, 0, type, 0, 2, operands);
}

/* --- Bits joined --- */

/* `x << C | zext b` becomes a sum, which is one mad.lo: only in combine<loads>, since other rules
 * look for the or. */
struct nvm_value combine_sum_of_bits(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  nvm_u128 amount;
  if (!k->narrows_loads || !type_equal(i->type, TYPE_I32)) return VALUE_NULL;
  for (uint32_t n = 0; n < 2; n++) {
    struct nvm_value v = inst_operand(k->f, i, n), other = inst_operand(k->f, i, 1 - n);
    const struct nvm_inst *shifted = value_inst_of(k->f, v, OP_SHL),
                          *bit = value_inst_of(k->f, other, OP_ZEXT);
    if (!shifted || !bit || k->f->uses.data[value_index(v)] != 1 ||
        !const_is_int(k->m, inst_operand(k->f, shifted, 1), &amount) || amount == 0 ||
        !type_equal(value_type(k->f, inst_operand(k->f, bit, 0)), TYPE_I1))
      continue;
    struct nvm_value pair[] = {v, other};
    return build_op(k, root, OP_ADD, INST_NUW, TYPE_I32, 0, 2, pair);
  }
  return VALUE_NULL;
}

/* x ^ C is x + C where x has none of the bits. No rule makes an xor of such a sum. */
struct nvm_value combine_sum_of_constant(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  nvm_u128 bits;
  struct nvm_value x = inst_operand(k->f, i, 0), c = inst_operand(k->f, i, 1);
  if (type_equal(i->type, TYPE_I1) || !const_is_int(k->m, c, &bits) || bits == 0 || bits >> 64)
    return VALUE_NULL;
  struct known_bits known = known_bits_of(k->f, x);
  if (known.width == 0 || (uint64_t)bits & ~known.zero) return VALUE_NULL;
  struct nvm_value pair[] = {x, c};
  return build_op(k, root, OP_ADD, INST_NUW | INST_NSW, i->type, 0, 2, pair);
}
