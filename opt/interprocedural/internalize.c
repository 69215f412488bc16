/* internalize: makes functions internal that no other module calls, so that they can be inlined at
 * their only call, specialized and removed.
 *
 * A module with kernels is a program unless it refers to another module. nvcc compiles each file as
 * a whole program unless relocatable code is asked for (-rdc), and then refuses references to the
 * functions and variables of other files. A library has no kernels. */
#include "opt/interprocedural/internalize.h"

/* Functions that every GPU program is linked with. */
static bool is_of_system(struct nvm_text name) {
  static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (text_is(name, names[k])) return true;
  return text_begins(name, "__nv"); /* libdevice and __nvvm_reflect */
}

/* Whether another module must define the symbol. clang declares blockIdx, which none does, as
 * extern_weak. */
static bool is_needed(const struct symbol *s) {
  return s->declared_only && s->linkage != LINK_EXTERN_WEAK;
}

bool internalize_is_program(const struct nvm_module *m) {
  bool has_kernel = false;
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    if (is_needed(&f->symbol) && !f->intrinsic && !is_of_system(module_text(m, f->symbol.name)))
      return false;
    has_kernel |= function_is_kernel(f) && !function_is_declaration(f);
  }
  for (uint32_t n = 1; n < m->globals.count; n++) {
    const struct nvm_global *g = &m->globals.data[n];
    if (is_needed(&g->symbol) && g->address_space != 3 /* shared memory */) return false;
  }
  return has_kernel;
}

/* Marks the functions that a list or an alias names. */
static void mark_named(const struct nvm_module *m, struct nvm_value v, bool *named) {
  if (value_kind(v) == VALUE_FUNCTION) named[value_index(v)] = true;
  if (value_kind(v) != VALUE_CONST) return;
  const struct constant_info *c = constant_info(&m->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  for (uint32_t k = 0; k < c->count; k++) mark_named(m, const_operand(m, v, k), named);
}

static void hide(struct nvm_function *f) {
  if (function_is_declaration(f) || function_is_kernel(f) ||
      f->symbol.linkage == LINK_AVAILABLE_EXTERNALLY || symbol_is_local(&f->symbol))
    return;
  f->symbol.linkage = LINK_INTERNAL;
  f->symbol.visibility = VIS_DEFAULT;
  f->symbol.comdat = 0;
}

bool internalize(struct nvm_module *m) {
  struct arena arena;
  arena_init(&arena, m->arena.allocator);
  bool *named = arena_alloc(&arena, m->functions.count * sizeof *named);
  for (uint32_t n = 1; named && n < m->globals.count; n++) {
    const struct nvm_global *g = &m->globals.data[n];
    if (g->symbol.linkage == LINK_APPENDING) mark_named(m, g->initializer, named);
    mark_named(m, g->aliasee, named);
  }
  for (uint32_t n = 1; named && n < m->functions.count; n++)
    if (!named[n]) hide(m->functions.data[n]);
  arena_free(&arena);
  return named != NULL;
}
