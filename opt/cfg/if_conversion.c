/* If-conversion, a part of simplifycfg: branches become selects.
 *
 *   sink          both arms end with a store to one address      → one store after the join
 *   load          a load after the join of &variable or p        → a load in each arm, so that the
 *                                                                  variable can be a register
 *   select        arms of few cheap instructions with a join     → both executed, with selects
 *   short-circuit a second condition after the first, and one
 *                 target for both where they fail                → one branch on both
 *
 * If the threads of a warp diverge at a branch, the arms are executed one after the other, between
 * the set-up of a barrier and its wait: executing both costs less, up to MAX_SPECULATED
 * instructions, even if only one arm would have been taken. The limit of a uniform branch
 * (analysis/divergence.h) is MAX_UNIFORM.
 *
 * Speculated instructions have no location; selects have the branch's. */
#include "opt/cfg/simplifycfg.h"

#include "analysis/alias.h"
#include "analysis/effects.h"
#include "ir/intrinsic.h"
#include "opt/cfg/cfg.h"

enum {
  MAX_SPECULATED = 8,    /* cost of both arms, selects included */
  MAX_UNIFORM = 6,       /* the same after a uniform branch */
  MAX_PHI_OPERANDS = 64, /* of phis that become selects */
  MAX_DEPTH = 4 /* of the search for a divergent source of a condition, before the analysis runs */
};

/* The last instruction of b before its terminator, except debug records; {0} if there is none. */
static struct nvm_inst_id last_of(const struct nvm_function *f, struct nvm_block b) {
  struct nvm_inst_id i = function_inst(f, block_terminator(f, b))->previous;
  while (!inst_is_none(i) && effects_is_debug(f, function_inst(f, i)))
    i = function_inst(f, i)->previous;
  return i;
}

/* The arms of the branch in b, which meet in `join`. Each is entered from b alone; an empty one is
 * b itself. */
struct diamond {
  struct nvm_block b, arms[2], join;
};

static bool is_arm(const struct simplifier *s, struct nvm_block side) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, side);
  return s->predecessors[side.index] == 1 && function_inst(f, t)->op == OP_BR &&
         f->attachments.data[t.index] == 0;
}

static bool find_diamond(const struct simplifier *s, struct nvm_block b, struct diamond *m) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || simplifycfg_has_hints(f, t)) return false;
  struct nvm_block yes = block_successor(f, b, 0), no = block_successor(f, b, 1);
  struct nvm_block after_yes = {0}, after_no = {0};
  if (yes.index == no.index) return false;
  if (is_arm(s, yes)) after_yes = block_successor(f, yes, 0);
  if (is_arm(s, no)) after_no = block_successor(f, no, 0);
  *m = (struct diamond){b, {yes, no}, after_yes};
  if (after_yes.index == no.index) m->arms[1] = b;
  else if (after_no.index == yes.index) m->arms[0] = b, m->join = yes;
  else if (after_yes.index != after_no.index) return false;
  return !block_is_none(m->join) && m->join.index != b.index;
}

/* Moves stores to one address at the end of both arms to the join. */
static bool sink_stores(struct simplifier *s, const struct diamond *m) {
  struct nvm_function *f = s->f;
  if (m->arms[0].index == m->b.index || m->arms[1].index == m->b.index ||
      s->predecessors[m->join.index] != 2)
    return true;
  for (;;) {
    struct nvm_inst_id i = last_of(f, m->arms[0]), k = last_of(f, m->arms[1]);
    if (inst_is_none(i) || inst_is_none(k)) return true;
    const struct nvm_inst *a = function_inst(f, i), *c = function_inst(f, k);
    if (a->op != OP_STORE || c->op != OP_STORE || a->aux != c->aux || !simplifycfg_is_movable(f, a))
      return true;
    struct nvm_value v[] = {inst_operand(f, a, 0), value_of_block(m->arms[0]),
                            inst_operand(f, c, 0), value_of_block(m->arms[1])};
    if (!value_equal(inst_operand(f, a, 1), inst_operand(f, c, 1)) ||
        !type_equal(value_type(f, v[0]), value_type(f, v[2])))
      return true;
    if (!value_equal(v[0], v[2])) {
      struct builder at = builder_at_start(f, m->join);
      struct nvm_value phi = builder_phi(&at, value_type(f, v[0]), v, 4);
      if (value_is_none(phi)) return false;
      inst_set_operand(f, i, 0, phi);
    }
    simplifycfg_join_facts(f, i, k);
    inst_unlink(f, i);
    inst_insert_before(f, i, block_first_after_phis(f, m->join));
    inst_remove(f, k);
    s->changed = true;
  }
}

