/* expand-integers: integers of more than 128 bits become words of 64 bits.
 *
 * Purpose:   clang reads and writes runs of bit-fields as integers of any width (i136, i168); the
 *            evaluator, the passes and code generation handle at most 128 bits.
 * Algorithm: a value iN becomes ceil(N / 64) values of i64, low first, with zeros above bit N.
 *            Blocks are visited in reverse postorder, so operands are expanded before their users;
 *            phis get their entries at the end. Sums carry from word to word, comparisons go from
 *            the lowest word up, a shift by a variable is one select for each bit of the distance.
 *            Bitcasts go through vectors of i64.
 * Requires:  nothing; runs before all passes, in modules that have such a type.
 * Preserves: the control flow.
 * Cost:      linear in instructions times words.
 * Omits:     products, quotients, conversions to floats, calls, parameters, constant expressions,
 *            vectors and aggregates: each is refused by name.
 * Tests:     check/opt/expand-integers.nvir, exec/wide_integers.test. */
#include "opt/scalar/expand_integers.h"

#include "ir/build.h"
#include "ir/dominance.h"
#include "opt/rewrite.h"

enum { WORD = 64, MAX_NARROW = 128 };

struct expansion {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  const bool *wide;         /* by type: it is or holds an integer of more than 128 bits */
  struct nvm_type *hidden;  /* by constant: a type of more than 128 bits in its expressions */
  uint32_t type_count;      /* of types at the start; later ones are not wide */
  struct nvm_value **words; /* by instruction: the words of its value; NULL: not expanded */
  uint32_t count;           /* of instructions at the start */
  struct nvm_inst_id at;    /* the instruction that is expanded */
  struct builder b;         /* before it */
  struct rewrite rewrite;
};

/* --- Types --- */

static uint32_t width_of(const struct expansion *x, struct nvm_type type) {
  return type_info(&x->m->types, type)->width;
}
static bool is_wide(const struct expansion *x, struct nvm_type type) {
  return type.index < x->type_count && x->wide[type.index];
}
static uint32_t words_of(uint32_t width) { return (width + WORD - 1) / WORD; }
/* The number of bits in the highest word. */
static uint32_t top_bits(uint32_t width) { return (width - 1) % WORD + 1; }

static bool holds_wide(const struct type_table *t, const bool *wide, uint32_t k) {
  const struct type_info *info = &t->infos.data[k];
  if (info->kind == TY_INT) return info->width > MAX_NARROW;
  if (info->kind == TY_VECTOR || info->kind == TY_ARRAY) return wide[info->element.index];
  if (info->kind != TY_STRUCT) return false;
  for (uint32_t n = 0; n < info->count; n++)
    if (wide[type_member(t, (struct nvm_type){k}, n).index]) return true;
  return false;
}

/* A type may refer to a later one, so the walk repeats until nothing changes. False when out of
 * memory. */
static bool find_wide_types(struct nvm_module *m, struct arena *arena, bool **out, bool *any) {
  bool *wide = arena_alloc(arena, m->types.infos.count), changed = true;
  if (!wide) return false;
  memset(wide, 0, m->types.infos.count);
  for (*any = false; changed; *any |= changed) {
    changed = false;
    for (uint32_t k = 1; k < m->types.infos.count; k++)
      if (!wide[k] && holds_wide(&m->types, wide, k)) wide[k] = changed = true;
  }
  *out = wide;
  return true;
}

/* --- Words --- */

static struct nvm_value number(struct expansion *x, uint64_t n) {
  return const_int(x->m, TYPE_I64, n);
}

static struct nvm_value binary(struct expansion *x, enum op op, struct nvm_value a,
                               struct nvm_value b) {
  return builder_binary(&x->b, op, a, b);
}

static struct nvm_value cast(struct expansion *x, enum op op, struct nvm_type type,
                             struct nvm_value v) {
  return type_equal(value_type(x->f, v), type) ? v : builder_unary(&x->b, op, type, v);
}

