/* The outline of a document: functions with their blocks, variables, types. */
#include "driver/lsp/server.h"

enum { KIND_FUNCTION = 12, KIND_VARIABLE = 13, KIND_KEY = 20, KIND_STRUCT = 23 };

/* Opens the object of a symbol; its children may follow. */
static void open_symbol(struct json_writer *w, struct document *d, const struct index_name *n,
                        uint64_t kind, struct text_range whole) {
  json_object(w);
  json_member(w, "name", index_text(&d->index, n));
  json_number(w, "kind", kind);
  json_key(w, "range"), text_put_range(&d->text, w, whole);
  json_key(w, "selectionRange"), text_put_range(&d->text, w, n->range);
}

static void put_function(struct json_writer *w, struct document *d, const struct index_function *f,
                         uint32_t *next) {
  const struct index *x = &d->index;
  open_symbol(w, d, &x->names.data[f->name], KIND_FUNCTION, (struct text_range){f->begin, f->end});
  json_member(w, "detail",
              text_of(f->is_declaration ? "declare" : f->is_kernel ? "kernel" : "function"));
  json_key(w, "children"), json_array(w);
  for (; *next < x->names.count && x->names.data[*next].range.begin < f->end; (*next)++) {
    const struct index_name *n = &x->names.data[*next];
    if (!n->is_block || n->range.begin < f->begin) continue;
    open_symbol(w, d, n, KIND_KEY, n->range);
    json_object_end(w);
  }
  json_array_end(w);
  json_object_end(w);
}

void symbols_answer(struct server *s, const struct lsp_request *r) {
  struct document *d = server_document(s, r);
  if (!d) return;
  if (!server_index(d)) {
    server_error(s, r, RPC_INTERNAL_ERROR, "out of memory");
    return;
  }
  struct json_writer w = server_begin_result(s, r->id->source);
  uint32_t next = 0;
  json_array(&w);
  for (uint32_t k = 0; k < d->index.functions.count; k++)
    if (d->index.functions.data[k].name != UINT32_MAX)
      put_function(&w, d, &d->index.functions.data[k], &next);
  for (uint32_t k = 0; k < d->index.names.count; k++) {
    const struct index_name *n = &d->index.names.data[k];
    bool variable = n->kind == INDEX_GLOBAL && d->index.tokens.data[n->token].end > n->range.end;
    if (!n->is_definition || !(variable || n->kind == INDEX_TYPE)) continue;
    struct text_range line = text_line(&d->text, n->range.begin);
    if (line.end < n->range.end) line.end = n->range.end;
    open_symbol(&w, d, n, variable ? KIND_VARIABLE : KIND_STRUCT, line);
    json_object_end(&w);
  }
  json_array_end(&w);
  server_send(s);
}
