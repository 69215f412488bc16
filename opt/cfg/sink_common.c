/* sink-common: instructions that end several predecessors of a block are executed once after them.
 *
 *     a: %x = load %p          a: br join
 *        br join               b: br join
 *     b: %y = load %q     →    join: %r = phi [%p, a], [%q, b]
 *        br join                     %v = load %r
 *     join: %v = phi [%x, a], [%y, b]
 *
 * Purpose:   less code, and where the branch to the predecessors diverges, fewer executions.
 * Algorithm: as LLVM's SinkCommonCodeFromPredecessors and foldPHIArgOp, but from the roots down:
 *            the values of a phi, and the last stores of the predecessors, become one instruction
 *            if they differ in operands only; phis of these operands are tried next. A phi costs a
 *            copy for each operand that does not die on its edge; an instruction in the join saves
 *            all but one of those that it replaces. Expressions are compared up to MAX_DEPTH to
 *            find a positive sum. If the join has other edges, the predecessors get one of their
 *            own.
 * Requires:  nothing. Late in the pipeline: phis of addresses hide what is accessed.
 * Preserves: SSA form.
 * Cost:      linear in operands, times MAX_ROUNDS for joins of new joins and the entries of phis;
 *            chains in one join until eight phis for each instruction have been compared.
 * Omits:     convergent operations, calls with effects, volatile and atomic accesses; predecessors
 *            in a loop whose header is the join; phis of addresses with a known base (variables,
 *            the frame, parameters in memory), of vectors and of aggregates; accesses of different
 *            alignment; loads before writes, stores before accesses that stay.
 * Tests:     check/opt/sink-common*.nvir. */
#include "analysis/effects.h"
#include "analysis/pressure.h"
#include "opt/cfg/cfg.h"
#include "opt/cfg/simplifycfg.h"
#include "opt/passes.h"

enum {
  MAX_PREDECESSORS = 4, /* that share an instruction */
  MAX_JUMPS = 16,       /* predecessors that only jump to the join */
  MAX_ROUNDS = 8,
  MAX_DEPTH = 6,    /* of expressions */
  MAX_OPERANDS = 8, /* of an instruction */
  MAX_SCAN = 64,    /* instructions between a load or store and the end of its block */
  MAX_PHIS = 32,    /* that are compared with a new one */
  MAX_BASE_STEPS = 16,
  IMPOSSIBLE = -1000 /* a saving, in 32-bit instructions */
};

struct sinker {
  struct nvm_function *f;
  struct pass_env *env;
  struct dominance dominance; /* as before the current round */
  struct loops loops;
  bool *escapes; /* by instruction: used outside its block and the edges out of it */
  bool *stays;   /* by instruction: neither moved nor removed */
  uint32_t size; /* of both; later instructions are phis or were phis */
  struct nvm_block join, from[MAX_PREDECESSORS];
  uint32_t count;      /* of `from` */
  uint64_t steps_left; /* phis to compare */
};

/* A value or instruction for each block of `from`. */
struct group {
  struct nvm_value v[MAX_PREDECESSORS];
};

static bool all_equal(const struct sinker *s, const struct group *g) {
  for (uint32_t k = 1; k < s->count; k++)
    if (!value_equal(g->v[k], g->v[0])) return false;
  return true;
}

static struct group group_of_phi(const struct sinker *s, struct nvm_inst_id phi) {
  struct group g = {{VALUE_NULL}};
  for (uint32_t k = 0; k < s->count; k++) g.v[k] = phi_incoming(s->f, phi, s->from[k]);
  return g;
}

static struct group group_of_operands(const struct sinker *s, const struct group *g, uint32_t n) {
  struct group operands = {{VALUE_NULL}};
  for (uint32_t k = 0; k < s->count; k++)
    operands.v[k] = inst_operand_at(s->f, value_inst_id(g->v[k]), n);
  return operands;
}

/* The phi of the join with these values; VALUE_NULL: none. */
static struct nvm_value find_phi(const struct sinker *s, const struct group *g) {
  uint32_t tried = 0;
  FOR_EACH_PHI (s->f, s->join, i) {
    struct group other = group_of_phi(s, i);
    uint32_t same = 0;
    while (same < s->count && value_equal(g->v[same], other.v[same])) same++;
    if (same == s->count) return value_of_inst(i);
    if (++tried == MAX_PHIS) break;
  }
  return VALUE_NULL;
}

