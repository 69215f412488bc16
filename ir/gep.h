/* The address arithmetic of getelementptr, index by index. */
#ifndef NVM_IR_GEP_H
#define NVM_IR_GEP_H

#include "ir/function.h"

/* The type that the next index selects from. The first index counts whole objects. */
struct gep_walk {
  struct nvm_module *module;
  struct nvm_type type;
  bool inside; /* the first index has been passed */
};

/* `aux` of the getelementptr, instruction or constant, is its element type. */
static inline struct gep_walk gep_begin(struct nvm_module *m, uint32_t aux) {
  return (struct gep_walk){m, {aux}, false};
}
/* The stride of the next index in bytes. If it selects a struct member, the member's offset, and
 * *is_member is set. Struct indices may be splats. */
uint64_t gep_step(struct gep_walk *w, struct nvm_value index, bool *is_member);

/* The offset of a getelementptr in bytes, modulo 2^64; false unless all indices are constant
 * integers. */
bool gep_constant_offset(const struct nvm_function *f, const struct nvm_inst *gep, int64_t *offset);
/* The same if its magnitude is at most 2^40, so that several can be added. */
bool gep_small_offset(const struct nvm_function *f, const struct nvm_inst *gep, int64_t *offset);
/* The same of an address in an object of `size` bytes through which the object is only accessed. An
 * index of an inbounds gep with a stride of at least `size` counts as 0: any other leads to the end
 * or beyond, from where a later step may lead back. Then the offset is wrong by `size` or more: the
 * caller must give up where an access is not inside the object by these offsets. */
bool gep_offset_in_object(const struct nvm_function *f, const struct nvm_inst *gep, uint64_t size,
                          int64_t *offset);

#endif
