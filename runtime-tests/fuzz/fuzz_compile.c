/* Fuzzes the whole compile, for a CPU and options that the length of the input chooses: it ends
 * with PTX or with located errors, never otherwise, and twice with the same bytes of PTX. Where the
 * input begins with a line `; fuzz: WORDS`, the words that are levels, passes and knobs are options
 * too, so that the mutator chooses them; other words are left out. */
#include "options_line.h"

#include <stdint.h>

enum { MEMORY_LIMIT = 512 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const choices[][3] = {
    {"--cpu=sm_90a", "--fma-level=2", "--prec-div=2"},
    {"--cpu=sm_75", "--ftz", "--prec-div=0"},
    {"--cpu=sm_100a", "--fma-level=0", "--prec-sqrt=0"},
    {"--cpu=sm_52", "--fma-level=1", "--features=+sharedmem32bitptr"},
};

/* The PTX, which the caller frees; NULL if the input was refused. */
static char *compile(struct nvmini_context *c, const char *text, size_t size) {
  struct nvmini_module *m;
  struct nvmini_text ptx;
  char *copy = NULL;
  if (nvmini_parse(c, text, size, "fuzz", &m) == NVMINI_BUG) abort();
  enum nvmini_status status = m == NULL ? NVMINI_REFUSED : nvmini_compile(m, &ptx);
  if (status == NVMINI_BUG) abort();
  if (status == NVMINI_OK) {
    copy = malloc(ptx.length + 1);
    if (copy == NULL) abort();
    memcpy(copy, ptx.bytes, ptx.length + 1);
  }
  nvmini_release(m);
  return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  struct nvmini_context *c = nvmini_create(NULL, MEMORY_LIMIT);
  if (text == NULL || c == NULL) abort();
  memcpy(text, data, size);
  text[size] = '\0';
  for (int i = 0; i < 3; i++)
    if (nvmini_set_option(c, choices[size % 4][i]) != NVMINI_OK) abort();
  (void)options_take_line(c, text);
  char *first = compile(c, text, size), *second = first ? compile(c, text, size) : NULL;
  if ((first == NULL) != (second == NULL) || (first && strcmp(first, second) != 0)) abort();
  free(first);
  free(second);
  nvmini_destroy(c);
  free(text);
  return 0;
}
