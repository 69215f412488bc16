/* Constructors and destructors of global objects become variables with their addresses.
 *
 * Purpose:   PTX has no lists of functions to run before or after the kernels. A loader finds the
 *            variables by their names and runs the functions (knob nvptx-lower-global-ctor-dtor).
 * Algorithm: an entry { priority, function, data } of llvm.global_ctors becomes
 *              @__init_array_object_FUNCTION_MODULE_PRIORITY = addrspace(4) constant ptr @FUNCTION
 *            in section .init_array.PRIORITY, one of llvm.global_dtors @__fini_array_object_… in
 *            .fini_array.PRIORITY, as LLVM's nvptx-lower-ctor-dtor does; MODULE is a hash of
 *            source_filename, and a dot in the name is an underscore.
 * Requires:  nothing; runs before all passes.
 * Preserves: functions.
 * Cost:      linear in entries.
 * Omits:     kernels that run the functions, which need a linker to join the variables.
 * Tests:     check/codegen/constructors.nvir. */
#include "opt/interprocedural/constructors.h"

#include "support/textbuf.h"

static uint32_t hash_text(struct nvm_text text) {
  uint32_t hash = 0x811c9dc5; /* FNV-1a */
  for (size_t i = 0; i < text.length; i++)
    hash = (hash ^ (unsigned char)text.bytes[i]) * 0x01000193;
  return hash;
}

/* A free name; an entry whose name another one has, as f.1 and f_1, gets a number at its end. */
static struct nvm_str variable_name(struct nvm_module *m, const char *kind,
                                    struct nvm_value function, uint32_t priority) {
  struct nvm_text of = module_text(m, module_symbol(m, function)->name);
  uint32_t module = hash_text(module_text(m, m->source_filename));
  for (uint32_t taken = 0;; taken++) {
    struct textbuf b;
    textbuf_init(&b, &m->arena);
    textbuf_format(&b, "__%s_array_object_%t_%x_%u", kind, of, module, priority);
    if (taken) textbuf_format(&b, "_%u", taken);
    for (size_t i = 0; i < b.length; i++)
      if (b.bytes[i] == '.') b.bytes[i] = '_';
    struct nvm_str name = strtab_intern(&m->strings, b.bytes, b.length);
    if (m->arena.failed || value_is_none(module_find_symbol(m, name))) return name;
  }
}

/* The variable of one entry; false when out of memory. */
static bool add_variable(struct nvm_module *m, const char *kind, struct nvm_value function,
                         uint32_t priority) {
  struct textbuf section;
  textbuf_init(&section, &m->arena);
  textbuf_format(&section, ".%s_array.%u", kind, priority);
  struct nvm_str name = variable_name(m, kind, function, priority);
  struct nvm_value v = m->arena.failed ? VALUE_NULL : module_add_global(m, name);
  if (value_is_none(v)) return false;
  struct nvm_global *g = module_global(m, v);
  g->symbol.section = strtab_intern(&m->strings, section.bytes, section.length);
  g->symbol.visibility = VIS_PROTECTED;
  g->symbol.defined = true;
  g->value_type = TYPE_PTR;
  g->address_space = 4;
  g->initializer = function;
  g->is_constant = true;
  return !m->arena.failed;
}

/* Whether the entry is { i32, function, … }; a null function ends older lists. */
static bool read_entry(const struct nvm_module *m, struct nvm_value entry,
                       struct nvm_value *function, uint32_t *priority) {
  nvm_u128 number;
  const struct constant_info *c =
      value_kind(entry) == VALUE_CONST ? constant_info(&m->constants, entry) : NULL;
  if (!c || c->kind != CONST_AGGREGATE || c->count < 2 ||
      !const_is_int(m, const_operand(m, entry, 0), &number))
    return false;
  *function = const_operand(m, entry, 1);
  *priority = (uint32_t)number;
  return value_kind(*function) == VALUE_FUNCTION;
}

static bool lower_list(struct nvm_module *m, const char *name, const char *kind) {
  struct nvm_value list = module_find_symbol(m, module_str(m, name));
  if (value_kind(list) != VALUE_GLOBAL) return true;
  struct nvm_value entries = module_global(m, list)->initializer;
  if (value_kind(entries) != VALUE_CONST ||
      constant_info(&m->constants, entries)->kind != CONST_AGGREGATE)
    return true;
  uint32_t count = constant_info(&m->constants, entries)->count, priority;
  struct nvm_value function;
  for (uint32_t i = 0; i < count; i++)
    if (!read_entry(m, const_operand(m, entries, i), &function, &priority)) return true;
  for (uint32_t i = 0; i < count; i++)
    if (read_entry(m, const_operand(m, entries, i), &function, &priority) &&
        !add_variable(m, kind, function, priority))
      return false;
  module_remove_symbol(m, list);
  return true;
}

bool constructors_lower(struct nvm_module *m) {
  return lower_list(m, "llvm.global_ctors", "init") && lower_list(m, "llvm.global_dtors", "fini");
}
