/* licm: hoists loop-invariant code, and promotes memory that only the loop accesses to registers.
 *
 * Purpose:   addresses, conversions, loads of parameters and bounds; sums kept in memory.
 * Algorithm: one walk over the blocks in reverse postorder: an instruction with invariant operands
 *            moves to the preheader of the outermost loop in which they are invariant. A load also
 *            requires that the loop may not write to its address (alias analysis) and, as
 *            divisions do, that it is executed whenever the loop is: its block dominates the latch
 *            and all exits, and no call before it may fail to return. It is replaced by an equal
 *            load at the end of that preheader. A phi of two invariant values
 *            by an invariant branch moves too, as a select, and an invariant addend of an address
 *            is added first, before the loop. Then, from outer to inner
 *            loops, scalar promotion: an invariant address that is stored to in every iteration,
 *            while all other accesses in the loop must alias it or do not alias it, becomes a
 *            variable of the frame, loaded before the loop and stored in its exits; mem2reg turns
 *            it into a register.
 * Requires:  loop-simplify, lcssa; mem2reg afterwards.
 * Preserves: control flow. Convergent operations are not moved; barriers and fences count as
 *            writes to all memory that other threads can access.
 * Cost:      linear in instructions times the loops they leave; alias queries only in loops with
 *            at most MAX_ACCESSES accesses.
 * Omits:     sinking; calls; promotion of conditional stores to memory that other threads can
 *            access.
 * Tests:     check/opt/licm-*. */
#include "ir/build.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_ACCESSES = 200, MAX_EXITS = 4 };

struct loop_facts {
  uint32_t first_access, end_access; /* into accesses */
  struct nvm_block pivot; /* blocks that dominate it are executed in every complete iteration */
  bool may_stop;          /* has calls that may not return */
};

struct loop_access {
  struct nvm_inst_id inst;
  uint32_t effects; /* alias_effects */
};

struct mover {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct alias_env *alias;
  struct loop_facts *facts;         /* by loop */
  VEC(struct loop_access) accesses; /* of memory, in the order of the nest's blocks */
  bool changed;
  struct rewrite rewrite; /* loads replaced by equal ones in preheaders */
};

static void find_pivot(struct mover *m, uint32_t n) {
  uint32_t count;
  struct nvm_block pivot = m->nest.loops.data[n].latch;
  const struct loop_exit *exits = loops_exits(&m->nest.loops, n, &count);
  for (uint32_t k = 0; k < count; k++)
    while (pivot.index && !dominance_dominates(&m->nest.d, pivot, exits[k].from))
      pivot = m->nest.d.immediate[pivot.index];
  m->facts[n].pivot = exits ? pivot : (struct nvm_block){0};
}

/* Lists the accesses, contiguous for every loop. */
static bool survey(struct mover *m) {
  const struct loops *l = &m->nest.loops;
  for (uint32_t n = 1; n <= l->count; n++) m->facts[n].first_access = UINT32_MAX;
  for (uint32_t k = 0; k < l->data[0].block_count; k++) {
    struct nvm_block b = l->blocks[k];
    uint32_t inner = l->innermost[b.index];
    if (inner == 0) continue;
    for (uint32_t n = inner; n && m->facts[n].first_access == UINT32_MAX; n = l->data[n].parent)
      m->facts[n].first_access = m->accesses.count;
    FOR_EACH_INST (m->f, b, i) {
      m->facts[inner].may_stop |= effects_may_not_return(m->f, function_inst(m->f, i));
      struct loop_access a = {i, effects_on_memory(m->f, i)};
      if (a.effects && !VEC_PUSH(m->env->arena, &m->accesses, a)) return false;
    }
    m->facts[inner].end_access = m->accesses.count;
  }
  for (uint32_t n = l->count; n >= 1; n--) {
    struct loop_facts *p = &m->facts[l->data[n].parent];
    p->may_stop |= m->facts[n].may_stop;
    if (p->end_access < m->facts[n].end_access) p->end_access = m->facts[n].end_access;
    find_pivot(m, n);
  }
  return true;
}

