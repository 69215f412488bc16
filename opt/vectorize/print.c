/* Printing plans: in the format of LLVM's -debug-only=loop-vectorize, and as Graphviz graphs. The
 * text is stable; docs/vectorizer.md describes it. */
#include "opt/vectorize/vplan.h"

#include "ir/intrinsic.h"
#include "ir/print.h"

static const struct nvm_inst *inst_of(const struct nvm_function *f, const struct vp_recipe *r) {
  return &f->insts.data[r->inst.index];
}

/* Whether the member of an in-order chain is the new value of its phi. */
static bool ends_reduction(const struct vplan *p, uint32_t n) {
  for (uint32_t k = 1; k < n; k++) {
    const struct vp_recipe *r = vplan_recipe(p, k);
    if (r->kind == VP_SERIAL && vplan_operand(p, r, 1) == n) return true;
  }
  return false;
}

static const char *widened_tag(const struct nvm_function *f, const struct vp_recipe *r) {
  enum op op = (enum op)inst_of(f, r)->op;
  return op == OP_SELECT                  ? "WIDEN-SELECT"
         : op == OP_CALL                  ? "WIDEN-INTRINSIC"
         : op_is_cast(op) && !r->narrowed ? "WIDEN-CAST"
                                          : "WIDEN";
}

static const char *tag(const struct vplan *p, const struct nvm_function *f, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  if (r->in_chain) return ends_reduction(p, n) ? "REDUCE" : "REPLICATE";
  if (r->uniform && r->kind != VP_LIVE_IN) return "CLONE";
  switch ((enum vp_kind)r->kind) {
    case VP_POINTER: return "WIDEN-POINTER-INDUCTION";
    case VP_INDUCTION: return vplan_is_used_by_lane(p, n) ? "SCALAR-STEPS" : "WIDEN-INDUCTION";
    case VP_REDUCTION: return "WIDEN-REDUCTION-PHI";
    case VP_RECURRENCE: return "FIRST-ORDER-RECURRENCE-PHI";
    case VP_SERIAL: return "REDUCTION-PHI";
    case VP_WIDEN: return widened_tag(f, r);
    case VP_PHI: return "WIDEN-PHI";
    case VP_REPLICATE: return "REPLICATE";
    case VP_LOAD:
    case VP_STORE:
      if (r->group == VP_NO_GROUP || r->mask) return "REPLICATE";
      return r->interleaved ? "INTERLEAVE-GROUP" : "WIDEN";
    case VP_BLEND: return "BLEND";
    case VP_AND:
    case VP_OR:
    case VP_NOT: return "EMIT";
    case VP_NONE:
    case VP_LIVE_IN:
    case VP_KIND_COUNT: break;
  }
  return "";
}

static void print_ir(const struct nvm_function *f, struct nvm_value v, struct textbuf *out) {
  textbuf_puts(out, "ir<");
  print_value(f, v, out);
  textbuf_char(out, '>');
}

void vplan_print_use(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                     struct textbuf *out) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  if (r->kind == VP_LIVE_IN) {
    print_ir(f, r->value, out);
    return;
  }
  struct nvm_str name =
      r->inst.index && !r->narrowed ? f->names.data[r->inst.index] : (struct nvm_str){0};
  if (name.index) textbuf_format(out, "ir<%%%t>", module_text(f->module, name));
  else textbuf_format(out, "vp<%%%u>", (unsigned)n);
}

static void print_type(const struct nvm_function *f, struct nvm_type type, struct textbuf *out) {
  textbuf_char(out, ' ');
  type_print(&f->module->types, type, out);
}

