/* loop-load-elim: keeps values that the next iteration loads in registers.
 *
 * Purpose:   scans and recurrences (a[i] += a[i - 1]) load what they have just stored; stencils
 *            (a[i - 1] + a[i] + a[i + 1]) load every element several times.
 * Algorithm: in an innermost loop, for each load of the header, find the store or load of the same
 *            type whose address is that of the load in the next iteration. If nothing else writes
 *            there in between, the load becomes a phi; its first value is loaded before the loop.
 *              x = a[i - 1]; a[i] = y   →   x = phi(a[first - 1], y); a[i] = y
 *            Addresses are compared by their scalar evolution; where that ends at an extended index
 *            that may wrap, the indices are compared.
 *            A loaded value is copied in each iteration that is not unrolled, so it is kept only in
 *            loops that may be. An address may be invariant, if licm cannot promote it since other
 *            loads may read it.
 * Requires:  loop-simplify.
 * Preserves: the control flow.
 * Cost:      per loop the product of its loads and accesses, at most MAX_ACCESSES of these.
 * Omits:     distances of several iterations; loads under conditions; loops with barriers, atomics
 *            or calls that write, unless they cannot reach the memory.
 * Tests:     check/opt/loop-load-elim.nvir, exec/loop_carried.nvir. */
#include "analysis/alias.h"
#include "analysis/scev.h"
#include "ir/build.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_ACCESSES = 64, MAX_TERMS = 8, MAX_DEPTH = 8 };

struct eliminator {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct scev_env *scev;
  struct alias_env *alias;
  struct rewrite rewrite;
  const struct loop *loop;
  uint32_t n; /* of the loop */
  /* Instructions of the loop that access memory, in its order. */
  struct nvm_inst_id accesses[MAX_ACCESSES];
  uint32_t count;
};

static bool is_invariant(const struct eliminator *e, struct nvm_value v) {
  return loops_is_invariant(&e->nest.loops, e->f, e->n, v);
}

/* --- addresses of the next iteration ---------------------------------------------------------- */

static bool is_moved(struct eliminator *e, struct nvm_value x, struct nvm_value y, int depth);

static bool have_equal_factors(const struct scev_term *a, const struct scev_term *b) {
  return value_equal(a->symbol, b->symbol) && value_equal(a->factor, b->factor) &&
         a->is_signed == b->is_signed && a->factor_signed == b->factor_signed;
}

/* Subtracts the step of `t`, a term of the loop, from the sum of a constant and terms. */
static bool subtract_step(const struct scev_term *t, int64_t *constant, struct scev_term *terms,
                          uint32_t *count) {
  if (value_is_none(t->symbol)) {
    *constant = (int64_t)((uint64_t)*constant - (uint64_t)t->coefficient);
    return true;
  }
  uint32_t k = 0;
  while (k < *count && (terms[k].loop || !have_equal_factors(&terms[k], t))) k++;
  if (k == MAX_TERMS) return false;
  if (k == *count) {
    terms[(*count)++] = *t;
    terms[k].loop = 0;
    terms[k].coefficient = 0;
  }
  terms[k].coefficient = (int64_t)((uint64_t)terms[k].coefficient - (uint64_t)t->coefficient);
  return true;
}

static bool is_lone_symbol(const struct scev_term *t) {
  return !t->loop && !value_is_none(t->symbol) && value_is_none(t->factor);
}

/* Whether the form has the symbol of `t` once, subtracted by `t`. */
static bool has_opposite(struct scev a, const struct scev_term *t) {
  uint32_t count = 0;
  bool is_opposite = false;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *own = &a.terms[k];
    if (!value_equal(own->symbol, t->symbol) && !value_equal(own->factor, t->symbol)) continue;
    count++;
    is_opposite = is_lone_symbol(own) && own->is_signed == t->is_signed &&
                  (uint64_t)own->coefficient + (uint64_t)t->coefficient == 0;
  }
  return count == 1 && is_opposite;
}

/* Whether the terms are those of two extended numbers, of which the first, in form `a` and here
 * subtracted, becomes the second in the next iteration. */
