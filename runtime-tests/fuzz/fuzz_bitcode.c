/* Fuzzes the bitcode reader: whatever the bytes are, nvmini_parse ends with a status; what the
 * verifier accepts can be printed, and the text is read again as the same module.
 *
 * Flipped bits rarely survive the stream's abbreviations and lengths. So with libFuzzer most
 * mutations change records: the stream is decoded, numbers, codes and records are changed, and it
 * is written again without abbreviations. */
#include "round_trip.h"

#include "frontend/bitcode/bits.h"
#include "random.h"

enum { MEMORY_LIMIT = 32 << 20 }; /* vectors of 65,536 lanes take seconds with more */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

/* ---- The target ---- */

static void check_compile(struct nvmini_context *c, struct nvmini_module *m) {
  struct nvmini_text ptx;
  if (nvmini_set_option(c, "--cpu=sm_90a") != NVMINI_OK) abort();
  if (nvmini_set_option(c, "-O1") != NVMINI_OK) abort();
  if (nvmini_compile(m, &ptx) == NVMINI_BUG) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 1);
  struct nvmini_context *c = nvmini_create(NULL, MEMORY_LIMIT);
  if (bytes == NULL || c == NULL) abort();
  memcpy(bytes, data, size);
  bytes[size] = '\0';
  struct nvmini_module *m;
  if (nvmini_parse(c, bytes, size, "fuzz", &m) == NVMINI_BUG) abort();
  if (m != NULL && nvmini_check(m) == NVMINI_OK) {
    check_round_trip(c, m);
    if (size % 64 == 0) check_compile(c, m);
  }
  nvmini_release(m);
  nvmini_destroy(c);
  free(bytes);
  return 0;
}

/* ---- The mutator: a stream as a list of events ---- */

struct event {
  enum bits_event kind;
  uint32_t code, first, count;
  const char *blob;
  uint64_t blob_size;
};

struct mutator {
  struct arena arena;
  VEC(struct event) events;
  VEC(uint64_t) numbers;
  struct random random;
};

static uint64_t below(struct mutator *m, uint64_t n) { return random_below(&m->random, n); }

static bool decode(struct mutator *m, const uint8_t *data, size_t size) {
  struct bits b;
  struct bits_record r;
  bits_init(&b, &m->arena, data, size);
  bits_seek(&b, 32);
  for (;;) {
    enum bits_event kind = bits_next(&b, &r);
    if (kind == BITS_ERROR || (kind == BITS_BLOCK && !bits_enter(&b))) return false;
    if (kind == BITS_END && b.at + 64 > (uint64_t)size * 8 && b.depth == 1) break;
    struct event e = {kind, r.code, m->numbers.count, 0, r.blob, r.blob_size};
    if (kind == BITS_RECORD) e.count = r.count;
    for (uint32_t i = 0; i < e.count; i++)
      if (!VEC_PUSH(&m->arena, &m->numbers, r.numbers[i])) return false;
    if (!VEC_PUSH(&m->arena, &m->events, e)) return false;
  }
  struct event end = {BITS_END, 0, 0, 0, NULL, 0};
  return VEC_PUSH(&m->arena, &m->events, end);
}

