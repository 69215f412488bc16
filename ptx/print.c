/* PTX text from PTX data; see print.h.
 *
 * Printing is the last step of every compilation and writes more bytes than any other, so it is
 * kept to copying: all words have precomputed lengths, numbers are formatted here, and room in the
 * buffer is asked for once an instruction. */
#include "ptx/print.h"

#include "ptx/ops.h"

static const struct {
  const char *prefix;
  uint8_t length;
  uint16_t type;
} class_rows[PTX_CLASS_COUNT] = {
    [PTX_PRED] = {"%p", 2, PTX_MOD_PRED}, [PTX_B16] = {"%rs", 3, PTX_MOD_B16},
    [PTX_B32] = {"%r", 2, PTX_MOD_B32},   [PTX_B64] = {"%rd", 3, PTX_MOD_B64},
    [PTX_F32] = {"%f", 2, PTX_MOD_F32},   [PTX_F64] = {"%fd", 3, PTX_MOD_F64},
    [PTX_B128] = {"%rq", 3, PTX_MOD_B128}, [PTX_B8] = {"%rb", 3, PTX_MOD_B8},
};

const char *ptx_class_prefix(enum ptx_class c) { return class_rows[c].prefix; }
enum ptx_mod ptx_class_type(enum ptx_class c) { return (enum ptx_mod)class_rows[c].type; }

/* A function being printed: `labels` are the texts by index. */
struct printer {
  struct textbuf *out;
  const struct ptx_module *module;
  const struct ptx_function *f;
  struct nvm_text *labels;
};

/* ---- small pieces ---------------------------------------------------------------------------- */

/* Room that holds any word of the tables, number or register. */
enum { TOKEN_BYTES = 96 };

static inline char *tokens_room(struct textbuf *b, size_t count) {
  if (b->capacity - b->length >= count * TOKEN_BYTES) return b->bytes + b->length;
  return textbuf_room(b, count * TOKEN_BYTES);
}
static inline char *token_room(struct textbuf *b) { return tokens_room(b, 1); }

static inline void token_end(struct textbuf *b, const char *end) {
  b->length = (size_t)(end - b->bytes);
}

/* Most words are short: two copies that may overlap, of sizes that the compiler knows. */
static inline char *put_word(char *p, const char *text, size_t length) {
  if (length > 16 || length < 2) {
    memcpy(p, text, length);
  } else if (length >= 8) {
    memcpy(p, text, 8);
    memcpy(p + length - 8, text + length - 8, 8);
  } else if (length >= 4) {
    memcpy(p, text, 4);
    memcpy(p + length - 4, text + length - 4, 4);
  } else {
    memcpy(p, text, 2);
    p[length - 1] = text[length - 1];
  }
  return p + length;
}

static char *put_signed(char *p, int64_t value) {
  if (value >= 0) return textbuf_digits(p, (uint64_t)value);
  *p++ = '-';
  return textbuf_digits(p, -(uint64_t)value);
}

static inline char *put_reg(char *p, struct ptx_reg r) {
  enum ptx_class c = ptx_reg_class(r);
  p = put_word(p, class_rows[c].prefix, class_rows[c].length);
  return textbuf_digits(p, ptx_reg_number(r));
}

static char *put_hex(char *p, uint64_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    *p++ = "0123456789ABCDEF"[(value >> shift) & 15];
  return p;
}

static void write_symbol(const struct printer *pr, struct nvm_str s) {
  textbuf_text(pr->out, strtab_text(pr->module->strings, s));
}

static void write_mod(struct textbuf *b, uint16_t mod) {
  const struct ptx_mod_row *row = ptx_mod_row(mod);
  textbuf_write(b, row->text, row->length);
}

static void write_offset(struct textbuf *b, int64_t offset) {
  if (offset == 0) return;
  textbuf_char(b, '+'); /* ptxas wants `+-4` */
  textbuf_signed(b, offset);
}

/* ---- labels ----------------------------------------------------------------------------------- */

static bool label_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

