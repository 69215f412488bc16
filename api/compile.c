/* Optimization and code generation of one module, with times, dumps and remarks. */
#include "api/context.h"
#include "api/module.h"
#include "codegen/codegen.h"
#include "frontend/link.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "mathlib/mathlib.h"
#include "opt/interprocedural/constructors.h"
#include "opt/interprocedural/internalize.h"
#include "opt/memory/expand_masked.h"
#include "opt/remark.h"
#include "opt/scalar/expand_integers.h"
#include "support/lines.h"
#include "target/datalayout.h"
#include "target/triple.h"

/* Sends the tables of --time-passes and --stats to the dump callback. */
static enum nvm_status report_run(struct nvmini_context *c, const struct pass_result *result) {
  static const char *const phases[PHASE_COUNT] = {"parse", "verify", "passes", "codegen and print"};
  struct arena arena;
  struct textbuf b;
  if (c->dump == NULL || !(c->passes.time_passes || c->statistics)) return NVM_OK;
  arena_init(&arena, context_allocator(c));
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

static void deliver_dump(void *state, struct nvm_text text) {
  struct nvmini_context *c = state;
  if (c->dump) c->dump(c->dump_user, public_text(text));
}

static void deliver_plan(void *state, struct nvm_text text) {
  struct nvmini_context *c = state;
  c->plan(c->plan_user, public_text(text));
}

/* The positions of remarks alternate between callers and inlined callees, so line starts are listed
 * once, at the first remark. */
struct remark_route {
  const struct nvmini_module *module;
  struct arena arena;
  struct line_list lines;
};

/* Line and column stay 0 in bitcode and if out of memory. */
static void locate_remark(struct remark_route *to, uint32_t position, uint32_t *line,
                          uint32_t *column) {
  if (!module_is_text(to->module)) return;
  const struct nvmini_text source = module_source(to->module);
  if (to->lines.starts.count == 0)
    lines_list(&to->lines, (struct nvm_text){source.bytes, source.length}, &to->arena);
  if (!to->arena.failed) *line = lines_find(&to->lines, position, column);
}

static void deliver_remark(void *state, const struct remark *r) {
  enum { MAX_ARGUMENTS = 32 };
  static const enum nvmini_remark_kind kinds[] = {[REMARK_PASSED] = NVMINI_PASSED,
                                                  [REMARK_MISSED] = NVMINI_MISSED,
                                                  [REMARK_ANALYSIS] = NVMINI_ANALYSIS};
  struct remark_route *to = state;
  struct nvmini_remark_argument arguments[MAX_ARGUMENTS];
  struct nvmini_remark p = {.kind = kinds[r->kind],
                            .pass = r->pass,
                            .name = r->name,
                            .function = public_text(r->function),
                            .file = public_text(r->file),
                            .line = r->line,
                            .column = r->column,
                            .arguments = arguments};
  for (; p.count < r->count && p.count < MAX_ARGUMENTS; p.count++)
    arguments[p.count] = (struct nvmini_remark_argument){public_text(r->arguments[p.count].key),
                                                         public_text(r->arguments[p.count].value)};
  if (p.file.length == 0 && r->position) {
    p.file = public_text(text_of(to->module->name));
    locate_remark(to, (uint32_t)r->position, &p.line, &p.column);
  }
  to->module->context->remark(to->module->context->remark_user, &p);
}

/* Whether only kernels and variables are visible to other modules. */
static bool is_program(const struct nvmini_context *c, const struct nvm_module *m) {
  if (c->scope != SCOPE_UNKNOWN) return c->scope == SCOPE_PROGRAM;
  return !c->passes.pipeline.bytes && *c->level != '0' && internalize_is_program(m);
}

/* Calls of mathematical functions get their definitions unless --mathlib=off. */
static enum nvm_status link_mathematics(struct nvmini_module *m, struct diag_sink *sink) {
  if (!m->context->no_mathlib) return mathlib_link(m->ir, sink);
  return link_math(m->ir, NULL, NULL) ? NVM_OK : NVM_OUT_OF_MEMORY;
}

/* Verifies, then runs the passes of the options or of the level. `packs`: as in pass_options. */
static enum nvm_status optimize_module(struct nvmini_module *m, const struct nvm_target *target,
                                       bool packs, struct diag_sink *sink,
                                       struct pass_result *result) {
  struct nvmini_context *c = m->context;
  uint64_t begin = context_clock(c);
  enum nvm_status status = verify_module(m->ir, sink, 0);
  context_add_time(c, PHASE_VERIFY, begin);
  const struct nvm_function *only;
  if (status != NVM_OK) return status;
  if (!module_only_function(m, sink, &only)) return NVM_REFUSED;
  status = link_mathematics(m, sink);
  if (status != NVM_OK) return status;
  if (is_program(c, m->ir) && !internalize(m->ir)) return NVM_OUT_OF_MEMORY;
  struct nvm_text triple = module_text(m->ir, m->ir->triple);
  if (!m->ir->has_layout)
    datalayout_adopt(&m->ir->layout, triple_pointer_bits(triple.bytes, triple.length), target);
  if (!expand_masked(m->ir)) return NVM_OUT_OF_MEMORY;
  if (c->knobs.value[KNOB_LOWER_GLOBAL_CTOR_DTOR] && !constructors_lower(m->ir))
    return NVM_OUT_OF_MEMORY;
  status = expand_integers(m->ir, sink);
  if (status != NVM_OK) return status;
  struct remark_route route = {.module = m};
  arena_init(&route.arena, context_allocator(c));
  struct pass_options options = c->passes;
  options.level = c->level;
  options.knobs = &c->knobs;
  options.dump = deliver_dump;
  options.dump_state = c;
  options.packs = packs;
  options.draw = c->plan ? deliver_plan : NULL;
  options.draw_state = c;
  options.draw_graphs = c->plan_graphs != 0;
  options.remark = c->remark ? deliver_remark : NULL;
  options.remark_state = &route;
  begin = context_clock(c);
  status = pass_run_pipeline(m->ir, target, &options, sink, result);
  arena_free(&route.arena);
  context_add_time(c, PHASE_PASSES, begin);
  return status;
}

/* The module as code generation gets it (knob print-isel-input), to the dump callback. */
static enum nvm_status print_codegen_input(const struct nvmini_module *m) {
  struct arena arena;
  struct textbuf b;
  arena_init(&arena, context_allocator(m->context));
  textbuf_init(&b, &arena);
  textbuf_puts(&b, "*** IR Dump Before isel on [module] ***\n");
  enum nvm_status status = print_module(m->ir, &b);
  if (status == NVM_OK) deliver_dump(m->context, (struct nvm_text){b.bytes, b.length});
  arena_free(&arena);
  return status;
}

/* Optimizes, and generates code unless `out` is NULL. */
static enum nvm_status compile_module(struct nvmini_module *m, const struct nvm_target *target,
                                      struct diag_sink *sink, struct textbuf *out,
                                      struct codegen_pieces *pieces) {
  struct pass_result result;
  bool prints = out && m->context->knobs.value[KNOB_PRINT_ISEL_INPUT];
  enum nvm_status status = optimize_module(m, target, pieces && !prints, sink, &result);
  if (status != NVM_OK) return status;
  struct codegen_options options = {.verbose = m->context->verbose, .knobs = &m->context->knobs};
  if (prints) status = print_codegen_input(m);
  if (status != NVM_OK) return status;
  uint64_t begin = context_clock(m->context);
  if (out) status = codegen_module(m->ir, target, &options, sink, out, pieces);
  context_add_time(m->context, PHASE_CODEGEN, begin);
  return status == NVM_OK ? report_run(m->context, &result) : status;
}

/* To `ptx` or to `pieces`; with neither, nvmini_optimize(). */
static enum nvmini_status compile(struct nvmini_module *module, struct nvmini_text *ptx,
                                  struct codegen_pieces *pieces) {
  struct nvmini_context *c = module->context;
  struct nvm_target target;
  enum nvmini_status ready = module_target(c, &target);
  if (ready != NVMINI_OK) return ready;
  struct arena arena;
  struct diag_sink sink;
  struct textbuf out;
  report_start(c, &arena, &sink);
  arena_free(&module->output);
  textbuf_init(&out, &module->output);
  enum nvm_status compiled =
      compile_module(module, &target, &sink, ptx || pieces ? &out : NULL, pieces);
  if (ptx && compiled == NVM_OK && sink.error_count == 0) *ptx = module_finish_text(&out);
  if (module->output.failed) compiled = NVM_OUT_OF_MEMORY;
  if (ptx || pieces) module->state = MODULE_COMPILED;
  else if (compiled == NVM_OK && module->state == MODULE_PARSED) module->state = MODULE_OPTIMIZED;
  return report_finish(c, module, &arena, &sink, compiled);
}

enum nvmini_status nvmini_optimize(struct nvmini_module *module) {
  return compile(module, NULL, NULL);
}

enum nvmini_status nvmini_compile(struct nvmini_module *module, struct nvmini_text *ptx) {
  *ptx = (struct nvmini_text){NULL, 0};
  return compile(module, ptx, NULL);
}

enum nvmini_status module_compile_pieces(struct nvmini_module *module, module_spill *spill,
                                         void *state, const struct nvm_text **pieces,
                                         uint32_t *count) {
  module->pieces = (struct codegen_pieces){.spill = spill, .state = state};
  enum nvmini_status status = compile(module, NULL, &module->pieces);
  *pieces = module->pieces.list.data;
  *count = module->pieces.list.count;
  return status;
}
