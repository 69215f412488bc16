/* Symbols: PTX names, performance directives, variables and their initializers. */
#ifndef NVM_CODEGEN_SYMBOL_H
#define NVM_CODEGEN_SYMBOL_H

#include "codegen/lower.h"
#include "ir/annotation.h"

/* Legal, unique, deterministic PTX names for all functions and globals. */
bool names_assign(struct lower *l);
/* The name of the symbol, or of what it is an alias of; of the alias itself. */
struct nvm_str names_of_symbol(const struct lower *l, struct nvm_value global_or_function);
struct nvm_str names_of_alias(const struct lower *l, struct nvm_value alias);
/* A name for something in a function: this one, unless a symbol of the module has it. */
struct nvm_str names_of_local(struct lower *l, const char *name);

/* `.maxntid` and the like, from annotations and attributes; refuses what the target lacks. */
void directive_read(struct lower *l, const struct nvm_function *f, struct ptx_function *pf);
/* Whether a kernel's byval parameter is marked as never written, so that its address can be taken.
 */
bool directive_is_grid_constant(struct lower *l, const struct nvm_function *f, uint32_t argument);

/* A constant as a number, or an address plus a number. */
struct constant_value {
  struct nvm_value symbol; /* a variable or function, or VALUE_NULL */
  bool generic;            /* generic(symbol) */
  uint32_t bits;           /* how many low bits of the sum count */
  nvm_u128 number;
};
/* The bytes of an initializer: numbers and, over them, addresses in ascending order. */
struct image_address {
  uint64_t offset; /* bytes */
  uint32_t bytes;  /* how many of the address count */
  struct constant_value value;
};
struct image {
  struct textbuf bytes; /* zeros beyond its end */
  VEC(struct image_address) addresses;
  const char *failure; /* why it cannot be initialized so; NULL: it can */
};
/* In the function arena; of VALUE_NULL it is empty. */
void initializer_image(struct lower *l, struct nvm_value initializer, struct image *out);

/* Writes all variables of the module in an order in which each is defined before it is used.
 * `used`: by global, whether anything refers to it. */
enum nvm_status global_write_all(struct lower *l, const bool *used);
/* Whether it is a list for the compiler: llvm.used, llvm.global.annotations and such. */
bool global_is_for_compiler(const struct lower *l, const struct nvm_global *g);
/* The modifier of the address space of a variable; those of address space 0 are in .global. */
uint16_t global_space(const struct nvm_global *g);

#endif
