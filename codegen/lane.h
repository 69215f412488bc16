/* A vector as scalars, packed pairs taken apart. A scalar is one lane. */
#ifndef NVM_CODEGEN_LANE_H
#define NVM_CODEGEN_LANE_H

#include "codegen/emit.h"

struct lanes {
  uint32_t count;
  uint32_t parts_each; /* parts of one lane: 1, or 2 for wide integers */
  struct nvm_type scalar;
  struct ptx_operand *at; /* lane k, part j: at[k * parts_each + j]; in the function arena */
};
/* The lanes of an operand; constants may be immediates, as with value_operand(). */
struct lanes lane_split(struct lower *l, struct nvm_value v);
/* Registers for the lanes of the current instruction's result: its own, or temporaries for packed
 * pairs, which lane_join() then packs. */
struct lanes lane_targets(struct lower *l, struct nvm_type type, const struct ptx_reg *to);
void lane_join(struct lower *l, struct nvm_type type, const struct ptx_reg *to, struct lanes from);
/* Calls `lane` for each part of an instruction or call, with that part of the first `count`
 * operands. */
void lane_by_parts(struct lower *l, const struct nvm_inst *i, uint32_t count, lane_function *lane,
                   const void *how);

/* Lanes of a type. The lane that a constant index names; false if v is none. */
uint64_t lane_count(struct lower *l, struct nvm_type type);
bool lane_index(struct lower *l, struct nvm_value v, uint64_t *index);
/* Lanes k and k + 1 of a packed vector; an undefined one is replaced by the other. */
void lane_split_pair(struct lower *l, struct nvm_value v, uint32_t k, struct ptx_operand lanes[2]);
/* The scalar that was inserted as lane k of *v; VALUE_NULL: none, and *v becomes the vector below
 * the insertions. */
struct nvm_value lane_inserted(struct lower *l, struct nvm_value *v, uint32_t k);
/* Gives a lane instruction's result the registers in which its lanes are already; false if a lane
 * must be moved. */
bool lane_share(struct lower *l, struct nvm_inst_id id);

#endif
