/* --asm-verbose: comments that say which IR instruction the PTX below comes from, and of blocks
 * which loops they are in, in the words of LLVM's assembly printer.
 *
 * Loops are natural ones: the target of an edge from a block that it dominates is a header; its
 * loop is what reaches such an edge without passing the header. Headers are taken in the dominator
 * tree's preorder, outer before inner, so the last to claim a block is its innermost. Irreducible
 * circles have no header and no comment. Costs the sum of the loops' sizes. */
#include "codegen/lower.h"

#include "ir/dominance.h"
#include "ir/print.h"

struct verbose_notes {
  struct textbuf text; /* of all instructions */
  uint32_t *end;       /* by instruction: where its text ends; 0: not printed */
  uint32_t *header;    /* by block: its innermost loop's header; 0: in none */
  uint32_t *depth;     /* by block: loops around it */
};

/* Claims for the loop of `header` all blocks that reach it from inside. */
static void claim(struct verbose_notes *n, const struct dominance *d, struct nvm_block header,
                  struct nvm_block *stack) {
  uint32_t count = 0;
  for (uint32_t k = d->first_predecessor[header.index]; k < d->first_predecessor[header.index + 1];
       k++) {
    struct nvm_block from = d->predecessors[k];
    if (!dominance_reachable(d, from) || !dominance_dominates(d, header, from)) continue;
    if (n->header[header.index] != header.index) n->depth[header.index]++;
    n->header[header.index] = header.index;
    stack[count++] = from;
    while (count) {
      struct nvm_block b = stack[--count];
      if (n->header[b.index] == header.index || !dominance_reachable(d, b)) continue;
      n->header[b.index] = header.index;
      n->depth[b.index]++;
      for (uint32_t p = d->first_predecessor[b.index]; p < d->first_predecessor[b.index + 1]; p++)
        if (n->header[d->predecessors[p].index] != header.index)
          stack[count++] = d->predecessors[p];
    }
  }
}

static bool find_loops(struct lower *l, struct verbose_notes *n) {
  const struct nvm_function *f = l->f;
  struct arena *a = &l->function_arena;
  struct dominance d;
  if (!dominance_compute(&d, f, a)) return false;
  uint32_t blocks = f->blocks.count, edges = d.first_predecessor[blocks];
  struct nvm_block *preorder = arena_alloc(a, (blocks + 1) * sizeof *preorder);
  struct nvm_block *stack = arena_alloc(a, (edges + 1) * sizeof *stack);
  n->header = arena_alloc(a, blocks * sizeof *n->header);
  n->depth = arena_alloc(a, blocks * sizeof *n->depth);
  if (a->failed) return false;
  FOR_EACH_BLOCK(f, b) preorder[d.enter[b.index]] = b;
  for (uint32_t k = 1; k <= blocks; k++)
    if (preorder[k].index) claim(n, &d, preorder[k], stack);
  return true;
}

bool lower_plan_comments(struct lower *l) {
  l->notes = NULL;
  if (!l->options->verbose) return true;
  struct verbose_notes *n = l->notes = arena_alloc(&l->function_arena, sizeof *n);
  if (!n) return false;
  n->end = arena_alloc(&l->function_arena, l->f->insts.count * sizeof *n->end);
  textbuf_init(&n->text, &l->function_arena);
  return n->end && print_insts(l->f, &n->text, n->end) == NVM_OK && find_loops(l, n);
}

static void comment(struct lower *l, const struct textbuf *b) {
  ptx_add_text(l->pf, PTX_COMMENT, (struct nvm_text){b->bytes, b->length});
}

void lower_comment_block(struct lower *l, struct nvm_block b) {
  if (!l->notes || l->notes->depth[b.index] == 0) return;
  struct textbuf t;
  textbuf_init(&t, &l->function_arena);
  struct nvm_block header = {l->notes->header[b.index]};
  struct nvm_text name = module_text(l->module, function_block(l->f, header)->name);
  uint32_t depth = l->notes->depth[b.index];
  if (header.index == b.index) textbuf_format(&t, "=>This Loop Header: Depth=%u", depth);
  else if (name.length) textbuf_format(&t, "  in Loop: Header=%t Depth=%u", name, depth);
  else
    textbuf_format(&t, "  in Loop: Header=$L__%u Depth=%u", l->block_labels[header.index], depth);
  comment(l, &t);
}

uint32_t lower_comment_inst(struct lower *l, struct nvm_inst_id i) {
  uint32_t before = l->pf->entries.count;
  if (l->notes->end[i.index] == 0) return before;
  uint32_t end = l->notes->end[i.index], begin = end;
  const char *text = l->notes->text.bytes;
  while (begin > 0 && text[begin - 1] != '\0') begin--;
  struct textbuf t;
  textbuf_init(&t, &l->function_arena);
  for (uint32_t k = begin; k < end && text[k] != '\n'; k++)
    textbuf_char(&t, (unsigned char)text[k] < 0x20 ? ' ' : text[k]);
  comment(l, &t);
  return before;
}

void lower_comment_end(struct lower *l, uint32_t before) {
  if (l->pf->entries.count == before + 1 && l->pf->entries.data[before].kind == PTX_COMMENT)
    l->pf->entries.count = before;
}
