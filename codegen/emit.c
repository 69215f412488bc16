/* Instructions, and the short sequences that all files use: copies, extensions, packed pairs. */
#include "codegen/emit.h"
#include "codegen/select.h"
#include "ir/evalint.h"
#include "ptx/print.h"

void emit0(struct lower *l, enum ptx_op op, const uint16_t *mods) {
  ptx_add(l->pf, op, mods, NULL, 0);
}
void emit1(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand a) {
  ptx_add(l->pf, op, mods, &a, 1);
}
void emit2(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a) {
  ptx_add(l->pf, op, mods, PTX_OPS(d, a));
}
void emit3(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b) {
  ptx_add(l->pf, op, mods, PTX_OPS(d, a, b));
}
void emit4(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b, struct ptx_operand c) {
  ptx_add(l->pf, op, mods, PTX_OPS(d, a, b, c));
}

struct emit_mod_list emit_mods(const uint16_t *words, size_t count) {
  struct emit_mod_list list = {{PTX_MOD_NONE}};
  size_t n = 0;
  for (size_t k = 0; k < count; k++)
    if (words[k] != PTX_MOD_NONE) list.words[n++] = words[k];
  return list;
}

/* --- values ----------------------------------------------------------------------------------- */

struct ptx_operand emit_value(struct lower *l, uint16_t type, enum ptx_op op, const uint16_t *mods,
                              const struct ptx_operand *from, uint32_t count) {
  struct ptx_operand operands[5] = {ptx_r(emit_temp(l, mod_class(type)))};
  for (uint32_t k = 0; k < count; k++) operands[k + 1] = from[k];
  ptx_add(l->pf, op, mods, operands, count + 1);
  return operands[0];
}

struct ptx_operand emit_unary(struct lower *l, enum ptx_op op, uint16_t type,
                              struct ptx_operand a) {
  return emit_value(l, type, op, PTX_MODS(type), &a, 1);
}

struct ptx_operand emit_binary(struct lower *l, enum ptx_op op, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b) {
  return emit_value(l, type, op, PTX_MODS(type), PTX_OPS(a, b));
}

struct ptx_operand emit_compare(struct lower *l, uint16_t how, uint16_t type, struct ptx_operand a,
                                struct ptx_operand b) {
  return emit_value(l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(how, type), PTX_OPS(a, b));
}

struct ptx_operand emit_select(struct lower *l, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b, struct ptx_operand when) {
  return emit_value(l, type, PTX_SELP, PTX_MODS(type), PTX_OPS(a, b, when));
}

struct ptx_operand emit_convert(struct lower *l, uint16_t to, uint16_t from, struct ptx_operand v) {
  return emit_value(l, to, PTX_CVT, PTX_MODS(to, from), &v, 1);
}

void emit_copy(struct lower *l, struct ptx_reg to, struct ptx_operand from) {
  if (from.kind == PTX_OPERAND_REG && from.reg.bits == to.bits) return;
  emit2(l, PTX_MOV, PTX_MODS(ptx_class_type(ptx_reg_class(to))), ptx_r(to), from);
}

struct ptx_operand emit_in_reg(struct lower *l, struct ptx_operand v, const struct part *p) {
  if (v.kind == PTX_OPERAND_REG) return v;
  struct ptx_reg r = emit_new_reg(l, p);
  emit_copy(l, r, v);
  return ptx_r(r);
}

void emit_branch(struct lower *l, uint32_t label) {
  emit1(l, PTX_BRA, PTX_MODS(PTX_MOD_UNI), ptx_label(label));
}

void emit_branch_if(struct lower *l, struct ptx_operand condition, bool negated, uint32_t label) {
  struct ptx_operand target = ptx_label(label);
  ptx_add_guarded(l->pf, condition.reg, negated, PTX_BRA, NULL, &target, 1);
}

uint32_t emit_new_label(struct lower *l) { return ptx_new_label(l->pf, (struct nvm_str){0}); }

/* --- extension -------------------------------------------------------------------------------- */

/* Sign-extends within the container: cvt has .s8 and .s16; other widths shift up and down. */
static struct ptx_operand sext_in_container(struct lower *l, struct ptx_operand v,
                                            const struct part *p) {
  if (p->bits == 8) return emit_convert(l, part_signed_mod(p), PTX_MOD_S8, v);
  struct ptx_operand distance = ptx_i((int64_t)(p->container - p->bits));
  v = emit_binary(l, PTX_SHL, part_bits_mod(p), v, distance);
  return emit_binary(l, PTX_SHR, part_signed_mod(p), v, distance);
}

void emit_note_above(struct lower *l, struct ptx_reg r, enum byte_above above) {
  uint32_t number = ptx_reg_number(r);
  if (l->selection[l->inst.index].is_shared) return;
  if (!VEC_RESERVE(&l->function_arena, &l->above, number + 1)) return;
  while (l->above.count <= number) l->above.data[l->above.count++] = ABOVE_ANY;
  l->above.data[number] = (unsigned char)above;
}

bool emit_has_above(const struct lower *l, struct ptx_operand v, enum byte_above above) {
  if (v.kind == PTX_OPERAND_INT)
    return above == ABOVE_ZERO ? v.imm >= 0 && v.imm <= UINT8_MAX
                               : v.imm >= INT8_MIN && v.imm <= INT8_MAX;
  uint32_t number = ptx_reg_number(v.reg);
  return v.kind == PTX_OPERAND_REG && ptx_reg_class(v.reg) == PTX_B16 && number < l->above.count &&
         l->above.data[number] == above;
}