static uint64_t new_number(struct mutator *m, uint64_t old) {
  static const uint64_t extremes[] = {0,          1,          2,          255,        1 << 16,
                                      0x7fffffff, 0xffffffff, 0xfffffffe, UINT64_MAX, 1ull << 63};
  switch (below(m, 6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return below(m, 64);
    case 3: return extremes[below(m, sizeof extremes / sizeof *extremes)];
    case 4: return old ^ (UINT64_C(1) << below(m, 33));
    default: return m->numbers.count ? m->numbers.data[below(m, m->numbers.count)] : old;
  }
}

static void change(struct mutator *m) {
  struct event *e = &m->events.data[below(m, m->events.count)];
  struct event *other = &m->events.data[below(m, m->events.count)];
  if (e->kind != BITS_RECORD) {
    if (e->kind == BITS_BLOCK && below(m, 8) == 0) e->code = 8 + (uint32_t)below(m, 20);
    return;
  }
  switch (below(m, 10)) {
    case 0: e->code = (uint32_t)below(m, 70); break;
    case 1: e->count = (uint32_t)below(m, e->count + 1); break;
    case 2:
      if (other->kind == BITS_RECORD) *e = *other;
      break;
    case 3:
      if (other->kind == BITS_RECORD) e->first = other->first, e->count = other->count;
      break;
    default:
      if (e->count) {
        uint64_t *n = &m->numbers.data[e->first + below(m, e->count)];
        *n = new_number(m, *n);
      }
  }
}

/* ---- Writing; abbreviation numbers have 16 bits ---- */

enum { WIDTH = 16, MAX_DEPTH = 64 };

struct writer {
  uint8_t *bytes;
  size_t size; /* room */
  uint64_t at; /* bits */
};

static void put(struct writer *w, uint64_t value, uint32_t width) {
  while (width > 0) {
    uint32_t shift = (uint32_t)(w->at % 8), count = 8 - shift < width ? 8 - shift : width;
    uint32_t mask = ((1u << count) - 1) << shift;
    if (w->at / 8 < w->size) {
      uint8_t *byte = &w->bytes[w->at / 8];
      *byte = (uint8_t)((*byte & ~mask) | ((uint32_t)value << shift & mask));
    }
    value >>= count, width -= count, w->at += count;
  }
}

static void put_vbr(struct writer *w, uint64_t value, uint32_t width) {
  uint64_t more = UINT64_C(1) << (width - 1);
  for (; value >= more; value >>= width - 1) put(w, (value & (more - 1)) | more, width);
  put(w, value, width);
}

static void align(struct writer *w) { put(w, 0, (uint32_t)(-w->at & 31)); }

/* A record with a blob needs an abbreviation: the code and the numbers, then the blob. */
static void put_blob(struct writer *w, const struct mutator *m, const struct event *e,
                     uint32_t width, uint32_t abbreviation) {
  put(w, 2, width);
  put_vbr(w, e->count + 2, 5);
  for (uint32_t i = 0; i < e->count + 1; i++) put(w, 0, 1), put(w, CODING_VBR, 3), put_vbr(w, 6, 5);
  put(w, 0, 1), put(w, CODING_BLOB, 3);
  put(w, 4 + abbreviation, width);
  put_vbr(w, e->code, 6);
  for (uint32_t i = 0; i < e->count; i++) put_vbr(w, m->numbers.data[e->first + i], 6);
  put_vbr(w, e->blob_size, 6);
  align(w);
  for (uint64_t i = 0; i < e->blob_size; i++) put(w, (unsigned char)e->blob[i], 8);
  align(w);
}

static void put_record(struct writer *w, const struct mutator *m, const struct event *e,
                       uint32_t width) {
  put(w, 3, width);
  put_vbr(w, e->code, 6);
  put_vbr(w, e->count, 6);
  for (uint32_t i = 0; i < e->count; i++) put_vbr(w, m->numbers.data[e->first + i], 6);
}

static size_t encode(const struct mutator *m, uint8_t *data, size_t size) {
  struct writer w = {data, size, 0};
  uint64_t begins[MAX_DEPTH];
  uint32_t depth = 0, blobs[MAX_DEPTH] = {0};
  put(&w, 0xDEC04342, 32);
  for (uint32_t i = 0; i < m->events.count; i++) {
    const struct event *e = &m->events.data[i];
    uint32_t width = depth ? WIDTH : 2;
    if (e->kind == BITS_BLOCK && depth < MAX_DEPTH) {
      put(&w, 1, width), put_vbr(&w, e->code, 8), put_vbr(&w, WIDTH, 4), align(&w);
      put(&w, 0, 32);
      blobs[depth] = 0;
      begins[depth++] = w.at;
    } else if (e->kind == BITS_END && depth > 0) {
      put(&w, 0, width), align(&w);
      uint64_t end = w.at;
      w.at = begins[--depth] - 32;
      put(&w, (end - begins[depth]) / 32, 32);
      w.at = end;
    } else if (e->kind == BITS_RECORD && depth > 0) {
      if (e->blob) put_blob(&w, m, e, width, blobs[depth - 1]++);
      else put_record(&w, m, e, width);
    }
  }
  return w.at / 8 <= size ? (size_t)(w.at / 8) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  struct mutator m = {.random = {seed}};
  size_t made = 0;
  arena_init(&m.arena, nvm_default_allocator);
  const uint8_t *copy = (const uint8_t *)arena_copy(&m.arena, data, size);
  if (copy && size >= 4 && below(&m, 8) != 0 && decode(&m, copy, size) && m.events.count > 1) {
    for (uint64_t i = 0, count = 1 + below(&m, 4); i < count; i++) change(&m);
    made = encode(&m, data, max_size);
  }
  arena_free(&m.arena);
  if (made) return made;
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
}
