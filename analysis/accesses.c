/* The memory accesses of a function; see accesses.h. Linear. */
#include "analysis/accesses.h"

#include "ir/intrinsic.h"
#include "analysis/effects.h"

static enum access_kind kind_of(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL)
    return call_intrinsic(f, i) == INTRINSIC_lifetime_end ? ACCESS_END : ACCESS_OTHER;
  if ((i->op != OP_LOAD && i->op != OP_STORE) || !effects_is_plain_access(i)) return ACCESS_OTHER;
  return i->op == OP_LOAD ? ACCESS_LOAD : ACCESS_STORE;
}

static bool add(struct accesses *a, const struct nvm_function *f, struct alias_env *e,
                struct nvm_inst_id id, uint32_t effects, uint32_t kinds, struct arena *arena) {
  const struct nvm_inst *i = function_inst(f, id);
  struct access x = {
      .where = {.access = id}, .kind = (uint8_t)kind_of(f, i), .effects = (uint8_t)effects};
  if (x.kind == ACCESS_END) x.where.pointer = inst_operand(f, i, call_arg_count(f, i) - 1);
  else if (x.kind != ACCESS_OTHER) alias_location_of(f, id, &x.where);
  if (kinds >> x.kind & 1) {
    x.where.place = alias_place_of(e, x.where.pointer);
    if (!x.where.place) return false;
    x.class = alias_class_of_place(e, x.where.place);
    if (x.class == 0) return false;
  }
  a->at[id.index] = a->list.count;
  return VEC_PUSH(arena, &a->list, x);
}

bool accesses_collect(struct accesses *a, const struct nvm_function *f, struct alias_env *e,
                      uint32_t kinds, struct arena *arena) {
  *a = (struct accesses){.first = arena_alloc(arena, f->blocks.count * sizeof *a->first),
                         .end = arena_alloc(arena, f->blocks.count * sizeof *a->end),
                         .at = arena_alloc(arena, f->insts.count * sizeof *a->at)};
  if (!a->first || !a->end || !a->at) return false;
  FOR_EACH_BLOCK (f, b) {
    a->first[b.index] = a->list.count;
    FOR_EACH_INST (f, b, i) {
      uint32_t effects = effects_on_memory(f, i);
      if (effects && !add(a, f, e, i, effects, kinds, arena)) return false;
    }
    a->end[b.index] = a->list.count;
  }
  return true;
}
