/* Constants: each record after SETTYPE is the next value id.
 *
 * Aggregates and expressions may refer to later ids of their block. They are noted while the block
 * is read, and made at its end, operands first, with a stack instead of recursion. */
#include "frontend/bitcode/bcconstants.h"

#include "frontend/bitcode/bctypes.h"
#include "frontend/bitcode/bcvalues.h"
#include "frontend/values.h"
#include "ir/evalint.h"
#include "support/float.h"

/* CST_CODE_ of LLVM's LLVMBitCodes.h. */
enum {
  CODE_SETTYPE = 1,
  CODE_NULL = 2,
  CODE_UNDEF = 3,
  CODE_INTEGER = 4,
  CODE_WIDE_INTEGER = 5,
  CODE_FLOAT = 6,
  CODE_AGGREGATE = 7,
  CODE_STRING = 8,
  CODE_CSTRING = 9,
  CODE_BINOP = 10,
  CODE_CAST = 11,
  CODE_GEP_OLD = 12,
  CODE_SELECT = 13,
  CODE_EXTRACTELT = 14,
  CODE_INSERTELT = 15,
  CODE_SHUFFLEVEC = 16,
  CODE_CMP = 17,
  CODE_ASM_OLD = 18,
  CODE_SHUFFLEVEC_EX = 19,
  CODE_GEP_INBOUNDS = 20,
  CODE_BLOCKADDRESS = 21,
  CODE_DATA = 22,
  CODE_ASM_OLD2 = 23,
  CODE_GEP_INRANGE_OLD = 24,
  CODE_UNOP = 25,
  CODE_POISON = 26,
  CODE_ASM_OLD3 = 28,
  CODE_ASM = 30,
  CODE_GEP_INRANGE = 31,
  CODE_GEP = 32,
};

/* A constant with operands. */
struct pending {
  bool open;  /* on the stack: being made */
  uint8_t op; /* OP_COUNT: an aggregate */
  uint16_t flags;
  struct nvm_type type;  /* of an aggregate or conversion; TYPE_NONE: that of the op */
  uint32_t first, count; /* ids of the operands */
  uint32_t aux;          /* as in an instruction */
  uint64_t begin;        /* bit offset of the record */
};

/* The text of a constant. */
struct measure {
  uint32_t length; /* parts that follow the first one */
  uint32_t depth;  /* levels of operands */
};

/* Levels of operands: the printer and the text parser, which reads some 1,600, are recursive. */
enum { MAX_NESTING = 1000 };

struct bcconstants {
  struct nvm_type type;        /* of the last SETTYPE */
  uint32_t first;              /* id of the block's first constant */
  VEC(struct pending) pending; /* one a constant of the block; count 0: made */
  VEC(uint32_t) operands;      /* value ids */
  VEC(uint32_t) stack;
  VEC(struct measure) measures; /* by constant */
};

bool bcconstants_init(struct reader *r) {
  return (r->constants = arena_alloc(&r->p.scratch, sizeof *r->constants)) != NULL;
}

bool bcconstants_is_asm(const struct reader *r, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST && constant_info(&r->p.m->constants, v)->kind == CONST_ASM;
}

/* ---- Sizes ---- */

static struct measure measure_of(const struct reader *r, struct nvm_value v) {
  const struct bcconstants *t = r->constants;
  bool known = value_kind(v) == VALUE_CONST && value_index(v) < t->measures.count;
  return known ? t->measures.data[value_index(v)] : (struct measure){0, 0};
}

/* Of a constant whose operands have been measured: one that is used twice in each of several levels
 * is printed 2^levels times. */
static bool measure(struct reader *r, struct nvm_value v) {
  struct bcconstants *t = r->constants;
  if (value_kind(v) != VALUE_CONST) return true;
  const struct constant_info *c = constant_info(&r->p.m->constants, v);
  bool has_operands = c->kind == CONST_AGGREGATE || c->kind == CONST_EXPR;
  uint64_t length = bctypes_length(r, c->type);
  uint32_t depth = 0;
  if (c->kind == CONST_BYTES || c->kind == CONST_ASM) length += module_text(r->p.m, c->str).length;
  for (uint32_t i = 0; has_operands && i < c->count; i++) {
    struct measure part = measure_of(r, const_operand(r->p.m, v, i));
    length += part.length + UINT64_C(1);
    if (part.depth >= depth) depth = part.depth + 1;
  }
  if (length > reader_text_limit(r))
    return reader_fail(r, "a constant is too long when written out");
  if (depth > MAX_NESTING) return reader_fail(r, "a constant is nested too deeply");
  if (length == 0) return true;
  uint32_t k = value_index(v);
  if (!VEC_RESERVE(&r->p.scratch, &t->measures, (uint64_t)k + 1)) return false;
  if (t->measures.count <= k) t->measures.count = k + 1;
  t->measures.data[k] = (struct measure){(uint32_t)length, depth};
  return true;
}