/* Whether the load, of that address, is within a variable of the frame. */
static bool loads_variable(const struct nvm_function *f, const struct nvm_inst *load,
                           struct nvm_value address) {
  struct nvm_layout *layout = &f->module->layout;
  const struct type_table *t = &f->module->types;
  const struct nvm_inst *i = value_inst_of(f, address, OP_ALLOCA);
  return i && layout_store_size(layout, t, load->type) <= alloca_bytes(f, i) &&
         layout_written_align(layout, t, load->type, memory_access_unpack(load->aux).align_log2) <=
             alloca_align(f, i);
}

/* The phi of the block that a plain load of it alone reads; {0}: there is none. */
static struct nvm_inst_id phi_of_load(const struct nvm_function *f, const struct nvm_inst *load) {
  if (load->op != OP_LOAD || !effects_is_plain_access(load)) return (struct nvm_inst_id){0};
  struct nvm_value address = inst_operand(f, load, 0);
  const struct nvm_inst *phi = value_inst_of(f, address, OP_PHI);
  bool alone =
      phi && phi->block.index == load->block.index && f->uses.data[value_index(address)] == 1;
  return alone ? value_inst_id(address) : (struct nvm_inst_id){0};
}

/* Whether one arm gives the phi the address of a variable. That of an arm that is the branch itself
 * is loaded whichever way the branch goes, and must be one. */
static bool may_load_in_arms(const struct nvm_function *f, const struct diamond *m,
                             const struct nvm_inst *phi, const struct nvm_inst *load) {
  bool any = false;
  for (int w = 0; w < 2; w++) {
    struct nvm_value v = inst_operand(f, phi, simplifycfg_phi_entry(f, phi, m->arms[w]));
    bool variable = loads_variable(f, load, v);
    if (!variable && m->arms[w].index == m->b.index) return false;
    any |= variable;
  }
  return any;
}

/* Loads at the end of each arm what the phi of addresses has there; the load becomes a phi. */
static bool load_in_arms(struct nvm_function *f, const struct diamond *m, struct nvm_inst_id phi,
                         struct nvm_inst_id load) {
  struct nvm_value entries[4];
  for (uint32_t w = 0; w < 2; w++) {
    uint32_t k = simplifycfg_phi_entry(f, function_inst(f, phi), m->arms[w]);
    struct builder at = builder_located(builder_before(f, block_terminator(f, m->arms[w])), load);
    entries[2 * w] = builder_load(&at, function_inst(f, load)->type, inst_operand_at(f, phi, k),
                                  function_inst(f, load)->aux);
    entries[2 * w + 1] = value_of_block(m->arms[w]);
    if (value_is_none(entries[2 * w])) return false;
    effects_copy_access_metadata(f, value_inst_id(entries[2 * w]), load, true);
  }
  struct nvm_inst *i = function_inst(f, load);
  i->op = OP_PHI;
  i->flags = 0;
  i->aux = 0;
  f->attachments.data[load.index] = 0;
  inst_set_operand(f, load, 0, entries[0]);
  for (int k = 1; k < 4; k++)
    if (!inst_add_operand(f, load, entries[k])) return false;
  inst_unlink(f, load);
  inst_insert_before(f, load, phi);
  inst_remove(f, phi);
  return true;
}

/* Converts the loads that are executed whenever the join is, with memory as it was at the end of
 * the arms. */
static bool load_all_in_arms(struct simplifier *s, const struct diamond *m, bool *removed) {
  struct nvm_function *f = s->f;
  if (s->predecessors[m->join.index] != 2) return true;
  for (struct nvm_inst_id i = function_block(f, m->join)->first, next; !inst_is_none(i); i = next) {
    const struct nvm_inst *inst = function_inst(f, i);
    next = inst->next;
    if (inst->op == OP_PHI || effects_is_debug(f, inst)) continue;
    struct nvm_inst_id phi = phi_of_load(f, inst);
    if (!inst_is_none(phi) && may_load_in_arms(f, m, function_inst(f, phi), inst)) {
      if (!load_in_arms(f, m, phi, i)) return false;
      s->changed = *removed = true;
    } else if (!effects_is_pure(f, inst) &&
               !(inst->op == OP_LOAD && effects_is_plain_access(inst))) {
      break;
    }
  }
  return true;
}

