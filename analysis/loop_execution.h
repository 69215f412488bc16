/* Loops executed at compile time as far as constants determine them: trip counts that no formula
 * gives (`for (o = 16; o > 0; o >>= 1)`), and what is left of each iteration when the loop is
 * unrolled fully. Works on numbers (ir/eval.h), not on memory. */
#ifndef NVM_ANALYSIS_LOOP_EXECUTION_H
#define NVM_ANALYSIS_LOOP_EXECUTION_H

#include "analysis/loops.h"

struct loop_execution {
  bool ends;           /* constants alone decide that the loop ends */
  uint64_t iterations; /* begun, at most; exactly as many if no other exit is taken; 0: not
                        * executed */
  uint64_t left;       /* instructions in all of them that are not constant or unreachable */
};

struct executor; /* of one function and its loops */
/* NULL when out of memory. */
struct executor *loop_execution_init(const struct nvm_function *f, const struct loops *l,
                                     const struct dominance *d, struct arena *arena);
/* Executes loop n, which has a preheader and one latch, until it ends or passes one of the limits.
 * False when out of memory. Cost: linear in the instructions executed; the first iteration is
 * only if a phi starts with a number, later ones only while one is known. */
bool loop_execution_run(struct executor *x, uint32_t n, uint64_t most_iterations,
                        uint64_t most_left, struct loop_execution *out);

#endif
