/* The automaton of gen_ptx: patterns over modifier words are parsed, compiled backwards to a
 * nondeterministic automaton, then made deterministic and minimal; see gen_ptx.c. */
#include "tools/gen/gen_ptx.h"

#include "ptx/word_hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ------------------------------------------------------------------------------- */

static int new_node(enum node_kind kind, int value, int first) {
  int i = take(&g.node_count, MAX_NODES, "pattern items");
  g.nodes[i] = (struct node){kind, value, first, -1};
  return i;
}

static size_t word_length(const char *p) {
  size_t n = 0;
  while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == ':') n++;
  return n;
}

static int parse_alternatives(const char **p);

static int parse_atom(const char **p) {
  char c = **p;
  size_t n = c == '.' || c == '$' ? word_length(*p + 1) : 0;
  int node = -1;
  if (c == '.') {
    int mod = find_mod(*p + 1, n);
    if (mod < 0) return -1;
    node = new_node(WORD, mod, -1);
    *p += n + 1;
  } else if (c == '$') {
    int set = find_set(*p + 1, n);
    if (set < 0) {
      gen_fault("unknown set '%.*s'", (int)n + 1, *p);
      return -1;
    }
    node = new_node(ANY, set, -1);
    *p += n + 1;
  } else if (c == '(') {
    ++*p;
    node = parse_alternatives(p);
    if (node < 0) return -1;
    if (**p != ')') {
      gen_fault("missing ')'");
      return -1;
    }
    ++*p;
  } else {
    gen_fault("invalid pattern at '%s'", *p);
    return -1;
  }
  if (**p == '?') {
    ++*p;
    node = new_node(OPT, 0, node);
  }
  return node;
}

static void skip_blanks(const char **p) { *p += strspn(*p, " \t"); }

static int parse_sequence(const char **p) {
  int seq = new_node(SEQ, 0, -1), last = -1;
  for (skip_blanks(p); **p && **p != ')' && **p != '|'; skip_blanks(p)) {
    int node = parse_atom(p);
    if (node < 0) return -1;
    if (last < 0) g.nodes[seq].first = node;
    else g.nodes[last].next = node;
    last = node;
  }
  return seq;
}

static int parse_alternatives(const char **p) {
  int first = parse_sequence(p), last = first;
  if (first < 0 || **p != '|') return first;
  while (**p == '|') {
    ++*p;
    int node = parse_sequence(p);
    if (node < 0) return -1;
    g.nodes[last].next = node;
    last = node;
  }
  return new_node(ALT, 0, first);
}

/* ---- nondeterministic automaton, built from its end backwards ---------------------------------
 */

static int new_nfa(int mod, int a, int b) {
  int i = take(&g.nfa_count, MAX_NFA, "automaton states");
  g.nfa[i] = (struct nfa){mod, a, b};
  return i;
}

static int compile(int node, int next);

static int compile_sequence(int child, int next) {
  if (child < 0) return next;
  return compile(child, compile_sequence(g.nodes[child].next, next));
}

static int compile(int node, int next) {
  const struct node *n = &g.nodes[node];
  int start = -1;
  switch (n->kind) {
    case WORD: return new_nfa(n->value, next, -1);
    case ANY:
      for (int i = 0; i < g.sets[n->value].count; i++) {
        int s = new_nfa(g.sets[n->value].mods[i], next, -1);
        start = start < 0 ? s : new_nfa(-1, start, s);
      }
      return start;
    case SEQ: return compile_sequence(n->first, next);
    case ALT:
      for (int c = n->first; c >= 0; c = g.nodes[c].next) {
        int s = compile(c, next);
        start = start < 0 ? s : new_nfa(-1, start, s);
      }
      return start;
    case OPT: return new_nfa(-1, compile(n->first, next), next);
  }
  return -1;
}

/* ---- deterministic automaton ------------------------------------------------------------------
 */

