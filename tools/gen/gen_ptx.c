/* gen_ptx: turns ptx/ops.def into ptx_ops.h (enums) and ptx_ops.inc (tables).
 * Run at build: gen_ptx TABLE NAMES OUTDIR.
 *
 * Problem: PTX has a few hundred instruction names but tens of thousands of legal modifier
 * sequences, each with its own operands and minimum target. Approach: a row of the table is a
 * pattern over modifier words with its operands and requirement (syntax: head of ops.def). All
 * patterns of an op become one nondeterministic automaton, which is made deterministic here.
 * Patterns have no loops, so the automaton is acyclic; states are created depth first and interned
 * by content, so it is minimal, and ops share equal tails.
 *
 *   add:  (0) -.s32-> (1: form 3)         checking an instruction is walking its modifiers, one
 *          |  -.rn--> (2) -.f32-> (1')    binary search a word; the state reached names the forms
 *          |  -.f32-> (1')                whose operands may follow
 *
 * An invalid row is reported as `file:line: error: …`; the exit status is then 1 and nothing is
 * written. */
#include "tools/gen/gen_ptx.h"

#include "ptx/word_hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct gen g;

int take(int *count, int limit, const char *what) {
  if (*count >= limit) {
    gen_fault("more than %d %s", limit, what);
    exit(1);
  }
  return (*count)++;
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool good_word(const char *s, size_t n) {
  if (n == 0 || n > 60) return false;
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != ':') return false;
  return true;
}

int find_mod(const char *s, size_t n) {
  if (!good_word(s, n)) {
    gen_fault("'.%.*s' is not a modifier", (int)n, s);
    return -1;
  }
  for (int i = 1; i < g.mod_count; i++)
    if (strlen(g.mods[i].text) == n + 1 && memcmp(g.mods[i].text + 1, s, n) == 0) return i;
  struct word *w = &g.mods[take(&g.mod_count, MAX_MODS, "modifiers")];
  w->text[0] = '.';
  memcpy(w->text + 1, s, n);
  w->id = gen_name(s, n);
  w->line = gen_table.line;
  for (int i = 1; i < g.mod_count - 1; i++)
    if (strcmp(g.mods[i].id, w->id) == 0)
      gen_fault("modifiers '%s' and '%s' have the same name in C", g.mods[i].text, w->text);
  return g.mod_count - 1;
}

int find_set(const char *s, size_t n) {
  for (int i = 0; i < g.set_count; i++)
    if (strlen(g.sets[i].name) == n && memcmp(g.sets[i].name, s, n) == 0) return i;
  return -1;
}

static int find_class(const char *name) {
  for (int i = 0; i < g.class_count; i++)
    if (strcmp(g.classes[i].name, name) == 0) return i;
  gen_fault("unknown class '%s'", name);
  return 0;
}
/* Ends the current group of ops. */
static void finish_group(void) {
  if (g.group_count == 0) return;
  int line = g.ops[g.group_first].line;
  if (g.group_start < 0) gen_fault_at(line, "op '%s' has no form", g.ops[g.group_first].text);
  else if (gen_table.faults == 0) {
    int state = automaton_state(g.group_start);
    for (int i = 0; i < g.group_count; i++) {
      g.ops[g.group_first + i].state = state;
      g.ops[g.group_first + i].ranged = g.group_ranged;
    }
  }
  for (int i = 0; i < g.mod_count; i++) g.mods[i].op_need = 0;
  g.group_count = 0;
  g.group_ranged = false;
  g.group_start = -1;
}

/* ---- operands ------------------------------------------------------------------------------- */

