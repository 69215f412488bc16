/* From the modules of a program to PTX: parse, check versions, verify, link, compile. Everything
 * but result and log lives in a context that ends with the call. */
#include "api/module.h"
#include "compat/program.h"
#include "ir/module_flags.h"
#include "target/triple.h"

/* ---- The log ---- */

/* Messages are separated by newlines; the last one has none, as in libNVVM. */
static struct textbuf *start_message(struct build *b) {
  struct textbuf *log = &b->program->log;
  if (log->length > 0) textbuf_char(log, '\n');
  if (b->name) textbuf_puts(log, b->name);
  return log;
}

static nvvmResult refuse(struct build *b, const char *message) {
  textbuf_format(start_message(b), "%s%s", b->name ? ": error: " : "error: ", message);
  return b->refused;
}

static const char *severity_word(const struct build *b, enum nvmini_severity severity) {
  switch (severity) {
    case NVMINI_ERROR: return b->stage == STAGE_PARSE ? "parse " : "error: ";
    case NVMINI_WARNING: return "warning: ";
    case NVMINI_REMARK: return "remark: ";
    case NVMINI_NOTE: return "note: ";
  }
  return "";
}

/* "name (line, column): parse message", with columns from 0. After linking, a position may be of
 * any module, and is not printed. Hints are left out: they name options of the command. */
static void log_diagnostic(void *user, const struct nvmini_diagnostic *d) {
  struct build *b = user;
  struct textbuf *log = start_message(b);
  if (b->name && d->line > 0) textbuf_format(log, " (%u, %u)", d->line, d->column - 1);
  textbuf_format(log, "%s%s%s%t", b->name ? ": " : "", b->stage == STAGE_LINK ? "link error: " : "",
                 severity_word(b, d->severity),
                 (struct nvm_text){d->message.bytes, d->message.length});
  if (d->function.length > 0)
    textbuf_format(log, " in function '%t'",
                   (struct nvm_text){d->function.bytes, d->function.length});
}

static nvvmResult result_of(const struct build *b, enum nvmini_status status) {
  switch (status) {
    case NVMINI_OK: return NVVM_SUCCESS;
    case NVMINI_OUT_OF_MEMORY: return NVVM_ERROR_OUT_OF_MEMORY;
    case NVMINI_BAD_OPTION: return NVVM_ERROR_INVALID_OPTION;
    case NVMINI_REFUSED:
    case NVMINI_BUG: return b->refused;
  }
  return b->refused;
}

/* ---- Versions ---- */

enum { VERSION_PARTS = 4 }; /* IR major, minor, debug major, minor; the latter two optional */

/* Reads an operand of !nvvmir.version; false if malformed. The debug version defaults to ours. */
static bool read_version(const struct nvm_module *m, struct nvm_meta operand,
                         uint64_t parts[VERSION_PARTS]) {
  const struct meta_table *t = &m->metadata;
  const struct meta_item *item = &t->items.data[operand.index];
  if (item->kind != META_NODE && item->kind != META_INLINE) return false;
  const struct meta_node *node = &t->nodes.data[item->node];
  if (node->count != 2 && node->count != VERSION_PARTS) return false;
  for (uint32_t i = 0; i < node->count; i++) {
    nvm_u128 value;
    if (!meta_is_int(m, t->operands.data[node->first + i], &value)) return false;
    parts[i] = (uint64_t)value;
  }
  return true;
}

static nvvmResult refuse_version(struct build *b, const char *what, const uint64_t *found,
                                 unsigned major, unsigned minor) {
  textbuf_format(start_message(b),
                 ": error: %s version %U.%U incompatible with current version %u.%u", what,
                 found[0], found[1], major, minor);
  return NVVM_ERROR_IR_VERSION_MISMATCH;
}

/* A module without a version is of version 1.0. */
static nvvmResult check_version(struct build *b, const struct nvm_module *m) {
  const struct named_metadata *list = module_named_metadata(m, "nvvmir.version");
  uint32_t count = list ? list->count : 0;
  for (uint32_t i = 0; i < count || i == 0; i++) {
    uint64_t parts[VERSION_PARTS] = {1, 0, PROGRAM_DEBUG_MAJOR, PROGRAM_DEBUG_MINOR};
    if (count > 0 && !read_version(m, m->metadata.operands.data[list->first + i], parts)) {
      refuse(b, "!nvvmir.version must have 2 or 4 integers");
      return NVVM_ERROR_IR_VERSION_MISMATCH;
    }
    if (parts[0] != PROGRAM_IR_MAJOR || parts[1] > PROGRAM_IR_MINOR)
      return refuse_version(b, "IR", parts, PROGRAM_IR_MAJOR, PROGRAM_IR_MINOR);
    if (parts[2] != PROGRAM_DEBUG_MAJOR || parts[3] > PROGRAM_DEBUG_MINOR)
      return refuse_version(b, "debug metadata", parts + 2, PROGRAM_DEBUG_MAJOR,
                            PROGRAM_DEBUG_MINOR);
  }
  return NVVM_SUCCESS;
}

/* ---- Modules ---- */

/* Parses one module; of a library no more is required. */
static nvvmResult load(struct build *b, uint32_t i) {
  const struct program_input *input = &b->program->inputs.data[i];
  b->name = input->name;
  b->stage = STAGE_PARSE;
  enum nvmini_status status =
      nvmini_parse(b->context, input->bytes, input->length, input->name, &b->modules[i]);
  if (status != NVMINI_OK || input->is_library) return result_of(b, status);
  const struct nvm_module *m = module_of_handle(b->modules[i]);
  nvvmResult result = check_version(b, m);
  if (result != NVVM_SUCCESS) return result;
  if (module_text(m, m->triple).length == 0)
    return refuse(b, "Module does not contain a triple, should be 'nvptx64-'");
  b->stage = STAGE_VERIFY;
  return result_of(b, nvmini_check(b->modules[i]));
}

