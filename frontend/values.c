/* Values: a literal and the type before it become a constant or a local value. Constant expressions
 * are kept as written, except bitcasts: those of literals are folded, those between pointers, which
 * are empty without pointee types, are dropped. */
#include "frontend/values.h"

#include "frontend/lexer.h"
#include "frontend/names.h"
#include "frontend/report.h"
#include "ir/eval.h"
#include "ir/evalint.h"
#include "ir/print.h"

#include "support/float.h"

static const struct type_info *info_of(const struct parser *p, struct nvm_type type) {
  return type_info(&p->m->types, type);
}

/* ---- Lists ---- */

void values_push(struct parser *p, struct list *l, const struct operand *o) {
  if (VEC_PUSH(&p->scratch, &p->stack, *o)) l->count++;
  else *l = (struct list){0}; /* any operand will do: the result is not used */
}

const struct nvm_value *values_take(struct parser *p, struct list l) {
  if (!VEC_RESERVE(&p->scratch, &p->values, (uint64_t)l.count + 1)) l.count = 0;
  for (uint32_t i = 0; i < l.count; i++) p->values.data[i] = p->stack.data[l.first + i].value;
  p->stack.count = l.first;
  return p->values.data;
}

struct literal values_list(uint32_t begin, enum literal_kind kind, struct list l) {
  struct literal result = {.begin = begin, .kind = kind};
  result.first = l.first, result.count = l.count;
  return result;
}

/* ---- Numbers ---- */

bool values_number(struct parser *p, const struct token *t, uint64_t limit, uint64_t *number) {
  const char *text = p->text + t->begin;
  bool plain = t->length <= 20 && text[0] != '-' && text[0] != 'u' && text[0] != 's';
  bool overflow = t->length == 20 && memcmp(text, "18446744073709551615", 20) > 0;
  uint64_t n = t->number;
  if (plain && t->length == 20 && !overflow) {
    n = 0;
    for (uint32_t i = 0; i < 20; i++) n = n * 10 + (uint64_t)(text[i] - '0');
  }
  if (!plain || overflow || n > limit) {
    report(p, DIAG_NUMBER_WANTED, t->begin, t->begin + t->length, report_copy(p, text, t->length),
           report_number(p, limit), NULL);
    *number = 0;
    return false;
  }
  *number = n;
  return true;
}

static struct nvm_value poison(struct parser *p, struct nvm_type type) {
  return const_poison(p->m, type);
}

static struct nvm_value bad_constant(struct parser *p, const struct literal *l,
                                     struct nvm_type type) {
  report_token(p, DIAG_CONSTANT_TYPE, l->begin, report_type(p, type), NULL);
  return poison(p, type);
}

static uint32_t digit_value(char c) { return (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10); }

/* The magnitude of [c, end) in the base; false if it needs more than 128 bits. */
static bool read_wide(const char *c, const char *end, uint32_t base, nvm_u128 *value) {
  nvm_u128 v = 0, most = ~(nvm_u128)0, limit = base == 16 ? most / 16 : most / 10;
  for (; c < end; c++) {
    uint32_t d = digit_value(*c);
    if (v > limit || v * base > most - d) return false;
    v = v * base + d;
  }
  *value = v;
  return true;
}

/* s0x…: sign-extends from the highest bit of the digits. */
static nvm_u128 sign_extend_hex(nvm_u128 v, uint32_t digits) {
  if (digits >= 32 || digits == 0) return v;
  uint32_t bits = digits * 4;
  return v >> (bits - 1) & 1 ? v | ~evalint_wide_mask(bits) : v;
}

/* words = words * base + digit; false if that needs more than TYPE_MAX_INT_BITS. */
static bool append_digit(uint64_t *words, uint32_t base, uint32_t digit) {
  nvm_u128 carry = digit;
  for (uint32_t k = 0; k < TYPE_MAX_INT_WORDS; k++) {
    carry += (nvm_u128)words[k] * base;
    words[k] = (uint64_t)carry;
    carry >>= 64;
  }
  return carry == 0;
}

/* Whether the magnitude fits the width: below 2^width, a negative one at most 2^(width - 1). */
static bool words_fit(const uint64_t *words, uint32_t width, bool negative) {
  uint32_t bits = 0;
  bool power = true; /* only the highest bit is set */
  for (uint32_t k = 0; k < TYPE_MAX_INT_WORDS; k++) {
    if (!words[k]) continue;
    power = bits == 0 && !(words[k] & (words[k] - 1));
    bits = k * 64 + 64 - (uint32_t)__builtin_clzll(words[k]);
  }
  return negative ? bits < width || (bits == width && power) : bits <= width;
}

