/* The language server: life cycle, documents, and which method is answered where.
 *
 * One thread. Diagnostics are computed when no message waits, so that fast typing costs one parse
 * per pause and requests are answered first. */
#include "driver/lsp/server.h"

#include "driver/commands.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Messages to the client ---- */

static void begin(struct server *s) {
  textbuf_init(&s->out, &s->arena);
  textbuf_puts(&s->out, "{\"jsonrpc\":\"2.0\",");
}

struct json_writer server_begin_result(struct server *s, struct nvm_text id) {
  struct json_writer w;
  begin(s);
  textbuf_format(&s->out, "\"id\":%t,\"result\":", id);
  json_begin(&w, &s->out, false);
  return w;
}

struct json_writer server_begin_notification(struct server *s, const char *method) {
  struct json_writer w;
  begin(s);
  textbuf_format(&s->out, "\"method\":\"%s\",\"params\":", method);
  json_begin(&w, &s->out, false);
  return w;
}

struct json_writer server_begin_request(struct server *s, const char *method) {
  struct json_writer w;
  begin(s);
  textbuf_format(&s->out, "\"id\":%u,\"method\":\"%s\",\"params\":", ++s->requests, method);
  json_begin(&w, &s->out, false);
  return w;
}

void server_send(struct server *s) {
  static const char failed[] =
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}";
  textbuf_char(&s->out, '}');
  if (s->arena.failed) rpc_send(&s->rpc, (struct nvm_text){failed, sizeof failed - 1});
  else rpc_send(&s->rpc, (struct nvm_text){s->out.bytes, s->out.length});
}

void server_null(struct server *s, const struct lsp_request *r) {
  if (!r->id) return;
  server_begin_result(s, r->id->source);
  textbuf_puts(&s->out, "null");
  server_send(s);
}

static void send_error(struct server *s, struct nvm_text id, int code, const char *message) {
  struct json_writer w;
  begin(s);
  textbuf_format(&s->out, "\"id\":%t,\"error\":", id);
  json_begin(&w, &s->out, false);
  json_object(&w);
  json_key(&w, "code"), json_signed(&w, code);
  json_member(&w, "message", text_of(message));
  json_object_end(&w);
  server_send(s);
}

void server_error(struct server *s, const struct lsp_request *r, int code, const char *message) {
  if (r->id) send_error(s, r->id->source, code, message);
}

void server_show(struct server *s, unsigned type, struct nvm_text message) {
  struct json_writer w = server_begin_notification(s, "window/showMessage");
  json_object(&w);
  json_number(&w, "type", type);
  json_member(&w, "message", message);
  json_object_end(&w);
  server_send(s);
}

/* ---- Documents ---- */

struct document *server_find_uri(struct server *s, struct nvm_text uri) {
  for (uint32_t k = 0; k < s->document_count; k++)
    if (text_is(uri, s->documents[k]->uri)) return s->documents[k];
  return NULL;
}

struct document *server_find(struct server *s, const struct json_value *uri) {
  struct nvm_text wanted;
  return json_get_string(uri, &wanted) ? server_find_uri(s, wanted) : NULL;
}

struct document *server_document(struct server *s, const struct lsp_request *r) {
  struct document *d = server_find(s, json_at(r->params, "textDocument.uri"));
  if (!d) server_error(s, r, RPC_INVALID_PARAMS, "textDocument is not an open document");
  return d;
}

bool server_index(struct document *d) {
  if (d->has_index) return true;
  d->has_index = index_make(&d->index, d->text.bytes, d->text.length);
  if (!d->has_index) index_free(&d->index);
  return d->has_index;
}

struct nvmini_module *server_module(struct server *s, struct document *d) {
  if (d->is_dirty) diagnose_document(s, d);
  return d->module;
}

struct document *server_place(struct server *s, const struct lsp_request *r, uint32_t *offset) {
  struct document *d = server_document(s, r);
  if (!d) return NULL;
  if (!text_offset(&d->text, json_find(r->params, "position"), offset)) {
    server_error(s, r, RPC_INVALID_PARAMS, "position needs a line and a character from 0");
    return NULL;
  }
  if (server_index(d)) return d;
  server_error(s, r, RPC_INTERNAL_ERROR, "out of memory");
  return NULL;
}

