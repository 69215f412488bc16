/* The public C API over the library's parts: one context, its options, modules from memory.
 *
 * A context wraps the caller's allocator so that every byte is counted and the memory limit holds
 * for all arenas together. Each call that can report owns an arena for its diagnostics, which are
 * handed to the callback in the order in which they were found and are gone when the call returns;
 * what a call returns as text lives in the module's output arena until the next call. */
#include "nvmini.h"

#include "api/module.h"
#include "codegen/codegen.h"
#include "frontend/link.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "opt/scalar/expand_integers.h"
#include "opt/memory/expand_masked.h"
#include "opt/pass.h"
#include "opt/remark.h"
#include "support/lines.h"
#include "target/datalayout.h"
#include "target/options.h"
#include "target/triple.h"

#include <time.h>

enum { DEFAULT_ERROR_LIMIT = 20 };

enum phase { PHASE_PARSE, PHASE_VERIFY, PHASE_PASSES, PHASE_CODEGEN, PHASE_COUNT };

struct nvmini_context {
  struct nvm_allocator allocator; /* the caller's */
  size_t used_bytes, peak_bytes;
  size_t limit_bytes; /* 0: none */
  nvmini_report *report;
  void *user;
  nvmini_dump *dump;
  void *dump_user;
  nvmini_dump *plan;
  void *plan_user;
  int plan_graphs;
  nvmini_remark_report *remark;
  void *remark_user;
  struct tgt_options target;
  struct knobs knobs;
  const char *level;          /* a row of the pipelines: "0" … "3", "max", "mid", "min" */
  struct pass_options passes; /* texts in `strings`; no pipeline: the level's */
  bool statistics;
  uint64_t nanoseconds[PHASE_COUNT]; /* processor time; with passes.time_passes */
  struct arena strings;
  uint32_t error_limit;
  struct diag_policy warnings;
  bool verbose; /* --asm-verbose */
};

struct nvmini_module {
  struct nvmini_context *context;
  struct nvm_module *ir;
  struct nvmini_text source; /* borrowed from the caller */
  const char *name;          /* likewise */
  struct arena output;       /* of the text returned last */
};

/* ---- Memory ---- */

/* nvm_allocator.resize of a context: counts, and refuses what would exceed the limit. */
static void *counted_resize(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  struct nvmini_context *c = state;
  size_t others = c->used_bytes - old_bytes;
  if (new_bytes > old_bytes && c->limit_bytes != 0 &&
      (others > c->limit_bytes || new_bytes > c->limit_bytes - others))
    return NULL;
  void *result = c->allocator.resize(c->allocator.state, memory, old_bytes, new_bytes);
  if (result == NULL && new_bytes != 0) return NULL;
  c->used_bytes = others + new_bytes;
  if (c->used_bytes > c->peak_bytes) c->peak_bytes = c->used_bytes;
  return result;
}

static struct nvm_allocator counted(struct nvmini_context *c) {
  return (struct nvm_allocator){counted_resize, c};
}

struct nvmini_context *nvmini_create(const struct nvmini_allocator *allocator,
                                     size_t memory_limit) {
  struct nvm_allocator a = nvm_default_allocator;
  if (allocator != NULL) a = (struct nvm_allocator){allocator->resize, allocator->state};
  if (memory_limit != 0 && memory_limit < sizeof(struct nvmini_context)) return NULL;
  struct nvmini_context *c = a.resize(a.state, NULL, 0, sizeof *c);
  if (c == NULL) return NULL;
  *c = (struct nvmini_context){.allocator = a,
                               .used_bytes = sizeof *c,
                               .peak_bytes = sizeof *c,
                               .limit_bytes = memory_limit,
                               .target = tgt_default_options(),
                               .knobs = knobs_initial(),
                               .passes = {.bisect_limit = -1},
                               .error_limit = DEFAULT_ERROR_LIMIT};
  arena_init(&c->strings, counted(c));
  c->level = "3"; /* what the target's options begin with */
  return c;
}

void nvmini_destroy(struct nvmini_context *context) {
  if (context == NULL) return;
  struct nvm_allocator a = context->allocator;
  arena_free(&context->strings);
  a.resize(a.state, context, sizeof *context, 0);
}

void nvmini_on_dump(struct nvmini_context *context, nvmini_dump *dump, void *user) {
  context->dump = dump;
  context->dump_user = user;
}

void nvmini_on_plan(struct nvmini_context *context, nvmini_dump *plan, void *user, int graphs) {
  context->plan = plan;
  context->plan_user = user;
  context->plan_graphs = graphs;
}

