/* globalopt: marks variables that are never written as constant.
 *
 * Purpose:   `static __device__` and `__constant__` tables without const, as in libdevice's sines
 *            and in hashes: loads with known indices become their values, others from global memory
 *            ld.global.nc.
 * Algorithm: a local variable with an initializer, which nothing but the module can reach, is
 *            constant if each use of its address, through getelementptr and casts, reads or
 *            compares.
 * Requires:  nothing; finds more after inlining.
 * Preserves: all functions.
 * Cost:      linear in constants and operands; nothing more in modules without such variables.
 * Omits:     addresses that pass a phi, a select or a call; variables written once; unread ones.
 * Tests:     check/opt/globalopt*.nvir. */
#include <string.h>

#include "analysis/effects.h"
#include "ir/intrinsic.h"
#include "opt/passes.h"

struct address_roots {
  struct nvm_module *m;
  struct nvm_value *of_constant; /* the variable that it is an address in; none: in no variable */
  struct nvm_value *of_inst;     /* the same, in the current function, if is_known */
  bool *is_known;
  bool *escapes; /* by variable: no candidate, or its address escapes */
  bool is_odd;   /* a constant is older than its operands */
};

static bool is_candidate(const struct nvm_module *m, const struct nvm_global *g) {
  bool reachable = g->address_space == 0 || g->address_space == 1 || g->address_space == 4;
  return !g->is_constant && symbol_is_local(&g->symbol) && !g->is_alias && !g->is_ifunc &&
         reachable && !g->externally_initialized && !g->symbol.declared_only &&
         !g->symbol.thread_local && !value_is_none(g->initializer) &&
         !const_is_undef_or_poison(m, g->initializer);
}

/* Whether the result of op points into the same object as its first operand. */
static bool follows(enum op op, const struct type_table *t, struct nvm_type result) {
  return (op == OP_GEP || op == OP_ADDRSPACECAST || op == OP_BITCAST) && type_is_ptr(t, result);
}

static struct nvm_value root_of_constant(const struct address_roots *r, struct nvm_value v) {
  if (value_kind(v) == VALUE_GLOBAL) return v;
  return value_kind(v) == VALUE_CONST ? r->of_constant[value_index(v)] : VALUE_NULL;
}

static void mark_escaped(struct address_roots *r, struct nvm_value root) {
  if (value_kind(root) == VALUE_GLOBAL) r->escapes[value_index(root)] = true;
}

/* Operands of a constant are older than it. */
static void visit_constant(struct address_roots *r, uint32_t n) {
  struct nvm_value v = value_make(VALUE_CONST, n);
  const struct constant_info *c = constant_info(&r->m->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  bool chain = c->kind == CONST_EXPR && follows((enum op)c->op, &r->m->types, c->type);
  for (uint32_t k = 0; k < c->count; k++) {
    struct nvm_value operand = const_operand(r->m, v, k);
    r->is_odd |= value_kind(operand) == VALUE_CONST && value_index(operand) >= n;
    struct nvm_value root = root_of_constant(r, operand);
    if (chain && k == 0) r->of_constant[n] = root;
    else mark_escaped(r, root);
  }
}

/* The instruction that `i` follows; NULL if it is none, or the end of the chain. */
static const struct nvm_inst *chain_above(const struct nvm_function *f, const struct nvm_inst *i) {
  return follows((enum op)i->op, &f->module->types, i->type) ? value_inst(f, inst_operand(f, i, 0))
                                                             : NULL;
}

/* Walks up to an address whose root is known, or to the end, and down again. A chain in unreachable
 * code may have no end. */
static struct nvm_value root_of(struct address_roots *r, const struct nvm_function *f,
                                struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return root_of_constant(r, v);
  struct nvm_value top = v, root = VALUE_NULL;
  const struct nvm_inst *i = value_inst(f, top);
  for (uint32_t n = 0; n < f->insts.count && !r->is_known[value_index(top)]; n++) {
    if (!chain_above(f, i)) {
      if (follows((enum op)i->op, &f->module->types, i->type))
        root = root_of_constant(r, inst_operand(f, i, 0));
      break;
    }
    top = inst_operand(f, i, 0);
    i = value_inst(f, top);
  }
  if (r->is_known[value_index(top)]) root = r->of_inst[value_index(top)];
  for (; !r->is_known[value_index(v)]; v = inst_operand(f, value_inst(f, v), 0)) {
    r->is_known[value_index(v)] = true;
    r->of_inst[value_index(v)] = root;
    if (value_equal(v, top)) break;
  }
  return root;
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

static void visit_function(struct address_roots *r, const struct nvm_function *f) {
  memset(r->is_known, 0, f->insts.count * sizeof *r->is_known);
  mark_escaped(r, root_of_constant(r, f->prefix));
  mark_escaped(r, root_of_constant(r, f->prologue));
  mark_escaped(r, root_of_constant(r, f->personality));
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++)
        if (!only_reads(f, i, k)) mark_escaped(r, root_of(r, f, inst_operand(f, i, k)));
    }
}

/* Annotations are nodes; debug records refer to values without one, or by a DIArgList. */
static void visit_metadata(struct address_roots *r) {
  const struct meta_table *t = &r->m->metadata;
  struct nvm_str list = strtab_find(&r->m->strings, "DIArgList", 9);
  for (uint32_t n = 1; n < t->nodes.count; n++) {
    const struct meta_node *node = &t->nodes.data[n];
    for (uint32_t k = 0; k < node->count; k++) {
      const struct meta_item *item = meta_item(t, meta_operand(t, node, k));
      if (item->kind == META_VALUE && !(list.index && node->name.index == list.index))
        mark_escaped(r, root_of_constant(r, item->value));
    }
  }
}

static void visit_module(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  for (uint32_t n = 1; n < m->constants.infos.count; n++) visit_constant(r, n);
  for (uint32_t n = 1; n < m->globals.count; n++) {
    mark_escaped(r, root_of_constant(r, m->globals.data[n].initializer));
    mark_escaped(r, root_of_constant(r, m->globals.data[n].aliasee));
  }
  visit_metadata(r);
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!function_is_declaration(m->functions.data[n])) visit_function(r, m->functions.data[n]);
}

static bool allocate_roots(struct address_roots *r, struct arena *arena) {
  uint32_t most = 1;
  for (uint32_t n = 1; n < r->m->functions.count; n++)
    if (r->m->functions.data[n]->insts.count > most) most = r->m->functions.data[n]->insts.count;
  r->of_constant = arena_alloc(arena, r->m->constants.infos.count * sizeof *r->of_constant);
  r->of_inst = arena_alloc(arena, most * sizeof *r->of_inst);
  r->is_known = arena_alloc(arena, most * sizeof *r->is_known);
  return r->of_constant && r->of_inst && r->is_known;
}

enum nvm_status globalopt_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct address_roots r = {.m = m};
  bool any = false;
  r.escapes = arena_alloc(env->arena, m->globals.count * sizeof *r.escapes);
  if (!r.escapes) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->globals.count; n++) {
    r.escapes[n] = !is_candidate(m, &m->globals.data[n]);
    any |= !r.escapes[n];
  }
  if (!any) return NVM_OK;
  if (!allocate_roots(&r, env->arena)) return NVM_OUT_OF_MEMORY;
  visit_module(&r);
  for (uint32_t n = 1; n < m->globals.count && !r.is_odd; n++) {
    if (r.escapes[n]) continue;
    m->globals.data[n].is_constant = true;
    ++*env->statistic;
    *changed = true;
  }
  return NVM_OK;
}
