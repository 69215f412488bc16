/* Printing plans: in the format of LLVM's -debug-only=loop-vectorize, and as Graphviz graphs. */
#include "opt/vectorize/vplan.h"

#include "ir/print.h"

static const char *const kind_names[VP_KIND_COUNT] = {
    [VP_NONE] = "",
    [VP_LIVE_IN] = "LIVE-IN",
    [VP_POINTER] = "WIDEN-POINTER-INDUCTION",
    [VP_INDUCTION] = "WIDEN-INDUCTION",
    [VP_REDUCTION] = "WIDEN-REDUCTION-PHI",
    [VP_RECURRENCE] = "FIRST-ORDER-RECURRENCE-PHI",
    [VP_SERIAL] = "SERIAL-PHI",
    [VP_WIDEN] = "WIDEN",
    [VP_REPLICATE] = "REPLICATE",
    [VP_LOAD] = "WIDEN",
    [VP_STORE] = "WIDEN",
    [VP_BLEND] = "BLEND",
    [VP_AND] = "EMIT",
    [VP_OR] = "EMIT",
    [VP_NOT] = "EMIT"};

static const char *tag(const struct vp_recipe *r) {
  if (r->kind == VP_WIDEN && r->in_chain) return "SERIAL";
  if (r->kind == VP_REPLICATE && r->uniform) return "CLONE";
  if (vplan_is_access(r) && (r->group == VP_NO_GROUP || r->mask))
    return r->uniform ? "CLONE" : "REPLICATE";
  if (vplan_is_access(r) && r->interleaved) return "INTERLEAVE-GROUP";
  return kind_names[r->kind];
}

/* "ir<%x>" for recipes of an instruction, "vp<%3>" for others. */
static void print_use(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                      struct textbuf *out) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  if (r->kind == VP_LIVE_IN) {
    textbuf_puts(out, "ir<");
    print_value(f, r->value, out);
    textbuf_char(out, '>');
    return;
  }
  struct nvm_str name =
      r->inst.index && !r->narrowed ? f->names.data[r->inst.index] : (struct nvm_str){0};
  if (name.index) textbuf_format(out, "ir<%%%t>", module_text(f->module, name));
  else textbuf_format(out, "vp<%%%u>", (unsigned)n);
}

static void print_what(const struct vplan *p, const struct nvm_function *f,
                       const struct vp_recipe *r, struct textbuf *out) {
  static const char *const own[VP_KIND_COUNT] = {
      [VP_BLEND] = "", [VP_AND] = "and", [VP_OR] = "or", [VP_NOT] = "not", [VP_POINTER] = "ptr"};
  const char *word =
      r->inst.index ? op_table[f->insts.data[r->inst.index].op].keyword : own[r->kind];
  if (r->kind == VP_WIDEN && f->insts.data[r->inst.index].op == OP_CALL) {
    const struct nvm_inst *call = &f->insts.data[r->inst.index];
    textbuf_format(
        out, "call @%t",
        module_text(f->module, module_function(f->module, call_callee(f, call))->symbol.name));
  } else if (word) {
    textbuf_puts(out, word);
  }
  for (uint32_t k = 0; k < r->operand_count; k++) {
    bool mask = r->kind == VP_BLEND && k % 2 == 1;
    textbuf_puts(out, k == 0 ? (word && *word ? " " : "") : mask ? " / " : ", ");
    print_use(p, f, vplan_operand(p, r, k), out);
  }
  if (r->kind == VP_POINTER || r->kind == VP_INDUCTION) textbuf_format(out, " step %D", r->step);
  if (r->offset && (r->kind == VP_LOAD || r->kind == VP_STORE))
    textbuf_format(out, " offset %D", r->offset);
  if (r->mask) {
    textbuf_puts(out, " mask ");
    print_use(p, f, r->mask, out);
  }
}

static void print_recipe(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                         struct textbuf *out) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  textbuf_format(out, "%s ", tag(r));
  if (r->type.index != TYPE_VOID.index) {
    print_use(p, f, n, out);
    textbuf_puts(out, " = ");
  }
  print_what(p, f, r, out);
}

static void print_range(const struct vplan *p, struct textbuf *out) {
  textbuf_format(out, "%t for VF={", p->name);
  for (uint32_t factor = p->min_factor; factor <= p->max_factor; factor *= 2)
    textbuf_format(out, "%s%u", factor == p->min_factor ? "" : ",", (unsigned)factor);
  textbuf_puts(out, "},UF>=1");
}

void vplan_print(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  textbuf_puts(out, "VPlan '");
  print_range(p, out);
  textbuf_puts(out, "' {\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    if (r->kind != VP_LIVE_IN) continue;
    textbuf_puts(out, "Live-in ");
    print_use(p, f, n, out);
    textbuf_char(out, '\n');
  }
  textbuf_puts(out,
               "\nvector.ph:\nSuccessor(s): vector loop\n\n<x1> vector loop: {\n  vector.body:\n"
               "    EMIT vp<%index> = CANONICAL-INDUCTION\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    if (vplan_recipe(p, n)->kind == VP_LIVE_IN) continue;
    textbuf_puts(out, "    ");
    print_recipe(p, f, n, out);
    textbuf_char(out, '\n');
  }
  textbuf_puts(out,
               "    EMIT vp<%index.next> = add vp<%index>, VF * UF\n"
               "    EMIT branch-on-count vp<%index.next>, vp<%n.vec>\n  No successors\n}\n"
               "Successor(s): middle.block\n\nmiddle.block:\nNo successors\n}\n");
}

static void escape(struct textbuf *out, const char *bytes, size_t length) {
  for (size_t k = 0; k < length; k++) {
    if (strchr("\"\\<>{}|", bytes[k])) textbuf_char(out, '\\');
    textbuf_char(out, bytes[k]);
  }
}

void vplan_print_dot(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  textbuf_puts(out, "digraph VPlan {\n  node [shape=box, fontname=monospace];\n  label=\"");
  print_range(p, out);
  textbuf_puts(out, "\";\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    struct textbuf line;
    textbuf_init(&line, out->arena);
    if (r->kind == VP_LIVE_IN) print_use(p, f, n, &line);
    else print_recipe(p, f, n, &line);
    textbuf_format(out, "  r%u [label=\"", (unsigned)n);
    escape(out, line.bytes, line.length);
    textbuf_puts(out, r->kind == VP_LIVE_IN ? "\", style=dashed];\n" : "\"];\n");
    for (uint32_t k = 0; k < r->operand_count; k++) {
      uint32_t o = vplan_operand(p, r, k);
      textbuf_format(out, "  r%u -> r%u%s;\n", (unsigned)o, (unsigned)n,
                     o >= n ? " [style=dotted, constraint=false]" : "");
    }
    if (r->mask)
      textbuf_format(out, "  r%u -> r%u [style=dashed, label=mask];\n", (unsigned)r->mask,
                     (unsigned)n);
  }
  textbuf_puts(out, "}\n");
}
