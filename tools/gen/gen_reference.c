/* The explanations and examples of the reference as one C array: `gen_reference FILE... OUTDIR`
 * writes OUTDIR/reference.inc. driver/reference/reference.h explains the form of the files; a line
 * of another form is an error. ptx/ops.def may be among them: its rows become sections too. */
#include "tools/gen/gen_table.h"

#include <stdlib.h>
#include <string.h>

static struct gen_text all;
static bool has_section; /* of the file being read */

/* ---- Sections ---- */

/* Reports a line that is not of a form that the head of reference.h lists. */
static void check_line(const char *line) {
  if (strncmp(line, "== ", 3) == 0) has_section = true;
  else if (line[0] == ' ' && strncmp(line, "    ", 4) != 0)
    gen_fault_at(gen_table.line, "a line of a file is indented by four blanks");
  else if (line[0] != '\0' && !has_section)
    gen_fault_at(gen_table.line, "expected `== NAME` before the first text");
}

static void read_lines(char *text) {
  has_section = false;
  gen_table.line = 0;
  for (char *line = text, *end; *line != '\0'; line = end) {
    end = line + strcspn(line, "\n");
    bool last = *end == '\0';
    *end = '\0';
    gen_table.line++;
    if (line[0] != '#') {
      if (gen_table.line > 1) check_line(line);
      gen_add_bytes(&all, line, strlen(line));
      gen_add_bytes(&all, "\n", 1);
    }
    if (last) break;
    end++;
  }
}

/* ---- Rows of ptx/ops.def, as sections of the kind `ptx-forms` ---- */

static struct gen_text forms, sets, needs; /* forms: of the op being read */
static char *op_names;

static void add_line(struct gen_text *to, const char *line) {
  gen_add_bytes(to, line, strlen(line));
  gen_add_bytes(to, "\n", 1);
}

/* Adds a section for each name of the op. */
static void end_op(void) {
  for (char *name = op_names ? strtok(op_names, " ") : NULL; name; name = strtok(NULL, " ")) {
    gen_add(&all, "== %s\n", name);
    gen_add_bytes(&all, forms.bytes ? forms.bytes : "", forms.length);
  }
  op_names = NULL;
  forms.length = 0;
}

static void take_row(char *line) {
  bool indented = line[0] == ' ';
  char *row = gen_trim(line);
  if (indented) {
    add_line(&forms, row);
    return;
  }
  end_op();
  if (strncmp(row, "op ", 3) == 0) {
    op_names = row + 3;
    char *colon = strstr(op_names, " : ");
    if (colon) *colon = '\0';
  } else if (strncmp(row, "set ", 4) == 0) {
    add_line(&sets, row + 4);
  } else if (strncmp(row, "need ", 5) == 0) {
    add_line(&needs, row);
  }
}

/* A row with the lines that continue it, without its comment. *at: after it. */
static char *next_row(char **at) {
  struct gen_text row = {0};
  bool more = true;
  while (more && **at != '\0') {
    char *line = *at, *end = line + strcspn(line, "\n");
    *at = end + (*end == '\n');
    *end = '\0';
    line[strcspn(line, "#")] = '\0';
    size_t length = strlen(line);
    more = length > 0 && line[length - 1] == '\\';
    if (row.length > 0) line += strspn(line, " ");
    gen_add_bytes(&row, line, strlen(line) - more);
  }
  gen_add_bytes(&row, "", 1);
  return row.bytes;
}

static void read_ptx_table(char *text) {
  gen_add(&all, "=== ptx-forms\n");
  while (*text != '\0') {
    char *row = next_row(&text);
    if (row[strspn(row, " ")] != '\0') take_row(row);
  }
  end_op();
  gen_add(&all, "== sets\n");
  gen_add_bytes(&all, sets.bytes, sets.length);
  gen_add(&all, "== needs\n");
  gen_add_bytes(&all, needs.bytes, needs.length);
}

static void write_texts(FILE *out) { gen_write_array(out, "reference_texts", &all); }

int main(int argc, char **argv) {
  if (argc < 3) gen_fail("usage: gen_reference FILE... OUTDIR");
  for (int k = 1; k < argc - 1; k++) {
    gen_table.path = argv[k];
    char *text = gen_read_file(argv[k]);
    bool is_table = strstr(argv[k], ".def") != NULL;
    if (!is_table && strncmp(text, "=== ", 4) != 0) gen_fail("%s:1: expected `=== KIND`", argv[k]);
    if (is_table) read_ptx_table(text);
    else read_lines(text);
  }
  gen_add_bytes(&all, "", 1);
  static const struct generator generator = {.files = {{"reference.inc", write_texts}}};
  return gen_table.faults ? 1 : gen_write_files(argv[argc - 1], &generator);
}
