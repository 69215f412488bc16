/* compile, check, print, link: a client of the public API. */
#include "driver/jobs.h"

#include "driver/cache_key.h"
#include "driver/commands.h"
#include "driver/cost/cost.h"
#include "driver/demands.h"
#include "driver/explain/explain.h"
#include "driver/outputs.h"
#include "driver/progress.h"
#include "ptx/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Linking ---- */

/* Reads one more module and links it, as a library or in full. */
static int link_file(struct nvmini_context *context, const struct render *render,
                     struct nvmini_module *into, const char *path, bool library) {
  struct file_bytes file = {0};
  struct file_error error;
  struct nvmini_module *other = NULL;
  const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
  if (!files_read(path, &file, &error)) return jobs_file_failed(render, shown, error);
  enum nvmini_status status = nvmini_parse(context, file.bytes, file.length, shown, &other);
  if (status == NVMINI_OK)
    status = library ? nvmini_link_library(into, other) : nvmini_link(into, other);
  nvmini_release(other);
  files_free(&file);
  return jobs_exit_status(status);
}

int jobs_link_libraries(const struct options *o, struct nvmini_context *context,
                        struct nvmini_module *module) {
  struct render render = render_start(false);
  int status = EXIT_DONE;
  for (int i = 0; status == EXIT_DONE && i < o->given_count; i++)
    if (o->given[i].id == OPTION_LINK)
      status = link_file(context, &render, module, o->given[i].value, true);
  return status;
}

/* ---- The commands ---- */

int jobs_check(const struct options *o) {
  struct job j;
  int status = jobs_start(&j, o);
  progress_files(o);
  for (int i = 0; status < EXIT_USAGE && i < o->operand_count; i++) {
    progress_file(i + 1);
    int this = jobs_load(&j, o->operands[i]);
    if (this == EXIT_DONE) this = jobs_exit_status(nvmini_check(j.module));
    if (this > status) status = this;
    jobs_unload(&j);
  }
  return jobs_end(&j, status);
}

/* Prints the loaded module: as IR, or its control flow graphs. */
static int print_module_as(struct job *j, bool graphs) {
  struct nvmini_text text;
  int status = jobs_exit_status(graphs ? nvmini_print_graphs(j->module, &text)
                                       : nvmini_print(j->module, &text));
  return status == EXIT_DONE ? jobs_save(j, text) : status;
}

int jobs_print(const struct options *o) {
  struct job j;
  int status = jobs_start(&j, o);
  if (status == EXIT_DONE) status = jobs_load(&j, o->operands[0]);
  if (status == EXIT_DONE) status = print_module_as(&j, false);
  return jobs_end(&j, status);
}

int jobs_link(const struct options *o) {
  struct job j;
  int status = jobs_start(&j, o);
  progress_files(o);
  if (status == EXIT_DONE) status = jobs_load(&j, o->operands[0]);
  for (int i = 1; status == EXIT_DONE && i < o->operand_count; i++) {
    progress_file(i + 1);
    status = link_file(j.context, &j.render, j.module, o->operands[i], false);
  }
  if (status == EXIT_DONE) status = jobs_link_libraries(o, j.context, j.module);
  if (status == EXIT_DONE) status = jobs_exit_status(nvmini_check(j.module));
  if (status == EXIT_DONE) status = print_module_as(&j, false);
  return jobs_end(&j, status);
}

/* Without a CPU the module is printed as it was read. */
static int emit_ir(struct job *j, bool graphs) {
  int status = jobs_exit_status(j->has_cpu ? nvmini_optimize(j->module) : nvmini_check(j->module));
  return status == EXIT_DONE ? print_module_as(j, graphs) : status;
}

/* The functions with what an analysis knows of them; for `cfg`, drawings of them. */
static int emit_analysis(struct job *j, const char *name) {
  const char *only = j->options->values[OPTION_ONLY_FUNCTION];
  struct textbuf out;
  struct arena arena;
  int status = jobs_exit_status(j->has_cpu ? nvmini_optimize(j->module) : nvmini_check(j->module));
  if (status != EXIT_DONE) return status;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  struct nvm_module *m = module_of_handle(j->module);
  bool written = strcmp(name, "cfg") == 0 ? explain_write_svg(m, only, &out)
                                          : explain_write_analysis(m, name, only, &out);
  if (!written || arena.failed) status = jobs_exit_status(jobs_no_memory());
  else if (only && out.length == 0) {
    jobs_report(&j->render, DIAG_UNKNOWN_FUNCTION, j->shown,
                (struct nvmini_text){only, strlen(only)});
    status = EXIT_REFUSED;
  } else status = jobs_save(j, (struct nvmini_text){out.bytes ? out.bytes : "", out.length});
  arena_free(&arena);
  return status;
}

