/* The pass manager: runs a pipeline over a module, and verifies, dumps, times, counts and bisects.
 *
 * Consecutive function passes run function by function, so that a function stays in the cache.
 * Dumps have LLVM's headers, `*** IR Dump After sccp on saxpy ***`, which viewers of optimization
 * pipelines understand. */
#include "opt/pipeline.h"

#include "ir/annotation.h"
#include "ir/pack.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "opt/interprocedural/call_graph.h"
#include "opt/interprocedural/shared_fields.h"
#include "opt/cfg/cfg.h"
#include "opt/fingerprint.h"
#include "opt/passes.h"
#include "opt/remark.h"
#include "opt/rewrite.h"

#include <time.h>

const struct pass_info pass_table[PASS_COUNT] = {
    [PASS_NONE] = {"", "", "", NULL, NULL, 0, 0},
#define FUNCTION_PASS(ENUM, name, run, needs, keeps, counts, meaning) \
  [PASS_##ENUM] = {name, meaning, counts, run, NULL, needs, keeps},
#define MODULE_PASS(ENUM, name, run, needs, keeps, counts, meaning) \
  [PASS_##ENUM] = {name, meaning, counts, NULL, run, needs, keeps},
#include "opt/passes.def"
};

const struct pass_parameter_info pass_parameters[PASS_PARAMETER_COUNT] = {
#define PASS_PARAMETER(PASS, ENUM, name, meaning) {PASS_##PASS, name, meaning},
#include "opt/passes.def"
};

enum pass_id pass_find(const char *name, size_t length) {
  for (int p = 1; p < PASS_COUNT && length > 0; p++) {
    const char *own = pass_table[p].name;
    if (*own == *name && strncmp(own, name, length) == 0 && own[length] == '\0')
      return (enum pass_id)p;
  }
  return PASS_NONE;
}

const struct pass_form_maker pass_forms[PASS_FORMS] = {{FORM_LOOP_SIMPLIFY, PASS_LOOP_SIMPLIFY},
                                                       {FORM_LCSSA, PASS_LCSSA}};

#ifdef NVM_CHECKING
enum { always_check = true };

enum nvm_status test_hide_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  (void)changed;
  struct nvm_value one = const_int(env->module, TYPE_I32, 1), operands[] = {one, one};
  struct nvm_inst_id i = function_add_inst(f, OP_ADD, 0, TYPE_I32, operands, 2, 0);
  inst_insert_before(f, i, block_terminator(f, f->entry));
  return NVM_OK;
}

enum nvm_status test_flow_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct nvm_block b = function_add_block(f, module_str(env->module, "new"));
  struct nvm_value self = value_of_block(b);
  inst_append(f, function_add_inst(f, OP_BR, 0, TYPE_VOID, &self, 1, 0), b);
  *changed = true;
  return NVM_OK;
}
#else
enum { always_check = false };
#endif

struct manager {
  struct pass_env env;
  const struct pass_options *options;
  struct diag_sink *sink;
  struct pass_result *result;
  struct remark_sink remarks;
  struct arena scratch; /* of the running pass */
  struct arena text;    /* of dumps and remarks */
  struct flow flow;     /* of the current function */
  uint64_t removed;     /* by knobs: a bit per pass */
  uint64_t
      *settled; /* by function, a bit per pass: it changed nothing, and nothing changed since */
  uint32_t function_count;              /* before the first pass: passes only add declarations */
  const struct nvm_function *unchanged; /* by the last pass, after which it was checked; or NULL */
  struct fingerprint last;              /* of that function */
  bool packs; /* the passes of the running group are the last, and may leave packed bodies */
  bool leader_changed; /* the last module pass without `+`, if no other pass without it followed */
  uint64_t at_rest;    /* bytes of kernels that these passes have completed */
};
_Static_assert(PASS_COUNT <= 64, "a bit per pass");

static uint64_t processor_nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool name_matches(struct nvm_text pattern, const char *name) {
  return text_is(pattern, "*") || text_is(pattern, name);
}

static bool function_matches(const struct manager *g, const struct nvm_function *f) {
  struct nvm_text only = g->options->only_function;
  if (only.length == 0 || !f) return true;
  struct nvm_text name = module_text(g->env.module, f->symbol.name);
  return name.length == only.length && memcmp(name.bytes, only.bytes, name.length) == 0;
}

