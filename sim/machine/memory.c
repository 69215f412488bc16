/* Memory of all state spaces; see memory.h. Objects of global and constant memory are far apart
 * (space.h), so that an overrun never hits another object; shared memory is one area per block,
 * local memory one stack per lane.
 *
 * Memory without supplied contents has a shadow byte for each byte. A value is undefined only if no
 * byte of the access was written: copying padding is no finding.
 */
#include "sim/machine/memory.h"

#include "sim/machine/finding.h"
#include "sim/machine/symbol.h"

#include <string.h>

uint32_t memory_new_object(struct sim *s, uint64_t bytes, bool initialized, struct nvm_str name) {
  if (s->objects.count >= OBJECT_LIMIT || bytes >= UINT64_C(1) << OBJECT_SHIFT) return 0;
  struct object o = {.size = bytes, .name = name};
  o.bytes = arena_alloc(&s->arena, bytes);
  if (!initialized) o.written = arena_alloc(&s->arena, bytes);
  if (!o.bytes || (!initialized && !o.written)) return 0;
  return VEC_PUSH(&s->arena, &s->objects, o) ? s->objects.count - 1 : 0;
}

static const char *window_name(unsigned window) {
  static const char *const names[] = {"global", "shared", "local", "const", "param", "code"};
  return window < WINDOW_COUNT ? names[window] : "valid";
}

/* The variable of shared memory whose gap contains the offset, or NULL. */
static const struct shared_variable *overrun(const struct sim *s, uint64_t offset, uint64_t bytes) {
  for (uint32_t i = 0; i < s->shared_variables.count; i++) {
    const struct shared_variable *v = &s->shared_variables.data[i];
    if (offset + bytes > v->address + v->size && offset < v->address + v->size + SHARED_GAP)
      return v;
  }
  return NULL;
}

static bool out_of_bounds(struct warp *w, unsigned lane, uint64_t address, unsigned window,
                          uint64_t bytes, bool is_write) {
  const char *verb = is_write ? "writes" : "reads";
  struct sim *s = w->sim;
  uint64_t number = object_number(in_window(address));
  uint64_t offset = in_object(address);
  char hex[20];
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 16; i++) hex[i] = digits[address >> (60 - 4 * i) & 15];
  hex[16] = 0;
  const struct shared_variable *shared = window == WINDOW_SHARED ? overrun(s, offset, bytes) : NULL;
  bool in_object = (window == WINDOW_GLOBAL || window == WINDOW_CONST) && number != 0 &&
                   number < s->objects.count;
  const struct object *o = in_object ? &s->objects.data[number] : NULL;
  struct nvm_str name = shared ? shared->name : o ? o->name : (struct nvm_str){0};
  int64_t at = (int64_t)offset - (int64_t)(shared ? shared->address : o ? o->first : 0);
  if (o && o->freed)
    finding_report(w, lane, SIM_OUT_OF_BOUNDS, "%s %U bytes at offset %U of freed memory", verb,
                   bytes, offset);
  else if (o || shared)
    finding_report(w, lane, SIM_OUT_OF_BOUNDS, "%s %U bytes at offset %D of %t, which has %U bytes",
                   verb, bytes, at, name.index ? symbol_text(s, name) : text_of("a buffer"),
                   shared ? shared->size : o->size);
  else if (in_window(address) < (window == WINDOW_LOCAL ? LOCAL_FIRST : 4096) &&
           window != WINDOW_SHARED)
    finding_report(w, lane, SIM_OUT_OF_BOUNDS, "%s %U bytes at address 0x%s, a null pointer", verb,
                   bytes, hex);
  else
    finding_report(w, lane, SIM_OUT_OF_BOUNDS,
                   "%s %U bytes at address 0x%s, which is not %s memory", verb, bytes, hex,
                   window_name(window));
  return false;
}

static bool find_object(struct warp *w, uint64_t address, uint64_t bytes, struct access *at,
                        bool is_write, unsigned lane) {
  struct sim *s = w->sim;
  uint64_t number = object_number(in_window(address));
  uint64_t offset = in_object(address);
  if (number == 0 || number >= s->objects.count) return false;
  struct object *o = &s->objects.data[number];
  offset -= o->first;
  if (o->freed || offset > o->size || bytes > o->size - offset) return false;
  if (is_write && o->read_only) {
    finding_report(w, lane, SIM_READ_ONLY, "writes to constant memory");
    return false;
  }
  *at = (struct access){o->bytes + offset, o->written ? o->written + offset : NULL, &o->shadow,
                        offset, o->size};
  return true;
}

/* The offset of a constant, with its object's number if it is an address of 32 bits. */
static uint64_t constant_offset(const struct sim *s, uint64_t offset) {
  if (object_number(offset) || !s->constants.count) return offset;
  uint32_t low = 0, high = s->constants.count; /* the last constant that begins at or before it */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (s->objects.data[s->constants.data[middle]].first <= offset) low = middle;
    else high = middle;
  }
  return offset < CONSTANT_FIRST / 2 ? offset
                                     : memory_object_address(s->constants.data[low]) + offset;
}

