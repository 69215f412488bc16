/* Casts, lane by lane. */
#include "codegen/lower.h"

static uint16_t int_type(uint32_t container, bool is_signed) {
  if (container == 16) return is_signed ? PTX_MOD_S16 : PTX_MOD_U16;
  if (container == 32) return is_signed ? PTX_MOD_S32 : PTX_MOD_U32;
  return is_signed ? PTX_MOD_S64 : PTX_MOD_U64;
}

static const struct part part_f32 = {.kind = PART_FLOAT, .bits = 32, .container = 32};
static const struct part part_i32 = {.kind = PART_INT, .bits = 32, .container = 32};
static const struct part part_i64 = {.kind = PART_INT, .bits = 64, .container = 64};

/* One lane of a cast: its types as parts, one or two of each. */
struct cast {
  struct lower *l;
  enum op op;
  const struct part *from, *to;
  uint32_t from_count, to_count;
  uint32_t from_bits, to_bits; /* whole widths of integers */
  const struct ptx_operand *source;
  struct ptx_reg target[2];
};

/* --- integer to integer ----------------------------------------------------------------------- */

static struct ptx_operand narrow_to(struct lower *l, struct ptx_operand v, uint32_t from,
                                    uint32_t to) {
  if (from <= to) return v;
  struct ptx_reg r = lower_temp(l, to == 16 ? PTX_B16 : PTX_B32);
  emit2(l, PTX_CVT, PTX_MODS(int_type(to, false), int_type(from, false)), ptx_r(r), v);
  return ptx_r(r);
}

static void cast_trunc(struct cast *c) {
  if (c->to->kind == PART_I1) {
    struct ptx_reg p = lower_int_to_pred(c->l, c->source[0], c->from->container);
    lower_copy(c->l, c->target[0], ptx_r(p));
    return;
  }
  lower_copy(c->l, c->target[0], narrow_to(c->l, c->source[0], c->from->container, c->to->container));
  if (c->to_count == 2) lower_copy(c->l, c->target[1], c->source[1]);
}

/* An integer lane extended to `container` bits (low part). */
static struct ptx_operand extended_low(struct cast *c, uint32_t container, bool is_signed) {
  struct lower *l = c->l;
  if (c->from->kind != PART_I1)
    return is_signed && c->from_count == 1 ? lower_sext_part(l, c->source[0], c->from, container)
                                           : lower_zext_part(l, c->source[0], c->from, container);
  struct part p = {.kind = PART_INT, .bits = (uint8_t)container, .container = (uint8_t)container};
  struct ptx_reg r = lower_new_reg(l, &p);
  emit4(l, PTX_SELP, PTX_MODS(part_bits_mod(&p)), ptx_r(r), ptx_i(is_signed ? -1 : 1), ptx_i(0),
        c->source[0]);
  return ptx_r(r);
}

static void cast_extend(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  struct ptx_operand low = extended_low(c, c->to->container, is_signed);
  lower_copy(l, c->target[0], low);
  if (c->to_count == 1) return;
  if (c->from_count == 2) { /* i100 → i128: only the high part changes */
    struct part high = c->from[1];
    lower_copy(l, c->target[1], is_signed ? lower_sext_part(l, c->source[1], &high, 64)
                                          : lower_zext_part(l, c->source[1], &high, 64));
  } else if (is_signed) {
    emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_S64), ptx_r(c->target[1]), ptx_r(c->target[0]), ptx_i(63));
  } else {
    lower_copy(l, c->target[1], ptx_i(0));
  }
}

/* --- float to float --------------------------------------------------------------------------- */

