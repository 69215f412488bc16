/* Turns combine.rules, the peephole rules, into C: one decision tree per op.
 *
 * Problem:  some hundreds of patterns must be tried at every instruction, cheaply.
 * Solution: every pattern is a list of tests in the order of a walk over it: "operand 0 is an add",
 *           "operand 1 of that is a constant". Patterns that begin with the same tests share them:
 *           the lists form a trie, each inner node of which becomes a `switch` over the class of one
 *           operand, each leaf the rest of the conditions and the code that builds the result. More
 *           specific patterns are tried first, equally specific ones in the order of the file.
 *           Types are inferred by unification, as in any typed expression language: what the result
 *           demands and the pattern does not promise becomes a check at the leaf.
 * The language is described at the head of combine.rules. What is wrong with the table is reported
 * as file:line: error, with exit status 1 and nothing written. */
#include "ir/ops.h"
#include "target/gen_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes) { return gen_allocated(calloc(1, bytes)); }

/* --- what stands in a pattern ------------------------------------------------------------------ */

enum shape_kind {
  SHAPE_INT,     /* T, T, ... -> T, integers */
  SHAPE_INT_IMM, /* T, i1 constant -> T */
  SHAPE_FLOAT,   /* T, T, ... -> T, floats */
  SHAPE_ANY,     /* T -> T */
  SHAPE_COMPARE, /* predicate, T, T -> bool */
  SHAPE_SELECT,  /* bool, T, T -> T */
  SHAPE_CAST,    /* A -> B */
  SHAPE_FUNCTION /* of constants alone: T, T, ... -> T */
};

struct shape {
  const char *name, *label; /* label: the case of the switch */
  enum shape_kind kind;
  int arity;
  bool commutes, intrinsic;
  enum op op;
};

#define OP(ENUM, keyword, form, flags, meaning) [OP_##ENUM] = #ENUM,
static const char *const op_enums[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP
#define OP(ENUM, keyword, form, flags, meaning) [OP_##ENUM] = {keyword, meaning, form, flags},
static const struct op_info ops[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP

/* Intrinsics by the name after "llvm.". */
static const struct shape intrinsics[] = {
#define INTEGER(name, arity, commutes) \
  {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_INT, arity, commutes, true, OP_CALL}
    INTEGER(smin, 2, true), INTEGER(smax, 2, true), INTEGER(umin, 2, true), INTEGER(umax, 2, true),
    INTEGER(ctpop, 1, false), INTEGER(bswap, 1, false), INTEGER(bitreverse, 1, false),
    INTEGER(fshl, 3, false), INTEGER(fshr, 3, false), INTEGER(uadd_sat, 2, true),
    INTEGER(usub_sat, 2, false), INTEGER(sadd_sat, 2, true), INTEGER(ssub_sat, 2, false),
#undef INTEGER
#define INT_IMM(name) {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_INT_IMM, 2, false, true, OP_CALL}
    INT_IMM(abs), INT_IMM(ctlz), INT_IMM(cttz),
#undef INT_IMM
#define FLOATING(name, arity, commutes) \
  {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_FLOAT, arity, commutes, true, OP_CALL}
    FLOATING(fabs, 1, false), FLOATING(fma, 3, true), FLOATING(fmuladd, 3, true),
    FLOATING(sqrt, 1, false), FLOATING(copysign, 2, false), FLOATING(minnum, 2, true),
    FLOATING(maxnum, 2, true), FLOATING(minimum, 2, true), FLOATING(maximum, 2, true),
    FLOATING(floor, 1, false), FLOATING(ceil, 1, false), FLOATING(trunc, 1, false),
    FLOATING(rint, 1, false), FLOATING(nearbyint, 1, false), FLOATING(roundeven, 1, false),
    FLOATING(round, 1, false), FLOATING(canonicalize, 1, false), FLOATING(cos, 1, false),
    FLOATING(sin, 1, false), FLOATING(pow, 2, false), FLOATING(exp2, 1, false),
#undef FLOATING
};

/* Functions: 0: of constants, in conditions and results, computed by fn_NAME of combine.c. Others are
 * conditions. w: on constants, fn_NAME(width, ...); v: on a value and constants, known_NAME(k, value,
 * ...); V: on two values; t: on a value's type; f: on a constant and a value's type. */
static const struct {
  const char *name;
  char how;
  int arity;
} functions[] = {{"log2", 0, 1},  {"not", 0, 1},   {"neg", 0, 1},   {"lowmask", 0, 1}, {"lowzeros", 0, 1},
                 {"eq", 'w', 2},  {"ne", 'w', 2},  {"ult", 'w', 2}, {"ule", 'w', 2},   {"ugt", 'w', 2},
                 {"uge", 'w', 2}, {"slt", 'w', 2}, {"sle", 'w', 2}, {"sgt", 'w', 2},   {"sge", 'w', 2},
                 {"pow2", 'w', 1}, {"zero", 'v', 2}, {"nonneg", 'v', 1}, {"nonzero", 'v', 1},
                 {"defined", 'v', 1}, {"disjoint", 'V', 2}, {"bool", 't', 1}, {"wide", 't', 1},
                 {"fitsu", 'f', 2}, {"fitss", 'f', 2}};

struct predicate {
  bool is_variable;
  char name[8];     /* of the variable, or the literal */
  char modifier[8]; /* "", "inv", "swap", "u", "s" */
  char class[8];    /* "", "eqne", "rel", "urel", "srel" */
};

enum node_kind { NODE_OP, NODE_VALUE, NODE_INT, NODE_LITERAL, NODE_FLOAT };

enum { MOST_ARGS = 3, MOST_TYPES = 64 };

struct node {
  enum node_kind kind;
  const struct shape *shape;
  char name[24];    /* of the variable; NODE_OP: bound name or ""; literals: their text */
  const char *path; /* "0", "01": the way from the root, in patterns */
  struct node *args[MOST_ARGS];
  struct predicate predicate;
  unsigned flags, optional_flags;
  bool one_use;
  int type;
};

/* --- shapes ------------------------------------------------------------------------------------- */

static const struct shape *copy_shape(struct shape s) {
  struct shape *copy = allocate(sizeof *copy);
  *copy = s;
  return copy;
}

static const struct shape *shape_of_op(enum op op) {
  struct shape s = {ops[op].keyword, gen_format("OP_%s", op_enums[op]), SHAPE_INT, 2, false, false, op};
  switch (ops[op].form) {
  case FORM_BINARY: s.kind = ops[op].flags & OPF_INT ? SHAPE_INT : SHAPE_FLOAT; break;
  case FORM_UNARY: s.kind = op == OP_FREEZE ? SHAPE_ANY : SHAPE_FLOAT, s.arity = 1; break;
  case FORM_CAST: s.kind = SHAPE_CAST, s.arity = 1; break;
  case FORM_CMP: s.kind = SHAPE_COMPARE; break;
  case FORM_SELECT: s.kind = SHAPE_SELECT, s.arity = 3; break;
  default: gen_fail("`%s` cannot stand in a rule", ops[op].keyword);
  }
  s.commutes = (ops[op].flags & OPF_COMMUTES) != 0;
  return copy_shape(s);
}

/* `ftrunc` is the intrinsic, `trunc` the cast. */
static const struct shape *find_shape(const char *name) {
  for (int op = 0; op < OP_COUNT; op++)
    if (strcmp(ops[op].keyword, name) == 0) return shape_of_op((enum op)op);
  for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
    if (strcmp(intrinsics[i].name, strcmp(name, "ftrunc") == 0 ? "trunc" : name) == 0)
      return &intrinsics[i];
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].name, name) == 0)
      return copy_shape((struct shape){functions[i].name, NULL, SHAPE_FUNCTION, functions[i].arity,
                                       false, false, OP_COUNT});
  gen_fail("unknown op `%s`", name);
}

