/* ipsccp: constants that pass into and out of internal functions.
 *
 * Purpose:   what is left of calls after inlining (recursion, noinline, large bodies) often gets the
 *            same constant from everywhere, or returns one; in the callee it decides branches.
 * Algorithm: sccp's lattice over arguments and results, without the flow within bodies:
 *
 *               argument   the meet of what all calls pass; what a function passes on to itself in
 *                          the same place says nothing, as undef and poison do
 *               result     the meet of all returned values
 *
 *            Only for functions of which every use is a call seen here: internal, address not
 *            taken, called as the type that they have. sccp, which runs next, does the rest; the
 *            next round sees what it found.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in the module's operands.
 * Omits:     ranges; byval, sret and inalloca arguments; results of which a part is constant.
 * Tests:     check/opt/ipsccp.nvir. */
#include "opt/passes.h"

#define VARIES ((struct nvm_value){UINT32_MAX})

struct summary {
  struct nvm_value *arguments; /* VALUE_NULL: nothing known yet; VARIES; a constant */
  struct nvm_value result;
  bool open;                   /* not every use is known */
};

struct propagation {
  struct nvm_module *m;
  struct summary *functions;
};

static bool is_varying(struct nvm_value v) { return v.bits == UINT32_MAX; }

static void lower(const struct propagation *p, struct nvm_value *state, struct nvm_value v) {
  bool constant = value_kind(v) == VALUE_CONST || value_kind(v) == VALUE_GLOBAL ||
                  value_kind(v) == VALUE_FUNCTION;
  if (value_kind(v) == VALUE_CONST && const_is_undef_or_poison(p->m, v)) return;
  if (!constant || (!value_is_none(*state) && !value_equal(*state, v))) *state = VARIES;
  else *state = v;
}

static void open_function(const struct propagation *p, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) p->functions[value_index(v)].open = true;
}

static bool begin_function(struct propagation *p, uint32_t n, struct arena *arena) {
  const struct nvm_function *f = p->m->functions.data[n];
  struct summary *s = &p->functions[n];
  enum linkage linkage = (enum linkage)f->symbol.linkage;
  s->open = (linkage != LINK_INTERNAL && linkage != LINK_PRIVATE) || function_is_declaration(f) ||
            function_is_kernel(f) || (type_info(&p->m->types, f->type)->flags & TYPE_VARIADIC);
  s->arguments = arena_alloc(arena, (function_arg_count(f) + 1) * sizeof *s->arguments);
  open_function(p, f->prefix);
  open_function(p, f->prologue);
  open_function(p, f->personality);
  return s->arguments != NULL;
}

static void meet_call(const struct propagation *p, const struct nvm_function *f, uint32_t caller,
                      const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  if (value_kind(callee) != VALUE_FUNCTION) return;
  uint32_t n = value_index(callee);
  const struct nvm_function *g = module_function(p->m, callee);
  struct summary *s = &p->functions[n];
  if (!type_equal(call_site_of(f, i)->function_type, g->type)) s->open = true;
  for (uint32_t k = 0, count = function_arg_count(g); k < count && !s->open; k++) {
    struct nvm_value v = inst_operand(f, i, k);
    bool own = caller == n && value_kind(v) == VALUE_ARG && value_index(v) == k;
    if (!own) lower(p, &s->arguments[k], v);
  }
}

static void survey_function(const struct propagation *p, uint32_t n) {
  const struct nvm_function *f = p->m->functions.data[n];
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      bool call = i->op == OP_CALL;
      for (uint32_t k = 0; k + call < i->operand_count; k++) open_function(p, inst_operand(f, i, k));
      if (call) meet_call(p, f, n, i);
      if (i->op == OP_RET && i->operand_count)
        lower(p, &p->functions[n].result, inst_operand(f, i, 0));
    }
}

/* Arguments that a call doesn't pass as they are. */
static bool is_in_memory(const struct nvm_function *f, uint32_t k) {
  const struct attr_table_data *a = &f->module->attributes;
  struct nvm_attrset set = attrlist_parameter(a, f->attributes, k);
  return attrset_find(a, set, ATTR_BYVAL) || attrset_find(a, set, ATTR_SRET) ||
         attrset_find(a, set, ATTR_INALLOCA);
}

/* The constant that an operand of f always is, or VALUE_NULL. */
static struct nvm_value known(const struct propagation *p, const struct nvm_function *f,
                              const struct summary *s, struct nvm_value v) {
  struct nvm_value state = VALUE_NULL;
  if (value_kind(v) == VALUE_ARG && !s->open && !is_in_memory(f, value_index(v)))
    state = s->arguments[value_index(v)];
  if (value_kind(v) == VALUE_INST) {
    const struct nvm_inst *i = &f->insts.data[value_index(v)];
    if (i->op != OP_CALL || (i->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL) return VALUE_NULL;
    struct nvm_value callee = call_callee(f, i);
    if (value_kind(callee) != VALUE_FUNCTION || p->functions[value_index(callee)].open)
      return VALUE_NULL;
    state = p->functions[value_index(callee)].result;
  }
  return is_varying(state) ? VALUE_NULL : state;
}

static uint64_t apply(const struct propagation *p, uint32_t n) {
  struct nvm_function *f = p->m->functions.data[n];
  uint64_t found = 0;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i)
      for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++) {
        struct nvm_value v = inst_operand(f, function_inst(f, i), k);
        struct nvm_value now = known(p, f, &p->functions[n], v);
        if (value_is_none(now)) continue;
        inst_set_operand(f, i, k, now);
        found++;
      }
  return found;
}

enum nvm_status ipsccp_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct propagation p = {.m = m};
  uint64_t before = *env->statistic;
  p.functions = arena_alloc(env->arena, m->functions.count * sizeof *p.functions);
  if (!p.functions) return NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!begin_function(&p, n, env->arena)) return NVM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < m->constants.operands.count; i++)
    open_function(&p, m->constants.operands.data[i]);
  for (uint32_t i = 1; i < m->globals.count; i++) {
    open_function(&p, m->globals.data[i].initializer);
    open_function(&p, m->globals.data[i].aliasee);
  }
  for (uint32_t n = 1; n < m->functions.count; n++) survey_function(&p, n);
  for (uint32_t n = 1; n < m->functions.count; n++) *env->statistic += apply(&p, n);
  *changed = *env->statistic != before;
  return NVM_OK;
}
