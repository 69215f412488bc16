/* loop-simplify: loops get the canonical form: preheader, one latch, dedicated exits.
 *
 * Purpose:   without it each loop pass would have to split edges itself.
 * Algorithm: edges of one kind are redirected through a new block: those that enter a header,
 *            those back to it if there are several, those to an exit that other blocks reach too.
 * Requires:  nothing.
 * Preserves: everything but the shape of the graph; hints stay on the latch.
 * Cost:      linear; for an exit shared by several loops, its predecessors times these loops.
 * Omits:     separating two loops that share a header.
 * Tests:     check/opt/loop-simplify-*. */
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"

struct simplifier {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct nvm_block *from; /* predecessors of a block */
  uint32_t *stamp;        /* by block: the last search that found it */
  uint32_t search;
  bool changed;
};

/* Fills `from` with the reachable predecessors of b inside or outside of loop n, each once. */
static uint32_t collect(struct simplifier *s, uint32_t n, struct nvm_block b, bool inside) {
  const struct dominance *d = &s->nest.d;
  uint32_t count = 0;
  s->search++;
  FOR_EACH_PREDECESSOR (d, b, k) {
    struct nvm_block p = d->predecessors[k];
    bool reachable = dominance_reachable(d, p) || !inside; /* unreachable blocks are outside */
    if (block_is_none(p) || !reachable || s->stamp[p.index] == s->search) continue;
    if ((dominance_reachable(d, p) && loops_contains(&s->nest.loops, n, p)) != inside) continue;
    s->stamp[p.index] = s->search;
    s->from[count++] = p;
  }
  return count;
}

static bool split(struct simplifier *s, struct nvm_block b, uint32_t count,
                  struct nvm_block *made) {
  *made = loop_split_predecessors(s->f, b, s->from, count);
  s->changed = true;
  ++*s->env->statistic;
  return made->index != 0;
}

static bool make_entry_and_latch(struct simplifier *s, uint32_t n) {
  const struct loop *l = &s->nest.loops.data[n];
  struct nvm_block made;
  uint32_t count = collect(s, n, l->header, false);
  bool fine = count == 1 && l->preheader.index;
  if (count && !fine && !split(s, l->header, count, &made)) return false;
  if (l->latch.index) return true;
  count = collect(s, n, l->header, true);
  for (uint32_t k = 0; k < count; k++)
    if (!loop_attach(s->f, block_terminator(s->f, s->from[k]), (struct nvm_meta){0})) return false;
  if (!split(s, l->header, count, &made)) return false;
  function_move_block(s->f, made, function_block(s->f, s->from[count - 1])->next);
  return !l->hints.index || loop_attach(s->f, block_terminator(s->f, made), l->hints);
}

/* Removes the edges that collect() found last from the predecessors of b. */
static void remove_edges(struct simplifier *s, struct nvm_block b) {
  const struct dominance *d = &s->nest.d;
  FOR_EACH_PREDECESSOR (d, b, k)
    if (s->stamp[d->predecessors[k].index] == s->search) d->predecessors[k].index = 0;
}

/* Splits the exits of loop n that other blocks reach too, among them blocks made for other loops
 * (`touched`), which are in no loop that `to` is not in. */
static bool dedicate_exits(struct simplifier *s, uint32_t n, uint32_t known, bool *touched) {
  uint32_t count;
  const struct loop_exit *exits = loops_exits(&s->nest.loops, n, &count);
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block b = exits[k].from, made;
    if (k && exits[k - 1].from.index == b.index) continue;
    for (uint32_t e = 0; e < block_successor_count(s->f, b); e++) {
      struct nvm_block to = block_successor(s->f, b, e);
      if (to.index >= known || loops_contains(&s->nest.loops, n, to)) continue;
      if (!touched[to.index] && collect(s, n, to, false) == 0) continue;
      if (!split(s, to, collect(s, n, to, true), &made)) return false;
      remove_edges(s, to);
      touched[to.index] = true;
    }
  }
  return true;
}

/* Computes the nest, and allocates lists of blocks. */
static bool survey(struct simplifier *s) {
  uint32_t blocks = s->f->blocks.count;
  s->from = arena_alloc(s->env->arena, blocks * sizeof *s->from);
  s->stamp = arena_alloc(s->env->arena, blocks * sizeof *s->stamp);
  if (!s->from || !s->stamp) return false;
  return s->changed ? loop_nest_compute(&s->nest, s->f, s->env->arena)
                    : loop_nest_of(&s->nest, s->f, s->env);
}

enum nvm_status loop_simplify_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct simplifier s = {.f = f, .env = env};
  if (!survey(&s)) return NVM_OUT_OF_MEMORY;
  if (s.nest.loops.count == 0) return NVM_OK;
  for (uint32_t n = 1; n <= s.nest.loops.count; n++)
    if (!make_entry_and_latch(&s, n)) return NVM_OUT_OF_MEMORY;
  uint32_t known = f->blocks.count;
  bool *touched = arena_alloc(env->arena, known * sizeof *touched);
  if (!touched || (s.changed && !survey(&s))) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = s.nest.loops.count; n >= 1; n--)
    if (!dedicate_exits(&s, n, known, touched)) return NVM_OUT_OF_MEMORY;
  *changed = s.changed;
  return NVM_OK;
}
