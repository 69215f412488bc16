/* sccp: sparse conditional constant propagation.
 *
 * Purpose:   finds values that are constants on every path that can be taken, and branches that
 *            therefore go one way only; both at once finds more than one after the other.
 * Algorithm: Wegman and Zadeck, "Constant Propagation with Conditional Branches", 1991. The lattice
 *            of each value:
 *
 *                     unknown          nothing is known yet; undef and poison are here too
 *                  /   |   \
 *               ... -1 0 1 ...         the constant it always is
 *                  \   |   /
 *                     varies
 *
 *            Values only move down. Two work lists: edges found to be taken, instructions whose
 *            operands moved. What is still unknown at the end is taken to vary.
 * Requires:  nothing.
 * Preserves: SSA form; dead blocks are left to simplifycfg, their branches are folded.
 * Cost:      linear in operands and edges, for a value moves at most twice; but each edge into a phi
 *            looks at all of the phi.
 * Omits:     phis of more than 1,024 edges; ranges; values that pass through memory or between
 *            functions.
 * Tests:     check/opt/sccp-*. */
#include "ir/evalintrinsic.h"
#include "opt/cfg.h"
#include "opt/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "opt/uses.h"

enum {
  MOST_OPERANDS = 8,        /* of an instruction worth folding */
  MOST_PHI_OPERANDS = 2048, /* of a phi worth looking at: each edge into it looks at all of them */
};

/* By instruction: VALUE_NULL unknown; a VALUE_CONST, VALUE_GLOBAL or VALUE_FUNCTION: that constant;
 * VARIES otherwise. */
#define VARIES ((struct nvm_value){UINT32_MAX})

struct edge {
  struct nvm_block from, to;
};

struct propagator {
  struct nvm_function *f;
  struct arena *arena;
  struct nvm_value *state;
  struct uses uses;
  bool *executable;   /* by block */
  uint32_t *edge_slot;/* hash set of taken edges: index + 1 into `edges` */
  uint32_t edge_slots;
  VEC(struct edge) edges;
  uint32_t next_edge; /* edges before this have been looked at */
  VEC(struct nvm_inst_id) work;
};

static bool is_varying(struct nvm_value v) { return v.bits == UINT32_MAX; }

/* --- taken edges ------------------------------------------------------------------------------ */

static uint32_t edge_find(const struct propagator *p, struct nvm_block from, struct nvm_block to) {
  uint32_t mask = p->edge_slots - 1, i = hash_mix(to.index, (uint64_t)from.index << 32) & mask;
  for (; p->edge_slot[i]; i = (i + 1) & mask) {
    struct edge e = p->edges.data[p->edge_slot[i] - 1];
    if (e.from.index == from.index && e.to.index == to.index) break;
  }
  return i;
}

static bool edge_is_taken(const struct propagator *p, struct nvm_block from, struct nvm_block to) {
  return p->edge_slot[edge_find(p, from, to)] != 0;
}

