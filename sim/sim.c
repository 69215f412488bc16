/* The interface of the simulator: creation, memory of the caller, launches, results. */
#include "sim/ir/ir.h"
#include "sim/machine/finding.h"
#include "sim/machine/memory.h"
#include "sim/machine/race.h"
#include "sim/machine/special.h"
#include "sim/machine/symbol.h"
#include "sim/machine/watch.h"
#include "sim/ptx/decoder.h"

#include <string.h>

enum { MAX_SHARED = 227 << 10 }; /* bytes of a block */

/* --- creation --------------------------------------------------------------------------------- */

struct sim *sim_create(struct nvm_allocator allocator, size_t limit_bytes) {
  struct arena arena;
  arena_init(&arena, allocator);
  arena.limit_bytes = limit_bytes;
  struct sim *s = arena_alloc(&arena, sizeof *s);
  if (!s) {
    arena_free(&arena);
    return NULL;
  }
  s->arena = arena;
  textbuf_init(&s->output, &s->arena);
  textbuf_init(&s->trace, &s->arena);
  s->host_is_ieee = special_host_is_ieee();
  bool ok = strtab_init(&s->symbol_names, &s->arena) &&
            VEC_PUSH(&s->arena, &s->objects, (struct object){0}) &&
            VEC_PUSH(&s->arena, &s->symbols, (struct sim_symbol){0}) &&
            VEC_PUSH(&s->arena, &s->funcs, NULL);
  if (ok) return s;
  sim_destroy(s);
  return NULL;
}

void sim_destroy(struct sim *s) {
  if (!s) return;
  struct arena arena = s->arena;
  arena_free(&arena);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* When out of memory, a finding may be one that only that caused. */
static enum nvm_status unless_failed(const struct sim *s, enum nvm_status status) {
  return s->arena.failed && s->finding.kind != SIM_MEMORY ? NVM_OUT_OF_MEMORY : status;
}

enum nvm_status sim_load(struct sim *s, const struct ptx_module *m) {
  return unless_failed(s, load_ptx(s, m));
}

enum nvm_status sim_load_ir(struct sim *s, struct nvm_module *m, struct nvm_text source) {
  return unless_failed(s, ir_load(s, m, source));
}

struct nvm_text sim_text(const struct sim *s, struct nvm_str name) {
  return symbol_text(s, name);
}

/* --- the caller's memory ---------------------------------------------------------------------- */

uint64_t sim_allocate(struct sim *s, uint64_t bytes, bool initialized) {
  return memory_object_address(memory_new_object(s, bytes, initialized, (struct nvm_str){0}));
}

void *sim_memory(struct sim *s, uint64_t address, uint64_t bytes) {
  uint64_t number = object_number(address), offset = in_object(address);
  if (number == 0 || number >= s->objects.count) return NULL;
  struct object *o = &s->objects.data[number];
  offset -= o->first;
  return offset <= o->size && bytes <= o->size - offset ? o->bytes + offset : NULL;
}

bool sim_is_poison(const struct sim *s, uint64_t address) {
  uint64_t number = object_number(address), offset = in_object(address);
  if (number == 0 || number >= s->objects.count) return false;
  const struct object *o = &s->objects.data[number];
  offset -= o->first;
  return o->written && offset < o->size && o->written[offset] == SHADOW_POISON;
}

uint64_t sim_symbol(struct sim *s, struct nvm_text name, uint64_t *bytes) {
  const struct sim_symbol *symbol = symbol_find(s, name);
  bool has_object = symbol && (symbol->window == WINDOW_GLOBAL || symbol->window == WINDOW_CONST);
  if (bytes) *bytes = has_object ? symbol->size : 0;
  return has_object ? symbol->address : 0;
}

static bool is_kernel(const struct ptx_function *f) { return f->is_entry && !f->is_declaration; }

const struct ptx_function *sim_kernel(const struct sim *s, struct nvm_text name) {
  const struct sim_symbol *symbol = symbol_find(s, name);
  const struct func *f = symbol ? symbol->func : NULL;
  return f && is_kernel(f->ptx) ? f->ptx : NULL;
}

const struct ptx_function *sim_kernel_at(const struct sim *s, uint32_t i) {
  for (uint32_t k = 1; k < s->funcs.count; k++)
    if (is_kernel(s->funcs.data[k]->ptx) && i-- == 0) return s->funcs.data[k]->ptx;
  return NULL;
}

enum sim_parameter_kind sim_parameter_kind(const struct ptx_variable *parameter) {
  if (parameter->is_ptr) return SIM_POINTER;
  if (parameter->is_array || parameter->vector) return SIM_BYTES;
  switch (parameter->type) {
    case PTX_MOD_BF16: return SIM_BFLOAT;
    case PTX_MOD_F16:
    case PTX_MOD_F32:
    case PTX_MOD_F64: return SIM_FLOAT;
    case PTX_MOD_B8:
    case PTX_MOD_B16:
    case PTX_MOD_B32:
    case PTX_MOD_B64:
    case PTX_MOD_B128: return SIM_BYTES;
    default: return SIM_INTEGER;
  }
}

uint64_t sim_parameter_bytes(const struct ptx_variable *parameter) {
  uint64_t align;
  return decoder_variable(parameter, &align);
}

/* --- launching -------------------------------------------------------------------------------- */

static enum nvm_status check_launch(struct sim *s, const struct sim_launch *l) {
  struct nvm_str none = {0};
  uint64_t threads = 1;
  for (int k = 0; k < 3; k++) {
    if (l->grid[k] == 0 || l->block[k] == 0)
      return finding_refuse(s, SIM_BAD_LAUNCH, none, 0,
                            "grid and block dimensions must be at least 1");
    threads = threads > 1024 || l->block[k] > 1024 ? 1025 : threads * l->block[k];
  }
  if (threads > 1024 || l->block[2] > 64)
    return finding_refuse(s, SIM_BAD_LAUNCH, none, 0,
                          "a block has at most 1024 threads, and 64 in z");
  if (l->grid[0] > INT32_MAX || l->grid[1] > UINT16_MAX || l->grid[2] > UINT16_MAX)
    return finding_refuse(s, SIM_BAD_LAUNCH, none, 0,
                          "a grid has at most 2147483647 blocks in x, 65535 in y and z");
  const struct ptx_function *f = sim_kernel(s, l->kernel);
  if (!f) return finding_refuse(s, SIM_BAD_LAUNCH, none, 0, "no kernel named '%t'", l->kernel);
  if (f->params.count != l->argument_count)
    return finding_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                          "kernel '%t' has %u parameters, but %u arguments were given", l->kernel,
                          f->params.count, l->argument_count);
  uint32_t most =
      f->performance.maxntid[0]
          ? f->performance.maxntid[0] * f->performance.maxntid[1] * f->performance.maxntid[2]
          : 1024;
  const uint32_t *exact = f->performance.reqntid;
  if (exact[0] && (l->block[0] != exact[0] || l->block[1] != exact[1] || l->block[2] != exact[2]))
    return finding_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                          "kernel '%t' requires blocks of %u x %u x %u threads", l->kernel,
                          exact[0], exact[1], exact[2]);
  if (threads > most)
    return finding_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                          "kernel '%t' allows %u threads per block, not %U", l->kernel, most,
                          threads);
  return NVM_OK;
}

