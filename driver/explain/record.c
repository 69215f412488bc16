/* Records the steps of a compilation from the callbacks of the API.
 *
 * A dump (`--print-after=*`) says that a pass ran; only its header is used, because the dump comes
 * before unnamed values get their numbers. A change (module_on_change) then gives the text. */
#include "driver/explain/explain.h"

#include "analysis/launch_bounds.h"
#include "api/context.h"
#include "ir/annotation.h"
#include "ir/print.h"

#include <string.h>

static struct nvm_text copy_text(struct explain *e, struct nvm_text t) {
  const char *bytes = arena_copy(&e->arena, t.bytes, t.length);
  return bytes ? (struct nvm_text){bytes, t.length} : (struct nvm_text){"", 0};
}

/* The function of that name, made if it is new; NULL when out of memory. */
static struct explain_function *function_of(struct explain *e, struct nvm_text name) {
  struct nvm_str s = strtab_intern(&e->names, name.bytes, name.length);
  if (!VEC_RESERVE(&e->arena, &e->function_of, (uint64_t)s.index + 1)) return NULL;
  if (e->function_of.count <= s.index) e->function_of.count = s.index + 1;
  uint32_t *index = &e->function_of.data[s.index];
  if (*index == 0) {
    if (!VEC_PUSH(&e->arena, &e->functions, (struct explain_function){0})) return NULL;
    *index = e->functions.count;
    struct explain_function *made = &e->functions.data[*index - 1];
    made->name = strtab_text(&e->names, s);
    textbuf_init(&made->remarks, &e->arena);
  }
  return &e->functions.data[*index - 1];
}

int32_t explain_file(struct explain *e, struct nvm_text directory, struct nvm_text name) {
  for (uint32_t k = 0; k < e->files.count; k++)
    if (text_equal(e->files.data[k].name, name) || text_equal(e->files.data[k].path, name))
      return (int32_t)k;
  struct textbuf path;
  textbuf_init(&path, &e->arena);
  if (directory.length && name.length && name.bytes[0] != '/')
    textbuf_format(&path, "%t/", directory);
  textbuf_text(&path, name);
  struct explain_file made = {copy_text(e, name), {path.bytes, path.length}};
  return VEC_PUSH(&e->arena, &e->files, made) ? (int32_t)e->files.count - 1 : EXPLAIN_NONE;
}

/* ---- Names ---- */

/* Whether a name of the input is this string, which is a number (`%"12"`). */
static bool is_given(const struct explain *e, struct nvm_str name) {
  return name.index < e->given.count && e->given.data[name.index];
}

/* A number as a name; numbers below that of the input's last unnamed value are not distinguished
 * from it, because no text has both. */
static struct nvm_str next_name(struct explain *e, struct explain_function *x,
                                struct nvm_module *m) {
  struct nvm_str name;
  do {
    char digits[16];
    struct textbuf b;
    textbuf_init_fixed(&b, digits, sizeof digits);
    textbuf_unsigned(&b, x->next_number++);
    name = strtab_intern(&m->strings, b.bytes, b.length);
  } while (is_given(e, name));
  return name;
}

/* The digits at the begin of a text. */
static size_t count_digits(struct nvm_text t) {
  size_t n = 0;
  while (n < t.length && t.bytes[n] >= '0' && t.bytes[n] <= '9') n++;
  return n;
}

static bool is_number(struct nvm_text name) { return count_digits(name) == name.length; }

/* Whether a name is a number that this file made. */
static bool is_made(const struct explain *e, const struct nvm_module *m, struct nvm_str name) {
  return name.index && !is_given(e, name) && is_number(module_text(m, name));
}

static void note_given(struct explain *e, const struct nvm_module *m, struct nvm_str name) {
  uint64_t wanted = (uint64_t)name.index + 1;
  if (!is_made(e, m, name) || !VEC_RESERVE(&e->arena, &e->given, wanted)) return;
  if (e->given.count < wanted) e->given.count = (uint32_t)wanted;
  e->given.data[name.index] = true;
}

