/* `nvmini compile --stop-after PASS`: the pipeline of the level, or of --passes, as a list that
 * ends with the first run of PASS, for the option --passes. */
#include "api/module.h"
#include "driver/commands.h"
#include "opt/interprocedural/internalize.h"
#include "opt/passes.h"
#include "opt/pipeline.h"
#include "support/knobs.h"

#include <stdlib.h>
#include <string.h>

/* As the option -O or -Ofc names it. */
static const char *level_name(const struct options *o) {
  const char *level = "3";
  if (o->values[OPTION_OFC]) return o->values[OPTION_OFC];
  for (int id = OPTION_O0; id < OPTION_OFC; id++)
    if (o->values[id]) level = options_name((enum option_id)id) + strlen("-O");
  return level;
}

/* False if --passes is refused. */
static bool find_pipeline(const struct options *o, struct arena *a, struct pipeline *p) {
  struct knobs knobs = knobs_initial();
  struct textbuf message;
  struct nvm_text refused;
  enum knob knob;
  textbuf_init(&message, a);
  for (int k = 0; k < o->given_count; k++)
    if (o->given[k].id == OPTION_KNOB) (void)knobs_set(&knobs, o->given[k].value, &knob, &message);
  *p = (struct pipeline){.count = 0};
  const char *list = o->values[OPTION_PASSES];
  if (list) return pipeline_append(p, text_of(list), &refused);
  pipeline_of_level(p, level_name(o), &knobs);
  return true;
}

/* ---- The list ---- */

/* `+name<a;b>,` */
static void put_step(struct textbuf *out, const struct pass_step *s) {
  char open = '<';
  if (out->length) textbuf_char(out, ',');
  textbuf_format(out, s->conditional ? "+%s" : "%s", pass_table[s->pass].name);
  for (int k = 0; k < PASS_PARAMETER_COUNT; k++) {
    if (!(s->parameters >> k & 1)) continue;
    textbuf_char(out, open);
    textbuf_puts(out, pass_parameters[k].name);
    open = ';';
  }
  if (open == ';') textbuf_char(out, '>');
}

/* Whether the list is read as the first `count` steps of p. */
static bool is_read_as(const struct textbuf *list, const struct pipeline *p, uint32_t count) {
  struct pipeline q = {.count = 0};
  struct nvm_text refused;
  if (!pipeline_append(&q, (struct nvm_text){list->bytes, list->length}, &refused)) return false;
  if (q.count != count) return false;
  for (uint32_t k = 0; k < count; k++) {
    const struct pass_step *a = &q.steps[k], *b = &p->steps[k];
    if (a->pass != b->pass || a->conditional != b->conditional || a->parameters != b->parameters)
      return false;
  }
  return true;
}

/* Reading a list adds passes that make the forms which others require, so a step is left out if the
 * next one that is not brings it back. */
static void put_steps(struct textbuf *out, const struct pipeline *p, uint32_t count) {
  for (uint32_t done = 0; done < count;) {
    uint32_t next = done + 1;
    size_t length = out->length;
    for (uint32_t k = done; k < count && k < done + PASS_FORMS + 1; k++) {
      put_step(out, &p->steps[k]);
      bool right = is_read_as(out, p, k + 1);
      out->length = length;
      if (right) next = k + 1;
    }
    put_step(out, &p->steps[next - 1]);
    done = next;
  }
}

/* ---- The option ---- */

static int refuse(const char *name) {
  const char *names[PASS_COUNT];
  if (pass_find(name, strlen(name)) != PASS_NONE) {
    fprintf(stderr, "nvmini: error: option '--stop-after': no pass '%s' in this pipeline\n", name);
    return EXIT_USAGE;
  }
  for (int p = 1; p < PASS_COUNT; p++) names[p - 1] = pass_table[p].name;
  return options_unknown("unknown pass", name, names, PASS_COUNT - 1);
}

/* The levels make functions internal if the module is a program; a list of passes does not. */
static bool keep_scope(const struct options *o, struct nvmini_context *c,
                       const struct nvmini_module *m) {
  bool given = o->values[OPTION_WHOLE_PROGRAM] || o->values[OPTION_DEVICE_C] ||
               o->values[OPTION_PASSES] || strcmp(level_name(o), "0") == 0;
  return given || !internalize_is_program(module_of_handle(m)) ||
         nvmini_set_option(c, "--whole-program") == NVMINI_OK;
}

int stop_after_set(const struct options *o, struct nvmini_context *c,
                   const struct nvmini_module *m) {
  const char *name = o->values[OPTION_STOP_AFTER];
  struct pipeline p;
  struct arena arena;
  struct textbuf list, option;
  uint32_t count = 0;
  if (!name) return EXIT_DONE;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&list, &arena);
  textbuf_init(&option, &arena);
  if (!find_pipeline(o, &arena, &p)) { /* which the library reports */
    arena_free(&arena);
    return EXIT_DONE;
  }
  while (count < p.count && strcmp(pass_table[p.steps[count].pass].name, name) != 0) count++;
  int status = count < p.count ? EXIT_DONE : refuse(name);
  if (status == EXIT_DONE) {
    put_steps(&list, &p, count + 1);
    textbuf_format(&option, "--passes=%t", (struct nvm_text){list.bytes, list.length});
    textbuf_char(&option, '\0');
    if (arena.failed || !keep_scope(o, c, m) || nvmini_set_option(c, option.bytes) != NVMINI_OK)
      status = EXIT_REFUSED;
  }
  arena_free(&arena);
  return status;
}
