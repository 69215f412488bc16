/* nvmini run: executes a kernel in the simulator, on arguments from the command line.
 *
 * A FILE of IR is compiled first. Without --kernel and --arg, options on lines of FILE with
 * `nvmini-run:` precede those of the command line, so that `nvmini run FILE` suffices. */
#include <stdlib.h>
#include <string.h>

#include "api/module.h"
#include "driver/commands.h"
#include "driver/explain/explain.h"
#include "driver/run.h"
#include "driver/files.h"
#include "driver/progress.h"
#include "driver/render.h"
#include "driver/run_gpu.h"
#include "nvmini.h"
#include "ptx/parse.h"
#include "sim/outcome.h"
#include "support/number.h"
#include "target/reflect.h"

enum { MAX_WORDS = 256 };

static int refuse(const struct run *r, const char *message) {
  progress_hide();
  fprintf(stderr, "nvmini: error: %s: %s\n", r->path, message);
  return EXIT_REFUSED;
}

/* ---- the command in the file ---- */

/* Appends the words that follow the mark, on each line that has it. */
static int header_words(struct run *r, char **words, int count) {
  static const char mark[] = "nvmini-run:";
  for (const char *line = strstr(r->file.bytes, mark); line; line = strstr(line, mark)) {
    line += sizeof mark - 1;
    char *text = arena_copy(&r->arena, line, strcspn(line, "\r\n"));
    for (char *word = text ? strtok(text, " \t") : NULL; word && count < MAX_WORDS;
         word = strtok(NULL, " \t"))
      words[count++] = word;
  }
  return count;
}

/* The options of the file followed by those of the command line; NULL after an error message. */
static const struct options *own_options(struct run *r, const struct options *o) {
  if (o->values[OPTION_KERNEL] || o->values[OPTION_ARG]) return o;
  char **words = arena_alloc(&r->arena, MAX_WORDS * sizeof *words);
  struct options *own = arena_alloc(&r->arena, sizeof *own);
  if (!words || !own) return o;
  words[0] = (char *)(uintptr_t) "nvmini";
  words[1] = (char *)(uintptr_t) "run";
  words[2] = (char *)(uintptr_t)r->path;
  int count = header_words(r, words, 3);
  if (count == 3) return o;
  if (options_parse(own, count, words) != EXIT_DONE) return NULL;
  own->check = o->check;
  if (o->check && o->check(own) != EXIT_DONE) return NULL;
  if (native_resolve(own) != EXIT_DONE) return NULL;
  for (int i = 0; i < o->given_count; i++)
    if (!options_add(own, o->given[i])) return NULL;
  return own;
}

/* ---- loading ---- */

static bool runs_ir(const struct run *r) {
  return strcmp(options_value(r->options, OPTION_FROM), "ir") == 0;
}

static bool verifies_by_running(const struct run *r) {
  const char *how = r->options->values[OPTION_VERIFY_EACH];
  return how && strcmp(how, "run") == 0;
}

int run_parse_ir(struct run *r, const char *level) {
  r->render = render_start(false);
  r->context = nvmini_create(NULL, 0);
  if (!r->context) return refuse(r, "out of memory");
  nvmini_on_diagnostic(r->context, render_diagnostic, &r->render);
  if (verifies_by_running(r)) module_on_change(r->context, run_check_change, r);
  nvmini_set_option(r->context, level);
  if (!r->options->values[OPTION_CPU]) nvmini_set_option(r->context, "--cpu=sm_90a");
  nvmini_set_option(r->context, "-g"); /* for the findings' source lines */
  if (!runs_ir(r))
    nvmini_set_option(r->context, "-Werror=unknown-asm"); /* such PTX could not be parsed later */
  enum option_id failed;
  if (options_set_library(r->options, r->context, &failed) != NVMINI_OK) return EXIT_USAGE;
  enum nvmini_status s =
      nvmini_parse(r->context, r->file.bytes, r->file.length, r->path, &r->compiled);
  if (s != NVMINI_OK) return s == NVMINI_BUG ? EXIT_FAULT : EXIT_REFUSED;
  return jobs_link_libraries(r->options, r->context, r->compiled);
}

