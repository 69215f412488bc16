/* The interface of the simulator: loading a module (its variables get their memory, their
 * initializers are written), memory for the caller, findings. */
#include "ir/debug.h"
#include "sim/ir.h"

#include "sim/special.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_SHARED = 227 << 10 };

/* --- findings ------------------------------------------------------------------------------------
 */

const char *sim_finding_name(enum sim_finding_kind kind) {
  static const char *const names[] = {[SIM_NOTHING] = "nothing",
                                      [SIM_BAD_PROGRAM] = "bad-program",
                                      [SIM_BAD_LAUNCH] = "bad-launch",
                                      [SIM_OUT_OF_BOUNDS] = "out-of-bounds",
                                      [SIM_MISALIGNED] = "misaligned",
                                      [SIM_UNINITIALIZED] = "uninitialized",
                                      [SIM_READ_ONLY] = "read-only",
                                      [SIM_BAD_CALL] = "bad-call",
                                      [SIM_STACK_OVERFLOW] = "stack-overflow",
                                      [SIM_DEADLOCK] = "deadlock",
                                      [SIM_DIVERGENT_BARRIER] = "divergent-barrier",
                                      [SIM_RACE] = "race",
                                      [SIM_DIVISION] = "division-by-zero",
                                      [SIM_MISSING_LANES] = "missing-lanes",
                                      [SIM_TRAP] = "trap",
                                      [SIM_ASSERT] = "assert",
                                      [SIM_STEP_LIMIT] = "step-limit",
                                      [SIM_UNSUPPORTED] = "unsupported",
                                      [SIM_MEMORY] = "memory",
                                      [SIM_POISON] = "poison",
                                      [SIM_UNDEFINED] = "undefined-behavior"};
  return names[kind];
}

/* As textbuf_format, which takes no va_list. */
static struct nvm_text format_message(struct sim *s, const char *format, va_list *arguments) {
  struct textbuf b;
  textbuf_init(&b, &s->arena);
  for (const char *p = format; *p; p++) {
    if (*p == '%') textbuf_directive(&b, *++p, arguments);
    else textbuf_char(&b, *p);
  }
  return (struct nvm_text){b.bytes ? b.bytes : "", b.length};
}

/* The source that `!dbg` names. */
static void set_source(struct sim *s, struct sim_finding *f, const struct func *code,
                       uint32_t instruction) {
  const struct nvm_module *m = s->ir->module;
  const struct meta_node *place = meta_as_node(&m->metadata, code->ir->locations.data[instruction]);
  const struct meta_node *file = place ? debug_file(m, place) : NULL;
  if (!file) return;
  struct nvm_text name = debug_text(m, file, "filename");
  f->source = strtab_intern(&s->ir->strings, name.bytes, name.length);
  f->source_line = debug_number(m, place, "line");
}

/* The line of the text, and of the source: for PTX by the nearest `.loc` above it. */
static void set_place(struct sim *s, struct sim_finding *f, const struct func *code, uint32_t pc) {
  f->function = code->name;
  while (pc + 1 < code->code_count && code->code[pc].line == 0) pc++;
  f->line = code->code[pc].line;
  if (code->ir) {
    set_source(s, f, code, code->code[pc].entry);
    return;
  }
  for (uint32_t i = code->code[pc].entry; i-- > 0;) {
    const struct ptx_entry *e = &code->ptx->entries.data[i];
    if (e->kind != PTX_LOC) continue;
    if (e->first_mod - 1 < s->module->files.count)
      f->source = s->module->files.data[e->first_mod - 1];
    f->source_line = (uint32_t)code->ptx->operands.data[e->first_operand].imm;
    return;
  }
}

void sim_report(struct warp *w, unsigned lane, enum sim_finding_kind kind, const char *format,
                ...) {
  w->stopped = true;
  struct sim *s = w->sim;
  if (s->finding.kind != SIM_NOTHING) return;
  va_list arguments;
  va_start(arguments, format);
  struct sim_finding f = {.kind = kind, .has_thread = true, .kernel = s->kernel->name};
  for (int k = 0; k < 3; k++) {
    f.thread[k] = (uint32_t)w->special[(SPECIAL_TID + k) * LANES + lane];
    f.block[k] = w->block->index[k];
  }
  if (w->frame) set_place(s, &f, w->frame->func, w->pc);
  f.message = format_message(s, format, &arguments);
  va_end(arguments);
  s->finding = f;
}

