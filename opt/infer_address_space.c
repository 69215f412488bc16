/* infer-address-space: accesses through generic pointers get the state space they lie in.
 *
 * Purpose:   a generic access asks at run time which memory it means; ld.global and ld.shared do not, and
 *            alias analysis sees them apart.
 * Algorithm: optimistic data flow over the expressions of generic pointers (getelementptr, phi, select,
 *            casts): unknown, one space, generic. The sources are casts from a space, variables, and what
 *            the host passes to a CUDA kernel: its pointer parameters, and pointers loaded from byval
 *            parameters that are only read, are global. Expressions that lead to an access change their
 *            type in place; who needs the generic pointer still gets a cast back. As infer-local variables of
 *            the frame are sources too, and become .local themselves: when sroa is done with them.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands: a value moves at most twice.
 * Omits:     arguments of device functions; pointers loaded from memory; vectors of pointers.
 * Tests:     check/opt/infer-address-space-*. */
#include "opt/analysis/alias.h"
#include "opt/passes.h"
#include "opt/uses.h"

enum { GENERIC = 0, GLOBAL = 1, LOCAL = 5, UNKNOWN = UINT32_MAX };

struct inferrer {
  struct nvm_function *f;
  struct arena *arena;
  struct uses uses;
  uint32_t size;          /* instructions when the pass began; later ones are casts it made */
  uint32_t *space;        /* by instruction: of the object; only of those where is_expression() */
  bool *wanted;           /* by instruction: an access depends on it */
  bool any_wanted;
  bool *written;          /* by argument: byval and perhaps stored to (where parameters are global) */
  bool parameters_global;
  bool locals;            /* allocas are expressions of space LOCAL */
  struct nvm_value *cast_of; /* by instruction, then by argument: the cast made for it */
  VEC(struct nvm_inst_id) work;
  uint64_t changes;
};

static struct nvm_inst *inst_of(const struct inferrer *g, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &g->f->insts.data[value_index(v)] : NULL;
}

static uint32_t type_space(const struct inferrer *g, struct nvm_type type) {
  return type_info(&g->f->module->types, type)->width;
}

static bool is_scalar_pointer(const struct inferrer *g, struct nvm_type type) {
  return type_kind(&g->f->module->types, type) == TY_PTR;
}

/* A generic pointer made of others. */
static bool is_expression(const struct inferrer *g, const struct nvm_inst *i) {
  if (!is_scalar_pointer(g, i->type) || type_space(g, i->type) != GENERIC) return false;
  switch ((enum op)i->op) {
  case OP_GEP: case OP_BITCAST: case OP_PHI: case OP_SELECT: return true;
  case OP_ADDRSPACECAST: return true;
  case OP_ALLOCA: return g->locals && value_kind(inst_operand(g->f, i, 0)) == VALUE_CONST;
  default: return false;
  }
}

/* Which operands are pointers: the first, the step and the end (exclusive). */
static void pointer_operands(const struct nvm_inst *i, uint32_t *first, uint32_t *step, uint32_t *end) {
  *first = i->op == OP_SELECT;
  *step = i->op == OP_PHI ? 2 : 1;
  *end = i->op == OP_PHI || i->op == OP_SELECT ? i->operand_count : i->op != OP_ALLOCA;
}

/* --- sources -------------------------------------------------------------------------------------- */

static bool is_byval(const struct inferrer *g, uint32_t arg) {
  return function_parameter_attribute(g->f, arg, ATTR_BYVAL) != NULL;
}

/* Pointers in a byval parameter of a kernel come from the host, if nobody stores there. */
static bool is_passed_pointer(const struct inferrer *g, const struct nvm_inst *i) {
  if (i->op != OP_LOAD || !g->parameters_global) return false;
  struct nvm_value object = alias_underlying_object(g->f, inst_operand(g->f, i, 0));
  return value_kind(object) == VALUE_ARG && is_byval(g, value_index(object)) &&
         !g->written[value_index(object)];
}

