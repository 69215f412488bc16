/* nvmini reduce: the smallest modules for which a command still succeeds.
 *
 * Delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input", 2002):
 * each reduction numbers the places where it applies, and is tried on all of them, on halves,
 * quarters ... down to single places (search.h). Each success removes places, so the search
 * terminates. IR is reduced as a module (reduce_ir.c), also of bitcode, whose candidates and result
 * are text; PTX as text (reduce_ptx.c). Of several files one after the other is reduced, until none
 * gets smaller.
 *
 * The test command gets the candidates' paths as its last arguments, in the order of the files, and
 * the remaining passes of --passes in NVMINI_PASSES. Comments at the head of IR are kept: they say
 * how to run it. */
#define _DEFAULT_SOURCE /* mkdtemp, setenv */
#include "driver/reduce/reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/progress.h"
#include "driver/reduce/reductions.h"
#include "ir/print.h"

static int fail(const char *path, const char *message) {
  progress_hide();
  fprintf(stderr, "nvmini: error: %s: %s\n", path, message);
  return EXIT_REFUSED;
}

/* ---- Inputs ---- */

/* The length of leading comments and blank lines. */
static size_t head_length(const char *text) {
  size_t at = 0;
  while (text[at] == ';' || text[at] == '\n')
    at += strcspn(text + at, "\n") + (text[at + strcspn(text + at, "\n")] == '\n');
  return at;
}

/* The last part of a path; the name of what was bitcode ends in .ll, whatever it was. */
static char *name_of(const char *path, bool is_text) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (strcmp(path, "-") == 0) name = "stdin";
  const char *dot = strrchr(name, '.');
  size_t length = is_text || !dot || dot == name ? strlen(name) : (size_t)(dot - name);
  char *copy = malloc(length + sizeof ".ll");
  if (!copy) return NULL;
  memcpy(copy, name, length);
  strcpy(copy + length, is_text ? "" : ".ll");
  for (char *c = copy; *c; c++)
    if (*c == '\'') *c = '_'; /* it is quoted for the shell */
  return copy;
}

/* Stores the canonical text of IR, or the text of PTX as it is. */
static int begin_file(struct reduced_file *f, const char *path) {
  struct file_error error;
  f->path = path;
  if (!files_read(path, &f->file, &error)) return fail(path, "cannot read");
  f->is_ptx = files_is_ptx(&f->file);
  bool is_bitcode =
      memcmp(f->file.bytes, "BC", f->file.length < 2 ? 0 : 2) == 0 && f->file.length > 2;
  f->name = name_of(path, !is_bitcode);
  if (!f->name) return fail(path, "out of memory");
  if (f->is_ptx) {
    f->text = malloc(f->file.length + 1);
    if (!f->text) return fail(path, "out of memory");
    memcpy(f->text, f->file.bytes, f->file.length + 1);
    f->length = strlen(f->text);
    return EXIT_DONE;
  }
  f->head = (struct nvm_text){f->file.bytes, is_bitcode ? 0 : head_length(f->file.bytes)};
  struct nvm_module *m = reduce_parse(f->file.bytes, f->file.length);
  if (!m) return fail(path, "the module has errors (see `nvmini check`)");
  bool ok = reduce_print(m, &f->text, &f->length);
  module_destroy(m);
  return ok ? EXIT_DONE : fail(path, "out of memory");
}

/* Whether all passes of the list exist; runs none. */
static int check_passes(const struct reduction_state *r) {
  struct diag_sink sink;
  for (uint32_t k = 0; r->passes && k < r->file_count; k++) {
    if (r->files[k].is_ptx) continue;
    struct nvm_module *m = reduce_parse(r->files[k].text, r->files[k].length);
    if (!m) return EXIT_REFUSED;
    diag_sink_init(&sink, &m->arena, 1);
    bool known = reductions_run_passes(m, r->passes, 0, &sink) == NVM_OK || !sink.list.count;
    const struct diag *d = known ? NULL : &sink.list.data[0];
    if (d) fprintf(stderr, "nvmini: error: %.*s\n", (int)d->message.length, d->message.bytes);
    module_destroy(m);
    if (!known) return EXIT_USAGE;
  }
  return EXIT_DONE;
}

static int begin(struct reduction_state *r, const struct options *o) {
  int status = EXIT_DONE;
  for (uint32_t k = 0; status == EXIT_DONE && k < r->file_count; k++)
    status = begin_file(&r->files[k], o->operands[k]);
  for (uint32_t k = 0; status == EXIT_DONE && k < r->file_count; k++)
    for (uint32_t j = 0; j < k; j++)
      if (strcmp(r->files[k].name, r->files[j].name) == 0) {
        fprintf(stderr, "nvmini: error: '%s' and '%s' would have the same output\n",
                r->files[j].path, r->files[k].path);
        return EXIT_USAGE;
      }
  if (status == EXIT_DONE) status = check_passes(r);
  if (status != EXIT_DONE) return status;
  r->first_bytes = search_bytes_left(r);
  if (search_accepts(r)) return EXIT_DONE;
  return fail(r->files[0].path, r->file_count > 1
                                    ? "the test command fails on the unreduced modules"
                                    : "the test command fails on the unreduced module");
}

