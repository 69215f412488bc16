/* The constraint string of inline assembly, as LLVM and its NVPTX back end parse it. Outputs come
 * first, clobbers last:
 *
 *   b predicate   c h 16 bits   r 32   l N 64   q 128   f f32   d f64
 *   n i s number or symbol      m memory, by its address       C the text of a constant string
 *   =x output   =&x written early   =*m *m through a pointer   %x commutes with the next
 *   0 1 … the register of that output   ~{...} clobbered */
#ifndef NVM_IR_ASM_CONSTRAINT_H
#define NVM_IR_ASM_CONSTRAINT_H

#include "support/textbuf.h"

enum { ASM_MAX_OPERANDS = 1024 }; /* wgmma of n256 has 256 tied accumulators and a few more */

struct asm_constraint {
  bool output, indirect;
  bool is_tied;
  char letter;   /* of the class; 0: tied */
  uint32_t tied; /* to this output */
};

struct asm_constraints {
  uint32_t room;    /* elements of the caller's array; ASM_MAX_OPERANDS suffice */
  uint32_t count;   /* operands; clobbers are not kept */
  uint32_t results; /* outputs that are not indirect: the call's result */
  struct asm_constraint *of;
};

/* Parses a string. Returns NULL, or a message about the constraint in *word. */
const char *asm_constraints_read(struct nvm_text text, struct asm_constraints *out,
                                 struct nvm_text *word);

#endif
