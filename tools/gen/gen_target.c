/* gen_target: turns target/nvptx.def into nvptx_tables.h (enums, counts) and nvptx_tables.inc
 * (tables). Run at build: gen_target TABLE OUTDIR.
 *
 * Problem: six folders need dozens of facts about each GPU, which must agree. Approach: read the
 * whole table into rows of words, check every row, then write both files. All faults of a run are
 * printed as `file:line: error: …`; any fault means exit status 1 and no output. The language of
 * the table is described at its top.
 *
 * Stages, in this order below: reading (text to rows), checking (rows to facts), writing. */
#include "tools/gen/gen_table.h"

#include <ctype.h>
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
  K_FAMILY,
  K_LEGAL,
  K_NEED,
  K_PTX,
  K_FEATURE,
  K_CPU,
  K_DIFFERS,
  K_COUNT
};

static const struct {
  const char *name;
  const char *words; /* allowed in a row of this kind, besides its columns */
  enum kind columns; /* the kind of row that declares its columns; K_COUNT: none */
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
    [K_FAMILY] = {"family", " ", K_COUNT, true},
    [K_LEGAL] = {"legal", " with without gains ", K_COUNT, true},
    [K_NEED] = {"req", " ", K_COUNT, true},
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
  int source; /* row of its source, or -1 */
  bool unverified;
};

