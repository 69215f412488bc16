/* The rules of combine.rules as code: what the decision trees of the generated combine.inc call.
 *
 * Numbers: integer constants of up to 64 bits, scalars or the same in all lanes of a vector, held
 * as uint64_t, zero above their width. fn_X(width, ...) computes on them; shifts by too much give 0
 * and divisions by zero all ones, as in SMT-LIB, so that prove.py means the same. */
#include "opt/analysis/known_bits.h"
#include "opt/combine.h"
#include "ir/evalfloat.h"
#include "ir/intrinsic.h"

/* --- classes of operands ------------------------------------------------------------------------- */

enum {
  CLASS_INT = OP_COUNT, /* an integer constant, or a splat of one */
  CLASS_FLOAT,
  CLASS_OTHER,
  CLASS_CALL, /* + enum intrinsic_id; CLASS_CALL itself: any other call */
};

static uint32_t class_of_splat(const struct constant_table *t, const struct constant_info *c,
                               const struct type_table *types);

static uint32_t class_of_constant(const struct combiner *k, const struct constant_info *c) {
  switch ((enum constant_kind)c->kind) {
  case CONST_INT: return type_info(&k->m->types, c->type)->width <= 64 ? CLASS_INT : CLASS_OTHER;
  case CONST_FLOAT: return CLASS_FLOAT;
  case CONST_ZERO: case CONST_AGGREGATE:
    return class_of_splat(&k->m->constants, c, &k->m->types);
  default: return CLASS_OTHER;
  }
}

/* A vector of equal numbers. */
static uint32_t class_of_splat(const struct constant_table *t, const struct constant_info *c,
                               const struct type_table *types) {
  if (!type_is_vector(types, c->type)) return CLASS_OTHER;
  const struct type_info *element = type_info(types, type_scalar(types, c->type));
  uint32_t class = element->kind == TY_INT && element->width <= 64           ? CLASS_INT
                   : element->kind >= TY_HALF && element->kind <= TY_DOUBLE ? CLASS_FLOAT
                                                                            : CLASS_OTHER;
  if (c->kind == CONST_ZERO) return class;
  struct nvm_value first = t->operands.data[c->first];
  for (uint32_t n = 0; n < c->count; n++)
    if (!value_equal(t->operands.data[c->first + n], first)) return CLASS_OTHER;
  if (value_kind(first) != VALUE_CONST) return CLASS_OTHER;
  uint8_t kind = constant_info(t, first)->kind;
  return kind == CONST_INT || kind == CONST_FLOAT ? class : CLASS_OTHER;
}

static uint32_t class_of_call(const struct combiner *k, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(k->f, i);
  if (value_kind(callee) != VALUE_FUNCTION) return CLASS_CALL;
  return CLASS_CALL + module_function(k->m, callee)->intrinsic;
}

static inline uint32_t class_of(const struct combiner *k, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST) {
    const struct nvm_inst *i = &k->f->insts.data[value_index(v)];
    return i->op == OP_CALL ? class_of_call(k, i) : i->op;
  }
  if (value_kind(v) == VALUE_CONST)
    return class_of_constant(k, constant_info(&k->m->constants, v));
  return CLASS_OTHER;
}

static inline const struct nvm_inst *inst_of(const struct combiner *k, struct nvm_value v) {
  return &k->f->insts.data[value_index(v)];
}
static inline bool has_flags(const struct nvm_inst *i, unsigned flags) {
  return (i->flags & flags) == flags;
}
static inline bool one_use(const struct combiner *k, struct nvm_value v) {
  return k->f->uses.data[value_index(v)] == 1;
}

/* The scalar constant of a number or splat. */
static const struct constant_info *number_of(const struct combiner *k, struct nvm_value v) {
  const struct constant_info *c = constant_info(&k->m->constants, v);
  if (c->kind == CONST_AGGREGATE)
    c = constant_info(&k->m->constants, k->m->constants.operands.data[c->first]);
  return c;
}
static inline uint64_t int_bits(const struct combiner *k, struct nvm_value v) {
  const struct constant_info *c = number_of(k, v);
  return c->kind == CONST_ZERO ? 0 : c->bits;
}
static inline uint32_t int_width(const struct combiner *k, struct nvm_value v) {
  const struct type_table *t = &k->m->types;
  return type_scalar_bits(t, type_scalar(t, constant_info(&k->m->constants, v)->type));
}