static const struct {
  const char *name;
  unsigned bit;
  const char *text;
} flag_names[] = {{"nuw", INST_NUW, "INST_NUW"},           {"nsw", INST_NSW, "INST_NSW"},
                  {"exact", INST_EXACT, "INST_EXACT"},     {"disjoint", INST_DISJOINT, "INST_DISJOINT"},
                  {"nneg", INST_NNEG, "INST_NNEG"},        {"nnan", INST_NNAN, "INST_NNAN"},
                  {"ninf", INST_NINF, "INST_NINF"},        {"nsz", INST_NSZ, "INST_NSZ"},
                  {"arcp", INST_ARCP, "INST_ARCP"},        {"contract", INST_CONTRACT, "INST_CONTRACT"},
                  {"afn", INST_AFN, "INST_AFN"},           {"reassoc", INST_REASSOC, "INST_REASSOC"}};

/* --- reading ------------------------------------------------------------------------------------ */

static const char *at; /* the rest of the rule */

static void skip_blanks(void) {
  while (*at == ' ') at++;
}
static bool take(const char *word) {
  skip_blanks();
  size_t n = strlen(word);
  if (strncmp(at, word, n) != 0) return false;
  at += n;
  return true;
}
static char *word(void) {
  skip_blanks();
  size_t n = strcspn(at, " ()=");
  if (n == 0) gen_fail("a name or number expected at `%s`", at);
  char *w = gen_format("%.*s", (int)n, at);
  at += n;
  return w;
}

/* add.nsw.nuw? : the flags after the name */
static void read_flags(struct node *n, char *name) {
  char *dot = strchr(name, '.');
  if (!dot) return;
  *dot = 0;
  for (char *flag = strtok(dot + 1, "."); flag; flag = strtok(NULL, ".")) {
    size_t length = strlen(flag), k = 0;
    bool optional = flag[length - 1] == '?';
    if (optional) flag[length - 1] = 0;
    while (k < sizeof flag_names / sizeof *flag_names && strcmp(flag_names[k].name, flag) != 0) k++;
    if (k == sizeof flag_names / sizeof *flag_names) gen_fail("unknown flag `%s`", flag);
    if (optional) n->optional_flags |= flag_names[k].bit;
    else n->flags |= flag_names[k].bit;
  }
}

static void read_predicate(struct predicate *p) {
  char *w = word(), *dot = strchr(w, '.'), *colon = strchr(w, ':');
  if (dot) {
    *dot = 0;
    snprintf(p->modifier, sizeof p->modifier, "%s", w);
    w = dot + 1;
  }
  if (colon) {
    *colon = 0;
    snprintf(p->class, sizeof p->class, "%s", colon + 1);
  }
  p->is_variable = isupper((unsigned char)*w);
  snprintf(p->name, sizeof p->name, "%s", w);
}

static bool is_literal(const char *w) {
  return isdigit((unsigned char)*w) || *w == '-' || strcmp(w, "true") == 0 || strcmp(w, "false") == 0 ||
         strcmp(w, "MIN") == 0 || strcmp(w, "MAX") == 0 || strcmp(w, "WIDTH") == 0;
}

static struct node *read_node(void);