static enum nvm_status place_arguments(struct sim *s, const struct sim_launch *l) {
  const struct func *f = s->kernel;
  s->kernel_params = arena_alloc(&s->arena, f->kernel_param_bytes + 16);
  if (!s->kernel_params) return NVM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < l->argument_count; i++) {
    const struct slot *slot = &f->formals[i];
    if (l->argument_bytes[i] != slot->bytes)
      return finding_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                            "argument %u of kernel '%t' has %U bytes, but the parameter has %u", i,
                            l->kernel, l->argument_bytes[i], slot->bytes);
    memcpy(s->kernel_params + slot->offset, l->arguments[i], slot->bytes);
  }
  return NVM_OK;
}

/* The clusters of the launch, or of the kernel. */
static bool choose_cluster(struct sim *s, const struct sim_launch *l) {
  const uint32_t *given = l->cluster[0]    ? l->cluster
                          : s->kernel->ptx ? s->kernel->ptx->performance.cluster_dim
                                           : l->cluster;
  uint32_t size = 1;
  bool whole = true;
  s->clusters_given = given[0] != 0;
  for (int k = 0; k < 3; k++) {
    s->cluster_dim[k] = given[0] && given[k] ? given[k] : 1;
    size = size <= CLUSTER_LIMIT && s->cluster_dim[k] <= CLUSTER_LIMIT ? size * s->cluster_dim[k]
                                                                       : CLUSTER_LIMIT + 1;
    whole = whole && l->grid[k] % s->cluster_dim[k] == 0;
  }
  if (size <= CLUSTER_LIMIT && whole) return true;
  finding_refuse(s, SIM_BAD_LAUNCH, s->kernel->name, 0,
                 whole ? "a cluster has at most 16 blocks"
                       : "the grid is not a multiple of the cluster of %u by %u by %u blocks",
                 s->cluster_dim[0], s->cluster_dim[1], s->cluster_dim[2]);
  return false;
}

/* Before sm_70 lanes diverge at branches only. */
static bool lanes_may_part(struct nvm_text target) {
  uint32_t number = 0;
  for (size_t i = 3; i < target.length && target.bytes[i] >= '0' && target.bytes[i] <= '9'; i++)
    number = number * 10 + (uint32_t)(target.bytes[i] - '0');
  return number >= 70;
}