/* The texts of all labels, unique in the function, in the function's arena. */
static struct nvm_text *name_labels(const struct ptx_function *f) {
  struct textbuf b;
  struct strtab taken;
  if (f->labels.count < 2) return NULL; /* label 0 is none */
  struct nvm_text *texts = arena_alloc(f->arena, f->labels.count * sizeof *texts);
  if (!texts || !strtab_init(&taken, f->arena)) return NULL;
  textbuf_init(&b, f->arena);
  for (uint32_t i = 1; i < f->labels.count; i++) {
    struct nvm_text name = strtab_text(f->module->strings, f->labels.data[i]);
    b.length = 0;
    textbuf_puts(&b, "$L_");
    if (name.length == 0) {
      textbuf_char(&b, '_');
      textbuf_unsigned(&b, i);
    }
    for (size_t k = 0; k < name.length; k++)
      textbuf_char(&b, label_char(name.bytes[k]) ? name.bytes[k] : '_');
    while (strtab_find(&taken, b.bytes, b.length).index != 0) {
      textbuf_char(&b, '$');
      textbuf_unsigned(&b, i);
    }
    struct nvm_str s = strtab_intern(&taken, b.bytes, b.length);
    if (f->arena->failed) return NULL;
    texts[i] = strtab_text(&taken, s);
  }
  return texts;
}

static void write_label(const struct printer *pr, uint32_t label) {
  if (pr->labels) textbuf_text(pr->out, pr->labels[label]);
  else textbuf_format(pr->out, "$L__%u", label);
}

/* ---- operands ---------------------------------------------------------------------------------- */

static void write_operand(const struct printer *pr, const struct ptx_operand *o, const char *before);

static void write_list(const struct printer *pr, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    write_operand(pr, &pr->f->operands.data[first + i], i > 0 ? ", " : "");
}

static void write_pair(const struct printer *pr, const struct ptx_operand *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    if (i > 0) textbuf_char(pr->out, '|');
    write_operand(pr, &pr->f->operands.data[o->first + i], "");
  }
}

static void write_group(const struct printer *pr, const struct ptx_operand *o, char open,
                        char close) {
  textbuf_char(pr->out, open);
  write_list(pr, o->first, o->count);
  textbuf_char(pr->out, close);
}

/* What fits a token: registers, numbers, special registers. */
static char *put_scalar(char *p, const struct ptx_operand *o) {
  if (o->negated) *p++ = o->kind == PTX_OPERAND_REG && ptx_reg_class(o->reg) == PTX_PRED ? '!' : '-';
  if (o->kind == PTX_OPERAND_REG) return put_reg(p, o->reg);
  if (o->kind == PTX_OPERAND_INT) return put_signed(p, o->imm);
  if (o->kind == PTX_OPERAND_F32) return put_hex(put_word(p, "0f", 2), (uint64_t)o->imm, 8);
  if (o->kind == PTX_OPERAND_F64) return put_hex(put_word(p, "0d", 2), (uint64_t)o->imm, 16);
  const struct ptx_special_row *row = ptx_special_row(o->special);
  return put_word(p, row->text, row->length);
}

static char *put_address(char *p, const struct ptx_operand *o) {
  *p++ = '[';
  if (o->kind == PTX_OPERAND_ADDRESS_REG) {
    p = put_reg(p, o->reg);
    if (o->imm != 0) {
      *p++ = '+';
      p = put_signed(p, o->imm);
    }
  } else {
    p = put_signed(p, o->imm);
  }
  *p++ = ']';
  return p;
}

static void write_symbol_operand(const struct printer *pr, const struct ptx_operand *o) {
  bool address = o->kind == PTX_OPERAND_ADDRESS_SYMBOL;
  if (address) textbuf_char(pr->out, '[');
  write_symbol(pr, o->symbol);
  write_offset(pr->out, o->imm);
  if (address) textbuf_char(pr->out, ']');
}