static int compile(struct run *r, struct nvmini_text *ptx) {
  int status = run_parse_ir(r, "-O0");
  if (status != EXIT_DONE) return status;
  enum nvmini_status s =
      runs_ir(r) ? nvmini_optimize(r->compiled) : nvmini_compile(r->compiled, ptx);
  return s == NVMINI_OK ? EXIT_DONE : s == NVMINI_BUG ? EXIT_FAULT : EXIT_REFUSED;
}

static int parse(struct run *r, struct nvm_text text) {
  struct ptx_parse_error error;
  memset(&r->module, 0, sizeof r->module);
  if (!strtab_init(&r->strings, &r->arena)) return refuse(r, "out of memory");
  r->module.arena = &r->arena;
  r->module.strings = &r->strings;
  enum nvm_status s = ptx_parse_module(text, &r->module, &error);
  if (s == NVM_OK) return EXIT_DONE;
  if (s != NVM_REFUSED) return refuse(r, "out of memory");
  fprintf(stderr, "%s:%u:%u: error: %.*s\n", r->path, error.line, error.column,
          (int)error.message.length, error.message.bytes);
  return EXIT_REFUSED;
}

/* ---- findings ---- */

static int text_length(const struct run *r, struct nvm_str s) {
  return (int)sim_text(r->sim, s).length;
}
static const char *text_bytes(const struct run *r, struct nvm_str s) {
  return sim_text(r->sim, s).bytes;
}

/* One line: the finding, its thread and its place. */
static void write_finding(const struct run *r, struct textbuf *b) {
  const struct sim_finding *f = sim_found(r->sim);
  textbuf_format(b, "%s: ", sim_finding_name(f->kind));
  if (f->has_thread)
    textbuf_format(b, "kernel %t, block (%u,%u,%u), thread (%u,%u,%u) ",
                   sim_text(r->sim, f->kernel), f->block[0], f->block[1], f->block[2], f->thread[0],
                   f->thread[1], f->thread[2]);
  textbuf_text(b, f->message);
  if (f->line == 0) return;
  textbuf_format(b, ", in %t, %sline %u", sim_text(r->sim, f->function),
                 r->compiled && !r->is_ir ? "PTX " : "", f->line);
  if (f->source_line) textbuf_format(b, ", %t:%u", sim_text(r->sim, f->source), f->source_line);
}

static int report(struct run *r) {
  struct textbuf b;
  textbuf_init(&b, &r->arena);
  write_finding(r, &b);
  fprintf(stderr, "nvmini: %.*s\n", (int)b.length, b.bytes);
  return EXIT_REFUSED;
}

/* ---- the launch ---- */

static bool refuse_value(const struct options *o, enum option_id id, const char *expected) {
  fprintf(stderr, "nvmini: error: option '%s': '%s' is not %s\n", options_name(id), o->values[id],
          expected);
  return false;
}

static bool parse_triple(const struct options *o, enum option_id id, uint32_t out[3]) {
  const char *text = options_value(o, id);
  uint64_t v;
  out[0] = out[1] = out[2] = 1;
  for (int k = 0; k < 3 && number_read(&text, 0x7fffffff, &v) && v != 0; k++) {
    out[k] = (uint32_t)v;
    if (*text == 0) return true;
    if (*text++ != ',') break;
  }
  return refuse_value(o, id, "one to three positive numbers, e.g. 4 or 4,2,1");
}

static bool parse_count(const struct options *o, enum option_id id, uint64_t *out) {
  return number_read_all(options_value(o, id), UINT64_MAX, out) || refuse_value(o, id, "a number");
}

static void print_trace(void *data, struct nvm_text line) {
  (void)data;
  fprintf(stderr, "%.*s\n", (int)line.length, line.bytes);
}

