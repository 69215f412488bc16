/* infer-address-space, infer-local: infer the state space of generic pointers.
 *
 * Purpose:   a generic access determines its state space at run time; ld.global and ld.shared do
 *            not, and alias analysis can distinguish them.
 * Algorithm: optimistic data flow over the expressions of generic pointers (getelementptr, phi,
 *            select, casts) that accesses or comparisons depend on: unknown, one space, generic.
 *            The sources are casts from a space, variables, and what the host passes to a CUDA
 *            kernel: its pointer parameters, and pointers loaded from byval parameters that are
 *            only read, are global (knobs ias-*). Expressions that reach an access change their
 * type in place; other users get a cast back to generic. In infer-local, variables of the frame are
 *            sources too, and become .local themselves; it runs after the last sroa.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands: a value changes its state at most twice.
 * Omits:     arguments of device functions; pointers loaded from memory; vectors of pointers.
 * Tests:     check/opt/infer-address-space-*. */
#include "ir/build.h"
#include "analysis/alias.h"
#include "opt/passes.h"

enum { GENERIC = 0, GLOBAL = 1, LOCAL = 5, UNKNOWN = UINT32_MAX };

/* The state of an instruction. */
enum {
  REACHED = 1, /* an expression: an access or a comparison depends on it */
  QUEUED = 2,  /* on the worklist */
  NEEDED = 4,  /* an access depends on it, and it has a space */
  RETYPED = 8, /* its type changes to that space; not if it is a cast from there */
  ACCESS = 16, /* of `accesses` */
};

/* An expression that has another as operand. */
struct use {
  struct nvm_inst_id user;
  uint32_t next; /* of the same operand: index + 1 */
};

struct inferrer {
  struct nvm_function *f;
  struct arena *arena;
  uint32_t size;       /* number of instructions before the pass; later ones are casts */
  uint8_t *state;      /* by instruction */
  uint32_t *space;     /* by instruction that is REACHED */
  uint32_t *first_use; /* likewise: into `uses`, index + 1 */
  VEC(struct use) uses;
  VEC(struct nvm_inst_id) accesses;    /* of generic addresses, and block copies, in layout order */
  VEC(struct nvm_inst_id) expressions; /* those REACHED, users mostly before operands */
  VEC(struct nvm_inst_id) work;
  bool any_retyped; /* an expression changes its type */
  bool *written;    /* by argument: byval and perhaps stored to (where members are global) */
  bool parameters_global, members_global; /* pointers that are, or are in, kernel parameters */
  bool locals;                            /* allocas are expressions of space LOCAL */
  struct nvm_inst_id *after_phis; /* by block: the first instruction after its phis, 0: not known;
                                   * NULL: not allocated */
  struct nvm_value *cast_of; /* by instruction, then by argument: its cast; NULL: not allocated */
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

/* Whether i is a generic pointer computed from others. */
static bool is_expression(const struct inferrer *g, const struct nvm_inst *i) {
  if (!is_scalar_pointer(g, i->type) || type_space(g, i->type) != GENERIC) return false;
  switch ((enum op)i->op) {
    case OP_GEP:
    case OP_BITCAST:
    case OP_PHI:
    case OP_SELECT:
    case OP_ADDRSPACECAST: return true;
    case OP_ALLOCA: return g->locals && value_kind(inst_operand(g->f, i, 0)) == VALUE_CONST;
    default: return false;
  }
}

/* The range of pointer operands: first, step and end (exclusive). */
static void pointer_operands(const struct nvm_inst *i, uint32_t *first, uint32_t *step,
                             uint32_t *end) {
  *first = i->op == OP_SELECT;
  *step = i->op == OP_PHI ? 2 : 1;
  *end = i->op == OP_PHI || i->op == OP_SELECT ? i->operand_count : i->op != OP_ALLOCA;
}

static bool is_byval(const struct inferrer *g, uint32_t arg) {
  return function_parameter_attribute(g->f, arg, ATTR_BYVAL) != NULL;
}

/* Whether i loads a pointer from a byval parameter of a kernel that is not written: it comes from
 * the host. */
static bool is_passed_pointer(const struct inferrer *g, const struct nvm_inst *i) {
  if (i->op != OP_LOAD || !g->members_global) return false;
  struct nvm_value object = alias_underlying_object(g->f, inst_operand(g->f, i, 0));
  return value_kind(object) == VALUE_ARG && is_byval(g, value_index(object)) &&
         !g->written[value_index(object)];
}

static bool find_written(struct inferrer *g) {
  const struct nvm_function *f = g->f;
  uint32_t count = function_arg_count(f), candidates = 0;
  g->written = arena_alloc(g->arena, count + 1);
  if (!g->written) return false;
  for (uint32_t k = 0; g->members_global && k < count; k++) candidates += is_byval(g, k);
  if (candidates == 0) return true;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      bool derives = inst->op == OP_GEP || inst->op == OP_ADDRSPACECAST || inst->op == OP_BITCAST ||
                     inst->op == OP_LOAD;
      bool computes = inst->op >= OP_FIRST_INT && inst->op <= OP_LAST_FLOAT; /* with numbers only */
      for (uint32_t k = 0; k < inst->operand_count && !derives && !computes; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) != VALUE_INST && value_kind(v) != VALUE_ARG) continue;
        if (!is_scalar_pointer(g, value_type(f, v))) continue;
        struct nvm_value object = alias_underlying_object(f, v);
        if (value_kind(object) == VALUE_ARG) g->written[value_index(object)] = true;
      }
    }
  return true;
}

