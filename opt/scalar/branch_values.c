/* Values by conditions of branches, for correlated.c, whose walk over dominators calls this.
 *
 *     br c, yes, no     in `yes` and the blocks below it, and on edges from there, c is true,
 *                       zext c is 1, sext c is -1, and select c, x, y is x
 *
 * A branch records the values of all that read its condition, which may be above the branch, or
 * below. Linear in instructions, in readers of a condition for each branch by it, and in the
 * operands of phis with at most MAX_EDGES edges. */
#include "opt/scalar/branch_values.h"

enum { MAX_DEPTH = 4, MAX_EDGES = 32 };

/* The condition that i reads as its first operand; VALUE_NULL: none. */
static struct nvm_value condition_of(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_SELECT && i->op != OP_ZEXT && i->op != OP_SEXT) return VALUE_NULL;
  struct nvm_value v = inst_operand(f, i, 0);
  return type_equal(value_type(f, v), TYPE_I1) ? v : VALUE_NULL;
}

/* The list of readers of a condition; NULL if it has none. */
static struct nvm_inst_id *first_reader(struct branch_values *w, struct nvm_value condition) {
  if (value_kind(condition) == VALUE_ARG)
    return &w->first_reader[w->insts + value_index(condition)];
  bool is_old = value_kind(condition) == VALUE_INST && value_index(condition) < w->insts;
  return is_old ? &w->first_reader[value_index(condition)] : NULL;
}

bool branch_values_init(struct branch_values *w, struct nvm_function *f,
                        const struct dominance *dominance, struct arena *arena) {
  *w = (struct branch_values){
      .f = f, .dominance = dominance, .arena = arena, .insts = f->insts.count};
  w->known_value = arena_alloc(arena, f->insts.count * sizeof *w->known_value);
  w->next_reader = arena_alloc(arena, f->insts.count * sizeof *w->next_reader);
  w->first_reader =
      arena_alloc(arena, (f->insts.count + function_arg_count(f)) * sizeof *w->first_reader);
  if (!w->known_value || !w->next_reader || !w->first_reader) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct nvm_inst_id *first = first_reader(w, condition_of(f, function_inst(f, i)));
      if (!first) continue;
      w->next_reader[i.index] = *first;
      *first = i;
    }
  return true;
}

/* v, or the value that it equals here by a branch condition. */
static struct nvm_value follow_known(const struct branch_values *w, struct nvm_value v) {
  for (int k = 0; k < MAX_DEPTH && value_kind(v) == VALUE_INST && value_index(v) < w->insts &&
                  !value_is_none(w->known_value[value_index(v)]);
       k++)
    v = w->known_value[value_index(v)];
  return v;
}

/* The value of i, which reads the condition, if that is true (k = 0) or false (1). */
static struct nvm_value value_by_condition(const struct branch_values *w, const struct nvm_inst *i,
                                           uint32_t k) {
  if (i->op == OP_SELECT) return inst_operand(w->f, i, 1 + k);
  nvm_u128 ones = i->op == OP_ZEXT ? 1 : ~(nvm_u128)0;
  return const_int(w->f->module, i->type, k == 0 ? ones : 0);
}

static bool record(struct branch_values *w, struct nvm_inst_id i, struct nvm_value known) {
  if (value_is_none(known) || !value_is_none(w->known_value[i.index])) return true;
  w->known_value[i.index] = known;
  return VEC_PUSH(w->arena, &w->known_values, i);
}

/* Records the values that are known if d branches to successor k. */
static bool assume_successor(struct branch_values *w, struct nvm_block d, uint32_t k) {
  struct nvm_inst_id t = block_terminator(w->f, d);
  if (function_inst(w->f, t)->op != OP_CONDBR ||
      block_successor(w->f, d, 0).index == block_successor(w->f, d, 1).index)
    return true;
  struct nvm_value condition = inst_operand_at(w->f, t, 0);
  struct nvm_inst_id *first = first_reader(w, condition);
  if (!first) return true;
  if (value_kind(condition) == VALUE_INST &&
      !record(w, (struct nvm_inst_id){value_index(condition)},
              const_int(w->f->module, TYPE_I1, k == 0)))
    return false;
  for (struct nvm_inst_id i = *first; !inst_is_none(i); i = w->next_reader[i.index]) {
    const struct nvm_inst *inst = function_inst(w->f, i);
    if (value_equal(condition_of(w->f, inst), condition) &&
        !record(w, i, value_by_condition(w, inst, k)))
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
