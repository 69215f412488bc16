/* Calls in IR: of functions, of intrinsics, of inline assembly.
 *
 * What ir/evalintrinsic.c can evaluate is evaluated. The rest of the intrinsics are handlers of the
 * table below, by the `@handler` of their row in intrinsics.def, or the PTX instructions that the
 * row names: these are built into a scratch function, decoded by decode.c and run on registers that
 * the arguments are moved to, as is the text of inline assembly. So there is one simulation of what
 * PTX does, and whatever it learns IR has too. */
#include "sim/ir.h"

#include <string.h>

#include "ir/asm_constraint.h"
#include "ptx/form.h"
#include "ptx/parse.h"

static enum intrinsic_id intrinsic_of(const struct ir_decoder *d, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(d->f, i);
  return value_kind(callee) == VALUE_FUNCTION
             ? (enum intrinsic_id)module_function(d->m, callee)->intrinsic
             : INTRINSIC_NONE;
}

static const struct constant_info *asm_of(const struct ir_decoder *d, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(d->f, i);
  const struct constant_info *c =
      value_kind(callee) == VALUE_CONST ? constant_info(&d->m->constants, callee) : NULL;
  return c && c->kind == CONST_ASM ? c : NULL;
}

/* --- registers of snippets
 * ------------------------------------------------------------------------------ */

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

/* Scalars that share a register: two of a vector of halves. */
static uint32_t packed_by(const struct ir_decoder *d, struct nvm_type type) {
  if (!type_is_vector(&d->m->types, type) || type_info(&d->m->types, type)->count % 2) return 1;
  enum type_kind kind = type_kind(&d->m->types, type_scalar(&d->m->types, type));
  return kind == TY_HALF || kind == TY_BFLOAT ? 2 : 1;
}

/* How many registers the parts of a type need; new ones, if `regs` is not NULL. */
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

/* --- snippets of intrinsics
 * --------------------------------------------------------------------------------- */

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
  bool immediate = intrinsic_arg_is_immediate(intrinsic_of(c->d, c->inst), k);
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
  enum window w = ir_window(ir_space_of(c->d, inst_operand(c->d->f, c->inst, k)));
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

static void form_refuse(struct form_reader *r, const char *why) {
  struct form_call *c = r->call;
  (void)why;
  c->refused = true;
}

static void intrinsic_snippet(struct ir_decoder *d, const struct nvm_inst *i,
                              struct ir_snippet *s) {
  uint32_t arguments = call_arg_count(d->f, i), parts = make_parts(d, i->type, NULL);
  uint32_t *first = decode_alloc(&d->d, (arguments + 1) * sizeof *first);
  if (!first) return;
  s->result_count = parts;
  for (uint32_t k = 0; k < arguments; k++) {
    first[k] = parts;
    parts += make_parts(d, value_type(d->f, inst_operand(d->f, i, k)), NULL);
  }
  first[arguments] = s->count = parts;
  s->regs = decode_alloc(&d->d, (parts + 1) * sizeof *s->regs);
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
  form_emit(&r, form_of(intrinsic_of(d, i)));
  if (call.refused) s->regs = NULL;
}

/* --- snippets of inline assembly
 * ------------------------------------------------------------------------------ */

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
  textbuf_format(
      &b, "is inline assembly that was not understood: %t (line %u, column %u of its text)%c",
      error->message, error->line, error->column, 0);
  return b.bytes;
}

static void asm_snippet(struct ir_decoder *d, const struct nvm_inst *i, struct ir_snippet *s) {
  const struct constant_info *c = asm_of(d, i);
  struct nvm_text constraints = module_text(d->m, c->str2), text = module_text(d->m, c->str), word;
  uint32_t room = (uint32_t)constraints.length + 1;
  struct asm_constraints all = {.room = room < ASM_MAX_OPERANDS ? room : ASM_MAX_OPERANDS};
  all.of = decode_alloc(&d->d, all.room * sizeof *all.of);
  s->regs = decode_alloc(&d->d, all.room * sizeof *s->regs);
  struct ptx_operand *operands = decode_alloc(&d->d, all.room * sizeof *operands);
  if (d->d.failed) return;
  struct ptx_parse_error error = {0};
  bool good =
      !asm_constraints_read(constraints, &all, &word) && asm_operands(d, i, &all, s, operands);
  if (good && !is_blank(text)) good = ptx_parse_inline(&d->pf, text, operands, all.count, &error);
  if (!good) s->regs = NULL;
  if (error.line) s->bad = describe_error(d, &error);
}

