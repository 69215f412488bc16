/* Linking of lazy modules: every definition that the program, or what was linked so far, needs.
 *
 * All are linked in order, which satisfies the needs of later modules at once. What they need of
 * earlier ones is found through a table of names: each round looks at the symbols that the last one
 * added, and links the modules that define them. Time goes with the modules and what is linked, not
 * with rounds times modules. A pass over all is repeated while symbols are added, since linking a
 * library also turns mathematical intrinsics into calls of its functions. */
#include "api/module.h"
#include "compat/program.h"

struct lazy {
  const struct build *build;
  struct nvmini_module *whole;
  struct arena arena;
  struct strtab names;
  VEC(uint32_t) definers;      /* by name: the first library that defines it, + 1 */
  bool *needed;                /* by input: to be linked in this round */
  uint32_t functions, globals; /* of the whole that were looked at */
};

static bool add_definition(struct lazy *l, const struct nvm_module *m, const struct symbol *s,
                           uint32_t input) {
  struct nvm_text name = module_text(m, s->name);
  if (s->declared_only || symbol_is_local(s) || name.length == 0) return true;
  struct nvm_str key = strtab_intern(&l->names, name.bytes, name.length);
  if (!key.index || !VEC_RESERVE(&l->arena, &l->definers, (uint64_t)key.index + 1)) return false;
  if (l->definers.data[key.index] == 0) l->definers.data[key.index] = input + 1;
  return true;
}

static bool add_definitions(struct lazy *l, uint32_t input) {
  const struct nvm_module *m = module_of_handle(l->build->modules[input]);
  bool added = true;
  for (uint32_t n = 1; added && n < m->functions.count; n++)
    added = add_definition(l, m, &m->functions.data[n]->symbol, input);
  for (uint32_t n = 1; added && n < m->globals.count; n++)
    added = add_definition(l, m, &m->globals.data[n].symbol, input);
  return added;
}

static bool start(struct lazy *l) {
  const uint32_t count = l->build->program->inputs.count;
  arena_init(&l->arena, nvm_default_allocator);
  l->needed = arena_alloc(&l->arena, count * sizeof *l->needed);
  if (!l->needed || !strtab_init(&l->names, &l->arena)) return false;
  memset(l->needed, false, count * sizeof *l->needed);
  l->functions = l->globals = 1;
  for (uint32_t i = 0; i < count; i++)
    if (l->build->program->inputs.data[i].is_library && !add_definitions(l, i)) return false;
  return true;
}

/* Whether a symbol of the whole needs a library, which is marked. */
static bool mark(struct lazy *l, const struct nvm_module *m, const struct symbol *s) {
  struct nvm_text name = module_text(m, s->name);
  if (!s->declared_only) return false;
  struct nvm_str key = strtab_find(&l->names, name.bytes, name.length);
  if (!key.index) return false;
  return l->needed[l->definers.data[key.index] - 1] = true;
}

/* Marks what the symbols need that the last round added; whether there is anything. */
static bool mark_needed(struct lazy *l) {
  const struct nvm_module *m = module_of_handle(l->whole);
  bool any = false;
  for (; l->functions < m->functions.count; l->functions++)
    any |= mark(l, m, &m->functions.data[l->functions]->symbol);
  for (; l->globals < m->globals.count; l->globals++)
    any |= mark(l, m, &m->globals.data[l->globals].symbol);
  return any;
}

/* Links every library, or those that are marked. */
static enum nvmini_status link_round(struct lazy *l, struct build *b, bool all) {
  enum nvmini_status status = NVMINI_OK;
  for (uint32_t i = 0; i < b->program->inputs.count && status == NVMINI_OK; i++) {
    const struct program_input *input = &b->program->inputs.data[i];
    if (!input->is_library || !(all || l->needed[i])) continue;
    b->name = input->name;
    l->needed[i] = false;
    status = nvmini_link_library(l->whole, b->modules[i]);
  }
  return status;
}

enum nvmini_status build_link_lazy(struct build *b, struct nvmini_module *whole) {
  const struct nvm_module *m = module_of_handle(whole);
  struct lazy l = {.build = b, .whole = whole};
  enum nvmini_status status = start(&l) ? NVMINI_OK : NVMINI_OUT_OF_MEMORY;
  for (uint32_t before = 0; status == NVMINI_OK && before != m->symbol_order.count;) {
    before = m->symbol_order.count;
    status = link_round(&l, b, true);
    while (status == NVMINI_OK && mark_needed(&l)) status = link_round(&l, b, false);
  }
  arena_free(&l.arena);
  return status;
}
