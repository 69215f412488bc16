/* Fingerprints of functions and modules, by which the pass manager detects changes that a pass does
 * not report. */
#ifndef NVM_OPT_FINGERPRINT_H
#define NVM_OPT_FINGERPRINT_H

#include "ir/function.h"

struct fingerprint {
  uint64_t content; /* all that the text of the function or module shows */
  uint64_t flow;    /* blocks and edges of the function; 0 for a module */
};

/* The fingerprint of f. Handles count, not what they refer to: an instruction replaced by an equal
 * one changes it, and so does rewrite_compact(). Linear in instructions and operands. */
struct fingerprint fingerprint_of_function(const struct nvm_function *f);

/* The fingerprint of m, from its text, which is written to `text` and released.
 * NVM_OUT_OF_MEMORY if there is no room for it. */
enum nvm_status fingerprint_of_module(const struct nvm_module *m, struct arena *text,
                                      struct fingerprint *print);

#endif
