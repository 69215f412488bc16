/* sroa: splits variables of struct, array and vector type into scalars (scalar replacement of
 * aggregates).
 *
 * Purpose:   front ends put dim3, float4 and every struct into one alloca and copy them with
 *            llvm.memcpy, which mem2reg cannot promote. GPUs have hundreds of registers and slow
 *            local memory, so most of these variables should never be in memory.
 * Algorithm: after LLVM's SROA, simplified. All uses of an alloca are followed through addresses
 *            with constant offsets. A load or store is a slice [begin, end) of its bytes that
 *            cannot be cut; memcpy, memmove, memset and stores of undefined structs and arrays
 *            are slices that can. Uncut slices that overlap form a part, each part becomes a
 *            variable, and the other slices are cut at the borders of parts:
 *
 *                bytes      0       4       8      12      16
 *                load float |-------|
 *                store i64                  |---------------|
 *                memcpy     |-------------------------------|
 *                parts      | float |  i32  |      i64      |
 *
 *            A part has the type of its accesses; accesses of other types are cast. Elements of a
 *            vector are extracted and inserted. Bytes of an integer are shifted and masked, also
 *            those of a copy that ends within it. Other parts stay in memory, each as a variable.
 *            Bytes that are only copied have their declared type; parts that are never read are
 *            dropped. First, sroa_accesses.c splits loads and stores of structs and loads of one
 *            of two variables. The pass repeats until nothing changes: of two variables that are
 *            copied to each other, the one with accesses is split first, so that its parts
 *            determine the types of the other one.
 * Requires:  nothing; mem2reg promotes the parts.
 * Preserves: the control flow.
 * Cost:      n log n in the uses, times the parts of a variable, each round; variables of more
 *            than MAX_BYTES or SROA_MAX_PARTS are not split.
 * Omits:     addresses through phis of several entries, selects that are not only loaded from,
 *            variable indices except into an array of one element; lifetime markers of split
 *            variables are dropped.
 * Tests:     check/opt/sroa-*. */
#include <stdlib.h>

#include "ir/evalint.h"
#include "ir/gep.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/memory/copied_tags.h"
#include "opt/memory/sroa.h"
#include "opt/passes.h"

enum {
  MAX_BYTES = 1 << 16, /* of a variable */
  MAX_ROUNDS = 16,
  MAX_COPIED = 128 /* bytes of one that is only copied */
};

/* --- Facts --- */

uint64_t sroa_size(const struct splitter *s, struct nvm_type t) {
  return layout_store_size(&s->m->layout, &s->m->types, t);
}

bool sroa_is_in_variable(const struct splitter *s, struct nvm_value address) {
  struct nvm_value object = alias_underlying_object(s->f, address);
  return value_kind(object) == VALUE_INST && s->f->insts.data[value_index(object)].op == OP_ALLOCA;
}

/* --- New instructions --- */

/* v as another type of the same size. Pointers are cast through integers. */
static struct nvm_value cast(struct splitter *s, struct nvm_value v, struct nvm_type to) {
  struct type_table *t = &s->m->types;
  struct nvm_type from = value_type(s->f, v), word = type_int(t, (uint32_t)sroa_size(s, to) * 8);
  if (type_equal(from, to)) return v;
  if (type_is_ptr(t, from)) return cast(s, builder_unary(&s->b, OP_PTRTOINT, word, v), to);
  if (type_is_ptr(t, to)) return builder_unary(&s->b, OP_INTTOPTR, to, cast(s, v, word));
  return builder_unary(&s->b, OP_BITCAST, to, v);
}

uint32_t sroa_aligned(uint64_t align) {
  return memory_access_pack((struct memory_access){.align_log2 = (evalint_log2(align) + 1) & 63});
}

uint64_t sroa_align_at(uint64_t align, uint64_t offset) {
  uint64_t low = offset & (~offset + 1);
  return low && low < align ? low : align;
}

/* --- Slices --- */