enum nvm_status sim_refuse(struct sim *s, enum sim_finding_kind kind, struct nvm_str function,
                           uint32_t line, const char *format, ...) {
  if (s->finding.kind != SIM_NOTHING) return NVM_REFUSED;
  va_list arguments;
  va_start(arguments, format);
  s->finding = (struct sim_finding){.kind = kind, .function = function, .line = line};
  s->finding.message = format_message(s, format, &arguments);
  va_end(arguments);
  return NVM_REFUSED;
}

const struct sim_finding *sim_found(const struct sim *s) { return &s->finding; }
const struct sim_counts *sim_counted(const struct sim *s) { return &s->counts; }
struct nvm_text sim_output(const struct sim *s) {
  return (struct nvm_text){s->output.length ? s->output.bytes : "", s->output.length};
}
void sim_output_taken(struct sim *s) { s->output.length = 0; }

/* --- creation
 * --------------------------------------------------------------------------------------- */

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

struct nvm_text sim_text(const struct sim *s, struct nvm_str name) {
  return strtab_text(s->module->strings, name);
}

const struct sim_symbol *sim_find_symbol(const struct sim *s, struct nvm_str name) {
  struct nvm_text text = sim_text(s, name);
  struct nvm_str found = strtab_find(&s->symbol_names, text.bytes, text.length);
  return found.index ? &s->symbols.data[found.index] : NULL;
}

const struct func *sim_code_at(const struct sim *s, uint64_t address) {
  uint64_t at = in_window(address);
  if (window_of(address) != WINDOW_CODE || at % 16 != 0 || at / 16 >= s->funcs.count) return NULL;
  return s->funcs.data[at / 16];
}

bool sim_add_symbol(struct sim *s, struct nvm_str name, struct sim_symbol symbol) {
  struct nvm_text text = sim_text(s, name);
  struct nvm_str key = strtab_intern(&s->symbol_names, text.bytes, text.length);
  if (!VEC_RESERVE(&s->arena, &s->symbols, (uint64_t)key.index + 1)) return false;
  if (key.index >= s->symbols.count) s->symbols.count = key.index + 1;
  s->symbols.data[key.index] = symbol;
  return true;
}

/* --- loading
 * ------------------------------------------------------------------------------------------ */

bool sim_place_variable(struct sim *s, struct nvm_str name, enum window window, uint64_t bytes,
                        uint64_t align, bool dynamic, struct sim_symbol *symbol) {
  *symbol = (struct sim_symbol){.window = window, .size = bytes};
  if (window == WINDOW_SHARED) {
    symbol->address = s->shared_static = align_up(s->shared_static, align);
    if (!dynamic) s->shared_static += bytes + SHARED_GAP;
    if (!dynamic && !VEC_PUSH(&s->arena, &s->shared_variables,
                              (struct shared_variable){name, symbol->address, bytes}))
      return false;
  } else {
    uint32_t object = memory_new_object(s, bytes, true, name);
    if (object == 0) return false;
    s->objects.data[object].read_only = window == WINDOW_CONST;
    symbol->address = memory_object_address(object);
  }
  return sim_add_symbol(s, name, *symbol);
}

/* The value of one initializer element. */
static bool init_bits(struct sim *s, const struct ptx_init *init, uint64_t *bits) {
  *bits = init->bits;
  if (init->symbol.index) {
    const struct sim_symbol *target = sim_find_symbol(s, init->symbol);
    if (!target) {
      sim_refuse(s, SIM_BAD_PROGRAM, (struct nvm_str){0}, 0,
                 "the initializer names %t, which is not defined", sim_text(s, init->symbol));
      return false;
    }
    *bits += target->address;
    bool tagged = init->generic || target->window == WINDOW_CODE;
    if (tagged) *bits += window_base(target->window);
  }
  if (init->mask_byte) *bits = *bits >> (8 * (init->mask_byte - 1)) & 0xff;
  return true;
}

static bool initialize(struct sim *s, const struct ptx_variable *v) {
  if (v->init_count == 0 || v->type == PTX_MOD_SAMPLERREF) return true;
  const struct sim_symbol *symbol = sim_find_symbol(s, v->name);
  if (!symbol || (symbol->window != WINDOW_GLOBAL && symbol->window != WINDOW_CONST)) return true;
  struct object *o = &s->objects.data[symbol->address >> OBJECT_SHIFT];
  uint64_t bytes = ptx_mod_row(v->type)->bits / 8, at = 0;
  for (uint32_t i = 0; i < v->init_count; i++, at += bytes) {
    uint64_t bits;
    if (!init_bits(s, &s->module->inits.data[v->first_init + i], &bits)) return false;
    if (at + bytes > o->size) break;
    for (uint64_t k = 0; k < bytes && k < 8; k++) o->bytes[at + k] = (uint8_t)(bits >> (8 * k));
  }
  return true;
}

