/* copied-constants: replaces variables that are read-only copies of constants by the constants.
 *
 * Purpose:   a table that is written as a local array of constants is copied from a constant to
 *            the stack frame by each thread; its reads can access the constant directly.
 *            Likewise, reads of a struct that a kernel passes on by value can read the kernel's
 *            parameter.
 * Algorithm: an alloca is replaced by the constant if one memcpy fills it as a whole from a
 *            constant variable, or from a byval parameter of a kernel that is only read, and all
 *            other uses load from it, also through getelementptrs, bitcasts, phis and selects, or
 *            store undef to it. (Reads before the copy are undefined, and after a store of undef,
 *            which `inline` makes where a callee's variable begins.) The constant gets at least
 *            the variable's alignment. A copy of such a copy is found in the next round.
 * Requires:  nothing; best after inlining and written-parameters, and before sroa.
 * Preserves: the control flow.
 * Cost:      linear in the uses of such variables, each round; a round per copy of a copy.
 * Omits:     partial copies; more than MAX_ROUNDS copies in a row; external constants and
 *            parameters with a smaller alignment.
 * Tests:     check/opt/copied-constants.nvir, check/opt/copied-parameters.nvir. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

enum { MAX_ROUNDS = 8 };

struct finder {
  struct nvm_function *f;
  struct arena *arena;
  struct uses uses;
  uint32_t *root; /* by instruction: 1 + the slot of the object whose walk met it first; 0: none */
  bool *is_read_only; /* by slot of a variable or parameter: a walk accepted all uses */
  VEC(uint32_t) work; /* slots */
  uint32_t object;    /* the slot that is walked from */
  VEC(struct nvm_inst_id) markers; /* lifetime markers of this variable, stores of undef to it */
  struct nvm_inst_id copy;         /* the memcpy into it */
};

/* Whether the variable can still be replaced with the pointer as operand k of this call. */
static bool allows_call(struct finder *g, struct nvm_inst_id user, uint32_t k, bool is_variable) {
  const struct nvm_inst *i = function_inst(g->f, user);
  switch (call_intrinsic(g->f, i)) {
    case INTRINSIC_lifetime_start:
    case INTRINSIC_lifetime_end: return is_variable && VEC_PUSH(g->arena, &g->markers, user);
    case INTRINSIC_memcpy:
    case INTRINSIC_memmove:
      if (call_copy_is_volatile(g->f, i) || k > 1) return false;
      if (k == 1) return true;
      if (!is_variable || !inst_is_none(g->copy)) return false;
      g->copy = user;
      return true;
    default: return false;
  }
}

/* Whether the address is surely in the variable that is walked from, not in one of two objects. */
static bool is_in_object(const struct finder *g, struct nvm_value address) {
  struct nvm_value object = alias_underlying_object(g->f, address);
  return value_kind(object) == VALUE_INST && value_index(object) == g->object;
}

static bool allows_use(struct finder *g, struct nvm_inst_id user, uint32_t k, bool is_variable) {
  const struct nvm_inst *i = function_inst(g->f, user);
  switch ((enum op)i->op) {
    case OP_LOAD: return !memory_access_unpack(i->aux).is_volatile;
    case OP_STORE:
      return k == 1 && effects_is_plain_access(i) &&
             const_is_undef_or_poison(g->f->module, inst_operand(g->f, i, 0)) &&
             is_in_object(g, inst_operand(g->f, i, 1)) && VEC_PUSH(g->arena, &g->markers, user);
    case OP_CALL: return allows_call(g, user, k, is_variable);
    case OP_GEP:
    case OP_BITCAST:
    case OP_PHI:
    case OP_SELECT:
      if (g->root[user.index] == g->object + 1) return true;
      /* What another object's pointer leads to as well has been walked through. */
      if (g->root[user.index]) return g->is_read_only[g->root[user.index] - 1];
      g->root[user.index] = g->object + 1;
      return VEC_PUSH(g->arena, &g->work, user.index);
    default: return false;
  }
}

/* Whether all uses only read, except for one copy into a variable. */
static bool is_only_read(struct finder *g, uint32_t object) {
  g->work.count = g->markers.count = 0;
  g->object = object;
  g->copy = (struct nvm_inst_id){0};
  if (!VEC_PUSH(g->arena, &g->work, object)) return false;
  for (uint32_t n = 0; n < g->work.count; n++) {
    uint32_t from = g->work.data[n];
    for (uint32_t u = g->uses.first[from]; u < g->uses.first[from + 1]; u++)
      if (!allows_use(g, g->uses.users[u], g->uses.operands[u], from < g->uses.insts && n == 0))
        return false;
  }
  g->is_read_only[object] = true;
  return true;
}

static bool is_only_copied(struct finder *g, struct nvm_inst_id variable) {
  return is_only_read(g, variable.index) && !inst_is_none(g->copy);
}

static uint32_t align_log2(const struct nvm_module *m, uint32_t written, struct nvm_type type) {
  return written ? written - 1 : evalint_log2(layout_align(&m->layout, &m->types, type));
}

/* The part of a parameter that is copied. VALUE_NULL if the parameter may be written, or the part
 * has less than the variable's alignment. */
