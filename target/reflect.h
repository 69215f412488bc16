/* __nvvm_reflect("…"): queries of a program about its compilation. The pass nvvm-reflect folds the
 * calls; codegen lowers the remaining ones. */
#ifndef NVM_TARGET_REFLECT_H
#define NVM_TARGET_REFLECT_H

#include "ir/function.h"
#include "target/target.h"

/* Whether the callee is llvm.nvvm.reflect, or a declaration of __nvvm_reflect or __nvvm_reflect_ocl
 * that takes one pointer and returns an integer. */
bool reflect_is_callee(const struct nvm_module *m, struct nvm_value callee);
/* Whether i calls such a function with one argument, for an integer; these types may differ from
 * the declaration's. */
bool reflect_is_call(const struct nvm_function *f, const struct nvm_inst *i);
/* The variable that an address refers to, through casts and offsets of zero; VALUE_NULL: none. */
struct nvm_value reflect_variable(const struct nvm_function *f, struct nvm_value address);
/* The constant string that an address operand refers to, without its NULs; false: none. */
bool reflect_string(const struct nvm_function *f, struct nvm_value address, struct nvm_text *text);
/* The result in f: __CUDA_ARCH and the precisions of the target; __CUDA_FTZ if the target, the
 * function or the module flag "nvvm-reflect-ftz" flushes denormals; 0 for everything else. */
uint64_t reflect_answer(const struct nvm_target *t, const struct nvm_function *f,
                        struct nvm_text query);

#endif
