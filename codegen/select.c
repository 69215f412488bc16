/* Two parts: the patterns, each in one function; and a walk from the instructions with effects to
 * the operands that they read, which decides an instruction when it is found to be wanted. Linear
 * in the operands times MAX_CHAIN at worst. */
#include "analysis/effects.h"
#include "analysis/known_bits.h"
#include "codegen/address.h"
#include "codegen/index_product.h"
#include "codegen/joined.h"
#include "codegen/logic.h"
#include "codegen/memory.h"
#include "codegen/part.h"
#include "codegen/select.h"
#include "ir/evalint.h"
#include "ir/gep.h"

/* --- products of factors that fit 32 bits ----------------------------------------------------- */

/* ptxas makes one instruction of mul.wide, three to eight of a product of two extended values. */
static unsigned fits(uint64_t low, uint64_t high) {
  bool is_signed =
      (int64_t)low <= (int64_t)high && (int64_t)low >= INT32_MIN && (int64_t)high <= INT32_MAX;
  return (high <= UINT32_MAX ? SELECT_WIDE_UNSIGNED : 0) | (is_signed ? SELECT_WIDE_SIGNED : 0);
}

/* Whether v is extended from an integer of at most 32 bits that is no predicate and no constant. */
static bool is_extended(const struct lower *l, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(l->f, v);
  if (!i || (i->op != OP_ZEXT && i->op != OP_SEXT)) return false;
  struct nvm_value narrow = inst_operand(l->f, i, 0);
  uint32_t bits = type_scalar_bits(&l->module->types, value_type(l->f, narrow));
  return bits > 1 && bits <= 32 && value_kind(narrow) != VALUE_CONST;
}

static unsigned factor_fits(const struct lower *l, struct nvm_value v) {
  nvm_u128 bits;
  if (const_is_int(l->module, v, &bits)) return fits((uint64_t)bits, (uint64_t)bits);
  if (is_extended(l, v) && value_inst(l->f, v)->op == OP_SEXT) return SELECT_WIDE_SIGNED;
  struct known_bits known = known_bits_of(l->f, v);
  return fits(known_bits_least(known), known_bits_most(known));
}

/* How the factors fit 32 bits; 0: it is no such product. A left shift multiplies by a power of two;
 * PTX has one instruction for it too, so only of an extended value. */
static unsigned wide_product(const struct lower *l, const struct nvm_inst *i) {
  enum { MAX_SHIFT = 30 };
  nvm_u128 amount;
  if (!type_equal(i->type, TYPE_I64) || l->target->optimization_level == 0) return 0;
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1);
  unsigned as = i->op == OP_MUL || is_extended(l, a) ? factor_fits(l, a) : 0;
  if (as == 0 || i->op == OP_MUL) return as ? as & factor_fits(l, b) : 0;
  return const_is_int(l->module, b, &amount) && amount <= MAX_SHIFT ? as : 0;
}

static void select_factors(struct lower *l, const struct nvm_inst *product) {
  unsigned as = wide_product(l, product);
  if (as == 0) return;
  as = as & SELECT_WIDE_UNSIGNED ? SELECT_WIDE_UNSIGNED : SELECT_WIDE_SIGNED;
  for (uint32_t k = 0; k < 2; k++) as |= is_extended(l, inst_operand(l->f, product, k)) << k;
  selection_of(l, product)->folded = (uint16_t)as;
}

/* PTX shifts 64 bits by an amount of 32: no instruction extends it. */
static void select_shift_amount(struct lower *l, const struct nvm_inst *shift) {
  const struct nvm_inst *amount = value_inst_of(l->f, inst_operand(l->f, shift, 1), OP_ZEXT);
  if (amount && type_equal(shift->type, TYPE_I64) &&
      type_equal(value_type(l->f, inst_operand(l->f, amount, 0)), TYPE_I32))
    selection_of(l, shift)->folded |= 1u << 1;
}

enum select_wide select_wide_product(const struct lower *l, const struct nvm_inst *i) {
  return selection_of(l, i)->folded & (SELECT_WIDE_UNSIGNED | SELECT_WIDE_SIGNED);
}

/* --- sums of products ------------------------------------------------------------------------- */

/* Whether the type is half or bfloat, or a vector of them. */
static bool is_small_float(const struct lower *l, struct nvm_type type) {
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  return type_equal(scalar, TYPE_HALF) || type_equal(scalar, TYPE_BFLOAT);
}