struct ptx_reg lower_round_to_odd(struct lower *l, struct ptx_operand v) {
  struct ptx_reg cut = lower_temp(l, PTX_F32), back = lower_temp(l, PTX_F64);
  struct ptx_reg inexact = lower_temp(l, PTX_PRED), bit = lower_temp(l, PTX_B32);
  struct ptx_reg bits = lower_temp(l, PTX_B32), odd = lower_temp(l, PTX_B32);
  struct ptx_reg result = lower_temp(l, PTX_F32);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZ, PTX_MOD_F32, PTX_MOD_F64), ptx_r(cut), v);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_F64, PTX_MOD_F32), ptx_r(back), ptx_r(cut));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_F64), ptx_r(inexact), ptx_r(back), v);
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B32), ptx_r(bit), ptx_i(1), ptx_i(0), ptx_r(inexact));
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(bits), ptx_r(cut));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B32), ptx_r(odd), ptx_r(bits), ptx_r(bit));
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(result), ptx_r(odd));
  return result;
}

static void cast_fptrunc(struct cast *c) {
  struct lower *l = c->l;
  bool is_double = c->from->kind == PART_DOUBLE;
  if (c->to->kind == PART_FLOAT) {
    const uint16_t *mods = l->ftz ? PTX_MODS(PTX_MOD_RN, PTX_MOD_FTZ, PTX_MOD_F32, PTX_MOD_F64)
                                  : PTX_MODS(PTX_MOD_RN, PTX_MOD_F32, PTX_MOD_F64);
    emit2(l, PTX_CVT, mods, ptx_r(c->target[0]), c->source[0]);
  } else if (is_double && c->to->kind == PART_HALF) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F16, PTX_MOD_F64), ptx_r(c->target[0]),
          c->source[0]);
  } else {
    struct ptx_operand v = is_double ? ptx_r(lower_round_to_odd(l, c->source[0])) : c->source[0];
    lower_from_f32(l, c->to, c->target[0], v);
  }
}

static void cast_fpext(struct cast *c) {
  struct lower *l = c->l;
  struct ptx_operand v = c->source[0];
  if (c->from->kind == PART_HALF && c->to->kind == PART_DOUBLE) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_F64, PTX_MOD_F16), ptx_r(c->target[0]), v);
    return;
  }
  if (c->from->kind != PART_FLOAT) v = ptx_r(lower_to_f32(l, c->from, v));
  if (c->to->kind == PART_FLOAT) lower_copy(l, c->target[0], v);
  else if (l->ftz && c->from->kind == PART_FLOAT)
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_FTZ, PTX_MOD_F64, PTX_MOD_F32), ptx_r(c->target[0]), v);
  else emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_F64, PTX_MOD_F32), ptx_r(c->target[0]), v);
}

/* --- float to integer and back ---------------------------------------------------------------- */

static void cast_float_to_int(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  struct ptx_operand v = c->source[0];
  const struct part *from = c->from;
  if (from->kind == PART_BFLOAT || (from->kind == PART_HALF && c->to_count == 2)) {
    v = ptx_r(lower_to_f32(l, from, v));
    from = &part_f32;
  }
  if (c->to_count == 2) {
    lower_float_to_wide(l, is_signed, from->kind == PART_DOUBLE, c->target, v);
    return;
  }
  bool to_i1 = c->to->kind == PART_I1;
  const struct part *to = to_i1 ? &part_i32 : c->to;
  struct ptx_reg r = to_i1 ? lower_temp(l, PTX_B32) : c->target[0];
  uint16_t type = int_type(to->container, is_signed), source = part_float_mod(from);
  const uint16_t *mods = l->ftz && from->kind == PART_FLOAT
                             ? PTX_MODS(PTX_MOD_RZI, PTX_MOD_FTZ, type, source)
                             : PTX_MODS(PTX_MOD_RZI, type, source);
  emit2(l, PTX_CVT, mods, ptx_r(r), v);
  if (to_i1) /* 0 or ±1; anything else was out of range, hence poison */
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B32), ptx_r(c->target[0]), ptx_r(r), ptx_i(0));
}

