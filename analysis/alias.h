/* Alias analysis: may two accesses touch the same bytes? Answered from address spaces, the identity
 * of allocas, globals and noalias arguments (and their captures), base + offset, !alias.scope and
 * !noalias, !tbaa, and memory that is never written (!invariant.load, constants).
 *
 * Both pointers have their values of one moment; scalar evolution compares iterations of a loop. A
 * backward walk over accesses must stop at the definition of the pointer that it asks about. */
#ifndef NVM_ANALYSIS_ALIAS_H
#define NVM_ANALYSIS_ALIAS_H

#include "analysis/effects.h"

enum alias { ALIAS_NO, ALIAS_MAY, ALIAS_PARTIAL, ALIAS_MUST };

/* pointer = base + offset + Σ scale × variable, modulo 2^64 */
enum { ALIAS_MAX_TERMS = 4 };
struct alias_term {
  struct nvm_value variable;
  int64_t scale;      /* never 0 */
  bool sign_extended; /* of a variable narrower than the pointer; else zero-extended */
};
struct alias_address {
  struct nvm_value base;
  int64_t offset; /* bytes */
  uint32_t term_count;
  struct alias_term terms[ALIAS_MAX_TERMS];
};

/* An address and cached facts about it. */
struct alias_place {
  struct alias_address address;
  struct nvm_value pointer;      /* it is in the objects of this pointer */
  uint32_t class;                /* alias_class_of_place; 0: not computed yet */
  struct alias_objects *objects; /* NULL: not computed yet */
};

struct memory_location {
  struct nvm_value pointer;
  uint64_t bytes;            /* ALIAS_ANY_BYTES: unknown, before and after the pointer */
  struct nvm_inst_id access; /* has the metadata (tbaa, scopes, invariant); {0}: none */
  struct alias_place *place; /* used instead of `pointer`; NULL: the place of `pointer` */
};
#define ALIAS_ANY_BYTES UINT64_MAX

/* The caches of one run of a pass, valid while the definitions of pointers do not change. Queries
 * may name new instructions. NULL when out of memory. */
struct alias_env;
struct alias_env *alias_init(const struct nvm_function *f, struct arena *arena);
/* MUST: both begin at the same byte; PARTIAL: they certainly overlap. */
enum alias alias_query(struct alias_env *e, struct memory_location a, struct memory_location b);
/* The place of a pointer; instructions and arguments have one each. NULL when out of memory. */
struct alias_place *alias_place_of(struct alias_env *e, struct nvm_value pointer);
/* The class of p (from alias_place_of), from 1: places that are ALIAS_MUST, metadata apart, have
 * the same class. 0 when out of memory. */
uint32_t alias_class_of_place(struct alias_env *e, struct alias_place *p);
/* The class of an address; 0: no place with it has a class. */
uint32_t alias_known_class(const struct alias_env *e, const struct alias_address *a);
/* The location that a load, store, atomic, memset or memory copy (its destination) accesses. False:
 * i is none of them. */
bool alias_location_of(const struct nvm_function *f, struct nvm_inst_id i,
                       struct memory_location *out);
/* What instruction i may do to the location: EFFECT_READS | EFFECT_WRITES. Barriers, fences,
 * atomics stronger than monotonic and unknown calls read and write everything that other threads
 * can see, volatile accesses what they touch. */
uint32_t alias_mod_ref(struct alias_env *e, struct nvm_inst_id i, struct memory_location l);
/* Whether no memory of the location is written while the function runs. */
bool alias_is_constant(struct alias_env *e, struct memory_location l);
/* Whether the object is an alloca or byval argument that only this call of the function accesses.
 */
bool alias_is_private(struct alias_env *e, struct nvm_value object);

/* What instruction i does with the pointer that is its operand k. */
enum alias_use { ALIAS_USE_READS, ALIAS_USE_WRITES, ALIAS_USE_DERIVES, ALIAS_USE_CAPTURES };
enum alias_use alias_use_of(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k);

/* Whether f is a CUDA kernel, so that its generic pointer parameters point to global memory. */
bool alias_parameters_are_global(const struct nvm_function *f);

/* The parts of an address; parts that are too long or not linear become base or variables. */
struct alias_address alias_decompose(const struct nvm_function *f, struct nvm_value pointer);

/* Whether `bytes` bytes at the address are in a byval parameter of the kernel. *align: the known
 * alignment there, in bytes. */
bool alias_is_in_parameter(const struct nvm_function *f, const struct alias_address *a,
                           uint64_t bytes, uint64_t *align);
/* Whether i is an aligned load from within a byval parameter of the kernel, which is in the
 * constant bank and always dereferenceable. */
bool alias_loads_parameter(const struct nvm_function *f, const struct nvm_inst *i);
/* Log2 of the known common divisor of offset and terms; 63 if all are 0. */
uint32_t alias_offset_zeros(const struct nvm_function *f, const struct alias_address *a);
/* Whether two addresses have the same base and terms, in any order, and so a constant distance. */
bool alias_same_shape(const struct alias_address *a, const struct alias_address *b);
/* Whether a part of the address is defined in block b. */
bool alias_is_made_in(const struct nvm_function *f, const struct alias_address *a,
                      struct nvm_block b);
/* Translates an address at the start of block `to` to the end of its predecessor `from`: phis of
 * `to` become their incoming values. False: a part is defined in `to` otherwise. */
bool alias_translate(const struct nvm_function *f, struct alias_address *a, struct nvm_block to,
                     struct nvm_block from);
/* The object that a pointer is derived from: alloca, global, argument, call, load, phi, select …
 * The walk is bounded. */
struct nvm_value alias_underlying_object(const struct nvm_function *f, struct nvm_value pointer);

#endif
