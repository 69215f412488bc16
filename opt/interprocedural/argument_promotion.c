/* argument-promotion: internal functions take and return only what is used.
 *
 * Purpose:   calls that remain after inlining pass arguments that are not read, return results
 *            that are not used, and pass addresses of variables only to have them loaded, which
 *            keeps the variables in memory. Each costs a store and a load of parameter space.
 * Algorithm: for functions with known uses (analysis/callers.h), each argument separately:
 *              unused, or only passed to the same parameter in recursion  → removed
 *              a pointer, only loaded as one type (see below)             → the loaded value
 *            and the result is removed if no call uses it. The function and its calls are changed
 *            in place. The caller may load if the callee certainly does before any other event:
 *            some load is in the entry block before any operation that writes, orders memory or
 *            may not return, and so are all others, or the callee has no such operation at all.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands.
 * Omits:     byval copies; pointers of which several parts are loaded; arguments passed between
 *            several functions that do not use them; functions with musttail calls, with
 *            allocsize, or in annotations, which refer to arguments by number.
 * Tests:     check/opt/argument-promotion*. */
#include "analysis/callers.h"
#include "ir/build.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

enum { REMOVED = UINT32_MAX };

/* How an argument changes. */
struct plan {
  uint32_t number;      /* new number, or REMOVED */
  struct nvm_type type; /* new type */
  bool promoted;        /* the caller loads it */
  uint32_t access;      /* of that load */
};

struct promoter {
  struct nvm_module *m;
  struct pass_env *env;
  struct callers callers;
  bool *touched; /* by function: contains calls that have lost their result */
  struct nvm_function *f;
  uint32_t n; /* number of f */
  struct uses uses;
  bool *early;        /* by instruction: executed before any event */
  bool no_events;     /* there is no event at all */
  struct plan *plans; /* by argument */
  bool no_result;
};

static bool is_event(const struct nvm_function *f, const struct nvm_inst *i) {
  return effects_must_stay(f, i) && !op_is_terminator((enum op)i->op) && !effects_is_debug(f, i);
}

static bool find_early_loads(struct promoter *p) {
  const struct nvm_function *f = p->f;
  p->early = arena_alloc(p->env->arena, f->insts.count * sizeof *p->early);
  if (!p->early) return false;
  p->no_events = true;
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_INST(f, b, i) {
    p->no_events = p->no_events && !is_event(f, function_inst(f, i));
    p->early[i.index] = p->no_events && b.index == f->entry.index;
  }
  return true;
}

/* Whether the only use of argument k in i is to pass it to the same parameter of this function. */
static bool is_passed_on(const struct promoter *p, const struct nvm_inst *i, uint32_t k) {
  if (callers_closed_callee(&p->callers, p->f, i) != p->n) return false;
  for (uint32_t o = 0; o < i->operand_count; o++)
    if (o != k && value_equal(inst_operand(p->f, i, o), value_make(VALUE_ARG, k))) return false;
  return true;
}

static bool is_loadable(const struct promoter *p, const struct nvm_inst *i, struct nvm_type type) {
  enum type_kind kind = type_kind(&p->m->types, i->type);
  return i->op == OP_LOAD && effects_is_plain_access(i) && kind != TY_STRUCT && kind != TY_ARRAY &&
         (type_equal(type, TYPE_NONE) || type_equal(type, i->type));
}

static struct plan plan_argument(const struct promoter *p, uint32_t k) {
  struct plan unchanged = {.type = function_arg_type(p->f, k)}, loaded = {.type = TYPE_NONE};
  uint32_t slot = uses_slot(&p->uses, value_make(VALUE_ARG, k));
  bool unused = true, loads = !callers_in_memory(p->f, k);
  for (uint32_t u = p->uses.first[slot]; u < p->uses.first[slot + 1]; u++) {
    const struct nvm_inst *i = function_inst(p->f, p->uses.users[u]);
    bool early = p->early[p->uses.users[u].index];
    unused = unused && is_passed_on(p, i, k);
    loads = loads && is_loadable(p, i, loaded.type) && (early || p->no_events);
    loaded.type = i->type;
    if (early && !loaded.promoted) loaded.access = i->aux;
    loaded.promoted |= early;
  }
  if (unused) return (struct plan){.number = REMOVED};
  return loads && loaded.promoted ? loaded : unchanged;
}

