/* Spelling suggestions: the name with the fewest edits from a word that is unknown. */
#ifndef NVM_SUPPORT_NEAREST_H
#define NVM_SUPPORT_NEAREST_H

#include "support/textbuf.h"

/* Insertions, deletions and replacements that turn one text into the other, `limit` + 1 if there
 * are more (Wagner and Fischer's table, one row of it at a time). A text of more than 95 bytes is
 * near none. */
unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length,
                          unsigned limit);

/* The best names offered so far for a word: two, where they are equally near, in the order of the
 * alphabet. */
struct nearest {
  struct nvm_text word, best, also; /* borrowed; bytes NULL: none */
  unsigned limit;                   /* what is further away is not offered to the user */
};

/* One edit for every three characters, as in clang: further away is no slip of the finger. */
struct nearest nearest_start(struct nvm_text word);
void nearest_offer(struct nearest *n, struct nvm_text name);

/* Appends "did you mean 'a'?" or "did you mean 'a' or 'b'?"; false, and nothing, if no name is
 * near. */
bool nearest_write(const struct nearest *n, struct textbuf *out);

#endif
