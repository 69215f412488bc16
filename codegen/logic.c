/* Trees of bitwise operations that one lop3 computes.
 *
 *     (a ^ b) & ~c                            lop3.b32 d, a, b, c, 0x14
 *
 * Starts with the operands of the root and replaces one operation after the other by its own
 * operands; takes the last state with at most three values: a & b | c & (a | b) has four on the
 * way. An operation is part of the tree if it has exactly one use, in the tree, and is in the block
 * of the root. The table is the result for the columns 0xf0, 0xcc and 0xaa, which have all
 * combinations of three bits. */
#include "codegen/logic.h"
#include "codegen/emit.h"
#include "codegen/select.h"
#include "codegen/value.h"

enum { ALL = 0xff };

static bool is_operation(const struct nvm_inst *i) {
  return (i->op == OP_AND || i->op == OP_OR || i->op == OP_XOR) && type_equal(i->type, TYPE_I32);
}

/* 0 or ALL if all bits of the constant v are equal; else -1. */
static int uniform_bits(const struct lower *l, struct nvm_value v) {
  nvm_u128 bits;
  if (!const_is_int(l->module, v, &bits)) return -1;
  return bits == 0 ? 0 : bits == UINT32_MAX ? ALL : -1;
}

/* Adds v to the leaves unless it is there or needs no register; false: there are too many. */
static bool add_leaf(const struct lower *l, struct logic *t, struct nvm_value v) {
  if (uniform_bits(l, v) >= 0) return true;
  for (uint32_t k = 0; k < t->count; k++)
    if (value_equal(t->leaves[k], v)) return true;
  if (t->count == LOGIC_CANDIDATES) return false;
  t->leaves[t->count++] = v;
  return true;
}

/* Replaces leaf n by the operands of its operation, if that is possible. */
static bool expand(const struct lower *l, struct logic *t, const struct nvm_inst *root,
                   uint32_t n) {
  const struct nvm_inst *i = value_inst(l->f, t->leaves[n]);
  if (!i || !is_operation(i) || l->f->uses.data[value_index(t->leaves[n])] != 1 ||
      i->block.index != root->block.index || select_has_pattern(l, i))
    return false;
  struct logic with = *t;
  with.leaves[n] = with.leaves[--with.count];
  if (!add_leaf(l, &with, inst_operand(l->f, i, 0)) ||
      !add_leaf(l, &with, inst_operand(l->f, i, 1)))
    return false;
  with.operations++;
  *t = with;
  return true;
}

static unsigned table_of(const struct lower *l, const struct logic *t, const struct nvm_inst *i);

static unsigned column_of(const struct lower *l, const struct logic *t, struct nvm_value v) {
  static const unsigned columns[LOGIC_LEAVES] = {0xf0, 0xcc, 0xaa};
  int bits = uniform_bits(l, v);
  if (bits >= 0) return (unsigned)bits;
  for (uint32_t k = 0; k < t->count; k++)
    if (value_equal(t->leaves[k], v)) return columns[k];
  return table_of(l, t, value_inst(l->f, v));
}

/* As deep as the tree, which has few operations. */
static unsigned table_of(const struct lower *l, const struct logic *t, const struct nvm_inst *i) {
  unsigned a = column_of(l, t, inst_operand(l->f, i, 0)),
           b = column_of(l, t, inst_operand(l->f, i, 1));
  return i->op == OP_AND ? a & b : i->op == OP_OR ? a | b : a ^ b;
}

bool logic_find(const struct lower *l, const struct nvm_inst *root, struct logic *t) {
  enum { MAX_OPERATIONS = 8 };
  struct logic now = {.operations = 1};
  *t = now;
  if (l->target->optimization_level == 0 || !is_operation(root) || select_has_pattern(l, root) ||
      !emit_has(l, PTX_LOP3, PTX_MODS(PTX_MOD_B32)))
    return false;
  for (uint32_t k = 0; k < 2; k++) add_leaf(l, &now, inst_operand(l->f, root, k));
  for (uint32_t n = 0; n < now.count && now.operations < MAX_OPERATIONS;) {
    n = expand(l, &now, root, n) ? 0 : n + 1;
    if (now.count <= LOGIC_LEAVES) *t = now;
  }
  if (t->operations < 2 || t->count < 2) return false;
  t->table = table_of(l, t, root);
  return true;
}

bool logic_lower(struct lower *l, const struct nvm_inst *i) {
  struct logic t;
  if (!select_is_logic(l, i) || !logic_find(l, i, &t)) return false;
  struct ptx_operand o[2 + LOGIC_LEAVES] = {ptx_r(value_result(l, l->inst)[0])};
  for (uint32_t k = 0; k < LOGIC_LEAVES; k++)
    o[1 + k] = k < t.count ? value_operand(l, t.leaves[k], 0) : ptx_i(0);
  o[1 + LOGIC_LEAVES] = ptx_i((int64_t)t.table);
  ptx_add(l->pf, PTX_LOP3, PTX_MODS(PTX_MOD_B32), o, 2 + LOGIC_LEAVES);
  return true;
}
