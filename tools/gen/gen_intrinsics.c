/* gen_intrinsics: turns ir/intrinsics.def into intrinsics.h (enum intrinsic_id) and intrinsics.inc
 * (table rows; forms for codegen). Run at build: gen_intrinsics TABLE NAMES OUTDIR.
 *
 * Problem: thousands of intrinsics differ in a word or two; each needs a name, a type check and a
 * PTX form. Approach: a row of the table is a pattern; its alternatives are expanded, the signature
 * is checked, and the PTX form is split into an instruction name, modifiers and operands. These are
 * written as C identifiers (PTX_SHFL, PTX_MOD_BFLY, …), so a word that ptx/ops.def lacks breaks the
 * build. The head of the table describes its syntax.
 *
 * intrinsics.inc has five parts, each chosen by a macro that the reader defines:
 *   INTRINSIC_ROWS     initializers of struct intrinsic_info, in the order of enum intrinsic_id,
 *                      which is the order of strcmp
 *   INTRINSIC_WORDS    the forms, one after the other, as 16-bit words (ptx/form.h)
 *   INTRINSIC_HANDLERS prototypes of the handlers, once for each intrinsic
 *   INTRINSIC_FORMS    per intrinsic: its handler or that of lanes with their number of arguments,
 *                      if it has one, the handler's argument, its requirement
 *   INTRINSIC_OFFSETS  per intrinsic: where its form starts, 0: it has none
 *   INTRINSIC_NEEDS    the distinct requirements, as initializers of struct tgt_requirement
 *
 * All faults of a run are printed as `file:line: error: …`; any fault means exit status 1 and no
 * output. */
#include "tools/gen/gen_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_GROUPS = 12,
  MAX_VALUES = 5,
  MAX_LABELS = 12,
  COLUMNS = 5,
};

static const char *const effect_words[] = {"pure",   "const",      "reads",    "writes",
                                           "argmem", "convergent", "noreturn", "commutes"};
static const char *const effect_flags[] = {"INTRIN_SPECULATABLE", "0",
                                           "INTRIN_READS",        "INTRIN_WRITES",
                                           "INTRIN_ARGMEM",       "INTRIN_CONVERGENT",
                                           "INTRIN_NORETURN",     "INTRIN_COMMUTES"};
enum { EFFECT_COUNT = sizeof effect_words / sizeof *effect_words };

/* One intrinsic. */
struct row {
  char *name, *signature, *ptx, *flags;
  const char *needs;
  char *handler, *prototype; /* as C text, the first with its argument; NULL: none */
  int need, line, overloads;
  int words;  /* of its form */
  char *code; /* those words as C */
};

/* A named argument of a form. */
struct label {
  char name[16];
  int first, count;
};
struct shape {
  int arguments, constants;
  bool has_result, variadic;
  struct label labels[MAX_LABELS];
  int label_count;
  char variables[16][4];
  int variable_count;
};

static struct {
  struct row *rows;
  int row_count, row_capacity;
} g;

/* ---- Patterns: {a,b=x/y,c} in the name, <1> <1b> elsewhere ---- */

struct group {
  const char *piece;
  size_t piece_length;
  const char *value[MAX_VALUES];
  size_t value_length[MAX_VALUES];
  int value_count;
};

/* Parses the alternative at `p`, up to , or }. Returns its end. */
static const char *read_alternative(const char *p, struct group *group) {
  size_t n = strcspn(p, ",}");
  const char *end = p + n, *equals = memchr(p, '=', n);
  while (p < end && *p == ' ') p++;
  group->piece = p;
  group->piece_length = (size_t)((equals ? equals : end) - p);
  while (group->piece_length > 0 && p[group->piece_length - 1] == ' ') group->piece_length--;
  group->value_count = 0;
  for (const char *v = equals ? equals + 1 : p; group->value_count < MAX_VALUES;) {
    size_t length = equals ? strcspn(v, "/,}") : group->piece_length;
    int i = group->value_count++;
    group->value[i] = v;
    group->value_length[i] = length;
    while (length > 0 && v[length - 1] == ' ') group->value_length[i] = --length;
    v += strcspn(v, "/,}");
    if (!equals || v >= end) return end;
    v++;
  }
  gen_fault("more than %d values in an alternative", MAX_VALUES);
  return end;
}

