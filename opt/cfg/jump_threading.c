/* jump-threading: edges into a block whose branch they decide lead to the branch's target.
 *
 * Purpose:   `a && b || c`, flags and state machines make blocks that only test what the path to
 *            them has determined: a phi of constants, or a condition that was branched on before.
 *            Small kernels rarely change, modules of a megabyte of IR do (PTX 0.2 % smaller).
 * Algorithm: for each block of phis, a few pure instructions and a branch or switch: evaluate the
 *            instructions for each incoming edge, given the phis' values on it and the condition
 *            of a branch that dominates the edge. If that decides the branch, redirect the edge.
 *            Nothing is copied: the values that the target's phis take from the block must be
 *            known, and all its other uses must be dominated by its other successor. A block
 *            that tests the condition of its dominator again is skipped on that edge.
 * Requires:  nothing; destroys loop forms.
 * Preserves: SSA form.
 * Cost:      linear in edges into such blocks times MAX_INSTS.
 * Omits:     blocks that would have to be copied; loop headers, as blocks and as targets, and loop
 *            exits: code before the exit would leave the loop with it, and a lane that holds a
 *            lock would wait for those that spin on it (the knob
 *            disable-nvptx-require-structured-cfg permits both). Threading moves the
 *            reconvergence point of the block's threads: not done if a convergent operation may
 *            follow before all paths have met (LLVM does not thread for GPUs at all).
 * Tests:     check/opt/jump-threading*.nvir. */
#include "ir/dominance.h"
#include "ir/eval.h"
#include "analysis/loops.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"

enum { MAX_INSTS = 8, MAX_PREDECESSORS = 64, MAX_STEPS = 8, MAX_OPEN = 4, MAX_REGION = 16 };

struct threader {
  struct nvm_function *f;
  struct pass_env *env;
  struct dominance dominance; /* as it was before the pass */
  struct loops loops;         /* likewise; the next three are computed with it */
  bool *convergent;           /* by block: a convergent operation may follow; NULL: not computed */
  bool *converges;            /* by block: it has a convergent operation */
  uint32_t *rank;             /* by block: its number in postorder */
  bool *touched;              /* by block: its predecessors have changed */
  uint32_t *seen, stamp;      /* by block: the last count of near uses that visited it */
  /* The current block: its instructions, and their values on the current edge. */
  struct nvm_block block;
  struct nvm_inst_id insts[MAX_INSTS];
  struct nvm_value values[MAX_INSTS];
  uint32_t count;
  enum {
    UNKNOWN_USES,
    USED_NEAR,
    USED_FAR
  } used;              /* FAR: used outside of the block and its successors' phis */
  uint64_t steps_left; /* instructions to visit in search of such uses */
};

/* Marks the blocks with convergent operations, and those from which one can be reached. */
static bool find_convergent(struct threader *t) {
  const struct nvm_function *f = t->f;
  const struct dominance *d = &t->dominance;
  uint32_t *stack = arena_alloc(t->env->arena, f->blocks.count * sizeof *stack), depth = 0;
  t->convergent = arena_alloc(t->env->arena, f->blocks.count * sizeof *t->convergent);
  t->converges = arena_alloc(t->env->arena, f->blocks.count * sizeof *t->converges);
  t->rank = arena_alloc(t->env->arena, f->blocks.count * sizeof *t->rank);
  if (!stack || !t->convergent || !t->converges || !t->rank) return false;
  for (uint32_t k = 0; k < d->size[f->entry.index]; k++) t->rank[d->postorder[k].index] = k;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (!t->convergent[b.index] && effects_is_convergent(f, function_inst(f, i))) {
        t->convergent[b.index] = t->converges[b.index] = true;
        stack[depth++] = b.index;
      }
  while (depth) {
    uint32_t b = stack[--depth];
    for (uint32_t e = d->first_predecessor[b]; e < d->first_predecessor[b + 1]; e++) {
      uint32_t from = d->predecessors[e].index;
      if (t->convergent[from]) continue;
      t->convergent[from] = true;
      stack[depth++] = from;
    }
  }
  return true;
}

