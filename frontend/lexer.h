/* The scanner: text to tokens. */
#ifndef NVM_FRONTEND_LEXER_H
#define NVM_FRONTEND_LEXER_H

#include "frontend/state.h"

/* False when out of memory. */
bool lexer_init(struct parser *p);
/* The next token, and its value where it has one. */
int lexer_token(union nvir_value *value, struct parser *p);
/* After an error: T_RESYNC or T_RESYNC_TOP, and the cursor at what can follow. */
int lexer_resync(struct parser *p);
/* Why a T_OUTSIDE token is outside the subset; `index`: its number. */
const char *lexer_outside_reason(uint64_t index);
/* The end of the token that begins at `begin`. */
uint32_t lexer_token_end(struct parser *p, uint32_t begin);
/* Offers the words of the language whose token, by its number, is wanted. */
void lexer_offer_words(const struct parser *p, const bool *wanted, struct nearest *n);

#endif
