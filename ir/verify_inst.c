/* The rules of the ops: types of operands and result. The same functions check instructions and
 * constant expressions. Each returns at the first broken rule of its subject. */
#include "ir/verify_internal.h"

bool verify_result(const struct subject *s, struct nvm_type type) {
  if (type_equal(s->type, type)) return true;
  return verify_fail(s->v, VERIFY_RESULT_TYPE, s->id, "%T, expected %T", s->type, type);
}

/* Checks that the result is `scalar`, or a vector of it with the lanes of `like`. */
static bool expect_result_lanes(const struct subject *s, struct nvm_type scalar,
                                struct nvm_type like) {
  const struct type_table *t = s->v->types;
  if (type_equal(type_scalar(t, s->type), scalar) && verify_same_lanes(t, s->type, like))
    return true;
  return verify_fail(s->v, VERIFY_RESULT_TYPE, s->id, "%T for operands of type %T", s->type, like);
}

static bool fail_type(const struct subject *s, enum verify_rule rule, uint32_t k) {
  return verify_fail(s->v, rule, s->id, "%T as operand %u", subject_type(s, k), k);
}

static bool is_value_type(const struct type_table *t, struct nvm_type type) {
  return type_is_first_class(t, type) && type_kind(t, type) != TY_METADATA &&
         type_kind(t, type) != TY_TOKEN;
}

/* The value of an i32 constant operand (or a splat of one); false for other operands. */
static bool index_number(const struct subject *s, uint32_t k, uint64_t *number) {
  const struct nvm_module *m = s->v->m;
  struct nvm_value v = s->operands[k];
  if (value_kind(v) != VALUE_CONST) return false;
  const struct constant_info *info = constant_info(&m->constants, v);
  if (info->kind == CONST_ZERO) {
    *number = 0;
    return type_equal(type_scalar(s->v->types, info->type), TYPE_I32);
  }
  if (info->kind == CONST_AGGREGATE && type_is_vector(s->v->types, info->type)) {
    v = const_operand(m, v, 0);
    for (uint32_t i = 1; i < info->count; i++)
      if (!value_equal(const_operand(m, s->operands[k], i), v)) return false;
  }
  nvm_u128 value;
  if (!const_is_int(m, v, &value) || !type_equal(verify_type(s->v, v), TYPE_I32)) return false;
  *number = (uint64_t)value;
  return true;
}

/* Control flow. */

static bool verify_ret(const struct subject *s) {
  struct nvm_type wanted = function_result_type(s->v->f);
  bool is_void = type_equal(wanted, TYPE_VOID);
  if (s->count == 0 && is_void) return true;
  struct nvm_type found = s->count ? subject_type(s, 0) : TYPE_VOID;
  if (is_void || !type_equal(found, wanted))
    return verify_fail(s->v, VERIFY_RET_TYPE, s->id, "%T in a function that returns %T", found,
                       wanted);
  return true;
}

static bool verify_condbr(const struct subject *s) {
  return type_equal(subject_type(s, 0), TYPE_I1) || fail_type(s, VERIFY_BRANCH_CONDITION, 0);
}

/* Cases are in a hash table, so n cases take O(n) time. */
static bool cases_differ(const struct subject *s) {
  uint64_t slots = 16;
  while (slots < s->count) slots *= 2;
  uint32_t *table = arena_alloc(&s->v->function_arena, (size_t)slots * sizeof *table);
  if (!table) return false;
  for (uint32_t k = 2; k < s->count; k += 2) {
    uint32_t bits = s->operands[k].bits, i = hash_mix(0, bits) & (uint32_t)(slots - 1);
    while (table[i] && table[i] != bits) i = (i + 1) & (uint32_t)(slots - 1);
    if (table[i])
      return verify_fail(s->v, VERIFY_SWITCH_UNIQUE, s->id, "duplicate case %V", s->operands[k]);
    table[i] = bits;
  }
  return true;
}

static bool verify_switch(const struct subject *s) {
  struct nvm_type type = subject_type(s, 0);
  if (!type_is_int(s->v->types, type)) return fail_type(s, VERIFY_SWITCH_TYPE, 0);
  for (uint32_t k = 2; k < s->count; k += 2) {
    nvm_u128 value;
    if (!const_is_int(s->v->m, s->operands[k], &value) || !type_equal(subject_type(s, k), type))
      return fail_type(s, VERIFY_SWITCH_TYPE, k);
  }
  return cases_differ(s);
}

