/* Arguments of `nvmini run`, and output and comparison of their results. */
#ifndef NVM_DRIVER_RUN_BUFFER_H
#define NVM_DRIVER_RUN_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "support/arena.h"
#include "support/textbuf.h"

/* An element type: `i32` signed, `u32` unsigned, `f16` `bf16` `f32` `f64`. */
struct run_type {
  char kind; /* 'i' 'u' 'f' 'b' (bfloat) */
  uint32_t bytes;
};

/* One argument: a value, or a buffer whose address the kernel gets. */
struct run_argument {
  bool is_buffer;
  struct run_type type;
  uint64_t count;   /* elements */
  uint8_t *bytes;   /* little-endian elements; owned by the arena */
  uint64_t address; /* of a buffer, in device memory */
};

/* Parses an argument. False after an error message. */
bool run_parse_argument(const char *text, struct arena *arena, struct run_argument *a);

/* Prints elements [first, last) on one line. */
void run_print_elements(struct textbuf *out, const struct run_argument *a, const uint8_t *bytes,
                        uint64_t first, uint64_t last);
/* Writes a file; .npy by its name, else raw. Returns false after an error message. */
bool run_save(const char *path, const struct run_argument *a, const uint8_t *bytes);
/* Compares the elements with `wanted`, which `what` names. Returns false after reporting the
 * differences. */
bool run_compare_elements(const char *what, const struct run_argument *a, const uint8_t *bytes,
                          const uint8_t *wanted, double tolerance, struct arena *arena);
/* Compares with a file. Returns false after reporting the differences. */
bool run_compare_file(const char *path, const struct run_argument *a, const uint8_t *bytes,
                      double tolerance, struct arena *arena);

#endif
