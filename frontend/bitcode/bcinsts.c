/* Instructions: the operands of each record by its code, checked as far as the syntax of the text
 * implies. What else the language requires is checked by the verifier. */
#include "frontend/bitcode/bcinsts.h"

#include "frontend/bitcode/bcattrs.h"
#include "frontend/bitcode/bcfunction.h"
#include "frontend/bitcode/bcmeta.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/bitcode/bcvalues.h"
#include "frontend/names.h"

/* FUNC_CODE_ of LLVM's LLVMBitCodes.h. */
enum {
  CODE_BINOP = 2,
  CODE_CAST = 3,
  CODE_SELECT = 5,
  CODE_EXTRACTELT = 6,
  CODE_INSERTELT = 7,
  CODE_SHUFFLEVEC = 8,
  CODE_CMP = 9,
  CODE_RET = 10,
  CODE_BR = 11,
  CODE_SWITCH = 12,
  CODE_INVOKE = 13,
  CODE_UNREACHABLE = 15,
  CODE_PHI = 16,
  CODE_ALLOCA = 19,
  CODE_LOAD = 20,
  CODE_VAARG = 23,
  CODE_EXTRACTVAL = 26,
  CODE_INSERTVAL = 27,
  CODE_CMP2 = 28,
  CODE_VSELECT = 29,
  CODE_INDIRECTBR = 31,
  CODE_CALL = 34,
  CODE_FENCE = 36,
  CODE_CMPXCHG_OLD = 37,
  CODE_ATOMICRMW_OLD = 38,
  CODE_RESUME = 39,
  CODE_LANDINGPAD_OLD = 40,
  CODE_LOADATOMIC = 41,
  CODE_GEP = 43,
  CODE_STORE = 44,
  CODE_STOREATOMIC = 45,
  CODE_CMPXCHG = 46,
  CODE_LANDINGPAD = 47, /* to CATCHSWITCH: exception handling */
  CODE_CATCHSWITCH = 52,
  CODE_OPERAND_BUNDLE = 55,
  CODE_UNOP = 56,
  CODE_CALLBR = 57,
  CODE_FREEZE = 58,
  CODE_ATOMICRMW = 59,
  CODE_RECORD_VALUE = 61,
  CODE_RECORD_DECLARE = 62,
  CODE_RECORD_ASSIGN = 63,
  CODE_RECORD_VALUE_SIMPLE = 64,
  CODE_RECORD_LABEL = 65,
};

/* The number at *k, 0 if the record ends before. */
static uint64_t optional(const struct bits_record *s, uint32_t *k) {
  return *k < s->count ? s->numbers[(*k)++] : 0;
}

static bool add(struct reader *r, enum op op, uint32_t flags, struct nvm_type type,
                const struct nvm_value *operands, uint32_t count) {
  return bcfunction_add(r, op, flags, type, operands, count, 0);
}

static const struct type_info *info_of(const struct reader *r, struct nvm_value v) {
  return type_info(&r->p.m->types, bcvalues_type(r, v));
}

/* Room for operands in p.values. */
static bool room(struct reader *r, uint64_t count) {
  return VEC_ROOM(&r->p.scratch, &r->p.values, count + 1);
}

/* ---- Ops that compute ---- */

static bool read_binary(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct nvm_value v[2] = {bcvalues_pair(r, s, &k), VALUE_NULL};
  if (value_is_none(v[0])) return false;
  struct nvm_type type = bcvalues_type(r, v[0]);
  v[1] = bcvalues_take(r, s, &k, type);
  if (value_is_none(v[1]) || !reader_needs(r, s, k + 1)) return false;
  enum op op = bcvalues_binary_op(r, s->numbers[k++], type);
  return op != OP_COUNT && add(r, op, bcvalues_flags(op, optional(s, &k)), type, v, 2);
}

