/* Attributes and attribute groups. */
#ifndef NVM_FRONTEND_ATTRS_H
#define NVM_FRONTEND_ATTRS_H

#include "frontend/state.h"

/* Empty tables. False when out of memory. */
bool attrs_init(struct parser *p);
/* One attribute: alone, with a number, type or text, a string, a group. */
void attrs_flag(struct parser *p, const struct token *t);
void attrs_int(struct parser *p, const struct token *t, const struct token *number);
void attrs_type(struct parser *p, const struct token *t, const struct written_type *type);
void attrs_text(struct parser *p, const struct token *t);
void attrs_string(struct parser *p, const struct token *key, const struct token *value);
void attrs_group(struct parser *p, const struct token *t);
/* The set of the attributes read since the last call. `pointee`: of the parameter, for older
 * byval; TYPE_NONE otherwise. */
struct nvm_attrset attrs_close(struct parser *p, struct nvm_type pointee);
/* `attributes #0 = {…}`; at the end, references to groups are replaced. */
void attrs_define_group(struct parser *p, const struct token *t);
void attrs_finish(struct parser *p);
/* Takes `align N` out of the attributes read so far: its log2 + 1, or 0 if there is none. Among
 * those of a function it is its own alignment. Among those of a variable, where no comma precedes
 * it, it has no meaning. */
uint8_t attrs_take_alignment(struct parser *p);
bool attrs_alignment(struct parser *p, const struct token *t, uint32_t *log2_plus_1);

#endif
