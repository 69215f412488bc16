/* Functions of IR into code.
 *
 * Blocks are in the order of analysis/loops.h. A phi has rows of its own; the values of an edge are
 * copied into them by one instruction before the branch, under the branch's condition, so that
 * edges need no blocks (the edges of a switch do). An instruction that is not supported becomes one
 * that is a finding when it is reached, as for PTX. Calls are in ir_call.c. */
#include "sim/ir/ir_decoder.h"
#include "sim/ir/ir_exec.h"
#include "sim/machine/exec.h"
#include "sim/machine/finding.h"
#include "sim/machine/race.h"
#include "sim/ptx/scalar.h"

#include "analysis/loops.h"
#include "ir/gep.h"

#include <string.h>

/* --- values ----------------------------------------------------------------------------------- */

/* --- emitting --------------------------------------------------------------------------------- */

/* --- control flow ----------------------------------------------------------------------------- */

/* The phi's value from block `from`; *guess: its operand, where the search begins. */
static struct nvm_value phi_value(const struct nvm_function *f, const struct nvm_inst *phi,
                                  struct nvm_block from, uint32_t *guess) {
  for (uint32_t n = 0; n < phi->operand_count; n += 2) {
    uint32_t k = (*guess + n) % phi->operand_count;
    if (!value_equal(inst_operand(f, phi, k + 1), value_of_block(from))) continue;
    *guess = k;
    return inst_operand(f, phi, k);
  }
  return VALUE_NULL;
}

static bool has_phis(const struct nvm_function *f, struct nvm_block b) {
  struct nvm_inst_id first = function_block(f, b)->first;
  return !inst_is_none(first) && function_inst(f, first)->op == OP_PHI;
}

static void emit_edge(struct ir_decoder *d, struct nvm_block to) {
  VEC(struct ir_scalar) targets = {0}, sources = {0};
  uint32_t guess = 0;
  struct arena *a = &d->d.sim->arena;
  FOR_EACH_INST (d->f, to, id) {
    const struct nvm_inst *phi = function_inst(d->f, id);
    if (phi->op == OP_DBG_RECORD) continue;
    if (phi->op != OP_PHI) break;
    struct ir_value v = ir_value_of(d, value_of_inst(id));
    struct nvm_value source = phi_value(d->f, phi, d->i.block, &guess);
    if (value_is_none(source)) return;
    struct ir_value from = ir_value_of(d, source);
    if (d->bad) return;
    for (uint32_t i = 0; i < v.count; i++)
      if (!VEC_PUSH(a, &targets, v.scalars[i]) || !VEC_PUSH(a, &sources, from.scalars[i]))
        d->d.failed = true;
  }
  if (!d->d.failed)
    ir_emit_moves(d, (struct ir_value){targets.data, targets.count},
                  (struct ir_value){sources.data, sources.count});
}

static void emit_jump(struct ir_decoder *d, uint32_t label) {
  ir_emit(d, INST_BRANCH, NULL, NULL)->imm = label;
}

static void decode_conditional(struct ir_decoder *d, struct nvm_block next) {
  uint32_t pred = d->d.func->preds++;
  struct nvm_block to[2] = {block_successor(d->f, d->i.block, 0),
                            block_successor(d->f, d->i.block, 1)};
  ir_emit(d, INST_MEMORY, ir_exec_test, &(struct ir_op){.count = 1})->d = pred;
  d->guard = pred + 1;
  for (int k = 0; k < 2; k++) {
    d->flip = k ? ALL_LANES : 0;
    emit_edge(d, to[k]);
  }
  bool swap = to[0].index == next.index;
  d->flip = swap ? ALL_LANES : 0;
  emit_jump(d, d->labels[to[swap].index]);
  d->guard = d->flip = 0;
  if (to[!swap].index != next.index) emit_jump(d, d->labels[to[!swap].index]);
}

static void emit_label(struct ir_decoder *d, uint32_t label) {
  d->d.labels[label] = d->d.code.count;
  ir_emit(d, INST_LABEL, NULL, NULL);
}