static void add_substituted(struct gen_text *out, const char *p, const struct group *groups,
                            int group_count) {
  for (; *p; p++) {
    if (*p != '<' || !isdigit((unsigned char)p[1])) {
      gen_add_bytes(out, p, 1);
      continue;
    }
    int k = (int)strtol(p + 1, (char **)&p, 10) - 1, v = 0;
    bool piece = *p == 'n';
    if (*p >= 'b' && *p <= 'f') v = *p++ - 'a';
    else if (piece) p++;
    if (*p != '>' || k < 0 || k >= group_count || (!piece && v >= groups[k].value_count)) {
      gen_fault("'<%d…' does not refer to an alternative of the name", k + 1);
      return;
    }
    if (piece) gen_add_bytes(out, groups[k].piece, groups[k].piece_length);
    else gen_add_bytes(out, groups[k].value[v], groups[k].value_length[v]);
  }
}

static void add_row(const char *name, char *const columns[COLUMNS], const struct group *groups,
                    int group_count);

/* Expands the groups of `rest`, the name before it being `done`. */
static void expand(const struct gen_text *done, const char *rest, char *const columns[COLUMNS],
                   struct group *groups, int group_count) {
  struct gen_text name = {0};
  const char *brace = strchr(rest, '{');
  gen_add_bytes(&name, done->bytes ? done->bytes : "", done->length);
  gen_add_bytes(&name, rest, brace ? (size_t)(brace - rest) : strlen(rest));
  if (!brace) {
    add_row(name.bytes, columns, groups, group_count);
  } else if (!strchr(brace, '}') || group_count == MAX_GROUPS) {
    gen_fault("unmatched '{', or more than %d groups", MAX_GROUPS);
  } else {
    const char *after = strchr(brace, '}') + 1;
    size_t before = name.length;
    for (const char *p = brace; *p != '}';) {
      p = read_alternative(p + 1, &groups[group_count]);
      name.length = before;
      gen_add_bytes(&name, groups[group_count].piece, groups[group_count].piece_length);
      expand(&name, after, columns, groups, group_count + 1);
    }
  }
  free(name.bytes);
}

/* ---- Signatures ---- */

static void skip_blanks(const char **p) { *p += strspn(*p, " "); }

static bool read_word(const char **p, const char *word) {
  size_t n = strlen(word);
  if (strncmp(*p, word, n) != 0 || isalnum((unsigned char)(*p)[n])) return false;
  *p += n;
  return true;
}

static bool read_number(const char **p, int *value) {
  if (!isdigit((unsigned char)**p)) return false;
  *value = (int)strtol(*p, (char **)p, 10);
  return true;
}

/* Parses a type variable; counts it once. */
static bool read_variable(const char **p, struct shape *s) {
  if (!strchr("IFPTS", **p) || !**p) return false;
  char name[4] = {**p, 0};
  (*p)++;
  if (isdigit((unsigned char)**p)) name[1] = *(*p)++;
  for (int i = 0; i < s->variable_count; i++)
    if (strcmp(s->variables[i], name) == 0) return true;
  if (s->variable_count < 16) memcpy(s->variables[s->variable_count++], name, 4);
  return true;
}

static bool read_scalar(const char **p) {
  static const char *const words[] = {"f16", "bf16", "f32", "f64", "h16", "h32"};
  int number;
  for (int i = 0; i < 6; i++)
    if (read_word(p, words[i])) return true;
  if (**p != 'i' && **p != 'p') return false;
  (*p)++;
  return read_number(p, &number);
}

static bool read_type(const char **p, struct shape *s, int *repeat);

static bool read_members(const char **p, struct shape *s, char close) {
  do {
    int repeat;
    skip_blanks(p);
    if (!read_type(p, s, &repeat)) return false;
    skip_blanks(p);
  } while (*(*p)++ == ',');
  return (*p)[-1] == close;
}

