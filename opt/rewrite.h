/* Replacing values: a pass records replacements of instructions, and one sweep over the function
 * applies them. Chains of replacements are followed. */
#ifndef NVM_OPT_REWRITE_H
#define NVM_OPT_REWRITE_H

#include "ir/function.h"

struct rewrite {
  struct nvm_function *f;
  struct nvm_value *to;    /* by instruction; VALUE_NULL: not replaced */
  uint32_t size;           /* of `to`; later instructions are not replaced */
  struct nvm_inst_id *set; /* the replaced instructions */
  uint32_t set_count;
  uint32_t count; /* number of rewrite_set() */
};

/* Allocates the table in `arena`. False when out of memory. */
bool rewrite_init(struct rewrite *r, struct nvm_function *f, struct arena *arena);
/* Extends the table for new instructions. Cheap to call often. False when out of memory. */
bool rewrite_grow(struct rewrite *r, struct arena *arena);
/* Replaces i by `to`, which must not lead back to i. Ignores VALUE_NULL, a value that could not be
 * made. */
void rewrite_set(struct rewrite *r, struct nvm_inst_id i, struct nvm_value to);
/* The index of an instruction; for any other value, a number larger than all indices. */
static inline uint32_t rewrite_number(struct nvm_value v) {
  return v.bits - value_make(VALUE_INST, 0).bits;
}
/* The final replacement of v. */
struct nvm_value rewrite_follow(struct rewrite *r, struct nvm_value v);
static inline struct nvm_value rewrite_get(struct rewrite *r, struct nvm_value v) {
  uint32_t n = rewrite_number(v);
  return n >= r->size || value_is_none(r->to[n]) ? v : rewrite_follow(r, v);
}
static inline bool rewrite_is_set(const struct rewrite *r, struct nvm_inst_id i) {
  return i.index < r->size && !value_is_none(r->to[i.index]);
}
/* Replaces the operands of i immediately. Returns the number of replacements. */
static inline uint32_t rewrite_operands(struct rewrite *r, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(r->f, i);
  const struct nvm_value *first = r->f->operands.data + inst->first_operand;
  uint32_t replaced = 0;
  for (const struct nvm_value *v = first, *end = v + inst->operand_count; v < end; v++) {
    uint32_t n = rewrite_number(*v);
    if (n >= r->size || value_is_none(r->to[n])) continue;
    inst_set_operand(r->f, i, (uint32_t)(v - first), rewrite_follow(r, *v));
    replaced++;
  }
  return replaced;
}
/* Removes the replaced instructions and updates all operands and metadata operands. */
void rewrite_apply(struct rewrite *r);

/* Replaces the local values that metadata operands refer to by to(state, value); VALUE_NULL:
 * poison. */
typedef struct nvm_value rewrite_value(void *state, struct nvm_value v);
void rewrite_all_metadata(struct nvm_function *f, rewrite_value *to, void *state);

/* Makes debug intrinsics and records refer to poison instead of instructions that are not in `live`
 * (by instruction). */
void rewrite_drop_dead_metadata(struct nvm_function *f, bool *live);

/* Renumbers instructions and blocks of f, in order, if one in `most` of the numbers is unused,
 * because the tables of analyses are indexed by number. False when out of memory. */
enum { COMPACT_BETWEEN_PASSES = 4, COMPACT_AT_REST = 64 };
bool rewrite_compact(struct nvm_function *f, struct arena *scratch, uint32_t most);

#endif