static bool add_slice(struct splitter *s, struct nvm_inst_id i, enum slice_kind kind, int64_t begin,
                      uint64_t bytes, uint64_t size, struct nvm_type type) {
  if (begin < 0 || bytes > size || (uint64_t)begin > size - bytes) return false;
  if (bytes == 0) return false;
  struct slice slice = {(uint32_t)begin, (uint32_t)((uint64_t)begin + bytes), i, kind, type};
  if (kind == SLICE_LOAD || kind == SLICE_STORE) s->has_accesses = true;
  return VEC_PUSH(s->arena, &s->slices, slice);
}

/* A non-volatile memcpy, memmove or memset of constant length. */
static bool add_call(struct splitter *s, struct nvm_inst_id id, struct nvm_value pointer,
                     int64_t offset, uint64_t size) {
  const struct nvm_inst *i = function_inst(s->f, id);
  uint32_t what = call_intrinsic(s->f, i);
  nvm_u128 length;
  if (effects_is_lifetime_marker(s->f, i)) return VEC_PUSH(s->arena, &s->derived, id);
  bool copy = what == INTRINSIC_memcpy || what == INTRINSIC_memmove;
  if (!copy && what != INTRINSIC_memset) return false;
  if (!const_is_int(s->m, inst_operand(s->f, i, 2), &length) || length > size ||
      call_copy_is_volatile(s->f, i))
    return false;
  bool to = value_equal(inst_operand(s->f, i, 0), pointer);
  nvm_u128 byte;
  if (!copy && !const_is_int(s->m, inst_operand(s->f, i, 1), &byte)) return false;
  if (copy && s->addresses[id.index].seen == s->tries)
    return false; /* both ends are in this variable */
  s->addresses[id.index].seen = s->tries;
  enum slice_kind kind = !copy ? SLICE_SET : to ? SLICE_COPY_TO : SLICE_COPY_FROM;
  return add_slice(s, id, kind, offset, (uint64_t)length, size, TYPE_NONE);
}

/* Whether i computes an address from its first operand: a phi of one entry, as LCSSA form has at
 * the exits of loops, forwards it. */
static bool forwards_address(const struct nvm_inst *i) {
  return i->op == OP_GEP || i->op == OP_BITCAST || i->op == OP_ADDRSPACECAST ||
         (i->op == OP_PHI && i->operand_count == 2);
}

static bool collect_uses(struct splitter *s, struct nvm_value pointer, int64_t offset,
                         uint64_t size, uint32_t depth);

static bool add_use(struct splitter *s, struct nvm_inst_id id, struct nvm_value pointer,
                    int64_t offset, uint64_t size, uint32_t depth) {
  const struct nvm_inst *i = function_inst(s->f, id);
  int64_t more = 0;
  switch ((enum op)i->op) {
    case OP_LOAD:
      return effects_is_plain_access(i) &&
             add_slice(s, id, SLICE_LOAD, offset, sroa_size(s, i->type), size, i->type);
    case OP_STORE: {
      struct nvm_value v = inst_operand(s->f, i, 0);
      struct nvm_type type = value_type(s->f, v);
      enum type_kind kind = type_kind(&s->m->types, type);
      bool undefined = (kind == TY_STRUCT || kind == TY_ARRAY) && const_is_undef_or_poison(s->m, v);
      return effects_is_plain_access(i) && !value_equal(v, pointer) &&
             add_slice(s, id, undefined ? SLICE_UNDEF : SLICE_STORE, offset, sroa_size(s, type),
                       size, type);
    }
    case OP_CALL: return add_call(s, id, pointer, offset, size);
    case OP_GEP:
      if (!value_equal(inst_operand(s->f, i, 0), pointer) || !type_is_ptr(&s->m->types, i->type) ||
          !gep_offset_in_object(s->f, i, size, &more))
        return false;
      break;
    case OP_BITCAST:
    case OP_ADDRSPACECAST: break;
    case OP_PHI:
      if (!forwards_address(i)) return false;
      break;
    default: return false;
  }
  return VEC_PUSH(s->arena, &s->derived, id) &&
         collect_uses(s, value_of_inst(id), offset + more, size, depth + 1);
}

