/* Loads and stores of values of any type, and the block operations memcpy, memmove and memset.
 *
 * A value is accessed part by part; runs of neighbouring parts of one size become one vector access
 * where the known alignment allows it (a wider access at a smaller alignment would trap). */
#include "codegen/lower.h"

#include "target/cost.h"

enum {
  WIDEST_ACCESS = 16,       /* bytes; 32 from sm_100 in .global */
  MAX_VECTOR = 8,
};

/* --- the modifiers of an access ---------------------------------------------------------------- */

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

static uint16_t vector_mod(uint32_t count) {
  return count == 2 ? PTX_MOD_V2 : count == 4 ? PTX_MOD_V4 : PTX_MOD_V8;
}

struct access {
  struct lower *l;
  struct address at;
  bool is_volatile;
  bool invariant; /* ld.global.nc */
  bool is_signed; /* a load that extends by the sign */
};

/* `.volatile.global.v4.f32`; volatile means nothing where no other thread can look. */
static void access_mods(const struct access *a, uint32_t count, uint16_t type, uint16_t mods[6]) {
  uint32_t n = 0;
  uint16_t space = a->at.space;
  bool observable = space == 0 || space == PTX_MOD_GLOBAL || space == PTX_MOD_SHARED;
  if (a->is_volatile && observable) mods[n++] = PTX_MOD_VOLATILE;
  if (space) mods[n++] = space;
  if (a->invariant && space == PTX_MOD_GLOBAL && !a->is_volatile) mods[n++] = PTX_MOD_NC;
  if (count > 1) mods[n++] = vector_mod(count);
  mods[n++] = type;
  mods[n] = PTX_MOD_NONE;
}

static void emit_access(const struct access *a, bool load, int64_t offset, uint16_t type,
                        struct ptx_operand *values, uint32_t count) {
  uint16_t mods[6];
  access_mods(a, count, type, mods);
  struct ptx_operand address = address_plus(a->at, offset).at;
  struct ptx_operand value =
      count == 1 ? values[0] : ptx_group(a->l->pf, PTX_OPERAND_VECTOR, values, count);
  if (load) emit2(a->l, PTX_LD, mods, value, address);
  else emit2(a->l, PTX_ST, mods, address, value);
}

/* --- single parts ----------------------------------------------------------------------------- */

static bool is_simple(const struct part *p) {
  return p->kind != PART_I1 &&
         (p->bits == 8 || p->bits == 16 || p->bits == 32 || p->bits == 64);
}

static const struct part byte_part = {.kind = PART_INT, .bits = 8, .container = 16};

/* Whether the part's bytes are no power of two, or lie where one access of their size would trap. */
static bool needs_pieces(const struct access *a, uint32_t bytes, int64_t offset) {
  return (bytes & (bytes - 1)) || a->at.align < bytes || (uint64_t)offset % bytes;
}

/* The integer that holds the part's bits. */
static struct part bits_part(const struct part *p) {
  return (struct part){.kind = PART_INT, .bits = p->bits, .container = p->container};
}

/* Pieces of an integer: the largest powers of two up to 4. */
static uint32_t piece_bytes(uint32_t left) { return left >= 4 ? 4 : left >= 2 ? 2 : 1; }

static uint32_t aligned_piece(uint32_t left, const struct access *a, int64_t offset) {
  uint32_t n = piece_bytes(left);
  while (n > 1 && (a->at.align < n || (uint64_t)offset % n)) n /= 2;
  return n;
}

static struct part piece_part(uint32_t bytes) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bytes * 8),
                       .container = (uint8_t)(bytes == 4 ? 32 : 16)};
}