static struct nvm_value shift(struct expansion *x, enum op op, struct nvm_value v, uint32_t by) {
  return binary(x, op, v, number(x, by));
}

static struct nvm_value operand(const struct expansion *x, uint32_t k) {
  return inst_operand(x->f, function_inst(x->f, x->at), k);
}

/* Word k of a wide value. That of undef is zero; unreachable code computes poison. */
static struct nvm_value word(struct expansion *x, struct nvm_value v, uint32_t k) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  if (value_kind(v) == VALUE_INST && value_index(v) < x->count && x->words[value_index(v)])
    return x->words[value_index(v)][k];
  if (value_kind(v) != VALUE_CONST || constant_info(&x->m->constants, v)->kind == CONST_POISON)
    return const_poison(x->m, TYPE_I64);
  return number(x, const_words(x->m, v, words) ? words[k] : 0);
}

/* Clears the bits of the highest word above the width. */
static void mask_top(struct expansion *x, struct nvm_value *words, uint32_t width) {
  struct nvm_value *top = &words[words_of(width) - 1];
  uint32_t bits = top_bits(width);
  if (bits < WORD) *top = binary(x, OP_AND, *top, number(x, (UINT64_C(1) << bits) - 1));
}

/* The low `bits` of a word, sign-extended. */
static struct nvm_value with_sign(struct expansion *x, struct nvm_value v, uint32_t bits) {
  if (bits == WORD) return v;
  return shift(x, OP_ASHR, shift(x, OP_SHL, v, WORD - bits), WORD - bits);
}

/* --- Memory --- */

/* The type of word k in memory. */
static struct nvm_type piece_type(struct expansion *x, uint32_t width, uint32_t k) {
  return k + 1 < words_of(width) ? TYPE_I64 : type_int(&x->m->types, top_bits(width));
}

/* How it is accessed: with the alignment that is known at offset 8 k. */
static uint32_t piece_access(const struct expansion *x, struct nvm_type type, uint32_t k) {
  struct memory_access how = memory_access_unpack(function_inst(x->f, x->at)->aux);
  unsigned own = 0, offset = k ? (unsigned)__builtin_ctz(k * 8) + 1 : 63;
  while ((UINT64_C(1) << own) < layout_align(&x->m->layout, &x->m->types, type)) own++;
  if (!how.align_log2) how.align_log2 = (own + 1) & 63;
  if (offset < how.align_log2) how.align_log2 = offset & 63;
  return memory_access_pack(how);
}

static void expand_load(struct expansion *x, struct nvm_value *to, uint32_t width) {
  struct nvm_type type = function_inst(x->f, x->at)->type;
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value at = builder_offset(&x->b, operand(x, 0), k * 8);
    to[k] = builder_load(&x->b, piece_type(x, width, k), at, piece_access(x, type, k));
    to[k] = cast(x, OP_ZEXT, TYPE_I64, to[k]);
  }
}

static void expand_store(struct expansion *x) {
  struct nvm_value v = operand(x, 0);
  struct nvm_type type = value_type(x->f, v);
  uint32_t width = width_of(x, type);
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value at = builder_offset(&x->b, operand(x, 1), k * 8);
    struct nvm_value piece = cast(x, OP_TRUNC, piece_type(x, width, k), word(x, v, k));
    builder_store(&x->b, piece, at, piece_access(x, type, k));
  }
}

/* --- Arithmetic --- */

static void expand_sum(struct expansion *x, struct nvm_value *to, uint32_t width, bool subtract) {
  enum op op = subtract ? OP_SUB : OP_ADD;
  struct nvm_value carry = VALUE_NULL; /* i1: into the word */
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value a = word(x, operand(x, 0), k), b = word(x, operand(x, 1), k);
    struct nvm_value sum = binary(x, op, a, b);
    struct nvm_value out = builder_icmp(&x->b, ICMP_ULT, subtract ? a : sum, subtract ? b : a);
    to[k] = sum;
    if (k > 0) {
      struct nvm_value in = cast(x, OP_ZEXT, TYPE_I64, carry);
      to[k] = binary(x, op, sum, in);
      struct nvm_value again =
          builder_icmp(&x->b, ICMP_ULT, subtract ? sum : to[k], subtract ? in : sum);
      out = binary(x, OP_OR, out, again);
    }
    carry = out;
  }
  mask_top(x, to, width);
}