/* Uses of v in its block and in phis of its successors, on edges from it. */
static uint32_t near_uses(struct threader *t, struct nvm_value v) {
  const struct nvm_function *f = t->f;
  uint32_t found = 0;
  t->stamp++;
  FOR_EACH_INST (f, t->block, i)
    for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++)
      found += value_equal(inst_operand(f, function_inst(f, i), k), v);
  for (uint32_t n = 0, count = block_successor_count(f, t->block); n < count; n++) {
    struct nvm_block to = block_successor(f, t->block, n);
    bool seen = t->seen[to.index] == t->stamp;
    t->seen[to.index] = t->stamp;
    FOR_EACH_INST (f, to, i) {
      const struct nvm_inst *phi = function_inst(f, i);
      if (seen || phi->op != OP_PHI) break;
      for (uint32_t k = 0; k < phi->operand_count; k += 2)
        found += value_equal(inst_operand(f, phi, k), v) &&
                 value_index(inst_operand(f, phi, k + 1)) == t->block.index;
    }
  }
  return found;
}

/* Whether a value of the block is used elsewhere. */
static bool used_far(struct threader *t) {
  if (t->used != UNKNOWN_USES) return t->used == USED_FAR;
  t->used = USED_NEAR;
  for (uint32_t k = 0; k < t->count && t->used == USED_NEAR; k++)
    if (t->f->uses.data[t->insts[k].index] != near_uses(t, value_of_inst(t->insts[k])))
      t->used = USED_FAR;
  return t->used == USED_FAR;
}

/* Sets the current block; false if it cannot be skipped. */
static bool set_block(struct threader *t, struct nvm_block b) {
  const struct nvm_function *f = t->f;
  const struct dominance *d = &t->dominance;
  struct nvm_inst_id last = block_terminator(f, b);
  enum op op = (enum op)function_inst(f, last)->op;
  uint32_t first = d->first_predecessor[b.index], edges = dominance_predecessor_count(d, b);
  t->block = b;
  t->count = 0;
  t->used = UNKNOWN_USES;
  if ((op != OP_CONDBR && op != OP_SWITCH) || f->attachments.data[last.index] || edges < 2 ||
      edges > MAX_PREDECESSORS)
    return false;
  for (uint32_t e = 0; e < edges; e++)
    if (dominance_dominates(d, b, d->predecessors[first + e])) return false;
  for (struct nvm_inst_id i = function_block(f, b)->first; i.index != last.index;
       i = function_inst(f, i)->next) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (effects_is_debug(f, inst)) continue;
    if (t->count == MAX_INSTS || (inst->op != OP_PHI && !effects_is_pure(f, inst))) return false;
    t->insts[t->count++] = i;
  }
  return true;
}

/* The value of v on the current edge; VALUE_NULL: unknown. */
static struct nvm_value on_edge(const struct threader *t, struct nvm_value v) {
  for (uint32_t k = 0; k < t->count; k++)
    if (value_equal(v, value_of_inst(t->insts[k]))) return t->values[k];
  return v;
}

/* The operand that a select is equal to on the current edge; VALUE_NULL: unknown. */
static struct nvm_value chosen_operand(const struct threader *t, const struct nvm_inst *i) {
  struct nvm_value condition = on_edge(t, inst_operand(t->f, i, 0));
  nvm_u128 bit;
  if (!const_is_int(t->f->module, condition, &bit)) return VALUE_NULL;
  return on_edge(t, inst_operand(t->f, i, bit ? 1 : 2));
}

static void evaluate(struct threader *t, struct nvm_block from) {
  struct nvm_function *f = t->f;
  for (uint32_t n = 0; n < t->count; n++) {
    const struct nvm_inst *i = function_inst(f, t->insts[n]);
    struct nvm_value v[MAX_INSTS];
    t->values[n] = i->op == OP_PHI      ? phi_incoming(f, t->insts[n], from)
                   : i->op == OP_SELECT ? chosen_operand(t, i)
                                        : VALUE_NULL;
    bool constant = value_is_none(t->values[n]) && i->op != OP_PHI && i->op != OP_CALL &&
                    i->operand_count <= MAX_INSTS;
    for (uint32_t k = 0; constant && k < i->operand_count; k++) {
      v[k] = on_edge(t, inst_operand(f, i, k));
      constant = value_kind(v[k]) == VALUE_CONST;
    }
    if (constant)
      t->values[n] =
          eval_fold(f->module, (enum op)i->op, i->flags, i->aux, i->type, v, i->operand_count);
  }
}