static struct nvm_value parameter_part(struct finder *g, const struct nvm_inst *v,
                                       struct nvm_value source, uint64_t bytes) {
  struct alias_address a = alias_decompose(g->f, source);
  uint64_t align;
  if (!alias_is_in_parameter(g->f, &a, bytes, &align) || align < alloca_align(g->f, v) ||
      !g->is_read_only[uses_slot(&g->uses, a.base)] ||
      !type_equal(value_type(g->f, a.base), v->type))
    return VALUE_NULL;
  if (a.offset == 0) return a.base;
  struct builder at = builder_at_start(g->f, g->f->entry);
  return builder_offset(&at, a.base, a.offset);
}

/* What is copied, as a pointer of the variable's type. VALUE_NULL if the copy does not read a whole
 * constant, or the variable has an address space of its own. */
static struct nvm_value source_of(struct finder *g, struct nvm_inst_id variable) {
  struct nvm_module *m = g->f->module;
  const struct nvm_inst *copy = function_inst(g->f, g->copy), *v = function_inst(g->f, variable);
  struct nvm_value source = inst_operand(g->f, copy, 1);
  struct nvm_value base = alias_underlying_object(g->f, source);
  struct nvm_type type = {v->aux};
  nvm_u128 bytes = 0;
  if (!const_is_int(m, inst_operand(g->f, copy, 2), &bytes) || bytes == 0 ||
      bytes != alloca_bytes(g->f, v))
    return VALUE_NULL;
  if (value_kind(base) == VALUE_ARG) return parameter_part(g, v, source, (uint64_t)bytes);
  if (value_kind(base) != VALUE_GLOBAL || value_kind(source) == VALUE_INST) return VALUE_NULL;
  struct nvm_global *c = module_global(m, base);
  if (c->is_alias || !c->is_constant || alias_decompose(g->f, source).offset != 0 ||
      alias_decompose(g->f, source).term_count)
    return VALUE_NULL;
  bool same_space = type_equal(value_type(g->f, source), v->type);
  if (!same_space && type_info(&m->types, v->type)->width != 0) return VALUE_NULL;
  uint32_t have = align_log2(m, c->align_log2, c->value_type);
  uint32_t want = align_log2(m, v->flags & ALLOCA_ALIGN_MASK, type);
  if (have < want && !symbol_is_local(&c->symbol)) return VALUE_NULL;
  if (have < want) c->align_log2 = (uint8_t)(want + 1);
  return same_space ? source : const_expr(m, OP_ADDRSPACECAST, 0, v->type, &source, 1, 0);
}

static bool is_constant_object(const struct nvm_function *f, struct nvm_value v) {
  enum value_kind kind = value_kind(v);
  return kind == VALUE_CONST || kind == VALUE_GLOBAL ||
         (kind == VALUE_ARG && function_is_kernel(f) &&
          function_parameter_attribute(f, value_index(v), ATTR_BYVAL));
}

static bool copies_constants(const struct nvm_function *f) {
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *call = function_inst(f, i);
      if (call->op != OP_CALL) continue;
      uint32_t id = call_intrinsic(f, call);
      if (id != INTRINSIC_memcpy && id != INTRINSIC_memmove) continue;
      if (is_constant_object(f, alias_underlying_object(f, inst_operand(f, call, 1)))) return true;
    }
  return false;
}

static bool set_up(struct finder *g) {
  uint32_t insts = g->f->insts.count, arguments = function_arg_count(g->f);
  g->root = arena_alloc(g->arena, insts * sizeof *g->root);
  g->is_read_only = arena_alloc(g->arena, insts + arguments);
  if (!g->root || !g->is_read_only || !uses_build_with_arguments(&g->uses, g->f, g->arena))
    return false;
  for (uint32_t k = 0; k < arguments; k++)
    if (is_constant_object(g->f, value_of_arg(k))) is_only_read(g, insts + k);
  return true;
}

/* Replaces the variables that are copies of constants. */
static enum nvm_status one_round(struct finder *g, struct pass_env *env, bool *changed) {
  struct rewrite r;
  if (!set_up(g) || !rewrite_init(&r, g->f, env->arena)) return NVM_OUT_OF_MEMORY;
  FOR_EACH_INST (g->f, g->f->entry, i) {
    if (function_inst(g->f, i)->op != OP_ALLOCA || !is_only_copied(g, i)) continue;
    struct nvm_value source = source_of(g, i);
    if (value_is_none(source)) continue;
    rewrite_set(&r, i, source);
    inst_remove(g->f, g->copy);
    for (uint32_t k = 0; k < g->markers.count; k++) inst_remove(g->f, g->markers.data[k]);
    ++*env->statistic;
    *changed = true;
  }
  rewrite_apply(&r);
  return module_out_of_memory(g->f->module) ? NVM_OUT_OF_MEMORY : NVM_OK;
}

enum nvm_status copied_constants_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct finder g = {.f = f, .arena = env->arena};
  bool any = false, again = true;
  FOR_EACH_INST (f, f->entry, i) any = any || function_inst(f, i)->op == OP_ALLOCA;
  for (int round = 0; any && again && round < MAX_ROUNDS && copies_constants(f); round++) {
    again = false;
    enum nvm_status status = one_round(&g, env, &again);
    if (status != NVM_OK) return status;
    *changed |= again;
  }
  return NVM_OK;
}