/* --- floats --------------------------------------------------------------------------------------- */

static bool format_of(const struct combiner *k, struct nvm_type type, enum float_format *format) {
  switch (type_kind(&k->m->types, type_scalar(&k->m->types, type))) {
  case TY_HALF: *format = FLOAT_HALF; return true;
  case TY_BFLOAT: *format = FLOAT_BFLOAT; return true;
  case TY_FLOAT: *format = FLOAT_SINGLE; return true;
  case TY_DOUBLE: *format = FLOAT_DOUBLE; return true;
  default: return false;
  }
}

static uint64_t float_bits_of(enum float_format format, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return evalfloat_convert(FLOAT_DOUBLE, format, EVALFLOAT_NEAREST, bits);
}

static bool float_is(const struct combiner *k, struct nvm_value v, double value) {
  const struct constant_info *c = number_of(k, v);
  enum float_format format;
  if (!format_of(k, c->type, &format)) return false;
  return (c->kind == CONST_ZERO ? 0 : c->bits) == float_bits_of(format, value);
}

static struct nvm_value make_float(struct combiner *k, struct nvm_type type, double value) {
  enum float_format format;
  if (!format_of(k, type, &format)) return VALUE_NULL;
  struct nvm_type scalar = type_scalar(&k->m->types, type);
  struct nvm_value v = const_float(k->m, scalar, float_bits_of(format, value));
  if (!type_is_vector(&k->m->types, type)) return v;
  uint32_t lanes = (uint32_t)type_info(&k->m->types, type)->count;
  struct nvm_value *all = arena_alloc(k->arena, lanes * sizeof *all);
  if (!all) return VALUE_NULL;
  for (uint32_t n = 0; n < lanes; n++) all[n] = v;
  return const_aggregate(k->m, type, all, lanes);
}

/* --- types ---------------------------------------------------------------------------------------- */

static bool type_is_bool(const struct combiner *k, struct nvm_type type) {
  return type_equal(type_scalar(&k->m->types, type), TYPE_I1);
}
/* A number of more than one bit. */
static bool type_is_wide(const struct combiner *k, struct nvm_type type) {
  return type_scalar_bits(&k->m->types, type_scalar(&k->m->types, type)) > 1;
}
static struct nvm_type bool_like(struct combiner *k, struct nvm_type like) {
  return type_is_vector(&k->m->types, like) ? type_with_lanes_of(&k->m->types, TYPE_I1, like)
                                            : TYPE_I1;
}
static uint32_t scalar_width(const struct combiner *k, struct nvm_type type) {
  return type_scalar_bits(&k->m->types, type_scalar(&k->m->types, type));
}
static bool can_widen(const struct combiner *k, struct nvm_type from, struct nvm_type to) {
  const struct type_info *a = type_info(&k->m->types, from), *b = type_info(&k->m->types, to);
  bool lanes = a->kind == TY_VECTOR ? b->kind == TY_VECTOR && a->count == b->count
                                    : b->kind != TY_VECTOR;
  return lanes && scalar_width(k, from) < scalar_width(k, to);
}
__attribute__((unused)) static bool can_narrow(const struct combiner *k, struct nvm_type from, struct nvm_type to) {
  return can_widen(k, to, from);
}

/* --- functions of numbers -------------------------------------------------------------------------- */

static inline uint64_t fn_cut(uint32_t w, uint64_t a) { return a & known_bits_mask(w); }
static inline int64_t fn_signed(uint32_t w, uint64_t a) {
  uint64_t sign = UINT64_C(1) << (w - 1);
  return (int64_t)((fn_cut(w, a) ^ sign) - sign);
}
static inline uint64_t fn_sext(uint32_t from, uint32_t to, uint64_t a) {
  return fn_cut(to, (uint64_t)fn_signed(from, a));
}
static inline uint64_t fn_min(uint32_t w) { return UINT64_C(1) << (w - 1); }
static inline uint64_t fn_max(uint32_t w) { return fn_min(w) - 1; }
#define FN(name, expression) \
  __attribute__((unused)) static inline uint64_t fn_##name(uint32_t w, uint64_t a, uint64_t b) { \
    return fn_cut(w, expression);                                                                 \
  }