static bool verify_phi(const struct subject *s) {
  if (!is_value_type(s->v->types, s->type))
    return verify_fail(s->v, VERIFY_PHI_TYPE, s->id, "a phi of type %T", s->type);
  for (uint32_t k = 0; k + 1 < s->count; k += 2) {
    if (!type_equal(subject_type(s, k), s->type)) return fail_type(s, VERIFY_PHI_TYPE, k);
    if (value_kind(s->operands[k + 1]) != VALUE_BLOCK)
      return verify_fail(s->v, VERIFY_OPERAND_BLOCK, s->id, "%V as operand %u", s->operands[k + 1],
                         k + 1);
  }
  return true;
}

/* Arithmetic. */

static bool verify_unary(const struct subject *s) {
  struct nvm_type type = subject_type(s, 0);
  bool fits = s->op == OP_FREEZE ? is_value_type(s->v->types, type)
                                 : type_is_float_or_vector(s->v->types, type);
  if (!fits) return fail_type(s, VERIFY_UNARY_TYPE, 0);
  return verify_result(s, type);
}

static bool verify_binary(const struct subject *s) {
  struct nvm_type type = subject_type(s, 0);
  bool fits = op_table[s->op].flags & OPF_INT ? type_is_int_or_vector(s->v->types, type)
                                              : type_is_float_or_vector(s->v->types, type);
  if (!fits || !type_equal(type, subject_type(s, 1)))
    return verify_fail(s->v, VERIFY_BINARY_TYPE, s->id, "%T and %T", type, subject_type(s, 1));
  return verify_result(s, type);
}

static bool verify_cmp(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type type = subject_type(s, 0);
  bool icmp = s->op == OP_ICMP;
  if (s->aux >= (icmp ? (uint32_t)ICMP_COUNT : (uint32_t)FCMP_COUNT))
    return verify_fail(s->v, VERIFY_CMP_PREDICATE, s->id, "predicate number %u", s->aux);
  bool fits = icmp ? type_is_int_or_vector(t, type) || type_is_ptr_or_vector(t, type)
                   : type_is_float_or_vector(t, type);
  if (!fits || !type_equal(type, subject_type(s, 1)))
    return verify_fail(s->v, VERIFY_CMP_TYPE, s->id, "%T and %T", type, subject_type(s, 1));
  return expect_result_lanes(s, TYPE_I1, type);
}

static bool verify_select(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type condition = subject_type(s, 0), type = subject_type(s, 1);
  bool condition_fits =
      type_equal(condition, TYPE_I1) ||
      (type_equal(type_scalar(t, condition), TYPE_I1) && verify_same_lanes(t, condition, type));
  if (!condition_fits || !type_equal(type, subject_type(s, 2)) || !is_value_type(t, type))
    return verify_fail(s->v, VERIFY_SELECT_TYPE, s->id, "%T, %T and %T", condition, type,
                       subject_type(s, 2));
  return verify_result(s, type);
}

/* Casts: scalar classes of operand and result, and the relation of their sizes. */

enum scalar_class { CLASS_INT, CLASS_FLOAT, CLASS_PTR };
enum size_rule { SIZE_ANY, SIZE_DOWN, SIZE_UP };

struct cast_rule {
  enum scalar_class from, to;
  enum size_rule size;
};

static const struct cast_rule cast_rules[OP_LAST_CAST - OP_FIRST_CAST + 1] = {
    [OP_TRUNC - OP_FIRST_CAST] = {CLASS_INT, CLASS_INT, SIZE_DOWN},
    [OP_ZEXT - OP_FIRST_CAST] = {CLASS_INT, CLASS_INT, SIZE_UP},
    [OP_SEXT - OP_FIRST_CAST] = {CLASS_INT, CLASS_INT, SIZE_UP},
    [OP_FPTRUNC - OP_FIRST_CAST] = {CLASS_FLOAT, CLASS_FLOAT, SIZE_DOWN},
    [OP_FPEXT - OP_FIRST_CAST] = {CLASS_FLOAT, CLASS_FLOAT, SIZE_UP},
    [OP_FPTOUI - OP_FIRST_CAST] = {CLASS_FLOAT, CLASS_INT, SIZE_ANY},
    [OP_FPTOSI - OP_FIRST_CAST] = {CLASS_FLOAT, CLASS_INT, SIZE_ANY},
    [OP_UITOFP - OP_FIRST_CAST] = {CLASS_INT, CLASS_FLOAT, SIZE_ANY},
    [OP_SITOFP - OP_FIRST_CAST] = {CLASS_INT, CLASS_FLOAT, SIZE_ANY},
    [OP_PTRTOINT - OP_FIRST_CAST] = {CLASS_PTR, CLASS_INT, SIZE_ANY},
    [OP_INTTOPTR - OP_FIRST_CAST] = {CLASS_INT, CLASS_PTR, SIZE_ANY},
    [OP_ADDRSPACECAST - OP_FIRST_CAST] = {CLASS_PTR, CLASS_PTR, SIZE_ANY},
    /* bitcast has its own function */
};

