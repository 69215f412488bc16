/* The stages of lowering one function, in their order. */
#ifndef NVM_CODEGEN_STAGE_H
#define NVM_CODEGEN_STAGE_H

#include "codegen/lower.h"

/* Lowers one function definition and appends its text to l->out. */
enum nvm_status function_lower(struct lower *l, struct nvm_function *f);

/* Replaces operands that are, or contain, constant expressions by instructions, and atomic accesses
 * of vectors by those of integers; if it optimizes, a remainder by its quotient. */
bool legalize_function(struct nvm_function *f, bool optimizes);
/* Loads vectors in the form that all readers of their lanes want, and what is copied from and to
 * unaligned addresses as vectors. False when out of memory. */
bool loaded_lanes_change(struct nvm_function *f, struct arena *arena);
/* Reads addresses of variables in shared memory once; needs dominance and loops. False when out of
 * memory. */
bool shared_bases_place(struct lower *l);
/* Replaces the target of an alias of an alias by the final target; once for the module. */
void legalize_aliases(struct nvm_module *m);

/* Gives phis and their operands shared registers where their live ranges do not interfere. */
void coalesce_function(struct lower *l);
/* After that: whether a register of v, a phi, may hold a value that is needed in b or after it. */
bool coalesce_is_live_into(const struct lower *l, struct nvm_inst_id v, struct nvm_block b);

/* Sets l->layout and l->block_rank: the reachable blocks in the order of emission. */
bool placement_plan(struct lower *l);
/* Once phis are coalesced: takes blocks that only jump out of the layout, and those that l->merged
 * marks, whose copies the branch before them makes. */
void placement_skip_jumps(struct lower *l);
/* Removes or inverts the jumps at the end of a block, whose entries begin at `from`. */
void placement_end_block(struct lower *l, uint32_t from);

/* Groups the operands of phis by edge. */
bool phi_plan(struct lower *l);
/* The number of registers that the edge from → to copies. */
uint32_t phi_edge_copies(struct lower *l, struct nvm_block from, struct nvm_block to);
/* An edge of a branch to the block `first`, and the copies of from → to: the same edge, or the one
 * out of `first`, which has no other code. */
struct phi_edge {
  struct nvm_block first, from, to;
};
/* Whether the copies of e may be made before the branch to e and `other`, which reads `condition`:
 * always, under the guard of the branch, or not at all. */
enum phi_early { PHI_NOT_EARLY, PHI_EARLY, PHI_EARLY_GUARDED };
enum phi_early phi_early(struct lower *l, const struct phi_edge *e, const struct phi_edge *other,
                         struct ptx_reg condition);
/* Whether both edges make the same copies, of which none writes `condition`. */
bool phi_copies_agree(struct lower *l, const struct phi_edge *a, const struct phi_edge *b,
                      struct ptx_reg condition);
/* Whether so many copies pay before a branch; goes_back: those of an edge to a loop header. */
bool branch_copies_early(uint32_t copies, bool goes_back);
/* The copies for the edge from → to, as if done at once. True if any was emitted. */
bool phi_copy_edge(struct lower *l, struct nvm_block from, struct nvm_block to);
bool phi_in_block(const struct lower *l, struct nvm_block b);

/* Removes the copies that the entries since `from` end with; registers numbered above first_temp of
 * their class are temporaries of these entries. */
void tidy_copies(struct lower *l, uint32_t from, const uint32_t first_temp[PTX_CLASS_COUNT]);

/* Lanes of float that .f32x2 takes two at a time get registers of 64 bits, where that saves movs.
 */
void pairs_widen_registers(struct lower *l);

/* Makes conversions of two floats to a register of two halves or bfloats, if the CPU has them. */
void packed_conversions_make(struct lower *l);

/* Removes instructions whose result another register of the same stretch of code holds, copies and
 * unread results; not what inline assembly says. Registers of 64 bits numbered above first_wide may
 * be those of phis, which pairs_widen_registers() has made. */
void reuse_values(struct lower *l, uint32_t first_wide);

/* `.loc` before an instruction whose source location differs from the previous one's. */
void debug_write_location(struct lower *l, struct nvm_inst_id i);
/* The names of inlined functions that .loc lines refer to, after all functions. */
void debug_write_inlined_names(struct lower *l);

/* Comments of --asm-verbose: the loop that a block is in, after its label; the IR instruction
 * before its PTX. verbose_inst() returns the comment's entry for verbose_inst_end(), which removes
 * it if no instruction followed. */
bool verbose_plan(struct lower *l);
void verbose_block(struct lower *l, struct nvm_block b);
uint32_t verbose_inst(struct lower *l, struct nvm_inst_id i);
void verbose_inst_end(struct lower *l, uint32_t before);

#endif