struct row {
  enum kind kind;
  const char *name;
  const char *text; /* the "..." of the row, or "" */
  int source;       /* of the row's text, or -1 */
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

static struct {
  struct row rows[MAX_ROWS];
  int row_count;
  struct feature features[MAX_FEATURES];
  int feature_count;
  struct number numbers[MAX_ROWS][MAX_COLUMNS]; /* of rows with columns, by row index */
} g;

/* ---- reading ---- */

/* The row of that kind and name, or -1. */
static int find_row(enum kind kind, const char *name) {
  for (int i = 0; name && i < g.row_count; i++)
    if (g.rows[i].kind == kind && strcmp(g.rows[i].name, name) == 0) return i;
  return -1;
}

/* Strips "[U]" from a source's name and looks it up. */
static int read_source(char *name, bool *unverified) {
  size_t length = strlen(name);
  *unverified = length > 3 && strcmp(name + length - 3, "[U]") == 0;
  if (*unverified) name[length - 3] = '\0';
  int source = find_row(K_SOURCE, name);
  if (source < 0) gen_fault("unknown source '@%s'", name);
  return source;
}

/* Adds `text` (one word, no quotes) to the row; a bare @source changes the row's source instead. */
static void add_word(struct row *row, char *text) {
  if (text[0] == '@') {
    row->source = read_source(text + 1, &row->unverified);
    return;
  }
  if (row->word_count == MAX_WORDS) {
    gen_fault("more than %d words in a row", MAX_WORDS);
    return;
  }
  struct word *word = &row->words[row->word_count++];
  *word = (struct word){.key = text, .source = row->source, .unverified = row->unverified};
  char *equals = strchr(text, '=');
  if (!equals) return;
  *equals = '\0';
  word->value = equals + 1;
  char *at = strchr(equals + 1, '@');
  if (!at) return;
  *at = '\0';
  word->source = read_source(at + 1, &word->unverified);
}

/* The next word of a row, NUL-terminated in place; NULL at the end. Quotes are stripped; *quoted:
 * there were some. */
static char *next_word(char **cursor, bool *quoted) {
  char *p = *cursor + strspn(*cursor, " \t");
  *quoted = *p == '"';
  if (*p == '\0') return NULL;
  char *start = p + *quoted;
  char *end = start + strcspn(start, *quoted ? "\"" : " \t");
  *cursor = *end ? end + 1 : end;
  *end = '\0';
  return start;
}

static void read_row(char *text) {
  char *cursor = gen_copy(text, strlen(text)), *word;
  bool quoted;
  struct row *row = &g.rows[g.row_count];
  const char *kind = next_word(&cursor, &quoted);
  *row = (struct row){.name = next_word(&cursor, &quoted), .text = "", .source = -1};
  row->line = gen_table.line;
  while (row->kind < K_COUNT && strcmp(kinds[row->kind].name, kind) != 0) row->kind++;
  int same = find_row(row->kind, row->name), before = g.row_count;
  if (row->kind == K_COUNT) gen_fault("unknown kind of row '%s'", kind);
  else if (!row->name) gen_fault("a '%s' row needs a name", kind);
  else if (g.row_count + 1 == MAX_ROWS) gen_fault("more than %d rows", MAX_ROWS);
  else if (same >= 0)
    gen_fault("duplicate %s '%s', first in line %d", kind, row->name, g.rows[same].line);
  else g.row_count++;
  while (g.row_count > before && (word = next_word(&cursor, &quoted)))
    if (quoted) row->text = word;
    else add_word(row, word);
}

/* ---- checking ---- */

static const struct word *find_word(const struct row *row, const char *key) {
  for (int i = 0; i < row->word_count; i++)
    if (strcmp(row->words[i].key, key) == 0) return &row->words[i];
  return NULL;
}

/* Parses a word's number; an error if it is invalid or has no source. */
static struct number number_of(const struct word *word) {
  struct number n = {.source = word->source, .unverified = word->unverified, .set = true};
  char *end = NULL;
  if (word->value && isdigit((unsigned char)word->value[0]))
    n.value = strtoul(word->value, &end, 0);
  if (end && *end == 'K') n.value *= 1024, end++;
  if (!end || *end) gen_fault("'%s' needs a number", word->key);
  else if (word->source < 0) gen_fault("'%s' has no source", word->key);
  return n;
}

/* The row's number under `key`, which is required. */
static unsigned long need_number(const struct row *row, const char *key) {
  const struct word *word = find_word(row, key);
  if (word) return number_of(word).value;
  gen_fault("%s '%s' lacks '%s='", kinds[row->kind].name, row->name, key);
  return 0;
}

/* Whether a row of `kind` allows this word, as a column or otherwise. */
static bool word_allowed(enum kind kind, const char *key) {
  char padded[64];
  enum kind columns = kinds[kind].columns;
  snprintf(padded, sizeof padded, " %.60s ", key);
  return strstr(kinds[kind].words, padded) || (columns < K_COUNT && find_row(columns, key) >= 0);
}

static void check_words(const struct row *row) {
  for (int i = 0; i < row->word_count; i++) {
    const struct word *word = &row->words[i];
    if (!word_allowed(row->kind, word->key))
      gen_fault("unknown word '%s' in a %s row", word->key, kinds[row->kind].name);
    if (find_word(row, word->key) != word) gen_fault("duplicate '%s' in a row", word->key);
  }
  if (kinds[row->kind].described && row->source < 0)
    gen_fault("%s '%s' has no source", kinds[row->kind].name, row->name);
}

/* The n-th row of a kind, or NULL. */
static const struct row *nth_row(enum kind kind, int n) {
  for (int i = 0; i < g.row_count; i++)
    if (g.rows[i].kind == kind && n-- == 0) return &g.rows[i];
  return NULL;
}

static int count_rows(enum kind kind) {
  int n = 0;
  for (int i = 0; i < g.row_count; i++) n += g.rows[i].kind == kind;
  return n;
}

/* Copies the numbers of the row named by like=, which must precede this one. */
static void take_over(int index, const struct word *like) {
  const char *kind = kinds[g.rows[index].kind].name, *name = like->value ? like->value : "";
  int base = find_row(g.rows[index].kind, name);
  if (base < 0 || base >= index) gen_fault("no %s '%s' above this row", kind, name);
  else memcpy(g.numbers[index], g.numbers[base], sizeof g.numbers[base]);
}

/* Checks that each column is given, copied or (in operations) undefined. */
static void check_columns(int index) {
  const struct row *row = &g.rows[index], *column;
  struct number *mine = g.numbers[index];
  const struct word *like = find_word(row, "like");
  if (like) take_over(index, like);
  for (int c = 0; c < MAX_COLUMNS && (column = nth_row(kinds[row->kind].columns, c)); c++) {
    const struct word *word = find_word(row, column->name);
    if (word) mine[c] = number_of(word);
    else if (!mine[c].set && !like && row->kind != K_OPERATION)
      gen_fault("%s '%s' lacks '%s='", kinds[row->kind].name, row->name, column->name);
  }
}

/* Checks that the row's word `key` names a row of `kind`. */
static void need_reference(const struct row *row, const char *key, enum kind kind) {
  const struct word *word = find_word(row, key);
  if (!word) gen_fault("%s '%s' lacks '%s='", kinds[row->kind].name, row->name, key);
  else if (!word->value || find_row(kind, word->value) < 0)
    gen_fault("unknown %s '%s'", kinds[kind].name, word->value ? word->value : "");
}

/* Checks that every generation has a throughput and a latency row, in the same order. */
static void check_generations(void) {
  const struct row *throughput = NULL, *latency;
  for (int i = 0; (latency = nth_row(K_LATENCY, i)); i++) {
    throughput = nth_row(K_THROUGHPUT, i);
    if (!throughput || strcmp(throughput->name, latency->name) != 0)
      gen_fault_at(latency->line, "latency '%s' is not throughput row %d", latency->name, i + 1);
  }
  if ((throughput = nth_row(K_THROUGHPUT, count_rows(K_LATENCY))))
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

/* The action that a row names with `key`: an index into the enum's names, or -1. */
static int action_of(const struct row *row, const char *key) {
  static const char *const names[] = {"legal", "promote", "expand", "scalarize", "split"};
  const struct word *word = find_word(row, key);
  for (int i = 0; word && word->value && i < 5; i++)
    if (strcmp(word->value, names[i]) == 0) return i;
  return -1;
}

static void check_legal(const struct row *row) {
  struct machine_type type;
  if (!split_type_name(row->name, &type))
    gen_fault("'%s' is not a type: iN, f16, bf16, f32, f64, or vN before one", row->name);
  if (find_word(row, "gains")) need_reference(row, "gains", K_FAMILY);
  if (action_of(row, "with") < 0) gen_fault("legal '%s' has no action with=", row->name);
  if (row->text[0] && action_of(row, "without") < 0)
    gen_fault("legal '%s' has no action without=", row->name);
}

/* sm_103f: 103 and 'f'. */
static bool split_cpu_name(const char *name, unsigned *sm, char *suffix) {
  char *end;
  if (strncmp(name, "sm_", 3) != 0 || !isdigit((unsigned char)name[3])) return false;
  *sm = (unsigned)strtoul(name + 3, &end, 10);
  *suffix = *end;
  return *sm >= 20 && *sm < 650 && (!*end || ((*end == 'a' || *end == 'f') && !end[1]));
}

static void check_cpu(const struct row *row) {
  unsigned sm;
  char suffix;
  if (!split_cpu_name(row->name, &sm, &suffix))
    gen_fault("'%s' is not a CPU name: sm_NN, sm_NNa or sm_NNf", row->name);
  unsigned long code = need_number(row, "code");
  if (code < 5 || code > 7) gen_fault("PTX code %lu is not 5, 6 or 7", code);
  need_number(row, "elf");
  char version[24];
  snprintf(version, sizeof version, "%lu", need_number(row, "version"));
  if (find_row(K_PTX, version) < 0) gen_fault("unknown PTX version '%s'", version);
  if (find_word(row, "family")) need_reference(row, "family", K_FAMILY);
  else if (suffix == 'f') gen_fault("cpu '%s' needs a family: it has the suffix f", row->name);
  need_reference(row, "limits", K_LIMITS);
  need_reference(row, "timing", K_THROUGHPUT);
}

/* "fma-level=1": the reader does not split the row's name at '='. */
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
static void check_features(void) {
  long last[K_COUNT];
  int count = 0;
  for (int k = 0; k < K_COUNT; k++) last[k] = -1;
  for (int i = 0; i < g.row_count; i++) {
    const struct row *row = &g.rows[i];
    gen_table.line = row->line;
    if (row->kind != K_PTX && row->kind != K_FEATURE && row->kind != K_CPU) continue;
    long index = (long)need_number(row, "index");
    count++;
    if (index >= MAX_FEATURES) gen_fault("index %ld is not below %d", index, MAX_FEATURES);
    else if (g.features[index].row)
      gen_fault("index %ld is taken by '%s' in line %d", index, g.features[index].row->name,
                g.features[index].row->line);
    else if (index <= last[row->kind])
      gen_fault("index %ld is not above %ld, that of the row before", index, last[row->kind]);
    else {
      g.features[index].row = row;
      describe_feature(&g.features[index]);
      last[row->kind] = index;
    }
  }
  g.feature_count = count;
  int gap = 0, above;
  while (gap < count && g.features[gap].row) gap++;
  for (above = gap; above < MAX_FEATURES && !g.features[above].row;) above++;
  if (gap < count && above < MAX_FEATURES)
    gen_fault_at(g.features[above].row->line, "index %d leaves a gap: no row has %d", above, gap);
}

static int find_feature(const char *key) {
  for (int i = 0; i < g.feature_count; i++)
    if (strcmp(g.features[i].key, key) == 0) return i;
  return -1;
}

static void check_all(void) {
  gen_table.line = 1;
  if (count_rows(K_PTX) == 0) gen_fault("no row of kind 'ptx'");
  for (int i = 0; i < g.row_count; i++) {
    const struct row *row = &g.rows[i];
    struct tgt_requirement need;
    const char *bad;
    gen_table.line = row->line;
    check_words(row);
    if (kinds[row->kind].columns < K_COUNT) check_columns(i);
    if (row->kind == K_OPERATION) need_reference(row, "class", K_CLASS);
    if (row->kind == K_LEGAL) check_legal(row);
    if (row->kind == K_CPU) check_cpu(row);
    if (find_word(row, "cpus")) need_number(row, "cpus");
    bool required = row->kind == K_LEGAL || row->kind == K_NEED;
    if (required && !tgt_parse_requirement(row->text, &need, &bad))
      gen_fault("invalid requirement at '%s'", bad);
  }
  check_generations();
  check_features();
  for (int i = 0; i < g.row_count && gen_table.faults == 0; i++) {
    const struct word *implies = find_word(&g.rows[i], "implies");
    gen_table.line = g.rows[i].line;
    if (implies && (!implies->value || find_feature(implies->value) < 0))
      gen_fault("unknown feature '%s'", implies->value ? implies->value : "");
  }
}

/* ---- writing ---- */

/* "seed5", "memory[U]"; "" without a source. Valid until the next call. */
static const char *source_text(int source, bool unverified) {
  static char text[48];
  snprintf(text, sizeof text, "%s%s", source < 0 ? "" : g.rows[source].name,
           source >= 0 && unverified ? "[U]" : "");
  return text;
}

/* "fma-level=1" as part of a C name: FMA_LEVEL_1. */
static const char *c_name(const char *text) { return gen_name(text, strlen(text)); }

static const struct {
  enum kind kind;
  const char *tag, *prefix; /* of the enum of its rows */
  bool none;                /* it starts with PREFIX_NONE */
} enums[] = {{K_SOURCE, "source", "SOURCE", false},
             {K_FAMILY, "family", "FAMILY", true},
             {K_LIMIT, "limit", "LIMIT", false},
             {K_LIMITS, "limits_index", "LIMITS", false},
             {K_CLASS, "class", "CLASS", false},
             {K_THROUGHPUT, "generation", "GENERATION", false},
             {K_WAIT, "wait", "WAIT", false},
             {K_TYPE, "type", "TYPE", false},
             {K_OPERATION, "operation_index", "OPERATION", false},
             {K_NEED, "need", "NEED", false}};

static void write_header(FILE *out) {
  const struct row *row;
  fputs(
      "/* Made by gen_target from target/nvptx.def; do not edit. */\n"
      "#ifndef NVM_NVPTX_TABLES_H\n#define NVM_NVPTX_TABLES_H\n\n"
      "/* Feature bits; the numbers are stable for ever. */\nenum tgt_feature_index {\n",
      out);
  for (int i = 0; i < g.feature_count; i++)
    fprintf(out, "  TGT_FEATURE_%s = %d,\n", c_name(g.features[i].key), i);
  fprintf(
      out,
      "};\n\nenum {\n  TGT_FEATURE_COUNT = %d,\n  TGT_FEATURE_WORDS = %d,\n  TGT_CPU_COUNT = %d,\n"
      "  TGT_PTX_COUNT = %d,\n  TGT_LEGALITY_COUNT = %d,\n  TGT_DIFFERS_COUNT = %d,\n",
      g.feature_count, FEATURE_WORDS, count_rows(K_CPU), count_rows(K_PTX), count_rows(K_LEGAL),
      count_rows(K_DIFFERS));
  fprintf(out, "  TGT_PTX_LOWEST = %s,  /* major * 10 + minor */\n  TGT_PTX_HIGHEST = %s,\n};\n\n",
          nth_row(K_PTX, 0)->name, nth_row(K_PTX, count_rows(K_PTX) - 1)->name);
  for (size_t e = 0; e < sizeof enums / sizeof *enums; e++) {
    fprintf(out, "enum tgt_%s {\n", enums[e].tag);
    if (enums[e].none) fprintf(out, "  TGT_%s_NONE, /* none */\n", enums[e].prefix);
    for (int i = 0; (row = nth_row(enums[e].kind, i)); i++)
      fprintf(out, "  TGT_%s_%s, /* %s */\n", enums[e].prefix, c_name(row->name), row->text);
    fprintf(out, "  TGT_%s_COUNT\n};\n\n", enums[e].prefix);
  }
  fputs("#endif\n", out);
}

static int by_key(const void *a, const void *b) {
  return strcmp((*(const struct feature *const *)a)->key, (*(const struct feature *const *)b)->key);
}

/* Feature bits of one kind (any kind for K_COUNT) sorted by key; returns how many. */
static int sorted_features(enum kind kind, const struct feature **list) {
  int n = 0;
  for (int i = 0; i < g.feature_count; i++)
    if (kind == K_COUNT || g.features[i].row->kind == kind) list[n++] = &g.features[i];
  qsort(list, (size_t)n, sizeof *list, by_key);
  return n;
}

static void write_bits(FILE *out, const uint64_t bits[FEATURE_WORDS]) {
  fputc('{', out);
  for (int i = 0; i < FEATURE_WORDS; i++)
    fprintf(out, "%s0x%llxu", i ? ", " : "", (unsigned long long)bits[i]);
  fputc('}', out);
}

/* Implications of features among features, and of CPUs for tuning (seed 5): none, asserted. */
static const uint64_t no_bits[FEATURE_WORDS];

/* The implied bits of a feature's row: for a CPU its own bit and that of implies=, otherwise
 * none. */
static void implied_bits(const struct feature *f, uint64_t bits[FEATURE_WORDS]) {
  const struct word *implies = find_word(f->row, "implies");
  int self = (int)(f - g.features), other = implies ? find_feature(implies->value) : self;
  memset(bits, 0, FEATURE_WORDS * sizeof *bits);
  if (f->row->kind != K_CPU) return;
  bits[self >> 6] |= UINT64_C(1) << (self & 63);
  bits[other >> 6] |= UINT64_C(1) << (other & 63);
}

/* The sources of a CPU's index, cubin byte and PTX code. */
static void write_sources(FILE *out, const struct row *row) {
  static const char *const keys[] = {"index", "elf", "code"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    const struct word *word = find_word(row, keys[k]);
    fprintf(out, "   .%s_source = \"%s\",\n", keys[k], source_text(word->source, word->unverified));
  }
}

static void write_cpu(FILE *out, const struct feature *f) {
  const struct row *row = f->row;
  const struct word *family = find_word(row, "family"), *version = find_word(row, "version");
  unsigned sm = 0;
  char suffix = 0;
  uint64_t bits[FEATURE_WORDS];
  split_cpu_name(row->name, &sm, &suffix);
  implied_bits(f, bits);
  fprintf(out, "  {.name = \"%s\", .product = \"%s\", .sm = %u, .full_sm = %u, .suffix = %d,\n",
          row->name, row->text, sm, tgt_parse_full_sm(row->name, strlen(row->name)), suffix);
  fprintf(out, "   .min_ptx = %s, .ptx_code = %s, .elf_byte = %s, .self = %d, .placeholder = %s,\n",
          version->value, find_word(row, "code")->value, find_word(row, "elf")->value,
          (int)(f - g.features), find_word(row, "placeholder") ? "true" : "false");
  fprintf(out,
          "   .family = TGT_FAMILY_%s, .limits = TGT_LIMITS_%s, .generation = TGT_GENERATION_%s,\n",
          family ? c_name(family->value) : "NONE", c_name(find_word(row, "limits")->value),
          c_name(find_word(row, "timing")->value));
  fprintf(out, "   .version_source = TGT_SOURCE_%s, .version_unverified = %s,\n",
          c_name(g.rows[version->source].name), version->unverified ? "true" : "false");
  write_sources(out, row);
  fputs("   .implies = ", out);
  write_bits(out, bits);
  fputs(", .tune_implies = ", out);
  write_bits(out, no_bits);
  fputs("},\n", out);
}

static void write_cpus(FILE *out) {
  const struct feature *list[MAX_FEATURES];
  int n = sorted_features(K_CPU, list);
  fputs("/* Sorted as strcmp sorts. */\nstatic const struct tgt_cpu cpu_table[] = {\n", out);
  for (int i = 0; i < n; i++) write_cpu(out, list[i]);
  fputs(
      "};\n\n/* The names alone, in the same order, for early checks of --cpu. */\n"
      "static const struct tgt_name cpu_names[] = {\n",
      out);
  for (int i = 0; i < n; i++)
    fprintf(out, "  {\"%s\", %zu},\n", list[i]->key, strlen(list[i]->key));
  fputs("};\n\n", out);
}

static const char *index_source(const struct row *row) {
  const struct word *index = find_word(row, "index");
  return source_text(index->source, index->unverified);
}

static void write_features(FILE *out) {
  const struct feature *list[MAX_FEATURES];
  int n = sorted_features(K_COUNT, list);
  fputs(
      "/* Sorted by key; `index` is the bit. */\n"
      "static const struct tgt_feature feature_table[] = {\n",
      out);
  for (int i = 0; i < n; i++) {
    fprintf(out,
            "  {.key = \"%s\", .description = \"%s\", .group = \"%s\", .source = \"%s\", "
            ".index = %d, .value = %u, .implies = ",
            list[i]->key, list[i]->description, list[i]->group, index_source(list[i]->row),
            (int)(list[i] - g.features), list[i]->value);
    write_bits(out, no_bits);
    fputs("},\n", out);
  }
  fputs("};\n\n", out);
}

/* Writes the numbers of a row: value, source, [U]. A number without a source (undefined) is {0}. */
static void write_numbers(FILE *out, int row) {
  int columns = count_rows(kinds[g.rows[row].kind].columns);
  fputs(".number = {\n", out);
  for (int c = 0; c < columns; c++) {
    const struct number *n = &g.numbers[row][c];
    fprintf(out, "    {%lu, TGT_SOURCE_%s, %s},\n", n->value, c_name(g.rows[n->source].name),
            n->unverified ? "true" : "false");
  }
  fputs("  }},\n", out);
}

/* All rows of a kind with columns, as `static const struct tgt_KIND KIND_table[]`. */
static void write_columns(FILE *out, enum kind kind) {
  fprintf(out, "static const struct tgt_%s %s_table[] = {\n", kinds[kind].name, kinds[kind].name);
  for (int i = 0; i < g.row_count; i++) {
    const struct row *row = &g.rows[i];
    if (row->kind != kind) continue;
    fprintf(out, "  {.name = \"%s\", ", row->name);
    if (kind == K_OPERATION)
      fprintf(out, ".integer_class = TGT_CLASS_%s, .special = %s, ",
              c_name(find_word(row, "class")->value), find_word(row, "special") ? "true" : "false");
    write_numbers(out, i);
  }
  fputs("};\n\n", out);
}

/* The requirement in a row's text as a C initializer. */
static const char *c_need(const struct row *row) {
  struct tgt_requirement need = {0};
  tgt_parse_requirement(row->text, &need, NULL);
  return gen_requirement(&need);
}

static void write_legal(FILE *out) {
  static const char *const actions[] = {"TGT_LEGAL", "TGT_PROMOTE", "TGT_EXPAND", "TGT_SCALARIZE",
                                        "TGT_SPLIT"};
  const struct row *row;
  fputs("static const struct tgt_legality legality_table[] = {\n", out);
  for (int i = 0; (row = nth_row(K_LEGAL, i)); i++) {
    struct machine_type type;
    const struct word *gains = find_word(row, "gains");
    int with = action_of(row, "with"), without = action_of(row, "without");
    split_type_name(row->name, &type);
    fprintf(out,
            "  {.name = \"%s\", .source = \"%s\", .requires = \"%s\",\n"
            "   .scalar = %s, .bits = %u, .lanes = %u, .with = %s,\n   .without = %s, "
            ".gains = TGT_FAMILY_%s, .need = %s},\n",
            row->name, source_text(row->source, row->unverified), row->text, type.scalar, type.bits,
            type.lanes, actions[with], actions[without < 0 ? with : without],
            gains ? c_name(gains->value) : "NONE", c_need(row));
  }
  fputs("};\n\nstatic const struct tgt_requirement need_table[] = {\n", out);
  for (int i = 0; (row = nth_row(K_NEED, i)); i++)
    fprintf(out, "  %s, /* %s */\n", c_need(row), row->name);
  fputs("};\n\n", out);
}

static void write_names(FILE *out, enum kind kind) {
  const struct row *row;
  fprintf(out, "static const struct tgt_described %s_table[] = {\n", kinds[kind].name);
  for (int i = 0; (row = nth_row(kind, i)); i++)
    fprintf(out, "  {\"%s\", \"%s\", \"%s\"},\n", row->name, row->text,
            source_text(row->source, row->unverified));
  fputs("};\n\n", out);
}

/* The eight bytes of `key` from `at` on as a big-endian number, so that numbers sort as strcmp. */
static unsigned long long key_word(const char *key, size_t at) {
  unsigned long long word = 0;
  size_t length = strlen(key);
  for (size_t i = at; i < at + 8; i++) word = word << 8 | (i < length ? (unsigned char)key[i] : 0);
  return word;
}

/* C cannot compare strings in a constant expression, but it can compare their bytes as numbers. */
static void write_order_assert(FILE *out, const char *a, const char *b) {
  fputs("_Static_assert(", out);
  for (size_t at = 0; at < 24; at += 8)
    fprintf(out, "0x%llxu < 0x%llxu || (0x%llxu == 0x%llxu && (", key_word(a, at), key_word(b, at),
            key_word(a, at), key_word(b, at));
  fprintf(out, "0)))))), \"%s sorts before %s\");\n", a, b);
}

/* For a feature with cpus=N: N CPU rows imply it. Sums the emitted bits. */
static void write_count_assert(FILE *out, const struct feature *f, const char *count) {
  unsigned bit = (unsigned)(f - g.features);
  fputs("_Static_assert(0", out);
  for (int i = 0; i < g.feature_count; i++) {
    uint64_t bits[FEATURE_WORDS];
    if (g.features[i].row->kind != K_CPU) continue;
    implied_bits(&g.features[i], bits);
    fprintf(out, " + (0x%llxu >> %u & 1)", (unsigned long long)bits[bit >> 6], bit & 63);
  }
  fprintf(out, " == %s, \"%s CPUs imply %s\");\n", count, count, f->key);
}

/* Each CPU has its own bit and no other CPU's. */
static void write_self_assert(FILE *out, const struct feature *f) {
  uint64_t bits[FEATURE_WORDS], cpu_bits[FEATURE_WORDS] = {0};
  int self = (int)(f - g.features);
  for (int i = 0; i < g.feature_count; i++)
    if (g.features[i].row->kind == K_CPU) cpu_bits[i >> 6] |= UINT64_C(1) << (i & 63);
  implied_bits(f, bits);
  fputs("_Static_assert(", out);
  for (int i = 0; i < FEATURE_WORDS; i++)
    fprintf(out, "%s(0x%llxu & 0x%llxu) == 0x%llxu", i ? " && " : "", (unsigned long long)bits[i],
            (unsigned long long)cpu_bits[i], i == self >> 6 ? 1ull << (self & 63) : 0ull);
  fprintf(out, ", \"%s: one self bit\");\n", f->key);
}

static void write_zero_assert(FILE *out, const char *key, const char *what) {
  fputs("_Static_assert((0", out);
  for (int i = 0; i < FEATURE_WORDS; i++)
    fprintf(out, " | 0x%llxu", (unsigned long long)no_bits[i]);
  fprintf(out, ") == 0, \"%s %s\");\n", key, what);
}

/* Properties of the tables that the compiler asserts. */
static void write_asserts(FILE *out) {
  const struct feature *list[MAX_FEATURES];
  fputs(
      "_Static_assert(sizeof cpu_table / sizeof cpu_table[0] == TGT_CPU_COUNT, \"CPUs\");\n"
      "_Static_assert(sizeof cpu_names / sizeof cpu_names[0] == TGT_CPU_COUNT, \"names\");\n"
      "_Static_assert(sizeof feature_table / sizeof feature_table[0] == TGT_FEATURE_COUNT, "
      "\"features\");\n"
      "_Static_assert(TGT_FEATURE_COUNT <= 64 * TGT_FEATURE_WORDS, \"bits\");\n",
      out);
  int n = sorted_features(K_CPU, list);
  for (int i = 1; i < n; i++) write_order_assert(out, list[i - 1]->key, list[i]->key);
  n = sorted_features(K_COUNT, list);
  for (int i = 1; i < n; i++) write_order_assert(out, list[i - 1]->key, list[i]->key);
  for (int i = 0; i < n; i++) {
    const struct word *cpus = find_word(list[i]->row, "cpus");
    if (cpus) write_count_assert(out, list[i], cpus->value);
    write_zero_assert(out, list[i]->key, "implies no feature");
    if (list[i]->row->kind != K_CPU) continue;
    write_self_assert(out, list[i]);
    write_zero_assert(out, list[i]->key, "has no tuning bits");
  }
}

static void write_tables(FILE *out) {
  static const enum kind named[] = {K_SOURCE, K_FAMILY, K_LIMIT, K_DIFFERS,
                                    K_CLASS,  K_WAIT,   K_TYPE,  K_NEED};
  static const enum kind counted[] = {K_LIMITS, K_THROUGHPUT, K_LATENCY, K_OPERATION};
  const struct row *row;
  fputs(
      "/* Made by gen_target from target/nvptx.def; do not edit. Included by target.c only. */\n\n",
      out);
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) write_names(out, named[i]);
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) write_columns(out, counted[i]);
  write_legal(out);
  fputs("static const uint8_t ptx_table[] = {", out);
  for (int i = 0; (row = nth_row(K_PTX, i)); i++) fprintf(out, "%s%s", i ? ", " : "", row->name);
  fputs("};\n\n", out);
  write_cpus(out);
  write_features(out);
  write_asserts(out);
}

int main(int argc, char **argv) {
  return gen_main(
      argc, argv,
      &(struct generator){true,
                          read_row,
                          check_all,
                          {{"nvptx_tables.h", write_header}, {"nvptx_tables.inc", write_tables}}});
}