/* 64-bit integer → float towards zero, lowest bit set if inexact (see lower_round_to_odd). */
struct ptx_reg lower_int64_to_odd_f32(struct lower *l, struct ptx_operand v, bool is_signed) {
  uint16_t type = int_type(64, is_signed);
  struct ptx_reg cut = lower_temp(l, PTX_F32), back = lower_temp(l, PTX_B64);
  struct ptx_reg inexact = lower_temp(l, PTX_PRED), bit = lower_temp(l, PTX_B32);
  struct ptx_reg bits = lower_temp(l, PTX_B32), odd = lower_temp(l, PTX_B32);
  struct ptx_reg result = lower_temp(l, PTX_F32);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZ, PTX_MOD_F32, type), ptx_r(cut), v);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RZI, type, PTX_MOD_F32), ptx_r(back), ptx_r(cut));
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B64), ptx_r(inexact), ptx_r(back), v);
  emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B32), ptx_r(bit), ptx_i(1), ptx_i(0), ptx_r(inexact));
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(bits), ptx_r(cut));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B32), ptx_r(odd), ptx_r(bits), ptx_r(bit));
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(result), ptx_r(odd));
  return result;
}

/* Integers to bfloat go through a float rounded to odd, for rounding twice could be wrong. */
static void int_to_bfloat(struct cast *c, struct ptx_operand v, uint32_t container,
                          bool is_signed) {
  struct lower *l = c->l;
  if (container == 64) {
    lower_from_f32(l, c->to, c->target[0], ptx_r(lower_int64_to_odd_f32(l, v, is_signed)));
    return;
  }
  struct ptx_reg exact = lower_temp(l, PTX_F64);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F64, int_type(container, is_signed)), ptx_r(exact),
        v);
  lower_from_f32(l, c->to, c->target[0], ptx_r(lower_round_to_odd(l, ptx_r(exact))));
}

/* Halves and bfloats have no double: a float rounded to odd keeps what their rounding must know. */
static void wide_to_float(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  if (c->to->kind == PART_FLOAT || c->to->kind == PART_DOUBLE) {
    lower_wide_to_float(l, c->from_bits, is_signed, c->to->kind == PART_DOUBLE, false, c->target[0],
                        c->source);
    return;
  }
  struct ptx_reg odd = lower_temp(l, PTX_F32);
  lower_wide_to_float(l, c->from_bits, is_signed, false, true, odd, c->source);
  lower_from_f32(l, c->to, c->target[0], ptx_r(odd));
}

static void cast_int_to_float(struct cast *c, bool is_signed) {
  struct lower *l = c->l;
  if (c->from_count == 2) {
    wide_to_float(c, is_signed);
    return;
  }
  uint32_t container = c->from->kind == PART_I1 ? 32 : c->from->container;
  struct ptx_operand v = extended_low(c, container, is_signed);
  if (v.kind != PTX_OPERAND_REG) {
    struct ptx_reg r = lower_temp(l, container == 16 ? PTX_B16 : container == 32 ? PTX_B32 : PTX_B64);
    lower_copy(l, r, v);
    v = ptx_r(r);
  }
  if (c->to->kind == PART_BFLOAT) {
    int_to_bfloat(c, v, container, is_signed);
    return;
  }
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_RN, part_float_mod(c->to), int_type(container, is_signed)),
        ptx_r(c->target[0]), v);
}

/* --- pointers --------------------------------------------------------------------------------- */

static void cast_int_pointer(struct cast *c) {
  if (c->to->container >= c->from->container && c->to->bits >= c->from->bits && c->from_count == 1)
    cast_extend(c, false);
  else
    cast_trunc(c);
}

static struct ptx_operand convert_pointer_width(struct lower *l, struct ptx_operand v,
                                                uint32_t from, uint32_t to) {
  if (from == to) return v;
  struct ptx_reg r = lower_temp(l, to == 32 ? PTX_B32 : PTX_B64);
  emit2(l, PTX_CVT, PTX_MODS(int_type(to, false), int_type(from, false)), ptx_r(r), v);
  return ptx_r(r);
}