enum shape_kind {
  S_VALUE,
  S_VECTOR,
  S_PAIR,
  S_PAIR_OPTIONAL,
  S_PACK,
  S_ADDRESS,
  S_TENSOR,
  S_IMMEDIATE,
  S_LABEL,
  S_SYMBOL,
  S_CALLEE,
  S_LIST,
  S_ANY,
  S_COUNT
};
static const char *const shape_names[S_COUNT] = {
    [S_VALUE] = "VALUE",   [S_VECTOR] = "VECTOR",
    [S_PAIR] = "PAIR",     [S_PAIR_OPTIONAL] = "PAIR_OPTIONAL",
    [S_PACK] = "PACK",     [S_ADDRESS] = "ADDRESS",
    [S_TENSOR] = "TENSOR", [S_IMMEDIATE] = "IMMEDIATE",
    [S_LABEL] = "LABEL",   [S_SYMBOL] = "SYMBOL",
    [S_CALLEE] = "CALLEE", [S_LIST] = "LIST",
    [S_ANY] = "ANY"};

static const struct {
  const char *text;
  enum shape_kind kind;
} plain_shapes[] = {{"addr", S_ADDRESS}, {"tensor", S_TENSOR}, {"imm", S_IMMEDIATE},
                    {"label", S_LABEL},  {"sym", S_SYMBOL},    {"callee", S_CALLEE},
                    {"list", S_LIST},    {"any", S_ANY},       {"pack", S_PACK}};

/* `type` of a shape: a modifier index, or below 0 the n-th type modifier of the instruction. */
enum { T_LAST = -1, T_1 = -2, T_2 = -3, T_3 = -4, T_4 = -5, T_WIDE = -6 };

static bool parse_type(const char *s, int *type) {
  static const char *const refs[] = {"t", "t1", "t2", "t3", "t4", "w"};
  for (int i = 0; i < 6; i++)
    if (strcmp(s, refs[i]) == 0) {
      *type = -1 - i;
      return true;
    }
  for (int i = 1; i < g.mod_count; i++)
    if (g.mods[i].bits && strcmp(g.mods[i].text + 1, s) == 0) {
      *type = i;
      return true;
    }
  return false;
}

/* Parses and cuts off the range at the end of an operand word: `(LOW..HIGH/STEP)`. */
static bool parse_range(char *s, struct shape *out) {
  char *open = strchr(s, '('), *p = open ? open + 1 : NULL;
  if (!open) return true;
  struct range r = {.step = 1};
  r.low = r.high = strtol(p, &p, 10);
  if (strncmp(p, "..", 2) == 0) {
    p += 2;
    r.high = *p == ')' || *p == '/' ? INT32_MAX : strtol(p, &p, 10);
  }
  if (*p == '/') r.step = strtol(p + 1, &p, 10);
  r.doubles = *p == '*' && p[1] == '2';
  if (r.doubles) p += 2;
  if (strcmp(p, ")") != 0 || r.low > r.high || r.step < 1) return false;
  *open = 0;
  g.group_ranged = true;
  for (out->range = 1; out->range < g.range_count; out->range++)
    if (memcmp(&g.ranges[out->range], &r, sizeof r) == 0) return true;
  g.ranges[take(&g.range_count, MAX_RANGES, "ranges")] = r;
  return true;
}

/* Parses one operand word: see the head of ops.def. */
static bool parse_shape(char *s, struct shape *out) {
  size_t n = strlen(s);
  if (n > 1 && s[n - 1] == '?') {
    out->optional = true;
    s[--n] = 0;
  }
  if (!parse_range(s, out)) return false;
  n = strlen(s);
  for (size_t i = 0; i < sizeof plain_shapes / sizeof plain_shapes[0]; i++)
    if (strcmp(s, plain_shapes[i].text) == 0) {
      out->kind = plain_shapes[i].kind;
      return true;
    }
  if (n > 1 && s[n - 1] == '~') {
    out->relaxed = true;
    s[--n] = 0;
  }
  if (n > 1 && s[n - 1] == '^') {
    out->selected = true;
    s[--n] = 0;
  }
  char *bar = strchr(s, '|');
  char *colon = strchr(s, ':');
  if (bar) {
    bool must = bar[1] == '|';
    if (strcmp(bar + 1 + must, "pred") != 0) return false;
    out->kind = must ? S_PAIR : S_PAIR_OPTIONAL;
    *bar = 0;
  } else if (colon && s[0] == 'v') {
    out->kind = S_VECTOR;
    *colon = 0;
    if (strcmp(s, "v") == 0) out->count = 0;         /* from .v2, .v4, .v8; without them a scalar */
    else if (strcmp(s, "v*") == 0) out->count = 255; /* any number */
    else if ((out->count = atoi(s + 1)) <= 0) return false;
    s = colon + 1;
  } else {
    out->kind = S_VALUE;
  }
  return parse_type(s, &out->type) && (!out->range || out->kind == S_VALUE);
}