/* Drops what was made from the text, which changes. */
static void drop_results(struct document *d) {
  if (d->has_index) index_free(&d->index);
  d->has_index = false;
  nvmini_release(d->module);
  d->module = NULL;
  free(d->finding);
  d->finding = NULL;
}

static void free_document(struct document *d) {
  drop_results(d);
  text_free(&d->text);
  free(d->uri);
  free(d);
}

static size_t memory_of_texts(const struct server *s) {
  size_t bytes = 0;
  for (uint32_t k = 0; k < s->document_count; k++) bytes += text_memory(&s->documents[k]->text);
  return bytes;
}

static void remove_document(struct server *s, struct document *d) {
  uint32_t k = 0;
  while (s->documents[k] != d) k++;
  s->documents[k] = s->documents[--s->document_count];
  free_document(d);
}

static void did_open(struct server *s, const struct lsp_request *r) {
  const struct json_value *item = json_find(r->params, "textDocument");
  struct nvm_text uri, text;
  if (!json_get_string(json_find(item, "uri"), &uri) || memchr(uri.bytes, 0, uri.length) ||
      !json_get_string(json_find(item, "text"), &text))
    return;
  struct document *d = server_find(s, json_find(item, "uri"));
  if (d) remove_document(s, d);
  bool room = s->document_count < SERVER_MAX_DOCUMENTS &&
              memory_of_texts(s) + text.length <= SERVER_MAX_TEXT;
  d = room ? calloc(1, sizeof *d) : NULL;
  if (d) d->uri = calloc(1, uri.length + 1);
  if (!d || !d->uri || !text_replace(&d->text, (struct text_range){0, 0}, text)) {
    if (d) free_document(d);
    server_show(s, 1, text_of("nvmini: too many or too large documents are open"));
    return;
  }
  memcpy(d->uri, uri.bytes, uri.length);
  (void)json_get_integer(json_find(item, "version"), INT32_MIN, INT32_MAX, &d->version);
  d->is_dirty = true;
  s->documents[s->document_count++] = d;
}

/* One change: of a range, or of the whole text. False if it is malformed or too large. */
static bool change(struct server *s, struct document *d, const struct json_value *item) {
  const struct json_value *range = json_find(item, "range");
  struct text_range replaced = {0, (uint32_t)d->text.length};
  struct nvm_text text;
  if (!json_get_string(json_find(item, "text"), &text)) return false;
  if (range && range->kind != JSON_NULL && !text_get_range(&d->text, range, &replaced))
    return false;
  if (memory_of_texts(s) + text.length > SERVER_MAX_TEXT) return false;
  return text_replace(&d->text, replaced, text);
}

static void did_change(struct server *s, const struct lsp_request *r) {
  struct document *d = server_document(s, r);
  const struct json_value *changes = json_find(r->params, "contentChanges");
  if (!d || !changes || changes->kind != JSON_ARRAY) return;
  drop_results(d);
  d->is_dirty = true;
  for (const struct json_value *v = changes->first; v; v = v->next) {
    if (change(s, d, v)) continue;
    server_show(s, 1, text_of("nvmini: a change could not be applied; open the document again"));
    break;
  }
  (void)json_get_integer(json_at(r->params, "textDocument.version"), INT32_MIN, INT32_MAX,
                         &d->version);
}

static void did_close(struct server *s, const struct lsp_request *r) {
  struct document *d = server_document(s, r);
  if (!d) return;
  diagnose_nothing(s, d->uri);
  remove_document(s, d);
}

/* ---- Life cycle ---- */

static bool contains(const struct json_value *array, const char *word) {
  struct nvm_text text;
  for (const struct json_value *v = array && array->kind == JSON_ARRAY ? array->first : NULL; v;
       v = v->next)
    if (json_get_string(v, &text) && text_is(text, word)) return true;
  return false;
}

