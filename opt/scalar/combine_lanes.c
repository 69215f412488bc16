/* Transformations of combine that rules cannot express: lanes and members.
 *
 *   extractvalue, extractelement of inserts; shuffles that are one of their operands
 *   zext, sext of a byte of a word, sitofp of it: of low bits of the word shifted right
 *   or         of the two halves of a word that are lanes of a vector: the word
 *   bitcast    of a vector of halves, some of them of words: a vector of words */
#include "ir/build.h"
#include "opt/scalar/combine.h"

/* --- Inserts and shuffles --- */

static bool constant_index(const struct combiner *k, struct nvm_value v, uint64_t *index) {
  nvm_u128 bits;
  if (!const_is_int(k->m, v, &bits) || bits > UINT32_MAX) return false;
  *index = (uint64_t)bits;
  return true;
}

/* The element that a chain of inserts provides to the extract. */
struct nvm_value combine_extractelement(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  enum { MAX_STEPS = 32 };
  uint64_t wanted, index;
  struct nvm_value v = inst_operand(k->f, i, 0);
  if (!constant_index(k, inst_operand(k->f, i, 1), &wanted) ||
      wanted >= type_info(&k->m->types, value_type(k->f, v))->count)
    return VALUE_NULL;
  for (int step = 0; step < MAX_STEPS; step++) {
    if (value_kind(v) == VALUE_CONST) return const_element(k->m, v, wanted);
    const struct nvm_inst *insert = value_inst_of(k->f, v, OP_INSERTELEMENT);
    if (!insert || !constant_index(k, inst_operand(k->f, insert, 2), &index)) return VALUE_NULL;
    if (index == wanted) return inst_operand(k->f, insert, 1);
    v = inst_operand(k->f, insert, 0);
  }
  return VALUE_NULL;
}

/* The same for aggregates, if paths are equal or differ in an index. */
struct nvm_value combine_extractvalue(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  enum { MAX_STEPS = 32 };
  struct nvm_value v = inst_operand(k->f, i, 0);
  uint32_t depth = i->operand_count - 1;
  for (int step = 0; step < MAX_STEPS; step++) {
    const struct nvm_inst *insert = value_inst_of(k->f, v, OP_INSERTVALUE);
    if (!insert) return VALUE_NULL;
    uint32_t inserted = insert->operand_count - 2, common = 0;
    while (common < depth && common < inserted &&
           value_equal(inst_operand(k->f, i, 1 + common), inst_operand(k->f, insert, 2 + common)))
      common++;
    if (common == depth && common == inserted) return inst_operand(k->f, insert, 1);
    if (common == depth || common == inserted) return VALUE_NULL; /* one contains the other */
    v = inst_operand(k->f, insert, 0);
  }
  return VALUE_NULL;
}

/* A shuffle that is the identity of one operand. */
struct nvm_value combine_shuffle(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value mask = inst_operand(k->f, i, 2), a = inst_operand(k->f, i, 0);
  if (!type_equal(value_type(k->f, a), i->type)) return VALUE_NULL;
  uint64_t lanes = type_info(&k->m->types, i->type)->count;
  bool first = true, second = true;
  for (uint64_t n = 0; n < lanes && (first || second); n++) {
    uint64_t lane;
    struct nvm_value e = const_element(k->m, mask, n);
    if (value_is_none(e) || !constant_index(k, e, &lane)) return VALUE_NULL;
    first &= lane == n, second &= lane == n + lanes;
  }
  return first ? a : second ? inst_operand(k->f, i, 1) : VALUE_NULL;
}

/* --- Words, their halves and bytes --- */

/* What the bitcast that is operand 0 of `lane`, an extractelement, casts: an i32, or a vector of
 * them; else VALUE_NULL. */
static struct nvm_value cast_words(const struct combiner *k, const struct nvm_inst *lane) {
  const struct nvm_inst *cast = value_inst_of(k->f, inst_operand(k->f, lane, 0), OP_BITCAST);
  struct nvm_value words = cast ? inst_operand(k->f, cast, 0) : VALUE_NULL;
  bool are_words = cast && type_equal(type_scalar(&k->m->types, value_type(k->f, words)), TYPE_I32);
  return are_words ? words : VALUE_NULL;
}