/* The truth value of `condition` at the end of block b, from a branch on it that dominates b
 * through single predecessors; -1: unknown. */
static int known_truth(const struct threader *t, struct nvm_value condition, struct nvm_block b) {
  const struct nvm_function *f = t->f;
  const struct dominance *d = &t->dominance;
  for (uint32_t steps = 0; steps < MAX_STEPS; steps++) {
    if (t->touched[b.index] || dominance_predecessor_count(d, b) != 1) return -1;
    struct nvm_block from = dominance_first_predecessor(d, b);
    const struct nvm_inst *last = function_inst(f, block_terminator(f, from));
    if (last->op == OP_CONDBR && value_equal(inst_operand(f, last, 0), condition) &&
        !value_equal(inst_operand(f, last, 1), inst_operand(f, last, 2)))
      return value_index(inst_operand(f, last, 1)) == b.index;
    b = from;
  }
  return -1;
}

/* The successor of the current block if it is entered from `from`; {0}: unknown. */
static struct nvm_block target_from(const struct threader *t, struct nvm_block from) {
  const struct nvm_function *f = t->f;
  const struct nvm_inst *last = function_inst(f, block_terminator(f, t->block));
  struct nvm_value condition = on_edge(t, inst_operand(f, last, 0));
  nvm_u128 value;
  if (value_is_none(condition)) return (struct nvm_block){0};
  bool known = const_is_int(f->module, condition, &value);
  int truth = known || last->op != OP_CONDBR ? -1 : known_truth(t, condition, from);
  if (truth >= 0) value = (nvm_u128)truth;
  else if (!known) return (struct nvm_block){0};
  return cfg_successor_for(f, last, value);
}

/* The phi's value from the current block, on the current edge. */
static struct nvm_value phi_value(const struct threader *t, const struct nvm_inst *phi) {
  for (uint32_t k = 0; k < phi->operand_count; k += 2)
    if (value_index(inst_operand(t->f, phi, k + 1)) == t->block.index)
      return on_edge(t, inst_operand(t->f, phi, k));
  return VALUE_NULL;
}

static bool can_enter(const struct threader *t, struct nvm_block from, struct nvm_block to) {
  const struct nvm_function *f = t->f;
  uint32_t edges = 0;
  if (block_is_none(to) || to.index == t->block.index ||
      dominance_dominates(&t->dominance, to, t->block))
    return false;
  for (uint32_t k = 0, n = block_successor_count(f, from); k < n; k++) {
    if (block_successor(f, from, k).index == to.index) return false;
    edges += block_successor(f, from, k).index == t->block.index;
  }
  FOR_EACH_PHI (f, to, i)
    if (value_is_none(phi_value(t, function_inst(f, i)))) return false;
  return edges == 1;
}

/* A block of the current block's arms; whether a path through `to` leads to it. */
struct arm {
  struct nvm_block at;
  bool through;
};

/* Whether one edge into the current block is left without that from `from`, and all threads there
 * come over it together: it leads through single predecessors from the immediate dominator. */
static bool one_is_left(const struct threader *t, struct nvm_block from) {
  const struct dominance *d = &t->dominance;
  uint32_t first = d->first_predecessor[t->block.index];
  if (dominance_predecessor_count(d, t->block) != 2) return false;
  struct nvm_block at = d->predecessors[first + (d->predecessors[first].index == from.index)];
  for (uint32_t steps = 0; steps < MAX_STEPS; steps++) {
    if (at.index == d->immediate[t->block.index].index) return true;
    if (t->touched[at.index] || dominance_predecessor_count(d, at) != 1) return false;
    at = dominance_first_predecessor(d, at);
  }
  return false;
}

/* Whether all paths from the current block meet before a convergent operation that an edge to `to`
 * leads to. The other arms may have some if the threads that enter them still arrive together. */