/* The default is the last entry of the table. */
static void decode_switch(struct ir_decoder *d) {
  uint32_t count = block_successor_count(d->f, d->i.block), first = d->stubs[d->id.index];
  nvm_u128 *cases = decoder_alloc(&d->d, count * sizeof *cases);
  uint32_t *targets = decoder_alloc(&d->d, count * sizeof *targets), row = d->d.func->rows++;
  if (!cases || !targets) return;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(d->f, d->i.block, k);
    targets[k ? k - 1 : count - 1] = has_phis(d->f, to) ? first + k : d->labels[to.index];
    if (k) const_is_int(d->m, inst_operand(d->f, &d->i, 2 * k), &cases[k - 1]);
  }
  struct ir_op op = {.count = 1, .cases = cases, .aux = count - 1};
  ir_emit(d, INST_MEMORY, ir_exec_switch, &op)->d = row;
  struct inst *branch = ir_emit(d, INST_BRANCH_TABLE, NULL, NULL);
  branch->a = row;
  branch->rows = targets;
  branch->imm = count;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(d->f, d->i.block, k);
    if (!has_phis(d->f, to)) continue;
    emit_label(d, first + k);
    emit_edge(d, to);
    emit_jump(d, d->labels[to.index]);
  }
}

static void decode_terminator(struct ir_decoder *d, struct nvm_block next) {
  switch ((enum op)d->i.op) {
    case OP_BR:
      emit_edge(d, block_successor(d->f, d->i.block, 0));
      if (block_successor(d->f, d->i.block, 0).index != next.index)
        emit_jump(d, d->labels[block_successor(d->f, d->i.block, 0).index]);
      break;
    case OP_CONDBR: decode_conditional(d, next); break;
    case OP_SWITCH: decode_switch(d); break;
    case OP_RET:
      if (d->i.operand_count) ir_emit_moves(d, d->results, ir_value_operand(d, 0));
      ir_emit(d, INST_RETURN, NULL, NULL);
      break;
    default: ir_emit(d, INST_MEMORY, ir_exec_unreachable, NULL); break;
  }
}

/* --- instructions ----------------------------------------------------------------------------- */

/* Lets the host convert numbers of up to 64 bits. */
static void set_conversion(struct ir_decoder *d, struct inst *in, enum op op) {
  const struct type_table *t = &d->m->types;
  struct nvm_type from = type_scalar(t, ir_value_operand_type(d, 0)),
                  to = type_scalar(t, d->i.type);
  if ((op == OP_SITOFP || op == OP_UITOFP) && type_scalar_bits(t, from) <= 64) {
    in->fn = scalar_convert_host_from_int(d->d.sim, eval_format(type_kind(t, to)));
    in->bits2 = (uint8_t)type_scalar_bits(t, from);
    in->is_signed2 = op == OP_SITOFP;
  }
  if (op == OP_FPEXT || op == OP_FPTRUNC)
    in->fn = scalar_convert_host(d->d.sim, eval_format(type_kind(t, to)),
                                 eval_format(type_kind(t, from)));
}

static void decode_eval(struct ir_decoder *d, enum op op, uint16_t flags) {
  bool may_fail = op == OP_UDIV || op == OP_SDIV || op == OP_UREM || op == OP_SREM;
  struct ir_op ir = {.op = op,
                     .flags = flags,
                     .aux = d->i.aux,
                     .d = ir_value_result(d),
                     .count = d->i.operand_count};
  bool computes = op_is_binary(op) || op == OP_FCMP || op == OP_FPEXT || op == OP_FPTRUNC;
  /* Conversions between float and bfloat do not flush, as in PTX. */
  ir.flushes = computes && !type_equal(type_scalar(&d->m->types, d->i.type), TYPE_BFLOAT) &&
               type_equal(type_scalar(&d->m->types, ir_value_operand_type(d, 0)), TYPE_FLOAT) &&
               function_flushes_f32(d->f);
  lane_fn *fn =
      ir.flushes ? NULL : ir_emit_host_function(d, op, flags, ir_value_operand_type(d, 0));
  struct inst *in = ir_emit(d, may_fail ? INST_MEMORY : INST_PLAIN, ir_exec_eval, &ir);
  in->fn = fn;
  if (!ir.flushes && flags == 0) set_conversion(d, in, op);
}

static uint32_t scalar_bits(const struct ir_decoder *d, const struct ir_value *v) {
  return type_scalar_bits(&d->m->types, v->scalars[0].type);
}