/* The i32 itself, or lane n. */
static struct nvm_value build_word(struct combiner *k, struct nvm_inst_id root,
                                   struct nvm_value words, uint64_t n) {
  struct nvm_value operands[] = {words, make_int(k, TYPE_I32, n)};
  return type_equal(value_type(k->f, words), TYPE_I32)
             ? words
             : build_op(k, root, OP_EXTRACTELEMENT, 0, TYPE_I32, 0, 2, operands);
}

struct nvm_value combine_extended_byte(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value byte = inst_operand(k->f, i, 0);
  const struct nvm_inst *lane = value_inst_of(k->f, byte, OP_EXTRACTELEMENT);
  enum op op = (enum op)i->op;
  struct nvm_type type = i->type;
  uint64_t n;
  if (!lane || type_scalar_bits(&k->m->types, lane->type) != 8 ||
      k->f->uses.data[value_index(byte)] != 1 ||
      !type_equal(op == OP_SITOFP ? TYPE_I32 : type, TYPE_I32) ||
      !constant_index(k, inst_operand(k->f, lane, 1), &n))
    return VALUE_NULL;
  struct nvm_value words = cast_words(k, lane);
  if (value_is_none(words)) return VALUE_NULL;
  struct nvm_value shift[] = {build_word(k, root, words, n / 4), make_int(k, TYPE_I32, n % 4 * 8)};
  struct nvm_value low = build_op(k, root, OP_LSHR, 0, TYPE_I32, 0, 2, shift);
  low = build_op(k, root, OP_TRUNC, 0, type_int(&k->m->types, 8), 0, 1, &low);
  return build_op(k, root, op, 0, type, 0, 1, &low);
}

/* The word n, if the halves are lanes 2n and 2n + 1 of words cast to lanes of 16 bits; else
 * VALUE_NULL. */
static struct nvm_value word_of_lanes(struct combiner *k, struct nvm_inst_id root,
                                      struct nvm_value low, struct nvm_value high) {
  const struct nvm_inst *a = value_inst_of(k->f, low, OP_EXTRACTELEMENT),
                        *b = value_inst_of(k->f, high, OP_EXTRACTELEMENT);
  uint64_t n, next;
  if (!a || !b || !value_equal(inst_operand(k->f, a, 0), inst_operand(k->f, b, 0)) ||
      !constant_index(k, inst_operand(k->f, a, 1), &n) ||
      !constant_index(k, inst_operand(k->f, b, 1), &next) || n % 2 || next != n + 1)
    return VALUE_NULL;
  struct nvm_value words = cast_words(k, a);
  return value_is_none(words) ? words : build_word(k, root, words, n / 2);
}

/* The i16 that v is the extension of. */
static struct nvm_value extended_half(const struct combiner *k, struct nvm_value v) {
  const struct nvm_inst *extension = value_inst_of(k->f, v, OP_ZEXT);
  struct nvm_value half = extension ? inst_operand(k->f, extension, 0) : VALUE_NULL;
  return extension && type_equal(value_type(k->f, half), TYPE_I16) ? half : VALUE_NULL;
}

/* The value shifted by 16 in direction `op`. */
static struct nvm_value shifted_half(const struct combiner *k, struct nvm_value v, enum op op) {
  const struct nvm_inst *shift = value_inst_of(k->f, v, op);
  uint64_t by;
  if (!shift || !constant_index(k, inst_operand(k->f, shift, 1), &by) || by != 16)
    return VALUE_NULL;
  return inst_operand(k->f, shift, 0);
}

struct nvm_value combine_joined_halves(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  if (!type_equal(i->type, TYPE_I32)) return VALUE_NULL;
  for (uint32_t n = 0; n < 2; n++) {
    struct nvm_value shifted = shifted_half(k, inst_operand(k->f, i, n), OP_SHL),
                     low = extended_half(k, inst_operand(k->f, i, 1 - n)),
                     high = value_is_none(shifted) ? shifted : extended_half(k, shifted);
    if (!value_is_none(low) && !value_is_none(high)) return word_of_lanes(k, root, low, high);
  }
  return VALUE_NULL;
}