/* Musttail calls require equal function types. */
static bool has_musttail(const struct nvm_function *f) {
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_INST(f, b, i)
  if (function_inst(f, i)->op == OP_CALL &&
      (function_inst(f, i)->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL)
    return true;
  return false;
}

/* Plans all arguments and the result; whether anything changes. */
static bool plan_function(struct promoter *p) {
  uint32_t kept = 0, changes = 0, count = function_arg_count(p->f);
  p->no_result = !type_equal(function_result_type(p->f), TYPE_VOID);
  for (uint32_t c = p->callers.first[p->n]; c; c = p->callers.calls.data[c].next) {
    const struct caller *at = &p->callers.calls.data[c];
    const struct nvm_function *from = p->m->functions.data[at->function];
    if ((function_inst(from, at->call)->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL) return false;
    p->no_result = p->no_result && from->uses.data[at->call.index] == 0;
  }
  for (uint32_t k = 0; k < count; k++) {
    p->plans[k] = plan_argument(p, k);
    changes += p->plans[k].number == REMOVED || p->plans[k].promoted;
    if (p->plans[k].number != REMOVED) p->plans[k].number = kept++;
  }
  *p->env->statistic += changes += p->no_result;
  return changes != 0;
}

/* Attributes of the new argument k: none if it is promoted, without `returned` if there is no
 * result. */
static struct nvm_attrset reduced_set(const struct promoter *p, struct nvm_attrlist old,
                                      uint32_t k) {
  struct attr_table_data *t = &p->m->attributes;
  struct nvm_attrset set = attrlist_parameter(t, old, k);
  if (p->plans[k].promoted) return (struct nvm_attrset){0};
  if (!p->no_result || !attrset_find(t, set, ATTR_RETURNED)) return set;
  return attrset_without(t, set, ATTR_RETURNED, p->env->arena);
}

/* The attributes of what remains. */
static struct nvm_attrlist reduced(const struct promoter *p, struct nvm_attrlist old) {
  struct attr_table_data *t = &p->m->attributes;
  struct attrlist_info info = *attrlist_info(t, old);
  uint32_t count = function_arg_count(p->f), kept = 0;
  struct nvm_attrset *sets = arena_alloc(p->env->arena, (count + 1) * sizeof *sets);
  for (uint32_t k = 0; sets && k < count; k++)
    if (p->plans[k].number != REMOVED) sets[kept++] = reduced_set(p, old, k);
  return attrlist_make(t, info.function, p->no_result ? (struct nvm_attrset){0} : info.result, sets,
                       sets ? kept : 0);
}

static struct nvm_type reduced_type(const struct promoter *p) {
  uint32_t count = function_arg_count(p->f), kept = 0;
  struct nvm_type *types = arena_alloc(p->env->arena, (count + 1) * sizeof *types);
  for (uint32_t k = 0; types && k < count; k++)
    if (p->plans[k].number != REMOVED) types[kept++] = p->plans[k].type;
  return types ? type_function(&p->m->types, p->no_result ? TYPE_VOID : function_result_type(p->f),
                               types, kept, false)
               : TYPE_NONE;
}

static void change_call(const struct promoter *p, const struct caller *at, struct nvm_type type) {
  struct nvm_function *f = p->m->functions.data[at->function];
  struct call_site site = *call_site_of(f, function_inst(f, at->call));
  site.attributes = reduced(p, site.attributes);
  site.function_type = type;
  for (uint32_t k = function_arg_count(p->f); k-- > 0;) {
    if (p->plans[k].number == REMOVED) inst_remove_operands(f, at->call, k, 1);
    if (!p->plans[k].promoted) continue;
    struct builder b = builder_replacing(f, at->call);
    struct nvm_value load =
        builder_load(&b, p->plans[k].type, inst_operand_at(f, at->call, k), p->plans[k].access);
    if (value_is_none(load)) return;
    inst_set_operand(f, at->call, k, load);
  }
  struct nvm_inst *i = function_inst(f, at->call);
  i->aux = module_call_site(p->m, site);
  if (!p->no_result) return;
  i->type = TYPE_VOID;
  i->flags &= (uint16_t)~INST_FAST;
  effects_copy_access_metadata(f, at->call, at->call, true); /* removes metadata about the result */
  f->names.data[at->call.index] = (struct nvm_str){0};
  p->touched[at->function] = true;
}

/* Whether an argument is in a list of values, !DIArgList(…). */
static bool contains_argument(const struct nvm_module *m, const struct meta_node *list) {
  for (uint32_t k = 0; list && k < list->count; k++) {
    const struct meta_item *item = meta_item(&m->metadata, meta_operand(&m->metadata, list, k));
    if (item->kind == META_VALUE && value_kind(item->value) == VALUE_ARG) return true;
  }
  return false;
}

/* The new value for v, an argument or metadata about one; removed and promoted arguments become
 * poison in metadata. */
static struct nvm_value renumbered(const struct promoter *p, struct nvm_value v) {
  struct nvm_module *m = p->m;
  if (value_kind(v) == VALUE_ARG) {
    uint32_t number = p->plans[value_index(v)].number;
    return number == REMOVED ? const_poison(m, function_arg_type(p->f, value_index(v)))
                             : value_make(VALUE_ARG, number);
  }
  const struct constant_info *c =
      value_kind(v) == VALUE_CONST ? constant_info(&m->constants, v) : NULL;
  if (!c || c->kind != CONST_METADATA) return v;
  struct meta_item item = *meta_item(&m->metadata, (struct nvm_meta){c->meta});
  if (item.kind == META_INLINE &&
      contains_argument(m, meta_as_node(&m->metadata, (struct nvm_meta){c->meta})))
    item =
        (struct meta_item){.kind = META_VALUE, .value = const_poison(m, TYPE_I1), .type = TYPE_I1};
  else if (item.kind != META_VALUE || value_kind(item.value) != VALUE_ARG) return v;
  bool arg = value_kind(item.value) == VALUE_ARG,
       loaded = arg && p->plans[value_index(item.value)].promoted;
  struct nvm_value number = loaded ? const_poison(m, item.type)
                            : arg  ? renumbered(p, item.value)
                                   : item.value;
  return const_metadata(m, meta_value(&m->metadata, number, item.type).index);
}

/* Replaces loads of promoted arguments, then renumbers all arguments. */
static bool change_body(struct promoter *p) {
  struct nvm_function *f = p->f;
  struct rewrite r;
  if (!rewrite_init(&r, f, p->env->arena)) return false;
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_INST(f, b, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    struct nvm_value from = inst->op == OP_LOAD ? inst_operand(f, inst, 0) : VALUE_NULL;
    if (value_kind(from) == VALUE_ARG && p->plans[value_index(from)].promoted)
      rewrite_set(&r, i, from);
  }
  rewrite_apply(&r);
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_INST(f, b, i) {
    for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++) {
      struct nvm_value v = inst_operand(f, function_inst(f, i), k), number = renumbered(p, v);
      if (!value_equal(v, number)) inst_set_operand(f, i, k, number);
    }
    if (p->no_result && function_inst(f, i)->op == OP_RET) inst_remove_operands(f, i, 0, 1);
  }
  return true;
}

static bool change_function(struct promoter *p) {
  struct nvm_function *f = p->f;
  struct nvm_type type = reduced_type(p);
  struct nvm_attrlist attributes = reduced(p, f->attributes);
  if (!change_body(p)) return false;
  for (uint32_t c = p->callers.first[p->n]; c; c = p->callers.calls.data[c].next)
    change_call(p, &p->callers.calls.data[c], type);
  for (uint32_t k = 0, count = function_arg_count(f); f->arg_names && k < count; k++)
    if (p->plans[k].number != REMOVED) f->arg_names[p->plans[k].number] = f->arg_names[k];
  f->type = type;
  f->attributes = attributes;
  return true;
}

/* Annotations ("align") refer to arguments by number. */
static void open_annotated(struct promoter *p) {
  const struct meta_table *t = &p->m->metadata;
  for (uint32_t i = 0; i < t->items.count; i++)
    if (t->items.data[i].kind == META_VALUE && value_kind(t->items.data[i].value) == VALUE_FUNCTION)
      p->callers.open[value_index(t->items.data[i].value)] = true;
}

static bool run_on(struct promoter *p, uint32_t n, bool *changed) {
  const struct attr_table_data *a = &p->m->attributes;
  p->n = n;
  p->f = p->m->functions.data[n];
  if (p->callers.open[n] || !p->callers.first[n] || has_musttail(p->f) ||
      attrset_find(a, attrlist_info(a, p->f->attributes)->function, ATTR_ALLOCSIZE))
    return true;
  p->plans = arena_alloc(p->env->arena, (function_arg_count(p->f) + 1) * sizeof *p->plans);
  if (!p->plans || !find_early_loads(p) ||
      !uses_build_with_arguments(&p->uses, p->f, p->env->arena))
    return false;
  if (!plan_function(p)) return true;
  *changed = true;
  return change_function(p);
}

/* Removes references to lost results from debug records. */
static bool drop_debug_results(const struct promoter *p, uint32_t n) {
  struct nvm_function *f = p->m->functions.data[n];
  bool *live = p->touched[n] ? arena_alloc(p->env->arena, f->insts.count * sizeof *live) : NULL;
  if (!live) return !p->touched[n];
  for (uint32_t i = 0; i < f->insts.count; i++)
    live[i] = !type_equal(f->insts.data[i].type, TYPE_VOID);
  rewrite_drop_dead_metadata(f, live);
  return true;
}

enum nvm_status argument_promotion_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct promoter p = {.m = m, .env = env};
  bool ok = callers_find(&p.callers, m, env->arena);
  p.touched = arena_alloc(env->arena, m->functions.count * sizeof *p.touched);
  if (!ok || !p.touched) return NVM_OUT_OF_MEMORY;
  open_annotated(&p);
  for (uint32_t n = 1; ok && n < m->functions.count; n++) ok = run_on(&p, n, changed);
  for (uint32_t n = 1; ok && n < m->functions.count; n++) ok = drop_debug_results(&p, n);
  return ok ? NVM_OK : NVM_OUT_OF_MEMORY;
}
