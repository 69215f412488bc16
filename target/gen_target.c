/* gen_target: turns target/nvptx.def into nvptx_tables.h (enums, counts) and nvptx_tables.inc
 * (tables). Run at build: gen_target TABLE OUTDIR.
 *
 * Problem: dozens of facts about each GPU are needed in six folders, and must agree.
 * Approach: read the whole table into rows of words, check every row, then write both files beside
 * their final names and rename them, so that a reader never sees half a file. All faults of a run
 * are printed as `file:line: error: …`; any fault means exit status 1 and no output.
 * The language of the table is described at its top.
 *
 * Stages, in this order below: reading (text to rows), checking (rows to facts), writing. */
#include "target/gen_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_ROWS = 512,
  MAX_WORDS = 64,     /* words of one row */
  MAX_COLUMNS = 64,   /* of one column set */
  MAX_FEATURES = 384, /* six 64-bit words */
  FEATURE_WORDS = 6,
};

/* What a row declares; its first word. */
enum kind {
  K_SOURCE,
  K_LIMIT,
  K_LIMITS,
  K_CLASS,
  K_THROUGHPUT,
  K_WAIT,
  K_LATENCY,
  K_TYPE,
  K_OPERATION,
  K_LEGAL,
  K_FAMILY,
  K_PTX,
  K_FEATURE,
  K_CPU,
  K_DIFFERS,
  K_COUNT
};

static const struct {
  const char *name;
  const char *words; /* that a row of this kind may hold, beside its columns */
  enum kind columns; /* the kind of row that declares its columns; K_COUNT: it has none */
  bool described;    /* its text needs a source */
} kinds[K_COUNT] = {
    [K_SOURCE] = {"source", " ", K_COUNT, false},
    [K_LIMIT] = {"limit", " ", K_COUNT, false},
    [K_LIMITS] = {"limits", " like ", K_LIMIT, false},
    [K_CLASS] = {"class", " ", K_COUNT, false},
    [K_THROUGHPUT] = {"throughput", " like ", K_CLASS, false},
    [K_WAIT] = {"wait", " ", K_COUNT, false},
    [K_LATENCY] = {"latency", " like ", K_WAIT, false},
    [K_TYPE] = {"type", " ", K_COUNT, false},
    [K_OPERATION] = {"operation", " like class special ", K_TYPE, false},
    [K_LEGAL] = {"legal", " with without ", K_COUNT, true},
    [K_FAMILY] = {"family", " ", K_COUNT, true},
    [K_PTX] = {"ptx", " index ", K_COUNT, false},
    [K_FEATURE] = {"feature", " index cpus ", K_COUNT, true},
    [K_CPU] = {"cpu", " index elf code version family limits timing implies placeholder ", K_COUNT,
               true},
    [K_DIFFERS] = {"differs", " ", K_COUNT, false},
};

/* key=value, or a bare word (value NULL). */
struct word {
  const char *key;
  const char *value;
  int source; /* row of the source it stands under, or -1 */
  bool unverified;
  int line;
};

struct row {
  enum kind kind;
  const char *name;
  const char *text; /* the "..." of the row, or "" */
  int source;       /* that the row's text stands under, or -1 */
  bool unverified;
  struct word words[MAX_WORDS];
  int word_count;
  int line;
};

/* A feature bit: from a `feature`, `ptx` or `cpu` row. */
struct feature {
  char key[32];
  char description[96];
  char group[32]; /* "fma-level" of fma-level=1; "ptx" of ptx80; "" */
  unsigned value; /* 1 of fma-level=1, 80 of ptx80 */
  const struct row *row;
};

struct number {
  unsigned long value;
  int source;
  bool unverified;
  bool set;
};

struct gen {
  struct row rows[MAX_ROWS];
  int row_count;
  struct feature features[MAX_FEATURES];
  int feature_count;
  struct number numbers[MAX_ROWS][MAX_COLUMNS]; /* of rows with columns, by row index */
};

/* ---- reading ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  size_t length = 0, capacity = 1 << 16;
  char *text = malloc(capacity + 1);
  while (text) {
    size_t got = fread(text + length, 1, capacity - length, file);
    length += got;
    if (got == 0) break;
    if (length == capacity) text = realloc(text, (capacity *= 2) + 1);
  }
  fclose(file);
  if (text) text[length] = '\0';
  return text;
}

/* Returns the row of that kind and name, or -1. */
static int find_row(const struct gen *g, enum kind kind, const char *name) {
  for (int i = 0; i < g->row_count; i++)
    if (g->rows[i].kind == kind && strcmp(g->rows[i].name, name) == 0) return i;
  return -1;
}

/* Cuts "[U]" off a source's name and looks it up. */
static int read_source(struct gen *g, char *name, bool *unverified, int line) {
  size_t length = strlen(name);
  *unverified = length > 3 && strcmp(name + length - 3, "[U]") == 0;
  if (*unverified) name[length - 3] = '\0';
  int source = find_row(g, K_SOURCE, name);
  if (source < 0) gen_fault_at(line, "unknown source '@%s'", name);
  return source;
}

