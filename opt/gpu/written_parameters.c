/* written-parameters, early-byval-copy: byval parameters that a kernel writes, or all, become
 * variables of the frame.
 *
 * Purpose:   a struct passed by value is read in place, in constant memory. If a kernel writes to
 *            a member (most often in an inlined member function), lowering copies the whole struct
 *            to the frame. Sroa and mem2reg keep the changed members of a variable in registers.
 * Algorithm: a byval pointer that reaches the address of a store, an atomic operation or a block
 *            copy, through any chain of getelementptr and casts, is replaced everywhere by a
 *            variable, which a memcpy initializes in the entry. early-byval-copy (knob
 *            nvptx-early-byval-copy) does this before all other passes, for every parameter
 *            but grid constants.
 * Requires:  nothing; best after inlining and before sroa.
 * Preserves: the control flow.
 * Cost:      linear in operands, in kernels with such parameters.
 *            It changes none of 438 real modules, but stays: without it, each
 *            kernel that assigns to a member of a struct argument keeps the struct in local memory.
 * Omits:     parameters whose address escapes and which may be written there: lowering copies
 *            them.
 * Tests:     check/opt/written-parameters.nvir, check/target/knobs-passes.nvir. */
#include "analysis/alias.h"
#include "opt/memory/byval.h"
#include "opt/passes.h"

static void replace_argument(struct nvm_function *f, struct nvm_value argument,
                             struct nvm_value with) {
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++)
        if (value_equal(inst_operand(f, function_inst(f, i), k), argument))
          inst_set_operand(f, i, k, with);
}

static bool any_byval(const struct nvm_function *f, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (function_parameter_attribute(f, k, ATTR_BYVAL)) return true;
  return false;
}

/* Marks the arguments that an address of a write is based on. */
static void find_written(const struct nvm_function *f, bool *written) {
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct memory_location at;
      if (function_inst(f, i)->op == OP_LOAD || !alias_location_of(f, i, &at)) continue;
      struct nvm_value object = alias_underlying_object(f, at.pointer);
      if (value_kind(object) == VALUE_ARG) written[value_index(object)] = true;
    }
}

/* Whether the address of a parameter may be asked for: a copy has another one. Annotations do not
 * say of which parameters before they are read, so they count for all of the module. */
static bool may_be_grid_constant(const struct nvm_function *f, uint32_t argument) {
  static const char annotation[] = "grid_constant";
  return strtab_find(&f->module->strings, annotation, strlen(annotation)).index ||
         function_parameter_string(f, argument, "nvvm.grid_constant");
}

/* Copies the byval parameters of a kernel that are written, or all. */
static enum nvm_status copy_parameters(struct nvm_function *f, struct pass_env *env, bool all,
                                       bool *changed) {
  uint32_t count = function_is_kernel(f) ? function_arg_count(f) : 0;
  bool *written = arena_alloc(env->arena, count + 1);
  if (!written) return NVM_OUT_OF_MEMORY;
  if (!any_byval(f, count)) return NVM_OK;
  if (!all) find_written(f, written);
  for (uint32_t k = 0; k < count; k++) {
    const struct nvm_attr *byval = function_parameter_attribute(f, k, ATTR_BYVAL);
    struct nvm_value argument = value_of_arg(k);
    bool copies = all ? !may_be_grid_constant(f, k) : written[k];
    if (!copies || !byval || !byval->type.index || !type_equal(function_arg_type(f, k), TYPE_PTR))
      continue;
    struct nvm_inst_id first = function_block(f, f->entry)->first;
    struct nvm_value variable = byval_copy(
        f, first, argument, byval->type,
        attr_align_bytes(function_parameter_attribute(f, k, ATTR_ALIGN)), (struct nvm_meta){0});
    if (value_is_none(variable)) return NVM_OUT_OF_MEMORY;
    replace_argument(f, argument, variable);
    inst_set_operand(f, function_inst(f, first)->previous, 1, argument);
    ++*env->statistic;
    *changed = true;
  }
  return NVM_OK;
}

enum nvm_status written_parameters_run(struct nvm_function *f, struct pass_env *env,
                                       bool *changed) {
  return copy_parameters(f, env, false, changed);
}

enum nvm_status early_byval_copy_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  return copy_parameters(f, env, true, changed);
}
