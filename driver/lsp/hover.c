/* Hover: the line that defines a name, what the tables say of an op or intrinsic, and, if the text
 * is valid, what the analyses know of a value. */
#include "driver/lsp/server.h"

#include "api/module.h"
#include "driver/explain/facts.h"
#include "driver/reference/reference.h"
#include "ir/intrinsic.h"
#include "ir/ops.h"

static void put_op(struct textbuf *b, const char *keyword) {
  for (int k = 0; k < OP_COUNT; k++)
    if (strcmp(op_table[k].keyword, keyword) == 0)
      textbuf_format(b, "%s: %s\n", keyword, op_table[k].meaning);
  struct nvm_text section = reference_section("ops", keyword);
  if (section.length) textbuf_format(b, "\n%t", section);
}

/* ---- What the analyses know ---- */

static bool is_name(const struct nvm_function *f, struct nvm_str name, struct nvm_text wanted) {
  return text_equal(module_text(f->module, name), wanted);
}

/* The instruction or argument of f with this name, without sigil; VALUE_NULL: none. */
static struct nvm_value find_value(const struct nvm_function *f, struct nvm_text name) {
  for (uint32_t k = 0; k < function_arg_count(f) && f->arg_names; k++)
    if (is_name(f, f->arg_names[k], name)) return value_of_arg(k);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (is_name(f, f->names.data[i.index], name)) return value_of_inst(i);
  return VALUE_NULL;
}

static void put_fact(struct textbuf *b, const char *label, struct nvm_text fact) {
  if (fact.length) textbuf_format(b, "%s: %t\n", label, fact);
}

static void put_facts(struct textbuf *b, struct explain *e, struct nvm_function *f,
                      struct nvm_text name) {
  (void)explain_name_values(e, f);
  struct facts x = {.e = e, .f = f};
  struct nvm_value v = find_value(f, name);
  if (!value_is_none(v) && facts_compute(&x)) {
    textbuf_puts(b, "type: ");
    type_print(&f->module->types, value_type(f, v), b);
    textbuf_char(b, '\n');
    put_fact(b, "range", facts_range(&x, v));
    put_fact(b, "bits", facts_bits(&x, v));
    if (value_kind(v) == VALUE_INST)
      put_fact(b, "as a function of the iteration",
               facts_scev(&x, (struct nvm_inst_id){value_index(v)}));
    bool divergent = divergence_of(&x.divergence, v);
    put_fact(b, "lanes", text_of(divergent ? "may differ (divergent)" : "equal (uniform)"));
  }
  if (!value_is_none(v)) facts_end(&x);
}

/* The facts of a local value; nothing if the text has errors. */
static void put_analyses(struct server *s, struct textbuf *b, struct document *d,
                         const struct index_name *n) {
  const struct index_function *in = index_function_of(&d->index, n);
  struct nvmini_module *module = in && in->name != UINT32_MAX ? server_module(s, d) : NULL;
  if (!module) return;
  struct nvm_module *m = module_of_handle(module);
  struct nvm_text function = index_text(&d->index, &d->index.names.data[in->name]);
  struct explain e = {.watch = NULL};
  arena_init(&e.arena, nvm_default_allocator);
  for (uint32_t k = 1; strtab_init(&e.names, &e.arena) && k < m->functions.count; k++) {
    struct nvm_function *f = m->functions.data[k];
    if (function_is_declaration(f) || !is_name(f, f->symbol.name, function))
      continue;
    put_facts(b, &e, f, index_text(&d->index, n));
    break;
  }
  arena_free(&e.arena);
}

/* ---- Names and ops ---- */

static void put_name(struct textbuf *b, struct document *d, const struct index_name *n) {
  struct nvm_text name = index_text(&d->index, n);
  enum intrinsic_id id = n->kind == INDEX_GLOBAL && text_begins(name, "llvm.")
                             ? intrinsic_find(name.bytes, name.length)
                             : INTRINSIC_NONE;
  const struct intrinsic_info *i = &intrinsic_table[id];
  if (id != INTRINSIC_NONE) textbuf_format(b, "%s %s\n", i->name, i->signature);
  if (id != INTRINSIC_NONE && i->requires[0]) textbuf_format(b, "needs %s\n", i->requires);
  const struct index_name *definition = index_definition(&d->index, n);
  if (!definition) return;
  struct text_range line = text_line(&d->text, definition->range.begin);
  while (line.begin < line.end && d->text.bytes[line.begin] == ' ') line.begin++;
  textbuf_format(b, "%t\nline %u\n",
                 (struct nvm_text){d->text.bytes + line.begin, line.end - line.begin},
                 text_line_number(&d->text, definition->range.begin) + 1);
}

void hover_answer(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  const struct index_name *n = index_name_at(&d->index, offset);
  const struct index_token *t = index_token_at(&d->index, offset);
  const char *op = t && !n ? index_op(t, d->text.bytes) : NULL;
  struct textbuf b;
  textbuf_init(&b, &s->arena);
  if (s->has_markdown) textbuf_puts(&b, "```text\n");
  size_t begin = b.length;
  if (n) put_name(&b, d, n);
  if (n && n->kind == INDEX_LOCAL && !n->is_block) put_analyses(s, &b, d, n);
  if (op) put_op(&b, op);
  if (b.length == begin) {
    server_null(s, r);
    return;
  }
  if (s->has_markdown) textbuf_puts(&b, "```\n");
  struct json_writer w = server_begin_result(s, r->id->source);
  json_object(&w);
  json_key(&w, "contents"), json_object(&w);
  json_member(&w, "kind", text_of(s->has_markdown ? "markdown" : "plaintext"));
  json_member(&w, "value", (struct nvm_text){b.bytes, b.length});
  json_object_end(&w);
  json_key(&w, "range");
  text_put_range(&d->text, &w, n ? n->range : (struct text_range){t->begin, t->end});
  json_object_end(&w);
  server_send(s);
}
