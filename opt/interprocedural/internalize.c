/* internalize: makes functions internal that no other module calls, so that they can be inlined at
 * their only call, specialized and removed; and variables in shared memory, which the host cannot
 * reach, so that they can be aligned for wide accesses and their unread stores removed.
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

/* The symbols that stay visible, by number. */
struct named {
  const struct nvm_module *m;
  bool *functions, *globals;
  bool in_assembly; /* the module has assembly */
};

/* Marks the symbols that a list, an alias or assembly names. */
static void mark_named(const struct named *n, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) n->functions[value_index(v)] = true;
  if (value_kind(v) == VALUE_GLOBAL) n->globals[value_index(v)] = true;
  if (value_kind(v) != VALUE_CONST) return;
  const struct constant_info *c = constant_info(&n->m->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  for (uint32_t k = 0; k < c->count; k++) mark_named(n, const_operand(n->m, v, k));
}

/* Without `$`, which begins an operand in inline assembly. */
static bool is_identifier_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* Marks the symbols whose names occur in the text. */
static void mark_identifiers(struct named *n, struct nvm_str assembly) {
  struct nvm_text text = module_text(n->m, assembly);
  n->in_assembly |= text.length != 0;
  for (size_t k = 0, end; k < text.length; k = end + 1) {
    for (end = k; end < text.length && is_identifier_character(text.bytes[end]);) end++;
    struct nvm_str name = strtab_find(&n->m->strings, text.bytes + k, end - k);
    if (name.index) mark_named(n, module_find_symbol(n->m, name));
  }
}

static void mark_all_named(struct named *n) {
  const struct nvm_module *m = n->m;
  for (uint32_t k = 1; k < m->globals.count; k++) {
    const struct nvm_global *g = &m->globals.data[k];
    if (g->symbol.linkage == LINK_APPENDING) mark_named(n, g->initializer);
    mark_named(n, g->aliasee);
  }
  for (uint32_t k = 0; k < m->module_asm.count; k++) mark_identifiers(n, m->module_asm.data[k]);
  for (uint32_t k = 1; k < m->constants.infos.count; k++)
    if (m->constants.infos.data[k].kind == CONST_ASM)
      mark_identifiers(n, m->constants.infos.data[k].str);
}

/* Whether code generation may write another name in PTX (codegen/names.c). Such names are not
 * looked for: with any assembly in the module the symbol stays visible. */
static bool may_be_named(const struct named *n, struct nvm_text name) {
  if (!n->in_assembly) return false;
  for (size_t k = 0; k < name.length; k++)
    if (!is_identifier_character(name.bytes[k])) return true;
  return name.length == 0 || (name.bytes[0] >= '0' && name.bytes[0] <= '9');
}

static void hide(const struct named *n, struct symbol *s) {
  if (s->declared_only || s->linkage == LINK_AVAILABLE_EXTERNALLY || symbol_is_local(s) ||
      may_be_named(n, module_text(n->m, s->name)))
    return;
  s->linkage = LINK_INTERNAL;
  s->visibility = VIS_DEFAULT;
  s->comdat = 0;
}

bool internalize(struct nvm_module *m) {
  struct arena arena;
  arena_init(&arena, m->arena.allocator);
  struct named n = {.m = m,
                    .functions = arena_alloc(&arena, m->functions.count * sizeof(bool)),
                    .globals = arena_alloc(&arena, m->globals.count * sizeof(bool))};
  bool allocated = n.functions && n.globals;
  if (allocated) mark_all_named(&n);
  for (uint32_t k = 1; allocated && k < m->functions.count; k++) {
    struct nvm_function *f = m->functions.data[k];
    if (!n.functions[k] && !function_is_kernel(f)) hide(&n, &f->symbol);
  }
  for (uint32_t k = 1; allocated && k < m->globals.count; k++) {
    struct nvm_global *g = &m->globals.data[k];
    bool is_shared = g->address_space == 3 && !g->is_alias && !g->is_ifunc;
    if (is_shared && !n.globals[k]) hide(&n, &g->symbol);
  }
  arena_free(&arena);
  return allocated;
}
