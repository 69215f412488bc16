/* Numbering expressions; see numbering.h. Linear in operands, by hashing.
 *
 * In preorder of the dominator tree, what does not dominate the block at hand will not dominate a
 * later one either: the newer expression takes its place in the table, which needs no scopes. */
#include "opt/scalar/numbering.h"

#include "ir/evalintrinsic.h"
#include "analysis/effects.h"

static uint32_t expression_hash(struct numbering *g, const struct nvm_inst *i) {
  const struct nvm_value *operands = g->f->operands.data + i->first_operand;
  uint32_t h = hash_mix(i->op, (uint64_t)i->type.index << 32 | i->aux);
  for (uint32_t k = 0; k < i->operand_count; k++) h = hash_mix(h, operands[k].bits);
  return h;
}

/* The same op on the same operands; flags may differ, for the survivor loses what the other lacks.
 */
static bool same_expression(struct numbering *g, const struct nvm_inst *a,
                            const struct nvm_inst *b) {
  if (a->op != b->op || !type_equal(a->type, b->type) || a->aux != b->aux ||
      a->operand_count != b->operand_count)
    return false;
  for (uint32_t k = 0; k < a->operand_count; k++)
    if (!value_equal(inst_operand(g->f, a, k), inst_operand(g->f, b, k))) return false;
  return true;
}

static struct nvm_value fold(struct numbering *g, const struct nvm_inst *i) {
  enum { MOST = 5 };
  struct nvm_value operands[MOST];
  if (i->operand_count == 0 || i->operand_count > MOST) return VALUE_NULL;
  if (i->op != OP_CALL && value_kind(inst_operand(g->f, i, 0)) != VALUE_CONST) return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = inst_operand(g->f, i, k);
    bool callee = i->op == OP_CALL && k + 1 == i->operand_count;
    if (value_kind(operands[k]) != VALUE_CONST && i->op != OP_SELECT && !callee) return VALUE_NULL;
  }
  return eval_inst(g->f, i, operands);
}

static void visit(struct numbering *g, const struct dominance *d, struct nvm_inst_id id) {
  struct nvm_inst *i = function_inst(g->f, id);
  struct nvm_value constant = fold(g, i);
  i = function_inst(g->f, id);
  if (!value_is_none(constant)) {
    rewrite_set(&g->rewrite, id, constant);
    return;
  }
  uint32_t mask = g->slot_count - 1, n = expression_hash(g, i) & mask;
  for (; g->slots[n]; n = (n + 1) & mask) {
    struct nvm_inst *seen = &g->f->insts.data[g->slots[n]];
    if (!same_expression(g, seen, i)) continue;
    if (!dominance_dominates(d, seen->block, i->block)) break;
    seen->flags &= i->flags;
    rewrite_set(&g->rewrite, id, value_make(VALUE_INST, g->slots[n]));
    return;
  }
  g->slots[n] = id.index;
}

bool numbering_init(struct numbering *n, struct nvm_function *f, struct arena *arena) {
  *n = (struct numbering){.f = f, .arena = arena, .slot_count = 64};
  while (n->slot_count < 2 * f->insts.count) n->slot_count *= 2;
  n->slots = arena_alloc(arena, n->slot_count * sizeof *n->slots);
  return n->slots && rewrite_init(&n->rewrite, f, arena);
}

bool numbering_walk(struct numbering *g, const struct dominance *d, numbering_visit *others,
                    void *state) {
  struct nvm_function *f = g->f;
  uint32_t count = 0;
  struct nvm_block *order = arena_alloc(g->arena, (f->blocks.count + 1) * sizeof *order);
  if (!order) return false;
  FOR_EACH_BLOCK(f, b)
  if (dominance_reachable(d, b)) {
    order[d->enter[b.index]] = b;
    count++;
  }
  for (uint32_t n = 1; n <= count; n++) FOR_EACH_INST(f, order[n], i) {
      if (g->rewrite.set_count) rewrite_operands(&g->rewrite, i);
      if (i.index >= g->rewrite.size)
        continue; /* made on the way, for a block that was not come to yet */
      if (effects_is_pure(f, function_inst(f, i))) visit(g, d, i);
      else if (others && !others(state, i)) return false;
    }
  return true;
}