/* An integer of more than 128 bits, decimal or u0x. */
static struct nvm_value resolve_big_int(struct parser *p, struct nvm_type type,
                                        const struct literal *l, uint32_t width) {
  const char *text = p->text + l->begin, *end = p->text + lexer_token_end(p, l->begin);
  uint32_t hex = *text == 'u' || *text == 's' ? 3 : 0;
  bool negative = *text == '-', fits = *text != 's';
  uint64_t words[TYPE_MAX_INT_WORDS] = {0}, carry = 1;
  for (const char *c = text + hex + negative; c < end && fits; c++)
    fits = append_digit(words, hex ? 16 : 10, digit_value(*c));
  if (!fits || !words_fit(words, width, negative)) {
    report_token(p, DIAG_CONSTANT_RANGE, l->begin, report_type(p, type), NULL);
    return poison(p, type);
  }
  for (uint32_t k = 0; k < TYPE_MAX_INT_WORDS && negative; k++) {
    words[k] = ~words[k] + carry;
    carry = carry && words[k] == 0;
  }
  return const_big_int(p->m, type, words);
}

static struct nvm_value resolve_int(struct parser *p, struct nvm_type type,
                                    const struct literal *l) {
  const struct type_info *info = info_of(p, type);
  if (info->kind != TY_INT) return bad_constant(p, l, type);
  if (info->width > 128) return resolve_big_int(p, type, l, info->width);
  const char *text = p->text + l->begin, *end;
  nvm_u128 value = l->number, mask = evalint_wide_mask(info->width);
  bool negative = *text == '-', fits = true;
  if (l->number >= UINT64_MAX / 10 - 1) { /* saturated, or hexadecimal: from the text */
    end = p->text + lexer_token_end(p, l->begin);
    uint32_t hex = *text == 'u' || *text == 's' ? 3 : 0;
    fits = read_wide(text + hex + negative, end, hex ? 16 : 10, &value);
    if (*text == 's') {
      value = sign_extend_hex(value, (uint32_t)(end - text) - 3);
      if (value >> 127) negative = true, value = -value;
    }
  }
  if (negative) fits = fits && value <= ((nvm_u128)1 << (info->width - 1));
  else fits = fits && (value & ~mask) == 0;
  if (!fits) {
    report_token(p, DIAG_CONSTANT_RANGE, l->begin, report_type(p, type), NULL);
    return poison(p, type);
  }
  return const_int(p->m, type, (negative ? -value : value) & mask);
}

static bool float_format_of(enum type_kind kind, enum float_format *format) {
  switch (kind) {
    case TY_HALF: *format = FLOAT_HALF; return true;
    case TY_BFLOAT: *format = FLOAT_BFLOAT; return true;
    case TY_FLOAT: *format = FLOAT_SINGLE; return true;
    case TY_DOUBLE: *format = FLOAT_DOUBLE; return true;
    case TY_NONE:
    case TY_VOID:
    case TY_LABEL:
    case TY_METADATA:
    case TY_TOKEN:
    case TY_INT:
    case TY_PTR:
    case TY_VECTOR:
    case TY_ARRAY:
    case TY_STRUCT:
    case TY_FUNCTION:
    case TY_KIND_COUNT: break;
  }
  return false;
}

/* f0x, 0x, 0xH, 0xR: bits. Returns whether the spelling suits the format. */
static bool float_from_bits(const char *text, uint32_t length, enum float_format format,
                            uint64_t *bits, bool *exact) {
  char letter = text[2];
  bool any = *text == 'f', own = any || strchr("HRKLM", letter);
  nvm_u128 value;
  if (!read_wide(text + 2 + own, text + length, 16, &value)) return false;
  if (own) {
    *bits = (uint64_t)value;
    return value >> float_shapes[format].bits == 0 &&
           (any || (letter == 'H' && format == FLOAT_HALF) ||
            (letter == 'R' && format == FLOAT_BFLOAT));
  }
  if (value >> 64) return false;
  *bits = float_convert_bits((uint64_t)value, FLOAT_DOUBLE, format, exact);
  bool quiet = (uint64_t)value >> 51 & 1, infinite = (uint64_t)value << 12 == 0;
  if ((uint64_t)value << 1 >> 53 == 0x7ff && !infinite &&
      !quiet) /* a signaling NaN stays signaling */
    *bits &= ~(UINT64_C(1) << (float_shapes[format].fraction_bits - 1));
  return true;
}