static bool is_class(const struct type_table *t, struct nvm_type type, enum scalar_class c) {
  return c == CLASS_INT     ? type_is_int_or_vector(t, type)
         : c == CLASS_FLOAT ? type_is_float_or_vector(t, type)
                            : type_is_ptr_or_vector(t, type);
}

static bool fail_cast(const struct subject *s, enum verify_rule rule) {
  return verify_fail(s->v, rule, s->id, "%T to %T", subject_type(s, 0), s->type);
}

static uint32_t space_of(const struct type_table *t, struct nvm_type type) {
  return type_info(t, type_scalar(t, type))->width;
}

static uint64_t lanes_of(const struct type_table *t, struct nvm_type type) {
  return type_is_vector(t, type) ? type_info(t, type)->count : 1;
}

static bool verify_bitcast(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type from = subject_type(s, 0), to = s->type;
  if (!is_value_type(t, from) || !is_value_type(t, to) || type_is_aggregate(t, from) ||
      type_is_aggregate(t, to))
    return fail_cast(s, VERIFY_CAST_TYPE);
  bool from_ptr = type_is_ptr_or_vector(t, from), to_ptr = type_is_ptr_or_vector(t, to);
  if (from_ptr || to_ptr) {
    bool fits = from_ptr && to_ptr && space_of(t, from) == space_of(t, to) &&
                lanes_of(t, from) == lanes_of(t, to);
    return fits || fail_cast(s, VERIFY_BITCAST_POINTER);
  }
  if (layout_bits(&s->v->m->layout, t, from) != layout_bits(&s->v->m->layout, t, to))
    return fail_cast(s, VERIFY_CAST_SIZE);
  return true;
}

static bool verify_cast(const struct subject *s) {
  if (s->op == OP_BITCAST) return verify_bitcast(s);
  const struct type_table *t = s->v->types;
  const struct cast_rule *rule = &cast_rules[s->op - OP_FIRST_CAST];
  struct nvm_type from = subject_type(s, 0), to = s->type;
  if (!is_class(t, from, rule->from) || !is_class(t, to, rule->to) ||
      !verify_same_lanes(t, from, to))
    return fail_cast(s, VERIFY_CAST_TYPE);
  uint32_t before = type_scalar_bits(t, type_scalar(t, from));
  uint32_t after = type_scalar_bits(t, type_scalar(t, to));
  if ((rule->size == SIZE_DOWN && before <= after) || (rule->size == SIZE_UP && before >= after))
    return fail_cast(s, VERIFY_CAST_SIZE);
  if (s->op == OP_ADDRSPACECAST && space_of(t, from) == space_of(t, to))
    return fail_cast(s, VERIFY_ADDRSPACECAST);
  return true;
}

/* Memory. */

enum { MAX_ALIGN_LOG2 = 32 };

static bool verify_align(const struct subject *s, uint32_t align_log2_plus_1) {
  if (align_log2_plus_1 <= MAX_ALIGN_LOG2 + 1) return true;
  return verify_fail(s->v, VERIFY_MEMORY_ALIGN, s->id, "2^%u bytes", align_log2_plus_1 - 1);
}

static bool verify_alloca(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type object = {s->aux};
  if (s->aux >= t->infos.count || !type_is_sized(t, object))
    return verify_fail(s->v, VERIFY_ALLOCA, s->id, "%T, which has no size",
                       s->aux < t->infos.count ? object : TYPE_NONE);
  if (!type_is_int(t, subject_type(s, 0))) return fail_type(s, VERIFY_ALLOCA, 0);
  if (!type_is_ptr(t, s->type))
    return verify_fail(s->v, VERIFY_ALLOCA, s->id, "a result of type %T", s->type);
  return verify_align(s, s->flags & ALLOCA_ALIGN_MASK);
}

