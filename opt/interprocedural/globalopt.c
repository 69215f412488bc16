/* globalopt: makes variables constant that are never written.
 *
 * Purpose:   `static __device__` and `__constant__` tables without const, as in libdevice's sines and
 *            in hashes: loads with known indices become their values, others ld.global.nc.
 * Algorithm: a local variable with an initializer, which nothing but the module can reach, is
 *            constant if each use of its address, through getelementptr and casts, reads or compares.
 * Requires:  nothing; finds more after inlining.
 * Preserves: all functions.
 * Cost:      linear in constants and operands; nothing in modules without such variables.
 * Omits:     addresses that pass a phi, a select or a call; variables written once; unread ones.
 * Tests:     check/opt/globalopt*.nvir. */
#include "analysis/effects.h"
#include "ir/intrinsic.h"
#include "opt/passes.h"

struct survey {
  struct nvm_module *m;
  struct nvm_value *roots; /* by constant: the variable that it is an address in, or none */
  bool *kept;              /* by variable: no candidate, or its address goes elsewhere */
  bool lost;               /* some chain of addresses is too long to follow */
};

static bool is_candidate(const struct nvm_module *m, const struct nvm_global *g) {
  bool reachable = g->address_space == 0 || g->address_space == 1 || g->address_space == 4;
  return !g->is_constant && symbol_is_local(&g->symbol) && !g->is_alias && !g->is_ifunc &&
         reachable && !g->externally_initialized && !g->symbol.declared_only &&
         !g->symbol.thread_local && !value_is_none(g->initializer) &&
         !const_is_undef_or_poison(m, g->initializer);
}

/* Whether op gives an address in what its first operand is an address of. */
static bool follows(enum op op, const struct type_table *t, struct nvm_type result) {
  return (op == OP_GEP || op == OP_ADDRSPACECAST || op == OP_BITCAST) && type_is_ptr(t, result);
}

static struct nvm_value root_of_constant(const struct survey *s, struct nvm_value v) {
  if (value_kind(v) == VALUE_GLOBAL) return v;
  return value_kind(v) == VALUE_CONST ? s->roots[value_index(v)] : VALUE_NULL;
}

static void keep(struct survey *s, struct nvm_value root) {
  if (value_kind(root) == VALUE_GLOBAL) s->kept[value_index(root)] = true;
}

/* Operands of a constant are older than it. */
static void visit_constant(struct survey *s, uint32_t n) {
  struct nvm_value v = value_make(VALUE_CONST, n);
  const struct constant_info *c = constant_info(&s->m->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  bool chain = c->kind == CONST_EXPR && follows((enum op)c->op, &s->m->types, c->type);
  for (uint32_t k = 0; k < c->count; k++) {
    struct nvm_value operand = const_operand(s->m, v, k);
    if (value_kind(operand) == VALUE_CONST && value_index(operand) >= n) s->lost = true;
    struct nvm_value root = root_of_constant(s, operand);
    if (chain && k == 0) s->roots[n] = root;
    else keep(s, root);
  }
}

static struct nvm_value root_of(struct survey *s, const struct nvm_function *f,
                                struct nvm_value v) {
  enum { MAX_STEPS = 64 };
  for (int n = 0; n < MAX_STEPS; n++) {
    const struct nvm_inst *i = value_inst(f, v);
    if (!i) return root_of_constant(s, v);
    if (!follows(i->op, &f->module->types, i->type)) return VALUE_NULL;
    v = inst_operand(f, i, 0);
  }
  s->lost = true;
  return VALUE_NULL;
}

static bool only_reads(const struct nvm_function *f, const struct nvm_inst *i, uint32_t operand) {
  switch (i->op) {
    case OP_LOAD: return effects_is_plain_access(i);
    case OP_ICMP:
    case OP_DBG_RECORD: return true;
    case OP_CALL:
      switch (call_intrinsic(f, i)) {
        case INTRINSIC_memcpy:
        case INTRINSIC_memcpy_inline:
        case INTRINSIC_memmove: return operand == 1;
        case INTRINSIC_nvvm_ldg_global_i:
        case INTRINSIC_nvvm_ldg_global_f:
        case INTRINSIC_nvvm_ldg_global_p: return operand == 0;
        default: return false;
      }
    default: return operand == 0 && follows(i->op, &f->module->types, i->type);
  }
}

static void visit_function(struct survey *s, const struct nvm_function *f) {
  keep(s, root_of_constant(s, f->prefix));
  keep(s, root_of_constant(s, f->prologue));
  keep(s, root_of_constant(s, f->personality));
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++)
        if (!only_reads(f, i, k)) keep(s, root_of(s, f, inst_operand(f, i, k)));
    }
}

static void visit_symbols(struct survey *s) {
  struct nvm_module *m = s->m;
  for (uint32_t n = 1; n < m->constants.infos.count; n++) visit_constant(s, n);
  for (uint32_t n = 1; n < m->globals.count; n++) {
    keep(s, root_of_constant(s, m->globals.data[n].initializer));
    keep(s, root_of_constant(s, m->globals.data[n].aliasee));
  }
  for (uint32_t n = 0; n < m->metadata.items.count; n++) {
    const struct meta_item *item = &m->metadata.items.data[n];
    if (item->kind == META_VALUE) keep(s, root_of_constant(s, item->value));
  }
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!function_is_declaration(m->functions.data[n])) visit_function(s, m->functions.data[n]);
}

enum nvm_status globalopt_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct survey s = {.m = m};
  bool any = false;
  s.kept = arena_alloc(env->arena, m->globals.count * sizeof *s.kept);
  s.roots = arena_alloc(env->arena, m->constants.infos.count * sizeof *s.roots);
  if (!s.kept || !s.roots) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->globals.count; n++) {
    s.kept[n] = !is_candidate(m, &m->globals.data[n]);
    any |= !s.kept[n];
  }
  if (!any) return NVM_OK;
  visit_symbols(&s);
  for (uint32_t n = 1; n < m->globals.count && !s.lost; n++) {
    if (s.kept[n]) continue;
    m->globals.data[n].is_constant = true;
    ++*env->statistic;
    *changed = true;
  }
  return NVM_OK;
}
