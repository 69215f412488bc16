/* Decoded code: what the front ends (sim/ptx, sim/ir) make of a function and the warps execute.
 *
 * A warp's registers are *rows* of 32 values, one per lane. A row is in one of three banks: the
 * function's frame, its constants (the same value in every lane, so that immediates cost nothing),
 * the warp's special registers. Values are zero above their register's width. Predicates are masks
 * of 32 bits in the frame. */
#ifndef NVM_SIM_MACHINE_CODE_H
#define NVM_SIM_MACHINE_CODE_H

#include "ptx/ops.h"
#include "sim/sim.h"

enum { LANES = 32 };
#define ALL_LANES UINT32_C(0xffffffff)

enum bank { BANK_FRAME, BANK_CONST, BANK_SPECIAL };
enum { BANK_SHIFT = 30 };
enum { NO_ROW = UINT32_MAX }; /* a destination that is not kept */

struct warp;
struct inst;
typedef void inst_run(struct warp *w, const struct inst *in, uint32_t mask);
/* What one lane computes, on raw bits. */
typedef uint64_t lane_fn(const struct inst *in, uint64_t a, uint64_t b, uint64_t c);

enum inst_kind {
  INST_PLAIN,  /* run() and go on */
  INST_MEMORY, /* run(), which may stop the warp */
  INST_HELPER, /* run(); a part of the next instruction, not counted */
  INST_LABEL,
  INST_BRANCH,
  INST_BRANCH_TABLE,
  INST_CALL,
  INST_RETURN,
  INST_EXIT,
  INST_TRAP,
  INST_BARRIER,
  INST_WARP_SYNC,
  INST_BAD, /* unsupported: a finding when it is reached */
};

struct inst {
  uint8_t kind;               /* enum inst_kind */
  uint8_t format;             /* enum float_format */
  uint8_t rounding;           /* enum evalfloat_rounding */
  uint8_t bits;               /* width of the operation */
  uint8_t bits2;              /* width of the source of a conversion */
  bool is_signed, is_signed2; /* of a barrier is_signed: .aligned */
  uint8_t flags;              /* enum flag */
  uint8_t compare;            /* condition; kind of atomic operation; mode of shfl … */
  uint8_t count;              /* of `rows`; of vector elements */
  uint8_t dest_bits;          /* of the register that is written */
  uint8_t window;             /* memory: enum window */
  uint8_t issue;              /* enum ptx_issue */
  uint8_t strength;           /* of an access or fence: enum race_strength */
  bool releases;              /* of an access: a fence precedes it */
  uint16_t flow;              /* enum inst_flow */
  uint32_t guard;             /* predicate + 1; 0: none */
  uint32_t flip;              /* ALL_LANES: the guard is negated */
  uint32_t d, a, b, c;        /* rows or predicates */
  uint32_t d2;                /* second destination: a predicate; NO_ROW: none */
  uint32_t line;
  uint32_t entry; /* the PTX entry, or the instruction of IR, that it is made from */
  int64_t imm;    /* offset of an address; target of a branch; table of lop3 … */
  inst_run *run;
  lane_fn *fn;
  lane_fn *inner;       /* of the halves of a packed value */
  const uint32_t *rows; /* `count` rows: vectors, targets of a table */
  union {
    const struct call_info *call;
    const struct matrix *matrix; /* matrix.h */
    const char *unsupported;     /* INST_BAD: why */
  };
  const struct ir_op *ir; /* of IR: ir/ir.h */
};

enum flag {
  FLAG_FTZ = 1, /* enum evalfloat_modifier */
  FLAG_SAT = 2,
  FLAG_HIGH = 4,
  FLAG_CARRY_OUT = 8,
  FLAG_CARRY_IN = 16,
  FLAG_NAN = 32, /* min.NaN */
  FLAG_RELU = 64,
  FLAG_XORSIGN = 128,
};
/* Flags of instructions that combine with a predicate: in `flags` or `count`. */
enum { FLAG_NEGATE_PRED = 1, FLAG_AND = 2, FLAG_OR = 4, FLAG_XOR = 8 };
enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_POPC, BARRIER_AND, BARRIER_OR };

/* Which fields are rows that are read or written: how undefined values propagate (undefined.c). */
enum inst_flow {
  FLOW_A = 1,
  FLOW_B = 2,
  FLOW_C = 4,
  FLOW_ROWS = 8, /* read */
  FLOW_D = 16,
  FLOW_TO_ROWS = 32,  /* written */
  FLOW_DECIDES = 64,  /* a comparison: must not read undefined values */
  FLOW_CHOOSES = 128, /* a or b by predicate c */
  FLOW_MOVES = 256,   /* copies values without using them */
  FLOW_STORES = 512,  /* to memory */
  FLOW_EACH = 1024,   /* of IR: scalar i of the result comes from scalar i of the operand */
};

/* A parameter or result of a call or a function. */
struct slot {
  bool is_reg;
  uint32_t row; /* is_reg; a predicate if bits is 1 */
  uint32_t bits;
  uint32_t offset; /* else: into the frame's params */
  uint32_t bytes;
};

struct call_info {
  const struct func *callee; /* NULL: through row `pointer` */
  uint32_t pointer;
  uint32_t argument_count, result_count;
  const struct slot *arguments, *results;
};

struct frame;
struct native;
struct ir_value;
/* Writes an instruction and the values that it reads in the lane, or with `results` the values that
 * it has written. */
typedef void func_trace(const struct frame *f, const struct inst *in, unsigned lane, bool results,
                        struct textbuf *out);

/* What the machine needs of the front end that a function comes from. */
struct front_end {
  enum nvm_status (*decode)(struct sim *s, struct func *f);
  func_trace *trace;
  /* Sets source and source_line of a finding at code[pc]. */
  void (*place)(const struct sim *s, const struct func *f, uint32_t pc,
                struct sim_finding *finding);
  /* Of instructions with `ir`: what undefined_flow() does with a table of masks; returns the lanes
   * that read some. */
  uint32_t (*flow)(uint32_t *masks, const struct inst *in, uint32_t mask);
};

struct func {
  const struct front_end *front;
  const struct ptx_function *ptx; /* of IR: a record with name and parameter count only */
  const struct nvm_function *ir;  /* NULL: the code is PTX */
  const struct native *native;    /* of a declaration: what the simulator does instead */
  struct nvm_str name;
  bool decoded;
  struct inst *code;
  uint32_t code_count;
  uint32_t rows, preds; /* of a frame */
  uint64_t *constants;  /* rows of the constant bank */
  uint32_t param_bytes; /* of a frame and lane: formals and the variables of calls */
  uint64_t local_bytes; /* of a frame and lane */
  uint32_t local_align;
  uint32_t formal_count, result_count; /* results first in `formals` */
  struct slot *formals;
  uint32_t *param_copies; /* per formal: offset in local memory + 1 if its address is taken */
  uint64_t kernel_param_bytes;
  struct frame *free_frames;
  uint32_t class_first[PTX_CLASS_COUNT];     /* PTX: rows (or predicates) of the registers 0 */
  const struct ir_value *values, *arguments; /* IR: rows of instructions and parameters */
};

/* Decodes a function on its first launch or call. */
enum nvm_status code_prepare(struct sim *s, struct func *f);
/* The function at a code address; NULL: none. */
const struct func *code_at(const struct sim *s, uint64_t address);

#endif