void nvmini_on_remark(struct nvmini_context *context, nvmini_remark_report *remark, void *user) {
  context->remark = remark;
  context->remark_user = user;
}

void nvmini_on_diagnostic(struct nvmini_context *context, nvmini_report *report, void *user) {
  context->report = report;
  context->user = user;
}

size_t nvmini_memory_used(const struct nvmini_context *context) { return context->used_bytes; }
size_t nvmini_memory_peak(const struct nvmini_context *context) { return context->peak_bytes; }
const char *nvmini_version(void) { return NVMINI_VERSION; }

/* ---- Diagnostics ---- */

/* Line and column of a byte offset, remembering where the last question ended: diagnostics mostly
 * come in source order, so that the text is walked once. */
struct place {
  size_t at; /* offset of the start of `line` */
  uint32_t line;
};

static void locate(struct place *p, const struct nvmini_module *m, uint64_t position,
                   uint32_t *line, uint32_t *column) {
  size_t begin = position < m->source.length ? (size_t)position : m->source.length;
  if (begin < p->at) *p = (struct place){0, 1};
  const char *text = m->source.bytes;
  const char *newline;
  while (begin > p->at && (newline = memchr(text + p->at, '\n', begin - p->at)) != NULL) {
    p->at = (size_t)(newline - text) + 1;
    p->line++;
  }
  *line = p->line;
  *column = (uint32_t)(begin - p->at) + 1;
}

static struct nvmini_text public_text(struct nvm_text t) {
  return (struct nvmini_text){t.bytes, t.length};
}

static enum nvmini_severity public_severity(enum diag_severity s) {
  switch (s) {
    case DIAG_ERROR: return NVMINI_ERROR;
    case DIAG_WARNING: return NVMINI_WARNING;
    case DIAG_REMARK: return NVMINI_REMARK;
    case DIAG_NOTE: return NVMINI_NOTE;
  }
  return NVMINI_ERROR;
}

/* Hands one diagnostic to the callback; `m` may be NULL. */
static void deliver(struct nvmini_context *c, const struct nvmini_module *m, struct place *place,
                    const struct diag *d) {
  struct nvmini_diagnostic p = {.severity = public_severity(d->severity),
                                .id = diag_name(d->id),
                                .message = public_text(d->message),
                                .function = public_text(d->function),
                                .hint = public_text(d->hint)};
  if (m != NULL) {
    p.name = m->name;
    p.source = m->source;
    if (d->range.end > d->range.begin || d->range.begin > 0) {
      p.begin = d->range.begin;
      p.end = d->range.end;
      locate(place, m, p.begin, &p.line, &p.column);
    }
  }
  c->report(c->user, &p);
}

/* A diagnostic that needs no memory. */
static void deliver_fixed(struct nvmini_context *c, const struct nvmini_module *m, enum diag_id id,
                          const char *message) {
  if (c->report == NULL) return;
  struct place start = {0, 1};
  struct diag d = {.id = id, .severity = diag_severity(id), .message = text_of(message)};
  deliver(c, m, &start, &d);
}

/* Delivers what a call reported and turns its status into the public one. */
static enum nvmini_status finish(struct nvmini_context *c, const struct nvmini_module *m,
                                 struct arena *arena, const struct diag_sink *sink,
                                 enum nvm_status status) {
  struct place place = {0, 1};
  for (uint32_t i = 0; c->report != NULL && i < sink->list.count; i++)
    deliver(c, m, &place, &sink->list.data[i]);
  /* Whoever stopped at the limit itself did not report the error that makes the sink say so. */
  if (c->report != NULL && diag_full(sink) && sink->error_count == sink->error_limit)
    deliver_fixed(c, m, DIAG_TOO_MANY_ERRORS, diag_message(DIAG_TOO_MANY_ERRORS));
  bool out_of_memory = arena->failed || status == NVM_OUT_OF_MEMORY;
  uint32_t errors = sink->error_count;
  arena_free(arena);
  if (status == NVM_BUG) {
    if (errors == 0) deliver_fixed(c, m, DIAG_INTERNAL, diag_message(DIAG_INTERNAL));
    return NVMINI_BUG;
  }
  if (out_of_memory) {
    deliver_fixed(c, m, DIAG_OUT_OF_MEMORY, diag_message(DIAG_OUT_OF_MEMORY));
    return NVMINI_OUT_OF_MEMORY;
  }
  return errors > 0 || status == NVM_REFUSED ? NVMINI_REFUSED : NVMINI_OK;
}

