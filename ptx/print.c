/* PTX text from PTX data; see print.h.
 *
 * Printing is the last step of every compilation and writes more bytes than any other, so it is
 * kept to copying: all words have precomputed lengths, and the end of the buffer stays in registers
 * while an instruction is written (struct text_room). */
#include "ptx/print.h"

#include "ptx/ops.h"

static const struct {
  const char *prefix;
  uint8_t length;
  uint16_t type;
} class_rows[PTX_CLASS_COUNT] = {
    [PTX_PRED] = {"%p", 2, PTX_MOD_PRED},  [PTX_B16] = {"%rs", 3, PTX_MOD_B16},
    [PTX_B32] = {"%r", 2, PTX_MOD_B32},    [PTX_B64] = {"%rd", 3, PTX_MOD_B64},
    [PTX_F32] = {"%f", 2, PTX_MOD_F32},    [PTX_F64] = {"%fd", 3, PTX_MOD_F64},
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

/* --- small pieces ----------------------------------------------------------------------------- */

static inline struct text_room put_reg(struct textbuf *b, struct text_room r, struct ptx_reg reg) {
  enum ptx_class c = ptx_reg_class(reg);
  r = room_word(b, r, class_rows[c].prefix, class_rows[c].length);
  return room_unsigned(b, r, ptx_reg_number(reg));
}

static inline struct text_room put_text(struct textbuf *b, struct text_room r, struct nvm_text t) {
  return room_word(b, r, t.bytes, t.length);
}

static void write_symbol(const struct printer *pr, struct nvm_str s) {
  textbuf_text(pr->out, strtab_text(pr->module->strings, s));
}

static void write_mod(struct textbuf *b, uint16_t mod) {
  const struct ptx_mod_row *row = ptx_mod_row(mod);
  textbuf_write(b, row->text, row->length);
}

/* --- labels ----------------------------------------------------------------------------------- */

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

static struct text_room put_label(const struct printer *pr, struct text_room r, uint32_t label) {
  if (pr->labels) return put_text(pr->out, r, pr->labels[label]);
  return room_unsigned(pr->out, room_word(pr->out, r, "$L__", 4), label);
}

static void write_label(const struct printer *pr, uint32_t label) {
  textbuf_close(pr->out, put_label(pr, textbuf_open(pr->out), label));
}

/* --- operands --------------------------------------------------------------------------------- */

static struct text_room put_operand(const struct printer *pr, struct text_room r,
                                    const struct ptx_operand *o);

static struct text_room put_list(const struct printer *pr, struct text_room r, uint32_t first,
                                 uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) r = room_word(pr->out, r, ", ", 2);
    r = put_operand(pr, r, &pr->f->operands.data[first + i]);
  }
  return r;
}

static struct text_room put_pair(const struct printer *pr, struct text_room r,
                                 const struct ptx_operand *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    if (i > 0) r = room_char(pr->out, r, '|');
    r = put_operand(pr, r, &pr->f->operands.data[o->first + i]);
  }
  return r;
}

static struct text_room put_group(const struct printer *pr, struct text_room r,
                                  const struct ptx_operand *o, char open, char close) {
  r = put_list(pr, room_char(pr->out, r, open), o->first, o->count);
  return room_char(pr->out, r, close);
}

/* Registers, numbers, special registers. */
/* `.h10` of a video instruction's operand. */
static inline struct text_room put_selector(struct textbuf *b, struct text_room r,
                                            uint16_t selector) {
  if (!selector) return r;
  r = room_word(b, r, selector & PTX_SELECTOR_HALVES ? ".h" : ".b", 2);
  for (unsigned digits = (selector >> PTX_SELECTOR_DIGITS_SHIFT & 3) + 1; digits-- > 0;)
    r = room_char(b, r, (char)('0' + (selector >> 3 * digits & 7)));
  return r;
}

static inline struct text_room put_scalar(struct textbuf *b, struct text_room r,
                                          const struct ptx_operand *o) {
  if (o->negated)
    r = room_char(b, r,
                  o->kind == PTX_OPERAND_REG && ptx_reg_class(o->reg) == PTX_PRED ? '!' : '-');
  if (o->kind == PTX_OPERAND_REG) return put_selector(b, put_reg(b, r, o->reg), o->count);
  if (o->kind == PTX_OPERAND_INT) return room_signed(b, r, o->imm);
  if (o->kind == PTX_OPERAND_F32)
    return room_hex(b, room_word(b, r, "0f", 2), (uint64_t)o->imm, 8, true);
  if (o->kind == PTX_OPERAND_F64)
    return room_hex(b, room_word(b, r, "0d", 2), (uint64_t)o->imm, 16, true);
  const struct ptx_special_row *row = ptx_special_row(o->special);
  return room_word(b, r, row->text, row->length);
}

static struct text_room put_offset(struct textbuf *b, struct text_room r, int64_t offset) {
  if (offset == 0) return r;
  return room_signed(b, room_char(b, r, '+'), offset); /* ptxas wants `+-4` */
}