/* Interns an operand list. */
static int intern_shapes(int first, int count) {
  for (int i = 0; i + count <= first; i++)
    if (memcmp(&g.shapes[i], &g.shapes[first], (size_t)count * sizeof(struct shape)) == 0) {
      g.shape_count = first;
      return i;
    }
  return first;
}

static void parse_operands(char *text, struct form *f) {
  int first = g.shape_count;
  bool seen_optional = false;
  char *save = NULL;
  for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
    if (strcmp(w, "-") == 0) continue;
    if (w[0] == '@') {
      f->class = find_class(w + 1);
      continue;
    }
    if (strcmp(w, "<-") == 0) {
      f->dest_count = f->shape_count;
      for (int i = first; i < g.shape_count; i++) g.shapes[i].dest = true;
      continue;
    }
    struct shape *s = &g.shapes[take(&g.shape_count, MAX_SHAPES, "operands")];
    memset(s, 0, sizeof *s);
    if (!parse_shape(w, s)) gen_fault("'%s' is not an operand", w);
    if (seen_optional && !s->optional) gen_fault("required operand after an optional one");
    seen_optional |= s->optional;
    if (!s->optional) f->min_count++;
    f->shape_count++;
  }
  f->first_shape = intern_shapes(first, f->shape_count);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Splits `text` at " : "; returns the rest or NULL. */
static char *cut(char *text) {
  char *colon = strstr(text, " : ");
  if (!colon) return NULL;
  *colon = 0;
  return colon + 3;
}

static void read_form(char *row) {
  if (g.group_count == 0) {
    gen_fault("form outside an op");
    return;
  }
  char *operands = cut(row);
  char *need = operands ? cut(operands) : NULL;
  if (!operands) {
    gen_fault("expected 'pattern : operands [: requirement]'");
    return;
  }
  row = gen_trim(row);
  struct form f = {.line = gen_table.line, .class = g.ops[g.group_first].class};
  parse_operands(operands, &f);
  f.need = need ? gen_find_need(gen_trim(need)) : 0;
  int i = take(&g.form_count, MAX_FORMS, "forms");
  g.forms[i] = f;
  int start = automaton_add(strcmp(row, "-") == 0 ? "" : row, i, g.group_start);
  if (start >= 0) g.group_start = start;
}

enum { MAX_BRACES = 64 };

/* Expands `a{x,y}b`, `a{0-31}` or `a{8-64/8}`; returns the number of words. */
static int expand_braces(const char *word, char texts[MAX_BRACES][128]) {
  const char *open = strchr(word, '{'), *close = open ? strchr(open, '}') : NULL;
  int from, to, by = 1, head = open ? (int)(open - word) : 0, count = 0;
  if (!close) {
    snprintf(texts[count++], 128, "%s", word);
  } else if (sscanf(open, "{%d-%d/%d}", &from, &to, &by) >= 2) {
    for (int i = from; i <= to && by > 0 && count < MAX_BRACES; i += by)
      snprintf(texts[count++], 128, "%.*s%d%s", head, word, i, close + 1);
  } else {
    for (const char *p = open; p < close && count < MAX_BRACES;) {
      int n = (int)strcspn(++p, ",}");
      snprintf(texts[count++], 128, "%.*s%.*s%s", head, word, n, p, close + 1);
      p += n;
    }
  }
  return count;
}

