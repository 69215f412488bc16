/* Code lenses "run" and "explain" above kernels, and the commands that they name.
 *
 * A command is executed in a child process with the limits of the playground (driver/serve/job.c),
 * one at a time; meanwhile other messages are answered. `run` executes the text as written; its
 * output becomes a message, and a finding also a diagnostic at its line until the text changes. If
 * lines `nvmini-run:` describe a launch, only the kernel of that launch has this lens: the one they
 * name, or the first. `explain` writes the page into a temporary folder and asks the client to show
 * it. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "driver/lsp/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- The launch of a text ---- */

/* Finds `mark` in a text; what follows it. NULL: not there. */
static const char *after(struct nvm_text t, const char *mark) {
  size_t length = strlen(mark);
  for (size_t k = 0; k + length <= t.length; k++)
    if (t.bytes[k] == *mark && memcmp(t.bytes + k, mark, length) == 0) return t.bytes + k + length;
  return NULL;
}

static struct nvm_text text_from(const struct document *d, const char *at) {
  return (struct nvm_text){at, (size_t)(d->text.bytes + d->text.length - at)};
}

/* The launch that the lines `nvmini-run:` of a text describe together; `nvmini run` takes the last
 * kernel that they name. */
struct launch {
  bool exists;
  struct nvm_text kernel; /* empty: the first one of the text */
};

/* The word after `--kernel` in a line; empty: none. */
static struct nvm_text kernel_of(struct nvm_text line) {
  const char *at = after(line, "--kernel"), *end = line.bytes + line.length;
  struct nvm_text word = {at ? at : end, 0};
  if (word.bytes < end) word.bytes++; /* a blank or `=` */
  while (word.bytes + word.length < end && (unsigned char)word.bytes[word.length] > ' ')
    word.length++;
  return word;
}

static struct launch find_launch(const struct document *d) {
  struct launch l = {.exists = false};
  const char *at = d->text.bytes;
  while ((at = after(text_from(d, at), "nvmini-run:")) != NULL) {
    struct nvm_text line = text_from(d, at);
    const char *end = memchr(at, '\n', line.length);
    if (end) line.length = (size_t)(end - at);
    struct nvm_text kernel = kernel_of(line);
    l.exists = true;
    if (kernel.length) l.kernel = kernel;
  }
  return l;
}

/* Whether kernel number `count` from 0 of the text, with this name, has the lens "run": where a
 * launch is described, only the kernel of it. */
static bool is_runnable(const struct launch *l, struct nvm_text name, uint32_t count) {
  if (!l->exists) return true;
  return l->kernel.length ? text_equal(name, l->kernel) : count == 0;
}

/* ---- Lenses ---- */

static void put_lens(struct json_writer *w, struct document *d, const struct index_name *n,
                     const char *name) {
  char command[32];
  snprintf(command, sizeof command, "nvmini.%s", name);
  json_object(w);
  json_key(w, "range"), text_put_range(&d->text, w, n->range);
  json_key(w, "command"), json_object(w);
  json_member(w, "title", text_of(name));
  json_member(w, "command", text_of(command));
  json_key(w, "arguments"), json_array(w);
  json_string(w, text_of(d->uri));
  json_string(w, index_text(&d->index, n));
  json_array_end(w);
  json_object_end(w);
  json_object_end(w);
}

void lens_answer(struct server *s, const struct lsp_request *r) {
  struct document *d = server_document(s, r);
  if (!d) return;
  if (!server_index(d)) {
    server_error(s, r, RPC_INTERNAL_ERROR, "out of memory");
    return;
  }
  struct launch launch = find_launch(d);
  struct json_writer w = server_begin_result(s, r->id->source);
  json_array(&w);
  for (uint32_t k = 0, count = 0; k < d->index.functions.count; k++) {
    const struct index_function *f = &d->index.functions.data[k];
    if (!f->is_kernel || f->is_declaration || f->name == UINT32_MAX) continue;
    const struct index_name *n = &d->index.names.data[f->name];
    if (is_runnable(&launch, index_text(&d->index, n), count)) put_lens(&w, d, n, "run");
    put_lens(&w, d, n, "explain");
    count++;
  }
  json_array_end(&w);
  server_send(s);
}

/* ---- Commands ---- */

/* Words of options are split at blanks and have no quotes. */
static bool is_word(struct nvm_text name) {
  for (size_t k = 0; k < name.length; k++)
    if ((unsigned char)name.bytes[k] <= ' ') return false;
  return name.length > 0 && name.length < 1024;
}

static bool start(struct server *s, struct document *d, bool explains, struct nvm_text kernel) {
  char options[1200] = "";
  if (!explains && find_launch(d).exists) snprintf(options, sizeof options, "--from ir");
  else if (!explains)
    snprintf(options, sizeof options, "--from ir --kernel %.*s", (int)kernel.length, kernel.bytes);
  struct job_request request = {
      .request = {explains ? COMMAND_EXPLAIN : COMMAND_RUN, explains ? "sm_90a" : "", "", options},
      .text = {d->text.bytes, d->text.length}};
  struct job_limits limits = {LENS_SECONDS, 1 << 30, 64 << 20};
  char *uri = strdup(d->uri), *name = strndup(kernel.bytes, kernel.length);
  if (!uri || !name || !job_start(&s->lens.job, &request, &limits)) {
    free(uri), free(name);
    return false;
  }
  s->lens = (struct lens){s->lens.job, uri, name, time(NULL) + LENS_SECONDS + 1, true, explains};
  return true;
}