/* Whether the target fuses a product into this sum. NVVM contracts by default: level 1 fuses floats
 * of up to 32 bits, level 2 doubles too. 16-bit formats, which it does not contract, are fused if
 * the sum allows it and the CPU computes in them. -O0 fuses nothing. */
static bool may_fuse(struct lower *l, const struct nvm_inst *sum) {
  if (l->target->optimization_level == 0) return false;
  struct nvm_type scalar = type_scalar(&l->module->types, sum->type);
  if (sum->op == OP_ADD || sum->op == OP_SUB)
    return type_equal(scalar, TYPE_I32) || type_equal(scalar, TYPE_I64);
  if (is_small_float(l, sum->type))
    return sum->flags & INST_CONTRACT && l->target->fma_level >= 1 &&
           part_is_legal(l, part_at(part_list(l, sum->type), 0));
  return (type_equal(scalar, TYPE_FLOAT) && l->target->fma_level >= 1) ||
         (type_equal(scalar, TYPE_DOUBLE) && l->target->fma_level >= 2);
}

/* Whether mad subtracts this product of integers: the factor that is negated is a constant. */
static bool is_subtracted(const struct lower *l, const struct nvm_inst *product, uint32_t k) {
  nvm_u128 factor;
  return k == 1 && const_is_int(l->module, inst_operand(l->f, product, 1), &factor);
}

/* Whether i is a left shift of an i32 by a constant, a product by a power of two. */
static bool is_shifted(const struct lower *l, const struct nvm_inst *i) {
  enum { MAX_SHIFT = 30 };
  nvm_u128 amount;
  return i->op == OP_SHL && type_equal(i->type, TYPE_I32) &&
         const_is_int(l->module, inst_operand(l->f, i, 1), &amount) && amount <= MAX_SHIFT;
}

/* A product that only the sum reads. Products of integers only if they are in the same block: one
 * that was hoisted out of a loop stays there; and not mul.wide, for ptxas makes several
 * instructions of mad.wide, but one of mul.wide and the sum. */
static void select_fused_product(struct lower *l, const struct nvm_inst *sum) {
  bool is_integer = sum->op == OP_ADD || sum->op == OP_SUB;
  if (!may_fuse(l, sum)) return;
  for (uint32_t k = 0; k < 2; k++) {
    const struct nvm_inst *product = value_inst(l->f, inst_operand(l->f, sum, k));
    if (!product ||
        (product->op != (is_integer ? OP_MUL : OP_FMUL) &&
         !(is_integer && is_shifted(l, product))) ||
        !is_read_once(l, inst_operand(l->f, sum, k)) ||
        (is_integer && (product->block.index != sum->block.index || wide_product(l, product) != 0)))
      continue;
    if (is_small_float(l, sum->type) && !(product->flags & INST_CONTRACT)) continue;
    if (sum->op == OP_SUB && !is_subtracted(l, product, k)) continue;
    selection_of(l, sum)->folded = (uint16_t)(1u << k);
    return;
  }
}

int select_product(const struct lower *l, const struct nvm_inst *i) {
  if (i->op != OP_ADD && i->op != OP_SUB && i->op != OP_FADD && i->op != OP_FSUB) return -1;
  uint16_t folded = selection_of(l, i)->folded;
  return folded == 0 ? -1 : folded == 1 ? 0 : 1;
}

/* --- extensions and truncations --------------------------------------------------------------- */

enum { MAX_INDEX = 8, SCALE_BIT = 8 }; /* bit 8 + k of a gep's `folded`: index k is scaled */

/* The constant by which v is shifted left or multiplied, as a factor; 1: it is no such value. The
 * reader then scales by the product: as many instructions where others read v too, else fewer. */
static uint64_t scale_of(const struct lower *l, struct nvm_value v) {
  enum { MAX_SHIFT = 30 };
  const struct nvm_inst *i = value_inst(l->f, v);
  nvm_u128 amount;
  if (l->target->optimization_level == 0 || !i || (i->op != OP_SHL && i->op != OP_MUL) ||
      value_kind(inst_operand(l->f, i, 0)) == VALUE_CONST ||
      !const_is_int(l->module, inst_operand(l->f, i, 1), &amount))
    return 1;
  if (i->op == OP_MUL) return amount > 0 && amount <= INT32_MAX ? (uint64_t)amount : 1;
  return amount <= MAX_SHIFT ? UINT64_C(1) << amount : 1;
}

