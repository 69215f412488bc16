/* An interpreter of combine.rules, as compiled by gen_combine; combine_program.h describes its
 * words. It walks the decision tree of the root's class by the classes of operands, and runs the
 * programs of leaves until one succeeds.
 *
 * Numbers are integer constants of up to 64 bits, scalars or splats, held as uint64_t with zeros
 * above their width. Shifts by the width or more give 0, divisions by zero all ones, as in SMT-LIB,
 * so that prove.py has the same semantics. */
#include "analysis/known_bits.h"
#include "opt/scalar/combine.h"
#include "opt/scalar/combine_program.h"
#include "ir/eval.h"
#include "ir/evalfloat.h"
#include "ir/intrinsic.h"

#include "combine.inc"

struct matcher {
  struct combiner *k;
  struct nvm_inst_id root;
  uint32_t root_kind; /* its bit in RULE_ANY_ROOT */
  uint32_t root_flags;
  struct nvm_value slots[RULE_MOST_SLOTS];
  uint8_t classes[RULE_MOST_SLOTS];         /* of the slots */
  struct known_bits known[RULE_MOST_SLOTS]; /* valid for the bits of `have_known` */
  uint64_t have_known;
  const uint16_t *registers; /* of the program: slots */
  uint64_t numbers[RULE_MOST_STACK];
  struct nvm_value made[RULE_MOST_STACK];
  uint32_t number_count, made_count;
  uint32_t flags; /* of the next op */
};

/* --- Classes of operands --- */

/* The class of a vector of equal numbers. */
static enum rule_class class_of_splat(const struct nvm_module *m, const struct constant_info *c) {
  if (!type_is_vector(&m->types, c->type)) return CLASS_OTHER;
  const struct type_info *element = type_info(&m->types, type_scalar(&m->types, c->type));
  enum rule_class class = element->kind == TY_INT && element->width <= 64     ? CLASS_INT
                          : eval_is_float_kind((enum type_kind)element->kind) ? CLASS_FLOAT
                                                                              : CLASS_OTHER;
  if (c->kind == CONST_ZERO) return class;
  const struct nvm_value *lanes = m->constants.operands.data + c->first;
  for (uint32_t n = 0; n < c->count; n++)
    if (!value_equal(lanes[n], lanes[0])) return CLASS_OTHER;
  if (value_kind(lanes[0]) != VALUE_CONST) return CLASS_OTHER;
  uint8_t kind = constant_info(&m->constants, lanes[0])->kind;
  return kind == CONST_INT || kind == CONST_FLOAT ? class : CLASS_OTHER;
}

static enum rule_class class_of_constant(const struct nvm_module *m, struct nvm_value v) {
  const struct constant_info *c = constant_info(&m->constants, v);
  switch ((enum constant_kind)c->kind) {
    case CONST_INT: return type_info(&m->types, c->type)->width <= 64 ? CLASS_INT : CLASS_OTHER;
    case CONST_FLOAT: return CLASS_FLOAT;
    case CONST_ZERO:
    case CONST_AGGREGATE: return class_of_splat(m, c);
    default: return CLASS_OTHER;
  }
}

static inline uint32_t class_of_inst(const struct combiner *k, const struct nvm_inst *i) {
  return i->op == OP_CALL ? (uint32_t)CLASS_CALL + rule_of_intrinsic[call_intrinsic(k->f, i)]
                          : i->op;
}

static inline uint32_t class_of(const struct combiner *k, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST) return class_of_inst(k, &k->f->insts.data[value_index(v)]);
  return value_kind(v) == VALUE_CONST ? class_of_constant(k->m, v) : CLASS_OTHER;
}

/* --- Registers and types --- */

static struct nvm_value value_of(const struct matcher *m, uint32_t reg) {
  return m->slots[m->registers[reg]];
}
static const struct nvm_inst *inst_of(const struct matcher *m, uint32_t reg) {
  return &m->k->f->insts.data[value_index(value_of(m, reg))];
}

