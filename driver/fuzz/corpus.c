/* The folder of findings; see fuzz.h. FOLDER/state holds lines `WORD NUMBER` and
 * `class COUNT TEXT`; FOLDER/0001, 0002, ... a finding each: kernel.*, test.sh, reduced.*,
 * report.txt and the PTX of each compiler. */
#include "driver/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "driver/files.h"
#include "driver/progress.h"

/* ---- State ---- */

struct field {
  const char *name;
  uint64_t *value;
};

enum { FIELDS = 7 };

static void list_fields(struct fuzz_corpus *p, struct field f[FIELDS]) {
  f[0] = (struct field){"next-seed", &p->next_seed};
  f[1] = (struct field){"kernels", &p->kernels};
  f[2] = (struct field){"invalid", &p->invalid};
  f[3] = (struct field){"compilations", &p->compilations};
  f[4] = (struct field){"executions", &p->executions};
  f[5] = (struct field){"findings", &p->findings};
  f[6] = (struct field){"kept", &p->kept};
}

static const char *path_in(const struct fuzz_corpus *p, const char *name, struct arena *arena) {
  struct textbuf out;
  textbuf_init(&out, arena);
  textbuf_format(&out, "%s/%s", p->folder, name);
  return arena_copy(arena, out.bytes, out.length);
}

static void take_line(struct fuzz_corpus *p, const char *line, size_t length) {
  struct field fields[FIELDS];
  list_fields(p, fields);
  for (uint32_t k = 0; k < FIELDS; k++) {
    size_t n = strlen(fields[k].name);
    if (length > n && memcmp(line, fields[k].name, n) == 0 && line[n] == ' ')
      *fields[k].value = strtoull(line + n, NULL, 10);
  }
  if (length < 7 || memcmp(line, "class ", 6) != 0) return;
  char *end;
  uint64_t count = strtoull(line + 6, &end, 10);
  if (*end != ' ') return;
  end++;
  size_t left = length - (size_t)(end - line);
  struct nvm_text text = {arena_copy(p->arena, end, left), left};
  VEC_PUSH(p->arena, &p->classes, ((struct fuzz_class){text, count}));
}

bool fuzz_open_corpus(struct fuzz_corpus *p) {
  struct file_bytes file;
  struct file_error error;
  if (mkdir(p->folder, 0777) != 0 && errno != EEXIST) return false;
  if (!files_read(path_in(p, "state", p->arena), &file, &error)) return true; /* a new one */
  for (const char *at = file.bytes; *at;) {
    size_t length = strcspn(at, "\n");
    take_line(p, at, length);
    at += length + (at[length] == '\n');
  }
  files_free(&file);
  return true;
}

bool fuzz_save_corpus(const struct fuzz_corpus *p) {
  struct fuzz_corpus copy = *p;
  struct field fields[FIELDS];
  struct file_error error;
  struct arena arena;
  struct textbuf out;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  list_fields(&copy, fields);
  for (uint32_t k = 0; k < FIELDS; k++)
    textbuf_format(&out, "%s %U\n", fields[k].name, *fields[k].value);
  for (uint32_t k = 0; k < p->classes.count; k++)
    textbuf_format(&out, "class %U %t\n", p->classes.data[k].count, p->classes.data[k].text);
  bool ok =
      !arena.failed && files_write(path_in(p, "state", &arena), out.bytes, out.length, &error);
  arena_free(&arena);
  return ok;
}

static struct fuzz_class *find_class(const struct fuzz_corpus *p, struct nvm_text text) {
  for (uint32_t k = 0; k < p->classes.count; k++) {
    struct fuzz_class *c = &p->classes.data[k];
    if (c->text.length == text.length && memcmp(c->text.bytes, text.bytes, text.length) == 0)
      return c;
  }
  return NULL;
}

uint64_t fuzz_seen_class(const struct fuzz_corpus *p, struct nvm_text text) {
  const struct fuzz_class *c = find_class(p, text);
  return c ? c->count : 0;
}

bool fuzz_count_class(struct fuzz_corpus *p, struct nvm_text text) {
  struct fuzz_class *c = find_class(p, text);
  if (c) c->count++;
  if (c) return false;
  struct nvm_text copy = {arena_copy(p->arena, text.bytes, text.length), text.length};
  VEC_PUSH(p->arena, &p->classes, ((struct fuzz_class){copy, 1}));
  return true;
}

/* ---- One finding ---- */

/* Where a finding is written. */
struct finding {
  const struct fuzz_setup *s;
  struct fuzz_case *c;
  const char *folder, *extension;
};

static const char *name_in(const struct finding *f, const char *stem, const char *extension) {
  struct textbuf out;
  textbuf_init(&out, f->c->arena);
  textbuf_format(&out, "%s/%s%s", f->folder, stem, extension);
  return arena_copy(f->c->arena, out.bytes, out.length);
}

static void quote(struct textbuf *out, struct nvm_text text) {
  textbuf_char(out, '\'');
  for (size_t k = 0; k < text.length; k++)
    if (text.bytes[k] == '\'') textbuf_puts(out, "'\\''");
    else textbuf_char(out, text.bytes[k]);
  textbuf_char(out, '\'');
}