/* As finish(), for a call about two modules: each diagnostic goes with the module it speaks of. */
static enum nvmini_status finish_link(struct nvmini_module *into, const struct nvmini_module *from,
                                      struct arena *arena, struct diag_sink *sink,
                                      enum nvm_status status) {
  struct place place = {0, 1};
  struct nvmini_context *c = into->context;
  for (uint32_t i = 0; c->report != NULL && i < sink->list.count; i++) {
    const struct diag *d = &sink->list.data[i];
    place = (struct place){0, 1};
    deliver(c, d->range.source == LINK_SOURCE_FROM ? from : into, &place, d);
  }
  sink->list.count = 0;
  return finish(c, into, arena, sink, status);
}

/* ---- Options ---- */

/* Reports a wrong option; `message` is complete. */
static enum nvmini_status bad_option(struct nvmini_context *c, const char *message) {
  deliver_fixed(c, NULL, DIAG_BAD_OPTION, message);
  return NVMINI_BAD_OPTION;
}

static enum nvmini_status target_status(struct nvmini_context *c, enum tgt_status status,
                                        const struct tgt_error *error) {
  if (status == TGT_OK) return NVMINI_OK;
  char message[256];
  tgt_describe_error(error, message, sizeof message);
  return bad_option(c, message);
}

/* Decimal digits into *number, at most `most`. */
static bool read_number(const char *value, uint32_t most, uint32_t *number) {
  uint64_t n = 0;
  if (*value == '\0') return false;
  for (; *value != '\0'; value++) {
    if (*value < '0' || *value > '9') return false;
    n = n * 10 + (uint64_t)(*value - '0');
    if (n > most) return false;
  }
  *number = (uint32_t)n;
  return true;
}

/* "option '--fma-level': '7' is not a number from 0 to 2" */
static enum nvmini_status bad_number(struct nvmini_context *c, const char *option,
                                     const char *value, uint32_t most) {
  struct arena arena;
  arena_init(&arena, counted(c));
  struct textbuf b;
  textbuf_init(&b, &arena);
  textbuf_format(&b, "option '%s': '%s' is not a number from 0 to %u%c", option, value, most, 0);
  enum nvmini_status status = bad_option(c, arena.failed ? "wrong number in an option" : b.bytes);
  arena_free(&arena);
  return status;
}

enum option {
  OPTION_CPU,
  OPTION_PTX,
  OPTION_FEATURES,
  OPTION_FTZ,
  OPTION_FMA_LEVEL,
  OPTION_PREC_DIV,
  OPTION_PREC_SQRT,
  OPTION_ERROR_LIMIT,
  OPTION_O0,
  OPTION_O1,
  OPTION_O2,
  OPTION_O3,
  OPTION_OFC,
  OPTION_PASSES,
  OPTION_VERIFY_EACH,
  OPTION_TIME_PASSES,
  OPTION_STATS,
  OPTION_PRINT_BEFORE,
  OPTION_PRINT_AFTER,
  OPTION_PRINT_CHANGED,
  OPTION_ONLY_FUNCTION,
  OPTION_BISECT,
  OPTION_KNOB,
  OPTION_VERBOSE,
  OPTION_WARNINGS_AS_ERRORS,
  OPTION_COUNT,
};