/* --- What is possible --- */

static bool is_access(const struct nvm_inst *i) { return i->op == OP_LOAD || i->op == OP_STORE; }

/* Whether i may move to the end of its block, as far as memory is concerned. */
static bool reaches_end(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!is_access(i)) return effects_is_pure(f, i) || i->op == OP_FREEZE;
  uint32_t steps = 0, conflicts = i->op == OP_LOAD ? EFFECT_WRITES : EFFECT_BOTH;
  if (!effects_is_plain_access(i)) return false;
  for (struct nvm_inst_id n = i->next; !inst_is_none(n); n = function_inst(f, n)->next) {
    const struct nvm_inst *after = function_inst(f, n);
    if (effects_is_debug(f, after) || op_is_terminator((enum op)after->op)) continue;
    bool orders = after->op == OP_CALL && !effects_call_is_pure(f, after);
    if (steps++ == MAX_SCAN || orders || effects_on_memory(f, n) & conflicts) return false;
  }
  return true;
}

/* Whether the instructions of the group, each with that number of uses, differ in values of
 * operands only and may move to the ends of their blocks. */
static bool are_alike(const struct sinker *s, const struct group *g, uint32_t uses) {
  const struct nvm_function *f = s->f;
  const struct nvm_inst *a = value_inst(f, g->v[0]);
  for (uint32_t k = 0; k < s->count; k++) {
    const struct nvm_inst *b = value_inst(f, g->v[k]);
    if (!b || b->block.index != s->from[k].index || value_index(g->v[k]) >= s->size ||
        f->uses.data[value_index(g->v[k])] != uses || b->op != a->op || b->aux != a->aux ||
        b->operand_count != a->operand_count || b->operand_count > MAX_OPERANDS ||
        !type_equal(b->type, a->type) || (b->op == OP_CALL && b->flags != a->flags) ||
        b->op == OP_ADDRSPACECAST || !reaches_end(f, b))
      return false;
    for (uint32_t n = 0; n < a->operand_count; n++)
      if (!type_equal(value_type(f, inst_operand(f, a, n)), value_type(f, inst_operand(f, b, n))))
        return false;
  }
  return true;
}

/* Whether v is an address in a variable, the frame or a parameter in memory: lowering needs to know
 * which. */
static bool has_known_base(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(f, v);
  for (uint32_t n = 0; i && n < MAX_BASE_STEPS; i = value_inst(f, v), n++) {
    if (i->op != OP_GEP && i->op != OP_ADDRSPACECAST && i->op != OP_BITCAST)
      return i->op == OP_ALLOCA;
    v = inst_operand(f, i, 0);
  }
  return value_kind(v) != VALUE_ARG ||
         function_parameter_attribute(f, value_index(v), ATTR_BYVAL) != NULL;
}

/* Whether a phi of the group can be operand n of instruction i. Constants are kept in place: they
 * may have to be constants, and are immediate operands otherwise. */
static bool can_be_phi(const struct sinker *s, const struct group *g, const struct nvm_inst *i,
                       uint32_t n) {
  const struct type_table *t = &s->f->module->types;
  struct nvm_type type = value_type(s->f, g->v[0]);
  bool is_pointer = type_is_ptr(t, type), stored = i->op == OP_STORE && n == 0;
  if (type_is_int(t, type) ? type_scalar_bits(t, type) > 64
                           : !type_is_float(t, type) && !is_pointer)
    return false;
  for (uint32_t k = 0; k < s->count; k++) {
    bool is_local = value_kind(g->v[k]) == VALUE_INST || value_kind(g->v[k]) == VALUE_ARG;
    if (!is_local && !stored) return false;
    if (is_pointer && has_known_base(s->f, g->v[k])) return false;
  }
  return true;
}

/* --- What pays --- */

/* Whether lowering folds i into its only user. */
static bool is_folded(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((int)i->op) {
    case OP_FMUL:
    case OP_MUL:
    case OP_SHL:
    case OP_SEXT:
    case OP_ZEXT:
    case OP_FPEXT: return true;
    default: return pressure_is_offset(f, i);
  }
}

