/* Operands: names of values and symbols, types, constants. */
#include "ir/print_internal.h"

#include "support/float_print.h"

#include <stdarg.h>

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_name_char(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == '-';
}

void print_escaped(struct printer *p, struct nvm_text text) {
  size_t plain = 0; /* start of the plain characters not yet written */
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.bytes[i];
    if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') continue;
    textbuf_write(p->out, text.bytes + plain, i - plain);
    print_char(p, '\\');
    if (c == '\\') print_char(p, '\\');
    else textbuf_hex(p->out, c, 2, true);
    plain = i + 1;
  }
  textbuf_write(p->out, text.bytes + plain, text.length - plain);
}

static void print_quoted(struct printer *p, struct nvm_str text) {
  print_char(p, '"');
  print_escaped(p, module_text(p->m, text));
  print_char(p, '"');
}

static void print_name(struct printer *p, struct nvm_str name) {
  struct nvm_text text = module_text(p->m, name);
  bool plain = text.length > 0 && !is_digit((unsigned char)text.bytes[0]);
  for (size_t i = 0; plain && i < text.length; i++)
    plain = is_name_char((unsigned char)text.bytes[i]);
  if (plain) textbuf_text(p->out, text);
  else print_quoted(p, name);
}

void print_format(struct printer *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  for (const char *f = format; *f; f++) {
    if (*f != '%') {
      print_char(p, *f);
      continue;
    }
    switch (*++f) {
      case 'T': print_type(p, va_arg(args, struct nvm_type)); break;
      case 'O': print_operand(p, va_arg(args, struct nvm_value)); break;
      case 'V': print_typed(p, va_arg(args, struct nvm_value)); break;
      case 'N': print_name(p, va_arg(args, struct nvm_str)); break;
      case 'Q': print_quoted(p, va_arg(args, struct nvm_str)); break;
      case 'M': print_meta(p, va_arg(args, struct nvm_meta)); break;
      default: textbuf_directive(p->out, *f, &args); break;
    }
  }
  va_end(args);
}

void print_type(struct printer *p, struct nvm_type ty) {
  struct nvm_text *known = ty.index < p->type_count ? &p->types[ty.index] : NULL;
  if (known && known->bytes) {
    textbuf_text(p->out, *known);
    return;
  }
  size_t begin = p->out->length;
  type_print(&p->m->types, ty, p->out);
  size_t length = p->out->length - begin;
  if (!known || p->out->arena->failed) return;
  known->bytes = arena_copy(&p->scratch, p->out->bytes + begin, length);
  known->length = length;
}

struct nvm_type print_type_of(const struct printer *p, struct nvm_value v) {
  return p->f ? value_type(p->f, v) : module_value_type(p->m, v);
}

/* `@name` or `@7`. */
static void print_symbol(struct printer *p, struct nvm_value v) {
  bool function = value_kind(v) == VALUE_FUNCTION;
  struct nvm_str name = module_symbol(p->m, v)->name;
  print_char(p, '@');
  if (name.index) print_name(p, name);
  else print_number(p, (function ? p->function_numbers : p->global_numbers)[value_index(v)]);
}

/* A value of the function: its name, or its number (+ 1) if that is not 0. */
static void print_local(struct printer *p, struct nvm_str name, uint32_t number) {
  print_char(p, '%');
  if (number) print_number(p, number - 1);
  else print_name(p, name);
}

/* A reference to a removed instruction or block, in a dump of broken IR. */
static void print_dangling(struct printer *p) { print_word(p, "<removed>"); }

static void print_inst_name(struct printer *p, uint32_t i) {
  if (p->f->insts.data[i].block.index == 0) print_dangling(p);
  else print_local(p, p->f->names.data[i], p->inst_numbers.data[i]);
}

static void print_block_name(struct printer *p, uint32_t b) {
  if (p->f->blocks.data[b].removed) print_dangling(p);
  else print_local(p, p->f->blocks.data[b].name, p->block_numbers.data[b]);
}

static void print_arg_name(struct printer *p, uint32_t i) {
  struct nvm_str name = p->f->arg_names ? p->f->arg_names[i] : (struct nvm_str){0};
  print_local(p, name, p->arg_numbers.data[i]);
}

/* ---- Constants ---- */

struct flag_word {
  uint16_t flag;
  const char *word;
};

static void print_flag_words(struct textbuf *out, const struct flag_word *words, size_t count,
                             uint32_t flags);

