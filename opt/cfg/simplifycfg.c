/* simplifycfg: fewer blocks, fewer branches, fewer phis.
 *
 * Purpose:   front ends and other passes leave chains of blocks, empty blocks, branches that go one
 *            way, and phis of one value.
 * Algorithm: rules, applied to every block in layout order until none applies:
 *              known-branch    a branch that can only go one way         → a jump
 *              undefined       a way that begins with `unreachable`      → not taken
 *              unreachable     a block that no path reaches              → removed
 *              trivial-phi     a phi whose values are all the same       → that value
 *              merge           b jumps to s, s has no other predecessor  → one block
 *              forward         b is empty and jumps to s                 → its predecessors go to s
 *              switch          cases that go where the default goes      → dropped; one case left
 *                                                                          → a comparison
 *              chain           x == 1, else x == 2, else x == 3 …        → a switch
 *              tails           two blocks do and end the same            → one block
 *              hoist           both ways of a branch begin alike         → done once before it
 *              sink            both ways end with a store to one place   → done once behind them
 *              select          ways of few cheap instructions that meet  → done both, with selects
 *              shortcut        a second condition behind the first, and
 *                              one way for both where they fail          → one branch on both
 *            Of a warp whose threads part, both ways are executed one after the other, between a
 *            barrier's set-up and its wait: up to MOST_SPECULATED instructions cost less than that
 *            even where only one way would have been taken. Where all threads go the same way
 *            (analysis/divergence.h), up to MOST_UNIFORM.
 * Locations: a jump that was a branch keeps the branch's; what two instructions become keeps theirs
 *            if it is the same; what is executed although the source would not have got there has
 *            none; selects have the branch's.
 * Requires:  nothing.
 * Preserves: SSA form.
 * Cost:      linear a sweep, but for switches that name one target in turns with others; a sweep
 * that changes something makes at least one block or phi vanish, and few sweeps suffice in
 * practice. Omits:     threading of jumps: nothing is duplicated. Convergent operations, atomics,
 * volatile accesses and calls with effects are never moved, merged or made unconditional. Tests:
 * check/opt/simplifycfg-*. */
#include "analysis/divergence.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum {
  MOST_SPECULATED = 8, /* cost of what a select's ways compute, selects included */
  MOST_UNIFORM = 2,    /* the same behind a branch that all threads of a warp take the same way */
  MOST_PHI_OPERANDS = 64, /* of phis that are made selects */
  LEAST_CASES = 4,
  MOST_CASES = 64,     /* of a chain of comparisons that is made a switch */
  STEPS_TO_SOURCE = 4, /* from a condition to what makes it differ among threads, looked for before
                          all is analyzed */
  MOST_ALIKE = 16      /* instructions of a block that is merged with another */
};

struct simplifier {
  struct nvm_function *f;
  struct pass_env *env;
  struct rewrite rewrite; /* of the rule in hand */
  uint32_t *predecessors; /* by block: edges that enter it; one more for the entry */
  /* Of this sweep; NULL: not asked for yet. */
  struct dominance *dominance;
  struct loops loops; /* known if dominance is */
  struct divergence *divergence;
  bool changed;
  bool stale; /* what env->flow remembers is of an earlier sweep */
};

/* Drops the cases that lead where the default leads. Returns how many are left. */
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

/* The only way out of b that does not lead to undefined behaviour at once, {0} if there are
 * several; a switch gets such a way for its default. */
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
  FOR_EACH_BLOCK(s->f, b) {
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

/* The table of rewrites is made when the first is found. */
static bool need_rewrite(struct simplifier *s) {
  return s->rewrite.to ? rewrite_grow(&s->rewrite, s->env->arena)
                       : rewrite_init(&s->rewrite, s->f, s->env->arena);
}

/* What a rule rewrote; the next one starts anew. */
static void apply_rewrites(struct simplifier *s) {
  s->changed |= s->rewrite.count != 0;
  rewrite_apply(&s->rewrite);
  s->rewrite.count = s->rewrite.set_count = 0;
}

static bool remove_trivial_phis(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct rewrite *r = &s->rewrite;
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_PHI(f, b, i) {
    struct nvm_value v = phi_single_value(f, i);
    if (value_is_none(v)) continue;
    if (!need_rewrite(s)) return false;
    v = rewrite_get(r, v);
    if (!value_equal(v, value_of_inst(i))) rewrite_set(r, i, v);
  }
  apply_rewrites(s);
  return true;
}

/* b jumps to next, its only way in: next's instructions move to b. Phis of one value are gone. */
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
  FOR_EACH_BLOCK(s->f, b)
  while (merge_with_successor(s, b)) {
    ++*s->env->statistic;
    s->changed = true;
  }
}