static void start_row(struct gen *g, char *kind, char *name, int line) {
  int k = 0;
  while (k < K_COUNT && strcmp(kinds[k].name, kind) != 0) k++;
  struct row *row = &g->rows[g->row_count];
  *row = (struct row){.kind = (enum kind)k, .name = name, .text = "", .source = -1, .line = line};
  if (k == K_COUNT) gen_fault_at(line, "unknown kind of row '%s'", kind);
  else if (!name) gen_fault_at(line, "a '%s' row needs a name", kind);
  else if (g->row_count + 1 == MAX_ROWS) gen_fault_at(line, "more than %d rows", MAX_ROWS);
  else if (find_row(g, row->kind, name) >= 0)
    gen_fault_at(line, "duplicate %s '%s', first in line %d", kind, name,
          g->rows[find_row(g, row->kind, name)].line);
  else g->row_count++;
}

/* Adds `text` (one word, no quotes) to the row; a bare @source changes *source instead. */
static void add_word(struct gen *g, struct row *row, char *text, int *source, bool *unverified,
                     int line) {
  if (text[0] == '@') {
    *source = read_source(g, text + 1, unverified, line);
    row->source = *source;
    row->unverified = *unverified;
    return;
  }
  if (row->word_count == MAX_WORDS) {
    gen_fault_at(line, "more than %d words in a row", MAX_WORDS);
    return;
  }
  struct word *word = &row->words[row->word_count++];
  *word = (struct word){.key = text, .source = *source, .unverified = *unverified, .line = line};
  char *equals = strchr(text, '=');
  if (!equals) return;
  *equals = '\0';
  word->value = equals + 1;
  char *at = strchr(equals + 1, '@');
  if (!at) return;
  *at = '\0';
  word->source = read_source(g, at + 1, &word->unverified, line);
}

/* The next word of a line, NUL-terminated in place; NULL at the end. Quotes are cut off and *quoted
 * says that there were some. */
static char *next_word(char **cursor, bool *quoted) {
  char *p = *cursor + strspn(*cursor, " \t");
  *quoted = *p == '"';
  if (*p == '\0' || *p == '#') return NULL;
  char *start = p + *quoted;
  char *end = start + strcspn(start, *quoted ? "\"" : " \t");
  *cursor = *end ? end + 1 : end;
  *end = '\0';
  return start;
}

struct reader {
  struct row *row; /* that continuation lines go on; NULL before the first */
  int source;
  bool unverified;
};

static void read_line(struct gen *g, struct reader *r, char *text, int line) {
  char *cursor = text;
  bool quoted, continued = text[0] == ' ' || text[0] == '\t';
  char *word = next_word(&cursor, &quoted);
  if (!word) return;
  if (!continued) {
    int before = g->row_count;
    start_row(g, word, next_word(&cursor, &quoted), line);
    r->row = g->row_count > before ? &g->rows[before] : NULL;
    r->source = -1;
    r->unverified = false;
    word = next_word(&cursor, &quoted);
  } else if (!r->row && gen_table.faults == 0) {
    gen_fault_at(line, "a continued line with nothing to continue");
  }
  for (; word && r->row; word = next_word(&cursor, &quoted)) {
    if (quoted) r->row->text = word;
    else add_word(g, r->row, word, &r->source, &r->unverified, line);
  }
}

static void read_rows(struct gen *g, char *text) {
  struct reader reader = {.source = -1};
  int line = 1;
  for (char *p = text; p; line++) {
    char *newline = strchr(p, '\n');
    if (newline) *newline = '\0';
    read_line(g, &reader, p, line);
    p = newline ? newline + 1 : NULL;
  }
}

/* ---- checking ---- */

static const struct word *find_word(const struct row *row, const char *key) {
  for (int i = 0; i < row->word_count; i++)
    if (strcmp(row->words[i].key, key) == 0) return &row->words[i];
  return NULL;
}

/* Reads a word's number; a fault if it is none or has no source. */
static struct number number_of(const struct word *word) {
  struct number n = {.source = word->source, .unverified = word->unverified, .set = true};
  char *end = NULL;
  if (word->value && isdigit((unsigned char)word->value[0]))
    n.value = strtoul(word->value, &end, 0);
  if (end && *end == 'K') n.value *= 1024, end++;
  if (!end || *end) gen_fault_at(word->line, "'%s' needs a number", word->key);
  else if (word->source < 0) gen_fault_at(word->line, "'%s' has no source", word->key);
  return n;
}

/* The row's number under `key`, which must be there. */
static unsigned long need_number(const struct row *row, const char *key) {
  const struct word *word = find_word(row, key);
  if (word) return number_of(word).value;
  gen_fault_at(row->line, "%s '%s' lacks '%s='", kinds[row->kind].name, row->name, key);
  return 0;
}