/* Instructions that a phi adds to block `from` for its operand v. If v is stored, lowering folds
 * none of the ops of is_folded() into the store. */
static int copies_of(const struct sinker *s, struct nvm_value v, struct nvm_block from,
                     bool is_stored) {
  const struct nvm_function *f = s->f;
  const struct nvm_inst *i = value_inst(f, v);
  if (const_is_undef_or_poison(f->module, v)) return 0;
  bool is_wide = pressure_registers(f, value_type(f, v)) > 1, is_only = false, dies = false;
  if (i && value_index(v) < s->size) {
    is_only = f->uses.data[value_index(v)] == 1;
    dies = i->block.index == from.index
               ? !s->escapes[value_index(v)]
               : is_only && effects_is_pure(f, i) &&
                     loops_contains(&s->loops, s->loops.innermost[from.index], i->block);
  }
  return dies ? is_only && !is_stored && is_folded(f, i) : 1 + is_wide;
}

static int copies_of_phi(const struct sinker *s, const struct group *g, bool is_stored) {
  int copies = 0, predicate = type_equal(value_type(s->f, g->v[0]), TYPE_I1) ? 2 : 0;
  for (uint32_t k = 0; k < s->count; k++)
    copies += predicate + copies_of(s, g->v[k], s->from[k], is_stored);
  return copies;
}

static int work_of(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((int)i->op) {
    case OP_BITCAST:
    case OP_FREEZE:
    case OP_PTRTOINT:
    case OP_INTTOPTR: return 0;
    case OP_CALL:
    case OP_FDIV:
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM: return 8;
    default: return !pressure_is_offset(f, i);
  }
}

/* The saving if the group, instructions with that number of uses, is executed in the join. */
static int saving(const struct sinker *s, const struct group *g, uint32_t uses, uint32_t depth) {
  if (depth == MAX_DEPTH || !are_alike(s, g, uses)) return IMPOSSIBLE;
  const struct nvm_inst *i = value_inst(s->f, g->v[0]);
  int sum = (int)(s->count - 1) * work_of(s->f, i);
  for (uint32_t n = 0; n < i->operand_count; n++) {
    struct group operands = group_of_operands(s, g, n);
    if (all_equal(s, &operands)) continue;
    if (!value_is_none(find_phi(s, &operands))) continue;
    int deeper = saving(s, &operands, 1, depth + 1), shallow = IMPOSSIBLE;
    if (can_be_phi(s, &operands, i, n))
      shallow = -copies_of_phi(s, &operands, i->op == OP_STORE && n == 0);
    if (deeper == IMPOSSIBLE && shallow == IMPOSSIBLE) return IMPOSSIBLE;
    sum += deeper > shallow ? deeper : shallow;
  }
  return sum;
}

/* Whether to execute the values of a phi once; *g gets them. */
static bool pays_for_phi(const struct sinker *s, struct nvm_inst_id phi, struct group *g) {
  *g = group_of_phi(s, phi);
  if (all_equal(s, g)) return false;
  int sum = saving(s, g, 1, 0);
  return sum != IMPOSSIBLE && sum + copies_of_phi(s, g, false) > 0;
}

/* The same for the last store of each predecessor. */
static bool pays_for_stores(const struct sinker *s, struct group *g) {
  const struct nvm_function *f = s->f;
  for (uint32_t k = 0; k < s->count; k++) {
    struct nvm_inst_id i = function_block(f, s->from[k])->last;
    for (uint32_t n = 0; !inst_is_none(i) && !is_access(function_inst(f, i)) && n < MAX_SCAN; n++)
      i = function_inst(f, i)->previous;
    if (function_inst(f, i)->op != OP_STORE) return false;
    g->v[k] = value_of_inst(i);
  }
  return saving(s, g, 0, 0) > 0;
}

static bool pays(const struct sinker *s) {
  struct group g;
  FOR_EACH_PHI (s->f, s->join, i)
    if (pays_for_phi(s, i, &g)) return true;
  return pays_for_stores(s, &g);
}

/* --- The change --- */