static struct nvm_value resolve_float(struct parser *p, struct nvm_type type,
                                      const struct literal *l) {
  enum float_format format;
  const char *text = p->text + l->begin;
  uint64_t bits;
  bool exact = true, ok = false;
  if (!float_format_of(type_kind(&p->m->types, type), &format)) return bad_constant(p, l, type);
  switch ((enum float_spelling)l->id) {
    case SPELLED_BITS: ok = float_from_bits(text, l->length, format, &bits, &exact); break;
    case SPELLED_SPECIAL: ok = float_from_special(text, l->length, format, &bits); break;
    case SPELLED_DECIMAL: ok = float_from_decimal(text, l->length, format, &bits); break;
  }
  if (!ok) return bad_constant(p, l, type);
  if (!exact) report_token(p, DIAG_CONSTANT_INEXACT, l->begin, report_type(p, type), NULL);
  return const_float(p->m, type, bits);
}

/* ---- Aggregates ---- */

static struct nvm_value resolve_string(struct parser *p, struct nvm_type type,
                                       const struct literal *l) {
  const struct type_info *info = info_of(p, type);
  if (info->kind != TY_ARRAY || !type_equal(info->element, TYPE_I8))
    return bad_constant(p, l, type);
  struct nvm_str s = names_unescape(p, l->begin + 2, l->length);
  struct nvm_text text = module_text(p->m, s);
  if (text.length != info->count) {
    report(p, DIAG_STRING_LENGTH, l->begin, lexer_token_end(p, l->begin),
           report_number(p, text.length), report_type(p, type), NULL);
    return poison(p, type);
  }
  return const_bytes(p->m, type, text.bytes, text.length);
}

static bool is_constant(struct nvm_value v) {
  enum value_kind kind = value_kind(v);
  return kind == VALUE_CONST || kind == VALUE_GLOBAL || kind == VALUE_FUNCTION;
}

/* Whether o, an operand of a constant, is constant; makes it poison if not. */
static bool check_constant(struct parser *p, struct operand *o) {
  if (is_constant(o->value)) return true;
  if (value_is_none(o->value)) return false;
  report_token(p, DIAG_NOT_A_CONSTANT, o->begin, NULL, NULL);
  o->value = poison(p, o->type);
  return false;
}

static bool check_elements(struct parser *p, const struct literal *l, struct nvm_type type) {
  for (uint32_t i = 0; i < l->count; i++) {
    struct operand *o = &p->stack.data[l->first + i];
    struct nvm_type wanted = type_element(&p->m->types, type, i);
    if (!check_constant(p, o)) return false;
    if (!type_equal(o->type, wanted)) {
      report_token(p, DIAG_ELEMENT_TYPE, o->begin, report_type(p, o->type), report_type(p, wanted));
      return false;
    }
  }
  return true;
}

static bool kind_matches(const struct type_info *info, uint32_t literal) {
  bool packed = info->flags & TYPE_PACKED;
  switch (literal) {
    case LIT_ARRAY: return info->kind == TY_ARRAY;
    case LIT_VECTOR: return info->kind == TY_VECTOR;
    case LIT_STRUCT: return info->kind == TY_STRUCT && !packed && !(info->flags & TYPE_OPAQUE);
    case LIT_PACKED: return info->kind == TY_STRUCT && packed;
    default: return false;
  }
}

static struct nvm_value resolve_list(struct parser *p, struct nvm_type type,
                                     const struct literal *l) {
  const struct type_info *info = info_of(p, type);
  uint64_t wanted = info->count;
  struct list list = {l->count ? l->first : p->stack.count, l->count};
  bool ok = false;
  if (!kind_matches(info, l->kind)) {
    bad_constant(p, l, type);
  } else if (wanted != l->count) {
    report(p, DIAG_ELEMENT_COUNT, l->begin, l->begin + 1, report_number(p, l->count),
           report_type(p, type), report_number(p, wanted));
  } else {
    ok = check_elements(p, l, type);
  }
  const struct nvm_value *elements = values_take(p, list);
  if (!ok || p->scratch.failed) return poison(p, type);
  if (list.count == 0) return const_zero(p->m, type);
  return const_aggregate(p->m, type, elements, list.count);
}