static struct node *read_op(void) {
  struct node *n = allocate(sizeof *n);
  n->kind = NODE_OP;
  char *name = word();
  read_flags(n, name);
  n->shape = find_shape(name);
  if (n->shape->kind == SHAPE_COMPARE) read_predicate(&n->predicate);
  for (int k = 0; k < n->shape->arity; k++) n->args[k] = read_node();
  if (!take(")")) gen_fail("`)` expected after the operands of `%s`, at `%s`", name, at);
  return n;
}

static struct node *read_leaf(void) {
  struct node *n = allocate(sizeof *n);
  char *w = word();
  if (strlen(w) >= sizeof n->name) gen_fail("`%s` is too long", w);
  snprintf(n->name, sizeof n->name, "%s", w);
  if (strchr(w, '.') || strcmp(w, "nan") == 0 || strcmp(w, "inf") == 0) n->kind = NODE_FLOAT;
  else if (is_literal(w)) n->kind = NODE_LITERAL;
  else n->kind = isupper((unsigned char)*w) ? NODE_INT : NODE_VALUE;
  return n;
}

static struct node *read_node(void) {
  skip_blanks();
  bool one_use = take("@");
  char name[24] = "";
  const char *back = at;
  if (*at != '(') {
    char *w = word();
    if (*at == '=') at++, snprintf(name, sizeof name, "%.23s", w);
    else at = back;
  }
  struct node *n;
  if (take("(")) n = read_op();
  else n = read_leaf();
  if (one_use && n->kind != NODE_OP) gen_fail("`@` before what is no instruction");
  n->one_use = one_use;
  if (name[0]) memcpy(n->name, name, sizeof name);
  return n;
}

struct rule {
  char *name;
  int line;
  struct node *pattern, *result;
  struct node *conditions[8];
  int condition_count;
};

static struct rule read_rule(const char *line) {
  struct rule r = {.line = gen_table.line};
  const char *colon = strstr(line, ": ");
  if (!colon) gen_fail("`name: pattern -> result` expected");
  r.name = gen_format("%.*s", (int)(colon - line), line);
  at = colon + 2;
  r.pattern = read_node();
  if (r.pattern->kind != NODE_OP) gen_fail("the pattern is no instruction");
  if (take("if "))
    while (take("(")) {
      if (r.condition_count == 8) gen_fail("too many conditions");
      r.conditions[r.condition_count++] = read_op();
    }
  if (!take("->")) gen_fail("`->` expected at `%s`", at);
  r.result = read_node();
  skip_blanks();
  if (*at) gen_fail("`%s` after the end of the rule", at);
  return r;
}

/* --- types: unification ------------------------------------------------------------------------ */

struct types {
  int parent[MOST_TYPES];
  bool is_int[MOST_TYPES], is_float[MOST_TYPES], is_bool[MOST_TYPES];
  int bool_of[MOST_TYPES];            /* comparison of this type; -1: none */
  const char *witness[MOST_TYPES];    /* C expression of the type; NULL: none */
  int count;
};

static int type_new(struct types *t) {
  if (t->count == MOST_TYPES) gen_fail("too many types in a rule");
  t->parent[t->count] = t->count;
  t->bool_of[t->count] = -1;
  return t->count++;
}
static int type_find(const struct types *t, int a) {
  while (t->parent[a] != a) a = t->parent[a];
  return a;
}
static void type_unify(struct types *t, int a, int b) {
  a = type_find(t, a), b = type_find(t, b);
  if (a == b) return;
  if (b < a) {
    int c = a;
    a = b, b = c;
  }
  t->parent[b] = a;
  t->is_int[a] |= t->is_int[b], t->is_float[a] |= t->is_float[b], t->is_bool[a] |= t->is_bool[b];
  if (t->bool_of[a] < 0) t->bool_of[a] = t->bool_of[b];
  if (!t->witness[a]) t->witness[a] = t->witness[b];
}

/* The variables seen so far, by name. */
struct scope {
  struct node *nodes[32];
  int count;
};
static struct node *scope_find(const struct scope *s, const char *name) {
  for (int k = 0; k < s->count; k++)
    if (strcmp(s->nodes[k]->name, name) == 0) return s->nodes[k];
  return NULL;
}
static void scope_add(struct scope *s, struct node *n) {
  if (s->count == 32) gen_fail("too many variables");
  s->nodes[s->count++] = n;
}

static void infer(struct types *t, struct scope *s, struct node *n, bool defines);

static void infer_op(struct types *t, struct node *n) {
  int last = n->shape->arity - 1;
  switch (n->shape->kind) {
  case SHAPE_INT: case SHAPE_FUNCTION: case SHAPE_FLOAT: case SHAPE_ANY:
    for (int k = 0; k <= last; k++) type_unify(t, n->type, n->args[k]->type);
    t->is_int[type_find(t, n->type)] |= n->shape->kind == SHAPE_INT || n->shape->kind == SHAPE_FUNCTION;
    t->is_float[type_find(t, n->type)] |= n->shape->kind == SHAPE_FLOAT;
    break;
  case SHAPE_INT_IMM:
    type_unify(t, n->type, n->args[0]->type);
    t->is_int[type_find(t, n->type)] = true;
    t->is_bool[type_find(t, n->args[1]->type)] = true;
    break;
  case SHAPE_COMPARE:
    type_unify(t, n->args[0]->type, n->args[1]->type);
    t->is_float[type_find(t, n->args[0]->type)] |= n->shape->op == OP_FCMP;
    t->is_bool[type_find(t, n->type)] = t->is_int[type_find(t, n->type)] = true;
    if (t->bool_of[type_find(t, n->type)] < 0) t->bool_of[type_find(t, n->type)] = n->args[0]->type;
    break;
  case SHAPE_SELECT:
    t->is_bool[type_find(t, n->args[0]->type)] = t->is_int[type_find(t, n->args[0]->type)] = true;
    type_unify(t, n->type, n->args[1]->type);
    type_unify(t, n->type, n->args[2]->type);
    break;
  case SHAPE_CAST:
    if (n->shape->op <= OP_SEXT)
      t->is_int[type_find(t, n->type)] = t->is_int[type_find(t, n->args[0]->type)] = true;
    break;
  }
}