static struct nvm_type type_of(const struct matcher *m, uint32_t type) {
  if (type == RULE_TYPE_BOOL) return TYPE_I1;
  struct nvm_type like = value_type(m->k->f, value_of(m, type & ~(uint32_t)RULE_BOOL_LIKE));
  return type & RULE_BOOL_LIKE ? type_with_lanes_of(&m->k->m->types, TYPE_I1, like) : like;
}
static struct nvm_type scalar_of(const struct matcher *m, uint32_t type) {
  return type_scalar(&m->k->m->types, type_of(m, type));
}
static uint32_t width_of(const struct matcher *m, uint32_t type) {
  return type_scalar_bits(&m->k->m->types, scalar_of(m, type));
}

static bool widens(const struct matcher *m, uint32_t from, uint32_t to) {
  const struct type_table *t = &m->k->m->types;
  const struct type_info *a = type_info(t, type_of(m, from)), *b = type_info(t, type_of(m, to));
  bool vectors = a->kind == TY_VECTOR;
  return vectors == (b->kind == TY_VECTOR) && (!vectors || a->count == b->count) &&
         width_of(m, from) < width_of(m, to);
}

static bool type_is(const struct matcher *m, uint32_t type, enum rule_type_class class) {
  switch (class) {
    case TYPE_IS_INT: return type_is_int(&m->k->m->types, scalar_of(m, type));
    case TYPE_IS_FLOAT: return type_is_float(&m->k->m->types, scalar_of(m, type));
    case TYPE_IS_BOOL: return type_equal(scalar_of(m, type), TYPE_I1);
    case TYPE_IS_WIDE: return width_of(m, type) > 1;
    case TYPE_FITS_64_BITS: return width_of(m, type) <= 64;
  }
  return false;
}

/* --- Numbers --- */

/* The bits of a number or splat. */
static uint64_t number_of(const struct matcher *m, uint32_t reg) {
  const struct constant_table *t = &m->k->m->constants;
  const struct constant_info *c = constant_info(t, value_of(m, reg));
  if (c->kind == CONST_AGGREGATE) c = constant_info(t, t->operands.data[c->first]);
  return c->kind == CONST_ZERO ? 0 : c->bits;
}

/* -1 is all ones of any width. */
static bool number_is(const struct matcher *m, uint32_t reg, int16_t n) {
  return number_of(m, reg) == (n < 0 ? evalint_zext(width_of(m, reg), (uint64_t)n) : (uint64_t)n);
}

/* A float of the table, in the format of a float type. */
static uint64_t float_of(const struct matcher *m, uint32_t index, uint32_t type) {
  return rule_floats[index][eval_format(type_kind(&m->k->m->types, scalar_of(m, type)))];
}

/* Computes `what` on numbers of `from` bits; the result has `to` bits. */
static uint64_t compute(uint32_t what, uint32_t from, uint32_t to, uint64_t a, uint64_t b) {
  uint64_t r = 0;
  switch (what) {
    case RULE_COMPARE + ICMP_EQ: return a == b;
    case OP_SHL: return evalint_shl(from, a, b);
    case OP_LSHR: return evalint_shr_u(from, a, b);
    case OP_ASHR: return evalint_shr_s(from, a, b);
    case OP_UDIV: return evalint_div_u(from, a, b);
    case OP_SDIV: return evalint_div_s(from, a, b);
    case OP_SREM: return evalint_rem_s(from, a, b);
    case OP_UREM: return evalint_rem_u(from, a, b);
    case FUNCTION_smin: return evalint_min_s(from, a, b);
    case FUNCTION_smax: return evalint_max_s(from, a, b);
    case FUNCTION_umin: return evalint_min_u(from, a, b);
    case FUNCTION_umax: return evalint_max_u(from, a, b);
    case FUNCTION_ctpop: return evalint_popcount(from, a);
    case FUNCTION_bswap: return evalint_byte_swap(from, a);
    case FUNCTION_bitreverse: return evalint_reverse(from, a);
    case FUNCTION_log2: return evalint_log2(a);
    case FUNCTION_not: return evalint_zext(from, ~a);
    case FUNCTION_neg: return evalint_zext(from, 0 - a);
    case FUNCTION_lowmask: return evalint_mask(a < from ? (uint32_t)a : from);
    case FUNCTION_lowzeros: return evalint_trailing_zeros(from, a);
    case FUNCTION_pow2: return a != 0 && (a & (a - 1)) == 0;
    /* Whether a number is unchanged by conversion to the other width and back. */
    case FUNCTION_fitsu: return evalint_zext(to, a) == a;
    case FUNCTION_fitss:
      return to >= from || evalint_zext(from, (uint64_t)evalint_sext(to, a)) == a;
    case FUNCTION_MIN: return UINT64_C(1) << (from - 1);
    case FUNCTION_MAX: return evalint_mask(from - 1);
    case FUNCTION_WIDTH: return from;
    default: break;
  }
  if (what >= RULE_COMPARE) eval_row(OP_ICMP, 0, what - RULE_COMPARE, from, 1, &a, &b, &r, 1);
  else eval_row((enum op)what, 0, 0, from, to, &a, &b, &r, 1);
  return r;
}

