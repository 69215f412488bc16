/* Blocks and natural loops of a PTX function. Dominators after Cooper, Harvey and Kennedy, "A
 * Simple, Fast Dominance Algorithm" (2001). A loop is the header of back edges and all blocks that
 * reach one without passing the header; irreducible cycles are not loops. */
#include "driver/cost/cost.h"

static const struct ptx_entry *entry_at(const struct ptx_function *f, uint32_t i) {
  return &f->entries.data[i];
}

static bool ends_block(const struct ptx_entry *e) {
  if (e->kind != PTX_INST) return false;
  return e->op == PTX_BRA || e->op == PTX_BRX || e->op == PTX_RET || e->op == PTX_EXIT ||
         e->op == PTX_TRAP;
}

static bool falls_through(const struct ptx_entry *e) {
  return !ends_block(e) || !ptx_reg_is_none(e->guard);
}

static void add_block(struct cost_graph *g, uint32_t begin, uint32_t end) {
  if (begin < end)
    (void)VEC_PUSH(g->arena, &g->blocks, (struct cost_block){.begin = begin, .end = end});
}

/* A block starts at each label and after each branch. Labels get their block + 1. */
static uint32_t *split(struct cost_graph *g) {
  const struct ptx_function *f = g->function;
  uint32_t *label_block = arena_alloc(g->arena, (f->labels.count + 1) * sizeof *label_block);
  uint32_t begin = 0;
  for (uint32_t k = 0; label_block && k <= f->labels.count; k++) label_block[k] = 0;
  for (uint32_t i = 0; label_block && i < f->entries.count; i++) {
    const struct ptx_entry *e = entry_at(f, i);
    bool label = e->kind == PTX_LABEL;
    if (label || ends_block(e)) {
      add_block(g, begin, label ? i : i + 1);
      begin = label ? i : i + 1;
    }
    if (label) label_block[e->first_mod] = g->blocks.count + 1;
  }
  add_block(g, begin, f->entries.count);
  return label_block;
}

static void add_edge(struct cost_graph *g, struct cost_block *b, uint32_t to) {
  if (to >= g->blocks.count || !VEC_PUSH(g->arena, &g->to, to)) return;
  b->to_count++;
  g->blocks.data[to].from_count++;
}

static void add_label_edge(struct cost_graph *g, struct cost_block *b, const uint32_t *label_block,
                           const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_LABEL && label_block[o->label])
    add_edge(g, b, label_block[o->label] - 1);
}

/* The targets of `brx.idx`: of the `.branchtargets` that its label names. */
static void add_table_edges(struct cost_graph *g, struct cost_block *b, const uint32_t *label_block,
                            uint32_t label) {
  const struct ptx_function *f = g->function;
  for (uint32_t i = 0; i < f->entries.count; i++) {
    const struct ptx_entry *e = entry_at(f, i);
    if (e->kind != PTX_BRANCHTARGETS || e->first_mod != label) continue;
    for (uint32_t k = 0; k < e->line; k++)
      add_label_edge(g, b, label_block, &f->operands.data[e->first_operand + k]);
  }
}

static void connect(struct cost_graph *g, const uint32_t *label_block) {
  const struct ptx_function *f = g->function;
  for (uint32_t k = 0; k < g->blocks.count; k++) {
    struct cost_block *b = &g->blocks.data[k];
    const struct ptx_entry *last = entry_at(f, b->end - 1);
    b->first_to = g->to.count;
    if (last->kind == PTX_INST && last->op == PTX_BRA)
      add_label_edge(g, b, label_block, &f->operands.data[last->first_operand]);
    if (last->kind == PTX_INST && last->op == PTX_BRX)
      add_table_edges(g, b, label_block, f->operands.data[last->first_operand + 1].label);
    if (falls_through(last)) add_edge(g, b, k + 1);
  }
}

static bool invert(struct cost_graph *g) {
  uint32_t at = 0;
  if (!VEC_RESERVE(g->arena, &g->from, (uint64_t)g->to.count + 1)) return false;
  for (uint32_t k = 0; k < g->blocks.count; k++) {
    g->blocks.data[k].first_from = at;
    at += g->blocks.data[k].from_count;
    g->blocks.data[k].from_count = 0;
  }
  for (uint32_t k = 0; k < g->blocks.count; k++)
    for (uint32_t i = 0; i < g->blocks.data[k].to_count; i++) {
      struct cost_block *to = &g->blocks.data[g->to.data[g->blocks.data[k].first_to + i]];
      g->from.data[to->first_from + to->from_count++] = k;
    }
  return true;
}