/* Collects all uses of an address. False if one is not supported. */
static bool collect_uses(struct splitter *s, struct nvm_value pointer, int64_t offset,
                         uint64_t size, uint32_t depth) {
  if (depth > 32) return false;
  uint32_t n = value_index(pointer), left = s->f->uses.data[n];
  for (uint32_t k = s->addresses[n].first; k; k = s->uses.data[k - 1].next) {
    struct nvm_inst_id user = s->uses.data[k - 1].user;
    if (function_inst(s->f, user)->block.index) left--;
    else if (s->addresses[user.index].seen > s->tries_before)
      return false; /* removed in this round, when the other variable was split */
    else continue;
    if (!add_use(s, user, pointer, offset, size, depth)) return false;
  }
  return left == 0;
}

/* --- Use lists of addresses --- */

/* Conservative test for an address in a candidate; looks at v and its first operand only. */
static bool may_be_address(const struct splitter *s, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(s->f, v);
  if (i && forwards_address(i)) i = value_inst(s->f, v = inst_operand(s->f, i, 0));
  return i && (i->op == OP_ALLOCA ? s->addresses[value_index(v)].wanted : forwards_address(i));
}

static void note_use(struct splitter *s, struct nvm_inst_id user, struct nvm_value v) {
  if (!may_be_address(s, v)) return;
  struct address_use use = {user, s->addresses[value_index(v)].first};
  s->failed |= !VEC_PUSH(s->arena, &s->uses, use);
  s->addresses[value_index(v)].first = s->uses.count;
}

/* Whether add_use() supports this instruction. */
static inline bool may_access(const struct nvm_inst *i) {
  return i->op == OP_LOAD || i->op == OP_STORE || i->op == OP_CALL || forwards_address(i);
}

/* Adds i to the use lists of the addresses among its operands. */
static void note_addresses(struct splitter *s, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  uint32_t count = forwards_address(i) ? 1 : i->operand_count; /* an index is not an address */
  for (uint32_t k = 0; k < count; k++) note_use(s, id, inst_operand(s->f, i, k));
}

/* Updates the use lists: in the first round from all instructions, later from the new and the moved
 * ones. */
static void update_uses(struct splitter *s, const inst_list *candidates) {
  uint32_t known = s->noted, count = s->f->insts.count;
  s->addresses = arena_grow(s->arena, s->addresses, known * sizeof *s->addresses,
                            count * sizeof *s->addresses);
  s->failed |= !s->addresses;
  for (uint32_t k = 0; k < candidates->count && !s->failed; k++)
    s->addresses[candidates->data[k].index].wanted = true;
  for (uint32_t k = known; k < count && !s->failed; k++)
    if (s->f->insts.data[k].block.index && may_access(&s->f->insts.data[k]))
      note_addresses(s, (struct nvm_inst_id){k});
  for (uint32_t k = 0; k < s->moved.count && !s->failed; k++) note_addresses(s, s->moved.data[k]);
  s->noted = count;
  s->moved.count = 0;
}

static void move_access(struct splitter *s, struct nvm_inst_id i, uint32_t operand,
                        struct nvm_value address) {
  inst_set_operand(s->f, i, operand, address);
  s->failed |= !VEC_PUSH(s->arena, &s->moved, i);
}

static void remove_user(struct splitter *s, struct nvm_inst_id i) {
  s->addresses[i.index].seen = s->tries;
  inst_remove(s->f, i);
}

/* --- Variables for parts --- */

/* Adds an alloca for the part, before the old one. */
static void make_variable(struct splitter *s, struct part *p) {
  const struct nvm_inst *old = function_inst(s->f, s->alloca);
  uint32_t align = alloca_align(s->f, old);
  struct nvm_type type = p->type, pointer = old->type;
  if (p->form == PART_MEMORY) {
    p->pad = p->begin % align;
    type = type_array(&s->m->types, TYPE_I8, p->pad + p->end - p->begin);
  } else {
    align = layout_align(&s->m->layout, &s->m->types, type);
  }
  struct nvm_value one = const_int(s->m, TYPE_I32, 1);
  p->variable = builder_add(&s->b, OP_ALLOCA, (uint16_t)(evalint_log2(align) + 1), pointer, &one, 1,
                            type.index);
}

/* --- Rewriting --- */

/* The first part that ends after `begin`. */
static struct part *part_at(struct splitter *s, uint32_t begin) {
  struct part *p = s->parts.data;
  while (p->end <= begin) p++;
  return p;
}

