/* nvmini serve: a playground in the browser. One process with one thread answers HTTP; each
 * compilation or execution is a child process with limits, which reads its module from standard
 * input and cannot open a file. docs/serve.md describes the requests and what protects the machine.
 *
 *   server.c   connections: accept, read, wait for a free place, answer, close
 *   http.c     one request and one answer of HTTP/1.1
 *   job.c      the child process
 *   page.html  the page */
#ifndef NVM_DRIVER_SERVE_SERVE_H
#define NVM_DRIVER_SERVE_SERVE_H

#include <sys/types.h>

#include "driver/options.h"
#include "support/textbuf.h"

/* The command; returns after SIGINT or SIGTERM. Returns the exit status. */
int serve_command(const struct options *o);

/* ---- http.c ---- */

enum {
  HTTP_MAX_HEAD = 16 << 10,
  HTTP_MAX_BODY = 1 << 20,
  HTTP_MORE = 0, /* in place of a status: the request is not complete */
  HTTP_OK = 200,
};

/* A request; the texts are in the bytes that were read. */
struct http_request {
  struct nvm_text method, path, query, host, origin, body;
  bool expects_continue; /* the client waits before it sends the body */
};

/* Reads a request from the bytes received so far. HTTP_MORE, HTTP_OK, or the status of an error;
 * with HTTP_MORE, `expects_continue` is valid. */
int http_read(struct nvm_text bytes, struct http_request *r);
/* The value of NAME in the query, decoded, followed by a NUL; "" if there is none. NULL: not
 * valid, or out of memory. */
const char *http_parameter(struct arena *arena, const struct http_request *r, const char *name);
/* Whether the request is for this server and comes from its own page: another site whose name was
 * bound to this address has another Host, a form on another site another Origin. */
bool http_is_own(const struct http_request *r, const char *address);
/* Appends an answer; `type` is that of the content. Without `has_body` (HEAD), only its head. */
void http_answer(struct textbuf *out, int status, const char *type, struct nvm_text content,
                 bool has_body);
/* "Not Found" */
const char *http_reason(int status);

/* ---- job.c ---- */

struct job_limits {
  uint64_t seconds, memory_bytes, output_bytes;
};

struct job {
  pid_t pid;
  int ended;       /* becomes readable when the child has ended */
  FILE *out, *err; /* what it wrote; unlinked files */
  bool is_late;    /* it was killed at its deadline */
};

/* Starts `nvmini COMMAND - --cpu CPU LEVEL OPTIONS` on the text. Without a process, false. */
struct job_request {
  enum command command; /* COMPILE, EXPLAIN or RUN */
  const char *cpu, *level, *options;
  struct nvm_text text;
};
bool job_start(struct job *j, const struct job_request *r, const struct job_limits *limits);
void job_kill(struct job *j);
/* After the end: appends {"status", "output", "messages", "limit"} and frees the job's files. */
void job_finish(struct job *j, struct textbuf *out);

#endif
