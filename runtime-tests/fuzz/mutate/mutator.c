/* Random choices of places and values, each in one walk over the function (reservoir sampling). */
#include "mutator.h"

static uint32_t size_of(const struct nvm_function *f) {
  return function_is_declaration(f) ? 0 : f->insts.count - f->removed;
}

bool mutator_begin(struct mutator *m, uint32_t end) {
  uint64_t total = 0;
  m->f = NULL;
  for (uint32_t i = 1; i < end; i++) {
    uint32_t size = size_of(m->m->functions.data[i]);
    total += size;
    if (size && below(m, total) < size) m->f = m->m->functions.data[i];
  }
  if (!m->f || !dominance_compute(&m->d, m->f, &m->m->arena)) return false;
  m->known = m->f->insts.count;
  m->known_blocks = m->f->blocks.count;
  m->order = arena_alloc(&m->m->arena, m->known * sizeof *m->order);
  if (!m->order) return false;
  uint32_t position = 0;
  FOR_EACH_BLOCK (m->f, b) {
    FOR_EACH_INST (m->f, b, i) m->order[i.index] = ++position;
  }
  return true;
}

const struct nvm_function *pick_definition(struct mutator *m, uint32_t first) {
  const struct nvm_function *found = NULL;
  uint32_t seen = 0;
  for (uint32_t i = first; i < m->m->functions.count; i++) {
    const struct nvm_function *f = m->m->functions.data[i];
    if (!function_is_declaration(f) && once_in(m, ++seen)) found = f;
  }
  return found;
}

bool inst_is_any(const struct nvm_function *f, const struct nvm_inst *i) {
  (void)f;
  (void)i;
  return true;
}

static bool is_musttail(const struct nvm_inst *i) {
  return i->op == OP_CALL && (i->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL;
}

/* Not before a phi, nor between a musttail call and its return. */
bool inst_is_place(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_inst_id before = i->previous;
  while (before.index && function_inst(f, before)->op == OP_DBG_RECORD)
    before = function_inst(f, before)->previous;
  bool after_tail = before.index && is_musttail(function_inst(f, before));
  return i->op != OP_PHI && i->op != OP_DBG_RECORD && !after_tail;
}

/* Offers the instructions of a block, after `*seen` others that were acceptable. */
static void sample_block(struct mutator *m, struct nvm_block b, inst_predicate *accept,
                         uint32_t *seen, struct nvm_inst_id *found) {
  FOR_EACH_INST (m->f, b, i) {
    if (accept(m->f, function_inst(m->f, i)) && once_in(m, ++*seen)) *found = i;
  }
}

struct nvm_inst_id pick_inst_in(struct mutator *m, struct nvm_block b, inst_predicate *accept) {
  struct nvm_inst_id found = {0};
  uint32_t seen = 0;
  sample_block(m, b, accept, &seen, &found);
  return found;
}

struct nvm_inst_id pick_inst(struct mutator *m, inst_predicate *accept) {
  struct nvm_inst_id found = {0};
  uint32_t seen = 0;
  FOR_EACH_BLOCK (m->f, b) sample_block(m, b, accept, &seen, &found);
  return found;
}

bool is_available(const struct mutator *m, struct nvm_value v, struct nvm_inst_id at) {
  if (value_kind(v) != VALUE_INST) return true;
  const struct nvm_inst *i = value_inst(m->f, v);
  struct nvm_block b = function_inst(m->f, at)->block;
  if (value_index(v) >= m->known || !i->block.index) return false;
  if (i->block.index == b.index) return m->order[value_index(v)] < m->order[at.index];
  return i->block.index < m->known_blocks && b.index < m->known_blocks &&
         dominance_dominates(&m->d, i->block, b);
}

struct nvm_value pick_any(struct mutator *m, type_predicate *accept, struct nvm_inst_id at) {
  struct nvm_value found = VALUE_NULL;
  const struct type_table *t = &m->m->types;
  uint32_t seen = 0;
  for (uint32_t k = 0; k < function_arg_count(m->f); k++)
    if (accept(t, function_arg_type(m->f, k)) && once_in(m, ++seen)) found = value_of_arg(k);
  FOR_EACH_BLOCK (m->f, b) {
    FOR_EACH_INST (m->f, b, i) {
      struct nvm_value v = value_of_inst(i);
      if (accept(t, value_type(m->f, v)) && is_available(m, v, at) && once_in(m, ++seen)) found = v;
    }
  }
  return found;
}

/* ---- Constants ---- */

static struct nvm_value pick_int(struct mutator *m, struct nvm_type type, uint32_t width) {
  nvm_u128 one = 1, bits = 0;
  switch (below(m, 8)) {
    case 0: break;
    case 1: bits = one; break;
    case 2: bits = ~(nvm_u128)0; break;
    case 3: bits = one << (width - 1); break;
    case 4: bits = (one << (width - 1)) - 1; break;
    case 5: bits = one << below(m, width); break;
    case 6: bits = below(m, 40); break;
    default: bits = random_bits(&m->random); bits = bits << 64 | random_bits(&m->random);
  }
  if (width < 128) bits &= (one << width) - 1;
  return const_int(m->m, type, bits);
}

/* Bits of the format: zeros, one, infinity, a NaN, the smallest, the largest, any. */
static struct nvm_value pick_float(struct mutator *m, struct nvm_type type) {
  enum { FORMATS = 4, VALUES = 7 };
  static const uint64_t values[FORMATS][VALUES] = {
      {0x3c00, 0x8000, 0x7c00, 0x7e00, 1, 0x7bff, 0x4200},
      {0x3f80, 0x8000, 0x7f80, 0x7fc0, 1, 0x7f7f, 0x4040},
      {0x3f800000, 0x80000000, 0x7f800000, 0x7fc00000, 1, 0x7f7fffff, 0x40400000},
      {0x3ff0000000000000, 0x8000000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 1,
       0x7fefffffffffffff, 0x4008000000000000}};
  uint32_t bits = type_scalar_bits(&m->m->types, type), k = (uint32_t)below(m, VALUES + 2);
  uint32_t format = (uint32_t)type_kind(&m->m->types, type) - TY_HALF;
  uint64_t v = k < VALUES ? values[format][k] : k == VALUES ? 0 : random_bits(&m->random);
  return const_float(m->m, type, bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1));
}

