/* memcpy, memmove and memset: straight code for short constant lengths. Else loops over the widest
 * unit that the alignments allow, for a constant length several at a time, and over the bytes that
 * remain. */
#include "codegen/emit.h"
#include "codegen/memory.h"
#include "codegen/report.h"
#include "codegen/value.h"

enum { UNROLLED_BYTES = 128, WIDEST_UNIT = 8, UNITS_AT_A_TIME = 4 };

static struct ptx_operand new_unit(struct lower *l, uint32_t bytes) {
  return ptx_r(emit_temp(l, mod_class(mod_bits(bytes <= 2 ? 16 : bytes * 8))));
}

static void emit_unit(struct lower *l, bool load, struct address a, uint32_t bytes,
                      struct ptx_operand value, bool is_volatile) {
  bool observable = a.space == 0 || a.space == PTX_MOD_GLOBAL || a.space == PTX_MOD_SHARED;
  const struct emit_mod_list mods =
      EMIT_MOD_LIST(is_volatile && observable ? PTX_MOD_VOLATILE : PTX_MOD_NONE, a.space,
                    mod_unsigned(bytes * 8));
  if (load) emit2(l, PTX_LD, mods.words, value, a.at);
  else emit2(l, PTX_ST, mods.words, a.at, value);
}

static uint32_t common_align(struct address to, struct address from) {
  return to.align < from.align ? to.align : from.align;
}

static uint32_t unit_for(uint32_t align, uint64_t left) {
  uint32_t unit = WIDEST_UNIT;
  while (unit > 1 && (unit > align || unit > left)) unit /= 2;
  return unit;
}

static void copy_unrolled(struct lower *l, struct address to, struct address from, uint64_t bytes,
                          bool is_volatile) {
  uint32_t align = common_align(to, from);
  for (uint64_t at = 0; at < bytes;) {
    uint32_t unit = unit_for(align, bytes - at);
    struct ptx_operand r = new_unit(l, unit);
    emit_unit(l, true, address_plus(from, (int64_t)at), unit, r, is_volatile);
    emit_unit(l, false, address_plus(to, (int64_t)at), unit, r, is_volatile);
    at += unit;
  }
}

/* --- Loops --- */

/* The address in a register that a loop can advance. */
static struct address loop_address(struct lower *l, struct address a) {
  a.at = ptx_at(address_register(l, a), 0);
  return a;
}

static void advance(struct lower *l, struct ptx_reg r, int64_t by) {
  emit3(l, PTX_ADD, PTX_MODS(ptx_reg_class(r) == PTX_B64 ? PTX_MOD_S64 : PTX_MOD_S32), ptx_r(r),
        ptx_r(r), ptx_i(by));
}

static struct ptx_reg counter(struct lower *l, struct ptx_operand length) {
  struct ptx_reg r = emit_temp(l, PTX_B64);
  emit_copy(l, r, length);
  return r;
}

/* A loop over units while `left`, a counter of bytes, is not below one. */
struct unit_loop {
  struct ptx_reg left;
  uint32_t unit, begin, end; /* bytes; labels, no `end` if nothing jumps there */
};

static void branch_on(struct lower *l, uint16_t compare, const struct unit_loop *x,
                      uint32_t label) {
  struct ptx_operand unit = ptx_i(x->unit);
  emit_branch_if(l, emit_compare(l, compare, PTX_MOD_U64, ptx_r(x->left), unit), false, label);
}

static struct unit_loop begin_loop(struct lower *l, struct ptx_reg left, uint32_t unit) {
  struct unit_loop x = {left, unit, emit_new_label(l), emit_new_label(l)};
  branch_on(l, PTX_MOD_LT, &x, x.end);
  ptx_add_label(l->pf, x.begin);
  return x;
}

static void end_loop(struct lower *l, const struct unit_loop *x) {
  advance(l, x->left, -(int64_t)x->unit);
  branch_on(l, PTX_MOD_GE, x, x->begin);
  if (x->end) ptx_add_label(l->pf, x->end);
}

/* A loop over `unit` bytes of a constant length, which is not less. */
static struct unit_loop begin_long_loop(struct lower *l, uint64_t bytes, uint32_t unit) {
  struct unit_loop x = {counter(l, ptx_i((int64_t)bytes)), unit, emit_new_label(l), 0};
  ptx_add_label(l->pf, x.begin);
  return x;
}

/* Copies units from the first to the last, or, with addresses that start at the ends, `backwards`.
 */
static void copy_loop(struct lower *l, struct address to, struct address from, struct ptx_reg left,
                      uint32_t unit, bool backwards, bool is_volatile) {
  struct unit_loop x = begin_loop(l, left, unit);
  struct ptx_reg ends[2] = {to.at.reg, from.at.reg};
  struct ptx_operand r = new_unit(l, unit);
  for (int k = 0; k < 2 && backwards; k++) advance(l, ends[k], -(int64_t)unit);
  emit_unit(l, true, from, unit, r, is_volatile);
  emit_unit(l, false, to, unit, r, is_volatile);
  for (int k = 0; k < 2 && !backwards; k++) advance(l, ends[k], unit);
  end_loop(l, &x);
}

