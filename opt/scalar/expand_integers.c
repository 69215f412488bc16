/* expand-integers: integers of more than 128 bits become words of 64 bits.
 *
 * Purpose:   clang reads and writes runs of bit-fields as integers of any width (i136, i168);
 * evaluator, passes and code generation know 128 bits at most. Algorithm: each value iN becomes
 * ceil(N / 64) values of i64, low first, zero above bit N. Blocks are visited in reverse postorder,
 * so that operands are expanded before their users; phis come first, and get their entries last.
 * Sums carry from word to word, comparisons go from the lowest word up, shifts by a variable go
 * through one select for each bit of the distance. Bitcasts go through vectors of i64. Requires:
 * nothing; runs before all passes, in modules that have such a type. Preserves: the control flow.
 * Cost:      linear in instructions times words.
 * Omits:     products, quotients, conversions to floats, calls, parameters, constant expressions,
 * vectors and aggregates: each is refused by name. Tests:     check/opt/expand-integers.nvir,
 * exec/wide_integers.nvir. */
#include "opt/scalar/expand_integers.h"

#include "ir/dominance.h"
#include "opt/rewrite.h"

enum { WORD = 64, MAX_NARROW = 128 };

struct expansion {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  const bool *wide;         /* by type: it is or holds an integer of more than 128 bits */
  uint32_t type_count;      /* of types at the start; later ones are not wide */
  struct nvm_value **words; /* by instruction: the words of its value; NULL: not expanded */
  uint32_t count;           /* of instructions at the start */
  struct nvm_inst_id at;    /* the instruction that is expanded; new ones come before it */
  struct rewrite rewrite;
};

/* --- types --- */

static uint32_t width_of(const struct expansion *x, struct nvm_type type) {
  return type_info(&x->m->types, type)->width;
}
static bool is_wide(const struct expansion *x, struct nvm_type type) {
  return type.index < x->type_count && x->wide[type.index];
}
static uint32_t words_of(uint32_t width) { return (width + WORD - 1) / WORD; }
/* The bits of the highest word. */
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

/* Types may name later ones, so that the walk is repeated until nothing changes. False when out of
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

/* --- making instructions --- */

static struct nvm_value number(struct expansion *x, uint64_t n) {
  return const_int(x->m, TYPE_I64, n);
}

static struct nvm_value emit_aux(struct expansion *x, enum op op, struct nvm_type type,
                                 struct nvm_value a, struct nvm_value b, uint32_t aux) {
  struct nvm_value v = inst_emit(x->f, x->at, op, type, a, b, aux);
  if (value_is_none(v)) return v;
  x->f->locations.data[value_index(v)] = x->f->locations.data[x->at.index];
  x->f->positions.data[value_index(v)] = x->f->positions.data[x->at.index];
  return v;
}

static struct nvm_value emit(struct expansion *x, enum op op, struct nvm_value a,
                             struct nvm_value b) {
  return emit_aux(x, op, TYPE_I64, a, b, 0);
}

static struct nvm_value emit_compare(struct expansion *x, enum icmp_predicate p, struct nvm_value a,
                                     struct nvm_value b) {
  return emit_aux(x, OP_ICMP, TYPE_I1, a, b, p);
}

static struct nvm_value emit_select(struct expansion *x, struct nvm_value condition,
                                    struct nvm_value a, struct nvm_value b) {
  struct nvm_value operands[3] = {condition, a, b};
  struct nvm_inst_id i = function_add_inst(x->f, OP_SELECT, 0, TYPE_I64, operands, 3, 0);
  if (inst_is_none(i)) return VALUE_NULL;
  inst_insert_before(x->f, i, x->at);
  return value_of_inst(i);
}

static struct nvm_value operand(const struct expansion *x, uint32_t k) {
  return inst_operand(x->f, function_inst(x->f, x->at), k);
}

/* Word k of a wide value; undef is zero, code that is not reached computes poison. */
static struct nvm_value word(struct expansion *x, struct nvm_value v, uint32_t k) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  if (value_kind(v) == VALUE_INST && value_index(v) < x->count && x->words[value_index(v)])
    return x->words[value_index(v)][k];
  if (value_kind(v) != VALUE_CONST || constant_info(&x->m->constants, v)->kind == CONST_POISON)
    return const_poison(x->m, TYPE_I64);
  return const_words(x->m, v, words) ? number(x, words[k]) : number(x, 0);
}

static struct nvm_value masked(struct expansion *x, struct nvm_value v, uint32_t bits) {
  return bits == WORD ? v : emit(x, OP_AND, v, number(x, (UINT64_C(1) << bits) - 1));
}