/* Whether block b of loop n is executed whenever the loop is entered. */
static bool is_certain(const struct mover *m, uint32_t n, struct nvm_block b) {
  const struct loop_facts *p = &m->facts[n];
  return !p->may_stop && p->pivot.index && dominance_dominates(&m->nest.d, b, p->pivot);
}

static bool is_written(struct mover *m, uint32_t n, struct memory_location where) {
  const struct loop_facts *p = &m->facts[n];
  if (alias_is_constant(m->alias, where)) return false;
  if (p->end_access - p->first_access > MAX_ACCESSES) return true;
  where.place = alias_place_of(m->alias, where.pointer);
  for (uint32_t k = p->first_access; k < p->end_access; k++) {
    struct loop_access a = m->accesses.data[k];
    if ((a.effects & EFFECT_WRITES) && (alias_mod_ref(m->alias, a.inst, where) & EFFECT_WRITES))
      return true;
  }
  return false;
}

static bool operands_are_invariant(const struct mover *m, uint32_t n, const struct nvm_inst *i) {
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!loops_is_invariant(&m->nest.loops, m->f, n, inst_operand(m->f, i, k))) return false;
  return true;
}

/* The outermost loop that the instruction can be hoisted out of; 0: none. */
static uint32_t find_target_loop(struct mover *m, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(m->f, id);
  struct memory_location where;
  bool load = i->op == OP_LOAD && effects_is_plain_access(i) && alias_location_of(m->f, id, &where);
  bool anywhere = effects_is_speculatable(m->f, i) || (load && alias_loads_parameter(m->f, i));
  if (!load && !anywhere && !effects_is_pure(m->f, i)) return 0;
  uint32_t out = 0;
  for (uint32_t n = m->nest.loops.innermost[i->block.index]; n; n = m->nest.loops.data[n].parent) {
    if (block_is_none(m->nest.loops.data[n].preheader) || !operands_are_invariant(m, n, i)) break;
    if (!anywhere && !is_certain(m, n, i->block)) break;
    if (load && is_written(m, n, where)) break;
    out = n;
  }
  return out;
}

/* Whether the branch at the end of `above` decides which value the phi has: one for each successor,
 * which leads to the phi's block alone. *value: the phi's operands, by successor. */
static bool find_choice(const struct mover *m, const struct nvm_inst *phi, struct nvm_block above,
                        struct nvm_value value[2]) {
  const struct nvm_function *f = m->f;
  if (phi->operand_count != 4 || block_is_none(above) ||
      function_inst(f, block_terminator(f, above))->op != OP_CONDBR)
    return false;
  for (uint32_t e = 0; e < 2; e++) {
    struct nvm_block to = block_successor(f, above, e), from = to;
    if (to.index == phi->block.index) from = above;
    else if (dominance_predecessor_count(&m->nest.d, to) != 1) return false;
    uint32_t k = value_index(inst_operand(f, phi, 1)) == from.index ? 0 : 2;
    if (value_index(inst_operand(f, phi, k + 1)) != from.index) return false;
    value[e] = inst_operand(f, phi, k);
  }
  return block_successor(f, above, 0).index != block_successor(f, above, 1).index;
}

/* Turns a phi into a select before the outermost loop in which its values and the condition of
 * their choice are invariant; whether there is one. */