/* More bytes than are copied without a loop. */
static void copy_long(struct lower *l, struct address to, struct address from, uint64_t bytes,
                      bool is_volatile) {
  uint32_t align = common_align(to, from);
  uint32_t unit = unit_for(align, WIDEST_UNIT), step = UNITS_AT_A_TIME * unit;
  struct address t = loop_address(l, to), f = loop_address(l, from);
  struct unit_loop x = begin_long_loop(l, bytes, step);
  struct ptx_operand r[UNITS_AT_A_TIME];
  for (uint32_t k = 0; k < UNITS_AT_A_TIME; k++) {
    r[k] = new_unit(l, unit);
    emit_unit(l, true, address_plus(f, k * unit), unit, r[k], is_volatile);
  }
  for (uint32_t k = 0; k < UNITS_AT_A_TIME; k++)
    emit_unit(l, false, address_plus(t, k * unit), unit, r[k], is_volatile);
  advance(l, t.at.reg, step);
  advance(l, f.at.reg, step);
  end_loop(l, &x);
  copy_unrolled(l, t, f, bytes % step, is_volatile);
}

static void copy_forwards(struct lower *l, struct address to, struct address from,
                          struct ptx_operand length, bool is_volatile) {
  uint32_t align = common_align(to, from);
  struct ptx_reg left = counter(l, length);
  struct address t = loop_address(l, to), f = loop_address(l, from);
  uint32_t unit = unit_for(align, WIDEST_UNIT);
  if (unit > 1) copy_loop(l, t, f, left, unit, false, is_volatile);
  copy_loop(l, t, f, left, 1, false, is_volatile);
}

static uint32_t address_bits(const struct address *a) {
  return ptx_reg_class(a->at.reg) == PTX_B64 ? 64 : 32;
}

/* memmove of unknown distance: backwards if the target is above the source. Addresses of different
 * spaces cannot overlap unless one of them is generic; both are compared as generic. Pointers to
 * shared and local memory may have 32 bits where generic ones have 64. */
static void move_any(struct lower *l, struct address to, struct address from,
                     struct ptx_operand length, bool is_volatile) {
  if (to.space != from.space && to.space != 0 && from.space != 0) {
    copy_forwards(l, to, from, length, is_volatile);
    return;
  }
  struct address ends[2] = {loop_address(l, to), loop_address(l, from)};
  uint32_t widths[2] = {address_bits(&ends[0]), address_bits(&ends[1])};
  uint32_t bits = widths[0] > widths[1] ? widths[0] : widths[1];
  struct ptx_operand sides[2] = {ptx_r(ends[0].at.reg), ptx_r(ends[1].at.reg)};
  for (int k = 0; k < 2; k++) {
    if (to.space == from.space || ends[k].space == 0) continue;
    if (widths[k] < bits)
      sides[k] =
          emit_value(l, PTX_MOD_U64, PTX_CVT, PTX_MODS(PTX_MOD_U64, PTX_MOD_U32), &sides[k], 1);
    sides[k] = emit_value(l, mod_unsigned(bits), PTX_CVTA,
                          PTX_MODS(ends[k].space, mod_unsigned(bits)), &sides[k], 1);
  }
  uint32_t backwards = emit_new_label(l), end = emit_new_label(l);
  emit_branch_if(l, emit_compare(l, PTX_MOD_GT, mod_unsigned(bits), sides[0], sides[1]), false,
                 backwards);
  copy_forwards(l, ends[0], ends[1], length, is_volatile);
  emit1(l, PTX_BRA, NULL, ptx_label(end));
  ptx_add_label(l->pf, backwards);
  struct ptx_reg left = counter(l, length);
  for (int k = 0; k < 2; k++) {
    struct ptx_operand at = ptx_r(ends[k].at.reg);
    emit3(l, PTX_ADD, PTX_MODS(mod_signed(widths[k])), at, at,
          emit_narrow(l, ptx_r(left), 64, widths[k]));
  }
  copy_loop(l, ends[0], ends[1], left, 1, true, is_volatile);
  ptx_add_label(l->pf, end);
}

/* --- The intrinsics --- */

/* Pointer argument k, aligned as its `align` attribute states. */
static struct address argument_address(struct lower *l, const struct nvm_inst *i, uint32_t k) {
  const struct attr_table_data *t = &l->module->attributes;
  uint32_t align = attrset_align(t, attrlist_parameter(t, call_site_of(l->f, i)->attributes, k));
  struct address a = address_of(l, inst_operand(l->f, i, k));
  a.align = align ? align : 1;
  return a;
}