/* ---- The search ---- */

static void reduce_all(struct reduction_state *r) {
  for (bool any = true; any;) {
    any = false;
    for (r->current = 0; r->current < r->file_count; r->current++)
      any |= r->files[r->current].is_ptx ? reduce_ptx(r) : reduce_ir(r);
  }
}

/* ---- Output ---- */

static int write_output(const struct reduced_file *f, const char *path) {
  struct file_error error;
  struct nvm_text pieces[] = {f->head, {f->text, f->length}};
  return files_write_text(path, &(struct file_text){pieces, 2, NULL}, &error)
             ? EXIT_DONE
             : fail(path, "cannot write");
}

static int finish(const struct reduction_state *r, const char *to) {
  int status = EXIT_DONE;
  size_t bytes = 0, size = strlen(to) + 2;
  if (r->file_count > 1 && mkdir(to, 0777) != 0 && errno != EEXIST) return fail(to, "cannot write");
  for (uint32_t k = 0; status == EXIT_DONE && k < r->file_count; k++) {
    const struct reduced_file *f = &r->files[k];
    char *path = malloc(size + strlen(f->name));
    if (!path) return fail(to, "out of memory");
    snprintf(path, size + strlen(f->name), "%s/%s", to, f->name);
    status = write_output(f, r->file_count > 1 ? path : to);
    free(path);
    bytes += f->length;
  }
  if (status != EXIT_DONE) return status;
  if (r->passes) fprintf(stderr, "passes: %s\n", r->passes);
  fprintf(stderr, "%u tries, %u bytes left\n", r->tries, (unsigned)bytes);
  return EXIT_DONE;
}

/* ---- The command ---- */

/* Removes the folder of candidates. */
static void clean_up(const struct reduction_state *r) {
  char path[4096 + 300];
  for (uint32_t job = 0; job < r->jobs; job++)
    for (uint32_t k = 0; k < r->file_count; k++) {
      if (!r->files[k].name) continue;
      snprintf(path, sizeof path, "%s/%u-%u-%s", r->folder, job, k, r->files[k].name);
      unlink(path);
    }
  rmdir(r->folder);
}

static int check_usage(const struct options *o, struct reduction_state *r) {
  const char *jobs = o->values[OPTION_JOBS], *to = o->values[OPTION_OUTPUT];
  char *end = NULL;
  unsigned long n = jobs ? strtoul(jobs, &end, 10) : 1;
  if (!r->command || !*r->command) {
    fputs("nvmini: error: `reduce` needs --test COMMAND\n", stderr);
    return EXIT_USAGE;
  }
  if ((end && *end) || n < 1 || n > SEARCH_MAX_JOBS) {
    fprintf(stderr, "nvmini: error: invalid value '%s' of -j; expected 1 to %d\n", jobs,
            (int)SEARCH_MAX_JOBS);
    return EXIT_USAGE;
  }
  r->jobs = (uint32_t)n;
  if (o->operand_count > 1 && (!to || strcmp(to, "-") == 0)) {
    fputs("nvmini: error: several inputs need an output folder: -o FOLDER\n", stderr);
    return EXIT_USAGE;
  }
  return EXIT_DONE;
}

/* "34 s, 14 tries, 800 of 5200 bytes" */
static void put_progress(struct textbuf *line, uint64_t seconds, void *state) {
  const struct reduction_state *r = state;
  textbuf_format(line, "%U s, %u tries", seconds, r->tries);
  if (r->first_bytes)
    textbuf_format(line, ", %U of %U bytes", search_bytes_left(r), r->first_bytes);
}

static int reduce_files(struct reduction_state *r, const struct options *o) {
  const char *to = o->values[OPTION_OUTPUT];
  int status = begin(r, o);
  if (status != EXIT_DONE) return status;
  reduce_all(r);
  progress_clear();
  return finish(r, to ? to : "-");
}

int reduce_command(const struct options *o) {
  const char *passes = o->values[OPTION_PASSES], *temporary = getenv("TMPDIR");
  struct reduction_state r = {.command = o->values[OPTION_TEST]};
  char folder[4096];
  int status = check_usage(o, &r);
  if (status != EXIT_DONE) return status;
  snprintf(folder, sizeof folder, "%s/nvmini-reduce-XXXXXX",
           temporary && *temporary ? temporary : "/tmp");
  r.folder = folder;
  r.file_count = (uint32_t)o->operand_count;
  r.files = calloc(r.file_count, sizeof *r.files);
  if (passes && (r.passes = malloc(strlen(passes) + 1)) != NULL) strcpy(r.passes, passes);
  if (!r.files || (passes && !r.passes)) status = fail(o->operands[0], "out of memory");
  else if (!mkdtemp(folder)) status = fail(folder, "cannot create a temporary folder");
  else {
    progress_start(o);
    progress_watch(put_progress, &r);
    status = reduce_files(&r, o);
    clean_up(&r);
  }
  for (uint32_t k = 0; r.files && k < r.file_count; k++) {
    files_free(&r.files[k].file);
    free(r.files[k].text);
    free(r.files[k].name);
  }
  free(r.files);
  free(r.passes);
  return status;
}
