/* An iteration visits the loop's blocks in reverse postorder. A value is known if its operands are;
 * the header's phis are known from the preheader or from the iteration before. Phis of blocks that
 * a later block can enter (headers of inner loops, irreducible cycles) are never known, and these
 * blocks count as entered: whatever does not depend on such a phi is the same each time. */
#include "analysis/loop_execution.h"

#include "ir/eval.h"

enum edges { EDGES_NONE, EDGES_ALL, EDGES_ONE };

enum { MAX_ROUNDS = 8 };

struct block_state {
  uint8_t taken; /* enum edges */
  struct nvm_block to;
};

struct executor {
  const struct nvm_function *f;
  const struct loops *loops;
  const struct dominance *d;
  struct arena *arena;
  uint32_t *slots;  /* by instruction: 1 + its place in `lanes`; 0: outside the loop */
  uint32_t *places; /* by block: 1 + its place in the loop; 0: outside */
  const struct loop *loop;
  const struct nvm_block *blocks;
  struct eval_lane *lanes, *next; /* next: of the header's phis in the next iteration */
  bool *known, *next_known;
  struct block_state *states; /* by place */
};

struct executor *loop_execution_init(const struct nvm_function *f, const struct loops *l,
                                     const struct dominance *d, struct arena *arena) {
  struct executor *x = arena_alloc(arena, sizeof *x);
  if (!x) return NULL;
  *x = (struct executor){.f = f, .loops = l, .d = d, .arena = arena};
  x->slots = arena_alloc(arena, f->insts.count * sizeof *x->slots);
  x->places = arena_alloc(arena, f->blocks.count * sizeof *x->places);
  return x->slots && x->places ? x : NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_computed(const struct executor *x, struct nvm_value v) {
  uint32_t slot = value_kind(v) == VALUE_INST ? x->slots[value_index(v)] : 0;
  return slot > 0 && x->known[slot - 1];
}

static bool lane_of(const struct executor *x, struct nvm_value v, struct eval_lane *lane) {
  if (value_kind(v) == VALUE_CONST) return eval_lane_of(x->f->module, v, lane) && !lane->poison;
  if (!is_computed(x, v)) return false;
  *lane = x->lanes[x->slots[value_index(v)] - 1];
  return true;
}

static bool is_scalar(const struct executor *x, struct nvm_type type) {
  return type_equal(type, type_scalar(&x->f->module->types, type));
}

static bool execute(const struct executor *x, const struct nvm_inst *i, struct eval_lane *out) {
  enum { MOST_OPERANDS = 3 };
  struct eval_lane in[MOST_OPERANDS];
  if (i->operand_count == 0 || i->operand_count > MOST_OPERANDS || !is_scalar(x, i->type))
    return false;
  struct nvm_type operand = value_type(x->f, inst_operand(x->f, i, 0));
  if (!is_scalar(x, operand)) return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!lane_of(x, inst_operand(x->f, i, k), &in[k])) return false;
  return eval_lane(x->f->module, (enum op)i->op, i->flags, i->aux, i->type, operand, in, out) &&
         !out->poison;
}

/* A decided branch, an address that becomes an offset of another, a product or `and` with zero. */
static bool costs_nothing(const struct executor *x, const struct nvm_inst *i) {
  struct eval_lane lane;
  bool is_zeroed = i->op == OP_MUL || i->op == OP_AND;
  if (i->op == OP_CONDBR) return lane_of(x, inst_operand(x->f, i, 0), &lane);
  if (i->op != OP_GEP && !is_zeroed) return false;
  for (uint32_t k = i->op == OP_GEP; k < i->operand_count; k++) {
    bool is_known = lane_of(x, inst_operand(x->f, i, k), &lane);
    if (is_zeroed && is_known && lane.bits == 0) return true;
    if (!is_zeroed && !is_known) return false;
  }
  return !is_zeroed;
}

/* --- edges ------------------------------------------------------------------------------------ */

static bool is_taken(const struct executor *x, struct nvm_block from, struct nvm_block to) {
  uint32_t place = x->places[from.index];
  if (place == 0) return false;
  const struct block_state *s = &x->states[place - 1];
  return s->taken == EDGES_ALL || (s->taken == EDGES_ONE && s->to.index == to.index);
}

