/* nvmini bisect: the first run of a pass after which a kernel computes something else, or which
 * fails.
 *
 * One compilation is recorded (driver/explain/), and after each change the IR is verified and
 * executed in the simulator; at the end the PTX is executed too. The first difference is therefore
 * found without a search. The compilation runs in a process of its own, which notes in shared
 * memory where it is, so that a crash has a place too. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "driver/commands.h"
#include "driver/explain/explain.h"
#include "driver/progress.h"
#include "driver/run.h"
#include "support/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the compilation is. */
struct progress {
  uint32_t number;    /* of the pass; 0: before the first */
  char place[512];    /* `sroa on saxpy` */
  bool is_generating; /* code */
};

struct bisect {
  struct run *run;
  const struct options *options; /* of the command line */
  struct progress *progress;
  bool executes;
};

/* ---- Following the compilation ---- */

static void enter(void *state, struct explain *e, struct nvm_text pass, struct nvm_text function) {
  struct progress *p = ((struct bisect *)state)->progress;
  bool is_module = text_is(function, "[module]");
  p->is_generating = text_is(pass, "isel");
  if (p->is_generating) return;
  p->number = e->runs + 1;
  snprintf(p->place, sizeof p->place, "%.*s on %.*s", (int)pass.length, pass.bytes,
           is_module ? 10 : (int)function.length, is_module ? "the module" : function.bytes);
}

static enum nvm_status check(void *state, struct nvm_module *m, const char *pass,
                             const struct nvm_function *f) {
  struct bisect *b = state;
  if (!b->executes) return NVM_OK;
  enum nvm_status s = run_check_change(b->run, m, pass, f);
  if (s != NVM_OK || b->run->outcome_count > 0) return s;
  const char *name = b->run->options->values[OPTION_KERNEL];
  if (name) fprintf(stderr, "nvmini: error: %s: unknown kernel '%s'\n", b->run->path, name);
  else fprintf(stderr, "nvmini: error: %s: no kernel in this module\n", b->run->path);
  return NVM_REFUSED;
}

/* ---- The report ---- */

/* What pass `number` changed, of each function. */
static void print_changes(struct explain *e, uint32_t number) {
  struct textbuf out;
  textbuf_init(&out, &e->arena);
  for (uint32_t k = 0; k < e->functions.count; k++) {
    const struct explain_function *x = &e->functions.data[k];
    uint32_t last = x->steps.count;
    if (last < 2 || x->steps.data[last - 1].number != number) continue;
    if (x->steps.data[last - 1].text != x->steps.data[last - 2].text)
      explain_write_change(e, x, last - 1, EXPLAIN_DIFF, &out);
  }
  fwrite(out.bytes, 1, out.length, stdout);
}

/* A word as a shell reads it. */
static void print_word(const char *word) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (*word && word[strspn(word, plain)] == '\0') {
    printf("%s", word);
    return;
  }
  putchar('\'');
  for (; *word; word++)
    if (*word == '\'') fputs("'\\''", stdout);
    else putchar(*word);
  putchar('\'');
}

static bool has_level(const struct options *o) {
  for (int id = OPTION_O0; id <= OPTION_OFC; id++)
    if (o->values[id]) return true;
  return false;
}

static void print_options(const struct options *o) {
  for (int k = 0; k < o->given_count; k++) {
    const struct option_given *g = &o->given[k];
    const char *name = g->libnvvm ? g->libnvvm : options_name(g->id);
    printf(" %.*s", (int)strcspn(name, "="), name);
    if (!*g->value) continue;
    bool optional = options_row(g->id)->value[0] == '[';
    if (g->id != OPTION_WARNING) putchar(g->libnvvm || optional ? '=' : ' ');
    print_word(g->value);
  }
}

/* The command that shows the same without the search. */
static void print_reproducer(const struct bisect *b, bool executes) {
  const struct options *o = b->options;
  printf("reproduce: nvmini %s ", executes ? "run" : "compile");
  print_word(o->operands[0]);
  if (!has_level(b->run->options) && !o->values[OPTION_PASSES]) fputs(" -O3", stdout);
  if (!o->values[OPTION_CPU] && !executes) fputs(" --cpu sm_90a", stdout);
  print_options(o);
  if (b->progress->is_generating || b->progress->number == 0) {
    putchar('\n');
    return;
  }
  fputs(executes ? " --from ir --verify-each=run" : " --verify-each", stdout);
  printf(" --opt-bisect-limit %u\n", b->progress->number);
}

