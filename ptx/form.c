/* Interprets the words of an intrinsic's PTX form (layout in form.h) and appends its instructions.
 * Code generation and the simulator use the same forms; they supply functions for values and types
 * of the call. */
#include "ptx/form.h"

static const uint16_t words[] = {
#define INTRINSIC_WORDS
#include "intrinsics.inc"
#undef INTRINSIC_WORDS
};

static const uint16_t offsets[] = {
    0,
#define INTRINSIC_OFFSETS
#include "intrinsics.inc"
#undef INTRINSIC_OFFSETS
};

enum { MAX_MEMBERS = 160, MAX_OPERANDS = 24, MAX_MODS = 24 };

const uint16_t *form_of(uint32_t intrinsic) {
  return offsets[intrinsic] ? words + offsets[intrinsic] : NULL;
}

/* --- operands --------------------------------------------------------------------------------- */

static struct ptx_reg temporary(struct form_reader *r, uint16_t word) {
  static const uint8_t classes[8] = {PTX_PRED, PTX_B16, PTX_B32, PTX_B64,
                                     PTX_F32,  PTX_F64, PTX_B8,  PTX_B128};
  struct ptx_reg *slot = &r->temps[word >> 4 & 7][word & 15];
  if (ptx_reg_is_none(*slot)) *slot = ptx_new_reg(r->f, (enum ptx_class)classes[word >> 4 & 7]);
  return *slot;
}

/* Reads the operands of one word into `to`: several if a whole value is in a group. */
static uint32_t read_operands(struct form_reader *r, struct ptx_operand *to, uint32_t room);

static struct ptx_operand read_group(struct form_reader *r, enum ptx_operand_kind kind,
                                     uint32_t count) {
  struct ptx_operand members[MAX_MEMBERS];
  uint32_t n = 0;
  bool before = r->registers_only;
  r->registers_only = kind != PTX_OPERAND_PAIR;
  for (uint32_t k = 0; k < count; k++) n += read_operands(r, members + n, MAX_MEMBERS - n);
  r->registers_only = before;
  return ptx_group(r->f, kind, members, n);
}

static uint32_t read_value(struct form_reader *r, uint16_t word, struct ptx_operand *to,
                           uint32_t room) {
  uint32_t k = (word & FORM_KIND) == FORM_RESULT ? FORM_TYPE_RESULT : word >> 6 & 63,
           part = word & 63, count = 0;
  uint32_t first = part == FORM_ALL ? 0 : part, last = part == FORM_ALL ? r->parts(r, k) : part + 1;
  for (uint32_t p = first; p < last && count < room; p++)
    to[count++] = r->value(r, k, p, r->registers_only);
  return count;
}

static struct ptx_operand read_operand(struct form_reader *r, uint16_t word) {
  uint32_t payload = word & 0xfff;
  switch (word & FORM_KIND) {
    case FORM_INT: return ptx_i((int16_t)*r->at++);
    case FORM_SPECIAL: return ptx_special_reg(*r->at++);
    case FORM_TEMP: return ptx_r(temporary(r, word));
    case FORM_VECTOR: return read_group(r, PTX_OPERAND_VECTOR, payload);
    case FORM_PAIR: return read_group(r, PTX_OPERAND_PAIR, payload);
    case FORM_TENSOR: return read_group(r, PTX_OPERAND_TENSOR, payload);
    case FORM_ADDRESS: return ptx_at(r->value(r, payload, 0, true).reg, 0);
    case FORM_NOT: {
      struct ptx_operand o = {.kind = PTX_OPERAND_NONE};
      read_operands(r, &o, 1);
      o.negated = true;
      return o;
    }
    case FORM_REG: {
      struct ptx_operand o = {.kind = PTX_OPERAND_NONE};
      r->registers_only = true;
      read_operands(r, &o, 1);
      return o;
    }
    default: return (struct ptx_operand){.kind = PTX_OPERAND_NONE};
  }
}

