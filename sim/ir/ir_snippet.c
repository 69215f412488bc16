/* Calls that are PTX: the instructions that an intrinsic's row names, and inline assembly.
 *
 * They are built into a scratch function, decoded by sim/ptx and run on registers that the
 * arguments are moved to. So there is one simulation of PTX's instructions, which IR uses too. */
#include "sim/ir/ir_decoder.h"
#include "sim/ir/ir_exec.h"

#include <string.h>

#include "ir/asm_constraint.h"
#include "ptx/asm_template.h"
#include "ptx/form.h"
#include "ptx/parse.h"

enum intrinsic_id ir_snippet_intrinsic(const struct ir_decoder *d, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(d->f, i);
  return value_kind(callee) == VALUE_FUNCTION
             ? (enum intrinsic_id)module_function(d->m, callee)->intrinsic
             : INTRINSIC_NONE;
}

const struct constant_info *ir_snippet_asm(const struct ir_decoder *d, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(d->f, i);
  const struct constant_info *c =
      value_kind(callee) == VALUE_CONST ? constant_info(&d->m->constants, callee) : NULL;
  return c && c->kind == CONST_ASM ? c : NULL;
}

/* --- registers of snippets -------------------------------------------------------------------- */

static enum ptx_class class_of(const struct ir_decoder *d, struct nvm_type scalar) {
  enum type_kind kind = type_kind(&d->m->types, scalar);
  uint32_t bits = type_scalar_bits(&d->m->types, scalar);
  if (kind == TY_FLOAT) return PTX_F32;
  if (kind == TY_DOUBLE) return PTX_F64;
  return bits == 1    ? PTX_PRED
         : bits <= 16 ? PTX_B16
         : bits <= 32 ? PTX_B32
         : bits <= 64 ? PTX_B64
                      : PTX_B128;
}

/* Scalars per register: two of a vector of halves. */
static uint32_t packed_by(const struct ir_decoder *d, struct nvm_type type) {
  if (!type_is_vector(&d->m->types, type) || type_info(&d->m->types, type)->count % 2) return 1;
  enum type_kind kind = type_kind(&d->m->types, type_scalar(&d->m->types, type));
  return kind == TY_HALF || kind == TY_BFLOAT ? 2 : 1;
}

/* The number of registers for the parts of a type; makes them if `regs` is not NULL. */
static uint32_t make_parts(struct ir_decoder *d, struct nvm_type type, struct ptx_reg *regs) {
  const struct ir_shape *s = ir_shape_of(d->d.sim, type);
  uint32_t n = 0, members = type_kind(&d->m->types, type) == TY_STRUCT
                                ? (uint32_t)type_info(&d->m->types, type)->count
                                : 0;
  for (uint32_t i = 0; i < members; i++)
    n += make_parts(d, type_member(&d->m->types, type, i), regs ? regs + n : NULL);
  uint32_t by = packed_by(d, type), count = s && !members ? s->count / by : 0;
  for (uint32_t k = 0; regs && k < count; k++)
    regs[k] = ptx_new_reg(&d->pf, by == 2 ? PTX_B32 : class_of(d, s->pieces[k].type));
  return n + count;
}

/* --- snippets of intrinsics ------------------------------------------------------------------- */

struct form_call {
  struct ir_decoder *d;
  const struct nvm_inst *inst;
  const struct ir_snippet *snippet;
  const uint32_t *first; /* register of each argument, in the snippet */
  bool refused;
};

static uint32_t form_parts(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  return k == FORM_TYPE_RESULT ? c->snippet->result_count : c->first[k + 1] - c->first[k];
}

static struct ptx_operand form_value(struct form_reader *r, uint32_t k, uint32_t part,
                                     bool in_register) {
  const struct form_call *c = r->call;
  nvm_u128 number;
  (void)in_register;
  if (k == FORM_TYPE_RESULT) return ptx_r(c->snippet->regs[part]);
  struct nvm_value v = inst_operand(c->d->f, c->inst, k);
  bool immediate = intrinsic_arg_is_immediate(ir_snippet_intrinsic(c->d, c->inst), k);
  if (immediate && value_kind(v) == VALUE_CONST && const_is_int(c->d->m, v, &number))
    return ptx_i((int64_t)number);
  return ptx_r(c->snippet->regs[c->first[k] + part]);
}