/* May a row of `kind` hold this word, as a column or otherwise? */
static bool word_allowed(const struct gen *g, enum kind kind, const char *key) {
  char padded[64];
  enum kind columns = kinds[kind].columns;
  snprintf(padded, sizeof padded, " %.60s ", key);
  return strstr(kinds[kind].words, padded) || (columns < K_COUNT && find_row(g, columns, key) >= 0);
}

static void check_words(struct gen *g, const struct row *row) {
  for (int i = 0; i < row->word_count; i++) {
    const struct word *word = &row->words[i];
    if (!word_allowed(g, row->kind, word->key))
      gen_fault_at(word->line, "unknown word '%s' in a %s row", word->key, kinds[row->kind].name);
    if (find_word(row, word->key) != word)
      gen_fault_at(word->line, "'%s' given twice in one row", word->key);
  }
  if (kinds[row->kind].described && row->source < 0)
    gen_fault_at(row->line, "%s '%s' has no source", kinds[row->kind].name, row->name);
}

/* The n-th row of a kind, or NULL. */
static const struct row *nth_row(const struct gen *g, enum kind kind, int n) {
  for (int i = 0; i < g->row_count; i++)
    if (g->rows[i].kind == kind && n-- == 0) return &g->rows[i];
  return NULL;
}

static int count_rows(const struct gen *g, enum kind kind) {
  int n = 0;
  for (int i = 0; i < g->row_count; i++) n += g->rows[i].kind == kind;
  return n;
}

/* Takes over the numbers of the row that like= names; it must stand above. */
static void take_over(struct gen *g, int index, const struct word *like) {
  const char *kind = kinds[g->rows[index].kind].name, *name = like->value ? like->value : "";
  int base = find_row(g, g->rows[index].kind, name);
  if (base < 0 || base >= index) gen_fault_at(like->line, "no %s '%s' above this row", kind, name);
  else memcpy(g->numbers[index], g->numbers[base], sizeof g->numbers[base]);
}

/* A row with columns: each is given, or taken over, or (in operations) has no meaning. */
static void check_columns(struct gen *g, int index) {
  const struct row *row = &g->rows[index], *column;
  struct number *mine = g->numbers[index];
  const struct word *like = find_word(row, "like");
  if (like) take_over(g, index, like);
  for (int c = 0; c < MAX_COLUMNS && (column = nth_row(g, kinds[row->kind].columns, c)); c++) {
    const struct word *word = find_word(row, column->name);
    if (word) mine[c] = number_of(word);
    else if (!mine[c].set && !like && row->kind != K_OPERATION)
      gen_fault_at(row->line, "%s '%s' lacks '%s='", kinds[row->kind].name, row->name, column->name);
  }
}

/* The row's word `key` must name a row of `kind`. */
static void need_reference(struct gen *g, const struct row *row, const char *key, enum kind kind) {
  const struct word *word = find_word(row, key);
  if (!word) gen_fault_at(row->line, "%s '%s' lacks '%s='", kinds[row->kind].name, row->name, key);
  else if (!word->value || find_row(g, kind, word->value) < 0)
    gen_fault_at(word->line, "unknown %s '%s'", kinds[kind].name, word->value ? word->value : "");
}

/* Every generation has a throughput and a latency row, in the same order. */
static void check_generations(struct gen *g) {
  const struct row *throughput = NULL, *latency;
  for (int i = 0; (latency = nth_row(g, K_LATENCY, i)); i++) {
    throughput = nth_row(g, K_THROUGHPUT, i);
    if (!throughput || strcmp(throughput->name, latency->name) != 0)
      gen_fault_at(latency->line, "latency '%s' is not throughput row %d", latency->name, i + 1);
  }
  if ((throughput = nth_row(g, K_THROUGHPUT, count_rows(g, K_LATENCY))))
    gen_fault_at(throughput->line, "throughput '%s' has no latency row", throughput->name);
}

/* v2bf16: 2 lanes of the scalar TGT_BFLOAT, 16 bits wide. */
struct machine_type {
  unsigned lanes, bits;
  const char *scalar;
};

static bool split_type_name(const char *name, struct machine_type *type) {
  static const char *const floats[][2] = {
      {"f16", "TGT_HALF"}, {"bf16", "TGT_BFLOAT"}, {"f32", "TGT_FLOAT"}, {"f64", "TGT_DOUBLE"}};
  char *rest = (char *)name;
  type->lanes = 1;
  if (name[0] == 'v') type->lanes = (unsigned)strtoul(name + 1, &rest, 10);
  if (type->lanes == 0 || type->lanes > 1024) return false;
  for (int i = 0; i < 4; i++) {
    type->scalar = floats[i][1];
    type->bits = i < 2 ? 16 : i == 2 ? 32 : 64;
    if (strcmp(rest, floats[i][0]) == 0) return true;
  }
  if (rest[0] != 'i' || !isdigit((unsigned char)rest[1])) return false;
  type->scalar = "TGT_INTEGER";
  type->bits = (unsigned)strtoul(rest + 1, &rest, 10);
  return !*rest && type->bits <= 128;
}