struct ptx_operand emit_extend(struct lower *l, struct ptx_operand v, const struct part *p,
                               uint32_t bits, bool is_signed) {
  uint64_t mask = evalint_mask(p->bits);
  if (v.kind == PTX_OPERAND_INT)
    return ptx_i(is_signed ? evalint_sext(p->bits, (uint64_t)v.imm & mask)
                           : (int64_t)((uint64_t)v.imm & mask));
  if (p->kind == PART_I1)
    return emit_select(l, mod_bits(bits), ptx_i(is_signed ? -1 : 1), ptx_i(0), v);
  bool extended = p->bits == 8 && emit_has_above(l, v, is_signed ? ABOVE_SIGN : ABOVE_ZERO);
  if (p->bits < p->container && !extended)
    v = is_signed ? sext_in_container(l, v, p)
                  : emit_binary(l, PTX_AND, part_bits_mod(p), v, ptx_i((int64_t)mask));
  if (bits <= p->container) return v;
  return is_signed ? emit_convert(l, mod_signed(bits), part_signed_mod(p), v)
                   : emit_convert(l, mod_unsigned(bits), part_unsigned_mod(p), v);
}

struct ptx_operand emit_narrow(struct lower *l, struct ptx_operand v, uint32_t from, uint32_t to) {
  return from <= to ? v : emit_convert(l, mod_unsigned(to), mod_unsigned(from), v);
}

struct ptx_operand emit_pred_to_int(struct lower *l, struct ptx_operand pred, uint32_t bits) {
  return emit_select(l, mod_unsigned(bits), ptx_i(1), ptx_i(0), pred);
}

struct ptx_operand emit_int_to_pred(struct lower *l, struct ptx_operand value, uint32_t bits) {
  if (value.kind == PTX_OPERAND_INT)
    return emit_unary(l, PTX_MOV, PTX_MOD_PRED, ptx_i(value.imm & 1));
  struct ptx_operand low = emit_binary(l, PTX_AND, mod_bits(bits), value, ptx_i(1));
  return emit_compare(l, PTX_MOD_NE, mod_bits(bits), low, ptx_i(0));
}

/* --- packing ---------------------------------------------------------------------------------- */

struct ptx_operand emit_group(struct lower *l, uint16_t type, struct ptx_operand a,
                              struct ptx_operand b) {
  struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, (struct ptx_operand[]){a, b}, 2);
  return emit_unary(l, PTX_MOV, type, vector);
}

void emit_ungroup(struct lower *l, uint16_t type, struct ptx_operand from, struct ptx_operand a,
                  struct ptx_operand b) {
  emit2(l, PTX_MOV, PTX_MODS(type),
        ptx_group(l->pf, PTX_OPERAND_VECTOR, (struct ptx_operand[]){a, b}, 2), from);
}

/* The elements of a packing mov must be registers. */
struct ptx_operand emit_pack_pair(struct lower *l, struct ptx_operand low,
                                  struct ptx_operand high) {
  static const struct part lane = {.kind = PART_INT, .bits = 16, .container = 16};
  low = emit_in_reg(l, low, &lane);
  high = emit_in_reg(l, high, &lane);
  return emit_group(l, PTX_MOD_B32, low, high);
}

void emit_unpack_pair(struct lower *l, struct ptx_operand pair, struct ptx_operand lanes[2]) {
  for (int k = 0; k < 2; k++) lanes[k] = ptx_r(emit_temp(l, PTX_B16));
  emit_ungroup(l, PTX_MOD_B32, pair, lanes[0], lanes[1]);
}

void emit_pair_by_lanes(struct lower *l, const struct part *p, struct ptx_reg to,
                        const struct ptx_operand *v, uint32_t count, lane_function *lane,
                        const void *how) {
  struct part scalar = {.kind = PART_INT, .bits = 16, .container = 16};
  struct ptx_operand in[3][2], result[2];
  if (p->kind != PART_PAIR_I16) scalar.kind = p->kind == PART_PAIR_HALF ? PART_HALF : PART_BFLOAT;
  for (uint32_t j = 0; j < count; j++) {
    for (int k = 0; k < 2; k++) in[j][k] = ptx_i((int16_t)(v[j].imm >> 16 * k));
    if (v[j].kind != PTX_OPERAND_INT) emit_unpack_pair(l, v[j], in[j]);
  }
  for (int k = 0; k < 2; k++) {
    struct ptx_operand each[3] = {in[0][k], in[count > 1][k], in[count - 1][k]};
    result[k] = ptx_r(emit_temp(l, PTX_B16));
    lane(l, &scalar, result[k].reg, each, how);
  }
  emit_copy(l, to, emit_pack_pair(l, result[0], result[1]));
}

/* The order in which prmt takes `count` bytes, from `first` on, and copies of their sign. */
static uint32_t order_of_signed_bytes(uint32_t first, uint32_t count) {
  enum { SIGN_OF = 8 };
  uint32_t order = 0;
  for (uint32_t k = 0; k < 4; k++)
    order |= (k < count ? first + k : SIGN_OF | (first + count - 1)) << 4 * k;
  return order;
}

void emit_signed_field(struct lower *l, struct ptx_operand to, struct ptx_operand word,
                       uint32_t first, uint32_t bits, bool makes_floats) {
  bool is_bytes = first % 8 == 0 && bits % 8 == 0, is_highest = first + bits == 32,
       is_converted = makes_floats && is_bytes && bits == 8;
  if (first == 0 || is_converted || !(is_bytes || is_highest))
    emit4(l, PTX_BFE, PTX_MODS(PTX_MOD_S32), to, word, ptx_i(first), ptx_i(bits));
  else if (is_highest) emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S32), to, word, ptx_i(first));
  else
    emit4(l, PTX_PRMT, PTX_MODS(PTX_MOD_B32), to, word, ptx_i(0),
          ptx_i(order_of_signed_bytes(first / 8, bits / 8)));
}
