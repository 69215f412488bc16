/* The explanations and examples of the reference as one C array: `gen_reference FILE... OUTDIR`
 * writes OUTDIR/reference.inc. driver/reference/reference.h explains the form of the files; a line
 * of another form is an error. */
#include "tools/gen/gen_table.h"

#include <string.h>

static struct gen_text all;
static bool has_section; /* of the file being read */

/* Whether the line is of a form that the head of reference.h lists. */
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

static void write_texts(FILE *out) { gen_write_array(out, "reference_texts", &all); }

int main(int argc, char **argv) {
  if (argc < 3) gen_fail("usage: gen_reference FILE... OUTDIR");
  for (int k = 1; k < argc - 1; k++) {
    gen_table.path = argv[k];
    char *text = gen_read_file(argv[k]);
    if (strncmp(text, "=== ", 4) != 0) gen_fail("%s:1: expected `=== KIND`", argv[k]);
    read_lines(text);
  }
  gen_add_bytes(&all, "", 1);
  static const struct generator generator = {.files = {{"reference.inc", write_texts}}};
  return gen_table.faults ? 1 : gen_write_files(argv[argc - 1], &generator);
}