static void infer(struct types *t, struct scope *s, struct node *n, bool defines) {
  n->type = type_new(t);
  if (n->kind == NODE_OP) {
    for (int k = 0; k < n->shape->arity; k++) infer(t, s, n->args[k], defines);
    infer_op(t, n);
  }
  if (n->kind == NODE_LITERAL || n->kind == NODE_INT) t->is_int[type_find(t, n->type)] = true;
  if (n->kind == NODE_LITERAL && (n->name[0] == 't' || n->name[0] == 'f'))
    t->is_bool[type_find(t, n->type)] = true;
  if (n->kind == NODE_FLOAT) t->is_float[type_find(t, n->type)] = true;
  bool named = n->kind == NODE_VALUE || n->kind == NODE_INT || (n->kind == NODE_OP && n->name[0]);
  if (!named) return;
  struct node *first = scope_find(s, n->name);
  if (first) type_unify(t, first->type, n->type);
  else if (defines) scope_add(s, n);
  else gen_fail("`%s` does not occur in the pattern", n->name);
}

/* --- paths and commuted variants ---------------------------------------------------------------- */

static void set_paths(struct node *n, const char *path) {
  n->path = path;
  if (n->kind != NODE_OP) return;
  for (int k = 0; k < n->shape->arity; k++) set_paths(n->args[k], gen_format("%s%d", path, k));
}

static bool is_constant(const struct node *n) {
  return n->kind == NODE_INT || n->kind == NODE_LITERAL || n->kind == NODE_FLOAT;
}

static bool node_commutes(const struct node *n) {
  if (n->kind != NODE_OP || n->shape->arity < 2) return false;
  bool equality = n->shape->op == OP_ICMP &&
                  (strcmp(n->predicate.name, "eq") == 0 || strcmp(n->predicate.name, "ne") == 0 ||
                   strcmp(n->predicate.class, "eqne") == 0);
  return (n->shape->commutes || equality) && !is_constant(n->args[1]) && !is_constant(n->args[0]);
}

static int count_commuting(const struct node *n) {
  int count = node_commutes(n);
  for (int k = 0; n->kind == NODE_OP && k < n->shape->arity; k++) count += count_commuting(n->args[k]);
  return count;
}

/* A copy in which the k-th commuting node has its first two operands exchanged if bit k is set. */
static struct node *commuted(const struct node *n, unsigned bits, int *index) {
  struct node *copy = allocate(sizeof *copy);
  *copy = *n;
  if (n->kind != NODE_OP) return copy;
  bool swap = node_commutes(n) && (bits >> (*index)++ & 1) != 0;
  for (int k = 0; k < n->shape->arity; k++) copy->args[k] = commuted(n->args[k], bits, index);
  if (swap) {
    struct node *first = copy->args[0];
    copy->args[0] = copy->args[1], copy->args[1] = first;
  }
  return copy;
}

/* --- C text of expressions ---------------------------------------------------------------------- */

static FILE *out;

struct variant {
  const struct rule *rule;
  struct node *pattern, *result;
  struct types types;
  struct scope scope;
  struct test {
    const char *path, *label;
    int arity;
  } tests[24];
  int test_count;
};

static const char *type_text(struct variant *v, int type) {
  int a = type_find(&v->types, type);
  if (v->types.witness[a]) return gen_format("t%d", a);
  if (v->types.bool_of[a] >= 0) return gen_format("bool_like(k, %s)", type_text(v, v->types.bool_of[a]));
  if (v->types.is_bool[a]) return "TYPE_I1"; /* the immediate of abs, ctlz, cttz */
  gen_fail("the type of a part of the result is not determined");
}

static const char *width_text(struct variant *v, int type) {
  int a = type_find(&v->types, type);
  if (v->types.is_bool[a]) return "1";
  return gen_format("scalar_width(k, %s)", type_text(v, type));
}

static const char *literal_text(const char *name, const char *width) {
  if (strcmp(name, "true") == 0) return "1";
  if (strcmp(name, "false") == 0) return "0";
  if (strcmp(name, "MIN") == 0) return gen_format("fn_min(%s)", width);
  if (strcmp(name, "MAX") == 0) return gen_format("fn_max(%s)", width);
  if (strcmp(name, "WIDTH") == 0) return gen_format("(uint64_t)%s", width);
  if (name[0] == '-') return gen_format("fn_cut(%s, (uint64_t)INT64_C(%s))", width, name);
  if (strcmp(name, "0") == 0 || strcmp(name, "1") == 0) return name;
  return gen_format("fn_cut(%s, UINT64_C(%s))", width, name);
}

static const char *number_text(struct variant *v, const struct node *n);

static bool all_constant(const struct node *n) {
  if (n->kind != NODE_OP) return n->kind == NODE_INT || n->kind == NODE_LITERAL;
  for (int k = 0; k < n->shape->arity; k++)
    if (!all_constant(n->args[k])) return false;
  return true;
}

