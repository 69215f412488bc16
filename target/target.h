/* The target: the GPU to compile for, its properties, and compatibility.
 *
 * All facts are rows of target/nvptx.def; this file looks them up and answers questions. A `struct
 * nvm_target` is built once per compilation by tgt_init() from `struct tgt_options`, which the
 * command's options and libNVVM's option strings set. It is a plain value that owns nothing and
 * points only into constant tables.
 *
 * PTX versions are numbers major * 10 + minor: 78 is PTX 7.8. SM versions are numbers as in the
 * name: 90 for sm_90 and sm_90a; "full" SM versions carry the suffix: 9011 for sm_90a. */
#ifndef NVM_TARGET_TARGET_H
#define NVM_TARGET_TARGET_H

#include "nvptx_tables.h"
#include "target/requirement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Rows of the tables ---- */

struct tgt_name {
  const char *text;
  size_t length;
};

struct tgt_described {
  const char *name;
  const char *description;
  const char *source; /* "seed2", "memory[U]"; "": none */
};

/* A number, its source, and whether the source is unverified ([U]). */
struct tgt_number {
  uint32_t value;
  enum tgt_source source;
  bool unverified;
};

struct tgt_limits {
  const char *name; /* "cc9.0" */
  struct tgt_number number[TGT_LIMIT_COUNT];
};

/* Results per clock and SM, by class of instruction; 0: the CPU has no such instruction. */
struct tgt_throughput {
  const char *name; /* a generation: "hopper" */
  struct tgt_number number[TGT_CLASS_COUNT];
};

/* Cycles until a dependent instruction can start, by kind of the producer. */
struct tgt_latency {
  const char *name;
  struct tgt_number number[TGT_WAIT_COUNT];
};

/* Machine instructions of an operation, by scalar type; 0: undefined. */
struct tgt_operation {
  const char *name;             /* "divide" */
  enum tgt_class integer_class; /* of its integer instructions */
  bool special;                 /* on floats it uses the special-function unit */
  struct tgt_number number[TGT_TYPE_COUNT];
};

struct tgt_cpu {
  const char *name;    /* "sm_90a" */
  const char *product; /* "Hopper GH100 ..." */
  uint64_t implies[TGT_FEATURE_WORDS];
  uint64_t tune_implies[TGT_FEATURE_WORDS]; /* zero in every row, as in seed 5 */
  uint16_t sm;                              /* 90 */
  uint16_t full_sm;                         /* 9011 */
  uint16_t elf_byte;                        /* target byte of a cubin; 0: not known */
  uint16_t self;                            /* index of its own feature bit */
  char suffix;                              /* 'a', 'f' or 0 */
  uint8_t min_ptx;                          /* lowest .version that supports it: 80 */
  uint8_t ptx_code;                         /* 5 legacy, 6 modern, 7 extended (seed 1) */
  bool placeholder;                         /* a name without hardware: sm_73, sm_82 */
  bool version_unverified;                  /* min_ptx is marked [U] */
  enum tgt_source version_source;
  const char *index_source, *elf_source, *code_source; /* of self, elf_byte, ptx_code */
  enum tgt_family family;
  enum tgt_limits_index limits;
  enum tgt_generation generation;
};

struct tgt_feature {
  const char *key;
  const char *description;
  const char *group;  /* features of one group exclude each other: "fma-level", "ptx"; or "" */
  const char *source; /* of its index */
  uint64_t implies[TGT_FEATURE_WORDS]; /* zero in every row, as in seed 5 */
  uint16_t index;                      /* its bit */
  uint16_t value;                      /* 2 of fma-level=2, 80 of ptx80 */
};

/* The kinds of machine values; pointers are integers. */
enum tgt_scalar { TGT_INTEGER, TGT_HALF, TGT_BFLOAT, TGT_FLOAT, TGT_DOUBLE };

/* How values of a type are legalized (seed 1's five actions). */
enum tgt_action {
  TGT_LEGAL,
  TGT_PROMOTE,   /* to the next wider type of its kind; half and bfloat to float */
  TGT_EXPAND,    /* into two halves of the width */
  TGT_SCALARIZE, /* into its lanes */
  TGT_SPLIT,     /* into two vectors of half the lanes */
};
const char *tgt_action_name(enum tgt_action action);