FN(add, a + b)
FN(sub, a - b)
FN(mul, a * b)
FN(and, a & b)
FN(or, a | b)
FN(xor, a ^ b)
FN(shl, b < w ? a << b : 0)
FN(lshr, b < w ? a >> b : 0)
FN(ashr, (uint64_t)(fn_signed(w, a) >> (b < w ? b : w - 1)))
FN(udiv, b ? a / b : ~UINT64_C(0))
FN(urem, b ? a % b : a)
FN(umin, a < b ? a : b)
FN(umax, a > b ? a : b)
FN(smin, fn_signed(w, a) < fn_signed(w, b) ? a : b)
FN(smax, fn_signed(w, a) > fn_signed(w, b) ? a : b)
#undef FN
#define FN(name, expression) \
  __attribute__((unused)) static inline bool fn_##name(uint32_t w, uint64_t a, uint64_t b) { \
    (void)w;                                                                                  \
    return expression;                                                                        \
  }
FN(eq, a == b)
FN(ne, a != b)
FN(ult, a < b)
FN(ule, a <= b)
FN(ugt, a > b)
FN(uge, a >= b)
FN(slt, fn_signed(w, a) < fn_signed(w, b))
FN(sle, fn_signed(w, a) <= fn_signed(w, b))
FN(sgt, fn_signed(w, a) > fn_signed(w, b))
FN(sge, fn_signed(w, a) >= fn_signed(w, b))
#undef FN
#define FN(name, result, expression) \
  __attribute__((unused)) static inline result fn_##name(uint32_t w, uint64_t a) { \
    (void)w;                                                                        \
    return expression;                                                              \
  }
FN(pow2, bool, a != 0 && (a & (a - 1)) == 0)
FN(not, uint64_t, fn_cut(w, ~a))
FN(neg, uint64_t, fn_cut(w, 0 - a))
/* As many ones at the low end as the number says. */
FN(lowmask, uint64_t, a >= w ? known_bits_mask(w) : known_bits_mask((uint32_t)a))
#undef FN
static inline uint64_t fn_log2(uint32_t w, uint64_t a) {
  (void)w;
  uint64_t n = 0;
  while (n < 63 && a >> n > 1) n++;
  return n;
}
/* The number of zeros at the low end. */
__attribute__((unused)) static inline uint64_t fn_lowzeros(uint32_t w, uint64_t a) {
  uint64_t n = 0;
  while (n < w && !(a >> n & 1)) n++;
  return n;
}
__attribute__((unused)) static inline uint64_t fn_ctpop(uint32_t w, uint64_t a) {
  uint64_t n = 0;
  for (uint32_t b = 0; b < w; b++) n += a >> b & 1;
  return n;
}
__attribute__((unused)) static inline uint64_t fn_bitreverse(uint32_t w, uint64_t a) {
  uint64_t r = 0;
  for (uint32_t b = 0; b < w; b++) r |= (a >> b & 1) << (w - 1 - b);
  return r;
}
__attribute__((unused)) static inline uint64_t fn_bswap(uint32_t w, uint64_t a) {
  uint64_t r = 0;
  for (uint32_t b = 0; b < w; b += 8) r |= (a >> b & 255) << (w - 8 - b);
  return r;
}
/* Whether a number of width `from` survives the way to width `to` and back. */
__attribute__((unused)) static inline bool fn_fitsu(uint32_t from, uint32_t to, uint64_t a) {
  return to >= from || a <= known_bits_mask(to);
}
__attribute__((unused)) static inline bool fn_fitss(uint32_t from, uint32_t to, uint64_t a) {
  return to >= from || fn_sext(to, from, fn_cut(to, a)) == a;
}

/* --- predicates -------------------------------------------------------------------------------------- */

