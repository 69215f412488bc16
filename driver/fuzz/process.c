/* Programs that may hang, crash or print without end; see fuzz.h. */
#define _DEFAULT_SOURCE /* setrlimit's RLIMIT_FSIZE */
#include "driver/fuzz/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OUTPUT = 4 << 20, MAX_FILE = 256 << 20 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

void fuzz_watch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool fuzz_interrupted(void) { return interrupted != 0; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In the child: never returns. */
static void become(const char *const *words, int out, int err) {
  struct rlimit most = {MAX_FILE, MAX_FILE}, no_core = {0, 0};
  int in = open("/dev/null", O_RDONLY);
  setpgid(0, 0);
  setrlimit(RLIMIT_FSIZE, &most);
  setrlimit(RLIMIT_CORE, &no_core);
  if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  execvp(words[0], (char *const *)words);
  _exit(127);
}

/* Waits until the process ends or has to; the status of waitpid(). */
static enum fuzz_end wait_for(pid_t child, unsigned seconds, int *how) {
  double limit = now() + seconds;
  long pause = 200000; /* ns */
  enum fuzz_end end = FUZZ_EXITED;
  for (;;) {
    pid_t done = waitpid(child, how, end == FUZZ_EXITED ? WNOHANG : 0);
    if (done == child) break;
    if (done < 0 && !interrupted) return FUZZ_NOT_STARTED;
    if (now() >= limit || interrupted) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      end = FUZZ_TIMED_OUT;
      continue;
    }
    nanosleep(&(struct timespec){0, pause}, NULL);
    if (pause < 5000000) pause += pause / 2;
  }
  kill(-child, SIGKILL); /* what it left */
  return end;
}

static struct nvm_text read_back(FILE *file, struct arena *arena) {
  char *bytes = malloc(MAX_OUTPUT);
  struct nvm_text text = {"", 0};
  rewind(file);
  size_t length = bytes ? fread(bytes, 1, MAX_OUTPUT, file) : 0;
  char *copy = length ? arena_copy(arena, bytes, length) : NULL;
  if (copy) text = (struct nvm_text){copy, length};
  free(bytes);
  return text;
}

struct fuzz_process fuzz_run(const char *const *words, unsigned seconds, struct arena *arena) {
  struct fuzz_process p = {.end = FUZZ_NOT_STARTED, .out = {"", 0}, .err = {"", 0}};
  FILE *out = tmpfile(), *err = tmpfile();
  int how = 0;
  fflush(stdout);
  fflush(stderr);
  pid_t child = out && err ? fork() : -1;
  if (child == 0) become(words, fileno(out), fileno(err));
  if (child > 0) {
    p.end = wait_for(child, seconds, &how);
    if (p.end == FUZZ_EXITED && WIFSIGNALED(how)) p.end = FUZZ_SIGNALED;
    p.code = p.end == FUZZ_SIGNALED ? WTERMSIG(how) : WIFEXITED(how) ? WEXITSTATUS(how) : 0;
    p.out = read_back(out, arena);
    p.err = read_back(err, arena);
  }
  if (out) fclose(out);
  if (err) fclose(err);
  return p;
}
