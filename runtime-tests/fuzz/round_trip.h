/* What fuzz targets of the readers check: a module that was accepted can be printed, and its text
 * is read as the same module. */
#ifndef NVM_FUZZ_ROUND_TRIP_H
#define NVM_FUZZ_ROUND_TRIP_H

#include "nvmini.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The printed text of a module; malloc'ed. */
static inline char *printed(struct nvmini_module *m, size_t *length) {
  struct nvmini_text text;
  if (nvmini_print(m, &text) != NVMINI_OK) return NULL;
  char *copy = malloc(text.length + 1);
  if (copy != NULL) memcpy(copy, text.bytes, text.length + 1);
  *length = text.length;
  return copy;
}

/* Ends the process if printing loses or changes something. */
static inline void check_round_trip(struct nvmini_context *c, struct nvmini_module *m) {
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

#endif
