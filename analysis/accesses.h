/* What touches memory, in the order of each block: the list that searches for memory dependences
 * walk. */
#ifndef NVM_OPT_ANALYSIS_ACCESSES_H
#define NVM_OPT_ANALYSIS_ACCESSES_H

#include "analysis/alias.h"

enum access_kind {
  ACCESS_LOAD,  /* plain: neither volatile nor atomic */
  ACCESS_STORE, /* plain */
  ACCESS_END,   /* lifetime.end: of so many bytes as whoever asks knows */
  ACCESS_OTHER, /* anything else with effects: ask alias_mod_ref */
};

struct access {
  struct memory_location
      where; /* .access: the instruction; of ACCESS_OTHER nothing else, of ACCESS_END no bytes */
  uint32_t class;  /* alias_class of its address; 0: of a kind not asked for */
  uint8_t kind;    /* enum access_kind */
  uint8_t effects; /* ALIAS_READS | ALIAS_WRITES */
};

struct accesses {
  VEC(struct access) list;
  uint32_t *first, *end; /* by block: list.data[first .. end - 1] are its accesses */
  uint32_t *at;          /* by instruction that is one: its place in the list */
};

/* In `arena`, as they are now; those of `kinds` (1 << enum access_kind, but for ACCESS_OTHER) with
 * place and class of their addresses. False when out of memory. The locations are valid as long as
 * e. */
bool accesses_collect(struct accesses *a, const struct nvm_function *f, struct alias_env *e,
                      uint32_t kinds, struct arena *arena);

#endif
