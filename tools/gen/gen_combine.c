/* gen_combine: compiles combine.rules, the peephole rules: one decision tree per op, one program
 * per rule. Run at build: gen_combine TABLE OUTDIR.
 *
 * Problem:  some hundreds of patterns must be tried at every instruction, cheaply.
 * Solution: every pattern is a list of tests in the order of a walk over it: "operand 0 is an add",
 *           "operand 1 of that is a constant". Patterns that begin with the same tests share them:
 *           the lists form a trie, whose leaves name the program that makes the rest of the checks
 *           and builds the result. Patterns that look into an earlier operand are tried first, so
 *           that `(x / 32) / 4` is no division by a power of two; patterns with the same tests in
 *           the order of the file. Types are inferred by unification, as in any typed expression
 *           language: a constraint of the result that the pattern does not imply becomes a check of
 *           the program.
 * The language is described at the head of combine.rules, what is written in combine_program.h. The
 * first fault ends the run. */
#include "opt/scalar/combine_program.h"
#include "tools/gen/gen_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Syntax of rules ---- */

enum kind {
  KIND_NONE,     /* not allowed in rules */
  KIND_INT,      /* T, T, ... -> T, integers */
  KIND_INT_IMM,  /* T, i1 constant -> T */
  KIND_FLOAT,    /* T, T, ... -> T, floats */
  KIND_ANY,      /* T -> T */
  KIND_COMPARE,  /* predicate, T, T -> bool */
  KIND_SELECT,   /* bool, T, T -> T */
  KIND_CAST,     /* A -> B */
  KIND_FUNCTION, /* of constants only: T, T, ... -> T; the following kinds are conditions */
  KIND_NUMBERS,  /* of numbers */
  KIND_FITS,     /* of a number and another type */
  KIND_VALUE,    /* of values */
  KIND_TYPE,     /* of a value's type */
};

struct shape {
  const char *keyword, *name; /* in rules; in C */
  const char *computes;       /* C function that computes it for constants; NULL: none */
  enum kind kind;
  int arity;
  bool commutes;
};

#define KIND_OF(op, form, flags)                                                 \
  ((form) == FORM_BINARY   ? (flags)&OPF_INT ? KIND_INT : KIND_FLOAT             \
   : (form) == FORM_UNARY  ? (int)(op) == (int)OP_FREEZE ? KIND_ANY : KIND_FLOAT \
   : (form) == FORM_CAST   ? KIND_CAST                                           \
   : (form) == FORM_CMP    ? KIND_COMPARE                                        \
   : (form) == FORM_SELECT ? KIND_SELECT                                         \
                           : KIND_NONE)
#define ARITY_OF(form) \
  ((form) == FORM_UNARY || (form) == FORM_CAST ? 1 : (form) == FORM_SELECT ? 3 : 2)
#define IS_INTEGER(op, form, flags) \
  ((form) == FORM_CAST ? (int)(op) <= (int)OP_SEXT : (form) == FORM_BINARY && (flags)&OPF_INT)

