/* Changes of the control flow graph that several passes make. */
#ifndef NVM_OPT_CFG_H
#define NVM_OPT_CFG_H

#include "ir/function.h"

/* Forgets all but `keep` of the edges from → to in the phis of `to`. The branch itself is the
 * caller's business. */
void cfg_remove_phi_edges(struct nvm_function *f, struct nvm_block to, struct nvm_block from,
                          uint32_t keep);

/* Entries of `from` in the phis of b are entries of `to` from now on. */
void cfg_rename_phi_edges(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                          struct nvm_block to);
/* Moves i and what stands behind it to the end of block `to`, which successors' phis then name. */
void cfg_move_rest(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block to);
/* The branches in b that go to `from` go to `to`; phis are the caller's business. */
void cfg_redirect(struct nvm_function *f, struct nvm_block b, struct nvm_block from,
                  struct nvm_block to);

/* Replaces the terminator t by another of these operands, located where it was. False when out of
 * memory. */
bool cfg_replace_terminator(struct nvm_function *f, struct nvm_inst_id t, enum op op,
                            const struct nvm_value *operands, uint32_t count);

/* Replaces b's terminator by a jump to `to`, which is one of its successors; its other edges are
 * forgotten in the phis of their targets, one entry an edge. */
void cfg_make_jump(struct nvm_function *f, struct nvm_block b, struct nvm_block to);

/* The only successor that a terminator with a constant condition (or with equal targets) can take;
 * {0} if that is not known. */
struct nvm_block cfg_known_successor(const struct nvm_function *f, struct nvm_block b);

/* The blocks that paths from the entry reach, each behind those that it is the first to lead to:
 * order[0 … *count - 1], room for all. False when out of memory. */
bool cfg_postorder(const struct nvm_function *f, struct nvm_block *order, uint32_t *count,
                   struct arena *arena);

/* Whether a branch goes back to a block that is laid out before it, or to its own: without, there
 * is no loop. Scratch memory; true when out of it. */
bool cfg_may_loop(const struct nvm_function *f, struct arena *arena);

/* Removes the blocks that no path from the entry reaches. Returns how many, or -1 when out of
 * memory. */
int64_t cfg_remove_unreachable(struct nvm_function *f, struct arena *arena);
/* The same; *edges, in `arena`, is by block how many edges lead there from then on, one more for
 * the entry. */
int64_t cfg_keep_reachable(struct nvm_function *f, struct arena *arena, uint32_t **edges);

#endif
