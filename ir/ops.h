/* The ops of the IR and their properties from ops.def. */
#ifndef NVM_IR_OPS_H
#define NVM_IR_OPS_H

#include <stdbool.h>
#include <stdint.h>

/* Forms of operands and result; docs/nvir.md shows their syntax. */
enum op_form {
  FORM_NONE,
  FORM_RET,
  FORM_BR,
  FORM_CONDBR,
  FORM_SWITCH,
  FORM_UNARY,
  FORM_BINARY,
  FORM_ALLOCA,
  FORM_LOAD,
  FORM_STORE,
  FORM_FENCE,
  FORM_CMPXCHG,
  FORM_ATOMICRMW,
  FORM_GEP,
  FORM_CAST,
  FORM_CMP,
  FORM_PHI,
  FORM_SELECT,
  FORM_CALL,
  FORM_EXTRACTELEMENT,
  FORM_INSERTELEMENT,
  FORM_SHUFFLEVECTOR,
  FORM_EXTRACTVALUE,
  FORM_INSERTVALUE,
  FORM_VA_ARG,
  FORM_DBG_RECORD,
};

/* Properties in a row of ops.def. */
enum {
  OPF_NONE = 0,
  OPF_TERMINATOR = 1 << 0, /* ends a block */
  OPF_COMMUTES = 1 << 1,   /* operands 0 and 1 can be swapped */
  OPF_TRAPS = 1 << 2,      /* undefined for some operands; must not be speculated */
  OPF_READS = 1 << 3,      /* may read memory */
  OPF_WRITES = 1 << 4,     /* may write memory */
  OPF_INT = 1 << 5,        /* operands are integers or vectors of them */
  OPF_FLOAT = 1 << 6,      /* operands are floats or vectors of them */
  OPF_WRAP = 1 << 7,       /* allows nuw, nsw */
  OPF_EXACT = 1 << 8,      /* allows exact */
  OPF_DISJOINT = 1 << 9,   /* allows disjoint */
  OPF_NNEG = 1 << 10,      /* allows nneg */
  OPF_GEPFLAGS = 1 << 11,  /* allows inbounds, nusw, nuw */
  OPF_SAMESIGN = 1 << 12,  /* allows samesign */
  OPF_FAST = 1 << 13,      /* allows fast-math flags */
  OPF_UNIQUE = 1 << 14,    /* equal operands may give different results; position matters */
};

enum op {
#define OP(ENUM, keyword, form, flags, meaning) OP_##ENUM,
#include "ir/ops.def"
#undef OP
  OP_COUNT,
  OP_FIRST_TERMINATOR = OP_RET,
  OP_LAST_TERMINATOR = OP_UNREACHABLE,
  OP_FIRST_INT = OP_ADD,
  OP_LAST_INT = OP_XOR,
  OP_FIRST_FLOAT = OP_FADD,
  OP_LAST_FLOAT = OP_FNEG,
  OP_FIRST_MEMORY = OP_ALLOCA,
  OP_LAST_MEMORY = OP_GEP,
  OP_FIRST_CAST = OP_TRUNC,
  OP_LAST_CAST = OP_ADDRSPACECAST,
};

struct op_info {
  const char *keyword;
  const char *meaning;
  enum op_form form;
  uint16_t inst_flags; /* allowed INST_ flags */
  uint32_t flags;      /* OPF_ */
};

extern const struct op_info op_table[OP_COUNT];

static inline bool op_is_terminator(enum op op) {
  return op >= OP_FIRST_TERMINATOR && op <= OP_LAST_TERMINATOR;
}
static inline bool op_is_cast(enum op op) { return op >= OP_FIRST_CAST && op <= OP_LAST_CAST; }
static inline bool op_is_binary(enum op op) { return op_table[op].form == FORM_BINARY; }

/* Flags of one instruction (struct nvm_inst.flags). In OP_CALL the integer bits hold the tail-call
 * kind; in OP_ALLOCA the low byte holds log2(alignment) + 1, 0: the type's own. */
enum inst_flag {
  INST_NUW = 1 << 0,
  INST_NSW = 1 << 1,
  INST_EXACT = 1 << 2,
  INST_DISJOINT = 1 << 3,
  INST_NNEG = 1 << 4,
  INST_INBOUNDS = 1 << 5,
  INST_NUSW = 1 << 6,
  INST_SAMESIGN = 1 << 7,
  INST_NNAN = 1 << 8,
  INST_NINF = 1 << 9,
  INST_NSZ = 1 << 10,
  INST_ARCP = 1 << 11,
  INST_CONTRACT = 1 << 12,
  INST_AFN = 1 << 13,
  INST_REASSOC = 1 << 14,
  INST_FAST =
      INST_NNAN | INST_NINF | INST_NSZ | INST_ARCP | INST_CONTRACT | INST_AFN | INST_REASSOC,

