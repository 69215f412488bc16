/* The line of progress. Its state is this file's, because a signal handler has no other. */
#include "driver/progress.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 120, INTERVAL_MS = 100 };

static struct {
  bool enabled, visible;
  uint64_t start, last; /* ms; last: of the latest rewriting */
  progress_put *put;    /* NULL: nothing is watched */
  void *put_state;
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

static void rewrite(struct textbuf *line) {
  write_line(line->bytes, line->length);
  progress.visible = true;
}

void progress_start(const struct options *o) {
  progress.enabled = o->values[OPTION_QUIET] == NULL && isatty(STDERR_FILENO);
  progress.start = progress.last = now_ms();
}

void progress_show(const char *format, ...) {
  char bytes[LONGEST];
  struct textbuf line;
  if (!progress.enabled) return;
  uint64_t now = now_ms();
  if (now - progress.start < PROGRESS_AFTER * 1000 || now - progress.last < INTERVAL_MS) return;
  progress.last = now;
  textbuf_init_fixed(&line, bytes, sizeof bytes);
  textbuf_puts(&line, "\r\033[K");
  va_list args;
  va_start(args, format);
  for (const char *at = format; *at; at++)
    if (*at == '%') textbuf_directive(&line, *++at, &args);
    else textbuf_char(&line, *at);
  va_end(args);
  rewrite(&line);
}

static void on_alarm(int signal) {
  (void)signal;
  int error = errno;
  char bytes[LONGEST];
  struct textbuf line;
  uint64_t seconds = (now_ms() - progress.start) / 1000;
  if (progress.put && seconds >= PROGRESS_AFTER) {
    textbuf_init_fixed(&line, bytes, sizeof bytes);
    textbuf_puts(&line, "\r\033[K");
    progress.put(&line, seconds, progress.put_state);
    rewrite(&line);
  }
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

void progress_clear(void) {
  if (progress.put) alarm(0);
  progress.put = NULL;
  if (progress.visible) write_line("\r\033[K", 4);
  progress.visible = false;
}
