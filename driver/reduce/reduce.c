/* nvmini reduce: the smallest module for which a command still succeeds.
 *
 * Delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input", 2002)
 * on the IR: each reduction numbers the places where it applies, and is tried on all of them, on
 * halves, quarters … down to single places. A candidate is built from the text of the best one so
 * far, so nothing has to be undone; candidates that the verifier rejects are skipped. Each success
 * removes places, so the search terminates.
 *
 * The test command gets the candidate's path as its last argument, and the remaining passes of
 * --passes in NVMINI_PASSES. Comments at the head of the file are kept: they say how to run it. */
#include "driver/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/files.h"
#include "driver/progress.h"
#include "driver/reduce/reductions.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

struct reduction_state {
  const char *command;
  char *path; /* of candidates */
  char *text; /* the best one so far */
  size_t length;
  struct nvm_text head; /* leading comments */
  char *passes;         /* remaining passes; NULL: none given */
  uint32_t tries;
};

/* ---- Types ---- */

/* Replacements of one type by another in the whole text, overloaded intrinsic names included. */
static const char *const simpler_types[][2] = {
    {"i128", "i64"},   {"i100", "i64"},    {"i65", "i64"}, {"i63", "i64"}, {"i48", "i64"},
    {"i33", "i32"},    {"i31", "i32"},     {"i24", "i32"}, {"i16", "i32"}, {"i13", "i32"},
    {"i8", "i32"},     {"i7", "i32"},      {"i3", "i32"},  {"i64", "i32"}, {"double", "float"},
    {"half", "float"}, {"bfloat", "float"}};

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char *with_type(const char *text, const char *from, const char *to) {
  size_t length = strlen(text), n = 0, size = strlen(from);
  char *out = malloc(2 * length + 1);
  for (const char *p = text; out && *p;) {
    bool whole = strncmp(p, from, size) == 0 && !is_word(p[size]) && (p == text || !is_word(p[-1]));
    const char *from_here = whole ? to : p;
    size_t bytes = whole ? strlen(to) : 1;
    memcpy(out + n, from_here, bytes);
    n += bytes;
    p += whole ? size : 1;
  }
  if (out) out[n] = '\0';
  return out;
}

/* ---- Search ---- */

static bool succeeds(struct reduction_state *r, const char *text, size_t length) {
  struct file_error error;
  progress_show("%u tries, %U bytes left", r->tries, (uint64_t)r->length);
  size_t size = strlen(r->command) + strlen(r->path) + 8;
  char *line = malloc(size), *whole = malloc(r->head.length + length + 1);
  bool ok = line && whole;
  if (ok) {
    memcpy(whole, r->head.bytes, r->head.length);
    memcpy(whole + r->head.length, text, length);
    snprintf(line, size, "%s '%s'", r->command, r->path);
    ok = files_write(r->path, whole, r->head.length + length, &error) && system(line) == 0;
    r->tries++;
  }
  free(line);
  free(whole);
  return ok;
}

static void keep(struct reduction_state *r, const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (!copy) return;
  memcpy(copy, text, length);
  copy[length] = '\0';
  free(r->text);
  r->text = copy;
  r->length = length;
}

/* Parses the text; NULL if it is invalid. */
static struct nvm_module *module_from(const char *text, size_t length) {
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  struct diag_sink sink;
  if (!m) return NULL;
  diag_sink_init(&sink, &m->arena, 1);
  if (parse_module(m, text, length, "", 0, &sink) == NVM_OK &&
      verify_module(m, &sink, 0) == NVM_OK) {
    m->source_filename = (struct nvm_str){0};
    return m;
  }
  module_destroy(m);
  return NULL;
}

/* Keeps the module if it is valid, differs from the best one, and the test command succeeds. */
static bool try_module(struct reduction_state *r, struct nvm_module *m) {
  struct textbuf out;
  struct diag_sink sink;
  textbuf_init(&out, &m->arena);
  diag_sink_init(&sink, &m->arena, 1);
  bool valid =
      verify_module(m, &sink, 0) == NVM_OK && print_module(m, &out) == NVM_OK && !m->arena.failed;
  const char *text = out.length ? out.bytes : ""; /* nothing may be left */
  bool same = valid && out.length == r->length && memcmp(text, r->text, out.length) == 0;
  if (!valid || same || !succeeds(r, text, out.length)) return false;
  keep(r, text, out.length);
  return true;
}

/* Applies a reduction to `count` places; *places: their number before. */
static bool try_reduction(struct reduction_state *r, reduction *apply, uint32_t first,
                          uint32_t count, uint32_t *places) {
  struct nvm_module *m = module_from(r->text, r->length);
  if (!m) return false;
  *places = apply(m, first, count);
  bool kept = count && try_module(r, m);
  module_destroy(m);
  return kept;
}

static bool reduce_by(struct reduction_state *r, reduction *apply) {
  uint32_t places = 0;
  bool any = false;
  try_reduction(r, apply, 0, 0, &places);
  for (uint32_t chunk = places; chunk > 0; chunk /= 2)
    for (uint32_t at = 0; at < places;) {
      uint32_t before = places, left;
      size_t length = r->length;
      bool kept = try_reduction(r, apply, at, chunk, &before);
      any |= kept;
      if (kept) try_reduction(r, apply, 0, 0, &places);
      left = kept && (places < before || r->length < length) ? 0 : chunk;
      at += left;
    }
  return any;
}

