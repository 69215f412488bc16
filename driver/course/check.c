/* Checks a solution of an exercise. Commands are executed in a process of their own with a limit of
 * processor time, so that an endless kernel ends and an error of nvmini stays there. */
#define _DEFAULT_SOURCE /* strndup */

#include "driver/commands.h"
#include "driver/course/course.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64, LIMIT_SECONDS = 5, SHOWN_BYTES = 600, SHOWN_LINES = 4 };

enum { ENDLESS = -1, CRASHED = -2 }; /* ended by the signal of the limit, by another one */

enum check_kind { CHECK_RUN, CHECK_HAS, CHECK_LACKS, CHECK_FINDS, CHECK_KEEPS, CHECK_KINDS };
static const char *const kind_words[CHECK_KINDS] = {"run ", "has ", "lacks ", "finds ", "keeps "};

struct check {
  enum check_kind kind;
  struct nvm_text options, wanted; /* without options: `keeps` */
};

/* What a command did. */
struct output {
  struct nvm_text out, err;
  int status; /* exit status, ENDLESS or CRASHED */
};

/* ---- Text ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The text with each run of white space as one blank, and none at its ends. */
static struct nvm_text normal(struct arena *arena, struct nvm_text t) {
  struct textbuf b;
  textbuf_init(&b, arena);
  for (size_t i = 0; i < t.length; i++) {
    if (!is_blank(t.bytes[i])) textbuf_char(&b, t.bytes[i]);
    else if (b.length && b.bytes[b.length - 1] != ' ') textbuf_char(&b, ' ');
  }
  while (b.length && b.bytes[b.length - 1] == ' ') b.length--;
  return (struct nvm_text){b.bytes, b.length};
}

static bool contains(struct nvm_text t, struct nvm_text wanted) {
  for (size_t i = 0; i + wanted.length <= t.length; i++)
    if (memcmp(t.bytes + i, wanted.bytes, wanted.length) == 0) return true;
  return false;
}

/* A module without its comments, which may contain anything. */
static struct nvm_text without_comments(struct arena *arena, struct nvm_text t) {
  struct textbuf b;
  bool quoted = false, comment = false;
  textbuf_init(&b, arena);
  for (size_t i = 0; i < t.length; i++) {
    char c = t.bytes[i];
    if (c == '\n') comment = quoted = false;
    if (c == '"' && !comment) quoted = !quoted;
    if (c == ';' && !quoted) comment = true;
    if (!comment) textbuf_char(&b, c);
  }
  return (struct nvm_text){b.bytes, b.length};
}

/* ---- Commands ---- */

/* What follows `; check ` in a line; the generator ensured its form. */
static struct check read_check(struct nvm_text line) {
  struct check c = {CHECK_KEEPS, {"", 0}, {"", 0}};
  for (int k = 0; k < CHECK_KINDS; k++)
    if (text_begins(line, kind_words[k])) c.kind = (enum check_kind)k;
  size_t skipped = strlen(kind_words[c.kind]);
  c.wanted = (struct nvm_text){line.bytes + skipped, line.length - skipped};
  if (c.kind == CHECK_KEEPS) return c;
  c.options = c.wanted;
  const char *arrow = strstr(line.bytes, "=> ");
  c.options.length = (size_t)(arrow - c.options.bytes);
  c.wanted.bytes = arrow + 3;
  c.wanted.length = (size_t)(line.bytes + line.length - c.wanted.bytes);
  return c;
}

static const char *command_of(const struct check *c) {
  return c->kind == CHECK_RUN || c->kind == CHECK_FINDS ? "run" : "compile";
}

/* In the child. */
static int execute(const struct check *c, const char *path) {
  char *words[MAX_WORDS] = {strdup("nvmini"), strdup(command_of(c)), strdup(path)};
  int count = 3;
  char *options = strndup(c->options.bytes, c->options.length);
  if (!options || !words[0] || !words[1] || !words[2]) return EXIT_REFUSED;
  for (char *word = strtok(options, " "); word && count < MAX_WORDS; word = strtok(NULL, " "))
    words[count++] = word;
  struct options o;
  int status = options_parse(&o, count, words);
  if (status == EXIT_DONE) status = native_resolve(&o);
  if (status != EXIT_DONE) return status;
  return c->kind == CHECK_RUN || c->kind == CHECK_FINDS ? run_command(&o) : jobs_compile(&o);
}

static struct nvm_text read_back(struct arena *arena, FILE *file) {
  struct textbuf b;
  char piece[4096];
  textbuf_init(&b, arena);
  rewind(file);
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) textbuf_write(&b, piece, n);
  return (struct nvm_text){b.bytes, b.length};
}

static void limit_process(void) {
  const struct rlimit seconds = {LIMIT_SECONDS, LIMIT_SECONDS + 1}, no_core = {0, 0};
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &no_core);
}

/* False if the system refuses files or a process. */
static bool run_in_files(const struct check *c, const char *path, FILE *out, FILE *err,
                         int *status) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    limit_process();
    bool ready = dup2(fileno(out), 1) == 1 && dup2(fileno(err), 2) == 2;
    int code = ready ? execute(c, path) : EXIT_FAULT;
    fflush(NULL);
    _exit(code);
  }
  int how = 0;
  if (waitpid(child, &how, 0) != child) return false;
  bool limited = WIFSIGNALED(how) && (WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL);
  *status = WIFEXITED(how) ? WEXITSTATUS(how) : limited ? ENDLESS : CRASHED;
  return true;
}