static struct nvm_value resolve_splat(struct parser *p, struct nvm_type type,
                                      const struct literal *l) {
  const struct type_info *info = info_of(p, type);
  if (info->kind != TY_VECTOR || !type_equal(info->element, l->type)) {
    report_token(p, DIAG_CONSTANT_TYPE, l->begin, report_type(p, type), NULL);
    return poison(p, type);
  }
  uint32_t lanes = (uint32_t)info->count;
  if (!VEC_RESERVE(&p->scratch, &p->values, lanes)) return VALUE_NULL;
  for (uint32_t i = 0; i < lanes; i++) p->values.data[i] = l->value;
  return const_aggregate(p->m, type, p->values.data, lanes);
}

/* ---- Any value ---- */

static struct nvm_value resolve_zero(struct parser *p, struct nvm_type type,
                                     const struct literal *l) {
  enum type_kind kind = type_kind(&p->m->types, type);
  if (kind < TY_INT || kind == TY_FUNCTION) return bad_constant(p, l, type);
  return const_zero(p->m, type);
}

static bool takes_undef(enum type_kind kind) { return kind >= TY_INT && kind != TY_FUNCTION; }

struct nvm_value values_resolve(struct parser *p, struct nvm_type type, const struct literal *l) {
  enum type_kind kind = type_kind(&p->m->types, type);
  switch ((enum literal_kind)l->kind) {
    case LIT_LOCAL: return names_local(p, l, type);
    case LIT_GLOBAL: return names_global(p, l, type);
    case LIT_INT: return resolve_int(p, type, l);
    case LIT_FLOAT: return resolve_float(p, type, l);
    case LIT_TRUE:
    case LIT_FALSE:
      if (!type_equal(type, TYPE_I1)) return bad_constant(p, l, type);
      return const_int(p->m, type, l->kind == LIT_TRUE);
    case LIT_NULL:
      if (kind != TY_PTR) return bad_constant(p, l, type);
      return const_null(p->m, type);
    case LIT_UNDEF:
      if (!takes_undef(kind)) return bad_constant(p, l, type);
      return const_undef(p->m, type);
    case LIT_POISON:
      if (!takes_undef(kind)) return bad_constant(p, l, type);
      return const_poison(p->m, type);
    case LIT_ZERO: return resolve_zero(p, type, l);
    case LIT_NONE:
      if (kind != TY_TOKEN) return bad_constant(p, l, type);
      return const_token_none(p->m);
    case LIT_CSTRING: return resolve_string(p, type, l);
    case LIT_ARRAY:
    case LIT_VECTOR:
    case LIT_STRUCT:
    case LIT_PACKED: return resolve_list(p, type, l);
    case LIT_CONST:
      if (type_equal(l->type, type)) return l->value;
      report_token(p, DIAG_VALUE_TYPE, l->begin, report_type(p, l->type), report_type(p, type));
      return poison(p, type);
    case LIT_ASM:
      report_token(p, DIAG_NOT_A_CONSTANT, l->begin, NULL, NULL);
      return poison(p, type);
    case LIT_SPLAT: return resolve_splat(p, type, l);
  }
  return VALUE_NULL;
}

struct operand values_typed(struct parser *p, const struct written_type *t,
                            const struct literal *l) {
  enum type_kind kind = type_kind(&p->m->types, t->type);
  struct operand o = {.type = t->type, .pointee = t->pointee, .begin = l->begin};
  if (l->kind == LIT_LOCAL || l->kind == LIT_GLOBAL) {
    struct token name = {l->begin, l->length, l->id};
    o.begin = names_begin(p, &name);
    if (l->kind == LIT_LOCAL && kind >= TY_INT && kind != TY_FUNCTION) {
      o.value = names_local(p, l, t->type);
      return o;
    }
  }
  if (kind == TY_VOID || kind == TY_FUNCTION || kind == TY_LABEL) {
    report(p, DIAG_BAD_TYPE, t->begin, t->end, report_type(p, t->type), "the type of a value",
           NULL);
    if (l->kind >= LIT_ARRAY && l->kind <= LIT_PACKED && l->count) p->stack.count = l->first;
    o.type = TYPE_I1;
    o.value = poison(p, o.type);
    return o;
  }
  o.value = values_resolve(p, t->type, l);
  return o;
}

