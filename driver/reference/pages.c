/* Writes the reference pages: one of Markdown for each table, and README.md, which lists them. */
#include "driver/reference/page.h"

#include "driver/commands.h"
#include "driver/explain/explain.h"
#include "ir/ops.h"
#include "opt/pass.h"
#include "support/knobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef void put_page(struct textbuf *out);
static put_page put_ops, put_passes, put_knobs, put_diagnostics, put_analyses;

/* The pages, and what describes each table. */
static const struct page {
  const char *kind, *title, *contents;
  put_page *put;
} pages[] = {
    {"ops", "Instructions of the IR", "each instruction: meaning, flags, an example that runs",
     put_ops},
    {"intrinsics", "Intrinsics", "each function `llvm.*`: signature, effects, PTX, requirements",
     intrinsics_page_put},
    {"passes", "Passes", "each pass: meaning, required and kept forms, what it does to an example",
     put_passes},
    {"knobs", "Knobs",
     "each tuning parameter: range, default, meaning, what it changes in an example", put_knobs},
    {"analyses", "Analyses", "each analysis: what `--emit` prints of it, an example", put_analyses},
    {"diagnostics", "Diagnostics", "each message: explanation, a wrong and a right example",
     put_diagnostics},
    {"ptx", "PTX instructions", "each instruction of PTX: meaning, forms, operands, requirements",
     ptx_page_put},
};
enum { PAGES = sizeof pages / sizeof *pages };

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
    if (!again) page_heading(out, keyword);
    textbuf_puts(out, again || more ? "- " : "");
    page_plain(out, op->meaning);
    textbuf_char(out, '\n');
    const char *flags[TABLES_MAX_FLAGS];
    put_list(out, again || more ? "  — " : "\n", flags, tables_op_flags(op->flags, flags));
    if (!more) page_section(out, "ops", keyword);
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
    page_prose(out, text_of(names[k].name));
    out->length--; /* its newline */
    separator = ", ";
  }
  if (separator != what) textbuf_char(out, '\n');
}

bool reference_knob_concerns(const struct knob_row *knob, const char *pass) {
  const char *removed = strstr(knob->meaning, "remove ");
  size_t length = strlen(pass);
  bool removes = removed && strncmp(removed + 7, pass, length) == 0 && removed[7 + length] == ' ';
  return removes || strcmp(knob->reader, pass) == 0;
}

static void put_pass_knobs(struct textbuf *out, const char *pass) {
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *k = knobs_row((enum knob)i);
    if (!reference_knob_concerns(k, pass)) continue;
    textbuf_puts(out, "- knob ");
    page_word(out, "knobs", k->name);
    textbuf_puts(out, ": ");
    page_plain(out, k->meaning);
    textbuf_char(out, '\n');
  }
}

static void put_passes(struct textbuf *out) {
  for (int p = 1; p < PASS_COUNT; p++) {
    const struct pass_info *pass = &pass_table[p];
    page_heading(out, pass->name);
    page_plain(out, pass->meaning);
    textbuf_format(out, "\n\n- works on a %s\n", pass->on_module ? "module" : "function");
    textbuf_format(out, "- `--stats` counts: %s\n", pass->counts);
    put_forms(out, "- needs ", pass->needs);
    put_forms(out, "- keeps ", pass->keeps);
    for (int k = 0; k < PASS_PARAMETER_COUNT; k++)
      if (pass_parameters[k].pass == (enum pass_id)p)
        textbuf_format(out, "- parameter `%s<[no-]%s>`: %s\n", pass->name, pass_parameters[k].name,
                       pass_parameters[k].meaning);
    put_pass_knobs(out, pass->name);
    page_section(out, "passes", pass->name);
  }
}

static void put_knobs(struct textbuf *out) {
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *k = knobs_row((enum knob)i);
    page_heading(out, k->name);
    page_plain(out, k->meaning);
    textbuf_format(out, "\n\n- values: %d to %d, by default %d\n- read by ", (int)k->min,
                   (int)k->max, (int)k->initial);
    if (pass_find(k->reader, strlen(k->reader)) != PASS_NONE) page_word(out, "passes", k->reader);
    else textbuf_puts(out, k->reader);
    textbuf_char(out, '\n');
    page_section(out, "knobs", k->name);
  }
}

static void put_analyses(struct textbuf *out) {
  const struct explain_analysis *analysis;
  for (uint32_t k = 0; (analysis = explain_analysis(k)) != NULL; k++) {
    page_heading(out, analysis->name);
    page_plain(out, analysis->meaning);
    textbuf_char(out, '\n');
    page_section(out, "analyses", analysis->name);
  }
}

static void put_diagnostics(struct textbuf *out) {
  for (int i = 0; i < DIAG_COUNT; i++) {
    enum diag_id id = (enum diag_id)i;
    page_heading(out, diag_name(id));
    textbuf_format(out, "%s: ", tables_severity(diag_severity(id)));
    page_plain(out, diag_message(id));
    textbuf_puts(out, "\n\n");
    page_prose(out, text_of(diag_meaning(id)));
    page_section(out, "diagnostics", diag_name(id));
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
  struct render how = render_start(false);
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