static void compute_number(struct matcher *m, enum rule_word word, const uint16_t *a) {
  uint64_t *top = m->numbers + m->number_count, r;
  if (word == RULE_NUMBER) r = number_of(m, a[0]);
  else if (word == RULE_LITERAL) r = evalint_zext(width_of(m, a[1]), (uint64_t)(int16_t)a[0]);
  else {
    uint32_t from = width_of(m, a[1]), to = a[2] == a[1] ? from : width_of(m, a[2]),
             count = word == RULE_BINARY ? 2 : 1;
    top -= count;
    r = compute(a[0], from, to, top[0], count == 2 ? top[1] : 0);
  }
  *top = r;
  m->number_count = (uint32_t)(top - m->numbers) + 1;
}

/* --- Predicates --- */

static uint32_t find_predicate(const struct matcher *m, enum rule_predicate how, uint32_t of) {
  if (how == PREDICATE_LITERAL) return of;
  const struct nvm_inst *i = inst_of(m, of);
  uint32_t p = i->aux;
  switch (how) {
    case PREDICATE_INV: return predicate_inverse((enum op)i->op, p);
    case PREDICATE_SWAP: return predicate_swapped((enum op)i->op, p);
    case PREDICATE_U: return p >= ICMP_SGT ? p - ICMP_SGT + ICMP_UGT : p;
    case PREDICATE_S: return RULE_UREL >> p & 1 ? p - ICMP_UGT + ICMP_SGT : p;
    case PREDICATE_LITERAL:
    case PREDICATE_PLAIN: break;
  }
  return p;
}

/* --- What is known of values --- */

static struct known_bits known_of(struct matcher *m, uint32_t reg) {
  uint32_t slot = m->registers[reg];
  if (!(m->have_known >> slot & 1)) m->known[slot] = known_bits_of(m->k->f, m->slots[slot]);
  m->have_known |= UINT64_C(1) << slot;
  return m->known[slot];
}

static bool is_disjoint(struct known_bits a, struct known_bits b) {
  return a.width && (~a.zero & ~b.zero & known_bits_mask(a.width)) == 0;
}

/* Whether i is poison if one of its operands is. */
static bool propagates_poison(const struct nvm_inst *i) {
  bool is_cast = i->op == OP_ZEXT || i->op == OP_SEXT || i->op == OP_TRUNC;
  return (i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT) || i->op == OP_ICMP || i->op == OP_FCMP ||
         is_cast;
}

enum { MAX_POISON_DEPTH = 3 };

/* Whether c is poison if v is. */
static bool is_poisoned_by(const struct combiner *k, struct nvm_value c, struct nvm_value v,
                           uint32_t depth) {
  if (value_equal(c, v)) return true;
  const struct nvm_inst *i = value_inst(k->f, c);
  if (!i || depth >= MAX_POISON_DEPTH || !(propagates_poison(i) || i->op == OP_SELECT))
    return false;
  uint32_t count = i->op == OP_SELECT ? 1 : i->operand_count;
  for (uint32_t n = 0; n < count; n++)
    if (is_poisoned_by(k, inst_operand(k->f, i, n), v, depth + 1)) return true;
  return false;
}

