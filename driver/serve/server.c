/* The connections of `nvmini serve`. A connection is read until its request is complete, then
 * answered at once or by a job; then it is written, and closed. One poll() watches the listening
 * socket, the connections that are read or written, and the ends of the jobs. Everything has a
 * deadline: a request, a job, an answer. */
#define _DEFAULT_SOURCE

#include "driver/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "serve_page.inc"

enum {
  MAX_CONNECTIONS = 64,
  MAX_JOBS = 4,
  MAX_WAITING = 16,
  READ_MS = 10000,
  WRITE_MS = 30000,
  CLOSE_MS = 1000,
  LONGEST_WAIT_MS = 1000, /* for a signal that arrived just before poll() */
  PIECE = 1 << 16,
  OUTPUT_BYTES = 16 << 20,
  MAX_UNSENT_BYTES = 64 << 20,
  MEMORY_BYTES = 1 << 29,
};

enum state { FREE, READING, WAITING, RUNNING, WRITING, CLOSING };

struct connection {
  enum state state;
  int fd;
  uint64_t deadline; /* ms; of reading, the job, writing, or closing */
  uint64_t order;    /* of WAITING: the least is next */
  char local[64];    /* the address of this machine that the client used */
  struct arena arena; /* of its bytes and answer */
  struct textbuf in, out;
  size_t sent;
  bool was_asked_to_continue;
  struct http_request request; /* from WAITING on */
  struct job job;
};

struct server {
  const char *address;
  int listener;
  struct job_limits limits;
  uint64_t orders;
  uint64_t accepts_after; /* ms */
  struct connection connections[MAX_CONNECTIONS];
};

/* Set by a signal. */
static volatile sig_atomic_t is_stopped;

static void stop(int number) {
  (void)number;
  is_stopped = 1;
}

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- Answers ---- */

static void start_writing(struct connection *c) {
  c->state = WRITING;
  c->deadline = now_ms() + WRITE_MS;
}

static void answer(struct connection *c, int status, const char *type, struct nvm_text content) {
  struct nvm_text m = c->request.method;
  bool has_body = !(m.length == 4 && memcmp(m.bytes, "HEAD", 4) == 0);
  c->out.length = 0;
  http_answer(&c->out, status, type, content, has_body);
  start_writing(c);
}

static void answer_error(struct connection *c, int status) {
  char text[128];
  snprintf(text, sizeof text, "%d %s\n", status, http_reason(status));
  answer(c, status, "text/plain; charset=utf-8", text_of(text));
}

/* ---- Requests that need no job ---- */

static void answer_choices(struct connection *c) {
  struct textbuf text;
  textbuf_init(&text, &c->arena);
  choices_write(&text);
  answer(c, 200, "application/json", (struct nvm_text){text.bytes, text.length});
}

static bool is(struct nvm_text t, const char *word) {
  return t.length == strlen(word) && memcmp(t.bytes, word, t.length) == 0;
}

/* ---- Jobs ---- */

/* The command of `/compile` and the like; COMMAND_COUNT: not one. */
static enum command command_of(struct nvm_text path) {
  return request_command((struct nvm_text){path.bytes + 1, path.length - 1});
}

static int count_of(const struct server *s, enum state state) {
  int count = 0;
  for (int k = 0; k < MAX_CONNECTIONS; k++) count += s->connections[k].state == state;
  return count;
}

static void start_job(struct server *s, struct connection *c) {
  struct job_request r = {.request = {.command = command_of(c->request.path),
                                      .cpu = http_parameter(&c->arena, &c->request, "cpu"),
                                      .level = http_parameter(&c->arena, &c->request, "level"),
                                      .options = http_parameter(&c->arena, &c->request, "options")},
                          .text = c->request.body};
  if (!r.request.cpu || !r.request.level || !r.request.options) {
    answer_error(c, 400);
  } else if (!job_start(&c->job, &r, &s->limits)) {
    answer_error(c, 503);
  } else {
    c->state = RUNNING;
    c->deadline = now_ms() + s->limits.seconds * 1000;
  }
}

