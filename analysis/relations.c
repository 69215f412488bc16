/* Comparisons of the same values; see relations.h. */
#include "analysis/relations.h"

enum { SLOTS = 256, MAX_STEPS = 8 };

/* How two numbers may relate: equal, or below or above, signed and unsigned. */
enum { EQUAL = 1, BOTH_BELOW = 2, SIGNED_BELOW = 4, UNSIGNED_BELOW = 8, BOTH_ABOVE = 16, ANY = 31 };

/* The relations for which the predicate holds. */
static uint32_t relations_of(enum icmp_predicate p) {
  switch (p) {
    case ICMP_EQ: return EQUAL;
    case ICMP_NE: return ANY & ~EQUAL;
    case ICMP_ULT: return BOTH_BELOW | UNSIGNED_BELOW;
    case ICMP_ULE: return BOTH_BELOW | UNSIGNED_BELOW | EQUAL;
    case ICMP_UGT: return BOTH_ABOVE | SIGNED_BELOW;
    case ICMP_UGE: return BOTH_ABOVE | SIGNED_BELOW | EQUAL;
    case ICMP_SLT: return BOTH_BELOW | SIGNED_BELOW;
    case ICMP_SLE: return BOTH_BELOW | SIGNED_BELOW | EQUAL;
    case ICMP_SGT: return BOTH_ABOVE | UNSIGNED_BELOW;
    default: return BOTH_ABOVE | UNSIGNED_BELOW | EQUAL;
  }
}

bool relations_init(struct relations *r, const struct nvm_function *f, const struct dominance *d,
                    struct arena *arena) {
  *r = (struct relations){.f = f, .dominance = d};
  r->first = arena_alloc(arena, SLOTS * sizeof *r->first);
  r->next = arena_alloc(arena, f->insts.count * sizeof *r->next);
  return r->first && r->next;
}

int relations_decide(struct relations *r, struct nvm_inst_id icmp, range_of_operand *range_of,
                     void *state) {
  const struct nvm_inst *i = function_inst(r->f, icmp);
  struct nvm_value a = inst_operand(r->f, i, 0), b = inst_operand(r->f, i, 1);
  if (!type_equal(i->type, TYPE_I1) || value_kind(a) == VALUE_CONST || value_kind(b) == VALUE_CONST)
    return -1;
  uint32_t *slot = &r->first[(a.bits ^ b.bits) * UINT32_C(2654435761) >> 24];
  uint32_t possible = ANY, asked = relations_of((enum icmp_predicate)i->aux), at = *slot;
  for (int step = 0; at && step < MAX_STEPS; step++, at = r->next[at]) {
    const struct nvm_inst *seen = function_inst(r->f, (struct nvm_inst_id){at});
    struct nvm_value x = inst_operand(r->f, seen, 0), y = inst_operand(r->f, seen, 1);
    bool same = value_equal(a, x) && value_equal(b, y);
    if ((!same && !(value_equal(a, y) && value_equal(b, x))) ||
        !dominance_dominates(r->dominance, seen->block, i->block))
      continue;
    struct range holds = range_of(state, value_make(VALUE_INST, at));
    if (holds.low != holds.high || range_is_empty(holds)) continue;
    enum icmp_predicate p = (enum icmp_predicate)seen->aux;
    uint32_t known = relations_of(same ? p : icmp_swapped(p));
    possible &= holds.low ? known : ANY & ~known;
  }
  r->next[icmp.index] = *slot;
  *slot = icmp.index;
  return (possible & ~asked) == 0 ? 1 : (possible & asked) == 0 ? 0 : -1;
}
