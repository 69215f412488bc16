/* The prototypes of all passes, made from passes.def. */
#ifndef NVM_OPT_PASSES_H
#define NVM_OPT_PASSES_H

#include "opt/pass.h"

#define FUNCTION_PASS(ENUM, name, run, needs, keeps, counts, meaning) \
  enum nvm_status run(struct nvm_function *f, struct pass_env *env, bool *changed);
#define MODULE_PASS(ENUM, name, run, needs, keeps, counts, meaning) \
  enum nvm_status run(struct nvm_module *m, struct pass_env *env, bool *changed);
#include "opt/passes.def"

#endif