static bool run_command_of(const struct check *c, const char *path, struct arena *arena,
                           struct output *o) {
  FILE *out = tmpfile(), *err = tmpfile();
  bool done = out && err && run_in_files(c, path, out, err, &o->status);
  if (done) {
    o->out = read_back(arena, out);
    o->err = read_back(arena, err);
  }
  if (out) fclose(out);
  if (err) fclose(err);
  return done;
}

/* ---- Reports ---- */

static void put_lines(const char *title, struct nvm_text t) {
  size_t shown = 0;
  for (int lines = 0; shown < t.length && shown < SHOWN_BYTES && lines < SHOWN_LINES; shown++)
    lines += t.bytes[shown] == '\n';
  while (shown > 0 && t.bytes[shown - 1] == '\n') shown--;
  printf("  %s%.*s%s\n", title, (int)shown, t.bytes, shown + 1 < t.length ? " ..." : "");
}

static void put_command(const struct check *c, const char *path) {
  int length = (int)c->options.length;
  while (length > 0 && is_blank(c->options.bytes[length - 1])) length--;
  printf("  nvmini %s %s %.*s\n", command_of(c), path, length, c->options.bytes);
}

/* What is wrong with the output of a command; NULL: nothing. */
static const char *fault_of(const struct check *c, const struct output *o, struct arena *arena) {
  struct nvm_text out = normal(arena, o->out), err = normal(arena, o->err),
                  wanted = normal(arena, c->wanted);
  if (o->status == ENDLESS) /* LIMIT_SECONDS */
    return "no end after 5 seconds (an endless loop?); expected: ";
  if (o->status == CRASHED) return "the command crashed; the check is for: ";
  if (c->kind == CHECK_FINDS)
    return o->status == EXIT_REFUSED && contains(err, wanted) ? NULL : "expected the finding: ";
  if (c->kind == CHECK_RUN)
    return o->status == EXIT_DONE && text_equal(out, wanted) ? NULL : "expected: ";
  if (o->status != EXIT_DONE)
    return c->kind == CHECK_HAS ? "the command fails; its output must contain: "
                                : "the command fails; its output must not contain: ";
  if (c->kind == CHECK_HAS) return contains(out, wanted) ? NULL : "the output lacks: ";
  return contains(out, wanted) ? "the output contains: " : NULL;
}

/* The first line that contains the text; empty: none, since the text spans lines. */
static struct nvm_text line_with(struct nvm_text t, struct nvm_text wanted, struct arena *arena) {
  size_t start = 0;
  for (size_t i = 0; i < t.length; i++) {
    if (t.bytes[i] != '\n') continue;
    struct nvm_text line = normal(arena, (struct nvm_text){t.bytes + start, i - start});
    if (contains(line, wanted)) return line;
    start = i + 1;
  }
  return (struct nvm_text){"", 0};
}

static bool holds_command(const struct check *c, const char *path, struct arena *arena) {
  struct output o = {{"", 0}, {"", 0}, 0};
  if (!run_command_of(c, path, arena, &o)) {
    perror("nvmini: error: cannot execute a check");
    return false;
  }
  const char *fault = fault_of(c, &o, arena);
  if (!fault) return true;
  put_command(c, path);
  put_lines(fault, c->wanted);
  if (c->kind == CHECK_LACKS && o.status == EXIT_DONE) {
    struct nvm_text line = line_with(o.out, normal(arena, c->wanted), arena);
    if (line.length) put_lines("first in: ", line);
  }
  if (o.err.length) put_lines("", o.err);
  if (c->kind == CHECK_RUN && o.status == EXIT_DONE) put_lines("found:    ", o.out);
  return false;
}

static bool holds_keeps(const struct check *c, struct nvm_text solution, struct arena *arena) {
  struct nvm_text code = normal(arena, without_comments(arena, solution));
  if (contains(code, normal(arena, c->wanted))) return true;
  put_lines("the file no longer contains: ", c->wanted);
  return false;
}

static bool checks_hold(struct nvm_text exercise, const char *path, struct nvm_text solution,
                        struct arena *arena) {
  const char *at = exercise.bytes;
  struct nvm_text line;
  while (course_next_line(&at, "; check ", &line)) {
    struct check c = read_check(line);
    bool holds = c.kind == CHECK_KEEPS ? holds_keeps(&c, solution, arena)
                                       : holds_command(&c, path, arena);
    if (!holds) return false;
  }
  return true;
}

bool course_is_solved(struct nvm_text exercise, const char *path) {
  struct file_bytes file = {0};
  struct file_error error;
  struct arena arena;
  if (!files_read(path, &file, &error)) {
    printf("  %s cannot be read; `nvmini course start` writes it\n", path);
    return false;
  }
  arena_init(&arena, nvm_default_allocator);
  struct nvm_text solution = {file.bytes, file.length};
  bool solved = checks_hold(exercise, path, solution, &arena) && !arena.failed;
  arena_free(&arena);
  files_free(&file);
  const char *at = exercise.bytes;
  struct nvm_text hint;
  if (!solved && course_next_line(&at, "; hint: ", &hint)) put_lines("hint: ", hint);
  return solved;
}
