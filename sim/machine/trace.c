/* What --trace prints: each instruction of one thread with the values that it reads and writes.
 *
 * The results of an instruction are read when the thread reaches its next one, because calls and
 * barriers end elsewhere than they began. Registers of a frame that was left stay readable until
 * another call reuses it, which is not before then. */
#include "sim/machine/watch.h"

#include "ir/evalint.h"
#include "sim/machine/number.h"
#include "sim/machine/symbol.h"
#include "support/float_print.h"

static bool is_traced(const struct warp *w, uint32_t all) {
  const struct sim_launch *l = w->sim->launch;
  return l->trace && w->block->number == l->trace_block && w->index == l->trace_thread / LANES &&
         all >> l->trace_thread % LANES & 1;
}

static void flush_line(struct sim *s) {
  s->launch->trace(s->launch->trace_data, (struct nvm_text){s->trace.bytes, s->trace.length});
  s->trace.length = 0;
}

static void write_results(struct sim *s) {
  if (!s->traced) return;
  const struct func *f = s->traced_frame->func;
  f->front->trace(s->traced_frame, s->traced, s->launch->trace_thread % LANES, true, &s->trace);
  s->traced = NULL;
  flush_line(s);
}

void trace_end(struct sim *s) {
  if (s->trace.length) flush_line(s);
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
  write_results(s);
  if (in->kind == INST_HELPER || (f->ir ? in->entry : in->line) == 0) return;
  textbuf_format(&s->trace, in->line ? "%t:%u" : "%t", symbol_text(s, f->name), in->line);
  do textbuf_char(&s->trace, ' ');
  while (s->trace.length < 16);
  f->front->trace(w->frame, in, lane, false, &s->trace);
  if (mask >> lane & 1) {
    s->traced = in;
    s->traced_frame = w->frame;
    return;
  }
  textbuf_puts(&s->trace, " (not executed)");
  flush_line(s);
}

void trace_hex(struct textbuf *out, uint64_t v) {
  int digits = 1;
  while (digits < 16 && v >> 4 * digits) digits++;
  textbuf_puts(out, "0x");
  textbuf_hex(out, v, digits, false);
}

void trace_value(struct textbuf *out, uint64_t v, unsigned bits, uint16_t type) {
  const struct ptx_mod_row *row = ptx_mod_row(type);
  char kind = row->bits == 0 || (row->bits != bits && row->kind != 's') ? 'b' : row->kind;
  bool big = bits == 64 ? v >> OBJECT_SHIFT != 0 : v >= 0x10000;
  if (bits == 64 && kind == 's' && v >> OBJECT_SHIFT == UINT64_MAX >> OBJECT_SHIFT) big = false;
  if (kind == 'f') float_print_shortest(out, number_format(type), v);
  else if (kind == 'x' || (kind == 'b' && big) || (bits == 64 && big)) trace_hex(out, v);
  else if (kind == 's') textbuf_signed(out, evalint_sext(bits, v));
  else textbuf_unsigned(out, v);
}
