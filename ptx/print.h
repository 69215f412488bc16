/* Writes PTX text. Every construct of ptx.h has one spelling; text printed, parsed by ptx/parse.h
 * and printed again is the same.
 *
 * Names: a register is its class's prefix and number (%r7). A label is `$L_` and its name, where
 * characters that PTX does not allow become `_` and a name met before in the function gets `$` and
 * the label's index; a label without name is `$L__` and its index. Symbols are printed as they are:
 * the caller ensures that PTX allows them. */
#ifndef NVM_PTX_PRINT_H
#define NVM_PTX_PRINT_H

#include "ptx/ptx.h"
#include "support/textbuf.h"

/* `.version`, `.target`, `.address_size`, after `comment`, of which each line gets a `//`. */
void ptx_print_header(const struct ptx_module *m, struct nvm_text comment, struct textbuf *out);
/* `.file` rows. */
void ptx_print_files(const struct ptx_module *m, struct textbuf *out);
/* One variable of the module, a line. */
void ptx_print_variable(const struct ptx_module *m, const struct ptx_variable *v,
                        struct textbuf *out);
/* `.extern .func ...;` or `.func ...;`: a declaration. */
void ptx_print_declaration(const struct ptx_function *f, struct textbuf *out);
/* Head, registers and body. Uses f->arena for its scratch space. */
void ptx_print_function(const struct ptx_function *f, struct textbuf *out);

/* An operand. */
void ptx_print_operand(const struct ptx_function *f, const struct ptx_operand *o,
                       struct textbuf *out);
/* One entry of a body as a line, for messages and traces. */
void ptx_print_entry(const struct ptx_function *f, const struct ptx_entry *e, struct textbuf *out);

/* "%rd", the names' prefix and the type of `.reg` declarations. */
const char *ptx_class_prefix(enum ptx_class c);
enum ptx_mod ptx_class_type(enum ptx_class c);

#endif