/* The length as a 64-bit operand; *known if it is a constant. */
static struct ptx_operand length_operand(struct lower *l, const struct nvm_inst *i, bool *known,
                                         uint64_t *bytes) {
  struct nvm_value v = inst_operand(l->f, i, 2);
  nvm_u128 value = 0;
  *known = const_is_int(l->module, v, &value);
  *bytes = (uint64_t)value;
  if (*known) return ptx_i((int64_t)*bytes);
  struct part p = *part_at(part_list(l, value_type(l->f, v)), 0);
  return emit_zext(l, value_operand(l, v, 0), &p, 64);
}

void block_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes,
                      bool is_volatile) {
  if (bytes <= UNROLLED_BYTES) copy_unrolled(l, to, from, bytes, is_volatile);
  else copy_long(l, to, from, bytes, is_volatile);
}

void block_lower_copy(struct lower *l, const struct nvm_inst *i, bool may_overlap) {
  struct address to = argument_address(l, i, 0), from = argument_address(l, i, 1);
  bool known, is_volatile = call_copy_is_volatile(l->f, i);
  uint64_t bytes;
  struct ptx_operand length = length_operand(l, i, &known, &bytes);
  if (to.space == PTX_MOD_CONST || to.space == PTX_MOD_PARAM)
    report_refuse(l, "a copy into constant or parameter memory", "these are read-only");
  else if (may_overlap && !(known && bytes <= unit_for(common_align(to, from), bytes)))
    move_any(l, to, from, length, is_volatile);
  else if (known) block_copy_bytes(l, to, from, bytes, is_volatile);
  else copy_forwards(l, to, from, length, is_volatile);
}

/* The byte repeated over a unit. */
static struct ptx_operand fill_value(struct lower *l, struct ptx_operand byte, uint32_t unit) {
  static const struct part byte_part = {.kind = PART_INT, .bits = 8, .container = 16};
  if (byte.kind != PTX_OPERAND_REG) {
    uint64_t pattern = ((uint64_t)byte.imm & 0xff) * UINT64_C(0x0101010101010101);
    return ptx_i((int64_t)(unit == 8 ? pattern : pattern & ((UINT64_C(1) << (unit * 8)) - 1)));
  }
  if (unit == 1) return byte;
  struct ptx_operand wide = emit_zext(l, byte, &byte_part, 64);
  return emit_value(l, PTX_MOD_U64, PTX_MUL, PTX_MODS(PTX_MOD_LO, PTX_MOD_U64),
                    PTX_OPS(wide, ptx_i(0x0101010101010101)));
}

static void fill_loop(struct lower *l, struct address to, struct ptx_reg left, uint32_t unit,
                      struct ptx_operand byte, bool is_volatile) {
  struct ptx_operand value = fill_value(l, byte, unit);
  struct unit_loop x = begin_loop(l, left, unit);
  emit_unit(l, false, to, unit, value, is_volatile);
  advance(l, to.at.reg, unit);
  end_loop(l, &x);
}

static void fill_unrolled(struct lower *l, struct address to, uint64_t bytes,
                          struct ptx_operand byte, bool is_volatile) {
  for (uint64_t at = 0; at < bytes;) {
    uint32_t unit = unit_for(to.align, bytes - at);
    emit_unit(l, false, address_plus(to, (int64_t)at), unit, fill_value(l, byte, unit),
              is_volatile);
    at += unit;
  }
}

static void fill_long(struct lower *l, struct address to, uint64_t bytes, struct ptx_operand byte,
                      bool is_volatile) {
  uint32_t unit = unit_for(to.align, WIDEST_UNIT), step = UNITS_AT_A_TIME * unit;
  struct address t = loop_address(l, to);
  struct ptx_operand value = fill_value(l, byte, unit);
  struct unit_loop x = begin_long_loop(l, bytes, step);
  for (uint32_t k = 0; k < UNITS_AT_A_TIME; k++)
    emit_unit(l, false, address_plus(t, k * unit), unit, value, is_volatile);
  advance(l, t.at.reg, step);
  end_loop(l, &x);
  fill_unrolled(l, t, bytes % step, byte, is_volatile);
}

void block_lower_fill(struct lower *l, const struct nvm_inst *i) {
  struct address to = argument_address(l, i, 0);
  bool known, is_volatile = call_copy_is_volatile(l->f, i);
  uint64_t bytes;
  struct ptx_operand byte = value_operand(l, inst_operand(l->f, i, 1), 0);
  struct ptx_operand length = length_operand(l, i, &known, &bytes);
  if (to.space == PTX_MOD_CONST || to.space == PTX_MOD_PARAM) {
    report_refuse(l, "a fill of constant or parameter memory", "these are read-only");
    return;
  }
  if (known) {
    (bytes <= UNROLLED_BYTES ? fill_unrolled : fill_long)(l, to, bytes, byte, is_volatile);
    return;
  }
  struct ptx_reg left = counter(l, length);
  struct address t = loop_address(l, to);
  uint32_t unit = unit_for(to.align, WIDEST_UNIT);
  if (unit > 1) fill_loop(l, t, left, unit, byte, is_volatile);
  fill_loop(l, t, left, 1, byte, is_volatile);
}
