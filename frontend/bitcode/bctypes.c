/* Types: each record of the TYPE block defines the next type id. Named structs may be used before
 * their record, so the block is read twice: for the names, then for the types. */
#include "frontend/bitcode/bctypes.h"

/* TYPE_CODE_ of LLVM's LLVMBitCodes.h. */
enum {
  CODE_NUMENTRY = 1,
  CODE_VOID = 2,
  CODE_FLOAT = 3,
  CODE_DOUBLE = 4,
  CODE_LABEL = 5,
  CODE_OPAQUE = 6,
  CODE_INTEGER = 7,
  CODE_POINTER = 8,
  CODE_FUNCTION_OLD = 9,
  CODE_HALF = 10,
  CODE_ARRAY = 11,
  CODE_VECTOR = 12,
  CODE_X86_FP80 = 13,
  CODE_FP128 = 14,
  CODE_PPC_FP128 = 15,
  CODE_METADATA = 16,
  CODE_X86_MMX = 17,
  CODE_STRUCT_ANON = 18,
  CODE_STRUCT_NAME = 19,
  CODE_STRUCT_NAMED = 20,
  CODE_FUNCTION = 21,
  CODE_TOKEN = 22,
  CODE_BFLOAT = 23,
  CODE_X86_AMX = 24,
  CODE_OPAQUE_POINTER = 25,
  CODE_TARGET_TYPE = 26,
};

static enum type_kind kind_of(const struct reader *r, struct nvm_type type) {
  return type_kind(&r->p.m->types, type);
}

/* Counts the text of a use. */
static struct nvm_type use(struct reader *r, struct nvm_type type) {
  return reader_spend(r, bctypes_length(r, type)) ? type : TYPE_NONE;
}

struct nvm_type bctypes_get(struct reader *r, uint64_t id) {
  if (id < r->types.count && r->types.data[id].type.index) return use(r, r->types.data[id].type);
  reader_fail(r, "use of an undefined type");
  return TYPE_NONE;
}

struct nvm_type bctypes_value(struct reader *r, uint64_t id) {
  struct nvm_type type = bctypes_get(r, id);
  if (type.index == 0 || type_is_first_class(&r->p.m->types, type)) return type;
  reader_fail(r, "a value cannot have this type");
  return TYPE_NONE;
}

uint32_t bctypes_function(struct reader *r, uint64_t id) {
  if (id < r->types.count && r->types.data[id].pointee) id = r->types.data[id].pointee - 1;
  if (id < r->types.count && kind_of(r, r->types.data[id].type) == TY_FUNCTION)
    return use(r, r->types.data[id].type).index ? (uint32_t)id : UINT32_MAX;
  reader_fail(r, "expected a function type");
  return UINT32_MAX;
}

struct nvm_type bctypes_pointee(struct reader *r, uint64_t id) {
  uint32_t pointee = id < r->types.count ? r->types.data[id].pointee : 0;
  if (pointee == 0 || pointee > r->types.count) return TYPE_NONE;
  return use(r, r->types.data[pointee - 1].type);
}

struct nvm_type bctypes_parameter_pointee(struct reader *r, uint32_t function, uint32_t k) {
  const struct stream_type *t = &r->types.data[function];
  return k + 1 < t->members ? bctypes_pointee(r, r->type_members.data[t->first + k + 1])
                            : TYPE_NONE;
}

/* ---- Aggregates ---- */

bool bctypes_is_object(const struct reader *r, struct nvm_type type) {
  enum type_kind kind = kind_of(r, type);
  return kind >= TY_INT && kind != TY_FUNCTION;
}

static bool is_lane(const struct reader *r, struct nvm_type type) {
  enum type_kind kind = kind_of(r, type);
  return kind >= TY_INT && kind <= TY_PTR;
}

enum { MAX_LENGTH = 1 << 20, LONG_TYPE = 64 };

/* Notes that type `id` is a part of t. */
static void add_part(const struct reader *r, struct stream_type *t, uint64_t id) {
  const struct stream_type *part = &r->types.data[id];
  if (part->depth >= t->depth) t->depth = part->depth;
  t->length += part->length < MAX_LENGTH ? part->length + 1 : MAX_LENGTH;
  if (t->length > MAX_LENGTH) t->length = MAX_LENGTH;
}

/* Nesting without names is checked here, nesting by names when the module is complete. A type that
 * is used twice in each of several levels would be printed 2^levels times. */
static bool check_parts(struct reader *r, struct stream_type *t) {
  t->depth++;
  return (t->depth <= PARSE_MAX_TYPE_NESTING && t->length < MAX_LENGTH) ||
         reader_fail(r, "a type is nested too deeply");
}

