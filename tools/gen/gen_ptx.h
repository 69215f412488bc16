/* Shared by the two halves of gen_ptx: rows and words (gen_ptx.c), and the automaton of patterns
 * over modifier words (gen_ptx_automaton.c). */
#ifndef NVM_PTX_GEN_PTX_H
#define NVM_PTX_GEN_PTX_H

#include "tools/gen/gen_table.h"

enum {
  MAX_MODS = 4000,
  MAX_OPS = 1000,
  MAX_SETS = 400,
  MAX_SPECIALS = 500,
  MAX_CLASSES = 32,
  MAX_FORMS = 8000,
  MAX_SHAPES = 20000,
  MAX_NODES = 200000,
  MAX_NFA = 400000,
  MAX_STATES = 60000,
  MAX_STEPS = 60000,
  MAX_MEMO = 60000,
  MAX_RANGES = 255,
};

struct word {
  char text[64];
  const char *id; /* as part of a C name */
  int line;
  int need;    /* modifiers: index of its requirement; specials too */
  int bits;    /* types: width; 0: not a type */
  char kind;   /* types: 'u' 's' 'b' 'f' 'x' (packed) 'p' */
  int op_need; /* modifiers: requirement inside the current op */
  int type;    /* specials: modifier index of their type */
};

struct set {
  char name[32];
  int *mods;
  int count;
};

enum node_kind { WORD, ANY, SEQ, ALT, OPT };
struct node {
  enum node_kind kind;
  int value;       /* WORD: modifier, ANY: set */
  int first, next; /* children of SEQ, ALT, OPT; sibling */
};

/* A nondeterministic state: a word to read, a split, or a form accepted. */
struct nfa {
  int mod; /* >= 0: reads it and goes to a; -1: split to a and b; -2: accepts form a */
  int a, b;
};

struct shape {
  int kind, type, count;
  int range; /* of a literal, 0: any */
  bool dest, optional, relaxed, selected;
};

struct form {
  int line, first_shape, shape_count, dest_count, min_count, need, class;
};

/* Values from low to high: every step-th, or low * 2^n. */
struct range {
  long low, high, step;
  bool doubles;
};

struct step {
  int mod, next, need;
};
struct state {
  int first_step, step_count, first_form, form_count;
};

struct memo {
  int *set;
  int count, state;
};

struct op {
  char text[64];
  const char *id;
  int line, class, state;
  bool ranged;
};

/* The state of the generator. */
extern struct gen {
  struct word mods[MAX_MODS];
  int mod_count;
  struct word specials[MAX_SPECIALS];
  int special_count;
  struct set sets[MAX_SETS];
  int set_count;
  struct {
    char name[32];
    char text[128];
  } classes[MAX_CLASSES];
  int class_count;
  struct op ops[MAX_OPS];
  int op_count;
  struct form forms[MAX_FORMS];
  int form_count;
  struct shape shapes[MAX_SHAPES];
  int shape_count;
  struct range ranges[MAX_RANGES];
  int range_count;
  struct node nodes[MAX_NODES];
  int node_count;
  struct nfa nfa[MAX_NFA];
  int nfa_count;
  int stamps[MAX_NFA];
  int stamp;
  struct state states[MAX_STATES];
  int state_count;
  struct step steps[MAX_STEPS];
  int step_count;
  int accepts[MAX_STEPS];
  int accept_count;
  struct memo memos[MAX_MEMO];
  int memo_count;
  int state_slots[1 << 17];
  int memo_slots[1 << 17];
  int group_first, group_count; /* ops of the current group */
  int group_start;              /* nondeterministic start state, -1: none yet */
  bool group_ranged;            /* a form has a range */
} g;

struct list {
  int *data;
  int count, capacity;
};

/* Adds to a list; exits if out of memory. */
void push(struct list *l, int value);
/* The next free entry of one of g's tables; exits if the table is full. */
int take(int *count, int limit, const char *what);
/* The modifier `.text`, added if new; -1 if it is not a word; `s` starts after the dot. */
int find_mod(const char *s, size_t n);
/* The set of that name, or -1. */
int find_set(const char *s, size_t n);

/* The start of an automaton that reads the pattern, accepts `form`, and also tries `others` (-1:
 * none); -1 for an invalid pattern. */
int automaton_add(const char *pattern, int form, int others);
/* The deterministic state of a start. */
int automaton_state(int start);

#endif