/* Notes the names of the input that are numbers. */
static void note_names(struct explain *e, const struct nvm_function *f) {
  const struct nvm_module *m = f->module;
  for (uint32_t i = 0; f->arg_names && i < function_arg_count(f); i++)
    note_given(e, m, f->arg_names[i]);
  for (uint32_t i = 0; i < f->names.count; i++) note_given(e, m, f->names.data[i]);
  FOR_EACH_BLOCK (f, b) note_given(e, m, function_block(f, b)->name);
}

/* Names seen in the current function: by string, the function's stamp. */
struct seen {
  VEC(bool) names;
};

/* Whether `name` is not empty and new in this function. */
static bool is_first(struct explain *e, struct seen *s, struct nvm_str name) {
  uint64_t wanted = (uint64_t)name.index + 1;
  if (name.index == 0 || !VEC_RESERVE(&e->arena, &s->names, wanted)) return false;
  if (s->names.count < wanted) s->names.count = (uint32_t)wanted;
  bool first = !s->names.data[name.index];
  s->names.data[name.index] = true;
  return first;
}

static void give_name(struct explain *e, struct explain_function *x, struct seen *s,
                      struct nvm_module *m, struct nvm_str *name) {
  while (!is_first(e, s, *name) && !e->arena.failed) *name = next_name(e, x, m);
}

static bool name_arguments(struct explain *e, struct explain_function *x, struct seen *s,
                           struct nvm_function *f) {
  uint32_t count = function_arg_count(f);
  if (count && !f->arg_names) {
    f->arg_names = arena_alloc(&f->module->arena, count * sizeof *f->arg_names);
    if (!f->arg_names) return false;
    memset(f->arg_names, 0, count * sizeof *f->arg_names);
  }
  for (uint32_t i = 0; i < count; i++) give_name(e, x, s, f->module, &f->arg_names[i]);
  return true;
}

/* Labels of PTX are made from the names of blocks, so an unnamed block has its number only until
 * code generation, and a copy with the name of its original becomes `name.2` only while it is
 * printed. */
static void name_block(struct explain *e, struct explain_function *x, struct seen *s,
                       struct nvm_function *f, struct nvm_block b) {
  struct nvm_str *name = &function_block(f, b)->name;
  struct nvm_text original = module_text(f->module, *name);
  if (name->index == 0 && b.index == f->entry.index) {
    if (x->texts.count == 0) x->next_number++; /* the number that it has in the input */
    return;
  }
  if (name->index == 0 || is_made(e, f->module, *name)) {
    give_name(e, x, s, f->module, name);
    return;
  }
  struct renamed_block renamed = {b, *name};
  for (uint32_t n = 2; !is_first(e, s, *name) && !e->arena.failed; n++) {
    struct textbuf tried;
    textbuf_init(&tried, &e->arena);
    textbuf_format(&tried, "%t.%u", original, n);
    *name = strtab_intern(&f->module->strings, tried.bytes, tried.length);
  }
  if (name->index != renamed.name.index) (void)VEC_PUSH(&e->arena, &e->renamed, renamed);
}

/* Gives every value and block of f a name of its own. The entry block keeps none, as in LLVM. */
static void name_values(struct explain *e, struct explain_function *x, struct nvm_function *f) {
  struct seen s = {{NULL, 0, 0}};
  e->renamed.count = 0;
  if (!name_arguments(e, x, &s, f)) return;
  FOR_EACH_BLOCK (f, b) {
    name_block(e, x, &s, f, b);
    FOR_EACH_INST (f, b, i)
      if (function_inst(f, i)->type.index != TYPE_VOID.index && i.index < f->names.count)
        give_name(e, x, &s, f->module, &f->names.data[i.index]);
  }
  arena_release(&e->arena, s.names.data, s.names.capacity * sizeof *s.names.data);
}