/* An empty block b that jumps to `to`, which has no phis: whoever comes to b can go on to `to`. A
 * loop of empty blocks stays. */
static bool is_forwarder(const struct simplifier *s, struct nvm_block b, struct nvm_block *to) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id first = function_block(f, b)->first;
  if (b.index == f->entry.index || function_inst(f, first)->op != OP_BR) return false;
  *to = block_successor(f, b, 0);
  struct nvm_inst_id theirs = function_block(f, *to)->first;
  uint32_t loop = f->attachments.data[first.index]; /* !llvm.loop must not be lost */
  return to->index != b.index && loop == 0 && function_inst(f, theirs)->op != OP_PHI;
}

/* Where `to` leads in the end; the way there is remembered, so that chains are walked once. */
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

/* Leads branches to the blocks that `target` has for theirs. */
static void redirect(struct simplifier *s, struct nvm_block *target) {
  struct nvm_function *f = s->f;
  FOR_EACH_BLOCK(f, b) {
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
  FOR_EACH_BLOCK(f, b) {
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

/* A loop's hints (!llvm.loop) stand at its branch and must not be lost with it. */
static bool has_hints(const struct nvm_function *f, struct nvm_inst_id t) {
  if (f->attachments.data[t.index] == 0) return false;
  struct nvm_str kind = strtab_find(&f->module->strings, "llvm.loop", strlen("llvm.loop"));
  return module_attachment(f->module, f->attachments.data[t.index], kind).index != 0;
}

/* --- switches -----------------------------------------------------------------------------------
 */

/* A value computed before t, located where t is. */
static struct nvm_value add_before(struct nvm_function *f, struct nvm_inst_id t, enum op op,
                                   struct nvm_type type, const struct nvm_value *operands,
                                   uint32_t count, uint32_t aux) {
  struct nvm_inst_id i = function_add_inst(f, op, 0, type, operands, count, aux);
  if (inst_is_none(i)) return VALUE_NULL;
  f->locations.data[i.index] = f->locations.data[t.index];
  inst_insert_before(f, i, t);
  return value_of_inst(i);
}

static bool simplify_switches(struct simplifier *s) {
  struct nvm_function *f = s->f;
  bool any = false;
  FOR_EACH_BLOCK(f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    if (function_inst(f, t)->op != OP_SWITCH || has_hints(f, t)) continue;
    any = true;
    if (drop_default_cases(s, b, t) != 1) continue;
    const struct nvm_inst *i = function_inst(f, t);
    struct nvm_value pair[] = {inst_operand(f, i, 0), inst_operand(f, i, 2)};
    struct nvm_value ways[] = {VALUE_NULL, inst_operand(f, i, 3), inst_operand(f, i, 1)};
    ways[0] = add_before(f, t, OP_ICMP, TYPE_I1, pair, 2, ICMP_EQ);
    if (value_is_none(ways[0]) || !cfg_replace_terminator(f, t, OP_CONDBR, ways, 3)) return false;
    s->changed = true;
  }
  return !any || cfg_keep_reachable(f, s->env->arena, &s->predecessors) >= 0;
}

/* --- chains of comparisons
 * ------------------------------------------------------------------------ */

struct chain {
  struct nvm_value x, operands[2 + 2 * MOST_CASES]; /* of the switch */
  struct nvm_block blocks[MOST_CASES];              /* where each comparison is */
  uint32_t count;                                   /* comparisons */
};

/* Whether `to` can be entered from the chain's head: phis need one value for all edges. */
static bool is_new_target(const struct nvm_function *f, const struct chain *c,
                          struct nvm_value to) {
  const struct nvm_block b = {value_index(to)};
  if (function_inst(f, function_block(f, b)->first)->op != OP_PHI) return true;
  for (uint32_t k = 0; k < c->count; k++)
    if (value_equal(c->operands[2 * k + 3], to)) return false;
  return true;
}

/* Adds the comparison that b ends with; false: it ends the chain. */
static bool add_comparison(const struct simplifier *s, struct chain *c, struct nvm_block b) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || has_hints(f, t) || c->count == MOST_CASES)
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

static bool find_chains(struct simplifier *s) {
  struct nvm_function *f = s->f;
  bool any = false;
  struct chain found, *c = &found;
  FOR_EACH_BLOCK(f, b) {
    c->count = 0;
    for (struct nvm_block at = b; add_comparison(s, c, at);) at.index = value_index(c->operands[1]);
    while (c->count &&
           !is_new_target(f, c, c->operands[1])) /* the default is where the last one leads */
      c->operands[1] = value_of_block(c->blocks[--c->count]);
    if (c->count < LEAST_CASES) continue;
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

/* --- what both ways do --------------------------------------------------------------------------
 */

/* Neither convergent nor with an effect beyond reading and writing memory as programs do alone. */
static bool is_movable(const struct nvm_function *f, const struct nvm_inst *i) {
  if (op_is_terminator((enum op)i->op) || i->op == OP_PHI || i->op == OP_ALLOCA ||
      effects_is_debug(f, i) || effects_is_convergent(f, i))
    return false;
  if (i->op == OP_STORE) return effects_is_plain_access(i);
  return !effects_must_stay(f, i);
}

static bool are_alike(struct rewrite *r, const struct nvm_inst *a, const struct nvm_inst *b) {
  const struct nvm_function *f = r->f;
  if (a->op != b->op || a->aux != b->aux || a->operand_count != b->operand_count ||
      !type_equal(a->type, b->type) || (a->op == OP_CALL && a->flags != b->flags))
    return false;
  for (uint32_t k = 0; k < a->operand_count; k++)
    if (!value_equal(rewrite_get(r, inst_operand(f, a, k)), rewrite_get(r, inst_operand(f, b, k))))
      return false;
  return true;
}

static void keep_common_facts(struct nvm_function *f, struct nvm_inst_id a, struct nvm_inst_id b) {
  function_inst(f, a)->flags &= function_inst(f, b)->flags;
  if (f->locations.data[a.index].index != f->locations.data[b.index].index)
    f->locations.data[a.index].index = 0;
  if (f->attachments.data[a.index] != f->attachments.data[b.index])
    f->attachments.data[a.index] = 0;
}

/* The operand of a phi that names its entry for `from`. */
static uint32_t phi_entry(const struct nvm_function *f, const struct nvm_inst *phi,
                          struct nvm_block from) {
  uint32_t k = 0;
  while (value_index(inst_operand(f, phi, k + 1)) != from.index) k += 2;
  return k;
}

/* Whether nothing that b computes is used elsewhere. */
static bool is_closed(const struct nvm_function *f, struct nvm_block b) {
  FOR_EACH_INST(f, b, i) {
    uint32_t found = 0;
    for (struct nvm_inst_id k = function_inst(f, i)->next; !inst_is_none(k);
         k = function_inst(f, k)->next)
      for (uint32_t n = 0; n < function_inst(f, k)->operand_count; n++)
        found += value_equal(inst_operand(f, function_inst(f, k), n), value_of_inst(i));
    if (found != f->uses.data[i.index]) return false;
  }
  return true;
}

/* Whether b does what a does and ends as a ends, with the same values for the phis there. */
static bool are_same(struct rewrite *r, struct nvm_block a, struct nvm_block b) {
  const struct nvm_function *f = r->f;
  struct nvm_inst_id i = function_block(f, a)->first, k = function_block(f, b)->first;
  bool same = true;
  for (uint32_t n = 0; same && !inst_is_none(i) && !inst_is_none(k); n++) {
    const struct nvm_inst *x = function_inst(f, i), *y = function_inst(f, k);
    bool end = op_is_terminator((enum op)x->op);
    same = n < MOST_ALIKE && are_alike(r, x, y) && x->flags == y->flags &&
           (end || is_movable(f, x)) &&
           f->attachments.data[i.index] == f->attachments.data[k.index];
    if (same && !end) r->to[k.index] = value_of_inst(i);
    i = x->next, k = y->next;
  }
  same = same && inst_is_none(i) && inst_is_none(k);
  for (k = function_block(f, b)->first; !inst_is_none(k); k = function_inst(f, k)->next)
    r->to[k.index] = VALUE_NULL;
  for (uint32_t n = 0; same && n < block_successor_count(f, a); n++)
    FOR_EACH_PHI(f, block_successor(f, a, n), phi) {
      const struct nvm_inst *inst = function_inst(f, phi);
      same &= value_equal(inst_operand(f, inst, phi_entry(f, inst, a)),
                          inst_operand(f, inst, phi_entry(f, inst, b)));
    }
  return same && is_closed(f, a) && is_closed(f, b);
}

/* Whether b is the header of a loop: of two ways to it one may come from within, and must stay
 * apart. */
static bool is_header(const struct simplifier *s, struct dominance *d, struct nvm_block b) {
  if (block_is_none(b)) return false;
  if (!d->enter && !dominance_compute(d, s->f, s->env->arena)) return true;
  for (uint32_t e = d->first_predecessor[b.index]; e < d->first_predecessor[b.index + 1]; e++)
    if (dominance_dominates(d, b, d->predecessors[e])) return true;
  return false;
}

/* Blocks that do and end the same become one. */
static bool merge_tails(struct simplifier *s) {
  enum { SLOTS = 64 };
  struct nvm_function *f = s->f;
  struct nvm_block seen[SLOTS] = {{0}},
                   *to = arena_alloc(s->env->arena, f->blocks.count * sizeof *to);
  struct rewrite *r = &s->rewrite;
  struct dominance d = {.enter = NULL};
  bool any = false;
  if (!to) return false;
  FOR_EACH_BLOCK(f, b) {
    const struct nvm_inst *t = function_inst(f, block_terminator(f, b)),
                          *first = function_inst(f, function_block(f, b)->first);
    bool ends = t->op == OP_RET || t->op == OP_UNREACHABLE || t->op == OP_BR;
    if (b.index == f->entry.index || !ends || first == t || first->op == OP_PHI) continue;
    uint32_t target = t->op == OP_BR ? value_index(inst_operand(f, t, 0)) : 0;
    struct nvm_block *slot = &seen[(target * 31 + t->op * 7u + first->op) % SLOTS];
    bool alike = !block_is_none(*slot) &&
                 are_alike(r, function_inst(f, function_block(f, *slot)->first), first);
    if (alike && !need_rewrite(s)) return false;
    if (!alike || !are_same(r, *slot, b) || is_header(s, &d, (struct nvm_block){target})) *slot = b;
    else to[b.index] = *slot, any = true;
  }
  if (!any) return true;
  FOR_EACH_BLOCK(f, b) {
    if (block_is_none(to[b.index])) continue;
    for (struct nvm_inst_id i = function_block(f, to[b.index])->first,
                            k = function_block(f, b)->first;
         !inst_is_none(i); i = function_inst(f, i)->next, k = function_inst(f, k)->next)
      keep_common_facts(f, i, k);
  }
  redirect(s, to);
  s->changed = true;
  return cfg_keep_reachable(f, s->env->arena, &s->predecessors) >= 0;
}

/* What both successors of b begin with moves to the end of b. */
static bool hoist_common(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct rewrite *r = &s->rewrite;
  FOR_EACH_BLOCK(f, b) {
    struct nvm_inst_id t = block_terminator(f, b);
    if (function_inst(f, t)->op != OP_CONDBR) continue;
    struct nvm_block yes = block_successor(f, b, 0), no = block_successor(f, b, 1);
    if (yes.index == no.index || s->predecessors[yes.index] != 1 || s->predecessors[no.index] != 1)
      continue;
    struct nvm_inst_id i = function_block(f, yes)->first, k = function_block(f, no)->first;
    while (is_movable(f, function_inst(f, i)) &&
           are_alike(r, function_inst(f, i), function_inst(f, k))) {
      struct nvm_inst_id next_i = function_inst(f, i)->next, next_k = function_inst(f, k)->next;
      if (!need_rewrite(s)) return false;
      keep_common_facts(f, i, k);
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

/* The last instruction of b before its jump, debug markers apart; {0} if there is none. */
static struct nvm_inst_id last_of(const struct nvm_function *f, struct nvm_block b) {
  struct nvm_inst_id i = function_inst(f, block_terminator(f, b))->previous;
  while (!inst_is_none(i) && effects_is_debug(f, function_inst(f, i)))
    i = function_inst(f, i)->previous;
  return i;
}

/* Two ways, from blocks ways[0] and ways[1], that meet in `join`. Both are entered from b alone, or
 * one is b itself. */
struct meeting {
  struct nvm_block b, ways[2], join;
};

static bool is_way(const struct simplifier *s, struct nvm_block side) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, side);
  return s->predecessors[side.index] == 1 && function_inst(f, t)->op == OP_BR &&
         f->attachments.data[t.index] == 0;
}

static bool find_meeting(const struct simplifier *s, struct nvm_block b, struct meeting *m) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || has_hints(f, t)) return false;
  struct nvm_block yes = block_successor(f, b, 0), no = block_successor(f, b, 1);
  struct nvm_block after_yes = {0}, after_no = {0};
  if (yes.index == no.index) return false;
  if (is_way(s, yes)) after_yes = block_successor(f, yes, 0);
  if (is_way(s, no)) after_no = block_successor(f, no, 0);
  *m = (struct meeting){b, {yes, no}, after_yes};
  if (after_yes.index == no.index) m->ways[1] = b;
  else if (after_no.index == yes.index) m->ways[0] = b, m->join = yes;
  else if (after_yes.index != after_no.index) return false;
  return !block_is_none(m->join) && m->join.index != b.index;
}

/* Stores to one place that end both ways move to where they meet. */
static bool sink_stores(struct simplifier *s, const struct meeting *m) {
  struct nvm_function *f = s->f;
  if (m->ways[0].index == m->b.index || m->ways[1].index == m->b.index ||
      s->predecessors[m->join.index] != 2)
    return true;
  for (;;) {
    struct nvm_inst_id i = last_of(f, m->ways[0]), k = last_of(f, m->ways[1]);
    if (inst_is_none(i) || inst_is_none(k)) return true;
    const struct nvm_inst *a = function_inst(f, i), *c = function_inst(f, k);
    if (a->op != OP_STORE || c->op != OP_STORE || a->aux != c->aux || !is_movable(f, a))
      return true;
    struct nvm_value v[] = {inst_operand(f, a, 0), value_of_block(m->ways[0]),
                            inst_operand(f, c, 0), value_of_block(m->ways[1])};
    if (!value_equal(inst_operand(f, a, 1), inst_operand(f, c, 1)) ||
        !type_equal(value_type(f, v[0]), value_type(f, v[2])))
      return true;
    if (!value_equal(v[0], v[2])) {
      struct nvm_inst_id phi = function_add_inst(f, OP_PHI, 0, value_type(f, v[0]), v, 4, 0);
      if (inst_is_none(phi)) return false;
      inst_prepend(f, phi, m->join);
      inst_set_operand(f, i, 0, value_of_inst(phi));
    }
    keep_common_facts(f, i, k);
    inst_unlink(f, i);
    inst_insert_before(f, i, block_first_behind_phis(f, m->join));
    inst_remove(f, k);
    s->changed = true;
  }
}

/* --- selects ------------------------------------------------------------------------------------
 */

/* In instructions of a 32-bit unit, roughly; beyond MOST_SPECULATED: not at all. */
static uint32_t cost_of(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct type_table *t = &f->module->types;
  if (!effects_is_speculatable(f, i)) return MOST_SPECULATED + 1;
  struct nvm_type scalar = type_scalar(t, i->type);
  bool wide = type_kind(t, scalar) == TY_DOUBLE;
  switch ((enum op)i->op) {
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM:
    case OP_FDIV:
    case OP_FREM: return MOST_SPECULATED + 1;
    case OP_CALL: {
      const struct attr_table_data *a = &f->module->attributes;
      const struct attrlist_info *list = attrlist_info(a, call_site_of(f, i)->attributes);
      bool promises = list->result.index || list->count; /* noundef and such: undefined if broken */
      return promises ? MOST_SPECULATED + 1 : 4;
    }
    case OP_BITCAST:
    case OP_FREEZE:
    case OP_TRUNC: return 0;
    default: break;
  }
  if (type_kind(t, i->type) == TY_VECTOR || type_is_aggregate(t, i->type)) return 4;
  return wide ? 4 : 1;
}

static uint32_t cost_of_way(const struct nvm_function *f, struct nvm_block way) {
  uint32_t cost = 0;
  FOR_EACH_INST(f, way, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (!op_is_terminator((enum op)inst->op) && !effects_is_debug(f, inst))
      cost += cost_of(f, inst);
    if (cost > MOST_SPECULATED) break;
  }
  return cost;
}

static uint32_t cost_of_selects(const struct nvm_function *f, const struct meeting *m) {
  const struct type_table *t = &f->module->types;
  uint32_t cost = 0;
  FOR_EACH_INST(f, m->join, i) {
    const struct nvm_inst *phi = function_inst(f, i);
    if (phi->op != OP_PHI) return cost;
    bool simple = type_is_int(t, phi->type)
                      ? type_scalar_bits(t, phi->type) <= 64
                      : type_is_float(t, phi->type) || type_is_ptr(t, phi->type);
    if (!simple || phi->operand_count > MOST_PHI_OPERANDS) return MOST_SPECULATED + 1;
    cost += !value_equal(inst_operand(f, phi, phi_entry(f, phi, m->ways[0])),
                         inst_operand(f, phi, phi_entry(f, phi, m->ways[1])));
  }
  return cost;
}

/* What block `way` computes is computed before t, whether it is needed or not. */
static void speculate(struct nvm_function *f, struct nvm_block way, struct nvm_inst_id t) {
  struct nvm_inst_id last = block_terminator(f, way);
  for (struct nvm_inst_id i = function_block(f, way)->first, next; i.index != last.index;
       i = next) {
    next = function_inst(f, i)->next;
    if (effects_is_debug(f, function_inst(f, i))) {
      inst_remove(f, i);
      continue;
    }
    f->locations.data[i.index].index = 0;
    f->attachments.data[i.index] = 0;
    inst_unlink(f, i);
    inst_insert_before(f, i, t);
  }
}

/* Both ways are computed at the end of b, and what they bring to `join` is selected there. */
static bool form_selects(struct simplifier *s, const struct meeting *m) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, m->b);
  for (int w = 0; w < 2; w++)
    if (m->ways[w].index != m->b.index) speculate(f, m->ways[w], t);
  struct nvm_value condition = inst_operand(f, function_inst(f, t), 0);
  FOR_EACH_PHI(f, m->join, i) {
    struct nvm_type type = function_inst(f, i)->type;
    uint32_t k = phi_entry(f, function_inst(f, i), m->ways[0]);
    uint32_t n = phi_entry(f, function_inst(f, i), m->ways[1]);
    struct nvm_value arms[] = {condition, inst_operand(f, function_inst(f, i), k),
                               inst_operand(f, function_inst(f, i), n)};
    struct nvm_value v = arms[1];
    if (!value_equal(arms[1], arms[2])) v = add_before(f, t, OP_SELECT, type, arms, 3, 0);
    if (value_is_none(v)) return false;
    inst_set_operand(f, i, k, v);
    inst_set_operand(f, i, k + 1, value_of_block(m->b));
    inst_remove_operands(f, i, n, 2);
  }
  struct nvm_value to = value_of_block(m->join);
  s->predecessors[m->join.index]--;
  for (int w = 0; w < 2; w++) {
    if (m->ways[w].index == m->b.index) continue;
    function_remove_block(f, m->ways[w]);
    ++*s->env->statistic;
  }
  s->changed = true;
  return cfg_replace_terminator(f, t, OP_BR, &to, 1);
}

/* Computes s->dominance and s->loops, if they are not known yet; false when out of memory. */
static bool find_loops(struct simplifier *s) {
  struct arena *a = s->env->arena;
  if (s->dominance) return true;
  struct dominance *found = arena_alloc(a, sizeof *found);
  if (s->stale || s->changed) flow_forget(s->env->flow);
  s->stale = false;
  if (!found || !flow_loops(s->env->flow, s->f, found, &s->loops)) return false;
  s->dominance = found;
  return true;
}

/* The same of s->divergence, of the blocks as they are now. */
static bool find_divergence(struct simplifier *s) {
  struct arena *a = s->env->arena;
  if (s->divergence) return true;
  s->dominance = NULL;
  struct divergence *found = arena_alloc(a, sizeof *found);
  if (!found || !find_loops(s) || !divergence_compute(found, s->f, s->dominance, &s->loops, a))
    return false;
  s->divergence = found;
  return true;
}

/* What ways behind the branch of b may cost: more than MOST_UNIFORM only if it parts threads. */
static uint32_t most_speculated(struct simplifier *s, struct nvm_block b, uint32_t cost) {
  if (cost <= MOST_UNIFORM || cost > MOST_SPECULATED) return MOST_SPECULATED;
  struct nvm_value condition =
      inst_operand(s->f, function_inst(s->f, block_terminator(s->f, b)), 0);
  if (!s->divergence && divergence_is_evident(s->f, condition, STEPS_TO_SOURCE))
    return MOST_SPECULATED;
  if (!s->divergence && divergence_is_absent(s->f, b, condition, STEPS_TO_SOURCE))
    return MOST_UNIFORM;
  if (!find_divergence(s)) return 0;
  return divergence_of(s->divergence, condition) ? MOST_SPECULATED : MOST_UNIFORM;
}

static bool join_ways(struct simplifier *s) {
  for (struct nvm_block b = s->f->entry, next; !block_is_none(b); b = next) {
    struct meeting m;
    next = function_block(s->f, b)->next;
    if (!find_meeting(s, b, &m)) continue;
    if (!sink_stores(s, &m)) return false;
    uint32_t cost = cost_of_selects(s->f, &m);
    for (int w = 0; w < 2 && cost <= MOST_SPECULATED; w++)
      if (m.ways[w].index != b.index) cost += cost_of_way(s->f, m.ways[w]);
    if (cost > most_speculated(s, b, cost)) continue;
    if (!form_selects(s, &m)) return false;
    next = function_block(s->f, b)->next; /* a way may have stood there */
  }
  return true;
}

/* --- shortcuts ----------------------------------------------------------------------------------
 */

/* b branches to `second` or `other`, and `second`, which has no other way in, to `other` or
 * elsewhere. */
struct shortcut {
  struct nvm_block b, second, other;
  bool first_wants, second_wants; /* the conditions' values that lead on, not to `other` */
};

static bool find_shortcut(const struct simplifier *s, struct nvm_block b, struct shortcut *c) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || has_hints(f, t)) return false;
  for (uint32_t k = 0; k < 2; k++) {
    *c = (struct shortcut){.b = b,
                           .second = block_successor(f, b, k),
                           .other = block_successor(f, b, 1 - k),
                           .first_wants = k == 0};
    t = block_terminator(f, c->second);
    bool entered = s->predecessors[c->second.index] == 1 && c->second.index != c->other.index;
    if (!entered || function_inst(f, t)->op != OP_CONDBR || has_hints(f, t)) continue;
    c->second_wants = block_successor(f, c->second, 1).index == c->other.index;
    if (c->second_wants == (block_successor(f, c->second, 0).index == c->other.index)) continue;
    if (function_inst(f, function_block(f, c->second)->first)->op != OP_PHI) return true;
  }
  return false;
}