static bool find_written(struct inferrer *g) {
  const struct nvm_function *f = g->f;
  uint32_t count = function_arg_count(f), asked = 0;
  g->written = arena_alloc(g->arena, count + 1);
  if (!g->written) return false;
  for (uint32_t k = 0; g->parameters_global && k < count; k++) asked += is_byval(g, k);
  if (asked == 0) return true;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      bool derives = inst->op == OP_GEP || inst->op == OP_ADDRSPACECAST || inst->op == OP_BITCAST ||
                     inst->op == OP_LOAD;
      for (uint32_t k = 0; k < inst->operand_count && !derives; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) != VALUE_INST && value_kind(v) != VALUE_ARG) continue;
        if (!is_scalar_pointer(g, value_type(f, v))) continue;
        struct nvm_value object = alias_underlying_object(f, v);
        if (value_kind(object) == VALUE_ARG) g->written[value_index(object)] = true;
      }
    }
  return true;
}

/* A variable that the front end put nowhere in particular lies in global memory. */
static uint32_t variable_space(const struct inferrer *g, struct nvm_value v) {
  return value_kind(v) == VALUE_GLOBAL && !module_global(g->f->module, v)->is_alias ? GLOBAL : GENERIC;
}

static uint32_t constant_space(const struct inferrer *g, struct nvm_value v) {
  const struct nvm_module *m = g->f->module;
  if (const_is_undef_or_poison(m, v)) return UNKNOWN;
  if (const_is_zero(m, v)) return GLOBAL; /* the null pointers of both are the same */
  for (const struct constant_info *c = constant_info(&m->constants, v);
       c->kind == CONST_EXPR && (c->op == OP_ADDRSPACECAST || c->op == OP_GEP);
       c = constant_info(&m->constants, v)) {
    v = const_operand(m, v, 0);
    uint32_t space = type_space(g, type_scalar(&m->types, module_value_type(m, v)));
    if (space != GENERIC) return space;
    if (value_kind(v) != VALUE_CONST) return variable_space(g, v);
  }
  return GENERIC;
}

static uint32_t space_of(const struct inferrer *g, struct nvm_value v) {
  struct nvm_type type = value_type(g->f, v);
  if (!is_scalar_pointer(g, type)) return GENERIC;
  if (type_space(g, type) != GENERIC) return type_space(g, type);
  const struct nvm_inst *i = inst_of(g, v);
  if (i && value_index(v) < g->size && is_expression(g, i)) return g->space[value_index(v)];
  if (i) return is_passed_pointer(g, i) ? GLOBAL : GENERIC;
  if (value_kind(v) == VALUE_ARG)
    return g->parameters_global && !is_byval(g, value_index(v)) ? GLOBAL : GENERIC;
  return value_kind(v) == VALUE_CONST ? constant_space(g, v) : variable_space(g, v);
}

/* --- the data flow -------------------------------------------------------------------------------- */

static bool infer(struct inferrer *g) {
  struct nvm_function *f = g->f;
  for (uint32_t n = 0; n < g->size; n++) g->space[n] = UNKNOWN;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i)
      if (is_expression(g, function_inst(f, i)) && !VEC_PUSH(g->arena, &g->work, i)) return false;
  for (uint32_t n = 0; n < g->work.count; n++) { /* first in, first out; grows by those moved */
    uint32_t id = g->work.data[n].index, first, step, end, space = UNKNOWN;
    const struct nvm_inst *i = &f->insts.data[id];
    pointer_operands(i, &first, &step, &end);
    if (i->op == OP_ALLOCA) space = LOCAL;
    for (uint32_t k = first; k < end; k += step) {
      uint32_t s = space_of(g, inst_operand(f, i, k));
      if (s != UNKNOWN) space = space == UNKNOWN || space == s ? s : GENERIC;
    }
    if (space == g->space[id] || g->space[id] == GENERIC) continue;
    g->space[id] = space;
    for (uint32_t k = g->uses.first[id]; k < g->uses.first[id + 1]; k++)
      if (is_expression(g, function_inst(f, g->uses.users[k])) &&
          !VEC_PUSH(g->arena, &g->work, g->uses.users[k]))
        return false;
  }
  return true;
}

/* The operand by which an access finds its memory; UINT32_MAX: no access. */
static uint32_t access_operand(const struct nvm_inst *i) {
  switch ((enum op)i->op) {
  case OP_LOAD: case OP_ATOMICRMW: case OP_CMPXCHG: return 0;
  case OP_STORE: return 1;
  default: return UINT32_MAX;
  }
}

static bool has_space(const struct inferrer *g, uint32_t n) {
  return g->space[n] != UNKNOWN && g->space[n] != GENERIC;
}

