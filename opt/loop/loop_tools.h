/* What loop passes share: the analyses of a function, edges that get a block of their own, copies
 * of blocks, hints. */
#ifndef NVM_OPT_LOOP_TOOLS_H
#define NVM_OPT_LOOP_TOOLS_H

#include "analysis/loops.h"
#include "opt/pass.h"

struct loop_nest {
  struct dominance d;
  struct loops loops;
  struct arena *arena;
  bool *open; /* by loop, of loop_is_closed; NULL: not asked yet */
};
/* As the pass finds it, before it changes the control flow; false when out of memory. */
bool loop_nest_of(struct loop_nest *n, const struct nvm_function *f, struct pass_env *env);
/* As it is now. */
bool loop_nest_compute(struct loop_nest *n, const struct nvm_function *f, struct arena *arena);

/* A new block through which the `count` blocks (each once) go to b instead, placed before b in the
 * layout; b's phis get one entry for it. {0} when out of memory. */
struct nvm_block loop_split_predecessors(struct nvm_function *f, struct nvm_block b,
                                         const struct nvm_block *from, uint32_t count);

/* Copies of blocks. */
struct loop_copy {
  struct nvm_value *values; /* by instruction: its copy; VALUE_NULL, or not in the map: itself */
  struct nvm_block *blocks; /* by block: likewise */
  uint32_t value_count,
      block_count; /* entries of the maps: instructions and blocks when they were made, or more */
  struct nvm_block header; /* phis of this block are not copied: `values` holds what they are */
};
/* Empty maps, or maps with room for what has been made since; false when out of memory. */
bool loop_copy_init(struct loop_copy *c, const struct nvm_function *f, struct arena *arena);
bool loop_copy_grow(struct loop_copy *c, const struct nvm_function *f, struct arena *arena);
/* Forgets what these blocks were copied to. */
void loop_copy_forget(struct loop_copy *c, const struct nvm_function *f,
                      const struct nvm_block *blocks, uint32_t count);
/* What v is in the copy. */
struct nvm_value loop_copy_of(const struct loop_copy *c, struct nvm_value v);
/* Copies an instruction, its operands as the maps say so far, and notes it. {0} when out of memory.
 */
struct nvm_inst_id loop_copy_inst(struct loop_copy *c, struct nvm_function *f,
                                  struct nvm_inst_id i);
/* Copies the blocks behind `before` in the layout ({0}: at the end), debug records left out;
 * branches and phis among them name the copies, and phis outside are the caller's business. What
 * the maps hold on entry for values stays; what folds in the copy is a constant in the maps, not
 * copied. */
bool loop_copy_blocks(struct loop_copy *c, struct nvm_function *f, const struct nvm_block *blocks,
                      uint32_t count, struct nvm_block before);

/* Phis outside, of blocks that the copied ones go to, get entries for the copies. False when out of
 * memory. */
bool loop_copy_exits(const struct loop_copy *c, struct nvm_function *f,
                     const struct nvm_block *blocks, uint32_t block_count);

/* The value of a phi on the edge from block b; VALUE_NULL if there is none. */
struct nvm_value loop_incoming(const struct nvm_function *f, struct nvm_inst_id phi,
                               struct nvm_block b);

/* May a loop's blocks be copied at all: no scope declarations, no calls that must not be
 * duplicated, no more than `most` instructions that cost something (*size). *convergent: has some
 * operation that must not become conditional on anything new. */
bool loop_is_copyable(const struct nvm_function *f, const struct loops *l, uint32_t n,
                      uint32_t most, bool *convergent, uint32_t *size);
/* Whether loop n has a preheader, a latch, dedicated exits, and values that are used outside only
 * by phis of these (LCSSA). All loops' values are looked at when first asked; a pass that changes
 * loops keeps the others closed. */
bool loop_is_closed(struct loop_nest *nest, const struct nvm_function *f, uint32_t n);

/* The latch's !llvm.loop without hints that begin with `without`, and with `hint` (NULL: none).
 * False when out of memory. */
bool loop_set_hint(struct nvm_function *f, struct nvm_block latch, struct nvm_meta old,
                   const char *without, const char *hint);
/* Puts !llvm.loop on a branch; {0}: takes it off. False when out of memory. */
bool loop_attach(struct nvm_function *f, struct nvm_inst_id branch, struct nvm_meta loop);

#endif
