/* Products of extended 32-bit indices and the steps of getelementptrs, which mul.wide computes. */
#ifndef NVM_CODEGEN_INDEX_PRODUCT_H
#define NVM_CODEGEN_INDEX_PRODUCT_H

#include "codegen/lower.h"

/* The product of an extended 32-bit index and a step, which is computed where the index is extended
 * if that saves computing it in several blocks, or in a loop. */
struct index_product {
  uint32_t step;
  struct nvm_block reader; /* of the first getelementptr that reads it */
  bool is_early;
};

/* Notes that the gep multiplies an extended index by a step. */
void index_product_note(struct lower *l, const struct nvm_inst *gep, struct nvm_value index,
                        uint32_t step);
/* The step of the product that is computed where `extension` is; 0: none is. */
uint32_t index_product_early(const struct lower *l, const struct nvm_inst *extension);

#endif