/* An operand that fits a token; NULL: another. */
static inline char *put_simple(char *p, const struct ptx_operand *o) {
  switch ((enum ptx_operand_kind)o->kind) {
  case PTX_OPERAND_NONE: *p++ = '_'; return p;
  case PTX_OPERAND_REG:
  case PTX_OPERAND_INT:
  case PTX_OPERAND_F32:
  case PTX_OPERAND_F64:
  case PTX_OPERAND_SPECIAL: return put_scalar(p, o);
  case PTX_OPERAND_ADDRESS_REG:
  case PTX_OPERAND_ADDRESS_IMM: return put_address(p, o);
  case PTX_OPERAND_SYMBOL:
  case PTX_OPERAND_ADDRESS_SYMBOL:
  case PTX_OPERAND_LABEL:
  case PTX_OPERAND_VECTOR:
  case PTX_OPERAND_TENSOR:
  case PTX_OPERAND_LIST:
  case PTX_OPERAND_PAIR: break;
  }
  return NULL;
}

/* An operand that does not fit a token. */
static void write_compound(const struct printer *pr, const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_LABEL) write_label(pr, o->label);
  else if (o->kind == PTX_OPERAND_VECTOR) write_group(pr, o, '{', '}');
  else if (o->kind == PTX_OPERAND_TENSOR) write_group(pr, o, '[', ']');
  else if (o->kind == PTX_OPERAND_LIST) write_group(pr, o, '(', ')');
  else if (o->kind == PTX_OPERAND_PAIR) write_pair(pr, o);
  else write_symbol_operand(pr, o);
}

/* The operand behind a separator of two characters, or nothing. */
static void write_operand(const struct printer *pr, const struct ptx_operand *o, const char *before) {
  struct textbuf *b = pr->out;
  char *p = token_room(b), *end;
  if (!p) return;
  if (*before) p = put_word(p, before, 2);
  end = put_simple(p, o);
  token_end(b, end ? end : p);
  if (!end) write_compound(pr, o);
}

/* ---- instructions -------------------------------------------------------------------------------- */

static char *put_guard(char *p, const struct ptx_entry *e) {
  *p++ = '@';
  if (e->guard_negated) *p++ = '!';
  p = put_reg(p, e->guard);
  *p++ = ' ';
  return p;
}

static void write_inst(const struct printer *pr, const struct ptx_entry *e) {
  struct textbuf *b = pr->out;
  const struct ptx_op_row *op = ptx_op_row(e->op);
  const uint16_t *mods = pr->f->mods.data + e->first_mod;
  char *p = tokens_room(b, 3 + (size_t)e->mod_count + e->operand_count); /* guard, op, modifiers, operands, the end */
  if (!p) return;
  *p++ = '\t';
  if (!ptx_reg_is_none(e->guard)) p = put_guard(p, e);
  p = put_word(p, op->text, op->length);
  for (uint32_t i = 0; i < e->mod_count; i++) {
    const struct ptx_mod_row *row = ptx_mod_row(mods[i]);
    p = put_word(p, row->text, row->length);
  }
  const struct ptx_operand *operands = pr->f->operands.data + e->first_operand;
  for (uint32_t i = 0; i < e->operand_count; i++) {
    p = put_word(p, i > 0 ? ", " : " \t", 2);
    char *end = put_simple(p, &operands[i]);
    if (!end) {
      token_end(b, p);
      write_compound(pr, &operands[i]);
      end = tokens_room(b, (size_t)e->operand_count - i);
      if (!end) return;
    }
    p = end;
  }
  token_end(b, put_word(p, ";\n", 2));
}

static void write_variable(const struct printer *pr, const struct ptx_variable *v);

/* `.loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]`; operands: ptx.h. */
static void write_loc(const struct printer *pr, const struct ptx_entry *e) {
  const struct ptx_operand *o = pr->f->operands.data + e->first_operand;
  textbuf_format(pr->out, "\t.loc\t%u %D %D", e->first_mod, o[0].imm, o[1].imm);
  if (e->operand_count > 2) {
    textbuf_puts(pr->out, ", function_name ");
    write_operand(pr, &o[2], "");
    textbuf_format(pr->out, ", inlined_at %D %D %D", o[3].imm, o[4].imm, o[5].imm);
  }
  textbuf_char(pr->out, '\n');
}

