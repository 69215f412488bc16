/* `nvmini compile --emit dom|loops|ranges|pressure|scev|alias|divergence`: the functions of a
 * module as text, with what one analysis knows as a comment at each line that it is about. */
#include "analysis/alias.h"
#include "driver/explain/facts.h"
#include "ir/print.h"

#include <string.h>

enum { COMMENT_COLUMN = 56, MAX_LISTED = 8 };

struct notes {
  struct facts facts;
  struct textbuf *at; /* by line, from 1 */
  uint32_t lines;
  struct alias_env *alias;
  VEC(struct nvm_inst_id) accesses; /* of memory, in layout order */
};

static struct nvm_text block_name(struct notes *n, struct nvm_block b) {
  struct nvm_text name = facts_value(&n->facts, value_of_block(b));
  return name.length ? name : text_of("the entry");
}

/* ---- Of blocks ---- */

static void note_dominance(struct notes *n, struct nvm_block b, struct textbuf *out) {
  const struct dominance *d = &n->facts.dominance;
  uint32_t depth = 0;
  if (!dominance_reachable(d, b)) {
    textbuf_puts(out, "unreachable");
    return;
  }
  for (struct nvm_block up = b; !block_is_none(d->immediate[up.index]); depth++)
    up = d->immediate[up.index];
  if (depth == 0) textbuf_puts(out, "entry");
  else
    textbuf_format(out, "immediate dominator %t, depth %u", block_name(n, d->immediate[b.index]),
                   depth);
  if (d->size[b.index] > 1) textbuf_format(out, ", dominates %u blocks", d->size[b.index] - 1);
}

/* Whether an edge leads from b out of the loop. */
static bool leaves(struct notes *n, struct nvm_block b, uint32_t loop) {
  const struct facts *x = &n->facts;
  for (uint32_t k = 0, count = block_successor_count(x->f, b); k < count; k++) {
    uint32_t in = x->loops.innermost[block_successor(x->f, b, k).index];
    while (in && in != loop) in = x->loops.data[in].parent;
    if (!in) return true;
  }
  return false;
}

static void note_trip_count(struct notes *n, uint32_t loop, struct textbuf *out) {
  struct nvm_text count = facts_trip_count(&n->facts, loop);
  struct trip_count c = scev_trip_count(n->facts.scev, loop);
  if (count.length) textbuf_format(out, ", back edge taken %t times", count);
  if (c.most != UINT64_MAX) textbuf_format(out, ", at most %U times", c.most);
}

static void note_loop(struct notes *n, struct nvm_block b, struct textbuf *out) {
  uint32_t loop = n->facts.loops.innermost[b.index];
  const struct loop *l = &n->facts.loops.data[loop];
  if (loop == 0) return;
  if (l->header.index == b.index) {
    textbuf_format(out, "header of a loop of depth %u, %u block%s", l->depth, l->block_count,
                   l->block_count == 1 ? "" : "s");
    note_trip_count(n, loop, out);
  } else textbuf_format(out, "in loop %t", block_name(n, l->header));
  if (leaves(n, b, loop)) textbuf_puts(out, ", exits");
}

static void note_block_pressure(struct notes *n, struct nvm_block b, struct textbuf *out) {
  textbuf_format(out, "at most %u live", n->facts.pressure.most[b.index]);
}

static void note_iterations(struct notes *n, struct nvm_block b, struct textbuf *out) {
  uint32_t loop = n->facts.loops.innermost[b.index];
  if (loop == 0 || n->facts.loops.data[loop].header.index != b.index) return;
  textbuf_puts(out, "loop header");
  note_trip_count(n, loop, out);
}

/* ---- Of instructions ---- */

static void note_range(struct notes *n, struct nvm_inst_id i, struct textbuf *out) {
  struct nvm_text range = facts_range(&n->facts, value_of_inst(i)),
                  bits = facts_bits(&n->facts, value_of_inst(i));
  textbuf_text(out, range);
  if (bits.length) textbuf_format(out, range.length ? ", bits %t" : "bits %t", bits);
}