static bool add_function(struct sim *s, const struct ptx_function *f) {
  const struct sim_symbol *known = sim_find_symbol(s, f->name);
  if (known && known->window == WINDOW_CODE) { /* declared before */
    struct func *func = s->funcs.data[known->address / 16];
    if (func->ptx->is_declaration) func->ptx = f;
    return true;
  }
  struct func *func = arena_alloc(&s->arena, sizeof *func);
  if (!func) return false;
  func->ptx = f;
  func->name = f->name;
  func->trace = trace_ptx;
  func->native = native_find(sim_text(s, f->name));
  struct sim_symbol symbol = {WINDOW_CODE, (uint64_t)s->funcs.count * 16, 0, func};
  return VEC_PUSH(&s->arena, &s->funcs, func) && sim_add_symbol(s, f->name, symbol);
}

static bool is_module_variable(const struct ptx_variable *v) {
  return v->space == PTX_MOD_GLOBAL || v->space == PTX_MOD_CONST || v->space == PTX_MOD_SHARED;
}

static bool place_variables(struct sim *s, const struct ptx_variable *variables, uint32_t count,
                            bool dynamic) {
  bool ok = true;
  for (uint32_t i = 0; i < count && ok; i++) {
    const struct ptx_variable *v = &variables[i];
    struct sim_symbol symbol;
    uint64_t align, bytes = decode_variable(v, &align);
    bool shared = v->space == PTX_MOD_SHARED,
         wanted = (shared && v->is_unsized) == dynamic && is_module_variable(v);
    if (wanted && v->name.index && (dynamic || !sim_find_symbol(s, v->name)))
      ok = sim_place_variable(s, v->name, (enum window)decode_window(v->space), bytes, align,
                              dynamic, &symbol);
  }
  return ok;
}

enum nvm_status sim_load(struct sim *s, const struct ptx_module *m) {
  s->module = m;
  bool ok = true;
  for (int round = 0; ok && round < 3; round++) {
    ok = place_variables(s, m->variables.data, m->variables.count, round > 0);
    for (uint32_t i = 0; ok && i < m->functions.count; i++) {
      const struct ptx_function *f = m->functions.data[i];
      ok = (round > 0 || add_function(s, f)) &&
           place_variables(s, f->variables.data, f->variables.count, round > 0);
    }
    s->shared_static = align_up(s->shared_static, 16);
  }
  for (uint32_t i = 0; ok && i < m->variables.count; i++)
    if (is_module_variable(&m->variables.data[i])) ok = initialize(s, &m->variables.data[i]);
  if (s->finding.kind) return NVM_REFUSED;
  return ok ? NVM_OK : NVM_OUT_OF_MEMORY;
}

/* --- the caller's memory
 * ------------------------------------------------------------------------------ */

uint64_t sim_allocate(struct sim *s, uint64_t bytes, bool initialized) {
  return memory_object_address(memory_new_object(s, bytes, initialized, (struct nvm_str){0}));
}

void *sim_memory(struct sim *s, uint64_t address, uint64_t bytes) {
  uint64_t number = address >> OBJECT_SHIFT, offset = address & ((UINT64_C(1) << OBJECT_SHIFT) - 1);
  if (number == 0 || number >= s->objects.count) return NULL;
  struct object *o = &s->objects.data[number];
  return offset <= o->size && bytes <= o->size - offset ? o->bytes + offset : NULL;
}

uint64_t sim_symbol(struct sim *s, struct nvm_text name) {
  struct nvm_str key = strtab_find(&s->symbol_names, name.bytes, name.length);
  if (!key.index) return 0;
  const struct sim_symbol *symbol = &s->symbols.data[key.index];
  return symbol->window == WINDOW_GLOBAL || symbol->window == WINDOW_CONST ? symbol->address : 0;
}

static bool is_kernel(const struct ptx_function *f) { return f->is_entry && !f->is_declaration; }

const struct ptx_function *sim_kernel(const struct sim *s, struct nvm_text name) {
  struct nvm_str key = strtab_find(&s->symbol_names, name.bytes, name.length);
  const struct func *f = key.index ? s->symbols.data[key.index].func : NULL;
  return f && is_kernel(f->ptx) ? f->ptx : NULL;
}