/* Whether v is poison only if c is: v makes none, and what it is made of follows c. */
static bool follows(const struct combiner *k, struct nvm_value v, struct nvm_value c,
                    uint32_t depth) {
  if (is_poisoned_by(k, c, v, 0) || known_bits_are_defined(k->f, v)) return true;
  const struct nvm_inst *i = value_inst(k->f, v);
  if (!i || depth >= MAX_POISON_DEPTH || i->flags || !propagates_poison(i) ||
      (i->op >= OP_SHL && i->op <= OP_ASHR))
    return false;
  for (uint32_t n = 0; n < i->operand_count; n++)
    if (!follows(k, inst_operand(k->f, i, n), c, depth + 1)) return false;
  return true;
}

/* --- Programs --- */

static bool check(struct matcher *m, enum rule_word word, const uint16_t *a) {
  const struct nvm_function *f = m->k->f;
  switch (word) {
    case RULE_SAME: return value_equal(value_of(m, a[0]), value_of(m, a[1]));
    case RULE_NUMBER_IS: return number_is(m, a[0], (int16_t)a[1]);
    case RULE_FLOAT_IS: return number_of(m, a[0]) == float_of(m, a[1], a[0]);
    case RULE_PREDICATE_IS:
      return inst_of(m, a[0])->aux == find_predicate(m, (enum rule_predicate)a[1], a[2]);
    case RULE_PREDICATE_IN: return a[1] >> inst_of(m, a[0])->aux & 1;
    case RULE_HAS_FLAGS: return (inst_of(m, a[0])->flags & a[1]) == a[1];
    case RULE_ONE_USE: return f->uses.data[value_index(value_of(m, a[0]))] == 1;
    case RULE_SAME_TYPE: return type_equal(type_of(m, a[0]), type_of(m, a[1]));
    case RULE_TYPE_IS: return type_is(m, a[0], (enum rule_type_class)a[1]);
    case RULE_WIDENS: return widens(m, a[0], a[1]);
    case RULE_ZERO: {
      struct known_bits b = known_of(m, a[0]);
      return (m->numbers[--m->number_count] & ~b.zero) == 0 && b.width;
    }
    case RULE_NONNEG: return known_bits_nonnegative(known_of(m, a[0]));
    case RULE_NONZERO: return known_of(m, a[0]).one != 0;
    case RULE_ONE_BIT: return known_bits_at_most_one(m->k->f, value_of(m, a[0]));
    case RULE_DEFINED: return known_bits_are_defined(m->k->f, value_of(m, a[0]));
    case RULE_FOLLOWS: return follows(m->k, value_of(m, a[0]), value_of(m, a[1]), 0);
    case RULE_DISJOINT: return is_disjoint(known_of(m, a[0]), known_of(m, a[1]));
    case RULE_REQUIRE: return m->numbers[--m->number_count] != 0;
    default: return false;
  }
}

static uint32_t common_flags(const struct matcher *m, uint32_t flags, uint32_t registers) {
  for (uint32_t reg = 0; registers; reg++, registers >>= 1)
    if (registers & 1) flags &= inst_of(m, reg)->flags;
  return flags;
}

static struct nvm_value make(struct matcher *m, enum rule_word word, const uint16_t *a) {
  switch (word) {
    case RULE_VALUE: return value_of(m, a[0]);
    case RULE_MAKE_INT: return make_int(m->k, type_of(m, a[0]), m->numbers[--m->number_count]);
    case RULE_MAKE_FLOAT:
      return make_splat(m->k, type_of(m, a[0]),
                        const_float(m->k->m, scalar_of(m, a[0]), float_of(m, a[1], a[0])));
    case RULE_OP:
      m->made_count -= a[4];
      return build_op(m->k, m->root, (enum op)a[0], m->flags, type_of(m, a[1]),
                      find_predicate(m, (enum rule_predicate)a[2], a[3]), a[4],
                      m->made + m->made_count);
    case RULE_CALL:
      m->made_count -= a[2];
      return build_call(m->k, m->root, rule_intrinsics[a[0]], m->flags, type_of(m, a[1]), a[2],
                        m->made + m->made_count);
    default: return VALUE_NULL;
  }
}

