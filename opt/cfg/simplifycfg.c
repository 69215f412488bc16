/* simplifycfg: fewer blocks, branches and phis.
 *
 * Purpose:   front ends and other passes leave chains of blocks, empty blocks, branches with a
 *            known outcome, and phis of one value.
 * Algorithm: rules, applied to every block in layout order until none applies:
 *              known-branch  a branch with only one possible target      → a jump
 *              undefined     a successor that begins with `unreachable`  → not taken
 *              unreachable   a block that is not reachable               → removed
 *              trivial-phi   a phi whose values are all the same         → that value
 *              merge         b jumps to s, s has no other predecessor    → one block
 *              forward       b is empty and jumps to s                   → predecessors jump to s
 *              switch        cases with the default's target             → dropped
 *                            one case left                               → a comparison
 *              chain         x == 1, else x == 2, else x == 3 …          → a switch
 *              tails         two blocks with equal code and successor    → one block
 *              hoist         both successors begin with equal code       → executed before
 *            and if-conversion (if_conversion.c).
 * Locations: a jump that replaces a branch has its location; an instruction that replaces two has
 *            theirs if they are equal.
 * Requires:  nothing.
 * Preserves: SSA form.
 * Cost:      linear per sweep, except for switches whose cases alternate between targets. A sweep
 *            that changes something removes at least one block or phi; few sweeps are needed in
 *            practice.
 * Omits:     jump threading: nothing is duplicated. Convergent operations, atomics, volatile
 *            accesses and calls with effects are never moved, merged or made unconditional.
 * Tests:     check/opt/simplifycfg-*. */
#include "opt/cfg/simplifycfg.h"

#include "analysis/effects.h"
#include "opt/cfg/cfg.h"
#include "opt/passes.h"

enum {
  MIN_CASES = 4,
  MAX_CASES = 64,         /* of a comparison chain that becomes a switch */
  MAX_COMPARED_INSTS = 16 /* of a block that is merged with another */
};

/* Drops the cases whose target is the default's. Returns the number of cases left. */
static uint32_t drop_default_cases(struct simplifier *s, struct nvm_block b, struct nvm_inst_id t) {
  struct nvm_function *f = s->f;
  uint32_t count = function_inst(f, t)->operand_count, to = 2;
  struct nvm_value otherwise = inst_operand(f, function_inst(f, t), 1);
  for (uint32_t k = 2; k < count; k += 2) {
    struct nvm_value label = inst_operand(f, function_inst(f, t), k);
    struct nvm_value target = inst_operand(f, function_inst(f, t), k + 1);
    if (value_equal(target, otherwise)) continue;
    if (to != k) inst_set_operand(f, t, to, label), inst_set_operand(f, t, to + 1, target);
    to += 2;
  }
  if (to == count) return (count - 2) / 2;
  inst_remove_operands(f, t, to, count - to);
  cfg_remove_phi_edges(f, (struct nvm_block){value_index(otherwise)}, b, 1);
  s->changed = true;
  return (to - 2) / 2;
}

static bool is_unreachable(const struct nvm_function *f, struct nvm_block b) {
  return function_inst(f, function_block(f, b)->first)->op == OP_UNREACHABLE;
}

/* The only successor of b that is not immediately undefined behaviour, {0} if there are several. A
 * switch with an undefined default gets a case's target for it. */
static struct nvm_block defined_successor(struct simplifier *s, struct nvm_block b) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  const struct nvm_inst *i = function_inst(f, t);
  if (i->op == OP_CONDBR && is_unreachable(f, block_successor(f, b, 0)))
    return block_successor(f, b, 1);
  if (i->op == OP_CONDBR && is_unreachable(f, block_successor(f, b, 1)))
    return block_successor(f, b, 0);
  if (i->op == OP_SWITCH && i->operand_count > 2 && is_unreachable(f, block_successor(f, b, 0))) {
    inst_set_operand(f, t, 1, inst_operand(f, i, 3));
    drop_default_cases(s, b, t);
  }
  return (struct nvm_block){0};
}

static bool fold_known_branches(struct simplifier *s) {
  bool any = false;
  FOR_EACH_BLOCK (s->f, b) {
    struct nvm_block to = cfg_known_successor(s->f, b);
    if (block_is_none(to)) to = defined_successor(s, b);
    if (block_is_none(to)) continue;
    cfg_make_jump(s->f, b, to);
    any = true;
  }
  int64_t removed = cfg_keep_reachable(s->f, s->env->arena, &s->predecessors);
  if (removed < 0) return false;
  *s->env->statistic += (uint64_t)removed;
  s->changed |= any || removed > 0;
  return true;
}

