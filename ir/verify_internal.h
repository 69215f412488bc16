/* Shared by the verifier's files. verify.c: entry points, reports, blocks, dominance, phi edges;
 * verify_inst.c: instructions and constant expressions by op; verify_call.c: calls and attributes;
 * verify_module.c: types, constants, symbols, metadata. */
#ifndef NVM_IR_VERIFY_INTERNAL_H
#define NVM_IR_VERIFY_INTERNAL_H

#include "ir/dominance.h"
#include "ir/verify.h"

struct verifier {
  const struct nvm_module *m;
  const struct type_table *types;
  const struct nvm_function *f; /* the current function, or NULL */
  struct diag_sink *sink;
  struct arena arena;          /* released when the verifier ends */
  struct arena function_arena; /* reset after each function */
  uint32_t source;
  bool broken;          /* a rule is broken */
  struct nvm_str range; /* the name of the checked attachment; {0}: no instruction has one */
  uint8_t *site_seen;   /* by call site: attributes already checked; NULL: check all */
};

/* The subject of an op's rules: an instruction or a constant expression. */
struct subject {
  struct verifier *v;
  struct nvm_inst_id id; /* {0}: a constant expression */
  enum op op;
  uint16_t flags;
  struct nvm_type type;
  const struct nvm_value *operands;
  uint32_t count;
  uint32_t aux;
};

/* Reports a broken rule at the instruction `at`, at the current function, or at `where`. The format
 * describes the finding: %T struct nvm_type, %V struct nvm_value, %s, %S struct nvm_str, %u
 * unsigned, %U uint64_t. Always returns false, for `return verify_fail(…)`. */
bool verify_fail(struct verifier *v, enum verify_rule rule, struct nvm_inst_id at,
                 const char *found, ...);
bool verify_fail_at(struct verifier *v, enum verify_rule rule, struct diag_range where,
                    const char *found, ...);

/* The type of a value in the current function (or of a constant). */
static inline struct nvm_type verify_type(const struct verifier *v, struct nvm_value value) {
  return v->f ? value_type(v->f, value) : module_value_type(v->m, value);
}
static inline struct nvm_type subject_type(const struct subject *s, uint32_t k) {
  return verify_type(s->v, s->operands[k]);
}
/* Whether both are scalars, or vectors with the same number of lanes. */
bool verify_same_lanes(const struct type_table *t, struct nvm_type a, struct nvm_type b);

/* Checks the rules of the op; operands must be valid. False if one is broken. */
bool verify_op(const struct subject *s);
bool verify_call(const struct subject *s);
/* Checks that the subject's result has this type. */
bool verify_result(const struct subject *s, struct nvm_type type);
/* Checks the attributes of a function or call site of function type `type`. */
void verify_attributes(struct verifier *v, struct nvm_attrlist list, struct nvm_type type,
                       struct nvm_inst_id at);
/* Checks everything in the module except function bodies. */
void verify_module_level(struct verifier *v);
void verify_symbol_function(struct verifier *v, const struct nvm_function *f);
/* Checks the metadata attached to an instruction. */
void verify_attachments(struct verifier *v, struct nvm_inst_id id);

#endif