static void write_prototype(const struct printer *pr, uint32_t index);

static void write_text(const struct printer *pr, const char *before, uint32_t text,
                       const char *after) {
  textbuf_puts(pr->out, before);
  textbuf_text(pr->out, pr->f->texts.data[text]);
  textbuf_puts(pr->out, after);
}

static void write_entry(const struct printer *pr, const struct ptx_entry *e) {
  struct textbuf *b = pr->out;
  switch ((enum ptx_entry_kind)e->kind) {
  case PTX_INST: write_inst(pr, e); break;
  case PTX_LABEL:
    write_label(pr, e->first_mod);
    textbuf_write(b, ":\n", 2);
    break;
  case PTX_LOC: write_loc(pr, e); break;
  case PTX_SCOPE_BEGIN: textbuf_write(b, "\t{\n", 3); break;
  case PTX_SCOPE_END: textbuf_write(b, "\t}\n", 3); break;
  case PTX_LOCAL_VAR:
    textbuf_char(b, '\t');
    write_variable(pr, &pr->f->variables.data[e->first_mod]);
    textbuf_write(b, ";\n", 2);
    break;
  case PTX_PROTOTYPE: write_prototype(pr, e->first_mod); break;
  case PTX_BRANCHTARGETS:
    write_label(pr, e->first_mod);
    textbuf_puts(b, ": .branchtargets ");
    write_list(pr, e->first_operand, e->line);
    textbuf_write(b, ";\n", 2);
    break;
  case PTX_PRAGMA: write_text(pr, "\t.pragma \"", e->first_mod, "\";\n"); break;
  case PTX_RAW: write_text(pr, "\t// begin inline asm\n\t", e->first_mod,
                           "\n\t// end inline asm\n"); break;
  case PTX_COMMENT: write_text(pr, "\t// ", e->first_mod, "\n"); break;
  }
}

/* ---- variables ------------------------------------------------------------------------------------ */

static void write_init_symbol(const struct printer *pr, const struct ptx_init *init) {
  if (init->mask_byte) {
    textbuf_puts(pr->out, "0xFF");
    for (int i = 1; i < init->mask_byte; i++) textbuf_write(pr->out, "00", 2);
    textbuf_char(pr->out, '(');
  }
  if (init->generic) textbuf_puts(pr->out, "generic(");
  write_symbol(pr, init->symbol);
  if (init->generic) textbuf_char(pr->out, ')');
  write_offset(pr->out, (int64_t)init->bits);
  if (init->mask_byte) textbuf_char(pr->out, ')');
}

static void write_init(const struct printer *pr, const struct ptx_init *init,
                       const struct ptx_mod_row *type) {
  char *p = token_room(pr->out);
  if (!p) return;
  if (init->symbol.index != 0) {
    write_init_symbol(pr, init);
  } else if (type->kind == 'f' && type->bits == 32) {
    token_end(pr->out, put_hex(put_word(p, "0f", 2), init->bits, 8));
  } else if (type->kind == 'f' && type->bits == 64) {
    token_end(pr->out, put_hex(put_word(p, "0d", 2), init->bits, 16));
  } else if (type->kind == 's') {
    unsigned up = type->bits < 64 ? 64u - type->bits : 0;
    token_end(pr->out, put_signed(p, (int64_t)(init->bits << up) >> up));
  } else {
    token_end(pr->out, textbuf_digits(p, init->bits));
  }
}

static inline char *put_byte(char *p, unsigned value) {
  if (value >= 100) {
    *p++ = (char)('0' + value / 100);
    *p++ = (char)('0' + value / 10 % 10);
  } else if (value >= 10) {
    *p++ = (char)('0' + value / 10);
  }
  *p++ = (char)('0' + value % 10);
  return p;
}