static void decode_cast(struct ir_decoder *d) {
  enum op op = (enum op)d->i.op;
  struct ir_value to = ir_value_result(d), from = ir_value_operand(d, 0);
  uint32_t to_bits = scalar_bits(d, &to), from_bits = scalar_bits(d, &from);
  if (op == OP_PTRTOINT || op == OP_INTTOPTR)
    decode_eval(d, to_bits > from_bits ? OP_ZEXT : to_bits < from_bits ? OP_TRUNC : OP_BITCAST, 0);
  else if (op == OP_BITCAST && (to.count != from.count || to_bits != from_bits))
    ir_emit(d, INST_PLAIN, ir_exec_bitcast, &(struct ir_op){.d = to, .count = 1});
  else if (op == OP_ADDRSPACECAST) ir_emit_cast_space(d, inst_operand(d->f, &d->i, 0), d->i.type);
  else decode_eval(d, op, d->i.flags);
}

static void decode_gep(struct ir_decoder *d) {
  uint32_t count = d->i.operand_count;
  struct gep_walk walk = gep_begin(d->f->module, d->i.aux);
  int64_t *scales = decoder_alloc(&d->d, count * sizeof *scales);
  nvm_i128 *terms = decoder_alloc(&d->d, count * sizeof *terms);
  if (!scales || !terms) return;
  for (uint32_t k = 1; k < count; k++) {
    bool is_member;
    int64_t bytes = (int64_t)gep_step(&walk, inst_operand(d->f, &d->i, k), &is_member);
    scales[k] = is_member ? -1 - bytes : bytes;
  }
  struct ir_op op = {.flags = d->i.flags,
                     .d = ir_value_result(d),
                     .count = count,
                     .scales = scales,
                     .terms = terms};
  ir_emit(d, INST_PLAIN, ir_exec_gep, &op);
}

/* The index of the scalar that `count` constant indices select in an aggregate. */
static uint32_t member_scalar(struct ir_decoder *d, struct nvm_type type, uint32_t first,
                              uint32_t count) {
  uint32_t at = 0;
  for (uint32_t k = first; k < first + count; k++) {
    nvm_u128 index = 0;
    const_is_int(d->m, inst_operand(d->f, &d->i, k), &index);
    for (uint32_t i = 0; i < index; i++) {
      const struct ir_shape *s = ir_shape_of(d->d.sim, type_element(&d->m->types, type, i));
      if (s) at += s->count;
    }
    type = type_element(&d->m->types, type, (uint64_t)index);
  }
  return at;
}

static void emit_replaced(struct ir_decoder *d, struct ir_value whole, struct ir_value part,
                          uint32_t at) {
  struct ir_scalar *s = decoder_alloc(&d->d, (whole.count + 1) * sizeof *s);
  if (!s || d->bad) return;
  memcpy(s, whole.scalars, whole.count * sizeof *s);
  memcpy(s + at, part.scalars, part.count * sizeof *s);
  ir_emit_moves(d, ir_value_result(d), (struct ir_value){s, whole.count});
}

static void decode_element(struct ir_decoder *d) {
  bool insert = d->i.op == OP_INSERTELEMENT;
  struct ir_value vector = ir_value_operand(d, 0);
  nvm_u128 index;
  if (d->bad) return;
  if (!const_is_int(d->m, inst_operand(d->f, &d->i, insert ? 2 : 1), &index) ||
      index >= vector.count) {
    struct ir_op op = {.d = ir_value_result(d), .count = d->i.operand_count};
    ir_emit(d, INST_PLAIN, insert ? ir_exec_insert : ir_exec_extract, &op);
  } else if (insert) {
    emit_replaced(d, vector, ir_value_operand(d, 1), (uint32_t)index);
  } else {
    ir_emit_moves(d, ir_value_result(d), ir_value_slice(vector, (uint32_t)index, 1));
  }
}

