/* The type table of a bitcode stream. */
#ifndef NVM_FRONTEND_BITCODE_BCTYPES_H
#define NVM_FRONTEND_BITCODE_BCTYPES_H

#include "frontend/bitcode/reader.h"

/* Reads the TYPE block, which the cursor is in front of. */
bool bctypes_read(struct reader *r);
/* The type of that id; TYPE_NONE after an error. */
struct nvm_type bctypes_get(struct reader *r, uint64_t id);
/* The same for the type of a value. */
struct nvm_type bctypes_value(struct reader *r, uint64_t id);
/* Whether a variable, an element or a member can have the type. */
bool bctypes_is_object(const struct reader *r, struct nvm_type type);
/* The id of a function type, given that of the type or of a pointer to it; UINT32_MAX after an
 * error. */
uint32_t bctypes_function(struct reader *r, uint64_t id);
/* The type that parameter k of a function type points to; TYPE_NONE: none known. */
struct nvm_type bctypes_parameter_pointee(struct reader *r, uint32_t function, uint32_t k);
/* The type that type `id` points to; TYPE_NONE: none known. */
struct nvm_type bctypes_pointee(struct reader *r, uint64_t id);

/* The parts of a type when written out, if they are many; 0: few. */
static inline uint32_t bctypes_length(const struct reader *r, struct nvm_type type) {
  return type.index < r->type_lengths.count ? r->type_lengths.data[type.index] : 0;
}

#endif