/* Whether a block that is visited later can enter this one. */
static bool is_entered_from_below(const struct executor *x, struct nvm_block b) {
  FOR_EACH_PREDECESSOR (x->d, b, e)
    if (x->places[x->d->predecessors[e].index] >= x->places[b.index]) return true;
  return false;
}

static bool is_entered(const struct executor *x, struct nvm_block b) {
  if (b.index == x->loop->header.index || is_entered_from_below(x, b)) return true;
  FOR_EACH_PREDECESSOR (x->d, b, e)
    if (is_taken(x, x->d->predecessors[e], b)) return true;
  return false;
}

static bool join(const struct executor *x, const struct nvm_inst *phi, struct eval_lane *out) {
  bool any = false;
  if (!is_scalar(x, phi->type) || is_entered_from_below(x, phi->block)) return false;
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_block from = {value_index(inst_operand(x->f, phi, k + 1))};
    struct eval_lane lane;
    if (!is_taken(x, from, phi->block)) continue;
    if (!lane_of(x, inst_operand(x->f, phi, k), &lane)) return false;
    if (any && lane.bits != out->bits) return false;
    *out = lane;
    any = true;
  }
  return any;
}

static void take_edges(const struct executor *x, struct nvm_block b, struct block_state *s) {
  const struct nvm_inst *t = function_inst(x->f, block_terminator(x->f, b));
  struct eval_lane lane;
  *s = (struct block_state){.taken = EDGES_ALL};
  if (t->op != OP_CONDBR || !lane_of(x, inst_operand(x->f, t, 0), &lane)) return;
  *s = (struct block_state){EDGES_ONE, block_successor(x->f, b, lane.bits ? 0 : 1)};
}

/* --- iterations ------------------------------------------------------------------------------- */

static uint64_t visit_block(const struct executor *x, struct nvm_block b) {
  uint64_t left = 0;
  FOR_EACH_INST (x->f, b, i) {
    const struct nvm_inst *inst = function_inst(x->f, i);
    uint32_t slot = x->slots[i.index] - 1;
    if (inst->op == OP_PHI && b.index == x->loop->header.index) continue;
    x->known[slot] =
        inst->op == OP_PHI ? join(x, inst, &x->lanes[slot]) : execute(x, inst, &x->lanes[slot]);
    if (!x->known[slot] && !costs_nothing(x, inst)) left += loops_work(x->f, inst);
  }
  return left;
}

/* Whether a block that every iteration passes leaves the loop. */
static bool visit_iteration(const struct executor *x, uint32_t n, uint64_t *left) {
  for (uint32_t k = 0; k < x->loop->block_count; k++) {
    struct nvm_block b = x->blocks[k];
    x->states[k] = (struct block_state){.taken = EDGES_NONE};
    if (!is_entered(x, b)) continue;
    *left += visit_block(x, b);
    take_edges(x, b, &x->states[k]);
    if (x->states[k].taken == EDGES_ONE && !loops_contains(x->loops, n, x->states[k].to) &&
        dominance_dominates(x->d, b, x->loop->latch))
      return true;
  }
  return false;
}

/* Whether v is a constant or some iteration may know it. */
static bool may_be_known(const struct executor *x, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST || is_computed(x, v);
}

/* The same of instruction i of block b, not a phi of the header, by its operands. */
static bool may_become_known(const struct executor *x, struct nvm_block b,
                             const struct nvm_inst *i) {
  if (i->operand_count == 0 || !is_scalar(x, i->type)) return false;
  if (i->op == OP_PHI) return !is_entered_from_below(x, b);
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!may_be_known(x, inst_operand(x->f, i, k))) return false;
  return true;
}

/* Adds to x->known what some iteration may know if one may know the header's phis that are in it.
 * True if such a value becomes another phi. */
static bool add_known(const struct executor *x) {
  bool added = false;
  for (uint32_t k = 0; k < x->loop->block_count; k++)
    FOR_EACH_INST (x->f, x->blocks[k], i) {
      const struct nvm_inst *inst = function_inst(x->f, i);
      if (inst->op != OP_PHI || inst->block.index != x->loop->header.index)
        x->known[x->slots[i.index] - 1] = may_become_known(x, x->blocks[k], inst);
    }
  FOR_EACH_PHI (x->f, x->loop->header, i) {
    if (x->known[x->slots[i.index] - 1]) continue;
    x->known[x->slots[i.index] - 1] = may_be_known(x, phi_incoming(x->f, i, x->loop->latch));
    added |= x->known[x->slots[i.index] - 1];
  }
  return added;
}