static void decode_shuffle(struct ir_decoder *d) {
  struct ir_value a = ir_value_operand(d, 0), b = ir_value_operand(d, 1), to = ir_value_result(d);
  struct ir_scalar *s = decoder_alloc(&d->d, (to.count + 1) * sizeof *s);
  if (!s || d->bad) return;
  for (uint32_t i = 0; i < to.count; i++) {
    nvm_u128 from;
    if (const_is_int(d->m, const_element(d->m, inst_operand(d->f, &d->i, 2), i), &from))
      s[i] = from < a.count ? a.scalars[from] : b.scalars[from - a.count];
    else s[i] = ir_value_scalar(d, to.scalars[i].type, (struct eval_lane){0, true});
  }
  ir_emit_moves(d, to, (struct ir_value){s, to.count});
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t access_align(const struct ir_decoder *d) {
  return layout_align_bytes(memory_access_unpack(d->i.aux).align_log2);
}

/* The scope for which an access or a fence is strong. */
static void set_strength(const struct ir_decoder *d, struct inst *in) {
  static const char *const narrow[] = {"block", "workgroup", "singlethread"};
  struct memory_access how = memory_access_unpack(d->i.aux);
  struct nvm_text scope = module_text(d->m, d->m->sync_scopes.data[how.scope]);
  if (how.ordering || how.is_volatile) in->strength = RACE_DEVICE;
  for (size_t k = 0; in->strength && k < sizeof narrow / sizeof *narrow; k++)
    if (strcmp(scope.bytes, narrow[k]) == 0) in->strength = RACE_BLOCK;
  in->releases = how.ordering >= ORDER_RELEASE;
}

/* The bounds of a load's !range. */
static void decode_range(struct ir_decoder *d, struct ir_op *op) {
  const struct meta_node *n = inst_range(d->f, &d->f->insts.data[d->id.index]);
  nvm_u128 *bounds = n ? decoder_alloc(&d->d, n->count * sizeof *bounds) : NULL;
  if (!bounds) return;
  for (uint32_t k = 0; k < n->count; k++)
    if (!meta_is_int(d->m, meta_operand(&d->m->metadata, n, k), &bounds[k])) return;
  op->cases = bounds;
  op->bounds = n->count;
}

/* `pointer`, `value`: operands; -1: the result. */
static void decode_access(struct ir_decoder *d, inst_run *run, uint32_t pointer, int value) {
  struct ir_op op = {.aux = d->i.aux, .count = d->i.operand_count};
  if (d->i.op == OP_LOAD) decode_range(d, &op);
  struct nvm_type type = value < 0 ? d->i.type : ir_value_operand_type(d, (uint32_t)value);
  if (!ir_emit_set_access(d, &op, type, access_align(d))) return;
  if (d->i.type.index != TYPE_VOID.index) op.d = ir_value_result(d);
  struct inst *in = ir_emit(d, INST_MEMORY, run, &op);
  in->window = ir_value_window(d, pointer);
  set_strength(d, in);
}

static void decode_alloca(struct ir_decoder *d) {
  struct nvm_type type = {d->i.aux};
  struct ir_op op = {.d = ir_value_result(d), .count = 1};
  op.bytes = layout_alloc_size(&d->m->layout, &d->m->types, type);
  op.align =
      layout_written_align(&d->m->layout, &d->m->types, type, d->i.flags & ALLOCA_ALIGN_MASK);
  struct inst *in = ir_emit(d, INST_MEMORY, ir_memory_alloca, &op);
  in->imm = ir_value_space(d, d->i.type) == 0 ? (int64_t)window_base(WINDOW_LOCAL) : 0;
}

static void decode_other(struct ir_decoder *d) {
  switch ((enum op)d->i.op) {
    case OP_ALLOCA: decode_alloca(d); break;
    case OP_LOAD: decode_access(d, ir_memory_load, 0, -1); break;
    case OP_STORE: decode_access(d, ir_memory_store, 1, 0); break;
    case OP_CMPXCHG: decode_access(d, ir_memory_cmpxchg, 0, 1); break;
    case OP_ATOMICRMW: decode_access(d, ir_memory_atomicrmw, 0, 1); break;
    case OP_VA_ARG: decode_access(d, ir_memory_va_arg, 0, -1); break;
    case OP_GEP: decode_gep(d); break;
    case OP_CALL: ir_call(d); break;
    case OP_EXTRACTELEMENT:
    case OP_INSERTELEMENT: decode_element(d); break;
    case OP_SHUFFLEVECTOR: decode_shuffle(d); break;
    case OP_EXTRACTVALUE: {
      uint32_t at = member_scalar(d, ir_value_operand_type(d, 0), 1, d->i.operand_count - 1);
      struct ir_value to = ir_value_result(d);
      ir_emit_moves(d, to, ir_value_slice(ir_value_operand(d, 0), at, to.count));
      break;
    }
    case OP_INSERTVALUE:
      emit_replaced(d, ir_value_operand(d, 0), ir_value_operand(d, 1),
                    member_scalar(d, d->i.type, 2, d->i.operand_count - 2));
      break;
    case OP_FENCE: set_strength(d, ir_emit(d, INST_PLAIN, exec_warp_fence, NULL)); break;
    case OP_PHI:
    case OP_DBG_RECORD: break;
    default: d->bad = "is not executed"; break;
  }
}

static void decode_instruction(struct ir_decoder *d, struct nvm_inst_id id, struct nvm_block next) {
  uint32_t before = d->d.code.count;
  d->id = id;
  d->i = *function_inst(d->f, id);
  d->bad = NULL;
  enum op op = (enum op)d->i.op;
  if (op_is_terminator(op)) decode_terminator(d, next);
  else if (op_is_cast(op)) decode_cast(d);
  else if (op_is_binary(op) || op == OP_FNEG || op == OP_ICMP || op == OP_FCMP || op == OP_SELECT ||
           op == OP_FREEZE)
    decode_eval(d, op, d->i.flags);
  else decode_other(d);
  d->guard = d->flip = 0;
  if (!d->bad) return;
  d->d.code.count = before;
  ir_emit(d, INST_BAD, NULL, NULL)->unsupported = d->bad;
}

/* --- functions -------------------------------------------------------------------------------- */

static const struct nvm_attr *byval_of(const struct ir_decoder *d, uint32_t i) {
  return function_parameter_attribute(d->f, i, ATTR_BYVAL);
}

static bool is_grid_constant(const struct ir_decoder *d, uint32_t i) {
  return function_parameter_string(d->f, i, "nvvm.grid_constant");
}

/* A kernel's parameters are consecutive, each by its own alignment. */
static void kernel_parameter(struct ir_decoder *d, uint32_t i) {
  struct func *f = d->d.func;
  const struct nvm_attr *byval = byval_of(d, i);
  struct nvm_type type = byval ? byval->type : function_arg_type(d->f, i);
  struct nvm_attrset set = attrlist_parameter(&d->m->attributes, d->f->attributes, i);
  uint64_t align = layout_align(&d->m->layout, &d->m->types, type);
  uint64_t written = byval ? attrset_align(&d->m->attributes, set) : 0;
  if (written > align) align = written;
  uint64_t at = (f->kernel_param_bytes + align - 1) / align * align;
  uint64_t bytes = layout_alloc_size(&d->m->layout, &d->m->types, type);
  f->kernel_param_bytes = at + bytes;
  ir_value_add_slot(d, &d->formals,
                    (struct slot){.offset = (uint32_t)at, .bytes = (uint32_t)bytes});
  bool in_place =
      byval && ir_address_window(ir_value_space(d, function_arg_type(d->f, i))) == WINDOW_PARAM;
  if (in_place || (byval && is_grid_constant(d, i))) {
    ir_emit_moves(d, ir_value_of(d, value_of_arg(i)),
                  ir_value_number(d, TYPE_I64, at + (in_place ? 0 : window_base(WINDOW_PARAM))));
    return;
  }
  struct ir_op op = {.d = ir_value_of(d, value_of_arg(i))};
  if (!byval && !ir_emit_set_access(d, &op, type, 0)) return;
  if (byval) op.bytes = bytes, op.align = align;
  struct inst *in =
      ir_emit(d, INST_MEMORY, byval ? ir_memory_byval : ir_memory_kernel_argument, &op);
  in->imm = (int64_t)at;
  in->is_signed = true; /* the kernel's own parameters are the source */
}

static void device_parameter(struct ir_decoder *d, uint32_t i) {
  const struct nvm_attr *byval = byval_of(d, i);
  struct ir_value v = ir_value_of(d, value_of_arg(i));
  ir_value_add_slots(d, &d->formals, v);
  if (!byval) return;
  struct ir_op op = {.d = v, .align = layout_align(&d->m->layout, &d->m->types, byval->type)};
  op.bytes = layout_alloc_size(&d->m->layout, &d->m->types, byval->type);
  ir_emit(d, INST_MEMORY, ir_memory_byval, &op)->window =
      (uint8_t)ir_address_window(ir_value_space(d, function_arg_type(d->f, i)));
}

static void decode_parameters(struct ir_decoder *d) {
  struct func *f = d->d.func;
  bool kernel = function_is_kernel(d->f);
  d->results = ir_value_new(d, function_result_type(d->f));
  ir_value_add_slots(d, &d->formals, d->results);
  f->result_count = d->formals.count;
  for (uint32_t i = 0; i < function_arg_count(d->f) && !d->d.failed; i++) {
    if (kernel) kernel_parameter(d, i);
    else device_parameter(d, i);
  }
  if (type_info(&d->m->types, d->f->type)->flags & TYPE_VARIADIC) {
    d->list_row = f->rows++;
    ir_value_add_slot(d, &d->formals,
                      (struct slot){.is_reg = true, .row = d->list_row, .bits = 64});
  }
  f->formals = d->formals.data;
  f->formal_count = d->formals.count;
  f->param_copies = decoder_alloc(&d->d, (f->formal_count + 1) * sizeof *f->param_copies);
}

/* Labels of the blocks and of the edges of switches. */
static void make_labels(struct ir_decoder *d, const struct nvm_block *order, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    d->labels[order[k].index] = ptx_new_label(&d->pf, (struct nvm_str){0});
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_inst_id last = block_terminator(d->f, order[k]);
    if (function_inst(d->f, last)->op != OP_SWITCH) continue;
    for (uint32_t n = block_successor_count(d->f, order[k]); n-- > 0;) {
      uint32_t label = ptx_new_label(&d->pf, (struct nvm_str){0});
      if (!d->stubs[last.index]) d->stubs[last.index] = label;
    }
  }
}

