/* Intrinsics: functions named llvm.* whose meaning the compiler knows. One row each in
 * intrinsics.def, families as patterns that gen_intrinsics expands. */
#ifndef NVM_IR_INTRINSIC_H
#define NVM_IR_INTRINSIC_H

#include "ir/type.h"
#include "ir/value.h"
#include "intrinsics.h" /* generated: enum intrinsic_id { INTRINSIC_NONE, INTRINSIC_abs, …,
                           INTRINSIC_nvvm_activemask, … INTRINSIC_COUNT }, in the order of names */

enum {
  INTRIN_READS = 1 << 0,  /* may read memory */
  INTRIN_WRITES = 1 << 1, /* may write memory */
  INTRIN_ARGMEM = 1 << 2, /* touches memory only through its pointer arguments */
  INTRIN_CONVERGENT = 1 << 3,
  INTRIN_SPECULATABLE = 1 << 4,
  INTRIN_NORETURN = 1 << 5,
  INTRIN_COMMUTES = 1 << 6,
};

struct intrinsic_info {
  const char *name;      /* base name without the overload suffix: "llvm.fabs" */
  const char *signature; /* the mini language described at the head of intrinsics.def */
  const char *ptx;       /* how it is lowered: a PTX form, "@function" of codegen/, or "!" and why
                            it is refused */
  uint16_t flags;        /* INTRIN_ */
  uint16_t overloads;    /* how many types its suffix names */
  const char *requires;  /* "" or e.g. "sm_90 ptx78"; see target/requirement.h */
};

/* [INTRINSIC_NONE] has empty texts. */
extern const struct intrinsic_info intrinsic_table[INTRINSIC_COUNT];

/* The intrinsic a function's name denotes: the longest row whose name is `name` or a prefix of it
 * that ends before `.` (the rest being overload suffixes); INTRINSIC_NONE if there is none. A row
 * without overloads takes no suffix. */
enum intrinsic_id intrinsic_find(const char *name, size_t length);

/* The intrinsic whose name is the fewest edits away from an unknown one; INTRINSIC_NONE if none is
 * near. Looks at the whole table: for messages only. */
enum intrinsic_id intrinsic_nearest(const char *name, size_t length);

/* Whether `type` (TY_FUNCTION) is what the signature asks for; if not, `why` (may be NULL) gets a
 * sentence: which position, expected, found. */
bool intrinsic_check_type(const struct type_table *t, enum intrinsic_id id, struct nvm_type type,
                          struct textbuf *why);

struct nvm_module;
/* The declaration of an intrinsic for these overloads (llvm.memcpy.p0.p1.i64), made if the module
 * has none. `type` is the function's. VALUE_NULL when out of memory, or if the name is something
 * else's. */
struct nvm_value intrinsic_declare(struct nvm_module *m, enum intrinsic_id id,
                                   const struct nvm_type *overloads, uint32_t count,
                                   struct nvm_type type);

/* Whether argument `index` must be a constant (`imm` in the signature). */
bool intrinsic_arg_is_immediate(enum intrinsic_id id, uint32_t index);

#endif