/* The scale of a 64-bit index, which wraps as addresses do. A product that fits mul.wide, but is
 * not of an extended value, is left to it. */
static uint64_t long_scale(const struct lower *l, struct nvm_value index) {
  const struct nvm_inst *i = value_inst(l->f, index);
  bool is_long = i && type_equal(i->type, TYPE_I64) &&
                 (i->op == OP_SHL || is_extended(l, inst_operand(l->f, i, 0)));
  return is_long ? scale_of(l, index) : 1;
}

/* The scale of a 32-bit index that does not overflow where it is extended. */
static uint64_t short_scale(const struct lower *l, const struct nvm_inst *extension) {
  struct nvm_value index = inst_operand(l->f, extension, 0);
  const struct nvm_inst *i = value_inst(l->f, index);
  uint16_t flag = extension->op == OP_SEXT ? INST_NSW : INST_NUW;
  return i && i->flags & flag ? scale_of(l, index) : 1;
}

/* Whether mul.wide multiplies this index: an extended one of 32 bits. */
static bool is_widened_index(const struct lower *l, struct nvm_value index) {
  const struct nvm_inst *i = value_inst(l->f, index);
  return i && (i->op == OP_ZEXT || i->op == OP_SEXT) && type_equal(i->type, TYPE_I64) &&
         type_equal(value_type(l->f, inst_operand(l->f, i, 0)), TYPE_I32);
}

/* What a gep does itself of index k with this step: the extension, and one scale around it or
 * inside. The product of both is positive as a signed number. */
static uint16_t index_folds(const struct lower *l, struct nvm_value index, uint32_t k,
                            uint64_t step) {
  uint16_t extends = (uint16_t)(1u << k), scales = (uint16_t)(1u << (SCALE_BIT + k)), folds = 0;
  uint64_t by = step > 1 && step <= INT32_MAX ? long_scale(l, index) : 1;
  if (by > 1 && step * by <= INT32_MAX) {
    folds = scales;
    index = inst_operand(l->f, value_inst(l->f, index), 0);
    step *= by;
  }
  if (!is_widened_index(l, index) || step == 0 || step > INT32_MAX) return folds;
  by = short_scale(l, value_inst(l->f, index));
  if (folds == 0 && by > 1 && step * by <= INT32_MAX) {
    folds = scales;
    step *= by;
  }
  return step > 1 ? folds | extends : folds;
}

static void select_indices(struct lower *l, const struct nvm_inst *gep) {
  const struct type_table *t = &l->module->types;
  if (type_is_vector(t, gep->type)) return;
  if (layout_pointer_bits(&l->module->layout, type_info(t, gep->type)->width) != 64) return;
  struct gep_walk w = gep_begin(l->module, gep->aux);
  struct selection *s = selection_of(l, gep);
  for (uint32_t k = 1; k < gep->operand_count && k < MAX_INDEX; k++) {
    struct nvm_value index = inst_operand(l->f, gep, k);
    bool is_member;
    uint64_t step = gep_step(&w, index, &is_member);
    uint16_t folds = is_member ? 0 : index_folds(l, index, k, step);
    s->folded |= folds;
    if (folds == 1u << k) index_product_note(l, gep, index, (uint32_t)step);
  }
}

struct selected_index select_index(const struct lower *l, const struct nvm_inst *gep, uint32_t k) {
  uint32_t folded = k < MAX_INDEX ? selection_of(l, gep)->folded >> k : 0;
  struct selected_index x = {inst_operand(l->f, gep, k), 1, true};
  if (folded >> SCALE_BIT & 1 && (x.scale = long_scale(l, x.value)) > 1)
    x.value = inst_operand(l->f, value_inst(l->f, x.value), 0);
  if (!(folded & 1)) return x;
  const struct nvm_inst *extension = value_inst(l->f, x.value);
  x.is_signed = extension->op == OP_SEXT;
  x.value = inst_operand(l->f, extension, 0);
  if (folded >> SCALE_BIT & 1 && x.scale == 1 && (x.scale = short_scale(l, extension)) > 1)
    x.value = inst_operand(l->f, value_inst(l->f, x.value), 0);
  return x;
}

static bool is_aligned(const struct lower *l, struct nvm_type type, struct memory_access how,
                       uint64_t bytes) {
  return layout_written_align(&l->module->layout, &l->module->types, type, how.align_log2) >= bytes;
}