struct nvm_value pick_constant(struct mutator *m, struct nvm_type type) {
  struct type_info info = *type_info(&m->m->types, type);
  if (!type_is_first_class(&m->m->types, type) || info.kind == TY_METADATA || info.kind == TY_TOKEN)
    return VALUE_NULL;
  if (once_in(m, 24)) return once_in(m, 2) ? const_undef(m->m, type) : const_poison(m->m, type);
  if (info.kind == TY_INT && info.width <= 128) return pick_int(m, type, info.width);
  if (type_is_float(&m->m->types, type)) return pick_float(m, type);
  if (info.kind != TY_VECTOR || info.count > 8) return const_zero(m->m, type);
  struct nvm_value lanes[8];
  for (uint32_t k = 0; k < info.count; k++) lanes[k] = pick_constant(m, info.element);
  return const_aggregate(m->m, type, lanes, (uint32_t)info.count);
}

struct nvm_type pick_type(struct mutator *m) {
  static const uint32_t widths[] = {1, 8, 16, 32, 32, 32, 64, 64, 128, 7, 24, 33};
  const struct nvm_type floats[] = {TYPE_HALF, TYPE_BFLOAT, TYPE_FLOAT, TYPE_DOUBLE};
  struct type_table *t = &m->m->types;
  struct nvm_type scalar = once_in(m, 3)
                               ? floats[below(m, 4)]
                               : type_int(t, widths[below(m, sizeof widths / sizeof *widths)]);
  return once_in(m, 4) ? type_vector(t, scalar, 2 + below(m, 3)) : scalar;
}

/* ---- Values ---- */

struct nvm_value pick_value(struct mutator *m, struct nvm_type type, struct nvm_inst_id at) {
  struct nvm_value found = VALUE_NULL;
  uint32_t seen = 0;
  if (once_in(m, 4)) found = pick_constant(m, type);
  if (!value_is_none(found)) return found;
  for (uint32_t k = 0; k < function_arg_count(m->f); k++)
    if (type_equal(function_arg_type(m->f, k), type) && once_in(m, ++seen)) found = value_of_arg(k);
  FOR_EACH_BLOCK (m->f, b) {
    FOR_EACH_INST (m->f, b, i) {
      struct nvm_value v = value_of_inst(i);
      if (type_equal(function_inst(m->f, i)->type, type) && is_available(m, v, at) &&
          once_in(m, ++seen))
        found = v;
    }
  }
  return value_is_none(found) ? pick_constant(m, type) : found;
}

/* Whether operand k of i is a value that may be any other one of its type. */
static bool is_free_operand(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  struct nvm_value v = inst_operand(f, i, k);
  if (value_kind(v) == VALUE_BLOCK || i->op == OP_PHI || i->op == OP_DBG_RECORD) return false;
  if (i->op == OP_ALLOCA || (i->op == OP_GEP && k > 1) || (i->op == OP_SWITCH && k > 0) ||
      (i->op == OP_EXTRACTVALUE && k > 0) || (i->op == OP_INSERTVALUE && k > 1))
    return false;
  return i->op != OP_CALL ||
         (k + 1 < i->operand_count && !intrinsic_arg_is_immediate(call_intrinsic(f, i), k));
}

void use_value(struct mutator *m, struct nvm_value v, struct nvm_inst_id at) {
  struct nvm_type type = value_type(m->f, v);
  struct nvm_inst_id user = {0};
  uint32_t operand = 0, seen = 0;
  struct nvm_block b = function_inst(m->f, at)->block;
  for (struct nvm_inst_id i = at; i.index; i = function_inst(m->f, i)->next) {
    const struct nvm_inst *inst = function_inst(m->f, i);
    for (uint32_t k = 0; k < inst->operand_count; k++)
      if (is_free_operand(m->f, inst, k) &&
          type_equal(value_type(m->f, inst_operand(m->f, inst, k)), type) && once_in(m, ++seen))
        user = i, operand = k;
  }
  struct nvm_value p = pick_any(m, type_is_ptr, at);
  bool can_store = !value_is_none(p) && type_is_sized(&m->m->types, type);
  if (user.index && !(can_store && once_in(m, 4))) {
    inst_set_operand(m->f, user, operand, v);
    return;
  }
  if (!can_store) return;
  struct nvm_inst_id last = function_block(m->f, b)->last;
  struct builder build = builder_before(m->f, once_in(m, 2) ? at : last);
  if (inst_is_place(m->f, function_inst(m->f, build.before)))
    (void)builder_store(&build, v, p, memory_access_pack((struct memory_access){.align_log2 = 1}));
}

void replace_uses(struct mutator *m, struct nvm_inst_id i, struct nvm_value v) {
  FOR_EACH_BLOCK (m->f, b) {
    FOR_EACH_INST (m->f, b, user) {
      for (uint32_t k = 0; k < function_inst(m->f, user)->operand_count; k++)
        if (value_equal(inst_operand_at(m->f, user, k), value_of_inst(i)))
          inst_set_operand(m->f, user, k, v);
    }
  }
}