/* A variable without a declared space is in global memory. */
static uint32_t variable_space(const struct inferrer *g, struct nvm_value v) {
  return value_kind(v) == VALUE_GLOBAL && !module_global(g->f->module, v)->is_alias ? GLOBAL
                                                                                    : GENERIC;
}

static uint32_t constant_space(const struct inferrer *g, struct nvm_value v) {
  const struct nvm_module *m = g->f->module;
  if (const_is_undef_or_poison(m, v)) return UNKNOWN;
  if (const_is_zero(m, v)) return GLOBAL; /* both spaces have the same null pointer */
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

static bool is_generic(const struct inferrer *g, struct nvm_value v) {
  struct nvm_type type = value_type(g->f, v);
  return is_scalar_pointer(g, type) && type_space(g, type) == GENERIC;
}

static bool reach(struct inferrer *g, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(g, v);
  if (!i || (g->state[value_index(v)] & REACHED) || !is_expression(g, i)) return true;
  g->state[value_index(v)] |= REACHED;
  return VEC_PUSH(g->arena, &g->expressions, (struct nvm_inst_id){value_index(v)});
}

/* Collects accesses, and reaches the operands of accesses and comparisons. */
static bool find_accesses(struct inferrer *g) {
  const struct nvm_function *f = g->f;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      struct memory_location l;
      uint32_t k = inst_address_operand(inst);
      bool access = k != UINT32_MAX && is_generic(g, inst_operand(f, inst, k));
      bool copy = inst->op == OP_CALL && alias_location_of(f, i, &l);
      bool compares = inst->op == OP_ICMP && is_generic(g, inst_operand(f, inst, 0));
      if (access || copy) {
        g->state[i.index] |= ACCESS;
        if (!VEC_PUSH(g->arena, &g->accesses, i)) return false;
      }
      if (access && !reach(g, inst_operand(f, inst, k))) return false;
      if ((copy || compares) &&
          !(reach(g, inst_operand(f, inst, 0)) && reach(g, inst_operand(f, inst, 1))))
        return false;
    }
  return true;
}

