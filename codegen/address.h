/* Addresses of accesses (address.c), the frame (frame.c), byval parameters in place (byval.c). */
#ifndef NVM_CODEGEN_ADDRESS_H
#define NVM_CODEGEN_ADDRESS_H

#include "codegen/lower.h"

/* base + offset in a state space. */
struct address {
  struct ptx_operand at; /* PTX_OPERAND_ADDRESS_* */
  uint16_t space;        /* PTX_MOD_GLOBAL, SHARED, LOCAL, CONST, PARAM, or 0: generic */
  uint32_t align;        /* known alignment in bytes, at least 1 */
};
/* The address that select_address() chose for a pointer. */
struct address address_of(struct lower *l, struct nvm_value pointer);
static inline struct address address_plus(struct address a, int64_t offset) {
  a.at.imm += offset;
  return a;
}
/* Computes the product that index_product_early() chose for an extension, if any: the
 * getelementptrs that are lowered later reuse it. */
void address_make_product(struct lower *l, struct nvm_inst_id extension);
/* The address in a new register, as wide as it is. */
struct ptx_reg address_register(struct lower *l, struct address a);

/* Gives allocas of constant size in the entry block fixed places in the frame. */
bool frame_plan(struct lower *l);
/* Moves the allocas of fixed places in kernels, where threads may exit before they need an address,
 * to the nearest block that dominates all uses and is in no loop. False when out of memory. */
bool frame_sink_addresses(struct lower *l);
/* Whether an alloca has a fixed place; its offset in bytes. */
bool frame_place(const struct lower *l, struct nvm_inst_id alloca, uint32_t *offset);
/* More room in the frame: its offset. */
uint64_t frame_reserve(struct lower *l, uint64_t bytes, uint32_t align);
/* A place in the frame as a symbol, as an address, and as a pointer of an address space. */
struct ptx_operand frame_symbol(const struct lower *l, uint64_t offset);
struct address frame_address(const struct lower *l, uint64_t offset);
struct ptx_reg frame_pointer(struct lower *l, uint64_t offset, uint32_t address_space);
/* Writes the declaration of the frame, if there is one, before all other entries. */
void frame_declare(struct lower *l);

struct parameter;
/* Finds the byval parameters that are read in place. */
void byval_plan(struct lower *l, const struct parameter *parameters, uint32_t count);
/* Whether a pointer is based on such a parameter, so that its address is in .param. If it is the
 * parameter itself, *name is set. */
bool byval_in_place(const struct lower *l, struct nvm_value pointer, struct nvm_str *name);

#endif
