/* The order in which the blocks of a function are emitted, and the jumps that it saves.
 *
 * Algorithm: - A reverse postorder in which each loop is contiguous. Every block comes after the
 *              blocks that lead to it, where the lanes of a warp meet again after a branch.
 *            - Of the two successors of a branch, the one that stays in the loop is placed next,
 *              else the one that does not end the thread, that !prof calls likelier, or that the IR
 *              has first.
 *            - The test at the start of a loop whose only latch jumps to it is placed last, so that
 *              an iteration has one jump in place of two.
 *            - A block that only jumps is not emitted: its label is that of the next block with
 *              code.
 *
 * What a block ends with becomes shorter if the next block is a target (placement_end_block).
 * Functions marked optnone, which are debugged, keep their jumps. Linear in blocks and edges. */
#include "codegen/abi.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "ir/module.h"

struct placer {
  struct lower *l;
  struct nvm_block *postorder, *stack;
  uint32_t *visits; /* by block: 1 + the successors visited; 0: not reached */
  uint32_t *next;   /* by loop: its next free place in the layout */
};

/* --- which successor comes next --------------------------------------------------------------- */

/* The weights of a branch in !prof; false if it has none. */
static bool branch_weights(const struct nvm_function *f, struct nvm_inst_id branch,
                           nvm_u128 weights[2]) {
  const struct nvm_module *m = f->module;
  uint32_t chain = f->attachments.data[branch.index];
  struct nvm_str kind = strtab_find(&m->strings, "prof", strlen("prof"));
  if (chain == 0 || kind.index == 0) return false;
  const struct meta_node *node = meta_as_node(&m->metadata, module_attachment(m, chain, kind));
  if (!node || node->count < 3) return false; /* a string, here and there another, two numbers */
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_meta at = meta_operand(&m->metadata, node, node->count - 2 + k);
    const struct meta_item *weight = meta_item(&m->metadata, at);
    if (weight->kind != META_VALUE || !const_is_int(m, weight->value, &weights[k])) return false;
  }
  return true;
}

/* 0: control flows on; 1: the function returns; 2: control does not get here. */
static int finality(const struct nvm_function *f, struct nvm_block b) {
  enum op last = (enum op)function_inst(f, function_block(f, b)->last)->op;
  return last == OP_UNREACHABLE ? 2 : last == OP_RET;
}

/* The successor of a conditional branch, 0 or 1, to be placed next. */
static uint32_t next_successor(const struct lower *l, struct nvm_block b) {
  const struct nvm_function *f = l->f;
  struct nvm_block to[2] = {block_successor(f, b, 0), block_successor(f, b, 1)};
  uint32_t loop = l->loops.innermost[b.index];
  bool stays[2] = {loops_contains(&l->loops, loop, to[0]), loops_contains(&l->loops, loop, to[1])};
  if (stays[0] != stays[1]) return stays[1];
  int final[2] = {finality(f, to[0]), finality(f, to[1])};
  if (final[0] != final[1]) return final[1] < final[0];
  nvm_u128 weights[2];
  if (branch_weights(f, function_block(f, b)->last, weights) && weights[0] != weights[1])
    return weights[1] > weights[0];
  return l->block_rank[to[1].index] < l->block_rank[to[0].index];
}

/* --- the order -------------------------------------------------------------------------------- */

/* The successor to be visited as number k: the one to be placed next is visited last. */
static struct nvm_block visit_order(const struct lower *l, struct nvm_block b, uint32_t k,
                                    uint32_t count) {
  bool is_branch = function_inst(l->f, function_block(l->f, b)->last)->op == OP_CONDBR;
  uint32_t from_last = count - 1 - k;
  return block_successor(l->f, b, is_branch && next_successor(l, b) == 1 ? k : from_last);
}