/* The i32 whose low half is `low` and whose high half is `high`. */
static struct nvm_value word_of_truncs(const struct combiner *k, struct nvm_value low,
                                       struct nvm_value high) {
  const struct nvm_inst *a = value_inst_of(k->f, low, OP_TRUNC),
                        *b = value_inst_of(k->f, high, OP_TRUNC);
  struct nvm_value word = a ? inst_operand(k->f, a, 0) : VALUE_NULL;
  if (!a || !b || !type_equal(value_type(k->f, word), TYPE_I32)) return VALUE_NULL;
  return value_equal(shifted_half(k, inst_operand(k->f, b, 0), OP_LSHR), word) ? word : VALUE_NULL;
}

/* The i32 whose 16-bit lane n is `half`, which may be cast to a float. VALUE_NULL: none is. */
static struct nvm_value word_of_lane(const struct combiner *k, struct nvm_value half, uint64_t n) {
  const struct nvm_inst *cast = value_inst_of(k->f, half, OP_BITCAST);
  const struct nvm_inst *lane =
      value_inst_of(k->f, cast ? inst_operand(k->f, cast, 0) : half, OP_EXTRACTELEMENT);
  uint64_t at;
  if (!lane || !constant_index(k, inst_operand(k->f, lane, 1), &at) || at != n) return VALUE_NULL;
  const struct nvm_inst *pair = value_inst_of(k->f, inst_operand(k->f, lane, 0), OP_BITCAST);
  struct nvm_value word = pair ? inst_operand(k->f, pair, 0) : VALUE_NULL;
  return pair && type_equal(value_type(k->f, word), TYPE_I32) ? word : VALUE_NULL;
}

/* The i32 whose two lanes are `low` and `high`. */
static struct nvm_value word_with_lanes(const struct combiner *k, struct nvm_value low,
                                        struct nvm_value high) {
  struct nvm_value word = word_of_lane(k, low, 0), other = word_of_lane(k, high, 1);
  return !value_is_none(word) && !value_is_none(other) && value_equal(word, other) ? word
                                                                                   : VALUE_NULL;
}

enum { MAX_HALVES = 16 };

/* Sets the lanes of a vector that is made of nothing else; false if it is made otherwise. */
static bool find_lanes(const struct combiner *k, struct nvm_value v, uint64_t count,
                       struct nvm_value *lanes) {
  for (uint64_t n = 0; n < count; n++) lanes[n] = VALUE_NULL;
  for (uint64_t found = 0, n; found < count; found++) {
    const struct nvm_inst *insert = value_inst_of(k->f, v, OP_INSERTELEMENT);
    if (!insert || k->f->uses.data[value_index(v)] != 1 ||
        !constant_index(k, inst_operand(k->f, insert, 2), &n) || n >= count ||
        !value_is_none(lanes[n]))
      return false;
    lanes[n] = inst_operand(k->f, insert, 1);
    v = inst_operand(k->f, insert, 0);
  }
  return true;
}

struct nvm_value combine_words_of_halves(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_type type = function_inst(k->f, root)->type;
  struct nvm_value halves = inst_operand(k->f, function_inst(k->f, root), 0), lanes[MAX_HALVES],
                   words[MAX_HALVES / 2];
  const struct type_info *from = type_info(&k->m->types, value_type(k->f, halves));
  if (from->kind != TY_VECTOR || type_scalar_bits(&k->m->types, from->element) != 16 ||
      from->count % 2 || from->count > MAX_HALVES ||
      !type_equal(type_scalar(&k->m->types, type), TYPE_I32) ||
      !find_lanes(k, halves, from->count, lanes))
    return VALUE_NULL;
  uint64_t count = from->count / 2;
  for (uint64_t n = 0; n < count; n++) {
    words[n] = word_of_truncs(k, lanes[2 * n], lanes[2 * n + 1]);
    if (value_is_none(words[n])) words[n] = word_with_lanes(k, lanes[2 * n], lanes[2 * n + 1]);
    if (value_is_none(words[n])) return VALUE_NULL;
  }
  if (!type_is_vector(&k->m->types, type)) return words[0];
  struct nvm_value v = const_poison(k->m, type);
  for (uint64_t n = 0; n < count && !value_is_none(v); n++) {
    struct nvm_value operands[] = {v, words[n], make_int(k, TYPE_I32, n)};
    v = build_op(k, root, OP_INSERTELEMENT, 0, type, 0, 3, operands);
  }
  return v;
}
