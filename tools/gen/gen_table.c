/* Reading and writing tables; see gen_table.h. */
#include "tools/gen/gen_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct gen_table gen_table = {.need_count = 1};

static void report(int line, const char *format, va_list list) {
  if (++gen_table.faults > GEN_MAX_FAULTS) return;
  fprintf(stderr, "%s:%d: error: ", gen_table.path, line);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
}

void gen_fault(const char *format, ...) {
  va_list list;
  va_start(list, format);
  report(gen_table.line, format, list);
  va_end(list);
}

void gen_fault_at(int line, const char *format, ...) {
  va_list list;
  va_start(list, format);
  report(line, format, list);
  va_end(list);
}

_Noreturn void gen_fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  report(gen_table.line, format, list);
  va_end(list);
  exit(1);
}

void *gen_allocated(void *memory) {
  if (memory) return memory;
  fputs("generator: out of memory\n", stderr);
  exit(1);
}

void gen_add_bytes(struct gen_text *t, const char *bytes, size_t length) {
  if (t->length + length + 1 > t->capacity) {
    t->capacity = (t->length + length + 1) * 2;
    t->bytes = gen_allocated(realloc(t->bytes, t->capacity));
  }
  memcpy(t->bytes + t->length, bytes, length);
  t->length += length;
  t->bytes[t->length] = '\0';
}

void gen_add(struct gen_text *t, const char *format, ...) {
  char buffer[512];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  gen_add_bytes(t, buffer, length < (int)sizeof buffer ? (size_t)length : sizeof buffer - 1);
}

char *gen_format(const char *format, ...) {
  char buffer[4096];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  if (n < 0 || (size_t)n >= sizeof buffer) gen_fail("too long");
  return gen_copy(buffer, (size_t)n);
}

char *gen_name(const char *text, size_t length) {
  char *name = gen_allocated(malloc(length + 1)), *end = name, last = '_';
  for (size_t i = 0; i < length; last = text[i++])
    if (isalnum((unsigned char)text[i])) *end++ = (char)toupper((unsigned char)text[i]);
    else if (isalnum((unsigned char)last)) *end++ = '_';
  *end = '\0';
  return name;
}

char *gen_copy(const char *bytes, size_t length) {
  char *copy = gen_allocated(malloc(length + 1));
  memcpy(copy, bytes, length);
  copy[length] = '\0';
  return copy;
}

char *gen_trim(char *s) {
  s += strspn(s, " \t");
  for (size_t n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]);) s[--n] = '\0';
  return s;
}

static void end_row(struct gen_text *row, void (*read)(char *)) {
  if (row->length && *gen_trim(row->bytes)) read(row->bytes);
  row->length = 0;
}

/* Calls `read` for each row of gen_table.path; false if the file cannot be read. */
static bool read_rows(bool indented, void (*read)(char *text)) {
  char line[8192];
  struct gen_text row = {0};
  FILE *file = fopen(gen_table.path, "rb");
  bool open = false; /* the previous line ended in `\` */
  int number = 0;
  if (!file) return false;
  while (fgets(line, sizeof line, file)) {
    number++;
    if (strlen(line) + 1 == sizeof line) gen_fault_at(number, "line too long");
    line[strcspn(line, "#\r\n")] = '\0';
    if (!*line) continue;
    bool goes_on = row.length && (open || (indented && (line[0] == ' ' || line[0] == '\t')));
    if (!goes_on) {
      end_row(&row, read);
      gen_table.line = number;
    }
    size_t n = strlen(line);
    open = line[n - 1] == '\\';
    if (open) line[n - 1] = '\0';
    while (open && n > 1 && line[n - 2] == ' ') line[--n - 1] = '\0';
    gen_add(&row, "%s%s", goes_on ? " " : "", goes_on ? gen_trim(line) : line);
  }
  end_row(&row, read);
  bool good = !ferror(file);
  return fclose(file) == 0 && good;
}

/* ---- requirements ---- */

static struct { char name[32], text[128]; } names[GEN_MAX_NAMES];
static int name_count;

/* `req NAME @source "REQUIREMENT"`, checked by gen_target; other rows are ignored. */
static void read_name(char *row) {
  if (strncmp(row, "req ", 4) != 0) return;
  if (name_count == GEN_MAX_NAMES) gen_fault("more than %d names of requirements", name_count);
  else if (sscanf(row, "req %31s %*[^\"]\"%127[^\"]\"", names[name_count].name,
                  names[name_count].text) == 2)
    name_count++;
}

