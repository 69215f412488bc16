/* nvmini serve: a playground in the browser. One process with one thread answers HTTP; each
 * compilation or execution is a child process with limits, which reads its module from standard
 * input and cannot open a file. docs/serve.md describes the requests and what protects the machine.
 *
 *   server.c   connections: accept, read, wait for a free place, answer, close
 *   http.c     one request and one answer of HTTP/1.1
 *   job.c      the child process
 *   confine.c  what the child process gives up
 *   request.c  what it executes; shared with WebAssembly
 *   page.html  the page */
#ifndef NVM_DRIVER_SERVE_SERVE_H
#define NVM_DRIVER_SERVE_SERVE_H

#include <sys/types.h>

#include "driver/serve/request.h"
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
  bool has_host, has_origin;
  bool expects_continue; /* the client waits before it sends the body */
};

/* Reads a request from the bytes received so far. HTTP_MORE, HTTP_OK, or the status of an error;
 * with HTTP_MORE, `expects_continue` is valid. */
int http_read(struct nvm_text bytes, struct http_request *r);
/* The value of NAME in the query, decoded, followed by a NUL; "" if there is none. NULL: not
 * valid, or out of memory. */
const char *http_parameter(struct arena *arena, const struct http_request *r, const char *name);
/* Whether the request is for this server, by localhost or the address `local` that the connection
 * has, and comes from its own page: another site whose name was bound to this address has another
 * Host, a form on another site another Origin. */
bool http_is_own(const struct http_request *r, const char *local);
/* Appends an answer; `type` is that of the content. Without `has_body` (HEAD), only its head. */
void http_answer(struct textbuf *out, int status, const char *type, struct nvm_text content,
                 bool has_body);
/* "Not Found" */
const char *http_reason(int status);

/* ---- job.c ---- */

struct job_limits {
  uint64_t seconds, memory_bytes;
  uint64_t output_bytes; /* of each of the two texts of an answer */
};

struct job {
  pid_t pid;
  int ended;       /* becomes readable when the child has ended */
  FILE *out, *err; /* what it wrote; unlinked files */
  bool is_late;    /* it was killed at its deadline */
  uint64_t output_bytes;
};

/* Starts a process that executes the request on the text. Without a process, false. */
struct job_request {
  struct request request;
  struct nvm_text text;
};
bool job_start(struct job *j, const struct job_request *r, const struct job_limits *limits);
void job_kill(struct job *j);
/* Kills it and frees its files; its output is dropped. */
void job_drop(struct job *j);
/* After the end: appends {"status", "output", "messages", "limit"} and frees the job's files. */
void job_finish(struct job *j, struct textbuf *out);

/* ---- confine.c ---- */

/* Closes all files above `last`. */
void confine_close_above(int last);
/* Ends this process when its parent ends; where the system cannot, its limit of time does. */
void confine_end_with_parent(pid_t parent);
/* Sets the limits, and gives up opening files and starting processes. False: not possible. */
bool confine(const struct job_limits *limits);

#endif