/* What metadata refers to instead of a removed instruction. */
static struct nvm_value unless_removed(void *function, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(function, v);
  return i && block_is_none(i->block) ? VALUE_NULL : v;
}

/* In 32-bit instructions, roughly; above MAX_SPECULATED: must not be speculated. */
static uint32_t inst_cost(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct type_table *t = &f->module->types;
  if (alias_loads_parameter(f, i)) {
    uint64_t bytes = layout_store_size(&f->module->layout, t, i->type);
    return bytes < 4 * MAX_SPECULATED ? (uint32_t)(bytes + 3) / 4 : MAX_SPECULATED + 1;
  }
  if (!effects_is_speculatable(f, i)) return MAX_SPECULATED + 1;
  struct nvm_type scalar = type_scalar(t, i->type);
  bool wide = type_kind(t, scalar) == TY_DOUBLE;
  switch ((enum op)i->op) {
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM:
    case OP_FDIV:
    case OP_FREM: return MAX_SPECULATED + 1;
    case OP_CALL: {
      const struct attr_table_data *a = &f->module->attributes;
      const struct attrlist_info *list = attrlist_info(a, call_site_of(f, i)->attributes);
      bool has_attributes = list->result.index || list->count; /* noundef etc. can be violated */
      uint32_t id = call_intrinsic(f, i);
      bool is_extremum = id == INTRINSIC_minimumnum || id == INTRINSIC_maximumnum;
      if (id == INTRINSIC_NONE || has_attributes) return MAX_SPECULATED + 1;
      return is_extremum && type_equal(i->type, TYPE_FLOAT) ? 1 : 4;
    }
    case OP_BITCAST:
    case OP_FREEZE:
    case OP_TRUNC: return 0;
    default: break;
  }
  if (type_kind(t, i->type) == TY_VECTOR || type_is_aggregate(t, i->type)) return 4;
  return wide ? 4 : 1;
}

static uint32_t arm_cost(const struct nvm_function *f, struct nvm_block arm) {
  uint32_t cost = 0;
  FOR_EACH_INST (f, arm, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (!op_is_terminator((enum op)inst->op) && !effects_is_debug(f, inst))
      cost += inst_cost(f, inst);
    if (cost > MAX_SPECULATED) break;
  }
  return cost;
}

static uint32_t select_cost(const struct nvm_function *f, const struct diamond *m) {
  const struct type_table *t = &f->module->types;
  uint32_t cost = 0;
  FOR_EACH_INST (f, m->join, i) {
    const struct nvm_inst *phi = function_inst(f, i);
    if (phi->op != OP_PHI) return cost;
    bool simple = type_is_int(t, phi->type)
                      ? type_scalar_bits(t, phi->type) <= 64
                      : type_is_float(t, phi->type) || type_is_ptr(t, phi->type);
    if (!simple || phi->operand_count > MAX_PHI_OPERANDS) return MAX_SPECULATED + 1;
    cost += !value_equal(inst_operand(f, phi, simplifycfg_phi_entry(f, phi, m->arms[0])),
                         inst_operand(f, phi, simplifycfg_phi_entry(f, phi, m->arms[1])));
  }
  return cost;
}

/* Moves the instructions of an arm before t. */
static void speculate(struct nvm_function *f, struct nvm_block arm, struct nvm_inst_id t) {
  struct nvm_inst_id last = block_terminator(f, arm);
  for (struct nvm_inst_id i = function_block(f, arm)->first, next; i.index != last.index;
       i = next) {
    next = function_inst(f, i)->next;
    if (effects_is_debug(f, function_inst(f, i))) {
      inst_remove(f, i);
      continue;
    }
    f->locations.data[i.index].index = 0;
    f->attachments.data[i.index] = 0;
    inst_unlink(f, i);
    inst_insert_before(f, i, t);
  }
}