static bool read_unary(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct nvm_value v = bcvalues_pair(r, s, &k);
  if (value_is_none(v)) return false;
  enum op op = s->code == CODE_FREEZE ? OP_FREEZE : OP_FNEG;
  if (op == OP_FNEG && (!reader_needs(r, s, k + 1) || s->numbers[k++] != 0))
    return reader_fail(r, "unknown unary operation");
  return add(r, op, op == OP_FNEG ? bcvalues_flags(op, optional(s, &k)) : 0, bcvalues_type(r, v),
             &v, 1);
}

static bool read_cast(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct nvm_value v = bcvalues_pair(r, s, &k);
  if (value_is_none(v) || !reader_needs(r, s, k + 2)) return false;
  struct nvm_type type = bctypes_value(r, s->numbers[k++]);
  enum op op = bcvalues_cast_op(r, s->numbers[k++]);
  if (type.index == 0 || op == OP_COUNT) return false;
  return add(r, op, bcvalues_flags(op, optional(s, &k)), type, &v, 1);
}

static bool read_compare(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0, predicate;
  enum op op;
  struct nvm_value v[2] = {bcvalues_pair(r, s, &k), VALUE_NULL};
  if (value_is_none(v[0])) return false;
  struct nvm_type type = bcvalues_type(r, v[0]);
  v[1] = bcvalues_take(r, s, &k, type);
  if (value_is_none(v[1]) || !reader_needs(r, s, k + 1) ||
      !bcvalues_predicate(r, s->numbers[k++], type, &op, &predicate))
    return false;
  uint32_t flags = bcvalues_flags(op, optional(s, &k));
  return bcfunction_add(r, op, flags, bcvalues_result(r, op, v, 2), v, 2, predicate);
}

static bool read_select(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct nvm_value v[3] = {VALUE_NULL, bcvalues_pair(r, s, &k), VALUE_NULL};
  if (value_is_none(v[1])) return false;
  struct nvm_type type = bcvalues_type(r, v[1]);
  v[2] = bcvalues_take(r, s, &k, type);
  v[0] = s->code == CODE_SELECT ? bcvalues_take(r, s, &k, TYPE_I1) : bcvalues_pair(r, s, &k);
  return add(r, OP_SELECT, bcvalues_flags(OP_SELECT, optional(s, &k)), type, v, 3);
}

/* ---- Vectors and members ---- */

static bool read_vector_op(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0, count = 3;
  enum op op = s->code == CODE_EXTRACTELT  ? OP_EXTRACTELEMENT
               : s->code == CODE_INSERTELT ? OP_INSERTELEMENT
                                           : OP_SHUFFLEVECTOR;
  struct nvm_value v[3] = {bcvalues_pair(r, s, &k), VALUE_NULL, VALUE_NULL};
  if (value_is_none(v[0])) return false;
  if (info_of(r, v[0])->kind != TY_VECTOR) return reader_fail(r, "expected a vector");
  struct nvm_type type = bcvalues_type(r, v[0]);
  if (op == OP_EXTRACTELEMENT) {
    v[1] = bcvalues_pair(r, s, &k);
    count = 2;
  } else {
    struct nvm_type element = info_of(r, v[0])->element;
    v[1] = bcvalues_take(r, s, &k, op == OP_SHUFFLEVECTOR ? type : element);
    v[2] = bcvalues_pair(r, s, &k);
  }
  if (value_is_none(v[1]) || (count == 3 && value_is_none(v[2]))) return false;
  return add(r, op, 0, bcvalues_result(r, op, v, count), v, count);
}

/* Appends the indices to p.values and follows them; TYPE_NONE after an error. */
static struct nvm_type read_indices(struct reader *r, const struct bits_record *s, uint32_t k,
                                    struct nvm_type type, uint32_t count) {
  if (k == s->count) reader_fail(r, "extractvalue or insertvalue without an index");
  for (; k < s->count; k++) {
    bool aggregate = type_is_aggregate(&r->p.m->types, type);
    uint64_t index = s->numbers[k];
    type = aggregate && index <= UINT32_MAX ? type_element(&r->p.m->types, type, index) : TYPE_NONE;
    if (type.index == 0) {
      reader_fail(r, "an index of extractvalue or insertvalue is out of range");
      return type;
    }
    r->p.values.data[count++] = const_int(r->p.m, TYPE_I32, index);
  }
  return type;
}

