/* Values that are known where a branch's condition is: see branch_values.c. */
#ifndef NVM_OPT_SCALAR_BRANCH_VALUES_H
#define NVM_OPT_SCALAR_BRANCH_VALUES_H

#include "ir/dominance.h"

struct branch_values {
  struct nvm_function *f;
  const struct dominance *dominance;
  struct arena *arena;
  uint32_t insts;                /* later instructions are not considered */
  struct nvm_value *known_value; /* by instruction: what it equals here by a branch condition */
  VEC(struct nvm_inst_id) known_values;
  /* The selects and extensions that read a condition: by instruction, then argument, the first; by
   * instruction the next. */
  struct nvm_inst_id *first_reader, *next_reader;
  bool changed;
};

/* The tables are in `arena`. False when out of memory. */
bool branch_values_init(struct branch_values *w, struct nvm_function *f,
                        const struct dominance *dominance, struct arena *arena);
/* Records what the only edge into b implies. False when out of memory. */
bool branch_values_enter(struct branch_values *w, struct nvm_block b);
/* Replaces operands of i, which is no phi, by the values that they equal; returns their number. */
uint32_t branch_values_use(struct branch_values *w, struct nvm_inst_id i);
/* Replaces operands in phis of b's successors for the edges from b. False when out of memory. */
bool branch_values_leave(struct branch_values *w, struct nvm_block b);
static inline uint32_t branch_values_count(const struct branch_values *w) {
  return w->known_values.count;
}
/* Forgets all but the first `count` recorded values. */
void branch_values_forget(struct branch_values *w, uint32_t count);
/* Whether the phi is true on all paths through successor `yes` of d and false on the others. */
bool branch_values_is_condition(const struct branch_values *w, const struct nvm_inst *phi,
                                struct nvm_block d, uint32_t yes);

#endif
