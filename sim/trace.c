/* What --trace shows: each instruction of one thread with the values that it reads and writes.
 *
 * What an instruction wrote is read when the thread comes to its next one, because calls and
 * barriers end elsewhere than they began. Registers of a frame that was left stay readable until
 * another call takes it, which can't be before then. */
#include "ir/print.h"
#include "sim/ir.h"

#include "ptx/check.h"
#include "ptx/print.h"
#include "support/float_print.h"

static bool is_traced(const struct warp *w, uint32_t all) {
  const struct sim_launch *l = w->sim->launch;
  return l->trace && w->block->number == l->trace_block && w->index == l->trace_thread / LANES &&
         all >> l->trace_thread % LANES & 1;
}

static void hand_out(struct sim *s) {
  s->launch->trace(s->launch->trace_data, (struct nvm_text){s->trace.bytes, s->trace.length});
  s->trace.length = 0;
}

static void write_results(struct sim *s, const struct warp *w) {
  if (!s->traced) return;
  const struct func *f = s->traced_frame->func;
  f->trace(w, s->traced_frame, s->traced, s->launch->trace_thread % LANES, true, &s->trace);
  s->traced = NULL;
  hand_out(s);
}

void trace_end(struct sim *s) {
  if (s->trace.length) hand_out(s);
  s->traced = NULL;
}

void trace_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all) {
  if (!is_traced(w, all)) return;
  struct sim *s = w->sim;
  unsigned lane = s->launch->trace_thread % LANES;
  const struct func *f = w->frame->func;
  bool goes_on =
      s->traced && s->traced_frame == w->frame && in > s->traced && in->entry == s->traced->entry;
  if (f->ir && goes_on) return; /* of the same instruction */
  write_results(s, w);
  if (in->kind == INST_HELPER || (f->ir ? in->entry : in->line) == 0) return;
  textbuf_format(&s->trace, in->line ? "%t:%u" : "%t", sim_text(s, f->name), in->line);
  do textbuf_char(&s->trace, ' ');
  while (s->trace.length < 16);
  f->trace(w, w->frame, in, lane, false, &s->trace);
  if (mask >> lane & 1) {
    s->traced = in;
    s->traced_frame = w->frame;
    return;
  }
  textbuf_puts(&s->trace, " (not executed)");
  hand_out(s);
}

/* --- PTX
 * -------------------------------------------------------------------------------------------- */

static enum float_format format_of(uint16_t type, unsigned bits) {
  if (type == PTX_MOD_BF16) return FLOAT_BFLOAT;
  return bits == 64 ? FLOAT_DOUBLE : bits == 16 ? FLOAT_HALF : FLOAT_SINGLE;
}

static void write_hex(struct textbuf *out, uint64_t v) {
  int digits = 1;
  while (digits < 16 && v >> 4 * digits) digits++;
  textbuf_puts(out, "0x");
  textbuf_hex(out, v, digits, false);
}

/* Numbers as numbers; what is no number, or looks like an address, in hexadecimal. */
static void write_value(struct textbuf *out, uint64_t v, unsigned bits, uint16_t type,
                        enum ptx_class c) {
  const struct ptx_mod_row *row = ptx_mod_row(type);
  char kind = row->bits == 0 || (row->bits != bits && row->kind != 's') ? 'b' : row->kind;
  if (c == PTX_F32 || c == PTX_F64) kind = 'f';
  bool big = bits == 64 ? v >> OBJECT_SHIFT != 0 : v >= 0x10000;
  if (bits == 64 && kind == 's' && v >> OBJECT_SHIFT == UINT64_MAX >> OBJECT_SHIFT) big = false;
  if (kind == 'f') float_print_shortest(out, format_of(type, bits), v);
  else if (kind == 'x' || (kind == 'b' && big) || (bits == 64 && big)) write_hex(out, v);
  else if (kind == 's') textbuf_signed(out, evalint_sext(bits, v));
  else textbuf_unsigned(out, v);
}

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
    write_hex(t->out, values[LANES + t->lane]);
    textbuf_char(t->out, ':');
  }
  static const uint8_t bits[PTX_CLASS_COUNT] = {
      [PTX_B8] = 8, [PTX_B16] = 16, [PTX_B32] = 32, [PTX_F32] = 32};
  write_value(t->out, values[t->lane], bits[c] ? bits[c] : 64, type, c);
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
static void straighten(struct textbuf *out, size_t begin) {
  size_t to = begin;
  for (size_t i = begin; i < out->length; i++) {
    char c = out->bytes[i] == '\t' ? ' ' : out->bytes[i];
    if (c != '\n' && (c != ' ' || (to > begin && out->bytes[to - 1] != ' '))) out->bytes[to++] = c;
  }
  out->length = to;
}

void trace_ptx(const struct warp *w, const struct frame *frame, const struct inst *in,
               unsigned lane, bool results, struct textbuf *out) {
  const struct ptx_function *f = frame->func->ptx;
  const struct ptx_entry *e = &f->entries.data[in->entry];
  struct ptx_tracer t = {frame, f, lane, results ? " -> " : " ", out};
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(f, e, &need);
  (void)w;
  if (!results) {
    size_t begin = out->length;
    ptx_print_entry(f, e, out);
    straighten(out, begin);
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

/* --- IR
 * ---------------------------------------------------------------------------------------------- */

static void write_scalar(const struct frame *frame, const struct type_table *types,
                         const struct ir_scalar *s, unsigned lane, struct textbuf *out) {
  static const uint16_t floats[] = {PTX_MOD_F16, PTX_MOD_BF16, PTX_MOD_F32, PTX_MOD_F64};
  enum type_kind kind = type_kind(types, s->type);
  unsigned bits = type_scalar_bits(types, s->type);
  uint64_t v = frame->rows[(size_t)s->low * LANES + lane];
  if (frame->undefined && frame->undefined[s->low] >> lane & 1) {
    textbuf_puts(out, frame->unwritten[s->low] >> lane & 1 ? "undef" : "poison");
  } else if (s->high != NO_ROW) {
    write_hex(out, frame->rows[(size_t)s->high * LANES + lane]);
    textbuf_format(out, ":");
    write_hex(out, v);
  } else if (eval_is_float_kind(kind)) {
    write_value(out, v, bits, floats[kind - TY_HALF], PTX_B64);
  } else {
    write_value(out, v, bits,
                bits == 1    ? PTX_MOD_U8
                : bits <= 32 ? PTX_MOD_S32
                             : PTX_MOD_S64,
                PTX_B64);
  }
}

void trace_ir(const struct warp *w, const struct frame *frame, const struct inst *in, unsigned lane,
              bool results, struct textbuf *out) {
  enum { MOST_SCALARS = 16 };
  const struct nvm_function *f = frame->func->ir;
  const struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){in->entry});
  size_t begin = out->length;
  const char *separator = results ? " -> " : " ";
  (void)w;
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
    for (uint32_t s = 0; s < known->count && s < MOST_SCALARS; s++) {
      textbuf_char(out, s ? ',' : '=');
      write_scalar(frame, &f->module->types, &known->scalars[s], lane, out);
    }
  }
}