static bool read_member(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0, given = s->code == CODE_INSERTVAL ? 2 : 1;
  if (!room(r, (uint64_t)s->count + 2)) return false;
  struct nvm_value whole = bcvalues_pair(r, s, &k);
  struct nvm_value part = given == 2 ? bcvalues_pair(r, s, &k) : VALUE_NULL;
  if (value_is_none(whole) || (given == 2 && value_is_none(part))) return false;
  r->p.values.data[0] = whole;
  r->p.values.data[1] = part;
  struct nvm_type type = bcvalues_type(r, whole), member = read_indices(r, s, k, type, given);
  if (member.index == 0) return false;
  if (given == 2 && !type_equal(bcvalues_type(r, part), member))
    return reader_fail(r, "insertvalue of another type than the member's");
  enum op op = given == 2 ? OP_INSERTVALUE : OP_EXTRACTVALUE;
  return add(r, op, 0, given == 2 ? type : member, r->p.values.data, given + s->count - k);
}

/* The type of what is in memory; TYPE_NONE after an error. */
static struct nvm_type object_type(struct reader *r, uint64_t id) {
  struct nvm_type type = bctypes_get(r, id);
  if (type.index == 0 || bctypes_is_object(r, type)) return type;
  reader_fail(r, "an object in memory cannot have this type");
  return TYPE_NONE;
}

static bool read_gep(struct reader *r, const struct bits_record *s) {
  uint32_t k = 2, count = 0;
  if (!reader_needs(r, s, 3) || !room(r, s->count)) return false;
  struct nvm_type element = object_type(r, s->numbers[1]);
  if (element.index == 0) return false;
  while (k < s->count) {
    struct nvm_value v = bcvalues_pair(r, s, &k);
    if (value_is_none(v)) return false;
    r->p.values.data[count++] = v;
  }
  struct nvm_type type = bcvalues_result(r, OP_GEP, r->p.values.data, count);
  return bcfunction_add(r, OP_GEP, bcvalues_flags(OP_GEP, s->numbers[0]), type, r->p.values.data,
                        count, element.index);
}

/* ---- Memory ---- */

/* LLVM stores log2(alignment) + 1, as nvmini does. */
static bool set_align(struct reader *r, struct memory_access *a, uint64_t log2_plus_1) {
  if (log2_plus_1 > MAX_ALIGN_LOG2_PLUS_1) return reader_fail(r, "an alignment is out of range");
  a->align_log2 = log2_plus_1 & 63;
  return true;
}

static bool set_order(struct reader *r, struct memory_access *a, uint64_t order, uint64_t scope) {
  if (order >= ORDER_COUNT) return reader_fail(r, "unknown ordering of an atomic access");
  a->ordering = order & 7;
  if (order == ORDER_NONE) return reader_fail(r, "an atomic access needs an ordering");
  /* Before LLVM 6 there were two scopes without names: one thread, and the system. */
  if (r->scopes.count == 0 && scope <= 1) {
    struct nvm_str name = scope ? (struct nvm_str){0} : module_str(r->p.m, "singlethread");
    a->scope = module_sync_scope(r->p.m, name) & 255;
    return true;
  }
  if (scope >= r->scopes.count) return reader_fail(r, "use of an undefined synchronization scope");
  a->scope = r->scopes.data[scope] & 255;
  return true;
}

