/* The built-in mathematics library: the functions __nv_* that CUDA's headers and other front ends
 * declare, written in IR (the files of this folder; functions.txt lists them). */
#ifndef NVM_MATHLIB_MATHLIB_H
#define NVM_MATHLIB_MATHLIB_H

#include "ir/module.h"

/* Defines the functions of the library that `m` declares and uses or, by a mathematical intrinsic
 * without a PTX instruction, needs. They become internal. Definitions of `m` stay, and so does a
 * declaration of another type, after a warning in `sink`. A module that needs nothing stays as it
 * is.
 *
 * The module must be verified. NVM_OK; NVM_OUT_OF_MEMORY, after which `m` is good for
 * module_destroy() only; NVM_BUG if the library's text has an error. */
enum nvm_status mathlib_link(struct nvm_module *m, struct diag_sink *sink);

#endif
