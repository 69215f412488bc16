/* Changes of the control flow graph; see cfg.h. */
#include "opt/cfg/cfg.h"

#include "ir/build.h"

/* Keeps the first `keep` entries for `from`; one pass over the phi. */
static void remove_entries(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block from,
                           uint32_t keep) {
  uint32_t count = function_inst(f, i)->operand_count, to = 0;
  for (uint32_t k = 0; k < count; k += 2) {
    struct nvm_value v = inst_operand(f, function_inst(f, i), k);
    struct nvm_value block = inst_operand(f, function_inst(f, i), k + 1);
    bool theirs = value_index(block) == from.index;
    if (theirs && keep == 0) continue;
    keep -= theirs;
    if (to != k) {
      inst_set_operand(f, i, to, v);
      inst_set_operand(f, i, to + 1, block);
    }
    to += 2;
  }
  if (to != count) inst_remove_operands(f, i, to, count - to);
}

void cfg_remove_phi_edges(struct nvm_function *f, struct nvm_block to, struct nvm_block from,
                          uint32_t keep) {
  FOR_EACH_PHI (f, to, i) remove_entries(f, i, from, keep);
}

void cfg_rename_phi_edges(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                          struct nvm_block to) {
  FOR_EACH_PHI (f, b, i)
    for (uint32_t k = 1, count = function_inst(f, i)->operand_count; k < count; k += 2)
      if (value_index(inst_operand(f, function_inst(f, i), k)) == from.index)
        inst_set_operand(f, i, k, value_of_block(to));
}

void cfg_move_rest(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block to) {
  struct nvm_block b = function_inst(f, i)->block, previous = {0};
  struct nvm_block_info *old = function_block(f, b), *new = function_block(f, to);
  struct nvm_inst_id last = old->last;
  if (inst_is_none(i)) return;
  old->last = function_inst(f, i)->previous;
  if (inst_is_none(old->last)) old->first = old->last;
  else function_inst(f, old->last)->next = (struct nvm_inst_id){0};
  function_inst(f, i)->previous = new->last;
  if (inst_is_none(new->last)) new->first = i;
  else function_inst(f, new->last)->next = i;
  new->last = last;
  for (; !inst_is_none(i); i = function_inst(f, i)->next) function_inst(f, i)->block = to;
  for (uint32_t k = 0, n = block_successor_count(f, to); k < n; k++) {
    struct nvm_block s = block_successor(f, to, k); /* a switch repeats targets, mostly in sequence
                                                     */
    if (s.index != previous.index) cfg_rename_phi_edges(f, s, b, to);
    previous = s;
  }
}

void cfg_redirect(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                  struct nvm_block to) {
  struct nvm_inst_id t = block_terminator(f, b);
  for (uint32_t k = 0; k < function_inst(f, t)->operand_count; k++)
    if (value_equal(inst_operand(f, function_inst(f, t), k), value_of_block(from)))
      inst_set_operand(f, t, k, value_of_block(to));
}

bool cfg_replace_terminator(struct nvm_function *f, struct nvm_inst_id t, enum op op,
                            const struct nvm_value *operands, uint32_t count) {
  struct builder at = builder_replacing(f, t);
  if (value_is_none(builder_add(&at, op, 0, TYPE_VOID, operands, count, 0))) return false;
  inst_remove(f, t);
  return true;
}

void cfg_make_jump(struct nvm_function *f, struct nvm_block b, struct nvm_block to) {
  uint32_t count = block_successor_count(f, b);
  struct nvm_block previous = {0};
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block s = block_successor(f, b, k);
    if (s.index != previous.index) cfg_remove_phi_edges(f, s, b, s.index == to.index);
    previous = s;
  }
  struct nvm_value target = value_of_block(to);
  (void)cfg_replace_terminator(f, block_terminator(f, b), OP_BR, &target, 1);
}

struct nvm_block cfg_successor_for(const struct nvm_function *f, const struct nvm_inst *t,
                                   nvm_u128 value) {
  nvm_u128 label;
  if (t->op == OP_CONDBR) return value_block(inst_operand(f, t, value ? 1 : 2));
  for (uint32_t k = 2; k < t->operand_count; k += 2)
    if (const_is_int(f->module, inst_operand(f, t, k), &label) && label == value)
      return value_block(inst_operand(f, t, k + 1));
  return value_block(inst_operand(f, t, 1));
}

struct nvm_block cfg_known_successor(const struct nvm_function *f, struct nvm_block b) {
  const struct nvm_block none = {0};
  const struct nvm_inst *t = function_inst(f, block_terminator(f, b));
  if (t->op != OP_CONDBR && t->op != OP_SWITCH) return none;
  uint32_t count = block_successor_count(f, b);
  struct nvm_block first = block_successor(f, b, 0);
  bool all_equal = true;
  for (uint32_t k = 1; k < count && all_equal; k++)
    all_equal = block_successor(f, b, k).index == first.index;
  if (all_equal) return first;
  nvm_u128 value;
  bool known = const_is_int(f->module, inst_operand(f, t, 0), &value);
  return known ? cfg_successor_for(f, t, value) : none;
}

bool cfg_may_loop(const struct nvm_function *f, struct arena *arena) {
  bool *seen = arena_alloc(arena, f->blocks.count * sizeof *seen), any = !seen;
  FOR_EACH_BLOCK (f, b) {
    if (any) break;
    seen[b.index] = true;
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++)
      any |= seen[block_successor(f, b, k).index];
  }
  return any;
}

int64_t cfg_keep_reachable(struct nvm_function *f, struct arena *arena, uint32_t **edges) {
  uint32_t *reached = *edges = arena_alloc(arena, f->blocks.count * sizeof *reached);
  struct nvm_block *work = arena_grow_raw(arena, NULL, 0, f->blocks.count * sizeof *work);
  if (!reached || !work) return -1;
  uint32_t count = 0, done = 0;
  work[count++] = f->entry;
  for (reached[f->entry.index] = 1; done < count; done++)
    for (uint32_t k = 0, n = block_successor_count(f, work[done]); k < n; k++) {
      struct nvm_block to = block_successor(f, work[done], k);
      if (reached[to.index]++ == 0) work[count++] = to;
    }
  int64_t removed = (int64_t)f->blocks.count - 1 - f->removed_blocks - count;
  if (removed == 0) return 0;
  FOR_EACH_BLOCK (f, b) {
    if (reached[b.index]) continue;
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++)
      if (reached[block_successor(f, b, k).index])
        cfg_remove_phi_edges(f, block_successor(f, b, k), b, 0);
  }
  for (struct nvm_block b = f->entry, next; !block_is_none(b); b = next) {
    next = function_block(f, b)->next;
    if (!reached[b.index]) function_remove_block(f, b);
  }
  return removed;
}

int64_t cfg_remove_unreachable(struct nvm_function *f, struct arena *arena) {
  uint32_t *edges;
  return cfg_keep_reachable(f, arena, &edges);
}