static bool verify_pointer(const struct subject *s, uint32_t k) {
  return type_is_ptr(s->v->types, subject_type(s, k)) || fail_type(s, VERIFY_POINTER_OPERAND, k);
}

static bool verify_ordering(const struct subject *s, uint32_t ordering, uint32_t allowed) {
  if (ordering < ORDER_COUNT && allowed >> ordering & 1) return true;
  return verify_fail(s->v, VERIFY_ATOMIC_ORDERING, s->id, "%s",
                     ordering == ORDER_NONE   ? "none"
                     : ordering < ORDER_COUNT ? ordering_names[ordering]
                                              : "an unknown ordering");
}

enum {
  ALLOW_LOAD = 1 << ORDER_NONE | 1 << ORDER_UNORDERED | 1 << ORDER_MONOTONIC | 1 << ORDER_ACQUIRE |
               1 << ORDER_SEQ_CST,
  ALLOW_STORE = 1 << ORDER_NONE | 1 << ORDER_UNORDERED | 1 << ORDER_MONOTONIC | 1 << ORDER_RELEASE |
                1 << ORDER_SEQ_CST,
  ALLOW_FENCE = 1 << ORDER_ACQUIRE | 1 << ORDER_RELEASE | 1 << ORDER_ACQ_REL | 1 << ORDER_SEQ_CST,
  ALLOW_UPDATE = ALLOW_FENCE | 1 << ORDER_MONOTONIC,
  ALLOW_FAILURE = 1 << ORDER_MONOTONIC | 1 << ORDER_ACQUIRE | 1 << ORDER_SEQ_CST,
};

static bool verify_scope(const struct subject *s, struct memory_access a) {
  if (a.scope < s->v->m->sync_scopes.count && (a.ordering != ORDER_NONE || a.scope == 0))
    return true;
  return verify_fail(s->v, VERIFY_ATOMIC_SCOPE, s->id, "scope number %u", (unsigned)a.scope);
}

/* Checks that the size can be accessed atomically. */
static bool verify_atomic_size(const struct subject *s, struct nvm_type type) {
  uint64_t bits = layout_bits(&s->v->m->layout, s->v->types, type);
  if (bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0) return true;
  return verify_fail(s->v, VERIFY_ATOMIC_TYPE, s->id, "%T of %U bits", type, bits);
}

static bool verify_accessed(const struct subject *s, struct nvm_type type,
                            struct memory_access access) {
  const struct type_table *t = s->v->types;
  if (!is_value_type(t, type) || !type_is_sized(t, type))
    return verify_fail(s->v, VERIFY_MEMORY_TYPE, s->id, "%T", type);
  if (!verify_align(s, access.align_log2) || !verify_scope(s, access)) return false;
  if (access.ordering == ORDER_NONE) return true;
  if (type_is_aggregate(t, type)) return verify_fail(s->v, VERIFY_ATOMIC_TYPE, s->id, "%T", type);
  return verify_atomic_size(s, type);
}

static bool verify_load(const struct subject *s) {
  struct memory_access access = memory_access_unpack(s->aux);
  return verify_pointer(s, 0) && verify_ordering(s, access.ordering, ALLOW_LOAD) &&
         verify_accessed(s, s->type, access);
}

static bool verify_store(const struct subject *s) {
  struct memory_access access = memory_access_unpack(s->aux);
  return verify_pointer(s, 1) && verify_ordering(s, access.ordering, ALLOW_STORE) &&
         verify_accessed(s, subject_type(s, 0), access);
}

static bool verify_fence(const struct subject *s) {
  struct memory_access access = memory_access_unpack(s->aux);
  return verify_ordering(s, access.ordering, ALLOW_FENCE) && verify_scope(s, access);
}

static bool is_pair_with_flag(const struct type_table *t, struct nvm_type type,
                              struct nvm_type first) {
  const struct type_info *info = type_info(t, type);
  return info->kind == TY_STRUCT && info->count == 2 && !(info->flags & TYPE_PACKED) &&
         type_equal(type_member(t, type, 0), first) && type_equal(type_member(t, type, 1), TYPE_I1);
}

