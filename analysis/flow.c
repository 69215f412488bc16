/* Cached control-flow analyses; see flow.h. A checking build recomputes the dominator tree at each
 * call and asserts that the cached one is current. */
#include "analysis/flow.h"

#include <assert.h>

void flow_init(struct flow *w, struct nvm_allocator allocator) {
  *w = (struct flow){.has_dominance = false};
  arena_init_reused(&w->arena, allocator);
}

void flow_free(struct flow *w) { arena_free(&w->arena); }

void flow_invalidate(struct flow *w) {
  if (w->has_dominance) arena_reset(&w->arena);
  w->has_dominance = w->has_loops = false;
}

#ifdef NVM_CHECKING
static bool is_current(const struct flow *w, const struct nvm_function *f) {
  struct dominance now;
  struct arena a;
  arena_init_reused(&a, w->arena.allocator);
  const struct dominance *was = &w->dominance;
  bool same = !dominance_compute(&now, f, &a);
  if (!same) {
    size_t blocks = f->blocks.count, edges = now.first_predecessor[blocks];
    same = memcmp(now.immediate, was->immediate, blocks * sizeof *now.immediate) == 0 &&
           memcmp(now.first_predecessor, was->first_predecessor,
                  (blocks + 1) * sizeof *now.first_predecessor) == 0 &&
           memcmp(now.predecessors, was->predecessors, edges * sizeof *now.predecessors) == 0;
  }
  arena_free(&a);
  return same;
}
#endif

bool flow_dominance(struct flow *w, const struct nvm_function *f, struct dominance *d) {
#ifdef NVM_CHECKING
  assert(!w->has_dominance || is_current(w, f));
#endif
  if (!w->has_dominance) w->has_dominance = dominance_compute(&w->dominance, f, &w->arena);
  *d = w->dominance;
  return w->has_dominance;
}

bool flow_loops(struct flow *w, const struct nvm_function *f, struct dominance *d,
                struct loops *l) {
  if (!flow_dominance(w, f, d)) return false;
  if (!w->has_loops) w->has_loops = loops_compute(&w->loops, f, &w->dominance, &w->arena);
  *l = w->loops;
  return w->has_loops;
}
