/* Diagnostics of code generation. */
#ifndef NVM_CODEGEN_REPORT_H
#define NVM_CODEGEN_REPORT_H

#include "codegen/lower.h"

/* The source location of the current instruction, or else of the function. */
struct diag_range report_place(const struct lower *l);
/* Reports at the current instruction with `text` as %0; what the warning's policy says, or an
 * error. Returns what diag_report() does. */
struct diag *report_warn(struct lower *l, enum diag_id id, struct nvm_text text);
void report_error(struct lower *l, enum diag_id id, struct nvm_text text);
/* Reports that the current instruction, or a symbol, cannot be lowered, and why. */
struct diag *report_refuse(struct lower *l, const char *what, const char *detail);
void report_refuse_symbol(struct lower *l, const struct symbol *s, const char *what,
                          const char *detail);
/* Reports an error, and returns false, if the target lacks what `what` requires; else raises
 * l->ptx_needed. */
bool report_require(struct lower *l, enum tgt_need need, const char *what);
/* Checks the entries since `from` against PTX and the target; at most one error. Called once for
 * each IR instruction. */
void report_unsupported(struct lower *l, uint32_t from);

#endif
