/* Executing a plan: shared by recipes (execute.c, execute_memory.c) and the blocks around them
 * (skeleton.c, outer.c). */
#ifndef NVM_OPT_VECTORIZE_EXECUTE_H
#define NVM_OPT_VECTORIZE_EXECUTE_H

#include "opt/vectorize/vectorize.h"

struct executor {
  struct vector_loop *v;
  const struct vplan *p;
  uint32_t factor, count;    /* vectorization factor, interleave count */
  struct nvm_block block;    /* instructions are appended to it */
  struct nvm_block latch;    /* of the last stage */
  struct nvm_block before;   /* new blocks are placed before it */
  struct nvm_inst_id origin; /* new instructions get its location */
  struct nvm_value *vectors; /* by recipe × count: the value as a vector (a scalar for factor 1) */
  struct nvm_value *lanes;   /* by recipe × count × factor */
  struct nvm_value *starts;  /* by POINTER recipe: the address in iteration 0 */
  struct nvm_value *entry;   /* by header phi except inductions: its value before the stage */
  struct nvm_value *leave;   /* likewise: its value after the stage */
  struct nvm_value begin;    /* iterations executed before the stage */
  struct nvm_type counter;   /* type of iteration counts: x_count_in() */
  uint32_t width;            /* maximum width of accesses, in bytes */
  struct nvm_block scalar_loop; /* its preheader, which finds the lane of an early exit */
  struct early_edge {
    struct nvm_block from;
    struct nvm_value begin;
  } early[5]; /* edges to it, one per stage */
  uint32_t early_count;
  struct nvm_block inner, inner_from; /* of an outer loop: its inner loop; the block before it */
  bool failed;
};

/* Appends an instruction to x->block; the result may be a constant. */
struct nvm_value x_emit(struct executor *x, enum op op, uint16_t flags, struct nvm_type type,
                        const struct nvm_value *operands, uint32_t count, uint32_t aux);
struct nvm_value x_binary(struct executor *x, enum op op, struct nvm_value a, struct nvm_value b);
struct nvm_value x_compare(struct executor *x, enum icmp_predicate p, struct nvm_value a,
                           struct nvm_value b);
struct nvm_value x_number(struct executor *x, struct nvm_type type, int64_t value);
/* Sets the type of iteration counts to that of `taken`, at least i32: the vectorizer's constants
 * fit it, and its maximum plus 1 does not wrap to 0. Returns `taken` in that type. In wider types,
 * the maximum plus 1 is 0, less than any minimum number of iterations. */
struct nvm_value x_count_in(struct executor *x, struct nvm_value taken);
/* A number of iterations, at most INT32_MAX, in the counter's type. */
struct nvm_value x_iterations(struct executor *x, uint64_t count);
/* v plus a number: of bytes if v is a pointer. */
struct nvm_value x_add_number(struct executor *x, struct nvm_value v, int64_t number);
/* a or b; b if a is VALUE_NULL. */
struct nvm_value x_or(struct executor *x, struct nvm_value a, struct nvm_value b);
/* Zero-extends or truncates an integer. */
struct nvm_value x_resize(struct executor *x, struct nvm_value a, struct nvm_type type);
/* pointer + bytes, of any integer type. */
struct nvm_value x_advance(struct executor *x, struct nvm_value pointer, struct nvm_value bytes);
/* The value of an induction: start + step × iterations. */
struct nvm_value x_induction_at(struct executor *x, const struct header_phi *p,
                                struct nvm_value iterations);
/* Creates a block; ends the current one. */
struct nvm_block x_block(struct executor *x, const char *name);
void x_jump(struct executor *x, struct nvm_block to);
void x_branch(struct executor *x, struct nvm_value condition, struct nvm_block yes,
              struct nvm_block no);

/* Lane `lane` of part `part` of the value of recipe r; part `part` as a vector. */
struct nvm_value x_lane(struct executor *x, uint32_t r, uint32_t part, uint32_t lane);
struct nvm_value x_vector(struct executor *x, uint32_t r, uint32_t part);
static inline struct nvm_value *x_vector_slot(struct executor *x, uint32_t r, uint32_t part) {
  return &x->vectors[r * x->count + part];
}
static inline struct nvm_value *x_lane_slot(struct executor *x, uint32_t r, uint32_t part,
                                            uint32_t lane) {
  return &x->lanes[(r * x->count + part) * x->factor + lane];
}
struct nvm_value x_insert(struct executor *x, struct nvm_value vector, struct nvm_value lane,
                          uint32_t at);
struct nvm_value x_extract(struct executor *x, struct nvm_value vector, uint32_t at);

/* Gives a copied instruction of an outer loop the metadata of the original. */
void x_copy_attachments(struct executor *x, struct nvm_inst_id from, struct nvm_value to);
/* execute_memory.c: executes load or store recipe n; or its access of one lane. */
void execute_access(struct executor *x, uint32_t n);
void execute_lane_access(struct executor *x, uint32_t n, uint32_t part, uint32_t lane);

/* Emits one stage: the loop's body for `factor` × `count` iterations at a time, up to iteration
 * `end`. On entry x->block ends before the stage, with x->begin and x->entry; on return x->block
 * is the block after it, with x->leave. The names are those of its blocks; without `ph`, x->block
 * is the one before the loop. */
void execute_stage(struct executor *x, struct nvm_value end, const char *ph, const char *body,
                   const char *middle);

/* Emits one iteration at the end of x->block, `copy` iterations after x->begin; `heads`, by
 * recipe, is kept from copy 0 for the others. On return x->leave is the state after it. */
void execute_straight(struct executor *x, uint32_t copy, struct nvm_value *heads);

/* Sets the hints of the loop with this latch: the old hints' follow-up if there is one, otherwise
 * the old hints without the vectorizer's; the mark that it is vectorized; and for a stage, that it
 * is not to be unrolled. */
void x_mark_loop(struct executor *x, struct nvm_inst_id latch, const char *followup, bool is_stage);

#endif
