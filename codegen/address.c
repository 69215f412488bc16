/* Addresses: the best base + offset for a pointer, getelementptr, and places in the thread's frame
 * (frame.c). */
#include "codegen/lower.h"

#include "ir/evalint.h"
uint16_t space_mod(uint32_t address_space) {
  switch (address_space) {
    case 1: return PTX_MOD_GLOBAL;
    case 3: return PTX_MOD_SHARED;
    case 4: return PTX_MOD_CONST;
    case 5: return PTX_MOD_LOCAL;
    case 7: return PTX_MOD_SHARED_CLUSTER;
    case 101: return PTX_MOD_PARAM;
    default: return 0;
  }
}

static const struct nvm_inst *inst_of(const struct lower *l, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &l->f->insts.data[value_index(v)] : NULL;
}

static uint32_t pointer_space(const struct lower *l, struct nvm_value pointer) {
  struct nvm_type type = type_scalar(&l->module->types, value_type(l->f, pointer));
  return type_info(&l->module->types, type)->width;
}

/* --- the frame -------------------------------------------------------------------------------- */

struct address lower_depot_address(struct lower *l, uint64_t offset) {
  return (struct address){ptx_at_symbol(l->depot_name, (int64_t)offset), PTX_MOD_LOCAL, 1};
}

/* The address of a place in the frame as a pointer of the given address space. */
struct ptx_reg lower_depot_pointer(struct lower *l, uint64_t offset, uint32_t address_space) {
  bool wide = layout_pointer_bits(&l->module->layout, address_space) == 64;
  bool generic_wide = layout_pointer_bits(&l->module->layout, 0) == 64;
  uint16_t type = wide ? PTX_MOD_U64 : PTX_MOD_U32;
  struct ptx_reg local = lower_temp(l, wide ? PTX_B64 : PTX_B32);
  emit2(l, PTX_MOV, PTX_MODS(type), ptx_r(local), ptx_symbol(l->depot_name, (int64_t)offset));
  if (space_mod(address_space) == PTX_MOD_LOCAL) return local;
  struct ptx_reg generic = lower_temp(l, generic_wide ? PTX_B64 : PTX_B32);
  emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, generic_wide ? PTX_MOD_U64 : PTX_MOD_U32),
        ptx_r(generic), ptx_r(local));
  return generic;
}

/* PTX's alloca moves the stack pointer; it wants a constant alignment. */
static void lower_dynamic_alloca(struct lower *l, const struct nvm_inst *i, struct ptx_reg to) {
  struct nvm_type type = {i->aux};
  uint64_t each = layout_alloc_size(&l->module->layout, &l->module->types, type);
  uint32_t align = lower_alloca_align(l, i);
  struct ptx_operand bytes = ptx_i((int64_t)each);
  if (i->operand_count) {
    struct nvm_value count = inst_operand(l->f, i, 0);
    struct part p = *lower_part(l, lower_type(l, value_type(l->f, count)), 0);
    struct ptx_operand n = lower_zext_part(l, lower_operand(l, count, 0), &p, 64);
    struct ptx_reg product = lower_temp(l, PTX_B64);
    if (n.kind != PTX_OPERAND_REG) bytes = ptx_i((int64_t)((uint64_t)n.imm * each));
    else {
      emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_LO, PTX_MOD_U64), ptx_r(product), n, ptx_i((int64_t)each));
      bytes = ptx_r(product);
    }
  }
  struct ptx_reg local = lower_temp(l, PTX_B64);
  emit3(l, PTX_ALLOCA, PTX_MODS(PTX_MOD_U64), ptx_r(local), bytes, ptx_i(align));
  if (space_mod(type_info(&l->module->types, i->type)->width) == PTX_MOD_LOCAL)
    lower_copy(l, to, ptx_r(local));
  else emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, PTX_MOD_U64), ptx_r(to), ptx_r(local));
}