static bool meet_early(const struct threader *t, struct nvm_block to, bool together) {
  const struct nvm_function *f = t->f;
  struct arm open[MAX_OPEN] = {{t->block, false}};
  uint32_t count = 1;
  for (uint32_t steps = 0; steps < MAX_REGION; steps++) {
    uint32_t first = 0;
    for (uint32_t k = 1; k < count; k++)
      if (t->rank[open[k].at.index] > t->rank[open[first].at.index]) first = k;
    struct arm a = open[first];
    open[first] = open[--count];
    uint32_t successors = block_successor_count(f, a.at);
    if ((t->converges[a.at.index] && (a.through || !together)) || successors == 0 ||
        successors > MAX_OPEN)
      return false;
    for (uint32_t k = 0; k < successors; k++) {
      struct nvm_block next = block_successor(f, a.at, k);
      bool through = a.through || (steps == 0 && next.index == to.index);
      uint32_t n = 0;
      if (t->rank[next.index] >= t->rank[a.at.index]) return false;
      while (n < count && open[n].at.index != next.index) n++;
      if (n == MAX_OPEN) return false;
      if (n == count) open[count++] = (struct arm){next, false};
      open[n].through |= through;
    }
    if (count == 1) return true;
  }
  return false;
}

/* Whether every convergent operation is still executed by the same threads together if the edge
 * from `from` leads to `to`. */
static bool keeps_convergence(const struct threader *t, struct nvm_block from,
                              struct nvm_block to) {
  if (!t->convergent[t->block.index]) return true;
  bool together = one_is_left(t, from);
  return (together && !t->convergent[to.index]) || meet_early(t, to, together);
}

/* Whether the values of the current block still dominate their uses if `to` can be entered without
 * it: the uses are in the block, dominated by `more`, which has no other predecessor, or in phis
 * of `to`. */
static bool uses_stay_dominated(struct threader *t, struct nvm_block to, struct nvm_block more) {
  const struct nvm_function *f = t->f;
  const struct dominance *d = &t->dominance;
  if (!used_far(t)) return true;
  if (block_is_none(more) || dominance_predecessor_count(d, more) != 1 ||
      t->steps_left < f->insts.count)
    return false;
  t->steps_left -= f->insts.count;
  uint32_t left = 0; /* uses not met yet */
  for (uint32_t n = 0; n < t->count; n++) left += f->uses.data[t->insts[n].index];
  for (struct nvm_block b = f->entry; left > 0 && !block_is_none(b); b = function_block(f, b)->next)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        bool reads = false, phi = i->op == OP_PHI;
        struct nvm_value v = inst_operand(f, i, k);
        for (uint32_t n = 0; n < t->count && value_kind(v) == VALUE_INST; n++)
          reads |= value_index(v) == t->insts[n].index;
        if (!reads) continue;
        left--;
        struct nvm_block at = phi ? (struct nvm_block){value_index(inst_operand(f, i, k + 1))} : b;
        bool stays =
            at.index == t->block.index && (!phi || b.index == to.index || b.index == more.index);
        if (!stays && !dominance_dominates(d, more, at)) return false;
      }
    }
  return true;
}

/* The successor of the current block's branch that is not `to`; {0} for a switch, or if that
 * block's predecessors have changed. */
static struct nvm_block other_successor(const struct threader *t, struct nvm_block to) {
  const struct nvm_function *f = t->f;
  if (function_inst(f, block_terminator(f, t->block))->op != OP_CONDBR)
    return (struct nvm_block){0};
  struct nvm_block other =
      block_successor(f, t->block, block_successor(f, t->block, 0).index == to.index);
  return t->touched[other.index] ? (struct nvm_block){0} : other;
}

static bool can_thread(struct threader *t, struct nvm_block from, struct nvm_block to) {
  return can_enter(t, from, to) && keeps_convergence(t, from, to) &&
         (t->loops.innermost[to.index] == t->loops.innermost[t->block.index] ||
          t->env->knobs->value[KNOB_UNSTRUCTURED_CFG]) &&
         uses_stay_dominated(t, to, other_successor(t, to));
}

/* Blocks that test a condition again:
 *
 *     head: br c, some, again     some: …, br again     again: phis; br c, more, done
 *
 * Lanes that reconverge in `again` diverge there as they did in `head`. So `head` may branch to
 * `done`, out of a loop or past a barrier too: only phis move, and `some` still leads to `more`, in
 * its loop.
 *
 * Returns the head of the current block, with `done` and `more`; {0}: not such a block. */
