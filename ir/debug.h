/* Reading debug metadata: file, line and column of a DILocation. */
#ifndef NVM_IR_DEBUG_H
#define NVM_IR_DEBUG_H

#include "ir/module.h"

/* A field of a specialized node: a number from 0 to INT32_MAX (otherwise 0), a string or a word
 * such as NoDebug (otherwise empty), a node (otherwise NULL). */
uint32_t debug_number(const struct nvm_module *m, const struct meta_node *n, const char *key);
struct nvm_text debug_text(const struct nvm_module *m, const struct meta_node *n, const char *key);
struct nvm_text debug_word(const struct nvm_module *m, const struct meta_node *n, const char *key);
const struct meta_node *debug_node(const struct nvm_module *m, const struct meta_node *n,
                                   const char *key);
/* The DIFile of a DILocation or scope: that of the nearest enclosing scope with one, or NULL. */
const struct meta_node *debug_file(const struct nvm_module *m, const struct meta_node *place);

#endif
