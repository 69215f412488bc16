/* lcssa: values leave a loop through phis of its exit blocks (loop-closed SSA).
 *
 * Purpose:   passes that copy or rewrite a loop only need to update these phis, not uses anywhere.
 * Algorithm: for a value and its uses outside of its loop: a phi in each exit block that its block
 *            dominates; a use takes the phi of the nearest exit up the dominator tree. In a block
 *            where paths from several exits meet (its immediate dominator is in the loop) a phi
 *            merges them, made on demand. The new phis are values of outer loops in turn.
 * Requires:  loop-simplify; loops with shared exits are skipped.
 * Preserves: everything else.
 * Cost:      linear in uses times the loops they leave, plus walks up the dominator tree, cached
 *            per value.
 * Omits:     tokens, which a phi cannot hold: such a loop stays open. Simplifycfg removes the
 *            phis.
 * Tests:     check/opt/lcssa-*. */
#include "opt/loop/loop_tools.h"
#include "ir/build.h"
#include "opt/passes.h"

struct use {
  struct nvm_inst_id user;
  uint32_t operand;
  uint32_t next; /* index + 1 */
};

struct closed_value {
  struct nvm_inst_id value;
  uint32_t first_use; /* index + 1 */
};

struct closer {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  VEC(struct use) pool;
  VEC(struct closed_value) work;
  struct nvm_inst_id *phi; /* by block: its phi of the current value, valid if stamp is current */
  uint32_t *work_of;       /* by block: its index in `work` */
  uint32_t *stamp;
  uint32_t current;
  VEC(struct nvm_block) merges; /* blocks whose phi has no operands yet */
};

static bool add_use(struct closer *c, uint32_t work, struct nvm_inst_id user, uint32_t operand) {
  struct use u = {user, operand, c->work.data[work].first_use};
  if (!VEC_PUSH(c->env->arena, &c->pool, u)) return false;
  c->work.data[work].first_use = c->pool.count;
  return true;
}

static struct nvm_inst_id add_phi(struct closer *c, struct nvm_inst_id value, struct nvm_block b) {
  const struct nvm_inst *v = function_inst(c->f, value);
  struct builder at = builder_at_start(c->f, b);
  struct nvm_inst_id phi = builder_insert(&at, OP_PHI, 0, v->type, NULL, 0, 0);
  if (inst_is_none(phi)) return phi;
  c->phi[b.index] = phi;
  c->stamp[b.index] = c->current;
  struct closed_value w = {phi, 0};
  if (!VEC_PUSH(c->env->arena, &c->work, w)) return (struct nvm_inst_id){0};
  c->work_of[b.index] = c->work.count - 1;
  return phi;
}

/* The block whose phi has the value (of loop n) at the beginning of b. */
static struct nvm_block find_phi(struct closer *c, uint32_t n, struct nvm_inst_id value,
                                 struct nvm_block b) {
  while (c->stamp[b.index] != c->current) {
    struct nvm_block up = c->nest.d.immediate[b.index];
    if (!loops_contains(&c->nest.loops, n, up)) {
      b = up;
      continue;
    }
    if (inst_is_none(add_phi(c, value, b)) || !VEC_PUSH(c->env->arena, &c->merges, b))
      return (struct nvm_block){0};
  }
  return b;
}

/* Adds the operands of new phis: on edges from the loop the value, on others the phi that is valid
 * there. */
static bool fill_phis(struct closer *c, uint32_t n, struct nvm_inst_id value) {
  const struct dominance *d = &c->nest.d;
  while (c->merges.count) {
    struct nvm_block b = c->merges.data[--c->merges.count];
    struct nvm_inst_id phi = c->phi[b.index];
    FOR_EACH_PREDECESSOR (d, b, k) {
      struct nvm_block p = d->predecessors[k];
      struct nvm_value v = value_of_inst(value);
      if (!dominance_reachable(d, p)) {
        v = const_poison(c->f->module, function_inst(c->f, phi)->type);
      } else if (!loops_contains(&c->nest.loops, n, p)) {
        struct nvm_block at = find_phi(c, n, value, p);
        if (block_is_none(at)) return false;
        v = value_of_inst(c->phi[at.index]);
        if (!add_use(c, c->work_of[at.index], phi, function_inst(c->f, phi)->operand_count))
          return false;
      }
      if (!phi_add(c->f, phi, v, p)) return false;
    }
  }
  return true;
}

