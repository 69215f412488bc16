/* function-attrs: infers attributes of functions from their bodies.
 *
 * Purpose:   a call that stays would stop gvn, licm, dse and the loop passes, since it might do
 *            everything. What an unoptimized module says of its functions is "convergent".
 * Algorithm: one scan of a body, callees first, so that the attributes of callees are known. Loads
 *            of constants and accesses to the function's own variables are no effects; others are
 *            sorted by the base of their address. Inferred are
 *              memory(…)             unless other memory than that of arguments is read and written
 *              willreturn            if nothing is written and every loop ends: there is none, or
 *                                    the function is mustprogress
 *              nocapture, readonly   of a pointer argument, by following its uses
 *            and `convergent` is dropped, from the calls too, if nothing in the body is.
 * Soundness: the attributes hold for the body, so not for a function that the linker may replace.
 *            A call without willreturn counts as a write of inaccessible memory, as do recursion,
 *            operations that exchange registers between threads, and assembly. A volatile or
 *            ordered access counts as every effect.
 * Requires:  nothing; finds more in a group with inline, callees first.
 * Preserves: all but attributes.
 * Cost:      linear in functions that are called and in call sites.
 * Omits:     optimism within a recursion; results (noalias, nonnull, returned); functions that have
 *            an attribute of memory already.
 * Tests:     check/opt/function-attrs*. */
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "analysis/uses.h"
#include "ir/intrinsic.h"
#include "opt/cfg/cfg.h"
#include "opt/interprocedural/call_graph.h"
#include "opt/passes.h"

enum { MAX_DERIVED = 64 /* pointers derived from an argument */ };

struct summary {
  struct call_effect does;
  bool convergent;
};

/* --- effects ---------------------------------------------------------------------------------- */

static bool is_constant_memory(const struct nvm_function *f, struct nvm_value base) {
  if (value_kind(base) != VALUE_GLOBAL) return false;
  const struct nvm_global *g = module_global(f->module, base);
  return g->is_constant || g->address_space == 4;
}

static bool is_alloca(const struct nvm_function *f, struct nvm_value base) {
  return value_kind(base) == VALUE_INST &&
         function_inst(f, (struct nvm_inst_id){value_index(base)})->op == OP_ALLOCA;
}

static void note_access(struct summary *s, const struct nvm_function *f, struct nvm_value pointer,
                        uint32_t effect) {
  struct nvm_value base = alias_decompose(f, pointer).base;
  bool is_argument = value_kind(base) == VALUE_ARG;
  if (is_alloca(f, base) || (effect == EFFECT_READS && is_constant_memory(f, base))) return;
  if (is_argument || value_kind(base) == VALUE_INST) s->does.arguments |= effect;
  if (!is_argument) s->does.others |= effect;
}

static void note_call(struct summary *s, const struct nvm_function *f, const struct nvm_inst *i) {
  if (effects_call_is_debug(f, i) || effects_is_lifetime_marker(f, i)) return;
  struct call_effect e = effects_of_call(f, i);
  bool is_hint = call_intrinsic(f, i) == INTRINSIC_assume;
  s->convergent |= effects_call_is_convergent(f, i);
  s->does.others |= e.others;
  s->does.inaccessible |= e.inaccessible;
  if (effects_call_must_stay(f, i) && !is_hint) s->does.inaccessible |= EFFECT_WRITES;
  for (uint32_t k = 0; e.arguments && k < call_arg_count(f, i); k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (type_is_ptr_or_vector(&f->module->types, value_type(f, v)))
      note_access(s, f, v, e.arguments);
  }
}

static void note(struct summary *s, const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL) {
    note_call(s, f, i);
  } else if ((i->op == OP_LOAD || i->op == OP_STORE) && effects_is_plain_access(i)) {
    bool store = i->op == OP_STORE;
    note_access(s, f, inst_operand(f, i, store), store ? EFFECT_WRITES : EFFECT_READS);
  } else if (op_table[i->op].flags & (OPF_READS | OPF_WRITES)) {
    s->does = (struct call_effect){EFFECT_BOTH, EFFECT_BOTH, EFFECT_BOTH};
  }
}

static const char *effect_word(uint32_t effect) {
  static const char *const words[] = {"none", "read", "write", "readwrite"};
  return words[effect];
}

