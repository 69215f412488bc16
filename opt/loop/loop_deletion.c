/* loop-deletion: deletes loops without effects, and computes exit values before loops.
 *
 * Purpose:   loops that other passes emptied or that only count; counters that are used after
 *            loops; searches whose result is not used.
 * Algorithm: a loop without effects ends if its trip count is known, or if it must progress. If all
 *            its exits go to one block, and each value that leaves it is invariant or, in a loop of
 *            one exit with a known trip count, affine, the preheader computes these values
 *            (exit-value replacement: the trip count instead of the iteration number) and jumps to
 *            the exit. In other loops, exit values that are a number, or an invariant value plus a
 *            number, are replaced. An exit is removed if another one is always taken before it;
 *            both trip counts must be known.
 * Requires:  loop-simplify, lcssa.
 * Preserves: nothing of the loop; everything else.
 * Cost:      linear.
 * Omits:     costlier exit values of loops that remain.
 * Tests:     check/opt/loop-deletion. */
#include "analysis/scev.h"
#include "ir/build.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"

struct deleter {
  struct nvm_function *f;
  struct loop_nest nest;
  struct scev_env *scev;
  bool *kept, *may_not_end; /* by loop */
  uint32_t n;
  const struct loop *loop;
};

/* Marks loops that may not terminate, and the loops around them; if there are irreducible cycles,
 * all loops that need not progress. If a loop must progress, so must the loops in it: while one of
 * them runs, the outer one does not progress either. */
static void find_nonterminating(struct deleter *d, struct arena *arena) {
  const struct loops *l = &d->nest.loops;
  bool reducible = loops_are_all_cycles(d->f, &d->nest.d, arena);
  for (uint32_t n = l->count; n >= 1; n--) {
    bool counted = reducible && !d->may_not_end[n] && scev_trip_count(d->scev, n).known;
    d->may_not_end[n] = !counted && !trip_count_must_end(d->scev, n);
    d->may_not_end[l->data[n].parent] |= d->may_not_end[n];
  }
}

/* Marks loops with effects, those that may not terminate, and the loops around them. */
static bool find_kept(struct deleter *d, struct arena *arena) {
  const struct loops *l = &d->nest.loops;
  d->kept = arena_alloc(arena, (l->count + 1) * sizeof *d->kept);
  d->may_not_end = arena_alloc(arena, (l->count + 1) * sizeof *d->may_not_end);
  if (!d->kept || !d->may_not_end) return false;
  for (uint32_t k = 0; k < l->data[0].block_count; k++)
    FOR_EACH_INST (d->f, l->blocks[k], i) {
      const struct nvm_inst *inst = function_inst(d->f, i);
      bool *kept = &d->kept[l->innermost[l->blocks[k].index]];
      if (inst->op == OP_UNREACHABLE || inst->op == OP_RET) *kept = true;
      if (op_is_terminator((enum op)inst->op) || inst->op == OP_DBG_RECORD) continue;
      *kept |= effects_must_stay(d->f, inst) || effects_is_convergent(d->f, inst);
    }
  find_nonterminating(d, arena);
  for (uint32_t n = l->count; n >= 1; n--) {
    d->kept[l->data[n].parent] |= d->kept[n];
    d->kept[n] |= d->may_not_end[n];
  }
  return true;
}

/* Whether v is an affine integer, whose value in the last iteration can be computed. */
static bool is_computable(struct deleter *d, struct nvm_value v, int64_t *step) {
  struct scev form = scev_of(d->scev, v);
  return type_is_int(&d->f->module->types, value_type(d->f, v)) && form.width &&
         scev_step(d->scev, form, d->n, step);
}

/* The value of a phi of the exit for all edges from the loop; VALUE_NULL if they differ, or if
 * there are other edges. */
static struct nvm_value exit_value(struct deleter *d, struct nvm_inst_id i) {
  const struct nvm_inst *phi = function_inst(d->f, i);
  struct nvm_value v = inst_operand(d->f, phi, 0);
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_block from = value_block(inst_operand(d->f, phi, k + 1));
    if (!loops_contains(&d->nest.loops, d->n, from) || !value_equal(v, inst_operand(d->f, phi, k)))
      return VALUE_NULL;
  }
  return v;
}

/* Whether the preheader can compute the trip count. */
static bool is_countable(struct deleter *d) {
  struct trip_count c = scev_trip_count(d->scev, d->n);
  return c.known && !(c.divisor & (c.divisor - 1)) && !block_is_none(d->loop->exiting);
}

/* Whether the loop can be deleted; *needs_count: an exit value depends on the trip count. */
static bool is_deletable(struct deleter *d, bool *needs_count) {
  const struct loop *l = d->loop;
  int64_t step;
  *needs_count = false;
  if (d->kept[d->n] || block_is_none(l->exit) || !loop_is_closed(&d->nest, d->f, d->n))
    return false;
  FOR_EACH_PHI (d->f, l->exit, i) {
    struct nvm_value v = exit_value(d, i);
    if (value_is_none(v)) return false;
    if (loops_is_invariant(&d->nest.loops, d->f, d->n, v)) continue;
    if (!is_countable(d) || !is_computable(d, v, &step)) return false;
    *needs_count = true;
  }
  return true;
}