static bool spill_ptx(void *state, const struct nvm_text *pieces, uint32_t count) {
  return files_spill_write(state, pieces, count);
}

/* Compiles and saves; of large PTX only a part is in memory at a time. */
static int emit_spilled(struct job *j, const char *path) {
  struct file_text text;
  struct file_spill spill;
  files_spill_start(&spill, path);
  int status = jobs_exit_status(
      module_compile_pieces(j->module, spill_ptx, &spill, &text.pieces, &text.count));
  text.spill = &spill;
  if (status == EXIT_DONE) status = jobs_save_text(j, &text);
  files_spill_end(&spill);
  return status;
}

static int emit_ptx(struct job *j) {
  if (!j->folder) return emit_spilled(j, options_value(j->options, OPTION_OUTPUT));
  char *path = outputs_path(j->options, j->path);
  int status = path ? emit_spilled(j, path) : jobs_exit_status(jobs_no_memory());
  free(path);
  return status;
}

/* The vectorizer's plans in order. */
struct plans {
  char *bytes;
  size_t length;
  bool failed;
};

static void collect_plan(void *user, struct nvmini_text text) {
  struct plans *p = user;
  char *grown = realloc(p->bytes, p->length + text.length);
  p->failed |= grown == NULL;
  if (grown == NULL) return;
  memcpy(grown + p->length, text.bytes, text.length);
  p->bytes = grown;
  p->length += text.length;
}

static int emit_plans(struct job *j, bool graphs) {
  struct plans p = {NULL, 0, false};
  nvmini_on_plan(j->context, collect_plan, &p, graphs);
  int status = jobs_exit_status(nvmini_optimize(j->module));
  if (status == EXIT_DONE)
    status = p.failed ? EXIT_REFUSED
                      : jobs_save(j, (struct nvmini_text){p.bytes ? p.bytes : "", p.length});
  free(p.bytes);
  return status;
}

/* The remarks of this module. */
static int emit_remarks(struct job *j) {
  size_t before = j->remarks->text.length;
  int status = jobs_exit_status(nvmini_optimize(j->module));
  struct nvmini_text text = jobs_remarks_text(j->remarks);
  text.bytes += before;
  text.length -= before;
  return status == EXIT_DONE ? jobs_save(j, text) : status;
}

/* The kind of output: with --stop-after, the IR unless --emit names another one. */
static const char *emitted(const struct options *o) {
  bool stops = o->values[OPTION_STOP_AFTER] && !o->values[OPTION_EMIT];
  return stops ? "ir" : options_value(o, OPTION_EMIT);
}

/* `--emit ir`, `cfg` and analyses without passes print the module as it is; others need a CPU. */
static bool needs_cpu(const struct options *o) {
  static const enum option_id optimizing[] = {OPTION_O1,     OPTION_O2,        OPTION_O3,
                                              OPTION_OS,     OPTION_OZ,        OPTION_OFC,
                                              OPTION_PASSES, OPTION_STOP_AFTER};
  const char *emit = emitted(o);
  for (size_t k = 0; k < sizeof optimizing / sizeof *optimizing; k++)
    if (o->values[optimizing[k]] != NULL) return true;
  return strcmp(emit, "ir") != 0 && strcmp(emit, "cfg") != 0 && !explain_is_analysis(emit);
}

/* Without --cpu, the CPU that the module names. */
static int choose_cpu(struct job *j) {
  j->has_cpu = j->options->values[OPTION_CPU] != NULL;
  if (j->has_cpu || !needs_cpu(j->options)) return EXIT_DONE;
  char text[64];
  struct demands_cpu named = demands_cpu(j->module);
  if (named.cpu.length == 0) {
    fputs("nvmini: error: `compile` needs --cpu, e.g. --cpu sm_90a (see `nvmini targets`)\n",
          stderr);
    return EXIT_USAGE;
  }
  if (named.other.length > 0) {
    int length = snprintf(text, sizeof text, "%.*s and %.*s", (int)named.cpu.length,
                          named.cpu.bytes, (int)named.other.length, named.other.bytes);
    jobs_report(&j->render, DIAG_MODULE_CPUS, j->shown, (struct nvmini_text){text, (size_t)length});
    return EXIT_REFUSED;
  }
  snprintf(text, sizeof text, "--cpu=%.*s", (int)named.cpu.length, named.cpu.bytes);
  j->has_cpu = true;
  int status = jobs_exit_status(nvmini_set_option(j->context, text));
  if (status == EXIT_DONE) jobs_report(&j->render, DIAG_MODULE_CPU, j->shown, named.cpu);
  return status;
}

