/* Constants as interned records in one table, keyed by kind, type and content.
 *
 * Every constant has exactly one form, so equality is equality of handles. The constructors choose
 * the form that LLVM prints: zeros of scalars are INT, FLOAT or NULL; aggregates of zeros are ZERO;
 * of undef, UNDEF; arrays of i8 numbers are BYTES. */
#include "ir/module.h"

#include "ir/intern.h"

/* The key of a lookup: a record whose pool content is not yet in the table. */
struct constant_probe {
  struct constant_info info;
  const struct nvm_value *operands; /* CONST_AGGREGATE, CONST_EXPR: info.count of them */
  uint64_t wide[2];                 /* wide CONST_INT: low, high */
};

enum constant_content { CONTENT_BITS, CONTENT_WIDE, CONTENT_OPERANDS };

static enum constant_content content_of(const struct constant_info *info, bool wide) {
  if (info->kind == CONST_INT) return wide ? CONTENT_WIDE : CONTENT_BITS;
  return info->kind == CONST_AGGREGATE || info->kind == CONST_EXPR ? CONTENT_OPERANDS
                                                                   : CONTENT_BITS;
}

/* A flag distinguishes wide integers from narrow ones, so hashing needs no type table. */
enum { FLAG_WIDE = 1 };

static enum constant_content constant_content(const struct constant_info *info) {
  return content_of(info, info->kind == CONST_INT && info->flags == FLAG_WIDE);
}

static uint32_t constant_hash(const struct constant_info *info, const struct nvm_value *operands,
                              const uint64_t *wide) {
  uint32_t h = info->kind | (uint32_t)info->op << 8 | (uint32_t)info->flags << 16;
  h = hash_mix(h, (uint64_t)info->type.index << 32 | info->aux);
  switch (constant_content(info)) {
    case CONTENT_BITS: return hash_mix(h, info->bits);
    case CONTENT_WIDE: return hash_mix(hash_mix(h, wide[0]), wide[1]);
    case CONTENT_OPERANDS:
      for (uint32_t i = 0; i < info->count; i++) h = hash_mix(h, operands[i].bits);
      return hash_mix(h, info->count);
  }
  return h;
}

static bool constant_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct constant_table *t = table;
  const struct constant_info *info = &t->infos.data[k];
  enum constant_content content = constant_content(info);
  *hash = constant_hash(info, content == CONTENT_OPERANDS ? t->operands.data + info->first : NULL,
                        content == CONTENT_WIDE ? t->wide.data + info->first : NULL);
  return true;
}

static bool content_matches(const struct constant_table *t, const struct constant_info *a,
                            const struct constant_probe *p) {
  switch (constant_content(a)) {
    case CONTENT_BITS: return a->bits == p->info.bits;
    case CONTENT_WIDE:
      return t->wide.data[a->first] == p->wide[0] && t->wide.data[a->first + 1] == p->wide[1];
    case CONTENT_OPERANDS:
      return a->count == p->info.count &&
             (a->count == 0 || memcmp(t->operands.data + a->first, p->operands,
                                      a->count * sizeof *p->operands) == 0);
  }
  return false;
}

static bool constant_matches(const struct constant_table *t, uint32_t k,
                             const struct constant_probe *p) {
  const struct constant_info *a = &t->infos.data[k], *b = &p->info;
  return a->kind == b->kind && a->type.index == b->type.index && a->op == b->op &&
         a->flags == b->flags && a->aux == b->aux && content_matches(t, a, p);
}

static bool add_operands(struct constant_table *t, struct constant_probe *p) {
  uint32_t count = p->info.count;
  size_t pool_bytes = t->operands.count * sizeof *p->operands;
  size_t offset = pool_offset(p->operands, t->operands.data, pool_bytes);
  if (!VEC_RESERVE(t->arena, &t->operands, (uint64_t)t->operands.count + count)) return false;
  p->info.first = t->operands.count;
  if (count == 0) return true;
  p->operands = pool_rebase(p->operands, offset, t->operands.data);
  memcpy(t->operands.data + t->operands.count, p->operands, count * sizeof *p->operands);
  t->operands.count += count;
  return true;
}

static bool add_wide(struct constant_table *t, struct constant_probe *p) {
  if (!VEC_RESERVE(t->arena, &t->wide, (uint64_t)t->wide.count + 2)) return false;
  p->info.first = t->wide.count;
  p->info.count = 2;
  t->wide.data[t->wide.count++] = p->wide[0];
  t->wide.data[t->wide.count++] = p->wide[1];
  return true;
}