/* Through the generic space: the pointers of a specific one are offsets into its window. */
static void cast_address_space(struct cast *c, uint32_t from_space, uint32_t to_space) {
  struct lower *l = c->l;
  uint16_t from = space_mod(from_space), to = space_mod(to_space);
  uint32_t generic_bits = layout_pointer_bits(&l->module->layout, 0);
  uint16_t type = int_type(generic_bits, false);
  struct ptx_operand v = c->source[0];
  if (from != to && from != 0) {
    struct ptx_reg generic = lower_temp(l, generic_bits == 64 ? PTX_B64 : PTX_B32);
    v = convert_pointer_width(l, v, c->from->bits, generic_bits);
    emit2(l, PTX_CVTA, PTX_MODS(from, type), ptx_r(generic), v);
    v = ptx_r(generic);
  }
  if (from != to && to != 0) {
    struct ptx_reg specific = lower_temp(l, generic_bits == 64 ? PTX_B64 : PTX_B32);
    emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_TO, to, type), ptx_r(specific), v);
    v = convert_pointer_width(l, ptx_r(specific), generic_bits, c->to->bits);
  }
  lower_copy(l, c->target[0], v);
}

/* --- bitcast ---------------------------------------------------------------------------------- */

struct ptx_reg lower_part_to_bits(struct lower *l, const struct part *p, struct ptx_operand v) {
  struct ptx_reg r = lower_temp(l, PTX_B64);
  if (p->kind == PART_I1) return lower_pred_to_int(l, v, 64);
  if (p->kind == PART_INT) {
    lower_copy(l, r, lower_zext_part(l, v, p, 64));
  } else if (p->container == 64) {
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(r), v);
  } else if (p->container == 32) {
    struct ptx_reg word = lower_temp(l, PTX_B32);
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(word), v);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U64, PTX_MOD_U32), ptx_r(r), ptx_r(word));
  } else {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U64, PTX_MOD_U16), ptx_r(r), v);
  }
  return r;
}

void lower_bits_to_part(struct lower *l, const struct part *p, struct ptx_reg to,
                        struct ptx_operand bits) {
  if (p->kind == PART_I1) {
    lower_copy(l, to, ptx_r(lower_int_to_pred(l, bits, 64)));
    return;
  }
  struct ptx_operand v = narrow_to(l, bits, 64, p->container);
  uint16_t mod = p->container == 16 ? PTX_MOD_B16 : p->container == 32 ? PTX_MOD_B32 : PTX_MOD_B64;
  emit2(l, PTX_MOV, PTX_MODS(mod), ptx_r(to), v);
}

/* Whether the parts of two types hold the same bits one by one. */
static bool same_shape(const struct lower *l, struct type_parts a, struct type_parts b) {
  if (a.count != b.count) return false;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct part *x = lower_part(l, a, k), *y = lower_part(l, b, k);
    if (x->bits != y->bits || x->container != y->container) return false;
  }
  return true;
}

/* Any bitcast: the source's bits are gathered into 64-bit words, the target's parts cut out. */
static void bitcast_by_words(struct lower *l, struct nvm_value v, struct type_parts from,
                             struct type_parts to, const struct ptx_reg *target) {
  uint32_t total = 0;
  for (uint32_t k = 0; k < from.count; k++) total += lower_part(l, from, k)->bits;
  uint32_t word_count = (total + 63) / 64;
  struct ptx_reg *words = arena_alloc(&l->function_arena, (word_count + 2) * sizeof *words);
  if (!words) return;
  for (uint32_t w = 0; w < word_count; w++) {
    words[w] = lower_temp(l, PTX_B64);
    lower_copy(l, words[w], ptx_i(0));
  }
  for (uint32_t k = 0, at = 0; k < from.count; k++) {
    const struct part *p = lower_part(l, from, k);
    struct ptx_reg bits = lower_part_to_bits(l, p, lower_operand(l, v, k)), moved = bits;
    uint32_t shift = at % 64, w = at / 64;
    if (shift) {
      moved = lower_temp(l, PTX_B64);
      emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B64), ptx_r(moved), ptx_r(bits), ptx_i(shift));
    }
    emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(words[w]), ptx_r(words[w]), ptx_r(moved));
    if (shift + p->bits > 64) {
      struct ptx_reg over = lower_temp(l, PTX_B64);
      emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U64), ptx_r(over), ptx_r(bits), ptx_i(64 - (int)shift));
      emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(words[w + 1]), ptx_r(words[w + 1]), ptx_r(over));
    }
    at += p->bits;
  }
  for (uint32_t k = 0, at = 0; k < to.count; k++) {
    const struct part *p = lower_part(l, to, k);
    uint32_t shift = at % 64, w = at / 64;
    struct ptx_reg bits = words[w];
    if (shift) {
      bits = lower_temp(l, PTX_B64);
      emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U64), ptx_r(bits), ptx_r(words[w]), ptx_i(shift));
    }
    if (shift + p->bits > 64) {
      struct ptx_reg over = lower_temp(l, PTX_B64), joined = lower_temp(l, PTX_B64);
      emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B64), ptx_r(over), ptx_r(words[w + 1]),
            ptx_i(64 - (int)shift));
      emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(joined), ptx_r(bits), ptx_r(over));
      bits = joined;
    }
    lower_bits_to_part(l, p, target[k], ptx_r(bits));
    at += p->bits;
  }
}