/* The low `bits` of a word with their sign. */
static struct nvm_value with_sign(struct expansion *x, struct nvm_value v, uint32_t bits) {
  if (bits == WORD) return v;
  struct nvm_value up = emit(x, OP_SHL, v, number(x, WORD - bits));
  return emit(x, OP_ASHR, up, number(x, WORD - bits));
}

/* --- memory --- */

/* The type of word k in memory, and how it is accessed: the alignment that is known 8 k bytes on.
 */
static struct nvm_type piece_type(struct expansion *x, uint32_t width, uint32_t k) {
  return k + 1 < words_of(width) ? TYPE_I64 : type_int(&x->m->types, top_bits(width));
}

static uint32_t piece_access(const struct expansion *x, struct nvm_type type, uint32_t k) {
  struct memory_access how = memory_access_unpack(function_inst(x->f, x->at)->aux);
  unsigned own = 0, offset = k ? (unsigned)__builtin_ctz(k * 8) + 1 : 63;
  while ((UINT64_C(1) << own) < layout_align(&x->m->layout, &x->m->types, type)) own++;
  if (!how.align_log2) how.align_log2 = (own + 1) & 63;
  if (offset < how.align_log2) how.align_log2 = offset & 63;
  return memory_access_pack(how);
}

static struct nvm_value piece_address(struct expansion *x, struct nvm_value pointer, uint32_t k) {
  return k == 0 ? pointer
                : emit_aux(x, OP_GEP, value_type(x->f, pointer), pointer, number(x, k * 8),
                           TYPE_I8.index);
}

static void expand_load(struct expansion *x, struct nvm_value *to, uint32_t width) {
  struct nvm_type type = function_inst(x->f, x->at)->type;
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_type piece = piece_type(x, width, k);
    struct nvm_value at = piece_address(x, operand(x, 0), k);
    to[k] = emit_aux(x, OP_LOAD, piece, at, VALUE_NULL, piece_access(x, type, k));
    if (!type_equal(piece, TYPE_I64)) to[k] = emit(x, OP_ZEXT, to[k], VALUE_NULL);
  }
}

static void expand_store(struct expansion *x) {
  struct nvm_value v = operand(x, 0);
  struct nvm_type type = value_type(x->f, v);
  uint32_t width = width_of(x, type);
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_type piece = piece_type(x, width, k);
    struct nvm_value at = piece_address(x, operand(x, 1), k), w = word(x, v, k);
    if (!type_equal(piece, TYPE_I64)) w = emit_aux(x, OP_TRUNC, piece, w, VALUE_NULL, 0);
    emit_aux(x, OP_STORE, TYPE_VOID, w, at, piece_access(x, type, k));
  }
}

/* --- arithmetic --- */

static void expand_sum(struct expansion *x, struct nvm_value *to, uint32_t width, bool subtract) {
  enum op op = subtract ? OP_SUB : OP_ADD;
  struct nvm_value carry = VALUE_NULL; /* i1: into the word */
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value a = word(x, operand(x, 0), k), b = word(x, operand(x, 1), k);
    struct nvm_value first = emit(x, op, a, b),
                     out = emit_compare(x, ICMP_ULT, subtract ? a : first, subtract ? b : a);
    to[k] = first;
    if (!value_is_none(carry)) {
      struct nvm_value in = emit(x, OP_ZEXT, carry, VALUE_NULL);
      to[k] = emit(x, op, first, in);
      struct nvm_value again =
          emit_compare(x, ICMP_ULT, subtract ? first : to[k], subtract ? in : first);
      out = emit_aux(x, OP_OR, TYPE_I1, out, again, 0);
    }
    carry = out;
  }
  to[words_of(width) - 1] = masked(x, to[words_of(width) - 1], top_bits(width));
}

/* The words of `from` moved by a constant number of bits, `fill` coming in from above (right) or
 * zero (left). */