static void print_u128(struct printer *p, nvm_u128 value) {
  const uint64_t block = UINT64_C(1000000000000000000); /* 10^18 */
  if (value < block) {
    print_number(p, (uint64_t)value);
    return;
  }
  print_u128(p, value / block);
  uint64_t low = (uint64_t)(value % block);
  for (uint64_t unit = block / 10; unit > 0; unit /= 10)
    print_char(p, (char)('0' + low / unit % 10));
}

static void print_int(struct printer *p, struct nvm_value v, const struct constant_info *c) {
  if (type_equal(c->type, TYPE_I1)) {
    print_word(p, c->bits ? "true" : "false");
    return;
  }
  nvm_i128 value = const_int_signed(p->m, v);
  if (value < 0) print_char(p, '-');
  print_u128(p, value < 0 ? -(nvm_u128)value : (nvm_u128)value);
}

/* words /= divisor, from the highest; returns the remainder. */
static uint64_t divide_words(uint64_t *words, uint64_t divisor) {
  nvm_u128 remainder = 0;
  for (int k = TYPE_MAX_INT_WORDS - 1; k >= 0; k--) {
    remainder = remainder << 64 | words[k];
    words[k] = (uint64_t)(remainder / divisor);
    remainder %= divisor;
  }
  return (uint64_t)remainder;
}

static void negate_words(uint64_t *words) {
  bool carry = true;
  for (uint32_t k = 0; k < TYPE_MAX_INT_WORDS; k++) {
    words[k] = ~words[k] + carry;
    carry = carry && words[k] == 0;
  }
}

/* Clears the bits from `width` on. */
static void truncate_words(uint64_t *words, uint32_t width) {
  if (width % 64) words[width / 64] &= (UINT64_C(1) << width % 64) - 1;
  for (uint32_t k = (width + 63) / 64; k < TYPE_MAX_INT_WORDS; k++) words[k] = 0;
}

void print_words(struct textbuf *out, uint64_t *words, uint32_t width) {
  char digits[TYPE_MAX_INT_BITS / 3 + 1];
  uint32_t first = sizeof digits, top = (width - 1) / 64;
  if (words[top] >> (width - 1) % 64 & 1) {
    textbuf_char(out, '-');
    negate_words(words);
  }
  truncate_words(words, width);
  for (bool more = true; more;) {
    digits[--first] = (char)('0' + divide_words(words, 10));
    more = false;
    for (uint32_t k = 0; k < TYPE_MAX_INT_WORDS; k++) more |= words[k] != 0;
  }
  textbuf_write(out, digits + first, sizeof digits - first);
}

/* A number of more than 128 bits. */
static void print_big_int(struct printer *p, struct nvm_value v, const struct constant_info *c) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  const_words(p->m, v, words);
  print_words(p->out, words, type_info(&p->m->types, c->type)->width);
}

static void print_float(struct printer *p, const struct constant_info *c) {
  enum float_format format = FLOAT_DOUBLE;
  if (type_equal(c->type, TYPE_HALF)) format = FLOAT_HALF;
  if (type_equal(c->type, TYPE_BFLOAT)) format = FLOAT_BFLOAT;
  if (type_equal(c->type, TYPE_FLOAT)) format = FLOAT_SINGLE;
  float_print_constant(p->out, format, c->bits);
}

static void print_typed_list(struct printer *p, struct nvm_value v, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    print_format(p, i ? ", %V" : "%V", const_operand(p->m, v, i));
}

static void print_aggregate(struct printer *p, struct nvm_value v, const struct constant_info *c) {
  const struct type_info *ty = type_info(&p->m->types, c->type);
  bool packed = ty->flags & TYPE_PACKED, empty = c->count == 0;
  const char *brackets[2] = {empty ? "{" : "{ ", empty ? "}" : " }"};
  if (ty->kind == TY_VECTOR) brackets[0] = "<", brackets[1] = ">";
  if (ty->kind == TY_ARRAY) brackets[0] = "[", brackets[1] = "]";
  if (ty->kind == TY_STRUCT && packed) print_char(p, '<');
  print_word(p, brackets[0]);
  print_typed_list(p, v, c->count);
  print_word(p, brackets[1]);
  if (ty->kind == TY_STRUCT && packed) print_char(p, '>');
}