/* `.a $set ...` into a list of modifiers. */
static struct list read_words(char *text) {
  struct list l = {0};
  char *save = NULL;
  for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
    if (w[0] == '.') {
      char texts[MAX_BRACES][128];
      int count = expand_braces(w + 1, texts);
      for (int i = 0; i < count; i++) {
        int mod = find_mod(texts[i], strlen(texts[i]));
        if (mod >= 0) push(&l, mod);
      }
    } else if (w[0] == '$') {
      int set = find_set(w + 1, strlen(w + 1));
      if (set < 0) gen_fault("unknown set '%s'", w);
      else
        for (int i = 0; i < g.sets[set].count; i++) push(&l, g.sets[set].mods[i]);
    } else {
      gen_fault("'%s' is neither a modifier nor a set", w);
    }
  }
  if (l.count == 0) gen_fault("no modifiers");
  return l;
}

static void read_need(char *row, bool inside_op) {
  char *text = cut(row);
  if (!text) {
    gen_fault("expected 'need .word ... : requirement'");
    return;
  }
  int need = gen_find_need(gen_trim(text));
  struct list l = read_words(row);
  for (int i = 0; i < l.count; i++) {
    if (inside_op) g.mods[l.data[i]].op_need = need;
    else g.mods[l.data[i]].need = need;
  }
  free(l.data);
}

static void read_set(char *row) {
  char *equals = strstr(row, "=");
  if (!equals) {
    gen_fault("expected 'set NAME = .word ...'");
    return;
  }
  *equals = 0;
  char *name = gen_trim(row);
  if (find_set(name, strlen(name)) >= 0) gen_fault("duplicate set '%s'", name);
  if (!good_word(name, strlen(name)) || strlen(name) > 31) {
    gen_fault("'%s' is not a valid set name", name);
    return;
  }
  struct list l = read_words(equals + 1);
  struct set *s = &g.sets[take(&g.set_count, MAX_SETS, "sets")];
  strcpy(s->name, name);
  s->mods = l.data;
  s->count = l.count;
}

/* `name .WORD ID`: the C name of a word, if two words would share one. */
static void read_name(char *row) {
  char word[62], id[62];
  if (sscanf(row, " .%60s %60s", word, id) != 2) {
    gen_fault("expected 'name .word ID'");
    return;
  }
  for (int i = 1; i < g.mod_count; i++)
    if (strcmp(g.mods[i].text + 1, word) == 0) {
      gen_fault("'.%s' has a name already; move this row up", word);
      return;
    }
  struct word *w = &g.mods[take(&g.mod_count, MAX_MODS, "modifiers")];
  snprintf(w->text, sizeof w->text, ".%s", word);
  w->id = gen_copy(id, strlen(id));
  w->line = gen_table.line;
}

static void read_type(char *row) {
  char word[64];
  int bits;
  char kind;
  if (sscanf(row, " .%62s %d %c", word, &bits, &kind) != 3 || bits <= 0 ||
      !strchr("usbfxp", kind)) {
    gen_fault("expected 'type .word BITS u|s|b|f|x|p'");
    return;
  }
  int mod = find_mod(word, strlen(word));
  if (mod < 0) return;
  if (g.mods[mod].bits) gen_fault("duplicate type '.%s'", word);
  g.mods[mod].bits = bits;
  g.mods[mod].kind = kind;
}

static void add_special(const char *name, int type, int need) {
  for (int i = 1; i < g.special_count; i++)
    if (strcmp(g.specials[i].text + 1, name) == 0) gen_fault("duplicate special '%s'", name);
  if (strlen(name) > 60) {
    gen_fault("name too long");
    return;
  }
  struct word *w = &g.specials[take(&g.special_count, MAX_SPECIALS, "special registers")];
  w->text[0] = '%';
  strcpy(w->text + 1, name);
  w->id = gen_name(name, strlen(name));
  w->line = gen_table.line;
  w->type = type;
  w->need = need;
}