/* A word's four bytes, each in a 16-bit register of its own, and back. Both with `prmt` over pairs. */
void lower_unpack_bytes(struct lower *l, struct ptx_operand word, const struct ptx_reg to[4]) {
  for (uint32_t half = 0; half < 2; half++) {
    struct ptx_reg pair = lower_temp(l, PTX_B32);
    struct ptx_operand two[2] = {ptx_r(to[2 * half]), ptx_r(to[2 * half + 1])};
    emit4(l, PTX_PRMT, PTX_MODS(PTX_MOD_B32), ptx_r(pair), word, ptx_i(0),
          ptx_i(half ? 0x4342 : 0x4140));
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_group(l->pf, PTX_OPERAND_VECTOR, two, 2),
          ptx_r(pair));
  }
}

void lower_pack_bytes(struct lower *l, struct ptx_reg to, const struct ptx_operand bytes[4]) {
  struct ptx_reg pairs[2];
  for (uint32_t half = 0; half < 2; half++) {
    struct ptx_operand two[2];
    for (uint32_t k = 0; k < 2; k++) {
      two[k] = bytes[2 * half + k];
      if (two[k].kind == PTX_OPERAND_REG) continue;
      struct ptx_reg r = lower_temp(l, PTX_B16);
      lower_copy(l, r, two[k]);
      two[k] = ptx_r(r);
    }
    pairs[half] = lower_temp(l, PTX_B32);
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B32), ptx_r(pairs[half]),
          ptx_group(l->pf, PTX_OPERAND_VECTOR, two, 2));
  }
  emit4(l, PTX_PRMT, PTX_MODS(PTX_MOD_B32), ptx_r(to), ptx_r(pairs[0]), ptx_r(pairs[1]),
        ptx_i(0x6420));
}

static bool all_parts_are(const struct lower *l, struct type_parts t, uint32_t bits) {
  for (uint32_t k = 0; k < t.count; k++)
    if (lower_part(l, t, k)->bits != bits || lower_part(l, t, k)->kind == PART_I1) return false;
  return true;
}

/* Registers' bits as 2 or 4 times as many smaller registers each, or the other way round: PTX's
 * packing mov, and permutations for bytes. */