static bool read_alloca(struct reader *r, const struct bits_record *s) {
  enum { INALLOCA = 1 << 5, EXPLICIT_TYPE = 1 << 6, SWIFT_ERROR = 1 << 7 };
  if (!reader_needs(r, s, 4)) return false;
  uint64_t word = s->numbers[3], log2 = (word & 31) | (word >> 8 & 7) << 5;
  struct nvm_type type = object_type(r, s->numbers[0]);
  if (!(word & EXPLICIT_TYPE)) type = bctypes_pointee(r, s->numbers[0]);
  struct nvm_type number = bctypes_value(r, s->numbers[1]);
  if (type.index == 0 || number.index == 0 || !bctypes_is_object(r, type))
    return reader_fail(r, "an alloca has an invalid type");
  struct nvm_value count = bcvalues_get(r, s->numbers[2], number);
  struct memory_access a = {0};
  uint64_t space = s->count > 4 ? s->numbers[4] : 0;
  if (!set_align(r, &a, log2)) return false;
  if (space > PARSE_MAX_NUMBER) return reader_fail(r, "an address space is out of range");
  uint32_t flags = a.align_log2 | (word & INALLOCA ? ALLOCA_INALLOCA : 0) |
                   (word & SWIFT_ERROR ? ALLOCA_SWIFTERROR : 0);
  return bcfunction_add(r, OP_ALLOCA, flags, type_ptr(&r->p.m->types, (uint32_t)space), &count, 1,
                        type.index);
}

static bool read_load(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct memory_access a = {0};
  bool atomic = s->code == CODE_LOADATOMIC;
  struct nvm_value v = bcvalues_pair(r, s, &k);
  if (value_is_none(v) || !reader_needs(r, s, k + (atomic ? 5 : 3))) return false;
  struct nvm_type type = object_type(r, s->numbers[k]);
  if (type.index == 0 || !set_align(r, &a, s->numbers[k + 1])) return false;
  a.is_volatile = s->numbers[k + 2] != 0;
  if (atomic && !set_order(r, &a, s->numbers[k + 3], s->numbers[k + 4])) return false;
  return bcfunction_add(r, OP_LOAD, 0, type, &v, 1, memory_access_pack(a));
}

static bool read_store(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct memory_access a = {0};
  bool atomic = s->code == CODE_STOREATOMIC;
  struct nvm_value pointer = bcvalues_pair(r, s, &k);
  if (value_is_none(pointer)) return false;
  struct nvm_value v[2] = {bcvalues_pair(r, s, &k), pointer};
  if (value_is_none(v[0]) || !reader_needs(r, s, k + (atomic ? 4 : 2))) return false;
  if (!set_align(r, &a, s->numbers[k])) return false;
  a.is_volatile = s->numbers[k + 1] != 0;
  if (atomic && !set_order(r, &a, s->numbers[k + 2], s->numbers[k + 3])) return false;
  return bcfunction_add(r, OP_STORE, 0, TYPE_VOID, v, 2, memory_access_pack(a));
}

static bool read_fence(struct reader *r, const struct bits_record *s) {
  struct memory_access a = {0};
  if (!reader_needs(r, s, 2) || !set_order(r, &a, s->numbers[0], s->numbers[1])) return false;
  return bcfunction_add(r, OP_FENCE, 0, TYPE_VOID, NULL, 0, memory_access_pack(a));
}

/* The operand of an atomic access after its pointer. In the oldest records its type is the
 * pointer's; without it, it must be defined already. */
static struct nvm_value read_exchanged(struct reader *r, const struct bits_record *s, uint32_t *k,
                                       bool old) {
  return old ? bcvalues_take(r, s, k, TYPE_NONE) : bcvalues_pair(r, s, k);
}