static bool verify_cmpxchg(const struct subject *s) {
  struct memory_access access = memory_access_unpack(s->aux);
  const struct type_table *t = s->v->types;
  if (!verify_pointer(s, 0)) return false;
  struct nvm_type type = subject_type(s, 1);
  if ((!type_is_int(t, type) && !type_is_ptr(t, type)) || !type_equal(type, subject_type(s, 2)))
    return verify_fail(s->v, VERIFY_ATOMIC_TYPE, s->id, "%T and %T", type, subject_type(s, 2));
  if (!verify_ordering(s, access.ordering, ALLOW_UPDATE) ||
      !verify_ordering(s, access.failure_ordering, ALLOW_FAILURE) ||
      !verify_accessed(s, type, access))
    return false;
  if (is_pair_with_flag(t, s->type, type)) return true;
  return verify_fail(s->v, VERIFY_RESULT_TYPE, s->id, "%T, expected { %T, i1 }", s->type, type);
}

static bool rmw_takes(const struct type_table *t, uint32_t op, struct nvm_type type) {
  if (op == RMW_XCHG) return type_is_int(t, type) || type_is_float(t, type) || type_is_ptr(t, type);
  bool is_float = (op >= RMW_FADD && op <= RMW_FMIN) || op == RMW_FMAXIMUM || op == RMW_FMINIMUM;
  return is_float ? type_is_float_or_vector(t, type) : op < RMW_COUNT && type_is_int(t, type);
}

static bool verify_atomicrmw(const struct subject *s) {
  struct memory_access access = memory_access_unpack(s->aux);
  if (!verify_pointer(s, 0)) return false;
  struct nvm_type type = subject_type(s, 1);
  if (!rmw_takes(s->v->types, access.rmw, type))
    return verify_fail(s->v, VERIFY_ATOMIC_TYPE, s->id, "'%s' of type %T",
                       access.rmw < RMW_COUNT ? rmw_names[access.rmw] : "unknown operation", type);
  return verify_ordering(s, access.ordering, ALLOW_UPDATE) && verify_accessed(s, type, access) &&
         verify_result(s, type);
}

/* Addresses. */

/* Reports a constant index out of range, or an operand that is not an index. */
static bool fail_index(const struct subject *s, uint32_t k, struct nvm_type in) {
  uint64_t number;
  if (type_is_aggregate(s->v->types, in) && index_number(s, k, &number))
    return verify_fail(s->v, VERIFY_GEP_INDEX, s->id, "index %U into %T, which has %U members",
                       number, in, type_info(s->v->types, in)->count);
  return verify_fail(s->v, VERIFY_GEP_INDEX, s->id, "operand %u of type %T as an index into %T", k,
                     subject_type(s, k), in);
}

/* The element of `type` that index operand k selects; TYPE_NONE after a report. */
static struct nvm_type gep_step(const struct subject *s, uint32_t k, struct nvm_type type) {
  const struct type_table *t = s->v->types;
  const struct type_info *info = type_info(t, type);
  uint64_t number = 0;
  if (info->kind == TY_STRUCT && (!index_number(s, k, &number) || number >= info->count)) {
    fail_index(s, k, type);
    return TYPE_NONE;
  }
  struct nvm_type element = type_element(t, type, number);
  if (element.index == 0) fail_index(s, k, type);
  return element;
}

/* The type that determines the lanes of the result: the first vector operand, or the base. */
static bool gep_lanes(const struct subject *s, struct nvm_type *lanes) {
  const struct type_table *t = s->v->types;
  *lanes = subject_type(s, 0);
  for (uint32_t k = 1; k < s->count; k++) {
    struct nvm_type type = subject_type(s, k);
    if (!type_is_vector(t, type)) continue;
    if (type_is_vector(t, *lanes) && !verify_same_lanes(t, *lanes, type))
      return verify_fail(s->v, VERIFY_GEP_LANES, s->id, "%T and %T", type, *lanes);
    *lanes = type;
  }
  return true;
}