/* Whether the output is named as a drawing. */
static bool wants_svg(const struct options *o) {
  const char *path = options_value(o, OPTION_OUTPUT), *dot = strrchr(path, '.');
  return dot && strcmp(dot, ".svg") == 0;
}

static int emit(struct job *j) {
  const char *kind = emitted(j->options);
  if (strcmp(kind, "remarks") == 0) return emit_remarks(j);
  if (strncmp(kind, "vplan", 5) == 0) return emit_plans(j, kind[5] != '\0');
  if (strcmp(kind, "ptx") == 0) return emit_ptx(j);
  if (explain_is_analysis(kind) || (strcmp(kind, "cfg") == 0 && wants_svg(j->options)))
    return emit_analysis(j, kind);
  return emit_ir(j, strcmp(kind, "cfg") == 0);
}

/* Prints what each pass changes as --print-changed wants it, before the compilation proper: the
 * names that the recording gives to values would otherwise be in the output. */
static int print_changed(struct job *j) {
  const char *style = j->options->values[OPTION_CHANGES];
  if (!style || (*style && !j->has_cpu)) return EXIT_DONE;
  if (!*style) return jobs_exit_status(nvmini_set_option(j->context, "--print-changed"));
  explain_print_changed(j->options, j->shown, jobs_reread(j), explain_style(style));
  return EXIT_DONE;
}

static int compile_file(const struct options *o, struct remarks *remarks, const char *path) {
  struct job j;
  int status = jobs_start(&j, o);
  if (status != EXIT_DONE) return jobs_end(&j, status);
  j.remarks = remarks;
  j.folder = outputs_is_folder(o);
  remarks_of(remarks, j.context);
  status = jobs_load(&j, path);
  if (status == EXIT_DONE) status = choose_cpu(&j);
  if (status == EXIT_DONE) status = jobs_link_libraries(o, j.context, j.module);
  if (status == EXIT_DONE) status = stop_after_set(o, j.context, j.module);
  if (status == EXIT_DONE) status = print_changed(&j);
  if (status == EXIT_DONE) status = emit(&j);
  return jobs_end(&j, status);
}

/* Checks the value of --print-changed. */
static int check_style(const struct options *o) {
  const char *style = o->values[OPTION_CHANGES];
  if (!style || !*style || explain_style(style) != EXPLAIN_STYLES) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: option '--print-changed': '%s' is not diff, quiet or side\n",
          style);
  return EXIT_USAGE;
}

/* Compiles every input, even if some are refused. */
int jobs_compile(const struct options *o) {
  struct remarks remarks;
  if (o->values[OPTION_PRINT_CACHE_KEY] != NULL) return cache_key_print(o);
  int status = outputs_check(o);
  if (status == EXIT_DONE) status = check_style(o);
  if (status != EXIT_DONE) return status;
  status = remarks_start(&remarks, o);
  progress_files(o);
  for (int i = 0; status < EXIT_USAGE && i < o->operand_count; i++) {
    progress_file(i + 1);
    int this = compile_file(o, &remarks, o->operands[i]);
    if (this > status) status = this;
  }
  progress_clear();
  remarks_end(&remarks);
  return status;
}

/* ---- explain ---- */

/* The level as the user wrote it, without dashes. */
static const char *level_text(const struct options *o) {
  const char *level = "O3";
  for (int i = 0; i < o->given_count; i++) {
    enum option_id id = o->given[i].id;
    if (id >= OPTION_O0 && id <= OPTION_OZ) level = options_name(id) + 1;
    if (id == OPTION_OFC) level = "Ofc";
    if (id == OPTION_PASSES) return "passes";
  }
  return level;
}

