/* The checker of PTX instructions. Each one is checked before it is printed or executed: its
 * modifiers must be a row of ops.def, its operands must fit that row, and the target must meet the
 * requirements of row and words. One walk over the modifiers. */
#ifndef NVM_PTX_CHECK_H
#define NVM_PTX_CHECK_H

#include "ptx/ops.h"
#include "ptx/ptx.h"
#include "support/textbuf.h"
#include "target/target.h"

enum ptx_fault {
  PTX_FAULT_NONE,
  PTX_FAULT_MODIFIER, /* `mod` is not allowed there */
  PTX_FAULT_END,      /* modifiers are missing at the end */
  PTX_FAULT_COUNT,    /* too few or too many operands */
  PTX_FAULT_OPERAND,  /* `operand` does not fit the form */
  PTX_FAULT_RANGE,    /* the literal `operand` is not in `range` */
  PTX_FAULT_GUARD,    /* the guard is not a predicate */
  PTX_FAULT_TARGET,   /* the target lacks `missing` */
};

/* The requirements of an instruction, or its fault. */
struct ptx_need {
  uint8_t fault;      /* enum ptx_fault */
  uint8_t ptx;        /* lowest .version for it on this target, 78 for 7.8 */
  uint8_t before_ptx; /* .version must be below; 0: any */
  uint8_t operand;    /* index */
  uint8_t range;      /* of RANGE: of ptx_bounds() */
  uint16_t mod;       /* enum ptx_mod: of MODIFIER; of TARGET, if one word needs it */
  const struct tgt_requirement *missing; /* of TARGET */
  const struct ptx_form *form;           /* the row; NULL unless found */
};

/* Checks a PTX_INST entry; other entries are NVM_OK. NVM_REFUSED: need->fault says why. */
enum nvm_status ptx_check_entry(const struct ptx_function *f, const struct ptx_entry *e,
                                const struct nvm_target *target, struct ptx_need *need);

/* A cache key of a PTX_INST entry: ptx_check_entry() gives the same result for equal keys. False:
 * the entry is too large for a key, or a literal that may have a range is. */
struct ptx_key {
  uint64_t op, mods, operands[2];
};
static inline bool ptx_key_equal(const struct ptx_key *a, const struct ptx_key *b) {
  return a->op == b->op && a->mods == b->mods && a->operands[0] == b->operands[0] &&
         a->operands[1] == b->operands[1];
}
bool ptx_check_key(const struct ptx_function *f, const struct ptx_entry *e, struct ptx_key *key);

/* The row of an instruction, for any target; NULL: need->fault says why. `need->ptx` is not set. */
const struct ptx_form *ptx_find_form(const struct ptx_function *f, const struct ptx_entry *e,
                                     struct ptx_need *need);

/* The message for a fault: "add.f33: '.f33' is not allowed there", "wgmma.fence.sync.aligned: needs
 * sm_90a ...". */
void ptx_describe_need(const struct ptx_function *f, const struct ptx_entry *e,
                       const struct nvm_target *target, const struct ptx_need *need,
                       struct textbuf *out);

/* The type (enum ptx_mod) of a shape in this instruction, 0 if it has none. For PTX_TYPE_WIDE the
 * first type, with *wide set. */
uint16_t ptx_shape_type(const struct ptx_function *f, const struct ptx_entry *e,
                        const struct ptx_shape *shape, bool *wide);

#endif