/* The number of reachable blocks. */
static uint32_t find_postorder(struct placer *p) {
  const struct nvm_function *f = p->l->f;
  uint32_t depth = 0, found = 0;
  p->visits[f->entry.index] = 1;
  p->stack[depth++] = f->entry;
  while (depth > 0) {
    struct nvm_block b = p->stack[depth - 1];
    uint32_t count = block_successor_count(f, b), k = p->visits[b.index]++ - 1;
    if (k == count) {
      p->postorder[found++] = b;
      depth--;
      continue;
    }
    struct nvm_block to = visit_order(p->l, b, k, count);
    if (p->visits[to.index]) continue;
    p->visits[to.index] = 1;
    p->stack[depth++] = to;
  }
  return found;
}

static bool is_optnone(const struct nvm_function *f) {
  return function_attribute(f, ATTR_OPTNONE) != NULL;
}

/* Whether the header of loop n is its test and the latch only jumps to it. */
static bool tests_last(const struct lower *l, uint32_t n) {
  const struct loop *loop = &l->loops.data[n];
  if (loop->latch.index == 0 || is_optnone(l->f)) return false;
  const struct nvm_inst *latch = function_inst(l->f, function_block(l->f, loop->latch)->last);
  const struct nvm_inst *test = function_inst(l->f, function_block(l->f, loop->header)->last);
  if (latch->op != OP_BR || test->op != OP_CONDBR) return false;
  return loops_contains(&l->loops, n, block_successor(l->f, loop->header, 0)) !=
         loops_contains(&l->loops, n, block_successor(l->f, loop->header, 1));
}

static bool is_header(const struct lower *l, struct nvm_block b) {
  uint32_t n = l->loops.innermost[b.index];
  return n && l->loops.data[n].header.index == b.index;
}

static bool is_last(const struct lower *l, struct nvm_block b) {
  return b.index != l->f->entry.index && finality(l->f, b) == 2;
}

/* A header reserves as many places as its loop has blocks. */
static void lay_out(struct placer *p, uint32_t count) {
  struct lower *l = p->l;
  uint32_t end = count;
  for (uint32_t k = 0; k < count; k++)
    if (is_last(l, p->postorder[k])) l->layout[--end] = p->postorder[k];
  for (uint32_t k = count; k-- > 0;) {
    struct nvm_block b = p->postorder[k];
    if (is_last(l, b)) continue;
    uint32_t n = l->loops.innermost[b.index];
    const struct loop *loop = &l->loops.data[n];
    if (is_header(l, b)) {
      p->next[n] = p->next[loop->parent];
      p->next[loop->parent] += loop->block_count;
      if (tests_last(l, n)) {
        l->layout[p->next[n] + loop->block_count - 1] = b;
        continue;
      }
    }
    l->layout[p->next[n]++] = b;
  }
  for (uint32_t k = 0; k < count; k++) l->block_rank[l->layout[k].index] = k;
}

bool placement_plan(struct lower *l) {
  uint32_t blocks = l->f->blocks.count, rank = 0;
  struct arena *a = &l->function_arena;
  struct placer p = {.l = l};
  l->layout = arena_alloc(a, blocks * sizeof *l->layout);
  l->block_rank = arena_alloc(a, blocks * sizeof *l->block_rank);
  p.postorder = arena_alloc(a, blocks * sizeof *p.postorder);
  p.stack = arena_alloc(a, blocks * sizeof *p.stack);
  p.visits = arena_alloc(a, blocks * sizeof *p.visits);
  p.next = arena_alloc(a, (l->loops.count + 1) * sizeof *p.next);
  if (a->failed) return false;
  FOR_EACH_BLOCK (l->f, b) l->block_rank[b.index] = rank++;
  l->layout_count = find_postorder(&p);
  lay_out(&p, l->layout_count);
  return true;
}

/* --- jumps ------------------------------------------------------------------------------------ */

/* Whether b only jumps, perhaps after copies to phis. */
static bool only_copies(struct lower *l, struct nvm_block b) {
  struct nvm_inst_id last = function_block(l->f, b)->last;
  if (function_inst(l->f, last)->op != OP_BR || params_are_read(l, b) || is_header(l, b))
    return false;
  FOR_EACH_INST (l->f, b, i)
    if (i.index != last.index && function_inst(l->f, i)->op != OP_PHI &&
        l->selection[i.index].wanted)
      return false;
  return true;
}

static bool only_jumps(struct lower *l, struct nvm_block b) {
  return only_copies(l, b) && !phi_edge_copies(l, b, block_successor(l->f, b, 0));
}