static bool add_content(struct constant_table *t, struct constant_probe *p) {
  switch (constant_content(&p->info)) {
    case CONTENT_BITS: return true;
    case CONTENT_WIDE: return add_wide(t, p);
    case CONTENT_OPERANDS: return add_operands(t, p);
  }
  return false;
}

static struct nvm_value constant_add(struct constant_table *t, struct constant_probe *p,
                                     uint32_t hash) {
  uint32_t k = t->infos.count;
  if (k >> VALUE_INDEX_BITS) {
    t->arena->failed = true;
    return VALUE_NULL;
  }
  if (!intern_room(t->arena, &t->slots, &t->slot_count, 1, k, constant_hash_record, t) ||
      !VEC_RESERVE(t->arena, &t->infos, (uint64_t)k + 1) || !add_content(t, p))
    return VALUE_NULL;
  t->infos.data[t->infos.count++] = p->info;
  intern_enter(t->slots, t->slot_count, hash, k);
  return value_make(VALUE_CONST, k);
}

static struct nvm_value constant_intern(struct nvm_module *m, struct constant_probe *p) {
  struct constant_table *t = &m->constants;
  uint32_t hash = constant_hash(&p->info, p->operands, p->wide), mask = t->slot_count - 1;
  for (uint32_t i = hash & mask; t->slots[i]; i = (i + 1) & mask)
    if (constant_matches(t, t->slots[i], p)) return value_make(VALUE_CONST, t->slots[i]);
  return constant_add(t, p, hash);
}

static struct nvm_value intern_bits(struct nvm_module *m, enum constant_kind kind,
                                    struct nvm_type type, uint64_t bits) {
  struct constant_probe p = {.info = {.kind = (uint8_t)kind, .type = type, .bits = bits}};
  return constant_intern(m, &p);
}

bool constant_table_init(struct constant_table *t, struct arena *arena) {
  *t = (struct constant_table){.arena = arena};
  struct constant_info none = {.kind = CONST_NONE};
  return VEC_PUSH(arena, &t->infos, none) &&
         intern_room(arena, &t->slots, &t->slot_count, 1, 1, constant_hash_record, t);
}

struct nvm_value const_int(struct nvm_module *m, struct nvm_type type, nvm_u128 value) {
  uint32_t width = type_info(&m->types, type)->width;
  if (width <= 64) {
    uint64_t mask = width == 0 ? 0 : UINT64_MAX >> (64 - width);
    return intern_bits(m, CONST_INT, type, (uint64_t)value & mask);
  }
  if (width > 128) {
    uint64_t words[TYPE_MAX_INT_WORDS] = {(uint64_t)value, (uint64_t)(value >> 64)};
    return const_big_int(m, type, words);
  }
  if (width < 128) value &= ((nvm_u128)1 << width) - 1;
  struct constant_info info = {.kind = CONST_INT, .flags = FLAG_WIDE, .type = type};
  struct constant_probe p = {.info = info, .wide = {(uint64_t)value, (uint64_t)(value >> 64)}};
  return constant_intern(m, &p);
}

struct nvm_value const_big_int(struct nvm_module *m, struct nvm_type type, const uint64_t *words) {
  uint32_t width = type_info(&m->types, type)->width, length = (width + 7) / 8;
  char bytes[TYPE_MAX_INT_BITS / 8];
  for (uint32_t k = 0; k < length; k++) {
    uint32_t left = width - k * 8, mask = left < 8 ? (1u << left) - 1 : 255;
    bytes[k] = (char)(words[k / 8] >> k % 8 * 8 & mask);
  }
  struct constant_info info = {.kind = CONST_BIG_INT, .type = type};
  info.str = strtab_intern(&m->strings, bytes, length);
  if (info.str.index == 0) return VALUE_NULL;
  return constant_intern(m, &(struct constant_probe){.info = info});
}

struct nvm_value const_float(struct nvm_module *m, struct nvm_type type, uint64_t bits) {
  return intern_bits(m, CONST_FLOAT, type, bits);
}

struct nvm_value const_null(struct nvm_module *m, struct nvm_type pointer) {
  return intern_bits(m, CONST_NULL, pointer, 0);
}

struct nvm_value const_undef(struct nvm_module *m, struct nvm_type type) {
  return intern_bits(m, CONST_UNDEF, type, 0);
}

struct nvm_value const_poison(struct nvm_module *m, struct nvm_type type) {
  return intern_bits(m, CONST_POISON, type, 0);
}

struct nvm_value const_token_none(struct nvm_module *m) {
  return intern_bits(m, CONST_NONE_TOKEN, TYPE_TOKEN, 0);
}

