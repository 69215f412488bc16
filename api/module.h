/* What the command may ask of a module beside the public API. */
#ifndef NVM_API_MODULE_H
#define NVM_API_MODULE_H

#include "nvmini.h"

struct nvm_module;

/* The module itself, in the form of ir/module.h; the handle owns it. */
struct nvm_module *module_of_handle(const struct nvmini_module *module);

#endif
