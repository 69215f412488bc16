/* Casts, lane by lane. */
#include "analysis/known_bits.h"
#include "codegen/inst.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "codegen/value.h"

/* One lane of a cast: its types as parts, one or two of each. */
struct cast {
  struct lower *l;
  enum op op;
  const struct part *from, *to;
  uint32_t from_count, to_count;
  uint32_t from_bits; /* whole width of an integer */
  bool is_bit;        /* to i1, of a register that holds 0 or 1 */
  const struct ptx_operand *source;
  const struct ptx_operand *target;
};

/* --- integer to integer ----------------------------------------------------------------------- */

static void cast_trunc(struct cast *c) {
  bool to_i1 = c->to->kind == PART_I1;
  if (c->is_bit) {
    emit3(c->l, PTX_SETP, PTX_MODS(PTX_MOD_NE, mod_bits(c->from->container)), c->target[0],
          c->source[0], ptx_i(0));
    return;
  }
  emit_copy(c->l, c->target[0].reg,
            to_i1 ? emit_int_to_pred(c->l, c->source[0], c->from->container)
                  : emit_narrow(c->l, c->source[0], c->from->container, c->to->container));
  if (c->to_count == 2) emit_copy(c->l, c->target[1].reg, c->source[1]);
}

/* An integer lane extended to `container` bits (low part). */
static struct ptx_operand extended_low(struct cast *c, uint32_t container, bool is_signed) {
  return emit_extend(c->l, c->source[0], c->from, container, is_signed && c->from_count == 1);
}

static void cast_extend(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  emit_copy(l, c->target[0].reg, extended_low(c, c->to->container, is_signed));
  if (c->to_count == 1) return;
  if (c->from_count == 2) /* i100 → i128: only the high part changes */
    emit_copy(l, c->target[1].reg, emit_extend(l, c->source[1], &c->from[1], 64, is_signed));
  else if (is_signed)
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), c->target[1], c->target[0], ptx_i(63));
  else emit_copy(l, c->target[1].reg, ptx_i(0));
}

/* --- float to float --------------------------------------------------------------------------- */

static void cast_fptrunc(struct cast *c) {
  struct lower *l = c->l;
  bool is_double = c->from->kind == PART_DOUBLE;
  if (c->to->kind == PART_FLOAT) {
    uint16_t ftz = float_ftz(l, PTX_MOD_F32);
    emit2(l, PTX_CVT, EMIT_MODS(PTX_MOD_RN, ftz, PTX_MOD_F32, PTX_MOD_F64), c->target[0],
          c->source[0]);
  } else if (is_double && c->to->kind == PART_HALF) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F16, PTX_MOD_F64), c->target[0], c->source[0]);
  } else {
    struct ptx_operand v = is_double ? float_round_to_odd(l, c->source[0]) : c->source[0];
    float_from_f32(l, c->to, c->target[0].reg, v);
  }
}

static void cast_fpext(struct cast *c) {
  struct lower *l = c->l;
  struct ptx_operand v = c->source[0];
  if (c->from->kind == PART_HALF && c->to->kind == PART_DOUBLE) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_F64, PTX_MOD_F16), c->target[0], v);
    return;
  }
  uint16_t ftz = c->from->kind == PART_FLOAT ? float_ftz(l, PTX_MOD_F32) : PTX_MOD_NONE;
  if (c->from->kind != PART_FLOAT) v = float_to_f32(l, c->from, v);
  if (c->to->kind == PART_FLOAT) emit_copy(l, c->target[0].reg, v);
  else emit2(l, PTX_CVT, EMIT_MODS(ftz, PTX_MOD_F64, PTX_MOD_F32), c->target[0], v);
}

/* --- float to integer and back ---------------------------------------------------------------- */

static void cast_float_to_int(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  struct ptx_operand v = c->source[0];
  const struct part *from = c->from;
  if (from->kind == PART_BFLOAT || (from->kind == PART_HALF && c->to_count == 2)) {
    v = float_to_f32(l, from, v);
    from = &part_f32;
  }
  if (c->to_count == 2) {
    wide_from_float(l, is_signed, from->kind == PART_DOUBLE, c->target, v);
    return;
  }
  bool to_i1 = c->to->kind == PART_I1;
  const struct part *to = to_i1 ? &part_i32 : c->to;
  struct ptx_operand r = to_i1 ? ptx_r(emit_temp(l, PTX_B32)) : c->target[0];
  uint16_t type = is_signed ? part_signed_mod(to) : part_unsigned_mod(to);
  uint16_t source = part_float_mod(from);
  /* What does not fit a byte is poison. */
  if (to->bits == 8) emit_note_above(l, r.reg, is_signed ? ABOVE_SIGN : ABOVE_ZERO);
  emit2(l, PTX_CVT, EMIT_MODS(PTX_MOD_RZI, float_ftz(l, source), type, source), r, v);
  if (to_i1) /* 0 or ±1; other values are poison */
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B32), c->target[0], r, ptx_i(0));
}

