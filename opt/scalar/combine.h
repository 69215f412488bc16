/* Shared by the files of combine: the worklist (combine.c), the rules of combine.rules
 * (combine_rules.c), and transformations that need code (combine_code.c, combine_lanes.c,
 * combine_addresses.c, combine_bits.c, combine_extremum.c, combine_precision.c). */
#ifndef NVM_OPT_COMBINE_H
#define NVM_OPT_COMBINE_H

#include "opt/pass.h"

/* Doubly linked use lists; a link is an operand slot of the function + 1, 0: the end. */
struct combine_use { /* by slot */
  uint32_t next, previous;
  struct nvm_inst_id user;
};
struct combine_inst {           /* by instruction */
  uint32_t head;                /* of the list of its uses */
  bool waiting;                 /* on the stack */
  struct nvm_value replacement; /* replacement of a removed one; VALUE_NULL: none */
};

struct combiner {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  bool changed;
  VEC(struct combine_inst)
  insts;                        /* allocated on demand: most runs change nothing */
  VEC(struct combine_use) uses; /* built by the first replacement */
  bool linked;                  /* the use lists are built */
  bool narrows_loads;           /* combine<loads> */
  bool flushes;                 /* denormals of f32 */
  bool divides_exactly;         /* f32 division is that of IEEE */
  VEC(uint32_t) stack;          /* worklist of instructions */
  uint64_t budget;              /* remaining number of replacements */
};

/* Builds an instruction before `root`, with its location, or a constant; links its uses and queues
 * it. Flags that the op cannot carry are dropped. VALUE_NULL when out of memory. */
struct nvm_value build_op(struct combiner *k, struct nvm_inst_id root, enum op op, uint32_t flags,
                          struct nvm_type type, uint32_t aux, uint32_t count,
                          const struct nvm_value *operands);
/* The same for a call of an intrinsic that is overloaded in its result's type. */
struct nvm_value build_call(struct combiner *k, struct nvm_inst_id root, uint32_t intrinsic,
                            uint32_t flags, struct nvm_type type, uint32_t count,
                            const struct nvm_value *operands);
/* An integer of that type, or a splat of it. */
struct nvm_value make_int(struct combiner *k, struct nvm_type type, uint64_t value);
/* `scalar`, or a splat of it for a vector type. VALUE_NULL when out of memory. */
struct nvm_value make_splat(struct combiner *k, struct nvm_type type, struct nvm_value scalar);
/* Replaces operand n of i by v and updates the use lists. */
void combine_set_operand(struct combiner *k, struct nvm_inst_id i, uint32_t n, struct nvm_value v);
/* Adds the value to the worklist. */
void combine_queue(struct combiner *k, struct nvm_value v);

/* The replacement of the instruction; VALUE_NULL if no rule applies. */
struct nvm_value combine_try_rules(struct combiner *k, struct nvm_inst_id root);
/* The same for phis, addresses, vectors, aggregates and calls. */
struct nvm_value combine_try_code(struct combiner *k, struct nvm_inst_id root);
/* Those of lanes and members (combine_lanes.c), for the op of their name; the words whose halves an
 * or, and a bitcast, joins; zext, sext and sitofp of a byte of a word. */
struct nvm_value combine_extractelement(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_extractvalue(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_shuffle(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_joined_halves(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_extended_byte(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_words_of_halves(struct combiner *k, struct nvm_inst_id root);
/* Those of combine_bits.c. */
struct nvm_value combine_byte_swap(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_count_of_bits(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_mask_of_counter(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_sum_of_bits(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_sum_of_constant(struct combiner *k, struct nvm_inst_id root);
/* Changes br (xor c, true), a, b to br c, b, a. Whether it did. */
bool combine_unnegate_branch(struct combiner *k, struct nvm_inst_id root);
/* Floats in a format that is wider than needed (combine_precision.c), for the op of their name. */
struct nvm_value combine_fptrunc(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_fcmp(struct combiner *k, struct nvm_inst_id root);
struct nvm_value combine_float_to_int(struct combiner *k, struct nvm_inst_id root);
/* combine_addresses.c: moves a generic gep into the space that its base is cast from and its result
 * is cast to. */
struct nvm_value combine_addrspacecast(struct combiner *k, struct nvm_inst_id root);
/* Whether a generic pointer is in the space `asked`; VALUE_NULL: not known. */
struct nvm_value combine_isspacep(struct combiner *k, const struct nvm_inst *i, uint32_t asked);
/* The larger or smaller one of a float and a constant, or the arm that is right for both
 * (combine_extremum.c). */
struct nvm_value combine_select(struct combiner *k, struct nvm_inst_id root);
/* Whether the extremum of an integer and a constant is the constant. */
struct nvm_value combine_is_limit(struct combiner *k, struct nvm_inst_id root);

#endif