static void move_words(struct expansion *x, const struct nvm_value *from, struct nvm_value *to,
                       uint32_t count, uint32_t by, bool left, struct nvm_value fill) {
  uint32_t whole = by / WORD, bits = by % WORD;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t near = left ? k - whole : k + whole,
             far = left ? near - 1 : near + 1; /* beyond the ends: wraps, not below count */
    struct nvm_value edge = left ? number(x, 0) : fill;
    struct nvm_value a = near < count ? from[near] : edge, b = far < count ? from[far] : edge;
    to[k] = a;
    if (bits == 0) continue;
    a = emit(x, left ? OP_SHL : OP_LSHR, a, number(x, bits));
    b = emit(x, left ? OP_LSHR : OP_SHL, b, number(x, WORD - bits));
    to[k] = emit(x, OP_OR, a, b);
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
    fill = emit(x, OP_ASHR, to[count - 1], number(x, WORD - 1));
  }
  if (const_words(x->m, by, distance)) {
    memcpy(from, to, count * sizeof *to);
    move_words(x, from, to, count, distance[0] < width ? (uint32_t)distance[0] : 0, left,
               fill); /* beyond: poison */
  } else {
    for (uint32_t step = 1; step < width; step *= 2) {
      struct nvm_value bit = emit(x, OP_AND, word(x, by, 0), number(x, step));
      struct nvm_value taken = emit_compare(x, ICMP_NE, bit, number(x, 0));
      memcpy(from, to, count * sizeof *to);
      move_words(x, from, to, count, step, left, fill);
      for (uint32_t k = 0; k < count; k++) to[k] = emit_select(x, taken, to[k], from[k]);
    }
  }
  to[count - 1] = masked(x, to[count - 1], top_bits(width));
}

/* --- comparisons, casts --- */

static struct nvm_value compare_equal(struct expansion *x, enum icmp_predicate p, uint32_t width) {
  struct nvm_value differ = VALUE_NULL;
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value d = emit(x, OP_XOR, word(x, operand(x, 0), k), word(x, operand(x, 1), k));
    differ = k ? emit(x, OP_OR, differ, d) : d;
  }
  return emit_compare(x, p, differ, number(x, 0));
}

static enum icmp_predicate without_equal(enum icmp_predicate p) {
  return p == ICMP_SGE   ? ICMP_SGT
         : p == ICMP_SLE ? ICMP_SLT
         : p == ICMP_UGE ? ICMP_UGT
         : p == ICMP_ULE ? ICMP_ULT
                         : p;
}

/* From the lowest word up: a word that differs overrules those below it. */
static struct nvm_value compare_ordered(struct expansion *x, enum icmp_predicate p,
                                        uint32_t width) {
  bool is_signed = p >= ICMP_SGT;
  enum icmp_predicate below = is_signed ? (enum icmp_predicate)(p - ICMP_SGT + ICMP_UGT) : p;
  struct nvm_value result = VALUE_NULL;
  for (uint32_t k = 0, last = words_of(width) - 1; k <= last; k++) {
    struct nvm_value a = word(x, operand(x, 0), k), b = word(x, operand(x, 1), k);
    if (k == last && is_signed)
      a = with_sign(x, a, top_bits(width)), b = with_sign(x, b, top_bits(width));
    if (k == 0) {
      result = emit_compare(x, below, a, b);
      continue;
    }
    struct nvm_value decided = emit_compare(x, without_equal(k == last ? p : below), a, b);
    struct nvm_value open = emit_aux(x, OP_AND, TYPE_I1, emit_compare(x, ICMP_EQ, a, b), result, 0);
    result = emit_aux(x, OP_OR, TYPE_I1, decided, open, 0);
  }
  return result;
}

/* The first words of a value of at most 128 bits, as many as it has; the last one extended. */
static uint32_t narrow_words(struct expansion *x, struct nvm_value v, bool is_signed,
                             struct nvm_value *to) {
  uint32_t width = width_of(x, value_type(x->f, v));
  enum op extend = is_signed ? OP_SEXT : OP_ZEXT;
  if (width <= WORD) {
    to[0] = width == WORD ? v : emit(x, extend, v, VALUE_NULL);
    return 1;
  }
  if (width < MAX_NARROW) v = emit_aux(x, extend, TYPE_I128, v, VALUE_NULL, 0);
  struct nvm_value high = emit_aux(x, OP_LSHR, TYPE_I128, v, const_int(x->m, TYPE_I128, WORD), 0);
  to[0] = emit(x, OP_TRUNC, v, VALUE_NULL);
  to[1] = emit(x, OP_TRUNC, high, VALUE_NULL);
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
  struct nvm_value fill =
      is_signed ? emit(x, OP_ASHR, to[count - 1], number(x, WORD - 1)) : number(x, 0);
  for (uint32_t k = count; k < words_of(width); k++) to[k] = fill;
  to[words_of(width) - 1] = masked(x, to[words_of(width) - 1], top_bits(width));
}