/* The element of a vector part that the slice covers. */
static uint32_t lane(const struct slice *c, const struct part *p) {
  return (c->begin - p->begin) / (c->end - c->begin);
}

static struct nvm_value load_part(struct splitter *s, const struct part *p) {
  return builder_load(&s->b, p->type, p->variable, 0);
}

static void store_part(struct splitter *s, const struct part *p, struct nvm_value v) {
  builder_store(&s->b, v, p->variable, 0);
}

/* The address of byte `begin` of a part in memory. */
static struct nvm_value place_in(struct splitter *s, const struct part *p, uint32_t begin) {
  return builder_offset(&s->b, p->variable, begin - p->begin + p->pad);
}

/* The bytes [c->begin, c->end) of the integer that the part is. */
static struct nvm_value load_bytes(struct splitter *s, const struct slice *c,
                                   const struct part *p) {
  struct nvm_type narrow = type_int(&s->m->types, (c->end - c->begin) * 8);
  struct nvm_value v = load_part(s, p), bits = const_int(s->m, p->type, (c->begin - p->begin) * 8);
  if (c->begin > p->begin) v = builder_binary(&s->b, OP_LSHR, v, bits);
  return type_equal(narrow, p->type) ? v : builder_unary(&s->b, OP_TRUNC, narrow, v);
}

static void store_bytes(struct splitter *s, const struct slice *c, const struct part *p,
                        struct nvm_value v) {
  uint32_t bits = (c->end - c->begin) * 8, from = (c->begin - p->begin) * 8;
  v = cast(s, v, type_int(&s->m->types, bits));
  v = builder_unary(&s->b, OP_ZEXT, p->type, v);
  if (from) v = builder_binary(&s->b, OP_SHL, v, const_int(s->m, p->type, from));
  nvm_u128 hole = ~((((nvm_u128)1 << bits) - 1) << from);
  struct nvm_value old = load_part(s, p),
                   kept = builder_binary(&s->b, OP_AND, old, const_int(s->m, p->type, hole));
  store_part(s, p, builder_binary(&s->b, OP_OR, kept, v));
}

static void rewrite_load(struct splitter *s, const struct slice *c, const struct part *p) {
  bool whole = c->begin == p->begin && c->end == p->end;
  if (p->form == PART_MEMORY) {
    move_access(s, c->inst, 0, place_in(s, p, c->begin));
  } else if (whole && type_equal(c->type, p->type)) {
    move_access(s, c->inst, 0, p->variable);
    function_inst(s->f, c->inst)->aux = 0;
  } else {
    struct nvm_value v = whole ? load_part(s, p)
                         : p->form == PART_VECTOR
                             ? builder_extract_lane(&s->b, load_part(s, p), lane(c, p))
                             : load_bytes(s, c, p);
    rewrite_set(&s->rewrite, c->inst, cast(s, v, c->type));
  }
}

static void rewrite_store(struct splitter *s, const struct slice *c, const struct part *p) {
  bool whole = c->begin == p->begin && c->end == p->end;
  struct nvm_value v = inst_operand_at(s->f, c->inst, 0);
  /* Poison in memory is poison of bytes; a part with other, defined bytes is none. */
  if (const_is_undef_or_poison(s->m, v)) v = const_undef(s->m, value_type(s->f, v));
  if (p->form == PART_MEMORY) {
    move_access(s, c->inst, 1, place_in(s, p, c->begin));
    return;
  }
  if (p->form == PART_VECTOR && !whole) {
    struct nvm_value element = cast(s, v, type_element(&s->m->types, p->type, 0));
    store_part(s, p, builder_insert_lane(&s->b, load_part(s, p), element, lane(c, p)));
  } else if (p->form != PART_DEAD) {
    if (whole) store_part(s, p, cast(s, v, p->type));
    else store_bytes(s, c, p, v);
  }
  remove_user(s, c->inst);
}

