/* Diagnostics of the front end. */
#ifndef NVM_FRONTEND_REPORT_H
#define NVM_FRONTEND_REPORT_H

#include "frontend/state.h"

/* A diagnostic at [begin, end) with up to three arguments. */
struct diag *report(struct parser *p, enum diag_id id, uint32_t begin, uint32_t end, const char *a0,
                    const char *a1, const char *a2);
/* At the token that begins at `begin`, whose text is %0. */
struct diag *report_token(struct parser *p, enum diag_id id, uint32_t begin, const char *a1,
                          const char *a2);
/* The type's text; lives until the parser ends. */
const char *report_type(struct parser *p, struct nvm_type type);
const char *report_number(struct parser *p, uint64_t number);
const char *report_copy(struct parser *p, const char *bytes, size_t length);
/* Offers the predicates of icmp or fcmp. */
void report_offer_predicates(enum op op, struct nearest *n);
void report_bad_byte(struct parser *p, uint32_t begin, uint32_t end);

#endif