static bool watch(const struct options *o, struct sim_launch *l) {
  const char *stats = o->values[OPTION_STATS], *trace = o->values[OPTION_TRACE],
             *schedule = options_value(o, OPTION_SCHEDULE);
  uint64_t thread = 0;
  l->count = stats != NULL;
  if (stats && *stats && strcmp(stats, "text") != 0 && strcmp(stats, "json") != 0)
    return refuse_value(o, OPTION_STATS, "text or json");
  l->trace = trace ? print_trace : NULL;
  if (trace && *trace &&
      !(number_read(&trace, UINT64_MAX, &l->trace_block) && *trace++ == ',' &&
        number_read_all(trace, UINT32_MAX, &thread)))
    return refuse_value(o, OPTION_TRACE, "BLOCK,THREAD (two numbers)");
  l->trace_thread = (uint32_t)thread;
  l->random_schedule = strcmp(schedule, "fixed") != 0;
  if (!l->random_schedule) return true;
  const char *seed = strncmp(schedule, "random:", 7) == 0 ? schedule + 7 : "";
  return number_read_all(seed, UINT64_MAX, &l->seed) ||
         refuse_value(o, OPTION_SCHEDULE, "fixed or random:SEED");
}

static int choose_kernel(struct run *r) {
  const char *name = r->options->values[OPTION_KERNEL];
  if (name) {
    r->kernel = sim_kernel(r->sim, text_of(name));
    if (r->kernel) return EXIT_DONE;
    fprintf(stderr, "nvmini: error: %s: unknown kernel '%s'", r->path, name);
  } else {
    r->kernel = sim_kernel_at(r->sim, 0);
    if (r->kernel && !sim_kernel_at(r->sim, 1)) return EXIT_DONE;
    fprintf(stderr, "nvmini: error: %s: %s", r->path,
            r->kernel ? "several kernels; choose one with --kernel" : "no kernel in this module");
  }
  const char *separator = "; available: ";
  for (uint32_t i = 0; sim_kernel_at(r->sim, i); i++, separator = ", ") {
    struct nvm_str k = sim_kernel_at(r->sim, i)->name;
    fprintf(stderr, "%s%.*s", separator, text_length(r, k), text_bytes(r, k));
  }
  fputc('\n', stderr);
  return EXIT_REFUSED;
}

static int read_arguments(struct run *r) {
  for (int i = 0; i < r->options->given_count; i++) {
    if (r->options->given[i].id != OPTION_ARG) continue;
    struct run_argument *a = &r->arguments[r->argument_count++];
    if (!run_parse_argument(r->options->given[i].value, &r->arena, a)) return EXIT_REFUSED;
    if (!a->is_buffer) continue;
    uint64_t bytes = a->count * a->type.bytes;
    a->address = sim_allocate(r->sim, bytes, true);
    if (!a->address) return refuse(r, "out of memory");
    memcpy(sim_memory(r->sim, a->address, bytes), a->bytes, bytes);
  }
  return EXIT_DONE;
}

/* The number of blocks or threads, or UINT64_MAX. */
static uint64_t size_of(const uint32_t extents[3]) {
  uint64_t plane = (uint64_t)extents[0] * extents[1];
  return extents[2] && plane > UINT64_MAX / extents[2] ? UINT64_MAX : plane * extents[2];
}

static bool is_traced_thread_launched(const struct run *r) {
  const struct sim_launch *l = &r->launch;
  uint64_t blocks = size_of(l->grid), threads = size_of(l->block);
  if (!r->options->values[OPTION_TRACE]) return true;
  if (l->trace_block < blocks && l->trace_thread < threads) return true;
  fprintf(stderr,
          "nvmini: error: option '--trace': thread %u of block %llu is not launched; the grid has "
          "%llu block%s of %llu thread%s\n",
          (unsigned)l->trace_thread, (unsigned long long)l->trace_block, (unsigned long long)blocks,
          blocks == 1 ? "" : "s", (unsigned long long)threads, threads == 1 ? "" : "s");
  return false;
}