/* The operand of memory(): the word without a place is for all places not named. */
static struct nvm_str effect_text(struct nvm_module *m, struct call_effect e, struct arena *arena) {
  struct textbuf b;
  textbuf_init(&b, arena);
  bool is_alone = e.arguments == e.others && e.inaccessible == e.others;
  if (is_alone || e.others) textbuf_puts(&b, effect_word(e.others));
  const char *comma = e.others ? ", " : "";
  if (e.arguments != e.others) {
    textbuf_format(&b, "%sargmem: %s", comma, effect_word(e.arguments));
    comma = ", ";
  }
  if (e.inaccessible != e.others)
    textbuf_format(&b, "%sinaccessiblemem: %s", comma, effect_word(e.inaccessible));
  return strtab_intern(&m->strings, b.bytes, b.length);
}

/* --- attributes ------------------------------------------------------------------------------- */

static struct nvm_attrset with(struct attr_table_data *t, struct nvm_attrset s,
                               struct nvm_attr added, struct arena *arena) {
  struct attrset_info info = t->sets.data[s.index];
  struct nvm_attr *all = arena_alloc(arena, (info.count + 1) * sizeof *all);
  if (!all) return (struct nvm_attrset){0};
  for (uint32_t k = 0; k < info.count; k++) all[k] = t->attrs.data[info.first + k];
  all[info.count] = added;
  return attrset_make(t, all, info.count + 1);
}

static struct nvm_attrset with_flag(struct attr_table_data *t, struct nvm_attrset s,
                                    enum attr_id id, struct arena *arena) {
  return with(t, s, (struct nvm_attr){.id = (uint16_t)id, .payload = ATTR_FLAG}, arena);
}

static bool has_memory_attribute(const struct nvm_function *f) {
  return function_attribute(f, ATTR_MEMORY) || function_attribute(f, ATTR_READNONE) ||
         function_attribute(f, ATTR_READONLY) || function_attribute(f, ATTR_WRITEONLY) ||
         function_attribute(f, ATTR_ARGMEMONLY) ||
         function_attribute(f, ATTR_INACCESSIBLEMEMONLY) ||
         function_attribute(f, ATTR_INACCESSIBLEMEM_OR_ARGMEMONLY);
}

static bool ends(const struct nvm_function *f, struct arena *arena) {
  return function_attribute(f, ATTR_MUSTPROGRESS) || !cfg_may_loop(f, arena);
}

static struct nvm_attrset of_function(struct nvm_function *f, struct nvm_attrset old,
                                      const struct summary *s, struct arena *arena) {
  struct attr_table_data *t = &f->module->attributes;
  struct nvm_attrset set = old;
  uint32_t all = s->does.arguments | s->does.others | s->does.inaccessible;
  if (!s->convergent && attrset_has(t, set, ATTR_CONVERGENT))
    set = attrset_without(t, set, ATTR_CONVERGENT, arena);
  if (!(all & EFFECT_WRITES) && !attrset_has(t, set, ATTR_WILLRETURN) && ends(f, arena))
    set = with_flag(t, set, ATTR_WILLRETURN, arena);
  if (s->does.others == EFFECT_BOTH || has_memory_attribute(f)) return set;
  struct nvm_attr memory = {.id = ATTR_MEMORY, .payload = ATTR_TEXT};
  memory.str2 = effect_text(f->module, s->does, arena);
  return with(t, set, memory, arena);
}

/* --- pointer arguments ------------------------------------------------------------------------ */

/* Whether no use of `pointer` lets it escape; sets *written if memory may be written through it. */
static bool stays_inside(const struct nvm_function *f, const struct uses *u,
                         struct nvm_value pointer, bool *written) {
  struct nvm_value derived[MAX_DERIVED] = {pointer};
  for (uint32_t done = 0, count = 1; done < count; done++) {
    uint32_t slot = uses_slot(u, derived[done]);
    for (uint32_t n = u->first[slot]; n < u->first[slot + 1]; n++) {
      enum alias_use use = alias_use_of(f, function_inst(f, u->users[n]), u->operands[n]);
      struct nvm_value v = value_of_inst(u->users[n]);
      uint32_t known = 0;
      if (use == ALIAS_USE_CAPTURES) return false;
      *written |= use == ALIAS_USE_WRITES;
      if (use != ALIAS_USE_DERIVES) continue;
      while (known < count && !value_equal(derived[known], v)) known++;
      if (known == MAX_DERIVED) return false;
      derived[known] = v;
      count += known == count;
    }
  }
  return true;
}