/* What the recipe computes: `fmul float`, `icmp sgt i32`, `call float @llvm.fabs.f32`. */
static void print_operation(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                            struct textbuf *out) {
  static const char *const own[VP_KIND_COUNT] = {
      [VP_AND] = "and", [VP_OR] = "or", [VP_NOT] = "not"};
  const struct vp_recipe *r = vplan_recipe(p, n);
  const struct nvm_inst *i = inst_of(f, r);
  if (r->kind == VP_BLEND) {
    type_print(&f->module->types, r->type, out);
    return;
  }
  if (r->kind == VP_POINTER) textbuf_puts(out, r->uniform ? "invariant" : "phi");
  else if (vplan_is_phi((enum vp_kind)r->kind)) textbuf_puts(out, "phi");
  else if (own[r->kind]) textbuf_puts(out, own[r->kind]);
  else print_inst_op(f, r->inst, out);
  bool first =
      r->kind == VP_STORE || (r->inst.index && !r->narrowed &&
                              (op_is_cast((enum op)i->op) || i->op == OP_ICMP || i->op == OP_FCMP));
  if (r->kind == VP_POINTER) return;
  if (i->op == OP_GEP) print_type(f, (struct nvm_type){i->aux}, out);
  else if (r->kind != VP_LIVE_IN)
    print_type(f, first ? vplan_recipe(p, vplan_operand(p, r, 0))->type : r->type, out);
  if (i->op != OP_CALL) return;
  const struct nvm_function *callee = module_function(f->module, call_callee(f, i));
  textbuf_format(out, " @%t", module_text(f->module, callee->symbol.name));
}

static void print_recipe(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                         struct textbuf *out) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  const struct nvm_inst *i = inst_of(f, r);
  textbuf_format(out, "%s ", tag(p, f, n));
  if (r->type.index != TYPE_VOID.index) {
    vplan_print_use(p, f, n, out);
    textbuf_puts(out, " = ");
  }
  size_t begin = out->length;
  print_operation(p, f, n, out);
  for (uint32_t k = 0; k < r->operand_count; k++) {
    bool mask = r->kind == VP_BLEND && k % 2 == 1; /* printed after its value */
    if (mask) continue;
    textbuf_puts(out, out->length == begin                         ? ""
                      : k || i->op == OP_GEP || r->kind == VP_LOAD ? ", "
                                                                   : " ");
    vplan_print_use(p, f, vplan_operand(p, r, k), out);
    if (r->kind != VP_BLEND || k == 0) continue;
    textbuf_char(out, '/');
    vplan_print_use(p, f, vplan_operand(p, r, k - 1), out);
  }
  if (r->kind == VP_POINTER) textbuf_char(out, ' '), print_ir(f, r->value, out);
  if (r->inst.index && op_is_cast((enum op)i->op) && !r->narrowed)
    textbuf_puts(out, " to"), print_type(f, r->type, out);
  if ((r->kind == VP_POINTER && !r->uniform) || r->kind == VP_INDUCTION)
    textbuf_format(out, ", step %D", r->step);
  if (vplan_is_access(r) && r->step) textbuf_format(out, ", step %D", r->step);
  if (r->align) textbuf_format(out, ", align %u", (unsigned)r->align);
  if (vplan_is_access(r) && r->offset) textbuf_format(out, ", offset %D", r->offset);
  if (vplan_is_access(r) && r->interleaved) textbuf_format(out, ", group %u", (unsigned)r->group);
  if (r->in_chain) textbuf_puts(out, ", in order");
  if (!r->mask) return;
  textbuf_puts(out, ", mask ");
  vplan_print_use(p, f, r->mask, out);
}

/* Ends the line that begins at `begin`, in a final plan with its cost. */
static void end_line(struct textbuf *out, size_t begin, const struct vp_cost *c) {
  enum { COLUMN = 68 };
  if (c) {
    while (out->length < begin + COLUMN) textbuf_char(out, ' ');
    textbuf_format(out, " ; cost %D", c->slots);
    if (c->accesses) textbuf_format(out, ", accesses %u", (unsigned)c->accesses);
  }
  textbuf_char(out, '\n');
}

static void print_early_exit(const struct vplan *p, const struct nvm_function *f,
                             struct textbuf *out) {
  struct vp_cost any = {.slots = p->costs ? p->costs[0].computing : 0};
  size_t begin = out->length;
  textbuf_puts(out, p->early_negated ? "    EMIT vp<%exits> = any-of not "
                                     : "    EMIT vp<%exits> = any-of ");
  vplan_print_use(p, f, p->early, out);
  end_line(out, begin, p->costs ? &any : NULL);
  textbuf_puts(out,
               "    EMIT branch-on-cond vp<%exits>\n"
               "  Successor(s): scalar loop, vector.body.interim\n\n  vector.body.interim:\n");
}

static void print_inner_head(const struct vplan *p, struct textbuf *out) {
  textbuf_puts(out, "  Successor(s): inner loop\n\n  <x1> inner loop: {");
  if (p->costs)
    textbuf_format(out, " ; cost %D, accesses %u", p->inner.slots, (unsigned)p->inner.accesses);
  textbuf_puts(out, "\n    vector.inner:\n");
}

