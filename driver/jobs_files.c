/* What the commands of jobs.c have in common: files to modules, and texts to files. */
#include "driver/jobs.h"

#include "driver/commands.h"
#include "driver/demands.h"
#include "driver/outputs.h"
#include "driver/progress.h"
#include "support/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reporting ---- */

int jobs_exit_status(enum nvmini_status status) {
  switch (status) {
    case NVMINI_OK: return EXIT_DONE;
    case NVMINI_REFUSED: return EXIT_REFUSED;
    case NVMINI_OUT_OF_MEMORY: return EXIT_REFUSED;
    case NVMINI_BAD_OPTION: return EXIT_USAGE;
    case NVMINI_BUG: break;
  }
  fputs(
      "nvmini: this is a bug in nvmini. Please report it with the input, the command line and the\n"
      "output of `nvmini version`.\n",
      stderr);
  return EXIT_FAULT;
}

void jobs_report(const struct render *how, enum diag_id id, const char *shown,
                 struct nvmini_text argument) {
  static const enum nvmini_severity severities[] = {[DIAG_ERROR] = NVMINI_ERROR,
                                                    [DIAG_WARNING] = NVMINI_WARNING,
                                                    [DIAG_REMARK] = NVMINI_REMARK,
                                                    [DIAG_NOTE] = NVMINI_NOTE};
  const char *pattern = diag_message(id), *place = strstr(pattern, "%0");
  char message[512];
  if (place == NULL) snprintf(message, sizeof message, "%s", pattern);
  else
    snprintf(message, sizeof message, "%.*s%.*s%s", (int)(place - pattern), pattern,
             (int)(argument.length < 256 ? argument.length : 256), argument.bytes, place + 2);
  struct nvmini_diagnostic d = {.severity = severities[diag_severity(id)],
                                .id = diag_name(id),
                                .name = shown,
                                .message = {message, strlen(message)}};
  struct render render = *how;
  render_diagnostic(&render, &d);
}

int jobs_file_failed(const struct render *how, const char *shown, struct file_error error) {
  const char *reason = error.number == 0 ? "" : strerror(error.number);
  jobs_report(how, error.id, shown, (struct nvmini_text){reason, strlen(reason)});
  return EXIT_REFUSED;
}

enum nvmini_status jobs_no_memory(void) {
  progress_hide();
  fputs("nvmini: error: out of memory\n", stderr);
  return NVMINI_OUT_OF_MEMORY;
}

/* ---- Options ---- */

/* "64M" in bytes; 0 if it is not a size. */
static size_t parse_size(const char *text) {
  uint64_t n;
  if (!number_read(&text, SIZE_MAX, &n)) return 0;
  unsigned shift = *text == 'K' ? 10 : *text == 'M' ? 20 : *text == 'G' ? 30 : 0;
  if (shift != 0) text++;
  return *text == '\0' && n <= SIZE_MAX >> shift ? (size_t)n << shift : 0;
}

static void write_dump(void *user, struct nvmini_text text) {
  (void)user;
  progress_hide();
  fwrite(text.bytes, 1, text.length, stderr);
}

static int make_context(struct job *j) {
  const char *limit = j->options->values[OPTION_MEMORY_LIMIT];
  size_t bytes = limit == NULL ? 0 : parse_size(limit);
  if (limit != NULL && bytes == 0) {
    fprintf(stderr,
            "nvmini: error: option '--memory-limit': '%s' is not a number of bytes; "
            "examples: 500000, 64M, 2G\n",
            limit);
    return EXIT_USAGE;
  }
  j->context = nvmini_create(NULL, bytes);
  if (j->context == NULL) {
    fputs("nvmini: error: out of memory\n", stderr);
    return EXIT_REFUSED;
  }
  nvmini_on_diagnostic(j->context, render_diagnostic, &j->render);
  nvmini_on_dump(j->context, write_dump, NULL);
  return EXIT_DONE;
}

static int set_options(struct job *j) {
  enum option_id failed;
  int status = jobs_exit_status(options_set_library(j->options, j->context, &failed));
  if (status == EXIT_USAGE && failed == OPTION_CPU && !j->render.json) {
    fputs("valid CPUs are:\n", stderr);
    targets_cpu_names(stderr);
  }
  return status;
}

/* ---- Loading and saving ---- */

int jobs_start(struct job *j, const struct options *o) {
  bool json = strcmp(options_value(o, OPTION_DIAGNOSTICS), "json") == 0;
  *j = (struct job){.options = o, .render = render_start(json)};
  const char *triple = o->values[OPTION_TRIPLE];
  if (triple != NULL && !demands_check_triple(triple)) return EXIT_USAGE;
  int status = make_context(j);
  return status == EXIT_DONE ? set_options(j) : status;
}

int jobs_check_options(const struct options *o) {
  struct job j;
  int status = jobs_start(&j, o);
  nvmini_destroy(j.context);
  return status;
}