static bool read_cmpxchg(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct memory_access a = {0};
  struct nvm_value v[3] = {bcvalues_pair(r, s, &k), VALUE_NULL, VALUE_NULL};
  if (value_is_none(v[0])) return false;
  v[1] = read_exchanged(r, s, &k, s->code == CODE_CMPXCHG_OLD);
  if (value_is_none(v[1])) return false;
  struct nvm_type type = bcvalues_type(r, v[1]), members[2] = {type, TYPE_I1};
  v[2] = bcvalues_take(r, s, &k, type);
  if (value_is_none(v[2]) || !reader_needs(r, s, k + 5)) return false;
  a.is_volatile = s->numbers[k] != 0;
  if (!set_order(r, &a, s->numbers[k + 1], s->numbers[k + 2])) return false;
  if (s->numbers[k + 3] >= ORDER_COUNT) return reader_fail(r, "unknown ordering");
  a.failure_ordering = s->numbers[k + 3] & 7;
  a.is_weak = s->numbers[k + 4] != 0;
  k += 5;
  if (!set_align(r, &a, optional(s, &k))) return false;
  return bcfunction_add(r, OP_CMPXCHG, 0, type_struct(&r->p.m->types, members, 2, false), v, 3,
                        memory_access_pack(a));
}

static bool read_atomicrmw(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  struct memory_access a = {0};
  struct nvm_value v[2] = {bcvalues_pair(r, s, &k), VALUE_NULL};
  if (value_is_none(v[0])) return false;
  v[1] = read_exchanged(r, s, &k, s->code == CODE_ATOMICRMW_OLD);
  if (value_is_none(v[1]) || !reader_needs(r, s, k + 4)) return false;
  if (s->numbers[k] >= RMW_COUNT) return reader_fail(r, "unknown operation of an atomicrmw");
  a.rmw = s->numbers[k] & 31;
  a.is_volatile = s->numbers[k + 1] != 0;
  if (!set_order(r, &a, s->numbers[k + 2], s->numbers[k + 3])) return false;
  k += 4;
  if (!set_align(r, &a, optional(s, &k))) return false;
  return bcfunction_add(r, OP_ATOMICRMW, 0, bcvalues_type(r, v[1]), v, 2, memory_access_pack(a));
}

static bool read_va_arg(struct reader *r, const struct bits_record *s) {
  uint32_t k = 1;
  if (!reader_needs(r, s, 3)) return false;
  struct nvm_type list = bctypes_value(r, s->numbers[0]), type = bctypes_value(r, s->numbers[2]);
  if (list.index == 0 || type.index == 0) return false;
  struct nvm_value v = bcvalues_take(r, s, &k, list);
  return add(r, OP_VA_ARG, 0, type, &v, 1);
}

/* ---- Control flow ---- */

static bool read_return(struct reader *r, const struct bits_record *s) {
  uint32_t k = 0;
  if (s->count == 0) return add(r, OP_RET, 0, TYPE_VOID, NULL, 0);
  struct nvm_value v = bcvalues_pair(r, s, &k);
  return add(r, OP_RET, 0, TYPE_VOID, &v, 1);
}

static bool read_branch(struct reader *r, const struct bits_record *s) {
  uint32_t k = 2;
  if (!reader_needs(r, s, 1)) return false;
  struct nvm_value v[3] = {VALUE_NULL, bcfunction_block(r, s->numbers[0]), VALUE_NULL};
  if (s->count == 1) return add(r, OP_BR, 0, TYPE_VOID, &v[1], 1);
  if (!reader_needs(r, s, 3)) return false;
  v[2] = bcfunction_block(r, s->numbers[1]);
  v[0] = bcvalues_take(r, s, &k, TYPE_I1);
  return add(r, OP_CONDBR, 0, TYPE_VOID, v, 3);
}

/* The type and value that are switched on, the default, then pairs of absolute ids of a constant
 * and a block. */
static bool read_switch(struct reader *r, const struct bits_record *s) {
  uint32_t k = 1;
  if (!reader_needs(r, s, 3) || !room(r, s->count)) return false;
  struct nvm_type type = bctypes_value(r, s->numbers[0]);
  if (type.index == 0 || s->count % 2 == 0) return reader_fail(r, "a switch is malformed");
  struct nvm_value v = bcvalues_take(r, s, &k, type);
  for (uint32_t i = 1; k < s->count && !value_is_none(v); k++, i++) {
    r->p.values.data[i - 1] = v;
    v = i % 2 ? bcfunction_block(r, s->numbers[k]) : bcvalues_get(r, s->numbers[k], type);
  }
  if (value_is_none(v)) return false;
  r->p.values.data[s->count - 2] = v;
  return add(r, OP_SWITCH, 0, TYPE_VOID, r->p.values.data, s->count - 1);
}