static void print_inner_end(const struct vplan *p, const struct nvm_function *f,
                            struct textbuf *out) {
  struct vp_cost branch = {.slots = VP_BRANCH_SLOTS};
  size_t begin = out->length;
  textbuf_puts(out, "      EMIT branch-on-cond ");
  vplan_print_use(p, f, p->inner_condition, out);
  end_line(out, begin, p->costs ? &branch : NULL);
  textbuf_puts(out, "    No successors\n  }\n  Successor(s): vector.latch\n\n  vector.latch:\n");
}

void vplan_print_loop(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  textbuf_puts(out, ":\n    EMIT vp<%index> = CANONICAL-INDUCTION\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    if (vplan_recipe(p, n)->kind == VP_LIVE_IN) continue;
    if (n == p->inner_first) print_inner_head(p, out);
    size_t begin = out->length;
    textbuf_puts(out, vplan_in_inner_loop(p, n) ? "      " : "    ");
    print_recipe(p, f, n, out);
    end_line(out, begin, p->costs ? &p->costs[n] : NULL);
    if (n == p->inner_last) print_inner_end(p, f, out);
  }
  if (p->early) print_early_exit(p, f, out);
  struct vp_cost control[2] = {{.slots = VP_ADVANCE_SLOTS}, {.slots = VP_LATCH_SLOTS}};
  size_t begin = out->length;
  textbuf_puts(out, "    EMIT vp<%index.next> = add vp<%index>, ");
  if (p->factor) textbuf_unsigned(out, p->factor * p->count);
  else textbuf_puts(out, "VF * UF");
  end_line(out, begin, p->costs ? &control[0] : NULL);
  begin = out->length;
  textbuf_puts(out, "    EMIT branch-on-count vp<%index.next>, vp<%n.vec>");
  end_line(out, begin, p->costs ? &control[1] : NULL);
  textbuf_puts(out, "  No successors\n}\n");
}

static void print_name(const struct vplan *p, struct textbuf *out) {
  if (p->factor) {
    textbuf_format(out, "Final VPlan for VF=%u,UF=%u", (unsigned)p->factor, (unsigned)p->count);
    return;
  }
  textbuf_puts(out, "Initial VPlan for VF={");
  for (uint32_t factor = p->min_factor; factor <= p->max_factor; factor *= 2)
    textbuf_format(out, "%s%u", factor == p->min_factor ? "" : ",", (unsigned)factor);
  textbuf_puts(out, "},UF>=1");
}

void vplan_print_head(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  textbuf_puts(out, "VPlan '");
  print_name(p, out);
  textbuf_puts(out, "' {\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    if (vplan_recipe(p, n)->kind != VP_LIVE_IN) continue;
    textbuf_puts(out, "Live-in ");
    vplan_print_use(p, f, n, out);
    textbuf_char(out, '\n');
  }
  textbuf_char(out, '\n');
}

void vplan_print(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  vplan_print_head(p, f, out);
  textbuf_puts(out, "vector.ph:\nSuccessor(s): vector loop\n\n");
  textbuf_puts(out, "<x1> vector loop: {\n  vector.body");
  vplan_print_loop(p, f, out);
  textbuf_puts(out, "Successor(s): middle.block\n\nmiddle.block:\nNo successors\n}\n");
}

static void escape(struct textbuf *out, const char *bytes, size_t length) {
  for (size_t k = 0; k < length; k++) {
    if (strchr("\"\\<>{}|", bytes[k])) textbuf_char(out, '\\');
    textbuf_char(out, bytes[k]);
  }
}

void vplan_print_dot(const struct vplan *p, const struct nvm_function *f, struct textbuf *out) {
  textbuf_puts(out, "digraph VPlan {\n  node [shape=box, fontname=monospace];\n  label=\"");
  print_name(p, out);
  textbuf_puts(out, "\";\n");
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    struct textbuf line;
    textbuf_init(&line, out->arena);
    if (r->kind == VP_LIVE_IN) vplan_print_use(p, f, n, &line);
    else print_recipe(p, f, n, &line);
    if (p->costs && r->kind != VP_LIVE_IN) textbuf_format(&line, " ; cost %D", p->costs[n].slots);
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
