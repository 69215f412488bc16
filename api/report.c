/* Diagnostics of one call, delivered to the callback of its context. */
#include "api/context.h"
#include "api/module.h"
#include "frontend/link.h"

/* The line found last: diagnostics mostly come in source order, so that the text is walked once. */
struct place {
  size_t at; /* offset of the start of `line` */
  uint32_t line;
};

static void locate(struct place *p, struct nvmini_text source, uint64_t position, uint32_t *line,
                   uint32_t *column) {
  size_t begin = position < source.length ? (size_t)position : source.length;
  if (begin < p->at) *p = (struct place){0, 1};
  const char *text = source.bytes;
  const char *newline;
  while (begin > p->at && (newline = memchr(text + p->at, '\n', begin - p->at)) != NULL) {
    p->at = (size_t)(newline - text) + 1;
    p->line++;
  }
  *line = p->line;
  *column = (uint32_t)(begin - p->at) + 1;
}

static enum nvmini_severity public_severity(enum diag_severity s) {
  switch (s) {
    case DIAG_ERROR: return NVMINI_ERROR;
    case DIAG_WARNING: return NVMINI_WARNING;
    case DIAG_REMARK: return NVMINI_REMARK;
    case DIAG_NOTE: return NVMINI_NOTE;
  }
  return NVMINI_ERROR;
}

/* Hands one diagnostic to the callback; `m` may be NULL. */
static void deliver(struct nvmini_context *c, const struct nvmini_module *m, struct place *place,
                    const struct diag *d) {
  struct nvmini_diagnostic p = {.severity = public_severity(d->severity),
                                .id = diag_name(d->id),
                                .message = public_text(d->message),
                                .function = public_text(d->function),
                                .hint = public_text(d->hint)};
  if (m != NULL) {
    p.name = m->name;
    p.source = module_source(m);
    if (d->range.end > d->range.begin || d->range.begin > 0) {
      p.begin = d->range.begin;
      p.end = d->range.end;
      if (module_is_text(m)) locate(place, p.source, p.begin, &p.line, &p.column);
    }
  }
  c->report(c->user, &p);
}

void report_start(struct nvmini_context *c, struct arena *arena, struct diag_sink *sink) {
  arena_init(arena, context_allocator(c));
  diag_sink_init(sink, arena, c->error_limit);
  sink->policy = &c->warnings;
}

void report_fixed(struct nvmini_context *c, const struct nvmini_module *m, enum diag_id id,
                  const char *message) {
  if (c->report == NULL) return;
  struct place start = {0, 1};
  struct diag d = {.id = id, .severity = diag_severity(id), .message = text_of(message)};
  deliver(c, m, &start, &d);
}

enum nvmini_status report_out_of_memory(struct nvmini_context *c, const struct nvmini_module *m) {
  report_fixed(c, m, DIAG_OUT_OF_MEMORY, diag_message(DIAG_OUT_OF_MEMORY));
  return NVMINI_OUT_OF_MEMORY;
}

enum nvmini_status report_finish(struct nvmini_context *c, const struct nvmini_module *m,
                                 struct arena *arena, const struct diag_sink *sink,
                                 enum nvm_status status) {
  struct place place = {0, 1};
  for (uint32_t i = 0; c->report != NULL && i < sink->list.count; i++)
    deliver(c, m, &place, &sink->list.data[i]);
  /* The sink notes the limit only when an error beyond it is reported. */
  if (c->report != NULL && diag_full(sink) && sink->error_count == sink->error_limit)
    report_fixed(c, m, DIAG_TOO_MANY_ERRORS, diag_message(DIAG_TOO_MANY_ERRORS));
  bool out_of_memory = arena->failed || status == NVM_OUT_OF_MEMORY;
  uint32_t errors = sink->error_count;
  arena_free(arena);
  if (status == NVM_BUG) {
    if (errors == 0) report_fixed(c, m, DIAG_INTERNAL, diag_message(DIAG_INTERNAL));
    return NVMINI_BUG;
  }
  if (out_of_memory) return report_out_of_memory(c, m);
  return errors > 0 || status == NVM_REFUSED ? NVMINI_REFUSED : NVMINI_OK;
}

enum nvmini_status report_finish_link(struct nvmini_module *into, const struct nvmini_module *from,
                                      struct arena *arena, struct diag_sink *sink,
                                      enum nvm_status status) {
  struct place place = {0, 1};
  struct nvmini_context *c = into->context;
  for (uint32_t i = 0; c->report != NULL && i < sink->list.count; i++) {
    const struct diag *d = &sink->list.data[i];
    place = (struct place){0, 1};
    deliver(c, d->range.source == LINK_SOURCE_FROM ? from : into, &place, d);
  }
  sink->list.count = 0;
  return report_finish(c, into, arena, sink, status);
}
