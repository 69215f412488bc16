/* The exercises of the course as C arrays: `gen_course FILE... OUTDIR` writes OUTDIR/course.inc.
 * driver/course/course.h explains the form of the files; a head of another form is an error. One
 * array holds all: of each exercise a line `=== N-K`, the text and a NUL. */
#include "tools/gen/gen_table.h"

#include <string.h>

static struct gen_text all;

/* Whether a line that begins `; check ` has one of the forms. */
static bool is_check(const char *line) {
  static const char *const kinds[] = {"run ", "has ", "lacks ", "finds "};
  const char *check = line + strlen("; check ");
  const char *arrow = strstr(check, "=> ");
  if (strncmp(check, "keeps ", 6) == 0) return check[6] != '\0';
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (strncmp(check, kinds[k], strlen(kinds[k])) == 0) return arrow != NULL && arrow[3] != '\0';
  return false;
}

static void check_head(const char *text, const char *name) {
  int checks = 0, hints = 0;
  char title[64];
  snprintf(title, sizeof title, "; Exercise %s: ", name);
  *strchr(title, '-') = '.';
  gen_table.line = 1;
  if (strncmp(text, title, strlen(title)) != 0) gen_fault_at(1, "expected `%s`", title);
  for (const char *line = text; *line == ';'; line += strcspn(line, "\n") + 1) {
    hints += strncmp(line, "; hint: ", 8) == 0;
    if (strncmp(line, "; check", 7) == 0) {
      char *copy = gen_trim(gen_copy(line, strcspn(line, "\n")));
      if (!is_check(copy)) gen_fault_at(gen_table.line, "not a check of a known form: %s", copy);
      checks++;
    }
    gen_table.line++;
  }
  if (checks == 0 || hints != 1) gen_fault_at(1, "expected checks and one hint");
}

/* The name of the file without folder and extension. */
static char *stem(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  return gen_copy(name, strcspn(name, "."));
}

static void write_texts(FILE *out) { gen_write_array(out, "course_texts", &all); }

int main(int argc, char **argv) {
  if (argc < 3) gen_fail("usage: gen_course FILE... OUTDIR");
  for (int k = 1; k < argc - 1; k++) {
    gen_table.path = argv[k];
    char *text = gen_read_file(argv[k]), *name = stem(argv[k]);
    if (!strchr(name, '-')) gen_fail("%s: expected a name N-K.nvir", argv[k]);
    check_head(text, name);
    gen_add(&all, "=== %s\n", name);
    gen_add_bytes(&all, text, strlen(text) + 1);
  }
  gen_add_bytes(&all, "", 1); /* an empty text ends the array */
  static const struct generator generator = {.files = {{"course.inc", write_texts}}};
  return gen_table.faults ? 1 : gen_write_files(argv[argc - 1], &generator);
}
