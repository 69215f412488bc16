/* Loads and stores of values of any type.
 *
 * A value is accessed part by part; adjacent parts of one size are one vector access if the known
 * alignment allows it (an access beyond the alignment traps). */
#include "codegen/inst.h"
#include "codegen/memory.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/select.h"
#include "codegen/value.h"
#include "target/cost.h"

enum {
  WIDEST_ACCESS = 16, /* bytes; 32 from sm_100 in .global */
  MAX_VECTOR = 8,
};

/* --- the modifiers of an access --------------------------------------------------------------- */

/* The type of one part in memory, as wide as its stored bytes. */
static uint16_t memory_type(const struct part *p) {
  if (p->kind == PART_FLOAT) return PTX_MOD_F32;
  if (p->kind == PART_DOUBLE) return PTX_MOD_F64;
  if (p->kind == PART_HALF || p->kind == PART_BFLOAT) return PTX_MOD_B16;
  switch (part_store_bytes(p)) {
    case 1: return PTX_MOD_U8;
    case 2: return PTX_MOD_U16;
    case 4: return PTX_MOD_U32;
    default: return PTX_MOD_U64;
  }
}

/* A load or a store. */
struct access {
  struct lower *l;
  struct address at;
  bool load;
  bool is_volatile;  /* has no effect in memory of the thread */
  bool invariant;    /* ld.global.nc */
  bool is_extended;  /* a load that extends: its registers are wider than the parts */
  bool makes_floats; /* a conversion to float reads it, or a lane of it */
  bool is_signed;    /* a load that copies the sign above its bits */
};

static uint16_t access_type(const struct access *a, const struct part *p) {
  return a->is_signed ? mod_signed(part_store_bytes(p) * 8) : memory_type(p);
}

/* `.volatile.global.v4.f32` */
static void emit_access(const struct access *a, int64_t offset, uint16_t type,
                        const struct ptx_operand *values, uint32_t count) {
  uint16_t space = a->at.space;
  bool observable = space == 0 || space == PTX_MOD_GLOBAL || space == PTX_MOD_SHARED;
  bool nc = a->invariant && space == PTX_MOD_GLOBAL && !a->is_volatile;
  struct emit_mod_list mods =
      emit_mods(PTX_MODS(a->is_volatile && observable ? PTX_MOD_VOLATILE : PTX_MOD_NONE, space,
                         nc ? PTX_MOD_NC : PTX_MOD_NONE, mod_vector(count), type),
                5);
  struct ptx_operand address = address_plus(a->at, offset).at;
  struct ptx_operand value =
      count == 1 ? values[0] : ptx_group(a->l->pf, PTX_OPERAND_VECTOR, values, count);
  if (a->load) emit2(a->l, PTX_LD, mods.words, value, address);
  else emit2(a->l, PTX_ST, mods.words, address, value);
}

/* In a register of `container` bits, zero-extended. */
static struct ptx_operand load_new(const struct access *a, int64_t offset, uint32_t bits,
                                   uint32_t container) {
  struct ptx_operand r = ptx_r(emit_temp(a->l, mod_class(mod_bits(container))));
  emit_access(a, offset, mod_unsigned(bits), &r, 1);
  return r;
}

/* --- single parts ----------------------------------------------------------------------------- */

static bool is_simple(const struct part *p) {
  return p->kind != PART_I1 && (p->bits == 8 || p->bits == 16 || p->bits == 32 || p->bits == 64);
}

/* Whether the part cannot be one access: not a power of two bytes, or not aligned. */
static bool needs_pieces(const struct access *a, uint32_t bytes, int64_t offset) {
  return (bytes & (bytes - 1)) || a->at.align < bytes || (uint64_t)offset % bytes;
}

/* The next piece of an integer: the largest power of two up to 4 that is aligned. */
static uint32_t piece_bytes(const struct access *a, uint32_t left, int64_t offset) {
  uint32_t n = left >= 4 ? 4 : left >= 2 ? 2 : 1;
  while (n > 1 && (a->at.align < n || (uint64_t)offset % n)) n /= 2;
  return n;
}

/* Joins the pieces of up to four bytes in a 32-bit register, zeros above. */
static struct ptx_operand load_word(const struct access *a, uint32_t bytes, int64_t offset) {
  if (piece_bytes(a, bytes, offset) == bytes) return load_new(a, offset, bytes * 8, 32);
  uint32_t half = bytes > 2 ? 2 : 1;
  struct ptx_operand low = load_word(a, half, offset),
                     high = load_word(a, bytes - half, offset + half);
  struct ptx_operand order = ptx_i(half == 2 ? 0x5410 : 0x5540);
  return emit_value(a->l, PTX_MOD_B32, PTX_PRMT, PTX_MODS(PTX_MOD_B32), PTX_OPS(low, high, order));
}