struct literal values_asm(struct parser *p, uint32_t begin, uint32_t flags,
                          const struct token *text, const struct token *constraints) {
  struct literal l = {.begin = begin, .kind = LIT_ASM};
  struct nvm_str a = names_string(p, text), b = names_string(p, constraints);
  l.value = const_asm(p->m, a, b, (uint16_t)flags);
  return l;
}

struct literal values_splat(struct parser *p, uint32_t begin, const struct operand *o) {
  struct literal l = {.begin = begin, .kind = LIT_SPLAT};
  struct operand lane = *o;
  check_constant(p, &lane);
  l.value = lane.value, l.type = lane.type;
  return l;
}

/* ---- What ops make of their operands' types: for instructions and expressions ---- */

bool values_check_flags(struct parser *p, enum op op, const struct token *at, uint32_t flags) {
  if (flags == 0 || (flags & ~(uint32_t)op_flags(op)) == 0) return true;
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  print_flags(&b, op, op_flags(op));
  report(p, DIAG_FLAG_MISPLACED, at->begin, at->begin + at->length, op_table[op].keyword,
         b.length ? report_copy(p, b.bytes, b.length) : " none", NULL);
  return false;
}

uint32_t values_predicate(struct parser *p, enum op op, const struct token *t) {
  uint32_t found = op == OP_ICMP ? t->number & 0xff : t->number >> 8 & 0xff;
  if (found) return found - 1;
  struct diag *d = report_token(p, DIAG_PREDICATE_UNKNOWN, t->begin, op_table[op].keyword, NULL);
  struct nearest n = nearest_start((struct nvm_text){p->text + t->begin, t->length});
  report_offer_predicates(op, &n);
  diag_suggest(p->sink, d, &n);
  return 0;
}

static struct nvm_type refuse_operand(struct parser *p, enum op op, const struct operand *o,
                                      const char *expected) {
  report(p, DIAG_OPERAND_TYPE, o->begin, lexer_token_end(p, o->begin), op_table[op].keyword,
         report_type(p, o->type), expected);
  return TYPE_NONE;
}

static bool has_count(struct parser *p, enum op op, const struct token *at, uint32_t count,
                      uint32_t wanted) {
  if (count == wanted) return true;
  report(p, DIAG_OPERAND_COUNT, at->begin, at->begin + at->length, op_table[op].keyword,
         report_number(p, wanted), report_number(p, count));
  return false;
}

static bool same_types(struct parser *p, const struct operand *a, const struct operand *b) {
  if (type_equal(a->type, b->type)) return true;
  report_token(p, DIAG_VALUE_TYPE, b->begin, report_type(p, b->type), report_type(p, a->type));
  return false;
}

static struct nvm_type shuffle_type(struct parser *p, enum op op, const struct operand *operands) {
  struct type_table *t = &p->m->types;
  if (!type_is_vector(t, operands[0].type)) return refuse_operand(p, op, &operands[0], "a vector");
  if (!same_types(p, &operands[0], &operands[1])) return TYPE_NONE;
  if (!type_is_vector(t, operands[2].type)) return refuse_operand(p, op, &operands[2], "a vector");
  return type_vector(t, info_of(p, operands[0].type)->element, info_of(p, operands[2].type)->count);
}

