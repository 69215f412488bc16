/* Target triples: the machine that a module is for.
 *
 * Seed 1 defines eight for its unified mode and a loose rule for the other one. Real input has
 * more: LLVM's tests and OpenCL front ends write `nvptx64-unknown-unknown` or `nvptx64--nvidiacl`,
 * so the rule of the command is TRIPLE_ANY unless --triples selects another one. */
#ifndef NVM_TARGET_TRIPLE_H
#define NVM_TARGET_TRIPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum triple_rule {
  TRIPLE_ANY,     /* the eight, and any whose first part is nvptx or nvptx64; or none */
  TRIPLE_UNIFIED, /* exactly one of the eight */
  TRIPLE_LOOSE,   /* starts with nvptx- or nvptx64- and contains -cuda */
};

enum triple_machine { TRIPLE_NVPTX, TRIPLE_NVSASS };
enum triple_runtime { TRIPLE_CUDA, TRIPLE_NVCL, TRIPLE_DIRECTX, TRIPLE_SPIRV, TRIPLE_NO_RUNTIME };

struct triple {
  enum triple_machine machine;
  enum triple_runtime runtime; /* TRIPLE_NO_RUNTIME: none known */
  uint8_t pointer_bits;        /* 32 or 64; 0 for nvsass */
};

enum triple_status { TRIPLE_OK, TRIPLE_EMPTY, TRIPLE_INVALID };

enum { TRIPLE_COUNT = 8 };

/* Parses a triple by a rule. On failure *triple is unchanged. */
enum triple_status triple_parse(struct triple *triple, enum triple_rule rule, const char *text,
                                size_t length);

/* Writes seed 1's message: "Empty target triple, must exist", "Invalid target triple (x), ...". It
 * is truncated to `size`. */
void triple_describe(enum triple_status status, enum triple_rule rule, const char *text,
                     size_t length, char *buffer, size_t size);

/* The eight triples, 0 <= i < TRIPLE_COUNT. */
const char *triple_name(int i);

/* The pointer size of a triple in bits: 32 or 64; 0: unspecified. */
unsigned triple_pointer_bits(const char *text, size_t length);

#endif
