/* Modules: parsing, linking, checking, printing. */
#include "api/module.h"

#include "api/context.h"
#include "frontend/bitcode/bcmodule.h"
#include "frontend/link.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

enum nvmini_status module_parse_releasing(struct nvmini_context *context, const char *text,
                                          size_t length, const char *name,
                                          struct parse_release *release,
                                          struct nvmini_module **module) {
  struct nvm_allocator a = context_allocator(context);
  struct nvmini_module *m = a.resize(a.state, NULL, 0, sizeof *m);
  *module = NULL;
  if (m != NULL)
    *m = (struct nvmini_module){.context = context, .source = {text, length}, .name = name};
  if (m != NULL) m->is_text = !bcmodule_is_bitcode(text, length);
  if (m != NULL) m->ir = module_create(a, 0);
  if (m == NULL || m->ir == NULL) {
    if (m != NULL) a.resize(a.state, m, sizeof *m, 0);
    return report_out_of_memory(context, NULL);
  }
  m->ir->triple_rule = context->triple_rule;
  arena_init(&m->output, a);
  struct arena arena;
  struct diag_sink sink;
  report_start(context, &arena, &sink);
  uint64_t begin = context_clock(context);
  enum nvm_status parsed = parse_module_releasing(m->ir, text, length, name, 0, &sink, release);
  context_add_time(context, PHASE_PARSE, begin);
  if (release && (release->again || parsed == NVM_OUT_OF_MEMORY)) {
    arena_free(&arena); /* messages would show text that was released */
    report_start(context, &arena, &sink);
  }
  enum nvmini_status status = report_finish(context, m, &arena, &sink, parsed);
  if (status == NVMINI_OK) *module = m;
  else nvmini_release(m);
  return status;
}

enum nvmini_status nvmini_parse(struct nvmini_context *context, const char *text, size_t length,
                                const char *name, struct nvmini_module **module) {
  return module_parse_releasing(context, text, length, name, NULL, module);
}

struct nvm_module *module_of_handle(const struct nvmini_module *module) {
  return module->ir;
}

bool module_is_text(const struct nvmini_module *module) { return module->is_text; }

void nvmini_release(struct nvmini_module *module) {
  if (module == NULL) return;
  struct nvm_allocator a = context_allocator(module->context);
  arena_free(&module->output);
  module_destroy(module->ir);
  a.resize(a.state, module, sizeof *module, 0);
}

enum nvmini_status nvmini_check(struct nvmini_module *module) {
  struct arena arena;
  struct diag_sink sink;
  report_start(module->context, &arena, &sink);
  enum nvm_status verified = verify_module(module->ir, &sink, 0);
  return report_finish(module->context, module, &arena, &sink, verified);
}

void module_drop_source(struct nvmini_module *module, module_reread *reread, void *state) {
  module->source = (struct nvmini_text){NULL, 0};
  module->reread = reread;
  module->reread_state = state;
}

struct nvmini_text module_source(const struct nvmini_module *m) {
  return m->reread ? m->reread(m->reread_state) : m->source;
}

static enum nvmini_status link_two(struct nvmini_module *into, const struct nvmini_module *from,
                                   bool only_needed) {
  struct arena arena;
  struct diag_sink sink;
  report_start(into->context, &arena, &sink);
  enum nvm_status linked = link_modules(into->ir, from->ir, only_needed, &sink);
  if (into->state == MODULE_OPTIMIZED) into->state = MODULE_PARSED; /* to be verified again */
  return report_finish_link(into, from, &arena, &sink, linked);
}

enum nvmini_status nvmini_link(struct nvmini_module *module, const struct nvmini_module *other) {
  return link_two(module, other, false);
}

enum nvmini_status nvmini_link_library(struct nvmini_module *module,
                                       const struct nvmini_module *library) {
  return link_two(module, library, true);
}

struct nvmini_text module_finish_text(struct textbuf *b) {
  textbuf_char(b, '\0');
  return (struct nvmini_text){b->bytes, b->length == 0 ? 0 : b->length - 1};
}

bool module_only_function(const struct nvmini_module *m, struct diag_sink *sink,
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
  enum nvm_status status = module_only_function(m, sink, &only) ? NVM_OK : NVM_REFUSED;
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
  report_start(module->context, &arena, &sink);
  arena_free(&module->output);
  struct textbuf out;
  textbuf_init(&out, &module->output);
  enum nvm_status printed =
      graphs ? print_graphs(module, &sink, &out) : print_module(module->ir, &out);
  *text = module_finish_text(&out);
  if (module->output.failed) printed = NVM_OUT_OF_MEMORY;
  return report_finish(module->context, module, &arena, &sink, printed);
}

enum nvmini_status nvmini_print(struct nvmini_module *module, struct nvmini_text *text) {
  return print_into(module, text, false);
}

enum nvmini_status nvmini_print_graphs(struct nvmini_module *module, struct nvmini_text *text) {
  return print_into(module, text, true);
}
