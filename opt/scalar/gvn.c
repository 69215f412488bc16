/* early-cse, gvn: replace computations, and for gvn loads, whose value is already available.
 *
 * Purpose:   front ends repeat address computations, conversions and loads; early-cse makes all
 *            later passes cheaper, gvn saves memory accesses of hundreds of cycles.
 * Algorithm: a walk over the dominator tree with a hash table of the pure expressions on the path
 *            from the entry. The table needs no scopes: in preorder, an expression that does not
 *            dominate the current block dominates no later one either, so a newer one replaces it.
 *            Operations on constants and loads from constant variables are folded. gvn also visits
 *            the other loads, and stores (opt/memory/load_elimination.c), and moves an expression
 *            above a branch that is computed both in a block that the branch may skip and after it.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands (hashing); loads as load_elimination.h says.
 * Omits:     other partially redundant arithmetic.
 * Tests:     check/opt/early-cse-*, check/opt/gvn-*. */
#include "ir/evalintrinsic.h"
#include "analysis/effects.h"
#include "opt/memory/constant_load.h"
#include "opt/memory/load_elimination.h"
#include "opt/passes.h"

struct numbering {
  struct nvm_function *f;
  struct dominance dominance;
  struct rewrite rewrite;
  bool hoists;         /* above branches */
  uint32_t *slots;     /* by hash, linear probing: the latest instruction with an expression */
  uint32_t slot_count; /* a power of two, at least twice the instructions */
};

/* Operand k in an order that is the same for a + b and b + a. */
static struct nvm_value ordered_operand(const struct numbering *g, const struct nvm_inst *i,
                                        uint32_t k) {
  const struct nvm_value *operands = g->f->operands.data + i->first_operand;
  bool swapped = op_table[i->op].flags & OPF_COMMUTES && operands[0].bits > operands[1].bits;
  return operands[swapped ? 1 - k : k];
}

static uint32_t expression_hash(const struct numbering *g, const struct nvm_inst *i) {
  uint32_t h = hash_mix(i->op, (uint64_t)i->type.index << 32 | i->aux);
  for (uint32_t k = 0; k < i->operand_count; k++) h = hash_mix(h, ordered_operand(g, i, k).bits);
  return h;
}

/* Whether both have the same op and operands. Flags may differ: the survivor keeps the common ones.
 */
static bool same_expression(const struct numbering *g, const struct nvm_inst *a,
                            const struct nvm_inst *b) {
  if (a->op != b->op || !type_equal(a->type, b->type) || a->aux != b->aux ||
      a->operand_count != b->operand_count)
    return false;
  for (uint32_t k = 0; k < a->operand_count; k++)
    if (!value_equal(ordered_operand(g, a, k), ordered_operand(g, b, k))) return false;
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

/* Whether i is executed whenever its block is entered; true only for the first instructions. */
static bool is_reached(const struct nvm_function *f, const struct nvm_inst *i) {
  enum { MAX_SCANNED = 64 };
  struct nvm_inst_id n = function_block(f, i->block)->first;
  for (uint32_t k = 0; k < MAX_SCANNED; k++, n = function_inst(f, n)->next) {
    const struct nvm_inst *before = function_inst(f, n);
    if (before == i) return true;
    if (effects_may_not_return(f, before)) return false;
  }
  return false;
}

/* Moves `seen` above the branch that may skip its block and goes to that of i, an equal expression,
 * in any case. */
static bool hoist(struct numbering *g, struct nvm_inst_id seen, const struct nvm_inst *i) {
  struct nvm_function *f = g->f;
  const struct dominance *d = &g->dominance;
  const struct nvm_inst *s = function_inst(f, seen);
  struct nvm_block skipped = s->block, above = d->immediate[skipped.index];
  if (s->op == OP_CALL || s->op == OP_PHI || above.index != d->immediate[i->block.index].index ||
      dominance_predecessor_count(d, skipped) != 1 || block_successor_count(f, above) != 2 ||
      block_successor_count(f, skipped) != 1 ||
      block_successor(f, skipped, 0).index != i->block.index ||
      (block_successor(f, above, 0).index != i->block.index &&
       block_successor(f, above, 1).index != i->block.index) ||
      (!effects_is_speculatable(f, s) && !(is_reached(f, s) && is_reached(f, i))))
    return false;
  for (uint32_t k = 0; k < s->operand_count; k++) {
    const struct nvm_inst *from = value_inst(f, inst_operand(f, s, k));
    if (from && from->block.index == skipped.index) return false;
  }
  if (f->locations.data[seen.index].index != f->locations.data[i - f->insts.data].index)
    f->locations.data[seen.index].index = 0; /* docs/locations.md, rule 3 */
  inst_unlink(f, seen);
  inst_insert_before(f, seen, block_terminator(f, above));
  return true;
}

/* Convergent expressions depend on which threads execute them: the same ones within a block. */
static void visit_pure(struct numbering *g, struct nvm_inst_id id) {
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
    bool is_available = effects_is_pure(g->f, i)
                            ? dominance_dominates(&g->dominance, seen->block, i->block) ||
                                  (g->hoists && hoist(g, (struct nvm_inst_id){g->slots[n]}, i))
                            : seen->block.index == i->block.index;
    if (!is_available) break;
    seen->flags &= i->flags;
    rewrite_set(&g->rewrite, id, value_make(VALUE_INST, g->slots[n]));
    return;
  }
  g->slots[n] = id.index;
}

