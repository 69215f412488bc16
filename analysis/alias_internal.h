/* Shared by the files of alias analysis. */
#ifndef NVM_ANALYSIS_ALIAS_INTERNAL_H
#define NVM_ANALYSIS_ALIAS_INTERNAL_H

#include "ir/intern.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/ranges.h"
#include "analysis/uses.h"

enum {
  ALIAS_MAX_STEPS = 32,  /* getelementptrs and casts walked for one address */
  ALIAS_MAX_OBJECTS = 8, /* of one pointer, through phis and selects */
  ALIAS_KNOWN = 256,     /* cached known bits */
};

enum answer { NOT_ASKED, ANSWER_NO, ANSWER_YES };

struct alias_objects {
  uint8_t count;      /* 0: unknown */
  uint8_t identified; /* bit per object: disjoint from every other identified object */
  uint8_t is_private; /* enum answer: whether alias_is_private holds for all */
  uint32_t spaces;    /* bit per address space that they may be in, one for those from 8 on */
  struct nvm_value at[ALIAS_MAX_OBJECTS];
};
_Static_assert(ALIAS_MAX_OBJECTS <= 8, "one bit per object");

enum { CAPTURE_UNKNOWN, CAPTURE_NO_ONLY_READ, CAPTURE_NO, CAPTURE_YES };

struct alias_env {
  const struct nvm_function *f;
  struct arena *arena;
  struct nvm_str tbaa, scope, noalias, invariant;
  bool cuda_kernel;
  uint32_t size;               /* of the tables by instruction */
  struct alias_place **places; /* by instruction, then argument; NULL: not computed yet */
  uint8_t *captured;           /* by instruction, then argument */
  uint8_t *effects;            /* by call: packed call_effect + 1; 0: not computed yet */
  VEC(const struct alias_address *) class_addresses; /* [0]: none */
  uint32_t *class_slots, class_slot_count;           /* as in ir/intern.h */
  struct uses uses;
  uint32_t *seen; /* by instruction: stamp of the capture walk */
  uint32_t stamp;
  struct alias_known {
    struct nvm_value value;
    struct known_bits bits;
  } * known; /* ALIAS_KNOWN entries; NULL: none yet */
};

static inline const struct nvm_inst *inst_of(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &f->insts.data[value_index(v)] : NULL;
}

static inline uint32_t space_of_type(const struct nvm_function *f, struct nvm_value v) {
  const struct type_table *t = &f->module->types;
  return type_info(t, type_scalar(t, value_type(f, v)))->width;
}

/* The pointer that an instruction or constant expression is derived from, by getelementptr (*gep)
 * or cast; none otherwise. */
struct nvm_value alias_step_to_base(const struct nvm_function *f, struct nvm_value v, bool *gep);
/* Adds scale * v to an address; false: too many terms. */
bool alias_add_term(struct alias_address *a, struct nvm_value v, int64_t scale, bool is_signed);
/* Log2 of the known divisor of a term. */
uint32_t alias_term_zeros(const struct alias_term *t, struct known_bits variable);
/* Whether the metadata of two accesses makes them disjoint. */
bool alias_metadata_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b);
/* Whether the metadata of an access says that its memory is never written. */
bool alias_metadata_constant(const struct alias_env *e, struct nvm_inst_id access);
/* The attribute of argument `arg` at a call or in its callee. */
const struct nvm_attr *alias_call_attr(const struct nvm_function *f, const struct nvm_inst *i,
                                       uint32_t arg, enum attr_id id);
/* alias_is_private for all objects of the location. */
bool alias_location_is_private(struct alias_env *e, struct memory_location l);

#endif
