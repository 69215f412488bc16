/* What an instruction does besides computing its result. */
#ifndef NVM_ANALYSIS_EFFECTS_H
#define NVM_ANALYSIS_EFFECTS_H

#include "ir/function.h"

/* The questions below for a call. */
bool effects_call_must_stay(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_pure(const struct nvm_function *f, const struct nvm_inst *i);
/* Inline assembly that would be pure if it were not convergent: front ends for CUDA mark all of it.
 */
bool effects_is_convergent_asm(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_convergent(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_debug(const struct nvm_function *f, const struct nvm_inst *i);

/* Whether i must be kept even if its result is unused: terminators, stores, volatile and ordered
 * loads, fences, debug records, calls not known to be free of effects. */
static inline bool effects_must_stay(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_LOAD: {
      struct memory_access how = memory_access_unpack(i->aux);
      return how.is_volatile || how.ordering > ORDER_UNORDERED;
    }
    case OP_CALL: return effects_call_must_stay(f, i);
    case OP_DBG_RECORD: return true;
    default: return (op_table[i->op].flags & (OPF_TERMINATOR | OPF_WRITES)) != 0;
  }
}
/* Whether equal operands give equal results at any place and time: no memory, not convergent. Such
 * instructions can be merged. */
static inline bool effects_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  if (op_table[i->op].flags & (OPF_TERMINATOR | OPF_READS | OPF_WRITES | OPF_UNIQUE))
    return i->op == OP_CALL && effects_call_is_pure(f, i);
  return true;
}
/* Whether i may be executed where the source does not execute it. */
bool effects_is_speculatable(const struct nvm_function *f, const struct nvm_inst *i);
/* Whether i is a call that must not be moved into or out of a branch, duplicated or merged. */
static inline bool effects_is_convergent(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_CALL && effects_call_is_convergent(f, i);
}

/* Whether a load or store is neither volatile nor atomic. */
static inline bool effects_is_plain_access(const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  return !how.is_volatile && how.ordering == ORDER_NONE;
}
/* The type that a load or store accesses. */
static inline struct nvm_type effects_accessed_type(const struct nvm_function *f,
                                                    const struct nvm_inst *i) {
  return i->op == OP_STORE ? value_type(f, inst_operand(f, i, 0)) : i->type;
}
/* Whether i is a plain store of undef or poison, which may leave memory as it is. */
static inline bool effects_stores_nothing(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_STORE && effects_is_plain_access(i) &&
         const_is_undef_or_poison(f->module, inst_operand(f, i, 0));
}
/* Whether i is a call after which the next instruction may not be executed. */
bool effects_may_not_return(const struct nvm_function *f, const struct nvm_inst *i);
/* Whether i is a debug record or a call of llvm.dbg.*. */
static inline bool effects_is_debug(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_DBG_RECORD || (i->op == OP_CALL && effects_call_is_debug(f, i));
}

enum { EFFECT_READS = 1, EFFECT_WRITES = 2, EFFECT_BOTH = EFFECT_READS | EFFECT_WRITES };

/* What a call may do to memory, EFFECT_ bits for each kind. */
struct call_effect {
  uint32_t arguments;    /* through its pointer arguments */
  uint32_t others;       /* to other memory that the program can access */
  uint32_t inaccessible; /* to memory that it cannot (LLVM's inaccessiblemem) */
};
struct call_effect effects_of_call(const struct nvm_function *f, const struct nvm_inst *i);
/* What an access or call may do to accessible memory; what any instruction may do. */
uint32_t effects_of_access(const struct nvm_function *f, const struct nvm_inst *i);
static inline uint32_t effects_on_memory(const struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  return op_table[i->op].flags & (OPF_READS | OPF_WRITES) ? effects_of_access(f, i) : 0;
}
/* Whether i, which is no call, orders other accesses: a fence, va_arg or an access stronger than
 * monotonic. */
bool effects_is_fence(const struct nvm_inst *i);

/* Copies to `to` those attachments of `from` that describe the access to memory (tbaa, invariant,
 * nontemporal and, with `scopes`, alias scopes), not those that describe the result. `to` and
 * `from` may be one instruction. */
void effects_copy_access_metadata(struct nvm_function *f, struct nvm_inst_id to,
                                  struct nvm_inst_id from, bool scopes);
/* Access a also replaces b, of the same bytes or, with `moves`, of others: keeps the attachments
 * that both have. Without `moves`, a keeps invariant.load and nontemporal, which describe the
 * place. */
void effects_join_access_metadata(struct nvm_function *f, struct nvm_inst_id a,
                                  struct nvm_inst_id b, bool moves);
/* A call of llvm.lifetime.start or end. */
bool effects_is_lifetime_marker(const struct nvm_function *f, const struct nvm_inst *i);

#endif