/* The words of `from` moved by a constant number of bits; the bits that enter are those of `fill`
 * (right) or zero (left). */
static void move_words(struct expansion *x, const struct nvm_value *from, struct nvm_value *to,
                       uint32_t count, uint32_t by, bool left, struct nvm_value fill) {
  uint32_t whole = by / WORD, bits = by % WORD;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t near = left ? k - whole : k + whole; /* wraps beyond the ends: not below count */
    uint32_t far = left ? near - 1 : near + 1;
    struct nvm_value edge = left ? number(x, 0) : fill;
    struct nvm_value a = near < count ? from[near] : edge, b = far < count ? from[far] : edge;
    to[k] = a;
    if (bits == 0) continue;
    a = shift(x, left ? OP_SHL : OP_LSHR, a, bits);
    to[k] = binary(x, OP_OR, a, shift(x, left ? OP_LSHR : OP_SHL, b, WORD - bits));
  }
}

static void expand_shift(struct expansion *x, struct nvm_value *to, uint32_t width, enum op op) {
  struct nvm_value from[TYPE_MAX_INT_WORDS], fill = number(x, 0), by = operand(x, 1);
  uint64_t distance[TYPE_MAX_INT_WORDS];
  uint32_t count = words_of(width);
  bool left = op == OP_SHL;
  for (uint32_t k = 0; k < count; k++) to[k] = word(x, operand(x, 0), k);
  if (op == OP_ASHR) {
    to[count - 1] = with_sign(x, to[count - 1], top_bits(width));
    fill = shift(x, OP_ASHR, to[count - 1], WORD - 1);
  }
  if (const_words(x->m, by, distance)) {
    uint32_t defined = distance[0] < width ? (uint32_t)distance[0] : 0; /* else poison */
    memcpy(from, to, count * sizeof *to);
    move_words(x, from, to, count, defined, left, fill);
  } else {
    for (uint32_t step = 1; step < width; step *= 2) {
      struct nvm_value bit = binary(x, OP_AND, word(x, by, 0), number(x, step));
      struct nvm_value taken = builder_icmp(&x->b, ICMP_NE, bit, number(x, 0));
      memcpy(from, to, count * sizeof *to);
      move_words(x, from, to, count, step, left, fill);
      for (uint32_t k = 0; k < count; k++) to[k] = builder_select(&x->b, taken, to[k], from[k]);
    }
  }
  mask_top(x, to, width);
}

/* --- Comparisons, casts --- */

static struct nvm_value compare_equal(struct expansion *x, enum icmp_predicate p, uint32_t width) {
  struct nvm_value differ = VALUE_NULL;
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value d = binary(x, OP_XOR, word(x, operand(x, 0), k), word(x, operand(x, 1), k));
    differ = k ? binary(x, OP_OR, differ, d) : d;
  }
  return builder_icmp(&x->b, p, differ, number(x, 0));
}