/* Whether visit_iteration() may find the end. If it does not, most often since the bound is a
 * variable, no iteration is worth its time. */
static bool may_end(const struct executor *x, uint32_t n) {
  FOR_EACH_PHI (x->f, x->loop->header, i)
    x->known[x->slots[i.index] - 1] = may_be_known(x, phi_incoming(x->f, i, x->loop->preheader));
  for (int round = 0; add_known(x); round++)
    if (round == MAX_ROUNDS) return true;
  for (uint32_t k = 0; k < x->loop->block_count; k++) {
    struct nvm_block b = x->blocks[k];
    const struct nvm_inst *t = function_inst(x->f, block_terminator(x->f, b));
    if (t->op == OP_CONDBR && may_be_known(x, inst_operand(x->f, t, 0)) &&
        dominance_dominates(x->d, b, x->loop->latch) &&
        !(loops_contains(x->loops, n, block_successor(x->f, b, 0)) &&
          loops_contains(x->loops, n, block_successor(x->f, b, 1))))
      return true;
  }
  return false;
}

/* Sets the header's phis, together, to what comes from there. */
static void set_phis(const struct executor *x, struct nvm_block from) {
  uint32_t count = 0;
  FOR_EACH_PHI (x->f, x->loop->header, i) {
    x->next_known[count] = is_scalar(x, function_inst(x->f, i)->type) &&
                           lane_of(x, phi_incoming(x->f, i, from), &x->next[count]);
    count++;
  }
  count = 0;
  FOR_EACH_PHI (x->f, x->loop->header, i) {
    x->known[x->slots[i.index] - 1] = x->next_known[count];
    x->lanes[x->slots[i.index] - 1] = x->next[count++];
  }
}

static bool any_phi_known(const struct executor *x) {
  FOR_EACH_PHI (x->f, x->loop->header, i)
    if (x->known[x->slots[i.index] - 1]) return true;
  return false;
}

/* The number of the header's phis; *starts: one of them has a number from the preheader. */
static uint32_t count_phis(const struct executor *x, bool *starts) {
  struct eval_lane lane;
  uint32_t count = 0;
  *starts = false;
  FOR_EACH_PHI (x->f, x->loop->header, i) {
    *starts |= lane_of(x, phi_incoming(x->f, i, x->loop->preheader), &lane);
    count++;
  }
  return count;
}

/* Numbers the loop's instructions and blocks, or forgets the numbers. */
static uint32_t number(struct executor *x, bool begins) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < x->loop->block_count; k++) {
    x->places[x->blocks[k].index] = begins ? k + 1 : 0;
    FOR_EACH_INST (x->f, x->blocks[k], i) x->slots[i.index] = begins ? ++count : 0;
  }
  return count;
}

static bool make_room(struct executor *x, uint32_t insts, uint32_t phis) {
  x->lanes = arena_alloc(x->arena, insts * sizeof *x->lanes);
  x->next = arena_alloc(x->arena, phis * sizeof *x->next);
  x->known = arena_alloc(x->arena, insts * sizeof *x->known);
  x->next_known = arena_alloc(x->arena, phis * sizeof *x->next_known);
  x->states = arena_alloc(x->arena, x->loop->block_count * sizeof *x->states);
  return x->lanes && x->next && x->known && x->next_known && x->states;
}

bool loop_execution_run(struct executor *x, uint32_t n, uint64_t most_iterations,
                        uint64_t most_left, struct loop_execution *out) {
  *out = (struct loop_execution){0};
  x->loop = &x->loops->data[n];
  x->blocks = x->loops->blocks + x->loop->first_block;
  struct nvm_block from = x->loop->preheader;
  bool starts;
  uint32_t phis = count_phis(x, &starts);
  if (!starts) return true;
  uint32_t insts = number(x, true);
  if (!make_room(x, insts, phis)) return false;
  bool may = may_end(x, n);
  memset(x->known, 0, insts * sizeof *x->known);
  while (may && !out->ends && out->iterations < most_iterations && out->left <= most_left) {
    set_phis(x, from);
    if (!any_phi_known(x)) break;
    out->ends = visit_iteration(x, n, &out->left);
    out->iterations++;
    from = x->loop->latch;
  }
  number(x, false);
  return true;
}
