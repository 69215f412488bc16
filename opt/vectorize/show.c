/* What `--emit vplan` says of a loop: the initial plan, the costs of the factors, and, once the
 * plan is executed, the final plan with the cost of each recipe.
 *
 * Nothing is computed again: the blocks of a final plan are those of the function, in its order;
 * costs are those that were added up. Stages (main loop, epilogue, remainder, single iterations)
 * are printed as recipes, blocks between them with their condition and successors, run-time checks
 * with their meaning. The text is described in docs/vectorizer.md. */
#include "opt/vectorize/vectorize.h"

#include "ir/print.h"

static void deliver(const struct vector_loop *v, const struct textbuf *text) {
  v->env->draw(v->env->draw_state, (struct nvm_text){text->bytes, text->length});
}

static bool begins(const struct vector_loop *v, struct textbuf *out) {
  if (v->env->draw) textbuf_init(out, v->env->arena);
  return v->env->draw != NULL;
}

static struct nvm_str name_of(const struct vector_loop *v, struct nvm_block b) {
  return function_block(v->f, b)->name;
}

/* The name of a block; of several that execution gave the same name, with a number. */
static void show_block(const struct vector_loop *v, struct nvm_block b, struct textbuf *out) {
  struct nvm_str name = name_of(v, b);
  uint32_t before = 0;
  for (uint32_t k = v->first_new_block; v->first_new_block && k < b.index; k++)
    before += name_of(v, (struct nvm_block){k}).index == name.index;
  if (!v->first_new_block || b.index < v->first_new_block) {
    textbuf_puts(out, "ir-bb<");
    struct textbuf label; /* without its type */
    textbuf_init(&label, out->arena);
    print_value(v->f, value_of_block(b), &label);
    struct nvm_text text = {label.bytes, label.length};
    if (label.length > sizeof "label") text.bytes += sizeof "label", text.length -= sizeof "label";
    textbuf_format(out, "%t>", text);
    return;
  }
  textbuf_format(out, "%t", module_text(v->f->module, name));
  if (before) textbuf_format(out, ".%u", (unsigned)before);
}

static void show_loop(const struct vector_loop *v, struct textbuf *out) {
  textbuf_puts(out, "Loop ");
  show_block(v, v->loop->header, out);
  textbuf_format(out, " in function '%t'", module_text(v->f->module, v->f->symbol.name));
}

void show_initial(const struct vector_loop *v, const struct vplan *p) {
  struct textbuf out;
  if (!begins(v, &out)) return;
  if (v->env->draw_graphs) {
    vplan_print_dot(p, v->f, &out);
  } else {
    show_loop(v, &out);
    textbuf_char(&out, '\n');
    vplan_print(p, v->f, &out);
  }
  deliver(v, &out);
}

/* A number of thousandths, with three decimals. */
static void show_thousandths(int64_t n, struct textbuf *out) {
  textbuf_format(out, "%D.%s%D", n / 1000,
                 n % 1000 < 10    ? "00"
                 : n % 1000 < 100 ? "0"
                                  : "",
                 n % 1000);
}

void show_costs(const struct vector_loop *v) {
  struct textbuf out;
  if (!begins(v, &out) || v->env->draw_graphs) return;
  textbuf_format(&out, "\nCosts for %U iterations\n", v->assumed_trips);
  for (uint32_t k = 0; k < v->candidates.count; k++) {
    const struct vector_candidate *c = &v->candidates.data[k];
    textbuf_format(&out,
                   "VF=%u,UF=%u: issue slots %D, latency %D, memory instructions %u, registers %u, "
                   "resident warps %u, checks %D: ",
                   (unsigned)c->factor, (unsigned)c->count, c->price.body, c->price.wait,
                   (unsigned)c->price.accesses, (unsigned)c->price.registers,
                   (unsigned)c->price.warps, c->checks);
    show_thousandths(c->all, &out);
    textbuf_puts(&out, " issue slots per iteration");
    if (c->factor == v->factor && c->count == v->interleave) textbuf_puts(&out, " (chosen)");
    else if (c->steps)
      textbuf_puts(
          &out, c->factor == 1 ? " (not enough below the unrolled loop)" : " (saves too little)");
    textbuf_char(&out, '\n');
  }
  deliver(v, &out);
}

void show_refusal(const struct vector_loop *v, enum vector_refusal why) {
  struct textbuf out;
  if (!begins(v, &out) || v->env->draw_graphs) return;
  show_loop(v, &out);
  textbuf_format(&out, ": %s\n\n", vector_refusal_messages[why]);
  deliver(v, &out);
}

static void show_pointer(const struct vector_loop *v, uint32_t access, struct textbuf *out) {
  const struct nvm_inst *i = vl_inst(v, v->accesses.data[access].inst);
  textbuf_puts(out, "ir<");
  print_value(v->f, inst_operand(v->f, i, inst_address_operand(i)), out);
  textbuf_char(out, '>');
}

static void show_alignment(const struct vector_loop *v, uint32_t group, const char *what,
                           struct textbuf *out) {
  const struct access_group *g = &v->groups.data[group];
  textbuf_format(out, "  EMIT %s", what);
  show_pointer(v, g->first, out);
  textbuf_format(out, " is aligned to %u\n",
                 (unsigned)accesses_width(v, g, v->factor * v->interleave));
}