static bool read_sequence(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  if (!reader_needs(r, s, 2)) return false;
  bool vector = s->code == CODE_VECTOR;
  struct nvm_type element = bctypes_get(r, s->numbers[1]);
  uint64_t count = s->numbers[0];
  if (element.index == 0) return false;
  if (vector && s->count > 2 && s->numbers[2]) return reader_unsupported(r, "scalable vectors");
  if (vector ? !is_lane(r, element) || count == 0 || count > PARSE_MAX_VECTOR_LANES
             : !bctypes_is_object(r, element) || count > UINT64_MAX / 16)
    return reader_fail(r, "the type of an array or vector is invalid");
  t->type = vector ? type_vector(&r->p.m->types, element, count)
                   : type_array(&r->p.m->types, element, count);
  add_part(r, t, s->numbers[1]);
  return check_parts(r, t);
}

/* The types of the numbers from `first` on, in p.types, as parts of t; false after an error. */
static bool read_members(struct reader *r, const struct bits_record *s, uint32_t first,
                         bool (*allowed)(const struct reader *r, struct nvm_type type),
                         struct stream_type *t) {
  r->p.types.count = 0;
  for (uint32_t i = first; i < s->count; i++) {
    struct nvm_type type = bctypes_get(r, s->numbers[i]);
    if (type.index == 0) return false;
    if (!allowed(r, type)) return reader_fail(r, "a member or parameter has an invalid type");
    add_part(r, t, s->numbers[i]);
    if (!VEC_PUSH(&r->p.scratch, &r->p.types, type)) return false;
  }
  return true;
}

static bool read_struct(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  if (!reader_needs(r, s, 1) || !read_members(r, s, 1, bctypes_is_object, t)) return false;
  if (s->code == CODE_STRUCT_NAMED) {
    t->depth = t->length = 0;
    if (!(type_info(&r->p.m->types, t->type)->flags & TYPE_OPAQUE))
      return reader_fail(r, "a struct has two definitions");
    return type_set_body(&r->p.m->types, t->type, r->p.types.data, r->p.types.count,
                         s->numbers[0] != 0);
  }
  t->type = type_struct(&r->p.m->types, r->p.types.data, r->p.types.count, s->numbers[0] != 0);
  return check_parts(r, t);
}

static bool is_parameter(const struct reader *r, struct nvm_type type) {
  enum type_kind kind = kind_of(r, type);
  return kind != TY_VOID && kind != TY_FUNCTION;
}

static bool read_function(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  if (!reader_needs(r, s, 2) || !read_members(r, s, 2, is_parameter, t)) return false;
  struct nvm_type result = bctypes_get(r, s->numbers[1]);
  enum type_kind kind = kind_of(r, result);
  if (result.index == 0) return false;
  if (kind == TY_FUNCTION || kind == TY_LABEL || kind == TY_METADATA)
    return reader_fail(r, "the result of a function has an invalid type");
  t->type =
      type_function(&r->p.m->types, result, r->p.types.data, r->p.types.count, s->numbers[0] != 0);
  t->first = r->type_members.count;
  t->members = s->count - 1;
  for (uint32_t i = 1; i < s->count; i++)
    if (!VEC_PUSH(&r->p.scratch, &r->type_members, (uint32_t)s->numbers[i])) return false;
  return check_parts(r, t);
}

/* ---- Scalars ---- */

static bool read_pointer(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  bool typed = s->code == CODE_POINTER;
  if (!reader_needs(r, s, 1)) return false;
  uint64_t space = typed ? (s->count > 1 ? s->numbers[1] : 0) : s->numbers[0];
  if (space > PARSE_MAX_NUMBER || (typed && s->numbers[0] >= UINT32_MAX))
    return reader_fail(r, "the type of a pointer is invalid");
  t->pointee = typed ? (uint32_t)s->numbers[0] + 1 : 0;
  t->type = type_ptr(&r->p.m->types, (uint32_t)space);
  return true;
}

static bool read_integer(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  if (!reader_needs(r, s, 1)) return false;
  if (s->numbers[0] == 0 || s->numbers[0] > TYPE_MAX_INT_BITS)
    return reader_fail(r, "the width of an integer type is out of range");
  t->type = type_int(&r->p.m->types, (uint32_t)s->numbers[0]);
  return true;
}