/* Executes both arms at the end of b, and selects the values of the phis of `join` there. */
static bool form_selects(struct simplifier *s, const struct diamond *m) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, m->b);
  for (int w = 0; w < 2; w++)
    if (m->arms[w].index != m->b.index) speculate(f, m->arms[w], t);
  struct nvm_value condition = inst_operand_at(f, t, 0);
  struct builder at = builder_replacing(f, t);
  FOR_EACH_PHI (f, m->join, i) {
    uint32_t k = simplifycfg_phi_entry(f, function_inst(f, i), m->arms[0]);
    uint32_t n = simplifycfg_phi_entry(f, function_inst(f, i), m->arms[1]);
    struct nvm_value v = inst_operand_at(f, i, k), other = inst_operand_at(f, i, n);
    if (!value_equal(v, other)) v = builder_select(&at, condition, v, other);
    if (value_is_none(v)) return false;
    inst_set_operand(f, i, k, v);
    inst_set_operand(f, i, k + 1, value_of_block(m->b));
    inst_remove_operands(f, i, n, 2);
  }
  struct nvm_value to = value_of_block(m->join);
  s->predecessors[m->join.index]--;
  for (int w = 0; w < 2; w++) {
    if (m->arms[w].index == m->b.index) continue;
    function_remove_block(f, m->arms[w]);
    ++*s->env->statistic;
  }
  s->changed = true;
  return cfg_replace_terminator(f, t, OP_BR, &to, 1);
}

/* Computes s->dominance and s->loops if necessary; false when out of memory. */
static bool find_loops(struct simplifier *s) {
  struct arena *a = s->env->arena;
  if (s->dominance) return true;
  struct dominance *found = arena_alloc(a, sizeof *found);
  if (s->stale || s->changed) flow_invalidate(s->env->flow);
  s->stale = false;
  if (!found || !flow_loops(s->env->flow, s->f, found, &s->loops)) return false;
  s->dominance = found;
  return true;
}

/* Computes s->divergence if necessary; false when out of memory. */
static bool find_divergence(struct simplifier *s) {
  struct arena *a = s->env->arena;
  if (s->divergence) return true;
  s->dominance = NULL;
  struct divergence *found = arena_alloc(a, sizeof *found);
  if (!found || !find_loops(s) || !divergence_compute(found, s->f, s->dominance, &s->loops, a))
    return false;
  s->divergence = found;
  return true;
}

/* Whether the condition of the branch in b is uniform without doubt. */
static bool is_uniform(struct simplifier *s, struct nvm_block b, struct nvm_value condition) {
  return divergence_is_absent(s->f, NULL, b, condition, MAX_DEPTH) ||
         (find_loops(s) && divergence_is_absent(s->f, &s->loops, b, condition, MAX_DEPTH));
}

/* The cost limit for arms of the branch in b. */
static uint32_t cost_limit(struct simplifier *s, struct nvm_block b, uint32_t cost) {
  if (cost <= MAX_UNIFORM || cost > MAX_SPECULATED) return MAX_SPECULATED;
  struct nvm_value condition =
      inst_operand(s->f, function_inst(s->f, block_terminator(s->f, b)), 0);
  if (!s->divergence && divergence_is_evident(s->f, condition, MAX_DEPTH)) return MAX_SPECULATED;
  if (!s->divergence && is_uniform(s, b, condition)) return MAX_UNIFORM;
  if (!find_divergence(s)) return 0;
  return divergence_of(s->divergence, condition) ? MAX_SPECULATED : MAX_UNIFORM;
}

static bool form_all_selects(struct simplifier *s) {
  bool removed = false;
  for (struct nvm_block b = s->f->entry, next; !block_is_none(b); b = next) {
    struct diamond m;
    next = function_block(s->f, b)->next;
    if (!find_diamond(s, b, &m)) continue;
    if (!sink_stores(s, &m) || !load_all_in_arms(s, &m, &removed)) return false;
    uint32_t cost = select_cost(s->f, &m);
    for (int w = 0; w < 2 && cost <= MAX_SPECULATED; w++)
      if (m.arms[w].index != b.index) cost += arm_cost(s->f, m.arms[w]);
    if (cost > cost_limit(s, b, cost)) continue;
    if (!form_selects(s, &m)) return false;
    next = function_block(s->f, b)->next; /* an arm may have been there */
  }
  if (removed) rewrite_all_metadata(s->f, unless_removed, s->f);
  return true;
}

