/* Values by id: symbols and constants of the module, then arguments, constants and instructions of
 * the function. An id that is not defined yet is a forward reference. */
#ifndef NVM_FRONTEND_BITCODE_BCVALUES_H
#define NVM_FRONTEND_BITCODE_BCVALUES_H

#include "frontend/bitcode/reader.h"

/* Gives the next id to v. False when out of memory, or if a forward reference has another type. */
bool bcvalues_define(struct reader *r, struct nvm_value v);
/* Forgets the ids from `count` on: the end of a function. False if one was used and not defined. */
bool bcvalues_truncate(struct reader *r, uint32_t count);
/* The value of an absolute id; `type`: that of a forward reference, and required of the value.
 * VALUE_NULL after an error. */
struct nvm_value bcvalues_get(struct reader *r, uint64_t id, struct nvm_type type);
/* The absolute id of a relative one: counted back from the next id, modulo 2^32. */
static inline uint32_t bcvalues_absolute(const struct reader *r, uint64_t relative) {
  return r->version ? r->value_count - (uint32_t)relative : (uint32_t)relative;
}
/* Number *k of the record as a value of that type. */
struct nvm_value bcvalues_take(struct reader *r, const struct bits_record *s, uint32_t *k,
                               struct nvm_type type);
/* The same for a value whose type is known: a forward reference is followed by its type. */
struct nvm_value bcvalues_pair(struct reader *r, const struct bits_record *s, uint32_t *k);
/* The type of a value, also of a forward reference. */
struct nvm_type bcvalues_type(const struct reader *r, struct nvm_value v);
/* The type of what the op makes of these operands; TYPE_NONE after an error. Flags, casts, calls
 * and memory accesses are left to the caller. */
struct nvm_type bcvalues_result(struct reader *r, enum op op, const struct nvm_value *operands,
                                uint32_t count);
/* The op of LLVM's numbers for binary ops and casts; OP_COUNT after an error. */
enum op bcvalues_binary_op(struct reader *r, uint64_t number, struct nvm_type type);
enum op bcvalues_cast_op(struct reader *r, uint64_t number);
/* The flags of an op in LLVM's numbering, as far as the op has them. */
uint16_t bcvalues_flags(enum op op, uint64_t number);
/* A comparison's predicate in the numbering of the op (OP_ICMP, OP_FCMP). */
bool bcvalues_predicate(struct reader *r, uint64_t number, struct nvm_type type, enum op *op,
                        uint32_t *predicate);

#endif
