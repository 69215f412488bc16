/* nvmini_set_option: options by the table support/options.def, and libNVVM's spellings of them. */
#include "api/context.h"
#include "api/module.h"
#include "support/nearest.h"
#include "support/number.h"
#include "support/options.h"
#include "target/triple.h"

/* ---- Errors ---- */

static enum nvmini_status refuse(struct nvmini_context *c, const char *message) {
  report_fixed(c, NULL, DIAG_BAD_OPTION, message);
  return NVMINI_BAD_OPTION;
}

/* A message under construction. */
struct message {
  struct arena arena;
  struct textbuf text;
};

static void message_start(struct nvmini_context *c, struct message *m) {
  arena_init(&m->arena, context_allocator(c));
  textbuf_init(&m->text, &m->arena);
}

/* Reports the message, unless it is empty, and frees it. */
static enum nvmini_status message_finish(struct nvmini_context *c, struct message *m) {
  bool failed = m->arena.failed || m->text.length != 0;
  textbuf_char(&m->text, '\0');
  if (failed) refuse(c, m->arena.failed ? "invalid option" : m->text.bytes);
  arena_free(&m->arena);
  return failed ? NVMINI_BAD_OPTION : NVMINI_OK;
}

static enum nvmini_status target_status(struct nvmini_context *c, enum tgt_status status,
                                        const struct tgt_error *error) {
  if (status == TGT_OK) return NVMINI_OK;
  char message[256];
  tgt_describe_error(error, message, sizeof message);
  return refuse(c, message);
}

/* ---- Setting one option ---- */

static enum nvmini_status set_target_option(struct nvmini_context *c, enum option o,
                                            const char *value) {
  struct tgt_error error;
  size_t length = strlen(value);
  enum tgt_status status = TGT_OK;
  if (o == OPT_CPU) status = tgt_set_cpu(&c->target, value, length, &error);
  if (o == OPT_PTX) status = tgt_set_ptx(&c->target, value, length, &error);
  if (o == OPT_FEATURES) status = tgt_parse_features(&c->target, value, length, &error);
  return target_status(c, status, &error);
}

/* A level of a group of features; one digit. */
static enum nvmini_status set_group(struct nvmini_context *c, const char *group,
                                    const char *value) {
  struct tgt_error error;
  unsigned level = (unsigned)(*value - '0');
  return target_status(c, tgt_set_group(&c->target, group, level, &error), &error);
}

static enum nvmini_status set_text(struct nvmini_context *c, struct nvm_text *to,
                                   const char *value) {
  struct nvm_text text = {arena_copy(&c->strings, value, strlen(value)), strlen(value)};
  if (text.bytes == NULL) return NVMINI_OUT_OF_MEMORY;
  *to = text;
  return NVMINI_OK;
}

/* Reads a number; reports a wrong one. */
static bool get_number(struct nvmini_context *c, enum option o, const char *value, uint32_t max,
                       uint64_t *number) {
  struct message m;
  if (number_read_all(value, max, number)) return true;
  message_start(c, &m);
  textbuf_format(&m.text, "option '%s': '%s' is not a number from 0 to %u", option_row(o)->name,
                 value, max);
  message_finish(c, &m);
  return false;
}

/* NAME=VALUE; a knob that the target reads becomes a feature there. */
static enum nvmini_status set_knob(struct nvmini_context *c, const char *text) {
  struct message m;
  enum knob knob;
  message_start(c, &m);
  if (knobs_set(&c->knobs, text, &knob, &m.text) == NVM_OK)
    tgt_set_knob(&c->target, knob, c->knobs.value[knob]);
  return message_finish(c, &m);
}

static enum nvmini_status set_warning(struct nvmini_context *c, const char *text) {
  struct message m;
  const char *unknown;
  if (diag_policy_set(&c->warnings, text, &unknown)) return NVMINI_OK;
  struct nearest near = nearest_start(text_of(unknown));
  for (int id = 0; id < DIAG_COUNT; id++)
    if (diag_severity((enum diag_id)id) == DIAG_WARNING)
      nearest_offer(&near, text_of(diag_name((enum diag_id)id)));
  message_start(c, &m);
  textbuf_format(&m.text, "unknown warning '%s'%s", unknown, near.best.bytes ? "; " : "");
  nearest_write(&near, &m.text);
  return message_finish(c, &m);
}

/* A row of the pipelines, and the effort of code generation. */
static enum nvmini_status set_level(struct nvmini_context *c, const char *name, unsigned level) {
  c->level = name;
  c->target.optimization_level = (uint8_t)level;
  return NVMINI_OK;
}

static enum nvmini_status set_fast_compile(struct nvmini_context *c, const char *value) {
  static const char *const names[] = {"max", "mid", "min"};
  int i = 0;
  while (strcmp(names[i], value) != 0) i++;
  return set_level(c, names[i], 1);
}

