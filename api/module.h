/* What the command and tests may ask beside the public API. */
#ifndef NVM_API_MODULE_H
#define NVM_API_MODULE_H

#include "nvmini.h"
#include "opt/pass.h"

/* The module itself, in the form of ir/module.h; the handle owns it. */
struct nvm_module *module_of_handle(const struct nvmini_module *module);

/* The target that the context's options describe so far, for which nvmini_compile() would compile.
 * Where they describe none it says why itself. */
enum nvmini_status module_target(struct nvmini_context *context, struct nvm_target *target);

/* The pass manager's on_change (opt/pass.h) in all that the context optimizes. Where it refuses it
 * has said why itself. */
typedef enum nvm_status module_change(void *state, struct nvm_module *m, const char *pass,
                                      const struct nvm_function *f);
void module_on_change(struct nvmini_context *context, module_change *on_change, void *state);

#endif