static bool grow_stack(struct warp *w, unsigned lane, uint64_t bytes) {
  struct local_stack *stack = &w->local[lane];
  if (bytes <= stack->capacity) return true;
  uint64_t wanted = stack->capacity ? stack->capacity : 1024;
  while (wanted < bytes) wanted *= 2;
  uint8_t *grown = arena_grow(&w->sim->arena, stack->bytes, stack->capacity, wanted);
  if (grown) stack->bytes = grown; /* the old memory may be gone, whatever follows */
  uint8_t *written = arena_grow(&w->sim->arena, stack->written, stack->capacity, wanted);
  if (!grown || !written) {
    finding_report(w, lane, SIM_MEMORY, "exceeds the memory limit of the simulator");
    return false;
  }
  stack->written = written;
  stack->capacity = wanted;
  return true;
}

bool memory_set_stack(struct warp *w, unsigned lane, uint64_t top) {
  if (top > w->sim->stack_bytes) {
    finding_report(w, lane, SIM_STACK_OVERFLOW, "needs %U bytes of stack, but a thread has %U", top,
                   w->sim->stack_bytes);
    return false;
  }
  if (!grow_stack(w, lane, top)) return false;
  if (top > w->stack_top[lane])
    memset(w->local[lane].written + w->stack_top[lane], 0, top - w->stack_top[lane]);
  w->stack_top[lane] = top;
  return true;
}

uint64_t memory_push_stack(struct warp *w, unsigned lane, uint64_t bytes, uint64_t align) {
  uint64_t end = w->stack_top[lane], base = align_up(end + LOCAL_GAP, align);
  if (bytes > w->sim->stack_bytes) bytes = w->sim->stack_bytes + 1;
  if (!memory_set_stack(w, lane, base + bytes)) return 0;
  memset(w->local[lane].written + end, SHADOW_GAP, base - end);
  return base;
}

static bool find_in(uint8_t *bytes, uint8_t *written, uint64_t size, uint64_t first,
                    uint64_t offset, uint64_t count, struct access *at) {
  if (offset < first || offset > size || count > size - offset) return false;
  *at = (struct access){.at = bytes + offset, .written = written ? written + offset : NULL};
  return true;
}

/* Shared memory of the block, or of another block of its cluster (async.c). */
static bool find_shared(struct warp *w, uint64_t offset, uint64_t bytes, struct access *at) {
  struct block *b = w->block;
  uint64_t place = offset >> CLUSTER_SHIFT;
  if (place > b->cluster->count) return false;
  if (place) b = b->cluster->blocks[place - 1];
  offset &= (UINT64_C(1) << CLUSTER_SHIFT) - 1;
  if (!b || !find_in(b->shared, b->shared_written, w->sim->shared_bytes, 0, offset, bytes, at))
    return false;
  at->shadow = &b->shadow;
  at->offset = offset;
  at->size = w->sim->shared_bytes;
  return true;
}

/* Whether some of the bytes are between variables. */
static bool in_gap(const uint8_t *written, uint64_t bytes) {
  if (bytes > 16) return memchr(written, SHADOW_GAP, bytes) != NULL;
  return bytes && (written[0] == SHADOW_GAP || written[bytes - 1] == SHADOW_GAP);
}

bool memory_find(struct warp *w, unsigned lane, uint64_t address, unsigned window, uint64_t bytes,
                 uint64_t align, bool is_write, struct access *at) {
  uint64_t offset = address;
  bool found = false;
  if (window == WINDOW_COUNT) {
    window = window_of(address) < WINDOW_COUNT ? window_of(address) : WINDOW_COUNT;
    offset = in_window(address);
  } else if (window == WINDOW_CONST) {
    offset = in_window(address);
  }
  if (window == WINDOW_CONST) offset = constant_offset(w->sim, offset);
  switch (window) {
    case WINDOW_GLOBAL:
    case WINDOW_CONST: found = find_object(w, offset, bytes, at, is_write, lane); break;
    case WINDOW_SHARED: found = find_shared(w, offset, bytes, at); break;
    case WINDOW_LOCAL:
      found = find_in(w->local[lane].bytes, w->local[lane].written, w->stack_top[lane], LOCAL_FIRST,
                      offset, bytes, at);
      break;
    case WINDOW_PARAM:
      found = !is_write && find_in(w->sim->kernel_params, NULL, w->sim->kernel->kernel_param_bytes,
                                   0, offset, bytes, at);
      break;
    default: break;
  }
  if (w->stopped) return false;
  if (!found || (at->written && in_gap(at->written, bytes)))
    return out_of_bounds(w, lane, window == WINDOW_CONST ? offset : address, window, bytes,
                         is_write);
  if (offset & (align - 1)) {
    finding_report(w, lane, SIM_MISALIGNED, "%s %U bytes at %s + %U, which is not a multiple of %U",
                   is_write ? "writes" : "reads", bytes, window_name(window),
                   window == WINDOW_CONST ? at->offset : in_object(offset), align);
    return false;
  }
  return true;
}

bool memory_is_defined(const struct warp *w, const struct access *at, uint64_t bytes) {
  if (!at->written || !w->sim->launch->check_uninitialized) return true;
  for (uint64_t i = 0; i < bytes; i++)
    if (at->written[i]) return true;
  return false;
}

bool memory_text(struct warp *w, unsigned lane, uint64_t address, struct nvm_text *text) {
  struct access at;
  if (!memory_find(w, lane, address, WINDOW_COUNT, 1, 1, false, &at)) return false;
  text->bytes = (const char *)at.at;
  for (text->length = 0;; text->length++) {
    if (!memory_find(w, lane, address + text->length, WINDOW_COUNT, 1, 1, false, &at)) return false;
    if (*at.at == 0) return true;
  }
}
