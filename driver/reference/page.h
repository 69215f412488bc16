/* Pieces of a reference page, and the pages that have files of their own. */
#ifndef NVM_DRIVER_REFERENCE_PAGE_H
#define NVM_DRIVER_REFERENCE_PAGE_H

#include "driver/reference/reference.h"
#include "target/requirement.h"

/* Text as Markdown that shows it unchanged. */
void page_plain(struct textbuf *out, const char *text);
/* Text as a cell of a table in backquotes; nothing if it is empty. */
void page_code(struct textbuf *out, struct nvm_text text);
/* A word of the compiler in backquotes; if a table has it, as a link to its section. `kind`: that
 * table; NULL: any. */
void page_word(struct textbuf *out, const char *kind, const char *word);
/* A line of an explanation, with its `words` as links. */
void page_prose(struct textbuf *out, struct nvm_text line);
/* The heading of a row, with the anchor of the links to it. */
void page_heading(struct textbuf *out, const char *name);
/* The section of driver/reference/KIND.txt, nothing if there is none. */
void page_section(struct textbuf *out, const char *kind, const char *name);
/* "sm_90 or later, PTX 7.8"; nothing for no requirement. */
void page_requirement(struct textbuf *out, const struct tgt_requirement *r);
/* The same from its text form, with $NAME as in ptx/ops.def. */
void page_requirement_text(struct textbuf *out, struct nvm_text text);

/* intrinsics_page.c, ptx_page.c */
void intrinsics_page_put(struct textbuf *out);
void ptx_page_put(struct textbuf *out);

#endif