static void print_expression(struct printer *p, struct nvm_value v, const struct constant_info *c) {
  enum op op = (enum op)c->op;
  print_word(p, op_table[op].keyword);
  print_flags(p->out, op, c->flags);
  print_predicate(p, op, c->aux);
  print_word(p, " (");
  if (op == OP_GEP) print_format(p, "%T, ", (struct nvm_type){c->aux});
  print_typed_list(p, v, c->count);
  if (op_is_cast(op)) print_format(p, " to %T", c->type);
  print_char(p, ')');
}

static void print_asm(struct printer *p, const struct constant_info *c) {
  static const struct flag_word words[] = {{CONST_ASM_SIDEEFFECT, " sideeffect"},
                                           {CONST_ASM_ALIGNSTACK, " alignstack"},
                                           {CONST_ASM_INTEL, " inteldialect"},
                                           {CONST_ASM_UNWIND, " unwind"}};
  print_word(p, "asm");
  print_flag_words(p->out, words, sizeof words / sizeof *words, c->flags);
  print_format(p, " %Q, %Q", c->str, c->str2);
}

static void print_constant(struct printer *p, struct nvm_value v) {
  const struct constant_info *c = constant_info(&p->m->constants, v);
  switch ((enum constant_kind)c->kind) {
    case CONST_NONE: print_word(p, "<no constant>"); break;
    case CONST_INT: print_int(p, v, c); break;
    case CONST_BIG_INT: print_big_int(p, v, c); break;
    case CONST_FLOAT: print_float(p, c); break;
    case CONST_NULL: print_word(p, "null"); break;
    case CONST_ZERO: print_word(p, "zeroinitializer"); break;
    case CONST_UNDEF: print_word(p, "undef"); break;
    case CONST_POISON: print_word(p, "poison"); break;
    case CONST_AGGREGATE: print_aggregate(p, v, c); break;
    case CONST_BYTES: print_format(p, "c%Q", c->str); break;
    case CONST_EXPR: print_expression(p, v, c); break;
    case CONST_ASM: print_asm(p, c); break;
    case CONST_METADATA: print_meta(p, (struct nvm_meta){c->meta}); break;
    case CONST_NONE_TOKEN: print_word(p, "none"); break;
  }
}

void print_operand(struct printer *p, struct nvm_value v) {
  uint32_t index = value_index(v);
  switch (value_kind(v)) {
    case VALUE_NONE: print_word(p, "<none>"); break;
    case VALUE_INST: print_inst_name(p, index); break;
    case VALUE_ARG: print_arg_name(p, index); break;
    case VALUE_BLOCK: print_block_name(p, index); break;
    case VALUE_CONST: print_constant(p, v); break;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: print_symbol(p, v); break;
    case VALUE_FORWARD: print_word(p, "<forward>"); break;
  }
}

void print_typed(struct printer *p, struct nvm_value v) {
  print_format(p, "%T %O", print_type_of(p, v), v);
}

/* ---- Flags ---- */

static void print_flag_words(struct textbuf *out, const struct flag_word *words, size_t count,
                             uint32_t flags) {
  for (size_t i = 0; i < count; i++)
    if (flags & words[i].flag) textbuf_puts(out, words[i].word);
}

void print_flags(struct textbuf *out, enum op op, uint16_t flags) {
  static const struct flag_word fast[] = {{INST_REASSOC, " reassoc"}, {INST_NNAN, " nnan"},
                                          {INST_NINF, " ninf"},       {INST_NSZ, " nsz"},
                                          {INST_ARCP, " arcp"},       {INST_CONTRACT, " contract"},
                                          {INST_AFN, " afn"}};
  static const struct flag_word other[] = {
      {INST_INBOUNDS, " inbounds"}, {INST_NUSW, " nusw"},        {INST_NUW, " nuw"},
      {INST_NSW, " nsw"},           {INST_EXACT, " exact"},      {INST_DISJOINT, " disjoint"},
      {INST_NNEG, " nneg"},         {INST_SAMESIGN, " samesign"}};
  flags &= op_flags(op);
  if (flags == 0) return;
  if ((flags & INST_FAST) == INST_FAST) textbuf_puts(out, " fast");
  else print_flag_words(out, fast, sizeof fast / sizeof *fast, flags);
  if (flags & INST_INBOUNDS) flags &= (uint16_t)~INST_NUSW;
  print_flag_words(out, other, sizeof other / sizeof *other, flags);
}

void print_predicate(struct printer *p, enum op op, uint32_t predicate) {
  if (op == OP_ICMP) print_format(p, " %s", icmp_names[predicate]);
  if (op == OP_FCMP) print_format(p, " %s", fcmp_names[predicate]);
}
