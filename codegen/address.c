/* Addresses of accesses, and getelementptr. */
#include "codegen/address.h"
#include "codegen/index_product.h"
#include "codegen/inst.h"
#include "codegen/lane.h"
#include "codegen/select.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "ir/evalint.h"
#include "ir/gep.h"

static uint32_t pointer_space(const struct lower *l, struct nvm_value pointer) {
  struct nvm_type type = type_scalar(&l->module->types, value_type(l->f, pointer));
  return type_info(&l->module->types, type)->width;
}

/* --- getelementptr ---------------------------------------------------------------------------- */

/* A register that holds value * step in 64 bits from `block` on; of all that were made, the last
 * for each hash of value and step. */
struct wide_product {
  struct nvm_value value; /* none: no such product */
  uint64_t step;
  struct nvm_block block;
  struct ptx_reg product;
  bool is_signed;
};
enum { WIDE_PRODUCTS = 32 };

/* v * step in 64 bits; `index` holds v. ptxas makes one instruction of mul.wide and each of its
 * sums, but two or three of a mad.wide; so a product of a dominating block is reused. */
static struct ptx_reg widen_product(struct lower *l, struct nvm_value v, struct ptx_operand index,
                                    const struct part *p, bool is_signed, uint64_t step) {
  struct nvm_block here = function_inst(l->f, l->inst)->block;
  if (!l->wide_products)
    l->wide_products = arena_alloc(&l->function_arena, WIDE_PRODUCTS * sizeof *l->wide_products);
  if (!l->wide_products) return emit_temp(l, PTX_B64);
  struct wide_product *known = &l->wide_products[(v.bits * 31 + step) % WIDE_PRODUCTS];
  if (value_equal(known->value, v) && known->step == step && known->is_signed == is_signed &&
      dominance_dominates(&l->dominance, known->block, here))
    return known->product;
  struct ptx_reg product = emit_temp(l, PTX_B64);
  index = is_signed ? emit_sext(l, index, p, 32) : emit_zext(l, index, p, 32);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_WIDE, is_signed ? PTX_MOD_S32 : PTX_MOD_U32), ptx_r(product),
        index, ptx_i((int64_t)step));
  if (!value_is_none(v)) *known = (struct wide_product){v, step, here, product, is_signed};
  return product;
}

/* base + index * step, in the pointer's width; `index` holds v, or a lane of a vector: VALUE_NULL.
 */
static struct ptx_reg add_scaled(struct lower *l, struct ptx_operand base, struct nvm_value v,
                                 struct ptx_operand index, const struct part *p, bool is_signed,
                                 uint64_t step, bool wide) {
  uint16_t type = wide ? PTX_MOD_S64 : PTX_MOD_S32;
  struct ptx_reg sum = emit_temp(l, wide ? PTX_B64 : PTX_B32);
  if (wide && p->container == 32 && step > 1 && step <= INT32_MAX) {
    emit3(l, PTX_ADD, PTX_MODS(type), ptx_r(sum), base,
          ptx_r(widen_product(l, v, index, p, is_signed, step)));
    return sum;
  }
  index = emit_sext(l, index, p, wide ? 64 : 32);
  if (!wide && p->container == 64) {
    struct ptx_reg narrow = emit_temp(l, PTX_B32);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(narrow), index);
    index = ptx_r(narrow);
  }
  if (step != 1 && evalint_is_power_of_two(step)) {
    struct ptx_reg scaled = emit_temp(l, wide ? PTX_B64 : PTX_B32);
    emit3(l, PTX_SHL, PTX_MODS(wide ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(scaled), index,
          ptx_i((int64_t)evalint_log2(step)));
    index = ptx_r(scaled);
  } else if (step != 1) {
    emit4(l, PTX_MAD, PTX_MODS(PTX_MOD_LO, type), ptx_r(sum), index, ptx_i((int64_t)step), base);
    return sum;
  }
  emit3(l, PTX_ADD, PTX_MODS(type), ptx_r(sum), base, index);
  return sum;
}

void address_make_product(struct lower *l, struct nvm_inst_id extension) {
  const struct nvm_inst *i = function_inst(l->f, extension);
  uint32_t step = index_product_early(l, i);
  if (step == 0) return;
  struct nvm_value v = inst_operand(l->f, i, 0);
  const struct ptx_operand *index = value_operands(l, v);
  l->inst = extension;
  if (index)
    widen_product(l, v, index[0], part_at(part_list(l, TYPE_I32), 0), i->op == OP_SEXT, step);
}

