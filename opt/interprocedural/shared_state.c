/* shared-state: replaces loads from shared variables by the constants that they hold there.
 *
 * Purpose:   OpenMP's device runtime keeps its state (SPMD mode, nesting level, number of threads)
 *            in shared variables: one thread stores constants, all threads pass a barrier, and
 *            every construct loads and tests them. LLVM has its Attributor and OpenMPOpt for this.
 * Algorithm: conditional constant propagation (opt/scalar/sccp.c), in which the state at a point
 *            also has, for each field of a shared variable (opt/interprocedural/shared_fields.h),
 *              known    the value that this thread finds in it
 *              stored   the meet of what any thread may have stored since the last barrier
 *            with these effects:
 *
 *                                   known                      stored
 *              start of a kernel    undef                      nothing
 *              store v              v                          meet(stored, v)
 *              assume load == v     v                          -
 *              barrier              meet(known, stored)        nothing
 *              fence, atomic, …     what the module stores     -
 *              call                 the same                   meet(stored, what it may store)
 *
 *            A barrier has this effect only if it is marked as one that all threads of the block
 *            execute together ("ompx_aligned_barrier"): then what reaches it is what all threads
 *            did. Threads that have left the kernel take part: what reaches a return is met with
 *            `stored` at each barrier. In other functions both parts are at first what the module
 *            stores.
 * Soundness: between two barriers, a store that is not ordered with a load of the same field is a
 *            data race, after which the load is undef; so is a load before the first store.
 * Requires:  an attribute with "ompx_aligned_barrier" in the module; else it does nothing.
 * Preserves: the control flow; ipsccp folds the branches.
 * Cost:      linear in operands, times MAX_SWEEPS; a function that takes more is left as it is.
 * Omits:     values that vary; fields of which a part is stored; what is known at calls.
 * Tests:     check/opt/shared-state*.nvir. */
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "analysis/uses.h"
#include "ir/dominance.h"
#include "ir/evalintrinsic.h"
#include "opt/cfg/cfg.h"
#include "opt/interprocedural/shared_fields.h"
#include "opt/memory/constant_load.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum {
  MAX_OPERANDS = 8,    /* of instructions that are folded */
  MAX_SWEEPS = 24,     /* over the blocks of a function */
  MAX_DEPTH = 64,      /* of addresses made of addresses */
  MAX_STATES = 1 << 22 /* blocks of a function times fields */
};

struct field_state {
  struct nvm_value known, stored;
};

struct solver {
  struct nvm_function *f;
  struct arena *arena;
  const struct shared_fields *fields;
  const struct shared_effect *effects; /* by instruction */
  struct nvm_value *value;             /* by instruction: VALUE_NULL, a constant or FIELD_VARIES */
  struct uses uses;
  struct field_state *in;                   /* by block and field: at its start */
  bool *reached, *queued;                   /* by block */
  int64_t *taken;                           /* by block: 0: none; a successor; ALL_EDGES */
  struct nvm_value left[MAX_SHARED_FIELDS]; /* what threads that left may have stored */
  /* At the current instruction: */
  struct field_state now[MAX_SHARED_FIELDS];
  struct nvm_inst_id loaded[MAX_SHARED_FIELDS]; /* a load of the block that has the value of now */
};
enum { ALL_EDGES = -1 };

/* --- values ----------------------------------------------------------------------------------- */

static struct nvm_value value_of(const struct solver *s, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return s->value[value_index(v)];
    case VALUE_CONST: return const_is_undef_or_poison(s->f->module, v) ? FIELD_VARIES : v;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: return v;
    case VALUE_ARG:
    case VALUE_NONE:
    case VALUE_BLOCK:
    case VALUE_FORWARD: break;
  }
  return FIELD_VARIES;
}

