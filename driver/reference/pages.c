/* Writes the reference pages: one of Markdown for each table, and README.md, which lists them. */
#include "driver/reference/reference.h"

#include "driver/commands.h"
#include "ir/intrinsic.h"
#include "ir/ops.h"
#include "opt/pass.h"
#include "support/knobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef void put_page(struct textbuf *out);
static put_page put_ops, put_intrinsics, put_passes, put_knobs, put_diagnostics;

/* The pages, and what describes each table. */
static const struct page {
  const char *kind, *title, *contents;
  put_page *put;
} pages[] = {
    {"ops", "Instructions of the IR", "each instruction: meaning, flags, an example that runs",
     put_ops},
    {"intrinsics", "Intrinsics", "each function `llvm.*`: signature, effects, PTX, requirements",
     put_intrinsics},
    {"passes", "Passes", "each pass: meaning, required and kept forms, what it does to an example",
     put_passes},
    {"knobs", "Knobs", "each tuning parameter: range, default, meaning", put_knobs},
    {"diagnostics", "Diagnostics", "each message: explanation, a wrong and a right example",
     put_diagnostics},
};
enum { PAGES = sizeof pages / sizeof *pages };

/* ---- Text and links ---- */

/* Text as Markdown that shows it unchanged. */
static void put_plain(struct textbuf *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '<') textbuf_puts(out, "&lt;");
    else textbuf_format(out, strchr("*|`_[]", *text) ? "\\%c" : "%c", *text);
  }
}

/* The page that has a section of this name, or NULL. */
static const char *page_of(const char *name) {
  for (int i = 0; i < OP_COUNT; i++)
    if (strcmp(op_table[i].keyword, name) == 0) return "ops";
  if (pass_find(name, strlen(name)) != PASS_NONE) return "passes";
  for (int i = 0; i < KNOB_COUNT; i++)
    if (strcmp(knobs_row((enum knob)i)->name, name) == 0) return "knobs";
  for (int i = 0; i < DIAG_COUNT; i++)
    if (strcmp(diag_name((enum diag_id)i), name) == 0) return "diagnostics";
  enum intrinsic_id intrinsic = intrinsic_find(name, strlen(name));
  bool same = intrinsic != INTRINSIC_NONE && strcmp(intrinsic_table[intrinsic].name, name) == 0;
  return same ? "intrinsics" : NULL;
}

/* A word of the compiler in backquotes; if a table has it, as a link to its section. `kind`: that
 * table, NULL: any. */
static void put_word(struct textbuf *out, const char *kind, const char *word) {
  const char *page = page_of(word);
  if (kind && page) page = kind;
  if (page) textbuf_format(out, "[`%s`](%s.md#%s)", word, page, word + (word[0] == '#'));
  else textbuf_format(out, "`%s`", word);
}

/* A line of an explanation, with its `words` as links. */
static void put_prose(struct textbuf *out, struct nvm_text line) {
  enum { LONGEST = 128 };
  const char *at = line.bytes, *end = line.bytes + line.length;
  while (at < end) {
    const char *close = *at == '`' ? memchr(at + 1, '`', (size_t)(end - at - 1)) : NULL;
    if (close && close - at <= LONGEST) {
      char word[LONGEST + 1] = "";
      memcpy(word, at + 1, (size_t)(close - at - 1));
      put_word(out, NULL, word);
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
    else put_prose(out, line);
  }
}

static void put_section(struct textbuf *out, const char *kind, const char *name) {
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

static void put_heading(struct textbuf *out, const char *name) {
  textbuf_format(out, "\n<a id=\"%s\"></a>\n## `%s`\n\n", name + (name[0] == '#'), name);
}

/* ---- The tables ---- */

/* The texts in a line that starts with `before`; nothing if there are none. */
static void put_list(struct textbuf *out, const char *before, const char *const *texts,
                     uint32_t count) {
  for (uint32_t i = 0; i < count; i++) textbuf_format(out, "%s%s", i ? ", " : before, texts[i]);
  if (count) textbuf_char(out, '\n');
}

static void put_ops(struct textbuf *out) {
  for (int i = 0; i < OP_COUNT; i++) {
    const struct op_info *op = &op_table[i];
    const char *keyword = op->keyword;
    bool again = i > 0 && strcmp(op_table[i - 1].keyword, keyword) == 0;
    bool more = i + 1 < OP_COUNT && strcmp(op_table[i + 1].keyword, keyword) == 0;
    if (!again) put_heading(out, keyword);
    textbuf_puts(out, again || more ? "- " : "");
    put_plain(out, op->meaning);
    textbuf_char(out, '\n');
    const char *flags[TABLES_MAX_FLAGS];
    put_list(out, again || more ? "  — " : "\n", flags, tables_op_flags(op->flags, flags));
    if (!more) put_section(out, "ops", keyword);
  }
}

static void put_intrinsics(struct textbuf *out) {
  textbuf_puts(out,
               "The column PTX holds the instructions, `@` and the function of `codegen/` that "
               "makes them, or `!` and why there are none.\n\n"
               "| name | signature | effects | PTX | needs |\n|---|---|---|---|---|\n");
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) {
    const struct intrinsic_info *row = &intrinsic_table[i];
    textbuf_format(out, "| <a id=\"%s\"></a>`%s` | ", row->name, row->name);
    put_plain(out, row->signature);
    const char *effects[TABLES_MAX_FLAGS];
    uint32_t count = tables_effects(row->flags, effects);
    for (uint32_t k = 0; k < count; k++) textbuf_format(out, "%s%s", k ? ", " : " | ", effects[k]);
    textbuf_puts(out, count ? " | " : " | | ");
    put_plain(out, row->ptx);
    textbuf_puts(out, " | ");
    put_plain(out, row->requires);
    textbuf_puts(out, " |\n");
  }
}

static void put_forms(struct textbuf *out, const char *what, uint8_t forms) {
  static const struct {
    uint8_t form;
    const char *name;
  } names[] = {{FORM_CFG, "the control flow"},
               {FORM_LOOP_SIMPLIFY, "`loop-simplify`"},
               {FORM_LCSSA, "`lcssa`"}};
  const char *separator = what;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if ((forms & names[k].form) == 0) continue;
    textbuf_puts(out, separator);
    put_prose(out, text_of(names[k].name));
    out->length--; /* its newline */
    separator = ", ";
  }
  if (separator != what) textbuf_char(out, '\n');
}