/* To half and bfloat through a float rounded to odd, which can be rounded once more. */
static void cast_wide_to_float(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  bool small = !part_is_full(c->to);
  struct ptx_reg to = small ? emit_temp(l, PTX_F32) : c->target[0].reg;
  wide_to_float(l, c->from_bits, is_signed, c->to->kind == PART_DOUBLE, small, to, c->source);
  if (small) float_from_f32(l, c->to, c->target[0].reg, ptx_r(to));
}

/* To bfloat, where the target does not convert to it, through a float rounded to odd: rounding to
 * nearest twice could be wrong. */
static void cast_int_to_float(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  if (c->from_count == 2) {
    cast_wide_to_float(c, is_signed);
    return;
  }
  /* Of a byte, cvt reads the low 8 bits of the 16-bit register, but not to bfloat. */
  bool is_byte = c->from->kind == PART_INT && c->from->bits == 8 && c->to->kind != PART_BFLOAT;
  uint32_t bits = c->from->kind == PART_I1 ? 32 : c->from->container;
  const struct part whole = {.kind = PART_INT, .bits = (uint8_t)bits, .container = (uint8_t)bits};
  uint32_t read = is_byte ? 8 : bits;
  uint16_t type = is_signed ? mod_signed(read) : mod_unsigned(read);
  struct ptx_operand v =
      emit_in_reg(l, is_byte ? c->source[0] : extended_low(c, bits, is_signed), &whole);
  if (c->to->kind != PART_BFLOAT || part_is_legal(l, c->to)) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, part_float_mod(c->to), type), c->target[0], v);
  } else if (bits == 64) {
    float_from_f32(l, c->to, c->target[0].reg, float_from_int64_to_odd(l, v, is_signed));
  } else {
    v = emit_value(l, PTX_MOD_F64, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F64, type), &v, 1);
    float_from_f32(l, c->to, c->target[0].reg, float_round_to_odd(l, v));
  }
}

/* --- pointers --------------------------------------------------------------------------------- */

static void cast_int_pointer(struct cast *c) {
  if (c->to->container >= c->from->container && c->to->bits >= c->from->bits && c->from_count == 1)
    cast_extend(c, false);
  else cast_trunc(c);
}

static struct ptx_operand pointer_width(struct lower *l, struct ptx_operand v, uint32_t from,
                                        uint32_t to) {
  return from == to ? v : emit_convert(l, mod_unsigned(to), mod_unsigned(from), v);
}

/* Through the generic space: pointers of specific spaces are offsets into a window of it. */
void convert_space(struct lower *l, uint32_t from_space, uint32_t to_space, struct ptx_reg target,
                   struct ptx_operand v) {
  const struct nvm_layout *layout = &l->module->layout;
  uint16_t from = mod_space(from_space), to = mod_space(to_space);
  uint32_t bits = layout_pointer_bits(layout, 0);
  uint16_t type = mod_unsigned(bits);
  if (from != to)
    v = emit_in_reg(l, v, layout_pointer_bits(layout, from_space) == 64 ? &part_i64 : &part_i32);
  if (from != to && from != 0) {
    v = pointer_width(l, v, layout_pointer_bits(layout, from_space), bits);
    v = emit_value(l, type, PTX_CVTA, PTX_MODS(from, type), &v, 1);
  }
  if (from != to && to != 0) {
    v = emit_value(l, type, PTX_CVTA, PTX_MODS(PTX_MOD_TO, to, type), &v, 1);
    v = pointer_width(l, v, bits, layout_pointer_bits(layout, to_space));
  }
  emit_copy(l, target, v);
}

/* --- bitcast ---------------------------------------------------------------------------------- */

struct ptx_operand convert_to_bits(struct lower *l, const struct part *p, struct ptx_operand v) {
  struct ptx_reg r = emit_temp(l, PTX_B64);
  if (p->kind == PART_I1) return emit_pred_to_int(l, v, 64);
  if (p->kind == PART_INT) {
    emit_copy(l, r, emit_zext(l, v, p, 64));
  } else if (p->container == 64) {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(r), v);
  } else {
    if (p->container == 32) v = emit_unary(l, PTX_MOV, PTX_MOD_B32, v);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U64, part_unsigned_mod(p)), ptx_r(r), v);
  }
  return ptx_r(r);
}