static struct nvm_value visit_phi(const struct solver *s, const struct nvm_inst *phi) {
  struct nvm_value v = VALUE_NULL;
  for (uint32_t k = 0; k < phi->operand_count && !field_varies(v); k += 2) {
    int64_t taken = s->taken[value_index(inst_operand(s->f, phi, k + 1))];
    if (taken != ALL_EDGES && taken != phi->block.index) continue;
    v = field_meet(v, value_of(s, inst_operand(s->f, phi, k)));
  }
  return v;
}

static struct nvm_value visit_select(const struct solver *s, const struct nvm_inst *i) {
  nvm_u128 condition;
  struct nvm_value c = value_of(s, inst_operand(s->f, i, 0));
  struct nvm_value a = value_of(s, inst_operand(s->f, i, 1));
  struct nvm_value b = value_of(s, inst_operand(s->f, i, 2));
  if (!field_is_constant(c) || !const_is_int(s->f->module, c, &condition)) return field_meet(a, b);
  return condition ? a : b;
}

static struct nvm_value visit_pure(const struct solver *s, const struct nvm_inst *i) {
  struct nvm_value operands[MAX_OPERANDS];
  if (i->operand_count == 0 || i->operand_count > MAX_OPERANDS) return FIELD_VARIES;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = value_of(s, inst_operand(s->f, i, k));
    if (!field_is_constant(operands[k])) return FIELD_VARIES;
  }
  struct nvm_value v = eval_inst(s->f, i, operands);
  bool folded = !value_is_none(v) && value_kind(v) != VALUE_INST &&
                !const_is_undef_or_poison(s->f->module, v);
  return folded ? v : FIELD_VARIES;
}

/* The address of a load, with a base of known value, such as a loaded pointer, replaced by it. */
static struct alias_address known_address(const struct solver *s, struct nvm_value pointer) {
  struct alias_address a = alias_decompose(s->f, pointer);
  struct nvm_value base = value_kind(a.base) == VALUE_INST ? value_of(s, a.base) : VALUE_NULL;
  if (!field_is_constant(base)) return a;
  struct alias_address b = alias_decompose(s->f, base);
  a.base = b.term_count ? VALUE_NULL : b.base;
  a.offset = (int64_t)((uint64_t)a.offset + (uint64_t)b.offset);
  return a;
}

/* The field that a load reads; s->fields->count: none. */
static uint32_t field_read(const struct solver *s, const struct nvm_inst *i, struct nvm_inst_id id,
                           const struct alias_address *a) {
  if (s->effects[id.index].action == SHARED_READS) return s->effects[id.index].field;
  return shared_fields_at(s->fields, a,
                          layout_store_size(&s->f->module->layout, &s->f->module->types, i->type));
}

static struct nvm_value visit_load(struct solver *s, const struct nvm_inst *i,
                                   struct nvm_inst_id id) {
  if (!effects_is_plain_access(i)) return FIELD_VARIES;
  struct alias_address a = known_address(s, inst_operand(s->f, i, 0));
  uint32_t k = field_read(s, i, id, &a);
  struct nvm_value v = VALUE_NULL;
  if (k < s->fields->count) {
    v = s->now[k].known;
    if (value_is_none(v)) v = s->fields->fields[k].stored; /* undef: any value */
    s->loaded[k] = id;
  } else if (value_kind(a.base) == VALUE_GLOBAL) {
    v = constant_load(s->f, &a, i->type);
  }
  if (!field_is_constant(v) || value_kind(v) == VALUE_INST) return FIELD_VARIES;
  bool defined = value_kind(v) != VALUE_CONST || !const_is_undef_or_poison(s->f->module, v);
  return defined && type_equal(value_type(s->f, v), i->type) ? v : FIELD_VARIES;
}

/* --- effects ---------------------------------------------------------------------------------- */

static void store(struct solver *s, uint32_t k, struct nvm_value v, bool certain) {
  if (value_is_none(v)) v = FIELD_VARIES;
  s->now[k].known = certain ? v : field_meet(s->now[k].known, v);
  s->now[k].stored = field_meet(s->now[k].stored, v);
  s->loaded[k] = (struct nvm_inst_id){0};
}

