/* Dominators by the semi-NCA algorithm (L. Georgiadis, "Linear-Time Algorithms for Dominators and
 * Related Problems", 2005). Cooper, Harvey and Kennedy's simpler iteration walks up the whole tree
 * for every edge into a common exit, which is quadratic for a long chain of checks that branch to
 * one trap block. Real kernels have that shape.
 *
 * Blocks are renumbered in depth-first preorder, the entry 1. Then
 *   semi(w)   the least u from which a path of larger numbers leads to w, found in decreasing order
 *             of w with path compression over the depth-first tree
 *   idom(w)   the nearest ancestor of w in the tree of idoms with a number of at most semi(w)
 * An immediate dominator has a smaller number than its block, so the preorder of the resulting tree
 * follows from subtree sizes. No recursion. */
#include "ir/dominance.h"

struct semi_nca {
  const struct nvm_function *f;
  struct dominance *d;
  uint32_t *number; /* block → preorder number, 0: unreachable */
  uint32_t *vertex; /* number → block; from here on all are indexed by number */
  uint32_t *parent; /* in the depth-first tree; compressed as the search goes */
  uint32_t *idom;   /* starts as the uncompressed parent */
  uint32_t *semi, *label;
  uint32_t *stack;
  uint32_t count;
};

static bool predecessors_compute(struct dominance *d, const struct nvm_function *f,
                                 struct arena *a) {
  uint64_t edges = 0;
  d->first_predecessor = arena_alloc(a, ((size_t)f->blocks.count + 2) * sizeof(uint32_t));
  if (!d->first_predecessor) return false;
  uint32_t *first = d->first_predecessor + 1; /* one ahead: filling moves each to its end */
  FOR_EACH_BLOCK (f, b) {
    uint32_t count = block_successor_count(f, b);
    edges += count;
    for (uint32_t k = 0; k < count; k++) first[block_successor(f, b, k).index]++;
  }
  uint32_t sum = 0;
  for (uint32_t b = 0; b <= f->blocks.count; b++) {
    uint32_t count = first[b];
    first[b] = sum;
    sum += count;
  }
  d->predecessors = arena_alloc(a, (size_t)edges * sizeof *d->predecessors);
  if (!d->predecessors) return false;
  FOR_EACH_BLOCK (f, b) {
    uint32_t count = block_successor_count(f, b);
    for (uint32_t k = 0; k < count; k++) {
      uint32_t to = block_successor(f, b, k).index;
      d->predecessors[first[to]++] = b;
    }
  }
  return true;
}

/* Arrays that are read before they are written are zeroed. */
static bool allocate(struct semi_nca *s, struct arena *a) {
  uint32_t **zero[] = {&s->number, &s->d->enter, &s->d->size},
           **raw[] = {&s->vertex, &s->parent, &s->idom, &s->semi, &s->label, &s->stack};
  size_t zeros = sizeof zero / sizeof *zero, raws = sizeof raw / sizeof *raw,
         blocks = (size_t)s->f->blocks.count + 1;
  uint32_t *known = arena_alloc(a, zeros * blocks * sizeof *known),
           *other = arena_grow_raw(a, NULL, 0, raws * blocks * sizeof *other);
  s->d->immediate = arena_alloc(a, blocks * sizeof *s->d->immediate);
  s->d->postorder = arena_grow_raw(a, NULL, 0, blocks * sizeof *s->d->postorder);
  if (!known || !other || !s->d->immediate || !s->d->postorder) return false;
  for (size_t i = 0; i < zeros; i++) *zero[i] = known + i * blocks;
  for (size_t i = 0; i < raws; i++) *raw[i] = other + i * blocks;
  return true;
}

static void visit(struct semi_nca *s, uint32_t block, uint32_t parent) {
  uint32_t n = ++s->count;
  s->number[block] = n;
  s->vertex[n] = block;
  s->parent[n] = s->idom[n] = parent;
  s->semi[n] = s->label[n] = n;
}

