/* Natural loops; see loops.h.
 *
 * Headers are visited in postorder, inner before outer. A backward search runs from the sources of
 * a header's back edges up to the header. Where it meets a loop found earlier it continues at that
 * loop's header, so that no block is visited twice (as in LLVM's LoopInfo, with path compression
 * instead of climbing). Then blocks are laid out in reverse postorder with contiguous loops: a
 * header reserves as many places as its loop has blocks. The result is a reverse postorder too,
 * because a loop is entered only through its header. */
#include "analysis/loops.h"

struct finder {
  const struct nvm_function *f;
  const struct dominance *d;
  uint32_t *inner;  /* by block: the header of its innermost loop, 0: none */
  uint32_t *outer;  /* by header: the header of the loop around it, 0: none known yet */
  uint32_t *root;   /* by header: the header of a loop around it, compressed */
  uint32_t *stack;  /* room for all edges and blocks */
  uint32_t *next;   /* by loop: the next free place */
  uint32_t *number; /* by header: its loop */
};

static bool allocate(struct finder *s, struct loops *l, struct arena *a) {
  uint32_t blocks = s->f->blocks.count + 1, edges = s->d->first_predecessor[blocks - 1];
  uint32_t **arrays[] = {&s->inner, &s->outer, &s->root, &s->next, &s->number, &l->innermost};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
    if (!(*arrays[k] = arena_alloc(a, blocks * sizeof(uint32_t)))) return false;
  s->stack = arena_alloc(a, ((size_t)edges * 2 + blocks) * sizeof *s->stack);
  l->blocks = arena_alloc(a, blocks * sizeof *l->blocks);
  return s->stack && l->blocks;
}

/* The header of the outermost loop known to contain the loop of h. */
static uint32_t outermost(struct finder *s, uint32_t h) {
  uint32_t top = h;
  while (s->root[top]) top = s->root[top];
  while (h != top) {
    uint32_t next = s->root[h];
    s->root[h] = top;
    h = next;
  }
  return top;
}

/* Pushes the reachable predecessors of b; with `back`, only the sources of back edges. */
static uint32_t push_predecessors(struct finder *s, struct nvm_block b, bool back, uint32_t depth) {
  FOR_EACH_PREDECESSOR (s->d, b, k) {
    struct nvm_block p = s->d->predecessors[k];
    if (!dominance_reachable(s->d, p) || (back && !dominance_dominates(s->d, b, p))) continue;
    s->stack[depth++] = p.index;
  }
  return depth;
}

static bool find_loop(struct finder *s, struct nvm_block header) {
  uint32_t h = header.index, depth = push_predecessors(s, header, true, 0);
  if (depth == 0) return false;
  uint32_t within = s->inner[h] = h;
  while (depth) {
    uint32_t b = s->stack[--depth];
    if (!s->inner[b]) {
      s->inner[b] = h;
      depth = push_predecessors(s, (struct nvm_block){b}, false, depth);
      continue;
    }
    within = outermost(s, s->inner[b]);
    if (within == h) continue;
    s->outer[within] = s->root[within] = h;
    depth = push_predecessors(s, (struct nvm_block){within}, false, depth);
  }
  return true;
}

static uint32_t find_loops(struct finder *s) {
  uint32_t reachable = s->d->size[s->f->entry.index], found = 0;
  for (uint32_t k = 0; k < reachable; k++) found += find_loop(s, s->d->postorder[k]);
  return found;
}

/* Numbers the loops in reverse postorder of their headers and places the blocks. */
static void lay_out(struct finder *s, struct loops *l, uint32_t blocks) {
  uint32_t *size = s->root; /* by header; root is no longer needed */
  memset(size, 0, (s->f->blocks.count + 1) * sizeof *size);
  for (uint32_t k = 0; k < blocks; k++) /* postorder: inner headers come before outer ones */ {
    uint32_t b = s->d->postorder[k].index, h = s->inner[b];
    if (!h) continue;
    size[h]++;
    if (h == b && s->outer[h]) size[s->outer[h]] += size[h];
  }
  l->data[0] = (struct loop){.header = s->f->entry, .block_count = blocks, .end = l->count + 1};
  uint32_t loops = 0, *next = s->next;
  next[0] = 0;
  for (uint32_t k = blocks; k-- > 0;) {
    struct nvm_block b = s->d->postorder[k];
    if (s->inner[b.index] == b.index) {
      uint32_t n = ++loops, parent = s->outer[b.index] ? s->number[s->outer[b.index]] : 0;
      s->number[b.index] = n;
      l->data[n] = (struct loop){.header = b,
                                 .parent = parent,
                                 .depth = l->data[parent].depth + 1,
                                 .first_block = next[parent],
                                 .block_count = size[b.index]};
      next[n] = next[parent];
      next[parent] += size[b.index];
    }
    uint32_t n = s->inner[b.index] ? s->number[s->inner[b.index]] : 0;
    l->innermost[b.index] = n;
    l->blocks[next[n]++] = b;
  }
}

