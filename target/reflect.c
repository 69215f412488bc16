/* __nvvm_reflect; see reflect.h. */
#include "target/reflect.h"

#include "ir/intrinsic.h"
#include "ir/module_flags.h"

enum {
  MAX_STEPS = 64, /* from an address to its variable; unreachable code may have cycles */
  MAX_RESULT_BITS = 64,
};

static bool is_answer(const struct nvm_module *m, struct nvm_type result) {
  return type_is_int(&m->types, result) && type_scalar_bits(&m->types, result) <= MAX_RESULT_BITS;
}

bool reflect_is_callee(const struct nvm_module *m, struct nvm_value callee) {
  if (value_kind(callee) != VALUE_FUNCTION) return false;
  const struct nvm_function *f = module_function(m, callee);
  if (f->intrinsic) return f->intrinsic == INTRINSIC_nvvm_reflect;
  if (!function_is_declaration(f)) return false;
  struct nvm_text name = module_text(m, f->symbol.name);
  if (!text_is(name, "__nvvm_reflect") && !text_is(name, "__nvvm_reflect_ocl")) return false;
  bool takes_text = function_arg_count(f) == 1 && type_is_ptr(&m->types, function_arg_type(f, 0)) &&
                    !(type_info(&m->types, f->type)->flags & TYPE_VARIADIC);
  return takes_text && is_answer(m, function_result_type(f));
}

bool reflect_is_call(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_CALL && reflect_is_callee(f->module, call_callee(f, i)) &&
         call_arg_count(f, i) == 1 && is_answer(f->module, i->type);
}

/* llvm.nvvm.ptr.constant.to.gen and similar intrinsics, which older front ends emit as casts. */
static bool is_cast_call(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(f, i);
  return id >= INTRINSIC_nvvm_ptr_constant_to_gen && id <= INTRINSIC_nvvm_ptr_shared_to_gen;
}

/* The operand that an instruction forwards as an equal address; VALUE_NULL: none. */
static struct nvm_value inst_base(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!op_is_cast((enum op)i->op) && i->op != OP_GEP && !is_cast_call(f, i)) return VALUE_NULL;
  for (uint32_t k = 1; k < i->operand_count && i->op != OP_CALL; k++)
    if (!const_is_zero(f->module, inst_operand(f, i, k))) return VALUE_NULL;
  return inst_operand(f, i, 0);
}

static struct nvm_value constant_base(const struct nvm_module *m, struct nvm_value v) {
  const struct constant_info *c = constant_info(&m->constants, v);
  if (c->kind != CONST_EXPR || (!op_is_cast((enum op)c->op) && c->op != OP_GEP)) return VALUE_NULL;
  for (uint32_t k = 1; k < c->count; k++)
    if (!const_is_zero(m, const_operand(m, v, k))) return VALUE_NULL;
  return const_operand(m, v, 0);
}

struct nvm_value reflect_variable(const struct nvm_function *f, struct nvm_value v) {
  for (int step = 0; step < MAX_STEPS; step++) {
    if (value_kind(v) == VALUE_INST) v = inst_base(f, &f->insts.data[value_index(v)]);
    else if (value_kind(v) == VALUE_CONST) v = constant_base(f->module, v);
    else return v;
  }
  return VALUE_NULL;
}

bool reflect_string(const struct nvm_function *f, struct nvm_value address, struct nvm_text *text) {
  const struct nvm_module *m = f->module;
  struct nvm_value base = reflect_variable(f, address);
  if (value_kind(base) != VALUE_GLOBAL || !module_global(m, base)->is_constant) return false;
  struct nvm_value init = module_global(m, base)->initializer;
  /* The variable may be a pointer to the string's variable. */
  if (value_kind(init) == VALUE_GLOBAL) {
    if (!module_global(m, init)->is_constant) return false;
    init = module_global(m, init)->initializer;
  }
  if (value_kind(init) != VALUE_CONST) return false;
  const struct constant_info *c = constant_info(&m->constants, init);
  if (c->kind != CONST_BYTES) return false;
  *text = module_text(m, c->str);
  while (text->length && text->bytes[text->length - 1] == 0) text->length--;
  return true;
}

static bool flushes(const struct nvm_target *t, const struct nvm_function *f) {
  struct module_flag flag;
  uint32_t at;
  if (t->ftz || function_flushes_f32(f)) return true;
  const char *key = "nvvm-reflect-ftz";
  return module_flag_find(f->module, (struct nvm_text){key, strlen(key)}, &flag, &at) &&
         flag.is_number && flag.value != 0;
}

uint64_t reflect_answer(const struct nvm_target *t, const struct nvm_function *f,
                        struct nvm_text query) {
  if (text_is(query, "__CUDA_ARCH")) return tgt_cuda_arch(t->cpu);
  if (text_is(query, "__CUDA_FTZ")) return flushes(t, f);
  if (text_is(query, "__CUDA_PREC_DIV")) return t->prec_div >= 2;
  if (text_is(query, "__CUDA_PREC_SQRT")) return t->prec_sqrt;
  return 0;
}