/* From the lowest word up: words that differ decide, whatever the lower ones say. */
static struct nvm_value compare_ordered(struct expansion *x, enum icmp_predicate p,
                                        uint32_t width) {
  bool is_signed = p >= ICMP_SGT;
  enum icmp_predicate below = is_signed ? (enum icmp_predicate)(p - ICMP_SGT + ICMP_UGT) : p;
  struct nvm_value result = VALUE_NULL;
  for (uint32_t k = 0, last = words_of(width) - 1; k <= last; k++) {
    struct nvm_value a = word(x, operand(x, 0), k), b = word(x, operand(x, 1), k);
    if (k == last && is_signed) {
      a = with_sign(x, a, top_bits(width));
      b = with_sign(x, b, top_bits(width));
    }
    if (k == 0) {
      result = builder_icmp(&x->b, below, a, b);
      continue;
    }
    enum icmp_predicate how = k == last ? p : below;
    if (how == ICMP_UGE || how == ICMP_ULE || how == ICMP_SGE || how == ICMP_SLE) how--;
    struct nvm_value decided = builder_icmp(&x->b, how, a, b);
    struct nvm_value equal = builder_icmp(&x->b, ICMP_EQ, a, b);
    result = binary(x, OP_OR, decided, binary(x, OP_AND, equal, result));
  }
  return result;
}

/* The one or two words of a value of at most 128 bits, the last one extended; returns how many. */
static uint32_t narrow_words(struct expansion *x, struct nvm_value v, bool is_signed,
                             struct nvm_value *to) {
  uint32_t count = words_of(width_of(x, value_type(x->f, v)));
  v = cast(x, is_signed ? OP_SEXT : OP_ZEXT, count == 1 ? TYPE_I64 : TYPE_I128, v);
  to[0] = cast(x, OP_TRUNC, TYPE_I64, v);
  if (count == 1) return 1;
  struct nvm_value high = binary(x, OP_LSHR, v, const_int(x->m, TYPE_I128, WORD));
  to[1] = cast(x, OP_TRUNC, TYPE_I64, high);
  return 2;
}

static void expand_extension(struct expansion *x, struct nvm_value *to, uint32_t width,
                             bool is_signed) {
  struct nvm_value v = operand(x, 0);
  uint32_t from = width_of(x, value_type(x->f, v)), count = words_of(from);
  if (from <= MAX_NARROW) {
    count = narrow_words(x, v, is_signed, to);
  } else {
    for (uint32_t k = 0; k < count; k++) to[k] = word(x, v, k);
    if (is_signed) to[count - 1] = with_sign(x, to[count - 1], top_bits(from));
  }
  struct nvm_value fill = is_signed ? shift(x, OP_ASHR, to[count - 1], WORD - 1) : number(x, 0);
  for (uint32_t k = count; k < words_of(width); k++) to[k] = fill;
  mask_top(x, to, width);
}

/* A value of at most 128 bits from the low words of a wide one. */
static struct nvm_value truncated(struct expansion *x, struct nvm_value v, struct nvm_type type) {
  struct nvm_value low = word(x, v, 0);
  if (width_of(x, type) <= WORD) return cast(x, OP_TRUNC, type, low);
  struct nvm_value high = cast(x, OP_ZEXT, TYPE_I128, word(x, v, 1));
  low = cast(x, OP_ZEXT, TYPE_I128, low);
  high = binary(x, OP_SHL, high, const_int(x->m, TYPE_I128, WORD));
  return cast(x, OP_TRUNC, type, binary(x, OP_OR, low, high));
}

/* The vector of words that is as wide as a value of `width` bits, a multiple of 64. */
static struct nvm_type word_vector(struct expansion *x, uint32_t width) {
  return type_vector(&x->m->types, TYPE_I64, width / WORD);
}

static void expand_from_vector(struct expansion *x, struct nvm_value *to, uint32_t width) {
  struct nvm_value v = cast(x, OP_BITCAST, word_vector(x, width), operand(x, 0));
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value operands[2] = {v, const_int(x->m, TYPE_I32, k)};
    to[k] = builder_add(&x->b, OP_EXTRACTELEMENT, 0, TYPE_I64, operands, 2, 0);
  }
}

static struct nvm_value to_vector(struct expansion *x, struct nvm_value v, struct nvm_type type) {
  uint32_t width = width_of(x, value_type(x->f, v));
  struct nvm_type words = word_vector(x, width);
  struct nvm_value whole = const_poison(x->m, words);
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value operands[3] = {whole, word(x, v, k), const_int(x->m, TYPE_I32, k)};
    whole = builder_add(&x->b, OP_INSERTELEMENT, 0, words, operands, 3, 0);
  }
  return cast(x, OP_BITCAST, type, whole);
}