/* What this thread finds after it may have seen stores of other threads. */
static void forget(struct solver *s, uint32_t k) {
  s->now[k].known = s->fields->fields[k].stored;
  s->loaded[k] = (struct nvm_inst_id){0};
}

static void call(struct solver *s, struct shared_effect e) {
  for (uint32_t k = 0; k < s->fields->count; k++) {
    bool stores = e.fields >> k & 1;
    if (stores) s->now[k].stored = field_meet(s->now[k].stored, s->fields->fields[k].stored);
    if (stores || e.syncs) forget(s, k);
  }
}

static void barrier(struct solver *s) {
  for (uint32_t k = 0; k < s->fields->count; k++) {
    struct field_state *x = &s->now[k];
    x->known = field_meet(field_meet(x->known, x->stored), s->left[k]);
    x->stored = VALUE_NULL;
    s->loaded[k] = (struct nvm_inst_id){0};
  }
}

/* The load of a field that i, a call of llvm.assume, states to be the constant *v; {0}: none. */
static struct nvm_inst_id assumed_load(const struct solver *s, const struct nvm_inst *i,
                                       struct nvm_value *v) {
  const struct nvm_inst *c = value_inst(s->f, inst_operand(s->f, i, 0));
  if (!c || c->op != OP_ICMP || c->aux != ICMP_EQ) return (struct nvm_inst_id){0};
  struct nvm_value load = inst_operand(s->f, c, 0);
  *v = inst_operand(s->f, c, 1);
  bool found = value_kind(load) == VALUE_INST && value_kind(*v) != VALUE_INST &&
               field_is_constant(value_of(s, *v)) &&
               s->effects[value_index(load)].action == SHARED_READS;
  return found ? value_inst_id(load) : (struct nvm_inst_id){0};
}

/* assume(load == constant) of a field that nothing has changed since the load. */
static void assume(struct solver *s, const struct nvm_inst *i) {
  struct nvm_value v;
  struct nvm_inst_id load = assumed_load(s, i, &v);
  if (inst_is_none(load)) return;
  uint32_t k = s->effects[load.index].field;
  if (s->loaded[k].index == load.index) s->now[k].known = v;
}