static bool is_moved_pair(struct eliminator *e, struct scev a, const struct scev_term *first,
                          const struct scev_term *second, int depth) {
  return is_lone_symbol(first) && is_lone_symbol(second) && first->is_signed == second->is_signed &&
         has_opposite(a, first) &&
         (uint64_t)first->coefficient + (uint64_t)second->coefficient == 0 &&
         is_moved(e, first->symbol, second->symbol, depth - 1);
}

/* Whether all symbols of the form but `except` are invariant: the others have another value in the
 * next iteration. */
static bool is_invariant_form(const struct eliminator *e, struct scev a, struct nvm_value except) {
  if (!value_is_none(a.base) && !is_invariant(e, a.base)) return false;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *t = &a.terms[k];
    if (!value_is_none(t->symbol) && !is_invariant(e, t->symbol) &&
        (value_is_none(except) || !value_equal(t->symbol, except)))
      return false;
    if (!value_is_none(t->factor) && !is_invariant(e, t->factor)) return false;
  }
  return true;
}

/* Whether x has in the next iteration the value that y has in this one. */
static bool is_moved(struct eliminator *e, struct nvm_value x, struct nvm_value y, int depth) {
  struct scev a = scev_of(e->scev, x), d = scev_subtract(e->scev, scev_of(e->scev, y), a);
  struct scev_term terms[MAX_TERMS];
  uint32_t count = d.count, kept = 0;
  int64_t constant = d.constant;
  if (depth == 0 || a.width == 0 || d.width == 0 || count > MAX_TERMS) return false;
  if (count) memcpy(terms, d.terms, count * sizeof *terms);
  for (uint32_t k = 0; k < a.count; k++)
    if (a.terms[k].loop == e->n && !subtract_step(&a.terms[k], &constant, terms, &count))
      return false;
  for (uint32_t k = 0; k < count; k++)
    if (terms[k].coefficient) terms[kept++] = terms[k];
  uint64_t mask = a.width >= 64 ? UINT64_MAX : (UINT64_C(1) << a.width) - 1;
  if ((uint64_t)constant & mask) return false;
  if (kept == 0) return is_invariant_form(e, a, VALUE_NULL);
  if (kept != 2) return false;
  for (uint32_t k = 0; k < 2; k++)
    if (is_invariant_form(e, a, terms[k].symbol) &&
        is_moved_pair(e, a, &terms[k], &terms[1 - k], depth))
      return true;
  return false;
}

/* --- writes in between ----------------------------------------------------------------------- */

static uint64_t bytes_of(const struct eliminator *e, struct nvm_inst_id i) {
  struct memory_location l;
  return alias_location_of(e->f, i, &l) ? l.bytes : ALIAS_ANY_BYTES;
}

static bool is_access(const struct eliminator *e, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(e->f, i);
  return (inst->op == OP_LOAD || inst->op == OP_STORE) && effects_is_plain_access(inst);
}

static struct nvm_value pointer_of(const struct eliminator *e, struct nvm_inst_id i) {
  return inst_operand(e->f, function_inst(e->f, i), function_inst(e->f, i)->op == OP_STORE);
}

/* Whether accesses of so many bytes, the second at this distance, are apart. */
static bool are_apart(int64_t distance, uint64_t first, uint64_t second) {
  return distance >= 0 ? (uint64_t)distance >= first : 0 - (uint64_t)distance >= second;
}

/* Whether the store writes other bytes than `source` accesses in the same iteration and in the one
 * before: it does so at constant distances. */
static bool stores_apart(struct eliminator *e, struct nvm_inst_id store,
                         struct nvm_inst_id source) {
  struct scev to = scev_of(e->scev, pointer_of(e, store)),
              d = scev_subtract(e->scev, to, scev_of(e->scev, pointer_of(e, source)));
  uint64_t bytes = bytes_of(e, source), written = bytes_of(e, store);
  int64_t step;
  if (!scev_is_constant(d) || !scev_step(e->scev, to, e->n, &step) ||
      !is_invariant_form(e, to, VALUE_NULL) || bytes == ALIAS_ANY_BYTES ||
      written == ALIAS_ANY_BYTES)
    return false;
  return are_apart(d.constant, bytes, written) &&
         are_apart((int64_t)((uint64_t)d.constant + (uint64_t)step), bytes, written);
}

