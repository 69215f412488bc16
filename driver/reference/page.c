/* Pieces of a reference page: links, explanations, examples, requirements. */
#include "driver/reference/page.h"

#include "ir/intrinsic.h"
#include "ir/ops.h"
#include "opt/pass.h"
#include "ptx/ops.h"
#include "support/diag.h"
#include "support/knobs.h"
#include "target/target.h"

#include <string.h>

/* ---- Text and links ---- */

void page_plain(struct textbuf *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '<') textbuf_puts(out, "&lt;");
    else textbuf_format(out, strchr("*|`_[]", *text) ? "\\%c" : "%c", *text);
  }
}

void page_code(struct textbuf *out, struct nvm_text text) {
  if (text.length == 0) return;
  textbuf_char(out, '`');
  for (size_t i = 0; i < text.length; i++)
    textbuf_format(out, text.bytes[i] == '|' ? "\\%c" : "%c", text.bytes[i]);
  textbuf_char(out, '`');
}

/* The page that has a section of this name, or NULL. */
static const char *page_of(const char *name) {
  for (const struct op_info *op = op_table; op < op_table + OP_COUNT; op++)
    if (strcmp(op->keyword, name) == 0) return "ops";
  if (pass_find(name, strlen(name)) != PASS_NONE) return "passes";
  for (int i = 0; i < KNOB_COUNT; i++)
    if (strcmp(knobs_row((enum knob)i)->name, name) == 0) return "knobs";
  for (int i = 0; i < DIAG_COUNT; i++)
    if (strcmp(diag_name((enum diag_id)i), name) == 0) return "diagnostics";
  if (ptx_find_op(name, strlen(name)) != 0) return "ptx";
  enum intrinsic_id intrinsic = intrinsic_find(name, strlen(name));
  bool same = intrinsic != INTRINSIC_NONE && strcmp(intrinsic_table[intrinsic].name, name) == 0;
  return same ? "intrinsics" : NULL;
}

void page_word(struct textbuf *out, const char *kind, const char *word) {
  const char *page = page_of(word);
  if (kind && page) page = kind;
  if (page) textbuf_format(out, "[`%s`](%s.md#%s)", word, page, word + (word[0] == '#'));
  else textbuf_format(out, "`%s`", word);
}

void page_prose(struct textbuf *out, struct nvm_text line) {
  enum { LONGEST = 128 };
  const char *at = line.bytes, *end = line.bytes + line.length;
  while (at < end) {
    const char *close = *at == '`' ? memchr(at + 1, '`', (size_t)(end - at - 1)) : NULL;
    if (close && close - at <= LONGEST) {
      char word[LONGEST + 1] = "";
      memcpy(word, at + 1, (size_t)(close - at - 1));
      page_word(out, NULL, word);
      at = close + 1;
    } else {
      textbuf_char(out, *at++);
    }
  }
  textbuf_char(out, '\n');
}

/* ---- Sections of driver/reference/KIND.txt ---- */

enum part { PART_PROSE, PART_FILE, PART_COMMAND };

static bool begins(struct nvm_text line, const char *mark) {
  size_t length = strlen(mark);
  return line.length >= length && memcmp(line.bytes, mark, length) == 0;
}

static void put_rest(struct textbuf *out, struct nvm_text line, size_t skip) {
  textbuf_write(out, line.bytes + skip, line.length - skip);
  textbuf_char(out, '\n');
}

/* Ends what is open before a line of another part. */
static void end_part(struct textbuf *out, enum part *open) {
  if (*open != PART_PROSE) textbuf_puts(out, "```\n");
  *open = PART_PROSE;
}

