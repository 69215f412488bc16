/* Shared by the files of the mutator: the function in hand, random choices of places and values. */
#ifndef NVM_FUZZ_MUTATOR_H
#define NVM_FUZZ_MUTATOR_H

#include "../random.h"
#include "ir/build.h"
#include "ir/dominance.h"

struct mutator {
  struct nvm_module *m;
  struct random random;
  struct nvm_function *f; /* the function to change */
  struct dominance d;     /* of f, as mutator_begin() found it */
  uint32_t *order;        /* by instruction: its position in the layout of f then, from 1 */
  uint32_t known;         /* instructions of `order`; later ones are not available as operands */
  uint32_t known_blocks;  /* of `d` */
};

/* One mutation of the module. False: it found no place, and the module computes what it did before
 * (it may have new instructions without uses). */
typedef bool mutation(struct mutator *m);

static inline uint64_t below(struct mutator *m, uint64_t n) { return random_below(&m->random, n); }
static inline bool once_in(struct mutator *m, uint64_t n) { return random_once_in(&m->random, n); }

/* Chooses a function with a body whose number is below `end`, larger ones more often, and computes
 * the tables for it. False: there is none, or out of memory. */
bool mutator_begin(struct mutator *m, uint32_t end);

/* A random definition among the functions from number `first` on; NULL: none. */
const struct nvm_function *pick_definition(struct mutator *m, uint32_t first);

/* A random instruction of f that `accept` takes; {0}: none. */
typedef bool inst_predicate(const struct nvm_function *f, const struct nvm_inst *i);
struct nvm_inst_id pick_inst(struct mutator *m, inst_predicate *accept);
/* The same among those of one block. */
struct nvm_inst_id pick_inst_in(struct mutator *m, struct nvm_block b, inst_predicate *accept);
/* Predicates: any instruction; one that others can be inserted before. */
bool inst_is_any(const struct nvm_function *f, const struct nvm_inst *i);
bool inst_is_place(const struct nvm_function *f, const struct nvm_inst *i);

/* Whether v can be an operand of an instruction before `at`, which existed at mutator_begin(). */
bool is_available(const struct mutator *m, struct nvm_value v, struct nvm_inst_id at);
/* A value of that type that is available before `at`, often a constant; VALUE_NULL: none. */
struct nvm_value pick_value(struct mutator *m, struct nvm_type type, struct nvm_inst_id at);
/* A value of any type that `accept` takes, available before `at`; VALUE_NULL: none. */
typedef bool type_predicate(const struct type_table *t, struct nvm_type type);
struct nvm_value pick_any(struct mutator *m, type_predicate *accept, struct nvm_inst_id at);
/* A constant, often an extreme one; VALUE_NULL for types without. */
struct nvm_value pick_constant(struct mutator *m, struct nvm_type type);
/* An integer or float type, or a short vector of one. */
struct nvm_type pick_type(struct mutator *m);

/* Makes v an operand of an instruction from `at` on in its block that takes its type; else stores
 * it, if there is a pointer; else v stays without use. */
void use_value(struct mutator *m, struct nvm_value v, struct nvm_inst_id at);
/* Replaces all uses of i. */
void replace_uses(struct mutator *m, struct nvm_inst_id i, struct nvm_value v);

/* mutate_insts.c */
mutation mutate_operand, mutate_opcode, mutate_flags, mutate_access, mutate_insert, mutate_remove,
    mutate_move, mutate_width, mutate_lanes, mutate_hints, mutate_rule;
/* mutate_flow.c */
mutation mutate_branch, mutate_loop, mutate_exit, mutate_switch, mutate_cycle;
/* mutate_calls.c */
mutation mutate_intrinsic, mutate_atomic, mutate_call, mutate_splice, mutate_reload;
/* Copies the instructions of a block of `from` before an instruction of f, with operands that are
 * available there. */
bool splice_block(struct mutator *m, const struct nvm_function *from);
/* mutate_assembly.c */
mutation mutate_assembly;
/* A call of inline assembly with at most 8 arguments; VALUE_NULL if one of them is, or when out of
 * memory. */
struct nvm_value build_assembly(struct mutator *m, struct builder b, const char *text,
                                const char *constraints, bool has_effect, struct nvm_type result,
                                const struct nvm_value *arguments, uint32_t count);

#endif