/* The type, pairs of a signed relative id and a block, and flags if a number is left. */
static bool read_phi(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1) || !room(r, s->count)) return false;
  struct nvm_type type = bctypes_value(r, s->numbers[0]);
  if (type.index == 0) return false;
  uint32_t count = (s->count - 1) / 2 * 2;
  for (uint32_t i = 0; i < count; i += 2) {
    uint64_t id = r->version ? bits_signed(s->numbers[i + 1]) : s->numbers[i + 1];
    struct nvm_value v = bcvalues_get(r, bcvalues_absolute(r, id), type);
    struct nvm_value block = bcfunction_block(r, s->numbers[i + 2]);
    if (value_is_none(v) || value_is_none(block)) return false;
    r->p.values.data[i] = v;
    r->p.values.data[i + 1] = block;
  }
  uint64_t flags = s->count % 2 == 0 ? s->numbers[s->count - 1] : 0;
  return add(r, OP_PHI, bcvalues_flags(OP_PHI, flags), type, r->p.values.data, count);
}

/* ---- Calls ---- */

static bool read_bundle(struct reader *r, const struct bits_record *s) {
  struct bcfunction *t = r->function;
  uint32_t k = 1, first = t->bundle_values.count;
  if (!reader_needs(r, s, 1)) return false;
  if (s->numbers[0] >= r->bundle_tags.count)
    return reader_fail(r, "use of an undefined tag of operand bundles");
  while (k < s->count) {
    struct nvm_value v = bcvalues_pair(r, s, &k);
    if (value_is_none(v) || !VEC_PUSH(&r->p.scratch, &t->bundle_values, v)) return false;
  }
  struct operand_bundle b = {r->bundle_tags.data[s->numbers[0]], t->bundle_values.count - first};
  return VEC_PUSH(&r->p.scratch, &t->bundles, b);
}

/* The operand of a `metadata` parameter: an id of metadata, relative like one of a value. */
static struct nvm_value metadata_operand(struct reader *r, uint64_t id) {
  struct nvm_meta meta = bcmeta_get(r, id);
  if (meta.index == 0 || !bcmeta_use(r, meta)) return VALUE_NULL;
  const struct meta_item *item = meta_item(&r->p.m->metadata, meta);
  if (item->kind == META_VALUE && value_kind(item->value) == VALUE_FORWARD) r->p.saw_forward = true;
  return const_metadata(r->p.m, meta.index);
}

static struct nvm_value read_argument(struct reader *r, const struct bits_record *s, uint32_t *k,
                                      struct nvm_type type) {
  if (!reader_needs(r, s, *k + 1)) return VALUE_NULL;
  if (type_equal(type, TYPE_METADATA))
    return metadata_operand(r, bcvalues_absolute(r, s->numbers[(*k)++]));
  if (type_equal(type, TYPE_LABEL)) return bcfunction_block(r, s->numbers[(*k)++]);
  return bcvalues_take(r, s, k, type);
}

/* Arguments, values of bundles and the callee, into p.values; false after an error. */
static bool read_arguments(struct reader *r, const struct bits_record *s, uint32_t k,
                           struct nvm_type type, struct nvm_value callee, uint32_t *count) {
  const struct bcfunction *t = r->function;
  uint32_t n = 0, fixed = (uint32_t)type_info(&r->p.m->types, type)->count;
  if (!room(r, (uint64_t)s->count + t->bundle_values.count + 1)) return false;
  if (s->count - k < fixed) return reader_fail(r, "a call has too few arguments");
  for (; n < fixed; n++) {
    struct nvm_value v = read_argument(r, s, &k, type_member(&r->p.m->types, type, n));
    if (value_is_none(v)) return false;
    r->p.values.data[n] = v;
  }
  bool variadic = type_info(&r->p.m->types, type)->flags & TYPE_VARIADIC;
  if (!variadic && k < s->count) return reader_fail(r, "a call has too many arguments");
  while (k < s->count) {
    struct nvm_value v = bcvalues_pair(r, s, &k);
    if (value_is_none(v)) return false;
    r->p.values.data[n++] = v;
  }
  *count = n;
  for (uint32_t i = 0; i < t->bundle_values.count; i++)
    r->p.values.data[n++] = t->bundle_values.data[i];
  r->p.values.data[n] = callee;
  return true;
}