/* Without a CPU of the command line or the module, the default of `run`. */
static int choose_cpu_or_default(struct job *j, struct nvm_text *name) {
  struct demands_cpu named = demands_cpu(j->module);
  const char *cpu = j->options->values[OPTION_CPU];
  *name = cpu ? text_of(cpu) : (struct nvm_text){named.cpu.bytes, named.cpu.length};
  if (cpu || name->length) return choose_cpu(j);
  *name = text_of("sm_90a");
  return jobs_exit_status(nvmini_set_option(j->context, "--cpu=sm_90a"));
}

/* Writes one page for each function, and index.html, into the folder. */
static int save_pages(struct job *j, struct explain *e, const char *folder) {
  if (!outputs_make_folder(j->options))
    return jobs_file_failed(&j->render, folder, (struct file_error){DIAG_FILE_UNWRITABLE, errno});
  int status = EXIT_DONE;
  for (uint32_t k = 0; k <= e->functions.count && status == EXIT_DONE; k++) {
    bool is_index = k == e->functions.count;
    if (!is_index && !e->functions.data[k].is_final) continue;
    struct textbuf out, path;
    struct arena arena;
    arena_init(&arena, nvm_default_allocator);
    textbuf_init(&out, &arena);
    textbuf_init(&path, &arena);
    textbuf_format(&path, "%s/%t", folder,
                   is_index ? text_of("index.html") : explain_page_name(e, k));
    textbuf_char(&path, '\0');
    if (is_index) explain_write_index(e, &out);
    else explain_write_page(e, k, &out);
    bool failed = e->arena.failed || arena.failed;
    status = failed ? jobs_exit_status(jobs_no_memory())
                    : jobs_save_bytes(j, path.bytes, (struct nvm_text){out.bytes, out.length});
    arena_free(&arena);
  }
  return status;
}

/* The history of the value, which may lack the % and the quotes that the texts have. */
static bool find_history(struct explain *e, const char *value, struct textbuf *out) {
  static const char *const forms[] = {"%%%t", "%%\"%t\""};
  struct nvm_text bare = text_of(value + (*value == '%'));
  bool quoted = bare.length > 2 && *bare.bytes == '"' && bare.bytes[bare.length - 1] == '"';
  if (quoted) bare.bytes++, bare.length -= 2;
  for (int k = 0; k < 2; k++) {
    struct textbuf name;
    textbuf_init(&name, &e->arena);
    textbuf_format(&name, forms[k], bare);
    if (explain_write_history(e, (struct nvm_text){name.bytes, name.length}, out)) return true;
  }
  return false;
}

static int print_history(struct job *j, struct explain *e) {
  const char *value = j->options->values[OPTION_WHY];
  struct textbuf out;
  textbuf_init(&out, &e->arena);
  if (!find_history(e, value, &out)) {
    fprintf(stderr, "nvmini: error: %s: no instruction is named '%%%s'\n", j->shown,
            value + (*value == '%'));
    return EXIT_REFUSED;
  }
  if (e->arena.failed) return jobs_exit_status(jobs_no_memory());
  return jobs_save(j, (struct nvmini_text){out.bytes, out.length});
}

enum { LARGE_PAGE = 20 << 20 };

static int save_explanation(struct job *j, struct explain *e) {
  const char *path = options_value(j->options, OPTION_OUTPUT);
  const char *format = options_value(j->options, OPTION_EXPLAIN_FORMAT);
  bool page = strcmp(format, "html") == 0;
  struct textbuf out;
  if (j->options->values[OPTION_WHY]) return print_history(j, e);
  if (outputs_is_folder(j->options)) return save_pages(j, e, path);
  textbuf_init(&out, &e->arena);
  if (page) explain_write_page(e, EXPLAIN_NONE, &out);
  else if (strcmp(format, "json") == 0) explain_write_json(e, EXPLAIN_NONE, &out);
  else explain_write_changes(e, explain_style(format), &out);
  if (e->arena.failed) return jobs_exit_status(jobs_no_memory());
  if (page && out.length > LARGE_PAGE)
    fprintf(stderr,
            "nvmini: note: the page has %zu MB; `-o FOLDER/` writes one page per function\n",
            out.length >> 20);
  return jobs_save_bytes(j, path, (struct nvm_text){out.bytes, out.length});
}

static int explain_job(struct job *j, struct explain *e) {
  e->input = text_of(j->shown);
  e->level = text_of(level_text(j->options));
  int status = choose_cpu_or_default(j, &e->cpu);
  if (status == EXIT_DONE) status = jobs_link_libraries(j->options, j->context, j->module);
  if (status == EXIT_DONE) status = jobs_exit_status(explain_compile(e));
  struct nvmini_text source = jobs_reread(j);
  if (module_is_text(j->module)) e->source = (struct nvm_text){source.bytes, source.length};
  if (status == EXIT_DONE) status = run_profile(j->options, j->path, source, e);
  return status == EXIT_DONE ? save_explanation(j, e) : status;
}

