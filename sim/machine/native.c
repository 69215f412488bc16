/* See native.h. Arguments are in registers or in the caller's parameter area. */
#include "sim/machine/finding.h"
#include "sim/machine/memory.h"
#include "sim/machine/native.h"

#include <string.h>

typedef void native_run(struct warp *w, const struct call_info *c, unsigned lane);

struct native {
  const char *name;
  native_run *run;
};

static uint64_t argument(const struct warp *w, const struct call_info *c, uint32_t i,
                         unsigned lane) {
  return i < c->argument_count ? frame_get(w, w->frame, &c->arguments[i], lane) : 0;
}

static void result(struct warp *w, const struct call_info *c, unsigned lane, uint64_t v) {
  if (c->result_count) frame_put(w, w->frame, &c->results[0], lane, v);
}

static void run_vprintf(struct warp *w, const struct call_info *c, unsigned lane) {
  uint64_t written = 0;
  if (print_formatted(w, lane, argument(w, c, 0, lane), argument(w, c, 1, lane), &written))
    result(w, c, lane, written);
}

static void run_malloc(struct warp *w, const struct call_info *c, unsigned lane) {
  uint32_t object = memory_new_object(w->sim, argument(w, c, 0, lane), false, (struct nvm_str){0});
  if (object) w->sim->objects.data[object].heap = true;
  result(w, c, lane, memory_object_address(object));
}

static void run_free(struct warp *w, const struct call_info *c, unsigned lane) {
  uint64_t address = argument(w, c, 0, lane), number = object_number(address);
  if (address == 0) return;
  struct sim *s = w->sim;
  if (number >= s->objects.count || memory_object_address((uint32_t)number) != address ||
      !s->objects.data[number].heap || s->objects.data[number].freed) {
    finding_report(w, lane, SIM_BAD_CALL,
                   "frees a pointer that malloc did not return, or that was freed before");
    return;
  }
  s->objects.data[number].freed = true;
}

/* __assertfail(message, file, line, function, size of a character) */
static void run_assertfail(struct warp *w, const struct call_info *c, unsigned lane) {
  struct nvm_text message, file, function;
  if (!memory_text(w, lane, argument(w, c, 0, lane), &message) ||
      !memory_text(w, lane, argument(w, c, 1, lane), &file) ||
      !memory_text(w, lane, argument(w, c, 3, lane), &function))
    return;
  finding_report(w, lane, SIM_ASSERT, "assertion '%t' failed at %t:%U in %t", message, file,
                 argument(w, c, 2, lane) & 0xffffffff, function);
}

static const struct native natives[] = {
    {"vprintf", run_vprintf},
    {"malloc", run_malloc},
    {"free", run_free},
    {"__assertfail", run_assertfail},
};

const struct native *native_find(struct nvm_text name) {
  for (size_t i = 0; i < sizeof natives / sizeof natives[0]; i++)
    if (text_is(name, natives[i].name)) return &natives[i];
  return NULL;
}

void native_call(struct warp *w, const struct native *n, const struct call_info *c, uint32_t mask) {
  FOR_LANES(l, mask) {
    n->run(w, c, l);
    if (w->stopped) return;
  }
}
