/* The text of inline assembly, apart from what its operands are. */
#ifndef NVM_CODEGEN_ASM_TEXT_H
#define NVM_CODEGEN_ASM_TEXT_H

#include "codegen/lower.h"
#include "ir/asm_constraint.h"

struct asm_operand {
  struct ptx_operand operand;
  struct nvm_text literal; /* constraint C: this text stands for the operand; bytes NULL: none */
};

/* Rewrites LLVM's template so that only `$0`, `${0}` and `$$` are left: the first of `$(a$|b$)` is
 * taken, `${:uid}` becomes a number, literals are inserted, `${0:n}` becomes the negated number.
 * Refuses, and returns false, where the text names no operand or uses a modifier PTX has no meaning
 * for. The text is in the function arena and ends with a NUL. */
bool asm_text_expand(struct lower *l, struct nvm_text text, const struct asm_operand *operands,
                     uint32_t count, struct nvm_text *out);

/* The expanded text with the operands written in: what PTX_RAW prints. */
struct nvm_text asm_text_substitute(struct lower *l, struct nvm_text text,
                                    const struct asm_operand *operands, uint32_t count);

#endif