/* The long options; libNVVM's spellings are target/options.h's. */
static const struct {
  const char *name;
  bool has_value;
  const char *group; /* of a feature group with levels, else NULL */
  uint32_t most;     /* largest number */
} option_table[OPTION_COUNT] = {
    [OPTION_CPU] = {"--cpu", true, NULL, 0},
    [OPTION_PTX] = {"--ptx", true, NULL, 0},
    [OPTION_FEATURES] = {"--features", true, NULL, 0},
    [OPTION_FTZ] = {"--ftz", false, NULL, 0},
    [OPTION_FMA_LEVEL] = {"--fma-level", true, "fma-level", 2},
    [OPTION_PREC_DIV] = {"--prec-div", true, "prec-divf32", 3},
    [OPTION_PREC_SQRT] = {"--prec-sqrt", true, "prec-sqrtf32", 1},
    [OPTION_ERROR_LIMIT] = {"--error-limit", true, NULL, UINT32_MAX},
    [OPTION_O0] = {"-O0", false, NULL, 0},
    [OPTION_O1] = {"-O1", false, NULL, 0},
    [OPTION_O2] = {"-O2", false, NULL, 0},
    [OPTION_O3] = {"-O3", false, NULL, 0},
    [OPTION_OFC] = {"-Ofc", true, NULL, 0},
    [OPTION_TIME_PASSES] = {"--time-passes", false, NULL, 0},
    [OPTION_STATS] = {"--stats", false, NULL, 0},
    [OPTION_PASSES] = {"--passes", true, NULL, 0},
    [OPTION_VERIFY_EACH] = {"--verify-each", false, NULL, 0},
    [OPTION_PRINT_BEFORE] = {"--print-before", true, NULL, 0},
    [OPTION_PRINT_AFTER] = {"--print-after", true, NULL, 0},
    [OPTION_PRINT_CHANGED] = {"--print-changed", false, NULL, 0},
    [OPTION_ONLY_FUNCTION] = {"--only-function", true, NULL, 0},
    [OPTION_BISECT] = {"--opt-bisect-limit", true, NULL, INT32_MAX},
    [OPTION_KNOB] = {"--knob", true, NULL, 0},
    [OPTION_VERBOSE] = {"--asm-verbose", false, NULL, 0},
    [OPTION_WARNINGS_AS_ERRORS] = {"--warnings-as-errors", false, NULL, 0},
};

static enum nvmini_status set_target_option(struct nvmini_context *c, enum option o,
                                            const char *value) {
  struct tgt_error error;
  size_t length = strlen(value);
  enum tgt_status status = TGT_OK;
  if (o == OPTION_CPU) status = tgt_set_cpu(&c->target, value, length, &error);
  if (o == OPTION_PTX) status = tgt_set_ptx(&c->target, value, length, &error);
  if (o == OPTION_FEATURES) status = tgt_parse_features(&c->target, value, length, &error);
  return target_status(c, status, &error);
}

static enum nvmini_status set_group_option(struct nvmini_context *c, enum option o,
                                           const char *value) {
  uint32_t level;
  if (!read_number(value, option_table[o].most, &level))
    return bad_number(c, option_table[o].name, value, option_table[o].most);
  struct tgt_error error;
  return target_status(c, tgt_set_group(&c->target, option_table[o].group, level, &error), &error);
}

/* Options of the pass manager. */
static enum nvmini_status set_pass_option(struct nvmini_context *c, enum option o,
                                          const char *value) {
  uint32_t number;
  struct nvm_text text = {arena_copy(&c->strings, value, strlen(value)), strlen(value)};
  if (text.bytes == NULL) return NVMINI_OUT_OF_MEMORY;
  if (o == OPTION_PASSES) c->passes.pipeline = text;
  if (o == OPTION_PRINT_BEFORE) c->passes.print_before = text;
  if (o == OPTION_PRINT_AFTER) c->passes.print_after = text;
  if (o == OPTION_ONLY_FUNCTION) c->passes.only_function = text;
  if (o == OPTION_VERIFY_EACH) c->passes.verify_each = true;
  if (o == OPTION_VERIFY_EACH && *value && (strcmp(value, "run") != 0 || !c->passes.on_change))
    return bad_option(c, "only `nvmini run` takes a value here, --verify-each=run");
  if (o == OPTION_PRINT_CHANGED) c->passes.print_changed = true;
  if (o != OPTION_BISECT) return NVMINI_OK;
  if (!read_number(value, option_table[o].most, &number))
    return bad_number(c, option_table[o].name, value, option_table[o].most);
  c->passes.bisect_limit = number;
  return NVMINI_OK;
}

/* NAME=VALUE; what the target reads becomes a feature there. */
static enum nvmini_status set_knob(struct nvmini_context *c, const char *text) {
  struct arena arena;
  struct textbuf b;
  enum knob knob;
  arena_init(&arena, counted(c));
  textbuf_init(&b, &arena);
  enum nvm_status set = knobs_set(&c->knobs, text, &knob, &b);
  if (set == NVM_OK) tgt_set_knob(&c->target, knob, c->knobs.value[knob]);
  textbuf_char(&b, '\0');
  const char *message = arena.failed ? "wrong knob" : b.bytes;
  enum nvmini_status status = set == NVM_OK ? NVMINI_OK : bad_option(c, message);
  arena_free(&arena);
  return status;
}

/* A row of the pipelines, and how much code generation may do. */
static enum nvmini_status set_level(struct nvmini_context *c, const char *name, uint8_t level) {
  c->level = name;
  c->target.optimization_level = level;
  return NVMINI_OK;
}