/* One lane: base + the sum of index * step, constants last. */
static void lower_gep_lane(struct lower *l, const struct nvm_inst *i, const struct lanes *operands,
                           uint32_t lane, struct ptx_reg to) {
  bool wide = ptx_reg_class(to) == PTX_B64;
  struct gep_walk w = gep_begin(l->module, i->aux);
  struct ptx_operand address = operands[0].at[operands[0].count == 1 ? 0 : lane];
  uint64_t constant = 0;
  for (uint32_t k = 1; k < i->operand_count; k++) {
    bool member;
    struct selected_index selected = select_index(l, i, k);
    uint64_t step = gep_step(&w, inst_operand(l->f, i, k), &member) * selected.scale;
    const struct lanes *o = &operands[k];
    struct ptx_operand index = o->at[(o->count == 1 ? 0 : lane) * o->parts_each];
    if (member || step == 0) {
      constant += step;
      continue;
    }
    if (index.kind != PTX_OPERAND_REG) {
      constant += step * (uint64_t)index.imm;
      continue;
    }
    struct part p = *part_at(part_list(l, o->scalar), 0);
    address = ptx_r(add_scaled(l, address, o->count == 1 ? selected.value : VALUE_NULL, index, &p,
                               selected.is_signed, step, wide));
  }
  if (constant)
    emit3(l, PTX_ADD, PTX_MODS(wide ? PTX_MOD_S64 : PTX_MOD_S32), ptx_r(to), address,
          ptx_i((int64_t)constant));
  else emit_copy(l, to, address);
}

void address_lower_gep(struct lower *l, const struct nvm_inst *i) {
  struct lanes *operands = arena_alloc(&l->function_arena, i->operand_count * sizeof *operands);
  if (!operands) return;
  for (uint32_t k = 0; k < i->operand_count; k++)
    operands[k] = lane_split(l, select_operand(l, i, k));
  const struct ptx_reg *to = value_result(l, l->inst);
  uint32_t count = part_list(l, i->type).count;
  if (l->function_arena.failed) return;
  for (uint32_t k = 0; k < operands[0].count; k++) /* a null base is an immediate */
    if (operands[0].at[k].kind != PTX_OPERAND_REG)
      operands[0].at[k] = ptx_r(value_reg(l, inst_operand(l->f, i, 0), k));
  for (uint32_t lane = 0; lane < count; lane++) lower_gep_lane(l, i, operands, lane, to[lane]);
}

/* --- the address of an access ----------------------------------------------------------------- */

static bool fits_offset(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

struct address address_of(struct lower *l, struct nvm_value pointer) {
  struct selected_address a = select_address(l, pointer);
  uint32_t place;
  if (a.in_frame && frame_place(l, (struct nvm_inst_id){value_index(a.base)}, &place))
    return frame_address(l, (uint64_t)(a.offset + place));
  if (value_kind(a.base) == VALUE_GLOBAL && fits_offset(a.offset)) {
    const struct nvm_global *g = module_global(l->module, a.base);
    if (!g->is_alias)
      return (struct address){ptx_at_symbol(names_of_symbol(l, a.base), a.offset), global_space(g),
                              1};
  }
  struct nvm_str param = {0};
  bool in_param = byval_in_place(l, a.base, &param);
  if (in_param && param.index && fits_offset(a.offset))
    return (struct address){ptx_at_symbol(param, a.offset), PTX_MOD_PARAM, 1};
  struct ptx_reg base = value_reg(l, a.base, 0);
  if (!fits_offset(a.offset)) {
    uint16_t type = ptx_reg_class(base) == PTX_B64 ? PTX_MOD_S64 : PTX_MOD_S32;
    base = emit_binary(l, PTX_ADD, type, ptx_r(base), ptx_i(a.offset)).reg;
    a.offset = 0;
  }
  uint16_t space = in_param ? PTX_MOD_PARAM : mod_space(pointer_space(l, a.base));
  return (struct address){ptx_at(base, a.offset), space, 1};
}

struct ptx_reg address_register(struct lower *l, struct address a) {
  bool is_symbol = a.at.kind == PTX_OPERAND_ADDRESS_SYMBOL;
  bool is_short = a.space == PTX_MOD_SHARED && l->target->short_shared_pointers;
  bool wide =
      is_symbol ? l->target->pointer_bits == 64 && !is_short : ptx_reg_class(a.at.reg) == PTX_B64;
  if (is_symbol)
    return emit_unary(l, PTX_MOV, mod_unsigned(wide ? 64 : 32), ptx_symbol(a.at.symbol, a.at.imm))
        .reg;
  return emit_binary(l, PTX_ADD, mod_signed(wide ? 64 : 32), ptx_r(a.at.reg), ptx_i(a.at.imm)).reg;
}
