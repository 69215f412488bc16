/* Calls in IR: of functions, of intrinsics, of inline assembly.
 *
 * Intrinsics that ir/evalintrinsic.c can evaluate are evaluated. The others have a handler in the
 * table below, by the `@handler` of their row in intrinsics.def, or are snippets of PTX
 * (ir_snippet.c). */
#include "sim/ir/ir_decoder.h"
#include "sim/ir/ir_exec.h"
#include "sim/machine/exec.h"

#include <string.h>

#include "ptx/form.h"

/* --- functions -------------------------------------------------------------------------------- */

/* Arguments from `fixed` on, as one structure in local memory; returns its address. */
static struct ir_value emit_variadic(struct ir_decoder *d, uint32_t fixed, uint32_t count) {
  VEC(struct ir_scalar) all = {0};
  VEC(struct ir_piece) pieces = {0};
  struct arena *a = &d->d.sim->arena;
  struct ir_op op = {.count = 1, .align = 8};
  for (uint32_t k = fixed; k < count; k++) {
    struct nvm_type type = value_type(d->f, inst_operand(d->f, &d->i, k));
    struct ir_value v = ir_value_operand(d, k);
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
  struct ir_value *in = decoder_alloc(&d->d, sizeof *in), area = ir_value_new(d, TYPE_I64);
  if (d->d.failed) return area;
  *in = (struct ir_value){all.data, all.count};
  op.in = in;
  op.pieces = pieces.data;
  ir_emit(d, INST_MEMORY, ir_memory_variadic, &op)->d = area.scalars[0].low;
  return area;
}

static void decode_function_call(struct ir_decoder *d) {
  struct call_info *c = decoder_alloc(&d->d, sizeof *c);
  struct ir_slots arguments = {0}, results = {0};
  struct nvm_value callee = call_callee(d->f, &d->i);
  struct nvm_type type = call_site_of(d->f, &d->i)->function_type;
  uint32_t count = call_arg_count(d->f, &d->i),
           fixed = (uint32_t)type_info(&d->m->types, type)->count;
  bool variadic = type_info(&d->m->types, type)->flags & TYPE_VARIADIC;
  uint32_t saved = variadic ? d->d.func->rows++ : 0;
  if (!c) return;
  if (variadic) ir_emit(d, INST_PLAIN, exec_memory_stack_save, NULL)->d = saved;
  for (uint32_t k = 0; k < count && (!variadic || k < fixed); k++)
    ir_value_add_slots(d, &arguments, ir_value_operand(d, k));
  if (variadic) ir_value_add_slots(d, &arguments, emit_variadic(d, fixed, count));
  if (d->i.type.index != TYPE_VOID.index) ir_value_add_slots(d, &results, ir_value_result(d));
  c->arguments = arguments.data;
  c->argument_count = arguments.count;
  c->results = results.data;
  c->result_count = results.count;
  if (value_kind(callee) == VALUE_FUNCTION)
    c->callee = d->d.sim->funcs.data[d->program->code[value_index(callee)]];
  else c->pointer = ir_value_of(d, callee).scalars[0].low;
  ir_emit(d, INST_CALL, NULL, NULL)->call = c;
  if (variadic) ir_emit(d, INST_MEMORY, exec_memory_stack_restore, NULL)->a = saved;
}

/* --- handlers --------------------------------------------------------------------------------- */

static void do_nothing(struct ir_decoder *d) { (void)d; }
static void do_forward(struct ir_decoder *d) {
  ir_emit_moves(d, ir_value_result(d), ir_value_operand(d, 0));
}
static void set_result(struct ir_decoder *d, nvm_u128 number) {
  ir_emit_moves(d, ir_value_result(d), ir_value_number(d, d->i.type, number));
}
static void do_undefined(struct ir_decoder *d) { set_result(d, 0); }

/* "@number(1)" */
static void do_number(struct ir_decoder *d) {
  set_result(d, intrinsic_table[ir_snippet_intrinsic(d, &d->i)].ptx[8] == '1');
}

static void do_objectsize(struct ir_decoder *d) {
  nvm_u128 least = 0;
  const_is_int(d->m, inst_operand(d->f, &d->i, 1), &least);
  set_result(d, least ? 0 : eval_mask(type_scalar_bits(&d->m->types, d->i.type)));
}

static void do_is_constant(struct ir_decoder *d) {
  set_result(d, value_kind(inst_operand(d->f, &d->i, 0)) == VALUE_CONST);
}

static void do_cast_space(struct ir_decoder *d) {
  ir_emit_cast_space(d, inst_operand(d->f, &d->i, 0), d->i.type);
}

static void do_ptrmask(struct ir_decoder *d) {
  struct ir_op op = {.op = OP_AND, .d = ir_value_result(d), .count = 2};
  ir_emit(d, INST_PLAIN, ir_exec_eval, &op);
}

/* in: to, from, bytes; NULL: the operands. Alignments in bytes. */
static void emit_copy(struct ir_decoder *d, const struct ir_value *operands, uint64_t to_align,
                      uint64_t from_align) {
  struct ir_op op = {.in = operands, .count = 3, .align = to_align, .aux = (uint32_t)from_align};
  struct inst *in = ir_emit(d, INST_MEMORY, ir_memory_copy, &op);
  in->window = ir_value_window(d, 0);
  in->dest_bits = ir_value_window(d, 1);
}

static void do_copy(struct ir_decoder *d) {
  emit_copy(d, NULL, call_copy_align(d->f, &d->i, 0), call_copy_align(d->f, &d->i, 1));
}

static void do_set(struct ir_decoder *d) {
  struct ir_op op = {.count = 3, .align = call_copy_align(d->f, &d->i, 0)};
  ir_emit(d, INST_MEMORY, ir_memory_set, &op)->window = ir_value_window(d, 0);
}

static void do_load(struct ir_decoder *d) {
  nvm_u128 align = 0;
  struct ir_op op = {.d = ir_value_result(d), .count = 1};
  const_is_int(d->m, inst_operand(d->f, &d->i, 1), &align);
  if (ir_emit_set_access(d, &op, d->i.type, (uint64_t)align))
    ir_emit(d, INST_MEMORY, ir_memory_load, &op)->window = ir_value_window(d, 0);
}

static void do_stack_save(struct ir_decoder *d) {
  ir_emit(d, INST_PLAIN, exec_memory_stack_save, NULL)->d = ir_value_result(d).scalars[0].low;
}
static void do_stack_restore(struct ir_decoder *d) {
  ir_emit(d, INST_MEMORY, exec_memory_stack_restore, NULL)->a =
      ir_value_operand(d, 0).scalars[0].low;
}

/* A list is the address of the next argument. */
static void do_va_start(struct ir_decoder *d) {
  struct ir_value *in = decoder_alloc(&d->d, 2 * sizeof *in);
  struct ir_scalar *area = decoder_alloc(&d->d, sizeof *area);
  struct ir_op op = {.count = 2};
  if (d->d.failed || !ir_emit_set_access(d, &op, TYPE_I64, 8)) return;
  *area = (struct ir_scalar){d->list_row, NO_ROW, TYPE_I64};
  in[0] = (struct ir_value){area, 1};
  in[1] = ir_value_operand(d, 0);
  op.in = in;
  ir_emit(d, INST_MEMORY, ir_memory_store, &op)->window = ir_value_window(d, 0);
}

static void do_va_copy(struct ir_decoder *d) {
  struct ir_value *in = decoder_alloc(&d->d, 3 * sizeof *in);
  if (!in) return;
  in[0] = ir_value_operand(d, 0);
  in[1] = ir_value_operand(d, 1);
  in[2] = ir_value_number(d, TYPE_I64, 8);
  emit_copy(d, in, 1, 1);
}

static void do_reduce(struct ir_decoder *d) {
  struct ir_op op = {.op = OP_COUNT,
                     .flags = d->i.flags & INST_FAST,
                     .d = ir_value_result(d),
                     .count = call_arg_count(d->f, &d->i)};
  enum intrinsic_id id = ir_snippet_intrinsic(d, &d->i);
  if (id == INTRINSIC_vector_reduce_fadd) op.op = OP_FADD;
  else if (id == INTRINSIC_vector_reduce_fmul) op.op = OP_FMUL;
  else eval_reduction(id, &op.op, &op.intrinsic);
  ir_emit(d, INST_PLAIN, ir_exec_reduce, &op);
}

static void do_approximate(struct ir_decoder *d) {
  struct ir_op op = {.intrinsic = ir_snippet_intrinsic(d, &d->i),
                     .d = ir_value_result(d),
                     .count = call_arg_count(d->f, &d->i)};
  bool is_double = op.d.count && type_equal(op.d.scalars[0].type, TYPE_DOUBLE);
  bool known = strcmp(intrinsic_table[op.intrinsic].ptx, "@approximate(APPROX_NONE)") != 0;
  if (is_double || !known) d->bad = "calls a math function without a PTX instruction";
  else ir_emit(d, INST_PLAIN, ir_exec_approximate, &op);
}

static const struct handler {
  const char *name; /* a prefix of the row's text */
  void (*decode)(struct ir_decoder *d);
} handlers[] = {{"@nothing", do_nothing},
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
                {"@float_pair(PAIR_SINCOS", do_approximate}};

static const struct handler *find_handler(enum intrinsic_id id) {
  const char *text = intrinsic_table[id].ptx;
  for (size_t k = 0; k < sizeof handlers / sizeof *handlers; k++)
    if (strncmp(text, handlers[k].name, strlen(handlers[k].name)) == 0) return &handlers[k];
  return NULL;
}

/* Emits the intrinsic if eval_intrinsic_lane() evaluates it, which is tried with zeros. */
static bool emit_evaluated(struct ir_decoder *d, enum intrinsic_id id) {
  enum { MOST = 8 };
  struct eval_lane zeros[MOST] = {{0, false}}, out[2];
  uint32_t count = call_arg_count(d->f, &d->i);
  if (d->i.type.index == TYPE_VOID.index || count == 0 || count > MOST) return false;
  struct ir_value to = ir_value_result(d), from = ir_value_operand(d, 0);
  if (d->bad || to.count == 0 || from.count == 0) return false;
  bool scales = id == INTRINSIC_ldexp || id == INTRINSIC_powi;
  if (scales && type_scalar_bits(&d->m->types, ir_value_operand(d, 1).scalars[0].type) != 32) {
    d->bad = "has an exponent that is not i32";
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
  ir_emit(d, INST_PLAIN, ir_exec_eval_intrinsic, &op)->fn =
      fuses ? ir_emit_host_function(d, OP_CALL, op.flags, d->i.type) : NULL;
  return true;
}

void ir_call(struct ir_decoder *d) {
  const struct ir_snippet *s = &d->snippets[d->id.index];
  enum intrinsic_id id = ir_snippet_intrinsic(d, &d->i);
  const struct handler *h = id ? find_handler(id) : NULL;
  if (h) h->decode(d);
  else if (id && emit_evaluated(d, id)) return;
  else if (id && form_of(id) && s->regs) ir_snippet_emit_intrinsic(d, s);
  else if (id) d->bad = "calls an unsupported intrinsic";
  else if (!ir_snippet_asm(d, &d->i)) decode_function_call(d);
  else if (s->regs) ir_snippet_emit_asm(d, s);
  else d->bad = s->bad ? s->bad : "is unsupported inline assembly";
}