struct nvm_value const_zero(struct nvm_module *m, struct nvm_type type) {
  switch (type_kind(&m->types, type)) {
    case TY_INT: return const_int(m, type, 0);
    case TY_HALF:
    case TY_BFLOAT:
    case TY_FLOAT:
    case TY_DOUBLE: return const_float(m, type, 0);
    case TY_PTR: return const_null(m, type);
    case TY_TOKEN: return const_token_none(m);
    case TY_NONE:
    case TY_VOID:
    case TY_LABEL:
    case TY_METADATA:
    case TY_VECTOR:
    case TY_ARRAY:
    case TY_STRUCT:
    case TY_FUNCTION:
    case TY_KIND_COUNT: break;
  }
  return intern_bits(m, CONST_ZERO, type, 0);
}

static enum constant_kind kind_of(const struct nvm_module *m, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST ? (enum constant_kind)constant_info(&m->constants, v)->kind
                                      : CONST_NONE;
}

/* The kind of an aggregate of these elements: CONST_ZERO, CONST_UNDEF, CONST_POISON, CONST_BYTES,
 * or CONST_AGGREGATE (also for a mixture of undef and poison). */
static enum constant_kind aggregate_kind(const struct nvm_module *m, struct nvm_type type,
                                         const struct nvm_value *elements, uint32_t count) {
  const struct type_info *info = type_info(&m->types, type);
  bool bytes = info->kind == TY_ARRAY && type_equal(info->element, TYPE_I8);
  uint32_t zeros = 0, undefs = 0, poisons = 0, numbers = 0, i = 0;
  for (; i < count; i++) {
    enum constant_kind kind = kind_of(m, elements[i]);
    poisons += kind == CONST_POISON;
    undefs += kind == CONST_UNDEF;
    numbers += kind == CONST_INT;
    zeros += const_is_zero(m, elements[i]);
    bool mixed = zeros <= i && undefs + poisons <= i;
    if (mixed && (!bytes || numbers <= i)) return CONST_AGGREGATE;
  }
  if (zeros == count) return CONST_ZERO;
  if (poisons == count) return CONST_POISON;
  if (undefs == count) return CONST_UNDEF;
  return bytes && numbers == count ? CONST_BYTES : CONST_AGGREGATE;
}

static struct nvm_value bytes_of_elements(struct nvm_module *m, struct nvm_type type,
                                          const struct nvm_value *elements, uint32_t count) {
  struct textbuf text;
  textbuf_init(&text, &m->arena);
  for (uint32_t i = 0; i < count; i++)
    textbuf_char(&text, (char)constant_info(&m->constants, elements[i])->bits);
  return text.length == count ? const_bytes(m, type, text.bytes, text.length) : VALUE_NULL;
}

struct nvm_value const_aggregate(struct nvm_module *m, struct nvm_type type,
                                 const struct nvm_value *elements, uint32_t count) {
  enum constant_kind kind = aggregate_kind(m, type, elements, count);
  if (kind == CONST_BYTES) return bytes_of_elements(m, type, elements, count);
  if (kind != CONST_AGGREGATE) return intern_bits(m, kind, type, 0);
  struct constant_info info = {.kind = CONST_AGGREGATE, .type = type};
  info.count = count;
  return constant_intern(m, &(struct constant_probe){.info = info, .operands = elements});
}

