/* Shared by the files of sroa: sroa.c splits variables, sroa_parts.c finds their parts,
 * sroa_candidates.c selects them, sroa_accesses.c splits accesses of structs and of selected
 * variables. */
#ifndef NVM_OPT_SROA_H
#define NVM_OPT_SROA_H

#include "ir/build.h"
#include "opt/rewrite.h"

enum slice_kind {
  SLICE_LOAD,
  SLICE_STORE,
  SLICE_COPY_TO,
  SLICE_COPY_FROM,
  SLICE_SET,
  SLICE_UNDEF /* a store of an undefined struct or array */
};

struct slice {
  uint32_t begin, end; /* bytes */
  struct nvm_inst_id inst;
  enum slice_kind kind;
  struct nvm_type type; /* of a load or store */
};

static inline bool slice_is_uncut(const struct slice *c) {
  return c->kind == SLICE_LOAD || c->kind == SLICE_STORE;
}

enum part_form { PART_MEMORY, PART_SCALAR, PART_VECTOR, PART_INTEGER, PART_DEAD };

struct part {
  uint32_t begin, end;
  enum part_form form;
  struct nvm_type type;      /* of the new variable, unless in memory */
  struct nvm_value variable; /* its alloca */
  uint32_t pad;              /* PART_MEMORY: bytes before `begin` in it, which keep the alignment */
  bool read, touched;
};

static inline bool slice_overlaps(const struct slice *c, const struct part *p) {
  return c->begin < p->end && p->begin < c->end;
}
static inline bool slice_covers(const struct slice *c, const struct part *p) {
  return c->begin <= p->begin && c->end >= p->end;
}
/* Begin and end of the intersection, in bytes. */
static inline uint32_t overlap_begin(const struct slice *c, const struct part *p) {
  return c->begin > p->begin ? c->begin : p->begin;
}
static inline uint32_t overlap_end(const struct slice *c, const struct part *p) {
  return c->end < p->end ? c->end : p->end;
}

/* Use lists of the addresses in variables, in one table. */
struct address {       /* by instruction */
  uint32_t first;      /* index + 1 into uses; 0: none */
  uint32_t seen : 31;  /* number of the last attempt that reached this copy, or removed this user */
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
  struct builder b; /* before the instruction that is replaced */
  struct address *addresses;
  VEC(struct address_use) uses;
  uint32_t noted;               /* number of instructions in the two above */
  inst_list moved;              /* accesses that got a new address in this round */
  uint32_t tries, tries_before; /* number of tries to split a variable: in all, before this round */
  inst_list candidates;         /* allocas for the next round */
  struct direct_uses *direct;   /* by alloca */
  uint32_t split;
  uint32_t old_count; /* instructions before accesses through selects were split */
  bool failed;        /* out of memory */
  bool postponed;     /* a variable was left for a later round */
  /* The current variable. */
  struct nvm_inst_id alloca;
  slice_list slices;
  inst_list derived; /* addresses, lifetime markers */
  VEC(struct part) parts;
  bool has_accesses;
};

/* Which rules of sroa_split_accesses() may apply: accesses through a select, accesses of
 * structs, extractvalue. */
struct sroa_found {
  bool choices, structs, members;
};

/* Collects the allocas of the entry block as candidates, except promotable ones and those that
 * cannot be split. False when out of memory. */
bool sroa_find_candidates(struct splitter *s, struct sroa_found *found);
/* Applies these rules. Whether anything changed. */
bool sroa_split_accesses(struct splitter *s, struct sroa_found found);

enum { SROA_MAX_PARTS = 128 }; /* of a variable that is split */

/* Makes a part of each set of overlapping uncut slices, and parts of the gaps between them that
 * copies reach, up to SROA_MAX_PARTS parts. False when out of memory. */
bool sroa_find_parts(struct splitter *s, uint32_t size);
/* Sets form, type, `read` and `touched` of a part. */
void sroa_choose_form(struct splitter *s, struct part *p);

/* Whether an address points to an alloca of this function. */
bool sroa_is_in_variable(const struct splitter *s, struct nvm_value address);
/* The store size of a type, in bytes. */
uint64_t sroa_size(const struct splitter *s, struct nvm_type t);
/* Bytes: the alignment at `offset` from an aligned address. */
uint64_t sroa_align_at(uint64_t align, uint64_t offset);
/* A plain access of that alignment, as `aux` of a load or store. */
uint32_t sroa_aligned(uint64_t align);

#endif
