/* Specialized nodes: bcnodes.def says which number of a record is which field. Older layouts are
 * changed to the newest one first. */
#include "frontend/bitcode/bcdwarf.h"
#include "frontend/bitcode/bcmeta.h"

enum field_kind {
  FIELD_TAG = DWARF_TAG,
  FIELD_ENCODING = DWARF_ENCODING,
  FIELD_LANGUAGE = DWARF_LANGUAGE,
  FIELD_CONVENTION = DWARF_CONVENTION,
  FIELD_MACINFO = DWARF_MACINFO,
  FIELD_EMISSION = DWARF_EMISSION,
  FIELD_NAME_TABLE = DWARF_NAME_TABLE,
  FIELD_CHECKSUM = DWARF_CHECKSUM,
  FIELD_FLAGS = DWARF_FLAGS,
  FIELD_SPFLAGS = DWARF_SPFLAGS,
  FIELD_META = DWARF_KIND_COUNT,
  FIELD_TEXT,
  FIELD_INT,
  FIELD_SIGNED,
  FIELD_INT_PLUS_1,
  FIELD_BOOL,
  FIELD_NUMBER, /* metadata, of which an integer constant is written as a number */
};
enum field_rule { RULE_GIVEN, RULE_ALWAYS, RULE_UNLESS_TRUE, RULE_IF_VIRTUAL };

/* A row of bcnodes.def: a node (key NULL) or a field of the node before it. */
struct row {
  const char *name, *key;
  uint8_t number; /* of the record, or the code of the node */
  uint8_t kind;   /* enum field_kind */
  uint8_t rule;   /* enum field_rule */
};