static bool prepare(struct ir_decoder *d, const struct nvm_block *order, uint32_t count) {
  d->values = decoder_alloc(&d->d, d->f->insts.count * sizeof *d->values);
  d->arguments = decoder_alloc(&d->d, (function_arg_count(d->f) + 1) * sizeof *d->arguments);
  d->labels = decoder_alloc(&d->d, d->f->blocks.count * sizeof *d->labels);
  d->stubs = decoder_alloc(&d->d, d->f->insts.count * sizeof *d->stubs);
  d->snippets = decoder_alloc(&d->d, d->f->insts.count * sizeof *d->snippets);
  if (d->d.failed) return false;
  make_labels(d, order, count);
  ir_snippet_find(d);
  decoder_assign_rows(&d->d);
  d->poison_row = d->d.func->rows++;
  d->d.func->values = d->values;
  d->d.func->arguments = d->arguments;
  return !d->d.failed;
}

enum nvm_status ir_decode(struct sim *s, struct func *func) {
  struct ir_decoder d = {
      .d = {.sim = s, .func = func}, .f = func->ir, .m = s->ir->module, .program = s->ir};
  struct dominance dominance;
  struct loops loops;
  ptx_function_init(&d.pf, &s->ir->names, &s->arena);
  d.d.f = &d.pf;
  if (!dominance_compute(&dominance, d.f, &s->arena) ||
      !loops_compute(&loops, d.f, &dominance, &s->arena))
    return NVM_OUT_OF_MEMORY;
  /* Diverged lanes run from the lowest place on (warp.c). In a reverse postorder with contiguous
   * loops everything between a branch and its post-dominator is lower than the latter, so that the
   * lanes reconverge there at the latest (in an irreducible cycle: later). */
  const struct nvm_block *order = loops.blocks;
  uint32_t count = loops.data[0].block_count;
  if (!prepare(&d, order, count)) return NVM_OUT_OF_MEMORY;
  ir_emit(&d, INST_PLAIN, exec_nothing, NULL);
  decode_parameters(&d);
  if (d.bad)
    return finding_refuse(s, SIM_UNSUPPORTED, func->name, 0, "a parameter of the function %s",
                          d.bad);
  for (uint32_t k = 0; k < count && !d.d.failed; k++) {
    struct nvm_block next = {k + 1 < count ? order[k + 1].index : 0};
    d.id = (struct nvm_inst_id){0};
    emit_label(&d, d.labels[order[k].index]);
    FOR_EACH_INST (d.f, order[k], id) decode_instruction(&d, id, next);
  }
  if (d.uses_poison && d.d.code.count) {
    d.d.code.data[0].run = ir_exec_poison;
    d.d.code.data[0].d = d.poison_row;
  }
  return decoder_finish(&d.d) ? NVM_OK : NVM_OUT_OF_MEMORY;
}