/* `special NAME TYPE [REQUIREMENT]`; NAME may contain {x,y,z} or {0-31}. */
static void read_special(char *row) {
  char *save = NULL;
  char *name = strtok_r(row, " \t", &save), *type_name = strtok_r(NULL, " \t", &save);
  int type;
  if (!name || !type_name || !parse_type(type_name, &type) || type < 0) {
    gen_fault("expected 'special NAME TYPE [requirement]'");
    return;
  }
  int need = gen_find_need(gen_trim(save));
  char texts[MAX_BRACES][128];
  int count = expand_braces(name, texts);
  for (int i = 0; i < count; i++) add_special(texts[i], type, need);
}

static void read_class(char *row) {
  char name[32], text[128];
  if (sscanf(row, " %31s \"%127[^\"]\"", name, text) != 2) {
    gen_fault("expected 'class NAME \"text\"'");
    return;
  }
  int i = take(&g.class_count, MAX_CLASSES, "classes");
  strcpy(g.classes[i].name, name);
  strcpy(g.classes[i].text, text);
}

/* `op NAME ... : CLASS`: starts a group of ops with the same forms. */
static void read_op(char *row) {
  finish_group();
  char *class_name = cut(row), *save = NULL;
  if (!class_name) {
    gen_fault("expected 'op NAME ... : CLASS'");
    return;
  }
  int class = find_class(gen_trim(class_name));
  g.group_first = g.op_count;
  for (char *w = strtok_r(row, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
    if (!good_word(w, strlen(w))) gen_fault("'%s' is not an op", w);
    for (int i = 1; i < g.op_count; i++)
      if (strcmp(g.ops[i].text, w) == 0)
        gen_fault("duplicate op '%s', first in line %d", w, g.ops[i].line);
    struct op *o = &g.ops[take(&g.op_count, MAX_OPS, "ops")];
    snprintf(o->text, sizeof o->text, "%s", w);
    o->id = gen_name(w, strlen(w));
    o->line = gen_table.line;
    o->class = class;
    o->state = -1;
  }
  g.group_count = g.op_count - g.group_first;
}

static void read_row(char *row) {
  static const struct {
    const char *word;
    void (*read)(char *);
  } kinds[] = {{"set", read_set},     {"type", read_type}, {"special", read_special},
               {"class", read_class}, {"op", read_op},     {"name", read_name}};
  bool indented = row[0] == ' ' || row[0] == '\t';
  row = gen_trim(row);
  if (!*row) return;
  size_t n = strcspn(row, " \t");
  char *rest = row[n] ? row + n + 1 : row + n;
  if (n == 4 && memcmp(row, "need", 4) == 0) {
    read_need(rest, indented);
  } else if (indented) {
    read_form(row);
  } else if (n == 3 && memcmp(row, "mod", 3) == 0) {
    struct list l = read_words(rest);
    free(l.data);
  } else {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
      if (strlen(kinds[i].word) == n && memcmp(kinds[i].word, row, n) == 0) {
        kinds[i].read(rest);
        return;
      }
    gen_fault("unknown row '%.*s'", (int)n, row);
  }
}

/* ---- output --------------------------------------------------------------------------------- */

static void write_header(FILE *out) {
  fputs(
      "/* Made by gen_ptx from ptx/ops.def; do not edit. */\n"
      "#ifndef NVM_PTX_OPS_GENERATED_H\n#define NVM_PTX_OPS_GENERATED_H\n\n"
      "enum ptx_op {\n  PTX_NONE,\n",
      out);
  for (int i = 1; i < g.op_count; i++) fprintf(out, "  PTX_%s,\n", g.ops[i].id);
  fputs("  PTX_OP_COUNT,\n};\n\nenum ptx_mod {\n  PTX_MOD_NONE,\n", out);
  for (int i = 1; i < g.mod_count; i++)
    fprintf(out, "  PTX_MOD_%s, /* %s */\n", g.mods[i].id, g.mods[i].text);
  fputs("  PTX_MOD_COUNT,\n};\n\nenum ptx_special {\n  PTX_SPECIAL_NONE,\n", out);
  for (int i = 1; i < g.special_count; i++) fprintf(out, "  PTX_SPECIAL_%s,\n", g.specials[i].id);
  fputs(
      "  PTX_SPECIAL_COUNT,\n};\n\n/* Which unit an instruction is issued to. */\n"
      "enum ptx_issue {\n",
      out);
  for (int i = 0; i < g.class_count; i++)
    fprintf(out, "  PTX_ISSUE_%s, /* %s */\n",
            gen_name(g.classes[i].name, strlen(g.classes[i].name)), g.classes[i].text);
  fputs(
      "  PTX_ISSUE_COUNT,\n};\n\n/* What an operand may be; see the head of ops.def. */\n"
      "enum ptx_shape_kind {\n",
      out);
  for (int i = 0; i < S_COUNT; i++) fprintf(out, "  PTX_SHAPE_%s,\n", shape_names[i]);
  fprintf(out, "};\n\nenum {\n  PTX_NEED_COUNT = %d,\n  PTX_FORM_COUNT = %d,\n};\n\n#endif\n",
          gen_table.need_count, g.form_count);
}

static void write_slots(FILE *out, const char *name, const char *(*text)(int), int count) {
  int size = 1;
  while (size < count * 3) size *= 2;
  int *slots = calloc((size_t)size, sizeof *slots);
  if (!slots) exit(1);
  for (int i = 1; i < count; i++) {
    uint32_t s = ptx_word_hash(text(i), strlen(text(i))) & (uint32_t)(size - 1);
    while (slots[s]) s = (s + 1) & (uint32_t)(size - 1);
    slots[s] = i;
  }
  fprintf(out, "static const uint16_t %s[%d] = {", name, size);
  for (int i = 0; i < size; i++) fprintf(out, "%s%d,", i % 20 ? "" : "\n  ", slots[i]);
  fputs("\n};\n\n", out);
  free(slots);
}

static const char *op_text(int i) { return g.ops[i].text; }
static const char *mod_text(int i) { return g.mods[i].text; }
static const char *special_text(int i) { return g.specials[i].text; }

static void write_names(FILE *out) {
  fputs("static const struct ptx_op_row op_rows[PTX_OP_COUNT] = {\n  {\"\", 0, 0, 0, 0},\n", out);
  for (int i = 1; i < g.op_count; i++)
    fprintf(out, "  {\"%s\", %zu, %d, %d, %d},\n", g.ops[i].text, strlen(g.ops[i].text),
            g.ops[i].class, g.ops[i].ranged, g.ops[i].state);
  fputs(
      "};\n\nstatic const struct ptx_mod_row mod_rows[PTX_MOD_COUNT] = {\n"
      "  {\"\", 0, 0, 0},\n",
      out);
  for (int i = 1; i < g.mod_count; i++)
    fprintf(out, "  {\"%s\", %zu, %d, %d},\n", g.mods[i].text, strlen(g.mods[i].text),
            g.mods[i].bits, g.mods[i].kind);
  fputs(
      "};\n\nstatic const struct ptx_special_row special_rows[PTX_SPECIAL_COUNT] = {\n"
      "  {\"\", 0, 0, 0},\n",
      out);
  for (int i = 1; i < g.special_count; i++)
    fprintf(out, "  {\"%s\", %zu, PTX_MOD_%s, %d},\n", g.specials[i].text,
            strlen(g.specials[i].text), g.mods[g.specials[i].type].id, g.specials[i].need);
  fputs("};\n\n", out);
  fputs("static const char *const issue_names[PTX_ISSUE_COUNT] = {", out);
  for (int i = 0; i < g.class_count; i++) fprintf(out, "\"%s\", ", g.classes[i].name);
  fputs("};\n\n", out);
  write_slots(out, "op_slots", op_text, g.op_count);
  write_slots(out, "mod_slots", mod_text, g.mod_count);
  write_slots(out, "special_slots", special_text, g.special_count);
}

static void write_needs(FILE *out) {
  fputs("static const struct tgt_requirement need_rows[PTX_NEED_COUNT] = {\n  {0},\n", out);
  for (int i = 1; i < gen_table.need_count; i++)
    fprintf(out, "  %s, /* %s */\n", gen_requirement(&gen_table.needs[i].value),
            gen_table.needs[i].text);
  fputs("};\n\n", out);
}

static void write_shape(FILE *out, const struct shape *s) {
  fprintf(out, "  {PTX_SHAPE_%s, %d, %d, %d, %d, %d, ", shape_names[s->kind], s->count, s->range,
          s->dest, s->relaxed, s->selected);
  if (s->type < 0) fprintf(out, "%d},\n", s->type);
  else if (s->type == 0) fputs("0},\n", out);
  else fprintf(out, "PTX_MOD_%s},\n", g.mods[s->type].id);
}

static void write_tables(FILE *out) {
  fputs("/* Made by gen_ptx from ptx/ops.def; do not edit. Included by ptx/ops.c only. */\n\n",
        out);
  write_names(out);
  write_needs(out);
  fprintf(out, "static const struct ptx_shape shape_rows[%d] = {\n", g.shape_count + 1);
  for (int i = 0; i < g.shape_count; i++) write_shape(out, &g.shapes[i]);
  fprintf(out, "};\n\nstatic const struct ptx_bounds range_rows[%d] = {\n", g.range_count);
  for (int i = 0; i < g.range_count; i++)
    fprintf(out, "  {%ld, %ld, %ld, %d},\n", g.ranges[i].low, g.ranges[i].high, g.ranges[i].step,
            g.ranges[i].doubles);
  fputs(
      "};\n\n/* first shape, shapes, of them destinations, of them needed, issue, need, line */\n"
      "static const struct ptx_form form_rows[PTX_FORM_COUNT] = {\n",
      out);
  for (int i = 0; i < g.form_count; i++) {
    const struct form *f = &g.forms[i];
    fprintf(out, "  {%d, %d, %d, %d, %d, %d, %d},\n", f->first_shape, f->shape_count, f->dest_count,
            f->min_count, f->class, f->need, f->line);
  }
  fprintf(out, "};\n\nstatic const uint16_t accept_rows[%d] = {", g.accept_count + 1);
  for (int i = 0; i < g.accept_count; i++)
    fprintf(out, "%s%d,", i % 20 ? "" : "\n  ", g.accepts[i]);
  fprintf(out, "\n};\n\nstatic const struct ptx_step step_rows[%d] = {\n", g.step_count + 1);
  for (int i = 0; i < g.step_count; i++)
    fprintf(out, "{%d,%d,%d},%s", g.steps[i].mod, g.steps[i].next, g.steps[i].need,
            i % 8 == 7 ? "\n" : "");
  fprintf(out, "\n};\n\nstatic const struct ptx_state state_rows[%d] = {\n", g.state_count + 1);
  for (int i = 0; i < g.state_count; i++) {
    const struct state *s = &g.states[i];
    fprintf(out, "{%d,%d,%d,%d},%s", s->first_step, s->first_form, s->step_count, s->form_count,
            i % 8 == 7 ? "\n" : "");
  }
  fputs("\n};\n", out);
}

static void finish(void) {
  finish_group();
  if (gen_table.faults == 0 && g.form_count == 0) gen_fault("no op");
}

int main(int argc, char **argv) {
  g.mod_count = g.op_count = g.special_count = g.range_count = 1;
  g.group_start = -1;
  return gen_main(
      argc, argv,
      &(struct generator){
          false, read_row, finish, {{"ptx_ops.h", write_header}, {"ptx_ops.inc", write_tables}}});
}