/* An integer put together from pieces in a register of its container. */
static void load_pieces(const struct access *a, const struct part *p, int64_t offset,
                        struct ptx_reg to) {
  struct lower *l = a->l;
  uint32_t bytes = part_store_bytes(p), c = p->container;
  uint16_t type = part_bits_mod(p);
  struct ptx_operand whole = ptx_i(0);
  for (uint32_t done = 0; done < bytes;) {
    uint32_t n = aligned_piece(bytes - done, a, offset + done);
    struct part piece = piece_part(n);
    struct ptx_reg r = lower_new_reg(l, &piece), joined = ptx_new_reg(l->pf, ptx_reg_class(to));
    struct ptx_operand value = ptx_r(r);
    emit_access(a, true, offset + done, memory_type(&piece), &value, 1);
    value = lower_zext_part(l, value, &piece, c);
    if (done) {
      struct ptx_reg up = ptx_new_reg(l->pf, ptx_reg_class(to));
      emit3(l, PTX_SHL, PTX_MODS(type), ptx_r(up), value, ptx_i((int64_t)done * 8));
      emit3(l, PTX_OR, PTX_MODS(type), ptx_r(joined), ptx_r(up), whole);
      value = ptx_r(joined);
    }
    whole = value;
    done += n;
  }
  lower_copy(l, to, whole);
}

static void store_pieces(const struct access *a, const struct part *p, int64_t offset,
                         struct ptx_operand value) {
  struct lower *l = a->l;
  uint32_t bytes = part_store_bytes(p), c = p->container;
  value = lower_zext_part(l, value, p, c); /* what lies above the width is stored as zero */
  for (uint32_t done = 0; done < bytes;) {
    uint32_t n = aligned_piece(bytes - done, a, offset + done);
    struct part piece = piece_part(n);
    struct ptx_operand low = value;
    if (value.kind != PTX_OPERAND_REG) {
      low = ptx_i((int64_t)((uint64_t)value.imm >> (done * 8) & (UINT64_MAX >> (64 - n * 8))));
    } else if (done) {
      struct ptx_reg down = ptx_new_reg(l->pf, ptx_reg_class(value.reg));
      emit3(l, PTX_SHR, PTX_MODS(part_unsigned_mod(p)), ptx_r(down), value, ptx_i((int64_t)done * 8));
      low = ptx_r(down);
    }
    emit_access(a, false, offset + done, memory_type(&piece), &low, 1);
    done += n;
  }
}

static uint16_t extending_type(const struct access *a, const struct part *p) {
  if (!a->is_signed) return memory_type(p);
  return part_store_bytes(p) == 1 ? PTX_MOD_S8 : PTX_MOD_S16;
}

static void load_part(const struct access *a, const struct part *p, int64_t offset,
                      struct ptx_reg to) {
  struct lower *l = a->l;
  if (p->kind == PART_I1) {
    struct ptx_operand byte = ptx_r(lower_new_reg(l, &byte_part));
    emit_access(a, true, offset, PTX_MOD_U8, &byte, 1);
    lower_copy(l, to, ptx_r(lower_int_to_pred(l, byte, 16)));
    return;
  }
  uint32_t bytes = part_store_bytes(p);
  if (needs_pieces(a, bytes, offset)) {
    struct part whole = bits_part(p);
    bool moved = p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
    struct ptx_reg r = moved ? lower_new_reg(l, &whole) : to;
    load_pieces(a, &whole, offset, r);
    if (moved) emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(&whole)), ptx_r(to), ptx_r(r));
    return;
  }
  struct ptx_operand value = ptx_r(to);
  emit_access(a, true, offset, extending_type(a, p), &value, 1);
}

static void store_part(const struct access *a, const struct part *p, int64_t offset,
                       struct ptx_operand value) {
  struct lower *l = a->l;
  if (p->kind == PART_I1) {
    value = ptx_r(lower_pred_to_int(l, value, 16));
    emit_access(a, false, offset, PTX_MOD_U8, &value, 1);
    return;
  }
  uint32_t bytes = part_store_bytes(p);
  if (needs_pieces(a, bytes, offset)) {
    struct part whole = bits_part(p);
    if (p->kind == PART_FLOAT || p->kind == PART_DOUBLE) {
      struct ptx_reg r = lower_new_reg(l, &whole);
      emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(&whole)), ptx_r(r), value);
      value = ptx_r(r);
    }
    store_pieces(a, &whole, offset, value);
    return;
  }
  if (p->bits < bytes * 8) value = lower_zext_part(l, value, p, p->container);
  emit_access(a, false, offset, memory_type(p), &value, 1);
}

