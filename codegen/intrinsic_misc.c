/* Intrinsics that are neither a PTX form nor arithmetic: hints without code, values known at
 * compile time, memory, pointers, and instructions whose modifiers depend on an argument. */
#include "analysis/alias.h"
#include "codegen/abi.h"
#include "codegen/intrinsic.h"
#include "codegen/memory.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "target/reflect.h"

/* --- Nothing, an argument, a number --- */

void intrinsic_lower_nothing(struct lower *l, const struct nvm_inst *i) { (void)l, (void)i; }

void intrinsic_lower_forward(struct lower *l, const struct nvm_inst *i) {
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++)
    emit_copy(l, to[k], value_operand(l, intrinsic_arg(l, i, 0), k));
}

void intrinsic_lower_number(struct lower *l, const struct nvm_inst *i, int argument) {
  intrinsic_set_number(l, i, argument);
}

void intrinsic_lower_is_constant(struct lower *l, const struct nvm_inst *i) {
  intrinsic_set_number(l, i, value_kind(intrinsic_arg(l, i, 0)) == VALUE_CONST);
}

/* The size of the object that a pointer points into, and the offset there; false if unknown. */
static bool known_object(struct lower *l, struct nvm_value pointer, uint64_t *bytes,
                         int64_t *offset) {
  struct alias_address at = alias_decompose(l->f, pointer);
  const struct nvm_inst *i = value_inst(l->f, at.base);
  nvm_u128 count = 1;
  struct nvm_type type;
  if (at.term_count) return false;
  if (i && i->op == OP_ALLOCA) {
    if (!const_is_int(l->module, inst_operand(l->f, i, 0), &count)) return false;
    type.index = i->aux;
  } else {
    if (value_kind(at.base) != VALUE_GLOBAL) return false;
    const struct nvm_global *g = module_global(l->module, at.base);
    if (g->is_alias || value_is_none(g->initializer)) return false;
    type = g->value_type;
  }
  *bytes = layout_alloc_size(&l->module->layout, &l->module->types, type) * (uint64_t)count;
  *offset = at.offset;
  return true;
}

/* objectsize(p, min): the bytes from p to the end of its object; if unknown, 0 for `min`, else -1.
 */
void intrinsic_lower_objectsize(struct lower *l, const struct nvm_inst *i) {
  uint64_t least = 0, bytes = 0;
  int64_t offset = 0;
  if (call_arg_count(l->f, i) < 2 || !intrinsic_constant(l, i, 1, &least)) return;
  int64_t left = least ? 0 : -1;
  if (known_object(l, intrinsic_arg(l, i, 0), &bytes, &offset))
    left = offset < 0 || (uint64_t)offset > bytes ? 0 : (int64_t)bytes - offset;
  intrinsic_set_number(l, i, left);
}

/* --- __nvvm_reflect --- */

void intrinsic_lower_reflect(struct lower *l, const struct nvm_inst *i) {
  struct nvm_text key;
  if (!reflect_string(l->f, intrinsic_arg(l, i, 0), &key))
    report_refuse(l, intrinsic_call_name(l, i), "its argument is not a constant string");
  else
    intrinsic_set_number(
        l, i,
        lower_knob(l, KNOB_REFLECT_ENABLE) ? (int64_t)reflect_answer(l->target, l->f, key) : 0);
}

/* --- Memory --- */

void intrinsic_lower_memcpy(struct lower *l, const struct nvm_inst *i, int argument) {
  block_lower_copy(l, i, argument != 0);
}

void intrinsic_lower_memset(struct lower *l, const struct nvm_inst *i) { block_lower_fill(l, i); }

static uint32_t space_of(struct lower *l, struct nvm_value pointer) {
  struct nvm_type scalar = type_scalar(&l->module->types, value_type(l->f, pointer));
  return type_info(&l->module->types, scalar)->width;
}

static uint16_t pointer_type(struct ptx_reg r) {
  return ptx_reg_class(r) == PTX_B32 ? PTX_MOD_U32 : PTX_MOD_U64;
}

void intrinsic_lower_stack_save(struct lower *l, const struct nvm_inst *i) {
  struct ptx_reg to = value_result(l, l->inst)[0], local = ptx_new_reg(l->pf, ptx_reg_class(to));
  uint16_t type = pointer_type(to);
  emit1(l, PTX_STACKSAVE, PTX_MODS(type), ptx_r(local));
  if (type_info(&l->module->types, i->type)->width == 0)
    emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, type), ptx_r(to), ptx_r(local));
  else emit_copy(l, to, ptx_r(local));
}

/* A pointer as one of the space, if it is generic. */
static struct ptx_operand in_space(struct lower *l, struct nvm_value pointer, uint16_t space) {
  struct ptx_operand v = ptx_r(value_reg(l, pointer, 0));
  uint16_t type = pointer_type(v.reg);
  if (space_of(l, pointer) != 0) return v;
  return emit_value(l, type, PTX_CVTA, PTX_MODS(PTX_MOD_TO, space, type), &v, 1);
}

void intrinsic_lower_stack_restore(struct lower *l, const struct nvm_inst *i) {
  struct ptx_operand local = in_space(l, intrinsic_arg(l, i, 0), PTX_MOD_LOCAL);
  emit1(l, PTX_STACKRESTORE, PTX_MODS(pointer_type(local.reg)), local);
}

/* A hint; dropped for instruction caches and for shared and constant memory, which PTX's prefetch
 * does not know. */
