/* Contexts: creation, memory, callbacks. */
#include "api/context.h"
#include "api/module.h"
#include "support/number.h"
#include "support/options.h"

#include <time.h>

/* nvm_allocator.resize of a context. */
static void *counted_resize(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  struct nvmini_context *c = state;
  size_t others = c->used_bytes - old_bytes;
  if (new_bytes > old_bytes && c->limit_bytes != 0 &&
      (others > c->limit_bytes || new_bytes > c->limit_bytes - others))
    return NULL;
  void *result = c->allocator.resize(c->allocator.state, memory, old_bytes, new_bytes);
  if (result == NULL && new_bytes != 0) return NULL;
  c->used_bytes = others + new_bytes;
  if (c->used_bytes > c->peak_bytes) c->peak_bytes = c->used_bytes;
  return result;
}

struct nvm_allocator context_allocator(struct nvmini_context *c) {
  return (struct nvm_allocator){counted_resize, c};
}

struct nvmini_context *nvmini_create(const struct nvmini_allocator *allocator,
                                     size_t memory_limit) {
  struct nvm_allocator a = nvm_default_allocator;
  if (allocator != NULL) a = (struct nvm_allocator){allocator->resize, allocator->state};
  if (memory_limit != 0 && memory_limit < sizeof(struct nvmini_context)) return NULL;
  struct nvmini_context *c = a.resize(a.state, NULL, 0, sizeof *c);
  if (c == NULL) return NULL;
  *c = (struct nvmini_context){.allocator = a,
                               .used_bytes = sizeof *c,
                               .peak_bytes = sizeof *c,
                               .limit_bytes = memory_limit,
                               .target = tgt_default_options(),
                               .knobs = knobs_initial(),
                               .passes = {.bisect_limit = -1}};
  uint64_t error_limit;
  number_read_all(option_row(OPT_ERROR_LIMIT)->initial, UINT32_MAX, &error_limit);
  c->error_limit = (uint32_t)error_limit;
  arena_init(&c->strings, context_allocator(c));
  c->level = "3"; /* as tgt_default_options() */
  return c;
}

void nvmini_destroy(struct nvmini_context *context) {
  if (context == NULL) return;
  struct nvm_allocator a = context->allocator;
  arena_free(&context->strings);
  a.resize(a.state, context, sizeof *context, 0);
}

void nvmini_on_dump(struct nvmini_context *context, nvmini_dump *dump, void *user) {
  context->dump = dump;
  context->dump_user = user;
}

void nvmini_on_plan(struct nvmini_context *context, nvmini_dump *plan, void *user, int graphs) {
  context->plan = plan;
  context->plan_user = user;
  context->plan_graphs = graphs;
}

void nvmini_on_remark(struct nvmini_context *context, nvmini_remark_report *remark, void *user) {
  context->remark = remark;
  context->remark_user = user;
}

void nvmini_on_diagnostic(struct nvmini_context *context, nvmini_report *report, void *user) {
  context->report = report;
  context->user = user;
}

size_t nvmini_memory_used(const struct nvmini_context *context) { return context->used_bytes; }
size_t nvmini_memory_peak(const struct nvmini_context *context) { return context->peak_bytes; }
const char *nvmini_version(void) { return NVMINI_VERSION; }

void module_on_change(struct nvmini_context *context, module_change *on_change, void *state) {
  context->passes.on_change = on_change;
  context->passes.change_state = state;
}

uint64_t context_clock(const struct nvmini_context *c) {
  struct timespec t = {0, 0};
  if (c->passes.time_passes) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void context_add_time(struct nvmini_context *c, enum phase phase, uint64_t begin) {
  c->nanoseconds[phase] += context_clock(c) - begin;
}
