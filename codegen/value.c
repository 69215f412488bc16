/* Operands: registers of results and arguments, constants as immediates. */
#include "codegen/emit.h"
#include "codegen/report.h"
#include "codegen/select.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "ir/evalint.h"

#include <assert.h>

/* --- registers -------------------------------------------------------------------------------- */

/* Registers for all parts of a type; returns their index in l->regs. */
static uint32_t new_regs(struct lower *l, struct nvm_type type) {
  struct part_list t = part_list(l, type);
  uint32_t first = l->regs.count;
  for (uint32_t k = 0; k < t.count; k++)
    if (!VEC_PUSH(&l->function_arena, &l->regs, emit_new_reg(l, part_at(t, k)))) return 0;
  return first;
}

static const struct ptx_reg *registers_of(struct lower *l, uint32_t *slot, struct nvm_type type) {
  if (*slot == 0) *slot = new_regs(l, type);
  return &l->regs.data[*slot];
}

const struct ptx_reg *value_result(struct lower *l, struct nvm_inst_id i) {
  uint32_t owner = i.index;
  while (l->inst_regs[owner] == 0 && l->selection[owner].coalesced_with)
    owner = l->selection[owner].coalesced_with;
  const struct ptx_reg *regs = registers_of(l, &l->inst_regs[owner], l->f->insts.data[owner].type);
  l->inst_regs[i.index] = l->inst_regs[owner];
  return regs;
}

void value_touch(struct lower *l, struct nvm_value v) {
  uint32_t index = value_index(v);
  if (value_kind(v) == VALUE_INST) {
    if (l->selection[index].wanted) value_result(l, (struct nvm_inst_id){index});
  } else if (value_kind(v) == VALUE_ARG) {
    registers_of(l, &l->arg_regs[index], function_arg_type(l->f, index));
  }
}

/* --- constants -------------------------------------------------------------------------------- */

/* The bits of part `k` of a constant, or a symbol. */
struct constant_part {
  uint64_t bits;
  struct nvm_value symbol; /* a global or function, or VALUE_NULL */
};

static struct constant_part constant_part(struct lower *l, struct nvm_value v, struct nvm_type type,
                                          uint32_t k);

static struct constant_part int_part(struct lower *l, struct nvm_value v, uint32_t k) {
  nvm_u128 value = 0;
  const_is_int(l->module, v, &value);
  return (struct constant_part){(uint64_t)(value >> (k * 64)), VALUE_NULL};
}

/* Lanes 2k and 2k + 1 of a vector constant as one pair. */
static struct constant_part pair_part(struct lower *l, struct nvm_value v, struct nvm_type type,
                                      uint32_t k) {
  struct nvm_type e = type_element(&l->module->types, type, 0);
  uint64_t low = constant_part(l, const_element(l->module, v, 2 * (uint64_t)k), e, 0).bits;
  uint64_t high = constant_part(l, const_element(l->module, v, 2 * (uint64_t)k + 1), e, 0).bits;
  return (struct constant_part){(low & 0xffff) | (high & 0xffff) << 16, VALUE_NULL};
}

static struct constant_part aggregate_part(struct lower *l, struct nvm_value v,
                                           struct nvm_type type, uint32_t k) {
  const struct type_table *t = &l->module->types;
  struct part_list parts = part_list(l, type);
  enum part_kind kind = (enum part_kind)part_at(parts, k)->kind;
  if (type_is_vector(t, type) && kind >= PART_PAIR_I16) return pair_part(l, v, type, k);
  uint64_t index = 0;
  struct nvm_type e = type_element(t, type, 0);
  if (type_kind(t, type) == TY_STRUCT) {
    for (uint32_t n; (n = part_list(l, e).count) <= k; k -= n) e = type_element(t, type, ++index);
  } else {
    uint32_t each = part_list(l, e).count;
    index = k / each;
    k %= each;
  }
  return constant_part(l, const_element(l->module, v, index), e, k);
}

static struct constant_part constant_part(struct lower *l, struct nvm_value v, struct nvm_type type,
                                          uint32_t k) {
  if (value_kind(v) == VALUE_GLOBAL || value_kind(v) == VALUE_FUNCTION)
    return (struct constant_part){0, v};
  if (value_kind(v) != VALUE_CONST) return (struct constant_part){0, VALUE_NULL};
  const struct constant_info *c = constant_info(&l->module->constants, v);
  switch ((enum constant_kind)c->kind) {
    case CONST_INT: return int_part(l, v, k);
    case CONST_FLOAT: return (struct constant_part){c->bits, VALUE_NULL};
    case CONST_AGGREGATE:
    case CONST_BYTES: return aggregate_part(l, v, type, k);
    case CONST_EXPR:
      report_refuse(l, "a constant expression at this place", "it has no instruction form");
      break;
    case CONST_NONE:
    case CONST_BIG_INT:
    case CONST_NULL:
    case CONST_ZERO:
    case CONST_UNDEF:
    case CONST_POISON:
    case CONST_ASM:
    case CONST_METADATA:
    case CONST_NONE_TOKEN: break;
  }
  return (struct constant_part){0, VALUE_NULL};
}