/* Copies `bytes` bytes between a part in memory and the other side. */
static void copy_memory(struct splitter *s, const struct slice *c, struct nvm_value mine,
                        struct nvm_value other, uint64_t bytes) {
  struct nvm_inst i = *function_inst(s->f, c->inst);
  struct call_site site = *call_site_of(s->f, &i);
  site.attributes = (struct nvm_attrlist){0};
  struct nvm_value operands[6];
  for (uint32_t k = 0; k < i.operand_count; k++) operands[k] = inst_operand(s->f, &i, k);
  struct nvm_type length = value_type(s->f, operands[2]);
  struct nvm_value *end = &operands[c->kind == SLICE_COPY_FROM ? 1 : 0];
  struct nvm_type pointer = value_type(s->f, *end);
  bool same_space = type_equal(pointer, value_type(s->f, mine));
  *end = same_space ? mine : builder_unary(&s->b, OP_ADDRSPACECAST, pointer, mine);
  if (c->kind != SLICE_SET) operands[c->kind == SLICE_COPY_FROM ? 0 : 1] = other;
  operands[2] = const_int(s->m, length, bytes);
  if (i.operand_count == 6) operands[3] = const_int(s->m, TYPE_I32, 1);
  builder_add(&s->b, OP_CALL, 0, TYPE_VOID, operands, i.operand_count,
              module_call_site(s->m, site));
}

/* The constant of the part's type with every byte equal to `byte`. */
static struct nvm_value splat_byte(struct splitter *s, const struct part *p, uint8_t byte) {
  if (byte == 0) return const_zero(s->m, p->type);
  nvm_u128 bits = 0;
  uint32_t bytes = p->end - p->begin;
  if (bytes > 16) return VALUE_NULL;
  for (uint32_t k = 0; k < bytes; k++) bits = bits << 8 | byte;
  return cast(s, const_int(s->m, type_int(&s->m->types, bytes * 8), bits), p->type);
}

/* The other side of a copy: the address that corresponds to bytes [begin, end) of the variable,
 * accessed as `how` says. */
struct other_side {
  const struct slice *copy;
  uint32_t begin, end;
  struct nvm_value address;
  uint32_t how;
};

static void tag_other(struct splitter *s, const struct other_side *o, struct nvm_value access) {
  uint32_t copy = s->f->attachments.data[o->copy->inst.index];
  copied_tags_attach(s->f, copy, access, o->begin - o->copy->begin, o->end - o->begin);
}

static struct nvm_value load_other(struct splitter *s, const struct other_side *o,
                                   struct nvm_type type) {
  struct nvm_value v = builder_load(&s->b, type, o->address, o->how);
  tag_other(s, o, v);
  return v;
}

static void store_other(struct splitter *s, const struct other_side *o, struct nvm_value v) {
  tag_other(s, o, builder_store(&s->b, v, o->address, o->how));
}

/* Some bytes of the integer that the part is. `byte` is what a memset stores. */
static void rewrite_bytes(struct splitter *s, const struct other_side *o, const struct part *p,
                          uint8_t byte) {
  struct slice bytes = {.begin = o->begin, .end = o->end, .kind = o->copy->kind};
  struct nvm_type type = type_int(&s->m->types, (bytes.end - bytes.begin) * 8);
  if (bytes.kind == SLICE_SET)
    store_bytes(s, &bytes, p, const_int(s->m, type, byte * UINT64_C(0x0101010101010101)));
  else if (bytes.kind == SLICE_COPY_TO) store_bytes(s, &bytes, p, load_other(s, o, type));
  else store_other(s, o, load_bytes(s, &bytes, p));
}

/* Rewrites the bytes of a cut slice that are in this part. */
static void rewrite_cut(struct splitter *s, const struct slice *c, const struct part *p) {
  const struct nvm_inst *i = function_inst(s->f, c->inst);
  uint32_t begin = overlap_begin(c, p), end = overlap_end(c, p);
  uint32_t side = c->kind == SLICE_COPY_TO ? 1 : 0;
  uint64_t align = call_copy_align(s->f, i, side);
  struct nvm_value other = inst_operand(s->f, i, side);
  bool set = c->kind == SLICE_SET;
  nvm_u128 byte = 0;
  if (p->form == PART_DEAD) return;
  if (set) const_is_int(s->m, inst_operand(s->f, i, 1), &byte);
  else other = builder_offset(&s->b, other, begin - c->begin);
  struct other_side o = {c, begin, end, other,
                         sroa_aligned(sroa_align_at(align, begin - c->begin))};
  if (p->form == PART_MEMORY) copy_memory(s, c, place_in(s, p, begin), other, end - begin);
  else if (!slice_covers(c, p)) rewrite_bytes(s, &o, p, (uint8_t)byte);
  else if (set) store_part(s, p, splat_byte(s, p, (uint8_t)byte));
  else if (c->kind == SLICE_COPY_TO) store_part(s, p, load_other(s, &o, p->type));
  else store_other(s, &o, load_part(s, p));
}