/* The action a row names with `key`: an index into the enum's names, or -1. */
static int action_of(const struct row *row, const char *key) {
  static const char *const names[] = {"legal", "promote", "expand", "scalarize", "split"};
  const struct word *word = find_word(row, key);
  for (int i = 0; word && word->value && i < 5; i++)
    if (strcmp(word->value, names[i]) == 0) return i;
  return -1;
}

static void check_legal(const struct row *row) {
  struct machine_type type;
  struct tgt_requirement need;
  const char *bad;
  if (!split_type_name(row->name, &type))
    gen_fault_at(row->line, "'%s' is not a type: iN, f16, bf16, f32, f64, or vN before one", row->name);
  if (!tgt_parse_requirement(row->text, &need, &bad))
    gen_fault_at(row->line, "can't read the requirement at '%s'", bad);
  if (action_of(row, "with") < 0) gen_fault_at(row->line, "legal '%s' has no action with=", row->name);
  if (row->text[0] && action_of(row, "without") < 0)
    gen_fault_at(row->line, "legal '%s' has no action without=", row->name);
}

/* sm_103f: 103 and 'f'. */
static bool split_cpu_name(const char *name, unsigned *sm, char *suffix) {
  char *end;
  if (strncmp(name, "sm_", 3) != 0 || !isdigit((unsigned char)name[3])) return false;
  *sm = (unsigned)strtoul(name + 3, &end, 10);
  *suffix = *end;
  return *sm >= 20 && *sm < 650 && (!*end || ((*end == 'a' || *end == 'f') && !end[1]));
}

static void check_cpu(struct gen *g, const struct row *row) {
  unsigned sm;
  char suffix;
  if (!split_cpu_name(row->name, &sm, &suffix))
    gen_fault_at(row->line, "'%s' is not a CPU name: sm_NN, sm_NNa or sm_NNf", row->name);
  unsigned long code = need_number(row, "code");
  if (code < 5 || code > 7) gen_fault_at(row->line, "PTX code %lu is not 5, 6 or 7", code);
  need_number(row, "elf");
  char version[24];
  snprintf(version, sizeof version, "%lu", need_number(row, "version"));
  if (find_row(g, K_PTX, version) < 0) gen_fault_at(row->line, "unknown PTX version '%s'", version);
  const struct word *family = find_word(row, "family");
  if (family && (!family->value || find_row(g, K_FAMILY, family->value) < 0))
    gen_fault_at(family->line, "unknown family '%s'", family->value ? family->value : "");
  if (!family && suffix == 'f')
    gen_fault_at(row->line, "cpu '%s' needs a family: it has the suffix f", row->name);
  need_reference(g, row, "limits", K_LIMITS);
  need_reference(g, row, "timing", K_THROUGHPUT);
}

/* "fma-level=1": the table's reader has cut the row's name at no '=', so it is still whole. */
static void split_group(struct feature *f) {
  const char *equals = strchr(f->key, '=');
  if (!equals) return;
  memcpy(f->group, f->key, (size_t)(equals - f->key));
  f->value = (unsigned)strtoul(equals + 1, NULL, 10);
}

static void describe_feature(struct feature *f) {
  const struct row *row = f->row;
  unsigned sm;
  char suffix;
  snprintf(f->key, sizeof f->key, "%s%s", row->kind == K_PTX ? "ptx" : "", row->name);
  if (row->kind == K_PTX) {
    snprintf(f->description, sizeof f->description, "Use PTX version %s", row->name);
    snprintf(f->group, sizeof f->group, "ptx");
    f->value = (unsigned)strtoul(row->name, NULL, 10);
  } else if (row->kind == K_CPU && split_cpu_name(row->name, &sm, &suffix)) {
    const char *how = suffix == 'a' ? "Accelerated " : suffix == 'f' ? "Family Conditional " : "";
    snprintf(f->description, sizeof f->description, "%sTarget SM %u", how, sm);
  } else {
    snprintf(f->description, sizeof f->description, "%s", row->text);
    split_group(f);
  }
}