/* Joins the pieces of an integer in a register of its container. */
static struct ptx_operand load_pieces(const struct access *a, const struct part *p,
                                      int64_t offset) {
  uint32_t bytes = part_store_bytes(p);
  if (p->container == 32) return load_word(a, bytes, offset);
  if (p->container == 64 && bytes <= 4)
    return emit_convert(a->l, PTX_MOD_U64, PTX_MOD_U32, load_word(a, bytes, offset));
  if (p->container == 64) {
    struct ptx_operand low = load_word(a, 4, offset), high = load_word(a, bytes - 4, offset + 4);
    return emit_group(a->l, PTX_MOD_B64, low, high);
  }
  struct ptx_operand low = load_new(a, offset, 8, 16), high = load_new(a, offset + 1, 8, 16);
  high = emit_binary(a->l, PTX_SHL, PTX_MOD_B16, high, ptx_i(8));
  return emit_binary(a->l, PTX_OR, PTX_MOD_B16, high, low);
}

/* Bits above the width are stored as zeros. */
static void store_pieces(const struct access *a, const struct part *p, int64_t offset,
                         struct ptx_operand value) {
  uint32_t bytes = part_store_bytes(p);
  value = emit_zext(a->l, value, p, p->container);
  for (uint32_t done = 0, n; done < bytes; done += n) {
    n = piece_bytes(a, bytes - done, offset + done);
    struct ptx_operand low = value;
    if (value.kind != PTX_OPERAND_REG)
      low = ptx_i((int64_t)((uint64_t)value.imm >> (done * 8) & (UINT64_MAX >> (64 - n * 8))));
    else if (done)
      low = emit_binary(a->l, PTX_SHR, part_unsigned_mod(p), value, ptx_i((int64_t)done * 8));
    emit_access(a, offset + done, mod_unsigned(n * 8), &low, 1);
  }
}

static void load_part(const struct access *a, const struct part *p, int64_t offset,
                      struct ptx_operand to) {
  struct lower *l = a->l;
  if (p->kind == PART_I1) {
    emit_copy(l, to.reg, emit_int_to_pred(l, load_new(a, offset, 8, 16), 16));
  } else if (needs_pieces(a, part_store_bytes(p), offset)) {
    struct ptx_operand whole = load_pieces(a, p, offset);
    if (!part_is_full(p)) emit_copy(l, to.reg, whole);
    else emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), to, whole);
  } else {
    emit_access(a, offset, access_type(a, p), &to, 1);
  }
}

static void store_part(const struct access *a, const struct part *p, int64_t offset,
                       struct ptx_operand value) {
  struct lower *l = a->l;
  uint32_t bytes = part_store_bytes(p);
  if (p->kind == PART_I1) {
    value = emit_pred_to_int(l, value, 16);
    emit_access(a, offset, PTX_MOD_U8, &value, 1);
  } else if (needs_pieces(a, bytes, offset)) {
    bool moved = part_is_full(p);
    if (moved) value = emit_unary(l, PTX_MOV, part_bits_mod(p), value);
    store_pieces(a, p, offset, value);
  } else {
    if (p->bits < bytes * 8) value = emit_zext(l, value, p, p->container);
    emit_access(a, offset, memory_type(p), &value, 1);
  }
}

static void access_part(const struct access *a, const struct part *p, int64_t offset,
                        struct ptx_operand value) {
  if (a->load) load_part(a, p, offset, value);
  else store_part(a, p, offset, value);
}

/* --- parts of a type -------------------------------------------------------------------------- */

/* The largest power of two of at most n units of `bytes` that is aligned. */
static uint32_t aligned_count(const struct access *a, uint32_t n, uint32_t bytes, uint32_t offset) {
  while (n & (n - 1)) n &= n - 1;
  while (n > 1 && (a->at.align < n * bytes || offset % (n * bytes))) n /= 2;
  return n;
}

/* The number of parts from k on that can be one access: 1, 2, 4 or 8. PTX has no vectors of more
 * than four bytes: 8 or 16 of them are accessed as *words of 32 bits (else 0). */