void ir_find_snippets(struct ir_decoder *d) {
  FOR_EACH_BLOCK(d->f, b) FOR_EACH_INST(d->f, b, id) {
    const struct nvm_inst *i = function_inst(d->f, id);
    struct ir_snippet *s = &d->snippets[id.index];
    if (i->op != OP_CALL) continue;
    s->first = d->pf.entries.count;
    enum intrinsic_id intrinsic = intrinsic_of(d, i);
    if (intrinsic && form_of(intrinsic)) intrinsic_snippet(d, i, s);
    else if (asm_of(d, i)) asm_snippet(d, i, s);
    s->end = d->pf.entries.count;
    for (uint32_t k = s->first; k < s->end; k++)
      d->pf.entries.data[k].line = ir_line(d->program, d->f->positions.data[id.index]);
  }
}

/* --- running snippets
 * ------------------------------------------------------------------------------------------ */

static void emit_register(struct ir_decoder *d, struct ptx_reg r, struct ir_value v, bool in) {
  struct ir_value *copy = decode_alloc(&d->d, sizeof *copy);
  if (!copy || ptx_reg_is_none(r)) return;
  *copy = v;
  struct ir_op op = in ? (struct ir_op){.in = copy, .count = 1} : (struct ir_op){.d = v};
  struct inst *inst = ir_emit(d, INST_PLAIN, in ? ir_run_to_reg : ir_run_from_reg, &op);
  inst->bits = (uint8_t)decode_reg_bits(r);
  inst->d = inst->a = decode_reg(&d->d, r);
}

static uint32_t scalars_of(struct ir_decoder *d, struct nvm_type type) {
  const struct ir_shape *s = ir_shape_of(d->d.sim, type);
  return s ? s->count : 0;
}