static bool hoist_phi(struct mover *m, struct nvm_inst_id id) {
  struct nvm_function *f = m->f;
  const struct nvm_inst *phi = function_inst(f, id);
  struct nvm_block above = m->nest.d.immediate[phi->block.index];
  struct nvm_value v[3];
  uint32_t out = 0;
  if (type_is_aggregate(&f->module->types, phi->type) || !find_choice(m, phi, above, v + 1))
    return false;
  v[0] = inst_operand(f, function_inst(f, block_terminator(f, above)), 0);
  for (uint32_t n = m->nest.loops.innermost[phi->block.index]; n;
       n = m->nest.loops.data[n].parent) {
    bool fits = !block_is_none(m->nest.loops.data[n].preheader);
    for (uint32_t k = 0; k < 3; k++) fits &= loops_is_invariant(&m->nest.loops, f, n, v[k]);
    if (!fits) break;
    out = n;
  }
  if (out == 0) return false;
  for (uint32_t k = 0; k < 3; k++) inst_set_operand(f, id, k, v[k]);
  inst_remove_operands(f, id, 3, 1);
  function_inst(f, id)->op = OP_SELECT;
  f->locations.data[id.index].index = 0;
  inst_unlink(f, id);
  inst_insert_before(f, id, block_terminator(f, m->nest.loops.data[out].preheader));
  ++*m->env->statistic;
  return m->changed = true;
}

/* A load at the end of the preheader of loop `out`, equal to i, which may move there; {0}: none. */
static struct nvm_inst_id find_equal_load(const struct mover *m, struct nvm_inst_id id,
                                          uint32_t out) {
  enum { MAX_STEPS = 16 };
  const struct nvm_function *f = m->f;
  const struct nvm_inst *i = function_inst(f, id);
  struct nvm_inst_id at = block_terminator(f, m->nest.loops.data[out].preheader);
  for (int step = 0; i->op == OP_LOAD && step < MAX_STEPS; step++) {
    at = function_inst(f, at)->previous;
    if (inst_is_none(at) || effects_on_memory(f, at) & EFFECT_WRITES) break;
    const struct nvm_inst *other = function_inst(f, at);
    if (other->op == OP_LOAD && type_equal(other->type, i->type) && other->aux == i->aux &&
        value_equal(inst_operand(f, other, 0), inst_operand(f, i, 0)))
      return at;
  }
  return (struct nvm_inst_id){0};
}

/* Moves i to the preheader of loop `out`. */
static void move_out(struct mover *m, struct nvm_inst_id i, uint32_t out) {
  struct nvm_inst_id same = find_equal_load(m, i, out);
  if (!is_certain(m, out, function_inst(m->f, i)->block)) {
    m->f->locations.data[i.index].index = 0; /* docs/locations.md, rule 4 */
    m->f->attachments.data[i.index] = 0;     /* what they say held behind the branch */
  }
  if (!inst_is_none(same)) {
    effects_join_access_metadata(m->f, same, i, false);
    rewrite_set(&m->rewrite, i, value_of_inst(same));
  } else {
    inst_unlink(m->f, i);
    inst_insert_before(m->f, i, block_terminator(m->f, m->nest.loops.data[out].preheader));
  }
  ++*m->env->statistic;
  m->changed = true;
}

/* (base + x) + y, x alone variant, becomes (base + y) + x, whose first sum is invariant and moves.
 * Not for a constant y, which accesses add themselves. False when out of memory. */
static bool hoist_addend(struct mover *m, struct nvm_inst_id id) {
  struct nvm_function *f = m->f;
  const struct loops *l = &m->nest.loops;
  const struct nvm_inst *outer = function_inst(f, id);
  if (outer->op != OP_GEP || outer->operand_count != 2) return true;
  const struct nvm_inst *inner = value_inst(f, inst_operand(f, outer, 0));
  uint32_t n = l->innermost[outer->block.index], element = outer->aux;
  if (!inner || inner->op != OP_GEP || inner->operand_count != 2 ||
      f->uses.data[value_index(inst_operand(f, outer, 0))] != 1 ||
      l->innermost[inner->block.index] != n || !type_equal(inner->type, outer->type))
    return true;
  struct nvm_value base = inst_operand(f, inner, 0), x = inst_operand(f, inner, 1),
                   y = inst_operand(f, outer, 1), sum[] = {base, y};
  if (value_kind(y) == VALUE_CONST || !type_equal(value_type(f, base), outer->type) ||
      !loops_is_invariant(l, f, n, y) || !loops_is_invariant(l, f, n, base) ||
      loops_is_invariant(l, f, n, x))
    return true;
  function_inst(f, id)->aux = inner->aux;
  function_inst(f, id)->flags = 0; /* base + y may be outside of the object */
  struct builder at = builder_located(builder_before(f, id), id);
  sum[0] = builder_add(&at, OP_GEP, 0, outer->type, sum, 2, element);
  if (value_is_none(sum[0])) return false;
  inst_set_operand(f, id, 0, sum[0]);
  inst_set_operand(f, id, 1, x);
  uint32_t out = find_target_loop(m, value_inst_id(sum[0]));
  if (out) move_out(m, value_inst_id(sum[0]), out);
  return m->changed = true;
}