static bool verify_gep(const struct subject *s) {
  const struct type_table *t = s->v->types;
  if (!type_is_ptr_or_vector(t, subject_type(s, 0))) return fail_type(s, VERIFY_GEP_BASE, 0);
  struct nvm_type type = {s->aux}, lanes;
  if (s->aux >= t->infos.count || !type_is_sized(t, type))
    return verify_fail(s->v, VERIFY_GEP_BASE, s->id, "%T, which has no size",
                       s->aux < t->infos.count ? type : TYPE_NONE);
  for (uint32_t k = 1; k < s->count; k++) {
    if (!type_is_int_or_vector(t, subject_type(s, k))) return fail_index(s, k, type);
    if (k > 1) type = gep_step(s, k, type);
    if (type.index == 0) return false;
  }
  return gep_lanes(s, &lanes) && expect_result_lanes(s, type_scalar(t, subject_type(s, 0)), lanes);
}

/* Vectors and aggregates. */

static bool verify_extractelement(const struct subject *s) {
  const struct type_table *t = s->v->types;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_type type = subject_type(s, k);
    if (!(k == 0 ? type_is_vector(t, type) : type_is_int(t, type)))
      return fail_type(s, VERIFY_VECTOR_ELEMENT, k);
  }
  return verify_result(s, type_scalar(t, subject_type(s, 0)));
}

static bool verify_insertelement(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type vector = subject_type(s, 0);
  if (!type_is_vector(t, vector)) return fail_type(s, VERIFY_VECTOR_ELEMENT, 0);
  if (!type_equal(subject_type(s, 1), type_scalar(t, vector)))
    return fail_type(s, VERIFY_VECTOR_ELEMENT, 1);
  if (!type_is_int(t, subject_type(s, 2))) return fail_type(s, VERIFY_VECTOR_ELEMENT, 2);
  return verify_result(s, vector);
}

static bool mask_lane_fits(const struct subject *s, struct nvm_value lane, uint64_t lanes) {
  nvm_u128 value;
  if (const_is_undef_or_poison(s->v->m, lane)) return true;
  if (!const_is_int(s->v->m, lane, &value)) return false;
  return value < (nvm_u128)lanes * 2;
}

static bool verify_mask(const struct subject *s, uint64_t lanes) {
  struct nvm_value mask = s->operands[2];
  struct nvm_type type = subject_type(s, 2);
  if (value_kind(mask) != VALUE_CONST || !type_is_vector(s->v->types, type) ||
      !type_equal(type_scalar(s->v->types, type), TYPE_I32))
    return fail_type(s, VERIFY_SHUFFLE_MASK, 2);
  const struct constant_info *info = constant_info(&s->v->m->constants, mask);
  if (info->kind == CONST_ZERO || info->kind == CONST_UNDEF || info->kind == CONST_POISON)
    return true;
  if (info->kind != CONST_AGGREGATE) return fail_type(s, VERIFY_SHUFFLE_MASK, 2);
  for (uint32_t i = 0; i < info->count; i++)
    if (!mask_lane_fits(s, const_operand(s->v->m, mask, i), lanes))
      return verify_fail(s->v, VERIFY_SHUFFLE_MASK, s->id, "element %u out of range (%U lanes)", i,
                         lanes * 2);
  return true;
}

static bool verify_shufflevector(const struct subject *s) {
  const struct type_table *t = s->v->types;
  struct nvm_type type = subject_type(s, 0);
  if (!type_is_vector(t, type) || !type_equal(type, subject_type(s, 1)))
    return verify_fail(s->v, VERIFY_SHUFFLE_TYPE, s->id, "%T and %T", type, subject_type(s, 1));
  if (!verify_mask(s, type_info(t, type)->count)) return false;
  return expect_result_lanes(s, type_scalar(t, type), subject_type(s, 2));
}

/* Follows the indices from operand `first` on in the aggregate operand 0. */
static bool walk_path(const struct subject *s, uint32_t first, struct nvm_type *member) {
  const struct type_table *t = s->v->types;
  struct nvm_type type = subject_type(s, 0);
  for (uint32_t k = first; k < s->count; k++) {
    uint64_t number = 0;
    bool is_number = index_number(s, k, &number);
    if (is_number && type_is_aggregate(t, type) && number >= type_info(t, type)->count)
      return verify_fail(s->v, VERIFY_AGGREGATE_PATH, s->id,
                         "index %U into %T, which has %U members", number, type,
                         type_info(t, type)->count);
    if (!is_number || !type_is_aggregate(t, type))
      return verify_fail(s->v, VERIFY_AGGREGATE_PATH, s->id, "operand %u as an index into %T", k,
                         type);
    type = type_element(t, type, number);
  }
  *member = type;
  return true;
}