static uint32_t call_site(struct reader *r, struct call_site site) {
  struct bcfunction *t = r->function;
  struct nvm_module *m = r->p.m;
  uint32_t first = m->bundles.count;
  site.first_bundle = t->bundles.count ? first : 0;
  site.bundle_count = t->bundles.count;
  for (uint32_t i = 0; i < t->bundles.count; i++)
    if (!VEC_PUSH(&m->arena, &m->bundles, t->bundles.data[i])) return 0;
  uint32_t made = module_call_site(m, site);
  if (m->call_sites.data[made].first_bundle != first) m->bundles.count = first;
  t->bundles.count = t->bundle_values.count = 0;
  return made;
}

/* Notes the first call of a symbol, the place for errors about intrinsics. */
static void note_call(struct reader *r, struct nvm_value callee) {
  if (value_kind(callee) != VALUE_FUNCTION) return;
  struct symbol_use *use = names_use(&r->p, callee);
  if (!use || use->call_end) return;
  use->call_begin = reader_place(r);
  use->call_end = use->call_begin + 1;
}

/* Attributes, a word of flags, the function type, the callee, the arguments. */
static bool read_call(struct reader *r, const struct bits_record *s) {
  enum { TAIL = 1, MUSTTAIL = 1 << 14, EXPLICIT_TYPE = 1 << 15, NOTAIL = 1 << 16, FLAGS = 1 << 17 };
  uint32_t k = 2, count = 0;
  if (!reader_needs(r, s, 4)) return false;
  uint64_t word = s->numbers[1], math = word & FLAGS ? s->numbers[k++] : 0;
  if (!(word & EXPLICIT_TYPE)) return reader_unsupported(r, "calls of LLVM before 3.7");
  if (!reader_needs(r, s, k + 2)) return false;
  uint32_t function = bctypes_function(r, s->numbers[k++]);
  if (function == UINT32_MAX) return false;
  struct call_site site = {.function_type = r->types.data[function].type,
                           .convention = (uint32_t)(word >> 1 & MAX_CONVENTION)};
  struct nvm_value callee = bcvalues_pair(r, s, &k);
  if (value_is_none(callee)) return false;
  if (info_of(r, callee)->kind != TY_PTR) return reader_fail(r, "the callee is not a pointer");
  if (!read_arguments(r, s, k, site.function_type, callee, &count) ||
      !bcattrs_list(r, s->numbers[0], function, count, &site.attributes))
    return false;
  uint32_t total = count + r->function->bundle_values.count + 1, made = call_site(r, site);
  uint32_t tail = word & MUSTTAIL ? CALL_MUSTTAIL : word & NOTAIL ? CALL_NOTAIL : word & TAIL;
  note_call(r, callee);
  return bcfunction_add(r, OP_CALL, tail | bcvalues_flags(OP_CALL, math),
                        type_info(&r->p.m->types, site.function_type)->element, r->p.values.data,
                        total, made);
}

/* ---- Debug records: location, variable, expression, value; or location, label ---- */