/* The values of the parts that the undefined bytes cover are undefined. */
static void rewrite_undefined(struct splitter *s, const struct slice *c) {
  for (uint32_t k = 0; k < s->parts.count; k++) {
    const struct part *p = &s->parts.data[k];
    if (p->form != PART_DEAD && p->form != PART_MEMORY && slice_covers(c, p))
      store_part(s, p, const_undef(s->m, p->type));
  }
  remove_user(s, c->inst);
}

static void rewrite_slice(struct splitter *s, const struct slice *c) {
  s->b = builder_replacing(s->f, c->inst);
  if (c->kind == SLICE_UNDEF) {
    rewrite_undefined(s, c);
    return;
  }
  struct part *p = part_at(s, c->begin);
  if (c->kind == SLICE_LOAD) {
    rewrite_load(s, c, p);
  } else if (c->kind == SLICE_STORE) {
    rewrite_store(s, c, p);
  } else {
    for (; p < s->parts.data + s->parts.count && p->begin < c->end; p++) rewrite_cut(s, c, p);
    remove_user(s, c->inst);
  }
}

/* --- A variable --- */

/* Whether splitting helps: a part leaves memory, and the variable is not yet a single scalar. */
static bool is_profitable(const struct splitter *s) {
  bool gain = false;
  for (uint32_t k = 0; k < s->parts.count; k++)
    gain |= s->parts.data[k].touched && s->parts.data[k].form != PART_MEMORY;
  const struct part *p = &s->parts.data[0];
  if (s->parts.count != 1 || p->form != PART_SCALAR) return gain;
  /* One scalar: mem2reg promotes it if all accesses are direct and have one type. */
  for (uint32_t k = 0; k < s->slices.count; k++)
    if (!slice_is_uncut(&s->slices.data[k]) || !type_equal(s->slices.data[k].type, p->type))
      return true;
  for (uint32_t k = 0; k < s->derived.count; k++)
    if (function_inst(s->f, s->derived.data[k])->op != OP_CALL) return true;
  return false;
}

/* False if a nonzero memset covers a part that is too large for a constant. */
static bool can_fill(const struct splitter *s) {
  for (uint32_t k = 0; k < s->slices.count; k++) {
    nvm_u128 byte = 0;
    const struct slice *c = &s->slices.data[k];
    if (c->kind != SLICE_SET) continue;
    const_is_int(s->m, inst_operand_at(s->f, c->inst, 1), &byte);
    for (uint32_t n = 0; byte && n < s->parts.count; n++)
      if (s->parts.data[n].end - s->parts.data[n].begin > 16) return false;
  }
  return true;
}

/* A variable that is only copied should be split after the variables it is copied to or from, whose
 * accesses determine the types of its parts. If it is never read, types do not matter. */
static bool should_postpone(const struct splitter *s) {
  bool read = false;
  for (uint32_t k = 0; k < s->slices.count; k++) read |= s->slices.data[k].kind == SLICE_COPY_FROM;
  if (!read) return false;
  for (uint32_t k = 0; !s->has_accesses && k < s->slices.count; k++) {
    const struct slice *c = &s->slices.data[k];
    const struct nvm_inst *i = function_inst(s->f, c->inst);
    if (c->kind == SLICE_SET || c->kind == SLICE_UNDEF) continue;
    if (sroa_is_in_variable(s, inst_operand(s->f, i, c->kind == SLICE_COPY_TO ? 1 : 0)))
      return true;
  }
  return false;
}

