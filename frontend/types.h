/* Types as written. */
#ifndef NVM_FRONTEND_TYPES_H
#define NVM_FRONTEND_TYPES_H

#include "frontend/state.h"

/* Empty tables. False when out of memory. */
bool types_init(struct parser *p);
/* Types from their parts; `end`: of the text. */
void types_push(struct parser *p, struct list *l, const struct written_type *t);
struct written_type types_pointer(struct parser *p, const struct written_type *to, uint64_t space,
                                  uint32_t end);
struct written_type types_sequence(struct parser *p, const struct token *count,
                                   const struct written_type *element, bool vector, uint32_t begin,
                                   uint32_t end);
struct written_type types_struct(struct parser *p, struct list l, bool packed, uint32_t begin,
                                 uint32_t end);
struct written_type types_empty_struct(struct parser *p, bool packed, uint32_t begin, uint32_t end);
struct written_type types_function(struct parser *p, const struct written_type *result,
                                   struct list l, bool variadic, uint32_t end);
struct written_type types_named(struct parser *p, const struct token *t);
/* `%T = type body`; at the end, types never defined are reported. */
void types_define(struct parser *p, const struct token *t, const struct written_type *body);
void types_finish(struct parser *p);

#endif