static bool read_debug_record(struct reader *r, const struct bits_record *s) {
  static const uint8_t kinds[] = {DBG_VALUE, DBG_DECLARE, DBG_ASSIGN, DBG_VALUE, DBG_LABEL};
  uint32_t kind = kinds[s->code - CODE_RECORD_VALUE], k = 3, count = 0;
  struct nvm_value v[8];
  if (!reader_needs(r, s, kind == DBG_LABEL ? 2 : kind == DBG_ASSIGN ? 7 : 4)) return false;
  if (s->code == CODE_RECORD_VALUE_SIMPLE) {
    struct nvm_value value = bcvalues_pair(r, s, &k);
    if (value_is_none(value)) return false;
    v[count++] =
        const_metadata(r->p.m, meta_value(&r->p.m->metadata, value, bcvalues_type(r, value)).index);
  } else if (kind != DBG_LABEL) {
    v[count++] = metadata_operand(r, s->numbers[k++]);
  }
  v[count++] = metadata_operand(r, s->numbers[1]);
  if (kind != DBG_LABEL) v[count++] = metadata_operand(r, s->numbers[2]);
  for (; kind == DBG_ASSIGN && k < 7; k++) v[count++] = metadata_operand(r, s->numbers[k]);
  v[count++] = metadata_operand(r, s->numbers[0]);
  return bcfunction_add(r, OP_DBG_RECORD, 0, TYPE_VOID, v, count, kind);
}

static bool read_outside(struct reader *r, uint32_t code) {
  switch (code) {
    case CODE_INDIRECTBR: return reader_unsupported(r, "indirect branches");
    case CODE_CALLBR: return reader_unsupported(r, "branches by inline assembly");
    default: break;
  }
  bool exceptions = code == CODE_INVOKE || code == CODE_RESUME || code == CODE_LANDINGPAD_OLD ||
                    (code >= CODE_LANDINGPAD && code <= CODE_CATCHSWITCH);
  return reader_unsupported(
      r, exceptions ? "exception handling" : "an instruction that nvmini does not know");
}

bool bcinsts_read(struct reader *r, const struct bits_record *s) {
  switch (s->code) {
    case CODE_BINOP: return read_binary(r, s);
    case CODE_UNOP:
    case CODE_FREEZE: return read_unary(r, s);
    case CODE_CAST: return read_cast(r, s);
    case CODE_CMP:
    case CODE_CMP2: return read_compare(r, s);
    case CODE_SELECT:
    case CODE_VSELECT: return read_select(r, s);
    case CODE_EXTRACTELT:
    case CODE_INSERTELT:
    case CODE_SHUFFLEVEC: return read_vector_op(r, s);
    case CODE_EXTRACTVAL:
    case CODE_INSERTVAL: return read_member(r, s);
    case CODE_GEP: return read_gep(r, s);
    case CODE_ALLOCA: return read_alloca(r, s);
    case CODE_LOAD:
    case CODE_LOADATOMIC: return read_load(r, s);
    case CODE_STORE:
    case CODE_STOREATOMIC: return read_store(r, s);
    case CODE_FENCE: return read_fence(r, s);
    case CODE_CMPXCHG_OLD:
    case CODE_CMPXCHG: return read_cmpxchg(r, s);
    case CODE_ATOMICRMW_OLD:
    case CODE_ATOMICRMW: return read_atomicrmw(r, s);
    case CODE_VAARG: return read_va_arg(r, s);
    case CODE_RET: return read_return(r, s);
    case CODE_BR: return read_branch(r, s);
    case CODE_SWITCH: return read_switch(r, s);
    case CODE_UNREACHABLE: return add(r, OP_UNREACHABLE, 0, TYPE_VOID, NULL, 0);
    case CODE_PHI: return read_phi(r, s);
    case CODE_CALL: return read_call(r, s);
    case CODE_OPERAND_BUNDLE: return read_bundle(r, s);
    case CODE_RECORD_VALUE:
    case CODE_RECORD_DECLARE:
    case CODE_RECORD_ASSIGN:
    case CODE_RECORD_VALUE_SIMPLE:
    case CODE_RECORD_LABEL: return read_debug_record(r, s);
    default: return read_outside(r, s->code);
  }
}