static struct nvm_value make_phi(const struct sinker *s, const struct group *g) {
  struct nvm_value entries[2 * MAX_PREDECESSORS];
  for (uint32_t k = 0; k < s->count; k++) {
    entries[2 * k] = g->v[k];
    entries[2 * k + 1] = value_of_block(s->from[k]);
  }
  struct builder at = {.f = s->f, .block = s->join, .before = function_block(s->f, s->join)->first};
  return builder_phi(&at, value_type(s->f, g->v[0]), entries, 2 * s->count);
}

/* `first` gets the flags and metadata that both have. */
static void join_facts(struct nvm_function *f, struct nvm_inst_id first, struct nvm_inst_id other) {
  bool differs = is_access(function_inst(f, first)) &&
                 f->attachments.data[first.index] != f->attachments.data[other.index];
  if (differs) effects_join_access_metadata(f, first, other, true);
  uint32_t joined = f->attachments.data[first.index];
  simplifycfg_join_facts(f, first, other); /* drops attachments that differ */
  if (differs) f->attachments.data[first.index] = joined;
}

/* `into`, the phi of the group or the first of its stores, becomes its instruction. False when out
 * of memory. */
static bool sink(struct sinker *s, const struct group *g, struct nvm_inst_id into) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id first = value_inst_id(g->v[0]);
  uint32_t count = function_inst(f, first)->operand_count;
  struct nvm_value operands[MAX_OPERANDS];
  for (uint32_t n = 0; n < count; n++) {
    struct group values = group_of_operands(s, g, n);
    operands[n] = all_equal(s, &values) ? values.v[0] : find_phi(s, &values);
    if (value_is_none(operands[n])) operands[n] = make_phi(s, &values);
    if (value_is_none(operands[n])) return false;
  }
  for (uint32_t k = 1; k < s->count; k++) join_facts(f, first, value_inst_id(g->v[k]));
  struct nvm_inst *i = function_inst(f, into);
  const struct nvm_inst *a = function_inst(f, first);
  i->op = a->op, i->flags = a->flags, i->aux = a->aux;
  f->locations.data[into.index] = f->locations.data[first.index];
  f->attachments.data[into.index] = f->attachments.data[first.index];
  f->positions.data[into.index] = f->positions.data[first.index];
  for (uint32_t n = 0; n < count; n++)
    if (n < i->operand_count) inst_set_operand(f, into, n, operands[n]);
    else if (!inst_add_operand(f, into, operands[n])) return false;
  inst_remove_operands(f, into, count, i->operand_count - count);
  inst_unlink(f, into);
  inst_insert_before(f, into, block_first_after_phis(f, s->join));
  for (uint32_t k = 0; k < s->count; k++) {
    struct nvm_inst_id old = value_inst_id(g->v[k]);
    s->stays[old.index] = false;
    if (old.index != into.index) inst_remove(f, old);
  }
  ++*s->env->statistic;
  return true;
}

/* Gives s->from a join of their own, which jumps to the old one. False when out of memory. */
static bool split(struct sinker *s) {
  struct nvm_function *f = s->f;
  struct nvm_block old = s->join, made = function_add_block(f, (struct nvm_str){0});
  struct builder at = builder_at_end(f, made);
  if (block_is_none(made)) return false;
  function_move_block(f, made, old);
  (void)builder_branch(&at, old);
  s->join = made;
  FOR_EACH_PHI (f, old, i) {
    struct group g = group_of_phi(s, i);
    struct nvm_value v = all_equal(s, &g) ? g.v[0] : make_phi(s, &g);
    if (value_is_none(v) || !phi_add(f, i, v, made)) return false;
  }
  for (uint32_t k = 0; k < s->count; k++) {
    cfg_remove_phi_edges(f, old, s->from[k], 0);
    cfg_redirect(f, s->from[k], old, made);
  }
  return !module_out_of_memory(f->module);
}

/* Sinks from s->from, which are all predecessors of s->join or, with `others`, some of them. False
 * when out of memory. */
static bool sink_all(struct sinker *s, bool others, bool *changed) {
  struct nvm_function *f = s->f;
  struct group g;
  if (!pays(s)) return true;
  if (others && !split(s)) return false;
  *changed = true;
  for (bool again = true; again;) {
    again = false;
    for (struct nvm_inst_id i = function_block(f, s->join)->first, next;
         function_inst(f, i)->op == OP_PHI && s->steps_left > 0; i = next, s->steps_left--) {
      next = function_inst(f, i)->next;
      if (!pays_for_phi(s, i, &g)) continue;
      if (!sink(s, &g, i)) return false;
      again = true;
    }
    for (; pays_for_stores(s, &g); again = true)
      if (!sink(s, &g, value_inst_id(g.v[0]))) return false;
  }
  return true;
}