static uint32_t run_length(const struct access *a, struct part_list parts, uint32_t k,
                           uint32_t *words) {
  const struct lower *l = a->l;
  const struct part *first = part_at(parts, k);
  *words = 0;
  if (!is_simple(first)) return 1;
  uint32_t bytes = part_store_bytes(first), n = 1;
  bool wide = a->at.space == PTX_MOD_GLOBAL && cost_widest_access_bits(l->target, 1) == 256;
  uint32_t most = wide ? 2 * WIDEST_ACCESS : WIDEST_ACCESS;
  if (bytes > 1) most = most / bytes < MAX_VECTOR ? most / bytes : MAX_VECTOR;
  if (bytes > 1 && (bytes < 4 || !wide) && most > 4) most = 4;
  while (n < most && k + n < parts.count) {
    const struct part *p = part_at(parts, k + n);
    if (!is_simple(p) || part_store_bytes(p) != bytes || part_class(p) != part_class(first) ||
        memory_type(p) != memory_type(first) || p->offset != first->offset + n * bytes)
      break;
    n++;
  }
  if (bytes == 1) {
    uint32_t count = aligned_count(a, n / 4, 4, first->offset);
    if (count > 1) *words = count;
    if (count > 1) return 4 * count;
    if (n > 4) n = 4;
  }
  return aligned_count(a, n, bytes, first->offset);
}

static void access_words(const struct access *a, int64_t offset, const struct ptx_operand *values,
                         uint32_t words) {
  struct ptx_operand run[MAX_VECTOR];
  for (uint32_t w = 0; w < words; w++) {
    run[w] = ptx_r(emit_temp(a->l, PTX_B32));
    if (!a->load) convert_pack_bytes(a->l, run[w].reg, values + 4 * w);
  }
  emit_access(a, offset, PTX_MOD_U32, run, words);
  for (uint32_t w = 0; w < words && a->load; w++)
    if (a->is_extended)
      convert_extend_bytes(a->l, run[w], values + 4 * w, a->is_signed, a->makes_floats);
    else convert_unpack_bytes(a->l, run[w], values + 4 * w);
}

static uint32_t access_align(const struct lower *l, struct nvm_type type,
                             struct memory_access how) {
  return layout_written_align(&l->module->layout, &l->module->types, type, how.align_log2);
}

/* Vectors whose elements are not whole bytes are packed by bits. */
static bool is_bit_vector(const struct lower *l, struct nvm_type type) {
  const struct type_table *t = &l->module->types;
  if (!type_is_vector(t, type)) return false;
  return layout_bits(&l->module->layout, t, type_info(t, type)->element) % 8 != 0;
}

static bool contains_bit_vector(const struct lower *l, struct nvm_type type) {
  const struct type_table *t = &l->module->types;
  if (is_bit_vector(l, type)) return true;
  if (layout_alloc_size(&l->module->layout, t, type) == 0) return false;
  if (type_kind(t, type) == TY_ARRAY) return contains_bit_vector(l, type_info(t, type)->element);
  if (type_kind(t, type) != TY_STRUCT) return false;
  for (uint32_t i = 0; i < type_info(t, type)->count; i++)
    if (contains_bit_vector(l, type_member(t, type, i))) return true;
  return false;
}

/* Loads the bytes of a bit vector one by one and extracts its lanes. */
static void load_bit_vector(const struct access *a, struct part_list parts, int64_t bytes,
                            int64_t offset, const struct ptx_operand *to) {
  struct lower *l = a->l;
  struct ptx_operand *loaded = arena_alloc(&l->function_arena, (size_t)bytes * sizeof *loaded);
  if (!loaded) return;
  for (int64_t b = 0; b < bytes; b++) loaded[b] = load_new(a, offset + b, 8, 64);
  int64_t at = 0;
  for (uint32_t k = 0; k < parts.count; k++) {
    const struct part *p = part_at(parts, k);
    struct ptx_operand sum = emit_in_reg(l, ptx_i(0), &part_i64);
    for (int64_t b = at / 8; b * 8 < at + p->bits && b * 8 - at < 64; b++)
      convert_or_shifted(l, sum, loaded[b], (int)(b * 8 - at));
    convert_from_bits(l, p, to[k].reg, sum);
    at += p->bits;
  }
}

static void store_bit_vector(const struct access *a, struct part_list parts, int64_t bytes,
                             int64_t offset, const struct ptx_operand *from) {
  struct lower *l = a->l;
  struct ptx_operand *lanes = arena_alloc(&l->function_arena, parts.count * sizeof *lanes);
  if (!lanes) return;
  for (uint32_t k = 0; k < parts.count; k++)
    lanes[k] = convert_to_bits(l, part_at(parts, k), from[k]);
  uint32_t k = 0;
  int64_t at = 0; /* bit where lane k begins */
  for (int64_t b = 0; b < bytes; b++) {
    struct ptx_operand sum = emit_in_reg(l, ptx_i(0), &part_i64);
    while (k < parts.count && at < (b + 1) * 8) {
      convert_or_shifted(l, sum, lanes[k], (int)(at - b * 8));
      if (at + part_at(parts, k)->bits > (b + 1) * 8) break; /* the rest is in the next byte */
      at += part_at(parts, k++)->bits;
    }
    struct ptx_operand byte = emit_narrow(l, sum, 64, 16);
    emit_access(a, offset + b, PTX_MOD_U8, &byte, 1);
  }
}