static bool take_edge(struct propagator *p, struct nvm_block from, struct nvm_block to) {
  uint32_t slot = edge_find(p, from, to);
  if (p->edge_slot[slot]) return true;
  struct edge e = {from, to};
  if (!VEC_PUSH(p->arena, &p->edges, e)) return false;
  p->edge_slot[slot] = p->edges.count;
  return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static struct nvm_value state_of(const struct propagator *p, struct nvm_value v) {
  switch (value_kind(v)) {
  case VALUE_INST: return p->state[value_index(v)];
  case VALUE_CONST:
    return const_is_undef_or_poison(p->f->module, v) ? VALUE_NULL : v;
  case VALUE_GLOBAL: case VALUE_FUNCTION: return v;
  case VALUE_NONE: case VALUE_ARG: case VALUE_BLOCK: case VALUE_FORWARD: break;
  }
  return VARIES;
}

/* Moves a value down; those who use it are looked at again. */
static bool lower_state(struct propagator *p, struct nvm_inst_id i, struct nvm_value to) {
  struct nvm_value now = p->state[i.index];
  if (value_is_none(to) || value_equal(now, to) || is_varying(now)) return true;
  p->state[i.index] = value_is_none(now) ? to : VARIES;
  for (uint32_t k = p->uses.first[i.index]; k < p->uses.first[i.index + 1]; k++)
    if (!VEC_PUSH(p->arena, &p->work, p->uses.users[k])) return false;
  return true;
}

static struct nvm_value meet(struct nvm_value a, struct nvm_value b) {
  if (value_is_none(a)) return b;
  if (value_is_none(b) || value_equal(a, b)) return a;
  return VARIES;
}

static struct nvm_value visit_phi(const struct propagator *p, const struct nvm_inst *phi) {
  struct nvm_value v = phi->operand_count > MOST_PHI_OPERANDS ? VARIES : VALUE_NULL;
  for (uint32_t k = 0; k < phi->operand_count && !is_varying(v); k += 2) {
    struct nvm_block from = {value_index(inst_operand(p->f, phi, k + 1))};
    if (edge_is_taken(p, from, phi->block))
      v = meet(v, state_of(p, inst_operand(p->f, phi, k)));
  }
  return v;
}

/* A select with a known condition is one of its arms, whatever the other is. */
static struct nvm_value visit_select(const struct propagator *p, const struct nvm_inst *i) {
  nvm_u128 condition;
  struct nvm_value c = state_of(p, inst_operand(p->f, i, 0));
  struct nvm_value a = state_of(p, inst_operand(p->f, i, 1));
  struct nvm_value b = state_of(p, inst_operand(p->f, i, 2));
  if (value_is_none(c)) return VALUE_NULL;
  if (is_varying(c) || !const_is_int(p->f->module, c, &condition)) return meet(a, b);
  return condition ? a : b;
}

static struct nvm_value visit_pure(const struct propagator *p, const struct nvm_inst *i) {
  struct nvm_value operands[MOST_OPERANDS];
  if (i->operand_count == 0 || i->operand_count > MOST_OPERANDS) return VARIES;
  /* What is put together of parts may well have undefined ones. */
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

static bool visit_terminator(struct propagator *p, const struct nvm_inst *i) {
  struct nvm_value c = VARIES;
  if (i->op == OP_CONDBR || i->op == OP_SWITCH) c = state_of(p, inst_operand(p->f, i, 0));
  if (value_is_none(c)) return true;
  nvm_u128 value, label;
  bool known = !is_varying(c) && const_is_int(p->f->module, c, &value);
  uint32_t count = block_successor_count(p->f, i->block);
  if (!known) {
    for (uint32_t k = 0; k < count; k++)
      if (!take_edge(p, i->block, block_successor(p->f, i->block, k))) return false;
    return true;
  }
  struct nvm_block to = {value_index(inst_operand(p->f, i, 1))};
  if (i->op == OP_CONDBR && value == 0) to.index = value_index(inst_operand(p->f, i, 2));
  if (i->op == OP_SWITCH)
    for (uint32_t k = 2; k < i->operand_count; k += 2)
      if (const_is_int(p->f->module, inst_operand(p->f, i, k), &label) && label == value)
        to.index = value_index(inst_operand(p->f, i, k + 1));
  return take_edge(p, i->block, to);
}

static bool visit(struct propagator *p, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(p->f, id);
  if (!p->executable[i->block.index]) return true;
  if (op_is_terminator((enum op)i->op)) return visit_terminator(p, i);
  if (type_equal(i->type, TYPE_VOID) || is_varying(p->state[id.index])) return true;
  struct nvm_value v = VARIES;
  if (i->op == OP_PHI) v = visit_phi(p, i);
  else if (i->op == OP_SELECT) v = visit_select(p, i);
  else if (i->op != OP_GEP && effects_is_pure(p->f, i)) v = visit_pure(p, i);
  return lower_state(p, id, v);
}

static bool visit_block(struct propagator *p, struct nvm_block b, bool only_phis) {
  FOR_EACH_INST(p->f, b, i) {
    if (only_phis && function_inst(p->f, i)->op != OP_PHI) break;
    if (!visit(p, i)) return false;
  }
  return true;
}

static bool propagate(struct propagator *p) {
  while (p->next_edge < p->edges.count || p->work.count) {
    if (p->work.count) {
      if (!visit(p, p->work.data[--p->work.count])) return false;
      continue;
    }
    struct nvm_block to = p->edges.data[p->next_edge++].to;
    bool known = p->executable[to.index];
    p->executable[to.index] = true;
    if (!visit_block(p, to, known)) return false;
  }
  return true;
}

/* Whatever an executed block still does not know, varies: then every branch is decided. */
static bool settle_unknown(struct propagator *p) {
  for (bool any = true; any;) {
    any = false;
    FOR_EACH_BLOCK(p->f, b) {
      if (!p->executable[b.index]) continue;
      FOR_EACH_INST(p->f, b, i) {
        const struct nvm_inst *inst = function_inst(p->f, i);
        bool undecided = (inst->op == OP_CONDBR || inst->op == OP_SWITCH) &&
                         value_is_none(state_of(p, inst_operand(p->f, inst, 0)));
        if (undecided) {
          for (uint32_t k = 0, n = block_successor_count(p->f, b); k < n; k++) {
            any |= !edge_is_taken(p, b, block_successor(p->f, b, k));
            if (!take_edge(p, b, block_successor(p->f, b, k))) return false;
          }
        } else if (!type_equal(inst->type, TYPE_VOID) && value_is_none(p->state[i.index])) {
          any = true;
          if (!lower_state(p, i, VARIES)) return false;
        }
      }
    }
    if (!propagate(p)) return false;
  }
  return true;
}

static bool propagator_init(struct propagator *p) {
  struct nvm_function *f = p->f;
  uint32_t edges = 0;
  FOR_EACH_BLOCK(f, b) edges += block_successor_count(f, b);
  p->edge_slots = 16;
  while (p->edge_slots < edges * 2 + 2) p->edge_slots *= 2;
  p->state = arena_alloc(p->arena, f->insts.count * sizeof *p->state);
  p->executable = arena_alloc(p->arena, f->blocks.count * sizeof(bool));
  p->edge_slot = arena_alloc(p->arena, p->edge_slots * sizeof(uint32_t));
  return p->state && p->executable && p->edge_slot && uses_build(&p->uses, f, p->arena);
}

/* Puts the constants in and turns decided branches into jumps. */
static bool apply(struct propagator *p, struct pass_env *env, bool *changed) {
  struct nvm_function *f = p->f;
  struct rewrite r;
  if (!rewrite_init(&r, f, env->arena)) return false;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i)
      if (p->executable[b.index] && !value_is_none(p->state[i.index]) &&
          !is_varying(p->state[i.index]))
        rewrite_set(&r, i, p->state[i.index]);
  *env->statistic += r.count;
  *changed = r.count != 0;
  rewrite_apply(&r);
  FOR_EACH_BLOCK(f, b) {
    struct nvm_block to = p->executable[b.index] ? cfg_known_successor(f, b) : (struct nvm_block){0};
    if (block_is_none(to)) continue;
    cfg_make_jump(f, b, to);
    *changed = true;
  }
  return !*changed || cfg_remove_unreachable(f, env->arena) >= 0;
}

enum nvm_status sccp_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct propagator p = {.f = f, .arena = env->arena};
  if (!propagator_init(&p)) return NVM_OUT_OF_MEMORY;
  p.executable[f->entry.index] = true;
  if (!visit_block(&p, f->entry, false) || !propagate(&p) || !settle_unknown(&p))
    return NVM_OUT_OF_MEMORY;
  return apply(&p, env, changed) ? NVM_OK : NVM_OUT_OF_MEMORY;
}
