/* nvmini fuzz: looks for kernels that compilers do not agree on.
 *
 * A generator writes a kernel for each seed; each compiler makes PTX of it; the simulator executes
 * all PTX with its checks, and the IR as written where the kernel is IR. Those that differ from the
 * majority (vote.c) are findings, as are compilers that fail, hang or print garbage. The first of
 * each class is bisected by pass (culprit.c), reduced and kept (corpus.c), and the class is
 * extended by the pass; others of a class that is kept are counted. Stopped at any time, the search
 * goes on with the next seed. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "driver/fuzz/fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "driver/files.h"
#include "driver/progress.h"

enum { DEFAULT_SECONDS = 20, SAVE_EVERY = 16, BISECTED_OF_CLASS = 5 };

struct search {
  struct fuzz_setup setup;
  struct fuzz_corpus corpus;
  struct arena arena;                      /* of one kernel */
  uint64_t seed, kernels, findings, start; /* of this run; ms */
  const char *activity;                    /* beside trying kernels; NULL: none */
};

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- Kernels ---- */

/* The generator's command with {seed} replaced, or followed by the seed. */
static const char *generator_line(const char *command, uint64_t seed, struct arena *arena) {
  struct textbuf line;
  bool has_seed = strstr(command, "{seed}") != NULL;
  textbuf_init(&line, arena);
  for (const char *at = command; *at;) {
    bool is_seed = strncmp(at, "{seed}", 6) == 0;
    if (is_seed) textbuf_unsigned(&line, seed);
    else textbuf_char(&line, *at);
    at += is_seed ? 6 : 1;
  }
  if (!has_seed) textbuf_format(&line, " %U", seed);
  return arena_copy(arena, line.bytes, line.length);
}

/* Writes the kernel of a seed into the temporary folder; NULL after a message. */
static const char *generate(struct search *x) {
  const char *command = x->setup.options->values[OPTION_GENERATOR];
  struct textbuf text, path;
  struct file_error error;
  textbuf_init(&text, &x->arena);
  textbuf_init(&path, &x->arena);
  if (!command) fuzz_generate(&text, x->seed);
  else {
    const char *words[] = {"sh", "-c", generator_line(command, x->seed, &x->arena), NULL};
    struct fuzz_process p = fuzz_run(words, x->setup.seconds, &x->arena);
    if (fuzz_interrupted()) return NULL;
    if (p.end != FUZZ_EXITED || p.code != 0 || p.out.length == 0) {
      progress_hide();
      fprintf(stderr, "nvmini: error: the generator fails for seed %llu: %.*s\n",
              (unsigned long long)x->seed, (int)(p.err.length < 500 ? p.err.length : 500),
              p.err.bytes);
      return NULL;
    }
    textbuf_text(&text, p.out);
  }
  bool is_ir =
      text.length && (strstr(arena_copy(&x->arena, text.bytes, text.length), "define ") != NULL);
  textbuf_format(&path, "%s/kernel%s", x->setup.folder, is_ir ? ".ll" : ".cu");
  const char *name = arena_copy(&x->arena, path.bytes, path.length);
  if (name && files_write(name, text.bytes, text.length, &error)) return name;
  fprintf(stderr, "nvmini: error: %s: cannot write\n", x->setup.folder);
  return NULL;
}

/* ---- One kernel ---- */

/* Bisects, counts and, if it is the first of its class, keeps a finding. */
static void take_finding(struct search *x, struct fuzz_case *c, const struct fuzz_verdict *v) {
  struct fuzz_setup *s = &x->setup;
  struct textbuf class;
  uint32_t k = 0;
  x->findings++;
  x->corpus.findings++;
  bool many = fuzz_seen_class(&x->corpus, v->kind) >= BISECTED_OF_CLASS;
  bool is_new = fuzz_count_class(&x->corpus, v->kind);
  if (many || fuzz_interrupted()) return;
  while (k < s->count && !v->differs[k]) k++;
  x->activity = "bisecting";
  struct nvm_text pass = {"", 0};
  if (k < s->count && v->is_decided) pass = fuzz_find_pass(s, c, k, c->results[v->right].output);
  if (pass.length) {
    /* `pass 12: InstCombinePass on f` of another number and function is the same pass. */
    const char *colon = strstr(pass.bytes, ": ");
    const char *name = colon && colon < pass.bytes + pass.length ? colon + 2 : pass.bytes;
    size_t left = pass.length - (size_t)(name - pass.bytes), length = 0;
    while (length < left && memcmp(name + length, " on ", length + 4 <= left ? 4 : 1) != 0)
      length++;
    textbuf_init(&class, &x->arena);
    textbuf_format(&class, "%t, by %t", v->kind, ((struct nvm_text){name, length}));
    is_new = fuzz_count_class(&x->corpus, (struct nvm_text){class.bytes, class.length});
  }
  x->activity = "reducing";
  if (is_new) fuzz_keep(s, &x->corpus, c, v, pass);
  x->activity = NULL;
}

