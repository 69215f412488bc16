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
#include "analysis/postdominators.h"
#include "opt/memory/constant_load.h"
#include "opt/memory/load_elimination.h"
#include "opt/passes.h"

struct numbering {
  struct nvm_function *f;
  struct dominance dominance;
  struct rewrite rewrite;
  uint32_t *older; /* by instruction, NULL if nothing is hoisted: the one before it with its
                          expression, in a block that does not dominate it; 0: none */
  struct flow *flow;
  struct arena *arena;
  struct nvm_block *postdominators; /* with `loops`, on demand; or NULL */
  struct loops loops;
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

/* --- hoisting --------------------------------------------------------------------------------- */

/* The nearest block that dominates both. */
static struct nvm_block common_dominator(const struct dominance *d, struct nvm_block a,
                                         struct nvm_block b) {
  while (!dominance_dominates(d, a, b)) a = d->immediate[a.index];
  return a;
}

/* Whether every path from a to an exit contains b. False if b is too far. */
static bool is_postdominated(const struct numbering *g, struct nvm_block a, struct nvm_block b) {
  enum { MAX_CLIMBED = 64 };
  for (uint32_t n = 0; n < MAX_CLIMBED && a.index != b.index && a.index != 0; n++)
    a = g->postdominators[a.index];
  return a.index == b.index;
}

/* Whether one of two equal expressions, in blocks a and b, is computed whenever the end of `above`,
 * which dominates both, is executed. */
static bool is_anticipated(struct numbering *g, struct nvm_block above, struct nvm_block a,
                           struct nvm_block b) {
  struct dominance d;
  if (!g->postdominators) {
    if (!flow_loops(g->flow, g->f, &d, &g->loops)) return false;
    g->postdominators = postdominators_compute(g->f, &g->dominance, g->arena);
    if (!g->postdominators) return false;
  }
  uint32_t loop = g->loops.innermost[above.index];
  bool a_inside = !loop || loops_contains(&g->loops, loop, a),
       b_inside = !loop || loops_contains(&g->loops, loop, b);
  return (a_inside && is_postdominated(g, above, a)) || (b_inside && is_postdominated(g, above, b));
}

/* Whether `above` branches to the block of i and to that of s, which goes to that of i. */
static bool is_skipped(const struct numbering *g, struct nvm_block above, const struct nvm_inst *s,
                       const struct nvm_inst *i) {
  struct nvm_function *f = g->f;
  return dominance_predecessor_count(&g->dominance, s->block) == 1 &&
         g->dominance.immediate[s->block.index].index == above.index &&
         block_successor_count(f, above) == 2 && block_successor_count(f, s->block) == 1 &&
         block_successor(f, s->block, 0).index == i->block.index &&
         (block_successor(f, above, 0).index == i->block.index ||
          block_successor(f, above, 1).index == i->block.index);
}

/* Of the instructions that are linked from `seen`, which are equal to i, the one that can be moved
 * to the block nearest to the entry; sets that. {0}: none. */
static struct nvm_inst_id find_hoisted(struct numbering *g, uint32_t seen, const struct nvm_inst *i,
                                       struct nvm_block *to) {
  enum { MAX_SEEN = 16 };
  const struct dominance *d = &g->dominance;
  struct nvm_inst_id found = {0};
  bool speculatable = effects_is_speculatable(g->f, i);
  if (i->op == OP_CALL || i->op == OP_PHI) return found;
  for (uint32_t n = 0; seen && n < MAX_SEEN; n++, seen = g->older[seen]) {
    const struct nvm_inst *s = function_inst(g->f, (struct nvm_inst_id){seen});
    struct nvm_block above = common_dominator(d, s->block, i->block);
    if (found.index && d->enter[above.index] >= d->enter[to->index]) continue;
    if (is_skipped(g, above, s, i) ? speculatable || (is_reached(g->f, s) && is_reached(g->f, i))
                                   : speculatable && is_anticipated(g, above, s->block, i->block)) {
      found.index = seen;
      *to = above;
    }
  }
  return found;
}

/* The survivor of two equal instructions keeps the flags of both, and a range if both state it. */
static void join(struct nvm_function *f, struct nvm_inst_id survivor, struct nvm_inst_id other) {
  struct nvm_inst *s = function_inst(f, survivor);
  const struct nvm_inst *o = function_inst(f, other);
  s->flags &= o->flags;
  if (f->attachments.data[survivor.index] != f->attachments.data[other.index] &&
      inst_range(f, s) != inst_range(f, o))
    f->attachments.data[survivor.index] = 0;
}

/* Makes i available: moves an equal instruction, which is linked from `seen`, to a block that
 * dominates both and whose execution implies that one of them is executed. {0}: there is none. An
 * instruction is not moved above a branch both of whose arms compute it: that would save no
 * execution, and take a register. */
static struct nvm_inst_id hoist(struct numbering *g, uint32_t seen, const struct nvm_inst *i) {
  struct nvm_function *f = g->f;
  struct nvm_block to = {0};
  struct nvm_inst_id moved = find_hoisted(g, seen, i, &to);
  if (inst_is_none(moved)) return moved;
  bool same_location =
      f->locations.data[moved.index].index == f->locations.data[i - f->insts.data].index;
  inst_unlink(f, moved);
  inst_insert_before(f, moved, block_terminator(f, to));
  for (; seen; seen = g->older[seen]) {
    const struct nvm_inst *s = function_inst(f, (struct nvm_inst_id){seen});
    if (seen == moved.index || !dominance_dominates(&g->dominance, to, s->block)) continue;
    join(f, moved, (struct nvm_inst_id){seen});
    same_location &= f->locations.data[seen].index == f->locations.data[moved.index].index;
    rewrite_set(&g->rewrite, (struct nvm_inst_id){seen}, value_of_inst(moved));
  }
  if (!same_location) f->locations.data[moved.index].index = 0; /* docs/locations.md, rule 3 */
  return moved;
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
                            ? dominance_dominates(&g->dominance, seen->block, i->block)
                            : seen->block.index == i->block.index;
    if (!is_available && g->older && effects_is_pure(g->f, i)) {
      struct nvm_inst_id moved = hoist(g, g->slots[n], i);
      is_available = !inst_is_none(moved);
      if (is_available) g->slots[n] = moved.index, g->older[moved.index] = 0;
      else g->older[id.index] = g->slots[n];
      seen = &g->f->insts.data[g->slots[n]];
    }
    if (!is_available) break;
    join(g->f, (struct nvm_inst_id){g->slots[n]}, id);
    rewrite_set(&g->rewrite, id, value_make(VALUE_INST, g->slots[n]));
    return;
  }
  g->slots[n] = id.index;
}

static bool begin(struct numbering *g, struct nvm_function *f, struct pass_env *env) {
  *g = (struct numbering){.f = f, .slot_count = 64, .flow = env->flow, .arena = env->arena};
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
  g.older = arena_alloc(env->arena, f->insts.count * sizeof *g.older);
  struct load_eliminator *loads = load_elimination_begin(f, &g.dominance, &g.rewrite, env->arena);
  if (!g.older || !loads || !walk(&g, loads, env->arena)) return NVM_OUT_OF_MEMORY;
  uint64_t changes = g.rewrite.count;
  rewrite_apply(&g.rewrite);
  changes += load_elimination_end(loads);
  *env->statistic += changes;
  *changed = changes != 0;
  return NVM_OK;
}