static uint64_t form_constant(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  nvm_u128 number = 0;
  struct nvm_value v =
      k < call_arg_count(c->d->f, c->inst) ? inst_operand(c->d->f, c->inst, k) : VALUE_NULL;
  if (value_kind(v) == VALUE_CONST) const_is_int(c->d->m, v, &number);
  return (uint64_t)number;
}

static uint16_t form_space(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  static const uint16_t words[] = {PTX_MOD_GLOBAL, PTX_MOD_SHARED, PTX_MOD_LOCAL, PTX_MOD_CONST,
                                   PTX_MOD_PARAM};
  enum window w = ir_address_window(
      ir_value_space(c->d, value_type(c->d->f, inst_operand(c->d->f, c->inst, k))));
  return w <= WINDOW_PARAM ? words[w] : PTX_MOD_NONE;
}

static uint16_t form_type(struct form_reader *r, uint32_t k, unsigned kind) {
  static const uint16_t words[4][4] = {{PTX_MOD_B16, PTX_MOD_U16, PTX_MOD_S16, PTX_MOD_F16},
                                       {PTX_MOD_B32, PTX_MOD_U32, PTX_MOD_S32, PTX_MOD_F32},
                                       {PTX_MOD_B64, PTX_MOD_U64, PTX_MOD_S64, PTX_MOD_F64},
                                       {PTX_MOD_B16, PTX_MOD_U16, PTX_MOD_S16, PTX_MOD_BF16}};
  const struct form_call *c = r->call;
  struct nvm_type type = k == FORM_TYPE_RESULT
                             ? c->inst->type
                             : value_type(c->d->f, inst_operand(c->d->f, c->inst, k));
  const struct ir_shape *s = ir_shape_of(c->d->d.sim, type);
  struct nvm_type scalar = s && s->count ? s->pieces[0].type : TYPE_I32;
  uint32_t bits = type_scalar_bits(&c->d->m->types, scalar);
  bool bfloat = type_kind(&c->d->m->types, scalar) == TY_BFLOAT;
  return words[bfloat ? 3 : bits <= 16 ? 0 : bits <= 32 ? 1 : 2][kind];
}

static void form_refuse(struct form_reader *r, uint32_t k, uint64_t allowed, uint64_t found) {
  struct form_call *c = r->call;
  (void)k, (void)allowed, (void)found;
  c->refused = true;
}

static void intrinsic_snippet(struct ir_decoder *d, const struct nvm_inst *i,
                              struct ir_snippet *s) {
  uint32_t arguments = call_arg_count(d->f, i), parts = make_parts(d, i->type, NULL);
  uint32_t *first = decoder_alloc(&d->d, (arguments + 1) * sizeof *first);
  if (!first) return;
  s->result_count = parts;
  for (uint32_t k = 0; k < arguments; k++) {
    first[k] = parts;
    parts += make_parts(d, value_type(d->f, inst_operand(d->f, i, k)), NULL);
  }
  first[arguments] = s->count = parts;
  s->regs = decoder_alloc(&d->d, (parts + 1) * sizeof *s->regs);
  if (!s->regs) return;
  make_parts(d, i->type, s->regs);
  for (uint32_t k = 0; k < arguments; k++)
    make_parts(d, value_type(d->f, inst_operand(d->f, i, k)), s->regs + first[k]);
  struct form_call call = {d, i, s, first, false};
  struct form_reader r = {.f = &d->pf,
                          .call = &call,
                          .ftz = function_flushes_f32(d->f),
                          .parts = form_parts,
                          .value = form_value,
                          .constant = form_constant,
                          .space = form_space,
                          .type = form_type,
                          .refuse = form_refuse};
  form_emit(&r, form_of(ir_snippet_intrinsic(d, i)));
  if (call.refused) s->regs = NULL;
}

/* --- snippets of inline assembly -------------------------------------------------------------- */

static bool class_of_letter(char letter, enum ptx_class *c) {
  static const char letters[] = "bchrlNqfd";
  static const uint8_t classes[] = {PTX_PRED, PTX_B16,  PTX_B16, PTX_B32, PTX_B64,
                                    PTX_B64,  PTX_B128, PTX_F32, PTX_F64};
  const char *at = strchr(letters, letter);
  if (at) *c = (enum ptx_class)classes[at - letters];
  return at != NULL;
}

