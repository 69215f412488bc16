/* sink: moves computations to the paths that need them.
 *
 * Purpose:   most threads of a kernel's last block return at once, and computations before the
 *            bounds check (address space casts, addresses, loop bounds) are wasted.
 * Algorithm: visits blocks in reverse preorder of the dominator tree, instructions last to first,
 *            and moves each to the nearest block that dominates all uses (of a phi: the end of the
 *            edge) and is in no loop that the instruction is not in. If this would keep more
 *            registers alive than it saves, only to blocks whose execution a branch decides, and
 *            past an early exit only if its value does not differ between threads. A load moves
 *            only to such blocks, past nothing that may write or synchronize.
 *            The step of a counter moves below the last read of the counter in its block, so that
 *            both can have one register:
 *              next = i - 1; c = i > 0; i = next   →   c = i > 0; i = i - 1
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in uses times MAX_STEPS up the dominator tree.
 * Omits:     loads past joins; convergent instructions and those with effects.
 * Tests:     check/opt/sink*.nvir. */
#include "analysis/divergence.h"
#include "analysis/loops.h"
#include "analysis/pressure.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

enum { MAX_STEPS = 64 };

struct sinker {
  struct nvm_function *f;
  struct dominance dominance;
  struct loops loops;
  struct uses uses;
  uint32_t *order;   /* by block: index in reverse postorder */
  bool *fixes_loads; /* by block: whether an instruction visited so far stops loads */
};

/* The nearest common dominator; {0} after MAX_STEPS. */
static struct nvm_block common(const struct sinker *s, struct nvm_block a, struct nvm_block b) {
  if (block_is_none(a)) return b;
  for (uint32_t steps = 0; !dominance_dominates(&s->dominance, a, b); steps++) {
    if (steps == MAX_STEPS) return (struct nvm_block){0};
    a = s->dominance.immediate[a.index];
  }
  return a;
}

/* Whether a user of v other than i is in `to` or after it. */
static bool is_needed(const struct sinker *s, struct nvm_value v, const struct nvm_inst *i,
                      struct nvm_block to) {
  uint32_t u = s->uses.first[value_index(v)], end = s->uses.first[value_index(v) + 1];
  if (end - u > MAX_STEPS) return true;
  for (; u < end; u++) {
    const struct nvm_inst *user = function_inst(s->f, s->uses.users[u]);
    if (user != i && s->order[user->block.index] >= s->order[to.index]) return true;
  }
  return false;
}

/* Registers needed to keep v alive until `to` for i. None if v is needed there anyway, or is at a
 * constant distance from an argument; for a cast, those of its operand. */
static uint32_t cost_of_keeping(const struct sinker *s, struct nvm_value v,
                                const struct nvm_inst *i, struct nvm_block to) {
  for (; value_kind(v) == VALUE_INST && !is_needed(s, v, i, to); v = inst_operand(s->f, i, 0)) {
    i = function_inst(s->f, value_inst_id(v));
    if (i->op != OP_ZEXT && i->op != OP_SEXT && !pressure_is_offset(s->f, i))
      return pressure_registers(s->f, i->type);
  }
  return 0;
}

/* Whether the operands of i need more registers until `to` than i does. */
static bool increases_pressure(const struct sinker *s, const struct nvm_inst *i,
                               struct nvm_block to) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (k == 0 || !value_equal(inst_operand(s->f, i, k), inst_operand(s->f, i, k - 1)))
      kept += cost_of_keeping(s, inst_operand(s->f, i, k), i, to);
  return kept > pressure_registers(s->f, i->type);
}

/* Whether a branch in the predecessor of b decides if b is executed; loop exits do not count. */
static bool is_decided(const struct sinker *s, struct nvm_block b) {
  struct nvm_block above = dominance_first_predecessor(&s->dominance, b);
  return dominance_predecessor_count(&s->dominance, b) == 1 &&
         block_successor_count(s->f, above) > 1 &&
         loops_contains(&s->loops, s->loops.innermost[above.index], b);
}