static void write_init_bytes(struct textbuf *b, const unsigned char *bytes, uint32_t count) {
  enum { TOGETHER = 256, MOST_CHARACTERS = 5 };
  const char *before = " = {";
  for (uint32_t i = 0; i < count;) {
    char *p = textbuf_room(b, TOGETHER * MOST_CHARACTERS);
    if (!p) return;
    for (uint32_t end = count - i < TOGETHER ? count : i + TOGETHER; i < end; i++) {
      p = put_word(p, before, i == 0 ? 4 : 2);
      before = ", ";
      p = put_byte(p, bytes[i]);
    }
    token_end(b, p);
  }
  textbuf_char(b, '}');
}

static void write_inits(const struct printer *pr, const struct ptx_variable *v) {
  if (v->bytes) {
    write_init_bytes(pr->out, v->bytes, v->init_count);
    return;
  }
  const struct ptx_mod_row *type = ptx_mod_row(v->type);
  const struct ptx_init *inits = pr->module->inits.data + v->first_init;
  bool braces = v->is_array || v->vector || inits->is_property;
  textbuf_puts(pr->out, braces ? " = {" : " = ");
  for (uint32_t i = 0; i < v->init_count; i++) {
    if (i > 0) textbuf_puts(pr->out, inits[i - 1].is_property ? " = " : ", ");
    write_init(pr, &inits[i], type);
  }
  if (braces) textbuf_char(pr->out, '}');
}

static void write_align(struct textbuf *b, uint32_t align) {
  if (align) textbuf_format(b, " .align %u", align);
}

static void write_dimension(struct textbuf *b, const struct ptx_variable *v) {
  if (!v->is_array) return;
  textbuf_char(b, '[');
  if (!v->is_unsized) textbuf_unsigned(b, v->count);
  textbuf_char(b, ']');
}

/* A declaration without its end: `.global .align 4 .b8 x[16] = {...}`, `.param .u64 p`. */
static void write_variable(const struct printer *pr, const struct ptx_variable *v) {
  struct textbuf *b = pr->out;
  if (v->linkage) {
    write_mod(b, v->linkage);
    textbuf_char(b, ' ');
  }
  write_mod(b, v->space);
  if (v->managed) textbuf_puts(b, " .attribute(.managed)");
  if (!v->is_ptr) write_align(b, v->align);
  if (v->vector) {
    textbuf_char(b, ' ');
    write_mod(b, v->vector);
  }
  textbuf_char(b, ' ');
  write_mod(b, v->type);
  if (v->is_ptr) {
    textbuf_puts(b, " .ptr");
    if (v->ptr_space) {
      textbuf_char(b, ' ');
      write_mod(b, v->ptr_space);
    }
    write_align(b, v->ptr_align);
  }
  textbuf_char(b, ' ');
  char *p = !ptx_reg_is_none(v->reg) ? token_room(b) : NULL;
  if (p) token_end(b, put_reg(p, v->reg));
  else if (v->name.index == 0) textbuf_char(b, '_');
  else write_symbol(pr, v->name);
  write_dimension(b, v);
  if (v->init_count > 0) write_inits(pr, v);
}

/* ---- functions ------------------------------------------------------------------------------------ */

/* `(a, b)` in one line, or one a line. */
static void write_parameters(const struct printer *pr, const struct ptx_variable *v, uint32_t count,
                             bool lines) {
  struct textbuf *b = pr->out;
  textbuf_char(b, '(');
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) textbuf_puts(b, lines ? "," : ", ");
    if (lines) textbuf_puts(b, "\n\t");
    write_variable(pr, &v[i]);
  }
  textbuf_puts(b, lines && count > 0 ? "\n)" : ")");
}

static void write_prototype(const struct printer *pr, uint32_t index) {
  const struct ptx_prototype *p = &pr->module->prototypes.data[index];
  const struct ptx_variable *v = pr->module->variables.data;
  textbuf_char(pr->out, '\t');
  write_symbol(pr, p->name);
  textbuf_puts(pr->out, " : .callprototype ");
  write_parameters(pr, v + p->first_result, p->result_count, false);
  textbuf_puts(pr->out, " _ ");
  write_parameters(pr, v + p->first_param, p->param_count, false);
  textbuf_puts(pr->out, p->noreturn ? " .noreturn;\n" : ";\n");
}