bool bcconstants_use(struct reader *r, struct nvm_value v) {
  uint64_t of_type = r->type_lengths.count ? bctypes_length(r, bcvalues_type(r, v)) : 0;
  return reader_spend(r, measure_of(r, v).length + of_type);
}

/* ---- Numbers ---- */

static const struct type_info *info_of(const struct reader *r, struct nvm_type type) {
  return type_info(&r->p.m->types, type);
}

static struct nvm_value invalid(struct reader *r) {
  reader_fail(r, "a constant does not fit its type");
  return VALUE_NULL;
}

static struct nvm_value make_int(struct reader *r, const struct bits_record *s) {
  struct nvm_type type = r->constants->type;
  uint64_t words[TYPE_MAX_INT_WORDS] = {0};
  uint32_t width = info_of(r, type)->width;
  if (info_of(r, type)->kind != TY_INT || s->count == 0 || s->count > (width + 63) / 64)
    return invalid(r);
  for (uint32_t i = 0; i < s->count; i++) words[i] = bits_signed(s->numbers[i]);
  nvm_u128 value = words[0] | (nvm_u128)words[1] << 64;
  if (width <= 128) return const_int(r->p.m, type, value & evalint_wide_mask(width));
  if (width % 64) words[width / 64] &= (UINT64_C(1) << width % 64) - 1;
  return const_big_int(r->p.m, type, words);
}

static struct nvm_value make_scalar(struct reader *r, struct nvm_type type, uint64_t bits) {
  const struct type_info *info = info_of(r, type);
  uint32_t width = type_scalar_bits(&r->p.m->types, type);
  if (width == 0 || width > 64 || (width < 64 && bits >> width)) return invalid(r);
  if (info->kind == TY_INT) return const_int(r->p.m, type, bits);
  return const_float(r->p.m, type, bits);
}

static struct nvm_value make_float(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return VALUE_NULL;
  if (!type_is_float(&r->p.m->types, r->constants->type)) return invalid(r);
  return make_scalar(r, r->constants->type, s->numbers[0]);
}

/* ---- Strings and arrays of numbers ---- */

static struct nvm_value make_string(struct reader *r, const struct bits_record *s) {
  const struct type_info *info = info_of(r, r->constants->type);
  uint64_t count = s->count + (uint64_t)(s->code == CODE_CSTRING);
  if (info->kind != TY_ARRAY || !type_equal(info->element, TYPE_I8) || info->count != count)
    return invalid(r);
  r->p.bytes.count = 0;
  if (!VEC_ROOM(&r->p.scratch, &r->p.bytes, count + 1)) return VALUE_NULL;
  for (uint32_t i = 0; i < s->count; i++) r->p.bytes.data[i] = (char)s->numbers[i];
  r->p.bytes.data[s->count] = '\0';
  return const_bytes(r->p.m, r->constants->type, r->p.bytes.data, (size_t)count);
}

static struct nvm_value make_data(struct reader *r, const struct bits_record *s) {
  const struct type_info *info = info_of(r, r->constants->type);
  struct nvm_type element = info->element;
  if ((info->kind != TY_ARRAY && info->kind != TY_VECTOR) || info->count != s->count)
    return invalid(r);
  if (!VEC_ROOM(&r->p.scratch, &r->p.values, (uint64_t)s->count + 1)) return VALUE_NULL;
  for (uint32_t i = 0; i < s->count; i++) {
    struct nvm_value v = make_scalar(r, element, s->numbers[i]);
    if (value_is_none(v)) return v;
    r->p.values.data[i] = v;
  }
  return const_aggregate(r->p.m, r->constants->type, r->p.values.data, s->count);
}

/* ---- Inline assembly: flags, then the lengths and characters of two strings ---- */