/* A machine type: `with` if the target meets the requirement, otherwise `without`. */
struct tgt_legality {
  const char *name; /* "v2f16" */
  const char *source;
  const char *requires; /* the text of `need` */
  enum tgt_scalar scalar;
  uint16_t bits; /* of a lane */
  uint16_t lanes;
  enum tgt_action with;
  enum tgt_action without;
  enum tgt_family
      gains; /* `with` in this family only (elsewhere it is not faster); none: everywhere */
  struct tgt_requirement need;
};

/* ---- Errors ---- */

enum tgt_status {
  TGT_OK,
  TGT_NO_CPU,           /* no CPU in the options */
  TGT_UNKNOWN_CPU,      /* text: the name; nearest: a CPU */
  TGT_UNKNOWN_FEATURE,  /* text: the word; nearest: a feature */
  TGT_BAD_FEATURE_SIGN, /* text: the word without + or - */
  TGT_CPU_FEATURE,      /* text: a CPU's own feature, +x of another or -x of the selected one */
  TGT_UNKNOWN_PTX,      /* given: the version, or text if invalid */
  TGT_PTX_TOO_LOW,      /* text: the CPU; needed and given: versions */
  TGT_UNKNOWN_OPTION,   /* text: the option; nearest: an option, or NULL */
  TGT_BAD_OPTION_VALUE, /* text: the option with its value */
  TGT_REPEATED_OPTION,  /* text: the option's name */
};

/* An error, for the caller to report. `nearest` points into constant tables. */
struct tgt_error {
  enum tgt_status status;
  char text[64];       /* the offending text, possibly truncated */
  const char *nearest; /* spelling suggestion, or NULL */
  unsigned needed;
  unsigned given;
};

/* Writes the message: "unknown CPU 'sm_95'; did you mean 'sm_90'?". It is truncated to `size`. */
void tgt_describe_error(const struct tgt_error *error, char *buffer, size_t size);

/* ---- The target ---- */

struct nvm_target {
  const struct tgt_cpu *cpu;
  uint64_t bits[TGT_FEATURE_WORDS];
  uint16_t sm;                /* 90 for sm_90a */
  uint16_t full_sm;           /* 9011 for sm_90a */
  uint8_t ptx;                /* requested version; 0: the lowest that the code needs */
  uint8_t fma_level;          /* 0 never fuse, 1 f32 only, 2 everywhere */
  uint8_t prec_div;           /* 0 approx, 1 full, 2 rn (.ftz if ftz), 3 rn without .ftz */
  uint8_t prec_sqrt;          /* 0 approx, 1 rn */
  uint8_t pointer_bits;       /* 64 or 32: generic and global pointers */
  uint8_t optimization_level; /* 0..3 */
  bool ftz;                   /* f32 denormals are flushed */
  bool has_tmem;              /* bit TGT_FEATURE_TMEM, for hot paths */
  bool short_shared_pointers; /* bit TGT_FEATURE_SHAREDMEM32BITPTR: shared pointers are 32 bits */
  bool short_pointers;        /* constant and local pointers are 32 bits too (knob) */
  bool long_shared_pointers;  /* the options disable sharedmem32bitptr */
  bool debug;                 /* -g */
  bool narrow_accesses;       /* no 256-bit accesses (knob) */
};

struct tgt_options; /* target/options.h */

/* Builds a target: the CPU's feature bits, then the removed and added features of the options, then
 * all other fields. On failure *target is unchanged. */
enum tgt_status tgt_init(struct nvm_target *target, const struct tgt_options *options,
                         struct tgt_error *error);

/* ---- Looking up rows ---- */

/* The row of that name, or NULL. Binary search. */
const struct tgt_cpu *tgt_find_cpu(const char *name, size_t length);
const struct tgt_feature *tgt_find_feature(const char *key, size_t length);

/* The CPU with the smallest edit distance, among equals the one nearest in number. Also takes
 * compute_NN. NULL if none is near or has that number. */
const struct tgt_cpu *tgt_nearest_cpu(const char *name, size_t length);
/* The feature with the smallest edit distance, or NULL if none is near. */
const struct tgt_feature *tgt_nearest_feature(const char *key, size_t length);

