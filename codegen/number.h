/* Arithmetic, comparison and conversion of parts; used by intrinsics, atomics, inline assembly too.
 * Integers of `bits` 1..128 are one or two parts, low first. */
#ifndef NVM_CODEGEN_NUMBER_H
#define NVM_CODEGEN_NUMBER_H

#include "codegen/emit.h"

/* One lane of a binary op on scalars of part p (int or float), into `to`. */
void int_binary_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                     struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);
/* The same for integers; p: the first part. */
void int_binary_bits(struct lower *l, enum op op, uint32_t bits, const struct part *p,
                     const struct ptx_operand *to, const struct ptx_operand *a,
                     const struct ptx_operand *b);
/* Integer comparison, giving a predicate. */
struct ptx_operand int_compare(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                               const struct part *p, const struct ptx_operand *a,
                               const struct ptx_operand *b);
void int_compare_part(struct lower *l, enum icmp_predicate pred, const struct part *p,
                      struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);
/* What setp does with its result: PTX_MOD_AND or PTX_MOD_OR and a predicate, or nothing (0). */
struct compare_join {
  uint16_t how;
  struct ptx_operand with;
};
void float_compare_part(struct lower *l, enum fcmp_predicate pred, const struct part *p,
                        struct ptx_reg to, struct ptx_operand a, struct ptx_operand b,
                        const struct compare_join *join);
/* Lowers an `and`, `or` or select that is joined with a comparison (select.h); false: i is none. */
bool int_lower_joined(struct lower *l, const struct nvm_inst *i);
/* The field of a word that the selector found i to be (select.h), by one bfe. */
bool int_lower_field(struct lower *l, const struct nvm_inst *i);
/* setp, its modifiers those of the join. */
static inline void emit_setp(struct lower *l, const uint16_t *mods, struct ptx_reg to,
                             struct ptx_operand a, struct ptx_operand b,
                             const struct compare_join *join) {
  if (join->how) emit4(l, PTX_SETP, mods, ptx_r(to), a, b, join->with);
  else emit3(l, PTX_SETP, mods, ptx_r(to), a, b);
}
/* a op divisor, extended as the op's signedness says, without dividing; false: nothing was emitted.
 */
bool divide_by_constant(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                        struct ptx_operand a, int64_t divisor);
void wide_binary(struct lower *l, enum op op, uint32_t bits, const struct ptx_operand to[2],
                 const struct ptx_operand a[2], const struct ptx_operand b[2]);
/* `to_odd` (f32 only): towards zero with the lowest bit set if inexact, to be rounded once more. */
void wide_to_float(struct lower *l, uint32_t bits, bool is_signed, bool is_double, bool to_odd,
                   struct ptx_reg to, const struct ptx_operand v[2]);
void wide_from_float(struct lower *l, bool is_signed, bool is_double,
                     const struct ptx_operand to[2], struct ptx_operand v);

/* One lane of a float binary op. */
void float_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);
/* Lowers a sum with a fused product (select.h); false if it is none. */
bool float_lower_fused(struct lower *l, const struct nvm_inst *i);
/* The current instruction as op.rn.f32x2 on `count` values, of which the one numbered `negated`
 * (-1: none) is negated. Returns the number of lanes that are done: even, 0 if the target has no
 * such pairs of this type. */
uint32_t float_pairs(struct lower *l, enum ptx_op op, struct nvm_type type,
                     const struct nvm_value *v, int count, int negated);
/* `.ftz`, or PTX_MOD_NONE, as the function requires it of the type. */
static inline uint16_t float_ftz(const struct lower *l, uint16_t type) {
  return l->ftz && type == PTX_MOD_F32 ? PTX_MOD_FTZ : PTX_MOD_NONE;
}
/* The sign bit or bits of a 16-bit float, or packed pair, as an immediate. */
static inline struct ptx_operand float_sign_bits(const struct part *p) {
  return ptx_i(p->container == 16 ? -0x8000 : (int64_t)(int32_t)0x80008000u);
}
/* 16-bit float ↔ f32. */
struct ptx_operand float_to_f32(struct lower *l, const struct part *p, struct ptx_operand v);
void float_from_f32(struct lower *l, const struct part *p, struct ptx_reg to, struct ptx_operand v);
/* To float towards zero, with the lowest bit set if inexact: rounding that once more, to a format
 * narrower by two bits or more, gives what rounding the source would. */
struct ptx_operand float_round_to_odd(struct lower *l, struct ptx_operand v); /* of a double */
struct ptx_operand float_from_int64_to_odd(struct lower *l, struct ptx_operand v, bool is_signed);
/* Of .f32 or .f64, as `type` says: the number with these bits; 2^exponent; the number of which
 * `high` is the word with sign and exponent, all other bits zero. */
struct ptx_operand float_immediate(uint16_t type, uint32_t f32, uint64_t f64);
struct ptx_operand float_power_of_two(uint16_t type, int exponent);
struct ptx_operand float_of_word(struct lower *l, uint16_t type, struct ptx_operand high);

/* The pointer v of one address space as one of another. */
void convert_space(struct lower *l, uint32_t from_space, uint32_t to_space, struct ptx_reg target,
                   struct ptx_operand v);
/* The bits of registers of one type (NULL: an earlier error) as another type of as many bits. */
void convert_bits(struct lower *l, struct nvm_type from_type, const struct ptx_reg *source,
                  struct nvm_type to_type, const struct ptx_reg *target);
/* Any part as a 64-bit integer of its bits, zeros above; and back into a register of the part. */
struct ptx_operand convert_to_bits(struct lower *l, const struct part *p, struct ptx_operand v);
void convert_from_bits(struct lower *l, const struct part *p, struct ptx_reg to,
                       struct ptx_operand bits);
/* word |= bits << by, or >> -by, of 64 bits. */
void convert_or_shifted(struct lower *l, struct ptx_operand word, struct ptx_operand bits, int by);
/* The four bytes of a 32-bit register in 16-bit registers (zero above), and back (bits above 8 are
 * ignored). */
void convert_unpack_bytes(struct lower *l, struct ptx_operand word, const struct ptx_operand to[4]);
/* The four bytes of a 32-bit register in 32-bit registers, extended; `makes_floats` as in
 * emit_signed_field(). */
void convert_extend_bytes(struct lower *l, struct ptx_operand word, const struct ptx_operand to[4],
                          bool is_signed, bool makes_floats);
void convert_pack_bytes(struct lower *l, struct ptx_reg to, const struct ptx_operand bytes[4]);

#endif
