/* Values by conditions of branches, for correlated.c, whose walk over dominators calls this.
 *
 *     br c, yes, no     in `yes` and the blocks below it, and on edges from there, c is true,
 *                       zext c is 1, sext c is -1, and select c, x, y is x
 *
 * Only instructions of the block with the branch are considered. Linear in the instructions of
 * blocks, and in the operands of phis with at most MAX_EDGES edges. */
#include "opt/scalar/branch_values.h"

enum { MAX_DEPTH = 4, MAX_EDGES = 32 };

bool branch_values_init(struct branch_values *w, struct nvm_function *f,
                        const struct dominance *dominance, struct arena *arena) {
  *w = (struct branch_values){
      .f = f, .dominance = dominance, .arena = arena, .insts = f->insts.count};
  w->known_value = arena_alloc(arena, f->insts.count * sizeof *w->known_value);
  return w->known_value;
}

/* v, or the value that it equals here by a branch condition. */
static struct nvm_value follow_known(const struct branch_values *w, struct nvm_value v) {
  for (int k = 0; k < MAX_DEPTH && value_kind(v) == VALUE_INST && value_index(v) < w->insts &&
                  !value_is_none(w->known_value[value_index(v)]);
       k++)
    v = w->known_value[value_index(v)];
  return v;
}

/* The value of i if the condition is true (k = 0) or false (1); VALUE_NULL if it is not known. */
static struct nvm_value value_by_condition(struct branch_values *w, struct nvm_inst_id i,
                                           struct nvm_value condition, uint32_t k) {
  const struct nvm_inst *inst = function_inst(w->f, i);
  struct nvm_module *m = w->f->module;
  if (value_equal(value_of_inst(i), condition)) return const_int(m, TYPE_I1, k == 0);
  if (inst->operand_count == 0 || !value_equal(inst_operand(w->f, inst, 0), condition))
    return VALUE_NULL;
  switch ((enum op)inst->op) {
    case OP_SELECT: return inst_operand(w->f, inst, 1 + k);
    case OP_ZEXT: return const_int(m, inst->type, k == 0);
    case OP_SEXT: return const_int(m, inst->type, k == 0 ? ~(nvm_u128)0 : 0);
    default: return VALUE_NULL;
  }
}

/* Records the values of d's instructions that are known if d branches to successor k. */
static bool assume_successor(struct branch_values *w, struct nvm_block d, uint32_t k) {
  struct nvm_inst_id t = block_terminator(w->f, d);
  if (function_inst(w->f, t)->op != OP_CONDBR ||
      block_successor(w->f, d, 0).index == block_successor(w->f, d, 1).index)
    return true;
  struct nvm_value condition = inst_operand_at(w->f, t, 0);
  FOR_EACH_INST (w->f, d, i) {
    if (i.index >= w->insts) continue;
    w->known_value[i.index] = value_by_condition(w, i, condition, k);
    if (!value_is_none(w->known_value[i.index]) && !VEC_PUSH(w->arena, &w->known_values, i))
      return false;
  }
  return true;
}

void branch_values_forget(struct branch_values *w, uint32_t to) {
  while (w->known_values.count > to)
    w->known_value[w->known_values.data[--w->known_values.count].index] = VALUE_NULL;
}

bool branch_values_enter(struct branch_values *w, struct nvm_block b) {
  struct nvm_block d = w->dominance->immediate[b.index];
  if (block_is_none(d) || dominance_predecessor_count(w->dominance, b) != 1) return true;
  return assume_successor(w, d, block_successor(w->f, d, 0).index == b.index ? 0 : 1);
}

/* In the phis of a successor of b, for the edge from b. */
static void insert_on_edge(struct branch_values *w, struct nvm_block b,
                           struct nvm_block successor) {
  FOR_EACH_PHI (w->f, successor, i) {
    const struct nvm_inst *phi = function_inst(w->f, i);
    if (phi->operand_count > 2 * MAX_EDGES) return;
    for (uint32_t k = 0; k < phi->operand_count; k += 2) {
      struct nvm_value v = inst_operand(w->f, phi, k), known = follow_known(w, v);
      if (value_block(inst_operand(w->f, phi, k + 1)).index != b.index || value_equal(v, known))
        continue;
      inst_set_operand(w->f, i, k, known);
      w->changed = true;
    }
  }
}

bool branch_values_leave(struct branch_values *w, struct nvm_block b) {
  for (uint32_t k = 0; k < block_successor_count(w->f, b); k++) {
    uint32_t before = w->known_values.count;
    if (!assume_successor(w, b, k)) return false;
    if (w->known_values.count) insert_on_edge(w, b, block_successor(w->f, b, k));
    branch_values_forget(w, before);
  }
  return true;
}

uint32_t branch_values_use(struct branch_values *w, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(w->f, i);
  uint32_t used = 0;
  if (inst->op == OP_PHI) return 0;
  for (uint32_t k = 0, count = inst->operand_count; k < count; k++) {
    struct nvm_value v = inst_operand_at(w->f, i, k), known = follow_known(w, v);
    if (value_equal(v, known)) continue;
    inst_set_operand(w->f, i, k, known);
    w->changed = true;
    used++;
  }
  return used;
}

/* Whether the edge from → b is only reached through successor k of block d. */
static bool is_only_through(const struct branch_values *w, struct nvm_block d, uint32_t k,
                            struct nvm_block from, struct nvm_block b) {
  struct nvm_block to = block_successor(w->f, d, k);
  if (from.index == d.index) return to.index == b.index;
  return dominance_predecessor_count(w->dominance, to) == 1 &&
         dominance_dominates(w->dominance, to, from);
}

bool branch_values_is_condition(const struct branch_values *w, const struct nvm_inst *phi,
                                struct nvm_block d, uint32_t yes) {
  nvm_u128 bit;
  bool told = true;
  for (uint32_t k = 0; k < phi->operand_count && told; k += 2) {
    struct nvm_block from = {value_index(inst_operand(w->f, phi, k + 1))};
    told = const_is_int(w->f->module, inst_operand(w->f, phi, k), &bit) &&
           is_only_through(w, d, bit ? yes : 1 - yes, from, phi->block);
  }
  return told;
}
