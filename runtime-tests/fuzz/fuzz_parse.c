/* Fuzzes the front end: whatever the bytes are, nvmini_parse ends with a status; what it takes can
 * be verified and printed, and what is printed parses and prints to the same bytes again. */
#include "nvmini.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_LIMIT = 512 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The printed text of a module; malloc'ed. */
static char *printed(struct nvmini_module *m, size_t *length) {
  struct nvmini_text text;
  if (nvmini_print(m, &text) != NVMINI_OK) return NULL;
  char *copy = malloc(text.length + 1);
  if (copy != NULL) memcpy(copy, text.bytes, text.length + 1);
  *length = text.length;
  return copy;
}

/* A module that was accepted must survive being printed. */
static void check_round_trip(struct nvmini_context *c, struct nvmini_module *m) {
  size_t length, again_length;
  char *once = printed(m, &length);
  if (once == NULL) return;
  struct nvmini_module *again;
  enum nvmini_status status = nvmini_parse(c, once, length, "printed", &again);
  if (status == NVMINI_REFUSED || status == NVMINI_BUG) {
    fprintf(stderr, "the printed text is refused\n%s\n", once);
    abort();
  }
  char *twice = again == NULL ? NULL : printed(again, &again_length);
  if (twice != NULL && (length != again_length || memcmp(once, twice, length) != 0)) {
    fprintf(stderr, "printing changes the text\n--- once\n%s\n--- twice\n%s\n", once, twice);
    abort();
  }
  nvmini_release(again);
  free(once);
  free(twice);
}

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