struct nvm_type values_op_type(struct parser *p, enum op op, const struct token *at,
                               const struct operand *operands, uint32_t count) {
  struct type_table *t = &p->m->types;
  switch (op_table[op].form) {
    case FORM_UNARY: return has_count(p, op, at, count, 1) ? operands[0].type : TYPE_NONE;
    case FORM_BINARY:
      if (!has_count(p, op, at, count, 2) || !same_types(p, &operands[0], &operands[1]))
        return TYPE_NONE;
      return operands[0].type;
    case FORM_CMP:
      if (!same_types(p, &operands[0], &operands[1])) return TYPE_NONE;
      return type_with_lanes_of(t, TYPE_I1,
                                type_is_vector(t, operands[0].type) ? operands[0].type : TYPE_NONE);
    case FORM_SELECT:
      if (!has_count(p, op, at, count, 3) || !same_types(p, &operands[1], &operands[2]))
        return TYPE_NONE;
      return operands[1].type;
    case FORM_EXTRACTELEMENT:
      if (!has_count(p, op, at, count, 2)) return TYPE_NONE;
      if (!type_is_vector(t, operands[0].type))
        return refuse_operand(p, op, &operands[0], "a vector");
      return info_of(p, operands[0].type)->element;
    case FORM_INSERTELEMENT:
      if (!has_count(p, op, at, count, 3)) return TYPE_NONE;
      if (!type_is_vector(t, operands[0].type))
        return refuse_operand(p, op, &operands[0], "a vector");
      return operands[0].type;
    case FORM_SHUFFLEVECTOR:
      return has_count(p, op, at, count, 3) ? shuffle_type(p, op, operands) : TYPE_NONE;
    case FORM_NONE:
    case FORM_RET:
    case FORM_BR:
    case FORM_CONDBR:
    case FORM_SWITCH:
    case FORM_ALLOCA:
    case FORM_LOAD:
    case FORM_STORE:
    case FORM_FENCE:
    case FORM_CMPXCHG:
    case FORM_ATOMICRMW:
    case FORM_GEP:
    case FORM_CAST:
    case FORM_PHI:
    case FORM_CALL:
    case FORM_EXTRACTVALUE:
    case FORM_INSERTVALUE:
    case FORM_VA_ARG:
    case FORM_DBG_RECORD: break;
  }
  return TYPE_NONE;
}

/* A pointer, or a vector of pointers if any operand is a vector. */
struct nvm_type values_gep_type(struct parser *p, const struct operand *operands, uint32_t count) {
  struct type_table *t = &p->m->types;
  if (!type_is_ptr_or_vector(t, operands[0].type))
    return refuse_operand(p, OP_GEP, &operands[0], "a pointer");
  if (type_is_vector(t, operands[0].type)) return operands[0].type;
  for (uint32_t i = 1; i < count; i++) {
    if (type_is_vector(t, operands[i].type))
      return type_with_lanes_of(t, operands[0].type, operands[i].type);
  }
  return operands[0].type;
}

struct nvm_type values_member_type(struct parser *p, struct nvm_type type,
                                   const struct operand *indices, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    nvm_u128 index = 0;
    const_is_int(p->m, indices[i].value, &index);
    struct nvm_type inner = type_is_aggregate(&p->m->types, type)
                                ? type_element(&p->m->types, type, (uint64_t)index)
                                : TYPE_NONE;
    if (inner.index == 0) {
      report(p, DIAG_MEMBER_INDEX, indices[i].begin, lexer_token_end(p, indices[i].begin),
             report_type(p, type), report_number(p, (uint64_t)index), NULL);
      return TYPE_NONE;
    }
    type = inner;
  }
  return type;
}

void values_push_index(struct parser *p, struct list *l, const struct token *t) {
  uint64_t number;
  values_number(p, t, UINT32_MAX, &number);
  struct operand o = {.value = const_int(p->m, TYPE_I32, number),
                      .type = TYPE_I32,
                      .pointee = TYPE_LABEL,
                      .begin = t->begin};
  values_push(p, l, &o);
}

bool values_check_pointee(struct parser *p, const struct operand *pointer, struct nvm_type type,
                          uint32_t begin) {
  if (pointer->pointee.index == 0 || type_equal(pointer->pointee, type)) return true;
  report(p, DIAG_POINTEE_TYPE, begin, lexer_token_end(p, begin), report_type(p, pointer->pointee),
         report_type(p, type), NULL);
  return false;
}

/* ---- Constant expressions ---- */

static struct literal expression(uint32_t begin, struct nvm_value v, struct nvm_type type) {
  struct literal l = {.begin = begin, .kind = LIT_CONST};
  l.value = v, l.type = type;
  return l;
}

/* After an error: poison of a type that fits most places. */
static struct literal no_expression(struct parser *p, uint32_t begin, struct nvm_type type) {
  if (type.index == 0) type = TYPE_I1;
  return expression(begin, poison(p, type), type);
}

/* Whether the op may have the flags written after it. */
static bool check_op(struct parser *p, const struct token *op) {
  return values_check_flags(p, token_op(op), op, token_flags(op));
}

/* Ops that only select and join bits are folded if all bits are literals: initializers cannot
 * compute with vectors. Conversions to the same type, as between pointers, are dropped. */