static struct nvm_value make_asm(struct reader *r, const struct bits_record *s) {
  static const uint16_t allowed[] = {
      [CODE_ASM_OLD] = 3, [CODE_ASM_OLD2] = 7, [CODE_ASM_OLD3] = 15, [CODE_ASM] = 15};
  uint32_t k = s->code == CODE_ASM ? 1 : 0; /* after the function type */
  struct nvm_str texts[2] = {{0}, {0}};
  if (!reader_needs(r, s, k + 1)) return VALUE_NULL;
  uint16_t flags = (uint16_t)(s->numbers[k++] & allowed[s->code]);
  for (uint32_t i = 0; i < 2; i++) {
    if (!reader_needs(r, s, k + 1)) return VALUE_NULL;
    uint64_t length = s->numbers[k++];
    if (length > s->count - k) return invalid(r);
    struct bits_record text = {.numbers = s->numbers, .count = k + (uint32_t)length};
    texts[i] = reader_string(r, &text, k);
    k += (uint32_t)length;
  }
  return const_asm(r->p.m, texts[0], texts[1], flags);
}

/* ---- Constants with operands, while the block is read ---- */

static bool add_operand(struct reader *r, struct pending *c, uint64_t id) {
  if (id >= UINT32_MAX) return reader_fail(r, "use of an undefined value");
  c->count++;
  return VEC_PUSH(&r->p.scratch, &r->constants->operands, (uint32_t)id);
}

/* Adds numbers `first`, `first` + `step` … as operands. */
static bool add_operands(struct reader *r, struct pending *c, const struct bits_record *s,
                         uint32_t first, uint32_t step) {
  for (uint32_t i = first; i < s->count; i += step)
    if (!add_operand(r, c, s->numbers[i])) return false;
  return true;
}

static bool note_aggregate(struct reader *r, struct pending *c, const struct bits_record *s) {
  const struct type_info *info = info_of(r, r->constants->type);
  c->op = OP_COUNT;
  c->type = r->constants->type;
  bool has_elements = info->kind == TY_STRUCT || info->kind == TY_ARRAY || info->kind == TY_VECTOR;
  if (!has_elements || info->count != s->count || info->flags & TYPE_OPAQUE || s->count == 0)
    return reader_fail(r, "a constant does not fit its type");
  return add_operands(r, c, s, 0, 1);
}

static bool note_binary(struct reader *r, struct pending *c, const struct bits_record *s) {
  if (!reader_needs(r, s, 3)) return false;
  enum op op = bcvalues_binary_op(r, s->numbers[0], r->constants->type);
  if (op == OP_COUNT) return false;
  c->op = (uint8_t)op;
  c->flags = s->count > 3 ? bcvalues_flags(op, s->numbers[3]) : 0;
  return add_operand(r, c, s->numbers[1]) && add_operand(r, c, s->numbers[2]);
}

static bool note_cast(struct reader *r, struct pending *c, const struct bits_record *s) {
  if (!reader_needs(r, s, 3)) return false;
  enum op op = bcvalues_cast_op(r, s->numbers[0]);
  if (op == OP_COUNT) return false;
  c->op = (uint8_t)op;
  c->type = r->constants->type;
  c->flags = s->count > 3 ? bcvalues_flags(op, s->numbers[3]) : 0;
  return add_operand(r, c, s->numbers[2]);
}

/* The element type, then pairs of type and value; between them flags and what `inrange` says, which
 * is not kept. The oldest form has no element type: it is that of the typed pointer. */
static bool note_gep(struct reader *r, struct pending *c, const struct bits_record *s) {
  uint32_t k = 0;
  uint64_t element = UINT64_MAX, flags = s->code == CODE_GEP_INBOUNDS;
  if (!reader_needs(r, s, 3)) return false;
  bool old = s->code == CODE_GEP_OLD || s->code == CODE_GEP_INBOUNDS;
  if (!old || s->count % 2) element = s->numbers[k++];
  if (!old) flags = s->numbers[k++];
  if (s->code == CODE_GEP_INRANGE_OLD) flags &= 1;
  if (s->code == CODE_GEP_INRANGE) {
    if (s->numbers[k++] > 64) return reader_unsupported(r, "a wide 'inrange'");
    k += 2;
  }
  c->op = OP_GEP;
  c->flags = bcvalues_flags(OP_GEP, flags);
  if (!reader_needs(r, s, k + 2) || (s->count - k) % 2)
    return reader_fail(r, "a getelementptr has too few operands");
  struct nvm_type type =
      element == UINT64_MAX ? bctypes_pointee(r, s->numbers[k]) : bctypes_get(r, element);
  if (!bctypes_is_object(r, type))
    return reader_fail(r, "a getelementptr has an invalid element type");
  c->aux = type.index;
  return add_operands(r, c, s, k + 1, 2);
}