/* A value of at most 128 bits from the low words of a wide one. */
static struct nvm_value truncated(struct expansion *x, struct nvm_value v, struct nvm_type type) {
  uint32_t width = width_of(x, type);
  struct nvm_value low = word(x, v, 0);
  if (width <= WORD) return width == WORD ? low : emit_aux(x, OP_TRUNC, type, low, VALUE_NULL, 0);
  struct nvm_value high = emit_aux(x, OP_ZEXT, TYPE_I128, word(x, v, 1), VALUE_NULL, 0);
  low = emit_aux(x, OP_ZEXT, TYPE_I128, low, VALUE_NULL, 0);
  high = emit_aux(x, OP_SHL, TYPE_I128, high, const_int(x->m, TYPE_I128, WORD), 0);
  struct nvm_value whole = emit_aux(x, OP_OR, TYPE_I128, low, high, 0);
  return width == MAX_NARROW ? whole : emit_aux(x, OP_TRUNC, type, whole, VALUE_NULL, 0);
}

/* The vector of 64-bit elements as wide as a value of `width` bits; TYPE_NONE: not a whole number
 * of them. */
static struct nvm_type word_vector(struct expansion *x, uint32_t width) {
  return width % WORD ? TYPE_NONE : type_vector(&x->m->types, TYPE_I64, width / WORD);
}

static void expand_from_vector(struct expansion *x, struct nvm_value *to, uint32_t width) {
  struct nvm_value v = operand(x, 0);
  struct nvm_type words = word_vector(x, width);
  if (!type_equal(value_type(x->f, v), words)) v = emit_aux(x, OP_BITCAST, words, v, VALUE_NULL, 0);
  for (uint32_t k = 0; k < words_of(width); k++)
    to[k] = emit(x, OP_EXTRACTELEMENT, v, const_int(x->m, TYPE_I32, k));
}

static struct nvm_value to_vector(struct expansion *x, struct nvm_value v, struct nvm_type type) {
  uint32_t width = width_of(x, value_type(x->f, v));
  struct nvm_type words = word_vector(x, width);
  struct nvm_value whole = const_poison(x->m, words);
  for (uint32_t k = 0; k < words_of(width); k++) {
    struct nvm_value operands[3] = {whole, word(x, v, k), const_int(x->m, TYPE_I32, k)};
    struct nvm_inst_id i = function_add_inst(x->f, OP_INSERTELEMENT, 0, words, operands, 3, 0);
    if (inst_is_none(i)) return VALUE_NULL;
    inst_insert_before(x->f, i, x->at);
    whole = value_of_inst(i);
  }
  return type_equal(type, words) ? whole : emit_aux(x, OP_BITCAST, type, whole, VALUE_NULL, 0);
}

/* --- instructions --- */

static void expand_each(struct expansion *x, struct nvm_value *to, uint32_t width, enum op op) {
  for (uint32_t k = 0; k < words_of(width); k++)
    to[k] = op == OP_FREEZE   ? emit(x, op, word(x, operand(x, 0), k), VALUE_NULL)
            : op == OP_TRUNC  ? word(x, operand(x, 0), k)
            : op == OP_SELECT ? emit_select(x, operand(x, 0), word(x, operand(x, 1), k),
                                            word(x, operand(x, 2), k))
                              : emit(x, op, word(x, operand(x, 0), k), word(x, operand(x, 1), k));
  if (op == OP_TRUNC) to[words_of(width) - 1] = masked(x, to[words_of(width) - 1], top_bits(width));
}

/* Freezing word by word may set bits above the width. */
static void expand_freeze(struct expansion *x, struct nvm_value *to, uint32_t width) {
  expand_each(x, to, width, OP_FREEZE);
  to[words_of(width) - 1] = masked(x, to[words_of(width) - 1], top_bits(width));
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
    case OP_FREEZE: expand_freeze(x, to, width); return;
    case OP_BITCAST: expand_from_vector(x, to, width); return;
    default: expand_each(x, to, width, op); return;
  }
}

