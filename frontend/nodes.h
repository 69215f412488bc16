/* Metadata. */
#ifndef NVM_FRONTEND_NODES_H
#define NVM_FRONTEND_NODES_H

#include "frontend/state.h"

/* Empty tables. False when out of memory. */
bool nodes_init(struct parser *p);
/* Metadata from its parts. */
struct nvm_meta nodes_reference(struct parser *p, const struct token *t);
struct nvm_meta nodes_string(struct parser *p, const struct token *t);
struct nvm_meta nodes_value(struct parser *p, const struct operand *o);
struct nvm_meta nodes_int(struct parser *p, const struct token *t);
struct nvm_meta nodes_word(struct parser *p, uint32_t begin, uint32_t end);
/* Adds an operand; makes a node, numbered node or named list of those from `first` on. */
void nodes_push(struct parser *p, const struct token *label, struct nvm_meta meta);
struct nvm_meta nodes_inline(struct parser *p, const struct token *name, uint32_t first);
void nodes_define(struct parser *p, const struct token *t, const struct token *name, bool distinct,
                  uint32_t first);
void nodes_define_named(struct parser *p, const struct token *t, uint32_t first);
struct operand nodes_operand(struct parser *p, struct nvm_meta meta, uint32_t begin);
/* The node of that number, made if it is not known. 0 when out of memory. */
uint32_t nodes_number(struct parser *p, uint64_t number);
/* Reports nodes never defined, and resolves forward uses. */
void nodes_finish(struct parser *p);

#endif