/* Collects the feature bits of all rows; indices are dense, unique, ascending within a kind. */
static void check_features(struct gen *g) {
  long last[K_COUNT];
  int count = 0;
  for (int k = 0; k < K_COUNT; k++) last[k] = -1;
  for (int i = 0; i < g->row_count; i++) {
    const struct row *row = &g->rows[i];
    if (row->kind != K_PTX && row->kind != K_FEATURE && row->kind != K_CPU) continue;
    long index = (long)need_number(row, "index");
    count++;
    if (index >= MAX_FEATURES)
      gen_fault_at(row->line, "index %ld is not below %d", index, MAX_FEATURES);
    else if (g->features[index].row)
      gen_fault_at(row->line, "index %ld is taken by '%s' in line %d", index,
            g->features[index].row->name, g->features[index].row->line);
    else if (index <= last[row->kind])
      gen_fault_at(row->line, "index %ld is not above %ld, that of the row before", index,
            last[row->kind]);
    else {
      g->features[index].row = row;
      describe_feature(&g->features[index]);
      last[row->kind] = index;
    }
  }
  g->feature_count = count;
  int gap = 0, above;
  while (gap < count && g->features[gap].row) gap++;
  for (above = gap; above < MAX_FEATURES && !g->features[above].row;) above++;
  if (gap < count && above < MAX_FEATURES)
    gen_fault_at(g->features[above].row->line, "index %d leaves a gap: no row has %d", above, gap);
}

static int find_feature(const struct gen *g, const char *key) {
  for (int i = 0; i < g->feature_count; i++)
    if (strcmp(g->features[i].key, key) == 0) return i;
  return -1;
}

static void check_all(struct gen *g) {
  for (int i = 0; i < g->row_count; i++) {
    const struct row *row = &g->rows[i];
    check_words(g, row);
    if (kinds[row->kind].columns < K_COUNT) check_columns(g, i);
    if (row->kind == K_OPERATION) need_reference(g, row, "class", K_CLASS);
    if (row->kind == K_LEGAL) check_legal(row);
    if (row->kind == K_CPU) check_cpu(g, row);
    if (find_word(row, "cpus")) need_number(row, "cpus");
  }
  check_generations(g);
  check_features(g);
  for (int i = 0; i < g->row_count && gen_table.faults == 0; i++) {
    const struct word *implies = find_word(&g->rows[i], "implies");
    if (implies && (!implies->value || find_feature(g, implies->value) < 0))
      gen_fault_at(implies->line, "unknown feature '%s'", implies->value ? implies->value : "");
  }
}

/* ---- writing ---- */

/* "fma-level=1" as part of a C name: FMA_LEVEL_1. */
static const char *c_name(const char *text, char *buffer, size_t bytes) {
  size_t i = 0;
  for (; text[i] && i + 1 < bytes; i++)
    buffer[i] = isalnum((unsigned char)text[i]) ? (char)toupper((unsigned char)text[i]) : '_';
  buffer[i] = '\0';
  return buffer;
}

static void write_enum(FILE *out, const struct gen *g, enum kind kind, const char *tag,
                       const char *prefix, const char *none) {
  char name[64];
  const struct row *row;
  fprintf(out, "enum %s {\n", tag);
  if (none) fprintf(out, "  %s_%s, /* none */\n", prefix, none);
  for (int i = 0; (row = nth_row(g, kind, i)); i++)
    fprintf(out, "  %s_%s, /* %s */\n", prefix, c_name(row->name, name, sizeof name), row->text);
  fprintf(out, "  %s_COUNT\n};\n\n", prefix);
}

static void write_header(FILE *out, const struct gen *g) {
  char name[64];
  int last_ptx = count_rows(g, K_PTX) - 1;
  fputs(
      "/* Made by gen_target from target/nvptx.def; do not edit. */\n"
      "#ifndef NVM_NVPTX_TABLES_H\n#define NVM_NVPTX_TABLES_H\n\n",
      out);
  fputs("/* Feature bits; the numbers are stable for ever. */\nenum tgt_feature_index {\n", out);
  for (int i = 0; i < g->feature_count; i++)
    fprintf(out, "  TGT_FEATURE_%s = %d,\n", c_name(g->features[i].key, name, sizeof name), i);
  fputs("};\n\n", out);
  fprintf(out,
          "enum {\n  TGT_FEATURE_COUNT = %d,\n  TGT_FEATURE_WORDS = %d,\n"
          "  TGT_CPU_COUNT = %d,\n  TGT_PTX_COUNT = %d,\n",
          g->feature_count, FEATURE_WORDS, count_rows(g, K_CPU), count_rows(g, K_PTX));
  fprintf(out, "  TGT_LEGALITY_COUNT = %d,\n  TGT_DIFFERS_COUNT = %d,\n", count_rows(g, K_LEGAL),
          count_rows(g, K_DIFFERS));
  fprintf(out, "  TGT_PTX_LOWEST = %s,  /* major * 10 + minor */\n  TGT_PTX_HIGHEST = %s,\n};\n\n",
          nth_row(g, K_PTX, 0)->name, nth_row(g, K_PTX, last_ptx)->name);
  write_enum(out, g, K_SOURCE, "tgt_source", "TGT_SOURCE", NULL);
  write_enum(out, g, K_FAMILY, "tgt_family", "TGT_FAMILY", "NONE");
  write_enum(out, g, K_LIMIT, "tgt_limit", "TGT_LIMIT", NULL);
  write_enum(out, g, K_LIMITS, "tgt_limits_index", "TGT_LIMITS", NULL);
  write_enum(out, g, K_CLASS, "tgt_class", "TGT_CLASS", NULL);
  write_enum(out, g, K_THROUGHPUT, "tgt_generation", "TGT_GENERATION", NULL);
  write_enum(out, g, K_WAIT, "tgt_wait", "TGT_WAIT", NULL);
  write_enum(out, g, K_TYPE, "tgt_type", "TGT_TYPE", NULL);
  write_enum(out, g, K_OPERATION, "tgt_operation_index", "TGT_OPERATION", NULL);
  fputs("#endif\n", out);
}