static enum nvm_status launch(struct sim *s, const struct sim_launch *l) {
  s->finding = (struct sim_finding){0};
  s->counts = (struct sim_counts){0};
  enum nvm_status status = check_launch(s, l);
  if (status != NVM_OK) return status;
  struct func *f = s->funcs.data[symbol_find(s, l->kernel)->address / 16];
  status = code_prepare(s, f);
  if (status != NVM_OK) return status;
  s->launch = l;
  s->kernel = f;
  s->shared_bytes = s->shared_static + l->shared_bytes;
  if (l->shared_bytes > MAX_SHARED || s->shared_bytes - symbol_gaps(s) > MAX_SHARED)
    return finding_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                          "kernel '%t' needs %U bytes of shared memory, but a block has at most %u",
                          l->kernel, s->shared_bytes - symbol_gaps(s), (unsigned)MAX_SHARED);
  s->stack_bytes = l->stack_bytes ? l->stack_bytes : UINT64_C(512) << 10;
  s->step_limit = l->step_limit ? l->step_limit : UINT64_MAX;
  block_begin(s);
  s->copies.count = 0;
  if (!choose_cluster(s, l)) return NVM_REFUSED;
  s->watched = l->count || l->trace || l->random_schedule;
  s->random = l->seed;
  s->lanes_part = lanes_may_part(sim_text(s, s->module->target));
  status = place_arguments(s, l);
  if (status == NVM_OK && !race_begin(s)) status = NVM_OUT_OF_MEMORY;
  if (status == NVM_OK) status = block_run_grid(s);
  trace_end(s);
  return status;
}

enum nvm_status sim_launch(struct sim *s, const struct sim_launch *l) {
  return unless_failed(s, launch(s, l));
}

/* --- results ---------------------------------------------------------------------------------- */

const char *sim_finding_name(enum sim_finding_kind kind) {
#define NAME(kind, name) name,
  static const char *const names[] = {SIM_FINDINGS(NAME)};
#undef NAME
  return names[kind];
}

const struct sim_finding *sim_found(const struct sim *s) { return &s->finding; }
const struct sim_counts *sim_counted(const struct sim *s) { return &s->counts; }

uint64_t sim_blocks_ended(const struct sim *s) { return s->blocks_ended; }
struct nvm_text sim_output(const struct sim *s) {
  return (struct nvm_text){s->output.length ? s->output.bytes : "", s->output.length};
}
void sim_output_taken(struct sim *s) { s->output.length = 0; }

struct count_reporter {
  void (*report)(void *state, const char *name, uint64_t value);
  void *state;
};

static void report_count(const struct count_reporter *r, const char *group, const char *name,
                         uint64_t value) {
  char whole[64];
  size_t length = strlen(group), rest = strlen(name);
  if (length + rest + 2 > sizeof whole) return; /* no name is that long */
  memcpy(whole, group, length);
  if (length) whole[length++] = '.';
  memcpy(whole + length, name, rest + 1);
  r->report(r->state, whole, value);
}

void sim_each_count(const struct sim_counts *c,
                    void (*report)(void *state, const char *name, uint64_t value), void *state) {
  static const char *const spaces[SIM_SPACE_COUNT] = {"global", "shared", "local", "const",
                                                      "param"};
  struct count_reporter r = {report, state};
  report_count(&r, "", "instructions", c->instructions);
  report_count(&r, "", "warp_instructions", c->warp_instructions);
  for (int i = 0; i < PTX_ISSUE_COUNT; i++)
    report_count(&r, "class", ptx_issue_name((enum ptx_issue)i), c->by_class[i]);
  report_count(&r, "", "branches", c->branches);
  report_count(&r, "branches", "diverged", c->diverged);
  report_count(&r, "", "barriers", c->barriers);
  for (int i = 0; i < SIM_SPACE_COUNT; i++) {
    const struct sim_space_counts *s = &c->space[i];
    report_count(&r, spaces[i], "loads", s->loads);
    report_count(&r, spaces[i], "stores", s->stores);
    report_count(&r, spaces[i], "atomics", s->atomics);
    report_count(&r, spaces[i], "load_bytes", s->load_bytes);
    report_count(&r, spaces[i], "store_bytes", s->store_bytes);
    report_count(&r, spaces[i], "lines", s->lines);
    report_count(&r, spaces[i], "sectors", s->sectors);
  }
  report_count(&r, "shared", "bank_conflicts", c->bank_conflicts);
}

struct count_printer {
  struct textbuf *out;
  bool json;
  const char *separator;
};

static void print_count(void *state, const char *name, uint64_t value) {
  struct count_printer *p = state;
  if (p->json) textbuf_format(p->out, "%s\"%s\": %U", p->separator, name, value);
  else textbuf_format(p->out, "%s %U\n", name, value);
  p->separator = ", ";
}

void sim_print_counts(const struct sim_counts *c, bool json, struct textbuf *out) {
  struct count_printer p = {out, json, "{"};
  sim_each_count(c, print_count, &p);
  if (json) textbuf_puts(out, "}\n");
}
