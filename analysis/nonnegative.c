/* Loop variables that are never negative; see nonnegative.h. Those of a binary search are an
 * example: the middle of two positions is a position, and the next step takes it for one of
 * them. */
#include "analysis/nonnegative.h"

/* Whether b is what a division of a by a power of two adds to it: nothing if a is not negative. */
static bool rounds_up(const struct nonnegative *n, struct nvm_value a, struct nvm_value b) {
  const struct nvm_inst *low = value_inst_of(n->f, b, OP_LSHR);
  struct nvm_value from = low ? inst_operand(n->f, low, 0) : VALUE_NULL;
  const struct nvm_inst *sign = value_inst_of(n->f, from, OP_ASHR), *shift = sign ? sign : low;
  if (!shift || !value_equal(inst_operand(n->f, shift, 0), a)) return false;
  struct range by = n->range_of(n->state, inst_operand(n->f, shift, 1));
  return by.low + 1 == by.width;
}

/* Whether v is not negative (or is poison) if the marked phis are not. */
static bool stays_nonnegative(struct nonnegative *n, struct nvm_value v, uint32_t depth) {
  enum { MAX_STEPS = 6, MAX_VISITS = 100 };
  const struct nvm_inst *i = value_inst(n->f, v);
  if (i && i->op == OP_PHI && n->marked[value_index(v)]) return true;
  struct range known = n->range_of(n->state, v);
  if (known.width && known.least >= 0) return true;
  if (!i || depth++ == MAX_STEPS || n->visits++ >= MAX_VISITS || i->operand_count < 2) return false;
  struct nvm_value a = inst_operand(n->f, i, 0), b = inst_operand(n->f, i, 1);
  switch ((enum op)i->op) {
    case OP_ADD:
      if (rounds_up(n, a, b)) return stays_nonnegative(n, a, depth);
      return (i->flags & INST_NSW) && stays_nonnegative(n, a, depth) &&
             stays_nonnegative(n, b, depth);
    case OP_MUL:
      return (i->flags & INST_NSW) && stays_nonnegative(n, a, depth) &&
             stays_nonnegative(n, b, depth);
    case OP_LSHR: return n->range_of(n->state, b).low > 0 || stays_nonnegative(n, a, depth);
    case OP_SDIV: return n->range_of(n->state, b).least > 0 && stays_nonnegative(n, a, depth);
    case OP_ASHR:
    case OP_SREM: return stays_nonnegative(n, a, depth);
    case OP_SELECT:
      return stays_nonnegative(n, b, depth) &&
             stays_nonnegative(n, inst_operand(n->f, i, 2), depth);
    case OP_PHI:
      for (uint32_t k = 0; k < i->operand_count; k += 2)
        if (!stays_nonnegative(n, inst_operand(n->f, i, k), depth)) return false;
      return true;
    default: return false;
  }
}

/* Whether the entry of the phi comes from a latch of its loop. */
static bool is_next(const struct nonnegative *n, const struct nvm_inst *phi, uint32_t k) {
  struct nvm_block from = {value_index(inst_operand(n->f, phi, k + 1))};
  return dominance_reachable(n->dominance, from) &&
         dominance_dominates(n->dominance, phi->block, from);
}

static bool starts_nonnegative(const struct nonnegative *n, const struct nvm_inst *phi) {
  const struct type_table *t = &n->f->module->types;
  bool loops = false;
  if (!type_is_int(t, phi->type) || type_scalar_bits(t, phi->type) > 64) return false;
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    bool next = is_next(n, phi, k);
    if (!next && n->range_of(n->state, inst_operand(n->f, phi, k)).least < 0) return false;
    loops |= next;
  }
  return loops;
}

static bool all_entries_stay(struct nonnegative *n, const struct nvm_inst *phi) {
  n->visits = 0;
  for (uint32_t k = 0; k < phi->operand_count; k += 2)
    if (!stays_nonnegative(n, inst_operand(n->f, phi, k), 0)) return false;
  return true;
}

void nonnegative_mark(struct nonnegative *n, struct nvm_block b) {
  enum { MAX_ROUNDS = 4 };
  struct nvm_inst_id first = function_block(n->f, b)->first, end = block_first_after_phis(n->f, b);
  bool changed = false;
  for (struct nvm_inst_id i = first; i.index != end.index; i = function_inst(n->f, i)->next)
    changed |= n->marked[i.index] = starts_nonnegative(n, function_inst(n->f, i));
  for (int round = 0; changed; round++) {
    changed = false;
    for (struct nvm_inst_id i = first; i.index != end.index; i = function_inst(n->f, i)->next) {
      if (!n->marked[i.index]) continue;
      n->marked[i.index] = round < MAX_ROUNDS && all_entries_stay(n, function_inst(n->f, i));
      changed |= !n->marked[i.index];
    }
  }
}