static struct text_room put_address(struct textbuf *b, struct text_room r,
                                    const struct ptx_operand *o) {
  r = room_char(b, r, '[');
  if (o->kind == PTX_OPERAND_ADDRESS_REG) r = put_offset(b, put_reg(b, r, o->reg), o->imm);
  else r = room_signed(b, r, o->imm);
  return room_char(b, r, ']');
}

static struct text_room put_symbol(const struct printer *pr, struct text_room r,
                                   const struct ptx_operand *o) {
  bool address = o->kind == PTX_OPERAND_ADDRESS_SYMBOL;
  if (address) r = room_char(pr->out, r, '[');
  r = put_text(pr->out, r, strtab_text(pr->module->strings, o->symbol));
  r = put_offset(pr->out, r, o->imm);
  return address ? room_char(pr->out, r, ']') : r;
}

static struct text_room put_operand(const struct printer *pr, struct text_room r,
                                    const struct ptx_operand *o) {
  switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_NONE: return room_char(pr->out, r, '_');
    case PTX_OPERAND_REG:
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
    case PTX_OPERAND_SPECIAL: return put_scalar(pr->out, r, o);
    case PTX_OPERAND_ADDRESS_REG:
    case PTX_OPERAND_ADDRESS_IMM: return put_address(pr->out, r, o);
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_ADDRESS_SYMBOL: return put_symbol(pr, r, o);
    case PTX_OPERAND_LABEL: return put_label(pr, r, o->label);
    case PTX_OPERAND_VECTOR: return put_group(pr, r, o, '{', '}');
    case PTX_OPERAND_TENSOR: return put_group(pr, r, o, '[', ']');
    case PTX_OPERAND_LIST: return put_group(pr, r, o, '(', ')');
    case PTX_OPERAND_PAIR: return put_pair(pr, r, o);
  }
  return r;
}

static void write_operand(const struct printer *pr, const struct ptx_operand *o) {
  textbuf_close(pr->out, put_operand(pr, textbuf_open(pr->out), o));
}

/* --- instructions ----------------------------------------------------------------------------- */

static struct text_room put_guard(struct textbuf *b, struct text_room r,
                                  const struct ptx_entry *e) {
  r = room_char(b, r, '@');
  if (e->guard_negated) r = room_char(b, r, '!');
  return room_char(b, put_reg(b, r, e->guard), ' ');
}

static void write_inst(const struct printer *pr, const struct ptx_entry *e) {
  struct textbuf *b = pr->out;
  const struct ptx_op_row *op = ptx_op_row(e->op);
  const uint16_t *mods = pr->f->mods.data + e->first_mod;
  struct text_room r = room_char(b, textbuf_open(b), '\t');
  if (!ptx_reg_is_none(e->guard)) r = put_guard(b, r, e);
  r = room_word(b, r, op->text, op->length);
  for (uint32_t i = 0; i < e->mod_count; i++) {
    const struct ptx_mod_row *row = ptx_mod_row(mods[i]);
    r = room_word(b, r, row->text, row->length);
  }
  const struct ptx_operand *operands = pr->f->operands.data + e->first_operand;
  for (uint32_t i = 0; i < e->operand_count; i++)
    r = put_operand(pr, room_word(b, r, i > 0 ? ", " : " \t", 2), &operands[i]);
  textbuf_close(b, room_word(b, r, ";\n", 2));
}

static void write_variable(const struct printer *pr, const struct ptx_variable *v);

/* `.loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]`; operands: ptx.h. */
static void write_loc(const struct printer *pr, const struct ptx_entry *e) {
  const struct ptx_operand *o = pr->f->operands.data + e->first_operand;
  textbuf_format(pr->out, "\t.loc\t%u %D %D", e->first_mod, o[0].imm, o[1].imm);
  if (e->operand_count > 2) {
    textbuf_puts(pr->out, ", function_name ");
    write_operand(pr, &o[2]);
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
      textbuf_close(b, put_list(pr, textbuf_open(b), e->first_operand, e->line));
      textbuf_write(b, ";\n", 2);
      break;
    case PTX_PRAGMA: write_text(pr, "\t.pragma \"", e->first_mod, "\";\n"); break;
    case PTX_RAW:
      write_text(pr, "\t// begin inline asm\n\t", e->first_mod, "\n\t// end inline asm\n");
      break;
    case PTX_COMMENT: write_text(pr, "\t// ", e->first_mod, "\n"); break;
  }
}

/* --- variables -------------------------------------------------------------------------------- */

