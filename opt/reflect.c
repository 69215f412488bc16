/* nvvm-reflect: replaces __nvvm_reflect("…") by what the target says.
 *
 * Purpose:   libdevice asks the compiler about the target (1,940 of its 2,015 questions are
 *            "__CUDA_FTZ"); the answer decides which code is left.
 * Algorithm: for every call of __nvvm_reflect or llvm.nvvm.reflect, the string is found through
 *            casts and addresses of the first element; __CUDA_ARCH is answered by the target,
 *            __CUDA_FTZ, __CUDA_PREC_DIV and __CUDA_PREC_SQRT by its options, all else by 0. It
 *            runs again after each round of inlining and after unrolling, for questions stand in
 *            callees. Two switches, as in seed 4: the knob nvvm-reflect-enable makes it do
 *            nothing, disable-nvvm-reflect takes it out of the pipeline.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear.
 * Omits:     strings that are computed: such calls stay, with a remark.
 * Tests:     check/opt/reflect-*. */
#include "ir/intrinsic.h"
#include "opt/passes.h"
#include "opt/remark.h"
#include "opt/rewrite.h"

enum { MOST_STEPS = 64 }; /* from an argument to its string */

static bool is_reflect(const struct nvm_module *m, struct nvm_value callee) {
  if (value_kind(callee) != VALUE_FUNCTION) return false;
  struct nvm_text name = module_text(m, module_function(m, callee)->symbol.name);
  return text_is(name, "__nvvm_reflect") || text_is(name, "__nvvm_reflect_ocl") ||
         text_begins(name, "llvm.nvvm.reflect");
}

/* llvm.nvvm.ptr.constant.to.gen and its like, which older front ends write for a cast. */
static bool is_cast_call(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(f, i);
  return id >= INTRINSIC_nvvm_ptr_constant_to_gen && id <= INTRINSIC_nvvm_ptr_shared_to_gen;
}

/* The variable that an address constant names, through casts and offsets of zero. */
static struct nvm_value base_of(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_module *m = f->module;
  for (int step = 0; step < MOST_STEPS; step++) { /* code that nothing reaches may be circular */
    if (value_kind(v) == VALUE_INST) {
      const struct nvm_inst *i = &f->insts.data[value_index(v)];
      if (!op_is_cast((enum op)i->op) && i->op != OP_GEP && !is_cast_call(f, i)) return VALUE_NULL;
      for (uint32_t k = 1; k < i->operand_count && i->op != OP_CALL; k++)
        if (!const_is_zero(m, inst_operand(f, i, k))) return VALUE_NULL;
      v = inst_operand(f, i, 0);
    } else if (value_kind(v) == VALUE_CONST) {
      const struct constant_info *c = constant_info(&m->constants, v);
      if (c->kind != CONST_EXPR || (!op_is_cast((enum op)c->op) && c->op != OP_GEP))
        return VALUE_NULL;
      for (uint32_t k = 1; k < c->count; k++)
        if (!const_is_zero(m, const_operand(m, v, k))) return VALUE_NULL;
      v = const_operand(m, v, 0);
    } else {
      return v;
    }
  }
  return VALUE_NULL;
}

/* The string a call asks about, without its NUL. */
static bool query_of(const struct nvm_function *f, const struct nvm_inst *i, struct nvm_text *query) {
  const struct nvm_module *m = f->module;
  if (call_arg_count(f, i) != 1) return false;
  struct nvm_value base = base_of(f, inst_operand(f, i, 0));
  if (value_kind(base) != VALUE_GLOBAL) return false;
  struct nvm_value init = module_global(m, base)->initializer;
  /* A constant may stand in another variable (seed 4: @".str" behind a pointer). */
  if (value_kind(init) == VALUE_GLOBAL) init = module_global(m, init)->initializer;
  if (value_kind(init) != VALUE_CONST || !module_global(m, base)->is_constant) return false;
  const struct constant_info *c = constant_info(&m->constants, init);
  if (c->kind != CONST_BYTES) return false;
  *query = module_text(m, c->str);
  while (query->length && query->bytes[query->length - 1] == 0) query->length--;
  return true;
}

static uint64_t answer(const struct nvm_target *t, struct nvm_text query) {
  if (text_is(query, "__CUDA_ARCH")) return tgt_cuda_arch(t->cpu);
  if (text_is(query, "__CUDA_FTZ")) return t->ftz;
  if (text_is(query, "__CUDA_PREC_DIV")) return t->prec_div >= 2;
  if (text_is(query, "__CUDA_PREC_SQRT")) return t->prec_sqrt;
  return 0;
}

enum nvm_status reflect_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct rewrite r = {.f = f};
  if (!env->knobs->value[KNOB_REFLECT_ENABLE]) return NVM_OK;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      struct nvm_text query;
      if (inst->op != OP_CALL || !is_reflect(f->module, call_callee(f, inst))) continue;
      if (!r.to && !rewrite_init(&r, f, env->arena)) return NVM_OUT_OF_MEMORY;
      if (query_of(f, inst, &query))
        rewrite_set(&r, i, const_int(f->module, inst->type, answer(env->target, query)));
      else
        remark(env, REMARK_MISSED, f, i, "NotConstant",
               "call of __nvvm_reflect is left alone: its argument is not a constant string");
    }
  *env->statistic += r.count;
  *changed |= r.count != 0;
  rewrite_apply(&r);
  return NVM_OK;
}