/* Whether this truncates a right shift that it alone reads to bits of the high word: a mov splits
 * the register, and the rest of the shift is 32 bits wide; or to the high half of 32 bits. In the
 * same block only: a shift that was hoisted out of a loop stays there. */
static bool is_high_word(const struct lower *l, const struct nvm_inst *cut) {
  struct nvm_value v = inst_operand(l->f, cut, 0);
  const struct nvm_inst *shift = value_inst(l->f, v);
  nvm_u128 amount;
  if (l->target->optimization_level == 0 || !shift || !is_read_once(l, v) ||
      (shift->op != OP_LSHR && shift->op != OP_ASHR) || shift->block.index != cut->block.index ||
      value_kind(inst_operand(l->f, shift, 0)) == VALUE_CONST ||
      !const_is_int(l->module, inst_operand(l->f, shift, 1), &amount))
    return false;
  return type_equal(shift->type, TYPE_I64)
             ? amount >= 32 && amount <= 63 && type_scalar_bits(&l->module->types, cut->type) <= 32
             : type_equal(shift->type, TYPE_I32) && amount == 16 &&
                   type_equal(cut->type, type_int(&l->module->types, 16));
}

static void select_stored_value(struct lower *l, const struct nvm_inst *store) {
  const struct type_table *t = &l->module->types;
  const struct nvm_inst *cut = value_inst(l->f, inst_operand(l->f, store, 0));
  struct memory_access how = memory_access_unpack(store->aux);
  if (!cut || cut->op != OP_TRUNC || how.ordering != ORDER_NONE || type_is_vector(t, cut->type))
    return;
  if (!is_read_once(l, inst_operand(l->f, store, 0)) && is_high_word(l, cut)) return;
  struct nvm_value whole = inst_operand(l->f, cut, 0);
  uint64_t to = layout_bits(&l->module->layout, t, cut->type);
  uint64_t from = layout_bits(&l->module->layout, t, value_type(l->f, whole));
  if ((to == 8 || to == 16 || to == 32) && from <= 64 && is_aligned(l, cut->type, how, to / 8) &&
      value_kind(whole) != VALUE_CONST)
    selection_of(l, store)->folded = 1;
}

/* A mask of low ones of a right shift, or a right shift of a mask that leaves low ones. */
static bool is_unsigned_field(const struct lower *l, const struct nvm_inst *i,
                              struct select_field *field) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  const struct nvm_inst *inner = value_inst_of(l->f, v, i->op == OP_AND ? OP_LSHR : OP_AND);
  nvm_u128 outer_number, inner_number;
  if (!inner || !is_read_once(l, v) ||
      !const_is_int(l->module, inst_operand(l->f, i, 1), &outer_number) ||
      !const_is_int(l->module, inst_operand(l->f, inner, 1), &inner_number))
    return false;
  uint64_t shift = (uint64_t)(i->op == OP_AND ? inner_number : outer_number);
  uint64_t mask = (uint64_t)(i->op == OP_AND ? outer_number : inner_number);
  if (shift == 0 || shift > 31) return false;
  if (i->op == OP_LSHR) mask >>= shift;
  *field = (struct select_field){.of = inst_operand(l->f, inner, 0),
                                 .first = (uint32_t)shift,
                                 .bits = (uint32_t)__builtin_popcountll(mask)};
  return mask != 0 && (mask & (mask + 1)) == 0 && field->first + field->bits <= 32;
}

/* The sign extension of low bits of a word, or of a right shift of it that is read once. */
static bool is_signed_field(const struct lower *l, const struct nvm_inst *i,
                            struct select_field *field) {
  const struct nvm_inst *cut = value_inst_of(l->f, inst_operand(l->f, i, 0), OP_TRUNC);
  if (!cut || !type_equal(value_type(l->f, inst_operand(l->f, cut, 0)), TYPE_I32)) return false;
  *field = (struct select_field){.of = inst_operand(l->f, cut, 0),
                                 .bits = type_scalar_bits(&l->module->types, cut->type),
                                 .is_signed = true};
  const struct nvm_inst *shift = value_inst(l->f, field->of);
  nvm_u128 amount;
  if (shift && (shift->op == OP_LSHR || shift->op == OP_ASHR) && is_read_once(l, field->of) &&
      const_is_int(l->module, inst_operand(l->f, shift, 1), &amount) &&
      amount + field->bits <= 32) {
    field->of = inst_operand(l->f, shift, 0);
    field->first = (uint32_t)amount;
  }
  return field->bits > 1;
}