static bool only_returns(const struct nvm_function *f, struct nvm_block b) {
  FOR_EACH_INST (f, b, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op != OP_RET && !effects_is_debug(f, inst)) return false;
  }
  return true;
}

/* Whether b is the rest of the kernel after an early exit, as that of threads beyond the last
 * element: most threads execute b, unless an equality selects one of them. */
static bool is_after_exit(const struct sinker *s, struct nvm_block b) {
  struct nvm_block above = dominance_first_predecessor(&s->dominance, b);
  const struct nvm_inst *branch = function_inst(s->f, function_block(s->f, above)->last);
  const struct nvm_inst *test = value_inst_of(s->f, inst_operand(s->f, branch, 0), OP_ICMP);
  bool selects_one = test && (test->aux == ICMP_EQ || test->aux == ICMP_NE);
  if (selects_one || !function_is_kernel(s->f)) return false;
  for (uint32_t k = 0; k < block_successor_count(s->f, above); k++) {
    struct nvm_block other = block_successor(s->f, above, k);
    if (other.index != b.index && only_returns(s->f, other)) return true;
  }
  return false;
}

/* Whether i may move to b although its operands need more registers until there. Past an early
 * exit only if it is a load, or is not divergent and thus may be in uniform registers. */
static bool saves_time(const struct sinker *s, struct nvm_inst_id id, struct nvm_block b) {
  enum { MAX_DEPTH = 4 };
  if (!is_decided(s, b)) return false;
  return function_inst(s->f, id)->op == OP_LOAD || !is_after_exit(s, b) ||
         !divergence_is_evident(s->f, value_of_inst(id), MAX_DEPTH);
}

/* The block to sink i to; its own block if there is none. */
static struct nvm_block find_place(const struct sinker *s, struct nvm_inst_id i) {
  const struct nvm_function *f = s->f;
  struct nvm_block from = function_inst(f, i)->block, to = {0};
  for (uint32_t u = s->uses.first[i.index]; u < s->uses.first[i.index + 1]; u++) {
    const struct nvm_inst *user = function_inst(f, s->uses.users[u]);
    struct nvm_block at = user->block;
    if (user->op == OP_PHI) at.index = value_index(inst_operand(f, user, s->uses.operands[u] + 1));
    if (!dominance_reachable(&s->dominance, at)) continue;
    to = common(s, to, at);
    if (block_is_none(to) || to.index == from.index) return from;
  }
  bool costly = increases_pressure(s, function_inst(f, i), to);
  for (; to.index != from.index && !block_is_none(to); to = s->dominance.immediate[to.index]) {
    uint32_t loop = s->loops.innermost[to.index];
    if (loop != s->loops.innermost[from.index] && !loops_contains(&s->loops, loop, from)) continue;
    if (!costly || saves_time(s, i, to)) return to;
  }
  return from;
}

static bool is_movable_load(const struct nvm_inst *i) {
  return i->op == OP_LOAD && effects_is_plain_access(i);
}

/* The block on the way down from the load's block to `to` that it may move to. */
static struct nvm_block find_place_of_load(const struct sinker *s, struct nvm_inst_id i,
                                           struct nvm_block to) {
  struct nvm_block from = function_inst(s->f, i)->block, place = to;
  for (struct nvm_block above; to.index != from.index; to = above) {
    above = s->dominance.immediate[to.index];
    if (s->fixes_loads[above.index] || !is_decided(s, to)) place = above;
  }
  return place;
}

/* Whether no load may move past i: it may write or wait for another thread. */
static bool stops_loads(const struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  return effects_is_convergent(f, i) || effects_on_memory(f, id) & EFFECT_WRITES ||
         (i->op == OP_LOAD && !effects_is_plain_access(i));
}

/* The phi that i takes as an operand and is the next value of, with no other use and no operand
 * from its block; VALUE_NULL: none. */
