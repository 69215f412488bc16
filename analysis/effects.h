/* What an instruction does beside computing its result. */
#ifndef NVM_OPT_EFFECTS_H
#define NVM_OPT_EFFECTS_H

#include "ir/function.h"

/* The answers below where i is a call. */
bool effects_call_must_stay(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_pure(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_convergent(const struct nvm_function *f, const struct nvm_inst *i);
bool effects_call_is_debug(const struct nvm_function *f, const struct nvm_inst *i);

/* Must be kept even if its result is not used: terminators, stores, volatile and ordered loads,
 * calls that are not known to be without effect, fences, debug records. */
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
/* Computes the same result from the same operands, wherever and whenever: no memory, no trap, not
 * convergent. Such instructions can be merged. */
static inline bool effects_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  if (op_table[i->op].flags & (OPF_TERMINATOR | OPF_READS | OPF_WRITES | OPF_UNIQUE))
    return i->op == OP_CALL && effects_call_is_pure(f, i);
  return true;
}
/* May be executed although the source would not have got there. */
bool effects_is_speculatable(const struct nvm_function *f, const struct nvm_inst *i);
/* A call that must not be moved into or out of a branch, duplicated or merged. */
static inline bool effects_is_convergent(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_CALL && effects_call_is_convergent(f, i);
}

/* A load or store that is neither volatile nor atomic. */
static inline bool effects_is_plain_access(const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  return !how.is_volatile && how.ordering == ORDER_NONE;
}

/* A plain store of undef or poison: whatever is there already will do. */
static inline bool effects_stores_nothing(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_STORE && effects_is_plain_access(i) &&
         const_is_undef_or_poison(f->module, inst_operand(f, i, 0));
}

/* A debug record or a call of llvm.dbg.*. */
static inline bool effects_is_debug(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_DBG_RECORD || (i->op == OP_CALL && effects_call_is_debug(f, i));
}

/* Gives `to` those attachments of `from` that speak of the access to memory (tbaa, `scopes`,
 * invariant, nontemporal), not those that promise something of the result. They may be one
 * instruction. */
void effects_copy_access_metadata(struct nvm_function *f, struct nvm_inst_id to,
                                  struct nvm_inst_id from, bool scopes);
/* Access a also serves b, of the same bytes or (`moves`) of others elsewhere: it keeps what both
 * say. One that stays in its place keeps invariant.load and nontemporal, which are true of the
 * place. */
void effects_join_access_metadata(struct nvm_function *f, struct nvm_inst_id a,
                                  struct nvm_inst_id b, bool moves);
/* A call of llvm.lifetime.start or end. */
bool effects_is_lifetime_marker(const struct nvm_function *f, const struct nvm_inst *i);

#endif