/* The address of a symbol in its pointer type. Variables of address space 0 are in .global, so cvta
 * makes their generic address. */
static struct ptx_reg symbol_address(struct lower *l, struct nvm_value symbol) {
  struct nvm_type type = module_value_type(l->module, symbol);
  struct part_list parts = part_list(l, type);
  uint16_t width = part_unsigned_mod(part_at(parts, 0));
  struct ptx_reg r = emit_new_reg(l, part_at(parts, 0));
  emit2(l, PTX_MOV, PTX_MODS(width), ptx_r(r), ptx_symbol(names_of_symbol(l, symbol), 0));
  bool is_generic = type_info(&l->module->types, type)->width == 0;
  if (value_kind(symbol) == VALUE_FUNCTION || !is_generic) return r;
  struct ptx_reg generic = emit_new_reg(l, part_at(parts, 0));
  uint16_t space = global_space(module_global(l->module, symbol));
  emit2(l, PTX_CVTA, PTX_MODS(space, width), ptx_r(generic), ptx_r(r));
  return generic;
}

/* A register or an immediate of any class. */
static struct ptx_operand constant_operand(struct lower *l, struct nvm_value v, uint32_t k) {
  struct nvm_type type = value_type(l->f, v);
  struct constant_part c = constant_part(l, v, type, k);
  if (!value_is_none(c.symbol)) return ptx_r(symbol_address(l, c.symbol));
  struct part_list parts = part_list(l, type);
  if (k >= parts.count) return ptx_i(0);
  const struct part *p = part_at(parts, k);
  switch ((enum part_kind)p->kind) {
    case PART_FLOAT: return ptx_f32((uint32_t)c.bits);
    case PART_DOUBLE: return ptx_f64(c.bits);
    case PART_INT: return ptx_i(evalint_sext(p->bits, c.bits));
    case PART_I1: return ptx_i(c.bits & 1);
    case PART_HALF:
    case PART_BFLOAT: return ptx_i((int64_t)(c.bits & 0xffff));
    case PART_PAIR_I16:
    case PART_PAIR_HALF:
    case PART_PAIR_BFLOAT: break;
  }
  return ptx_i(evalint_sext(32, c.bits));
}

static bool is_local_value(struct nvm_value v) {
  return value_kind(v) == VALUE_INST || value_kind(v) == VALUE_ARG;
}

static struct ptx_reg local_reg(struct lower *l, struct nvm_value v, uint32_t k) {
  uint32_t index = value_index(v);
  assert(k == 0 || k < part_list(l, value_type(l->f, v)).count);
  if (value_kind(v) == VALUE_INST) return value_result(l, (struct nvm_inst_id){index})[k];
  l->is_bug |= l->converted_args && l->converted_args[index]; /* in no register */
  return registers_of(l, &l->arg_regs[index], function_arg_type(l->f, index))[k];
}

struct ptx_reg value_reg(struct lower *l, struct nvm_value v, uint32_t k) {
  if (is_local_value(v)) return local_reg(l, v, k);
  struct ptx_operand o = constant_operand(l, v, k);
  if (o.kind == PTX_OPERAND_REG) return o.reg;
  struct part_list parts = part_list(l, value_type(l->f, v));
  if (k >= parts.count) return ptx_new_reg(l->pf, PTX_B32); /* after an error */
  struct ptx_reg r = emit_new_reg(l, part_at(parts, k));
  emit_copy(l, r, o);
  return r;
}

struct ptx_reg *value_regs(struct lower *l, struct nvm_value v) {
  uint32_t count = part_list(l, value_type(l->f, v)).count;
  struct ptx_reg *regs = arena_alloc(&l->function_arena, (count + 1) * sizeof *regs);
  for (uint32_t k = 0; regs && k < count; k++) regs[k] = value_reg(l, v, k);
  return regs;
}

struct ptx_operand value_source(struct lower *l, struct nvm_value v, uint32_t k) {
  if (is_local_value(v)) return ptx_r(local_reg(l, v, k));
  bool known = k < part_list(l, value_type(l->f, v)).count;
  return known ? constant_operand(l, v, k) : ptx_r(value_reg(l, v, k));
}

struct ptx_operand value_operand(struct lower *l, struct nvm_value v, uint32_t k) {
  if (is_local_value(v)) return ptx_r(local_reg(l, v, k));
  struct part_list parts = part_list(l, value_type(l->f, v));
  if (k < parts.count) {
    const struct part *p = part_at(parts, k);
    if (p->kind == PART_INT || part_is_full(p)) return constant_operand(l, v, k);
  }
  return ptx_r(value_reg(l, v, k));
}

const struct ptx_operand *value_operands(struct lower *l, struct nvm_value v) {
  uint32_t count = part_list(l, value_type(l->f, v)).count;
  struct ptx_operand *parts = arena_alloc(&l->function_arena, (count + 1) * sizeof *parts);
  for (uint32_t k = 0; parts && k < count; k++) parts[k] = value_operand(l, v, k);
  return parts;
}