/* Parses a type; *repeat: its repeat count. */
static bool read_type(const char **p, struct shape *s, int *repeat) {
  int number;
  *repeat = 1;
  if (**p == '{' || **p == '[') {
    char close = *(*p)++ == '{' ? '}' : ']';
    return read_members(p, s, close);
  }
  if (read_word(p, "token") || read_word(p, "void")) return true;
  if (read_word(p, "metadata")) {
  } else if (**p == '@') {
    (*p)++;
    if (!read_variable(p, s)) return false;
  } else if (**p == 'v' && isdigit((unsigned char)(*p)[1])) {
    (*p)++;
    if (!read_number(p, &number) || !read_scalar(p)) return false;
  } else if (read_scalar(p)) {
    if (**p == '@' && ((*p)++, !read_variable(p, s))) return false;
  } else if (!read_variable(p, s)) {
    return false;
  }
  if (**p == '*') {
    (*p)++;
    if (!read_number(p, repeat)) return false;
  }
  return true;
}

static bool read_argument(const char **p, struct shape *s) {
  size_t n = strspn(*p, "abcdefghijklmnopqrstuvwxyz");
  struct label *label = NULL;
  int repeat;
  if (read_word(p, "...")) return s->variadic = true;
  if (n > 0 && n < sizeof label->name && (*p)[n] == '=' && s->label_count < MAX_LABELS) {
    label = &s->labels[s->label_count++];
    memcpy(label->name, *p, n);
    label->name[n] = '\0';
    label->first = s->arguments;
    *p += n + 1;
  }
  bool constant = read_word(p, "imm");
  skip_blanks(p);
  if (!read_type(p, s, &repeat)) return false;
  s->constants += constant ? repeat : 0;
  if (label) label->count = repeat;
  s->arguments += repeat;
  return true;
}

/* Parses `RESULT (ARGUMENTS)`; the first of several separated by `;` determines the shape. Reports
 * errors. */
static bool read_signature(const char *signature, struct shape *s) {
  const char *p = signature;
  int repeat;
  *s = (struct shape){0};
  if (strcmp(signature, "*") == 0) return s->variadic = true;
  s->has_result = strncmp(p, "void", 4) != 0;
  bool good = read_type(&p, s, &repeat) && repeat == 1;
  skip_blanks(&p);
  good = good && *p++ == '(';
  while (good && *p != ')') {
    skip_blanks(&p);
    good = read_argument(&p, s);
    skip_blanks(&p);
    if (*p == ',') p++;
    else if (*p != ')') good = false;
  }
  if (good && p[1] == '\0') return true;
  if (good && p[1] == ';') {
    struct shape other;
    p += 2;
    skip_blanks(&p);
    return read_signature(p, &other);
  }
  gen_fault("invalid signature '%s' at '%s'", signature, p);
  return false;
}

/* The signature without labels, arguments repeated 0 times, and `*1`. */
static char *plain_signature(const char *p) {
  struct gen_text t = {0};
  size_t start = 0; /* of the argument, with the comma before it */
  for (; *p; p++) {
    bool separates = *p == ',' || *p == '(';
    bool ends = (*p == ',' || *p == ')') && t.length > start + 1;
    if (ends && memcmp(t.bytes + t.length - 2, "*0", 2) == 0) t.length = start;
    else if (ends && memcmp(t.bytes + t.length - 2, "*1", 2) == 0) t.length -= 2;
    if (separates) start = t.length + (*p == '(');
    gen_add_bytes(&t, p, 1);
    if (!separates) continue;
    size_t blank = p[1] == ' ', n = strspn(p + 1 + blank, "abcdefghijklmnopqrstuvwxyz");
    if (n == 0 || p[1 + blank + n] != '=') continue;
    gen_add_bytes(&t, " ", blank);
    p += blank + n + 1;
  }
  return t.bytes;
}

/* ---- PTX forms ---- */

/* The form being written. */
struct form {
  struct row *row;
  const struct shape *shape;
  struct gen_text code;
};

