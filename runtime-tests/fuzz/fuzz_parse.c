/* Fuzzes the front end: whatever the bytes are, nvmini_parse ends with a status; what it takes can
 * be verified and printed, and what is printed parses and prints to the same bytes again. */
#include "round_trip.h"

#include <stdint.h>

enum { MEMORY_LIMIT = 512 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  struct nvmini_context *c = nvmini_create(NULL, MEMORY_LIMIT);
  if (text == NULL || c == NULL) abort();
  memcpy(text, data, size);
  text[size] = '\0';
  struct nvmini_module *m;
  if (nvmini_parse(c, text, size, "fuzz", &m) == NVMINI_BUG) abort();
  if (m != NULL && nvmini_check(m) == NVMINI_OK) check_round_trip(c, m);
  nvmini_release(m);
  nvmini_destroy(c);
  free(text);
  return 0;
}