/* Checks the module against --triple. */
static int check_triple(struct job *j) {
  const char *triple = j->options->values[OPTION_TRIPLE];
  struct nvmini_text found;
  if (triple == NULL || demands_triple(j->module, triple, &found)) return EXIT_DONE;
  jobs_report(&j->render, DIAG_TRIPLE_MISMATCH, j->shown, found);
  return EXIT_REFUSED;
}

struct nvmini_text jobs_reread(void *state) {
  enum { LARGE = 4 << 20 };
  struct job *j = state;
  struct file_error error;
  if (j->file.bytes == NULL && j->file_length >= LARGE) files_release_heap();
  if (j->file.bytes == NULL && !files_read(j->path, &j->file, &error))
    return (struct nvmini_text){"", 0};
  return (struct nvmini_text){j->file.bytes, j->file.length};
}

int jobs_read(struct job *j, const char *path) {
  struct file_error error;
  j->path = path;
  j->shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
  return files_read(path, &j->file, &error) ? EXIT_DONE
                                            : jobs_file_failed(&j->render, j->shown, error);
}

static void release_input(void *state, size_t end) {
  struct job *j = state;
  files_release(&j->file, end);
}

static enum nvmini_status parse_file(struct job *j) {
  return nvmini_parse(j->context, j->file.bytes, j->file.length, j->shown, &j->module);
}

/* A file is released while it is parsed, and read again if a message needs it. */
static int parse_and_release(struct job *j) {
  if (!j->file.regular) return jobs_exit_status(parse_file(j));
  struct parse_release release = {.release = release_input, .state = j};
  enum nvmini_status parsed = module_parse_releasing(j->context, j->file.bytes, j->file.length,
                                                     j->shown, &release, &j->module);
  struct file_error error;
  if (release.again && !files_read_again(&j->file, &error))
    return jobs_file_failed(&j->render, j->shown, error);
  if (release.again) parsed = parse_file(j);
  if (parsed == NVMINI_OK) {
    j->file_length = j->file.length;
    files_free(&j->file);
    module_drop_source(j->module, jobs_reread, j);
  }
  return jobs_exit_status(parsed);
}

int jobs_parse(struct job *j) {
  int status = parse_and_release(j);
  return status == EXIT_DONE ? check_triple(j) : status;
}

int jobs_load(struct job *j, const char *path) {
  int status = jobs_read(j, path);
  return status == EXIT_DONE ? jobs_parse(j) : status;
}

void jobs_unload(struct job *j) {
  nvmini_release(j->module);
  j->module = NULL;
  files_free(&j->file);
}

int jobs_end(struct job *j, int status) {
  jobs_unload(j);
  nvmini_destroy(j->context);
  return status;
}

/* Whether `path` is, under any name, a file that the command reads. */
static bool is_input(const struct options *o, const char *path) {
  for (int i = 0; i < o->operand_count; i++)
    if (files_same(path, o->operands[i])) return true;
  for (int i = 0; i < o->given_count; i++)
    if (o->given[i].id == OPTION_LINK && files_same(path, o->given[i].value)) return true;
  return false;
}

static int save_as(struct job *j, const char *path, const struct file_text *text) {
  struct file_error error = {DIAG_FILE_IS_INPUT, 0};
  if (strcmp(path, "-") != 0 && is_input(j->options, path))
    return jobs_file_failed(&j->render, path, error);
  progress_hide(); /* the output may be the terminal too */
  if (files_write_text(path, text, &error)) return EXIT_DONE;
  return jobs_file_failed(&j->render, strcmp(path, "-") == 0 ? "<stdout>" : path, error);
}

struct nvmini_text jobs_remarks_text(const struct remarks *r) {
  return (struct nvmini_text){r->text.bytes ? r->text.bytes : "", r->text.length};
}

int jobs_save_bytes(struct job *j, const char *path, struct nvm_text bytes) {
  return save_as(j, path, &(struct file_text){&bytes, 1, NULL});
}

static int save_in_folder(struct job *j, const struct file_text *text) {
  const char *folder = j->options->values[OPTION_OUTPUT];
  if (!outputs_make_folder(j->options))
    return jobs_file_failed(&j->render, folder, (struct file_error){DIAG_FILE_UNWRITABLE, errno});
  char *path = outputs_path(j->options, j->path);
  int status = path ? save_as(j, path, text) : jobs_exit_status(NVMINI_OUT_OF_MEMORY);
  free(path);
  return status;
}

int jobs_save_text(struct job *j, const struct file_text *text) {
  const char *file = j->options->values[OPTION_REMARKS_FILE];
  int status = EXIT_DONE;
  if (file) {
    struct nvmini_text remarks = jobs_remarks_text(j->remarks);
    status = jobs_save_bytes(j, file, (struct nvm_text){remarks.bytes, remarks.length});
  }
  if (status != EXIT_DONE) return status;
  if (j->folder) return save_in_folder(j, text);
  return save_as(j, options_value(j->options, OPTION_OUTPUT), text);
}

int jobs_save(struct job *j, struct nvmini_text text) {
  struct nvm_text bytes = {text.bytes, text.length};
  return jobs_save_text(j, &(struct file_text){&bytes, 1, NULL});
}
