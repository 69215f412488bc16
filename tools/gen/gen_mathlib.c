/* The mathematics library as a C table: `gen_mathlib FUNCTIONS FILE... OUTDIR` reads modules of
 * LLVM's text form and writes OUTDIR/mathlib.inc.
 *
 * The table holds the files' top-level items (functions, variables, groups of attributes, nodes of
 * metadata), sorted by name, each with its text and the items that it refers to, so that the loader
 * (mathlib/mathlib.c) parses no other text. All files share one name space. An item begins in the
 * first column and continues on lines that are indented or begin with a closing bracket; a function
 * ends with `}` in the first column. Comments and indentation are left out; `target` and
 * `source_filename` are skipped.
 *
 * Errors: two definitions of a function; two different items of one name; a reference to an item
 * that no file has; a function __nv_* that FUNCTIONS lacks, or lists with another type. A row of
 * FUNCTIONS is `float @__nv_sinf(float)`. */
#include "tools/gen/gen_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 4000, MAX_SIGNATURE = 256 };

enum kind { DEFINITION, DECLARATION, OTHER };

static struct item {
  enum kind kind;
  bool is_public;
  char *name;      /* with its mark: @f, #0, !0, %t */
  char *signature; /* of a function: "float (float)" */
  char *text;      /* of a definition: what follows `define` and its linkage */
  const char *path;
  int line, order;
  int need_count, *needs;
} items[MAX_ITEMS];
static int item_count;

/* Rows of FUNCTIONS, sorted by name. */
static struct row { char *name, *signature; } rows[MAX_ITEMS];
static int row_count;

/* --- words ------------------------------------------------------------------------------------ */

static bool is_name_character(char c) {
  return isalnum((unsigned char)c) || strchr("-$._", c) != NULL;
}

static size_t name_length(const char *at) {
  size_t n = 1;
  while (at[n] && is_name_character(at[n])) n++;
  return n;
}

static char *word_before(const char *begin, const char *end) {
  while (end > begin && isspace((unsigned char)end[-1])) end--;
  const char *at = end;
  while (at > begin && !isspace((unsigned char)at[-1])) at--;
  return gen_copy(at, (size_t)(end - at));
}