/* Expands `$NAME`. */
static char *expand_names(const char *text) {
  struct gen_text t = {0};
  gen_add_bytes(&t, "", 0);
  while (*text) {
    size_t n = *text == '$' ? strcspn(text + 1, " |") : 0;
    int i = 0;
    if (n == 0) {
      gen_add_bytes(&t, text++, 1);
      continue;
    }
    while (i < name_count &&
           (strlen(names[i].name) != n || memcmp(names[i].name, text + 1, n) != 0))
      i++;
    if (i == name_count) gen_fault("unknown requirement '%.*s'", (int)n + 1, text);
    else gen_add(&t, "%s", names[i].text);
    text += n + 1;
  }
  return t.bytes;
}

int gen_find_need(const char *words) {
  const char *bad;
  char *text = expand_names(words);
  int i = 1;
  if (!*text) return 0;
  while (i < gen_table.need_count && strcmp(gen_table.needs[i].text, text) != 0) i++;
  if (i < gen_table.need_count) return i;
  if (i == GEN_MAX_NEEDS) gen_fault("more than %d different requirements", i);
  else if (!tgt_parse_requirement(text, &gen_table.needs[i].value, &bad))
    gen_fault("'%s' is not a requirement", bad);
  else {
    gen_table.needs[i].text = text;
    return gen_table.need_count++;
  }
  return 0;
}

const char *gen_requirement(const struct tgt_requirement *r) {
  struct gen_text t = {0};
  gen_add(&t, "{.min_ptx = %u%s", r->min_ptx, r->tmem ? ", .tmem = true" : "");
  if (r->before_sm) gen_add(&t, ", .before_sm = %u", r->before_sm);
  if (r->before_ptx) gen_add(&t, ", .before_ptx = %u", r->before_ptx);
  if (r->count) gen_add(&t, ", .count = %d, .any_of = {", r->count);
  for (int i = 0; i < r->count; i++) gen_add(&t, "%s%u", i ? ", " : "", r->any_of[i]);
  gen_add(&t, r->count ? "}}" : "}");
  return t.bytes;
}

/* ---- input ---- */

char *gen_read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) gen_fail("%s: cannot read", path);
  struct gen_text text = {0};
  char block[4096];
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) gen_add_bytes(&text, block, n);
  if (ferror(file)) gen_fail("%s: cannot read", path);
  fclose(file);
  gen_add_bytes(&text, "", 1);
  return text.bytes;
}

/* ---- output ---- */

void gen_write_array(FILE *out, const char *name, const struct gen_text *text) {
  fprintf(out, "static const unsigned char %s[%zu] = {", name, text->length);
  for (size_t i = 0; i < text->length; i++)
    fprintf(out, "%s%u,", i % 24 ? "" : "\n", (unsigned char)text->bytes[i]);
  fputs("\n};\n", out);
}

static bool write_file(const char *path, void (*write)(FILE *)) {
  FILE *out = fopen(path, "wb");
  if (!out) return false;
  write(out);
  bool good = !ferror(out);
  return fclose(out) == 0 && good;
}

int gen_write_files(const char *folder, const struct generator *g) {
  char path[2][1024], new_path[2][1100];
  int count = g->files[1].name ? 2 : 1;
  bool good = true;
  for (int i = 0; i < count; i++) {
    snprintf(path[i], sizeof path[i], "%s/%s", folder, g->files[i].name);
    snprintf(new_path[i], sizeof new_path[i], "%.1023s.new", path[i]);
    good = good && write_file(new_path[i], g->files[i].write) && gen_table.faults == 0;
  }
  for (int i = 0; i < count; i++) good = good && rename(new_path[i], path[i]) == 0;
  if (good) return 0;
  if (gen_table.faults == 0) fprintf(stderr, "cannot write to %s\n", folder);
  for (int i = 0; i < count; i++) remove(new_path[i]);
  return 1;
}

int gen_main(int argc, char **argv, const struct generator *g) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: %s TABLE [NAMES] OUTDIR\n", argv[0]);
    return 2;
  }
  bool good = true;
  if (argc == 4) {
    gen_table.path = argv[2];
    good = read_rows(true, read_name);
  }
  gen_table.path = argc == 4 && !good ? argv[2] : argv[1];
  if (!good || !read_rows(g->indented, g->row)) {
    fprintf(stderr, "%s: can't read %s\n", argv[0], gen_table.path);
    return 1;
  }
  if (gen_table.faults == 0 && g->finish) g->finish();
  return gen_table.faults ? 1 : gen_write_files(argv[argc - 1], g);
}