static bool read_launch(struct run *r) {
  const struct options *o = r->options;
  struct sim_launch *l = &r->launch;
  const char *tolerance = options_value(o, OPTION_TOLERANCE);
  char *end = NULL;
  r->tolerance = strtod(tolerance, &end);
  if (end == tolerance || *end || !(r->tolerance >= 0))
    return refuse_value(o, OPTION_TOLERANCE, "a non-negative number");
  l->check_uninitialized = l->check_races = l->check_division = !o->values[OPTION_NO_CHECKS];
  return parse_triple(o, OPTION_GRID, l->grid) && parse_triple(o, OPTION_BLOCK, l->block) &&
         (!o->values[OPTION_CLUSTER] || parse_triple(o, OPTION_CLUSTER, l->cluster)) &&
         parse_count(o, OPTION_SHARED, &l->shared_bytes) &&
         parse_count(o, OPTION_STACK, &l->stack_bytes) &&
         parse_count(o, OPTION_STEP_LIMIT, &l->step_limit) && watch(o, l) &&
         is_traced_thread_launched(r);
}

static int prepare(struct run *r) {
  struct sim_launch *l = &r->launch;
  if (!read_launch(r)) return EXIT_USAGE;
  int status = read_arguments(r);
  if (status != EXIT_DONE) return status;
  const void **values = arena_alloc(&r->arena, (r->argument_count + 1) * sizeof *values);
  uint64_t *sizes = arena_alloc(&r->arena, (r->argument_count + 1) * sizeof *sizes);
  uint8_t *addresses = arena_alloc(&r->arena, (r->argument_count + 1) * 8);
  if (!values || !sizes || !addresses) return refuse(r, "out of memory");
  for (uint32_t i = 0; i < r->argument_count; i++) {
    const struct run_argument *a = &r->arguments[i];
    for (int k = 0; k < 8; k++) addresses[8 * i + k] = (uint8_t)(a->address >> (8 * k));
    values[i] = a->is_buffer ? addresses + 8 * i : a->bytes;
    sizes[i] = a->is_buffer ? 8 : a->count * a->type.bytes;
  }
  l->kernel = sim_text(r->sim, r->kernel->name);
  l->arguments = values;
  l->argument_bytes = sizes;
  l->argument_count = r->argument_count;
  return EXIT_DONE;
}

/* ---- results ---- */

/* Parses the index `N`; *rest: the text after it. NULL after an error message. */
static const struct run_argument *buffer_of(const struct run *r, const char *text,
                                            const char **rest) {
  uint64_t n;
  *rest = text;
  if (number_read(rest, UINT64_MAX, &n) && n < r->argument_count && r->arguments[n].is_buffer)
    return &r->arguments[n];
  fprintf(stderr,
          "nvmini: error: '%s' does not start with the index of a buffer argument (from 0)\n",
          text);
  return NULL;
}

static int print_result(struct run *r, const char *text) {
  const char *rest;
  const struct run_argument *a = buffer_of(r, text, &rest);
  if (!a) return EXIT_USAGE;
  uint64_t first = 0, last = a->count;
  bool right = *rest == 0;
  if (*rest++ == '[') {
    right = number_read(&rest, UINT64_MAX - 1, &first);
    last = first + 1;
    if (right && *rest == ':') rest++, right = number_read(&rest, UINT64_MAX, &last);
    right = right && strcmp(rest, "]") == 0 && first <= last;
  }
  if (!right) {
    fprintf(stderr, "nvmini: error: option '--print': '%s' is not N, N[I] or N[I:J]\n", text);
    return EXIT_USAGE;
  }
  struct textbuf b;
  textbuf_init(&b, &r->arena);
  run_print_elements(&b, a, sim_memory(r->sim, a->address, a->count * a->type.bytes), first, last);
  fwrite(b.bytes, 1, b.length, stdout);
  return EXIT_DONE;
}