/* Accesses members recursively down to the bit vectors. */
static void access_with_bit_vectors(const struct access *a, struct nvm_type type, int64_t offset,
                                    const struct ptx_operand *values) {
  struct lower *l = a->l;
  const struct type_table *t = &l->module->types;
  struct part_list parts = part_list(l, type);
  if (is_bit_vector(l, type)) {
    int64_t bytes = (int64_t)layout_store_size(&l->module->layout, t, type);
    (a->load ? load_bit_vector : store_bit_vector)(a, parts, bytes, offset, values);
  } else if (type_is_aggregate(t, type) && parts.count != 0) {
    for (uint64_t i = 0; i < type_info(t, type)->count; i++)
      access_with_bit_vectors(
          a, type_element(t, type, i),
          offset + (int64_t)layout_element_offset(&l->module->layout, t, type, i),
          values + part_of_member(l, type, i).first);
  } else {
    for (uint32_t k = 0; k < parts.count; k++) {
      const struct part *p = part_at(parts, k);
      access_part(a, p, offset + p->offset, values[k]);
    }
  }
}

/* All parts of a value. */
static void access_value(struct access a, struct nvm_type type, const struct ptx_operand *values) {
  struct lower *l = a.l;
  if (contains_bit_vector(l, type)) {
    access_with_bit_vectors(&a, type, 0, values);
    return;
  }
  struct part_list parts = part_list(l, type);
  for (uint32_t k = 0, n; k < parts.count; k += n) {
    const struct part *p = part_at(parts, k);
    uint32_t words;
    n = run_length(&a, parts, k, &words);
    if (words) access_words(&a, p->offset, values + k, words);
    else if (n == 1) access_part(&a, p, p->offset, values[k]);
    else emit_access(&a, p->offset, access_type(&a, p), values + k, n);
  }
}

static void load_value(struct access a, struct nvm_type type, const struct ptx_reg *to) {
  enum { FEW = 16 };
  struct ptx_operand few[FEW], *values = few;
  uint32_t count = part_list(a.l, type).count;
  a.load = true;
  if (count > FEW) values = arena_alloc(&a.l->function_arena, count * sizeof *values);
  if (!values) return;
  for (uint32_t k = 0; k < count; k++) values[k] = ptx_r(to[k]);
  access_value(a, type, values);
}

void memory_load_parts(struct lower *l, struct nvm_type type, const struct ptx_reg *to,
                       struct address from, struct memory_access how) {
  from.align = access_align(l, type, how);
  load_value((struct access){.l = l, .at = from, .is_volatile = how.is_volatile}, type, to);
}

void memory_store_parts(struct lower *l, struct nvm_type type, const struct ptx_operand *from,
                        struct address to, struct memory_access how) {
  to.align = access_align(l, type, how);
  access_value((struct access){.l = l, .at = to, .is_volatile = how.is_volatile}, type, from);
}

void memory_lower_load(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  struct access a = {
      .l = l, .at = address_of(l, inst_operand(l->f, i, 0)), .is_volatile = how.is_volatile};
  a.at.align = access_align(l, i->type, how);
  uint32_t chain = l->f->attachments.data[l->inst.index];
  a.invariant = chain && module_attachment(l->module, chain, l->invariant_load).index != 0 &&
                emit_has(l, PTX_LD, PTX_MODS(PTX_MOD_GLOBAL, PTX_MOD_NC, PTX_MOD_U32));
  struct nvm_inst_id extension = select_extension(l, l->inst);
  a.is_extended = !inst_is_none(extension);
  a.makes_floats = a.is_extended && l->selection[extension.index].makes_floats;
  a.is_signed = a.is_extended ? function_inst(l->f, extension)->op == OP_SEXT
                              : l->selection[l->inst.index].is_signed;
  const struct ptx_reg *to = value_result(l, l->inst);
  load_value(a, i->type, to);
  struct part_list parts = part_list(l, i->type);
  for (uint32_t k = 0; k < parts.count && !a.is_extended; k++)
    if (part_at(parts, k)->kind == PART_INT && part_at(parts, k)->bits == 8)
      emit_note_above(l, to[k], a.is_signed ? ABOVE_SIGN : ABOVE_ZERO);
}

void memory_lower_store(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  struct address at = address_of(l, inst_operand(l->f, i, 1));
  if (at.space == PTX_MOD_CONST || at.space == PTX_MOD_PARAM) {
    report_refuse(l, "a store to constant or parameter memory", "these are read-only");
    return;
  }
  const struct ptx_operand *parts = value_operands(l, select_operand(l, i, 0));
  if (parts) memory_store_parts(l, value_type(l->f, inst_operand(l->f, i, 0)), parts, at, how);
}