void intrinsic_lower_prefetch(struct lower *l, const struct nvm_inst *i) {
  uint64_t locality, data;
  if (!intrinsic_constant(l, i, 2, &locality) || !intrinsic_constant(l, i, 3, &data)) return;
  struct nvm_value pointer = intrinsic_arg(l, i, 0);
  uint16_t space = mod_space(space_of(l, pointer)), level = locality == 3 ? PTX_MOD_L1 : PTX_MOD_L2;
  if (data != 1 || (space != 0 && space != PTX_MOD_GLOBAL && space != PTX_MOD_LOCAL)) return;
  emit1(l, PTX_PREFETCH, EMIT_MODS(space, level), ptx_at(value_reg(l, pointer, 0), 0));
}

/* A va_list is the address of the next argument. */
void intrinsic_lower_va_start(struct lower *l, const struct nvm_inst *i) {
  struct ptx_reg area = params_variadic_area(l);
  struct address to = address_of(l, intrinsic_arg(l, i, 0));
  uint16_t type = ptx_reg_class(area) == PTX_B32 ? PTX_MOD_B32 : PTX_MOD_B64;
  emit2(l, PTX_ST, EMIT_MODS(to.space, type), to.at, ptx_r(area));
}

void intrinsic_lower_va_copy(struct lower *l, const struct nvm_inst *i) {
  uint16_t type = mod_bits(layout_pointer_bits(&l->module->layout, 0));
  struct ptx_operand r = ptx_r(emit_temp(l, mod_class(type)));
  struct address from = address_of(l, intrinsic_arg(l, i, 1));
  emit2(l, PTX_LD, EMIT_MODS(from.space, type), r, from.at);
  struct address to = address_of(l, intrinsic_arg(l, i, 0));
  emit2(l, PTX_ST, EMIT_MODS(to.space, type), to.at, r);
}

/* One access of ldg or ldu: `count` parts of kind p at an offset. */
static void emit_read_only(struct lower *l, int nc, struct ptx_reg base, const struct ptx_reg *to,
                           const struct part *p, uint32_t count, uint32_t offset) {
  uint16_t type = part_store_bytes(p) == 1 ? PTX_MOD_B8 : part_move_mod(p);
  bool has_nc = emit_has(l, PTX_LD, PTX_MODS(PTX_MOD_GLOBAL, PTX_MOD_NC, PTX_MOD_U32));
  struct ptx_operand lanes[4];
  for (uint32_t k = 0; k < count; k++) lanes[k] = ptx_r(to[k]);
  struct ptx_operand value =
      count == 1 ? lanes[0] : ptx_group(l->pf, PTX_OPERAND_VECTOR, lanes, count);
  emit2(l, nc == PTX_MOD_NONE ? PTX_LDU : PTX_LD,
        EMIT_MODS(PTX_MOD_GLOBAL, has_nc ? (uint16_t)nc : PTX_MOD_NONE, mod_vector(count), type),
        value, ptx_at(base, offset));
}

/* llvm.nvvm.ldg (ld.global.nc) and ldu, in as few accesses as the alignment allows. */
void intrinsic_lower_load_read_only(struct lower *l, const struct nvm_inst *i, int argument) {
  uint64_t align;
  if (!intrinsic_constant(l, i, 1, &align)) return;
  struct nvm_value pointer = intrinsic_arg(l, i, 0);
  struct ptx_reg base = in_space(l, pointer, PTX_MOD_GLOBAL).reg;
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < count;) {
    struct part p = intrinsic_part(l, i->type, k);
    uint32_t bytes = part_store_bytes(&p), n = 4;
    for (; n > 1; n /= 2)
      if (n * bytes <= 16 && k + n <= count && align % (n * bytes) == 0 &&
          p.offset % (n * bytes) == 0 && type_is_vector(&l->module->types, i->type))
        break;
    emit_read_only(l, argument, base, to + k, &p, n, p.offset);
    k += n;
  }
}

/* --- Pointers --- */

void intrinsic_lower_ptrmask(struct lower *l, const struct nvm_inst *i) {
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  struct nvm_value mask = intrinsic_arg(l, i, 1);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k), m = intrinsic_part(l, value_type(l->f, mask), k);
    struct ptx_operand bits = emit_zext(l, value_operand(l, mask, k), &m, p.container);
    emit3(l, PTX_AND, PTX_MODS(part_bits_mod(&p)), ptx_r(to[k]),
          ptx_r(value_reg(l, intrinsic_arg(l, i, 0), k)), bits);
  }
}

/* llvm.nvvm.ptr.*: between a specific space and the generic one, as the types say. */
void intrinsic_lower_address_cast(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value pointer = intrinsic_arg(l, i, 0);
  uint32_t to = type_info(&l->module->types, type_scalar(&l->module->types, i->type))->width;
  struct ptx_reg result = value_result(l, l->inst)[0];
  convert_space(l, space_of(l, pointer), to, result, ptx_r(value_reg(l, pointer, 0)));
}

/* The handle of a texture, surface or sampler variable is its address. */
void intrinsic_lower_texture_handle(struct lower *l, const struct nvm_inst *i, int argument) {
  struct nvm_value v = reflect_variable(l->f, intrinsic_arg(l, i, (uint32_t)argument));
  if (value_kind(v) != VALUE_GLOBAL) {
    report_refuse(l, intrinsic_call_name(l, i),
                  "its argument must be a texture or surface variable");
    return;
  }
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_U64), ptx_r(value_result(l, l->inst)[0]),
        ptx_symbol(names_of_symbol(l, v), 0));
}
