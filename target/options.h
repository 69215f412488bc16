/* The options that define a target.
 *
 * The command's options and libNVVM's strings set the same fields. FMA level, precisions, PTX
 * version and short shared pointers are feature bits, so `--fma-level 1`, `--features +fma-level=1`
 * and the library's options are equivalent. Of mutually exclusive features the last one wins. */
#ifndef NVM_TARGET_OPTIONS_H
#define NVM_TARGET_OPTIONS_H

#include "support/knobs.h"
#include "target/target.h"

struct tgt_options {
  const struct tgt_cpu *cpu;           /* NULL: not set */
  uint64_t added[TGT_FEATURE_WORDS];   /* +x; disjoint from removed */
  uint64_t removed[TGT_FEATURE_WORDS]; /* -x */
  uint32_t nvvm_given;                 /* libNVVM options seen, to detect repetition */
  uint8_t optimization_level;          /* 0..3 */
  uint8_t pointer_bits;                /* 64 or 32 */
  bool ftz;
  bool debug;
  bool narrow_accesses; /* knob enable-256-bit-load-store=0 */
  bool short_pointers;  /* knob nvptx-short-ptr */
};

/* The defaults: no CPU, -O3, 64-bit pointers, PTX version automatic, fma-level=2, prec-divf32=2,
 * prec-sqrtf32=1, no ftz. They are libNVVM's (opt 3, ftz 0, fma, prec-div and prec-sqrt 1) and
 * nvcc's: f64 is contracted too, so -fma=1 is level 2 (seed 5: "cicc default"). */
struct tgt_options tgt_default_options(void);

/* --cpu sm_90a. Fails with TGT_UNKNOWN_CPU. */
enum tgt_status tgt_set_cpu(struct tgt_options *options, const char *name, size_t length,
                            struct tgt_error *error);

/* --ptx 7.8 (or 78). Fails with TGT_UNKNOWN_PTX. */
enum tgt_status tgt_set_ptx(struct tgt_options *options, const char *text, size_t length,
                            struct tgt_error *error);

/* --fma-level 0..2, --prec-div 0..3, --prec-sqrt 0..1: sets the feature of a group by its value.
 * Fails with TGT_BAD_OPTION_VALUE. Groups: "fma-level", "prec-divf32", "prec-sqrtf32". */
enum tgt_status tgt_set_group(struct tgt_options *options, const char *group, unsigned value,
                              struct tgt_error *error);

/* --features +x,-y. Empty words are skipped. Fails with TGT_UNKNOWN_FEATURE or
 * TGT_BAD_FEATURE_SIGN, without effect. */
enum tgt_status tgt_parse_features(struct tgt_options *options, const char *list, size_t length,
                                   struct tgt_error *error);

/* One libNVVM option: -arch=compute_90a -opt=0..3 -ftz=0|1 -fma=0|1 -prec-div=0|1 -prec-sqrt=0|1
 * -g. -fma=1 is fma-level=2; -prec-div=1 is prec-divf32=2 and 0 is prec-divf32=1, since nvcc 13.0
 * emits div.full for it (measured). Each can be given once, as in libNVVM. Fails with
 * TGT_UNKNOWN_OPTION, TGT_BAD_OPTION_VALUE or TGT_REPEATED_OPTION. */
enum tgt_status tgt_parse_nvvm_option(struct tgt_options *options, const char *option,
                                      size_t length, struct tgt_error *error);

/* Applies a knob that target/ reads; others have no effect. */
void tgt_set_knob(struct tgt_options *options, enum knob knob, int32_t value);

/* Fills *error (if not NULL) and returns its status. For this folder. */
enum tgt_status tgt_fail(struct tgt_error *error, enum tgt_status status, const char *text,
                         size_t length, const char *nearest);

#endif
