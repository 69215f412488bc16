/* Tries of candidates; see search.h.
 *
 * Each job has files of its own in the folder, FOLDER/JOB-NUMBER-NAME, whose paths the test command
 * gets as its last arguments. A batch of candidates is started together and awaited as a whole. */
#define _DEFAULT_SOURCE /* setenv */
#include "driver/reduce/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- One try ---- */

static bool write_file(const struct reduction_state *r, const struct reduced_file *f,
                       const char *path, const struct candidate *c) {
  struct file_error error;
  bool replaced = c && f == &r->files[r->current];
  struct nvm_text pieces[] = {f->head,
                              {replaced ? c->text : f->text, replaced ? c->length : f->length}};
  return files_write_text(path, &(struct file_text){pieces, 2, NULL}, &error);
}

/* Writes the files of a job; the command's line, malloc'ed; NULL on failure. */
static char *prepare(const struct reduction_state *r, uint32_t job, const struct candidate *c) {
  size_t size = strlen(r->command) + 1, at;
  for (uint32_t k = 0; k < r->file_count; k++)
    size += strlen(r->folder) + strlen(r->files[k].name) + sizeof " '/-4294967295-4294967295'";
  char *line = malloc(size), *path = malloc(size);
  bool ok = line && path;
  if (ok) at = (size_t)snprintf(line, size, "%s", r->command);
  for (uint32_t k = 0; ok && k < r->file_count; k++) {
    snprintf(path, size, "%s/%u-%u-%s", r->folder, job, k, r->files[k].name);
    at += (size_t)snprintf(line + at, size - at, " '%s'", path);
    ok = write_file(r, &r->files[k], path, c);
  }
  free(path);
  if (ok) return line;
  free(line);
  return NULL;
}

/* Starts the test command on a candidate (NULL: on the files as they are); the process, or 0. */
static pid_t start(const struct reduction_state *r, uint32_t job, const struct candidate *c) {
  char *line = prepare(r, job, c);
  const char *passes = c && c->passes ? c->passes : r->passes;
  fflush(stdout);
  fflush(stderr);
  pid_t child = line ? fork() : -1;
  if (child == 0) {
    if (passes) setenv("NVMINI_PASSES", passes, 1);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  free(line);
  return child > 0 ? child : 0;
}

static bool succeeds(pid_t child) {
  int how;
  return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

bool search_accepts(struct reduction_state *r) {
  r->tries++;
  return succeeds(start(r, 0, NULL));
}

/* ---- Batches ---- */

static void keep(struct reduction_state *r, struct candidate *c) {
  struct reduced_file *f = &r->files[r->current];
  free(f->text);
  f->text = c->text;
  f->length = c->length;
  c->text = NULL;
  if (!c->passes) return;
  free(r->passes);
  r->passes = c->passes;
  c->passes = NULL;
}

uint64_t search_bytes_left(const struct reduction_state *r) {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < r->file_count; k++) bytes += r->files[k].length;
  return bytes;
}

/* Tries `count` candidates; the index of the first that is accepted, or `count`. */
static uint32_t try_batch(struct reduction_state *r, struct candidate *c, uint32_t count) {
  pid_t children[SEARCH_MAX_JOBS];
  uint32_t first = count;
  for (uint32_t k = 0; k < count; k++) children[k] = c[k].text ? start(r, k, &c[k]) : 0;
  for (uint32_t k = 0; k < count; k++) {
    bool tried = children[k] > 0, accepted = succeeds(children[k]);
    if (tried && first == count) r->tries++;
    if (accepted && first == count) first = k;
  }
  if (first < count) keep(r, &c[first]);
  for (uint32_t k = 0; k < count; k++) {
    free(c[k].text);
    free(c[k].passes);
  }
  return first;
}

static uint32_t count_places(const struct reduction_state *r, search_make *make, const void *what) {
  struct candidate c = {0};
  make(r, what, 0, 0, &c);
  return c.places;
}

bool search_places(struct reduction_state *r, search_make *make, const void *what,
                   uint32_t largest) {
  struct candidate batch[SEARCH_MAX_JOBS];
  uint32_t places = count_places(r, make, what), chunk = largest < places ? largest : places;
  bool any = false;
  for (; chunk > 0; chunk /= 2)
    for (uint32_t at = 0; at < places;) {
      uint32_t count = 0, before = places;
      size_t length = r->files[r->current].length;
      for (; count < r->jobs && at + count * chunk < places; count++) {
        batch[count] = (struct candidate){0};
        make(r, what, at + count * chunk, chunk, &batch[count]);
      }
      uint32_t accepted = try_batch(r, batch, count);
      at += accepted * chunk;
      if (accepted == count) continue;
      any = true;
      places = count_places(r, make, what);
      if (places >= before && r->files[r->current].length >= length) at += chunk;
    }
  return any;
}
