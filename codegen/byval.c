/* Byval parameters that are read in place: if the pointer is only loaded from, the loads read
 * .param itself, and the parameter is not copied into the frame. */
#include "codegen/abi.h"
#include "codegen/part.h"
#include "ir/gep.h"
#include "ir/intrinsic.h"

struct byval {
  struct nvm_str *names; /* by argument: of the parameter that is read in place, or 0 */
  uint32_t *base; /* by instruction: 1 + the argument that its address is based on; 0: none */
};

/* 1 + the candidate argument that a pointer is based on; 0: none. */
static uint32_t base_argument(const uint32_t *base_of, const bool *candidate,
                              struct nvm_value pointer) {
  if (value_kind(pointer) == VALUE_ARG && candidate[value_index(pointer)])
    return value_index(pointer) + 1;
  return value_kind(pointer) == VALUE_INST ? base_of[value_index(pointer)] : 0;
}

static bool is_memcpy_source(const struct lower *l, const struct nvm_inst *i, uint32_t k) {
  struct nvm_value callee = call_callee(l->f, i);
  return k == 1 && value_kind(callee) == VALUE_FUNCTION &&
         module_function(l->module, callee)->intrinsic == INTRINSIC_memcpy;
}

/* Selects one of several addresses: in a parameter if all are in the same. */
static bool is_join(const struct nvm_inst *i) { return i->op == OP_PHI || i->op == OP_SELECT; }

/* Loads and their addresses: any in kernels; constant offsets in device functions, where addresses
 * in .param cannot be computed. */
static bool reads_in_place(const struct lower *l, const struct nvm_inst *i, uint32_t k) {
  if (i->op == OP_LOAD) return memory_access_unpack(i->aux).ordering == ORDER_NONE;
  if (i->op == OP_CALL) return function_is_kernel(l->f) && is_memcpy_source(l, i, k);
  if (is_join(i)) return function_is_kernel(l->f);
  if (i->op != OP_GEP || k != 0 || type_is_vector(&l->module->types, i->type)) return false;
  int64_t offset;
  return function_is_kernel(l->f) || gep_constant_offset(l->f, i, &offset);
}

/* One walk over the function: follows addresses through getelementptr and rejects arguments that
 * are used in any other way. True if something changed. */
static bool follow_params(struct lower *l, uint32_t *base_of, bool *candidate) {
  bool changed = false;
  FOR_EACH_BLOCK (l->f, b)
    FOR_EACH_INST (l->f, b, id) {
      const struct nvm_inst *i = function_inst(l->f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        uint32_t base = base_argument(base_of, candidate, inst_operand(l->f, i, k));
        if (base == 0 || !candidate[base - 1]) continue;
        if (!reads_in_place(l, i, k)) {
          candidate[base - 1] = false;
          changed = true;
        } else if ((i->op == OP_GEP || is_join(i)) && base_of[id.index] == 0) {
          base_of[id.index] = base;
          changed = true;
        }
      }
    }
  return changed;
}

/* Rejects arguments whose address is joined with another one. */
static void check_joins(const struct lower *l, const uint32_t *base_of, bool *candidate) {
  FOR_EACH_BLOCK (l->f, b)
    FOR_EACH_INST (l->f, b, id) {
      const struct nvm_inst *i = function_inst(l->f, id);
      uint32_t base = is_join(i) ? base_of[id.index] : 0;
      for (uint32_t k = i->op == OP_SELECT; base && k < i->operand_count;
           k += i->op == OP_PHI ? 2 : 1) {
        uint32_t other = base_argument(base_of, candidate, inst_operand(l->f, i, k));
        if (other == base) continue;
        candidate[base - 1] = false;
        if (other) candidate[other - 1] = false;
      }
    }
}

/* One walk follows all chains of addresses whose blocks are in order. */
void byval_plan(struct lower *l, const struct parameter *parameters, uint32_t count) {
  enum { MAX_WALKS = 8 };
  bool any = false;
  bool *candidate = arena_alloc(&l->function_arena, count * sizeof *candidate);
  l->byval = NULL;
  if (!lower_knob(l, KNOB_LOWER_FUNC_ARGS)) return;
  for (uint32_t a = 0; candidate && a < count; a++) {
    const struct passing *p = &parameters[a].how;
    candidate[a] = p->is_byval && p->kind == PASS_BYTES &&
                   mod_space(type_info(&l->module->types, function_arg_type(l->f, a))->width) == 0;
    any |= candidate[a];
  }
  if (!any) return;
  uint32_t *base_of = arena_alloc(&l->function_arena, l->f->insts.count * sizeof *base_of);
  struct nvm_str *names = arena_alloc(&l->function_arena, count * sizeof *names);
  struct byval *b = arena_alloc(&l->function_arena, sizeof *b);
  if (!base_of || !names || !b) return;
  for (int walks = 0; follow_params(l, base_of, candidate); walks++)
    if (walks == MAX_WALKS) return; /* blocks in an unusual order */
  check_joins(l, base_of, candidate);
  for (uint32_t a = 0; a < count; a++)
    if (candidate[a]) names[a] = parameters[a].name;
  *b = (struct byval){names, base_of};
  l->byval = b;
}

bool byval_in_place(const struct lower *l, struct nvm_value pointer, struct nvm_str *name) {
  if (!l->byval) return false;
  if (value_kind(pointer) == VALUE_ARG) {
    *name = l->byval->names[value_index(pointer)];
    return name->index != 0;
  }
  if (value_kind(pointer) != VALUE_INST) return false;
  uint32_t base = l->byval->base[value_index(pointer)];
  return base != 0 && l->byval->names[base - 1].index != 0;
}