/* Whether jumps to b may go to its target. Where several paths meet at a latch, lanes meet there.
 */
static bool can_skip(struct lower *l, struct nvm_block b) {
  if (!only_jumps(l, b)) return false;
  struct nvm_block to = block_successor(l->f, b, 0);
  if (l->block_rank[to.index] > l->block_rank[b.index]) return true;
  return dominance_predecessor_count(&l->dominance, b) == 1 && !only_jumps(l, to);
}

/* Whether the block before b in the layout ends with a jump over b to its target. */
static bool is_jumped_over(struct lower *l, struct nvm_block before, struct nvm_block to) {
  const struct nvm_inst *last = function_inst(l->f, function_block(l->f, before)->last);
  return last->op == OP_BR && block_successor(l->f, before, 0).index == to.index &&
         !only_copies(l, before);
}

/* Whether the copies of b can become those of an edge of the branch before it, which saves the jump
 * to a target that is not next, or that of the other arm, which then makes one copy in vain. The
 * edge into b then makes no copies of its own. */
static bool can_merge(struct lower *l, struct nvm_block before, struct nvm_block b,
                      struct nvm_block next) {
  if (dominance_predecessor_count(&l->dominance, b) != 1 || !only_copies(l, b)) return false;
  struct nvm_block from = dominance_first_predecessor(&l->dominance, b),
                   to = block_successor(l->f, b, 0);
  if (function_inst(l->f, function_block(l->f, from)->last)->op != OP_CONDBR) return false;
  if (phi_edge_copies(l, from, b) != 0) return false;
  bool goes_back = l->block_rank[to.index] <= l->block_rank[from.index];
  uint32_t copies = phi_edge_copies(l, b, to);
  if (l->block_labels[to.index] == l->block_labels[next.index])
    return copies == 1 && is_jumped_over(l, before, to);
  return branch_copies_early(copies, goes_back);
}

/* Backwards, so that the label of a target is final. */
void placement_skip_jumps(struct lower *l) {
  uint32_t kept = l->layout_count;
  l->merged = arena_alloc(&l->function_arena, l->f->blocks.count * sizeof *l->merged);
  if (!l->merged || is_optnone(l->f)) return;
  for (uint32_t k = l->layout_count; k-- > 0;) {
    struct nvm_block b = l->layout[k], next = {0};
    if (kept < l->layout_count) next = l->layout[kept];
    if (k != 0 && can_skip(l, b))
      l->block_labels[b.index] = l->block_labels[block_successor(l->f, b, 0).index];
    else if (k != 0 && can_merge(l, l->layout[k - 1], b, next)) l->merged[b.index] = true;
    else l->layout[--kept] = b;
  }
  l->layout += kept;
  l->layout_count -= kept;
}

static struct ptx_entry *last_entry(struct lower *l, uint32_t from, uint32_t distance) {
  uint32_t count = l->pf->entries.count;
  return count >= from + distance ? &l->pf->entries.data[count - distance] : NULL;
}

/* The label that an entry jumps to, always or under a guard; 0: it is no such jump. */
static uint32_t *jump_target(const struct lower *l, const struct ptx_entry *e, bool guarded) {
  if (!e || e->kind != PTX_INST || e->op != PTX_BRA) return NULL;
  if (ptx_reg_is_none(e->guard) == guarded) return NULL;
  return &l->pf->operands.data[e->first_operand].label;
}

void placement_end_block(struct lower *l, uint32_t from) {
  uint32_t *always = jump_target(l, last_entry(l, from, 1), false);
  if (!always) return;
  struct ptx_entry *before = last_entry(l, from, 2);
  uint32_t *guarded = jump_target(l, before, true);
  if (guarded && *always != l->next_label && *guarded == l->next_label) {
    before->guard_negated = !before->guard_negated;
    *guarded = *always;
  } else if (*always != l->next_label) {
    return;
  }
  l->pf->entries.count--;
  const struct ptx_entry *last = last_entry(l, from, 1);
  if (last && last->kind == PTX_COMMENT) l->pf->entries.count--;
}