/* --- Instructions --- */

/* Word by word. Freezing and truncating may leave bits above the width. */
static void expand_each(struct expansion *x, struct nvm_value *to, uint32_t width, enum op op) {
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value a = op == OP_SELECT ? operand(x, 0) : word(x, operand(x, 0), k);
    to[k] = op == OP_TRUNC    ? a
            : op == OP_FREEZE ? builder_unary(&x->b, op, TYPE_I64, a)
            : op == OP_SELECT
                ? builder_select(&x->b, a, word(x, operand(x, 1), k), word(x, operand(x, 2), k))
            : op == OP_PHI ? builder_phi(&x->b, TYPE_I64, NULL, 0)
                           : binary(x, op, a, word(x, operand(x, 1), k));
  }
  if (op == OP_TRUNC || op == OP_FREEZE) mask_top(x, to, width);
}

/* An instruction with a wide result. */
static void expand_result(struct expansion *x, struct nvm_value *to, uint32_t width) {
  enum op op = (enum op)function_inst(x->f, x->at)->op;
  switch (op) {
    case OP_LOAD: expand_load(x, to, width); return;
    case OP_ADD:
    case OP_SUB: expand_sum(x, to, width, op == OP_SUB); return;
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR: expand_shift(x, to, width, op); return;
    case OP_ZEXT:
    case OP_SEXT: expand_extension(x, to, width, op == OP_SEXT); return;
    case OP_BITCAST: expand_from_vector(x, to, width); return;
    default: expand_each(x, to, width, op); return;
  }
}

static bool expand(struct expansion *x, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(x->f, i);
  enum op op = (enum op)inst->op;
  struct nvm_type type = inst->type;
  struct nvm_type from = inst->operand_count ? value_type(x->f, inst_operand(x->f, inst, 0)) : type;
  enum icmp_predicate p = (enum icmp_predicate)inst->aux;
  x->at = i;
  x->b = builder_replacing(x->f, i);
  if (is_wide(x, type)) {
    uint32_t width = width_of(x, type);
    struct nvm_value *to = arena_alloc(x->arena, words_of(width) * sizeof *to);
    if (!to) return false;
    expand_result(x, to, width);
    x->words[i.index] = to;
    rewrite_set(&x->rewrite, i, const_poison(x->m, type));
  } else if (!is_wide(x, from)) {
    return true;
  } else if (op == OP_ICMP) {
    uint32_t width = width_of(x, from);
    rewrite_set(&x->rewrite, i,
                p <= ICMP_NE ? compare_equal(x, p, width) : compare_ordered(x, p, width));
  } else if (op == OP_TRUNC) {
    rewrite_set(&x->rewrite, i, truncated(x, operand(x, 0), type));
  } else if (op == OP_BITCAST) {
    rewrite_set(&x->rewrite, i, to_vector(x, operand(x, 0), type));
  } else if (op == OP_STORE) {
    expand_store(x);
    inst_remove(x->f, i);
  }
  return !x->m->arena.failed;
}

/* Adds the entries of the phis that replace phi i. */
static bool fill_phis(struct expansion *x, struct nvm_inst_id i) {
  uint32_t count = words_of(width_of(x, function_inst(x->f, i)->type));
  for (uint32_t n = 0; n < function_inst(x->f, i)->operand_count; n += 2) {
    struct nvm_value v = inst_operand(x->f, function_inst(x->f, i), n);
    struct nvm_block from = {value_index(inst_operand(x->f, function_inst(x->f, i), n + 1))};
    for (uint32_t k = 0; k < count; k++) {
      struct nvm_inst_id phi = {value_index(x->words[i.index][k])};
      if (!phi_add(x->f, phi, word(x, v, k), from)) return false;
    }
  }
  return true;
}