static void initialize(struct server *s, const struct lsp_request *r) {
  static const char capabilities[] =
      "{\"capabilities\":{\"positionEncoding\":\"utf-16\","
      "\"textDocumentSync\":{\"openClose\":true,\"change\":2},"
      "\"hoverProvider\":true,\"definitionProvider\":true,\"referencesProvider\":true,"
      "\"documentHighlightProvider\":true,\"renameProvider\":{\"prepareProvider\":true},"
      "\"documentSymbolProvider\":true,\"documentFormattingProvider\":true,"
      "\"completionProvider\":{\"triggerCharacters\":[\"%%\",\"@\",\"!\",\"#\",\".\"]},"
      "\"codeLensProvider\":{},"
      "\"executeCommandProvider\":{\"commands\":[\"nvmini.run\",\"nvmini.explain\"]}},"
      "\"serverInfo\":{\"name\":\"nvmini\",\"version\":\"%s\"}}";
  if (s->is_initialized) {
    server_error(s, r, RPC_INVALID_REQUEST, "the server is initialized already");
    return;
  }
  s->is_initialized = true;
  s->has_markdown = contains(
      json_at(r->params, "capabilities.textDocument.hover.contentFormat"), "markdown");
  s->shows_documents =
      json_is_true(json_at(r->params, "capabilities.window.showDocument.support"));
  server_begin_result(s, r->id->source);
  textbuf_format(&s->out, capabilities, nvmini_version());
  server_send(s);
}

static void shut_down(struct server *s, const struct lsp_request *r) {
  s->is_shut_down = true;
  server_null(s, r);
}

static void ignore(struct server *s, const struct lsp_request *r) { (void)s, (void)r; }

static void end(struct server *s, const struct lsp_request *r) {
  (void)r;
  s->is_ended = true;
}

static const struct method {
  const char *name;
  bool is_request;
  void (*answer)(struct server *s, const struct lsp_request *r);
} methods[] = {
    {"initialize", true, initialize},
    {"initialized", false, ignore},
    {"shutdown", true, shut_down},
    {"exit", false, end},
    {"$/cancelRequest", false, ignore},
    {"textDocument/didOpen", false, did_open},
    {"textDocument/didChange", false, did_change},
    {"textDocument/didClose", false, did_close},
    {"textDocument/hover", true, hover_answer},
    {"textDocument/definition", true, navigate_definition},
    {"textDocument/references", true, navigate_references},
    {"textDocument/documentHighlight", true, navigate_highlight},
    {"textDocument/prepareRename", true, rename_prepare},
    {"textDocument/rename", true, rename_answer},
    {"textDocument/documentSymbol", true, symbols_answer},
    {"textDocument/formatting", true, format_answer},
    {"textDocument/completion", true, complete_answer},
    {"textDocument/codeLens", true, lens_answer},
    {"workspace/executeCommand", true, lens_execute},
};

static const struct method *find_method(struct nvm_text name) {
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
    if (text_is(name, methods[k].name)) return &methods[k];
  return NULL;
}

/* ---- Messages from the client ---- */

static void dispatch(struct server *s, struct nvm_text name, const struct lsp_request *r) {
  const struct method *m = find_method(name);
  bool is_first = m && m->answer == initialize, is_last = m && m->answer == end;
  if (m && m->is_request != (r->id != NULL)) {
    server_error(s, r, RPC_INVALID_REQUEST, "the method is a notification");
  } else if (!s->is_initialized && !is_first && !is_last) {
    server_error(s, r, RPC_NOT_INITIALIZED, "the server is not initialized");
  } else if (s->is_shut_down && !is_last) {
    server_error(s, r, RPC_INVALID_REQUEST, "the server is shut down");
  } else if (!m) {
    server_error(s, r, RPC_METHOD_NOT_FOUND, "unknown method");
  } else {
    m->answer(s, r);
  }
}

static bool is_utf8(struct nvm_text t) {
  const unsigned char *at = (const unsigned char *)t.bytes, *end = at + t.length;
  while (at < end) {
    unsigned c = *at++, more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    if ((c >= 0x80 && c < 0xC2) || c > 0xF4 || (size_t)(end - at) < more) return false;
    if ((c == 0xE0 && *at < 0xA0) || (c == 0xED && *at >= 0xA0)) return false;
    if ((c == 0xF0 && *at < 0x90) || (c == 0xF4 && *at >= 0x90)) return false;
    for (; more > 0; more--)
      if ((*at++ & 0xC0) != 0x80) return false;
  }
  return true;
}

