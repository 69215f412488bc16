/* Reading combine.rules: the ops, functions and flags that may stand in a rule, and its syntax, which
 * the head of combine.rules describes. */
#include "opt/gen_combine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t bytes) { return gen_allocated(calloc(1, bytes)); }

#define OP(ENUM, keyword, form, flags, meaning) [OP_##ENUM] = #ENUM,
const char *const op_enums[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP
#define OP(ENUM, keyword, form, flags, meaning) [OP_##ENUM] = {keyword, meaning, form, flags},
const struct op_info ops[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP

/* Intrinsics by the name after "llvm.". */
static const struct shape intrinsics[] = {
#define INTEGER(name, arity, commutes) \
  {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_INT, arity, commutes, true, OP_CALL, 0}
    INTEGER(smin, 2, true), INTEGER(smax, 2, true), INTEGER(umin, 2, true), INTEGER(umax, 2, true),
    INTEGER(ctpop, 1, false), INTEGER(bswap, 1, false), INTEGER(bitreverse, 1, false),
    INTEGER(fshl, 3, false), INTEGER(fshr, 3, false), INTEGER(uadd_sat, 2, true),
    INTEGER(usub_sat, 2, false), INTEGER(sadd_sat, 2, true), INTEGER(ssub_sat, 2, false),
#undef INTEGER
#define INT_IMM(name) {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_INT_IMM, 2, false, true, OP_CALL, 0}
    INT_IMM(abs), INT_IMM(ctlz), INT_IMM(cttz),
#undef INT_IMM
#define FLOATING(name, arity, commutes) \
  {#name, "CLASS_CALL + INTRINSIC_" #name, SHAPE_FLOAT, arity, commutes, true, OP_CALL, 0}
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

/* --- shapes ------------------------------------------------------------------------------------- */

static const struct shape *copy_shape(struct shape s) {
  struct shape *copy = allocate(sizeof *copy);
  *copy = s;
  return copy;
}

static const struct shape *shape_of_op(enum op op) {
  struct shape s = {ops[op].keyword, gen_format("OP_%s", op_enums[op]), SHAPE_INT, 2, false, false, op, 0};
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
                                       false, false, OP_COUNT, functions[i].how});
  gen_fail("unknown op `%s`", name);
}

const struct flag_name flag_names[FLAG_COUNT] = {{"nuw", INST_NUW, "INST_NUW"},           {"nsw", INST_NSW, "INST_NSW"},
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
    while (k < FLAG_COUNT && strcmp(flag_names[k].name, flag) != 0) k++;
    if (k == FLAG_COUNT) gen_fail("unknown flag `%s`", flag);
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

struct rule read_rule(const char *line) {
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