/* Links all modules into module `into`. */
static nvvmResult link_all(struct build *b, uint32_t into) {
  const uint32_t count = b->program->inputs.count;
  const struct program_input *inputs = b->program->inputs.data;
  struct nvmini_module *whole = b->modules[into];
  enum nvmini_status status = NVMINI_OK;
  bool has_libraries = false;
  b->stage = STAGE_LINK;
  for (uint32_t i = 0; i < count && status == NVMINI_OK; i++) {
    b->name = inputs[i].name;
    has_libraries |= inputs[i].is_library;
    if (i != into && !inputs[i].is_library) status = nvmini_link(whole, b->modules[i]);
  }
  if (status == NVMINI_OK && has_libraries) status = build_link_lazy(b, whole);
  return result_of(b, status);
}

static nvvmResult check_layout(struct build *b, const struct nvm_module *m) {
  struct nvm_text triple = module_text(m, m->triple);
  unsigned bits = triple_pointer_bits(triple.bytes, triple.length);
  if (module_text(m, m->layout_text).length == 0) {
    textbuf_puts(start_message(b), ": DataLayoutError: Data Layout string is empty");
    return b->refused;
  }
  if (bits == 0 || bits == layout_pointer_bits(&m->layout, 0)) return NVVM_SUCCESS;
  return refuse(b, "data layout and triple have pointers of different sizes");
}

/* Parses and links; *whole is the program. */
static nvvmResult make_module(struct build *b, uint32_t into, struct nvmini_module **whole) {
  const uint32_t count = b->program->inputs.count;
  nvvmResult result = NVVM_SUCCESS;
  for (uint32_t i = 0; i < count && result == NVVM_SUCCESS; i++) result = load(b, i);
  if (result == NVVM_SUCCESS) result = link_all(b, into);
  if (result != NVVM_SUCCESS) return result;
  b->stage = STAGE_COMPILE;
  *whole = b->modules[into];
  b->name = count == 1 ? b->program->inputs.data[into].name : NULL;
  const struct nvm_module *m = module_of_handle(*whole);
  return check_layout(b, m);
}

/* libNVVM's warning: no call can inline a kernel. */
static void warn_of_kernels(struct build *b, const struct nvm_module *m) {
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    if (function_is_kernel(f) && function_attribute(f, ATTR_NOINLINE))
      textbuf_format(start_message(b), "%swarning: overriding noinline attribute of kernel '%t'",
                     b->name ? ": " : "", module_text(m, f->symbol.name));
  }
}

static nvvmResult compile(struct build *b, uint32_t into, bool to_ptx) {
  struct _nvvmProgram *p = b->program;
  struct nvmini_module *whole;
  struct nvmini_text ptx;
  nvvmResult result = make_module(b, into, &whole);
  if (result != NVVM_SUCCESS || !to_ptx) return result;
  warn_of_kernels(b, module_of_handle(whole));
  enum nvmini_status status = nvmini_compile(whole, &ptx);
  if (status != NVMINI_OK) return result_of(b, status);
  const char *bytes = arena_copy(&p->result_arena, ptx.bytes, ptx.length);
  if (!bytes) return NVVM_ERROR_OUT_OF_MEMORY;
  p->result = (struct nvm_text){bytes, ptx.length};
  return NVVM_SUCCESS;
}

/* With a context and an array of modules, which it releases. */
static nvvmResult run(struct build *b, uint32_t into, int count, const char **options,
                      bool to_ptx) {
  nvvmResult result = options_set(b->context, count, options, &b->program->log);
  /* libNVVM verifies more than it needs to compile. */
  if (!to_ptx && nvmini_set_option(b->context, "--triples=loose") != NVMINI_OK)
    result = NVVM_ERROR_OUT_OF_MEMORY;
  nvmini_on_diagnostic(b->context, log_diagnostic, b);
  if (result == NVVM_SUCCESS) result = compile(b, into, to_ptx);
  for (uint32_t i = 0; i < b->program->inputs.count; i++) nvmini_release(b->modules[i]);
  return result;
}

nvvmResult build_program(struct _nvvmProgram *p, int count, const char **options, bool to_ptx) {
  arena_free(&p->log_arena);
  textbuf_init(&p->log, &p->log_arena);
  if (to_ptx) {
    arena_free(&p->result_arena);
    p->result = (struct nvm_text){NULL, 0};
  }
  uint32_t into = 0;
  while (into < p->inputs.count && p->inputs.data[into].is_library) into++;
  if (into == p->inputs.count) return NVVM_ERROR_NO_MODULE_IN_PROGRAM;
  struct arena arena;
  arena_init(&arena, nvm_default_allocator);
  struct build b = {.program = p,
                    .context = nvmini_create(NULL, 0),
                    .modules = arena_alloc(&arena, p->inputs.count * sizeof *b.modules),
                    .refused = to_ptx ? NVVM_ERROR_COMPILATION : NVVM_ERROR_INVALID_IR};
  nvvmResult result = NVVM_ERROR_OUT_OF_MEMORY;
  if (b.context && b.modules) result = run(&b, into, count, options, to_ptx);
  nvmini_destroy(b.context);
  arena_free(&arena);
  if (p->log_arena.failed) result = NVVM_ERROR_OUT_OF_MEMORY;
  if (to_ptx && result != NVVM_SUCCESS) p->result = (struct nvm_text){NULL, 0};
  return result;
}