/* "float (float, ptr)" of `... float @f(float noundef %x, ptr %p) ...`; NULL if it is no such. */
static char *read_signature(const char *text) {
  const char *name = strchr(text, '@'), *at = name ? name + name_length(name) : NULL;
  if (!at || *at != '(') return NULL;
  struct gen_text s = {0};
  gen_add(&s, "%s (", word_before(text, name));
  int depth = 0;
  bool at_type = true;
  for (at++; *at && (depth || *at != ')'); at++) {
    depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    if (depth == 0 && *at == ',') {
      gen_add(&s, ", ");
      at_type = true;
    } else if (at_type && !isspace((unsigned char)*at)) {
      size_t n = strcspn(at, " ,)");
      gen_add_bytes(&s, at, n);
      at += n - 1;
      at_type = false;
    }
  }
  gen_add(&s, ")");
  return s.length < MAX_SIGNATURE ? s.bytes : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_row(char *line) {
  line[strcspn(line, "#\n")] = '\0';
  line = gen_trim(line);
  if (!*line) return;
  struct row *r = &rows[row_count++];
  if (row_count == MAX_ITEMS) gen_fail("too many rows");
  const char *name = strchr(line, '@');
  r->signature = read_signature(line);
  if (!r->signature) gen_fail("expected `RESULT @NAME(TYPES)`");
  r->name = gen_copy(name, name_length(name));
}

/* Appends the line without comment, indentation and trailing blanks. */
static void add_line(struct gen_text *to, const char *line) {
  line += strspn(line, " \t");
  size_t n = 0;
  for (bool quoted = false; line[n] && (quoted || line[n] != ';'); n++) {
    quoted ^= line[n] == '"';
    if ((unsigned char)line[n] >= 0x80) gen_fault("a character that is not ASCII");
  }
  while (n && isspace((unsigned char)line[n - 1])) n--;
  if (n == 0) return;
  gen_add_bytes(to, line, n);
  gen_add_bytes(to, "\n", 1);
}

static bool skip_word(const char **text, const char *word) {
  size_t n = strlen(word);
  if (strncmp(*text, word, n) != 0 || (*text)[n] != ' ') return false;
  *text += n + 1;
  return true;
}

static void end_item(struct gen_text *t, int line) {
  const char *text = t->length ? t->bytes : "";
  gen_table.line = line;
  t->length = 0;
  if (!*text || skip_word(&text, "target") || skip_word(&text, "source_filename")) return;
  struct item *i = &items[item_count];
  *i = (struct item){.kind = OTHER, .path = gen_table.path, .line = line, .order = item_count};
  if (++item_count == MAX_ITEMS) gen_fail("more than %d items", MAX_ITEMS);
  const char *whole = text;
  if (skip_word(&text, "define")) {
    i->kind = DEFINITION;
    i->is_public = !skip_word(&text, "internal") && !skip_word(&text, "private");
    whole = text;
  } else if (skip_word(&text, "declare")) {
    i->kind = DECLARATION;
  }
  skip_word(&text, "attributes");
  const char *name = i->kind == OTHER ? text : strchr(text, '@');
  if (!name || !*name || !strchr("@#!%", *name)) gen_fail("not an item of a module: %.40s", whole);
  i->name = gen_copy(name, name_length(name));
  i->text = gen_copy(whole, strlen(whole));
  i->signature = i->kind == OTHER ? (char *)"" : read_signature(text);
  if (!i->signature) gen_fail("cannot read the type of %s", i->name);
}

static bool ends_with_brace(const struct gen_text *t) {
  return t->length > 1 && t->bytes[t->length - 2] == '}';
}

static void read_file(const char *path) {
  char line[8192];
  struct gen_text item = {0};
  bool in_function = false;
  int number = 0, first = 0;
  FILE *file = fopen(path, "rb");
  gen_table.path = path;
  if (!file) gen_fail("cannot read the file");
  while (fgets(line, sizeof line, file)) {
    gen_table.line = ++number;
    if (strlen(line) + 1 == sizeof line) gen_fail("line too long");
    bool begins = !in_function && !strchr(" \t\r\n;]})", line[0]);
    if (begins) {
      end_item(&item, first);
      first = number;
      in_function = strncmp(line, "define ", 7) == 0;
    }
    add_line(&item, line);
    if (in_function && (begins ? ends_with_brace(&item) : line[0] == '}')) in_function = false;
  }
  if (in_function) gen_fail("the last function does not end with '}' in the first column");
  end_item(&item, first);
  if (ferror(file) || fclose(file) != 0) gen_fail("cannot read the file");
}

static void read_rows(const char *path) {
  char line[512];
  FILE *file = fopen(path, "rb");
  gen_table.path = path;
  if (!file) gen_fail("cannot read the file");
  for (gen_table.line = 1; fgets(line, sizeof line, file); gen_table.line++) read_row(line);
  if (ferror(file) || fclose(file) != 0) gen_fail("cannot read the file");
}

/* --- checking --------------------------------------------------------------------------------- */

static void fault(const struct item *i, const char *what, const char *more) {
  gen_table.path = i->path;
  gen_fault_at(i->line, "%s %s%s", i->name, what, more);
}

static int by_name(const void *a, const void *b) {
  const struct item *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order == 0) order = (int)x->kind - (int)y->kind; /* the definition first */
  return order ? order : x->order - y->order;
}

static int by_row_name(const void *a, const void *b) {
  return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Checks a further item of the same name. */
static void check_again(const struct item *kept, const struct item *again) {
  if (again->kind == DEFINITION) fault(again, "is defined again; first in ", kept->path);
  else if (strcmp(kept->signature, again->signature) != 0)
    fault(again, "is declared with another type than in ", kept->path);
  else if (kept->kind == OTHER && strcmp(kept->text, again->text) != 0)
    fault(again, "differs from the one in ", kept->path);
}

static void merge_items(void) {
  int kept = 0;
  qsort(items, (size_t)item_count, sizeof *items, by_name);
  for (int k = 0; k < item_count; k++)
    if (kept && strcmp(items[kept - 1].name, items[k].name) == 0)
      check_again(&items[kept - 1], &items[k]);
    else items[kept++] = items[k];
  item_count = kept;
}

static void check_item(const struct item *i) {
  bool is_intrinsic = strncmp(i->name, "@llvm.", 6) == 0 || strcmp(i->name, "@__nvvm_reflect") == 0;
  if (i->kind == DECLARATION && !is_intrinsic) fault(i, "is declared, but no file defines it", "");
  if (i->kind != DEFINITION || !i->is_public) return;
  const struct row wanted = {.name = i->name};
  const struct row *r = bsearch(&wanted, rows, (size_t)row_count, sizeof *rows, by_row_name);
  if (!r) fault(i, "is in no row of functions.txt; make it internal", "");
  else if (strcmp(r->signature, i->signature) != 0) fault(i, "must have the type ", r->signature);
}

static int find_item(const char *name, size_t length) {
  struct item wanted = {.name = gen_copy(name, length)};
  int low = 0, high = item_count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (strcmp(items[middle].name, wanted.name) < 0) low = middle + 1;
    else high = middle;
  }
  bool found = low < item_count && strcmp(items[low].name, wanted.name) == 0;
  free(wanted.name);
  return found ? low : -1;
}