static enum nvmini_status set_verify_each(struct nvmini_context *c, const char *value) {
  if (*value && (strcmp(value, "run") != 0 || !c->passes.on_change))
    return refuse(c, "option '--verify-each=run' is only for `nvmini run`");
  c->passes.verify_each = true;
  return NVMINI_OK;
}

static enum nvmini_status set_triples(struct nvmini_context *c, const char *value) {
  c->triple_rule = *value == 'u' ? TRIPLE_UNIFIED : *value == 'l' ? TRIPLE_LOOSE : TRIPLE_ANY;
  return NVMINI_OK;
}

static enum nvmini_status set_flag(bool *flag) {
  *flag = true;
  return NVMINI_OK;
}

/* Sets an option whose value is valid as far as its row says; "": no value. */
static enum nvmini_status set_option(struct nvmini_context *c, enum option o, const char *value) {
  uint64_t number;
  switch (o) {
    case OPT_CPU:
    case OPT_PTX:
    case OPT_FEATURES: return set_target_option(c, o, value);
    case OPT_FMA_LEVEL: return set_group(c, "fma-level", value);
    case OPT_PREC_DIV: return set_group(c, "prec-divf32", value);
    case OPT_PREC_SQRT: return set_group(c, "prec-sqrtf32", value);
    case OPT_FTZ: return set_flag(&c->target.ftz);
    case OPT_DEBUG_LINES: return set_flag(&c->target.debug);
    case OPT_KNOB: return set_knob(c, value);
    case OPT_O0:
    case OPT_O1:
    case OPT_O2:
    case OPT_O3: return set_level(c, option_row(o)->name + strlen("-O"), o - OPT_O0);
    case OPT_OS:
    case OPT_OZ: return set_level(c, option_row(o)->name + strlen("-O"), 2);
    case OPT_OFC: return set_fast_compile(c, value);
    case OPT_PASSES: return set_text(c, &c->passes.pipeline, value);
    case OPT_VERIFY_EACH: return set_verify_each(c, value);
    case OPT_TIME_PASSES: return set_flag(&c->passes.time_passes);
    case OPT_PASS_STATS: return set_flag(&c->statistics);
    case OPT_PRINT_BEFORE: return set_text(c, &c->passes.print_before, value);
    case OPT_PRINT_AFTER: return set_text(c, &c->passes.print_after, value);
    case OPT_PRINT_CHANGED: return set_flag(&c->passes.print_changed);
    case OPT_ONLY_FUNCTION: return set_text(c, &c->passes.only_function, value);
    case OPT_WHOLE_PROGRAM: return c->scope = SCOPE_PROGRAM, NVMINI_OK;
    case OPT_DEVICE_C: return c->scope = SCOPE_MODULE, NVMINI_OK;
    case OPT_TRIPLES: return set_triples(c, value);
    case OPT_MATHLIB: return c->no_mathlib = strcmp(value, "off") == 0, NVMINI_OK;
    case OPT_ASM_VERBOSE: return set_flag(&c->verbose);
    case OPT_WARNING: return set_warning(c, value);
    case OPT_WARNINGS_AS_ERRORS: return set_flag(&c->warnings.errors);
    case OPT_BISECT_LIMIT:
      if (!get_number(c, o, value, INT32_MAX, &number)) return NVMINI_BAD_OPTION;
      c->passes.bisect_limit = (int64_t)number;
      return NVMINI_OK;
    case OPT_ERROR_LIMIT:
      if (!get_number(c, o, value, UINT32_MAX, &number)) return NVMINI_BAD_OPTION;
      c->error_limit = (uint32_t)number;
      return NVMINI_OK;
    case OPT_COUNT: break;
  }
  return NVMINI_BUG;
}

static enum nvmini_status set_nvvm_option(struct nvmini_context *c, const char *option) {
  struct tgt_options changed = c->target;
  struct tgt_error error;
  enum tgt_status status = tgt_parse_nvvm_option(&changed, option, strlen(option), &error);
  if (status != TGT_OK) return target_status(c, status, &error);
  c->target = changed;
  if (strncmp(option, "-opt=", strlen("-opt=")) == 0)
    c->level = option_row(OPT_O0 + changed.optimization_level)->name + strlen("-O");
  return NVMINI_OK;
}

enum nvmini_status nvmini_set_option(struct nvmini_context *context, const char *option) {
  const char *value;
  enum option o = 0;
  while (o < OPT_COUNT && !option_matches(option_row(o), option, &value)) o++;
  if (o == OPT_COUNT) return set_nvvm_option(context, option);
  struct message m;
  message_start(context, &m);
  bool valid = option_check_value(option_row(o), value, &m.text);
  enum nvmini_status status = message_finish(context, &m);
  return valid && status == NVMINI_OK ? set_option(context, o, value ? value : "") : status;
}

enum nvmini_status module_target(struct nvmini_context *context, struct nvm_target *target) {
  struct tgt_error error;
  return target_status(context, tgt_init(target, &context->target, &error), &error);
}