static inline bool predicate_is_eqne(uint32_t p) { return p <= ICMP_NE; }
static inline bool predicate_is_rel(uint32_t p) { return p > ICMP_NE; }
__attribute__((unused)) static inline bool predicate_is_urel(uint32_t p) {
  return p >= ICMP_UGT && p <= ICMP_ULE;
}
__attribute__((unused)) static inline bool predicate_is_srel(uint32_t p) { return p >= ICMP_SGT; }
__attribute__((unused)) static inline uint32_t icmp_inv(uint32_t p) {
  static const uint8_t inverse[ICMP_COUNT] = {
      [ICMP_EQ] = ICMP_NE,   [ICMP_NE] = ICMP_EQ,   [ICMP_UGT] = ICMP_ULE, [ICMP_UGE] = ICMP_ULT,
      [ICMP_ULT] = ICMP_UGE, [ICMP_ULE] = ICMP_UGT, [ICMP_SGT] = ICMP_SLE, [ICMP_SGE] = ICMP_SLT,
      [ICMP_SLT] = ICMP_SGE, [ICMP_SLE] = ICMP_SGT};
  return inverse[p];
}
__attribute__((unused)) static inline uint32_t icmp_swap(uint32_t p) {
  static const uint8_t swapped[ICMP_COUNT] = {
      [ICMP_EQ] = ICMP_EQ,   [ICMP_NE] = ICMP_NE,   [ICMP_UGT] = ICMP_ULT, [ICMP_UGE] = ICMP_ULE,
      [ICMP_ULT] = ICMP_UGT, [ICMP_ULE] = ICMP_UGE, [ICMP_SGT] = ICMP_SLT, [ICMP_SGE] = ICMP_SLE,
      [ICMP_SLT] = ICMP_SGT, [ICMP_SLE] = ICMP_SGE};
  return swapped[p];
}
__attribute__((unused)) static inline uint32_t icmp_u(uint32_t p) {
  return p >= ICMP_SGT ? p - ICMP_SGT + ICMP_UGT : p;
}
__attribute__((unused)) static inline uint32_t icmp_s(uint32_t p) {
  return predicate_is_urel(p) ? p - ICMP_UGT + ICMP_SGT : p;
}
__attribute__((unused)) static inline uint32_t fcmp_inv(uint32_t p) { return p ^ 15; }
__attribute__((unused)) static inline uint32_t fcmp_swap(uint32_t p) {
  return (p & 9) | (p & 2) << 1 | (p & 4) >> 1;
}

/* --- what is known of values ---------------------------------------------------------------------------- */

static bool known_zero(const struct combiner *k, struct nvm_value v, uint64_t mask) {
  struct known_bits b = known_bits_of(k->f, v);
  return b.width && (mask & ~b.zero) == 0;
}
static bool known_nonneg(const struct combiner *k, struct nvm_value v) {
  return known_bits_nonnegative(known_bits_of(k->f, v));
}
__attribute__((unused)) static bool known_nonzero(const struct combiner *k, struct nvm_value v) {
  return known_bits_of(k->f, v).one != 0;
}
__attribute__((unused)) static bool known_disjoint(const struct combiner *k, struct nvm_value a,
                                                   struct nvm_value b) {
  struct known_bits x = known_bits_of(k->f, a), y = known_bits_of(k->f, b);
  return x.width && (~x.zero & ~y.zero & known_bits_mask(x.width)) == 0;
}
/* Neither undef nor poison: what has one value in all its uses. */
static bool known_defined_to(const struct combiner *k, struct nvm_value v, uint32_t depth) {
  enum { MOST_DEPTH = 3 };
  if (value_kind(v) == VALUE_CONST) {
    uint32_t class = class_of(k, v);
    return class == CLASS_INT || class == CLASS_FLOAT;
  }
  if (value_kind(v) != VALUE_INST) return false;
  const struct nvm_inst *i = inst_of(k, v);
  if (i->op == OP_FREEZE) return true;
  if (i->op == OP_CALL) {
    uint32_t c = class_of(k, v);
    return c != CLASS_CALL && i->operand_count == 1 &&
           !(intrinsic_table[c - CLASS_CALL].flags & (INTRIN_READS | INTRIN_WRITES));
  }
  bool total = i->op == OP_ICMP || i->op == OP_AND || i->op == OP_OR || i->op == OP_XOR ||
               i->op == OP_ADD || i->op == OP_SUB || i->op == OP_MUL || i->op == OP_ZEXT ||
               i->op == OP_SEXT || i->op == OP_TRUNC;
  if (!total || i->flags || depth >= MOST_DEPTH) return false;
  for (uint32_t n = 0; n < i->operand_count; n++)
    if (!known_defined_to(k, inst_operand(k->f, i, n), depth + 1)) return false;
  return true;
}
__attribute__((unused)) static bool known_defined(const struct combiner *k, struct nvm_value v) {
  return known_defined_to(k, v, 0);
}

/* --- the rules --------------------------------------------------------------------------------------------- */

#include "combine.inc"

struct nvm_value combine_try_rules(struct combiner *k, struct nvm_inst_id root) {
  return try_rules(k, root);
}