/* An arithmetic right shift by at least as many bits as the left shift of its operand. */
static bool is_shifted_field(const struct lower *l, const struct nvm_inst *i,
                             struct select_field *field) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  const struct nvm_inst *left = value_inst_of(l->f, v, OP_SHL);
  nvm_u128 left_amount, right_amount;
  if (!left || !is_read_once(l, v) ||
      !const_is_int(l->module, inst_operand(l->f, left, 1), &left_amount) ||
      !const_is_int(l->module, inst_operand(l->f, i, 1), &right_amount) ||
      left_amount > right_amount || right_amount > 31)
    return false;
  *field = (struct select_field){.of = inst_operand(l->f, left, 0),
                                 .first = (uint32_t)(right_amount - left_amount),
                                 .bits = (uint32_t)(32 - right_amount),
                                 .is_signed = true};
  return true;
}

/* Whether i cuts a field of 32 bits, which one bfe does. */
static bool is_field(const struct lower *l, const struct nvm_inst *i, struct select_field *field) {
  bool is_word = l->target->optimization_level != 0 && type_equal(i->type, TYPE_I32);
  bool found = is_word && (i->op == OP_SEXT   ? is_signed_field(l, i, field)
                           : i->op == OP_ASHR ? is_shifted_field(l, i, field)
                                              : is_unsigned_field(l, i, field));
  return found && value_kind(field->of) != VALUE_CONST;
}

static void select_field(struct lower *l, const struct nvm_inst *i) {
  struct select_field field;
  if (is_field(l, i, &field)) selection_of(l, i)->folded = 1;
}

bool select_is_field(const struct lower *l, const struct nvm_inst *i, struct select_field *field) {
  bool may_be = (i->op == OP_AND && !type_equal(i->type, TYPE_I1)) || i->op == OP_LSHR ||
                i->op == OP_ASHR || i->op == OP_SEXT;
  return may_be && selection_of(l, i)->folded == 1 && is_field(l, i, field);
}

static void select_high_word(struct lower *l, const struct nvm_inst *cut) {
  if (is_high_word(l, cut)) selection_of(l, cut)->folded = 1;
}

/* --- bitwise operations ----------------------------------------------------------------------- */

enum { LOGIC = 1 << 15 };

/* Unless another pattern has the operation. One machine instruction computes the result and
 * compares it with 0, but ptxas 13.0 crashed where lop3 wrote that. */
static void select_logic(struct lower *l, const struct nvm_inst *i) {
  struct selection *s = selection_of(l, i);
  struct logic t;
  if (s->folded == 0 && !s->is_tested && logic_find(l, i, &t)) s->folded = LOGIC;
}

/* Called for all instructions before one is decided. */
static void note_test(struct lower *l, const struct nvm_inst *comparison) {
  nvm_u128 zero;
  if (comparison->op != OP_ICMP) return;
  struct nvm_value v = inst_operand(l->f, comparison, 0);
  if (comparison->aux <= ICMP_NE && value_kind(v) == VALUE_INST &&
      const_is_int(l->module, inst_operand(l->f, comparison, 1), &zero) && zero == 0)
    l->selection[value_index(v)].is_tested = true;
}

/* Of other ops, such as getelementptr, the bit is that of an operand. */
bool select_is_logic(const struct lower *l, const struct nvm_inst *i) {
  return (i->op == OP_AND || i->op == OP_OR || i->op == OP_XOR) &&
         selection_of(l, i)->folded == LOGIC;
}

/* The operand of a conversion that its reader performs itself; the conversion where it is an
 * extension whose registers the load has written. */
static struct nvm_value unconverted(const struct lower *l, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(l->f, v);
  bool extends = i->op == OP_ZEXT || i->op == OP_SEXT;
  return extends && select_is_loaded(l, i) ? v : inst_operand(l->f, i, 0);
}

/* v, or what it shifts left by half its width, if that extends an integer of half the width. */
static struct nvm_value half_of(const struct lower *l, struct nvm_value v, bool is_high) {
  const struct nvm_inst *i = value_inst(l->f, v);
  struct nvm_value extension = v;
  nvm_u128 amount;
  if (i && is_high) {
    uint32_t bits = type_scalar_bits(&l->module->types, i->type);
    if (i->op != OP_SHL || !is_read_once(l, v) ||
        !const_is_int(l->module, inst_operand(l->f, i, 1), &amount) || amount != bits / 2)
      return VALUE_NULL;
    extension = inst_operand(l->f, i, 0);
    i = value_inst(l->f, extension);
  }
  if (!i || (i->op != OP_ZEXT && !(is_high && i->op == OP_SEXT))) return VALUE_NULL;
  struct nvm_value half = inst_operand(l->f, i, 0);
  bool is_half = 2 * type_scalar_bits(&l->module->types, value_type(l->f, half)) ==
                 type_scalar_bits(&l->module->types, i->type);
  return is_half && value_kind(half) != VALUE_CONST ? extension : VALUE_NULL;
}