static int use_result(struct run *r, enum option_id id, const char *text) {
  const char *rest;
  if (id == OPTION_PRINT) return print_result(r, text);
  const struct run_argument *a = buffer_of(r, text, &rest);
  if (!a) return EXIT_USAGE;
  if (*rest != ':') {
    fprintf(stderr, "nvmini: error: '%s' is not N:FILE\n", text);
    return EXIT_USAGE;
  }
  const uint8_t *bytes = sim_memory(r->sim, a->address, a->count * a->type.bytes);
  bool ok = id == OPTION_SAVE ? run_save(rest + 1, a, bytes)
                              : run_compare_file(rest + 1, a, bytes, r->tolerance, &r->arena);
  return ok ? EXIT_DONE : EXIT_REFUSED;
}

static int use_results(struct run *r) {
  int status = EXIT_DONE;
  for (int i = 0; i < r->options->given_count; i++) {
    enum option_id id = r->options->given[i].id;
    if (id != OPTION_PRINT && id != OPTION_SAVE && id != OPTION_EXPECT) continue;
    int this = use_result(r, id, r->options->given[i].value);
    if (this > status) status = this;
  }
  return status;
}

static void print_counts(struct run *r) {
  struct textbuf b;
  textbuf_init(&b, &r->arena);
  sim_print_counts(sim_counted(r->sim), strcmp(r->options->values[OPTION_STATS], "json") == 0, &b);
  fwrite(b.bytes, 1, b.length, stdout);
}

/* ---- --verify-each=run ---- */

static bool add_outcome(struct run *r, const struct nvm_function *f) {
  struct sim_outcome *o = &r->outcomes[r->outcome_count++];
  struct sim_argument *arguments = arena_alloc(&r->arena, OPTIONS_MAX_GIVEN * sizeof *arguments);
  *o = (struct sim_outcome){.arena = &r->arena, .launch = r->launch, .arguments = arguments};
  o->launch.kernel = module_text(f->module, f->symbol.name);
  for (int i = 0; arguments && i < r->options->given_count; i++) {
    struct run_argument a = {0};
    if (r->options->given[i].id != OPTION_ARG) continue;
    if (!run_parse_argument(r->options->given[i].value, &r->arena, &a)) return false;
    arguments[o->count++] = (struct sim_argument){a.bytes, a.count * a.type.bytes, a.is_buffer};
  }
  return arguments != NULL;
}

/* Before the first pass: adds the selected kernels. */
static bool add_outcomes(struct run *r, struct nvm_module *m) {
  const char *name = r->options->values[OPTION_KERNEL];
  r->outcomes = arena_alloc(&r->arena, m->functions.count * sizeof *r->outcomes);
  if (!r->outcomes || !read_launch(r)) return false;
  for (uint32_t i = 1; i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    bool asked =
        !name || strcmp(name, "*") == 0 || strcmp(name, module_text(m, f->symbol.name).bytes) == 0;
    if (function_is_kernel(f) && !function_is_declaration(f) && asked && !add_outcome(r, f))
      return false;
  }
  return true;
}

/* Whether a call of __nvvm_reflect is left, which has no body: the first pass folds them. */
static bool asks_reflect(const struct nvm_module *m) {
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i)
        if (function_inst(f, i)->op == OP_CALL &&
            reflect_is_callee(m, call_callee(f, function_inst(f, i))))
          return true;
  }
  return false;
}

enum nvm_status run_check_change(void *state, struct nvm_module *m, const char *pass,
                                 const struct nvm_function *f) {
  struct run *r = state;
  if (!pass && !add_outcomes(r, m)) return NVM_REFUSED;
  if (!r->has_outcomes && asks_reflect(m)) return NVM_OK;
  r->has_outcomes = true;
  for (uint32_t i = 0; i < r->outcome_count; i++) {
    struct sim_outcome *o = &r->outcomes[i];
    struct nvm_text name = module_text(m, f ? f->symbol.name : (struct nvm_str){0}),
                    own = o->launch.kernel;
    bool other = f && function_is_kernel(f) &&
                 (name.length != own.length || memcmp(name.bytes, own.bytes, own.length));
    if (other) continue; /* kernels are never called */
    enum nvm_status s = outcome_check(o, m);
    if (s == NVM_OK) continue;
    fprintf(stderr, "nvmini: error: %s: kernel %.*s ", r->path, (int)o->launch.kernel.length,
            o->launch.kernel.bytes);
    if (pass)
      fprintf(stderr, "after pass %s on %s ", pass,
              f ? module_text(m, f->symbol.name).bytes : "the module");
    fprintf(stderr, "%.*s\n", (int)o->message.length, o->message.bytes);
    return NVM_REFUSED;
  }
  return NVM_OK;
}