static bool reduce_types(struct reduction_state *r) {
  bool any = false;
  for (size_t k = 0; k < sizeof simpler_types / sizeof *simpler_types; k++) {
    char *text = with_type(r->text, simpler_types[k][0], simpler_types[k][1]);
    struct nvm_module *m = text ? module_from(text, strlen(text)) : NULL;
    if (m) any |= try_module(r, m);
    if (m) module_destroy(m);
    free(text);
  }
  return any;
}

/* Removes passes one by one. */
static bool reduce_passes(struct reduction_state *r) {
  bool any = false;
  for (size_t at = 0; r->passes && r->passes[at];) {
    size_t length = strcspn(r->passes + at, ","),
           rest = at + length + (r->passes[at + length] == ',');
    char *fewer = malloc(strlen(r->passes) + 1);
    if (!fewer) return any;
    memcpy(fewer, r->passes, at);
    strcpy(fewer + at, r->passes + rest);
    size_t end = strlen(fewer);
    if (end && fewer[end - 1] == ',') fewer[end - 1] = '\0';
    setenv("NVMINI_PASSES", fewer, 1);
    bool kept = succeeds(r, r->text, r->length);
    any |= kept;
    if (!kept) at = rest;
    free(kept ? r->passes : fewer);
    if (kept) r->passes = fewer;
    setenv("NVMINI_PASSES", r->passes, 1);
  }
  return any;
}

/* ---- The command ---- */

static void reduce_all(struct reduction_state *r) {
  bool any = true;
  while (any) {
    any = reduce_passes(r);
    for (reduction *const *each = reductions_all; *each; each++) any |= reduce_by(r, *each);
    any |= reduce_types(r);
  }
}

/* The length of leading comments and blank lines. */
static size_t head_length(const char *text) {
  size_t at = 0;
  while (text[at] == ';' || text[at] == '\n')
    at += strcspn(text + at, "\n") + (text[at + strcspn(text + at, "\n")] == '\n');
  return at;
}

static int fail(const char *path, const char *message) {
  fprintf(stderr, "nvmini: error: %s: %s\n", path, message);
  return EXIT_REFUSED;
}

/* Stores the canonical text of the file, if the test command succeeds on it. */
static int begin(struct reduction_state *r, const char *path, const struct file_bytes *file) {
  struct nvm_module *m = module_from(file->bytes, file->length);
  struct textbuf out;
  struct diag_sink sink;
  if (!m) return fail(path, "the module has errors (see `nvmini check`)");
  textbuf_init(&out, &m->arena);
  bool ok = print_module(m, &out) == NVM_OK;
  diag_sink_init(&sink, &m->arena, 1);
  if (r->passes && reductions_run_passes(m, r->passes, 0, &sink) != NVM_OK && sink.list.count) {
    const struct diag *d = &sink.list.data[0];
    fprintf(stderr, "nvmini: error: %.*s\n", (int)d->message.length, d->message.bytes);
    module_destroy(m);
    return EXIT_USAGE;
  }
  if (ok) keep(r, out.bytes, out.length);
  module_destroy(m);
  if (!ok) return fail(path, "out of memory");
  return succeeds(r, r->text, r->length)
             ? EXIT_DONE
             : fail(path, "the test command fails on the unreduced module");
}

static int finish(struct reduction_state *r, const char *to) {
  struct file_error error;
  char *whole = malloc(r->head.length + r->length + 1);
  if (!whole) return fail(to, "out of memory");
  memcpy(whole, r->head.bytes, r->head.length);
  memcpy(whole + r->head.length, r->text, r->length);
  bool written = files_write(to, whole, r->head.length + r->length, &error);
  free(whole);
  if (!written) return fail(to, "cannot write");
  if (r->passes) fprintf(stderr, "passes: %s\n", r->passes);
  fprintf(stderr, "%u tries, %u bytes left\n", r->tries, (unsigned)r->length);
  return EXIT_DONE;
}

int reduce_command(const struct options *o) {
  const char *path = o->operands[0], *to = o->values[OPTION_OUTPUT],
             *passes = o->values[OPTION_PASSES];
  struct reduction_state r = {.command = o->values[OPTION_TEST]};
  struct file_bytes file;
  struct file_error error;
  const char *folder = getenv("TMPDIR");
  char name[4096];
  if (!r.command || !*r.command) {
    fputs("nvmini: error: `reduce` needs --test COMMAND\n", stderr);
    return EXIT_USAGE;
  }
  snprintf(name, sizeof name, "%s/nvmini-reduce-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!files_read(path, &file, &error)) return fail(path, "cannot read");
  int descriptor = mkstemp(name);
  int status = descriptor < 0 ? fail(path, "cannot create a temporary file") : EXIT_DONE;
  if (descriptor >= 0) close(descriptor);
  r.path = name;
  r.head = (struct nvm_text){file.bytes, head_length(file.bytes)};
  if (passes && (r.passes = malloc(strlen(passes) + 1)) != NULL) {
    strcpy(r.passes, passes);
    setenv("NVMINI_PASSES", passes, 1);
  }
  progress_start(o);
  if (status == EXIT_DONE) status = begin(&r, path, &file);
  if (status == EXIT_DONE) {
    reduce_all(&r);
    progress_clear();
    status = finish(&r, to ? to : "-");
  }
  if (descriptor >= 0) unlink(name);
  files_free(&file);
  free(r.text);
  free(r.passes);
  return status;
}