/* False if the kernel has to be tried again: the user interrupted. */
static bool try_kernel(struct search *x, const char *path) {
  struct fuzz_case *c = arena_alloc(&x->arena, sizeof *c);
  if (!c) return false;
  *c = (struct fuzz_case){.path = path, .arena = &x->arena};
  if (!fuzz_read_case(c)) return false;
  fuzz_try_all(&x->setup, c);
  if (fuzz_interrupted()) return false;
  x->corpus.kernels++;
  x->corpus.invalid += c->is_invalid;
  for (uint32_t k = 0; !c->is_invalid && k < x->setup.count; k++) {
    x->corpus.compilations++;
    x->corpus.executions += c->results[k].kind <= FUZZ_FOUND;
  }
  struct fuzz_verdict v = fuzz_vote(&x->setup, c);
  if (v.is_finding) take_finding(x, c, &v);
  return true;
}

/* ---- The search ---- */

static uint64_t number_of(const struct options *o, enum option_id id, uint64_t otherwise) {
  const char *text = o->values[id];
  return text ? strtoull(text, NULL, 10) : otherwise;
}

/* "34 s, 120 kernels, 3.5 a second, 2 findings, 1 classes; reducing seed 17" */
static void put_progress(struct textbuf *line, uint64_t seconds, void *state) {
  const struct search *x = state;
  uint64_t tenths = seconds ? x->kernels * 10 / seconds : 0;
  textbuf_format(line, "%U s, %U kernels, %U.%U a second, %U findings, %u classes", seconds,
                 x->kernels, tenths / 10, tenths % 10, x->findings, x->corpus.classes.count);
  if (x->activity) textbuf_format(line, "; %s seed %U", x->activity, x->seed);
}

static int search(struct search *x) {
  const struct options *o = x->setup.options;
  uint64_t count = number_of(o, OPTION_COUNT_OF_KERNELS, UINT64_MAX);
  uint64_t duration = number_of(o, OPTION_DURATION, UINT64_MAX / 2000) * 1000;
  int status = EXIT_DONE;
  x->start = now_ms();
  while (x->kernels < count && now_ms() - x->start < duration && !fuzz_interrupted()) {
    arena_reset(&x->arena);
    x->seed = x->corpus.next_seed;
    const char *path = generate(x);
    if (!path && !fuzz_interrupted()) status = EXIT_REFUSED;
    if (!path) break;
    if (!try_kernel(x, path)) break;
    x->corpus.next_seed++;
    if (++x->kernels % SAVE_EVERY == 0) fuzz_save_corpus(&x->corpus);
  }
  progress_clear();
  if (!fuzz_save_corpus(&x->corpus)) {
    fprintf(stderr, "nvmini: error: %s/state: cannot write\n", x->corpus.folder);
    return EXIT_REFUSED;
  }
  const struct fuzz_corpus *p = &x->corpus;
  printf(
      "%llu kernels, %llu findings; in all runs %llu kernels, %llu invalid, %llu compilations, "
      "%llu executions, %llu findings, %llu kept\n",
      (unsigned long long)x->kernels, (unsigned long long)x->findings,
      (unsigned long long)p->kernels, (unsigned long long)p->invalid,
      (unsigned long long)p->compilations, (unsigned long long)p->executions,
      (unsigned long long)p->findings, (unsigned long long)p->kept);
  return status != EXIT_DONE ? status : x->findings ? EXIT_REFUSED : EXIT_DONE;
}