static bool on_gpu(const struct run *r) {
  return strcmp(options_value(r->options, OPTION_ON), "gpu") == 0;
}

static int compare_with_gpu(struct run *r) {
  const uint8_t **results = arena_alloc(&r->arena, (r->argument_count + 1) * sizeof *results);
  if (!results) return refuse(r, "out of memory");
  for (uint32_t i = 0; i < r->argument_count; i++) {
    const struct run_argument *a = &r->arguments[i];
    if (a->is_buffer) results[i] = sim_memory(r->sim, a->address, a->count * a->type.bytes);
  }
  bool same = gpu_compare(r->ptx, &r->launch, r->arguments, results, r->tolerance, &r->arena);
  return same ? EXIT_DONE : EXIT_REFUSED;
}

/* "k: 12 s, 340 million instructions, 28 million a second, block 30 of 90, 24 s left", for a launch
 * that is running; of a grid of one block without the end. */
static void put_progress(struct textbuf *line, uint64_t seconds, void *state) {
  const struct run *r = state;
  uint64_t millions = sim_counted(r->sim)->instructions / 1000000,
           ended = sim_blocks_ended(r->sim), blocks = size_of(r->launch.grid);
  textbuf_format(line, "%t: %U s, %U million instructions, %U million a second", r->launch.kernel,
                 seconds, millions, millions / seconds);
  if (blocks > 1) textbuf_format(line, ", block %U of %U", ended, blocks);
  if (ended > 0) textbuf_format(line, ", %U s left", (blocks - ended) * seconds / ended);
}

static enum nvm_status launch_with_progress(struct run *r) {
  progress_start(r->options);
  if (!r->launch.trace) progress_watch(put_progress, r);
  enum nvm_status s = sim_launch(r->sim, &r->launch);
  progress_clear();
  return s;
}

/* Runs r->kernel on fresh arguments. */
static int launch(struct run *r) {
  r->argument_count = 0;
  int status = prepare(r);
  if (status != EXIT_DONE) return status;
  enum nvm_status s = launch_with_progress(r);
  struct nvm_text printed = sim_output(r->sim);
  fwrite(printed.bytes, 1, printed.length, stdout);
  sim_output_taken(r->sim);
  if (s != NVM_OK) return s == NVM_REFUSED ? report(r) : refuse(r, "out of memory");
  if (r->options->values[OPTION_STATS]) print_counts(r);
  int used = use_results(r);
  return used == EXIT_DONE && on_gpu(r) ? compare_with_gpu(r) : used;
}

/* Executes the selected kernel; for `*`, all in order, each after a line with its name. */
static int execute(struct run *r) {
  if (on_gpu(r) && r->is_ir)
    return refuse(r, "option '--on gpu' cannot be combined with '--from ir': a GPU executes PTX");
  if (on_gpu(r) && r->options->values[OPTION_CLUSTER])
    return refuse(r, "option '--on gpu' cannot be combined with '--cluster'");
  if (on_gpu(r) && !gpu_open()) return EXIT_REFUSED;
  r->sim = sim_create(nvm_default_allocator, 0);
  if (!r->sim) return refuse(r, "out of memory");
  bool is_text = r->is_ir && module_is_text(r->compiled);
  struct nvm_text source = {r->file.bytes, is_text ? r->file.length : 0};
  enum nvm_status s = r->is_ir ? sim_load_ir(r->sim, module_of_handle(r->compiled), source)
                               : sim_load(r->sim, &r->module);
  if (s != NVM_OK) return s == NVM_REFUSED ? report(r) : refuse(r, "out of memory");
  const char *name = r->options->values[OPTION_KERNEL];
  if (!name || strcmp(name, "*") != 0) {
    int status = choose_kernel(r);
    return status == EXIT_DONE ? launch(r) : status;
  }
  int status = EXIT_DONE;
  for (uint32_t i = 0; (r->kernel = sim_kernel_at(r->sim, i)) != NULL; i++) {
    printf("%.*s:\n", text_length(r, r->kernel->name), text_bytes(r, r->kernel->name));
    int this = launch(r);
    fflush(stdout);
    if (this > status) status = this;
  }
  return status;
}