static bool note_compare(struct reader *r, struct pending *c, const struct bits_record *s) {
  enum op op;
  if (!reader_needs(r, s, 4)) return false;
  struct nvm_type type = bctypes_get(r, s->numbers[0]);
  if (type.index == 0 || !bcvalues_predicate(r, s->numbers[3], type, &op, &c->aux)) return false;
  c->op = (uint8_t)op;
  return add_operand(r, c, s->numbers[1]) && add_operand(r, c, s->numbers[2]);
}

/* Operands at these places of the record; 0xff: none. */
static bool note_places(struct reader *r, struct pending *c, const struct bits_record *s,
                        enum op op, const uint8_t places[3]) {
  c->op = (uint8_t)op;
  for (uint32_t i = 0; i < 3 && places[i] != 0xff; i++)
    if (!reader_needs(r, s, places[i] + 1u) || !add_operand(r, c, s->numbers[places[i]]))
      return false;
  return true;
}

/* Vectors: an index is a value, after its type in newer streams. */
static bool note_vector_op(struct reader *r, struct pending *c, const struct bits_record *s) {
  bool typed = s->code == CODE_SHUFFLEVEC_EX || (s->code == CODE_EXTRACTELT && s->count == 4) ||
               (s->code == CODE_INSERTELT && s->count == 4);
  switch (s->code) {
    case CODE_EXTRACTELT:
      return note_places(r, c, s, OP_EXTRACTELEMENT, (uint8_t[3]){1, typed ? 3 : 2, 0xff});
    case CODE_INSERTELT:
      return note_places(r, c, s, OP_INSERTELEMENT, (uint8_t[3]){0, 1, typed ? 3 : 2});
    case CODE_SHUFFLEVEC: return note_places(r, c, s, OP_SHUFFLEVECTOR, (uint8_t[3]){0, 1, 2});
    default: return note_places(r, c, s, OP_SHUFFLEVECTOR, (uint8_t[3]){1, 2, 3});
  }
}

static bool note_pending(struct reader *r, struct pending *c, const struct bits_record *s) {
  switch (s->code) {
    case CODE_AGGREGATE: return note_aggregate(r, c, s);
    case CODE_BINOP: return note_binary(r, c, s);
    case CODE_CAST: return note_cast(r, c, s);
    case CODE_GEP_OLD:
    case CODE_GEP_INBOUNDS:
    case CODE_GEP_INRANGE_OLD:
    case CODE_GEP_INRANGE:
    case CODE_GEP: return note_gep(r, c, s);
    case CODE_CMP: return note_compare(r, c, s);
    case CODE_SELECT: return note_places(r, c, s, OP_SELECT, (uint8_t[3]){0, 1, 2});
    case CODE_UNOP: return note_places(r, c, s, OP_FNEG, (uint8_t[3]){1, 0xff, 0xff});
    case CODE_EXTRACTELT:
    case CODE_INSERTELT:
    case CODE_SHUFFLEVEC:
    case CODE_SHUFFLEVEC_EX: return note_vector_op(r, c, s);
    case CODE_BLOCKADDRESS: return reader_unsupported(r, "blockaddress");
    default: return reader_unsupported(r, "a constant that nvmini does not know");
  }
}

/* Whether the record is a constant without operands; *v is then its value. */
static bool make_simple(struct reader *r, const struct bits_record *s, struct nvm_value *v) {
  struct nvm_type type = r->constants->type;
  switch (s->code) {
    case CODE_NULL:
      *v = type_equal(type, TYPE_TOKEN) ? const_token_none(r->p.m) : const_zero(r->p.m, type);
      return true;
    case CODE_UNDEF: *v = const_undef(r->p.m, type); return true;
    case CODE_POISON: *v = const_poison(r->p.m, type); return true;
    case CODE_INTEGER:
    case CODE_WIDE_INTEGER: *v = make_int(r, s); return true;
    case CODE_FLOAT: *v = make_float(r, s); return true;
    case CODE_STRING:
    case CODE_CSTRING: *v = make_string(r, s); return true;
    case CODE_DATA: *v = make_data(r, s); return true;
    case CODE_ASM_OLD:
    case CODE_ASM_OLD2:
    case CODE_ASM_OLD3:
    case CODE_ASM: *v = make_asm(r, s); return true;
    default: return false;
  }
}

