/* Literals with a type become values; constant expressions. */
#ifndef NVM_FRONTEND_VALUES_H
#define NVM_FRONTEND_VALUES_H

#include "frontend/state.h"

/* The value of a literal of that type; poison after a report. */
struct nvm_value values_resolve(struct parser *p, struct nvm_type type, const struct literal *l);
struct operand values_typed(struct parser *p, const struct written_type *t,
                            const struct literal *l);
/* Appends to a list on the operand stack. */
void values_push(struct parser *p, struct list *l, const struct operand *o);
/* An integer of at most `limit`; false after a report. */
bool values_number(struct parser *p, const struct token *t, uint64_t limit, uint64_t *number);
/* Literals from the parts of an expression. */
struct literal values_asm(struct parser *p, uint32_t begin, uint32_t flags,
                          const struct token *text, const struct token *constraints);
struct literal values_list(uint32_t begin, enum literal_kind kind, struct list l);
struct literal values_splat(struct parser *p, uint32_t begin, const struct operand *o);
struct literal values_cast(struct parser *p, const struct token *op, const struct operand *o,
                           const struct written_type *to);
struct literal values_gep(struct parser *p, const struct token *op,
                          const struct written_type *element, struct list l);
struct literal values_compare(struct parser *p, const struct token *op,
                              const struct token *predicate, const struct operand *a,
                              const struct operand *b);
struct literal values_expr(struct parser *p, const struct token *op, struct list l);
struct literal values_member(struct parser *p, const struct token *op, struct list l);
/* The operands of a list as values in p->values; the list is popped. */
const struct nvm_value *values_take(struct parser *p, struct list l);
/* Types that the grammar's ops have in common with instructions; TYPE_NONE after a report. */
struct nvm_type values_op_type(struct parser *p, enum op op, const struct token *at,
                               const struct operand *operands, uint32_t count);
struct nvm_type values_gep_type(struct parser *p, const struct operand *operands, uint32_t count);
/* Reports flags, predicates, indices and typed pointers that do not fit. */
bool values_check_flags(struct parser *p, enum op op, const struct token *at, uint32_t flags);
uint32_t values_predicate(struct parser *p, enum op op, const struct token *t);
/* What `extractvalue` finds: follows `count` members. TYPE_NONE after a report. */
struct nvm_type values_member_type(struct parser *p, struct nvm_type type,
                                   const struct operand *indices, uint32_t count);
void values_push_index(struct parser *p, struct list *l, const struct token *t);
bool values_check_pointee(struct parser *p, const struct operand *pointer, struct nvm_type type,
                          uint32_t begin);

/* The constant expression, folded where the front end folds. */
struct nvm_value values_make_expr(struct parser *p, enum op op, uint16_t flags,
                                  struct nvm_type type, const struct nvm_value *operands,
                                  uint32_t count, uint32_t aux);

#endif
