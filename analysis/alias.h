/* May two accesses touch the same bytes? By address space, identity of allocas, globals and noalias
 * arguments (whose address does not escape, where that matters), base + offset, !alias.scope and
 * !noalias, !tbaa, and memory that nobody writes (!invariant.load, constants).
 *
 * Both pointers are taken as they are at one moment: a question about two iterations of a loop is
 * one for add-recurrences. A walk that asks about the accesses on the way to a place may go up to
 * the definitions of the pointer it asks about, and not beyond. */
#ifndef NVM_OPT_ANALYSIS_ALIAS_H
#define NVM_OPT_ANALYSIS_ALIAS_H

#include "ir/function.h"

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

/* An address, and what was found out about it. */
struct alias_place {
  struct alias_address address;
  struct nvm_value pointer;      /* whose objects it lies in */
  uint32_t class;                /* its alias_class; 0: not asked yet */
  struct alias_objects *objects; /* NULL: not asked yet */
};

struct memory_location {
  struct nvm_value pointer;
  uint64_t bytes;            /* ALIAS_ANY_BYTES: unknown, before the pointer and behind it */
  struct nvm_inst_id access; /* whose metadata speaks (tbaa, scopes, invariant); {0}: nobody's */
  struct alias_place *place; /* what counts instead of `pointer`; NULL: that of `pointer` */
};
#define ALIAS_ANY_BYTES UINT64_MAX

/* What one run of a pass remembers; valid while the definitions of pointers stay as they are. New
 * instructions may be asked about. NULL when out of memory. */
struct alias_env;
struct alias_env *alias_init(const struct nvm_function *f, struct arena *arena);
/* MUST: both begin at the same byte; PARTIAL: they certainly overlap. */
enum alias alias_query(struct alias_env *e, struct memory_location a, struct memory_location b);
/* The place of a pointer, that of an instruction or argument always the same. NULL when out of
 * memory. */
struct alias_place *alias_place_of(struct alias_env *e, struct nvm_value pointer);
/* A number from 1 of the address of p, which alias_place_of() gave: two places have the same where
 * ALIAS_MUST can be answered for them, metadata apart. 0 when out of memory. */
uint32_t alias_class_of_place(struct alias_env *e, struct alias_place *p);
/* The same of any address; 0: no place that was asked about has it. */
uint32_t alias_known_class(const struct alias_env *e, const struct alias_address *a);
/* What a load, store, atomic or memset writes or reads (of a copy: what it writes). False: it is no
 * such instruction. */
bool alias_location_of(const struct nvm_function *f, struct nvm_inst_id i,
                       struct memory_location *out);
/* What instruction i may do to the location: ALIAS_READS | ALIAS_WRITES. Barriers, fences, atomics
 * stronger than monotonic and unknown calls do both to everything that another thread can see;
 * so does a volatile access to what it touches. */
enum { ALIAS_READS = 1, ALIAS_WRITES = 2 };
uint32_t alias_mod_ref(struct alias_env *e, struct nvm_inst_id i, struct memory_location l);
/* The same for all memory: what i, an access or call, may do at all; what any instruction may do.
 */
uint32_t alias_access_effects(const struct nvm_function *f, struct nvm_inst_id i);
static inline uint32_t alias_effects(const struct nvm_function *f, struct nvm_inst_id i) {
  bool touches = op_table[function_inst(f, i)->op].flags & (OPF_READS | OPF_WRITES);
  return touches ? alias_access_effects(f, i) : 0;
}
/* Whether the memory is never written while the function runs. */
bool alias_is_constant(struct alias_env *e, struct memory_location l);
/* Whether the object (an alloca, a byval argument) is seen by this call of the function alone. */
bool alias_is_private(struct alias_env *e, struct nvm_value object);

/* Whether f is a CUDA kernel: its generic pointer parameters point to global memory, where all that
 * the host passes lies. */
bool alias_parameters_are_global(const struct nvm_function *f);

/* The parts of an address; what is too long or too odd becomes a base or a variable of its own. */
struct alias_address alias_decompose(const struct nvm_function *f, struct nvm_value pointer);
/* Log2 of what offset and terms are known to be a multiple of; 63 if they are nothing. */
uint32_t alias_offset_zeros(const struct nvm_function *f, const struct alias_address *a);
/* Whether two addresses have the same base and the same terms, in any order: they are a constant
 * distance apart. */
bool alias_same_shape(const struct alias_address *a, const struct alias_address *b);
/* Whether block b makes a part of the address. */
bool alias_is_made_in(const struct nvm_function *f, const struct alias_address *a,
                      struct nvm_block b);
/* The address as it is at the end of block `from`, given what it is at the start of its successor
 * `to`: phis of `to` become what they get from there. False: it is not known before `to`. */
bool alias_translate(const struct nvm_function *f, struct alias_address *a, struct nvm_block to,
                     struct nvm_block from);
/* The object a pointer is derived from: alloca, global, argument, call, load, phi, select … The
 * walk is bounded. */
struct nvm_value alias_underlying_object(const struct nvm_function *f, struct nvm_value pointer);

#endif
