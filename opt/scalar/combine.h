/* What the parts of the pass "combine" share: the worklist (combine.c), the rules of combine.rules
 * (combine_rules.c) and what needs code (combine_code.c). */
#ifndef NVM_OPT_COMBINE_H
#define NVM_OPT_COMBINE_H

#include "opt/pass.h"

/* Use lists, doubly linked: operand slots of the function + 1, 0 ends. */
struct combine_use { /* by slot */
  uint32_t next, previous;
  struct nvm_inst_id user;
};
struct combine_inst {    /* by instruction */
  uint32_t head;         /* of the list of its uses */
  bool waiting;          /* on the stack */
  struct nvm_value fate; /* what a removed one became; VALUE_NULL: nothing */
};

struct combiner {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  bool changed;
  VEC(struct combine_inst)
  insts; /* made when something is queued, for most runs find nothing to do */
  VEC(struct combine_use) uses; /* made when something new is, or takes the place of something */
  bool linked;                  /* they are */
  VEC(uint32_t) stack;          /* work: instructions */
  uint64_t budget;              /* replacements still allowed */
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
/* The same for phis, addresses, vectors, aggregates and calls. */
struct nvm_value combine_try_code(struct combiner *k, struct nvm_inst_id root);
/* br (xor c, true), a, b: br c, b, a, in place. Whether it was so. */
bool combine_unnegate_branch(struct combiner *k, struct nvm_inst_id root);

#endif