/* All rows in table order: CPUs as strcmp sorts, features by key. */
const struct tgt_cpu *tgt_cpus(void);         /* TGT_CPU_COUNT of them */
const struct tgt_feature *tgt_features(void); /* TGT_FEATURE_COUNT of them */
const struct tgt_limits *tgt_limits_of(const struct tgt_cpu *cpu);
const struct tgt_throughput *tgt_throughput_of(enum tgt_generation generation);
const struct tgt_latency *tgt_latency_of(enum tgt_generation generation);
const struct tgt_operation *tgt_operation_of(enum tgt_operation_index operation);
const struct tgt_described *tgt_source_of(enum tgt_source source);
const struct tgt_described *tgt_limit_column(enum tgt_limit limit);
const struct tgt_described *tgt_class_column(enum tgt_class class);
const struct tgt_described *tgt_wait_column(enum tgt_wait wait);
const struct tgt_described *tgt_type_column(enum tgt_type type);
const struct tgt_described *tgt_need_name(enum tgt_need need); /* description: the requirement */
const struct tgt_described *tgt_family_of(enum tgt_family family); /* NULL for none */

/* Whether the version exists: 78 does, 79 does not. */
bool tgt_is_ptx_version(unsigned version);

/* Disagreements between sources, and which one the table follows: TGT_DIFFERS_COUNT rows. */
const struct tgt_described *tgt_differences(void);

/* The rows of machine types: TGT_LEGALITY_COUNT of them. */
const struct tgt_legality *tgt_legalities(void);

/* One limit of a CPU: tgt_limit(cpu, TGT_LIMIT_WARPS_PER_SM). */
uint32_t tgt_limit(const struct tgt_cpu *cpu, enum tgt_limit limit);

/* ---- Questions ---- */

static inline bool tgt_has_feature(const struct nvm_target *target, unsigned index) {
  return index < TGT_FEATURE_COUNT && (target->bits[index >> 6] >> (index & 63) & 1) != 0;
}

/* Lowest .version for a CPU. */
unsigned tgt_ptx_for(const struct tgt_cpu *cpu);

/* The value of __CUDA_ARCH__: 900 for sm_90 and sm_90a. */
unsigned tgt_cuda_arch(const struct tgt_cpu *cpu);

/* Whether PTX for `ptx_target` runs on `device`. Seed 2's order: base code runs on every later SM;
 * f code on later CPUs of its family (also on base devices, so pass sm_103a or sm_103f to ask about
 * hardware); a code only on the same CPU. */
bool tgt_can_run(const struct tgt_cpu *ptx_target, const struct tgt_cpu *device);

/* ---- Requirements of instructions ---- */

/* Whether the target meets the requirement with this PTX version. */
bool tgt_satisfies(const struct nvm_target *target, unsigned ptx,
                   const struct tgt_requirement *requirement);

/* The same with the requested version, or with the highest one if it is automatic. */
bool tgt_allows(const struct nvm_target *target, const struct tgt_requirement *requirement);

/* A `req` row, and whether the target allows it. */
const struct tgt_requirement *tgt_need_of(enum tgt_need need);
bool tgt_has(const struct nvm_target *target, enum tgt_need need);

/* Lowest PTX version with which the target meets the requirement (at least the CPU's own); 0 if
 * none does. */
unsigned tgt_ptx_needed(const struct nvm_target *target, const struct tgt_requirement *requirement);

/* Writes the unmet requirement: "needs sm_90a and PTX 8.0; the target is sm_90; nearest CPU that
 * has it: sm_90a". It is truncated to `size`. */
void tgt_describe_missing(const struct nvm_target *target,
                          const struct tgt_requirement *requirement, char *buffer, size_t size);

/* ---- Types ---- */

/* The legalization of `lanes` lanes (1: a scalar) of `bits` bits each. A type without a row:
 * integers are promoted to the next type that has one, vectors of more than 128 bits or of a type
 * that is legal in pairs are split, other vectors scalarized, integers above 128 bits expanded. */
enum tgt_action tgt_type_action(const struct nvm_target *target, enum tgt_scalar scalar,
                                unsigned bits, unsigned lanes);

/* Whether two such lanes share a 32-bit register. If the pair has a row, they do on every CPU: CPUs
 * that compute lane by lane still load, move and pass the pair as one. */
bool tgt_pair_fills_register(enum tgt_scalar scalar, unsigned bits);

#endif