/* The run-time checks, in the order in which they are computed. */
static void show_checks(const struct vector_loop *v, struct textbuf *out) {
  for (uint32_t k = 0; k < v->checks.count; k++) {
    const struct overlap_check *c = &v->checks.data[k];
    int64_t low, high;
    overlap_bounds(v, c, &low, &high);
    textbuf_puts(out, "  EMIT vp<%conflict> = ");
    if (c->same_step) textbuf_format(out, "%D < ", low);
    else textbuf_puts(out, c->min_step ? "inner step of " : "overlap of the ranges of ");
    show_pointer(v, c->later, out);
    if (!c->min_step) textbuf_puts(out, c->same_step ? " - " : " and ");
    if (!c->min_step) show_pointer(v, c->earlier, out);
    if (c->same_step || c->min_step)
      textbuf_format(out, " < %D", c->same_step ? high : c->min_step);
    textbuf_char(out, '\n');
  }
  if (v->peel) show_alignment(v, v->peel_group, "vp<%peeled> = iterations until ", out);
  for (uint32_t n = 0; n < v->groups.count; n++)
    if (v->groups.data[n].align_checked && !(v->peel && n == v->peel_group))
      show_alignment(v, n, v->two_versions ? "vp<%alike> = after them " : "vp<%conflict> = not ",
                     out);
  for (uint32_t k = 0; k < v->accesses.count; k++) {
    if (!v->accesses.data[k].checked_align) continue;
    textbuf_puts(out, "  EMIT vp<%conflict> = not ");
    show_pointer(v, k, out);
    textbuf_format(out, " is aligned to %u\n", (unsigned)v->accesses.data[k].checked_align);
  }
}

/* After a loop: its partial results are combined. */
static void show_results(const struct vector_loop *v, const struct vplan *p, struct textbuf *out) {
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    if (vplan_recipe(p, n)->kind != VP_REDUCTION) continue;
    textbuf_puts(out, "  EMIT vp<%result> = compute-reduction-result ");
    vplan_print_use(p, v->f, n, out);
    textbuf_puts(out, ", ");
    vplan_print_use(p, v->f, vplan_operand(p, vplan_recipe(p, n), 1), out);
    textbuf_char(out, '\n');
  }
}

/* Condition and successors of a block; after a loop, whose latch it is, the block that follows. */
static void show_end(const struct vector_loop *v, struct nvm_block b, struct nvm_block *after,
                     struct textbuf *out) {
  struct nvm_inst_id end = block_terminator(v->f, b);
  if (after) {
    *after = block_successor(v->f, b, 0);
    textbuf_puts(out, "Successor(s): ");
    show_block(v, *after, out);
    textbuf_puts(out, "\n\n");
    return;
  }
  if (vl_inst(v, end)->op == OP_CONDBR) {
    struct nvm_value c = inst_operand(v->f, vl_inst(v, end), 0);
    textbuf_puts(out, "  EMIT branch-on-cond ");
    if (value_kind(c) == VALUE_INST) print_inst(v->f, (struct nvm_inst_id){value_index(c)}, out);
    else print_value(v->f, c, out);
    textbuf_char(out, '\n');
  }
  for (uint32_t k = 0; k < block_successor_count(v->f, b); k++) {
    textbuf_puts(out, k ? ", " : "Successor(s): ");
    show_block(v, block_successor(v->f, b, k), out);
  }
  textbuf_puts(out, "\n\n");
}

static const struct vector_stage *stage_of(const struct vector_loop *v, struct nvm_block b) {
  for (uint32_t k = 0; k < v->stages.count; k++)
    if (v->stages.data[k].first.index == b.index) return &v->stages.data[k];
  return NULL;
}

/* The recipes of a stage, with their costs. */
static bool show_stage(struct vector_loop *v, const struct vplan *p, const struct vector_stage *s,
                       struct textbuf *out) {
  struct vplan priced;
  v->unaligned_version = s->unaligned;
  bool ok = vcost_annotate(v, p, s->factor, s->count, &priced);
  v->unaligned_version = false;
  if (!ok) return false;
  textbuf_format(out, "<x1> vector loop: { ; VF=%u,UF=%u: cost %D, accesses %u\n  ",
                 (unsigned)s->factor, (unsigned)s->count, priced.total.slots,
                 (unsigned)priced.total.accesses);
  show_block(v, s->first, out);
  vplan_print_loop(&priced, v->f, out);
  return true;
}

void show_final(struct vector_loop *v, const struct vplan *p) {
  struct textbuf out;
  struct vplan final = *p;
  if (!begins(v, &out)) return;
  v->unaligned_version = false;
  if (!vcost_annotate(v, p, v->factor, v->interleave, &final)) return;
  if (v->env->draw_graphs) {
    vplan_print_dot(&final, v->f, &out);
    deliver(v, &out);
    return;
  }
  textbuf_char(&out, '\n');
  vplan_print_head(&final, v->f, &out);
  struct nvm_block after = {0};
  for (struct nvm_block b = v->loop->preheader; b.index != 0; b = function_block(v->f, b)->next) {
    const struct vector_stage *s = stage_of(v, b);
    if (b.index == v->loop->header.index) break;
    bool loops = s && !s->straight;
    if (!loops) show_block(v, b, &out), textbuf_puts(&out, ":\n");
    bool checks = p->nested ? b.index == v->loop->preheader.index
                            : text_is(module_text(v->f->module, name_of(v, b)), "vector.memcheck");
    if (checks) show_checks(v, &out);
    if (loops && !show_stage(v, p, s, &out)) return;
    if (s && s->straight)
      textbuf_format(&out, "  EMIT iteration %u of the plan for VF=1,UF=1\n", (unsigned)s->copy);
    if (b.index == after.index) show_results(v, p, &out);
    if (s) b = s->last;
    show_end(v, b, loops ? &after : NULL, &out);
  }
  textbuf_puts(&out, "}\n\n");
  deliver(v, &out);
}