static uint32_t read_operands(struct form_reader *r, struct ptx_operand *to, uint32_t room) {
  uint16_t word = *r->at++, kind = word & FORM_KIND;
  if (kind == FORM_IF) {
    if (r->constant(r, word & 63)) return read_operands(r, to, room);
    r->at += word >> 6 & 63;
    return 0;
  }
  if (kind == FORM_RESULT || kind == FORM_ARG) return read_value(r, word, to, room);
  if (room == 0) return 0;
  *to = read_operand(r, word);
  return 1;
}

/* --- modifiers -------------------------------------------------------------------------------- */

/* The word selected by constant arguments; two of them make a number of base 4. */
static uint16_t chosen_word(struct form_reader *r, uint16_t word) {
  uint32_t count = word >> 6 & 63, second = *r->at++, each = second == FORM_ALL ? 1 : 4;
  const uint16_t *choices = r->at;
  uint64_t choice = r->constant(r, word & 63), allowed = 0;
  uint64_t low = second == FORM_ALL ? 0 : r->constant(r, second);
  r->at += count;
  if (low >= each) {
    r->refuse(r, second, (1u << each) - 1, low);
    return PTX_MOD_NONE;
  }
  for (uint32_t k = 0; k < count / each; k++)
    if (choices[k * each + low] != FORM_MOD_NEVER) allowed |= UINT64_C(1) << k;
  if (choice < 64 && (allowed >> choice & 1)) return choices[choice * each + low];
  r->refuse(r, word & 63, allowed, choice);
  return PTX_MOD_NONE;
}

static uint16_t read_modifier(struct form_reader *r) {
  uint16_t word = *r->at++;
  switch (word & FORM_KIND) {
    case FORM_MOD_SPACE: return r->space(r, word & 0xfff);
    case FORM_MOD_FTZ: return r->ftz ? PTX_MOD_FTZ : PTX_MOD_NONE;
    case FORM_MOD_TYPE: return r->type(r, word & 0xff, word >> 8 & 3);
    case FORM_MOD_CHOICE: return chosen_word(r, word);
    default: return word;
  }
}

/* --- instructions ----------------------------------------------------------------------------- */

static bool is_destination(uint16_t word) {
  uint16_t kind = word & FORM_KIND;
  return kind == FORM_RESULT || kind == FORM_TEMP || kind == FORM_VECTOR || kind == FORM_PAIR;
}

/* One instruction; false at the end of the form. */
static bool emit_instruction(struct form_reader *r) {
  struct ptx_operand operands[MAX_OPERANDS], guard = {0};
  uint16_t mods[MAX_MODS + 1];
  uint32_t count = 0, mod_count = 0;
  enum ptx_op op = (enum ptx_op) * r->at++;
  if (op == PTX_NONE) return false;
  for (uint32_t n = *r->at++; n-- > 0;) {
    uint16_t mod = read_modifier(r);
    if (mod != PTX_MOD_NONE && mod_count < MAX_MODS) mods[mod_count++] = mod;
  }
  mods[mod_count] = PTX_MOD_NONE;
  uint16_t head = *r->at++;
  if (head & FORM_GUARDED) read_operands(r, &guard, 1);
  bool has_destination = (head & 0xff) > 0 && is_destination(*r->at);
  for (uint32_t k = 0; k < (head & 0xffu); k++) {
    r->registers_only = has_destination && k == 1;
    count += read_operands(r, operands + count, MAX_OPERANDS - count);
  }
  r->registers_only = false;
  if (head & FORM_GUARDED)
    ptx_add_guarded(r->f, guard.reg, guard.negated, op, mods, operands, count);
  else ptx_add(r->f, op, mods, operands, count);
  return true;
}

void form_emit(struct form_reader *r, const uint16_t *form) {
  r->at = form;
  while (emit_instruction(r)) continue;
}