/* ---- --replay ---- */

/* With --class: whether the kernel has a finding of that class; else the finding, printed. */
static int replay(struct search *x, const char *path) {
  const char *class = x->setup.options->values[OPTION_CLASS];
  struct fuzz_case *c = arena_alloc(&x->arena, sizeof *c);
  struct textbuf out;
  if (!c) return EXIT_REFUSED;
  *c = (struct fuzz_case){.path = path, .arena = &x->arena};
  if (!fuzz_read_case(c)) {
    fprintf(stderr, "nvmini: error: %s: cannot read\n", path);
    return EXIT_REFUSED;
  }
  fuzz_try_all(&x->setup, c);
  struct fuzz_verdict v = fuzz_vote(&x->setup, c);
  if (class) return v.is_finding && text_is(v.kind, class) ? EXIT_DONE : EXIT_REFUSED;
  textbuf_init(&out, &x->arena);
  if (c->is_invalid)
    textbuf_format(&out, "invalid: the IR as written: %t\n", c->results[x->setup.count].message);
  else if (!v.is_finding) textbuf_puts(&out, "all agree\n");
  else textbuf_format(&out, "%t\n", v.kind);
  for (uint32_t k = 0; k < x->setup.count; k++)
    if (v.differs[k] && c->results[k].kind <= FUZZ_FOUND)
      fuzz_print_difference(&out, c, c->results[v.right].output, c->results[k].output);
  fwrite(out.bytes, 1, out.length, stdout);
  return v.is_finding || c->is_invalid ? EXIT_REFUSED : EXIT_DONE;
}

/* ---- The command ---- */

/* The path of this program. */
static const char *own_path(struct arena *arena) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? arena_copy(arena, path, (size_t)length) : "nvmini";
}

/* Removes the temporary folder with what compilers left there. */
static void remove_files(const struct fuzz_setup *s) {
  char path[4096 + 300];
  DIR *folder = opendir(s->folder);
  for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "%s/%.255s", s->folder, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlink(path);
  }
  if (folder) closedir(folder);
  if (rmdir(s->folder) != 0)
    fprintf(stderr, "nvmini: note: temporary files remain in %s\n", s->folder);
}

static int start(struct search *x) {
  const struct options *o = x->setup.options;
  const char *file = o->values[OPTION_REPLAY], *to = o->values[OPTION_FINDINGS];
  if (file) return replay(x, file);
  x->corpus.folder = to ? to : "nvmini-findings";
  if (!fuzz_open_corpus(&x->corpus)) {
    fprintf(stderr, "nvmini: error: %s: cannot create\n", x->corpus.folder);
    return EXIT_REFUSED;
  }
  if (o->values[OPTION_SEED]) x->corpus.next_seed = number_of(o, OPTION_SEED, 0);
  progress_start(o);
  progress_watch(put_progress, x);
  return search(x);
}

int fuzz_command(const struct options *o) {
  struct arena arena;
  struct search x = {.setup = {.options = o, .arena = &arena}, .corpus = {.arena = &arena}};
  const char *temporary = getenv("TMPDIR");
  char folder[4096];
  arena_init(&arena, nvm_default_allocator);
  arena_init(&x.arena, nvm_default_allocator);
  x.setup.self = own_path(&arena);
  x.setup.seconds = (unsigned)number_of(o, OPTION_TIME_LIMIT, DEFAULT_SECONDS);
  x.setup.folder = folder;
  snprintf(folder, sizeof folder, "%s/nvmini-fuzz-XXXXXX",
           temporary && *temporary ? temporary : "/tmp");
  int status = fuzz_take_compilers(&x.setup);
  if (status == EXIT_DONE && !mkdtemp(folder)) {
    fprintf(stderr, "nvmini: error: %s: cannot create a temporary folder\n", folder);
    status = EXIT_REFUSED;
  } else if (status == EXIT_DONE) {
    fuzz_watch_interrupts();
    status = start(&x);
    remove_files(&x.setup);
  }
  arena_free(&x.arena);
  arena_free(&arena);
  return status;
}