static enum nvmini_status set_long_option(struct nvmini_context *c, enum option o,
                                          const char *value) {
  switch (o) {
    case OPTION_CPU:
    case OPTION_PTX:
    case OPTION_FEATURES: return set_target_option(c, o, value);
    case OPTION_FMA_LEVEL:
    case OPTION_PREC_DIV:
    case OPTION_PREC_SQRT: return set_group_option(c, o, value);
    case OPTION_KNOB: return set_knob(c, value);
    case OPTION_VERBOSE: c->verbose = true; return NVMINI_OK;
    case OPTION_WARNINGS_AS_ERRORS: c->warnings.errors = true; return NVMINI_OK;
    case OPTION_FTZ: c->target.ftz = true; return NVMINI_OK;
    case OPTION_O0:
    case OPTION_O1:
    case OPTION_O2:
    case OPTION_O3:
      return set_level(c, option_table[o].name + strlen("-O"), (uint8_t)(o - OPTION_O0));
    case OPTION_OFC:
      if (strcmp(value, "max") == 0) return set_level(c, "max", 1);
      if (strcmp(value, "mid") == 0) return set_level(c, "mid", 1);
      if (strcmp(value, "min") == 0) return set_level(c, "min", 1);
      return bad_option(c, "-Ofc is max, mid or min");
    case OPTION_TIME_PASSES: c->passes.time_passes = true; return NVMINI_OK;
    case OPTION_STATS: c->statistics = true; return NVMINI_OK;
    case OPTION_PASSES:
    case OPTION_VERIFY_EACH:
    case OPTION_PRINT_BEFORE:
    case OPTION_PRINT_AFTER:
    case OPTION_PRINT_CHANGED:
    case OPTION_ONLY_FUNCTION:
    case OPTION_BISECT: return set_pass_option(c, o, value);
    case OPTION_ERROR_LIMIT:
      if (read_number(value, UINT32_MAX, &c->error_limit)) return NVMINI_OK;
      return bad_number(c, option_table[o].name, value, UINT32_MAX);
    case OPTION_COUNT: break;
  }
  return NVMINI_BUG;
}

/* What follows -W. */
static enum nvmini_status set_warning(struct nvmini_context *c, const char *text) {
  struct arena arena;
  struct textbuf b;
  const char *unknown;
  if (diag_policy_set(&c->warnings, text, &unknown)) return NVMINI_OK;
  struct nearest near = nearest_start(text_of(unknown));
  for (int id = 0; id < DIAG_COUNT; id++)
    if (diag_severity((enum diag_id)id) == DIAG_WARNING)
      nearest_offer(&near, text_of(diag_name((enum diag_id)id)));
  arena_init(&arena, counted(c));
  textbuf_init(&b, &arena);
  textbuf_format(&b, "unknown warning '%s'", unknown);
  if (near.best.bytes) textbuf_puts(&b, "; ");
  nearest_write(&near, &b);
  textbuf_char(&b, '\0');
  enum nvmini_status status = bad_option(c, arena.failed ? "unknown warning" : b.bytes);
  arena_free(&arena);
  return status;
}

enum nvmini_status nvmini_set_option(struct nvmini_context *context, const char *option) {
  if (strncmp(option, "-W", 2) == 0) return set_warning(context, option + 2);
  size_t name = strcspn(option, "=");
  for (int o = 0; o < OPTION_COUNT; o++) {
    if (strncmp(option, option_table[o].name, name) != 0 || option_table[o].name[name] != '\0')
      continue;
    bool has_value = option[name] == '=';
    if (has_value != option_table[o].has_value && o != OPTION_VERIFY_EACH)
      return bad_option(context,
                        has_value ? "this option takes no value" : "this option needs a value");
    return set_long_option(context, (enum option)o, has_value ? option + name + 1 : "");
  }
  struct tgt_options changed = context->target;
  struct tgt_error error;
  enum tgt_status status = tgt_parse_nvvm_option(&changed, option, strlen(option), &error);
  if (status != TGT_OK) return target_status(context, status, &error);
  static const char *const levels[] = {"0", "1", "2", "3"};
  if (strncmp(option, "-opt=", strlen("-opt=")) == 0)
    context->level = levels[changed.optimization_level & 3];
  context->target = changed;
  return NVMINI_OK;
}

/* ---- Time ---- */

