/* Removes the copies at the end of what one IR instruction was lowered to.
 *
 *     add.s64  %rd7, %rd1, %rd2;            add.s64  %rd3, %rd1, %rd2;
 *     mov.b64  %rd3, %rd7;           →
 *
 * Helper functions return their result in a new register, which is then copied to the result's
 * register. If the same IR instruction defined that temporary and only the copy reads it, its
 * definition writes the result directly. Only trailing copies are removed, and only if the
 * definition is at most LOOK_BACK entries before. */
#include "codegen/stage.h"
#include "ptx/check.h"

enum { LOOK_BACK = 12 };

static struct ptx_operand *operand_of(const struct lower *l, const struct ptx_entry *e,
                                      uint32_t k) {
  return &l->pf->operands.data[e->first_operand + k];
}

static bool is_register_copy(const struct lower *l, const struct ptx_entry *e) {
  if (e->kind != PTX_INST || e->op != PTX_MOV || e->operand_count != 2) return false;
  if (!ptx_reg_is_none(e->guard)) return false;
  const struct ptx_operand *to = operand_of(l, e, 0), *from = operand_of(l, e, 1);
  return to->kind == PTX_OPERAND_REG && from->kind == PTX_OPERAND_REG && !from->negated &&
         ptx_reg_class(to->reg) == ptx_reg_class(from->reg);
}

static bool mentions(const struct lower *l, const struct ptx_operand *o, struct ptx_reg r) {
  switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDRESS_REG: return o->reg.bits == r.bits;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TENSOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
      for (uint32_t k = 0; k < o->count; k++)
        if (mentions(l, &l->pf->operands.data[o->first + k], r)) return true;
      return false;
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_LABEL:
    case PTX_OPERAND_SPECIAL:
    case PTX_OPERAND_ADDRESS_SYMBOL:
    case PTX_OPERAND_ADDRESS_IMM: break;
  }
  return false;
}

static bool entry_mentions(const struct lower *l, const struct ptx_entry *e, struct ptx_reg r) {
  if (e->kind != PTX_INST) return true; /* labels and scopes end the search */
  if (e->guard.bits == r.bits) return true;
  for (uint32_t k = 0; k < e->operand_count; k++)
    if (mentions(l, operand_of(l, e, k), r)) return true;
  return false;
}

/* Whether e writes r alone, as its first operand, and reads it nowhere. */
static bool defines(const struct lower *l, const struct ptx_entry *e, struct ptx_reg r) {
  if (e->kind != PTX_INST || !ptx_reg_is_none(e->guard) || e->operand_count < 2) return false;
  const struct ptx_operand *to = operand_of(l, e, 0);
  if (to->kind != PTX_OPERAND_REG || to->reg.bits != r.bits) return false;
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(l->pf, e, &need);
  if (!form || form->dest_count != 1) return false;
  for (uint32_t k = 1; k < e->operand_count; k++)
    if (mentions(l, operand_of(l, e, k), r)) return false;
  return true;
}

/* The entry in [from, copy) that defines `r` with nothing in between that mentions `r` or `to`. */
static struct ptx_entry *find_definition(const struct lower *l, uint32_t from, uint32_t copy,
                                         struct ptx_reg r, struct ptx_reg to) {
  struct ptx_entry *entries = l->pf->entries.data;
  uint32_t stop = copy > from + LOOK_BACK ? copy - LOOK_BACK : from;
  for (uint32_t k = copy; k-- > stop;) {
    if (defines(l, &entries[k], r))
      return &entries[k]; /* which may read `to` before it writes it */
    if (entry_mentions(l, &entries[k], r) || entry_mentions(l, &entries[k], to)) return NULL;
  }
  return NULL;
}

void tidy_copies(struct lower *l, uint32_t from, const uint32_t first_temp[PTX_CLASS_COUNT]) {
  while (l->pf->entries.count > from) {
    uint32_t last = l->pf->entries.count - 1;
    const struct ptx_entry *copy = &l->pf->entries.data[last];
    if (!is_register_copy(l, copy)) return;
    struct ptx_reg to = operand_of(l, copy, 0)->reg, temp = operand_of(l, copy, 1)->reg;
    if (ptx_reg_number(temp) <= first_temp[ptx_reg_class(temp)]) return;
    struct ptx_entry *definition = find_definition(l, from, last, temp, to);
    if (!definition) return;
    operand_of(l, definition, 0)->reg = to;
    l->pf->entries.count--;
  }
}
