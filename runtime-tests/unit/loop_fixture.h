/* What the tests of loop analyses share: a function from text, its analyses, values by name. */
#ifndef NVM_TESTS_LOOP_FIXTURE_H
#define NVM_TESTS_LOOP_FIXTURE_H

#include "ir_fixture.h"

#include "frontend/parse.h"
#include "analysis/scev.h"

struct loop_sample {
  struct nvm_module *m;
  struct nvm_function *f;
  struct dominance dominance;
  struct loops loops;
  struct scev_env *scev;
};

/* The last function of the text. */
static inline struct loop_sample loop_sample(const char *text) {
  struct loop_sample s = {.m = new_module()};
  struct diag_sink sink;
  diag_sink_init(&sink, &s.m->arena, 0);
  assert_int_equal(parse_module(s.m, text, strlen(text), "test", 0, &sink), NVM_OK);
  s.f = s.m->functions.data[s.m->functions.count - 1];
  struct dominance *d = arena_alloc(&s.m->arena, sizeof *d);
  struct loops *l = arena_alloc(&s.m->arena, sizeof *l);
  assert_true(d && l && dominance_compute(d, s.f, &s.m->arena) &&
              loops_compute(l, s.f, d, &s.m->arena));
  s.dominance = *d;
  s.loops = *l;
  s.scev = scev_init(s.f, l, d, &s.m->arena);
  assert_non_null(s.scev);
  return s;
}

static inline struct nvm_value named(const struct loop_sample *s, const char *name) {
  for (uint32_t k = 0; k < function_arg_count(s->f); k++)
    if (s->f->arg_names && strcmp(module_text(s->m, s->f->arg_names[k]).bytes, name) == 0)
      return value_of_arg(k);
  for (uint32_t k = 1; k < s->f->insts.count; k++)
    if (strcmp(module_text(s->m, s->f->names.data[k]).bytes, name) == 0)
      return value_of_inst((struct nvm_inst_id){k});
  for (uint32_t k = 1; k < s->f->blocks.count; k++)
    if (strcmp(module_text(s->m, s->f->blocks.data[k].name).bytes, name) == 0)
      return value_of_block((struct nvm_block){k});
  fail_msg("no value %s", name);
  return VALUE_NULL;
}

static inline const char *name_of(const struct loop_sample *s, struct nvm_value v) {
  if (value_is_none(v)) return "-";
  if (value_kind(v) == VALUE_ARG) return module_text(s->m, s->f->arg_names[value_index(v)]).bytes;
  if (value_kind(v) == VALUE_BLOCK)
    return module_text(s->m, s->f->blocks.data[value_index(v)].name).bytes;
  return module_text(s->m, s->f->names.data[value_index(v)]).bytes;
}

#endif
