/* Intrinsics: functions named llvm.* with a meaning. Each is a row of intrinsics.def; families are
 * patterns that gen_intrinsics expands. */
#ifndef NVM_IR_INTRINSIC_H
#define NVM_IR_INTRINSIC_H

#include "ir/type.h"
#include "ir/value.h"
#include "intrinsics.h" /* generated: enum intrinsic_id { INTRINSIC_NONE, INTRINSIC_abs, …,
                           INTRINSIC_nvvm_activemask, … INTRINSIC_COUNT }, in the order of names */

enum {
  INTRIN_READS = 1 << 0,  /* may read memory */
  INTRIN_WRITES = 1 << 1, /* may write memory */
  INTRIN_ARGMEM = 1 << 2, /* accesses memory only through pointer arguments */
  INTRIN_CONVERGENT = 1 << 3,
  INTRIN_SPECULATABLE = 1 << 4,
  INTRIN_NORETURN = 1 << 5,
  INTRIN_COMMUTES = 1 << 6,
};

struct intrinsic_info {
  const char *name;      /* base name without the overload suffix: "llvm.fabs" */
  const char *signature; /* syntax: see the head of intrinsics.def */
  const char *ptx; /* lowering: a PTX form, "@function" of codegen/, or "!" and an error message */
  uint16_t flags;  /* INTRIN_ */
  uint16_t overloads; /* number of types in its suffix */
  const char *
    requires; /* "" or e.g. "sm_90 ptx78"; see target/requirement.h */
};

/* [INTRINSIC_NONE] has empty texts. */
extern const struct intrinsic_info intrinsic_table[INTRINSIC_COUNT];

/* The intrinsic of a function name: the row with the longest name that is `name` or a prefix of it
 * before a `.` (followed by overload suffixes); INTRINSIC_NONE: none. A row without overloads takes
 * no suffix. */
enum intrinsic_id intrinsic_find(const char *name, size_t length);

/* The intrinsic with the smallest edit distance from an unknown name; INTRINSIC_NONE if none is
 * near. Linear in the table: for messages only. */
enum intrinsic_id intrinsic_nearest(const char *name, size_t length);

/* Whether `type` (TY_FUNCTION) matches the signature; if not, `why` (may be NULL) gets position,
 * expected and found type. */
bool intrinsic_check_type(const struct type_table *t, enum intrinsic_id id, struct nvm_type type,
                          struct textbuf *why);

struct nvm_module;
/* The declaration of an intrinsic with the function type `type` and the name `wanted`, or that name
 * and a number: a declaration whose suffix does not fit its type can have the name. VALUE_NULL if
 * there is none; *name is then the first free name, or no name: out of memory, or the intrinsic has
 * no overloads and another symbol has its name. */
struct nvm_value intrinsic_find_name(struct nvm_module *m, enum intrinsic_id id,
                                     struct nvm_text wanted, struct nvm_type type,
                                     struct nvm_str *name);

/* The same for these overloads, whose suffixes make the name (llvm.memcpy.p0.p1.i64). */
struct nvm_value intrinsic_find_declaration(struct nvm_module *m, enum intrinsic_id id,
                                            const struct nvm_type *overloads, uint32_t count,
                                            struct nvm_type type, struct nvm_str *name);

/* The declaration of an intrinsic for these overloads, created if the
 * module has none; see intrinsic_find_name(). `type` is the function type. VALUE_NULL when out of
 * memory, or if another symbol has the name. */
struct nvm_value intrinsic_declare(struct nvm_module *m, enum intrinsic_id id,
                                   const struct nvm_type *overloads, uint32_t count,
                                   struct nvm_type type);

/* Whether argument `index` must be a constant (`imm` in the signature). */
bool intrinsic_arg_is_immediate(enum intrinsic_id id, uint32_t index);

#endif
