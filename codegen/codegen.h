/* From SSA IR to PTX text. What the target cannot express is reported as an error with its
 * location.
 */
#ifndef NVM_CODEGEN_CODEGEN_H
#define NVM_CODEGEN_CODEGEN_H

#include "ir/module.h"
#include "target/target.h"

struct codegen_options {
  bool verbose;             /* --asm-verbose: comments in the PTX */
  bool unreachable_is_trap; /* knob nvptx-exit-on-unreachable=0: `trap` instead of `exit` */
  int32_t relaxed_atomics;  /* knob nvptx-relaxed-atomics: whether seq_cst atomicrmw and cmpxchg
                               without a scope are  relaxed at GPU scope; -1: if the module is CUDA
                               from a clang that writes them so */
  bool no_reflect; /* knob nvvm-reflect-enable=0: calls of __nvvm_reflect that are left are 0 */
  bool exact_log2; /* knob nvptx-approx-log2f32=0 */
  bool wide_byval_params;  /* knob nvptx-force-min-byval-param-align */
  uint32_t source;         /* number of the main source, for diagnostics */
  struct nvm_text command; /* shown in the header comment; may be empty */
};

/* Appends the PTX of the whole module to `out`. NVM_REFUSED when something was reported to `sink`;
 * `out` then holds unfinished text. Adds constants to the module, changes nothing else in it. */
enum nvm_status codegen_module(struct nvm_module *m, const struct nvm_target *target,
                               const struct codegen_options *options, struct diag_sink *sink,
                               struct textbuf *out);

#endif
