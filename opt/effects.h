/* What an instruction does beside computing its result. */
#ifndef NVM_OPT_EFFECTS_H
#define NVM_OPT_EFFECTS_H

#include "ir/function.h"

/* Must be kept even if its result is not used: terminators, stores, volatile and ordered loads,
 * calls that are not known to be without effect, fences, debug records. */
bool effects_must_stay(const struct nvm_function *f, const struct nvm_inst *i);
/* Computes the same result from the same operands, wherever and whenever: no memory, no trap, not
 * convergent. Such instructions can be merged. */
bool effects_is_pure(const struct nvm_function *f, const struct nvm_inst *i);
/* May be executed although the source would not have got there. */
bool effects_is_speculatable(const struct nvm_function *f, const struct nvm_inst *i);
/* A call that must not be moved into or out of a branch, duplicated or merged. */
bool effects_is_convergent(const struct nvm_function *f, const struct nvm_inst *i);

/* A load or store that is neither volatile nor atomic. */
bool effects_is_plain_access(const struct nvm_inst *i);

/* A debug record or a call of llvm.dbg.*. */
bool effects_is_debug(const struct nvm_function *f, const struct nvm_inst *i);

/* Gives `to` those attachments of `from` that speak of the access to memory (tbaa, scopes,
 * invariant, nontemporal), not those that promise something of the result. They may be one
 * instruction. */
void effects_copy_access_metadata(struct nvm_function *f, struct nvm_inst_id to,
                                  struct nvm_inst_id from);

#endif