/* Renumbers the loops in preorder of the nest, which is the order of their first blocks. */
static bool renumber(struct loops *l, struct finder *s, struct arena *a) {
  struct loop *old = arena_alloc(a, (l->count + 1) * sizeof *old);
  if (!old) return false;
  memcpy(old, l->data, (l->count + 1) * sizeof *old);
  uint32_t n = 0, *now = s->next;
  for (uint32_t k = 0; k < l->data[0].block_count; k++) {
    uint32_t b = l->blocks[k].index;
    if (s->inner[b] == b) {
      now[l->innermost[b]] = ++n;
      l->data[n] = old[l->innermost[b]];
      l->data[n].parent = l->data[n].parent ? now[l->data[n].parent] : 0;
    }
  }
  for (uint32_t k = 0; k < l->data[0].block_count; k++) {
    uint32_t *innermost = &l->innermost[l->blocks[k].index];
    *innermost = *innermost ? now[*innermost] : 0;
  }
  for (n = l->count; n >= 1; n--) {
    struct loop *p = &l->data[l->data[n].parent];
    if (!l->data[n].end) l->data[n].end = n + 1;
    if (!p->end) p->end = l->data[n].end; /* its last child comes first */
  }
  return true;
}

/* *only becomes b if b is the first, and {0} for good if b differs from an earlier one. */
static void note_only(struct nvm_block *only, bool *any, struct nvm_block b) {
  if (!*any) *only = b;
  else if (only->index != b.index) only->index = 0;
  *any = true;
}

static void find_entries(struct loops *l, uint32_t n, const struct nvm_function *f,
                         const struct dominance *d) {
  struct loop *p = &l->data[n];
  bool any_in = false, any_back = false;
  FOR_EACH_PREDECESSOR (d, p->header, k) {
    struct nvm_block b = d->predecessors[k];
    if (!dominance_reachable(d, b)) continue;
    if (loops_contains(l, n, b)) {
      struct nvm_meta hints = loops_hints_of(f, block_terminator(f, b));
      p->hints = !any_back || p->hints.index == hints.index ? hints : (struct nvm_meta){0};
      note_only(&p->latch, &any_back, b);
    } else {
      note_only(&p->preheader, &any_in, b);
    }
  }
  if (p->preheader.index && block_successor_count(f, p->preheader) != 1) p->preheader.index = 0;
}

/* Notes each edge at every loop that it leaves. Counts the edges or, with `fill`, lists them. */
static void find_exits(struct loops *l, const struct nvm_function *f, bool fill) {
  for (uint32_t k = 0; k < l->data[0].block_count; k++) {
    struct nvm_block b = l->blocks[k], previous = {0};
    if (l->innermost[b.index] == 0) continue;
    for (uint32_t s = 0, count = block_successor_count(f, b); s < count; s++) {
      struct nvm_block to = block_successor(f, b, s);
      if (to.index == previous.index) continue; /* cases of a switch */
      previous = to;
      for (uint32_t n = l->innermost[b.index]; n && !loops_contains(l, n, to);
           n = l->data[n].parent) {
        struct loop *p = &l->data[n];
        bool any = p->exit_count != 0, seen = any;
        if (fill && p->exit_count < LOOP_MOST_EXITS)
          l->exits[p->first_exit + p->exit_count] = (struct loop_exit){b, to};
        note_only(&p->exiting, &any, b);
        note_only(&p->exit, &seen, to);
        p->exit_count++;
      }
    }
  }
}

static bool list_exits(struct loops *l, const struct nvm_function *f, struct arena *arena) {
  uint64_t total = 0;
  if (l->count) find_exits(l, f, false);
  for (uint32_t n = 1; n <= l->count; n++) {
    struct loop *p = &l->data[n];
    p->first_exit = (uint32_t)total;
    total += p->exit_count <= LOOP_MOST_EXITS ? p->exit_count : LOOP_MOST_EXITS;
    p->exit_count = 0;
  }
  l->exits = arena_alloc(arena, (total + 1) * sizeof *l->exits);
  if (!l->exits) return false;
  if (total) find_exits(l, f, true);
  return true;
}