static bool read_constant(struct reader *r, const struct bits_record *s) {
  struct bcconstants *t = r->constants;
  if (s->code == CODE_SETTYPE) {
    if (!reader_needs(r, s, 1)) return false;
    t->type = bctypes_value(r, s->numbers[0]);
    return t->type.index && (!type_equal(t->type, TYPE_METADATA) ||
                             reader_fail(r, "a constant cannot have this type"));
  }
  if (t->type.index == 0) return reader_fail(r, "a constant without a type");
  struct nvm_value v = VALUE_NULL;
  struct pending c = {.first = t->operands.count, .begin = r->begin};
  if (make_simple(r, s, &v)) {
    if (value_is_none(v) || !measure(r, v)) return false;
  } else if (!note_pending(r, &c, s)) {
    return false;
  }
  if (!VEC_PUSH(&r->p.scratch, &t->pending, c)) return false;
  return VEC_PUSH(&r->p.scratch, &r->values, v);
}

/* ---- Constants with operands, at the end of the block ---- */

static bool is_constant(struct nvm_value v) {
  enum value_kind kind = value_kind(v);
  return kind == VALUE_CONST || kind == VALUE_GLOBAL || kind == VALUE_FUNCTION;
}

static struct nvm_value make_aggregate(struct reader *r, const struct pending *c) {
  for (uint32_t i = 0; i < c->count; i++)
    if (!type_equal(module_value_type(r->p.m, r->p.values.data[i]),
                    type_element(&r->p.m->types, c->type, i)))
      return invalid(r);
  return const_aggregate(r->p.m, c->type, r->p.values.data, c->count);
}

static struct nvm_value make_pending(struct reader *r, const struct pending *c) {
  const struct nvm_value *operands = r->p.values.data;
  if (c->op == OP_COUNT) return make_aggregate(r, c);
  struct nvm_type type =
      c->type.index ? c->type : bcvalues_result(r, (enum op)c->op, operands, c->count);
  const struct type_info *info = info_of(r, type);
  if (type.index == 0 || (info->kind == TY_VECTOR && !reader_spend(r, info->count)))
    return VALUE_NULL;
  return values_make_expr(&r->p, (enum op)c->op, c->flags, type, operands, c->count, c->aux);
}

/* Puts the operands into p.values, or pushes those that are not made yet. False after an error. */
static bool gather(struct reader *r, const struct pending *c, bool *ready) {
  struct bcconstants *t = r->constants;
  *ready = true;
  if (!VEC_ROOM(&r->p.scratch, &r->p.values, (uint64_t)c->count + 1)) return false;
  for (uint32_t i = 0; i < c->count; i++) {
    uint32_t id = t->operands.data[c->first + i];
    if (id >= r->values.count) return reader_fail(r, "use of an undefined value");
    struct nvm_value v = r->values.data[id];
    if (value_is_none(v)) {
      if (t->pending.data[id - t->first].open) return reader_fail(r, "a constant contains itself");
      *ready = false;
      if (!VEC_PUSH(&r->p.scratch, &t->stack, id)) return false;
    } else if (!is_constant(v) || bcconstants_is_asm(r, v)) {
      return reader_fail(r, "an operand of a constant is not constant");
    }
    r->p.values.data[i] = v;
  }
  return true;
}

/* Makes the constant with that id, and those that it needs before. */
static bool make_tree(struct reader *r, uint32_t root) {
  struct bcconstants *t = r->constants;
  t->stack.count = 0;
  if (!VEC_PUSH(&r->p.scratch, &t->stack, root)) return false;
  while (t->stack.count > 0) {
    uint32_t id = t->stack.data[t->stack.count - 1];
    struct pending *c = &t->pending.data[id - t->first];
    bool ready = true;
    if (value_is_none(r->values.data[id])) {
      r->begin = c->begin;
      c->open = true;
      if (!gather(r, c, &ready)) return false;
      if (!ready) continue;
      struct nvm_value v = make_pending(r, c);
      if (value_is_none(v) || !measure(r, v)) return false;
      r->values.data[id] = v;
    }
    t->stack.count--;
  }
  return true;
}

bool bcconstants_read(struct reader *r) {
  struct bcconstants *t = r->constants;
  t->type = TYPE_NONE;
  t->first = r->values.count;
  t->pending.count = t->operands.count = 0;
  if (t->first != r->value_count) return reader_fail(r, "constants after forward references");
  if (!reader_block(r, read_constant)) return false;
  for (uint32_t id = t->first; id < r->values.count; id++)
    if (value_is_none(r->values.data[id]) && !make_tree(r, id)) return false;
  r->value_count = r->values.count;
  return true;
}