static int by_key(const void *a, const void *b) {
  return strcmp((*(const struct feature *const *)a)->key, (*(const struct feature *const *)b)->key);
}

/* Feature bits of one kind (any kind for K_COUNT) sorted by key; returns how many. */
static int sorted_features(const struct gen *g, enum kind kind, const struct feature **list) {
  int n = 0;
  for (int i = 0; i < g->feature_count; i++)
    if (kind == K_COUNT || g->features[i].row->kind == kind) list[n++] = &g->features[i];
  qsort(list, (size_t)n, sizeof *list, by_key);
  return n;
}

static void write_bits(FILE *out, const uint64_t bits[FEATURE_WORDS]) {
  fputc('{', out);
  for (int i = 0; i < FEATURE_WORDS; i++)
    fprintf(out, "%s0x%llxu", i ? ", " : "", (unsigned long long)bits[i]);
  fputc('}', out);
}

/* The C text of the source enum's constant. */
static void write_source(FILE *out, const struct gen *g, int source) {
  char name[64];
  fprintf(out, "TGT_SOURCE_%s", c_name(g->rows[source].name, name, sizeof name));
}

/* A CPU's bits: its own and those of implies=. */
static void implied_bits(const struct gen *g, const struct feature *f,
                         uint64_t bits[FEATURE_WORDS]) {
  const struct word *implies = find_word(f->row, "implies");
  int self = (int)(f - g->features), other = implies ? find_feature(g, implies->value) : self;
  memset(bits, 0, FEATURE_WORDS * sizeof *bits);
  bits[self >> 6] |= UINT64_C(1) << (self & 63);
  bits[other >> 6] |= UINT64_C(1) << (other & 63);
}

static void write_cpu(FILE *out, const struct gen *g, const struct feature *f) {
  const struct row *row = f->row;
  const struct word *family = find_word(row, "family"), *version = find_word(row, "version");
  unsigned sm = 0, self = (unsigned)(f - g->features);
  char suffix = 0, name[64];
  uint64_t bits[FEATURE_WORDS];
  split_cpu_name(row->name, &sm, &suffix);
  implied_bits(g, f, bits);
  fprintf(out, "  {.name = \"%s\", .product = \"%s\", .sm = %u, .full_sm = %u, .suffix = %d,\n",
          row->name, row->text, sm,
          sm * 100 + (suffix == 'a'   ? 11u
                      : suffix == 'f' ? 10u
                                      : 0u),
          suffix);
  fprintf(out, "   .min_ptx = %s, .ptx_code = %s, .elf_byte = %s, .self = %u, .placeholder = %s,\n",
          version->value, find_word(row, "code")->value, find_word(row, "elf")->value, self,
          find_word(row, "placeholder") ? "true" : "false");
  fprintf(out, "   .family = TGT_FAMILY_%s, ",
          family ? c_name(family->value, name, sizeof name) : "NONE");
  fprintf(out, ".limits = TGT_LIMITS_%s, ",
          c_name(find_word(row, "limits")->value, name, sizeof name));
  fprintf(out, ".generation = TGT_GENERATION_%s,\n   .version_source = ",
          c_name(find_word(row, "timing")->value, name, sizeof name));
  write_source(out, g, version->source);
  fprintf(out,
          ", .version_unverified = %s,\n   .implies = ", version->unverified ? "true" : "false");
  write_bits(out, bits);
  fputs(", .tune_implies = {0}},\n", out);
}

static void write_cpus(FILE *out, const struct gen *g) {
  const struct feature *list[MAX_FEATURES];
  int n = sorted_features(g, K_CPU, list);
  fputs("/* Sorted as strcmp sorts. */\nstatic const struct tgt_cpu cpu_table[] = {\n", out);
  for (int i = 0; i < n; i++) write_cpu(out, g, list[i]);
  fputs(
      "};\n\n/* The names alone, in the same order, for early checks of --cpu. */\n"
      "static const struct tgt_name cpu_names[] = {\n",
      out);
  for (int i = 0; i < n; i++)
    fprintf(out, "  {\"%s\", %zu},\n", list[i]->key, strlen(list[i]->key));
  fputs("};\n\n", out);
}

