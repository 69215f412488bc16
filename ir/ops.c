/* The tables of the IR's ops and their keywords, from ops.def. */
#include "ir/ops.h"

#include <stddef.h>

#define INST_FLAGS(flags)                                                                \
  (((flags)&OPF_WRAP ? INST_NUW | INST_NSW : 0) | ((flags)&OPF_EXACT ? INST_EXACT : 0) | \
   ((flags)&OPF_DISJOINT ? INST_DISJOINT : 0) | ((flags)&OPF_NNEG ? INST_NNEG : 0) |     \
   ((flags)&OPF_SAMESIGN ? INST_SAMESIGN : 0) | ((flags)&OPF_FAST ? INST_FAST : 0) |     \
   ((flags)&OPF_GEPFLAGS ? INST_INBOUNDS | INST_NUSW | INST_NUW : 0))

const struct op_info op_table[OP_COUNT] = {
#define OP(ENUM, keyword, form, flags, meaning) \
  [OP_##ENUM] = {keyword, meaning, form, INST_FLAGS(flags), flags},
#include "ir/ops.def"
#undef OP
};

/* Checks that the groups named in ops.h match the order of the enum. */
#define OP(ENUM, keyword, form, flags, meaning)                                                   \
  _Static_assert(                                                                                 \
      ((flags)&OPF_TERMINATOR ? 1 : 0) == ((int)OP_##ENUM >= (int)OP_FIRST_TERMINATOR &&          \
                                           (int)OP_##ENUM <= (int)OP_LAST_TERMINATOR),            \
      keyword " is out of the terminators' group");                                               \
  _Static_assert(((flags)&OPF_INT ? 1 : 0) ==                                                     \
                     ((int)OP_##ENUM >= (int)OP_FIRST_INT && (int)OP_##ENUM <= (int)OP_LAST_INT), \
                 keyword " is out of the integer group");                                         \
  _Static_assert(((flags)&OPF_FLOAT ? 1 : 0) == ((int)OP_##ENUM >= (int)OP_FIRST_FLOAT &&         \
                                                 (int)OP_##ENUM <= (int)OP_LAST_FLOAT),           \
                 keyword " is out of the float group");                                           \
  _Static_assert(((form) == FORM_CAST) == ((int)OP_##ENUM >= (int)OP_FIRST_CAST &&                \
                                           (int)OP_##ENUM <= (int)OP_LAST_CAST),                  \
                 keyword " is out of the casts' group");
#include "ir/ops.def"
#undef OP

enum icmp_predicate icmp_swapped(enum icmp_predicate p) {
  static const uint8_t swapped[ICMP_COUNT] = {ICMP_EQ,  ICMP_NE,  ICMP_ULT, ICMP_ULE, ICMP_UGT,
                                              ICMP_UGE, ICMP_SLT, ICMP_SLE, ICMP_SGT, ICMP_SGE};
  return (enum icmp_predicate)swapped[p];
}

enum icmp_predicate icmp_inverse(enum icmp_predicate p) {
  static const uint8_t inverse[ICMP_COUNT] = {ICMP_NE,  ICMP_EQ,  ICMP_ULE, ICMP_ULT, ICMP_UGE,
                                              ICMP_UGT, ICMP_SLE, ICMP_SLT, ICMP_SGE, ICMP_SGT};
  return (enum icmp_predicate)inverse[p];
}

uint32_t predicate_swapped(enum op op, uint32_t p) {
  if (op == OP_ICMP) return icmp_swapped((enum icmp_predicate)p);
  return (p & 9) | (p & 2) << 1 | (p & 4) >> 1; /* swaps the bits "greater" and "less" */
}

uint32_t predicate_inverse(enum op op, uint32_t p) {
  return op == OP_ICMP ? (uint32_t)icmp_inverse((enum icmp_predicate)p) : p ^ 15;
}

const char *const icmp_names[ICMP_COUNT] = {
    [ICMP_EQ] = "eq",   [ICMP_NE] = "ne",   [ICMP_UGT] = "ugt", [ICMP_UGE] = "uge",
    [ICMP_ULT] = "ult", [ICMP_ULE] = "ule", [ICMP_SGT] = "sgt", [ICMP_SGE] = "sge",
    [ICMP_SLT] = "slt", [ICMP_SLE] = "sle",
};

const char *const fcmp_names[FCMP_COUNT] = {
    [FCMP_FALSE] = "false", [FCMP_OEQ] = "oeq", [FCMP_OGT] = "ogt", [FCMP_OGE] = "oge",
    [FCMP_OLT] = "olt",     [FCMP_OLE] = "ole", [FCMP_ONE] = "one", [FCMP_ORD] = "ord",
    [FCMP_UNO] = "uno",     [FCMP_UEQ] = "ueq", [FCMP_UGT] = "ugt", [FCMP_UGE] = "uge",
    [FCMP_ULT] = "ult",     [FCMP_ULE] = "ule", [FCMP_UNE] = "une", [FCMP_TRUE] = "true",
};

const char *const ordering_names[ORDER_COUNT] = {
    [ORDER_NONE] = "",           [ORDER_UNORDERED] = "unordered", [ORDER_MONOTONIC] = "monotonic",
    [ORDER_ACQUIRE] = "acquire", [ORDER_RELEASE] = "release",     [ORDER_ACQ_REL] = "acq_rel",
    [ORDER_SEQ_CST] = "seq_cst",
};

const char *const rmw_names[RMW_COUNT] = {
    [RMW_XCHG] = "xchg",
    [RMW_ADD] = "add",
    [RMW_SUB] = "sub",
    [RMW_AND] = "and",
    [RMW_NAND] = "nand",
    [RMW_OR] = "or",
    [RMW_XOR] = "xor",
    [RMW_MAX] = "max",
    [RMW_MIN] = "min",
    [RMW_UMAX] = "umax",
    [RMW_UMIN] = "umin",
    [RMW_FADD] = "fadd",
    [RMW_FSUB] = "fsub",
    [RMW_FMAX] = "fmax",
    [RMW_FMIN] = "fmin",
    [RMW_UINC_WRAP] = "uinc_wrap",
    [RMW_UDEC_WRAP] = "udec_wrap",
    [RMW_USUB_COND] = "usub_cond",
    [RMW_USUB_SAT] = "usub_sat",
    [RMW_FMAXIMUM] = "fmaximum",
    [RMW_FMINIMUM] = "fminimum",
};

const char *const dbg_names[DBG_COUNT] = {
    [DBG_VALUE] = "value",
    [DBG_DECLARE] = "declare",
    [DBG_ASSIGN] = "assign",
    [DBG_LABEL] = "label",
};