static void write_triple(struct textbuf *b, const char *word, const uint32_t v[3]) {
  if (v[0] != 0) textbuf_format(b, "%s %u, %u, %u\n", word, v[0], v[1], v[2]);
}

static void write_count(struct textbuf *b, const char *word, uint32_t n) {
  if (n != 0) textbuf_format(b, "%s %u\n", word, n);
}

static void write_performance(struct textbuf *b, const struct ptx_performance *p) {
  write_triple(b, ".maxntid", p->maxntid);
  write_triple(b, ".reqntid", p->reqntid);
  write_count(b, ".minnctapersm", p->minnctapersm);
  write_count(b, ".maxnreg", p->maxnreg);
  if (p->explicit_cluster) textbuf_puts(b, ".explicitcluster\n");
  write_triple(b, ".reqnctapercluster", p->cluster_dim);
  write_count(b, ".maxclusterrank", p->maxclusterrank);
  if (p->blocks_are_clusters) textbuf_puts(b, ".blocksareclusters\n");
}

/* All up to the body; ends in a line's middle for declarations, else at a line's begin. */
static void write_head(const struct printer *pr) {
  const struct ptx_function *f = pr->f;
  struct textbuf *b = pr->out;
  if (f->flags & PTX_FUNC_EXTERN) textbuf_puts(b, ".extern ");
  else if (f->flags & PTX_FUNC_WEAK) textbuf_puts(b, ".weak ");
  else if (f->flags & PTX_FUNC_VISIBLE) textbuf_puts(b, ".visible ");
  textbuf_puts(b, f->is_entry ? ".entry " : ".func ");
  if (f->result_count > 0) {
    write_parameters(pr, f->params.data, f->result_count, false);
    textbuf_char(b, ' ');
  }
  write_symbol(pr, f->name);
  write_parameters(pr, f->params.data + f->result_count, f->params.count - f->result_count, true);
  if (f->flags & PTX_FUNC_NORETURN) textbuf_puts(b, "\n.noreturn");
  if (f->is_declaration) return;
  textbuf_char(b, '\n');
  write_performance(b, &f->performance);
}

static bool is_parameter(const struct ptx_function *f, struct ptx_reg r) {
  for (uint32_t i = 0; i < f->params.count; i++)
    if (f->params.data[i].reg.bits == r.bits) return true;
  return false;
}

static bool has_parameter_of(const struct ptx_function *f, enum ptx_class c) {
  for (uint32_t i = 0; i < f->params.count; i++) {
    struct ptx_reg r = f->params.data[i].reg;
    if (!ptx_reg_is_none(r) && ptx_reg_class(r) == c) return true;
  }
  return false;
}

/* Registers of a class of which some are parameters are declared one by one. */
static void write_single_regs(struct textbuf *b, const struct ptx_function *f, enum ptx_class c) {
  for (uint32_t n = 1; n <= f->reg_count[c]; n++) {
    char *p = token_room(b);
    if (!p || is_parameter(f, ptx_reg_make(c, n))) continue;
    p = put_word(p, "\t.reg ", 6);
    const struct ptx_mod_row *type = ptx_mod_row(class_rows[c].type);
    p = put_word(p, type->text, type->length);
    *p++ = '\t';
    token_end(b, put_word(put_reg(p, ptx_reg_make(c, n)), ";\n", 2));
  }
}

static void write_registers(struct textbuf *b, const struct ptx_function *f) {
  bool any = false;
  for (int c = 0; c < PTX_CLASS_COUNT; c++) {
    if (f->reg_count[c] == 0) continue;
    any = true;
    if (has_parameter_of(f, (enum ptx_class)c)) write_single_regs(b, f, (enum ptx_class)c);
    else
      textbuf_format(b, "\t.reg %s \t%s<%u>;\n", ptx_mod_row(class_rows[c].type)->text,
                     class_rows[c].prefix, f->reg_count[c] + 1);
  }
  if (any) textbuf_char(b, '\n');
}

void ptx_print_declaration(const struct ptx_function *f, struct textbuf *out) {
  struct ptx_function head = *f;
  head.is_declaration = true;
  write_head(&(struct printer){out, f->module, &head, NULL});
  textbuf_puts(out, ";\n");
}