/* The bytes of answers that clients have not taken yet. */
static size_t unsent_bytes(const struct server *s) {
  size_t bytes = 0;
  for (int k = 0; k < MAX_CONNECTIONS; k++)
    if (s->connections[k].state == WRITING) bytes += s->connections[k].out.length;
  return bytes;
}

/* Starts the jobs that wait, the oldest first, while there are places, and memory for answers. */
static void start_jobs(struct server *s) {
  for (int places = MAX_JOBS - count_of(s, RUNNING); places > 0; places--) {
    if (unsent_bytes(s) > MAX_UNSENT_BYTES) return;
    struct connection *next = NULL;
    for (int k = 0; k < MAX_CONNECTIONS; k++) {
      struct connection *c = &s->connections[k];
      if (c->state == WAITING && (!next || c->order < next->order)) next = c;
    }
    if (!next) return;
    start_job(s, next);
  }
}

/* The texts of the job are copied several times, so they have an arena of their own. */
static void end_job(struct connection *c) {
  struct textbuf text;
  struct arena arena;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&text, &arena);
  job_finish(&c->job, &text);
  if (arena.failed) answer_error(c, 500);
  else answer(c, 200, "application/json", (struct nvm_text){text.bytes, text.length});
  arena_free(&arena);
}

/* ---- Requests ---- */

static void route(struct server *s, struct connection *c) {
  const struct http_request *r = &c->request;
  bool gets = is(r->method, "GET") || is(r->method, "HEAD"), posts = is(r->method, "POST");
  if (!gets && !posts) {
    answer_error(c, 405);
  } else if (!http_is_own(r, c->local)) {
    answer_error(c, 403);
  } else if (is(r->path, "/") && gets) {
    answer(c, 200, "text/html; charset=utf-8", text_of((const char *)serve_page));
  } else if (is(r->path, "/choices") && gets) {
    answer_choices(c);
  } else if (command_of(r->path) < COMMAND_COUNT && posts) {
    bool has_room = count_of(s, WAITING) < MAX_WAITING;
    if (!has_room) return answer_error(c, 503);
    c->state = WAITING;
    c->order = s->orders++;
  } else {
    bool exists =
        is(r->path, "/") || is(r->path, "/choices") || command_of(r->path) < COMMAND_COUNT;
    answer_error(c, exists ? 405 : 404);
  }
}

static void look_at_request(struct server *s, struct connection *c) {
  int status = http_read((struct nvm_text){c->in.bytes, c->in.length}, &c->request);
  if (status == HTTP_OK) return route(s, c);
  if (status != HTTP_MORE) return answer_error(c, status);
  if (!c->request.expects_continue || c->was_asked_to_continue) return;
  static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
  c->was_asked_to_continue = true;
  if (send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL) < 0) c->deadline = 0;
}

/* ---- Sockets ---- */

static void close_connection(struct connection *c) {
  if (c->state == FREE) return;
  if (c->state == RUNNING) job_drop(&c->job);
  close(c->fd);
  arena_free(&c->arena);
  c->state = FREE;
}

/* The address that the socket is bound to, without a port; an IPv4 address in an IPv6 socket is
 * written as such. The port if `port` is not NULL. */
static void read_address(int fd, char *address, size_t room, char port[8]) {
  static const char mapped[] = "::ffff:";
  struct sockaddr_storage bound;
  socklen_t length = sizeof bound;
  *address = '\0';
  if (port) *port = '\0';
  if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0) return;
  getnameinfo((struct sockaddr *)&bound, length, address, (socklen_t)room, port, port ? 8 : 0,
              NI_NUMERICHOST | NI_NUMERICSERV);
  if (strncmp(address, mapped, strlen(mapped)) == 0 && strchr(address, '.'))
    memmove(address, address + strlen(mapped), strlen(address + strlen(mapped)) + 1);
}

