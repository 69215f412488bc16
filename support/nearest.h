/* Spelling suggestions: the name with the smallest edit distance from an unknown word. */
#ifndef NVM_SUPPORT_NEAREST_H
#define NVM_SUPPORT_NEAREST_H

#include "support/textbuf.h"

/* The edit distance (insertions, deletions, replacements), or `limit` + 1 if larger. Wagner and
 * Fischer's algorithm with one row, between the common start and end of both, in the band that
 * Ukkonen describes. A text of more than 95 bytes is near none. */
unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length,
                          unsigned limit);

/* The best candidates so far: two if they are equally near, in alphabetical order. */
struct nearest {
  struct nvm_text word, best, also; /* borrowed; bytes NULL: none */
  unsigned limit;                   /* maximum distance of a suggestion */
};

/* The limit is one edit for every three characters, as in clang. */
struct nearest nearest_start(struct nvm_text word);
void nearest_offer(struct nearest *n, struct nvm_text name);

/* Appends "did you mean 'a'?" or "did you mean 'a' or 'b'?"; if no name is near, nothing and
 * returns false. */
bool nearest_write(const struct nearest *n, struct textbuf *out);

#endif
