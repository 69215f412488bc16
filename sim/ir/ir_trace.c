/* What --trace shows of IR: the instruction with the values of its operands, then its result. */
#include "ir/print.h"
#include "sim/ir/ir_exec.h"
#include "sim/machine/watch.h"

static void write_scalar(const struct frame *frame, const struct type_table *types,
                         const struct ir_scalar *s, unsigned lane, struct textbuf *out) {
  static const uint16_t floats[] = {PTX_MOD_F16, PTX_MOD_BF16, PTX_MOD_F32, PTX_MOD_F64};
  enum type_kind kind = type_kind(types, s->type);
  unsigned bits = type_scalar_bits(types, s->type);
  uint64_t v = frame->rows[(size_t)s->low * LANES + lane];
  if (frame->undefined && frame->undefined[s->low] >> lane & 1) {
    textbuf_puts(out, frame->unwritten[s->low] >> lane & 1 ? "undef" : "poison");
  } else if (s->high != NO_ROW) {
    trace_hex(out, frame->rows[(size_t)s->high * LANES + lane]);
    textbuf_format(out, ":");
    trace_hex(out, v);
  } else if (eval_is_float_kind(kind)) {
    trace_value(out, v, bits, floats[kind - TY_HALF]);
  } else {
    trace_value(out, v, bits, bits == 1 ? PTX_MOD_U8 : bits <= 32 ? PTX_MOD_S32 : PTX_MOD_S64);
  }
}

void ir_trace(const struct frame *frame, const struct inst *in, unsigned lane, bool results,
              struct textbuf *out) {
  enum { MAX_SCALARS = 16 };
  const struct nvm_function *f = frame->func->ir;
  const struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){in->entry});
  size_t begin = out->length;
  const char *separator = results ? " -> " : " ";
  if (!results) {
    print_inst(f, (struct nvm_inst_id){in->entry}, out);
    while (out->length < begin + 60) textbuf_char(out, ' ');
    textbuf_puts(out, " //");
  }
  for (uint32_t k = 0; k < (results ? 1 : i->operand_count); k++) {
    struct nvm_value v =
        results ? value_of_inst((struct nvm_inst_id){in->entry}) : inst_operand(f, i, k);
    const struct ir_value *known =
        value_kind(v) == VALUE_INST  ? &frame->func->values[value_index(v)]
        : value_kind(v) == VALUE_ARG ? &frame->func->arguments[value_index(v)]
                                     : NULL;
    if (!known || !known->scalars) continue;
    textbuf_puts(out, separator);
    separator = " ";
    print_value(f, v, out);
    for (uint32_t s = 0; s < known->count && s < MAX_SCALARS; s++) {
      textbuf_char(out, s ? ',' : '=');
      write_scalar(frame, &f->module->types, &known->scalars[s], lane, out);
    }
  }
}