static struct text_room put_init_symbol(const struct printer *pr, struct text_room r,
                                        const struct ptx_init *init) {
  struct textbuf *b = pr->out;
  if (init->mask_byte) {
    r = room_word(b, r, "0xFF", 4);
    for (int i = 1; i < init->mask_byte; i++) r = room_word(b, r, "00", 2);
    r = room_char(b, r, '(');
  }
  if (init->generic) r = room_word(b, r, "generic(", 8);
  r = put_text(b, r, strtab_text(pr->module->strings, init->symbol));
  if (init->generic) r = room_char(b, r, ')');
  r = put_offset(b, r, (int64_t)init->bits);
  return init->mask_byte ? room_char(b, r, ')') : r;
}

static struct text_room put_init(const struct printer *pr, struct text_room r,
                                 const struct ptx_init *init, const struct ptx_mod_row *type) {
  struct textbuf *b = pr->out;
  if (init->symbol.index != 0) return put_init_symbol(pr, r, init);
  if (type->kind == 'f' && type->bits == 32)
    return room_hex(b, room_word(b, r, "0f", 2), init->bits, 8, true);
  if (type->kind == 'f' && type->bits == 64)
    return room_hex(b, room_word(b, r, "0d", 2), init->bits, 16, true);
  if (type->kind != 's') return room_unsigned(b, r, init->bits);
  unsigned up = type->bits < 64 ? 64u - type->bits : 0;
  return room_signed(b, r, (int64_t)(init->bits << up) >> up);
}

/* The separator of a byte in a list, and the byte. */
#define BYTE(n) \
  { ", " #n, sizeof ", " #n - 1 }
#define TEN(p)                                                                                    \
  BYTE(p##0), BYTE(p##1), BYTE(p##2), BYTE(p##3), BYTE(p##4), BYTE(p##5), BYTE(p##6), BYTE(p##7), \
      BYTE(p##8), BYTE(p##9)
static const struct {
  char text[7];
  uint8_t length;
} byte_items[256] = {
    TEN(),   TEN(1),    TEN(2),    TEN(3),    TEN(4),    TEN(5),    TEN(6),    TEN(7),
    TEN(8),  TEN(9),    TEN(10),   TEN(11),   TEN(12),   TEN(13),   TEN(14),   TEN(15),
    TEN(16), TEN(17),   TEN(18),   TEN(19),   TEN(20),   TEN(21),   TEN(22),   TEN(23),
    TEN(24), BYTE(250), BYTE(251), BYTE(252), BYTE(253), BYTE(254), BYTE(255),
};

static void write_init_bytes(struct textbuf *b, const unsigned char *bytes, uint32_t count) {
  struct text_room r = room_word(b, textbuf_open(b), " = {", 4);
  r = room_unsigned(b, r, bytes[0]);
  for (uint32_t i = 1; i < count; i++)
    r = room_word(b, r, byte_items[bytes[i]].text, byte_items[bytes[i]].length);
  textbuf_close(b, room_char(b, r, '}'));
}

static void write_inits(const struct printer *pr, const struct ptx_variable *v) {
  if (v->bytes) {
    write_init_bytes(pr->out, v->bytes, v->init_count);
    return;
  }
  const struct ptx_mod_row *type = ptx_mod_row(v->type);
  const struct ptx_init *inits = pr->module->inits.data + v->first_init;
  bool braces = v->is_array || v->vector || inits->is_property;
  struct text_room r = room_word(pr->out, textbuf_open(pr->out), " = {", braces ? 4 : 3);
  for (uint32_t i = 0; i < v->init_count; i++) {
    if (i > 0)
      r = inits[i - 1].is_property ? room_word(pr->out, r, " = ", 3)
                                   : room_word(pr->out, r, ", ", 2);
    r = put_init(pr, r, &inits[i], type);
  }
  textbuf_close(pr->out, braces ? room_char(pr->out, r, '}') : r);
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

/* A declaration without its terminator: `.global .align 4 .b8 x[16] = {...}`, `.param .u64 p`. */
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
  if (!ptx_reg_is_none(v->reg)) textbuf_close(b, put_reg(b, textbuf_open(b), v->reg));
  else if (v->name.index == 0) textbuf_char(b, '_');
  else write_symbol(pr, v->name);
  write_dimension(b, v);
  if (v->init_count > 0) write_inits(pr, v);
}

/* --- functions -------------------------------------------------------------------------------- */

/* `(a, b)` on one line, or one per line. */
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

/* Everything before the body; ends in the middle of a line for declarations, else at its start. */
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
  for (uint32_t n = 1; n <= f->reg_count[c]; n++)
    if (!is_parameter(f, ptx_reg_make(c, n)))
      textbuf_format(b, "\t.reg %s\t%s%u;\n", ptx_mod_row(class_rows[c].type)->text,
                     class_rows[c].prefix, n);
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
  write_operand(&(struct printer){out, f->module, f, NULL}, o);
}

void ptx_print_entry(const struct ptx_function *f, const struct ptx_entry *e, struct textbuf *out) {
  write_entry(&(struct printer){out, f->module, f, name_labels(f)}, e);
}

/* --- the module ------------------------------------------------------------------------------- */

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