/* Whether what the phis of `other` get does not tell which condition failed. */
static bool fail_alike(const struct simplifier *s, const struct shortcut *c) {
  const struct nvm_function *f = s->f;
  FOR_EACH_PHI(f, c->other, i) {
    const struct nvm_inst *phi = function_inst(f, i);
    struct nvm_value first = inst_operand(f, phi, phi_entry(f, phi, c->b));
    if (!value_equal(first, inst_operand(f, phi, phi_entry(f, phi, c->second)))) return false;
  }
  return true;
}

/* Who only returns has nothing to wait for: it had better leave at the first condition. */
static bool only_returns(const struct simplifier *s, const struct shortcut *c) {
  const struct nvm_inst *first = function_inst(s->f, function_block(s->f, c->other)->first);
  return first->op == OP_RET;
}

/* Ways out of a loop stay apart: the one that counts says how often it runs. */
static bool leaves_loop(struct simplifier *s, const struct shortcut *c) {
  if (!find_loops(s)) return true;
  uint32_t n = s->loops.innermost[c->b.index];
  return n && !loops_contains(&s->loops, n, c->other);
}

/* The condition as it is where `wanted`, else its opposite. */
static struct nvm_value wanted_condition(struct simplifier *s, struct nvm_inst_id t,
                                         struct nvm_inst_id branch, bool wanted) {
  struct nvm_value operands[] = {inst_operand(s->f, function_inst(s->f, branch), 0),
                                 const_int(s->f->module, TYPE_I1, 1)};
  return wanted ? operands[0] : add_before(s->f, t, OP_XOR, TYPE_I1, operands, 2, 0);
}

