/* What the parts of the pass "combine" share: the worklist (combine.c), the rules of combine.rules
 * (combine_rules.c) and what needs code (combine_code.c). */
#ifndef NVM_OPT_COMBINE_H
#define NVM_OPT_COMBINE_H

#include "opt/pass.h"

struct combiner {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  bool changed;
  /* Use lists: by operand slot of the function, doubly linked, 0 ends (slot + 1 is stored). */
  VEC(uint32_t) head;   /* by instruction */
  VEC(uint32_t) next, previous, user; /* by slot */
  /* Work: a stack, and who is on it. */
  VEC(uint32_t) stack;
  VEC(bool) waiting;
  VEC(struct nvm_value) fate; /* by instruction: what a removed one became; VALUE_NULL: nothing */
  uint64_t budget;      /* replacements still allowed */
};

/* A new instruction before `root`, with its location, its uses noted and itself queued; folded if
 * its operands are constants. VALUE_NULL when out of memory. `flags` that the op cannot carry are
 * cut. */
struct nvm_value build_op(struct combiner *k, struct nvm_inst_id root, enum op op, uint32_t flags,
                          struct nvm_type type, uint32_t aux, uint32_t count,
                          const struct nvm_value *operands);
/* The same for a call of an intrinsic whose only overload is its result's type. */
struct nvm_value build_call(struct combiner *k, struct nvm_inst_id root, uint32_t intrinsic,
                            uint32_t flags, struct nvm_type type, uint32_t count,
                            const struct nvm_value *operands);
/* An integer of that type, or a vector of it in all lanes. */
struct nvm_value make_int(struct combiner *k, struct nvm_type type, uint64_t value);
/* `scalar`, or a vector of that type with it in all lanes. VALUE_NULL when out of memory. */
struct nvm_value make_splat(struct combiner *k, struct nvm_type type, struct nvm_value scalar);
/* Puts v in place of operand n of i, keeping the use lists. */
void combine_set_operand(struct combiner *k, struct nvm_inst_id i, uint32_t n, struct nvm_value v);
/* Looks at that value (again) later. */
void combine_queue(struct combiner *k, struct nvm_value v);

/* What the instruction can be replaced by: VALUE_NULL if no rule applies. */
struct nvm_value combine_try_rules(struct combiner *k, struct nvm_inst_id root);
/* The same for phis, addresses, vectors, aggregates and calls. May change operands in place, which
 * it says by *touched. */
struct nvm_value combine_try_code(struct combiner *k, struct nvm_inst_id root, bool *touched);

#endif
