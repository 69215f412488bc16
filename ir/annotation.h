/* Annotations of functions and variables: the module's !nvvm.annotations, found by symbol. */
#ifndef NVM_IR_ANNOTATION_H
#define NVM_IR_ANNOTATION_H

#include "ir/module.h"

/* One key and value. */
struct annotation {
  struct nvm_str key;
  struct nvm_meta value;
  uint32_t next; /* of the same symbol; 0: end */
};

/* Reads all annotations, linear in their number; NULL when out of memory. The index lives in
 * `arena`. Functions and variables that the module gets later have no annotations in it. */
const struct annotations *annotations_read(const struct nvm_module *m, struct arena *arena);

/* The module that they were read from. */
const struct nvm_module *annotations_module(const struct annotations *all);
/* The pairs of a function or variable, in order; NULL at the end. */
const struct annotation *annotation_first(const struct annotations *all, struct nvm_value symbol);
const struct annotation *annotation_next(const struct annotations *all, const struct annotation *a);
bool annotation_is(const struct annotations *all, const struct annotation *a, const char *key);
/* The first number under `key`; false if there is none. */
bool annotation_number(const struct annotations *all, struct nvm_value symbol, const char *key,
                       uint64_t *value);

#endif