/* The parts of a value to or from its registers; how many there are. */
static uint32_t emit_parts(struct ir_decoder *d, struct nvm_type type, struct ir_value v,
                           const struct ptx_reg *regs, bool in) {
  const struct type_info *info = type_info(&d->m->types, type);
  uint32_t n = 0, at = 0;
  for (uint32_t i = 0; info->kind == TY_STRUCT && i < info->count; i++) {
    struct nvm_type member = type_member(&d->m->types, type, i);
    uint32_t scalars = scalars_of(d, member);
    n += emit_parts(d, member, ir_slice(v, at, scalars), regs + n, in);
    at += scalars;
  }
  if (info->kind == TY_STRUCT) return n;
  uint32_t by = packed_by(d, type);
  for (; at < v.count; at += by) emit_register(d, regs[n++], ir_slice(v, at, by), in);
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

static void emit_intrinsic_snippet(struct ir_decoder *d, const struct ir_snippet *s) {
  uint32_t at = s->result_count, arguments = call_arg_count(d->f, &d->i);
  for (uint32_t k = 0; k < arguments; k++)
    at += emit_parts(d, value_type(d->f, inst_operand(d->f, &d->i, k)), ir_operand(d, k),
                     s->regs + at, true);
  emit_entries(d, s);
  if (s->result_count) emit_parts(d, d->i.type, ir_result(d), s->regs, false);
}

/* Whole values in their registers. */
static void emit_asm_snippet(struct ir_decoder *d, const struct ir_snippet *s) {
  for (uint32_t k = s->result_count; k < s->count; k++)
    emit_register(d, s->regs[k], ir_operand(d, k - s->result_count), true);
  emit_entries(d, s);
  bool several = s->result_count > 1;
  for (uint32_t k = 0, at = 0; k < s->result_count; k++) {
    uint32_t scalars = scalars_of(d, several ? type_member(&d->m->types, d->i.type, k) : d->i.type);
    emit_register(d, s->regs[k], ir_slice(ir_result(d), at, scalars), false);
    at += scalars;
  }
}

/* --- functions
 * ----------------------------------------------------------------------------------------------------
 */

void ir_add_slot(struct ir_decoder *d, struct ir_slots *s, struct slot slot) {
  if (!VEC_PUSH(&d->d.sim->arena, s, slot)) d->d.failed = true;
}

void ir_add_slots(struct ir_decoder *d, struct ir_slots *s, struct ir_value v) {
  for (uint32_t i = 0; i < v.count; i++) {
    ir_add_slot(d, s, (struct slot){.is_reg = true, .row = v.scalars[i].low, .bits = 64});
    if (v.scalars[i].high != NO_ROW)
      ir_add_slot(d, s, (struct slot){.is_reg = true, .row = v.scalars[i].high, .bits = 64});
  }
}

/* Arguments from `fixed` on, as one structure in local memory: a scalar that holds its address. */
static struct ir_value emit_variadic(struct ir_decoder *d, uint32_t fixed, uint32_t count) {
  VEC(struct ir_scalar) all = {0};
  VEC(struct ir_piece) pieces = {0};
  struct arena *a = &d->d.sim->arena;
  struct ir_op op = {.count = 1, .align = 8};
  for (uint32_t k = fixed; k < count; k++) {
    struct nvm_type type = value_type(d->f, inst_operand(d->f, &d->i, k));
    struct ir_value v = ir_operand(d, k);
    const struct ir_shape *shape = ir_shape_of(d->d.sim, type);
    uint64_t align = layout_align(&d->m->layout, &d->m->types, type);
    if (align > op.align) op.align = align;
    op.bytes = (op.bytes + align - 1) / align * align;
    for (uint32_t i = 0; shape && i < v.count; i++) {
      struct ir_piece p = shape->pieces[i];
      p.bit += 8 * op.bytes;
      if (!VEC_PUSH(a, &all, v.scalars[i]) || !VEC_PUSH(a, &pieces, p)) d->d.failed = true;
    }
    op.bytes += layout_alloc_size(&d->m->layout, &d->m->types, type);
  }
  struct ir_value *in = decode_alloc(&d->d, sizeof *in), area = ir_new_value(d, TYPE_I64);
  if (d->d.failed) return area;
  *in = (struct ir_value){all.data, all.count};
  op.in = in;
  op.pieces = pieces.data;
  ir_emit(d, INST_MEMORY, ir_run_variadic, &op)->d = area.scalars[0].low;
  return area;
}

static void decode_function_call(struct ir_decoder *d) {
  struct call_info *c = decode_alloc(&d->d, sizeof *c);
  struct ir_slots arguments = {0}, results = {0};
  struct nvm_value callee = call_callee(d->f, &d->i);
  struct nvm_type type = call_site_of(d->f, &d->i)->function_type;
  uint32_t count = call_arg_count(d->f, &d->i),
           fixed = (uint32_t)type_info(&d->m->types, type)->count;
  bool variadic = type_info(&d->m->types, type)->flags & TYPE_VARIADIC;
  uint32_t saved = variadic ? d->d.func->rows++ : 0;
  if (!c) return;
  if (variadic) ir_emit(d, INST_PLAIN, run_stack_save, NULL)->d = saved;
  for (uint32_t k = 0; k < count && (!variadic || k < fixed); k++)
    ir_add_slots(d, &arguments, ir_operand(d, k));
  if (variadic) ir_add_slots(d, &arguments, emit_variadic(d, fixed, count));
  if (d->i.type.index != TYPE_VOID.index) ir_add_slots(d, &results, ir_result(d));
  c->arguments = arguments.data;
  c->argument_count = arguments.count;
  c->results = results.data;
  c->result_count = results.count;
  if (value_kind(callee) == VALUE_FUNCTION)
    c->callee = d->d.sim->funcs.data[d->program->code[value_index(callee)]];
  else c->pointer = ir_value_of(d, callee).scalars[0].low;
  ir_emit(d, INST_CALL, NULL, NULL)->call = c;
  if (variadic) ir_emit(d, INST_MEMORY, run_stack_restore, NULL)->a = saved;
}

/* --- handlers
 * -------------------------------------------------------------------------------------------------------
 */

static void do_nothing(struct ir_decoder *d) { (void)d; }
static void do_forward(struct ir_decoder *d) { ir_emit_moves(d, ir_result(d), ir_operand(d, 0)); }
static void give_number(struct ir_decoder *d, nvm_u128 number) {
  ir_emit_moves(d, ir_result(d), ir_number(d, d->i.type, number));
}
static void do_undefined(struct ir_decoder *d) { give_number(d, 0); }

/* "@number(1)" */
static void do_number(struct ir_decoder *d) {
  give_number(d, intrinsic_table[intrinsic_of(d, &d->i)].ptx[8] == '1');
}

static void do_objectsize(struct ir_decoder *d) {
  nvm_u128 least = 0;
  const_is_int(d->m, inst_operand(d->f, &d->i, 1), &least);
  give_number(d, least ? 0 : eval_mask(type_scalar_bits(&d->m->types, d->i.type)));
}

static void do_is_constant(struct ir_decoder *d) {
  give_number(d, value_kind(inst_operand(d->f, &d->i, 0)) == VALUE_CONST);
}

static void do_cast_space(struct ir_decoder *d) {
  ir_emit_cast_space(d, inst_operand(d->f, &d->i, 0), d->i.type);
}

static void do_ptrmask(struct ir_decoder *d) {
  struct ir_op op = {.op = OP_AND, .d = ir_result(d), .count = 2};
  ir_emit(d, INST_PLAIN, ir_run_eval, &op);
}

static uint8_t window_of_operand(const struct ir_decoder *d, uint32_t k) {
  return (uint8_t)ir_window(ir_space_of(d, inst_operand(d->f, &d->i, k)));
}

/* in: to, from, bytes; NULL: the operands. */
static void emit_copy(struct ir_decoder *d, const struct ir_value *operands) {
  struct inst *in =
      ir_emit(d, INST_MEMORY, ir_run_copy, &(struct ir_op){.in = operands, .count = 3});
  in->window = window_of_operand(d, 0);
  in->dest_bits = window_of_operand(d, 1);
}

static void do_copy(struct ir_decoder *d) { emit_copy(d, NULL); }

static void do_set(struct ir_decoder *d) {
  ir_emit(d, INST_MEMORY, ir_run_set, &(struct ir_op){.count = 3})->window =
      window_of_operand(d, 0);
}

static void do_load(struct ir_decoder *d) {
  nvm_u128 align = 0;
  struct ir_op op = {.d = ir_result(d), .count = 1};
  const_is_int(d->m, inst_operand(d->f, &d->i, 1), &align);
  if (ir_set_access(d, &op, d->i.type, (uint64_t)align))
    ir_emit(d, INST_MEMORY, ir_run_load, &op)->window = window_of_operand(d, 0);
}

static void do_stack_save(struct ir_decoder *d) {
  ir_emit(d, INST_PLAIN, run_stack_save, NULL)->d = ir_result(d).scalars[0].low;
}
static void do_stack_restore(struct ir_decoder *d) {
  ir_emit(d, INST_MEMORY, run_stack_restore, NULL)->a = ir_operand(d, 0).scalars[0].low;
}

/* A list is the address of the next argument. */
static void do_va_start(struct ir_decoder *d) {
  struct ir_value *in = decode_alloc(&d->d, 2 * sizeof *in);
  struct ir_scalar *area = decode_alloc(&d->d, sizeof *area);
  struct ir_op op = {.count = 2};
  if (d->d.failed || !ir_set_access(d, &op, TYPE_I64, 8)) return;
  *area = (struct ir_scalar){d->list_row, NO_ROW, TYPE_I64};
  in[0] = (struct ir_value){area, 1};
  in[1] = ir_operand(d, 0);
  op.in = in;
  ir_emit(d, INST_MEMORY, ir_run_store, &op)->window = window_of_operand(d, 0);
}

static void do_va_copy(struct ir_decoder *d) {
  struct ir_value *in = decode_alloc(&d->d, 3 * sizeof *in);
  if (!in) return;
  in[0] = ir_operand(d, 0);
  in[1] = ir_operand(d, 1);
  in[2] = ir_number(d, TYPE_I64, 8);
  emit_copy(d, in);
}

static void do_reduce(struct ir_decoder *d) {
  struct ir_op op = {.op = OP_COUNT,
                     .flags = d->i.flags & INST_FAST,
                     .d = ir_result(d),
                     .count = call_arg_count(d->f, &d->i)};
  enum intrinsic_id id = intrinsic_of(d, &d->i);
  if (id == INTRINSIC_vector_reduce_fadd) op.op = OP_FADD;
  else if (id == INTRINSIC_vector_reduce_fmul) op.op = OP_FMUL;
  else eval_reduction(id, &op.op, &op.intrinsic);
  ir_emit(d, INST_PLAIN, ir_run_reduce, &op);
}

static void do_approximate(struct ir_decoder *d) {
  struct ir_op op = {
      .intrinsic = intrinsic_of(d, &d->i), .d = ir_result(d), .count = call_arg_count(d->f, &d->i)};
  bool is_double = op.d.count && type_equal(op.d.scalars[0].type, TYPE_DOUBLE);
  bool known = strcmp(intrinsic_table[op.intrinsic].ptx, "@approximate(APPROX_NONE)") != 0;
  if (is_double || !known) d->bad = "calls a function that GPUs have no instruction for";
  else ir_emit(d, INST_PLAIN, ir_run_approximate, &op);
}

static const struct handler {
  const char *name; /* with what follows it, up to its length */
  void (*decode)(struct ir_decoder *d);
} handlers[] = {
    {"@nothing", do_nothing},
    {"@prefetch", do_nothing},
    {"@forward", do_forward},
    {"@number", do_number},
    {"@objectsize", do_objectsize},
    {"@is_constant", do_is_constant},
    {"@reflect", do_undefined},
    {"@address_cast", do_cast_space},
    {"@ptrmask", do_ptrmask},
    {"@memcpy", do_copy},
    {"@memset", do_set},
    {"@load_read_only", do_load},
    {"@stack_save", do_stack_save},
    {"@va_start", do_va_start},
    {"@va_copy", do_va_copy},
    {"@stack_restore", do_stack_restore},
    {"@reduce", do_reduce},
    {"@approximate", do_approximate},
    {"@tanh_approx", do_approximate},
    {"@float_pair(PAIR_SINCOS", do_approximate},
};

static const struct handler *find_handler(enum intrinsic_id id) {
  const char *text = intrinsic_table[id].ptx;
  for (size_t k = 0; k < sizeof handlers / sizeof *handlers; k++)
    if (strncmp(text, handlers[k].name, strlen(handlers[k].name)) == 0) return &handlers[k];
  return NULL;
}

/* Whether eval_intrinsic_lane() knows it, as zeros show; then it is emitted. */
static bool emit_evaluated(struct ir_decoder *d, enum intrinsic_id id) {
  enum { MOST = 8 };
  struct eval_lane zeros[MOST] = {{0, false}}, out[2];
  uint32_t count = call_arg_count(d->f, &d->i);
  if (d->i.type.index == TYPE_VOID.index || count == 0 || count > MOST) return false;
  struct ir_value to = ir_result(d), from = ir_operand(d, 0);
  if (d->bad || to.count == 0 || from.count == 0) return false;
  bool scales = id == INTRINSIC_ldexp || id == INTRINSIC_powi;
  if (scales && type_scalar_bits(&d->m->types, ir_operand(d, 1).scalars[0].type) != 32) {
    d->bad = "has an exponent that is no i32";
    return true;
  }
  struct ir_op op = {
      .intrinsic = id, .flags = d->i.flags & INST_FAST, .d = to, .count = count, .aux = to.count};
  if (id == INTRINSIC_nvvm_sqrt_f) op.intrinsic = INTRINSIC_sqrt;
  if (type_kind(&d->m->types, d->i.type) == TY_STRUCT) op.aux = to.count / 2;
  if (from.count != op.aux || !eval_intrinsic_lane(d->m, op.intrinsic, op.flags, to.scalars[0].type,
                                                   from.scalars[0].type, zeros, count, out))
    return false;
  bool fuses = id == INTRINSIC_fma || id == INTRINSIC_fmuladd;
  ir_emit(d, INST_PLAIN, ir_run_eval_intrinsic, &op)->fn =
      fuses ? ir_host_function(d, OP_CALL, op.flags, d->i.type) : NULL;
  return true;
}

void ir_decode_call(struct ir_decoder *d) {
  const struct ir_snippet *s = &d->snippets[d->id.index];
  enum intrinsic_id id = intrinsic_of(d, &d->i);
  const struct handler *h = id ? find_handler(id) : NULL;
  if (h) h->decode(d);
  else if (id && emit_evaluated(d, id)) return;
  else if (id && form_of(id) && s->regs) emit_intrinsic_snippet(d, s);
  else if (id) d->bad = "calls an intrinsic that is not executed";
  else if (!asm_of(d, &d->i)) decode_function_call(d);
  else if (s->regs) emit_asm_snippet(d, s);
  else d->bad = s->bad ? s->bad : "is inline assembly that was not understood";
}