static const char *outside_name(uint32_t code) {
  static const char *const names[] = {[CODE_FUNCTION_OLD] = "old function types",
                                      [CODE_X86_FP80] = "x86_fp80",
                                      [CODE_FP128] = "fp128",
                                      [CODE_PPC_FP128] = "ppc_fp128",
                                      [CODE_X86_MMX] = "x86_mmx",
                                      [CODE_X86_AMX] = "x86_amx",
                                      [CODE_TARGET_TYPE] = "target types"};
  const char *name = code < sizeof names / sizeof *names ? names[code] : NULL;
  return name ? name : "a type that nvmini does not know";
}

static bool read_type(struct reader *r, const struct bits_record *s, struct stream_type *t) {
  switch (s->code) {
    case CODE_VOID: t->type = TYPE_VOID; return true;
    case CODE_FLOAT: t->type = TYPE_FLOAT; return true;
    case CODE_DOUBLE: t->type = TYPE_DOUBLE; return true;
    case CODE_HALF: t->type = TYPE_HALF; return true;
    case CODE_BFLOAT: t->type = TYPE_BFLOAT; return true;
    case CODE_LABEL: t->type = TYPE_LABEL; return true;
    case CODE_METADATA: t->type = TYPE_METADATA; return true;
    case CODE_TOKEN: t->type = TYPE_TOKEN; return true;
    case CODE_INTEGER: return read_integer(r, s, t);
    case CODE_POINTER:
    case CODE_OPAQUE_POINTER: return read_pointer(r, s, t);
    case CODE_ARRAY:
    case CODE_VECTOR: return read_sequence(r, s, t);
    case CODE_STRUCT_ANON:
    case CODE_STRUCT_NAMED: return read_struct(r, s, t);
    case CODE_FUNCTION: return read_function(r, s, t);
    case CODE_OPAQUE: return true; /* named before */
    default: return reader_unsupported(r, outside_name(s->code));
  }
}

/* ---- The block ---- */

/* The struct of that name; one without a name gets a number. */
static struct nvm_type named_struct(struct reader *r, struct nvm_str name, uint32_t *unnamed) {
  if (name.index == 0) {
    struct textbuf b;
    textbuf_init(&b, &r->p.scratch);
    textbuf_unsigned(&b, (*unnamed)++);
    name = strtab_intern(&r->p.m->strings, b.bytes ? b.bytes : "", b.length);
  }
  return type_named(&r->p.m->types, name);
}

/* The first pass: makes the named structs. */
static bool read_names(struct reader *r) {
  struct bits_record s;
  struct nvm_str name = {0};
  uint32_t unnamed = 0;
  enum bits_event event;
  if (!reader_enter(r)) return false;
  while ((event = reader_next(r, &s)) != BITS_END) {
    if (event == BITS_ERROR) return false;
    if (event == BITS_BLOCK) return reader_fail(r, "unexpected block among types");
    if (s.code == CODE_NUMENTRY) continue;
    if (s.code == CODE_STRUCT_NAME) {
      name = reader_string(r, &s, 0);
      continue;
    }
    struct stream_type t = {0};
    if (s.code == CODE_STRUCT_NAMED || s.code == CODE_OPAQUE) {
      t.type = named_struct(r, name, &unnamed);
      name = (struct nvm_str){0};
    }
    if (!VEC_PUSH(&r->p.scratch, &r->types, t)) return false;
  }
  return true;
}

static bool note_length(struct reader *r, const struct stream_type *t) {
  if (t->length < LONG_TYPE) return true;
  if (!VEC_RESERVE(&r->p.scratch, &r->type_lengths, (uint64_t)t->type.index + 1)) return false;
  if (r->type_lengths.count <= t->type.index) r->type_lengths.count = t->type.index + 1;
  r->type_lengths.data[t->type.index] = t->length;
  return true;
}

/* The second pass: makes the other types, and the bodies of structs. */
static bool read_types(struct reader *r) {
  struct bits_record s;
  enum bits_event event;
  if (!reader_enter(r)) return false;
  for (uint32_t i = 0; (event = reader_next(r, &s)) != BITS_END;) {
    if (event != BITS_RECORD) return false;
    if (s.code == CODE_NUMENTRY || s.code == CODE_STRUCT_NAME) continue;
    struct stream_type t = r->types.data[i];
    if (!read_type(r, &s, &t) || !note_length(r, &t)) return false;
    r->types.data[i++] = t;
  }
  return true;
}

bool bctypes_read(struct reader *r) {
  uint64_t at = r->bits.at;
  if (r->types.count) return reader_fail(r, "a second block of types");
  if (!read_names(r)) return false;
  bits_seek(&r->bits, at);
  return read_types(r);
}