/* The connection that takes longest to send its request; NULL: all others are at work. */
static struct connection *slowest(struct server *s) {
  struct connection *found = NULL;
  for (int k = 0; k < MAX_CONNECTIONS; k++) {
    struct connection *c = &s->connections[k];
    if (c->state == READING && (!found || c->deadline < found->deadline)) found = c;
  }
  return found;
}

/* A free place; if there is none, that of the slowest client. */
static struct connection *find_place(struct server *s) {
  for (int k = 0; k < MAX_CONNECTIONS; k++)
    if (s->connections[k].state == FREE) return &s->connections[k];
  struct connection *c = slowest(s);
  if (c) close_connection(c);
  return c;
}

static void accept_connection(struct server *s) {
  int fd = accept(s->listener, NULL, NULL);
  if (fd < 0) {
    s->accepts_after = now_ms() + CLOSE_MS; /* such as no more files: not again at once */
    return;
  }
  struct connection *c = find_place(s);
  if (!c) {
    close(fd);
    return;
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  *c = (struct connection){.state = READING, .fd = fd, .deadline = now_ms() + READ_MS};
  read_address(fd, c->local, sizeof c->local, NULL);
  arena_init(&c->arena, nvm_default_allocator);
  textbuf_init(&c->in, &c->arena);
  textbuf_init(&c->out, &c->arena);
}

/* Reads what is there; false at the end or after an error. */
static bool receive(struct connection *c, char piece[PIECE], ssize_t *n) {
  *n = recv(c->fd, piece, PIECE, 0);
  return *n > 0 || (*n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void read_request(struct server *s, struct connection *c) {
  char piece[PIECE];
  ssize_t n;
  if (!receive(c, piece, &n)) return close_connection(c);
  if (n <= 0) return;
  textbuf_write(&c->in, piece, (size_t)n);
  if (c->arena.failed) return answer_error(c, 503);
  look_at_request(s, c);
}

/* After an answer to a request that was not read to its end, closing at once would discard it. */
static void start_closing(struct connection *c) {
  shutdown(c->fd, SHUT_WR);
  c->state = CLOSING;
  c->deadline = now_ms() + CLOSE_MS;
}

static void write_answer(struct connection *c) {
  ssize_t n = send(c->fd, c->out.bytes + c->sent, c->out.length - c->sent, MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0 || c->arena.failed) return close_connection(c);
  c->sent += (size_t)n;
  if (c->sent == c->out.length) start_closing(c);
}

/* What follows a request is not read; its end means that the client no longer waits. */
static void discard(struct connection *c) {
  char piece[PIECE];
  ssize_t n;
  if (!receive(c, piece, &n)) close_connection(c);
}

static void pass_deadline(struct connection *c) {
  if (c->state == RUNNING) {
    c->job.is_late = true;
    job_kill(&c->job);
    c->deadline = now_ms() + CLOSE_MS;
  } else if (c->state == READING && c->in.length > 0) {
    answer_error(c, 408);
  } else {
    close_connection(c);
  }
}

/* ---- The loop ---- */

struct watched {
  struct pollfd fds[1 + 2 * MAX_CONNECTIONS];
  int socket[MAX_CONNECTIONS], job[MAX_CONNECTIONS]; /* indices in fds; -1: not watched */
  nfds_t count;
};

static int watch(struct watched *w, int fd, short events) {
  w->fds[w->count] = (struct pollfd){.fd = fd, .events = events};
  return (int)w->count++;
}

static short events_of(enum state state) { return state == WRITING ? POLLOUT : POLLIN; }

/* Returns the least deadline. */
static uint64_t watch_all(struct server *s, struct watched *w) {
  uint64_t least = UINT64_MAX;
  w->count = 0;
  watch(w, s->listener, now_ms() < s->accepts_after ? 0 : POLLIN);
  for (int k = 0; k < MAX_CONNECTIONS; k++) {
    struct connection *c = &s->connections[k];
    w->socket[k] = w->job[k] = -1;
    if (c->state == FREE) continue;
    w->socket[k] = watch(w, c->fd, events_of(c->state));
    if (c->state == RUNNING) w->job[k] = watch(w, c->job.ended, POLLIN);
    if (c->state != WAITING && c->deadline < least) least = c->deadline;
  }
  return least;
}

static void serve_connection(struct server *s, struct connection *c, bool socket, bool job) {
  if (c->state == RUNNING && job) end_job(c);
  else if (socket && c->state == READING) read_request(s, c);
  else if (socket && c->state == WRITING) write_answer(c);
  else if (socket && c->state != FREE) discard(c);
  if (c->state != FREE && c->state != WAITING && now_ms() >= c->deadline) pass_deadline(c);
}

static bool is_ready(const struct watched *w, int index) {
  return index >= 0 && w->fds[index].revents != 0;
}

static void serve(struct server *s) {
  while (!is_stopped) {
    struct watched w;
    uint64_t least = watch_all(s, &w), now = now_ms();
    uint64_t wait = least > now ? least - now : 0;
    if (poll(w.fds, w.count, (int)(wait < LONGEST_WAIT_MS ? wait : LONGEST_WAIT_MS)) < 0 &&
        errno != EINTR)
      return;
    if (is_stopped) return;
    for (int k = 0; k < MAX_CONNECTIONS; k++)
      if (w.socket[k] >= 0)
        serve_connection(s, &s->connections[k], is_ready(&w, w.socket[k]), is_ready(&w, w.job[k]));
    if (is_ready(&w, 0)) accept_connection(s);
    start_jobs(s);
  }
}

/* ---- Start ---- */

static bool read_number(const struct options *o, enum option_id id, uint64_t least, uint64_t most,
                        uint64_t *out) {
  const char *text = options_value(o, id);
  char *end;
  *out = strtoul(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && *out >= least && *out <= most)
    return true;
  fprintf(stderr, "nvmini: error: option '%s': '%s' is not a number from %llu to %llu\n",
          options_name(id), text, (unsigned long long)least, (unsigned long long)most);
  return false;
}

static int open_listener(const char *address, const char *port) {
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                 .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  if (getaddrinfo(address, port, &hints, &found) != 0) {
    fprintf(stderr, "nvmini: error: '%s' is not an address, such as 127.0.0.1\n", address);
    return -1;
  }
  int fd = socket(found->ai_family, SOCK_STREAM, 0), yes = 1;
  bool right = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
               bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 64) == 0;
  freeaddrinfo(found);
  if (right) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
  }
  fprintf(stderr, "nvmini: error: %s port %s: %s\n", address, port, strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

static void announce(const struct server *s) {
  char address[64], port[8];
  bool is_v6 = strchr(s->address, ':') != NULL;
  read_address(s->listener, address, sizeof address, port);
  printf("http://%s%s%s:%s/\n", is_v6 ? "[" : "", s->address, is_v6 ? "]" : "", port);
  fflush(stdout);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

int serve_command(const struct options *o) {
  struct server *s = calloc(1, sizeof *s);
  uint64_t port;
  if (!s) return EXIT_REFUSED;
  s->address = options_value(o, OPTION_BIND);
  s->limits = (struct job_limits){.memory_bytes = MEMORY_BYTES, .output_bytes = OUTPUT_BYTES};
  bool right = read_number(o, OPTION_PORT, 0, 65535, &port) &&
               read_number(o, OPTION_SECONDS, 1, 3600, &s->limits.seconds);
  s->listener = right ? open_listener(s->address, options_value(o, OPTION_PORT)) : -1;
  int status = !right ? EXIT_USAGE : s->listener < 0 ? EXIT_REFUSED : EXIT_DONE;
  if (status == EXIT_DONE) {
    if (strncmp(s->address, "127.", 4) != 0 && strcmp(s->address, "::1") != 0)
      fputs("nvmini: warning: other machines can connect to this address\n", stderr);
    catch_signals();
    announce(s);
    serve(s);
    for (int k = 0; k < MAX_CONNECTIONS; k++) close_connection(&s->connections[k]);
    close(s->listener);
  }
  free(s);
  return status;
}
