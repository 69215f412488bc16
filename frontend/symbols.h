/* Functions, variables, aliases, comdats, and the module's own lines. */
#ifndef NVM_FRONTEND_SYMBOLS_H
#define NVM_FRONTEND_SYMBOLS_H

#include "frontend/state.h"

/* Empty tables. False when out of memory. */
bool symbols_init(struct parser *p);
/* The words before a type; reports those not `allowed` here. */
void symbols_reset_prefixes(struct parser *p);
void symbols_check_prefixes(struct parser *p, uint32_t allowed, uint32_t begin);
/* The attribute list of a function or call with `count` argument sets. */
struct nvm_attrlist symbols_attribute_list(struct parser *p, struct nvm_attrset function,
                                           struct nvm_attrset result, uint32_t count);
/* A function: header, parameters, then a body or a declaration; `abandon` after an error. */
void symbols_open_header(struct parser *p, const struct written_type *type,
                         const struct token *name);
void symbols_parameter(struct parser *p, const struct written_type *type, const struct token *name);
void symbols_begin_function(struct parser *p);
void symbols_declare(struct parser *p);
void symbols_end_function(struct parser *p);
void symbols_abandon_function(struct parser *p);
/* Parts of headers. */
void symbols_comdat(struct parser *p, const struct token *name);
void symbols_attach(struct parser *p, const struct token *kind, struct nvm_meta node);
/* Variables, aliases, comdats, `target` lines; at the end, checks of all symbols. */
void symbols_variable(struct parser *p, const struct token *name, bool is_constant,
                      const struct written_type *type, const struct operand *initializer);
void symbols_alias(struct parser *p, const struct token *name, bool is_ifunc,
                   const struct written_type *type, const struct literal *bare,
                   const struct operand *typed);
void symbols_reset_variable(struct parser *p);
void symbols_define_comdat(struct parser *p, const struct token *name, const struct token *kind);
void symbols_set_layout(struct parser *p, struct nvm_str layout, const struct token *t);
void symbols_check_triple(struct parser *p, uint32_t begin, uint32_t end);
void symbols_target(struct parser *p, const struct token *what, const struct token *text);
void symbols_finish(struct parser *p);

#endif