/* ---- nvmini explain ---- */

enum { MAX_TRACED_STEPS = 4000 };

/* Steps of the traced thread: `function:line  text`. */
static void take_trace(void *state, struct nvm_text line) {
  struct explain *e = state;
  const char *colon = memchr(line.bytes, ':', line.length);
  uint64_t number = 0;
  if (!colon || e->run.trace.count == MAX_TRACED_STEPS) return;
  const char *at = colon + 1;
  char *copy = arena_copy(&e->arena, line.bytes, line.length);
  if (!copy || !number_read(&at, UINT32_MAX, &number)) return;
  const char *end = line.bytes + line.length;
  while (at < end && *at == ' ') at++;
  struct explain_trace step = {(uint32_t)number, {copy + (at - line.bytes), (size_t)(end - at)}};
  (void)VEC_PUSH(&e->arena, &e->run.trace, step);
}

static bool is_launch_known(struct run *r, const struct options *o) {
  char *words[MAX_WORDS];
  return o->values[OPTION_KERNEL] || o->values[OPTION_ARG] || o->values[OPTION_GRID] ||
         o->values[OPTION_BLOCK] || header_words(r, words, 0) > 0;
}

static int profile(struct run *r, struct explain *e) {
  struct explain_run *out = &e->run;
  int status = parse(r, e->ptx);
  if (status != EXIT_DONE) return status;
  r->sim = sim_create(nvm_default_allocator, 0);
  if (!r->sim || sim_load(r->sim, &r->module) != NVM_OK) return refuse(r, "out of memory");
  if ((status = choose_kernel(r)) != EXIT_DONE || (status = prepare(r)) != EXIT_DONE) return status;
  size_t bytes = (e->ptx_lines + 1) * sizeof *out->lines;
  out->lines = arena_alloc(&e->arena, bytes);
  if (!out->lines) return refuse(r, "out of memory");
  memset(out->lines, 0, bytes);
  struct sim_launch *l = &r->launch;
  l->count = true;
  l->lines = out->lines;
  l->line_count = e->ptx_lines + 1;
  l->trace = take_trace;
  l->trace_data = e;
  struct textbuf finding, counts;
  textbuf_init(&finding, &e->arena);
  textbuf_init(&counts, &e->arena);
  if (sim_launch(r->sim, l) != NVM_OK) write_finding(r, &finding);
  sim_print_counts(sim_counted(r->sim), true, &counts);
  out->done = true;
  out->kernel =
      (struct nvm_text){arena_copy(&e->arena, l->kernel.bytes, l->kernel.length), l->kernel.length};
  out->finding = (struct nvm_text){finding.bytes, finding.length};
  out->counts = (struct nvm_text){counts.bytes, counts.length};
  memcpy(out->grid, l->grid, sizeof out->grid);
  memcpy(out->block, l->block, sizeof out->block);
  return e->arena.failed ? refuse(r, "out of memory") : EXIT_DONE;
}

int run_profile(const struct options *o, const char *path, struct nvmini_text source,
                struct explain *e) {
  struct run *r = calloc(1, sizeof *r);
  if (!r) return EXIT_REFUSED;
  r->path = path;
  r->file.bytes = (char *)(uintptr_t)source.bytes;
  r->file.length = source.length;
  arena_init(&r->arena, nvm_default_allocator);
  int status = EXIT_DONE;
  if (is_launch_known(r, o)) {
    r->options = own_options(r, o);
    status = r->options ? profile(r, e) : EXIT_USAGE;
  }
  sim_destroy(r->sim);
  arena_free(&r->arena);
  free(r);
  return status;
}

