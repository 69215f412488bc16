/* early-cse: the same computation on the way to a place is done once.
 *
 * Purpose:   front ends compute addresses and conversions again and again; folding them early makes
 *            everything after it cheaper. Folds operations on constants on the way.
 * Algorithm: a walk over the dominator tree with a scoped hash table of the pure expressions seen on
 *            the path from the entry; an expression found there is replaced.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands (hashing).
 * Omits:     loads; expressions that do not dominate but are available (gvn).
 * Tests:     check/opt/early-cse-*. */
#include "ir/dominance.h"
#include "ir/evalintrinsic.h"
#include "opt/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

struct entry {
  uint32_t hash;
  struct nvm_inst_id inst;
  uint32_t next; /* older entry of the same slot */
};

struct merger {
  struct nvm_function *f;
  struct arena *arena;
  struct rewrite rewrite;
  uint32_t *slots; /* index + 1 into entries */
  uint32_t slot_count;
  VEC(struct entry) entries; /* a stack: inner scopes on top */
};

static uint32_t expression_hash(struct merger *g, const struct nvm_inst *i) {
  uint32_t h = hash_mix(i->op, (uint64_t)i->type.index << 32 | i->aux);
  for (uint32_t k = 0; k < i->operand_count; k++)
    h = hash_mix(h, rewrite_get(&g->rewrite, inst_operand(g->f, i, k)).bits);
  return h;
}

/* The same op on the same operands; flags may differ, for the survivor loses what the other lacks. */
static bool same_expression(struct merger *g, const struct nvm_inst *a, const struct nvm_inst *b) {
  if (a->op != b->op || !type_equal(a->type, b->type) || a->aux != b->aux ||
      a->operand_count != b->operand_count)
    return false;
  for (uint32_t k = 0; k < a->operand_count; k++)
    if (!value_equal(rewrite_get(&g->rewrite, inst_operand(g->f, a, k)),
                     rewrite_get(&g->rewrite, inst_operand(g->f, b, k))))
      return false;
  return true;
}

static struct nvm_value fold(struct merger *g, const struct nvm_inst *i) {
  enum { MOST = 5 };
  struct nvm_value operands[MOST];
  if (i->operand_count == 0 || i->operand_count > MOST) return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = rewrite_get(&g->rewrite, inst_operand(g->f, i, k));
    bool callee = i->op == OP_CALL && k + 1 == i->operand_count;
    if (value_kind(operands[k]) != VALUE_CONST && i->op != OP_SELECT && !callee) return VALUE_NULL;
  }
  return eval_inst(g->f, i, operands);
}

static bool visit(struct merger *g, struct nvm_inst_id id) {
  struct nvm_inst *i = function_inst(g->f, id);
  if (!effects_is_pure(g->f, i)) return true;
  struct nvm_value constant = fold(g, i);
  i = function_inst(g->f, id);
  if (!value_is_none(constant)) {
    rewrite_set(&g->rewrite, id, constant);
    return true;
  }
  uint32_t hash = expression_hash(g, i), *slot = &g->slots[hash & (g->slot_count - 1)];
  for (uint32_t e = *slot; e; e = g->entries.data[e - 1].next) {
    struct nvm_inst *seen = function_inst(g->f, g->entries.data[e - 1].inst);
    if (g->entries.data[e - 1].hash != hash || !same_expression(g, seen, i)) continue;
    seen->flags &= i->flags;
    rewrite_set(&g->rewrite, id, value_of_inst(g->entries.data[e - 1].inst));
    return true;
  }
  struct entry added = {hash, id, *slot};
  if (!VEC_PUSH(g->arena, &g->entries, added)) return false;
  *slot = g->entries.count;
  return true;
}

static void leave_scope(struct merger *g, uint32_t to) {
  while (g->entries.count > to) {
    struct entry e = g->entries.data[--g->entries.count];
    g->slots[e.hash & (g->slot_count - 1)] = e.next;
  }
}

static bool walk(struct merger *g, const struct dominance *d) {
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
    FOR_EACH_INST(f, b, i)
      if (!visit(g, i)) return false;
  }
  return true;
}

enum nvm_status early_cse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct merger g = {.f = f, .arena = env->arena, .slot_count = 64};
  struct dominance d;
  while (g.slot_count < f->insts.count) g.slot_count *= 2;
  g.slots = arena_alloc(env->arena, g.slot_count * sizeof *g.slots);
  if (!g.slots || !rewrite_init(&g.rewrite, f, env->arena) ||
      !dominance_compute(&d, f, env->arena) || !walk(&g, &d))
    return NVM_OUT_OF_MEMORY;
  *env->statistic += g.rewrite.count;
  *changed = g.rewrite.count != 0;
  rewrite_apply(&g.rewrite);
  return NVM_OK;
}