static struct nvm_block find_head(const struct threader *t, struct nvm_block *done,
                                  struct nvm_block *more) {
  const struct nvm_function *f = t->f;
  const struct dominance *d = &t->dominance;
  uint32_t first = d->first_predecessor[t->block.index];
  const struct nvm_inst *last = function_inst(f, block_terminator(f, t->block));
  if (dominance_predecessor_count(d, t->block) != 2 || last->op != OP_CONDBR)
    return (struct nvm_block){0};
  for (uint32_t e = 0; e < 2; e++) {
    struct nvm_block head = d->predecessors[first + e], some = d->predecessors[first + 1 - e];
    const struct nvm_inst *branch = function_inst(f, block_terminator(f, head));
    if (branch->op != OP_CONDBR ||
        !value_equal(inst_operand(f, branch, 0), inst_operand(f, last, 0)) ||
        dominance_predecessor_count(d, some) != 1 ||
        dominance_first_predecessor(d, some).index != head.index || t->touched[head.index] ||
        t->touched[some.index])
      continue;
    uint32_t arm = block_successor(f, head, 1).index == t->block.index;
    *done = block_successor(f, t->block, arm);
    *more = block_successor(f, t->block, 1 - arm);
    bool leaves = t->loops.innermost[more->index] != t->loops.innermost[t->block.index];
    return leaves || done->index == more->index ? (struct nvm_block){0} : head;
  }
  return (struct nvm_block){0};
}

static bool thread_edge(struct threader *t, struct nvm_block from, struct nvm_block to) {
  struct nvm_function *f = t->f;
  FOR_EACH_PHI (f, to, i) {
    struct nvm_value v = phi_value(t, function_inst(f, i));
    if (!phi_add(f, i, v, from)) return false;
  }
  cfg_redirect(f, from, t->block, to);
  cfg_remove_phi_edges(f, t->block, from, 0);
  ++*t->env->statistic;
  return true;
}

/* Computes the analyses, if a block can be skipped; false when out of memory. */
static bool need_analyses(struct threader *t) {
  return t->convergent ||
         (flow_loops(t->env->flow, t->f, &t->dominance, &t->loops) && find_convergent(t));
}

enum nvm_status jump_threading_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct threader t = {
      .f = f, .env = env, .touched = arena_alloc(env->arena, f->blocks.count * sizeof(bool))};
  uint64_t before = *env->statistic;
  if (f->entry.index == f->last_block.index) return NVM_OK;
  t.seen = arena_alloc(env->arena, f->blocks.count * sizeof *t.seen);
  if (!t.touched || !t.seen || !flow_dominance(env->flow, f, &t.dominance))
    return NVM_OUT_OF_MEMORY;
  t.steps_left = 16 * (uint64_t)f->insts.count;
  FOR_EACH_BLOCK (f, b) {
    if (t.touched[b.index] || !dominance_reachable(&t.dominance, b) || !set_block(&t, b)) continue;
    if (!need_analyses(&t)) return NVM_OUT_OF_MEMORY;
    struct nvm_block done, more, head = find_head(&t, &done, &more);
    if (!block_is_none(head)) {
      evaluate(&t, head);
      if (can_enter(&t, head, done) && !t.touched[done.index] &&
          uses_stay_dominated(&t, done, more)) {
        if (!thread_edge(&t, head, done)) return NVM_OUT_OF_MEMORY;
        cfg_make_jump(f, b, more);
        t.touched[done.index] = t.touched[more.index] = t.touched[b.index] = true;
        continue;
      }
    }
    FOR_EACH_PREDECESSOR (&t.dominance, b, e) {
      struct nvm_block from = t.dominance.predecessors[e];
      if (t.touched[from.index]) continue;
      evaluate(&t, from);
      struct nvm_block to = target_from(&t, from);
      if (!can_thread(&t, from, to)) continue;
      if (!thread_edge(&t, from, to)) return NVM_OUT_OF_MEMORY;
      t.touched[to.index] = t.touched[b.index] = true;
    }
  }
  *changed = *env->statistic != before;
  return !*changed || cfg_remove_unreachable(f, env->arena) >= 0 ? NVM_OK : NVM_OUT_OF_MEMORY;
}