/* Reaches operands transitively, and records their uses. */
static bool find_expressions(struct inferrer *g) {
  for (uint32_t n = 0; n < g->expressions.count; n++) {
    struct nvm_inst_id user = g->expressions.data[n];
    const struct nvm_inst *i = function_inst(g->f, user);
    uint32_t first, step, end;
    pointer_operands(i, &first, &step, &end);
    for (uint32_t k = first; k < end; k += step) {
      struct nvm_value v = inst_operand(g->f, i, k);
      if (!reach(g, v)) return false;
      if (value_kind(v) != VALUE_INST || !(g->state[value_index(v)] & REACHED)) continue;
      struct use use = {user, g->first_use[value_index(v)]};
      if (!VEC_PUSH(g->arena, &g->uses, use)) return false;
      g->first_use[value_index(v)] = g->uses.count;
    }
  }
  return true;
}

static bool enqueue(struct inferrer *g, struct nvm_inst_id i) {
  if (g->state[i.index] & QUEUED) return true;
  g->state[i.index] |= QUEUED;
  return VEC_PUSH(g->arena, &g->work, i);
}

static uint32_t transfer(const struct inferrer *g, const struct nvm_inst *i) {
  uint32_t first, step, end, space = i->op == OP_ALLOCA ? LOCAL : UNKNOWN;
  pointer_operands(i, &first, &step, &end);
  for (uint32_t k = first; k < end; k += step) {
    uint32_t s = space_of(g, inst_operand(g->f, i, k));
    if (s != UNKNOWN) space = space == UNKNOWN || space == s ? s : GENERIC;
  }
  return space;
}

static bool infer(struct inferrer *g) {
  for (uint32_t n = g->expressions.count; n-- > 0;) {
    g->space[g->expressions.data[n].index] = UNKNOWN;
    if (!enqueue(g, g->expressions.data[n])) return false;
  }
  for (uint32_t n = 0; n < g->work.count; n++) { /* a queue: grows by users of changed values */
    uint32_t id = g->work.data[n].index, space = transfer(g, &g->f->insts.data[id]);
    g->state[id] &= (uint8_t)~QUEUED;
    if (space == g->space[id] || g->space[id] == GENERIC) continue;
    g->space[id] = space;
    for (uint32_t u = g->first_use[id]; u; u = g->uses.data[u - 1].next)
      if (!enqueue(g, g->uses.data[u - 1].user)) return false;
  }
  return true;
}

static bool need(struct inferrer *g, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(g, v);
  uint32_t n = value_index(v);
  if (!i || !(g->state[n] & REACHED) || (g->state[n] & NEEDED) || g->space[n] == UNKNOWN ||
      g->space[n] == GENERIC)
    return true;
  g->state[n] |= i->op == OP_ADDRSPACECAST ? NEEDED : NEEDED | RETYPED;
  g->any_retyped = g->any_retyped || i->op != OP_ADDRSPACECAST;
  return VEC_PUSH(g->arena, &g->work, (struct nvm_inst_id){n});
}

/* Marks what accesses and block copies depend on. */
static bool find_needed(struct inferrer *g) {
  const struct nvm_function *f = g->f;
  g->work.count = 0;
  for (uint32_t n = 0; n < g->accesses.count; n++) {
    const struct nvm_inst *i = function_inst(f, g->accesses.data[n]);
    uint32_t k = inst_address_operand(i);
    bool copy = k == UINT32_MAX;
    if (!need(g, inst_operand(f, i, copy ? 0 : k)) || (copy && !need(g, inst_operand(f, i, 1))))
      return false;
  }
  while (g->work.count) {
    const struct nvm_inst *i = function_inst(f, g->work.data[--g->work.count]);
    uint32_t first, step, end;
    pointer_operands(i, &first, &step, &end);
    for (uint32_t k = first; k < end; k += step)
      if (!need(g, inst_operand(f, i, k))) return false;
  }
  return true;
}

/* Whether v has its new type. */
static bool is_retyped(const struct inferrer *g, struct nvm_value v) {
  return value_kind(v) == VALUE_INST && value_index(v) < g->size &&
         (g->state[value_index(v)] & RETYPED);
}