/* Allocates the table of rewrites when the first is found. */
static bool need_rewrite(struct simplifier *s) {
  return s->rewrite.to ? rewrite_grow(&s->rewrite, s->env->arena)
                       : rewrite_init(&s->rewrite, s->f, s->env->arena);
}

/* Ends a rule. */
static void apply_rewrites(struct simplifier *s) {
  s->changed |= s->rewrite.count != 0;
  rewrite_apply(&s->rewrite);
  s->rewrite.count = s->rewrite.set_count = 0;
}

static bool remove_trivial_phis(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct rewrite *r = &s->rewrite;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_PHI (f, b, i) {
      struct nvm_value v = phi_single_value(f, i);
      if (value_is_none(v)) continue;
      if (!need_rewrite(s)) return false;
      v = rewrite_get(r, v);
      if (!value_equal(v, value_of_inst(i))) rewrite_set(r, i, v);
    }
  apply_rewrites(s);
  return true;
}

/* If b jumps to a block with no other predecessor, moves its instructions to b. Trivial phis have
 * been removed. */
static bool merge_with_successor(struct simplifier *s, struct nvm_block b) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id jump = block_terminator(f, b);
  if (function_inst(f, jump)->op != OP_BR) return false;
  struct nvm_block next = block_successor(f, b, 0);
  if (next.index == b.index || next.index == f->entry.index || s->predecessors[next.index] != 1)
    return false;
  struct nvm_inst_id first = function_block(f, next)->first;
  if (function_inst(f, first)->op == OP_PHI) return false;
  inst_remove(f, jump);
  cfg_move_rest(f, first, b);
  function_remove_block(f, next);
  return true;
}

static void merge_blocks(struct simplifier *s) {
  FOR_EACH_BLOCK (s->f, b)
    while (merge_with_successor(s, b)) {
      ++*s->env->statistic;
      s->changed = true;
    }
}

/* Whether b is empty and jumps to *to, which has no phis. */
static bool is_forwarder(const struct simplifier *s, struct nvm_block b, struct nvm_block *to) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id first = function_block(f, b)->first;
  if (b.index == f->entry.index || function_inst(f, first)->op != OP_BR) return false;
  *to = block_successor(f, b, 0);
  struct nvm_inst_id theirs = function_block(f, *to)->first;
  uint32_t loop = f->attachments.data[first.index]; /* !llvm.loop must not be lost */
  return to->index != b.index && loop == 0 && function_inst(f, theirs)->op != OP_PHI;
}

/* The end of the chain of forwarders from `to`, with path compression. */
static struct nvm_block follow(struct nvm_block *target, struct nvm_block to) {
  struct nvm_block end = to;
  while (!block_is_none(target[end.index])) end = target[end.index];
  while (to.index != end.index) {
    struct nvm_block next = target[to.index];
    target[to.index] = end;
    to = next;
  }
  return end;
}

/* Replaces the targets of branches by those in `target`. */
static void redirect(struct simplifier *s, struct nvm_block *target) {
  struct nvm_function *f = s->f;
  FOR_EACH_BLOCK (f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    if (!block_is_none(target[b.index])) continue;
    for (uint32_t k = 0; k < function_inst(f, t)->operand_count; k++) {
      struct nvm_value v = inst_operand(f, function_inst(f, t), k);
      if (value_kind(v) != VALUE_BLOCK || block_is_none(target[value_index(v)])) continue;
      struct nvm_block to = follow(target, target[value_index(v)]);
      inst_set_operand(f, t, k, value_of_block(to));
    }
  }
}

static bool forward_empty_blocks(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct nvm_block *target = arena_alloc(s->env->arena, f->blocks.count * sizeof *target);
  if (!target) return false;
  bool any = false;
  FOR_EACH_BLOCK (f, b) {
    struct nvm_block to;
    if (!is_forwarder(s, b, &to)) continue;
    to = follow(target, to);
    if (to.index == b.index) continue; /* a loop of empty blocks */
    target[b.index] = to;
    any = true;
  }
  if (!any) return true;
  redirect(s, target);
  int64_t removed = cfg_keep_reachable(f, s->env->arena, &s->predecessors);
  if (removed < 0) return false;
  *s->env->statistic += (uint64_t)removed;
  s->changed |= removed > 0;
  return true;
}

bool simplifycfg_has_hints(const struct nvm_function *f, struct nvm_inst_id t) {
  return loops_hints_of(f, t).index != 0;
}

