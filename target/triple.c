/* Parsing triples; see triple.h. */
#include "target/triple.h"

#include "support/textbuf.h"

static const struct {
  const char *name;
  struct triple triple;
} known[TRIPLE_COUNT] = {
    {"nvptx-nvidia-cuda", {TRIPLE_NVPTX, TRIPLE_CUDA, 32}},
    {"nvptx64-nvidia-cuda", {TRIPLE_NVPTX, TRIPLE_CUDA, 64}},
    {"nvptx-nvidia-nvcl", {TRIPLE_NVPTX, TRIPLE_NVCL, 32}},
    {"nvptx64-nvidia-nvcl", {TRIPLE_NVPTX, TRIPLE_NVCL, 64}},
    {"nvsass-nvidia-cuda", {TRIPLE_NVSASS, TRIPLE_CUDA, 0}},
    {"nvsass-nvidia-nvcl", {TRIPLE_NVSASS, TRIPLE_NVCL, 0}},
    {"nvsass-nvidia-directx", {TRIPLE_NVSASS, TRIPLE_DIRECTX, 0}},
    {"nvsass-nvidia-spirv", {TRIPLE_NVSASS, TRIPLE_SPIRV, 0}},
};

const char *triple_name(int i) { return known[i].name; }

static bool starts_with(const char *text, size_t length, const char *prefix) {
  size_t n = strlen(prefix);
  return length >= n && memcmp(text, prefix, n) == 0;
}

static bool contains(const char *text, size_t length, const char *part) {
  for (; length > 0; text++, length--)
    if (starts_with(text, length, part)) return true;
  return false;
}

/* 64 for nvptx64 or nvptx64-..., 32 for nvptx or nvptx-..., else 0. */
static uint8_t nvptx_bits(const char *text, size_t length) {
  static const char *const machine[] = {"nvptx", "nvptx64"};
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(machine[i]);
    if (starts_with(text, length, machine[i]) && (length == n || text[n] == '-'))
      return i ? 64 : 32;
  }
  return 0;
}

static enum triple_runtime runtime_of(const char *text, size_t length) {
  if (contains(text, length, "-cuda")) return TRIPLE_CUDA;
  if (contains(text, length, "-nvcl") || contains(text, length, "-nvidiacl")) return TRIPLE_NVCL;
  return TRIPLE_NO_RUNTIME;
}

enum triple_status triple_parse(struct triple *triple, enum triple_rule rule, const char *text,
                                size_t length) {
  if (length == 0) return TRIPLE_EMPTY;
  for (int i = 0; i < TRIPLE_COUNT && rule != TRIPLE_LOOSE; i++) {
    if (strlen(known[i].name) != length || memcmp(text, known[i].name, length) != 0) continue;
    *triple = known[i].triple;
    return TRIPLE_OK;
  }
  struct triple t = {TRIPLE_NVPTX, runtime_of(text, length), nvptx_bits(text, length)};
  bool loose = length > 5 && t.runtime == TRIPLE_CUDA;
  if (rule == TRIPLE_UNIFIED || t.pointer_bits == 0 || (rule == TRIPLE_LOOSE && !loose))
    return TRIPLE_INVALID;
  *triple = t;
  return TRIPLE_OK;
}

static const char *expected(enum triple_rule rule) {
  switch (rule) {
    case TRIPLE_UNIFIED: return "expected one of";
    case TRIPLE_LOOSE: return "expected nvptx-...-cuda or nvptx64-...-cuda";
    case TRIPLE_ANY: return "expected nvptx or nvptx64 before the first -, or one of";
  }
  return "";
}

void triple_describe(enum triple_status status, enum triple_rule rule, const char *text,
                     size_t length, char *buffer, size_t size) {
  struct textbuf b;
  textbuf_init_fixed(&b, buffer, size);
  if (status == TRIPLE_EMPTY) textbuf_puts(&b, "Empty target triple, must exist");
  if (status != TRIPLE_INVALID) return;
  textbuf_format(&b, "Invalid target triple (%t), %s", (struct nvm_text){text, length},
                 expected(rule));
  for (int i = 0; i < TRIPLE_COUNT && rule != TRIPLE_LOOSE; i++)
    textbuf_format(&b, "%s %s", i ? "," : "", known[i].name);
}

unsigned triple_pointer_bits(const char *text, size_t length) {
  struct triple triple;
  bool read = triple_parse(&triple, TRIPLE_ANY, text, length) == TRIPLE_OK;
  return read ? triple.pointer_bits : 0;
}
