/* What the parts of alias analysis share. */
#ifndef NVM_OPT_ANALYSIS_ALIAS_INTERNAL_H
#define NVM_OPT_ANALYSIS_ALIAS_INTERNAL_H

#include "ir/intern.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/ranges.h"
#include "analysis/uses.h"

enum {
  ALIAS_MAX_STEPS = 32,  /* getelementptrs and casts walked for one address */
  ALIAS_MAX_OBJECTS = 8, /* behind phis and selects */
  ALIAS_KNOWN = 256,     /* known bits remembered */
};

enum answer { NOT_ASKED, ANSWER_NO, ANSWER_YES };

struct alias_objects {
  uint8_t count;      /* 0: not known */
  uint8_t identified; /* one bit an object: other memory than any other such object has */
  uint8_t is_private; /* enum answer: whether alias_is_private holds for all */
  uint32_t spaces;    /* one bit a space, the highest for those from 8 on */
  struct nvm_value at[ALIAS_MAX_OBJECTS];
};
_Static_assert(ALIAS_MAX_OBJECTS <= 8, "a bit an object");

enum { CAPTURE_UNKNOWN, CAPTURE_NO_ONLY_READ, CAPTURE_NO, CAPTURE_YES };

struct alias_env {
  const struct nvm_function *f;
  struct arena *arena;
  struct nvm_str tbaa, scope, noalias, invariant;
  bool cuda_kernel;
  uint32_t size; /* of the tables by instruction */
  struct alias_place *
      *places;       /* by instruction, then by argument, that is a pointer; NULL: not asked yet */
  uint8_t *captured; /* by instruction, then by argument */
  uint8_t *effects;  /* by instruction that is a call: of alias_effects.c; 0: not asked yet */
  VEC(const struct alias_address *) class_addresses; /* [0]: none */
  uint32_t *class_slots, class_slot_count;           /* as in ir/intern.h */
  struct uses uses;
  uint32_t *seen; /* by instruction: stamp of the capture walk */
  uint32_t stamp;
  struct alias_known {
    struct nvm_value value;
    struct known_bits bits;
  } * known; /* ALIAS_KNOWN; NULL: none yet */
};

static inline const struct nvm_inst *inst_of(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &f->insts.data[value_index(v)] : NULL;
}

static inline uint32_t space_of_type(const struct nvm_function *f, struct nvm_value v) {
  const struct type_table *t = &f->module->types;
  return type_info(t, type_scalar(t, value_type(f, v)))->width;
}

static inline uint32_t called_intrinsic(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value v = call_callee(f, i);
  return value_kind(v) == VALUE_FUNCTION ? module_function(f->module, v)->intrinsic : 0;
}

/* The pointer that an instruction or constant expression passes on, moved by a getelementptr
 * (*gep); none if it makes one. */
struct nvm_value alias_step_to_base(const struct nvm_function *f, struct nvm_value v, bool *gep);
/* Adds scale times v to an address; false: it has too many terms. */
bool alias_add_term(struct alias_address *a, struct nvm_value v, int64_t scale, bool is_signed);
/* Log2 of what one term is a multiple of. */
uint32_t alias_term_zeros(const struct alias_term *t, struct known_bits variable);
/* Whether the metadata of two accesses says that they are apart. */
bool alias_metadata_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b);
/* Whether that of one says that nobody writes what it reads. */
bool alias_metadata_constant(const struct alias_env *e, struct nvm_inst_id access);
/* The attribute of argument `arg` of a call, at the call or in its callee. */
const struct nvm_attr *alias_call_attr(const struct nvm_function *f, const struct nvm_inst *i,
                                       uint32_t arg, enum attr_id id);
/* Whether all the location may lie in is private to this call of the function. */
bool alias_location_is_private(struct alias_env *e, struct memory_location l);

#endif
