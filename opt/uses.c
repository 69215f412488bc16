/* Use lists; see uses.h. The counts are known: the lists are filled from their ends, backwards. */
#include "opt/uses.h"

bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena) {
  uint32_t insts = f->insts.count, total = 0;
  u->first = arena_alloc(arena, (insts + 1) * sizeof *u->first);
  if (!u->first) return false;
  for (uint32_t i = 0; i < insts; i++) u->first[i] = total += f->uses.data[i];
  u->first[insts] = total;
  u->users = arena_alloc(arena, (total + 1) * sizeof *u->users);
  if (!u->users) return false;
  for (struct nvm_block b = f->last_block; !block_is_none(b); b = function_block(f, b)->previous)
    for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i); i = function_inst(f, i)->previous) {
      const struct nvm_value *operands = f->operands.data + function_inst(f, i)->first_operand;
      for (uint32_t k = function_inst(f, i)->operand_count; k-- > 0;)
        if (value_kind(operands[k]) == VALUE_INST) u->users[--u->first[value_index(operands[k])]] = i;
    }
  return true;
}
