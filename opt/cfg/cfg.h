/* Changes of the control flow graph that several passes make. */
#ifndef NVM_OPT_CFG_H
#define NVM_OPT_CFG_H

#include "ir/function.h"

/* Removes all but `keep` of the entries for edges from → to in the phis of `to`. The caller
 * changes the branch. */
void cfg_remove_phi_edges(struct nvm_function *f, struct nvm_block to, struct nvm_block from,
                          uint32_t keep);

/* Replaces `from` by `to` in the phis of b. */
void cfg_rename_phi_edges(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                          struct nvm_block to);
/* Moves i and the instructions after it to the end of block `to`, and renames the edges in the
 * successors' phis. */
void cfg_move_rest(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block to);
/* Replaces `from` by `to` in the terminator of b; the caller changes the phis. */
void cfg_redirect(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                  struct nvm_block to);

/* Replaces the terminator t by one with these operands and t's location. False when out of memory.
 */
bool cfg_replace_terminator(struct nvm_function *f, struct nvm_inst_id t, enum op op,
                            const struct nvm_value *operands, uint32_t count);

/* Replaces b's terminator by a jump to `to`, one of its successors, and removes its other edges
 * from phis. */
void cfg_make_jump(struct nvm_function *f, struct nvm_block b, struct nvm_block to);

/* The successor that t, a conditional branch or a switch, takes for this value of its operand. */
struct nvm_block cfg_successor_for(const struct nvm_function *f, const struct nvm_inst *t,
                                   nvm_u128 value);
/* The only possible successor of a terminator with a constant condition or equal targets; {0} if
 * unknown. */
struct nvm_block cfg_known_successor(const struct nvm_function *f, struct nvm_block b);

/* Whether a branch targets its own or an earlier block in the layout; if not, there is no loop.
 * Scratch memory; true when out of it. */
bool cfg_may_loop(const struct nvm_function *f, struct arena *arena);

/* Removes unreachable blocks. Returns their number, or -1 when out of memory. */
int64_t cfg_remove_unreachable(struct nvm_function *f, struct arena *arena);
/* The same; *edges, in `arena`, gets the number of incoming edges by block, plus one for the
 * entry. */
int64_t cfg_keep_reachable(struct nvm_function *f, struct arena *arena, uint32_t **edges);

#endif
