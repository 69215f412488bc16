/* Remembered analyses of the control flow; see flow.h. */
#include "opt/analysis/flow.h"

void flow_init(struct flow *w, struct nvm_allocator allocator) {
  *w = (struct flow){.has_dominance = false};
  arena_init_reused(&w->arena, allocator);
}

void flow_free(struct flow *w) { arena_free(&w->arena); }

void flow_forget(struct flow *w) {
  if (w->has_dominance) arena_reset(&w->arena);
  w->has_dominance = w->has_loops = false;
}

bool flow_dominance(struct flow *w, const struct nvm_function *f, struct dominance *d) {
  if (!w->has_dominance) w->has_dominance = dominance_compute(&w->dominance, f, &w->arena);
  *d = w->dominance;
  return w->has_dominance;
}

bool flow_loops(struct flow *w, const struct nvm_function *f, struct dominance *d, struct loops *l) {
  if (!flow_dominance(w, f, d)) return false;
  if (!w->has_loops) w->has_loops = loops_compute(&w->loops, f, &w->dominance, &w->arena);
  *l = w->loops;
  return w->has_loops;
}
