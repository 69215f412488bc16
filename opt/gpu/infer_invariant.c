/* infer-invariant: marks loads from global memory that is not written while the kernel runs.
 *
 * Purpose:   such loads can use the read-only path (ld.global.nc) and move across barriers.
 * Algorithm: alias analysis finds them: constants, and noalias parameters of a kernel that it only
 *            reads. llvm.nvvm.ldg, which says so itself, becomes such a load, so that other passes
 *            see the access: the base of its address is cast to the global space, and what is added
 *            to it is computed there.
 * Requires:  nothing; finds more after infer-address-space.
 * Preserves: everything.
 * Cost:      linear; each parameter's uses are visited once.
 * Omits:     other state spaces, which have no such path; llvm.nvvm.ldu.
 * Tests:     check/opt/infer-invariant*.nvir. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/passes.h"

enum { GLOBAL = 1, MAX_DEPTH = 8 };

/* The operand of a constant addrspacecast; VALUE_NULL if v is none. */
static struct nvm_value cast_constant(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) != VALUE_CONST) return VALUE_NULL;
  const struct constant_info *c = constant_info(&m->constants, v);
  bool is_cast = c->kind == CONST_EXPR && c->op == OP_ADDRSPACECAST;
  return is_cast ? const_operand(m, v, 0) : VALUE_NULL;
}

/* The generic pointer v as one to global memory, inserted before the builder's position. */
static struct nvm_value in_global(struct builder *b, struct nvm_value v, uint32_t depth) {
  struct nvm_function *f = b->f;
  struct type_table *t = &f->module->types;
  struct nvm_type global = type_ptr(t, GLOBAL);
  if (type_equal(value_type(f, v), global)) return v;
  const struct nvm_inst *i = value_inst(f, v);
  enum { MAX_OPERANDS = 8 };
  struct nvm_value operands[MAX_OPERANDS];
  if (i && i->op == OP_ADDRSPACECAST && type_equal(value_type(f, inst_operand(f, i, 0)), global))
    return inst_operand(f, i, 0);
  if (value_kind(v) == VALUE_CONST || value_kind(v) == VALUE_GLOBAL) {
    struct nvm_value base = cast_constant(f->module, v);
    bool is_global = !value_is_none(base) && type_equal(module_value_type(f->module, base), global);
    return is_global ? base : const_expr(f->module, OP_ADDRSPACECAST, 0, global, &v, 1, 0);
  }
  if (!i || i->op != OP_GEP || i->operand_count > MAX_OPERANDS || depth == MAX_DEPTH)
    return builder_unary(b, OP_ADDRSPACECAST, global, v);
  uint16_t count = i->operand_count, flags = i->flags;
  uint32_t aux = i->aux;
  for (uint32_t k = 0; k < count; k++) operands[k] = inst_operand(f, i, k);
  operands[0] = in_global(b, operands[0], depth + 1);
  return builder_add(b, OP_GEP, flags, global, operands, count, aux);
}

/* Makes a load of a call of llvm.nvvm.ldg; its operands: address, alignment, callee. False when out
 * of memory. */
static bool become_load(struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *call = function_inst(f, id);
  nvm_u128 align = 0;
  const_is_int(f->module, inst_operand(f, call, 1), &align);
  struct builder at = builder_replacing(f, id);
  struct nvm_value address = in_global(&at, inst_operand(f, call, 0), 0);
  if (value_is_none(address)) return false;
  inst_set_operand(f, id, 0, address);
  inst_remove_operands(f, id, 1, 2);
  struct nvm_inst *load = function_inst(f, id);
  load->op = OP_LOAD;
  load->flags = 0;
  load->aux = memory_access_pack(
      (struct memory_access){.align_log2 = align ? (evalint_log2((uint64_t)align) + 1) & 63 : 0});
  return true;
}

static bool is_read_only_call(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t what = call_intrinsic(f, i);
  return what == INTRINSIC_nvvm_ldg_global_i || what == INTRINSIC_nvvm_ldg_global_f ||
         what == INTRINSIC_nvvm_ldg_global_p;
}

static bool is_candidate(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_LOAD || !effects_is_plain_access(i)) return false;
  const struct type_table *t = &f->module->types;
  return type_info(t, value_type(f, inst_operand(f, i, 0)))->width == GLOBAL;
}

enum nvm_status infer_invariant_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct nvm_module *m = f->module;
  struct alias_env *e = NULL; /* made for the first candidate */
  struct nvm_str kind = module_str(m, "invariant.load");
  struct nvm_meta empty = {0};
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct memory_location l;
      bool known = is_read_only_call(f, function_inst(f, i));
      if (known && !become_load(f, i)) return NVM_OUT_OF_MEMORY;
      if (!is_candidate(f, function_inst(f, i)) || !alias_location_of(f, i, &l)) continue;
      if (module_attachment(m, f->attachments.data[i.index], kind).index) continue;
      if (!known) {
        if (!e && !(e = alias_init(f, env->arena))) return NVM_OUT_OF_MEMORY;
        if (!alias_is_constant(e, l)) continue;
      }
      if (!empty.index) {
        uint32_t node = meta_node_new(&m->metadata);
        if (!meta_node_define(&m->metadata, node, (struct nvm_str){0}, false, NULL, NULL, 0))
          return NVM_OUT_OF_MEMORY;
        empty = meta_node(&m->metadata, node, false);
      }
      if (!module_attach(m, &f->attachments.data[i.index], kind, empty)) return NVM_OUT_OF_MEMORY;
      ++*env->statistic;
      *changed = true;
    }
  return NVM_OK;
}