void convert_from_bits(struct lower *l, const struct part *p, struct ptx_reg to,
                       struct ptx_operand bits) {
  if (p->kind == PART_I1) emit_copy(l, to, emit_int_to_pred(l, bits, 64));
  else
    emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), ptx_r(to),
          emit_narrow(l, bits, 64, p->container));
}

/* Whether the parts of two types have the same sizes. */
static bool same_shape(struct part_list a, struct part_list b) {
  if (a.count != b.count) return false;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct part *x = part_at(a, k), *y = part_at(b, k);
    if (x->bits != y->bits || x->container != y->container) return false;
  }
  return true;
}

void convert_or_shifted(struct lower *l, struct ptx_operand word, struct ptx_operand bits, int by) {
  if (by > 0) bits = emit_binary(l, PTX_SHL, PTX_MOD_B64, bits, ptx_i(by));
  if (by < 0) bits = emit_binary(l, PTX_SHR, PTX_MOD_U64, bits, ptx_i(-by));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), word, word, bits);
}

/* Any bitcast: gathers the source's bits in 64-bit words and extracts the target's parts. */
static void bitcast_by_words(struct lower *l, struct part_list from, const struct ptx_reg *source,
                             struct part_list to, const struct ptx_reg *target) {
  int total = 0;
  for (uint32_t k = 0; k < from.count; k++) total += part_at(from, k)->bits;
  int word_count = (total + 63) / 64;
  struct ptx_operand *words =
      arena_alloc(&l->function_arena, ((size_t)word_count + 2) * sizeof *words);
  if (!words) return;
  for (int w = 0; w < word_count; w++) {
    words[w] = ptx_r(emit_temp(l, PTX_B64));
    emit_copy(l, words[w].reg, ptx_i(0));
  }
  for (int k = 0, at = 0; k < (int)from.count; k++) {
    const struct part *p = part_at(from, (uint32_t)k);
    struct ptx_operand bits = convert_to_bits(l, p, ptx_r(source[k]));
    convert_or_shifted(l, words[at / 64], bits, at % 64);
    if (at % 64 + p->bits > 64) convert_or_shifted(l, words[at / 64 + 1], bits, at % 64 - 64);
    at += p->bits;
  }
  for (int k = 0, at = 0; k < (int)to.count; k++) {
    const struct part *p = part_at(to, (uint32_t)k);
    struct ptx_operand bits = words[at / 64];
    if (at % 64) bits = emit_binary(l, PTX_SHR, PTX_MOD_U64, bits, ptx_i(at % 64));
    if (at % 64 + p->bits > 64) {
      struct ptx_operand over =
          emit_binary(l, PTX_SHL, PTX_MOD_B64, words[at / 64 + 1], ptx_i(64 - at % 64));
      bits = emit_binary(l, PTX_OR, PTX_MOD_B64, bits, over);
    }
    convert_from_bits(l, p, target[k], bits);
    at += p->bits;
  }
}

void convert_unpack_bytes(struct lower *l, struct ptx_operand word,
                          const struct ptx_operand to[4]) {
  for (uint32_t half = 0; half < 2; half++) {
    struct ptx_operand pair = emit_value(l, PTX_MOD_B32, PTX_PRMT, PTX_MODS(PTX_MOD_B32),
                                         PTX_OPS(word, ptx_i(0), ptx_i(half ? 0x4342 : 0x4140)));
    emit_ungroup(l, PTX_MOD_B32, pair, to[2 * half], to[2 * half + 1]);
    for (uint32_t k = 0; k < 2; k++) emit_note_above(l, to[2 * half + k].reg, ABOVE_ZERO);
  }
}

void convert_extend_bytes(struct lower *l, struct ptx_operand word, const struct ptx_operand to[4],
                          bool is_signed, bool makes_floats) {
  for (uint32_t k = 0; k < 4; k++)
    if (is_signed) emit_signed_field(l, to[k], word, 8 * k, 8, makes_floats);
    else emit4(l, PTX_BFE, PTX_MODS(PTX_MOD_U32), to[k], word, ptx_i(8 * k), ptx_i(8));
}