/* The low one of two halves that the `or` joins, as the bit of its operand; 0: it is none. */
static uint16_t low_half(const struct lower *l, const struct nvm_inst *i) {
  if (l->target->optimization_level == 0 ||
      !(type_equal(i->type, TYPE_I32) || type_equal(i->type, TYPE_I64)))
    return 0;
  for (uint32_t k = 2; k-- > 0;)
    if (!value_is_none(half_of(l, inst_operand(l->f, i, k), false)) &&
        !value_is_none(half_of(l, inst_operand(l->f, i, 1 - k), true)))
      return (uint16_t)(1u << k);
  return 0;
}

/* One mov joins two registers. */
static void select_joined_halves(struct lower *l, const struct nvm_inst *i) {
  selection_of(l, i)->folded = low_half(l, i);
}

bool select_has_pattern(const struct lower *l, const struct nvm_inst *i) {
  struct select_field field;
  return i->op == OP_OR ? low_half(l, i) != 0
                        : (i->op == OP_AND || i->op == OP_LSHR) && is_field(l, i, &field);
}

int select_low_half(const struct lower *l, const struct nvm_inst *i) {
  return i->op == OP_OR && !type_equal(i->type, TYPE_I1) && !select_is_logic(l, i)
             ? (int)selection_of(l, i)->folded - 1
             : -1;
}

struct nvm_value select_folded_operand(const struct lower *l, const struct nvm_inst *i,
                                       uint32_t k) {
  struct nvm_value v = inst_operand(l->f, i, k);
  struct select_field field;
  if (joined_comparison(l, i) >= 0 || select_is_logic(l, i)) return v;
  if (k == 0 && select_is_field(l, i, &field)) return field.of;
  if (i->op == OP_OR) return unconverted(l, half_of(l, v, !(selection_of(l, i)->folded >> k & 1)));
  if (i->op == OP_GEP) return k == 0 ? v : select_index(l, i, k).value;
  bool converts = i->op == OP_STORE || i->op == OP_MUL || i->op == OP_SHL || i->op == OP_LSHR ||
                  i->op == OP_ASHR || i->op == OP_TRUNC;
  bool is_folded = k < 8 * sizeof(uint16_t) && selection_of(l, i)->folded >> k & 1;
  return converts && is_folded ? unconverted(l, v) : v;
}

/* Whether a load of parts like p can extend as many as `to` has: scalars, and lanes of one register
 * each. */
static bool is_extendable(const struct part *p, struct part_list to) {
  if (p->kind != PART_INT) return false;
  if (p->bits == 16) return to.count == 1;
  return p->bits == 8 && (to.count <= MAX_EXTENDED_LANES ||
                          (to.count <= MAX_EXTENDED_BYTES && part_at(to, 0)->container == 32));
}

static void select_extending_load(struct lower *l, const struct nvm_inst *extension) {
  struct nvm_value v = inst_operand(l->f, extension, 0);
  const struct nvm_inst *load = value_inst(l->f, v);
  if (!load || load->op != OP_LOAD || !is_read_once(l, v)) return;
  struct memory_access how = memory_access_unpack(load->aux);
  struct part_list parts = part_list(l, load->type), to = part_list(l, extension->type);
  if (parts.count == 0 || parts.count != to.count) return;
  const struct part *p = part_at(parts, 0);
  if (is_extendable(p, to) && how.ordering == ORDER_NONE &&
      is_aligned(l, load->type, how, p->bits / 8u))
    selection_of(l, load)->coalesced_with = (uint32_t)(extension - l->f->insts.data);
}

/* Marks loads of bytes that only i reads, which makes signed numbers of them. */
static void select_signed_loads(struct lower *l, const struct nvm_inst *i) {
  if (i->op == OP_ICMP && i->aux < ICMP_SGT) return;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(l->f, i, k);
    const struct nvm_inst *load = value_inst_of(l->f, v, OP_LOAD);
    if (load && is_read_once(l, v) && type_equal(load->type, type_int(&l->module->types, 8)))
      selection_of(l, load)->is_signed = true;
  }
}

