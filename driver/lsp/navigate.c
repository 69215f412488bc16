/* Definition, references and highlights of the name at a position. */
#include "driver/lsp/server.h"

static void put_location(struct json_writer *w, struct document *d, struct text_range range) {
  json_object(w);
  json_member(w, "uri", text_of(d->uri));
  json_key(w, "range"), text_put_range(&d->text, w, range);
  json_object_end(w);
}

void navigate_definition(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  const struct index_name *n = index_name_at(&d->index, offset);
  const struct index_name *definition = n ? index_definition(&d->index, n) : NULL;
  const struct index_function *f = n ? index_function_of(&d->index, n) : NULL;
  /* an unnamed argument or entry block is written nowhere: the function is its place */
  if (n && !definition && n->is_number && f && f->name != UINT32_MAX)
    definition = &d->index.names.data[f->name];
  if (!definition) {
    server_null(s, r);
    return;
  }
  struct json_writer w = server_begin_result(s, r->id->source);
  put_location(&w, d, definition->range);
  server_send(s);
}

void navigate_references(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  const struct index_name *n = index_name_at(&d->index, offset);
  bool all = json_is_true(json_at(r->params, "context.includeDeclaration"));
  struct json_writer w = server_begin_result(s, r->id->source);
  json_array(&w);
  for (uint32_t k = 0; n && k < d->index.names.count; k++) {
    const struct index_name *other = &d->index.names.data[k];
    if (index_same(n, other) && (all || !other->is_definition)) put_location(&w, d, other->range);
  }
  json_array_end(&w);
  server_send(s);
}

void navigate_highlight(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  const struct index_name *n = index_name_at(&d->index, offset);
  struct json_writer w = server_begin_result(s, r->id->source);
  json_array(&w);
  for (uint32_t k = 0; n && k < d->index.names.count; k++) {
    const struct index_name *other = &d->index.names.data[k];
    if (!index_same(n, other)) continue;
    json_object(&w);
    json_key(&w, "range"), text_put_range(&d->text, &w, other->range);
    json_number(&w, "kind", other->is_definition ? 3 : 2); /* write, read */
    json_object_end(&w);
  }
  json_array_end(&w);
  server_send(s);
}