/* Ops by number, intrinsics in the order of their classes, functions. */
static const struct shape shapes[] = {
#define OP(ENUM, keyword, form, flags, meaning)       \
  {keyword,                                           \
   #ENUM,                                             \
   IS_INTEGER(OP_##ENUM, form, flags) ? "OP_" : NULL, \
   KIND_OF(OP_##ENUM, form, flags),                   \
   ARITY_OF(form),                                    \
   ((flags)&OPF_COMMUTES) != 0},
#include "ir/ops.def"
#undef OP
#define NUMBERS(name, arity, commutes) \
  { #name, #name, "FUNCTION_", KIND_INT, arity, commutes }
    NUMBERS(smin, 2, true),
    NUMBERS(smax, 2, true),
    NUMBERS(umin, 2, true),
    NUMBERS(umax, 2, true),
    NUMBERS(ctpop, 1, false),
    NUMBERS(bswap, 1, false),
    NUMBERS(bitreverse, 1, false),
#define INTEGER(name, kind, arity, commutes) \
  { #name, #name, NULL, kind, arity, commutes }
    INTEGER(fshl, KIND_INT, 3, false),
    INTEGER(fshr, KIND_INT, 3, false),
    INTEGER(uadd_sat, KIND_INT, 2, true),
    INTEGER(usub_sat, KIND_INT, 2, false),
    INTEGER(sadd_sat, KIND_INT, 2, true),
    INTEGER(ssub_sat, KIND_INT, 2, false),
    INTEGER(abs, KIND_INT_IMM, 2, false),
    INTEGER(ctlz, KIND_INT_IMM, 2, false),
    INTEGER(cttz, KIND_INT_IMM, 2, false),
#define FLOATING(name, arity, commutes) \
  { #name, #name, NULL, KIND_FLOAT, arity, commutes }
    FLOATING(fabs, 1, false),
    FLOATING(fma, 3, true),
    FLOATING(fmuladd, 3, true),
    FLOATING(sqrt, 1, false),
    FLOATING(copysign, 2, false),
    FLOATING(minnum, 2, true),
    FLOATING(maxnum, 2, true),
    FLOATING(minimum, 2, true),
    FLOATING(maximum, 2, true),
    FLOATING(floor, 1, false),
    FLOATING(ceil, 1, false),
    {"ftrunc", "trunc", NULL, KIND_FLOAT, 1, false},
    FLOATING(rint, 1, false),
    FLOATING(nearbyint, 1, false),
    FLOATING(roundeven, 1, false),
    FLOATING(round, 1, false),
    FLOATING(canonicalize, 1, false),
    FLOATING(cos, 1, false),
    FLOATING(sin, 1, false),
    FLOATING(pow, 2, false),
    FLOATING(exp2, 1, false),
#define FUNCTION(name, kind, arity) \
  { #name, #name, "FUNCTION_", kind, arity, false }
    FUNCTION(log2, KIND_FUNCTION, 1),
    FUNCTION(not, KIND_FUNCTION, 1),
    FUNCTION(neg, KIND_FUNCTION, 1),
    FUNCTION(lowmask, KIND_FUNCTION, 1),
    FUNCTION(lowzeros, KIND_FUNCTION, 1),
    FUNCTION(pow2, KIND_NUMBERS, 1),
    FUNCTION(fitsu, KIND_FITS, 2),
    FUNCTION(fitss, KIND_FITS, 2),
#define PREDICATE(keyword, name) \
  { keyword, name, "RULE_COMPARE + ICMP_", KIND_NUMBERS, 2, false }
    PREDICATE("eq", "EQ"),
    PREDICATE("ne", "NE"),
    PREDICATE("ugt", "UGT"),
    PREDICATE("uge", "UGE"),
    PREDICATE("ult", "ULT"),
    PREDICATE("ule", "ULE"),
    PREDICATE("sgt", "SGT"),
    PREDICATE("sge", "SGE"),
    PREDICATE("slt", "SLT"),
    PREDICATE("sle", "SLE"),
    {"zero", "ZERO", NULL, KIND_VALUE, 2, false},
    {"nonneg", "NONNEG", NULL, KIND_VALUE, 1, false},
    {"nonzero", "NONZERO", NULL, KIND_VALUE, 1, false},
    {"onebit", "ONE_BIT", NULL, KIND_VALUE, 1, false},
    {"defined", "DEFINED", NULL, KIND_VALUE, 1, false},
    {"follows", "FOLLOWS", NULL, KIND_VALUE, 2, false},
    {"disjoint", "DISJOINT", NULL, KIND_VALUE, 2, false},
    {"bool", "BOOL", NULL, KIND_TYPE, 1, false},
    {"wide", "WIDE", NULL, KIND_TYPE, 1, false},
};
static const struct shape *const intrinsics = shapes + OP_COUNT; /* up to the first function */

static bool is_op(const struct shape *s) { return s < intrinsics; }
static bool is_int_cast(const struct shape *s) { return s->kind == KIND_CAST && s->computes; }
static bool is_fast(const struct shape *s) {
  return s->kind == KIND_FLOAT || s == &shapes[OP_FCMP] || s == &shapes[OP_FPTRUNC] ||
         s == &shapes[OP_FPEXT];
}
static int class_of(const struct shape *s) {
  return is_op(s) ? (int)(s - shapes) : CLASS_CALL + 1 + (int)(s - intrinsics);
}

static const struct shape *find_shape(const char *keyword) {
  const struct shape *s = shapes, *end = shapes + sizeof shapes / sizeof *shapes;
  while (s < end && strcmp(s->keyword, keyword) != 0) s++;
  if (s == end) gen_fail("unknown op '%s'", keyword);
  if (s->kind == KIND_NONE) gen_fail("'%s' is not allowed in a rule", keyword);
  return s;
}

enum { FLAG_COUNT = 12 };
static const char *const flag_names[FLAG_COUNT] = {"nuw",  "nsw",      "exact", "disjoint",
                                                   "nneg", "nnan",     "ninf",  "nsz",
                                                   "arcp", "contract", "afn",   "reassoc"};

/* ---- Reading ---- */

enum node_kind { NODE_OP, NODE_VALUE, NODE_INT, NODE_LITERAL, NODE_FLOAT };

struct node {
  enum node_kind kind;
  const char *name; /* of the variable; NODE_OP: bound name or ""; literals: their text */
  const struct shape *shape;
  struct node *args[3];
  int arity;
  /* Of a comparison: name or variable; "" or "inv", "swap", "u", "s"; "" or "eqne", "rel", … */
  const char *predicate, *modifier, *class;
  unsigned flags, optional_flags; /* bits by flag_names */
  bool one_use;
  int type;
  int number;    /* of the register, in patterns */
  int commuting; /* the bit of variant.ways that swaps operands; -1: none */
};

enum { MAX_CONDITIONS = 8 };

struct rule {
  const char *name;
  int line, program;                       /* program: its start */
  struct node *nodes[RULE_MOST_REGISTERS]; /* of the pattern, by register, 0 is the root */
  struct node *conditions[MAX_CONDITIONS], *result;
  int node_count, commuting_count, condition_count;
  /* Cheap checks stored in leaves of trees: the allowed predicates or types of the root; the first
   * two registers that must hold the same value, 0: none. */
  const char *roots;
  int same[2];
};

static const char *at; /* the rest of the rule */

static bool take(const char *text) {
  at += strspn(at, " ");
  size_t n = strlen(text);
  if (strncmp(at, text, n) != 0) return false;
  at += n;
  return true;
}

static char *read_word(void) {
  take("");
  size_t n = strcspn(at, " ()=");
  if (n == 0) gen_fail("expected a name or number at '%s'", at);
  at += n;
  return gen_copy(at - n, n);
}

static struct node *new_node(enum node_kind kind, const char *name) {
  struct node *n = gen_allocated(calloc(1, sizeof *n));
  n->kind = kind;
  n->name = name;
  n->commuting = -1;
  return n;
}

/* `.nsw.nuw?` */
static void read_flags(struct node *n, char *text) {
  char *save = NULL;
  for (char *flag = strtok_r(text, ".", &save); flag; flag = strtok_r(NULL, ".", &save)) {
    size_t length = strcspn(flag, "?");
    unsigned *flags = flag[length] ? &n->optional_flags : &n->flags;
    int k = 0;
    flag[length] = '\0';
    while (k < FLAG_COUNT && strcmp(flag_names[k], flag) != 0) k++;
    if (k == FLAG_COUNT) gen_fail("unknown flag '%s'", flag);
    *flags |= 1u << k;
  }
}

/* `P`, `inv.P`, `P:eqne`, `slt` */
static void read_predicate(struct node *n) {
  char *text = read_word(), *dot = strchr(text, '.'), *colon = strchr(text, ':');
  n->modifier = dot ? gen_copy(text, (size_t)(dot - text)) : "";
  n->class = colon ? colon + 1 : "";
  n->predicate = dot ? dot + 1 : text;
  if (colon) *colon = '\0';
}

static struct node *read_node(void);

/* After its opening parenthesis. */
static struct node *read_op(void) {
  struct node *n = new_node(NODE_OP, "");
  char *keyword = read_word(), *flags = keyword + strcspn(keyword, ".");
  read_flags(n, flags);
  *flags = '\0';
  n->shape = find_shape(keyword);
  n->arity = n->shape->arity;
  if (n->shape->kind == KIND_COMPARE) read_predicate(n);
  for (int k = 0; k < n->arity; k++) n->args[k] = read_node();
  if (!take(")")) gen_fail("expected ')' after the operands of '%s' at '%s'", keyword, at);
  return n;
}

static bool is_one_of(const char *word, const char *const *words) {
  while (*words && strcmp(word, *words) != 0) words++;
  return *words != NULL;
}

static struct node *read_leaf(void) {
  static const char *const floats[] = {"nan", "inf", NULL};
  static const char *const literals[] = {"true", "false", "MIN", "MAX", "WIDTH", NULL};
  const char *w = read_word();
  if (strchr(w, '.') || is_one_of(w, floats)) return new_node(NODE_FLOAT, w);
  if (*w == '-' || isdigit((unsigned char)*w) || is_one_of(w, literals))
    return new_node(NODE_LITERAL, w);
  return new_node(isupper((unsigned char)*w) ? NODE_INT : NODE_VALUE, w);
}

static struct node *read_node(void) {
  bool one_use = take("@");
  take("");
  size_t length = strcspn(at, " ()=");
  const char *name = length > 0 && at[length] == '=' ? gen_copy(at, length) : NULL;
  if (name) at += length + 1;
  struct node *n = take("(") ? read_op() : read_leaf();
  if (one_use && n->kind != NODE_OP) gen_fail("'@' must precede an instruction");
  n->one_use = one_use;
  if (name) n->name = name;
  return n;
}

static bool is_constant(const struct node *n) { return n->kind >= NODE_INT; }

static bool commutes(const struct node *n) {
  if (n->arity < 2 || is_constant(n->args[0]) || is_constant(n->args[1])) return false;
  if (n->shape != &shapes[OP_ICMP]) return n->shape->commutes;
  static const char *const equalities[] = {"eq", "ne", NULL};
  return is_one_of(n->predicate, equalities) || strcmp(n->class, "eqne") == 0;
}

/* Assigns registers to the nodes of the pattern, in text order. */
static void number_nodes(struct rule *r, struct node *n) {
  if (commutes(n)) n->commuting = r->commuting_count++;
  if (r->node_count == RULE_MOST_REGISTERS || r->commuting_count > 4) gen_fail("pattern too large");
  n->number = r->node_count;
  r->nodes[r->node_count++] = n;
  for (int k = 0; k < n->arity; k++) number_nodes(r, n->args[k]);
}

static struct rule *read_rule(const char *text) {
  struct rule *r = gen_allocated(calloc(1, sizeof *r));
  const char *colon = strstr(text, ": ");
  if (!colon) gen_fail("expected 'name: pattern -> result'");
  r->name = gen_copy(text, (size_t)(colon - text));
  r->line = gen_table.line;
  at = colon + 2;
  struct node *pattern = read_node();
  if (pattern->kind != NODE_OP) gen_fail("the pattern must be an instruction");
  number_nodes(r, pattern);
  if (take("if "))
    while (take("(")) {
      if (r->condition_count == MAX_CONDITIONS) gen_fail("too many conditions");
      r->conditions[r->condition_count++] = read_op();
    }
  if (!take("->")) gen_fail("expected '->' at '%s'", at);
  r->result = read_node();
  take("");
  if (*at) gen_fail("unexpected '%s' after the rule", at);
  return r;
}

/* ---- Types: unification ---- */

enum { MAX_TYPES = 128 };
enum fact { FACT_INT, FACT_FLOAT, FACT_BOOL, FACT_COUNT };

struct type { /* facts are stored at the root */
  int parent;
  int same_lanes; /* the operand type of the comparison that produces this type; -1: none */
  int witness;    /* a register of the type; -1: none */
  bool is[FACT_COUNT];
};

static struct rule *rule; /* the rule being compiled */
static struct type types[MAX_TYPES];
static int type_count;

static int new_type(void) {
  if (type_count == MAX_TYPES) gen_fail("too many types in a rule");
  types[type_count] = (struct type){.parent = type_count, .same_lanes = -1, .witness = -1};
  return type_count++;
}

static int find_type(const struct type *t, int a) {
  while (t[a].parent != a) a = t[a].parent;
  return a;
}

static struct type *type_of(const struct node *n) { return &types[find_type(types, n->type)]; }

static void unify(const struct node *m, const struct node *n) {
  struct type *a = type_of(m), *b = type_of(n);
  if (a == b) return;
  struct type *root = a < b ? a : b, *other = a < b ? b : a;
  other->parent = root->parent;
  for (int k = 0; k < FACT_COUNT; k++) root->is[k] |= other->is[k];
  if (root->same_lanes < 0) root->same_lanes = other->same_lanes;
  if (root->witness < 0) root->witness = other->witness;
}

/* The first occurrence of a variable in the pattern; NULL: none. */
static const struct node *find_variable(const char *name) {
  for (int k = 0; k < rule->node_count && *name; k++)
    if (!strcmp(rule->nodes[k]->name, name)) return rule->nodes[k];
  return NULL;
}

static void infer_op(struct node *n) {
  const struct shape *s = n->shape;
  struct node *first = n->args[0];
  switch (s->kind) {
    case KIND_INT:
    case KIND_FLOAT:
    case KIND_ANY:
    case KIND_FUNCTION:
    case KIND_NUMBERS:
    case KIND_VALUE:
    case KIND_TYPE:
      for (int k = 0; k < n->arity; k++) unify(n, n->args[k]);
      if (s->kind != KIND_ANY && s->kind != KIND_VALUE)
        type_of(n)->is[s->kind == KIND_FLOAT ? FACT_FLOAT : FACT_INT] = true;
      return;
    case KIND_INT_IMM:
      unify(n, first);
      type_of(n)->is[FACT_INT] = type_of(n->args[1])->is[FACT_BOOL] = true;
      return;
    case KIND_COMPARE:
      unify(first, n->args[1]);
      if (s == &shapes[OP_FCMP]) type_of(first)->is[FACT_FLOAT] = true;
      type_of(n)->is[FACT_BOOL] = type_of(n)->is[FACT_INT] = true;
      if (type_of(n)->same_lanes < 0) type_of(n)->same_lanes = first->type;
      return;
    case KIND_SELECT:
      type_of(first)->is[FACT_BOOL] = type_of(first)->is[FACT_INT] = true;
      unify(n, n->args[1]);
      unify(n, n->args[2]);
      return;
    case KIND_CAST:
      if (is_int_cast(s)) type_of(n)->is[FACT_INT] = type_of(first)->is[FACT_INT] = true;
      return;
    case KIND_FITS:
    case KIND_NONE: return;
  }
}

static bool is_bool_literal(const struct node *n) {
  return n->kind == NODE_LITERAL && (*n->name == 't' || *n->name == 'f');
}

/* Whether the name denotes a value; operands with the same name then have the same type. Constants
 * are compared as numbers. */
static bool names_value(const struct node *n) { return *n->name && !is_constant(n); }

static void unify_by_name(struct node *n) {
  const struct node *first = find_variable(n->name);
  if (!first) gen_fail("'%s' does not occur in the pattern", n->name);
  unify(first, n);
}

/* Infers the types in n from the ops and from equal values. */
static void infer(struct node *n) {
  n->type = new_type();
  for (int k = 0; k < n->arity; k++) infer(n->args[k]);
  if (n->kind == NODE_OP) infer_op(n);
  if (n->kind == NODE_LITERAL || n->kind == NODE_INT) type_of(n)->is[FACT_INT] = true;
  if (is_bool_literal(n)) type_of(n)->is[FACT_BOOL] = true;
  if (n->kind == NODE_FLOAT) type_of(n)->is[FACT_FLOAT] = true;
  if (names_value(n)) unify_by_name(n);
}

/* The same for types that the matcher must check: operands with the same name have the same
 * type. */
static void infer_demands(struct node *n) {
  for (int k = 0; k < n->arity; k++) infer_demands(n->args[k]);
  if (n->kind == NODE_INT) unify_by_name(n);
}

/* ---- Words ---- */

enum { MAX_WORDS = 65536, MAX_FLOATS = 256 };
static const char *words[MAX_WORDS], *floats[MAX_FLOATS]; /* C text of each */
static int word_count, float_count;

/* Appends words separated by ", "; splits the text. */
static void put_text(char *text) {
  for (char *end = text; end; text = end + 2) {
    end = strstr(text, ", ");
    if (end) *end = '\0';
    if (word_count == MAX_WORDS) gen_fail("too many rules");
    words[word_count++] = text;
  }
}

/* The same, formatted like printf. */
static void put(const char *format, ...) {
  char buffer[512];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  if (length >= (int)sizeof buffer) gen_fail("too long");
  put_text(gen_copy(buffer, (size_t)length));
}

/* The number in a format narrower than double, which holds it exactly. */
static unsigned long long float_bits(const char *text, int exponent_bits, int fraction_bits) {
  double value = strtod(text, NULL);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int spare = 52 - fraction_bits, exponent = (int)(bits >> 52 & 0x7ff),
      most = (1 << exponent_bits) - 1;
  uint64_t fraction = bits << 12 >> 12;
  if (exponent == 0x7ff) exponent = most;
  else if (bits << 1) {
    exponent += most / 2 - 1023;
    if (exponent <= 0 || exponent >= most || fraction << (64 - spare))
      gen_fail("'%s' is not exact in all formats", text);
  }
  return bits >> 63 << (exponent_bits + fraction_bits) | (uint64_t)exponent << fraction_bits |
         fraction >> spare;
}

static int put_float(const char *text) {
  double value = strtod(text, NULL);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const char *row =
      gen_format("{0x%llx, 0x%llx, 0x%llx, 0x%llx}", float_bits(text, 5, 10),
                 float_bits(text, 8, 7), float_bits(text, 8, 23), (unsigned long long)bits);
  for (int k = 0; k < float_count; k++)
    if (strcmp(floats[k], row) == 0) return k;
  if (float_count == MAX_FLOATS) gen_fail("too many floats");
  floats[float_count] = row;
  return float_count++;
}

static const char *upper(const char *word) { return gen_name(word, strlen(word)); }

static const char *type_text(const struct type *t) {
  if (t->witness >= 0) return gen_format("%d", t->witness);
  if (t->same_lanes >= 0)
    return gen_format("%s | RULE_BOOL_LIKE", type_text(&types[find_type(types, t->same_lanes)]));
  if (!t->is[FACT_BOOL]) gen_fail("the type of a part of the result is undetermined");
  return "RULE_TYPE_BOOL"; /* the immediate of abs, ctlz, cttz */
}

static const char *flags_text(unsigned flags) {
  struct gen_text t = {0};
  for (int k = 0; k < FLAG_COUNT; k++)
    if (flags >> k & 1) gen_add(&t, "%sINST_%s", t.length ? " | " : "", upper(flag_names[k]));
  return t.bytes;
}

/* ---- Programs: numbers ---- */

static bool all_constant(const struct node *n) {
  for (int k = 0; k < n->arity; k++)
    if (!all_constant(n->args[k])) return false;
  return n->kind == NODE_OP ? !n->predicate : n->kind == NODE_INT || n->kind == NODE_LITERAL;
}

static int literal_value(const char *name) {
  long value = *name == 't' || *name == 'f' ? *name == 't' : strtol(name, NULL, 10);
  if (value < INT16_MIN || value > INT16_MAX) gen_fail("'%s' has more than 16 bits", name);
  return (int)value & 0xffff;
}

static void put_function(const struct node *n);

/* Writes a constant expression for the stack of numbers. */
static void put_number(const struct node *n) {
  if (n->kind == NODE_INT) put("RULE_NUMBER, %d", find_variable(n->name)->number);
  else if (n->kind == NODE_OP) put_function(n);
  else if (n->kind != NODE_LITERAL) gen_fail("'%s' is not an integer constant", n->name);
  else {
    const char *type = type_text(type_of(n));
    bool known = !isupper((unsigned char)*n->name);
    put("RULE_LITERAL, %d, %s", known ? literal_value(n->name) : 0, type);
    if (!known) put("RULE_UNARY, FUNCTION_%s, %s, %s", n->name, type, type);
  }
}

static void put_function(const struct node *n) {
  const struct shape *s = n->shape;
  bool fits = s->kind == KIND_FITS;
  int operands = fits ? 1 : n->arity;
  if (n->arity > 2 || !s->computes) gen_fail("'%s' cannot be computed for constants", s->keyword);
  const struct node *from = n->args[0], *to = fits ? n->args[1] : s->kind == KIND_CAST ? n : from;
  for (int k = 0; k < operands; k++) put_number(n->args[k]);
  put("RULE_%s, %s%s, %s, %s", operands == 2 ? "BINARY" : "UNARY", s->computes, s->name,
      type_text(type_of(from)), type_text(type_of(to)));
}

/* ---- Programs: checks ---- */

static bool has_variable(const struct node *n) { return isupper((unsigned char)*n->predicate); }

/* The predicates that the comparison allows by itself; NULL: all. */
static const char *predicate_mask(const struct node *n) {
  if (!n->predicate) return NULL;
  if (!has_variable(n)) return gen_format("1 << %s_%s", n->shape->name, upper(n->predicate));
  return *n->class ? gen_format("RULE_%s", upper(n->class)) : NULL;
}

/* The comparison that binds a predicate variable: the first one without a modifier. */
static const struct node *find_binding(const char *name) {
  for (int k = 0; k < rule->node_count; k++) {
    const struct node *n = rule->nodes[k];
    if (n->predicate && !*n->modifier && strcmp(n->predicate, name) == 0) return n;
  }
  return NULL;
}

static void put_predicate(const struct node *n) {
  const struct node *binding = n->predicate ? find_binding(n->predicate) : NULL;
  if (!n->predicate) put("PREDICATE_LITERAL, 0");
  else if (!has_variable(n)) put("PREDICATE_LITERAL, %s_%s", n->shape->name, upper(n->predicate));
  else if (!binding) gen_fail("predicate '%s' does not occur in the pattern", n->predicate);
  else put("PREDICATE_%s, %d", *n->modifier ? upper(n->modifier) : "PLAIN", binding->number);
}

static void check_predicate(const struct node *n) {
  const char *mask = predicate_mask(n);
  if (n->number > 0 && mask) put("RULE_PREDICATE_IN, %d, %s", n->number, mask);
  if (!has_variable(n) || find_binding(n->predicate) == n) return;
  put("RULE_PREDICATE_IS, %d", n->number);
  put_predicate(n);
}

static void check_number(const struct node *n) {
  if (is_bool_literal(n)) put("RULE_TYPE_IS, %d, TYPE_IS_BOOL", n->number);
  if (n->kind == NODE_LITERAL && !isupper((unsigned char)*n->name)) {
    put("RULE_NUMBER_IS, %d, %d", n->number, literal_value(n->name));
    return;
  }
  put("RULE_NUMBER, %d", n->number);
  put_number(n);
  put("RULE_BINARY, RULE_COMPARE + ICMP_EQ, %d, %d, RULE_REQUIRE", n->number, n->number);
}

/* Writes the checks of a part of the pattern that its class does not imply. */
static void check_node(const struct node *n) {
  const struct node *first = find_variable(n->name);
  switch (n->kind) {
    case NODE_VALUE:
      if (first == n) return;
      if (rule->same[0]) put("RULE_SAME, %d, %d", n->number, first->number);
      else rule->same[0] = n->number, rule->same[1] = first->number;
      return;
    case NODE_INT:
      if (first != n) check_number(n);
      return;
    case NODE_LITERAL: check_number(n); return;
    case NODE_FLOAT: put("RULE_FLOAT_IS, %d, %d", n->number, put_float(n->name)); return;
    case NODE_OP: break;
  }
  if (n->predicate) check_predicate(n);
  if (n->flags && n->number > 0) put("RULE_HAS_FLAGS, %d, %s", n->number, flags_text(n->flags));
  if (n->one_use) put("RULE_ONE_USE, %d", n->number);
}

static void check_value(const struct node *n) {
  const struct node *variables[2] = {NULL, NULL};
  bool is_pair = n->shape == find_shape("disjoint") || n->shape == find_shape("follows");
  int count = is_pair ? 2 : 1;
  for (int k = 0; k < count; k++) {
    variables[k] = is_constant(n->args[k]) ? NULL : find_variable(n->args[k]->name);
    if (!variables[k]) gen_fail("the operands of '%s' must be variables", n->shape->keyword);
  }
  if (n->arity > count) put_number(n->args[1]);
  put("RULE_%s, %d", n->shape->name, variables[0]->number);
  if (variables[1]) put("%d", variables[1]->number);
}

static void check_condition(const struct node *n) {
  if (n->shape->kind <= KIND_FUNCTION) gen_fail("'%s' is not a condition", n->shape->keyword);
  if (n->shape->kind == KIND_VALUE) {
    check_value(n);
  } else if (n->shape->kind == KIND_TYPE && rule->nodes[0]->shape->kind == KIND_INT &&
             type_of(n->args[0]) == type_of(rule->nodes[0])) {
    rule->roots = gen_format("RULE_%s_ROOT", n->shape->name);
  } else if (n->shape->kind == KIND_TYPE) {
    put("RULE_TYPE_IS, %s, TYPE_IS_%s", type_text(type_of(n->args[0])), n->shape->name);
  } else {
    put_function(n);
    put("RULE_REQUIRE");
  }
}

/* Writes checks for types that the result, the conditions or constant names require to be equal
 * although the pattern alone (`before`) does not imply it. */
static void check_types(const struct type *before, int count) {
  static const char *const names[FACT_COUNT] = {"INT", "FLOAT", "BOOL"};
  for (int a = 0; a < count; a++) {
    int now = find_type(types, a), same = 0;
    if (before[a].parent != a || before[a].witness < 0) continue;
    while (same < a && (before[same].parent != same || before[same].witness < 0 ||
                        find_type(types, same) != now))
      same++;
    if (same < a) put("RULE_SAME_TYPE, %d, %d", before[a].witness, before[same].witness);
    for (int k = 0; k < FACT_COUNT; k++)
      if (types[now].is[k] && !before[a].is[k])
        put("RULE_TYPE_IS, %d, TYPE_IS_%s", before[a].witness, names[k]);
  }
}

/* Whether a constant of the pattern has that type: constants of more than 64 bits are of another
 * class. */
static bool has_constant(const struct type *t) {
  for (int k = 0; k < rule->node_count; k++)
    if ((rule->nodes[k]->kind == NODE_INT || rule->nodes[k]->kind == NODE_LITERAL) &&
        type_of(rule->nodes[k]) == t)
      return true;
  return false;
}

/* Checks casts of the result: to a wider or narrower type with the same number of lanes. Numbers
 * have 64 bits here: only 0 and 1 can be made for wider types. */
static void check_result(const struct node *n) {
  if (all_constant(n)) {
    bool fits = type_of(n)->is[FACT_BOOL] || strcmp(n->name, "0") == 0 ||
                strcmp(n->name, "1") == 0 || has_constant(type_of(n));
    if (!fits) put("RULE_TYPE_IS, %s, TYPE_FITS_64_BITS", type_text(type_of(n)));
  } else if (n->kind == NODE_OP && !*n->name) {
    for (int k = 0; k < n->arity; k++) check_result(n->args[k]);
    bool narrows = n->shape == &shapes[OP_TRUNC];
    const struct node *from = narrows ? n : n->args[0], *to = narrows ? n->args[0] : n;
    if (is_int_cast(n->shape))
      put("RULE_WIDENS, %s, %s", type_text(type_of(from)), type_text(type_of(to)));
  }
}

/* ---- Programs: the result ---- */

static void put_flags(const struct node *n, bool is_root) {
  unsigned fast = 0;
  if (n->flags) put("RULE_FLAGS, %s, 0", flags_text(n->flags));
  for (int k = 0; k < rule->node_count; k++)
    if (rule->nodes[k]->shape && is_fast(rule->nodes[k]->shape)) fast |= 1u << k;
  if (is_fast(n->shape))
    put("RULE_FLAGS, INST_FAST%s, %u", is_root ? "" : " & ~(INST_NNAN | INST_NINF)", fast);
  for (int flag = 0; flag < FLAG_COUNT; flag++) {
    unsigned having = 0;
    if (!(n->optional_flags >> flag & 1)) continue;
    for (int k = 0; k < rule->node_count; k++)
      having |= (rule->nodes[k]->optional_flags >> flag & 1) << k;
    if (!having) gen_fail("flag '%s?' does not occur in the pattern", flag_names[flag]);
    put("RULE_FLAGS, %s, %u", flags_text(1u << flag), having);
  }
}

static void put_result(const struct node *n, bool is_root) {
  const struct node *variable = find_variable(n->name);
  const char *type = type_text(type_of(n));
  if (all_constant(n)) {
    put_number(n);
    put("RULE_MAKE_INT, %s", type);
  } else if (n->kind == NODE_FLOAT) {
    put("RULE_MAKE_FLOAT, %s, %d", type, put_float(n->name));
  } else if (variable) {
    put("RULE_VALUE, %d", variable->number);
  } else {
    for (int k = 0; k < n->arity; k++) put_result(n->args[k], false);
    put_flags(n, is_root);
    if (is_op(n->shape)) {
      put("RULE_OP, OP_%s, %s", n->shape->name, type);
      put_predicate(n);
    } else {
      put("RULE_CALL, %d, %s", class_of(n->shape) - CLASS_CALL, type);
    }
    put("%d", n->arity);
  }
}

static void put_program(struct rule *r) {
  struct type before[MAX_TYPES];
  rule = r;
  gen_table.line = r->line;
  r->program = word_count;
  put("\n/* %s */ %d", r->name, r->node_count);
  type_count = 0;
  infer(r->nodes[0]);
  for (int k = r->node_count; k-- > 0;) type_of(r->nodes[k])->witness = k;
  for (int k = 0; k < r->node_count; k++) check_node(r->nodes[k]);
  int count = type_count;
  memcpy(before, types, sizeof before);
  for (int k = 0; k < r->condition_count; k++)
    infer(r->conditions[k]), infer_demands(r->conditions[k]);
  infer(r->result);
  unify(r->nodes[0], r->result);
  infer_demands(r->nodes[0]);
  infer_demands(r->result);
  check_types(before, count);
  for (int k = 0; k < r->condition_count; k++) check_condition(r->conditions[k]);
  check_result(r->result);
  put_result(r->result, true);
  put("RULE_DONE");
}

/* ---- Trees ---- */

/* A pattern with the first two operands of some ops swapped. */
struct variant {
  struct rule *rule;
  unsigned ways; /* bits by node.commuting */
  struct test {
    int slot, class;
  } tests[RULE_MOST_SLOTS];
  int test_count, slot_count;
  int slots[RULE_MOST_REGISTERS]; /* by register */
};

static void place(struct variant *v, const struct node *n, int slot) {
  v->slots[n->number] = slot;
  int class = n->kind == NODE_OP      ? class_of(n->shape)
              : n->kind == NODE_FLOAT ? (int)CLASS_FLOAT
                                      : (int)CLASS_INT;
  if (slot > 0 && n->kind != NODE_VALUE) v->tests[v->test_count++] = (struct test){slot, class};
  unsigned exchanged = n->commuting >= 0 ? v->ways >> n->commuting & 1 : 0;
  int first = v->slot_count;
  v->slot_count += n->arity;
  if (v->slot_count > RULE_MOST_SLOTS) gen_fail("pattern too large");
  for (int k = 0; k < n->arity; k++) place(v, n->args[k < 2 ? k ^ (int)exchanged : k], first + k);
}

static int put_tree(struct variant **v, int count, int depth);

/* Writes the variants that test the same slot next as words of a group; their trees are already
 * written. */
static void add_group(struct gen_text *t, struct variant **v, int count, int depth) {
  struct variant **same = gen_allocated(malloc((size_t)count * sizeof *same));
  int lowest = CLASS_UNKNOWN, highest = 0;
  for (int k = 0; k < count; k++) {
    int class = v[k]->tests[depth].class;
    lowest = class < lowest ? class : lowest, highest = class > highest ? class : highest;
  }
  gen_add(t, ", %d, %d, %d", v[0]->tests[depth].slot, lowest, highest - lowest + 1);
  for (int class = lowest; class <= highest; class ++) {
    int n = 0;
    for (int k = 0; k < count; k++)
      if (v[k]->tests[depth].class == class) same[n++] = v[k];
    gen_add(t, ", %d", n ? put_tree(same, n, depth + 1) : 0);
  }
  free(same);
}

static void put_leaf(const struct variant *v) {
  const struct rule *r = v->rule;
  const struct node *root = r->nodes[0];
  const char *roots = r->roots ? r->roots : predicate_mask(root);
  put("%d, %s, %s", r->program, roots ? roots : "RULE_ANY_ROOT",
      root->flags ? flags_text(root->flags) : "0");
  put("%d", r->same[0] ? v->slots[r->same[0]] << 8 | v->slots[r->same[1]] : 0);
  for (int k = 0; k < r->node_count; k++) put("%d", v->slots[k]);
}

/* Writes a tree after the trees that it refers to. Returns its start. */
static int put_tree(struct variant **v, int count, int depth) {
  struct variant **same = gen_allocated(malloc((size_t)count * sizeof *same));
  struct gen_text groups = {0};
  int group_count = 0, leaves = 0;
  gen_add_bytes(&groups, "", 0);
  for (int slot = 0; slot < RULE_MOST_SLOTS; slot++) {
    int n = 0;
    for (int k = 0; k < count; k++)
      if (v[k]->test_count > depth && v[k]->tests[depth].slot == slot) same[n++] = v[k];
    if (n) add_group(&groups, same, n, depth);
    group_count += n > 0;
  }
  for (int k = 0; k < count; k++) leaves += v[k]->test_count == depth;
  free(same);
  int begin = word_count;
  put("%d", group_count);
  if (group_count) put_text(groups.bytes + 2);
  put("%d", leaves);
  for (int a = 0; a < count; a++)
    if (v[a]->test_count == depth) put_leaf(v[a]);
  return begin;
}

/* ---- All of it ---- */

enum { MAX_RULES = 4096, MAX_VARIANTS = 4 * MAX_RULES };
static struct rule *rules[MAX_RULES];
static struct variant *variants[MAX_VARIANTS];
static int rule_count, variant_count, roots[CLASS_UNKNOWN];

static void read_row(char *text) {
  struct rule *r = read_rule(text);
  for (int k = 0; k < rule_count; k++)
    if (strcmp(rules[k]->name, r->name) == 0) gen_fail("duplicate rule '%s'", r->name);
  if (rule_count == MAX_RULES) gen_fail("too many rules");
  rules[rule_count++] = r;
  for (unsigned ways = 0; ways < 1u << r->commuting_count; ways++) {
    struct variant *v = gen_allocated(calloc(1, sizeof *v));
    v->rule = r, v->ways = ways, v->slot_count = 1;
    place(v, r->nodes[0], 0);
    if (variant_count == MAX_VARIANTS) gen_fail("too many rules");
    variants[variant_count++] = v;
  }
}

static void put_all(void) {
  static struct variant *same[MAX_VARIANTS];
  put("0"); /* no tree starts at 0 */
  for (int k = 0; k < rule_count; k++) put_program(rules[k]);
  for (int a = 0; a < variant_count; a++) {
    int class = class_of(variants[a]->rule->nodes[0]->shape), n = 0;
    if (roots[class]) continue;
    for (int b = a; b < variant_count; b++)
      if (class_of(variants[b]->rule->nodes[0]->shape) == class) same[n++] = variants[b];
    roots[class] = put_tree(same, n, 0);
  }
}

static void write_texts(FILE *out, const char *type, const char *name, const char *const *texts,
                        int count) {
  fprintf(out, "static const %s %s = {\n", type, name);
  for (int k = 0; k < count; k++) fprintf(out, "%s%s", k ? ", " : "", texts[k]);
  fputs("};\n", out);
}

static void write_tables(FILE *out) {
  const char *root_texts[CLASS_UNKNOWN];
  fputs(
      "/* Made by gen_combine from opt/scalar/combine.rules; see opt/scalar/combine_program.h. */\n"
      "static const uint16_t rule_intrinsics[] = {\nINTRINSIC_NONE",
      out);
  for (const struct shape *s = intrinsics; s->kind < KIND_FUNCTION; s++)
    fprintf(out, ", INTRINSIC_%s", s->name);
  fputs("};\nstatic const uint8_t rule_of_intrinsic[INTRINSIC_COUNT] = {\n", out);
  for (const struct shape *s = intrinsics; s->kind < KIND_FUNCTION; s++)
    fprintf(out, "%s[INTRINSIC_%s] = %d", s > intrinsics ? ", " : "", s->name,
            class_of(s) - CLASS_CALL);
  fputs("};\n", out);
  for (int k = 0; k < CLASS_UNKNOWN; k++) root_texts[k] = gen_format("%d", roots[k]);
  write_texts(out, "uint64_t", "rule_floats[][4]", floats, float_count); /* by enum float_format */
  write_texts(out, "uint16_t", "rule_roots[]", root_texts, CLASS_UNKNOWN);
  write_texts(out, "uint16_t", "rule_words[]", words, word_count);
}

int main(int argc, char **argv) {
  return gen_main(argc, argv,
                  &(struct generator){true, read_row, put_all, {{"combine.inc", write_tables}}});
}
