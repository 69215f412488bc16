/* Data layout strings: parsed into the IR's `struct nvm_layout`, checked, compared.
 *
 * Sources: seed 1 (three variants, messages, the short form of the link check), LangRef's section
 * on data layouts (syntax and defaults), and what clang 14, clang 19 and later LLVM print for
 * nvptx: `e-i64:64-i128:128-v16:16-v32:32-n16:32:64`, the same with `p:32:32`, `p6:32:32`,
 * `i256:256`, or with `p3:32:32-p4:32:32-p5:32:32` under -nvptx-short-ptr (later LLVM: p6, p7 and
 * p101, too).
 *
 * A module without a layout is not an error here: the caller decides, and may use
 * datalayout_text(). */
#ifndef NVM_TARGET_DATALAYOUT_H
#define NVM_TARGET_DATALAYOUT_H

#include "ir/layout.h"
#include "target/target.h"

enum datalayout_variant { DATALAYOUT_64_SHORT_SHARED, DATALAYOUT_64, DATALAYOUT_32 };

enum datalayout_status {
  DATALAYOUT_OK,
  DATALAYOUT_EMPTY,
  DATALAYOUT_SYNTAX,      /* an item that LangRef does not define */
  DATALAYOUT_UNSUPPORTED, /* not a layout of NVIDIA GPUs: big endian, 16-bit pointers … */
};

/* The offending item: a range of bytes of the layout string. */
struct datalayout_error {
  enum datalayout_status status;
  size_t begin;
  size_t length;
};

/* Seed 1's full text of a variant. */
const char *datalayout_text(enum datalayout_variant variant);

/* The short form that libdevice has. */
const char *datalayout_link_form(void);

/* Parses a layout string. Missing items have LangRef's defaults; pointers of unnamed address spaces
 * are as in space 0. `error` may be NULL. On failure *layout is unchanged. */
enum datalayout_status datalayout_parse(struct nvm_layout *layout, const char *text, size_t length,
                                        struct datalayout_error *error);

/* Writes seed 1's message: "Empty target data layout, must exist", or "Invalid target data layout:
 * ..." and "Example valid data layout:" with a 32-bit and a 64-bit one, on separate lines. It is
 * truncated to `size`. */
void datalayout_describe(const struct datalayout_error *error, const char *text, char *buffer,
                         size_t size);

/* Whether modules with these layout strings can be linked: if both describe the same layout, or if
 * one is libdevice's short form `e-i64:64-v16:16-v32:32-n16:32:64` and the other is any 64-bit
 * layout (seed 1's link check). If not, writes the reason: "pointers of address space 3 have 64
 * bits in one and 32 in the other". Both must be valid. */
bool datalayout_compatible(const char *a, size_t a_length, const char *b, size_t b_length,
                           char *why, size_t size);

/* Sets the pointer sizes of a module without layout: 64 or 32 bits by its triple (0: 64), for
 * shared, constant and local memory as in the target. */
void datalayout_adopt(struct nvm_layout *layout, unsigned pointer_bits,
                      const struct nvm_target *target);

/* The target for a module with this layout, which determines the pointer width, and short shared
 * pointers unless the options do. */
struct nvm_target datalayout_target(const struct nvm_layout *layout,
                                    const struct nvm_target *target);

/* Whether a layout matches the target's pointer width and short shared pointers. If not, writes the
 * reason. */
bool datalayout_agrees(const struct nvm_layout *layout, const struct nvm_target *target, char *why,
                       size_t size);

#endif