/* This thread's processor time, in nanoseconds; 0 if nobody asked for times. */
static uint64_t clock_of(const struct nvmini_context *c) {
  struct timespec t = {0, 0};
  if (c->passes.time_passes) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_time(struct nvmini_context *c, enum phase phase, uint64_t begin) {
  c->nanoseconds[phase] += clock_of(c) - begin;
}

/* The tables of --time-passes and --stats, to whoever gets the dumps. */
static enum nvm_status report_run(struct nvmini_context *c, const struct pass_result *result) {
  static const char *const phases[PHASE_COUNT] = {"parse", "verify", "passes", "codegen and print"};
  struct arena arena;
  struct textbuf b;
  if (c->dump == NULL || !(c->passes.time_passes || c->statistics)) return NVM_OK;
  arena_init(&arena, counted(c));
  textbuf_init(&b, &arena);
  for (int p = 0; c->passes.time_passes && p < PHASE_COUNT; p++)
    textbuf_format(&b, "%U us %s\n", c->nanoseconds[p] / 1000, phases[p]);
  if (c->passes.time_passes) pass_report_times(result, &b);
  if (c->statistics) pass_report_statistics(result, &b);
  enum nvm_status status = arena.failed ? NVM_OUT_OF_MEMORY : NVM_OK;
  if (status == NVM_OK) c->dump(c->dump_user, (struct nvmini_text){b.bytes, b.length});
  arena_free(&arena);
  return status;
}

/* ---- Modules ---- */

/* An arena and a sink in it for the diagnostics of one call. */
static void start(struct nvmini_context *c, struct arena *arena, struct diag_sink *sink) {
  arena_init(arena, counted(c));
  diag_sink_init(sink, arena, c->error_limit);
  sink->policy = &c->warnings;
}

enum nvmini_status nvmini_parse(struct nvmini_context *context, const char *text, size_t length,
                                const char *name, struct nvmini_module **module) {
  struct nvm_allocator a = counted(context);
  struct nvmini_module *m = a.resize(a.state, NULL, 0, sizeof *m);
  *module = NULL;
  if (m != NULL)
    *m = (struct nvmini_module){.context = context, .source = {text, length}, .name = name};
  if (m != NULL) m->ir = module_create(a, 0);
  if (m == NULL || m->ir == NULL) {
    deliver_fixed(context, NULL, DIAG_OUT_OF_MEMORY, diag_message(DIAG_OUT_OF_MEMORY));
    if (m != NULL) a.resize(a.state, m, sizeof *m, 0);
    return NVMINI_OUT_OF_MEMORY;
  }
  arena_init(&m->output, a);
  struct arena arena;
  struct diag_sink sink;
  start(context, &arena, &sink);
  uint64_t begin = clock_of(context);
  enum nvm_status parsed = parse_module(m->ir, text, length, name, 0, &sink);
  add_time(context, PHASE_PARSE, begin);
  enum nvmini_status status = finish(context, m, &arena, &sink, parsed);
  if (status == NVMINI_OK) *module = m;
  else nvmini_release(m);
  return status;
}

void module_on_change(struct nvmini_context *context, module_change *on_change, void *state) {
  context->passes.on_change = on_change;
  context->passes.change_state = state;
}

struct nvm_module *module_of_handle(const struct nvmini_module *module) {
  return module->ir;
}

void nvmini_release(struct nvmini_module *module) {
  if (module == NULL) return;
  struct nvm_allocator a = counted(module->context);
  arena_free(&module->output);
  module_destroy(module->ir);
  a.resize(a.state, module, sizeof *module, 0);
}

enum nvmini_status nvmini_check(struct nvmini_module *module) {
  struct arena arena;
  struct diag_sink sink;
  start(module->context, &arena, &sink);
  enum nvm_status verified = verify_module(module->ir, &sink, 0);
  return finish(module->context, module, &arena, &sink, verified);
}

static enum nvmini_status link_two(struct nvmini_module *into, const struct nvmini_module *from,
                                   bool only_needed) {
  struct arena arena;
  struct diag_sink sink;
  start(into->context, &arena, &sink);
  enum nvm_status linked = link_modules(into->ir, from->ir, only_needed, &sink);
  return finish_link(into, from, &arena, &sink, linked);
}

enum nvmini_status nvmini_link(struct nvmini_module *module, const struct nvmini_module *other) {
  return link_two(module, other, false);
}

enum nvmini_status nvmini_link_library(struct nvmini_module *module,
                                       const struct nvmini_module *library) {
  return link_two(module, library, true);
}

/* The buffer's bytes with a NUL behind them; out of memory shows in the arena. */
static struct nvmini_text finished_text(struct textbuf *b) {
  textbuf_char(b, '\0');
  return (struct nvmini_text){b->bytes, b->length == 0 ? 0 : b->length - 1};
}

/* The function that --only-function names, NULL without it; false, and reported, if there is none.
 */
static bool find_only_function(const struct nvmini_module *m, struct diag_sink *sink,
                               const struct nvm_function **only) {
  const struct nvm_text name = m->context->passes.only_function;
  *only = NULL;
  if (name.bytes == NULL) return true;
  struct nvm_str s = strtab_find(&m->ir->strings, name.bytes, name.length);
  struct nvm_value v = s.index ? module_find_symbol(m->ir, s) : VALUE_NULL;
  if (value_kind(v) == VALUE_FUNCTION) *only = module_function(m->ir, v);
  if (*only && !function_is_declaration(*only)) return true;
  diag_report(sink, DIAG_UNKNOWN_FUNCTION, (struct diag_range){0, 0, 0}, &name, 1);
  return false;
}

/* Every definition's graph, or that of --only-function. */
static enum nvm_status print_graphs(const struct nvmini_module *m, struct diag_sink *sink,
                                    struct textbuf *out) {
  const struct nvm_function *only;
  enum nvm_status status = find_only_function(m, sink, &only) ? NVM_OK : NVM_REFUSED;
  for (uint32_t n = 1; n < m->ir->functions.count && status == NVM_OK; n++) {
    const struct nvm_function *f = m->ir->functions.data[n];
    if (!function_is_declaration(f) && (!only || f == only)) status = print_cfg(f, out);
  }
  return status;
}

static enum nvmini_status print_into(struct nvmini_module *module, struct nvmini_text *text,
                                     bool graphs) {
  struct arena arena;
  struct diag_sink sink;
  start(module->context, &arena, &sink);
  arena_free(&module->output);
  struct textbuf out;
  textbuf_init(&out, &module->output);
  enum nvm_status printed =
      graphs ? print_graphs(module, &sink, &out) : print_module(module->ir, &out);
  *text = finished_text(&out);
  if (module->output.failed) printed = NVM_OUT_OF_MEMORY;
  return finish(module->context, module, &arena, &sink, printed);
}

enum nvmini_status nvmini_print(struct nvmini_module *module, struct nvmini_text *text) {
  return print_into(module, text, false);
}

enum nvmini_status nvmini_print_graphs(struct nvmini_module *module, struct nvmini_text *text) {
  return print_into(module, text, true);
}

static void deliver_dump(void *state, struct nvm_text text) {
  struct nvmini_context *c = state;
  if (c->dump) c->dump(c->dump_user, public_text(text));
}

static void deliver_plan(void *state, struct nvm_text text) {
  struct nvmini_context *c = state;
  c->plan(c->plan_user, public_text(text));
}

/* Remarks jump to and fro in the text, between callers and what was inlined into them: where its
 * lines begin is listed once, when the first remark comes. */
struct remark_route {
  const struct nvmini_module *module;
  struct arena arena;
  struct line_list lines;
};

/* Line and column stay 0 when there is no memory for the list. */
static void locate_remark(struct remark_route *to, uint32_t position, uint32_t *line,
                          uint32_t *column) {
  const struct nvmini_text source = to->module->source;
  if (to->lines.starts.count == 0)
    lines_list(&to->lines, (struct nvm_text){source.bytes, source.length}, &to->arena);
  if (!to->arena.failed) *line = lines_find(&to->lines, position, column);
}

static void deliver_remark(void *state, const struct remark *r) {
  enum { MOST_ARGUMENTS = 32 };
  static const enum nvmini_remark_kind kinds[] = {[REMARK_PASSED] = NVMINI_PASSED,
                                                  [REMARK_MISSED] = NVMINI_MISSED,
                                                  [REMARK_ANALYSIS] = NVMINI_ANALYSIS};
  struct remark_route *to = state;
  struct nvmini_remark_argument arguments[MOST_ARGUMENTS];
  struct nvmini_remark p = {.kind = kinds[r->kind],
                            .pass = r->pass,
                            .name = r->name,
                            .function = public_text(r->function),
                            .file = public_text(r->file),
                            .line = r->line,
                            .column = r->column,
                            .arguments = arguments};
  for (; p.count < r->count && p.count < MOST_ARGUMENTS; p.count++)
    arguments[p.count] = (struct nvmini_remark_argument){public_text(r->arguments[p.count].key),
                                                         public_text(r->arguments[p.count].value)};
  if (p.file.length == 0 && r->position) {
    p.file = public_text(text_of(to->module->name));
    locate_remark(to, (uint32_t)r->position, &p.line, &p.column);
  }
  to->module->context->remark(to->module->context->remark_user, &p);
}

/* Verifies, then runs the passes that the options name, or else the level's. */
static enum nvm_status optimize_module(struct nvmini_module *m, const struct nvm_target *target,
                                       struct diag_sink *sink, struct pass_result *result) {
  struct nvmini_context *c = m->context;
  uint64_t begin = clock_of(c);
  enum nvm_status status = verify_module(m->ir, sink, 0);
  add_time(c, PHASE_VERIFY, begin);
  const struct nvm_function *only;
  if (status != NVM_OK) return status;
  if (!find_only_function(m, sink, &only)) return NVM_REFUSED;
  if (!link_math(m->ir, m->ir)) return NVM_OUT_OF_MEMORY;
  struct nvm_text triple = module_text(m->ir, m->ir->triple);
  if (!m->ir->has_layout)
    datalayout_adopt(&m->ir->layout, triple_pointer_bits(triple.bytes, triple.length), target);
  if (!expand_masked(m->ir)) return NVM_OUT_OF_MEMORY;
  status = expand_integers(m->ir, sink);
  if (status != NVM_OK) return status;
  struct remark_route route = {.module = m};
  arena_init(&route.arena, counted(c));
  struct pass_options options = c->passes;
  options.level = c->level;
  options.knobs = &c->knobs;
  options.dump = deliver_dump;
  options.dump_state = c;
  options.draw = c->plan ? deliver_plan : NULL;
  options.draw_state = c;
  options.draw_graphs = c->plan_graphs != 0;
  options.remark = c->remark ? deliver_remark : NULL;
  options.remark_state = &route;
  begin = clock_of(c);
  status = pass_run_pipeline(m->ir, target, &options, sink, result);
  arena_free(&route.arena);
  add_time(c, PHASE_PASSES, begin);
  return status;
}

/* Optimizes, and generates code unless `out` is NULL. */
static enum nvm_status compile_module(struct nvmini_module *m, const struct nvm_target *target,
                                      struct diag_sink *sink, struct textbuf *out) {
  struct pass_result result;
  enum nvm_status status = optimize_module(m, target, sink, &result);
  if (status != NVM_OK) return status;
  const int32_t *knob = m->context->knobs.value;
  struct codegen_options options = {
      .verbose = m->context->verbose,
      .unreachable_is_trap = !knob[KNOB_EXIT_ON_UNREACHABLE],
      .relaxed_atomics = knob[KNOB_RELAXED_ATOMICS],
      .no_reflect = !knob[KNOB_REFLECT_ENABLE],
      .exact_log2 = !knob[KNOB_APPROX_LOG2F32],
      .wide_byval_params = knob[KNOB_FORCE_MIN_BYVAL_PARAM_ALIGN] != 0,
  };
  uint64_t begin = clock_of(m->context);
  if (out) status = codegen_module(m->ir, target, &options, sink, out);
  add_time(m->context, PHASE_CODEGEN, begin);
  return status == NVM_OK ? report_run(m->context, &result) : status;
}

enum nvmini_status module_target(struct nvmini_context *context, struct nvm_target *target) {
  struct tgt_error error;
  return target_status(context, tgt_init(target, &context->target, &error), &error);
}

/* nvmini_compile(); without `ptx`, nvmini_optimize(). */
static enum nvmini_status compile(struct nvmini_module *module, struct nvmini_text *ptx) {
  struct nvmini_context *c = module->context;
  struct nvm_target target;
  enum nvmini_status ready = module_target(c, &target);
  if (ready != NVMINI_OK) return ready;
  struct arena arena;
  struct diag_sink sink;
  struct textbuf out;
  start(c, &arena, &sink);
  arena_free(&module->output);
  textbuf_init(&out, &module->output);
  enum nvm_status compiled = compile_module(module, &target, &sink, ptx ? &out : NULL);
  if (ptx && compiled == NVM_OK && sink.error_count == 0) *ptx = finished_text(&out);
  if (module->output.failed) compiled = NVM_OUT_OF_MEMORY;
  return finish(c, module, &arena, &sink, compiled);
}

enum nvmini_status nvmini_optimize(struct nvmini_module *module) { return compile(module, NULL); }

enum nvmini_status nvmini_compile(struct nvmini_module *module, struct nvmini_text *ptx) {
  *ptx = (struct nvmini_text){NULL, 0};
  return compile(module, ptx);
}