static bool all_zero(const char *bytes, size_t length) {
  return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

struct nvm_value const_bytes(struct nvm_module *m, struct nvm_type array, const char *bytes,
                             size_t length) {
  if (all_zero(bytes, length)) return const_zero(m, array);
  struct constant_info info = {.kind = CONST_BYTES, .type = array};
  info.str = strtab_intern(&m->strings, bytes, length);
  if (info.str.index == 0) return VALUE_NULL;
  return constant_intern(m, &(struct constant_probe){.info = info});
}

struct nvm_value const_expr(struct nvm_module *m, enum op op, uint16_t flags, struct nvm_type type,
                            const struct nvm_value *operands, uint32_t count, uint32_t aux) {
  struct constant_info info = {
      .kind = CONST_EXPR, .op = (uint8_t)op, .flags = flags, .type = type, .aux = aux};
  info.count = count;
  return constant_intern(m, &(struct constant_probe){.info = info, .operands = operands});
}

struct nvm_value const_asm(struct nvm_module *m, struct nvm_str text, struct nvm_str constraints,
                           uint16_t flags) {
  struct constant_info info = {.kind = CONST_ASM, .flags = flags, .type = TYPE_PTR};
  info.str = text;
  info.str2 = constraints;
  return constant_intern(m, &(struct constant_probe){.info = info});
}

struct nvm_value const_metadata(struct nvm_module *m, uint32_t meta) {
  struct constant_info info = {.kind = CONST_METADATA, .type = TYPE_METADATA};
  info.meta = meta;
  return constant_intern(m, &(struct constant_probe){.info = info});
}

bool const_is_int(const struct nvm_module *m, struct nvm_value v, nvm_u128 *value) {
  if (kind_of(m, v) != CONST_INT) return false;
  const struct constant_info *info = constant_info(&m->constants, v);
  if (info->flags == FLAG_WIDE) {
    const uint64_t *wide = m->constants.wide.data + info->first;
    *value = (nvm_u128)wide[1] << 64 | wide[0];
  } else {
    *value = info->bits;
  }
  return true;
}

bool const_words(const struct nvm_module *m, struct nvm_value v, uint64_t *words) {
  nvm_u128 value;
  memset(words, 0, TYPE_MAX_INT_WORDS * sizeof *words);
  if (kind_of(m, v) == CONST_BIG_INT) {
    struct nvm_text text = module_text(m, constant_info(&m->constants, v)->str);
    for (uint32_t k = 0; k < text.length; k++)
      words[k / 8] |= (uint64_t)(unsigned char)text.bytes[k] << k % 8 * 8;
    return true;
  }
  if (!const_is_int(m, v, &value)) return false;
  words[0] = (uint64_t)value, words[1] = (uint64_t)(value >> 64);
  return true;
}

nvm_i128 const_int_signed(const struct nvm_module *m, struct nvm_value v) {
  nvm_u128 value;
  if (!const_is_int(m, v, &value)) return 0;
  uint32_t width = type_info(&m->types, constant_info(&m->constants, v)->type)->width;
  if (width <= 64) return (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
  nvm_u128 sign = (nvm_u128)1 << (width - 1);
  return (nvm_i128)((value ^ sign) - sign);
}

bool const_is_undef_or_poison(const struct nvm_module *m, struct nvm_value v) {
  enum constant_kind kind = kind_of(m, v);
  return kind == CONST_UNDEF || kind == CONST_POISON;
}

bool const_is_zero(const struct nvm_module *m, struct nvm_value v) {
  switch (kind_of(m, v)) {
    case CONST_INT:
    case CONST_FLOAT: {
      const struct constant_info *info = constant_info(&m->constants, v);
      if (constant_content(info) == CONTENT_BITS) return info->bits == 0;
      const uint64_t *wide = m->constants.wide.data + info->first;
      return (wide[0] | wide[1]) == 0;
    }
    case CONST_BIG_INT: {
      struct nvm_text text = module_text(m, constant_info(&m->constants, v)->str);
      return all_zero(text.bytes, text.length);
    }
    case CONST_NULL:
    case CONST_ZERO: return true;
    case CONST_NONE:
    case CONST_UNDEF:
    case CONST_POISON:
    case CONST_AGGREGATE:
    case CONST_BYTES:
    case CONST_EXPR:
    case CONST_ASM:
    case CONST_METADATA:
    case CONST_NONE_TOKEN: return false;
  }
  return false;
}

struct nvm_value const_operand(const struct nvm_module *m, struct nvm_value v, uint32_t i) {
  return m->constants.operands.data[constant_info(&m->constants, v)->first + i];
}

struct nvm_value const_element(struct nvm_module *m, struct nvm_value v, uint64_t i) {
  if (value_kind(v) != VALUE_CONST) return VALUE_NULL;
  const struct constant_info *info = constant_info(&m->constants, v);
  if (i >= type_info(&m->types, info->type)->count) return VALUE_NULL;
  struct nvm_type element = type_element(&m->types, info->type, i);
  if (element.index == 0) return VALUE_NULL;
  switch ((enum constant_kind)info->kind) {
    case CONST_AGGREGATE: return i < info->count ? const_operand(m, v, (uint32_t)i) : VALUE_NULL;
    case CONST_BYTES: {
      struct nvm_text text = module_text(m, info->str);
      return i < text.length ? const_int(m, element, (unsigned char)text.bytes[i]) : VALUE_NULL;
    }
    case CONST_ZERO: return const_zero(m, element);
    case CONST_UNDEF: return const_undef(m, element);
    case CONST_POISON: return const_poison(m, element);
    case CONST_NONE:
    case CONST_INT:
    case CONST_BIG_INT:
    case CONST_FLOAT:
    case CONST_NULL:
    case CONST_EXPR:
    case CONST_ASM:
    case CONST_METADATA:
    case CONST_NONE_TOKEN: return VALUE_NULL;
  }
  return VALUE_NULL;
}