static void act(struct solver *s, struct nvm_inst_id id) {
  struct shared_effect e = s->effects[id.index];
  const struct nvm_inst *i = function_inst(s->f, id);
  bool all = e.action == SHARED_SYNCS;
  switch ((enum shared_action)e.action) {
    case SHARED_NONE:
    case SHARED_READS: break;
    case SHARED_STORES:
    case SHARED_MAY_STORE:
      store(s, e.field, value_of(s, inst_operand(s->f, i, 0)), e.action == SHARED_STORES);
      break;
    case SHARED_CLOBBERS:
    case SHARED_SYNCS:
      for (uint32_t k = 0; k < s->fields->count; k++)
        if (e.fields >> k & 1) store(s, k, FIELD_VARIES, true);
        else if (all) forget(s, k);
      break;
    case SHARED_CALLS: call(s, e); break;
    case SHARED_BARRIER: barrier(s); break;
    case SHARED_ASSUMES: assume(s, i); break;
  }
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Whether i makes an address of another, through which visit_load finds the base. */
static bool makes_address(const struct nvm_inst *i) {
  return i->op == OP_GEP || i->op == OP_ADDRSPACECAST || i->op == OP_BITCAST;
}

static void queue_all(struct solver *s) {
  FOR_EACH_BLOCK (s->f, b) s->queued[b.index] = s->reached[b.index];
}

/* Queues the users of a value that changed, and those of addresses made of it, but for later ones
 * in its block, which follow. */
static void queue_users(struct solver *s, struct nvm_inst_id id, unsigned depth) {
  struct nvm_block b = function_inst(s->f, id)->block;
  if (depth == MAX_DEPTH) queue_all(s);
  for (uint32_t k = s->uses.first[id.index]; k < s->uses.first[id.index + 1]; k++) {
    const struct nvm_inst *user = function_inst(s->f, s->uses.users[k]);
    if (user->block.index != b.index || user->op == OP_PHI) s->queued[user->block.index] = true;
    if (makes_address(user) && depth < MAX_DEPTH) queue_users(s, s->uses.users[k], depth + 1);
  }
}

static void visit(struct solver *s, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  struct nvm_value v = FIELD_VARIES, old = s->value[id.index];
  act(s, id);
  if (type_equal(i->type, TYPE_VOID)) return;
  if (i->op == OP_LOAD) v = visit_load(s, i, id);
  else if (field_varies(old)) return;
  else if (i->op == OP_PHI) v = visit_phi(s, i);
  else if (i->op == OP_SELECT) v = visit_select(s, i);
  else if (i->op != OP_GEP && effects_is_pure(s->f, i)) v = visit_pure(s, i);
  s->value[id.index] = field_meet(old, v);
  if (!value_equal(old, s->value[id.index])) queue_users(s, id, 0);
}

static struct field_state *states_of(const struct solver *s, struct nvm_block b) {
  return s->in + (size_t)b.index * s->fields->count;
}

/* Meets the state at the start of `to` with the current one. */
static void flow_to(struct solver *s, struct nvm_block to, bool new_edge) {
  struct field_state *in = states_of(s, to);
  bool changed = new_edge || !s->reached[to.index];
  for (uint32_t k = 0; k < s->fields->count; k++) {
    struct field_state old = in[k];
    in[k].known = field_meet(old.known, s->now[k].known);
    in[k].stored = field_meet(old.stored, s->now[k].stored);
    changed |= !value_equal(old.known, in[k].known) || !value_equal(old.stored, in[k].stored);
  }
  s->queued[to.index] |= changed;
  s->reached[to.index] = true;
}

/* The only successor that b's terminator takes, or ALL_EDGES. */
static int64_t successor_taken(const struct solver *s, const struct nvm_inst *t) {
  nvm_u128 value;
  if (t->op != OP_CONDBR && t->op != OP_SWITCH) return ALL_EDGES;
  struct nvm_value c = value_of(s, inst_operand(s->f, t, 0));
  if (!field_is_constant(c) || !const_is_int(s->f->module, c, &value)) return ALL_EDGES;
  return (int64_t)cfg_successor_for(s->f, t, value).index;
}

static void flow_out(struct solver *s, struct nvm_block b) {
  uint32_t count = block_successor_count(s->f, b);
  int64_t old = s->taken[b.index],
          now = successor_taken(s, function_inst(s->f, block_terminator(s->f, b)));
  if (old != 0 && old != now) now = ALL_EDGES;
  s->taken[b.index] = now;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(s->f, b, k);
    if (now == ALL_EDGES || now == to.index) flow_to(s, to, old != now);
  }
}

/* Notes what a thread that may leave here has stored; every barrier is then visited again. */
static void leave(struct solver *s) {
  bool changed = false;
  for (uint32_t k = 0; k < s->fields->count; k++) {
    struct nvm_value old = s->left[k];
    s->left[k] = field_meet(old, s->now[k].stored);
    changed |= !value_equal(old, s->left[k]);
  }
  if (changed) queue_all(s);
}

static void visit_block(struct solver *s, struct nvm_block b) {
  const struct field_state *in = states_of(s, b);
  s->queued[b.index] = false;
  for (uint32_t k = 0; k < s->fields->count; k++) {
    s->now[k] = in[k];
    s->loaded[k] = (struct nvm_inst_id){0};
  }
  FOR_EACH_INST (s->f, b, i) {
    visit(s, i);
    if (effects_may_not_return(s->f, function_inst(s->f, i))) leave(s);
  }
  if (block_successor_count(s->f, b) == 0) leave(s);
  flow_out(s, b);
}

