/* What --trace shows of PTX: the instruction with the registers that it reads, then those that it
 * has written. */
#include "ptx/check.h"
#include "ptx/print.h"
#include "sim/machine/watch.h"
#include "sim/ptx/decoder.h"

struct ptx_tracer {
  const struct frame *frame;
  const struct ptx_function *f;
  unsigned lane;
  const char *separator;
  struct textbuf *out;
};

static void write_register(struct ptx_tracer *t, struct ptx_reg r, uint16_t type) {
  enum ptx_class c = ptx_reg_class(r);
  const struct func *func = t->frame->func;
  uint32_t row = func->class_first[c] + ptx_reg_number(r) * (c == PTX_B128 ? 2 : 1);
  textbuf_format(t->out, "%s%s%u=", t->separator, ptx_class_prefix(c), ptx_reg_number(r));
  t->separator = " ";
  if (c == PTX_PRED) {
    textbuf_puts(t->out, t->frame->preds[row] >> t->lane & 1 ? "true" : "false");
    return;
  }
  const uint64_t *values = t->frame->rows + (size_t)row * LANES;
  if (c == PTX_B128) {
    trace_hex(t->out, values[LANES + t->lane]);
    textbuf_char(t->out, ':');
  }
  if (c == PTX_F32) type = PTX_MOD_F32;
  if (c == PTX_F64) type = PTX_MOD_F64;
  unsigned bits = decoder_reg_bits(r);
  trace_value(t->out, values[t->lane], bits > 64 ? 64 : bits, type);
}

static void write_operand(struct ptx_tracer *t, const struct ptx_operand *o, uint16_t type) {
  switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG: write_register(t, o->reg, type); break;
    case PTX_OPERAND_ADDRESS_REG: write_register(t, o->reg, PTX_MOD_B64); break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TENSOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
      for (uint32_t i = 0; i < o->count; i++)
        write_operand(t, &t->f->operands.data[o->first + i], type);
      break;
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_LABEL:
    case PTX_OPERAND_SPECIAL:
    case PTX_OPERAND_ADDRESS_SYMBOL:
    case PTX_OPERAND_ADDRESS_IMM: break;
  }
}

/* The line from `begin` on without the tabs and the end that the printer gives it. */
static void normalize_blanks(struct textbuf *out, size_t begin) {
  size_t to = begin;
  for (size_t i = begin; i < out->length; i++) {
    char c = out->bytes[i] == '\t' ? ' ' : out->bytes[i];
    if (c != '\n' && (c != ' ' || (to > begin && out->bytes[to - 1] != ' '))) out->bytes[to++] = c;
  }
  out->length = to;
}

void trace_ptx(const struct frame *frame, const struct inst *in, unsigned lane, bool results,
               struct textbuf *out) {
  const struct ptx_function *f = frame->func->ptx;
  const struct ptx_entry *e = &f->entries.data[in->entry];
  struct ptx_tracer t = {frame, f, lane, results ? " -> " : " ", out};
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(f, e, &need);
  if (!results) {
    size_t begin = out->length;
    ptx_print_entry(f, e, out);
    normalize_blanks(out, begin);
    while (out->length < begin + 44) textbuf_char(out, ' ');
    textbuf_puts(out, " //");
    if (!ptx_reg_is_none(e->guard)) write_register(&t, e->guard, PTX_MOD_PRED);
  }
  for (uint32_t i = 0; form && i < e->operand_count && e->op != PTX_CALL; i++) {
    const struct ptx_shape *shape =
        &ptx_form_shapes(form)[i < form->shape_count ? i : form->shape_count - 1u];
    bool wide;
    if ((i < form->dest_count) == results)
      write_operand(&t, &f->operands.data[e->first_operand + i],
                    ptx_shape_type(f, e, shape, &wide));
  }
}
