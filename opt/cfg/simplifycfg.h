/* What the two halves of simplifycfg share. */
#ifndef NVM_OPT_SIMPLIFYCFG_H
#define NVM_OPT_SIMPLIFYCFG_H

#include "ir/build.h"
#include "analysis/divergence.h"
#include "opt/pass.h"
#include "opt/rewrite.h"

struct simplifier {
  struct nvm_function *f;
  struct pass_env *env;
  struct rewrite rewrite; /* of the current rule */
  uint32_t *predecessors; /* by block: number of incoming edges, plus one for the entry */
  /* Of this sweep; NULL: not computed yet. */
  struct dominance *dominance;
  struct loops loops; /* valid if dominance is not NULL */
  struct divergence *divergence;
  bool changed;
  bool stale; /* env->flow is of an earlier sweep */
};

/* if_conversion.c; false when out of memory. */
bool simplifycfg_convert_branches(struct simplifier *s);

/* Whether terminator t has loop hints (!llvm.loop), which must not be lost. */
bool simplifycfg_has_hints(const struct nvm_function *f, struct nvm_inst_id t);
/* Whether i is not convergent and has no effects but plain memory accesses. */
bool simplifycfg_is_movable(const struct nvm_function *f, const struct nvm_inst *i);
/* a replaces b: drops the flags and metadata that only one of them has. */
void simplifycfg_join_facts(struct nvm_function *f, struct nvm_inst_id a, struct nvm_inst_id b);
/* The index of the phi's operand for predecessor `from`. */
uint32_t simplifycfg_phi_entry(const struct nvm_function *f, const struct nvm_inst *phi,
                               struct nvm_block from);

#endif