/* v in the last iteration, computed before `at`; VALUE_NULL if not expressible. */
static struct nvm_value last_value(struct deleter *d, struct nvm_value v, struct nvm_value taken,
                                   struct nvm_inst_id at) {
  int64_t step;
  struct nvm_module *m = d->f->module;
  if (loops_is_invariant(&d->nest.loops, d->f, d->n, v)) return v;
  if (!is_computable(d, v, &step)) return VALUE_NULL;
  struct scev form = scev_of(d->scev, v);
  struct nvm_type type = type_int(&m->types, form.width);
  struct nvm_value start = scev_expand(d->scev, d->f, scev_at_start(d->scev, form, d->n), at);
  if (value_is_none(start) || step == 0) return start;
  struct builder x = builder_before(d->f, at);
  uint32_t width = type_scalar_bits(&m->types, value_type(d->f, taken));
  if (width != form.width)
    taken = builder_unary(&x, width < form.width ? OP_ZEXT : OP_TRUNC, type, taken);
  uint64_t bits =
      (uint64_t)step & (form.width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << form.width) - 1);
  return builder_binary(&x, OP_ADD, start,
                        builder_binary(&x, OP_MUL, taken, const_int(m, type, bits)));
}

/* Redirects the preheader to the exit. False if a value cannot be computed; then only dead code
 * was added. */
static bool delete_loop(struct deleter *d, bool needs_count) {
  struct nvm_function *f = d->f;
  struct nvm_block pre = d->loop->preheader, exit = d->loop->exit;
  struct nvm_inst_id at = block_terminator(f, pre);
  struct nvm_value taken = needs_count ? scev_expand_trip_count(d->scev, f, d->n, at) : VALUE_NULL;
  if (needs_count && value_is_none(taken)) return false;
  FOR_EACH_PHI (f, exit, i) {
    struct nvm_value v = last_value(d, inst_operand(f, function_inst(f, i), 0), taken, at);
    if (value_is_none(v) || !phi_add(f, i, v, pre)) {
      cfg_remove_phi_edges(f, exit, pre, 0);
      return false;
    }
  }
  cfg_remove_phi_edges(f, d->loop->header, pre, 0);
  cfg_redirect(f, pre, d->loop->header, exit);
  return true;
}

/* Replaces exit values of a loop that remains. */
static void replace_exit_values(struct deleter *d, bool *changed) {
  struct nvm_function *f = d->f;
  struct nvm_block exit = d->loop->exit;
  if (block_is_none(exit) || !scev_trip_count(d->scev, d->n).known ||
      !loop_is_closed(&d->nest, f, d->n))
    return;
  FOR_EACH_PHI (f, exit, i) {
    const struct nvm_inst *phi = function_inst(f, i);
    struct nvm_value v = inst_operand(f, phi, 0);
    if (phi->operand_count != 2 || !type_is_int(&f->module->types, phi->type)) continue;
    if (loops_is_invariant(&d->nest.loops, f, d->n, v)) continue;
    struct scev last = scev_at_end(d->scev, scev_of(d->scev, v), d->n);
    bool cheap = last.count == 0 ||
                 (last.count == 1 && last.terms[0].loop == 0 && last.terms[0].coefficient == 1);
    if (!cheap || !scev_is_invariant(d->scev, last, d->n)) continue;
    v = scev_expand(d->scev, f, last, block_terminator(f, d->loop->preheader));
    if (value_is_none(v)) continue;
    inst_set_operand(f, i, 0, v);
    *changed = true;
  }
}

/* Whether exit x is always taken before exit y. */
static bool is_taken_before(struct deleter *d, struct nvm_block x, struct nvm_block y) {
  struct trip_count a = scev_exit_count(d->scev, d->n, x), b = scev_exit_count(d->scev, d->n, y);
  if (!a.guarded || !a.exact || !b.guarded || a.divisor != b.divisor) return false;
  return x.index != y.index && dominance_dominates(&d->nest.d, x, y) &&
         scev_equal(a.taken, b.taken);
}

/* Folds the branches of exits that are never taken. */
static void remove_dead_exits(struct deleter *d, bool *changed) {
  struct nvm_function *f = d->f;
  uint32_t count;
  const struct loop_exit *exits = loops_exits(&d->nest.loops, d->n, &count);
  enum { MAX_EXITS = 4 };
  for (uint32_t k = 0; k < count && count > 1 && count <= MAX_EXITS; k++)
    for (uint32_t other = 0; other < count; other++) {
      struct nvm_inst_id t = block_terminator(f, exits[k].from);
      if (function_inst(f, t)->op != OP_CONDBR ||
          !is_taken_before(d, exits[other].from, exits[k].from))
        continue;
      bool leaves = block_successor(f, exits[k].from, 0).index == exits[k].to.index;
      inst_set_operand(f, t, 0, const_int(f->module, TYPE_I1, !leaves));
      *changed = true;
      break;
    }
}

enum nvm_status loop_deletion_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct deleter d = {.f = f};
  if (!loop_nest_of(&d.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (d.nest.loops.count == 0) return NVM_OK;
  d.scev = scev_init(f, &d.nest.loops, &d.nest.d, env->arena);
  if (!d.scev || !find_kept(&d, env->arena)) return NVM_OUT_OF_MEMORY;
  uint64_t deleted = 0;
  for (uint32_t n = 1; n <= d.nest.loops.count; n++) { /* outer loops first */
    d.n = n;
    d.loop = &d.nest.loops.data[n];
    bool needs_count;
    if (!is_deletable(&d, &needs_count)) {
      replace_exit_values(&d, changed);
      remove_dead_exits(&d, changed);
      continue;
    }
    *changed = true;
    if (!delete_loop(&d, needs_count)) continue;
    deleted++;
    n = d.loop->end - 1;
  }
  *env->statistic += deleted;
  if (module_out_of_memory(f->module) || (deleted && cfg_remove_unreachable(f, env->arena) < 0))
    return NVM_OUT_OF_MEMORY;
  return NVM_OK;
}
