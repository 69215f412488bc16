/* Hover: the line that defines a name, what the tables say of an op or intrinsic. */
#include "driver/lsp/server.h"

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

void hover_answer(struct server *s, const struct request *r) {
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