static void note_pressure(struct notes *n, struct nvm_inst_id i, struct textbuf *out) {
  bool is_phi = function_inst(n->facts.f, i)->op == OP_PHI; /* of which it has no figure */
  if (!is_phi) textbuf_format(out, "%u live", n->facts.pressure.after[i.index]);
}

static void note_scev(struct notes *n, struct nvm_inst_id i, struct textbuf *out) {
  textbuf_text(out, facts_scev(&n->facts, i));
}

static void note_divergence(struct notes *n, struct nvm_inst_id i, struct textbuf *out) {
  const struct nvm_function *f = n->facts.f;
  struct nvm_block b = function_inst(f, i)->block;
  bool branch = i.index == block_terminator(f, b).index;
  bool result = function_inst(f, i)->type.index != TYPE_VOID.index;
  if (branch ? n->facts.divergence.branches[b.index]
             : result && divergence_of(&n->facts.divergence, value_of_inst(i)))
    textbuf_puts(out, "divergent");
}

/* ` must alias #1`: the accesses with this relation to `a`, which is access number `self`. */
static void list_aliases(struct notes *n, struct memory_location a, uint32_t self, enum alias kind,
                         struct textbuf *out) {
  static const char *const names[] = {
      [ALIAS_MAY] = "may alias", [ALIAS_PARTIAL] = "overlaps", [ALIAS_MUST] = "must alias"};
  uint32_t listed = 0;
  for (uint32_t k = 0; k < n->accesses.count; k++) {
    struct memory_location b;
    if (k == self || !alias_location_of(n->facts.f, n->accesses.data[k], &b) ||
        alias_query(n->alias, a, b) != kind)
      continue;
    if (listed == 0) textbuf_format(out, ", %s", names[kind]);
    if (listed < MAX_LISTED) textbuf_format(out, " #%u", k + 1);
    if (listed++ == MAX_LISTED) textbuf_puts(out, " …");
  }
}

static void note_alias(struct notes *n, struct nvm_inst_id i, struct textbuf *out) {
  struct memory_location a;
  uint32_t self = 0;
  if (!alias_location_of(n->facts.f, i, &a)) {
    uint32_t effects = effects_on_memory(n->facts.f, i);
    static const char *const texts[] = {"", "reads memory", "writes memory",
                                        "reads and writes memory"};
    textbuf_puts(out, texts[effects & EFFECT_BOTH]);
    return;
  }
  while (n->accesses.data[self].index != i.index) self++;
  struct nvm_value object = alias_underlying_object(n->facts.f, a.pointer);
  struct nvm_text name = facts_value(&n->facts, object);
  textbuf_format(out, "#%u: ", self + 1);
  if (a.bytes != ALIAS_ANY_BYTES) textbuf_format(out, "%U bytes of ", a.bytes);
  if (name.length) textbuf_text(out, name);
  else (void)print_value(n->facts.f, object, out);
  for (int kind = ALIAS_MUST; kind > ALIAS_NO; kind--)
    list_aliases(n, a, self, (enum alias)kind, out);
}

/* ---- The table ---- */

static const struct analysis {
  struct explain_analysis row;
  void (*of_block)(struct notes *n, struct nvm_block b, struct textbuf *out);  /* or NULL */
  void (*of_inst)(struct notes *n, struct nvm_inst_id i, struct textbuf *out); /* or NULL */
} analyses[] = {
    {{"dom", "the immediate dominator of a block, and how many blocks it dominates"},
     note_dominance,
     NULL},
    {{"loops", "the loop of a block: its header, depth, blocks and trip count"}, note_loop, NULL},
    {{"ranges", "the range and the known bits of an integer"}, NULL, note_range},
    {{"pressure", "the 32-bit registers that are live after an instruction"},
     note_block_pressure,
     note_pressure},
    {{"scev", "an integer or pointer in a loop as an affine form of the iteration"},
     note_iterations,
     note_scev},
    {{"alias", "the accesses that may or must touch the same bytes"}, NULL, note_alias},
    {{"divergence", "the values and branches that may differ between the threads of a warp"},
     NULL,
     note_divergence},
};