static bool join_conditions(struct simplifier *s, const struct shortcut *c) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, c->b), branch = block_terminator(f, c->second);
  struct nvm_block on = block_successor(f, c->second, c->second_wants ? 0 : 1);
  speculate(f, c->second, t);
  struct nvm_value operands[] = {wanted_condition(s, t, t, c->first_wants),
                                 wanted_condition(s, t, branch, c->second_wants),
                                 const_int(f->module, TYPE_I1, 0)};
  struct nvm_value both = add_before(f, t, OP_SELECT, TYPE_I1, operands, 3, 0);
  struct nvm_value ways[] = {both, value_of_block(on), value_of_block(c->other)};
  if (value_is_none(both)) return false;
  cfg_remove_phi_edges(f, c->other, c->second, 0);
  cfg_rename_phi_edges(f, on, c->second, c->b);
  s->predecessors[c->other.index]--;
  function_remove_block(f, c->second);
  ++*s->env->statistic;
  s->changed = true;
  return cfg_replace_terminator(f, t, OP_CONDBR, ways, 3);
}

static bool join_shortcuts(struct simplifier *s) {
  for (struct nvm_block b = s->f->entry; !block_is_none(b); b = function_block(s->f, b)->next) {
    struct shortcut c;
    while (find_shortcut(s, b, &c) && !only_returns(s, &c) && fail_alike(s, &c)) {
      uint32_t cost = 1 + cost_of_way(s->f, c.second);
      if (cost > most_speculated(s, b, cost) || leaves_loop(s, &c)) break;
      if (!join_conditions(s, &c)) return false;
    }
  }
  return true;
}

/* --- all together -------------------------------------------------------------------------------
 */

enum nvm_status simplifycfg_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct simplifier s = {.f = f, .env = env, .rewrite = {.f = f}};
  if (f->entry.index == f->last_block.index) return NVM_OK;
  do {
    s.changed = false;
    s.dominance = NULL;
    s.divergence = NULL;
    if (!fold_known_branches(&s) || !remove_trivial_phis(&s)) return NVM_OUT_OF_MEMORY;
    merge_blocks(&s);
    if (!forward_empty_blocks(&s) || !simplify_switches(&s) || !find_chains(&s) ||
        !merge_tails(&s) || !hoist_common(&s) || !join_ways(&s) || !join_shortcuts(&s))
      return NVM_OUT_OF_MEMORY;
    *changed |= s.changed;
    s.stale |= s.changed;
  } while (s.changed);
  env->flow_kept = !s.stale;
  return NVM_OK;
}
