/* Target requirements of an instruction: a row of ptx/ops.def or ir/intrinsics.def contains "sm_90
 * ptx78", a generator converts that to this struct, and target.h checks it against a target. This
 * file uses no generated table, so generators can be linked with requirement.c alone.
 *
 * Text form: words in any order.
 *   ptxNN           lowest PTX version, ptx78 is 7.8
 *   sm_NN           that SM or any later one
 *   sm_NNa          exactly that CPU
 *   sm_NNf          sm_NNf or a later f or a CPU of its family; implies ptx88 for them
 *   tmem            any CPU with tensor memory
 *   before_sm_NN    any SM below: what later ones no longer have
 *   before_ptxNN    any .version below: what later ones no longer take
 *   X|Y|...         any one of these CPUs
 * "" needs nothing. "sm_100a|sm_100f|sm_120a ptx88", "tmem ptx86", "sm_90a ptx80". */
#ifndef NVM_TARGET_REQUIREMENT_H
#define NVM_TARGET_REQUIREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TGT_MAX_ALTERNATIVES = 8,
  TGT_FULL_SM_FAMILY = 10, /* added to sm * 100 for the suffix f */
  TGT_FULL_SM_ARCH = 11,   /* and for a: sm_103a is 10311 (seed 2's encoding) */
  TGT_PTX_FAMILY = 88,     /* family-specific features need PTX 8.8 (seed 2) */
};

struct tgt_requirement {
  uint8_t min_ptx;                       /* major * 10 + minor; 0: any */
  bool tmem;                             /* tensor memory is one of the alternatives */
  uint8_t count;                         /* of any_of; 0 without tmem: any CPU */
  uint8_t before_sm;                     /* only SMs below this; 0: all */
  uint8_t before_ptx;                    /* only PTX versions below this; 0: all */
  uint16_t any_of[TGT_MAX_ALTERNATIVES]; /* full SM versions: 9000 sm_90, 9011 sm_90a */
};

/* Parses a CPU name of the form sm_NN, sm_NNa, sm_NNf as a full SM version; 0 if invalid. */
uint16_t tgt_parse_full_sm(const char *text, size_t length);

/* Parses the text form. On failure returns false and points *bad, unless NULL, at the first invalid
 * character. */
bool tgt_parse_requirement(const char *text, struct tgt_requirement *requirement, const char **bad);

#endif
