/* The pass manager: runs a list of passes over a module and does everything that is not the
 * passes' business.
 *
 * Consecutive function passes run function by function, so that a function stays in the cache while
 * all of them look at it. Dumps have LLVM's headers, `*** IR Dump After sccp on saxpy ***`, which
 * viewers of optimization pipelines understand. */
#include "opt/pass.h"

#include "ir/print.h"
#include "ir/verify.h"
#include "opt/passes.h"
#include "opt/remark.h"

#include <time.h>

const struct pass_info pass_table[PASS_COUNT] = {
    [PASS_NONE] = {"", "", "", NULL, NULL},
#define FUNCTION_PASS(ENUM, name, run, counts, meaning) \
  [PASS_##ENUM] = {name, meaning, counts, run, NULL},
#define MODULE_PASS(ENUM, name, run, counts, meaning) \
  [PASS_##ENUM] = {name, meaning, counts, NULL, run},
#include "opt/passes.def"
#undef FUNCTION_PASS
#undef MODULE_PASS
};

enum pass_id pass_find(const char *name, size_t length) {
  for (int p = 1; p < PASS_COUNT; p++)
    if (strlen(pass_table[p].name) == length && memcmp(pass_table[p].name, name, length) == 0)
      return (enum pass_id)p;
  return PASS_NONE;
}

/* What several levels share. Reflection is asked again after each round of inlining, which brings new questions. */
#define REFLECT "nvvm-reflect,nvvm-reflect-pp,"
#define SCALARS REFLECT "simplifycfg,sroa,mem2reg,early-cse,"
#define INLINED "inline,globaldce," REFLECT
/* Callees are smaller after the first round, and constants have found their way into addresses. */
#define ROUNDS                                                                  \
  SCALARS "combine,dce," INLINED "simplifycfg,sroa,mem2reg,early-cse,sccp,combine,simplifycfg,dce," \
          INLINED "sroa,mem2reg,early-cse,sccp,combine,simplifycfg,infer-address-space,early-cse,combine,dce"

/* One row a level; read from left to right. max, mid, min: how much faster the compiler shall be. */
static const struct {
  const char *level;
  const char *passes;
} pipelines[] = {
    {"0", ""},
    {"max", REFLECT "simplifycfg,sroa,mem2reg"},
    {"mid", SCALARS "combine,dce," INLINED "simplifycfg,sroa,mem2reg,early-cse,combine,dce"},
    {"min", ROUNDS},
    {"1", ROUNDS},
    {"2", ROUNDS},
    {"3", ROUNDS},
};

const char *pass_pipeline(const char *level) {
  for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++)
    if (strcmp(pipelines[i].level, level) == 0) return pipelines[i].passes;
  return NULL;
}

/* --- one run ---------------------------------------------------------------------------------- */

struct manager {
  struct pass_env env;
  const struct pass_options *options;
  struct diag_sink *sink;
  struct pass_result *result;
  struct remark_sink remarks;
  struct arena scratch; /* of the running pass */
  struct arena text;    /* of dumps and remarks */
};

static uint64_t processor_nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool name_matches(struct nvm_text wanted, const char *name) {
  if (wanted.length == 1 && wanted.bytes[0] == '*') return true;
  return wanted.length == strlen(name) && memcmp(wanted.bytes, name, wanted.length) == 0;
}

static bool function_matches(const struct manager *g, const struct nvm_function *f) {
  struct nvm_text wanted = g->options->only_function;
  if (wanted.length == 0 || !f) return true;
  struct nvm_text name = module_text(g->env.module, f->symbol.name);
  return name.length == wanted.length && memcmp(name.bytes, wanted.bytes, name.length) == 0;
}

/* `when` is "Before" or "After"; f is NULL for the whole module. */
static void dump(struct manager *g, const char *when, enum pass_id p, const struct nvm_function *f) {
  if (!g->options->dump || !function_matches(g, f)) return;
  struct textbuf b;
  textbuf_init(&b, &g->text);
  textbuf_format(&b, "*** IR Dump %s %s on ", when, pass_table[p].name);
  if (f) textbuf_text(&b, module_text(g->env.module, f->symbol.name));
  else textbuf_puts(&b, "[module]");
  textbuf_puts(&b, " ***\n");
  if (f) print_function(f, &b);
  else print_module(g->env.module, &b);
  textbuf_char(&b, '\n');
  g->options->dump(g->options->dump_state, (struct nvm_text){b.bytes, b.length});
  arena_reset(&g->text);
}

static enum nvm_status verify_after(struct manager *g, enum pass_id p, struct nvm_function *f) {
  uint32_t before = g->sink->error_count;
  enum nvm_status s =
      f ? verify_function(f, g->sink, 0) : verify_module(g->env.module, g->sink, 0);
  if (s != NVM_REFUSED && g->sink->error_count == before) return s;
  diag_report_s(g->sink, DIAG_PASS_BROKE_IR, (struct diag_range){0, 0, 0}, pass_table[p].name, NULL,
                NULL);
  return NVM_BUG;
}

/* Runs pass p on f, or on the module if f is NULL. */
static enum nvm_status run_one(struct manager *g, enum pass_id p, struct nvm_function *f) {
  const struct pass_options *o = g->options;
  if (o->bisect_limit >= 0 && g->result->executed >= (uint64_t)o->bisect_limit) return NVM_OK;
  g->result->executed++;
  if (name_matches(o->print_before, pass_table[p].name)) dump(g, "Before", p, f);
  uint64_t start = o->time_passes ? processor_nanoseconds() : 0;
  bool changed = false;
  g->env.statistic = &g->result->statistics[p];
  g->env.pass = pass_table[p].name;
  enum nvm_status s = f ? pass_table[p].on_function(f, &g->env, &changed)
                        : pass_table[p].on_module(g->env.module, &g->env, &changed);
  arena_reset(&g->scratch);
  if (o->time_passes) g->result->nanoseconds[p] += processor_nanoseconds() - start;
  g->result->runs[p]++;
  g->result->changes[p] += changed;
  if (s != NVM_OK) return s;
  if (module_out_of_memory(g->env.module) || g->scratch.failed || g->text.failed)
    return NVM_OUT_OF_MEMORY;
  if (name_matches(o->print_after, pass_table[p].name) || (o->print_changed && changed))
    dump(g, "After", p, f);
  return o->verify_each && changed ? verify_after(g, p, f) : NVM_OK;
}

/* Function passes ids[0..count-1] over every definition. */
static enum nvm_status run_group(struct manager *g, const enum pass_id *ids, uint32_t count) {
  struct nvm_module *m = g->env.module;
  for (uint32_t n = 1; n < m->functions.count; n++) {
    struct nvm_function *f = m->functions.data[n];
    if (function_is_declaration(f)) continue;
    for (uint32_t k = 0; k < count; k++) {
      enum nvm_status s = run_one(g, ids[k], f);
      if (s != NVM_OK) return s;
    }
  }
  return NVM_OK;
}

enum { MOST_PASSES = 256 }; /* in one pipeline */

/* Reads the names; false if one is unknown or there are too many. */
static bool read_pipeline(struct manager *g, enum pass_id *ids, uint32_t *count) {
  struct nvm_text t = g->options->pipeline;
  *count = 0;
  for (size_t at = 0; at < t.length;) {
    const char *comma = memchr(t.bytes + at, ',', t.length - at);
    size_t length = comma ? (size_t)(comma - (t.bytes + at)) : t.length - at;
    struct nvm_text name = {t.bytes + at, length};
    enum pass_id p = pass_find(name.bytes, length);
    if (p == PASS_NONE || *count == MOST_PASSES) {
      diag_report(g->sink, DIAG_UNKNOWN_PASS, (struct diag_range){0, 0, 0}, &name, 1);
      return false;
    }
    ids[(*count)++] = p;
    at += length + 1;
  }
  return true;
}

static enum nvm_status run_all(struct manager *g, const enum pass_id *ids, uint32_t count) {
  for (uint32_t k = 0; k < count;) {
    uint32_t n = 0;
    while (k + n < count && pass_table[ids[k + n]].on_function) n++;
    enum nvm_status s = n ? run_group(g, ids + k, n) : run_one(g, ids[k], NULL);
    if (s != NVM_OK) return s;
    k += n ? n : 1;
  }
  return NVM_OK;
}

enum nvm_status pass_run_pipeline(struct nvm_module *m, const struct nvm_target *target,
                                  const struct pass_options *options, struct diag_sink *sink,
                                  struct pass_result *result) {
  struct manager g = {.env = {.module = m, .target = target},
                      .options = options, .sink = sink, .result = result,
                      .remarks = {options->remark, options->remark_state, &g.text}};
  enum pass_id ids[MOST_PASSES];
  uint32_t count;
  *result = (struct pass_result){.executed = 0};
  arena_init(&g.scratch, m->arena.allocator);
  arena_init(&g.text, m->arena.allocator);
  g.env.arena = &g.scratch;
  g.env.remarks = options->remark ? &g.remarks : NULL;
  enum nvm_status s = read_pipeline(&g, ids, &count) ? run_all(&g, ids, count) : NVM_REFUSED;
  arena_free(&g.scratch);
  arena_free(&g.text);
  return s;
}
