/* sccp, ipsccp: sparse conditional constant propagation, within and across functions.
 *
 * Purpose:   finds values that are constant on all executable paths, and branches with one
 *            executable successor; solving both together finds more than one after the other.
 *            Calls that remain after inlining (recursion, noinline, large bodies) often always pass
 *            or return the same constant.
 *            It changes no real module of docs/passes.md at -O3, where inlining and correlated find
 *            the same, but stays: it is the textbook algorithm, and serves code with calls.
 * Algorithm: Wegman and Zadeck, "Constant Propagation with Conditional Branches", 1991. The lattice
 *            of each value:
 *
 *                     unknown          not known yet; undef and poison too
 *                  /   |   \
 *               ... -1 0 1 ...         a constant
 *                  \   |   /
 *                     varies
 *
 *            Values only move down. Two work lists: executable edges, and instructions with changed
 *            operands. Values that are unknown at the end are lowered to varies, block by block.
 *            ipsccp solves closed functions, of which all uses are known (analysis/callers.h),
 *            together with their callers: an argument is the meet of what executable calls pass, a
 *            call is the meet of what the callee returns, and a callee is entered by its first
 *            executable call. In sccp arguments and calls vary.
 * Requires:  nothing.
 * Preserves: SSA form; branches are folded, dead blocks removed.
 * Cost:      linear in operands and edges, as a value moves at most twice; but each edge visits
 *            whole phis, and each decided switch all its cases.
 * Omits:     phis of more than 1,024 edges; ranges; values in memory; byval, sret and inalloca
 *            arguments; partly constant aggregates.
 * Tests:     check/opt/sccp-*, check/opt/ipsccp*. */
#include "ir/evalintrinsic.h"
#include "analysis/callers.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

enum {
  MAX_OPERANDS = 8,        /* of instructions that are folded */
  MAX_PHI_OPERANDS = 2048, /* of phis that are evaluated; each edge visits all of them */
  ALL_EDGES = -1,          /* of body.taken */
};

/* The state of a value. VALUE_NULL: unknown; VALUE_CONST, VALUE_GLOBAL or VALUE_FUNCTION: that
 * constant; or VARIES. */
#define VARIES ((struct nvm_value){UINT32_MAX})

struct body {
  struct nvm_function *f;
  bool closed; /* all calls are known, so that arguments are the meet of what they pass */
  struct nvm_value *state; /* by slot of `uses`; NULL: not entered */
  struct nvm_value result;
  struct uses uses; /* built on demand */
  int64_t *taken;   /* by block: 0, the only taken successor, or ALL_EDGES */
  enum {
    DEAD,
    ENTERED,
    REACHED,
    SETTLED
  } *
      reached;        /* by block; ENTERED: during its first visit */
  uint32_t constants; /* number of constant states */
};

struct place {
  struct body *body;
  uint32_t index; /* of an instruction or a block */
};

struct solver {
  struct arena *arena;
  struct body *bodies;           /* by function */
  const struct callers *callers; /* NULL: a single function */
  VEC(struct place)
  edges; /* targets of taken edges, in the order found; repeated targets are visited for their phis
          */
  VEC(struct place) work; /* instructions to visit again */
  uint32_t next_edge;     /* the first edge not yet visited */
  bool unknown;           /* a visited instruction was unknown */
};

static bool is_varying(struct nvm_value v) { return v.bits == UINT32_MAX; }

/* --- Values --- */

static struct nvm_value state_of(const struct body *p, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return p->state[value_index(v)];
    case VALUE_CONST: return const_is_undef_or_poison(p->f->module, v) ? VALUE_NULL : v;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: return v;
    case VALUE_ARG: return p->closed ? p->state[uses_slot(&p->uses, v)] : VARIES;
    case VALUE_NONE:
    case VALUE_BLOCK:
    case VALUE_FORWARD: break;
  }
  return VARIES;
}

static bool is_constant(struct nvm_value v) { return !value_is_none(v) && !is_varying(v); }

static struct nvm_value meet(struct nvm_value a, struct nvm_value b) {
  if (value_is_none(a)) return b;
  if (value_is_none(b) || value_equal(a, b)) return a;
  return VARIES;
}

/* Meets the state with `to`. Whether it changed. */
static bool lower(struct nvm_value *state, struct nvm_value to) {
  struct nvm_value old = *state;
  *state = meet(old, to);
  return !value_equal(old, *state);
}

static bool have_uses(struct solver *s, struct body *p) {
  return p->uses.first ||
         (p->closed ? uses_build_with_arguments : uses_build)(&p->uses, p->f, s->arena);
}

