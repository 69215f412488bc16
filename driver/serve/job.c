/* A compilation or execution in a child process. The child gets its module as standard input, an
 * unlinked file, and writes into two more. Before it looks at the request, it lowers its limit of
 * open files to those that it has: from then on every open() fails, whatever an option, a debug
 * location or a line `nvmini-run:` names. */
#define _DEFAULT_SOURCE /* RLIMIT_NPROC */

#include "driver/commands.h"
#include "driver/serve/serve.h"
#include "support/json.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 128, ENDED_FD = 3, MAX_FDS = 512 };

/* ---- The child ---- */

static void limit(int resource, uint64_t value) {
  struct rlimit r = {(rlim_t)value, (rlim_t)value};
  setrlimit(resource, &r);
}

#if defined __SANITIZE_ADDRESS__
enum { LIMITS_MEMORY = 0 }; /* the sanitizer reserves terabytes of addresses */
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { LIMITS_MEMORY = 0 };
#else
enum { LIMITS_MEMORY = 1 };
#endif
#else
enum { LIMITS_MEMORY = 1 };
#endif

static void confine(const struct job_limits *limits) {
  limit(RLIMIT_CPU, limits->seconds + 1);
  limit(RLIMIT_FSIZE, limits->output_bytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NPROC, 0);
  if (LIMITS_MEMORY) limit(RLIMIT_AS, limits->memory_bytes);
  limit(RLIMIT_NOFILE, ENDED_FD + 1);
}

/* Whether a request may have the option: all of the compiler, and those of the command that name
 * no file. */
static bool is_allowed(enum option_id id) {
  static const enum option_id allowed[] = {
      OPTION_EMIT,  OPTION_CHANGES, OPTION_STOP_AFTER, OPTION_REMARKS,   OPTION_WHY,
      OPTION_FROM,  OPTION_KERNEL,  OPTION_GRID,       OPTION_BLOCK,     OPTION_CLUSTER,
      OPTION_ARG,   OPTION_SHARED,  OPTION_PRINT,      OPTION_STATS,     OPTION_TRACE,
      OPTION_STACK, OPTION_QUIET,   OPTION_NO_CHECKS,  OPTION_STEP_LIMIT, OPTION_SCHEDULE,
      OPTION_EXPLAIN_FORMAT,
  };
  if (id > OPTION_LAST_OF_COMMAND) return true;
  for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
    if (allowed[k] == id) return true;
  return false;
}

static int check_options(const struct options *o) {
  for (int i = 0; i < o->given_count; i++) {
    if (is_allowed(o->given[i].id)) continue;
    fprintf(stderr, "nvmini: error: option '%s' is not available here\n",
            options_name(o->given[i].id));
    return EXIT_USAGE;
  }
  if (o->operand_count == 1) return EXIT_DONE;
  fputs("nvmini: error: the options name a file; the module is the text of the editor\n", stderr);
  return EXIT_USAGE;
}

/* Splits at white space. */
static int add_words(char *text, char **words, int count) {
  static const char blanks[] = " \t\r\n";
  for (char *word = strtok(text, blanks); word && count < MAX_WORDS; word = strtok(NULL, blanks))
    words[count++] = word;
  return count;
}

static int execute(const struct job_request *r) {
  char *words[MAX_WORDS] = {strdup("nvmini"), strdup(command_row(r->command)->name), strdup("-")};
  int count = 3;
  char *level = strdup(r->level), *options = strdup(r->options), *cpu = strdup(r->cpu);
  if (!words[0] || !words[1] || !words[2] || !level || !options || !cpu) return EXIT_REFUSED;
  if (*cpu) words[count++] = strdup("--cpu"), words[count++] = cpu;
  count = add_words(level, words, count);
  count = add_words(options, words, count);
  struct options o;
  int status = options_parse(&o, count, words);
  if (status == EXIT_DONE) status = check_options(&o);
  if (status == EXIT_DONE) status = native_resolve(&o);
  if (status != EXIT_DONE) return status;
  if (r->command == COMMAND_RUN) return run_command(&o);
  return r->command == COMMAND_EXPLAIN ? jobs_explain(&o) : jobs_compile(&o);
}

static _Noreturn void be_child(const struct job_request *r, const struct job_limits *limits,
                               FILE *const files[3], int ended) {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_IGN); /* of the terminal; the server ends its jobs */
  bool ready = true;
  int kept = dup(ended); /* above 3, which dup2() below may overwrite */
  for (int fd = 0; fd < 3; fd++) ready = ready && dup2(fileno(files[fd]), fd) == fd;
  ready = ready && kept > ENDED_FD && dup2(kept, ENDED_FD) == ENDED_FD;
  for (int fd = ENDED_FD + 1; fd < MAX_FDS; fd++) close(fd);
  confine(limits);
  int status = ready ? execute(r) : EXIT_FAULT;
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
  pid_t pid = right ? fork() : -1;
  if (pid == 0) be_child(r, limits, files, ends[1]);
  if (ends[1] >= 0) close(ends[1]);
  if (pid < 0) {
    if (ends[0] >= 0) close(ends[0]);
    close_files(files);
    return false;
  }
  fclose(files[0]);
  *j = (struct job){.pid = pid, .ended = ends[0], .out = files[1], .err = files[2]};
  return true;
}

void job_kill(struct job *j) { kill(j->pid, SIGKILL); }

static struct nvm_text read_back(struct arena *arena, FILE *file) {
  struct textbuf b;
  char piece[1 << 16];
  textbuf_init(&b, arena);
  rewind(file);
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) textbuf_write(&b, piece, n);
  return (struct nvm_text){b.bytes, b.length};
}

/* Which limit ended the child; "": none. */
static const char *limit_reached(const struct job *j, int how) {
  if (j->is_late || (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU)) return "time";
  return WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ ? "output" : "";
}

void job_finish(struct job *j, struct textbuf *out) {
  struct arena arena;
  struct json_writer w;
  int how = 0;
  arena_init(&arena, nvm_default_allocator);
  waitpid(j->pid, &how, 0);
  json_begin(&w, out, false);
  json_object(&w);
  json_key(&w, "status"), json_signed(&w, WIFEXITED(how) ? WEXITSTATUS(how) : -1);
  json_member(&w, "output", read_back(&arena, j->out));
  json_member(&w, "messages", read_back(&arena, j->err));
  json_member(&w, "limit", text_of(limit_reached(j, how)));
  json_object_end(&w);
  out->arena->failed = out->arena->failed || arena.failed;
  arena_free(&arena);
  fclose(j->out);
  fclose(j->err);
  close(j->ended);
}