void lower_alloca(struct lower *l, const struct nvm_inst *i) {
  struct ptx_reg to = lower_result(l, l->inst)[0];
  uint32_t offset = l->alloca_offsets[l->inst.index];
  if (offset == 0) {
    lower_dynamic_alloca(l, i, to);
    return;
  }
  uint32_t space = type_info(&l->module->types, i->type)->width;
  lower_copy(l, to, ptx_r(lower_depot_pointer(l, offset - 1, space)));
}

/* --- getelementptr ---------------------------------------------------------------------------- */

/* Steps through the indexed types of a getelementptr. */
struct gep_walk {
  struct nvm_type type; /* what the next index selects from; first the element type itself */
  bool first;           /* the next index is the first: it steps over whole objects */
};

/* The bytes that one step of index `k` moves; for structs, the offset of the member (*member set).
 */
static uint64_t gep_step(const struct lower *l, struct gep_walk *w, struct nvm_value index,
                         bool *member) {
  const struct type_table *t = &l->module->types;
  *member = false;
  if (w->first) {
    w->first = false;
    return layout_alloc_size(&l->module->layout, t, w->type);
  }
  if (type_kind(t, w->type) == TY_STRUCT) {
    nvm_u128 value = 0;
    if (!const_is_int(l->module, index, &value)) /* a splat, where the base is a vector */
      const_is_int(l->module, const_element(l->module, index, 0), &value);
    uint64_t offset = layout_member_offset(&l->module->layout, t, w->type, (uint32_t)value);
    w->type = type_member(t, w->type, (uint32_t)value);
    *member = true;
    return offset;
  }
  bool vector = type_is_vector(t, w->type);
  w->type = type_info(t, w->type)->element;
  return vector ? (layout_bits(&l->module->layout, t, w->type) + 7) / 8
                : layout_alloc_size(&l->module->layout, t, w->type);
}

bool lower_gep_is_constant(const struct lower *l, const struct nvm_inst *i, int64_t *offset) {
  if (type_is_vector(&l->module->types, i->type)) return false;
  struct gep_walk w = {{i->aux}, true};
  uint64_t sum = 0;
  for (uint32_t k = 1; k < i->operand_count; k++) {
    struct nvm_value index = inst_operand(l->f, i, k);
    nvm_u128 value;
    if (!const_is_int(l->module, index, &value)) return false;
    bool member;
    uint64_t step = gep_step(l, &w, index, &member);
    sum += member ? step : step * (uint64_t)const_int_signed(l->module, index);
  }
  if (offset) *offset = (int64_t)sum;
  return true;
}

bool lower_cast_drops_space(const struct lower *l, const struct nvm_inst *i) {
  if (i->op != OP_ADDRSPACECAST || type_is_vector(&l->module->types, i->type)) return false;
  return space_mod(type_info(&l->module->types, i->type)->width) == 0 &&
         space_mod(pointer_space(l, inst_operand(l->f, i, 0))) != 0;
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* v * step in 64 bits; `index` holds v. ptxas makes one instruction of such a product and each of
 * its sums, but two or three of a mad.wide; so a product that was made on the way here is as good
 * as a new one. */
static struct ptx_reg widen_product(struct lower *l, struct nvm_value v, struct ptx_operand index,
                                    const struct part *p, bool is_signed, uint64_t step) {
  struct nvm_block here = function_inst(l->f, l->inst)->block;
  struct wide_product *known =
      &l->wide_products[(v.bits * 31 + step) % (sizeof l->wide_products / sizeof *known)];
  if (value_equal(known->value, v) && known->step == step && known->is_signed == is_signed &&
      dominance_dominates(&l->dominance, known->block, here))
    return known->product;
  struct ptx_reg product = lower_temp(l, PTX_B64);
  index = is_signed ? lower_sext_part(l, index, p, 32) : lower_zext_part(l, index, p, 32);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_WIDE, is_signed ? PTX_MOD_S32 : PTX_MOD_U32), ptx_r(product),
        index, ptx_i((int64_t)step));
  if (!value_is_none(v)) *known = (struct wide_product){v, step, here, product, is_signed};
  return product;
}

