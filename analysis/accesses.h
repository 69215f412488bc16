/* The instructions that access memory, in the order of each block, for searches for memory
 * dependences. */
#ifndef NVM_ANALYSIS_ACCESSES_H
#define NVM_ANALYSIS_ACCESSES_H

#include "analysis/alias.h"

enum access_kind {
  ACCESS_LOAD,  /* plain: neither volatile nor atomic */
  ACCESS_STORE, /* plain */
  ACCESS_END,   /* lifetime.end; its size is left to the user */
  ACCESS_OTHER, /* anything else with effects: see alias_mod_ref */
};

struct access {
  struct memory_location where; /* ACCESS_OTHER: only .access, the instruction; END: no bytes */
  uint32_t class;               /* alias_class_of_place of its address; 0: not among `kinds` */
  uint8_t kind;                 /* enum access_kind */
  uint8_t effects;              /* EFFECT_READS | EFFECT_WRITES */
};

struct accesses {
  VEC(struct access) list;
  uint32_t *first, *end; /* by block: list.data[first .. end - 1] are its accesses */
  uint32_t *at;          /* by access: its index in the list */
};

/* In `arena`; accesses of `kinds` (bits 1 << enum access_kind, without ACCESS_OTHER) with place and
 * class of their addresses. Locations are valid as long as e. False when out of memory. */
bool accesses_collect(struct accesses *a, const struct nvm_function *f, struct alias_env *e,
                      uint32_t kinds, struct arena *arena);

#endif
