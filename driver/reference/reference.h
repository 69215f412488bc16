/* The reference: pages of Markdown made from the compiler's tables, with explanations and examples
 * from the files of this folder, KIND.txt. The first line of a file is
 *
 *   === ops                      the kind
 *
 * and its sections are
 *
 *   == add                       a row of the kind's table
 *   Any text.                    what the table does not say; `words` become links
 *   wrong   or   right           precede the examples of a diagnostic
 *   file add.nvir                a file; its lines follow, indented by four blanks
 *   $ nvmini check add.nvir      a shell command with these files
 *   | its output                 standard output and standard error
 *   none: REASON                 why there is no example
 *   # a comment
 *
 * runtime-tests/reference/check_reference.py executes every command and compares its output. */
#ifndef NVM_DRIVER_REFERENCE_H
#define NVM_DRIVER_REFERENCE_H

#include "ir/intrinsic.h"
#include "support/knobs.h"
#include "support/textbuf.h"

/* What the files of a kind ("ops") say of a row: the lines of its section. No bytes: nothing. */
struct nvm_text reference_section(const char *kind, const char *name);

/* Whether a knob changes what a pass does, or removes it from the pipelines. */
bool reference_knob_concerns(const struct knob_row *knob, const char *pass);

/* `float (float, constant i32)`: the signature of an intrinsic with LLVM's names of types. */
void reference_signature(struct textbuf *out, const struct intrinsic_info *intrinsic);

/* Writes all pages into a folder, which is created if its parent exists. Returns the exit status.
 */
int reference_write(const char *folder);

#endif
