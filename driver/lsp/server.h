/* `nvmini lsp`: the language server. server.c receives messages and keeps the documents; each
 * other file answers a few methods. */
#ifndef NVM_DRIVER_LSP_SERVER_H
#define NVM_DRIVER_LSP_SERVER_H

#include "driver/lsp/index.h"
#include "driver/lsp/rpc.h"
#include "driver/serve/serve.h"
#include "nvmini.h"

#include <time.h>

enum {
  SERVER_MAX_DOCUMENTS = 256,
  SERVER_MAX_TEXT = 256 << 20, /* bytes of memory of all texts */
  SERVER_MAX_MODULE = 1 << 30, /* bytes of a parsed module */
};

struct document {
  char *uri; /* malloc'ed */
  int64_t version;
  struct text text;
  struct index index; /* of the text if has_index */
  bool has_index;
  bool is_dirty;                /* its diagnostics are not yet sent */
  struct nvmini_module *module; /* of the text if it was parsed and is valid; else NULL */
  char *finding;                /* malloc'ed: of the last execution of the text; NULL: none */
  uint32_t finding_line;        /* from 0 */
};

/* A command of a code lens that is being executed. */
struct lens {
  struct job job;
  char *uri, *kernel; /* malloc'ed */
  time_t deadline;    /* its process is then ended */
  bool is_active, explains;
};
enum { LENS_SECONDS = 20 };

struct server {
  struct rpc rpc;
  struct arena arena; /* of the message being answered */
  struct textbuf out; /* the message being written */
  struct nvmini_context *context;
  struct document *documents[SERVER_MAX_DOCUMENTS];
  uint32_t document_count;
  bool is_initialized, is_shut_down, is_ended;
  bool has_markdown;    /* the client shows Markdown in hovers */
  bool shows_documents; /* the client has window/showDocument */
  uint32_t requests;    /* sent to the client */
  struct lens lens;
};

struct lsp_request {
  const struct json_value *id; /* NULL: a notification */
  const struct json_value *params;
};

/* Begins the answer to a request, or a notification; the value of `result` or `params` follows. */
struct json_writer server_begin_result(struct server *s, struct nvm_text id);
struct json_writer server_begin_notification(struct server *s, const char *method);
/* Begins a request to the client, whose answer is ignored. */
struct json_writer server_begin_request(struct server *s, const char *method);
/* Shows a message to the user; type 1 error, 2 warning, 3 information. */
void server_show(struct server *s, unsigned type, struct nvm_text message);
/* Sends the message that was begun; if memory ran out, an error in its place. */
void server_send(struct server *s);
/* Answers with `null`, or an error. Nothing for a notification. */
void server_null(struct server *s, const struct lsp_request *r);
void server_error(struct server *s, const struct lsp_request *r, int code, const char *message);

/* The document that params.textDocument names; NULL after an error. */
struct document *server_document(struct server *s, const struct lsp_request *r);
/* The document and the offset of params.position; NULL after an error. Its index is made. */
struct document *server_place(struct server *s, const struct lsp_request *r, uint32_t *offset);
/* The open document of a URI; NULL: none. */
struct document *server_find(struct server *s, const struct json_value *uri);
struct document *server_find_uri(struct server *s, struct nvm_text uri);
/* Makes the index of a document. False when out of memory. */
bool server_index(struct document *d);
/* The module of a document whose text is valid, else NULL; may send its diagnostics. */
struct nvmini_module *server_module(struct server *s, struct document *d);

/* diagnose.c: sends the diagnostics of a document. */
void diagnose_document(struct server *s, struct document *d);
/* Sends an empty list for a document that was closed. */
void diagnose_nothing(struct server *s, const char *uri);

/* lens.c, in addition to the methods: milliseconds until the running command must end, -1 without
 * one; the end of its process, or of its time; the end of the server. */
int lens_timeout(const struct server *s);
void lens_finish(struct server *s);
void lens_stop(struct server *s);

/* The methods, in the files of the same names. */
void complete_answer(struct server *s, const struct lsp_request *r);
void format_answer(struct server *s, const struct lsp_request *r);
void hover_answer(struct server *s, const struct lsp_request *r);
void lens_answer(struct server *s, const struct lsp_request *r);
void lens_execute(struct server *s, const struct lsp_request *r);
void navigate_definition(struct server *s, const struct lsp_request *r);
void navigate_references(struct server *s, const struct lsp_request *r);
void navigate_highlight(struct server *s, const struct lsp_request *r);
void rename_prepare(struct server *s, const struct lsp_request *r);
void rename_answer(struct server *s, const struct lsp_request *r);
void symbols_answer(struct server *s, const struct lsp_request *r);

#endif