static void write_features(FILE *out, const struct gen *g) {
  const struct feature *list[MAX_FEATURES];
  int n = sorted_features(g, K_COUNT, list);
  fputs(
      "/* Sorted by key; `index` is the bit. */\n"
      "static const struct tgt_feature feature_table[] = {\n",
      out);
  for (int i = 0; i < n; i++)
    fprintf(out,
            "  {.key = \"%s\", .description = \"%s\", .group = \"%s\", .index = %d, "
            ".value = %u, .implies = {0}},\n",
            list[i]->key, list[i]->description, list[i]->group, (int)(list[i] - g->features),
            list[i]->value);
  fputs("};\n\n", out);
}

/* The numbers of a row: value, source, [U]. A number without a source (no meaning) is {0}. */
static void write_numbers(FILE *out, const struct gen *g, int row) {
  int columns = count_rows(g, kinds[g->rows[row].kind].columns);
  fputs(".number = {\n", out);
  for (int c = 0; c < columns; c++) {
    const struct number *n = &g->numbers[row][c];
    fprintf(out, "    {%lu, ", n->value);
    write_source(out, g, n->set ? n->source : 0);
    fprintf(out, ", %s},\n", n->unverified ? "true" : "false");
  }
  fputs("  }},\n", out);
}

/* All rows of a kind with columns, as `static const struct tgt_KIND KIND_table[]`. */
static void write_columns(FILE *out, const struct gen *g, enum kind kind) {
  char name[64];
  fprintf(out, "static const struct tgt_%s %s_table[] = {\n", kinds[kind].name, kinds[kind].name);
  for (int i = 0; i < g->row_count; i++) {
    const struct row *row = &g->rows[i];
    if (row->kind != kind) continue;
    fprintf(out, "  {.name = \"%s\", ", row->name);
    if (kind == K_OPERATION)
      fprintf(out, ".integer_class = TGT_CLASS_%s, .special = %s, ",
              c_name(find_word(row, "class")->value, name, sizeof name),
              find_word(row, "special") ? "true" : "false");
    write_numbers(out, g, i);
  }
  fputs("};\n\n", out);
}

static void write_legal(FILE *out, const struct gen *g) {
  static const char *const actions[] = {"TGT_LEGAL", "TGT_PROMOTE", "TGT_EXPAND", "TGT_SCALARIZE",
                                        "TGT_SPLIT"};
  fputs("static const struct tgt_legality legality_table[] = {\n", out);
  const struct row *row;
  for (int i = 0; (row = nth_row(g, K_LEGAL, i)); i++) {
    struct machine_type type;
    struct tgt_requirement need;
    char text[160];
    int with = action_of(row, "with"), without = action_of(row, "without");
    split_type_name(row->name, &type);
    tgt_parse_requirement(row->text, &need, NULL);
    tgt_requirement_initializer(&need, text, sizeof text);
    fprintf(out,
            "  {.name = \"%s\", .scalar = %s, .bits = %u, .lanes = %u,\n   .with = %s, "
            ".without = %s,\n   .need = %s},\n",
            row->name, type.scalar, type.bits, type.lanes, actions[with],
            actions[without < 0 ? with : without], text);
  }
  fputs("};\n\n", out);
}

static void write_names(FILE *out, const struct gen *g, enum kind kind, const char *array) {
  const struct row *row;
  fprintf(out, "static const struct tgt_described %s[] = {\n", array);
  for (int i = 0; (row = nth_row(g, kind, i)); i++)
    fprintf(out, "  {\"%s\", \"%s\"},\n", row->name, row->text);
  fputs("};\n\n", out);
}

/* The eight bytes of `key` from `at` on as a big-endian number, so that numbers sort as strcmp. */
static unsigned long long key_word(const char *key, size_t at) {
  unsigned long long word = 0;
  size_t length = strlen(key);
  for (size_t i = at; i < at + 8; i++) word = word << 8 | (i < length ? (unsigned char)key[i] : 0);
  return word;
}

/* C can't compare strings in a constant expression; it can compare their bytes as numbers. */
static void write_order_assert(FILE *out, const char *a, const char *b) {
  fputs("_Static_assert(", out);
  for (size_t at = 0; at < 24; at += 8)
    fprintf(out, "0x%llxu < 0x%llxu || (0x%llxu == 0x%llxu && (", key_word(a, at), key_word(b, at),
            key_word(a, at), key_word(b, at));
  fprintf(out, "0)))))), \"%s sorts before %s\");\n", a, b);
}

/* For a feature with cpus=N: so many CPU rows imply it. Sums the bits as emitted. */
static void write_count_assert(FILE *out, const struct gen *g, const struct feature *f,
                               const char *count) {
  unsigned bit = (unsigned)(f - g->features);
  fputs("_Static_assert(0", out);
  for (int i = 0; i < g->feature_count; i++) {
    uint64_t bits[FEATURE_WORDS];
    if (g->features[i].row->kind != K_CPU) continue;
    implied_bits(g, &g->features[i], bits);
    fprintf(out, " + (0x%llxu >> %u & 1)", (unsigned long long)bits[bit >> 6], bit & 63);
  }
  fprintf(out, " == %s, \"%s CPUs imply %s\");\n", count, count, f->key);
}

