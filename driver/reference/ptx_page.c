/* The reference page of PTX instructions: for each its forms as the rows of ptx/ops.def, which
 * gen_reference copies into the sections of the kind `ptx-forms`. */
#include "driver/reference/page.h"

#include "ir/intrinsic.h"
#include "ptx/ops.h"

#include <string.h>

/* The text up to " : ", which is removed from *rest; all of it if there is none. */
static struct nvm_text column(struct nvm_text *rest) {
  struct nvm_text found = *rest;
  for (size_t i = 0; i + 3 <= rest->length; i++) {
    if (memcmp(rest->bytes + i, " : ", 3) != 0) continue;
    found.length = i;
    *rest = (struct nvm_text){rest->bytes + i + 3, rest->length - i - 3};
    return found;
  }
  *rest = (struct nvm_text){rest->bytes + rest->length, 0};
  return found;
}

static struct nvm_text next_line(struct nvm_text *rest) {
  const char *newline = memchr(rest->bytes, '\n', rest->length);
  struct nvm_text line = {rest->bytes, newline ? (size_t)(newline - rest->bytes) : rest->length};
  *rest = (struct nvm_text){line.bytes + line.length + (newline != NULL),
                            rest->length - line.length - (newline != NULL)};
  return line;
}

static bool is_need(struct nvm_text line) {
  return line.length > 5 && memcmp(line.bytes, "need ", 5) == 0;
}

/* "words: requirement" for each line `need WORDS : REQUIREMENT`. */
static void put_needs(struct textbuf *out, struct nvm_text lines) {
  if (lines.length > 0 && is_need(lines)) textbuf_char(out, '\n');
  while (lines.length > 0) {
    struct nvm_text line = next_line(&lines);
    if (!is_need(line)) continue;
    line = (struct nvm_text){line.bytes + 5, line.length - 5};
    textbuf_puts(out, "- ");
    page_code(out, column(&line));
    textbuf_puts(out, ": ");
    page_requirement_text(out, line);
    textbuf_char(out, '\n');
  }
}

static void put_forms(struct textbuf *out, struct nvm_text lines) {
  textbuf_puts(out, "\n| modifiers | operands | needs |\n|---|---|---|\n");
  while (lines.length > 0) {
    struct nvm_text line = next_line(&lines);
    if (is_need(line) || line.length == 0) continue;
    textbuf_puts(out, "| ");
    page_code(out, column(&line));
    textbuf_puts(out, " | ");
    page_code(out, column(&line));
    textbuf_puts(out, " | ");
    page_requirement_text(out, line);
    textbuf_puts(out, " |\n");
  }
}

/* Some of the intrinsics whose first instruction this is. */
static void put_intrinsics(struct textbuf *out, const struct ptx_op_row *op) {
  enum { LISTED = 4 };
  uint32_t count = 0;
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) {
    const char *ptx = intrinsic_table[i].ptx;
    if (strncmp(ptx, op->text, op->length) != 0) continue;
    if (strchr(". ", ptx[op->length]) == NULL) continue; /* or the end */
    if (count < LISTED) {
      textbuf_puts(out, count ? ", " : "\nIntrinsics: ");
      page_word(out, "intrinsics", intrinsic_table[i].name);
    }
    count++;
  }
  if (count > LISTED) textbuf_format(out, " and %u more", count - LISTED);
  if (count) textbuf_char(out, '\n');
}

static void put_specials(struct textbuf *out) {
  textbuf_puts(out, "\n## Special registers\n\n| register | type | needs |\n|---|---|---|\n");
  for (uint32_t k = 1; k < PTX_SPECIAL_COUNT; k++) {
    const struct ptx_special_row *row = ptx_special_row(k);
    textbuf_format(out, "| `%s` | `%s` | ", row->text, ptx_mod_row(row->type)->text);
    page_requirement(out, ptx_need(row->need));
    textbuf_puts(out, " |\n");
  }
}

static void put_sets(struct textbuf *out) {
  struct nvm_text lines = reference_section("ptx-forms", "sets");
  textbuf_puts(
      out,
      "\n<a id=\"sets-of-modifiers\"></a>\n## Sets of modifiers\n\n| set | one of |\n|---|---|\n");
  while (lines.length > 0) {
    struct nvm_text line = next_line(&lines);
    const char *equals = memchr(line.bytes, '=', line.length);
    if (equals == NULL) continue;
    size_t length = (size_t)(equals - line.bytes);
    textbuf_format(out, "| `$%t` | ", (struct nvm_text){line.bytes, length - 1});
    page_code(out, (struct nvm_text){equals + 2, line.length - length - 2});
    textbuf_puts(out, " |\n");
  }
}

void ptx_page_put(struct textbuf *out) {
  textbuf_puts(
      out,
      "In modifiers, `.a?` is optional, `(.a|.b .c)` one of these, `$name` a modifier of a "
      "[set](ptx.md#sets-of-modifiers), `-` none. Operands are destinations `<-` sources: `t` is a "
      "register of the last type among the modifiers, `t1` `t2` of the first, the second, `w` "
      "twice as wide as `t1`, `v4:u32` a vector, `addr` an address, `imm` an integer constant, "
      "`sym` a symbol, `b32|pred` a value perhaps with a predicate; `(0..15)` are the values that "
      "a literal may have, `(24..256/8)` in steps of 8, `(4..16*2)` by doubling, `(1..)` without "
      "upper bound; `?` may be left out, and "
      "`@class` is an issue class other than that of the instruction. An empty requirement is PTX "
      "3.2 and any CPU.\n\nThese modifiers have a requirement in every instruction:\n");
  put_needs(out, reference_section("ptx-forms", "needs"));
  for (uint16_t k = 1; k < PTX_OP_COUNT; k++) {
    const struct ptx_op_row *op = ptx_op_row(k);
    struct nvm_text forms = reference_section("ptx-forms", op->text);
    page_heading(out, op->text);
    page_section(out, "ptx", op->text);
    textbuf_format(out, "\nIssue class: %s\n", ptx_issue_name((enum ptx_issue)op->issue));
    put_intrinsics(out, op);
    put_needs(out, forms);
    put_forms(out, forms);
  }
  put_sets(out);
  put_specials(out);
}