/* The predecessors of b, not in its loop, that only jump to it. Returns their number; 0 if there
 * are too many. */
static uint32_t find_jumps(const struct sinker *s, struct nvm_block b, struct nvm_block *found) {
  uint32_t count = 0;
  FOR_EACH_PREDECESSOR (&s->dominance, b, e) {
    struct nvm_block from = s->dominance.predecessors[e];
    struct nvm_inst_id t = block_terminator(s->f, from);
    if (function_inst(s->f, t)->op != OP_BR || s->f->attachments.data[t.index] ||
        dominance_dominates(&s->dominance, b, from))
      continue;
    if (count == MAX_JUMPS) return 0;
    found[count++] = from;
  }
  return count;
}

/* Tries all predecessors that jump to b, then those with one immediate dominator. */
static bool sink_into(struct sinker *s, struct nvm_block b, bool *changed) {
  const struct nvm_block *above = s->dominance.immediate;
  struct nvm_block jumps[MAX_JUMPS];
  uint32_t count = find_jumps(s, b, jumps), blocks = s->f->blocks.count;
  bool others = count < dominance_predecessor_count(&s->dominance, b);
  if (count < 2 || !dominance_reachable(&s->dominance, b)) return true;
  s->join = b;
  s->count = count;
  if (count <= MAX_PREDECESSORS) {
    for (uint32_t k = 0; k < count; k++) s->from[k] = jumps[k];
    if (!sink_all(s, others, changed)) return false;
    if (s->f->blocks.count > blocks) return true;
  }
  for (uint32_t k = 0; k < count; k++) {
    bool skip = false; /* tried before, or too many */
    s->join = b;
    s->count = 0;
    for (uint32_t n = 0; n < count; n++) {
      if (above[jumps[n].index].index != above[jumps[k].index].index) continue;
      skip |= n < k || s->count == MAX_PREDECESSORS;
      if (!skip) s->from[s->count++] = jumps[n];
    }
    if (!skip && s->count > 1 && s->count < count && !sink_all(s, true, changed)) return false;
  }
  return true;
}

/* --- The pass --- */

static void find_escaping(struct sinker *s) {
  const struct nvm_function *f = s->f;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *user = function_inst(f, i);
      for (uint32_t k = 0; k < user->operand_count; k++) {
        const struct nvm_inst *used = value_inst(f, inst_operand(f, user, k));
        struct nvm_block at = user->op == OP_PHI ? value_block(inst_operand(f, user, k | 1)) : b;
        if (used && used->block.index != at.index)
          s->escapes[value_index(inst_operand(f, user, k))] = true;
      }
    }
}

enum nvm_status sink_common_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct sinker s = {
      .f = f, .env = env, .size = f->insts.count, .steps_left = 8 * (uint64_t)f->insts.count};
  if (f->entry.index == f->last_block.index) return NVM_OK;
  s.escapes = arena_alloc(env->arena, s.size * sizeof *s.escapes);
  s.stays = arena_alloc(env->arena, s.size * sizeof *s.stays);
  if (!s.escapes || !s.stays) return NVM_OUT_OF_MEMORY;
  find_escaping(&s);
  memset(s.stays, true, s.size * sizeof *s.stays);
  bool again = true;
  for (uint32_t round = 0; round < MAX_ROUNDS && again; round++) {
    uint32_t blocks = f->blocks.count;
    if (round) flow_invalidate(env->flow);
    if (!flow_loops(env->flow, f, &s.dominance, &s.loops)) return NVM_OUT_OF_MEMORY;
    FOR_EACH_BLOCK (f, b)
      if (b.index < blocks && !sink_into(&s, b, changed)) return NVM_OUT_OF_MEMORY;
    again = f->blocks.count > blocks;
  }
  if (*changed) rewrite_drop_dead_metadata(f, s.stays);
  return NVM_OK;
}