/* Undoes what name_block() did for printing; `all`: also the numbers. */
static void restore_blocks(struct explain *e, struct nvm_function *f, bool all) {
  for (uint32_t k = 0; k < e->renamed.count; k++)
    function_block(f, e->renamed.data[k].block)->name = e->renamed.data[k].name;
  e->renamed.count = 0;
  FOR_EACH_BLOCK (f, b) {
    struct nvm_str *name = &function_block(f, b)->name;
    if (all && is_made(e, f->module, *name)) *name = (struct nvm_str){0};
  }
}

/* ---- Texts ---- */

/* Appends a text in which names that are numbers have lost their quotes: %"12" is %12. */
static void append_unquoted(struct textbuf *out, struct nvm_text t) {
  for (size_t i = 0; i < t.length; i++) {
    struct nvm_text rest = {t.bytes + i + 1, t.length - i - 1};
    bool begins = t.bytes[i] == '"' && (i == 0 || t.bytes[i - 1] == '%' || t.bytes[i - 1] == '\n');
    size_t digits = begins ? count_digits(rest) : 0;
    bool quoted = digits && digits < rest.length && rest.bytes[digits] == '"';
    if (quoted) textbuf_write(out, rest.bytes, digits);
    else textbuf_char(out, t.bytes[i]);
    if (quoted) i += digits + 1;
  }
}

static struct nvm_text text_of_function(struct explain *e, const struct nvm_function *f) {
  struct arena scratch;
  struct textbuf printed, out;
  arena_init(&scratch, nvm_default_allocator);
  textbuf_init(&printed, &scratch);
  textbuf_init(&out, &e->arena);
  bool right = print_function(f, &printed) == NVM_OK;
  textbuf_char(&printed, '\0');
  if (right && !scratch.failed)
    append_unquoted(&out, (struct nvm_text){printed.bytes, printed.length - 1});
  e->arena.failed |= scratch.failed;
  arena_free(&scratch);
  return (struct nvm_text){out.bytes, out.length};
}

static void add_step(struct explain *e, struct explain_function *x, struct nvm_text pass,
                     uint32_t number) {
  uint32_t text = x->steps.count ? x->steps.data[x->steps.count - 1].text : 0;
  (void)VEC_PUSH(&e->arena, &x->steps, (struct explain_step){pass, number, text});
}

/* The text after the last step. */
static void add_text(struct explain *e, struct explain_function *x, struct nvm_text text) {
  uint32_t count = x->texts.count;
  if (x->steps.count == 0 || (count && text_equal(x->texts.data[count - 1], text))) return;
  if (!VEC_PUSH(&e->arena, &x->texts, text)) return;
  x->steps.data[x->steps.count - 1].text = count;
  if (e->watch && count) e->watch(e->watch_state, e, x);
}

static void record_text(struct explain *e, struct nvm_function *f, const char *if_new) {
  struct explain_function *x = function_of(e, module_text(f->module, f->symbol.name));
  if (!x) return;
  if (x->steps.count == 0) add_step(e, x, text_of(if_new), 0);
  name_values(e, x, f);
  if (x->texts.count == 0) x->input_lines = explain_located_lines(e, f);
  add_text(e, x, text_of_function(e, f));
  restore_blocks(e, f, false);
}

struct nvm_text explain_name_values(struct explain *e, struct nvm_function *f) {
  struct explain_function *x = function_of(e, module_text(f->module, f->symbol.name));
  if (!x) return text_of("");
  note_names(e, f);
  name_values(e, x, f);
  return text_of_function(e, f);
}

/* ---- Callbacks ---- */

/* After a change, of the module if f is NULL; `pass` is NULL before the first pass. */
static enum nvm_status take_change(void *state, struct nvm_module *m, const char *pass,
                                   const struct nvm_function *f) {
  struct explain *e = state;
  for (uint32_t n = 1; !pass && n < m->functions.count; n++) note_names(e, m->functions.data[n]);
  for (uint32_t n = 1; n < m->functions.count; n++) {
    struct nvm_function *each = m->functions.data[n];
    if ((!f || each == f) && !function_is_declaration(each))
      record_text(e, each, pass ? pass : "input");
  }
  if (e->arena.failed) return NVM_OUT_OF_MEMORY;
  return e->check ? e->check(e->watch_state, m, pass, f) : NVM_OK;
}

