/* See finding.h. */
#include "sim/machine/finding.h"

#include <stdarg.h>

/* As textbuf_format, which takes no va_list. */
static struct nvm_text format_message(struct sim *s, const char *format, va_list *arguments) {
  struct textbuf b;
  textbuf_init(&b, &s->arena);
  for (const char *p = format; *p; p++) {
    if (*p == '%') textbuf_directive(&b, *++p, arguments);
    else textbuf_char(&b, *p);
  }
  return (struct nvm_text){b.bytes ? b.bytes : "", b.length};
}

/* The function, and the line of the first instruction from pc on that has one. */
static void set_place(struct sim *s, struct sim_finding *f, const struct func *code, uint32_t pc) {
  f->function = code->name;
  while (pc + 1 < code->code_count && code->code[pc].line == 0) pc++;
  f->line = code->code[pc].line;
  code->front->place(s, code, pc, f);
}

void finding_report(struct warp *w, unsigned lane, enum sim_finding_kind kind, const char *format,
                    ...) {
  w->stopped = true;
  struct sim *s = w->sim;
  if (s->finding.kind != SIM_NOTHING) return;
  va_list arguments;
  va_start(arguments, format);
  struct sim_finding f = {.kind = kind, .has_thread = true, .kernel = s->kernel->name};
  for (int k = 0; k < 3; k++) {
    f.thread[k] = (uint32_t)w->special[(SPECIAL_TID + k) * LANES + lane];
    f.block[k] = w->block->index[k];
  }
  if (w->frame) set_place(s, &f, w->frame->func, w->pc);
  f.message = format_message(s, format, &arguments);
  va_end(arguments);
  s->finding = f;
}

enum nvm_status finding_refuse(struct sim *s, enum sim_finding_kind kind, struct nvm_str function,
                               uint32_t line, const char *format, ...) {
  if (s->finding.kind != SIM_NOTHING) return NVM_REFUSED;
  va_list arguments;
  va_start(arguments, format);
  s->finding = (struct sim_finding){.kind = kind, .function = function, .line = line};
  s->finding.message = format_message(s, format, &arguments);
  va_end(arguments);
  return NVM_REFUSED;
}