/* Visits queued blocks in reverse postorder until none is left. False: it takes too many sweeps. */
static bool propagate(struct solver *s, const struct dominance *d) {
  uint32_t count = d->size[s->f->entry.index];
  bool any = true;
  for (int sweep = 0; any; sweep++) {
    if (sweep == MAX_SWEEPS) return false;
    any = false;
    for (uint32_t k = count; k-- > 0;) {
      struct nvm_block b = d->postorder[k];
      if (!s->queued[b.index] || !s->reached[b.index]) continue;
      any = true;
      visit_block(s, b);
    }
  }
  return true;
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool allocate(struct solver *s) {
  const struct nvm_function *f = s->f;
  s->value = arena_alloc(s->arena, f->insts.count * sizeof *s->value);
  s->in = arena_alloc(s->arena, (size_t)f->blocks.count * s->fields->count * sizeof *s->in);
  s->reached = arena_alloc(s->arena, f->blocks.count * sizeof *s->reached);
  s->queued = arena_alloc(s->arena, f->blocks.count * sizeof *s->queued);
  s->taken = arena_alloc(s->arena, f->blocks.count * sizeof *s->taken);
  return s->value && s->in && s->reached && s->queued && s->taken &&
         uses_build(&s->uses, f, s->arena);
}

static void begin(struct solver *s) {
  struct field_state *in = states_of(s, s->f->entry);
  for (uint32_t k = 0; k < s->fields->count && !function_is_kernel(s->f); k++) {
    s->left[k] = s->fields->fields[k].stored;
    in[k] = (struct field_state){s->left[k], s->left[k]};
  }
  s->reached[s->f->entry.index] = s->queued[s->f->entry.index] = true;
}

/* Removes assumptions about fields, which would keep the loads. */
static uint32_t remove_assumptions(const struct solver *s) {
  uint32_t removed = 0;
  struct nvm_value v;
  FOR_EACH_BLOCK (s->f, b)
    for (struct nvm_inst_id i = function_block(s->f, b)->first, next; !inst_is_none(i); i = next) {
      const struct nvm_inst *inst = function_inst(s->f, i);
      next = inst->next;
      if (s->effects[i.index].action != SHARED_ASSUMES || inst_is_none(assumed_load(s, inst, &v)))
        continue;
      inst_remove(s->f, i);
      removed++;
    }
  return removed;
}

/* Replaces the loads with known values. */
static bool apply(const struct solver *s, struct pass_env *env, bool *changed) {
  struct rewrite r;
  if (!rewrite_init(&r, s->f, s->arena)) return false;
  if (env->parameters & 1 << PARAMETER_LAST) *changed |= remove_assumptions(s) != 0;
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i)
      if (s->reached[b.index] && function_inst(s->f, i)->op == OP_LOAD &&
          field_is_constant(s->value[i.index]))
        rewrite_set(&r, i, s->value[i.index]);
  *env->statistic += r.count;
  *changed |= r.count != 0;
  rewrite_apply(&r);
  return true;
}

static enum nvm_status run_on(struct shared_fields *fields, struct nvm_function *f,
                              struct pass_env *env, bool *changed) {
  struct solver s = {.f = f, .arena = env->arena, .fields = fields};
  struct dominance d;
  bool reads = false;
  if ((uint64_t)f->blocks.count * fields->count > MAX_STATES) return NVM_OK;
  s.effects = shared_fields_effects(fields, f);
  if (!s.effects) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < f->insts.count; n++) reads |= s.effects[n].action == SHARED_READS;
  if (!reads) return NVM_OK;
  if (!allocate(&s) || !dominance_compute(&d, f, s.arena)) return NVM_OUT_OF_MEMORY;
  begin(&s);
  return !propagate(&s, &d) || apply(&s, env, changed) ? NVM_OK : NVM_OUT_OF_MEMORY;
}

enum nvm_status shared_state_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct shared_fields fields;
  enum nvm_status status = NVM_OK;
  if (!shared_fields_wanted(m)) return NVM_OK;
  if (!shared_fields_find(&fields, m, env->arena)) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->functions.count && fields.count && status == NVM_OK; n++)
    if (!function_is_declaration(m->functions.data[n]))
      status = run_on(&fields, m->functions.data[n], env, changed);
  return status;
}