void ptx_print_function(const struct ptx_function *f, struct textbuf *out) {
  if (f->is_declaration) {
    ptx_print_declaration(f, out);
    return;
  }
  struct printer pr = {out, f->module, f, name_labels(f)};
  write_head(&pr);
  textbuf_puts(out, "{\n");
  write_registers(out, f);
  for (uint32_t i = 0; i < f->entries.count; i++) write_entry(&pr, &f->entries.data[i]);
  textbuf_puts(out, "}\n");
}

void ptx_print_operand(const struct ptx_function *f, const struct ptx_operand *o,
                       struct textbuf *out) {
  write_operand(&(struct printer){out, f->module, f, NULL}, o, "");
}

void ptx_print_entry(const struct ptx_function *f, const struct ptx_entry *e, struct textbuf *out) {
  write_entry(&(struct printer){out, f->module, f, name_labels(f)}, e);
}

/* ---- the module ------------------------------------------------------------------------------------ */

static void write_comment(struct textbuf *b, struct nvm_text comment) {
  const char *p = comment.bytes, *end = p + comment.length;
  while (p < end) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    textbuf_puts(b, stop > p ? "// " : "//");
    textbuf_write(b, p, (size_t)(stop - p));
    textbuf_char(b, '\n');
    p = stop + 1;
  }
}

void ptx_print_header(const struct ptx_module *m, struct nvm_text comment, struct textbuf *out) {
  write_comment(out, comment);
  textbuf_format(out, ".version %u.%u\n.target ", m->ptx_version / 10, m->ptx_version % 10);
  textbuf_text(out, strtab_text(m->strings, m->target));
  if (m->texmode_independent) textbuf_puts(out, ", texmode_independent");
  textbuf_puts(out, m->debug ? ", debug\n" : "\n");
  textbuf_format(out, ".address_size %u\n\n", m->address_size);
}

void ptx_print_files(const struct ptx_module *m, struct textbuf *out) {
  for (uint32_t i = 0; i < m->files.count; i++)
    textbuf_format(out, ".file\t%u \"%t\"\n", i + 1, strtab_text(m->strings, m->files.data[i]));
  if (m->files.count > 0) textbuf_char(out, '\n');
}

void ptx_print_variable(const struct ptx_module *m, const struct ptx_variable *v,
                        struct textbuf *out) {
  write_variable(&(struct printer){out, m, NULL, NULL}, v);
  textbuf_puts(out, ";\n");
}

/* The variables of prototypes stand in the module's table too, in space .param. */
static bool is_module_variable(const struct ptx_variable *v) {
  return v->space != PTX_MOD_PARAM && v->space != PTX_MOD_REG;
}

/* Declarations of all functions but kernels, each once: one that is also defined may stand in the
 * module as a declaration or not. */
static void print_declarations(const struct ptx_module *m, struct textbuf *out) {
  bool *done = arena_alloc(m->arena, m->strings->entries.count * sizeof *done);
  for (int pass = 0; done && pass < 2; pass++)
    for (uint32_t i = 0; i < m->functions.count; i++) {
      const struct ptx_function *f = m->functions.data[i];
      bool wanted = f->is_declaration == (pass == 0) && !(f->is_entry && pass == 1);
      if (!wanted || done[f->name.index]) continue;
      done[f->name.index] = true;
      ptx_print_declaration(f, out);
    }
}

void ptx_print_module(const struct ptx_module *m, struct nvm_text comment, struct textbuf *out) {
  ptx_print_header(m, comment, out);
  ptx_print_files(m, out);
  print_declarations(m, out);
  for (uint32_t i = 0; i < m->variables.count; i++)
    if (is_module_variable(&m->variables.data[i]))
      ptx_print_variable(m, &m->variables.data[i], out);
  for (uint32_t i = 0; i < m->functions.count; i++) {
    if (m->functions.data[i]->is_declaration) continue;
    textbuf_char(out, '\n');
    ptx_print_function(m->functions.data[i], out);
  }
}