static bool bitcast_by_mov(struct lower *l, struct nvm_value v, struct type_parts from,
                           struct type_parts to, const struct ptx_reg *target) {
  struct type_parts many = from.count > to.count ? from : to;
  struct type_parts few = from.count > to.count ? to : from;
  const struct part *small = lower_part(l, many, 0), *big = lower_part(l, few, 0);
  uint32_t ratio = many.count / few.count;
  bool bytes = small->bits == 8 && big->bits == 32, join = many.first == from.first;
  if (ratio * few.count != many.count || (ratio != 2 && ratio != 4) || big->bits != big->container ||
      (!bytes && small->bits != small->container) || small->bits * ratio != big->bits ||
      !all_parts_are(l, many, small->bits) || !all_parts_are(l, few, big->bits))
    return false;
  for (uint32_t w = 0; w < few.count; w++) {
    struct ptx_operand lanes[4];
    struct ptx_operand single = ptx_r(join ? target[w] : lower_reg(l, v, w));
    for (uint32_t k = 0; k < ratio; k++)
      lanes[k] = ptx_r(join ? lower_reg(l, v, w * ratio + k) : target[w * ratio + k]);
    struct ptx_reg word = lower_temp(l, PTX_B32);
    uint16_t mod = part_bits_mod(big);
    if (bytes && join) {
      lower_pack_bytes(l, word, lanes);
      emit2(l, PTX_MOV, PTX_MODS(mod), single, ptx_r(word));
    } else if (bytes) {
      emit2(l, PTX_MOV, PTX_MODS(mod), ptx_r(word), single);
      lower_unpack_bytes(l, ptx_r(word), target + w * ratio);
    } else {
      struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, lanes, ratio);
      emit2(l, PTX_MOV, PTX_MODS(mod), join ? single : vector, join ? vector : single);
    }
  }
  return true;
}

static void lower_bitcast(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  struct type_parts from = lower_type(l, value_type(l->f, v)), to = lower_type(l, i->type);
  const struct ptx_reg *target = lower_result(l, l->inst);
  if (same_shape(l, from, to)) {
    for (uint32_t k = 0; k < to.count; k++) {
      const struct part *p = lower_part(l, to, k);
      struct ptx_operand x = lower_operand(l, v, k);
      if (x.kind != PTX_OPERAND_REG) x = ptx_r(lower_reg(l, v, k));
      emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), ptx_r(target[k]), x);
    }
  } else if (from.count && to.count && !bitcast_by_mov(l, v, from, to, target)) {
    bitcast_by_words(l, v, from, to, target);
  }
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
  case OP_PTRTOINT: case OP_INTTOPTR: cast_int_pointer(c); break;
  case OP_ADDRSPACECAST: cast_address_space(c, from_space, to_space); break;
  default: break;
  }
}

static uint32_t space_of(const struct lower *l, struct nvm_type scalar) {
  const struct type_info *t = type_info(&l->module->types, scalar);
  return t->kind == TY_PTR ? t->width : 0;
}

void lower_cast(struct lower *l, const struct nvm_inst *i) {
  if (i->op == OP_BITCAST) {
    lower_bitcast(l, i);
    return;
  }
  struct lanes from = lower_split(l, inst_operand(l->f, i, 0));
  const struct ptx_reg *result = lower_result(l, l->inst);
  struct lanes to = lower_lane_targets(l, i->type, result);
  struct type_parts from_parts = lower_type(l, from.scalar), to_parts = lower_type(l, to.scalar);
  struct part source[2] = {part_i64, part_i64}, target[2] = {part_i64, part_i64};
  for (uint32_t j = 0; j < from.parts_each && j < 2; j++) source[j] = *lower_part(l, from_parts, j);
  for (uint32_t j = 0; j < to.parts_each && j < 2; j++) target[j] = *lower_part(l, to_parts, j);
  struct cast c = {.l = l, .op = (enum op)i->op, .from = source, .to = target,
                   .from_count = from.parts_each, .to_count = to.parts_each,
                   .from_bits = type_scalar_bits(&l->module->types, from.scalar),
                   .to_bits = type_scalar_bits(&l->module->types, to.scalar)};
  for (uint32_t k = 0; k < to.count; k++) {
    c.source = &from.at[k * from.parts_each];
    for (uint32_t j = 0; j < to.parts_each && j < 2; j++)
      c.target[j] = to.at[k * to.parts_each + j].reg;
    uint32_t begin = l->pf->entries.count, temps[PTX_CLASS_COUNT];
    memcpy(temps, l->pf->reg_count, sizeof temps);
    lower_cast_lane(&c, space_of(l, from.scalar), space_of(l, to.scalar));
    lower_tidy(l, begin, temps); /* later lanes would hide its copy from the caller */
  }
  lower_join(l, i->type, result, to);
}
