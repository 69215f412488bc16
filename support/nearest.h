/* What was probably meant: the distance between a word and a name it may be a slip of. */
#ifndef NVM_SUPPORT_NEAREST_H
#define NVM_SUPPORT_NEAREST_H

#include <stddef.h>

/* Insertions, deletions and replacements that turn one text into the other (Wagner and Fischer's
 * table, one row of it at a time). Of longer texts the first 95 bytes count. */
unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