static struct nvm_value counter_of_step(const struct sinker *s, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  uint32_t first = s->uses.first[id.index];
  if (i->op < OP_FIRST_INT || i->op > OP_LAST_INT || s->uses.first[id.index + 1] != first + 1)
    return VALUE_NULL;
  struct nvm_value phi = value_of_inst(s->uses.users[first]);
  if (value_inst(s->f, phi)->op != OP_PHI) return VALUE_NULL;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value other = inst_operand(s->f, i, 1 - k);
    const struct nvm_inst *definition = value_inst(s->f, other);
    if (value_equal(inst_operand(s->f, i, k), phi) &&
        (!definition || definition->block.index != i->block.index))
      return phi;
  }
  return VALUE_NULL;
}

static bool reads(const struct nvm_function *f, struct nvm_inst_id id, struct nvm_value v) {
  const struct nvm_inst *i = function_inst(f, id);
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (value_equal(inst_operand(f, i, k), v)) return true;
  return false;
}

/* Moves the step i below the last read of its counter. */
static bool sink_step(const struct sinker *s, struct nvm_inst_id i) {
  struct nvm_function *f = s->f;
  struct nvm_value counter = counter_of_step(s, i);
  struct nvm_inst_id at = function_inst(f, i)->next, below = {0}; /* what will follow i */
  if (value_is_none(counter)) return false;
  for (int steps = 0; steps < MAX_STEPS && !inst_is_none(function_inst(f, at)->next); steps++) {
    bool is_last = reads(f, at, counter);
    at = function_inst(f, at)->next;
    if (is_last) below = at;
  }
  if (inst_is_none(below)) return false;
  inst_unlink(f, i);
  inst_insert_before(f, i, below);
  return true;
}

static bool sink(struct sinker *s, struct nvm_inst_id i) {
  struct nvm_function *f = s->f;
  struct nvm_block from = function_inst(f, i)->block;
  if (stops_loads(f, i)) s->fixes_loads[from.index] = true;
  bool is_load = is_movable_load(function_inst(f, i));
  if (is_load ? s->fixes_loads[from.index] : !effects_is_pure(f, function_inst(f, i))) return false;
  struct nvm_block to = find_place(s, i);
  if (is_load) to = find_place_of_load(s, i, to);
  if (to.index == from.index) return !is_load && sink_step(s, i);
  inst_unlink(f, i);
  inst_insert_before(f, i, block_first_after_phis(f, to));
  return true;
}

enum nvm_status sink_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct sinker s = {.f = f};
  struct nvm_block *order = NULL;
  bool *stays = arena_alloc(env->arena, f->insts.count * sizeof *stays);
  if (f->entry.index == f->last_block.index) return NVM_OK;
  s.order = arena_alloc(env->arena, f->blocks.count * sizeof *s.order);
  s.fixes_loads = arena_alloc(env->arena, f->blocks.count * sizeof *s.fixes_loads);
  if (!stays || !s.order || !s.fixes_loads || !flow_loops(env->flow, f, &s.dominance, &s.loops) ||
      !uses_build(&s.uses, f, env->arena) ||
      !(order = dominance_preorder(&s.dominance, f, env->arena)))
    return NVM_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < s.loops.data[0].block_count; k++) s.order[s.loops.blocks[k].index] = k;
  memset(s.fixes_loads, false, f->blocks.count * sizeof *s.fixes_loads);
  memset(stays, true, f->insts.count * sizeof *stays);
  for (uint32_t k = s.dominance.size[f->entry.index]; k > 0; k--)
    for (struct nvm_inst_id i = function_block(f, order[k])->last, above; !inst_is_none(i);
         i = above) {
      above = function_inst(f, i)->previous;
      if (!sink(&s, i)) continue;
      stays[i.index] = false; /* it may come after its debug records now */
      *changed = true;
      ++*env->statistic;
    }
  if (*changed) rewrite_drop_dead_metadata(f, stays);
  return NVM_OK;
}