void lens_execute(struct server *s, const struct lsp_request *r) {
  struct nvm_text command, kernel;
  const struct json_value *arguments = json_find(r->params, "arguments");
  const struct json_value *uri = arguments ? arguments->first : NULL;
  struct document *d = uri ? server_find(s, uri) : NULL;
  bool known = json_get_string(json_find(r->params, "command"), &command) &&
               (text_is(command, "nvmini.run") || text_is(command, "nvmini.explain"));
  if (!known || !d || !json_get_string(uri->next, &kernel) || !is_word(kernel)) {
    server_error(s, r, RPC_INVALID_PARAMS,
                 "expected nvmini.run or nvmini.explain with an open document and a kernel");
  } else if (s->lens.is_active) {
    server_error(s, r, RPC_REQUEST_FAILED, "a kernel is being executed");
  } else if (!start(s, d, text_is(command, "nvmini.explain"), kernel)) {
    server_error(s, r, RPC_REQUEST_FAILED, "no process can be started");
  } else {
    server_null(s, r);
  }
}

/* ---- Results ---- */

/* The line that a finding names last, `line 12`; 0: none. */
static unsigned line_of(struct nvm_text message) {
  static const char mark[] = "line ";
  unsigned line = 0;
  for (size_t k = 0; k + sizeof mark - 1 < message.length; k++)
    if (memcmp(message.bytes + k, mark, sizeof mark - 1) == 0)
      line = (unsigned)strtoul(message.bytes + k + sizeof mark - 1, NULL, 10);
  return line;
}

/* The first line `nvmini: KIND: ...` of the messages becomes a diagnostic. */
static void keep_finding(struct document *d, struct nvm_text messages) {
  const char *end = memchr(messages.bytes, '\n', messages.length);
  if (end) messages.length = (size_t)(end - messages.bytes);
  if (!text_begins(messages, "nvmini: ") || !line_of(messages)) return;
  free(d->finding);
  d->finding = strndup(messages.bytes + 8, messages.length - 8);
  d->finding_line = line_of(messages) - 1;
  d->is_dirty = true;
}

/* Writes the page; the path is malloc'ed. NULL: not possible. */
static char *write_page(struct nvm_text page) {
  const char *folder = getenv("TMPDIR");
  char path[4096];
  if (!folder || !*folder) folder = "/tmp";
  if (snprintf(path, sizeof path - 16, "%s/nvmini-XXXXXX", folder) >= (int)sizeof path - 16)
    return NULL;
  if (!mkdtemp(path)) return NULL;
  strcat(path, "/explain.html");
  FILE *file = fopen(path, "wx");
  bool written = file && fwrite(page.bytes, 1, page.length, file) == page.length;
  return file && fclose(file) == 0 && written ? strdup(path) : NULL;
}

static void show_page(struct server *s, struct nvm_text page) {
  char *path = write_page(page), uri[4200];
  snprintf(uri, sizeof uri, "file://%s", path ? path : "");
  if (!path) {
    server_show(s, 1, text_of("nvmini: the page cannot be written"));
  } else if (s->shows_documents) {
    struct json_writer w = server_begin_request(s, "window/showDocument");
    json_object(&w);
    json_member(&w, "uri", text_of(uri));
    json_key(&w, "external"), json_bool(&w, true);
    json_object_end(&w);
    server_send(s);
  } else {
    server_show(s, 3, text_of(uri));
  }
  free(path);
}

/* Shows what the process wrote: the answer of the playground, JSON. */
static void show_result(struct server *s, struct nvm_text answer) {
  const struct json_value *v = json_read(&s->arena, answer);
  struct nvm_text output = {"", 0}, messages = {"", 0}, limit = {"", 0};
  int64_t status = -1;
  (void)json_get_integer(json_find(v, "status"), INT32_MIN, INT32_MAX, &status);
  (void)json_get_string(json_find(v, "output"), &output);
  (void)json_get_string(json_find(v, "messages"), &messages);
  (void)json_get_string(json_find(v, "limit"), &limit);
  struct document *d = server_find_uri(s, text_of(s->lens.uri));
  struct textbuf b;
  if (status == 0 && s->lens.explains) {
    show_page(s, output);
    return;
  }
  textbuf_init(&b, &s->arena);
  textbuf_format(&b, "%s: ", s->lens.kernel);
  if (limit.length) textbuf_format(&b, "ended by the limit of %t. ", limit);
  textbuf_text(&b, status == 0 && !output.length ? text_of("done") : output);
  if (status != 0) textbuf_text(&b, messages);
  server_show(s, status == 0 ? 3 : 1, (struct nvm_text){b.bytes, b.length});
  if (d && status == 1) keep_finding(d, messages);
}

int lens_timeout(const struct server *s) {
  if (!s->lens.is_active) return -1;
  time_t now = time(NULL);
  return now >= s->lens.deadline ? 0 : (int)(s->lens.deadline - now) * 1000;
}

static void end(struct server *s) {
  free(s->lens.uri);
  free(s->lens.kernel);
  s->lens = (struct lens){.is_active = false};
}

void lens_finish(struct server *s) {
  struct textbuf answer;
  textbuf_init(&answer, &s->arena);
  if (lens_timeout(s) == 0) {
    s->lens.job.is_late = true;
    job_kill(&s->lens.job);
  }
  job_finish(&s->lens.job, &answer);
  show_result(s, (struct nvm_text){answer.bytes, answer.length});
  end(s);
}

void lens_stop(struct server *s) {
  if (!s->lens.is_active) return;
  job_drop(&s->lens.job);
  end(s);
}
