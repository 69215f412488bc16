/* The text of inline assembly. */
#ifndef NVM_CODEGEN_ASM_TEXT_H
#define NVM_CODEGEN_ASM_TEXT_H

#include "codegen/lower.h"
#include "ir/asm_constraint.h"

struct asm_operand {
  struct ptx_operand operand;
  struct nvm_text literal; /* constraint C: this text instead; bytes NULL: none */
};

/* Rewrites LLVM's template so that only `$0`, `${0}` and `$$` remain: the first variant of
 * `$(a$|b$)` is taken, `${:uid}` becomes a number, literals are inserted, `${0:n}` becomes the
 * negated number. Refuses the call and returns false if the text refers to no operand or has a
 * modifier without meaning in PTX. The text is in the function arena and ends with a NUL. */
bool asm_text_expand(struct lower *l, struct nvm_text text, const struct asm_operand *operands,
                     uint32_t count, struct nvm_text *out);

/* That text with the operands inserted, as PTX_RAW prints it. */
struct nvm_text asm_text_substitute(struct lower *l, struct nvm_text text,
                                    const struct asm_operand *operands, uint32_t count);

#endif