static void print_place(const struct progress *p) {
  if (p->is_generating) puts("code generation");
  else printf("pass %u: %s\n", p->number, p->place);
}

static int report_failure(const struct bisect *b, struct explain *e, enum nvmini_status s) {
  const struct progress *p = b->progress;
  int status = s == NVMINI_BUG ? EXIT_FAULT : EXIT_REFUSED;
  if (p->number == 0 || s == NVMINI_OUT_OF_MEMORY || (p->is_generating && s != NVMINI_BUG))
    return status; /* the input, or its launch, is refused */
  explain_catch_up(e);
  print_place(p);
  if (!p->is_generating) print_changes(e, p->number);
  print_reproducer(b, b->executes && s == NVMINI_REFUSED);
  return EXIT_REFUSED;
}

/* ---- The command ---- */

static int follow(struct bisect *b, struct explain *e) {
  nvmini_set_option(b->run->context, "--print-before=*");
  nvmini_set_option(b->run->context, "--verify-each");
  e->enter = enter;
  e->check = check;
  e->watch_state = b;
  enum nvmini_status s = explain_compile(e);
  progress_hide();
  if (s != NVMINI_OK) return report_failure(b, e, s);
  int status = b->executes ? run_check_ptx(b->run, e->ptx) : EXIT_DONE;
  progress_clear();
  if (status == EXIT_DONE) {
    printf("no pass %s: %u passes ran\n", b->executes ? "changes the result" : "fails", e->runs);
    return status;
  }
  b->progress->is_generating = true;
  print_place(b->progress);
  if (!b->options->values[OPTION_FMA_LEVEL])
    fputs("nvmini: note: a product and a sum in one fma round once; compare with --fma-level 0\n",
          stderr);
  print_reproducer(b, true);
  return status;
}

/* "12 s, pass 40: gvn on saxpy" */
static void put_progress(struct textbuf *line, uint64_t seconds, void *state) {
  const struct progress *p = state;
  textbuf_format(line, "%U s, ", seconds);
  if (p->number == 0) textbuf_puts(line, "the input");
  else textbuf_format(line, "pass %u: %t", p->number, text_of(p->place));
}

static int bisect(struct bisect *b) {
  struct explain e;
  progress_start(b->options);
  progress_watch(put_progress, b->progress);
  int status = run_start(b->run, b->options);
  if (status == EXIT_DONE) status = run_parse_ir(b->run, "-O3");
  if (status != EXIT_DONE) return status;
  b->executes = run_is_launch_known(b->run);
  if (!b->executes)
    fputs("nvmini: note: without --kernel, --arg, --grid or --block no kernel is executed\n",
          stderr);
  bool started = explain_start(&e, b->run->context, b->run->compiled, NULL);
  status = started ? follow(b, &e) : EXIT_REFUSED;
  explain_end(&e);
  return status;
}

/* Waits for the process that compiles; its exit status, or that of a crash after a report. */
static int wait_for(const struct bisect *b, pid_t child) {
  int how = 0;
  if (waitpid(child, &how, 0) != child) return EXIT_FAULT;
  if (WIFEXITED(how) && (WEXITSTATUS(how) <= EXIT_USAGE || WEXITSTATUS(how) == EXIT_FAULT))
    return WEXITSTATUS(how);
  if (!b->options->values[OPTION_QUIET] && isatty(STDERR_FILENO))
    fputs("\r\033[K", stderr); /* the line of the process that crashed */
  if (WIFSIGNALED(how)) printf("crash (signal %d): ", WTERMSIG(how));
  else printf("crash (exit status %d): ", WEXITSTATUS(how));
  if (b->progress->number == 0) puts("before the first pass");
  else print_place(b->progress);
  print_reproducer(b, false);
  return EXIT_REFUSED;
}

int bisect_command(const struct options *o) {
  struct bisect b = {.options = o, .run = calloc(1, sizeof *b.run)};
  b.progress =
      mmap(NULL, sizeof *b.progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!b.run || b.progress == MAP_FAILED) return EXIT_REFUSED;
  b.run->options = o;
  pid_t child = fork();
  int status = child > 0 ? wait_for(&b, child) : bisect(&b);
  if (child <= 0) run_end(b.run);
  free(b.run);
  munmap(b.progress, sizeof *b.progress);
  return status;
}
