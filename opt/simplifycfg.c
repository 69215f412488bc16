/* simplifycfg: fewer blocks, fewer branches, fewer phis.
 *
 * Purpose:   front ends and other passes leave chains of blocks, empty blocks, branches that go one
 *            way, and phis of one value.
 * Algorithm: rules, applied to every block in layout order until none applies:
 *              known-branch    a branch that can only go one way         → a jump
 *              unreachable     a block that no path reaches              → removed
 *              trivial-phi     a phi whose values are all the same       → that value
 *              merge           b jumps to s, s has no other predecessor  → one block
 *              forward         b is empty and jumps to s                 → its predecessors go to s
 * Requires:  nothing.
 * Preserves: SSA form.
 * Cost:      linear a sweep, but for switches that name one target in turns with others; a sweep that changes something makes at least one block or phi vanish,
 *            and few sweeps suffice in practice.
 * Omits:     hoisting, sinking, forming selects, threading: nothing here duplicates an instruction
 *            or makes one conditional, so that convergent operations are safe.
 * Tests:     check/opt/simplifycfg-*. */
#include "opt/cfg.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

struct simplifier {
  struct nvm_function *f;
  struct pass_env *env;
  uint32_t *predecessors; /* by block: edges that enter it */
  bool changed;
};

static bool count_predecessors(struct simplifier *s) {
  struct nvm_function *f = s->f;
  s->predecessors = arena_alloc(s->env->arena, f->blocks.count * sizeof *s->predecessors);
  if (!s->predecessors) return false;
  FOR_EACH_BLOCK(f, b)
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++)
      s->predecessors[block_successor(f, b, k).index]++;
  return true;
}

static bool fold_known_branches(struct simplifier *s) {
  bool any = false;
  FOR_EACH_BLOCK(s->f, b) {
    struct nvm_block to = cfg_known_successor(s->f, b);
    if (block_is_none(to)) continue;
    cfg_make_jump(s->f, b, to);
    any = true;
  }
  int64_t removed = cfg_remove_unreachable(s->f, s->env->arena);
  if (removed < 0) return false;
  *s->env->statistic += (uint64_t)removed;
  s->changed |= any || removed > 0;
  return true;
}

/* The one value of a phi beside itself and undef; VALUE_NULL if there are two. A value that is not
 * constant must not stand for undef: it might not dominate the phi. */
static struct nvm_value phi_single_value(const struct nvm_function *f, struct nvm_inst_id i) {
  const struct nvm_inst *phi = function_inst(f, i);
  struct nvm_value single = VALUE_NULL;
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_value v = inst_operand(f, phi, k);
    if (value_equal(v, value_of_inst(i)) || value_equal(v, single)) continue;
    if (!value_is_none(single)) return VALUE_NULL;
    single = v;
  }
  return single;
}

static bool remove_trivial_phis(struct simplifier *s) {
  struct nvm_function *f = s->f;
  struct rewrite r;
  if (!rewrite_init(&r, f, s->env->arena)) return false;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      if (function_inst(f, i)->op != OP_PHI) break;
      struct nvm_value v = phi_single_value(f, i);
      if (value_is_none(v)) continue;
      v = rewrite_get(&r, v);
      if (!value_equal(v, value_of_inst(i))) rewrite_set(&r, i, v);
    }
  s->changed |= r.count != 0;
  rewrite_apply(&r);
  return true;
}

/* Renames `from` to `to` in the phis of b. */
static void rename_phi_edges(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                             struct nvm_block to) {
  FOR_EACH_INST(f, b, i) {
    uint32_t count = function_inst(f, i)->operand_count;
    if (function_inst(f, i)->op != OP_PHI) return;
    for (uint32_t k = 1; k < count; k += 2)
      if (value_index(inst_operand(f, function_inst(f, i), k)) == from.index)
        inst_set_operand(f, i, k, value_of_block(to));
  }
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
  for (struct nvm_inst_id i = first, following; !inst_is_none(i); i = following) {
    following = function_inst(f, i)->next;
    inst_unlink(f, i);
    inst_append(f, i, b);
  }
  struct nvm_block previous = {0}; /* a switch names one target often, mostly in a row */
  for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++) {
    struct nvm_block to = block_successor(f, b, k);
    if (to.index != previous.index) rename_phi_edges(f, to, next, b);
    previous = to;
  }
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
  int64_t removed = cfg_remove_unreachable(f, s->env->arena);
  if (removed < 0) return false;
  *s->env->statistic += (uint64_t)removed;
  s->changed |= removed > 0;
  return true;
}

enum nvm_status simplifycfg_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct simplifier s = {.f = f, .env = env};
  do {
    s.changed = false;
    if (!fold_known_branches(&s) || !remove_trivial_phis(&s) || !count_predecessors(&s))
      return NVM_OUT_OF_MEMORY;
    merge_blocks(&s);
    if (!forward_empty_blocks(&s)) return NVM_OUT_OF_MEMORY;
    *changed |= s.changed;
  } while (s.changed);
  return NVM_OK;
}
