/* The line of progress. Its state is this file's, because a signal handler has no other. */
#include "driver/progress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 120, PAUSE_MS = 900 };

static struct {
  bool enabled, visible;
  uint64_t start, hidden; /* ms; hidden: when other text was written, which may be unfinished */
  progress_put *put;      /* NULL: nothing is watched */
  void *put_state;
  const struct options *options; /* of progress_files() */
  int file;
} progress;

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* write() and not stdio, which a signal handler may interrupt. */
static void write_line(const char *bytes, size_t length) {
  if (write(STDERR_FILENO, bytes, length) < 0) progress.enabled = false;
}

void progress_start(const struct options *o) {
  progress.enabled = o->values[OPTION_QUIET] == NULL && isatty(STDERR_FILENO);
  progress.start = now_ms();
  progress.hidden = 0;
}

static void write_progress(uint64_t now) {
  char bytes[LONGEST];
  struct textbuf line;
  uint64_t seconds = (now - progress.start) / 1000;
  if (seconds < PROGRESS_AFTER || now - progress.hidden < PAUSE_MS) return;
  textbuf_init_fixed(&line, bytes, sizeof bytes);
  textbuf_puts(&line, "\r\033[K");
  progress.put(&line, seconds, progress.put_state);
  write_line(line.bytes, line.length);
  progress.visible = true;
}

static void on_alarm(int signal) {
  (void)signal;
  int error = errno;
  if (progress.put) write_progress(now_ms());
  if (progress.put) alarm(1);
  errno = error;
}

void progress_watch(progress_put *put, void *state) {
  if (!progress.enabled) return;
  progress.put_state = state;
  progress.put = put;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  alarm(1);
}

/* The end of a long path says more than its beginning. */
static const char *short_path(const char *path) {
  enum { MOST = 60 };
  size_t length = strlen(path);
  return length > MOST ? path + (length - MOST) : path;
}

static void put_file(struct textbuf *line, uint64_t seconds, void *state) {
  (void)state;
  const struct options *o = progress.options;
  int count = o->operand_count, file = progress.file <= count ? progress.file : count;
  if (count > 1) textbuf_format(line, "file %d of %d: ", file, count);
  textbuf_format(line, "%s, %U s", short_path(o->operands[file - 1]), seconds);
}

void progress_files(const struct options *o) {
  progress_start(o);
  progress.options = o;
  progress.file = 1;
  progress_watch(put_file, NULL);
}

void progress_file(int number) { progress.file = number; }

void progress_hide(void) {
  if (!progress.enabled) return;
  if (progress.put) progress.hidden = now_ms();
  if (progress.visible) write_line("\r\033[K", 4);
  progress.visible = false;
}

void progress_clear(void) {
  if (progress.put) alarm(0);
  progress.put = NULL;
  progress_hide();
}
