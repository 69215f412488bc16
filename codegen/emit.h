/* Instructions, and the short sequences that all lowering functions use. A function that returns an
 * operand puts its value into a new register. */
#ifndef NVM_CODEGEN_EMIT_H
#define NVM_CODEGEN_EMIT_H

#include "codegen/part.h"
#include "ptx/gate.h"

/* A new register of a class; one that holds part p. */
static inline struct ptx_reg emit_temp(struct lower *l, enum ptx_class c) {
  return ptx_new_reg(l->pf, c);
}
static inline struct ptx_reg emit_new_reg(struct lower *l, const struct part *p) {
  return ptx_new_reg(l->pf, part_class(p));
}
/* Whether the target has the op with exactly these modifiers. */
static inline bool emit_has(const struct lower *l, enum ptx_op op, const uint16_t *mods) {
  return gate_has(l->target, op, mods);
}

/* Append an instruction to the current function; d: the destination. */
void emit0(struct lower *l, enum ptx_op op, const uint16_t *mods);
void emit1(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand a);
void emit2(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a);
void emit3(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b);
void emit4(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b, struct ptx_operand c);
/* A list of modifiers without those that are PTX_MOD_NONE; at most seven. */
struct emit_mod_list {
  uint16_t words[8];
};
struct emit_mod_list emit_mods(const uint16_t *words, size_t count);
#define EMIT_MOD_LIST(...)                   \
  emit_mods((const uint16_t[]){__VA_ARGS__}, \
            sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))
/* The words of such a list, which live until the call ends whose argument this is. */
#define EMIT_MODS(...) (EMIT_MOD_LIST(__VA_ARGS__).words)

/* The same with a new register for the result, of the class that holds `type`, which is also the
 * only modifier if no others are given: op.type, setp.how.type, selp.type, cvt.to.from. */
struct ptx_operand emit_value(struct lower *l, uint16_t type, enum ptx_op op, const uint16_t *mods,
                              const struct ptx_operand *from, uint32_t count);
struct ptx_operand emit_unary(struct lower *l, enum ptx_op op, uint16_t type, struct ptx_operand a);
struct ptx_operand emit_binary(struct lower *l, enum ptx_op op, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b);
struct ptx_operand emit_compare(struct lower *l, uint16_t how, uint16_t type, struct ptx_operand a,
                                struct ptx_operand b);
struct ptx_operand emit_select(struct lower *l, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b, struct ptx_operand when);
struct ptx_operand emit_convert(struct lower *l, uint16_t to, uint16_t from, struct ptx_operand v);
/* Two registers as one of twice the size, and back. */
struct ptx_operand emit_group(struct lower *l, uint16_t type, struct ptx_operand low,
                              struct ptx_operand high);
void emit_ungroup(struct lower *l, uint16_t type, struct ptx_operand from, struct ptx_operand low,
                  struct ptx_operand high);
void emit_branch(struct lower *l, uint32_t label);
void emit_branch_if(struct lower *l, struct ptx_operand condition, bool negated, uint32_t label);
uint32_t emit_new_label(struct lower *l); /* without a name */

/* Copies an operand into a given register (mov of the right class). */
void emit_copy(struct lower *l, struct ptx_reg to, struct ptx_operand from);
/* An immediate in a new register; registers as they are. PTX has no form with two immediates for
 * some ops, and ptxas folds nothing. */
struct ptx_operand emit_in_reg(struct lower *l, struct ptx_operand v, const struct part *p);
/* What is above a byte in a 16-bit register: with zeros, or copies of its sign, emit_extend() needs
 * no instruction there. Ignored if the result of the current instruction shares its register. */
enum byte_above { ABOVE_ANY, ABOVE_ZERO, ABOVE_SIGN };
void emit_note_above(struct lower *l, struct ptx_reg r, enum byte_above above);
bool emit_has_above(const struct lower *l, struct ptx_operand v, enum byte_above above);
/* An integer part with defined upper bits: extended to its container (at least `bits` wide: 16, 32,
 * 64), a predicate to `bits`. Returns the operand itself if it is so already. */
struct ptx_operand emit_extend(struct lower *l, struct ptx_operand v, const struct part *p,
                               uint32_t bits, bool is_signed);
static inline struct ptx_operand emit_zext(struct lower *l, struct ptx_operand v,
                                           const struct part *p, uint32_t bits) {
  return emit_extend(l, v, p, bits, false);
}
static inline struct ptx_operand emit_sext(struct lower *l, struct ptx_operand v,
                                           const struct part *p, uint32_t bits) {
  return emit_extend(l, v, p, bits, true);
}
/* The low `to` bits of a register of `from` bits; the operand itself if that is no fewer. */
struct ptx_operand emit_narrow(struct lower *l, struct ptx_operand v, uint32_t from, uint32_t to);
/* i1 → integer register of 0 or 1 (16, 32, 64 bits), and back (the low bit). */
struct ptx_operand emit_pred_to_int(struct lower *l, struct ptx_operand pred, uint32_t bits);
struct ptx_operand emit_int_to_pred(struct lower *l, struct ptx_operand value, uint32_t bits);

/* Two 16-bit registers as a packed pair, and back. */
struct ptx_operand emit_pack_pair(struct lower *l, struct ptx_operand low, struct ptx_operand high);
void emit_unpack_pair(struct lower *l, struct ptx_operand pair, struct ptx_operand lanes[2]);
/* Computes one lane of up to three operands; `how` is the caller's. */
typedef void lane_function(struct lower *l, const struct part *p, struct ptx_reg to,
                           const struct ptx_operand v[3], const void *how);
/* The lanes of a packed pair, one by one. */
void emit_pair_by_lanes(struct lower *l, const struct part *p, struct ptx_reg to,
                        const struct ptx_operand *v, uint32_t count, lane_function *lane,
                        const void *how);

/* A field of a 32-bit register, sign-extended to 32 bits. If it does not begin at bit 0, ptxas
 * makes two machine instructions of bfe, and one of shr or prmt; but one of bfe of a byte and its
 * conversion to float together, which `makes_floats` announces. */
void emit_signed_field(struct lower *l, struct ptx_operand to, struct ptx_operand word,
                       uint32_t first, uint32_t bits, bool makes_floats);

#endif