/* ---- nvmini bisect ---- */

bool run_is_launch_known(struct run *r) { return is_launch_known(r, r->options); }

/* The first buffer whose contents differ from those that the IR left; -1: none. */
static int64_t different_buffer(struct run *r, const struct sim_outcome *o) {
  for (uint32_t i = 0; i < r->argument_count; i++) {
    const struct run_argument *a = &r->arguments[i];
    if (a->is_buffer && memcmp(sim_memory(r->sim, a->address, o->left[i].length), o->left[i].bytes,
                               o->left[i].length) != 0)
      return i;
  }
  return -1;
}

static int check_kernel_of_ptx(struct run *r, const struct sim_outcome *o) {
  r->kernel = sim_kernel(r->sim, o->launch.kernel);
  r->argument_count = 0;
  int status = r->kernel ? prepare(r) : refuse(r, "the PTX lacks the kernel");
  if (status != EXIT_DONE) return status;
  enum nvm_status s = sim_launch(r->sim, &r->launch);
  struct nvm_text printed = sim_output(r->sim), before = o->left[o->count];
  bool same = printed.length == before.length &&
              (before.length == 0 || memcmp(printed.bytes, before.bytes, before.length) == 0);
  sim_output_taken(r->sim);
  if (s != NVM_OK) return s == NVM_REFUSED ? report(r) : refuse(r, "out of memory");
  int64_t buffer = different_buffer(r, o);
  if (same && buffer < 0) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: %s: kernel %.*s after code generation ", r->path,
          (int)o->launch.kernel.length, o->launch.kernel.bytes);
  if (buffer >= 0) fprintf(stderr, "leaves other values in argument %d\n", (int)buffer);
  else fputs("prints a different text\n", stderr);
  return EXIT_REFUSED;
}

int run_check_ptx(struct run *r, struct nvm_text ptx) {
  int status = parse(r, ptx);
  if (status != EXIT_DONE) return status;
  r->sim = sim_create(nvm_default_allocator, 0);
  if (!r->sim || sim_load(r->sim, &r->module) != NVM_OK) return refuse(r, "out of memory");
  for (uint32_t i = 0; i < r->outcome_count && status == EXIT_DONE; i++)
    status = check_kernel_of_ptx(r, &r->outcomes[i]);
  return status;
}

/* ---- the command ---- */

int run_start(struct run *r, const struct options *o) {
  struct file_error error;
  r->path = o->operands[0];
  arena_init(&r->arena, nvm_default_allocator);
  if (!files_read(r->path, &r->file, &error))
    return refuse(r, error.number ? strerror(error.number) : diag_message(error.id));
  r->options = own_options(r, o);
  return r->options ? EXIT_DONE : EXIT_USAGE;
}

void run_end(struct run *r) {
  sim_destroy(r->sim);
  nvmini_release(r->compiled);
  nvmini_destroy(r->context);
  files_free(&r->file);
  arena_free(&r->arena);
}

int run_command(const struct options *o) {
  struct run *r = calloc(1, sizeof *r);
  if (!r) return EXIT_REFUSED;
  int status = run_start(r, o);
  struct nvmini_text ptx = {r->file.bytes, r->file.length};
  if (status == EXIT_DONE && !files_is_ptx(&r->file)) {
    r->is_ir = runs_ir(r);
    progress_files(o);
    status = compile(r, &ptx);
    progress_clear();
  }
  r->ptx = ptx.bytes;
  if (status == EXIT_DONE && !r->is_ir) status = parse(r, (struct nvm_text){ptx.bytes, ptx.length});
  if (status == EXIT_DONE) status = execute(r);
  run_end(r);
  free(r);
  return status;
}