/* Whether `source`, a store, does not write to the place that the load reads in the same iteration:
 * it comes after the load, or is a constant step away. */
static bool is_ordered(struct eliminator *e, uint32_t load, uint32_t source) {
  int64_t step;
  uint64_t bytes = bytes_of(e, e->accesses[load]);
  if (load < source) return true;
  struct scev at = scev_of(e->scev, pointer_of(e, e->accesses[load]));
  return scev_step(e->scev, at, e->n, &step) && is_invariant_form(e, at, VALUE_NULL) &&
         are_apart(step, bytes, bytes);
}

/* Whether no other instruction may write to the memory that `source` accesses before the load reads
 * it in the next iteration. Only objects are compared: the pointers are of different iterations. */
static bool is_kept(struct eliminator *e, struct nvm_inst_id load, struct nvm_inst_id source) {
  struct memory_location all = {.pointer = pointer_of(e, load), .bytes = ALIAS_ANY_BYTES};
  for (uint32_t k = 0; k < e->count; k++) {
    struct nvm_inst_id i = e->accesses[k];
    if (i.index == source.index || !(effects_on_memory(e->f, i) & EFFECT_WRITES)) continue;
    if (!(alias_mod_ref(e->alias, i, all) & EFFECT_WRITES)) continue;
    if (!is_access(e, i) || !stores_apart(e, i, source)) return false;
  }
  return true;
}

/* The access whose value the load reads in the next iteration; {0}: none. */
static struct nvm_inst_id find_source(struct eliminator *e, uint32_t number) {
  struct nvm_inst_id load = e->accesses[number];
  /* Loads of an invariant address are equal, or licm's. */
  bool only_stores =
      loops_forbid_unrolling(e->f, e->loop->hints) || is_invariant(e, pointer_of(e, load));
  struct nvm_type type = function_inst(e->f, load)->type;
  for (uint32_t k = 0; k < e->count; k++) {
    struct nvm_inst_id i = e->accesses[k];
    const struct nvm_inst *inst = function_inst(e->f, i);
    if (k == number || !is_access(e, i) || (inst->op == OP_LOAD && only_stores) ||
        !type_equal(effects_accessed_type(e->f, inst), type) ||
        !dominance_dominates(&e->nest.d, inst->block, e->loop->latch) ||
        !is_moved(e, pointer_of(e, load), pointer_of(e, i), MAX_DEPTH))
      continue;
    if (inst->op == OP_STORE && !is_ordered(e, number, k)) continue;
    if (is_kept(e, load, i)) return i;
  }
  return (struct nvm_inst_id){0};
}

/* --- the first value -------------------------------------------------------------------------- */

/* Whether v can be computed before the loop as it is in the first iteration. */
static bool has_start(const struct eliminator *e, struct nvm_value v, int depth) {
  if (is_invariant(e, v)) return true;
  const struct nvm_inst *i = value_inst(e->f, v);
  if (i->op == OP_PHI) return i->block.index == e->loop->header.index;
  if (depth == 0 || !effects_is_speculatable(e->f, i) || i->op == OP_CALL || i->op == OP_FREEZE ||
      i->operand_count > 4)
    return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!has_start(e, inst_operand(e->f, i, k), depth - 1)) return false;
  return true;
}

/* Computes v at the builder as it is in the first iteration, of which has_start() is true. */
static struct nvm_value make_start(const struct eliminator *e, const struct builder *b,
                                   struct nvm_value v) {
  struct nvm_value operands[4];
  if (is_invariant(e, v)) return v;
  struct nvm_inst i = *value_inst(e->f, v);
  if (i.op == OP_PHI) return phi_incoming(e->f, value_inst_id(v), e->loop->preheader);
  for (uint32_t k = 0; k < i.operand_count; k++)
    operands[k] = make_start(e, b, inst_operand(e->f, &i, k));
  return builder_add(b, (enum op)i.op, i.flags, i.type, operands, i.operand_count, i.aux);
}

