/* Natural loops: the nest, its blocks, preheaders, latches, exits, and the !llvm.loop hints.
 *
 * A back edge is an edge to a block that dominates its source; that block is a loop header. The
 * loop is the header and all blocks that reach a back edge to it without passing it. Irreducible
 * cycles are not loops. */
#ifndef NVM_ANALYSIS_LOOPS_H
#define NVM_ANALYSIS_LOOPS_H

#include "analysis/effects.h"
#include "ir/dominance.h"

struct loop {
  struct nvm_block header;
  /* The next four are {0} if there is no such block, or several. */
  struct nvm_block preheader; /* the predecessor of the header outside; its only successor is it */
  struct nvm_block latch;     /* the source of back edges */
  struct nvm_block exiting;   /* the block with edges out of the loop */
  struct nvm_block exit;      /* the target of edges out of the loop */
  struct nvm_meta hints;      /* !llvm.loop of the latches if they agree; {0}: none */
  uint32_t parent;            /* index into loops->data; 0: outermost */
  uint32_t depth;             /* 1: outermost */
  uint32_t end;               /* this loop and the loops in it have the indices n … end - 1 */
  /* loops->blocks[first_block …] with the blocks of inner loops, the header first, in a reverse
   * postorder in which every loop is contiguous. */
  uint32_t first_block, block_count;
  /* loops->exits[first_exit …] in the order of their blocks; not listed if more than
   * LOOP_MOST_EXITS. */
  uint32_t first_exit, exit_count;
};

/* An edge out of a loop. */
struct loop_exit {
  struct nvm_block from, to;
};

enum { LOOP_MOST_EXITS = 1024 };

struct loops {
  struct loop *data;   /* in preorder of the nest; [0]: all reachable blocks */
  uint32_t count;      /* loops 1 … count */
  uint32_t *innermost; /* by block: the innermost loop it is in, 0: none */
  struct nvm_block *blocks;
  struct loop_exit *exits;
  uint32_t known_blocks; /* blocks added later are in no loop */
};

/* In `arena`; false when out of memory. Cost: close to linear in blocks and edges. */
bool loops_compute(struct loops *l, const struct nvm_function *f, const struct dominance *d,
                   struct arena *arena);
/* The edges out of loop n, *count of them; NULL and 0 if there are too many to list. */
const struct loop_exit *loops_exits(const struct loops *l, uint32_t n, uint32_t *count);
/* Whether block b is in loop n or a loop in it. */
static inline bool loops_contains(const struct loops *l, uint32_t n, struct nvm_block b) {
  uint32_t inner = b.index < l->known_blocks ? l->innermost[b.index] : 0;
  return n == 0 || (inner >= n && inner < l->data[n].end);
}
/* Whether every cycle is in a loop: none is irreducible. False when out of memory, too. */
bool loops_are_all_cycles(const struct nvm_function *f, const struct dominance *d,
                          struct arena *arena);
/* The nearest block that dominates `place` (none: any), and the block where i uses its operand k,
 * and that is in no loop. */
struct nvm_block loops_place_above(const struct loops *l, const struct nvm_function *f,
                                   const struct dominance *d, struct nvm_block place,
                                   const struct nvm_inst *i, uint32_t k);
/* Whether v is a constant, an argument, or computed outside loop n. */
bool loops_is_invariant(const struct loops *l, const struct nvm_function *f, uint32_t n,
                        struct nvm_value v);

/* Instructions that an instruction counts as when loops are copied: phis, jumps, bitcasts, debug
 * records and lifetime markers become no code; a call also saves registers, and passes its
 * arguments in memory. */
static inline uint32_t loops_work(const struct nvm_function *f, const struct nvm_inst *i) {
  enum { CALL_WORK = 25 };
  if (i->op == OP_PHI || i->op == OP_BR || i->op == OP_DBG_RECORD || i->op == OP_BITCAST ||
      effects_is_lifetime_marker(f, i))
    return 0;
  const struct nvm_function *g = call_function(f, i);
  return g && !function_is_declaration(g) ? CALL_WORK : 1;
}

/* !llvm.loop of a branch; {0}: none. */
struct nvm_meta loops_hints_of(const struct nvm_function *f, struct nvm_inst_id branch);
/* The name of an operand of an !llvm.loop node; {0} if it is not a hint. */
struct nvm_str loops_hint_name(const struct nvm_module *m, struct nvm_meta hint);
/* One hint of an !llvm.loop node. */
struct loop_hint {
  bool given;
  int64_t value; /* 1 for a hint without a value */
};
/* The hint of that name ("llvm.loop.vectorize.width"), not given if `hints` has none or is {0}. */
struct loop_hint loops_hint(const struct nvm_function *f, struct nvm_meta hints, const char *name);

/* Whether they forbid unrolling: llvm.loop.unroll.disable, or a count of at most one copy. */
bool loops_forbid_unrolling(const struct nvm_function *f, struct nvm_meta hints);

#endif