static bool simplify_switches(struct simplifier *s) {
  struct nvm_function *f = s->f;
  bool any = false;
  FOR_EACH_BLOCK (f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    if (function_inst(f, t)->op != OP_SWITCH || simplifycfg_has_hints(f, t)) continue;
    any = true;
    if (drop_default_cases(s, b, t) != 1) continue;
    const struct nvm_inst *i = function_inst(f, t);
    struct builder at = builder_replacing(f, t);
    struct nvm_value branch[] = {VALUE_NULL, inst_operand(f, i, 3), inst_operand(f, i, 1)};
    branch[0] = builder_icmp(&at, ICMP_EQ, inst_operand(f, i, 0), inst_operand(f, i, 2));
    if (value_is_none(branch[0]) || !cfg_replace_terminator(f, t, OP_CONDBR, branch, 3))
      return false;
    s->changed = true;
  }
  return !any || cfg_keep_reachable(f, s->env->arena, &s->predecessors) >= 0;
}

struct comparison_chain {
  struct nvm_value x, operands[2 + 2 * MAX_CASES]; /* of the switch */
  struct nvm_block blocks[MAX_CASES];              /* of each comparison */
  uint32_t count;                                  /* comparisons */
};

/* Whether `to` can be a target of the switch: a phi has one value for all edges from it. */
static bool is_new_target(const struct nvm_function *f, const struct comparison_chain *c,
                          struct nvm_value to) {
  const struct nvm_block b = {value_index(to)};
  if (function_inst(f, function_block(f, b)->first)->op != OP_PHI) return true;
  for (uint32_t k = 0; k < c->count; k++)
    if (value_equal(c->operands[2 * k + 3], to)) return false;
  return true;
}

/* Adds the comparison at the end of b; false if b is not a part of the chain. */
static bool add_comparison(const struct simplifier *s, struct comparison_chain *c,
                           struct nvm_block b) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || simplifycfg_has_hints(f, t) || c->count == MAX_CASES)
    return false;
  struct nvm_value condition = inst_operand(f, function_inst(f, t), 0);
  if (value_kind(condition) != VALUE_INST || f->uses.data[value_index(condition)] != 1)
    return false;
  struct nvm_inst_id id = {value_index(condition)};
  const struct nvm_inst *i = function_inst(f, id);
  nvm_u128 label, other;
  if (i->op != OP_ICMP || i->aux > ICMP_NE || i->block.index != b.index ||
      !const_is_int(f->module, inst_operand(f, i, 1), &label) ||
      (c->count && (!value_equal(c->x, inst_operand(f, i, 0)) || s->predecessors[b.index] != 1)))
    return false;
  for (struct nvm_inst_id k = function_block(f, b)->first; c->count && k.index != t.index;
       k = function_inst(f, k)->next)
    if (k.index != id.index && !effects_is_debug(f, function_inst(f, k))) return false;
  for (uint32_t k = 0; k < c->count; k++)
    if (const_is_int(f->module, c->operands[2 * k + 2], &other) && other == label) return false;
  struct nvm_value equal = inst_operand(f, function_inst(f, t), i->aux == ICMP_EQ ? 1 : 2);
  struct nvm_value unequal = inst_operand(f, function_inst(f, t), i->aux == ICMP_EQ ? 2 : 1);
  if (value_equal(equal, unequal) || !is_new_target(f, c, equal)) return false;
  c->x = inst_operand(f, i, 0);
  c->operands[1] = unequal;
  c->operands[2 * c->count + 2] = inst_operand(f, i, 1);
  c->operands[2 * c->count + 3] = equal;
  c->blocks[c->count++] = b;
  return true;
}

static bool form_switches(struct simplifier *s) {
  struct nvm_function *f = s->f;
  bool any = false;
  struct comparison_chain found, *c = &found;
  FOR_EACH_BLOCK (f, b) {
    c->count = 0;
    for (struct nvm_block at = b; add_comparison(s, c, at);) at.index = value_index(c->operands[1]);
    while (c->count &&
           !is_new_target(f, c, c->operands[1])) /* the last comparison becomes the default */
      c->operands[1] = value_of_block(c->blocks[--c->count]);
    if (c->count < MIN_CASES) continue;
    c->operands[0] = c->x;
    for (uint32_t k = 1; k < c->count; k++)
      cfg_rename_phi_edges(f, (struct nvm_block){value_index(c->operands[2 * k + 3])}, c->blocks[k],
                           b);
    cfg_rename_phi_edges(f, (struct nvm_block){value_index(c->operands[1])},
                         c->blocks[c->count - 1], b);
    if (!cfg_replace_terminator(f, block_terminator(f, b), OP_SWITCH, c->operands,
                                2 + 2 * c->count))
      return false;
    any = s->changed = true;
  }
  return !any || cfg_keep_reachable(f, s->env->arena, &s->predecessors) >= 0;
}