static void put_section_line(struct textbuf *out, struct nvm_text line, enum part *open) {
  if (*open == PART_FILE && begins(line, "    ")) {
    put_rest(out, line, 4);
  } else if (*open == PART_FILE && line.length == 0) {
    textbuf_char(out, '\n');
  } else if (*open == PART_COMMAND && begins(line, "|")) {
    put_rest(out, line, line.length > 1 ? 2 : 1);
  } else if (begins(line, "$ ")) {
    end_part(out, open);
    textbuf_puts(out, "\n```\n");
    put_rest(out, line, 0);
    *open = PART_COMMAND;
  } else if (begins(line, "file ")) {
    end_part(out, open);
    textbuf_format(out, "\n`%t`:\n\n```llvm\n", (struct nvm_text){line.bytes + 5, line.length - 5});
    *open = PART_FILE;
  } else {
    end_part(out, open);
    bool side = line.length == 5 && (begins(line, "wrong") || begins(line, "right"));
    if (side) textbuf_format(out, "\n**%t**\n", line);
    else if (begins(line, "none: ")) textbuf_puts(out, "\nNo example: "), put_rest(out, line, 6);
    else page_prose(out, line);
  }
}

void page_section(struct textbuf *out, const char *kind, const char *name) {
  struct nvm_text rest = reference_section(kind, name);
  enum part open = PART_PROSE;
  if (rest.length > 0) textbuf_char(out, '\n');
  while (rest.length > 0) {
    const char *newline = memchr(rest.bytes, '\n', rest.length);
    size_t length = newline ? (size_t)(newline - rest.bytes) : rest.length;
    put_section_line(out, (struct nvm_text){rest.bytes, length}, &open);
    rest.bytes += length + (newline != NULL);
    rest.length -= length + (newline != NULL);
  }
  end_part(out, &open);
}

void page_heading(struct textbuf *out, const char *name) {
  textbuf_format(out, "\n<a id=\"%s\"></a>\n## `%s`\n\n", name + (name[0] == '#'), name);
}

/* ---- Requirements ---- */

static void put_version(struct textbuf *out, const char *before, unsigned version) {
  textbuf_format(out, "%sPTX %u.%u", before, version / 10, version % 10);
}

void page_requirement(struct textbuf *out, const struct tgt_requirement *r) {
  size_t start = out->length;
  for (int i = 0; i < r->count; i++) {
    unsigned sm = r->any_of[i] / 100u, suffix = r->any_of[i] % 100u;
    textbuf_format(out, "%ssm_%u%s", i ? " or " : "", sm,
                   suffix == 0                    ? " or later"
                   : suffix == TGT_FULL_SM_FAMILY ? "f (family)"
                                                  : "a");
  }
  if (r->tmem) textbuf_puts(out, r->count ? " or tensor memory" : "tensor memory");
  if (r->before_sm)
    textbuf_format(out, "%sbefore sm_%u", out->length > start ? ", " : "", (unsigned)r->before_sm);
  if (r->min_ptx) put_version(out, out->length > start ? ", " : "", r->min_ptx);
  if (r->before_ptx) put_version(out, out->length > start ? ", before " : "before ", r->before_ptx);
}

/* The requirement that a `req` row of target/nvptx.def names. */
static const char *named_requirement(struct nvm_text name) {
  for (int i = 0; i < TGT_NEED_COUNT; i++) {
    const struct tgt_described *row = tgt_need_name((enum tgt_need)i);
    if (strlen(row->name) == name.length && memcmp(row->name, name.bytes, name.length) == 0)
      return row->description;
  }
  return "";
}

void page_requirement_text(struct textbuf *out, struct nvm_text text) {
  char bytes[256];
  struct textbuf expanded;
  struct tgt_requirement requirement = {0};
  textbuf_init_fixed(&expanded, bytes, sizeof bytes);
  while (text.length > 0) {
    const char *blank = memchr(text.bytes, ' ', text.length);
    size_t length = blank ? (size_t)(blank - text.bytes) : text.length;
    if (text.bytes[0] == '$')
      textbuf_puts(&expanded, named_requirement((struct nvm_text){text.bytes + 1, length - 1}));
    else textbuf_write(&expanded, text.bytes, length);
    textbuf_char(&expanded, ' ');
    text.bytes += length + (blank != NULL);
    text.length -= length + (blank != NULL);
  }
  if (tgt_parse_requirement(bytes, &requirement, NULL)) page_requirement(out, &requirement);
  else page_plain(out, bytes);
}
