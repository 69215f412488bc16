/* Building instructions at one position, with one debug location.
 *
 * A builder is a plain value: copy it, or change its fields, to build somewhere else. Operations on
 * constants are folded by the evaluator (ir/eval.h), so that a result may be a constant.
 *
 * Failure is sticky: every function returns VALUE_NULL when out of memory, and when an operand is
 * VALUE_NULL. A chain of calls is therefore checked once, at its end; a store or branch, whose
 * result nothing needs, by module_out_of_memory(). */
#ifndef NVM_IR_BUILD_H
#define NVM_IR_BUILD_H

#include "ir/intrinsic.h"
#include "ir/function.h"

struct builder {
  struct nvm_function *f;
  struct nvm_inst_id before; /* new instructions come before it; none: at the end of `block` */
  struct nvm_block block;
  struct nvm_meta location; /* !dbg of new instructions */
  uint32_t position;        /* and their place in the source, as in f->positions */
};

/* Builds before `before`, without a location; at the end of b; at the start of b. */
static inline struct builder builder_before(struct nvm_function *f, struct nvm_inst_id before) {
  return (struct builder){.f = f, .before = before};
}
static inline struct builder builder_at_end(struct nvm_function *f, struct nvm_block b) {
  return (struct builder){.f = f, .block = b};
}
static inline struct builder builder_at_start(struct nvm_function *f, struct nvm_block b) {
  return (struct builder){.f = f, .before = function_block(f, b)->first, .block = b};
}
/* The same builder with the location of i, which may be none. */
static inline struct builder builder_located(struct builder b, struct nvm_inst_id i) {
  b.location = b.f->locations.data[i.index];
  b.position = b.f->positions.data[i.index];
  return b;
}
/* Builds what replaces i, or a part of it: before it, with its location. */
static inline struct builder builder_replacing(struct nvm_function *f, struct nvm_inst_id i) {
  return builder_located(builder_before(f, i), i);
}

/* A new instruction; the same, or the constant that it computes. */
struct nvm_inst_id builder_insert(const struct builder *b, enum op op, uint16_t flags,
                                  struct nvm_type type, const struct nvm_value *operands,
                                  uint32_t count, uint32_t aux);
struct nvm_value builder_add(const struct builder *b, enum op op, uint16_t flags,
                             struct nvm_type type, const struct nvm_value *operands, uint32_t count,
                             uint32_t aux);
/* A cast, or another operation of one operand, without flags. */
static inline struct nvm_value builder_unary(const struct builder *b, enum op op,
                                             struct nvm_type type, struct nvm_value v) {
  return builder_add(b, op, 0, type, &v, 1, 0);
}
/* An operation on two values of its own type, without flags. */
struct nvm_value builder_binary(const struct builder *b, enum op op, struct nvm_value x,
                                struct nvm_value y);
/* Compares scalar integers or pointers. */
struct nvm_value builder_icmp(const struct builder *b, enum icmp_predicate predicate,
                              struct nvm_value x, struct nvm_value y);
struct nvm_value builder_select(const struct builder *b, struct nvm_value condition,
                                struct nvm_value yes, struct nvm_value no);
/* pointer + bytes, where bytes is an integer; where it is a number, 0 gives `pointer` itself. */
struct nvm_value builder_gep(const struct builder *b, struct nvm_value pointer,
                             struct nvm_value bytes);
struct nvm_value builder_offset(const struct builder *b, struct nvm_value pointer, int64_t bytes);
/* `access`: a packed struct memory_access. */
static inline struct nvm_value builder_load(const struct builder *b, struct nvm_type type,
                                            struct nvm_value pointer, uint32_t access) {
  return builder_add(b, OP_LOAD, 0, type, &pointer, 1, access);
}
struct nvm_value builder_store(const struct builder *b, struct nvm_value v,
                               struct nvm_value pointer, uint32_t access);
/* The element of a vector at `lane`; `vector` with v there. */
struct nvm_value builder_extract_lane(const struct builder *b, struct nvm_value vector,
                                      uint32_t lane);
struct nvm_value builder_insert_lane(const struct builder *b, struct nvm_value vector,
                                     struct nvm_value v, uint32_t lane);
/* A phi of `count` operands, pairs of value and block; more are added by phi_add(). */
static inline struct nvm_value builder_phi(const struct builder *b, struct nvm_type type,
                                           const struct nvm_value *entries, uint32_t count) {
  return builder_add(b, OP_PHI, 0, type, entries, count, 0);
}
/* The call of an intrinsic that is overloaded in the type of its result or not at all, with at most
 * BUILDER_MAX_ARGUMENTS arguments. */
enum { BUILDER_MAX_ARGUMENTS = 8 };
struct nvm_value builder_intrinsic(const struct builder *b, enum intrinsic_id id, uint16_t flags,
                                   struct nvm_type type, const struct nvm_value *arguments,
                                   uint32_t count);
struct nvm_value builder_branch(const struct builder *b, struct nvm_block to);
struct nvm_value builder_condbranch(const struct builder *b, struct nvm_value condition,
                                    struct nvm_block yes, struct nvm_block no);

#endif