static void add_need(struct item *i, int need) {
  if (need == (int)(i - items)) return;
  for (int k = 0; k < i->need_count; k++)
    if (i->needs[k] == need) return;
  i->needs = gen_allocated(realloc(i->needs, (size_t)(i->need_count + 1) * sizeof *i->needs));
  i->needs[i->need_count++] = need;
}

static void find_needs(struct item *i) {
  bool quoted = false;
  for (const char *at = i->text; *at; at++) {
    quoted ^= *at == '"';
    if (quoted || !strchr("@#!%", *at) || !is_name_character(at[1])) continue;
    size_t n = name_length(at);
    int need = find_item(at, n);
    bool must_exist = *at == '@' || (*at != '%' && isdigit((unsigned char)at[1]));
    if (need >= 0) add_need(i, need);
    else if (must_exist) fault(i, "refers to what no file has: ", gen_copy(at, n));
    at += n - 1;
  }
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A string constant, a source line for each of the text; returns its length. */
static int write_string(FILE *out, const char *text) {
  fputs("\n  \"", out);
  for (const char *at = text; *at; at++) {
    if (*at == '\n') fputs(at[1] ? "\\n\"\n  \"" : "\\n", out);
    else if (strchr("\"\\?", *at)) fprintf(out, "\\%c", *at);
    else fputc(*at, out);
  }
  fputs("\\0\"", out);
  return (int)strlen(text) + 1;
}

static void write_items(FILE *out, const int *offsets) {
  int first = 0;
  fputs("static const struct mathlib_item mathlib_items[] = {\n", out);
  for (int k = 0; k < item_count; k++) {
    const struct item *i = &items[k];
    fprintf(out, "  {%d, %d, %d, %d, %d, %s, %s}, /* %s */\n", offsets[3 * k], offsets[3 * k + 1],
            offsets[3 * k + 2], first, i->need_count, i->kind == DEFINITION ? "true" : "false",
            i->is_public ? "true" : "false", i->name);
    first += i->need_count;
  }
  fputs("};\nstatic const uint16_t mathlib_needs[] = {", out);
  for (int k = 0, n = 0; k < item_count; k++)
    for (int j = 0; j < items[k].need_count; j++)
      fprintf(out, "%s%d,", n++ % 16 ? " " : "\n  ", items[k].needs[j]);
  fputs("\n  0};\n", out);
}

static void write_table(FILE *out) {
  int *offsets = gen_allocated(calloc((size_t)item_count * 3 + 1, sizeof *offsets)), at = 0;
  fprintf(out, "/* Made by gen_mathlib. */\nenum { MATHLIB_ITEMS = %d };\n", item_count);
  fputs("static const char mathlib_bytes[] =", out);
  for (int k = 0; k < item_count; k++) {
    offsets[3 * k] = at;
    at += write_string(out, items[k].name);
    offsets[3 * k + 1] = at;
    at += write_string(out, items[k].signature);
    offsets[3 * k + 2] = at;
    at += write_string(out, items[k].text);
  }
  fputs(";\n", out);
  write_items(out, offsets);
  free(offsets);
}

int main(int argc, char **argv) {
  static const struct generator generator = {.files = {{"mathlib.inc", write_table}}};
  if (argc < 4) {
    fprintf(stderr, "usage: %s FUNCTIONS FILE... OUTDIR\n", argv[0]);
    return 2;
  }
  read_rows(argv[1]);
  qsort(rows, (size_t)row_count, sizeof *rows, by_row_name);
  for (int k = 2; k < argc - 1; k++) read_file(argv[k]);
  merge_items();
  for (int k = 0; k < item_count; k++) {
    check_item(&items[k]);
    find_needs(&items[k]);
  }
  return gen_table.faults ? 1 : gen_write_files(argv[argc - 1], &generator);
}