static bool verify_extractvalue(const struct subject *s) {
  struct nvm_type member;
  return walk_path(s, 1, &member) && verify_result(s, member);
}

static bool verify_insertvalue(const struct subject *s) {
  struct nvm_type member;
  if (!walk_path(s, 2, &member)) return false;
  if (!type_equal(subject_type(s, 1), member))
    return verify_fail(s->v, VERIFY_AGGREGATE_TYPE, s->id, "%T, expected %T", subject_type(s, 1),
                       member);
  return verify_result(s, subject_type(s, 0));
}

static bool verify_va_arg(const struct subject *s) {
  if (type_is_ptr(s->v->types, subject_type(s, 0)) && is_value_type(s->v->types, s->type))
    return true;
  return verify_fail(s->v, VERIFY_VA_ARG, s->id, "%T from %T", s->type, subject_type(s, 0));
}

static bool verify_dbg_record(const struct subject *s) {
  if (s->aux >= DBG_COUNT) return verify_fail(s->v, VERIFY_DBG_RECORD, s->id, "kind %u", s->aux);
  for (uint32_t k = 0; k < s->count; k++)
    if (!type_equal(subject_type(s, k), TYPE_METADATA)) return fail_type(s, VERIFY_DBG_RECORD, k);
  return true;
}

enum { MANY = UINT8_MAX };

static const struct form_rule {
  uint8_t min, max;                       /* number of operands; MANY: any */
  bool is_void;                           /* has no result */
  bool (*check)(const struct subject *s); /* further checks; NULL: none */
} form_rules[] = {
    [FORM_NONE] = {0, 0, true, NULL},
    [FORM_RET] = {0, 1, true, verify_ret},
    [FORM_BR] = {1, 1, true, NULL},
    [FORM_CONDBR] = {3, 3, true, verify_condbr},
    [FORM_SWITCH] = {2, MANY, true, verify_switch},
    [FORM_UNARY] = {1, 1, false, verify_unary},
    [FORM_BINARY] = {2, 2, false, verify_binary},
    [FORM_ALLOCA] = {1, 1, false, verify_alloca},
    [FORM_LOAD] = {1, 1, false, verify_load},
    [FORM_STORE] = {2, 2, true, verify_store},
    [FORM_FENCE] = {0, 0, true, verify_fence},
    [FORM_CMPXCHG] = {3, 3, false, verify_cmpxchg},
    [FORM_ATOMICRMW] = {2, 2, false, verify_atomicrmw},
    [FORM_GEP] = {1, MANY, false, verify_gep},
    [FORM_CAST] = {1, 1, false, verify_cast},
    [FORM_CMP] = {2, 2, false, verify_cmp},
    [FORM_PHI] = {0, MANY, false, verify_phi},
    [FORM_SELECT] = {3, 3, false, verify_select},
    [FORM_CALL] = {1, MANY, false, verify_call},
    [FORM_EXTRACTELEMENT] = {2, 2, false, verify_extractelement},
    [FORM_INSERTELEMENT] = {3, 3, false, verify_insertelement},
    [FORM_SHUFFLEVECTOR] = {3, 3, false, verify_shufflevector},
    [FORM_EXTRACTVALUE] = {2, MANY, false, verify_extractvalue},
    [FORM_INSERTVALUE] = {3, MANY, false, verify_insertvalue},
    [FORM_VA_ARG] = {1, 1, false, verify_va_arg},
    [FORM_DBG_RECORD] = {0, MANY, true, verify_dbg_record},
};

bool verify_op(const struct subject *s) {
  const struct form_rule *rule = &form_rules[op_table[s->op].form];
  if (s->count < rule->min && rule->max == MANY)
    return verify_fail(s->v, VERIFY_OPERAND_COUNT, s->id, "%u operands, expected at least %u",
                       s->count, (unsigned)rule->min);
  if (s->count < rule->min || (s->count > rule->max && rule->max != MANY))
    return verify_fail(s->v, VERIFY_OPERAND_COUNT, s->id, "%u operands, expected %u", s->count,
                       (unsigned)rule->max);
  return (!rule->check || rule->check(s)) && (!rule->is_void || verify_result(s, TYPE_VOID));
}