const struct ptx_function *sim_kernel_at(const struct sim *s, uint32_t i) {
  for (uint32_t k = 1; k < s->funcs.count; k++)
    if (is_kernel(s->funcs.data[k]->ptx) && i-- == 0) return s->funcs.data[k]->ptx;
  return NULL;
}

/* --- launching
 * ------------------------------------------------------------------------------------------ */

static enum nvm_status check_launch(struct sim *s, const struct sim_launch *l) {
  struct nvm_str none = {0};
  uint64_t threads = 1;
  for (int k = 0; k < 3; k++) {
    if (l->grid[k] == 0 || l->block[k] == 0)
      return sim_refuse(s, SIM_BAD_LAUNCH, none, 0,
                        "grid and block need at least 1 in each direction");
    threads *= l->block[k];
  }
  if (threads > 1024 || l->block[2] > 64)
    return sim_refuse(s, SIM_BAD_LAUNCH, none, 0,
                      "a block has at most 1024 threads, 64 of them in z");
  const struct ptx_function *f = sim_kernel(s, l->kernel);
  if (!f) return sim_refuse(s, SIM_BAD_LAUNCH, none, 0, "there is no kernel '%t'", l->kernel);
  if (f->params.count != l->argument_count)
    return sim_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                      "kernel %t has %u parameters, but %u arguments were given", l->kernel,
                      f->params.count, l->argument_count);
  uint32_t most =
      f->performance.maxntid[0]
          ? f->performance.maxntid[0] * f->performance.maxntid[1] * f->performance.maxntid[2]
          : 1024;
  if (threads > most)
    return sim_refuse(s, SIM_BAD_LAUNCH, f->name, 0, "kernel %t allows %u threads a block, not %U",
                      l->kernel, most, threads);
  return NVM_OK;
}

static enum nvm_status place_arguments(struct sim *s, const struct sim_launch *l) {
  const struct func *f = s->kernel;
  s->kernel_params = arena_alloc(&s->arena, f->kernel_param_bytes + 16);
  if (!s->kernel_params) return NVM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < l->argument_count; i++) {
    const struct slot *slot = &f->formals[i];
    if (l->argument_bytes[i] != slot->bytes)
      return sim_refuse(s, SIM_BAD_LAUNCH, f->name, 0,
                        "argument %u of kernel %t has %U bytes, but its parameter has %u", i,
                        l->kernel, l->argument_bytes[i], slot->bytes);
    memcpy(s->kernel_params + slot->offset, l->arguments[i], slot->bytes);
  }
  return NVM_OK;
}

/* The kernel's clusters, or the launch's. */
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
  sim_refuse(s, SIM_BAD_LAUNCH, s->kernel->name, 0,
             whole ? "a cluster has at most 16 blocks"
                   : "the grid is no multiple of the cluster of %u by %u by %u blocks",
             s->cluster_dim[0], s->cluster_dim[1], s->cluster_dim[2]);
  return false;
}

/* Before sm_70 lanes only part at branches. */
static bool lanes_may_part(struct nvm_text target) {
  uint32_t number = 0;
  for (size_t i = 3; i < target.length && target.bytes[i] >= '0' && target.bytes[i] <= '9'; i++)
    number = number * 10 + (uint32_t)(target.bytes[i] - '0');
  return number >= 70;
}

enum nvm_status sim_launch(struct sim *s, const struct sim_launch *l) {
  s->finding = (struct sim_finding){0};
  enum nvm_status status = check_launch(s, l);
  if (status != NVM_OK) return status;
  struct nvm_str key = strtab_find(&s->symbol_names, l->kernel.bytes, l->kernel.length);
  struct func *f = s->funcs.data[s->symbols.data[key.index].address / 16];
  status = decode_function(s, f);
  if (status != NVM_OK) return status;
  s->launch = l;
  s->kernel = f;
  s->shared_bytes = s->shared_static + l->shared_bytes;
  if (s->shared_bytes - sim_gaps(s) > MOST_SHARED)
    return sim_refuse(
        s, SIM_BAD_LAUNCH, f->name, 0,
        "kernel %t needs %U bytes of shared memory; no GPU has more than %u for a block", l->kernel,
        s->shared_bytes - sim_gaps(s), (unsigned)MOST_SHARED);
  s->stack_bytes = l->stack_bytes ? l->stack_bytes : UINT64_C(512) << 10;
  s->step_limit = l->step_limit ? l->step_limit : UINT64_MAX;
  s->free_blocks = NULL;
  s->free_clusters = NULL;
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
