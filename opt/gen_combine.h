/* What the two halves of gen_combine share: rules as read (gen_combine_rules.c), to be typed, commuted
 * and written as C (gen_combine.c). */
#ifndef NVM_OPT_GEN_COMBINE_H
#define NVM_OPT_GEN_COMBINE_H

#include "ir/ops.h"
#include "target/gen_table.h"

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
  char how; /* of a condition: see `functions` in gen_combine_rules.c */
};

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

struct rule {
  char *name;
  int line;
  struct node *pattern, *result;
  struct node *conditions[8];
  int condition_count;
};

enum { FLAG_COUNT = 12 };
struct flag_name {
  const char *name;
  unsigned bit;
  const char *text; /* "INST_NUW" */
};

extern const char *const op_enums[OP_COUNT]; /* "ADD" */
extern const struct op_info ops[OP_COUNT];
extern const struct flag_name flag_names[FLAG_COUNT];

/* Memory of zeros. */
void *allocate(size_t bytes);
/* Reads a row of the table; ends the program with a message if it is wrong. */
struct rule read_rule(const char *line);

#endif