/* Runs a program. The replacement of the root, VALUE_NULL if the rule does not apply. */
static struct nvm_value run(struct matcher *m, const uint16_t *at) {
  static const uint8_t operands[] = {
#define W(name, operands) [RULE_##name] = operands,
      RULE_WORDS(W)
#undef W
  };
  m->number_count = m->made_count = m->flags = 0;
  for (;;) {
    enum rule_word word = (enum rule_word) * at++;
    if (word <= RULE_REQUIRE) {
      if (!check(m, word, at)) return VALUE_NULL;
    } else if (word <= RULE_BINARY) compute_number(m, word, at);
    else if (word == RULE_FLAGS) m->flags |= common_flags(m, at[0], at[1]);
    else if (word == RULE_DONE) return m->made[0];
    else {
      struct nvm_value v = make(m, word, at);
      m->made[m->made_count++] = v;
      if (word >= RULE_OP) m->flags = 0;
    }
    at += operands[word];
  }
}

/* --- Trees --- */

/* Assigns slots from `top` to the operands of an instruction. Returns the next free slot. */
static inline uint32_t open(struct matcher *m, struct nvm_value v, uint32_t top) {
  const struct nvm_inst *i = &m->k->f->insts.data[value_index(v)];
  uint32_t count = i->operand_count - (i->op == OP_CALL);
  const struct nvm_value *operands = m->k->f->operands.data + i->first_operand;
  m->have_known &= (UINT64_C(1) << top) - 1;
  for (uint32_t n = 0; n < count; n++, top++) {
    m->slots[top] = operands[n];
    m->classes[top] = (uint8_t)class_of(m->k, operands[n]);
  }
  return top;
}

static struct nvm_value try_tree(struct matcher *m, uint32_t tree, uint32_t top) {
  const uint16_t *at = rule_words + tree;
  for (uint32_t groups = *at++; groups; groups--) {
    uint32_t slot = at[0], count = at[2];
    uint32_t class = m->classes[slot] - (uint32_t)at[1], next = class < count ? at[3 + class] : 0;
    if (next) {
      bool is_inst = value_kind(m->slots[slot]) == VALUE_INST;
      struct nvm_value v = try_tree(m, next, is_inst ? open(m, m->slots[slot], top) : top);
      if (!value_is_none(v)) return v;
    }
    at += 3 + count;
  }
  for (uint32_t leaves = *at++; leaves; leaves--) {
    const uint16_t *program = rule_words + at[0];
    if (at[1] >> m->root_kind & 1 && (at[2] & ~m->root_flags) == 0 &&
        value_equal(m->slots[at[3] >> 8], m->slots[at[3] & 0xff])) {
      m->registers = at + 4;
      struct nvm_value v = run(m, program + 1);
      if (!value_is_none(v)) return v;
    }
    at += 4 + *program;
  }
  return VALUE_NULL;
}

static uint32_t kind_of_root(const struct combiner *k, const struct nvm_inst *i) {
  if (i->op == OP_ICMP || i->op == OP_FCMP) return i->aux;
  return type_equal(type_scalar(&k->m->types, i->type), TYPE_I1)
             ? 0
             : 1; /* RULE_BOOL_ROOT, RULE_WIDE_ROOT */
}

struct nvm_value combine_try_rules(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  uint32_t tree = rule_roots[class_of_inst(k, i)];
  if (!tree) return VALUE_NULL;
  struct matcher m; /* large, so only the needed fields are set */
  m.k = k, m.root = root, m.slots[0] = value_of_inst(root);
  m.root_kind = kind_of_root(k, i), m.root_flags = i->flags;
  m.have_known = 0;
  return try_tree(&m, tree, open(&m, m.slots[0], 1));
}
