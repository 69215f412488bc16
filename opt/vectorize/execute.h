/* What carrying out a plan shares: recipes (execute.c) and the blocks around them (skeleton.c). */
#ifndef NVM_OPT_VECTORIZE_EXECUTE_H
#define NVM_OPT_VECTORIZE_EXECUTE_H

#include "opt/vectorize/vectorize.h"

struct executor {
  struct vector_loop *v;
  const struct vplan *p;
  uint32_t factor, count;    /* lanes of a vector, vectors of an iteration */
  struct nvm_block block;    /* where instructions are appended */
  struct nvm_block latch;    /* of the stage emitted last */
  struct nvm_block before;   /* new blocks come before it */
  struct nvm_inst_id origin; /* whose place (!dbg) new instructions get */
  struct nvm_value *vectors; /* by recipe × count: the value as a vector (a scalar for factor 1) */
  struct nvm_value *lanes;   /* by recipe × count × factor */
  struct nvm_value *starts;  /* by recipe: POINTER: the address in iteration 0 */
  struct nvm_value *entry; /* by header phi that is no induction: its value when the stage begins */
  struct nvm_value *leave; /* the same: its value when the stage has ended */
  struct nvm_value begin;  /* iterations done before the stage */
  struct nvm_type counter; /* the type that counts iterations: x_count_in() */
  uint32_t width;          /* bytes of the widest access */
  struct nvm_block old_loop; /* its preheader: where lanes that leave early are looked for */
  struct early_way {
    struct nvm_block from;
    struct nvm_value begin;
  } early[5]; /* ways there, one a stage */
  uint32_t early_count;
  bool failed;
};

/* A new instruction at the end of x->block, or the constant it is. */
struct nvm_value x_emit(struct executor *x, enum op op, uint16_t flags, struct nvm_type type,
                        const struct nvm_value *operands, uint32_t count, uint32_t aux);
struct nvm_value x_binary(struct executor *x, enum op op, struct nvm_value a, struct nvm_value b);
struct nvm_value x_compare(struct executor *x, enum icmp_predicate p, struct nvm_value a,
                           struct nvm_value b);
struct nvm_value x_number(struct executor *x, struct nvm_type type, int64_t value);
/* Counts iterations in the type of `taken`, or in i32 if that is narrower: every constant that the
 * vectorizer writes fits there, and one more than 255 is not 0. Returns `taken` in that type. Of
 * wider counters, one more than the largest number is 0, less than any least number of iterations.
 */
struct nvm_value x_count_in(struct executor *x, struct nvm_value taken);
/* So many iterations, at most INT32_MAX, in the counter's type. */
struct nvm_value x_iterations(struct executor *x, uint64_t count);
/* An integer as another integer type, zero-extended or cut off. */
struct nvm_value x_resize(struct executor *x, struct nvm_value a, struct nvm_type type);
/* pointer + bytes; bytes any integer. */
struct nvm_value x_advance(struct executor *x, struct nvm_value pointer, struct nvm_value bytes);
/* What an induction is after so many iterations: start + step × iterations. */
struct nvm_value induction_at(struct executor *x, const struct header_phi *p,
                              struct nvm_value iterations);
/* A block, its name with a number where taken; and ways to go on. */
struct nvm_block x_block(struct executor *x, const char *name);
void x_jump(struct executor *x, struct nvm_block to);
void x_branch(struct executor *x, struct nvm_value condition, struct nvm_block yes,
              struct nvm_block no);

/* Emits one stage: the loop's body for `factor` lanes × `count` while full ones remain of `total`
 * iterations. On entry x->block ends before the stage, x->begin and x->entry hold; on return
 * x->block is the block behind it, x->begin and x->leave the state there. `prefix` begins the
 * blocks' names. */
void stage_emit(struct executor *x, struct nvm_value end, const char *ph, const char *body,
                const char *middle);

/* Emits one iteration where x->block ends, `copy` iterations after x->begin; `heads`, by recipe,
 * lasts from copy 0 to the others. On return x->leave is the state behind it. */
void straight_emit(struct executor *x, uint32_t copy, struct nvm_value *heads);

/* Gives the loop that ends with `latch` its hints: those the old ones name as follow-ups, else the
 * old ones without those of the vectorizer, the mark that it was vectorized, and for a stage that
 * its bodies are enough in a row. */
void x_mark_loop(struct executor *x, struct nvm_inst_id latch, const char *followup, bool is_stage);

#endif