static int compare_ints(const void *a, const void *b) {
  return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

void push(struct list *l, int value) {
  if (l->count == l->capacity) {
    l->capacity = l->capacity ? l->capacity * 2 : 16;
    l->data = realloc(l->data, (size_t)l->capacity * sizeof(int));
    if (!l->data) exit(1);
  }
  l->data[l->count++] = value;
}

/* Adds the states reachable from `s` without reading, each once per stamp. */
static void add_closure(struct list *l, int s) {
  if (g.stamps[s] == g.stamp) return;
  g.stamps[s] = g.stamp;
  if (g.nfa[s].mod != -1) {
    push(l, s);
    return;
  }
  add_closure(l, g.nfa[s].a);
  add_closure(l, g.nfa[s].b);
}

static uint32_t hash_ints(const int *data, int count) {
  return ptx_word_hash((const char *)data, (size_t)count * sizeof(int));
}

static bool same_shapes(const struct form *a, const struct form *b) {
  if (a->shape_count != b->shape_count || a->dest_count != b->dest_count) return false;
  return a->first_shape == b->first_shape;
}

/* Reports two forms that no operand distinguishes. */
static void check_distinct(const struct list *forms) {
  for (int i = 0; i < forms->count; i++)
    for (int j = i + 1; j < forms->count; j++) {
      const struct form *a = &g.forms[forms->data[i]], *b = &g.forms[forms->data[j]];
      if (same_shapes(a, b)) gen_fault_at(b->line, "ambiguous with the form in line %d", a->line);
    }
}

/* Interns the state with these steps and forms, which are at the ends of their tables. */
static int intern_state(int first_step, int first_form) {
  struct state n = {first_step, g.step_count - first_step, first_form, g.accept_count - first_form};
  uint32_t h = 0;
  for (int i = 0; i < n.step_count; i++) {
    const struct step *s = &g.steps[first_step + i];
    int key[3] = {s->mod, s->next, s->need};
    h = h * 31 + hash_ints(key, 3);
  }
  h = h * 31 + hash_ints(g.accepts + first_form, n.form_count);
  uint32_t mask = (1u << 17) - 1;
  uint32_t slot = h & mask;
  for (; g.state_slots[slot]; slot = (slot + 1) & mask) {
    const struct state *o = &g.states[g.state_slots[slot] - 1];
    if (o->step_count != n.step_count || o->form_count != n.form_count) continue;
    if (memcmp(&g.steps[o->first_step], &g.steps[first_step],
               (size_t)n.step_count * sizeof(struct step)) != 0)
      continue;
    if (memcmp(&g.accepts[o->first_form], &g.accepts[first_form],
               (size_t)n.form_count * sizeof(int)) != 0)
      continue;
    g.step_count = first_step;
    g.accept_count = first_form;
    return g.state_slots[slot] - 1;
  }
  int i = take(&g.state_count, MAX_STATES, "states");
  g.states[i] = n;
  g.state_slots[slot] = i + 1;
  return i;
}

static int determinize(struct list *set);

/* The distinct words that can be read in the set, sorted. */
static struct list words_of(const struct list *set) {
  struct list words = {0};
  for (int i = 0; i < set->count; i++)
    if (g.nfa[set->data[i]].mod >= 0) push(&words, g.nfa[set->data[i]].mod);
  if (words.count) qsort(words.data, (size_t)words.count, sizeof(int), compare_ints);
  int n = 0;
  for (int i = 0; i < words.count; i++)
    if (n == 0 || words.data[n - 1] != words.data[i]) words.data[n++] = words.data[i];
  words.count = n;
  return words;
}

static int make_state(const struct list *set) {
  struct list words = words_of(set), targets = {0}, forms = {0};
  for (int w = 0; w < words.count; w++) {
    struct list after = {0};
    g.stamp++;
    for (int i = 0; i < set->count; i++)
      if (g.nfa[set->data[i]].mod == words.data[w]) add_closure(&after, g.nfa[set->data[i]].a);
    push(&targets, determinize(&after));
  }
  for (int i = 0; i < set->count; i++)
    if (g.nfa[set->data[i]].mod == -2) push(&forms, g.nfa[set->data[i]].a);
  if (forms.count) qsort(forms.data, (size_t)forms.count, sizeof(int), compare_ints);
  check_distinct(&forms);
  int first_step = g.step_count, first_form = g.accept_count;
  for (int w = 0; w < words.count; w++) {
    const struct word *m = &g.mods[words.data[w]];
    g.steps[take(&g.step_count, MAX_STEPS, "steps")] =
        (struct step){words.data[w], targets.data[w], m->op_need ? m->op_need : m->need};
  }
  for (int i = 0; i < forms.count; i++)
    g.accepts[take(&g.accept_count, MAX_STEPS, "accepted forms")] = forms.data[i];
  free(words.data);
  free(targets.data);
  free(forms.data);
  return intern_state(first_step, first_form);
}

/* The deterministic state of a set of nondeterministic ones; takes ownership of the set. */
static int determinize(struct list *set) {
  if (set->count) qsort(set->data, (size_t)set->count, sizeof(int), compare_ints);
  uint32_t mask = (1u << 17) - 1;
  uint32_t slot = hash_ints(set->data, set->count) & mask;
  for (; g.memo_slots[slot]; slot = (slot + 1) & mask) {
    const struct memo *m = &g.memos[g.memo_slots[slot] - 1];
    if (m->count == set->count &&
        memcmp(m->set, set->data, (size_t)set->count * sizeof(int)) == 0) {
      free(set->data);
      return m->state;
    }
  }
  int state = make_state(set);
  for (slot = hash_ints(set->data, set->count) & mask; g.memo_slots[slot];)
    slot = (slot + 1) & mask;
  int i = take(&g.memo_count, MAX_MEMO, "sets of states");
  g.memos[i] = (struct memo){set->data, set->count, state};
  g.memo_slots[slot] = i + 1;
  return state;
}

int automaton_add(const char *pattern, int form, int others) {
  const char *p = pattern;
  int node = parse_alternatives(&p);
  if (node >= 0 && *p) gen_fault("invalid pattern at '%s'", p);
  if (node < 0 || *p) return -1;
  int start = compile(node, new_nfa(-2, form, -1));
  return others < 0 ? start : new_nfa(-1, others, start);
}

int automaton_state(int start) {
  struct list set = {0};
  g.stamp++;
  add_closure(&set, start);
  return determinize(&set);
}