/* Inserts a word of the form at `at`. */
static void insert_code(struct form *f, size_t at, const char *format, ...) {
  char word[256];
  va_list list;
  va_start(list, format);
  vsnprintf(word, sizeof word, format, list);
  va_end(list);
  struct gen_text t = {0};
  gen_add_bytes(&t, f->code.bytes ? f->code.bytes : "", at);
  gen_add(&t, "%s, ", word);
  if (f->code.length > at) gen_add_bytes(&t, f->code.bytes + at, f->code.length - at);
  free(f->code.bytes);
  f->code = t;
  f->row->words++;
}

/* Appends a word to the form. */
static void add_code(struct form *f, const char *format, ...) {
  char word[256];
  va_list list;
  va_start(list, format);
  vsnprintf(word, sizeof word, format, list);
  va_end(list);
  insert_code(f, f->code.length, "%s", word);
}

static int read_operand(struct form *f, const char **p);

static void add_argument(struct form *f, int k, int part) {
  if (k >= f->shape->arguments && !f->shape->variadic) gen_fault("unknown argument %d", k);
  if (part >= 0) add_code(f, "FORM_ARG | %d << 6 | %d", k, part);
  else add_code(f, "FORM_ARG | %d << 6 | FORM_ALL", k);
}

/* The label at `p`, or NULL. */
static const struct label *find_label(const struct form *f, const char **p) {
  for (int i = 0; i < f->shape->label_count; i++)
    if (read_word(p, f->shape->labels[i].name)) return &f->shape->labels[i];
  return NULL;
}

/* The argument that `$3` or `$label` means, `p` after the dollar sign. */
static int read_argument_name(struct form *f, const char **p) {
  int k = 0;
  if (read_number(p, &k)) return k;
  const struct label *label = find_label(f, p);
  if (label) return label->first;
  gen_fault("'$%s' does not refer to an argument", *p);
  *p += strlen(*p);
  return 0;
}

/* $d $d.1 $3 $3.0 $label $2:5 $p1. Returns the number of operands. */
static int read_reference(struct form *f, const char **p) {
  static const char classes[] = "phrlfebq"; /* p, 16, 32, 64 bits, f32, f64, 8, 128 bits */
  int k, part = -1, last;
  if (read_number(p, &k)) {
    if (**p == '.' && ((*p)++, !read_number(p, &part))) gen_fault("missing number of a part");
    if (**p != ':') return add_argument(f, k, part), 1;
    (*p)++;
    if (!read_number(p, &last) || last < k) gen_fault("missing last argument after '$%d:'", k);
    else
      for (int i = k; i <= last; i++) add_argument(f, i, -1);
    return last - k + 1;
  }
  if (**p == 'd' && !isalnum((unsigned char)(*p)[1])) {
    (*p)++;
    if (**p == '.' && ((*p)++, !read_number(p, &part))) gen_fault("missing number of a part");
    if (!f->shape->has_result) gen_fault("'$d' in a form without result");
    if (part >= 0) add_code(f, "FORM_RESULT | %d", part);
    else add_code(f, "FORM_RESULT | FORM_ALL");
    return 1;
  }
  const char *class = **p ? strchr(classes, **p) : NULL;
  if (class && isdigit((unsigned char)(*p)[1])) {
    (*p)++;
    read_number(p, &k);
    add_code(f, "FORM_TEMP | %d << 4 | %d", (int)(class - classes), k);
    return 1;
  }
  const struct label *label = find_label(f, p);
  if (label) {
    for (k = 0; k < label->count; k++) add_argument(f, label->first + k, -1);
    return label->count;
  }
  gen_fault("'$%s' does not refer to an operand", *p);
  *p += strlen(*p);
  return 0;
}

/* The operands up to `close`; returns their number. */
static int read_operands(struct form *f, const char **p, char close) {
  int count = 0;
  while (**p && **p != close) {
    count += read_operand(f, p);
    skip_blanks(p);
    if (**p == ',') (*p)++;
    else if (**p != close) break;
    skip_blanks(p);
  }
  if (**p != close) gen_fault("missing '%c' in '%s'", close, f->row->ptx);
  else (*p)++;
  return count;
}