void convert_pack_bytes(struct lower *l, struct ptx_reg to, const struct ptx_operand bytes[4]) {
  struct ptx_operand low = emit_pack_pair(l, bytes[0], bytes[1]);
  struct ptx_operand high = emit_pack_pair(l, bytes[2], bytes[3]);
  emit4(l, PTX_PRMT, PTX_MODS(PTX_MOD_B32), ptx_r(to), low, high, ptx_i(0x6420));
}

/* Packs two bytes into a 16-bit register, or unpacks them. */
static void two_bytes(struct lower *l, struct ptx_operand both, const struct ptx_operand bytes[2],
                      bool join) {
  if (join) {
    struct ptx_operand low = emit_binary(l, PTX_AND, PTX_MOD_B16, bytes[0], ptx_i(255));
    struct ptx_operand high = emit_binary(l, PTX_SHL, PTX_MOD_B16, bytes[1], ptx_i(8));
    emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B16), both, low, high);
  } else {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B16), bytes[0], both);
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U16), bytes[1], both, ptx_i(8));
  }
}

static bool all_parts_are(struct part_list t, uint32_t bits) {
  for (uint32_t k = 0; k < t.count; k++)
    if (part_at(t, k)->bits != bits || part_at(t, k)->kind == PART_I1) return false;
  return true;
}

/* Each register as 2 or 4 smaller ones or the reverse, by packing movs, and permutations for bytes.
 */
static bool bitcast_by_mov(struct lower *l, struct part_list from, const struct ptx_reg *source,
                           struct part_list to, const struct ptx_reg *target) {
  struct part_list many = from.count > to.count ? from : to;
  struct part_list few = from.count > to.count ? to : from;
  const struct part *small = part_at(many, 0), *big = part_at(few, 0);
  uint32_t ratio = many.count / few.count;
  bool bytes = small->bits == 8 && big->bits <= 32, join = many.at == from.at;
  if (ratio * few.count != many.count || (ratio != 2 && ratio != 4) ||
      big->bits != big->container || (!bytes && small->bits != small->container) ||
      small->bits * ratio != big->bits || !all_parts_are(many, small->bits) ||
      !all_parts_are(few, big->bits))
    return false;
  for (uint32_t w = 0; w < few.count; w++) {
    struct ptx_operand lanes[4];
    struct ptx_operand single = ptx_r(join ? target[w] : source[w]);
    for (uint32_t k = 0; k < ratio; k++)
      lanes[k] = ptx_r(join ? source[w * ratio + k] : target[w * ratio + k]);
    struct ptx_reg word = emit_temp(l, PTX_B32);
    uint16_t mod = part_bits_mod(big);
    if (bytes && ratio == 2) {
      two_bytes(l, single, lanes, join);
    } else if (bytes && join) {
      convert_pack_bytes(l, word, lanes);
      emit2(l, PTX_MOV, PTX_MODS(mod), single, ptx_r(word));
    } else if (bytes) {
      emit2(l, PTX_MOV, PTX_MODS(mod), ptx_r(word), single);
      convert_unpack_bytes(l, ptx_r(word), lanes);
    } else {
      struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, lanes, ratio);
      emit2(l, PTX_MOV, PTX_MODS(mod), join ? single : vector, join ? vector : single);
    }
  }
  return true;
}

void convert_bits(struct lower *l, struct nvm_type from_type, const struct ptx_reg *source,
                  struct nvm_type to_type, const struct ptx_reg *target) {
  struct part_list from = part_list(l, from_type), to = part_list(l, to_type);
  if (!source) return;
  if (same_shape(from, to)) {
    for (uint32_t k = 0; k < to.count; k++) {
      const struct part *p = part_at(to, k);
      emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), ptx_r(target[k]), ptx_r(source[k]));
    }
  } else if (from.count && to.count && !bitcast_by_mov(l, from, source, to, target)) {
    bitcast_by_words(l, from, source, to, target);
  }
}