  CALL_TAIL_NONE = 0, /* OP_CALL: "", "tail", "musttail", "notail" */
  CALL_TAIL = 1,
  CALL_MUSTTAIL = 2,
  CALL_NOTAIL = 3,
  CALL_TAIL_MASK = 3,

  ALLOCA_ALIGN_MASK = 0x3f, /* OP_ALLOCA: log2(alignment) + 1 */
  ALLOCA_INALLOCA = 1 << 6,
  ALLOCA_SWIFTERROR = 1 << 7,
};

/* The INST_ flags that an op allows. */
static inline uint16_t op_flags(enum op op) { return op_table[op].inst_flags; }

/* Predicates, in the aux word of icmp and fcmp. */
enum icmp_predicate {
  ICMP_EQ,
  ICMP_NE,
  ICMP_UGT,
  ICMP_UGE,
  ICMP_ULT,
  ICMP_ULE,
  ICMP_SGT,
  ICMP_SGE,
  ICMP_SLT,
  ICMP_SLE,
  ICMP_COUNT,
};

/* Bit 0: true if equal, 1: if greater, 2: if less, 3: if unordered (LLVM's numbering). */
enum fcmp_predicate {
  FCMP_FALSE,
  FCMP_OEQ,
  FCMP_OGT,
  FCMP_OGE,
  FCMP_OLT,
  FCMP_OLE,
  FCMP_ONE,
  FCMP_ORD,
  FCMP_UNO,
  FCMP_UEQ,
  FCMP_UGT,
  FCMP_UGE,
  FCMP_ULT,
  FCMP_ULE,
  FCMP_UNE,
  FCMP_TRUE,
  FCMP_COUNT,
};

/* The equivalent predicate for swapped operands; the inverse predicate. */
enum icmp_predicate icmp_swapped(enum icmp_predicate p);
enum icmp_predicate icmp_inverse(enum icmp_predicate p);
/* The same for predicates of OP_ICMP or OP_FCMP. */
uint32_t predicate_swapped(enum op op, uint32_t p);
uint32_t predicate_inverse(enum op op, uint32_t p);

extern const char *const icmp_names[ICMP_COUNT];
extern const char *const fcmp_names[FCMP_COUNT];

/* Atomic orderings, weakest first. */
enum atomic_ordering {
  ORDER_NONE,
  ORDER_UNORDERED,
  ORDER_MONOTONIC,
  ORDER_ACQUIRE,
  ORDER_RELEASE,
  ORDER_ACQ_REL,
  ORDER_SEQ_CST,
  ORDER_COUNT,
};
extern const char *const ordering_names[ORDER_COUNT]; /* [ORDER_NONE] is "" */

enum rmw_op {
  RMW_XCHG,
  RMW_ADD,
  RMW_SUB,
  RMW_AND,
  RMW_NAND,
  RMW_OR,
  RMW_XOR,
  RMW_MAX,
  RMW_MIN,
  RMW_UMAX,
  RMW_UMIN,
  RMW_FADD,
  RMW_FSUB,
  RMW_FMAX,
  RMW_FMIN,
  RMW_UINC_WRAP,
  RMW_UDEC_WRAP,
  RMW_USUB_COND,
  RMW_USUB_SAT,
  RMW_FMAXIMUM,
  RMW_FMINIMUM,
  RMW_COUNT,
};
extern const char *const rmw_names[RMW_COUNT];

/* Kinds of debug records, in the aux word of OP_DBG_RECORD. */
enum dbg_kind { DBG_VALUE, DBG_DECLARE, DBG_ASSIGN, DBG_LABEL, DBG_COUNT };
extern const char *const dbg_names[DBG_COUNT];

/* The memory access of a load, store, fence, cmpxchg or atomicrmw, packed into the aux word. */
struct memory_access {
  unsigned align_log2 : 6; /* log2(alignment in bytes) + 1; 0: the type's own */
  unsigned is_volatile : 1;
  unsigned is_weak : 1;          /* cmpxchg weak */
  unsigned ordering : 3;         /* enum atomic_ordering; ORDER_NONE: not atomic */
  unsigned failure_ordering : 3; /* cmpxchg */
  unsigned rmw : 5;              /* enum rmw_op */
  unsigned scope : 8;            /* index into the module's sync scope names; 0: system */
};

static inline uint32_t memory_access_pack(struct memory_access m) {
  return m.align_log2 | (uint32_t)m.is_volatile << 6 | (uint32_t)m.is_weak << 7 |
         (uint32_t)m.ordering << 8 | (uint32_t)m.failure_ordering << 11 | (uint32_t)m.rmw << 14 |
         (uint32_t)m.scope << 19;
}
static inline struct memory_access memory_access_unpack(uint32_t w) {
  return (struct memory_access){.align_log2 = w & 63,
                                .is_volatile = w >> 6 & 1,
                                .is_weak = w >> 7 & 1,
                                .ordering = w >> 8 & 7,
                                .failure_ordering = w >> 11 & 7,
                                .rmw = w >> 14 & 31,
                                .scope = w >> 19 & 255};
}

#endif
