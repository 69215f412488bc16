/* Comparisons that setp joins with another predicate.
 *
 *     and i1 %a, (icmp slt i32 %x, %y)             setp.lt.and.s32 p, x, y, a
 *     select i1 %a, i1 false, (icmp …)             setp.lt.and.s32 p, x, y, !a
 *     select i1 (icmp …), i1 false, i1 %a          setp.ge.and.s32 p, x, y, a
 *
 * In such a select, poison in the arm that is not chosen has no effect. The same holds for `and`
 * and `or` of registers, which always hold some bits. */
#include "codegen/joined.h"
#include "codegen/part.h"
#include "codegen/select.h"
#include "codegen/value.h"

/* Whether v is a comparison of values of one register each, in the block of its only reader i. */
static bool is_joinable(struct lower *l, const struct nvm_inst *i, struct nvm_value v) {
  const struct nvm_inst *c = value_inst(l->f, v);
  if (!c || (c->op != OP_ICMP && c->op != OP_FCMP) || !is_read_once(l, v) ||
      c->block.index != i->block.index)
    return false;
  struct part_list parts = part_list(l, value_type(l->f, inst_operand(l->f, c, 0)));
  const struct part *p = part_at(parts, 0);
  bool is_supported = c->op == OP_ICMP
                          ? p->kind == PART_INT
                          : part_is_full(p) || (part_is_small(p) && part_is_legal(l, p));
  return parts.count == 1 && is_supported &&
         (c->op == OP_ICMP || (c->aux != FCMP_FALSE && c->aux != FCMP_TRUE));
}

bool joined_find(const struct lower *l, const struct nvm_inst *i, struct joined *j) {
  nvm_u128 constant;
  *j = (struct joined){.of = {0, 1}, .is_or = i->op == OP_OR};
  if (!type_equal(i->type, TYPE_I1)) return false;
  if (i->op == OP_AND || i->op == OP_OR) return true;
  if (i->op != OP_SELECT) return false;
  bool first = const_is_int(l->module, inst_operand(l->f, i, 1), &constant);
  if (!first && !const_is_int(l->module, inst_operand(l->f, i, 2), &constant)) return false;
  j->of[1] = first ? 2 : 1;
  j->is_or = constant != 0;
  j->negates = first != j->is_or;
  return true;
}

void joined_select(struct lower *l, const struct nvm_inst *i) {
  struct joined j;
  if (l->target->optimization_level == 0 || !joined_find(l, i, &j)) return;
  for (uint32_t n = 0; n < 2; n++)
    if (value_kind(inst_operand(l->f, i, j.of[n])) == VALUE_CONST) return;
  for (uint32_t n = 2; n-- > 0;)
    if (is_joinable(l, i, inst_operand(l->f, i, j.of[n]))) {
      selection_of(l, i)->folded = (uint16_t)(1u << j.of[n]);
      return;
    }
}

int joined_comparison(const struct lower *l, const struct nvm_inst *i) {
  struct joined j;
  uint16_t folded = joined_find(l, i, &j) ? selection_of(l, i)->folded : UINT16_C(0);
  return folded == 0 ? -1 : folded / 2; /* 1, 2, 4: operand 0, 1, 2 */
}
