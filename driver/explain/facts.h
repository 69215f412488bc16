/* What the analyses know of a function, as text, for the recording (facts.c) and for `nvmini
 * compile --emit` of an analysis (analyses.c). Texts are in the arena of the facts, and empty if
 * nothing is known. Values and blocks need names. */
#ifndef NVM_DRIVER_EXPLAIN_FACTS_H
#define NVM_DRIVER_EXPLAIN_FACTS_H

#include "analysis/divergence.h"
#include "analysis/loops.h"
#include "analysis/pressure.h"
#include "analysis/scev.h"
#include "driver/explain/explain.h"

/* One function, with everything in an arena of its own except what is recorded. */
struct facts {
  struct explain *e;
  const struct nvm_function *f;
  struct arena arena;
  struct dominance dominance;
  struct loops loops;
  struct divergence divergence;
  struct pressure pressure;
  struct scev_env *scev;
  uint32_t *block_index; /* by block: its number in layout order */
  uint32_t *line;        /* by instruction; 0: unknown */
  uint32_t *block_line;  /* by block */
};

/* `x` has e and f set. False when out of memory; facts_end() follows in any case. */
bool facts_compute(struct facts *x);
void facts_end(struct facts *x);

/* `%x`; empty for other values than instructions, arguments and blocks. */
struct nvm_text facts_value(struct facts *x, struct nvm_value v);
/* `0 to 15`, or `0 to 4000000000 unsigned`. */
struct nvm_text facts_range(struct facts *x, struct nvm_value v);
/* A character 0, 1 or x per bit, the highest first. */
struct nvm_text facts_bits(struct facts *x, struct nvm_value v);
/* The affine form of an instruction in a loop, if it is more than the value itself. */
struct nvm_text facts_scev(struct facts *x, struct nvm_inst_id i);
/* How often the back edge of loop n is taken. */
struct nvm_text facts_trip_count(struct facts *x, uint32_t n);

#endif
