/* Shared by loop passes: analyses, split edges, copies of blocks, hints. */
#ifndef NVM_OPT_LOOP_TOOLS_H
#define NVM_OPT_LOOP_TOOLS_H

#include "analysis/loops.h"
#include "opt/pass.h"
#include "target/cost.h"

struct loop_nest {
  struct dominance d;
  struct loops loops;
  struct arena *arena;
  bool *open; /* by loop: not closed; NULL: not computed yet */
};
/* The nest before the pass changes the control flow; false when out of memory. */
bool loop_nest_of(struct loop_nest *n, const struct nvm_function *f, struct pass_env *env);
/* The current nest. */
bool loop_nest_compute(struct loop_nest *n, const struct nvm_function *f, struct arena *arena);

/* Redirects edges from `count` distinct blocks to b through a new block, placed before b in the
 * layout; b's phis get one entry for it. {0} when out of memory. */
struct nvm_block loop_split_predecessors(struct nvm_function *f, struct nvm_block b,
                                         const struct nvm_block *from, uint32_t count);

/* Copies of blocks. */
struct loop_copy {
  struct nvm_value *values; /* by instruction: its copy; VALUE_NULL or beyond value_count: itself */
  struct nvm_block *blocks; /* by block: likewise */
  uint32_t value_count,
      block_count; /* entries of the maps: at least the instructions and blocks before copying */
  struct nvm_block header; /* phis of this block are not copied: `values` holds their values */
};
/* Creates empty maps, or enlarges them for new instructions; false when out of memory. */
bool loop_copy_init(struct loop_copy *c, const struct nvm_function *f, struct arena *arena);
bool loop_copy_grow(struct loop_copy *c, const struct nvm_function *f, struct arena *arena);
/* Clears the entries of these blocks. */
void loop_copy_forget(struct loop_copy *c, const struct nvm_function *f,
                      const struct nvm_block *blocks, uint32_t count);
/* The copy of v. */
struct nvm_value loop_copy_of(const struct loop_copy *c, struct nvm_value v);
/* Copies an instruction with mapped operands, and records it. {0} when out of memory. */
struct nvm_inst_id loop_copy_inst(struct loop_copy *c, struct nvm_function *f,
                                  struct nvm_inst_id i);
/* Copies the blocks, of which the first is the loop's header, before `before` in the layout ({0}:
 * to the end), without debug records. Branches and phis in them refer to the copies; the caller
 * changes other phis. Values in the maps on entry are kept; copies that fold are recorded as
 * constants. */
bool loop_copy_blocks(struct loop_copy *c, struct nvm_function *f, const struct nvm_block *blocks,
                      uint32_t count, struct nvm_block before);

/* Adds entries for the copies to phis of the exits. False when out of memory. */
bool loop_copy_exits(const struct loop_copy *c, struct nvm_function *f,
                     const struct nvm_block *blocks, uint32_t block_count);

/* Replaces the phi's entry for block `old` by v from block `from`. */
void loop_replace_incoming(struct nvm_function *f, struct nvm_inst_id phi, struct nvm_block old,
                           struct nvm_value v, struct nvm_block from);

/* The machine instructions that a division becomes; 0: i is none, or becomes a product, as that of
 * an integer by a constant. */
cost loop_division_cost(const struct nvm_function *f, const struct nvm_target *target,
                        const struct nvm_inst *i);
/* Whether the loop can be copied: no scope declarations, no noduplicate calls, at most `most`
 * instructions that cost something (*size). *convergent: it has a convergent operation. */
bool loop_is_copyable(const struct nvm_function *f, const struct loops *l, uint32_t n,
                      uint32_t most, bool *convergent, uint32_t *size);
/* Whether a load of the loop is executed in some iterations only. It waits for its branch, so
 * unrolling does not increase the number of loads in flight. */
bool loop_loads_conditionally(const struct nvm_function *f, const struct loop_nest *nest,
                              uint32_t n);
/* Whether an iteration reads from memory. An operation whose result is unused does not count. */
bool loop_loads(const struct nvm_function *f, const struct loop_nest *nest, uint32_t n);
/* Whether hints of the loop say how to unroll it. */
bool loop_unrolling_is_hinted(const struct nvm_function *f, const struct loop *l);
/* Whether loop n has a preheader, a latch, dedicated exits and LCSSA form. Computed for all loops
 * at the first call; a pass that changes loops keeps the others closed. */
bool loop_is_closed(struct loop_nest *nest, const struct nvm_function *f, uint32_t n);

/* Sets the latch's !llvm.loop: that of `old` without hints that begin with `without`, plus `hint`
 * (may be NULL). False when out of memory. */
bool loop_set_hint(struct nvm_function *f, struct nvm_block latch, struct nvm_meta old,
                   const char *without, const char *hint);
/* Sets (or with {0} removes) !llvm.loop of a branch. False when out of memory. */
bool loop_attach(struct nvm_function *f, struct nvm_inst_id branch, struct nvm_meta loop);

#endif