static bool expand(struct expansion *x, struct nvm_inst_id i) {
  enum op op = (enum op)function_inst(x->f, i)->op;
  struct nvm_type type = function_inst(x->f, i)->type;
  x->at = i;
  if (is_wide(x, type)) {
    uint32_t width = width_of(x, type);
    struct nvm_value *to = arena_alloc(x->arena, words_of(width) * sizeof *to);
    if (!to) return false;
    if (op != OP_PHI) expand_result(x, to, width);
    for (uint32_t k = 0; k < words_of(width) && op == OP_PHI; k++) {
      struct nvm_inst_id phi = function_add_inst(x->f, OP_PHI, 0, TYPE_I64, NULL, 0, 0);
      if (inst_is_none(phi)) return false;
      inst_insert_before(x->f, phi, i);
      to[k] = value_of_inst(phi);
    }
    x->words[i.index] = to;
    rewrite_set(&x->rewrite, i, const_poison(x->m, type));
  } else if (op == OP_ICMP && is_wide(x, value_type(x->f, operand(x, 0)))) {
    uint32_t width = width_of(x, value_type(x->f, operand(x, 0)));
    enum icmp_predicate p = (enum icmp_predicate)function_inst(x->f, i)->aux;
    rewrite_set(&x->rewrite, i,
                p <= ICMP_NE ? compare_equal(x, p, width) : compare_ordered(x, p, width));
  } else if (op == OP_TRUNC && is_wide(x, value_type(x->f, operand(x, 0)))) {
    rewrite_set(&x->rewrite, i, truncated(x, operand(x, 0), type));
  } else if (op == OP_BITCAST && is_wide(x, value_type(x->f, operand(x, 0)))) {
    rewrite_set(&x->rewrite, i, to_vector(x, operand(x, 0), type));
  } else if (op == OP_STORE && is_wide(x, value_type(x->f, operand(x, 0)))) {
    expand_store(x);
    inst_remove(x->f, i);
  }
  return !x->m->arena.failed;
}

/* Fills the phis that replace phi i. */
static bool fill_phis(struct expansion *x, struct nvm_inst_id i) {
  for (uint32_t n = 0; n < function_inst(x->f, i)->operand_count; n += 2) {
    struct nvm_value v = inst_operand(x->f, function_inst(x->f, i), n);
    struct nvm_block from = {value_index(inst_operand(x->f, function_inst(x->f, i), n + 1))};
    for (uint32_t k = 0; k < words_of(width_of(x, function_inst(x->f, i)->type)); k++)
      if (!phi_add(x->f, (struct nvm_inst_id){value_index(x->words[i.index][k])}, word(x, v, k),
                   from))
        return false;
  }
  return true;
}

/* --- what has no expansion --- */

/* Parameters and constant expressions have no words. */
static bool has_words(const struct expansion *x, struct nvm_value v) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  if (value_kind(v) == VALUE_INST || const_words(x->m, v, words)) return true;
  if (value_kind(v) != VALUE_CONST) return false;
  enum constant_kind kind = (enum constant_kind)constant_info(&x->m->constants, v)->kind;
  return kind == CONST_UNDEF || kind == CONST_POISON;
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
    case OP_ADD:
    case OP_SUB:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR:
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
    default: return i->op == OP_DBG_RECORD;
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

/* Sets *any if f computes with wide integers at all; reports what cannot be expanded. */
static bool check(struct expansion *x, struct diag_sink *sink, bool *any) {
  uint32_t errors = sink->error_count;
  FOR_EACH_BLOCK(x->f, b)
  FOR_EACH_INST(x->f, b, i) {
    struct nvm_type type = wide_type(x, function_inst(x->f, i));
    if (type.index == 0) continue;
    *any = true;
    if (!has_expansion(x, function_inst(x->f, i))) refuse(x, sink, i, type);
  }
  return sink->error_count == errors;
}

/* --- functions --- */

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
  FOR_EACH_BLOCK(f, b)
  if (!dominance_reachable(&d, b) && !expand_block(x, b)) return false;
  for (uint32_t k = 1; k < x->count; k++)
    if (x->words[k] && f->insts.data[k].op == OP_PHI && !fill_phis(x, (struct nvm_inst_id){k}))
      return false;
  rewrite_apply(&x->rewrite);
  return !x->m->arena.failed;
}

enum nvm_status expand_integers(struct nvm_module *m, struct diag_sink *sink) {
  struct expansion x = {.m = m};
  struct arena arena;
  bool any_type = false, *wide = NULL;
  uint32_t type_count = m->types.infos.count;
  enum nvm_status status = NVM_OK;
  arena_init(&arena, m->arena.allocator);
  if (!find_wide_types(m, &arena, &wide, &any_type)) status = NVM_OUT_OF_MEMORY;
  for (uint32_t n = 1; n < m->functions.count && any_type && status != NVM_OUT_OF_MEMORY; n++) {
    bool any = false;
    x = (struct expansion){
        .f = m->functions.data[n], .m = m, .arena = &arena, .wide = wide, .type_count = type_count};
    if (function_is_declaration(x.f)) continue;
    if (!check(&x, sink, &any)) status = NVM_REFUSED;
    else if (any && status == NVM_OK && !expand_function(&x)) status = NVM_OUT_OF_MEMORY;
  }
  arena_free(&arena);
  return status;
}