/* --- parts of a type -------------------------------------------------------------------------- */

/* How many parts from k on can be one access: 1, 2, 4 or 8. */
static uint32_t run_length(const struct access *a, struct type_parts parts, uint32_t k) {
  const struct lower *l = a->l;
  const struct part *first = lower_part(l, parts, k);
  if (!is_simple(first)) return 1;
  uint32_t bytes = part_store_bytes(first), n = 1;
  bool wide = a->at.space == PTX_MOD_GLOBAL && bytes >= 4 &&
              cost_widest_access_bits(l->target, 1) == 256;
  uint32_t widest = wide ? 32 : WIDEST_ACCESS;
  uint32_t most = widest / bytes < MAX_VECTOR ? widest / bytes : MAX_VECTOR;
  if (!wide && most > 4) most = 4;
  while (n < most && k + n < parts.count) {
    const struct part *p = lower_part(l, parts, k + n);
    if (!is_simple(p) || part_store_bytes(p) != bytes || part_class(p) != part_class(first) ||
        memory_type(p) != memory_type(first) || p->offset != first->offset + n * bytes)
      break;
    n++;
  }
  while (n & (n - 1)) n &= n - 1;
  while (n > 1 && (a->at.align < n * bytes || first->offset % (n * bytes))) n /= 2;
  return n;
}

/* How many words of four bytes, from part k on, one access can move: 2 or 4 (8), 0 if none. PTX has
 * no vectors of more than four bytes, so they travel in 32-bit registers. */
static uint32_t byte_words(const struct access *a, struct type_parts parts, uint32_t k) {
  const struct lower *l = a->l;
  const struct part *first = lower_part(l, parts, k);
  bool wide = a->at.space == PTX_MOD_GLOBAL && cost_widest_access_bits(l->target, 1) == 256;
  uint32_t n = 0, most = wide ? MAX_VECTOR : WIDEST_ACCESS / 4;
  while (k + n < parts.count && n < most * 4) {
    const struct part *p = lower_part(l, parts, k + n);
    if (p->kind != PART_INT || p->bits != 8 || p->offset != first->offset + n) break;
    n++;
  }
  uint32_t words = n / 4;
  while (words & (words - 1)) words &= words - 1;
  while (words > 1 && (a->at.align < words * 4 || first->offset % (words * 4))) words /= 2;
  return words > 1 ? words : 0;
}

static void access_bytes(const struct access *a, const struct part *p, const struct ptx_reg *to,
                         const struct ptx_operand *from, uint32_t words) {
  struct ptx_operand run[MAX_VECTOR];
  for (uint32_t w = 0; w < words; w++) {
    struct ptx_reg word = lower_temp(a->l, PTX_B32);
    if (from) lower_pack_bytes(a->l, word, from + 4 * w);
    run[w] = ptx_r(word);
  }
  emit_access(a, to != NULL, p->offset, PTX_MOD_U32, run, words);
  for (uint32_t w = 0; w < words && to; w++) lower_unpack_bytes(a->l, run[w], to + 4 * w);
}

static uint32_t access_align(const struct lower *l, struct nvm_type type, struct memory_access how) {
  return how.align_log2 ? UINT32_C(1) << (how.align_log2 - 1)
                        : layout_align(&l->module->layout, &l->module->types, type);
}

/* Vectors whose elements are not whole bytes have them bit after bit. */
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

