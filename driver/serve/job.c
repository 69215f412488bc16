/* A compilation or execution in a child process. The child gets its module as standard input, an
 * unlinked file, and writes into two more. Before it looks at the request, it gives up the right to
 * open files: from then on every open() fails, whatever an option, a debug location or a line
 * `nvmini-run:` names. */

#include "driver/serve/serve.h"
#include "support/json.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENDED_FD = 3 };

/* ---- The child ---- */

static _Noreturn void be_child(const struct job_request *r, const struct job_limits *limits,
                               FILE *const files[3], int ended, pid_t server) {
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_IGN); /* of the terminal; the server ends its jobs */
  bool ready = true;
  int kept = dup(ended); /* above 3, which dup2() below may overwrite */
  for (int fd = 0; fd < 3; fd++) ready = ready && dup2(fileno(files[fd]), fd) == fd;
  ready = ready && kept > ENDED_FD && dup2(kept, ENDED_FD) == ENDED_FD;
  confine_close_above(ENDED_FD);
  confine_end_with_parent(server);
  int status = ready && confine(limits) ? request_execute(&r->request) : EXIT_FAULT;
  fflush(NULL);
  _exit(status);
}

/* ---- The server's side ---- */

static void close_files(FILE *const files[3]) {
  for (int k = 0; k < 3; k++)
    if (files[k]) fclose(files[k]);
}

static bool prepare(FILE *files[3], struct nvm_text text) {
  for (int k = 0; k < 3; k++) files[k] = tmpfile();
  if (!files[0] || !files[1] || !files[2]) return false;
  return fwrite(text.bytes, 1, text.length, files[0]) == text.length && fflush(files[0]) == 0 &&
         fseek(files[0], 0, SEEK_SET) == 0;
}

bool job_start(struct job *j, const struct job_request *r, const struct job_limits *limits) {
  FILE *files[3] = {NULL, NULL, NULL};
  int ends[2] = {-1, -1};
  fflush(NULL);
  bool right = prepare(files, r->text) && pipe(ends) == 0;
  pid_t server = getpid(), pid = right ? fork() : -1;
  if (pid == 0) be_child(r, limits, files, ends[1], server);
  if (ends[1] >= 0) close(ends[1]);
  if (pid < 0) {
    if (ends[0] >= 0) close(ends[0]);
    close_files(files);
    return false;
  }
  fclose(files[0]);
  *j = (struct job){.pid = pid,
                    .ended = ends[0],
                    .out = files[1],
                    .err = files[2],
                    .output_bytes = limits->output_bytes};
  return true;
}

void job_kill(struct job *j) { kill(j->pid, SIGKILL); }

/* Waits for the end, which is near; returns how it ended. */
static int reap(struct job *j) {
  int how = 0;
  while (waitpid(j->pid, &how, 0) < 0 && errno == EINTR) continue;
  return how;
}

static void release(struct job *j) {
  fclose(j->out);
  fclose(j->err);
  close(j->ended);
}

void job_drop(struct job *j) {
  job_kill(j);
  reap(j);
  release(j);
}

static struct nvm_text read_back(struct arena *arena, FILE *file) {
  struct textbuf b;
  char piece[1 << 16];
  textbuf_init(&b, arena);
  rewind(file);
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) textbuf_write(&b, piece, n);
  return (struct nvm_text){b.bytes, b.length};
}

/* The bytes of the text that a JSON string needs at most. */
static size_t json_length(unsigned char c) {
  if (c == '\n' || c == '\t' || c == '\r') return 2;
  if (c < ' ' || c == 0x7f) return 6; /* \u001b */
  return c >= 0x80 ? 3 /* the replacement character */ : c == '"' || c == '\\' ? 2 : 1;
}

/* Shortens the text so that it needs at most `budget` bytes in an answer; whether it did. */
static bool cut(struct nvm_text *text, uint64_t budget) {
  size_t k = 0;
  while (k < text->length && budget >= json_length((unsigned char)text->bytes[k]))
    budget -= json_length((unsigned char)text->bytes[k++]);
  bool is_longer = k < text->length;
  text->length = k;
  return is_longer;
}

/* Which limit ended the child; "": none. */
static const char *limit_reached(const struct job *j, int how) {
  if (j->is_late || (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU)) return "time";
  return WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ ? "output" : "";
}

void job_finish(struct job *j, struct textbuf *out) {
  struct arena arena;
  struct json_writer w;
  int how = reap(j);
  arena_init(&arena, nvm_default_allocator);
  struct nvm_text output = read_back(&arena, j->out), messages = read_back(&arena, j->err);
  const char *reached = limit_reached(j, how);
  bool is_output_cut = cut(&output, j->output_bytes);
  bool is_cut = cut(&messages, j->output_bytes) || is_output_cut;
  if (is_cut && !*reached)
    reached = "output";
  json_begin(&w, out, false);
  json_object(&w);
  json_key(&w, "status"), json_signed(&w, WIFEXITED(how) ? WEXITSTATUS(how) : -1);
  json_member(&w, "output", output);
  json_member(&w, "messages", messages);
  json_member(&w, "limit", text_of(reached));
  json_object_end(&w);
  out->arena->failed = out->arena->failed || arena.failed;
  arena_free(&arena);
  release(j);
}