/* A group starts with its number of operands; a group of a label without arguments is empty. */
static int read_group(struct form *f, const char **p, char close, const char *kind) {
  size_t at = f->code.length;
  int count = read_operands(f, p, close);
  if (count > 0) insert_code(f, at, "%s | %d", kind, count);
  return count > 0;
}

/* [$0] [$label] [$0, {…}]; nothing for a label without arguments. */
static int read_address(struct form *f, const char **p) {
  const char *q = *p + 2;
  const struct label *label = (*p)[1] == '$' ? find_label(f, &q) : NULL;
  int k = label ? label->first : 0;
  if ((*p)[1] == '$' && (label || read_number(&q, &k)) && *q == ']') {
    *p = q + 1;
    if (label && label->count == 0) return 0;
    if (k >= f->shape->arguments) gen_fault("unknown argument %d", k);
    add_code(f, "FORM_ADDRESS | %d", k);
    return 1;
  }
  (*p)++;
  return read_group(f, p, ']', "FORM_TENSOR");
}

static int read_plain_operand(struct form *f, const char **p) {
  switch (**p) {
    case '$': (*p)++; return read_reference(f, p);
    case '{': (*p)++; return read_group(f, p, '}', "FORM_VECTOR");
    case '[': return read_address(f, p);
    case '!':
      (*p)++;
      add_code(f, "FORM_NOT");
      return read_operand(f, p);
    case '=':
      (*p)++;
      add_code(f, "FORM_REG");
      return read_operand(f, p);
    case '_':
      (*p)++;
      add_code(f, "FORM_SINK");
      return 1;
    case '%': {
      size_t n = strspn(*p + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
      add_code(f, "FORM_SPECIAL");
      add_code(f, "PTX_SPECIAL_%s", gen_name(*p + 1, n));
      *p += n + 1;
      return 1;
    }
    default: break;
  }
  char *end;
  long value = strtol(*p, &end, 0);
  if (end == *p || value < -32768 || value > 32767) {
    gen_fault("invalid operand '%s'", *p);
    *p += strlen(*p);
    return 0;
  }
  *p = end;
  add_code(f, "FORM_INT");
  add_code(f, "(uint16_t)%ld", value);
  return 1;
}

/* An operand, a pair `a|b`, or `?$6 a`, present only if constant argument 6 is not 0. */
static int read_operand(struct form *f, const char **p) {
  size_t at = f->code.length;
  int words = f->row->words, flag = -1;
  if (**p == '?' && (*p)[1] == '$') {
    *p += 2;
    flag = read_argument_name(f, p);
    skip_blanks(p);
  }
  int count = read_plain_operand(f, p);
  words = f->row->words - words;
  if (**p == '|') {
    (*p)++;
    insert_code(f, at, "FORM_PAIR | 2");
    read_plain_operand(f, p);
  }
  if (flag >= 0) insert_code(f, at, "FORM_IF | %d << 6 | %d", words, flag);
  return count;
}

/* .u? the result's unsigned type, .s?0 that of argument 0. */
static void add_type_modifier(struct form *f, const char *m, size_t length) {
  static const char kinds[] = "busf";
  const char *kind = strchr(kinds, m[0]);
  if (!kind || length > 3) gen_fault("'.%.*s' is not a modifier", (int)length, m);
  else if (length == 2)
    add_code(f, "FORM_MOD_TYPE | %d << 8 | FORM_TYPE_RESULT", (int)(kind - kinds));
  else add_code(f, "FORM_MOD_TYPE | %d << 8 | %c", (int)(kind - kinds), m[2]);
}

static void add_word_modifier(struct form *f, const char *m, size_t length) {
  bool nan = length == 3 && memcmp(m, "NaN", 3) == 0;
  add_code(f, "PTX_MOD_%s", nan ? "NAN_RESULT" : length ? gen_name(m, length) : "NONE");
}

/* `$3(a|!|)`, `$3:4(…)`: the word selected by one or two constant arguments. */
static void add_choice(struct form *f, const char *m) {
  size_t at = f->code.length;
  int first = read_argument_name(f, &m), second = 63, count = 0;
  if (*m == ':') {
    m += 1 + (m[1] == '$');
    second = read_argument_name(f, &m);
  }
  for (; *m == '(' || *m == '|'; count++) {
    size_t length = strcspn(++m, "|)");
    if (length == 1 && *m == '!') add_code(f, "FORM_MOD_NEVER");
    else add_word_modifier(f, m, length);
    m += length;
  }
  if (*m != ')' || count > 63) gen_fault("expected a choice '$argument(word|word…)'");
  insert_code(f, at, "%d", second);
  insert_code(f, at, "FORM_MOD_CHOICE | %d << 6 | %d", count, first);
}

/* `add.rn.f32`; a modifier `$0` is the state space of argument 0, `ftz?` is .ftz if denormals are
 * flushed. */
static void read_opcode(struct form *f, const char **p) {
  size_t n = strcspn(*p, " "), op = strcspn(*p, ". ");
  int count = 0;
  add_code(f, "PTX_%s", gen_name(*p, op));
  size_t at = f->code.length;
  for (const char *m = *p + op; m < *p + n; count++) {
    size_t length = strcspn(++m, ". ");
    if (memchr(m, '(', length)) add_choice(f, m + 1);
    else if (*m == '$') add_code(f, "FORM_MOD_SPACE | %.*s", (int)length - 1, m + 1);
    else if (length == 4 && memcmp(m, "ftz?", 4) == 0) add_code(f, "FORM_MOD_FTZ");
    else if (length > 1 && m[1] == '?') add_type_modifier(f, m, length);
    else add_word_modifier(f, m, length);
    m += length;
  }
  insert_code(f, at, "%d", count);
  *p += n;
}

/* One instruction of a form, NUL-terminated. */
static void read_instruction(struct form *f, const char *p) {
  const char *guard = *p == '@' ? p + 1 : NULL;
  int count = 0;
  if (guard) p += strcspn(p, " ");
  skip_blanks(&p);
  read_opcode(f, &p);
  skip_blanks(&p);
  size_t at = f->code.length;
  if (guard) read_operand(f, &guard);
  if (*p && strcmp(p, "-") != 0) {
    count = read_operands(f, &p, '\0'); /* stops at the end */
  } else if (!*p) {
    if (f->shape->has_result) add_code(f, "FORM_RESULT | FORM_ALL"), count++;
    for (int i = 0; i < f->shape->arguments; i++) add_argument(f, i, -1), count++;
  }
  insert_code(f, at, "%d%s", count, guard ? " | FORM_GUARDED" : "");
}

static void read_form(struct row *row, const struct shape *shape) {
  struct form f = {.row = row, .shape = shape};
  char *text = gen_copy(row->ptx, strlen(row->ptx)), *save = NULL;
  for (char *p = strtok_r(text, ";", &save); p; p = strtok_r(NULL, ";", &save))
    read_instruction(&f, gen_trim(p));
  gen_add(&f.code, "PTX_NONE,");
  row->words++;
  row->code = f.code.bytes;
}

/* `@handler`, `@handler(argument)` or, for each lane of all arguments but constants,
 * `@*handler(argument)`. */
static void read_handler(struct row *row, const struct shape *shape) {
  const char *argument = strchr(row->ptx, '('), *end = row->ptx + strlen(row->ptx);
  bool lanes = row->ptx[1] == '*';
  const char *name = row->ptx + 1 + lanes, *type = lanes ? "lane_lowering" : "intrinsic_function";
  char *function = gen_format("intrinsic_%s_%.*s", lanes ? "lane" : "lower",
                              (int)((argument ? argument : end) - name), name);
  if (argument && end[-1] != ')') gen_fault("missing ')' in '%s'", row->ptx);
  if (!argument && !lanes) type = "intrinsic_plain_function";
  row->prototype = gen_format("%s %s;\n", type, function);
  row->handler = gen_format(".%s = %s, .argument = %.*s, .arguments = %d",
                            lanes      ? "lane"
                            : argument ? "lower"
                                       : "plain",
                            function, argument ? (int)(end - argument) - 2 : 1,
                            argument ? argument + 1 : "0", shape->arguments - shape->constants);
}

/* ---- Rows ---- */

static char *read_effects(char *text) {
  struct gen_text flags = {0};
  char *save = NULL;
  for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
    int i = 0;
    while (i < EFFECT_COUNT && strcmp(effect_words[i], w) != 0) i++;
    if (i == EFFECT_COUNT) gen_fault("unknown effect '%s'", w);
    else gen_add(&flags, "%s%s", flags.length ? " | " : "", effect_flags[i]);
  }
  if (!flags.length) gen_fault("missing effects: pure, const, reads, writes …");
  return flags.bytes ? flags.bytes : gen_copy("0", 1);
}