/* `when` is "Before" or "After"; f == NULL: the module. */
static void dump(struct manager *g, const char *when, enum pass_id p,
                 const struct nvm_function *f) {
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

static enum nvm_status take_fingerprint(struct manager *g, const struct nvm_function *f,
                                        struct fingerprint *print) {
  if (!f) return fingerprint_of_module(g->env.module, &g->text, print);
  *print = fingerprint_of_function(f);
  return NVM_OK;
}

static enum nvm_status check_after(struct manager *g, enum pass_id p, struct nvm_function *f,
                                   struct fingerprint before, bool changed) {
  struct nvm_text arguments[] = {text_of(pass_table[p].name), text_of("the module")};
  struct fingerprint after;
  if (take_fingerprint(g, f, &after) != NVM_OK) return NVM_OUT_OF_MEMORY;
  enum diag_id fault = DIAG_COUNT;
  uint32_t errors = g->sink->error_count;
  if (f) arguments[1] = module_text(g->env.module, f->symbol.name);
  if (!changed && after.content != before.content) fault = DIAG_PASS_HID_CHANGE;
  else if ((pass_table[p].keeps & FORM_CFG) && after.flow != before.flow && f)
    fault = DIAG_PASS_BROKE_PROMISE;
  g->last = after;
  g->unchanged = fault == DIAG_COUNT && !changed ? f : NULL;
  if (fault == DIAG_COUNT && !changed) return NVM_OK;
  enum nvm_status s = f ? verify_function(f, g->sink, 0) : verify_module(g->env.module, g->sink, 0);
  if (s == NVM_REFUSED || g->sink->error_count != errors) fault = DIAG_PASS_BROKE_IR;
  if (fault == DIAG_COUNT) return s;
  diag_report(g->sink, fault, (struct diag_range){0, 0, 0}, arguments, 2);
  return NVM_BUG;
}

static void report_fault(struct manager *g, enum pass_id p, const struct nvm_function *f) {
  struct nvm_text arguments[] = {text_of(pass_table[p].name),
                                 module_text(g->env.module, f->symbol.name), text_of(g->env.fault)};
  diag_report(g->sink, DIAG_PASS_BROKE_PLAN, (struct diag_range){0, 0, 0}, arguments, 3);
}

/* Runs pass p on f, or on the module if f is NULL. */
static enum nvm_status run_one(struct manager *g, enum pass_id p, struct nvm_function *f,
                               bool *changed) {
  const struct pass_options *o = g->options;
  if (g->removed >> p & 1) return NVM_OK;
  if (o->bisect_limit >= 0 && g->result->executed >= (uint64_t)o->bisect_limit) return NVM_OK;
  g->result->executed++;
  if (name_matches(o->print_before, pass_table[p].name)) dump(g, "Before", p, f);
  bool check = o->verify_each || always_check;
  struct fingerprint before = g->last;
  if (check && (!f || f != g->unchanged) && take_fingerprint(g, f, &before) != NVM_OK)
    return NVM_OUT_OF_MEMORY;
  g->unchanged = NULL;
  uint64_t start = o->time_passes ? processor_nanoseconds() : 0;
  g->env.statistic = &g->result->statistics[p];
  g->env.pass = pass_table[p].name;
  g->env.flow_kept = false;
  g->env.verify = check;
  enum nvm_status s = f ? pass_table[p].on_function(f, &g->env, changed)
                        : pass_table[p].on_module(g->env.module, &g->env, changed);
  arena_reset(&g->scratch);
  if (o->time_passes) g->result->nanoseconds[p] += processor_nanoseconds() - start;
  g->result->runs[p]++;
  g->result->changes[p] += *changed;
  if (s == NVM_BUG && g->env.fault) report_fault(g, p, f);
  if (s != NVM_OK) return s;
  if (module_out_of_memory(g->env.module) || g->scratch.failed || g->text.failed)
    return NVM_OUT_OF_MEMORY;
  if (name_matches(o->print_after, pass_table[p].name) || (o->print_changed && *changed))
    dump(g, "After", p, f);
  if (check) s = check_after(g, p, f, before, *changed);
  if (s == NVM_OK && *changed && o->on_change)
    s = o->on_change(o->change_state, g->env.module, pass_table[p].name, f);
  uint32_t blocks = f ? f->blocks.count : 0;
  if (s == NVM_OK && f && *changed && !rewrite_compact(f, &g->scratch, COMPACT_BETWEEN_PASSES))
    s = NVM_OUT_OF_MEMORY;
  bool flow_kept = (pass_table[p].keeps & FORM_CFG) || g->env.flow_kept;
  if (f && *changed && (!flow_kept || f->blocks.count != blocks)) flow_invalidate(&g->flow);
  return s;
}

static bool has_no_loop(struct manager *g, const struct nvm_function *f) {
  struct dominance d;
  struct loops l;
  return flow_loops(&g->flow, f, &d, &l) && l.count == 0;
}

/* The passes that remain settled after p changed something: the makers of the forms that p keeps,
 * and p itself if it makes a form. */
static uint64_t settled_after(const struct manager *g, enum pass_id p, uint32_t n) {
  uint64_t kept = 0, made = 0;
  for (size_t k = 0; k < PASS_FORMS; k++) {
    if (pass_table[p].keeps & pass_forms[k].form) kept |= UINT64_C(1) << pass_forms[k].maker;
    if (pass_forms[k].maker == p) made = UINT64_C(1) << p;
  }
  return (g->settled[n] & kept) | made;
}

static bool is_loop_pass(int p) {
  return p == PASS_LOOP_SIMPLIFY || (pass_table[p].needs & FORM_LOOP_SIMPLIFY);
}

/* Whether the pass is known not to change function n: it is settled, or it needs loops and n has
 * none. With parameters it may do more than without. */
static bool is_noop(struct manager *g, const struct pass_step *step, uint32_t n) {
  enum pass_id p = (enum pass_id)step->pass;
  bool callees_count = p == PASS_INLINE; /* which may have changed */
  if ((g->settled[n] >> p & 1) && !callees_count && !step->parameters) return true;
  if (!is_loop_pass(p) || !has_no_loop(g, g->env.module->functions.data[n])) return false;
  for (int k = 1; k < PASS_COUNT; k++)
    if (is_loop_pass(k)) g->settled[n] |= UINT64_C(1) << k;
  return true;
}

/* Packs a kernel, which no pass will read again, once those before it take much memory. */
static bool pack_finished_kernel(struct manager *g, struct nvm_function *f) {
#ifdef NVM_HOSTILE
  enum { PACK_ABOVE = 0 };
#else
  enum { PACK_ABOVE = 4 << 20 /* bytes */ };
#endif
  g->at_rest += f->insts.count * sizeof *f->insts.data + f->operands.count * sizeof(uint32_t);
  if (g->at_rest <= PACK_ABOVE) return true;
  bool packed = pack_function(f, &g->scratch);
  arena_reset(&g->scratch);
  return packed;
}

/* Runs the function passes steps[0..count-1] over function n, except no-ops. */
static enum nvm_status run_on_function(struct manager *g, const struct pass_step *steps,
                                       uint32_t count, uint32_t n) {
  struct nvm_function *f = g->env.module->functions.data[n];
  bool any = false, leader_changed = g->leader_changed;
  if (function_is_declaration(f)) return NVM_OK;
  g->env.number = n;
  flow_invalidate(&g->flow);
  for (uint32_t k = 0; k < count; k++) {
    enum pass_id p = (enum pass_id)steps[k].pass;
    bool changed = false, skipped = steps[k].conditional && !leader_changed;
    g->env.parameters = steps[k].parameters;
    enum nvm_status s = skipped || is_noop(g, &steps[k], n) ? NVM_OK : run_one(g, p, f, &changed);
    if (s != NVM_OK) return s;
    if (changed) g->settled[n] = settled_after(g, p, n);
    else if (!skipped && !steps[k].parameters) g->settled[n] |= UINT64_C(1) << p;
    if (!steps[k].conditional) leader_changed = changed;
    any |= changed;
  }
  if (any && !rewrite_compact(f, &g->scratch, COMPACT_AT_REST)) return NVM_OUT_OF_MEMORY;
  function_shrink(f);
  if (any && g->env.calls && !call_graph_update(g->env.calls, n)) return NVM_OUT_OF_MEMORY;
  if (g->packs && function_is_kernel(f) && !pack_finished_kernel(g, f)) return NVM_OUT_OF_MEMORY;
  return NVM_OK;
}

/* Callees first. Functions that are called once run only the steps before the inliner, since their
 * caller will absorb them; those that it did not inline are completed last, callers first, so that
 * the first of a call chain inlines as much as the limits allow. */
static enum nvm_status run_callees_first(struct manager *g, const struct pass_step *steps,
                                         uint32_t count, uint32_t inliner) {
  enum nvm_status s = NVM_OK;
  const struct call_graph *c = g->env.calls;
  for (uint32_t k = 0; k < c->order_count && s == NVM_OK; k++) {
    uint32_t n = c->order[k];
    c->nodes[n].passed_on = call_graph_is_passed_on(c, n);
    s = run_on_function(g, steps, c->nodes[n].passed_on ? inliner : count, n);
  }
  for (uint32_t k = c->order_count; k-- > 0 && s == NVM_OK;)
    if (c->nodes[c->order[k]].passed_on) s = run_on_function(g, steps, count, c->order[k]);
  return s;
}

/* Function passes over every definition; callees first if one of the passes inlines. */
static enum nvm_status run_group(struct manager *g, const struct pass_step *steps, uint32_t count) {
  enum nvm_status s = NVM_OK;
  struct call_graph calls;
  struct arena arena;
  uint32_t inliner = 0;
  while (inliner < count && steps[inliner].pass != PASS_INLINE) inliner++;
  if (inliner == count) {
    for (uint32_t n = 1; n < g->function_count && s == NVM_OK; n++)
      s = run_on_function(g, steps, count, n);
    return s;
  }
  arena_init(&arena, g->env.module->arena.allocator);
  if (!call_graph_build(&calls, g->env.module, &arena)) s = NVM_OUT_OF_MEMORY;
  g->env.calls = &calls;
  if (s == NVM_OK) s = run_callees_first(g, steps, count, inliner);
  g->env.calls = NULL;
  arena_free(&arena);
  return s;
}

static enum nvm_status run_on_module(struct manager *g, const struct pass_step *step) {
  bool changed = false;
  if (step->conditional && !g->leader_changed) return NVM_OK;
  g->env.parameters = step->parameters;
  enum nvm_status s = run_one(g, (enum pass_id)step->pass, NULL, &changed);
  if (!step->conditional) g->leader_changed = changed;
  if (changed) memset(g->settled, 0, g->function_count * sizeof *g->settled);
  return s;
}

/* Reports an unknown pass, with a spelling suggestion, or one step too many. */
static enum nvm_status refuse_pass(struct diag_sink *sink, struct nvm_text name) {
  const char *parameters = memchr(name.bytes, '<', name.length);
  size_t length = parameters ? (size_t)(parameters - name.bytes) : name.length;
  bool known = pass_find(name.bytes, length) != PASS_NONE;
  struct diag *d = diag_report(sink,
                               known && parameters ? DIAG_BAD_PASS_PARAMETER
                               : known             ? DIAG_TOO_MANY_PASSES
                                                   : DIAG_UNKNOWN_PASS,
                               (struct diag_range){0, 0, 0}, &name, 1);
  if (known) return NVM_REFUSED;
  struct nearest near = nearest_start(name);
  for (int p = 1; p < PASS_COUNT; p++) nearest_offer(&near, text_of(pass_table[p].name));
  diag_suggest(sink, d, &near);
  return NVM_REFUSED;
}

/* Checks the operand of --print-before or --print-after. */
static enum nvm_status check_pass_name(struct diag_sink *sink, struct nvm_text name) {
  for (int p = 1; p < PASS_COUNT; p++)
    if (name.length == 0 || name_matches(name, pass_table[p].name)) return NVM_OK;
  return refuse_pass(sink, name);
}

/* Leaves out shared-state, with the conditional steps after it, if it finds nothing in the module:
 * it would split the function passes around it into two groups, and a function would be inlined
 * before it has run those of the second. */
static void drop_shared_state(const struct nvm_module *m, struct pipeline *p) {
  uint32_t kept = 0;
  bool dropping = false;
  if (shared_fields_wanted(m)) return;
  for (uint32_t k = 0; k < p->count; k++) {
    dropping = p->steps[k].conditional ? dropping : p->steps[k].pass == PASS_SHARED_STATE;
    if (!dropping) p->steps[kept++] = p->steps[k];
  }
  p->count = kept;
}

static enum nvm_status run_all(struct manager *g, const struct pass_step *steps, uint32_t count) {
  for (uint32_t k = 0; k < count;) {
    uint32_t n = 0;
    while (k + n < count && pass_table[steps[k + n].pass].on_function) n++;
    g->packs = g->options->packs && k + n == count;
    enum nvm_status s = n ? run_group(g, steps + k, n) : run_on_module(g, &steps[k]);
    if (s != NVM_OK) return s;
    for (uint32_t i = 0; i < n; i++) g->leader_changed |= !steps[k + i].conditional;
    k += n ? n : 1;
  }
  return NVM_OK;
}

/* `width` in characters. */
static void put_column(struct textbuf *out, uint64_t n, int width) {
  for (uint64_t rest = n; rest >= 10; rest /= 10) width--;
  while (--width > 0) textbuf_char(out, ' ');
  textbuf_unsigned(out, n);
}

void pass_report_times(const struct pass_result *r, struct textbuf *out) {
  uint64_t total = 0;
  for (int p = 1; p < PASS_COUNT; p++) total += r->nanoseconds[p];
  textbuf_puts(out, "      us     %     runs  changes  pass\n");
  for (int p = 1; p < PASS_COUNT; p++) {
    if (r->runs[p] == 0) continue;
    put_column(out, r->nanoseconds[p] / 1000, 8);
    put_column(out, total ? r->nanoseconds[p] * 100 / total : 0, 6);
    put_column(out, r->runs[p], 9);
    put_column(out, r->changes[p], 9);
    textbuf_format(out, "  %s\n", pass_table[p].name);
  }
}

void pass_report_statistics(const struct pass_result *r, struct textbuf *out) {
  put_column(out, r->executed, 8);
  textbuf_puts(out, " passes run\n");
  for (int p = 1; p < PASS_COUNT; p++) {
    if (r->statistics[p] == 0) continue;
    put_column(out, r->statistics[p], 8);
    textbuf_format(out, " %s: %s\n", pass_table[p].name, pass_table[p].counts);
  }
}

unsigned pass_size_effort(const struct pass_env *env, const struct nvm_function *f) {
  if (env->size_effort == 2 || function_attribute(f, ATTR_MINSIZE)) return 2;
  return env->size_effort == 1 || function_attribute(f, ATTR_OPTSIZE);
}

enum nvm_status pass_run_pipeline(struct nvm_module *m, const struct nvm_target *target,
                                  const struct pass_options *options, struct diag_sink *sink,
                                  struct pass_result *result) {
  struct manager g = {.env = {.module = m,
                              .target = target,
                              .knobs = options->knobs,
                              .warnings = sink,
                              .size_effort = pipeline_size_effort(options->level),
                              .draw = options->draw,
                              .draw_state = options->draw_state,
                              .draw_graphs = options->draw_graphs},
                      .options = options,
                      .sink = sink,
                      .result = result,
                      .leader_changed = true,
                      .removed = pipeline_removed(options->knobs),
                      .function_count = m->functions.count,
                      .remarks = {options->remark, options->remark_state, &g.text}};
  struct pipeline p = {.count = 0};
  struct nvm_text refused;
  enum nvm_status s = NVM_OK;
  *result = (struct pass_result){.executed = 0};
  arena_init_reused(&g.scratch, m->arena.allocator);
  arena_init(&g.text, m->arena.allocator);
  flow_init(&g.flow, m->arena.allocator);
  g.env.arena = &g.scratch;
  g.env.flow = &g.flow;
  g.settled = arena_alloc(&m->arena, m->functions.count * sizeof *g.settled);
  g.env.annotations = annotations_read(m, &m->arena);
  g.env.remarks = options->remark ? &g.remarks : NULL;
  if (!options->pipeline.bytes) pipeline_of_level(&p, options->level, options->knobs);
  else if (!pipeline_append(&p, options->pipeline, &refused)) s = refuse_pass(sink, refused);
  if (!g.settled || !g.env.annotations) s = NVM_OUT_OF_MEMORY;
  if (s == NVM_OK) s = check_pass_name(sink, options->print_before);
  if (s == NVM_OK) s = check_pass_name(sink, options->print_after);
  if (s == NVM_OK && options->on_change)
    s = options->on_change(options->change_state, m, NULL, NULL);
  drop_shared_state(m, &p);
  if (s == NVM_OK) s = run_all(&g, p.steps, p.count);
  arena_free(&g.scratch);
  arena_free(&g.text);
  flow_free(&g.flow);
  return s;
}