/* Whether an answer can repeat the id: an integer, or a string. Bytes that are no UTF-8 would make
 * the answer no JSON. */
static bool is_id(const struct json_value *id) {
  if (!id || !is_utf8(id->source)) return false;
  return id->kind == JSON_STRING || (id->kind == JSON_NUMBER && id->is_integer);
}

static void receive(struct server *s, struct nvm_text message) {
  static const char none[] = "null";
  const struct json_value *v = json_read(&s->arena, message), *id = json_find(v, "id");
  struct nvm_text version, method;
  if (!v) {
    send_error(s, text_of(none), RPC_PARSE_ERROR, "the message is not JSON, or nested too deeply");
    return;
  }
  bool valid = json_get_string(json_find(v, "jsonrpc"), &version) && text_is(version, "2.0");
  bool known = is_id(id);
  bool named = json_get_string(json_find(v, "method"), &method);
  if (valid && !named && (json_find(v, "result") || json_find(v, "error"))) return;
  if (!valid || !named || (id && !known)) {
    send_error(s, known ? id->source : text_of(none), RPC_INVALID_REQUEST,
               "the message is not a request of JSON-RPC 2.0");
    return;
  }
  struct lsp_request r = {known ? id : NULL, json_find(v, "params")};
  dispatch(s, method, &r);
}

/* ---- The loop ---- */

/* Waits at most `timeout` milliseconds (-1: for ever) for a message or for the end of a command,
 * which it handles. Whether something happened. */
static bool await(struct server *s, int timeout) {
  struct pollfd p[] = {{.fd = s->rpc.in, .events = POLLIN},
                       {.fd = s->lens.is_active ? s->lens.job.ended : -1, .events = POLLIN}};
  int limit = lens_timeout(s);
  if (limit >= 0 && (timeout < 0 || limit < timeout)) timeout = limit;
  (void)poll(p, 2, timeout);
  bool ended = s->lens.is_active && (p[1].revents || lens_timeout(s) == 0);
  if (ended) lens_finish(s);
  if (p[0].revents) rpc_fill(&s->rpc);
  return ended || p[0].revents;
}

/* No message waits: sends the diagnostics of a document, or waits. */
static void work(struct server *s) {
  if (await(s, 0)) return;
  for (uint32_t k = 0; k < s->document_count && !s->is_shut_down; k++) {
    if (!s->documents[k]->is_dirty) continue;
    diagnose_document(s, s->documents[k]);
    return;
  }
  (void)await(s, -1);
}

static void serve(struct server *s) {
  static const char none[] = "null";
  while (!s->is_ended && !s->rpc.broken) {
    struct nvm_text message;
    arena_free(&s->arena);
    switch (rpc_next(&s->rpc, &message)) {
      case RPC_MESSAGE: receive(s, message); break;
      case RPC_TOO_LONG:
        send_error(s, text_of(none), RPC_INVALID_REQUEST, "the message is too long");
        break;
      case RPC_BAD_HEADER:
        send_error(s, text_of(none), RPC_PARSE_ERROR, "the header has no valid Content-Length");
        break;
      case RPC_NOTHING: work(s); break;
      case RPC_END: return;
    }
  }
}

int lsp_command(const struct options *o) {
  struct server *s = calloc(1, sizeof *s);
  (void)o;
  if (!s) return EXIT_REFUSED;
  signal(SIGPIPE, SIG_IGN);
  s->rpc = (struct rpc){.in = STDIN_FILENO, .out = STDOUT_FILENO};
  arena_init(&s->arena, nvm_default_allocator);
  s->context = nvmini_create(NULL, SERVER_MAX_MODULE);
  if (s->context) serve(s);
  lens_stop(s);
  int status = s->is_shut_down && !s->rpc.broken ? EXIT_DONE : EXIT_REFUSED;
  while (s->document_count) remove_document(s, s->documents[0]);
  nvmini_destroy(s->context);
  arena_free(&s->arena);
  rpc_free(&s->rpc);
  free(s);
  return status;
}
