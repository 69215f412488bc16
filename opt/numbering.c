/* Numbering expressions; see numbering.h. Linear in operands, by hashing. */
#include "opt/numbering.h"

#include "ir/evalintrinsic.h"
#include "opt/effects.h"

static uint32_t expression_hash(struct numbering *g, const struct nvm_inst *i) {
  const struct nvm_value *operands = g->f->operands.data + i->first_operand;
  uint32_t h = hash_mix(i->op, (uint64_t)i->type.index << 32 | i->aux);
  for (uint32_t k = 0; k < i->operand_count; k++) h = hash_mix(h, operands[k].bits);
  return h;
}

/* The same op on the same operands; flags may differ, for the survivor loses what the other lacks. */
static bool same_expression(struct numbering *g, const struct nvm_inst *a, const struct nvm_inst *b) {
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

static void visit(struct numbering *g, struct nvm_inst_id id) {
  struct nvm_inst *i = function_inst(g->f, id);
  struct nvm_value constant = fold(g, i);
  i = function_inst(g->f, id);
  if (!value_is_none(constant)) {
    rewrite_set(&g->rewrite, id, constant);
    return;
  }
  uint32_t hash = expression_hash(g, i), *slot = &g->slots[hash & (g->slot_count - 1)];
  for (uint32_t e = *slot; e; e = g->entries.data[e - 1].next) {
    struct nvm_inst *seen = function_inst(g->f, g->entries.data[e - 1].inst);
    if (g->entries.data[e - 1].hash != hash || !same_expression(g, seen, i)) continue;
    seen->flags &= i->flags;
    rewrite_set(&g->rewrite, id, value_of_inst(g->entries.data[e - 1].inst));
    return;
  }
  g->entries.data[g->entries.count++] = (struct numbering_entry){hash, id, *slot};
  *slot = g->entries.count;
}

static void leave_scope(struct numbering *g, uint32_t to) {
  while (g->entries.count > to) {
    struct numbering_entry e = g->entries.data[--g->entries.count];
    g->slots[e.hash & (g->slot_count - 1)] = e.next;
  }
}

bool numbering_init(struct numbering *n, struct nvm_function *f, struct arena *arena) {
  *n = (struct numbering){.f = f, .arena = arena, .slot_count = 64};
  while (n->slot_count < f->insts.count) n->slot_count *= 2;
  n->slots = arena_alloc(arena, n->slot_count * sizeof *n->slots);
  return n->slots && VEC_ROOM(arena, &n->entries, f->insts.count) && rewrite_init(&n->rewrite, f, arena);
}

bool numbering_walk(struct numbering *g, const struct dominance *d, numbering_visit *others,
                    void *state) {
  struct nvm_function *f = g->f;
  uint32_t blocks = f->blocks.count, count = 0;
  struct nvm_block *order = arena_alloc(g->arena, (blocks + 1) * sizeof *order);
  uint32_t *scope = arena_alloc(g->arena, (blocks + 1) * sizeof *scope);
  struct nvm_block *open = arena_alloc(g->arena, (blocks + 1) * sizeof *open);
  if (!order || !scope || !open) return false;
  FOR_EACH_BLOCK(f, b)
    if (dominance_reachable(d, b)) {
      order[d->enter[b.index]] = b;
      count++;
    }
  uint32_t depth = 0;
  for (uint32_t n = 1; n <= count; n++) {
    struct nvm_block b = order[n];
    while (depth && !dominance_dominates(d, open[depth - 1], b))
      leave_scope(g, scope[open[--depth].index]);
    scope[b.index] = g->entries.count;
    open[depth++] = b;
    FOR_EACH_INST(f, b, i) {
      rewrite_operands(&g->rewrite, i);
      if (i.index >= g->rewrite.size) continue; /* made on the way, for a block that was not come to yet */
      if (effects_is_pure(f, function_inst(f, i))) visit(g, i);
      else if (others && !others(state, i)) return false;
    }
  }
  return true;
}
