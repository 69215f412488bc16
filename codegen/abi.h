/* How values travel through .param space: parameters, results, calls. */
#ifndef NVM_CODEGEN_ABI_H
#define NVM_CODEGEN_ABI_H

#include "codegen/address.h"

enum passing_kind {
  PASS_NOTHING, /* no bytes: void, empty structs */
  PASS_SCALAR,  /* one number of `bytes` 4 or 8 (kernels: also 1 and 2) */
  PASS_BYTES,   /* an array of `bytes` bytes aligned to `align` */
};
struct passing {
  enum passing_kind kind;
  uint64_t bytes;
  uint32_t align;
  bool is_byval;          /* the object that the pointer points to is passed */
  struct nvm_type type;   /* of what is passed */
  uint32_t pointer_align; /* byval: of the caller's object, in bytes */
};
struct parameter {
  struct passing how;
  struct nvm_str name;
};
/* What the ABI depends on: a function, or a call of one. */
struct abi {
  struct nvm_value function; /* VALUE_NULL: only its type is known */
  struct nvm_type type;      /* TY_FUNCTION */
  const struct attrlist_info *attributes;
  struct nvm_meta call_align; /* !callalign of a call */
};
struct abi abi_of_function(const struct lower *l, struct nvm_value function);
struct passing abi_result(struct lower *l, const struct abi *abi);
struct passing abi_param(struct lower *l, const struct abi *abi, uint32_t i);
/* The attribute of parameter i, or NULL; of the result for ABI_RESULT. */
enum { ABI_RESULT = UINT32_MAX };
const struct nvm_attr *abi_attr(const struct lower *l, const struct abi *abi, uint32_t i,
                                enum attr_id id);
/* The .param variable of a device function's parameter or result, and its address. */
struct ptx_variable abi_variable(const struct passing *p, struct nvm_str name);
static inline struct address abi_address(const struct passing *p, struct nvm_str name) {
  return (struct address){ptx_at_symbol(name, 0), PTX_MOD_PARAM, p->align};
}
/* A variadic function has the pointer to the area of its variable arguments as its last parameter.
 */
struct passing abi_variadic_area(const struct lower *l);
/* Values into and out of the .param variable `name`. `value` has the parts of p->type. */
void abi_store(struct lower *l, const struct passing *p, struct nvm_str name,
               const struct ptx_operand *value, bool is_signed);
void abi_load(struct lower *l, const struct passing *p, struct nvm_str name,
              const struct ptx_reg *to);
/* A byval object into or out of .param of a call or a device function, which is addressed by
 * constants only: without a loop. */
void abi_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes);
/* `beforeword7`, unless a symbol has that name. */
struct nvm_str abi_numbered_name(struct lower *l, const char *before, const char *word, uint32_t n);
/* Whether `.noreturn` can be written without a later PTX version. */
bool abi_may_write_noreturn(const struct lower *l);

/* The PTX header of l->symbol: parameters, results, performance directives; for definitions and
 * declarations alike. */
void params_signature(struct lower *l, const struct nvm_function *f, struct ptx_function *pf);
/* Copies arguments that phis take, before selection; false when out of memory. */
bool params_copy_for_phis(struct lower *l);
/* Chooses the block in which each argument that is used is read; false when out of memory. */
bool params_plan(struct lower *l);
/* Lowers i by loading the argument that it converts; false: it does not, or the argument has other
 * readers. */
bool params_lower_conversion(struct lower *l, const struct nvm_inst *i);
/* Whether some are read in block b. */
bool params_are_read(const struct lower *l, struct nvm_block b);
/* Reads those of block b into registers, or copies them into the frame. */
void params_read(struct lower *l, struct nvm_block b);
/* The address of the variable arguments, which llvm.va_start stores. */
struct ptx_reg params_variadic_area(struct lower *l);

#endif