/* Depth-first, without recursion: `next` counts the successors already taken. */
static bool number(struct cost_graph *g) {
  uint32_t n = g->blocks.count, depth = 0, done = 0;
  uint32_t *stack = arena_alloc(g->arena, (n + 1) * sizeof *stack);
  uint32_t *next = arena_alloc(g->arena, (n + 1) * sizeof *next);
  if (!stack || !next || !VEC_RESERVE(g->arena, &g->order, (uint64_t)n + 1)) return false;
  for (uint32_t k = 0; k < n; k++) next[k] = UINT32_MAX;
  if (n) stack[depth++] = 0, next[0] = 0;
  while (depth) {
    struct cost_block *b = &g->blocks.data[stack[depth - 1]];
    if (next[stack[depth - 1]] == b->to_count) {
      g->order.data[n - ++done] = stack[--depth];
      continue;
    }
    uint32_t to = g->to.data[b->first_to + next[stack[depth - 1]]++];
    if (next[to] == UINT32_MAX) next[to] = 0, stack[depth++] = to;
  }
  for (uint32_t k = 0; k < done; k++) {
    g->order.data[k] = g->order.data[n - done + k];
    g->blocks.data[g->order.data[k]].order = k + 1;
  }
  g->order.count = done;
  return true;
}

static uint32_t meet(const struct cost_graph *g, uint32_t a, uint32_t b) {
  const struct cost_block *blocks = g->blocks.data;
  while (a != b) {
    while (blocks[a].order > blocks[b].order) a = blocks[a].dominator;
    while (blocks[b].order > blocks[a].order) b = blocks[b].dominator;
  }
  return a;
}

static void dominators(struct cost_graph *g) {
  bool changed = true;
  for (uint32_t k = 0; k < g->order.count; k++)
    g->blocks.data[g->order.data[k]].dominator = UINT32_MAX;
  if (g->order.count) g->blocks.data[0].dominator = 0;
  while (changed) {
    changed = false;
    for (uint32_t k = 1; k < g->order.count; k++) {
      struct cost_block *b = &g->blocks.data[g->order.data[k]];
      uint32_t found = UINT32_MAX;
      for (uint32_t i = 0; i < b->from_count; i++) {
        uint32_t from = g->from.data[b->first_from + i];
        if (!g->blocks.data[from].order || g->blocks.data[from].dominator == UINT32_MAX) continue;
        found = found == UINT32_MAX ? from : meet(g, from, found);
      }
      changed |= found != b->dominator;
      b->dominator = found;
    }
  }
}

bool cost_dominates(const struct cost_graph *g, uint32_t a, uint32_t b) {
  const struct cost_block *blocks = g->blocks.data;
  while (blocks[b].order > blocks[a].order) b = blocks[b].dominator;
  return a == b;
}

/* Gives the blocks that reach `latch` without passing the header to the loop. */
static bool flood(struct cost_graph *g, uint32_t loop, uint32_t latch, uint32_t *stack) {
  uint32_t depth = 0;
  if (g->blocks.data[latch].loop != loop) g->blocks.data[latch].loop = loop, stack[depth++] = latch;
  while (depth) {
    const struct cost_block *b = &g->blocks.data[stack[--depth]];
    for (uint32_t i = 0; i < b->from_count; i++) {
      uint32_t from = g->from.data[b->first_from + i];
      if (!g->blocks.data[from].order || g->blocks.data[from].loop == loop) continue;
      g->blocks.data[from].loop = loop;
      stack[depth++] = from;
    }
  }
  return true;
}

/* Headers in reverse postorder: an inner loop is found after the loops around it. */
static bool find_loops(struct cost_graph *g) {
  uint32_t *stack = arena_alloc(g->arena, (g->blocks.count + 1) * sizeof *stack);
  if (!stack || !VEC_PUSH(g->arena, &g->loops, (struct cost_loop){0})) return false;
  for (uint32_t k = 0; k < g->order.count; k++) {
    uint32_t header = g->order.data[k], loop = 0;
    struct cost_block *b = &g->blocks.data[header];
    for (uint32_t i = 0; i < b->from_count; i++) {
      uint32_t latch = g->from.data[b->first_from + i];
      if (!g->blocks.data[latch].order || !cost_dominates(g, header, latch)) continue;
      if (!loop) {
        uint32_t parent = b->loop;
        loop = g->loops.count;
        struct cost_loop made = {header, parent, g->loops.data[parent].depth + 1, true};
        if (!VEC_PUSH(g->arena, &g->loops, made)) return false;
        g->loops.data[parent].is_innermost = false;
        b->loop = loop;
      }
      flood(g, loop, latch, stack);
    }
  }
  return true;
}

bool cost_graph_build(struct cost_graph *g, const struct ptx_function *f, struct arena *arena) {
  *g = (struct cost_graph){.arena = arena, .function = f};
  const uint32_t *label_block = split(g);
  if (!label_block || arena->failed) return false;
  connect(g, label_block);
  if (arena->failed || !invert(g) || !number(g)) return false;
  dominators(g);
  return find_loops(g);
}