bool loops_compute(struct loops *l, const struct nvm_function *f, const struct dominance *d,
                   struct arena *arena) {
  struct finder s = {.f = f, .d = d};
  *l = (struct loops){.known_blocks = f->blocks.count};
  if (!allocate(&s, l, arena)) return false;
  if (!block_is_none(f->entry)) l->count = find_loops(&s);
  l->data = arena_alloc(arena, (l->count + 1) * sizeof *l->data);
  if (!l->data) return false;
  if (block_is_none(f->entry)) return true;
  lay_out(&s, l, d->size[f->entry.index]);
  if (!renumber(l, &s, arena)) return false;
  for (uint32_t n = 1; n <= l->count; n++) find_entries(l, n, f, d);
  return list_exits(l, f, arena);
}

const struct loop_exit *loops_exits(const struct loops *l, uint32_t n, uint32_t *count) {
  bool listed = l->data[n].exit_count <= LOOP_MOST_EXITS;
  *count = listed ? l->data[n].exit_count : 0;
  return listed ? l->exits + l->data[n].first_exit : NULL;
}

bool loops_are_all_cycles(const struct nvm_function *f, const struct dominance *d,
                          struct arena *arena) {
  uint32_t count = d->size[f->entry.index];
  uint32_t *place = arena_alloc(arena, f->blocks.count * sizeof *place);
  if (!place) return false;
  for (uint32_t k = 0; k < count; k++) place[d->postorder[k].index] = k;
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t s = 0; s < block_successor_count(f, d->postorder[k]); s++) {
      struct nvm_block to = block_successor(f, d->postorder[k], s);
      if (place[to.index] >= k && !dominance_dominates(d, to, d->postorder[k])) return false;
    }
  return true;
}

struct nvm_block loops_place_above(const struct loops *l, const struct nvm_function *f,
                                   const struct dominance *d, struct nvm_block place,
                                   const struct nvm_inst *i, uint32_t k) {
  struct nvm_block use =
      i->op == OP_PHI ? (struct nvm_block){value_index(inst_operand(f, i, k + 1))} : i->block;
  if (!dominance_reachable(d, use)) use = f->entry;
  if (place.index == 0) place = use;
  while (l->innermost[place.index] || !dominance_dominates(d, place, use))
    place = d->immediate[place.index];
  return place;
}

bool loops_is_invariant(const struct loops *l, const struct nvm_function *f, uint32_t n,
                        struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return true;
  return !loops_contains(l, n, f->insts.data[value_index(v)].block);
}

struct nvm_meta loops_hints_of(const struct nvm_function *f, struct nvm_inst_id branch) {
  uint32_t chain = f->attachments.data[branch.index];
  if (chain == 0) return (struct nvm_meta){0};
  struct nvm_str kind = strtab_find(&f->module->strings, "llvm.loop", strlen("llvm.loop"));
  return kind.index ? module_attachment(f->module, chain, kind) : (struct nvm_meta){0};
}

struct nvm_str loops_hint_name(const struct nvm_module *m, struct nvm_meta hint) {
  const struct meta_node *node = meta_as_node(&m->metadata, hint);
  if (!node || node->count == 0) return (struct nvm_str){0};
  const struct meta_item *name = meta_item(&m->metadata, meta_operand(&m->metadata, node, 0));
  return name->kind == META_STRING ? name->str : (struct nvm_str){0};
}

struct loop_hint loops_hint(const struct nvm_function *f, struct nvm_meta hints, const char *name) {
  const struct nvm_module *m = f->module;
  const struct meta_table *t = &m->metadata;
  const struct meta_node *all = hints.index ? meta_as_node(t, hints) : NULL;
  struct nvm_str wanted = strtab_find(&m->strings, name, strlen(name));
  for (uint32_t k = 1; all && wanted.index && k < all->count; k++) {
    if (loops_hint_name(m, meta_operand(t, all, k)).index != wanted.index) continue;
    const struct meta_node *hint = meta_as_node(t, meta_operand(t, all, k));
    if (hint->count == 1) return (struct loop_hint){true, 1};
    const struct meta_item *value = meta_item(t, meta_operand(t, hint, 1));
    nvm_u128 bits;
    if (value->kind == META_VALUE && const_is_int(m, value->value, &bits))
      return (struct loop_hint){true, (int64_t)bits};
  }
  return (struct loop_hint){false, 0};
}

bool loops_forbid_unrolling(const struct nvm_function *f, struct nvm_meta hints) {
  struct loop_hint count = loops_hint(f, hints, "llvm.loop.unroll.count");
  return loops_hint(f, hints, "llvm.loop.unroll.disable").given ||
         (count.given && count.value <= 1);
}
