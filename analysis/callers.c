/* Closed functions; see callers.h. */
#include "analysis/callers.h"

static bool is_open(const struct nvm_function *f) {
  return !symbol_is_local(&f->symbol) || function_is_declaration(f) || function_is_kernel(f) ||
         (type_info(&f->module->types, f->type)->flags & TYPE_VARIADIC) ||
         function_attribute(f, ATTR_NAKED);
}

static void open_function(struct callers *c, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) c->open[value_index(v)] = c->taken[value_index(v)] = true;
}

static bool survey(struct callers *c, const struct nvm_function *f, uint32_t n,
                   struct arena *arena) {
  open_function(c, f->prefix);
  open_function(c, f->prologue);
  open_function(c, f->personality);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      uint32_t count = i->operand_count - (i->op == OP_CALL);
      for (uint32_t k = 0; k < count; k++) open_function(c, inst_operand(f, i, k));
      uint32_t callee = callers_closed_callee(c, f, i);
      if (callee == 0) continue;
      struct caller call = {n, id, c->first[callee]};
      if (!type_equal(call_site_of(f, i)->function_type, f->module->functions.data[callee]->type))
        c->open[callee] = true;
      c->first[callee] = c->calls.count;
      if (!VEC_PUSH(arena, &c->calls, call)) return false;
    }
  return true;
}

bool callers_find(struct callers *c, const struct nvm_module *m, struct arena *arena) {
  *c = (struct callers){.open = arena_alloc(arena, m->functions.count * sizeof *c->open),
                        .taken = arena_alloc(arena, m->functions.count * sizeof *c->taken),
                        .first = arena_alloc(arena, m->functions.count * sizeof *c->first)};
  if (!c->open || !c->taken || !c->first || !VEC_PUSH(arena, &c->calls, (struct caller){.next = 0}))
    return false;
  for (uint32_t n = 1; n < m->functions.count; n++) c->open[n] = is_open(m->functions.data[n]);
  for (uint32_t i = 0; i < m->constants.operands.count; i++)
    open_function(c, m->constants.operands.data[i]);
  for (uint32_t i = 1; i < m->globals.count; i++) {
    open_function(c, m->globals.data[i].initializer);
    open_function(c, m->globals.data[i].aliasee);
  }
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!survey(c, m->functions.data[n], n, arena)) return false;
  return true;
}

uint32_t callers_closed_callee(const struct callers *c, const struct nvm_function *f,
                               const struct nvm_inst *i) {
  struct nvm_value callee = i->op == OP_CALL ? call_callee(f, i) : VALUE_NULL;
  return value_kind(callee) == VALUE_FUNCTION && !c->open[value_index(callee)] ? value_index(callee)
                                                                               : 0;
}

bool callers_in_memory(const struct nvm_function *f, uint32_t k) {
  const struct attr_table_data *a = &f->module->attributes;
  struct nvm_attrset set = attrlist_parameter(a, f->attributes, k);
  return attrset_find(a, set, ATTR_BYVAL) || attrset_find(a, set, ATTR_SRET) ||
         attrset_find(a, set, ATTR_INALLOCA);
}