static const char *function_text(struct variant *v, const struct node *n) {
  const char *width = width_text(v, n->shape->kind == SHAPE_CAST ? n->type : n->args[0]->type);
  const char *a = number_text(v, n->args[0]);
  if (n->shape->op == OP_SEXT)
    return gen_format("fn_sext(%s, %s, %s)", width_text(v, n->args[0]->type), width, a);
  if (n->shape->op == OP_ZEXT || n->shape->op == OP_TRUNC) return gen_format("fn_cut(%s, %s)", width, a);
  if (n->shape->arity == 1) return gen_format("fn_%s(%s, %s)", n->shape->name, width, a);
  if (n->shape->arity != 2) gen_fail("`%s` of constants", n->shape->name);
  return gen_format("fn_%s(%s, %s, %s)", n->shape->name, width, a, number_text(v, n->args[1]));
}

/* A constant expression as uint64_t. */
static const char *number_text(struct variant *v, const struct node *n) {
  switch (n->kind) {
  case NODE_INT: {
    const struct node *first = scope_find(&v->scope, n->name);
    return gen_format("n%s", first->path);
  }
  case NODE_LITERAL: return literal_text(n->name, width_text(v, n->type));
  case NODE_OP: return function_text(v, n);
  case NODE_VALUE: case NODE_FLOAT: break;
  }
  gen_fail("`%s` is no integer constant", n->name);
}

static const char *flags_text(unsigned flags) {
  const char *s = "0";
  for (size_t k = 0; k < sizeof flag_names / sizeof *flag_names; k++)
    if (flags & flag_names[k].bit)
      s = s[0] == '0' ? flag_names[k].text : gen_format("%s | %s", s, flag_names[k].text);
  return s;
}

/* --- a leaf: the rest of the checks --------------------------------------------------------------- */

static void check(const char *condition) { fprintf(out, "if (!(%s)) break;\n", condition); }

/* The comparison that binds the predicate variable: the first that names it without a modifier. */
static const struct node *find_predicate(const struct node *n, const char *name) {
  if (n->kind != NODE_OP) return NULL;
  if (n->shape->kind == SHAPE_COMPARE && n->predicate.is_variable && !n->predicate.modifier[0] &&
      strcmp(n->predicate.name, name) == 0)
    return n;
  for (int k = 0; k < n->shape->arity; k++) {
    const struct node *found = find_predicate(n->args[k], name);
    if (found) return found;
  }
  return NULL;
}

static void check_predicate(struct variant *v, const struct node *n) {
  const struct predicate *p = &n->predicate;
  const char *kind = n->shape->op == OP_ICMP ? "ICMP" : "FCMP";
  if (!p->is_variable) {
    char upper[8] = "";
    for (size_t k = 0; p->name[k] && k < 7; k++) upper[k] = (char)toupper((unsigned char)p->name[k]);
    check(gen_format("i%s->aux == %s_%s", n->path, kind, upper));
    return;
  }
  const struct node *binding = find_predicate(v->pattern, p->name);
  if (!binding) gen_fail("predicate `%s` only with a modifier", p->name);
  if (n == binding) {
    if (p->class[0]) check(gen_format("predicate_is_%s(i%s->aux)", p->class, n->path));
  } else if (p->modifier[0])
    check(gen_format("i%s->aux == %s_%s(i%s->aux)", n->path, n->shape->op == OP_ICMP ? "icmp" : "fcmp",
               p->modifier, binding->path));
  else check(gen_format("i%s->aux == i%s->aux", n->path, binding->path));
}

/* Whatever the classes of the operands did not say. */
static void check_node(struct variant *v, const struct node *n) {
  struct node *first = NULL;
  switch (n->kind) {
  case NODE_VALUE:
    first = scope_find(&v->scope, n->name);
    if (first != n) check(gen_format("value_equal(v%s, v%s)", n->path, first->path));
    return;
  case NODE_INT:
    first = scope_find(&v->scope, n->name);
    if (first != n) check(gen_format("n%s == n%s", n->path, first->path));
    return;
  case NODE_LITERAL:
    if (n->name[0] == 't' || n->name[0] == 'f')
      check(gen_format("n%s == %d && int_width(k, v%s) == 1", n->path, n->name[0] == 't', n->path));
    else if (isdigit((unsigned char)n->name[0]))
      check(gen_format("n%s == %s", n->path, n->name));
    else check(gen_format("n%s == %s", n->path, literal_text(n->name, gen_format("int_width(k, v%s)", n->path))));
    return;
  case NODE_FLOAT: check(gen_format("float_is(k, v%s, %s)", n->path, n->name)); return;
  case NODE_OP: break;
  }
  if (n->shape->kind == SHAPE_COMPARE) check_predicate(v, n);
  if (n->flags) check(gen_format("has_flags(i%s, %s)", n->path, flags_text(n->flags)));
  if (n->one_use) check(gen_format("one_use(k, v%s)", n->path));
  for (int k = 0; k < n->shape->arity; k++) check_node(v, n->args[k]);
}