static void put_pass_knobs(struct textbuf *out, const char *pass) {
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *k = knobs_row((enum knob)i);
    const char *removed = strstr(k->meaning, "remove ");
    size_t length = strlen(pass);
    bool removes = removed && strncmp(removed + 7, pass, length) == 0 && removed[7 + length] == ' ';
    if (!removes && strcmp(k->reader, pass) != 0) continue;
    textbuf_puts(out, "- knob ");
    put_word(out, "knobs", k->name);
    textbuf_puts(out, ": ");
    put_plain(out, k->meaning);
    textbuf_char(out, '\n');
  }
}

static void put_passes(struct textbuf *out) {
  for (int p = 1; p < PASS_COUNT; p++) {
    const struct pass_info *pass = &pass_table[p];
    put_heading(out, pass->name);
    put_plain(out, pass->meaning);
    textbuf_format(out, "\n\n- works on a %s\n", pass->on_module ? "module" : "function");
    textbuf_format(out, "- `--stats` counts: %s\n", pass->counts);
    put_forms(out, "- needs ", pass->needs);
    put_forms(out, "- keeps ", pass->keeps);
    for (int k = 0; k < PASS_PARAMETER_COUNT; k++)
      if (pass_parameters[k].pass == (enum pass_id)p)
        textbuf_format(out, "- parameter `%s<[no-]%s>`: %s\n", pass->name, pass_parameters[k].name,
                       pass_parameters[k].meaning);
    put_pass_knobs(out, pass->name);
    put_section(out, "passes", pass->name);
  }
}

static void put_knobs(struct textbuf *out) {
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *k = knobs_row((enum knob)i);
    put_heading(out, k->name);
    put_plain(out, k->meaning);
    textbuf_format(out, "\n\n- values: %d to %d, by default %d\n- read by ", (int)k->min,
                   (int)k->max, (int)k->initial);
    if (pass_find(k->reader, strlen(k->reader)) != PASS_NONE) put_word(out, "passes", k->reader);
    else textbuf_puts(out, k->reader);
    textbuf_char(out, '\n');
    put_section(out, "knobs", k->name);
  }
}

static void put_diagnostics(struct textbuf *out) {
  for (int i = 0; i < DIAG_COUNT; i++) {
    enum diag_id id = (enum diag_id)i;
    put_heading(out, diag_name(id));
    textbuf_format(out, "%s: ", tables_severity(diag_severity(id)));
    put_plain(out, diag_message(id));
    textbuf_puts(out, "\n\n");
    put_prose(out, text_of(diag_meaning(id)));
    put_section(out, "diagnostics", diag_name(id));
  }
}

/* ---- The pages ---- */

/* The links at the top of each page. */
static void put_top(struct textbuf *out, const struct page *here) {
  textbuf_format(out, "# %s\n\n", here->title);
  for (int k = 0; k < PAGES; k++)
    if (&pages[k] == here) textbuf_format(out, "%s · ", pages[k].title);
    else textbuf_format(out, "[%s](%s.md) · ", pages[k].title, pages[k].kind);
  textbuf_format(out, "[all](README.md)\n\nOf nvmini %s: %s.\n\n", nvmini_version(),
                 here->contents);
}

static void put_index(struct textbuf *out) {
  textbuf_format(out,
                 "# Reference of nvmini %s\n\nMade from the compiler's tables by `nvmini help "
                 "--reference`. Every example was executed.\n\n| page | contents |\n|---|---|\n",
                 nvmini_version());
  for (int k = 0; k < PAGES; k++)
    textbuf_format(out, "| [%s](%s.md) | %s |\n", pages[k].title, pages[k].kind, pages[k].contents);
}

/* Writes FOLDER/NAME.md and frees the text. */
static int write_page(const char *folder, const char *name, struct textbuf *text) {
  char path[4096];
  struct file_error error = {.id = DIAG_OUT_OF_MEMORY};
  int length = snprintf(path, sizeof path, "%s/%s.md", folder, name);
  bool good = length > 0 && (size_t)length < sizeof path && !text->arena->failed &&
              files_write(path, text->bytes, text->length, &error);
  arena_free(text->arena);
  if (good) return EXIT_DONE;
  struct render how = {0};
  return jobs_file_failed(&how, path, error);
}

int reference_write(const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "nvmini: error: %s: cannot create folder: %s\n", folder, strerror(errno));
    return EXIT_REFUSED;
  }
  int status = EXIT_DONE;
  for (int k = 0; k <= PAGES && status == EXIT_DONE; k++) {
    struct arena arena;
    struct textbuf text;
    arena_init(&arena, nvm_default_allocator);
    textbuf_init(&text, &arena);
    if (k < PAGES) put_top(&text, &pages[k]), pages[k].put(&text);
    else put_index(&text);
    status = write_page(folder, k < PAGES ? pages[k].kind : "README", &text);
  }
  return status;
}
