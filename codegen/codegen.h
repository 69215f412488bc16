/* From SSA IR to PTX text. What the target cannot express is reported as an error with its
 * location.
 */
#ifndef NVM_CODEGEN_CODEGEN_H
#define NVM_CODEGEN_CODEGEN_H

#include "ir/module.h"
#include "support/knobs.h"
#include "target/target.h"

/* A text in pieces, in order. `spill`, if not NULL, is called after functions, with all pieces so
 * far except the first, which is finished last. If it returns true, it took them, and they are
 * freed. */
struct codegen_pieces {
  VEC(struct nvm_text) list;
  bool (*spill)(void *state, const struct nvm_text *pieces, uint32_t count);
  void *state;
  size_t bytes; /* of these pieces */
};

struct codegen_options {
  bool verbose; /* --asm-verbose: comments in the PTX */
  const struct knobs *knobs;
  uint32_t source;         /* number of the main source, for diagnostics */
  struct nvm_text command; /* shown in the header comment; may be empty */
};

/* Appends the PTX of the whole module to `out`. NVM_REFUSED when something was reported to `sink`;
 * `out` then holds unfinished text. Adds constants to the module, changes nothing else in it.
 * With `pieces`, which needs least memory, the text is there, in the arena of `out`, and functions
 * are freed as soon as they are written: the module cannot be used again. */
enum nvm_status codegen_module(struct nvm_module *m, const struct nvm_target *target,
                               const struct codegen_options *options, struct diag_sink *sink,
                               struct textbuf *out, struct codegen_pieces *pieces);

#endif
