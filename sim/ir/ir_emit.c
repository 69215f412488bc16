/* Appends instructions; see ir_decoder.h. */
#include "sim/ir/ir_exec.h"
#include "sim/ir/ir_decoder.h"
#include "sim/ptx/scalar.h"

uint32_t ir_emit_line(const struct ir_decoder *d, struct nvm_inst_id id) {
  uint32_t position = id.index ? d->f->positions.data[id.index] : 0;
  bool known = position != 0 && d->program->lines.starts.count != 0;
  return known ? lines_find(&d->program->lines, position, NULL) : 0;
}

static const struct ir_value *operands(struct ir_decoder *d, uint32_t count) {
  struct ir_value *in = decoder_alloc(&d->d, (count + 1) * sizeof *in);
  for (uint32_t k = 0; in && k < count; k++) in[k] = ir_value_operand(d, k);
  return in;
}

/* Which values an instruction only copies. */
static uint16_t flow_of(inst_run *run, const struct ir_op *op) {
  if (run == ir_exec_moves) return FLOW_MOVES | FLOW_EACH;
  if (run == ir_exec_eval && (op->op == OP_SELECT || op->op == OP_FREEZE)) return FLOW_MOVES;
  bool moves = run == ir_exec_to_reg || run == ir_exec_from_reg || run == ir_exec_bitcast ||
               run == ir_exec_extract || run == ir_exec_insert;
  return moves ? FLOW_MOVES : 0;
}

struct inst *ir_emit(struct ir_decoder *d, enum inst_kind kind, inst_run *run,
                     const struct ir_op *ir) {
  struct inst in = {.kind = (uint8_t)kind,
                    .run = run,
                    .d = NO_ROW,
                    .d2 = NO_ROW,
                    .guard = d->guard,
                    .flip = d->flip};
  in.entry = d->id.index;
  in.line = ir_emit_line(d, d->id);
  in.a = in.b = in.c = decoder_constant(&d->d, 0);
  in.window = WINDOW_COUNT;
  if (ir) {
    struct ir_op *op = decoder_alloc(&d->d, sizeof *op);
    if (!op) return &d->nowhere;
    *op = *ir;
    if (!op->in && op->count) op->in = operands(d, op->count);
    in.ir = op;
    in.flow = flow_of(run, op);
  }
  decoder_append(&d->d, &in);
  return d->d.failed ? &d->nowhere : &d->d.code.data[d->d.code.count - 1];
}

static bool overlaps(struct ir_value to, struct ir_value from) {
  for (uint32_t i = 0; i < to.count; i++)
    for (uint32_t k = i + 1; k < from.count; k++)
      if (to.scalars[i].low == from.scalars[k].low) return true;
  return false;
}

static void emit_moves(struct ir_decoder *d, struct ir_value to, struct ir_value from) {
  struct ir_value *in = decoder_alloc(&d->d, sizeof *in);
  if (!in) return;
  *in = from;
  ir_emit(d, INST_PLAIN, ir_exec_moves, &(struct ir_op){.d = to, .in = in, .count = 1});
}

void ir_emit_moves(struct ir_decoder *d, struct ir_value to, struct ir_value from) {
  if (to.count == 0 || d->bad) return;
  if (overlaps(to, from)) {
    struct ir_scalar *s = decoder_alloc(&d->d, to.count * sizeof *s);
    if (!s) return;
    for (uint32_t i = 0; i < to.count; i++) {
      s[i] = (struct ir_scalar){d->d.func->rows++, NO_ROW, to.scalars[i].type};
      if (to.scalars[i].high != NO_ROW) s[i].high = d->d.func->rows++;
    }
    emit_moves(d, (struct ir_value){s, to.count}, from);
    from.scalars = s;
  }
  emit_moves(d, to, from);
}

void ir_emit_cast_space(struct ir_decoder *d, struct nvm_value from, struct nvm_type to) {
  struct ir_value *in = decoder_alloc(&d->d, sizeof *in);
  if (!in) return;
  *in = ir_value_of(d, from);
  struct ir_op op = {.d = ir_value_result(d), .in = in, .count = 1};
  uint64_t by = ir_address_base(d->m, value_type(d->f, from)) - ir_address_base(d->m, to);
  ir_emit(d, INST_PLAIN, ir_exec_cast_space, &op)->imm = (int64_t)by;
}

bool ir_emit_set_access(struct ir_decoder *d, struct ir_op *op, struct nvm_type type,
                        uint64_t align) {
  const struct ir_shape *shape = ir_shape_of(d->d.sim, type);
  if (!shape) d->bad = "has a value with too many elements";
  if (!shape) return false;
  op->pieces = shape->pieces;
  op->bytes = layout_store_size(&d->m->layout, &d->m->types, type);
  op->align = align ? align : layout_align(&d->m->layout, &d->m->types, type);
  return true;
}

lane_fn *ir_emit_host_function(const struct ir_decoder *d, enum op op, uint16_t flags,
                               struct nvm_type type) {
  enum type_kind kind = type_kind(&d->m->types, type_scalar(&d->m->types, type));
  enum ptx_op same = op == OP_FADD   ? PTX_ADD
                     : op == OP_FSUB ? PTX_SUB
                     : op == OP_FMUL ? PTX_MUL
                     : op == OP_FDIV ? PTX_DIV
                                     : PTX_FMA;
  bool is_one = op == OP_CALL || (same != PTX_FMA && op_is_binary(op));
  if (!is_one || flags & (INST_NNAN | INST_NINF) || !eval_is_float_kind(kind)) return NULL;
  return scalar_float_host(d->d.sim, same, eval_format(kind));
}