/* base + index * step, where the offset has the pointer's width; `index` holds v, or a lane of a
 * vector: no value. */
static struct ptx_reg add_scaled(struct lower *l, struct ptx_operand base, struct nvm_value v,
                                 struct ptx_operand index, const struct part *p, bool is_signed,
                                 uint64_t step, bool wide) {
  uint16_t type = wide ? PTX_MOD_S64 : PTX_MOD_S32;
  struct ptx_reg sum = lower_temp(l, wide ? PTX_B64 : PTX_B32);
  if (wide && p->container == 32 && step > 1 && step <= INT32_MAX) {
    emit3(l, PTX_ADD, PTX_MODS(type), ptx_r(sum), base,
          ptx_r(widen_product(l, v, index, p, is_signed, step)));
    return sum;
  }
  index = lower_sext_part(l, index, p, wide ? 64 : 32);
  if (!wide && p->container == 64) {
    struct ptx_reg narrow = lower_temp(l, PTX_B32);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(narrow), index);
    index = ptx_r(narrow);
  }
  if (step != 1 && is_power_of_two(step)) {
    struct ptx_reg scaled = lower_temp(l, wide ? PTX_B64 : PTX_B32);
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

/* An index that is a 32-bit integer extended to 64 bits needs no register of its own: mul.wide
 * extends. Returns the 32-bit value, or VALUE_NULL. */
static struct nvm_value narrow_index(const struct lower *l, struct nvm_value index, uint64_t step,
                                     bool *is_signed) {
  const struct type_table *t = &l->module->types;
  const struct nvm_inst *i = inst_of(l, index);
  if (!i || (i->op != OP_ZEXT && i->op != OP_SEXT) || step <= 1 || step > INT32_MAX)
    return VALUE_NULL;
  struct nvm_value from = inst_operand(l->f, i, 0);
  bool fits = type_equal(i->type, TYPE_I64) && type_equal(value_type(l->f, from), TYPE_I32);
  *is_signed = i->op == OP_SEXT;
  return fits && type_scalar_bits(t, i->type) == 64 ? from : VALUE_NULL;
}

bool lower_gep_index_source(const struct lower *l, const struct nvm_inst *i, uint32_t k,
                            struct nvm_value *source, bool *is_signed) {
  *source = inst_operand(l->f, i, k);
  if (k == 0 || type_is_vector(&l->module->types, i->type)) return false;
  if (layout_pointer_bits(&l->module->layout, type_info(&l->module->types, i->type)->width) != 64)
    return false;
  struct gep_walk w = {{i->aux}, true};
  bool member = false;
  uint64_t step = 0;
  for (uint32_t n = 1; n <= k; n++) step = gep_step(l, &w, inst_operand(l->f, i, n), &member);
  struct nvm_value narrow = member ? VALUE_NULL : narrow_index(l, *source, step, is_signed);
  if (value_is_none(narrow)) return false;
  *source = narrow;
  return true;
}

/* One lane: base + the sum of index * step, the constant rest added last. */
static void lower_gep_lane(struct lower *l, const struct nvm_inst *i, const struct lanes *operands,
                           uint32_t lane, struct ptx_reg to) {
  bool wide = ptx_reg_class(to) == PTX_B64;
  struct gep_walk w = {{i->aux}, true};
  struct ptx_operand address = operands[0].at[operands[0].count == 1 ? 0 : lane];
  uint64_t constant = 0;
  for (uint32_t k = 1; k < i->operand_count; k++) {
    bool member;
    uint64_t step = gep_step(l, &w, inst_operand(l->f, i, k), &member);
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
    struct nvm_value source;
    bool is_signed = true;
    lower_gep_index_source(l, i, k, &source, &is_signed);
    struct part p = *lower_part(l, lower_type(l, o->scalar), 0);
    address = ptx_r(add_scaled(l, address, o->count == 1 ? source : VALUE_NULL, index, &p,
                               is_signed, step, wide));
  }
  if (constant)
    emit3(l, PTX_ADD, PTX_MODS(wide ? PTX_MOD_S64 : PTX_MOD_S32), ptx_r(to), address,
          ptx_i((int64_t)constant));
  else lower_copy(l, to, address);
}

void lower_gep(struct lower *l, const struct nvm_inst *i) {
  struct lanes *operands = arena_alloc(&l->function_arena, i->operand_count * sizeof *operands);
  if (!operands) return;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value source;
    bool is_signed;
    lower_gep_index_source(l, i, k, &source, &is_signed);
    operands[k] = lower_split(l, source);
  }
  const struct ptx_reg *to = lower_result(l, l->inst);
  uint32_t count = lower_type(l, i->type).count;
  if (l->function_arena.failed) return;
  for (uint32_t k = 0; k < operands[0].count; k++) /* a null base is an immediate */
    if (operands[0].at[k].kind != PTX_OPERAND_REG)
      operands[0].at[k] = ptx_r(lower_reg(l, inst_operand(l->f, i, 0), k));
  for (uint32_t lane = 0; lane < count; lane++) lower_gep_lane(l, i, operands, lane, to[lane]);
}

