/* Names of local values, blocks and symbols, before and after their definitions. */
#ifndef NVM_FRONTEND_NAMES_H
#define NVM_FRONTEND_NAMES_H

#include "frontend/state.h"

/* Uses of a function or variable that are checked at the end of the module. */
struct symbol_use {
  uint32_t begin, end; /* the first use; end 0: none */
  uint32_t space;      /* address space + 1 that it requires; 0: none */
  uint32_t call_begin, call_end;
};

/* Empty tables. False when out of memory. */
bool names_init(struct parser *p);
/* The interned text of a name, without sigil, quotes and escapes. */
struct nvm_str names_string(struct parser *p, const struct token *t);
struct nvm_str names_unescape(struct parser *p, uint32_t begin, uint32_t length);
/* The local value of that name, or a VALUE_FORWARD; reports another type. */
struct nvm_value names_local(struct parser *p, const struct literal *l, struct nvm_type type);
/* A VALUE_FORWARD of that type, used at [begin, end); its definition, later: false if that has
 * another type. The type of any value of the function. */
struct nvm_value names_forward(struct parser *p, struct nvm_type type, uint32_t begin,
                               uint32_t end);
bool names_resolve_forward(struct parser *p, struct nvm_value forward, struct nvm_value v);
struct nvm_type names_type(const struct parser *p, struct nvm_value v);
/* Blocks: the one named, made at its first use; its definition; one without a name. */
struct nvm_value names_block(struct parser *p, const struct token *t);
void names_define_block(struct parser *p, const struct token *t);
struct nvm_block names_new_block(struct parser *p);
/* Names an instruction, an argument; `broken`: the definition had an error. */
void names_define(struct parser *p, const struct token *t, struct nvm_inst_id inst);
void names_define_argument(struct parser *p, const struct token *t, uint32_t i);
void names_mark_broken(struct parser *p, const struct token *t);
void names_scanned_symbol(struct parser *p, const struct token *t, bool is_function);
uint32_t names_space(const struct parser *p, struct nvm_value symbol);
/* The symbol of that name, made by the scan or on the spot; `is_function`: what to make of one that
 * the text never defines. */
struct nvm_value names_symbol(struct parser *p, const struct token *t, bool is_function);
/* The symbol as an operand of that type; the record of its uses; notes a use. */
struct nvm_value names_global(struct parser *p, const struct literal *l, struct nvm_type type);
struct symbol_use *names_use(struct parser *p, struct nvm_value symbol);
void names_note_use(struct parser *p, struct nvm_value symbol, const struct token *t,
                    uint32_t space);
/* The begin of a name with its sigil and quotes. */
uint32_t names_begin(const struct parser *p, const struct token *t);
/* The entry of number `n` for numbers with this sigil: @N, !N. NULL when out of memory. */
uint32_t *names_numbered(struct parser *p, char sigil, uint64_t n);
/* After the last statement of a function: every name used has been defined. */
void names_end_function(struct parser *p);
void names_begin_function(struct parser *p);

#endif
