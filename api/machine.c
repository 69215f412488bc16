/* Machines: execution of a module's kernels in the simulator.
 *
 * A machine wraps a struct sim. All memory is of the context's allocator; what a machine of PTX
 * parsed is in the machine's own arena. */
#include "api/context.h"
#include "ptx/parse.h"
#include "sim/sim.h"

#include <string.h>

struct nvmini_machine {
  struct nvmini_context *context;
  struct arena arena;
  struct sim *sim;
  struct strtab strings; /* these two of PTX */
  struct ptx_module ptx;
  struct nvmini_kernel *kernels;
  uint32_t kernel_count;
};

/* ---- loading ---- */

static struct nvmini_machine *create(struct nvmini_context *c) {
  struct arena arena;
  arena_init(&arena, context_allocator(c));
  struct nvmini_machine *m = arena_alloc(&arena, sizeof *m);
  if (m) {
    *m = (struct nvmini_machine){.context = c, .arena = arena};
    m->sim = sim_create(context_allocator(c), 0);
    if (m->sim) return m;
  }
  arena_free(&arena);
  return NULL;
}

void nvmini_unload(struct nvmini_machine *machine) {
  if (machine == NULL) return;
  sim_destroy(machine->sim);
  struct arena arena = machine->arena;
  arena_free(&arena);
}

static bool list_kernel(struct nvmini_machine *m, const struct ptx_function *f) {
  struct nvmini_parameter *parameters =
      arena_alloc(&m->arena, f->params.count * sizeof *parameters);
  static const enum nvmini_parameter_kind kinds[] = {[SIM_BYTES] = NVMINI_BYTES,
                                                     [SIM_INTEGER] = NVMINI_INTEGER,
                                                     [SIM_FLOAT] = NVMINI_FLOAT,
                                                     [SIM_BFLOAT] = NVMINI_BFLOAT,
                                                     [SIM_POINTER] = NVMINI_POINTER};
  for (uint32_t i = 0; parameters && i < f->params.count; i++) {
    const struct ptx_variable *p = &f->params.data[i];
    parameters[i] = (struct nvmini_parameter){kinds[sim_parameter_kind(p)], sim_parameter_bytes(p)};
  }
  m->kernels[m->kernel_count++] =
      (struct nvmini_kernel){sim_text(m->sim, f->name).bytes, parameters, f->params.count};
  return parameters != NULL;
}

static enum nvm_status list_kernels(struct nvmini_machine *m) {
  uint32_t count = 0;
  while (sim_kernel_at(m->sim, count)) count++;
  m->kernels = arena_alloc(&m->arena, count * sizeof *m->kernels);
  for (uint32_t i = 0; i < count; i++)
    if (!m->kernels || !list_kernel(m, sim_kernel_at(m->sim, i))) return NVM_OUT_OF_MEMORY;
  return m->kernels ? NVM_OK : NVM_OUT_OF_MEMORY;
}

/* Whether there was no memory for an allocation of the kernel, or for the finding's message. */
static bool is_without_memory(const struct sim *sim) {
  const struct sim_finding *f = sim_found(sim);
  return f->kind == SIM_MEMORY || f->message.length == 0;
}

/* A finding of the load as a diagnostic, at its line of the source if it is known. */
static void report_load(const struct sim *sim, const struct nvmini_module *m,
                        struct diag_sink *sink) {
  const struct sim_finding *f = sim_found(sim);
  struct diag_range range = {0, 0, 0};
  const char *text = m->source.bytes;
  for (uint32_t line = 1; line < f->line && range.begin < m->source.length; range.begin++)
    line += text[range.begin] == '\n';
  range.end = range.begin;
  diag_report(sink, DIAG_NOT_EXECUTABLE, range, &f->message, 1);
}

/* Ends a load: of IR, or of PTX, for which `m` only has the source of messages. */
static enum nvmini_status finish(struct nvmini_machine *machine, struct nvmini_module *m,
                                 struct arena *arena, struct diag_sink *sink,
                                 enum nvm_status status, struct nvmini_machine **out) {
  if (status == NVM_OK) status = list_kernels(machine);
  else if (status == NVM_REFUSED && sink->error_count == 0) {
    if (is_without_memory(machine->sim)) status = NVM_OUT_OF_MEMORY;
    else report_load(machine->sim, m, sink);
  }
  enum nvmini_status result = report_finish(machine->context, m, arena, sink, status);
  if (result == NVMINI_OK) *out = machine;
  else nvmini_unload(machine);
  return result;
}

enum nvmini_status nvmini_load(struct nvmini_module *module, struct nvmini_machine **machine) {
  struct nvmini_context *c = module->context;
  *machine = NULL;
  if (module->state == MODULE_PARSED) {
    enum nvmini_status optimized = nvmini_optimize(module);
    if (optimized != NVMINI_OK) return optimized;
  }
  struct nvmini_machine *m = create(c);
  if (m == NULL) return report_out_of_memory(c, module);
  struct arena arena;
  struct diag_sink sink;
  report_start(c, &arena, &sink);
  struct nvmini_text source = module_source(module);
  enum nvm_status loaded = NVM_REFUSED;
  if (module->state == MODULE_COMPILED)
    diag_report_s(&sink, DIAG_NOT_EXECUTABLE, (struct diag_range){0, 0, 0},
                  "the module was compiled; load its PTX", NULL, NULL);
  else
    loaded =
        sim_load_ir(m->sim, module->ir,
                    (struct nvm_text){source.bytes, module_is_text(module) ? source.length : 0});
  return finish(m, module, &arena, &sink, loaded, machine);
}

