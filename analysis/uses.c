/* Use lists; see uses.h. Use counts are known, so the lists are filled from their ends, backwards.
 */
#include "analysis/uses.h"

/* Uninitialized memory. */
static void *room(struct arena *arena, uint32_t count) {
  return arena_grow_raw(arena, NULL, 0, count * sizeof(uint32_t));
}

/* `arguments` is a constant at each call, so that the inlined copies do not test it. */
static inline void fill(struct uses *u, const struct nvm_function *f, bool arguments) {
  uint32_t *first = u->first, *numbers = u->operands, insts = u->insts;
  struct nvm_inst_id *users = u->users;
  for (struct nvm_block b = f->last_block; !block_is_none(b); b = function_block(f, b)->previous)
    for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i);
         i = function_inst(f, i)->previous) {
      const struct nvm_inst *inst = function_inst(f, i);
      const struct nvm_value *operands = f->operands.data + inst->first_operand;
      for (uint32_t k = inst->operand_count; k-- > 0;) {
        struct nvm_value v = operands[k];
        bool argument = arguments && value_kind(v) == VALUE_ARG;
        if (value_kind(v) != VALUE_INST && !argument) continue;
        uint32_t at = --first[value_index(v) + (argument ? insts : 0)];
        users[at] = i;
        numbers[at] = k;
      }
    }
}

static bool build(struct uses *u, const struct nvm_function *f, const uint32_t *argument_counts,
                  struct arena *arena) {
  uint32_t insts = f->insts.count, arguments = argument_counts ? function_arg_count(f) : 0,
           total = 0;
  uint32_t *first = room(arena, insts + arguments + 1);
  if (!first) return false;
  for (uint32_t i = 0; i < insts; i++) first[i] = total += f->uses.data[i];
  for (uint32_t k = 0; k < arguments; k++) first[insts + k] = total += argument_counts[k];
  first[insts + arguments] = total;
  struct nvm_inst_id *users = room(arena, total + 1);
  uint32_t *numbers = room(arena, total + 1);
  if (!users || !numbers) return false;
  *u = (struct uses){insts, first, users, numbers};
  if (argument_counts) fill(u, f, true);
  else fill(u, f, false);
  return true;
}

bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena) {
  return build(u, f, NULL, arena);
}

bool uses_build_with_arguments(struct uses *u, const struct nvm_function *f, struct arena *arena) {
  uint32_t *counts = arena_alloc(arena, (function_arg_count(f) + 1) * sizeof *counts);
  if (!counts) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++) {
        struct nvm_value v = inst_operand(f, function_inst(f, i), k);
        if (value_kind(v) == VALUE_ARG) counts[value_index(v)]++;
      }
  return build(u, f, counts, arena);
}