/* The operand of an input, whose register is *reg: none for a number. False if not supported. */
static bool asm_input(struct ir_decoder *d, const struct asm_constraint *c, struct nvm_value v,
                      const struct ir_snippet *s, struct ptx_reg *reg, struct ptx_operand *o) {
  enum ptx_class class;
  nvm_u128 number;
  if (c->is_tied) {
    if (c->tied >= s->result_count) return false;
    *reg = s->regs[c->tied];
  } else if (c->letter == 'm') {
    *reg = ptx_new_reg(&d->pf, PTX_B64);
    *o = ptx_at(*reg, 0);
    return true;
  } else if (class_of_letter(c->letter, &class)) {
    *reg = ptx_new_reg(&d->pf, class);
  } else if (const_is_int(d->m, v, &number)) {
    *o = ptx_i((int64_t)const_int_signed(d->m, v));
    return true;
  } else {
    return false;
  }
  *o = ptx_r(*reg);
  return true;
}

/* Registers of the snippet and operands of the text, one per constraint, outputs first. */
static bool asm_operands(struct ir_decoder *d, const struct nvm_inst *i,
                         const struct asm_constraints *all, struct ir_snippet *s,
                         struct ptx_operand *operands) {
  uint32_t argument = 0;
  for (; s->count < all->count; s->count++) {
    const struct asm_constraint *c = &all->of[s->count];
    struct ptx_reg *reg = &s->regs[s->count];
    enum ptx_class class;
    if (c->output && !c->indirect) {
      if (!class_of_letter(c->letter, &class)) return false;
      *reg = ptx_new_reg(&d->pf, class);
      operands[s->count] = ptx_r(*reg);
      s->result_count++;
    } else if (argument == call_arg_count(d->f, i) ||
               !asm_input(d, c, inst_operand(d->f, i, argument++), s, reg, &operands[s->count])) {
      return false;
    }
  }
  return true;
}

static bool is_blank(struct nvm_text text) {
  for (size_t k = 0; k < text.length; k++)
    if (!strchr(" \t\r\n;", text.bytes[k])) return false;
  return true;
}

/* NUL-terminated, while the module lives; NULL when out of memory. */
static const char *describe_error(struct ir_decoder *d, const struct ptx_parse_error *error) {
  struct textbuf b;
  textbuf_init(&b, d->pf.module->arena);
  textbuf_format(&b, "is unsupported inline assembly: %t (line %u, column %u of its text)%c",
                 error->message, error->line, error->column, 0);
  return b.bytes;
}

static bool expand_template(struct ir_decoder *d, struct nvm_inst_id id,
                            const struct ptx_operand *operands, uint32_t count,
                            struct nvm_text *text, struct ptx_parse_error *error) {
  struct asm_operand *with_literals = decoder_alloc(&d->d, count * sizeof *with_literals);
  if (!with_literals && count) return false;
  for (uint32_t k = 0; k < count; k++) with_literals[k].operand = operands[k];
  struct nvm_text expanded;
  if (asm_template_expand(d->pf.module->arena, *text, with_literals, count, id.index, &expanded)) {
    *text = expanded;
    return expanded.bytes != NULL;
  }
  struct textbuf b;
  textbuf_init(&b, d->pf.module->arena);
  asm_template_describe(expanded, &b);
  error->message = (struct nvm_text){b.bytes, b.length};
  error->line = error->column = 1;
  for (const char *at = text->bytes; at < expanded.bytes; at++) {
    error->column = *at == '\n' ? 1 : error->column + 1;
    error->line += *at == '\n';
  }
  return false;
}

static void asm_snippet(struct ir_decoder *d, struct nvm_inst_id id, struct ir_snippet *s) {
  const struct nvm_inst *i = function_inst(d->f, id);
  const struct constant_info *c = ir_snippet_asm(d, i);
  struct nvm_text constraints = module_text(d->m, c->str2), text = module_text(d->m, c->str), word;
  uint32_t room = (uint32_t)constraints.length + 1;
  struct asm_constraints all = {.room = room < ASM_MAX_OPERANDS ? room : ASM_MAX_OPERANDS};
  all.of = decoder_alloc(&d->d, all.room * sizeof *all.of);
  s->regs = decoder_alloc(&d->d, all.room * sizeof *s->regs);
  struct ptx_operand *operands = decoder_alloc(&d->d, all.room * sizeof *operands);
  if (d->d.failed) return;
  struct ptx_parse_error error = {0};
  bool good = !asm_constraints_read(constraints, &all, &word) &&
              asm_operands(d, i, &all, s, operands) &&
              expand_template(d, id, operands, all.count, &text, &error);
  if (good && !is_blank(text)) good = ptx_parse_inline(&d->pf, text, operands, all.count, &error);
  if (!good) s->regs = NULL;
  if (error.line) s->bad = describe_error(d, &error);
}