static const char *condition_text(struct variant *v, const struct node *n) {
  if (n->shape->kind != SHAPE_FUNCTION) gen_fail("`%s` is no condition", n->shape->name);
  const char *name = n->shape->name;
  char how = 0;
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
    if (strcmp(functions[k].name, name) == 0) how = functions[k].how;
  const struct node *a = n->args[0];
  const char *value =
      a->kind == NODE_VALUE || (a->kind == NODE_OP && a->name[0])
          ? gen_format("v%s", scope_find(&v->scope, a->name)->path) : NULL;
  switch (how) {
  case 'w': return function_text(v, n);
  case 't': return gen_format("type_is_%s(k, %s)", name, type_text(v, a->type));
  case 'f':
    return gen_format("fn_%s(%s, %s, %s)", name, width_text(v, a->type), width_text(v, n->args[1]->type),
                number_text(v, a));
  default: break;
  }
  if (!value) gen_fail("`%s` of what is no variable", name);
  if (how == 'V') {
    const struct node *b = scope_find(&v->scope, n->args[1]->name);
    return gen_format("known_%s(k, %s, v%s)", name, value, b->path);
  }
  if (n->shape->arity == 2)
    return gen_format("known_%s(k, %s, %s)", name, value, number_text(v, n->args[1]));
  return gen_format("known_%s(k, %s)", name, value);
}

/* --- a leaf: building the result ------------------------------------------------------------------ */

static const char *predicate_text(struct variant *v, const struct node *n) {
  const struct predicate *p = &n->predicate;
  const char *kind = n->shape->op == OP_ICMP ? "ICMP" : "FCMP";
  if (!p->is_variable) {
    char upper[8] = "";
    for (size_t k = 0; p->name[k] && k < 7; k++) upper[k] = (char)toupper((unsigned char)p->name[k]);
    return gen_format("%s_%s", kind, upper);
  }
  const struct node *first = find_predicate(v->pattern, p->name);
  if (!first) gen_fail("predicate `%s` does not occur in the pattern", p->name);
  const char *plain = gen_format("p%s", first->path);
  if (!p->modifier[0]) return plain;
  return gen_format("%s_%s(%s)", n->shape->op == OP_ICMP ? "icmp" : "fcmp", p->modifier, plain);
}

static void gather_float_flags(const struct node *n, const char **expression) {
  if (n->kind != NODE_OP) return;
  bool fast = n->shape->kind == SHAPE_FLOAT || n->shape->op == OP_FCMP ||
              (n->shape->op != OP_CALL && n->shape->op < OP_COUNT && (ops[n->shape->op].flags & OPF_FAST) &&
               n->shape->kind != SHAPE_SELECT);
  if (fast) *expression = gen_format("%s & f%s", *expression, n->path);
  for (int k = 0; k < n->shape->arity; k++) gather_float_flags(n->args[k], expression);
}

static void gather_optional(const struct node *n, unsigned bit, const char **expression) {
  if (n->kind != NODE_OP) return;
  if (n->optional_flags & bit) *expression = *expression ? gen_format("%s & f%s", *expression, n->path)
                                                         : gen_format("f%s", n->path);
  for (int k = 0; k < n->shape->arity; k++) gather_optional(n->args[k], bit, expression);
}

static const char *result_flags(struct variant *v, const struct node *n, bool is_root) {
  const char *flags = flags_text(n->flags);
  if (n->shape->kind == SHAPE_FLOAT || n->shape->op == OP_FCMP || n->shape->op == OP_FPTRUNC ||
      n->shape->op == OP_FPEXT) {
    const char *fast = "INST_FAST";
    gather_float_flags(v->pattern, &fast);
    flags = gen_format("%s | (%s%s)", flags, fast, is_root ? "" : " & ~(INST_NNAN | INST_NINF)");
  }
  for (size_t k = 0; k < sizeof flag_names / sizeof *flag_names; k++) {
    if (!(n->optional_flags & flag_names[k].bit)) continue;
    const char *all = NULL;
    gather_optional(v->pattern, flag_names[k].bit, &all);
    if (!all) gen_fail("flag `%s?` does not occur in the pattern", flag_names[k].name);
    flags = gen_format("%s | (%s & %s)", flags, all, flag_names[k].text);
  }
  return flags;
}

static int temporary;

/* Writes the code that makes n; returns the C expression of its value. */
static const char *build(struct variant *v, const struct node *n, bool is_root) {
  if (n->kind == NODE_VALUE || (n->kind == NODE_OP && n->name[0] && scope_find(&v->scope, n->name)))
    return gen_format("v%s", scope_find(&v->scope, n->name)->path);
  if (n->kind == NODE_INT) return gen_format("make_int(k, %s, %s)", type_text(v, n->type), number_text(v, n));
  if (n->kind == NODE_FLOAT) return gen_format("make_float(k, %s, %s)", type_text(v, n->type), n->name);
  if (all_constant(n) && !(n->kind == NODE_OP && n->shape->kind == SHAPE_COMPARE))
    return gen_format("make_int(k, %s, %s)", type_text(v, n->type), number_text(v, n));
  const char *args = "";
  for (int a = 0; a < n->shape->arity; a++)
    args = gen_format("%s%s%s", args, a ? ", " : "", build(v, n->args[a], false));
  const char *flags = result_flags(v, n, is_root);
  int id = temporary++;
  const char *type = type_text(v, n->type);
  if (n->shape->intrinsic)
    fprintf(out, "struct nvm_value r%d = build_call(k, root, INTRINSIC_%s, %s, %s, %d, "
                 "(const struct nvm_value[]){%s});\n",
            id, n->shape->name, flags, type, n->shape->arity, args);
  else
    fprintf(out, "struct nvm_value r%d = build_op(k, root, OP_%s, %s, %s, %s, %d, "
                 "(const struct nvm_value[]){%s});\n",
            id, op_enums[n->shape->op], flags, type,
            n->shape->kind == SHAPE_COMPARE ? predicate_text(v, n) : "0", n->shape->arity, args);
  return gen_format("r%d", id);
}