static const struct row rows[] = {
#define NODE(code, name) {name, NULL, code, 0, 0},
#define FIELD(key, number, kind, rule) {NULL, key, number, FIELD_##kind, RULE_##rule},
#include "frontend/bitcode/bcnodes.def"
#undef NODE
#undef FIELD
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* METADATA_ of LLVM's LLVMBitCodes.h, where a layout has changed or has no fixed fields. */
enum {
  CODE_GENERIC = 12,
  CODE_SUBRANGE = 13,
  CODE_ENUMERATOR = 14,
  CODE_BASIC_TYPE = 15,
  CODE_DERIVED_TYPE = 17,
  CODE_COMPOSITE_TYPE = 18,
  CODE_COMPILE_UNIT = 20,
  CODE_SUBPROGRAM = 21,
  CODE_NAMESPACE = 24,
  CODE_TEMPLATE_VALUE = 26,
  CODE_GLOBAL_VAR = 27,
  CODE_LOCAL_VAR = 28,
  CODE_EXPRESSION = 29,
  CODE_MODULE = 32,
  CODE_LABEL = 40,
};
enum { MAX_NUMBERS = 32, WORDS_OF_ENUMERATOR = 2 };

/* ---- Fields ---- */

static struct nvm_meta word(struct reader *r, const struct textbuf *b) {
  return meta_word(&r->p.m->metadata, strtab_intern(&r->p.m->strings, b->bytes, b->length));
}

static struct nvm_meta number_meta(struct reader *r, uint64_t number, bool is_unsigned) {
  return meta_int(&r->p.m->metadata, number, is_unsigned);
}

static bool add_bool(struct reader *r, const char *key, bool value) {
  return bcmeta_field(r, key,
                      meta_word(&r->p.m->metadata, module_str(r->p.m, value ? "true" : "false")));
}

/* A number by its name, or as it is if it has none. */
static bool add_named(struct reader *r, const char *key, enum dwarf_kind kind, uint64_t number) {
  struct textbuf b;
  textbuf_init(&b, &r->p.scratch);
  if (bcdwarf_name(&b, kind, number)) return bcmeta_field(r, key, word(r, &b));
  return bcmeta_field(r, key, number_meta(r, number, true));
}

static bool is_empty_string(struct reader *r, uint64_t id_plus_1) {
  if (id_plus_1 > r->meta->items.count) return false;
  const struct meta_item *item = meta_item(&r->p.m->metadata, r->meta->items.data[id_plus_1 - 1]);
  return item->kind == META_STRING && item->str.index == 0;
}

static bool add_text(struct reader *r, const char *key, uint64_t id_plus_1, enum field_rule rule) {
  if (id_plus_1 && (rule == RULE_ALWAYS || !is_empty_string(r, id_plus_1)))
    return bcmeta_operand(r, key, id_plus_1);
  if (rule != RULE_ALWAYS) return true;
  return bcmeta_field(r, key, meta_string(&r->p.m->metadata, (struct nvm_str){0}));
}

/* Whether the metadata with id + 1 is an integer constant. */
static bool constant_of(struct reader *r, uint64_t id_plus_1, uint64_t *number) {
  nvm_u128 ignored;
  if (id_plus_1 == 0 || id_plus_1 > r->meta->items.count) return false;
  const struct meta_item *item = meta_item(&r->p.m->metadata, r->meta->items.data[id_plus_1 - 1]);
  if (item->kind != META_VALUE || !const_is_int(r->p.m, item->value, &ignored)) return false;
  *number = (uint64_t)const_int_signed(r->p.m, item->value);
  return true;
}

/* A bound: a constant is written as a number. */
static bool add_bound(struct reader *r, const char *key, uint64_t id_plus_1) {
  uint64_t number;
  if (id_plus_1 == 0) return true;
  if (!constant_of(r, id_plus_1, &number)) return bcmeta_operand(r, key, id_plus_1);
  return bcmeta_field(r, key, number_meta(r, number, false));
}

static bool add_field(struct reader *r, const struct row *f, uint64_t number) {
  bool given = number != 0;
  switch ((enum field_kind)f->kind) {
    case FIELD_META:
      return !given && f->rule != RULE_ALWAYS ? true : bcmeta_operand(r, f->key, number);
    case FIELD_TEXT: return add_text(r, f->key, number, (enum field_rule)f->rule);
    case FIELD_NUMBER: return add_bound(r, f->key, number);
    case FIELD_BOOL:
      if (f->rule == RULE_ALWAYS || given != (f->rule == RULE_UNLESS_TRUE))
        return add_bool(r, f->key, given);
      return true;
    case FIELD_INT:
    case FIELD_SIGNED:
    case FIELD_INT_PLUS_1:
      if (!given && f->rule != RULE_ALWAYS) return true;
      return bcmeta_field(
          r, f->key,
          number_meta(r, number - (f->kind == FIELD_INT_PLUS_1), f->kind != FIELD_SIGNED));
    default:
      if (!given && f->rule != RULE_ALWAYS) return true;
      return add_named(r, f->key, (enum dwarf_kind)f->kind, number);
  }
}

/* ---- Older layouts ---- */

/* Before LLVM 8: words for what is a set of flags now. Without the flag 2 there is a function (or
 * nothing, in records of 18 numbers) in place of the unit. */
static void update_subprogram(uint64_t *n, uint32_t count) {
  if (n[0] & 4) return;
  uint64_t flags = (n[11] & 3) | (n[7] & 1) << 2 | (n[8] & 1) << 3 | (n[14] & 1) << 4;
  uint64_t old[MAX_NUMBERS];
  for (uint32_t i = 0; i < MAX_NUMBERS; i++) old[i] = n[i];
  n[7] = old[9], n[8] = old[10], n[9] = flags, n[10] = old[12], n[11] = old[13];
  n[12] = n[0] & 2 ? old[15] : 0;
  for (uint32_t i = 13; i <= 17; i++) n[i] = old[i + (count == 18 ? 2 : 3)];
}

static void remove_number(uint64_t *n, uint32_t k) {
  for (; k + 1 < MAX_NUMBERS; k++) n[k] = n[k + 1];
}

static void insert_number(uint64_t *n, uint32_t k, uint64_t value) {
  for (uint32_t i = MAX_NUMBERS - 1; i > k; i--) n[i] = n[i - 1];
  n[k] = value;
}

/* Changes the numbers of a record to the layout of bcnodes.def. */
static void update(const struct bits_record *s, uint64_t *n) {
  switch (s->code) {
    case CODE_BASIC_TYPE:
      if (n[1] == DW_TAG_BASE_TYPE) n[1] = 0;
      break;
    case CODE_COMPILE_UNIT:
      if (s->count <= 16) n[16] = 1; /* splitDebugInlining */
      break;
    case CODE_SUBPROGRAM: update_subprogram(n, s->count); break;
    case CODE_NAMESPACE:
      if (s->count >= 5) n[2] = n[3]; /* scope, file, name, line */
      n[3] = n[0] >> 1 & 1;
      break;
    case CODE_TEMPLATE_VALUE:
      if (s->count == 5) insert_number(n, 4, 0);
      if (n[1] == DW_TAG_TEMPLATE_VALUE) n[1] = 0;
      break;
    case CODE_GLOBAL_VAR:
      if (n[0] >> 1 >= 2) break;
      remove_number(n, 9); /* the expression */
      insert_number(n, 10, 0);
      break;
    case CODE_LOCAL_VAR:
      if (!(n[0] & 2) && s->count > 8) remove_number(n, 1); /* a tag, before LLVM 4 */
      if (!(n[0] & 2)) n[8] = 0;
      break;
    case CODE_MODULE:
      if (s->count < 8) insert_number(n, 1, 0); /* the file */
      break;
    case CODE_LABEL: n[7] = n[0] >> 1 & 1; break;
    default: break;
  }
}

/* From LLVM 21 on the sizes of types may be metadata, as a flag in the first number says. */
static bool read_sizes(struct reader *r, uint32_t code, uint64_t *n) {
  bool composite = code == CODE_COMPOSITE_TYPE, basic = code == CODE_BASIC_TYPE;
  if (!composite && !basic && code != CODE_DERIVED_TYPE) return true;
  if (!(n[0] & (composite ? 4 : 2))) return true;
  uint64_t *places[] = {&n[basic ? 3 : 7], &n[basic ? 3 : 9]};
  for (int i = 0; i < (basic ? 1 : 2); i++)
    if (*places[i] && !constant_of(r, *places[i], places[i]))
      return reader_unsupported(r, "types whose size is not constant");
  return true;
}

/* ---- Nodes without fixed fields ---- */

static bool read_enumerator(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 3)) return false;
  bool big = s->numbers[0] & 4, is_unsigned = s->numbers[0] & 2;
  if (big && !reader_needs(r, s, 4)) return false;
  uint64_t value = bits_signed(s->numbers[big ? 3 : 1]), width = big ? s->numbers[1] : 64;
  if (big && (s->count > 4 || width > 64))
    return reader_unsupported(r, "enumerators of more than 64 bits");
  if (!is_unsigned && width > 0 && width < 64)
    value = (uint64_t)((int64_t)(value << (64 - width)) >> (64 - width));
  return add_text(r, "name", s->numbers[2], RULE_ALWAYS) &&
         bcmeta_field(r, "value", number_meta(r, value, is_unsigned)) &&
         (!is_unsigned || add_bool(r, "isUnsigned", true)) &&
         bcmeta_finish(r, "DIEnumerator", s->numbers[0] & 1, false);
}

