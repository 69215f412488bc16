/* The starts of a text's lines, to locate positions in any order. */
#ifndef NVM_SUPPORT_LINES_H
#define NVM_SUPPORT_LINES_H

#include "support/textbuf.h"
#include "support/vec.h"

struct line_list {
  VEC(uint32_t) starts; /* offset in bytes of the start of line k + 1 */
};

/* Lists the lines of a text of at most 4 GiB, in `arena`; false when out of memory. */
bool lines_list(struct line_list *l, struct nvm_text text, struct arena *arena);

/* The line, from 1, of the byte at this offset; *column (from 1, in bytes) may be NULL. The list
 * must not be empty. */
uint32_t lines_find(const struct line_list *l, uint32_t offset, uint32_t *column);

#endif