static void lower_bitcast(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  struct nvm_type type = value_type(l->f, v);
  const struct ptx_reg *result = value_result(l, l->inst);
  convert_bits(l, type, value_regs(l, v), i->type, result);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static void lower_cast_lane(struct cast *c, uint32_t from_space, uint32_t to_space) {
  switch (c->op) {
    case OP_TRUNC: cast_trunc(c); break;
    case OP_ZEXT: cast_extend(c, false); break;
    case OP_SEXT: cast_extend(c, true); break;
    case OP_FPTRUNC: cast_fptrunc(c); break;
    case OP_FPEXT: cast_fpext(c); break;
    case OP_FPTOUI: cast_float_to_int(c, false); break;
    case OP_FPTOSI: cast_float_to_int(c, true); break;
    case OP_UITOFP: cast_int_to_float(c, false); break;
    case OP_SITOFP: cast_int_to_float(c, true); break;
    case OP_PTRTOINT:
    case OP_INTTOPTR: cast_int_pointer(c); break;
    case OP_ADDRSPACECAST:
      convert_space(c->l, from_space, to_space, c->target[0].reg, c->source[0]);
      break;
    default: break;
  }
}

/* The operand of a trunc that has folded a right shift by half the width or more: the high half of
 * `value`, shifted by the rest. It is in `target` if no shift is left and the classes agree. */
static struct ptx_operand shifted_high_half(struct lower *l, const struct nvm_inst *shift,
                                            struct ptx_operand value, struct ptx_operand target) {
  bool is_word = type_equal(shift->type, TYPE_I64);
  enum ptx_class class = is_word ? PTX_B32 : PTX_B16;
  nvm_u128 amount = 0;
  (void)const_is_int(l->module, inst_operand(l->f, shift, 1), &amount);
  bool is_whole = (!is_word || amount == 32) && ptx_reg_class(target.reg) == class;
  struct ptx_operand low = ptx_r(emit_temp(l, class));
  struct ptx_operand high = is_whole ? target : ptx_r(emit_temp(l, class));
  emit_ungroup(l, is_word ? PTX_MOD_B64 : PTX_MOD_B32, value, low, high);
  if (!is_word || amount == 32) return high;
  struct ptx_operand operands[2] = {high, ptx_i((int64_t)amount - 32)};
  uint16_t type = shift->op == OP_ASHR ? PTX_MOD_S32 : PTX_MOD_U32;
  return emit_value(l, PTX_MOD_B32, PTX_SHR, PTX_MODS(type), operands, 2);
}

static uint32_t space_of(const struct lower *l, struct nvm_type scalar) {
  const struct type_info *t = type_info(&l->module->types, scalar);
  return t->kind == TY_PTR ? t->width : 0;
}

/* Whether i truncates a number whose register holds 0 or 1 to i1. */
static bool is_bit(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  if (i->op != OP_TRUNC || !type_equal(i->type, TYPE_I1) || value_kind(v) != VALUE_INST ||
      l->target->optimization_level == 0)
    return false;
  const struct part *p = part_at(part_list(l, value_type(l->f, v)), 0);
  return known_bits_most(known_bits_of(l->f, v)) == 1 &&
         (p->bits == p->container || value_inst_of(l->f, v, OP_LOAD));
}

void convert_lower(struct lower *l, const struct nvm_inst *i) {
  if (i->op == OP_BITCAST) {
    lower_bitcast(l, i);
    return;
  }
  if (int_lower_field(l, i)) return;
  struct nvm_value read = select_operand(l, i, 0), whole = inst_operand(l->f, i, 0);
  struct lanes from = lane_split(l, read);
  const struct ptx_reg *result = value_result(l, l->inst);
  struct lanes to = lane_targets(l, i->type, result);
  struct part_list from_parts = part_list(l, from.scalar), to_parts = part_list(l, to.scalar);
  struct part source[2] = {part_i64, part_i64}, target[2] = {part_i64, part_i64};
  for (uint32_t j = 0; j < from.parts_each && j < 2; j++) source[j] = *part_at(from_parts, j);
  for (uint32_t j = 0; j < to.parts_each && j < 2; j++) target[j] = *part_at(to_parts, j);
  if (!value_equal(read, whole)) {
    from.at[0] = shifted_high_half(l, value_inst(l->f, whole), from.at[0], to.at[0]);
    source[0] = source[0].container == 64 ? part_i32 : part_i16;
  }
  struct cast c = {.l = l,
                   .op = (enum op)i->op,
                   .from = source,
                   .to = target,
                   .from_count = from.parts_each,
                   .to_count = to.parts_each,
                   .from_bits = type_scalar_bits(&l->module->types, from.scalar),
                   .is_bit = is_bit(l, i)};
  for (uint32_t k = 0; k < to.count; k++) {
    c.source = &from.at[k * from.parts_each];
    c.target = &to.at[k * to.parts_each];
    uint32_t begin = l->pf->entries.count, temps[PTX_CLASS_COUNT];
    memcpy(temps, l->pf->reg_count, sizeof temps);
    lower_cast_lane(&c, space_of(l, from.scalar), space_of(l, to.scalar));
    tidy_copies(l, begin, temps); /* later lanes would hide its copy from the caller */
  }
  lane_join(l, i->type, result, to);
}
