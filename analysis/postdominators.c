/* Post-dominators; see postdominators.h. After Cooper, Harvey and Kennedy, "A Simple, Fast
 * Dominance Algorithm", 2001, on the reversed control-flow graph: block 0, which no function has,
 * is the exit that all exits lead to. */
#include "analysis/postdominators.h"

struct finder {
  const struct nvm_function *f;
  const struct dominance *d;
  struct arena *arena;
  struct nvm_block *immediate; /* by block */
  uint32_t *number; /* by block: postorder number in the reversed graph, from 1; 0: reaches no exit
                     */
};

/* Numbers the blocks that reach an exit, by a depth-first walk of the reversed graph from the
 * exits. Returns how many they are; order[1 …] are the blocks. */
static uint32_t number_blocks(struct finder *s, struct nvm_block *order) {
  const struct dominance *d = s->d;
  uint32_t *stack = arena_alloc(s->arena, s->f->blocks.count * sizeof *stack);
  uint32_t *next = arena_alloc(s->arena, s->f->blocks.count * sizeof *next),
           count = 0; /* the next edge, plus 1 */
  if (!stack || !next) return 0;
  FOR_EACH_BLOCK (s->f, end) {
    uint32_t depth = 0;
    if (block_successor_count(s->f, end) || !dominance_reachable(d, end)) continue;
    stack[depth++] = end.index;
    next[end.index] = d->first_predecessor[end.index] + 1;
    while (depth) {
      uint32_t b = stack[depth - 1];
      if (next[b] > d->first_predecessor[b + 1]) {
        s->number[b] = ++count;
        order[count].index = b;
        depth--;
        continue;
      }
      struct nvm_block from = d->predecessors[next[b]++ - 1];
      if (next[from.index] || !dominance_reachable(d, from)) continue;
      next[from.index] = d->first_predecessor[from.index] + 1;
      stack[depth++] = from.index;
    }
  }
  return count;
}

/* The block that post-dominates both a and b and is nearest to them. */
static uint32_t meet(const struct finder *s, uint32_t a, uint32_t b) {
  while (a != b) {
    while (s->number[a] < s->number[b]) a = s->immediate[a].index;
    while (s->number[b] < s->number[a]) b = s->immediate[b].index;
  }
  return a;
}

struct nvm_block *postdominators_compute(const struct nvm_function *f, const struct dominance *d,
                                         struct arena *arena) {
  struct finder s = {.f = f, .d = d, .arena = arena};
  struct nvm_block *order = arena_alloc(arena, (f->blocks.count + 1) * sizeof *order);
  bool *known = arena_alloc(arena, f->blocks.count * sizeof *known);
  s.immediate = arena_alloc(arena, f->blocks.count * sizeof *s.immediate);
  s.number = arena_alloc(arena, f->blocks.count * sizeof *s.number);
  if (!order || !known || !s.immediate || !s.number) return NULL;
  uint32_t count = number_blocks(&s, order);
  s.number[0] = count + 1;
  for (bool changed = !arena->failed; changed;) {
    changed = false;
    for (uint32_t k = count; k > 0; k--) {
      uint32_t b = order[k].index, n = block_successor_count(f, order[k]), nearest = 0;
      bool any = n == 0;
      for (uint32_t e = 0; e < n; e++) {
        uint32_t to = block_successor(f, order[k], e).index;
        if (!known[to]) continue;
        nearest = any ? meet(&s, to, nearest) : to;
        any = true;
      }
      if (!any || (known[b] && s.immediate[b].index == nearest)) continue;
      s.immediate[b].index = nearest;
      known[b] = changed = true;
    }
  }
  return arena->failed ? NULL : s.immediate;
}