void explain_catch_up(struct explain *e) {
  struct nvm_module *m = module_of_handle(e->module);
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!function_is_declaration(m->functions.data[n]))
      record_text(e, m->functions.data[n], "input");
}

/* Takes the text before the first `mark` from the begin of *rest, and the mark; empty if there is
 * none. Names may have any bytes, also zeros. */
static struct nvm_text take_until(struct nvm_text *rest, const char *mark) {
  size_t length = strlen(mark), at = 0;
  while (at + length <= rest->length && memcmp(rest->bytes + at, mark, length) != 0) at++;
  if (at + length > rest->length) return (struct nvm_text){"", 0};
  struct nvm_text taken = {rest->bytes, at};
  rest->bytes += at + length;
  rest->length -= at + length;
  return taken;
}

static void take_codegen_input(struct explain *e) {
  struct nvm_module *m = module_of_handle(e->module);
  const struct annotations *all = annotations_read(m, &e->arena);
  for (uint32_t n = 1; n < m->functions.count; n++) {
    struct nvm_function *f = m->functions.data[n];
    if (function_is_declaration(f)) continue;
    struct explain_function *x = function_of(e, module_text(m, f->symbol.name));
    if (!x) return;
    name_values(e, x, f);
    struct nvm_text text = text_of_function(e, f);
    if (!x->texts.count || !text_equal(x->texts.data[x->texts.count - 1], text)) {
      add_step(e, x, text_of("before code generation"), 0);
      add_text(e, x, text);
    }
    x->is_final = true;
    x->is_kernel = function_is_kernel(f);
    if (all) x->threads = launch_bounds_threads(all, module_find_symbol(m, f->symbol.name));
    explain_facts(e, x, f);
    restore_blocks(e, f, true);
  }
}

static void take_dump(void *user, struct nvmini_text dump) {
  struct explain *e = user;
  struct nvm_text rest = {dump.bytes, dump.length};
  if (text_begins(rest, "*** IR Dump Before ") && e->enter) {
    struct nvm_text header = rest;
    take_until(&header, " Before ");
    struct nvm_text entered = take_until(&header, " on ");
    e->enter(e->watch_state, e, entered, take_until(&header, " ***\n"));
  }
  if (text_begins(rest, "*** IR Dump Before isel on ")) {
    take_codegen_input(e);
    return;
  }
  if (text_begins(rest, "*** IR Dump Before ")) return;
  e->runs++;
  take_until(&rest, " After ");
  struct nvm_text pass = copy_text(e, take_until(&rest, " on ")),
                  name = take_until(&rest, " ***\n");
  if (!text_is(name, "[module]")) {
    struct explain_function *x = function_of(e, name);
    if (x) add_step(e, x, pass, e->runs);
    return;
  }
  for (uint32_t k = 0; k < e->functions.count; k++)
    add_step(e, &e->functions.data[k], pass, e->runs);
}

/* The first text about a loop names the function; the others follow. */
static void take_plan(void *user, struct nvmini_text plan) {
  struct explain *e = user;
  struct textbuf unquoted;
  textbuf_init(&unquoted, &e->arena);
  append_unquoted(&unquoted, (struct nvm_text){plan.bytes, plan.length});
  textbuf_char(&unquoted, '\0');
  if (e->arena.failed) return;
  struct nvm_text text = {unquoted.bytes, unquoted.length - 1}, rest = text;
  take_until(&rest, "in function '");
  struct nvm_text name = rest.bytes == text.bytes ? text_of("") : take_until(&rest, "'\n");
  struct explain_function *x = name.length ? function_of(e, name) : NULL;
  if (x) e->planned = (uint32_t)(x - e->functions.data);
  if (e->planned < e->functions.count)
    (void)VEC_PUSH(&e->arena, &e->functions.data[e->planned].plans, text);
}

