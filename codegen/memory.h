/* Loads and stores (memory.c), copies of blocks (block.c), atomics (atomic.c). */
#ifndef NVM_CODEGEN_MEMORY_H
#define NVM_CODEGEN_MEMORY_H

#include "codegen/address.h"

/* Loads and stores all parts of a type at an address, as wide as the alignment allows. */
void memory_load_parts(struct lower *l, struct nvm_type type, const struct ptx_reg *to,
                       struct address from, struct memory_access how);
void memory_store_parts(struct lower *l, struct nvm_type type, const struct ptx_operand *from,
                        struct address to, struct memory_access how);

/* How many bytes a load can extend: lanes of its own vector, or bytes of words, to 32 bits. */
enum { MAX_EXTENDED_LANES = 4, MAX_EXTENDED_BYTES = 16 };

/* llvm.memcpy, memmove, memset (also .inline, element-atomic refused). */
void block_lower_copy(struct lower *l, const struct nvm_inst *i, bool may_overlap);
void block_lower_fill(struct lower *l, const struct nvm_inst *i);
/* Copies `bytes` bytes between addresses, unrolled or as a loop. */
void block_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes,
                      bool is_volatile);

/* Whether seq_cst atomics without a scope are relaxed at GPU scope, given the knob
 * nvptx-relaxed-atomics. */
bool atomic_is_relaxed_module(const struct nvm_module *m, int32_t knob);

#endif