static bool want(struct inferrer *g, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(g, v);
  if (!i || !is_expression(g, i) || !has_space(g, value_index(v)) || g->wanted[value_index(v)])
    return true;
  g->wanted[value_index(v)] = g->any_wanted = true;
  return VEC_PUSH(g->arena, &g->work, (struct nvm_inst_id){value_index(v)});
}

/* From the accesses, and block copies, back. */
static bool find_wanted(struct inferrer *g) {
  struct nvm_function *f = g->f;
  g->work.count = 0;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      struct memory_location l;
      uint32_t k = access_operand(inst);
      if (k != UINT32_MAX && !want(g, inst_operand(f, inst, k))) return false;
      if (inst->op == OP_CALL && alias_location_of(f, i, &l))
        for (uint32_t n = 0; n < 2; n++)
          if (!want(g, inst_operand(f, inst, n))) return false;
    }
  while (g->work.count) {
    const struct nvm_inst *i = function_inst(f, g->work.data[--g->work.count]);
    uint32_t first, step, end;
    pointer_operands(i, &first, &step, &end);
    for (uint32_t k = first; k < end; k += step)
      if (!want(g, inst_operand(f, i, k))) return false;
  }
  return true;
}

/* --- the change ----------------------------------------------------------------------------------- */

/* Whether i now has a type of its space. */
static bool is_changed(const struct inferrer *g, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(g, v);
  return i && value_index(v) < g->size && g->wanted[value_index(v)] && i->op != OP_ADDRSPACECAST;
}

/* The place behind the definition of v. */
static struct nvm_inst_id after(const struct inferrer *g, struct nvm_value v) {
  const struct nvm_function *f = g->f;
  struct nvm_inst_id at = function_block(f, f->entry)->first;
  if (value_kind(v) == VALUE_INST) at = inst_of(g, v)->next;
  while (function_inst(f, at)->op == OP_PHI) at = function_inst(f, at)->next;
  return at;
}

/* v cast to `type`, made once. */
static struct nvm_value cast_to(struct inferrer *g, struct nvm_value v, struct nvm_type type) {
  struct nvm_function *f = g->f;
  struct nvm_value *slot = &g->cast_of[value_index(v) + (value_kind(v) == VALUE_ARG ? g->size : 0)];
  if (!value_is_none(*slot)) return *slot;
  struct nvm_inst_id i = function_add_inst(f, OP_ADDRSPACECAST, 0, type, &v, 1, 0);
  if (inst_is_none(i)) return v;
  if (value_kind(v) == VALUE_INST) f->locations.data[i.index] = f->locations.data[value_index(v)];
  inst_insert_before(f, i, after(g, v));
  return *slot = value_of_inst(i);
}

static struct nvm_value constant_in_space(struct inferrer *g, struct nvm_value v, struct nvm_type type) {
  struct nvm_module *m = g->f->module;
  if (value_kind(v) == VALUE_GLOBAL) return const_expr(m, OP_ADDRSPACECAST, 0, type, &v, 1, 0);
  const struct constant_info c = *constant_info(&m->constants, v);
  if (const_is_undef_or_poison(m, v)) return const_poison(m, type);
  if (const_is_zero(m, v)) return const_null(m, type);
  struct nvm_value base = const_operand(m, v, 0);
  if (!type_equal(module_value_type(m, base), type)) base = constant_in_space(g, base, type);
  if (c.op == OP_ADDRSPACECAST) return base;
  struct nvm_value *operands = arena_alloc(g->arena, c.count * sizeof *operands);
  if (!operands) return v;
  for (uint32_t k = 0; k < c.count; k++) operands[k] = k ? const_operand(m, v, k) : base;
  return const_expr(m, OP_GEP, c.flags, type, operands, c.count, c.aux);
}

/* v, which has this space, as a pointer of it. */
static struct nvm_value in_space(struct inferrer *g, struct nvm_value v, uint32_t space) {
  struct nvm_type type = type_ptr(&g->f->module->types, space);
  if (is_changed(g, v) || type_equal(value_type(g->f, v), type)) return v;
  const struct nvm_inst *i = inst_of(g, v);
  if (i && i->op == OP_ADDRSPACECAST) return in_space(g, inst_operand(g->f, i, 0), space);
  if (value_kind(v) == VALUE_CONST || value_kind(v) == VALUE_GLOBAL) return constant_in_space(g, v, type);
  return cast_to(g, v, type);
}