static bool hoist(struct mover *m) {
  const struct loops *l = &m->nest.loops;
  for (uint32_t k = 0; k < l->data[0].block_count; k++) {
    struct nvm_block b = l->blocks[k];
    if (l->innermost[b.index] == 0) continue;
    for (struct nvm_inst_id i = function_block(m->f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(m->f, i)->next;
      if (m->rewrite.set_count) rewrite_operands(&m->rewrite, i);
      if (function_inst(m->f, i)->op == OP_PHI && hoist_phi(m, i)) continue;
      uint32_t out = find_target_loop(m, i);
      if (out) move_out(m, i, out);
      else if (!hoist_addend(m, i)) return false;
    }
  }
  return true;
}

/* Whether i is a load or store of this pointer and type. */
static bool is_access_of(const struct nvm_function *f, const struct nvm_inst *i,
                         struct nvm_value pointer, struct nvm_type type) {
  if (!effects_is_plain_access(i)) return false;
  if (i->op == OP_LOAD)
    return value_equal(inst_operand(f, i, 0), pointer) && type_equal(i->type, type);
  return i->op == OP_STORE && value_equal(inst_operand(f, i, 1), pointer) &&
         type_equal(value_type(f, inst_operand(f, i, 0)), type);
}

/* Whether the location of `store` can be in a register during loop n. */
static bool can_promote(struct mover *m, uint32_t n, struct nvm_inst_id store) {
  const struct nvm_inst *i = function_inst(m->f, store);
  struct nvm_value pointer = inst_operand(m->f, i, 1);
  struct nvm_type type = value_type(m->f, inst_operand(m->f, i, 0));
  struct memory_location where;
  if (!effects_is_plain_access(i) || !is_certain(m, n, i->block) ||
      !loops_is_invariant(&m->nest.loops, m->f, n, pointer))
    return false;
  if (type_is_aggregate(&m->f->module->types, type) || !alias_location_of(m->f, store, &where))
    return false;
  for (uint32_t k = m->facts[n].first_access; k < m->facts[n].end_access; k++) {
    const struct nvm_inst *other = function_inst(m->f, m->accesses.data[k].inst);
    if (block_is_none(other->block) || !loops_contains(&m->nest.loops, n, other->block)) continue;
    if (is_access_of(m->f, other, pointer, type)) continue;
    if (alias_mod_ref(m->alias, m->accesses.data[k].inst, where)) return false;
  }
  return true;
}

/* The exit blocks of loop n; returns their number, or MAX_EXITS + 1. */
static uint32_t find_exits(const struct mover *m, uint32_t n, struct nvm_block *blocks) {
  uint32_t count = 0, edges;
  const struct loop_exit *exits = loops_exits(&m->nest.loops, n, &edges);
  if (!exits) return MAX_EXITS + 1;
  for (uint32_t k = 0; k < edges; k++) {
    uint32_t seen = 0;
    while (seen < count && blocks[seen].index != exits[k].to.index) seen++;
    if (seen < count) continue;
    if (count == MAX_EXITS) return MAX_EXITS + 1;
    blocks[count++] = exits[k].to;
  }
  return count;
}

/* Replaces the memory that `store` writes by a variable. */
static bool promote(struct mover *m, uint32_t n, struct nvm_inst_id store,
                    const struct nvm_block *exits, uint32_t exit_count) {
  struct nvm_function *f = m->f;
  struct nvm_value pointer = inst_operand(f, function_inst(f, store), 1);
  struct nvm_type type = value_type(f, inst_operand(f, function_inst(f, store), 0));
  uint32_t how = function_inst(f, store)->aux;
  struct nvm_value one = const_int(f->module, TYPE_I32, 1);
  struct builder entry = builder_before(f, block_first_after_phis(f, f->entry)),
                 before = builder_before(f, block_terminator(f, m->nest.loops.data[n].preheader));
  struct nvm_value v = builder_add(&entry, OP_ALLOCA, 0, TYPE_PTR, &one, 1, type.index);
  builder_store(&before, builder_load(&before, type, pointer, how), v, 0);
  for (uint32_t k = m->facts[n].first_access; k < m->facts[n].end_access; k++) {
    struct nvm_inst_id id = m->accesses.data[k].inst;
    struct nvm_inst *i = function_inst(f, id);
    if (block_is_none(i->block) || !loops_contains(&m->nest.loops, n, i->block) ||
        !is_access_of(f, i, pointer, type))
      continue;
    inst_set_operand(f, id, i->op == OP_STORE, v);
    function_inst(f, id)->aux = 0;
    f->attachments.data[id.index] = 0;
  }
  for (uint32_t k = 0; k < exit_count; k++) {
    struct builder at = builder_before(f, block_first_after_phis(f, exits[k]));
    builder_store(&at, builder_load(&at, type, v, 0), pointer, how);
  }
  ++*m->env->statistic;
  m->changed = true;
  return !module_out_of_memory(f->module);
}

static bool promote_in(struct mover *m, uint32_t n) {
  struct nvm_block exits[MAX_EXITS];
  const struct loop_facts *p = &m->facts[n];
  if (p->end_access <= p->first_access || p->end_access - p->first_access > MAX_ACCESSES)
    return true;
  uint32_t count = find_exits(m, n, exits);
  if (count > MAX_EXITS || block_is_none(m->nest.loops.data[n].preheader)) return true;
  for (uint32_t k = p->first_access; k < p->end_access; k++) {
    struct nvm_inst_id i = m->accesses.data[k].inst;
    const struct nvm_inst *inst = function_inst(m->f, i);
    if (inst->op != OP_STORE || !loops_contains(&m->nest.loops, n, inst->block)) continue;
    struct nvm_value object = alias_underlying_object(m->f, inst_operand(m->f, inst, 1));
    if (value_kind(object) == VALUE_INST &&
        function_inst(m->f, (struct nvm_inst_id){value_index(object)})->op == OP_ALLOCA &&
        value_equal(object, inst_operand(m->f, inst, 1)))
      continue; /* mem2reg promotes it, or it has been promoted */
    if (can_promote(m, n, i) && !promote(m, n, i, exits, count)) return false;
  }
  return true;
}

enum nvm_status licm_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct mover m = {.f = f, .env = env};
  if (!loop_nest_of(&m.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (m.nest.loops.count == 0) return NVM_OK;
  m.alias = alias_init(f, env->arena);
  m.facts = arena_alloc(env->arena, (m.nest.loops.count + 1) * sizeof *m.facts);
  if (!m.alias || !m.facts || !rewrite_init(&m.rewrite, f, env->arena) || !survey(&m) || !hoist(&m))
    return NVM_OUT_OF_MEMORY;
  rewrite_apply(&m.rewrite);
  for (uint32_t n = 1; n <= m.nest.loops.count; n++)
    if (!promote_in(&m, n)) return NVM_OUT_OF_MEMORY;
  *changed = m.changed;
  return NVM_OK;
}