bool simplifycfg_is_movable(const struct nvm_function *f, const struct nvm_inst *i) {
  if (op_is_terminator((enum op)i->op) || i->op == OP_PHI || i->op == OP_ALLOCA ||
      effects_is_debug(f, i) || effects_is_convergent(f, i))
    return false;
  if (i->op == OP_STORE) return effects_is_plain_access(i);
  return !effects_must_stay(f, i);
}

static bool are_equal(struct rewrite *r, const struct nvm_inst *a, const struct nvm_inst *b) {
  const struct nvm_function *f = r->f;
  if (a->op != b->op || a->aux != b->aux || a->operand_count != b->operand_count ||
      !type_equal(a->type, b->type) || (a->op == OP_CALL && a->flags != b->flags))
    return false;
  for (uint32_t k = 0; k < a->operand_count; k++)
    if (!value_equal(rewrite_get(r, inst_operand(f, a, k)), rewrite_get(r, inst_operand(f, b, k))))
      return false;
  return true;
}

void simplifycfg_join_facts(struct nvm_function *f, struct nvm_inst_id a, struct nvm_inst_id b) {
  function_inst(f, a)->flags &= function_inst(f, b)->flags;
  if (f->locations.data[a.index].index != f->locations.data[b.index].index)
    f->locations.data[a.index].index = 0;
  if (f->attachments.data[a.index] != f->attachments.data[b.index])
    f->attachments.data[a.index] = 0;
}

uint32_t simplifycfg_phi_entry(const struct nvm_function *f, const struct nvm_inst *phi,
                               struct nvm_block from) {
  uint32_t k = 0;
  while (value_index(inst_operand(f, phi, k + 1)) != from.index) k += 2;
  return k;
}

/* Whether all uses of the values of b are in b. */
static bool is_used_only_within(const struct nvm_function *f, struct nvm_block b) {
  FOR_EACH_INST (f, b, i) {
    uint32_t found = 0;
    for (struct nvm_inst_id k = function_inst(f, i)->next; !inst_is_none(k);
         k = function_inst(f, k)->next)
      for (uint32_t n = 0; n < function_inst(f, k)->operand_count; n++)
        found += value_equal(inst_operand(f, function_inst(f, k), n), value_of_inst(i));
    if (found != f->uses.data[i.index]) return false;
  }
  return true;
}

/* Whether a and b have equal instructions and terminators, and equal values in the phis of their
 * successors. */
static bool are_equal_blocks(struct rewrite *r, struct nvm_block a, struct nvm_block b) {
  const struct nvm_function *f = r->f;
  struct nvm_inst_id i = function_block(f, a)->first, k = function_block(f, b)->first;
  bool same = true;
  for (uint32_t n = 0; same && !inst_is_none(i) && !inst_is_none(k); n++) {
    const struct nvm_inst *x = function_inst(f, i), *y = function_inst(f, k);
    bool end = op_is_terminator((enum op)x->op);
    same = n < MAX_COMPARED_INSTS && are_equal(r, x, y) && x->flags == y->flags &&
           (end || simplifycfg_is_movable(f, x)) &&
           f->attachments.data[i.index] == f->attachments.data[k.index];
    if (same && !end) r->to[k.index] = value_of_inst(i);
    i = x->next, k = y->next;
  }
  same = same && inst_is_none(i) && inst_is_none(k);
  for (k = function_block(f, b)->first; !inst_is_none(k); k = function_inst(f, k)->next)
    r->to[k.index] = VALUE_NULL;
  for (uint32_t n = 0; same && n < block_successor_count(f, a); n++)
    FOR_EACH_PHI (f, block_successor(f, a, n), phi) {
      const struct nvm_inst *inst = function_inst(f, phi);
      same &= value_equal(inst_operand(f, inst, simplifycfg_phi_entry(f, inst, a)),
                          inst_operand(f, inst, simplifycfg_phi_entry(f, inst, b)));
    }
  return same && is_used_only_within(f, a) && is_used_only_within(f, b);
}

