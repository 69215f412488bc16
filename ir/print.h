/* The canonical text of a module. It parses to the same module, which prints the same bytes. LLVM
 * 19 accepts it for modules within its syntax. */
#ifndef NVM_IR_PRINT_H
#define NVM_IR_PRINT_H

#include "ir/function.h"

/* Appends the text to `out`. NVM_OUT_OF_MEMORY if a table or the text did not fit. */
enum nvm_status print_module(const struct nvm_module *m, struct textbuf *out);
/* One function as `define … { … }` or `declare …`, for dumps; unnamed metadata by number. */
enum nvm_status print_function(const struct nvm_function *f, struct textbuf *out);
/* The control flow graph of a function, for Graphviz. */
enum nvm_status print_cfg(const struct nvm_function *f, struct textbuf *out);
/* An integer of `width` bits in TYPE_MAX_INT_WORDS words, low first, in decimal, signed; the words
 * are overwritten. */
void print_words(struct textbuf *out, uint64_t *words, uint32_t width);
/* One instruction without its indentation and newline; for diagnostics and traces. */
enum nvm_status print_inst(const struct nvm_function *f, struct nvm_inst_id i, struct textbuf *out);
/* An instruction's op with its flags and predicate: `add nsw`, `icmp slt`. */
void print_inst_op(const struct nvm_function *f, struct nvm_inst_id i, struct textbuf *out);
/* Those of the flags that the op may carry, each with a space before it. */
void print_flags(struct textbuf *out, enum op op, uint16_t flags);
/* Every instruction in layout order, each followed by a NUL; end[i] is the end of the text of i. */
enum nvm_status print_insts(const struct nvm_function *f, struct textbuf *out, uint32_t *end);
/* An operand with its type: `i32 %x`, `ptr @g`, `float 1.000000e+00`. */
enum nvm_status print_value(const struct nvm_function *f, struct nvm_value v, struct textbuf *out);

#endif