/* Inserts a cast after the definition of v. The end of a block's phis is found once. */
static struct nvm_value insert_cast(struct inferrer *g, struct nvm_value v, struct nvm_type type) {
  struct nvm_function *f = g->f;
  const struct nvm_inst *made = inst_of(g, v);
  struct nvm_inst_id place = made ? made->next : function_block(f, f->entry)->first, *end = &place;
  if (made && made->op == OP_PHI) {
    if (!g->after_phis)
      g->after_phis = arena_alloc(g->arena, f->blocks.count * sizeof *g->after_phis);
    if (!g->after_phis) return VALUE_NULL;
    end = &g->after_phis[made->block.index];
    if (inst_is_none(*end)) *end = block_first_after_phis(f, made->block);
  }
  struct nvm_inst_id origin = {value_kind(v) == VALUE_INST ? value_index(v) : 0};
  struct builder at = builder_located(builder_before(f, *end), origin);
  *end = builder_insert(&at, OP_ADDRSPACECAST, 0, type, &v, 1, 0);
  return inst_is_none(*end) ? VALUE_NULL : value_of_inst(*end);
}

/* v cast to `type`; one cast per value. */
static struct nvm_value cast_to(struct inferrer *g, struct nvm_value v, struct nvm_type type) {
  struct nvm_function *f = g->f;
  if (!g->cast_of)
    g->cast_of = arena_alloc(g->arena, (g->size + function_arg_count(f)) * sizeof *g->cast_of);
  if (!g->cast_of) return v;
  struct nvm_value *slot = &g->cast_of[value_index(v) + (value_kind(v) == VALUE_ARG ? g->size : 0)];
  if (!value_is_none(*slot)) return *slot;
  *slot = insert_cast(g, v, type);
  return value_is_none(*slot) ? v : *slot;
}

static struct nvm_value constant_in_space(struct inferrer *g, struct nvm_value v,
                                          struct nvm_type type) {
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

/* v, whose space is `space`, as a pointer to it. */
static struct nvm_value in_space(struct inferrer *g, struct nvm_value v, uint32_t space) {
  struct nvm_type type = type_ptr(&g->f->module->types, space);
  if (is_retyped(g, v) || type_equal(value_type(g->f, v), type)) return v;
  const struct nvm_inst *i = inst_of(g, v);
  if (i && i->op == OP_ADDRSPACECAST) return in_space(g, inst_operand(g->f, i, 0), space);
  if (value_kind(v) == VALUE_CONST || value_kind(v) == VALUE_GLOBAL)
    return constant_in_space(g, v, type);
  return cast_to(g, v, type);
}

static void set_operand(struct inferrer *g, struct nvm_inst_id i, uint32_t k, struct nvm_value v) {
  if (value_equal(inst_operand(g->f, function_inst(g->f, i), k), v)) return;
  inst_set_operand(g->f, i, k, v);
  g->changes++;
}

/* The common space of compared pointers; GENERIC if the comparison needs casts. */
static uint32_t compared_space(const struct inferrer *g, const struct nvm_inst *i) {
  if (i->op != OP_ICMP) return GENERIC;
  struct nvm_value a = inst_operand(g->f, i, 0), b = inst_operand(g->f, i, 1);
  uint32_t space = space_of(g, a);
  bool known = space != UNKNOWN && space == space_of(g, b);
  return known && (is_retyped(g, a) || is_retyped(g, b)) ? space : GENERIC;
}

/* Debug metadata contains the type of its value. */
static struct nvm_value retyped_metadata(struct inferrer *g, struct nvm_value v) {
  struct nvm_module *m = g->f->module;
  if (value_kind(v) != VALUE_CONST || constant_info(&m->constants, v)->kind != CONST_METADATA)
    return v;
  const struct meta_item *item =
      meta_item(&m->metadata, (struct nvm_meta){constant_info(&m->constants, v)->meta});
  if (item->kind != META_VALUE || !is_retyped(g, item->value)) return v;
  struct nvm_type type = inst_of(g, item->value)->type;
  return const_metadata(m, meta_value(&m->metadata, item->value, type).index);
}

static bool has_metadata_operands(const struct inferrer *g, const struct nvm_inst *i) {
  return g->f->module->metadata.has_locals && (i->op == OP_CALL || i->op == OP_DBG_RECORD);
}

static void change_operands(struct inferrer *g, struct nvm_inst_id i) {
  struct nvm_function *f = g->f;
  const struct nvm_inst *inst = function_inst(f, i);
  uint32_t access = inst_address_operand(inst), compared = compared_space(g, inst),
           count = inst->operand_count;
  bool changed = is_retyped(g, value_of_inst(i));
  uint32_t first = 0, step = 1, end = 0;
  if (changed) pointer_operands(inst, &first, &step, &end);
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = inst_operand(f, function_inst(f, i), k);
    bool pointer = k >= first && k < end && (k - first) % step == 0;
    if (k == access && value_kind(v) == VALUE_GLOBAL) continue; /* lowering knows its space */
    uint32_t space = k == access ? space_of(g, v) : pointer ? g->space[i.index] : compared;
    if (space != GENERIC && space != UNKNOWN) set_operand(g, i, k, in_space(g, v, space));
    else if (is_retyped(g, v)) set_operand(g, i, k, cast_to(g, v, TYPE_PTR));
    else if (has_metadata_operands(g, function_inst(f, i)))
      set_operand(g, i, k, retyped_metadata(g, v));
  }
}