const struct explain_analysis *explain_analysis(uint32_t index) {
  return index < sizeof analyses / sizeof *analyses ? &analyses[index].row : NULL;
}

static const struct analysis *find_analysis(const char *name) {
  for (size_t k = 0; k < sizeof analyses / sizeof *analyses; k++)
    if (strcmp(analyses[k].row.name, name) == 0) return &analyses[k];
  return NULL;
}

bool explain_is_analysis(const char *name) { return find_analysis(name) != NULL; }

/* ---- Writing ---- */

static bool start_notes(struct notes *n, struct nvm_text text) {
  struct arena *a = &n->facts.arena;
  n->lines = 1;
  for (size_t i = 0; i < text.length; i++) n->lines += text.bytes[i] == '\n';
  n->at = arena_alloc(a, (n->lines + 1) * sizeof *n->at);
  n->alias = alias_init(n->facts.f, a);
  for (uint32_t k = 0; n->at && k <= n->lines; k++) textbuf_init(&n->at[k], a);
  FOR_EACH_BLOCK (n->facts.f, b)
    FOR_EACH_INST (n->facts.f, b, i) {
      struct memory_location l;
      if (alias_location_of(n->facts.f, i, &l)) (void)VEC_PUSH(a, &n->accesses, i);
    }
  return n->at && n->alias && !a->failed;
}

static void take_notes(struct notes *n, const struct analysis *analysis) {
  const struct facts *x = &n->facts;
  FOR_EACH_BLOCK (x->f, b) {
    if (analysis->of_block && x->block_line[b.index] <= n->lines)
      analysis->of_block(n, b, &n->at[x->block_line[b.index]]);
    FOR_EACH_INST (x->f, b, i)
      if (analysis->of_inst && x->line[i.index] && x->line[i.index] <= n->lines)
        analysis->of_inst(n, i, &n->at[x->line[i.index]]);
  }
}

static void put_lines(const struct notes *n, struct nvm_text text, struct textbuf *out) {
  const char *at = text.bytes, *end = at + text.length;
  for (uint32_t line = 1; at < end; line++) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((next ? next : end) - at);
    textbuf_write(out, at, length);
    if (n->at[line].length) {
      for (size_t k = length; k < COMMENT_COLUMN; k++) textbuf_char(out, ' ');
      textbuf_format(out, " ; %t", (struct nvm_text){n->at[line].bytes, n->at[line].length});
    }
    textbuf_char(out, '\n');
    at += length + 1;
  }
}

static void write_function(struct explain *e, struct nvm_function *f,
                           const struct analysis *analysis, struct textbuf *out) {
  struct nvm_text text = explain_name_values(e, f);
  struct notes n = {.facts = {.e = e, .f = f}};
  if (facts_compute(&n.facts) && start_notes(&n, text)) {
    take_notes(&n, analysis);
    put_lines(&n, text, out);
  }
  facts_end(&n.facts);
}

bool explain_write_analysis(struct nvm_module *m, const char *name, const char *only,
                            struct textbuf *out) {
  const struct analysis *analysis = find_analysis(name);
  struct explain e = {.watch = NULL};
  const char *separator = "";
  arena_init(&e.arena, nvm_default_allocator);
  bool right = strtab_init(&e.names, &e.arena);
  for (uint32_t k = 1; right && k < m->functions.count; k++) {
    struct nvm_function *f = m->functions.data[k];
    bool other = only && !text_is(module_text(m, f->symbol.name), only);
    if (function_is_declaration(f) || other) continue;
    textbuf_puts(out, separator);
    write_function(&e, f, analysis, out);
    separator = "\n";
  }
  right = right && !e.arena.failed;
  arena_free(&e.arena);
  return right;
}