/* Depth first from the entry. d->size is unused yet and holds the next successor of each number. */
static void number_blocks(struct semi_nca *s) {
  uint32_t depth = 0, left = 0;
  visit(s, s->f->entry.index, 0);
  s->stack[depth++] = 1;
  while (depth > 0) {
    uint32_t n = s->stack[depth - 1];
    struct nvm_block b = {s->vertex[n]};
    uint32_t k = s->d->size[n]++;
    if (k >= block_successor_count(s->f, b)) {
      s->d->postorder[left++] = b;
      depth--;
      continue;
    }
    uint32_t to = block_successor(s->f, b, k).index;
    if (s->number[to]) continue;
    visit(s, to, n);
    s->stack[depth++] = s->count;
  }
}

/* The number with the least semi among v and its linked ancestors, those numbered from `linked` on.
 * Compresses the path. */
static uint32_t evaluate(struct semi_nca *s, uint32_t v, uint32_t linked) {
  if (v < linked) return s->label[v];
  uint32_t depth = 0;
  while (s->parent[v] >= linked) {
    s->stack[depth++] = v;
    v = s->parent[v];
  }
  uint32_t above = v;
  while (depth > 0) {
    v = s->stack[--depth];
    s->parent[v] = s->parent[above];
    if (s->semi[s->label[above]] < s->semi[s->label[v]]) s->label[v] = s->label[above];
    above = v;
  }
  return s->label[v];
}

static void find_dominators(struct semi_nca *s) {
  for (uint32_t w = s->count; w >= 2; w--) {
    uint32_t block = s->vertex[w];
    s->semi[w] = s->parent[w];
    uint32_t end = s->d->first_predecessor[block + 1];
    for (uint32_t k = s->d->first_predecessor[block]; k < end; k++) {
      uint32_t v = s->number[s->d->predecessors[k].index];
      if (v == 0) continue;
      uint32_t least = s->semi[evaluate(s, v, w + 1)];
      if (least < s->semi[w]) s->semi[w] = least;
    }
  }
  for (uint32_t w = 2; w <= s->count; w++)
    while (s->idom[w] > s->semi[w]) s->idom[w] = s->idom[s->idom[w]];
}

/* Fills enter and size by block. Reuses `semi` and `label` for sizes and next numbers. */
static void number_tree(struct semi_nca *s) {
  uint32_t *size = s->semi, *next = s->label;
  memset(s->d->size, 0, ((size_t)s->f->blocks.count + 1) * sizeof *s->d->size);
  for (uint32_t w = 1; w <= s->count; w++) size[w] = 1;
  for (uint32_t w = s->count; w >= 2; w--) size[s->idom[w]] += size[w];
  next[0] = 1;
  for (uint32_t w = 1; w <= s->count; w++) {
    uint32_t above = w == 1 ? 0 : s->idom[w], enter = next[above];
    next[above] += size[w];
    next[w] = enter + 1;
    s->d->enter[s->vertex[w]] = enter;
    s->d->size[s->vertex[w]] = size[w];
    if (w > 1) s->d->immediate[s->vertex[w]] = (struct nvm_block){s->vertex[above]};
  }
}

bool dominance_compute(struct dominance *d, const struct nvm_function *f, struct arena *a) {
  struct semi_nca s = {.f = f, .d = d};
  if (!predecessors_compute(d, f, a) || !allocate(&s, a)) return false;
  if (block_is_none(f->entry)) return true;
  number_blocks(&s);
  find_dominators(&s);
  number_tree(&s);
  return true;
}

struct nvm_block *dominance_preorder(const struct dominance *d, const struct nvm_function *f,
                                     struct arena *a) {
  uint32_t count = d->size[f->entry.index];
  struct nvm_block *order = arena_alloc(a, (count + 1) * sizeof *order);
  for (uint32_t k = 0; order && k < count; k++)
    order[d->enter[d->postorder[k].index]] = d->postorder[k];
  return order;
}
