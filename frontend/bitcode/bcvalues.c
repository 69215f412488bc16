/* The table of values, and what ops make of their operands. */
#include "frontend/bitcode/bcvalues.h"

#include "frontend/bitcode/bcfunction.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/names.h"
#include "ir/function.h"

struct nvm_type bcvalues_type(const struct reader *r, struct nvm_value v) {
  return r->p.f ? names_type(&r->p, v) : module_value_type(r->p.m, v);
}

bool bcvalues_define(struct reader *r, struct nvm_value v) {
  if (value_is_none(v)) return false;
  if (r->value_count == r->values.count) {
    if (!VEC_PUSH(&r->p.scratch, &r->values, v)) return false;
  } else {
    struct nvm_value *slot = &r->values.data[r->value_count];
    if (value_kind(*slot) == VALUE_FORWARD && !names_resolve_forward(&r->p, *slot, v))
      return reader_fail(r, "a value was used with another type before its definition");
    *slot = v;
  }
  r->value_count++;
  return true;
}

bool bcvalues_truncate(struct reader *r, uint32_t count) {
  bool complete = true;
  for (uint32_t i = count; i < r->values.count; i++) {
    complete &= i < r->value_count || value_is_none(r->values.data[i]);
    r->values.data[i] = VALUE_NULL;
  }
  r->values.count = r->value_count = count;
  return complete || reader_fail(r, "use of a value that is never defined");
}

/* A definition takes at least a bit, so ids far beyond the end of the body are errors. */
static struct nvm_value forward(struct reader *r, uint64_t id, struct nvm_type type) {
  if (!r->p.f || type.index == 0 || id - r->value_count > r->function->end - r->bits.at) {
    reader_fail(r, "use of an undefined value");
    return VALUE_NULL;
  }
  if (id >= r->values.count) {
    if (!VEC_ROOM(&r->p.scratch, &r->values, id + 1)) return VALUE_NULL;
    while (r->values.count <= id) r->values.data[r->values.count++] = VALUE_NULL;
  }
  struct nvm_value *slot = &r->values.data[id];
  if (value_is_none(*slot)) {
    uint32_t place = reader_place(r);
    *slot = names_forward(&r->p, type, place, place + 1);
  }
  r->p.saw_forward = true;
  return *slot;
}

struct nvm_value bcvalues_get(struct reader *r, uint64_t id, struct nvm_type type) {
  struct nvm_value v = id < r->value_count ? r->values.data[id] : forward(r, id, type);
  if (value_is_none(v) || type.index == 0 || type_equal(bcvalues_type(r, v), type)) return v;
  reader_fail(r, "a value has another type than its use requires");
  return VALUE_NULL;
}

struct nvm_value bcvalues_take(struct reader *r, const struct bits_record *s, uint32_t *k,
                               struct nvm_type type) {
  if (!reader_needs(r, s, *k + 1)) return VALUE_NULL;
  return bcvalues_get(r, bcvalues_absolute(r, s->numbers[(*k)++]), type);
}

struct nvm_value bcvalues_pair(struct reader *r, const struct bits_record *s, uint32_t *k) {
  if (!reader_needs(r, s, *k + 1)) return VALUE_NULL;
  uint32_t id = bcvalues_absolute(r, s->numbers[(*k)++]);
  if (id < r->value_count) return r->values.data[id];
  if (!reader_needs(r, s, *k + 1)) return VALUE_NULL;
  struct nvm_type type = bctypes_value(r, s->numbers[(*k)++]);
  return type.index ? bcvalues_get(r, id, type) : VALUE_NULL;
}

/* ---- Ops ---- */

enum op bcvalues_binary_op(struct reader *r, uint64_t number, struct nvm_type type) {
  static const struct {
    uint8_t of_ints, of_floats;
  } ops[] = {{OP_ADD, OP_FADD},   {OP_SUB, OP_FSUB},   {OP_MUL, OP_FMUL},  {OP_UDIV, OP_COUNT},
             {OP_SDIV, OP_FDIV},  {OP_UREM, OP_COUNT}, {OP_SREM, OP_FREM}, {OP_SHL, OP_COUNT},
             {OP_LSHR, OP_COUNT}, {OP_ASHR, OP_COUNT}, {OP_AND, OP_COUNT}, {OP_OR, OP_COUNT},
             {OP_XOR, OP_COUNT}};
  enum op op = OP_COUNT;
  bool floats = type_is_float_or_vector(&r->p.m->types, type);
  if (number < sizeof ops / sizeof *ops)
    op = (enum op)(floats ? ops[number].of_floats : ops[number].of_ints);
  if (op == OP_COUNT) reader_fail(r, "unknown binary operation");
  return op;
}

enum op bcvalues_cast_op(struct reader *r, uint64_t number) {
  static const uint8_t ops[] = {OP_TRUNC,    OP_ZEXT,    OP_SEXT,         OP_FPTOUI, OP_FPTOSI,
                                OP_UITOFP,   OP_SITOFP,  OP_FPTRUNC,      OP_FPEXT,  OP_PTRTOINT,
                                OP_INTTOPTR, OP_BITCAST, OP_ADDRSPACECAST};
  if (number < sizeof ops / sizeof *ops) return (enum op)ops[number];
  reader_fail(r, "unknown conversion");
  return OP_COUNT;
}

