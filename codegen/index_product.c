/* Products of indices; see index_product.h. A product is early if a getelementptr is in a loop that
 * the extension is not in, or two are in blocks of which neither dominates the other: others share
 * the product of the first (address.c). */
#include "codegen/index_product.h"
#include "codegen/select.h"

void index_product_note(struct lower *l, const struct nvm_inst *gep, struct nvm_value index,
                        uint32_t step) {
  const struct nvm_inst *extension = value_inst(l->f, index);
  struct selection *s = selection_of(l, extension);
  struct nvm_block from = extension->block, to = gep->block;
  if (from.index == to.index || l->target->optimization_level == 0) return;
  uint32_t loop = l->loops.innermost[to.index];
  bool is_early = loop && !loops_contains(&l->loops, loop, from);
  if (s->address == 0) {
    struct index_product made = {step, to, is_early};
    if (VEC_PUSH(&l->function_arena, &l->products, made)) s->address = l->products.count;
    return;
  }
  struct index_product *known = &l->products.data[s->address - 1];
  if (known->step == step)
    known->is_early |= is_early || (!dominance_dominates(&l->dominance, known->reader, to) &&
                                    !dominance_dominates(&l->dominance, to, known->reader));
}

uint32_t index_product_early(const struct lower *l, const struct nvm_inst *extension) {
  uint32_t n = selection_of(l, extension)->address;
  bool is_extension = extension->op == OP_SEXT || extension->op == OP_ZEXT;
  return is_extension && n && l->products.data[n - 1].is_early ? l->products.data[n - 1].step : 0;
}