static struct nvm_block block_of_use(const struct closer *c, struct use u) {
  const struct nvm_inst *i = function_inst(c->f, u.user);
  return i->op == OP_PHI ? (struct nvm_block){value_index(inst_operand(c->f, i, u.operand + 1))}
                         : i->block;
}

/* Replaces the uses of a value outside of its loop by phis. */
static bool close_value(struct closer *c, struct closed_value v) {
  uint32_t n = c->nest.loops.innermost[function_inst(c->f, v.value)->block.index];
  c->current++;
  for (uint32_t k = v.first_use; n && k;) {
    struct use u = c->pool.data[k - 1];
    struct nvm_block b = block_of_use(c, u);
    k = u.next;
    if (loops_contains(&c->nest.loops, n, b) || !dominance_reachable(&c->nest.d, b)) continue;
    struct nvm_block at = find_phi(c, n, v.value, b);
    if (block_is_none(at) || !fill_phis(c, n, v.value)) return false;
    inst_set_operand(c->f, u.user, u.operand, value_of_inst(c->phi[at.index]));
    if (!add_use(c, c->work_of[at.index], u.user, u.operand)) return false;
    ++*c->env->statistic;
  }
  return true;
}

/* Collects the uses outside of the loop of a value, by value, the last use first. */
static bool collect_uses(struct closer *c, uint32_t *first_use) {
  const struct nvm_function *f = c->f;
  FOR_EACH_BLOCK (f, b) {
    if (!dominance_reachable(&c->nest.d, b)) continue;
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) != VALUE_INST) continue;
        struct nvm_block from = f->insts.data[value_index(v)].block;
        if (from.index == b.index && inst->op != OP_PHI) continue;
        uint32_t n = c->nest.loops.innermost[from.index];
        struct use u = {i, k, first_use[value_index(v)]};
        if (n == 0 || loops_contains(&c->nest.loops, n, block_of_use(c, u))) continue;
        if (!VEC_PUSH(c->env->arena, &c->pool, u)) return false;
        first_use[value_index(v)] = c->pool.count;
      }
    }
  }
  return true;
}

static bool close_all(struct closer *c) {
  uint32_t insts = c->f->insts.count; /* new phis are closed with their value */
  uint32_t *first_use = arena_alloc(c->env->arena, insts * sizeof *first_use);
  if (!first_use || !collect_uses(c, first_use)) return false;
  for (uint32_t n = 1, known = c->pool.count; known && n < insts; n++) {
    if (first_use[n] == 0 || type_equal(c->f->insts.data[n].type, TYPE_TOKEN)) continue;
    struct closed_value v = {{n}, first_use[n]};
    c->work.count = 0;
    if (!VEC_PUSH(c->env->arena, &c->work, v)) return false;
    for (uint32_t w = 0; w < c->work.count; w++)
      if (!close_value(c, c->work.data[w])) return false;
  }
  return true;
}

enum nvm_status lcssa_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct closer c = {.f = f, .env = env};
  uint64_t before = *env->statistic;
  if (!loop_nest_of(&c.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (c.nest.loops.count == 0) return NVM_OK;
  c.phi = arena_alloc(env->arena, f->blocks.count * sizeof *c.phi);
  c.work_of = arena_alloc(env->arena, f->blocks.count * sizeof *c.work_of);
  c.stamp = arena_alloc(env->arena, f->blocks.count * sizeof *c.stamp);
  if (!c.phi || !c.work_of || !c.stamp || !close_all(&c)) return NVM_OUT_OF_MEMORY;
  *changed = *env->statistic != before;
  return NVM_OK;
}