/* Casts of the result must be casts: to a wider or narrower type with as many lanes. */
static void check_casts(struct variant *v, const struct node *n) {
  if (n->kind != NODE_OP || n->name[0]) return;
  for (int k = 0; k < n->shape->arity; k++) check_casts(v, n->args[k]);
  if (n->shape->kind != SHAPE_CAST || n->shape->op > OP_SEXT || all_constant(n)) return;
  check(gen_format("can_%s(k, %s, %s)", n->shape->op == OP_TRUNC ? "narrow" : "widen",
             type_text(v, n->args[0]->type), type_text(v, n->type)));
}

/* Numbers have 64 bits here: only 0 and 1 can be made for wider types. */
static void check_numbers(struct variant *v, const struct node *n) {
  if (n->kind == NODE_OP && !all_constant(n)) {
    if (n->name[0]) return;
    for (int k = 0; k < n->shape->arity; k++) check_numbers(v, n->args[k]);
    return;
  }
  if (!all_constant(n) || v->types.is_bool[type_find(&v->types, n->type)]) return;
  if (strcmp(n->name, "0") != 0 && strcmp(n->name, "1") != 0)
    check(gen_format("scalar_width(k, %s) <= 64", type_text(v, n->type)));
}

/* Saves what the pattern's instructions say before building moves them. */
static void save(const struct node *n) {
  if (n->kind != NODE_OP) return;
  fprintf(out, "uint16_t f%s = i%s->flags; (void)f%s;\n", n->path, n->path, n->path);
  if (n->shape->kind == SHAPE_COMPARE)
    fprintf(out, "uint32_t p%s = i%s->aux; (void)p%s;\n", n->path, n->path, n->path);
  for (int k = 0; k < n->shape->arity; k++) save(n->args[k]);
}

static void witness(struct types *t, const struct node *n) {
  const char *expression = n->kind == NODE_OP ? gen_format("i%s->type", n->path)
                                              : gen_format("value_type(k->f, v%s)", n->path);
  int a = type_find(t, n->type);
  if (!t->witness[a] || n->kind == NODE_OP) t->witness[a] = expression;
  for (int k = 0; n->kind == NODE_OP && k < n->shape->arity; k++) witness(t, n->args[k]);
}

/* Types that the result wants to be one although the pattern does not say so. */
static void check_types(struct variant *v, const struct types *before) {
  for (int a = 0; a < before->count; a++) {
    int root = type_find(before, a);
    if (root != a || !before->witness[a]) continue;
    int now = type_find(&v->types, a);
    for (int b = 0; b < a; b++)
      if (type_find(before, b) == b && before->witness[b] && type_find(&v->types, b) == now) {
        check(gen_format("type_equal(t%d, t%d)", a, b));
        break;
      }
    if (v->types.is_int[now] && !before->is_int[a])
      check(gen_format("type_is_int_or_vector(&k->m->types, t%d)", a));
    if (v->types.is_float[now] && !before->is_float[a])
      check(gen_format("type_is_float_or_vector(&k->m->types, t%d)", a));
    if (v->types.is_bool[now] && !before->is_bool[a]) check(gen_format("type_is_bool(k, t%d)", a));
  }
}

static void emit_leaf(struct variant *v) {
  gen_table.line = v->rule->line;
  fprintf(out, "do { /* %s */\n", v->rule->name);
  check_node(v, v->pattern);
  struct types before = v->types;
  infer(&v->types, &v->scope, v->result, false);
  type_unify(&v->types, v->pattern->type, v->result->type);
  for (int a = 0; a < before.count; a++)
    if (type_find(&before, a) == a && before.witness[a])
      fprintf(out, "struct nvm_type t%d = %s; (void)t%d;\n", a, before.witness[a], a);
  check_types(v, &before);
  for (int k = 0; k < v->rule->condition_count; k++) {
    struct node *c = v->rule->conditions[k];
    if (strcmp(c->shape->name, "fitsu") == 0 || strcmp(c->shape->name, "fitss") == 0)
      for (int a = 0; a < 2; a++) infer(&v->types, &v->scope, c->args[a], false);
    else infer(&v->types, &v->scope, c, false);
    check(condition_text(v, c));
  }
  check_casts(v, v->result);
  check_numbers(v, v->result);
  save(v->pattern);
  const char *value = build(v, v->result, true);
  fprintf(out, "k->rule = \"%s\";\nreturn %s;\n} while (0);\n", v->rule->name, value);
}

/* --- the tree -------------------------------------------------------------------------------------- */

static void add_tests(struct variant *v, const struct node *n) {
  const char *label = NULL;
  switch (n->kind) {
  case NODE_VALUE: return;
  case NODE_INT: case NODE_LITERAL: label = "CLASS_INT"; break;
  case NODE_FLOAT: label = "CLASS_FLOAT"; break;
  case NODE_OP: label = n->shape->label; break;
  }
  if (n->path[0]) {
    if (v->test_count == 24) gen_fail("pattern too large");
    v->tests[v->test_count++] =
        (struct test){n->path, label, n->kind == NODE_OP ? n->shape->arity : 0};
  }
  for (int k = 0; n->kind == NODE_OP && k < n->shape->arity; k++) add_tests(v, n->args[k]);
}