static void add_row(const char *name, char *const columns[COLUMNS], const struct group *groups,
                    int group_count) {
  char *texts[COLUMNS];
  struct shape shape;
  for (int i = 0; i < COLUMNS; i++) {
    struct gen_text t = {0};
    gen_add_bytes(&t, "", 0);
    add_substituted(&t, i == 0 ? name : columns[i], groups, group_count);
    texts[i] = gen_trim(t.bytes);
  }
  if (gen_table.faults > 0) return;
  name = texts[0];
  if (g.row_count == g.row_capacity) {
    g.row_capacity = g.row_capacity ? g.row_capacity * 2 : 1024;
    g.rows = gen_allocated(realloc(g.rows, (size_t)g.row_capacity * sizeof *g.rows));
  }
  struct row *row = &g.rows[g.row_count++];
  *row = (struct row){
      .name = texts[0], .signature = texts[1], .ptx = texts[3], .line = gen_table.line};
  if (strncmp(name, "llvm.", 5) != 0 || strspn(name,
                                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                                               "STUVWXYZ0123456789._") != strlen(name))
    gen_fault("'%s' is not the name of an intrinsic", name);
  row->flags = read_effects(texts[2]);
  row->need = gen_find_need(texts[4]);
  row->needs = row->need ? gen_table.needs[row->need].text : "";
  if (!read_signature(row->signature, &shape)) return;
  row->signature = plain_signature(row->signature);
  row->overloads = shape.variable_count;
  bool handled = row->ptx[0] == '@' && (row->ptx[1] == '*' || isalpha((unsigned char)row->ptx[1]));
  if (handled) read_handler(row, &shape);
  else if (*row->ptx == '\0') gen_fault("'%s' has no PTX form, handler or error message", name);
  else if (*row->ptx != '!') read_form(row, &shape);
}