static enum nvm_status parse_ptx(struct nvmini_machine *m, const char *text, size_t length,
                                 struct diag_sink *sink) {
  struct ptx_parse_error error;
  m->ptx.arena = &m->arena;
  m->ptx.strings = &m->strings;
  struct nvm_text copy = {arena_copy(&m->arena, text, length), length};
  if (!copy.bytes || !strtab_init(&m->strings, &m->arena)) return NVM_OUT_OF_MEMORY;
  enum nvm_status status = ptx_parse_module(copy, &m->ptx, &error);
  if (status == NVM_REFUSED)
    diag_report(sink, DIAG_PTX_SYNTAX, (struct diag_range){0, error.begin, error.end},
                &error.message, 1);
  return status == NVM_OK ? sim_load(m->sim, &m->ptx) : status;
}

enum nvmini_status nvmini_load_ptx(struct nvmini_context *context, const char *text, size_t length,
                                   const char *name, struct nvmini_machine **machine) {
  struct nvmini_machine *m = create(context);
  struct nvmini_module source = {
      .context = context, .source = {text, length}, .is_text = true, .name = name};
  struct arena arena;
  struct diag_sink sink;
  *machine = NULL;
  if (m == NULL) return report_out_of_memory(context, &source);
  report_start(context, &arena, &sink);
  enum nvm_status loaded = parse_ptx(m, text, length, &sink);
  return finish(m, &source, &arena, &sink, loaded, machine);
}

const struct nvmini_kernel *nvmini_kernels(const struct nvmini_machine *machine, uint32_t *count) {
  *count = machine->kernel_count;
  return machine->kernels;
}

/* ---- memory ---- */

uint64_t nvmini_allocate(struct nvmini_machine *machine, uint64_t bytes, int initialized) {
  return sim_allocate(machine->sim, bytes, initialized != 0);
}

uint64_t nvmini_variable(const struct nvmini_machine *machine, const char *name, uint64_t *bytes) {
  return sim_symbol(machine->sim, text_of(name), bytes);
}

void *nvmini_memory(struct nvmini_machine *machine, uint64_t address, uint64_t bytes) {
  return sim_memory(machine->sim, address, bytes);
}

/* ---- launching ---- */

static void report_finding(const struct nvmini_machine *m, const struct nvmini_launch *l) {
  const struct sim_finding *f = sim_found(m->sim);
  if (!l->finding) return;
  struct nvmini_finding p = {.kind = sim_finding_name(f->kind),
                             .message = public_text(f->message),
                             .has_thread = f->has_thread,
                             .line = f->line,
                             .source_line = f->source_line};
  for (int k = 0; k < 3; k++) {
    p.block[k] = f->block[k];
    p.thread[k] = f->thread[k];
  }
  if (f->kernel.index) p.kernel = public_text(sim_text(m->sim, f->kernel));
  if (f->function.index) p.function = public_text(sim_text(m->sim, f->function));
  if (f->source.index) p.source = public_text(sim_text(m->sim, f->source));
  l->finding(l->user, &p);
}

static void report_trace(void *state, struct nvm_text line) {
  const struct nvmini_launch *l = state;
  l->trace(l->user, public_text(line));
}

static struct sim_launch private_launch(const struct nvmini_launch *l) {
  bool checks = !l->no_checks;
  struct sim_launch s = {.kernel = text_of(l->kernel),
                         .shared_bytes = l->shared_bytes,
                         .arguments = l->arguments,
                         .argument_bytes = l->argument_bytes,
                         .argument_count = l->argument_count,
                         .step_limit = l->step_limit ? l->step_limit : UINT64_C(10000000000),
                         .stack_bytes = l->stack_bytes,
                         .check_uninitialized = checks,
                         .check_races = checks,
                         .check_division = checks,
                         .count = l->count != NULL,
                         .random_schedule = l->random_schedule != 0,
                         .seed = l->seed,
                         .trace = l->trace ? report_trace : NULL,
                         .trace_data = (void *)(uintptr_t)l,
                         .trace_block = l->trace_block,
                         .trace_thread = l->trace_thread};
  for (int k = 0; k < 3; k++) {
    s.grid[k] = l->grid[k] ? l->grid[k] : 1;
    s.block[k] = l->block[k] ? l->block[k] : 1;
    s.cluster[k] = l->cluster[k];
  }
  return s;
}

enum nvmini_status nvmini_launch(struct nvmini_machine *machine,
                                 const struct nvmini_launch *launch) {
  struct sim_launch l = private_launch(launch);
  enum nvm_status status = sim_launch(machine->sim, &l);
  if (launch->output) launch->output(launch->user, public_text(sim_output(machine->sim)));
  sim_output_taken(machine->sim);
  if (launch->count) sim_each_count(sim_counted(machine->sim), launch->count, launch->user);
  if (status == NVM_OK) return NVMINI_OK;
  if (status != NVM_REFUSED || is_without_memory(machine->sim))
    return report_out_of_memory(machine->context, NULL);
  report_finding(machine, launch);
  return NVMINI_REFUSED;
}
