/* Linking: the definitions of one module are copied into another.
 *
 * After LangRef's section on linkage types and what llvm-link does with them; the compatibility of
 * data layouts is seed 1's. */
#ifndef NVM_FRONTEND_LINK_H
#define NVM_FRONTEND_LINK_H

#include "ir/module.h"

/* The source number of `from` in the ranges of diagnostics; `into` is source 0. */
enum { LINK_SOURCE_FROM = 1 };

/* Copies the definitions of `from` into `into`; `from` stays as it is and shares nothing with the
 * result. References of either module are resolved by name; a definition that is local to its
 * module is renamed (`name.1`) where its name is taken.
 *
 * only_needed: `from` is a library (libdevice). Only definitions that resolve a declaration of
 * `into` are copied, and what those refer to, and they become internal; their attributes about
 * floating point and the target become those that the definitions of `into` agree on. Time goes
 * with what is copied and, with a small factor, with the sizes of the tables of `from`.
 *
 * NVM_OK; NVM_REFUSED after at least one error in `sink`, `into` being unchanged (two definitions
 * of one name, layouts that do not agree, ...); NVM_OUT_OF_MEMORY, `into` then being good for
 * module_destroy() only. Both modules must be as parse_module() leaves them. */
enum nvm_status link_modules(struct nvm_module *into, const struct nvm_module *from,
                             bool only_needed, struct diag_sink *sink);

/* Whether the library has a function of `count` arguments of that type, which is also its result's.
 */
typedef bool link_has_math(const void *library, struct nvm_text name, enum type_kind type,
                           uint32_t count);
/* Makes calls of mathematical intrinsics that PTX has no instruction for (llvm.sin.f64) calls of
 * the functions that `into`, or a library, has for them (@__nv_sin); they are declared in `into` if
 * need be. Those that neither has stay. `has` may be NULL: no library. False when out of memory. */
bool link_math(struct nvm_module *into, link_has_math *has, const void *library);
/* Of a library that is a module. */
link_has_math link_module_has_math;

#endif