static struct nvm_attrset of_argument(struct nvm_function *f, const struct uses *u, uint32_t k,
                                      struct nvm_attrset old, struct arena *arena) {
  struct attr_table_data *t = &f->module->attributes;
  bool written = false;
  struct nvm_attrset set = old;
  struct nvm_type type = type_member(&f->module->types, f->type, k);
  bool known = attrset_has(t, set, ATTR_NOCAPTURE) || attrset_has(t, set, ATTR_CAPTURES);
  if (known || !type_is_ptr(&f->module->types, type) ||
      !stays_inside(f, u, value_make(VALUE_ARG, k), &written))
    return set;
  bool said = attrset_has(t, set, ATTR_READONLY) || attrset_has(t, set, ATTR_READNONE) ||
              attrset_has(t, set, ATTR_WRITEONLY);
  set = with_flag(t, set, ATTR_NOCAPTURE, arena);
  return written || said ? set : with_flag(t, set, ATTR_READONLY, arena);
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool infer(struct nvm_function *f, const struct summary *s, struct pass_env *env) {
  struct attr_table_data *t = &f->module->attributes;
  struct attrlist_info info = *attrlist_info(t, f->attributes);
  uint32_t count = function_arg_count(f);
  struct uses u;
  struct nvm_attrset *arguments = arena_alloc(env->arena, (count + 1) * sizeof *arguments);
  if (!arguments || (count && !uses_build_with_arguments(&u, f, env->arena))) return false;
  info.function = of_function(f, info.function, s, env->arena);
  for (uint32_t k = 0; k < count; k++)
    arguments[k] = of_argument(f, &u, k, attrlist_parameter(t, f->attributes, k), env->arena);
  f->attributes = attrlist_make(t, info.function, info.result, arguments, count);
  return true;
}

/* Drops `convergent` from a call of a function whose body has been found free of it. */
static bool relax_call(struct nvm_function *f, struct nvm_inst *i, struct pass_env *env) {
  struct attr_table_data *t = &f->module->attributes;
  struct call_site site = *call_site_of(f, i);
  struct attrlist_info info = *attrlist_info(t, site.attributes);
  uint32_t callee = env->calls ? call_graph_callee(f, i) : 0;
  if (!callee || callee >= env->calls->count || !env->calls->nodes[callee].not_convergent ||
      !attrset_has(t, info.function, ATTR_CONVERGENT))
    return false;
  struct nvm_attrset *arguments = arena_alloc(env->arena, (info.count + 1) * sizeof *arguments);
  if (!arguments) return false;
  for (uint32_t k = 0; k < info.count; k++) arguments[k] = t->parameter_sets.data[info.first + k];
  info.function = attrset_without(t, info.function, ATTR_CONVERGENT, env->arena);
  site.attributes = attrlist_make(t, info.function, info.result, arguments, info.count);
  i->aux = module_call_site(f->module, site);
  return true;
}

/* Whether the body is the one that a call executes. */
static bool is_exact(const struct nvm_function *f) {
  return symbol_is_local(&f->symbol) || f->symbol.linkage == LINK_EXTERNAL;
}

enum nvm_status function_attributes_run(struct nvm_function *f, struct pass_env *env,
                                        bool *changed) {
  struct nvm_attrlist before = f->attributes;
  struct summary s = {.convergent = false};
  struct call_node *node = env->calls ? &env->calls->nodes[env->number] : NULL;
  bool called = !function_is_kernel(f) && is_exact(f) && !(node && node->uses == 0);
  if (!called && node && node->count == 0) return NVM_OK;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      struct nvm_inst *i = function_inst(f, id);
      if (i->op == OP_CALL) *changed |= relax_call(f, i, env);
      if (called) note(&s, f, i);
    }
  if (called && !function_attribute(f, ATTR_OPTNONE)) {
    if (!infer(f, &s, env)) return NVM_OUT_OF_MEMORY;
    if (node) node->not_convergent = !s.convergent;
  }
  bool inferred = f->attributes.index != before.index;
  *env->statistic += inferred;
  *changed |= inferred;
  return NVM_OK;
}