static void split_variable(struct splitter *s) {
  s->b = builder_replacing(s->f, s->alloca);
  for (uint32_t k = 0; k < s->parts.count; k++)
    if (s->parts.data[k].form != PART_DEAD) make_variable(s, &s->parts.data[k]);
  for (uint32_t k = 0; k < s->slices.count && !s->failed; k++) rewrite_slice(s, &s->slices.data[k]);
  for (uint32_t k = s->derived.count; k-- > 0;) {
    struct nvm_inst_id i = s->derived.data[k];
    const struct nvm_inst *inst = function_inst(s->f, i);
    if (inst->op == OP_CALL) inst_remove(s->f, i);
    else rewrite_set(&s->rewrite, i, const_poison(s->m, inst->type));
  }
  struct nvm_type pointer = function_inst(s->f, s->alloca)->type;
  rewrite_set(&s->rewrite, s->alloca, const_poison(s->m, pointer));
  s->failed |= module_out_of_memory(s->m);
  s->split++;
}

/* Splits the alloca if possible and, when `patient`, if it need not wait for another one. */
static bool try_variable(struct splitter *s, struct nvm_inst_id alloca, bool patient) {
  uint64_t size = alloca_bytes(s->f, function_inst(s->f, alloca));
  if (size == 0 || size > MAX_BYTES) return false;
  s->alloca = alloca;
  s->tries++;
  s->slices.count = s->derived.count = s->parts.count = 0;
  s->has_accesses = false;
  if (!collect_uses(s, value_of_inst(alloca), 0, size, 0) || s->slices.count == 0) return false;
  if (size > MAX_COPIED && !s->has_accesses) return false;
  if (patient && should_postpone(s)) {
    s->postponed = true;
    return false;
  }
  if (!sroa_find_parts(s, (uint32_t)size)) {
    s->failed = true;
    return false;
  }
  if (s->parts.count > SROA_MAX_PARTS) return false;
  for (uint32_t k = 0; k < s->parts.count; k++) sroa_choose_form(s, &s->parts.data[k]);
  if (!is_profitable(s) || !can_fill(s)) return false;
  split_variable(s);
  return true;
}

/* --- The pass --- */

/* One round over the candidates. Those of the next round are the remaining ones and the parts of
 * split ones that stay in memory; other parts are promotable. */
static bool run_round(struct splitter *s, bool patient) {
  bool any = false;
  inst_list now = {0};
  for (uint32_t k = 0; k < s->candidates.count; k++)
    if (s->f->uses.data[s->candidates.data[k].index])
      s->failed |= !VEC_PUSH(s->arena, &now, s->candidates.data[k]);
  s->candidates.count = 0;
  if (now.count == 0) return false;
  update_uses(s, &now);
  s->failed |= !rewrite_grow(&s->rewrite, s->arena);
  s->tries_before = s->tries;
  for (uint32_t k = 0; k < now.count && !s->failed; k++) {
    bool split = try_variable(s, now.data[k], patient);
    for (uint32_t p = 0; split && p < s->parts.count; p++)
      if (s->parts.data[p].form == PART_MEMORY)
        s->failed |= !VEC_PUSH(s->arena, &s->candidates, value_inst_id(s->parts.data[p].variable));
    if (!split) s->failed |= !VEC_PUSH(s->arena, &s->candidates, now.data[k]);
    any |= split;
  }
  return any;
}

enum nvm_status sroa_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct splitter s = {.f = f, .m = f->module, .arena = env->arena};
  bool any = true;
  struct sroa_found accesses;
  if (!sroa_find_candidates(&s, &accesses)) return NVM_OUT_OF_MEMORY;
  if (sroa_split_accesses(&s, accesses)) {
    *changed = true;
    if (s.failed || !sroa_find_candidates(&s, &accesses)) return NVM_OUT_OF_MEMORY;
  }
  if (s.candidates.count) s.failed |= !rewrite_init(&s.rewrite, f, env->arena);
  for (int round = 0; s.candidates.count && round < MAX_ROUNDS && !s.failed; round++) {
    s.postponed = false;
    any = run_round(&s, any); /* patient, unless the last round changed nothing */
    if (!any && !s.postponed) break;
  }
  if (s.split) rewrite_apply(&s.rewrite);
  *changed |= s.split != 0;
  *env->statistic += s.split;
  return s.failed ? NVM_OUT_OF_MEMORY : NVM_OK;
}
