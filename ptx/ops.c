/* Look-ups in the generated instruction table; see ops.h. */
#include "ptx/ops.h"

#include "ptx/word_hash.h"

#include <string.h>

#include "ptx_ops.inc"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

const struct ptx_op_row *ptx_op_row(uint16_t op) { return &op_rows[op]; }
const struct ptx_mod_row *ptx_mod_row(uint16_t mod) { return &mod_rows[mod]; }
const struct ptx_special_row *ptx_special_row(uint32_t special) { return &special_rows[special]; }
const char *ptx_issue_name(enum ptx_issue issue) { return issue_names[issue]; }

enum ptx_op ptx_find_op(const char *text, size_t length) {
  uint32_t slot = ptx_word_hash(text, length) & (COUNT(op_slots) - 1);
  for (; op_slots[slot]; slot = (slot + 1) & (COUNT(op_slots) - 1)) {
    const struct ptx_op_row *row = &op_rows[op_slots[slot]];
    if (row->length == length && memcmp(row->text, text, length) == 0)
      return (enum ptx_op)op_slots[slot];
  }
  return PTX_NONE;
}

enum ptx_mod ptx_find_mod(const char *text, size_t length) {
  uint32_t slot = ptx_word_hash(text, length) & (COUNT(mod_slots) - 1);
  for (; mod_slots[slot]; slot = (slot + 1) & (COUNT(mod_slots) - 1)) {
    const struct ptx_mod_row *row = &mod_rows[mod_slots[slot]];
    if (row->length == length && memcmp(row->text, text, length) == 0)
      return (enum ptx_mod)mod_slots[slot];
  }
  return PTX_MOD_NONE;
}

enum ptx_special ptx_find_special(const char *text, size_t length) {
  uint32_t slot = ptx_word_hash(text, length) & (COUNT(special_slots) - 1);
  for (; special_slots[slot]; slot = (slot + 1) & (COUNT(special_slots) - 1)) {
    const struct ptx_special_row *row = &special_rows[special_slots[slot]];
    if (row->length == length && memcmp(row->text, text, length) == 0)
      return (enum ptx_special)special_slots[slot];
  }
  return PTX_SPECIAL_NONE;
}

const struct ptx_step *ptx_step(uint16_t state, uint16_t mod) {
  const struct ptx_state *s = &state_rows[state];
  const struct ptx_step *steps = &step_rows[s->first_step];
  uint32_t low = 0, high = s->step_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (steps[middle].mod < mod) low = middle + 1;
    else high = middle;
  }
  return low < s->step_count && steps[low].mod == mod ? &steps[low] : NULL;
}

const struct ptx_state *ptx_state(uint16_t state) { return &state_rows[state]; }

const struct ptx_step *ptx_state_step(const struct ptx_state *state, uint32_t i) {
  return &step_rows[state->first_step + i];
}

const struct ptx_form *ptx_state_form(const struct ptx_state *state, uint32_t i) {
  return &form_rows[accept_rows[state->first_form + i]];
}

const struct ptx_shape *ptx_form_shapes(const struct ptx_form *form) {
  return &shape_rows[form->first_shape];
}
const struct ptx_bounds *ptx_bounds(uint8_t range) { return &range_rows[range]; }
const struct tgt_requirement *ptx_need(uint16_t need) { return &need_rows[need]; }