static void set_operand(struct inferrer *g, struct nvm_inst_id i, uint32_t k, struct nvm_value v) {
  if (value_equal(inst_operand(g->f, function_inst(g->f, i), k), v)) return;
  inst_set_operand(g->f, i, k, v);
  g->changes++;
}

/* Comparisons of two pointers of one space need no cast. */
static uint32_t compared_space(const struct inferrer *g, const struct nvm_inst *i) {
  if (i->op != OP_ICMP) return GENERIC;
  struct nvm_value a = inst_operand(g->f, i, 0), b = inst_operand(g->f, i, 1);
  uint32_t space = space_of(g, a);
  bool known = space != UNKNOWN && space == space_of(g, b);
  return known && (is_changed(g, a) || is_changed(g, b)) ? space : GENERIC;
}

/* Debug metadata says the type of the value it speaks of. */
static struct nvm_value retyped_metadata(struct inferrer *g, struct nvm_value v) {
  struct nvm_module *m = g->f->module;
  if (value_kind(v) != VALUE_CONST || constant_info(&m->constants, v)->kind != CONST_METADATA) return v;
  const struct meta_item *item =
      meta_item(&m->metadata, (struct nvm_meta){constant_info(&m->constants, v)->meta});
  if (item->kind != META_VALUE || !is_changed(g, item->value)) return v;
  struct nvm_type type = inst_of(g, item->value)->type;
  return const_metadata(m, meta_value(&m->metadata, item->value, type).index);
}

/* Sets the types first, so that they can be asked, then the operands. */
static void change(struct inferrer *g) {
  struct nvm_function *f = g->f;
  for (uint32_t n = 1; n < g->size; n++)
    if (is_changed(g, value_make(VALUE_INST, n))) {
      f->insts.data[n].type = type_ptr(&f->module->types, g->space[n]);
      g->changes++;
    }
  FOR_EACH_BLOCK(f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (i.index >= g->size) continue;
      uint32_t access = access_operand(function_inst(f, i));
      if (!g->any_wanted && access == UINT32_MAX) continue; /* nothing changes its type */
      uint32_t count = function_inst(f, i)->operand_count, first, step, end;
      uint32_t compared = compared_space(g, function_inst(f, i));
      bool changed = is_changed(g, value_of_inst(i));
      pointer_operands(function_inst(f, i), &first, &step, &end);
      for (uint32_t k = 0; k < count; k++) {
        struct nvm_value v = inst_operand(f, function_inst(f, i), k);
        bool pointer = changed && k >= first && k < end && (k - first) % step == 0;
        if (k == access && value_kind(v) == VALUE_GLOBAL) continue; /* lowering sees where it lies */
        uint32_t space = k == access ? space_of(g, v) : pointer ? g->space[i.index] : compared;
        if (space != GENERIC && space != UNKNOWN) set_operand(g, i, k, in_space(g, v, space));
        else if (is_changed(g, v)) set_operand(g, i, k, cast_to(g, v, TYPE_PTR));
        else set_operand(g, i, k, retyped_metadata(g, v));
      }
    }
}

static enum nvm_status run(struct nvm_function *f, struct pass_env *env, bool locals, bool *changed) {
  const struct nvm_layout *l = &f->module->layout;
  struct inferrer g = {.f = f, .arena = env->arena, .size = f->insts.count,
                       .locals = locals && layout_pointer_bits(l, LOCAL) == layout_pointer_bits(l, GENERIC),
                       .parameters_global = alias_parameters_are_global(f)};
  g.space = arena_alloc(env->arena, g.size * sizeof *g.space);
  g.wanted = arena_alloc(env->arena, g.size * sizeof *g.wanted);
  g.cast_of = arena_alloc(env->arena, (g.size + function_arg_count(f)) * sizeof *g.cast_of);
  if (!g.space || !g.wanted || !g.cast_of || !uses_build(&g.uses, f, env->arena) ||
      !find_written(&g) || !infer(&g) || !find_wanted(&g))
    return NVM_OUT_OF_MEMORY;
  change(&g);
  *env->statistic += g.changes;
  *changed = g.changes != 0;
  return NVM_OK;
}

enum nvm_status infer_address_space_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return run(f, env, false, changed);
}

enum nvm_status infer_local_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return run(f, env, true, changed);
}