/* --- Refusals --- */

/* Parameters and constant expressions have no words. */
static bool has_words(const struct expansion *x, struct nvm_value v) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  return value_kind(v) == VALUE_INST || const_words(x->m, v, words) ||
         const_is_undef_or_poison(x->m, v);
}

static bool has_expansion(const struct expansion *x, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  const struct nvm_type given =
      i->operand_count ? value_type(x->f, inst_operand(x->f, i, 0)) : TYPE_VOID;
  bool scalar = !is_wide(x, i->type) || type_kind(&x->m->types, i->type) == TY_INT;
  if (i->op != OP_PHI && i->op != OP_SELECT && is_wide(x, given))
    scalar &= type_kind(&x->m->types, given) == TY_INT;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(x->f, i, k);
    if (value_kind(v) != VALUE_BLOCK && is_wide(x, value_type(x->f, v))) scalar &= has_words(x, v);
  }
  switch ((enum op)i->op) {
    case OP_LOAD:
    case OP_STORE: return scalar && how.ordering == ORDER_NONE;
    case OP_MUL:
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM: return false;
    case OP_ICMP:
    case OP_SELECT:
    case OP_PHI:
    case OP_TRUNC:
    case OP_ZEXT:
    case OP_SEXT:
    case OP_FREEZE: return scalar;
    case OP_BITCAST:
      return scalar && is_wide(x, given) != is_wide(x, i->type) &&
             width_of(x, is_wide(x, given) ? given : i->type) % WORD == 0;
    default:
      return i->op == OP_DBG_RECORD || (scalar && i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT);
  }
}

/* The type of more than 128 bits that i computes with; TYPE_NONE: none. */
static struct nvm_type wide_type(const struct expansion *x, const struct nvm_inst *i) {
  if (is_wide(x, i->type)) return i->type;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(x->f, i, k);
    if (value_kind(v) != VALUE_BLOCK && is_wide(x, value_type(x->f, v))) return value_type(x->f, v);
  }
  return TYPE_NONE;
}

/* The type of more than 128 bits in a constant expression, for which there is no expansion;
 * TYPE_NONE: none is known yet. Constant scalar indices of addresses may have any type. */
static struct nvm_type hidden_type(const struct expansion *x, struct nvm_value v) {
  v = module_resolve_alias(x->m, v);
  return value_kind(v) == VALUE_CONST ? x->hidden[value_index(v)] : TYPE_NONE;
}

static struct nvm_type find_hidden_type(const struct expansion *x, struct nvm_value v) {
  const struct constant_info *c = constant_info(&x->m->constants, v);
  uint32_t count = c->kind == CONST_EXPR || c->kind == CONST_AGGREGATE ? (uint32_t)c->count : 0;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value part = const_operand(x->m, v, k);
    struct nvm_type type = module_value_type(x->m, part), deeper = hidden_type(x, part);
    uint64_t words[TYPE_MAX_INT_WORDS];
    bool is_index = c->kind == CONST_EXPR && c->op == OP_GEP && const_words(x->m, part, words);
    if (deeper.index) return deeper;
    if (c->kind == CONST_EXPR && is_wide(x, type) && !is_index) return type;
  }
  return TYPE_NONE;
}

/* By constant: until nothing changes, since aliases may refer to later constants; upwards and
 * downwards in turn, so that a chain of aliases takes two rounds. */
static bool find_hidden_types(struct expansion *x) {
  uint32_t count = x->m->constants.infos.count;
  bool changed = true;
  x->hidden = arena_alloc(x->arena, count * sizeof *x->hidden);
  if (!x->hidden) return false;
  for (bool down = false; changed; down = !down) {
    changed = false;
    for (uint32_t n = 1; n < count; n++) {
      uint32_t k = down ? count - n : n;
      if (x->hidden[k].index) continue;
      x->hidden[k] = find_hidden_type(x, value_make(VALUE_CONST, k));
      changed |= x->hidden[k].index != 0;
    }
  }
  return true;
}

