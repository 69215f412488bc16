/* Diagnostics: those of nvmini_parse() and nvmini_check(), as the command `nvmini check` has. */
#include "driver/lsp/server.h"

struct publication {
  struct document *document;
  struct json_writer w;
};

static unsigned severity_number(enum nvmini_severity s) {
  switch (s) {
    case NVMINI_ERROR: return 1;
    case NVMINI_WARNING: return 2;
    case NVMINI_REMARK:
    case NVMINI_NOTE: break;
  }
  return 3;
}

static struct nvm_text private_text(struct nvmini_text t) {
  return (struct nvm_text){t.bytes, t.length};
}

static void put_diagnostic(void *user, const struct nvmini_diagnostic *d) {
  struct publication *p = user;
  struct text *text = &p->document->text;
  char bytes[4096];
  struct textbuf message;
  textbuf_init_fixed(&message, bytes, sizeof bytes);
  textbuf_text(&message, private_text(d->message));
  if (d->hint.length) textbuf_format(&message, "\nhint: %t", private_text(d->hint));
  uint64_t end = d->end > d->begin ? d->end : d->begin;
  json_object(&p->w);
  json_key(&p->w, "range");
  text_put_range(text, &p->w, (struct text_range){(uint32_t)d->begin, (uint32_t)end});
  json_number(&p->w, "severity", severity_number(d->severity));
  json_member(&p->w, "code", text_of(d->id));
  json_member(&p->w, "source", text_of("nvmini"));
  json_member(&p->w, "message", text_of(bytes));
  json_object_end(&p->w);
}

/* The finding of the last execution, at its line. */
static void put_finding(struct publication *p) {
  struct document *d = p->document;
  json_object(&p->w);
  json_key(&p->w, "range");
  text_put_range(&d->text, &p->w, text_line_range(&d->text, d->finding_line));
  json_number(&p->w, "severity", 1);
  json_member(&p->w, "source", text_of("nvmini run"));
  json_member(&p->w, "message", text_of(d->finding));
  json_object_end(&p->w);
}

/* Parses the text and keeps its module if it is valid. */
static void parse(struct server *s, struct document *d) {
  nvmini_release(d->module);
  d->module = NULL;
  if (nvmini_parse(s->context, d->text.bytes, d->text.length, "document", &d->module) != NVMINI_OK)
    return;
  if (nvmini_check(d->module) == NVMINI_OK) return;
  nvmini_release(d->module);
  d->module = NULL;
}

void diagnose_document(struct server *s, struct document *d) {
  struct publication p = {d, server_begin_notification(s, "textDocument/publishDiagnostics")};
  json_object(&p.w);
  json_member(&p.w, "uri", text_of(d->uri));
  json_key(&p.w, "version"), json_signed(&p.w, d->version);
  json_key(&p.w, "diagnostics"), json_array(&p.w);
  nvmini_on_diagnostic(s->context, put_diagnostic, &p);
  parse(s, d);
  nvmini_on_diagnostic(s->context, NULL, NULL);
  if (d->finding) put_finding(&p);
  json_array_end(&p.w);
  json_object_end(&p.w);
  server_send(s);
  d->is_dirty = false;
}

void diagnose_nothing(struct server *s, const char *uri) {
  struct json_writer w = server_begin_notification(s, "textDocument/publishDiagnostics");
  json_object(&w);
  json_member(&w, "uri", text_of(uri));
  json_key(&w, "diagnostics"), json_array(&w), json_array_end(&w);
  json_object_end(&w);
  server_send(s);
}