static bool eliminate(struct eliminator *e, struct nvm_inst_id load, struct nvm_inst_id source) {
  struct nvm_function *f = e->f;
  struct builder before =
      builder_located(builder_before(f, block_terminator(f, e->loop->preheader)), load);
  struct builder at_header = builder_at_start(f, e->loop->header);
  struct nvm_value pointer = make_start(e, &before, pointer_of(e, load));
  struct nvm_value first =
      builder_load(&before, function_inst(f, load)->type, pointer, function_inst(f, load)->aux);
  if (value_is_none(first)) return false;
  effects_copy_access_metadata(f, value_inst_id(first), load, false);
  const struct nvm_inst *s = function_inst(f, source);
  /* Metadata about the loaded value (!range) need not hold for that of the next iteration. */
  if (s->op == OP_LOAD) effects_copy_access_metadata(f, source, source, true);
  struct nvm_value entries[4] = {first, value_of_block(e->loop->preheader),
                                 s->op == OP_STORE ? inst_operand(f, s, 0) : value_of_inst(source),
                                 value_of_block(e->loop->latch)};
  struct nvm_value phi = builder_phi(&at_header, function_inst(f, load)->type, entries, 4);
  rewrite_set(&e->rewrite, load, phi);
  ++*e->env->statistic;
  return !value_is_none(phi);
}

/* --- loops ------------------------------------------------------------------------------------ */

/* Lists the accesses; false if there are too many. */
static bool collect(struct eliminator *e) {
  e->count = 0;
  for (uint32_t k = 0; k < e->loop->block_count; k++) {
    struct nvm_block b = e->nest.loops.blocks[e->loop->first_block + k];
    FOR_EACH_INST (e->f, b, i) {
      if (!effects_on_memory(e->f, i) || effects_is_debug(e->f, function_inst(e->f, i))) continue;
      if (e->count == MAX_ACCESSES) return false;
      e->accesses[e->count++] = i;
    }
  }
  return true;
}

/* Whether the header executes the load whenever the loop is entered. */
static bool is_certain(const struct eliminator *e, struct nvm_inst_id load) {
  for (struct nvm_inst_id i = function_block(e->f, e->loop->header)->first; i.index != load.index;
       i = function_inst(e->f, i)->next)
    if (effects_may_not_return(e->f, function_inst(e->f, i))) return false;
  return true;
}

static bool visit_loop(struct eliminator *e) {
  if (block_is_none(e->loop->preheader) || block_is_none(e->loop->latch) || !collect(e))
    return true;
  for (uint32_t k = 0; k < e->count; k++) {
    struct nvm_inst_id load = e->accesses[k];
    const struct nvm_inst *i = function_inst(e->f, load);
    if (i->op != OP_LOAD || !is_access(e, load) || i->block.index != e->loop->header.index ||
        !has_start(e, pointer_of(e, load), MAX_DEPTH) || !is_certain(e, load))
      continue;
    struct nvm_inst_id source = find_source(e, k);
    if (!inst_is_none(source) && !eliminate(e, load, source)) return false;
  }
  return true;
}

enum nvm_status loop_load_elim_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct eliminator e = {.f = f, .env = env};
  if (!loop_nest_of(&e.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (e.nest.loops.count == 0) return NVM_OK;
  e.scev = scev_init(f, &e.nest.loops, &e.nest.d, env->arena);
  e.alias = alias_init(f, env->arena);
  if (!e.scev || !e.alias || !rewrite_init(&e.rewrite, f, env->arena)) return NVM_OUT_OF_MEMORY;
  scev_split_products(e.scev);
  for (e.n = 1; e.n <= e.nest.loops.count; e.n++) {
    e.loop = &e.nest.loops.data[e.n];
    if (e.loop->end == e.n + 1 && !visit_loop(&e)) return NVM_OUT_OF_MEMORY;
  }
  *changed = e.rewrite.count != 0;
  rewrite_apply(&e.rewrite);
  return NVM_OK;
}