static bool read_expression(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return false;
  for (uint32_t i = 1; i < s->count;) {
    uint64_t operation = s->numbers[i];
    uint32_t size = bcdwarf_operation_size(operation);
    if (!add_named(r, NULL, DWARF_OPERATION, operation)) return false;
    for (uint32_t k = 1; k < size && i + k < s->count; k++) {
      bool encoding = operation == DW_OP_LLVM_CONVERT && k == 2;
      uint64_t number = s->numbers[i + k];
      if (encoding ? !add_named(r, NULL, DWARF_ENCODING, number)
                   : !bcmeta_field(r, NULL, number_meta(r, number, true)))
        return false;
    }
    i += size;
  }
  return bcmeta_finish(r, "DIExpression", false, true);
}

/* Bounds as numbers in the record: before LLVM 11 (version 1: the lower one, 0: both). */
static bool read_old_subrange(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 3)) return false;
  bool count_is_meta = s->numbers[0] >> 1;
  if (count_is_meta ? !add_bound(r, "count", s->numbers[1])
                    : !bcmeta_field(r, "count", number_meta(r, s->numbers[1], false)))
    return false;
  return bcmeta_field(r, "lowerBound", number_meta(r, bits_signed(s->numbers[2]), false)) &&
         bcmeta_finish(r, "DISubrange", s->numbers[0] & 1, false);
}

bool bcnodes_read(struct reader *r, const struct bits_record *s) {
  uint32_t at = 0;
  if (s->code == CODE_ENUMERATOR) return read_enumerator(r, s);
  if (s->code == CODE_EXPRESSION) return read_expression(r, s);
  if (!reader_needs(r, s, 1)) return false;
  if (s->code == CODE_SUBRANGE && s->numbers[0] >> 1 < 2) return read_old_subrange(r, s);
  while (at < ROW_COUNT && (rows[at].key || rows[at].number != s->code)) at++;
  if (s->code == CODE_GENERIC && s->count > 4)
    return reader_unsupported(r, "operands of GenericDINode");
  if (at == ROW_COUNT) return reader_unsupported(r, "metadata that nvmini does not know");
  uint64_t numbers[MAX_NUMBERS] = {0};
  for (uint32_t i = 0; i < s->count && i < MAX_NUMBERS; i++) numbers[i] = s->numbers[i];
  update(s, numbers);
  if (!read_sizes(r, s->code, numbers)) return false;
  const char *name = rows[at++].name;
  for (; at < ROW_COUNT && rows[at].key; at++) {
    struct row f = rows[at];
    if (f.rule == RULE_IF_VIRTUAL) f.rule = numbers[9] & 3 ? RULE_ALWAYS : RULE_GIVEN;
    if (!add_field(r, &f, numbers[f.number])) return false;
  }
  return bcmeta_finish(r, name, s->numbers[0] & 1, false);
}
