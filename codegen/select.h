/* Instruction selection, decided once for a function, before registers are assigned and anything is
 * lowered: which instructions are emitted, which operands are folded into their readers, and which
 * results share registers by construction. Coalescing and lowering read these decisions.
 *
 *   pattern                              decision
 *   result is not used                   not wanted
 *   add, fadd, fsub of a product, sub of `folded` bit of the product, which is not wanted: mad, fma
 *   a product by a constant, or an i32
 *   shifted left by one
 *   gep index extended from 32 bits      `folded` bit of the index: mul.wide extends it
 *   gep index that is a constant times   bit 8 + k of `folded`: the step of index k includes it
 *   another value, before or after that
 *   64-bit product of 32-bit factors     bit 2 or 3 of `folded`: mul.wide; bits 0 and 1: it extends
 *                                        the factor
 *   store of a truncated integer         `folded` bit 0: the access truncates
 *   truncation of a 64-bit value shifted `folded` bit 0: the high word is read
 *   right by 32 or more, or 32-bit by 16
 *   mask of low ones of a right shift,   `folded` bit 0: one bfe computes both
 *   or right shift of such a mask
 *   or of an extended integer and        `folded` bit of the operand that is the low half: a mov
 *   one shifted to the other half        joins the two
 *   and, or of a comparison and another   `folded` bit of the comparison, which is not wanted: setp
 *   predicate, also as selects           joins the two
 *   bitwise operations on at most three  bit 15 of `folded` of the last one; the others are not
 *   i32 in all                           wanted: lop3
 *   extended load of 8 or 16 bits, or    `coalesced_with` of the load is the zext or sext: the
 *                                        access extends
 *   insertvalue into a dying aggregate   `coalesced_with` is the aggregate: changed in place
 *   alloca, constant gep, cast to the    the pointer's address is another base plus an offset
 *   generic space
 *   lane of a packed vector              lane instructions look through insertions into it
 *
 * Coalescing adds to `coalesced_with`, and sets `is_shared`. */
#ifndef NVM_CODEGEN_SELECT_H
#define NVM_CODEGEN_SELECT_H

#include "codegen/lower.h"

struct selection {
  uint32_t coalesced_with; /* the instruction in whose registers the result is; 0: in its own */
  uint32_t address; /* of a pointer: 1 + its address in lower.addresses; of an extension: 1 + its
                       product in lower.products; 0: not decided yet, or none */
  uint16_t folded; /* bit k: this instruction computes operand k itself, from that one's operands */
  bool wanted : 1; /* emitted, with a result in registers */
  bool is_shared : 1;       /* the registers hold other values at other times */
  bool is_tested : 1;       /* compared with 0 */
  bool is_distant_base : 1; /* a phi; see note_distant_base() in coalesce.c */
  bool is_signed : 1; /* a load of a byte: with copies of its sign above, which its reader wants */
  bool makes_floats : 1; /* a conversion to float reads it, or a lane of it */
};

static inline struct selection *selection_of(const struct lower *l, const struct nvm_inst *i) {
  return &l->selection[i - l->f->insts.data];
}
static inline bool is_read_once(const struct lower *l, struct nvm_value v) {
  return l->f->uses.data[value_index(v)] == 1;
}

/* base + offset; where `in_frame`, base is an alloca with a fixed place. */
struct selected_address {
  struct nvm_value base;
  int64_t offset;
  bool in_frame;
};

/* Decides for the whole function; needs the places of allocas. False when out of memory. */
bool select_function(struct lower *l);

/* Operand k as instruction i reads it: the extension of an index, a factor or the amount of a
 * shift, the truncation of a stored value, the shift of a truncated one, what a field is cut out
 * with, or what makes halves of two joined values is looked through where i does it. */
struct nvm_value select_folded_operand(const struct lower *l, const struct nvm_inst *i, uint32_t k);
static inline struct nvm_value select_operand(const struct lower *l, const struct nvm_inst *i,
                                              uint32_t k) {
  return l->selection[i - l->f->insts.data].folded ? select_folded_operand(l, i, k)
                                                   : inst_operand(l->f, i, k);
}
/* Index k of a gep is value * scale, value extended by mul.wide if it has 32 bits. */
struct selected_index {
  struct nvm_value value;
  uint64_t scale;
  bool is_signed;
};
struct selected_index select_index(const struct lower *l, const struct nvm_inst *gep, uint32_t k);
/* Whether mul.wide computes i, a product or left shift of 64 bits whose factors fit 32 bits. */
enum select_wide { SELECT_NOT_WIDE = 0, SELECT_WIDE_UNSIGNED = 4, SELECT_WIDE_SIGNED = 8 };
enum select_wide select_wide_product(const struct lower *l, const struct nvm_inst *i);
/* The operand that is the low half of an or of two joined halves; -1: it is no such or. */
int select_low_half(const struct lower *l, const struct nvm_inst *i);
/* Bits of `of`, with zeros above or copies of the highest one. */
struct select_field {
  struct nvm_value of;
  uint32_t first, bits;
  bool is_signed;
};
/* Whether i cuts this field, whose `of` is operand 0 as it reads it. */
bool select_is_field(const struct lower *l, const struct nvm_inst *i, struct select_field *field);
/* Whether i is one bfe or mov by the patterns for fields and halves. */
bool select_has_pattern(const struct lower *l, const struct nvm_inst *i);
/* Whether i is the last of several operations that one lop3 computes. */
bool select_is_logic(const struct lower *l, const struct nvm_inst *i);
/* The operand that is a product to be fused with this sum; -1: none. */
int select_product(const struct lower *l, const struct nvm_inst *i);
/* The zext or sext whose registers a load writes, extended; 0: none. */
struct nvm_inst_id select_extension(const struct lower *l, struct nvm_inst_id load);
/* Whether the load has computed the result of this zext or sext. */
bool select_is_loaded(const struct lower *l, const struct nvm_inst *extension);
/* The address that an access to `pointer` uses. Coalescing may change registers that the base has;
 * then the nearest pointer on the way to it that has registers is the base. */
struct selected_address select_address(struct lower *l, struct nvm_value pointer);

/* Instructions that only move lanes may get the registers of their operands (vector.c). */
static inline bool select_moves_lanes(enum op op) {
  return op >= OP_EXTRACTELEMENT && op <= OP_SHUFFLEVECTOR;
}
/* Whether v is an insertion into a packed vector at a lane that is known. Lane instructions look
 * through SELECT_MAX_INSERTIONS of these, which then need no registers. */
bool select_is_insertion(struct lower *l, struct nvm_value v, uint64_t *lane);
enum { SELECT_MAX_INSERTIONS = 64 };

#endif
