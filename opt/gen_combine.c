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
#include "opt/gen_combine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
  for (size_t k = 0; k < FLAG_COUNT; k++)
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
  const struct node *a = n->args[0];
  const char *value =
      a->kind == NODE_VALUE || (a->kind == NODE_OP && a->name[0])
          ? gen_format("v%s", scope_find(&v->scope, a->name)->path) : NULL;
  switch (n->shape->how) {
  case 'w': return function_text(v, n);
  case 't': return gen_format("type_is_%s(k, %s)", name, type_text(v, a->type));
  case 'f':
    return gen_format("fn_%s(%s, %s, %s)", name, width_text(v, a->type), width_text(v, n->args[1]->type),
                number_text(v, a));
  default: break;
  }
  if (!value) gen_fail("`%s` of what is no variable", name);
  if (n->shape->how == 'V') {
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
  for (size_t k = 0; k < FLAG_COUNT; k++) {
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

/* The variants of the shape that variant a has, if a is the first of them; else 0. */
static int variants_like(int a, struct variant **same) {
  const char *label = variants[a]->pattern->shape->label;
  int n = 0;
  for (int b = 0; b < variant_count; b++) {
    if (strcmp(variants[b]->pattern->shape->label, label) != 0) continue;
    if (b < a) return 0;
    same[n++] = variants[b];
  }
  return n;
}

static void emit_all(void) {
  struct variant **same = allocate(sizeof variants);
  for (int a = 0; a < variant_count; a++) {
    int n = variants_like(a, same);
    if (n) emit_root(same, n);
  }
  fprintf(out, "static struct nvm_value try_rules(struct combiner *k, struct nvm_inst_id root) {\n"
               "switch (class_of(k, value_of_inst(root))) {\n");
  for (int a = 0; a < variant_count; a++) {
    const struct shape *s = variants[a]->pattern->shape;
    if (!variants_like(a, same)) continue;
    fprintf(out, "case %s: return try_%s(k, root);\n", s->label,
            s->intrinsic ? gen_format("call_%s", s->name) : op_enums[s->op]);
  }
  fprintf(out, "default: return VALUE_NULL;\n}\n}\n");
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
