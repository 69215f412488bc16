/* `nvmini compile --print-changed=diff|quiet|side`: what each pass changes, while it happens.
 *
 * The module is compiled once more in a context of its own, which records it: the recording gives
 * values names that must not become part of the output. Each change is printed at once, so that
 * those before a crash are seen. */
#include "driver/commands.h"
#include "driver/demands.h"
#include "driver/explain/explain.h"

#include <string.h>

struct changes {
  const char *only; /* function; NULL: all */
  enum explain_style style;
};

static void print_change(void *state, struct explain *e, const struct explain_function *x) {
  const struct changes *c = state;
  struct arena arena;
  struct textbuf out;
  bool other = c->only && !text_is(x->name, c->only);
  if (other) return;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  explain_write_change(e, x, x->steps.count - 1, c->style, &out);
  fwrite(out.bytes, 1, out.length, stderr);
  arena_free(&arena);
}

static void ignore(void *user, const struct nvmini_diagnostic *d) { (void)user, (void)d; }

/* The options of the library that influence the passes. */
static struct options options_of_passes(const struct options *o) {
  struct options own = *o;
  own.given_count = 0;
  for (int k = 0; k < o->given_count; k++)
    if (options_takes(COMMAND_EXPLAIN, o->given[k].id) || o->given[k].id == OPTION_BISECT_LIMIT)
      own.given[own.given_count++] = o->given[k];
  return own;
}

static bool set_cpu(const struct options *o, struct nvmini_context *c,
                    const struct nvmini_module *m) {
  struct demands_cpu named = demands_cpu(m);
  char text[64];
  if (o->values[OPTION_CPU]) return true;
  snprintf(text, sizeof text, "--cpu=%.*s", (int)named.cpu.length, named.cpu.bytes);
  return nvmini_set_option(c, text) == NVMINI_OK;
}

static void record(struct changes *changes, struct nvmini_context *c, struct nvmini_module *m) {
  struct explain e;
  if (explain_start(&e, c, m, NULL)) {
    e.watch = print_change;
    e.watch_state = changes;
    explain_compile(&e);
  }
  explain_end(&e);
}

void explain_print_changed(const struct options *o, const char *shown, struct nvmini_text source,
                           enum explain_style style) {
  struct changes changes = {.only = o->values[OPTION_ONLY_FUNCTION], .style = style};
  struct options own = options_of_passes(o);
  struct nvmini_context *c = nvmini_create(NULL, 0);
  struct nvmini_module *m = NULL;
  enum option_id failed;
  if (!c) return;
  nvmini_on_diagnostic(c, ignore, NULL);
  bool ready = options_set_library(&own, c, &failed) == NVMINI_OK &&
               nvmini_parse(c, source.bytes, source.length, shown, &m) == NVMINI_OK &&
               set_cpu(o, c, m) && jobs_link_libraries(o, c, m) == EXIT_DONE &&
               stop_after_set(o, c, m) == EXIT_DONE;
  if (ready) record(&changes, c, m);
  nvmini_release(m);
  nvmini_destroy(c);
}
