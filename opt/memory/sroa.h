/* What the three files of sroa share: the one that splits variables (sroa.c), the one that finds
 * out which (sroa_candidates.c), and the one that makes accesses of whole structs and of one of two
 * variables such as can be split (sroa_accesses.c). */
#ifndef NVM_OPT_SROA_H
#define NVM_OPT_SROA_H

#include "opt/rewrite.h"

enum slice_kind { SLICE_LOAD, SLICE_STORE, SLICE_COPY_TO, SLICE_COPY_FROM, SLICE_SET };

struct slice {
  uint32_t begin, end; /* bytes */
  struct nvm_inst_id inst;
  enum slice_kind kind;
  struct nvm_type type; /* of a load or store */
};

enum part_form { PART_MEMORY, PART_SCALAR, PART_VECTOR, PART_INTEGER, PART_DEAD };

struct part {
  uint32_t begin, end;
  enum part_form form;
  struct nvm_type type;      /* of the new variable, unless in memory */
  struct nvm_value variable; /* its alloca */
  uint32_t pad;              /* PART_MEMORY: bytes before `begin` in it, for the alignment */
  bool read, touched;
};

/* Who names addresses in variables; lists in one table. */
struct address {       /* by instruction */
  uint32_t first;      /* use, plus 1; 0: none */
  uint32_t seen : 31;  /* the try in which this, a copy, was met or, a user, removed last */
  uint32_t wanted : 1; /* an alloca that is a candidate */
};
struct address_use {
  struct nvm_inst_id user;
  uint32_t next; /* as `first` */
};

typedef VEC(struct slice) slice_list;
typedef VEC(struct nvm_inst_id) inst_list;

struct splitter {
  struct nvm_function *f;
  struct nvm_module *m;
  struct arena *arena;
  struct rewrite rewrite;
  struct address *addresses;
  VEC(struct address_use) uses;
  uint32_t noted;               /* instructions that the two above know */
  inst_list moved;              /* accesses that got another address in this round */
  uint32_t tries, tries_before; /* to split a variable: in all, before this round */
  inst_list candidates;         /* allocas that the next round looks at */
  struct direct_uses *direct;   /* by alloca */
  uint32_t split;
  bool failed; /* out of memory */
  bool waited; /* a variable that could be split was not, in this round */
  /* The variable in hand. */
  struct nvm_inst_id alloca;
  slice_list slices;
  inst_list derived; /* addresses, lifetime markers */
  VEC(struct part) parts;
  bool has_accesses;
};

/* What might have to be taken apart before: loads of one of two places, accesses of structs,
 * members of a value. */
struct sroa_found {
  bool choices, structs, members;
};

/* Makes the allocas of the entry block candidates, but those that mem2reg takes as they are, and
 * those that cannot be split. False when out of memory. */
bool sroa_find_candidates(struct splitter *s, struct sroa_found *found);
/* Replaces such; whether there were any. */
bool sroa_split_accesses(struct splitter *s, struct sroa_found found);

/* Whether an address leads to an alloca of this function. */
bool sroa_is_in_variable(const struct splitter *s, struct nvm_value address);
/* Bytes that a store of the type writes; of the variable (0: not constant, or several); its
 * alignment. */
uint64_t sroa_size(const struct splitter *s, struct nvm_type t);
uint64_t sroa_alloca_bytes(const struct splitter *s, struct nvm_inst_id id);
uint32_t sroa_alloca_align(const struct splitter *s, const struct nvm_inst *i);
/* Bytes: the alignment of an access of the type; that of a place `offset` bytes behind an aligned
 * one. */
uint64_t sroa_access_align(const struct splitter *s, const struct nvm_inst *i,
                           struct nvm_type type);
uint64_t sroa_align_at(uint64_t align, uint64_t offset);
/* An access of that alignment, plain otherwise: the `aux` of a load or store. */
uint32_t sroa_aligned(uint64_t align);

/* New instructions in front of another, whose location they get; out of memory: poison, and
 * s->failed. */
struct nvm_value sroa_add(struct splitter *s, struct nvm_inst_id before, enum op op,
                          struct nvm_type type, const struct nvm_value *operands, uint32_t count,
                          uint32_t aux);
struct nvm_value sroa_add_load(struct splitter *s, struct nvm_inst_id before, struct nvm_type type,
                               struct nvm_value pointer, uint32_t aux);
void sroa_add_store(struct splitter *s, struct nvm_inst_id before, struct nvm_value v,
                    struct nvm_value pointer, uint32_t aux);
/* base + offset bytes. */
struct nvm_value sroa_offset_pointer(struct splitter *s, struct nvm_inst_id before,
                                     struct nvm_value base, int64_t offset);

#endif