/* Whether i, an operand or a metadata operand is retyped. */
static bool is_affected(const struct inferrer *g, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(g->f, id);
  const struct nvm_value *operands = g->f->operands.data + i->first_operand;
  if ((g->state[id.index] & RETYPED) || has_metadata_operands(g, i)) return true;
  for (uint32_t k = 0, count = i->operand_count; k < count; k++)
    if (is_retyped(g, operands[k])) return true;
  return false;
}

/* Changes all types before operands, which depend on them. */
static void change(struct inferrer *g) {
  struct nvm_function *f = g->f;
  for (uint32_t n = 0; n < g->expressions.count; n++) {
    uint32_t id = g->expressions.data[n].index;
    if (!is_retyped(g, value_make(VALUE_INST, id))) continue;
    f->insts.data[id].type = type_ptr(&f->module->types, g->space[id]);
    g->changes++;
  }
  if (!g->any_retyped) {
    for (uint32_t n = 0; n < g->accesses.count; n++) change_operands(g, g->accesses.data[n]);
    return;
  }
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (i.index < g->size && ((g->state[i.index] & ACCESS) || is_affected(g, i)))
        change_operands(g, i);
    }
}

static enum nvm_status run(struct nvm_function *f, struct pass_env *env, bool locals,
                           bool *changed) {
  const struct nvm_layout *l = &f->module->layout;
  const int32_t *knob = env->knobs->value;
  struct inferrer g = {
      .f = f,
      .arena = env->arena,
      .size = f->insts.count,
      .locals = locals && layout_pointer_bits(l, LOCAL) == layout_pointer_bits(l, GENERIC),
      .parameters_global = knob[KNOB_PARAM_POINTS_TO_GLOBAL] && alias_parameters_are_global(f),
      .members_global = knob[KNOB_STRONG_GLOBAL_ASSUMPTIONS] && alias_parameters_are_global(f)};
  g.state = arena_alloc(env->arena, g.size);
  if (!g.state || !find_accesses(&g)) return NVM_OUT_OF_MEMORY;
  if (g.accesses.count == 0) return NVM_OK;
  g.space = arena_alloc(env->arena, g.size * sizeof *g.space);
  g.first_use = arena_alloc(env->arena, g.size * sizeof *g.first_use);
  if (!g.space || !g.first_use || !find_expressions(&g) || !find_written(&g) || !infer(&g) ||
      !find_needed(&g))
    return NVM_OUT_OF_MEMORY;
  change(&g);
  *env->statistic += g.changes;
  *changed = g.changes != 0;
  return NVM_OK;
}

enum nvm_status infer_address_space_run(struct nvm_function *f, struct pass_env *env,
                                        bool *changed) {
  return run(f, env, false, changed);
}

enum nvm_status infer_local_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return run(f, env, true, changed);
}