static bool is_in_entered_block(const struct body *p, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return false;
  return p->reached[function_inst(p->f, value_inst_id(v))->block.index] == ENTERED;
}

/* Meets an instruction or argument with `to`, and queues its users if it changed, unless they have
 * not been visited yet because the block is ENTERED. */
static bool lower_value(struct solver *s, struct body *p, struct nvm_value v, struct nvm_value to) {
  uint32_t slot = uses_slot(&p->uses, v);
  p->constants -= is_constant(p->state[slot]);
  bool lowered = lower(&p->state[slot], to);
  p->constants += is_constant(p->state[slot]);
  if (!lowered || is_in_entered_block(p, v)) return true;
  if (!have_uses(s, p)) return false;
  for (uint32_t k = p->uses.first[slot]; k < p->uses.first[slot + 1]; k++)
    if (!VEC_PUSH(s->arena, &s->work, (struct place){p, p->uses.users[k].index})) return false;
  return true;
}

static bool lower_result(struct solver *s, struct body *p, struct nvm_value to) {
  if (!s->callers || !lower(&p->result, to)) return true;
  uint32_t n = (uint32_t)(p - s->bodies);
  for (uint32_t c = s->callers->open[n] ? 0 : s->callers->first[n]; c;
       c = s->callers->calls.data[c].next) {
    struct caller at = s->callers->calls.data[c];
    if (!VEC_PUSH(s->arena, &s->work, (struct place){&s->bodies[at.function], at.call.index}))
      return false;
  }
  return true;
}

/* --- Entering functions and taking edges --- */

/* Marks the function's entry as reached, once. */
static bool enter(struct solver *s, struct body *p, bool closed) {
  const struct nvm_function *f = p->f;
  if (p->state) return true;
  p->closed = closed;
  p->state = arena_alloc(s->arena, (f->insts.count + function_arg_count(f)) * sizeof *p->state);
  p->reached = arena_alloc(s->arena, f->blocks.count * sizeof *p->reached);
  p->taken = arena_alloc(s->arena, f->blocks.count * sizeof *p->taken);
  for (uint32_t k = 0, count = function_arg_count(f); closed && p->state && k < count; k++)
    if (callers_in_memory(f, k)) p->state[f->insts.count + k] = VARIES;
  p->uses.insts = f->insts.count;
  return p->state && p->reached && p->taken &&
         VEC_PUSH(s->arena, &s->edges, (struct place){p, f->entry.index});
}

static bool edge_is_taken(const struct body *p, struct nvm_block from, struct nvm_block to) {
  return p->taken[from.index] == ALL_EDGES || p->taken[from.index] == to.index;
}

/* Marks the edge from b to `to`, or all edges, as taken. */
static bool take_edges(struct solver *s, struct body *p, struct nvm_block b, int64_t to) {
  int64_t *taken = &p->taken[b.index];
  if (*taken == to || *taken == ALL_EDGES) return true;
  *taken = *taken == 0 ? to : ALL_EDGES;
  if (*taken > 0) return VEC_PUSH(s->arena, &s->edges, (struct place){p, (uint32_t)to});
  for (uint32_t k = 0, count = block_successor_count(p->f, b); k < count; k++)
    if (!VEC_PUSH(s->arena, &s->edges, (struct place){p, block_successor(p->f, b, k).index}))
      return false;
  return true;
}

/* --- Instructions --- */

static struct nvm_value visit_phi(const struct body *p, const struct nvm_inst *phi) {
  struct nvm_value v = phi->operand_count > MAX_PHI_OPERANDS ? VARIES : VALUE_NULL;
  for (uint32_t k = 0; k < phi->operand_count && !is_varying(v); k += 2) {
    struct nvm_block from = {value_index(inst_operand(p->f, phi, k + 1))};
    if (edge_is_taken(p, from, phi->block)) v = meet(v, state_of(p, inst_operand(p->f, phi, k)));
  }
  return v;
}

/* A select with a known condition is one arm, regardless of the other. */
static struct nvm_value visit_select(const struct body *p, const struct nvm_inst *i) {
  nvm_u128 condition;
  struct nvm_value c = state_of(p, inst_operand(p->f, i, 0));
  struct nvm_value a = state_of(p, inst_operand(p->f, i, 1));
  struct nvm_value b = state_of(p, inst_operand(p->f, i, 2));
  if (value_is_none(c)) return VALUE_NULL;
  if (is_varying(c) || !const_is_int(p->f->module, c, &condition)) return meet(a, b);
  return condition ? a : b;
}