/* LLVM's FastMathMap: bit 0 meant all flags. */
static uint32_t fast_flags(uint64_t number) {
  static const uint16_t flags[] = {INST_FAST, INST_NNAN,     INST_NINF, INST_NSZ,
                                   INST_ARCP, INST_CONTRACT, INST_AFN,  INST_REASSOC};
  uint32_t result = 0;
  for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (number >> i & 1) result |= flags[i];
  return result;
}

uint16_t bcvalues_flags(enum op op, uint64_t number) {
  uint16_t allowed = op_flags(op);
  uint32_t flags = 0;
  if (allowed & INST_FAST) return (uint16_t)fast_flags(number) & allowed;
  if (op == OP_GEP) {
    if (number & 1) return INST_INBOUNDS | (number & 4 ? INST_NUW : 0);
    return (uint16_t)((number & 2 ? INST_NUSW : 0) | (number & 4 ? INST_NUW : 0));
  }
  if (number & 1) flags |= INST_NUW | INST_EXACT | INST_DISJOINT | INST_NNEG | INST_SAMESIGN;
  if (number & 2) flags |= INST_NSW;
  return (uint16_t)(flags & allowed);
}

bool bcvalues_predicate(struct reader *r, uint64_t number, struct nvm_type type, enum op *op,
                        uint32_t *predicate) {
  enum { FIRST_ICMP = 32 };
  bool floats = type_is_float_or_vector(&r->p.m->types, type);
  *op = floats ? OP_FCMP : OP_ICMP;
  *predicate = (uint32_t)(number - (floats ? 0 : FIRST_ICMP));
  if (number <= UINT32_MAX && *predicate < (floats ? (uint32_t)FCMP_COUNT : (uint32_t)ICMP_COUNT))
    return true;
  return reader_fail(r, "unknown predicate of a comparison");
}

static struct nvm_type refuse(struct reader *r) {
  reader_fail(r, "the operands' types do not fit the operation");
  return TYPE_NONE;
}

static bool is_index(const struct type_table *t, struct nvm_type type) {
  return type_kind(t, type) == TY_INT;
}

static struct nvm_type lane_type(struct reader *r, struct nvm_type type) {
  const struct type_table *t = &r->p.m->types;
  return type_is_vector(t, type) ? type_info(t, type)->element : refuse(r);
}

static struct nvm_type shuffle_type(struct reader *r, const struct nvm_type *types) {
  struct type_table *t = &r->p.m->types;
  if (!type_is_vector(t, types[0]) || !type_equal(types[0], types[1]) ||
      !type_is_vector(t, types[2]))
    return refuse(r);
  return type_vector(t, type_info(t, types[0])->element, type_info(t, types[2])->count);
}

static struct nvm_type gep_type(struct reader *r, const struct nvm_value *operands,
                                uint32_t count) {
  struct type_table *t = &r->p.m->types;
  struct nvm_type pointer = bcvalues_type(r, operands[0]);
  if (!type_is_ptr_or_vector(t, pointer)) return refuse(r);
  for (uint32_t i = 1; i < count && !type_is_vector(t, pointer); i++) {
    struct nvm_type index = bcvalues_type(r, operands[i]);
    if (type_is_vector(t, index)) pointer = type_with_lanes_of(t, pointer, index);
  }
  return pointer;
}

struct nvm_type bcvalues_result(struct reader *r, enum op op, const struct nvm_value *operands,
                                uint32_t count) {
  struct type_table *t = &r->p.m->types;
  struct nvm_type types[3] = {TYPE_NONE, TYPE_NONE, TYPE_NONE};
  for (uint32_t i = 0; i < count && i < 3; i++) types[i] = bcvalues_type(r, operands[i]);
  switch ((int)op_table[op].form) {
    case FORM_UNARY: return types[0];
    case FORM_BINARY: return type_equal(types[0], types[1]) ? types[0] : refuse(r);
    case FORM_CMP:
      if (!type_equal(types[0], types[1])) return refuse(r);
      return type_with_lanes_of(t, TYPE_I1, type_is_vector(t, types[0]) ? types[0] : TYPE_NONE);
    case FORM_SELECT: return type_equal(types[1], types[2]) ? types[1] : refuse(r);
    case FORM_EXTRACTELEMENT: return is_index(t, types[1]) ? lane_type(r, types[0]) : refuse(r);
    case FORM_INSERTELEMENT:
      return is_index(t, types[2]) && type_equal(lane_type(r, types[0]), types[1]) ? types[0]
                                                                                   : refuse(r);
    case FORM_SHUFFLEVECTOR: return shuffle_type(r, types);
    case FORM_GEP: return gep_type(r, operands, count);
    default: return refuse(r);
  }
}