/* --- the address of an access ----------------------------------------------------------------- */

static bool fits_offset(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

struct address address_plus(struct address a, int64_t offset) {
  a.at.imm += offset;
  return a;
}

/* A variable in no space of its own, cast to where it lies: its name says that too. */
static bool casts_variable(const struct nvm_inst *i, struct nvm_value from) {
  return i->op == OP_ADDRSPACECAST && value_kind(from) == VALUE_GLOBAL;
}

struct address lower_address(struct lower *l, struct nvm_value pointer) {
  int64_t sum = 0, own_sum = 0;
  const struct nvm_inst *i;
  struct nvm_value own = VALUE_NULL; /* the first on the way that has a register of its own */
  for (int step = 0; step < MAX_ADDRESS_CHAIN && (i = inst_of(l, pointer)) != NULL; step++) {
    int64_t offset = 0;
    if (value_is_none(own) && l->wanted[value_index(pointer)]) own = pointer, own_sum = sum;
    if (i->op == OP_ALLOCA) {
      uint32_t at = l->alloca_offsets[value_index(pointer)];
      if (at == 0 || !fits_offset(sum) || !fits_offset(sum + at)) break;
      return lower_depot_address(l, (uint64_t)(sum + at - 1));
    }
    if (i->op == OP_GEP && lower_gep_is_constant(l, i, &offset))
      sum = (int64_t)((uint64_t)sum + (uint64_t)offset);
    else if (!lower_cast_drops_space(l, i) && !casts_variable(i, inst_operand(l->f, i, 0))) break;
    pointer = inst_operand(l->f, i, 0);
  }
  if (value_kind(pointer) == VALUE_INST && l->overwritten[value_index(pointer)])
    pointer = own, sum = own_sum;
  if (value_kind(pointer) == VALUE_GLOBAL && fits_offset(sum)) {
    const struct nvm_global *g = module_global(l->module, pointer);
    if (!g->is_alias)
      return (struct address){ptx_at_symbol(names_of_symbol(l, pointer), sum), global_space(g), 1};
  }
  struct nvm_str param = {0};
  bool in_param = lower_in_param(l, pointer, &param);
  if (in_param && param.index && fits_offset(sum))
    return (struct address){ptx_at_symbol(param, sum), PTX_MOD_PARAM, 1};
  struct ptx_reg base = lower_reg(l, pointer, 0);
  if (!fits_offset(sum)) {
    struct ptx_reg moved = ptx_new_reg(l->pf, ptx_reg_class(base));
    emit3(l, PTX_ADD, PTX_MODS(ptx_reg_class(base) == PTX_B64 ? PTX_MOD_S64 : PTX_MOD_S32),
          ptx_r(moved), ptx_r(base), ptx_i(sum));
    base = moved;
    sum = 0;
  }
  uint16_t space = in_param ? PTX_MOD_PARAM : space_mod(pointer_space(l, pointer));
  return (struct address){ptx_at(base, sum), space, 1};
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