static uint64_t member_offset(const struct lower *l, struct nvm_type type, uint64_t i) {
  const struct type_table *t = &l->module->types;
  if (type_kind(t, type) == TY_STRUCT)
    return layout_member_offset(&l->module->layout, t, type, (uint32_t)i);
  return i * layout_alloc_size(&l->module->layout, t, type_info(t, type)->element);
}

/* The bytes of a bit vector are loaded one by one and its lanes cut out of them. */
static void load_bit_vector(const struct access *a, struct nvm_type type, int64_t offset,
                            const struct ptx_reg *to) {
  struct lower *l = a->l;
  struct type_parts parts = lower_type(l, type);
  uint64_t bytes = layout_store_size(&l->module->layout, &l->module->types, type);
  struct ptx_reg *loaded = arena_alloc(&l->function_arena, bytes * sizeof *loaded);
  if (!loaded) return;
  for (uint64_t b = 0; b < bytes; b++) {
    struct ptx_operand byte = ptx_r(lower_new_reg(l, &byte_part));
    emit_access(a, true, offset + (int64_t)b, PTX_MOD_U8, &byte, 1);
    loaded[b] = lower_part_to_bits(l, &byte_part, byte);
  }
  uint64_t at = 0;
  for (uint32_t k = 0; k < parts.count; k++) {
    const struct part *p = lower_part(l, parts, k);
    struct ptx_reg sum = lower_temp(l, PTX_B64);
    lower_copy(l, sum, ptx_i(0));
    for (uint64_t b = at / 8; b <= (at + p->bits - 1) / 8; b++) {
      int64_t shift = (int64_t)(b * 8) - (int64_t)at;
      if (shift >= 64) break;
      struct ptx_reg moved = lower_temp(l, PTX_B64);
      enum ptx_op op = shift < 0 ? PTX_SHR : PTX_SHL;
      emit3(l, op, PTX_MODS(shift < 0 ? PTX_MOD_U64 : PTX_MOD_B64), ptx_r(moved), ptx_r(loaded[b]),
            ptx_i(shift < 0 ? -shift : shift));
      emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(sum), ptx_r(sum), ptx_r(moved));
    }
    lower_bits_to_part(l, p, to[k], ptx_r(sum));
    at += p->bits;
  }
}

static void store_bit_vector(const struct access *a, struct nvm_type type, int64_t offset,
                             const struct ptx_operand *from) {
  struct lower *l = a->l;
  struct type_parts parts = lower_type(l, type);
  uint64_t bytes = layout_store_size(&l->module->layout, &l->module->types, type);
  struct ptx_reg *lanes = arena_alloc(&l->function_arena, parts.count * sizeof *lanes);
  if (!lanes) return;
  for (uint32_t k = 0; k < parts.count; k++)
    lanes[k] = lower_part_to_bits(l, lower_part(l, parts, k), from[k]);
  uint32_t k = 0;
  uint64_t at = 0; /* bit where lane k begins */
  for (uint64_t b = 0; b < bytes; b++) {
    struct ptx_reg sum = lower_temp(l, PTX_B64), byte = lower_temp(l, PTX_B16);
    lower_copy(l, sum, ptx_i(0));
    while (k < parts.count && at < (b + 1) * 8) {
      int64_t shift = (int64_t)at - (int64_t)(b * 8);
      uint32_t width = lower_part(l, parts, k)->bits;
      struct ptx_reg moved = lower_temp(l, PTX_B64);
      emit3(l, shift < 0 ? PTX_SHR : PTX_SHL, PTX_MODS(shift < 0 ? PTX_MOD_U64 : PTX_MOD_B64),
            ptx_r(moved), ptx_r(lanes[k]), ptx_i(shift < 0 ? -shift : shift));
      emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B64), ptx_r(sum), ptx_r(sum), ptx_r(moved));
      if (at + width > (b + 1) * 8) break; /* the next byte has the rest */
      at += width;
      k++;
    }
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U16, PTX_MOD_U64), ptx_r(byte), ptx_r(sum));
    struct ptx_operand value = ptx_r(byte);
    emit_access(a, false, offset + (int64_t)b, PTX_MOD_U8, &value, 1);
  }
}