struct nvm_value values_make_expr(struct parser *p, enum op op, uint16_t flags,
                                  struct nvm_type type, const struct nvm_value *operands,
                                  uint32_t count, uint32_t aux) {
  bool moves_bits = op == OP_BITCAST || op == OP_EXTRACTELEMENT || op == OP_INSERTELEMENT ||
                    op == OP_SHUFFLEVECTOR;
  if (op == OP_BITCAST && type_equal(module_value_type(p->m, operands[0]), type))
    return operands[0];
  struct nvm_value v = moves_bits ? eval_fold(p->m, op, 0, 0, type, operands, count) : VALUE_NULL;
  return value_is_none(v) ? const_expr(p->m, op, flags, type, operands, count, aux) : v;
}

static struct nvm_value value_or_expression(struct parser *p, const struct token *op,
                                            struct nvm_type type, const struct nvm_value *operands,
                                            uint32_t count) {
  return values_make_expr(p, token_op(op), token_flags(op), type, operands, count, 0);
}

struct literal values_cast(struct parser *p, const struct token *op, const struct operand *o,
                           const struct written_type *to) {
  struct operand operand = *o;
  if (!check_constant(p, &operand) || !check_op(p, op))
    return no_expression(p, op->begin, to->type);
  return expression(op->begin, value_or_expression(p, op, to->type, &operand.value, 1), to->type);
}

static bool all_constant(struct parser *p, struct list l) {
  bool ok = true;
  for (uint32_t i = 0; i < l.count; i++) ok &= check_constant(p, &p->stack.data[l.first + i]);
  return ok;
}

struct literal values_gep(struct parser *p, const struct token *op,
                          const struct written_type *element, struct list l) {
  uint16_t flags = token_flags(op);
  struct nvm_type type = TYPE_NONE;
  if (all_constant(p, l) && check_op(p, op) &&
      values_check_pointee(p, &p->stack.data[l.first], element->type, element->begin))
    type = values_gep_type(p, p->stack.data + l.first, l.count);
  const struct nvm_value *operands = values_take(p, l);
  if (type.index == 0) return no_expression(p, op->begin, TYPE_PTR);
  if (flags & INST_INBOUNDS) flags &= (uint16_t)~INST_NUSW;
  struct nvm_value v =
      const_expr(p->m, OP_GEP, flags, type, operands, l.count, element->type.index);
  return expression(op->begin, v, type);
}

struct literal values_compare(struct parser *p, const struct token *op,
                              const struct token *predicate, const struct operand *a,
                              const struct operand *b) {
  struct operand operands[2] = {*a, *b};
  enum op o = token_op(op);
  if (!check_constant(p, &operands[0]) || !check_constant(p, &operands[1]) || !check_op(p, op))
    return no_expression(p, op->begin, TYPE_I1);
  struct nvm_type type = values_op_type(p, o, op, operands, 2);
  if (type.index == 0) return no_expression(p, op->begin, TYPE_I1);
  struct nvm_value values[2] = {a->value, b->value};
  uint32_t number = values_predicate(p, o, predicate);
  return expression(op->begin, const_expr(p->m, o, token_flags(op), type, values, 2, number), type);
}

struct literal values_expr(struct parser *p, const struct token *op, struct list l) {
  enum op o = token_op(op);
  struct nvm_type type = TYPE_NONE, first = p->stack.data[l.first].type;
  if (all_constant(p, l) && check_op(p, op))
    type = values_op_type(p, o, op, p->stack.data + l.first, l.count);
  const struct nvm_value *operands = values_take(p, l);
  if (type.index == 0) return no_expression(p, op->begin, first);
  return expression(op->begin, value_or_expression(p, op, type, operands, l.count), type);
}

struct literal values_member(struct parser *p, const struct token *op, struct list l) {
  bool insert = token_op(op) == OP_INSERTVALUE;
  uint32_t given = insert ? 2 : 1;
  struct nvm_type type = p->stack.data[l.first].type, member = TYPE_NONE;
  uint32_t written = 0;
  while (written < l.count && !state_is_index(&p->stack.data[l.first + written])) written++;
  if (written != given) has_count(p, token_op(op), op, written, given);
  else if (all_constant(p, l))
    member = values_member_type(p, type, p->stack.data + l.first + given, l.count - given);
  const struct nvm_value *operands = values_take(p, l);
  if (member.index == 0) return no_expression(p, op->begin, type);
  if (!insert) type = member;
  struct nvm_value v = const_expr(p->m, token_op(op), 0, type, operands, l.count, 0);
  return expression(op->begin, v, type);
}
