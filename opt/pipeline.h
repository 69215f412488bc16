/* Pipelines: the levels' (pipelines.def), and lists of names. */
#ifndef NVM_OPT_PIPELINE_H
#define NVM_OPT_PIPELINE_H

#include "opt/pass.h"

enum { PIPELINE_MAX = 256 }; /* steps */

struct pipeline {
  struct pass_step {
    uint8_t pass;       /* enum pass_id */
    bool conditional;   /* only on functions that the last unconditional step has changed */
    uint8_t parameters; /* a bit per enum pass_parameter */
  } steps[PIPELINE_MAX];
  uint32_t count;
  unsigned holds; /* FORM_ bits that hold after the last step */
};

/* The pipeline of level "0" … "3", "s", "z", "max", "mid" or "min" (of -Ofc); of any other level
 * that of "3". Knobs add and remove stages. */
void pipeline_of_level(struct pipeline *p, const char *level, const struct knobs *knobs);

/* As in struct pass_env: 1 for level "s", 2 for "z", 0 for others and for NULL. */
uint8_t pipeline_size_effort(const char *level);

/* The passes that the knobs remove from all pipelines, a bit per pass. */
uint64_t pipeline_removed(const struct knobs *knobs);

/* Appends the passes of `list`, which are separated by commas (`+name`: conditional,
 * `name<parameter;…>`), each after those that make the forms it requires. False on a name that no
 * pass has, on a parameter that it does not have, or if there are too many steps; *refused is that
 * element of the list. */
bool pipeline_append(struct pipeline *p, struct nvm_text list, struct nvm_text *refused);

#endif
