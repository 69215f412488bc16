/* The address arithmetic of getelementptr, index by index. */
#ifndef NVM_IR_GEP_H
#define NVM_IR_GEP_H

#include "ir/function.h"

/* The type that the next index selects from. The first index steps over whole objects of it. */
struct gep_walk {
  struct nvm_module *module;
  struct nvm_type type;
  bool inside; /* the first index has been passed */
};

/* `aux` of the getelementptr, instruction or constant, is its element type. */
static inline struct gep_walk gep_begin(struct nvm_module *m, uint32_t aux) {
  return (struct gep_walk){m, {aux}, false};
}
/* The bytes that one step of the next index moves. If the index selects a struct member, its offset
 * in bytes, and *is_member is set. Indices of structs may be splats. */
uint64_t gep_step(struct gep_walk *w, struct nvm_value index, bool *is_member);

/* The bytes that a getelementptr adds, modulo 2^64; false unless all indices are constant integers.
 */
bool gep_constant_offset(const struct nvm_function *f, const struct nvm_inst *gep, int64_t *offset);
/* The same if it is at most 2^40 either way, so that several of them can be added. */
bool gep_small_offset(const struct nvm_function *f, const struct nvm_inst *gep, int64_t *offset);

#endif
