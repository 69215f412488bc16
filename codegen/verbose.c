/* --asm-verbose: comments with the IR instruction that the PTX below comes from, and the loop that
 * a block is in, in the format of LLVM's assembly printer. */
#include "codegen/stage.h"
#include "ir/print.h"

struct verbose_notes {
  struct textbuf text; /* of all instructions */
  uint32_t *end;       /* by instruction: where its text ends; 0: not printed */
};

bool verbose_plan(struct lower *l) {
  l->notes = NULL;
  if (!l->options->verbose) return true;
  struct verbose_notes *n = l->notes = arena_alloc(&l->function_arena, sizeof *n);
  if (!n) return false;
  n->end = arena_alloc(&l->function_arena, l->f->insts.count * sizeof *n->end);
  textbuf_init(&n->text, &l->function_arena);
  return n->end && print_insts(l->f, &n->text, n->end) == NVM_OK;
}

static void comment(struct lower *l, const struct textbuf *b) {
  ptx_add_text(l->pf, PTX_COMMENT, (struct nvm_text){b->bytes, b->length});
}

void verbose_block(struct lower *l, struct nvm_block b) {
  const struct loop *loop = &l->loops.data[l->loops.innermost[b.index]];
  if (!l->notes || loop->depth == 0) return;
  struct textbuf t;
  textbuf_init(&t, &l->function_arena);
  uint32_t header = loop->header.index, depth = loop->depth;
  struct nvm_text name = module_text(l->module, function_block(l->f, loop->header)->name);
  if (header == b.index) textbuf_format(&t, "=>This Loop Header: Depth=%u", depth);
  else if (name.length) textbuf_format(&t, "  in Loop: Header=%t Depth=%u", name, depth);
  else textbuf_format(&t, "  in Loop: Header=$L__%u Depth=%u", l->block_labels[header], depth);
  comment(l, &t);
}

uint32_t verbose_inst(struct lower *l, struct nvm_inst_id i) {
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

void verbose_inst_end(struct lower *l, uint32_t before) {
  if (l->pf->entries.count == before + 1 && l->pf->entries.data[before].kind == PTX_COMMENT)
    l->pf->entries.count = before;
}
