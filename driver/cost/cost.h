/* `nvmini cost`: what the loops of a PTX function cost on a CPU, without running them; docs/cost.md
 * explains the model.
 *
 *   cost_graph_build()   graph.c: blocks and natural loops
 *   cost_price()         price.c: unit, slots and latency of an instruction
 *   cost_loop_measure()  chain.c: the carried chain, and one warp in order
 *   cost_report()        report.c: the tables that the command prints
 *
 * Cycles are those of one SM sub-partition, and loops are counted per warp and iteration. */
#ifndef NVM_DRIVER_COST_COST_H
#define NVM_DRIVER_COST_COST_H

#include "driver/options.h"
#include "ptx/ptx.h"
#include "target/cost.h"

enum { COST_NONE = -1 };

enum cost_unit {
#define UNIT(id, name) COST_UNIT_##id,
#define RUNS_ON(class, unit)
#include "driver/cost/units.def"
#undef UNIT
#undef RUNS_ON
  COST_UNIT_COUNT,
};

/* What an instruction of PTX costs. */
struct cost_price {
  enum ptx_issue issue;
  enum cost_unit unit;
  const char *space;  /* of a memory access: "global"; otherwise "" */
  const char *access; /* of memory: "load", "store" or "atomic"; otherwise "" */
  bool is_known;      /* false: the tables have no price; it counts as one slot without latency */
  uint32_t bytes;     /* that a thread loads or stores */
  cost machine;       /* machine instructions: issue slots */
  cost slots;         /* cycles that its unit is busy with a warp */
  cost latency;       /* cycles until a dependent instruction can start */
};

/* Of a PTX_INST entry. */
struct cost_price cost_price(const struct nvm_target *target, const struct ptx_function *f,
                             const struct ptx_entry *e);
/* "alu" */
const char *cost_unit_name(enum cost_unit unit);

/* A basic block: the entries [begin, end) of the function. */
struct cost_block {
  uint32_t begin, end;
  uint32_t first_to, to_count;     /* successors: graph.to[first_to …] */
  uint32_t first_from, from_count; /* predecessors */
  uint32_t order;                  /* in reverse postorder, from 1; 0: unreachable */
  uint32_t dominator;              /* the immediate one; of the entry itself */
  uint32_t loop;                   /* innermost, from 1; 0: none */
};

struct cost_loop {
  uint32_t header; /* block */
  uint32_t parent; /* loop; 0: outermost */
  uint32_t depth;  /* 1: outermost */
  bool is_innermost;
};

struct cost_graph {
  struct arena *arena;
  const struct ptx_function *function;
  VEC(struct cost_block) blocks;
  VEC(uint32_t) to;
  VEC(uint32_t) from;
  VEC(uint32_t) order;         /* reachable blocks in reverse postorder */
  VEC(struct cost_loop) loops; /* [0]: dummy; outer loops precede inner ones */
};

/* False when out of memory. */
bool cost_graph_build(struct cost_graph *g, const struct ptx_function *f, struct arena *arena);
/* Whether block a dominates block b. */
bool cost_dominates(const struct cost_graph *g, uint32_t a, uint32_t b);

/* An instruction of a loop. */
struct cost_inst {
  uint32_t entry, block;
  struct cost_price price;
  uint32_t first_write, write_count, first_read, read_count; /* into loop registers */
  bool is_guarded, is_branch;
  bool is_on_chain;
};

/* What is known of a loop; instructions of inner loops are not included. */
struct cost_measured {
  VEC(struct cost_inst) insts; /* in reverse postorder of blocks */
  VEC(uint32_t) registers;     /* of reads and writes: numbers that are local to the loop */
  uint32_t register_count;
  VEC(uint32_t) chain; /* the longest carried chain: instructions in order */
  cost chain_cycles;   /* its latency, for chain_iterations iterations */
  uint32_t chain_iterations;
  bool is_too_large; /* the chain was not computed */
  cost machine;      /* sums of all instructions */
  cost slots[COST_UNIT_COUNT];
  cost throughput; /* cycles of the busiest: a unit, or the issue (COST_UNIT_COUNT) */
  enum cost_unit busiest;
  cost one_warp;    /* cycles of one warp alone, in the order of the PTX */
  bool has_unknown; /* instructions without a price */
};

/* Loop number `loop` of the graph; chain and one_warp only if it is innermost. False when out of
 * memory. */
bool cost_loop_measure(struct cost_measured *m, const struct cost_graph *g, uint32_t loop,
                       const struct nvm_target *target, struct arena *arena);

/* Prints the loops of a parsed module; `shown`: its name for messages. Returns the exit status. */
int cost_report(const struct options *o, const char *shown, const struct ptx_module *m,
                const struct nvm_target *target);

/* The tables of one function as a JSON object. False when out of memory. */
bool cost_write_json(const struct ptx_module *m, const struct ptx_function *f,
                     const struct nvm_target *target, struct textbuf *out);

#endif