static bool begin(struct numbering *g, struct nvm_function *f, struct pass_env *env) {
  *g = (struct numbering){.f = f, .slot_count = 64};
  while (g->slot_count < 2 * f->insts.count) g->slot_count *= 2;
  g->slots = arena_alloc(env->arena, g->slot_count * sizeof *g->slots);
  return g->slots && rewrite_init(&g->rewrite, f, env->arena) &&
         flow_dominance(env->flow, f, &g->dominance);
}

/* Folds a load from a constant initializer. */
static void visit_load(struct numbering *g, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(g->f, id);
  if (i->op != OP_LOAD || !effects_is_plain_access(i)) return;
  struct alias_address address = alias_decompose(g->f, inst_operand(g->f, i, 0));
  struct nvm_value v = constant_load(g->f, &address, i->type);
  if (!value_is_none(v)) rewrite_set(&g->rewrite, id, v);
}

/* Visits the blocks in preorder of the dominator tree; `loads` may be NULL. Operands are replaced
 * before an instruction is visited. */
static bool walk(struct numbering *g, struct load_eliminator *loads, struct arena *arena) {
  struct nvm_function *f = g->f;
  struct nvm_block *order = dominance_preorder(&g->dominance, f, arena);
  if (!order) return false;
  for (uint32_t n = 1; n <= g->dominance.size[f->entry.index]; n++)
    FOR_EACH_INST (f, order[n], i) {
      if (g->rewrite.set_count) rewrite_operands(&g->rewrite, i);
      if (i.index >= g->rewrite.size) continue; /* inserted in a block that is visited later */
      const struct nvm_inst *inst = function_inst(f, i);
      if (effects_is_pure(f, inst) || effects_is_convergent_asm(f, inst)) visit_pure(g, i);
      else if (!loads) visit_load(g, i);
      else if (!load_elimination_visit(loads, i)) return false;
    }
  return true;
}

enum nvm_status early_cse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct numbering g;
  if (!begin(&g, f, env) || !walk(&g, NULL, env->arena)) return NVM_OUT_OF_MEMORY;
  *env->statistic += g.rewrite.count;
  *changed = g.rewrite.count != 0;
  rewrite_apply(&g.rewrite);
  return NVM_OK;
}

enum nvm_status gvn_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct numbering g;
  if (!begin(&g, f, env)) return NVM_OUT_OF_MEMORY;
  g.hoists = true;
  struct load_eliminator *loads = load_elimination_begin(f, &g.dominance, &g.rewrite, env->arena);
  if (!loads || !walk(&g, loads, env->arena)) return NVM_OUT_OF_MEMORY;
  uint64_t changes = g.rewrite.count;
  rewrite_apply(&g.rewrite);
  changes += load_elimination_end(loads);
  *env->statistic += changes;
  *changed = changes != 0;
  return NVM_OK;
}
