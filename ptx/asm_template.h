/* LLVM's inline-assembly templates: from the text of an `asm` call to PTX. Code generation and the
 * simulator of IR read the same templates by these functions. */
#ifndef NVM_PTX_ASM_TEMPLATE_H
#define NVM_PTX_ASM_TEMPLATE_H

#include "ptx/ptx.h"

struct asm_operand {
  struct ptx_operand operand;
  struct nvm_text literal; /* constraint C: this text instead; bytes NULL: none */
};

/* Rewrites a template so that only `$0`, `${0}` and `$$` remain: the first variant of `$(a$|b$)` is
 * taken, `${:uid}` becomes the number `uid`, literals are inserted, `${0:n}` becomes the negated
 * number. The text is in `arena` and ends with a NUL after its length; bytes NULL: out of memory.
 * False if the template refers to no operand or has a modifier without meaning in PTX: *out is then
 * the rest of the template from that place on, borrowed. */
bool asm_template_expand(struct arena *arena, struct nvm_text template,
                         const struct asm_operand *operands, uint32_t count, uint32_t uid,
                         struct nvm_text *out);

/* What is wrong with a template: 'REST' refers to no operand …, at most 16 bytes of it. */
void asm_template_describe(struct nvm_text rest, struct textbuf *out);

/* The expanded text with the operands inserted, as PTX_RAW prints it; in `arena`. */
struct nvm_text asm_template_substitute(struct arena *arena, const struct ptx_function *f,
                                        struct nvm_text text, const struct asm_operand *operands,
                                        uint32_t count);

#endif