static void take_remark(void *user, const struct nvmini_remark *r) {
  static const char *const kinds[] = {
      [NVMINI_PASSED] = "passed", [NVMINI_MISSED] = "missed", [NVMINI_ANALYSIS] = "analysis"};
  struct explain *e = user;
  struct explain_function *x =
      function_of(e, (struct nvm_text){r->function.bytes, r->function.length});
  if (!x) return;
  struct textbuf message;
  textbuf_init(&message, &e->arena);
  for (size_t k = 0; k < r->count; k++)
    textbuf_write(&message, r->arguments[k].value.bytes, r->arguments[k].value.length);
  struct json_writer w;
  if (x->remarks.length) textbuf_char(&x->remarks, ',');
  json_begin(&w, &x->remarks, false);
  json_object(&w);
  json_member(&w, "kind", text_of(kinds[r->kind]));
  json_member(&w, "pass", text_of(r->pass));
  json_member(&w, "name", text_of(r->name));
  json_member(&w, "message", (struct nvm_text){message.bytes, message.length});
  json_member(&w, "file", (struct nvm_text){r->file.bytes, r->file.length});
  json_number(&w, "line", r->line);
  json_number(&w, "column", r->column);
  json_object_end(&w);
}

/* ---- Diagnostics ---- */

static void take_diagnostic(void *user, const struct nvmini_diagnostic *d) {
  static const char *const severities[] = {[NVMINI_ERROR] = "error",
                                           [NVMINI_WARNING] = "warning",
                                           [NVMINI_REMARK] = "remark",
                                           [NVMINI_NOTE] = "note"};
  struct explain_diagnostics *all = user;
  struct json_writer w;
  for (int id = 0; id < DIAG_COUNT; id++)
    if (strcmp(diag_name((enum diag_id)id), d->id) == 0) all->used[id] = true;
  if (all->json.length) textbuf_char(&all->json, ',');
  json_begin(&w, &all->json, false);
  json_object(&w);
  json_member(&w, "id", text_of(d->id));
  json_member(&w, "severity", text_of(severities[d->severity]));
  json_member(&w, "message", (struct nvm_text){d->message.bytes, d->message.length});
  json_number(&w, "line", d->line);
  json_object_end(&w);
  if (all->report) all->report(all->user, d);
}

void explain_diagnostics_start(struct explain_diagnostics *d, struct nvmini_context *context,
                               nvmini_report *report, void *user) {
  *d = (struct explain_diagnostics){.report = report, .user = user};
  arena_init(&d->arena, nvm_default_allocator);
  textbuf_init(&d->json, &d->arena);
  nvmini_on_diagnostic(context, take_diagnostic, d);
}

void explain_diagnostics_end(struct explain_diagnostics *d, struct nvmini_context *context) {
  nvmini_on_diagnostic(context, d->report, d->user);
  arena_free(&d->arena);
}

/* ---- The recording ---- */

bool explain_start(struct explain *e, struct nvmini_context *context, struct nvmini_module *module,
                   const struct explain_diagnostics *diagnostics) {
  *e = (struct explain){.context = context, .module = module, .diagnostics = diagnostics};
  arena_init(&e->arena, context_allocator(context));
  nvmini_on_dump(context, take_dump, e);
  nvmini_on_plan(context, take_plan, e, 0);
  nvmini_on_remark(context, take_remark, e);
  module_on_change(context, take_change, e);
  return strtab_init(&e->names, &e->arena) &&
         nvmini_set_option(context, "--print-after=*") == NVMINI_OK &&
         nvmini_set_option(context, "--knob=print-isel-input=1") == NVMINI_OK &&
         nvmini_set_option(context, "--asm-verbose") == NVMINI_OK;
}

enum nvmini_status explain_compile(struct explain *e) {
  struct nvmini_text ptx;
  enum nvmini_status status = nvmini_compile(e->module, &ptx);
  if (status != NVMINI_OK) return status;
  explain_split_ptx(e, (struct nvm_text){ptx.bytes, ptx.length});
  explain_costs(e);
  return e->arena.failed ? NVMINI_OUT_OF_MEMORY : NVMINI_OK;
}

void explain_end(struct explain *e) { arena_free(&e->arena); }