/* b branches to `second` or `other`, and `second`, which has no other predecessor, to `other` or
 * elsewhere. */
struct short_circuit {
  struct nvm_block b, second, other;
  bool first_passes, second_passes; /* values of the conditions that do not branch to `other` */
};

static bool find_short_circuit(const struct simplifier *s, struct nvm_block b,
                               struct short_circuit *c) {
  const struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, b);
  if (function_inst(f, t)->op != OP_CONDBR || simplifycfg_has_hints(f, t)) return false;
  for (uint32_t k = 0; k < 2; k++) {
    *c = (struct short_circuit){.b = b,
                                .second = block_successor(f, b, k),
                                .other = block_successor(f, b, 1 - k),
                                .first_passes = k == 0};
    t = block_terminator(f, c->second);
    bool entered = s->predecessors[c->second.index] == 1 && c->second.index != c->other.index;
    if (!entered || function_inst(f, t)->op != OP_CONDBR || simplifycfg_has_hints(f, t)) continue;
    c->second_passes = block_successor(f, c->second, 1).index == c->other.index;
    if (c->second_passes == (block_successor(f, c->second, 0).index == c->other.index)) continue;
    if (function_inst(f, function_block(f, c->second)->first)->op != OP_PHI) return true;
  }
  return false;
}

/* Whether the phis of `other` have the same values on both edges. */
static bool has_equal_entries(const struct simplifier *s, const struct short_circuit *c) {
  const struct nvm_function *f = s->f;
  FOR_EACH_PHI (f, c->other, i) {
    const struct nvm_inst *phi = function_inst(f, i);
    struct nvm_value first = inst_operand(f, phi, simplifycfg_phi_entry(f, phi, c->b));
    if (!value_equal(first, inst_operand(f, phi, simplifycfg_phi_entry(f, phi, c->second))))
      return false;
  }
  return true;
}

/* Loop exits are not merged: the exit condition on the counter determines the trip count. */
static bool is_loop_exit(struct simplifier *s, const struct short_circuit *c) {
  if (!find_loops(s)) return true;
  uint32_t n = s->loops.innermost[c->b.index];
  return n && !loops_contains(&s->loops, n, c->other);
}

/* The condition of `branch`, negated unless `positive`. */
static struct nvm_value condition_of(const struct builder *at, struct nvm_inst_id branch,
                                     bool positive) {
  struct nvm_value condition = inst_operand_at(at->f, branch, 0);
  return positive ? condition
                  : builder_binary(at, OP_XOR, condition, const_int(at->f->module, TYPE_I1, 1));
}

static bool merge_two_conditions(struct simplifier *s, const struct short_circuit *c) {
  struct nvm_function *f = s->f;
  struct nvm_inst_id t = block_terminator(f, c->b), branch = block_terminator(f, c->second);
  struct nvm_block on = block_successor(f, c->second, c->second_passes ? 0 : 1);
  speculate(f, c->second, t);
  struct builder at = builder_replacing(f, t);
  struct nvm_value first = condition_of(&at, t, c->first_passes),
                   second = condition_of(&at, branch, c->second_passes),
                   both = builder_select(&at, first, second, const_int(f->module, TYPE_I1, 0));
  struct nvm_value targets[] = {both, value_of_block(on), value_of_block(c->other)};
  if (value_is_none(both)) return false;
  cfg_remove_phi_edges(f, c->other, c->second, 0);
  cfg_rename_phi_edges(f, on, c->second, c->b);
  s->predecessors[c->other.index]--;
  function_remove_block(f, c->second);
  ++*s->env->statistic;
  s->changed = true;
  return cfg_replace_terminator(f, t, OP_CONDBR, targets, 3);
}

static bool merge_conditions(struct simplifier *s) {
  for (struct nvm_block b = s->f->entry; !block_is_none(b); b = function_block(s->f, b)->next) {
    struct short_circuit c;
    while (find_short_circuit(s, b, &c) && has_equal_entries(s, &c)) {
      uint32_t cost = 1 + arm_cost(s->f, c.second);
      if (cost > cost_limit(s, b, cost) || is_loop_exit(s, &c)) break;
      if (!merge_two_conditions(s, &c)) return false;
    }
  }
  return true;
}

bool simplifycfg_convert_branches(struct simplifier *s) {
  return form_all_selects(s) && merge_conditions(s);
}