/* Marks the extension that only i converts to float, or of which i converts a lane. */
static void select_converted(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  const struct nvm_inst *extension = value_inst(l->f, v);
  if (!extension || !is_read_once(l, v)) return;
  if (extension->op == OP_EXTRACTELEMENT)
    extension = value_inst(l->f, inst_operand(l->f, extension, 0));
  if (extension) selection_of(l, extension)->makes_floats = true;
}

struct nvm_inst_id select_extension(const struct lower *l, struct nvm_inst_id load) {
  return (struct nvm_inst_id){
      l->selection[load.index].is_shared ? 0 : l->selection[load.index].coalesced_with};
}

bool select_is_loaded(const struct lower *l, const struct nvm_inst *extension) {
  const struct nvm_inst *load = value_inst(l->f, inst_operand(l->f, extension, 0));
  return load && selection_of(l, load)->coalesced_with == (uint32_t)(extension - l->f->insts.data);
}

/* --- vectors and aggregates ------------------------------------------------------------------- */

/* A chain of n insertions then copies n members, not n aggregates. */
static void select_insertion_in_place(struct lower *l, const struct nvm_inst *insertion) {
  struct nvm_value whole = inst_operand(l->f, insertion, 0);
  const struct nvm_inst *before = value_inst(l->f, whole);
  if (before && before->op == OP_INSERTVALUE && is_read_once(l, whole) &&
      before->block.index == insertion->block.index)
    selection_of(l, insertion)->coalesced_with = value_index(whole);
}

bool select_is_insertion(struct lower *l, struct nvm_value v, uint64_t *lane) {
  const struct nvm_inst *i = value_inst(l->f, v);
  nvm_u128 index;
  if (!i || i->op != OP_INSERTELEMENT || !part_is_packed_type(l, i->type) ||
      !const_is_int(l->module, inst_operand(l->f, i, 2), &index))
    return false;
  *lane = (uint64_t)index;
  return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* Whether the instruction only adds *offset to the pointer that is its operand 0, or casts it from
 * a specific space to the generic one. A cast of a variable of the generic space to its actual
 * space counts too, since its name is valid in both. */
static bool step_to_base(const struct lower *l, const struct nvm_inst *i, int64_t *offset) {
  const struct type_table *t = &l->module->types;
  *offset = 0;
  if ((i->op != OP_GEP && i->op != OP_ADDRSPACECAST) || type_is_vector(t, i->type)) return false;
  if (i->op == OP_GEP) return gep_constant_offset(l->f, i, offset);
  struct nvm_value from = inst_operand(l->f, i, 0);
  return value_kind(from) == VALUE_GLOBAL ||
         (mod_space(type_info(t, i->type)->width) == 0 &&
          mod_space(type_info(t, value_type(l->f, from))->width) != 0);
}

static bool fits_offset(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

enum { MAX_CHAIN = 64 }; /* unreachable code may be circular */

/* The end of the chain of constant additions; `has_registers`: the first pointer with registers. */
static struct selected_address find_base(const struct lower *l, struct nvm_value pointer,
                                         bool has_registers) {
  struct selected_address a = {.base = pointer};
  const struct nvm_inst *i;
  for (int step = 0; step < MAX_CHAIN && (i = value_inst(l->f, a.base)) != NULL; step++) {
    int64_t offset;
    uint32_t place;
    if (has_registers && selection_of(l, i)->wanted) break;
    a.in_frame = frame_place(l, (struct nvm_inst_id){value_index(a.base)}, &place) &&
                 fits_offset(a.offset) && fits_offset(a.offset + place + 1);
    if (a.in_frame || !step_to_base(l, i, &offset)) break;
    a.offset = evalint_wrapping_add(a.offset, offset);
    a.base = inst_operand(l->f, i, 0);
  }
  return a;
}

struct selected_address select_address(struct lower *l, struct nvm_value pointer) {
  const struct nvm_inst *i = value_inst(l->f, pointer);
  if (!i) return (struct selected_address){.base = pointer};
  struct selection *s = selection_of(l, i);
  struct selected_address a =
      s->address ? l->addresses.data[s->address - 1] : find_base(l, pointer, false);
  if (!s->address && VEC_PUSH(&l->function_arena, &l->addresses, a))
    s->address = l->addresses.count;
  const struct nvm_inst *base = value_inst(l->f, a.base);
  return base && !a.in_frame && selection_of(l, base)->is_shared ? find_base(l, pointer, true) : a;
}

/* --- what is wanted --------------------------------------------------------------------------- */

struct selector {
  struct lower *l;
  uint32_t *stack; /* wanted instructions whose operands have not been visited */
  uint32_t depth;
};

static void mark_wanted(struct selector *s, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST || s->l->selection[value_index(v)].wanted) return;
  s->l->selection[value_index(v)].wanted = true;
  s->stack[s->depth++] = value_index(v);
}

static void want_address(struct selector *s, struct nvm_value pointer) {
  struct selected_address a = select_address(s->l, pointer);
  if (!a.in_frame) mark_wanted(s, a.base);
}

/* For a vector of which single lanes are read: the insertions need no registers. */
static void want_lanes(struct selector *s, struct nvm_value v) {
  uint64_t lane;
  for (int n = 0; n < SELECT_MAX_INSERTIONS && select_is_insertion(s->l, v, &lane); n++) {
    const struct nvm_inst *insertion = value_inst(s->l->f, v);
    mark_wanted(s, inst_operand(s->l->f, insertion, 1));
    v = inst_operand(s->l->f, insertion, 0);
  }
  mark_wanted(s, v);
}

static void select_inst(struct lower *l, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_FADD:
    case OP_FSUB: select_fused_product(l, i); break;
    case OP_MUL: select_factors(l, i); break;
    case OP_SHL:
      select_factors(l, i);
      select_shift_amount(l, i);
      break;
    case OP_GEP: select_indices(l, i); break;
    case OP_STORE: select_stored_value(l, i); break;
    case OP_TRUNC: select_high_word(l, i); break;
    case OP_SELECT: joined_select(l, i); break;
    case OP_OR:
      select_joined_halves(l, i);
      joined_select(l, i);
      select_logic(l, i);
      break;
    case OP_AND:
      select_field(l, i);
      joined_select(l, i);
      select_logic(l, i);
      break;
    case OP_XOR: select_logic(l, i); break;
    case OP_LSHR:
    case OP_ASHR:
      select_field(l, i);
      select_shift_amount(l, i);
      break;
    case OP_ZEXT: select_extending_load(l, i); break;
    case OP_SEXT:
      select_field(l, i);
      select_extending_load(l, i);
      break;
    case OP_SITOFP:
      select_signed_loads(l, i);
      select_converted(l, i);
      break;
    case OP_ICMP: select_signed_loads(l, i); break;
    case OP_INSERTVALUE: select_insertion_in_place(l, i); break;
    default: break;
  }
}