/* Member by member, down to the bit vectors. Exactly one of `to` and `from` is not NULL. */
static void access_with_bit_vectors(const struct access *a, struct nvm_type type, int64_t offset,
                                    const struct ptx_reg *to, const struct ptx_operand *from) {
  struct lower *l = a->l;
  if (is_bit_vector(l, type)) {
    if (to) load_bit_vector(a, type, offset, to);
    else store_bit_vector(a, type, offset, from);
    return;
  }
  struct type_parts parts = lower_type(l, type);
  if (parts.count == 0) return;
  if (!type_is_aggregate(&l->module->types, type)) {
    for (uint32_t k = 0; k < parts.count; k++) {
      const struct part *p = lower_part(l, parts, k);
      if (to) load_part(a, p, offset + p->offset, to[k]);
      else store_part(a, p, offset + p->offset, from[k]);
    }
    return;
  }
  uint64_t members = type_info(&l->module->types, type)->count;
  for (uint64_t i = 0; i < members; i++) {
    struct type_parts m = lower_member_parts(l, type, i);
    uint32_t first = m.first - parts.first;
    access_with_bit_vectors(a, type_element(&l->module->types, type, i),
                            offset + (int64_t)member_offset(l, type, i), to ? to + first : NULL,
                            from ? from + first : NULL);
  }
}

/* All parts of a value. Exactly one of `to` and `from` is not NULL. */
static void access_value(struct access a, struct nvm_type type, const struct ptx_reg *to,
                         const struct ptx_operand *from) {
  struct lower *l = a.l;
  if (contains_bit_vector(l, type)) {
    access_with_bit_vectors(&a, type, 0, to, from);
    return;
  }
  struct type_parts parts = lower_type(l, type);
  for (uint32_t k = 0, n; k < parts.count; k += n) {
    const struct part *p = lower_part(l, parts, k);
    uint32_t words = byte_words(&a, parts, k);
    if (words) {
      access_bytes(&a, p, to ? to + k : NULL, from ? from + k : NULL, words);
      n = words * 4;
      continue;
    }
    n = run_length(&a, parts, k);
    if (n == 1) {
      if (to) load_part(&a, p, p->offset, to[k]);
      else store_part(&a, p, p->offset, from[k]);
      continue;
    }
    struct ptx_operand run[MAX_VECTOR];
    for (uint32_t j = 0; j < n; j++) run[j] = to ? ptx_r(to[k + j]) : from[k + j];
    emit_access(&a, to != NULL, p->offset, memory_type(p), run, n);
  }
}

void lower_load_parts(struct lower *l, struct nvm_type type, const struct ptx_reg *to,
                      struct address from, struct memory_access how) {
  from.align = access_align(l, type, how);
  access_value((struct access){l, from, how.is_volatile, false, false}, type, to, NULL);
}

void lower_store_parts(struct lower *l, struct nvm_type type, const struct ptx_operand *from,
                       struct address to, struct memory_access how) {
  to.align = access_align(l, type, how);
  access_value((struct access){l, to, how.is_volatile, false, false}, type, NULL, from);
}

bool lower_is_loaded_extended(const struct lower *l, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(l->f, id);
  if (i->op != OP_ZEXT && i->op != OP_SEXT) return false;
  struct nvm_value v = inst_operand(l->f, i, 0);
  uint32_t regs = l->inst_regs[id.index];
  return value_kind(v) == VALUE_INST && regs && l->inst_regs[value_index(v)] == regs;
}