/* Only pages are several files. */
static int check_output(const struct options *o) {
  const char *why = o->values[OPTION_WHY], *format = options_value(o, OPTION_EXPLAIN_FORMAT);
  if (!outputs_is_folder(o) || (!why && strcmp(format, "html") == 0)) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: '%s' is a folder; '--%s%s' writes one file\n",
          o->values[OPTION_OUTPUT], why ? "why" : "format ", why ? "" : format);
  return EXIT_USAGE;
}

int jobs_explain(const struct options *o) {
  struct job j;
  struct explain e;
  struct explain_diagnostics diagnostics;
  int status = check_output(o);
  if (status != EXIT_DONE) return status;
  status = jobs_start(&j, o);
  progress_files(o);
  if (status != EXIT_DONE) return jobs_end(&j, status);
  explain_diagnostics_start(&diagnostics, j.context, render_diagnostic, &j.render);
  status = jobs_load(&j, o->operands[0]);
  if (status == EXIT_DONE) {
    bool started = explain_start(&e, j.context, j.module, &diagnostics);
    status = started ? explain_job(&j, &e) : jobs_exit_status(jobs_no_memory());
    explain_end(&e);
  }
  explain_diagnostics_end(&diagnostics, j.context);
  return jobs_end(&j, status);
}

/* ---- cost ---- */

/* The CPU of the command line, or the one that the PTX names. */
static int choose_cpu_of_ptx(struct job *j, const struct ptx_module *m) {
  char text[64];
  if (j->options->values[OPTION_CPU]) return EXIT_DONE;
  struct nvm_text cpu = strtab_text(m->strings, m->target);
  snprintf(text, sizeof text, "--cpu=%.*s", (int)cpu.length, cpu.bytes);
  return jobs_exit_status(nvmini_set_option(j->context, text));
}

static int report_cost(struct job *j, struct nvm_text ptx) {
  struct arena arena;
  struct strtab strings;
  struct ptx_parse_error error;
  struct nvm_target target;
  arena_init(&arena, nvm_default_allocator);
  struct ptx_module m = {.arena = &arena, .strings = &strings};
  bool ready = strtab_init(&strings, &arena);
  enum nvm_status parsed = ready ? ptx_parse_module(ptx, &m, &error) : NVM_OUT_OF_MEMORY;
  int status = parsed == NVM_OK ? EXIT_DONE : EXIT_REFUSED;
  if (parsed == NVM_REFUSED)
    fprintf(stderr, "%s:%u:%u: error: %.*s\n", j->shown, error.line, error.column,
            (int)error.message.length, error.message.bytes);
  else if (parsed != NVM_OK) status = jobs_exit_status(jobs_no_memory());
  if (status == EXIT_DONE) status = choose_cpu_of_ptx(j, &m);
  if (status == EXIT_DONE) status = jobs_exit_status(module_target(j->context, &target));
  if (status == EXIT_DONE) status = cost_report(j->options, j->shown, &m, &target);
  arena_free(&arena);
  return status;
}

static int compile_and_report_cost(struct job *j) {
  struct nvmini_text ptx;
  struct nvm_text cpu;
  int status = jobs_parse(j);
  if (status == EXIT_DONE) status = choose_cpu_or_default(j, &cpu);
  if (status == EXIT_DONE) status = jobs_link_libraries(j->options, j->context, j->module);
  if (status == EXIT_DONE) status = jobs_exit_status(nvmini_compile(j->module, &ptx));
  return status == EXIT_DONE ? report_cost(j, (struct nvm_text){ptx.bytes, ptx.length}) : status;
}

int jobs_cost(const struct options *o) {
  struct job j;
  int status = jobs_start(&j, o);
  if (status == EXIT_DONE) status = jobs_read(&j, o->operands[0]);
  if (status != EXIT_DONE) return jobs_end(&j, status);
  bool is_ptx = files_is_ptx(&j.file);
  status = is_ptx ? report_cost(&j, (struct nvm_text){j.file.bytes, j.file.length})
                  : compile_and_report_cost(&j);
  return jobs_end(&j, status);
}