static void open_case(const struct test *t) {
  fprintf(out, "case %s: {\n", t->label);
  if (t->arity)
    fprintf(out, "const struct nvm_inst *i%s = inst_of(k, v%s); (void)i%s;\n", t->path, t->path, t->path);
  for (int k = 0; k < t->arity; k++)
    fprintf(out, "struct nvm_value v%s%d = inst_operand(k->f, i%s, %d); (void)v%s%d;\n", t->path, k,
            t->path, k, t->path, k);
  if (strcmp(t->label, "CLASS_INT") == 0)
    fprintf(out, "uint64_t n%s = int_bits(k, v%s); (void)n%s;\n", t->path, t->path, t->path);
}

static void emit_tree(struct variant **v, int count, int depth);

/* The variants that look at `path` next: one case for each class. */
static void emit_switch(struct variant **v, int count, int depth, const char *path) {
  struct variant **same = allocate((size_t)count * sizeof *same);
  fprintf(out, "switch (class_of(k, v%s)) {\n", path);
  for (int a = 0; a < count; a++) {
    const struct test *t = &v[a]->tests[depth];
    int n = 0, first = -1;
    for (int b = 0; b < count; b++) {
      if (strcmp(v[b]->tests[depth].label, t->label) != 0) continue;
      if (first < 0) first = b;
      same[n++] = v[b];
    }
    if (first != a) continue;
    open_case(t);
    emit_tree(same, n, depth + 1);
    fprintf(out, "break;\n}\n");
  }
  fprintf(out, "default: break;\n}\n");
  free(same);
}

static void emit_tree(struct variant **v, int count, int depth) {
  struct variant **same = allocate((size_t)count * sizeof *same);
  for (int a = 0; a < count; a++) {
    if (v[a]->test_count <= depth) continue;
    const char *path = v[a]->tests[depth].path;
    int n = 0, first = -1;
    for (int b = 0; b < count; b++) {
      if (v[b]->test_count <= depth || strcmp(v[b]->tests[depth].path, path) != 0) continue;
      if (first < 0) first = b;
      same[n++] = v[b];
    }
    if (first == a) emit_switch(same, n, depth, path);
  }
  for (int a = 0; a < count; a++)
    if (v[a]->test_count == depth) emit_leaf(v[a]);
  free(same);
}

/* --- all of it ------------------------------------------------------------------------------------- */

static struct variant *variants[4096];
static int variant_count;
static int rule_count;

static void add_variants(struct rule *r) {
  int commuting = count_commuting(r->pattern);
  if (commuting > 4) gen_fail("too many commutative ops");
  for (unsigned bits = 0; bits < 1u << commuting; bits++) {
    if (variant_count == 4096) gen_fail("too many rules");
    struct variant *v = allocate(sizeof *v);
    int index = 0;
    v->rule = r;
    v->pattern = commuted(r->pattern, bits, &index);
    index = 0;
    v->result = commuted(r->result, 0, &index);
    set_paths(v->pattern, "");
    infer(&v->types, &v->scope, v->pattern, true);
    witness(&v->types, v->pattern);
    add_tests(v, v->pattern);
    variants[variant_count++] = v;
  }
}

static void read_row(char *text) {
  struct rule *r = allocate(sizeof *r);
  *r = read_rule(text);
  for (int k = 0; k < variant_count; k++)
    if (strcmp(variants[k]->rule->name, r->name) == 0) gen_fail("rule `%s` exists", r->name);
  add_variants(r);
  rule_count++;
}

static void emit_root(struct variant **same, int n) {
  const struct shape *s = same[0]->pattern->shape;
  fprintf(out, "static struct nvm_value try_%s(struct combiner *k, struct nvm_inst_id root) {\n",
          s->intrinsic ? gen_format("call_%s", s->name) : op_enums[s->op]);
  fprintf(out, "const struct nvm_inst *i = function_inst(k->f, root); (void)i;\n");
  for (int a = 0; a < s->arity; a++)
    fprintf(out, "struct nvm_value v%d = inst_operand(k->f, i, %d); (void)v%d;\n", a, a, a);
  emit_tree(same, n, 0);
  fprintf(out, "return VALUE_NULL;\n}\n\n");
}

static void emit_all(void) {
  struct variant **same = allocate(sizeof variants);
  char *table = allocate(1 << 16);
  for (int a = 0; a < variant_count; a++) {
    const struct shape *s = variants[a]->pattern->shape;
    int n = 0, first = -1;
    for (int b = 0; b < variant_count; b++) {
      if (strcmp(variants[b]->pattern->shape->label, s->label) != 0) continue;
      if (first < 0) first = b;
      same[n++] = variants[b];
    }
    if (first != a) continue;
    emit_root(same, n);
    strcat(table, gen_format("case %s: return try_%s(k, root);\n", s->label,
                       s->intrinsic ? gen_format("call_%s", s->name) : op_enums[s->op]));
  }
  fprintf(out, "static struct nvm_value try_rules(struct combiner *k, struct nvm_inst_id root) {\n"
               "switch (class_of(k, value_of_inst(root))) {\n%sdefault: return VALUE_NULL;\n}\n}\n",
          table);
  fprintf(out, "enum { COMBINE_RULE_COUNT = %d };\n", rule_count);
}

/* Emitting finds faults too, so it goes to memory first. */
static char *emitted;

static void emit(void) {
  size_t size;
  out = gen_allocated(open_memstream(&emitted, &size));
  fprintf(out, "/* Made by gen_combine from opt/combine.rules. */\n");
  emit_all();
  if (fclose(out) != 0) gen_fail("out of memory");
}

static void write_tree(FILE *to) { fputs(emitted, to); }

int main(int argc, char **argv) {
  return gen_main(argc, argv,
                  &(struct generator){true, read_row, emit, {{"combine.inc", write_tree}}});
}
