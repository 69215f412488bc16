/* Use lists by counting and filling; see uses.h. */
#include "opt/uses.h"

bool uses_build(struct uses *u, const struct nvm_function *f, struct arena *arena) {
  uint32_t insts = f->insts.count;
  u->first = arena_alloc(arena, (insts + 2) * sizeof *u->first);
  if (!u->first) return false;
  for (int pass = 0; pass < 2; pass++) {
    FOR_EACH_BLOCK(f, b)
      FOR_EACH_INST(f, b, i) {
        const struct nvm_inst *inst = function_inst(f, i);
        for (uint32_t k = 0; k < inst->operand_count; k++) {
          struct nvm_value v = inst_operand(f, inst, k);
          if (value_kind(v) != VALUE_INST) continue;
          if (pass == 0) u->first[value_index(v) + 1]++;
          else u->users[u->first[value_index(v)]++] = i;
        }
      }
    if (pass == 1) break;
    for (uint32_t i = 0; i < insts; i++) u->first[i + 1] += u->first[i];
    u->users = arena_alloc(arena, (u->first[insts] + 1) * sizeof *u->users);
    if (!u->users) return false;
  }
  for (uint32_t i = insts; i > 0; i--) u->first[i] = u->first[i - 1];
  u->first[0] = 0;
  return true;
}
