/* The order in which the blocks of an IR function are executed code.
 *
 * Of lanes that parted the machine runs those at the lowest place first (warp.c). They meet at the
 * immediate post-dominator of the branch, or before, if every block stands behind what leads to it
 * and the blocks of a loop stand together: then all that lies between the branch and its
 * post-dominator is lower than that. Such an order is reverse postorder in which each loop, as a
 * whole, takes the place of its header. Loops are natural ones; in an irreducible cycle lanes may
 * meet later, which changes nothing but speed. */
#include "ir/dominance.h"
#include "sim/ir.h"

struct order {
  const struct nvm_function *f;
  struct dominance dominance;
  uint32_t blocks;           /* of the table */
  struct nvm_block *reverse; /* reverse postorder */
  uint32_t count;
  uint32_t *place;  /* in it, + 1 */
  uint32_t *header; /* of the innermost loop around a block; of a header: itself; 0: none */
  uint32_t *outer;  /* of a header: the header of the loop around it */
  uint32_t *first, *last, *next; /* lists of what stands directly in a loop, [0]: in no loop */
};

/* Depth first without recursion; *stack has room for every block. */
static void reverse_postorder(struct order *o, struct nvm_block *stack, uint32_t *successor) {
  uint32_t depth = 0, end = o->blocks;
  stack[depth++] = o->f->entry;
  o->place[o->f->entry.index] = 1;
  while (depth) {
    struct nvm_block b = stack[depth - 1];
    if (successor[b.index] == block_successor_count(o->f, b)) {
      o->reverse[--end] = b;
      depth--;
      continue;
    }
    struct nvm_block to = block_successor(o->f, b, successor[b.index]++);
    if (o->place[to.index]) continue;
    o->place[to.index] = 1;
    stack[depth++] = to;
  }
  o->reverse += end;
  o->count = o->blocks - end;
  for (uint32_t i = 0; i < o->count; i++) o->place[o->reverse[i].index] = i + 1;
}

/* The outermost loop found so far that holds b. */
static uint32_t outermost(struct order *o, uint32_t b) {
  uint32_t h = o->header[b];
  while (h && o->outer[h]) h = o->outer[h];
  return h;
}

/* Headers from the last to the first, so that inner loops are known before those around them: walks
 * back from the latches; a block that is in a loop already stands for that loop. */
static void find_loop(struct order *o, uint32_t h, struct nvm_block *stack) {
  const struct dominance *d = &o->dominance;
  uint32_t depth = 0;
  for (uint32_t k = d->first_predecessor[h]; k < d->first_predecessor[h + 1]; k++) {
    struct nvm_block p = d->predecessors[k];
    if (o->place[p.index] && dominance_dominates(d, (struct nvm_block){h}, p)) stack[depth++] = p;
    if (depth) o->header[h] = h;
  }
  while (depth) {
    uint32_t b = stack[--depth].index;
    if (b == h) continue;
    uint32_t inner = outermost(o, b);
    if (inner == h) continue;
    if (inner) o->outer[inner] = h;
    else o->header[b] = h;
    uint32_t from = inner ? inner : b;
    for (uint32_t k = d->first_predecessor[from]; k < d->first_predecessor[from + 1]; k++) {
      struct nvm_block p = d->predecessors[k];
      if (o->place[p.index] && outermost(o, p.index) != h) stack[depth++] = p;
    }
  }
}

/* Appends block or loop `item` to the list of the loop with that header. */
static void append_item(struct order *o, uint32_t loop, uint32_t item) {
  if (o->last[loop]) o->next[o->last[loop]] = item;
  else o->first[loop] = item;
  o->last[loop] = item;
}

/* Each list in turn; a header other than the list's own opens its loop. Items: blocks are b, loops
 * b + blocks. */
static uint32_t flatten(struct order *o, struct nvm_block *out, uint32_t *stack) {
  uint32_t count = 0, depth = 0, item = o->first[0];
  for (;;) {
    if (item == 0) {
      if (depth == 0) return count;
      item = stack[--depth];
    } else if (item >= o->blocks) {
      stack[depth++] = o->next[item];
      item = o->first[item - o->blocks];
    } else {
      out[count++] = (struct nvm_block){item};
      item = o->next[item];
    }
  }
}

static bool allocate(struct order *o, struct arena *a) {
  size_t n = o->blocks;
  o->reverse = arena_alloc(a, n * sizeof *o->reverse);
  uint32_t **tables[] = {&o->place, &o->header, &o->outer, &o->first, &o->last};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (!(*tables[i] = arena_alloc(a, n * sizeof **tables[i]))) return false;
  o->next = arena_alloc(a, 2 * n * sizeof *o->next);
  return o->reverse && o->next;
}

const struct nvm_block *ir_order_blocks(const struct nvm_function *f, struct arena *a,
                                        uint32_t *count) {
  struct order o = {.f = f, .blocks = f->blocks.count};
  uint32_t *numbers = arena_alloc(a, o.blocks * sizeof *numbers);
  uint32_t edges = 0;
  if (!dominance_compute(&o.dominance, f, a) || !allocate(&o, a) || !numbers) return NULL;
  edges = o.dominance.first_predecessor[o.blocks - 1] + o.blocks + 1;
  FOR_EACH_BLOCK(f, b) edges += block_successor_count(f, b);
  struct nvm_block *stack = arena_alloc(a, (size_t)edges * sizeof *stack);
  struct nvm_block *out = arena_alloc(a, o.blocks * sizeof *out);
  if (!stack || !out) return NULL;
  reverse_postorder(&o, stack, numbers);
  for (uint32_t i = o.count; i-- > 0;) find_loop(&o, o.reverse[i].index, stack);
  for (uint32_t i = 0; i < o.count; i++) {
    uint32_t b = o.reverse[i].index, loop = o.header[b];
    if (loop == b) append_item(&o, o.outer[b], b + o.blocks);
    append_item(&o, loop, b);
  }
  *count = flatten(&o, out, numbers);
  return out;
}