/* A whole row, continuation lines joined. */
static void read_row(char *text) {
  char *columns[COLUMNS], *p = text;
  struct group groups[MAX_GROUPS];
  struct gen_text none = {0};
  for (int i = 0; i < COLUMNS; i++) {
    char *bar = p ? strchr(p, '|') : NULL;
    if (i == 3 && p) { /* a form may hold a|b: the last bar with blanks around it ends it */
      bar = strstr(p, " | ");
    }
    if (i == COLUMNS - 1) bar = NULL; /* the rest: sm_100a|sm_120a ptx86 */
    columns[i] = p ? p : "";
    if (bar) *bar = '\0';
    p = bar ? bar + (i == 3 ? 3 : 1) : NULL;
    if (*columns[i]) columns[i] = gen_trim(columns[i]);
    if (!*columns[i] && i < 4) {
      gen_fault("expected NAME | SIGNATURE | EFFECTS | PTX | NEEDS");
      return;
    }
  }
  expand(&none, columns[0], columns, groups, 0);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Sorts the rows and reports duplicate names, also as identifiers. */
static void sort_rows(void) {
  qsort(g.rows, (size_t)g.row_count, sizeof *g.rows, by_name);
  for (int i = 1; i < g.row_count; i++) {
    gen_table.line = g.rows[i].line;
    if (strcmp(g.rows[i].name, g.rows[i - 1].name) == 0)
      gen_fault("duplicate '%s', first in line %d", g.rows[i].name, g.rows[i - 1].line);
  }
}

/* ---- Writing ---- */

/* `llvm.nvvm.shfl.sync` → INTRINSIC_nvvm_shfl_sync. */
static void add_id(struct gen_text *t, const char *name) {
  gen_add(t, "INTRINSIC_");
  for (name += 5; *name; name++) gen_add(t, "%c", isalnum((unsigned char)*name) ? *name : '_');
}

static void add_string(struct gen_text *t, const char *s) {
  gen_add(t, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') gen_add(t, "\\");
    gen_add_bytes(t, s, 1);
  }
  gen_add(t, "\"");
}

static void write_header(FILE *out) {
  struct gen_text t = {0};
  gen_add(&t,
          "/* Made by gen_intrinsics from ir/intrinsics.def. */\n#ifndef NVM_INTRINSICS_H\n"
          "#define NVM_INTRINSICS_H\n\nenum intrinsic_id {\n  INTRINSIC_NONE,\n");
  for (int i = 0; i < g.row_count; i++) {
    gen_add(&t, "  ");
    add_id(&t, g.rows[i].name);
    gen_add(&t, ",\n");
  }
  gen_add(&t, "  INTRINSIC_COUNT\n};\n\n#endif\n");
  fputs(t.bytes, out);
}

static void write_rows(struct gen_text *t) {
  gen_add(t, "#ifdef INTRINSIC_ROWS\n");
  for (int i = 0; i < g.row_count; i++) {
    const struct row *r = &g.rows[i];
    gen_add(t, "{\"%s\", \"%s\", ", r->name, r->signature);
    add_string(t, r->ptx);
    gen_add(t, ", %s, %d, \"%s\"},\n", r->flags, r->overloads, r->needs);
  }
  gen_add(t, "#endif\n");
}

static void write_forms(struct gen_text *t) {
  int at = 1;
  gen_add(t, "#ifdef INTRINSIC_WORDS\nPTX_NONE,\n");
  for (int i = 0; i < g.row_count; i++) {
    if (!g.rows[i].code) continue;
    gen_add(t, "/* %s */ ", g.rows[i].name);
    gen_add_bytes(t, g.rows[i].code, strlen(g.rows[i].code));
    gen_add(t, "\n");
  }
  gen_add(t, "#endif\n#ifdef INTRINSIC_HANDLERS\n");
  for (int i = 0; i < g.row_count; i++)
    if (g.rows[i].handler) gen_add(t, "%s", g.rows[i].prototype);
  gen_add(t, "#endif\n#ifdef INTRINSIC_FORMS\n");
  for (int i = 0; i < g.row_count; i++)
    gen_add(t, "{.need = %d, %s},\n", g.rows[i].need, g.rows[i].handler ? g.rows[i].handler : "");
  gen_add(t, "#endif\n#ifdef INTRINSIC_OFFSETS\n");
  for (int i = 0; i < g.row_count; at += g.rows[i++].words)
    gen_add(t, "%d,\n", g.rows[i].code ? at : 0);
  gen_add(t, "#endif\n#ifdef INTRINSIC_NEEDS\n");
  for (int i = 0; i < gen_table.need_count; i++)
    gen_add(t, "%s,\n", gen_requirement(&gen_table.needs[i].value));
  gen_add(t, "#endif\n");
}

static void write_tables(FILE *out) {
  struct gen_text t = {0};
  gen_add(&t, "/* Made by gen_intrinsics from ir/intrinsics.def. */\n");
  write_rows(&t);
  write_forms(&t);
  fputs(t.bytes, out);
}

int main(int argc, char **argv) {
  return gen_main(
      argc, argv,
      &(struct generator){true,
                          read_row,
                          sort_rows,
                          {{"intrinsics.h", write_header}, {"intrinsics.inc", write_tables}}});
}