static void refuse(const struct expansion *x, struct diag_sink *sink, struct nvm_inst_id i,
                   struct nvm_type type) {
  struct textbuf name;
  textbuf_init(&name, sink->arena);
  type_print(&x->m->types, type, &name);
  struct diag_range where = {0, x->f->positions.data[i.index], x->f->positions.data[i.index] + 1};
  struct nvm_text arguments[2] = {text_of(op_table[function_inst(x->f, i)->op].keyword),
                                  {name.bytes, name.length}};
  struct diag *d = diag_report(sink, DIAG_WIDE_INTEGER, where, arguments, 2);
  if (d) d->function = module_text(x->m, x->f->symbol.name);
}

/* Reports operations that cannot be expanded; *any: f computes with wide integers. */
static bool check(struct expansion *x, struct diag_sink *sink, bool *any) {
  uint32_t errors = sink->error_count;
  FOR_EACH_BLOCK (x->f, b)
    FOR_EACH_INST (x->f, b, i) {
      const struct nvm_inst *inst = function_inst(x->f, i);
      struct nvm_type type = TYPE_NONE;
      for (uint32_t k = 0; k < inst->operand_count && type.index == 0; k++)
        type = hidden_type(x, inst_operand(x->f, inst, k));
      if (type.index) refuse(x, sink, i, type);
      if (type.index || (type = wide_type(x, inst)).index == 0) continue;
      *any = true;
      if (!has_expansion(x, function_inst(x->f, i))) refuse(x, sink, i, type);
    }
  return sink->error_count == errors;
}

/* --- Functions --- */

static bool expand_block(struct expansion *x, struct nvm_block b) {
  for (struct nvm_inst_id i = function_block(x->f, b)->first, next; !inst_is_none(i); i = next) {
    next = function_inst(x->f, i)->next;
    if (!expand(x, i)) return false;
  }
  return true;
}

static bool expand_function(struct expansion *x) {
  struct dominance d;
  struct nvm_function *f = x->f;
  x->count = f->insts.count;
  x->words = arena_alloc(x->arena, x->count * sizeof *x->words);
  if (!x->words || !rewrite_init(&x->rewrite, f, x->arena) || !dominance_compute(&d, f, x->arena))
    return false;
  memset(x->words, 0, x->count * sizeof *x->words);
  for (uint32_t k = d.size[f->entry.index]; k-- > 0;)
    if (!expand_block(x, d.postorder[k])) return false;
  FOR_EACH_BLOCK (f, b)
    if (!dominance_reachable(&d, b) && !expand_block(x, b)) return false;
  for (uint32_t k = 1; k < x->count; k++)
    if (x->words[k] && f->insts.data[k].op == OP_PHI && !fill_phis(x, (struct nvm_inst_id){k}))
      return false;
  rewrite_apply(&x->rewrite);
  return !x->m->arena.failed;
}

enum nvm_status expand_integers(struct nvm_module *m, struct diag_sink *sink) {
  struct arena arena;
  bool any_type = false, *wide = NULL;
  uint32_t type_count = m->types.infos.count;
  enum nvm_status status = NVM_OK;
  arena_init(&arena, m->arena.allocator);
  if (!find_wide_types(m, &arena, &wide, &any_type)) status = NVM_OUT_OF_MEMORY;
  struct expansion x = {.m = m, .arena = &arena, .wide = wide, .type_count = type_count};
  if (any_type && status == NVM_OK && !find_hidden_types(&x)) status = NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->functions.count && any_type && status != NVM_OUT_OF_MEMORY; n++) {
    bool any = false;
    x.f = m->functions.data[n];
    if (function_is_declaration(x.f)) continue;
    if (!check(&x, sink, &any)) status = NVM_REFUSED;
    else if (any && status == NVM_OK && !expand_function(&x)) status = NVM_OUT_OF_MEMORY;
  }
  arena_free(&arena);
  return status;
}