/* The product of a sum is not wanted, nor the comparison that setp joins; their operands are. */
static void want_operands(struct selector *s, const struct nvm_inst *i) {
  struct lower *l = s->l;
  struct logic t;
  select_inst(l, i);
  if (select_is_logic(l, i) && logic_find(l, i, &t)) {
    for (uint32_t k = 0; k < t.count; k++) mark_wanted(s, t.leaves[k]);
    return;
  }
  int product = select_product(l, i), compared = joined_comparison(l, i);
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = select_operand(l, i, k);
    if ((int)k == product || (int)k == compared) {
      mark_wanted(s, inst_operand(l->f, value_inst(l->f, v), 0));
      mark_wanted(s, inst_operand(l->f, value_inst(l->f, v), 1));
    } else if (k == inst_address_operand(i)) {
      want_address(s, v);
    } else if (select_moves_lanes((enum op)i->op)) {
      want_lanes(s, v);
    } else {
      mark_wanted(s, v);
    }
  }
}

bool select_function(struct lower *l) {
  const struct nvm_function *f = l->f;
  struct selector s = {.l = l};
  l->addresses.data = NULL;
  l->addresses.count = l->addresses.capacity = 0;
  l->products.data = NULL;
  l->products.count = l->products.capacity = 0;
  l->selection = arena_alloc(&l->function_arena, f->insts.count * sizeof *l->selection);
  s.stack = arena_alloc(&l->function_arena, f->insts.count * sizeof *s.stack);
  if (!l->selection || !s.stack) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) note_test(l, function_inst(f, i));
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (!effects_must_stay(f, inst) || effects_is_debug(f, inst)) continue;
      mark_wanted(&s, value_of_inst(i));
      while (s.depth) want_operands(&s, &f->insts.data[s.stack[--s.depth]]);
    }
  return !l->function_arena.failed;
}
