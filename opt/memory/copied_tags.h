/* Type tags of the loads and stores that a memcpy is replaced by. */
#ifndef NVM_OPT_COPIED_TAGS_H
#define NVM_OPT_COPIED_TAGS_H

#include "ir/function.h"

/* Attaches !tbaa to `access`, which accesses bytes [offset, offset + size) of what the memcpy
 * copies, if its !tbaa.struct has one member of exactly these bytes and no other that overlaps
 * them. `copy` is the memcpy's chain of attachments. Out of memory is a state of the module. */
void copied_tags_attach(struct nvm_function *f, uint32_t copy, struct nvm_value access,
                        uint64_t offset, uint64_t size);

#endif
