/* Selects the variables that sroa tries to split. One walk counts the uses of each alloca that can
 * be classified one at a time, so that most variables need no use list. Linear. */
#include "ir/gep.h"
#include "ir/intrinsic.h"
#include "analysis/effects.h"
#include "opt/memory/sroa.h"

/* The uses of an alloca that need no use list. */
struct direct_uses {
  struct nvm_type type; /* of the first load or store, if that accesses the whole variable */
  unsigned count : 29;  /* loads and stores of that type, and lifetime markers */
  bool accessed : 1, read : 1;
  bool unsupported : 1; /* has a use that sroa.c does not support */
};

static bool is_op(const struct splitter *s, struct nvm_value v, enum op op) {
  return value_kind(v) == VALUE_INST && s->f->insts.data[value_index(v)].op == op;
}

/* The entry of v, NULL unless it is an alloca. */
static struct direct_uses *direct_of(const struct splitter *s, struct nvm_value v) {
  return s->direct && is_op(s, v, OP_ALLOCA) ? &s->direct[value_index(v)] : NULL;
}

static bool is_whole(const struct splitter *s, struct nvm_value variable, struct nvm_type type) {
  struct nvm_inst_id id = {value_index(variable)};
  return type.index == function_inst(s->f, id)->aux ||
         sroa_size(s, type) == alloca_bytes(s->f, function_inst(s->f, id));
}

static void note_access(struct splitter *s, const struct nvm_inst *i, struct nvm_value address,
                        struct nvm_type type) {
  struct direct_uses *d = direct_of(s, address);
  if (!d) return;
  if (!d->accessed && is_whole(s, address, type)) d->type = type;
  d->accessed = true;
  d->read |= i->op == OP_LOAD;
  d->unsupported |= !effects_is_plain_access(i);
  d->count += type_equal(type, d->type);
}

static void note_call(struct splitter *s, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(s->f, i);
  for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
    struct direct_uses *d = direct_of(s, inst_operand(s->f, i, k));
    if (!d) continue;
    d->count += effects_is_lifetime_marker(s->f, i);
    d->unsupported |= id == 0;
  }
}

/* Records how i uses variables, and which rules of sroa_split_accesses() may apply. */
static void note_uses(struct splitter *s, const struct nvm_inst *i, struct sroa_found *found) {
  const struct type_table *t = &s->m->types;
  struct nvm_value first, second;
  struct direct_uses *d;
  uint64_t bytes;
  int64_t offset;
  switch ((enum op)i->op) {
    case OP_LOAD:
      first = inst_operand(s->f, i, 0);
      note_access(s, i, first, i->type);
      found->structs |= type_is_aggregate(t, i->type);
      found->choices |= is_op(s, first, OP_SELECT);
      break;
    case OP_STORE:
      first = inst_operand(s->f, i, 0), second = inst_operand(s->f, i, 1);
      note_access(s, i, second, value_type(s->f, first));
      if ((d = direct_of(s, first))) d->unsupported = true;
      found->choices |= is_op(s, second, OP_SELECT);
      found->structs |= type_is_aggregate(t, value_type(s->f, first));
      break;
    case OP_GEP:
      first = inst_operand(s->f, i, 0);
      found->choices |= is_op(s, first, OP_SELECT);
      if (!(d = direct_of(s, first))) break;
      bytes = alloca_bytes(s->f, value_inst(s->f, first));
      d->unsupported |= !gep_offset_in_object(s->f, i, bytes, &offset);
      break;
    case OP_CALL: note_call(s, i); break;
    case OP_EXTRACTVALUE:
      first = inst_operand(s->f, i, 0);
      found->members |= is_op(s, first, OP_INSERTVALUE) || is_op(s, first, OP_EXTRACTVALUE);
      found->structs |= is_op(s, first, OP_LOAD);
      break;
    default: break;
  }
}

bool sroa_find_candidates(struct splitter *s, struct sroa_found *found) {
  const struct nvm_function *f = s->f;
  bool any = false;
  *found = (struct sroa_found){0};
  s->candidates.count = 0;
  FOR_EACH_INST (f, f->entry, i) any = any || function_inst(f, i)->op == OP_ALLOCA;
  s->direct = any ? arena_alloc(s->arena, f->insts.count * sizeof *s->direct) : NULL;
  if (any && !s->direct) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (any || function_inst(f, i)->op == OP_EXTRACTVALUE)
        note_uses(s, function_inst(f, i), found);
  if (!any) return true;
  FOR_EACH_INST (f, f->entry, i) {
    const struct direct_uses *d = &s->direct[i.index];
    if (function_inst(f, i)->op != OP_ALLOCA || d->unsupported) continue;
    bool ready = d->count == f->uses.data[i.index] && d->read == d->accessed;
    if (!ready && !VEC_PUSH(s->arena, &s->candidates, i)) return false;
  }
  return true;
}