void ir_snippet_find(struct ir_decoder *d) {
  FOR_EACH_BLOCK (d->f, b)
    FOR_EACH_INST (d->f, b, id) {
      const struct nvm_inst *i = function_inst(d->f, id);
      struct ir_snippet *s = &d->snippets[id.index];
      if (i->op != OP_CALL) continue;
      s->first = d->pf.entries.count;
      enum intrinsic_id intrinsic = ir_snippet_intrinsic(d, i);
      if (intrinsic && form_of(intrinsic)) intrinsic_snippet(d, i, s);
      else if (ir_snippet_asm(d, i)) asm_snippet(d, id, s);
      s->end = d->pf.entries.count;
      for (uint32_t k = s->first; k < s->end; k++) d->pf.entries.data[k].line = ir_emit_line(d, id);
    }
}

/* --- running snippets ------------------------------------------------------------------------- */

static void emit_register(struct ir_decoder *d, struct ptx_reg r, struct ir_value v, bool in) {
  struct ir_value *copy = decoder_alloc(&d->d, sizeof *copy);
  if (!copy || ptx_reg_is_none(r)) return;
  *copy = v;
  struct ir_op op = in ? (struct ir_op){.in = copy, .count = 1} : (struct ir_op){.d = v};
  struct inst *inst = ir_emit(d, INST_PLAIN, in ? ir_exec_to_reg : ir_exec_from_reg, &op);
  inst->bits = (uint8_t)decoder_reg_bits(r);
  inst->d = inst->a = decoder_reg(&d->d, r);
}

/* Moves the parts of a value to or from its registers; returns how many there are. */
static uint32_t emit_parts(struct ir_decoder *d, struct nvm_type type, struct ir_value v,
                           const struct ptx_reg *regs, bool in) {
  const struct type_info *info = type_info(&d->m->types, type);
  uint32_t n = 0, at = 0;
  for (uint32_t i = 0; info->kind == TY_STRUCT && i < info->count; i++) {
    struct nvm_type member = type_member(&d->m->types, type, i);
    uint32_t scalars = ir_value_scalars(d, member);
    n += emit_parts(d, member, ir_value_slice(v, at, scalars), regs + n, in);
    at += scalars;
  }
  if (info->kind == TY_STRUCT) return n;
  uint32_t by = packed_by(d, type);
  for (; at < v.count; at += by) emit_register(d, regs[n++], ir_value_slice(v, at, by), in);
  return n;
}

static void emit_entries(struct ir_decoder *d, const struct ir_snippet *s) {
  uint32_t before = d->d.code.count;
  for (uint32_t k = s->first; k < s->end; k++) {
    d->d.e = &d->pf.entries.data[k];
    decode_entry(&d->d);
  }
  for (uint32_t k = before; k < d->d.code.count; k++) d->d.code.data[k].entry = d->id.index;
}

void ir_snippet_emit_intrinsic(struct ir_decoder *d, const struct ir_snippet *s) {
  uint32_t at = s->result_count, arguments = call_arg_count(d->f, &d->i);
  for (uint32_t k = 0; k < arguments; k++)
    at += emit_parts(d, value_type(d->f, inst_operand(d->f, &d->i, k)), ir_value_operand(d, k),
                     s->regs + at, true);
  emit_entries(d, s);
  if (s->result_count) emit_parts(d, d->i.type, ir_value_result(d), s->regs, false);
}

/* Inline assembly has whole values in registers. */
void ir_snippet_emit_asm(struct ir_decoder *d, const struct ir_snippet *s) {
  for (uint32_t k = s->result_count; k < s->count; k++)
    emit_register(d, s->regs[k], ir_value_operand(d, k - s->result_count), true);
  emit_entries(d, s);
  bool several = s->result_count > 1;
  for (uint32_t k = 0, at = 0; k < s->result_count; k++) {
    uint32_t scalars =
        ir_value_scalars(d, several ? type_member(&d->m->types, d->i.type, k) : d->i.type);
    emit_register(d, s->regs[k], ir_value_slice(ir_value_result(d), at, scalars), false);
    at += scalars;
  }
}
