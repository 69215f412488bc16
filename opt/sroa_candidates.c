/* Which variables sroa looks at: one walk counts the uses of each alloca that can be judged one by one, so that most need no
 * list of uses. Linear. */
#include "ir/intrinsic.h"
#include "opt/effects.h"
#include "opt/sroa.h"

/* The uses of an alloca that can be judged one by one, without a list of them. */
struct direct_uses {
  struct nvm_type type; /* of the first load or store, if it is one of the whole variable */
  unsigned count : 29;  /* loads and stores of that type, lifetime markers */
  bool accessed : 1, read : 1;
  bool hopeless : 1;    /* one that follow() would not understand */
};

static bool is_op(const struct splitter *s, struct nvm_value v, enum op op) {
  return value_kind(v) == VALUE_INST && s->f->insts.data[value_index(v)].op == op;
}

/* The entry of v, NULL if it is no alloca, or there are none. */
static struct direct_uses *direct_of(const struct splitter *s, struct nvm_value v) {
  return s->direct && is_op(s, v, OP_ALLOCA) ? &s->direct[value_index(v)] : NULL;
}

static bool is_whole(const struct splitter *s, struct nvm_value variable, struct nvm_type type) {
  struct nvm_inst_id id = {value_index(variable)};
  return type.index == function_inst(s->f, id)->aux || sroa_size(s, type) == sroa_alloca_bytes(s, id);
}

static void note_access(struct splitter *s, const struct nvm_inst *i, struct nvm_value address, struct nvm_type type) {
  struct direct_uses *d = direct_of(s, address);
  if (!d) return;
  if (!d->accessed && is_whole(s, address, type)) d->type = type;
  d->accessed = true;
  d->read |= i->op == OP_LOAD;
  d->hopeless |= !effects_is_plain_access(i);
  d->count += type_equal(type, d->type);
}

static void note_call(struct splitter *s, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(s->f, i);
  for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
    struct direct_uses *d = direct_of(s, inst_operand(s->f, i, k));
    if (!d) continue;
    d->count += id == INTRINSIC_lifetime_start || id == INTRINSIC_lifetime_end;
    d->hopeless |= id == 0;
  }
}

/* Whether sroa_split_accesses() should look at i; notes which variables it uses, and how. */
static bool note_uses(struct splitter *s, const struct nvm_inst *i) {
  const struct type_table *t = &s->m->types;
  const struct nvm_value *operands = s->f->operands.data + i->first_operand;
  struct direct_uses *d;
  switch ((enum op)i->op) {
  case OP_LOAD:
    note_access(s, i, operands[0], i->type);
    return type_is_aggregate(t, i->type) || is_op(s, operands[0], OP_SELECT);
  case OP_STORE:
    note_access(s, i, operands[1], value_type(s->f, operands[0]));
    if ((d = direct_of(s, operands[0]))) d->hopeless = true;
    return type_is_aggregate(t, value_type(s->f, operands[0]));
  case OP_GEP:
    if (!(d = direct_of(s, operands[0]))) return false;
    for (uint32_t k = 1; k < i->operand_count; k++) d->hopeless |= value_kind(operands[k]) != VALUE_CONST;
    return false;
  case OP_CALL: note_call(s, i); return false;
  case OP_EXTRACTVALUE: return is_op(s, operands[0], OP_INSERTVALUE) || is_op(s, operands[0], OP_EXTRACTVALUE);
  default: return false;
  }
}

bool sroa_find_candidates(struct splitter *s, bool *accesses) {
  const struct nvm_function *f = s->f;
  bool any = false;
  *accesses = false;
  s->candidates.count = 0;
  FOR_EACH_INST(f, f->entry, i) any = any || function_inst(f, i)->op == OP_ALLOCA;
  s->direct = any ? arena_alloc(s->arena, f->insts.count * sizeof *s->direct) : NULL;
  if (any && !s->direct) return false;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) *accesses |= note_uses(s, function_inst(f, i));
  if (!any) return true;
  FOR_EACH_INST(f, f->entry, i) {
    const struct direct_uses *d = &s->direct[i.index];
    if (function_inst(f, i)->op != OP_ALLOCA || d->hopeless) continue;
    bool ready = d->count == f->uses.data[i.index] && d->read == d->accessed;
    if (!ready && !VEC_PUSH(s->arena, &s->candidates, i)) return false;
  }
  return true;
}
