/* Fields of shared variables: the values that stores put there, if the module has every access. */
#ifndef NVM_OPT_SHARED_FIELDS_H
#define NVM_OPT_SHARED_FIELDS_H

#include "analysis/alias.h"

enum { MAX_SHARED_FIELDS = 64 /* bits of a set of fields */ };

/* A value in the lattice of opt/scalar/sccp.c: VALUE_NULL, nothing or undef; a constant or symbol;
 * or FIELD_VARIES. */
#define FIELD_VARIES ((struct nvm_value){UINT32_MAX})
static inline bool field_varies(struct nvm_value v) { return v.bits == UINT32_MAX; }
static inline bool field_is_constant(struct nvm_value v) {
  return !value_is_none(v) && !field_varies(v);
}
static inline struct nvm_value field_meet(struct nvm_value a, struct nvm_value b) {
  if (value_is_none(a)) return b;
  if (value_is_none(b) || value_equal(a, b)) return a;
  return FIELD_VARIES;
}

/* The bytes of an access; two fields may overlap. */
struct shared_field {
  uint32_t variable;
  int64_t offset;
  uint64_t bytes;
  struct nvm_value stored; /* the meet of all that the module stores there */
};

/* What an instruction does with fields. */
enum shared_action {
  SHARED_NONE,
  SHARED_READS,  /* `field`, in a plain load */
  SHARED_STORES, /* its operand 0 to `field` */
  SHARED_MAY_STORE /* the same, if the address is in the variable */,
  SHARED_CLOBBERS, /* stores anything to `fields` */
  SHARED_SYNCS,    /* the same, and may see stores of other threads */
  SHARED_CALLS,    /* what a function does: may store to `fields`; see `syncs` */
  SHARED_BARRIER,  /* all threads of the block execute it together */
  SHARED_ASSUMES,  /* llvm.assume */
};
struct shared_effect {
  uint8_t action; /* enum shared_action */
  uint8_t field;
  bool syncs;
  uint64_t fields;
};

struct shared_fields {
  struct nvm_module *m;
  struct arena *arena;
  uint32_t count;
  struct shared_field fields[MAX_SHARED_FIELDS];
  bool *tracked;          /* by variable */
  struct nvm_value *root; /* by instruction of the current function: the variable that it points
                           * to, if it points to one; VALUE_NULL: to none */
  uint64_t *may_store;    /* by function, with its callees: fields */
  bool *syncs;            /* by function, with its callees */
  bool failed;            /* an address could not be followed */
};

/* Whether an attribute of the module marks barriers that all threads execute together. */
bool shared_fields_wanted(const struct nvm_module *m);
/* Finds the fields with constant stores; s->count is 0 if there are none, or if an address could
 * not be followed. False when out of memory. Cost: linear in operands. */
bool shared_fields_find(struct shared_fields *s, struct nvm_module *m, struct arena *arena);
/* The field at a known address; s->count: none. */
uint32_t shared_fields_at(const struct shared_fields *s, const struct alias_address *a,
                          uint64_t bytes);
/* The effects of all instructions of f, by instruction, in s->arena. NULL when out of memory. */
struct shared_effect *shared_fields_effects(struct shared_fields *s, const struct nvm_function *f);

#endif
