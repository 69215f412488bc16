/* Instructions: one action of the grammar each. */
#ifndef NVM_FRONTEND_INSTS_H
#define NVM_FRONTEND_INSTS_H

#include "frontend/state.h"

/* Empty tables. False when out of memory. */
bool insts_init(struct parser *p);
/* Makes the instruction `op`; types are checked, errors reported at the operands. */
void insts_plain(struct parser *p, const struct token *op, struct nvm_type type,
                 const struct operand *operands, uint32_t count);
void insts_list(struct parser *p, const struct token *op, struct list l);
void insts_binary(struct parser *p, const struct token *op, const struct operand *a,
                  const struct literal *b);
void insts_compare(struct parser *p, const struct token *op, const struct token *predicate,
                   const struct operand *a, const struct literal *b);
void insts_cast(struct parser *p, const struct token *op, const struct operand *o,
                const struct written_type *to);
void insts_alloca(struct parser *p, const struct token *op, uint32_t flags,
                  const struct written_type *type, const struct operand *count);
void insts_alloca_space(struct parser *p, const struct token *space);
void insts_align(struct parser *p, const struct token *t);
void insts_load(struct parser *p, const struct token *op, const struct written_type *type,
                const struct operand *pointer);
void insts_store(struct parser *p, const struct token *op, const struct operand *value,
                 const struct operand *pointer);
void insts_fence(struct parser *p, const struct token *op);
void insts_cmpxchg(struct parser *p, const struct token *op, const struct operand *operands);
void insts_atomicrmw(struct parser *p, const struct token *op, const struct token *rmw,
                     const struct operand *operands);
void insts_access_align(struct parser *p, const struct token *t);
void insts_scope(struct parser *p, const struct token *name);
void insts_gep(struct parser *p, const struct token *op, const struct written_type *element,
               struct list l);
void insts_member(struct parser *p, const struct token *op, struct list l);
void insts_phi(struct parser *p, const struct token *op, struct list l);
void insts_incoming(struct parser *p, struct list *l, const struct literal *value,
                    const struct token *block);
void insts_open_call(struct parser *p, const struct written_type *type,
                     const struct literal *callee);
void insts_open_bundle(struct parser *p);
void insts_close_bundle(struct parser *p, const struct token *tag);
void insts_call(struct parser *p, const struct token *op);
void insts_argument(struct parser *p, const struct operand *o);
void insts_dbg(struct parser *p, const struct token *op, struct list l);
void insts_finish(struct parser *p, const struct token *name);
void insts_attach(struct parser *p, const struct token *kind, struct nvm_meta node);
void insts_broken(struct parser *p);
struct operand insts_label(struct parser *p, const struct token *t);

/* Notes the operands of i that are forward references, for the end of the function. */
void insts_note_forwards(struct parser *p, struct nvm_inst_id i);

#endif