static struct nvm_value visit_pure(const struct body *p, const struct nvm_inst *i) {
  struct nvm_value operands[MAX_OPERANDS];
  if (i->operand_count == 0 || i->operand_count > MAX_OPERANDS) return VARIES;
  /* Aggregates may have undefined parts. */
  bool parts = i->op == OP_INSERTELEMENT || i->op == OP_INSERTVALUE || i->op == OP_SHUFFLEVECTOR;
  bool unknown = false;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(p->f, i, k);
    operands[k] = parts && value_kind(v) == VALUE_CONST ? v : state_of(p, v);
    if (is_varying(operands[k])) return VARIES;
    unknown |= value_is_none(operands[k]);
  }
  if (unknown) return VALUE_NULL;
  struct nvm_value v = eval_inst(p->f, i, operands);
  if (value_is_none(v)) return VARIES;
  return value_kind(v) == VALUE_CONST && const_is_undef_or_poison(p->f->module, v) ? VARIES : v;
}

/* A call of a closed function: enters it and passes the arguments. *v: the result. */
static bool visit_call(struct solver *s, struct body *p, const struct nvm_inst *i,
                       struct nvm_value *v) {
  uint32_t n = s->callers ? callers_closed_callee(s->callers, p->f, i) : 0;
  if (n == 0) return true;
  struct body *callee = &s->bodies[n];
  if (!enter(s, callee, true)) return false;
  for (uint32_t k = 0, count = function_arg_count(callee->f); k < count; k++)
    if (!lower_value(s, callee, value_make(VALUE_ARG, k), state_of(p, inst_operand(p->f, i, k))))
      return false;
  if ((i->flags & CALL_TAIL_MASK) != CALL_MUSTTAIL) *v = callee->result;
  return true;
}

static bool visit_terminator(struct solver *s, struct body *p, const struct nvm_inst *i) {
  struct nvm_value c = VARIES;
  if (i->op == OP_RET && i->operand_count)
    return lower_result(s, p, state_of(p, inst_operand(p->f, i, 0)));
  if (i->op == OP_CONDBR || i->op == OP_SWITCH) c = state_of(p, inst_operand(p->f, i, 0));
  s->unknown |= value_is_none(c);
  if (value_is_none(c)) return true;
  nvm_u128 value;
  bool known = !is_varying(c) && const_is_int(p->f->module, c, &value);
  return take_edges(s, p, i->block,
                    known ? (int64_t)cfg_successor_for(p->f, i, value).index : ALL_EDGES);
}

static bool visit(struct solver *s, struct body *p, struct nvm_inst_id id) {
  if (!p->state) return true;
  const struct nvm_inst *i = function_inst(p->f, id);
  if (p->reached[i->block.index] == DEAD) return true;
  if (op_is_terminator((enum op)i->op)) return visit_terminator(s, p, i);
  struct nvm_value v = VARIES;
  if (i->op == OP_CALL && !visit_call(s, p, i, &v)) return false;
  if (type_equal(i->type, TYPE_VOID) || is_varying(p->state[id.index])) return true;
  if (i->op == OP_PHI) v = visit_phi(p, i);
  else if (i->op == OP_SELECT) v = visit_select(p, i);
  else if (i->op != OP_GEP && effects_is_pure(p->f, i)) v = visit_pure(p, i);
  s->unknown |= value_is_none(v);
  return lower_value(s, p, value_of_inst(id), v);
}

/* Visits the target of an edge: all of a new block, else its phis. */
static bool visit_block(struct solver *s, struct body *p, struct nvm_block b) {
  bool only_phis = p->reached[b.index] != DEAD;
  if (!only_phis) p->reached[b.index] = ENTERED;
  FOR_EACH_INST (p->f, b, i) {
    if (only_phis && function_inst(p->f, i)->op != OP_PHI) break;
    if (!visit(s, p, i)) return false;
  }
  if (!only_phis) p->reached[b.index] = REACHED;
  return true;
}

static bool propagate(struct solver *s) {
  while (s->next_edge < s->edges.count || s->work.count) {
    bool again = s->work.count != 0;
    struct place at = again ? s->work.data[--s->work.count] : s->edges.data[s->next_edge++];
    if (again ? !visit(s, at.body, (struct nvm_inst_id){at.index})
              : !visit_block(s, at.body, (struct nvm_block){at.index}))
      return false;
  }
  return true;
}

static bool settle_value(struct solver *s, struct body *p, struct nvm_value v) {
  return !value_is_none(state_of(p, v)) || lower_value(s, p, v, VARIES);
}

