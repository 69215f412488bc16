/* Replacing values: a pass notes "this instruction is that value" as often as it likes, and one
 * sweep over the function puts it into effect. Chains of replacements are followed. */
#ifndef NVM_OPT_REWRITE_H
#define NVM_OPT_REWRITE_H

#include "ir/function.h"

struct rewrite {
  struct nvm_function *f;
  struct nvm_value *to;    /* by instruction; VALUE_NULL: stays */
  uint32_t size;           /* of `to`; instructions made later stay */
  struct nvm_inst_id *set; /* the instructions that do not stay */
  uint32_t set_count;
  uint32_t count; /* replacements noted */
};

/* The table lies in `arena`. False when out of memory. */
bool rewrite_init(struct rewrite *r, struct nvm_function *f, struct arena *arena);
/* Makes room for instructions that were made since; cheap if asked often. False when out of memory.
 */
bool rewrite_grow(struct rewrite *r, struct arena *arena);
/* Notes that i is `to`, which must not (through replacements) be i itself. VALUE_NULL, which stands
 * for a value that could not be made, is not noted. */
void rewrite_set(struct rewrite *r, struct nvm_inst_id i, struct nvm_value to);
/* The number of an instruction; of any other value a larger one than instructions have. */
static inline uint32_t rewrite_number(struct nvm_value v) {
  return v.bits - value_make(VALUE_INST, 0).bits;
}
/* What v stands for after all replacements noted so far. */
struct nvm_value rewrite_follow(struct rewrite *r, struct nvm_value v);
static inline struct nvm_value rewrite_get(struct rewrite *r, struct nvm_value v) {
  uint32_t n = rewrite_number(v);
  return n >= r->size || value_is_none(r->to[n]) ? v : rewrite_follow(r, v);
}
static inline bool rewrite_is_set(const struct rewrite *r, struct nvm_inst_id i) {
  return i.index < r->size && !value_is_none(r->to[i.index]);
}
/* Replaces in the operands of i at once, which rewrite_apply() need not do then. Returns how many
 * it were. */
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
/* Removes the replaced instructions, and replaces in all operands and metadata operands that name
 * them. */
void rewrite_apply(struct rewrite *r);

/* Debug intrinsics and records that speak of instructions not in `live` (by instruction) speak of
 * nothing (poison) from now on. */
void rewrite_drop_dead_metadata(struct nvm_function *f, const bool *live);

/* Renumbers the instructions of f, in their order, where a quarter of the numbers belongs to dead
 * ones, and so the blocks: tables of analyses are as long as there are numbers. False when out of
 * memory. */
bool rewrite_compact(struct nvm_function *f, struct arena *scratch);

#endif