void lower_share_load(struct lower *l, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(l->f, id);
  if (i->op != OP_LOAD || l->inst_regs[id.index]) return; /* those of a phi change */
  struct memory_access how = memory_access_unpack(i->aux);
  struct type_parts parts = lower_type(l, i->type);
  const struct part *p = parts.count == 1 ? lower_part(l, parts, 0) : NULL;
  if (!p || p->kind != PART_INT || (p->bits != 8 && p->bits != 16) || how.ordering != ORDER_NONE ||
      access_align(l, i->type, how) < p->bits / 8u)
    return;
  struct nvm_inst_id extension = {l->extension[id.index]};
  if (!inst_is_none(extension) && !l->inst_regs[extension.index]) {
    lower_result(l, extension);
    l->inst_regs[id.index] = l->inst_regs[extension.index];
  } else if (p->bits == 8) {
    uint32_t number = ptx_reg_number(lower_result(l, id)[0]);
    if (!VEC_RESERVE(&l->function_arena, &l->zero_above, number + 1)) return;
    while (l->zero_above.count <= number) l->zero_above.data[l->zero_above.count++] = false;
    l->zero_above.data[number] = true;
  }
}

void lower_load(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  if (how.ordering != ORDER_NONE) {
    lower_atomic_load(l, i);
    return;
  }
  struct address at = lower_address(l, inst_operand(l->f, i, 0));
  at.align = access_align(l, i->type, how);
  uint32_t chain = l->f->attachments.data[l->inst.index];
  struct nvm_str key = chain ? module_str(l->module, "invariant.load") : (struct nvm_str){0};
  bool invariant = chain && module_attachment(l->module, chain, key).index != 0 &&
                   lower_has(l, PTX_LD, PTX_MODS(PTX_MOD_GLOBAL, PTX_MOD_NC, PTX_MOD_U32));
  uint32_t extension = l->extension[l->inst.index];
  bool is_signed = extension && l->f->insts.data[extension].op == OP_SEXT &&
                   lower_is_loaded_extended(l, (struct nvm_inst_id){extension});
  access_value((struct access){l, at, how.is_volatile, invariant, is_signed}, i->type,
               lower_result(l, l->inst), NULL);
}

struct nvm_value lower_stored_value(const struct lower *l, const struct nvm_inst *store) {
  const struct type_table *t = &l->module->types;
  struct nvm_value v = inst_operand(l->f, store, 0);
  const struct nvm_inst *cut = value_kind(v) == VALUE_INST ? &l->f->insts.data[value_index(v)] : NULL;
  struct memory_access how = memory_access_unpack(store->aux);
  if (!cut || cut->op != OP_TRUNC || how.ordering != ORDER_NONE || type_is_vector(t, cut->type)) return v;
  struct nvm_value whole = inst_operand(l->f, cut, 0);
  uint64_t to = layout_bits(&l->module->layout, t, cut->type);
  uint64_t from = layout_bits(&l->module->layout, t, value_type(l->f, whole));
  bool fits = (to == 8 || to == 16 || to == 32) && from <= 64 && access_align(l, cut->type, how) * 8 >= to;
  return fits && value_kind(whole) != VALUE_CONST ? whole : v;
}

void lower_store(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  if (how.ordering != ORDER_NONE) {
    lower_atomic_store(l, i);
    return;
  }
  struct nvm_value v = lower_stored_value(l, i);
  struct nvm_type type = value_type(l->f, inst_operand(l->f, i, 0));
  struct address at = lower_address(l, inst_operand(l->f, i, 1));
  if (at.space == PTX_MOD_CONST || at.space == PTX_MOD_PARAM) {
    lower_refuse(l, "a store to constant or parameter memory", "these are read-only");
    return;
  }
  uint32_t count = lower_type(l, type).count;
  struct ptx_operand *parts = arena_alloc(&l->function_arena, (count + 1) * sizeof *parts);
  if (!parts) return;
  for (uint32_t k = 0; k < count; k++) parts[k] = lower_operand(l, v, k);
  lower_store_parts(l, type, parts, at, how);
}
