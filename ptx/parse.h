/* Reads PTX text into the form of ptx.h: whole modules, ours and those of other compilers, and the
 * bodies of inline assembly.
 *
 * Registers get our classes and numbers: `.reg .b32 %r<5>` makes %r1 to %r4 of class PTX_B32, a
 * named register the next free number. Registers declared in a { } scope become registers of the
 * function, labels too; a scope is kept only where it declares variables. Debug sections are
 * skipped. Every instruction must be a row of ops.def; which target it needs is not asked here.
 *
 * Not read (an error that names it): vectors of registers and their `.x`, constant expressions but
 * signs and offsets, `.calltargets`, Fermi-style `a[i]` operands. */
#ifndef NVM_PTX_PARSE_H
#define NVM_PTX_PARSE_H

#include "ptx/ptx.h"

/* The first error. */
struct ptx_parse_error {
  uint32_t line;           /* 1-based */
  uint32_t column;         /* 1-based, in bytes */
  uint64_t begin, end;     /* bytes of the text */
  struct nvm_text message; /* in the module's arena */
  bool is_fragment;        /* of inline assembly: what precedes or follows it may make it right */
};

/* Adds the text's variables and functions to `m`, whose arena and strings the caller has set; also
 * sets its version, target, address size and files. The text must end with a NUL after its length.
 * NVM_REFUSED: *error says where and why, and the module is not to be used. */
enum nvm_status ptx_parse_module(struct nvm_text text, struct ptx_module *m,
                                 struct ptx_parse_error *error);

/* Appends the instructions of an inline-assembly body to `f`. `$0`, `${1:x}` in the text stand for
 * operands[0], operands[1]; `$$` for a dollar sign. False, *error says why, and `f` is as before,
 * if the text is not understood: the caller then emits it as PTX_RAW. */
bool ptx_parse_inline(struct ptx_function *f, struct nvm_text text,
                      const struct ptx_operand *operands, uint32_t count,
                      struct ptx_parse_error *error);

#endif