/* Whether b is a loop header: an edge from within the loop must not be merged with another. */
static bool is_header(const struct simplifier *s, struct dominance *d, struct nvm_block b) {
  if (block_is_none(b)) return false;
  if (!d->enter && !dominance_compute(d, s->f, s->env->arena)) return true;
  FOR_EACH_PREDECESSOR (d, b, e)
    if (dominance_dominates(d, b, d->predecessors[e])) return true;
  return false;
}

/* Merges blocks with equal code. Candidates are found by a hash of target and first instruction. */
static bool merge_tails(struct simplifier *s) {
  enum { SLOTS = 64 };
  struct nvm_function *f = s->f;
  struct nvm_block seen[SLOTS] = {{0}},
                   *to = arena_alloc(s->env->arena, f->blocks.count * sizeof *to);
  struct rewrite *r = &s->rewrite;
  struct dominance d = {.enter = NULL};
  bool any = false;
  if (!to) return false;
  FOR_EACH_BLOCK (f, b) {
    const struct nvm_inst *t = function_inst(f, block_terminator(f, b)),
                          *first = function_inst(f, function_block(f, b)->first);
    bool ends = t->op == OP_RET || t->op == OP_UNREACHABLE || t->op == OP_BR;
    if (b.index == f->entry.index || !ends || first == t || first->op == OP_PHI) continue;
    uint32_t target = t->op == OP_BR ? value_index(inst_operand(f, t, 0)) : 0;
    struct nvm_block *slot = &seen[(target * 31 + t->op * 7u + first->op) % SLOTS];
    bool equal = !block_is_none(*slot) &&
                 are_equal(r, function_inst(f, function_block(f, *slot)->first), first);
    if (equal && !need_rewrite(s)) return false;
    if (!equal || !are_equal_blocks(r, *slot, b) || is_header(s, &d, (struct nvm_block){target}))
      *slot = b;
    else to[b.index] = *slot, any = true;
  }
  if (!any) return true;
  FOR_EACH_BLOCK (f, b) {
    if (block_is_none(to[b.index])) continue;
    for (struct nvm_inst_id i = function_block(f, to[b.index])->first,
                            k = function_block(f, b)->first;
         !inst_is_none(i); i = function_inst(f, i)->next, k = function_inst(f, k)->next)
      simplifycfg_join_facts(f, i, k);
  }
  redirect(s, to);
  s->changed = true;
  return cfg_keep_reachable(f, s->env->arena, &s->predecessors) >= 0;
}

/* Moves equal instructions at the beginning of both successors of b to the end of b. */
static bool hoist_common(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct rewrite *r = &s->rewrite;
  FOR_EACH_BLOCK (f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    if (function_inst(f, t)->op != OP_CONDBR) continue;
    struct nvm_block yes = block_successor(f, b, 0), no = block_successor(f, b, 1);
    if (yes.index == no.index || s->predecessors[yes.index] != 1 || s->predecessors[no.index] != 1)
      continue;
    struct nvm_inst_id i = function_block(f, yes)->first, k = function_block(f, no)->first;
    while (simplifycfg_is_movable(f, function_inst(f, i)) &&
           are_equal(r, function_inst(f, i), function_inst(f, k))) {
      struct nvm_inst_id next_i = function_inst(f, i)->next, next_k = function_inst(f, k)->next;
      if (!need_rewrite(s)) return false;
      simplifycfg_join_facts(f, i, k);
      inst_unlink(f, i);
      inst_insert_before(f, i, t);
      if (type_equal(function_inst(f, k)->type, TYPE_VOID)) inst_remove(f, k);
      else rewrite_set(r, k, value_of_inst(i));
      s->changed = true;
      i = next_i, k = next_k;
    }
  }
  apply_rewrites(s);
  return true;
}

enum nvm_status simplifycfg_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct simplifier s = {.f = f, .env = env, .rewrite = {.f = f}};
  if (f->entry.index == f->last_block.index) return NVM_OK;
  do {
    s.changed = false;
    s.dominance = NULL;
    s.divergence = NULL;
    if (!fold_known_branches(&s) || !remove_trivial_phis(&s)) return NVM_OUT_OF_MEMORY;
    merge_blocks(&s);
    if (!forward_empty_blocks(&s) || !simplify_switches(&s) || !form_switches(&s) ||
        !merge_tails(&s) || !hoist_common(&s) || !simplifycfg_convert_branches(&s))
      return NVM_OUT_OF_MEMORY;
    *changed |= s.changed;
    s.stale |= s.changed;
  } while (s.changed);
  env->flow_kept = !s.stale;
  return NVM_OK;
}