/* A script that succeeds where a kernel has a finding of the class. */
static const char *write_test(const struct finding *f, struct nvm_text class) {
  struct textbuf out;
  struct file_error error;
  const char *path = name_in(f, "test", ".sh");
  textbuf_init(&out, f->c->arena);
  textbuf_puts(&out, "#!/bin/sh\n# Succeeds where the kernel has a finding of this class.\nexec ");
  quote(&out, text_of(f->s->self));
  textbuf_puts(&out, " fuzz");
  for (uint32_t k = 0; k < f->s->count; k++) {
    textbuf_puts(&out, " --compiler ");
    quote(&out, text_of(f->s->compilers[k].command));
  }
  textbuf_format(&out, " --time-limit %u --class ", f->s->seconds);
  quote(&out, class);
  textbuf_puts(&out, " --replay \"$1\"\n");
  if (files_write(path, out.bytes, out.length, &error)) chmod(path, 0755);
  return path;
}

/* Reduces the kernel. False if that failed, or takes longer than limited. */
static bool reduce(const struct finding *f, const char *kernel, const char *test, const char *to) {
  const char *jobs = f->s->options->values[OPTION_JOBS];
  const char *words[] = {f->s->self, "reduce", kernel, "--test",          test,
                         "-o",       to,       "-j",   jobs ? jobs : "1", NULL};
  enum { SECONDS = 1800 };
  struct fuzz_process p = fuzz_run(words, SECONDS, f->c->arena);
  return p.end == FUZZ_EXITED && p.code == EXIT_DONE;
}

static void write_results(const struct finding *f, const struct fuzz_verdict *v,
                          struct textbuf *out) {
  static const char *const kinds[] = {"ran",     "ran with a finding", "made no PTX", "refused",
                                      "crashed", "did not end"};
  for (uint32_t k = 0; k < f->s->count + f->c->is_ir; k++) {
    const struct fuzz_result *r = &f->c->results[k];
    textbuf_format(out, "%s %s: %s%s%t\n", v->differs[k] ? "-" : "+",
                   k < f->s->count ? f->s->compilers[k].name : "the IR as written", kinds[r->kind],
                   r->message.length ? ": " : "", r->message);
    if (v->differs[k] && r->kind <= FUZZ_FOUND)
      fuzz_print_difference(out, f->c, f->c->results[v->right].output, r->output);
    if (r->kind > FUZZ_FOUND || k == f->s->count) continue;
    struct textbuf ptx;
    struct file_bytes file;
    struct file_error error;
    textbuf_init(&ptx, f->c->arena);
    textbuf_format(&ptx, "%s/%u.ptx", f->s->folder, k);
    if (!files_read(arena_copy(f->c->arena, ptx.bytes, ptx.length), &file, &error)) continue;
    files_write(name_in(f, f->s->compilers[k].name, ".ptx"), file.bytes, file.length, &error);
    files_free(&file);
  }
}

static void write_report(const struct finding *f, const struct fuzz_corpus *p,
                         const struct fuzz_verdict *v, struct nvm_text pass, bool reduced) {
  struct textbuf out;
  struct file_error error;
  textbuf_init(&out, f->c->arena);
  textbuf_format(&out, "class: %t\nseed: %U\n", v->kind, p->next_seed);
  if (pass.length) textbuf_format(&out, "bisected: %t\n", pass);
  textbuf_format(&out, "%s\n",
                 reduced ? "reduced: reduced.* is the smallest kernel found" : "reduced: not");
  for (uint32_t k = 0; k < f->s->count; k++)
    textbuf_format(&out, "compiler %s: %s\n", f->s->compilers[k].name, f->s->compilers[k].command);
  textbuf_puts(&out, "results (+ right, - not):\n");
  write_results(f, v, &out);
  files_write(name_in(f, "report", ".txt"), out.bytes, out.length, &error);
}

void fuzz_keep(const struct fuzz_setup *s, struct fuzz_corpus *p, struct fuzz_case *c,
               const struct fuzz_verdict *v, struct nvm_text pass) {
  struct textbuf out;
  struct file_error error;
  const char *dot = strrchr(c->path, '.');
  textbuf_init(&out, c->arena);
  textbuf_format(&out, "%s/%U", p->folder, ++p->kept);
  struct finding f = {s, c, arena_copy(c->arena, out.bytes, out.length), dot ? dot : ""};
  if (mkdir(f.folder, 0777) != 0 && errno != EEXIST) return;
  const char *kernel = name_in(&f, "kernel", f.extension);
  const char *small = name_in(&f, "reduced", f.extension);
  files_write(kernel, c->text.bytes, c->text.length, &error);
  const char *test = write_test(&f, v->kind);
  bool reduced = c->is_ir && reduce(&f, kernel, test, small);
  struct fuzz_verdict again = *v;
  if (reduced) {
    c->path = small;
    if (fuzz_read_case(c)) fuzz_try_all(s, c);
    again = fuzz_vote(s, c);
  }
  write_report(&f, p, &again, pass, reduced);
  progress_hide();
  printf("%.*s%s%.*s: %s\n", (int)v->kind.length, v->kind.bytes, pass.length ? ", " : "",
         (int)pass.length, pass.bytes, f.folder);
  fflush(stdout);
}