/* Lowers unknown values of a reached block to VARIES, so that all branches are decided. */
static bool settle_block(struct solver *s, struct body *p, struct nvm_block b) {
  if (p->reached[b.index] == SETTLED) return true;
  p->reached[b.index] = SETTLED;
  if (b.index == p->f->entry.index && p->closed)
    for (uint32_t k = 0, count = function_arg_count(p->f); k < count; k++)
      if (!settle_value(s, p, value_make(VALUE_ARG, k))) return false;
  FOR_EACH_INST (p->f, b, i) {
    const struct nvm_inst *inst = function_inst(p->f, i);
    bool branch = inst->op == OP_CONDBR || inst->op == OP_SWITCH;
    if (branch && value_is_none(state_of(p, inst_operand(p->f, inst, 0)))) {
      if (!take_edges(s, p, b, ALL_EDGES)) return false;
    } else if (!type_equal(inst->type, TYPE_VOID) && !settle_value(s, p, value_of_inst(i))) {
      return false;
    }
  }
  return true;
}

static bool solve(struct solver *s) {
  if (!propagate(s)) return false;
  for (uint32_t k = 0; k < s->edges.count && s->unknown; k++) {
    struct place at = s->edges.data[k];
    if (!settle_block(s, at.body, (struct nvm_block){at.index}) || !propagate(s)) return false;
  }
  return true;
}

/* --- What was found --- */

/* Replaces arguments and results of calls by constants; the calls are kept. */
static void put_in_arguments(const struct body *p, uint64_t *count) {
  FOR_EACH_BLOCK (p->f, b)
    FOR_EACH_INST (p->f, b, i)
      for (uint32_t k = 0; k < function_inst(p->f, i)->operand_count; k++) {
        struct nvm_value v = inst_operand_at(p->f, i, k);
        bool call = value_kind(v) == VALUE_INST && p->f->insts.data[value_index(v)].op == OP_CALL;
        if ((!call && value_kind(v) != VALUE_ARG) || !is_constant(state_of(p, v))) continue;
        inst_set_operand(p->f, i, k, state_of(p, v));
        ++*count;
      }
}

/* Inserts the constants and folds decided branches. */
static bool apply(const struct body *p, bool across, struct pass_env *env, bool *changed) {
  struct nvm_function *f = p->f;
  struct rewrite r;
  uint64_t count = 0;
  bool jumps = false;
  if (!rewrite_init(&r, f, env->arena)) return false;
  if (p->constants)
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i)
        if (p->reached[b.index] && is_constant(p->state[i.index]) &&
            !effects_must_stay(f, function_inst(f, i)))
          rewrite_set(&r, i, p->state[i.index]);
  if (across && p->constants) put_in_arguments(p, &count);
  count += r.count;
  *env->statistic += count;
  rewrite_apply(&r);
  FOR_EACH_BLOCK (f, b) {
    struct nvm_block to = p->reached[b.index] ? cfg_known_successor(f, b) : (struct nvm_block){0};
    if (block_is_none(to)) continue;
    cfg_make_jump(f, b, to);
    jumps = true;
  }
  *changed |= jumps || count;
  return !(jumps || count) || cfg_remove_unreachable(f, env->arena) >= 0;
}

enum nvm_status sccp_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct body body = {.f = f};
  struct solver s = {.arena = env->arena, .bodies = &body};
  bool ok = enter(&s, &body, false) && solve(&s) && apply(&body, false, env, changed);
  return ok ? NVM_OK : NVM_OUT_OF_MEMORY;
}

/* Enters open functions that call a closed one. */
static bool enter_roots(struct solver *s) {
  const struct callers *c = s->callers;
  for (uint32_t k = 1; k < c->calls.count; k++) {
    uint32_t n = c->calls.data[k].function;
    bool asks = callers_closed_callee(c, s->bodies[n].f,
                                      function_inst(s->bodies[n].f, c->calls.data[k].call)) != 0;
    if (asks && c->open[n] && !enter(s, &s->bodies[n], false)) return false;
  }
  return true;
}

enum nvm_status ipsccp_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct callers callers;
  struct solver s = {.arena = env->arena, .callers = &callers};
  uint32_t count = m->functions.count;
  s.bodies = arena_alloc(env->arena, count * sizeof *s.bodies);
  if (!s.bodies || !callers_find(&callers, m, env->arena)) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < count; n++) s.bodies[n].f = m->functions.data[n];
  if (!enter_roots(&s) || !solve(&s)) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < count; n++)
    if (s.bodies[n].state && !apply(&s.bodies[n], true, env, changed)) return NVM_OUT_OF_MEMORY;
  return NVM_OK;
}