/* Each CPU has its own bit and that of no other CPU. */
static void write_self_assert(FILE *out, const struct gen *g, const struct feature *f) {
  uint64_t bits[FEATURE_WORDS], cpu_bits[FEATURE_WORDS] = {0};
  int self = (int)(f - g->features);
  for (int i = 0; i < g->feature_count; i++)
    if (g->features[i].row->kind == K_CPU) cpu_bits[i >> 6] |= UINT64_C(1) << (i & 63);
  implied_bits(g, f, bits);
  fputs("_Static_assert(", out);
  for (int i = 0; i < FEATURE_WORDS; i++)
    fprintf(out, "%s(0x%llxu & 0x%llxu) == 0x%llxu", i ? " && " : "", (unsigned long long)bits[i],
            (unsigned long long)cpu_bits[i], i == self >> 6 ? 1ull << (self & 63) : 0ull);
  fprintf(out, ", \"%s: one self bit\");\n", f->key);
}

/* What must hold of the tables, proved by the compiler. That features imply nothing and that no
 * CPU has tuning bits is the form of write_features() and write_cpu(). */
static void write_asserts(FILE *out, const struct gen *g) {
  const struct feature *list[MAX_FEATURES];
  fputs(
      "_Static_assert(sizeof cpu_table / sizeof cpu_table[0] == TGT_CPU_COUNT, \"CPUs\");\n"
      "_Static_assert(sizeof cpu_names / sizeof cpu_names[0] == TGT_CPU_COUNT, \"names\");\n"
      "_Static_assert(sizeof feature_table / sizeof feature_table[0] == TGT_FEATURE_COUNT, "
      "\"features\");\n"
      "_Static_assert(TGT_FEATURE_COUNT <= 64 * TGT_FEATURE_WORDS, \"bits\");\n",
      out);
  int n = sorted_features(g, K_CPU, list);
  for (int i = 1; i < n; i++) write_order_assert(out, list[i - 1]->key, list[i]->key);
  n = sorted_features(g, K_COUNT, list);
  for (int i = 1; i < n; i++) write_order_assert(out, list[i - 1]->key, list[i]->key);
  for (int i = 0; i < n; i++) {
    const struct word *cpus = find_word(list[i]->row, "cpus");
    if (cpus) write_count_assert(out, g, list[i], cpus->value);
    if (list[i]->row->kind == K_CPU) write_self_assert(out, g, list[i]);
  }
}

static void write_tables(FILE *out, const struct gen *g) {
  const struct row *row;
  fputs(
      "/* Made by gen_target from target/nvptx.def; do not edit. Included by target.c only. */\n\n",
      out);
  write_names(out, g, K_SOURCE, "source_table");
  write_names(out, g, K_FAMILY, "family_table");
  write_names(out, g, K_LIMIT, "limit_table");
  write_names(out, g, K_CLASS, "class_table");
  write_names(out, g, K_WAIT, "wait_table");
  write_columns(out, g, K_LIMITS);
  write_columns(out, g, K_THROUGHPUT);
  write_columns(out, g, K_LATENCY);
  write_columns(out, g, K_OPERATION);
  write_legal(out, g);
  write_names(out, g, K_DIFFERS, "differs_table");
  fputs("static const uint8_t ptx_table[] = {", out);
  for (int i = 0; (row = nth_row(g, K_PTX, i)); i++) fprintf(out, "%s%s", i ? ", " : "", row->name);
  fputs("};\n\n", out);
  write_cpus(out, g);
  write_features(out, g);
  write_asserts(out, g);
}

static const struct gen *written;
static void write_new_header(FILE *out) { write_header(out, written); }
static void write_new_tables(FILE *out) { write_tables(out, written); }

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: gen_target TABLE OUTDIR\n");
    return 2;
  }
  char *text = read_file(argv[1]);
  struct gen *g = calloc(1, sizeof *g);
  if (!text || !g) {
    fprintf(stderr, "gen_target: can't read '%s'\n", argv[1]);
    return 1;
  }
  gen_table.path = argv[1];
  read_rows(g, text);
  if (gen_table.faults == 0) check_all(g);
  if (gen_table.faults == 0 && count_rows(g, K_PTX) == 0) gen_fault_at(1, "no row of kind 'ptx'");
  static const char *const names[] = {"nvptx_tables.h", "nvptx_tables.inc"};
  static void (*const write[])(FILE *) = {write_new_header, write_new_tables};
  written = g;
  int status = gen_table.faults ? 1 : gen_write(argv[2], names, write);
  free(g);
  free(text);
  return status;
}
