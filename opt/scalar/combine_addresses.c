/* Generic pointers that are cast from a known state space. A pointer that is computed from one and
 * cast back is computed in that space. */
#include "opt/scalar/combine.h"

enum { GLOBAL = 1, SHARED = 3, LOCAL = 5, SHARED_CLUSTER = 7 };

struct nvm_value combine_addrspacecast(struct combiner *k, struct nvm_inst_id root) {
  enum { MAX_OPERANDS = 8 };
  const struct nvm_function *f = k->f;
  const struct nvm_inst *cast = function_inst(f, root);
  struct nvm_value operands[MAX_OPERANDS], address = inst_operand(f, cast, 0);
  const struct nvm_inst *gep = value_inst_of(f, address, OP_GEP), *from;
  if (!type_is_ptr(&k->m->types, cast->type) || !gep || gep->operand_count > MAX_OPERANDS ||
      f->uses.data[value_index(address)] != 1)
    return VALUE_NULL;
  for (uint32_t n = 0; n < gep->operand_count; n++) operands[n] = inst_operand(f, gep, n);
  if (!(from = value_inst_of(f, operands[0], OP_ADDRSPACECAST))) return VALUE_NULL;
  operands[0] = inst_operand(f, from, 0);
  uint32_t space = type_info(&k->m->types, cast->type)->width,
           generic = type_info(&k->m->types, gep->type)->width;
  /* A sum may leave the window of a space; global addresses are the generic ones. */
  bool stays = space == GLOBAL || gep->flags & INST_INBOUNDS;
  if (!stays || !type_equal(value_type(f, operands[0]), cast->type) ||
      layout_pointer_bits(&k->m->layout, space) != layout_pointer_bits(&k->m->layout, generic))
    return VALUE_NULL;
  return build_op(k, root, OP_GEP, gep->flags, cast->type, gep->aux, gep->operand_count, operands);
}

struct nvm_value combine_isspacep(struct combiner *k, const struct nvm_inst *i, uint32_t asked) {
  enum { MAX_STEPS = 32 };
  const struct nvm_inst *from = i;
  for (int step = 0; step < MAX_STEPS && from && from->op != OP_ADDRSPACECAST; step++) {
    struct nvm_value v = inst_operand(k->f, from, 0);
    from = value_inst_of(k->f, v, OP_GEP) ? value_inst_of(k->f, v, OP_GEP)
                                          : value_inst_of(k->f, v, OP_ADDRSPACECAST);
  }
  if (!from || from->op != OP_ADDRSPACECAST) return VALUE_NULL;
  uint32_t space = type_info(&k->m->types, value_type(k->f, inst_operand(k->f, from, 0)))->width;
  if (space != GLOBAL && space != SHARED && space != LOCAL) return VALUE_NULL;
  return make_int(k, i->type, space == asked || (space == SHARED && asked == SHARED_CLUSTER));
}
